// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// applyNumber(): connected superpixels of a wanted number, beside all cuts that there are. forSuperpixels().
#include "../common/graphs.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using cv::cuda::GpuMat;
using QuickShift_Cuda = OnCuda;

Mat labelsOf(const QuickShift& q)
{
    Mat labels;
    q.getLabels(labels);
    return labels;
}

int countOf(const Mat& labels)
{
    double most = -1.;
    minMaxLoc(labels, nullptr, &most);
    return static_cast<int>(most) + 1;
}

//! Returns the labels of each cut of the trees, in connected pieces of at least minSize pixels. In the first cut each
//! pixel is a tree.
std::vector<Mat> allCuts(QuickShift& q, int minSize)
{
    Mat heights, cut;
    q.getMergeHeights(heights, noArray());
    std::vector<Mat> cuts;
    if (heights.rows > 0)
    {
        q.segment(heights.at<float>(0) / 2, cut);
        cuts.push_back(joinedPieces(cut, minSize));
    }
    for (int k = 0; k < heights.rows; ++k)
    {
        q.segment(heights.at<float>(k), cut);
        cuts.push_back(joinedPieces(cut, minSize));
    }
    return cuts;
}

//! Checks that the labels are those of a cut and, but for pieces of a given size and a number of 1, that no cut has a
//! number that is much nearer to the wanted one: small pieces that are joined can leave few of them, even one, where
//! the trees are many.
void expectNumber(QuickShift& q, int number, int minSize, int leastArea)
{
    SCOPED_TRACE(cv::format("number %d, minSize %d", number, minSize));
    const int made = q.applyNumber(number, minSize);
    const Mat labels = labelsOf(q);
    EXPECT_EQ(countOf(labels), made);
    EXPECT_EQ(made, q.getNumberOfSuperpixels());
    bool present = false;
    int nearest = INT_MAX;
    for (const Mat& cut : allCuts(q, minSize > 0 ? minSize : leastArea))
    {
        present = present || sameBits(cut, labels);
        nearest = std::min(nearest, std::abs(countOf(cut) - number));
    }
    EXPECT_TRUE(present);
    const int error = std::abs(made - number);
    EXPECT_TRUE(minSize > 0 || number == 1 || error * 50 <= number || error <= nearest + 1)
        << made << ", but a cut misses the number by " << nearest;
}

TEST(QuickShift_Number, nearestCut)
{
    Mat image;
    GaussianBlur(randomImage(9801, Size(30, 21), CV_8UC3, 5), image, Size(), 1.);
    normalize(image, image, 0, 255, NORM_MINMAX);
    Mat mask = Mat::zeros(image.size(), CV_8U);
    mask(Rect(5, 4, 14, 15)).setTo(255);
    for (const Mat& valid : {Mat(), mask})
    {
        SCOPED_TRACE(valid.empty() ? "whole" : "masked");
        const int pixels = valid.empty() ? static_cast<int>(image.total()) : countNonZero(valid);
        const Ptr<QuickShift> q = shiftOf(2., 40., 0.3, image, valid);
        const Mat before = labelsOf(*q);
        for (const int number : {1, 2, 11, 24, 107, 5000})
            for (const int minSize : {0, 9})
                expectNumber(*q, number, minSize, std::max(1, pixels / number / 12));
        q->applyTau(40.);
        EXPECT_TRUE(sameBits(before, labelsOf(*q))) << "trees stay";
    }
}

Mat noise(Size size)
{
    Mat image(size, CV_8UC3);
    RNG(9808).fill(image, RNG::UNIFORM, 0, 256);
    return image;
}

//! In noise the number of pieces first grows with the number of trees, and then falls, as most are smaller than those
//! that are kept. The number below is made where it falls.
TEST(QuickShift_Number, inNoise)
{
    const Ptr<QuickShift> q = shiftOf(3., 60., .5, noise(Size(50, 40)), Mat());
    EXPECT_EQ(40, q->applyNumber(40));
    EXPECT_EQ(40, countOf(labelsOf(*q)));
}

//! Numbers above that of all merge heights are made by cutting all links.
TEST(QuickShift_Number, allPixels)
{
    Mat image(12, 20, CV_8UC3, Scalar::all(30));
    image.colRange(0, 7).setTo(Scalar::all(200));
    const Ptr<QuickShift> q = shiftOf(2., 30., 1., image, Mat());
    const int pixels = static_cast<int>(image.total());
    EXPECT_EQ(pixels, q->applyNumber(pixels));
    EXPECT_EQ(pixels, q->applyNumber(pixels - 40));
    EXPECT_EQ(2, q->applyNumber(2));
}

//! Twelve squares of one colour each are twelve superpixels; no cut has fewer, because maxDist does not reach across.
TEST(QuickShift_Number, squares)
{
    Mat image(60, 80, CV_8UC3);
    for (int i = 0; i < 12; ++i)
        image(Rect(i % 4 * 20, i / 4 * 20, 20, 20)).setTo(Scalar(20 * i, 255 * (i % 2), 255 - 20 * i));
    const Ptr<QuickShift> q = shiftOf(1., 30., 1., image, Mat());
    for (const int number : {12, 7, 1})
    {
        ASSERT_EQ(12, q->applyNumber(number, 1)) << number;
        for (int y = 0; y < image.rows; ++y)
            for (int x = 0; x < image.cols; ++x)
                ASSERT_EQ(y / 20 * 4 + x / 20, labelsOf(*q).at<int>(y, x)) << x << ", " << y;
    }
}

TEST(QuickShift_Number, smallestArea)
{
    const Ptr<QuickShift> q = shiftOf(2., 40., 0.3, randomImage(9802, Size(70, 50), CV_8UC3, 5), Mat());
    Mat areas;
    double least = 0.;
    EXPECT_NEAR(40, q->applyNumber(40, 30), 1);
    q->getStatistics(noArray(), areas);
    minMaxLoc(areas, &least);
    EXPECT_GE(least, 30.);
    EXPECT_LE(q->applyNumber(3000, 30), 70 * 50 / 30) << "no room for more";
}

TEST(QuickShift_Number, withoutPixels)
{
    const Ptr<QuickShift> q = QuickShift::forSuperpixels();
    EXPECT_EQ(0, q->applyNumber(5));
    const Mat image(9, 8, CV_8UC3, Scalar::all(7));
    q->compute(image, Mat(Mat::zeros(image.size(), CV_8U)));
    EXPECT_EQ(0, q->applyNumber(5));
    EXPECT_EQ(Mat(image.size(), CV_32S, Scalar(-1)).total(), static_cast<size_t>(countNonZero(labelsOf(*q) == -1)));
    q->compute(Mat(1, 1, CV_8UC3, Scalar::all(7)));
    EXPECT_EQ(1, q->applyNumber(INT_MAX));
    EXPECT_EQ(0, labelsOf(*q).at<int>(0));
}

TEST(QuickShift_Number, ofABatch)
{
    std::vector<Mat> images, labels;
    for (const int seed : {9803, 9804, 9805})
        images.push_back(randomImage(seed, Size(60, 40), CV_8UC3, 5));
    const Ptr<QuickShift> q = QuickShift::create(2., 40., 0.3);
    q->computeBatch(images, labels);
    Mat counts;
    const int made = q->applyNumber(150);
    EXPECT_NEAR(150, made, 3);
    q->getSuperpixelCounts(counts);
    EXPECT_EQ(made, static_cast<int>(sum(counts)[0]));
    const Mat all = labelsOf(*q);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(counts.at<int>(i), countOf(all.rowRange(40 * i, 40 * i + 40)));
}

TEST(QuickShift_Number, forSuperpixels)
{
    const Ptr<QuickShift> q = QuickShift::forSuperpixels();
    Mat lab;
    cvtColor(randomImage(9806, Size(120, 90), CV_8UC3, 15), lab, COLOR_BGR2Lab);
    q->compute(lab);
    for (const int number : {20, 60, 147, 200})
        EXPECT_NEAR(number, q->applyNumber(number), number / 50.);
}

TEST_F(QuickShift_Cuda, numberAsOnTheCpu)
{
    const Mat image = randomImage(9807, Size(150, 110), CV_8UC3, 5), mask = gridMask(image.size(), 7, Point(3, 2));
    for (const Mat& valid : {Mat(), mask})
    {
        const Ptr<QuickShift> cpu = QuickShift::forSuperpixels(), gpu = QuickShift::forSuperpixels();
        cpu->compute(image, valid);
        gpu->compute(GpuMat(image), valid.empty() ? GpuMat() : GpuMat(valid));
        for (const int number : {1, 10, 100, 1000, 100000})
            for (const int minSize : {0, 5})
            {
                SCOPED_TRACE(cv::format("number %d, minSize %d", number, minSize));
                EXPECT_EQ(cpu->applyNumber(number, minSize), gpu->applyNumber(number, minSize));
                EXPECT_EQ(cpu->getNumberOfSuperpixels(), gpu->getNumberOfSuperpixels());
                EXPECT_TRUE(sameBits(labelsOf(*cpu), labelsOf(*gpu)));
            }
    }
}

TEST_F(QuickShift_Cuda, numberInNoiseAsOnTheCpu)
{
    const Mat image = noise(Size(80, 60));
    const Ptr<QuickShift> cpu = QuickShift::forSuperpixels(), gpu = QuickShift::forSuperpixels();
    cpu->compute(image);
    gpu->compute(GpuMat(image));
    for (const int number : {20, 50, 100, 200, 400, 4790})
    {
        SCOPED_TRACE(number);
        EXPECT_EQ(cpu->applyNumber(number), gpu->applyNumber(number));
        EXPECT_TRUE(sameBits(labelsOf(*cpu), labelsOf(*gpu)));
    }
}

TEST_F(QuickShift_Cuda, numberOfABatch)
{
    std::vector<Mat> images, labels;
    std::vector<GpuMat> uploaded, onDevice;
    for (const int seed : {9808, 9809})
    {
        images.push_back(randomImage(seed, Size(61, 45), CV_8UC3, 5));
        uploaded.push_back(GpuMat(images.back()));
    }
    const Ptr<QuickShift> cpu = QuickShift::create(2., 40., 0.3), gpu = QuickShift::create(2., 40., 0.3);
    cpu->computeBatch(images, labels);
    gpu->computeBatch(uploaded, onDevice);
    EXPECT_EQ(cpu->applyNumber(90), gpu->applyNumber(90));
    EXPECT_TRUE(sameBits(labelsOf(*cpu), labelsOf(*gpu)));
}

#ifdef HAVE_CUDA

//! The number is needed on the host, so a capture refuses the call, which changes nothing.
TEST_F(QuickShift_Cuda, numberInACapture)
{
    const GpuMat image(randomImage(9810, Size(60, 40), CV_8UC3, 5));
    const Ptr<QuickShift> q = QuickShift::create(2., 40., 0.3);
    cv::cuda::Stream stream;
    q->compute(image, noArray(), stream);
    const Mat before = labelsOf(*q);
    Graph graph(stream);
    q->compute(image, noArray(), stream);
    EXPECT_THROW(q->applyNumber(20, 0, stream), cv::Exception);
    graph.end();
    EXPECT_TRUE(sameBits(before, labelsOf(*q)));
    EXPECT_NEAR(20, q->applyNumber(20, 0, stream), 1);
}

#endif // HAVE_CUDA

}} // namespace opencv_test
