// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The CUDA backend of CascadeClassifierEx against the CPU backend, bit by bit: cascades, tables, batches, masks,
// capacities, streams and graphs. A small set for compute-sanitizer is named *Sanitize*.
#include "../test_precomp.hpp"
#include "../common/graphs.hpp"
#include "generate.hpp"
#include "scenes.hpp"

#include <fstream>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using cv::cuda::GpuMat;
using cv::cuda::Stream;
using Cascade_Cuda = OnCuda;
using Cascade_CudaSanitize = OnCuda;

Ptr<CascadeClassifierEx> shipped(const std::string& file)
{
    const std::string path = requireFolder("CUDATRACKING_CASCADES") + "/" + file;
    if (!std::ifstream(path).good())
        throw SkipTestException("cannot read " + path);
    return CascadeClassifierEx::create(path);
}

void expectEnginesAgree(CascadeClassifierEx& cascade, const Mat& image, const CascadeCase& c)
{
    SCOPED_TRACE(c.name());
    const CascadeResults expected = detectAll(cascade, image, c), actual = detectAll(cascade, uploadRoi(image), c);
    ASSERT_NO_FATAL_FAILURE(expectSame(expected, actual));
}

CascadeTables tablesOnDevice(CascadeClassifierEx& cascade, const std::vector<Mat>& images,
                             const std::vector<Mat>& masks, Stream& stream = cv::cuda::noStream())
{
    GpuMat objects, numDetections, levelWeights;
    cascade.detectAsync(uploadRois(images), objects, numDetections, levelWeights, uploadRois(masks), stream);
    stream.waitForCompletion();
    return {Mat(objects), Mat(numDetections), Mat(levelWeights)};
}

void expectTablesAgree(CascadeClassifierEx& cascade, const std::vector<Mat>& images, const std::vector<Mat>& masks = {})
{
    ASSERT_TRUE(sameTables(tablesOf(cascade, images, masks), tablesOnDevice(cascade, images, masks)));
}

std::vector<Mat> mixedImages(RNG& rng)
{
    return {randomImage(rng, Size(161, 129), CV_8UC1), randomImage(rng, Size(90, 200), CV_8UC3),
            randomImage(rng, Size(161, 129), CV_8UC4), randomImage(rng, Size(5, 7), CV_8UC1),
            randomImage(rng, Size(301, 77), CV_8UC1)};
}

// --- cascades --------------------------------------------------------------------------------------------------------

class Cascade_CudaShipped : public ::testing::TestWithParam<std::string>
{};

TEST_P(Cascade_CudaShipped, everyResult)
{
    requireCuda();
    const Ptr<CascadeClassifierEx> cascade = shipped(GetParam());
    for (const CascadeScene& scene : cascadeScenes())
        for (const CascadeCase& c : cascadeCases(scene.image.size(), cascade->getOriginalWindowSize()))
        {
            SCOPED_TRACE(scene.name);
            ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, scene.image, c));
        }
}

INSTANTIATE_TEST_CASE_P(Shipped, Cascade_CudaShipped, testing::ValuesIn(shippedCascades()));

//! Trees, rotated features, fractional weights, leaves that do not fit fixed point, one stage.
TEST_F(Cascade_Cuda, randomCascades)
{
    RNG rng(20251121);
    for (int i = 0; i < 60; ++i)
    {
        const uint64 seed = 977 + 31 * i;
        SCOPED_TRACE(cv::format("seed %d", int(seed)));
        const Mat image = randomImage(rng, uniform(rng, Size(40, 40), Size(330, 200)), CV_8UC1, 5);
        CascadeGenerator generator(seed, image);
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(generator.make());
        ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, image, {1.2, 2, Size(), Size()}));
        ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, image, {1.7, 1, Size(), Size()}));
    }
}

//! Windows whose integral images fit shared memory in small tiles only, or not at all, so that they are one by one.
TEST_F(Cascade_Cuda, largeWindows)
{
    RNG rng(20251122);
    int largest = 0;
    for (int i = 0; i < 24; ++i)
    {
        const uint64 seed = 4001 + 17 * i;
        SCOPED_TRACE(cv::format("seed %d", int(seed)));
        const Mat small = randomImage(rng, Size(60, 50), CV_8UC1, 5),
                  image = randomImage(rng, Size(420, 330), CV_8UC1, 9);
        const OracleCascade c = CascadeGenerator(seed, small).make();
        const int times = 250 / std::max(c.window.width, c.window.height);
        largest = std::max(largest, times * std::max(c.window.width, c.window.height));
        for (int k : {(times + 1) / 2, times})
            ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascadeOf(enlarged(c, k)), image, {1.15, 1, Size(), Size()}));
    }
    EXPECT_GT(largest, 220);
}

//! Windows fail the first stage in runs of all lengths, across tiles.
//! Returns an image of stripes: windows side by side fail together, in runs that go through several tiles.
Mat stripesOf(RNG& rng)
{
    Mat stripes(120, 900, CV_8UC1);
    for (int y = 0; y < stripes.rows; ++y)
        for (int x = 0; x < stripes.cols;)
        {
            const int length =
                std::min(rng.uniform(1, 10) < 6 ? rng.uniform(1, 9) : rng.uniform(20, 400), stripes.cols - x);
            const int value = rng.uniform(0, 256), slope = rng.uniform(-2, 3);
            for (int k = 0; k < length; ++k, ++x)
                stripes.at<uchar>(y, x) = saturate_cast<uchar>(value + slope * k);
        }
    return stripes;
}

TEST_F(Cascade_Cuda, skipRule)
{
    RNG rng(20251123);
    const Mat stripes = stripesOf(rng);
    size_t candidates = 0;
    for (int i = 0; i < 20; ++i)
    {
        OracleCascade c = CascadeGenerator(8101 + i, stripes).make();
        c.stages.resize(std::min<size_t>(c.stages.size(), 2));
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(c);
        ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, stripes, {1.3, 1, Size(), Size()}));
        std::vector<Rect> raw;
        cascade->detectMultiScale(stripes, raw, 1.3, 0);
        candidates += raw.size();
    }
    EXPECT_GT(candidates, 1000u);
}

//! Windows without contrast do not fail, whatever windows of the image before failed in their places.
TEST_F(Cascade_Cuda, rowsWithoutContrast)
{
    RNG rng(20261128);
    const Mat noise = randomImage(rng, Size(1500, 60), CV_8UC1);
    Mat flat = noise.clone();
    for (int x = 0; x < flat.cols;)
    {
        const int width = std::min(rng.uniform(150, 260), flat.cols - x);
        flat.colRange(x, x + width).setTo(rng.uniform(0, 256));
        x += width + rng.uniform(30, 80);
    }
    size_t candidates = 0;
    int cascades = 0;
    for (int i = 0; cascades < 20; ++i)
    {
        ASSERT_LT(i, 2000);
        OracleCascade c = CascadeGenerator(8401 + i, noise).make();
        if (!c.haar) // others do not need contrast
            continue;
        ++cascades;
        c.stages.resize(1);
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(c);
        cascade->setMaxCandidates(65536); // more than there are windows
        for (const Mat& image : {noise, flat})
            ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, image, {1.5, 1, Size(), Size()}));
        std::vector<Rect> raw;
        cascade->detectMultiScale(flat, raw, 1.5, 0);
        candidates += raw.size();
    }
    EXPECT_GT(candidates, 1000u);
}

//! Makes every tree one of two nodes, with the root's leaf left or right.
OracleCascade withTwoNodes(RNG& rng, OracleCascade c)
{
    for (OracleStage& stage : c.stages)
        for (OracleTree& tree : stage.trees)
        {
            const int node = rng.uniform(0, 2);
            tree.nodes.resize(2, tree.nodes[0]);
            tree.nodes[0].left = node;
            tree.nodes[0].right = 1 - node;
            tree.nodes[1].left = -1;
            tree.nodes[1].right = -2;
            tree.leaves.resize(3);
        }
    return c;
}

/** Sets leaves of 1 and -1, and one tree whose leaves are a few units of the last place from the threshold. If the
other leaves add up to 0, quantised sums of 32 bits cannot decide which windows pass. */
OracleCascade withCloseSums(RNG& rng, OracleCascade c)
{
    const float close = 0.f - 1e-5f; // a threshold of 0, as the model has it
    for (OracleStage& stage : c.stages)
    {
        if (stage.trees.size() % 2 == 0)
            stage.trees.pop_back();
        stage.threshold = 0.f;
        for (size_t t = 0; t < stage.trees.size(); ++t)
            for (float& leaf : stage.trees[t].leaves)
                leaf = t == 0              ? close * (1.f + float(rng.uniform(-9, 10)) * FLT_EPSILON)
                       : rng.uniform(0, 2) ? 1.f
                                           : -1.f;
    }
    return c;
}

//! Compares all results of both backends. @return number of candidates.
size_t candidatesOfBoth(const OracleCascade& c, const Mat& image)
{
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(c);
    expectEnginesAgree(*cascade, image, {1.3, 1, Size(), Size()});
    std::vector<Rect> raw;
    cascade->detectMultiScale(image, raw, 1.3, 0);
    return raw.size();
}

TEST_F(Cascade_Cuda, sumsBesideThresholds)
{
    RNG rng(20251125);
    size_t candidates = 0;
    for (int i = 0; i < 40; ++i)
    {
        SCOPED_TRACE(i);
        const Mat image = randomImage(rng, uniform(rng, Size(60, 60), Size(200, 120)), CV_8UC1, 5);
        OracleCascade c = CascadeGenerator(6007 + i, image).make();
        c = withCloseSums(rng, i % 3 == 1 ? withTwoNodes(rng, c) : c);
        c.stages.resize(std::min<size_t>(c.stages.size(), 1 + i % 4));
        candidates += candidatesOfBoth(c, image);
        if (HasFailure())
            return;
    }
    EXPECT_GT(candidates, 1000u);
}

//! Node thresholds of 0, so close to 0 that no value is between, or beyond all values, on images with many feature
//! values of 0.
TEST_F(Cascade_Cuda, thresholdsNearZero)
{
    RNG rng(20251129);
    const float limits[] = {0.f, FLT_MIN / (1 << 23), FLT_MIN, 1e-30f, 1e-20f, 1e30f, FLT_MAX};
    size_t candidates = 0;
    for (int i = 0; i < 40; ++i)
    {
        SCOPED_TRACE(i);
        const Mat image = randomImage(rng, uniform(rng, Size(60, 60), Size(200, 120)), CV_8UC1, 9, 3);
        OracleCascade c = CascadeGenerator(9001 + i, image).make();
        if (i % 2 == 1)
            c = withTwoNodes(rng, c);
        for (OracleStage& stage : c.stages)
        {
            stage.threshold = -0.5f;
            for (OracleTree& tree : stage.trees)
            {
                for (OracleNode& node : tree.nodes)
                {
                    node.threshold = limits[rng.uniform(0, 7)];
                    node.threshold *= rng.uniform(0, 2) ? 1.f : -1.f;
                }
                for (float& leaf : tree.leaves)
                    leaf = rng.uniform(0, 3) ? 1.f : -1.f;
            }
        }
        candidates += candidatesOfBoth(c, image);
        if (HasFailure())
            return;
    }
    EXPECT_GT(candidates, 1000u);
}

//! Sizes of window and tile, and one pixel more or less.
TEST_F(Cascade_Cuda, sizes)
{
    RNG rng(20251124);
    const Ptr<CascadeClassifierEx> haar = shipped("haarcascades/haarcascade_eye.xml"),
                                   lbp = shipped("lbpcascades/lbpcascade_frontalface.xml");
    for (const Ptr<CascadeClassifierEx>& cascade : {haar, lbp})
        for (const int cols : {1, 19, 20, 21, 23, 24, 25, 51, 52, 53, 145, 146, 147, 148, 149, 150, 151})
            for (const int rows : {20, 24, 25, 81, 82, 83, 86, 87})
                ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, randomImage(rng, Size(cols, rows), CV_8UC1, 4),
                                                           {1.1, 1, Size(), Size()}))
                    << cols << " x " << rows;
}

// --- tables ----------------------------------------------------------------------------------------------------------

TEST_F(Cascade_Cuda, batchOfMixedSizesAndMasks)
{
    RNG rng(20251125);
    const std::vector<Mat> images = mixedImages(rng);
    for (int i = 0; i < 12; ++i)
    {
        SCOPED_TRACE(i);
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(600 + i, images[0]).make());
        cascade->setScaleFactor(1.25);
        cascade->setMaxCandidates(65536);
        for (const int minNeighbors : {0, 1, 3})
            for (const bool largest : {false, true})
            {
                cascade->setMinNeighbors(minNeighbors);
                cascade->setFindLargestObject(largest);
                ASSERT_NO_FATAL_FAILURE(expectTablesAgree(*cascade, images));
                std::vector<Mat> masks(images.size());
                masks[1] = randomImage(rng, images[1].size(), CV_8UC1, 9, 2);
                masks[4] = randomImage(rng, images[4].size(), CV_8UC1, 15, 2);
                ASSERT_NO_FATAL_FAILURE(expectTablesAgree(*cascade, images, masks));
            }
    }
}

//! Counts are exact when lists are too short, whichever candidates were stored.
TEST_F(Cascade_Cuda, capacities)
{
    RNG rng(20251126);
    const std::vector<Mat> images = mixedImages(rng);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(61, images[0]).make());
    int overflows = 0, short_ = 0;
    for (const int maxCandidates : {1, 2, 31, 32, 33, 300, 8192, 65536})
        for (const int maxObjects : {1, 2, 7, 256})
        {
            SCOPED_TRACE(cv::format("%d candidates, %d objects", maxCandidates, maxObjects));
            cascade->setMaxCandidates(maxCandidates);
            cascade->setMaxObjects(maxObjects);
            cascade->setMinNeighbors(maxObjects == 2 ? 0 : 1); // all candidates, or few groups
            ASSERT_NO_FATAL_FAILURE(expectTablesAgree(*cascade, images));
            const CascadeTables tables = tablesOnDevice(*cascade, images, {});
            for (int i = 0; i < tables.objects.rows; ++i)
            {
                const Vec4i head = tables.objects.at<Vec4i>(i, 0);
                overflows += head[3];
                short_ += head[0] < head[1];
            }
        }
    EXPECT_GT(overflows, 0);
    EXPECT_GT(short_, 0);
}

//! Numbers of candidates up to more than the device groups.
TEST_F(Cascade_Cuda, manyCandidates)
{
    RNG rng(20251127);
    for (const Size size : {Size(200, 150), Size(420, 300), Size(900, 700)})
    {
        const Mat image = randomImage(rng, size, CV_8UC1, 3);
        OracleCascade c = CascadeGenerator(71, image).make();
        c.stages.resize(1);
        c.stages[0].threshold = -1e6f; // all windows with contrast
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(c);
        std::vector<Rect> expected, actual;
        std::vector<int> levels, actualLevels;
        std::vector<double> weights, actualWeights;
        for (const int minNeighbors : {4, 1, 0})
        {
            cascade->detectMultiScale(image, expected, levels, weights, 1.2, minNeighbors, 0, Size(), Size(), true);
            cascade->detectMultiScale(GpuMat(image), actual, actualLevels, actualWeights, 1.2, minNeighbors, 0, Size(),
                                      Size(), true);
            EXPECT_EQ(expected, actual) << size;
            EXPECT_EQ(weights, actualWeights) << size;
        }
        EXPECT_GT(expected.size(), static_cast<size_t>(size.area() / 20));
    }
}

TEST_F(Cascade_Cuda, outputsOnEitherSide)
{
    RNG rng(20251128);
    const std::vector<Mat> images = mixedImages(rng);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(81, images[0]).make());
    cascade->setMinNeighbors(1);
    const CascadeTables expected = tablesOf(*cascade, images);
    ASSERT_TRUE(sameTables(expected, tablesOf(*cascade, uploadRois(images))));
    cuda::HostMem objects(expected.objects.size(), CV_32SC4);
    Stream stream;
    cascade->detectAsync(uploadRois(images), objects, noArray(), noArray(), noArray(), stream);
    stream.waitForCompletion();
    EXPECT_TRUE(sameBits(expected.objects, objects.createMatHeader()));
    GpuMat onDevice;
    cascade->detectAsync(uploadRois(images), onDevice, noArray(), noArray(), noArray(), stream);
    for (int i = 0; i < expected.objects.rows; ++i)
    {
        std::vector<Rect> boxes, deviceBoxes;
        EXPECT_EQ(cascade->convertDetections(expected.objects, i, boxes),
                  cascade->convertDetections(onDevice, i, deviceBoxes, stream));
        EXPECT_EQ(boxes, deviceBoxes);
    }
}

TEST_F(Cascade_Cuda, countPasses)
{
    const Mat image = randomImage(20251129, Size(150, 100), CV_8UC3);
    const Ptr<CascadeClassifierEx> cascade = shipped("lbpcascades/lbpcascade_frontalface.xml");
    Mat expected, actual;
    cascade->countPasses(image, expected);
    cascade->countPasses(uploadRoi(image), actual);
    EXPECT_TRUE(sameBits(expected, actual));
    GpuMat onDevice;
    cascade->countPasses(uploadRoi(image), onDevice);
    EXPECT_TRUE(sameBits(expected, Mat(onDevice)));
}

TEST_F(Cascade_Cuda, refusesOutputsAndMasksOnTheOtherSide)
{
    const Mat image = randomImage(20251130, Size(60, 50), CV_8UC1);
    const Ptr<CascadeClassifierEx> cascade = shipped("lbpcascades/lbpcascade_frontalface.xml");
    std::vector<Rect> objects;
    GpuMat table;
    EXPECT_THROW(cascade->detectAsync(image, table), cv::Exception);
    EXPECT_THROW(cascade->detectMultiScale(GpuMat(image), objects, 1.1, 3, 0, Size(), Size(), image), cv::Exception);
    EXPECT_THROW(cascade->detectMultiScale(image, objects, 1.1, 3, 0, Size(), Size(), GpuMat(image)), cv::Exception);
    ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*cascade, image, {1.1, 1, Size(), Size()}));
}

// --- streams and graphs ----------------------------------------------------------------------------------------------

#ifdef HAVE_CUDA

TEST_F(Cascade_Cuda, streams)
{
    RNG rng(20251201);
    const Mat large = randomImage(rng, Size(320, 240), CV_8UC3), small = randomImage(rng, Size(120, 90), CV_8UC1);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(91, small).make());
    const Ptr<CascadeClassifierEx> twin = cascade->clone();
    const CascadeTables largeTables = tablesOf(*cascade, std::vector<Mat>{large}),
                        smallTables = tablesOf(*cascade, std::vector<Mat>{small});
    Stream first, second;
    const GpuMat deviceLarge(large), deviceSmall(small);
    for (int i = 0; i < 20; ++i)
    {
        GpuMat a, b, c; // one instance on two streams, without waits; another instance concurrently
        cascade->detectAsync(deviceLarge, a, noArray(), noArray(), noArray(), first);
        cascade->detectAsync(deviceSmall, b, noArray(), noArray(), noArray(), second);
        twin->detectAsync(deviceLarge, c, noArray(), noArray(), noArray(), second);
        first.waitForCompletion();
        second.waitForCompletion();
        ASSERT_TRUE(sameBits(largeTables.objects, Mat(a)));
        ASSERT_TRUE(sameBits(smallTables.objects, Mat(b)));
        ASSERT_TRUE(sameBits(largeTables.objects, Mat(c)));
    }
}

TEST_F(Cascade_Cuda, doesNotWait)
{
    const Mat image = randomImage(20251202, Size(160, 120), CV_8UC3);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(92, image).make());
    const CascadeTables expected = tablesOf(*cascade, std::vector<Mat>{image});
    const GpuMat device(image);
    GpuMat objects(expected.objects.size(), CV_32SC4);
    Stream stream;
    cascade->detectAsync(device, objects, noArray(), noArray(), noArray(), stream); // allocates
    stream.waitForCompletion();
    const size_t bytes = cascade->workspaceBytes();
    EXPECT_GT(bytes, 0u);
    Gate gate(stream);
    cascade->detectAsync(device, objects, noArray(), noArray(), noArray(), stream);
    EXPECT_FALSE(gate.gaveUp());
    gate.open();
    stream.waitForCompletion();
    EXPECT_TRUE(sameBits(expected.objects, Mat(objects)));
    EXPECT_EQ(bytes, cascade->workspaceBytes());
}

//! A first call can be captured. Replays read the image again, and neither calls nor another cascade between them
//! matter.
TEST_F(Cascade_Cuda, captureAndReplay)
{
    RNG rng(20251203);
    for (const int type : {CV_8UC1, CV_8UC3})
        for (const bool warm : {false, true})
        {
            SCOPED_TRACE(cv::format("%d channels, warm %d", CV_MAT_CN(type), warm));
            const Mat large = randomImage(rng, Size(500, 400), CV_8UC3);
            const Mat before = randomImage(rng, Size(200, 150), type);
            const OracleCascade made = CascadeGenerator(93, before).make();
            const Ptr<CascadeClassifierEx> cascade = cascadeOf(made);
            cascade->setMinNeighbors(1);
            const Ptr<CascadeClassifierEx> reference = cascade->clone();
            GpuMat frame(before), objects(1, 1 + cascade->getMaxObjects(), CV_32SC4);
            Stream stream;
            if (warm)
                cascade->detectAsync(frame, objects, noArray(), noArray(), noArray(), stream);
            stream.waitForCompletion();
            Graph graph(stream);
            cascade->detectAsync(frame, objects, noArray(), noArray(), noArray(), stream);
            graph.end();
            for (int round = 0; round < 3; ++round)
            {
                const Mat now = randomImage(rng, before.size(), type, 3 + round);
                frame.upload(now, stream);
                objects.setTo(Scalar::all(-1), stream);
                graph.launch();
                stream.waitForCompletion();
                ASSERT_TRUE(sameBits(tablesOf(*reference, std::vector<Mat>{now}).objects, Mat(objects)));
                if (round == 0) // another size and cascade, and other parameters
                {
                    const std::string text = cascadeText(CascadeGenerator(94, before).make(), ".xml");
                    cascade->loadBuffer(asRow(text));
                    cascade->setScaleFactor(1.4);
                    cascade->setMinNeighbors(0);
                    cascade->setMaxCandidates(65536);
                    ASSERT_NO_FATAL_FAILURE(expectTablesAgree(*cascade, {large, before}));
                }
            }
        }
}

TEST_F(Cascade_Cuda, whatWaitsCannotBeCaptured)
{
    const Mat image = randomImage(20251204, Size(100, 80), CV_8UC1);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(95, image).make());
    const GpuMat frame(image);
    GpuMat objects(1, 1 + cascade->getMaxObjects(), CV_32SC4);
    std::vector<Rect> boxes;
    Mat host;
    Stream stream;
    Graph graph(stream);
    EXPECT_THROW(cascade->detectMultiScale(frame, boxes, 1.1, 3, 0, Size(), Size(), noArray(), stream), cv::Exception);
    EXPECT_THROW(cascade->detectAsync(frame, host, noArray(), noArray(), noArray(), stream), cv::Exception);
    EXPECT_THROW(cascade->convertDetections(objects, 0, boxes, stream), cv::Exception);
    EXPECT_THROW(cascade->countPasses(frame, host, stream), cv::Exception);
    cascade->detectAsync(frame, objects, noArray(), noArray(), noArray(), stream); // the capture is still valid
    graph.end();
    graph.launch();
    stream.waitForCompletion();
    EXPECT_TRUE(sameBits(tablesOf(*cascade, std::vector<Mat>{image}).objects, Mat(objects)));
}

//! Repeated captures of what was called before take no more memory.
TEST_F(Cascade_Cuda, repeatedCaptures)
{
    const Mat image = randomImage(20251205, Size(100, 80), CV_8UC3);
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(96, image).make());
    const GpuMat frame(image);
    GpuMat objects(1, 1 + cascade->getMaxObjects(), CV_32SC4);
    Stream stream;
    size_t bytes = 0;
    for (int i = 0; i < 30; ++i)
    {
        Graph graph(stream);
        cascade->detectAsync(frame, objects, noArray(), noArray(), noArray(), stream);
        graph.end();
        graph.launch();
        stream.waitForCompletion();
        cascade->detectAsync(frame, objects, noArray(), noArray(), noArray(), stream);
        stream.waitForCompletion();
        if (i == 9)
            bytes = cascade->workspaceBytes();
    }
    EXPECT_EQ(bytes, cascade->workspaceBytes());
}

#endif // HAVE_CUDA

// --- compute-sanitizer -----------------------------------------------------------------------------------------------

//! Every kernel and every path through it, on small images.
TEST_F(Cascade_CudaSanitize, everyWay)
{
    RNG rng(20251206);
    const Mat image = randomImage(rng, Size(173, 61), CV_8UC3, 5), gray = randomImage(rng, Size(97, 90), CV_8UC1, 5);
    for (int i = 0; i < 12; ++i)
    {
        SCOPED_TRACE(i);
        const OracleCascade c = CascadeGenerator(3100 + i, gray).make();
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(c);
        cascade->setScaleFactor(1.6);
        for (const int minNeighbors : {0, 1})
        {
            cascade->setMinNeighbors(minNeighbors);
            std::vector<Mat> masks(2);
            masks[1] = randomImage(rng, gray.size(), CV_8UC1, 9, 2);
            ASSERT_NO_FATAL_FAILURE(expectTablesAgree(*cascade, {image, gray}, masks));
        }
        cascade->setMaxCandidates(5);
        ASSERT_NO_FATAL_FAILURE(expectTablesAgree(*cascade, {image, gray}));
    }
    const OracleCascade large = enlarged(CascadeGenerator(3200, gray).make(), 8);
    ASSERT_NO_FATAL_FAILURE(
        expectEnginesAgree(*cascadeOf(large), randomImage(rng, Size(270, 260), CV_8UC1, 9), {1.3, 1, Size(), Size()}));
}

TEST_F(Cascade_CudaSanitize, shipped)
{
    const std::string data = requireFolder("CUDATRACKING_SAMPLES_DATA");
    Mat image;
    resize(requireImage(data, "lena.jpg"), image, Size(111, 113));
    for (const char* file :
         {"haarcascades/haarcascade_frontalface_alt.xml", "haarcascades/haarcascade_frontalface_alt2.xml",
          "haarcascades/haarcascade_eye_tree_eyeglasses.xml", "lbpcascades/lbpcascade_frontalface.xml",
          "lbpcascades/lbpcascade_frontalface_improved.xml"})
        ASSERT_NO_FATAL_FAILURE(expectEnginesAgree(*shipped(file), image, {1.3, 1, Size(), Size()}));
}

}} // namespace opencv_test
