// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Methods of QuickShift on results: other cuts, adjacency, refused calls; on CUDA also large stacks and ratios of scale
// and sigma.
#include "../../src/quick_shift/core.hpp"
#include "../common/graphs.hpp"
#include "oracle.hpp"
#include "scenes.hpp"
#include <array>

namespace opencv_test { namespace {

using namespace scenes;
using cv::cuda::GpuMat;
using QuickShift_Cuda = OnCuda;

//! Returns the pairs of labels of 4-neighbours, by a set.
std::set<std::pair<int, int>> neighbourLabels(const Mat& labels)
{
    std::set<std::pair<int, int>> pairs;
    const int* l = labels.ptr<int>();
    for (int i = 0; i < int(labels.total()); ++i)
        for (const int n : neighbours4(labels.size(), i))
            if (l[i] >= 0 && l[n] > l[i])
                pairs.insert(std::make_pair(l[i], l[n]));
    return pairs;
}

void expectNeighbours(const QuickShift& q)
{
    Mat labels, pairs;
    q.getLabels(labels);
    q.getAdjacency(pairs);
    const std::set<std::pair<int, int>> truth = neighbourLabels(labels);
    ASSERT_EQ(static_cast<int>(truth.size()), pairs.rows);
    int i = 0;
    for (const auto& pair : truth) // a set is in order
        ASSERT_EQ(Vec2i(pair.first, pair.second), pairs.at<Vec2i>(i++));
}

struct Scene
{
    explicit Scene(int seed, Size size = Size(70, 50))
    {
        RNG rng(seed);
        image = randomImage(rng, size, CV_8UC3, 5);
        mask = Mat(size, CV_8U);
        rng.fill(mask, RNG::UNIFORM, 0, 6);
        mask(Rect(size.width / 2, 0, 2, size.height)).setTo(0);
    }
    Mat image, mask;
};

TEST(QuickShift_Results, appliedCutIsPresent)
{
    const Scene s(501);
    const Ptr<QuickShift> q = shiftOf(2., 40., 0.3, s.image, s.mask), once = QuickShift::create(2., 40., 0.3);
    for (const double tau : {0.5, 3., 17., 40., 9.})
    {
        SCOPED_TRACE(tau);
        once->setMaxDist(tau);
        once->compute(s.image, s.mask);
        q->applyTau(tau);
        EXPECT_EQ(once->getNumberOfSuperpixels(), q->getNumberOfSuperpixels());
        expectSameArray(*once, *q, [](auto& one, Mat& out) { one.getLabels(out); });
        expectSameArray(*once, *q, [](auto& one, Mat& out) { one.getLabelContourMask(out); });
        expectSameArray(*once, *q, [&](auto& one, Mat& out) { one.getMeanColor(s.image, out); });
        expectSameArray(*once, *q, [&](auto& one, Mat& out) { one.getStatistics(s.image, out); });
        EXPECT_EQ(once->countSuperpixels(0.4), q->countSuperpixels(0.4)) << "trees stay";
    }
    q->enforceConnectivity(20);
    once->enforceConnectivity(20);
    expectSameArray(*once, *q, [](auto& one, Mat& out) { one.getLabels(out); });
    EXPECT_THROW(q->applyTau(40.1), cv::Exception);
    EXPECT_THROW(q->applyTau(0.), cv::Exception);
    EXPECT_NO_THROW(QuickShift::create()->applyTau(3.));
}

TEST(QuickShift_Results, tauForANumber)
{
    const Scene s(502);
    const Ptr<QuickShift> q = QuickShift::create(2., 25., 0.3);
    EXPECT_EQ(0., q->tauForSuperpixels(5));
    q->compute(s.image, s.mask);
    Mat heights, counts;
    q->getMergeHeights(heights, counts);
    const int least = q->getNumberOfSuperpixels();
    for (int number = 1; number < 3500; number += number < 2 * least ? 1 : 97)
    {
        const double tau = q->tauForSuperpixels(number);
        if (number < least)
        {
            ASSERT_EQ(25., tau) << number;
            continue;
        }
        ASSERT_LE(q->countSuperpixels(tau), number);
        int k = 0;
        while (counts.at<int>(k) > number)
            ++k;
        ASSERT_EQ(heights.at<float>(k), tau) << number;
    }
    q->compute(Mat(1, 1, CV_8U, Scalar(1)));
    EXPECT_EQ(25., q->tauForSuperpixels(1));
    EXPECT_THROW(q->tauForSuperpixels(0), cv::Exception);
}

//! Lengths of links are floats: the longest may be maxDist rounded to float, which may exceed maxDist.
TEST(QuickShift_Results, longestLink)
{
    const double maxDist = std::sqrt(5.) - 1e-9; // less than the float next to it, and that is the distance below
    ASSERT_GT(static_cast<double>(static_cast<float>(maxDist)), maxDist);
    const Ptr<QuickShift> q = QuickShift::create(0.3, maxDist, 1.);
    const Mat mask = Mat_<uchar>({2, 3}, {1, 0, 0, 0, 0, 1});
    Mat heights, labels;
    q->compute(Mat(2, 3, CV_8U, Scalar(9)), mask);
    q->getMergeHeights(heights, noArray());
    ASSERT_EQ(1, heights.rows);
    EXPECT_GT(heights.at<float>(0), maxDist);
    q->segment(heights.at<float>(0), labels);
    EXPECT_EQ(0, labels.at<int>(1, 2));
    EXPECT_THROW(q->segment(2.3, labels), cv::Exception);
}

TEST(QuickShift_Results, adjacency)
{
    const Scene s(503);
    const Ptr<QuickShift> q = QuickShift::create(1.5, 12., 0.4);
    Mat pairs(3, 3, CV_8U);
    q->getAdjacency(pairs);
    EXPECT_TRUE(pairs.empty());
    q->compute(s.image, s.mask);
    expectNeighbours(*q);
    q->enforceConnectivity(15);
    expectNeighbours(*q);
    q->applyTau(0.5);
    expectNeighbours(*q);
    std::vector<Vec2i> list;
    q->getAdjacency(list);
    q->getAdjacency(pairs);
    EXPECT_TRUE(sameBits(pairs, columnOf(list)));
    q->compute(Mat(20, 20, CV_8U, Scalar(1)));
    q->getAdjacency(pairs);
    EXPECT_TRUE(pairs.empty());
}

TEST(QuickShift_Results, mergeCountsAlone)
{
    const Scene s(504);
    const Ptr<QuickShift> q = shiftOf(2., 20., 0.3, s.image);
    Mat heights, both, counts;
    q->getMergeHeights(heights, both);
    q->getMergeHeights(noArray(), counts);
    EXPECT_TRUE(sameBits(both, counts));
}

TEST(QuickShift_Results, statisticsWithoutAImage)
{
    const Scene s(505);
    const Ptr<QuickShift> q = shiftOf(2., 20., 0.3, s.image, s.mask);
    Mat a[4], b[4];
    a[1].create(3, 3, CV_8U);
    q->getStatistics(s.image, b[0], b[1], b[2], b[3]);
    q->getStatistics(noArray(), a[0], a[1], a[2], a[3]);
    EXPECT_TRUE(a[1].empty());
    for (const int k : {0, 2, 3})
        EXPECT_TRUE(sameBits(b[k], a[k])) << k;
    EXPECT_THROW(q->getMeanColor(noArray(), a[0]), cv::Exception);
}

//! Refused calls do not change parameters and results.
TEST(QuickShift_Results, surviveRefusedCalls)
{
    const Scene s(506);
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
    const Results before = computed(*q, s.image, s.mask);
    Mat out;
    EXPECT_THROW(q->computeBatch(s.image, noArray()), cv::Exception) << "no list";
    EXPECT_THROW(q->computeBatch(std::vector<Mat>{Mat(), s.image}, noArray()), cv::Exception);
    EXPECT_THROW(q->computeBatch(std::vector<Mat>{s.image, s.image}, out), cv::Exception) << "one output for two";
    EXPECT_THROW(q->computeTiled(s.image, Size(20, 20), false, s.mask.colRange(0, 5)), cv::Exception);
    EXPECT_THROW(q->compute(s.image, s.mask.colRange(0, 5)), cv::Exception);
    const std::vector<Mat> lastEmpty = {s.image, s.image, Mat()};
    expectRefused([&] { q->computeBatch(lastEmpty, noArray()); }, {"images[2]"});
    if (cv::cuda::getCudaEnabledDeviceCount() <= 0)
    {
        EXPECT_THROW(q->computeTiled(s.image, Size(20, 20), true), cv::Exception);
    }
    expectSame(before, resultsOf(*q));
    q->computeBatch(std::vector<Mat>(), noArray());
    EXPECT_TRUE(q->empty());
}

//! A call after a batch replaces all results by those of one image.
TEST(QuickShift_Results, clearAfterABatch)
{
    const Scene s(507);
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
    q->computeBatch(std::vector<Mat>(3, s.image), noArray());
    const int ofThree = q->enforceConnectivity(3);
    q->clear();
    EXPECT_EQ(0, q->enforceConnectivity(3));
    q->compute(s.image);
    EXPECT_EQ(ofThree, 3 * q->enforceConnectivity(3));
}

TEST(QuickShift_Results, scales)
{
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
    EXPECT_EQ(0.3, q->getColorScale());
    for (const char* text : {"%YAML:1.0\nchannelScales: [ 1., 2. ]", "%YAML:1.0\nchannelScales: 1."})
    {
        const FileStorage file(text, FileStorage::READ | FileStorage::MEMORY);
        EXPECT_THROW(q->read(file.root()), cv::Exception);
        EXPECT_EQ(Scalar::all(0.3), q->getChannelScales());
    }
    q->setChannelScales(Scalar(0.5, 2.));
    EXPECT_EQ(0.5, q->getColorScale());
    typedef std::vector<double> Scales;
    EXPECT_EQ((Scales{0.5, 2., 0., 0.}), q->getScales());
    q->setScales({0.5, 2.});
    EXPECT_EQ(Scalar(0.5, 2.), q->getChannelScales());
    q->setScales({1., 2., 3., 4., 5.});
    EXPECT_EQ(Scalar(1., 2., 3., 4.), q->getChannelScales());
    EXPECT_EQ((Scales{1., 2., 3., 4., 5.}), q->getScales());
    q->setColorScale(0.7);
    EXPECT_EQ(Scales(4, 0.7), q->getScales());
}

//! Spatial factors follow changes of sigma back and forth.
TEST(QuickShift_Results, sigmaChanges)
{
    const Scene s(508);
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
    for (const double sigma : {2., 3., 2., 2.01})
    {
        q->setSigma(sigma);
        q->compute(s.image);
        const Ptr<QuickShift> fresh = shiftOf(sigma, 20., 0.3, s.image);
        expectSame(resultsOf(*fresh), resultsOf(*q));
    }
}

/** If fitsWords(), the kernel for words computes the exponent that all others compute: it adds an 8-bit distance in the
mantissa of 2^23, and 1.5 - y / 32, which it clamps to [0,1], stands for y. Above a rate of 32 equal colours already
differ. */
TEST(QuickShift_Results, distancesInWords)
{
    using namespace cv::cuda::quick_shift;
    const auto inWord = [](float rate, int distance)
    {
        const float slope = rate / 32.f, base = oracle::fusedMultiplyAdd(-8388608.f, slope, 0.5f);
        const float z = oracle::fusedMultiplyAdd(static_cast<float>(8388608 + distance), slope, base);
        return bitsFloat(0x81000000u - floatBits(std::min(std::max(z, 0.f), 1.f)));
    };
    RNG rng(509);
    for (int i = 0; i < 20000; ++i)
    {
        const double ratio = std::exp(rng.uniform(std::log(1e-3), std::log(9.419)));
        const float rate = densityRate(ratio * ratio, 1., true);
        ASSERT_TRUE(fitsWords(rate)) << ratio;
        for (const int distance : {0, 1, 2, rng.uniform(0, 260101), rng.uniform(0, 1000), 260100})
            ASSERT_EQ(
                std::max(oracle::fusedMultiplyAdd(static_cast<float>(distance), -rate, COLOUR_TOP), COLOUR_BOTTOM),
                inWord(rate, distance))
                << ratio << ", " << distance;
    }
    const float first = densityRate(9.4194 * 9.4194, 1., true);
    EXPECT_GT(first, 32.f);
    EXPECT_FALSE(fitsWords(first));
    EXPECT_NE(COLOUR_TOP, inWord(first, 0));
}

// --- CUDA ------------------------------------------------------------------------------------------------------------

//! Ratios of scale and sigma lie around the bound of the kernel for words, and far above.
TEST_F(QuickShift_Cuda, strongColours)
{
    RNG rng(510);
    Mat image = randomImage(rng, Size(130, 90), CV_8UC3, 5, 8), mask(image.size(), CV_8U);
    rng.fill(mask, RNG::UNIFORM, 0, 6);
    typedef std::array<double, 2> Pair; // scale, sigma
    for (const Pair& p : {Pair{9.2, 1.}, Pair{9.419, 1.}, Pair{9.43, 1.}, Pair{4., 0.3}, Pair{56.5, 6.}, Pair{255., 2.},
                          Pair{1000., 1.}, Pair{1000., 0.2}, Pair{1023., 3.}})
        for (const Mat& valid : {Mat(), mask})
        {
            const Ptr<QuickShift> cpu = shiftOf(p[1], 30., p[0], image, valid),
                                  gpu = QuickShift::create(p[1], 30., p[0]);
            gpu->compute(GpuMat(image), valid.empty() ? GpuMat() : GpuMat(valid));
            SCOPED_TRACE(cv::format("scale %g, sigma %g", p[0], p[1]));
            expectSame(resultsOf(*cpu), resultsOf(*gpu));
        }
}

//! A stack has more rows, and more images, than a grid can have blocks.
TEST_F(QuickShift_Cuda, largeStacks)
{
    RNG rng(511);
    typedef std::pair<Size, int> Stack;
    for (const Stack& stack : {Stack(Size(64, 64), 8192 + 3), Stack(Size(3, 2), 65535 + 40)})
    {
        std::vector<Mat> images;
        std::vector<GpuMat> onDevice;
        const Mat image = randomImage(rng, stack.first, CV_8UC1, 3), other = 255 - image;
        const GpuMat first(image), second(other);
        for (int i = 0; i < stack.second; ++i)
        {
            images.push_back(i % 3 ? image : other);
            onDevice.push_back(i % 3 ? first : second);
        }
        const Ptr<QuickShift> cpu = QuickShift::create(0.5, 3., 0.1), gpu = QuickShift::create(0.5, 3., 0.1);
        cpu->computeBatch(images, noArray());
        gpu->computeBatch(onDevice, noArray());
        expectSame(resultsOf(*cpu), resultsOf(*gpu));
        expectSameArray(*cpu, *gpu, [](auto& one, Mat& out) { one.getLabelContourMask(out); });
        expectSameArray(*cpu, *gpu, [](auto& one, Mat& out) { one.segment(1., out); });
    }
}

//! Two images: one has a pixel of a huge value that is masked.
TEST_F(QuickShift_Cuda, meansLeaveOutMaskedPixels)
{
    Mat first = randomImage(513, Size(45, 31), CV_32FC3, 5), second = first.clone(), both;
    second.at<Vec3f>(30, 44) = Vec3f(1.f, -FLT_MAX, 2.f);
    const std::vector<Mat> images = {first, second};
    cv::vconcat(images, both);
    const Ptr<QuickShift> cpu = QuickShift::create(2., 8., 20.), gpu = QuickShift::create(2., 8., 20.);
    cpu->computeBatch(images, noArray());
    gpu->computeBatch(std::vector<GpuMat>{GpuMat(first), GpuMat(second)}, noArray());
    Mat a[2], b;
    GpuMat painted;
    cpu->getMeanColor(both, a[0]);
    gpu->getMeanColor(GpuMat(both), painted);
    painted.download(b);
    EXPECT_TRUE(sameBits(a[0], b));
    cpu->getStatistics(both, noArray(), a[0], noArray(), noArray());
    gpu->getStatistics(GpuMat(both), noArray(), a[1], noArray(), noArray());
    EXPECT_TRUE(sameBits(a[0], a[1]));
}

TEST_F(QuickShift_Cuda, cutsAndNeighbours)
{
    const Scene s(512, Size(133, 94));
    const Ptr<QuickShift> cpu = shiftOf(2., 40., 0.3, s.image, s.mask), gpu = QuickShift::create(2., 40., 0.3);
    gpu->compute(GpuMat(s.image), GpuMat(s.mask));
    const auto expectEqual = [&](const char* what, const Mat& image)
    {
        SCOPED_TRACE(what);
        Mat a[4], b[4];
        expectSame(resultsOf(*cpu), resultsOf(*gpu));
        expectSameArray(*cpu, *gpu, [](auto& one, Mat& out) { one.getAdjacency(out); });
        cpu->getMeanColor(image, a[0]);
        gpu->getMeanColor(GpuMat(image), b[0]);
        EXPECT_TRUE(sameBits(a[0], b[0]));
        cpu->getStatistics(noArray(), a[0], a[1], a[2], a[3]);
        gpu->getStatistics(noArray(), b[0], b[1], b[2], b[3]);
        for (const int k : {0, 2, 3})
            EXPECT_TRUE(sameBits(a[k], b[k])) << k;
    };
    expectEqual("computed", s.image);
    for (const double tau : {0.5, 5., 40.})
    {
        cpu->applyTau(tau);
        gpu->applyTau(tau);
        expectEqual("cut", s.image);
    }
    for (int number = 1; number < 9000; number = number * 3 / 2 + 1)
        EXPECT_EQ(cpu->tauForSuperpixels(number), gpu->tauForSuperpixels(number)) << number;
    EXPECT_EQ(cpu->enforceConnectivity(12), gpu->enforceConnectivity(12));
    expectEqual("connected", s.image);
    const Mat flat(64, 1500, CV_8U, Scalar(5)); // one piece of long rows
    cpu->compute(flat);
    gpu->compute(GpuMat(flat));
    EXPECT_EQ(cpu->enforceConnectivity(2), gpu->enforceConnectivity(2));
    expectEqual("flat", flat);
}

#ifdef HAVE_CUDA

//! A captured cut belongs to its graph: getters after a replay return the replay's results, after a call those of the
//! call.
TEST_F(QuickShift_Cuda, cutInAGraph)
{
    const Scene s(513), other(514);
    const Ptr<QuickShift> cpu = QuickShift::create(2., 40., 0.3), gpu = QuickShift::create(2., 40., 0.3);
    cv::cuda::Stream stream;
    GpuMat input(s.image);
    gpu->compute(input, noArray(), stream);
    stream.waitForCompletion();
    Graph graph(stream);
    gpu->compute(input, noArray(), stream);
    gpu->applyTau(7., stream);
    graph.end();
    for (const Mat& image : {other.image, s.image})
    {
        input.upload(image, stream);
        graph.launch();
        stream.waitForCompletion();
        cpu->compute(image);
        cpu->applyTau(7.);
        expectSame(resultsOf(*cpu), resultsOf(*gpu));
        EXPECT_EQ(cpu->enforceConnectivity(9), gpu->enforceConnectivity(9, stream));
        expectSame(resultsOf(*cpu), resultsOf(*gpu));
        gpu->compute(GpuMat(other.image), noArray(), stream);
        cpu->compute(other.image);
        expectSame(resultsOf(*cpu), resultsOf(*gpu));
    }
}

#endif

}} // namespace opencv_test
