// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route BAND_TILES: plan and cost.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "band_tiles.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::BandTiles;

// The fewest rows per block for which all blocks are resident at once are the fastest.
std::optional<BandTiles> planBandTiles(const MatchCase& given, const Load& load)
{
    const Extent window = load.window, fragment = load.fragment;
    const int stride = given.frame.pixelStride, channels = given.frame.channels;
    const bool image = isCorrelation(given.metric);
    const auto bands = planBands(given, load); // has the same limits
    if (!bands || given.weighted || bands->wide || fragment.height > tuning::BAND_TILE_HEIGHT ||
        given.frame.step % 16 != 0)
        return std::nullopt;
    BandTiles plan = {};
    plan.blocksX =
        ceilDiv(window.width + (stride == 1 ? 15 : 0), gpu::BAND_COLS); // the first block starts at a unit of 16 bytes
    for (const int units : {1, 2, 3, 4, 6})
    {
        const int64_t blocks = static_cast<int64_t>(plan.blocksX) * ceilDiv(window.height, units * gpu::BAND_ROWS);
        if (blocks * load.count > given.multiprocessors)
            continue;
        const int rows = units * gpu::BAND_ROWS, chunks = gpu::bandChunks(fragment.width);
        plan.units = units;
        plan.parts = tuning::BAND_TILE_WARPS / units;
        plan.blocks = static_cast<int>(blocks);
        plan.imageRows = rows + fragment.height - 1;
        plan.pitch = gpu::BAND_COLS / 4 + 8 * chunks;
        plan.rawPitch = stride == 1 ? 0 : stride * plan.pitch + 4;
        plan.planesAt = (channels * fragment.height + 1) * gpu::templateStep(chunks);
        plan.boxesAt = plan.planesAt + channels * plan.imageRows * plan.pitch;
        const int boxWords =
            (gpu::squareBytes(channels) + (image ? gpu::IMAGE_BYTES * channels : 0)) * rows * plan.pitch;
        plan.mergeAt = plan.boxesAt + std::max(boxWords, plan.imageRows * plan.rawPitch);
        plan.sharedBytes = 4 * static_cast<size_t>(plan.mergeAt + plan.parts * rows * gpu::BAND_COLS);
        if (plan.sharedBytes <= given.shared.dynamicBytes(tuning::BAND_TILE_STATIC_BYTES))
            return plan;
        break;
    }
    return std::nullopt;
}

namespace {

class BandTilesPlan final : public TiledPlan
{
public:
    BandTilesPlan(const MatchCase& given, const Load& load, const BandTiles& thePlan)
        : TiledPlan(windowsOf(given, load)), plan(thePlan)
    {
        windows_.tilesX = plan.blocksX * (gpu::BAND_COLS / tuning::TILE_COLS);
        windows_.tilesY = ceilDiv(windows_.rows, plan.units * gpu::BAND_ROWS);
    }

    Preference preference(const MatchCase& given, const Load& load) const override
    {
        return preferenceOfBands(given, load);
    }
    CostTerms terms(const MatchCase& given, const Load& load) const override;
    void run(const gpu::Job& job) const override { gpu::matchBandTiles(job, plan, windows_); }

private:
    const BandTiles plan;
};

CostTerms BandTilesPlan::terms(const MatchCase& given, const Load& load) const
{
    const double chunks = gpu::bandChunks(load.fragment.width);
    const double perWarp = given.frame.channels * (load.fragment.height / plan.parts + 8.) * chunks * gpu::BAND_ROWS;
    return {1e-3 * perWarp * plan.units * plan.parts, 1e-3 * given.frame.channels * plan.imageRows * plan.pitch,
            1e-3 * plan.units * gpu::BAND_ROWS * gpu::BAND_COLS};
}

} // namespace

static const CostFactors FACTORS[COST_KINDS] = {{}, {9.06, 0.942, 0, 0.50, 0, 0}, {9.68, 0.993, 0.07, 0.83, 0, 0}, {}};

extern const Route BAND_TILES;
const Route BAND_TILES = {"BAND_TILES", planBy<BandTilesPlan, planBandTiles>, FACTORS};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
