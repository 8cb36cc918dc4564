// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Rules that decide what becomes a template and how long a box is believed: their own tests, and what they are for: the
// user's own box is certain in its own frame, and a box in a still scene stays.
#include "oracle.hpp"
#include "../../src/tld/core.hpp"

namespace opencv_test { namespace {

using namespace tld;

int fromEnvironment(const char* variable, int standard)
{
    const char* value = std::getenv(variable);
    return value && *value ? std::atoi(value) : standard;
}

//! A box of any size, aspect ratio and place.
Rect randomBox(RNG& rng, Size image, int least, int most)
{
    const Size size = uniform(rng, Size(least, least), Size(most + 1, most + 1));
    return Rect(uniform(rng, Point(), Point(image.width - size.width + 1, image.height - size.height + 1)), size);
}

typedef OnEngine Tld_Rules;
CUDATRACKING_ON_ENGINES(Tld_Rules);

TEST_P(Tld_Rules, ownBoxIsCertainInItsOwnFrame)
{
    const Size size(160, 120);
    RNG rng(5);
    int refused = 0, boxes = 0;
    double least = 1.;
    for (int i = 0; i < 1000; ++i)
    {
        const Mat image = texture(i, size, CV_8UC1, rng.uniform(2, 9));
        const Rect box = randomBox(rng, size, 14, 70);
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(paramsOf(cv::format("seed %d", i)));
        tracker->init(Image(engine(), image).in(), box);
        const oracle::Patch patch = oracle::rounded(oracle::patchOf(image, box));
        const double similarity = oracle::similarityTo(oracle::patchesOf(templatesOf(*tracker, true)),
                                                       oracle::patchesOf(templatesOf(*tracker, false)), patch)
                                      .conservative,
                     threshold = validThresholdOf(*tracker);
        EXPECT_GT(similarity, threshold) << box << " in texture " << i;
        EXPECT_EQ(TrackerTLD::TRACKING, tracker->getState());
        EXPECT_EQ(1.f, tracker->getTrackingScore());
        least = std::min(least, similarity);
        ++boxes;
        if (similarity <= threshold && ++refused > 10)
            break;
    }
    std::cout << boxes << " boxes, least similarity " << least << std::endl;
}

//! Returns the smallest overlap in all frames; 0 when the object is lost in one. Frames have noise of +-3 gray values.
double leastOverlap(Engine engine, const Mat& still, const Rect& box, int seed, int frames, RNG& rng)
{
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(paramsOf(cv::format("seed %d", seed)));
    Mat noise(still.size(), CV_16SC1), frame;
    double least = 1.;
    for (int t = 0; t < frames && least > 0.; ++t)
    {
        rng.fill(noise, RNG::UNIFORM, -3, 4);
        cv::add(still, noise, frame, noArray(), CV_8U);
        Rect found;
        if (t == 0)
            tracker->init(Image(engine, frame).in(), box);
        else
            least = tracker->update(Image(engine, frame).in(), found) ? std::min(least, overlap(box, tracker->getBox()))
                                                                      : 0.;
    }
    return least;
}

//! Keeps an overlap of .9 in 19 of 20 scenes: a textured rectangle before another texture, both at rest, with noise of
//! +-3 gray values.
TEST_P(Tld_Rules, stillSceneKeepsTheBox)
{
    const int scenes = 20, seeds = fromEnvironment("CUDATRACKING_TLD_STILL_SEEDS", 1), frames = 200;
    std::vector<double> least;
    size_t stays = 0;
    for (int k = 0; k < scenes; ++k)
    {
        RNG rng(fuzz::mixed(k, 31));
        const Size size(240, 180);
        const Rect box = randomBox(rng, size, 24, 80);
        Mat still = texture(2 * k, size, CV_8UC1, rng.uniform(3, 9));
        texture(2 * k + 1, box.size(), CV_8UC1, rng.uniform(3, 7)).copyTo(still(box));
        for (int seed = 1; seed <= seeds; ++seed)
        {
            SCOPED_TRACE(cv::format("scene %d, seed %d", k, seed));
            least.push_back(leastOverlap(engine(), still, box, seed, frames, rng));
            EXPECT_GT(least.back(), 0.85) << box;
            stays += least.back() > 0.9;
        }
    }
    // One scene's box of 43 x 25 goes to the window of the first template, which scores .86 there: above
    // validThreshold, so that nothing is trained again.
    EXPECT_GE(20 * stays, 19 * least.size());
    std::sort(least.begin(), least.end());
    std::cout << least.size() << " runs of " << frames << " frames, least overlap " << least[0] << ", of a tenth "
              << least[least.size() / 10] << ", of half " << least[least.size() / 2] << std::endl;
}

// --- rules by themselves ---------------------------------------------------------------------------------------------

namespace core = cv::cuda::tld;

TEST(Tld_Recheck, endsValidityOnlyWithManyPositives)
{
    const core::Settings settings = changed(core::Settings{}, "learning 1");
    core::PatchStats stats = {};
    for (int positives = 1; positives <= 8; ++positives)
    {
        core::ObjectState state = {};
        state.alive = state.valid = 1;
        state.contrast = 100;
        state.positives = positives;
        state.negatives = 3;
        // Like the object; like something else as well; less like the object than like something else; flat.
        const core::Similarity good = {0.9, 0.9, 0.5, 0}, other = {0.99, 0.99, 0.96, 0}, unlike = {0.6, 0.6, 0.7, 0};
        core::ObjectState s = state;
        stats.contrast = 100;
        EXPECT_TRUE(core::recheck(s, stats, good, settings));
        EXPECT_EQ(1, s.valid);
        const std::pair<core::Similarity, int> bad[] = {{other, 100}, {unlike, 100}, {good, 49}};
        for (const auto& [similarity, contrast] : bad)
        {
            s = state;
            stats.contrast = contrast;
            EXPECT_FALSE(core::recheck(s, stats, similarity, settings)) << "nothing is learned from such a box";
            EXPECT_EQ(positives < 5 ? 1 : 0, s.valid) << positives << " positives, similarity " << similarity.positive;
            EXPECT_EQ(0, s.learned);
        }
    }
}

TEST(Tld_Probation, endsOnlyABoxWithoutSupport)
{
    const core::Settings settings = changed(core::Settings{}, "maxProbation 100, maxUnsupported 3, trees 10");
    const core::Comparison nothing = {0, 0., 0, -1};
    for (bool supported : {true, false})
    {
        core::ObjectState s = {};
        s.alive = 1;
        s.similarity = 0.5;
        s.validThreshold = 0.7;
        for (int frame = 1; frame <= 150; ++frame)
        {
            core::updateSupport(s, supported || frame < 100 ? core::fernPositiveSum() : 0, settings);
            core::updateProbation(s, nothing, settings);
            EXPECT_EQ(supported || frame < 100 ? 1 : 0, s.alive) << "frame " << frame;
        }
    }
}

//! Elsewhere the ferns must be more certain of a cluster than of the box by the margin; a cluster that touches the box
//! is exempt.
TEST(Tld_Jump, fernsMustPreferAPlaceElsewhere)
{
    const core::Settings settings = changed(core::Settings{}, "trees 10, jumpMargin 0.1, firstJumpMargin 0.2");
    const core::Box elsewhere = {141., 100., 40., 60.}, touching = {139., 100., 40., 60.};
    for (const int positives : {4, 5})
        for (const uint32_t support : {0u, core::fernPositiveSum(), 5 * core::POSTERIOR_ONE})
        {
            core::ObjectState s = {};
            s.alive = 1;
            s.box = {100., 100., 40., 60.};
            s.similarity = 0.5;
            s.positives = positives;
            core::updateSupport(s, support, settings);
            const uint32_t margin = core::POSTERIOR_ONE * (positives < 5 ? 2 : 1);
            for (const uint32_t sum : {support, support + margin - 400, support + margin + 400})
            {
                SCOPED_TRACE(cv::format("%d positives, sums %u and %u", positives, support, sum));
                const core::Cluster there = {elsewhere, 0.9, sum}, here = {touching, 0.9, sum};
                EXPECT_EQ(sum > support + margin ? 1 : 0, core::compareClusters(s, &there, 1, settings).better);
                EXPECT_EQ(1, core::compareClusters(s, &here, 1, settings).better);
                // Of two clusters one is left, so that the box can jump there.
                const core::Cluster two[] = {{elsewhere, 0.9, support}, {{300., 100., 40., 60.}, 0.8, sum}};
                const core::Comparison c = core::compareClusters(s, two, 2, settings);
                EXPECT_EQ(sum > support + margin ? 1 : 0, c.better);
                EXPECT_EQ(sum > support + margin ? 1 : -1, c.place);
            }
        }
}

TEST(Tld_Score, isTheSupportOfTheBoxOrOfItsCluster)
{
    const core::Settings settings = changed(core::Settings{}, "trees 10, maxUnsupported 2, minReplyScore 0.3");
    core::ObjectState s = {};
    s.alive = 1;
    s.box = {100., 100., 40., 60.};
    double row[core::RESULT_COLUMNS];
    for (const int tenths : {10, 3, 1})
    {
        core::updateSupport(s, tenths * core::POSTERIOR_ONE, settings);
        core::resultOf(s, settings, 640, 480, row);
        EXPECT_EQ(tenths / 10., row[TrackerTLD::RESULT_SCORE]);
        EXPECT_EQ(tenths >= 3 ? 1. : 0., row[TrackerTLD::RESULT_LOCATED]);
    }
    core::updateSupport(s, 0, settings);
    EXPECT_EQ(0., s.score);
    const core::Cluster cluster = {{300., 100., 40., 60.}, 0.9, 7 * core::POSTERIOR_ONE};
    core::integrate(s, {0, 0., 1, 0}, &cluster, 1, {}, settings);
    EXPECT_EQ(0.7, s.score);
    EXPECT_EQ(0.9, s.similarity);
    for (int frame = 0; frame < 2; ++frame)
        core::updateSupport(s, 0, settings);
    EXPECT_EQ(0, s.alive);
    core::integrate(s, {0, 0., 0, -1}, &cluster, 1, {}, settings);
    EXPECT_EQ(0.7, s.score) << "found again";
}

//! Returns a valid object with a box of 40 x 60 pixels and few templates.
core::ObjectState validObject()
{
    core::ObjectState s = {};
    s.alive = s.valid = 1;
    s.box = {100., 100., 40., 60.};
    s.positives = s.negatives = 3;
    s.validThreshold = 0.7;
    return s;
}

//! A box that only the points that return have moved is not valid, also one from which flow is tried again.
TEST(Tld_Flow, aFewPointsDoNotKeepValidity)
{
    const core::Settings settings = changed(core::Settings{}, "stepPercent 10, retryFrames 3, maxFlowError 10");
    const core::ObjectState before = validObject();
    const auto flow = [&](core::ObjectState s, const core::Motion& motion)
    {
        const core::FlowTask task = core::beginFrame(s);
        core::endFlow(s, task, motion, settings, 640, 480);
        return s;
    };
    const core::Motion most = {50, 10., 3., 4., 1.}, few = {10, 10.001, 3., 4., 1.}, none = {0, 10.001, 0., 0., 1.};
    core::ObjectState s = flow(before, most);
    EXPECT_EQ(1, s.alive);
    EXPECT_EQ(1, s.valid);
    s = flow(before, few);
    EXPECT_EQ(1, s.alive);
    EXPECT_EQ(0, s.valid);
    EXPECT_EQ(103., s.box.x);
    EXPECT_EQ(104., s.box.y);
    const core::ObjectState moved = s, failed = flow(before, none);
    EXPECT_EQ(0, failed.alive);
    EXPECT_EQ(3, failed.retries);
    EXPECT_EQ(1, flow(failed, most).valid) << "as before the failure";
    EXPECT_EQ(1, flow(failed, few).alive);
    EXPECT_EQ(0, flow(failed, few).valid);

    const auto compared = [&](core::ObjectState state, double score)
    {
        core::updateSimilarity(state, {score, score, 1. - score, 0}); // its conservative similarity is the score
        return state;
    };
    s = compared(moved, 0.51);
    EXPECT_EQ(0.51, s.similarity);
    EXPECT_EQ(1, s.alive);
    EXPECT_EQ(0, s.valid + s.retries);
    EXPECT_EQ(1, compared(moved, 0.71).valid);
    s = compared(moved, 0.5);
    EXPECT_EQ(0, s.alive) << "refused";
    EXPECT_EQ(3, s.retries) << "as after a failure";
    EXPECT_EQ(100., s.keptBox.x);
    EXPECT_EQ(1, s.keptValid);
    s = compared(flow(failed, few), 0.5);
    EXPECT_EQ(0, s.alive) << "refused again";
    EXPECT_EQ(2, s.retries);
    EXPECT_EQ(1, compared(flow(before, most), 0.1).alive) << "flow of most points is believed";
}

//! A box of 40 x 60 pixels and windows 4 and 6 pixels apart: half a step is 2 pixels along x and 3 along y.
TEST(Tld_Correction, onlyABoxAtRestIsInDoubt)
{
    const core::Settings settings = changed(core::Settings{}, "stepPercent 10, maxFlowError 10");
    const struct
    {
        double dx, dy;
        bool fast;
    } cases[] = {{0., 0., false},   {2., 3., false},  {-2., -3., false}, {2.01, 0., true},
                 {-2.01, 0., true}, {0., 3.01, true}, {0., -3.01, true}};
    for (const auto& c : cases)
    {
        SCOPED_TRACE(cv::format("motion %g, %g", c.dx, c.dy));
        core::ObjectState s = validObject();
        const core::FlowTask task = core::beginFrame(s);
        core::endFlow(s, task, {50, 0.1, c.dx, c.dy, 1.}, settings, 640, 480);
        EXPECT_EQ(c.fast ? 1 : 0, s.fast);
        const core::Box tracked = s.box;
        const core::Cluster cluster = {tracked, 0.9, 6 * core::POSTERIOR_ONE};
        const core::WindowSums around = {1200, 1000, 440, 640, 10}; // their mean is not the box
        const core::Comparison comparison = {1, 0.9, 0, -1};
        s.similarity = 0.9;
        core::ObjectState weak = s;
        weak.similarity = 0.6; // not above validThreshold: corrected in any case
        EXPECT_FALSE(core::integrate(weak, comparison, &cluster, 1, around, settings));
        EXPECT_EQ(!c.fast, core::integrate(s, comparison, &cluster, 1, around, settings));
        EXPECT_NE(tracked.x, s.box.x);
        EXPECT_EQ(weak.box.x, s.box.x);
        core::beginFrame(s);
        EXPECT_EQ(0, s.fast) << "the motion of one frame";
    }
}

}} // namespace opencv_test
