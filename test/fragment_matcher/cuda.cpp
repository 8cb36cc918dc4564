// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Compares the CUDA backend with the CPU backend: every output and option, bit by bit. Skipped without a device.
#include "scenes_cuda.hpp"

namespace opencv_test { namespace {

using namespace scenes;

using FragmentMatcher_CudaOptions = NeedsCuda<OfCombination>;

TEST_P(FragmentMatcher_CudaOptions, match)
{
    RNG rng = numbersOf(0x1F123BB5u);
    for (const FM::Params& params : allOptions(metric))
    {
        SCOPED_TRACE(describe(params));
        if (!expectEnginesAgree(randomScene(rng, params, type, weightKind)))
            return;
    }
}

//! Windows too large for one block of threads, alone and mixed with small ones.
TEST_P(FragmentMatcher_CudaOptions, largeWindows)
{
    RNG rng = numbersOf(0x68E31DA4u);
    int round = 0;
    for (const int exclusion : {FM::SQUARE, FM::CROSS})
        for (const int search : {FM::FULL, FM::THREE_STEP})
            for (const int peaks : {1, 2, 7})
            {
                const FM::Params params = gaussianParams(metric, peaks, exclusion, ++round % 3 * 20, search);
                SCOPED_TRACE(describe(params));
                Scene scene = randomScene(rng, params, type, weightKind, Size(190 + round * 7, 140 + round * 3), 40, 6);
                scene.areas[1] = Rect(Point(), scene.frame.size());
                scene.areas[4] = Rect(11, 7, 150, 120);
                expectEnginesAgree(scene);
                scene.areas.clear();
                if (!expectEnginesAgree(scene))
                    return;
            }
}

//! Few large fragments in small windows, whose rows several blocks share: windows of all widths of groups, ties,
//! several sizes.
TEST_P(FragmentMatcher_CudaOptions, slices)
{
    RNG rng = numbersOf(0x510E527Fu);
    int round = 0;
    for (const Size window : {Size(1, 1), Size(20, 1), Size(21, 30), Size(36, 36), Size(37, 5), Size(68, 33),
                              Size(69, 70), Size(101, 40), Size(3, 110)})
    {
        const int peaks = ++round % 4 == 0 ? 16 : round % 4, search = round % 5 == 0 ? FM::THREE_STEP : FM::FULL;
        const int exclusion = round % 2 == 0 ? FM::CROSS : FM::SQUARE;
        Scene scene;
        scene.params = makeParams(metric, peaks, exclusion, 2 + round % 7, search, round % 3 != 0);
        SCOPED_TRACE(cv::format("window %d x %d, ", window.width, window.height) + describe(scene.params));
        scene.frame = randomImage(rng, Size(260, 250), type);
        if (round % 3 == 0) // equal scores at many places
            repeat(scene.frame(Rect(0, 0, 13, 10)).clone(), 25, 20, scene.frame);
        for (const Size size : {Size(97, 83), Size(64, 131), Size(97, 83)})
        {
            const Rect area(uniform(rng, Point(), Point(9, 7)), size + window - Size(1, 1));
            const Point at = uniform(rng, Point(), Point(window.width, window.height));
            scene.areas.push_back(area);
            scene.templates.push_back(scene.frame(Rect(area.tl() + at, size)).clone());
            scene.weights.push_back(weightsOf(rng, size, weightKind, round));
            scene.predictions.push_back(area.tl() + at / 2);
            if (!expectEnginesAgree(scene))
                return;
        }
    }
}

//! Work enough for matrix instructions: fragments of all widths of bands, sums beyond 32 bits, batches of mixed sizes.
TEST_P(FragmentMatcher_CudaOptions, manyProducts)
{
    RNG rng = numbersOf(0x3B8F4898u);
    int round = 0;
    for (const Size size : {Size(57, 60), Size(130, 25), Size(17, 139), Size(74, 74), Size(41, 97), Size(161, 153)})
    {
        SCOPED_TRACE(cv::format("%d x %d", size.width, size.height));
        const FM::Params params = gaussianParams(metric, 1 + round % 3);
        Scene scene = randomScene(rng, params, type, weightKind, Size(487 + 5 * round, 433 + round), 40, 3);
        const Point at = uniform(rng, Point(), Point(300, 200));
        scene.templates[1] = asRoi(scene.frame(Rect(at, size)));
        if (!scene.weights.empty())
            scene.weights[1] = asRoi(weightsOf(rng, size, weightKind, 1));
        for (Rect& area : scene.areas)
            area = Rect(Point(), scene.frame.size());
        scene.areas[1] = Rect(round, 2 * round, 480, 430); // begins anywhere in a word
        ++round;
        if (!expectEnginesAgree(scene))
            return;
    }
}

//! One fragment, work enough for matrix instructions.
TEST_P(FragmentMatcher_CudaOptions, oneWindow)
{
    RNG rng = numbersOf(0x7C0FFEE1u);
    const Size frames[] = {Size(400, 330),  Size(529, 403),  Size(768, 576), Size(801, 699),
                           Size(1000, 701), Size(1100, 960), Size(612, 601), Size(613, 611)};
    const Size sizes[] = {Size(90, 71), Size(60, 56), Size(52, 52),  Size(49, 41),
                          Size(58, 40), Size(26, 25), Size(25, 256), Size(57, 257)};
    for (int round = 0; round < 8; ++round)
    {
        if (weightKind != 0 && round > 0)
            break; // another route
        const Size size = sizes[round];
        SCOPED_TRACE(cv::format("%d x %d", size.width, size.height));
        const int exclusion = round % 3 == 1 ? FM::CROSS : FM::SQUARE;
        const FM::Params params = makeParams(metric, 1 + round % 4, exclusion, 0, FM::FULL, round % 2 == 0);
        Scene scene = randomScene(rng, params, type, weightKind, frames[round], 20, 1);
        const Point at =
            uniform(rng, Point(), Point(frames[round].width - size.width, frames[round].height - size.height));
        scene.templates[0] = scene.frame(Rect(at, size)).clone();
        if (!scene.weights.empty())
            scene.weights[0] = weightsOf(rng, size, weightKind, 1);
        scene.areas.clear();
        expectEnginesAgree(scene);
        scene.areas = {Rect(round, 1 + round, frames[round].width - 2 * round, frames[round].height - round - 2)};
        if (!expectEnginesAgree(scene))
            return;
    }
}

//! Checks that the result does not depend on the address of the frame modulo 16 bytes, the most that kernels read at
//! once. @return false if anything in the test has failed.
bool expectSameAtAllAddresses(const Scene& scene)
{
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = runOnDevice(*matcher, uploadRoi(scene.frame), scene.areas);
    const Size size = scene.frame.size();
    const GpuMat larger(size.height, size.width + 16, scene.frame.type());
    for (int column = 0; column < 16; ++column)
    {
        SCOPED_TRACE(cv::format("column %d", column));
        GpuMat frame = larger(Rect(Point(column, 0), size));
        frame.upload(scene.frame);
        expectSame(truth, runOnDevice(*matcher, frame, scene.areas));
    }
    return !testing::Test::HasFailure();
}

//! Many small windows, work enough for matrix instructions: fragments of several sizes, windows from single rows and
//! columns on.
TEST_P(FragmentMatcher_CudaOptions, manySmallWindows)
{
    RNG rng = numbersOf(0x9216D5D9u);
    const Size sizes[] = {Size(16, 16), Size(21, 23), Size(33, 30), Size(50, 17),
                          Size(25, 41), Size(3, 3),   Size(41, 3)};
    for (const int exclusion : {FM::SQUARE, FM::CROSS})
    {
        const int count = type == CV_8UC1 ? 700 : 300;
        const FM::Params params = gaussianParams(metric, 3, exclusion, exclusion == FM::CROSS ? 5 : 0);
        Scene scene = randomScene(rng, params, type, weightKind, Size(321, 243), 12, count);
        for (int i = 0; i < count; ++i)
        {
            const Size size = sizes[rng.uniform(0, 7)];
            const Point at = uniform(rng, Point(), Point(320 - size.width, 242 - size.height));
            scene.templates[i] = scene.frame(Rect(at, size)).clone();
            if (!scene.weights.empty() && !scene.weights[i].empty())
                scene.weights[i] = weightsOf(rng, size, weightKind, 1);
            const int height = i % 11 == 0 ? rng.uniform(0, 40) : 35;
            const Size more(i % 7 == 0 ? rng.uniform(0, 40) : 40, height);
            scene.areas[i] = Rect(at - uniform(rng, Point(), Point(40, 35)), size + more);
        }
        if (!expectEnginesAgree(scene) || !expectSameAtAllAddresses(scene))
            return;
    }
}

TEST_P(FragmentMatcher_CudaOptions, maps)
{
    RNG rng = numbersOf(0xA4093822u);
    for (const int depth : {CV_32F, CV_64F, CV_32S})
    {
        if ((metric == FM::ZNCC && depth != CV_32F) || (CV_MAT_DEPTH(type) == CV_16U && depth == CV_32S))
            continue;
        SCOPED_TRACE(cv::format("depth %d", depth));
        const int side = metric == FM::SSD && depth == CV_32S ? 6 : 24;
        const Scene scene = randomScene(rng, makeParams(metric), type, weightKind, Size(131, 97), side, 12);
        const Ptr<FM> matcher = matcherOf(scene);
        const GpuMat frame = uploadRoi(scene.frame);
        Mat truth, copied;
        GpuMat map;
        std::vector<int> offsets, same;
        for (size_t i = 0; i < scene.templates.size(); ++i)
        {
            const int index = static_cast<int>(i);
            const Rect area = i % 2 ? scene.areas[i] : Rect();
            matcher->scoreMap(index, scene.frame, area, truth, depth);
            matcher->scoreMap(index, frame, area, map, depth);
            EXPECT_TRUE(sameBits(truth, Mat(map))) << "fragment " << i;
            matcher->scoreMap(index, frame, area, copied, depth);
            EXPECT_TRUE(sameBits(truth, copied)) << "fragment " << i << ", to a Mat";
        }
        matcher->scoreMaps(scene.frame, scene.areas, truth, offsets, depth);
        matcher->scoreMaps(frame, scene.areas, map, same, depth);
        EXPECT_EQ(offsets, same);
        EXPECT_TRUE(sameBits(truth, Mat(map)));
        matcher->scoreMaps(frame, noArray(), copied, same, depth);
        matcher->scoreMaps(scene.frame, noArray(), truth, offsets, depth);
        EXPECT_EQ(offsets, same);
        EXPECT_TRUE(sameBits(truth, copied));
    }
}

INSTANTIATE_TEST_CASE_P(/**/, FragmentMatcher_CudaOptions, allCombinations());

using FragmentMatcher_Cuda = OnCuda;

TEST_F(FragmentMatcher_Cuda, sizesAroundVectorWidths)
{
    aroundVectorWidths(6101, {1, 2, 7, 31, 32, 33, 63, 65, 129}, expectEnginesAgree);
}

TEST_F(FragmentMatcher_Cuda, largeSums)
{
    largeSums(6102, {Size(147, 147), Size(148, 148), Size(149, 149), Size(232, 232), Size(257, 139), Size(300, 300)},
              expectEnginesAgree);
}

//! A large fragment in a large frame, and many positions of a very small one.
TEST_F(FragmentMatcher_Cuda, wholeImages)
{
    RNG rng(6103);
    for (const int metric : METRICS)
        for (const int type : typesOf(metric))
        {
            Scene scene = randomScene(rng, gaussianParams(metric, 3), type, SOME_WEIGHTS, Size(641, 479), 60, 4);
            scene.areas.clear();
            expectEnginesAgree(scene);
            scene.templates.resize(1), scene.weights.resize(1);
            scene.templates[0] = scene.frame(Rect(100, 50, 1, 1)).clone(), scene.weights[0].release();
            scene.predictions = scene.predictions.rowRange(0, 1);
            expectEnginesAgree(scene);
        }
}

TEST_F(FragmentMatcher_Cuda, walkOfLargeFragments)
{
    RNG rng(6116);
    for (const int metric : METRICS)
        for (const Size size : {Size(17, 3), Size(31, 33), Size(229, 231), Size(601, 447)})
            for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3})
                for (const int peaks : {1, 2})
                {
                    if (!isTaken(metric, type, size))
                        continue;
                    SCOPED_TRACE(
                        cv::format("metric %d %d x %d type %d K %d", metric, size.width, size.height, type, peaks));
                    const FM::Params params = gaussianParams(metric, peaks, FM::SQUARE, 2, FM::THREE_STEP);
                    Scene scene = negativeScene(rng, params, size, Size(6, 5), type);
                    expectEnginesAgree(scene);
                    scene.weights.push_back(weightsOf(rng, size, WEIGHTS_8U, 0));
                    expectEnginesAgree(scene);
                }
}

TEST_F(FragmentMatcher_Cuda, longestSides)
{
    RNG rng(6104);
    for (const int metric : METRICS)
        for (const Size size : {Size(32767, 3), Size(3, 32767)})
        {
            Scene scene;
            scene.params = makeParams(metric, 2);
            scene.frame = randomImage(rng, size, CV_8UC1, 1);
            const Rect at(size.width > 3 ? 32750 : 1, size.width > 3 ? 1 : 32750, 2, 2);
            scene.templates.push_back(scene.frame(at).clone());
            expectEnginesAgree(scene);
        }
}

//! Hundreds to thousands of fragments (few get more threads each), some with windows for the tile path.
TEST_F(FragmentMatcher_Cuda, manyFragments)
{
    RNG rng(6105);
    for (const int metric : METRICS)
        for (const int type : typesOf(metric))
            for (const int kind : {NO_WEIGHTS, SOME_WEIGHTS})
            {
                SCOPED_TRACE(cv::format("metric %d type %d weights %d", metric, type, kind));
                const int count = type == CV_8UC3 && kind == NO_WEIGHTS ? 3000 : 300;
                const FM::Params params = makeParams(metric, 2 + count % 7, FM::SQUARE, 0, FM::FULL, count == 300);
                Scene scene = randomScene(rng, params, type, kind, Size(320, 240), 12, count);
                scene.predictions = Mat();
                for (size_t i = 0; i < scene.areas.size(); ++i)
                    if (i % 500 != 7 && scene.areas[i].area() > 5000)
                        scene.areas[i] = Rect(scene.areas[i].tl() + Point(5, 5), Size(30 + i % 30, 25 + i % 9));
                if (!expectEnginesAgree(scene))
                    return;
            }
}

//! More tiles than the search of the peaks can hold in shared memory, and peaks in the last of them.
TEST_F(FragmentMatcher_Cuda, manyTiles)
{
    RNG rng(6118);
    for (const int metric : {FM::SAD, FM::ZNCC})
        for (const int exclusion : {FM::SQUARE, FM::CROSS})
        {
            Scene scene;
            scene.params = makeParams(metric, 4, exclusion, 40);
            scene.frame = randomImage(rng, Size(1610, 1003), CV_8UC1, 1);
            for (const Point at : {Point(1500, 960), Point(700, 990)})
                scene.templates.push_back(scene.frame(Rect(at, Size(4, 4))).clone());
            expectEnginesAgree(scene);
            EXPECT_EQ(Point(1500, 960), runCpu(scene).locations.at<Point>(0, 0));
        }
}

//! Ties across threads, warps, blocks and tiles.
TEST_F(FragmentMatcher_Cuda, ties)
{
    RNG rng(6106);
    for (const int metric : METRICS)
        for (int again = 0; again < 10; ++again)
        {
            const Size period = uniform(rng, Size(5, 5), Size(40, 30));
            Scene scene;
            scene.params = makeParams(metric, 16, again % 2 ? FM::CROSS : FM::SQUARE, 2);
            scene.frame = cv::repeat(randomImage(rng, period, CV_8UC1, 1), 8, 9);
            for (int i = 0; i < 3; ++i)
                scene.templates.push_back(scene.frame(Rect(i, 2 * i, 9 + i, 7)).clone());
            scene.templates.push_back(Mat(5, 5, CV_8UC1, Scalar(9))); // flat
            expectEnginesAgree(scene);
            scene.frame.setTo(9); // everything ties
            expectEnginesAgree(scene);
        }
}

TEST_F(FragmentMatcher_Cuda, hugeAreas)
{
    RNG rng(6107);
    for (const int metric : METRICS)
    {
        Scene scene = randomScene(rng, makeParams(metric), CV_8UC3, NO_WEIGHTS, Size(50, 40), 9, 7);
        scene.areas = hugeAreas();
        expectSame(runCpu(scene), runCuda(scene));
    }
}

//! An area of negative size in device memory cannot be refused: it is empty.
TEST_F(FragmentMatcher_Cuda, negativeAreasOnTheDevice)
{
    Scene scene = randomScene(6108, makeParams(FM::SAD), CV_8UC1, NO_WEIGHTS, Size(50, 40), 9, 3);
    const int low = std::numeric_limits<int>::min();
    scene.areas = {Rect(30, 30, -20, -20), Rect(0, 0, low, low), Rect(0, 0, 50, -1)};
    const Result result = runCudaFromDevice(scene);
    for (int i = 0; i < 3; ++i)
    {
        EXPECT_EQ(FM::NO_POSITION, result.status.at<uchar>(i));
        EXPECT_EQ(Point(-1, -1), result.locations.at<Point>(i, 0));
    }
}

//! Points and rectangles on the device as rows of single integers, at an offset that aligns an int only.
TEST_F(FragmentMatcher_Cuda, rowsOfIntegers)
{
    RNG rng(6117);
    for (const int search : {FM::FULL, FM::THREE_STEP})
    {
        const Scene scene = randomScene(rng, makeParams(FM::SAD, 2, FM::SQUARE, 0, search, true), CV_8UC3, NO_WEIGHTS);
        const Ptr<FM> matcher = matcherOnDevice(scene);
        matcher->setPredictions(uploadRoi(scene.predictions.reshape(1)));
        const GpuMat frame = uploadRoi(scene.frame), areas = uploadRoi(columnOf(scene.areas).reshape(1));
        const Result truth = runCpu(scene), result = runOnDevice(*matcher, frame, areas);
        expectSame(truth, result);
        expectSame(truth, runOnDevice(*matcher, frame, columnOf(scene.areas).reshape(1)));

        Mat next;
        GpuMat again;
        matcher->predictAreas(truth.locations, 3, scene.frame.size(), next);
        matcher->predictAreas(uploadRoi(truth.locations.col(0).clone().reshape(1)), 3, scene.frame.size(), again);
        EXPECT_TRUE(sameBits(next, Mat(again)));
    }
}

//! Areas on the device beyond Params::maxSearchArea are reported, areas up to it are searched.
TEST_F(FragmentMatcher_Cuda, maxSearchArea)
{
    RNG rng(6109);
    for (const int metric : METRICS)
        for (const int search : {FM::FULL, FM::THREE_STEP})
        {
            Scene scene =
                randomScene(rng, makeParams(metric, 2, FM::SQUARE, 0, search), CV_8UC3, NO_WEIGHTS, Size(90, 70), 8, 6);
            scene.params.maxSearchArea = Size(40, 30);
            const Rect within[] = {Rect(5, 5, 40, 30), Rect(50, 40, 40, 30), Rect(3, 3, 12, 12)};
            const Rect beyond[] = {Rect(5, 5, 41, 30), Rect(5, 5, 40, 31), Rect(0, 0, 90, 70)};
            scene.areas = {within[0], beyond[0], within[1], beyond[1], within[2], beyond[2]};
            const Result result = runCudaFromDevice(scene);
            Scene allowed = scene; // what is too large counts as no area at all
            allowed.areas[1] = allowed.areas[3] = allowed.areas[5] = Rect();
            Result truth = runCpu(allowed);
            for (const int i : {1, 3, 5})
                truth.status.at<uchar>(i) = FM::AREA_TOO_LARGE;
            expectSame(truth, result);
            // Areas on the host have no such limit.
            expectSame(runCpu(scene), runCuda(scene));
        }
}

//! Without a limit only areas that predictAreas() wrote last are searched, those that became larger not.
TEST_F(FragmentMatcher_Cuda, areasOfUnknownSize)
{
    RNG rng(6116);
    for (const int metric : METRICS)
        for (const int search : {FM::FULL, FM::THREE_STEP})
            for (const Size limit : {Size(), Size(90, 0), Size(0, 70)})
            {
                Scene scene = randomScene(rng, makeParams(metric, 2, FM::SQUARE, 0, search), CV_8UC3, NO_WEIGHTS,
                                          Size(90, 70), 8, 6);
                scene.params.maxSearchArea = limit;
                const Ptr<FM> matcher = matcherOnDevice(scene);
                const GpuMat frame = uploadRoi(scene.frame), predictions = uploadRoi(scene.predictions);
                if (search == FM::THREE_STEP)
                    matcher->setPredictions(predictions);
                GpuMat areas = uploadAreas(scene.areas), others, locations;
                const auto refused = [&](const GpuMat& given)
                {
                    expectRefused([&] { matcher->match(frame, given, locations); },
                                  {"searchAreas", "maxSearchArea", "predictAreas()"}, Error::StsBadArg);
                };
                refused(areas);
                for (const int radius : {3, 20, 100000})
                {
                    Mat predicted;
                    matcher->predictAreas(predictions, radius, scene.frame.size(), areas);
                    matcherOf(scene)->predictAreas(scene.predictions, radius, scene.frame.size(), predicted);
                    scene.areas.assign(predicted.begin<Rect>(), predicted.end<Rect>());
                    expectSame(runCpu(scene), runOnDevice(*matcher, frame, areas));
                }
                matcher->predictAreas(predictions, 3, scene.frame.size(), areas);
                areas.upload(columnOf(std::vector<Rect>(scene.templates.size(), Rect(0, 0, 90, 70))));
                Mat status;
                DeviceResult result;
                launch(*matcher, frame, areas, result);
                result.status.download(status);
                EXPECT_EQ(static_cast<int>(scene.templates.size()), countNonZero(status == FM::AREA_TOO_LARGE));
                matcher->predictAreas(predictions, 3, scene.frame.size(), others);
                refused(areas);
            }
}

//! The host cannot check weights in device memory: NaN and values outside [0,1] count as 0.
TEST_F(FragmentMatcher_Cuda, badWeightsOnTheDevice)
{
    RNG rng(6110);
    for (const int metric : METRICS)
    {
        Scene scene = randomScene(rng, makeParams(metric), CV_8UC1, WEIGHTS_32F, Size(80, 60), 9, 3);
        scene.areas.clear();
        const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
        Scene bad = scene;
        bad.weights[0] = scene.weights[0].clone();
        int kind = 0;
        for (int y = 0; y < bad.weights[0].rows; ++y)
            for (int x = 0; x < bad.weights[0].cols; ++x)
                if (scene.weights[0].at<float>(y, x) == 0.f)
                {
                    const float values[] = {nan, -nan, inf, -inf, -1e-6f, 1.0001f, 2.f, -1.f};
                    bad.weights[0].at<float>(y, x) = values[kind++ % 8];
                }
        bad.weights[1] = Mat(scene.templates[1].size(), CV_32FC1, Scalar(kind % 2 ? 0. : 0.001)); // all count as 0
        Result truth = runCpu(scene);
        truth.locations.row(1).setTo(-1), truth.scores.row(1).setTo(0), truth.refined.row(1).setTo(-1);
        truth.confidence.row(1).setTo(-1), truth.status.row(1).setTo(static_cast<int>(FM::NO_POSITION));
        expectSame(truth, runCudaFromDevice(bad));
    }
}

TEST_F(FragmentMatcher_Cuda, cutFromAFrame)
{
    RNG rng(6111);
    for (const int type : TYPES)
        for (const int kind : {NO_WEIGHTS, WEIGHTS_8U, WEIGHTS_32F, SOME_WEIGHTS})
        {
            Scene scene = randomScene(rng, makeParams(FM::SAD, 3), type, kind);
            const Mat source = randomImage(rng, Size(71, 53), type);
            const std::vector<Rect> regions = cutFrom(rng, source, scene);
            const Ptr<FM> matcher = FM::create(scene.params);
            GpuMat frame = uploadRoi(source);
            matcher->cutFragments(frame, regions, uploadRois(scene.weights));
            frame.setTo(Scalar::all(0)); // same stream: after the cut
            expectSame(runCpu(scene), runOnDevice(*matcher, uploadRoi(scene.frame), scene.areas));
        }
}

//! Single edits, of fragments of the host (before and after their upload) and of the device.
TEST_F(FragmentMatcher_Cuda, editsEqualRebuilding)
{
    RNG rng(6112);
    for (const bool device : {false, true})
        for (const int type : TYPES)
        {
            Scene scene = randomScene(rng, makeParams(FM::SSD), type, SOME_WEIGHTS);
            const Ptr<FM> matcher = FM::create(scene.params);
            if (device)
                giveFromDevice(*matcher, scene);
            else
                give(*matcher, scene);
            const GpuMat frame = uploadRoi(scene.frame);
            for (int edit = 0; edit < 30; ++edit)
            {
                SCOPED_TRACE(cv::format("device %d type %d edit %d", device, type, edit));
                if (device)
                    editOne(rng, edit, scene, *matcher, uploadRoi);
                else
                    editOne(rng, edit, scene, *matcher, onTheHost);
                if (edit > 5)
                    expectSame(runCpu(scene), runOnDevice(*matcher, frame, scene.areas));
                if (HasFailure())
                    return;
            }
            matcher->clear();
            EXPECT_TRUE(matcher->empty());
            scene.templates.resize(2), scene.weights.resize(2), scene.areas.resize(2);
            give(*matcher, scene);
            expectSame(runCpu(scene), runOnDevice(*matcher, frame, scene.areas));
        }
}

//! One instance with fragments of the host serves both engines in turn, and its parameters may change.
TEST_F(FragmentMatcher_Cuda, bothEnginesInTurn)
{
    Scene scene = randomScene(6113, makeParams(FM::SAD), CV_8UC3, SOME_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    const GpuMat frame = uploadRoi(scene.frame);
    for (const int metric : {FM::SAD, FM::ZNCC, FM::SSD, FM::SAD})
        for (const int peaks : {2, 1, 16})
        {
            matcher->setParams(makeParams(metric, peaks));
            const Result cpu = run(*matcher, scene);
            expectSame(cpu, runOnDevice(*matcher, frame, scene.areas));
            expectSame(cpu, run(*matcher, scene));
        }
    EXPECT_GT(matcher->workspaceBytes(), 0u);
}

//! Outputs on the host: the call waits by itself. find() and convert() too.
TEST_F(FragmentMatcher_Cuda, outputsOnTheHost)
{
    const Scene scene = randomScene(6114, makeParams(FM::SAD, 3, FM::SQUARE, 0, FM::FULL, true), CV_8UC3, NO_WEIGHTS);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = run(*matcher, scene);
    const GpuMat frame = uploadRoi(scene.frame);
    cuda::Stream stream;
    Result result;
    matcher->match(frame, scene.areas, result.locations, result.scores, result.confidence, result.status,
                   result.refined, stream);
    expectSame(truth, result);
    GpuMat scores;
    matcher->match(frame, uploadAreas(scene.areas), result.locations, scores, noArray(), result.status, noArray(),
                   stream);
    EXPECT_TRUE(sameBits(truth.locations, result.locations));
    EXPECT_TRUE(sameBits(truth.scores, Mat(scores)));
    expectSame(run(*matcher, scene.frame, noArray()), runOnDevice(*matcher, frame, GpuMat(), stream));

    std::vector<FragmentMatch> onCpu, found, converted;
    matcher->find(scene.frame, scene.areas, onCpu);
    matcher->find(frame, scene.areas, found, stream);
    DeviceResult device;
    launch(*matcher, frame, scene.areas, device, stream);
    matcher->convert(device.locations, device.scores, device.confidence, device.status, device.refined, converted,
                     stream);
    expectSame(onCpu, found);
    expectSame(onCpu, converted);
}

//! Errors that only calls with a GpuMat can make.
TEST_F(FragmentMatcher_Cuda, negative)
{
    const Scene scene = randomScene(6115, makeParams(FM::SAD), CV_8UC1, NO_WEIGHTS);
    const Ptr<FM> host = FM::create(), device = FM::create();
    give(*host, scene);
    giveFromDevice(*device, scene);
    const GpuMat frame = uploadRoi(scene.frame), areas = uploadAreas(scene.areas);
    const int n = static_cast<int>(scene.templates.size());
    const std::vector<Mat> weights(n, Mat(5, 5, CV_8UC1, Scalar(1)));
    Mat out;
    GpuMat deviceOut;
    std::vector<int> offsets;
    EXPECT_THROW(device->match(scene.frame, noArray(), out), cv::Exception)
        << "fragments of the device, frame of the host";
    EXPECT_THROW(host->match(scene.frame, areas, out), cv::Exception) << "areas of the device, frame of the host";
    EXPECT_THROW(host->match(scene.frame, noArray(), deviceOut), cv::Exception)
        << "output of the device, frame of the host";
    EXPECT_THROW(device->match(frame, areas.rowRange(1, n), deviceOut), cv::Exception) << "an area less";
    EXPECT_THROW(device->match(frame, GpuMat(n, 1, CV_32FC4), deviceOut), cv::Exception) << "float areas";
    EXPECT_THROW(device->match(frame, GpuMat(n, 3, CV_32SC1), deviceOut), cv::Exception) << "three columns of int";
    EXPECT_THROW(device->match(GpuMat(60, 80, CV_8UC3), noArray(), deviceOut), cv::Exception) << "type";
    EXPECT_THROW(device->scoreMaps(frame, areas, deviceOut, offsets), cv::Exception) << "maps need areas of the host";
    EXPECT_THROW(device->addFragment(scene.templates[0]), cv::Exception) << "kind of the others";
    EXPECT_THROW(host->addFragment(uploadRoi(scene.templates[0])), cv::Exception) << "kind of the others";
    EXPECT_THROW(device->setFragments(uploadRois(scene.templates), weights), cv::Exception) << "weights of the host";
    EXPECT_THROW(device->updateFragment(0, uploadRoi(scene.templates[0]), GpuMat(1, 50, CV_8UC1)), cv::Exception)
        << "weights' size";
    EXPECT_THROW(device->cutFragments(frame, {Rect(80, 60, 9, 9)}), cv::Exception) << "outside of the frame";
    const FM::Params walk = makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::THREE_STEP);
    device->setParams(walk), host->setParams(walk);
    device->setPredictions(scene.predictions), host->setPredictions(GpuMat(n, 1, CV_32SC2, Scalar::all(0)));
    EXPECT_THROW(device->match(frame, areas, deviceOut), cv::Exception) << "predictions of the host";
    EXPECT_THROW(host->match(scene.frame, scene.areas, out), cv::Exception) << "predictions of the device";

    // Both are as they were.
    device->setParams(scene.params), host->setParams(scene.params);
    const Result truth = runCpu(scene);
    expectSame(truth, run(*host, scene));
    expectSame(truth, runOnDevice(*host, frame, scene.areas));
    expectSame(truth, runOnDevice(*device, frame, areas));
    GpuMat empty(3, 3, CV_8UC1);
    device->match(GpuMat(), noArray(), empty);
    EXPECT_TRUE(empty.empty());
}

}} // namespace opencv_test
