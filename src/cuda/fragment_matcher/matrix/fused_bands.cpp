// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route FUSED_BANDS: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "fused_bands.hpp"
#include "../route.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::FusedBands;

void widenLanes(gpu::LanePlan& plan, Extent window, Extent fragment)
{
    const int rows = gpu::FUSED_BAND_ROWS, blocks = ceilDiv(window.width, 8);
    plan.warps = std::max(plan.warps, ceilDiv(window.height, 16 / blocks * rows));
    plan.areaWidth = std::max(plan.areaWidth, window.width + fragment.width - 1);
    plan.areaHeight = std::max(plan.areaHeight, window.height + fragment.height - 1);
    // Includes words outside the area that the last rows and columns of positions read and ignore.
    plan.rows = std::max(
        {plan.rows, plan.areaHeight, (window.height - 1) / rows * rows + roundUp(fragment.height, rows) + rows - 1});
    plan.columns = std::max(plan.columns, 2 * blocks + 8 * gpu::bandChunks(fragment.width));
    // Neighbouring groups of rows begin half of the banks apart: no conflicts.
    plan.pitch = (ceilDiv(plan.areaWidth, 4) + 3) / 8 * 8 + 4;
    plan.planeWords = plan.rows * plan.pitch + roundUp(std::max(plan.columns - plan.pitch, 0), 4);
}

namespace {

//! Widens `plan` to windows of up to `window` positions of a fragment; returns false if matchFusedBands() cannot match
//! them.
//! @param limit most dynamic shared memory per block
bool widen(FusedBands& plan, Extent window, Extent fragment, const MatchCase& given, size_t limit)
{
    const int rows = gpu::FUSED_BAND_ROWS, stride = given.frame.pixelStride, channels = given.frame.channels;
    if (!isProduct(given.metric) || window.width > gpu::BAND_COLS || fragment.height < rows - 1 ||
        termsOf(fragment, given) > gpu::BAND_TERMS)
        return false;
    FusedBands wider = plan;
    widenLanes(wider, window, fragment);
    wider.squareWords = given.weighted ? wider.planeWords : wider.areaHeight * wider.pitch;
    wider.stage.units = 1; // nothing is expanded
    wider.stage.rawPitch =
        (wider.areaWidth * stride + 30) / 16 * 4; // rows begin up to 15 bytes after the start of a unit
    wider.blocks = std::max(plan.blocks, ceilDiv(window.width, 8));
    wider.rawWords =
        std::max(wider.areaHeight * wider.stage.rawPitch + 8, given.weighted ? 0 : wider.rows * 8 * wider.blocks);
    wider.templateWords =
        std::max(plan.templateWords, gpu::bandPlanes(channels, given.weighted) * gpu::templateRows(fragment.height) *
                                         gpu::templateStep(gpu::bandChunks(fragment.width)));
    // ZNCC stores n and v over the other data; without weights not over the channels, which are read until the end.
    wider.partWords = isCorrelation(given.metric) ? gpu::bandPartWords(given.weighted, 32 * wider.warps) : 0;
    wider.mapWords = std::max(plan.mapWords, mapWordsOf(window, given));
    wider.planesAt =
        std::max(wider.squaresAt() + (channels == 1 ? 2 : 3) * wider.squareWords, given.weighted ? 0 : wider.partWords);
    wider.planesEnd = wider.planesAt + channels * wider.planeWords;
    // Computed from the widened plan: a later size may enlarge blocks and areas, which moves the offsets of earlier
    // sizes.
    wider.sharedBytes =
        gpu::ONE_BLOCK_SCRATCH_BYTES + 4 * static_cast<size_t>(std::max(wider.planesEnd, wider.mapEnd()));
    if (wider.warps > tuning::FUSED_BAND_WARPS || wider.sharedBytes > limit)
        return false;
    plan = wider;
    return true;
}

std::optional<FusedBands> planGroups(const MatchCase& given, const Load& load, size_t limit)
{
    FusedBands plan = {};
    bool any = false; // else there is nothing to search, only a status to report
    for (const SizeGroup& group : load.groups)
    {
        if (group.window.empty())
            continue;
        if (!widen(plan, group.window, group.fragment, given, limit))
            return std::nullopt;
        any = true;
    }
    if (!any)
        return std::nullopt;
    gpu::setThreads(plan, 32 * plan.warps);
    return plan;
}

class FusedBandsPlan final : public Plan
{
public:
    FusedBandsPlan(const MatchCase&, const Load&, const FusedBands& thePlan) : plan(thePlan) {}

    void run(const gpu::Job& job) const override { gpu::matchFusedBands(job, plan); }

private:
    const FusedBands plan;
};

} // namespace

std::optional<FusedBands> planFusedBands(const MatchCase& given, const Load& load)
{
    const auto plan = planGroups(given, load, oneBlockBytes(given));
    return plan ? plan : planGroups(given, load, given.shared.dynamicBytes(gpu::ONE_BLOCK_STATIC_BYTES));
}

extern const Route FUSED_BANDS;
const Route FUSED_BANDS = {"FUSED_BANDS", planBy<FusedBandsPlan, planFusedBands>};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
