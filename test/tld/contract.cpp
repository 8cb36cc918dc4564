// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Promises of all classes about inputs, outputs, streams and graphs, for TLD's classes.
#include "../common/graphs.hpp"
#include "../common/faults.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using namespace tld;
typedef StandardScene S;

//! The three classes on the same object.
struct All
{
    explicit All(const S& scene, Engine engine = Engine::CPU, const TLDParams& params = TLDParams())
        : tracker(trackerOn(scene, engine, params)),
          detector(TLDDetector::create()),
          several(MultiTrackerTLD::create(params))
    {
        const Image first(engine, scene.frame(0));
        detector->init(first.in(), scene.box(0));
        several->add(first.in(), scene.box(0));
        several->add(first.in(), Rect(150, 20, 40, 40));
    }
    Ptr<TrackerTLD> tracker;
    Ptr<TLDDetector> detector;
    Ptr<MultiTrackerTLD> several;
};

//! Regions and stale arrays, unified memory, and arrays of the right size that are written in place.
TEST(Tld_Outputs, kindsOfArrays)
{
    const S scene;
    const All plain(scene);
    Mat result, results, table;
    plain.tracker->updateAsync(scene.frame(1), result);
    plain.several->update(scene.frame(1), results);
    plain.detector->detect(scene.frame(1), table);
    const Mat truths[] = {result, results, table};
    for (int kind = 0; kind < 4; ++kind)
    {
        SCOPED_TRACE(kind);
        const All all(scene);
        for (int which = 0; which < 3; ++which)
        {
            const Mat& truth = truths[which];
            Mat holder(truth.rows + 4, truth.cols + 3, CV_64FC1, Scalar(77.)),
                region = holder(Rect(2, 1, truth.cols, truth.rows)), stale(3, 5, CV_16SC1, Scalar(1));
            Mat exact(truth.size(), CV_64FC1);
            UMat unified;
            const uchar *const place = region.data, *const exactPlace = exact.data;
            const _OutputArray out = kind == 0   ? _OutputArray(region)
                                     : kind == 1 ? _OutputArray(stale)
                                     : kind == 2 ? _OutputArray(unified)
                                                 : _OutputArray(exact);
            if (which == 0)
                all.tracker->updateAsync(scene.frame(1), out);
            else if (which == 1)
                all.several->update(scene.frame(1), out);
            else
                all.detector->detect(scene.frame(1), out);
            EXPECT_TRUE(sameBits(truth, out.getMat().clone()));
            EXPECT_EQ(place, region.data);
            EXPECT_EQ(exactPlace, exact.data);
            region.setTo(77.);
            EXPECT_EQ(0., cv::norm(holder, Mat(holder.size(), CV_64FC1, Scalar(77.)), NORM_INF)) << "beside the region";
        }
    }
}

//! One row of numbers may be a vector of them.
TEST(Tld_Outputs, vectorOfARow)
{
    const S scene;
    const All one(scene), other(scene);
    Mat expected;
    std::vector<double> row;
    one.tracker->updateAsync(scene.frame(1), expected);
    other.tracker->updateAsync(scene.frame(1), row);
    ASSERT_EQ(static_cast<size_t>(TrackerTLD::RESULT_COLUMNS), row.size());
    EXPECT_TRUE(sameBits(expected, Mat(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1, row.data())));
}

TEST(Tld_Inputs, dimensions)
{
    const S scene;
    const All all(scene);
    const int sizes[] = {3, 48, 64};
    const Mat cube(3, sizes, CV_8UC1, Scalar::all(1));
    const std::string before = textOf(*all.tracker), detectorBefore = textOf(*all.detector);
    Mat out;
    Rect box;
    const std::vector<Mat> list(2, scene.frame(1));
    const std::vector<UMat> none;
    const std::vector<std::pair<_InputArray, std::string>> wrong = {{cube, "48"}, {list, "list"}, {none, "list"}};
    for (const auto& one : wrong)
    {
        const _InputArray& image = one.first;
        const std::vector<std::string> text = {"image", one.second};
        expectRefused([&] { all.tracker->update(image, box); }, text);
        expectRefused([&] { all.tracker->init(image, Rect(1, 1, 20, 20)); }, text);
        expectRefused([&] { all.detector->detect(image, out); }, text);
        expectRefused([&] { all.detector->learn(image, Rect(1, 1, 20, 20)); }, text);
        expectRefused([&] { all.several->update(image, out); }, text);
        expectRefused([&] { all.several->add(image, Rect(1, 1, 20, 20)); }, text);
    }
    EXPECT_EQ(before, textOf(*all.tracker));
    EXPECT_EQ(detectorBefore, textOf(*all.detector));
    Mat expected;
    All(scene).several->update(scene.frame(1), expected);
    all.several->update(scene.frame(1), out);
    EXPECT_TRUE(sameBits(expected, out));
}

#ifdef HAVE_CUDA

using cuda::GpuMat;
using cuda::Stream;

//! Without and with a correlation filter.
class Tld_CudaContract : public OnCudaWith<bool>
{
protected:
    void SetUp() override
    {
        OnCudaWith<bool>::SetUp();
        params.filter = GetParam();
        stream = Stream(static_cast<size_t>(1)); // does not wait for the null stream
        for (int t = 0; t < S::FRAMES; ++t)
            frames.emplace_back(scene.frame(t));
        input = frames[0].clone();
        require(cudaDeviceSynchronize()); // what the null stream copies is there before `stream` goes on
        truth = follow(*trackerOn(scene, Engine::CPU, params), scene, Engine::CPU, 1, S::FRAMES);
    }
    Ptr<TrackerTLD> fresh() const { return trackerOn(scene, Engine::CUDA, params); }
    void expectFrame(int t, const Mat& result)
    {
        const double* r = result.ptr<double>();
        EXPECT_EQ(truth[t - 1].inside, boxOf(result)) << "frame " << t;
        EXPECT_EQ(truth[t - 1].score, static_cast<float>(r[TrackerTLD::RESULT_SCORE])) << "frame " << t;
        EXPECT_EQ(truth[t - 1].state, r[TrackerTLD::RESULT_STATE]) << "frame " << t;
    }
    void replay(Graph& graph, int t)
    {
        frames[t].copyTo(input, stream);
        graph.launch();
        stream.waitForCompletion();
    }

    const S scene;
    TLDParams params;
    Stream stream = cuda::noStream();
    std::vector<GpuMat> frames;
    GpuMat input;
    std::vector<Step> truth;
};

INSTANTIATE_TEST_CASE_P(Filter, Tld_CudaContract, testing::Bool());

//! Each replay is a frame; the first update may be the captured one.
TEST_P(Tld_CudaContract, replaysAreFrames)
{
    const Ptr<TrackerTLD> tracker = fresh();
    GpuMat result(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    Graph graph(stream);
    tracker->updateAsync(input, result, stream);
    graph.end();
    for (int t = 1; t < S::FRAMES; ++t)
    {
        replay(graph, t);
        expectFrame(t, Mat(result));
        if (t % 10 == 0) // getters see what replays left
        {
            EXPECT_EQ(truth[t - 1].inside, tracker->getBox());
            EXPECT_TRUE(same(truth[t - 1],
                             [&]
                             {
                                 Step s = look(*tracker);
                                 s.located = truth[t - 1].located;
                                 s.box = truth[t - 1].box;
                                 return s;
                             }()));
        }
    }
}

//! Captured work has not happened.
TEST_P(Tld_CudaContract, droppedCaptures)
{
    const Ptr<TrackerTLD> tracker = fresh();
    for (int t = 1; t < 12; ++t)
    {
        GpuMat result;
        {
            Graph graph(stream);
            tracker->updateAsync(frames[40], result, stream);
            graph.end();
        }
        tracker->updateAsync(frames[t], result, stream);
        stream.waitForCompletion();
        expectFrame(t, Mat(result));
    }
}

//! Eager frames and replays in turn, and two graphs.
TEST_P(Tld_CudaContract, eagerBetweenReplays)
{
    const Ptr<TrackerTLD> tracker = fresh();
    GpuMat result(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1), other(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    std::unique_ptr<Graph> graphs[2];
    for (auto& graph : graphs)
    {
        graph.reset(new Graph(stream));
        tracker->updateAsync(input, result, stream);
        graph->end();
    }
    for (int t = 1; t < S::FRAMES; ++t)
        if (t % 3 == 0)
        {
            tracker->updateAsync(frames[t], other, stream);
            stream.waitForCompletion();
            expectFrame(t, Mat(other));
        }
        else
        {
            replay(*graphs[t % 2], t);
            expectFrame(t, Mat(result));
        }
}

//! With several frames in one graph, each rotates the ring of kept images.
TEST_P(Tld_CudaContract, framesOfOneGraph)
{
    const int count = 7;
    const Ptr<TrackerTLD> tracker = fresh();
    std::vector<GpuMat> inputs, results;
    for (int i = 0; i < count; ++i)
    {
        inputs.push_back(frames[0].clone());
        results.emplace_back(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    }
    require(cudaDeviceSynchronize()); // a clone that came late would overwrite a frame
    Graph graph(stream);
    for (int i = 0; i < count; ++i)
        tracker->updateAsync(inputs[i], results[i], stream);
    graph.end();
    for (int t = 1; t + count <= S::FRAMES; t += count)
    {
        for (int i = 0; i < count; ++i)
            frames[t + i].copyTo(inputs[i], stream);
        graph.launch();
        stream.waitForCompletion();
        for (int i = 0; i < count; ++i)
            expectFrame(t + i, Mat(results[i]));
    }
}

//! Neither with a result on the device nor in pinned memory does a call wait.
TEST_P(Tld_CudaContract, doesNotWait)
{
    const All all(scene, Engine::CUDA, params);
    GpuMat result, table, results;
    cuda::HostMem pinned;
    const auto everything = [&](int t)
    {
        all.tracker->updateAsync(frames[t], result, stream);
        all.detector->detect(frames[t], table, stream);
        all.detector->learn(frames[t], scene.box(t), stream);
        all.several->update(frames[t], results, stream);
        all.several->update(frames[t + 1], pinned, stream);
    };
    everything(1);
    stream.waitForCompletion();
    Gate gate(stream);
    everything(3);
    EXPECT_FALSE(gate.gaveUp()) << "a call waited";
    gate.open();
    stream.waitForCompletion();
    const All host(scene, Engine::CPU, params);
    Mat expected;
    for (const int t : {1, 3})
    {
        host.several->update(scene.frame(t), expected);
        host.several->update(scene.frame(t + 1), expected);
    }
    EXPECT_TRUE(sameBits(expected, pinned.createMatHeader()));
}

TEST_P(Tld_CudaContract, allocatesNothingInTheSteadyState)
{
    faults::require(faults::CUDA);
    const All all(scene, Engine::CUDA, params);
    GpuMat result, table, results;
    Mat host, hostTable;
    Rect box;
    const auto everything = [&](int t)
    {
        all.tracker->updateAsync(frames[t], result, stream);
        all.tracker->updateAsync(frames[t + 1], host, stream);
        all.detector->detect(frames[t], table, stream);
        all.detector->detect(frames[t], hostTable, stream);
        all.several->update(frames[t], results, stream);
        all.tracker->getDetections(hostTable);
        all.tracker->getTemplates(true, hostTable);
    };
    everything(1), everything(3);
    const int64 before = faults::allocations();
    const size_t bytes = all.tracker->workspaceBytes() + all.detector->workspaceBytes() + all.several->workspaceBytes();
    for (int t = 5; t < 30; t += 2)
        everything(t);
    EXPECT_EQ(before, faults::allocations()) << "calls of cudaMalloc and the like in the steady state";
    EXPECT_EQ(bytes, all.tracker->workspaceBytes() + all.detector->workspaceBytes() + all.several->workspaceBytes());
    EXPECT_GT(bytes, 0u);
}

//! Calls that have to wait are refused before they touch the stream.
TEST_P(Tld_CudaContract, waitingIsRefused)
{
    const All all(scene, Engine::CUDA, params);
    const std::string before = textOf(*all.tracker);
    GpuMat result(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1), table;
    Mat host;
    std::vector<Rect> boxes;
    std::vector<float> scores;
    all.detector->detect(frames[1], table, stream);
    stream.waitForCompletion();
    Graph graph(stream);
    EXPECT_THROW(all.tracker->updateAsync(input, host, stream), cv::Exception);
    EXPECT_THROW(all.detector->detect(input, host, stream), cv::Exception);
    EXPECT_THROW(all.detector->init(input, scene.box(0), stream), cv::Exception);
    EXPECT_THROW(all.several->add(input, scene.box(0), stream), cv::Exception);
    EXPECT_THROW(all.several->update(input, host, stream), cv::Exception);
    EXPECT_THROW(TLDDetector::convertDetections(table, boxes, scores, false, stream), cv::Exception);
    all.tracker->updateAsync(input, result, stream);
    graph.end();
    EXPECT_EQ(before, textOf(*all.tracker));
    replay(graph, 1);
    expectFrame(1, Mat(result));
}

//! Each frame captured anew.
TEST_P(Tld_CudaContract, againAndAgain)
{
    const Ptr<TrackerTLD> tracker = fresh();
    GpuMat result(1, TrackerTLD::RESULT_COLUMNS, CV_64FC1);
    size_t bytes = 0;
    tracker->updateAsync(frames[1], result, stream); // uploads the lists of objects
    for (int t = 2; t < S::FRAMES; ++t)
    {
        Graph graph(stream);
        tracker->updateAsync(input, result, stream);
        graph.end();
        replay(graph, t);
        expectFrame(t, Mat(result));
        if (t == 40)
            bytes = tracker->workspaceBytes();
    }
    EXPECT_EQ(bytes, tracker->workspaceBytes());
}

#endif

}} // namespace opencv_test
