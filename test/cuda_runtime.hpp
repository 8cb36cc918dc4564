// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the CUDA runtime must be asked for in tests: graphs, blocked streams, memory. Next to nothing in builds without CUDA.
#ifndef OPENCV_CUDATRACKING_TEST_CUDA_RUNTIME_HPP
#define OPENCV_CUDATRACKING_TEST_CUDA_RUNTIME_HPP

#include "test_common.hpp"

#ifdef HAVE_CUDA
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cuda_runtime_api.h>
#include <atomic>
#include <chrono>
#include <thread>

namespace opencv_test {

inline void require(cudaError_t error)
{
    if (error != cudaSuccess)
        CV_Error_(Error::GpuApiCallError, ("CUDA: %s", cudaGetErrorString(error)));
}

//! What was put on a stream between begin() and end(), to be launched any number of times.
class Graph
{
public:
    //! In the strictest mode: allocating and waiting fail during the capture.
    explicit Graph(cuda::Stream& stream) : stream_(cuda::StreamAccessor::getStream(stream))
    {
        require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    }
    ~Graph()
    {
        if (!ended_) // a call in between threw
            cudaStreamEndCapture(stream_, &graph_);
        if (executable_)
            cudaGraphExecDestroy(executable_);
        if (graph_)
            cudaGraphDestroy(graph_);
        cudaGetLastError();
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    void end()
    {
        ended_ = true;
        require(cudaStreamEndCapture(stream_, &graph_));
        require(cudaGraphInstantiate(&executable_, graph_, 0));
    }

    void launch() { require(cudaGraphLaunch(executable_, stream_)); }

    size_t nodes() const
    {
        size_t count = 0;
        require(cudaGraphGetNodes(graph_, nullptr, &count));
        return count;
    }

private:
    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
    bool ended_ = false;
};

//! Keeps a stream busy until open(). Gives up after a while, so that a call that waits for the stream is found out.
class Gate
{
public:
    explicit Gate(cuda::Stream& stream)
    {
        require(cudaLaunchHostFunc(cuda::StreamAccessor::getStream(stream), wait, this));
    }
    ~Gate() { open(); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void open() { open_ = true; }
    bool gaveUp() const { return gaveUp_; }

private:
    static void CUDART_CB wait(void* data)
    {
        Gate& gate = *static_cast<Gate*>(data);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!gate.open_)
        {
            if (std::chrono::steady_clock::now() > end)
            {
                gate.gaveUp_ = true;
                return;
            }
            std::this_thread::yield();
        }
    }

    std::atomic<bool> open_{false}, gaveUp_{false};
};

//! What a failed call left must not be taken for the next call's.
inline void forgetCudaErrors() { cudaGetLastError(); }

inline size_t freeDeviceMemory()
{
    size_t free = 0, total = 0;
    require(cudaMemGetInfo(&free, &total));
    return free;
}

} // namespace opencv_test

#else

namespace opencv_test {
inline void forgetCudaErrors() {}
} // namespace opencv_test

#endif // HAVE_CUDA
#endif // OPENCV_CUDATRACKING_TEST_CUDA_RUNTIME_HPP
