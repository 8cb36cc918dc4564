// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// walk: the value of a single position, compiled once per instruction set. The integers are those of the kernels for
// many positions (src/cpu/fragment_matcher/score.simd.hpp).
#include "scores.hpp"
#include "opencv2/core/hal/intrin.hpp"
#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
#include "scores_metric.hpp"
#endif

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Returns the value of the position at the origin of `planes`, in the unit of the map.
uint64_t scorePosition(const Plan& plan, const Planes& planes);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

uint64_t scorePosition(const Plan& plan, const Planes& planes) { return positionValue(plan, planes); }

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu
