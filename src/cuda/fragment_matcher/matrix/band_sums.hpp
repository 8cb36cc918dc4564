// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, correlation of an image and bands by matrix instructions: a warp's sums, and the copies of image and
// bands in shared memory that they are computed from. The kernels that compute sums of products share it.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BAND_SUMS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BAND_SUMS_HPP

#include "bands_device.hpp"
#include "mma.hpp"
#include <cuda_pipeline.h>

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::BAND_COLS;
using gpu::BAND_ROWS;

/** Sums of a warp: BAND_ROWS rows of 128 columns of positions. Lane (g, t) has columns 8g + 2t, 8g + 2t + 1, and the
columns 64 to the right of these. */
template <int KC> struct BandSums
{
    uint32_t
        sums[BAND_ROWS]
            [4]; //!< at most gpu::BAND_TERMS products of two bytes: the kernel stores them before there could be more

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int j = 0; j < BAND_ROWS; ++j)
            sums[j][0] = sums[j][1] = sums[j][2] = sums[j][3] = 0;
    }

    /** Adds the products of `rows` (a multiple of BAND_ROWS) rows of a template and 16 KC rows of their bands. Pointers
    are those of the lane, steps are in words. */
    __device__ __forceinline__ void add(const uint32_t* image, int pitch, const uint32_t* bands, int step, int rows)
    {
        uint32_t held[BAND_ROWS][KC]; // bands of the last BAND_ROWS rows of the template: held[v % BAND_ROWS]
        addRows<FIRST>(image, pitch, bands, step, held);
#pragma unroll 1
        for (int v = BAND_ROWS; v < rows; v += BAND_ROWS)
        {
            image += BAND_ROWS * pitch, bands += BAND_ROWS * step;
            addRows<MIDDLE>(image, pitch, bands, step, held);
        }
        addRows<LAST>(image + BAND_ROWS * pitch, pitch, bands, step, held);
    }

private:
    enum Part
    {
        FIRST,  //!< there are no template rows before these
        MIDDLE, //!< there are template rows before and after
        LAST    //!< there are no template rows after these
    };

    //! Multiplies BAND_ROWS rows of the image with BAND_ROWS rows of the template each.
    template <Part PART>
    __device__ __forceinline__ void addRows(const uint32_t* image, int pitch, const uint32_t* bands, int step,
                                            uint32_t (&held)[BAND_ROWS][KC])
    {
#pragma unroll
        for (int i = 0; i < (PART == LAST ? BAND_ROWS - 1 : BAND_ROWS); ++i)
        {
            uint32_t words[KC + 4]; // 16 pixels apart, so that 64 columns are four words
#pragma unroll
            for (int k = 0; k < KC + 4; ++k)
                words[k] = image[i * pitch + 4 * k];
            if (PART != LAST)
#pragma unroll
                for (int k = 0; k < KC; ++k)
                    held[i][k] = bands[i * step + 32 * k];
#pragma unroll
            for (int j = 0; j < BAND_ROWS; ++j)
            {
                if ((PART == FIRST && j > i) || (PART == LAST && j <= i))
                    continue;
                const uint32_t(&band)[KC] = held[(i - j + BAND_ROWS) % BAND_ROWS];
#pragma unroll
                for (int k = 0; k + 1 < KC; k += 2)
                {
                    const uint32_t operand[4] = {words[k], words[k + 4], words[k + 1], words[k + 5]};
                    const uint32_t two[2] = {band[k], band[k + 1]};
                    multiplyAdd(sums[j], operand, two);
                }
                if (KC % 2 == 1)
                {
                    const uint32_t operand[2] = {words[KC - 1], words[KC + 3]};
                    multiplyAdd(sums[j], operand, band[KC - 1]);
                }
            }
        }
    }
};

//! Starts to copy `rows` rows of a plane of the image, and of bands, to shared memory.
__device__ __forceinline__ void fetchImageAndBands(const uint8_t* image, int imageRows, const BandPlan& plan, int x,
                                                   int y, int chunks, const uint32_t* bands, int rows, uint32_t* shared)
{
    const int units = BAND_COLS / 16 + chunks, lastColumn = plan.pitch - 16;
    for (Steps at(units); at.row < imageRows; at.next())
        __pipeline_memcpy_async(shared + (at.row * units + at.col) * 4,
                                image + static_cast<size_t>(::min(y + at.row, plan.region.height - 1)) * plan.pitch +
                                    ::min(x + 16 * at.col, lastColumn),
                                16);
    uint32_t* const target = shared + plan.bandsOffset;
    const int bandUnits = 8 * chunks;
    for (Steps at(bandUnits); at.row < rows; at.next())
        __pipeline_memcpy_async(target + (at.row * bandUnits + at.col) * 4,
                                bands + (at.row * plan.chunks * 8 + at.col) * 4, 16);
    __pipeline_commit();
}

/** Adds the sums of all parts of a block to those of the first part. Begins with a barrier. */
template <int KC> __device__ __forceinline__ void mergeParts(BandSums<KC>& sums, const BandPlan& plan, uint32_t* shared)
{
    const int warp = threadIdx.x / 32, part = warp / plan.units, unit = warp - part * plan.units;
    __syncthreads(); // staged data have been read
    if (plan.parts == 1)
        return;
    uint32_t* const mine = shared + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; part > 0 && k < 4 * BAND_ROWS; ++k)
        mine[((part - 1) * plan.units + unit) * 128 * BAND_ROWS + 32 * k] = sums.sums[k / 4][k % 4];
    __syncthreads(); // all parts' sums are complete
#pragma unroll 1
    for (int other = 0; part == 0 && other < plan.parts - 1; ++other)
#pragma unroll
        for (int k = 0; k < 4 * BAND_ROWS; ++k)
            sums.sums[k / 4][k % 4] += mine[(other * plan.units + unit) * 128 * BAND_ROWS + 32 * k];
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BAND_SUMS_HPP
