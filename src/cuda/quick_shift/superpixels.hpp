// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Access of kernels to pixels, labels and sums of superpixels. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SUPERPIXELS_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SUPERPIXELS_HPP

#include "pixel_grid.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

template <typename T> __device__ __forceinline__ const T* pixelOf(const ImageView& image, int x, int y)
{
    return image.row<T>(y) + static_cast<size_t>(x) * image.channels;
}

__device__ __forceinline__ unsigned long long* sumsOf(const SumsTable& table, int label)
{
    return table.rows + static_cast<size_t>(label) * (1 + table.channels);
}

//! Returns the number of a label's superpixel in the stack; -1 where masked.
__device__ __forceinline__ int numberOf(const SumsTable& table, int image, int label)
{
    return table.firsts && label >= 0 ? table.firsts[image] + label : label;
}

//! Returns the number of rows. Labels may be of another compute() than the one the table was made for, so both limits
//! hold.
__device__ __forceinline__ int sizeOf(const SumsTable& table) { return ::min(*table.count, table.capacity); }

//! Returns the scale of an image's colours in the sums: fixedScale() for CV_32F, else 1.
__device__ __forceinline__ double scaleOf(const ImageView& image, const SumsTable& table, int index)
{
    return image.depth == detail::DEPTH_32F ? fixedScale(table.largest[index]) : 1.;
}

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_SUPERPIXELS_HPP
