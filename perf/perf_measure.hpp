// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Measuring, for all algorithms: medians, CUDA-event time of captured graphs, and the lines that scripts/perf_report.py
// reads.
#ifndef OPENCV_CUDATRACKING_PERF_MEASURE_HPP
#define OPENCV_CUDATRACKING_PERF_MEASURE_HPP

#include "opencv2/ts.hpp"
#include "opencv2/core/cuda.hpp"
#include <algorithm>
#include <string>
#include <vector>

#ifdef HAVE_CUDA
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cuda_runtime_api.h>
#endif

namespace opencv_test {

inline void requireDevice()
{
    if (cuda::getCudaEnabledDeviceCount() <= 0)
        throw SkipTestException("no CUDA device on this machine");
}

inline double medianOf(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

//! OpenCV's threads while it lives; 0: all.
class Threads
{
public:
    explicit Threads(int count) { setNumThreads(count > 0 ? count : -1); }
    ~Threads() { setNumThreads(-1); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
};

//! Host time of `work` in microseconds: median of at least 3 and at most `samples` runs in about `seconds`, after one
//! run.
template <typename Work> double medianUs(Work work, double seconds = 1., int samples = 200)
{
    work();
    std::vector<double> times;
    TickMeter total;
    total.start();
    do
    {
        TickMeter one;
        one.start();
        work();
        one.stop();
        times.push_back(one.getTimeMicro());
        total.stop(), total.start();
    }
    while (static_cast<int>(times.size()) < samples && (times.size() < 3 || total.getTimeSec() < seconds));
    return medianOf(times);
}

//! One line of the report. Values have no spaces; numbers that are not positive are left out.
class PerfRow
{
public:
    PerfRow(const std::string& name, const std::string& engine, const std::string& part, double medianUs)
        : line_(cv::format("[ PERFROW ] name=%s engine=%s part=%s median_us=%.3f", name.c_str(), engine.c_str(),
                           part.c_str(), medianUs))
    {}
    ~PerfRow() { printf("%s\n", line_.c_str()), fflush(stdout); }
    PerfRow(const PerfRow&) = delete;
    PerfRow& operator=(const PerfRow&) = delete;

    PerfRow& set(const char* key, double value)
    {
        if (value > 0)
            line_ += cv::format(" %s=%.10g", key, value);
        return *this;
    }
    //! Sets a number that may be 0.
    PerfRow& count(const char* key, int value)
    {
        line_ += cv::format(" %s=%d", key, value);
        return *this;
    }
    PerfRow& peer(const std::string& name, double us)
    {
        if (us > 0)
            line_ += cv::format(" peer=%s peer_us=%.3f", name.c_str(), us);
        return *this;
    }

private:
    std::string line_;
};

#ifdef HAVE_CUDA

inline void cudaRequire(cudaError_t error)
{
    if (error != cudaSuccess)
        CV_Error_(Error::GpuApiCallError, ("CUDA: %s", cudaGetErrorString(error)));
}

//! Device time of what `work` puts on the stream, in microseconds: captured into a graph once, 20 replays between two
//! events, median of 50 such batches after some to warm up. No launch or host cost of single kernels is left in it.
template <typename Work>
double graphMedianUs(cuda::Stream& stream, Work work, int replays = 20, int warmUps = 10, int batches = 50)
{
    const cudaStream_t raw = cuda::StreamAccessor::getStream(stream);
    work(); // may allocate
    stream.waitForCompletion();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaRequire(cudaStreamBeginCapture(raw, cudaStreamCaptureModeGlobal));
    work();
    cudaRequire(cudaStreamEndCapture(raw, &graph));
    cudaRequire(cudaGraphInstantiate(&executable, graph, 0));
    cudaEvent_t begin, end;
    cudaRequire(cudaEventCreate(&begin));
    cudaRequire(cudaEventCreate(&end));
    std::vector<double> times;
    for (int batch = 0; batch < warmUps + batches; ++batch)
    {
        cudaRequire(cudaEventRecord(begin, raw));
        for (int i = 0; i < replays; ++i)
            cudaRequire(cudaGraphLaunch(executable, raw));
        cudaRequire(cudaEventRecord(end, raw));
        cudaRequire(cudaEventSynchronize(end));
        float ms = 0.f;
        cudaRequire(cudaEventElapsedTime(&ms, begin, end));
        if (batch >= warmUps)
            times.push_back(1000. * ms / replays);
    }
    cudaEventDestroy(begin), cudaEventDestroy(end);
    cudaGraphExecDestroy(executable), cudaGraphDestroy(graph);
    return medianOf(times);
}

#endif // HAVE_CUDA

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_PERF_MEASURE_HPP
