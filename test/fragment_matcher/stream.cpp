// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher's promises about streams, graphs, memory and threads. Skipped without a device.
#include "scenes_cuda.hpp"
#include "../common/graphs.hpp"
#include "../common/threads.hpp"

namespace opencv_test { namespace {

using namespace scenes;

using FragmentMatcher_CudaStream = OnCuda;

//! Scenes for the fused kernel, for tiles, and for both in one call; `round` varies type, weights and options.
Scene sceneFor(RNG& rng, int metric, int round)
{
    const int types[] = {CV_8UC1, CV_8UC3, CV_8UC4}, peaks[] = {2, 1, 5};
    const int search = round % 4 == 3 ? FM::THREE_STEP : FM::FULL;
    const FM::Params params = makeParams(metric, peaks[round % 3], round % 2 ? FM::CROSS : FM::SQUARE, 3, search, true);
    Scene scene = randomScene(rng, params, types[round % 3], round % 4, Size(200, 160), 24, 9);
    if (round % 3 == 1)
        scene.areas[2] = scene.areas[5] = Rect(Point(), scene.frame.size());
    return scene;
}

#ifdef HAVE_CUDA
//! A second frame and second areas for the same fragments.
Scene variation(RNG& rng, const Scene& scene)
{
    Scene other = scene;
    other.frame = randomImage(rng, scene.frame.size(), scene.frame.type());
    for (Rect& area : other.areas)
        area += uniform(rng, Point(-9, -9), Point(10, 10));
    return other;
}
#endif

//! Everything that a scene needs, in device memory that stays where it is.
struct Loaded
{
    explicit Loaded(const Scene& scene)
        : matcher(FM::create(scene.params)), frame(uploadRoi(scene.frame)), areas(uploadAreas(scene.areas))
    {
        giveFromDevice(*matcher, scene, stream);
        predictions = uploadRoi(scene.predictions);
        if (scene.params.search == FM::THREE_STEP)
            matcher->setPredictions(predictions);
        launch(*matcher, frame, areas, result, stream); // the first call may allocate
        stream.waitForCompletion();
    }
    void load(const Scene& scene)
    {
        frame.upload(scene.frame);
        areas.upload(columnOf(scene.areas));
    }

    cuda::Stream stream;
    Ptr<FM> matcher;
    GpuMat frame, areas, predictions;
    DeviceResult result;
};

TEST_F(FragmentMatcher_CudaStream, userStreams)
{
    RNG rng(7101);
    for (const int metric : METRICS)
        for (int round = 0; round < 12; ++round)
        {
            const Scene scene = sceneFor(rng, metric, round);
            Loaded loaded(scene);
            expectSame(runCpu(scene), loaded.result.download());
        }
}

//! Outputs of the right size stay where they are, also when they are parts of larger matrices.
TEST_F(FragmentMatcher_CudaStream, outputsAreReused)
{
    RNG rng(7102);
    const Scene scene = sceneFor(rng, FM::SAD, 0);
    Loaded loaded(scene);
    const DeviceResult& r = loaded.result;
    const void* before[] = {r.locations.data, r.scores.data, r.confidence.data, r.status.data, r.refined.data};
    launch(*loaded.matcher, loaded.frame, loaded.areas, loaded.result, loaded.stream);
    const void* after[] = {r.locations.data, r.scores.data, r.confidence.data, r.status.data, r.refined.data};
    EXPECT_TRUE(std::equal(before, before + 5, after));

    const int count = static_cast<int>(scene.templates.size()), K = scene.params.peaks;
    GpuMat large(count + 4, K + 5, CV_32SC2, Scalar::all(77)), part = large(Rect(3, 2, K, count));
    loaded.matcher->match(loaded.frame, loaded.areas, part, noArray(), noArray(), noArray(), noArray(), loaded.stream);
    loaded.stream.waitForCompletion();
    EXPECT_EQ(large.ptr(2) + 3 * large.elemSize(), part.data);
    Mat all(large), truth(all.size(), all.type(), Scalar::all(77));
    runCpu(scene).locations.copyTo(truth(Rect(3, 2, K, count)));
    EXPECT_TRUE(sameBits(truth, all)) << "nothing around the output is written";
}

TEST_F(FragmentMatcher_CudaStream, steadyStateAllocatesNothingAlone)
{
#ifdef HAVE_CUDA
    RNG rng(7103);
    for (const int metric : METRICS)
        for (int round = 0; round < 4; ++round)
        {
            const Scene scene = sceneFor(rng, metric, round);
            Loaded loaded(scene);
            launch(*loaded.matcher, loaded.frame, scene.areas, loaded.result, loaded.stream);
            loaded.stream.waitForCompletion(); // CUDA loads a kernel when it is first launched, and waits
            // All in flight at once, no more than CUDA's queue holds: each takes pinned memory of its own until its
            // copy is done.
            const auto manyCalls = [&]
            {
                Gate gate(loaded.stream);
                for (int again = 0; again < 20; ++again)
                {
                    launch(*loaded.matcher, loaded.frame, loaded.areas, loaded.result, loaded.stream);
                    launch(*loaded.matcher, loaded.frame, scene.areas, loaded.result, loaded.stream);
                }
                gate.open();
                loaded.stream.waitForCompletion();
                EXPECT_FALSE(gate.gaveUp());
            };
            manyCalls();
            const size_t workspace = loaded.matcher->workspaceBytes(), free = freeDeviceMemory();
            EXPECT_GT(workspace, 0u);
            manyCalls();
            EXPECT_EQ(workspace, loaded.matcher->workspaceBytes());
            EXPECT_EQ(free, freeDeviceMemory());
        }
#endif
}

//! A call does not wait for its own stream, and its stream does not wait for others.
TEST_F(FragmentMatcher_CudaStream, doesNotWait)
{
#ifdef HAVE_CUDA
    RNG rng(7104);
    const Scene scene = sceneFor(rng, FM::SAD, 1);
    Loaded one(scene), two(scene);
    cuda::Stream blocked(cudaStreamNonBlocking), free(cudaStreamNonBlocking);
    GpuMat next, map;
    const int count = static_cast<int>(scene.templates.size());
    const std::vector<Rect> regions(count, Rect(3, 5, 17, 13));
    const auto everything = [&](Loaded& loaded, cuda::Stream& stream)
    {
        launch(*loaded.matcher, loaded.frame, loaded.areas, loaded.result, stream);
        launch(*loaded.matcher, loaded.frame, scene.areas, loaded.result, stream);
        loaded.matcher->scoreMap(0, loaded.frame, scene.areas[2], map, CV_32F, stream);
        loaded.matcher->predictAreas(loaded.result.locations, 9, scene.frame.size(), next, stream);
        loaded.matcher->cutFragments(loaded.frame, regions, noArray(), stream);
    };
    everything(one, blocked), everything(two, free); // the first call may allocate
    cuda::Stream* streams[] = {&blocked, &free};
    for (cuda::Stream* stream : streams)
        stream->waitForCompletion();
    giveFromDevice(*one.matcher, scene, blocked), giveFromDevice(*two.matcher, scene, free);
    for (cuda::Stream* stream : streams)
        stream->waitForCompletion();

    Gate gate(blocked);
    everything(one, blocked);
    launch(*two.matcher, two.frame, two.areas, two.result, free);
    free.waitForCompletion();
    const bool gaveUp = gate.gaveUp();
    EXPECT_FALSE(blocked.queryIfComplete()) << "the gate is meant to hold the stream";
    gate.open();
    blocked.waitForCompletion();
    EXPECT_FALSE(gaveUp) << "a call waited for a stream";
    expectSame(runCpu(scene), two.result.download());
#endif
}

TEST_F(FragmentMatcher_CudaStream, graphWithAreasOnTheDevice)
{
#ifdef HAVE_CUDA
    RNG rng(7105);
    for (const int metric : METRICS)
        for (int round = 0; round < 12; ++round)
        {
            SCOPED_TRACE(cv::format("metric %d round %d", metric, round));
            const Scene first = sceneFor(rng, metric, round), second = variation(rng, first);
            Loaded loaded(first);
            Graph graph(loaded.stream);
            launch(*loaded.matcher, loaded.frame, loaded.areas, loaded.result, loaded.stream);
            graph.end();
            EXPECT_GT(graph.nodes(), 0u);
            for (const Scene* scene : {&second, &first, &second})
            {
                loaded.load(*scene);
                graph.launch();
                loaded.stream.waitForCompletion();
                const Result replayed = loaded.result.download();
                expectSame(runCpu(*scene), replayed);
                // A direct call between two replays disturbs neither.
                expectSame(replayed, runOnDevice(*loaded.matcher, loaded.frame, loaded.areas, loaded.stream));
            }
        }
#endif
}

//! Areas on the host are frozen into the graph, even when the caller's vector is gone.
TEST_F(FragmentMatcher_CudaStream, graphWithAreasOnTheHost)
{
#ifdef HAVE_CUDA
    RNG rng(7106);
    for (const int metric : METRICS)
        for (int round = 0; round < 6; ++round)
        {
            const Scene first = sceneFor(rng, metric, round);
            Scene second = variation(rng, first);
            Loaded loaded(first);
            {
                std::vector<Rect> areas = first.areas;
                launch(*loaded.matcher, loaded.frame, areas, loaded.result, loaded.stream);
                loaded.stream.waitForCompletion();
            }
            Graph graph(loaded.stream);
            {
                std::vector<Rect> areas = first.areas;
                launch(*loaded.matcher, loaded.frame, areas, loaded.result, loaded.stream);
                std::fill(areas.begin(), areas.end(), Rect());
            }
            graph.end();
            loaded.load(second);
            second.areas = first.areas;
            // A direct call with other areas must not change what the graph will read.
            runOnDevice(*loaded.matcher, loaded.frame, std::vector<Rect>(first.areas.size(), Rect(1, 1, 30, 30)),
                        loaded.stream);
            graph.launch();
            loaded.stream.waitForCompletion();
            expectSame(runCpu(second), loaded.result.download());
        }
#endif
}

//! Search areas in host memory are uploaded when they change: a call with those of the last call has no copy.
TEST_F(FragmentMatcher_CudaStream, areasAreUploadedWhenTheyChange)
{
#ifdef HAVE_CUDA
    RNG rng(7112);
    for (int round = 0; round < 4; ++round)
    {
        SCOPED_TRACE(round);
        const Scene first = sceneFor(rng, FM::SAD, round), second = variation(rng, first);
        Loaded loaded(first);
        const auto search = [&](const Scene& scene)
        { launch(*loaded.matcher, loaded.frame, scene.areas, loaded.result, loaded.stream); };
        const auto areasOf = [&](int call) -> const Scene& { return call == 1 ? second : first; };
        const auto replay = [&](Graph& graph, int call)
        {
            graph.launch();
            loaded.stream.waitForCompletion();
            Scene expected = first;
            expected.areas = areasOf(call).areas;
            expectSame(runCpu(expected), loaded.result.download());
        };
        const size_t copies[] = {0, 1, 1}; // before the last call, a direct one had other areas
        std::vector<std::unique_ptr<Graph>> graphs;
        search(first);
        for (const int call : {0, 1, 2})
        {
            if (call == 2)
                search(second);
            graphs.push_back(std::make_unique<Graph>(loaded.stream));
            search(areasOf(call));
            graphs.back()->end();
            EXPECT_EQ(copies[call], graphs.back()->copies());
            replay(*graphs.back(), call);
        }
        for (const int call : {0, 1, 2}) // each graph has its own areas, whatever direct calls had since
        {
            search(areasOf(1 - call % 2));
            replay(*graphs[call], call);
        }
    }
#endif
}

//! Cutting, matching, mapping and predicting in one graph.
TEST_F(FragmentMatcher_CudaStream, graphOfATrackingStep)
{
#ifdef HAVE_CUDA
    RNG rng(7107);
    for (const int metric : METRICS)
    {
        Scene scene = sceneFor(rng, metric, 0);
        std::vector<Rect> regions;
        for (const Mat& templ : scene.templates)
            regions.push_back(Rect(uniform(rng, Point(), Point(170, 130)), templ.size()));
        cuda::Stream stream;
        const Ptr<FM> matcher = FM::create(scene.params);
        GpuMat previous = uploadRoi(scene.frame), frame = uploadRoi(scene.frame), areas = uploadAreas(scene.areas),
               next, map;
        DeviceResult result;
        const auto step = [&]
        {
            matcher->cutFragments(previous, regions, noArray(), stream);
            launch(*matcher, frame, areas, result, stream);
            matcher->scoreMap(1, frame, Rect(20, 10, 90, 80), map, CV_32F, stream);
            matcher->predictAreas(result.locations, 12, scene.frame.size(), next, stream);
        };
        step(), step();
        stream.waitForCompletion();
        Graph graph(stream);
        step();
        graph.end();
        for (int again = 0; again < 2; ++again)
        {
            const Mat images[] = {randomImage(rng, scene.frame.size(), scene.frame.type()),
                                  randomImage(rng, scene.frame.size(), scene.frame.type())};
            previous.upload(images[0]), frame.upload(images[1]);
            graph.launch();
            stream.waitForCompletion();
            const Ptr<FM> onCpu = FM::create(scene.params);
            onCpu->cutFragments(images[0], regions);
            const Result truth = run(*onCpu, images[1], scene.areas);
            expectSame(truth, result.download());
            Mat truthMap, truthNext;
            onCpu->scoreMap(1, images[1], Rect(20, 10, 90, 80), truthMap);
            onCpu->predictAreas(truth.locations, 12, scene.frame.size(), truthNext);
            EXPECT_TRUE(sameBits(truthMap, Mat(map)));
            EXPECT_TRUE(sameBits(truthNext, Mat(next)));
        }
    }
#endif
}

TEST_F(FragmentMatcher_CudaStream, predictAreas)
{
    const Scene scene = randomScene(7108, makeParams(FM::SAD, 3), CV_8UC1, NO_WEIGHTS, Size(83, 61), 24, 200);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = run(*matcher, scene);
    const GpuMat locations = uploadRoi(truth.locations);
    for (const int radius : {0, 1, 17, 100000})
        for (const Size frame : {Size(83, 61), Size(40, 500), Size(0, 0)})
        {
            Mat expectedAreas, copied;
            GpuMat areas;
            matcher->predictAreas(truth.locations, radius, frame, expectedAreas);
            matcher->predictAreas(locations, radius, frame, areas);
            matcher->predictAreas(locations, radius, frame, copied);
            EXPECT_TRUE(sameBits(expectedAreas, Mat(areas)));
            EXPECT_TRUE(sameBits(expectedAreas, copied));
        }
}

//! Ten frames of a moving scene; the GPU loop never leaves the device and goes where the CPU loop goes.
TEST_F(FragmentMatcher_CudaStream, trackingLoop)
{
    RNG rng(7109);
    const Mat world = randomImage(rng, Size(300, 260), CV_8UC3, 5);
    const auto frameAt = [&](int t) { return world(Rect(5 * t, 40 - 4 * t, 200, 160)); };
    std::vector<Rect> regions;
    for (int i = 0; i < 40; ++i)
    {
        const Size size = uniform(rng, Size(8, 8), Size(20, 20));
        regions.push_back(Rect(uniform(rng, Point(), Point(180, 140)), size));
    }
    for (const int metric : METRICS)
    {
        const Ptr<FM> cpu = FM::create(makeParams(metric)), gpu = FM::create(makeParams(metric));
        cuda::Stream stream;
        cpu->cutFragments(frameAt(0), regions);
        gpu->cutFragments(GpuMat(frameAt(0)), regions, noArray(), stream);
        Mat areas(regions, true);
        GpuMat deviceAreas(areas), frame;
        Result truth;
        DeviceResult result;
        for (int t = 1; t <= 10; ++t)
        {
            cpu->match(frameAt(t), areas, truth.locations, truth.scores, truth.confidence, truth.status, truth.refined);
            cpu->predictAreas(truth.locations, 8, Size(200, 160), areas);
            frame.upload(frameAt(t), stream);
            launch(*gpu, frame, deviceAreas, result, stream);
            gpu->predictAreas(result.locations, 8, Size(200, 160), deviceAreas, stream);
        }
        stream.waitForCompletion();
        expectSame(truth, result.download());
        EXPECT_TRUE(sameBits(areas, Mat(deviceAreas)));
        int followed = 0; // those that did not run out of the frame moved with the world
        for (int i = 0; i < 40; ++i)
            followed += truth.locations.at<Point>(i, 0) == regions[i].tl() + Point(-50, 40);
        EXPECT_GT(followed, 10);
    }
}

//! 8 threads, each with its own instance and stream.
TEST_F(FragmentMatcher_CudaStream, instancesOnThreads)
{
    const int count = 8;
    RNG rng(7110);
    std::vector<Scene> list;
    std::vector<Result> truths;
    for (int i = 0; i < count; ++i)
    {
        list.push_back(sceneFor(rng, i % 3, i));
        truths.push_back(runCpu(list[i]));
    }
    onThreads(count,
              [&](int i)
              {
                  int wrong = 0;
                  Loaded loaded(list[i]);
                  for (int again = 0; again < 20; ++again)
                  {
                      launch(*loaded.matcher, loaded.frame, loaded.areas, loaded.result, loaded.stream);
                      loaded.stream.waitForCompletion();
                      wrong += !same(truths[i], loaded.result.download());
                  }
                  return wrong ? cv::format("%d wrong results", wrong) : std::string();
              });
}

//! Two instances on one thread, their calls interleaved on two streams.
TEST_F(FragmentMatcher_CudaStream, interleavedInstances)
{
    RNG rng(7111);
    for (int round = 0; round < 6; ++round)
    {
        const Scene scenes[] = {sceneFor(rng, round % 3, round), sceneFor(rng, (round + 1) % 3, round + 1)};
        Loaded first(scenes[0]), second(scenes[1]);
        for (int again = 0; again < 10; ++again)
        {
            launch(*first.matcher, first.frame, first.areas, first.result, first.stream);
            launch(*second.matcher, second.frame, second.areas, second.result, second.stream);
        }
        first.stream.waitForCompletion(), second.stream.waitForCompletion();
        expectSame(runCpu(scenes[0]), first.result.download());
        expectSame(runCpu(scenes[1]), second.result.download());
    }
}

}} // namespace opencv_test
