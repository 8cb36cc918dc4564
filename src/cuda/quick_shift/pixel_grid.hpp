// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Blocks and grids of the kernels with one thread per pixel of a stack. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PIXEL_GRID_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PIXEL_GRID_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

const int BLOCK_COLS = 32, BLOCK_ROWS = 8, THREADS = BLOCK_COLS * BLOCK_ROWS;
//! Threads of a block: one per pixel.
const dim3 BLOCK(BLOCK_COLS, BLOCK_ROWS);

//! Returns the blocks of cols x rows pixels that cover a stack. Those of all images lie side by side: a grid may be 2^31 - 1
//! blocks wide, but only 65535 high and deep.
inline dim3 gridOf(const Extent& extent, int cols = BLOCK_COLS, int rows = BLOCK_ROWS)
{
    return dim3(detail::ceilDiv(extent.cols, cols) * extent.count, detail::ceilDiv(extent.rows, rows));
}

//! Place of a block of such a grid. One image needs no division.
struct BlockPlace
{
    int image, left, top; //!< left, top: its first pixel
    size_t base;          //!< index of the image's first pixel in the stack

    __device__ __forceinline__ BlockPlace(const Extent& extent, int cols, int rows)
    {
        const int across = detail::ceilDiv(extent.cols, cols);
        image = extent.count == 1 ? 0 : static_cast<int>(blockIdx.x) / across;
        left = (static_cast<int>(blockIdx.x) - image * across) * cols;
        top = static_cast<int>(blockIdx.y) * rows;
        base = static_cast<size_t>(image) * extent.pixels();
    }
};

//! Pixel of a thread of a block of BLOCK_COLS x BLOCK_ROWS.
struct PixelPlace
{
    int image, x, y;
    bool inside; //!< of the image
    size_t at;   //!< index in the stack

    __device__ __forceinline__ explicit PixelPlace(const Extent& extent)
    {
        const BlockPlace block(extent, BLOCK_COLS, BLOCK_ROWS);
        image = block.image;
        x = block.left + static_cast<int>(threadIdx.x);
        y = block.top + static_cast<int>(threadIdx.y);
        inside = x < extent.cols && y < extent.rows;
        at = block.base + static_cast<size_t>(y) * extent.cols + x;
    }
};

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PIXEL_GRID_HPP
