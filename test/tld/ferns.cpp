// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLD's detector as a whole against the plain oracle, from the model in its file: each row of the table. Properties
// that the ferns of every file must have.
#include "oracle.hpp"
#include <set>

namespace opencv_test { namespace {

using namespace tld;

//! Windows, order, sums of posteriors, similarities, and which are accepted.
void expectTable(TLDDetector& detector, const Mat& gray, Size object)
{
    const TLDParams p = detector.getParams();
    const oracle::Model model = oracle::modelOf(textOf(detector), p);
    const std::vector<oracle::Patch> positives = oracle::patchesOf(detector, true),
                                     negatives = oracle::patchesOf(detector, false);
    Mat table;
    detector.detect(gray, table);
    int all = 0;
    const std::vector<oracle::Passed> passed = oracle::passFerns(model, gray, oracle::windows(p, gray.size(), object),
                                                                 oracle::varianceOf(positives[0]) / 2, all);
    const std::vector<oracle::Found> found = oracle::foundIn(table);
    ASSERT_EQ(static_cast<double>(all), table.at<double>(0, TLDDetector::COUNT_PASSED));
    ASSERT_EQ(passed.size(), found.size());
    for (size_t i = 0; i < found.size(); ++i)
    {
        const oracle::Found& f = found[i];
        ASSERT_EQ(Rect2d(passed[i].box), f.box) << "row " << i;
        EXPECT_EQ(static_cast<double>(passed[i].sum) / (32768. * p.trees), f.posterior) << "row " << i;
        const oracle::Similarity s =
            oracle::similarityTo(positives, negatives, oracle::rounded(oracle::patchOf(gray, f.box)));
        EXPECT_NEAR(s.relative, f.relative, 5e-4) << "row " << i;
        EXPECT_NEAR(s.conservative, f.conservative, 5e-4) << "row " << i;
        EXPECT_EQ(f.relative > model.nnThreshold, f.accepted) << "row " << i;
    }
}

TEST(Tld_Ferns, wholeTables)
{
    for (const uint64 seed : {1, 2, 3, 4})
    {
        SCOPED_TRACE(static_cast<int>(seed));
        TLDParams p;
        p.seed = static_cast<int>(seed);
        p.fernThreshold = seed % 2 ? 0.5 : 0.05; // few windows, and more than there are rows
        p.maxDetections = seed == 4 ? 20 : 100;
        p.trees = seed == 3 ? 16 : 10;
        p.features = seed == 3 ? 10 : 13;
        const StandardScene scene(CV_8UC1, Size(33 + int(seed), 30), seed);
        const Ptr<TLDDetector> detector = detectorOn(scene, Engine::CPU, p);
        for (const int t : {1, 12, 24, 60})
        {
            expectTable(*detector, scene.frame(t), scene.box(0).size());
            detector->learn(scene.frame(t), scene.box(t));
        }
        expectTable(*detector, texture(90 + seed, Size(240, 180), CV_8UC1, 4), scene.box(0).size());
    }
}

//! After hundreds of updates by a tracker too.
TEST(Tld_Ferns, tableOfATracker)
{
    const StandardScene scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU);
    follow(*tracker, scene, Engine::CPU, 1, 40);
    const Ptr<TLDDetector> detector = TLDDetector::create();
    readText(*detector, textOf(*tracker));
    expectTable(*detector, scene.frame(40), scene.box(0).size());
    expectTable(*detector, scene.frame(70), scene.box(0).size());
}

//! With the least threshold that a file may have, windows with a known code pass, but none below the least variance.
TEST(Tld_Ferns, flatWindowsAndNoThreshold)
{
    const StandardScene scene;
    const std::string text = withValue(textOf(*detectorOn(scene, Engine::CPU)), "fernThreshold", "0");
    const Ptr<TLDDetector> detector = TLDDetector::create();
    readText(*detector, withValue(text, "contrast", "100800000")); // a variance of 2000
    Mat frame = scene.frame(1).clone(), table;
    frame(Rect(0, 0, 120, 90)).setTo(7);
    detector->detect(frame, table);
    const TLDParams p = detector->getParams();
    int all = 0;
    oracle::passFerns(oracle::modelOf(textOf(*detector), p), frame,
                      oracle::windows(p, frame.size(), scene.box(0).size()), 1000., all);
    EXPECT_GT(all, 1000);
    EXPECT_EQ(static_cast<double>(all), table.at<double>(0, TLDDetector::COUNT_PASSED));
}

//! Comparisons begin on a lattice and go along one axis; every example counts once in each tree.
TEST(Tld_Ferns, comparisonsAndCounts)
{
    const StandardScene scene;
    const TLDParams p;
    const Ptr<TLDDetector> detector = detectorOn(scene, Engine::CPU);
    for (int t = 0; t < 30; t += 6)
    {
        const oracle::Model m = oracle::modelOf(textOf(*detector), p);
        ASSERT_EQ(4u * p.trees * p.features, m.points.size());
        std::set<std::vector<int>> different;
        for (size_t i = 0; i < m.points.size(); i += 4)
        {
            const int x0 = m.points[i], y0 = m.points[i + 1], x1 = m.points[i + 2], y1 = m.points[i + 3];
            EXPECT_TRUE((x0 == x1) != (y0 == y1)) << "along one axis";
            const double x = x0 / 3276.8, y = y0 / 3276.8; // tenths
            EXPECT_NEAR(cvRound(x), x, 1e-3);
            EXPECT_NEAR(cvRound(y), y, 1e-3);
            EXPECT_EQ(cvRound(x) % 2, cvRound(y) % 2) << "one of two lattices";
            EXPECT_GT(std::min(x0, y0), 0);
            EXPECT_LT(std::max(x0, y0), 32768);
            EXPECT_GE(std::min(x1, y1), 0);
            EXPECT_LE(std::max(x1, y1), 32768);
            const int length = std::abs(x1 - x0) + std::abs(y1 - y0);
            EXPECT_TRUE(length >= 6553 || x1 == 0 || y1 == 0 || x1 == 32768 || y1 == 32768) << length;
            different.insert({x0, y0, x1, y1});
        }
        EXPECT_GT(different.size(), 120u);
        std::vector<int64> positives(p.trees), negatives(p.trees);
        for (const auto& leaf : m.leaves)
        {
            positives[leaf.first >> p.features] += leaf.second.positives;
            negatives[leaf.first >> p.features] += leaf.second.negatives;
        }
        EXPECT_GT(positives[0], 0);
        EXPECT_LE(positives[0], (t == 0 ? 2 : 100) * p.initWindows * (p.initWarps + 1)) << "two passes";
        for (int tree = 1; tree < p.trees; ++tree)
        {
            EXPECT_EQ(positives[0], positives[tree]);
            EXPECT_EQ(negatives[0], negatives[tree]);
        }
        EXPECT_GE(m.fernThreshold, static_cast<int64>(p.fernThreshold * p.trees * 32768));
        EXPECT_GE(m.nnThreshold, p.nnThreshold);
        detector->learn(scene.frame(t + 3), scene.box(t + 3));
    }
}

//! A seed draws the same comparisons in every version.
TEST(Tld_Ferns, comparisonsOfTheFirstSeed)
{
    const std::vector<int> points =
        oracle::modelOf(textOf(*detectorOn(StandardScene(), Engine::CPU)), TLDParams()).points;
    EXPECT_EQ((std::vector<int>{22938, 29491, 32768, 29491, 9830, 29491, 0, 29491, 26214, 26214, 32768, 26214}),
              std::vector<int>(points.begin(), points.begin() + 12));
}

}} // namespace opencv_test
