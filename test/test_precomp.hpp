// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What every accuracy test of this module includes.
#ifndef OPENCV_CUDATRACKING_TEST_PRECOMP_HPP
#define OPENCV_CUDATRACKING_TEST_PRECOMP_HPP

#include "opencv2/ts.hpp"
#include "opencv2/cudatracking.hpp"
#include "opencv2/imgproc.hpp"
#include "opencv2/imgcodecs.hpp"
#if CV_VERSION_MAJOR >= 5
#include "opencv2/geometry.hpp" // getRotationMatrix2D and DIST_L2 moved there
#endif
#include "common/common.hpp"

#endif // OPENCV_CUDATRACKING_TEST_PRECOMP_HPP
