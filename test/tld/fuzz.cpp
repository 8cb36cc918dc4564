// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of TLD's classes; see fuzz.hpp for how to run other ones, and one alone.
#include "fuzz.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

//! Gray values of an image.
Mat grayOf(const Mat& image)
{
    Mat gray = image;
    if (gray.channels() > 1)
        cvtColor(image, gray, gray.channels() == 3 ? COLOR_BGR2GRAY : COLOR_BGRA2GRAY);
    return gray;
}

/** Variance of the object's first patch, which is that of the window nearest to the box. It is the first template,
unless that is the box itself. */
double varianceOfObject(const TldCase& c, const std::vector<Rect>& windows, const tld::oracle::Patch& first,
                        std::string& wrong)
{
    Rect nearest;
    double best = 0.;
    for (const Rect& w : windows)
        if (tld::overlap(c.boxes[0], w) > best)
        {
            best = tld::overlap(c.boxes[0], w);
            nearest = w;
        }
    const Mat gray = grayOf(c.frames[0]);
    const tld::oracle::Patch window = tld::oracle::patchOf(gray, nearest);
    if (tld::oracle::largestDifference(first, window) <= 0.501)
        return tld::oracle::varianceOf(first);
    if (tld::oracle::largestDifference(first, tld::oracle::patchOf(gray, c.boxes[0])) > 0.501)
        wrong = "the first template is neither the box nor the window nearest to it";
    return tld::oracle::varianceOf(tld::oracle::rounded(window));
}

//! Checks the counts of windows and the similarities of each row, for each table of a detector. @return whether it
//! could be checked.
bool judged(const TldCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.way != TldCase::DETECTOR || c.work > 5e5)
        return false;
    for (const auto& output : outputs)
        if (output.first == "refused")
            return false;
    std::vector<Mat> positives, negatives, tables;
    for (const auto& output : outputs)
        (output.first == "positives"   ? positives
         : output.first == "negatives" ? negatives
                                       : tables)
            .push_back(output.second);
    const std::vector<Rect> windows = tld::oracle::windows(c.params, c.frames[0].size(), c.boxes[0].size());
    // Values are noted before outputs: the state is the first of `tables`.
    for (size_t t = 0; t < c.frames.size() && wrong.empty(); ++t)
    {
        const Mat& table = tables[t + 1];
        const Mat gray = grayOf(c.frames[t]);
        const std::vector<tld::oracle::Patch> object = tld::oracle::patchesOf(positives[t]),
                                              other = tld::oracle::patchesOf(negatives[t]);
        int64 enough = 0;
        const double variance = varianceOfObject(c, windows, object[0], wrong);
        for (const Rect& w : windows)
            enough += tld::oracle::variesEnough(gray, w, variance / 2);
        if (static_cast<double>(windows.size()) != table.at<double>(0, tld::TLDDetector::COUNT_WINDOWS))
            wrong = cv::format("frame %zu: %g windows instead of %zu", t,
                               table.at<double>(0, tld::TLDDetector::COUNT_WINDOWS), windows.size());
        else if (static_cast<double>(enough) != table.at<double>(0, tld::TLDDetector::COUNT_WITH_VARIANCE))
            wrong = cv::format("frame %zu: %g windows that vary enough instead of %d", t,
                               table.at<double>(0, tld::TLDDetector::COUNT_WITH_VARIANCE), static_cast<int>(enough));
        for (const tld::oracle::Found& f : tld::oracle::foundIn(table))
        {
            const auto s =
                tld::oracle::similarityTo(object, other, tld::oracle::rounded(tld::oracle::patchOf(gray, f.box)));
            if (std::abs(s.relative - f.relative) > 2e-3 || std::abs(s.conservative - f.conservative) > 2e-3)
                wrong = cv::format("frame %zu: similarities %g and %g instead of %g and %g", t, f.relative,
                                   f.conservative, s.relative, s.conservative);
        }
    }
    return true;
}

TEST(Tld_Fuzz, oracle) { expectRightOnCpu("Tld_Fuzz", 250, makeTldCase, runTld, judged); }

TEST(Tld_Fuzz, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("Tld_Fuzz", 200, makeTldCase, runTld);
}

}} // namespace opencv_test
