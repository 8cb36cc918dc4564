// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: the choice among the routes of the CUDA backend, a function of sizes and of device limits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_CHOOSE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_CHOOSE_HPP

#include "../../fragment_matcher/engine.hpp"
#include "route.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! A route, and what it has planned.
struct Choice
{
    const Route* route;
    std::unique_ptr<Plan> plan;
};

//! Chooses the route of a load, by the table in routes.cpp.
Choice chooseRoute(const MatchCase& given, const Load& load);

//! Fragments of a call that share launches.
struct Part
{
    std::vector<int> fragments; //!< indices, ascending
    Load load;
    Choice choice;
};

//! Divides the fragments of a call into loads, by the limits of routes with Route::fits, and chooses the route of each.
std::vector<Part> chooseRoutes(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas);

//! Returns how many of `count` fragments one launch matches, by the memory and the blocks that a plan needs.
int entriesOf(const Plan& plan, int count);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_CHOOSE_HPP
