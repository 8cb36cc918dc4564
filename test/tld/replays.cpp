// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Replays of graphs and direct calls of one tracker, which the user does not order; memory of engines and graphs that
// are gone.
#include "../common/graphs.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace tld;
using cv::cuda::GpuMat;
using cv::cuda::Stream;
using Tld_Cuda = OnCuda;
using Tld_CudaReplaysMemory = OnCuda;

//! A textured patch that wanders over a large image, so that a frame takes a while.
struct Wandering
{
    Wandering() : background(texture(9, Size(1280, 960), CV_8UC1, 6)), patch(texture(10, Size(50, 60), CV_8UC1, 3)) {}
    Rect box(int t) const { return Rect(200 + t * 3 % 150, 150 + t * 2 % 100, patch.cols, patch.rows); }
    Mat frame(int t) const
    {
        Mat frame = background.clone();
        patch.copyTo(frame(box(t)));
        return frame;
    }

    const Mat background, patch;
};

#ifdef HAVE_CUDA

//! A tracker whose frames are replays on a stream that nothing else is ordered with.
class Tld_CudaReplays : public testing::Test
{
protected:
    void SetUp() override
    {
        requireCuda();
        stream = Stream(static_cast<size_t>(1)); // does not wait for the null stream
        input = GpuMat(scene.frame(0));
        result.create(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
        tracker = TrackerTLD::create();
        twin = TrackerTLD::create();
        tracker->init(input, scene.box(0));
        twin->init(input, scene.box(0));
        graph.reset(new Graph(stream));
        tracker->updateAsync(input, result, stream);
        graph->end();
    }
    void upload(int t)
    {
        input.upload(scene.frame(t));
        require(cudaDeviceSynchronize());
    }

    const Wandering scene;
    Stream stream = cuda::noStream();
    GpuMat input, result;
    Ptr<TrackerTLD> tracker, twin;
    std::unique_ptr<Graph> graph;
};

//! A reset comes after the replay that was launched before it, though nobody waited.
TEST_F(Tld_CudaReplays, resetsAreNotLost)
{
    int lost = 0;
    for (int t = 1; t <= 60; ++t)
    {
        upload(t);
        graph->launch();
        const Rect box(40, 30, 50, 60);
        tracker->resetTo(box);
        require(cudaDeviceSynchronize());
        lost += tracker->getBox() != Rect2d(box);
        tracker->resetTo(scene.box(t));
    }
    EXPECT_EQ(0, lost) << "of 60";
}

//! A replay that is launched right after a reset begins from there.
TEST_F(Tld_CudaReplays, replaysSeeResets)
{
    for (int t = 1; t <= 60; ++t)
    {
        upload(t);
        const Rect box = scene.box(t) - Point(5, 0);
        twin->resetTo(box);
        Mat expected;
        twin->updateAsync(input, expected);
        tracker->resetTo(box);
        graph->launch();
        stream.waitForCompletion();
        ASSERT_TRUE(sameBits(expected, Mat(result))) << "frame " << t;
    }
}

//! Getters, save() and direct frames come after replays that were launched before them.
TEST_F(Tld_CudaReplays, directCallsSeeReplays)
{
    for (int t = 1; t <= 60; ++t)
    {
        upload(t);
        Rect box;
        twin->update(input, box);
        graph->launch();
        if (t % 3 == 0)
        {
            ASSERT_EQ(twin->getBox(), tracker->getBox()) << "frame " << t;
        }
        else if (t % 3 == 1)
        {
            ASSERT_EQ(textOf(*twin), textOf(*tracker)) << "frame " << t;
        }
        else
        {
            Mat expected, actual;
            twin->updateAsync(input, expected);
            tracker->updateAsync(input, actual); // on the null stream
            ASSERT_TRUE(sameBits(expected, actual)) << "frame " << t;
        }
        require(cudaDeviceSynchronize());
    }
}

// --- memory ----------------------------------------------------------------------------------------------------------

//! Engines that load() replaced are freed when their graphs are gone.
TEST_F(Tld_CudaReplaysMemory, loadAndCaptureInRoundsAlone)
{
    const StandardScene scene;
    Stream stream;
    const GpuMat input(scene.frame(1));
    GpuMat result(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    const Ptr<TrackerTLD> tracker = trackerOn(scene, Engine::CUDA), twin = trackerOn(scene, Engine::CUDA);
    const TemporaryFile file(".xml");
    tracker->save(file);
    Mat expected;
    twin->updateAsync(input, expected);
    const int rounds = 16, steady = 8;
    size_t bytes = 0, free = 0;
    for (int round = 0; round < rounds; ++round)
    {
        tracker->load(file);
        tracker->updateAsync(input, result, stream); // brings it to the device
        stream.waitForCompletion();
        ASSERT_TRUE(sameBits(expected, Mat(result))) << "round " << round;
        for (int i = 0; i < 6; ++i)
        {
            Graph graph(stream);
            tracker->updateAsync(input, result, stream);
            graph.end();
        }
        std::this_thread::sleep_for(
            std::chrono::milliseconds(20)); // for CUDA's own thread, which tells that a graph is gone
        if (round == steady)
        {
            bytes = tracker->workspaceBytes();
            free = freeDeviceMemory();
        }
    }
    EXPECT_LE(tracker->workspaceBytes(), bytes);
    EXPECT_GT(freeDeviceMemory() + (4 << 20), free);
}

//! The graph of an engine that was replaced still runs, also when it is a watched one.
TEST_F(Tld_CudaReplaysMemory, graphsOutliveTheirEngine)
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
    for (int i = 0; i < 7; ++i)
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

TEST_F(Tld_CudaReplaysMemory, clearGivesBack)
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
