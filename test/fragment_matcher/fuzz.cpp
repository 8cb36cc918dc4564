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
unsigned routesOfCase(const FragmentMatcherCase& c)
{
    const Scene& scene = c.scene;
    bool weighted = false;
    for (const Mat& weights : scene.weights)
        weighted = weighted || !weights.empty();
    plans::MatchCall call(scene.frame.size(), std::min(scene.frame.channels(), 3), scene.params.metric, weighted,
                          232448, 132);
    call.given.frame.pixelStride = static_cast<int>(scene.frame.elemSize());
    call.given.fullSearch = scene.params.search == FM::FULL;
    call.areasOnDevice = c.areasOnDevice;
    const Size limit = scene.params.maxSearchArea, frame = scene.frame.size();
    call.limit = Size(limit.width > 0 ? limit.width : frame.width, limit.height > 0 ? limit.height : frame.height);
    for (const Mat& templ : scene.templates)
        call.fragments.push_back({templ.cols, templ.rows});
    for (const Rect& area : scene.areas)
        call.areas.push_back({area.x, area.y, area.width, area.height});
    if (scene.params.search == FM::THREE_STEP && scene.params.peaks == 1)
        return plans::bitOf(plans::WALK);
    return plans::routesOf(call) | (scene.params.search == FM::THREE_STEP ? plans::bitOf(plans::WALK) : 0);
}

//! Every route of the CUDA backend has its share of the cases of cpuIsCuda.
TEST(FragmentMatcher_Fuzz, routes)
{
    const int64 cases = 3000 * 8 / 7; // 3,000 that are aimed at a route
    int64 counts[plans::ALL_ROUTES] = {};
    for (int64 n = 0; n < cases; ++n)
    {
        const unsigned routes = routesOfCase(makeRoutedCase(1, n));
        for (int r = 0; r < plans::ALL_ROUTES; ++r)
            counts[r] += routes >> r & 1;
    }
    for (int r = 0; r < plans::ALL_ROUTES; ++r)
    {
        std::cout << counts[r] << " of " << cases << " cases: " << plans::ROUTE_NAMES[r] << std::endl;
        // In a third of the cases the frame's step is odd, which excludes the route by one kernel.
        const bool oneKernel = r == plans::ONE_KERNEL_SSD || r == plans::ONE_KERNEL_ZNCC;
        EXPECT_GE(counts[r], oneKernel ? 300 : 200) << plans::ROUTE_NAMES[r];
    }
}

#else

TEST(FragmentMatcher_Fuzz, routes) { plans::require(); }

#endif

}} // namespace opencv_test
