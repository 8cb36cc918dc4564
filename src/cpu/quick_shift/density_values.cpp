// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage densityValues on the CPU.
#include "../../precomp.hpp"
#include "../../quick_shift/stages.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

void densityValues(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out)
{
    for (int y = 0; y < extent.rows * extent.count; ++y)
        for (int x = 0; x < extent.cols; ++x)
            out.row(y)[x] = keyDensity(*keys++, parameters);
}

}}}} // namespace cv::cuda::quick_shift::cpu
