// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: picture and template to shared memory.
//
// Staged picture. Byte sums run on four pixels of one channel at a time (vabsdiff4, dp4a), at any x offset. So each row of
// each channel lies in shared memory four times, once for each byte phase p: word k of phase p holds pixels
// 4k+p .. 4k+p+3. A thread's positions are 4 apart, x = p + 4i, so its windows for word j of a template row are the
// consecutive words i+j, and serve several positions from registers. Rows of all phases follow each other
// ((row * 4 + phase) * units, in units of 16 bytes). `units` is odd, so that 8 lanes on consecutive (row, phase) read 16
// bytes each without bank conflicts.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGING_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGING_HPP

#include "cvconfig.h"
#include "../common/launch.hpp"
#include "../fragment_matcher/stages.hpp"
#include "fragment_matcher_tuning.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Sum of absolute differences of four bytes, added to `sum`. One instruction up to sm_100.
__device__ __forceinline__ uint32_t sad4(uint32_t a, uint32_t b, uint32_t sum)
{
#if __CUDA_ARCH__ < 1200
    uint32_t result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#else
    return __dp4a(__vabsdiffu4(a, b), 0x01010101u, sum);
#endif
}

__device__ __forceinline__ uint32_t dot4(uint32_t a, uint32_t b, uint32_t sum) { return __dp4a(a, b, sum); }

//! High and low bytes of the products of the bytes of a and b.
__device__ __forceinline__ void multiply4(uint32_t a, uint32_t b, uint32_t& high, uint32_t& low)
{
    const uint32_t p0 = (a & 0xff) * (b & 0xff), p1 = ((a >> 8) & 0xff) * ((b >> 8) & 0xff);
    const uint32_t p2 = ((a >> 16) & 0xff) * ((b >> 16) & 0xff), p3 = (a >> 24) * (b >> 24);
    const uint32_t p01 = __byte_perm(p0, p1, 0x5410), p23 = __byte_perm(p2, p3, 0x5410);
    low = __byte_perm(p01, p23, 0x6420);
    high = __byte_perm(p01, p23, 0x7531);
}

/** The WORDS + 1 aligned words that hold the 4 * WORDS bytes at `begin` of a row of `rowBytes` bytes; all 0 when not
`wanted`. Bytes outside of the row are 0: a word that lies partly outside is read byte by byte. That takes a row whose ends
are not aligned to 4, so most pictures never need it. */
template <int WORDS>
__device__ __forceinline__ void fetchWords(const uint8_t* row, int begin, int rowBytes, bool wanted, uint32_t* raw)
{
    const int misalignment = static_cast<int>(reinterpret_cast<uintptr_t>(row + begin) & 3),
              first = begin - misalignment;
    const uint8_t* aligned = row + first;
    const unsigned whole = wanted && rowBytes > 3 ? rowBytes - 3 : 0; // words that start in [0, whole) lie in the row
#pragma unroll
    for (int k = 0; k <= WORDS; ++k)
        raw[k] =
            static_cast<unsigned>(first + 4 * k) < whole ? __ldg(reinterpret_cast<const uint32_t*>(aligned) + k) : 0;
    const int last = (rowBytes - first) >> 2; // the word in which the row ends, if it does not end with a word
    const bool cutAtEnd = ((rowBytes - first) & 3) != 0 && last <= WORDS;
    if (wanted && (first < 0 || cutAtEnd))
    {
#pragma unroll
        for (int k = 0; k <= WORDS; ++k)
        {
            if (!(k == 0 && first < 0) && !(k == last && cutAtEnd))
                continue;
            raw[k] = 0;
            for (int b = 0; b < 4; ++b)
                if (static_cast<unsigned>(first + 4 * k + b) < static_cast<unsigned>(rowBytes))
                    raw[k] |= static_cast<uint32_t>(__ldg(aligned + 4 * k + b)) << (8 * b);
        }
    }
}

//! Eight pixels from fetched words: word 0 (pixels 0..3) and word 1 (pixels 4..7) of each channel.
template <int CHANNELS>
__device__ __forceinline__ void splitChannels(const uint32_t* raw, uint32_t misalignment, int pixelStride,
                                              uint32_t (*planes)[2])
{
    uint32_t w[8] = {};
#pragma unroll
    for (int k = 0; k < (CHANNELS == 1 ? 2 : 8); ++k)
        w[k] = __funnelshift_r(raw[k], raw[k + 1], 8 * misalignment);
#pragma unroll
    for (int h = 0; h < 2; ++h)
    {
        if (CHANNELS == 1)
            planes[0][h] = w[h];
        else if (pixelStride == 3) // b g r b | g r b g | r b g r
        {
            const uint32_t a = w[3 * h], b = w[3 * h + 1], c = w[3 * h + 2];
            planes[0][h] = __byte_perm(__byte_perm(a, b, 0x0630), c, 0x5210);
            planes[1 % CHANNELS][h] = __byte_perm(__byte_perm(a, b, 0x0741), c, 0x6210);
            planes[2 % CHANNELS][h] = __byte_perm(__byte_perm(a, b, 0x0052), c, 0x7410);
        }
        else // b g r x, four times
        {
            const uint32_t bg01 = __byte_perm(w[4 * h], w[4 * h + 1], 0x5140);     // b0 b1 g0 g1
            const uint32_t bg23 = __byte_perm(w[4 * h + 2], w[4 * h + 3], 0x5140); // b2 b3 g2 g3
            planes[0][h] = __byte_perm(bg01, bg23, 0x5410);
            planes[1 % CHANNELS][h] = __byte_perm(bg01, bg23, 0x7632);
            planes[2 % CHANNELS][h] = __byte_perm(__byte_perm(w[4 * h], w[4 * h + 1], 0x0062),
                                                  __byte_perm(w[4 * h + 2], w[4 * h + 3], 0x0062), 0x5410);
        }
    }
}

/** Stages `rows` rows of the picture from (x, y), 16 * units bytes of each phase, for the block. PLANES = 3 stages all
channels, planeWords apart; PLANES = 1 channel `plane` alone. Rows beyond the picture are left as they are. A thread has
several loads on their way before it uses the first: with one wave of blocks nothing else would hide their latency. */
template <int CHANNELS, int PLANES>
__device__ void stagePicture(const ImageView& frame, int x, int y, int rows, int units, int plane, uint32_t* staged,
                             int planeWords)
{
    constexpr int AHEAD = CHANNELS == 1 ? tuning::STAGE_AHEAD_GRAY : tuning::STAGE_AHEAD_COLOR;
    constexpr int RAW = CHANNELS == 1 ? 3 : 9;
    const int groups = 4 * units, stepRows = blockDim.x / groups, stepGroups = blockDim.x - stepRows * groups;
    rows = ::min(rows, frame.rows - y);
    int r = threadIdx.x / groups, k = threadIdx.x - r * groups;
    while (r < rows)
    {
        uint32_t raw[AHEAD][RAW], misalignment[AHEAD];
        uint32_t* word[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
        {
            const uint8_t* row = frame.pixel(0, y + r);
            const int rowBytes = frame.cols * frame.pixelStride, begin = (x + 4 * k) * frame.pixelStride;
            const bool wanted = r < rows && begin < rowBytes;
            if (CHANNELS == 1)
                fetchWords<2>(row, begin, rowBytes, wanted, raw[a]);
            else if (frame.pixelStride == 3)
            {
                fetchWords<6>(row, begin, rowBytes, wanted, raw[a]);
                raw[a][RAW - 2] = raw[a][RAW - 1] = 0;
            }
            else
                fetchWords<RAW - 1>(row, begin, rowBytes, wanted, raw[a]);
            misalignment[a] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row + begin) & 3);
            word[a] = r < rows ? staged + 4 * r * groups + k : nullptr;
            r += stepRows;
            k += stepGroups;
            if (k >= groups)
            {
                k -= groups;
                ++r;
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
        {
            uint32_t planes[CHANNELS][2];
            splitChannels<CHANNELS>(raw[a], misalignment[a], frame.pixelStride, planes);
            if (word[a] == nullptr)
                break;
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                if (PLANES == 1 && c != plane)
                    continue;
#pragma unroll
                for (int phase = 0; phase < 4; ++phase)
                    word[a][(PLANES == 1 ? 0 : c * planeWords) + phase * groups] =
                        __funnelshift_r(planes[c][0], planes[c][1], 8 * phase);
            }
        }
    }
}

//! Moments of weighted squares and cross terms need q T split into bytes; see multiply4().
template <int METRIC, bool WEIGHTED> struct Traits
{
    static constexpr bool MOMENTS = METRIC == METRIC_ZNCC || (METRIC == METRIC_SSD && WEIGHTED);
    static constexpr bool SPLIT = MOMENTS && WEIGHTED;
    static constexpr int TEMPLATE_PLANES = SPLIT ? 2 : 1; //!< staged words a template word
};

//! Stages rows x words (a multiple of 4) of one template plane and of the weights, 16 bytes a thread and step.
template <bool SPLIT>
__device__ void stageTemplate(const uint32_t* templ, const uint32_t* weights, int pitch, int rows, int words,
                              uint32_t* t, uint32_t* tLow, uint32_t* q)
{
    const int quads = words / 4;
    for (int u = threadIdx.x; u < rows * quads; u += blockDim.x)
    {
        const int r = u / quads, source = r * pitch + 4 * (u - r * quads);
        const uint4 value = __ldg(reinterpret_cast<const uint4*>(templ + source));
        const uint4 weight = __ldg(reinterpret_cast<const uint4*>(weights + source));
        uint4 high = value;
        if (SPLIT)
        {
            uint4 low;
            multiply4(value.x, weight.x, high.x, low.x);
            multiply4(value.y, weight.y, high.y, low.y);
            multiply4(value.z, weight.z, high.z, low.z);
            multiply4(value.w, weight.w, high.w, low.w);
            reinterpret_cast<uint4*>(tLow)[u] = low;
        }
        reinterpret_cast<uint4*>(t)[u] = high;
        reinterpret_cast<uint4*>(q)[u] = weight;
    }
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_STAGING_HPP
