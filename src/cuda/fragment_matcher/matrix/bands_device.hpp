// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: declarations that the kernels of matrix instructions, for SSD and ZNCC, share.
//
// Except box sums, all sums that these metrics need are correlations of bytes. With x = 8m + n, row v of a template T
// adds
//
//   sum over k of I(y + v, 8m + k) B(k, n),    B(k, n) = T(v, k - n), 0 outside the template,
//
// to position (x, y): a product of the image's row, taken every 8 pixels, with a banded Toeplitz matrix B of width + 7
// rows and 8 columns, below called the band of the template row. So one instruction of 16 x 32 by 32 x 8 bytes adds the
// products of 32 columns of one template row to 128 positions. The image's operand is read from shared memory as it is;
// the band is made once. Exact: products of bytes, added modulo 2^32, and extended to 64 bits before they could
// overflow.
//
//   prepare     converts the image to planes of bytes, one per channel, and templates to bands, in the order in which
//               lanes hold them
//   correlate   computes the sums of products of all positions; with weights, whose products of 16 bits take several
//               planes of bytes, all moments
//   values      computes box sums of I and I^2 (without weights), values, and the best of each tile; the last block
//               finds the peaks
//
// For small windows one kernel does all of this (fused_bands.cu).
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_DEVICE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_DEVICE_HPP

#include "../common/device.hpp"
#include "bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace gpu {

//! Calls launch(metric), metric a std::integral_constant, for metrics that matrix instructions can compute.
template <class Launch> void forProduct(Metric metric, const Launch& launch)
{
    switch (metric)
    {
    case Metric::SAD:
        break;
    case Metric::SSD:
        return launch(std::integral_constant<Metric, Metric::SSD>());
    case Metric::ZNCC:
        return launch(std::integral_constant<Metric, Metric::ZNCC>());
    }
    CV_Error(Error::StsInternal, "FragmentMatcher: this metric has no kernels of matrix instructions");
}

} // namespace gpu

namespace device {

using gpu::bandChunks;
using gpu::BandMemory;
using gpu::BandPlan;
using gpu::templateStep;

//! Iteration of a block over rows x cols items, one item per thread and step.
struct Steps
{
    int row, col, rowStep, colStep, cols;

    __device__ __forceinline__ explicit Steps(int theCols) : cols(theCols)
    {
        row = threadIdx.x / static_cast<unsigned>(cols);
        col = threadIdx.x - row * cols;
        rowStep = blockDim.x / static_cast<unsigned>(cols);
        colStep = blockDim.x - rowStep * cols;
    }
    __device__ __forceinline__ void next()
    {
        row += rowStep;
        col += colStep;
        if (col >= cols)
        {
            col -= cols;
            ++row;
        }
    }
};

//! The tile of a correlating block: it computes the sums of entry e in columns from x and rows from y on.
struct SumsTile
{
    int e, x, y;
};

//! Returns the tile of this block where tiles have cols x rows sums.
__device__ __forceinline__ SumsTile sumsTileOfBlock(const BandPlan& plan, int cols, int rows)
{
    const int tilesX = plan.sumsPitch / cols;
    const int tiles = tilesX * detail::ceilDiv(plan.sumsRows, rows), e = blockIdx.x / tiles;
    const int tile = blockIdx.x - e * tiles, tileY = tile / tilesX;
    return {e, cols * (tile - tileY * tilesX), rows * tileY};
}

//! Returns the word that a lane holds of 16 rows of a band: rows 4 (lane % 4) to 4 (lane % 4) + 3 of column lane / 4.
//! templateWord(plane, v, k) returns word k of row v of a plane of the template, 0 outside the template.
template <class TemplateWord>
__device__ __forceinline__ uint32_t bandWord(const BandPlan& plan, int item, const TemplateWord& templateWord)
{
    const int lane = item % 32, row = item / 32 / plan.chunks, chunk = item / 32 - row * plan.chunks;
    const int plane = row / plan.bandRows, v = row - plane * plan.bandRows;
    const int first = 16 * chunk + 4 * (lane % 4) - lane / 4; // column of the template
    const int k = first >> 2, shift = 8 * (first & 3);
    return __funnelshift_r(templateWord(plane, v, k), shift ? templateWord(plane, v, k + 1) : 0, shift);
}

//! Copies entry e, as prepare stored it, to shared memory; by the first warp.
__device__ __forceinline__ void loadEntry(const BandMemory& memory, int e, gpu::OpenEntry* entry)
{
    static_assert(sizeof(gpu::OpenEntry) <= 32 * sizeof(uint32_t), "one word per lane");
    if (threadIdx.x < sizeof(gpu::OpenEntry) / sizeof(uint32_t))
        reinterpret_cast<uint32_t*>(entry)[threadIdx.x] =
            __ldg(reinterpret_cast<const uint32_t*>(memory.entries + e) + threadIdx.x);
}

//! Returns the pixels from the last multiple of 16 in the planes to the start of a window; its sums start that many
//! columns late.
__device__ __forceinline__ int beforeWindow(const BandPlan& plan, int windowX)
{
    return (windowX - plan.region.x) & 15;
}

} // namespace device

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_DEVICE_HPP
