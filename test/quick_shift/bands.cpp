// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShift on images of more than four channels: the CPU backend against the definition in double, and CUDA against
// the CPU, bit by bit.
#include "../common/graphs.hpp"
#include "against_oracle.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using cv::cuda::GpuMat;
using cv::cuda::Stream;
using QuickShift_Cuda = OnCuda;
using QuickShift_CudaSanitize = OnCuda;

const int DEPTHS[] = {CV_8U, CV_16U, CV_32F};
const int CHANNELS[] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

//! Returns the factor that gives an image of the depth the range of 8 bits.
double unitOf(int depth) { return depth == CV_16U ? 1. / 257 : depth == CV_32F ? 3. : 1.; }

Mat bandImage(RNG& rng, Size size, int depth, int channels)
{
    Mat image;
    randomImage(rng, size, CV_8UC(channels), 5).convertTo(image, depth, 1. / unitOf(depth));
    return image;
}

//! Returns 16 factors that differ, 0 among them.
std::vector<double> unequalScales(double scale)
{
    std::vector<double> scales(16);
    for (int k = 0; k < 16; ++k)
        scales[k] = k == 3 ? 0. : scale * (1 + k % 5) / 3;
    return scales;
}

Mat randomMask(RNG& rng, Size size)
{
    Mat mask(size, CV_8U);
    rng.fill(mask, RNG::UNIFORM, 0, 5);
    return mask;
}

TEST(QuickShift_Bands, likeTheDefinition)
{
    RNG rng(601);
    for (const int depth : DEPTHS)
        for (const int channels : CHANNELS)
            for (const bool weighted : {false, true})
            {
                SCOPED_TRACE(
                    cv::format("%s, weighted %d", typeToString(CV_MAKETYPE(depth, channels)).c_str(), weighted));
                const Mat image = bandImage(rng, Size(45, 33), depth, channels);
                QuickShiftOptions o(2.3, 9.5, 0.06 * unitOf(depth));
                if (weighted)
                    o.scales = unequalScales(o.scales[0]);
                o.mask = randomMask(rng, image.size());
                const QuickShiftResult truth = oracle::quickShift(image, o);
                const Results r = computed(*make(o), image, o.mask);
                EXPECT_LE(oracle::densityError(r.density, truth.density, 0.), 2e-5);
                EXPECT_GE(oracle::sameParents(r.parents, truth.parents), 0.997);
                EXPECT_TRUE(sameBits(oracle::labelsOf(r.parents), r.labels));
                expectDistances(truth, r, 2e-6);
            }
}

//! A channel that is 0 everywhere, or whose factor is 0, changes nothing: the same pixels have the same bits with 4 and
//! with more channels. A fifth channel that differs does change them.
TEST(QuickShift_Bands, moreChannelsOfNothing)
{
    RNG rng(602);
    for (const int depth : {CV_16U, CV_32F})
    {
        const Mat four = bandImage(rng, Size(70, 41), depth, 4), noise = bandImage(rng, four.size(), depth, 1);
        Mat zeros, more;
        merge(std::vector<Mat>{four, Mat::zeros(four.size(), depth), Mat::zeros(four.size(), depth)}, zeros);
        merge(std::vector<Mat>{four, noise, noise}, more);
        const double scale = 0.1 * unitOf(depth);
        const Ptr<QuickShift> q = QuickShift::create(2., 12., scale);
        const Results r = computed(*q, four);
        expectSame(r, computed(*q, zeros));
        EXPECT_LT(oracle::sameParents(r.parents, computed(*q, more).parents), 0.9);
        q->setScales({scale, scale, scale, scale, 0., 0.});
        EXPECT_GE(oracle::sameParents(r.parents, computed(*q, more).parents), 0.999); // scales are split otherwise
    }
}

//! NaN, infinity and huge values of any channel are masked; the other pixels are as with a mask of these.
TEST(QuickShift_Bands, notANumber)
{
    RNG rng(603);
    Mat image = bandImage(rng, Size(40, 30), CV_32F, 11), mask(image.size(), CV_8U, Scalar(255));
    image.ptr<float>(5, 7)[10] = std::numeric_limits<float>::quiet_NaN();
    image.ptr<float>(20, 30)[4] = -std::numeric_limits<float>::infinity();
    image.ptr<float>(21, 30)[7] = 1e15f;
    image.ptr<float>(22, 30)[7] = 9e14f; // is not masked
    const Ptr<QuickShift> q = QuickShift::create(2., 8., 0.5);
    const Results found = computed(*q, image);
    for (const Point p : {Point(7, 5), Point(30, 20), Point(30, 21)})
    {
        mask.at<uchar>(p) = 0;
        std::fill_n(image.ptr<float>(p.y, p.x), 11, 0.f);
    }
    EXPECT_EQ(3, countNonZero(found.labels == -1));
    expectSame(computed(*q, image, mask), found);
}

TEST(QuickShift_Bands, tilesNoiseAndBatch)
{
    RNG rng(604);
    const Mat image = bandImage(rng, Size(97, 63), CV_16U, 6), mask = randomMask(rng, image.size());
    const Ptr<QuickShift> q = QuickShift::create(1.5, 6., 0.2 / 257), single = QuickShift::create(1.5, 6., 0.2 / 257);
    const Results whole = computed(*q, image, mask);
    q->computeTiled(image, Size(20, 30), false, mask);
    expectSame(whole, resultsOf(*q));
    q->computeNoisy(image, Mat::zeros(image.size(), CV_64F), mask);
    expectSame(whole, resultsOf(*q));
    const std::vector<Mat> images = {image, bandImage(rng, image.size(), CV_16U, 6)};
    std::vector<Mat> labels;
    q->computeBatch(images, labels);
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(sameBits(computed(*single, images[i]).labels, labels[i]));
}

TEST(QuickShift_Bands, meansOfManyChannels)
{
    RNG rng(605);
    const Ptr<QuickShift> q = shiftOf(2., 8., 0.3, bandImage(rng, Size(50, 40), CV_8U, 3));
    Mat labels, areas, means, painted;
    q->getLabels(labels);
    for (const int depth : DEPTHS)
        for (const int channels : {5, 16})
        {
            const Mat image = bandImage(rng, labels.size(), depth, channels);
            q->getStatistics(image, areas, means);
            q->getMeanColor(image, painted);
            ASSERT_EQ(CV_32FC(channels), means.type());
            ASSERT_EQ(image.type(), painted.type());
            std::vector<Mat> planes, drawn;
            split(image, planes);
            split(painted, drawn);
            for (int i = 0; i < areas.rows; ++i)
                for (int k = 0; k < channels; ++k)
                {
                    const double truth = mean(planes[k], labels == i)[0], shown = mean(drawn[k], labels == i)[0];
                    ASSERT_NEAR(truth, means.ptr<float>(i)[k], 1e-5 * (1 + truth));
                    ASSERT_NEAR(truth, shown, depth == CV_32F ? 1e-5 * (1 + truth) : 0.5001);
                }
        }
}

TEST(QuickShift_Bands, scales)
{
    RNG rng(606);
    const Mat image = bandImage(rng, Size(30, 20), CV_8U, 6);
    const Ptr<QuickShift> q = QuickShift::create(2., 8., 0.3), back = QuickShift::create();
    q->setChannelScales(Scalar::all(0.2)); // equal factors hold for all channels
    const Results equal = computed(*q, image);
    q->setColorScale(0.2);
    expectSame(equal, computed(*q, image));
    q->setScales(std::vector<double>(6, 0.2));
    expectSame(equal, computed(*q, image));

    const char* const says = "image: 6 channels, but there are factors for at most 4";
    q->setChannelScales(Scalar(0.2, 0.2, 0.2, 0.3));
    expectRefused([&] { q->compute(image); }, {says});
    expectSame(equal, resultsOf(*q));
    q->setScales({0.1, 0.2, 0.3, 0.4, 0.5});
    EXPECT_THROW(q->compute(image), cv::Exception);
    q->setScales({0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
    FileStorage out(".yml", FileStorage::WRITE | FileStorage::MEMORY);
    q->write(out);
    back->read(FileStorage(out.releaseAndGetString(), FileStorage::READ | FileStorage::MEMORY).root());
    EXPECT_EQ(q->getScales(), back->getScales());
}

//! Runs compute() and the methods that take colours on both backends.
void expectSameOnBoth(QuickShift& cpu, QuickShift& gpu, const Mat& image, const Mat& mask = Mat())
{
    Mat a[3], b[3];
    cpu.compute(image, mask);
    gpu.compute(GpuMat(image), mask.empty() ? GpuMat() : GpuMat(mask));
    expectSame(resultsOf(cpu), resultsOf(gpu));
    cpu.getMeanColor(image, a[0]);
    gpu.getMeanColor(GpuMat(image), b[0]);
    cpu.getStatistics(image, noArray(), a[1], noArray(), a[2]);
    gpu.getStatistics(GpuMat(image), noArray(), b[1], noArray(), b[2]);
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(sameBits(a[i], b[i])) << i;
}

TEST_F(QuickShift_Cuda, bands)
{
    RNG rng(607);
    for (const int depth : DEPTHS)
        for (const int channels : CHANNELS)
            for (const bool weighted : {false, true})
            {
                SCOPED_TRACE(
                    cv::format("%s, weighted %d", typeToString(CV_MAKETYPE(depth, channels)).c_str(), weighted));
                const Ptr<QuickShift> q[] = {QuickShift::create(2.3, 9., 0.06 * unitOf(depth)),
                                             QuickShift::create(2.3, 9., 0.06 * unitOf(depth))};
                for (const Ptr<QuickShift>& one : q)
                    if (weighted)
                        one->setScales(unequalScales(0.06 * unitOf(depth)));
                const Mat image = bandImage(rng, Size(151, 97), depth, channels);
                expectSameOnBoth(*q[0], *q[1], image);
                expectSameOnBoth(*q[0], *q[1], image, randomMask(rng, image.size()));
            }
}

TEST_F(QuickShift_Cuda, bandsOptionsAndSizes)
{
    RNG rng(608);
    const Mat image = bandImage(rng, Size(203, 131), CV_8U, 6);
    for (const double sigma : {0.2, 1., 6., 14., 45.})
        for (const double tau : {1., 9., 12., 100.}) // within the tile's reach, and beyond
            for (const int rule : {int(QuickShift::INDEX), int(QuickShift::STRICT)})
            {
                SCOPED_TRACE(cv::format("sigma %g, tau %g, rule %d", sigma, tau, rule));
                const Ptr<QuickShift> cpu = QuickShift::create(sigma, tau, 0.1),
                                      gpu = QuickShift::create(sigma, tau, 0.1);
                for (const Ptr<QuickShift>& one : {cpu, gpu})
                {
                    one->setTieRule(rule);
                    one->setNormalizeDensity(tau == 12.);
                    one->setSearchRadius(tau == 1. ? 7 : QuickShift::SEARCH_MAX_DIST);
                }
                expectSameOnBoth(*cpu, *gpu, image);
            }
    const Ptr<QuickShift> cpu = QuickShift::create(2., 30., 0.1), gpu = QuickShift::create(2., 30., 0.1);
    for (const int cols : {1, 2, 31, 32, 33, 65})
        for (const int rows : {1, 7, 8, 15, 16, 17, 33})
            expectSameOnBoth(*cpu, *gpu, bandImage(rng, Size(cols, rows), CV_32F, 5));
    Mat flat = Mat::zeros(100, 130, CV_16UC(9)); // all are ties
    expectSameOnBoth(*cpu, *gpu, flat);
    expectSameOnBoth(*cpu, *gpu, flat, Mat::zeros(flat.size(), CV_8U));
    flat = bandImage(rng, Size(90, 40), CV_32F, 16);
    flat.ptr<float>(5, 7)[15] = std::numeric_limits<float>::quiet_NaN();
    flat.ptr<float>(6, 7)[0] = 1e15f;
    flat.ptr<float>(7, 7)[8] = 9e14f;
    expectSameOnBoth(*cpu, *gpu, flat);
}

TEST_F(QuickShift_Cuda, bandsInBatchesAndTiles)
{
    RNG rng(609);
    std::vector<Mat> images;
    for (int i = 0; i < 3; ++i)
        images.push_back(bandImage(rng, Size(110, 71), CV_16U, 10));
    const Ptr<QuickShift> cpu = QuickShift::create(2., 20., 0.1 / 257), gpu = QuickShift::create(2., 20., 0.1 / 257);
    expectSameBatch(*cpu, *gpu, images);
    Mat all, a, b;
    vconcat(images, all);
    cpu->getMeanColor(all, a);
    gpu->getMeanColor(GpuMat(all), b);
    EXPECT_TRUE(sameBits(a, b));
    cpu->compute(images[0]);
    gpu->computeTiled(images[0], Size(40, 33), true);
    expectSame(resultsOf(*cpu), resultsOf(*gpu));
    EXPECT_THROW(gpu->compute(GpuMat(20, 20, CV_8UC(17))), cv::Exception);
    expectSame(resultsOf(*cpu), resultsOf(*gpu));
}

#ifdef HAVE_CUDA

TEST_F(QuickShift_Cuda, bandsInAGraph)
{
    RNG rng(610);
    const Mat image = bandImage(rng, Size(120, 90), CV_32F, 13);
    const Ptr<QuickShift> cpu = QuickShift::create(2., 30., 0.5), gpu = QuickShift::create(2., 30., 0.5);
    GpuMat input(image), labels, mean;
    Stream stream;
    const auto work = [&]
    {
        gpu->compute(input, noArray(), stream);
        gpu->getLabels(labels, stream);
        gpu->getMeanColor(input, mean, stream);
    };
    work();
    stream.waitForCompletion();
    const size_t bytes = gpu->workspaceBytes();
    Graph graph(stream);
    work();
    graph.end();
    for (int i = 0; i < 2; ++i)
    {
        const Mat next = bandImage(rng, image.size(), CV_32F, 13);
        Mat expected;
        input.upload(next, stream);
        graph.launch();
        stream.waitForCompletion();
        EXPECT_TRUE(sameBits(computed(*cpu, next).labels, Mat(labels)));
        cpu->getMeanColor(next, expected);
        EXPECT_TRUE(sameBits(expected, Mat(mean)));
    }
    EXPECT_EQ(bytes, gpu->workspaceBytes());
}

#endif

//! Runs the kernels for many channels on small images, for compute-sanitizer.
TEST_F(QuickShift_CudaSanitize, bands)
{
    RNG rng(611);
    for (const int channels : {5, 9, 16})
        for (const bool weighted : {false, true})
        {
            const Ptr<QuickShift> cpu = QuickShift::create(2., 30., 0.1), gpu = QuickShift::create(2., 30., 0.1);
            for (const Ptr<QuickShift>& one : {cpu, gpu})
                if (weighted)
                    one->setScales(unequalScales(0.1));
            for (const int depth : DEPTHS)
            {
                const Mat image = bandImage(rng, Size(71, 43), depth, channels);
                expectSameOnBoth(*cpu, *gpu, image);
                expectSameOnBoth(*cpu, *gpu, image, randomMask(rng, image.size()));
            }
        }
}

}} // namespace opencv_test
