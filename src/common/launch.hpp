// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The only place that launches kernels. For .cu files.
#ifndef OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP
#define OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP

#include "cuda_check.hpp"
#include "shared_memory.hpp"
#include "views.hpp"

namespace cv { namespace cuda { namespace detail {

//! Set to 1 (compiler option) to wait after every launch, so that an asynchronous fault names its kernel.
#ifndef CUDATRACKING_DEBUG_SYNC
#define CUDATRACKING_DEBUG_SYNC 0
#endif

//! Blocks of `threads` for n items, one a thread.
inline dim3 linearGrid(int64_t n, int threads) { return dim3(static_cast<unsigned>(ceilDiv<int64_t>(n, threads))); }

/** Launches `kernel` on `stream`. An empty grid or block does nothing.
@param name for the error message. An error that stood before is neither reported nor taken away, unless this launch fails. */
template <typename... Params, typename... Args>
void launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t sharedBytes, cudaStream_t stream,
            Args... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
        return;
    if (grid.x > 0x7fffffffu || grid.y > 65535u || grid.z > 65535u || block.x * block.y * block.z > 1024u)
        CV_Error_(Error::StsOutOfRange, ("kernel %s: grid %ux%ux%u of blocks %ux%ux%u exceeds the device's limits",
                                         name, grid.x, grid.y, grid.z, block.x, block.y, block.z));
    if (sharedBytes > 0)
        allowAllSharedMemory(reinterpret_cast<const void*>(kernel), name);
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = sharedBytes;
    config.stream = stream;
    cudaCheck(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...), name);
#if CUDATRACKING_DEBUG_SYNC
    cudaCheck(cudaStreamSynchronize(stream), name);
#endif
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_LAUNCH_HPP
