// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parts of the flow by themselves. The track of a point, step by step: what trackPoint() does with loops for GPUs is
// compared with its definition.
#include "scenes.hpp"
#include "../../src/tld/core.hpp"
#include <array>

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;

/** Sums that lead a point to a place of its own on each level, or past it, or back and forth. Each depends on the pixel
and the weights alone, as those of images do. */
struct InventedSums
{
    std::vector<core::Equations> equations;
    std::vector<core::Point> places; //!< pixels times 16384
    double pull;                     //!< how far a step goes, 1: to the place
    int noise;                       //!< largest error of a step, pixels times 16384
    Size size;                       //!< of level 0
    core::Point pixel = {};
    int level = 0, loads = 0;

    core::Equations equationsAt(int l, const core::Point&)
    {
        level = l;
        return equations[l];
    }
    bool inside(const core::Point& first) const
    {
        return first.x >= 0 && first.y >= 0 && first.x + 9 < size.width >> level && first.y + 9 < size.height >> level;
    }
    bool load(int, const core::Point& first)
    {
        if (!inside(first))
            return false;
        pixel = first;
        ++loads;
        return true;
    }
    void loadOuter(int, const core::Point& first)
    {
        EXPECT_FALSE(inside(first));
        pixel = first;
    }
    core::Change change(const core::Blend& w) const { return at(level, pixel, w); }

    core::Change at(int l, const core::Point& first, const core::Blend& w) const
    {
        const core::Equations& e = equations[l];
        RNG rng(static_cast<uint64>(first.x) * 7919 + first.y * 104729 + w.w10 * 31 + w.w01 * 17 + w.w00);
        const double x = first.x * 16384. + w.w10 + w.w11, y = first.y * 16384. + w.w01 + w.w11;
        const double dx = pull * (x - places[l].x) + rng.uniform(-noise, noise + 1);
        const double dy = pull * (y - places[l].y) + rng.uniform(-noise, noise + 1);
        const double unit = 1. / (2. * 16384.); // of a Change, per unit of the normal equations
        const auto within = [](double v) { return cvRound(std::max(-2e9, std::min(2e9, v))); };
        return {within((e.normal.xx * dx + e.normal.xy * dy) * unit),
                within((e.normal.xy * dx + e.normal.yy * dy) * unit)};
    }
};

enum End
{
    CONVERGED,
    OSCILLATED,
    ITERATED,
    LEFT,
    ENDS
};

//! The definition: one test after another, after each step. @param ends counts how levels end.
bool trackStepByStep(const core::FlowParameters& f, const core::Point& from, const core::Point& guess,
                     const InventedSums& sums, core::Point& to, std::array<int, ENDS>& ends)
{
    const int half = f.window / 2 * 65536;
    core::Point at = core::cornerAt(guess, f.levels - 1, half);
    if (!core::isInside(from, f.cols, f.rows))
        return false;
    for (int level = f.levels - 1; level >= 0; --level)
    {
        if (level < f.levels - 1)
            at = {2 * at.x + half, 2 * at.y + half};
        const core::Equations& e = sums.equations[level];
        if (e.scale == 0. && level == 0)
            return false;
        core::Point before = {};
        End end = ITERATED;
        for (int i = 0; i < f.iterations && e.scale != 0.; ++i)
        {
            const int least = -2 * half - 65536;
            if (at.x < least || at.y < least || at.x >= (f.cols >> level) * 65536 || at.y >= (f.rows >> level) * 65536)
            {
                end = LEFT;
                if (level == 0)
                    return false;
                break;
            }
            const core::Point step =
                core::stepOf(e.normal, e.scale, sums.at(level, {at.x >> 16, at.y >> 16}, core::blendOf(at.x, at.y)));
            at = {at.x + step.x, at.y + step.y};
            if (int64(step.x) * step.x + int64(step.y) * step.y <= int64(f.epsilon) * f.epsilon)
            {
                end = CONVERGED;
                break;
            }
            if (i > 0 && std::abs(step.x + before.x) < 655 && std::abs(step.y + before.y) < 655)
            {
                at = {at.x - step.x / 2, at.y - step.y / 2};
                end = OSCILLATED;
                break;
            }
            before = step;
        }
        ++ends[end];
    }
    to = {at.x + half, at.y + half};
    return core::isInside(to, f.cols, f.rows);
}

//! A random point, and the sums that lead it.
struct TrackCase
{
    core::FlowParameters f;
    InventedSums sums;
    core::Point from, guess;
};

TrackCase randomTrack(RNG& rng)
{
    const Size size = uniform(rng, Size(40, 40), Size(200, 200));
    const int levels = rng.uniform(1, 5), epsilons[] = {0, 1, 300, 655, 1966, 20000}, iterations[] = {1, 2, 3, 5, 20};
    TrackCase c = {};
    c.f = {levels, size.width, size.height, 9, iterations[rng.uniform(0, 5)], epsilons[rng.uniform(0, 6)]};
    c.sums.size = size;
    const double pulls[] = {0.4, 1., 1.6, 2., 2.02};
    c.sums.pull = pulls[rng.uniform(0, 5)];
    c.sums.noise = rng.uniform(0, 3) == 0 ? rng.uniform(0, 200) : 0;
    const auto point = [&] {
        return core::Point{rng.uniform(0, size.width * 65536), rng.uniform(0, size.height * 65536)};
    };
    c.from = point();
    c.guess = rng.uniform(0, 2) ? c.from : point();
    const auto place = [&](int side)
    {
        if (rng.uniform(0, 4) > 0)
            return rng.uniform(-20 * 16384, (side + 20) * 16384);
        const int border = rng.uniform(0, 2) ? side : -9; // of what is far
        return border * 16384 + rng.uniform(-3, 4);
    };
    for (int level = 0; level < levels; ++level)
    {
        core::Point at = {place(size.width >> level), place(size.height >> level)};
        if (level == levels - 1 && rng.uniform(0, 4) == 0) // at the start: short steps
        {
            const core::Point start = core::cornerAt(c.guess, level, c.f.window / 2 * 65536);
            at = {start.x / 4 + rng.uniform(-200, 201), start.y / 4 + rng.uniform(-200, 201)};
        }
        const int xx = rng.uniform(1000, 2000000), yy = rng.uniform(1000, 2000000);
        const int most = cvFloor(0.9 * std::sqrt(double(xx) * yy)), xy = rng.uniform(-most, most + 1);
        c.sums.places.push_back(at);
        c.sums.equations.push_back(core::equationsOf({xx, xy, rng.uniform(0, 30) ? yy : 0}));
    }
    return c;
}

TEST(Tld_Flow, stepByStep)
{
    std::array<int, ENDS> ends = {};
    int lost = 0, found = 0, several = 0;
    for (int k = 0; k < 1000000; ++k)
    {
        RNG rng(k + 1);
        TrackCase c = randomTrack(rng);
        core::Point to = {}, truth = {};
        const bool expected = trackStepByStep(c.f, c.from, c.guess, c.sums, truth, ends);
        ASSERT_EQ(expected, core::trackPoint(c.f, c.from, c.guess, c.sums, to)) << "case " << k;
        if (expected)
        {
            ASSERT_EQ(truth.x, to.x) << "case " << k;
            ASSERT_EQ(truth.y, to.y) << "case " << k;
        }
        (expected ? found : lost) += 1;
        several += c.sums.loads > c.f.levels;
    }
    // Else the cases would not tell what the loops do.
    for (const int count : ends)
        EXPECT_GT(count, 15000);
    EXPECT_GT(found, 50000);
    EXPECT_GT(lost, 50000);
    EXPECT_GT(several, 50000);
}

//! The shorter side decides, whichever it is: on the last level it is longer than the window.
TEST(Tld_Flow, levelsOfThePyramid)
{
    core::Settings settings = {};
    settings.flowWindow = 10;
    for (const int most : {0, 2, 5})
    {
        settings.flowLevels = most;
        for (const Size size :
             {Size(10, 300), Size(20, 300), Size(21, 300), Size(41, 42), Size(161, 162), Size(500, 2000)})
        {
            int expected = 1, shorter = size.width;
            for (; expected <= most && (shorter + 1) / 2 > 10; ++expected)
                shorter = (shorter + 1) / 2;
            EXPECT_EQ(expected, core::levelsOf(size.width, size.height, settings)) << size;
            EXPECT_EQ(expected, core::levelsOf(size.height, size.width, settings)) << size;
        }
    }
}

//! Points that return are kept whatever their NCC, up to 2 pixels or maxFlowError.
TEST(Tld_Flow, whichPointsReturn)
{
    const auto point = [](double error, double ncc, bool found = true)
    {
        core::TrackedPoint p = {};
        p.found = found;
        p.error = static_cast<int64_t>(error * error * 65536. * 65536.);
        p.ncc = ncc;
        return p;
    };
    for (const double maxError : {10., 2., 0.5})
    {
        SCOPED_TRACE(maxError);
        const core::KeptLimits limits = core::returnedLimits(maxError);
        const double largest = std::min(2., maxError);
        EXPECT_TRUE(core::isKept(point(0., 1.), limits));
        EXPECT_TRUE(core::isKept(point(largest, -1.), limits));
        EXPECT_FALSE(core::isKept(point(largest + 0.001, 1.), limits));
        EXPECT_FALSE(core::isKept(point(0., 1., false), limits));
    }
}

}} // namespace opencv_test
