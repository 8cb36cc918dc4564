// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Instances on many threads, streams and devices at once: sizes, parameters and all classes mixed. What one gives does
// not depend on the others.
#include "../fragment_matcher/scenes_cuda.hpp"
#include "../cascade/fuzz.hpp"
#include "../fragment_matcher/fuzz.hpp"
#include "../quick_shift/fuzz.hpp"
#include "../template_finder/fuzz.hpp"
#include "threads.hpp"
#if defined(__linux__)
#include <fstream>
#include <malloc.h>
#include <unistd.h>
#endif

namespace opencv_test { namespace {

using namespace fuzz;
using Common_CudaDevices = OnCuda;
using Common_CudaThreads = OnCuda;

const int THREADS = 8, STREAMS = 4, CALLS = 500;

//! Numbers of random cases that are not too much work, for thread i.
template <typename Make> std::vector<int64> smallCases(const Make& make, int i, int count)
{
    std::vector<int64> numbers;
    for (int64 n = 1000 * (i + 1); static_cast<int>(numbers.size()) < count; ++n)
        if (make(77, n).work < 3e6)
            numbers.push_back(n);
    return numbers;
}

//! Random cases of an algorithm on all threads; `outputs` of the CPU backend are made before, on one thread.
template <typename Make, typename Run>
void expectSameOnThreads(const Make& make, const Run& run, Engine engine, int count)
{
    std::vector<std::vector<int64>> numbers;
    std::vector<std::vector<Outputs>> truths(THREADS);
    for (int i = 0; i < THREADS; ++i)
    {
        numbers.push_back(smallCases(make, i, count));
        for (const int64 n : numbers[i])
            truths[i].push_back(run(make(77, n), Engine::CPU, true));
    }
    onThreads(THREADS,
              [&](int i)
              {
                  for (size_t k = 0; k < numbers[i].size(); ++k)
                  {
                      const auto c = make(77, numbers[i][k]);
                      const auto result = same(truths[i][k], run(c, engine, true));
                      if (!result)
                          return c.what + ": " + result.message();
                  }
                  return std::string();
              });
}

TEST(Common_Threads, fragmentMatcher)
{
    expectSameOnThreads(makeFragmentMatcherCase, runFragmentMatcher, Engine::CPU, 25);
}

TEST(Common_Threads, quickShift) { expectSameOnThreads(makeQuickShiftCase, runQuickShift, Engine::CPU, 15); }

TEST(Common_Threads, cascade) { expectSameOnThreads(makeCascadeCase, runCascade, Engine::CPU, 15); }

TEST(Common_Threads, templateFinder) { expectSameOnThreads(makeTemplateFinderCase, runTemplateFinder, Engine::CPU, 3); }

TEST(Common_Threads, fragmentMatcherOnCuda)
{
    requireCuda();
    expectSameOnThreads(makeFragmentMatcherCase, runFragmentMatcher, Engine::CUDA, 25);
}

TEST(Common_Threads, quickShiftOnCuda)
{
    requireCuda();
    expectSameOnThreads(makeQuickShiftCase, runQuickShift, Engine::CUDA, 15);
}

TEST(Common_Threads, cascadeOnCuda)
{
    requireCuda();
    expectSameOnThreads(makeCascadeCase, runCascade, Engine::CUDA, 15);
}

TEST(Common_Threads, templateFinderOnCuda)
{
    requireCuda();
    expectSameOnThreads(makeTemplateFinderCase, runTemplateFinder, Engine::CUDA, 10);
}

//! One instance of one class with its stream, its input and what it has to give.
struct Worker
{
    virtual ~Worker() = default;
    virtual void call() = 0;
    virtual bool right() = 0;

    cuda::Stream stream;
};

struct MatcherWorker : Worker
{
    explicit MatcherWorker(int k)
    {
        RNG rng(9100 + k);
        // From a few positions to whole frames: the fused kernel, tiles, and shared memory of all amounts.
        const int side = 12 + 7 * (k % 9);
        scene = scenes::randomScene(rng, scenes::makeParams(k % 3, 1 + k % 5, k % 2, 0, scenes::FM::FULL, k % 2 == 0),
                                    scenes::TYPES[k % 3], k % 4, Size(100 + 13 * k, 90 + 5 * k), side, 3 + k % 5);
        matcher = scenes::FM::create(scene.params);
        frame = GpuMat(scene.frame);
        areas = scenes::uploadAreas(scene.areas);
        if (k % 2)
            scenes::giveFromDevice(*matcher, scene, stream);
        else
            scenes::give(*matcher, scene);
        truth = scenes::runCpu(scene);
        stream.waitForCompletion();
    }
    void call() override { scenes::launch(*matcher, frame, areas, result, stream); }
    bool right() override { return scenes::same(truth, result.download()); }

    scenes::Scene scene;
    Ptr<scenes::FM> matcher;
    GpuMat frame, areas;
    scenes::DeviceResult result;
    scenes::Result truth;
};

struct ShiftWorker : Worker
{
    explicit ShiftWorker(int k) : q(QuickShift::create(2.5 + 0.25 * (k % 15), 8. + k % 9, 0.3))
    {
        RNG rng(9200 + k);
        const Mat image = randomImage(rng, Size(60 + 9 * (k % 17), 50 + 5 * (k % 13)), k % 3 ? CV_8UC3 : CV_8UC1, 5);
        const Ptr<QuickShift> cpu = QuickShift::create(q->getSigma(), q->getMaxDist(), 0.3);
        cpu->compute(image);
        cpu->getLabels(truth);
        input = GpuMat(image);
    }
    void call() override
    {
        q->compute(input, noArray(), stream);
        q->getLabels(labels, stream);
    }
    bool right() override { return static_cast<bool>(sameBits(truth, Mat(labels))); }

    Ptr<QuickShift> q;
    GpuMat input, labels;
    Mat truth;
};

struct CascadeWorker : Worker
{
    //! Instances of all threads share few cascades.
    explicit CascadeWorker(int k) : cascade(shared(k % 5)->clone())
    {
        RNG rng(9400 + k);
        const Mat image = randomImage(rng, Size(60 + 11 * (k % 17), 50 + 7 * (k % 13)), k % 3 ? CV_8UC3 : CV_8UC1, 5);
        cascade->setScaleFactor(1.15 + 0.05 * (k % 4));
        cascade->setMinNeighbors(k % 3);
        cascade->detectAsync(image, truth);
        frame = GpuMat(image);
    }
    void call() override { cascade->detectAsync(frame, table, noArray(), noArray(), noArray(), stream); }
    bool right() override { return static_cast<bool>(sameBits(truth, Mat(table))); }

    static Ptr<CascadeClassifierEx> shared(int k)
    {
        static const std::vector<Ptr<CascadeClassifierEx>> cascades = []
        {
            std::vector<Ptr<CascadeClassifierEx>> made;
            RNG rng(9500);
            const Mat image = randomImage(rng, Size(60, 50), CV_8UC1, 5);
            for (uint64 seed = 1; seed <= 5; ++seed)
                made.push_back(cascadeOf(CascadeGenerator(seed, image).make()));
            return made;
        }();
        return cascades[k];
    }

    Ptr<CascadeClassifierEx> cascade;
    GpuMat frame, table;
    Mat truth;
};

//! CALLS calls of a thread on STREAMS instances in turn; each result is compared. `kinds` 0: matchers, 1: quick shift,
//! 2: cascades, 3: all.
std::string work(int thread, int kinds)
{
    std::vector<std::unique_ptr<Worker>> workers;
    for (int s = 0; s < STREAMS; ++s)
    {
        const int k = thread * STREAMS + s;
        const int kind = kinds == 3 ? k % 3 : kinds;
        if (kind == 0)
            workers.emplace_back(new MatcherWorker(k));
        else if (kind == 1)
            workers.emplace_back(new ShiftWorker(k));
        else
            workers.emplace_back(new CascadeWorker(k));
    }
    for (int i = 0; i < CALLS / STREAMS; ++i)
    {
        for (auto& worker : workers)
            worker->call();
        for (size_t s = 0; s < workers.size(); ++s)
        {
            workers[s]->stream.waitForCompletion();
            if (!workers[s]->right())
                return cv::format("call %d on stream %zu is wrong", i, s);
        }
    }
    return "";
}

TEST_F(Common_CudaThreads, fragmentMatcherOnCuda)
{
    onThreads(THREADS, [](int i) { return work(i, 0); });
}

//! Amounts of shared memory below and above 48 KB, which are asked for from the kernel and not from the launch.
TEST_F(Common_CudaThreads, quickShiftOnCuda)
{
    onThreads(THREADS, [](int i) { return work(i, 1); });
}

TEST_F(Common_CudaThreads, cascadeOnCuda)
{
    onThreads(THREADS, [](int i) { return work(i, 2); });
}

TEST_F(Common_CudaThreads, allOnCuda)
{
    onThreads(THREADS, [](int i) { return work(i, 3); });
}

TEST_F(Common_CudaDevices, allOnCuda)
{
    if (cuda::getCudaEnabledDeviceCount() < 2)
        throw SkipTestException("one CUDA device only");
    onThreads(THREADS,
              [](int i)
              {
                  cuda::setDevice(i % 2);
                  return work(i, 3);
              });
}

//! An instance stays on the device of its first call and says so.
TEST_F(Common_CudaDevices, otherDeviceOnCuda)
{
    if (cuda::getCudaEnabledDeviceCount() < 2)
        throw SkipTestException("one CUDA device only");
    onThreads(1,
              [](int) -> std::string
              {
                  ShiftWorker shift(1);
                  MatcherWorker matcher(1);
                  CascadeWorker cascade(1);
                  shift.call();
                  matcher.call();
                  cascade.call();
                  cuda::setDevice(1 - cuda::getDevice());
                  GpuMat labels;
                  Mat host;
                  EXPECT_THROW(shift.call(), cv::Exception);
                  EXPECT_THROW(matcher.call(), cv::Exception);
                  EXPECT_THROW(cascade.call(), cv::Exception);
                  std::vector<Rect> boxes;
                  EXPECT_THROW(cascade.cascade->detectMultiScale(cascade.frame, boxes), cv::Exception);
                  EXPECT_THROW(cascade.cascade->convertDetections(cascade.table, 0, boxes), cv::Exception);
                  EXPECT_THROW(shift.q->getLabels(labels), cv::Exception);
                  EXPECT_THROW(shift.q->getLabels(host), cv::Exception);
                  EXPECT_THROW(shift.q->segment(4., labels), cv::Exception);
                  EXPECT_THROW(shift.q->getMergeHeights(labels, noArray()), cv::Exception);
                  EXPECT_THROW(shift.q->enforceConnectivity(), cv::Exception);
                  EXPECT_THROW(matcher.matcher->predictAreas(matcher.result.locations, 3, Size(50, 50), labels),
                               cv::Exception);
                  const scenes::DeviceResult& found = matcher.result;
                  std::vector<cuda::FragmentMatch> matches;
                  expectRefused(
                      [&] {
                          scenes::FM::convert(found.locations, found.scores, found.confidence, found.status, noArray(),
                                              matches);
                      },
                      {"FragmentMatcher", "convert()", "the current CUDA device is"});
                  cuda::setDevice(1 - cuda::getDevice());
                  shift.stream.waitForCompletion();
                  matcher.stream.waitForCompletion();
                  cascade.stream.waitForCompletion();
                  return shift.right() && matcher.right() && cascade.right() ? ""
                                                                             : "a refused call changed the results";
              });
}

//! A stream of another device is refused before anything is done on it.
TEST_F(Common_CudaDevices, streamOfAnotherDeviceOnCuda)
{
    if (cuda::getCudaEnabledDeviceCount() < 2)
        throw SkipTestException("one CUDA device only");
    onThreads(1,
              [](int) -> std::string
              {
                  const int device = cuda::getDevice();
                  cuda::setDevice(1 - device);
                  cuda::Stream other;
                  cuda::setDevice(device);
                  ShiftWorker shift(1);
                  std::swap(shift.stream, other);
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12080
                  expectRefused([&] { shift.call(); }, {"QuickShift", "stream is one of device"});
#else
                  EXPECT_THROW(shift.call(), cv::Exception);
#endif
                  std::swap(shift.stream, other);
                  shift.call();
                  shift.stream.waitForCompletion();
                  return shift.right() ? "" : "a refused call changed the results";
              });
}

#if defined(__linux__) && defined(__GLIBC__)

//! Bytes of this process in memory.
double resident()
{
    malloc_trim(0); // what the library keeps for later is not of interest
    std::ifstream file("/proc/self/statm");
    double all = 0, pages = 0;
    file >> all >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

//! Memory of a matcher on OpenCV's threads is freed with the matcher.
TEST(Common_ThreadsMemory, residentSize)
{
    if (underSanitizer())
        throw SkipTestException("sanitizers keep memory that was freed");
    const Mat frame = randomImage(9300, Size(8000, 3000), CV_8UC1);
    const int threads = cv::getNumThreads();
    cv::setNumThreads(4);
    const auto run = [&](Size size)
    {
        const Ptr<scenes::FM> matcher = scenes::FM::create(scenes::makeParams(scenes::FM::SSD, 2));
        const Mat part = frame(Rect(Point(), size));
        matcher->setFragments(std::vector<Mat>(20, frame(Rect(5, 5, 3, 3))));
        Mat locations;
        matcher->match(part, noArray(), locations);
        return resident();
    };
    run(Size(100, 50)); // threads and their stacks
    const double before = resident(), during = run(frame.size()), after = resident();
    cv::setNumThreads(threads);
    std::cout << cvRound(before / 1e6) << " MB before, " << cvRound(during / 1e6) << " with the instance, "
              << cvRound(after / 1e6) << " after it" << std::endl;
    EXPECT_LT(after, before + 30e6);
}

#endif

}} // namespace opencv_test
