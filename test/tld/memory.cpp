// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device memory: of engines that were replaced, and of very many windows.
#include "../common/graphs.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace tld;
using cv::cuda::GpuMat;
using cv::cuda::Stream;
using Tld_Cuda = OnCuda;
using Tld_CudaMemory = OnCuda;

#ifdef HAVE_CUDA

//! The graph of an engine that was replaced still runs.
TEST_F(Tld_CudaMemory, graphsOutliveTheirEngine)
{
    const StandardScene scene;
    Stream stream;
    const GpuMat input(scene.frame(1));
    GpuMat result(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    Mat expected;
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CUDA), twin = trackerOn(scene, Engine::CUDA);
    const TemporaryFile file(".xml");
    tracker->save(file);
    twin->updateAsync(input, expected);
    std::vector<std::unique_ptr<Graph>> graphs;
    for (int i = 0; i < 3; ++i)
    {
        tracker->load(file);
        tracker->updateAsync(input, result, stream);
        stream.waitForCompletion();
        tracker->load(file);
        tracker->updateAsync(input, result, stream); // the state of frame 0 again, with the next engine
        stream.waitForCompletion();
        graphs.emplace_back(new Graph(stream));
        tracker->updateAsync(input, result, stream);
        graphs.back()->end();
    }
    Rect box;
    twin->updateAsync(input, expected); // frame 1 twice
    for (const std::unique_ptr<Graph>& graph : graphs)
    {
        result.setTo(Scalar::all(-1), stream);
        graph->launch();
        stream.waitForCompletion();
        EXPECT_TRUE(sameBits(expected, Mat(result)));
    }
}

TEST_F(Tld_CudaMemory, clearGivesBack)
{
    const StandardScene scene;
    const Ptr<MultiTrackerTLD> several = MultiTrackerTLD::create();
    const Ptr<TLDDetector> detector = TLDDetector::create();
    const GpuMat first(scene.frame(0));
    for (int i = 0; i < 3; ++i)
        several->add(first, scene.box(0));
    detector->init(first, scene.box(0));
    EXPECT_GT(several->workspaceBytes(), 1000000u);
    EXPECT_GT(detector->workspaceBytes(), 1000000u);
    several->clear();
    detector->clear();
    EXPECT_EQ(0u, several->workspaceBytes());
    EXPECT_EQ(0u, detector->workspaceBytes());
    EXPECT_TRUE(several->empty() && detector->empty());
    EXPECT_EQ(3, several->add(first, scene.box(0)));
}

#endif // HAVE_CUDA

// --- very many windows -----------------------------------------------------------------------------------------------

//! Some 40 million windows, of which nearly all can become templates: the choice among them is exact.
TEST_F(Tld_Cuda, smallObjectInALargeImage)
{
    const Mat frame = texture(12, Size(4096, 4096), CV_8UC1, 2);
    const Rect box(2000, 1900, 12, 12);
    const Ptr<TLDDetector> cpu = TLDDetector::create(), cuda = TLDDetector::create();
    cpu->init(frame, box);
    cuda->init(GpuMat(frame), box);
    EXPECT_EQ(textOf(*cpu), textOf(*cuda));
    Mat expected, actual;
    cpu->detect(frame, expected);
    cuda->detect(GpuMat(frame), actual);
    EXPECT_GT(expected.at<double>(0, TLDDetector::COUNT_WINDOWS), 1.7e7);
    EXPECT_TRUE(sameBits(expected, actual));
}

//! There are fewer windows than negative templates asked for.
TEST_F(Tld_Cuda, fewFarWindows)
{
    const Mat frame = texture(12, Size(64, 48), CV_8UC1, 2);
    for (const int step : {100, 60, 30, 10})
    {
        const TLDParams p = paramsOf(cv::format("stepPercent %d, initNegatives 128, scales 1", step));
        const Ptr<TLDDetector> cpu = TLDDetector::create(p), cuda = TLDDetector::create(p);
        cpu->init(frame, Rect(0, 0, 16, 16));
        cuda->init(GpuMat(frame), Rect(0, 0, 16, 16));
        EXPECT_EQ(textOf(*cpu), textOf(*cuda)) << step;
    }
}

}} // namespace opencv_test
