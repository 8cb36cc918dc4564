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
    double chain;    //!< clocks of the longest chain of instructions, or of all on one multiprocessor if that is more
    double stages;   //!< units of the image that one multiprocessor copies and converts
    double ends;     //!< work that one multiprocessor does once per fragment, such as values and peaks
    double sums = 0; //!< sums in device memory per multiprocessor
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
    return {1e-3 * std::max(4 * perWarp, 0.75 * perWarp * warps * busiest(blocks, given)),
            1e-3 * plan.bandsEach * load.count / given.multiprocessors,
            1e-3 * load.count * tilesX * gpu::BAND_COLS * height / given.multiprocessors};
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
    const double sums = gpu::sumsPerPosition(given.metric, given.weighted) *
                        gpu::sumChannels(given.metric, given.weighted, given.frame.channels);
    return {byteClocks(perWarp, warps, blocks), 1e-3 * blocks * (channels * units + 2000.),
            1e-3 * std::ceil(static_cast<double>(load.count) / given.multiprocessors) * sums * load.window.width *
                load.window.height,
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
        return {byteClocks(perWarp, plan.threads / 32., blocks), 1e-3 * blocks * units, 1e-3 * blocks * plan.threads};
    }
    const gpu::FusedBands& bands = plan.bands;
    const double planes = gpu::bandPlanes(given.frame.channels, given.weighted) * (given.weighted ? 1.5 : 1.);
    const double perWarp =
        planes * (load.fragment.height + 3.) * gpu::bandChunks(load.fragment.width) * gpu::FUSED_BAND_ROWS;
    // Blocks of a multiprocessor run at the same time as far as shared memory allows.
    const double rounds = std::ceil(blocks * (bands.sharedBytes + 1024.) / given.shared.dynamicBytes(0));
    return {1e-3 * std::max(perWarp * rounds, 0.1 * perWarp * bands.warps * blocks),
            1e-3 * blocks * channels * bands.areaHeight * bands.pitch, 1e-3 * blocks * 32 * bands.warps};
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
    const bool split = isSplit(given.metric, given.weighted);
    const double perWarp = given.frame.channels * std::ceil(load.fragment.height / (split ? 1. : 2.)) * wordsOf(load) *
                           gpu::TILE_POSITIONS * byteInstructions(given);
    const double chunks = ceilDiv(load.fragment.height, plan.chunkRows) * ceilDiv(load.fragment.width, plan.chunkCols);
    return {byteClocks(perWarp, split ? 4 : 8, blocks),
            1e-3 * blocks * given.frame.channels * chunks * (tuning::TILE_ROWS - 1. + plan.chunkRows) *
                plan.stage.units * expandedPlanes(split),
            1e-3 * blocks * 256};
}

//! Time of a route: begin + chain * CostTerms::chain and so on, in microseconds.
struct CostFactors
{
    double begin, chain, stages, ends, sums;
};

/** Factors of all routes of a kind of metric: least squares of the relative errors over 1 to 1000 fragments of 8 x 8 to 128 x 128, gray and
BGR, in windows of 9 x 9 to 97 x 97 positions, NVIDIA H200, 2026-11-22. Nine of ten times are between 0.8 and 1.2 of the estimate or
closer, those of the fused kernels between 0.85 and 1.6. Those of transforms follow from the times of their kernels, one BGR fragment of
128 x 128 and one of 232 x 232 in 1920 x 1080, the same device, 2026-11-23. */
struct RouteFactors
{
    CostFactors fused, fusedBands, tiles, slices, bands, bandTiles, transforms;
};
const RouteFactors SAD_FACTORS = {
    {7.60, 0.39, 4.90, 0, 0}, {}, {9.72, 0.33, 5.68, 3.07, 0}, {6.48, 0.42, 1.35, 1.02, 1.18}, {}, {}, {}};
const RouteFactors SSD_FACTORS = {{7.38, 0.26, 4.21, 1.11, 0},
                                  {9.44, 12.78, 0.50, 4.82, 0},
                                  {9.22, 0.30, 2.91, 5.94, 0},
                                  {6.97, 0.29, 1.14, 1.02, 1.46},
                                  {26.83, 0.84, 1.02, 1.04, 0},
                                  {9.80, 0.91, 0, 2.01, 0},
                                  {28, 1, 0.7, 1, 0}};
const RouteFactors ZNCC_FACTORS = {{8.65, 0.18, 8.49, 0, 0},
                                   {11.29, 18.93, 0, 0, 0},
                                   {9.31, 0.24, 11.01, 7.66, 0},
                                   {8.38, 0.34, 1.07, 0.33, 1.02},
                                   {34.90, 0.75, 0.97, 0.82, 0},
                                   {10.10, 1.04, 0, 2.95, 0},
                                   {30, 1, 0.7, 3, 0}};
//! Weighted SSD and ZNCC; BAND_TILES and TRANSFORMS have no weights.
const RouteFactors WEIGHTED_FACTORS = {{6.07, 0.26, 6.72, 0, 0},
                                       {9.48, 7.49, 0, 0, 0},
                                       {11.95, 0.58, 0.68, 0, 0},
                                       {10.08, 0.61, 0.34, 0.24, 0},
                                       {46.05, 0.67, 1.66, 6.19, 0},
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
           factors.sums * terms.sums;
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

void MatchPlan::chooseRoute(const MatchCase& given, const FragmentSizes& sizes, const Load& load, const Rect4& region)
{
    const bool whole = tiled.empty();
    if (load.window.empty() ||
        (!whole && tilePlan.route == Route::BOUNDED_TILES)) // how much is eliminated cannot be estimated
        return;
    const bool all = whole || fused.empty(); // else `fused` keeps its route
    double least = ROUTE_GAIN * (whole ? timeOf(fusedPlan, given, load) : timeOf(tilePlan, given, load));
    const bool bands = fusedPlan.route == Route::FUSED_BANDS;
    const auto considerFused = [&](const gpu::FusedPlan& plan)
    {
        const double time = timeOf(plan, given, load);
        if (time >= least)
            return;
        least = time;
        fusedPlan = plan;
        if (fused.empty())
            fused.swap(tiled);
    };
    if (whole && bands && !given.weighted) // times with weights were not compared
    {
        gpu::FusedPlan plan = fusedPlan;
        plan.route = Route::FUSED;
        considerFused(plan);
    }
    const auto consider = [&](const gpu::TilePlan& plan)
    {
        const double time = timeOf(plan, given, load);
        if (time >= least)
            return;
        least = time;
        tilePlan = plan;
        if (tiled.empty())
            tiled.swap(fused);
    };
    if (whole)
        consider(planTiles(given, load.window, load.fragment, region, load.count));
    consider(planTiles(given, load.window, load.fragment, region, load.count, true));
    int narrowest = load.fragment.width;
    for (const Extent& size : sizes.distinct)
        narrowest = std::min(narrowest, size.width);
    if (const auto transforms = planTransforms(given, load.window, load.fragment, narrowest, region))
        consider(*transforms);
    if (const auto slices = planSlices(given, load.window, load.fragment, load.count))
    {
        gpu::TilePlan plan = {};
        plan.route = Route::SLICES;
        plan.slices = *slices;
        consider(plan);
    }
    if (!all || bands)
        return;
    if (const auto large = planLargeFusedBands(given, load.window, sizes))
    {
        gpu::FusedPlan plan = {};
        plan.route = Route::FUSED_BANDS;
        plan.bands = *large;
        considerFused(plan);
    }
}

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
