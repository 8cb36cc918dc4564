// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Weights of vectors of pairs, for .simd.hpp files: core.hpp's weightBits() - WEIGHT_BIAS in each lane.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_WEIGHTS_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_WEIGHTS_HPP

#include "colours.hpp"

namespace cv { namespace cuda { namespace quick_shift {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Weights of pairs with one spatial factor.
struct PairWeights
{
    v_float32 rate, spatial, c0, c1, c2, c3, c4;

    PairWeights(float minusRate, float spatialFactor)
    {
        const float c[5] = {CT_QUICK_SHIFT_EXP2};
        rate = vx_setall_f32(minusRate);
        spatial = vx_setall_f32(spatialFactor);
        c0 = vx_setall_f32(c[0]);
        c1 = vx_setall_f32(c[1]);
        c2 = vx_setall_f32(c[2]);
        c3 = vx_setall_f32(c[3]);
        c4 = vx_setall_f32(c[4]);
    }
    //! Returns the weights of pairs of these squared colour distances.
    v_uint32 operator()(const v_float32& dc) const
    {
        const v_float32 y = v_max(multiplyAdd(dc, rate, vx_setall_f32(COLOUR_TOP)), vx_setall_f32(COLOUR_BOTTOM));
        const v_uint32 shifted = v_shl<5>(v_reinterpret_as_u32(y));
        const v_uint32 mantissa = v_or(v_and(shifted, vx_setall_u32(0x007fffffu)), vx_setall_u32(0x3f800000u));
        const v_float32 m = v_reinterpret_as_f32(mantissa);
        const v_float32 p = multiplyAdd(multiplyAdd(multiplyAdd(multiplyAdd(c4, m, c3), m, c2), m, c1), m, c0);
        const v_float32 twice = v_reinterpret_as_f32(v_add(shifted, v_sub(v_reinterpret_as_u32(p), mantissa)));
        return v_sub(v_reinterpret_as_u32(multiplyAdd(twice, spatial, vx_setall_f32(2.f))), vx_setall_u32(WEIGHT_BIAS));
    }
};

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_WEIGHTS_HPP
