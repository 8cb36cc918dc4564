// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code of images of 16 bits: image and templates as planes of bytes, the value of a position.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_DEVICE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_DEVICE_HPP

#include "../common/device.hpp"
#include "deep_bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Stores four pixels of a region as words of all planes of bytes. @param x, y first pixel. @param to word of the
//! first plane.
template <bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ void storePixels(const ByteImageView& frame, const Rect4& region, int x, int y,
                                            size_t planeBytes, uint8_t* to)
{
    constexpr int SQUARES = gpu::deepSquareBytes(CHANNELS);
    uint32_t high[CHANNELS] = {}, low[CHANNELS] = {};
    [[maybe_unused]] uint32_t squares[SQUARES] = {}; // bytes of the sums, high ones first
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        if (x + k >= region.width)
            break;
        const uint8_t* const pixel = frame.pixel(region.x + x + k, region.y + y);
        uint64_t sum = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t value =
                frame.deep() ? __ldg(reinterpret_cast<const uint16_t*>(pixel) + c) : __ldg(pixel + c);
            high[c] |= (value >> 8) << (8 * k);
            low[c] |= (value & 0xff) << (8 * k);
            sum += static_cast<uint64_t>(value) * value;
        }
        if (WEIGHTED)
#pragma unroll
            for (int b = 0; b < SQUARES; ++b)
                squares[b] |= static_cast<uint32_t>(sum >> (8 * (SQUARES - 1 - b)) & 0xff) << (8 * k);
    }
    const auto store = [&](int plane, uint32_t word) { *reinterpret_cast<uint32_t*>(to + plane * planeBytes) = word; };
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c)
    {
        store(c, high[c]);
        store(CHANNELS + c, low[c]);
    }
    if (WEIGHTED)
#pragma unroll
        for (int b = 0; b < SQUARES; ++b)
            store(2 * CHANNELS + b, squares[b]);
}

//! Returns byte `byte`, 0 is the highest of three, of q T of four pixels, from the bytes of T.
__device__ __forceinline__ uint32_t productBytes(uint32_t high, uint32_t low, uint32_t weights, int byte)
{
    uint32_t bytes = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        const uint32_t value = (high >> (8 * k) & 0xff) << 8 | (low >> (8 * k) & 0xff);
        const uint32_t product = value * (weights >> (8 * k) & 0xff);
        bytes |= (product >> (16 - 8 * byte) & 0xff) << (8 * k);
    }
    return bytes;
}

//! Returns the value of a position, without weights divided by 255 (SSD).
template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ uint64_t valueOf(const DeepSums& sums, const TemplateSums& templ, double deviation)
{
    constexpr uint64_t Q = WEIGHTED ? 1 : 255;
    if (!isCorrelation(METRIC))
        return templ.qT2 / Q - 2 * sums.cross + sums.squares;
    const DeepSums weighted = {
        Q * sums.cross, Q * sums.squares, {Q * sums.image[0], Q * sums.image[1], Q * sums.image[2]}};
    return znccToValue(deepZnccScore(weighted, templ, CHANNELS, deviation));
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEEP_DEVICE_HPP
