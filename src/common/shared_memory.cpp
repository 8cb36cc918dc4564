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

namespace {

//! Facts about kernels, each on a device. An entry is made when all calls for it have gone well.
struct Kernels
{
    typedef std::pair<const void*, int> Key;

    std::mutex mutex;
    std::map<Key, size_t> dynamicBytes; //!< bytes of dynamic shared memory that the kernel has been allowed
    std::map<Key, bool> early;
    std::set<Key> preferShared; //!< kernels with the attribute of preferSharedMemory()
};

Kernels& kernels()
{
    static Kernels all;
    return all;
}

//! Shared memory of a block beside the kernel's static part, in bytes.
size_t dynamicBytesOf(const void* kernel, const char* name)
{
    cudaFuncAttributes attributes;
    cudaCheck(cudaFuncGetAttributes(&attributes, kernel), name);
    const size_t all = sharedBytesOfBlock();
    return all > attributes.sharedSizeBytes ? all - attributes.sharedSizeBytes : 0;
}

} // namespace

void allowSharedMemory(const void* kernel, size_t bytes, const char* name)
{
    const Kernels::Key key(kernel, currentDevice());
    Kernels& known = kernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    auto entry = known.dynamicBytes.find(key);
    if (entry == known.dynamicBytes.end())
    {
        const OutsideOfCapture outside; // asking loads the kernel
        const size_t most = dynamicBytesOf(kernel, name);
        cudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)),
                  name);
        entry = known.dynamicBytes.emplace(key, most).first;
    }
    if (bytes > entry->second)
        CV_Error_(Error::StsOutOfRange,
                  ("kernel %s: %zu bytes of dynamic shared memory per block are asked for, but device %d has %zu bytes "
                   "beside the kernel's static ones",
                   name, bytes, key.second, entry->second));
}

void preferSharedMemory(const void* kernel, const char* name)
{
    const Kernels::Key key(kernel, currentDevice());
    Kernels& known = kernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    if (known.preferShared.count(key) != 0)
        return;
    const OutsideOfCapture outside; // setting it loads the kernel
    cudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   static_cast<int>(cudaSharedmemCarveoutMaxShared)),
              name);
    known.preferShared.insert(key);
}

bool canBeginEarly(const void* kernel, const char* name)
{
    const Kernels::Key key(kernel, currentDevice());
    Kernels& known = kernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.early.find(key);
    if (found != known.early.end())
        return found->second;
    const OutsideOfCapture outside; // asking loads the kernel
    int driver = 0, major = 0;
    cudaCheck(cudaDriverGetVersion(&driver), name);
    cudaCheck(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, key.second), name);
    cudaFuncAttributes attributes;
    cudaCheck(cudaFuncGetAttributes(&attributes, kernel), name);
    // Older code, translated for this device, does not wait for the kernel before.
    const bool can = driver >= 12030 && major >= 9 && attributes.ptxVersion >= 90;
    known.early.emplace(key, can);
    return can;
}

void forgetKernels()
{
    Kernels& known = kernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    known.dynamicBytes.clear();
    known.early.clear();
    known.preferShared.clear();
}

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
