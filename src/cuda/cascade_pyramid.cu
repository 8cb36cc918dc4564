// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// resizeLayers: all layers of all pictures, in one launch over a list of rectangles of 128 x 32 pixels. A warp takes rows, a thread every
// 32nd pixel of them, whose taps across stay in registers.
//
// Cost: 4 loads and some 14 instructions a pixel. What bounds it: loads of single bytes, which the first-level cache serves.
#include "cascade_classify.hpp"
#include "../common/launch.hpp"
#include "../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

const int EACH = 4; //!< pixels of a thread in a row
static_assert(32 * EACH == tuning::RESIZE_COLS, "a warp has a row of a rectangle");

__device__ __forceinline__ Tap loadTap(const Tap* taps, int index)
{
    const int2 tap = __ldg(reinterpret_cast<const int2*>(taps) + index);
    return {tap.x, tap.y};
}

__global__ void __launch_bounds__(32 * tuning::RESIZE_WARPS) resizeLayers(const __grid_constant__ Resizing job)
{
    const ResizeRecord at = job.tiles[blockIdx.x];
    const LayerRecord layer = job.layers[at.layer];
    const SourceRecord& source = job.sources[at.picture];
    const int x = at.col + static_cast<int>(threadIdx.x & 31);
    Tap across[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        across[k] = loadTap(job.taps, layer.columnTaps + ::min(x + 32 * k, layer.cols - 1));
    uint8_t* const out = job.pixels + source.pixels + layer.pixels + x;
    const int last = ::min(at.row + tuning::RESIZE_ROWS, layer.rows);
#pragma unroll 2
    for (int y = at.row + static_cast<int>(threadIdx.x >> 5); y < last; y += tuning::RESIZE_WARPS)
    {
        const Tap down = loadTap(job.taps, layer.rowTaps + y);
        const uint8_t* const upper = source.gray + static_cast<size_t>(down.first) * source.step;
        const uint8_t* const lower = down.weight != 0 ? upper + source.step : upper;
        uint8_t* const row = out + static_cast<size_t>(y) * layer.step;
#pragma unroll
        for (int k = 0; k < EACH; ++k)
        {
            const int first = across[k].first, second = first + (across[k].weight != 0 ? 1 : 0);
            const unsigned pixel =
                blendRows(blendRow(__ldg(upper + first), __ldg(upper + second), across[k].weight),
                          blendRow(__ldg(lower + first), __ldg(lower + second), across[k].weight), down.weight);
            if (x + 32 * k < layer.step) // up to the end of the row, so that tiles read nothing that was not written
                row[32 * k] = static_cast<uint8_t>(pixel);
        }
    }
}

} // namespace

void makeLayers(const Resizing& job, detail::StreamHandle stream)
{
    detail::launch("cascade resize", resizeLayers, dim3(job.tileCount), dim3(32 * tuning::RESIZE_WARPS), 0, stream,
                   job);
}

}}}} // namespace cv::cuda::cascade::gpu
