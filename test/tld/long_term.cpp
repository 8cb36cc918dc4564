// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// VOT's long-term measure of cudatracking_tld_benchmark, on sequences made by hand and against its definition.
#include "../test_precomp.hpp"
#include "../../samples/tld_benchmark_quality.hpp"
#include <set>

namespace opencv_test { namespace {

using sample::LongTerm;
using sample::Quality;
using sample::ScoredRun;
using sample::Trajectory;

//! Returns the values at a threshold, word by word as the measure is defined.
LongTerm valueAt(double threshold, const std::vector<ScoredRun>& runs)
{
    LongTerm mean = {threshold, 0., 0.};
    for (const ScoredRun& run : runs)
    {
        double overlaps = 0., reported = 0.;
        for (const sample::ScoredBox& b : run.boxes)
            if (b.score >= threshold)
                overlaps += b.overlap, reported += 1.;
        mean.precision += run.weight * (reported > 0. ? overlaps / reported : 1.);
        mean.recall += run.weight * overlaps / run.visible;
    }
    return mean;
}

void expectNear(const LongTerm& expected, const LongTerm& actual)
{
    EXPECT_EQ(expected.threshold, actual.threshold);
    EXPECT_NEAR(expected.precision, actual.precision, 1e-12);
    EXPECT_NEAR(expected.recall, actual.recall, 1e-12);
}

const Rect2d PLACE(20, 20, 40, 40), HALF(20, 20, 20, 40), AWAY(100, 100, 40, 40), NONE;

//! Six frames: right, half of the object with a low score, absent and known, absent and not known with a lower score,
//! not found, right.
TEST(Tld_LongTerm, ofSixFrames)
{
    const Trajectory truth = {PLACE, PLACE, NONE, NONE, PLACE, PLACE}, boxes = {PLACE, HALF, NONE, AWAY, NONE, PLACE};
    const Quality q = sample::measure(boxes, {1., 0.25, 0., 0.125, 0., 0.75}, truth);
    const std::vector<LongTerm> curve = sample::longTermCurve(q.scored);
    const std::vector<LongTerm> expected = {
        {1., 1., 1. / 4.}, {0.75, 1., 2. / 4.}, {0.25, 2.5 / 3., 2.5 / 4.}, {0.125, 2.5 / 4., 2.5 / 4.}};
    ASSERT_EQ(expected.size(), curve.size());
    for (size_t i = 0; i < curve.size(); ++i)
        expectNear(expected[i], curve[i]);
    expectNear(expected[2], sample::bestOf(curve));
    EXPECT_NEAR(2. * 2.5 / (3. + 4.), sample::bestOf(curve).f(), 1e-12);
}

//! A tracker that gives no scores has one threshold, at which the measure is that of all its boxes.
TEST(Tld_LongTerm, withoutScores)
{
    const Trajectory truth = {PLACE, PLACE, NONE, PLACE}, boxes = {PLACE, HALF, AWAY, AWAY};
    const std::vector<LongTerm> curve =
        sample::longTermCurve(sample::measure(boxes, std::vector<double>(4, 1.), truth).scored);
    ASSERT_EQ(1u, curve.size());
    expectNear({1., 1.5 / 4., 1.5 / 3.}, curve[0]);
}

//! Means of precision and recall, not of F: of a run that knows absence, and one that has boxes of full score all the
//! time.
TEST(Tld_LongTerm, meansOverRuns)
{
    const Trajectory truth = {PLACE, NONE};
    Quality mean;
    mean.add(sample::measure({PLACE, NONE}, {0.5, 0.}, truth), 0.5);
    mean.add(sample::measure({PLACE, AWAY}, {1., 1.}, truth), 0.5);
    const std::vector<LongTerm> curve = sample::longTermCurve(mean.scored);
    ASSERT_EQ(2u, curve.size());
    expectNear({1., (1. + 0.5) / 2., 0.5}, curve[0]);
    expectNear({0.5, (1. + 0.5) / 2., 1.}, curve[1]);
    EXPECT_NEAR(2. * 0.75 / 1.75, sample::bestOf(curve).f(), 1e-12);
}

TEST(Tld_LongTerm, isZeroWithoutAnyOverlap)
{
    EXPECT_EQ(0., sample::bestOf({}).f());
    EXPECT_EQ(0., sample::bestOf(sample::longTermCurve({{{{1., 0.}, {0.5, 0.}}, 3, 1.}})).f());
}

//! Many runs of different lengths and weights, with scores that often are equal.
TEST(Tld_LongTerm, isAsDefined)
{
    RNG rng(11);
    for (int repeat = 0; repeat < 50; ++repeat)
    {
        std::vector<ScoredRun> runs(static_cast<size_t>(rng.uniform(1, 5)));
        std::set<double, std::greater<double>> scores;
        for (ScoredRun& run : runs)
        {
            run = {{}, rng.uniform(1, 40), 1. / static_cast<double>(runs.size())};
            for (int i = rng.uniform(0, 60); i > 0; --i)
            {
                run.boxes.push_back({rng.uniform(0, 17) / 16., rng.uniform(0, 2) ? rng.uniform(0., 1.) : 0.});
                scores.insert(run.boxes.back().score);
            }
        }
        const std::vector<LongTerm> curve = sample::longTermCurve(runs);
        ASSERT_EQ(scores.size(), curve.size());
        double largest = 0.;
        auto score = scores.begin();
        for (const LongTerm& at : curve)
        {
            const LongTerm expected = valueAt(*score++, runs);
            expectNear(expected, at);
            const double p = expected.precision, r = expected.recall;
            largest = std::max(largest, r > 0. ? 2. / (1. / p + 1. / r) : 0.);
        }
        EXPECT_NEAR(largest, sample::bestOf(curve).f(), 1e-12);
    }
}

}} // namespace opencv_test
