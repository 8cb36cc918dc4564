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
    const PixelPlace p(extent);
    if (p.inside)
        out.row(p.image * extent.rows + p.y)[p.x] = keyDensity(keys[p.at], parameters);
}

} // namespace

void densityValues(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out,
                   StreamHandle stream)
{
    detail::launch("quick shift density", convertKeys, gridOf(extent), BLOCK, 0, stream, extent, parameters, keys, out);
}

}}}} // namespace cv::cuda::quick_shift::gpu
