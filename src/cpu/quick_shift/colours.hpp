// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Vectors of floats in QuickShift's CPU stages, for .simd.hpp files: core.hpp's multiplyAdd() and colourDistance() in
// each lane.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP

#include "opencv2/core/hal/intrin.hpp"
#include "../../quick_shift/core.hpp"

namespace cv { namespace cuda { namespace quick_shift {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Template argument CHANNELS where their number is known at run time only: images of more than FEW_CHANNELS.
const int ANY = 0;

//! Returns a b + c, rounded once: lane by lane where vectors have no fused multiply-add.
inline v_float32 multiplyAdd(const v_float32& a, const v_float32& b, const v_float32& c)
{
#if CV_FMA3 || CV_AVX512_SKX || CV_NEON_AARCH64 || defined(__aarch64__)
    return v_fma(a, b, c);
#else
    const int LANES = VTraits<v_float32>::max_nlanes;
    float factor[LANES], other[LANES], sum[LANES];
    v_store(factor, a);
    v_store(other, b);
    v_store(sum, c);
    for (int i = 0; i < VTraits<v_float32>::vlanes(); ++i)
        sum[i] = std::fma(factor[i], other[i], sum[i]);
    return vx_load(sum);
#endif
}

/** Adds the square of one channel's difference to the squared distance `dc`, which channel 0 begins.
@tparam WEIGHTED true: the difference is multiplied by `factor` first. */
template <bool WEIGHTED>
inline v_float32 addChannel(const v_float32& dc, int channel, const v_float32& a, const v_float32& b,
                            const v_float32& factor)
{
    v_float32 d = v_sub(a, b);
    if (WEIGHTED)
        d = v_mul(d, factor);
    return channel == 0 ? v_mul(d, d) : multiplyAdd(d, d, dc);
}

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP
