// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Haar and LBP features for pairs of windows, one above the other. A word of an integral image holds the sums at a
// corner of both windows: that of the upper window plus 2^16 times that of the lower one, modulo 2^32. Feature values
// are linear in these sums, so one addition serves both windows. The two values are separated at the end, as each fits
// 16 bits: packModel() cuts features whose values do not.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP

#include "classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

const unsigned ALL_LANES = 0xffffffffu;

extern __shared__ int4 dynamicMemory[];

/** Loads a word of shared memory by its offset in bytes: the compiler loses track of pointers to shared memory in
arrays, and generic loads are slower. */
__device__ __forceinline__ uint32_t sharedWord(uint32_t offset)
{
    return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(dynamicMemory) + offset);
}

//! Loads a word of shared memory without a branch, or returns 0 if the condition is false.
__device__ __forceinline__ uint32_t sharedWordIf(bool condition, uint32_t offset)
{
    uint32_t word = 0;
#ifdef __CUDA_ARCH__
    const uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(dynamicMemory)) + offset;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p ld.shared.u32 %0, [%2]; }"
                 : "+r"(word)
                 : "r"(static_cast<int>(condition)), "r"(at));
#else
    (void)condition, (void)offset;
#endif
    return word;
}

//! Returns the address of corner k, from offsets in words, two in each of `corners`.
__device__ __forceinline__ uint32_t cornerAt(const uint32_t* corners, int k, uint32_t window)
{
    return __dp2a_lo(corners[k / 2], k % 2 ? 0x0400u : 0x0004u, window);
}

//! Arrays that features need in addition to their records.
struct Tables
{
    const Term* terms;
    const uint32_t* subsets;
    const int* leaves; //!< quantised left and right leaf of each record

    //! Returns the next four terms.
    __device__ __forceinline__ uint4 fourAt(uint32_t index) const
    {
        return __ldg(reinterpret_cast<const uint4*>(terms) + index);
    }
};

//! Norms of U pairs, the upper and the lower window in turn.
template <int U> struct Norms
{
    float norm[2 * U];   //!< norm * NORM_SCALE
    float middle[2 * U]; //!< -2^15 as a denormal, times norm

    __device__ __forceinline__ void set(int window, float value)
    {
        norm[window] = value;
        middle[window] = value * -0x1p-134f;
    }
};

struct HaarPairs
{
    typedef HaarRecord Record;
    static const bool NORM = true;
    static const bool BANKS = true; //!< lists by banks | 645 us instead of 661 | H200, 2026-11-21 | alt

    //! Offset of the values of both windows: they are between -2^15 and 2^15, and sums hold them plus 2^15.
    static const uint32_t MIDDLE = 0x80008000u;
    static __device__ __forceinline__ uint32_t valueOf(uint32_t sum, bool lower)
    {
        return lower ? sum >> 16 : sum & 0xffffu;
    }

    /** Applies haarGoesLeft() to the values in such sums, with one rounding as there: the bits of the integer are a
    denormal float, and the product of 2^15 and the norm is exact. */
    template <int U>
    static __device__ __forceinline__ void compare(const Record& r, const uint32_t (&sum)[U], const Norms<U>& norms,
                                                   bool (&left)[2 * U])
    {
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            left[u] =
                __fmaf_rn(__uint_as_float(valueOf(sum[u / 2], u & 1)), norms.norm[u], norms.middle[u]) < r.threshold;
    }

    template <int U>
    static __device__ __forceinline__ void decideTerms(const Record& r, const Tables& tables,
                                                       const uint32_t (&window)[U], const Norms<U>& norms,
                                                       bool (&left)[2 * U])
    {
        uint32_t four = r.corners[0];
        const int parts = static_cast<int>(r.corners[1]), fours = static_cast<int>(r.corners[2]);
        int value[2 * U];
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            value[u] = -parts << 15;
#pragma unroll 1
        for (int part = 0; part < parts; ++part)
        {
            uint32_t sum[U];
#pragma unroll
            for (int u = 0; u < U; ++u)
                sum[u] = MIDDLE;
#pragma unroll 1
            for (int i = 0; i < fours; ++i)
            {
                const uint4 terms = tables.fourAt(four++);
                const Term term[4] = {terms.x, terms.y, terms.z, terms.w};
#pragma unroll
                for (int k = 0; k < 4; ++k)
                {
                    const uint32_t factor = static_cast<int32_t>(term[k]) >> 16;
#pragma unroll
                    for (int u = 0; u < U; ++u)
                        sum[u] += factor * sharedWord(cornerAt(term + k, 0, window[u]));
                }
            }
#pragma unroll
            for (int u = 0; u < 2 * U; ++u)
                value[u] += static_cast<int>(valueOf(sum[u / 2], u & 1));
        }
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            left[u] = static_cast<float>(value[u]) * 0x1p-149f * norms.norm[u] < r.threshold;
    }

    //! Adds up the corners in one of the patterns, except TERMS. ANY_PATTERN: that of the record, without branches.
    template <CornerPattern PATTERN, int U>
    static __device__ __forceinline__ void addPattern(const Record& r, const uint32_t (&window)[U], uint32_t (&sum)[U])
    {
        const CornerPattern pattern = PATTERN == ANY_PATTERN ? patternOf(r.pattern) : PATTERN;
        const uint32_t factor = factorOf(r.pattern);
        uint32_t c[U][9] = {};
#pragma unroll
        for (int k = 0; k < 9; ++k)
        {
            const uint32_t offset = k < 8 ? cornerAt(r.corners, k, window[0]) : cornerAt(&r.pattern, 0, window[0]);
            const bool condition = k < 6 || (k < 8 ? pattern != SIX : pattern == NINE);
#pragma unroll
            for (int u = 0; u < U; ++u)
            {
                const uint32_t at = offset + (window[u] - window[0]);
                if (PATTERN == ANY_PATTERN && k >= 6)
                    c[u][k] = sharedWordIf(condition, at);
                else if (condition)
                    c[u][k] = sharedWord(at);
            }
        }
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            const uint32_t eight =
                (MIDDLE + c[u][0] + c[u][1] - c[u][2] - c[u][3]) + factor * (c[u][4] - c[u][5] + c[u][6] - c[u][7]);
            const uint32_t nine = MIDDLE + factor * (c[u][0] + c[u][1] + c[u][2] + c[u][3] -
                                                     2 * (c[u][4] + c[u][5] + c[u][6] + c[u][7] - 2 * c[u][8]));
            sum[u] = pattern == NINE ? nine : eight;
        }
    }
    template <CornerPattern PATTERN, int U>
    static __device__ __forceinline__ void decidePattern(const Record& r, const uint32_t (&window)[U],
                                                         const Norms<U>& norms, bool (&left)[2 * U])
    {
        uint32_t sum[U];
        addPattern<PATTERN>(r, window, sum);
        compare(r, sum, norms, left);
    }

    /** Evaluates a feature for U pairs. @param PATTERN that of the record, or ANY_PATTERN. @param window offsets of the
    pairs' corners in shared memory. @param left out: whether the upper and the lower window of each pair go left. */
    template <CornerPattern PATTERN, int U>
    static __device__ __forceinline__ void decide(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                  const Norms<U>& norms, bool (&left)[2 * U])
    {
        if constexpr (PATTERN == ANY_PATTERN)
        {
            if (patternOf(r.pattern) != TERMS)
                decidePattern<ANY_PATTERN>(r, window, norms, left);
            else
                decideTerms(r, tables, window, norms, left);
        }
        else if constexpr (PATTERN == TERMS)
            decideTerms(r, tables, window, norms, left);
        else
            decidePattern<PATTERN>(r, window, norms, left);
    }
};

//! @param LARGE_CELLS cells may have more than SMALL_CELL_PIXELS.
template <bool LARGE_CELLS> struct LbpPairs
{
    typedef LbpRecord Record;
    static const bool NORM = false;
    static const bool BANKS = false; //!< stages have too few features to profit

    /** Computes the codes of both windows, in the low byte of each half. Sums of cells are below 2^16, so a word holds
    those of both windows as they are. If they are below 2^15, so are their differences in magnitude, and one addition
    compares both. */
    static __device__ __forceinline__ uint32_t codesOf(const Record& r, uint32_t window)
    {
        uint32_t d[4][3]; // horizontal differences
#pragma unroll
        for (int y = 0; y < 4; ++y)
        {
            const uint32_t row = window + r.rows[y];
            uint32_t before = sharedWord(row + r.columns[0]);
#pragma unroll
            for (int x = 0; x < 3; ++x)
            {
                const uint32_t next = sharedWord(row + r.columns[x + 1]);
                d[y][x] = before - next;
                before = next;
            }
        }
        const uint32_t centre = d[1][1] - d[2][1], TOP = 0x80008000u, other = TOP - centre;
        const int cells[8][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 2},
                                 {2, 1}, {2, 0}, {1, 0}, {0, 0}}; // x and y of the cells of bits 0 to 7
        uint32_t codes = 0;
#pragma unroll
        for (int bit = 0; bit < 8; ++bit)
        {
            const int x = cells[bit][0], y = cells[bit][1];
            const uint32_t compared =
                LARGE_CELLS ? notLessInHalves(d[y][x] - d[y + 1][x], centre) : d[y][x] - d[y + 1][x] + other;
            codes |= compared >> (15 - bit) & (0x00010001u << bit);
        }
        return codes;
    }

    template <CornerPattern PATTERN, int U>
    static __device__ __forceinline__ void decide(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                  const Norms<U>&, bool (&left)[2 * U])
    {
        const uint32_t* const subset = tables.subsets + r.subset;
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            const uint32_t codes = codesOf(r, window[u]), upper = codes & 255u, lower = codes >> 16;
            left[2 * u] = __funnelshift_r(__ldg(subset + (upper >> 5)), 0u, upper) & 1u;
            left[2 * u + 1] = __funnelshift_r(__ldg(subset + (lower >> 5)), 0u, lower) & 1u;
        }
    }
};

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP
