// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plain reimplementation of NewAlgorithm, which shares no code with it.
#ifndef OPENCV_CUDATRACKING_TEST_NEW_ALGORITHM_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_NEW_ALGORITHM_ORACLE_HPP

#include "../test_precomp.hpp"

namespace opencv_test { namespace new_algorithm {

inline Mat expectedOf(const Mat& image)
{
    Mat expected(image.size(), CV_8UC1);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            expected.at<uchar>(y, x) = static_cast<uchar>(~image.at<uchar>(y, x));
    return expected;
}

}} // namespace opencv_test::new_algorithm

#endif // OPENCV_CUDATRACKING_TEST_NEW_ALGORITHM_ORACLE_HPP
