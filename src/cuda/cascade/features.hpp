// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Features, trees and stages on the device from the model's own arrays: for models without fixed point or with fractional weights, features
// too large for pairs, and integral images in device memory.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_FEATURES_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_FEATURES_HPP

#include "classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

template <FeatureType TYPE>
__device__ __forceinline__ bool goesLeft(const ModelView& model, const Shape& shape, int index, const uint32_t* window,
                                         float norm)
{
    const Node node = model.nodes[index];
    if constexpr (TYPE == HAAR)
    {
        const HaarFeature& feature = model.haar[node.feature];
        const uint32_t* const table = window + (feature.tilted ? shape.words : 0);
        return haarGoesLeft(haarValue(feature, [&](int x, int y) { return table[shape.place(x, y)]; }), norm,
                            node.threshold);
    }
    else
    {
        static_assert(TYPE == LBP, "every feature type needs its own evaluation");
        return lbpGoesLeft(model.subsets + static_cast<size_t>(index) * SUBSET_WORDS,
                           lbpCode(model.lbp[node.feature], [&](int x, int y) { return window[shape.place(x, y)]; }));
    }
}

//! Adds up the leaves of a stage for one window.
template <FeatureType TYPE>
__device__ __noinline__ double sumOf(const ModelView& model, const Shape& shape, const StageRecord& stage,
                                     const uint32_t* window, float norm)
{
    double sum = 0.;
    for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
    {
        int at = model.trees[t].firstNode;
        do
        {
            const Node& node = model.nodes[at];
            at = goesLeft<TYPE>(model, shape, at, window, norm) ? node.left : node.right;
        }
        while (at >= 0);
        sum += static_cast<double>(model.leaves[~at]);
    }
    return sum;
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_FEATURES_HPP
