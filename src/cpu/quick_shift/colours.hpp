// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Vectors of floats in QuickShift's CPU stages, for .simd.hpp files: core.hpp's multiplyAdd() and colourDistance() in
// each lane.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP

#include "opencv2/core/hal/intrin.hpp"
#include "../../quick_shift/core.hpp"

//! 1: vectors have a fused multiply-add. 0: vectors of doubles emulate it.
#if CV_FMA3 || CV_AVX512_SKX || CV_NEON_AARCH64 || defined(__aarch64__)
#define CT_QUICK_SHIFT_FUSED 1
#else
#define CT_QUICK_SHIFT_FUSED 0
#endif

namespace cv { namespace cuda { namespace quick_shift {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Template argument CHANNELS where their number is known at run time only: images of more than FEW_CHANNELS.
const int ANY = 0;

#if CT_QUICK_SHIFT_FUSED

//! Returns a b + c, rounded once.
inline v_float32 multiplyAdd(const v_float32& a, const v_float32& b, const v_float32& c) { return v_fma(a, b, c); }

#else

//! Returns true if the sum of a lane, rounded to double and then to float, may differ from that rounded once: see
//! emulatedMultiplyAdd(). @param result the floats.
inline bool mayBeRoundedTwice(const v_float64& low, const v_float64& high, const v_float32& result)
{
    const v_uint32 mask = v_reinterpret_as_u32(vx_setall_u64(0x1fffffffu));
    const v_uint32 tie = v_reinterpret_as_u32(vx_setall_u64(0xffffffff10000000u)); // never equal in upper halves
    const v_uint32 ties =
        v_or(v_eq(v_and(v_reinterpret_as_u32(low), mask), tie), v_eq(v_and(v_reinterpret_as_u32(high), mask), tie));
    const v_int32 size = v_and(v_reinterpret_as_s32(result), vx_setall_s32(0x7fffffff));
    const v_int32 small = v_and(v_gt(size, vx_setzero_s32()), v_le(size, vx_setall_s32(0x00800000)));
    return v_check_any(v_or(v_reinterpret_as_s32(ties), small));
}

//! Returns a b + c, rounded once, by sums in double precision. The rare lanes that these may round twice are left to
//! core.hpp.
inline v_float32 multiplyAdd(const v_float32& a, const v_float32& b, const v_float32& c)
{
    const v_float64 low = v_add(v_mul(v_cvt_f64(a), v_cvt_f64(b)), v_cvt_f64(c));
    const v_float64 high = v_add(v_mul(v_cvt_f64_high(a), v_cvt_f64_high(b)), v_cvt_f64_high(c));
    const v_float32 result = v_cvt_f32(low, high);
    if (!mayBeRoundedTwice(low, high, result))
        return result;
    const int LANES = VTraits<v_float32>::max_nlanes;
    float factor[LANES], other[LANES], sum[LANES];
    v_store(factor, a);
    v_store(other, b);
    v_store(sum, c);
    for (int i = 0; i < VTraits<v_float32>::vlanes(); ++i)
        sum[i] = emulatedMultiplyAdd(factor[i], other[i], sum[i]);
    return vx_load(sum);
}

#endif

/** Adds the square of one channel's difference to the squared distance `dc`, which channel 0 begins.
@tparam WEIGHTED true: the difference is multiplied by `factor` first.
@tparam EXACT true: squares and their sums are integers that floats hold, or d is OUTSIDE's. Then a product and a sum
have the bits of a fused multiply-add. */
template <bool WEIGHTED, bool EXACT>
inline v_float32 addChannel(const v_float32& dc, int channel, const v_float32& a, const v_float32& b,
                            const v_float32& factor)
{
    v_float32 d = v_sub(a, b);
    if (WEIGHTED)
        d = v_mul(d, factor);
    if (channel == 0)
        return v_mul(d, d);
    return EXACT && !CT_QUICK_SHIFT_FUSED ? v_add(v_mul(d, d), dc) : multiplyAdd(d, d, dc);
}

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP
