// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Weights of vectors of pairs, for .simd.hpp files: core.hpp's weightBits() - WEIGHT_BIAS in each lane.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_WEIGHTS_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_WEIGHTS_HPP

#include "colours.hpp"

namespace cv { namespace cuda { namespace quick_shift {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

#if CT_QUICK_SHIFT_FUSED

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
        const v_float32 y = v_max(v_fma(dc, rate, vx_setall_f32(COLOUR_TOP)), vx_setall_f32(COLOUR_BOTTOM));
        const v_uint32 shifted = v_shl<5>(v_reinterpret_as_u32(y));
        const v_uint32 mantissa = v_or(v_and(shifted, vx_setall_u32(0x007fffffu)), vx_setall_u32(0x3f800000u));
        const v_float32 m = v_reinterpret_as_f32(mantissa);
        const v_float32 p = v_fma(v_fma(v_fma(v_fma(c4, m, c3), m, c2), m, c1), m, c0);
        const v_float32 twice = v_reinterpret_as_f32(v_add(shifted, v_sub(v_reinterpret_as_u32(p), mantissa)));
        return v_sub(v_reinterpret_as_u32(v_fma(twice, spatial, vx_setall_f32(2.f))), vx_setall_u32(WEIGHT_BIAS));
    }
};

#else

/** Weights of pairs with one spatial factor, without fused multiply-add: in double precision, where products of floats
are exact.
  y       is 32 - q / 2^19, as floats in [16,32] have this spacing: q = round(dc rate 2^19), at most 2^23.
  p(m)    m has 18 fractional bits and the coefficients at most 32, so all sums before rounding are multiples of 2^-48
  below 4,
          which are exact. All is multiplied by 2^23, which changes no rounding, so that p in [1,2] becomes an integer.
  weight  is round(t s 2^22), t twice the colour factor and s the spatial one, as floats in [2,4] have the spacing
  2^-22. */
struct PairWeights
{
    v_float64 rate, most, spatial, c0, c1, c2, c3, c4;

    PairWeights(float minusRate, float spatialFactor)
    {
        const float c[5] = {CT_QUICK_SHIFT_EXP2};
        rate = vx_setall_f64(-0x1p19 * minusRate);
        most = vx_setall_f64(0x1p23);
        spatial = vx_setall_f64(0x1p22 * spatialFactor);
        c0 = vx_setall_f64(0x1p23 * c[0]);
        c1 = vx_setall_f64(0x1p23 * c[1]);
        c2 = vx_setall_f64(0x1p23 * c[2]);
        c3 = vx_setall_f64(0x1p23 * c[3]);
        c4 = vx_setall_f64(0x1p23 * c[4]);
    }
    static v_float64 toFloat(const v_float64& x) { return v_cvt_f64(v_cvt_f32(x)); }
    //! Returns 2^23 p(m), the last sum not yet rounded.
    v_float64 polynomial(const v_float64& m) const
    {
        const v_float64 p = toFloat(v_add(v_mul(toFloat(v_add(v_mul(c4, m), c3)), m), c2));
        return v_add(v_mul(toFloat(v_add(v_mul(p, m), c1)), m), c0);
    }
    //! Returns the weights of pairs of these squared colour distances.
    v_uint32 operator()(const v_float32& dc) const
    {
        const v_float64 low = v_min(v_mul(v_cvt_f64(dc), rate), most),
                        high = v_min(v_mul(v_cvt_f64_high(dc), rate), most);
        const v_uint32 q = v_reinterpret_as_u32(v_round(low, high));
        const v_uint32 shifted = v_sub(vx_setall_u32(0x42000000u << 5), v_shl<5>(q)); // 0x42000000: bits of 32
        const v_uint32 one = vx_setall_u32(0x3f800000u);
        const v_uint32 mantissa = v_or(v_and(shifted, vx_setall_u32(0x007fffffu)), one);
        const v_float32 m = v_reinterpret_as_f32(mantissa);
        const v_uint32 p =
            v_reinterpret_as_u32(v_round(polynomial(v_cvt_f64(m)), polynomial(v_cvt_f64_high(m)))); // 2^23 to 2^24
        const v_uint32 bits = v_add(p, vx_setall_u32(0x3f800000u - 0x00800000u));
        const v_float32 twice = v_reinterpret_as_f32(v_add(shifted, v_sub(bits, mantissa)));
        return v_reinterpret_as_u32(v_round(v_mul(v_cvt_f64(twice), spatial), v_mul(v_cvt_f64_high(twice), spatial)));
    }
};

#endif

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_WEIGHTS_HPP
