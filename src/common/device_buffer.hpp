// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device memory and pinned host memory owned by an instance: grow-only, counted, never waits in the steady state.
#ifndef OPENCV_CUDATRACKING_COMMON_DEVICE_BUFFER_HPP
#define OPENCV_CUDATRACKING_COMMON_DEVICE_BUFFER_HPP

#include "cuda_check.hpp"
#include <cstring>
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace detail {

//! Device memory that only grows. Growing frees the old block, which waits for the device: never in the steady state.
class DeviceBuffer
{
public:
    DeviceBuffer() = default;
    ~DeviceBuffer() { cudaFree(data_); } // destructors never throw: an error here is the context's end
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    //! At least `bytes`; the content is lost when the buffer grows. @param purpose for the out-of-memory message.
    void* reserve(size_t bytes, const char* purpose)
    {
        if (bytes > bytes_)
        {
            void* grown = nullptr;
            const cudaError_t error = cudaMalloc(&grown, bytes);
            if (error != cudaSuccess)
            {
                cudaGetLastError(); // an allocation failure is not sticky: leave no error behind for others
                CV_Error_(Error::GpuApiCallError, ("cannot allocate %zu bytes of device memory for %s: %s", bytes,
                                                   purpose, cudaGetErrorString(error)));
            }
            cudaFree(data_);
            data_ = grown;
            bytes_ = bytes;
        }
        return data_;
    }

    void swap(DeviceBuffer& other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
    }

    template <typename T> T* as() const { return static_cast<T*>(data_); }
    size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

/** Pinned host memory for asynchronous uploads. Each upload takes a block that no copy in flight is reading; if there is
none, a new one is made, so upload() never waits. Blocks used while a stream is captured belong to the graph for as long as
the instance lives. */
class Uploader
{
public:
    Uploader() = default;
    ~Uploader()
    {
        for (Block& block : blocks_)
        {
            if (block.copied)
                cudaEventSynchronize(block.copied);
            cudaEventDestroy(block.copied);
            cudaFreeHost(block.data);
        }
    }
    Uploader(const Uploader&) = delete;
    Uploader& operator=(const Uploader&) = delete;

    //! Copies `bytes` of host memory, which may be reused at once, to `device` in stream order.
    void upload(void* device, const void* host, size_t bytes, cudaStream_t stream)
    {
        if (bytes == 0)
            return;
        const bool capturing = isCapturing(stream);
        Block& block = take(bytes, capturing);
        std::memcpy(block.data, host, bytes);
        cudaCheck(cudaMemcpyAsync(device, block.data, bytes, cudaMemcpyHostToDevice, stream), "upload");
        if (!capturing)
            cudaCheck(cudaEventRecord(block.copied, stream), "upload");
    }

private:
    //! Queries and allocations do not belong to a graph that this thread may be capturing; tell CUDA so.
    struct RelaxedCapture
    {
        RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode); }
        ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode); }
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    };

    struct Block
    {
        void* data = nullptr;
        size_t bytes = 0;
        cudaEvent_t copied = nullptr;
        bool captured = false;
    };

    Block& take(size_t bytes, bool capturing)
    {
        const RelaxedCapture relaxed;
        for (Block& block : blocks_)
        {
            if (block.captured || block.bytes < bytes)
                continue;
            if (cudaEventQuery(block.copied) == cudaSuccess)
            {
                block.captured = capturing;
                return block;
            }
            cudaGetLastError(); // "not ready" is no error for whoever asks next
        }
        Block block;
        block.bytes = bytes < 4096 ? 4096 : bytes + bytes / 2;
        block.captured = capturing;
        cudaCheck(cudaHostAlloc(&block.data, block.bytes, cudaHostAllocDefault),
                  "allocating pinned memory for an upload");
        cudaCheck(cudaEventCreateWithFlags(&block.copied, cudaEventDisableTiming), "upload");
        blocks_.push_back(block);
        return blocks_.back();
    }

    std::vector<Block> blocks_;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_DEVICE_BUFFER_HPP
