// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of FragmentMatcher; see fuzz.hpp for how to run other ones, and one alone.
#include "fuzz_routes.hpp"
#include "plans.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

//! Returns true if the case is small enough for the oracle. @param wrong out: differences.
bool judged(const FragmentMatcherCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.work > 2.5e6)
        return false;
    wrong = differenceFrom(oracleOf(c), outputs);
    return true;
}

TEST(FragmentMatcher_Fuzz, oracle)
{
    expectRightOnCpu("FragmentMatcher_Fuzz", 1200, makeFragmentMatcherCase, runFragmentMatcher, judged);
}

TEST(FragmentMatcher_Fuzz, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("FragmentMatcher_Fuzz", 600, makeRoutedCase, runFragmentMatcher);
}

#ifdef CUDATRACKING_HAS_PLANS

//! Returns the routes that the calls of a case take on an H200, with frames as GpuMat allocates them.
plans::Routes routesOfCase(const FragmentMatcherCase& c)
{
    const Scene& scene = c.scene;
    plans::MatchCall call(scene, 232448, 132);
    call.areasOnDevice = c.areasOnDevice;
    call.limit = scene.params.maxSearchArea;
    plans::Routes routes;
    if (call.given.fullSearch || scene.params.peaks > 1)
        routes = plans::routesOf(call);
    if (!call.given.fullSearch)
        routes.insert("walk");
    return routes;
}

//! Every route of the CUDA backend has its share of the cases of cpuIsCuda.
TEST(FragmentMatcher_Fuzz, routes)
{
    const int64 cases = 4200 * 8 / 7; // 4,200 that are aimed at a route
    plans::Counts counts;
    for (int64 n = 0; n < cases; ++n)
        for (const std::string& route : routesOfCase(makeRoutedCase(1, n)))
            ++counts[route];
    for (const auto& count : counts)
        std::cout << count.second << " of " << cases << " cases: " << count.first << std::endl;
    plans::expectMoreThan(199, counts, plans::ROUTE_NAMES);
    plans::expectMoreThan(199, counts, {"walk"});
}

#else

TEST(FragmentMatcher_Fuzz, routes) { plans::require(); }

#endif

}} // namespace opencv_test
