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
    const int x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (x >= extent.cols || row >= extent.rows * extent.count)
        return;
    const int y = row % extent.rows; // neighbours outside of the own image do not count
    const int* own = labels + static_cast<size_t>(row) * extent.cols + x;
    int differing = 0;
    for (int dy = thick ? -1 : 0; dy <= 1; ++dy)
        for (int dx = thick ? -1 : 0; dx <= 1; ++dx)
            if (x + dx >= 0 && x + dx < extent.cols && y + dy >= 0 && y + dy < extent.rows)
                differing += own[dy * extent.cols + dx] != *own;
    mask.row(row)[x] = differing > (thick ? 1 : 0) ? 255 : 0;
}

} // namespace

void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask, StreamHandle stream)
{
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift contours", markContours, gridOf(e.cols, e.rows * e.count), BLOCK, 0,
                                 stream, e, labels + slice.pixel, thick,
                                 RowsView<uint8_t>{mask.row(slice.image * extent.rows), mask.step});
              });
}

}}}} // namespace cv::cuda::quick_shift::gpu
