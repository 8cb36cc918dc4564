// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Captures as programs make them: in each mode, beside other threads, replayed elsewhere, as parts of other graphs, and
// graphs whose memory is given back when they are gone.
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

    //! Areas on the host: each capture has memory of its own for them.
    void match(Matcher& m) { launch(*m.matcher, m.frame, m.scene.areas, m.result, stream); }

    //! More graphs than those whose memory is kept as long as the instance, see Workspace::UNWATCHED.
    template <typename Work> void useUpUnwatched(const Work& work)
    {
        for (int i = 0; i < 5; ++i)
            drop(work);
    }

    //! A graph that lives only for the time of the call, and what it leaves is there for others.
    template <typename Work> void captureReplayDrop(const Work& work)
    {
        Graph::Flag gone;
        {
            Graph graph(stream);
            work();
            graph.endCapture();
            gone = graph.gone();
            graph.instantiate();
            replay(graph);
        }
        EXPECT_TRUE(becomesTrue(*gone));
    }

    //! Graphs with other areas that come and go, and a call that needs more memory: they take all that nobody uses.
    void churn(Matcher& m)
    {
        DeviceResult result;
        result.create(static_cast<int>(m.scene.areas.size()), m.scene.params.peaks);
        for (int i = 0; i < 12; ++i)
        {
            const std::vector<Rect> areas(m.scene.areas.size(), Rect(i % 7, i % 5, 40 + i, 45));
            captureReplayDrop([&] { launch(*m.matcher, m.frame, areas, result, stream); });
        }
        const GpuMat large(randomImage(theRNG(), Size(1500, 1100), m.frame.type()));
        DeviceResult other;
        launch(*m.matcher, large, noArray(), other, stream);
        stream.waitForCompletion();
        GpuMat filler(2000, 2000, CV_8UC4, Scalar::all(255)); // takes what was freed
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

//! Memory of a graph beyond the first ones of its instance stays as long as the graph, and no longer.
TEST_F(Common_CudaCaptureModes, watchedGraphs)
{
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric);
        useUpUnwatched([&] { match(m); });
        const auto graph = capture([&] { match(m); });
        for (int again = 0; again < 2; ++again)
        {
            churn(m);
            replay(*graph);
            m.expectRight("replayed after other graphs and growth");
        }
        m.expectEagerRight("eager");
    }
}

TEST_F(Common_CudaCaptureModes, watchedGraphsOfQuickShift)
{
    Shift s(stream);
    GpuMat labels(s.image.size(), CV_32SC1);
    const auto computeAt = [&](double sigma)
    {
        s.q->setSigma(sigma);
        s.q->compute(s.input, noArray(), stream);
        s.q->getLabels(labels, stream);
    };
    s.compute();
    useUpUnwatched([&] { computeAt(3.); });
    s.q->setSigma(5.); // the capture has a table of its own
    const auto graph = capture([&] { s.computeAndGet(); });
    for (int i = 0; i < 12; ++i)
        captureReplayDrop([&] { computeAt(2.5 + i % 3); });
    const Mat large = randomImage(theRNG(), Size(400, 300), CV_8UC3, 5);
    s.q->compute(GpuMat(large), noArray(), stream);
    stream.waitForCompletion();
    GpuMat filler(2000, 2000, CV_8UC4, Scalar::all(255));
    replay(*graph);
    s.expectOutputs(onCpu(s.image, 5.), "replayed after other graphs and growth");
}

TEST_F(Common_CudaCaptureModes, executableWithoutItsGraph)
{
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric);
        useUpUnwatched([&] { match(m); });
        const auto graph = capture([&] { match(m); });
        graph->destroyGraph();
        churn(m);
        replay(*graph);
        m.expectRight("replayed");
    }
}

TEST_F(Common_CudaCaptureModes, childGraphs)
{
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric);
        useUpUnwatched([&] { match(m); });
        cudaGraph_t parent = nullptr;
        cudaGraphExec_t executable = nullptr;
        require(cudaGraphCreate(&parent, 0));
        {
            Graph child(stream);
            match(m);
            child.endCapture();
            cudaGraphNode_t node = nullptr;
            require(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, child.graph()));
        }
        require(cudaGraphInstantiate(&executable, parent, 0));
        require(cudaGraphDestroy(parent));
        churn(m);
        require(cudaGraphLaunch(executable, cuda::StreamAccessor::getStream(stream)));
        m.expectRight("replayed");
        require(cudaGraphExecDestroy(executable));
    }
}

//! An executable graph is given the parameters of another capture, which is gone then.
TEST_F(Common_CudaCaptureModes, updatedExecutables)
{
    int updated = 0;
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric);
        useUpUnwatched([&] { match(m); });
        const auto graph = capture([&] { match(m); });
        for (Rect& area : m.scene.areas)
            area += Point(2, 1);
        {
            Graph second(stream);
            match(m);
            second.endCapture();
            cudaGraphExecUpdateResultInfo info = {};
            if (cudaGraphExecUpdate(graph->executable(), second.graph(), &info) != cudaSuccess)
            {
                cudaGetLastError(); // programs then make it anew
                continue;
            }
        }
        ++updated;
        graph->destroyGraph();
        churn(m);
        replay(*graph);
        m.expectRight("replayed with the other capture's areas");
    }
    if (updated == 0)
        throw SkipTestException("this driver updates none of these graphs");
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
