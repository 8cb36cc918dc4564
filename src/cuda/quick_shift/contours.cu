// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage contours on CUDA. Bound by memory.
#include "pixel_grid.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

//! Marks pixels at contours, one per thread.
__global__ void __launch_bounds__(THREADS)
    markContours(const Extent extent, const int* __restrict__ labels, bool thick, const RowsView<uint8_t> mask)
{
    const PixelPlace p(extent);
    if (!p.inside)
        return;
    const int* own = labels + p.at;
    int differing = 0;
    for (int dy = thick ? -1 : 0; dy <= 1; ++dy)
        for (int dx = thick ? -1 : 0; dx <= 1; ++dx)
            if (p.x + dx >= 0 && p.x + dx < extent.cols && p.y + dy >= 0 && p.y + dy < extent.rows)
                differing += own[dy * extent.cols + dx] != *own;
    mask.row(p.image * extent.rows + p.y)[p.x] = differing > (thick ? 1 : 0) ? 255 : 0;
}

} // namespace

void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask, StreamHandle stream)
{
    detail::launch("quick shift contours", markContours, gridOf(extent), BLOCK, 0, stream, extent, labels, thick, mask);
}

}}}} // namespace cv::cuda::quick_shift::gpu
