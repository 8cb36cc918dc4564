// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC, fused kernel: scores, peaks and report of a fragment by one block, all of whose values lie in
// shared memory.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: C N M h 32 ceil((w + 7) / 32) products of bytes (five
// times that when weighted, SSD four), which is little: bound by latency and by all that is not a product. Bytes: each area
// three times, and each fragment once.

#include "fragment_matcher_bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::FusedPlan;

const int THREADS = tuning::BAND_FUSED_THREADS;

struct Scratch
{
    Best warps[2][THREADS / 32]; //!< of this peak and of the last
    Peak<uint64_t> peaks[MAX_PEAKS];
    Entry entry;
    int status;
};

//! Values of a window in shared memory, low and high words.
template <typename Value> struct ValueMap
{
    const uint32_t *low, *high;
    int pitch;

    __device__ __forceinline__ uint64_t operator()(int x, int y) const
    {
        const int at = y * pitch + x;
        return sizeof(Value) > 4 ? static_cast<uint64_t>(high[at]) << 32 | low[at] : low[at];
    }
};

//! peaks: greedy, each the best outside the zones of those before. The count is for warp 0; the others are done.
template <typename Value>
__device__ int findPeaksOfMap(const ValueMap<Value>& map, const Settings& settings, const Best* walked, Scratch* scratch)
{
    const SearchWindow& window = scratch->entry.window;
    const int distance = exclusionDistance(settings.exclusionDistance, scratch->entry.fragment.width,
                                           scratch->entry.fragment.height);
    int count = 0;
#pragma unroll 1
    for (; count < settings.peaks; ++count)
    {
        Best best = Best::none();
        if (count == 0 && walked)
            best = *walked;
        else
        {
#pragma unroll 2
            for (Steps at(window.cols); at.row < window.rows; at.next())
                if (allowed(at.col, at.row, scratch->peaks, count, distance, settings.exclusion))
                    best.take(map(at.col, at.row), at.row * window.cols + at.col);
            Best* const bests = scratch->warps[count % 2];
            best = warpBest<Value>(best);
            if (threadIdx.x % 32 == 0)
                bests[threadIdx.x / 32] = best;
            __syncthreads(); // the warps' bests are complete
            best = warpBestOf<Value>(bests, blockDim.x / 32);
        }
        if (best.index == Best::NONE)
            break;
        if (threadIdx.x == 0)
        {
            const int y = best.index / window.cols;
            scratch->peaks[count] = {best.value, best.index - y * window.cols, y};
        }
        __syncthreads(); // all threads see the peak
    }
    return count;
}

template <int METRIC, bool WEIGHTED, int KC>
__global__ void __launch_bounds__(THREADS, KC == 1 ? tuning::BAND_FUSED_BLOCKS : 2)
    matchBandsKernel(const ImageView frame, const Batch batch, const Settings settings, const BandPlan plan,
                     const Best* walked, const Outputs out)
{
    constexpr int DEPTH = KC == 1 ? tuning::BAND_FUSED_DEPTH : tuning::BAND_TILE_DEPTH;
    using Value = std::conditional_t<wideValues(METRIC, WEIGHTED, false), uint64_t, uint32_t>;
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ Scratch scratch;

    const int e = blockIdx.x, i = fragmentOf(batch, e);
    const Rect4 area = areaOf(frame, batch, i);
    openEntry(batch, i, area, loadFragment(batch, i), &scratch.entry, &scratch.status);
    __syncthreads(); // the entry is complete
    if (scratch.status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
            reportNothing(out, i, settings.peaks, scratch.status);
        return;
    }
    const Entry& entry = scratch.entry;
    const BandTile tile = {0, 0, entry.window.cols, entry.window.rows};
    scoreTile<METRIC, WEIGHTED, KC, DEPTH>(frame, area, batch, entry, tile, plan, shared,
                                           [&](int, int, uint32_t* sums, uint64_t value)
                                           {
                                               sums[0] = static_cast<uint32_t>(value);
                                               if (sizeof(Value) > 4)
                                                   sums[plan.sumsWords] = static_cast<uint32_t>(value >> 32);
                                           });
    __syncthreads(); // the values are complete
    const uint32_t* sums = shared + plan.sumsOffset;
    const ValueMap<Value> map = {sums, sums + plan.sumsWords, 8 * plan.colBlocks};
    const int count = findPeaksOfMap(map, settings, walked ? walked + e : nullptr, &scratch);
    if (threadIdx.x < 32)
        report(out, i, settings, entry.fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch.peaks, count, map);
}

template <int METRIC, bool WEIGHTED>
void launchBands(const ImageView& frame, const Batch& batch, const Settings& settings, const BandPlan& plan,
                 const Best* walked, const Outputs& out, cudaStream_t stream)
{
    const auto kernel = plan.chunks == 1 ? matchBandsKernel<METRIC, WEIGHTED, 1> : matchBandsKernel<METRIC, WEIGHTED, 2>;
    detail::launch("matchBands", kernel, dim3(batch.count), dim3(plan.threads), plan.sharedBytes, stream, frame, batch,
                   settings, plan, walked, out);
}

} // namespace

namespace gpu {

void matchBands(const ImageView& frame, const Batch& batch, const Settings& settings, const FusedPlan& plan,
                const Best* walked, const Outputs& out, StreamHandle stream)
{
    const auto launch = isCorrelation(settings.metric)
                            ? (batch.weighted ? launchBands<METRIC_ZNCC, true> : launchBands<METRIC_ZNCC, false>)
                            : (batch.weighted ? launchBands<METRIC_SSD, true> : launchBands<METRIC_SSD, false>);
    launch(frame, batch, settings, plan.bands, walked, out, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
