// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, predictAreas: the search areas of the next frame. Bound by latency.

#include "device.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

__global__ void predictAreasKernel(const ConstRowsView<Position> locations, const DeviceFragment* fragments,
                                   const int* slots, const int count, const int radius, const int cols, const int rows,
                                   const RowsView<Rect4> areas)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const DeviceFragment& fragment = fragments[slots[i]];
    *areas.row(i) = predictedArea(*locations.row(i), fragment.width, fragment.height, radius, cols, rows);
}

} // namespace

namespace gpu {

void predictAreas(ConstRowsView<Position> locations, const Batch& batch, int radius, int frameCols, int frameRows,
                  RowsView<Rect4> areas, StreamHandle stream)
{
    detail::launch("predictAreas", predictAreasKernel, detail::linearGrid(batch.count, 128), dim3(128), 0, stream,
                   locations, batch.fragments, batch.slots, batch.count, radius, frameCols, frameRows, areas);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
