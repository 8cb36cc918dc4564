// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route DEEP_BANDS: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "deep_bands.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::DeepPlan;

DeepPlan planDeepBands(const MatchCase& given, const Load& load)
{
    const Extent window = load.window, fragment = load.fragment;
    const int channels = given.frame.channels;
    if (static_cast<int64_t>(fragment.width) * fragment.height > tuning::MAX_DEEP_PIXELS)
        CV_Error_(Error::StsOutOfRange,
                  ("fragments: the widest and the highest one have %d columns and %d rows; their product "
                   "must not exceed %lld on the device: match them by several instances",
                   fragment.width, fragment.height, static_cast<long long>(tuning::MAX_DEEP_PIXELS)));
    DeepPlan plan = {};
    plan.image = isCorrelation(given.metric);
    planPlanes(plan.bands, load, gpu::deepSums(channels, given.weighted, plan.image));
    plan.bands.wide = true;
    planChunks(plan.bands, fragment, gpu::deepBandPlanes(channels, given.weighted));
    plan.pieceChunks = std::min(plan.bands.chunks, tuning::DEEP_CHUNKS / plan.bands.group * plan.bands.group);
    gpu::BandPlan piece = plan.bands;
    piece.chunks = plan.pieceChunks;
    CV_Assert(planCorrelate(piece, window, {16 * plan.pieceChunks, fragment.height}, given, load.count, true));
    piece.chunks = plan.bands.chunks;
    plan.bands = piece;
    plan.linesPitch = roundUp(15 + window.width + fragment.width, 4);
    plan.linesEach =
        static_cast<size_t>(gpu::deepBoxes(channels, given.weighted, plan.image)) * window.height * plan.linesPitch;
    const size_t tiles =
        static_cast<size_t>(ceilDiv(window.width, tuning::TILE_COLS)) * ceilDiv(window.height, tuning::TILE_ROWS);
    plan.bestsBytes = std::min(tiles * sizeof(gpu::TileBest), tuning::BAND_BESTS_BYTES);
    return plan;
}

namespace {

class DeepBands final : public TiledPlan
{
public:
    DeepBands(const MatchCase& given, const Load& load)
        : TiledPlan(windowsOf(given, load)),
          plan(planDeepBands(given, load)),
          imagePlanes(gpu::deepImagePlanes(given.frame.channels, given.weighted))
    {}

    size_t bytesEach() const override
    {
        return TiledPlan::bytesEach() + gpu::bandSumsBytes(plan.bands) + plan.bands.bandsEach * sizeof(uint32_t) +
               plan.linesEach * sizeof(uint64_t);
    }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override
    {
        TiledPlan::takeMemory(working, zeros, count);
        memory_.bands = takeBands(working, plan.bands, imagePlanes, false, count);
        memory_.lines = working.take<uint64_t>(plan.linesEach * count);
    }
    void run(const gpu::Job& job) const override { gpu::matchDeepBands(job, plan, memory_, windows_); }

private:
    const DeepPlan plan;
    const int imagePlanes;
    gpu::DeepMemory memory_ = {};
};

} // namespace

static std::unique_ptr<Plan> plan(const MatchCase& given, const Load& load)
{
    return std::make_unique<DeepBands>(given, load);
}

extern const Route DEEP_BANDS;
const Route DEEP_BANDS = {"DEEP_BANDS", plan, nullptr, true};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
