// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Estimates of the time of FragmentMatcher's routes, by which plans choose among them. Functions of sizes and of device limits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! A route other than the usual one must be estimated to take less than this part of its time, as estimates have errors.
const double ROUTE_GAIN = 0.92;

//! Parts of the time of a route, in thousands of clocks or of what is named; cost.cpp has the factor of each.
struct CostTerms
{
    double
        chain; //!< clocks of the longest chain of dependent instructions, or of all on one multiprocessor if that is more
    double stages;   //!< units of the image that one multiprocessor copies and converts
    double ends;     //!< work that one multiprocessor does once per fragment, such as values and peaks
    double sums = 0; //!< sums in device memory per multiprocessor
};

CostTerms termsOfFused(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load);
CostTerms termsOfTiled(const gpu::TilePlan& plan, const MatchCase& given, const Load& load);

//! Returns the estimated time in microseconds.
double timeOf(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load);
double timeOf(const gpu::TilePlan& plan, const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
