// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Images whose answer is known by construction, on the CPU engine.
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;

FragmentMatch findOne(const FM::Params& params, const Mat& frame, const Mat& templ, const Mat& weights = Mat(),
                      Rect area = Rect())
{
    const Ptr<FM> matcher = FM::create(params);
    matcher->setFragments(std::vector<Mat>(1, templ), std::vector<Mat>(1, weights));
    std::vector<FragmentMatch> matches;
    matcher->find(frame, std::vector<Rect>(1, area.empty() ? Rect(Point(), frame.size()) : area), matches);
    CV_Assert(matches.size() == 1);
    return matches[0];
}

Mat disc(Size size)
{
    Mat mask = Mat::zeros(size, CV_8UC1);
    ellipse(mask, Point(size.width / 2, size.height / 2), Size(size.width / 2 - 1, size.height / 2 - 1), 0, 0, 360,
            Scalar(255), FILLED);
    return mask;
}

//! An identical patch scores a perfect 0 or 1, at its place, and nothing else does.
TEST(FragmentMatcher_Truth, identicalPatch)
{
    RNG rng(311);
    for (const int metric : METRICS)
        for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4})
            for (int again = 0; again < 5; ++again)
            {
                const Mat frame = randomImage(rng, Size(120, 90), type);
                const Rect at(uniform(rng, Point(), Point(100, 70)), Size(20, 20));
                const FragmentMatch match = findOne(makeParams(metric), frame, frame(at));
                ASSERT_EQ(2u, match.locations.size());
                EXPECT_EQ(at.tl(), match.locations[0]);
                EXPECT_EQ(metric == FM::ZNCC ? 1.f : 0.f, match.scores[0]);
                EXPECT_TRUE(cvIsInf(match.confidence)) << match.confidence;
                EXPECT_EQ(FM::FOUND, match.status);
                EXPECT_EQ(Point2f(at.tl()), match.refined[0]);
            }
}

TEST(FragmentMatcher_Truth, shiftAndNoise)
{
    RNG rng(312);
    const Mat scene = randomImage(rng, Size(300, 200), CV_8UC3, 5);
    std::vector<Mat> templates;
    std::vector<Rect> areas;
    std::vector<Point> truth;
    for (int i = 0; i < 60; ++i)
    {
        const Size size = uniform(rng, Size(11, 11), Size(20, 20));
        const Rect at(uniform(rng, Point(30, 30), Point(250, 150)), size);
        templates.push_back(scene(at).clone());
        areas.push_back(at + Point(-20, -20) + Size(40, 40));
        truth.push_back(at.tl());
    }
    const Point shift(7, -4);
    Mat moved(scene.size(), scene.type(), Scalar::all(128)), noise(scene.size(), CV_16SC3);
    scene(Rect(0, 4, 293, 196)).copyTo(moved(Rect(7, 0, 293, 196)));
    rng.fill(noise, RNG::NORMAL, Scalar::all(0), Scalar::all(6)); // OpenCV 5.0 does not spread single numbers
    cv::add(moved, noise, moved, noArray(), CV_8U);
    for (const int metric : METRICS)
    {
        const Ptr<FM> matcher = FM::create(makeParams(metric));
        matcher->setFragments(templates);
        std::vector<FragmentMatch> matches;
        matcher->find(moved, areas, matches);
        for (size_t i = 0; i < matches.size(); ++i)
        {
            EXPECT_EQ(truth[i] + shift, matches[i].locations[0]) << "fragment " << i;
            EXPECT_GT(matches[i].confidence, 1.5f) << "fragment " << i;
        }
    }
}

//! ZNCC does not see gain and offset; SAD and SSD do.
TEST(FragmentMatcher_Truth, gainAndOffset)
{
    RNG rng(313);
    for (const int type : {CV_8UC1, CV_8UC3})
    {
        const Mat frame = randomImage(rng, Size(100, 80), type) / 2;
        const Rect at(61, 33, 17, 15);
        const Mat brighter = frame(at) * 2 + Scalar::all(1);
        const FragmentMatch zncc = findOne(makeParams(FM::ZNCC), frame, brighter);
        EXPECT_EQ(at.tl(), zncc.locations[0]);
        EXPECT_EQ(1.f, zncc.scores[0]);
        EXPECT_GT(findOne(makeParams(FM::SAD), frame, brighter).scores[0], 0.f);

        Mat negative;
        cv::subtract(Scalar::all(255), frame(at), negative);
        const FragmentMatch inverse = findOne(makeParams(FM::ZNCC), frame, negative, Mat(), at);
        EXPECT_EQ(-1.f, inverse.scores[0]);
    }
}

//! Half of the fragment is covered in the frame; weights leave that half out.
TEST(FragmentMatcher_Truth, occlusion)
{
    RNG rng(314);
    for (const int metric : METRICS)
    {
        Mat frame = randomImage(rng, Size(110, 90), CV_8UC3);
        const Rect at(40, 35, 24, 24);
        const Mat templ = frame(at).clone();
        frame(Rect(40, 35, 12, 24)).setTo(Scalar(255, 0, 255));
        Mat weights(at.size(), CV_8UC1, Scalar(255));
        weights.colRange(0, 12).setTo(0);
        const FragmentMatch match = findOne(makeParams(metric), frame, templ, weights);
        EXPECT_EQ(at.tl(), match.locations[0]);
        EXPECT_EQ(metric == FM::ZNCC ? 1.f : 0.f, match.scores[0]);
        EXPECT_NE(match.scores[0], findOne(makeParams(metric), frame, templ).scores[0]);
    }
}

//! A round object before two backgrounds: only weights find it with a perfect score. Soft (alpha) edges as float
//! weights.
TEST(FragmentMatcher_Truth, roundObjectOnAnotherBackground)
{
    RNG rng(315);
    const Mat object = randomImage(rng, Size(21, 21), CV_8UC3), mask = disc(Size(21, 21));
    Mat frame = randomImage(rng, Size(140, 100), CV_8UC3);
    const Rect at(77, 41, 21, 21);
    object.copyTo(frame(at), mask);
    Mat templ(object.size(), CV_8UC3, Scalar(0, 200, 0)), alpha, soft;
    object.copyTo(templ, mask);
    for (const int metric : METRICS)
    {
        const FragmentMatch match = findOne(makeParams(metric), frame, templ, mask);
        EXPECT_EQ(at.tl(), match.locations[0]);
        EXPECT_EQ(metric == FM::ZNCC ? 1.f : 0.f, match.scores[0]);

        // Blend the edge: alpha falls from 1 in the middle to 0 at the rim of the disc.
        distanceTransform(mask, alpha, DIST_L2, 5);
        alpha = cv::min(alpha / 4., 1.);
        Mat blended = frame.clone();
        for (int y = 0; y < 21; ++y)
            for (int x = 0; x < 21; ++x)
                for (int c = 0; c < 3; ++c)
                    blended.ptr(at.y + y, at.x + x)[c] = saturate_cast<uchar>(
                        alpha.at<float>(y, x) * object.ptr(y, x)[c] + (1.f - alpha.at<float>(y, x)) * 90.f);
        EXPECT_EQ(at.tl(), findOne(makeParams(metric), blended, templ, alpha).locations[0]);
    }
}

//! Two equal copies: best is the first in raster order, the alternative the other, and nothing tells them apart.
TEST(FragmentMatcher_Truth, duplicates)
{
    RNG rng(316);
    for (const int metric : METRICS)
        for (const Point apart : {Point(30, 0), Point(0, 30), Point(25, 25), Point(-25, 25), Point(8, 3)})
        {
            Mat frame = randomImage(rng, Size(120, 100), CV_8UC1, 1);
            const Rect first(50, 30, 16, 16);
            const Mat templ = randomImage(rng, first.size(), CV_8UC1, 1);
            // Copies 8 apart overlap; only the part that both agree on counts.
            Mat weights = Mat::zeros(first.size(), CV_8UC1);
            weights(Rect(0, 0, 8, 3)).setTo(200);
            templ.copyTo(frame(first), weights);
            templ.copyTo(frame(first + apart), weights);
            const FragmentMatch match = findOne(makeParams(metric, 2, FM::SQUARE, 8), frame, templ, weights);
            ASSERT_EQ(2u, match.locations.size());
            EXPECT_EQ(first.tl(), match.locations[0]);
            EXPECT_EQ(first.tl() + apart, match.locations[1]);
            EXPECT_EQ(match.scores[0], match.scores[1]);
            EXPECT_EQ(1.f, match.confidence);

            // One pixel more of distance excludes the copy at (8, 3), and only that one.
            const FragmentMatch further = findOne(makeParams(metric, 2, FM::SQUARE, 9), frame, templ, weights);
            EXPECT_EQ(apart == Point(8, 3), further.locations[1] != first.tl() + apart);

            // CROSS: the rows and columns around the best are excluded as a whole.
            const FragmentMatch cross = findOne(makeParams(metric, 2, FM::CROSS, 25), frame, templ, weights);
            EXPECT_EQ(std::abs(apart.x) == 25 && apart.y == 25, cross.locations[1] == first.tl() + apart);
            const FragmentMatch narrow = findOne(makeParams(metric, 2, FM::CROSS, 26), frame, templ, weights);
            EXPECT_NE(first.tl() + apart, narrow.locations.size() > 1 ? narrow.locations[1] : Point());
        }
}

//! The default distance is half of the smaller side, rounded down.
TEST(FragmentMatcher_Truth, defaultExclusionDistance)
{
    for (const int side : {1, 2, 3, 9, 10})
    {
        const Mat frame(1, 60, CV_8UC1, Scalar(9)), templ(1, side, CV_8UC1, Scalar(9));
        const FragmentMatch row = findOne(makeParams(FM::SAD, 3), frame, templ);
        EXPECT_EQ(Point(1, 0), row.locations[1]) << "one row: half of it is 0, so the distance is 1";
        const Mat square(side, side, CV_8UC1, Scalar(9)), flat(40, 60, CV_8UC1, Scalar(9));
        const FragmentMatch match = findOne(makeParams(FM::SAD, 3), flat, square);
        const int d = std::max(side / 2, 1);
        EXPECT_EQ(Point(0, 0), match.locations[0]);
        EXPECT_EQ(Point(d, 0), match.locations[1]);
        EXPECT_EQ(Point(2 * d, 0), match.locations[2]);
    }
}

//! Peaks end when the zones cover the window.
TEST(FragmentMatcher_Truth, fewerPeaksThanAskedFor)
{
    const Mat frame(10, 30, CV_8UC1, Scalar(0)), templ(10, 10, CV_8UC1, Scalar(3));
    const Ptr<FM> matcher = FM::create(makeParams(FM::SSD, 16, FM::SQUARE, 10, FM::FULL, true));
    matcher->setFragments(std::vector<Mat>(1, templ));
    const Result result = run(*matcher, frame, noArray());
    for (int j = 0; j < 16; ++j)
    {
        const bool found = j < 3; // x = 0, 10, 20
        EXPECT_EQ(found ? Point(10 * j, 0) : Point(-1, -1), result.locations.at<Point>(0, j));
        EXPECT_EQ(found ? Point2f(10.f * j, 0.f) : Point2f(-1, -1), result.refined.at<Point2f>(0, j));
        EXPECT_EQ(found ? 9.f : 0.f, result.scores.at<float>(0, j));
    }
    EXPECT_EQ(1.f, result.confidence.at<float>(0));
    std::vector<FragmentMatch> matches;
    matcher->find(frame, noArray(), matches);
    EXPECT_EQ(3u, matches[0].locations.size());
    EXPECT_EQ(3u, matches[0].scores.size());
    EXPECT_EQ(3u, matches[0].refined.size());
}

//! Ties go to the lowest raster index, wherever the equal places lie and however work is shared out.
TEST(FragmentMatcher_Truth, tiesInRasterOrder)
{
    RNG rng(317);
    for (const int metric : METRICS)
        for (int again = 0; again < 20; ++again)
        {
            const Size period = uniform(rng, Size(5, 5), Size(23, 19));
            const Mat tile = randomImage(rng, period, CV_8UC1, 1), frame = cv::repeat(tile, 8, 9);
            const Rect at(uniform(rng, Point(), Point(period.width, period.height)), Size(period.width, period.height));
            const FragmentMatch match = findOne(makeParams(metric, 4, FM::SQUARE, 2), frame, frame(at));
            ASSERT_EQ(4u, match.locations.size());
            for (int j = 0; j < 4; ++j)
                EXPECT_EQ(at.tl() + Point(j * period.width, 0), match.locations[j]) << "peak " << j;
            EXPECT_EQ(1.f, match.confidence);
        }
}

TEST(FragmentMatcher_Truth, flat)
{
    const Mat frame(50, 60, CV_8UC3, Scalar(10, 20, 30)), templ(9, 9, CV_8UC3, Scalar(10, 20, 30));
    for (const int metric : METRICS)
    {
        const FragmentMatch match = findOne(makeParams(metric, 2, FM::SQUARE, 4, FM::FULL, true), frame, templ);
        EXPECT_EQ(Point(0, 0), match.locations[0]);
        EXPECT_EQ(Point(4, 0), match.locations[1]);
        EXPECT_EQ(0.f, match.scores[0]);
        EXPECT_EQ(1.f, match.confidence);
        EXPECT_EQ(metric == FM::ZNCC ? FM::FLAT_FRAGMENT : FM::FOUND, match.status);
        EXPECT_EQ(Point2f(4, 0), match.refined[1]) << "no slope, no offset";
    }
    // A textured fragment on a flat frame: score 0 everywhere, but the fragment is not flat.
    EXPECT_EQ(FM::FOUND, findOne(makeParams(FM::ZNCC), frame, randomImage(318, Size(9, 9), CV_8UC3)).status);
    // Contrast that has no weight does not count.
    Mat half = templ.clone(), weights(9, 9, CV_8UC1, Scalar(255));
    half.row(3).setTo(Scalar(99, 0, 0));
    weights.row(3).setTo(0);
    EXPECT_EQ(FM::FLAT_FRAGMENT, findOne(makeParams(FM::ZNCC), frame, half, weights).status);
    weights.at<uchar>(3, 5) = 1;
    EXPECT_EQ(FM::FOUND, findOne(makeParams(FM::ZNCC), frame, half, weights).status);
}

TEST(FragmentMatcher_Truth, saturatedAndOnePixel)
{
    Mat frame(20, 30, CV_8UC3, Scalar::all(255));
    frame.at<Vec3b>(11, 17) = Vec3b(0, 0, 0);
    const Mat black(1, 1, CV_8UC3, Scalar::all(0)), white(1, 1, CV_8UC3, Scalar::all(255));
    EXPECT_EQ(Point(17, 11), findOne(makeParams(FM::SAD), frame, black).locations[0]);
    EXPECT_EQ(765.f, findOne(makeParams(FM::SAD), frame, black).scores[1]);
    EXPECT_EQ(3 * 65025.f, findOne(makeParams(FM::SSD), frame, black).scores[1]);
    EXPECT_EQ(Point(0, 0), findOne(makeParams(FM::SAD), frame, white).locations[0]);
    EXPECT_EQ(FM::FLAT_FRAGMENT, findOne(makeParams(FM::ZNCC), frame, white).status);
}

//! The fourth channel of frame and fragment is ignored.
TEST(FragmentMatcher_Truth, fourthChannelIsIgnored)
{
    RNG rng(319);
    Mat frame = randomImage(rng, Size(60, 50), CV_8UC4), templ = frame(Rect(21, 17, 12, 11)).clone(), planes[4];
    split(templ, planes);
    rng.fill(planes[3], RNG::UNIFORM, 0, 256);
    merge(planes, 4, templ);
    for (const int metric : METRICS)
    {
        const FragmentMatch match = findOne(makeParams(metric), frame, templ);
        EXPECT_EQ(Point(21, 17), match.locations[0]);
        EXPECT_EQ(metric == FM::ZNCC ? 1.f : 0.f, match.scores[0]);
    }
}

//! An 8-bit mask is not binarised, and float weights are rounded half to even.
TEST(FragmentMatcher_Truth, weightsAreQuantised)
{
    const Mat frame = Mat_<uchar>({1, 2}, {10, 30}), templ = Mat_<uchar>({1, 2}, {0, 0});
    const Mat bytes = Mat_<uchar>({1, 2}, {1, 3});
    EXPECT_EQ(25.f, findOne(makeParams(FM::SAD), frame, templ, bytes).scores[0]);
    // 127.5 -> 128 (the only half that a float can hit), a little above 126.5 -> 127, 0.4 -> 0
    const float w[][3] = {
        {0.5f, 1.f, 128}, {126.5f / 255.f, 1.f, 127}, {0.4f / 255.f, 1.f, 0}, {0.6f / 255.f, 1.f, 1}, {0.f, 1.f, 0}};
    for (const auto& row : w)
    {
        const Mat weights = Mat_<float>({1, 2}, {row[0], row[1]});
        const float score = static_cast<float>((row[2] * 10. + 255. * 30.) / (row[2] + 255.));
        EXPECT_EQ(score, findOne(makeParams(FM::SAD), frame, templ, weights).scores[0]) << row[0];
    }
}

//! 148 x 148 BGR pixels of weight 255 at the largest difference just fit into 32 bits; one more pixel a side does not.
TEST(FragmentMatcher_Truth, sumsBeyond32Bits)
{
    for (const int side : {147, 148, 149})
        for (const bool weighted : {false, true})
        {
            // From left to right the frame gets closer to the fragment; a sum that wraps would prefer the left.
            const Mat templ(side, side, CV_8UC3, Scalar::all(0)), weights(side, side, CV_8UC1, Scalar(255));
            Mat frame(side, 3 * side, CV_8UC3, Scalar::all(255));
            frame.colRange(side, 2 * side).setTo(Scalar::all(200));
            frame.colRange(2 * side, 3 * side).setTo(Scalar::all(100));
            const Mat w = weighted ? weights : Mat();
            const FragmentMatch sad = findOne(makeParams(FM::SAD), frame, templ, w);
            EXPECT_EQ(Point(2 * side, 0), sad.locations[0]) << side;
            EXPECT_EQ(300.f, sad.scores[0]);
            EXPECT_EQ(30000.f, findOne(makeParams(FM::SSD), frame, templ, w).scores[0]);

            const Ptr<FM> matcher = FM::create(makeParams(FM::SAD));
            matcher->setFragments(std::vector<Mat>(1, templ),
                                  weighted ? std::vector<Mat>(1, weights) : std::vector<Mat>());
            Mat map;
            matcher->scoreMap(0, frame, Rect(), map, CV_64F);
            EXPECT_EQ(255. * 765. * side * side, map.at<double>(0, 0));
            EXPECT_EQ(255. * 300. * side * side, map.at<double>(0, 2 * side));
        }
}

//! A checkerboard at the limit of 32 bits: a shift by one pixel turns a perfect match into the worst one.
TEST(FragmentMatcher_Truth, checkerboard)
{
    for (const int side : {148, 149})
        for (const int type : {CV_8UC1, CV_8UC3})
        {
            Mat frame(side + 2, side + 3, type);
            for (int y = 0; y < frame.rows; ++y)
                for (int x = 0; x < frame.cols; ++x)
                    frame(Rect(x, y, 1, 1)).setTo(Scalar::all((x + y) % 2 ? 255 : 0));
            const Mat templ = frame(Rect(1, 0, side, side)).clone();
            const double channels = frame.channels();
            for (const int metric : METRICS)
            {
                const FragmentMatch match = findOne(makeParams(metric, 2, FM::SQUARE, 1), frame, templ);
                EXPECT_EQ(Point(1, 0), match.locations[0]);
                EXPECT_EQ(Point(3, 0), match.locations[1]);
                EXPECT_EQ(1.f, match.confidence);
                const float worst = findOne(makeParams(metric), frame, templ, Mat(), Rect(0, 0, side, side)).scores[0];
                const double truths[] = {255 * channels, 65025 * channels, -1.};
                EXPECT_EQ(static_cast<float>(truths[metric]), worst);
            }
        }
}

//! ZNCC at its largest fragment: the sums fill 63 bits.
TEST(FragmentMatcher_Truth, largestZnccFragment)
{
    RNG rng(320);
    Mat frame(232, 235, CV_8UC3);
    rng.fill(frame, RNG::UNIFORM, 0, 2);
    frame *= 255;
    Scene scene;
    scene.params = makeParams(FM::ZNCC, 2, FM::SQUARE, 1);
    scene.frame = frame;
    scene.templates.push_back(frame(Rect(2, 0, 232, 232)).clone());
    const Result result = runCpu(scene);
    expectSame(expected(scene), result);
    EXPECT_EQ(Point(2, 0), result.locations.at<Point>(0, 0));
    EXPECT_EQ(1.f, result.scores.at<float>(0, 0));
    // Half black and half white is the largest variance there is.
    frame.rowRange(0, 116).setTo(0);
    frame.rowRange(116, 232).setTo(Scalar::all(255));
    scene.templates[0] = frame(Rect(2, 0, 232, 232)).clone();
    EXPECT_EQ(1.f, runCpu(scene).scores.at<float>(0, 0));
    cv::subtract(Scalar::all(255), scene.templates[0], scene.templates[0]);
    EXPECT_EQ(-1.f, runCpu(scene).scores.at<float>(0, 0));
}

//! A smooth blob at a known fraction of a pixel.
TEST(FragmentMatcher_Truth, subpixel)
{
    const auto blob = [](Size size, Point2d centre)
    {
        Mat image(size, CV_8UC1);
        for (int y = 0; y < size.height; ++y)
            for (int x = 0; x < size.width; ++x)
                image.at<uchar>(y, x) = saturate_cast<uchar>(
                    250. * std::exp(-((x - centre.x) * (x - centre.x) + (y - centre.y) * (y - centre.y)) / 60.));
        return image;
    };
    const Mat templ = blob(Size(25, 25), Point2d(12, 12));
    for (const int metric : METRICS)
        for (const Point2d shift : {Point2d(0, 0), Point2d(0.25, -0.25), Point2d(-0.4, 0.1), Point2d(0.5, 0.3)})
        {
            const Mat frame = blob(Size(60, 60), Point2d(30, 32) + shift);
            const FragmentMatch match = findOne(makeParams(metric, 2, FM::SQUARE, 0, FM::FULL, true), frame, templ);
            // Equiangular lines are biased on smooth blobs by up to about 0.1 px, parabolas by less.
            EXPECT_NEAR(18 + shift.x, match.refined[0].x, 0.12) << "metric " << metric;
            EXPECT_NEAR(20 + shift.y, match.refined[0].y, 0.12) << "metric " << metric;
        }
}

//! Where the variance is healthy, ZNCC with a binary mask is cv::matchTemplate's TM_CCOEFF_NORMED.
TEST(FragmentMatcher_Truth, agreesWithMatchTemplate)
{
    RNG rng(321);
    for (const int type : {CV_8UC1, CV_8UC3})
        for (const bool masked : {false, true})
        {
            const Mat frame = randomImage(rng, Size(150, 120), type), templ = randomImage(rng, Size(25, 23), type);
            const Mat mask = disc(templ.size());
            const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC));
            matcher->setFragments(std::vector<Mat>(1, templ), masked ? std::vector<Mat>(1, mask) : std::vector<Mat>());
            Mat ours, theirs;
            matcher->scoreMap(0, frame, Rect(), ours);
            if (masked)
                matchTemplate(frame, templ, theirs, TM_CCOEFF_NORMED, mask / 255);
            else
                matchTemplate(frame, templ, theirs, TM_CCOEFF_NORMED);
            ASSERT_EQ(theirs.size(), ours.size());
            EXPECT_LT(cvtest::norm(ours, theirs, NORM_INF), 1e-4) << "type " << type << " masked " << masked;
            EXPECT_GT(cvtest::norm(ours, NORM_INF), 0.2) << "the comparison would mean nothing";
        }
}

//! The walk finds the minimum of a bowl from anywhere, and misses a minimum off its path.
TEST(FragmentMatcher_Truth, threeStep)
{
    Mat frame(80, 100, CV_8UC1);
    for (int y = 0; y < frame.rows; ++y)
        for (int x = 0; x < frame.cols; ++x)
            frame.at<uchar>(y, x) = saturate_cast<uchar>(2 * std::max(std::abs(x - 71), std::abs(y - 22)) + 10);
    const Mat templ(1, 1, CV_8UC1, Scalar(10));
    const FragmentMatch bowl = findOne(makeParams(FM::SAD, 1, FM::SQUARE, 0, FM::THREE_STEP), frame, templ);
    EXPECT_EQ(Point(71, 22), bowl.locations[0]);
    EXPECT_EQ(0.f, bowl.scores[0]);
    EXPECT_EQ(-1.f, bowl.confidence) << "no alternative was asked for";

    Mat plain(80, 100, CV_8UC1, Scalar(200));
    plain.at<uchar>(70, 90) = 10; // no step leads here from the centre
    const FragmentMatch missed = findOne(makeParams(FM::SAD, 2, FM::SQUARE, 3, FM::THREE_STEP), plain, templ);
    EXPECT_EQ(Point(0, 0), missed.locations[0]) << "equal scores: each step goes to the lowest raster index";
    EXPECT_EQ(Point(90, 70), missed.locations[1]) << "the alternative is searched fully";
    EXPECT_EQ(0.f, missed.confidence) << "an alternative better than what the walk found";
}

}} // namespace opencv_test
