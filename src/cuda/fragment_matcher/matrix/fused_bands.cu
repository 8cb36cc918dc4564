// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of many small windows by matrix instructions: score, findPeaks and report of a fragment
// by one block, which keeps all moments of all positions in registers.
//
// The 16 rows of an instruction are column blocks of 8 positions times groups of LANE_ROWS rows: with row j of every
// group, one operand of the image serves LANE_ROWS rows of positions. Box sums of unweighted fragments are products
// with a band of ones. Box sums of the image, which ZNCC needs per channel, are computed after all other moments and
// one row of positions at a time, so that 80 registers per thread suffice.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: C N M h 32 ceil((w + 7) / 32) products of bytes,
// ZNCC about twice that, when weighted 2 C + 3 (ZNCC 3 C + 3) in place of C; bytes: each area and fragment once. Bound
// by latency, by loads of shared memory and, for ZNCC, by the scores.

#include "choice.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

const int MOST_WARPS = tuning::FUSED_BAND_WARPS;

//! Selects peaks greedily: each is the best position outside the zones of those before it.
template <class Choice>
__device__ __forceinline__ int findPeaksOfLanes(const Settings& settings, const LanePositions& mine, const Best* walked,
                                                Choice& choice, LaneScratch* scratch)
{
    const Entry& entry = scratch->entry;
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    int count = 0;
#pragma unroll 1
    while (count < settings.peaks)
    {
        Best best;
        if (count == 0 && walked)
        {
            const int y = walked->index / entry.window.cols;
            best = {walked->value, y << 16 | (walked->index - y * entry.window.cols)};
        }
        else
            best = choice.best(mine, scratch,
                               count % 2); // the next peak uses the other one, so no barrier is needed before it
        if (best.index == Best::NONE)
            break;
        const int x = best.index & 0xffff, y = best.index >> 16;
        if (threadIdx.x == 0)
            scratch->peaks[count] = {best.value, x, y};
        if (++count == settings.peaks)
            break;
#pragma unroll
        for (int j = 0; j < LANE_ROWS; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                if (!outsideZone(mine.xOf(q) - x, mine.yOf(q) + j - y, distance, settings.exclusion))
                    choice.remove(j, q);
    }
    return count;
}

//! Returns a mask of the lane's positions that are direct neighbours of a peak.
__device__ __forceinline__ uint32_t neighboursOfPeaks(const LanePositions& mine, const Peak<uint64_t>* peaks, int count)
{
    uint32_t which = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i)
#pragma unroll
        for (int k = 0; k < 4 * LANE_ROWS; ++k)
            if (::abs(mine.xOf(k % 4) - peaks[i].x) + ::abs(mine.yOf(k % 4) + k / 4 - peaks[i].y) == 1)
                which |= 1u << k;
    return which & mine.inside;
}

//! Stores the values of a lane's positions in `which` in `map`, for sub-pixel offsets. Begins and ends with a barrier.
template <class Choice>
__device__ __forceinline__ void storeValues(const LanePositions& mine, uint32_t which, const Choice& choice, int cols,
                                            typename Choice::Value* map)
{
    __syncthreads(); // data that the map replaces have been read
    choice.forEach(which,
                   [&](int k, typename Choice::Value value)
                   {
                       const int index = mine.indexOf(k);
                       map[(index >> 16) * cols + (index & 0xffff)] = value;
                   });
    __syncthreads(); // the map is complete
}

//! Returns the number of blocks of `warps` warps per SM that registers must allow.
constexpr int blocksOf(bool weighted, int warps)
{
    const int few = weighted ? tuning::FUSED_BAND_WEIGHTED_BLOCKS : tuning::FUSED_BAND_BLOCKS;
    return warps == tuning::FUSED_BAND_FEW_WARPS ? few : weighted ? 1 : (few + 1) / 2;
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS, int WARPS>
__global__ void __launch_bounds__(32 * WARPS, blocksOf(WEIGHTED, WARPS))
    matchFusedBandsKernel(const ByteImageView frame, const Batch batch, const Settings settings, const FusedBands plan,
                          const Best* walked, const Outputs out)
{
    using TheMoments = LaneMoments<METRIC, WEIGHTED, CHANNELS>;
    using TheChoice = LaneChoice<METRIC, WEIGHTED, CHANNELS>;
    extern __shared__ __align__(16) unsigned char shared[];
    LaneScratch* const scratch = reinterpret_cast<LaneScratch*>(shared);
    uint32_t* const raw = reinterpret_cast<uint32_t*>(shared + gpu::ONE_BLOCK_SCRATCH_BYTES);
    uint32_t* const templ = raw + plan.templatesAt(); // sums of squares later replace the raw image
    uint32_t* const squares = raw + plan.squaresAt(); // planes of the bytes of squares
    uint32_t* const planes = raw + plan.planesAt;

    int i;
    Rect4 area;
    if (!openBlock(frame, batch, settings, plan, out, scratch, i, area,
                   [&](const Rect4& from) { fetchArea(frame, from, plan, raw); }))
        return;
    const Entry& entry = scratch->entry;
    const int width = entry.fragment.width, height = entry.fragment.height;
    stageRows<WEIGHTED, CHANNELS>(batch.arena + entry.fragment.words, height, gpu::templateRows(height),
                                  entry.fragment.pitch, templateStep(bandChunks(width)), templ);
    __pipeline_wait_prior(1);
    __syncthreads(); // the raw image is complete
    if (CHANNELS == 1)
        makePlanes<1>(frame, area, plan, raw, planes, squares);
    else if (frame.pixelStride == 3)
        makePlanes<3>(frame, area, plan, raw, planes, squares);
    else
        makePlanes<4>(frame, area, plan, raw, planes, squares);
    __pipeline_wait_prior(0);
    __syncthreads(); // planes and template are complete, the raw image has been read
    const int cols = entry.window.cols;
    const LaneBlocks lane(cols);
    if (!WEIGHTED)
        makeLines<TheMoments::SQUARES>(squares, plan, lane, area.height, width, raw);

    const LanePositions mine(entry.window, lane, plan.pitch);
    TheMoments moments;
    const bool works = static_cast<int>(threadIdx.x / 32) * lane.groups * LANE_ROWS < entry.window.rows;
    if (works)
        moments.sum(plan, width, height, mine, planes, squares, templ);
    if (!WEIGHTED)
    {
        __syncthreads(); // lines are complete
        if (works)
            moments.sumLines(mine, raw, 8 * lane.blocks, height);
    }
    TheChoice choice(moments, entry.fragment, mine, plan, planes, raw);
    typename TheChoice::Value* const map = reinterpret_cast<typename TheChoice::Value*>(raw + plan.mapAt());
    if (!isCorrelation(METRIC) && settings.subpixel)
        storeValues(mine, mine.inside, choice, cols, map); // before values in zones are removed
    const int count = findPeaksOfLanes(settings, mine, walked ? walked + blockIdx.x : nullptr, choice, scratch);
    if (isCorrelation(METRIC) && settings.subpixel)
    {
        __syncthreads(); // the peaks are visible to all threads
        storeValues(mine, neighboursOfPeaks(mine, scratch->peaks, count), choice, cols, map);
    }
    if (threadIdx.x >= 32)
        return;
    __syncwarp(); // the peaks are visible to the first warp
    report(out, i, settings, entry.fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch->peaks, count,
           [map, cols = entry.window.cols](int x, int y) { return static_cast<uint64_t>(map[y * cols + x]); });
}

template <Metric METRIC, bool WEIGHTED> void launchFusedBands(const gpu::Job& job, const FusedBands& plan)
{
    const bool few = plan.warps <= tuning::FUSED_BAND_FEW_WARPS;
    const auto kernel = job.batch.channels == 1
                            ? (few ? matchFusedBandsKernel<METRIC, WEIGHTED, 1, tuning::FUSED_BAND_FEW_WARPS>
                                   : matchFusedBandsKernel<METRIC, WEIGHTED, 1, MOST_WARPS>)
                            : (few ? matchFusedBandsKernel<METRIC, WEIGHTED, 3, tuning::FUSED_BAND_FEW_WARPS>
                                   : matchFusedBandsKernel<METRIC, WEIGHTED, 3, MOST_WARPS>);
    detail::launch("matchFusedBands", kernel, dim3(job.batch.count), dim3(32 * plan.warps), plan.sharedBytes,
                   job.stream, job.frame, job.batch, job.settings, plan, job.walked, job.outputs);
}

} // namespace

namespace gpu {

void matchFusedBands(const Job& job, const FusedBands& plan)
{
    forProduct(job.settings.metric,
               [&](auto metric)
               {
                   const auto launch = job.batch.weighted ? launchFusedBands<metric.value, true>
                                                          : launchFusedBands<metric.value, false>;
                   launch(job, plan);
               });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
