// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, windowAreas and windowField: search areas of a grid of windows, and matches as a field. Bound by
// latency.

#include "../../../common/launch.hpp"
#include "../../../fragment_matcher/stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

const int THREADS = 128;

template <typename Work> __global__ void windowsKernel(const Work work)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < work.grid.cols * work.grid.rows)
        work.write(i);
}

template <typename Work> void launchWindows(const char* name, const Work& work, StreamHandle stream)
{
    detail::launch(name, windowsKernel<Work>, detail::linearGrid(work.grid.cols * work.grid.rows, THREADS),
                   dim3(THREADS), 0, stream, work);
}

} // namespace

namespace gpu {

void windowAreas(const AreasOfWindows& work, StreamHandle stream) { launchWindows("windowAreas", work, stream); }
void windowField(const FieldOfWindows& work, StreamHandle stream) { launchWindows("windowField", work, stream); }

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
