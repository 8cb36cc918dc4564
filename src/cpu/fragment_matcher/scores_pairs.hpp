// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score, for one instruction set (part of src/cpu/fragment_matcher/score.simd.hpp): DOT terms for processors that
// multiply pairs of 16-bit integers (pmaddwd) but not bytes.
//
// Rows are correlated by Karatsuba's identity, which needs 3 correlations of half the height where the definition needs
// 4. With even and odd image rows E, O, template rows e, o, and the even image rows E+ moved up by one:
//   X = (e + o) * O    P = e * (E - O)    Q = o * (E+ - O)    even output rows: X + P, odd output rows: X + Q
// Applied twice, that is 9 correlations of a quarter of the height instead of 16. All steps are exact modulo 2^32, and
// the result fits.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_PAIRS_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_PAIRS_HPP

#include "scores_rows.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN
namespace {

#if CT_SSE

const int PAIR_COMBINATIONS = 9; // 3 a + b: identity a of rows, then b of the result's rows
const int PAIR_TILE = 2 * LANES;

//! Computes the nine combinations of seven image rows from 4 k on: row k of nine images of a quarter of the height.
inline void combineRows(const uint8_t* const (&rows)[7], size_t count, int16_t* out, size_t combinationStep)
{
    for (size_t x = 0; x < count; x += VTraits<v_int16>::max_nlanes)
    {
        v_int16 i[7];
        for (int k = 0; k < 7; ++k)
            i[k] = v_reinterpret_as_s16(vx_load_expand(rows[k] + x));
        const v_int16 p0 = v_sub(i[0], i[1]), p1 = v_sub(i[2], i[3]), p2 = v_sub(i[4], i[5]);
        const v_int16 q0 = v_sub(i[2], i[1]), q1 = v_sub(i[4], i[3]), q2 = v_sub(i[6], i[5]);
        const v_int16 combined[PAIR_COMBINATIONS] = {i[3], v_sub(i[1], i[3]), v_sub(i[5], i[3]),
                                                     p1,   v_sub(p0, p1),     v_sub(p2, p1),
                                                     q1,   v_sub(q0, q1),     v_sub(q2, q1)};
        for (int c = 0; c < PAIR_COMBINATIONS; ++c)
            v_store(out + c * combinationStep + x, combined[c]);
    }
}

template <int FIRST, int COUNT>
CV_ALWAYS_INLINE void addPairRow(v_int32 (&sums)[4][2], const int16_t* image, const uint32_t* taps, int blocks)
{
    for (int j = 0; j < blocks; ++j)
    {
        const v_int16 image0 = vx_load(image + 2 * j), image1 = vx_load(image + 2 * j + 1);
        for (int r = FIRST; r < FIRST + COUNT; ++r)
        {
            const v_int16 t = v_reinterpret_as_s16(vx_setall_u32(taps[j - static_cast<ptrdiff_t>(r) * blocks]));
            sums[r][0] = v_dotprod(image0, t, sums[r][0]);
            sums[r][1] = v_dotprod(image1, t, sums[r][1]);
        }
    }
}

//! Correlates one combination for R rows of PAIR_TILE positions, all planes.
template <int R>
void pairTile(const int16_t* image, size_t rowStep, int imageRows, int planes, const uint32_t* taps, int rows,
              int blocks, uint32_t* out, size_t stride)
{
    v_int32 sums[4][2];
    for (int r = 0; r < 4; ++r)
        sums[r][0] = sums[r][1] = vx_setzero_s32();
    for (int p = 0; p < planes; ++p)
        for (int i = 0; i < rows + R - 1; ++i)
        {
            const int16_t* row = image + (static_cast<size_t>(p) * imageRows + i) * rowStep;
            const uint32_t* t = taps + (static_cast<ptrdiff_t>(p) * rows + i) * blocks;
            if (i >= R - 1 && i < rows)
            {
                addPairRow<0, R>(sums, row, t, blocks);
                continue;
            }
            const auto meets = [&](int r) { return r < R && i >= r && i - r < rows; };
            if (meets(0))
                addPairRow<0, 1>(sums, row, t, blocks);
            if (meets(1))
                addPairRow<1, 1>(sums, row, t, blocks);
            if (meets(2))
                addPairRow<2, 1>(sums, row, t, blocks);
            if (meets(3))
                addPairRow<3, 1>(sums, row, t, blocks);
        }
    for (int r = 0; r < R; ++r)
        v_store_interleave(out + r * stride, v_reinterpret_as_u32(sums[r][0]), v_reinterpret_as_u32(sums[r][1]));
}

//! Sums a term for 4 R rows of positions. @param out rows of `stride` elements.
template <int R>
void multiplyPairs(const Plan& plan, const Term& term, const Planes& planes, int cols, uint32_t* out, size_t stride,
                   Buffer& memory)
{
    const int rows = (plan.height + 3) / 4, imageRows = rows + R - 1, blocks = (plan.width + 1) / 2;
    const int first = term.segments[0].plane, count = term.segments[0].planes;
    const size_t length = alignRow(static_cast<size_t>(cols) + plan.width),
                 combinationStep = length * imageRows * count;
    // Memory: the nine images, then the nine correlations.
    int16_t* const images = memory.get<int16_t>(PAIR_COMBINATIONS * (combinationStep + 2 * R * stride) + 2 * PAIR_TILE);
    uint32_t* const sums = reinterpret_cast<uint32_t*>(images + PAIR_COMBINATIONS * combinationStep);
    const int last = 4 * R + plan.height - 2; // later image rows meet no template row: their contributions cancel
    for (int p = 0; p < count; ++p)
        for (int k = 0; k < imageRows; ++k)
        {
            const uint8_t* source[7];
            for (int i = 0; i < 7; ++i)
                source[i] = planes.pixel(first + p, 0, std::min(4 * k + i, last));
            combineRows(source, length, images + (static_cast<size_t>(p) * imageRows + k) * length, combinationStep);
        }
    const size_t tapsStep = static_cast<size_t>(count) * rows * blocks;
    for (int c = 0; c < PAIR_COMBINATIONS; ++c)
        for (int x = 0; x < cols; x += PAIR_TILE)
            pairTile<R>(images + c * combinationStep + x, length, imageRows, count, &term.pairs[c * tapsStep], rows,
                        blocks, sums + c * R * stride + x, stride);
    for (int r = 0; r < R; ++r)
    {
        const uint32_t* s[PAIR_COMBINATIONS];
        for (int c = 0; c < PAIR_COMBINATIONS; ++c)
            s[c] = sums + (c * R + r) * stride;
        uint32_t* const to = out + 4 * r * stride;
        for (size_t x = 0; x < stride; ++x)
        {
            const uint32_t even = s[0][x] + s[1][x], odd = s[0][x] + s[2][x];
            to[x] = even + s[3][x] + s[4][x];
            to[x + stride] = even + s[6][x] + s[7][x];
            to[x + 2 * stride] = odd + s[3][x] + s[5][x];
            to[x + 3 * stride] = odd + s[6][x] + s[8][x];
        }
    }
}

#endif

} // namespace
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_PAIRS_HPP
