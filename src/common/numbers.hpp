// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arithmetic that the core.hpp of several algorithms need, for host and device code. Needs neither OpenCV nor CUDA.
#ifndef OPENCV_CUDATRACKING_COMMON_NUMBERS_HPP
#define OPENCV_CUDATRACKING_COMMON_NUMBERS_HPP

#include "hostdevice.hpp"
#include <cmath>

namespace cv { namespace cuda { namespace detail {

template <typename T> CT_HOST_DEVICE T lesser(T a, T b) { return b < a ? b : a; }
template <typename T> CT_HOST_DEVICE T greater(T a, T b) { return a < b ? b : a; }

//! Rounds half to even, as cvRound().
CT_HOST_DEVICE int roundEven(float value) { return static_cast<int>(rintf(value)); }
CT_HOST_DEVICE int roundEven(double value) { return static_cast<int>(rint(value)); }

//! Converts BGR to gray as cv::cvtColor(): weights with 15 fractional bits, rounded half up.
CT_HOST_DEVICE unsigned grayOf(unsigned blue, unsigned green, unsigned red)
{
    return (blue * 3735u + green * 19235u + red * 9798u + 16384u) >> 15;
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_NUMBERS_HPP
