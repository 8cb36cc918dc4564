// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: copies image and template to shared memory.
//
// Byte sums run on four pixels of one channel at a time (vabsdiff4, dp4a), at any x offset. Two steps bring the image
// into that form:
//
//   fetchRaw     copies rows as they are in the frame, from the aligned word that holds their first byte on;
//                asynchronously
//   expandPlane  stores each row of one channel four times, once per byte phase p: word k of phase p holds pixels 4k+p
//                .. 4k+p+3
//
// A thread's positions are 4 apart, x = p + 4i, so its windows for word j of a template row are the consecutive words
// i+j, and serve several positions from registers. Expanded rows of all phases follow each other ((row * 4 + phase) *
// units, in units of 16 bytes). `units` is odd, so that 8 lanes on consecutive (row, phase) read 16 bytes each without
// bank conflicts.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGING_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGING_HPP

#include "cvconfig.h"
#include <cuda_pipeline.h>
#include "../../../common/launch.hpp"
#include "layout.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::Batch;
using gpu::Best;
using gpu::DeviceFragment;

//! Multiplies the bytes of a and b. @param high, low bytes of the four products.
__device__ __forceinline__ void multiply4(uint32_t a, uint32_t b, uint32_t& high, uint32_t& low)
{
    const uint32_t p0 = (a & 0xff) * (b & 0xff), p1 = ((a >> 8) & 0xff) * ((b >> 8) & 0xff);
    const uint32_t p2 = ((a >> 16) & 0xff) * ((b >> 16) & 0xff), p3 = (a >> 24) * (b >> 24);
    const uint32_t p01 = __byte_perm(p0, p1, 0x5410), p23 = __byte_perm(p2, p3, 0x5410);
    low = __byte_perm(p01, p23, 0x6420);
    high = __byte_perm(p01, p23, 0x7531);
}

//! Returns t / d for t and d below 1024, from inverseOf(d).
__device__ __forceinline__ int quotient(uint32_t t, uint32_t inverse) { return static_cast<int>(t * inverse >> 20); }

//! Returns the aligned word at byte `offset` of a row; bytes outside the row are 0.
__device__ __forceinline__ uint32_t wordAtEdge(const uint8_t* row, int offset, int rowBytes)
{
    uint32_t word = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b)
        if (static_cast<unsigned>(offset + b) < static_cast<unsigned>(rowBytes))
            word |= static_cast<uint32_t>(__ldg(row + offset + b)) << (8 * b);
    return word;
}

/** Starts to copy cols x rows pixels of the image from (x, y) on, one word per thread and step. The copy is complete
after __pipeline_wait_prior(0) of all threads and a barrier. Words outside the image are not written. */
__device__ __forceinline__ void fetchRaw(const ByteImageView& frame, int x, int y, int cols, int rows,
                                         const gpu::StagePlan& plan, uint32_t* raw)
{
    const int rowBytes = frame.cols * frame.pixelStride, begin = x * frame.pixelStride;
    const int end = ::min(begin + cols * frame.pixelStride, rowBytes);
    const int firstRow = quotient(threadIdx.x, plan.fetchInverse);
    rows = firstRow < plan.fetchStep ? ::min(rows, frame.rows - y) : 0;
#pragma unroll 1
    for (int k = threadIdx.x - firstRow * plan.fetchThreads; k < plan.rawPitch; k += plan.fetchThreads)
    {
        const uint8_t* row = frame.data + static_cast<size_t>(y + firstRow) * frame.step;
        uint32_t* target = raw + firstRow * plan.rawPitch + k;
        const size_t step = plan.fetchStep * frame.step;
        const int first = begin + 4 * k, targetStep = plan.fetchStep * plan.rawPitch;
        const int offset = first - static_cast<int>(reinterpret_cast<uintptr_t>(row + first) & 3);
        const bool aligned = frame.step % 4 == 0; // words start at the same bytes of all rows
        if ((aligned ? offset : first - 3) >= end)
            break;
        if (aligned && offset >= 0 && offset + 4 <= rowBytes)
        {
            const uint8_t* source = row + offset;
#pragma unroll 4
            for (int r = firstRow; r < rows; r += plan.fetchStep, source += step, target += targetStep)
                __pipeline_memcpy_async(target, source, 4);
            continue;
        }
#pragma unroll 1
        for (int r = firstRow; r < rows; r += plan.fetchStep, row += step, target += targetStep)
        {
            const int begins = first - static_cast<int>(reinterpret_cast<uintptr_t>(row + first) & 3);
            *target = wordAtEdge(row, begins, rowBytes);
        }
    }
    __pipeline_commit();
}

//! Extracts word h of channel `plane`, four pixels, from raw words. @param shift bits from the start of the first word
//! to the first pixel.
template <int STRIDE>
__device__ __forceinline__ uint32_t planeWord(const uint32_t* raw, int h, uint32_t shift, int plane)
{
    uint32_t w[STRIDE];
#pragma unroll
    for (int k = 0; k < STRIDE; ++k)
        w[k] = __funnelshift_r(raw[STRIDE * h + k], raw[STRIDE * h + k + 1], shift);
    if (STRIDE == 1)
        return w[0];
    if (STRIDE == 3) // b g r b | g r b g | r b g r
    {
        const uint32_t first = plane == 0 ? 0x0630 : (plane == 1 ? 0x0741 : 0x0052);
        const uint32_t second = plane == 0 ? 0x5210 : (plane == 1 ? 0x6210 : 0x7410);
        return __byte_perm(__byte_perm(w[0], w[1 % STRIDE], first), w[2 % STRIDE], second);
    }
    const uint32_t both = plane | (4 + plane) << 4; // b g r x, four times
    return __byte_perm(__byte_perm(w[0], w[1 % STRIDE], both), __byte_perm(w[2 % STRIDE], w[3 % STRIDE], both), 0x5410);
}

//! Loads the words that hold four pixels, from the aligned word of the first byte on. @return bits before the first
//! pixel.
template <int STRIDE>
__device__ __forceinline__ uint32_t loadPixels(const uint8_t* row, int first, int rowBytes,
                                               uint32_t (&words)[STRIDE + 1])
{
    const int before = static_cast<int>(reinterpret_cast<uintptr_t>(row + first) & 3), offset = first - before;
    const bool inside = offset >= 0 && offset + 4 * (STRIDE + 1) <= rowBytes;
#pragma unroll
    for (int k = 0; k <= STRIDE; ++k)
        words[k] = inside ? __ldg(reinterpret_cast<const uint32_t*>(row + offset) + k)
                          : wordAtEdge(row, offset + 4 * k, rowBytes);
    return 8 * before;
}

/** Byte selectors that extract a word of one channel, without a shift, from words b g r b | g r b g | r b g r, by the
index 0 .. 5 of the first pixel's byte: bytes of the first two words, of these and the third, of these and the
fourth. */
__constant__ const uint32_t PICKS_OF_THREE[6][3] = {{0x0630, 0x5210, 0x3210}, {0x0741, 0x6210, 0x3210},
                                                    {0x0052, 0x7410, 0x3210}, {0x0063, 0x3510, 0x4210},
                                                    {0x0074, 0x3610, 0x5210}, {0x0005, 0x3740, 0x6210}};

//! Expands channel `plane` of raw rows and, if SPLIT, the bytes of its squares, plane after plane. @param x, y first
//! pixel of the raw image.
template <int STRIDE, bool SPLIT>
__device__ __forceinline__ void expandPlane(const ByteImageView& frame, int x, int y, int rows, int plane,
                                            const gpu::StagePlan& plan, const uint32_t* raw, uint32_t* expanded)
{
    constexpr int QUADS = STRIDE == 1 ? 2 : (STRIDE == 3 ? 4 : 6);
    const uint32_t start = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame.pixel(x, y)));
    const int units = plan.units;
    int r = quotient(threadIdx.x, plan.expandInverse), u = threadIdx.x - r * units;
#pragma unroll 1
    while (r < rows)
    {
        const uint4* source = reinterpret_cast<const uint4*>(raw + r * plan.rawPitch) + STRIDE * u;
        uint32_t w[4 * QUADS], p[5];
#pragma unroll
        for (int k = 0; k < QUADS; ++k)
        {
            const uint4 four = source[k];
            w[4 * k] = four.x, w[4 * k + 1] = four.y, w[4 * k + 2] = four.z, w[4 * k + 3] = four.w;
        }
        const uint32_t shift = 8 * ((start + r * static_cast<uint32_t>(frame.step)) & 3);
        if constexpr (STRIDE == 3)
        {
            const uint32_t* const picks = PICKS_OF_THREE[shift / 8 + plane];
#pragma unroll
            for (int h = 0; h < 5; ++h)
                p[h] = __byte_perm(__byte_perm(__byte_perm(w[3 * h], w[3 * h + 1], picks[0]), w[3 * h + 2], picks[1]),
                                   w[3 * h + 3], picks[2]);
        }
        else
#pragma unroll
            for (int h = 0; h < 5; ++h)
                p[h] = planeWord<STRIDE>(w, h, shift, plane);
        uint4* target = reinterpret_cast<uint4*>(expanded) + 4 * r * units + u;
#pragma unroll
        for (int phase = 0; phase < 4; ++phase)
        {
            [[maybe_unused]] uint32_t words[4], high[4], low[4];
#pragma unroll
            for (int k = 0; k < 4; ++k)
                words[k] = __funnelshift_r(p[k], p[k + 1], 8 * phase);
            target[phase * units] = {words[0], words[1], words[2], words[3]};
            if constexpr (SPLIT)
            {
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    multiply4(words[k], words[k], high[k], low[k]);
                target[phase * units + plan.expandedWords / 4] = {high[0], high[1], high[2], high[3]};
                target[phase * units + plan.expandedWords / 2] = {low[0], low[1], low[2], low[3]};
            }
        }
        r += plan.expandStep;
        u += plan.expandStepUnits;
        if (u >= units)
        {
            u -= units;
            ++r;
        }
    }
}

//! Calls expandPlane() for the pixel stride of the frame.
template <int CHANNELS, bool SPLIT>
__device__ __forceinline__ void expandChannel(const ByteImageView& frame, int x, int y, int rows, int plane,
                                              const gpu::StagePlan& plan, const uint32_t* raw, uint32_t* expanded)
{
    if (CHANNELS == 1)
        expandPlane<1, SPLIT>(frame, x, y, rows, plane, plan, raw, expanded);
    else if (frame.pixelStride == 3)
        expandPlane<3, SPLIT>(frame, x, y, rows, plane, plan, raw, expanded);
    else
        expandPlane<4, SPLIT>(frame, x, y, rows, plane, plan, raw, expanded);
}

/** Stages rows x words (a multiple of 4) of one template plane and of the weights, 16 bytes per thread and step; by
asynchronous copies as in fetchRaw() unless SPLIT. */
template <bool SPLIT>
__device__ __forceinline__ void stageTemplate(const uint32_t* templ, const uint32_t* weights, int pitch, int rows,
                                              int words, uint32_t* t, uint32_t* tLow, uint32_t* q)
{
    const int quads = words / 4;
    for (int u = threadIdx.x; u < rows * quads; u += blockDim.x)
    {
        const int r = u / quads, source = r * pitch + 4 * (u - r * quads);
        if (!SPLIT)
        {
            __pipeline_memcpy_async(t + 4 * u, templ + source, 16);
            __pipeline_memcpy_async(q + 4 * u, weights + source, 16);
            continue;
        }
        const uint4 value = __ldg(reinterpret_cast<const uint4*>(templ + source));
        const uint4 weight = __ldg(reinterpret_cast<const uint4*>(weights + source));
        uint4 high, low;
        multiply4(value.x, weight.x, high.x, low.x);
        multiply4(value.y, weight.y, high.y, low.y);
        multiply4(value.z, weight.z, high.z, low.z);
        multiply4(value.w, weight.w, high.w, low.w);
        reinterpret_cast<uint4*>(tLow)[u] = low;
        reinterpret_cast<uint4*>(t)[u] = high;
        reinterpret_cast<uint4*>(q)[u] = weight;
    }
    __pipeline_commit();
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGING_HPP
