// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of FragmentMatcher; see fuzz.hpp for how to run other ones, and one alone.
#include "fuzz_fragment_matcher.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

//! True when the case is small enough to be judged; `wrong` says what differs.
bool judged(const FragmentMatcherCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.work > 2.5e6)
        return false;
    wrong = differenceFrom(oracleOf(c), outputs);
    return true;
}

TEST(Fuzz_FragmentMatcher, oracle)
{
    expectRightOnCpu("Fuzz_FragmentMatcher", 1200, makeFragmentMatcherCase, runFragmentMatcher, judged);
}

TEST(Fuzz_FragmentMatcher, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("Fuzz_FragmentMatcher", 600, makeFragmentMatcherCase, runFragmentMatcher);
}

}} // namespace opencv_test
