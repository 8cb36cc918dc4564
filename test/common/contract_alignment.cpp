// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Foreign device memory at an address at which no kernel can read or write a number: refused by name before anything is
// done.
#include "../fragment_matcher/scenes_cuda.hpp"
#include "../quick_shift/scenes.hpp"
#include "../tld/scenes.hpp"

namespace opencv_test { namespace {

#ifdef HAVE_CUDA

using cuda::GpuMat;
using cuda::QuickShift;
using scenes::FM;

//! Memory whose content nobody reads.
GpuMat odd(int rows, int cols, int type, size_t offset)
{
    return GpuMat(rows, cols, type, reinterpret_cast<void*>(size_t(1) << 20 | offset));
}

TEST(Common_CudaAlignment, inputs)
{
    const Ptr<FM> matcher = FM::create(scenes::makeParams(FM::SAD, 1));
    const Ptr<QuickShift> quickShift = QuickShift::create(2., 10., 0.3);
    GpuMat out;
    expectRefused([&] { matcher->match(odd(50, 60, CV_16UC1, 1), noArray(), out); },
                  {"frame: ", "16UC1", "multiples of 2"});
    expectRefused([&] { matcher->addFragment(odd(9, 9, CV_32FC3, 2)); }, {"templ: ", "32FC3", "multiples of 4"});
    expectRefused([&] { matcher->setFragments(std::vector<GpuMat>{odd(9, 9, CV_16UC1, 3)}); },
                  {"templates[0]: ", "multiples of 2"});
    expectRefused([&] { quickShift->compute(odd(50, 60, CV_32FC3, 2)); }, {"image: ", "32FC3", "multiples of 4"});
    // Rows that are not a whole number of elements apart.
    const GpuMat rows(50, 60, CV_16UC1, reinterpret_cast<void*>(size_t(1) << 20), 121);
    expectRefused([&] { quickShift->compute(rows); }, {"image: ", "121", "multiples of 2"});
}

class Common_CudaAlignmentOfResults : public testing::Test
{
protected:
    void SetUp() override
    {
        requireCuda();
        memory.create(1, 1 << 20, CV_8UC1);
    }
    GpuMat at(int rows, int cols, int type, size_t offset) const
    {
        return GpuMat(rows, cols, type, memory.data + offset);
    }

    GpuMat memory;
};

TEST_F(Common_CudaAlignmentOfResults, fragmentMatcher)
{
    RNG rng(9700);
    const scenes::Scene scene =
        scenes::randomScene(rng, scenes::makeParams(FM::SAD, 1), CV_8UC1, scenes::NO_WEIGHTS, Size(83, 61), 20, 3);
    const Ptr<FM> matcher = matcherOf(scene);
    const GpuMat frame(scene.frame);
    GpuMat locations, scores;
    matcher->match(frame, noArray(), locations, scores);
    GpuMat wrong = at(scores.rows, scores.cols, scores.type(), 2);
    expectRefused([&] { matcher->match(frame, noArray(), locations, wrong); }, {"scores", "multiples of"});
    GpuMat right = at(scores.rows, scores.cols, scores.type(), scores.elemSize1());
    matcher->match(frame, noArray(), locations, right);
    EXPECT_EQ(memory.data + scores.elemSize1(), right.data);
    EXPECT_EQ(0, cv::norm(Mat(scores), Mat(right), NORM_INF));
}

TEST_F(Common_CudaAlignmentOfResults, tld)
{
    const Mat image = tld::texture(9702, Size(120, 90));
    const GpuMat frame(image);
    const Ptr<tld::TLDDetector> host = tld::TLDDetector::create(), device = tld::TLDDetector::create();
    host->init(image, Rect(30, 20, 30, 30));
    device->init(frame, Rect(30, 20, 30, 30));
    Mat expected;
    host->detect(image, expected);
    GpuMat wrong = at(expected.rows, expected.cols, expected.type(), 4);
    expectRefused([&] { device->detect(frame, wrong); }, {"objects", "multiples of 8"});
    GpuMat right = at(expected.rows, expected.cols, expected.type(), 8);
    device->detect(frame, right);
    EXPECT_EQ(memory.data + 8, right.data);
    EXPECT_EQ(0, cv::norm(expected, Mat(right), NORM_INF));
}

TEST_F(Common_CudaAlignmentOfResults, quickShift)
{
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    q->compute(GpuMat(randomImage(9701, Size(64, 48), CV_8UC3)));
    GpuMat expected, labels = at(48, 64, CV_32SC1, 2);
    q->getLabels(expected);
    expectRefused([&] { q->getLabels(labels); }, {"labels", "multiples of 4"});
    labels = at(48, 64, CV_32SC1, 4);
    q->getLabels(labels);
    EXPECT_EQ(memory.data + 4, labels.data);
    EXPECT_TRUE(sameBits(Mat(expected), Mat(labels)));
}

#endif // HAVE_CUDA

}} // namespace opencv_test
