// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// eliminate: means of blocks of pixels, and sums of differences of single positions, compiled once per instruction set.
#include "eliminate.hpp"
#include "opencv2/core/hal/intrin.hpp"
#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
#include "scores_terms.hpp"
#endif

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

/** Computes the means of the blocks whose first rows are the first `rows` rows of one plane, rounded down.
@param cols pixels per row. @param to rows of BLOCK phases: the mean of the block that begins in column BLOCK * k + p is
byte k of phase p. @param phaseStep bytes from phase to phase, a multiple of ROW_UNIT. */
void meansOfRows(const uint8_t* from, size_t step, int rows, int cols, uint8_t* to, size_t phaseStep, Buffer& memory);

//! Returns the sum of the differences of rows [begin, end) of a pattern and of the bytes at the origin of `planes`.
uint64_t differencesAt(const Pattern& pattern, const Planes& planes, int begin, int end);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

//! Adds SIGN times a row of bytes to the sums of columns, of at most 8 rows.
template <int SIGN> void addToColumns(uint16_t* columns, const uint8_t* row, int cols)
{
    for (int x = 0; x < cols; ++x)
        columns[x] = static_cast<uint16_t>(columns[x] + SIGN * row[x]);
}

//! Stores the even and the odd bytes of a row.
void splitInTwo(const uint8_t* from, size_t count, uint8_t* even, uint8_t* odd)
{
    for (size_t k = 0; k < count; k += VTraits<v_uint8>::vlanes())
    {
        v_uint8 parts[2];
        v_load_deinterleave(from + 2 * k, parts[0], parts[1]);
        v_store(even + k, parts[0]);
        v_store(odd + k, parts[1]);
    }
}

//! Sums of bytes or of products of bytes of a row.
#if CT_SSE && CT_AVX512
inline v_uint64 sumOfDifferences(const v_uint8& a, const v_uint8& b) { return v_uint64(_mm512_sad_epu8(a.val, b.val)); }
#elif CT_SSE
inline v_uint64 sumOfDifferences(const v_uint8& a, const v_uint8& b) { return v_uint64(sad8(a, b)); }
#else
inline v_uint64 sumOfDifferences(const v_uint8& a, const v_uint8& b)
{
    v_uint64 low, high;
    v_expand(v_dotprod_expand(v_absdiff(a, b), vx_setall_u8(1)), low, high);
    return v_add(low, high);
}
#endif

//! Adds a row of a pattern. @param weights 255 within the row without WEIGHTED.
template <bool WEIGHTED>
inline v_uint64 addDifferences(v_uint64 sum, const uint8_t* bytes, const uint8_t* weights, const uint8_t* image,
                               int width)
{
    const int step = VTraits<v_uint8>::vlanes();
    if (WEIGHTED)
    {
        v_uint32 row = vx_setzero_u32(); // of 32,767 products, four per lane of each 16
        for (int x = 0; x < width; x += step)
            row = v_dotprod_expand(v_absdiff(vx_load(bytes + x), vx_load(image + x)), vx_load(weights + x), row);
        v_uint64 low, high;
        v_expand(row, low, high);
        return v_add(sum, v_add(low, high));
    }
    int x = 0;
    for (; x + step <= width; x += step)
        sum = v_add(sum, sumOfDifferences(vx_load(bytes + x), vx_load(image + x)));
    if (x < width)
        sum = v_add(sum, sumOfDifferences(vx_load(bytes + x), v_and(vx_load(image + x), vx_load(weights + x))));
    return sum;
}

} // namespace

void meansOfRows(const uint8_t* from, size_t step, int rows, int cols, uint8_t* to, size_t phaseStep, Buffer& memory)
{
    const size_t length = BLOCK * phaseStep, padded = length + ROW_UNIT, half = length / 2, quarter = length / 4;
    uint16_t* const columns = memory.get<uint16_t>(3 * padded);
    uint8_t* const means = reinterpret_cast<uint8_t*>(columns + padded);
    uint8_t *const halves = means + length, *const quarters = halves + length;
    std::fill(columns, columns + padded, uint16_t(0));
    for (int y = 0; y < BLOCK - 1; ++y)
        addToColumns<1>(columns, from + y * step, cols);
    for (int y = 0; y < rows; ++y, from += step, to += BLOCK * phaseStep)
    {
        addToColumns<1>(columns, from + (BLOCK - 1) * step, cols);
        for (size_t x = 0; x < length; ++x)
        {
            uint16_t sum = 0; // at most 64 * 255
            for (int u = 0; u < BLOCK; ++u)
                sum = static_cast<uint16_t>(sum + columns[x + u]);
            means[x] = static_cast<uint8_t>(sum / (BLOCK * BLOCK));
        }
        splitInTwo(means, half, halves, halves + half);
        for (int p = 0; p < 2; ++p)
            splitInTwo(halves + p * half, quarter, quarters + p * quarter, quarters + (p + 2) * quarter);
        for (int p = 0; p < 4; ++p)
            splitInTwo(quarters + p * quarter, phaseStep, to + p * phaseStep, to + (p + 4) * phaseStep);
        addToColumns<-1>(columns, from, cols);
    }
}

uint64_t differencesAt(const Pattern& pattern, const Planes& planes, int begin, int end)
{
    const auto add = pattern.weighted ? addDifferences<true> : addDifferences<false>;
    v_uint64 sum = vx_setzero_u64();
    for (int c = 0; c < pattern.channels; ++c)
        for (int y = begin; y < end; ++y)
            sum = add(sum, pattern.row(c, y), pattern.weightsOf(y), planes.pixel(c, 0, y), pattern.width);
    return v_reduce_sum(sum);
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu
