// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: calls with few fragments, in which the kernels that follow the search take a large part of the time.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FEW_AREAS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FEW_AREAS_HPP

#include "../../../common/launch.hpp"
#include "layout.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Most fragments whose areas listLargerAreas() looks at with few threads, and during the kernel before.
const int FEW_AREAS = 128;

} // namespace tuning

#ifdef __CUDACC__
namespace device {

//! Lets listLargerAreas(), which waits for all results, begin while this kernel still runs. With many fragments it
//! would take room from their blocks.
__device__ __forceinline__ void letListBegin(const gpu::Batch& batch)
{
    if (batch.count <= tuning::FEW_AREAS)
        detail::letNextKernelBegin();
}

} // namespace device
#endif

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FEW_AREAS_HPP
