// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, small windows by matrix instructions: values of a lane's positions, or estimates of them, and the
// best position of a block.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_CHOICE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_CHOICE_HPP

#include "moments.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

struct alignas(16) LaneScratch
{
    Best warps[2][tuning::FUSED_BAND_WARPS];    //!< bests of the warps for the present peak and for the previous one
    uint32_t most[2][tuning::FUSED_BAND_WARPS]; //!< largest estimates of the warps, likewise
    Peak<uint64_t> peaks[MAX_PEAKS];
    Entry entry;
    int status;
};
static_assert(sizeof(LaneScratch) <= gpu::ONE_BLOCK_SCRATCH_BYTES, "plans count on it");

//! Returns 1 / sqrt(x) with a relative error of 2^-22, for x that is neither negative nor denormal; rsqrtf() would
//! check for these.
__device__ __forceinline__ float reciprocalRoot(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

//! Returns the block's best to all threads. Contains a barrier, so calls use two arrays of bests alternately.
template <typename Value> __device__ __forceinline__ Best bestOfWarps(Best best, Best* bests)
{
    best = warpBest<Value>(best);
    if (threadIdx.x % 32 == 0)
        bests[threadIdx.x / 32] = best;
    __syncthreads(); // the warps' bests are complete
    return warpBestOf<Value>(bests, blockDim.x / 32);
}

/** A lane's positions to choose peaks from. Positions have the index y << 16 | x, which ascends in raster order.
   best     returns the block's best position that was not removed
   remove   excludes a position
   forEach  calls body(k, value) for each bit k, 4j + q, of `which` */
template <Metric METRIC, bool WEIGHTED, int CHANNELS> struct LaneChoice;

//! SSD: all values are kept in registers.
template <bool WEIGHTED, int CHANNELS> struct LaneChoice<Metric::SSD, WEIGHTED, CHANNELS>
{
    using Value = std::conditional_t<wideValues(Metric::SSD, WEIGHTED, false), uint64_t, uint32_t>;
    Value values[LANE_ROWS][4]; //!< ~0: outside the window, or removed

    __device__ __forceinline__ LaneChoice(const LaneMoments<Metric::SSD, WEIGHTED, CHANNELS>& moments,
                                          const DeviceFragment& fragment, const LanePositions& mine, const FusedBands&,
                                          const uint32_t*, uint32_t*)
    {
        const Value templ = static_cast<Value>(WEIGHTED ? fragment.sums.qT2 : fragment.sums.qT2 / 255);
#pragma unroll
        for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
            {
                uint64_t product, power;
                moments.fold(j, q, product, power);
                values[j][q] = mine.inside >> (4 * j + q) & 1
                                   ? templ - 2 * static_cast<Value>(product) + static_cast<Value>(power)
                                   : static_cast<Value>(~static_cast<Value>(0));
            }
    }

    __device__ __forceinline__ void remove(int j, int q) { values[j][q] = static_cast<Value>(~static_cast<Value>(0)); }

    __device__ __forceinline__ Best best(const LanePositions& mine, LaneScratch* scratch, int turn) const
    {
        Value least = static_cast<Value>(~static_cast<Value>(0));
#pragma unroll
        for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                least = values[j][q] < least ? values[j][q] : least;
        uint32_t least16 = 0;
#pragma unroll
        for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                least16 |= values[j][q] == least ? 1u << (4 * j + q) : 0;
        int index = Best::NONE;
        if (least != static_cast<Value>(~static_cast<Value>(0)))
#pragma unroll
            for (int q = 0; q < 4; ++q)
            {
                const uint32_t column = least16 >> q & 0x1111;
                if (column)
                    index = ::min(index, mine.indexOf(__ffs(column) - 1 + q));
            }
        return bestOfWarps<Value>({least, index}, scratch->warps[turn]);
    }

    template <class Body> __device__ __forceinline__ void forEach(uint32_t which, const Body& body) const
    {
#pragma unroll
        for (int k = 0; k < 4 * LANE_ROWS; ++k)
            if (which >> k & 1)
                body(k, values[k / 4][k % 4]);
    }
};

/** ZNCC: registers keep estimates of n / sqrt(v) with a relative error of 2^-21; scores are computed only for positions
that may be the best. Scores and estimates have the same order except for the rounding of scores to float, 2^-24. n /
sqrt(v) is at most the deviation of the template, from which the margin follows. */
template <bool WEIGHTED, int CHANNELS> struct LaneChoice<Metric::ZNCC, WEIGHTED, CHANNELS>
{
    using Value = uint32_t;
    uint32_t* const parts; //!< n and v of the lane's positions; consecutive words are blockDim.x apart
    const double deviation;
    const float margin;
    float estimates[LANE_ROWS][4]; //!< NONE: outside the window, or removed
    static constexpr float NONE = -3e38f;

    //! Computes n, v and estimates. @param planes channels of the image. @param shared memory for n and v.
    __device__ __forceinline__ LaneChoice(const LaneMoments<Metric::ZNCC, WEIGHTED, CHANNELS>& moments,
                                          const DeviceFragment& fragment, const LanePositions& mine,
                                          const FusedBands& plan, const uint32_t* planes, uint32_t* shared)
        : parts(shared + (WEIGHTED ? 4 : 1) * threadIdx.x),
          deviation(templateDeviation(fragment.variance)),
          margin(static_cast<float>(WEIGHTED ? deviation : deviation / 255) * (1.f / (1 << 18)))
    {
        using TheMoments = LaneMoments<Metric::ZNCC, WEIGHTED, CHANNELS>;
        __syncthreads(); // data that n and v replace have been read
        if constexpr (WEIGHTED)
        {
            const TemplateSums templ = fragment.sums;
#pragma unroll
            for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
                for (int q = 0; q < 4; ++q)
                {
                    uint32_t sums[CHANNELS];
#pragma unroll
                    for (int c = 0; c < CHANNELS; ++c)
                        sums[c] = moments.image[c][j][q];
                    uint64_t n, v;
                    moments.fold(j, q, n, v);
                    TheMoments::correlate(templ, sums, n, v);
                    take(mine, j, q, n, v);
                }
        }
        else
        {
            LaneBoxes<CHANNELS> boxes(plan, fragment.width, fragment.height, mine, planes);
            const TemplateSums templ = fragment.sums;
#pragma unroll
            for (int j = 0; j < LANE_ROWS; ++j)
            {
                if (j > 0)
                    boxes.next();
#pragma unroll
                for (int q = 0; q < 4; ++q)
                {
                    uint32_t sums[CHANNELS];
#pragma unroll
                    for (int c = 0; c < CHANNELS; ++c)
                        sums[c] = boxes.sums[c][q];
                    uint64_t n, v;
                    moments.fold(j, q, n, v);
                    TheMoments::correlate(templ, sums, n, v);
                    take(mine, j, q, n, v);
                }
            }
        }
    }

    //! Stores n and v of position q of row j, and its estimate.
    __device__ __forceinline__ void take(const LanePositions& mine, int j, int q, uint64_t n, uint64_t v)
    {
        const int k = 4 * j + q;
        if (WEIGHTED)
            reinterpret_cast<ulonglong2*>(parts)[k * blockDim.x] = make_ulonglong2(n, v);
        else // both are below 2^47: at most 66,051 terms
        {
            parts[3 * k * blockDim.x] = static_cast<uint32_t>(n);
            parts[(3 * k + 1) * blockDim.x] = static_cast<uint32_t>(v);
            parts[(3 * k + 2) * blockDim.x] =
                __byte_perm(static_cast<uint32_t>(n >> 32), static_cast<uint32_t>(v >> 32), 0x5410);
        }
        const float variance = static_cast<float>(static_cast<int64_t>(v));
        const float estimate = static_cast<float>(static_cast<int64_t>(n)) * reciprocalRoot(variance);
        estimates[j][q] = !(mine.inside >> k & 1) ? NONE : (variance == 0.f ? 0.f : estimate);
    }

    __device__ __forceinline__ void load(int k, int64_t& n, int64_t& v) const
    {
        if (WEIGHTED)
        {
            const ulonglong2 part = reinterpret_cast<const ulonglong2*>(parts)[k * blockDim.x];
            n = static_cast<int64_t>(part.x), v = static_cast<int64_t>(part.y);
            return;
        }
        const uint32_t high = parts[(3 * k + 2) * blockDim.x];
        const int64_t highN = static_cast<int16_t>(high & 0xffff), highV = high >> 16;
        n = highN * (int64_t(1) << 32) + parts[3 * k * blockDim.x];
        v = highV * (int64_t(1) << 32) + parts[(3 * k + 1) * blockDim.x];
    }

    __device__ __forceinline__ void remove(int j, int q) { estimates[j][q] = NONE; }

    __device__ __forceinline__ Best best(const LanePositions& mine, LaneScratch* scratch, int turn) const
    {
        float most = NONE;
#pragma unroll
        for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                most = fmaxf(most, estimates[j][q]);
        const uint32_t of = detail::largestOfWarp(~znccToValue(most)); // ascending
        if (threadIdx.x % 32 == 0)
            scratch->most[turn][threadIdx.x / 32] = of;
        __syncthreads(); // the estimates of all warps are complete
        const int lane = threadIdx.x % 32;
        most = valueToZncc(
            ~detail::largestOfWarp(lane < static_cast<int>(blockDim.x) / 32 ? scratch->most[turn][lane] : 0));
        if (most == NONE)
            return Best::none();
        uint32_t which = 0;
#pragma unroll
        for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                which |= estimates[j][q] >= most - margin ? 1u << (4 * j + q) : 0;
        Best best = Best::none();
        forEach(which, [&](int k, uint32_t value) { best.take(value, mine.indexOf(k)); });
        return bestOfWarps<Value>(best, scratch->warps[turn]);
    }

    template <class Body> __device__ __forceinline__ void forEach(uint32_t which, const Body& body) const
    {
#pragma unroll 1
        for (; which; which &= which - 1)
        {
            const int k = __ffs(which) - 1;
            int64_t n, v;
            load(k, n, v);
            const int64_t scale = WEIGHTED ? 1 : 255 * 255;
            body(k, znccToValue(znccScoreOf(scale * n, scale * v, deviation)));
        }
    }
};

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_CHOICE_HPP
