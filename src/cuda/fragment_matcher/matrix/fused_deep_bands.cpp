// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route FUSED_DEEP_BANDS: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "fused_deep_bands.hpp"
#include "../route.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::roundUp;
using gpu::FusedDeepBands;

namespace {

//! Widens `plan` to windows of up to `window` positions of a fragment; returns false if matchFusedDeepBands() cannot
//! match them.
bool widen(FusedDeepBands& plan, Extent window, Extent fragment, const MatchCase& given)
{
    const int channels = given.frame.channels;
    const bool weighted = given.weighted, image = isCorrelation(given.metric);
    const Extent area = {window.width + fragment.width - 1, window.height + fragment.height - 1};
    if (window.width > gpu::BAND_COLS || fragment.height < gpu::FUSED_BAND_ROWS ||
        2 * termsOf(fragment, given) > gpu::BAND_TERMS || // two correlations of bytes share a sum
        static_cast<int64_t>(area.width) * area.height >
            static_cast<int64_t>(tuning::ONE_BLOCK_SHARED_BYTES)) // before int sizes could overflow
        return false;
    FusedDeepBands wider = plan;
    widenLanes(wider, window, fragment);
    wider.templateWords = std::max(plan.templateWords, gpu::deepBandPlanes(channels, weighted) * fragment.height *
                                                           gpu::templateStep(gpu::bandChunks(fragment.width)));
    wider.tablePitch = (wider.areaWidth + 1) | 1;
    wider.tableElements = wider.tablePitch * (wider.areaHeight + 1);
    wider.mapElements = std::max(plan.mapElements, window.width * window.height);
    wider.templatesAt = gpu::deepImagePlanes(channels, weighted) * wider.planeWords;
    wider.sumsAt = std::max(wider.templatesAt + wider.templateWords, roundUp(2 * wider.mapElements, 4));
    const int sums = 1 + (image ? channels : 0);
    const size_t sumWords = weighted ? size_t(2) * sums * wider.mapElements : size_t(1 + sums) * wider.tableElements;
    wider.sharedBytes = gpu::ONE_BLOCK_SCRATCH_BYTES + 4 * (wider.sumsAt + sumWords);
    if (wider.warps > tuning::FUSED_DEEP_WARPS || wider.sharedBytes > oneBlockBytes(given))
        return false;
    plan = wider;
    return true;
}

class FusedDeepBandsPlan final : public Plan
{
public:
    FusedDeepBandsPlan(const MatchCase&, const Load&, const FusedDeepBands& thePlan) : plan(thePlan) {}

    void run(const gpu::Job& job) const override { gpu::matchFusedDeepBands(job, plan); }

private:
    const FusedDeepBands plan;
};

} // namespace

std::optional<FusedDeepBands> planFusedDeepBands(const MatchCase& given, const Load& load)
{
    const bool few = load.count < given.multiprocessors;
    if (given.scoresOnly ||
        (few && load.fragment.height * gpu::bandChunks(load.fragment.width) > tuning::FUSED_DEEP_FEW_ROWS))
        return std::nullopt;
    FusedDeepBands plan = {};
    for (const SizeGroup& group : load.groups) // an empty window has only a status to report
        if (!group.window.empty() && !widen(plan, group.window, group.fragment, given))
            return std::nullopt;
    return plan;
}

extern const Route FUSED_DEEP_BANDS;
const Route FUSED_DEEP_BANDS = {"FUSED_DEEP_BANDS", planBy<FusedDeepBandsPlan, planFusedDeepBands>, nullptr, true};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
