// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// MultiTrackerTLD::update() with boxes of a detector: which object gets which box, and what the parameters make of it.
#include "../common/graphs.hpp"
#include "scenes.hpp"
#include "../../src/tld/core.hpp"

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;
using cv::cuda::Stream;
using Tld_Cuda = OnCuda;
using Tld_CudaSanitize = OnCuda;

const Size FRAME(240, 180);

//! Three objects of different appearance, 40 x 36 pixels, that move slowly and do not meet.
struct Three
{
    Three() : scene(FRAME, std::vector<Size>(3, Size(40, 36)), CV_8UC1, 33) {}
    Placement at(int t, int i) const
    {
        const Point2d centres[] = {Point2d(50 + t, 45), Point2d(170 - 0.8 * t, 50), Point2d(80 + 0.7 * t, 130)};
        return {centres[i]};
    }
    Mat frame(int t, int first = 0, int count = 3) const
    {
        Mat image = scene.background.clone();
        for (int i = first; i < first + count; ++i)
            scene.draw(image, at(t, i), i);
        return image;
    }
    Rect box(int t, int i) const { return scene.box(at(t, i), i); }

    Composite scene;
};

class Tld_Boxes : public OnEngine
{
protected:
    //! Returns a tracker of the first `count` objects of the scene in frame 0.
    Ptr<MultiTrackerTLD> tracker(const TLDParams& params = TLDParams(), int count = 3) const
    {
        const Ptr<MultiTrackerTLD> made = MultiTrackerTLD::create(params);
        for (int i = 0; i < count; ++i)
            made->add(image(scene.frame(0)).in(), scene.box(0, i));
        return made;
    }

    const Three scene;
};

CUDATRACKING_ON_ENGINES(Tld_Boxes);

int valueOf(const Mat& rows, int row, TrackerTLD::ResultColumn column) { return cvRound(rows.at<double>(row, column)); }

TEST_P(Tld_Boxes, areAssociatedByOverlap)
{
    const Ptr<MultiTrackerTLD> given = tracker(), without = tracker();
    for (int t = 1; t < 5; ++t)
    {
        const Mat frame = scene.frame(t);
        const std::vector<Rect> boxes = {scene.box(t, 2) + Point(3, -2), Rect(200, 140, 36, 36), scene.box(t, 0)};
        const Mat rows = update(*given, frame, boxes), plain = update(*without, frame);
        const int expected[] = {2, -1, 0};
        ASSERT_EQ(3, rows.rows);
        for (int i = 0; i < 3; ++i)
        {
            EXPECT_EQ(expected[i], valueOf(rows, i, TrackerTLD::RESULT_BOX)) << "frame " << t << ", object " << i;
            EXPECT_EQ(expected[i] >= 0, valueOf(rows, i, TrackerTLD::RESULT_EVENT) == TrackerTLD::CONFIRMED);
            EXPECT_EQ(-1, valueOf(plain, i, TrackerTLD::RESULT_BOX));
            EXPECT_EQ(boxOf(plain, i), boxOf(rows, i)) << "boxes confirm, and move nothing by default";
        }
    }
}

//! An empty list is not the same as no list, which is the same as the other update().
TEST_P(Tld_Boxes, noneAndNoList)
{
    const Ptr<MultiTrackerTLD> with = tracker(paramsOf("endAfterMisses 2")), without = tracker();
    for (int t = 1; t < 5; ++t)
    {
        Mat rows;
        with->update(image(scene.frame(t)).in(), noArray(), rows);
        EXPECT_TRUE(sameBits(update(*without, scene.frame(t)), rows));
    }
    EXPECT_EQ(3, update(*with, scene.frame(5), {}).rows);
    EXPECT_EQ(0, update(*with, scene.frame(6), {}).rows);
    EXPECT_TRUE(with->empty());
}

TEST_P(Tld_Boxes, needTheOverlapOfTheParameters)
{
    for (const double least : {0.2, 0.5, 0.9})
    {
        const TLDParams p = paramsOf(cv::format("boxOverlap %g", least), flowOnly());
        for (int shift = 0; shift < 40; shift += 4)
        {
            const Ptr<MultiTrackerTLD> one = tracker(p, 1);
            const Rect box = scene.box(1, 0) + Point(shift, 0);
            const Mat rows = update(*one, scene.frame(1), {box});
            EXPECT_EQ(overlap(boxOf(rows, 0), box) >= least ? 0 : -1, valueOf(rows, 0, TrackerTLD::RESULT_BOX))
                << shift;
        }
    }
}

//! One box near two objects goes to the nearer one; of equal objects the first one gets the first of equal boxes.
TEST_P(Tld_Boxes, areGivenGreedily)
{
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(flowOnly());
    const Image first = image(scene.frame(0));
    const Rect box = scene.box(0, 0);
    for (const int shift : {8, 2, 2, 5})
        multi->add(first.in(), box + Point(shift, 0));
    const auto indices = [&](const Mat& rows)
    {
        std::vector<int> all;
        for (int i = 0; i < rows.rows; ++i)
            all.push_back(valueOf(rows, i, TrackerTLD::RESULT_BOX));
        return all;
    };
    const Mat still = scene.frame(0);
    EXPECT_EQ((std::vector<int>{-1, 0, -1, -1}), indices(update(*multi, still, {box})));
    EXPECT_EQ((std::vector<int>{-1, 0, 1, -1}), indices(update(*multi, still, {box, box})));
    EXPECT_EQ((std::vector<int>{-1, 1, 2, 0}), indices(update(*multi, still, {box - Point(4, 0), box, box})));
    // The object that is last but nearest to it gets the box, the others what is left.
    EXPECT_EQ((std::vector<int>{0, -1, -1, -1}), indices(update(*multi, still, {box + Point(8, 0)})));
    EXPECT_EQ((std::vector<int>{2, 1, -1, 0}),
              indices(update(*multi, still, {box + Point(5, 0), box + Point(2, 0), box + Point(9, 0)})));
}

TEST_P(Tld_Boxes, correctTheBox)
{
    const Ptr<MultiTrackerTLD> multi = tracker(paramsOf("correctByBoxes 1"));
    for (int t = 1; t < 6; ++t)
    {
        const Rect box = scene.box(t, 1) + Point(t % 2 ? 5 : -4, 3);
        const Mat rows = update(*multi, scene.frame(t), {box});
        EXPECT_EQ(Rect2d(box), boxOf(rows, 1)) << "frame " << t;
        EXPECT_EQ(TrackerTLD::CONFIRMED, valueOf(rows, 1, TrackerTLD::RESULT_EVENT));
        EXPECT_NE(Rect2d(box), boxOf(rows, 0));
    }
}

//! Boxes are clipped to the image, and not used if less than 12 pixels are left.
TEST_P(Tld_Boxes, areClippedToTheImage)
{
    const Composite edge(FRAME, {Size(40, 36)}, CV_8UC1, 8);
    Placement at = {Point2d(20, 60)};
    const Rect box = edge.box(at);
    ASSERT_EQ(0, box.x);
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(paramsOf("correctByBoxes 1", flowOnly()));
    multi->add(image(edge.frame(at)).in(), box);
    const Mat rows = update(*multi, edge.frame(at), {Rect(-15, box.y, 50, box.height)});
    EXPECT_EQ(Rect2d(0, box.y, 35, box.height), boxOf(rows, 0));
    for (const Rect& bad : {Rect(-30, box.y, 41, 36), Rect(3, box.y, 0, 36), Rect(3, box.y, -20, -20),
                            Rect(INT_MAX, 0, INT_MAX, INT_MAX), Rect(INT_MIN, INT_MIN, 20, 20)})
        EXPECT_EQ(-1, valueOf(update(*multi, edge.frame(at), {bad}), 0, TrackerTLD::RESULT_BOX)) << bad;
}

//! Where no window can pass the ferns, only boxes find an object again: one that is similar to it.
TEST_P(Tld_Boxes, findLostObjects)
{
    for (const bool finds : {false, true})
    {
        const Ptr<MultiTrackerTLD> multi =
            tracker(paramsOf(cv::format("retryFrames 0, findByBoxes %d", finds), flowOnly()));
        const Mat flat(FRAME, CV_8UC1, Scalar(90));
        for (int k = 0; k < 2; ++k)
            update(*multi, texture(500 + k, FRAME));
        const std::vector<Rect> boxes = {Rect(190, 120, 40, 36), scene.box(9, 1), scene.box(9, 0)};
        Mat rows = update(*multi, flat, boxes);
        EXPECT_EQ(0., cv::sum(rows.col(TrackerTLD::RESULT_STATE))[0]) << "nothing is to be seen";
        rows = update(*multi, scene.frame(9), boxes);
        const int expected[] = {2, 1, -1};
        for (int i = 0; i < 3; ++i)
        {
            const bool found = finds && expected[i] >= 0;
            EXPECT_EQ(found ? expected[i] : -1, valueOf(rows, i, TrackerTLD::RESULT_BOX)) << "object " << i;
            EXPECT_EQ(found ? TrackerTLD::RECOGNIZED : TrackerTLD::NO_EVENT,
                      valueOf(rows, i, TrackerTLD::RESULT_EVENT));
            EXPECT_EQ(found ? TrackerTLD::TRACKING : TrackerTLD::LOST, valueOf(rows, i, TrackerTLD::RESULT_STATE));
            EXPECT_EQ(found ? Rect2d(boxes[expected[i]]) : Rect2d(), boxOf(rows, i));
        }
        rows = update(*multi, scene.frame(10));
        EXPECT_EQ(finds ? TrackerTLD::FLOWED : TrackerTLD::NO_EVENT, valueOf(rows, 0, TrackerTLD::RESULT_EVENT));
    }
}

//! A started object is that of add() with the frame after it was updated.
TEST_P(Tld_Boxes, startObjects)
{
    const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(paramsOf("startFromBoxes 1")),
                               other = MultiTrackerTLD::create();
    Mat frame = scene.frame(0);
    frame(Rect(100, 150, 30, 30)).setTo(77);
    const std::vector<Rect> first = {scene.box(0, 0), Rect(3, 3, 11, 30), Rect(102, 152, 26, 26),
                                     scene.box(0, 0) + Point(6, 2)};
    Mat rows = update(*multi, frame, first);
    ASSERT_EQ(1, rows.rows) << "too small, of one gray value, and on the first one";
    EXPECT_EQ(TrackerTLD::STARTED, valueOf(rows, 0, TrackerTLD::RESULT_EVENT));
    EXPECT_EQ(TrackerTLD::TRACKING, valueOf(rows, 0, TrackerTLD::RESULT_STATE));
    EXPECT_EQ(0, valueOf(rows, 0, TrackerTLD::RESULT_BOX));
    EXPECT_EQ(Rect2d(first[0]), boxOf(rows, 0));
    other->add(image(frame).in(), first[0]);
    for (int t = 1; t < 12; ++t)
    {
        frame = scene.frame(t);
        std::vector<Rect> boxes;
        if (t == 4)
            boxes = {scene.box(t, 2), scene.box(t, 1)};
        rows = update(*multi, frame, boxes);
        Mat expected = update(*other, frame);
        if (t == 4)
        {
            ASSERT_EQ((std::vector<int>{0, 1, 2}), multi->getIds());
            ASSERT_EQ(3, rows.rows);
            for (int i = 1; i < 3; ++i)
            {
                EXPECT_EQ(i, valueOf(rows, i, TrackerTLD::RESULT_ID));
                EXPECT_EQ(i - 1, valueOf(rows, i, TrackerTLD::RESULT_BOX));
                EXPECT_EQ(TrackerTLD::STARTED, valueOf(rows, i, TrackerTLD::RESULT_EVENT));
                EXPECT_EQ(i, other->add(image(frame).in(), boxes[i - 1]));
            }
            rows = rows.rowRange(0, 1).clone();
        }
        ASSERT_TRUE(sameBits(expected, rows)) << "frame " << t;
    }
}

//! When ids do not suffice for all boxes, the frame is not processed.
TEST_P(Tld_Boxes, needIds)
{
    const Ptr<MultiTrackerTLD> made = tracker(paramsOf("startFromBoxes 1, endAfterMisses 1"), 1),
                               multi = MultiTrackerTLD::create();
    std::string text = textOf(*made);
    const std::string next = "next: 1\n";
    ASSERT_NE(std::string::npos, text.find(next));
    const size_t at = text.find(next);
    text.replace(at, next.size(), "next: 0\n");
    expectRefused([&] { readText(*multi, text); }, {"ids of objects must ascend and be less than `next`"});
    text.replace(at, next.size(), "next: 2147483646\n");
    readText(*multi, text);
    const std::vector<Rect> boxes = {scene.box(1, 1), scene.box(1, 2)};
    const std::string before = textOf(*multi);
    expectRefused([&] { update(*multi, scene.frame(1), boxes); }, {"ids are used up", "1 are left", "2 objects"});
    EXPECT_TRUE(before == textOf(*multi));
    ASSERT_EQ(1, update(*multi, scene.frame(1), {boxes[0]}).rows);
    EXPECT_EQ((std::vector<int>{2147483646}), multi->getIds());
    expectRefused([&] { update(*multi, scene.frame(2), {boxes[1]}); }, {"ids are used up", "0 are left", "1 objects"});
    EXPECT_EQ(0, update(*multi, scene.frame(2), {}).rows) << "no id is needed";
}

//! A box that overlaps an object by boxOverlap and no more is on it, also on one that the box before has started.
TEST_P(Tld_Boxes, doNotStartAtTheLeastOverlap)
{
    const Rect box = scene.box(0, 1), half(box.x, box.y, box.width / 2, box.height);
    ASSERT_EQ(0, box.width % 2);
    for (const double least : {0.5, 0.51})
    {
        const Ptr<MultiTrackerTLD> multi =
            tracker(paramsOf(cv::format("startFromBoxes 1, boxOverlap %g", least), flowOnly()), 1);
        EXPECT_EQ(least == 0.5 ? 2 : 3, update(*multi, scene.frame(0), {box, half}).rows);
    }
}

//! Only the part of an object inside of the image decides whether a box is on it, whether or not reported boxes are
//! clipped.
TEST_P(Tld_Boxes, doNotStartOnObjectsAtTheBorder)
{
    const Composite edge(FRAME, {Size(40, 36)}, CV_8UC1, 8);
    for (const bool clip : {false, true})
    {
        TLDParams p = paramsOf("startFromBoxes 1, boxOverlap 0.8", flowOnly());
        p.clipBoxes = clip;
        const Ptr<MultiTrackerTLD> multi = MultiTrackerTLD::create(p);
        Placement at = {Point2d(20, 60)};
        multi->add(image(edge.frame(at)).in(), edge.box(at));
        for (; at.centre.x > 8; at.centre.x -= 1)
            update(*multi, edge.frame(at));
        const Mat plain = update(*multi, edge.frame(at));
        ASSERT_NEAR(clip ? 0 : -12, boxOf(plain, 0).x, 1);
        const Rect inside = edge.box(at) & Rect(Point(), FRAME);
        const Mat rows = update(*multi, edge.frame(at), {inside, inside + Point(60, 20)});
        ASSERT_EQ(2, rows.rows) << "the second box alone is on no object";
        EXPECT_EQ(-1, valueOf(rows, 0, TrackerTLD::RESULT_BOX)) << "7/10 of the object are inside";
        EXPECT_EQ(1, valueOf(rows, 1, TrackerTLD::RESULT_BOX));
    }
}

//! Counts of missed calls begin again with each associated box, do not count frames without the detector, and are
//! saved.
TEST_P(Tld_Boxes, endObjects)
{
    const Ptr<MultiTrackerTLD> multi = tracker(paramsOf("endAfterMisses 3")), saved = MultiTrackerTLD::create();
    const auto boxes = [&](int t, std::initializer_list<int> seen)
    {
        std::vector<Rect> all;
        for (const int i : seen)
            all.push_back(scene.box(t, i));
        return all;
    };
    EXPECT_EQ(3, update(*multi, scene.frame(1), boxes(1, {0})).rows);
    EXPECT_EQ(3, update(*multi, scene.frame(2), boxes(2, {0})).rows);
    for (int t = 3; t < 7; ++t)
        EXPECT_EQ(3, update(*multi, scene.frame(t)).rows);
    readText(*saved, textOf(*multi));
    EXPECT_EQ(textOf(*multi), textOf(*saved));
    for (MultiTrackerTLD* one : {multi.get(), saved.get()})
    {
        Mat rows = update(*one, scene.frame(7), boxes(7, {1}));
        ASSERT_EQ((std::vector<int>{0, 1}), one->getIds());
        EXPECT_EQ(1, valueOf(rows, 1, TrackerTLD::RESULT_ID));
        EXPECT_EQ(2, update(*one, scene.frame(8), boxes(8, {1})).rows);
        rows = update(*one, scene.frame(9), boxes(9, {1}));
        ASSERT_EQ((std::vector<int>{1}), one->getIds());
        EXPECT_EQ(1, valueOf(rows, 0, TrackerTLD::RESULT_ID));
        EXPECT_EQ(1, update(*one, scene.frame(10), boxes(10, {})).rows);
        EXPECT_EQ(1, update(*one, scene.frame(11), boxes(11, {})).rows);
        EXPECT_EQ(0, update(*one, scene.frame(12), boxes(12, {})).rows);
    }
}

TEST_P(Tld_Boxes, formsOfLists)
{
    const std::vector<Rect> boxes = {scene.box(1, 2), scene.box(1, 0)};
    const Mat column(boxes, true);
    const Mat row = column.reshape(4, 1), numbers = column.reshape(1, 2);
    ASSERT_EQ(Size(2, 1), row.size());
    ASSERT_EQ(Size(4, 2), numbers.size());
    const Mat expected = update(*tracker(), scene.frame(1), boxes);
    for (const Mat& list : {column, row, numbers})
    {
        Mat rows;
        tracker()->update(image(scene.frame(1)).in(), list, rows);
        EXPECT_TRUE(sameBits(expected, rows));
    }
}

TEST_P(Tld_Boxes, wrongArguments)
{
    TLDParams p = paramsOf("startFromBoxes 1");
    const Ptr<MultiTrackerTLD> multi = tracker(), starting = tracker(p);
    const Image frame = image(scene.frame(1));
    Mat rows;
    for (const Mat& bad : {Mat(2, 4, CV_64FC1, Scalar(20)), Mat(1, 3, CV_32SC1, Scalar(20)), Mat(2, 2, CV_32SC4),
                           Mat(257, 1, CV_32SC4, Scalar::all(20))})
        EXPECT_THROW(multi->update(frame.in(), bad, rows), cv::Exception) << bad.size();
    EXPECT_THROW(starting->update(frame.in(), std::vector<Rect>(), cv::Matx<double, 3, TrackerTLD::RESULT_COLUMNS>()),
                 cv::Exception);
    // Nothing has been processed.
    EXPECT_TRUE(sameBits(update(*tracker(), scene.frame(1)), update(*multi, scene.frame(1))));
    EXPECT_TRUE(sameBits(update(*tracker(), scene.frame(1)), update(*starting, scene.frame(1))));
    for (const double overlap : {0., 1.01, -1.})
    {
        p.boxOverlap = overlap;
        EXPECT_THROW(MultiTrackerTLD::create(p), cv::Exception) << overlap;
    }
}

// --- rules by themselves ---------------------------------------------------------------------------------------------

TEST(Tld_BoxRules, associatedObjectsAreSupportedAndDoNotJump)
{
    core::Settings settings = changed(core::Settings{}, "maxUnsupported 1, trees 10");
    const core::Cluster elsewhere = {{200, 150, 40, 30}, 0.95, 6 * core::POSTERIOR_ONE};
    for (const bool corrects : {false, true})
    {
        core::ObjectState s = {};
        settings.correctByBoxes = corrects;
        s.alive = 1;
        s.box = {100, 80, 40, 30};
        core::ObjectState plain = s;
        core::associateWith(s, {104, 80, 40, 30}, 5, 0., settings);
        EXPECT_EQ(1, s.valid);
        EXPECT_EQ(6, s.matched) << "1 + index";
        EXPECT_EQ(corrects ? 104. : 100., s.box.x);
        core::ObjectState jumping = plain;
        core::updateSupport(plain, 0, settings);
        EXPECT_EQ(0, plain.alive);
        core::updateSupport(s, 0, settings);
        EXPECT_EQ(1, s.alive);
        EXPECT_EQ(1, core::compareClusters(jumping, &elsewhere, 1, settings).better);
        const core::Comparison c = core::compareClusters(s, &elsewhere, 1, settings);
        EXPECT_EQ(0, c.better);
        core::integrate(s, c, &elsewhere, 1, {110, 80, 40, 30, 1}, settings);
        EXPECT_EQ(corrects ? 104. : (10 * 100. + 110.) / 11., s.box.x) << "a detector's box stays as it is";
        core::beginFrame(s);
        EXPECT_EQ(0, s.matched);
        EXPECT_EQ(0, s.held);
    }
}

// --- CUDA against the CPU --------------------------------------------------------------------------------------------

//! Returns random boxes, most of them near objects, some equal, outside or empty.
std::vector<Rect> randomBoxes(RNG& rng, const Three& scene, int t)
{
    std::vector<Rect> boxes;
    for (int i = rng.uniform(0, 9); i > 0; --i)
    {
        const Point shift = uniform(rng, Point(-12, -9), Point(13, 10));
        const Rect near = scene.box(t, rng.uniform(0, 3)) + shift;
        const Size size = uniform(rng, Size(-5, -5), Size(70, 70));
        const Rect any(uniform(rng, Point(-40, -40), Point(250, 190)), size);
        boxes.push_back(rng.uniform(0, 4) ? near : any);
        if (rng.uniform(0, 5) == 0)
            boxes.push_back(boxes[rng.uniform(0, static_cast<int>(boxes.size()))]);
    }
    return boxes;
}

//! Returns boxes as a row of CascadeClassifierEx::detectAsync() has them, on the device.
cuda::GpuMat tableOf(const std::vector<Rect>& boxes)
{
    Mat table = Mat::zeros(1, 300, CV_32SC4);
    table.at<Vec4i>(0) = Vec4i(static_cast<int>(boxes.size()), static_cast<int>(boxes.size()), 0, 0);
    for (size_t i = 0; i < boxes.size(); ++i)
        table.at<Vec4i>(static_cast<int>(i) + 1) = Vec4i(boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height);
    return cuda::GpuMat(table);
}

TEST_F(Tld_Cuda, boxesAreAssociatedAlike)
{
    const Three scene;
    RNG rng(77);
    int matched = 0, recognized = 0, started = 0, ended = 0;
    for (int run = 0; run < 12; ++run)
    {
        SCOPED_TRACE(run);
        TLDParams p = run % 3 == 1 ? flowOnly() : TLDParams();
        p.seed = run;
        p.correctByBoxes = run % 2 != 0;
        p.findByBoxes = run % 3 != 0;
        p.verifyBoxes = run % 4 % 3 != 0;
        p.filter = run % 5 >= 3;
        if (p.findByBoxes)
            p.retryFrames = 0; // else flow that is tried again is before the boxes
        p.startFromBoxes = run % 4 >= 2;
        p.endAfterMisses = run % 5 == 4 ? 2 : 0;
        const Ptr<MultiTrackerTLD> cpu = MultiTrackerTLD::create(p), gpu = MultiTrackerTLD::create(p);
        for (int i = 0; i < 3; ++i)
        {
            cpu->add(scene.frame(0), scene.box(0, i));
            gpu->add(cuda::GpuMat(scene.frame(0)), scene.box(0, i));
        }
        Stream streams[2];
        for (int t = 1; t < 40; ++t)
        {
            const Mat frame = t % 10 == 7 ? texture(t, FRAME) : scene.frame(t);
            const std::vector<Rect> boxes = randomBoxes(rng, scene, t);
            Mat expected, actual;
            cpu->update(frame, boxes, expected);
            if (t % 2)
                gpu->update(cuda::GpuMat(frame), boxes, actual, streams[t % 3 % 2]);
            else
                gpu->update(cuda::GpuMat(frame), tableOf(boxes), actual, streams[t % 3 % 2]);
            ASSERT_TRUE(sameBits(expected, actual)) << "frame " << t;
            ASSERT_EQ(cpu->getIds(), gpu->getIds());
            for (int i = 0; i < expected.rows; ++i)
            {
                matched += valueOf(expected, i, TrackerTLD::RESULT_EVENT) == TrackerTLD::CONFIRMED;
                recognized += valueOf(expected, i, TrackerTLD::RESULT_EVENT) == TrackerTLD::RECOGNIZED;
                started += valueOf(expected, i, TrackerTLD::RESULT_EVENT) == TrackerTLD::STARTED;
            }
            ended += expected.rows < 3;
        }
        EXPECT_EQ(textOf(*cpu), textOf(*gpu));
    }
    std::cout << matched << " confirmed, " << recognized << " recognized, " << started << " started" << std::endl;
    EXPECT_GT(matched, 100);
    EXPECT_GT(recognized, 3);
    EXPECT_GT(started, 3);
    EXPECT_GT(ended, 0);
}

#ifdef HAVE_CUDA

//! A captured update() reads boxes of the device again in each replay. Results on the device are not waited for.
TEST_F(Tld_Cuda, boxesOfTheDeviceInGraphs)
{
    const Three scene;
    for (const char* params :
         {"correctByBoxes 1, findByBoxes 1", "correctByBoxes 1, verifyBoxes 1", "findByBoxes 1, verifyBoxes 1",
          "correctByBoxes 1", "filter 1, correctByBoxes 1, findByBoxes 1, verifyBoxes 1"})
    {
        SCOPED_TRACE(params);
        const TLDParams p = paramsOf(params);
        const Ptr<MultiTrackerTLD> cpu = MultiTrackerTLD::create(p), gpu = MultiTrackerTLD::create(p);
        for (int i = 0; i < 3; ++i)
        {
            cpu->add(scene.frame(0), scene.box(0, i));
            gpu->add(cuda::GpuMat(scene.frame(0)), scene.box(0, i));
        }
        Stream stream;
        cuda::GpuMat input(scene.frame(0)), boxes = tableOf({}), rows(3, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
        Graph graph(stream);
        gpu->update(input, boxes, rows, stream);
        graph.end();
        RNG rng(5);
        for (int t = 1; t < 20; ++t)
        {
            const std::vector<Rect> list = randomBoxes(rng, scene, t);
            Mat expected;
            cpu->update(scene.frame(t), list, expected);
            input.upload(scene.frame(t), stream);
            tableOf(list).copyTo(boxes, stream);
            if (t % 3)
                graph.launch();
            else
                gpu->update(input, boxes, rows, stream);
            stream.waitForCompletion();
            ASSERT_TRUE(sameBits(expected, Mat(rows))) << "frame " << t;
        }
    }
}

//! Objects cannot start in a capture, which is left valid, and the results of refused calls are left as they were.
TEST_F(Tld_Cuda, objectsDoNotStartInGraphs)
{
    const Three scene;
    const TLDParams p = paramsOf("startFromBoxes 1");
    const Ptr<MultiTrackerTLD> gpu = MultiTrackerTLD::create(), starting = MultiTrackerTLD::create(p),
                               withObject = MultiTrackerTLD::create(p);
    const cuda::GpuMat input(scene.frame(0)), boxes = tableOf({});
    for (const Ptr<MultiTrackerTLD>& tracker : {gpu, withObject})
        tracker->add(input, scene.box(0, 0));
    Stream stream;
    cuda::GpuMat rows;
    gpu->update(input, boxes, rows, stream);
    stream.waitForCompletion();
    const Mat before(rows);
    Mat host = before.clone();
    const std::vector<Rect> list = {scene.box(0, 0)};
    Graph refused(stream);
    for (const Ptr<MultiTrackerTLD>& tracker : {starting, withObject})
        for (const _InputArray& given : {_InputArray(boxes), _InputArray(list)})
        {
            EXPECT_THROW(tracker->update(input, given, rows, stream), cv::Exception);
            EXPECT_THROW(tracker->update(input, given, host, stream), cv::Exception);
        }
    EXPECT_THROW(gpu->update(input, boxes, host, stream), cv::Exception);
    const bool same = rows.size() == before.size();
    gpu->update(input, boxes, rows, stream);
    refused.end();
    ASSERT_TRUE(same);
    EXPECT_TRUE(sameBits(before, Mat(rows)));
    EXPECT_TRUE(sameBits(before, host));
    EXPECT_TRUE(starting->empty());
}

#endif // HAVE_CUDA

TEST_F(Tld_CudaSanitize, boxes)
{
    const Three scene;
    for (const bool verifies : {false, true})
    {
        const TLDParams p =
            paramsOf(cv::format("scales 2, correctByBoxes 1, findByBoxes 1, verifyBoxes %d", verifies), flowOnly());
        const Ptr<MultiTrackerTLD> tracker = MultiTrackerTLD::create(p);
        for (int i = 0; i < 3; ++i)
            tracker->add(cuda::GpuMat(scene.frame(0)), scene.box(0, i));
        RNG rng(3);
        for (int t = 1; t < 6; ++t)
        {
            const cuda::GpuMat frame(t == 3 ? texture(1, FRAME) : scene.frame(t));
            Mat rows;
            tracker->update(frame, randomBoxes(rng, scene, t), rows);
            ASSERT_EQ(3, rows.rows);
        }
    }
}

}} // namespace opencv_test
