// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// FragmentMatcher: matrix instructions on bytes.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_MMA_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_MMA_HPP

#include <cstdint>

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

/** Adds the product a b, a of 16 x 32 and b of 32 x 8 bytes, to sums; by a warp, exact modulo 2^32. With g = lane / 4,
t = lane % 4:
    a[0]     row g, columns 4t .. 4t+3; a[2]: row g, columns 4t+16 .. 4t+19; a[1], a[3]: these columns of row g + 8
    b[0]     column g, rows 4t .. 4t+3; b[1]: rows 4t+16 .. 4t+19
    sums[0]  row g, column 2t; sums[1]: column 2t + 1; sums[2], sums[3]: these columns of row g + 8 */
__device__ __forceinline__ void multiplyAdd(uint32_t (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else // products of 8 x 16 by 16 x 8 bytes, whose operands are laid out like a quarter of the above
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int k = 0; k < 2; ++k)
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+r"(sums[2 * half]), "+r"(sums[2 * half + 1])
                         : "r"(a[half + 2 * k]), "r"(b[k]));
#endif
}

//! Adds the product a b for signed bytes of b.
__device__ __forceinline__ void multiplyAddSigned(uint32_t (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int k = 0; k < 2; ++k)
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+r"(sums[2 * half]), "+r"(sums[2 * half + 1])
                         : "r"(a[half + 2 * k]), "r"(b[k]));
#endif
}

//! Adds the product a b for a of 16 x 16 and b of 16 x 8 bytes.
__device__ __forceinline__ void multiplyAdd(uint32_t (&sums)[4], const uint32_t (&a)[2], uint32_t b)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
#else
#pragma unroll
    for (int half = 0; half < 2; ++half)
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+r"(sums[2 * half]), "+r"(sums[2 * half + 1])
                     : "r"(a[half]), "r"(b));
#endif
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_MMA_HPP
