// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Numbers that become template arguments.
#ifndef OPENCV_CUDATRACKING_COMMON_FOR_NUMBER_HPP
#define OPENCV_CUDATRACKING_COMMON_FOR_NUMBER_HPP

#include <type_traits>

namespace cv { namespace cuda { namespace detail {

//! Calls body(std::integral_constant<int, n>()) if n is one of NUMBERS.
template <int... NUMBERS, typename Body> void forNumber(int n, const Body& body)
{
    ((n == NUMBERS ? body(std::integral_constant<int, NUMBERS>()) : void()), ...);
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_FOR_NUMBER_HPP
