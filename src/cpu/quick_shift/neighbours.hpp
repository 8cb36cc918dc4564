// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Pairs of 4-neighbours of an image, for stages of the CPU backend.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_NEIGHBOURS_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_NEIGHBOURS_HPP

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

//! Calls visit(i, j) for each pixel i and each of its right and lower neighbours j, in raster order of i.
template <typename Visit> void forNeighbours(int cols, int rows, const Visit& visit)
{
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            const int i = y * cols + x;
            if (x + 1 < cols)
                visit(i, i + 1);
            if (y + 1 < rows)
                visit(i, i + cols);
        }
}

}}}} // namespace cv::cuda::quick_shift::cpu

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_NEIGHBOURS_HPP
