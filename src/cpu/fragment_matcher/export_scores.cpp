// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// exportScores: the values of all positions as scores, in the caller's map.
#include "../../precomp.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

template <typename V>
void exportScores(const Scores<V>& scores, uint64_t W, int depth, int begin, int end, RowsView<void> map)
{
    const Plan& plan = scores.plan();
    for (int y = begin; y < end; ++y)
        for (int x = 0; x < scores.window().cols; ++x)
        {
            const uint64_t value = plan.unit * scores.value(x, y);
            if (depth == CV_32F)
                static_cast<float*>(map.row(y))[x] = scoreOf(value, plan.metric, W);
            else if (depth == CV_32S)
                static_cast<int*>(map.row(y))[x] = static_cast<int>(value);
            else
                static_cast<double*>(map.row(y))[x] = static_cast<double>(value);
        }
}

template void exportScores(const Scores<uint32_t>&, uint64_t, int, int, int, RowsView<void>);
template void exportScores(const Scores<uint64_t>&, uint64_t, int, int, int, RowsView<void>);

}}}} // namespace cv::cuda::fragment_matcher::cpu
