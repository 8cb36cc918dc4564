// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The only place that launches kernels. For .cu files.
#ifndef OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP
#define OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP

#include "cuda_check.hpp"

namespace cv { namespace cuda { namespace detail {

//! Set to 1 (compiler option) to wait after every launch, so that an asynchronous fault names its kernel.
#ifndef CUDATRACKING_DEBUG_SYNC
#define CUDATRACKING_DEBUG_SYNC 0
#endif

//! Shared memory that a block gets without asking; the same on every supported device.
const size_t DEFAULT_SHARED_BYTES = 48 * 1024;

//! Shared memory that a block of the current device can have when it asks, static memory included.
inline size_t sharedBytesOfBlock()
{
    int device = 0, bytes = 0;
    cudaCheck(cudaGetDevice(&device), "the current device");
    cudaCheck(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
              "shared memory of a block");
    return static_cast<size_t>(bytes);
}

/** Launches `kernel` on `stream`. An empty grid or block does nothing.
@param name for the error message. */
template <typename... Params, typename... Args>
void launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t sharedBytes, cudaStream_t stream,
            Args... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
        return;
    if (grid.x > 0x7fffffffu || grid.y > 65535u || grid.z > 65535u || block.x * block.y * block.z > 1024u)
        CV_Error_(Error::StsOutOfRange, ("kernel %s: grid %ux%ux%u of blocks %ux%ux%u exceeds the device's limits",
                                         name, grid.x, grid.y, grid.z, block.x, block.y, block.z));
    if (sharedBytes > DEFAULT_SHARED_BYTES)
        cudaCheck(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sharedBytes)),
                  name);
    kernel<<<grid, block, sharedBytes, stream>>>(static_cast<Params>(args)...);
    cudaCheck(cudaPeekAtLastError(), name);
#if CUDATRACKING_DEBUG_SYNC
    cudaCheck(cudaStreamSynchronize(stream), name);
#endif
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP
