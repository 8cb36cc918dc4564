// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Words of device memory by which blocks that run at the same time hand over data. A block may wait only for blocks
// that run already: nothing says when others begin.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_HANDOVER_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_HANDOVER_HPP

namespace cv { namespace cuda { namespace cascade { namespace gpu {

//! Stores a word that others wait for. They see all that this thread stored before.
__device__ __forceinline__ void storeForOthers(int* word, int value)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#else
    *word = value;
#endif
}

//! Adds to such a word. Others see all that this thread stored before, and what it knows that its block stored.
__device__ __forceinline__ void addForOthers(int* word, int value)
{
#ifdef __CUDA_ARCH__
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#else
    *word += value;
#endif
}

//! Loads such a word. What was stored before it is seen only after seeOthers(), which costs more than the load.
__device__ __forceinline__ int loadOfOthers(const int* word)
{
    int value = 0;
#ifdef __CUDA_ARCH__
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
#else
    value = *word;
#endif
    return value;
}

__device__ __forceinline__ void seeOthers()
{
#ifdef __CUDA_ARCH__
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_HANDOVER_HPP
