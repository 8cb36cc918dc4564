// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: the value of a position of images of 16 bits.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_VALUE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_VALUE_HPP

#include "../common/device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Returns the value of a position, without weights divided by 255 (SSD).
template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ uint64_t valueOf(const DeepSums& sums, const TemplateSums& templ, double deviation)
{
    constexpr uint64_t Q = WEIGHTED ? 1 : 255;
    if (!isCorrelation(METRIC))
        return templ.qT2 / Q - 2 * sums.cross + sums.squares;
    const DeepSums weighted = {
        Q * sums.cross, Q * sums.squares, {Q * sums.image[0], Q * sums.image[1], Q * sums.image[2]}};
    return znccToValue(deepZnccScore(weighted, templ, CHANNELS, deviation));
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_VALUE_HPP
