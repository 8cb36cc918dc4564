// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score, for one instruction set (part of src/cpu/fragment_matcher/score.simd.hpp): the kernels that sum up a term.
//
// A kernel computes the sums of TILE consecutive positions of R consecutive rows. An image row is loaded at each of
// four phases p; lane l of phase p then holds the four bytes under template word j of position 4 l + p, so that nothing
// is rearranged before the final interleave and a template word is one splat for the whole tile.
// The same step is written with the instructions of each processor that has a better one.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_TERMS_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_TERMS_HPP

#include "scores.hpp"
#include "opencv2/core/hal/intrin.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN
namespace {

// Emulated vectors (a build option of OpenCV, for its tests) have no instructions of their own.
#if CV_SSE2 && !defined CV_FORCE_SIMD128_CPP
#define CT_SSE 1
#define CT_AVX512 CV_AVX512_SKX
#else
#define CT_SSE 0
#define CT_AVX512 0
#endif

const int LANES = VTraits<v_uint32>::max_nlanes;
const int TILE = 4 * LANES;
#if CT_AVX512 || CV_NEON
const int GROUP = 4; // rows at a time: 32 registers hold 16 sums, template words and an image vector
#else
const int GROUP = 2;
#endif

struct DotOp
{
    static v_uint32 add(const v_uint32& sum, const v_uint8& image, const v_uint8& taps, const v_uint8&)
    {
        return v_dotprod_expand(image, taps, sum);
    }
};

struct WeightedSadOp
{
    static v_uint32 add(const v_uint32& sum, const v_uint8& image, const v_uint8& taps, const v_uint8& weights)
    {
        return v_dotprod_expand(v_absdiff(image, taps), weights, sum);
    }
};

inline v_uint8 splatWord(const uint32_t* word) { return v_reinterpret_as_u8(vx_setall_u32(*word)); }

//! Adds the terms of one image row and the template rows that it meets for output rows FIRST..FIRST+COUNT-1.
template <class Op, int FIRST, int COUNT>
CV_ALWAYS_INLINE void addRow(v_uint32 (&sums)[GROUP][4], const uint8_t* image, const uint32_t* taps,
                             const uint32_t* weights, int blocks)
{
    for (int j = 0; j < blocks; ++j)
    {
        const v_uint8 image0 = vx_load(image + 4 * j), image1 = vx_load(image + 4 * j + 1);
        const v_uint8 image2 = vx_load(image + 4 * j + 2), image3 = vx_load(image + 4 * j + 3);
        for (int r = FIRST; r < FIRST + COUNT; ++r) // output row r is r template rows behind
        {
            const ptrdiff_t at = j - static_cast<ptrdiff_t>(r) * blocks;
            const v_uint8 t = splatWord(taps + at), q = splatWord(weights + at);
            sums[r][0] = Op::add(sums[r][0], image0, t, q);
            sums[r][1] = Op::add(sums[r][1], image1, t, q);
            sums[r][2] = Op::add(sums[r][2], image2, t, q);
            sums[r][3] = Op::add(sums[r][3], image3, t, q);
        }
    }
}

//! Sums a segment for a tile of R rows. Each image row is loaded once for all R output rows that use it.
template <class Op, int R>
void multiplyTile(const Planes& image, const Term& term, const Segment& segment, int firstPlane, uint32_t* out,
                  size_t stride, int height)
{
    v_uint32 sums[GROUP][4];
    for (int r = 0; r < GROUP; ++r)
        for (int p = 0; p < 4; ++p)
            sums[r][p] = vx_setzero_u32();
    const int blocks = term.blocks;
    const uint32_t* const weights = term.weights.empty() ? term.taps.data() : term.weights.data();
    for (int plane = segment.plane; plane < segment.plane + segment.planes; ++plane)
    {
        const size_t base = static_cast<size_t>(plane - firstPlane) * height * blocks;
        for (int i = segment.row0; i < segment.row1 + R - 1; ++i)
        {
            const uint8_t* row = image.pixel(plane, 0, i);
            const uint32_t* t = term.taps.data() + base + static_cast<size_t>(i) * blocks;
            const uint32_t* q = weights + base + static_cast<size_t>(i) * blocks;
            if (i >= segment.row0 + R - 1 && i < segment.row1)
            {
                addRow<Op, 0, R>(sums, row, t, q, blocks);
                continue;
            }
            // The first and last image rows contribute to some output rows only.
            const auto meets = [&](int r) { return r < R && i - r >= segment.row0 && i - r < segment.row1; };
            if (meets(0))
                addRow<Op, 0, 1>(sums, row, t, q, blocks);
            if (meets(1))
                addRow<Op, 1 % R, 1>(sums, row, t, q, blocks);
            if (meets(2))
                addRow<Op, 2 % R, 1>(sums, row, t, q, blocks);
            if (meets(3))
                addRow<Op, 3 % R, 1>(sums, row, t, q, blocks);
        }
    }
    const v_uint32 constant = vx_setall_u32(segment.constant);
    for (int r = 0; r < R; ++r)
        v_store_interleave(out + r * stride, v_add(sums[r][0], constant), v_add(sums[r][1], constant),
                           v_add(sums[r][2], constant), v_add(sums[r][3], constant));
}

#if CT_AVX512

#if defined __GNUC__ && !defined __clang__ && __GNUC__ < 13 // warns of the undefined operands in its own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// vpdpbusd multiplies 64 bytes in one instruction, unsigned x signed. It is not part of AVX512_SKX, so the processor is
// asked at run time, and the compiler, which may not know it in this file, is given the instruction itself.
inline v_uint32 multiplyAdd(const v_uint32& sum, const v_uint8& unsignedBytes, const __m512i& signedBytes)
{
#ifdef _MSC_VER
    return v_uint32(_mm512_dpbusd_epi32(sum.val, unsignedBytes.val, signedBytes));
#else
    __m512i result = sum.val;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(result) : "v"(unsignedBytes.val), "v"(signedBytes));
    return v_uint32(result);
#endif
}

struct VnniDotOp // image bytes are stored as value - 128
{
    static v_uint32 add(const v_uint32& sum, const v_uint8& image, const v_uint8& taps, const v_uint8&)
    {
        return multiplyAdd(sum, taps, image.val);
    }
};

struct VnniWeightedSadOp
{
    static v_uint32 add(const v_uint32& sum, const v_uint8& image, const v_uint8& taps, const v_uint8& weights)
    {
        const __m512i above = _mm512_subs_epu8(image.val, taps.val), below = _mm512_subs_epu8(taps.val, image.val);
        const __m512i sign = _mm512_set1_epi8(-128);
        return multiplyAdd(sum, weights, _mm512_ternarylogic_epi32(above, below, sign, 0x56)); // (above | below) ^ sign
    }
};

//! Adds the 16-bit sums, four per 8 bytes, to the 32-bit sums, and clears them.
template <int R> CV_ALWAYS_INLINE void flushSums(__m512i (&sums)[R][2], __m512i (&wide)[R][4])
{
    const __m512i low = _mm512_set1_epi32(0xffff);
    for (int r = 0; r < R; ++r)
        for (int k = 0; k < 2; ++k)
        {
            wide[r][2 * k] = _mm512_add_epi32(wide[r][2 * k], _mm512_and_si512(sums[r][k], low));
            wide[r][2 * k + 1] = _mm512_add_epi32(wide[r][2 * k + 1], _mm512_srli_epi32(sums[r][k], 16));
            sums[r][k] = _mm512_setzero_si512();
        }
}

//! Stores the sums of a row of 64 positions in order.
inline void storeSums(const __m512i (&wide)[4], uint32_t* to)
{
    // Each 16 bytes of a, b, c, d are four consecutive positions; they follow each other in the order a, c, b, d.
    const __m512i a = _mm512_unpacklo_epi32(wide[0], wide[1]), b = _mm512_unpackhi_epi32(wide[0], wide[1]);
    const __m512i c = _mm512_unpacklo_epi32(wide[2], wide[3]), d = _mm512_unpackhi_epi32(wide[2], wide[3]);
    const __m512i ac0 = _mm512_shuffle_i32x4(a, c, 0x44), ac1 = _mm512_shuffle_i32x4(a, c, 0xee);
    const __m512i bd0 = _mm512_shuffle_i32x4(b, d, 0x44), bd1 = _mm512_shuffle_i32x4(b, d, 0xee);
    // ac0 = a0 a1 c0 c1, bd0 = b0 b1 d0 d1 -> a0 c0 b0 d0, a1 c1 b1 d1
    _mm512_storeu_si512(to, _mm512_shuffle_i32x4(ac0, bd0, 0x88));
    _mm512_storeu_si512(to + 16, _mm512_shuffle_i32x4(ac0, bd0, 0xdd));
    _mm512_storeu_si512(to + 32, _mm512_shuffle_i32x4(ac1, bd1, 0x88));
    _mm512_storeu_si512(to + 48, _mm512_shuffle_i32x4(ac1, bd1, 0xdd));
}

/** Sums absolute differences by vdbpsadbw, which takes 4 template bytes at 4 positions of each 8 image bytes: 128
differences per instruction. Positions 8 l + k have offset 0 from the load, and positions 8 l + 4 + k offset 4, which is
the load of the next word. */
template <int R>
void sadTile(const Planes& image, const Term& term, const Segment& segment, int firstPlane, uint32_t* out,
             size_t stride, int height)
{
    const int CAPACITY = 64; // words that a 16-bit sum holds: 65535 / (4 x 255)
    const int blocks = term.blocks;
    __m512i sums[R][2], wide[R][4];
    for (int r = 0; r < R; ++r)
    {
        sums[r][0] = sums[r][1] = _mm512_setzero_si512();
        wide[r][0] = wide[r][1] = wide[r][2] = wide[r][3] = _mm512_setzero_si512();
    }
    int pending = 0;
    for (int plane = segment.plane; plane < segment.plane + segment.planes; ++plane)
        for (int i = segment.row0; i < segment.row1; ++i)
        {
            const uint32_t* taps = &term.taps[(static_cast<size_t>(plane - firstPlane) * height + i) * blocks];
            const uint8_t* row = image.pixel(plane, 0, i);
            for (int first = 0; first < blocks; first += CAPACITY)
            {
                const int count = std::min(CAPACITY, blocks - first);
                if (pending + count > CAPACITY)
                {
                    flushSums(sums, wide);
                    pending = 0;
                }
                pending += count;
                const uint8_t* at = row + 4 * first;
                __m512i next = _mm512_set1_epi32(static_cast<int>(taps[first]));
                for (int r = 0; r < R; ++r)
                    sums[r][0] = _mm512_add_epi16(
                        sums[r][0], _mm512_dbsad_epu8(next, _mm512_loadu_si512(at + r * image.step), 0xe4));
                for (int j = 1; j < count; ++j)
                {
                    const __m512i before = next;
                    next = _mm512_set1_epi32(static_cast<int>(taps[first + j]));
                    for (int r = 0; r < R; ++r)
                    {
                        const __m512i bytes = _mm512_loadu_si512(at + r * image.step + 4 * j);
                        sums[r][0] = _mm512_add_epi16(sums[r][0], _mm512_dbsad_epu8(next, bytes, 0xe4));
                        sums[r][1] = _mm512_add_epi16(sums[r][1], _mm512_dbsad_epu8(before, bytes, 0xe4));
                    }
                }
                for (int r = 0; r < R; ++r)
                    sums[r][1] = _mm512_add_epi16(
                        sums[r][1], _mm512_dbsad_epu8(next, _mm512_loadu_si512(at + r * image.step + 4 * count), 0xe4));
            }
        }
    flushSums(sums, wide);
    for (int r = 0; r < R; ++r)
        storeSums(wide[r], out + r * stride);
}

const int SAD_WIDTH = 4;
inline bool hasVnni() { return checkHardwareSupport(CV_CPU_AVX_512VNNI); }

#elif CT_SSE

#if CV_AVX2
inline __m256i sad8(const v_uint8& a, const v_uint8& b) { return _mm256_sad_epu8(a.val, b.val); }
#else
inline __m128i sad8(const v_uint8& a, const v_uint8& b) { return _mm_sad_epu8(a.val, b.val); }
#endif

/** Sums absolute differences by psadbw: as in multiplyTile, but with eight template bytes, lanes of 64 bits and eight
phases. */
template <int R>
void sadTile(const Planes& image, const Term& term, const Segment& segment, int firstPlane, uint32_t* out,
             size_t stride, int height)
{
    for (int r = 0; r < R; ++r)
    {
        v_uint64 sums[8];
        for (int p = 0; p < 8; ++p)
            sums[p] = vx_setzero_u64();
        for (int plane = segment.plane; plane < segment.plane + segment.planes; ++plane)
            for (int i = segment.row0; i < segment.row1; ++i)
            {
                const uint32_t* taps = &term.taps[(static_cast<size_t>(plane - firstPlane) * height + i) * term.blocks];
                const uint8_t* row = image.pixel(plane, 0, i + r);
                for (int j = 0; j < term.blocks; j += 2)
                {
                    uint64_t word;
                    memcpy(&word, taps + j, sizeof(word));
                    const v_uint8 t = v_reinterpret_as_u8(vx_setall_u64(word));
                    for (int p = 0; p < 8; ++p)
                        sums[p] = v_add(sums[p], v_uint64(sad8(vx_load(row + 4 * j + p), t)));
                }
            }
        // Sums fit 32 bits, so two phases are combined to a pair of positions.
        uint64_t pairs[TILE / 2];
        v_store_interleave(pairs, v_or(sums[0], v_shl<32>(sums[1])), v_or(sums[2], v_shl<32>(sums[3])),
                           v_or(sums[4], v_shl<32>(sums[5])), v_or(sums[6], v_shl<32>(sums[7])));
        memcpy(out + r * stride, pairs, sizeof(pairs));
    }
}

const int SAD_WIDTH = 8;

#else

const int SAD_WIDTH = 0;

#endif

} // namespace
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_TERMS_HPP
