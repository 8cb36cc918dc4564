// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Route SLICES: plan.
#include "../../../precomp.hpp"

#ifdef HAVE_CUDA

#include "slices.hpp"
#include "../../../common/parts.hpp"
#include "../common/one_block.hpp"
#include "../route.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::SlicePlan;

namespace {

//! Chooses the rows of positions per block: the fewest steps of all blocks together, with a tenth of a step for the
//! start of each.
void chooseTiles(SlicePlan& plan, Extent window)
{
    double least = 0;
    const int mostRows = tuning::SLICE_THREADS / (4 * plan.groups), fewest = ceilDiv(window.height, mostRows);
    for (int tiles = fewest; tiles <= fewest + 3; ++tiles)
    {
        const int rows = ceilDiv(window.height, tiles), parts = tuning::SLICE_THREADS / (4 * rows * plan.groups);
        const double steps = tiles * (1. / parts + 0.1);
        if (least > 0 && steps >= least)
            continue;
        least = steps;
        plan.tileRows = rows;
        plan.tiles = ceilDiv(window.height, rows);
        plan.parts = parts;
    }
}

//! Lays out the shared memory of a block for `sliceRows` rows of a fragment.
void stageSlice(SlicePlan& plan, int sliceRows, Extent window, Extent fragment, const MatchCase& given)
{
    const bool split = isSplit(given.metric, given.weighted);
    const int imageRows = plan.tileRows + sliceRows - 1, stride = given.frame.pixelStride;
    plan.sliceRows = sliceRows;
    plan.slices = ceilDiv(fragment.height, sliceRows);
    plan.templateWords = sliceRows * gpu::pitchOf(fragment.width) * (templatePlanes(split) + 1);
    plan.stage.units = gpu::expandedUnits((plan.groups - 1) * gpu::SLICE_GROUP_WORDS, plan.positions, fragment.width);
    plan.stage.rawPitch = gpu::rawPitch(plan.areaWidth, stride);
    plan.stage.rawWords = gpu::rawWords(imageRows, plan.stage.rawPitch, plan.stage.units, stride);
    plan.stage.expandedWords = imageRows * 16 * plan.stage.units;
    const int totals = gpu::sumsPerPosition(given.metric, given.weighted) * plan.positions * plan.items();
    const int words = plan.expandedAt() + expandedPlanes(split) * plan.stage.expandedWords + totals;
    plan.sharedBytes = 4 * static_cast<size_t>(std::max(words, mapWordsOf(window, given)));
}

} // namespace

std::optional<SlicePlan> planSlices(const MatchCase& given, const Load& load)
{
    const Extent window = load.window, fragment = load.fragment;
    const int channels = given.frame.channels;
    const bool moments = hasMoments(given.metric, given.weighted);
    const int64_t pixels = static_cast<int64_t>(fragment.width) * fragment.height;
    const int64_t largest = moments ? 255 * 255 : channels * largestTerm(given.metric, given.weighted);
    const int widest = 4 * (gpu::SLICE_GROUP_WORDS * tuning::SLICE_GROUPS + 1);
    if (given.scoresOnly || window.width > widest ||
        static_cast<int64_t>(window.width) * window.height > tuning::SLICE_POSITIONS ||
        fragment.width > tuning::WIDEST_FRAGMENT || pixels * largest > 0xffffffffll)
        return std::nullopt;
    SlicePlan plan = {};
    plan.cols = window.width;
    plan.rows = window.height;
    plan.areaWidth = window.width + fragment.width - 1;
    plan.positions = window.width <= 20 ? 5 : 9;
    plan.groups = std::max(ceilDiv(ceilDiv(window.width, 4) - 1, gpu::SLICE_GROUP_WORDS), 1);
    chooseTiles(plan, window);
    plan.planeWords = detail::roundUp(window.width * window.height, 4);
    plan.sumsEach = static_cast<size_t>(gpu::sumsPerPosition(given.metric, given.weighted)) *
                    gpu::sumChannels(given.metric, given.weighted, channels) * plan.planeWords;
    // A block that each SM can have besides another: first all channels, then as many slices as fill the device.
    const int64_t wanted = 2 * given.multiprocessors, tiles = static_cast<int64_t>(plan.tiles) * load.count;
    const int mostSlices = ceilDiv(fragment.height, tuning::SLICE_LEAST_ROWS);
    plan.channelBlocks = tiles * ceilDiv(fragment.height, 2 * tuning::SLICE_LEAST_ROWS) < wanted ? channels : 1;
    const int64_t slices = std::min<int64_t>(std::max<int64_t>(wanted / (tiles * plan.channelBlocks), 1), mostSlices);
    const size_t all = given.shared.dynamicBytes(tuning::SLICE_STATIC_BYTES);
    for (const size_t limit : {std::min(tuning::SLICE_SHARED_BYTES, all), all})
        for (int rows = ceilDiv(fragment.height, static_cast<int>(slices)); rows > 0; rows -= std::max(rows / 8, 1))
        {
            stageSlice(plan, rows, window, fragment, given);
            if (plan.sharedBytes > limit)
                continue;
            gpu::setThreads(plan.stage, tuning::SLICE_THREADS);
            return plan;
        }
    return std::nullopt;
}

namespace {

class Slices final : public Plan
{
public:
    Slices(const MatchCase&, const Load&, const SlicePlan& thePlan) : plan(thePlan) {}

    size_t bytesEach() const override { return plan.sumsEach * sizeof(uint32_t); }
    size_t blocksEach() const override { return plan.blocks(); }
    void takeMemory(detail::Parts&, detail::Parts& zeros, int count) override
    {
        finished_ = zeros.take<unsigned>(count);
        sums_ = zeros.take<uint32_t>(plan.sumsEach * count);
    }
    void run(const gpu::Job& job) const override { gpu::matchSlices(job, plan, sums_, finished_); }

private:
    const SlicePlan plan;
    uint32_t* sums_ = nullptr;
    unsigned* finished_ = nullptr;
};

} // namespace

extern const Route SLICES;
const Route SLICES = {"SLICES", planBy<Slices, planSlices>};

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
