// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLDParams::verifyBoxes: boxes of a source that cannot be relied on propose places, and count only where they are
// similar to the object.
#include "scenes.hpp"
#include "../../src/tld/core.hpp"

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;
typedef StandardScene S;

int valueOf(const Mat& rows, TrackerTLD::ResultColumn column) { return cvRound(rows.at<double>(0, column)); }
bool isLost(const Mat& rows) { return valueOf(rows, TrackerTLD::RESULT_STATE) == TrackerTLD::LOST; }

class Tld_Proposals : public OnEngine
{
protected:
    Ptr<MultiTrackerTLD> tracker(const std::string& params) const
    {
        const Ptr<MultiTrackerTLD> made = MultiTrackerTLD::create(paramsOf(params));
        made->add(image(scene.frame(0)).in(), scene.box(0));
        return made;
    }
    //! Returns as many boxes of the object's size as a call takes, anywhere in the frame, none of them on the object:
    //! those that cover half of it can be similar to it.
    std::vector<Rect> elsewhere(RNG& rng, int t) const
    {
        std::vector<Rect> boxes;
        const Size size = scene.box(0).size();
        while (boxes.size() < 256)
        {
            const Rect box(uniform(rng, Point(0, 0), Point(240 - size.width, 180 - size.height)), size);
            if (overlap(box, scene.box(t)) < 0.35)
                boxes.push_back(box);
        }
        return boxes;
    }

    const S scene;
};

CUDATRACKING_ON_ENGINES(Tld_Proposals);

//! A box that covers the object in part is associated with it only without verification, one on the object always.
TEST_P(Tld_Proposals, mustBeSimilar)
{
    for (const bool verifies : {false, true})
    {
        const Ptr<MultiTrackerTLD> multi = tracker(cv::format("correctByBoxes 1, verifyBoxes %d", verifies));
        const Rect right = scene.box(1), aside = right + Point(right.width * 2 / 5, 0);
        ASSERT_GT(overlap(right, aside), 0.35);
        Mat rows = update(*multi, scene.frame(1), {aside});
        EXPECT_EQ(verifies ? -1 : 0, valueOf(rows, TrackerTLD::RESULT_BOX));
        EXPECT_EQ(verifies, overlap(boxOf(rows), right) > 0.8);
        EXPECT_EQ(TrackerTLD::TRACKING, valueOf(rows, TrackerTLD::RESULT_STATE)) << "with verification it is not asked";
        const Ptr<MultiTrackerTLD> other = tracker(cv::format("correctByBoxes 1, verifyBoxes %d", verifies));
        rows = update(*other, scene.frame(1), {aside, right});
        EXPECT_EQ(1, valueOf(rows, TrackerTLD::RESULT_BOX));
        EXPECT_EQ(TrackerTLD::CONFIRMED, valueOf(rows, TrackerTLD::RESULT_EVENT));
        EXPECT_EQ(Rect2d(right), boxOf(rows));
    }
}

//! A source that always reports a box where it saw the object last: that the object is absent remains known, and where
//! the source has it again it is found at once.
TEST_P(Tld_Proposals, doNotHideAbsence)
{
    const int noticed = S::GONE + S::NOTICED;
    for (const bool verifies : {false, true})
    {
        const Ptr<MultiTrackerTLD> multi = tracker(cv::format("filter 0, findByBoxes 1, verifyBoxes %d", verifies));
        int reported = 0;
        for (int t = 1; t < S::RETURNS; ++t)
        {
            const Mat rows = update(*multi, scene.frame(t), {scene.box(std::min(t, S::GONE - 1))});
            reported += t >= noticed && !isLost(rows);
            if (t < S::HIDES)
            {
                EXPECT_EQ(0, valueOf(rows, TrackerTLD::RESULT_BOX)) << "frame " << t;
                EXPECT_GT(overlap(boxOf(rows), scene.truth(t)), 0.6) << "frame " << t;
            }
        }
        EXPECT_EQ(verifies ? 0 : S::RETURNS - noticed, reported);
        if (!verifies)
            continue;
        const Mat rows = update(*multi, scene.frame(S::RETURNS), {scene.box(S::RETURNS)});
        EXPECT_EQ(TrackerTLD::RECOGNIZED, valueOf(rows, TrackerTLD::RESULT_EVENT));
        EXPECT_EQ(Rect2d(scene.box(S::RETURNS)), boxOf(rows));
    }
}

/** A source goes on with boxes after the object has left, on something that resembles it: a mixture with another
texture. The object is recognised there, but ferns and filter do not see it. */
TEST_P(Tld_Proposals, areNoSupport)
{
    const Size size(40, 34);
    const Mat ground = texture(1, Size(240, 180)), object = texture(2, size);
    Mat alike;
    cv::addWeighted(object, 0.65, texture(3, size), 0.35, 0., alike);
    const auto frame = [&](const Mat& thing, const Rect& box)
    {
        Mat made = ground.clone();
        thing.copyTo(made(box));
        return made;
    };
    const Rect elsewhere(Point(150, 120), size);
    for (const bool filter : {false, true})
    {
        const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(
            paramsOf(cv::format("trees 2, features 16, learning 0, findByBoxes 1, verifyBoxes 1, filter %d", filter)));
        multi->add(image(frame(object, Rect(Point(40, 60), size))).in(), Rect(Point(40, 60), size));
        for (int t = 1; t < 12; ++t)
        {
            const Rect box(Point(40 + 2 * t, 60), size);
            EXPECT_EQ(0, valueOf(update(*multi, frame(object, box), {box}), TrackerTLD::RESULT_BOX));
        }
        int associated = 0, located = 0;
        for (int t = 0; t < 9; ++t)
        {
            const Mat rows = update(*multi, frame(alike, elsewhere), {elsewhere});
            associated += valueOf(rows, TrackerTLD::RESULT_BOX) == 0;
            located += valueOf(rows, TrackerTLD::RESULT_LOCATED);
        }
        EXPECT_GT(associated, 4);
        EXPECT_EQ(0, located);
    }
}

//! Boxes everywhere but on the object change nothing while it is there: each frame is as without boxes.
TEST_P(Tld_Proposals, elsewhereChangeNothing)
{
    const Ptr<MultiTrackerTLD> given = tracker("findByBoxes 1, correctByBoxes 1, verifyBoxes 1"),
                               without = tracker("verifyBoxes 1");
    RNG rng(12);
    for (int t = 1; t < S::HIDES; ++t)
    {
        const Mat rows = update(*given, scene.frame(t), elsewhere(rng, t));
        ASSERT_TRUE(sameBits(update(*without, scene.frame(t)), rows)) << "frame " << t;
    }
}

//! Lists without a box are as no list.
TEST_P(Tld_Proposals, none)
{
    const Ptr<MultiTrackerTLD> given = tracker("findByBoxes 1, correctByBoxes 1, verifyBoxes 1"), without = tracker("");
    for (int t = 1; t < S::HIDES; ++t)
        ASSERT_TRUE(sameBits(update(*without, scene.frame(t)), update(*given, scene.frame(t), {}))) << "frame " << t;
}

//! Each tracker has its own parameter for an object of a file.
TEST_P(Tld_Proposals, files)
{
    const Ptr<MultiTrackerTLD> multi = tracker("verifyBoxes 1, findByBoxes 1"), copy = MultiTrackerTLD::create();
    update(*multi, scene.frame(1), {scene.box(1)});
    const std::string text = textOf(*multi);
    readText(*copy, text);
    EXPECT_TRUE(copy->getParams().verifyBoxes);
    for (int t = 2; t < 6; ++t)
        ASSERT_TRUE(
            sameBits(update(*multi, scene.frame(t), {scene.box(t)}), update(*copy, scene.frame(t), {scene.box(t)})));
    const TemporaryFile file(".xml");
    multi->saveObject(0, file.name);
    const Ptr<MultiTrackerTLD> other = MultiTrackerTLD::create();
    EXPECT_EQ(0, other->addFromFile(image(scene.frame(5)).in(), file.name));
}

// --- rules by themselves ---------------------------------------------------------------------------------------------

TEST(Tld_ProposalRules, valuesOfPairs)
{
    core::ObjectState s = {};
    s.box = {100, 80, 40, 30};
    const core::Box near = {105, 80, 40, 30}, far = {10, 10, 40, 30};
    const double value = 35. / 45.;
    for (const bool verifies : {false, true})
        for (const bool finds : {false, true})
        {
            const core::Settings settings = changed(
                core::Settings{}, cv::format("boxOverlap 0.3, verifyBoxes %d, findByBoxes %d", verifies, finds));
            s.alive = 1;
            EXPECT_EQ(verifies, core::asksSimilarity(s, near, settings));
            EXPECT_FALSE(core::asksSimilarity(s, far, settings));
            EXPECT_NEAR(value, core::pairValue(core::BY_OVERLAP, s, near, 0.1, settings), 1e-12);
            EXPECT_NEAR(verifies ? 0. : value, core::pairValue(core::BY_OVERLAP, s, near, 0., settings), 1e-12);
            EXPECT_EQ(0., core::pairValue(core::BY_OVERLAP, s, far, 0.9, settings));
            s.alive = 0;
            EXPECT_EQ(finds, core::asksSimilarity(s, far, settings));
            EXPECT_EQ(0.9, core::pairValue(core::BY_SIMILARITY, s, far, 0.9, settings));
        }
}

TEST(Tld_ProposalRules, validity)
{
    const core::Box box = {104, 80, 40, 30};
    for (const bool verifies : {false, true})
        for (const int alive : {0, 1})
            for (const int valid : {0, alive})
                for (const double similarity : {0.69, 0.7, 0.71})
                {
                    const core::Settings settings = changed(core::Settings{}, cv::format("verifyBoxes %d", verifies));
                    core::ObjectState s = {};
                    s.box = {100, 80, 40, 30};
                    s.alive = alive;
                    s.valid = valid;
                    s.validThreshold = 0.7;
                    core::associateWith(s, box, 2, similarity, settings);
                    EXPECT_EQ(!verifies || valid || similarity > 0.7, s.valid != 0) << similarity;
                    EXPECT_EQ(3, s.matched);
                    EXPECT_EQ(alive ? core::CONFIRMED : core::RECOGNIZED, s.event);
                    EXPECT_EQ(alive ? 100. : 104., s.box.x);
                }
}

//! A box that only proposes is no support; others are.
TEST(Tld_ProposalRules, support)
{
    for (const bool verifies : {false, true})
        for (const uint32_t sum : {0u, core::fernPositiveSum()})
        {
            const core::Settings settings =
                changed(core::Settings{}, cv::format("trees 10, maxUnsupported 2, verifyBoxes %d", verifies));
            core::ObjectState s = {};
            s.alive = 1;
            s.event = core::FLOWED;
            core::associateWith(s, {104, 80, 40, 30}, 2, 0.9, settings);
            core::updateSupport(s, sum, settings);
            EXPECT_EQ(verifies && sum == 0 ? 1 : 0, s.unsupported);
            EXPECT_EQ(1, s.alive);
            EXPECT_EQ(3, s.matched);
        }
}

}} // namespace opencv_test
