// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Captures as programs make them: in each mode, beside other threads, on two streams, replayed elsewhere.
#include "captures.hpp"
#include "faults.hpp"

namespace opencv_test { namespace {

#ifdef HAVE_CUDA

using namespace scenes;
using cuda::GpuMat;
using cuda::Stream;

const struct
{
    cudaStreamCaptureMode mode;
    const char* name;
} MODES[] = {{cudaStreamCaptureModeRelaxed, "relaxed"},
             {cudaStreamCaptureModeThreadLocal, "thread-local"},
             {cudaStreamCaptureModeGlobal, "global"}};

class Common_CudaCaptureModes : public CaptureTest
{
protected:
    void SetUp() override
    {
        CaptureTest::SetUp();
        elsewhere = Stream(static_cast<size_t>(cudaStreamNonBlocking));
    }

    Stream elsewhere = cuda::noStream();
};

//! First calls, captured in each mode, and replayed on another stream than they were captured on.
TEST_F(Common_CudaCaptureModes, replaysOnAnotherStream)
{
    for (const auto& mode : MODES)
        for (const int metric : METRICS)
        {
            SCOPED_TRACE(cv::format("%s mode, metric %d", mode.name, metric));
            Matcher m(stream, metric);
            Shift s(stream);
            require(cudaDeviceSynchronize()); // the other stream does not wait for uploads
            faults::forgetKernels();
            Graph graph(stream, mode.mode);
            m.match();
            s.computeAndGet();
            graph.end();
            for (int again = 0; again < 2; ++again)
            {
                graph.launch(elsewhere);
                elsewhere.waitForCompletion();
                m.expectRight("FragmentMatcher");
                s.expectOutputs(onCpu(s.image, 2.), "QuickShift");
            }
        }
}

/** Another thread makes the first calls of its instances during a capture, which allocate and ask about kernels. Not in
the global mode, in which CUDA refuses such calls of all threads, whoever makes them. */
TEST_F(Common_CudaCaptureModes, firstCallsOfOtherThreads)
{
    for (const auto& mode : MODES)
    {
        if (mode.mode == cudaStreamCaptureModeGlobal)
            continue;
        for (const int metric : METRICS)
        {
            SCOPED_TRACE(cv::format("%s mode, metric %d", mode.name, metric));
            Matcher m(stream, metric), there(elsewhere, metric);
            Shift s(stream), shiftThere(elsewhere, Size(75, 64));
            shiftThere.q->setSigma(6.); // more than 48 KB of shared memory
            require(cudaDeviceSynchronize());
            faults::forgetKernels();
            Graph graph(stream, mode.mode);
            m.match();
            onThreads(1,
                      [&](int)
                      {
                          there.match();
                          shiftThere.computeAndGet();
                          elsewhere.waitForCompletion();
                          return std::string();
                      });
            s.computeAndGet();
            graph.end();
            there.expectRight("the other thread's FragmentMatcher");
            shiftThere.expectOutputs(onCpu(shiftThere.image, 6.), "the other thread's QuickShift");
            replay(graph);
            m.expectRight("FragmentMatcher");
            s.expectOutputs(onCpu(s.image, 2.), "QuickShift");
        }
    }
}

//! The user forks a capture: calls of one instance on both of its streams follow each other, as they share memory.
TEST_F(Common_CudaCaptureModes, twoStreamsOfOneCapture)
{
    cudaEvent_t forked = nullptr, joined = nullptr;
    require(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    require(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    const cudaStream_t a = cuda::StreamAccessor::getStream(stream), b = cuda::StreamAccessor::getStream(elsewhere);
    const auto fork = [&]
    {
        require(cudaEventRecord(forked, a));
        require(cudaStreamWaitEvent(b, forked, 0));
    };
    const auto join = [&]
    {
        require(cudaEventRecord(joined, b));
        require(cudaStreamWaitEvent(a, joined, 0));
    };
    Shift s(stream);
    s.compute();
    stream.waitForCompletion();
    {
        Graph graph(stream);
        fork();
        s.q->getLabels(s.labels, stream);
        s.q->getDensity(s.density, elsewhere);
        join();
        graph.end();
        EXPECT_EQ(1u, graph.roots()) << "the second call does not wait for the first";
        replay(graph);
        s.expectOutputs(onCpu(s.image, 2.), "replayed");
    }
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric), other(elsewhere, metric);
        for (Rect& area : other.scene.areas)
            area += Point(3, 2);
        other.areas = uploadAreas(other.scene.areas);
        require(cudaDeviceSynchronize());
        Graph graph(stream);
        fork();
        m.match();
        launch(*m.matcher, m.frame, other.areas, other.result, elsewhere); // of the same instance
        join();
        graph.end();
        for (int i = 0; i < 20; ++i)
            graph.launch();
        m.expectRight("the first call");
        other.expectRight("the second call");
    }
    require(cudaEventDestroy(forked));
    require(cudaEventDestroy(joined));
}

#endif

}} // namespace opencv_test
