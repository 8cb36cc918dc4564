// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TLD's classes on many threads and streams at once: the results of one instance do not depend on the others.
#include "../common/graphs.hpp"
#include "fuzz.hpp"
#include "../common/peak_memory.hpp"
#include "../common/threads.hpp"
#include <functional>

namespace opencv_test { namespace {

using namespace tld;

const int THREADS = 6;

//! One video with its tracker, and the results of a tracker without other threads.
struct Worker
{
    Worker(Engine engine_, int k)
        : engine(engine_), scene(k % 2 ? CV_8UC3 : CV_8UC1, Size(24 + 5 * (k % 4), 26 + 3 * (k % 5)), 50 + k)
    {
        params.seed = k;
        params.filter = k % 3 != 0;
        for (int t = 0; t < FRAMES; ++t)
            frames.push_back(scene.frame(t));
        truth = follow(*trackerOn(scene, Engine::CPU, params), scene, Engine::CPU, 1, FRAMES);
    }
    std::string work() const
    {
        const Ptr<TrackerTLD> tracker = TrackerTLD::create(params);
        tracker->init(Image(engine, frames[0]).in(), scene.box(0));
        for (int t = 1; t < FRAMES; ++t)
            if (const auto result = same(truth[t - 1], advance(*tracker, engine, frames[t])); !result)
                return cv::format("frame %d: ", t) + result.message();
        return "";
    }

    enum
    {
        FRAMES = 20
    };
    const Engine engine;
    const StandardScene scene;
    TLDParams params;
    std::vector<Mat> frames;
    std::vector<Step> truth;
};

void expectSameOnThreads(Engine engine)
{
    std::vector<std::unique_ptr<Worker>> workers;
    for (int k = 0; k < THREADS; ++k)
        workers.emplace_back(new Worker(engine, k));
    onThreads(THREADS, [&](int i) { return workers[i]->work(); });
}

TEST(Tld_Threads, trackers) { expectSameOnThreads(Engine::CPU); }

TEST(Tld_Threads, trackersOnCuda)
{
    requireCuda();
    expectSameOnThreads(Engine::CUDA);
}

//! Random cases of all classes.
void expectSameCases(Engine engine, int each)
{
    using namespace fuzz;
    std::vector<std::vector<int64>> numbers(THREADS);
    std::vector<std::vector<Outputs>> truths(THREADS);
    for (int i = 0; i < THREADS; ++i)
        for (int64 n = 1000 * (i + 1); static_cast<int>(numbers[i].size()) < each; ++n)
            if (makeTldCase(78, n).work < 3e5)
            {
                numbers[i].push_back(n);
                truths[i].push_back(runTld(makeTldCase(78, n), Engine::CPU, true));
            }
    onThreads(THREADS,
              [&](int i)
              {
                  for (size_t k = 0; k < numbers[i].size(); ++k)
                  {
                      const TldCase c = makeTldCase(78, numbers[i][k]);
                      if (const auto result = fuzz::same(truths[i][k], runTld(c, engine, true)); !result)
                          return c.what + ": " + result.message();
                  }
                  return std::string();
              });
}

TEST(Tld_Threads, cases) { expectSameCases(Engine::CPU, 8); }

TEST(Tld_Threads, casesOnCuda)
{
    requireCuda();
    expectSameCases(Engine::CUDA, 8);
}

//! First training works on millions of windows piece by piece. Frames, tables and the sum of each window are needed:
//! 230 MB. A list of all windows with their codes alone took another 900 MB.
TEST(Tld_ThreadsMemory, firstTrainingOfTld)
{
    const Mat frame = texture(5, Size(3840, 2160), CV_8UC1, 2);
    const Ptr<TLDDetector> detector = TLDDetector::create();
    const double peak = peakOf([&] { detector->init(frame, Rect(1900, 1000, 12, 12)); });
    if (peak <= 0.)
        throw SkipTestException("the peak of this process's memory cannot be asked for");
    std::cout << cvRound(peak / 1e6) << " MB more at most" << std::endl;
    EXPECT_GT(peak, 100e6) << "this test does not see what it is for";
    EXPECT_LT(peak, 400e6);
}

#ifdef HAVE_CUDA

//! Two trackers on two streams of one thread, frame by frame and without waiting in between.
TEST(Tld_Threads, twoStreamsOnCuda)
{
    requireCuda();
    const Worker workers[] = {Worker(Engine::CUDA, 1), Worker(Engine::CUDA, 2)};
    cuda::Stream streams[2];
    Ptr<TrackerTLD> trackers[2];
    std::vector<cuda::GpuMat> frames[2], results[2];
    for (int i = 0; i < 2; ++i)
    {
        trackers[i] = TrackerTLD::create(workers[i].params);
        for (const Mat& frame : workers[i].frames)
            frames[i].emplace_back(frame);
        trackers[i]->init(frames[i][0], workers[i].scene.box(0));
        results[i].resize(Worker::FRAMES);
    }
    for (int t = 1; t < Worker::FRAMES; ++t)
        for (int i = 0; i < 2; ++i)
            trackers[i]->updateAsync(frames[i][t], results[i][t], streams[i]);
    for (int i = 0; i < 2; ++i)
    {
        streams[i].waitForCompletion();
        for (int t = 1; t < Worker::FRAMES; ++t)
        {
            const Mat r(results[i][t]);
            EXPECT_EQ(workers[i].truth[t - 1].inside, boxOf(r)) << "tracker " << i << ", frame " << t;
        }
    }
}

//! One tracker that goes from stream to stream without any help of the user.
TEST(Tld_Threads, fromStreamToStreamOnCuda)
{
    requireCuda();
    const Worker worker(Engine::CUDA, 3);
    cuda::Stream streams[3];
    const Ptr<TrackerTLD> tracker = TrackerTLD::create(worker.params);
    std::vector<cuda::GpuMat> frames, results(Worker::FRAMES);
    for (const Mat& frame : worker.frames)
        frames.emplace_back(frame);
    tracker->init(frames[0], worker.scene.box(0));
    for (int t = 1; t < Worker::FRAMES; ++t)
        tracker->updateAsync(frames[t], results[t], streams[t % 3]);
    for (cuda::Stream& stream : streams)
        stream.waitForCompletion();
    for (int t = 1; t < Worker::FRAMES; ++t)
    {
        const Mat r(results[t]);
        EXPECT_EQ(worker.truth[t - 1].inside, boxOf(r)) << "frame " << t;
    }
}

//! Every call of every class that needs the device of its instance says so on another one, and changes nothing.
TEST(Tld_Threads, otherDeviceOnCuda)
{
    requireCuda();
    if (cuda::getCudaEnabledDeviceCount() < 2)
        throw SkipTestException("one CUDA device only");
    onThreads(1,
              [](int) -> std::string
              {
                  const Worker worker(Engine::CUDA, 1);
                  const Rect object = worker.scene.box(0);
                  const cuda::GpuMat first(worker.frames[0]), second(worker.frames[1]);
                  const Ptr<TrackerTLD> tracker = TrackerTLD::create(worker.params);
                  const Ptr<TLDDetector> detector = TLDDetector::create(worker.params);
                  const Ptr<MultiTrackerTLD> several = MultiTrackerTLD::create(worker.params);
                  cuda::GpuMat table;
                  tracker->init(first, object);
                  detector->init(first, object);
                  detector->detect(first, table);
                  const int id = several->add(first, object);
                  cuda::setDevice(1 - cuda::getDevice());
                  Rect box;
                  Mat templates;
                  cuda::GpuMat results;
                  std::vector<Rect> boxes;
                  std::vector<float> scores;
                  const std::pair<const char*, std::function<void()>> calls[] = {
                      {"TrackerTLD::init", [&] { tracker->init(first, object); }},
                      {"TrackerTLD::update", [&] { tracker->update(second, box); }},
                      {"TrackerTLD::updateAsync", [&] { tracker->updateAsync(second, results); }},
                      {"TrackerTLD::resetTo", [&] { tracker->resetTo(object); }},
                      {"TrackerTLD::getTemplates", [&] { tracker->getTemplates(true, templates); }},
                      {"TLDDetector::init", [&] { detector->init(first, object); }},
                      {"TLDDetector::detect", [&] { detector->detect(second, results); }},
                      {"TLDDetector::learn", [&] { detector->learn(second, object); }},
                      {"TLDDetector::getTemplates", [&] { detector->getTemplates(true, templates); }},
                      {"TLDDetector::convertDetections", [&] { TLDDetector::convertDetections(table, boxes, scores); }},
                      {"MultiTrackerTLD::add", [&] { several->add(second, object); }},
                      {"MultiTrackerTLD::update", [&] { several->update(second, results); }},
                      {"MultiTrackerTLD::resetTo", [&] { several->resetTo(id, object); }},
                      {"MultiTrackerTLD::getTemplates", [&] { several->getTemplates(id, true, templates); }},
                  };
                  for (const auto& [name, call] : calls)
                  {
                      SCOPED_TRACE(name);
                      expectRefused(call, {"the current CUDA device is"});
                  }
                  cuda::setDevice(1 - cuda::getDevice());
                  return same(worker.truth[0], advance(*tracker, Engine::CUDA, worker.frames[1]))
                             ? ""
                             : "a refused call changed the results";
              });
}

#endif

}} // namespace opencv_test
