// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Contrast of all windows of a tile, for pairs: device code that all threads of a block run.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_CONTRAST_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_CONTRAST_HPP

#include "tile.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

//! Running sums and sums of squares over the inner part of a window's rows: pixels [begin, end) of each row, of any
//! number.
struct RowSums
{
    const uint8_t* rows; //!< word with the first pixel, in row 0
    int step, words;
    uint32_t first, beforeLast, last; //!< masks of words, as windows begin at any byte of a word
    uint32_t sum = 0, squares = 0;

    __device__ __forceinline__ RowSums(const uint8_t* theRows, int theStep, int begin, int end)
        : rows(theRows),
          step(theStep),
          words((end - begin + 6) / 4), // as many as can hold the pixels, wherever in a word they begin
          first(0xffffffffu << (8 * (begin & 3))),
          beforeLast(maskOf(end - begin / 4 * 4 - 4 * (words - 2))),
          last(maskOf(end - begin / 4 * 4 - 4 * (words - 1)))
    {}
    //! Returns the mask of a word's first bytes. @param bytes number of bytes that count.
    static __device__ __forceinline__ uint32_t maskOf(int bytes)
    {
        return bytes >= 4 ? 0xffffffffu : (1u << (8 * ::max(bytes, 0))) - 1u;
    }

    __device__ __forceinline__ void add(int row, bool plus)
    {
        const uint32_t* const pixels = reinterpret_cast<const uint32_t*>(rows + row * step);
        uint32_t s = 0, q = 0;
#pragma unroll 1
        for (int w = 0; w < words; ++w)
        {
            const uint32_t four = pixels[w] & (w == 0 ? first : 0xffffffffu) &
                                  (w == words - 2 ? beforeLast : 0xffffffffu) & (w == words - 1 ? last : 0xffffffffu);
            s = __dp4a(four, 0x01010101u, s);
            q = __dp4a(four, four, q);
        }
        sum = plus ? sum + s : sum - s;
        squares = plus ? squares + q : squares - q;
    }
};

/** Computes normOf() at a lower cost. rsqrt() and the value that normOf() rounds to 24 bits are each within two units
of the last of 53 bits, so both round to the same float unless a midpoint between two floats is near. */
__device__ __forceinline__ float quickNormOf(int64_t contrast)
{
    const double norm = ::rsqrt(static_cast<double>(contrast));
    const int beside = (static_cast<int>(__double_as_longlong(norm)) & 0x1fffffff) - 0x10000000;
    return beside > 16 || beside < -16 ? static_cast<float>(norm) : normOf(contrast);
}

// Contrast of windows up to 33 pixels wide. Pixels less 128 have the same contrast, as it is a variance, and the sum
// and the sum of squares over the inner part of a row of a window fit one word: sums of rows are computed once, and
// windows add them up.
const int PACKED_PIXELS = 31; //!< largest number of inner pixels per row
const int SQUARES_BITS = 19;  //!< 31 * 128 * 128 is below 2^19; the sum, with its sign, has the other 13 bits

__device__ __forceinline__ uint32_t packRowSums(int sum, int squares)
{
    return (static_cast<uint32_t>(sum) << SQUARES_BITS) + static_cast<uint32_t>(squares);
}

//! Sums over the inner part of one row of a window. Pixels are less 128, four in a word.
struct InnerSums
{
    int sum = 0, squares = 0;

    __device__ __forceinline__ void add(int four)
    {
        sum = __dp4a(four, 0x01010101, sum);
        squares = __dp4a(four, four, squares);
    }
    //! Moves on by the bytes of `ones`. @param entering,leaving words with these bytes.
    __device__ __forceinline__ void slide(int entering, int leaving, int ones)
    {
        const int bytes = ones * 255;
        sum += __dp4a(entering, ones, 0) - __dp4a(leaving, ones, 0);
        squares += __dp4a(entering, entering & bytes, 0) - __dp4a(leaving, leaving & bytes, 0);
    }
    __device__ __forceinline__ uint32_t packed() const { return packRowSums(sum, squares); }
};

/** Computes the packed sums of all rows, for each column of windows, into `out` with shape.cols words per row. A thread
has four neighbouring columns and slides from one to the next. @param WORDS words of four pixels that hold a window's
row and the pixel before it.
@param STEP distance of windows. */
template <int WORDS, int STEP>
__device__ __forceinline__ void sumInnerRows(const Shape& shape, const Patch& patch, int inner, uint32_t* out)
{
    const int bits = shape.columnBits - 2, group = threadIdx.x & ((1 << bits) - 1);
    const uint32_t* const pixels = reinterpret_cast<const uint32_t*>(patch.pixels) + group * STEP;
    const auto wordAt = [&](int y, int word)
    { return static_cast<uint32_t>(pixels[y * (shape.patchStep / 4) + word] ^ 0x80808080u); };
    // The inner part begins at byte 1. Bytes that enter are `inner` bytes behind those that leave.
    const int entering = (1 + inner) / 4, shift = 8 * ((1 + inner) & 3);
#pragma unroll 1
    for (int y = 1 + static_cast<int>(threadIdx.x >> bits); y < patch.rows - 1; y += blockThreads() >> bits)
    {
        InnerSums sums;
        uint4 packed;
        uint32_t words[2];
#pragma unroll
        for (int k = 0; k < WORDS; ++k)
        {
            const uint32_t word = wordAt(y, k);
            if (k < 2)
                words[k] = word;
            const int bytes = 1 + inner - 4 * k; // of this word
            const uint32_t mask = bytes >= 4 ? 0xffffffffu : bytes > 0 ? (1u << (8 * bytes)) - 1u : 0u;
            sums.add(static_cast<int>(word & mask & (k == 0 ? 0xffffff00u : 0xffffffffu)));
        }
        packed.x = sums.packed();
        const uint32_t in0 = wordAt(y, entering), in1 = wordAt(y, entering + 1);
        const int in = static_cast<int>(__funnelshift_r(in0, in1, shift)),
                  gone = static_cast<int>(__funnelshift_r(words[0], words[1], 8));
        sums.slide(in, gone, STEP == 1 ? 0x00000001 : 0x00000101);
        packed.y = sums.packed();
        sums.slide(in, gone, STEP == 1 ? 0x00000100 : 0x01010000);
        packed.z = sums.packed();
        if (STEP == 1)
            sums.slide(in, gone, 0x00010000);
        else
            sums.slide(static_cast<int>(__funnelshift_r(in1, wordAt(y, entering + 2), shift)),
                       static_cast<int>(words[1] >> 8), 0x00000101);
        packed.w = sums.packed();
        reinterpret_cast<uint4*>(out + (y << shape.columnBits))[group] = packed;
    }
}
template <int WORDS>
__device__ __forceinline__ void sumInnerRows(const Shape& shape, const Patch& patch, int inner, uint32_t* out)
{
    if (shape.shift)
        sumInnerRows<WORDS, 2>(shape, patch, inner, out);
    else
        sumInnerRows<WORDS, 1>(shape, patch, inner, out);
}

//! Stores the norms of a column of windows, from `first` to `last`. @param sums running sums, with add(row, plus).
template <class Sums>
__device__ __forceinline__ void storeNorms(const Tile& t, int column, int first, int last, Sums& sums)
{
    const Shape& shape = t.shape;
    const ModelView& model = t.job.model;
    const int area = contrastArea(model.width, model.height), inner = model.height - 2;
    const int64_t least = model.leastContrast;
    int top = (first << shape.shift) + 1;
#pragma unroll 2
    for (int y = 0; y < inner; ++y)
        sums.add(top + y, true);
    for (int row = first;; ++row)
    {
        const int64_t contrast = contrastOf(sums.sum, sums.squares, area);
        t.norms[row << shape.columnBits | column] = contrast >= least ? quickNormOf(contrast) * NORM_SCALE : 0.f;
        if (row + 1 == last)
            return;
#pragma unroll 1
        for (int k = 0; k <= shape.shift; ++k, ++top)
        {
            sums.add(top + inner, true);
            sums.add(top, false);
        }
    }
}

//! Adds up packed sums of rows.
struct PackedSums
{
    const uint32_t* rows; //!< of the column
    int columnBits;
    uint32_t sum = 0, squares = 0;

    __device__ __forceinline__ void add(int row, bool plus)
    {
        const uint32_t packed = rows[row << columnBits], q = packed & ((1u << SQUARES_BITS) - 1u);
        const uint32_t s = static_cast<uint32_t>(static_cast<int32_t>(packed) >> SQUARES_BITS);
        sum = plus ? sum + s : sum - s;
        squares = plus ? squares + q : squares - q;
    }
};

/** Computes the norms of all windows: each thread goes down a part of a column. All threads call it together; the patch
stays as it is, the tables are overwritten. */
__device__ __forceinline__ void measureContrast(const Tile& t)
{
    const Shape& shape = t.shape;
    const int parts = blockThreads() >> shape.columnBits, each = detail::ceilDiv(shape.rows, parts);
    const int column = threadIdx.x & (shape.cols - 1), part = threadIdx.x >> shape.columnBits;
    const int first = part * each, last = ::min(first + each, t.rows), inner = t.job.model.width - 2;
    const bool has = column < t.cols && first < last;
    if (inner > PACKED_PIXELS)
    {
        const int begin = (column << shape.shift) + 1;
        RowSums rows(t.patch.pixels + begin / 4 * 4, shape.patchStep, begin, begin + inner);
        if (has)
            storeNorms(t, column, first, last, rows);
        return;
    }
    if (inner < 20)
        sumInnerRows<5>(shape, t.patch, inner, t.patch.table);
    else if (inner < 24)
        sumInnerRows<6>(shape, t.patch, inner, t.patch.table);
    else
        sumInnerRows<8>(shape, t.patch, inner, t.patch.table);
    __syncthreads(); // sums of rows
    PackedSums sums = {t.patch.table + column, shape.columnBits};
    if (has)
        storeNorms(t, column, first, last, sums);
    __syncthreads(); // the table's memory may be used again
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_CONTRAST_HPP
