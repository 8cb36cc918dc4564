// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Estimates of the time of FragmentMatcher's routes, by which plans choose among them. Functions of sizes and of device limits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! Parts of the time of a route, each in thousands of clocks of a multiprocessor; their factors are in cost.cpp.
struct CostTerms
{
    double chain;  //!< the longest chain of dependent instructions, or the work of one multiprocessor if that is more
    double stages; //!< copies and conversions of the image by one multiprocessor
    double ends;   //!< values, peaks and what else is done once per fragment by one multiprocessor
};

CostTerms termsOfFused(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load);
CostTerms termsOfTiled(const gpu::TilePlan& plan, const MatchCase& given, const Load& load);

//! Returns the estimated time in microseconds.
double timeOf(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load);
double timeOf(const gpu::TilePlan& plan, const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
