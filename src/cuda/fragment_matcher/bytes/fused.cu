// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: score, findPeaks and report of a fragment by one block, by byte sums. A thread keeps the values of
// up to 13 positions of one row in registers; image and template are in shared memory, with one expanded channel at a
// time.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: C N M h ceil(w/4) byte-sum instructions (two for
// unweighted SSD, three for ZNCC, five when moments are weighted), bound by the integer pipes (64 lanes per clock and
// SM); bytes: each area and fragment once.

#include "../common/device.hpp"
#include "fused.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::FusedPlan;

//! Launch bounds: most threads per block, and blocks per SM that registers must allow.
template <Metric METRIC, bool WEIGHTED, int P> struct FusedBounds
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS;
    static constexpr int THREADS = MOMENTS ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS;
    static constexpr int BLOCKS =
        MOMENTS ? tuning::FUSED_MOMENTS_BLOCKS : (P > 9 ? tuning::FUSED_WIDE_BLOCKS : tuning::FUSED_BLOCKS);
};

struct alignas(16) FusedScratch
{
    Best warps[2][tuning::FUSED_THREADS / 32]; //!< bests of the warps for the present peak and for the previous one
    Peak<uint64_t> peaks[MAX_PEAKS];
    Entry entry; //!< in shared memory, because the sums need the registers
    int status;
};
static_assert(sizeof(FusedScratch) == gpu::ONE_BLOCK_SCRATCH_BYTES, "plans count on it");

/** Work of a thread: P positions of one row of the window, x = phase + 4i, and one part of the fragment's rows. Items
are (row, phase), phase fastest, which avoids bank conflicts. A warp takes up to `slots` items. If it takes fewer, as
the last warp may, several lanes share an item and divide the rows of the fragment among themselves. */
struct Item
{
    int x, y;             //!< position 0 in the window
    int part, partsShift; //!< index of the part; there are 2^partsShift parts
    bool any;             //!< false: no item

    __device__ __forceinline__ Item(const SearchWindow& window, int slots)
    {
        const int items = 4 * window.rows, first = static_cast<int>(threadIdx.x) / 32 * slots;
        while (slots > 4 && items - first <= slots / 2)
            slots /= 2;
        const int lane = threadIdx.x % 32, slot = lane & (slots - 1);
        any = first + slot < items;
        x = slot % 4;
        y = (first + slot) / 4;
        partsShift = __ffs(32 / slots) - 1;
        part = lane >> (5 - partsShift);
    }
};

//! Adds up the sums of the lanes of one item, every (32 >> partsShift)-th lane of a warp; cub::WarpReduce has no form
//! for that.
template <Metric METRIC, bool WEIGHTED, int P>
__device__ __forceinline__ void mergeParts(Sums<METRIC, WEIGHTED, P>& sums, int partsShift)
{
    const auto merge = [](uint32_t& sum, int distance) { sum += __shfl_xor_sync(~0u, sum, distance); };
#pragma unroll 1
    for (int distance = 16; distance >= 32 >> partsShift; distance /= 2)
    {
#pragma unroll
        for (int i = 0; i < P; ++i)
        {
            if (Traits<METRIC, WEIGHTED>::HAS_SUM)
                merge(sums.sum[i], distance);
            if (Traits<METRIC, WEIGHTED>::MOMENTS)
            {
                merge(sums.squares[i], distance);
                merge(sums.cross[i], distance);
            }
            if (Traits<METRIC, WEIGHTED>::SPLIT)
            {
                merge(sums.squaresLow[i], distance);
                merge(sums.crossLow[i], distance);
            }
        }
    }
}

//! Starts to copy a fragment to shared memory. The arena has the layout needed there, unless planes are split.
template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__device__ void stageFragment(const uint32_t* arena, const DeviceFragment& fragment, uint32_t* target)
{
    const int planeWords = fragment.pitch * fragment.height;
    if constexpr (Traits<METRIC, WEIGHTED>::SPLIT)
    {
        for (int c = 0; c < CHANNELS; ++c)
        {
            uint32_t* t = target + 2 * c * planeWords;
            stageTemplate<true>(arena + c * planeWords, arena + CHANNELS * planeWords, fragment.pitch, fragment.height,
                                fragment.pitch, t, t + planeWords, target + 2 * CHANNELS * planeWords);
        }
    }
    else
    {
        for (int u = 4 * threadIdx.x; u < (CHANNELS + 1) * planeWords; u += 4 * blockDim.x)
            __pipeline_memcpy_async(target + u, arena + u, 16);
        __pipeline_commit();
    }
}

//! Computes the values of an item's positions, channel by channel; ~0 for positions outside the window.
template <Metric METRIC, bool WEIGHTED, int CHANNELS, int P, typename Value>
__device__ __forceinline__ void itemValues(const ByteImageView& frame, const Rect4& area, const Entry& entry,
                                           const FusedPlan& plan, const Item& item, const uint32_t* raw,
                                           const uint32_t* templ, uint32_t* expanded, Value (&values)[P])
{
    using TheTraits = Traits<METRIC, WEIGHTED>;
    const DeviceFragment& fragment = entry.fragment;
    const int planeWords = fragment.pitch * fragment.height, rowWords = 16 * plan.stage.units;
    const int first = item.part * fragment.height >> item.partsShift;
    const int last = (item.part + 1) * fragment.height >> item.partsShift;
    const uint32_t* image = expanded + (item.y + first) * rowWords + item.x * 4 * plan.stage.units;
    const uint32_t* weights = templ + CHANNELS * TheTraits::TEMPLATE_PLANES * planeWords + first * fragment.pitch;
    Sums<METRIC, WEIGHTED, P> sums;
    sums.clear();
    uint64_t covariance[P] = {},
             variance[P] = {}; // moments only; of one channel, or else of all, sums fit 32 bits: planFused()
#pragma unroll 1
    for (int c = 0; c < CHANNELS; ++c)
    {
        __pipeline_wait_prior(1);
        __syncthreads(); // the raw image is complete, the last channel has been read
        expandChannel<CHANNELS, TheTraits::SPLIT>(frame, area.x, area.y, area.height, c, plan.stage, raw, expanded);
        __pipeline_wait_prior(0);
        __syncthreads(); // template and channel are complete
        const uint32_t* t = templ + c * TheTraits::TEMPLATE_PLANES * planeWords + first * fragment.pitch;
        if (item.any)
            sums.addRows(image, rowWords, plan.stage.expandedWords, t, t + planeWords, weights, fragment.pitch,
                         last - first, fragment.width);
        if constexpr (TheTraits::MOMENTS)
        {
            mergeParts(sums, item.partsShift);
#pragma unroll
            for (int i = 0; i < P; ++i)
                TheTraits::fold(sums.at(i), fragment.sums, c, covariance[i], variance[i]);
            sums.clear();
        }
    }
    if constexpr (!TheTraits::MOMENTS)
        mergeParts(sums, item.partsShift);
    const int cols = item.any ? entry.window.cols : 0;
#pragma unroll
    for (int i = 0; i < P; ++i)
    {
        if (item.x + 4 * i >= cols)
            values[i] = static_cast<Value>(~static_cast<Value>(0));
        else if constexpr (TheTraits::MOMENTS)
            values[i] =
                static_cast<Value>(TheTraits::value(covariance[i], variance[i], fragment.sums, fragment.variance));
        else
            values[i] = sums.sum[i];
    }
}

//! Returns the best of an item's positions; its index is y << 16 | x, which ascends in raster order.
template <int P, typename Value> __device__ __forceinline__ Best itemBest(const Item& item, const Value (&values)[P])
{
    Value half[P];
#pragma unroll
    for (int i = 0; i < P; ++i)
        half[i] = values[i];
#pragma unroll
    for (int distance = 1; distance < P;
         distance *= 2) // as a tree, which is faster than one comparison after the other
#pragma unroll
        for (int i = 0; i + distance < P; i += 2 * distance)
            half[i] = half[i + distance] < half[i] ? half[i + distance] : half[i];
    const Value least = half[0];
    int at = P - 1;
#pragma unroll
    for (int i = P - 2; i >= 0; --i)
        at = values[i] == least ? i : at; // the first of equal values
    const bool none = least == static_cast<Value>(~static_cast<Value>(0));
    return {least, none ? Best::NONE : item.y << 16 | (item.x + 4 * at)};
}

//! Excludes the positions of an item that are in the zone of a peak.
template <int P, typename Value>
__device__ __forceinline__ void exclude(const Item& item, int peakX, int peakY, int distance, int exclusion,
                                        Value (&values)[P])
{
    const bool within = withinReach(item.y - peakY, distance);
    if (zoneCoversNothing(within, exclusion))
        return;
    // |x - peakX| < distance as one comparison; always true if the zone covers the row
    const unsigned most = zoneCoversAll(within, exclusion) ? ~0u : 2u * distance - 2;
    const unsigned left = static_cast<unsigned>(item.x - peakX) + distance - 1;
#pragma unroll
    for (int i = 0; i < P; ++i)
        if (left + 4 * i <= most)
            values[i] = static_cast<Value>(~static_cast<Value>(0));
}

//! Selects peaks greedily: each is the best position outside the zones of those before it. Only warp 0 may use the
//! result.
template <int P, typename Value>
__device__ __forceinline__ int findPeaksOfItems(const Entry& entry, const Settings& settings, const Item& item,
                                                const Best* walked, Value (&values)[P], FusedScratch* scratch)
{
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    int count = 0;
#pragma unroll 1
    for (; count < settings.peaks; ++count)
    {
        Best best;
        if (count == 0 && walked)
        {
            const int y = walked->index / entry.window.cols;
            best = {walked->value, y << 16 | (walked->index - y * entry.window.cols)};
        }
        else
        {
            Best* bests =
                scratch->warps[count % 2]; // the next peak uses the other one, so no barrier is needed before it
            best = warpBest<Value>(itemBest(item, values));
            if (threadIdx.x % 32 == 0)
                bests[threadIdx.x / 32] = best;
            __syncthreads(); // the warps' bests are complete
            if (threadIdx.x >= 32 && count == settings.peaks - 1)
                return count;
            best = warpBestOf<Value>(bests, blockDim.x / 32);
        }
        if (best.index == Best::NONE)
            break;
        const int x = best.index & 0xffff, y = best.index >> 16;
        if (threadIdx.x == 0)
            scratch->peaks[count] = {best.value, x, y};
        exclude(item, x, y, distance, settings.exclusion, values);
    }
    __syncwarp(); // the peaks are visible to the first warp
    return count;
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS, int P>
__global__ void __launch_bounds__(FusedBounds<METRIC, WEIGHTED, P>::THREADS, FusedBounds<METRIC, WEIGHTED, P>::BLOCKS)
    matchFusedKernel(const ByteImageView frame, const Batch batch, const Settings settings, const FusedPlan plan,
                     const Best* walked, const Outputs out)
{
    using Value = std::conditional_t<wideValues(METRIC, WEIGHTED, false), uint64_t, uint32_t>;
    extern __shared__ __align__(16) unsigned char shared[];
    FusedScratch* scratch = reinterpret_cast<FusedScratch*>(shared);
    uint32_t* raw = reinterpret_cast<uint32_t*>(shared + sizeof(FusedScratch));
    uint32_t* templ = raw + plan.templatesAt();
    uint32_t* expanded = raw + plan.expandedAt();

    int i;
    Rect4 area;
    if (!openBlock(frame, batch, settings, plan, out, scratch, i, area,
                   [&](const Rect4& from)
                   { fetchRaw(frame, from.x, from.y, from.width, from.height, plan.stage, raw); }))
        return;
    const Entry& entry = scratch->entry;
    stageFragment<METRIC, WEIGHTED, CHANNELS>(batch.arena + entry.fragment.words, entry.fragment, templ);

    const Item item(entry.window, plan.slots);
    Value values[P];
    itemValues<METRIC, WEIGHTED, CHANNELS, P>(frame, area, entry, plan, item, raw, templ, expanded, values);
    Value* map = reinterpret_cast<Value*>(raw);
    if (settings.subpixel)
    {
        __syncthreads(); // the image has been read, so the map can replace it
#pragma unroll
        for (int k = 0; k < P; ++k)
            if (item.any && item.x + 4 * k < entry.window.cols)
                map[item.y * entry.window.cols + item.x + 4 * k] = values[k];
    }
    const int count = findPeaksOfItems(entry, settings, item, walked ? walked + blockIdx.x : nullptr, values, scratch);
    if (threadIdx.x < 32)
        report(out, i, settings, entry.fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch->peaks, count,
               [map, cols = entry.window.cols](int x, int y) { return static_cast<uint64_t>(map[y * cols + x]); });
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS> void launchFused(const gpu::Job& job, const FusedPlan& plan)
{
    const auto kernel = plan.positions == 5   ? matchFusedKernel<METRIC, WEIGHTED, CHANNELS, 5>
                        : plan.positions == 9 ? matchFusedKernel<METRIC, WEIGHTED, CHANNELS, 9>
                                              : matchFusedKernel<METRIC, WEIGHTED, CHANNELS, 13>;
    detail::launch("matchFused", kernel, dim3(job.batch.count), dim3(plan.threads), plan.sharedBytes, job.stream,
                   job.frame, job.batch, job.settings, plan, job.walked, job.outputs);
}

} // namespace

namespace gpu {

void matchFused(const Job& job, const FusedPlan& plan)
{
    forMetric(job.settings.metric, job.batch.weighted, job.batch.channels,
              [&](auto metric, auto weighted, auto channels)
              { launchFused<metric.value, weighted.value, channels.value>(job, plan); });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
