// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Compares the CUDA backend of QuickShift with the CPU backend, bit by bit.
#include "../common/graphs.hpp"
#include "scenes.hpp"
#include <functional>

namespace opencv_test { namespace {

using namespace scenes;
using cv::cuda::GpuMat;
using cv::cuda::Stream;
using QuickShift_Cuda = OnCuda;
using QuickShift_CudaSanitize = OnCuda;

//! Runs compute() on both backends and compares all outputs.
void expectSameOnBoth(const Ptr<QuickShift>& cpu, const Mat& image, const Mat& mask, const std::string& what,
                      Stream& stream = cv::cuda::noStream())
{
    SCOPED_TRACE(what);
    const Ptr<QuickShift> gpu = QuickShift::create();
    FileStorage out(".yml", FileStorage::WRITE | FileStorage::MEMORY);
    cpu->write(out);
    gpu->read(FileStorage(out.releaseAndGetString(), FileStorage::READ | FileStorage::MEMORY).root());
    cpu->compute(image, mask);
    gpu->compute(GpuMat(image), mask.empty() ? GpuMat() : GpuMat(mask), stream);
    stream.waitForCompletion();
    expectSame(resultsOf(*cpu), resultsOf(*gpu));
}

TEST_F(QuickShift_Cuda, typesAndChannels)
{
    RNG rng(421);
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (int channels = 1; channels <= 4; ++channels)
            for (const bool scaled : {false, true})
            {
                Mat image;
                randomImage(rng, Size(151, 97), CV_MAKETYPE(CV_8U, channels), 5)
                    .convertTo(image, CV_MAKETYPE(depth, channels),
                               depth == CV_16U   ? 257.
                               : depth == CV_32F ? 0.37
                                                 : 1.);
                const Ptr<QuickShift> q = QuickShift::create(2.3, 9., depth == CV_16U ? 0.1 / 257 : 0.1);
                if (scaled)
                    q->setChannelScales(Scalar(0.3, 0.1, 0.05, 0.7) * (depth == CV_16U ? 1. / 257 : 1.));
                expectSameOnBoth(q, image, Mat(), typeToString(image.type()));
            }
}

TEST_F(QuickShift_Cuda, options)
{
    const Mat image = randomImage(422, Size(203, 131), CV_8UC3, 5);
    for (const double sigma : {0.2, 1., 3.4, 6., 14., 45.})
        for (const double tau : {1., 4., 10., 100.})
        {
            const Ptr<QuickShift> q = QuickShift::create(sigma, tau, 0.2);
            expectSameOnBoth(q, image, Mat(), cv::format("sigma %g, tau %g", sigma, tau));
            q->setTieRule(QuickShift::STRICT);
            q->setNormalizeDensity(true);
            q->setSearchRadius(7);
            expectSameOnBoth(q, image, Mat(), cv::format("strict, normalised, sigma %g, tau %g", sigma, tau));
        }
}

TEST_F(QuickShift_Cuda, sizes)
{
    RNG rng(423);
    for (const int cols : {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 129, 255, 256, 257})
        for (const int rows : {1, 7, 8, 15, 16, 17, 31, 32, 33, 65})
            for (const int type : {CV_8UC3, CV_32FC2})
            {
                Mat image;
                randomImage(rng, Size(cols, rows), CV_MAKETYPE(CV_8U, CV_MAT_CN(type)), 3).convertTo(image, type);
                expectSameOnBoth(QuickShift::create(2., 30., 0.1), image, Mat(), cv::format("%d x %d", cols, rows));
            }
    // The last one is not small: see tuning::BYTE_SMALL_SEARCH. Its rows of blocks have a rest.
    for (const Size size : {Size(3000, 1), Size(1, 3000), Size(4097, 3), Size(1030, 799)})
        expectSameOnBoth(QuickShift::create(2., 300., 0.1), randomImage(rng, size, CV_8UC1, 3), Mat(), "line, large");
}

//! Ties decide alike on both backends.
TEST_F(QuickShift_Cuda, plateaus)
{
    Mat levels(140, 160, CV_8UC3, Scalar(40, 50, 60));
    levels(Rect(20, 10, 70, 90)).setTo(Scalar(200, 180, 160));
    Mat few, floats;
    few = randomImage(424, Size(150, 120), CV_8UC3, 7, 4);
    levels.convertTo(floats, CV_32F);
    for (const int rule : {int(QuickShift::INDEX), int(QuickShift::STRICT)})
        for (const double tau : {10., 150.})
        {
            const Ptr<QuickShift> q = QuickShift::create(3., tau, 0.3);
            q->setTieRule(rule);
            expectSameOnBoth(q, levels, Mat(), "two levels");
            expectSameOnBoth(q, floats, Mat(), "two levels, float");
            expectSameOnBoth(q, few, Mat(), "few levels");
            expectSameOnBoth(q, Mat(100, 130, CV_8UC1, Scalar(7)), Mat(), "flat");
        }
}

TEST_F(QuickShift_Cuda, maskAndNotANumber)
{
    RNG rng(425);
    const Mat image = randomImage(rng, Size(150, 110), CV_8UC3, 5);
    Mat mask(image.size(), CV_8U), floats;
    rng.fill(mask, RNG::UNIFORM, 0, 4);
    mask(Rect(40, 30, 50, 40)).setTo(0);
    const Ptr<QuickShift> q = QuickShift::create(2.5, 20., 0.15);
    expectSameOnBoth(q, image, mask, "bytes");
    image.convertTo(floats, CV_32F);
    expectSameOnBoth(q, floats, mask, "floats");
    floats.at<Vec3f>(50, 60)[1] = std::numeric_limits<float>::quiet_NaN();
    floats.at<Vec3f>(51, 61)[2] = -std::numeric_limits<float>::infinity();
    floats.at<Vec3f>(52, 62)[0] = 3e38f;
    floats.at<Vec3f>(53, 63)[0] = 9e14f;
    expectSameOnBoth(q, floats, Mat(), "not a number");
    expectSameOnBoth(q, image, Mat(image.size(), CV_8U, Scalar(0)), "all masked");
}

TEST_F(QuickShift_Cuda, roiAndStreams)
{
    const Mat image = randomImage(426, Size(131, 75), CV_8UC3, 5);
    const Ptr<QuickShift> cpu = shiftOf(2., 12., 0.2, image), gpu = QuickShift::create(2., 12., 0.2);
    const GpuMat larger(asRoi(image)); // a copy: its ROI has to be taken on the device
    GpuMat holder(90, 150, CV_8UC3, Scalar::all(9));
    GpuMat roi = holder(Rect(11, 7, 131, 75));
    larger.copyTo(roi);
    Stream stream;
    gpu->compute(roi, noArray(), stream);
    GpuMat labels;
    gpu->getLabels(labels, stream);
    stream.waitForCompletion();
    Mat expected;
    cpu->getLabels(expected);
    EXPECT_TRUE(sameBits(expected, Mat(labels)));
    expectSame(resultsOf(*cpu), resultsOf(*gpu));
}

TEST_F(QuickShift_Cuda, surface)
{
    RNG rng(427);
    const Mat bytes = randomImage(rng, Size(133, 94), CV_8UC3, 5);
    Mat mask(bytes.size(), CV_8U);
    rng.fill(mask, RNG::UNIFORM, 0, 30);
    const Ptr<QuickShift> cpu = shiftOf(2., 40., 0.3, bytes, mask), gpu = QuickShift::create(2., 40., 0.3);
    gpu->compute(GpuMat(bytes), GpuMat(mask));
    Mat a, b, c, d;
    for (const double tau : {0.5, 3., 17., 40.})
    {
        SCOPED_TRACE(tau);
        expectSameArray(*cpu, *gpu, [&](auto& one, Mat& out) { one.segment(tau, out); });
        EXPECT_EQ(cpu->countSuperpixels(tau), gpu->countSuperpixels(tau));
    }
    cpu->getMergeHeights(a, c);
    gpu->getMergeHeights(b, d);
    EXPECT_TRUE(sameBits(a, b));
    EXPECT_TRUE(sameBits(c, d));
    for (const bool thick : {false, true})
        expectSameArray(*cpu, *gpu, [&](auto& one, Mat& out) { one.getLabelContourMask(out, thick); });
    for (const int minSize : {1, 3, 40, 100000})
    {
        for (const int depth : {CV_8U, CV_16U, CV_32F})
        {
            Mat image, s[4], t[4];
            bytes.convertTo(image, depth, depth == CV_8U ? 1. : 101.7, -0.3);
            cpu->getMeanColor(image, a);
            gpu->getMeanColor(GpuMat(image), b);
            EXPECT_TRUE(sameBits(a, b)) << depth;
            cpu->getStatistics(image, s[0], s[1], s[2], s[3]);
            gpu->getStatistics(GpuMat(image), t[0], t[1], t[2], t[3]);
            for (int k = 0; k < 4; ++k)
                EXPECT_TRUE(sameBits(s[k], t[k])) << "column " << k << " depth " << depth;
        }
        SCOPED_TRACE(minSize);
        EXPECT_EQ(cpu->enforceConnectivity(minSize), gpu->enforceConnectivity(minSize));
        expectSameArray(*cpu, *gpu, [](auto& one, Mat& out) { one.getLabels(out); });
    }
}

TEST_F(QuickShift_Cuda, batchAndTiles)
{
    RNG rng(428);
    std::vector<Mat> images;
    for (int i = 0; i < 5; ++i)
        images.push_back(randomImage(rng, Size(110, 71), CV_8UC3, 5));
    const Ptr<QuickShift> cpu = QuickShift::create(2., 20., 0.3), gpu = QuickShift::create(2., 20., 0.3);
    expectSameBatch(*cpu, *gpu, images);
    expectSameArray(*cpu, *gpu, [](auto& one, Mat& out) { one.getLabelContourMask(out); });
    expectSameArray(*cpu, *gpu, [](auto& one, Mat& out) { one.segment(4., out); });
    cpu->compute(images[0]);
    gpu->computeTiled(images[0], Size(40, 33), true);
    expectSame(resultsOf(*cpu), resultsOf(*gpu));

    Mat larger, mask(Size(900, 700), CV_8U);
    randomImage(rng, mask.size(), CV_8UC3, 7).convertTo(larger, CV_32F, 0.7);
    rng.fill(mask, RNG::UNIFORM, 0, 9);
    cpu->compute(larger, mask);
    gpu->computeTiled(asRoi(larger), Size(256, 300), true, asRoi(mask));
    expectSame(resultsOf(*cpu), resultsOf(*gpu));
}

#ifdef HAVE_CUDA

//! A captured compute() reads its input at each replay, allocates nothing and gives the results of a call; likewise all
//! methods that do not wait.
void expectReplay(int type, bool masked)
{
    RNG rng(429);
    std::vector<Mat> images, masks;
    for (int i = 0; i < 3; ++i)
    {
        Mat image, mask(Size(190, 120), CV_8U);
        randomImage(rng, mask.size(), CV_MAKETYPE(CV_8U, CV_MAT_CN(type)), 5).convertTo(image, type);
        rng.fill(mask, RNG::UNIFORM, 0, 5);
        images.push_back(image);
        masks.push_back(mask);
    }
    const Ptr<QuickShift> cpu = QuickShift::create(2., 30., 0.3), gpu = QuickShift::create(2., 30., 0.3);
    GpuMat input(images[0]), mask = masked ? GpuMat(masks[0]) : GpuMat();
    GpuMat labels, contours, cut, density, parents, distances, mean;
    Stream stream;
    const auto work = [&]
    {
        gpu->compute(input, mask, stream);
        gpu->getLabels(labels, stream);
        gpu->getLabelContourMask(contours, true, stream);
        gpu->segment(7., cut, stream);
        gpu->getDensity(density, stream);
        gpu->getParents(parents, stream);
        gpu->getDistances(distances, stream);
        gpu->getMeanColor(input, mean, stream);
    };
    work();
    stream.waitForCompletion();
    resultsOf(*gpu); // outputs on the host take memory, too
    const size_t bytes = gpu->workspaceBytes();
    Graph graph(stream);
    work();
    graph.end();
    for (size_t i = 0; i < images.size(); ++i)
    {
        input.upload(images[i], stream);
        if (masked)
            mask.upload(masks[i], stream);
        graph.launch();
        stream.waitForCompletion();
        const Results r = computed(*cpu, images[i], masked ? masks[i] : Mat());
        Mat expected;
        EXPECT_TRUE(sameBits(r.labels, Mat(labels)));
        EXPECT_TRUE(sameBits(r.density, Mat(density)));
        EXPECT_TRUE(sameBits(r.parents, Mat(parents)));
        EXPECT_TRUE(sameBits(r.distances, Mat(distances)));
        cpu->getLabelContourMask(expected);
        EXPECT_TRUE(sameBits(expected, Mat(contours)));
        cpu->segment(7., expected);
        EXPECT_TRUE(sameBits(expected, Mat(cut)));
        cpu->getMeanColor(images[i], expected);
        EXPECT_TRUE(sameBits(expected, Mat(mean)));
        expectSame(r, resultsOf(*gpu));
    }
    EXPECT_EQ(bytes, gpu->workspaceBytes());
}

TEST_F(QuickShift_Cuda, graph)
{
    expectReplay(CV_8UC3, false);
    expectReplay(CV_8UC3, true);
    expectReplay(CV_32FC3, true);
    expectReplay(CV_16UC1, false);
}

#endif

TEST_F(QuickShift_Cuda, threads)
{
    const Mat image = randomImage(430, Size(190, 120), CV_8UC3, 5);
    const Ptr<QuickShift> cpu = shiftOf(2., 30., 0.3, image);
    expectSameOnThreads(resultsOf(*cpu),
                        [&image]
                        {
                            Stream stream;
                            const Ptr<QuickShift> q = QuickShift::create(2., 30., 0.3);
                            const GpuMat input(image);
                            for (int i = 0; i < 10; ++i)
                                q->compute(input, noArray(), stream);
                            stream.waitForCompletion();
                            return resultsOf(*q);
                        });
}

//! One instance takes smaller and larger images, other types and the other backend.
TEST_F(QuickShift_Cuda, reuse)
{
    RNG rng(431);
    const Ptr<QuickShift> q = QuickShift::create(2., 12., 0.2), fresh = QuickShift::create(2., 12., 0.2);
    for (const Size size : {Size(100, 80), Size(31, 17), Size(220, 140)})
        for (const int type : {CV_8UC1, CV_8UC3, CV_16UC3, CV_32FC4})
        {
            Mat image;
            randomImage(rng, size, CV_MAKETYPE(CV_8U, CV_MAT_CN(type)), 5).convertTo(image, type);
            fresh->compute(image);
            q->compute(GpuMat(image));
            expectSame(resultsOf(*fresh), resultsOf(*q));
        }
    q->compute(GpuMat());
    EXPECT_TRUE(q->empty());
}

//! Ties decide on masked grids and rings, at distances of all steps of the search; sums are the widest.
TEST_F(QuickShift_Cuda, edges)
{
    for (const int spacing : {1, 2, 3, 9, 10, 11, 12, 16, 17, 33})
        for (const double reach : {1., 0.99, 1.5, 3.})
            for (const int rule : {int(QuickShift::INDEX), int(QuickShift::STRICT)})
            {
                const Ptr<QuickShift> q = QuickShift::create(0.3, reach * spacing, 1.);
                q->setTieRule(rule);
                if (reach == 3.)
                    q->setSearchRadius(spacing);
                const Mat flat(120, 130, CV_8UC1, Scalar(50));
                expectSameOnBoth(q, flat, gridMask(flat.size(), spacing, Point(5, 3)),
                                 cv::format("spacing %d, reach %g", spacing, reach));
            }
    for (const int r : {2, 3, 4, 9, 10, 11, 12, 17, 25, 33})
        for (const bool above : {true, false})
            for (const Point at : {Point(40, 40), Point(47, 47), Point(43, 36)})
            {
                const RingTie tie(r, above, at);
                expectSameOnBoth(QuickShift::create(0.3, r, 1.), tie.image, tie.mask, cv::format("tie at %d", r));
                Mat floats;
                tie.image.convertTo(floats, CV_32F);
                expectSameOnBoth(QuickShift::create(0.3, 60., 1.), floats, tie.mask, cv::format("float tie at %d", r));
            }
    for (const Size size : {Size(1400, 1), Size(1, 1400), Size(200, 40)})
        for (const int type : {CV_8UC2, CV_32FC2})
            expectSameOnBoth(QuickShift::create(341., 2., 1.), Mat(size, type, Scalar(3, 4)), Mat(), "widest window");
    RNG rng(432);
    for (const Size size : {Size(1, 40), Size(2, 40), Size(40, 1), Size(40, 2)})
    {
        const Ptr<QuickShift> q = QuickShift::create(1.4, 6., 0.125);
        q->setNormalizeDensity(true);
        expectSameOnBoth(q, randomImage(rng, size, CV_8UC1, 3), Mat(), "normalised and narrow");
    }
    Mat large(1, 4, CV_32FC2, Scalar(1, 1));
    large.at<Vec2f>(1)[1] = 9.9e14f;
    large.at<Vec2f>(2)[0] = -1.01e15f;
    const Ptr<QuickShift> q = QuickShift::create(1., 5., 1.);
    expectSameOnBoth(q, large, Mat(), "largest floats");
    q->setChannelScales(Scalar(0.5, 2.));
    expectSameOnBoth(q, large, Mat(), "largest floats, scaled");
}

//! Means need rounding, values are not finite, some outputs are left out, images are regions.
TEST_F(QuickShift_Cuda, means)
{
    const Ptr<QuickShift> cpu = QuickShift::create(1., 5., 1.), gpu = QuickShift::create(1., 5., 1.);
    const Mat flat(1, 5, CV_8U, Scalar(9)), mask = Mat_<uchar>({1, 5}, {1, 1, 1, 1, 0});
    cpu->compute(flat, mask);
    gpu->compute(GpuMat(flat), GpuMat(mask));
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    for (const Mat& image :
         {Mat(Mat_<uchar>({1, 5}, {0, 1, 1, 0, 200})), Mat(Mat_<ushort>({1, 5}, {65535, 65534, 65534, 65535, 1})),
          Mat(Mat_<float>({1, 5}, {1, nan, 4, 3, 1000})), Mat(Mat_<float>({1, 5}, {1, 4, -inf, 3, 1000})),
          Mat(Mat_<float>({1, 5}, {1, 1, 1, 1e30f, 1}))})
    {
        Mat a, b;
        GpuMat holder(3, 9, image.type(), Scalar::all(0));
        GpuMat roi = holder(Rect(3, 1, 5, 1));
        roi.upload(image);
        cpu->getMeanColor(image, a);
        gpu->getMeanColor(roi, b);
        EXPECT_TRUE(sameBits(a, b)) << image;
        cpu->getStatistics(image, noArray(), a);
        gpu->getStatistics(roi, noArray(), b);
        EXPECT_TRUE(sameBits(a, b)) << image;
    }
}

//! Arrays on the host and the device do not mix; a refused call does not change the results.
TEST_F(QuickShift_Cuda, negative)
{
    const Ptr<QuickShift> q = QuickShift::create(1., 5., 1.);
    const Mat host(20, 20, CV_8UC3, Scalar(1, 2, 3));
    const GpuMat device(host);
    GpuMat out;
    q->compute(device);
    EXPECT_THROW(q->compute(device, Mat(20, 20, CV_8U, Scalar(1))), cv::Exception);
    EXPECT_THROW(q->compute(host, GpuMat(20, 20, CV_8U, Scalar(1))), cv::Exception);
    EXPECT_THROW(q->compute(GpuMat(20, 20, CV_32SC1)), cv::Exception);
    EXPECT_THROW(q->compute(GpuMat(20, 20, CV_64FC1)), cv::Exception);
    EXPECT_THROW(q->compute(device, GpuMat(20, 19, CV_8U)), cv::Exception);
    EXPECT_THROW(q->computeBatch(std::vector<GpuMat>{device, device.rowRange(0, 5)}, noArray()), cv::Exception);
    EXPECT_THROW(q->computeTiled(device, Size(10, 10), true), cv::Exception);
    EXPECT_THROW(q->getMeanColor(host, out), cv::Exception);
    EXPECT_THROW(q->getMeanColor(GpuMat(20, 19, CV_8U), out), cv::Exception);
    EXPECT_THROW(q->getStatistics(host, out), cv::Exception);
    EXPECT_THROW(q->segment(5.1, out), cv::Exception);
    EXPECT_THROW(q->enforceConnectivity(0), cv::Exception);
    EXPECT_EQ(1, q->getNumberOfSuperpixels());
}

//! An instance per backend and small images of all types, for compute-sanitizer.
struct SmallScene
{
    typedef std::function<void(QuickShift&, bool device, Mat (&out)[4])> Call;

    SmallScene() : cpu(QuickShift::create(2., 30., 0.3)), gpu(QuickShift::create(2., 30., 0.3))
    {
        RNG rng(433);
        image = randomImage(rng, Size(71, 43), CV_8UC3, 5);
        mask.create(image.size(), CV_8U);
        rng.fill(mask, RNG::UNIFORM, 0, 9);
        image.convertTo(words, CV_16U, 256.);
        image.convertTo(floats, CV_32F);
        vconcat(std::vector<Mat>(3, floats), stacked);
        for (const Mat& mat : {image, mask, words, floats, stacked})
            there[mat.data] = GpuMat(mat);
    }
    //! Returns the image in the memory of the backend.
    _InputArray in(bool device, const Mat& mat) const
    {
        return device ? _InputArray(there.at(mat.data)) : _InputArray(mat);
    }
    //! Makes a call on both backends and compares its outputs and the number of superpixels after it.
    void expectSameOfBoth(const char* what, const Call& call) const
    {
        Mat expected[4], actual[4];
        call(*cpu, false, expected);
        call(*gpu, true, actual);
        for (int i = 0; i < 4; ++i)
            EXPECT_TRUE(sameBits(expected[i], actual[i])) << what << ", output " << i;
        EXPECT_EQ(cpu->getNumberOfSuperpixels(), gpu->getNumberOfSuperpixels()) << what;
    }
    void expectSameStatistics(const Mat& colours) const
    {
        expectSameOfBoth("getMeanColor", [&](QuickShift& q, bool device, Mat(&out)[4])
                         { q.getMeanColor(in(device, colours), out[0]); });
        expectSameOfBoth("getStatistics", [&](QuickShift& q, bool device, Mat(&out)[4])
                         { q.getStatistics(in(device, colours), out[0], out[1], out[2], out[3]); });
    }
    void expectSameResults() const { expectSame(resultsOf(*cpu), resultsOf(*gpu)); }

    const Ptr<QuickShift> cpu, gpu;
    Mat image, mask, words, floats, stacked;
    std::map<const uchar*, GpuMat> there;
};

//! Runs all kernels on small images, for compute-sanitizer.
TEST_F(QuickShift_CudaSanitize, everything)
{
    const SmallScene s;
    expectSameOnBoth(s.cpu, s.image, Mat(), "bytes");
    expectSameOnBoth(s.cpu, s.image, s.mask, "bytes, masked");
    expectSameOnBoth(s.cpu, s.floats, s.mask, "floats");
    expectSameOnBoth(s.cpu, s.image.col(3), Mat(), "a column");
    expectSameOnBoth(QuickShift::create(2., 3., 1. / 768), s.words, Mat(), "words");
    s.expectSameOfBoth("compute", [&](QuickShift& q, bool device, Mat(&)[4])
                       { q.compute(s.in(device, s.image), s.in(device, s.mask)); });
    s.expectSameOfBoth("segment", [](QuickShift& q, bool, Mat(&out)[4]) { q.segment(4., out[0]); });
    s.expectSameOfBoth("getMergeHeights", [](QuickShift& q, bool, Mat(&out)[4]) { q.getMergeHeights(out[0], out[1]); });
    for (const bool thick : {false, true})
        s.expectSameOfBoth("getLabelContourMask",
                           [&](QuickShift& q, bool, Mat(&out)[4]) { q.getLabelContourMask(out[0], thick); });
    for (const Mat& colours : {s.image, s.words, s.floats})
        s.expectSameStatistics(colours);
    EXPECT_EQ(s.cpu->enforceConnectivity(1), s.gpu->enforceConnectivity(1));
    s.expectSameResults();
    s.gpu->computeTiled(s.image, Size(30, 20), true);
    s.cpu->compute(s.image);
    s.expectSameResults();
}

TEST_F(QuickShift_CudaSanitize, stacks)
{
    const SmallScene s;
    s.cpu->computeBatch(std::vector<Mat>(3, s.image), noArray(), std::vector<Mat>(3, s.mask));
    s.gpu->computeBatch(std::vector<GpuMat>(3, GpuMat(s.image)), noArray(), std::vector<GpuMat>(3, GpuMat(s.mask)));
    s.expectSameResults();
    s.expectSameOfBoth("getSuperpixelCounts", [](QuickShift& q, bool, Mat(&out)[4]) { q.getSuperpixelCounts(out[0]); });
    s.expectSameStatistics(s.stacked);
    EXPECT_EQ(s.cpu->enforceConnectivity(3), s.gpu->enforceConnectivity(3));
    s.expectSameResults();
    s.expectSameStatistics(s.stacked);
    s.expectSameOfBoth("getAdjacency", [](QuickShift& q, bool, Mat(&out)[4]) { q.getAdjacency(out[0]); });
}

}} // namespace opencv_test
