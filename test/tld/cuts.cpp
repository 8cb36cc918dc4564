// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: the oracle serves the videos by construction and the real ones.
// Camera cuts: the measure against a plain oracle, what a cut does to an object, videos by construction that are cut to another
// scene and back, and real sequences that are cut to one another.
#include "../common/graphs.hpp"
#include "sequence.hpp"
#include "../../src/tld/core.hpp"
#include <array>

namespace opencv_test { namespace {

using namespace tld;
using cv::cuda::GpuMat;
using cv::cuda::Stream;

namespace core = cv::cuda::tld;

// --- the measure -----------------------------------------------------------------------------------------------------

//! Column or row of a sample of an image.
int placeOf(int size, int cell, int sample)
{
    const int first = size * cell / 4, end = size * (cell + 1) / 4;
    return first + sample * (end - first) / 64;
}

//! Returns the samples of a gray image, 256 x 256.
Mat samplesOf(const Mat& image)
{
    Mat samples(256, 256, CV_8UC1);
    for (int y = 0; y < 256; ++y)
        for (int x = 0; x < 256; ++x)
            samples.at<uchar>(y, x) =
                image.at<uchar>(placeOf(image.rows, y / 64, y % 64), placeOf(image.cols, x / 64, x % 64));
    return samples;
}

//! Returns the difference of two gray images. Moves the samples of one or the other to shifted bins.
double oracleDifference(const Mat& a, const Mat& b)
{
    const Mat samples[] = {samplesOf(a), samplesOf(b)};
    std::array<std::array<std::array<int, 32>, 16>, 2> histograms = {};
    for (int k = 0; k < 2; ++k)
        for (int y = 0; y < 256; ++y)
            for (int x = 0; x < 256; ++x)
                ++histograms[k][y / 64 * 4 + x / 64][samples[k].at<uchar>(y, x) / 8];
    double least = 1.;
    for (int move = 0; move < 34; ++move)
    {
        const int shifts[] = {move < 17 ? move - 8 : 0, move < 17 ? 0 : move - 25};
        int sum = 0;
        for (int cell = 0; cell < 16; ++cell)
        {
            std::array<int, 32> count = {};
            for (int k = 0; k < 2; ++k)
                for (int bin = 0; bin < 32; ++bin)
                    count[std::min(31, std::max(0, bin + shifts[k]))] += (1 - 2 * k) * histograms[k][cell][bin];
            for (const int c : count)
                sum += std::abs(c);
        }
        least = std::min(least, sum / (2. * 256 * 256));
    }
    Mat means[2], centred[2];
    for (int k = 0; k < 2; ++k)
    {
        samples[k].convertTo(means[k], CV_64F);
        resize(means[k], means[k], Size(8, 8), 0, 0, INTER_AREA);
        centred[k] = means[k] - cv::mean(means[k])[0];
    }
    const double norms = cv::norm(centred[0]) * cv::norm(centred[1]);
    return least + 0.25 * (1. - (norms > 1e-9 ? centred[0].dot(centred[1]) / norms : 0.));
}

const Rect BOX(1, 2, 13, 14);

class Tld_CutsOf : public OnEngine
{
protected:
    //! Whether a tracker with this threshold says that the second image shows another scene.
    bool isCut(const Mat& first, const Mat& second, double threshold) const
    {
        TLDParams p = flowOnly();
        p.cutFrames = 10;
        p.cutThreshold = threshold;
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(p);
        tracker->init(Image(engine(), first).in(), BOX);
        return advance(*tracker, engine(), second).event == TrackerTLD::SCENE_CHANGED;
    }
};
CUDATRACKING_ON_ENGINES(Tld_CutsOf);

TEST_P(Tld_CutsOf, differenceIsThatOfTheOracle)
{
    const Size sizes[] = {Size(16, 16), Size(17, 33), Size(63, 64), Size(257, 255), Size(320, 240)};
    RNG rng(3);
    for (size_t i = 0; i < 30; ++i)
    {
        const Size size = sizes[i % 5];
        Mat first = texture(i, size, CV_8UC1, 5);
        Mat second = i % 3 == 0 ? texture(i + 100, size, CV_8UC1, 5) : first.clone();
        if (i % 3 == 1)
            second.convertTo(second, -1, rng.uniform(0.6, 1.5), rng.uniform(-60, 60));
        if (i % 3 == 2)
            texture(i + 200, size / 2, CV_8UC1, 5).copyTo(second(Rect(Point(), size / 2)));
        if (i % 10 == 9)
            second = Mat(size, CV_8UC1, Scalar(rng.uniform(0, 256)));
        const double difference = oracleDifference(first, second);
        SCOPED_TRACE(cv::format("%zu: %d x %d, difference %.17g", i, size.width, size.height, difference));
        ASSERT_GT(difference, 0.);
        EXPECT_FALSE(isCut(first, second, difference + 1e-9));
        EXPECT_TRUE(isCut(first, second, difference - 1e-9));
        if (cv::norm(second(BOX) != second.at<uchar>(BOX.tl())) == 0.)
            continue; // one gray value is no object
        EXPECT_FALSE(isCut(second, first, difference + 1e-9)) << "the order does not matter";
        EXPECT_TRUE(isCut(second, first, difference - 1e-9)) << "the order does not matter";
    }
}

TEST_P(Tld_CutsOf, equalImagesDoNotDiffer)
{
    for (int i = 0; i < 60; ++i)
    {
        const Mat image = texture(i, Size(40 + i, 30 + 2 * i), CV_8UC1, 2 + i % 9);
        EXPECT_FALSE(isCut(image, image, 0.)) << i;
    }
}

// --- the steps by themselves -----------------------------------------------------------------------------------------

core::Settings settingsOfTests()
{
    core::Settings s = {};
    s.jumpMargin = 0.1;
    s.cutFrames = 3;
    s.cutThreshold = 0.4;
    return s;
}

core::ObjectState stateOnABox()
{
    core::ObjectState s = {};
    s.alive = s.valid = 1;
    s.box = {100, 80, 40, 30};
    s.score = s.similarity = 0.8;
    s.validThreshold = 0.7;
    s.positives = s.negatives = 10;
    return s;
}

const double SAME = 0.4, ANOTHER = 0.41;

//! Runs a frame after which flow has moved the box. @return the event.
int step(core::ObjectState& s, double difference, bool* begins = nullptr)
{
    const core::ObjectState before = s;
    core::Motion motion = {};
    motion.kept = 50;
    motion.dx = 2.;
    motion.scale = 1.;
    core::Settings settings = settingsOfTests();
    settings.maxFlowError = 10.;
    core::endFlow(s, core::beginFrame(s), motion, settings, 320, 240);
    const bool cut = core::changeScene(s, before, difference, settings);
    if (begins)
        *begins = cut;
    return s.event;
}

//! Returns similarities that give this score.
core::Similarity scoring(double score) { return {score, score, 1. - score, 0}; }

TEST(Tld_Cuts, keepsTheObjectAside)
{
    const core::Settings settings = settingsOfTests();
    core::ObjectState s = stateOnABox();
    bool begins = false;
    EXPECT_EQ(TrackerTLD::FLOWED, step(s, SAME, &begins));
    EXPECT_FALSE(begins);
    EXPECT_EQ(102., s.box.x);
    EXPECT_EQ(TrackerTLD::SCENE_CHANGED, step(s, ANOTHER, &begins));
    EXPECT_TRUE(begins);
    for (int frame = 2; frame <= settings.cutFrames; ++frame)
    {
        EXPECT_EQ(0, s.alive + s.valid + s.retries);
        EXPECT_EQ(TrackerTLD::SCENE_CHANGED, step(s, ANOTHER, &begins));
        EXPECT_FALSE(begins);
    }
    core::ObjectState back = s;
    EXPECT_EQ(TrackerTLD::RESUMED, step(back, SAME));
    EXPECT_EQ(102., back.box.x) << "no flow from the other scene";
    EXPECT_EQ(1, back.valid);
    EXPECT_EQ(0, back.cutAge);
    EXPECT_EQ(TrackerTLD::FLOWED, step(back, SAME));
    EXPECT_EQ(TrackerTLD::NO_EVENT, step(s, ANOTHER)) << "the other scene is the object's from now on";
    EXPECT_EQ(0, s.alive + s.cutAge);
}

TEST(Tld_Cuts, aLostObjectIsNotResumed)
{
    core::ObjectState s = stateOnABox();
    s.alive = s.valid = 0;
    EXPECT_EQ(TrackerTLD::SCENE_CHANGED, step(s, ANOTHER));
    EXPECT_EQ(TrackerTLD::NO_EVENT, step(s, SAME));
    EXPECT_EQ(0, s.alive);
}

TEST(Tld_Cuts, theOldBoxIsVerified)
{
    const core::Settings settings = settingsOfTests();
    for (const double old : {0.9, 0.6})
        for (const double score : {0.75, 0.69, 0.51, 0.49})
        {
            core::ObjectState s = stateOnABox();
            s.similarity = old;
            s.valid = old > 0.7;
            step(s, ANOTHER);
            step(s, SAME);
            core::updateSimilarity(s, scoring(score), settings);
            EXPECT_EQ(score > 0.7 || score > old - 0.1 ? 1 : 0, s.alive) << score << " after " << old;
            EXPECT_EQ(s.alive ? TrackerTLD::RESUMED : TrackerTLD::NO_EVENT, s.event);
        }
    core::ObjectState s = stateOnABox();
    step(s, SAME);
    core::updateSimilarity(s, scoring(0.3), settings);
    EXPECT_EQ(1, s.alive) << "flow is not verified";
}

TEST(Tld_Cuts, anotherSceneNeedsAValidCluster)
{
    const core::Settings settings = settingsOfTests();
    core::ObjectState s = stateOnABox();
    step(s, ANOTHER);
    const core::Cluster weak = {{200, 150, 40, 30}, 0.7, 0}, strong = {{200, 150, 40, 30}, 0.71, 0},
                        both[] = {strong, weak};
    const auto integrated = [&](core::ObjectState state, const core::Cluster* clusters, int count)
    {
        const core::Comparison c = core::compareClusters(state, clusters, count, settings);
        core::integrate(state, c, clusters, count, {}, settings);
        return state;
    };
    EXPECT_EQ(0, integrated(s, &weak, 1).alive);
    EXPECT_EQ(TrackerTLD::SCENE_CHANGED, integrated(s, &weak, 1).event);
    EXPECT_EQ(0, integrated(s, both, 2).alive);
    const core::ObjectState found = integrated(s, &strong, 1);
    EXPECT_EQ(TrackerTLD::FOUND_AGAIN, found.event);
    EXPECT_EQ(0, found.cutAge);
    EXPECT_EQ(0., core::similarityValue(s, scoring(0.7))) << "boxes of a detector, too";
    EXPECT_GT(core::similarityValue(s, scoring(0.72)), 0.7);
    s.cutAge = 0;
    EXPECT_EQ(1, integrated(s, &weak, 1).alive);
    EXPECT_GT(core::similarityValue(s, scoring(0.7)), 0.6);
}

// --- videos ----------------------------------------------------------------------------------------------------------

//! Returns a darker texture that is brighter at the right: a scene of another layout.
Mat otherScene(uint64 seed, Size size)
{
    Mat image = texture(seed, size);
    for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
            image.at<uchar>(y, x) = saturate_cast<uchar>(image.at<uchar>(y, x) / 3 + 160 * x / size.width);
    return image;
}

//! The standard scene, another scene from one frame to another one, and then the standard scene where it was left, or where it is.
struct CutScene
{
    enum
    {
        BEGINS = 15,
        FOREIGN = 30, //!< frames of the other scene
        FRAMES = 65
    };
    explicit CutScene(uint64 seed, bool goesOn = false, int foreign = FOREIGN)
        : scene(CV_8UC1, Size(40, 34), seed),
          other(otherScene(seed + 5000, Size(320, 240))),
          goesOn_(goesOn),
          foreign_(foreign)
    {}
    bool isForeign(int t) const { return t >= BEGINS && t < BEGINS + foreign_; }
    Mat frame(int t) const
    {
        if (!isForeign(t))
            return scene.frame(time(t));
        return other(Rect(t % 40, (t * 3) % 40, 240, 180)).clone(); // the camera moves
    }
    Rect box(int t) const { return scene.box(time(t)); }
    Rect2d truth(int t) const { return scene.truth(time(t)); }

    const StandardScene scene;
    const Mat other;

private:
    //! The standard scene covers its object from frame HIDES on, so the frames before go back and forth.
    int time(int t) const
    {
        if (t >= BEGINS + foreign_ && !goesOn_)
            t -= foreign_;
        const int period = 2 * (StandardScene::HIDES - 1);
        return std::min(t % period, period - t % period);
    }
    const bool goesOn_;
    const int foreign_;
};

TLDParams withCuts(int frames = 60)
{
    TLDParams p;
    p.cutFrames = frames;
    return p;
}

TEST_P(Tld_CutsOf, awayAndBack)
{
    const int seeds = 20;
    int answered[2] = {}, right[2] = {}, resumed = 0, atOnce = 0;
    for (int seed = 1; seed <= seeds; ++seed)
        for (const bool detects : {false, true})
        {
            SCOPED_TRACE(cv::format("seed %d", seed));
            const CutScene scene(seed);
            TLDParams p = withCuts(detects ? 60 : 0);
            p.seed = seed;
            const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), p);
            for (int t = 1; t < CutScene::FRAMES; ++t)
            {
                const Step s = advance(*tracker, engine(), scene.frame(t));
                if (scene.isForeign(t))
                    answered[detects] += s.located;
                else if (t > CutScene::BEGINS)
                    right[detects] += s.located && overlap(s.inside, scene.truth(t)) > 0.5;
                if (!detects)
                {
                    ASSERT_LT(s.event, TrackerTLD::SCENE_CHANGED);
                    continue;
                }
                EXPECT_EQ(scene.isForeign(t), s.event == TrackerTLD::SCENE_CHANGED) << "frame " << t;
                resumed += s.event == TrackerTLD::RESUMED;
                atOnce += s.located && t == CutScene::BEGINS + CutScene::FOREIGN;
            }
        }
    const int all = seeds * CutScene::FOREIGN,
              after = seeds * (CutScene::FRAMES - CutScene::BEGINS - CutScene::FOREIGN);
    std::cout << "answered in the other scene: " << answered[0] << " of " << all << " frames without cutFrames, "
              << answered[1] << " with it; right afterwards: " << right[0] << " and " << right[1] << " of " << after
              << std::endl;
    EXPECT_EQ(0, answered[1]);
    EXPECT_GT(resumed, 0);
    EXPECT_EQ(seeds, atOnce);
    EXPECT_EQ(after, right[1]);
}

//! The object has moved while the camera was away: it is found where it is.
TEST_P(Tld_CutsOf, backElsewhere)
{
    int right = 0, all = 0;
    for (int seed = 1; seed <= 10; ++seed)
    {
        const CutScene scene(seed, true);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), withCuts());
        for (int t = 1; t < CutScene::FRAMES; ++t)
        {
            const Step s = advance(*tracker, engine(), scene.frame(t));
            EXPECT_FALSE(s.located && scene.isForeign(t)) << "seed " << seed << ", frame " << t;
            if (t < CutScene::BEGINS + CutScene::FOREIGN + 3)
                continue;
            right += s.located && overlap(s.inside, scene.truth(t)) > 0.5;
            ++all;
        }
    }
    std::cout << right << " of " << all << " frames right afterwards" << std::endl;
    EXPECT_GE(right, 0.95 * all);
}

TEST_P(Tld_CutsOf, endsAfterSomeFrames)
{
    const CutScene scene(1);
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), withCuts(7));
    int changed = 0, last = 0;
    for (int t = 1; t < CutScene::BEGINS + CutScene::FOREIGN; ++t)
        if (advance(*tracker, engine(), scene.frame(t)).event == TrackerTLD::SCENE_CHANGED)
        {
            ++changed;
            last = t;
        }
    EXPECT_EQ(7, changed);
    EXPECT_EQ(CutScene::BEGINS + 6, last);
    for (int t = CutScene::BEGINS + CutScene::FOREIGN; t < CutScene::FRAMES; ++t)
        EXPECT_NE(TrackerTLD::RESUMED, advance(*tracker, engine(), scene.frame(t)).event) << "frame " << t;
    EXPECT_EQ(TrackerTLD::TRACKING, tracker->getState()) << "found by its appearance";
}

//! A flash of one frame costs one frame.
TEST_P(Tld_CutsOf, flash)
{
    for (int seed = 1; seed <= 5; ++seed)
    {
        const CutScene scene(seed, false, 1);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), withCuts());
        for (int t = 1; t < 30; ++t)
        {
            Mat frame = scene.frame(t);
            if (scene.isForeign(t))
                frame.setTo(Scalar::all(255));
            const Step s = advance(*tracker, engine(), frame);
            EXPECT_EQ(!scene.isForeign(t), s.located) << "frame " << t;
            EXPECT_EQ(t == CutScene::BEGINS + 1, s.event == TrackerTLD::RESUMED) << "frame " << t;
            EXPECT_GT(overlap(s.inside, scene.truth(t)), scene.isForeign(t) ? -1. : 0.7) << "frame " << t;
        }
    }
}

//! A frame that is brighter or darker by 8 bins, so that many of its values are clipped, is no cut, nor is the frame after it.
TEST_P(Tld_CutsOf, clippedFrames)
{
    for (int seed = 1; seed <= 5; ++seed)
        for (const bool bright : {false, true})
        {
            const CutScene scene(seed);
            const auto frameAt = [&](int t)
            {
                Mat frame;
                scene.frame(t).convertTo(frame, -1, 0.5, bright ? 140. : -20.);
                if (t == 8)
                    frame.convertTo(frame, -1, 1., bright ? 64. : -64.);
                return frame;
            };
            const Ptr<TrackerTLD> tracker = TrackerTLD::create(withCuts());
            tracker->init(Image(engine(), frameAt(0)).in(), scene.box(0));
            for (int t = 1; t < CutScene::BEGINS; ++t)
            {
                const Step s = advance(*tracker, engine(), frameAt(t));
                EXPECT_LT(s.event, TrackerTLD::SCENE_CHANGED) << "bright " << bright << ", frame " << t;
                EXPECT_TRUE(t < 12 || overlap(s.inside, scene.truth(t)) > 0.5)
                    << "bright " << bright << ", frame " << t;
            }
        }
}

//! Saved in the other scene and before and after it, alone and with others; read on the other backend too.
TEST_P(Tld_CutsOf, savedWhileAway)
{
    const CutScene scene(4);
    for (const int saved : {14, 15, 16, 30, 44, 45})
    {
        SCOPED_TRACE(cv::format("saved after frame %d", saved));
        const Ptr<TrackerTLD> whole = trackerOn(scene, engine(), withCuts()), second = TrackerTLD::create();
        const Ptr<MultiTrackerTLD> several = MultiTrackerTLD::create(withCuts()), read = MultiTrackerTLD::create();
        several->add(Image(engine(), scene.frame(0)).in(), scene.box(0));
        Mat expected, actual;
        for (int t = 1; t < 50; ++t)
        {
            const Mat frame = scene.frame(t);
            const Image image(engine(), frame);
            const Step step = advance(*whole, engine(), frame);
            several->update(image.in(), expected);
            if (t > saved)
            {
                ASSERT_TRUE(same(step, advance(*second, Engine::CPU, frame))) << "frame " << t;
                read->update(frame, actual);
                ASSERT_TRUE(sameBits(expected, actual)) << "frame " << t;
            }
            if (t == 20) // an object of the other scene
            {
                several->add(image.in(), Rect(100, 60, 40, 50));
                if (saved < t)
                    read->add(frame, Rect(100, 60, 40, 50));
            }
            if (t != saved)
                continue;
            const std::string text = textOf(*whole);
            readText(*second, text);
            EXPECT_EQ(text, textOf(*second));
            readText(*read, textOf(*several));
            EXPECT_EQ(textOf(*several), textOf(*read));
            for (const char* name : {"cutAge: ", "cutSimilarity: ", "scene: [ ", "cutBox: [ ", "sceneSums: [ "})
            {
                std::string wrong = text;
                const size_t at = wrong.find(name);
                if (!scene.isForeign(t) && std::string(name) != "cutAge: ")
                {
                    EXPECT_EQ(std::string::npos, at) << name;
                    continue;
                }
                ASSERT_LT(at, wrong.size()) << name;
                wrong.insert(at + std::strlen(name), "7000000");
                EXPECT_THROW(readText(*TrackerTLD::create(), wrong), cv::Exception) << name;
            }
        }
    }
}

//! Objects of a MultiTrackerTLD as trackers of their own; one begins in the other scene, to which the camera comes back.
TEST_P(Tld_CutsOf, severalObjects)
{
    Composite scene(Size(240, 180), {Size(40, 34), Size(30, 30)}, CV_8UC1, 3);
    std::vector<Placement> at(2);
    at[0].centre = Point2d(60, 60);
    at[1].centre = Point2d(170, 110);
    Composite other(Size(240, 180), {Size(36, 40)}, CV_8UC1, 60);
    other.background = otherScene(61, Size(240, 180));
    Placement there;
    there.centre = Point2d(90, 100);
    const Ptr<MultiTrackerTLD> several = MultiTrackerTLD::create(withCuts());
    const Ptr<TrackerTLD> first = TrackerTLD::create(withCuts());
    for (int i = 0; i < 2; ++i)
        several->add(Image(engine(), scene.frame(at)).in(), scene.box(at[i], i));
    first->init(Image(engine(), scene.frame(at)).in(), scene.box(at[0], 0));
    Mat rows;
    const auto update = [&](const Mat& frame)
    {
        Mat row;
        several->update(Image(engine(), frame).in(), rows);
        first->updateAsync(Image(engine(), frame).in(), row);
        EXPECT_TRUE(sameBits(row, rows.row(0)));
    };
    const auto eventOf = [&](int i) { return cvRound(rows.at<double>(i, TrackerTLD::RESULT_EVENT)); };
    for (int t = 0; t < 4; ++t)
        update(scene.frame(at));
    for (int t = 0; t < 6; ++t)
    {
        update(other.frame(there));
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(TrackerTLD::SCENE_CHANGED, eventOf(i));
        if (t == 2)
            several->add(Image(engine(), other.frame(there)).in(), other.box(there));
        EXPECT_TRUE(t <= 2 || rows.at<double>(2, TrackerTLD::RESULT_LOCATED) == 1.);
    }
    for (int round = 0; round < 3; ++round)
    {
        update(scene.frame(at));
        EXPECT_EQ(TrackerTLD::RESUMED, eventOf(0));
        EXPECT_EQ(TrackerTLD::RESUMED, eventOf(1));
        EXPECT_EQ(TrackerTLD::SCENE_CHANGED, eventOf(2));
        update(other.frame(there));
        EXPECT_EQ(TrackerTLD::SCENE_CHANGED, eventOf(0));
        EXPECT_EQ(TrackerTLD::SCENE_CHANGED, eventOf(1));
        EXPECT_EQ(TrackerTLD::RESUMED, eventOf(2));
    }
}

// --- the two backends ------------------------------------------------------------------------------------------------

//! Videos of two scenes in turn, with brightness that changes, flashes and pauses.
Mat cutFrame(const CutScene& scene, RNG& rng, int& t)
{
    switch (rng.uniform(0, 12))
    {
    case 0:
        return Mat(180, 240, CV_8UC1, Scalar(rng.uniform(0, 256)));
    case 1:
    {
        Mat brighter;
        scene.frame(t).convertTo(brighter, -1, rng.uniform(0.6, 1.4), rng.uniform(-40, 40));
        return brighter;
    }
    case 2:
        t = rng.uniform(0, int(CutScene::FRAMES));
        break;
    default:
        t = (t + 1) % CutScene::FRAMES;
    }
    return scene.frame(t);
}

TEST(Tld_Cuda, cutsAreDetectedAlike)
{
    requireCuda();
    int events[12] = {};
    for (int seed = 1; seed <= 12; ++seed)
    {
        SCOPED_TRACE(seed);
        const CutScene scene(seed, seed % 2);
        TLDParams p = withCuts(seed % 3 ? 5 * seed : 3);
        p.seed = seed;
        p.cutThreshold = seed % 4 ? 0.42 : 0.1;
        p.findByBoxes = p.correctByBoxes = seed % 5 == 0;
        Ptr<MultiTrackerTLD> cpu = MultiTrackerTLD::create(p), gpu = MultiTrackerTLD::create(p);
        RNG rng(seed);
        Stream stream;
        int t = 0;
        cpu->add(scene.frame(0), scene.box(0));
        gpu->add(GpuMat(scene.frame(0)), scene.box(0));
        for (int frame = 1; frame < 60; ++frame)
        {
            const Mat image = cutFrame(scene, rng, t);
            Mat expected, actual;
            if (p.findByBoxes && frame % 3 == 0)
            {
                const std::vector<Rect> boxes = {scene.box(t), Rect(5, 5, 30, 30)};
                cpu->update(image, boxes, expected);
                gpu->update(GpuMat(image), boxes, actual, stream);
            }
            else
            {
                cpu->update(image, expected);
                gpu->update(GpuMat(image), actual, stream);
            }
            ASSERT_TRUE(sameBits(expected, actual)) << "frame " << frame;
            ++events[cvRound(expected.at<double>(0, TrackerTLD::RESULT_EVENT))];
            if (cpu->getIds().size() == 1 && frame >= 20 &&
                cv::norm(image, NORM_INF) != cv::norm(image(Rect(0, 0, 1, 1)), NORM_INF))
            {
                cpu->add(image, Rect(60, 60, 40, 40));
                gpu->add(GpuMat(image), Rect(60, 60, 40, 40));
            }
            if (frame % 15 == 0)
            {
                const std::string text = textOf(*cpu);
                ASSERT_EQ(text, textOf(*gpu)) << "frame " << frame;
                gpu = MultiTrackerTLD::create();
                readText(*gpu, text);
            }
        }
    }
    for (const int event :
         {TrackerTLD::FLOWED, TrackerTLD::FOUND_AGAIN, TrackerTLD::SCENE_CHANGED, TrackerTLD::RESUMED})
        EXPECT_GT(events[event], 5) << "event " << event;
}

#ifdef HAVE_CUDA

TEST(Tld_Cuda, cutsInGraphs)
{
    requireCuda();
    const CutScene scene(2);
    const Ptr<TrackerTLD> cpu = trackerOn(scene, Engine::CPU, withCuts()), gpu = TrackerTLD::create(withCuts());
    GpuMat input(scene.frame(0)), row(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    gpu->init(input, scene.box(0));
    Stream stream;
    Graph graph(stream);
    gpu->updateAsync(input, row, stream);
    graph.end();
    for (int t = 1; t < CutScene::FRAMES; ++t)
    {
        Mat expected;
        cpu->updateAsync(scene.frame(t), expected);
        input.upload(scene.frame(t), stream);
        if (t % 5)
            graph.launch();
        else
            gpu->updateAsync(input, row, stream);
        stream.waitForCompletion();
        ASSERT_TRUE(sameBits(expected, Mat(row))) << "frame " << t;
        ASSERT_EQ(scene.isForeign(t), expected.at<double>(0, TrackerTLD::RESULT_EVENT) == TrackerTLD::SCENE_CHANGED);
    }
}

#endif // HAVE_CUDA

TEST(Tld_CudaSanitize, cuts)
{
    requireCuda();
    const CutScene scene(1);
    TLDParams p = flowOnly();
    p.scales = 2;
    p.cutFrames = 10;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CUDA, p);
    for (int t = 13; t < 17; ++t)
        EXPECT_EQ(scene.isForeign(t),
                  advance(*tracker, Engine::CUDA, scene.frame(t)).event == TrackerTLD::SCENE_CHANGED);
}

// --- real sequences --------------------------------------------------------------------------------------------------

const char* const SEQUENCES[] = {"car", "david", "jumping", "pedestrian1", "pedestrian2", "pedestrian3"};

std::vector<Sequence> requireSequences(int limit)
{
    std::vector<Sequence> all;
    for (const char* name : SEQUENCES)
        all.push_back(requireSequence(name, limit));
    return all;
}

//! Returns gray frames of the size of another sequence.
std::vector<Mat> grayOf(const Sequence& s, Size size)
{
    std::vector<Mat> gray(s.frames.size());
    for (size_t t = 0; t < gray.size(); ++t)
    {
        cvtColor(s.frames[t], gray[t], COLOR_BGR2GRAY);
        if (gray[t].size() != size)
            resize(gray[t], gray[t], size, 0, 0, INTER_AREA);
    }
    return gray;
}

TEST(Tld_CutSequences, consecutiveFramesAndCuts)
{
    const double threshold = TLDParams().cutThreshold;
    std::vector<std::vector<Mat>> all;
    for (const Sequence& s : requireSequences(INT_MAX))
        all.push_back(grayOf(s, Size(320, 240)));
    int frames = 0, wrong = 0, cuts = 0, found = 0;
    double smallest = 1.5;
    RNG rng(1);
    for (const std::vector<Mat>& one : all)
    {
        double largest = 0.;
        for (size_t t = 1; t < one.size(); ++t, ++frames)
        {
            const double difference = oracleDifference(one[t], one[t - 1]);
            wrong += difference > threshold;
            largest = std::max(largest, difference);
        }
        std::cout << "largest difference of consecutive frames " << largest << std::endl;
        for (const std::vector<Mat>& other : all)
            for (int i = 0; &one != &other && i < 40; ++i, ++cuts)
            {
                const double difference =
                    oracleDifference(one[rng.uniform(0, int(one.size()))], other[rng.uniform(0, int(other.size()))]);
                found += difference > threshold;
                smallest = std::min(smallest, difference);
            }
    }
    std::cout << wrong << " of " << frames << " consecutive frames, " << found << " of " << cuts
              << " cuts, smallest difference " << smallest << std::endl;
    EXPECT_EQ(0, wrong);
    EXPECT_GT(found, 0.99 * cuts);
}

/** Each sequence is cut after 40 frames to the next one for 30 frames, and goes on where it was left, or as if it had gone on. Where it was
left, cutFrames finds the object in 0.4 +- 0.3 frames of 30 more (40 seeds), so that with fewer seeds it may be a little less. */
TEST(Tld_CutSequences, awayAndBack)
{
    const std::vector<Sequence> all = requireSequences(130);
    const int begins = 40, foreign = 30, after = 30, seeds = 15;
    for (const bool goesOn : {false, true})
    {
        int frames = 0, answered[2] = {}, visible = 0, right[2] = {};
        for (size_t i = 0; i < all.size(); ++i)
            for (int seed = 1; seed <= seeds; ++seed)
                for (const bool detects : {false, true})
                {
                    const Sequence &own = all[i], &strange = all[(i + 1) % all.size()];
                    TLDParams p = withCuts(detects ? 60 : 0);
                    p.seed = seed;
                    const Ptr<TrackerTLD> tracker = TrackerTLD::create(p);
                    tracker->init(own.frames[0], own.first);
                    Rect box;
                    for (int t = 1; t < begins; ++t)
                        tracker->update(own.frames[t], box);
                    for (int t = 0; t < foreign; ++t)
                    {
                        Mat frame = strange.frames[t + seed];
                        if (frame.size() != own.frames[0].size())
                            resize(frame, frame, own.frames[0].size(), 0, 0, INTER_AREA);
                        answered[detects] += tracker->update(frame, box);
                        frames += detects;
                    }
                    const int again = goesOn ? begins + foreign : begins;
                    for (int t = again; t < again + after; ++t)
                    {
                        const bool located = tracker->update(own.frames[t], box);
                        right[detects] += located && overlap(box, own.truth[t]) > 0.25;
                        visible += detects && own.truth[t].area() > 0;
                    }
                }
        std::cout << (goesOn ? "goes on" : "goes on where it was left") << ": answered in the other scene "
                  << answered[0] << " and, with cutFrames, " << answered[1] << " of " << frames
                  << " frames; right afterwards " << right[0] << " and " << right[1] << " of " << visible << std::endl;
        EXPECT_LT(10 * answered[1], answered[0]);
        EXPECT_TRUE(goesOn || right[1] + visible / after > right[0]);
    }
}

}} // namespace opencv_test
