// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score, for one instruction set (part of src/cpu/fragment_matcher/score.simd.hpp): operations on rows of images of 16
// bits, as planes of their high and of their low bytes.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_DEEP_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_DEEP_HPP

#include "scores_terms.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN
namespace {

//! moveColumns() for 16 bits: high bytes, and low bytes `toLow` bytes further on in memory. @param removed null: zeros
template <bool SQUARED>
void moveDeepColumns(uint64_t* sums, const uint8_t* added, const uint8_t* removed, size_t toLow, int count,
                     uint8_t bias)
{
    const auto at = [&](const uint8_t* bytes, int i)
    {
        return static_cast<uint32_t>(static_cast<uint8_t>(bytes[i] ^ bias) << 8 |
                                     static_cast<uint8_t>(bytes[i + toLow] ^ bias));
    };
    for (int i = 0; i < count; ++i)
    {
        const uint64_t a = at(added, i), b = removed ? at(removed, i) : 0;
        sums[i] += SQUARED ? a * a - b * b : a - b;
    }
}

//! Never called: sums of 16 bits take 64.
template <bool SQUARED> void moveDeepColumns(uint32_t*, const uint8_t*, const uint8_t*, size_t, int, uint8_t)
{
    CV_Error(Error::StsInternal, "FragmentMatcher: sums of 16 bits in 32 bits");
}

//! Splits a row of 16 bits into planes of the high and of the low bytes of its channels, bytes xor bias.
inline void splitDeepRow(const ByteImageView& part, int y, uint8_t bias, uint8_t* row, size_t planeStep)
{
    const uint16_t* const source = reinterpret_cast<const uint16_t*>(part.pixel(0, y));
    const int cols = part.cols, stride = part.pixelStride / 2;
    int x = 0;
    const v_uint8x16 flip = v_setall_u8(bias);
    const v_uint16x8 lowByte = v_setall_u16(0xff);
    while (x + 16 <= cols)
    {
        v_uint16x8 values[2][4];
        for (int k = 0; k < 2; ++k)
        {
            const uint16_t* const from = source + static_cast<size_t>(x + 8 * k) * stride;
            v_uint16x8(&v)[4] = values[k];
            if (stride == 1)
                v[0] = v_load(from);
            else if (stride == 3)
                v_load_deinterleave(from, v[0], v[1], v[2]);
            else
                v_load_deinterleave(from, v[0], v[1], v[2], v[3]);
        }
        for (int c = 0; c < part.channels; ++c)
        {
            const v_uint16x8 &a = values[0][c], &b = values[1][c];
            v_store(row + c * planeStep + x, v_xor(v_pack(v_shr<8>(a), v_shr<8>(b)), flip));
            v_store(row + (part.channels + c) * planeStep + x,
                    v_xor(v_pack(v_and(a, lowByte), v_and(b, lowByte)), flip));
        }
        x += x + 16 < cols && x + 32 > cols ? cols - x - 16 : 16; // the last 16 may overlap
    }
    for (int c = 0; c < part.channels; ++c)
        for (int i = x; i < cols; ++i)
        {
            const uint16_t value = source[static_cast<size_t>(i) * stride + c];
            row[c * planeStep + i] = static_cast<uint8_t>(value >> 8) ^ bias;
            row[(part.channels + c) * planeStep + i] = static_cast<uint8_t>(value) ^ bias;
        }
}

//! Computes the four bytes of squares of 16 bits. @param bytes high bytes of a channel; its low bytes and then the
//! results follow at distances of `step` bytes. All bytes are stored xor bias.
inline void squareDeepRow(uint8_t* bytes, int cols, uint8_t bias, size_t step)
{
    for (int x = 0; x < cols; ++x)
    {
        const uint32_t value =
            static_cast<uint8_t>(bytes[x] ^ bias) << 8 | static_cast<uint8_t>(bytes[x + step] ^ bias);
        for (int k = 0; k < 4; ++k)
            bytes[x + (2 + k) * step] = static_cast<uint8_t>(value * value >> (24 - 8 * k)) ^ bias;
    }
}

} // namespace
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_DEEP_HPP
