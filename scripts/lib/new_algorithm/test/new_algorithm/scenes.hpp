// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scenes of NewAlgorithm's tests.
#ifndef OPENCV_CUDATRACKING_TEST_NEW_ALGORITHM_SCENES_HPP
#define OPENCV_CUDATRACKING_TEST_NEW_ALGORITHM_SCENES_HPP

#include "../test_precomp.hpp"

namespace opencv_test { namespace new_algorithm {

//! Returns images of random values with sides around 1 and 32, some of them with gaps between the rows.
inline std::vector<Mat> makeImages()
{
    RNG rng(1);
    std::vector<Mat> images;
    for (const int cols : {1, 31, 32, 33, 300})
        for (const int rows : {1, 31, 33})
        {
            Mat large(rows + 2, cols + 3, CV_8UC1);
            rng.fill(large, RNG::UNIFORM, 0, 256);
            images.push_back(large(Rect(1, 1, cols, rows)));
        }
    return images;
}

}} // namespace opencv_test::new_algorithm

#endif // OPENCV_CUDATRACKING_TEST_NEW_ALGORITHM_SCENES_HPP
