// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The routes of FragmentMatcher's CUDA backend, the preferred first.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "route.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

extern const Route FUSED_BANDS, FUSED, BANDS, BOUNDED_TILES, TILES, SLICES, TRANSFORMS, FUSED_DEEP_BANDS, DEEP_BANDS;

const Route* const ROUTES[] = {&FUSED_BANDS,      &FUSED,     &BANDS, &BOUNDED_TILES, &TILES, &SLICES, &TRANSFORMS,
                               &FUSED_DEEP_BANDS, &DEEP_BANDS};
const size_t ROUTE_COUNT = sizeof(ROUTES) / sizeof(ROUTES[0]);

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
