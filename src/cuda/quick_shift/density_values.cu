// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage densityValues on CUDA. Bound by memory.
#include "pixel_grid.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

__global__ void __launch_bounds__(THREADS) convertKeys(const Extent extent, const Parameters parameters,
                                                       const uint32_t* __restrict__ keys, const RowsView<float> out)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < extent.cols && y < extent.rows * extent.count)
        out.row(y)[x] = keyDensity(keys[static_cast<size_t>(y) * extent.cols + x], parameters);
}

} // namespace

void densityValues(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out,
                   StreamHandle stream)
{
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift density", convertKeys, gridOf(e.cols, e.rows * e.count), BLOCK, 0, stream,
                                 e, parameters, keys + slice.pixel,
                                 RowsView<float>{out.row(slice.image * extent.rows), out.step});
              });
}

}}}} // namespace cv::cuda::quick_shift::gpu
