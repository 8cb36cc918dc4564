// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Numbers that become template arguments.
#ifndef OPENCV_CUDATRACKING_COMMON_FOR_NUMBER_HPP
#define OPENCV_CUDATRACKING_COMMON_FOR_NUMBER_HPP

#include <type_traits>

namespace cv { namespace cuda { namespace detail {

//! Calls body(std::integral_constant<int, n>()) if n is one of NUMBERS. @return whether it is.
template <int... NUMBERS, typename Body> bool forNumber(int n, const Body& body)
{
    return ((n == NUMBERS && (body(std::integral_constant<int, NUMBERS>()), true)) || ...);
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_FOR_NUMBER_HPP
