// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// windowAreas, windowField: search areas of a grid of windows, and matches as a field.
#include "../../precomp.hpp"
#include "../../fragment_matcher/stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

template <typename Work> static void writeAll(const Work& work)
{
    for (int i = 0; i < work.grid.cols * work.grid.rows; ++i)
        work.write(i);
}

void windowAreas(const AreasOfWindows& work) { writeAll(work); }
void windowField(const FieldOfWindows& work) { writeAll(work); }

}}}} // namespace cv::cuda::fragment_matcher::cpu
