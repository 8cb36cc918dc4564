// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Views of a Mat or GpuMat for stages and kernels: pointer, step, size. Plain structs, passed by value, for host and
// device code.
#ifndef OPENCV_CUDATRACKING_COMMON_VIEWS_HPP
#define OPENCV_CUDATRACKING_COMMON_VIEWS_HPP

#include "hostdevice.hpp"
#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace cv { namespace cuda { namespace detail {

//! cudaStream_t, for builds without CUDA too.
typedef CUstream_st* StreamHandle;

//! a / b, rounded up; for a >= 0 and b > 0.
template <typename T> CT_HOST_DEVICE constexpr T ceilDiv(T a, T b) { return (a + b - 1) / b; }
//! The least multiple of b that is not below a; for a >= 0 and b > 0.
template <typename T> CT_HOST_DEVICE constexpr T roundUp(T a, T b) { return ceilDiv(a, b) * b; }

//! Depths of images: CV_8U, CV_16U, CV_32F.
const int DEPTH_8U = 0, DEPTH_16U = 2, DEPTH_32F = 5;

//! Image of any depth with interleaved channels; data null: no image.
struct ImageView
{
    const void* data;
    size_t step; //!< bytes from row to row
    int cols, rows;
    int depth, channels;

    CT_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
    template <typename T> CT_HOST_DEVICE const T* row(int y) const
    {
        return reinterpret_cast<const T*>(static_cast<const uint8_t*>(data) + static_cast<size_t>(y) * step);
    }
    //! Rows [first, first + count) of it.
    ImageView part(int first, int count) const
    {
        return {data ? row<uint8_t>(first) : nullptr, step, cols, count, depth, channels};
    }
};

//! Image of 8 or 16 bits per channel with interleaved channels: the first `channels` (1 or 3) of pixels that are
//! `pixelStride` bytes (1, 3 or 4; of 16 bits 2, 6 or 8) apart.
struct ByteImageView
{
    const uint8_t* data;
    size_t step; //!< bytes from row to row
    int cols, rows;
    int pixelStride;
    int channels;

    //! Returns true if channels have 16 bits.
    CT_HOST_DEVICE bool deep() const { return pixelStride == 2 || pixelStride > 4; }

    CT_HOST_DEVICE const uint8_t* pixel(int x, int y) const
    {
        return data + static_cast<size_t>(y) * step + static_cast<size_t>(x) * pixelStride;
    }
};

//! Rows of T. data null: an output that the caller did not ask for.
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

enum class Memory
{
    HOST,
    PINNED, //!< page-locked: copies to it do not wait
    DEVICE
};

//! Output of a call, in the caller's memory. data null: an output that the caller did not ask for.
struct OutputView
{
    const char* name; //!< for messages
    void* data;
    size_t step; //!< bytes from row to row
    int rows, cols;
    size_t elemSize;
    Memory memory;

    explicit operator bool() const { return data != nullptr; }
    size_t rowBytes() const { return elemSize * static_cast<size_t>(cols); }
    template <typename T> RowsView<T> as() const { return {static_cast<T*>(data), step}; }
    //! Rows from `row` on.
    template <typename T> RowsView<T> from(int row) const { return {data ? as<T>().row(row) : nullptr, step}; }
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_VIEWS_HPP
