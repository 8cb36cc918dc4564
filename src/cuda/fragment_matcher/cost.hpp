// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Estimates of the time of FragmentMatcher's routes, by which plans choose among them. Functions of sizes and of device limits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! A route other than the usual one must be estimated to take less than this part of its time, as estimates have errors.
const double ROUTE_GAIN = 0.93;

//! Returns the estimated time in microseconds.
double timeOf(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load);
double timeOf(const gpu::TilePlan& plan, const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
