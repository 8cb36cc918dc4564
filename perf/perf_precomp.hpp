// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What every performance test of this module includes.
#ifndef OPENCV_CUDATRACKING_PERF_PRECOMP_HPP
#define OPENCV_CUDATRACKING_PERF_PRECOMP_HPP

#include "opencv2/ts.hpp"
#include "opencv2/cudatracking.hpp"
#include "opencv2/imgproc.hpp"
#include "../test/common/draws.hpp"
#include "perf_measure.hpp"

#endif // OPENCV_CUDATRACKING_PERF_PRECOMP_HPP
