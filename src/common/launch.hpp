// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The only place that launches kernels. For .cu files.
#ifndef OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP
#define OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP

#include "cuda_check.hpp"
#include "device.hpp"
#include "views.hpp"
#include <algorithm>
#include <climits>

namespace cv { namespace cuda { namespace detail {

//! Set to 1 (compiler option) to wait after every launch, so that an asynchronous fault names its kernel. Launches that
//! are being captured are left alone: they have not happened.
#ifndef CUDATRACKING_DEBUG_SYNC
#define CUDATRACKING_DEBUG_SYNC 0
#endif

//! Blocks of `threads` for n items, one per thread. What is more than any grid can have remains so, and checkGrid()
//! refuses it.
inline dim3 linearGrid(int64_t n, int threads)
{
    return dim3(static_cast<unsigned>(std::min<int64_t>(ceilDiv<int64_t>(n, threads), UINT_MAX)));
}

//! Throws when no device can have such a grid. @param name of the kernel.
inline void checkGrid(const char* name, dim3 grid, dim3 block)
{
    if (grid.x > 0x7fffffffu || grid.y > 65535u || grid.z > 65535u || block.x * block.y * block.z > 1024u)
        CV_Error_(Error::StsOutOfRange, ("kernel %s: grid %ux%ux%u of blocks %ux%ux%u exceeds the device's limits",
                                         name, grid.x, grid.y, grid.z, block.x, block.y, block.z));
}

//! Waits for the stream, unless it is being captured, which a wait would end. @param name of the kernel that it waits
//! for.
inline void waitForLaunch(const char* name, cudaStream_t stream)
{
    if (!isCapturing(stream))
        cudaCheck(cudaStreamSynchronize(stream), name);
}

/** Launches `kernel` on `stream`. An empty grid or block does nothing.
@param name for the error message. An error that stood before is neither reported nor taken away, unless this launch
fails.
@param early see launchEarly() */
template <typename... Params, typename... Args>
void launchAs(bool early, const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t sharedBytes,
              cudaStream_t stream, Args... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
        return;
    checkGrid(name, grid, block);
    if (sharedBytes > 0)
        allowSharedMemory(reinterpret_cast<const void*>(kernel), sharedBytes, name);
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = sharedBytes;
    config.stream = stream;
    cudaLaunchAttribute attribute = {};
    if (early && canBeginEarly(reinterpret_cast<const void*>(kernel), name))
    {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }
    cudaError_t error = cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
    if (error == cudaErrorInvalidValue && sharedBytes > 0)
    {
        // The permission may be gone: with the reset of a device, and in another context of the same device.
        forgetKernels();
        allowSharedMemory(reinterpret_cast<const void*>(kernel), sharedBytes, name);
        error = cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
        if (error == cudaSuccess)
            cudaGetLastError(); // the first launch's
    }
    cudaCheck(error, name);
#if CUDATRACKING_DEBUG_SYNC
    waitForLaunch(name, stream);
#endif
}

template <typename... Params, typename... Args>
void launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t sharedBytes, cudaStream_t stream,
            Args... args)
{
    launchAs(false, name, kernel, grid, block, sharedBytes, stream, args...);
}

/** Launches a kernel that may begin while the one before it on the stream still runs, as soon as all blocks of that one
have called letNextKernelBegin() or ended. All its blocks must call waitForKernelBefore(), and before that touch nothing
that the one before writes or reads for writing. Where the device cannot do that, kernels follow each other as
always. */
template <typename... Params, typename... Args>
void launchEarly(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t sharedBytes,
                 cudaStream_t stream, Args... args)
{
    launchAs(true, name, kernel, grid, block, sharedBytes, stream, args...);
}

#ifdef __CUDACC__

//! Waits until the kernel before has ended and all that it wrote can be seen.
__device__ __forceinline__ void waitForKernelBefore()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

__device__ __forceinline__ void letNextKernelBegin()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

#endif // __CUDACC__

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP
