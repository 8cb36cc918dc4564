// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of QuickShift. ../common/fuzz.hpp says how to run other cases, or one alone.
#include "fuzz_oracle.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

Mat find(const Outputs& outputs, const std::string& name)
{
    for (const auto& output : outputs)
        if (output.first == name)
            return output.second;
    return Mat();
}

//! Returns a description of the first error, or an empty string. @param outputs outputs of the CPU backend.
std::string judged(const QuickShiftCase& given, const Outputs& outputs)
{
    QuickShiftCase c = given; // densities, parents and distances are needed to judge the rest
    c.calls = QuickShiftCase::DENSITY | QuickShiftCase::PARENTS | QuickShiftCase::DISTANCES;
    c.way = QuickShiftCase::IMAGE;
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

//! Checks that the outputs of an image of a batch equal those of the image alone, except for consecutive numbers.
std::string judgedBatch(const QuickShiftCase& given, const Outputs& outputs)
{
    const int rows = given.images[0].rows;
    QuickShiftCase c = given;
    c.way = QuickShiftCase::IMAGE;
    c.masks.clear();
    c.earlier.release();
    Outputs all;
    int first = 0, firstConnected = 0;
    for (int i = 0; i < static_cast<int>(given.images.size()); ++i)
    {
        c.images = {given.images[i]};
        c.mask = given.masks.empty() ? Mat() : given.masks[i];
        c.colours = given.colours.rowRange(i * rows, (i + 1) * rows);
        const Outputs one = runQuickShift(c, Engine::CPU, true);
        const Mat labels = find(outputs, cv::format("labels %d", i));
        QuickShiftCase alone = c;
        alone.calls = QuickShiftCase::LABELS;
        if (const auto result = sameBits(find(runQuickShift(alone, Engine::CPU, true), "labels"), labels); !result)
            return cv::format("labels %d: ", i) + result.message();
        all.resize(one.size());
        for (size_t k = 0; k < one.size(); ++k)
        {
            const std::string& name = one[k].first;
            Mat value = one[k].second.clone();
            const int before = name == "pairs" ? first : name == "connected pairs" ? firstConnected : 0;
            if (before > 0 && !value.empty())
                value += Scalar::all(before);
            all[k].first = name;
            if (value.type() == CV_64F && !all[k].second.empty())
                all[k].second += value;
            else if (!value.empty())
                all[k].second.push_back(value);
        }
        first += static_cast<int>(find(one, "number").at<double>(0));
        if (const Mat connected = find(one, "connected"); !connected.empty())
            firstConnected += static_cast<int>(connected.at<double>(0));
    }
    for (const auto& output : outputs)
        for (const auto& e : all)
            if (const auto result = sameBits(e.second, output.second);
                e.first == output.first && e.first != "heights" && e.first != "counts" &&
                e.second.type() == output.second.type() && !result)
                return e.first + ": " + result.message();
    return "";
}

bool judgedIfSmall(const QuickShiftCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.work > 4e5 || c.images[0].total() > 3000)
        return false;
    wrong = c.way == QuickShiftCase::BATCH ? judgedBatch(c, outputs) : judged(c, outputs);
    return true;
}

TEST(QuickShift_Fuzz, oracle)
{
    expectRightOnCpu("QuickShift_Fuzz", 600, makeQuickShiftCase, runQuickShift, judgedIfSmall);
}

TEST(QuickShift_Fuzz, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("QuickShift_Fuzz", 600, makeQuickShiftCase, runQuickShift);
}

}} // namespace opencv_test
