// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShift on a batch: all results are those of the single images, vertically concatenated.
#include "../common/graphs.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using cv::cuda::GpuMat;
using QuickShift_Cuda = OnCuda;

//! Makes images of one size, with masks of which one is empty and one masks all pixels.
struct Stack
{
    explicit Stack(int seed, Size size_, int type, int count) : size(size_)
    {
        RNG rng(seed);
        for (int i = 0; i < count; ++i)
        {
            Mat image, mask(size, CV_8U);
            randomImage(rng, size, CV_MAKETYPE(CV_8U, CV_MAT_CN(type)), 4)
                .convertTo(image, type, 1. / (1 + i), CV_MAT_DEPTH(type) == CV_32F ? -40. * i : 0.);
            images.push_back(image);
            rng.fill(mask, RNG::UNIFORM, 0, 9);
            masks.push_back(i == 1 ? Mat() : i == 3 ? Mat(size, CV_8U, Scalar(0)) : mask);
        }
        vconcat(images, all);
        flip(all, colours, 1);
    }
    Size size;
    std::vector<Mat> images, masks;
    Mat all, colours;
};

//! Returns all results on superpixels, after enforceConnectivity() if minSize > 0.
struct Said
{
    Said(QuickShift& q, const Mat& colours, bool onDevice, int minSize) : results(resultsOf(q))
    {
        connected = minSize > 0 ? q.enforceConnectivity(minSize) : 0;
        q.getLabels(labels);
        q.getSuperpixelCounts(counts);
        q.getLabelContourMask(contours);
        q.getAdjacency(pairs);
        if (onDevice)
            ask(q, GpuMat(colours));
        else
            ask(q, colours);
    }
    template <typename Array> void ask(QuickShift& q, const Array& colours)
    {
        Array painted;
        q.getMeanColor(colours, painted);
        mean = Mat(painted);
        q.getStatistics(colours, areas, means, centroids, boxes);
    }

    //! Returns all arrays, in the order of PARTS.
    std::vector<Mat> parts() const
    {
        return {results.labels, results.density, results.parents, results.distances, labels, counts, contours, pairs,
                mean,           areas,           means,           centroids,         boxes};
    }

    Results results;
    int connected;
    Mat labels, counts, contours, pairs, mean, areas, means, centroids, boxes;
};
const char* const PARTS[] = {
    "labels of the trees", "density", "parents", "distances", "labels", "counts", "contours", "pairs",
    "mean colour",         "areas",   "means",   "centroids", "boxes"};

//! Returns the results of single images, vertically concatenated.
class Expected
{
public:
    void add(const Said& one)
    {
        connected_ += one.connected;
        number_ += one.results.count;
        Said shifted = one;
        if (!one.pairs.empty())
            shifted.pairs = one.pairs + Scalar(first_, first_);
        first_ += one.counts.at<int>(0);
        const std::vector<Mat> parts = shifted.parts();
        for (int k = 0; k < 13; ++k)
            if (!parts[k].empty())
                whole_[k].push_back(parts[k]);
    }
    void expect(const Said& all) const
    {
        for (int k = 0; k < 13; ++k)
            EXPECT_TRUE(sameBits(whole_[k], all.parts()[k])) << PARTS[k];
        EXPECT_EQ(number_, all.results.count);
        EXPECT_EQ(connected_, all.connected);
    }

private:
    Mat whole_[13];
    int first_ = 0, number_ = 0, connected_ = 0;
};

//! Compares a batch with single images on the CPU, whose results other tests compare with oracles.
void expectLikeSingles(const Stack& s, bool masked, int minSize, bool onDevice)
{
    const Ptr<QuickShift> q = QuickShift::create(2., 15., 0.3), single = QuickShift::create(2., 15., 0.3);
    Expected expected;
    for (size_t i = 0; i < s.images.size(); ++i)
    {
        single->compute(s.images[i], masked ? s.masks[i] : Mat());
        const int top = static_cast<int>(i) * s.size.height;
        expected.add(Said(*single, s.colours.rowRange(top, top + s.size.height), false, minSize));
    }
    std::vector<Mat> masks = masked ? s.masks : std::vector<Mat>();
    std::vector<GpuMat> masksOnDevice;
    if (onDevice)
        masksOnDevice = uploaded(masks);
    if (masked && masks.size() > 1) // empty, but not without an address
    {
        masks[1] = masks[0].rowRange(0, 0);
        if (onDevice)
            masksOnDevice[1] = masksOnDevice[0].rowRange(0, 0);
    }
    if (onDevice)
        q->computeBatch(uploaded(s.images), noArray(), masksOnDevice);
    else
        q->computeBatch(s.images, noArray(), masks);
    expected.expect(Said(*q, s.colours, onDevice, minSize));
}

void expectAllLikeSingles(bool onDevice)
{
    for (const int type : {CV_8UC3, CV_8UC1, CV_16UC2, CV_32FC3})
        for (const bool masked : {false, true})
            for (const int minSize : {0, 1, 12, 5000})
            {
                SCOPED_TRACE(cv::format("%s, %d, %d", typeToString(type).c_str(), masked, minSize));
                expectLikeSingles(Stack(571, Size(45, 37), type, 5), masked, minSize, onDevice);
            }
    for (const Size size : {Size(1, 1), Size(1, 9), Size(70, 1), Size(33, 32)})
        expectLikeSingles(Stack(572, size, CV_8UC3, 4), true, 3, onDevice);
    expectLikeSingles(Stack(573, Size(64, 40), CV_8UC3, 1), true, 3, onDevice);
}

TEST(QuickShift_Batch, allIsThatOfSingles) { expectAllLikeSingles(false); }

TEST_F(QuickShift_Cuda, batchIsThatOfSingles) { expectAllLikeSingles(true); }

//! Each flat image is one superpixel, which is not adjacent to those above and below.
TEST(QuickShift_Batch, imagesDoNotTouch)
{
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 1.);
    q->computeBatch(std::vector<Mat>(3, Mat(20, 30, CV_8UC3, Scalar(7, 8, 9))), noArray());
    EXPECT_EQ(3, q->enforceConnectivity(1000));
    Mat counts, pairs, areas, centroids, boxes;
    q->getSuperpixelCounts(counts);
    EXPECT_TRUE(sameBits(Mat(3, 1, CV_32S, Scalar(1)), counts));
    q->getAdjacency(pairs);
    EXPECT_TRUE(pairs.empty());
    q->getStatistics(noArray(), areas, noArray(), centroids, boxes);
    EXPECT_TRUE(sameBits(Mat(3, 1, CV_32S, Scalar(600)), areas));
    EXPECT_TRUE(sameBits(Mat(3, 1, CV_32FC2, Scalar(14.5, 9.5)), centroids));
    EXPECT_TRUE(sameBits(Mat(3, 1, CV_32SC4, Scalar(0, 0, 30, 20)), boxes));
}

TEST(QuickShift_Batch, counts)
{
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    Mat counts(3, 3, CV_8U);
    q->getSuperpixelCounts(counts);
    EXPECT_TRUE(counts.empty());
    const Stack s(574, Size(40, 30), CV_8UC3, 3);
    q->computeBatch(s.images, noArray());
    q->applyTau(3.);
    std::vector<int> list;
    q->getSuperpixelCounts(list);
    ASSERT_EQ(3u, list.size());
    EXPECT_EQ(q->getNumberOfSuperpixels(), list[0] + list[1] + list[2]);
    EXPECT_EQ(q->countSuperpixels(3.), list[0] + list[1] + list[2]);
    q->compute(s.images[0]);
    q->getSuperpixelCounts(list);
    ASSERT_EQ(1u, list.size());
    EXPECT_EQ(q->getNumberOfSuperpixels(), list[0]);
}

void expectRefusals(QuickShift& q, const std::vector<Mat>& images)
{
    const Mat mask(images[0].size(), CV_8U, Scalar(1));
    const auto refused = [&](const std::vector<Mat>& masks)
    { EXPECT_THROW(q.computeBatch(images, noArray(), masks), cv::Exception); };
    refused({mask});
    refused({mask, mask, mask});
    refused({mask, mask.colRange(1, 9)});
    refused({mask, Mat(mask.size(), CV_8UC3)});
    EXPECT_THROW(q.computeBatch(images, noArray(), mask), cv::Exception) << "no list";
    Mat out;
    EXPECT_THROW(q.getMeanColor(images[0], out), cv::Exception) << "one image for a stack";
    EXPECT_THROW(q.getStatistics(images[0], out), cv::Exception);
}

TEST(QuickShift_Negative, batches)
{
    const Stack s(575, Size(40, 30), CV_8UC3, 2);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    q->computeBatch(s.images, noArray());
    const Results before = resultsOf(*q);
    expectRefusals(*q, s.images);
    expectSame(before, resultsOf(*q));
}

//! Images in one array of any dimensions give the results of a list.
TEST(QuickShift_Batch, stacks)
{
    for (const int type : {CV_8UC1, CV_8UC3, CV_32FC4, CV_16UC(7)})
    {
        const Stack s(581, Size(40, 30), type, 4);
        const int cn = CV_MAT_CN(type), depth = CV_MAT_DEPTH(type);
        const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3), listed = QuickShift::create(2., 10., 0.3);
        listed->computeBatch(s.images, noArray(), s.masks);
        const int three[] = {4, 30, 40}, four[] = {4, 30, 40, cn}, wider[] = {4, 30, 40, cn + 1};
        Mat apart(4, wider, depth); // pixels with a gap between them
        const Range parts[] = {Range::all(), Range::all(), Range::all(), Range(0, cn)};
        Mat withGaps = apart(parts);
        Mat(4, four, depth, s.all.data).copyTo(withGaps);
        std::vector<Mat> stacks = {Mat(3, three, type, s.all.data), Mat(4, four, depth, s.all.data), withGaps};
        if (cn == 1)
            stacks.push_back(Mat(4, 30, CV_MAKETYPE(depth, 40), s.all.data)); // as numpy's three dimensions come
        for (const Mat& stack : stacks)
        {
            std::vector<Mat> labels;
            q->clear();
            q->computeStack(stack, labels, s.masks);
            expectSame(resultsOf(*listed), resultsOf(*q));
            ASSERT_EQ(4u, labels.size());
            EXPECT_TRUE(sameBits(resultsOf(*q).labels.rowRange(30, 60), labels[1]));
        }
        const auto refused = [&](const _InputArray& one, const char* says)
        {
            expectRefused([&] { q->computeStack(one, noArray()); }, {says});
            expectSame(resultsOf(*listed), resultsOf(*q));
        };
        refused(s.images[2], "images: one array, but a list is needed");
        refused(Mat(30, 40, CV_8UC(16)), "images: one array, but a list is needed");
        const int many[] = {4, 30, 8, 17};
        refused(Mat(4, many, CV_8U, Scalar(1)), "images: an array of 4 dimensions and 17 channels");
        const int flat[] = {2, 0, 20}, narrow[] = {2, 20, 0, cn};
        refused(Mat(3, flat, type), "images[0]: is empty");
        refused(Mat(4, narrow, depth), "images[0]: is empty");
        q->computeStack(Mat(), noArray());
        EXPECT_TRUE(q->empty());
    }
}

TEST_F(QuickShift_Cuda, masksOfABatch)
{
    const Stack s(576, Size(40, 30), CV_8UC3, 2);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    q->computeBatch(uploaded(s.images), noArray());
    EXPECT_THROW(q->computeBatch(uploaded(s.images), noArray(), s.masks), cv::Exception) << "masks on the host";
    EXPECT_THROW(q->computeBatch(s.images, noArray(), uploaded(s.masks)), cv::Exception) << "masks on the device";
    expectRefused([&] { q->computeStack(GpuMat(s.all), noArray()); }, {"images: one array, but a list is needed"});
}

//! A stack has more rows than a grid's y, and more images than one block scans: slices and CUB's scan work.
TEST_F(QuickShift_Cuda, superpixelsOfLargeStacks)
{
    for (const Size& size : {Size(8, 8), Size(3, 200)})
    {
        const int count = size.height == 8 ? 70000 : 3000;
        Mat all(size.height * count, size.width, CV_8UC1);
        RNG rng(577);
        rng.fill(all, RNG::UNIFORM, 0, 256);
        const GpuMat onDevice(all);
        std::vector<GpuMat> parts;
        std::vector<Mat> images;
        for (int i = 0; i < count; ++i)
        {
            parts.push_back(onDevice.rowRange(i * size.height, (i + 1) * size.height));
            images.push_back(all.rowRange(i * size.height, (i + 1) * size.height));
        }
        const Ptr<QuickShift> cpu = QuickShift::create(0.5, 3., 0.02), gpu = QuickShift::create(0.5, 3., 0.02);
        cpu->computeBatch(images, noArray());
        gpu->computeBatch(parts, noArray());
        for (const int minSize : {0, 4})
        {
            const Said a(*cpu, all, false, minSize), b(*gpu, all, true, minSize);
            for (int k = 0; k < 13; ++k)
                EXPECT_TRUE(sameBits(a.parts()[k], b.parts()[k])) << PARTS[k];
            EXPECT_EQ(a.results.count, b.results.count);
            EXPECT_EQ(a.connected, b.connected);
        }
    }
}

#ifdef HAVE_CUDA

//! A captured batch reads images and masks at each replay, and so do counts and mean colours.
TEST_F(QuickShift_Cuda, batchInAGraph)
{
    Stack first(578, Size(60, 40), CV_8UC3, 3);
    const Stack second(579, Size(60, 40), CV_8UC3, 3);
    first.masks[1] = Mat(first.size, CV_8U, Scalar(1)); // an empty one would stay so
    const Ptr<QuickShift> gpu = QuickShift::create(2., 15., 0.3), cpu = QuickShift::create(2., 15., 0.3);
    std::vector<GpuMat> images = uploaded(first.images), masks = uploaded(first.masks);
    GpuMat colours(first.colours), mean(first.all.size(), CV_8UC3), counts(3, 1, CV_32S);
    cuda::Stream stream;
    const auto work = [&]
    {
        gpu->computeBatch(images, noArray(), masks, stream);
        gpu->getSuperpixelCounts(counts, stream);
        gpu->getMeanColor(colours, mean, stream);
    };
    for (const bool warm : {false, true})
    {
        if (warm)
            work();
        stream.waitForCompletion();
        Graph graph(stream);
        work();
        graph.end();
        for (const Stack* s : {&second, static_cast<const Stack*>(&first)})
        {
            std::vector<Mat> valid = first.masks;
            for (int i = 0; i < 3; ++i)
            {
                images[i].upload(s->images[i], stream);
                valid[i] = s->masks[i].empty() ? Mat(s->size, CV_8U, Scalar(1)) : s->masks[i];
                masks[i].upload(valid[i], stream);
            }
            colours.upload(s->colours, stream);
            graph.launch();
            stream.waitForCompletion();
            cpu->computeBatch(s->images, noArray(), valid);
            const Said truth(*cpu, s->colours, false, 0);
            EXPECT_TRUE(sameBits(truth.counts, Mat(counts))) << warm;
            EXPECT_TRUE(sameBits(truth.mean, Mat(mean))) << warm;
            Mat areas;
            if (warm) // results are shared: the replay's
            {
                gpu->getStatistics(colours, areas, noArray(), noArray(), noArray(), stream);
                EXPECT_TRUE(sameBits(truth.areas, areas));
            }
        }
    }
}

#endif

}} // namespace opencv_test
