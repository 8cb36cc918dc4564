// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: what the routes have in common whose kernels keep a whole search window in the shared memory of one
// block. Host code.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ONE_BLOCK_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ONE_BLOCK_HPP

#include "case.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Most shared memory per block, so that two blocks fit a multiprocessor.
const size_t ONE_BLOCK_SHARED_BYTES = 100 * 1024;

} // namespace tuning

namespace gpu {

//! Dynamic shared memory per block before images and templates; the kernels assert that their scratch fits.
const size_t ONE_BLOCK_SCRATCH_BYTES = 688;
/** Upper bound of the static shared memory of these kernels, which plans leave free. Common_CudaPlans.staticMemory
compares it with the compiled kernels. */
const size_t ONE_BLOCK_STATIC_BYTES = 0;

} // namespace gpu

//! Returns the most dynamic shared memory that lets two blocks fit a multiprocessor, as far as the device has it.
inline size_t oneBlockBytes(const MatchCase& given)
{
    return std::min(tuning::ONE_BLOCK_SHARED_BYTES, given.shared.dynamicBytes(gpu::ONE_BLOCK_STATIC_BYTES));
}

//! Returns the words of the values of a window, which sub-pixel offsets need.
inline int mapWordsOf(Extent window, const MatchCase& given)
{
    return window.width * window.height * (wideValues(given.metric, given.weighted, false) ? 2 : 1);
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ONE_BLOCK_HPP
