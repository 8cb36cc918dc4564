// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan_cuda.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::BandPlan;
using gpu::FusedPlan;
using gpu::TilePlan;

namespace {

Extent windowOf(const ImageView& frame, const Rect4& area, Extent size)
{
    const SearchWindow window = searchWindow(area, frame.cols, frame.rows, size.width, size.height);
    return {window.cols, window.rows};
}

// --- matrix instructions ---------------------------------------------------------------------------------------------

//! Products of at most 255 * 255 that make up a sum.
int64_t termsOf(Extent fragment, const MatchCase& given)
{
    return static_cast<int64_t>(fragment.width) * fragment.height * given.frame.channels;
}

//! How many words of one bank half of an operand asks for at once.
int bankConflicts(const BandPlan& plan, int pitch)
{
    int worst = 0;
    for (int half = 0; half < 16; half += 8)
    {
        std::vector<int> words[32];
        for (int lane = 0; lane < 32; ++lane)
        {
            const int m = half + lane / 4, row = m / plan.colBlocks;
            const int word = row * plan.depth * pitch + 2 * (m % plan.colBlocks) + lane % 4;
            std::vector<int>& bank = words[word % 32];
            if (row < plan.rowBands && std::find(bank.begin(), bank.end(), word) == bank.end())
                bank.push_back(word);
            worst = std::max(worst, static_cast<int>(bank.size()));
        }
    }
    return worst;
}

//! Shared memory for `chunkRows` rows of `channels` channels at a time; the plan's shape is known.
void layOut(BandPlan& plan, const MatchCase& given, int channels, int chunkRows)
{
    const bool zncc = isCorrelation(given.metric);
    const int planes = given.weighted ? 3 : channels, boxes = zncc ? 1 + (plan.wide ? 1 : given.frame.channels) : 1;
    const int rows = plan.units * plan.rowBands * plan.depth;
    plan.stagedChannels = channels;
    plan.chunkRows = chunkRows;
    plan.planeWords = (rows + chunkRows - 1) * plan.pitch;
    plan.templateOffset = planes * plan.planeWords;
    int words = plan.templateOffset + planes * chunkRows * plan.templatePitch;
    if (!given.weighted)
    {
        plan.slabPitch = (plan.cols + plan.width) | 1;
        const int slabs = ceilDiv(plan.rows, std::max(words / (boxes * plan.slabPitch), std::min(plan.rows, 4)));
        plan.slabRows = ceilDiv(plan.rows, slabs);
        words = std::max(words, boxes * plan.slabRows * plan.slabPitch);
    }
    else
        plan.slabRows = plan.rows;
    plan.sumsOffset = (words + 1) / 2 * 2;
    plan.sumsWords = rows * 8 * plan.colBlocks;
    plan.sumsCount = given.weighted ? 4 + (zncc ? given.frame.channels : 0) : (plan.wide && !zncc ? 2 : 1);
    plan.totalsOffset = plan.sumsOffset + plan.sumsCount * plan.sumsWords;
    plan.sharedBytes = 4 * (static_cast<size_t>(plan.totalsOffset) + (plan.wide ? 4 * plan.sumsWords : 0));
}

/** For tiles of up to `tile` positions and fragments of up to `fragment` pixels. `plan.chunks`, `depth` and `colBlocks` are
known. @return false when that needs more than `limit` bytes of shared memory. */
bool planBands(BandPlan& plan, Extent tile, Extent fragment, const MatchCase& given, size_t limit)
{
    if (fragment.width > tuning::BAND_WIDTH)
        return false;
    plan.cols = tile.width;
    plan.rows = tile.height;
    plan.width = fragment.width;
    plan.height = fragment.height;
    plan.rowBands = 16 / plan.colBlocks;
    plan.units = ceilDiv(tile.height, plan.rowBands * plan.depth);
    plan.wide = termsOf(fragment, given) > gpu::BAND_TERMS;
    const int words = 8 * plan.chunks * ceilDiv(ceilDiv(fragment.width + 7, 32), plan.chunks);
    plan.templatePitch = words + gpu::BAND_MARGIN + 1;
    const int least = 2 * plan.colBlocks - 2 + words;
    plan.pitch = least;
    for (int pitch = least; pitch < least + 16 && bankConflicts(plan, plan.pitch) > 1; ++pitch)
        if (bankConflicts(plan, pitch) < bankConflicts(plan, plan.pitch))
            plan.pitch = pitch;
    layOut(plan, given, given.weighted || plan.wide ? 1 : given.frame.channels, fragment.height);
    if (plan.sharedBytes <= limit)
        return true;
    for (int chunks = 1; chunks <= fragment.height; ++chunks)
    {
        layOut(plan, given, 1, ceilDiv(fragment.height, chunks));
        if (plan.sharedBytes <= limit)
            return true;
    }
    return false;
}

//! Rows of fragments are divided so that all warps have the same number of tasks.
void divide(BandPlan& plan, int threads)
{
    plan.threads = threads;
    plan.parts = 1;
    while (plan.units * plan.parts % (threads / 32) != 0)
        ++plan.parts;
}

//! No threads: this is not the way.
BandPlan planBandTiles(const MatchCase& given, Extent window, Extent fragment)
{
    const int bands = ceilDiv(fragment.width + 7, 32);
    BandPlan plan = {};
    plan.chunks = 3 * ceilDiv(bands, 3) <= 2 * ceilDiv(bands, 2) ? 3 : 2;
    plan.depth = tuning::BAND_TILE_DEPTH;
    Extent tile = {2 * tuning::TILE_COLS, tuning::TILE_ROWS};
    if (window.width <= tuning::TILE_COLS)
        tile.width = tuning::TILE_COLS;
    plan.colBlocks = tile.width / 8;
    const size_t limit = std::min(tuning::BAND_SHARED_BYTES, given.sharedBytes - tuning::TILE_STATIC_BYTES);
    if (given.metric == METRIC_SAD || !planBands(plan, tile, fragment, given, limit))
        return {};
    divide(plan, tuning::BAND_TILE_THREADS);
    return plan;
}

// --- fused kernel ----------------------------------------------------------------------------------------------------

int fusedThreads(int rows, int slots) { return ceilDiv(4 * rows, slots) * 32; }

int mostThreads(const MatchCase& given)
{
    return hasMoments(given.metric, given.weighted) ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS;
}

/** False when windows of up to `window` positions of a fragment do not fit; else widens `plan` to them. Slots and threads are
finishFused()'s to choose. */
bool planFused(FusedPlan& plan, Extent window, Extent fragment, const MatchCase& given)
{
    const int stride = given.frame.pixelStride;
    const bool split = isSplit(given.metric, given.weighted);
    const Extent area = {window.width + fragment.width - 1, window.height + fragment.height - 1};
    if (window.width > 52 || fusedThreads(window.height, 32) > mostThreads(given) ||
        static_cast<int64_t>(fragment.width) * fragment.height * 765 * 255 > 0xffffffffll ||
        static_cast<int64_t>(area.width) * area.height * stride >
            static_cast<int64_t>(tuning::FUSED_SHARED_BYTES)) // before int sizes could overflow
        return false;
    FusedPlan wider = plan;
    wider.positions = std::max(plan.positions, window.width <= 20 ? 5 : (window.width <= 36 ? 9 : 13));
    wider.rows = std::max(plan.rows, window.height);
    wider.areaWidth = std::max(plan.areaWidth, area.width);
    wider.areaHeight = std::max(plan.areaHeight, area.height);
    wider.stage.units = std::max(plan.stage.units, gpu::expandedUnits(0, wider.positions, fragment.width));
    wider.stage.rawPitch = gpu::rawPitch(wider.areaWidth, stride);
    wider.stage.rawWords = gpu::rawWords(wider.areaHeight, wider.stage.rawPitch, wider.stage.units, stride);
    const int planes = given.frame.channels * templatePlanes(split) + 1; // one of weights
    wider.templateWords = std::max(plan.templateWords, planes * fragment.height * gpu::pitchOf(fragment.width));
    wider.stage.expandedWords = wider.areaHeight * 16 * wider.stage.units;
    const int pictureWords =
        wider.stage.rawWords + wider.templateWords + expandedPlanes(split) * wider.stage.expandedWords;
    const int mapWords = window.width * window.height * (wideValues(given.metric, given.weighted, false) ? 2 : 1);
    wider.sharedBytes = std::max(plan.sharedBytes,
                                 gpu::FUSED_SCRATCH_BYTES + 4 * static_cast<size_t>(std::max(pictureWords, mapWords)));
    if (wider.sharedBytes > std::min(tuning::FUSED_SHARED_BYTES, given.sharedBytes))
        return false;
    plan = wider;
    return true;
}

void finishFused(FusedPlan& plan, int count, const MatchCase& given)
{
    plan.slots = 32;
    while (count <= tuning::FUSED_FEW && plan.slots > 4 &&
           fusedThreads(plan.rows, plan.slots / 2) <= mostThreads(given))
        plan.slots /= 2; // few blocks: more threads for each
    plan.threads = fusedThreads(plan.rows, plan.slots);
    gpu::setThreads(plan.stage, plan.threads);
}

} // namespace

// --- which way -------------------------------------------------------------------------------------------------------

//! Largest window of each group.
void MatchPlan::widen(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas)
{
    const ImageView& frame = given.frame;
    groups_.assign(sizes.distinct.size(), Group{{0, 0}, false, false});
    if (areas.list && !areas.onDevice)
    {
        for (size_t i = 0; i < sizes.of.size(); ++i)
        {
            Group& group = groups_[sizes.of[i]];
            group.window = larger(group.window, windowOf(frame, *areas.list.row(static_cast<int>(i)), sizes[i]));
        }
        return;
    }
    Rect4 area = {0, 0, frame.cols, frame.rows}; // the same for all
    if (areas.list)
        area = {0, 0, std::min(areas.limitWidth, frame.cols), std::min(areas.limitHeight, frame.rows)};
    for (size_t g = 0; g < groups_.size(); ++g)
        groups_[g].window = windowOf(frame, area, sizes.distinct[g]);
}

//! Positions a thread are common to all, and change how much memory each takes: plan again until they stay.
void MatchPlan::planGroups(const MatchCase& given, const FragmentSizes& sizes)
{
    fusedPlan = {};
    int positions = -1;
    while (positions != fusedPlan.positions)
    {
        positions = fusedPlan.positions;
        fusedPlan = {};
        fusedPlan.positions = positions;
        for (size_t g = 0; g < groups_.size(); ++g)
        {
            const bool any = !groups_[g].window.empty(); // else only to be reported
            groups_[g].fits = planFused(fusedPlan, any ? groups_[g].window : Extent{1, 1},
                                        any ? sizes.distinct[g] : Extent{1, 1}, given);
        }
    }
}

//! Of groups that do not fit, goes by those fragments whose own windows fit. @return true when there are any.
bool MatchPlan::splitGroups(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas)
{
    bool any = false;
    if (!areas.list || areas.onDevice) // all windows of a size are the same
        return any;
    alone_.assign(sizes.of.size(), 0);
    for (Group& group : groups_)
    {
        group.split = !group.fits;
        if (group.split)
            group.window = {0, 0};
    }
    for (size_t i = 0; i < sizes.of.size(); ++i)
    {
        Group& group = groups_[sizes.of[i]];
        if (!group.split)
            continue;
        const Extent window = windowOf(given.frame, *areas.list.row(static_cast<int>(i)), sizes[i]);
        FusedPlan plan = {};
        if (!window.empty() && !planFused(plan, window, sizes[i], given))
            continue;
        alone_[i] = any = true;
        group.window = larger(group.window, window);
    }
    return any;
}

void MatchPlan::make(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas)
{
    const auto fits = [](const Group& group) { return group.fits; };
    widen(given, sizes, areas);
    planGroups(given, sizes);
    if (!std::all_of(groups_.begin(), groups_.end(), fits) && splitGroups(given, sizes, areas))
        planGroups(given, sizes);

    fused.clear();
    tiled.clear();
    Extent window = {0, 0}, fragment = {0, 0};
    for (size_t i = 0; i < sizes.of.size(); ++i)
    {
        const Group& group = groups_[sizes.of[i]];
        if (group.fits && (!group.split || alone_[i]))
        {
            fused.push_back(static_cast<int>(i));
            continue;
        }
        tiled.push_back(static_cast<int>(i));
        const bool own = areas.list && !areas.onDevice;
        window =
            larger(window, own ? windowOf(given.frame, *areas.list.row(static_cast<int>(i)), sizes[i]) : group.window);
        fragment = larger(fragment, sizes[i]);
    }
    if (!fused.empty())
        finishFused(fusedPlan, static_cast<int>(fused.size()), given);
    if (!window.empty())
        tilePlan = planTiles(given, window, fragment);
}

// --- tiles -----------------------------------------------------------------------------------------------------------

TilePlan planTiles(const MatchCase& given, Extent window, Extent fragment)
{
    const int height = fragment.height, stride = given.frame.pixelStride;
    TilePlan plan = {};
    plan.cols = window.width;
    plan.rows = window.height;
    plan.tilesX = ceilDiv(plan.cols, tuning::TILE_COLS);
    plan.tilesY = ceilDiv(plan.rows, tuning::TILE_ROWS);
    const int64_t pixels = static_cast<int64_t>(fragment.width) * height;
    // Moments of weighted SSD always run in 64 bits; the chunks below keep each part within 32.
    plan.wide = !hasMoments(given.metric, given.weighted) &&
                pixels * given.frame.channels * largestTerm(given.metric, given.weighted) > 0xffffffffll;

    const bool split = isSplit(given.metric, given.weighted);
    const size_t limit = std::min(split ? tuning::TILE_SPLIT_SHARED_BYTES : tuning::TILE_SHARED_BYTES,
                                  given.sharedBytes - tuning::TILE_STATIC_BYTES);
    int templateRow = 0;
    const auto words = [&](int chunkRows)
    {
        const int pictureRows = tuning::TILE_ROWS - 1 + chunkRows;
        return chunkRows * templateRow + gpu::rawWords(pictureRows, plan.stage.rawPitch, plan.stage.units, stride) +
               expandedPlanes(split) * pictureRows * 16 * plan.stage.units;
    };
    plan.chunkCols = std::min(fragment.width, tuning::TILE_CHUNK_COLS);
    for (;; plan.chunkCols = (plan.chunkCols / 2 + 15) / 16 * 16) // narrower ones start at whole groups of words
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
        ++chunks; // of about the same height
    plan.chunkRows = ceilDiv(height, chunks);
    plan.templateWords = plan.chunkRows * templateRow;
    plan.stage.rawWords =
        gpu::rawWords(tuning::TILE_ROWS - 1 + plan.chunkRows, plan.stage.rawPitch, plan.stage.units, stride);
    plan.stage.expandedWords = (tuning::TILE_ROWS - 1 + plan.chunkRows) * 16 * plan.stage.units;
    gpu::setThreads(plan.stage, tuning::TILE_POSITION_THREADS * (split ? 1 : tuning::TILE_PARTS));
    const size_t merging = 4 * static_cast<size_t>(plan.templateWords + plan.stage.rawWords +
                                                   3 * gpu::TILE_POSITIONS * tuning::TILE_POSITION_THREADS);
    plan.sharedBytes = std::max(merging, 4 * static_cast<size_t>(words(plan.chunkRows)));
    plan.bands = planBandTiles(given, window, fragment);
    return plan;
}

int tileBatch(const TilePlan& plan, const MatchCase& given, int count)
{
    const size_t each = gpu::tileValuesBytes(plan, given.metric, given.weighted);
    const size_t tiles = static_cast<size_t>(plan.tilesX) * plan.tilesY;
    const size_t fitting =
        std::min(std::max<size_t>(tuning::TILE_VALUES_BUDGET / each, 1), std::max<size_t>(0x7ffffffe / tiles, 1));
    return static_cast<int>(std::min<size_t>(std::min<size_t>(fitting, 65535), count));
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
