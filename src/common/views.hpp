// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What stages and kernels see of a Mat or GpuMat: pointer, step, size. PODs, passed by value, for host and device code.
#ifndef OPENCV_CUDATRACKING_COMMON_VIEWS_HPP
#define OPENCV_CUDATRACKING_COMMON_VIEWS_HPP

#include "hostdevice.hpp"
#include <cstddef>
#include <cstdint>

namespace cv { namespace cuda { namespace detail {

//! An 8-bit picture with interleaved channels. `channels` (1 or 3) count, pixels are `pixelStride` bytes apart (1, 3, 4).
struct ImageView
{
    const uint8_t* data;
    size_t step; //!< bytes from row to row
    int cols, rows;
    int pixelStride;
    int channels;

    CT_HOST_DEVICE const uint8_t* pixel(int x, int y) const
    {
        return data + static_cast<size_t>(y) * step + static_cast<size_t>(x) * pixelStride;
    }
};

//! Rows of T. A null pointer stands for an output nobody asked for.
template <typename T> struct RowsView
{
    T* data;
    size_t step; //!< bytes from row to row

    CT_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
    CT_HOST_DEVICE T* row(int y) const
    {
        return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(data) + static_cast<size_t>(y) * step);
    }
};

template <typename T> struct ConstRowsView
{
    const T* data;
    size_t step;

    CT_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
    CT_HOST_DEVICE const T* row(int y) const
    {
        return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(data) + static_cast<size_t>(y) * step);
    }
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_VIEWS_HPP
