// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx compared with cv::CascadeClassifier on the same image with the same number of threads. `nodes` is
// the number of weak classifiers that windows reach, in millions. Lines with [ PERFROW ] go to scripts/perf_report.py.
#include "perf_precomp.hpp"
#include "images.hpp"
#include "../test/cascade/peer.hpp"
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

struct Cascade
{
    const char *name, *file, *cudaPeer; //!< cudaPeer: file for cv::cuda::CascadeClassifier; nullptr: none
};

const Cascade CASCADES[] = {
    {"alt", "haarcascades/haarcascade_frontalface_alt.xml", "haarcascades_cuda/haarcascade_frontalface_alt.xml"},
    // With a cascade of trees, cv::cuda::CascadeClassifier does not return (OpenCV 4.14, H200).
    {"alt2", "haarcascades/haarcascade_frontalface_alt2.xml", nullptr},
    {"default", "haarcascades/haarcascade_frontalface_default.xml",
     "haarcascades_cuda/haarcascade_frontalface_default.xml"},
    {"lbp", "lbpcascades/lbpcascade_frontalface.xml", "lbpcascades/lbpcascade_frontalface.xml"},
    {"lbp_improved", "lbpcascades/lbpcascade_frontalface_improved.xml", nullptr}}; // cells of more than 128 pixels
const auto ALL_CASES =
    testing::Combine(testing::ValuesIn(CASCADES), testing::Values(Size(640, 360), Size(1280, 720), Size(1920, 1080)),
                     testing::Values(1.1, 1.2));

void PrintTo(const Cascade& c, std::ostream* os) { *os << c.name; }

std::string cascadeFile(const std::string& name) { return folderOf("CUDATRACKING_CASCADES") + "/" + name; }

//! Returns one scene in any size.
Mat imageOf(Size size)
{
    const Mat full = collage(Size(1920, 1080));
    Mat image;
    if (size == full.size())
        return full;
    cv::resize(full, image, size, 0, 0, INTER_AREA);
    return image;
}

//! Counts the weak classifiers that windows reach.
double nodesOf(CascadeClassifierEx& cascade, const Mat& image, const FileNode& stages)
{
    Mat passes;
    cascade.countPasses(image, passes);
    double nodes = 0.;
    int s = 0;
    for (const FileNode& stage : stages)
    {
        const double trees = static_cast<double>(stage["weakClassifiers"].size());
        for (int i = 0; i < passes.rows; ++i)
            nodes += trees * passes.at<int>(i, 2 + s);
        ++s;
    }
    return nodes;
}

double peerUs(const std::string& file, const Mat& image, double factor)
{
#if CUDATRACKING_CASCADE_PEER
    CascadeClassifier peer;
    if (!peer.load(file))
        return 0.;
    std::vector<Rect> objects;
    return medianUs([&] { peer.detectMultiScale(image, objects, factor, 3); }, 1., 5);
#else
    (void)file, (void)image, (void)factor;
    return 0.;
#endif
}

typedef ::testing::TestWithParam<std::tuple<Cascade, Size, double>> Cascade_Cpu;

TEST_P(Cascade_Cpu, detectMultiScale)
{
    const Cascade c = std::get<0>(GetParam());
    const Size size = std::get<1>(GetParam());
    const double factor = std::get<2>(GetParam());
    const std::string file = cascadeFile(c.file);
    const Mat image = imageOf(size);
    const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create(file);
    cascade->setScaleFactor(factor);
    FileStorage storage(file, FileStorage::READ);
    const double nodes = nodesOf(*cascade, image, storage.getFirstTopLevelNode()["stages"]);
    const int all = getNumThreads();
    std::vector<Rect> objects, first;
    for (int threads : {1, all})
    {
        if (threads == all && all == 1)
            continue;
        const Threads used(threads);
        const double us = medianUs([&] { cascade->detectMultiScale(image, objects, factor, 3); }, 1., 20);
        const double peer = peerUs(file, image, factor);
        PerfRow(cv::format("%s_%dp_%g", c.name, size.height, factor), "cpu", cv::format("threads_%d", threads), us)
            .peer("CascadeClassifier", peer)
            .set("Mnodes", std::round(nodes / 1e6));
        if (threads == 1)
            first = objects;
        EXPECT_EQ(first, objects);
    }
}

INSTANTIATE_TEST_CASE_P(Perf, Cascade_Cpu, ALL_CASES);

//! Loading, compared with what FileStorage takes to parse the same text.
TEST(Cascade_CpuLoad, load)
{
    for (const Cascade& c : CASCADES)
    {
        std::string text;
        {
            std::ifstream file(cascadeFile(c.file), std::ios::binary);
            text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        }
        const Mat bytes(1, static_cast<int>(text.size()), CV_8UC1, &text[0]);
        const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create();
        const int all = getNumThreads();
        for (int threads : {1, all})
        {
            if (threads == all && all == 1)
                continue;
            const Threads used(threads);
            const double parseUs =
                medianUs([&] { FileStorage storage(text, FileStorage::READ | FileStorage::MEMORY); }, 1., 30);
            const double us = medianUs([&] { cascade->loadBuffer(bytes); }, 1., 30);
            PerfRow(cv::format("%s_load", c.name), "cpu", cv::format("threads_%d", threads), us)
                .peer("FileStorage", parseUs)
                .set("bytes", static_cast<double>(text.size()));
        }
        EXPECT_FALSE(cascade->empty());
    }
}

TEST(Cascade_CpuBatch, detectAsync)
{
    const std::string file = cascadeFile(CASCADES[0].file);
    const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create(file);
    const Mat image = imageOf(Size(640, 360));
    for (int count : {1, 8, 32})
    {
        const std::vector<Mat> images(count, image);
        Mat objects;
        const double us = medianUs([&] { cascade->detectAsync(images, objects); }, 1., 20);
        PerfRow(cv::format("alt_360p_1.1_batch_%d", count), "cpu", cv::format("threads_%d", getNumThreads()), us)
            .set("images_a_s", std::round(count * 1e6 / us));
        EXPECT_EQ(0, cv::norm(objects.row(0), objects.row(count - 1), NORM_INF));
    }
}

// --- CUDA ------------------------------------------------------------------------------------------------------------

#ifdef HAVE_CUDA

/** Measures cv::cuda::CascadeClassifier on the same image and factor, including its wait for the objects. It uses
integer factors only, so far fewer windows. @return time in us; 0 if it is not built or fails. */
double cudaPeerUs(const char* file, const cuda::GpuMat& frame, double factor)
{
#if CUDATRACKING_CASCADE_CUDA_PEER
    if (!file)
        return 0.;
    try
    {
        const Ptr<cuda::CascadeClassifier> peer = cuda::CascadeClassifier::create(cascadeFile(file));
        peer->setScaleFactor(factor);
        peer->setMinNeighbors(3);
        cuda::GpuMat objects;
        return medianUs([&] { peer->detectMultiScale(frame, objects); });
    }
    catch (const cv::Exception& e)
    {
        printf("cv::cuda::CascadeClassifier is left out: %s\n", e.what());
    }
#else
    (void)file, (void)frame, (void)factor;
#endif
    return 0.;
}

//! Computes the lower bound on an H200: 132 x 32 loads from shared memory per clock of 1.98 GHz; 7.5 per Haar feature,
//! 16 per LBP feature.
double lowerBoundUs(double nodes, bool lbp) { return nodes * (lbp ? 16. : 7.5) / 8.36e12 * 1e6; }

typedef ::testing::TestWithParam<std::tuple<Cascade, Size, double>> Cascade_Cuda;

TEST_P(Cascade_Cuda, detect)
{
    requireDevice();
    const Cascade c = std::get<0>(GetParam());
    const Size size = std::get<1>(GetParam());
    const double factor = std::get<2>(GetParam());
    const std::string file = cascadeFile(c.file), name = cv::format("%s_%dp_%g", c.name, size.height, factor);
    const Mat image = imageOf(size);
    const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create(file);
    cascade->setScaleFactor(factor);
    FileStorage storage(file, FileStorage::READ);
    const double nodes = nodesOf(*cascade, image, storage.getFirstTopLevelNode()["stages"]);
    cuda::Stream stream;
    cuda::GpuMat frame, objects;
    const auto upload = [&] { frame.upload(image, stream), stream.waitForCompletion(); };
    const auto detect = [&] { cascade->detectAsync(frame, objects, noArray(), noArray(), noArray(), stream); };
    std::vector<Rect> expected, found;
    upload();
    PerfRow(name, "cuda", "kernel", graphMedianUs(stream, detect))
        .set("lower_bound_us", lowerBoundUs(nodes, cascade->getFeatureType() == CascadeClassifierEx::LBP))
        .set("Mnodes", std::round(nodes / 1e6));
    PerfRow(name, "cuda", "upload", medianUs(upload)).set("bytes", double(image.total()));
    PerfRow(name, "cuda", "download", medianUs([&] { cascade->convertDetections(objects, 0, found, stream); }));
    PerfRow(name, "cuda", "call", medianUs([&] { detect(), stream.waitForCompletion(); }))
        .peer("cuda::CascadeClassifier", cudaPeerUs(c.cudaPeer, frame, factor));
    const auto whole = [&]
    { cascade->detectMultiScale(frame, found, factor, 3, 0, Size(), Size(), noArray(), stream); };
    PerfRow(name, "cuda", "detectMultiScale", medianUs(whole)).peer("CascadeClassifier", peerUs(file, image, factor));
    cascade->detectMultiScale(image, expected, factor, 3);
    EXPECT_EQ(expected, found);
}

INSTANTIATE_TEST_CASE_P(Perf, Cascade_Cuda, ALL_CASES);

TEST(Cascade_CudaBatch, detectAsync)
{
    requireDevice();
    const Mat image = imageOf(Size(640, 360));
    for (const Cascade& c : CASCADES)
    {
        const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create(cascadeFile(c.file));
        for (int count : {1, 8, 32})
        {
            const std::vector<cuda::GpuMat> images(count, cuda::GpuMat(image));
            cuda::Stream stream;
            cuda::GpuMat objects;
            const double us = graphMedianUs(
                stream, [&] { cascade->detectAsync(images, objects, noArray(), noArray(), noArray(), stream); });
            PerfRow(cv::format("%s_360p_1.1_batch_%d", c.name, count), "cuda", "kernel", us)
                .set("images_a_s", std::round(count * 1e6 / us));
            const Mat tables(objects);
            EXPECT_EQ(0, cv::norm(tables.row(0), tables.row(count - 1), NORM_INF));
        }
    }
}

//! Many small images in one call. Memory is that of the instance, without images and tables.
TEST(Cascade_CudaBatch, smallImages)
{
    requireDevice();
    const int count = 1000, side = 64;
    const Mat image = imageOf(Size(1920, 1080));
    Mat all(count * side, side, CV_8UC1);
    for (int i = 0; i < count; ++i)
        image(Rect(i % 30 * side, i / 30 % 16 * side, side, side)).copyTo(all.rowRange(i * side, (i + 1) * side));
    const cuda::GpuMat onDevice(all);
    std::vector<cuda::GpuMat> images;
    for (int i = 0; i < count; ++i)
        images.push_back(onDevice.rowRange(i * side, (i + 1) * side));
    for (const Cascade& c : CASCADES)
    {
        const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create(cascadeFile(c.file));
        cuda::Stream stream;
        cuda::GpuMat objects;
        const double us = graphMedianUs(
            stream, [&] { cascade->detectAsync(images, objects, noArray(), noArray(), noArray(), stream); }, 5, 2, 20);
        PerfRow(cv::format("%s_64p_1.1_batch_%d", c.name, count), "cuda", "kernel", us)
            .set("images_a_s", std::round(count * 1e6 / us))
            .set("workspace_bytes", double(cascade->workspaceBytes()));
        Mat expected;
        cascade->detectAsync(std::vector<Mat>(1, all.rowRange(0, side)), expected);
        EXPECT_EQ(0, cv::norm(expected.row(0), Mat(objects).row(0), NORM_INF));
    }
}

//! A copy of one cascade per device, each with its own thread and batches.
TEST(Cascade_CudaDevices, detectAsync)
{
    requireDevice();
    const int all = cuda::getCudaEnabledDeviceCount(), perBatch = 32, batches = 40;
    const Mat image = imageOf(Size(640, 360));
    const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create(cascadeFile(CASCADES[0].file));
    std::vector<Mat> tables(all);
    for (int devices = 1; devices <= all; devices *= 2)
    {
        std::atomic<int> ready(0);
        std::vector<std::thread> threads;
        std::vector<double> us(devices);
        for (int device = 0; device < devices; ++device)
            threads.emplace_back(
                [&, device]
                {
                    cuda::setDevice(device);
                    const Ptr<CascadeClassifierEx> own = cascade->clone();
                    const std::vector<cuda::GpuMat> images(perBatch, cuda::GpuMat(image));
                    cuda::Stream stream;
                    cuda::GpuMat objects;
                    const auto run = [&](int count)
                    {
                        for (int i = 0; i < count; ++i)
                            own->detectAsync(images, objects, noArray(), noArray(), noArray(), stream);
                        stream.waitForCompletion();
                    };
                    run(3);
                    ++ready;
                    while (ready < devices)
                        std::this_thread::yield();
                    const int64 begin = getTickCount();
                    run(batches);
                    us[device] = (getTickCount() - begin) / getTickFrequency() * 1e6;
                    objects.download(tables[device]);
                });
        for (std::thread& thread : threads)
            thread.join();
        const double longest = *std::max_element(us.begin(), us.end());
        PerfRow(cv::format("alt_360p_1.1_batch_%d_devices_%d", perBatch, devices), "cuda", "call", longest / batches)
            .set("images_a_s", std::round(devices * batches * perBatch * 1e6 / longest));
        for (int device = 1; device < devices; ++device)
            EXPECT_EQ(0, cv::norm(tables[0], tables[device], NORM_INF));
    }
}

#endif // HAVE_CUDA

}} // namespace opencv_test
