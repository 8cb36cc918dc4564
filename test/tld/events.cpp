// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Events: each step of a frame sets the right one, and those of a video fit its states. Clipped boxes. Files without
// events.
#include "scenes.hpp"
#include "../../src/tld/core.hpp"
#include <map>

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;

// --- the steps by themselves -----------------------------------------------------------------------------------------

const int COLS = 320, ROWS = 240;

core::Settings settingsOfTests()
{
    return changed(core::Settings{}, "maxFlowError 10, retryFrames 3, maxUnsupported 3, maxProbation "
                                     "100, jumpMargin 0.1, firstJumpMargin 0.2, trees 10");
}

core::ObjectState stateOnABox()
{
    core::ObjectState s = {};
    s.alive = s.valid = 1;
    s.box = {100, 80, 40, 30};
    s.similarity = 0.8;
    s.validThreshold = 0.7;
    s.positives = 10;
    s.negatives = 10;
    return s;
}

core::Motion motionOf(bool good)
{
    core::Motion motion = {};
    motion.kept = good ? 50 : 0;
    motion.dx = 2.;
    motion.scale = 1.;
    return motion;
}

//! Runs the flow of a frame. @return the event.
int flow(core::ObjectState& s, bool good)
{
    const core::FlowTask task = core::beginFrame(s);
    core::endFlow(s, task, motionOf(good), settingsOfTests(), COLS, ROWS);
    return s.event;
}

//! Integrates clusters and the windows around the box. @return the event.
int integrate(core::ObjectState& s, const std::vector<core::Cluster>& clusters, const core::WindowSums& around,
              bool supported = true)
{
    const core::Settings settings = settingsOfTests();
    const int count = static_cast<int>(clusters.size());
    core::updateSupport(s, supported ? core::fernPositiveSum() : 0, settings);
    const core::Comparison c = core::compareClusters(s, clusters.data(), count, settings);
    core::updateProbation(s, c, settings);
    core::integrate(s, c, clusters.data(), count, around, settings);
    return s.event;
}

const core::WindowSums NOTHING_AROUND = {0, 0, 0, 0, 0}, ONE_AROUND = {104, 81, 40, 30, 1};
const core::Cluster ON_THE_BOX = {{102, 80, 40, 30}, 0.8, 6 * core::POSTERIOR_ONE},
                    ELSEWHERE = {{200, 150, 40, 30}, 0.95, 6 * core::POSTERIOR_ONE};

TEST(Tld_Events, flowAndCorrection)
{
    core::ObjectState s = stateOnABox();
    EXPECT_EQ(TrackerTLD::FLOWED, flow(s, true));
    core::ObjectState other = s;
    EXPECT_EQ(TrackerTLD::FLOWED, integrate(other, {}, NOTHING_AROUND));
    other = s;
    EXPECT_EQ(TrackerTLD::FLOWED, integrate(other, {ON_THE_BOX}, NOTHING_AROUND)) << "there is nothing to correct with";
    other = s;
    EXPECT_EQ(TrackerTLD::FLOWED, integrate(other, {}, ONE_AROUND)) << "no window was accepted";
    const core::Box tracked = s.box;
    EXPECT_EQ(TrackerTLD::CORRECTED, integrate(s, {ON_THE_BOX}, ONE_AROUND));
    other = s;
    EXPECT_TRUE(core::acceptCorrection(other, tracked, {0.99, 0.99, 0.1, 0}));
    EXPECT_EQ(TrackerTLD::CORRECTED, other.event);
    EXPECT_FALSE(core::acceptCorrection(s, tracked, {0.5, 0.5, 0.9, 0}));
    EXPECT_EQ(TrackerTLD::FLOWED, s.event) << "the correction was undone";
}

TEST(Tld_Events, lossAndRetry)
{
    core::ObjectState s = stateOnABox();
    EXPECT_EQ(TrackerTLD::BECAME_LOST, flow(s, false));
    EXPECT_EQ(TrackerTLD::BECAME_LOST, integrate(s, {}, NOTHING_AROUND));
    EXPECT_EQ(TrackerTLD::NO_EVENT, flow(s, false)) << "lost already";
    core::ObjectState ended = s;
    EXPECT_EQ(TrackerTLD::RETRIED, flow(s, true));
    EXPECT_EQ(TrackerTLD::RETRIED, integrate(s, {ON_THE_BOX}, ONE_AROUND)) << "more than a correction";
    EXPECT_EQ(TrackerTLD::FLOWED, flow(s, true));
    EXPECT_EQ(TrackerTLD::RETRIED, flow(ended, true));
    core::endTracking(ended);
    EXPECT_EQ(TrackerTLD::NO_EVENT, ended.event) << "lost before the frame and after it";
}

TEST(Tld_Events, endWithoutSupport)
{
    core::ObjectState s = stateOnABox();
    for (const int expected : {TrackerTLD::FLOWED, TrackerTLD::FLOWED, TrackerTLD::BECAME_LOST})
    {
        flow(s, true);
        EXPECT_EQ(expected, integrate(s, {}, NOTHING_AROUND, false));
    }
    s = stateOnABox();
    s.box.x = -39.;
    core::FlowTask task = core::beginFrame(s);
    core::Motion motion = motionOf(true);
    motion.dx = -5.;
    core::endFlow(s, task, motion, settingsOfTests(), COLS, ROWS);
    EXPECT_EQ(TrackerTLD::BECAME_LOST, s.event) << "the box has left the image";
}

TEST(Tld_Events, jumpAndFind)
{
    core::ObjectState s = stateOnABox();
    s.similarity = 0.6;
    flow(s, true);
    EXPECT_EQ(TrackerTLD::JUMPED, integrate(s, {ELSEWHERE}, NOTHING_AROUND));
    EXPECT_EQ(200., s.box.x);
    EXPECT_EQ(TrackerTLD::BECAME_LOST, flow(s, false));
    core::ObjectState sameFrame = s;
    EXPECT_EQ(TrackerTLD::FOUND_AGAIN, integrate(sameFrame, {ON_THE_BOX}, NOTHING_AROUND)) << "lost and found at once";
    EXPECT_EQ(TrackerTLD::NO_EVENT, flow(s, false));
    EXPECT_EQ(TrackerTLD::NO_EVENT, integrate(s, {ON_THE_BOX, ELSEWHERE}, NOTHING_AROUND)) << "which of them?";
    flow(s, false);
    EXPECT_EQ(TrackerTLD::FOUND_AGAIN, integrate(s, {ON_THE_BOX}, NOTHING_AROUND));
}

TEST(Tld_Events, ofTheUser)
{
    core::ObjectState s = stateOnABox();
    core::resetState(s, {10, 10, 40, 30}, false, 320, 240);
    EXPECT_EQ(TrackerTLD::STARTED, s.event);
    EXPECT_EQ(TrackerTLD::FLOWED, flow(s, true));
}

TEST(Tld_Events, partInsideOfTheImage)
{
    const core::Box inside = {0.1, 0.2, 30.3, 40.7};
    const core::Box same = core::clipped(inside, 31, 41);
    EXPECT_TRUE(same.x == inside.x && same.y == inside.y && same.w == inside.w && same.h == inside.h);
    const core::Box part = core::clipped({-5.5, -3., 400., 10.}, COLS, ROWS);
    EXPECT_EQ(0., part.x);
    EXPECT_EQ(320., part.w);
    EXPECT_EQ(0., part.y);
    EXPECT_EQ(7., part.h);
    const core::Box corner = core::clipped({300., 230., 50., 50.}, COLS, ROWS);
    EXPECT_EQ(20., corner.w);
    EXPECT_EQ(10., corner.h);
}

// --- videos ----------------------------------------------------------------------------------------------------------

typedef OnEngine Tld_EventsOf;
CUDATRACKING_ON_ENGINES(Tld_EventsOf);

//! Whether an event can occur between two states.
bool fits(int before, int after, int event)
{
    const bool had = before != TrackerTLD::LOST, has = after != TrackerTLD::LOST;
    switch (event)
    {
    case TrackerTLD::NO_EVENT:
        return !had && !has;
    case TrackerTLD::BECAME_LOST:
        return had && !has;
    case TrackerTLD::FLOWED:
    case TrackerTLD::CORRECTED:
    case TrackerTLD::JUMPED:
    case TrackerTLD::FILTERED:
        return had && has;
    case TrackerTLD::RETRIED:
        return !had && has;
    case TrackerTLD::FOUND_AGAIN:
        return has;
    default:
        return false;
    }
}

TEST_P(Tld_EventsOf, standardScene)
{
    typedef StandardScene S;
    std::map<int, int> counts;
    for (const int run : {0, 1, 2, 3, 4, 5})
    {
        const S scene(CV_8UC1, Size(40, 34), run / 2 + 1);
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(paramsOf(cv::format("filter %d", run % 2)));
        EXPECT_EQ(TrackerTLD::NO_EVENT, tracker->getEvent());
        tracker->init(Image(engine(), scene.frame(0)).in(), scene.box(0));
        EXPECT_EQ(TrackerTLD::STARTED, tracker->getEvent());
        int before = tracker->getState();
        for (int t = 1; t < S::FRAMES; ++t)
        {
            Mat row;
            tracker->updateAsync(Image(engine(), scene.frame(t)).in(), row);
            const int state = cvRound(row.at<double>(0, TrackerTLD::RESULT_STATE)),
                      event = cvRound(row.at<double>(0, TrackerTLD::RESULT_EVENT));
            EXPECT_TRUE(fits(before, state, event))
                << "frame " << t << ": " << before << " to " << state << " by " << event;
            EXPECT_EQ(event, tracker->getEvent());
            before = state;
            ++counts[event];
        }
    }
    for (const int event : {TrackerTLD::NO_EVENT, TrackerTLD::FLOWED, TrackerTLD::CORRECTED, TrackerTLD::FOUND_AGAIN,
                            TrackerTLD::BECAME_LOST, TrackerTLD::FILTERED})
        EXPECT_GT(counts[event], 0) << "event " << event;
}

TEST_P(Tld_EventsOf, idsInRows)
{
    Composite scene(Size(240, 180), {Size(40, 34), Size(30, 30), Size(36, 40)});
    const std::vector<Placement> at = {{Point2d(50, 50)}, {Point2d(150, 50)}, {Point2d(100, 130)}};
    const Image image(engine(), scene.frame(at));
    const Ptr<MultiTrackerTLD> tracker = MultiTrackerTLD::create();
    for (int i = 0; i < 3; ++i)
        tracker->add(image.in(), scene.box(at[i], i));
    Mat rows;
    tracker->update(image.in(), rows);
    ASSERT_EQ(Size(TrackerTLD::RESULT_COLUMNS, 3), rows.size());
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(i, rows.at<double>(i, TrackerTLD::RESULT_ID));
    tracker->remove(1);
    tracker->update(image.in(), rows);
    ASSERT_EQ(2, rows.rows);
    EXPECT_EQ(0., rows.at<double>(0, TrackerTLD::RESULT_ID));
    EXPECT_EQ(2., rows.at<double>(1, TrackerTLD::RESULT_ID));
}

//! An object that leaves by half: clipping changes reported boxes and nothing else.
TEST_P(Tld_EventsOf, clippedBoxes)
{
    const Composite scene(Size(160, 120), {Size(40, 36)}, CV_8UC1, 7);
    const auto at = [](int t) { return Placement{Point2d(30 - 1.2 * t, 20 - 0.4 * t)}; };
    const Image first(engine(), scene.frame(at(0)));
    const Rect whole(0, 0, 160, 120);
    const Ptr<TrackerTLD> free = TrackerTLD::create(), clipped = TrackerTLD::create(paramsOf("clipBoxes 1"));
    free->init(first.in(), scene.box(at(0)));
    clipped->init(first.in(), scene.box(at(0)));
    int outside = 0;
    for (int t = 1; t < 22; ++t)
    {
        const Mat frame = scene.frame(at(t));
        const Step a = advance(*free, engine(), frame), b = advance(*clipped, engine(), frame);
        EXPECT_EQ(a.state, b.state);
        EXPECT_EQ(a.score, b.score);
        EXPECT_EQ(b.box, b.box & whole) << "frame " << t;
        const Rect2d part = a.inside & Rect2d(whole);
        EXPECT_EQ(part.tl(), b.inside.tl());
        EXPECT_NEAR(part.width, b.inside.width, 1e-9);
        EXPECT_NEAR(part.height, b.inside.height, 1e-9);
        outside += a.box != (a.box & whole);
    }
    EXPECT_GT(outside, 5);
}

}} // namespace opencv_test
