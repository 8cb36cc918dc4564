// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The linker sends each call of X to __wrap_X here (option --wrap=X, see CMakeLists.txt); __real_X is the function
// itself.
#include "faults.hpp"
#include "plans.hpp"
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef CUDATRACKING_WRAPS_CUDA
#include "fake_cuda.hpp"
#include "../../src/common/device.hpp"
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

std::atomic<int64> deviceBlocks, pinnedBlocks, events, streams, asked;

int limitFrom(const char* variable)
{
    const char* const text = std::getenv(variable);
    return text ? std::atoi(text) : 0;
}
std::atomic<int> fakedSharedBytes{limitFrom("CUDATRACKING_FAKE_SHARED_BYTES")},
    fakedMultiprocessors{limitFrom("CUDATRACKING_FAKE_MULTIPROCESSORS")};
std::atomic<int64> refused;

std::mutex launchedMutex;
Launched launchedKernels[1024]; // plain data: no allocations that could fail on purpose
size_t launchedCount;

//! Bytes that HostMemory counts. Not a global object: memory is asked for before those are made and given back after
//! they are gone.
struct Ledger
{
    std::mutex mutex;
    std::map<void*, size_t> blocks;
    size_t bytes, most;
};
Ledger& ledger()
{
    static Ledger* const one = new Ledger();
    return *one;
}
std::atomic<bool> counting;
std::atomic<int64> heapBytes;

#ifdef CUDATRACKING_WRAPS_MEMORY
void countHeap(void* memory, int sign)
{
#ifdef __GLIBC__
    if (counting && memory)
        heapBytes += sign * static_cast<int64>(malloc_usable_size(memory));
#else
    CV_UNUSED(memory), CV_UNUSED(sign);
#endif
}
#endif

} // namespace

HostMemory::HostMemory()
{
    Ledger& l = ledger();
    const std::lock_guard<std::mutex> lock(l.mutex);
    l.blocks.clear();
    l.bytes = l.most = 0;
    heapBytes = 0;
    counting = true;
}

HostMemory::~HostMemory() { counting = false; }

size_t HostMemory::bytes() const
{
    const std::lock_guard<std::mutex> lock(ledger().mutex);
    return ledger().bytes;
}

int64 HostMemory::heap() const { return heapBytes; }

size_t HostMemory::most() const
{
    const std::lock_guard<std::mutex> lock(ledger().mutex);
    return ledger().most;
}

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

DeviceLimits fakedLimits() { return {fakedSharedBytes, fakedMultiprocessors}; }
int64 refusedByLimits() { return refused; }

FakedLimits::FakedLimits(DeviceLimits limits) : before_(fakedLimits())
{
    fakedSharedBytes = limits.sharedBytes;
    fakedMultiprocessors = limits.multiprocessors;
    forgetKernels(); // attributes of kernels are set once, to what there is
}
FakedLimits::~FakedLimits()
{
    fakedSharedBytes = before_.sharedBytes;
    fakedMultiprocessors = before_.multiprocessors;
    forgetKernels();
}

std::vector<Launched> launched()
{
    const std::lock_guard<std::mutex> lock(launchedMutex);
    return std::vector<Launched>(launchedKernels, launchedKernels + launchedCount);
}
void clearLaunched()
{
    const std::lock_guard<std::mutex> lock(launchedMutex);
    launchedCount = 0;
}

int64 allocations() { return asked; }
Live live() { return {deviceBlocks, pinnedBlocks, events, streams}; }

void forgetKernels()
{
#ifdef CUDATRACKING_WRAPS_CUDA
    cv::cuda::detail::forgetKernels();
#endif
}

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
    void* const memory = FAST_MALLOC(__real_)(bytes);
    if (counting)
    {
        Ledger& l = ledger();
        const std::lock_guard<std::mutex> lock(l.mutex);
        l.blocks[memory] = bytes;
        l.bytes += bytes;
        l.most = std::max(l.most, l.bytes);
    }
    return memory;
}

#define FAST_FREE(prefix) prefix##_ZN2cv8fastFreeEPv
extern "C" void FAST_FREE(__real_)(void* memory);
extern "C" void FAST_FREE(__wrap_)(void* memory);

extern "C" void FAST_FREE(__wrap_)(void* memory)
{
    if (counting)
    {
        Ledger& l = ledger();
        const std::lock_guard<std::mutex> lock(l.mutex);
        const auto block = l.blocks.find(memory);
        if (block != l.blocks.end()) // else it is older
        {
            l.bytes -= block->second;
            l.blocks.erase(block);
        }
    }
    FAST_FREE(__real_)(memory);
}

// All forms but the aligned ones: those of a sanitizer's runtime, unlike the library's, do not call the first of them.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept
{
    // OpenCV loses the memory of a Mat when there is none for its UMatData.
    const bool fails = bytes != sizeof(cv::UMatData) && strikes(MEMORY, "operator new");
    void* const memory = fails ? nullptr : std::malloc(bytes ? bytes : 1);
    countHeap(memory, 1);
    return memory;
}
void* operator new(size_t bytes)
{
    void* const memory = operator new(bytes, std::nothrow);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return operator new(bytes, std::nothrow); }
//! GCC takes malloc() and free() in it for those of different families where it sees both in one function.
#ifdef __GNUC__
__attribute__((noinline))
#endif
static void
giveBack(void* memory) noexcept
{
    countHeap(memory, -1);
    std::free(memory);
}
// Clang declares these only by -fsized-deallocation.
void operator delete(void* memory, size_t) noexcept;
void operator delete[](void* memory, size_t) noexcept;
void operator delete(void* memory) noexcept { giveBack(memory); }
void operator delete(void* memory, size_t) noexcept { giveBack(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { giveBack(memory); }
void operator delete[](void* memory) noexcept { giveBack(memory); }
void operator delete[](void* memory, size_t) noexcept { giveBack(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { giveBack(memory); }

#endif // CUDATRACKING_WRAPS_MEMORY

#ifdef CUDATRACKING_WRAPS_CUDA

thread_local FakeCuda* FakeCuda::current = nullptr;

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
    if (change > 0 && (&counter == &deviceBlocks || &counter == &pinnedBlocks))
        ++asked;
    return result;
}

} // namespace

// WRAP(function, parameters, arguments, error): the call itself, or that of FakeCuda, when it does not strike.
#define DECLARE(function, parameters)                                                                                  \
    extern "C" cudaError_t CUDARTAPI __real_##function parameters;                                                     \
    extern "C" cudaError_t CUDARTAPI __wrap_##function parameters;
#define WRAP(function, parameters, arguments, error)                                                                   \
    DECLARE(function, parameters)                                                                                      \
    cudaError_t CUDARTAPI __wrap_##function parameters                                                                 \
    {                                                                                                                  \
        if (strikes(CUDA, #function))                                                                                  \
            return failed(error);                                                                                      \
        return FakeCuda::current ? FakeCuda::current->function arguments : __real_##function arguments;                \
    }
#define WRAP_MAKING(function, parameters, arguments, error, counter)                                                   \
    DECLARE(function, parameters)                                                                                      \
    cudaError_t CUDARTAPI __wrap_##function parameters                                                                 \
    {                                                                                                                  \
        if (strikes(CUDA, #function))                                                                                  \
            return failed(error);                                                                                      \
        if (FakeCuda::current)                                                                                         \
            return FakeCuda::current->function arguments;                                                              \
        return counted(__real_##function arguments, counter, 1);                                                       \
    }
// Giving back never fails, but is counted.
#define WRAP_GIVING_BACK(function, parameters, arguments, any, counter)                                                \
    DECLARE(function, parameters)                                                                                      \
    cudaError_t CUDARTAPI __wrap_##function parameters                                                                 \
    {                                                                                                                  \
        if (FakeCuda::current)                                                                                         \
            return FakeCuda::current->function arguments;                                                              \
        return counted(__real_##function arguments, counter, (any) ? -1 : 0);                                          \
    }

// --- calls that limits of devices matter to --------------------------------------------------------------------------

DECLARE(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* kernel))
DECLARE(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* kernel, void** arguments))
DECLARE(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value))
DECLARE(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device))

namespace {

/** Notes what a kernel is given. Its attributes may be asked for during captures, as a kernel with dynamic memory has
been loaded.
@return false when a block of the faked device has not got so much. */
bool isGranted(const void* kernel, size_t dynamicBytes)
{
    if (FakeCuda::current)
        return true;
    const std::lock_guard<std::mutex> lock(launchedMutex);
    Launched* const end = launchedKernels + launchedCount;
    Launched* const entry =
        std::find_if(launchedKernels, end, [kernel](const Launched& k) { return k.kernel == kernel; });
    if (entry == end)
    {
        if (launchedCount == 1024)
            return true;
        *entry = {kernel, 0, 0};
        ++launchedCount;
    }
    if (dynamicBytes == 0)
        return true;
    if (entry->mostDynamicBytes == 0)
    {
        cudaFuncAttributes attributes;
        if (__real_cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess)
            return true; // the call itself fails likewise
        entry->staticBytes = attributes.sharedSizeBytes;
    }
    const size_t limit = static_cast<size_t>(fakedSharedBytes.load());
    if (limit > 0 && entry->staticBytes + dynamicBytes > limit)
    {
        ++refused;
        return false;
    }
    entry->mostDynamicBytes = std::max(entry->mostDynamicBytes, dynamicBytes);
    return true;
}

} // namespace

cudaError_t CUDARTAPI __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments)
{
    if (strikes(CUDA, "cudaLaunchKernelExC"))
        return failed(cudaErrorLaunchOutOfResources);
    if (!isGranted(kernel, config->dynamicSmemBytes))
        return failed(cudaErrorInvalidValue);
    return FakeCuda::current ? FakeCuda::current->cudaLaunchKernelExC(config, kernel, arguments)
                             : __real_cudaLaunchKernelExC(config, kernel, arguments);
}

cudaError_t CUDARTAPI __wrap_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value)
{
    if (strikes(CUDA, "cudaFuncSetAttribute"))
        return failed(cudaErrorInvalidValue);
    if (FakeCuda::current)
        return FakeCuda::current->cudaFuncSetAttribute(kernel, attribute, value);
    const int limit = fakedSharedBytes;
    cudaFuncAttributes attributes;
    if (limit > 0 && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
        __real_cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
        static_cast<int64>(attributes.sharedSizeBytes) + value > limit)
    {
        ++refused;
        return failed(cudaErrorInvalidValue);
    }
    return __real_cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t CUDARTAPI __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
{
    if (strikes(CUDA, "cudaDeviceGetAttribute"))
        return failed(cudaErrorInvalidDevice);
    if (FakeCuda::current)
        return FakeCuda::current->cudaDeviceGetAttribute(value, attribute, device);
    const cudaError_t result = __real_cudaDeviceGetAttribute(value, attribute, device);
    const DeviceLimits limits = fakedLimits();
    if (result != cudaSuccess)
        return result;
    if (limits.sharedBytes > 0 && attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
        *value = std::min(*value, limits.sharedBytes);
    if (limits.sharedBytes > 0 && limits.sharedBytes <= static_cast<int>(opencv_test::plans::SLOW_DOUBLES_BYTES) &&
        attribute == cudaDevAttrSingleToDoublePrecisionPerfRatio)
        *value = 64;
    // A multiprocessor has 1 KB more than a block can have, but for those with 64 KB.
    if (limits.sharedBytes > 0 && attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor)
        *value = std::min(*value, limits.sharedBytes + (limits.sharedBytes > 65536 ? 1024 : 0));
    if (limits.multiprocessors > 0 && attribute == cudaDevAttrMultiProcessorCount)
        *value = limits.multiprocessors;
    return result;
}

// --- all others ------------------------------------------------------------------------------------------------------

WRAP_MAKING(cudaMalloc, (void** p, size_t bytes), (p, bytes), cudaErrorMemoryAllocation, deviceBlocks)
WRAP_MAKING(cudaMallocPitch, (void** p, size_t* pitch, size_t width, size_t height), (p, pitch, width, height),
            cudaErrorMemoryAllocation, deviceBlocks)
WRAP_MAKING(cudaHostAlloc, (void** p, size_t bytes, unsigned flags), (p, bytes, flags), cudaErrorMemoryAllocation,
            pinnedBlocks)
WRAP_MAKING(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags), cudaErrorMemoryAllocation,
            events)
WRAP_MAKING(cudaStreamCreate, (cudaStream_t * stream), (stream), cudaErrorMemoryAllocation,
            streams) // by cv::cuda::Stream
WRAP_MAKING(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags),
            cudaErrorMemoryAllocation, streams)
WRAP_GIVING_BACK(cudaFree, (void* p), (p), p, deviceBlocks)
WRAP_GIVING_BACK(cudaFreeHost, (void* p), (p), p, pinnedBlocks)
WRAP_GIVING_BACK(cudaEventDestroy, (cudaEvent_t event), (event), event, events)
WRAP_GIVING_BACK(cudaStreamDestroy, (cudaStream_t stream), (stream), stream, streams)

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
#if CUDART_VERSION >= 13000 // what the launches of CUB come to
WRAP(__cudaLaunchKernel,
     (cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream),
     (kernel, grid, block, arguments, sharedBytes, stream), cudaErrorLaunchOutOfResources)
#else
WRAP(cudaLaunchKernel,
     (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream),
     (kernel, grid, block, arguments, sharedBytes, stream), cudaErrorLaunchOutOfResources)
#endif
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
#if CUDART_VERSION >= 12080
WRAP(cudaStreamGetDevice, (cudaStream_t stream, int* device), (stream, device), cudaErrorInvalidValue)
#endif
WRAP(cudaGetDevice, (int* device), (device), cudaErrorNoDevice)
WRAP(cudaDriverGetVersion, (int* version), (version), cudaErrorInvalidValue)
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
