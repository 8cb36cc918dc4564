// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// That faults really strike, and that errors of others are left to them.
#include "../fragment_matcher/scenes_cuda.hpp"
#include "faults_each.hpp"
#include "../quick_shift/scenes.hpp"

namespace opencv_test { namespace {

using namespace faults;
using cv::cuda::GpuMat;

//! Calls the functions: a compiler may leave out the allocations of new expressions.
TEST(Common_Faults, memory)
{
    require(MEMORY);
    {
        Armed armed(MEMORY, 1);
        EXPECT_THROW(cv::fastFree(cv::fastMalloc(10)), cv::Exception);
        ::operator delete(::operator new(4)); // only one fails
        armed.disarm();
        EXPECT_STREQ("cv::fastMalloc", armed.struck());
    }
    Armed armed(MEMORY, 2);
    ::operator delete(::operator new(4));
    EXPECT_THROW(::operator delete(::operator new(4)), std::bad_alloc);
    armed.disarm();
    EXPECT_STREQ("operator new", armed.struck());
}

#ifdef HAVE_CUDA

TEST(Common_Faults, callsOnCuda)
{
    requireCuda();
    require(faults::CUDA);
    const Live before = live();
    {
        GpuMat kept(3, 4, CV_8UC1);
        EXPECT_EQ(before.device + 1, live().device);
        Armed armed(faults::CUDA, 1);
        void* memory = nullptr;
        EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&memory, 100));
        EXPECT_NE(cudaSuccess, cudaPeekAtLastError());
        cudaGetLastError();
        EXPECT_EQ(nullptr, memory);
        armed.disarm();
        EXPECT_STREQ("cudaMalloc", armed.struck());
    }
    EXPECT_EQ(before, live());
    {
        cv::cuda::Stream stream(static_cast<size_t>(cudaStreamNonBlocking));
        EXPECT_EQ(before.streams + 1, live().streams);
    }
    EXPECT_EQ(before, live());
}

void leaveAnError()
{
    cudaGetLastError();
    EXPECT_NE(cudaSuccess, cudaSetDevice(-1));
    EXPECT_NE(cudaSuccess, cudaPeekAtLastError());
}

//! Instances of all classes that have worked, some of them beside the call's stream, are destroyed: an error of others
//! stays.
TEST(Common_Faults, olderErrorAfterInstancesOnCuda)
{
    requireCuda();
    const Mat image = randomImage(8101, Size(200, 160), CV_8UC3, 5);
    const GpuMat input(image);
    Mat out;
    Ptr<cuda::QuickShift> shift = cuda::QuickShift::create(2., 20., 0.3);
    shift->compute(input);
    shift->getLabels(out);
    shift->getNumberOfSuperpixels();
    Ptr<cuda::FragmentMatcher> matcher = cuda::FragmentMatcher::create();
    matcher->addFragment(input(Rect(30, 40, 20, 24)));
    matcher->match(input, noArray(), out);
    Ptr<cuda::TrackerTLD> tracker = cuda::TrackerTLD::create();
    tracker->init(input, Rect(60, 50, 40, 40));
    tracker->getTemplates(false, out);
    require(cudaDeviceSynchronize());
    const auto expectError = [](const char* what)
    { EXPECT_NE(cudaSuccess, cudaPeekAtLastError()) << "taken away by " << what; };
    leaveAnError();
    shift.release();
    expectError("QuickShift");
    leaveAnError();
    matcher.release();
    expectError("FragmentMatcher");
    leaveAnError();
    tracker.release();
    expectError("TrackerTLD");
    cudaGetLastError();
}

//! An error that stood before is neither reported by a call nor does it change what the call gives.
TEST(Common_Faults, olderErrorOnCuda)
{
    requireCuda();
    RNG rng(8100);
    for (const int metric : {0, 1, 2})
    {
        const scenes::Scene scene =
            scenes::randomScene(rng, scenes::makeParams(metric), CV_8UC3, scenes::WEIGHTS_8U, Size(200, 160));
        const scenes::Result truth = scenes::runCpu(scene);
        const Ptr<scenes::FM> matcher = scenes::FM::create(scene.params);
        const GpuMat frame(scene.frame), areas = scenes::uploadAreas(scene.areas);
        scenes::DeviceResult result;
        leaveAnError();
        scenes::giveFromDevice(*matcher, scene);
        for (int again = 0; again < 2; ++again)
        {
            leaveAnError();
            scenes::launch(*matcher, frame, areas, result);
        }
        cudaGetLastError();
        scenes::expectSame(truth, result.download());
    }
    const Mat image = randomImage(rng, Size(100, 70), CV_8UC3);
    const Ptr<scenes::QuickShift> cpu = scenes::QuickShift::create(2., 20., 0.3),
                                  gpu = scenes::QuickShift::create(2., 20., 0.3);
    const GpuMat input(image);
    cpu->compute(image);
    GpuMat labels, heights, counts;
    const auto run = [&](const std::function<void()>& call)
    {
        leaveAnError();
        call();
    };
    run([&] { gpu->compute(input); });
    run([&] { gpu->getLabels(labels); });
    run([&] { gpu->getMergeHeights(heights, counts); });
    run([&] { EXPECT_EQ(cpu->getNumberOfSuperpixels(), gpu->getNumberOfSuperpixels()); });
    run([&] { EXPECT_EQ(cpu->enforceConnectivity(3), gpu->enforceConnectivity(3)); });
    cudaGetLastError();
    scenes::expectSame(scenes::resultsOf(*cpu), scenes::resultsOf(*gpu));
}

#endif

}} // namespace opencv_test
