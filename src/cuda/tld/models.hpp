// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions for the two copies of an object's model: copying the current one, and the last block of a launch.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_MODELS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_MODELS_HPP

#include "objects.hpp"
#include <cuda_runtime.h>

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Returns true to all threads of the last block of a launch, which then sees all writes of the others. @param done 0
//! between launches.
__device__ __forceinline__ bool isLastBlock(unsigned& done, unsigned blocks)
{
    __syncthreads(); // what all have written, which one thread releases and acquires for them
    bool last = false;
    if (threadIdx.x == 0)
    {
        // Fences around an atomic function would be sequentially consistent, which takes longer.
        unsigned before;
        asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(&done), "r"(blocks - 1) : "memory");
        last = before == blocks - 1;
    }
    return __syncthreads_or(last) != 0;
}

//! Copies a part of the current model over the other one, if that is not a copy of it. @param part index of the block
//! among `parts`.
__device__ __forceinline__ void copyModelPart(const ObjectRecord& object, int part, int parts)
{
    const int AT_ONCE = 4;
    Live& live = *object.live;
    if (!live.spareIsOld)
        return;
    const uint4* const from = reinterpret_cast<const uint4*>(object.models[live.model].leaves);
    uint4* const to = reinterpret_cast<uint4*>(object.models[1 - live.model].leaves);
    const int threads = static_cast<int>(blockDim.x), step = threads * parts;
    const int count = static_cast<int>(object.modelBytes / sizeof(uint4));
    for (int first = part * threads + static_cast<int>(threadIdx.x); first < count; first += AT_ONCE * step)
    {
        uint4 some[AT_ONCE];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            some[n] = from[::min(first + n * step, count - 1)];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            if (first + n * step < count)
                to[first + n * step] = some[n];
    }
    if (isLastBlock(live.copiesDone, parts) && threadIdx.x == 0)
        live.spareIsOld = 0;
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_MODELS_HPP
