// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of QuickShift; see fuzz.hpp for how to run other ones, and one alone.
#include "fuzz_quick_shift_oracle.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

Mat find(const Outputs& outputs, const std::string& name)
{
    for (const auto& output : outputs)
        if (output.first == name)
            return output.second;
    return Mat();
}

//! Says what is wrong; empty: nothing. `outputs` of the CPU engine.
std::string judged(const QuickShiftCase& given, const Outputs& outputs)
{
    QuickShiftCase c = given; // densities, parents and distances are needed to judge the rest
    c.calls = QuickShiftCase::DENSITY | QuickShiftCase::PARENTS | QuickShiftCase::DISTANCES;
    c.way = QuickShiftCase::PICTURE;
    c.earlier.release();
    const Outputs alone = runQuickShift(c, Engine::CPU, true);
    const Mat parents = find(alone, "parents"), distances = find(alone, "distances");
    const QuickShiftTruth truth(given);
    std::string wrong = truth.checkDensity(find(alone, "density"));
    if (wrong.empty())
        wrong = truth.checkParents(parents, distances);
    if (!wrong.empty())
        return wrong;
    Outputs expected = consequencesOf(given, parents, distances);
    expected.insert(expected.end(), alone.begin(), alone.end());
    for (const auto& output : outputs)
        for (const auto& e : expected)
            if (const auto result = sameBits(e.second, output.second);
                e.first == output.first && e.second.type() == output.second.type() && !result)
                return e.first + ": " + result.message();
    return "";
}

//! The labels of a batch are those of its pictures.
std::string judgedBatch(const QuickShiftCase& given, const Outputs& outputs)
{
    QuickShiftCase c = given;
    c.calls = QuickShiftCase::LABELS;
    c.way = QuickShiftCase::PICTURE;
    c.earlier.release();
    for (size_t i = 0; i < given.images.size(); ++i)
    {
        c.images = {given.images[i]};
        const std::string name = cv::format("labels %zu", i);
        if (const auto result = sameBits(find(runQuickShift(c, Engine::CPU, true), "labels"), find(outputs, name));
            !result)
            return name + ": " + result.message();
    }
    return "";
}

bool judgedIfSmall(const QuickShiftCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.work > 4e5 || c.images[0].total() > 3000)
        return false;
    wrong = c.way == QuickShiftCase::BATCH ? judgedBatch(c, outputs) : judged(c, outputs);
    return true;
}

TEST(Fuzz_QuickShift, oracle)
{
    expectRightOnCpu("Fuzz_QuickShift", 600, makeQuickShiftCase, runQuickShift, judgedIfSmall);
}

TEST(Fuzz_QuickShift, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("Fuzz_QuickShift", 600, makeQuickShiftCase, runQuickShift);
}

}} // namespace opencv_test
