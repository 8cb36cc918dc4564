// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route FUSED: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "fused.hpp"
#include "../route.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::FusedPlan;

namespace {

int fusedThreads(int rows, int slots) { return ceilDiv(4 * rows, slots) * 32; }

int mostThreads(const MatchCase& given)
{
    return hasMoments(given.metric, given.weighted) ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS;
}

/** Widens `plan` to windows of up to `window` positions of a fragment; returns false if they do not fit. finish()
chooses slots and threads. */
bool widen(FusedPlan& plan, Extent window, Extent fragment, const MatchCase& given)
{
    const int stride = given.frame.pixelStride;
    const bool split = isSplit(given.metric, given.weighted);
    const Extent area = {window.width + fragment.width - 1, window.height + fragment.height - 1};
    if (window.width > 52 || fusedThreads(window.height, 32) > mostThreads(given) ||
        static_cast<int64_t>(fragment.width) * fragment.height * 765 * 255 > 0xffffffffll ||
        static_cast<int64_t>(area.width) * area.height * stride >
            static_cast<int64_t>(tuning::ONE_BLOCK_SHARED_BYTES)) // before int sizes could overflow
        return false;
    FusedPlan wider = plan;
    wider.positions = std::max(plan.positions, window.width <= 20 ? 5 : (window.width <= 36 ? 9 : 13));
    wider.rows = std::max(plan.rows, window.height);
    wider.areaWidth = std::max(plan.areaWidth, area.width);
    wider.areaHeight = std::max(plan.areaHeight, area.height);
    wider.stage.units = std::max(plan.stage.units, gpu::expandedUnits(0, wider.positions, fragment.width));
    wider.stage.rawPitch = gpu::rawPitch(wider.areaWidth, stride);
    wider.stage.rawWords = gpu::rawWords(wider.areaHeight, wider.stage.rawPitch, wider.stage.units, stride);
    const int planes = given.frame.channels * templatePlanes(split) + 1; // and one plane of weights
    wider.templateWords = std::max(plan.templateWords, planes * fragment.height * gpu::pitchOf(fragment.width));
    wider.stage.expandedWords = wider.areaHeight * 16 * wider.stage.units;
    const int imageWords = wider.expandedAt() + expandedPlanes(split) * wider.stage.expandedWords;
    wider.sharedBytes =
        std::max(plan.sharedBytes, gpu::ONE_BLOCK_SCRATCH_BYTES +
                                       4 * static_cast<size_t>(std::max(imageWords, mapWordsOf(window, given))));
    if (wider.sharedBytes > oneBlockBytes(given))
        return false;
    plan = wider;
    return true;
}

void finish(FusedPlan& plan, int count, const MatchCase& given)
{
    plan.slots = 32;
    while (count <= tuning::FUSED_FEW && plan.slots > 4 &&
           fusedThreads(plan.rows, plan.slots / 2) <= mostThreads(given))
        plan.slots /= 2; // few blocks: more threads per fragment
    plan.threads = fusedThreads(plan.rows, plan.slots);
    gpu::setThreads(plan.stage, plan.threads);
}

/** Plans the groups that fit together with those before them. The number of positions per thread is common to all and
changes the memory that each takes, so planning is repeated until that number stays. @param fits gets one entry per
group. */
FusedPlan planGroups(const MatchCase& given, const std::vector<SizeGroup>& groups, std::vector<char>& fits)
{
    FusedPlan plan = {};
    int positions = -1;
    fits.assign(groups.size(), 0);
    while (positions != plan.positions)
    {
        positions = plan.positions;
        plan = {};
        plan.positions = positions;
        for (size_t g = 0; g < groups.size(); ++g)
        {
            const bool any = !groups[g].window.empty(); // else there is nothing to search, only a status to report
            fits[g] =
                widen(plan, any ? groups[g].window : Extent{1, 1}, any ? groups[g].fragment : Extent{1, 1}, given);
        }
    }
    return plan;
}

std::vector<char> fitsOf(const MatchCase& given, const std::vector<SizeGroup>& groups)
{
    std::vector<char> fits;
    planGroups(given, groups, fits);
    return fits;
}

class Fused final : public Plan
{
public:
    Fused(const MatchCase&, const Load&, const FusedPlan& thePlan) : plan(thePlan) {}

    void run(const gpu::Job& job) const override { gpu::matchFused(job, plan); }

private:
    const FusedPlan plan;
};

} // namespace

std::optional<FusedPlan> planFused(const MatchCase& given, const Load& load)
{
    std::vector<char> fits;
    FusedPlan plan = planGroups(given, load.groups, fits);
    if (given.scoresOnly || std::count(fits.begin(), fits.end(), 0) > 0)
        return std::nullopt;
    finish(plan, load.count, given);
    return plan;
}

extern const Route FUSED;
const Route FUSED = {"FUSED", planBy<Fused, planFused>, fitsOf};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
