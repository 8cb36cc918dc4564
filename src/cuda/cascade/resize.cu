// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage resize: all layers of all images in one launch, over a list of rectangles of 128 x 32 pixels. A warp handles
// rows of a rectangle, a thread four neighbouring pixels of each row, whose horizontal taps stay in registers. The
// kernel also sets the numbers of candidates to 0.
//
// Cost: with scale factors below 2, 12 instructions per pixel, as the sources of four pixels are in three words;
// otherwise 4 loads and about 30 instructions per pixel.
#include "resize.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

const int EACH = 4; //!< neighbouring pixels per thread
static_assert(32 * EACH == tuning::RESIZE_COLS, "a warp has a row of a rectangle");

__device__ __forceinline__ Tap loadTap(const Tap* taps, int index)
{
    const int2 tap = __ldg(reinterpret_cast<const int2*>(taps) + index);
    return {tap.x, tap.y};
}

//! Horizontal taps, loaded byte by byte.
struct Bytes
{
    Tap taps[EACH];

    __device__ __forceinline__ void loadRow(const uint8_t* row, unsigned (&sums)[EACH]) const
    {
#pragma unroll
        for (int k = 0; k < EACH; ++k)
        {
            const int first = taps[k].first, second = first + (taps[k].weight != 0 ? 1 : 0);
            sums[k] = blendRow(__ldg(row + first), __ldg(row + second), taps[k].weight);
        }
    }
};

//! Horizontal taps, loaded as words: all pixels are within 8 bytes from the first one; rows and their ends are
//! multiples of 4 bytes.
struct Words
{
    int first;                //!< offset of the first word in the row, bytes
    bool second, third;       //!< whether the row has a second and third word; otherwise they do not affect the result
    unsigned shift;           //!< bits before the first pixel in the first word
    unsigned selectors[EACH]; //!< of the two source pixels, for __byte_perm(); selectors[0] is not used
    unsigned weights[EACH];   //!< weights of the two source pixels, 16 bits each

    static __device__ __forceinline__ bool canTake(const Bytes& bytes)
    {
        return bytes.taps[EACH - 1].first - bytes.taps[0].first <= 6;
    }
    __device__ __forceinline__ Words(const Bytes& bytes, int cols)
        : first(bytes.taps[0].first & ~3),
          second(first + 4 < cols),
          third(first + 8 < cols),
          shift(8 * (bytes.taps[0].first & 3))
    {
#pragma unroll
        for (int k = 0; k < EACH; ++k)
        {
            const unsigned at = bytes.taps[k].first - bytes.taps[0].first, weight = bytes.taps[k].weight;
            selectors[k] = at | (at + 1) << 4;
            weights[k] = (256 - weight) | weight << 16;
        }
    }
    __device__ __forceinline__ void loadRow(const uint8_t* row, unsigned (&sums)[EACH]) const
    {
        const unsigned* const from = reinterpret_cast<const unsigned*>(row + first);
        const unsigned a = __ldg(from), b = second ? __ldg(from + 1) : 0, c = third ? __ldg(from + 2) : 0;
        const unsigned low = __funnelshift_r(a, b, shift), high = __funnelshift_r(b, c, shift);
        sums[0] = __dp2a_lo(weights[0], low, 0u);
#pragma unroll
        for (int k = 1; k < EACH; ++k)
            sums[k] = __dp2a_lo(weights[k], __byte_perm(low, high, selectors[k]), 0u);
    }
};

/** Resizes four columns in rows `first`, `first` + RESIZE_WARPS, ... before `last`. @param out the pixels in row 0;
null if the thread has none. */
template <class Across>
__device__ __forceinline__ void resizeRows(const Across& across, const uint8_t* gray, size_t step, const Tap* taps,
                                           uint8_t* out, int outStep, int first, int last)
{
#pragma unroll 2
    for (int y = first; y < last; y += tuning::RESIZE_WARPS)
    {
        const Tap down = loadTap(taps, y);
        const uint8_t* const row = gray + static_cast<size_t>(static_cast<unsigned>(down.first)) * step;
        unsigned upper[EACH], lower[EACH], sums[EACH];
        across.loadRow(row, upper);
        across.loadRow(row + (down.weight != 0 ? step : 0), lower);
#pragma unroll
        for (int k = 0; k < EACH; ++k)
            sums[k] = upper[k] * static_cast<unsigned>(256 - down.weight) +
                      lower[k] * static_cast<unsigned>(down.weight) + 32768u;
        if (out) // byte 2 of each sum is the value of blendRows()
            *reinterpret_cast<unsigned*>(out + static_cast<size_t>(static_cast<unsigned>(y)) *
                                                   static_cast<unsigned>(outStep)) =
                __byte_perm(__byte_perm(sums[0], sums[1], 0x0062), __byte_perm(sums[2], sums[3], 0x0062), 0x5410);
    }
}

__global__ void __launch_bounds__(32 * tuning::RESIZE_WARPS) resizeLayers(const __grid_constant__ Resizing job)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < job.countTotal;
         i += static_cast<int64_t>(gridDim.x) * blockDim.x)
        job.counts[i] = 0;
    if (static_cast<int>(blockIdx.x) >= job.tileCount)
        return; // no image has a layer
    const ResizeRecord at = job.tiles[blockIdx.x];
    const LayerRecord& layer = at.layer;
    const SourceRecord& source = job.sources[at.image];
    const uint8_t* const gray = source.gray;
    const size_t step = source.step;
    const int cols = source.cols;
    uint8_t* const pixels = job.pixels + source.pixels + layer.pixels;
    const int x = at.col + EACH * static_cast<int>(threadIdx.x & 31);
    const int first = at.row + static_cast<int>(threadIdx.x >> 5), last = ::min(at.row + job.tileRows, layer.rows);
    Bytes bytes;
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        bytes.taps[k] = loadTap(job.taps, layer.columnTaps + ::min(x + k, layer.cols - 1));
    // Up to the padded end of the row, so that tiles read initialised memory only.
    uint8_t* const out = x < layer.step ? pixels + x : nullptr;
    const bool whole = ((reinterpret_cast<size_t>(gray) | step | cols) & 3) == 0;
    if (whole && __all_sync(0xffffffffu, Words::canTake(bytes)))
        resizeRows(Words(bytes, cols), gray, step, job.taps + layer.rowTaps, out, layer.step, first, last);
    else
        resizeRows(bytes, gray, step, job.taps + layer.rowTaps, out, layer.step, first, last);
}

} // namespace

void resize(const Resizing& job, detail::StreamHandle stream)
{
    detail::launch("cascade resize", resizeLayers, dim3(std::max(job.tileCount, 1)), dim3(32 * tuning::RESIZE_WARPS), 0,
                   stream, job);
}

}}}} // namespace cv::cuda::cascade::gpu
