// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "workspace.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace detail {

// --- Workspace -------------------------------------------------------------------------------------------------------

Workspace::~Workspace()
{
    for (const Block& block : retired_)
        release(block, false);
    for (const cudaEvent_t event : {done_, captured_})
        if (event)
            ignore(cudaEventDestroy(event));
}

Block Workspace::allocate(size_t bytes, const char* purpose)
{
    retired_.reserve(blocks_ + 1); // for release()
    Block block;
    block.bytes = bytes;
    const cudaError_t error = cudaMalloc(&block.data, bytes);
    if (error != cudaSuccess)
    {
        cudaGetLastError();
        CV_Error_(Error::GpuApiCallError, ("%s: cannot allocate %zu bytes of device memory for %s: %s", owner_, bytes,
                                           purpose, cudaGetErrorString(error)));
    }
    ++blocks_;
    bytes_ += bytes;
    return block;
}

void Workspace::release(Block block, bool keep) noexcept
{
    if (!block.data)
        return;
    if (keep)
    {
        retired_.push_back(block);
        return;
    }
    const OutsideOfCapture outside;
    ignore(cudaFree(block.data)); // an error here is the context's end
    bytes_ -= block.bytes;
    --blocks_;
}

// --- DeviceBuffer ----------------------------------------------------------------------------------------------------

void DeviceBuffer::replace(Block block, bool keep) noexcept
{
    workspace_.release(block_, keep || inGraphs_);
    block_ = block;
    inGraphs_ = false;
}

void* DeviceBuffer::reserve(const Call& call, size_t bytes, const char* purpose)
{
    if (bytes > block_.bytes)
        replace(workspace_.allocate(bytes, purpose), call.capturing()); // freeing waits, which captures may not do
    inGraphs_ = inGraphs_ || call.capturing();
    return block_.data;
}

void* DeviceBuffer::reserveKeeping(const Call& call, size_t used, size_t bytes, const char* purpose)
{
    CV_Assert(!call.capturing() && used <= block_.bytes);
    if (bytes <= block_.bytes)
        return block_.data;
    const Block grown = workspace_.allocate(bytes + bytes / 2, purpose);
    const cudaError_t error =
        used > 0 ? cudaMemcpyAsync(grown.data, block_.data, used, cudaMemcpyDeviceToDevice, call.stream())
                 : cudaSuccess;
    if (error != cudaSuccess)
    {
        workspace_.release(grown, false);
        cudaCheck(error, purpose);
    }
    replace(grown, false); // freeing waits for the copy
    return block_.data;
}

void DeviceBuffer::renew()
{
    if (inGraphs_)
        replace(Block(), true);
}

// --- Uploader --------------------------------------------------------------------------------------------------------

Uploader::~Uploader()
{
    const OutsideOfCapture outside;
    for (Pinned& pinned : blocks_)
    {
        if (pinned.inFlight)
            ignore(cudaEventSynchronize(pinned.copied));
        ignore(cudaEventDestroy(pinned.copied));
        ignore(cudaFreeHost(pinned.block.data));
    }
}

Uploader::Pinned& Uploader::take(size_t bytes)
{
    for (Pinned& pinned : blocks_)
    {
        if (pinned.block.bytes < bytes || pinned.inGraph)
            continue;
        if (pinned.inFlight && cudaEventQuery(pinned.copied) != cudaSuccess)
        {
            cudaGetLastError(); // "not ready" is no error for whoever asks next
            continue;
        }
        pinned.inFlight = false;
        return pinned;
    }
    blocks_.reserve(blocks_.size() + 1);
    Pinned pinned;
    pinned.block.bytes = std::max<size_t>(4096, bytes + bytes / 2);
    cudaCheck(cudaEventCreateWithFlags(&pinned.copied, cudaEventDisableTiming), "creating an event");
    const cudaError_t error = cudaHostAlloc(&pinned.block.data, pinned.block.bytes, cudaHostAllocDefault);
    if (error != cudaSuccess)
        ignore(cudaEventDestroy(pinned.copied));
    cudaCheck(error, "allocating pinned memory for an upload");
    workspace_.bytes_ += pinned.block.bytes;
    blocks_.push_back(pinned);
    return blocks_.back();
}

void Uploader::upload(const Call& call, void* device, const void* host, size_t bytes)
{
    if (bytes == 0)
        return;
    Pinned& pinned = take(bytes);
    if (call.capturing())
        pinned.inGraph = true; // also when the copy fails: a part of it may be in the graph
    std::memcpy(pinned.block.data, host, bytes);
    cudaCheck(cudaMemcpyAsync(device, pinned.block.data, bytes, cudaMemcpyHostToDevice, call.stream()), "upload");
    if (!call.capturing())
        pinned.inFlight = record(pinned.copied, call.stream());
}

// --- DeviceTable -----------------------------------------------------------------------------------------------------

const void* DeviceTable::put(const Call& call, Uploader& uploader, uint64_t version, const void* host, size_t bytes,
                             const char* purpose)
{
    if (has(version))
        return buffer_.reserve(call, bytes, purpose); // notes a capture
    if (call.capturing())
    {
        // Uploaded by each replay, to memory that nobody else writes.
        const Block block = workspace_.allocate(bytes, purpose);
        workspace_.release(block, true);
        uploader.upload(call, block.data, host, bytes);
        return block.data;
    }
    buffer_.renew();
    valid_ = false; // until the upload is on its way
    void* const device = buffer_.reserve(call, bytes, purpose);
    uploader.upload(call, device, host, bytes);
    valid_ = true;
    version_ = version;
    return device;
}

// --- HostBlock -------------------------------------------------------------------------------------------------------

HostBlock::~HostBlock()
{
    const OutsideOfCapture outside;
    if (data_)
        ignore(cudaFreeHost(data_));
}

void* HostBlock::reserve(const Call&)
{
    if (!data_)
    {
        void* memory = nullptr;
        cudaCheck(cudaHostAlloc(&memory, bytes_, cudaHostAllocDefault), purpose_);
        workspace_.bytes_ += bytes_;
        data_ = memory;
    }
    return data_;
}

// --- Downloads -------------------------------------------------------------------------------------------------------

void Downloads::Batch::check(const OutputView& output) const
{
    if (output && output.memory == Memory::HOST && call_.capturing())
        CV_Error_(Error::StsBadArg,
                  ("%s: %s lies in host memory, so the call would wait, and cannot be captured into a "
                   "graph; use a GpuMat or a HostMem",
                   memory_.workspace_.owner(), output.name));
}

void* Downloads::Batch::begin(const OutputView& output)
{
    if (!output || output.memory == Memory::DEVICE)
        return output.data;
    check(output);
    const size_t bytes = output.rowBytes() * output.rows;
    if (output.memory == Memory::HOST && bytes <= SMALL_BYTES - smallBytes_)
    {
        const bool first = memory_.small_.bytes() == 0;
        uint8_t* const block = memory_.small_.reserve<uint8_t>(call_, SMALL_BYTES, output.name);
        if (first) // what lies between results is copied, too
            cudaCheck(cudaMemsetAsync(block, 0, SMALL_BYTES, call_.stream()), output.name);
        smallOnes_.push_back({output, smallBytes_});
        smallBytes_ = std::min(SMALL_BYTES, roundUp<size_t>(smallBytes_ + bytes, ALIGNMENT));
        return block + smallOnes_.back().offset;
    }
    const size_t index = staged_;
    if (index == memory_.buffers_.size())
        memory_.buffers_.push_back(std::make_unique<DeviceBuffer>(memory_.workspace_));
    void* const device = memory_.buffers_[index]->reserve(call_, bytes, output.name);
    pending_.emplace_back(output, device);
    ++staged_;
    return device;
}

void Downloads::Batch::copy(const OutputView& output, const void* results)
{
    check(output);
    if (output && output.memory == Memory::DEVICE)
        cudaCheck(cudaMemcpy2DAsync(output.data, output.step, results, output.rowBytes(), output.rowBytes(),
                                    output.rows, cudaMemcpyDeviceToDevice, call_.stream()),
                  output.name);
    else if (output)
        pending_.emplace_back(output, results);
}

void Downloads::Batch::finish()
{
    bool wait = !smallOnes_.empty();
    const uint8_t* small = nullptr;
    if (wait)
    {
        small = static_cast<const uint8_t*>(memory_.pinned_.reserve(call_));
        cudaCheck(cudaMemcpyAsync(memory_.pinned_.get(), memory_.small_.as<void>(), smallBytes_, cudaMemcpyDeviceToHost,
                                  call_.stream()),
                  "downloading results");
    }
    for (const auto& entry : pending_)
    {
        const OutputView& output = entry.first;
        const size_t bytes = output.rowBytes();
        const bool gapless =
            output.rows == 1 || output.step == bytes; // in one piece: rows may be many, and of few bytes
        cudaCheck(gapless ? cudaMemcpyAsync(output.data, entry.second, bytes * output.rows, cudaMemcpyDeviceToHost,
                                            call_.stream())
                          : cudaMemcpy2DAsync(output.data, output.step, entry.second, bytes, bytes, output.rows,
                                              cudaMemcpyDeviceToHost, call_.stream()),
                  "downloading results");
        wait = wait || output.memory == Memory::HOST;
    }
    if (wait)
        call_.wait("downloading results");
    for (const Small& result : smallOnes_)
        for (int row = 0; row < result.output.rows; ++row)
            std::memcpy(result.output.as<uint8_t>().row(row), small + result.offset + result.output.rowBytes() * row,
                        result.output.rowBytes());
}

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
