// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC by matrix instructions: what the kernels of this way share.
//
// All sums that these metrics need besides box sums are correlations of bytes. With x = 8m + n, row v of a template T adds
//
//   sum over k of I(y + v, 8m + k) B(k, n),    B(k, n) = T(v, k - n), 0 outside of the template,
//
// to position (x, y): a product of the image's row, taken every 8 pixels, with a banded matrix of width + 7 rows and 8
// columns. So an instruction of 16 x 32 by 32 x 8 bytes gives 128 positions what 32 columns of one template row add. The
// image's operand is read as it lies in shared memory; the band's is made once. Exact: bytes times bytes, added up modulo
// 2^32, and taken to 64 bits before that could overflow.
//
//   prepare     the image to planes of bytes, one a channel; templates to bands, in the order in which lanes hold them
//   correlate   sums of products of all positions; with weights, where factors of 16 bits take several planes of bytes, all
//               moments
//   values      without weights, box sums of I and I^2; values, the best of each tile; peaks and report by the last block
//
// Small grids without weights do all that in one kernel (src/cuda/fragment_matcher/bands_tiles.cu), small windows in another
// (src/cuda/fragment_matcher/bands_fused.cu).
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP

#include "device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace gpu {

void prepareBands(const ByteImageView& frame, const Batch& batch, const BandPlan& plan, const BandMemory& memory,
                  StreamHandle stream);
void correlateBands(const Batch& batch, Metric metric, const BandPlan& plan, const BandMemory& memory,
                    StreamHandle stream);

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

using gpu::BandMemory;
using gpu::BandPlan;

//! rows x cols items, one a thread and step.
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

//! Entry e, as prepare left it, to shared memory, by the first warp.
__device__ __forceinline__ void loadEntry(const BandMemory& memory, int e, gpu::OpenEntry* entry)
{
    static_assert(sizeof(gpu::OpenEntry) <= 32 * sizeof(uint32_t), "a word a lane");
    if (threadIdx.x < sizeof(gpu::OpenEntry) / sizeof(uint32_t))
        reinterpret_cast<uint32_t*>(entry)[threadIdx.x] =
            __ldg(reinterpret_cast<const uint32_t*>(memory.entries + e) + threadIdx.x);
}

//! Of 32 rows of a band, where it is shifted out of a template's row.
__device__ __forceinline__ int bandChunks(int width) { return (width + 7 + 31) / 32; }

//! Words from row to row of a template in shared memory: four of zeros, then the pixels, then zeros.
__device__ __forceinline__ int templateStep(int chunks) { return 8 * chunks + 8; }

//! Pixels by which a window begins behind a multiple of 16 of the planes; its sums begin as much behind.
__device__ __forceinline__ int beforeWindow(const BandPlan& plan, int windowX)
{
    return (windowX - plan.region.x) & 15;
}

} // namespace device

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP
