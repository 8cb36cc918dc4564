// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Choice of kernels, tiles and batches by sizes.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using detail::roundUp;
using gpu::FusedPlan;
using gpu::Route;
using gpu::TilePlan;

namespace {

Extent windowOf(const ByteImageView& frame, const Rect4& area, Extent size)
{
    const SearchWindow window = searchWindow(area, frame.cols, frame.rows, size.width, size.height);
    return {window.cols, window.rows};
}

// --- fused kernel ----------------------------------------------------------------------------------------------------

int fusedThreads(int rows, int slots) { return ceilDiv(4 * rows, slots) * 32; }

int mostThreads(const MatchCase& given)
{
    return hasMoments(given.metric, given.weighted) ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS;
}

//! Returns the words of the values of a window, which sub-pixel offsets need.
int mapWordsOf(Extent window, const MatchCase& given)
{
    return window.width * window.height * (wideValues(given.metric, given.weighted, false) ? 2 : 1);
}

//! Returns the most dynamic shared memory that a block of a fused kernel may have.
size_t mostOfFused(const MatchCase& given)
{
    return std::min(tuning::FUSED_SHARED_BYTES, given.shared.dynamicBytes(gpu::FUSED_STATIC_BYTES));
}

//! Widens `plan` to windows of up to `window` positions of a fragment; returns false if matchFusedBands() cannot match them.
//! @param limit most dynamic shared memory per block
bool planFusedBands(gpu::FusedBands& plan, Extent window, Extent fragment, const MatchCase& given, size_t limit)
{
    const int rows = gpu::FUSED_BAND_ROWS, stride = given.frame.pixelStride, channels = given.frame.channels;
    if (!isProduct(given.metric) || window.width > gpu::BAND_COLS || fragment.height < rows ||
        termsOf(fragment, given) > gpu::BAND_TERMS)
        return false;
    const int blocks = ceilDiv(window.width, 8), chunks = gpu::bandChunks(fragment.width);
    gpu::FusedBands wider = plan;
    wider.warps = std::max(plan.warps, ceilDiv(window.height, 16 / blocks * rows));
    wider.areaWidth = std::max(plan.areaWidth, window.width + fragment.width - 1);
    wider.areaHeight = std::max(plan.areaHeight, window.height + fragment.height - 1);
    // Includes words outside the area that the last rows and columns of positions read and ignore.
    wider.rows = std::max(
        {plan.rows, wider.areaHeight, (window.height - 1) / rows * rows + roundUp(fragment.height, rows) + rows - 1});
    wider.columns = std::max(plan.columns, 2 * blocks + 8 * chunks);
    // Neighbouring groups of rows begin half of the banks apart: no conflicts.
    wider.pitch = (ceilDiv(wider.areaWidth, 4) + 3) / 8 * 8 + 4;
    wider.planeWords = wider.rows * wider.pitch + roundUp(std::max(wider.columns - wider.pitch, 0), 4);
    wider.squareWords = given.weighted ? wider.planeWords : wider.areaHeight * wider.pitch;
    wider.stage.units = 1; // nothing is expanded
    wider.stage.rawPitch =
        (wider.areaWidth * stride + 30) / 16 * 4; // rows begin up to 15 bytes after the start of a unit
    wider.blocks = std::max(plan.blocks, blocks);
    wider.rawWords =
        std::max(wider.areaHeight * wider.stage.rawPitch + 8, given.weighted ? 0 : wider.rows * 8 * wider.blocks);
    wider.templateWords = std::max(plan.templateWords, gpu::bandPlanes(channels, given.weighted) * fragment.height *
                                                           gpu::templateStep(chunks));
    // ZNCC stores n and v over the other data; without weights not over the channels, which are read until the end.
    wider.partWords = isCorrelation(given.metric) ? gpu::bandPartWords(given.weighted, 32 * wider.warps) : 0;
    wider.mapWords = std::max(plan.mapWords, mapWordsOf(window, given));
    wider.planesAt =
        std::max(wider.squaresAt() + (channels == 1 ? 2 : 3) * wider.squareWords, given.weighted ? 0 : wider.partWords);
    wider.planesEnd = wider.planesAt + channels * wider.planeWords;
    // Computed from the widened plan: a later size may enlarge blocks and areas, which moves the offsets of earlier sizes.
    wider.sharedBytes = gpu::FUSED_SCRATCH_BYTES + 4 * static_cast<size_t>(std::max(wider.planesEnd, wider.mapEnd()));
    if (wider.warps > tuning::FUSED_BAND_WARPS || wider.sharedBytes > limit)
        return false;
    plan = wider;
    return true;
}

/** Widens `plan` to windows of up to `window` positions of a fragment; returns false if they do not fit. finishFused() chooses slots and
threads. */
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
    const int planes = given.frame.channels * templatePlanes(split) + 1; // and one plane of weights
    wider.templateWords = std::max(plan.templateWords, planes * fragment.height * gpu::pitchOf(fragment.width));
    wider.stage.expandedWords = wider.areaHeight * 16 * wider.stage.units;
    const int imageWords = wider.expandedAt() + expandedPlanes(split) * wider.stage.expandedWords;
    wider.sharedBytes =
        std::max(plan.sharedBytes,
                 gpu::FUSED_SCRATCH_BYTES + 4 * static_cast<size_t>(std::max(imageWords, mapWordsOf(window, given))));
    if (wider.sharedBytes > mostOfFused(given))
        return false;
    plan = wider;
    return true;
}

void finishFused(FusedPlan& plan, int count, const MatchCase& given)
{
    plan.slots = 32;
    while (count <= tuning::FUSED_FEW && plan.slots > 4 &&
           fusedThreads(plan.rows, plan.slots / 2) <= mostThreads(given))
        plan.slots /= 2; // few blocks: more threads per fragment
    plan.threads = fusedThreads(plan.rows, plan.slots);
    gpu::setThreads(plan.stage, plan.threads);
}

} // namespace

// --- routes ----------------------------------------------------------------------------------------------------------

//! Sets the largest window of each group.
void MatchPlan::widen(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas)
{
    const ByteImageView& frame = given.frame;
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
    Rect4 area = {0, 0, frame.cols, frame.rows};
    if (areas.list)
        area = {0, 0, std::min(areas.limitWidth, frame.cols), std::min(areas.limitHeight, frame.rows)};
    for (size_t g = 0; g < groups_.size(); ++g)
        groups_[g].window = windowOf(frame, area, sizes.distinct[g]);
}

//! Plans all groups. The number of positions per thread is common to all and changes the memory that each takes, so planning is repeated
//! until that number stays.
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
            const bool any = !groups_[g].window.empty(); // else there is nothing to search, only a status to report
            groups_[g].fits = planFused(fusedPlan, any ? groups_[g].window : Extent{1, 1},
                                        any ? sizes.distinct[g] : Extent{1, 1}, given);
        }
    }
}

//! Splits groups that do not fit: keeps the fragments whose own window fits. @return true if there are any.
bool MatchPlan::splitGroups(const MatchCase& given, const FragmentSizes& sizes, const SearchAreas& areas)
{
    bool any = false;
    if (!areas.list || areas.onDevice) // all fragments of a size have the same window
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

//! Plans FUSED_BANDS for the fragments in `fused`; nothing if matrix instructions cannot match some of them or are not worth it.
std::optional<gpu::FusedBands> MatchPlan::planBandGroups(const MatchCase& given, const FragmentSizes& sizes) const
{
    double terms = 0;
    for (const int i : fused)
    {
        const Extent window = groups_[sizes.of[i]].window;
        terms += static_cast<double>(window.width) * window.height * termsOf(sizes[i], given);
    }
    if (!given.weighted && !isCorrelation(given.metric) && terms < tuning::BAND_LEAST_SSD_TERMS)
        return std::nullopt;
    gpu::FusedBands bands = {};
    bool any = false; // else there is nothing to search, only a status to report
    for (size_t g = 0; g < groups_.size(); ++g)
    {
        if (!groups_[g].fits || groups_[g].window.empty())
            continue;
        if (!planFusedBands(bands, groups_[g].window, sizes.distinct[g], given, mostOfFused(given)))
            return std::nullopt;
        any = true;
    }
    if (!any)
        return std::nullopt;
    gpu::setThreads(bands, 32 * bands.warps);
    return bands;
}

std::optional<gpu::FusedBands> planLargeFusedBands(const MatchCase& given, Extent window, const FragmentSizes& sizes)
{
    gpu::FusedBands bands = {};
    for (const Extent& size : sizes.distinct)
        if (!planFusedBands(bands, window, size, given, given.shared.dynamicBytes(gpu::FUSED_STATIC_BYTES)))
            return std::nullopt;
    gpu::setThreads(bands, 32 * bands.warps);
    return bands;
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
    const bool own = areas.list && !areas.onDevice;
    const Rect4 frame = {0, 0, given.frame.cols, given.frame.rows};
    struct Largest
    {
        Extent window, fragment;
        Rect4 region;
    };
    const Largest none = {{0, 0}, {0, 0}, own ? Rect4{0, 0, 0, 0} : frame};
    Largest ofFused = none, ofTiled = none;
    for (size_t i = 0; i < sizes.of.size(); ++i)
    {
        const Group& group = groups_[sizes.of[i]];
        const bool whole = group.fits && (!group.split || alone_[i]);
        (whole ? fused : tiled).push_back(static_cast<int>(i));
        Largest& of = whole ? ofFused : ofTiled;
        of.fragment = larger(of.fragment, sizes[i]);
        if (own)
        {
            const Rect4& area = *areas.list.row(static_cast<int>(i));
            of.window = larger(of.window, windowOf(given.frame, area, sizes[i]));
            of.region = united(of.region, clipToFrame(area, frame.width, frame.height));
        }
        else
            of.window = larger(of.window, group.window);
    }
    if (!fused.empty())
    {
        finishFused(fusedPlan, static_cast<int>(fused.size()), given);
        const auto bands = planBandGroups(given, sizes);
        fusedPlan.route = bands ? Route::FUSED_BANDS : Route::FUSED;
        fusedPlan.bands = bands.value_or(gpu::FusedBands());
    }
    const Largest& of = tiled.empty() ? ofFused : ofTiled;
    const Load load = {of.window, of.fragment, static_cast<int>(tiled.empty() ? fused.size() : tiled.size())};
    if (!tiled.empty() && !load.window.empty())
        tilePlan = planTiles(given, load.window, load.fragment, of.region, load.count);
    chooseRoute(given, sizes, load, of.region);
}

// --- tiles -----------------------------------------------------------------------------------------------------------

TilePlan planByteTiles(const MatchCase& given, Extent window, Extent fragment)
{
    const int height = fragment.height, stride = given.frame.pixelStride;
    TilePlan plan = {};
    plan.route = Route::TILES;
    plan.cols = window.width;
    plan.rows = window.height;
    plan.tilesX = ceilDiv(plan.cols, tuning::TILE_COLS);
    plan.tilesY = ceilDiv(plan.rows, tuning::TILE_ROWS);
    const int64_t pixels = static_cast<int64_t>(fragment.width) * height;
    // Moments of weighted SSD are always 64 bits; the chunks below keep each part within 32 bits.
    plan.wide = !hasMoments(given.metric, given.weighted) &&
                pixels * given.frame.channels * largestTerm(given.metric, given.weighted) > 0xffffffffll;

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

TilePlan planTiles(const MatchCase& given, Extent window, Extent fragment, const Rect4& region, int count, bool anyWork)
{
    TilePlan plan = planByteTiles(given, window, fragment);
    if (const auto bounds = planBounds(given, window, fragment, region, count))
    {
        plan.route = Route::BOUNDED_TILES;
        plan.bounds = *bounds;
    }
    const auto bands = planBands(given, window, fragment, region, count, anyWork);
    if (!bands)
        return plan;
    plan.route = Route::BANDS;
    plan.bands = *bands;
    if (const auto tiles = planBandTiles(*bands, given, window, fragment, count))
    {
        plan.route = Route::BAND_TILES;
        plan.bands.tiles = *tiles;
        plan.tilesX = tiles->blocksX * (gpu::BAND_COLS / tuning::TILE_COLS);
        plan.tilesY = ceilDiv(plan.rows, tiles->units * gpu::BAND_ROWS);
    }
    return plan;
}

int tileBatch(const TilePlan& plan, const MatchCase& given, int count)
{
    size_t each = gpu::tileValuesBytes(plan, given.metric, given.weighted);
    size_t tiles = static_cast<size_t>(plan.tilesX) * plan.tilesY;
    if (plan.route == Route::SLICES)
    {
        each = plan.slices.sumsEach * sizeof(uint32_t);
        tiles = plan.slices.blocks();
    }
    if (plan.route == Route::BANDS)
        each += gpu::bandSumsBytes(plan.bands) + plan.bands.bandsEach * sizeof(uint32_t);
    if (plan.route == Route::TRANSFORMS)
        each += gpu::bandSumsBytes(plan.bands) + plan.bands.columnsEach * sizeof(uint32_t) +
                (plan.transforms.templatesEach + plan.transforms.productsEach) * 2 * sizeof(double);
    if (plan.route == Route::BOUNDED_TILES)
        each += (plan.bounds.coarse.wordsEach + plan.bounds.fine.wordsEach) * sizeof(uint32_t) +
                tiles * (sizeof(gpu::TileBound) + gpu::CELLS * sizeof(uint32_t));
    const size_t fitting =
        std::min(std::max<size_t>(tuning::TILE_VALUES_BUDGET / each, 1), std::max<size_t>(0x7ffffffe / tiles, 1));
    return static_cast<int>(std::min<size_t>(std::min<size_t>(fitting, 65535), count));
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
