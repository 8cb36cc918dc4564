// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route TILES: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "tiles.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::TilePlan;

TilePlan planTiles(const MatchCase& given, const Load& load)
{
    const Extent fragment = load.fragment;
    const int height = fragment.height, stride = given.frame.pixelStride;
    TilePlan plan = {};
    // Moments of weighted SSD are always 64 bits; the chunks below keep each part within 32 bits.
    plan.wide = wideSums(given, fragment);

    const bool split = isSplit(given.metric, given.weighted);
    const size_t limit = std::min(split ? tuning::TILE_SPLIT_SHARED_BYTES : tuning::TILE_SHARED_BYTES,
                                  given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES));
    int templateRow = 0;
    const auto words = [&](int chunkRows)
    {
        const int imageRows = tuning::TILE_ROWS - 1 + chunkRows;
        return chunkRows * templateRow + gpu::rawWords(imageRows, plan.stage.rawPitch, plan.stage.units, stride) +
               expandedPlanes(split) * imageRows * 16 * plan.stage.units;
    };
    plan.chunkCols = std::min(fragment.width, tuning::TILE_CHUNK_COLS);
    for (;; plan.chunkCols = (plan.chunkCols / 2 + 15) / 16 * 16) // chunks start at whole groups of words
    {
        plan.stage.units =
            gpu::expandedUnits((gpu::TILE_GROUPS - 1) * gpu::TILE_POSITIONS, gpu::TILE_POSITIONS, plan.chunkCols);
        plan.stage.rawPitch = gpu::rawPitch(tuning::TILE_COLS + plan.chunkCols - 1, stride);
        templateRow = gpu::pitchOf(plan.chunkCols) * (templatePlanes(split) + 1);
        if (4 * static_cast<size_t>(words(1)) <= limit || plan.chunkCols <= 16)
            break;
    }
    const int most = std::min(height, tuning::TILE_CHUNK_PIXELS / plan.chunkCols);
    int chunks = ceilDiv(height, most);
    while (chunks < height && 4 * static_cast<size_t>(words(ceilDiv(height, chunks))) > limit)
        ++chunks; // chunks of about equal height
    plan.chunkRows = ceilDiv(height, chunks);
    plan.templateWords = plan.chunkRows * templateRow;
    plan.stage.rawWords =
        gpu::rawWords(tuning::TILE_ROWS - 1 + plan.chunkRows, plan.stage.rawPitch, plan.stage.units, stride);
    plan.stage.expandedWords = (tuning::TILE_ROWS - 1 + plan.chunkRows) * 16 * plan.stage.units;
    gpu::setThreads(plan.stage, tuning::TILE_POSITION_THREADS * (split ? 1 : tuning::TILE_PARTS));
    const size_t merging = 4 * static_cast<size_t>(plan.templateWords + plan.stage.rawWords +
                                                   3 * gpu::TILE_POSITIONS * tuning::TILE_POSITION_THREADS);
    plan.sharedBytes = std::max(merging, 4 * static_cast<size_t>(words(plan.chunkRows)));
    return plan;
}

static std::unique_ptr<Plan> plan(const MatchCase& given, const Load& load)
{
    return std::make_unique<TilesPlan>(given, load);
}

extern const Route TILES;
const Route TILES = {"TILES", plan};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
