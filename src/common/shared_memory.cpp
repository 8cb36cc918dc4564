// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "cuda_check.hpp"
#include "shared_memory.hpp"
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace cv { namespace cuda { namespace detail {

size_t sharedBytesOfBlock()
{
    int bytes = 0;
    cudaCheck(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, currentDevice()),
              "shared memory of a block");
    return static_cast<size_t>(bytes);
}

int multiprocessors()
{
    int number = 0;
    cudaCheck(cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, currentDevice()),
              "multiprocessors of the device");
    return number;
}

void allowAllSharedMemory(const void* kernel, const char* name)
{
    static std::mutex mutex;
    static std::set<std::pair<const void*, int>> allowed; // kernel and device
    const std::pair<const void*, int> key(kernel, currentDevice());
    const std::lock_guard<std::mutex> lock(mutex);
    if (allowed.count(key))
        return;
    const OutsideOfCapture outside; // asking loads the kernel
    cudaFuncAttributes attributes;
    cudaCheck(cudaFuncGetAttributes(&attributes, kernel), name);
    const size_t most = sharedBytesOfBlock() - attributes.sharedSizeBytes;
    cudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)), name);
    allowed.insert(key);
}

bool canBeginEarly(const void* kernel, const char* name)
{
#if CUDART_VERSION >= 12030 // captures know it from then on
    static std::mutex mutex;
    static std::map<std::pair<const void*, int>, bool> known; // kernel and device
    const std::pair<const void*, int> key(kernel, currentDevice());
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(key);
    if (found != known.end())
        return found->second;
    const OutsideOfCapture outside; // asking loads the kernel
    cudaFuncAttributes attributes;
    cudaCheck(cudaFuncGetAttributes(&attributes, kernel), name);
    int major = 0;
    cudaCheck(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, key.second), name);
    // Older code, translated for this device, does not wait for the kernel before.
    return known[key] = major >= 9 && attributes.ptxVersion >= 90;
#else
    (void)kernel, (void)name;
    return false;
#endif
}

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
