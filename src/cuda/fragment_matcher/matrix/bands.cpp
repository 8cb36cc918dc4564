// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route BANDS: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "bands.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::BandPlan;

namespace {

//! Returns the blocks of the multiprocessor that has most of them.
int64_t busiest(int64_t blocks, const MatchCase& given) { return ceilDiv<int64_t>(blocks, given.multiprocessors); }

//! Lays out the shared memory of a block of correlate for `chunkRows` rows of a fragment at a time.
void stageBands(BandPlan& plan, int chunkRows)
{
    plan.chunkRows = chunkRows;
    plan.bandsOffset = (plan.units * gpu::BAND_ROWS + chunkRows - 1) * (gpu::BAND_COLS / 4 + 4 * plan.chunks);
    const int merging = (plan.parts - 1) * plan.units * gpu::BAND_ROWS * gpu::BAND_COLS;
    plan.sharedBytes = 4 * static_cast<size_t>(std::max(plan.bandsOffset + chunkRows * plan.chunks * 32, merging));
}

//! Plans values; returns false if the shared memory of a block is too small.
bool planValues(BandPlan& plan, Extent window, Extent fragment, const MatchCase& given)
{
    const size_t position =
        given.weighted ? 0 : (plan.wide ? 8 : 4) + (isCorrelation(given.metric) ? 4 * given.frame.channels : 0);
    plan.slabPitch = (gpu::BAND_COLS + fragment.width) | 1;
    const size_t limit = std::min(tuning::BAND_SHARED_BYTES, given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES));
    const auto bytes = [&](int rows) { return rows * plan.slabPitch * position; };
    plan.slabRows = tuning::TILE_ROWS;
    while (plan.slabRows > 1 && bytes(plan.slabRows) > limit)
        plan.slabRows /= 2;
    const size_t bests =
        sizeof(gpu::TileBest) * ceilDiv(window.width, tuning::TILE_COLS) * ceilDiv(window.height, tuning::TILE_ROWS);
    plan.valueSharedBytes = std::max(bytes(plan.slabRows), std::min(bests, tuning::BAND_BESTS_BYTES));
    return bytes(plan.slabRows) <= limit;
}

} // namespace

bool planCorrelate(BandPlan& plan, Extent window, Extent fragment, const MatchCase& given, int count, bool longBlocks)
{
    const int groups = plan.bandRows / gpu::BAND_ROWS, warps = tuning::BAND_THREADS / 32;
    const auto blocks = [&](int units)
    {
        return static_cast<int64_t>(count) * (plan.sumsPitch / gpu::BAND_COLS) *
               ceilDiv(window.height, units * gpu::BAND_ROWS);
    };
    const auto lessForTheBusiest = [&](int units) // by a tenth, if blocks have half as many units
    { return 5 * busiest(blocks(units / 2), given) < 9 * busiest(blocks(units), given); };
    const auto divides = [&](int units)
    { return longBlocks ? lessForTheBusiest(units) : 2 * blocks(units) < 3 * given.multiprocessors; };
    plan.units = warps;
    while (plan.units > 1 && (window.height <= plan.units / 2 * gpu::BAND_ROWS ||
                              (2 * warps / plan.units <= groups && divides(plan.units))))
        plan.units /= 2;
    plan.parts = warps / plan.units;
    const int most = std::min<int>(plan.bandRows, static_cast<int>(gpu::BAND_TERMS / fragment.width) & ~7);
    const size_t all = given.shared.dynamicBytes(gpu::CORRELATE_STATIC_BYTES);
    for (const size_t limit : {std::min(tuning::BAND_SHARED_BYTES, all), all})
        for (int chunks = ceilDiv(plan.bandRows, most); chunks <= groups; ++chunks)
        {
            stageBands(plan, roundUp(ceilDiv(plan.bandRows, chunks), gpu::BAND_ROWS));
            if (plan.sharedBytes <= limit)
                return true;
        }
    return false;
}

void planPlanes(BandPlan& plan, const Load& load, int sums)
{
    plan.region = load.region;
    plan.pitch = roundUp(load.region.width, 16);
    plan.planeBytes = static_cast<size_t>(plan.pitch) * load.region.height;
    plan.sumsPitch = roundUp(load.window.width + 15, gpu::BAND_COLS);
    plan.sumsRows = load.window.height;
    plan.sumsEach = static_cast<size_t>(plan.sumsPitch) * plan.sumsRows * sums;
}

bool planBandSums(BandPlan& plan, const MatchCase& given, const Load& load)
{
    planPlanes(plan, load, given.weighted ? 2 : 1);
    plan.wide = given.weighted || termsOf(load.fragment, given) > gpu::BAND_TERMS;
    return planValues(plan, load.window, load.fragment, given);
}

void planChunks(BandPlan& plan, Extent fragment, int planes)
{
    const int chunks = ceilDiv(fragment.width + 7, 16);
    plan.group = 5;
    for (int group = 4; group >= 2; --group)
        if (roundUp(chunks, group) < roundUp(chunks, plan.group))
            plan.group = group;
    plan.chunks = roundUp(chunks, plan.group);
    plan.bandRows = roundUp(fragment.height, gpu::BAND_ROWS);
    plan.bandsEach = static_cast<size_t>(planes) * plan.bandRows * plan.chunks * 32;
}

std::optional<BandPlan> planBands(const MatchCase& given, const Load& load)
{
    const Extent fragment = load.fragment;
    BandPlan plan = {};
    if (!isProduct(given.metric) || fragment.width > tuning::WIDEST_FRAGMENT || !planBandSums(plan, given, load))
        return std::nullopt;
    planChunks(plan, fragment, gpu::bandPlanes(given.frame.channels, given.weighted));
    if (!planCorrelate(plan, load.window, fragment, given, load.count, false))
        return std::nullopt;
    return plan;
}

gpu::BandMemory takeBands(detail::Parts& working, const BandPlan& plan, int planes, bool pixels, int count)
{
    const size_t entries = count;
    gpu::BandMemory memory = {};
    memory.planes = working.take<uint8_t>(planes * plan.planeBytes);
    memory.pixels = working.take<uint32_t>(pixels ? plan.planeBytes : 0);
    memory.bands = working.take<uint32_t>(plan.bandsEach * entries);
    memory.sums = working.take<uint8_t>(gpu::bandSumsBytes(plan) * entries);
    memory.columns = working.take<uint32_t>(plan.columnsEach * entries);
    memory.entries = working.take<gpu::OpenEntry>(entries);
    return memory;
}

namespace {

class Bands final : public TiledPlan
{
public:
    Bands(const MatchCase& given, const Load& load, const BandPlan& thePlan)
        : TiledPlan(windowsOf(given, load)), plan(thePlan), channels(given.frame.channels), weighted(given.weighted)
    {}

    size_t bytesEach() const override
    {
        return TiledPlan::bytesEach() + gpu::bandSumsBytes(plan) + plan.bandsEach * sizeof(uint32_t);
    }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override
    {
        TiledPlan::takeMemory(working, zeros, count);
        memory_ = takeBands(working, plan, gpu::imagePlanes(channels, weighted), channels > 1 && !weighted, count);
    }
    void run(const gpu::Job& job) const override { gpu::matchBands(job, plan, memory_, windows_); }

private:
    const BandPlan plan;
    const int channels;
    const bool weighted;
    gpu::BandMemory memory_ = {};
};

} // namespace

extern const Route BANDS;
const Route BANDS = {"BANDS", planBy<Bands, planBands>};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
