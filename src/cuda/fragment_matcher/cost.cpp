// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Estimates of the time of each route, and the choice among them.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "cost.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ceilDiv;
using gpu::Route;

namespace {

//! Parts of the time of a route, in thousands of clocks or of what is named, each with a factor of CostFactors.
struct CostTerms
{
    double chain;      //!< clocks of the longest chain of instructions, or of all on one multiprocessor if that is more
    double stages;     //!< units of the image that one multiprocessor copies and converts
    double ends;       //!< work that one multiprocessor does once per fragment, such as values and peaks
    double copies = 0; //!< words that one thread copies before it computes, in all rounds of blocks of a multiprocessor
    double sums = 0;   //!< sums in device memory per multiprocessor
};

//! Returns the instructions for four bytes of one position and channel.
double byteInstructions(const MatchCase& given)
{
    if (hasMoments(given.metric, given.weighted))
        return (isCorrelation(given.metric) ? 3 : 2) + (given.weighted ? 2 : 0);
    return given.metric == Metric::SAD && !given.weighted ? 1 : 2;
}

//! Returns the blocks of the multiprocessor that has most of them.
double busiest(double blocks, const MatchCase& given) { return std::ceil(blocks / given.multiprocessors); }

/** Returns the rounds in which a multiprocessor runs its blocks, as far as shared memory and registers allow.
@param blocks of the multiprocessor. @param most blocks for which it has registers. */
double roundsOf(double blocks, int most, size_t sharedBytes, const MatchCase& given)
{
    const double reserved = 1024; // bytes that the system takes per block
    const double fit = std::floor(given.shared.dynamicBytes(0) / (sharedBytes + reserved));
    return std::ceil(blocks / std::clamp<double>(fit, 1, most));
}

/** Returns the clocks, in thousands, of byte sums: each of a multiprocessor's four schedulers begins one such instruction in two clocks.
@param perWarp instructions of a warp.
@param warps warps per block. */
double byteClocks(double perWarp, double warps, double blocks)
{
    return 1e-3 * std::max(2 * perWarp * std::ceil(warps / 4), 0.5 * perWarp * warps * blocks);
}

double wordsOf(const Load& load) { return ceilDiv(load.fragment.width, 4); }

CostTerms termsOfBands(const gpu::TilePlan& tiles, const MatchCase& given, const Load& load)
{
    const gpu::BandPlan& plan = tiles.bands;
    const double planes = gpu::bandPlanes(given.frame.channels, given.weighted) * (given.weighted ? 1.5 : 1.);
    const double tilesX = plan.sumsPitch / gpu::BAND_COLS, height = load.window.height;
    const double blocks = load.count * tilesX * std::ceil(height / (plan.units * gpu::BAND_ROWS));
    const double perWarp = planes * plan.bandRows / plan.parts * plan.chunks * gpu::BAND_ROWS;
    const double warps = tuning::BAND_THREADS / 32;
    const int BLOCKS = 2; // of correlate, per multiprocessor
    const double rounds = roundsOf(busiest(blocks, given), BLOCKS, plan.sharedBytes, given);
    const double copied = planes * ceilDiv(plan.bandRows, plan.chunkRows) * plan.sharedBytes / sizeof(uint32_t);
    return {1e-3 * std::max(4 * perWarp, 0.75 * perWarp * warps * busiest(blocks, given)),
            1e-3 * plan.bandsEach * load.count / given.multiprocessors,
            1e-3 * load.count * tilesX * gpu::BAND_COLS * height / given.multiprocessors,
            1e-3 * rounds * copied / tuning::BAND_THREADS};
}

CostTerms termsOfBandTiles(const gpu::TilePlan& tiles, const MatchCase& given, const Load& load)
{
    const gpu::BandTiles& plan = tiles.bands.tiles;
    const double chunks = gpu::bandChunks(load.fragment.width);
    const double perWarp = given.frame.channels * (load.fragment.height / plan.parts + 8.) * chunks * gpu::BAND_ROWS;
    return {1e-3 * perWarp * plan.units * plan.parts, 1e-3 * given.frame.channels * plan.imageRows * plan.pitch,
            1e-3 * plan.units * gpu::BAND_ROWS * gpu::BAND_COLS};
}

CostTerms termsOfTransforms(const gpu::TilePlan& tiles, const MatchCase& given, const Load& load)
{
    const gpu::TransformPlan& plan = tiles.transforms;
    const double blocks = busiest(static_cast<double>(load.count) * plan.cols / gpu::TRANSFORM_COLS, given);
    const double perBlock =
        (2. * given.frame.channels + 1) * plan.rows * gpu::TRANSFORM_COLS; // values of all transforms
    const double rows = static_cast<double>(plan.imageValues) + load.count * (plan.templatesEach + plan.productsEach);
    return {1e-3 * perBlock * blocks, 1e-3 * rows / given.multiprocessors,
            1e-3 * load.count * tiles.bands.sumsPitch * load.window.height / given.multiprocessors};
}

CostTerms termsOfSlices(const gpu::SlicePlan& plan, const MatchCase& given, const Load& load)
{
    const double channels = given.frame.channels / plan.channelBlocks;
    const double blocks = busiest(static_cast<double>(load.count) * plan.blocks(), given);
    const double perWarp =
        channels * ceilDiv(plan.sliceRows, plan.parts) * wordsOf(load) * plan.positions * byteInstructions(given);
    const double warps = ceilDiv(plan.items() * plan.parts, 32);
    const double units = (plan.tileRows + plan.sliceRows - 1.) * plan.stage.units *
                         expandedPlanes(isSplit(given.metric, given.weighted));
    const double copied = (plan.tileRows + plan.sliceRows - 1.) * plan.stage.rawPitch / tuning::SLICE_THREADS;
    const double sums = gpu::sumsPerPosition(given.metric, given.weighted) *
                        gpu::sumChannels(given.metric, given.weighted, given.frame.channels);
    return {byteClocks(perWarp, warps, blocks), 1e-3 * blocks * (channels * units + 2000.),
            1e-3 * std::ceil(static_cast<double>(load.count) / given.multiprocessors) * sums * load.window.width *
                load.window.height,
            1e-3 * roundsOf(blocks, tuning::SLICE_BLOCKS, plan.sharedBytes, given) * copied,
            1e-3 * load.count * sums * load.window.width * load.window.height / given.multiprocessors};
}

CostTerms termsOfFused(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load)
{
    const double blocks = busiest(load.count, given), channels = given.frame.channels;
    if (plan.route == Route::FUSED)
    {
        const double perWarp = channels * std::ceil(load.fragment.height * plan.slots / 32.) * wordsOf(load) *
                               plan.positions * byteInstructions(given);
        const double units =
            channels * plan.areaHeight * plan.stage.units * expandedPlanes(isSplit(given.metric, given.weighted));
        const int most =
            hasMoments(given.metric, given.weighted)
                ? tuning::FUSED_MOMENTS_BLOCKS * tuning::FUSED_MOMENTS_THREADS
                : (plan.positions > 9 ? tuning::FUSED_WIDE_BLOCKS : tuning::FUSED_BLOCKS) * tuning::FUSED_THREADS;
        const double rounds = roundsOf(blocks, most / plan.threads, plan.sharedBytes, given);
        return {byteClocks(perWarp, plan.threads / 32., blocks), 1e-3 * blocks * units, 1e-3 * blocks * plan.threads,
                1e-3 * rounds * plan.areaHeight * plan.stage.rawPitch / plan.threads};
    }
    const gpu::FusedBands& bands = plan.bands;
    const double planes = gpu::bandPlanes(given.frame.channels, given.weighted) * (given.weighted ? 1.5 : 1.);
    const double perWarp =
        planes * (load.fragment.height + 3.) * gpu::bandChunks(load.fragment.width) * gpu::FUSED_BAND_ROWS;
    // Blocks of a multiprocessor run at the same time as far as shared memory allows.
    const double shares = std::ceil(blocks * (bands.sharedBytes + 1024.) / given.shared.dynamicBytes(0));
    const int most = tuning::FUSED_BAND_BLOCKS * tuning::FUSED_BAND_FEW_WARPS / bands.warps;
    const double rounds = roundsOf(blocks, most, bands.sharedBytes, given);
    return {1e-3 * std::max(perWarp * shares, 0.1 * perWarp * bands.warps * blocks),
            1e-3 * blocks * channels * bands.areaHeight * bands.pitch, 1e-3 * blocks * 32 * bands.warps,
            1e-3 * rounds * bands.areaHeight * bands.pitch / (32. * bands.warps)};
}

CostTerms termsOfTiled(const gpu::TilePlan& plan, const MatchCase& given, const Load& load)
{
    switch (plan.route)
    {
    case Route::SLICES:
        return termsOfSlices(plan.slices, given, load);
    case Route::BANDS:
        return termsOfBands(plan, given, load);
    case Route::BAND_TILES:
        return termsOfBandTiles(plan, given, load);
    case Route::TRANSFORMS:
        return termsOfTransforms(plan, given, load);
    case Route::FUSED:
    case Route::FUSED_BANDS:
    case Route::TILES:
    case Route::BOUNDED_TILES: // as if nothing were eliminated
        break;
    }
    const double blocks = busiest(static_cast<double>(load.count) * plan.tilesX * plan.tilesY, given);
    const int THREADS = tuning::TILE_POSITION_THREADS * tuning::TILE_PARTS;
    const bool split = isSplit(given.metric, given.weighted);
    const double perWarp = given.frame.channels * std::ceil(load.fragment.height / (split ? 1. : 2.)) * wordsOf(load) *
                           gpu::TILE_POSITIONS * byteInstructions(given);
    const double chunks = ceilDiv(load.fragment.height, plan.chunkRows) * ceilDiv(load.fragment.width, plan.chunkCols);
    return {byteClocks(perWarp, split ? 4 : 8, blocks),
            1e-3 * blocks * given.frame.channels * chunks * (tuning::TILE_ROWS - 1. + plan.chunkRows) *
                plan.stage.units * expandedPlanes(split),
            1e-3 * blocks * THREADS,
            1e-3 * roundsOf(blocks, tuning::TILE_BLOCKS, plan.sharedBytes, given) * chunks *
                (tuning::TILE_ROWS - 1. + plan.chunkRows) * plan.stage.rawPitch / THREADS};
}

//! Time of a route: begin + chain * CostTerms::chain and so on, in microseconds.
struct CostFactors
{
    double begin, chain, stages, ends, copies, sums;
};

/** Factors of all routes of a kind of metric: least squares of the relative errors over 1 to 1000 fragments of 16 x 16 to 128 x 128, gray and
BGR, in windows of 9 x 9 to 97 x 97 positions, NVIDIA H200, 2026-11-23, without times above three times that of the quickest route. The root mean
square of the relative errors is 4 to 15 %. Those of transforms also consider one BGR fragment of 128 x 128 and one of 232 x 232 in 1920 x 1080. */
struct RouteFactors
{
    CostFactors fused, fusedBands, tiles, slices, bands, bandTiles, transforms;
};
const RouteFactors SAD_FACTORS = {{4.87, 0.449, 2.32, 0.17, 65, 0},
                                  {},
                                  {6.87, 0.427, 2.70, 3.24, 140, 0},
                                  {4.80, 0.436, 0.78, 1.04, 171, 0.68},
                                  {},
                                  {},
                                  {}};
const RouteFactors SSD_FACTORS = {{4.48, 0.260, 1.83, 0.88, 199, 0},
                                  {4.56, 12.544, 0.11, 10.89, 150, 0},
                                  {6.42, 0.254, 2.52, 3.13, 246, 0},
                                  {5.26, 0.282, 0.60, 1.05, 175, 0.97},
                                  {13.06, 0.624, 0.82, 1.32, 60, 0},
                                  {9.06, 0.942, 0, 0.50, 0, 0},
                                  {14, 0.8, 1.6, 1, 0, 0}};
const RouteFactors ZNCC_FACTORS = {{5.42, 0.219, 6.17, 1.02, 42, 0},
                                   {5.43, 18.775, 0.18, 13.16, 155, 0},
                                   {6.10, 0.244, 5.79, 8.43, 302, 0},
                                   {6.03, 0.342, 0.83, 0.35, 0, 0.86},
                                   {12.80, 0.657, 0.79, 1.93, 62, 0},
                                   {9.68, 0.993, 0.07, 0.83, 0, 0},
                                   {15, 0.8, 1.6, 3, 0, 0}};
//! Weighted SSD and ZNCC, from times of 2026-11-22 and without copies; BAND_TILES and TRANSFORMS have no weights.
const RouteFactors WEIGHTED_FACTORS = {{6.07, 0.26, 6.72, 0, 0, 0},
                                       {9.48, 7.49, 0, 0, 0, 0},
                                       {11.95, 0.58, 0.68, 0, 0, 0},
                                       {10.08, 0.61, 0.34, 0.24, 0, 0},
                                       {46.05, 0.67, 1.66, 6.19, 0, 0},
                                       {},
                                       {}};

const RouteFactors& factorsOf(const MatchCase& given)
{
    if (!isProduct(given.metric))
        return SAD_FACTORS;
    if (given.weighted)
        return WEIGHTED_FACTORS;
    return isCorrelation(given.metric) ? ZNCC_FACTORS : SSD_FACTORS;
}

const CostFactors& factorsOf(Route route, const MatchCase& given)
{
    const RouteFactors& factors = factorsOf(given);
    switch (route)
    {
    case Route::FUSED:
        return factors.fused;
    case Route::FUSED_BANDS:
        return factors.fusedBands;
    case Route::TILES:
    case Route::BOUNDED_TILES: // as if nothing were eliminated
        return factors.tiles;
    case Route::SLICES:
        return factors.slices;
    case Route::BANDS:
        return factors.bands;
    case Route::BAND_TILES:
        return factors.bandTiles;
    case Route::TRANSFORMS:
        return factors.transforms;
    }
    return factors.tiles;
}

double timeOf(const CostTerms& terms, const CostFactors& factors)
{
    return factors.begin + factors.chain * terms.chain + factors.stages * terms.stages + factors.ends * terms.ends +
           factors.copies * terms.copies + factors.sums * terms.sums;
}

} // namespace

double timeOf(const gpu::FusedPlan& plan, const MatchCase& given, const Load& load)
{
    return timeOf(termsOfFused(plan, given, load), factorsOf(plan.route, given));
}

double timeOf(const gpu::TilePlan& plan, const MatchCase& given, const Load& load)
{
    return timeOf(termsOfTiled(plan, given, load), factorsOf(plan.route, given));
}

gpu::TilePlan planScores(const MatchCase& given, const Load& load, int narrowest, const Rect4& region)
{
    const gpu::TilePlan usual = planTiles(given, load.window, load.fragment, region, load.count);
    const auto transforms = planTransforms(given, load.window, load.fragment, narrowest, region);
    return transforms && timeOf(*transforms, given, load) < ROUTE_GAIN * timeOf(usual, given, load) ? *transforms
                                                                                                    : usual;
}

namespace {

//! Gives a plan a route that is estimated to be quicker than those before.
struct RouteChoice
{
    MatchPlan& plan;
    const MatchCase& given;
    const Load& load;
    double least; //!< time that a route must be below

    void consider(const gpu::TilePlan& tiles) { take(tiles, plan.tilePlan, plan.tiled, plan.fused); }
    void consider(const gpu::FusedPlan& whole) { take(whole, plan.fusedPlan, plan.fused, plan.tiled); }
    void considerSlices()
    {
        gpu::TilePlan tiles = {};
        tiles.route = Route::SLICES;
        if (const auto slices = planSlices(given, load.window, load.fragment, load.count))
        {
            tiles.slices = *slices;
            consider(tiles);
        }
    }

private:
    //! Puts a quicker candidate into its place. @param own fragments of such plans. @param other those of the other kind, which become own.
    template <typename Plan>
    void take(const Plan& candidate, Plan& place, std::vector<int>& own, std::vector<int>& other)
    {
        const double time = timeOf(candidate, given, load);
        if (time >= least)
            return;
        least = time;
        place = candidate;
        if (own.empty())
            own.swap(other);
    }
};

} // namespace

void MatchPlan::chooseRoute(const MatchCase& given, const FragmentSizes& sizes, const Load& load, const Rect4& region)
{
    const bool whole = tiled.empty();
    if (load.window.empty())
        return;
    const bool all = whole || fused.empty(); // else `fused` keeps its route
    const double usual = whole ? timeOf(fusedPlan, given, load) : timeOf(tilePlan, given, load);
    RouteChoice choice = {*this, given, load, ROUTE_GAIN * usual};
    if (!whole && tilePlan.route == Route::BOUNDED_TILES)
    {
        // How much is eliminated cannot be estimated, but the tile of the best position of each window remains.
        choice.least /= tilePlan.tilesX * tilePlan.tilesY;
        return choice.considerSlices();
    }
    const bool bands = fusedPlan.route == Route::FUSED_BANDS;
    if (whole && bands && !given.weighted) // times with weights were not compared
    {
        gpu::FusedPlan bytes = fusedPlan;
        bytes.route = Route::FUSED;
        choice.consider(bytes);
    }
    if (whole)
        choice.consider(planTiles(given, load.window, load.fragment, region, load.count));
    choice.consider(planTiles(given, load.window, load.fragment, region, load.count, true));
    int narrowest = load.fragment.width;
    for (const Extent& size : sizes.distinct)
        narrowest = std::min(narrowest, size.width);
    if (const auto transforms = planTransforms(given, load.window, load.fragment, narrowest, region))
        choice.consider(*transforms);
    choice.considerSlices();
    if (!all || bands)
        return;
    if (const auto large = planLargeFusedBands(given, load.window, sizes))
    {
        gpu::FusedPlan largeBands = {};
        largeBands.route = Route::FUSED_BANDS;
        largeBands.bands = *large;
        choice.consider(largeBands);
    }
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
