// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage integralImage: the integral images of a tile's patch. Device code that all threads of a block run.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_INTEGRAL_IMAGE_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_INTEGRAL_IMAGE_HPP

#include "pairs.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

__device__ __forceinline__ int blockThreads() { return static_cast<int>(blockDim.x); }
__device__ __forceinline__ int blockWarps() { return static_cast<int>(blockDim.x >> 5); }

//! Pixels and integral images of a block's tile.
struct Patch
{
    uint8_t* pixels;
    uint32_t* table;
    uint32_t* tilted;
    int cols, rows; //!< pixels that windows of the layer cover; at most the shape's
};

__device__ __forceinline__ uint32_t scanWarp(uint32_t value, int lane)
{
#pragma unroll
    for (int d = 1; d < 32; d *= 2)
    {
        const uint32_t before = __shfl_up_sync(ALL_LANES, value, d);
        value += lane >= d ? before : 0u;
    }
    return value;
}

/** Computes the first half of an integral image: sums along rows, one warp per row with neighbouring pixels per lane,
and the zeros of the first row and column. */
template <bool SQUARES> __device__ __forceinline__ void sumRows(const Shape& shape, const Patch& patch)
{
    const int lane = threadIdx.x & 31, each = detail::ceilDiv(patch.cols, 32);
    const int begin = lane * each, end = ::min(begin + each, patch.cols);
    for (int y = threadIdx.x >> 5; y < patch.rows; y += blockWarps())
    {
        const uint8_t* const row = patch.pixels + y * shape.patchStep;
        uint32_t sum = 0;
#pragma unroll 2
        for (int x = begin; x < end; ++x)
            sum += SQUARES ? row[x] * row[x] : row[x];
        uint32_t running = scanWarp(sum, lane) - sum;
#pragma unroll 2
        for (int x = begin; x < end; ++x)
        {
            running += SQUARES ? row[x] * row[x] : row[x];
            patch.table[shape.place(x + 1, y + 1)] = running;
        }
        if (lane == 0)
            patch.table[shape.place(0, y + 1)] = 0;
    }
    for (int x = threadIdx.x; x <= patch.cols; x += blockThreads())
        patch.table[shape.place(x, 0)] = 0;
}

//! Adds up the columns of `table` from row 1 on, one thread per column.
__device__ __forceinline__ void sumColumns(const Shape& shape, const Patch& patch, uint32_t* table)
{
    const int BATCH = 8; // loads in flight
    for (int x = threadIdx.x; x <= patch.cols; x += blockThreads())
    {
        uint32_t* at = table + shape.place(x, 1);
        uint32_t sum = 0;
        int y = 0;
#pragma unroll 1
        for (; y + BATCH <= patch.rows; y += BATCH)
        {
            uint32_t values[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
                values[k] = at[k * shape.step];
#pragma unroll
            for (int k = 0; k < BATCH; ++k, at += shape.step)
            {
                sum += values[k];
                *at = sum;
            }
        }
#pragma unroll 1
        for (; y < patch.rows; ++y, at += shape.step)
        {
            sum += *at;
            *at = sum;
        }
    }
}

// --- tables for pairs of windows: see src/cuda/cascade/pairs.hpp -----------------------------------------------------

const int PAIR_EACH = tuning::PAIR_PIXELS / 16; //!< neighbouring pixels per lane

/** Computes sums along rows of up to 16 * PAIR_EACH pixels, for two rows in one word: the sum of the first row plus
2^16 times that of the second. The sums of pixel rows 2 j and 2 j + 1 go to row 2 j + 1 of the table. Sixteen lanes
handle two rows, with three words of four pixels each per lane and row. @param pixels first pixel of the patch, in
shared or in device memory; rows are multiples of 4 bytes. */
__device__ __forceinline__ void sumPairsOfRows(const Shape& shape, const Patch& patch, const uint8_t* pixels,
                                               int pixelStep)
{
    const int lane = threadIdx.x & 15, step = shape.step;
    const int shift = shape.shift, half = shape.half, cols = patch.cols - lane * PAIR_EACH;
    for (int y = 2 * static_cast<int>(threadIdx.x >> 4); y < ((patch.rows + 3) & ~3); y += blockThreads() / 8)
    {
        const uint32_t* const upper =
            reinterpret_cast<const uint32_t*>(pixels + static_cast<size_t>(::min(y, patch.rows - 1)) * pixelStep) +
            3 * lane;
        const uint32_t* const lower =
            reinterpret_cast<const uint32_t*>(pixels + static_cast<size_t>(::min(y + 1, patch.rows - 1)) * pixelStep) +
            3 * lane;
        uint32_t a[3], b[3];
        uint32_t sumA = 0, sumB = 0;
#pragma unroll
        for (int k = 0; k < 3; ++k)
        {
            a[k] = cols > 4 * k ? upper[k]
                                : 0; // pixels of the last word beyond the patch come after all pixels that count
            b[k] = cols > 4 * k ? lower[k] : 0;
            sumA = __dp4a(a[k], 0x01010101u, sumA);
            sumB = __dp4a(b[k], 0x01010101u, sumB);
        }
        const uint32_t own = sumA + (sumB << 16); // sums of a row are below 2^16
        uint32_t before = own;
#pragma unroll
        for (int d = 1; d < 16; d *= 2)
        {
            const uint32_t value = __shfl_up_sync(ALL_LANES, before, d, 16);
            before += lane >= d ? value : 0u;
        }
        before -= own;
        if (y >= patch.rows)
            continue;
        sumA = before & 0xffffu;
        sumB = before >> 16;
        uint32_t* const row = patch.table + (y + 1) * step;
        uint32_t* const odd = row + lane * (PAIR_EACH >> shift) +
                              shift * half; // columns 12 l + 1, 12 l + 3, ... of the table, for lane l
        uint32_t* const even = row + lane * (PAIR_EACH >> shift) + (shift ? 1 : 0); // columns 12 l + 2, 12 l + 4, ...
#pragma unroll
        for (int k = 0; k < PAIR_EACH; ++k)
        {
            const uint32_t ones = 0x01010101u >> (8 * (3 - k % 4));
            const uint32_t sum = __dp4a(a[k / 4], ones, sumA) + (__dp4a(b[k / 4], ones, sumB) << 16);
            uint32_t* const at = shift ? (k % 2 ? even : odd) + k / 2 : row + lane * PAIR_EACH + k + 1;
            if (cols > k)
                *at = sum;
            if (k % 4 == 3)
            {
                sumA = __dp4a(a[k / 4], ones, sumA);
                sumB = __dp4a(b[k / 4], ones, sumB);
            }
        }
        if (lane == 0)
            row[0] = 0;
    }
}

/** Adds up columns into words for pairs: the sum at its place plus 2^16 times the sum as many rows below as windows are
apart. The last rows have no row below; only upper windows have corners there. @param TWO whether words hold two rows,
as sumPairsOfRows() writes them; otherwise one row, from row 0 on. @param SHIFT Shape::shift. */
template <bool TWO, int SHIFT>
__device__ __forceinline__ void sumColumnsOfPairs(const Shape& shape, const Patch& patch, uint32_t* table)
{
    const int BATCH = 8, EACH = TWO ? 2 : 1; // loads in flight; rows per load
    const int step = shape.step, count = detail::ceilDiv(patch.rows, EACH);
    for (int x = threadIdx.x; x <= patch.cols; x += blockThreads())
    {
        uint32_t* at = table + shape.place(x, 0); // stays behind the reads
        const uint32_t* from = at + step;
        uint32_t before = 0, last = 0, sum = 0; // before, last: sums of the last two rows
        int written = -1 - SHIFT;               // number of written rows, below 0 until sums are known
        const auto add = [&](uint32_t value)
        {
            sum += value;
            if (written >= 0)
            {
                *at = (SHIFT ? before : last) + (sum << 16);
                at += step;
            }
            before = last;
            last = sum;
            ++written;
        };
        const auto addWord = [&](uint32_t value)
        {
            add(TWO ? value & 0xffffu : value);
            if (TWO)
                add(value >> 16);
        };
        add(0); // row 0
        int i = 0;
#pragma unroll 1
        for (; i + BATCH <= count; i += BATCH)
        {
            uint32_t values[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k, from += EACH * step)
                values[k] = *from;
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
                addWord(values[k]);
        }
#pragma unroll 1
        for (; i < count; ++i, from += EACH * step)
            addWord(*from);
        // The last rows have no row below. If the number of rows is odd, a word had one row too many.
        const bool odd = TWO && (patch.rows & 1) != 0;
        if (SHIFT)
        {
            *at = before;
            at += step;
        }
        if (!odd)
            *at = last;
    }
}
template <bool TWO>
__device__ __forceinline__ void sumColumnsOfPairs(const Shape& shape, const Patch& patch, uint32_t* table)
{
    if (shape.shift)
        sumColumnsOfPairs<TWO, 1>(shape, patch, table);
    else
        sumColumnsOfPairs<TWO, 0>(shape, patch, table);
}

//! Computes the integral image of pixels, or of their squares. The caller synchronizes before (patch) and after.
template <bool SQUARES> __device__ __forceinline__ void integralImage(const Shape& shape, const Patch& patch)
{
    sumRows<SQUARES>(shape, patch);
    __syncthreads(); // rows are whole
    sumColumns(shape, patch, patch.table);
}

/** Computes the integral image of rotated sums: (X, Y) holds the sum of the pixels (x, y) with y < Y and |x - (X - 1)|
<= Y - 1 - y. From one row to the next it grows by the two diagonals that end in pixel (X - 1, Y - 1). So sums along
diagonals are added up down the columns; threads follow diagonals from top to bottom. */
template <bool PAIRS> __device__ __forceinline__ void makeTilted(const Shape& shape, const Patch& patch)
{
    const int diagonals = patch.cols + patch.rows; // diagonals of the pixels and of the column to their left
    for (int x = threadIdx.x; x <= patch.cols; x += blockThreads())
        patch.tilted[shape.place(x, 0)] = 0;
    for (int y = threadIdx.x; y < patch.rows; y += blockThreads())
        patch.tilted[shape.place(0, y + 1)] = 0;
    __syncthreads(); // zeros in column 0, before diagonals are added there
    for (int d = threadIdx.x; d < diagonals; d += blockThreads())
    {
        uint32_t sum = 0;
#pragma unroll 1
        for (int y = 0, x = d - patch.rows; y < patch.rows && x < patch.cols; ++y, ++x)
            if (x >= 0)
            {
                sum += patch.pixels[y * shape.patchStep + x];
                patch.tilted[shape.place(x + 1, y + 1)] = sum;
            }
    }
    __syncthreads(); // falling diagonals are complete
    for (int d = threadIdx.x; d < diagonals; d += blockThreads())
    {
        uint32_t sum = 0; // sum of the pixels before; the falling diagonal has the last one already
#pragma unroll 1
        for (int y = 0, x = d; y < patch.rows && x >= -1; ++y, --x)
            if (x < patch.cols)
            {
                patch.tilted[shape.place(x + 1, y + 1)] += sum;
                sum += x >= 0 ? patch.pixels[y * shape.patchStep + x] : 0;
            }
    }
    __syncthreads(); // both diagonals are complete
    if constexpr (PAIRS)
        sumColumnsOfPairs<false>(shape, patch, patch.tilted);
    else
        sumColumns(shape, patch, patch.tilted);
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_INTEGRAL_IMAGE_HPP
