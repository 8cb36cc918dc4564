// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Compares the CPU backend with the oracle: every output and option, bit by bit.
#include "scenes.hpp"
#include <thread>

namespace opencv_test { namespace {

using namespace scenes;

using FragmentMatcher_Oracle = OfCombination;

TEST_P(FragmentMatcher_Oracle, match)
{
    RNG rng = numbersOf(0x5DEECE66Du);
    for (const FM::Params& params : allOptions(metric))
    {
        SCOPED_TRACE(describe(params));
        const Scene scene = randomScene(rng, params, type, weightKind);
        ASSERT_NO_FATAL_FAILURE(expectSame(expected(scene), runCpu(scene)));
        if (HasFailure())
            return; // one report is enough
    }
}

TEST_P(FragmentMatcher_Oracle, scoreMaps)
{
    RNG rng = numbersOf(0xB5297A4Du);
    Scene scene = randomScene(rng, makeParams(metric), type, weightKind, Size(83, 61), 24, 12);
    const Ptr<FM> matcher = matcherOf(scene);
    for (const int depth : {CV_32F, CV_64F})
    {
        if (metric == FM::ZNCC && depth != CV_32F)
            continue;
        Mat all, map;
        std::vector<int> offsets;
        matcher->scoreMaps(scene.frame, scene.areas, all, offsets, depth);
        ASSERT_EQ(scene.templates.size() + 1, offsets.size());
        EXPECT_EQ(0, offsets[0]);
        ASSERT_EQ(offsets.back(), all.cols);
        for (size_t i = 0; i < scene.templates.size(); ++i)
        {
            SCOPED_TRACE(cv::format("fragment %d, depth %d", static_cast<int>(i), depth));
            const Mat weights = scene.weights.empty() ? Mat() : scene.weights[i];
            const Rect area = !scene.areas[i].empty() ? scene.areas[i] : Rect(Point(), scene.frame.size());
            const oracle::Map truth = oracle::scoreMap(scene.frame, scene.templates[i], weights, area, metric);
            const Mat flat = depth == CV_32F ? columnOf(truth.scores) : columnOf(truth.costs);

            matcher->scoreMap(static_cast<int>(i), scene.frame, area, map, depth);
            ASSERT_EQ(truth.positions, map.size());
            if (!map.empty())
            {
                EXPECT_TRUE(sameBits(flat, map.clone().reshape(1, static_cast<int>(map.total())))) << "scoreMap";
            }

            // An empty area is none in a list of areas, and the whole frame in scoreMap().
            const int elements = !scene.areas[i].empty() ? static_cast<int>(flat.total()) : 0;
            ASSERT_EQ(elements, offsets[i + 1] - offsets[i]);
            if (elements > 0)
            {
                const Mat part = all.colRange(offsets[i], offsets[i + 1]).clone().reshape(1, elements);
                EXPECT_TRUE(sameBits(flat, part)) << "scoreMaps";
            }
        }
    }
}

INSTANTIATE_TEST_CASE_P(/**/, FragmentMatcher_Oracle, allCombinations());

TEST(FragmentMatcher_Sizes, aroundVectorWidths)
{
    aroundVectorWidths(20261, {1, 2, 7, 31, 32, 33, 65},
                       [](const Scene& scene) { expectSame(expected(scene), runCpu(scene)); });
}

//! A fragment as large as the frame, and frames of one row, one column and one pixel.
TEST(FragmentMatcher_Sizes, frameIsTheFragment)
{
    RNG rng(20262);
    for (const Size size : {Size(1, 1), Size(1, 40), Size(40, 1), Size(40, 30)})
        for (const int metric : METRICS)
            for (const int type : typesOf(metric))
            {
                Scene scene;
                scene.params = makeParams(metric, 2, FM::SQUARE, 0, FM::FULL, true);
                scene.frame = randomImage(rng, size, type);
                scene.templates.push_back(scene.frame.clone());
                const Result result = runCpu(scene);
                expectSame(expected(scene), result);
                EXPECT_EQ(Point(0, 0), result.locations.at<Point>(0, 0));
                EXPECT_EQ(Point(-1, -1), result.locations.at<Point>(0, 1)) << "there is no second position";
                EXPECT_EQ(-1.f, result.confidence.at<float>(0));
                const bool flat = metric == FM::ZNCC && size == Size(1, 1);
                EXPECT_EQ(flat ? FM::FLAT_FRAGMENT : FM::FOUND, result.status.at<uchar>(0));
                EXPECT_EQ(metric == FM::ZNCC && !flat ? 1.f : 0.f, result.scores.at<float>(0, 0));
            }
}

//! 32,767 px is the longest side.
TEST(FragmentMatcher_Sizes, longestSides)
{
    RNG rng(20263);
    for (const int metric : METRICS)
        for (const Size size : {Size(32767, 3), Size(3, 32767)})
        {
            const Mat frame = randomImage(rng, size, CV_8UC1, 1);
            const bool wide = size.width > 3;
            const Rect at(wide ? 32767 - 9 : 1, wide ? 1 : 32767 - 7, wide ? 9 : 2, wide ? 2 : 7);
            const Ptr<FM> matcher = FM::create(makeParams(metric));
            matcher->setFragments(std::vector<Mat>(1, frame(at)));
            const Result result = run(*matcher, frame, noArray());
            EXPECT_EQ(at.tl(), result.locations.at<Point>(0, 0));
            EXPECT_EQ(metric == FM::ZNCC ? 1.f : 0.f, result.scores.at<float>(0, 0));
        }
}

TEST(FragmentMatcher_Accuracy, wholeFrameWithoutAreas)
{
    RNG rng(20264);
    for (const int metric : METRICS)
    {
        Scene scene = randomScene(rng, makeParams(metric, 4), CV_8UC3, SOME_WEIGHTS);
        scene.areas.clear();
        expectSame(expected(scene), runCpu(scene));
        const std::vector<Rect> whole(scene.templates.size(), Rect(Point(), scene.frame.size()));
        const Ptr<FM> matcher = matcherOf(scene);
        expectSame(run(*matcher, scene), run(*matcher, scene.frame, whole));
        // Whatever is empty stands for noArray(), as the Python bindings give it.
        expectSame(run(*matcher, scene), run(*matcher, scene.frame, Mat()));
        expectSame(run(*matcher, scene), run(*matcher, scene.frame, cuda::GpuMat()));
    }
}

//! Areas as vector<Rect>, as a column, as a row and as part of a larger matrix.
TEST(FragmentMatcher_Accuracy, formsOfAreas)
{
    const Scene scene = randomScene(20265, makeParams(FM::SAD), CV_8UC3, NO_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = expected(scene);
    const Mat column = columnOf(scene.areas);
    ASSERT_EQ(CV_32SC4, column.type());
    expectSame(truth, run(*matcher, scene.frame, scene.areas));
    expectSame(truth, run(*matcher, scene.frame, column));
    expectSame(truth, run(*matcher, scene.frame, column.reshape(4, 1)));
    expectSame(truth, run(*matcher, scene.frame, asRoi(column)));
    expectSame(truth, run(*matcher, scene.frame, column.getUMat(ACCESS_READ)));
}

//! Coordinates whose sums do not fit into int.
TEST(FragmentMatcher_Accuracy, hugeAreas)
{
    Scene scene = randomScene(20266, makeParams(FM::SAD), CV_8UC1, NO_WEIGHTS, Size(50, 40), 9, 7);
    scene.areas = hugeAreas();
    expectSame(expected(scene), runCpu(scene));
}

//! Metrics and options may be changed with the fragments in place.
TEST(FragmentMatcher_Accuracy, parametersChangeUnderFragments)
{
    Scene scene = randomScene(20267, makeParams(FM::SAD), CV_8UC3, SOME_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    matcher->setPredictions(scene.predictions);
    for (const int metric : {FM::ZNCC, FM::SAD, FM::SSD, FM::ZNCC})
        for (const int search : {FM::THREE_STEP, FM::FULL})
        {
            scene.params = makeParams(metric, 3, FM::CROSS, 2, search, true);
            matcher->setParams(scene.params);
            expectSame(expected(scene), run(*matcher, scene));
        }
}

//! Without a prediction the walk starts at the centre; noArray() and empty arrays take predictions back.
TEST(FragmentMatcher_Accuracy, threeStepWithoutPredictions)
{
    RNG rng(20268);
    for (const int metric : METRICS)
    {
        const Scene scene =
            randomScene(rng, makeParams(metric, 2, FM::SQUARE, 3, FM::THREE_STEP), CV_8UC1, SOME_WEIGHTS);
        const Result truth =
            oracle::match(scene.frame, scene.templates, scene.weights, scene.areas, Mat(), scene.params);
        const Ptr<FM> matcher = FM::create(scene.params);
        matcher->setFragments(scene.templates, scene.weights);
        expectSame(truth, run(*matcher, scene));
        matcher->setPredictions(scene.predictions);
        expectSame(expected(scene), run(*matcher, scene));
        matcher->setPredictions(noArray());
        expectSame(truth, run(*matcher, scene));
        for (const Mat& empty : {Mat(), Mat(0, 1, CV_32SC2), Mat(0, 2, CV_32SC1)})
        {
            matcher->setPredictions(scene.predictions);
            matcher->setPredictions(empty);
            expectSame(truth, run(*matcher, scene));
        }
        matcher->setPredictions(scene.predictions);
        matcher->setPredictions(std::vector<Point>());
        expectSame(truth, run(*matcher, scene));
    }
}

//! Locations of match() are good predictions as they are, further peaks and (-1,-1) included.
TEST(FragmentMatcher_Accuracy, predictionsFromLocations)
{
    Scene scene = randomScene(20269, makeParams(FM::SAD, 3), CV_8UC1, NO_WEIGHTS);
    const Result first = runCpu(scene);
    scene.params.search = FM::THREE_STEP;
    scene.predictions = first.locations;
    expectSame(expected(scene), runCpu(scene));
}

//! A Mat is kept by reference, so that values written to it later are used.
TEST(FragmentMatcher_Accuracy, predictionsMayChangeInPlace)
{
    Scene scene = randomScene(20271, makeParams(FM::SAD, 1, FM::SQUARE, 0, FM::THREE_STEP), CV_8UC1, NO_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    Mat starts(static_cast<int>(scene.templates.size()), 1, CV_32SC2, Scalar(2, 3));
    matcher->setPredictions(starts);
    scene.predictions = starts;
    const Result before = run(*matcher, scene);
    expectSame(expected(scene), before);
    starts.setTo(Scalar(60, 40));
    expectSame(expected(scene), run(*matcher, scene));
    EXPECT_FALSE(sameBits(before.locations, run(*matcher, scene).locations)) << "the start does not matter here";
}

TEST(FragmentMatcher_Accuracy, independentOfThreads)
{
    struct Restore
    {
        ~Restore() { setNumThreads(-1); }
    } restore;
    RNG rng(20270);
    for (const int metric : METRICS)
    {
        // Many small fragments, and one large one whose rows must be shared out.
        Scene scenes[] = {randomScene(rng, makeParams(metric, 3), CV_8UC3, SOME_WEIGHTS, Size(90, 70), 16, 40),
                          randomScene(rng, makeParams(metric, 3), CV_8UC1, WEIGHTS_8U, Size(150, 120), 40, 1)};
        scenes[1].areas.clear();
        for (const Scene& scene : scenes)
        {
            setNumThreads(1);
            const Result one = runCpu(scene);
            for (const int threads : {2, 3, 8})
            {
                setNumThreads(threads);
                expectSame(one, runCpu(scene));
            }
        }
    }
}

//! 8 threads, each with its own instance, at the same time.
TEST(FragmentMatcher_Accuracy, instancesOnThreads)
{
    const int count = 8;
    std::vector<Scene> list;
    std::vector<Result> truths(count), results(count);
    RNG rng(20271);
    for (int i = 0; i < count; ++i)
    {
        list.push_back(randomScene(rng, makeParams(i % 3, 1 + i % 4), i % 2 ? CV_8UC3 : CV_8UC1, i % 4));
        truths[i] = expected(list[i]);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back(
            [&, i]
            {
                for (int again = 0; again < 5; ++again)
                    results[i] = runCpu(list[i]);
            });
    for (std::thread& thread : threads)
        thread.join();
    for (int i = 0; i < count; ++i)
        expectSame(truths[i], results[i]);
}

TEST(FragmentMatcher_Accuracy, largeSums)
{
    largeSums(20272, {Size(257, 139), Size(131, 129)},
              [](const Scene& scene) { expectSame(expected(scene), runCpu(scene)); });
}

//! Areas large and small in one call, at odd places of a larger frame, with weights that are all equal among others.
TEST(FragmentMatcher_Accuracy, largeAndSmallAreas)
{
    RNG rng(20273);
    int round = 0;
    for (const int metric : METRICS)
        for (const int type : typesOf(metric))
            for (const int kind : {NO_WEIGHTS, SOME_WEIGHTS})
            {
                SCOPED_TRACE(cv::format("metric %d type %d weights %d", metric, type, kind));
                const int search = ++round % 3 == 0 ? FM::THREE_STEP : FM::FULL;
                Scene scene = randomScene(rng, makeParams(metric, 4, FM::SQUARE, 0, search, true), type, kind,
                                          Size(211, 173), 13, 5);
                scene.areas = {Rect(7, 5, 180, 150), Rect(50, 40, 30, 30), Rect(31, 17, 400, 133), Rect(60, 30, 41, 25),
                               Rect(13, 60, 160, 140)};
                if (kind == SOME_WEIGHTS)
                {
                    scene.weights[0] = Mat(scene.templates[0].size(), CV_8UC1, Scalar(1 + 23 * round % 255));
                    scene.weights[1] = Mat(scene.templates[1].size(), CV_32FC1, Scalar(0.3));
                }
                expectSame(expected(scene), runCpu(scene));
                if (HasFailure())
                    return;
            }
}

//! A walk alone scores single positions: here with sums that need more than 32 bits, and rows of all lengths.
TEST(FragmentMatcher_Accuracy, walkOfLargeFragments)
{
    RNG rng(20274);
    int round = 0;
    for (const int metric : METRICS)
        for (const Size size : {Size(17, 3), Size(31, 33), Size(48, 47), Size(229, 231), Size(601, 447)})
            for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3})
            {
                if (!isTaken(metric, type, size))
                    continue;
                SCOPED_TRACE(cv::format("metric %d %d x %d type %d", metric, size.width, size.height, type));
                const FM::Params params = makeParams(metric, 1, FM::SQUARE, 0, FM::THREE_STEP, true);
                Scene scene = negativeScene(rng, params, size, Size(6, 5), type);
                for (const int kind : {NO_WEIGHTS, WEIGHTS_8U, WEIGHTS_32F})
                {
                    scene.weights.clear();
                    if (kind != NO_WEIGHTS)
                        scene.weights.push_back(kind == WEIGHTS_8U && ++round % 2 ? Mat(size, CV_8UC1, Scalar(255))
                                                                                  : weightsOf(rng, size, kind, 0));
                    expectSame(expected(scene), runCpu(scene));
                }
                if (HasFailure())
                    return;
            }
}

//! Products of large fragments may come from Fourier transforms, which must not round a single sum wrongly. Extremes,
//! noise, and rows of 32,767 pixels; positions at borders of the window and of tiles, and anywhere, against plain
//! loops.
TEST(FragmentMatcher_Large, sums)
{
    struct Case
    {
        Size frame, fragment;
        int type, low, high; //!< values are low or high; if high < low, all values in between
    };
    const Case cases[] = {
        {Size(300, 290), Size(232, 232), CV_8UC3, 255, 255},  {Size(530, 470), Size(232, 232), CV_8UC3, 0, 255},
        {Size(700, 400), Size(150, 100), CV_8UC1, 1, 0},      {Size(640, 360), Size(97, 203), CV_8UC4, 1, 0},
        {Size(1290, 611), Size(64, 49), CV_8UC3, 0, 255},     {Size(803, 607), Size(41, 80), CV_8UC1, 254, 255},
        {Size(32767, 140), Size(120, 110), CV_8UC1, 254, 255}};
    RNG rng(0x7FEB352Du);
    for (const Case& c : cases)
        for (const int metric : {FM::SSD, FM::ZNCC})
            for (const bool weighted : {false, true})
            {
                SCOPED_TRACE(cv::format("%d x %d in %d x %d, metric %d, weighted %d", c.fragment.width,
                                        c.fragment.height, c.frame.width, c.frame.height, metric, weighted));
                Mat frame(c.frame, c.type), templ(c.fragment, c.type);
                for (Mat* image : {&frame, &templ})
                {
                    rng.fill(*image, RNG::UNIFORM, 0, 256);
                    if (c.low <= c.high)
                        Mat(*image & Scalar::all(1)).convertTo(*image, -1, c.high - c.low, c.low);
                }
                const Mat weights = weighted ? randomWeights(rng, c.fragment, CV_8UC1) : Mat();
                const Ptr<FM> matcher = FM::create(makeParams(metric));
                matcher->setFragments(std::vector<Mat>(1, templ), std::vector<Mat>(1, weights));
                Mat map;
                matcher->scoreMap(0, frame, Rect(), map, metric == FM::ZNCC ? CV_32F : CV_64F);
                const int count = std::max(24, 1000000 / c.fragment.area());
                for (int i = 0; i < count; ++i)
                {
                    const int y = i % 3 == 0 ? 0 : i % 3 == 1 ? map.rows - 1 : rng.uniform(0, map.rows);
                    const Point at(i % 4 == 0 ? 0 : i % 4 == 1 ? map.cols - 1 : rng.uniform(0, map.cols), y);
                    const oracle::Map truth = oracle::scoreMap(frame, templ, weights, Rect(at, c.fragment), metric);
                    if (metric == FM::ZNCC)
                        ASSERT_EQ(truth.score(Point()), map.at<float>(at)) << at;
                    else
                        ASSERT_EQ(truth.cost(Point()), map.at<double>(at)) << at;
                }
            }
}

}} // namespace opencv_test
