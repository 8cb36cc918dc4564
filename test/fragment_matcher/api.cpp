// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher's methods other than match(): edits, parameters, areas, maps, conversions. CPU backend.
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;

void expectSameParams(const FM::Params& a, const FM::Params& b)
{
    EXPECT_EQ(a.metric, b.metric);
    EXPECT_EQ(a.exclusion, b.exclusion);
    EXPECT_EQ(a.exclusionDistance, b.exclusionDistance);
    EXPECT_EQ(a.peaks, b.peaks);
    EXPECT_EQ(a.subpixel, b.subpixel);
    EXPECT_EQ(a.subpixelFit, b.subpixelFit);
    EXPECT_EQ(a.search, b.search);
    EXPECT_EQ(a.maxSearchArea, b.maxSearchArea);
}

FM::Params unusualParams()
{
    FM::Params params = gaussianParams(FM::ZNCC, 11, FM::CROSS, 23, FM::THREE_STEP);
    params.maxSearchArea = Size(77, 99);
    return params;
}

TEST(FragmentMatcher_Params, defaults)
{
    const FM::Params params = FM::create()->getParams();
    FM::Params expected = makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::FULL, false);
    expected.maxSearchArea = Size();
    expectSameParams(expected, params);
}

TEST(FragmentMatcher_Params, setAndGet)
{
    expectSameParams(unusualParams(), FM::create(unusualParams())->getParams());
    const Ptr<FM> matcher = FM::create();
    matcher->setParams(unusualParams());
    expectSameParams(unusualParams(), matcher->getParams());
}

TEST(FragmentMatcher_Params, writeAndRead)
{
    FileStorage out("params.yml", FileStorage::WRITE | FileStorage::MEMORY);
    out << "matcher"
        << "{";
    FM::create(unusualParams())->write(out);
    out << "}";
    const String text = out.releaseAndGetString();

    const Ptr<FM> matcher = FM::create();
    const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
    matcher->read(in["matcher"]);
    expectSameParams(unusualParams(), matcher->getParams());

    // The same through Algorithm's own load.
    EXPECT_FALSE(matcher->getDefaultName().empty());
    const Ptr<FM> saved = FM::create(unusualParams());
    const TemporaryFile file(".xml");
    saved->save(file);
    const FileStorage again(file, FileStorage::READ);
    EXPECT_FALSE(again[saved->getDefaultName()].empty());
    const Ptr<FM> loaded = FM::create();
    loaded->read(again[saved->getDefaultName()]);
    expectSameParams(unusualParams(), loaded->getParams());
}

TEST(FragmentMatcher_Params, readKeepsStateOnBadFiles)
{
    const char* bad[] = {"peaks: 0", "peaks: 17", "metric: 3", "metric: -1", "exclusion: 2", "exclusionDistance: -1",
                         "search: 2"};
    for (const char* member : bad)
    {
        FileStorage out("params.yml", FileStorage::WRITE | FileStorage::MEMORY);
        out << "matcher"
            << "{";
        FM::create(unusualParams())->write(out);
        out << "}";
        std::string text = out.releaseAndGetString();
        const std::string name = std::string(member).substr(0, std::string(member).find(':'));
        const size_t at = text.find(" " + name + ":");
        ASSERT_NE(std::string::npos, at) << text;
        text.replace(at + 1, text.find('\n', at) - at - 1, member);

        const Ptr<FM> matcher = FM::create();
        const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
        EXPECT_THROW(matcher->read(in["matcher"]), cv::Exception) << member;
        expectSameParams(FM::Params(), matcher->getParams());
    }
}

TEST(FragmentMatcher_Fragments, countsAndSizes)
{
    const Ptr<FM> matcher = FM::create();
    EXPECT_TRUE(matcher->empty());
    EXPECT_EQ(0, matcher->getFragmentCount());
    matcher->setFragments(std::vector<Mat>{Mat(3, 5, CV_8UC1, Scalar(1)), Mat(7, 2, CV_8UC1, Scalar(2))});
    EXPECT_FALSE(matcher->empty());
    EXPECT_EQ(2, matcher->getFragmentCount());
    EXPECT_EQ(Size(5, 3), matcher->getFragmentSize(0));
    EXPECT_EQ(Size(2, 7), matcher->getFragmentSize(1));
    EXPECT_EQ(2, matcher->addFragment(Mat(4, 9, CV_8UC1, Scalar(3))));
    EXPECT_EQ(Size(9, 4), matcher->getFragmentSize(2));
    matcher->removeFragment(0);
    EXPECT_EQ(2, matcher->getFragmentCount());
    EXPECT_EQ(Size(2, 7), matcher->getFragmentSize(0));
    matcher->clear();
    EXPECT_TRUE(matcher->empty());
    EXPECT_EQ(0, matcher->getFragmentCount());
    // After clear() another type may come.
    EXPECT_EQ(0, matcher->addFragment(Mat(4, 9, CV_8UC3, Scalar::all(3))));
    EXPECT_EQ(1, matcher->getFragmentCount());
}

//! Any sequence of single edits leaves what setFragments() of the final list would.
TEST(FragmentMatcher_Fragments, editsEqualRebuilding)
{
    RNG rng(411);
    for (const int metric : METRICS)
        for (const int type : typesOf(metric))
        {
            Scene scene = randomScene(rng, makeParams(metric), type, SOME_WEIGHTS);
            const Ptr<FM> matcher = matcherOf(scene);
            for (int edit = 0; edit < 15; ++edit)
            {
                editOne(rng, edit, scene, *matcher, onTheHost);
                expectSame(expected(scene), run(*matcher, scene));
                if (HasFailure())
                    return;
            }
        }
}

TEST(FragmentMatcher_Fragments, areCopied)
{
    Scene scene = randomScene(412, makeParams(FM::SAD), CV_8UC3, WEIGHTS_32F);
    const Result truth = expected(scene);
    const Ptr<FM> matcher = FM::create(scene.params);
    std::vector<Mat> templates, weights;
    for (size_t i = 0; i < scene.templates.size(); ++i)
        templates.push_back(scene.templates[i].clone()), weights.push_back(scene.weights[i].clone());
    matcher->setFragments(templates, weights);
    for (size_t i = 0; i < templates.size(); ++i)
        templates[i].setTo(0), weights[i].setTo(1);
    expectSame(truth, run(*matcher, scene));
}

TEST(FragmentMatcher_Fragments, inputsAreNotWritten)
{
    RNG rng(413);
    for (const int type : {CV_8UC1, CV_8UC4})
    {
        const Scene scene = randomScene(rng, makeParams(FM::ZNCC), type, WEIGHTS_8U);
        const Mat frame = scene.frame.clone();
        std::vector<Mat> templates, weights;
        for (size_t i = 0; i < scene.templates.size(); ++i)
            templates.push_back(scene.templates[i].clone()), weights.push_back(scene.weights[i].clone());
        runCpu(scene);
        EXPECT_TRUE(sameBits(frame, scene.frame));
        for (size_t i = 0; i < templates.size(); ++i)
        {
            EXPECT_TRUE(sameBits(templates[i], scene.templates[i]));
            EXPECT_TRUE(sameBits(weights[i], scene.weights[i]));
        }
    }
}

TEST(FragmentMatcher_Fragments, cutFromAFrame)
{
    RNG rng(414);
    for (const int type : typesOf(FM::SSD))
        for (const int kind : {NO_WEIGHTS, SOME_WEIGHTS})
        {
            Scene scene = randomScene(rng, makeParams(FM::SSD, 3), type, kind);
            const Mat source = asRoi(randomImage(rng, Size(70, 50), type));
            const std::vector<Rect> regions = cutFrom(rng, source, scene);
            const Ptr<FM> matcher = FM::create(scene.params);
            matcher->cutFragments(source, regions, scene.weights);
            expectSame(expected(scene), run(*matcher, scene));
        }
}

TEST(FragmentMatcher_Outputs, areOptionalAndReused)
{
    const Scene scene = randomScene(415, makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::FULL, true), CV_8UC1, NO_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    Result truth = expected(scene), one;
    matcher->match(scene.frame, scene.areas, one.locations);
    EXPECT_TRUE(sameBits(truth.locations, one.locations));
    matcher->match(scene.frame, scene.areas, noArray(), one.scores);
    EXPECT_TRUE(sameBits(truth.scores, one.scores));
    matcher->match(scene.frame, scene.areas, noArray(), noArray(), one.confidence);
    EXPECT_TRUE(sameBits(truth.confidence, one.confidence));
    matcher->match(scene.frame, scene.areas, noArray(), noArray(), noArray(), one.status);
    EXPECT_TRUE(sameBits(truth.status, one.status));
    matcher->match(scene.frame, scene.areas, noArray(), noArray(), noArray(), noArray(), one.refined);
    EXPECT_TRUE(sameBits(truth.refined, one.refined));

    const void* data[] = {one.locations.data, one.scores.data, one.confidence.data, one.status.data, one.refined.data};
    matcher->match(scene.frame, scene.areas, one.locations, one.scores, one.confidence, one.status, one.refined);
    const void* after[] = {one.locations.data, one.scores.data, one.confidence.data, one.status.data, one.refined.data};
    EXPECT_TRUE(std::equal(data, data + 5, after)) << "outputs of the right size are reused";
    expectSame(truth, one);

    // Outputs that are part of larger matrices stay where they are.
    const int count = static_cast<int>(scene.templates.size());
    Mat large(count + 4, 9, CV_32SC2, Scalar::all(77)), part = large(Rect(3, 2, 2, count));
    matcher->match(scene.frame, scene.areas, part);
    EXPECT_EQ(large.ptr(2, 3), part.data);
    EXPECT_TRUE(sameBits(truth.locations, part.clone()));
    EXPECT_EQ(Point(77, 77), large.at<Point>(2, 2));
    EXPECT_EQ(Point(77, 77), large.at<Point>(2, 5));
}

TEST(FragmentMatcher_Outputs, umat)
{
    const Scene scene = randomScene(416, makeParams(FM::SAD), CV_8UC3, NO_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    UMat frame, locations;
    scene.frame.copyTo(frame);
    matcher->match(frame, scene.areas, locations);
    EXPECT_TRUE(sameBits(expected(scene).locations, locations.getMat(ACCESS_READ)));
}

//! A fragment without a peak was not found, also when convert() is not told so.
TEST(FragmentMatcher_Outputs, convertWithoutStatus)
{
    const Mat frame(20, 30, CV_8UC1, Scalar(7));
    const Ptr<FM> matcher = FM::create();
    matcher->setFragments(std::vector<Mat>{frame(Rect(0, 0, 5, 4)).clone(), Mat(21, 5, CV_8UC1, Scalar(7))});
    Mat locations, scores, confidence, status;
    matcher->match(frame, noArray(), locations, scores, confidence, status);
    for (const bool given : {false, true})
    {
        std::vector<FragmentMatch> matches;
        if (given)
            FM::convert(locations, noArray(), noArray(), status, noArray(), matches);
        else
            FM::convert(locations, noArray(), noArray(), noArray(), noArray(), matches);
        ASSERT_EQ(2u, matches.size());
        EXPECT_EQ(FM::FOUND, matches[0].status);
        EXPECT_EQ(2u, matches[0].locations.size());
        EXPECT_EQ(0.f, matches[0].scores[1]);
        EXPECT_EQ(-1.f, matches[0].confidence);
        EXPECT_EQ(FM::NO_POSITION, matches[1].status);
        EXPECT_TRUE(matches[1].locations.empty());
    }
}

//! The peaks of one fragment are one row, which a std::vector can hold as well as a column.
TEST(FragmentMatcher_Outputs, rowInAVector)
{
    const Mat frame = randomImage(418, Size(40, 30), CV_8UC1);
    const Ptr<FM> matcher = FM::create(makeParams(FM::SAD, 3));
    matcher->setFragments(std::vector<Mat>(1, frame(Rect(7, 8, 6, 5)).clone()));
    Mat locations, scores;
    std::vector<Point> points;
    std::vector<float> values;
    matcher->match(frame, noArray(), locations, scores);
    matcher->match(frame, noArray(), points, values);
    ASSERT_EQ(Size(3, 1), locations.size());
    EXPECT_TRUE(sameBits(locations, columnOf(points).reshape(0, 1)));
    EXPECT_TRUE(sameBits(scores, columnOf(values).reshape(0, 1)));
}

TEST(FragmentMatcher_Outputs, findAndConvert)
{
    const Scene scene = randomScene(417, makeParams(FM::SAD, 5, FM::SQUARE, 9, FM::FULL, true), CV_8UC3, SOME_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = expected(scene);
    std::vector<FragmentMatch> found, converted;
    matcher->find(scene.frame, scene.areas, found);
    FM::convert(truth.locations, truth.scores, truth.confidence, truth.status, truth.refined, converted);
    ASSERT_EQ(scene.templates.size(), found.size());
    ASSERT_EQ(scene.templates.size(), converted.size());
    for (const std::vector<FragmentMatch>& matches : {found, converted})
        for (int i = 0; i < static_cast<int>(matches.size()); ++i)
        {
            const FragmentMatch& match = matches[i];
            EXPECT_EQ(truth.status.at<uchar>(i), match.status);
            EXPECT_EQ(truth.confidence.at<float>(i), match.confidence);
            ASSERT_EQ(match.locations.size(), match.scores.size());
            ASSERT_EQ(match.locations.size(), match.refined.size());
            for (int j = 0; j < 5; ++j)
            {
                const bool valid = truth.locations.at<Point>(i, j).x >= 0;
                ASSERT_EQ(valid, j < static_cast<int>(match.locations.size()));
                if (!valid)
                    continue;
                EXPECT_EQ(truth.locations.at<Point>(i, j), match.locations[j]);
                EXPECT_EQ(truth.refined.at<Point2f>(i, j), match.refined[j]);
                EXPECT_EQ(truth.scores.at<float>(i, j), match.scores[j]);
            }
        }
}

//! Integer maps of the largest fragments for which they are possible.
TEST(FragmentMatcher_Maps, integers)
{
    RNG rng(418);
    const Size sad(128, 86), ssd(43, 1); // 11,008 and 43 pixels
    for (const int metric : {FM::SAD, FM::SSD})
    {
        const Size size = metric == FM::SAD ? sad : ssd;
        const Mat templ(size, CV_8UC3, Scalar::all(255));
        Mat frame = randomImage(rng, size + Size(4, 3), CV_8UC3);
        frame(Rect(Point(1, 1), size)).setTo(0);
        const Ptr<FM> matcher = FM::create(makeParams(metric));
        matcher->setFragments(std::vector<Mat>(1, templ));
        Mat map, exact, all;
        std::vector<int> offsets;
        matcher->scoreMap(0, frame, Rect(), map, CV_32S);
        matcher->scoreMap(0, frame, Rect(), exact, CV_64F);
        ASSERT_EQ(Size(5, 4), map.size());
        ASSERT_EQ(CV_32SC1, map.type());
        Mat wide(map.size(), CV_64F); // Mat::convertTo() rounds integers to float on AArch64
        for (int y = 0; y < map.rows; ++y)
            for (int x = 0; x < map.cols; ++x)
                wide.at<double>(y, x) = map.at<int>(y, x);
        EXPECT_TRUE(sameBits(exact, wide));
        const oracle::Map truth = oracle::scoreMap(frame, templ, Mat(), Rect(Point(), frame.size()), metric);
        EXPECT_TRUE(sameBits(columnOf(truth.costs), exact.clone().reshape(1, 20)));
        matcher->scoreMaps(frame, noArray(), all, offsets, CV_32S);
        EXPECT_TRUE(sameBits(map.clone().reshape(1, 1), all));
    }
}

TEST(FragmentMatcher_Maps, noPosition)
{
    const Ptr<FM> matcher = FM::create();
    matcher->setFragments(std::vector<Mat>(2, Mat(9, 9, CV_8UC1, Scalar(1))));
    Mat map, all;
    std::vector<int> offsets;
    matcher->scoreMap(0, Mat(8, 30, CV_8UC1, Scalar(1)), Rect(), map);
    EXPECT_TRUE(map.empty());
    matcher->scoreMaps(Mat(8, 30, CV_8UC1, Scalar(1)), noArray(), all, offsets);
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(std::vector<int>(3, 0), offsets);
}

//! Points and rectangles as rows of single integers, as numpy writes lists of them, are accepted everywhere.
TEST(FragmentMatcher_Areas, rowsOfIntegers)
{
    RNG rng(422);
    for (const int search : {FM::FULL, FM::THREE_STEP})
    {
        const FM::Params params = makeParams(FM::SAD, 1, FM::SQUARE, 0, search, true);
        const Scene scene = randomScene(rng, params, CV_8UC1, NO_WEIGHTS);
        const Ptr<FM> matcher = FM::create(params);
        give(*matcher, scene);
        const Mat areas = asRoi(columnOf(scene.areas).reshape(1)), starts = asRoi(scene.predictions.reshape(1));
        ASSERT_EQ(Size(4, 8), areas.size());
        ASSERT_EQ(Size(2, 8), starts.size());
        matcher->setPredictions(starts);
        const Result truth = expected(scene), result = run(*matcher, scene.frame, areas);
        expectSame(truth, result);

        Mat all, same, next, again;
        std::vector<int> offsets, sameOffsets;
        matcher->scoreMaps(scene.frame, scene.areas, all, offsets);
        matcher->scoreMaps(scene.frame, areas, same, sameOffsets);
        EXPECT_EQ(offsets, sameOffsets);
        EXPECT_TRUE(sameBits(all, same));

        const Mat locations = asRoi(truth.locations.reshape(1));
        matcher->predictAreas(truth.locations, 3, scene.frame.size(), next);
        matcher->predictAreas(locations, 3, scene.frame.size(), again);
        EXPECT_TRUE(sameBits(next, again));
        std::vector<FragmentMatch> matches;
        matcher->convert(locations, truth.scores, truth.confidence, truth.status, truth.refined, matches);
        ASSERT_EQ(8u, matches.size());
        for (int i = 0; i < 8; ++i)
        {
            const Point at = truth.locations.at<Point>(i);
            EXPECT_EQ(at.x < 0 ? std::vector<Point>() : std::vector<Point>(1, at), matches[i].locations);
        }
    }
}

TEST(FragmentMatcher_Areas, predict)
{
    Scene scene = randomScene(419, makeParams(FM::SAD, 2), CV_8UC1, NO_WEIGHTS, Size(83, 61), 24, 40);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result result = run(*matcher, scene);
    const Rect frame(Point(), scene.frame.size());
    int lost = 0;
    for (const int radius : {0, 1, 5, 200})
    {
        Mat areas;
        matcher->predictAreas(result.locations, radius, frame.size(), areas);
        ASSERT_EQ(CV_32SC4, areas.type());
        ASSERT_EQ(Size(1, 40), areas.size());
        for (int i = 0; i < areas.rows; ++i)
        {
            const Point at = result.locations.at<Point>(i, 0);
            const Rect area = areas.at<Rect>(i);
            if (at.x < 0)
            {
                EXPECT_TRUE(area.empty()) << area;
                ++lost;
                continue;
            }
            const Size size = scene.templates[i].size() + Size(2 * radius, 2 * radius);
            EXPECT_EQ(Rect(at - Point(radius, radius), size) & frame, area);
        }
        // What was lost stays lost; with radius 0 the rest stays where it is.
        scene.areas.assign(areas.begin<Rect>(), areas.end<Rect>());
        const Result next = run(*matcher, scene.frame, areas);
        expectSame(expected(scene), next);
        EXPECT_TRUE(radius > 0 || sameBits(result.locations.col(0).clone(), next.locations.col(0).clone()));
    }
    EXPECT_GT(lost, 0) << "the scene has none to lose";

    // Frames that end before the fragment begins.
    for (const Size small : {Size(83, 5), Size(5, 61), Size(0, 0), Size(30, 30)})
    {
        Mat areas;
        matcher->predictAreas(result.locations, 3, small, areas);
        for (int i = 0; i < areas.rows; ++i)
        {
            const Point at = result.locations.at<Point>(i, 0);
            const Rect grown(at - Point(3, 3), scene.templates[i].size() + Size(6, 6));
            EXPECT_EQ(at.x < 0 ? Rect() : grown & Rect(Point(), small), areas.at<Rect>(i));
        }
    }
}

TEST(FragmentMatcher_Warp, identityAndQuarterTurns)
{
    RNG rng(420);
    const Mat templ = randomImage(rng, Size(21, 14), CV_8UC3), mask = weightsOf(rng, templ.size(), WEIGHTS_8U, 0);
    Mat warped, weights, turned;
    FM::warpFragment(templ, mask, 0, 1, warped, weights);
    EXPECT_TRUE(sameBits(templ, warped));
    EXPECT_TRUE(sameBits(mask, weights));
    FM::warpFragment(templ, noArray(), 0, 1, warped, weights);
    EXPECT_TRUE(sameBits(Mat(templ.size(), CV_8UC1, Scalar(255)), weights));

    const int codes[] = {ROTATE_90_COUNTERCLOCKWISE, ROTATE_180, ROTATE_90_CLOCKWISE};
    for (int i = 0; i < 3; ++i)
    {
        FM::warpFragment(templ, mask, 90. * (i + 1), 1, warped, weights);
        cv::rotate(templ, turned, codes[i]);
        ASSERT_EQ(turned.size(), warped.size()) << "quarter turn " << i + 1;
        // Bilinear interpolation in fixed point may be off by one on whole pixels.
        EXPECT_LE(cvtest::norm(turned, warped, NORM_INF), 1.) << "quarter turn " << i + 1;
        cv::rotate(mask, turned, codes[i]);
        EXPECT_LE(cvtest::norm(turned, weights, NORM_INF), 1.) << "quarter turn " << i + 1;
    }
}

//! Whole turns change nothing, however many there are.
TEST(FragmentMatcher_Warp, anglesOfManyTurns)
{
    const Mat templ = randomImage(422, Size(21, 14), CV_8UC3);
    Mat expected, expectedWeights, warped, weights;
    for (const double angle : {360e5 + 30., -360e5 + 30., 360. * (1ll << 42) + 30., 6e307, -6e307, 1.7e308})
    {
        FM::warpFragment(templ, noArray(), std::fmod(angle, 360.), 1, expected, expectedWeights);
        FM::warpFragment(templ, noArray(), angle, 1, warped, weights);
        EXPECT_GE(std::min(warped.cols, warped.rows), 14) << angle;
        EXPECT_TRUE(sameBits(expected, warped)) << angle;
        EXPECT_TRUE(sameBits(expectedWeights, weights)) << angle;
    }
}

//! A fragment warped like the image is found in it, and its corners, which are no part of the source, have no weight.
TEST(FragmentMatcher_Warp, findsTheTurnedImage)
{
    const Mat frame = randomImage(421, Size(160, 120), CV_8UC3, 7);
    const Rect at(70, 50, 24, 20);
    const Point2f centre(at.x + at.width / 2.f - 0.5f, at.y + at.height / 2.f - 0.5f);
    for (const double angle : {20., -35., 130.})
        for (const double scale : {1., 1.4, 0.8})
        {
            Mat turned, templ, weights;
            warpAffine(frame, turned, getRotationMatrix2D(centre, angle, scale), frame.size(), INTER_LINEAR,
                       BORDER_REFLECT);
            FM::warpFragment(frame(at), noArray(), angle, scale, templ, weights);
            ASSERT_EQ(templ.size(), weights.size());
            EXPECT_EQ(CV_8UC1, weights.type());
            EXPECT_EQ(0, weights.at<uchar>(0, 0));
            const double share = countNonZero(weights) / (at.area() * scale * scale);
            EXPECT_NEAR(1., share, 0.25) << "weights cover the source's area";
            const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC));
            matcher->addFragment(templ, weights);
            std::vector<FragmentMatch> matches;
            matcher->find(turned, noArray(), matches);
            const Point2f middle = Point2f(matches[0].locations[0]) + Point2f(templ.cols - 1.f, templ.rows - 1.f) / 2.f;
            EXPECT_LE(cv::norm(middle - centre), 1.5) << "angle " << angle << " scale " << scale;
            EXPECT_GT(matches[0].scores[0], 0.9f);
        }
}

}} // namespace opencv_test
