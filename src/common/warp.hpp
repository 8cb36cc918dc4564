// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Reductions over a whole warp, for .cu files. All 32 lanes call them, and all get the result.
//
// cub::WarpReduce gives the result to lane 0 only, and took more instructions wherever it was tried: 11 for the largest
// of 32-bit values (CUDA 13.0, sm_90).
#ifndef OPENCV_CUDATRACKING_COMMON_WARP_HPP
#define OPENCV_CUDATRACKING_COMMON_WARP_HPP

#include <cstdint>

namespace cv { namespace cuda { namespace detail {

const unsigned ALL_LANES = 0xffffffffu;

//! Combines the values of all lanes. @param combine associative and commutative: combine(a, b) returns a value.
template <typename T, typename Combine> __device__ __forceinline__ T combineLanes(T value, Combine combine)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(ALL_LANES, value, distance));
    return value;
}

// 32-bit integers are reduced by one instruction from compute capability 8.0 on.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ int sumOfWarp(int value) { return __reduce_add_sync(ALL_LANES, value); }
__device__ __forceinline__ int leastOfWarp(int value) { return __reduce_min_sync(ALL_LANES, value); }
__device__ __forceinline__ uint32_t leastOfWarp(uint32_t value) { return __reduce_min_sync(ALL_LANES, value); }
__device__ __forceinline__ uint32_t largestOfWarp(uint32_t value) { return __reduce_max_sync(ALL_LANES, value); }
#else
__device__ __forceinline__ int sumOfWarp(int value)
{
    return combineLanes(value, [](int a, int b) { return a + b; });
}
__device__ __forceinline__ int leastOfWarp(int value)
{
    return combineLanes(value, [](int a, int b) { return ::min(a, b); });
}
__device__ __forceinline__ uint32_t leastOfWarp(uint32_t value)
{
    return combineLanes(value, [](uint32_t a, uint32_t b) { return ::min(a, b); });
}
__device__ __forceinline__ uint32_t largestOfWarp(uint32_t value)
{
    return combineLanes(value, [](uint32_t a, uint32_t b) { return ::max(a, b); });
}
#endif

__device__ __forceinline__ uint64_t sumOfWarp(uint64_t value)
{
    return combineLanes(value, [](uint64_t a, uint64_t b) { return a + b; });
}
//! Returns the largest of values that are not negative, as such values are in the order of their bits.
__device__ __forceinline__ double largestOfWarp(double value)
{
    const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(value));
    const uint32_t upper = largestOfWarp(static_cast<uint32_t>(bits >> 32));
    const uint32_t lower = largestOfWarp(bits >> 32 == upper ? static_cast<uint32_t>(bits) : 0u);
    return __longlong_as_double(static_cast<long long>(static_cast<uint64_t>(upper) << 32 | lower));
}
__device__ __forceinline__ float leastOfWarp(float value)
{
    return combineLanes(value, [](float a, float b) { return fminf(a, b); });
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_WARP_HPP
