// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The promises of all classes about inputs, outputs, graphs and streams, for CascadeClassifierEx.
#include "../test_precomp.hpp"
#include "../common/graphs.hpp"
#include "../common/faults.hpp"
#include "generate.hpp"
#include <functional>
#include <memory>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using cuda::GpuMat;
using cuda::Stream;

//! A cascade that finds objects in the images, and its results.
struct ContractScene
{
    explicit ContractScene(uint64 seed = 40)
    {
        RNG rng(seed);
        images = {randomImage(rng, Size(97, 83), CV_8UC3, 5), randomImage(rng, Size(61, 90), CV_8UC1, 5)};
        mask = randomImage(rng, images[0].size(), CV_8UC1, 9, 2);
        for (; candidates() < 20; ++seed)
        {
            cascade = cascadeOf(CascadeGenerator(seed, images[0]).make());
            cascade->setScaleFactor(1.3);
            cascade->setMinNeighbors(0);
            cascade->setMaxObjects(200);
        }
    }
    Mat truth() const { return on(images); }
    Mat on(const std::vector<Mat>& list, const std::vector<Mat>& masks = {}) const
    {
        const Ptr<CascadeClassifierEx> fresh = cascade->clone();
        Mat table;
        fresh->detectAsync(list, table, noArray(), noArray(), masks);
        return table;
    }

    std::vector<Mat> images;
    Mat mask;
    Ptr<CascadeClassifierEx> cascade;

private:
    int candidates() const { return cascade ? truth().at<Vec4i>(0)[2] : 0; }
};

TEST(Cascade_Inputs, kindsForCascadeClassifierEx)
{
    const ContractScene s;
    const Mat truth = s.truth();
    const UMat image = s.images[0].getUMat(ACCESS_READ);
    const std::vector<UMat> list = {image, s.images[1].getUMat(ACCESS_READ)};
    Mat table;
    s.cascade->detectAsync(list, table);
    EXPECT_TRUE(sameBits(truth, table));
    s.cascade->detectAsync(image, table);
    EXPECT_TRUE(sameBits(truth.row(0), table));
    s.cascade->detectAsync(s.images[1] + 0, table);
    EXPECT_TRUE(sameBits(truth.row(1), table));
    std::vector<Rect> boxes, others;
    s.cascade->detectMultiScale(s.images[0], boxes, 1.3, 0, 0, Size(), Size(), s.mask);
    s.cascade->detectMultiScale(image, others, 1.3, 0, 0, Size(), Size(), s.mask.getUMat(ACCESS_READ));
    EXPECT_EQ(boxes, others);
    ASSERT_FALSE(boxes.empty());
    const Mat imageBefore = s.images[0].clone(), maskBefore = s.mask.clone();
    s.cascade->detectAsync(s.images[0], table, noArray(), noArray(), s.mask);
    EXPECT_TRUE(sameBits(imageBefore, s.images[0]) && sameBits(maskBefore, s.mask)) << "an input was written";
}

TEST(Cascade_Inputs, dimensionsOfCascadeClassifierEx)
{
    const ContractScene s;
    const Mat truth = s.truth();
    std::vector<Rect> boxes;
    Mat table;
    expectRefused([&] { s.cascade->detectAsync(cube(), table); }, {"image", "48"});
    expectRefused([&] { s.cascade->detectAsync(std::vector<Mat>{s.images[0], cube()}, table); }, {"image", "48"});
    expectRefused([&] { s.cascade->detectAsync(s.images[0], table, noArray(), noArray(), cube()); }, {"mask", "48"});
    expectRefused([&] { s.cascade->detectMultiScale(cube(), boxes); }, {"image", "48"});
    expectRefused([&] { s.cascade->countPasses(cube(), table); }, {"image", "48"});
    expectRefused([&] { s.cascade->convertDetections(cube(CV_32SC4), 0, boxes); }, {"objects", "48"});
    expectRefused([&] { s.cascade->detectMultiScale(s.images, boxes); }, {"image", "list"});
    expectRefused([&] { s.cascade->detectAsync(s.images, table, noArray(), noArray(), s.mask); }, {"mask"});
    EXPECT_TRUE(sameBits(truth, s.truth()));
}

TEST(Cascade_Outputs, vectorsOfCascadeClassifierEx)
{
    const ContractScene s;
    Mat table, counts, weights;
    s.cascade->detectAsync(s.images[0], table, counts, weights);
    std::vector<Vec4i> vector;
    std::vector<int> countList;
    std::vector<double> weightList;
    s.cascade->detectAsync(s.images[0], vector, countList, weightList);
    EXPECT_TRUE(sameBits(table.t(), columnOf(vector)));
    EXPECT_TRUE(sameBits(counts.t(), columnOf(countList)));
    EXPECT_TRUE(sameBits(weights.t(), columnOf(weightList)));
    s.cascade->setMaxObjects(1); // one value per image: a column
    Mat column;
    s.cascade->detectAsync(s.images, table, column);
    s.cascade->detectAsync(s.images, table, countList);
    EXPECT_TRUE(sameBits(column, columnOf(countList)));
    std::vector<Rect> boxes, fromVector;
    s.cascade->setMaxObjects(200);
    EXPECT_EQ(s.cascade->convertDetections(s.truth(), 0, boxes), s.cascade->convertDetections(vector, 0, fromVector));
    EXPECT_EQ(boxes, fromVector);
}

//! Outputs that cannot hold the result are refused by name, and nothing is written.
TEST(Cascade_Outputs, refusedOfCascadeClassifierEx)
{
    const ContractScene s;
    const Mat truth = s.truth();
    Mat table = truth.clone();
    Mat_<int> fixed(2, 201);
    std::vector<Rect> tooNarrow;
    std::vector<int> ints;
    GpuMat device;
    expectRefused([&] { s.cascade->detectAsync(s.images, fixed); }, {"objects"});
    expectRefused([&] { s.cascade->detectAsync(s.images, tooNarrow); }, {"objects"});
    expectRefused([&] { s.cascade->detectAsync(s.images, table, ints); }, {"numDetections"});
    expectRefused([&] { s.cascade->detectAsync(s.images, table, noArray(), fixed); }, {"levelWeights"});
    expectRefused([&] { s.cascade->detectAsync(s.images, device); }, {"objects"});
    expectRefused([&] { s.cascade->detectAsync(s.images, table, device); }, {"numDetections"});
    expectRefused([&] { s.cascade->detectAsync(s.images, table, noArray(), device); }, {"levelWeights"});
    expectRefused([&] { s.cascade->countPasses(s.images[0], device); }, {"passes"});
    EXPECT_TRUE(sameBits(truth, table)) << "an output was written";
    EXPECT_TRUE(sameBits(truth, s.truth()));
}

#ifdef HAVE_CUDA

class Cascade_CudaContract : public testing::Test
{
protected:
    void SetUp() override
    {
        requireCuda();
        scene.reset(new ContractScene);
        stream = Stream(static_cast<size_t>(1)); // does not wait for the null stream
        for (const Mat& image : scene->images)
            frames.emplace_back(image);
        mask.upload(scene->mask);
        table.create(2, 201, CV_32SC4);
        require(cudaDeviceSynchronize());
    }
    void detect() { scene->cascade->detectAsync(frames, table, noArray(), noArray(), noArray(), stream); }
    Mat result()
    {
        stream.waitForCompletion();
        const Mat downloaded(table);
        table.setTo(Scalar::all(-7));
        require(cudaDeviceSynchronize());
        return downloaded;
    }
    template <typename Work> std::unique_ptr<Graph> capture(const Work& work)
    {
        std::unique_ptr<Graph> graph(new Graph(stream));
        work();
        graph->end();
        return graph;
    }

    std::unique_ptr<ContractScene> scene;
    Stream stream = cuda::noStream();
    std::vector<GpuMat> frames;
    GpuMat mask, table;
};

//! Downloads go through memory that the instance keeps.
TEST_F(Cascade_CudaContract, downloadsAllocateNothing)
{
    faults::require(faults::CUDA);
    Mat objects, counts, weights;
    std::vector<Rect> boxes;
    const auto everything = [&]
    {
        scene->cascade->detectAsync(frames, objects, counts, weights, noArray(), stream);
        scene->cascade->detectMultiScale(frames[0], boxes, 1.3, 1, 0, Size(), Size(), mask, stream);
        detect();
        scene->cascade->convertDetections(table, 1, boxes, stream);
    };
    everything(), everything();
    const int64 before = faults::allocations();
    const size_t bytes = scene->cascade->workspaceBytes();
    everything(), everything();
    EXPECT_EQ(before, faults::allocations()) << "calls of cudaMalloc and the like in the steady state";
    EXPECT_EQ(bytes, scene->cascade->workspaceBytes());
    EXPECT_TRUE(sameBits(scene->truth(), objects));
}

//! Page-locked outputs are written in stream order and without a wait, so they can be captured.
TEST_F(Cascade_CudaContract, pinnedMemory)
{
    cuda::HostMem objects(table.size(), CV_32SC4), counts(2, 200, CV_32SC1), weights(2, 200, CV_64FC1);
    const auto work = [&] { scene->cascade->detectAsync(frames, objects, counts, weights, noArray(), stream); };
    const auto check = [&]
    {
        stream.waitForCompletion();
        EXPECT_TRUE(sameBits(scene->truth(), objects.createMatHeader()));
        EXPECT_EQ(1, counts.createMatHeader().at<int>(0));
        objects.createMatHeader().setTo(0), counts.createMatHeader().setTo(0);
    };
    work();
    check();
    {
        Gate gate(stream);
        work();
        EXPECT_FALSE(gate.gaveUp()) << "the call waited";
        gate.open();
        check();
    }
    const auto graph = capture(work);
    graph->launch();
    check();
}

TEST_F(Cascade_CudaContract, firstCallCapturedOrDropped)
{
    capture([&] { detect(); }); // dropped
    const auto graph = capture([&] { detect(); });
    for (int i = 0; i < 2; ++i)
    {
        graph->launch();
        EXPECT_TRUE(sameBits(scene->truth(), result())) << "replayed";
        detect();
        EXPECT_TRUE(sameBits(scene->truth(), result())) << "eager";
    }
}

//! Outputs may be empty before they are captured.
TEST_F(Cascade_CudaContract, outputsAreAllocated)
{
    table.release();
    const auto graph = capture([&] { detect(); });
    graph->launch();
    EXPECT_TRUE(sameBits(scene->truth(), result()));
}

//! Each replay reads images and masks again, and nothing else.
TEST_F(Cascade_CudaContract, masksAreReadAnew)
{
    frames.resize(1);
    table.create(1, 201, CV_32SC4);
    const auto work = [&]
    { scene->cascade->detectAsync(frames, table, noArray(), noArray(), std::vector<GpuMat>{mask}, stream); };
    const auto graph = capture(work);
    RNG rng(41);
    for (int i = 0; i < 4; ++i)
    {
        const Mat image = randomImage(rng, frames[0].size(), CV_8UC3, 4 + i);
        const Mat now = i == 3 ? Mat(mask.size(), CV_8UC1, Scalar(0)) : randomImage(rng, mask.size(), CV_8UC1, 9, 2);
        frames[0].upload(image, stream);
        mask.upload(now, stream);
        graph->launch();
        EXPECT_TRUE(sameBits(scene->on({image}, {now}), result())) << i;
    }
}

//! A graph keeps the cascade, parameters and memory with which it was captured, whatever is called between its replays.
TEST_F(Cascade_CudaContract, neitherSideDisturbsTheOther)
{
    detect();
    const Mat before = scene->truth();
    const auto graph = capture([&] { detect(); });
    const Mat large = randomImage(42, Size(700, 500), CV_8UC3, 5);
    scene->cascade->setScaleFactor(1.15);
    scene->cascade->setMinNeighbors(2);
    scene->cascade->setMaxCandidates(65536);
    Mat eager;
    scene->cascade->detectAsync(GpuMat(large), eager, noArray(), noArray(), noArray(), stream);
    EXPECT_TRUE(sameBits(scene->on({large}), eager));
    const std::string text = cascadeText(CascadeGenerator(77, scene->images[0]).make(), ".xml");
    scene->cascade->loadBuffer(asRow(text));
    const GpuMat filler(3000, 3000, CV_8UC4, Scalar::all(255)); // would reuse memory that was freed by mistake
    graph->launch();
    EXPECT_TRUE(sameBits(before, result())) << "replayed";
    detect();
    EXPECT_TRUE(sameBits(scene->truth(), result())) << "eager, with another cascade";
    scene->cascade->clear();
    graph->launch();
    EXPECT_TRUE(sameBits(before, result())) << "replayed without a cascade";
}

//! Calls that have to wait are refused before they touch the stream, and the capture stays valid.
TEST_F(Cascade_CudaContract, waitingIsRefused)
{
    Mat host;
    UMat unified;
    std::vector<int> ints, levels;
    std::vector<double> weights;
    std::vector<Rect> boxes;
    const auto graph = capture(
        [&]
        {
            CascadeClassifierEx& c = *scene->cascade;
            const auto refused = [](const std::function<void()>& call) { EXPECT_THROW(call(), cv::Exception); };
            refused([&] { c.detectAsync(frames, host, noArray(), noArray(), noArray(), stream); });
            refused([&] { c.detectAsync(frames, unified, noArray(), noArray(), noArray(), stream); });
            refused([&] { c.detectAsync(frames, table, host, noArray(), noArray(), stream); });
            refused([&] { c.detectMultiScale(frames[0], boxes, 1.3, 0, 0, Size(), Size(), noArray(), stream); });
            refused([&] { c.detectMultiScale(frames[0], boxes, ints, 1.3, 0, 0, Size(), Size(), mask, stream); });
            refused(
                [&] {
                    c.detectMultiScale(frames[0], boxes, levels, weights, 1.3, 0, 0, Size(), Size(), true, mask,
                                       stream);
                });
            refused([&] { c.countPasses(frames[0], host, stream); });
            refused([&] { c.convertDetections(table, 0, boxes, stream); });
            detect();
        });
    graph->launch();
    EXPECT_TRUE(sameBits(scene->truth(), result()));
}

//! One instance is called on several streams, one of which is blocked, without synchronization by the user.
TEST_F(Cascade_CudaContract, anyStream)
{
    std::vector<Stream> streams = {stream, Stream(static_cast<size_t>(1)), Stream()};
    detect(), stream.waitForCompletion();
    RNG rng(43);
    std::vector<GpuMat> tables;
    for (int i = 0; i < 30; ++i)
        tables.emplace_back(i % 2 ? 1 : 2, 201, CV_32SC4);
    Gate gate(streams[1]);
    scene->cascade->detectAsync(frames, tables[0], noArray(), noArray(), noArray(), streams[1]);
    for (size_t i = 1; i < tables.size(); ++i)
        scene->cascade->detectAsync(i % 2 ? std::vector<GpuMat>(1, frames[1]) : frames, tables[i], noArray(), noArray(),
                                    noArray(), streams[rng.uniform(0, 3)]);
    EXPECT_FALSE(gate.gaveUp()) << "a call waited for a stream";
    gate.open();
    for (Stream& s : streams)
        s.waitForCompletion();
    const Mat both = scene->truth(), second = scene->on({scene->images[1]});
    for (size_t i = 0; i < tables.size(); ++i)
        EXPECT_TRUE(sameBits(i % 2 ? second : both, Mat(tables[i]))) << i;
}

//! 100 bytes per candidate and image, for at most as many as the image has windows, as the header says. How many
//! uploads are in flight at once, each with pinned memory of its own, depends on what else runs on the device.
TEST_F(Cascade_CudaContract, memoryOfCandidatesAlone)
{
    int least = INT_MAX, most = 0; // number of windows of an image
    for (const Mat& image : scene->images)
    {
        Mat passes;
        scene->cascade->countPasses(image, passes);
        const int windows = static_cast<int>(cv::sum(passes.col(0))[0]);
        least = std::min(least, windows);
        most = std::max(most, windows);
    }
    ASSERT_GT(least, 40);
    ASSERT_LT(most, 65536);
    const auto bytesFor = [&](int candidates)
    {
        const Ptr<CascadeClassifierEx> c = scene->cascade->clone();
        c->setMaxCandidates(candidates);
        c->detectAsync(frames, table, noArray(), noArray(), noArray(), stream);
        stream.waitForCompletion();
        return double(c->workspaceBytes());
    };
    const double each = (bytesFor(least) - bytesFor(10)) / (least - 10) / 2;
    EXPECT_GT(each, 30.);
    EXPECT_LT(each, 101.);
    // An upload takes another pinned block while one is in flight: the difference is some tables, but no candidates.
    EXPECT_NEAR(bytesFor(most), bytesFor(65536), 50. * 1024);
    ASSERT_GT((65536 - most) * 30., 100. * 1024) << "room for as many candidates would be seen";
}

#endif

}} // namespace opencv_test
