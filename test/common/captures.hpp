// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Shared by tests of captures: instances on the device with all that they need, and what they have to give.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_CAPTURES_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_CAPTURES_HPP

#include "../fragment_matcher/scenes_cuda.hpp"
#include "graphs.hpp"
#include "../quick_shift/scenes.hpp"
#include <memory>

#ifdef HAVE_CUDA

namespace opencv_test { namespace scenes {

using cuda::Stream;

class CaptureTest : public testing::Test
{
protected:
    void SetUp() override
    {
        requireCuda();
        stream = Stream();
    }

    template <typename Work> std::unique_ptr<Graph> capture(const Work& work)
    {
        std::unique_ptr<Graph> graph(new Graph(stream));
        work();
        graph->end();
        return graph;
    }
    void replay(Graph& graph)
    {
        graph.launch();
        stream.waitForCompletion();
    }
    template <typename Work> void drop(const Work& work) { capture(work); }

    Stream stream = cuda::noStream();
};

//! A matcher on the device and all that it needs.
struct Matcher
{
    explicit Matcher(Stream& stream_, int metric = FM::SAD, int type = CV_8UC3) : stream(stream_)
    {
        RNG rng(9500 + metric);
        scene = randomScene(rng, makeParams(metric, 2, FM::SQUARE, 0, FM::FULL, true), type, WEIGHTS_8U, Size(120, 90),
                            20, 5);
        for (Rect& area : scene.areas)
            area = Rect(uniform(rng, Point(), Point(40, 30)), Size(60, 55));
        matcher = FM::create(scene.params);
        giveFromDevice(*matcher, scene, stream);
        frame = uploadRoi(scene.frame);
        areas = uploadAreas(scene.areas);
        result.create(static_cast<int>(scene.areas.size()), scene.params.peaks);
        stream.waitForCompletion();
    }
    void match() { launch(*matcher, frame, areas, result, stream); }
    void expectRight(const char* what)
    {
        SCOPED_TRACE(what);
        stream.waitForCompletion();
        expectSame(runCpu(scene), result.download());
    }
    //! An eager call with outputs of its own.
    void expectEagerRight(const char* what)
    {
        SCOPED_TRACE(what);
        expectSame(runCpu(scene), runOnDevice(*matcher, frame, scene.areas, stream));
    }
    void remove(int i)
    {
        matcher->removeFragment(i);
        result = DeviceResult(); // graphs go on writing to the old ones
        result.create(static_cast<int>(scene.areas.size()) - 1, scene.params.peaks);
        scene.templates.erase(scene.templates.begin() + i);
        scene.weights.erase(scene.weights.begin() + i);
        scene.areas.erase(scene.areas.begin() + i);
    }

    Stream& stream;
    Scene scene;
    Ptr<FM> matcher;
    GpuMat frame, areas;
    DeviceResult result;
};

inline Results onCpu(const Mat& image, double sigma)
{
    const Ptr<QuickShift> q = shiftOf(sigma, 20., 0.3, image);
    return resultsOf(*q);
}

struct Shift
{
    explicit Shift(Stream& stream_, Size size = Size(90, 70)) : stream(stream_), q(QuickShift::create(2., 20., 0.3))
    {
        RNG rng(9520);
        image = randomImage(rng, size, CV_8UC3, 5);
        other = randomImage(rng, size, CV_8UC3, 9);
        input = GpuMat(image);
        labels.create(size, CV_32SC1);
        density.create(size, CV_32FC1);
    }
    void compute() { q->compute(input, noArray(), stream); }
    void computeAndGet()
    {
        compute();
        q->getLabels(labels, stream);
        q->getDensity(density, stream);
    }
    void expectOutputs(const Results& truth, const char* what)
    {
        stream.waitForCompletion();
        EXPECT_TRUE(sameBits(truth.labels, Mat(labels))) << what;
        EXPECT_TRUE(sameBits(truth.density, Mat(density))) << what;
    }

    Stream& stream;
    const Ptr<QuickShift> q;
    Mat image, other;
    GpuMat input, labels, density;
};

}} // namespace opencv_test::scenes

#endif // HAVE_CUDA
#endif // OPENCV_CUDATRACKING_TEST_COMMON_CAPTURES_HPP
