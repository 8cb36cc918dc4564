// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, small windows by matrix instructions: assignment of positions to lanes, and images and templates in
// shared memory.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_LANES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_LANES_HPP

#include "bands_device.hpp"
#include "fused_bands.hpp"
#include "mma.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::FusedBands;

const int LANE_ROWS = gpu::FUSED_BAND_ROWS;

//! Maps the two rows of the matrix instruction that a lane holds (r and r + 8) to groups of image rows and blocks of 8
//! columns.
struct LaneBlocks
{
    int blocks, groups; //!< blocks and groups per instruction, blocks * groups <= 16
    int group[2], block[2];

    __device__ __forceinline__ explicit LaneBlocks(int cols)
    {
        blocks = (cols + 7) >> 3;
        const int inverse = static_cast<int>(1024u / static_cast<unsigned>(blocks)) + 1; // the only division
        groups = 16 * inverse >> 10;
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            const int p = threadIdx.x % 32 / 4 + 8 * half;
            group[half] = p * inverse >> 10;
            block[half] = p - group[half] * blocks;
        }
    }
    //! Returns false for rows of the instruction that belong to no group; these are the last ones.
    __device__ __forceinline__ bool any(int half) const { return group[half] < groups; }
};

/** Positions of a lane: two halves of two neighbouring columns in LANE_ROWS consecutive rows. */
struct LanePositions
{
    int x[2], y[2];  //!< first position of each half
    int line[2];     //!< y, or the last such row of the window if y is outside
    int at[2];       //!< words from the start of a plane to the image's operand
    uint32_t inside; //!< bit 4j + q is set if position q of row j is in the window

    __device__ __forceinline__ LanePositions(const SearchWindow& window, const LaneBlocks& lane, int pitch) : inside(0)
    {
        const int t = threadIdx.x % 4, lastRow = (window.rows - 1) & -LANE_ROWS;
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            // Lanes without a group read the words of other lanes, which avoids bank conflicts.
            const int group = lane.any(half) ? lane.group[half] : lane.groups - 1;
            const int block = lane.any(half) ? lane.block[half] : lane.blocks - 1;
            x[half] = 8 * block + 2 * t;
            y[half] = (static_cast<int>(threadIdx.x / 32) * lane.groups + group) * LANE_ROWS;
            line[half] = ::min(y[half], lastRow);
            at[half] = line[half] * pitch + 2 * block + 2 * t;
            const uint32_t columns = (x[half] < window.cols) | (x[half] + 1 < window.cols) << 1;
            const int rows = lane.any(half) ? ::min(::max(window.rows - y[half], 0), LANE_ROWS) : 0;
            inside |= (columns * 0x1111 & ((1u << 4 * rows) - 1)) << 2 * half;
        }
    }
    __device__ __forceinline__ int xOf(int q) const { return (q < 2 ? x[0] : x[1]) + q % 2; }
    __device__ __forceinline__ int yOf(int q) const { return q < 2 ? y[0] : y[1]; }
    //! Returns the index y << 16 | x of bit k.
    __device__ __forceinline__ int indexOf(int k) const { return (yOf(k % 4) + k / 4) << 16 | xOf(k % 4); }
};

//! Returns true if all rows of the frame begin at multiples of 16 bytes.
__device__ __forceinline__ bool inUnits(const ByteImageView& frame)
{
    return ((reinterpret_cast<uintptr_t>(frame.data) | frame.step) & 15) == 0;
}

/** Starts to copy the rows of an area; in units of 16 bytes if inUnits(), else by fetchRaw(). */
__device__ __forceinline__ void fetchArea(const ByteImageView& frame, const Rect4& area, const FusedBands& plan,
                                          uint32_t* __restrict__ raw)
{
    if (!inUnits(frame))
        return fetchRaw(frame, area.x, area.y, area.width, area.height, plan.stage, raw);
    const int begin = area.x * frame.pixelStride & ~15, rowBytes = frame.cols * frame.pixelStride;
    const int end = (area.x + area.width) * frame.pixelStride, firstRow = quotient(threadIdx.x, plan.unitInverse);
    const int rows = firstRow < plan.unitStep ? area.height : 0, targetStep = plan.unitStep * plan.stage.rawPitch;
    const size_t step = plan.unitStep * frame.step;
#pragma unroll 1
    for (int u = threadIdx.x - firstRow * plan.unitThreads; begin + 16 * u < end; u += plan.unitThreads)
    {
        const int offset = begin + 16 * u;
        const uint8_t* row = frame.data + static_cast<size_t>(area.y + firstRow) * frame.step;
        uint32_t* target = raw + firstRow * plan.stage.rawPitch + 4 * u;
        if (offset + 16 <= rowBytes)
        {
            const uint8_t* source = row + offset;
#pragma unroll 4
            for (int r = firstRow; r < rows; r += plan.unitStep, source += step, target += targetStep)
                __pipeline_memcpy_async(target, source, 16);
            continue;
        }
#pragma unroll 1
        for (int r = firstRow; r < rows; r += plan.unitStep, row += step, target += targetStep)
#pragma unroll 1
            for (int k = 0; k < 4; ++k)
                target[k] = wordAtEdge(row, offset + 4 * k, rowBytes);
    }
    __pipeline_commit();
}

//! Converts raw rows to planes of bytes: channels, and the bytes of the sums of their squares, high ones first.
template <int STRIDE>
__device__ __forceinline__ void makePlanes(const ByteImageView& frame, const Rect4& area, const FusedBands& plan,
                                           const uint32_t* __restrict__ raw, uint32_t* __restrict__ planes,
                                           uint32_t* __restrict__ squarePlanes)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3, SQUARES = STRIDE == 1 ? 2 : 3;
    const bool units = inUnits(frame);
    const uint32_t start =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame.pixel(area.x, area.y))) & (units ? 15 : 3);
    const int planeWords = plan.planeWords;
    for (Steps at((area.width + 3) / 4); at.row < area.height; at.next())
    {
        const uint32_t skew = units ? start : (start + at.row * static_cast<uint32_t>(frame.step)) & 3;
        const uint32_t* const words = raw + at.row * plan.stage.rawPitch + skew / 4 + STRIDE * at.col;
        uint32_t held[STRIDE + 1], channels[3], squares[4];
#pragma unroll
        for (int k = 0; k <= STRIDE; ++k)
            held[k] = words[k];
#pragma unroll
        for (int c = 0; c < 3; ++c)
            channels[c] = c < CHANNELS ? planeWord<STRIDE>(held, 0, 8 * (skew & 3), c) : 0;
        const uint32_t low = __byte_perm(channels[0], channels[1], 0x5140), // two pixels of two channels
            high = __byte_perm(channels[0], channels[1], 0x7362);
#pragma unroll
        for (int k = 0; k < 4; ++k)
        {
            const uint32_t pixel =
                CHANNELS == 1 ? channels[0] & 0xffu << (8 * k)
                              : __byte_perm(k < 2 ? low : high, channels[2] & 0xffu << (8 * k),
                                            (k % 2 == 0 ? 0x10 : 0x32) | (4 + k) << 8 | (k == 0 ? 5 : 4) << 12);
            squares[k] = dot4(pixel, pixel, 0);
        }
        const int target = at.row * plan.pitch + at.col;
        uint32_t* const to = planes + target;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
            to[c * planeWords] = channels[c];
        const uint32_t first = __byte_perm(squares[0], squares[1], 0x5140);
        const uint32_t second = __byte_perm(squares[2], squares[3], 0x5140);
        uint32_t* const bytes = squarePlanes + target;
        if (SQUARES == 3)
            bytes[0] = __byte_perm(__byte_perm(squares[0], squares[1], 0x0062),
                                   __byte_perm(squares[2], squares[3], 0x0062), 0x5410);
        bytes[(SQUARES - 2) * plan.squareWords] = __byte_perm(first, second, 0x7632);
        bytes[(SQUARES - 1) * plan.squareWords] = __byte_perm(first, second, 0x5410);
    }
}

/** Copies the planes of a template (see bandPlanes()) to shared memory, plane after plane; without weights by
asynchronous copies as in fetchRaw(). @param rows of a plane in shared memory: `height`, or LANE_ROWS with a last row of
zeros. */
template <bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ void stageRows(const uint32_t* __restrict__ arena, int height, int rows, int pitch, int step,
                                          uint32_t* __restrict__ templ)
{
    const int planeWords = height * pitch;
    for (Steps at(step / 4); at.row < (WEIGHTED ? rows : CHANNELS * rows); at.next())
    {
        const int planesBefore = rows > height ? at.row / LANE_ROWS : 0; // each with a row of zeros
        const int k = 4 * at.col - 4, from = (at.row - planesBefore) * pitch + k;
        uint4* const to = reinterpret_cast<uint4*>(templ + at.row * step) + at.col;
        const bool inside = k >= 0 && k < pitch && (rows == height || at.row % LANE_ROWS < height);
        if (!WEIGHTED)
        {
            if (inside)
                __pipeline_memcpy_async(to, arena + from, 16);
            else
                *to = make_uint4(0, 0, 0, 0);
            continue;
        }
        const uint4 zero = {0, 0, 0, 0};
        const uint4 weight =
            inside ? __ldg(reinterpret_cast<const uint4*>(arena + CHANNELS * planeWords + from)) : zero;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint4 value = inside ? __ldg(reinterpret_cast<const uint4*>(arena + c * planeWords + from)) : zero;
            uint4 high, low;
            multiply4(value.x, weight.x, high.x, low.x);
            multiply4(value.y, weight.y, high.y, low.y);
            multiply4(value.z, weight.z, high.z, low.z);
            multiply4(value.w, weight.w, high.w, low.w);
            to[2 * c * rows * (step / 4)] = high;
            to[(2 * c + 1) * rows * (step / 4)] = low;
        }
        to[2 * CHANNELS * rows * (step / 4)] = weight;
    }
    __pipeline_commit();
}

//! Makes the operand of a band of ones that is as wide as the fragment.
__device__ __forceinline__ void makeOnes(int width, int chunk, uint32_t (&ones)[2])
{
    const int lane = threadIdx.x % 32, first = 32 * chunk + 8 * (lane % 4) - lane / 4;
    const int before = ::max(-first, 0),
              end = ::min(::max(width - first, 0), 8); // first and last of eight bytes, before <= 7
    const uint64_t bytes = (end == 8 ? ~0ull : (1ull << 8 * end) - 1) & ~0ull << 8 * before & 0x0101010101010101;
    ones[0] = static_cast<uint32_t>(bytes), ones[1] = static_cast<uint32_t>(bytes >> 32);
}

/** Computes, per row of the area and per column of positions, the sum of squares over the fragment's width (less than
that over its pixels, which fits 32 bits): products of the squares' bytes with a band of ones, one row of an instruction
per 8 columns. @param planes planes of these bytes, from makePlanes(). */
template <int SQUARES>
__device__ __forceinline__ void makeLines(const uint32_t* __restrict__ planes, const FusedBands& plan,
                                          const LaneBlocks& lane, int rows, int width, uint32_t* lines)
{
    const int chunks = bandChunks(width), t = threadIdx.x % 4, start = static_cast<int>(threadIdx.x / 32) * lane.groups;
    const int pitch = 8 * lane.blocks, step = static_cast<int>(blockDim.x / 32) * lane.groups, none = 1 << 20;
    int row[2], from[2], to[2]; // one per half
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        row[half] = lane.any(half) ? start + lane.group[half] : none;
        from[half] = row[half] * plan.pitch + 2 * (lane.block[half] + t);
        to[half] = row[half] * pitch + 8 * lane.block[half] + 2 * t;
    }
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk)
    {
        uint32_t ones[2];
        makeOnes(width, chunk, ones);
        const uint32_t *first = planes + from[0] + 8 * chunk, *second = planes + from[1] + 8 * chunk;
        uint32_t *line0 = lines + to[0], *line1 = lines + to[1];
        const int planeStep = step * plan.pitch, lineStep = step * pitch;
#pragma unroll 1
        for (int r = 0; start + r < rows; r += step)
        {
            const bool any0 = row[0] + r < rows, any1 = row[1] + r < rows;
            uint32_t bytes[SQUARES][4];
#pragma unroll
            for (int b = 0; b < SQUARES; ++b)
            {
                const uint32_t *x = first + b * plan.squareWords, *y = second + b * plan.squareWords;
                const uint32_t image[4] = {any0 ? x[0] : 0, any1 ? y[0] : 0, any0 ? x[1] : 0, any1 ? y[1] : 0};
                bytes[b][0] = bytes[b][1] = bytes[b][2] = bytes[b][3] = 0;
                multiplyAdd(bytes[b], image, ones);
            }
            uint32_t sums[4];
#pragma unroll
            for (int q = 0; q < 4; ++q)
            {
                sums[q] = (bytes[0][q] << 8) + bytes[1][q];
                if (SQUARES == 3)
                    sums[q] = (sums[q] << 8) + bytes[SQUARES - 1][q];
            }
            const auto store = [chunk](uint32_t* line, uint32_t x, uint32_t y)
            {
                uint2* const both = reinterpret_cast<uint2*>(line);
                const uint2 before = chunk > 0 ? *both : make_uint2(0, 0);
                *both = make_uint2(before.x + x, before.y + y);
            };
            if (any0)
                store(line0, sums[0], sums[1]);
            if (any1)
                store(line1, sums[2], sums[3]);
            first += planeStep, second += planeStep, line0 += lineStep, line1 += lineStep;
        }
    }
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_LANES_HPP
