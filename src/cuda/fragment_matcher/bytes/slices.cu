// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: score, findPeaks and report by byte sums, for few or large fragments in small windows. A block adds
// up some rows of a fragment (a slice) at some rows of its positions, and adds its sums to those of the other blocks in
// device memory. The block that finishes a fragment last computes the values and finds the peaks. All sums are
// integers, so their order does not show.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: the byte-sum instructions of the fused kernel,
// and N M C / slice height additions in device memory per kind of sum. Bound by latency for few fragments, which is
// what this kernel is for.

#include "../common/find_peaks.hpp"
#include "../common/value.hpp"
#include "slices.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::SlicePlan;

const int THREADS = tuning::SLICE_THREADS;

//! Calls use(k, sum) for each sum of a position that the metric has.
template <Metric METRIC, bool WEIGHTED, class Use>
__device__ __forceinline__ void forEachSum(const SumsAt& at, const Use& use)
{
    using TheTraits = Traits<METRIC, WEIGHTED>;
    int k = 0;
    if (TheTraits::HAS_SUM)
        use(k++, at.sum);
    if (TheTraits::MOMENTS)
    {
        use(k++, at.squares);
        use(k++, at.cross);
    }
    if (TheTraits::SPLIT)
    {
        use(k++, at.squaresLow);
        use(k++, at.crossLow);
    }
}

//! Share of a block in the work on its entry.
struct Share
{
    int e;            //!< entry
    int y;            //!< first row of positions
    int row;          //!< first row of the fragment
    int channel, end; //!< first channel, and the one after the last
    bool first;       //!< first block of the entry

    __device__ __forceinline__ Share(const SlicePlan& plan, int channels)
    {
        const int each = plan.blocks();
        e = blockIdx.x / each;
        int rest = blockIdx.x - e * each;
        first = rest == 0;
        const int perChannel = plan.tiles * plan.slices, block = rest / perChannel;
        channel = block * (channels / plan.channelBlocks);
        end = channel + channels / plan.channelBlocks;
        rest -= block * perChannel;
        const int slice = rest / plan.tiles;
        row = slice * plan.sliceRows;
        y = (rest - slice * plan.tiles) * plan.tileRows;
    }
};

/** Work of a thread: P positions of one row, x = firstX + 4i, for one part of the slice's rows. Items are (group, row,
phase), phase fastest, which avoids bank conflicts. */
struct SliceItem
{
    int index, part; //!< item and part; part = plan.parts or more: nothing to do
    int y, firstX;   //!< row of the tile, first column of the window
    int owned;       //!< number of positions that are not also those of the next group

    __device__ __forceinline__ SliceItem(const SlicePlan& plan, int positions)
    {
        const int items = plan.items();
        part = threadIdx.x / items;
        index = threadIdx.x - part * items;
        const int group = index / (4 * plan.tileRows), rest = index - group * 4 * plan.tileRows;
        y = rest / 4;
        firstX = 4 * gpu::SLICE_GROUP_WORDS * group + rest % 4;
        owned = group < plan.groups - 1 ? gpu::SLICE_GROUP_WORDS : positions;
    }
};

//! Adds a thread's sums to those of its item in shared memory, and clears them.
template <Metric METRIC, bool WEIGHTED, int P>
__device__ __forceinline__ void addToItem(Sums<METRIC, WEIGHTED, P>& sums, const SliceItem& item, int items,
                                          uint32_t* totals)
{
#pragma unroll
    for (int i = 0; i < P; ++i)
        forEachSum<METRIC, WEIGHTED>(sums.at(i), [&](int k, uint32_t& sum)
                                     { atomicAdd(totals + (k * P + i) * items + item.index, sum); });
    sums.clear();
}

//! Adds the sums of a block's items to those of the entry in device memory, and clears them; by the threads of the
//! first part.
template <Metric METRIC, bool WEIGHTED, int P>
__device__ __forceinline__ void addToEntry(const SliceItem& item, int items, uint32_t* totals,
                                           const SearchWindow& window, int y, uint32_t* sums, int planeWords)
{
    constexpr int KINDS = gpu::sumsPerPosition(METRIC, WEIGHTED);
    uint32_t* const row = sums + (y + item.y) * window.cols + item.firstX;
    const int most = y + item.y < window.rows ? ::min(item.owned, (window.cols - item.firstX + 3) / 4) : 0;
#pragma unroll
    for (int k = 0; k < KINDS; ++k)
#pragma unroll
        for (int i = 0; i < P; ++i)
        {
            uint32_t& total = totals[(k * P + i) * items + item.index];
            if (i < most)
                atomicAdd(row + k * planeWords + 4 * i, total);
            total = 0;
        }
}

//! Computes the sums of a block's share and adds them to those of the entry. The copy of the image has been started.
template <Metric METRIC, bool WEIGHTED, int CHANNELS, int P>
__device__ __forceinline__ void addShare(const ByteImageView& frame, const Batch& batch, const Entry& entry,
                                         const SlicePlan& plan, const Share& share, uint32_t* shared,
                                         uint32_t* entrySums)
{
    using TheTraits = Traits<METRIC, WEIGHTED>;
    constexpr int KINDS = gpu::sumsPerPosition(METRIC, WEIGHTED);
    const DeviceFragment& fragment = entry.fragment;
    const int rows = ::min(plan.sliceRows, fragment.height - share.row), sliceWords = rows * fragment.pitch;
    uint32_t* const tLow = shared + sliceWords;
    uint32_t* const q = shared + TheTraits::TEMPLATE_PLANES * sliceWords;
    uint32_t* const raw = shared + plan.rawAt();
    uint32_t* const expanded = shared + plan.expandedAt();
    uint32_t* const totals = expanded + expandedPlanes(TheTraits::SPLIT) * plan.stage.expandedWords;
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const uint32_t* const arena = batch.arena + fragment.words + share.row * fragment.pitch;
    const SliceItem item(plan, P);
    const int items = plan.items();
    const int begin = item.part * rows / plan.parts, end = (item.part + 1) * rows / plan.parts;
    for (int k = threadIdx.x; k < KINDS * P * items; k += THREADS)
        totals[k] = 0;
    const auto stage = [&](int c)
    {
        stageTemplate<TheTraits::SPLIT>(arena + c * planeWords, arena + CHANNELS * planeWords, fragment.pitch, rows,
                                        fragment.pitch, shared, tLow, q);
    };
    Sums<METRIC, WEIGHTED, P> sums;
    sums.clear();
    stage(share.channel);
#pragma unroll 1
    for (int c = share.channel; c < share.end; ++c)
    {
        __pipeline_wait_prior(1);
        __syncthreads(); // the raw image is complete, the last channel has been read
        if (c > share.channel)
            stage(c);
        expandChannel<CHANNELS, TheTraits::SPLIT>(frame, entry.window.x, entry.window.y + share.y + share.row,
                                                  plan.tileRows + rows - 1, c, plan.stage, raw, expanded);
        __pipeline_wait_prior(0);
        __syncthreads(); // template and channel are complete
        if (item.part < plan.parts && begin < end)
        {
            const int rowWords = 16 * plan.stage.units;
            const uint32_t* const image =
                expanded + (item.y + begin) * rowWords + item.firstX % 4 * 4 * plan.stage.units + item.firstX / 4;
            sums.addRows(image, rowWords, plan.stage.expandedWords, shared + begin * fragment.pitch,
                         tLow + begin * fragment.pitch, q + begin * fragment.pitch, fragment.pitch, end - begin,
                         fragment.width);
            if (TheTraits::MOMENTS || c == share.end - 1)
                addToItem<METRIC, WEIGHTED, P>(sums, item, items, totals);
        }
        if (!TheTraits::MOMENTS && c < share.end - 1)
            continue;
        __syncthreads(); // the sums of all parts are complete
        if (item.part == 0)
            addToEntry<METRIC, WEIGHTED, P>(item, items, totals, entry.window, share.y,
                                            entrySums + (TheTraits::MOMENTS ? c * KINDS * plan.planeWords : 0),
                                            plan.planeWords);
    }
}

//! Returns the value of a position from its sums: by channel and kind.
template <Metric METRIC, bool WEIGHTED, int CHANNELS, typename Value>
__device__ __forceinline__ Value valueOfSums(const uint32_t* sums, const DeviceFragment& fragment, double deviation,
                                             double scale)
{
    using TheTraits = Traits<METRIC, WEIGHTED>;
    if constexpr (!TheTraits::MOMENTS)
        return sums[0];
    else
    {
        uint64_t covariance = 0, variance = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            uint32_t sum = 0, squares = 0, squaresLow = 0, cross = 0, crossLow = 0;
            const SumsAt at = {sum, squares, squaresLow, cross, crossLow};
            forEachSum<METRIC, WEIGHTED>(at, [&](int k, uint32_t& of)
                                         { of = sums[c * gpu::sumsPerPosition(METRIC, WEIGHTED) + k]; });
            TheTraits::fold(at, fragment.sums, c, covariance, variance);
        }
        if (isCorrelation(METRIC))
            return static_cast<Value>(znccToValue(znccScoreQuickly<1>(
                static_cast<int64_t>(covariance), static_cast<int64_t>(variance), deviation, scale)));
        return static_cast<Value>(TheTraits::value(covariance, variance, fragment.sums, fragment.variance));
    }
}

/** Computes the values of all positions from the sums of all blocks, which it clears. @return the thread's best
position. */
template <Metric METRIC, bool WEIGHTED, int CHANNELS, typename Value>
__device__ __forceinline__ Best takeValues(const Entry& entry, uint32_t* sums, int planeWords, Value* map)
{
    constexpr int PLANES = gpu::sumsPerPosition(METRIC, WEIGHTED) * gpu::sumChannels(METRIC, WEIGHTED, CHANNELS);
    const int positions = entry.window.cols * entry.window.rows;
    const double deviation = isCorrelation(METRIC) ? templateDeviation(entry.fragment.variance) : 0.;
    const double scale = 1. / deviation; // not used for flat fragments
    Best best = Best::none();
#pragma unroll 1
    for (int p = 4 * threadIdx.x; p < positions; p += 4 * THREADS)
    {
        uint32_t taken[4][PLANES];
#pragma unroll
        for (int k = 0; k < PLANES; ++k)
        {
            // The sums of other blocks are not in this SM's first-level cache.
            const uint4 four = __ldcg(reinterpret_cast<const uint4*>(sums + k * planeWords + p));
            taken[0][k] = four.x, taken[1][k] = four.y, taken[2][k] = four.z, taken[3][k] = four.w;
        }
#pragma unroll
        for (int k = 0; k < PLANES; ++k)
            *reinterpret_cast<uint4*>(sums + k * planeWords + p) = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < 4; ++j)
        {
            if (p + j >= positions)
                break;
            const Value value =
                valueOfSums<METRIC, WEIGHTED, CHANNELS, Value>(taken[j], entry.fragment, deviation, scale);
            map[p + j] = value;
            best.take(value, p + j);
        }
    }
    return best;
}

struct SliceScratch
{
    Best warps[2][THREADS / 32];
    Peak<uint64_t> peaks[MAX_PEAKS];
    Entry entry;
    int status;
};

//! Selects peaks greedily from the values of all positions in shared memory. @param best the thread's best position.
//! Begins with a barrier.
template <typename Value>
__device__ __forceinline__ int findPeaksOfMap(const Entry& entry, const Settings& settings, const Value* map,
                                              const Best* walked, Best best, SliceScratch* scratch)
{
    const int cols = entry.window.cols, positions = cols * entry.window.rows;
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    const int firstY = threadIdx.x / static_cast<unsigned>(cols), stepY = THREADS / cols, stepX = THREADS % cols;
    best = blockBest<Value, THREADS>(best, scratch->warps[0]);
    if (walked)
        best = *walked;
    int count = 0;
#pragma unroll 1
    while (best.index != Best::NONE)
    {
        const int peakY = best.index / cols, peakX = best.index - peakY * cols;
        if (threadIdx.x == 0)
            scratch->peaks[count] = {best.value, peakX, peakY}; // other threads read it after the next barrier
        if (++count == settings.peaks)
            break;
        best = Best::none();
        int y = firstY, x = threadIdx.x - firstY * cols;
#pragma unroll 1
        for (int p = threadIdx.x; p < positions; p += THREADS)
        {
            if (outsideZone(x - peakX, y - peakY, distance, settings.exclusion) &&
                allowed(x, y, scratch->peaks, count - 1, distance, settings.exclusion))
                best.take(map[p], p);
            x += stepX;
            y += stepY;
            if (x >= cols)
            {
                x -= cols;
                ++y;
            }
        }
        best = blockBest<Value, THREADS>(best, scratch->warps[count % 2]);
    }
    __syncwarp(); // the peaks are visible to the first warp
    return count;
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS, int P>
__global__ void __launch_bounds__(THREADS, tuning::SLICE_BLOCKS)
    matchSlicesKernel(const ByteImageView frame, const Batch batch, const Settings settings, const SlicePlan plan,
                      uint32_t* allSums, unsigned* finished, const Best* walked, const Outputs out)
{
    using Value = std::conditional_t<wideValues(METRIC, WEIGHTED, false), uint64_t, uint32_t>;
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ SliceScratch scratch;

    const Share share(plan, CHANNELS);
    const int i = fragmentOf(batch, share.e);
    const uint32_t fragmentWord = loadFragment(batch, i);
    const Rect4 area = areaOf(frame, batch, i);
    // Upper bounds: the size of the fragment is not known yet, and areas larger than planned are refused.
    const int above = share.y + share.row;
    fetchRaw(frame, area.x, area.y + above, ::min(area.width, plan.areaWidth),
             ::min(area.height - above, plan.tileRows + plan.sliceRows - 1), plan.stage, shared + plan.rawAt());
    openEntry(batch, i, area, fragmentWord, &scratch.entry, &scratch.status);
    __syncthreads(); // entry and status are complete
    const Entry& entry = scratch.entry;
    const bool found = scratch.status == STATUS_FOUND;
    if (!found && share.first && threadIdx.x == 0)
        reportNothing(out, i, settings.peaks, scratch.status);
    if (!found || share.y >= entry.window.rows || share.row >= entry.fragment.height)
    {
        __pipeline_wait_prior(0); // a block must not end while copies to its shared memory are pending
        return;
    }
    uint32_t* const sums = allSums + share.e * plan.sumsEach;
    addShare<METRIC, WEIGHTED, CHANNELS, P>(frame, batch, entry, plan, share, shared, sums);
    const int blocks = detail::ceilDiv(entry.window.rows, plan.tileRows) *
                       detail::ceilDiv(entry.fragment.height, plan.sliceRows) * plan.channelBlocks;
    if (!lastOfEntry(blocks, finished + share.e))
        return;
    Value* const map = reinterpret_cast<Value*>(shared);
    const Best best = takeValues<METRIC, WEIGHTED, CHANNELS>(entry, sums, plan.planeWords, map);
    const int count = findPeaksOfMap(entry, settings, map, walked ? walked + share.e : nullptr, best, &scratch);
    report(out, i, settings, entry.fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch.peaks, count,
           [map, cols = entry.window.cols](int x, int y) { return static_cast<uint64_t>(map[y * cols + x]); });
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS>
void launchSlices(const gpu::Job& job, const SlicePlan& plan, uint32_t* sums, unsigned* finished)
{
    const auto kernel = plan.positions == 5 ? matchSlicesKernel<METRIC, WEIGHTED, CHANNELS, 5>
                                            : matchSlicesKernel<METRIC, WEIGHTED, CHANNELS, 9>;
    detail::launch("matchSlices", kernel, detail::linearGrid(static_cast<int64_t>(plan.blocks()) * job.batch.count, 1),
                   dim3(THREADS), plan.sharedBytes, job.stream, job.frame, job.batch, job.settings, plan, sums,
                   finished, job.walked, job.outputs);
}

} // namespace

namespace gpu {

void matchSlices(const Job& job, const SlicePlan& plan, uint32_t* sums, unsigned* finished)
{
    forMetric(job.settings.metric, job.batch.weighted, job.batch.channels,
              [&](auto metric, auto weighted, auto channels)
              { launchSlices<metric.value, weighted.value, channels.value>(job, plan, sums, finished); });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
