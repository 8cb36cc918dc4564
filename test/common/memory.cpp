// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Host memory that instances of FragmentMatcher and QuickShift keep between calls of the CPU backend.
#include "faults.hpp"
#include "../fragment_matcher/scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;

const size_t KEPT = size_t(128) << 20; //!< as the header says

struct Threads
{
    explicit Threads(int count) : before(cv::getNumThreads()) { cv::setNumThreads(count); }
    ~Threads() { cv::setNumThreads(before); }
    const int before;
};

Mat noise(Size size, int seed)
{
    RNG rng(seed);
    Mat image(size, CV_8UC3);
    rng.fill(image, RNG::UNIFORM, 0, 256);
    return image;
}

//! One call of much work by 16 threads, each of which has memory of its own.
void expectLittleKept(int metric, int side, bool weighted)
{
    faults::require(faults::MEMORY);
    const Threads threads(16);
    const Mat frame = noise(Size(1920, 1080), 4401), templ = frame(Rect(801, 303, side, side)).clone();
    Mat weights(side, side, CV_8UC1);
    RNG(4403).fill(weights, RNG::UNIFORM, 0, 256);
    const Ptr<FM> matcher = FM::create(makeParams(metric, 2));
    matcher->setFragments(std::vector<Mat>{templ}, weighted ? std::vector<Mat>{weights} : std::vector<Mat>());
    Mat locations(1, 2, CV_32SC2), map;
    const faults::HostMemory memory;
    for (int again = 0; again < 2; ++again)
    {
        matcher->match(frame, noArray(), locations);
        EXPECT_EQ(Point(801, 303), locations.at<Point>(0));
        EXPECT_LE(memory.bytes(), KEPT);
        EXPECT_GT(memory.most(), KEPT) << "such a call shows nothing";
    }
    matcher->scoreMap(0, frame, Rect(), map);
    EXPECT_LE(memory.bytes(), KEPT + map.total() * map.elemSize() + 4096);
    std::cout << cvRound(memory.most() / 1e6) << " MB during a call, " << cvRound(memory.bytes() / 1e6) << " after it"
              << std::endl;
}

TEST(FragmentMatcher_Memory, keptOfWeightedZncc) { expectLittleKept(FM::ZNCC, 232, true); }

TEST(FragmentMatcher_Memory, keptOfLargeSsd) { expectLittleKept(FM::SSD, 600, false); }

//! Calls of little work, as of a tracking loop, get by with what is kept.
TEST(FragmentMatcher_Memory, smallWorkAllocatesOnce)
{
    faults::require(faults::MEMORY);
    const Threads threads(1); // else a call may have more of them at work than the one before
    const Mat frame = noise(Size(640, 480), 4402);
    std::vector<Mat> templates;
    std::vector<Rect> areas;
    for (int i = 0; i < 50; ++i)
    {
        areas.push_back(Rect(11 * i, 7 * i, 60, 70));
        templates.push_back(frame(areas.back())(Rect(20, 30, 16, 16)).clone());
    }
    for (const int metric : METRICS)
    {
        const Ptr<FM> matcher = FM::create(makeParams(metric, 2));
        matcher->setFragments(templates);
        Mat locations;
        matcher->match(frame, areas, locations);
        matcher->match(frame, noArray(), locations);
        const faults::HostMemory memory;
        matcher->match(frame, areas, locations);
        matcher->match(frame, noArray(), locations);
        EXPECT_EQ(0u, memory.most()) << metric;
        EXPECT_EQ(0u, matcher->workspaceBytes()) << "of the device alone";
    }
}

//! clear() keeps parameters and memory.
TEST(FragmentMatcher_Memory, clearKeepsIt)
{
    faults::require(faults::MEMORY);
    const Threads threads(1);
    const Mat frame = noise(Size(320, 240), 4404);
    const std::vector<Mat> templates(3, frame(Rect(20, 30, 24, 24)).clone());
    const Ptr<FM> matcher = FM::create(makeParams(FM::SSD, 3));
    Mat locations;
    matcher->setFragments(templates);
    matcher->match(frame, noArray(), locations);
    matcher->clear();
    EXPECT_EQ(3, matcher->getParams().peaks);
    EXPECT_EQ(static_cast<int>(FM::SSD), matcher->getParams().metric);
    matcher->setFragments(templates);
    const faults::HostMemory memory;
    matcher->match(frame, noArray(), locations);
    EXPECT_EQ(0u, memory.most());
}

//! Memory kept between calls of QuickShift, per pixel of the largest image.
TEST(QuickShift_Memory, keptForEachPixel)
{
    faults::require(faults::MEMORY);
    for (int channels = 1; channels <= 4; ++channels)
    {
        const Mat image = randomImage(theRNG(), Size(800, 600), CV_MAKETYPE(CV_8U, channels), 5);
        const double pixels = static_cast<double>(image.total());
        const faults::HostMemory memory;
        const Ptr<cuda::QuickShift> q = cuda::QuickShift::create(2., 8., 0.5);
        for (int again = 0; again < 2; ++again)
            q->compute(image);
        EXPECT_NEAR(56 + 4 * channels, static_cast<double>(memory.heap()) / pixels, 4.);
        q->compute(image(Rect(0, 0, 60, 50)));
        q->clear();
        EXPECT_NEAR(56 + 4 * channels, static_cast<double>(memory.heap()) / pixels, 4.);
        EXPECT_EQ(0u, q->workspaceBytes()) << "of the device alone";
    }
}

}} // namespace opencv_test
