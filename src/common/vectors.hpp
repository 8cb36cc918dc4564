// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Operations on vectors that several algorithms' loops need, for the instruction set of the file that includes this.
#ifndef OPENCV_CUDATRACKING_COMMON_VECTORS_HPP
#define OPENCV_CUDATRACKING_COMMON_VECTORS_HPP

#include "opencv2/core/hal/intrin.hpp"

#if !CV_SIMD || !CV_SIMD_64F
#error "cudatracking needs OpenCV's universal intrinsics with vectors of doubles (x86-64, AArch64)"
#endif

namespace cv { namespace cuda { namespace detail {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Converts integers from 0 to 2^52 - 1 to double: their bits become the fraction of 2^52 + value.
inline v_float64 doubleOf(const v_uint64& integers)
{
    const v_uint64 exponent =
        vx_setall_u64(uint64_t(0x433) << 52); // that of 2^52, whose fraction has a lowest bit of value 1
    return v_sub(v_reinterpret_as_f64(v_or(integers, exponent)), vx_setall_f64(4503599627370496.));
}

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_VECTORS_HPP
