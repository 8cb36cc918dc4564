// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plans of elimination: when SAD compares bounds of all positions before it scores any.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::BoundPlan;

namespace {

//! Returns true if a call has so much work that bounds are worth their cost whatever they eliminate.
bool worthBounds(const MatchCase& given, Extent window, Extent fragment, const Rect4& region, int count)
{
    const double positions = static_cast<double>(window.width) * window.height * count;
    const double terms = positions * static_cast<double>(termsOf(fragment, given));
    const double bytes = static_cast<double>(region.width) * region.height * given.frame.channels;
    return terms >= std::max(tuning::BOUND_LEAST_TERMS, tuning::BOUND_LEAST_TERMS_PER_BYTE * bytes);
}

} // namespace

std::optional<BoundPlan> planBounds(const MatchCase& given, Extent window, Extent fragment, const Rect4& region,
                                    int count)
{
    const int side = std::min(fragment.width, fragment.height), channels = given.frame.channels;
    if (!given.fullSearch || given.metric != Metric::SAD || side < tuning::BOUND_LEAST_SIDE ||
        static_cast<int64_t>(fragment.width) * fragment.height > tuning::BOUND_MOST_PIXELS ||
        !worthBounds(given, window, fragment, region, count))
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
    plan.otherPlaces = std::min(tuning::BOUND_OTHER_PLACES, 2 * given.multiprocessors / count);
    plan.refiners = tuning::BOUND_REFINERS * given.multiprocessors;
    plan.height = fragment.height;
    plan.parts = ceilDiv(fragment.height, tuning::BOUND_PART_ROWS);
    plan.fewBlocks = tuning::BOUND_WAVES * tuning::TILE_BLOCKS * given.multiprocessors;
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

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
