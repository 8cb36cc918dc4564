// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Search areas in device memory without a limit: a call expects them to be as large as those of the calls before, and
// whatever they are, results are those of the CPU. Skipped without a device.
#include "scenes_cuda.hpp"
#include "../common/graphs.hpp"

namespace opencv_test { namespace {

using namespace scenes;

using FragmentMatcher_CudaLargerAreas = OnCuda;

//! Areas of equal or growing size around random places, which may lie outside of the frame.
std::vector<Rect> areasAround(RNG& rng, const Scene& scene, int margin, int growth = 0)
{
    std::vector<Rect> areas;
    for (const Mat& templ : scene.templates)
    {
        const int more = margin + growth * static_cast<int>(areas.size());
        areas.push_back(Rect(uniform(rng, Point(-20, -20), Point(scene.frame.cols, scene.frame.rows)),
                             templ.size() + Size(more, more / 2)));
    }
    return areas;
}

//! Lists of areas in an order in which each kind follows on smaller and on larger ones.
std::vector<std::vector<Rect>> sequenceOf(RNG& rng, const Scene& scene)
{
    const Rect whole(Point(), scene.frame.size());
    const std::vector<Rect> small = areasAround(rng, scene, 9), growing = areasAround(rng, scene, 0, 7);
    std::vector<Rect> mixed = small, wider = small;
    mixed[1] = mixed[4] = whole;
    for (Rect& area : wider)
        ++area.width;
    const std::vector<Rect> nothing(small.size()), large(small.size(), whole);
    std::vector<Rect> hostile = mixed;
    hostile[0] = Rect(30, 30, -20, -20);
    hostile[2] = Rect(1000, 0, 50, 50);
    hostile[3] = Rect(0, 0, std::numeric_limits<int>::min(), 7);
    return {small, small, mixed, mixed, small, wider, growing, large, hostile, nothing, large, nothing, small, hostile};
}

//! Returns what the CPU finds in areas that lie in device memory, where some may not be searched.
Result truthOf(const Scene& scene)
{
    Scene allowed = scene;
    const Rect whole(Point(), scene.frame.size());
    const Size limit = scene.params.maxSearchArea;
    std::vector<bool> tooLarge;
    for (size_t i = 0; i < scene.areas.size(); ++i)
    {
        Rect& area = allowed.areas[i];
        if (area.width < 0 || area.height < 0)
            area = Rect(); // refused on the host
        const Rect clipped = area & whole;
        const Size fragment = scene.templates[i].size();
        const bool fits = clipped.width >= fragment.width && clipped.height >= fragment.height;
        tooLarge.push_back(fits && ((limit.width > 0 && clipped.width > limit.width) ||
                                    (limit.height > 0 && clipped.height > limit.height)));
        if (tooLarge[i])
            area = Rect();
    }
    Result truth = runCpu(allowed);
    for (size_t i = 0; i < tooLarge.size(); ++i)
        if (tooLarge[i])
            truth.status.at<uchar>(static_cast<int>(i)) = FM::AREA_TOO_LARGE;
    return truth;
}

//! A matcher with all that it reads in device memory.
struct OnDevice
{
    explicit OnDevice(const Scene& scene)
        : matcher(matcherOnDevice(scene)),
          frame(uploadRoi(scene.frame)),
          areas(uploadAreas(scene.areas)),
          predictions(uploadRoi(scene.predictions))
    {
        if (scene.params.search == FM::THREE_STEP)
            matcher->setPredictions(predictions);
    }
    void match(const std::vector<Rect>& list)
    {
        areas.upload(columnOf(list));
        launch(*matcher, frame, areas, result, stream);
    }

    cuda::Stream stream;
    Ptr<FM> matcher;
    GpuMat frame, areas, predictions;
    DeviceResult result;
};

Scene sceneFor(RNG& rng, int metric, int round)
{
    const int types[] = {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1}, peaks[] = {2, 1, 5};
    const int type = types[round % (metric == FM::SAD ? 3 : 4)];
    const FM::Params params = makeParams(metric, peaks[round % 3], round % 2 ? FM::CROSS : FM::SQUARE, 3,
                                         round % 4 == 3 ? FM::THREE_STEP : FM::FULL, round % 3 == 0);
    Scene scene = randomScene(rng, params, type, round % 4, Size(200, 160), 24, 9);
    if (round % 5 == 4)
        scene.params.maxSearchArea = round % 2 ? Size(90, 0) : Size(0, 60); // of one side
    return scene;
}

TEST_F(FragmentMatcher_CudaLargerAreas, anyOrder)
{
    RNG rng(7301);
    for (const int metric : METRICS)
        for (int round = 0; round < 10; ++round)
        {
            Scene scene = sceneFor(rng, metric, round);
            OnDevice device(scene);
            int step = 0;
            for (const std::vector<Rect>& areas : sequenceOf(rng, scene))
            {
                SCOPED_TRACE(cv::format("metric %d round %d step %d", metric, round, step++));
                scene.areas = areas;
                device.match(areas);
                device.stream.waitForCompletion(); // the next call knows the sizes of this one
                expectSame(truthOf(scene), device.result.download());
                if (HasFailure())
                    return;
            }
        }
}

//! Replays read areas that are larger or smaller than those before the capture, and calls between them other ones.
TEST_F(FragmentMatcher_CudaLargerAreas, graphs)
{
#ifdef HAVE_CUDA
    RNG rng(7302);
    for (const int metric : METRICS)
        for (int round = 0; round < 4; ++round)
        {
            Scene scene = sceneFor(rng, metric, round);
            const std::vector<std::vector<Rect>> sequence = sequenceOf(rng, scene);
            for (const bool called : {true, false}) // or the capture comes first
            {
                OnDevice device(scene);
                if (called)
                    device.match(sequence[0]);
                device.stream.waitForCompletion();
                device.result.create(static_cast<int>(scene.templates.size()), scene.params.peaks);
                Graph graph(device.stream);
                launch(*device.matcher, device.frame, device.areas, device.result, device.stream);
                graph.end();
                for (size_t step = 0; step < sequence.size(); ++step)
                {
                    SCOPED_TRACE(cv::format("metric %d round %d step %zu", metric, round, step));
                    scene.areas = sequence[step];
                    device.areas.upload(columnOf(scene.areas));
                    graph.launch();
                    device.stream.waitForCompletion();
                    expectSame(truthOf(scene), device.result.download());
                    device.match(sequence[(step + 5) % sequence.size()]);
                    device.stream.waitForCompletion();
                    if (HasFailure())
                        return;
                }
            }
        }
#endif
}

/** More windows than there is memory for at a time, so that blocks wait for each other: in two instances at once, which
share the multiprocessors. */
TEST_F(FragmentMatcher_CudaLargerAreas, moreThanMemoryHolds)
{
    RNG rng(7303);
    for (const int metric : METRICS)
        for (const int kind : {NO_WEIGHTS, WEIGHTS_8U})
        {
            Scene scene;
            scene.params = makeParams(metric, 3, FM::SQUARE, 4);
            scene.frame = randomImage(rng, Size(1610, 1003), CV_8UC1);
            for (int i = 0; i < 150; ++i)
            {
                const Size size = uniform(rng, Size(5, 5), Size(12, 12));
                scene.templates.push_back(scene.frame(Rect(uniform(rng, Point(), Point(1500, 900)), size)).clone());
                if (kind != NO_WEIGHTS)
                    scene.weights.push_back(randomImage(rng, size, CV_8UC1) | 1);
            }
            const std::vector<Rect> small = areasAround(rng, scene, 9);
            scene.areas = areasAround(rng, scene, 60, 1);
            scene.areas[70] = Rect(Point(), scene.frame.size());
            const Result truth = runCpu(scene);
            OnDevice one(scene), two(scene);
            OnDevice* const both[] = {&one, &two};
            for (OnDevice* device : both)
                device->match(small);
            for (OnDevice* device : both)
                device->stream.waitForCompletion();
            for (int again = 0; again < 3; ++again)
                for (OnDevice* device : both)
                {
                    if (again == 0)
                        device->areas.upload(columnOf(scene.areas));
                    launch(*device->matcher, device->frame, device->areas, device->result, device->stream);
                }
            for (OnDevice* device : both)
            {
                device->stream.waitForCompletion();
                expectSame(truth, device->result.download());
            }
        }
}

}} // namespace opencv_test
