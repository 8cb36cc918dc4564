// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The linker sends each call of X to __wrap_X here (option --wrap=X, see CMakeLists.txt); __real_X is the function itself.
#include "faults.hpp"
#include <atomic>
#include <new>
#ifdef CUDATRACKING_WRAPS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace opencv_test { namespace faults {

namespace {

// Plain data, so that it can be used by the first allocation of a thread.
struct Countdown
{
    int left; //!< 0: not armed
    const char* struck;
};
thread_local Countdown countdowns[2];

#ifdef CUDATRACKING_WRAPS_MEMORY // as in every build where something is wrapped
//! Counts a call; true when it is the one that fails.
bool strikes(Kind kind, const char* name)
{
    Countdown& c = countdowns[kind];
    if (c.left == 0 || --c.left > 0)
        return false;
    c.struck = name;
    return true;
}
#endif

std::atomic<int64> deviceBlocks, pinnedBlocks, events, asked;

} // namespace

bool possible(Kind kind)
{
#if defined(CUDATRACKING_WRAPS_CUDA)
    CV_UNUSED(kind);
    return true;
#elif defined(CUDATRACKING_WRAPS_MEMORY)
    return kind == MEMORY;
#else
    CV_UNUSED(kind);
    return false;
#endif
}

Armed::Armed(Kind kind, int n) : kind_(kind) { countdowns[kind] = {n, nullptr}; }
Armed::~Armed() { disarm(); }

void Armed::disarm()
{
    Countdown& c = countdowns[kind_];
    if (c.struck)
        struck_ = c.struck;
    c = {0, nullptr};
}

int64 allocations() { return asked; }
Live live() { return {deviceBlocks, pinnedBlocks, events}; }

}} // namespace opencv_test::faults

using namespace opencv_test::faults;

#ifdef CUDATRACKING_WRAPS_MEMORY

#define FAST_MALLOC(prefix) prefix##_ZN2cv10fastMallocEm
extern "C" void* FAST_MALLOC(__real_)(size_t bytes);
extern "C" void* FAST_MALLOC(__wrap_)(size_t bytes);

extern "C" void* FAST_MALLOC(__wrap_)(size_t bytes)
{
    // A few bytes are the reference count of a GpuMat: OpenCV 4.14 loses its device memory when there are none for it.
    if (bytes != sizeof(int) && strikes(MEMORY, "cv::fastMalloc"))
        CV_Error(cv::Error::StsNoMem, "allocation failed on purpose");
    return FAST_MALLOC(__real_)(bytes);
}

// All forms but the aligned ones come here: the library's own arrays and nothrow forms call these.
void* operator new(size_t bytes)
{
    void* const memory = strikes(MEMORY, "operator new") ? nullptr : std::malloc(bytes ? bytes : 1);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

#endif // CUDATRACKING_WRAPS_MEMORY

#ifdef CUDATRACKING_WRAPS_CUDA

namespace {

//! The runtime remembers an error, as after a real failure.
cudaError_t failed(cudaError_t error)
{
    cudaSetDevice(-1);
    return error;
}

cudaError_t counted(cudaError_t result, std::atomic<int64>& counter, int change)
{
    if (result == cudaSuccess)
        counter += change;
    if (change > 0 && &counter != &events)
        ++asked;
    return result;
}

} // namespace

// WRAP(function, parameters, arguments, error): the call itself when it does not strike.
#define DECLARE(function, parameters)                                                                                  \
    extern "C" cudaError_t CUDARTAPI __real_##function parameters;                                                     \
    extern "C" cudaError_t CUDARTAPI __wrap_##function parameters;
#define WRAP(function, parameters, arguments, error)                                                                   \
    DECLARE(function, parameters)                                                                                      \
    cudaError_t CUDARTAPI __wrap_##function parameters                                                                 \
    {                                                                                                                  \
        return strikes(CUDA, #function) ? failed(error) : __real_##function arguments;                                 \
    }
#define WRAP_MAKING(function, parameters, arguments, error, counter)                                                   \
    DECLARE(function, parameters)                                                                                      \
    cudaError_t CUDARTAPI __wrap_##function parameters                                                                 \
    {                                                                                                                  \
        return strikes(CUDA, #function) ? failed(error) : counted(__real_##function arguments, counter, 1);            \
    }
// Giving back never fails, but is counted.
#define WRAP_GIVING_BACK(function, parameters, arguments, any, counter)                                                \
    DECLARE(function, parameters)                                                                                      \
    cudaError_t CUDARTAPI __wrap_##function parameters                                                                 \
    {                                                                                                                  \
        return counted(__real_##function arguments, counter, (any) ? -1 : 0);                                          \
    }

WRAP_MAKING(cudaMalloc, (void** p, size_t bytes), (p, bytes), cudaErrorMemoryAllocation, deviceBlocks)
WRAP_MAKING(cudaMallocPitch, (void** p, size_t* pitch, size_t width, size_t height), (p, pitch, width, height),
            cudaErrorMemoryAllocation, deviceBlocks)
WRAP_MAKING(cudaHostAlloc, (void** p, size_t bytes, unsigned flags), (p, bytes, flags), cudaErrorMemoryAllocation,
            pinnedBlocks)
WRAP_MAKING(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags), cudaErrorMemoryAllocation,
            events)
WRAP_GIVING_BACK(cudaFree, (void* p), (p), p, deviceBlocks)
WRAP_GIVING_BACK(cudaFreeHost, (void* p), (p), p, pinnedBlocks)
WRAP_GIVING_BACK(cudaEventDestroy, (cudaEvent_t event), (event), event, events)

WRAP(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind),
     cudaErrorInvalidValue)
WRAP(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, bytes, kind, stream), cudaErrorInvalidValue)
WRAP(cudaMemcpy2D,
     (void* to, size_t toStep, const void* from, size_t fromStep, size_t width, size_t height, cudaMemcpyKind kind),
     (to, toStep, from, fromStep, width, height, kind), cudaErrorInvalidValue)
WRAP(cudaMemcpy2DAsync,
     (void* to, size_t toStep, const void* from, size_t fromStep, size_t width, size_t height, cudaMemcpyKind kind,
      cudaStream_t stream),
     (to, toStep, from, fromStep, width, height, kind, stream), cudaErrorInvalidValue)
WRAP(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream), (to, value, bytes, stream),
     cudaErrorInvalidValue)
WRAP(cudaMemset2D, (void* to, size_t step, int value, size_t width, size_t height), (to, step, value, width, height),
     cudaErrorInvalidValue)
WRAP(cudaMemset2DAsync, (void* to, size_t step, int value, size_t width, size_t height, cudaStream_t stream),
     (to, step, value, width, height, stream), cudaErrorInvalidValue)
WRAP(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
     (config, kernel, arguments), cudaErrorLaunchOutOfResources)
#if CUDART_VERSION >= 13000 // what the launches of CUB come to
WRAP(__cudaLaunchKernel,
     (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream),
     (kernel, grid, block, arguments, sharedBytes, stream), cudaErrorLaunchOutOfResources)
#else
WRAP(cudaLaunchKernel,
     (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream),
     (kernel, grid, block, arguments, sharedBytes, stream), cudaErrorLaunchOutOfResources)
#endif
WRAP(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value), (kernel, attribute, value),
     cudaErrorInvalidValue)
WRAP(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* kernel), (attributes, kernel),
     cudaErrorInvalidDeviceFunction)
WRAP(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     (int* blocks, const void* kernel, int threads, size_t sharedBytes, unsigned flags),
     (blocks, kernel, threads, sharedBytes, flags), cudaErrorInvalidValue)
WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream), cudaErrorLaunchFailure)
WRAP(cudaEventQuery, (cudaEvent_t event), (event), cudaErrorLaunchFailure)
WRAP(cudaEventSynchronize, (cudaEvent_t event), (event), cudaErrorLaunchFailure)
WRAP(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags), (stream, event, flags),
     cudaErrorInvalidResourceHandle)
WRAP(cudaStreamSynchronize, (cudaStream_t stream), (stream), cudaErrorLaunchFailure)
WRAP(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status), (stream, status),
     cudaErrorInvalidResourceHandle)
WRAP(cudaStreamGetId, (cudaStream_t stream, unsigned long long* id), (stream, id), cudaErrorInvalidResourceHandle)
WRAP(cudaGetDevice, (int* device), (device), cudaErrorNoDevice)
WRAP(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device), (value, attribute, device),
     cudaErrorInvalidDevice)
WRAP(cudaUserObjectCreate,
     (cudaUserObject_t * object, void* data, cudaHostFn_t destroy, unsigned count, unsigned flags),
     (object, data, destroy, count, flags), cudaErrorMemoryAllocation)
WRAP(cudaGraphRetainUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
     (graph, object, count, flags), cudaErrorInvalidValue)
#if CUDART_VERSION >= 13000
WRAP(cudaStreamGetCaptureInfo,
     (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
      const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges, size_t* count),
     (stream, status, id, graph, nodes, edges, count), cudaErrorInvalidResourceHandle)
#else
WRAP(cudaStreamGetCaptureInfo_v2,
     (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
      const cudaGraphNode_t** nodes, size_t* count),
     (stream, status, id, graph, nodes, count), cudaErrorInvalidResourceHandle)
#endif

#endif // CUDATRACKING_WRAPS_CUDA
