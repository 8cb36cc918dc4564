// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLDDetector and TrackerTLD: kinds of images and outputs, learning on and off, states, saving and loading.
#include "scenes.hpp"
#include <set>

namespace opencv_test { namespace {

using namespace tld;

class Tld_Api : public OnEngine
{
protected:
    typedef StandardScene S;

    Ptr<TrackerTLD> fresh(const TLDParams& params = TLDParams()) const { return trackerOn(scene, engine(), params); }
    std::vector<Step> run(TrackerTLD& tracker, int from, int to) const
    {
        return follow(tracker, scene, engine(), from, to);
    }
    Ptr<TLDDetector> detector(const TLDParams& params = TLDParams()) const
    {
        return detectorOn(scene, engine(), params);
    }
    Mat detections(TLDDetector& in, const Mat& frame) const
    {
        Mat table;
        in.detect(image(frame).in(), table);
        return table;
    }

    const S scene;
};

TEST_P(Tld_Api, beforeInit)
{
    const Ptr<TLDDetector> d = TLDDetector::create();
    EXPECT_TRUE(d->empty());
    EXPECT_EQ("TLDDetector", d->getDefaultName());
    EXPECT_EQ("MultiTrackerTLD", MultiTrackerTLD::create()->getDefaultName());
    const Ptr<TrackerTLD> t = TrackerTLD::create();
    EXPECT_EQ(TrackerTLD::LOST, t->getState());
    EXPECT_EQ(Rect2d(), t->getBox());
    EXPECT_EQ(0.f, t->getTrackingScore());
    EXPECT_EQ(0u, t->workspaceBytes());
}

TEST_P(Tld_Api, parametersAreKept)
{
    const TLDParams p = paramsOf("seed 9, trees 8, features 12, maxPositives 33, updateAngle 7.5");
    for (const TLDParams& q : {TLDDetector::create(p)->getParams(), TrackerTLD::create(p)->getParams(),
                               MultiTrackerTLD::create(p)->getParams()})
    {
        EXPECT_EQ(9, q.seed);
        EXPECT_EQ(8, q.trees);
        EXPECT_EQ(12, q.features);
        EXPECT_EQ(33, q.maxPositives);
        EXPECT_EQ(7.5, q.updateAngle);
        EXPECT_EQ(TLDParams().jumpMargin, q.jumpMargin);
        EXPECT_TRUE(q.filter);
    }
}

//! Gray values are those of cv::cvtColor; regions, steps and UMat do not matter.
TEST_P(Tld_Api, kindsOfImages)
{
    const S colour(CV_8UC3);
    std::vector<std::vector<Step>> runs;
    for (int kind = 0; kind < 4; ++kind)
    {
        const Ptr<TrackerTLD> tracker = TrackerTLD::create();
        std::vector<Step> steps;
        for (int t = 0; t < 12; ++t)
        {
            Mat frame = colour.frame(t);
            if (kind == 0)
                cvtColor(frame, frame, COLOR_BGR2GRAY);
            else if (kind == 2)
                cvtColor(frame, frame, COLOR_BGR2BGRA);
            if (kind == 3)
                frame = asRoi(frame);
            if (t == 0)
                tracker->init(image(frame).in(), colour.box(0));
            else
                steps.push_back(advance(*tracker, engine(), frame));
        }
        runs.push_back(steps);
    }
    for (size_t kind = 1; kind < runs.size(); ++kind)
    {
        SCOPED_TRACE(kind);
        expectSame(runs[0], runs[kind]);
    }
}

TEST(Tld_Inputs, unifiedMemory)
{
    const StandardScene scene;
    const Ptr<TrackerTLD> plain = TrackerTLD::create(), unified = TrackerTLD::create();
    UMat first;
    scene.frame(0).copyTo(first);
    plain->init(scene.frame(0), scene.box(0));
    unified->init(first, scene.box(0));
    for (int t = 1; t < 8; ++t)
    {
        UMat frame;
        scene.frame(t).copyTo(frame);
        Rect a, b;
        ASSERT_EQ(plain->update(scene.frame(t), a), unified->update(frame, b));
        ASSERT_EQ(a, b);
        ASSERT_EQ(plain->getBox(), unified->getBox());
    }
}

//! Frames are not kept by reference: the caller may write over them.
TEST_P(Tld_Api, framesMayBeReused)
{
    const Ptr<TrackerTLD> a = fresh(), b = TrackerTLD::create();
    Mat buffer = scene.frame(0);
    cuda::GpuMat device;
    const auto in = [&]() -> _InputArray
    {
        if (engine() == Engine::CPU)
            return _InputArray(buffer);
        device.upload(buffer);
        return _InputArray(device);
    };
    b->init(in(), scene.box(0));
    for (int t = 1; t < 12; ++t)
    {
        scene.frame(t).copyTo(buffer);
        const Step expected = advance(*a, engine(), scene.frame(t));
        const Step actual = advance(*b, in());
        buffer.setTo(0);
        ASSERT_TRUE(same(expected, actual)) << "frame " << t;
    }
}

TEST_P(Tld_Api, seedDecides)
{
    TLDParams one, two;
    two.seed = 2;
    const std::vector<Step> first = run(*fresh(one), 1, 60), again = run(*fresh(one), 1, 60);
    expectSame(first, again);
    const Ptr<TrackerTLD> a = fresh(one), b = fresh(two);
    EXPECT_NE(textOf(*a), textOf(*b));
    EXPECT_FALSE(sameBits(templatesOf(*a, false), templatesOf(*b, false)));
    EXPECT_TRUE(sameBits(templatesOf(*a, true), templatesOf(*b, true))) << "the object itself is not drawn";
}

TEST(Tld_Threads, numbersDoNotMatter)
{
    typedef StandardScene S;
    const S scene;
    const int threads = getNumThreads();
    std::vector<std::vector<Step>> runs;
    std::vector<std::string> states;
    for (const int count : {1, 2, 7})
    {
        setNumThreads(count);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CPU);
        runs.push_back(follow(*tracker, scene, Engine::CPU, 1, S::FRAMES));
        states.push_back(textOf(*tracker));
    }
    setNumThreads(threads);
    for (size_t i = 1; i < runs.size(); ++i)
    {
        expectSame(runs[0], runs[i]);
        EXPECT_EQ(states[0], states[i]);
    }
}

TEST_P(Tld_Api, initForgets)
{
    const Ptr<TrackerTLD> used = fresh();
    run(*used, 1, 30);
    used->setLearning(false);
    const S other(CV_8UC1, Size(31, 37), 8);
    used->init(image(other.frame(0)).in(), other.box(0));
    EXPECT_FALSE(used->getLearning()) << "learning is the user's switch, not the object's";
    used->setLearning(true);
    const Ptr<TrackerTLD> unused = trackerOn(other, engine());
    expectSame(follow(*unused, other, engine(), 1, 20), follow(*used, other, engine(), 1, 20));
    EXPECT_EQ(textOf(*unused), textOf(*used));
    // Another size and kind of images too.
    const Mat large = texture(3, Size(301, 200), CV_8UC3);
    used->init(image(large).in(), Rect(20, 30, 50, 40));
    EXPECT_TRUE(advance(*used, engine(), large).located);
}

TEST_P(Tld_Api, learningCanBeOff)
{
    const TLDParams p = paramsOf("learning 0");
    const Ptr<TrackerTLD> off = fresh(p);
    EXPECT_FALSE(off->getLearning());
    const Mat positives = templatesOf(*off, true), negatives = templatesOf(*off, false);
    run(*off, 1, 20);
    EXPECT_TRUE(sameBits(positives, templatesOf(*off, true)));
    EXPECT_TRUE(sameBits(negatives, templatesOf(*off, false)));
    const Ptr<TLDDetector> trained = detector(p);
    EXPECT_TRUE(sameBits(detections(*trained, scene.frame(20)), advance(*off, engine(), scene.frame(20)).detections))
        << "ferns have changed";
    const Ptr<TrackerTLD> on = fresh(), switched = fresh(p);
    switched->setLearning(true);
    EXPECT_TRUE(switched->getLearning());
    expectSame(run(*on, 1, 20), run(*switched, 1, 20));
    int learned[2] = {0, 0};
    for (int t = 21; t < 60; ++t)
        for (int learning : {0, 1})
        {
            Mat result;
            (learning ? on : off)->updateAsync(image(scene.frame(t)).in(), result);
            learned[learning] += result.at<double>(0, TrackerTLD::RESULT_LEARNED) != 0.;
        }
    EXPECT_EQ(0, learned[0]);
    EXPECT_GT(learned[1], 10);
}

TEST_P(Tld_Api, asyncIsUpdate)
{
    const Ptr<TrackerTLD> a = fresh(), b = fresh();
    for (int t = 1; t < 60; ++t)
    {
        const Step s = advance(*a, engine(), scene.frame(t));
        Mat result;
        b->updateAsync(image(scene.frame(t)).in(), result);
        ASSERT_EQ(Size(TrackerTLD::RESULT_COLUMNS, 1), result.size());
        ASSERT_EQ(CV_64FC1, result.type());
        const double* r = result.ptr<double>();
        EXPECT_EQ(s.inside, Rect2d(r[0], r[1], r[2], r[3])) << "frame " << t;
        EXPECT_EQ(s.score, static_cast<float>(r[TrackerTLD::RESULT_SCORE]));
        EXPECT_EQ(s.state, r[TrackerTLD::RESULT_STATE]);
        EXPECT_EQ(s.located ? 1. : 0., r[TrackerTLD::RESULT_LOCATED]);
        if (r[TrackerTLD::RESULT_LEARNED] == 1.)
            EXPECT_EQ(TrackerTLD::TRACKING, s.state);
        else
            EXPECT_EQ(0., r[TrackerTLD::RESULT_LEARNED]);
        EXPECT_TRUE(sameBits(s.detections, look(*b).detections));
    }
}

TEST_P(Tld_Api, leastScoreOfAReply)
{
    const TLDParams p = paramsOf("minReplyScore 0.85");
    const std::vector<Step> all = run(*fresh(), 1, S::FRAMES), strict = run(*fresh(p), 1, S::FRAMES);
    int fewer = 0;
    for (size_t t = 0; t < all.size(); ++t)
    {
        EXPECT_EQ(all[t].inside, strict[t].inside);
        EXPECT_EQ(all[t].score, strict[t].score);
        EXPECT_EQ(all[t].located && all[t].score >= p.minReplyScore, strict[t].located) << "frame " << t + 1;
        fewer += all[t].located && !strict[t].located;
    }
    EXPECT_GT(fewer, 0);
}

//! A score that is equal to minReplyScore is enough, also where this float is above the double that the tracker has.
TEST_P(Tld_Api, theLeastScoreItself)
{
    const std::vector<Step> all = run(*fresh(), 1, S::FRAMES);
    std::set<float> tried;
    for (size_t t = 0; t < all.size() && tried.size() < 8; ++t)
    {
        if (!all[t].located || all[t].score == 1.f || !tried.insert(all[t].score).second)
            continue;
        TLDParams p;
        p.minReplyScore = all[t].score;
        EXPECT_TRUE(run(*fresh(p), 1, S::FRAMES)[t].located) << "frame " << t + 1 << ", score " << all[t].score;
        p.minReplyScore = std::nextafter(p.minReplyScore, 1.f);
        EXPECT_FALSE(run(*fresh(p), 1, S::FRAMES)[t].located) << "frame " << t + 1 << ", score " << all[t].score;
    }
    EXPECT_GE(tried.size(), 4u);
}

TEST_P(Tld_Api, resetGoesOnFromTheBox)
{
    const Ptr<TrackerTLD> tracker = fresh();
    run(*tracker, 1, 20);
    const Mat templates = templatesOf(*tracker, true);
    const Rect elsewhere(10, 100, 40, 34);
    tracker->resetTo(elsewhere);
    EXPECT_EQ(Rect2d(elsewhere), tracker->getBox());
    EXPECT_TRUE(sameBits(templates, templatesOf(*tracker, true)));
    run(*tracker, 20, 30);
    tracker->resetTo(scene.box(29));
    const std::vector<Step> steps = run(*tracker, 30, 34);
    for (int t = 30; t < 34; ++t)
        EXPECT_GT(overlap(scene.truth(t), steps[t - 30].inside), 0.5) << "frame " << t;
}

//! The detector of a tracker, saved after one frame, finds in the next frame what the tracker's own does.
TEST_P(Tld_Api, detectorFromATracker)
{
    const Ptr<TrackerTLD> tracker = fresh();
    run(*tracker, 1, 25);
    const Ptr<TLDDetector> copy = TLDDetector::create();
    readText(*copy, textOf(*tracker));
    EXPECT_FALSE(copy->empty());
    Mat templates;
    copy->getTemplates(true, templates);
    EXPECT_TRUE(sameBits(templatesOf(*tracker, true), templates));
    const Mat own = advance(*tracker, engine(), scene.frame(25)).detections;
    EXPECT_GT(own.at<double>(0, TLDDetector::COUNT_ACCEPTED), 0.);
    EXPECT_TRUE(sameBits(own, detections(*copy, scene.frame(25))));
}

TEST_P(Tld_Api, trackerFromADetector)
{
    const Ptr<TLDDetector> trained = detector();
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    readText(*tracker, textOf(*trained));
    EXPECT_EQ(TrackerTLD::LOST, tracker->getState());
    const std::vector<Step> steps = run(*tracker, 0, 10);
    EXPECT_TRUE(sameBits(detections(*trained, scene.frame(0)), steps[0].detections));
    for (int t = 3; t < 10; ++t)
        EXPECT_GT(overlap(scene.truth(t), steps[t].inside), 0.5) << "frame " << t;
}

//! The boxes of a table that the detector accepts. Its counts, its rows and what convertDetections() gives agree.
std::vector<Rect> acceptedOf(const Mat& table)
{
    std::vector<Rect> accepted, all;
    std::vector<float> scores, allScores;
    EXPECT_EQ(Size(8, 1 + TLDParams().maxDetections), table.size());
    EXPECT_EQ(CV_64FC1, table.type());
    if (testing::Test::HasFailure())
        return accepted;
    const double* const counts = table.ptr<double>();
    EXPECT_GE(counts[TLDDetector::COUNT_WINDOWS], counts[TLDDetector::COUNT_WITH_VARIANCE]);
    EXPECT_GE(counts[TLDDetector::COUNT_WITH_VARIANCE], counts[TLDDetector::COUNT_PASSED]);
    EXPECT_GE(counts[TLDDetector::COUNT_PASSED], counts[TLDDetector::COUNT_ACCEPTED]);
    EXPECT_EQ(std::min(counts[TLDDetector::COUNT_PASSED], 100.), counts[TLDDetector::COUNT_STORED]);
    TLDDetector::convertDetections(table, accepted, scores);
    TLDDetector::convertDetections(table, all, allScores, true);
    EXPECT_EQ(counts[TLDDetector::COUNT_ACCEPTED], static_cast<double>(accepted.size()));
    EXPECT_EQ(accepted.size(), scores.size());
    EXPECT_EQ(counts[TLDDetector::COUNT_STORED], static_cast<double>(all.size()));
    size_t a = 0;
    for (int i = 1; i < table.rows && !testing::Test::HasFailure(); ++i)
    {
        const double* r = table.ptr<double>(i);
        if (i > counts[TLDDetector::COUNT_STORED])
        {
            EXPECT_EQ(0., cv::norm(table.row(i), NORM_INF)) << "row " << i << " beyond the last";
            continue;
        }
        EXPECT_EQ(Rect(int(r[0]), int(r[1]), int(r[2]), int(r[3])), all[i - 1]);
        EXPECT_EQ(float(r[TLDDetector::DETECTION_CONSERVATIVE]), allScores[i - 1]);
        if (r[TLDDetector::DETECTION_ACCEPTED] == 1.)
            EXPECT_EQ(all[i - 1], accepted[a++]);
        else
            EXPECT_EQ(0., r[TLDDetector::DETECTION_ACCEPTED]);
    }
    return accepted;
}

/** Whether a window is similar enough to the object depends on the scene, above all where the object lies between
windows. In the frame that was learned one is in all of 400 scenes that OpenCV 4.14 draws, three frames later in 255.
With OpenCV 5.0 it is in all of 100 scenes and in 81. */
TEST_P(Tld_Api, detectorsTable)
{
    const int scenes = 40;
    int inFirst = 0, later = 0;
    for (int seed = 1; seed <= scenes && !HasFailure(); ++seed)
    {
        SCOPED_TRACE(seed);
        const S drawn(CV_8UC1, Size(40, 34), seed);
        const Ptr<TLDDetector> d = TLDDetector::create();
        d->init(image(drawn.frame(0)).in(), drawn.box(0));
        for (const int t : {0, 3})
        {
            double best = 0.;
            for (const Rect& box : acceptedOf(detections(*d, drawn.frame(t))))
                best = std::max(best, overlap(drawn.truth(t), box));
            (t == 0 ? inFirst : later) += best > 0.6;
        }
    }
    EXPECT_GE(inFirst, scenes * 3 / 5);
    EXPECT_GE(later, scenes * 2 / 5);
}

TEST_P(Tld_Api, detectorLearnsAndForgets)
{
    const Ptr<TLDDetector> d = detector();
    Mat before, after, table = detections(*d, scene.frame(1));
    d->getTemplates(true, before);
    d->learn(image(scene.frame(30)).in(), scene.box(30));
    d->getTemplates(true, after);
    EXPECT_GE(after.rows, before.rows);
    EXPECT_TRUE(sameBits(before, after.rowRange(0, before.rows))) << "the oldest one stays on top";
    EXPECT_FALSE(sameBits(table, detections(*d, scene.frame(1)))) << "nothing was learned";
    d->clear();
    EXPECT_TRUE(d->empty());
    EXPECT_THROW(detections(*d, scene.frame(1)), cv::Exception);
    d->init(image(scene.frame(0)).in(), scene.box(0));
    EXPECT_TRUE(sameBits(table, detections(*d, scene.frame(1))));
}

//! Detecting changes nothing.
TEST_P(Tld_Api, detectingIsConstant)
{
    const Ptr<TLDDetector> d = detector();
    const std::string before = textOf(*d);
    const Mat first = detections(*d, scene.frame(7));
    detections(*d, scene.frame(60));
    EXPECT_TRUE(sameBits(first, detections(*d, scene.frame(7))));
    EXPECT_EQ(before, textOf(*d));
}

TEST_P(Tld_Api, mirrorLearnsTheOtherSide)
{
    const Ptr<TLDDetector> plain = detector(), both = detector(paramsOf("mirror 1"));
    Mat mirrored;
    flip(scene.frame(0), mirrored, 1);
    const Rect b = scene.box(0), box(mirrored.cols - b.x - b.width, b.y, b.width, b.height);
    const auto best = [&](TLDDetector& d)
    {
        const Mat table = detections(d, mirrored);
        double most = 0.;
        for (int i = 1; i <= table.at<double>(0, TLDDetector::COUNT_STORED); ++i)
        {
            const double* r = table.ptr<double>(i);
            if (overlap(box, Rect2d(r[0], r[1], r[2], r[3])) > 0.7)
                most = std::max(most, r[TLDDetector::DETECTION_POSTERIOR]);
        }
        return most;
    };
    EXPECT_GT(best(*both), best(*plain) + 0.2);
}

CUDATRACKING_ON_ENGINES(Tld_Api);

}} // namespace opencv_test
