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

//! Returns the blocks that cover so many pixels.
inline dim3 gridOf(int cols, int rows)
{
    return dim3(detail::ceilDiv(cols, BLOCK_COLS), detail::ceilDiv(rows, BLOCK_ROWS));
}

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_PIXEL_GRID_HPP
