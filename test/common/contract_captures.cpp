// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Contract of all classes for graphs: captured work has not happened; replays and direct calls do not disturb each
// other; nothing leaks.
#include "captures.hpp"

namespace opencv_test { namespace {

#ifdef HAVE_CUDA

using namespace scenes;
using cuda::GpuMat;
using cuda::Stream;

typedef CaptureTest Common_CudaCaptures;

TEST_F(Common_CudaCaptures, firstCallOfFragmentMatcher)
{
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric);
        const auto graph = capture([&] { m.match(); });
        for (int again = 0; again < 2; ++again)
        {
            replay(*graph);
            m.expectRight("replayed");
            m.expectEagerRight("eager");
        }
    }
}

//! Outputs may be empty before they are captured: they are allocated outside of the graph, as all memory is.
TEST_F(Common_CudaCaptures, outputsAreAllocated)
{
    Matcher m(stream);
    const GpuMat input(randomImage(theRNG(), Size(70, 50), CV_8UC3));
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
    q->compute(input, noArray(), stream);
    Mat truth;
    q->getLabels(truth, stream);
    m.result = DeviceResult();
    GpuMat labels;
    const auto graph = capture(
        [&]
        {
            m.match();
            q->getLabels(labels, stream);
        });
    replay(*graph);
    m.expectRight("replayed");
    EXPECT_TRUE(sameBits(truth, Mat(labels)));
}

//! Removing a fragment, then a capture that is never replayed: what it would have uploaded is not there.
TEST_F(Common_CudaCaptures, droppedAfterAnEdit)
{
    Matcher m(stream);
    m.match();
    m.remove(0);
    m.areas = uploadAreas(m.scene.areas);
    drop([&] { m.match(); });
    m.match();
    m.expectRight("after a dropped capture");
    m.matcher->addFragment(uploadRoi(m.scene.templates[1]), noArray(), stream);
    m.scene.templates.push_back(m.scene.templates[1]);
    m.scene.weights.push_back(Mat());
    m.scene.areas.push_back(Rect(5, 5, 70, 60));
    m.result.create(static_cast<int>(m.scene.areas.size()), m.scene.params.peaks);
    drop([&] { launch(*m.matcher, m.frame, m.scene.areas, m.result, stream); });
    m.expectEagerRight("after another");
}

//! Fragments of the host that are not on the device yet: captured work could not bring them there.
TEST_F(Common_CudaCaptures, fragmentsOnTheHost)
{
    Matcher m(stream);
    give(*m.matcher, m.scene);
    {
        Graph graph(stream);
        EXPECT_THROW(m.match(), cv::Exception);
        graph.end(); // the capture is valid still
    }
    m.match();
    m.expectRight("eager");
    const auto graph = capture([&] { m.match(); });
    replay(*graph);
    m.expectRight("replayed");
}

//! An eager call that needs more memory does not take a graph's memory away.
TEST_F(Common_CudaCaptures, memoryGrows)
{
    for (const int metric : METRICS)
    {
        Matcher m(stream, metric);
        m.match();
        const auto graph = capture([&] { m.match(); });
        GpuMat maps;
        std::vector<int> offsets;
        m.matcher->scoreMaps(m.frame, noArray(), maps, offsets, CV_32F, stream);
        const GpuMat large(randomImage(theRNG(), Size(1500, 1100), m.frame.type()));
        DeviceResult other;
        launch(*m.matcher, large, noArray(), other, stream);
        stream.waitForCompletion();
        // What takes the memory that a mistake would have given back.
        GpuMat filler(2000, 2000, CV_8UC4, Scalar::all(255));
        replay(*graph);
        m.expectRight("replayed after growth");
        m.expectEagerRight("eager after growth");
    }
}

//! A graph goes on with the parameters and the fragments that it was captured with.
TEST_F(Common_CudaCaptures, parametersAndEdits)
{
    Matcher m(stream);
    m.match();
    const Scene before = m.scene;
    const auto graph = capture([&] { m.match(); });
    const DeviceResult ofGraph = m.result;
    m.matcher->setParams(m.scene.params = makeParams(FM::ZNCC, 3, FM::CROSS, 2));
    m.expectEagerRight("other parameters");
    m.remove(1);
    m.expectEagerRight("fragment removed");
    replay(*graph);
    expectSame(runCpu(before), ofGraph.download());
    m.expectEagerRight("and the matcher as it is now");
}

//! Contents of fragments are read at each replay.
TEST_F(Common_CudaCaptures, updatedFragments)
{
    Matcher m(stream);
    m.match();
    const auto graph = capture([&] { m.match(); });
    const Mat templ = randomImage(9511, m.scene.templates[2].size(), m.frame.type());
    m.matcher->updateFragment(2, uploadRoi(templ), uploadRoi(m.scene.weights[2]), stream);
    m.scene.templates[2] = templ;
    replay(*graph);
    m.expectRight("replayed with the new content");
}

//! Calls that have to wait are refused before they touch the stream.
TEST_F(Common_CudaCaptures, waitingIsRefused)
{
    Matcher m(stream);
    m.match();
    const Mat image = randomImage(theRNG(), Size(70, 50), CV_8UC3);
    const GpuMat input(image);
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
    q->compute(input, noArray(), stream);
    stream.waitForCompletion();
    std::vector<FragmentMatch> matches;
    const Mat old(4, 3, CV_16SC1, Scalar(-5));
    Mat host = old.clone();
    GpuMat labels(image.size(), CV_32SC1), out(old);
    const uchar *const hostAddress = host.data, *const outAddress = out.data;
    Graph graph(stream);
    m.match();
    q->getLabels(labels, stream);
    EXPECT_THROW(m.matcher->match(m.frame, m.areas, host, noArray(), noArray(), noArray(), noArray(), stream),
                 cv::Exception);
    EXPECT_THROW(m.matcher->find(m.frame, m.areas, matches, stream), cv::Exception);
    EXPECT_THROW(m.matcher->scoreMap(0, m.frame, Rect(), host, CV_32F, stream), cv::Exception);
    EXPECT_THROW(m.matcher->addFragment(m.frame(Rect(0, 0, 5, 5)), noArray(), stream), cv::Exception);
    EXPECT_THROW(m.matcher->setFragments(std::vector<GpuMat>(2, input), noArray(), stream), cv::Exception);
    EXPECT_THROW(m.matcher->updateFragment(0, m.frame(Rect(0, 0, 50, 5)), noArray(), stream), cv::Exception);
    EXPECT_THROW(q->getLabels(host, stream), cv::Exception);
    EXPECT_THROW(q->countSuperpixels(3., stream), cv::Exception);
    EXPECT_THROW(q->getMergeHeights(out, noArray(), stream), cv::Exception);
    EXPECT_THROW(q->getStatistics(input, out, noArray(), noArray(), noArray(), stream), cv::Exception);
    EXPECT_THROW(q->getMeanColor(input, host, stream), cv::Exception);
    EXPECT_THROW(q->enforceConnectivity(1, stream), cv::Exception);
    EXPECT_THROW(q->applyNumber(5, 0, stream), cv::Exception);
    graph.end();
    EXPECT_EQ(hostAddress, host.data);
    EXPECT_EQ(outAddress, out.data);
    EXPECT_TRUE(sameBits(old, host)) << "outputs of refused calls";
    EXPECT_TRUE(sameBits(old, Mat(out)));
    replay(graph);
    m.expectRight("what was captured before and after");
    m.expectEagerRight("and the matcher is as it was");
    Mat truth;
    q->getLabels(truth);
    EXPECT_TRUE(sameBits(truth, Mat(labels)));
}

//! Each frame captured anew, with sizes and parameters of calls before: memory does not grow.
TEST_F(Common_CudaCaptures, againAndAgain)
{
    Matcher m(stream);
    Shift s(stream);
    m.match();
    s.compute();
    stream.waitForCompletion();
    size_t bytes = 0;
    for (int i = 0; i < 30; ++i)
    {
        const auto graph = capture(
            [&]
            {
                m.match();
                s.computeAndGet();
            });
        if (i % 3)
            replay(*graph);
        if (i == 0)
            bytes = m.matcher->workspaceBytes() + s.q->workspaceBytes();
    }
    EXPECT_EQ(bytes, m.matcher->workspaceBytes() + s.q->workspaceBytes());
    m.expectRight("the last replay");
    s.expectOutputs(onCpu(s.image, 2.), "the last replay");
}

// --- QuickShift ------------------------------------------------------------------------------------------------------

//! Captured at one sigma, eager at another: each goes on with its own table.
TEST_F(Common_CudaCaptures, otherSigmaBetween)
{
    Shift s(stream);
    s.q->setSigma(5.);
    s.compute();
    stream.waitForCompletion();
    const auto graph = capture([&] { s.computeAndGet(); });
    s.q->setSigma(3.);
    s.compute();
    expectSame(onCpu(s.image, 3.), resultsOf(*s.q));
    replay(*graph);
    s.expectOutputs(onCpu(s.image, 5.), "replayed at sigma 5");
    expectSame(onCpu(s.image, 3.), resultsOf(*s.q));
    s.compute();
    expectSame(onCpu(s.image, 3.), resultsOf(*s.q));
}

TEST_F(Common_CudaCaptures, droppedAfterAnotherSigma)
{
    Shift s(stream);
    s.compute();
    expectSame(onCpu(s.image, 2.), resultsOf(*s.q));
    s.q->setSigma(4.);
    drop([&] { s.compute(); });
    expectSame(onCpu(s.image, 2.), resultsOf(*s.q));
    s.compute();
    expectSame(onCpu(s.image, 4.), resultsOf(*s.q));
}

TEST_F(Common_CudaCaptures, firstCallDropped)
{
    Shift s(stream);
    drop([&] { s.compute(); });
    EXPECT_TRUE(s.q->empty());
    s.compute();
    expectSame(onCpu(s.image, 2.), resultsOf(*s.q));
}

//! Warmed up with what is captured: eager getters give what the last replay found.
TEST_F(Common_CudaCaptures, replaysAreSeen)
{
    Shift s(stream);
    s.compute();
    stream.waitForCompletion();
    const auto graph = capture([&] { s.compute(); });
    for (const Mat& image : {s.other, s.image, s.other})
    {
        s.input.upload(image, stream);
        replay(*graph);
        expectSame(onCpu(image, 2.), resultsOf(*s.q));
    }
}

//! During a capture the number of superpixels is that of the results as they are, and so it is when the capture was
//! dropped.
TEST_F(Common_CudaCaptures, numberBesideACapture)
{
    Shift s(stream);
    const Mat flat(s.image.size(), s.image.type(), Scalar::all(9));
    s.compute();
    s.input = GpuMat(flat);
    const int number = onCpu(s.image, 2.).count;
    drop(
        [&]
        {
            s.compute();
            EXPECT_EQ(number, s.q->getNumberOfSuperpixels());
        });
    EXPECT_EQ(number, s.q->getNumberOfSuperpixels());
    s.compute();
    EXPECT_EQ(1, s.q->getNumberOfSuperpixels());
}

//! The number of superpixels is asked for, then a replay finds more: what is indexed by labels keeps within its bounds.
TEST_F(Common_CudaCaptures, countThenReplay)
{
    Shift s(stream);
    const Mat flat(s.image.size(), s.image.type(), Scalar::all(9));
    s.compute();
    stream.waitForCompletion();
    const auto graph = capture([&] { s.compute(); });
    s.q->compute(GpuMat(flat), noArray(), stream);
    EXPECT_EQ(1, s.q->getNumberOfSuperpixels());
    replay(*graph);
    const Results truth = onCpu(s.image, 2.);
    const Ptr<QuickShift> cpu = shiftOf(2., 20., 0.3, s.image);
    Mat mean, expected, areas, expectedAreas;
    cpu->getMeanColor(s.image, expected);
    cpu->getStatistics(s.image, expectedAreas);
    s.q->getMeanColor(s.input, mean, stream);
    s.q->getStatistics(s.input, areas, noArray(), noArray(), noArray(), stream);
    EXPECT_TRUE(sameBits(expected, mean));
    EXPECT_TRUE(sameBits(expectedAreas, areas));
    EXPECT_EQ(truth.count, s.q->getNumberOfSuperpixels());
}

//! A larger image between capture and replay.
TEST_F(Common_CudaCaptures, largerImageBetween)
{
    Shift s(stream);
    s.compute();
    stream.waitForCompletion();
    const auto graph = capture([&] { s.computeAndGet(); });
    const Mat large = randomImage(theRNG(), Size(400, 300), CV_8UC3, 5);
    s.q->compute(GpuMat(large), noArray(), stream);
    expectSame(onCpu(large, 2.), resultsOf(*s.q));
    GpuMat filler(2000, 2000, CV_8UC4, Scalar::all(255));
    replay(*graph);
    s.expectOutputs(onCpu(s.image, 2.), "replayed");
    expectSame(onCpu(large, 2.), resultsOf(*s.q));
}

#endif

}} // namespace opencv_test
