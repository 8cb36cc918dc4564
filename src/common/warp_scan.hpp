// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sums over the lower lanes of a warp, for .cu files. Apart from warp.hpp, because cub's headers take seconds to
// compile.
#ifndef OPENCV_CUDATRACKING_COMMON_WARP_SCAN_HPP
#define OPENCV_CUDATRACKING_COMMON_WARP_SCAN_HPP

#include <cub/warp/warp_scan.cuh>

namespace cv { namespace cuda { namespace detail {

//! Returns the sum of the values of this lane and of all lower ones. All 32 lanes call it.
template <typename T> __device__ __forceinline__ T sumUpToLane(T value)
{
    typedef cub::WarpScan<T> Scan;
    typename Scan::TempStorage unused; // whole warps scan by shuffles
    Scan(unused).InclusiveSum(value, value);
    return value;
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_WARP_SCAN_HPP
