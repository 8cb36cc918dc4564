// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// One instance whose calls go from stream to stream without any help of the user.
#include "../fragment_matcher/scenes_cuda.hpp"
#include "graphs.hpp"
#include "../quick_shift/scenes.hpp"
#include <functional>

namespace opencv_test { namespace {

#ifdef HAVE_CUDA

using namespace scenes;
using cuda::GpuMat;
using cuda::Stream;

class Common_CudaStreams : public testing::Test
{
protected:
    void SetUp() override
    {
        requireCuda();
        streams = {Stream(static_cast<size_t>(1)), Stream(static_cast<size_t>(1)), Stream(), cuda::noStream()};
    }
    void wait()
    {
        for (Stream& stream : streams)
            stream.waitForCompletion();
    }

    std::vector<Stream> streams; //!< two that wait for no other, one that waits for the null stream, the null stream
};

Scene sceneOf(RNG& rng, int metric)
{
    Scene scene = randomScene(rng, makeParams(metric, 2, FM::SQUARE, 0, FM::FULL, true), CV_8UC3, WEIGHTS_8U,
                              Size(120, 90), 20, 5);
    for (Rect& area : scene.areas)
        area = Rect(uniform(rng, Point(), Point(40, 30)), Size(60, 55));
    return scene;
}

//! An edit on a stream that is held up, then a match on another: the match finds the edited fragments.
TEST_F(Common_CudaStreams, editThenMatchElsewhere)
{
    RNG rng(9600);
    for (const int metric : METRICS)
    {
        Scene scene = sceneOf(rng, metric);
        const Ptr<FM> matcher = matcherOnDevice(scene);
        const GpuMat frame(scene.frame), areas = uploadAreas(scene.areas);
        DeviceResult result;
        launch(*matcher, frame, areas, result, streams[1]);
        wait();
        for (Mat& templ : scene.templates)
            templ = randomImage(rng, templ.size(), templ.type());
        const std::vector<GpuMat> templates = uploadRois(scene.templates), weights = uploadRois(scene.weights);
        require(cudaDeviceSynchronize());
        Gate gate(streams[0]);
        matcher->setFragments(templates, weights, streams[0]);
        launch(*matcher, frame, areas, result, streams[1]);
        EXPECT_FALSE(gate.gaveUp()) << "a call waited for a stream";
        gate.open();
        wait();
        expectSame(runCpu(scene), result.download());
    }
}

//! A getter elsewhere than compute(), and a compute() elsewhere than the getter before it.
TEST_F(Common_CudaStreams, computeThenGetElsewhere)
{
    RNG rng(9601);
    const Mat first = randomImage(rng, Size(150, 110), CV_8UC3, 5), second = randomImage(rng, first.size(), CV_8UC3, 9);
    const GpuMat inputs[] = {GpuMat(first), GpuMat(second)};
    const Ptr<QuickShift> cpu = QuickShift::create(2.5, 20., 0.3), gpu = QuickShift::create(2.5, 20., 0.3);
    Mat truths[2];
    for (int i = 0; i < 2; ++i)
    {
        cpu->compute(i ? second : first);
        cpu->getLabels(truths[i]);
    }
    GpuMat labels[2];
    require(cudaDeviceSynchronize()); // streams that do not wait for the null stream do not wait for uploads
    gpu->compute(inputs[1], noArray(), streams[0]);
    for (GpuMat& l : labels)
        gpu->getLabels(l, streams[1]);
    wait();
    {
        Gate gate(streams[0]);
        gpu->compute(inputs[0], noArray(), streams[0]);
        gpu->getLabels(labels[0], streams[1]);
        EXPECT_FALSE(gate.gaveUp()) << "a call waited for a stream";
        gate.open();
        wait();
    }
    EXPECT_TRUE(sameBits(truths[0], Mat(labels[0]))) << "compute() was held up";
    {
        Gate gate(streams[0]);
        gpu->getLabels(labels[0], streams[0]);
        gpu->compute(inputs[1], noArray(), streams[1]);
        gpu->getLabels(labels[1], streams[1]);
        EXPECT_FALSE(gate.gaveUp()) << "a call waited for a stream";
        gate.open();
        wait();
    }
    EXPECT_TRUE(sameBits(truths[0], Mat(labels[0]))) << "the getter was held up";
    EXPECT_TRUE(sameBits(truths[1], Mat(labels[1])));
}

//! The number of superpixels is asked for when the streams of the calls before are gone, perhaps before their work was
//! done.
TEST_F(Common_CudaStreams, numberWhenTheStreamIsGone)
{
    const Mat image = randomImage(9604, Size(300, 200), CV_8UC3, 5);
    const GpuMat input(image);
    const Ptr<QuickShift> cpu = shiftOf(2.5, 20., 0.3, image), gpu = QuickShift::create(2.5, 20., 0.3);
    require(cudaDeviceSynchronize());
    const auto onItsOwnStream = [&](const std::function<void(Stream&)>& call)
    {
        cudaStream_t handle = nullptr;
        require(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
        Stream stream = cuda::StreamAccessor::wrapStream(handle);
        call(stream);
        require(cudaStreamDestroy(handle));
    };
    for (int again = 0; again < 3; ++again)
    {
        onItsOwnStream([&](Stream& stream) { gpu->compute(input, noArray(), stream); });
        EXPECT_EQ(cpu->getNumberOfSuperpixels(), gpu->getNumberOfSuperpixels());
        onItsOwnStream([&](Stream& stream) { gpu->applyTau(5., stream); });
        EXPECT_EQ(cpu->countSuperpixels(5.), gpu->getNumberOfSuperpixels());
    }
}

//! Areas on the host and areas from one call to the next, each call on any stream.
TEST_F(Common_CudaStreams, matcherAnywhere)
{
    RNG rng(9602);
    for (const int metric : METRICS)
    {
        Scene scene = sceneOf(rng, metric);
        const Ptr<FM> matcher = matcherOnDevice(scene);
        const GpuMat frame(scene.frame);
        require(cudaDeviceSynchronize());
        const int calls = 60;
        std::vector<DeviceResult> results(calls);
        std::vector<Result> truths;
        const Ptr<FM> cpu = matcherOf(scene);
        for (int i = 0; i < calls; ++i)
        {
            Stream& stream = streams[rng.uniform(0, 4)];
            if (i % 7 == 3)
            {
                const int k = rng.uniform(0, 5);
                GpuMat templ(scene.templates[k].size(), scene.templates[k].type());
                const Mat content = randomImage(rng, templ.size(), templ.type());
                templ.upload(content, stream);
                matcher->updateFragment(k, templ, noArray(), stream);
                cpu->updateFragment(k, content);
                stream.waitForCompletion(); // the upload is the user's, and `templ` goes
            }
            std::vector<Rect> areas;
            for (int k = 0; k < 5; ++k)
                areas.push_back(Rect(uniform(rng, Point(), Point(40, 30)), Size(60, 50 + i % 9)));
            matcher->match(frame, areas, results[i].locations, results[i].scores, results[i].confidence,
                           results[i].status, results[i].refined, stream);
            truths.push_back(run(*cpu, scene.frame, areas));
        }
        wait();
        for (int i = 0; i < calls; ++i)
        {
            SCOPED_TRACE(i);
            expectSame(truths[i], results[i].download());
        }
    }
}

TEST_F(Common_CudaStreams, quickShiftAnywhere)
{
    RNG rng(9603);
    const Ptr<QuickShift> cpu = QuickShift::create(2., 20., 0.3), gpu = QuickShift::create(2., 20., 0.3);
    std::vector<Mat> images, truths;
    std::vector<GpuMat> inputs, labels(40);
    for (int i = 0; i < 6; ++i)
    {
        images.push_back(randomImage(rng, Size(80 + 20 * i, 70), CV_8UC3, 5));
        inputs.push_back(GpuMat(images.back()));
    }
    require(cudaDeviceSynchronize());
    for (size_t i = 0; i < labels.size(); ++i)
    {
        const int k = rng.uniform(0, 6);
        const double sigma = 1.5 + 0.5 * rng.uniform(0, 4);
        for (const Ptr<QuickShift>& q : {cpu, gpu})
            q->setSigma(sigma);
        cpu->compute(images[k]);
        truths.emplace_back();
        cpu->getLabels(truths.back());
        gpu->compute(inputs[k], noArray(), streams[rng.uniform(0, 4)]);
        gpu->getLabels(labels[i], streams[rng.uniform(0, 4)]);
        if (i % 5 == 0)
        {
            EXPECT_EQ(cpu->getNumberOfSuperpixels(), gpu->getNumberOfSuperpixels());
        }
    }
    wait();
    for (size_t i = 0; i < labels.size(); ++i)
        EXPECT_TRUE(sameBits(truths[i], Mat(labels[i]))) << i;
}

#endif

}} // namespace opencv_test
