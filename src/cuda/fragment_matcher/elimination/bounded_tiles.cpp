// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route BOUNDED_TILES: when SAD compares bounds of all positions before it scores any.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "bounded_tiles.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::BoundPlan;

namespace {

//! Most columns of a fragment that cells take, as a multiple of those that strips take.
const double CELL_MOST_COLUMNS = 1.04;

//! Returns true if a best position in the middle of each window is the only peak.
bool oneIsAlone(const MatchCase& given, const Load& load)
{
    const auto covered = [&](const SizeGroup& group)
    {
        const Extent window = group.window;
        const int distance = exclusionDistance(given.exclusionDistance, group.fragment.width, group.fragment.height);
        return window.empty() || zoneCoversWindow(window.width / 2, window.height / 2, window.width, window.height,
                                                  distance, given.exclusion);
    };
    return given.peaks == 1 || std::all_of(load.groups.begin(), load.groups.end(), covered);
}

//! Returns true if a call has so much work that bounds are worth their cost whatever they eliminate.
bool worthBounds(const MatchCase& given, const Load& load)
{
    const double positions = static_cast<double>(load.window.width) * load.window.height * load.count;
    const double terms = positions * static_cast<double>(termsOf(load.fragment, given));
    const double bytes = static_cast<double>(load.region.width) * load.region.height * given.frame.channels;
    if (oneIsAlone(given, load))
        return terms >= std::max(tuning::BOUND_LEAST_TERMS_ALONE, tuning::BOUND_LEAST_TERMS_PER_BYTE_ALONE * bytes);
    return terms >= std::max(tuning::BOUND_LEAST_TERMS, tuning::BOUND_LEAST_TERMS_PER_BYTE * bytes);
}

} // namespace

bool scoresCells(const MatchCase& given, const Load& load)
{
    // Cells take 16 columns of a fragment at a time, strips 4.
    const auto fillsColumns = [](const SizeGroup& group)
    {
        const int width = group.fragment.width;
        return group.count == 0 || 4 * ceilDiv(width, 16) <= CELL_MOST_COLUMNS * ceilDiv(width, 4);
    };
    const int64_t tiles = windowsOf(given, load).tiles();
    const int64_t left = load.count * (oneIsAlone(given, load) ? 1 : tiles);
    return tiles <= tuning::CELL_MOST_TILES && left >= tuning::CELL_LEAST_TILES * given.multiprocessors &&
           std::all_of(load.groups.begin(), load.groups.end(), fillsColumns);
}

int cellUnits(int cols)
{
    const int needed = 4 + gpu::pitchOf(cols) / 4; // the last cell begins at word 14, and reads two words more
    return detail::roundUp(needed - 2, 4) + 2;
}

gpu::TilePlan planCells(const MatchCase& given, const Load& load)
{
    return planTiles(given, load, cellUnits, gpu::CELL_ROWS);
}

std::optional<BoundPlan> planBounds(const MatchCase& given, const Load& load)
{
    const Extent fragment = load.fragment;
    const Rect4& region = load.region;
    const int side = std::min(fragment.width, fragment.height), channels = given.frame.channels;
    if (!given.fullSearch || given.metric != Metric::SAD || side < tuning::BOUND_LEAST_SIDE ||
        static_cast<int64_t>(fragment.width) * fragment.height > tuning::BOUND_MOST_PIXELS || !worthBounds(given, load))
        return std::nullopt;
    BoundPlan plan = {};
    const auto level = [&](int block)
    {
        const int pitch = roundUp(region.width, 4 * block);
        return gpu::BoundLevel{block, pitch, static_cast<size_t>(pitch) * region.height,
                               static_cast<size_t>(channels + 1) * ceilDiv(fragment.width / block, 4) *
                                   (fragment.height / block)};
    };
    plan.coarse = level(side >= tuning::BOUND_WIDE_SIDE ? 8 : 4);
    if (side >= tuning::BOUND_FINE_SIDE)
        plan.fine = level(4);
    plan.region = region;
    plan.otherPlaces = std::min(tuning::BOUND_OTHER_PLACES, 2 * given.multiprocessors / load.count);
    plan.refiners = tuning::BOUND_REFINERS * given.multiprocessors;
    const int rows = gpu::BOUND_ROWS + plan.coarse.block - 1, stride = given.frame.pixelStride;
    plan.stage.units = 1; // nothing is expanded
    plan.stage.rawPitch = gpu::rawPitch(gpu::BOUND_COLS + plan.coarse.block - 1, stride);
    plan.stage.rawWords = rows * plan.stage.rawPitch;
    gpu::setThreads(plan.stage, tuning::BOUND_MEANS_THREADS);
    plan.sharedBytes = sizeof(uint32_t) * static_cast<size_t>(plan.stage.rawWords) +
                       sizeof(uint16_t) * static_cast<size_t>(gpu::boundSums(plan.coarse.block, channels));
    if (plan.sharedBytes > given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES))
        return std::nullopt;
    return plan;
}

gpu::ListedTiles listedTiles(const BoundPlan& plan, const MatchCase& given, const Load& load)
{
    gpu::ListedTiles tiles = {};
    tiles.mayRefine = plan.fine.block > 0;
    tiles.height = load.fragment.height;
    tiles.parts = ceilDiv(tiles.height, tuning::BOUND_PART_ROWS);
    tiles.fewBlocks = tuning::BOUND_WAVES * tuning::TILE_BLOCKS * given.multiprocessors;
    return tiles;
}

namespace {

class BoundedTiles final : public TilesPlan
{
public:
    BoundedTiles(const MatchCase& given, const Load& load, const BoundPlan& theBounds)
        : TilesPlan(given, load, scoresCells(given, load) ? planCells(given, load) : planTiles(given, load)),
          bounds(theBounds),
          channels(given.frame.channels),
          ofCells(scoresCells(given, load)),
          tiles_(listedTiles(bounds, given, load))
    {}

    // How much is eliminated cannot be estimated, but the tile of the best position of each window remains.
    double leastShare() const override { return 1. / windows_.tiles(); }
    size_t bytesEach() const override
    {
        return TilesPlan::bytesEach() + (bounds.coarse.wordsEach + bounds.fine.wordsEach) * sizeof(uint32_t) +
               windows_.tiles() * (sizeof(gpu::TileBound) + gpu::CELLS * sizeof(uint32_t));
    }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override;
    void run(const gpu::Job& job) const override
    {
        gpu::eliminate(job, bounds, memory_, windows_, tiles_);
        (ofCells ? gpu::scoreCells : gpu::matchTiles)(job, plan, windows_, tiles_);
    }

private:
    const BoundPlan bounds;
    const int channels;
    const bool ofCells;
    gpu::BoundMemory memory_ = {};
    gpu::ListedTiles tiles_;
};

void BoundedTiles::takeMemory(detail::Parts& working, detail::Parts& zeros, int count)
{
    TilesPlan::takeMemory(working, zeros, count);
    const size_t entries = count, tiles = entries * windows_.tiles();
    const auto takeMeans = [&](const gpu::BoundLevel& level, gpu::BoundMeans& means)
    {
        means.image = working.take<uint8_t>(gpu::meansBytes(level, channels));
        means.fragments = working.take<uint32_t>(level.wordsEach * entries);
        means.losses = working.take<uint64_t>(entries);
    };
    takeMeans(bounds.coarse, memory_.coarse);
    takeMeans(bounds.fine, memory_.fine);
    memory_.bounds = working.take<gpu::TileBound>(tiles);
    memory_.cells = working.take<uint32_t>(tiles * gpu::CELLS);
    memory_.places = working.take<gpu::BoundPlace>(entries * gpu::MOST_PLACES);
    memory_.limits = working.take<gpu::BoundLimit>(entries);
    tiles_.finished = working.take<unsigned>(tiles);
    for (gpu::TileList* list : {&tiles_.listed, &tiles_.refined})
        *list = {working.take<int>(tiles), working.take<uint32_t>(tiles), working.take<int>(entries),
                 working.take<int>(1)};
}

} // namespace

extern const Route BOUNDED_TILES;
const Route BOUNDED_TILES = {"BOUNDED_TILES", planBy<BoundedTiles, planBounds>,
                             TILES_FACTORS}; // as if nothing were eliminated

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
