// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// A call is made again and again, and each time another of the calls that it makes fails.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_FAULTS_EACH_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_FAULTS_EACH_HPP

#include "graphs.hpp"
#include "faults.hpp"
#include "fuzz.hpp"
#include <functional>
#include <new>

namespace opencv_test { namespace faults {

using fuzz::Engine;
using fuzz::Outputs;

enum When
{
    EAGER = 1,
    CAPTURED = 2
};

//! Base of all worlds: the stream of the calls, and arrays that take their results.
class Arguments
{
public:
    Arguments(Engine engine, int outputs) : cuda(engine == Engine::CUDA), host(outputs), device(outputs)
    {
        if (cuda)
            stream_ = cuda::Stream();
    }

    cuda::Stream& stream() { return cuda ? stream_ : cuda::noStream(); }
    void wait()
    {
        if (cuda)
            stream_.waitForCompletion();
    }
    _OutputArray out(int i = 0) { return cuda ? _OutputArray(device[i]) : _OutputArray(host[i]); }

    //! Returns what calls have written.
    Outputs given()
    {
        wait();
        Outputs outputs;
        for (size_t i = 0; i < host.size(); ++i)
        {
            outputs.emplace_back("host", host[i].clone());
            outputs.emplace_back("device", device[i].empty() ? Mat() : Mat(device[i]));
        }
        return outputs;
    }

    const bool cuda;
    std::vector<Mat> host;
    std::vector<cuda::GpuMat> device;

private:
    cuda::Stream stream_ = cuda::noStream();
};

/** One call of a public method. A World has an instance and its inputs: World(engine, variant), given() is what the
call wrote, observe() what an instance in this state gives, without changing it. */
template <typename World> struct Scenario
{
    const char* name;
    int when;
    std::function<void(World&)> call;
};

inline void expectNoErrorLeft(Engine engine)
{
    CV_UNUSED(engine);
#ifdef HAVE_CUDA
    if (engine == Engine::CPU)
        return; // without a driver there is always one
    EXPECT_EQ(cudaSuccess, cudaPeekAtLastError()) << "an error is left for whoever asks next";
    cudaGetLastError();
#endif
}

//! Result of the call without faults.
template <typename World> struct Truth
{
    Outputs before, given, after;

    Truth(Engine engine, int variant, const Scenario<World>& scenario)
    {
        {
            World world(engine, variant);
            before = world.observe();
        }
        World world(engine, variant);
        scenario.call(world);
        given = world.given();
        after = world.observe();
    }
};

//! True when the call threw what a fault may become.
template <typename World> bool throws(Kind kind, World& world, const Scenario<World>& scenario)
{
    try
    {
        scenario.call(world);
        return false;
    }
    catch (const cv::Exception&)
    {}
    catch (const std::bad_alloc&)
    {
        EXPECT_EQ(MEMORY, kind) << "CUDA failures are cv::Exception";
    }
    return true;
}

//! The n-th call fails. @return false when there were not so many.
template <typename World>
bool failOnce(Kind kind, int n, Engine engine, int variant, const Scenario<World>& scenario, const Truth<World>& truth)
{
    World world(engine, variant);
    forgetKernels(); // as in a program's first call
    Armed armed(kind, n);
    const bool threw = throws(kind, world, scenario);
    armed.disarm();
    SCOPED_TRACE(cv::format("call %d, %s", n, armed.struck() ? armed.struck() : "none"));
    expectNoErrorLeft(engine);
    if (threw)
    {
        EXPECT_TRUE(armed.struck()) << "threw without a fault";
        EXPECT_TRUE(fuzz::same(truth.before, world.observe())) << "after a failed call";
        scenario.call(world);
    }
    EXPECT_TRUE(fuzz::same(truth.given, world.given())) << (threw ? "the call again" : "the call went through");
    EXPECT_TRUE(fuzz::same(truth.after, world.observe())) << (threw ? "after the call again" : "after the call");
    return armed.struck() != nullptr;
}

#ifdef HAVE_CUDA

//! Captures the call and replays it. @return false when the call threw.
template <typename World>
bool replays(Kind kind, World& world, const Scenario<World>& scenario, Armed* armed, cudaStreamCaptureMode mode)
{
    Graph graph(world.stream(), mode);
    const bool threw = throws(kind, world, scenario);
    if (armed)
        armed->disarm();
    expectNoErrorLeft(Engine::CUDA);
    if (threw)
        return false; // and the capture is dropped
    graph.end();
    graph.launch();
    world.stream().waitForCompletion();
    return true;
}

//! Lets each call fail in turn while the stream is being captured.
template <typename World>
bool failCaptured(Kind kind, int n, Engine engine, int variant, const Scenario<World>& scenario,
                  const Truth<World>& truth)
{
    World world(engine, variant);
    forgetKernels();                                                              // as in a program's first call
    const cudaStreamCaptureMode mode = static_cast<cudaStreamCaptureMode>(n % 3); // global, thread-local, relaxed
    Armed armed(kind, n);
    const bool replayed = replays(kind, world, scenario, &armed, mode);
    SCOPED_TRACE(cv::format("call %d of a capture in mode %d, %s", n, mode, armed.struck() ? armed.struck() : "none"));
    if (!replayed)
    {
        EXPECT_TRUE(armed.struck()) << "threw without a fault";
        EXPECT_TRUE(fuzz::same(truth.before, world.observe())) << "after a dropped capture";
        EXPECT_TRUE(replays<World>(kind, world, scenario, nullptr, mode));
    }
    EXPECT_TRUE(fuzz::same(truth.given, world.given())) << "after the replay";
    return armed.struck() != nullptr;
}

#else

template <typename World> bool failCaptured(Kind, int, Engine, int, const Scenario<World>&, const Truth<World>&)
{
    return false;
}

#endif

//! All calls of a scenario fail in turn. Stops at the first failure of the test: one report is enough.
template <typename World>
void failEach(Kind kind, When when, Engine engine, int variant, const Scenario<World>& scenario)
{
    SCOPED_TRACE(cv::format("%s, variant %d", scenario.name, variant));
    const Truth<World> truth(engine, variant, scenario);
    // Allocations are many, and neighbours are alike.
    for (int n = 1; n < 100000 && !testing::Test::HasFailure(); n += kind == CUDA ? 1 : 1 + n / 16)
    {
        const Live before = live();
        const bool more = when == EAGER ? failOnce(kind, n, engine, variant, scenario, truth)
                                        : failCaptured(kind, n, engine, variant, scenario, truth);
        EXPECT_EQ(before, live()) << "call " << n << " and destroying the instance";
        if (!more)
            return;
    }
}

//! All scenarios in so many variants from `first` on; memory on the device is what it was.
template <typename World>
void failAll(Kind kind, When when, Engine engine, int variants, const std::vector<Scenario<World>>& scenarios,
             int first = 0)
{
    if (engine == Engine::CUDA)
        requireCuda();
    require(kind);
    const int threads = cv::getNumThreads();
    cv::setNumThreads(1); // faults are for this thread
    for (int variant = first; variant < first + variants; ++variant)
        for (const Scenario<World>& scenario : scenarios)
            if ((scenario.when & when) && !testing::Test::HasFailure())
                failEach(kind, when, engine, variant, scenario);
    cv::setNumThreads(threads);
}

}} // namespace opencv_test::faults

#endif // OPENCV_CUDATRACKING_TEST_COMMON_FAULTS_EACH_HPP
