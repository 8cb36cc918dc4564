// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Calls of the CUDA runtime that tests need: graphs, blocked streams, memory. Almost empty in builds without CUDA.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_GRAPHS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_GRAPHS_HPP

#include "common.hpp"

#ifdef HAVE_CUDA
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cuda_runtime_api.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace opencv_test {

inline void require(cudaError_t error)
{
    if (error != cudaSuccess)
        CV_Error_(Error::GpuApiCallError, ("CUDA: %s", cudaGetErrorString(error)));
}

//! The work that is put on a stream between the constructor and end(), to be launched any number of times.
class Graph
{
public:
    //! The global mode is the strictest: allocating and waiting fail during the capture.
    explicit Graph(cuda::Stream& stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal)
        : stream_(cuda::StreamAccessor::getStream(stream))
    {
        require(cudaStreamBeginCapture(stream_, mode));
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
    void launch(cuda::Stream& stream)
    {
        require(cudaGraphLaunch(executable_, cuda::StreamAccessor::getStream(stream)));
    }

    size_t nodes() const
    {
        size_t count = 0;
        require(cudaGraphGetNodes(graph_, nullptr, &count));
        return count;
    }
    //! Nodes that copy memory.
    size_t copies() const
    {
        size_t count = nodes();
        std::vector<cudaGraphNode_t> all(count);
        require(cudaGraphGetNodes(graph_, all.data(), &count));
        return std::count_if(all.begin(), all.end(),
                             [](cudaGraphNode_t node)
                             {
                                 cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
                                 require(cudaGraphNodeGetType(node, &type));
                                 return type == cudaGraphNodeTypeMemcpy;
                             });
    }
    //! Nodes that wait for no other.
    size_t roots() const
    {
        size_t count = 0;
        require(cudaGraphGetRootNodes(graph_, nullptr, &count));
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

//! Clears the error of a failed call, which must not be taken for the next call's.
inline void forgetCudaErrors() { cudaGetLastError(); }

//! Returns the bytes that are free on the device, which other processes change: tests that call it are named *Alone.
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
#endif // OPENCV_CUDATRACKING_TEST_COMMON_GRAPHS_HPP
