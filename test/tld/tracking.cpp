// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TrackerTLD on videos by construction: the object is tracked, its loss is reported, it is found again.
#include "oracle.hpp"
#include <functional>

namespace opencv_test { namespace {

using namespace tld;

typedef OnEngine Tld_Tracking;

//! An object whose placement is a function of the frame.
struct Moving
{
    Moving(Size frame, Size object, const std::function<Placement(int)>& path, uint64 seed = 5, int type = CV_8UC1)
        : scene(frame, {object}, type, seed), at(path)
    {}
    Mat frame(int t) const { return scene.frame(at(t)); }
    Rect box(int t) const { return scene.box(at(t)); }
    Rect2d truth(int t) const { return scene.truth(at(t)); }

    Composite scene;
    std::function<Placement(int)> at;
};

Placement placed(double x, double y, double scale = 1., double degrees = 0.) { return {Point2d(x, y), scale, degrees}; }

//! In each frame of the range the object is located with at least this overlap, but in `allowed` frames.
template <typename Scene>
void expectFollowed(const Scene& scene, const std::vector<Step>& steps, int from, int to, double least, int allowed = 0)
{
    int failed = 0;
    for (int t = from; t < to; ++t)
    {
        const Step& s = steps[t - 1];
        const double o = s.located ? overlap(scene.truth(t), s.box) : 0.;
        if (o >= least)
            continue;
        ++failed;
        EXPECT_LE(failed, allowed) << "frame " << t << ": located " << s.located << ", box " << s.box << ", truth "
                                   << scene.truth(t) << ", overlap " << o;
    }
}

TEST_P(Tld_Tracking, followsLosesAndFindsAgain)
{
    typedef StandardScene S;
    for (const uint64 seed : {1, 2, 3})
    {
        SCOPED_TRACE(static_cast<int>(seed));
        const S scene(seed == 2 ? CV_8UC3 : CV_8UC1, Size(40, 34), seed);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
        EXPECT_EQ(TrackerTLD::TRACKING, tracker->getState());
        const std::vector<Step> steps = follow(*tracker, scene, engine(), 1, S::FRAMES);
        expectFollowed(scene, steps, 1, S::HIDES + 3, 0.5);
        expectFollowed(scene, steps, S::RETURNS + S::REACTION, S::FRAMES, 0.5);
    }
}

//! In most frames nothing is reported after the object has gone; the filter does not hold on to what covers it.
TEST_P(Tld_Tracking, noticesAbsence)
{
    typedef StandardScene S;
    for (const bool filter : {false, true})
    {
        int wrong = 0, frames = 0;
        for (uint64 seed = 1; seed <= 40; ++seed)
        {
            const S scene(CV_8UC1, Size(40, 34), seed);
            const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), paramsOf(cv::format("filter %d", filter)));
            follow(*tracker, scene, engine(), 1, S::GONE + S::NOTICED);
            for (const Step& s : follow(*tracker, scene, engine(), S::GONE + S::NOTICED, S::RETURNS))
            {
                wrong += s.located;
                ++frames;
            }
        }
        std::cout << wrong << " of " << frames << " frames without the object are answered, filter " << filter
                  << std::endl;
        EXPECT_LT(wrong, 0.4 * frames);
    }
}

//! Checks the meaning of states and score.
TEST_P(Tld_Tracking, statesAndScores)
{
    typedef StandardScene S;
    const S scene;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine(), paramsOf("filter 0"));
    int lost = 0;
    for (const Step& s : follow(*tracker, scene, engine(), 1, S::FRAMES))
    {
        lost += s.state == TrackerTLD::LOST;
        EXPECT_GE(s.score, 0.f);
        EXPECT_LE(s.score, 1.f);
        EXPECT_EQ(s.state == TrackerTLD::LOST, s.inside == Rect2d());
        if (s.state == TrackerTLD::LOST)
        {
            EXPECT_FALSE(s.located);
            EXPECT_EQ(0.f, s.score);
        }
        else
        {
            EXPECT_GE(s.inside.width, 10.);
            EXPECT_GE(s.inside.height, 10.);
        }
        if (s.located)
            EXPECT_GT(overlap(s.inside, s.box), 0.9) << s.inside << " against " << s.box;
        else
            EXPECT_EQ(Rect(), s.box) << "the caller's box was touched";
    }
    EXPECT_GT(lost, 2);
}

//! An object of 90 x 70 pixels that moves by (4, 3) in frame 1, and parameters for which points with noise are wrong.
struct WrongPoints
{
    uint64 seed;
    TLDParams params;
    Moving scene;
    Rect object; //!< in frame 1

    explicit WrongPoints(uint64 number)
        : seed(number),
          scene(
              Size(320, 240), Size(90, 70), [](int t) { return placed(140 + 4 * t, 110 + 3 * t); }, number),
          object(scene.box(1))
    {
        params.maxFlowError = 0.05;
        params.filter = false;
    }

    //! Returns the object in frame 1 without so many columns on its right, with a border.
    Rect part(int clean) const
    {
        return Rect(object.x - 8, object.y - 8, object.width + 8 - clean, object.height + 16);
    }
    //! Returns frame 1 with noise on that part.
    Mat noisy(int clean) const
    {
        Mat frame = scene.frame(1), gray;
        frame(part(clean)).convertTo(gray, CV_32F);
        Mat noise(gray.size(), CV_32F);
        RNG(seed + 50).fill(noise, RNG::NORMAL, 0., 100.);
        gray += noise;
        gray.convertTo(frame(part(clean)), CV_8U);
        return frame;
    }
    //! Returns frame 1 with something else on that part.
    Mat covered(int clean) const
    {
        Mat frame = scene.frame(1);
        texture(seed + 99, part(clean).size(), CV_8UC1, 4).copyTo(frame(part(clean)));
        return frame;
    }
    //! Follows the object by cv::calcOpticalFlowPyrLK().
    oracle::Followed followed(const Mat& frame) const
    {
        Rect2d box;
        return oracle::follow(params, scene.frame(0), frame, scene.box(0), box);
    }
    bool isRight(const Step& s) const { return overlap(scene.truth(1), s.inside) > 0.95; }
};

/** Where most points are wrong, the box follows those that return. Where none does, or where the box is not similar to
the object, it is lost, and flow is tried again. Random scenes: the limits are far below the shares found, 85, 85 and 50
%. */
TEST_P(Tld_Tracking, followsAFewPoints)
{
    const int scenes = 30;
    int few = 0, right = 0, none = 0, retried = 0, strange = 0, refused = 0;
    for (uint64 seed = 1; seed <= scenes; ++seed)
    {
        const WrongPoints w(seed);
        const auto after = [&](const Mat& frame)
        {
            const Ptr<TrackerTLD> tracker = trackerOn(w.scene, engine(), w.params);
            const Step first = advance(*tracker, engine(), frame),
                       second = advance(*tracker, engine(), w.scene.frame(1));
            return std::make_pair(first, second);
        };
        const auto isRetried = [&](const std::pair<Step, Step>& steps)
        {
            return steps.first.event == TrackerTLD::BECAME_LOST && steps.second.event == TrackerTLD::RETRIED &&
                   w.isRight(steps.second);
        };
        if (w.followed(w.noisy(30)) == oracle::Followed::BY_A_FEW)
        {
            const Step s = after(w.noisy(30)).first;
            ++few;
            right += s.event == TrackerTLD::FLOWED && w.isRight(s);
        }
        if (w.followed(w.noisy(0)) == oracle::Followed::NOT)
        {
            ++none;
            retried += isRetried(after(w.noisy(0)));
        }
        if (w.followed(w.covered(30)) == oracle::Followed::BY_A_FEW)
        {
            ++strange;
            refused += isRetried(after(w.covered(30)));
        }
    }
    std::cout << right << " of " << few << " followed, " << retried << " of " << none << " and " << refused << " of "
              << strange << " tried again" << std::endl;
    for (const int count : {few, none, strange})
        EXPECT_GT(count, scenes / 3);
    EXPECT_GT(right, 0.6 * few);
    EXPECT_GT(retried, 0.5 * none);
    EXPECT_GT(refused, 0.25 * strange);
}

TEST_P(Tld_Tracking, standsStill)
{
    const Moving scene(Size(160, 120), Size(32, 32), [](int) { return placed(70, 60); });
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    for (const Step& s : follow(*tracker, scene, engine(), 1, 40))
    {
        EXPECT_TRUE(s.located);
        EXPECT_GT(overlap(scene.truth(0), s.inside), 0.75) << s.inside;
        EXPECT_GT(s.score, 0.7f);
    }
}

/** Grows by half, and back. Averaging with windows that overlap by 0.7 lets the size lag behind, so far in some scenes
that the overlap falls below a half: in 30 of 100 that OpenCV 4.14 draws and in 35 of OpenCV 5.0, but only in 3 and 5 %
of all frames. It would in 11 of 79 frames with a box of constant size whose centre is right. */
TEST_P(Tld_Tracking, growsAndShrinks)
{
    const int scenes = 30, frames = 79;
    int overlapping = 0;
    for (int seed = 1; seed <= scenes; ++seed)
    {
        SCOPED_TRACE(seed);
        const Moving scene(
            Size(320, 240), Size(40, 48),
            [](int t) { return placed(150 + 0.5 * t, 120, std::pow(1.01, t < 40 ? t : 80 - t)); }, seed);
        const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
        const std::vector<Step> steps = follow(*tracker, scene, engine(), 1, 1 + frames);
        for (int t = 1; t <= frames; ++t)
        {
            EXPECT_TRUE(steps[t - 1].located) << "frame " << t;
            overlapping += overlap(scene.truth(t), steps[t - 1].box) >= 0.5;
        }
        for (const int t : {20, 40})
            EXPECT_GT(steps[t - 1].inside.area(), 1.1 * scene.truth(0).area()) << "frame " << t;
    }
    EXPECT_GE(overlapping, scenes * frames * 9 / 10);
}

TEST_P(Tld_Tracking, turns)
{
    const Moving scene(Size(240, 180), Size(44, 44),
                       [](int t) { return placed(90 + t, 90, 1., 14. * std::sin(t / 9.)); });
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    expectFollowed(scene, follow(*tracker, scene, engine(), 1, 50), 1, 50, 0.5);
}

//! Tracks an object of 24 x 24 with the smallest possible windows.
TEST_P(Tld_Tracking, smallObjects)
{
    for (const Size size : {Size(24, 24), Size(16, 20), Size(12, 12)})
    {
        SCOPED_TRACE(cv::format("%d x %d", size.width, size.height));
        const Moving scene(Size(160, 120), size,
                           [](int t) { return placed(50 + 1.3 * t, 60 + 12 * std::sin(t / 8.)); });
        const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
        expectFollowed(scene, follow(*tracker, scene, engine(), 1, 40), 1, 40, 0.4, 2);
    }
}

//! Little or nothing is left that could be a negative example: no endless draw, no failure.
TEST_P(Tld_Tracking, fillsTheFrame)
{
    for (const Size size : {Size(120, 90), Size(31, 33), Size(16, 16)})
    {
        SCOPED_TRACE(cv::format("%d x %d", size.width, size.height));
        const Mat frame = texture(31, size);
        const Ptr<TrackerTLD> tracker = TrackerTLD::create();
        tracker->init(Image(engine(), frame).in(), Rect(Point(), size));
        EXPECT_EQ(15, templatesOf(*tracker, true).rows);
        EXPECT_TRUE(templatesOf(*tracker, false).empty() || size.width == 120) << "smaller windows that are far enough";
        for (int t = 0; t < 5; ++t)
        {
            const Step s = advance(*tracker, engine(), frame);
            EXPECT_TRUE(s.located);
            EXPECT_GT(overlap(Rect(Point(), size), s.box), 0.7) << s.box;
        }
        advance(*tracker, engine(), texture(32, size));
    }
}

TEST_P(Tld_Tracking, largeObject)
{
    const Moving scene(Size(200, 150), Size(150, 110), [](int t) { return placed(90 + 0.8 * t, 70 + 0.5 * t); });
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    expectFollowed(scene, follow(*tracker, scene, engine(), 1, 20), 1, 20, 0.7);
}

//! Each corner: the box may be right at the border, and half of the object may leave.
TEST_P(Tld_Tracking, atTheBorder)
{
    const Size frame(160, 120), object(36, 30);
    const Point2d corners[] = {Point2d(18, 15), Point2d(142, 15), Point2d(18, 105), Point2d(142, 105)};
    for (const Point2d& corner : corners)
    {
        SCOPED_TRACE(cv::format("%g, %g", corner.x, corner.y));
        const Point2d outwards(corner.x < 80 ? -1 : 1, corner.y < 60 ? -1 : 1);
        const Moving scene(frame, object,
                           [&](int t)
                           {
                               const double out = 9. * std::sin(t / 20. * CV_PI); // a quarter of the width
                               return placed(corner.x + out * outwards.x, corner.y);
                           });
        const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
        expectFollowed(scene, follow(*tracker, scene, engine(), 1, 21), 1, 21, 0.4, 4);
    }
}

TEST_P(Tld_Tracking, leavesAndReturns)
{
    const Moving scene(Size(200, 150), Size(40, 36),
                       [](int t) {
                           return placed(t < 30 ? 120 + 4. * t : t < 60 ? 300 : 420 - 4. * t + 60, 75);
                       });
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    const std::vector<Step> steps = follow(*tracker, scene, engine(), 1, 100);
    expectFollowed(scene, steps, 1, 13, 0.5);
    for (int t = 42; t < 60; ++t)
        EXPECT_FALSE(steps[t - 1].located) << "frame " << t;
    expectFollowed(scene, steps, 85, 100, 0.5);
}

//! Frames in which nothing is to be seen: all of one gray value, as of a covered camera.
TEST_P(Tld_Tracking, flatFrames)
{
    const Moving scene(Size(160, 120), Size(32, 32), [](int t) { return placed(70 + t, 60); });
    const Ptr<TrackerTLD> tracker = trackerOn(scene, engine());
    follow(*tracker, scene, engine(), 1, 10);
    for (const int gray : {0, 255, 77})
    {
        const Mat flat(Size(160, 120), CV_8UC1, Scalar::all(gray));
        for (int t = 0; t < 4; ++t)
        {
            const Step s = advance(*tracker, engine(), flat);
            EXPECT_EQ(0., s.detections.at<double>(0, TLDDetector::COUNT_WITH_VARIANCE));
            EXPECT_FALSE(s.located && t == 3);
        }
    }
    EXPECT_EQ(TrackerTLD::LOST, tracker->getState());
    expectFollowed(scene, follow(*tracker, scene, engine(), 1, 30), 5, 30, 0.5);
}

//! A second thing that looks like the object does not take the box over while the object itself is in sight.
TEST_P(Tld_Tracking, twins)
{
    Composite scene(Size(240, 180), {Size(36, 36), Size(36, 36)}, CV_8UC1, 11);
    scene.objects[1] = scene.objects[0];
    const auto frame = [&](int t) { return scene.frame({placed(60 + t, 60), placed(180 - t, 130)}); };
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    tracker->init(Image(engine(), frame(0)).in(), scene.box(placed(60, 60)));
    for (int t = 1; t < 60; ++t)
    {
        const Step s = advance(*tracker, engine(), frame(t));
        EXPECT_GT(overlap(scene.truth(placed(60 + t, 60)), s.inside), 0.5) << "frame " << t << ": " << s.inside;
    }
}

CUDATRACKING_ON_ENGINES(Tld_Tracking);

}} // namespace opencv_test
