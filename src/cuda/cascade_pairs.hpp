// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Features for pairs of windows, one above the other. A word of a table holds the sums at a corner of both windows:
// the upper one's plus 2^16 times the lower one's, modulo 2^32. What features add up is linear, so the same additions serve
// both, and the two values come apart at the end, as each fits 16 bits: packModel() cuts features for which that is not so.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP

#include "cascade_classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

const unsigned ALL_LANES = 0xffffffffu;

extern __shared__ int4 dynamicMemory[];

/** A word of shared memory. Said by an offset in bytes, as the compiler does not follow pointers to shared memory through arrays, and
loads from anywhere are slower. */
__device__ __forceinline__ uint32_t sharedWord(uint32_t offset)
{
    return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(dynamicMemory) + offset);
}

//! What a model's features are evaluated with, beside their records.
struct Tables
{
    const Term* terms;
    const uint32_t* subsets;
};

struct HaarPairs
{
    typedef HaarRecord Record;
    static const bool NORM = true;
    static const bool BANKS = true; //!< lists by banks: alt 645 us instead of 661

    //! Values of both windows, between -2^15 and 2^15, plus 2^15.
    static const uint32_t MIDDLE = 0x80008000u;
    //! The upper or lower window's value from such a sum, exact.
    static __device__ __forceinline__ float valueOf(uint32_t sum, bool lower)
    {
        // The bits of 2^23 plus a number below 2^16.
        const uint32_t bits = lower ? __byte_perm(sum, 0x4b000000u, 0x7432) : __byte_perm(sum, 0x4b000000u, 0x7410);
        return __uint_as_float(bits) - (8388608.f + 32768.f);
    }

    template <int U>
    static __device__ __forceinline__ void addTerms(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                    float (&value)[2 * U])
    {
        const Term* term = tables.terms + r.offsets[0];
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            value[u] = 0.f;
#pragma unroll 1
        for (uint32_t part = 0; part < r.offsets[1]; ++part)
        {
            uint32_t sum[U];
#pragma unroll
            for (int u = 0; u < U; ++u)
                sum[u] = MIDDLE;
#pragma unroll 1
            for (uint32_t left = __ldg(term++); left > 0; --left)
            {
                const Term corner = __ldg(term++);
                const uint32_t offset = (corner & 0xffff) * 4, factor = static_cast<int32_t>(corner) >> 16;
#pragma unroll
                for (int u = 0; u < U; ++u)
                    sum[u] += factor * sharedWord(window[u] + offset);
            }
#pragma unroll
            for (int u = 0; u < U; ++u)
            {
                value[2 * u] += valueOf(sum[u], false);
                value[2 * u + 1] += valueOf(sum[u], true);
            }
        }
    }

    //! Sums in one of the forms. Records of SIX may be taken for EIGHT.
    template <Form FORM, int U>
    static __device__ __forceinline__ void addForm(const Record& r, const uint32_t (&window)[U], float (&value)[2 * U])
    {
        uint32_t c[U][9];
        const auto load = [&](int k, uint32_t offset)
        {
#pragma unroll
            for (int u = 0; u < U; ++u)
                c[u][k] = sharedWord(window[u] + offset);
        };
#pragma unroll
        for (int k = 0; k < 8; ++k)
            if (FORM != SIX || k < 6)
                load(k, r.offsets[k]);
        if (FORM == NINE)
            load(8, ninthOf(r.kind));
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            uint32_t sum;
            if (FORM == NINE)
                sum = MIDDLE + r.factor * (c[u][0] + c[u][1] + c[u][2] + c[u][3] -
                                           2 * (c[u][4] + c[u][5] + c[u][6] + c[u][7] - 2 * c[u][8]));
            else
                sum = (MIDDLE + c[u][0] + c[u][1] - c[u][2] - c[u][3]) +
                      r.factor * (FORM == SIX ? c[u][4] - c[u][5] : c[u][4] - c[u][5] + c[u][6] - c[u][7]);
            value[2 * u] = valueOf(sum, false);
            value[2 * u + 1] = valueOf(sum, true);
        }
    }

    /** @param FORM that of the record; FORMS, SAME: any. @param window where the pairs' corners are in shared memory.
    @param norm,left of the upper and lower windows in turn. */
    template <Form FORM, int U>
    static __device__ __forceinline__ void decide(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                  const float (&norm)[2 * U], bool (&left)[2 * U])
    {
        float value[2 * U];
        if constexpr (FORM == FORMS || FORM == SAME)
        {
            const Form form = formOf(r.kind);
            if (FORM == SAME && form == SIX)
                addForm<SIX>(r, window, value);
            else if (form == SIX || form == EIGHT)
                addForm<EIGHT>(r, window, value);
            else if (form == NINE)
                addForm<NINE>(r, window, value);
            else
                addTerms(r, tables, window, value);
        }
        else if constexpr (FORM == TERMS)
            addTerms(r, tables, window, value);
        else
            addForm<FORM>(r, window, value);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            left[u] = haarGoesLeft(value[u], norm[u], r.threshold);
    }
};

struct LbpPairs
{
    typedef LbpRecord Record;
    static const bool NORM = false;
    static const bool BANKS = false; //!< stages are too short for that

    //! Codes of both windows, in the low byte of each half. Cells have less than 2^15, so halves do not disturb each other.
    static __device__ __forceinline__ uint32_t codesOf(const Record& r, uint32_t window)
    {
        uint32_t d[4][3]; // differences along rows
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
        const int cells[8][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 2}, {2, 1}, {2, 0}, {1, 0}, {0, 0}}; // x and y of bits 0 to 7
        uint32_t codes = 0;
#pragma unroll
        for (int bit = 0; bit < 8; ++bit)
        {
            const int x = cells[bit][0], y = cells[bit][1];
            codes |= (d[y][x] - d[y + 1][x] + other) >> (15 - bit) & (0x00010001u << bit);
        }
        return codes;
    }

    template <Form FORM, int U>
    static __device__ __forceinline__ void decide(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                  const float (&)[2 * U], bool (&left)[2 * U])
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
