// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Colour distances of vectors of pixels, for .simd.hpp files: core.hpp's colourDistance() in each lane.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP

#include "opencv2/core/hal/intrin.hpp"

namespace cv { namespace cuda { namespace quick_shift {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

#if CV_SIMD || CV_SIMD_SCALABLE

/** Adds the square of one channel's difference to the squared distance `dc`, which channel 0 begins.
@tparam WEIGHTED true: the difference is multiplied by `factor` first. */
template <bool WEIGHTED>
inline v_float32 addChannel(const v_float32& dc, int channel, const v_float32& a, const v_float32& b,
                            const v_float32& factor)
{
    v_float32 d = v_sub(a, b);
    if (WEIGHTED)
        d = v_mul(d, factor);
    return channel == 0 ? v_mul(d, d) : v_fma(d, d, dc);
}

#endif

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_COLOURS_HPP
