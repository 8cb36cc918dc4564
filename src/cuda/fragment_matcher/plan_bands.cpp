// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plans of matrix instructions for windows in tiles: three kernels (BandPlan) or one (BandTiles).
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::BandPlan;

namespace {

//! Lays out the shared memory of a block of correlate for `chunkRows` rows of a fragment at a time.
void stageBands(BandPlan& plan, int chunkRows)
{
    plan.chunkRows = chunkRows;
    plan.bandsOffset = (plan.units * gpu::BAND_ROWS + chunkRows - 1) * (gpu::BAND_COLS / 4 + 4 * plan.chunks);
    const int merging = (plan.parts - 1) * plan.units * gpu::BAND_ROWS * gpu::BAND_COLS;
    plan.sharedBytes = 4 * static_cast<size_t>(std::max(plan.bandsOffset + chunkRows * plan.chunks * 32, merging));
}

//! Plans correlate; returns false if the shared memory of a block is too small.
bool planCorrelate(BandPlan& plan, Extent window, Extent fragment, const MatchCase& given, int count)
{
    const int groups = plan.bandRows / gpu::BAND_ROWS, warps = tuning::BAND_THREADS / 32;
    const auto blocks = [&](int units)
    {
        return static_cast<int64_t>(count) * (plan.sumsPitch / gpu::BAND_COLS) *
               ceilDiv(window.height, units * gpu::BAND_ROWS);
    };
    plan.units = warps;
    while (plan.units > 1 && (window.height <= plan.units / 2 * gpu::BAND_ROWS ||
                              (2 * warps / plan.units <= groups && 2 * blocks(plan.units) < 3 * given.multiprocessors)))
        plan.units /= 2;
    plan.parts = warps / plan.units;
    const int most = std::min<int>(plan.bandRows, static_cast<int>(gpu::BAND_TERMS / fragment.width) & ~7);
    const size_t all = given.shared.dynamicBytes(gpu::CORRELATE_STATIC_BYTES);
    for (const size_t limit : {std::min(tuning::BAND_SHARED_BYTES, all), all})
        for (int chunks = ceilDiv(plan.bandRows, most); chunks <= groups; ++chunks)
        {
            stageBands(plan, roundUp(ceilDiv(plan.bandRows, chunks), gpu::BAND_ROWS));
            if (plan.sharedBytes <= limit)
                return true;
        }
    return false;
}

//! Plans values; returns false if the shared memory of a block is too small.
bool planValues(BandPlan& plan, Extent window, Extent fragment, const MatchCase& given)
{
    const size_t position =
        given.weighted ? 0 : (plan.wide ? 8 : 4) + (isCorrelation(given.metric) ? 4 * given.frame.channels : 0);
    plan.slabPitch = (gpu::BAND_COLS + fragment.width) | 1;
    const size_t limit = std::min(tuning::BAND_SHARED_BYTES, given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES));
    const auto bytes = [&](int rows) { return rows * plan.slabPitch * position; };
    plan.slabRows = tuning::TILE_ROWS;
    while (plan.slabRows > 1 && bytes(plan.slabRows) > limit)
        plan.slabRows /= 2;
    const size_t bests =
        sizeof(gpu::TileBest) * ceilDiv(window.width, tuning::TILE_COLS) * ceilDiv(window.height, tuning::TILE_ROWS);
    plan.valueSharedBytes = std::max(bytes(plan.slabRows), std::min(bests, tuning::BAND_BESTS_BYTES));
    return bytes(plan.slabRows) <= limit;
}

//! Returns true if `count` windows have enough work for matrix instructions to be faster than byte sums.
bool worthBands(const MatchCase& given, Extent window, Extent fragment, int count)
{
    const int64_t positions = static_cast<int64_t>(window.width) * window.height;
    const double terms = static_cast<double>(positions) * count * termsOf(fragment, given);
    const bool expensive = given.weighted || isCorrelation(given.metric); // by byte sums
    return terms >= (expensive ? tuning::BAND_LEAST_TERMS : tuning::BAND_LEAST_SSD_TERMS) &&
           (positions >= tuning::BAND_LEAST_POSITIONS || fragment.width * fragment.height >= tuning::BAND_LEAST_PIXELS);
}

} // namespace

bool planBandSums(BandPlan& plan, const MatchCase& given, Extent window, Extent fragment, const Rect4& region)
{
    plan.region = region;
    plan.pitch = roundUp(region.width, 16);
    plan.planeBytes = static_cast<size_t>(plan.pitch) * region.height;
    plan.wide = given.weighted || termsOf(fragment, given) > gpu::BAND_TERMS;
    plan.sumsPitch = roundUp(window.width + 15, gpu::BAND_COLS);
    plan.sumsRows = window.height;
    plan.sumsEach = static_cast<size_t>(plan.sumsPitch) * plan.sumsRows * (given.weighted ? 2 : 1);
    return planValues(plan, window, fragment, given);
}

std::optional<BandPlan> planBands(const MatchCase& given, Extent window, Extent fragment, const Rect4& region,
                                  int count, bool anyWork)
{
    if (!isProduct(given.metric) || fragment.width > tuning::BAND_WIDTH ||
        !(anyWork || worthBands(given, window, fragment, count)))
        return std::nullopt;
    BandPlan plan = {};
    if (!planBandSums(plan, given, window, fragment, region))
        return std::nullopt;
    const int chunks = ceilDiv(fragment.width + 7, 16);
    plan.group = 5;
    for (int group = 4; group >= 2; --group)
        if (roundUp(chunks, group) < roundUp(chunks, plan.group))
            plan.group = group;
    plan.chunks = roundUp(chunks, plan.group);
    plan.bandRows = roundUp(fragment.height, gpu::BAND_ROWS);
    plan.bandsEach =
        static_cast<size_t>(gpu::bandPlanes(given.frame.channels, given.weighted)) * plan.bandRows * plan.chunks * 32;
    if (!planCorrelate(plan, window, fragment, given, count))
        return std::nullopt;
    return plan;
}

// The fewest rows per block for which all blocks are resident at once are the fastest.
std::optional<gpu::BandTiles> planBandTiles(const BandPlan& bands, const MatchCase& given, Extent window,
                                            Extent fragment, int count)
{
    const int stride = given.frame.pixelStride, channels = given.frame.channels;
    const bool image = isCorrelation(given.metric);
    if (given.weighted || bands.wide || fragment.height > tuning::BAND_TILE_HEIGHT || given.frame.step % 16 != 0)
        return std::nullopt;
    gpu::BandTiles plan = {};
    plan.blocksX =
        ceilDiv(window.width + (stride == 1 ? 15 : 0), gpu::BAND_COLS); // the first block starts at a unit of 16 bytes
    for (const int units : {1, 2, 3, 4, 6})
    {
        const int64_t blocks = static_cast<int64_t>(plan.blocksX) * ceilDiv(window.height, units * gpu::BAND_ROWS);
        if (blocks * count > given.multiprocessors)
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

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
