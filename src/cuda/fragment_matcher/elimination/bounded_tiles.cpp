// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route BOUNDED_TILES: when SAD compares bounds of all positions before it scores any.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "bounded_tiles.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::BoundPlan;

std::optional<BoundPlan> planBounds(const MatchCase& given, const Load& load)
{
    const Extent fragment = load.fragment;
    const Rect4& region = load.region;
    const int channels = given.frame.channels, block = gpu::BOUND_BLOCK;
    const double terms = static_cast<double>(load.window.width) * load.window.height * load.count *
                         static_cast<double>(termsOf(fragment, given));
    const double bytes = static_cast<double>(region.width) * region.height * channels;
    if (!given.fullSearch || given.metric != Metric::SAD ||
        std::min(fragment.width, fragment.height) < tuning::BOUND_MIN_SIDE ||
        static_cast<int64_t>(fragment.width) * fragment.height > tuning::BOUND_MAX_PIXELS ||
        windowsOf(given, load).tiles() < tuning::BOUND_MIN_TILES ||
        terms < std::max(tuning::BOUND_MIN_TERMS, tuning::BOUND_MIN_TERMS_PER_BYTE * bytes))
        return std::nullopt;
    const int pitch = detail::roundUp(region.width, 4 * block);
    const size_t plane = static_cast<size_t>(pitch) * region.height, rows = fragment.height / block;
    return BoundPlan{region, pitch, plane, channels * plane + 256,
                     (channels + 1) * rows * ceilDiv(fragment.width / block, 4)};
}

namespace {

class BoundedTiles final : public TilesPlan
{
public:
    BoundedTiles(const MatchCase& given, const Load& load, const BoundPlan& theBounds)
        : TilesPlan(given, load), bounds(theBounds)
    {
        tiles_.height = load.fragment.height;
        tiles_.parts = ceilDiv(tiles_.height, tuning::BOUND_PART_ROWS);
        tiles_.fewBlocks = tuning::BOUND_WAVES * tuning::TILE_BLOCKS * given.multiprocessors;
    }

    size_t bytesEach() const override
    {
        return TilesPlan::bytesEach() + bounds.wordsEach * sizeof(uint32_t) + windows_.tiles() * sizeof(gpu::TileBound);
    }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override
    {
        TilesPlan::takeMemory(working, zeros, count);
        const size_t entries = count, tiles = entries * windows_.tiles();
        memory_.image = working.take<uint8_t>(bounds.imageBytes);
        memory_.fragments = working.take<uint32_t>(bounds.wordsEach * entries);
        memory_.losses = working.take<uint64_t>(entries);
        memory_.bounds = working.take<gpu::TileBound>(tiles);
        tiles_.tiles = working.take<int>(tiles);
        tiles_.kept = working.take<int>(entries);
        tiles_.total = working.take<int>(1);
        tiles_.finished = working.take<unsigned>(tiles);
    }
    void run(const gpu::Job& job) const override
    {
        gpu::eliminate(job, bounds, memory_, windows_, tiles_);
        gpu::matchTiles(job, plan, windows_, tiles_);
    }

private:
    const BoundPlan bounds;
    gpu::BoundMemory memory_ = {};
    gpu::ListedTiles tiles_ = {};
};

} // namespace

extern const Route BOUNDED_TILES;
const Route BOUNDED_TILES = {"BOUNDED_TILES", planBy<BoundedTiles, planBounds>};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
