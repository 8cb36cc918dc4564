// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Routes by which FragmentMatcher's CUDA backend searches fragments, and the conditions that its kernels need of a
// plan; both on the host. The conditions follow from the kernels' indices into shared memory and grids, with the
// offsets of the plan.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_PLANS_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_PLANS_HPP

#include "plan_sums.hpp"
#include "scenes.hpp"
#ifdef CUDATRACKING_HAS_PLANS
#include "../../src/cuda/fragment_matcher/transforms/fft.hpp"

namespace opencv_test { namespace plans {

using cv::cuda::detail::ceilDiv;
using fm::Extent;
using fm::Rect4;

//! A call of match(), or of scoreMaps().
struct MatchCall
{
    fm::MatchCase given;
    std::vector<Extent> fragments;
    std::vector<Rect4> areas; //!< by fragment; empty: the whole frame
    bool areasOnDevice = false;
    Size limit; //!< of areas on the device

    MatchCall(Size frame, int channels, int metric, bool weighted, size_t sharedBytes, int multiprocessors,
              bool deep = false)
        : given{{nullptr, static_cast<size_t>(frame.width * channels * (deep ? 2 : 1) + 511) / 512 * 512, frame.width,
                 frame.height, channels * (deep ? 2 : 1), channels == 1 ? 1 : 3},
                static_cast<fm::Metric>(metric),
                weighted,
                cv::cuda::detail::SharedLimit(sharedBytes),
                multiprocessors,
                true,
                sharedBytes > SLOW_DOUBLES_BYTES}
    {}

    //! A scene with all of its areas on the host, or all of its fragments in the whole frame.
    MatchCall(const scenes::Scene& scene, size_t sharedBytes, int multiprocessors)
        : MatchCall(scene.frame.size(), std::min(scene.frame.channels(), 3), scene.params.metric, false, sharedBytes,
                    multiprocessors, scene.frame.depth() == CV_16U)
    {
        given.frame.pixelStride = static_cast<int>(scene.frame.elemSize());
        given.fullSearch = scene.params.search == cv::cuda::FragmentMatcher::FULL;
        for (const Mat& weights : scene.weights)
            given.weighted = given.weighted || !weights.empty();
        for (const Mat& templ : scene.templates)
            fragments.push_back({templ.cols, templ.rows});
        for (const Rect& area : scene.areas)
            areas.push_back({area.x, area.y, area.width, area.height});
    }

    fm::SearchAreas searchAreas() const
    {
        return {{areas.empty() ? nullptr : areas.data(), sizeof(Rect4)}, areasOnDevice, limit.width, limit.height};
    }
    fm::FragmentSizes sizes() const
    {
        fm::FragmentSizes sizes;
        sizes.distinct = fragments;
        std::sort(sizes.distinct.begin(), sizes.distinct.end());
        sizes.distinct.erase(std::unique(sizes.distinct.begin(), sizes.distinct.end()), sizes.distinct.end());
        for (const Extent& size : fragments)
            sizes.of.push_back(static_cast<int>(std::lower_bound(sizes.distinct.begin(), sizes.distinct.end(), size) -
                                                sizes.distinct.begin()));
        return sizes;
    }
    //! The largest window that kernels meet.
    Extent windowOf(size_t i) const
    {
        Rect4 area = {0, 0, given.frame.cols, given.frame.rows};
        if (areasOnDevice && !areas.empty())
            area = {0, 0, std::min(limit.width, area.width), std::min(limit.height, area.height)};
        else if (!areas.empty())
            area = areas[i];
        const int64_t left = std::max(area.x, 0), top = std::max(area.y, 0);
        const int64_t right = std::min<int64_t>(int64_t(area.x) + area.width, given.frame.cols),
                      bottom = std::min<int64_t>(int64_t(area.y) + area.height, given.frame.rows);
        const int64_t cols = right - left - fragments[i].width + 1, rows = bottom - top - fragments[i].height + 1;
        return area.width <= 0 || area.height <= 0 || cols <= 0 || rows <= 0
                   ? Extent{0, 0}
                   : Extent{static_cast<int>(cols), static_cast<int>(rows)};
    }
    //! So that this window is searched. The frame must be large enough.
    void add(Extent fragment, Extent window, Point at = Point())
    {
        fragments.push_back(fragment);
        areas.push_back({at.x, at.y, fragment.width + window.width - 1, fragment.height + window.height - 1});
    }
    std::string describe() const
    {
        std::string text = cv::format(
            "metric %d%s%s, frame %d x %d, %d channels, %zu bytes left to a kernel without static memory, %d SMs",
            static_cast<int>(given.metric), given.weighted ? " weighted" : "", given.frame.deep() ? ", 16 bits" : "",
            given.frame.cols, given.frame.rows, given.frame.channels, given.shared.dynamicBytes(0),
            given.multiprocessors);
        for (size_t i = 0; i < std::min<size_t>(fragments.size(), 8); ++i)
            text += cv::format("\n  %d x %d in a window of %d x %d", fragments[i].width, fragments[i].height,
                               windowOf(i).width, windowOf(i).height);
        return text;
    }
};

// --- routes ----------------------------------------------------------------------------------------------------------

//! Names of routes; with the metric where it chooses the kernels.
typedef std::set<std::string> Routes;
const Routes ROUTE_NAMES = {"FUSED",
                            "TILES",
                            "BOUNDED_TILES",
                            "SLICES",
                            "TRANSFORMS SSD",
                            "TRANSFORMS ZNCC",
                            "BANDS SSD",
                            "BANDS SSD weighted",
                            "BANDS ZNCC",
                            "BANDS ZNCC weighted",
                            "FUSED_BANDS SSD",
                            "FUSED_BANDS SSD weighted",
                            "FUSED_BANDS ZNCC",
                            "FUSED_BANDS ZNCC weighted",
                            "FUSED_DEEP_BANDS SSD",
                            "FUSED_DEEP_BANDS SSD weighted",
                            "FUSED_DEEP_BANDS ZNCC",
                            "FUSED_DEEP_BANDS ZNCC weighted",
                            "DEEP_BANDS"};

inline std::string nameOf(const fm::Route& route, const fm::MatchCase& given)
{
    if (ROUTE_NAMES.count(route.name))
        return route.name;
    return std::string(route.name) + (given.metric == fm::Metric::ZNCC ? " ZNCC" : " SSD") +
           (given.weighted ? " weighted" : "");
}

//! Numbers of plans or cases by route.
typedef std::map<std::string, int64> Counts;

inline void expectMoreThan(int64 least, const Counts& counts, const Routes& routes)
{
    for (const std::string& route : routes)
        EXPECT_GT(counts.count(route) ? counts.at(route) : 0, least) << route;
}

inline std::vector<fm::Part> partsOf(const MatchCall& call)
{
    return fm::chooseRoutes(call.given, call.sizes(), call.searchAreas());
}

//! Returns all routes that match() takes to search something, except the walk.
inline Routes routesOf(const MatchCall& call)
{
    Routes routes;
    for (const fm::Part& part : partsOf(call))
        routes.insert(nameOf(*part.choice.route, call.given));
    return routes;
}

//! A load of fragments of one size in windows of one size.
inline fm::Load loadOf(Extent window, Extent fragment, int count, const Rect4& region, int narrowest = 0)
{
    return {window,
            fragment,
            count,
            narrowest > 0 ? narrowest : fragment.width,
            static_cast<int64_t>(fragment.width) * fragment.height,
            region,
            {{fragment, window, count}}};
}

// --- what kernels need -----------------------------------------------------------------------------------------------

//! The lanes of both routes of one block per fragment.
inline const char* wrongWithLanes(const gpu::LanePlan& plan, Extent fragment, Extent window)
{
    const int lanes = gpu::FUSED_BAND_ROWS;
    const int areaWidth = window.width + fragment.width - 1, areaHeight = window.height + fragment.height - 1;
    CT_HOLDS(areaWidth <= plan.areaWidth && areaHeight <= plan.areaHeight); // or the image is not fetched
    // Every position has a lane: a warp has 16 / blocks groups of FUSED_BAND_ROWS rows.
    const int blocks = ceilDiv(window.width, 8), chunks = ceilDiv(fragment.width + 7, 32);
    CT_HOLDS(blocks <= 16 && plan.warps * (16 / blocks) * lanes >= window.height);
    CT_HOLDS(ceilDiv(areaWidth, 4) <= plan.pitch && plan.pitch % 4 == 0 && areaHeight * plan.pitch <= plan.planeWords);
    // Lanes also read rows and columns behind the window's, which count nothing.
    const int lastRow = (window.height - 1) / lanes * lanes + ceilDiv(fragment.height, lanes) * lanes + lanes - 2;
    CT_HOLDS(lastRow * plan.pitch + 2 * (blocks - 1) + 8 * (chunks - 1) + 7 < plan.planeWords);
    return nullptr;
}

//! matchFusedBands(), one fragment. @param words of dynamic shared memory behind the scratch.
inline const char* wrongWith(const gpu::FusedBands& plan, const fm::MatchCase& given, Extent fragment, Extent window,
                             int words)
{
    const int channels = given.frame.channels, stride = given.frame.pixelStride;
    const int areaWidth = window.width + fragment.width - 1, areaHeight = window.height + fragment.height - 1;
    const int blocks = ceilDiv(window.width, 8), chunks = ceilDiv(fragment.width + 7, 32);
    if (const char* wrong = wrongWithLanes(plan, fragment, window))
        return wrong;
    CT_HOLDS(plan.warps <= tuning::FUSED_BAND_WARPS);
    // Raw rows, in units of 16 bytes from the one that holds the first byte; makePlanes() reads a word more.
    CT_HOLDS(ceilDiv(15 + areaWidth * stride, 16) * 4 <= plan.stage.rawPitch);
    CT_HOLDS((areaHeight - 1) * plan.stage.rawPitch + 3 + stride * ceilDiv(areaWidth, 4) < plan.rawWords);
    CT_HOLDS(gpu::bandPlanes(channels, given.weighted) * fragment.height * (8 * chunks + 8) <= plan.templateWords);
    CT_HOLDS(areaHeight * plan.pitch <= plan.squareWords);
    const int squares = channels == 1 ? 2 : 3;
    CT_HOLDS(plan.templatesAt() >= plan.rawWords && plan.squaresAt() >= plan.templatesAt() + plan.templateWords);
    CT_HOLDS(plan.planesAt >= plan.squaresAt() + squares * plan.squareWords);
    CT_HOLDS(plan.planesAt + channels * plan.planeWords <= words);
    if (!given.weighted)
        CT_HOLDS(areaHeight * 8 * blocks <= plan.rawWords); // lines take the place of the raw image
    // n and v of all threads of the block, then the map of values, in the place of what has been read: without weights,
    // channels are still read.
    const int threads = 32 * plan.warps, wide = fm::wideValues(given.metric, given.weighted, false) ? 2 : 1;
    const int parts = given.metric == fm::Metric::ZNCC ? (given.weighted ? 16 * 4 : 16 * 3) * threads : 0;
    CT_HOLDS(given.weighted || parts <= plan.planesAt);
    CT_HOLDS(parts <= plan.mapAt());
    CT_HOLDS(plan.mapAt() + window.width * window.height * wide <= words);
    return nullptr;
}

//! matchFusedDeepBands(), one fragment. @param words of dynamic shared memory behind the scratch.
inline const char* wrongWith(const gpu::FusedDeepBands& plan, const fm::MatchCase& given, Extent fragment,
                             Extent window, int words)
{
    const int channels = given.frame.channels;
    const bool zncc = given.metric == fm::Metric::ZNCC;
    const int planes = gpu::deepImagePlanes(channels, given.weighted);
    const int areaWidth = window.width + fragment.width - 1, areaHeight = window.height + fragment.height - 1;
    const int chunks = ceilDiv(fragment.width + 7, 32);
    CT_HOLDS(given.frame.deep() && fragment.height >= gpu::FUSED_BAND_ROWS);
    if (const char* wrong = wrongWithLanes(plan, fragment, window))
        return wrong;
    CT_HOLDS(plan.warps > 0 && plan.warps <= tuning::FUSED_DEEP_WARPS);
    CT_HOLDS(planes * plan.planeWords <= plan.templatesAt && plan.templatesAt % 4 == 0); // copies of 16 bytes
    const int bandWords = gpu::deepBandPlanes(channels, given.weighted) * fragment.height * (8 * chunks + 8);
    CT_HOLDS(plan.templatesAt + bandWords <= plan.sumsAt && plan.sumsAt % 2 == 0);
    const int positions = window.width * window.height;
    CT_HOLDS(positions <= plan.mapElements && 2 * positions <= plan.sumsAt);
    const int sums = 1 + (zncc ? channels : 0); // of the image
    if (given.weighted)                         // a map for each
    {
        CT_HOLDS(plan.sumsAt + 2 * sums * plan.mapElements <= words);
        return nullptr;
    }
    CT_HOLDS(areaWidth < plan.tablePitch && (areaHeight + 1) * plan.tablePitch <= plan.tableElements);
    CT_HOLDS(plan.sumsAt + (1 + sums) * plan.tableElements <= words);
    return nullptr;
}

//! matchFused(), one fragment.
inline const char* wrongWith(const gpu::FusedPlan& plan, const fm::MatchCase& given, Extent fragment, Extent window,
                             int words)
{
    const int stride = given.frame.pixelStride;
    const bool split = fm::isSplit(given.metric, given.weighted);
    const int areaWidth = window.width + fragment.width - 1, areaHeight = window.height + fragment.height - 1;
    CT_HOLDS(areaWidth <= plan.areaWidth && areaHeight <= plan.areaHeight);
    CT_HOLDS(plan.positions == 5 || plan.positions == 9 || plan.positions == 13);
    CT_HOLDS(window.width <= 4 * plan.positions);
    CT_HOLDS(plan.slots >= 4 && plan.slots <= 32 && plan.threads / 32 * plan.slots >= 4 * window.height);
    CT_HOLDS(plan.threads <=
             (fm::hasMoments(given.metric, given.weighted) ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS));
    CT_HOLDS(ceilDiv(3 + areaWidth * stride, 4) <= plan.stage.rawPitch);
    CT_HOLDS(areaHeight * plan.stage.rawPitch <= plan.stage.rawWords);
    const int planes = given.frame.channels * (split ? 2 : 1) + 1;
    CT_HOLDS(planes * fragment.height * ceilDiv(fragment.width, 16) * 4 <= plan.templateWords);
    CT_HOLDS(4 * plan.stage.units >= plan.positions - 1 + ceilDiv(fragment.width, 4));
    CT_HOLDS(areaHeight * 16 * plan.stage.units <= plan.stage.expandedWords);
    CT_HOLDS(plan.templatesAt() >= plan.stage.rawWords && plan.expandedAt() >= plan.templatesAt() + plan.templateWords);
    CT_HOLDS(plan.expandedAt() + (split ? 3 : 1) * plan.stage.expandedWords <= words);
    CT_HOLDS(window.width * window.height * (fm::wideValues(given.metric, given.weighted, false) ? 2 : 1) <= words);
    CT_HOLDS(plan.stage.fetchThreads * plan.stage.fetchStep <= plan.threads && plan.stage.fetchStep > 0);
    return nullptr;
}

//! matchTiles()
inline const char* wrongWithTiles(const gpu::TilePlan& plan, const gpu::Windows& windows, const fm::MatchCase& given,
                                  Extent fragment, Extent window, int count)
{
    const bool split = fm::isSplit(given.metric, given.weighted);
    const int words = static_cast<int>(plan.sharedBytes / 4);
    CT_HOLDS(plan.sharedBytes <= given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES));
    CT_HOLDS(windows.cols == window.width && windows.rows == window.height);
    CT_HOLDS(windows.tilesX * tuning::TILE_COLS >= windows.cols && windows.tilesY * tuning::TILE_ROWS >= windows.rows);
    CT_HOLDS(plan.chunkCols > 0 && plan.chunkRows > 0);
    CT_HOLDS(plan.chunkCols % 16 == 0 ||
             plan.chunkCols == fragment.width); // later chunks begin at whole groups of words
    CT_HOLDS(static_cast<int64_t>(plan.chunkCols) * plan.chunkRows <= tuning::TILE_CHUNK_PIXELS);
    const int imageRows = tuning::TILE_ROWS + plan.chunkRows - 1, imageCols = tuning::TILE_COLS + plan.chunkCols - 1;
    CT_HOLDS(plan.chunkRows * ceilDiv(plan.chunkCols, 16) * 4 * ((split ? 2 : 1) + 1) <= plan.templateWords);
    CT_HOLDS(ceilDiv(3 + imageCols * given.frame.pixelStride, 4) <= plan.stage.rawPitch);
    CT_HOLDS(imageRows * plan.stage.rawPitch <= plan.stage.rawWords);
    CT_HOLDS(imageRows * 16 * plan.stage.units <= plan.stage.expandedWords);
    CT_HOLDS(plan.rawAt() >= plan.templateWords && plan.expandedAt() >= plan.rawAt() + plan.stage.rawWords);
    CT_HOLDS(plan.expandedAt() + (split ? 3 : 1) * plan.stage.expandedWords <= words);
    if (!split) // two parts are added up there: of moments three sums per position
        CT_HOLDS(plan.expandedAt() + 3 * gpu::TILE_POSITIONS * tuning::TILE_POSITION_THREADS <= words);
    CT_HOLDS(static_cast<int64_t>(windows.tilesX) * windows.tilesY * count <= MOST_BLOCKS);
    return nullptr;
}

//! eliminate()
inline const char* wrongWith(const gpu::BoundPlan& plan, const gpu::Windows& windows, const fm::MatchCase& given,
                             Extent fragment, int count)
{
    const int channels = given.frame.channels, B = gpu::BOUND_BLOCK;
    CT_HOLDS(given.metric == fm::Metric::SAD && given.fullSearch);
    // Bounds of fragments with few blocks along a side would eliminate too little.
    CT_HOLDS(std::min(fragment.width, fragment.height) >= tuning::BOUND_MIN_SIDE);
    CT_HOLDS(plan.pitch % (4 * B) == 0 && plan.pitch >= plan.region.width);
    CT_HOLDS(plan.planeBytes >= static_cast<size_t>(plan.pitch) * plan.region.height);
    // A thread reads a word and two more behind those of its fragment, which begins in the region.
    const int words = ceilDiv(fragment.width / B, 4);
    const int64_t last = static_cast<int64_t>(plan.region.width - fragment.width) / (4 * B) + words + 2;
    CT_HOLDS(4 * B * (last + 1) <= plan.pitch + 256 && plan.imageBytes >= channels * plan.planeBytes + 256);
    CT_HOLDS(plan.wordsEach >= static_cast<size_t>(channels + 1) * words * (fragment.height / B));
    CT_HOLDS(ceilDiv(plan.region.height, gpu::BOUND_ROWS) <= MOST_BLOCKS_DEEP);
    CT_HOLDS(count <= MOST_BLOCKS_DEEP);
    CT_HOLDS(static_cast<int64_t>(windows.tilesX) * ceilDiv(windows.tilesY, 2) <= MOST_BLOCKS);
    return nullptr;
}

//! matchSlices()
inline const char* wrongWith(const gpu::SlicePlan& plan, const fm::MatchCase& given, Extent fragment, Extent window,
                             int count)
{
    const bool split = fm::isSplit(given.metric, given.weighted),
               moments = fm::hasMoments(given.metric, given.weighted);
    const int channels = given.frame.channels, words = static_cast<int>(plan.sharedBytes / 4);
    CT_HOLDS(plan.sharedBytes <= given.shared.dynamicBytes(tuning::SLICE_STATIC_BYTES));
    CT_HOLDS(plan.cols == window.width && plan.rows == window.height);
    // Every position belongs to one thread: groups begin 32 columns apart, and rows end with the last tile.
    CT_HOLDS(plan.positions == 5 || plan.positions == 9);
    CT_HOLDS(plan.groups > 0 && (plan.groups - 1) * 32 + 4 * plan.positions >= window.width);
    CT_HOLDS(plan.groups == 1 || plan.positions >= 8);
    CT_HOLDS(plan.tiles > 0 && plan.tileRows > 0 && plan.tiles * plan.tileRows >= window.height);
    CT_HOLDS(plan.parts > 0 && 4 * plan.groups * plan.tileRows * plan.parts <= tuning::SLICE_THREADS);
    CT_HOLDS(plan.sliceRows > 0 && plan.slices * plan.sliceRows >= fragment.height);
    CT_HOLDS(plan.channelBlocks == 1 || plan.channelBlocks == channels);
    // Shared memory: template, raw image, expanded image, sums of all items.
    const int imageRows = plan.tileRows + plan.sliceRows - 1, areaWidth = window.width + fragment.width - 1;
    CT_HOLDS(areaWidth <= plan.areaWidth);
    CT_HOLDS(plan.sliceRows * ceilDiv(fragment.width, 16) * 4 * ((split ? 2 : 1) + 1) <= plan.templateWords);
    CT_HOLDS(plan.rawAt() >= plan.templateWords && plan.rawAt() % 4 == 0);
    CT_HOLDS(ceilDiv(3 + areaWidth * given.frame.pixelStride, 4) <= plan.stage.rawPitch);
    CT_HOLDS(imageRows * plan.stage.rawPitch <= plan.stage.rawWords);
    CT_HOLDS(plan.expandedAt() >= plan.rawAt() + plan.stage.rawWords && plan.expandedAt() % 4 == 0);
    CT_HOLDS(plan.stage.units % 2 == 1);
    CT_HOLDS(4 * plan.stage.units >= (plan.groups - 1) * 8 + plan.positions - 1 + ceilDiv(fragment.width, 4));
    CT_HOLDS(imageRows * 16 * plan.stage.units <= plan.stage.expandedWords);
    const int kinds = !moments ? 1 : (given.metric == fm::Metric::ZNCC ? 3 : 2) + (split ? 2 : 0);
    CT_HOLDS(plan.expandedAt() + (split ? 3 : 1) * plan.stage.expandedWords +
                 kinds * plan.positions * 4 * plan.groups * plan.tileRows <=
             words);
    CT_HOLDS(window.width * window.height * (fm::wideValues(given.metric, given.weighted, false) ? 2 : 1) <= words);
    // Device memory, read 16 bytes at a time.
    CT_HOLDS(plan.planeWords % 4 == 0 && plan.planeWords >= window.width * window.height);
    CT_HOLDS(plan.sumsEach >= static_cast<size_t>(plan.planeWords) * kinds * (moments ? channels : 1));
    CT_HOLDS(static_cast<int64_t>(plan.blocks()) * count <= MOST_BLOCKS);
    return nullptr;
}

//! prepare and values, for matrix instructions and transforms.
inline const char* wrongWithSums(const gpu::BandPlan& plan, const gpu::Windows& windows, const fm::MatchCase& given,
                                 Extent fragment, Extent window, int count)
{
    CT_HOLDS(plan.region.x >= 0 && plan.region.y >= 0 && plan.pitch >= plan.region.width && plan.pitch % 16 == 0);
    CT_HOLDS(plan.sumsPitch % gpu::BAND_COLS == 0 && plan.sumsPitch >= window.width + 15 &&
             plan.sumsRows == window.height);
    CT_HOLDS(plan.sumsEach >= static_cast<size_t>(plan.sumsPitch) * plan.sumsRows * (given.weighted ? 2 : 1));
    // values: lines of sums, one more than there are columns.
    const size_t position =
        given.weighted ? 0 : (plan.wide ? 8 : 4) + (given.metric == fm::Metric::ZNCC ? 4 * given.frame.channels : 0);
    CT_HOLDS(plan.valueSharedBytes <= given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES));
    CT_HOLDS(plan.slabRows > 0 && plan.slabRows <= tuning::TILE_ROWS);
    CT_HOLDS(plan.slabPitch >= gpu::BAND_COLS + fragment.width);
    CT_HOLDS(plan.slabRows * plan.slabPitch * position <= plan.valueSharedBytes);
    CT_HOLDS(static_cast<int64_t>(ceilDiv(windows.cols, gpu::BAND_COLS)) * windows.tilesY * count <= MOST_BLOCKS);
    // prepare
    const int64_t pixels = static_cast<int64_t>(plan.pitch / 4) * plan.region.height;
    CT_HOLDS(ceilDiv<int64_t>(pixels, tuning::BAND_PREPARE_THREADS) +
                 static_cast<int64_t>(plan.bandsEach / 1024 + 1) * count <=
             MOST_BLOCKS);
    return nullptr;
}

//! matchDeepBands()
inline const char* wrongWith(const gpu::DeepPlan& plan, const gpu::Windows& windows, const fm::MatchCase& given,
                             Extent fragment, Extent window, int count)
{
    const gpu::BandPlan& bands = plan.bands;
    const int channels = given.frame.channels, rows = bands.units * gpu::BAND_ROWS;
    const bool zncc = given.metric == fm::Metric::ZNCC;
    CT_HOLDS(given.metric != fm::Metric::SAD && (given.frame.deep() || zncc));
    CT_HOLDS(windows.wide == !zncc);
    CT_HOLDS(bands.pitch >= bands.region.width && bands.pitch % 16 == 0);
    CT_HOLDS(bands.planeBytes == static_cast<size_t>(bands.pitch) * bands.region.height);
    // correlate: a piece of the image, then a piece of the bands; parts are added up in their place.
    CT_HOLDS(bands.group >= 2 && bands.group <= 5 && bands.chunks % bands.group == 0);
    CT_HOLDS(plan.pieceChunks > 0 && plan.pieceChunks <= bands.chunks && plan.pieceChunks % bands.group == 0);
    CT_HOLDS(16 * bands.chunks >= fragment.width + 7 && bands.bandRows >= fragment.height);
    CT_HOLDS(bands.sharedBytes <= given.shared.dynamicBytes(sizeof(gpu::OpenEntry)));
    CT_HOLDS(bands.units * bands.parts == tuning::BAND_THREADS / 32);
    CT_HOLDS(bands.chunkRows > 0 && bands.chunkRows % gpu::BAND_ROWS == 0);
    CT_HOLDS((rows + bands.chunkRows - 1) * (gpu::BAND_COLS / 4 + 4 * plan.pieceChunks) <= bands.bandsOffset);
    CT_HOLDS(4 * (static_cast<size_t>(bands.bandsOffset) + bands.chunkRows * plan.pieceChunks * 32) <=
             bands.sharedBytes);
    CT_HOLDS(4 * static_cast<size_t>(bands.parts - 1) * rows * gpu::BAND_COLS <= bands.sharedBytes);
    CT_HOLDS(static_cast<int64_t>(bands.sumsPitch / gpu::BAND_COLS) * ceilDiv(bands.sumsRows, rows) * count <=
             MOST_BLOCKS);
    const int planes = given.weighted ? 3 * channels + 1 : 2 * channels;
    CT_HOLDS(bands.bandsEach == static_cast<size_t>(planes) * bands.bandRows * bands.chunks * 32);
    CT_HOLDS(bands.bandsEach <= 0x7fffffff); // prepare counts them in int
    // Sums, and lines of box sums with one element more than there are columns, 16 bytes at a time.
    const int sums = given.weighted ? 2 + (zncc ? channels : 0) : 1;
    const int boxes = given.weighted ? 0 : 1 + (zncc ? channels : 0);
    CT_HOLDS(bands.sumsPitch % gpu::BAND_COLS == 0 && bands.sumsPitch >= window.width + 15);
    CT_HOLDS(bands.sumsRows == window.height);
    CT_HOLDS(bands.sumsEach >= static_cast<size_t>(bands.sumsPitch) * bands.sumsRows * sums);
    CT_HOLDS(plan.linesPitch % 4 == 0 && plan.linesPitch >= 15 + window.width + fragment.width);
    CT_HOLDS(plan.linesEach >= static_cast<size_t>(plan.linesPitch) * bands.sumsRows * boxes);
    CT_HOLDS(plan.bestsBytes <= given.shared.dynamicBytes(tuning::TILE_STATIC_BYTES));
    CT_HOLDS(static_cast<int64_t>(windows.tiles()) * count <= MOST_BLOCKS);
    CT_HOLDS(static_cast<int64_t>(plan.linesPitch) * bands.sumsRows * count <= MOST_BLOCKS * int64_t(64));
    return nullptr;
}

//! Checks a plan of the three kernels for large windows: prepare, correlate, values. Returns what is wrong, or null.
inline const char* wrongWith(const gpu::BandPlan& plan, const gpu::Windows& windows, const fm::MatchCase& given,
                             Extent fragment, Extent window, int count)
{
    CT_HOLDS(plan.group >= 2 && plan.group <= 5 && plan.chunks % plan.group == 0);
    CT_HOLDS(16 * plan.chunks >= fragment.width + 7 && plan.bandRows >= fragment.height);
    // correlate: image, then bands; parts are added up in their place.
    const int rows = plan.units * gpu::BAND_ROWS, pitch = gpu::BAND_COLS / 4 + 4 * plan.chunks;
    CT_HOLDS(plan.sharedBytes <= given.shared.dynamicBytes(sizeof(gpu::OpenEntry)));
    CT_HOLDS(plan.units * plan.parts == tuning::BAND_THREADS / 32);
    CT_HOLDS(plan.chunkRows > 0 && plan.chunkRows % gpu::BAND_ROWS == 0);
    CT_HOLDS((rows + plan.chunkRows - 1) * pitch <= plan.bandsOffset);
    CT_HOLDS(4 * (static_cast<size_t>(plan.bandsOffset) + plan.chunkRows * plan.chunks * 32) <= plan.sharedBytes);
    CT_HOLDS(4 * static_cast<size_t>(plan.parts - 1) * rows * gpu::BAND_COLS <= plan.sharedBytes);
    CT_HOLDS(static_cast<int64_t>(plan.sumsPitch / gpu::BAND_COLS) * ceilDiv(plan.sumsRows, rows) * count <=
             MOST_BLOCKS);
    return wrongWithSums(plan, windows, given, fragment, window, count);
}

//! matchTransforms()
inline const char* wrongWith(const fm::TransformPlans& plans, const gpu::Windows& windows, const fm::MatchCase& given,
                             Extent fragment, Extent window, int count)
{
    const gpu::TransformPlan& plan = plans.transforms;
    const gpu::BandPlan& bands = plans.bands;
    const Rect4& region = bands.region;
    const int64_t channels = given.frame.channels;
    CT_HOLDS(given.metric != fm::Metric::SAD && !given.weighted && given.fastDoubles);
    // Positions of both halves see no value twice, and the last position is in the second half.
    CT_HOLDS(plan.half + fragment.width - 1 <= plan.cols && region.height <= plan.rows);
    CT_HOLDS(2 * plan.half >= window.width && plan.half <= region.width && fragment.height <= plan.fragmentRows);
    CT_HOLDS(plan.cols % gpu::TRANSFORM_COLS == 0);
    bool rows = false;
    const bool cols = gpu::forRow(plan.cols, [&](auto row) { rows = plan.rowFactors == row.FACTORS; });
    CT_HOLDS(cols && rows);
    size_t values = 0;
    int factors = 0;
    gpu::forColumn(plan.rows, [&](auto column) { values = column.VALUES, factors = column.FACTORS; });
    CT_HOLDS(values > 0 && plan.factors == plan.rowFactors + factors);
    const size_t staged = plan.staged ? region.height + plan.fragmentRows : 0;
    CT_HOLDS(gpu::TRANSFORM_COLS * (2 * values + staged) * 16 <= plan.columnSharedBytes);
    CT_HOLDS(plan.columnSharedBytes <= given.shared.dynamicBytes(0));
    CT_HOLDS(plan.imageValues >= static_cast<size_t>(channels) * region.height * plan.cols);
    CT_HOLDS(plan.templatesEach >= static_cast<size_t>(channels) * fragment.height * plan.cols);
    CT_HOLDS(plan.productsEach >= static_cast<size_t>(plan.rows) * plan.cols);
    CT_HOLDS(bands.columnsEach >=
             static_cast<size_t>(bands.pitch) * bands.sumsRows * (given.metric == fm::Metric::ZNCC ? 1 + channels : 1));
    CT_HOLDS(static_cast<int64_t>(bands.pitch) * bands.sumsRows * 3 <= MOST_BLOCKS); // indices of sums of columns
    CT_HOLDS(16 * plan.imageValues <= tuning::TILE_VALUES_BUDGET);
    CT_HOLDS((region.height + static_cast<int64_t>(plan.fragmentRows) * count) * channels <= MOST_BLOCKS);
    CT_HOLDS(static_cast<int64_t>(plan.cols) * count <= MOST_BLOCKS);
    CT_HOLDS(static_cast<int64_t>(bands.sumsRows) * count <= MOST_BLOCKS);
    // The bound of transforms/rows.cu.
    const double points = static_cast<double>(plan.cols) * plan.rows;
    const double error = 24 * std::pow(2., -53) * std::log2(points) * std::sqrt(2 * points) * 255 * 255 *
                         std::sqrt(static_cast<double>(fragment.width) * fragment.height) * channels;
    CT_HOLDS(error < 0.25);
    return wrongWithSums(bands, windows, given, fragment, window, count);
}

//! Checks what a route plans for a load, except for sums. Returns what is wrong, or null.
inline const char* wrongWithRoute(const fm::Choice& choice, const fm::MatchCase& given, const fm::Load& load)
{
    const std::string route = choice.route->name;
    const int batch = fm::entriesOf(*choice.plan, load.count);
    CT_HOLDS(batch > 0 && batch <= load.count);
    if (route == "FUSED" || route == "FUSED_BANDS" || route == "FUSED_DEEP_BANDS")
    {
        const gpu::FusedPlan bytes = fm::planFused(given, load).value_or(gpu::FusedPlan());
        const gpu::FusedBands bands = fm::planFusedBands(given, load).value_or(gpu::FusedBands());
        const gpu::FusedDeepBands deep = fm::planFusedDeepBands(given, load).value_or(gpu::FusedDeepBands());
        const bool isBands = route == "FUSED_BANDS", isDeep = route == "FUSED_DEEP_BANDS";
        const size_t shared = isDeep ? deep.sharedBytes : isBands ? bands.sharedBytes : bytes.sharedBytes;
        CT_HOLDS(!isBands || bands.warps > 0);
        CT_HOLDS(shared > gpu::ONE_BLOCK_SCRATCH_BYTES);
        CT_HOLDS(shared <= given.shared.dynamicBytes(gpu::ONE_BLOCK_STATIC_BYTES));
        const int words = static_cast<int>((shared - gpu::ONE_BLOCK_SCRATCH_BYTES) / 4);
        for (const fm::SizeGroup& group : load.groups)
        {
            if (group.window.empty())
                continue;
            const char* const wrong = isDeep    ? wrongWith(deep, given, group.fragment, group.window, words)
                                      : isBands ? wrongWith(bands, given, group.fragment, group.window, words)
                                                : wrongWith(bytes, given, group.fragment, group.window, words);
            if (wrong)
                return wrong;
        }
        return nullptr;
    }
    CT_HOLDS(batch <= MOST_BLOCKS_DEEP);
    if (route == "SLICES")
        return wrongWith(*fm::planSlices(given, load), given, load.fragment, load.window, batch);
    const gpu::Windows& windows = *choice.plan->windows();
    if (route == "BOUNDED_TILES")
        if (const char* const wrong = wrongWith(*fm::planBounds(given, load), windows, given, load.fragment, batch))
            return wrong;
    if (route == "TILES" || route == "BOUNDED_TILES")
        return wrongWithTiles(fm::planTiles(given, load), windows, given, load.fragment, load.window, batch);
    if (route == "BANDS")
        return wrongWith(*fm::planBands(given, load), windows, given, load.fragment, load.window, batch);
    if (route == "TRANSFORMS")
        return wrongWith(*fm::planTransforms(given, load), windows, given, load.fragment, load.window, batch);
    if (route == "DEEP_BANDS")
        return wrongWith(fm::planDeepBands(given, load), windows, given, load.fragment, load.window, batch);
    return "a route without a check of its plan";
}

//! wrongWithRoute(), and sums of every size of the load.
inline const char* wrongWith(const fm::Choice& choice, const fm::MatchCase& given, const fm::Load& load)
{
    for (const fm::SizeGroup& group : load.groups)
        if (group.count > 0 && !group.window.empty())
            if (const char* const wrong = sumsBeyond(choice.route->name, given, load, group.fragment))
                return wrong;
    return wrongWithRoute(choice, given, load);
}

//! match()
inline const char* wrongWith(const std::vector<fm::Part>& parts, const MatchCall& call)
{
    std::vector<int> all;
    for (const fm::Part& part : parts)
    {
        all.insert(all.end(), part.fragments.begin(), part.fragments.end());
        CT_HOLDS(part.choice.route && part.choice.plan);
        CT_HOLDS(part.load.count == static_cast<int>(part.fragments.size()));
        for (const int i : part.fragments)
        {
            const Extent window = call.windowOf(i), fragment = call.fragments[i];
            CT_HOLDS(window.width <= part.load.window.width && window.height <= part.load.window.height);
            CT_HOLDS(fragment.width <= part.load.fragment.width && fragment.height <= part.load.fragment.height);
            CT_HOLDS(fragment.width >= part.load.narrowest);
        }
    }
    std::sort(all.begin(), all.end());
    CT_HOLDS(all.size() == call.fragments.size());
    for (size_t i = 0; i < all.size(); ++i)
        CT_HOLDS(all[i] == static_cast<int>(i)); // each takes one route
    for (const fm::Part& part : parts)
        if (const char* const wrong = wrongWith(part.choice, call.given, part.load))
            return wrong;
    return nullptr;
}

}} // namespace opencv_test::plans

#endif // CUDATRACKING_HAS_PLANS
#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_PLANS_HPP
