// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random sizes and positions. Arguments of a call are evaluated in the order that a compiler prefers, so two draws in
// one argument list make other tests with another compiler: each draw has its own statement.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_DRAWS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_DRAWS_HPP

#include "opencv2/core.hpp"

namespace opencv_test {

//! Draws the height, then the width: at least those of `from`, less than those of `to`.
inline cv::Size uniform(cv::RNG& rng, cv::Size from, cv::Size to)
{
    const int height = rng.uniform(from.height, to.height);
    const int width = rng.uniform(from.width, to.width);
    return cv::Size(width, height);
}

//! Draws y, then x: at least those of `from`, less than those of `to`.
inline cv::Point uniform(cv::RNG& rng, cv::Point from, cv::Point to)
{
    const int y = rng.uniform(from.y, to.y);
    const int x = rng.uniform(from.x, to.x);
    return cv::Point(x, y);
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_DRAWS_HPP
