// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "cuda_check.hpp"
#include "device.hpp"
#include <map>
#include <mutex>
#include <utility>

namespace cv { namespace cuda { namespace detail {

namespace {

int attributeOf(int device, cudaDeviceAttr attribute, const char* what)
{
    int value = 0;
    cudaCheck(cudaDeviceGetAttribute(&value, attribute, device), what);
    return value;
}

} // namespace

size_t sharedBytesOfBlock()
{
    return static_cast<size_t>(
        attributeOf(currentDevice(), cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory of a block"));
}

int multiprocessors()
{
    return attributeOf(currentDevice(), cudaDevAttrMultiProcessorCount, "multiprocessors of the device");
}

bool fastDoubles()
{
    // The attribute says how many times single precision is as fast: 2 on compute capabilities 8.0, 9.0 and 10.0, 32
    // or 64 on all others from 7.5 on. So the limit may stand anywhere in between.
    return attributeOf(currentDevice(), cudaDevAttrSingleToDoublePrecisionPerfRatio, "throughput of the device") <= 4;
}

namespace {

//! Known facts about kernels, each on a device. An entry is made when all calls for it have gone well.
struct KernelAttributes
{
    typedef std::pair<const void*, int> Key; //!< kernel and device

    std::mutex mutex;
    std::map<Key, size_t> dynamicBytes; //!< dynamic shared memory that the kernel has been allowed, bytes
    std::map<Key, bool> beginsEarly;    //!< results of canBeginEarly()
};

KernelAttributes& attributesOfKernels()
{
    static KernelAttributes all;
    return all;
}

//! Shared memory of a block beside the kernel's static part, in bytes.
size_t dynamicBytesOf(const void* kernel, const char* name)
{
    cudaFuncAttributes attributes;
    cudaCheck(cudaFuncGetAttributes(&attributes, kernel), name);
    return SharedLimit(sharedBytesOfBlock()).dynamicBytes(attributes.sharedSizeBytes);
}

} // namespace

void allowSharedMemory(const void* kernel, size_t bytes, const char* name)
{
    const KernelAttributes::Key key(kernel, currentDevice());
    KernelAttributes& known = attributesOfKernels();
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

bool canBeginEarly(const void* kernel, const char* name)
{
    const KernelAttributes::Key key(kernel, currentDevice());
    KernelAttributes& known = attributesOfKernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.beginsEarly.find(key);
    if (found != known.beginsEarly.end())
        return found->second;
    const OutsideOfCapture outside; // asking loads the kernel
    int driver = 0;
    cudaCheck(cudaDriverGetVersion(&driver), name);
    const int major = attributeOf(key.second, cudaDevAttrComputeCapabilityMajor, name);
    cudaFuncAttributes attributes;
    cudaCheck(cudaFuncGetAttributes(&attributes, kernel), name);
    // Older code, translated for this device, does not wait for the kernel before.
    const bool can = driver >= 12030 && major >= 9 && attributes.ptxVersion >= 90;
    known.beginsEarly.emplace(key, can);
    return can;
}

void forgetKernels()
{
    KernelAttributes& known = attributesOfKernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    known.dynamicBytes.clear();
    known.beginsEarly.clear();
}

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
