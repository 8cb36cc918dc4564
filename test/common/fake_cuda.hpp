// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// A CUDA runtime without a device, for tests of what src/common/ asks of the runtime and when. It stands in the place
// of the wrapped calls of one thread (see test/common/faults.cpp): kernels do nothing, memory is the host's, streams
// are lists.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_FAKE_CUDA_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_FAKE_CUDA_HPP

#include "faults.hpp"
#include <cuda_runtime.h>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace opencv_test { namespace faults {

class FakeCuda
{
public:
    struct FakeStream
    {
        unsigned long long id = 0, capture = 0;
        int device = 0;
    };
    struct FakeEvent
    {
        cudaStream_t recordedOn = nullptr;
    };

    FakeCuda()
    {
        current = this;
        forgetKernels();
    }
    ~FakeCuda()
    {
        forgetKernels(); // so that nothing of this is known to real launches
        current = nullptr;
    }
    FakeCuda(const FakeCuda&) = delete;
    FakeCuda& operator=(const FakeCuda&) = delete;

    static thread_local FakeCuda* current; //!< null: calls go to CUDA

    // --- what tests set and see -----------------------------------------------------------------------------------
    int driver = 13000, computeCapability = 9, ptxVersion = 90;
    int sharedBytes = 232448;           //!< of a block that asks for them
    size_t staticBytes = 96;            //!< of every kernel
    std::map<const void*, int> allowed; //!< dynamic bytes of kernels, as attributes
    int attributesSet = 0, launches = 0, earlyLaunches = 0, refused = 0, waits = 0;
    std::vector<std::pair<cudaStream_t, cudaStream_t>> orders; //!< (a, b): a waited for what an event had recorded on b
    std::set<void*> memory;                                    //!< blocks that live
    std::set<cudaEvent_t> events;                              //!< that live

    //! Attributes are lost.
    void reset() { allowed.clear(); }
    cudaStream_t newStream(int device = 0)
    {
        cudaStream_t stream = nullptr;
        cudaStreamCreateWithFlags(&stream, 0);
        of(stream).device = device;
        return stream;
    }
    //! Streams of equal numbers belong to one capture.
    void begin(unsigned long long number, const std::vector<cudaStream_t>& streams)
    {
        for (const cudaStream_t stream : streams)
            of(stream).capture = number;
    }
    void end(const std::vector<cudaStream_t>& streams)
    {
        for (const cudaStream_t stream : streams)
            of(stream).capture = 0;
    }

    // --- the runtime ----------------------------------------------------------------------------------------------
    cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
    cudaError_t cudaDriverGetVersion(int* version) { return *version = driver, cudaSuccess; }
    cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int)
    {
        *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? sharedBytes
                 : attribute == cudaDevAttrComputeCapabilityMajor     ? computeCapability
                                                                      : 1;
        return cudaSuccess;
    }
    cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*)
    {
        *attributes = cudaFuncAttributes();
        attributes->sharedSizeBytes = staticBytes;
        attributes->ptxVersion = ptxVersion;
        return cudaSuccess;
    }
    cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value)
    {
        if (value + static_cast<int>(staticBytes) > sharedBytes)
            return cudaErrorInvalidValue;
        allowed[kernel] = value;
        ++attributesSet;
        return cudaSuccess;
    }
    cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**)
    {
        const size_t most = allowed.count(kernel) ? allowed[kernel] : 49152 - staticBytes;
        if (config->dynamicSmemBytes > most)
            return ++refused, cudaErrorInvalidValue;
        ++launches;
        earlyLaunches += config->numAttrs > 0;
        return cudaSuccess;
    }

    cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
    {
        streams_.emplace_back(new FakeStream);
        streams_.back()->id = streams_.size();
        *stream = reinterpret_cast<cudaStream_t>(streams_.back().get());
        return cudaSuccess;
    }
    cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
    cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
    cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id)
    {
        return *id = of(stream).id, cudaSuccess;
    }
    cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device)
    {
        return *device = of(stream).device, cudaSuccess;
    }
    cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status)
    {
        *status = of(stream).capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
        return cudaSuccess;
    }
    template <typename... Rest>
    cudaError_t captureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* capture, Rest...)
    {
        *capture = of(stream).capture;
        return cudaStreamIsCapturing(stream, status);
    }
    template <typename... All> cudaError_t cudaStreamGetCaptureInfo(All... all) { return captureInfo(all...); }
    template <typename... All> cudaError_t cudaStreamGetCaptureInfo_v2(All... all) { return captureInfo(all...); }
    cudaError_t cudaStreamSynchronize(cudaStream_t stream)
    {
        ++waits;
        return of(stream).capture ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
    }
    cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned)
    {
        events_.emplace_back(new FakeEvent);
        *event = reinterpret_cast<cudaEvent_t>(events_.back().get());
        events.insert(*event);
        return cudaSuccess;
    }
    cudaError_t cudaEventDestroy(cudaEvent_t event) { return events.erase(event), cudaSuccess; }
    cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
    {
        reinterpret_cast<FakeEvent*>(event)->recordedOn = stream;
        return cudaSuccess;
    }
    cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
    {
        orders.emplace_back(stream, reinterpret_cast<FakeEvent*>(event)->recordedOn);
        return cudaSuccess;
    }
    cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
    cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

    cudaError_t cudaMalloc(void** p, size_t bytes)
    {
        memory.insert(*p = std::malloc(bytes));
        return cudaSuccess;
    }
    cudaError_t cudaFree(void* p)
    {
        memory.erase(p);
        std::free(p);
        return cudaSuccess;
    }
    cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) { return cudaMalloc(p, bytes); }
    cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }

    cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t)
    {
        std::memcpy(to, from, bytes);
        return cudaSuccess;
    }
    cudaError_t cudaMemcpy2DAsync(void* to, size_t toStep, const void* from, size_t fromStep, size_t bytes, size_t rows,
                                  cudaMemcpyKind, cudaStream_t)
    {
        for (size_t row = 0; row < rows; ++row)
            std::memcpy(static_cast<char*>(to) + row * toStep, static_cast<const char*>(from) + row * fromStep, bytes);
        return cudaSuccess;
    }
    cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t)
    {
        std::memset(to, value, bytes);
        return cudaSuccess;
    }

    // Not needed by tests of src/common/.
#define FAKE_NONE(function)                                                                                            \
    template <typename... All> cudaError_t function(All...) { return cudaErrorNotSupported; }
    FAKE_NONE(cudaMallocPitch)
    FAKE_NONE(cudaMemcpy)
    FAKE_NONE(cudaMemcpy2D)
    FAKE_NONE(cudaMemset2D)
    FAKE_NONE(cudaMemset2DAsync)
    FAKE_NONE(cudaLaunchKernel)
    FAKE_NONE(__cudaLaunchKernel)
    FAKE_NONE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
#undef FAKE_NONE

private:
    FakeStream& of(cudaStream_t stream) { return stream ? *reinterpret_cast<FakeStream*>(stream) : null_; }

    FakeStream null_;
    std::vector<std::unique_ptr<FakeStream>> streams_;
    std::vector<std::unique_ptr<FakeEvent>> events_;
};

}} // namespace opencv_test::faults

#endif // OPENCV_CUDATRACKING_TEST_COMMON_FAKE_CUDA_HPP
