// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The largest value of every sum that FragmentMatcher's CUDA kernels form, and the bits that the kernel has for it, by
// route. Bounds follow from the plan and from the largest pixels, weights and differences, 255 each.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_PLAN_SUMS_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_PLAN_SUMS_HPP

#include "../common/plans.hpp"
#ifdef CUDATRACKING_HAS_PLANS
#include "../../src/cuda/fragment_matcher/choose.hpp"
#include "../../src/cuda/fragment_matcher/bytes/fused.hpp"
#include "../../src/cuda/fragment_matcher/bytes/slices.hpp"
#include "../../src/cuda/fragment_matcher/elimination/bounded_tiles.hpp"
#include "../../src/cuda/fragment_matcher/matrix/deep_bands.hpp"
#include "../../src/cuda/fragment_matcher/matrix/fused_bands.hpp"
#include "../../src/cuda/fragment_matcher/matrix/fused_deep_bands.hpp"
#include "../../src/cuda/fragment_matcher/transforms/transforms.hpp"

namespace opencv_test { namespace plans {

namespace fm = cv::cuda::fragment_matcher;
namespace gpu = cv::cuda::fragment_matcher::gpu;
namespace tuning = cv::cuda::fragment_matcher::tuning;

namespace sums {

const int64_t BYTE = 255, PRODUCT = 255 * 255;
const int64_t BITS_16 = 0xffff, BITS_24 = 0xffffff, BITS_31 = 0x7fffffff, BITS_32 = 0xffffffffll;

//! Sizes of a fragment, and properties of its metric.
struct Case
{
    int64_t width, height, channels, pixels;
    bool weighted, sad, zncc, moments;

    Case(const fm::MatchCase& given, fm::Extent fragment)
        : width(fragment.width),
          height(fragment.height),
          channels(given.frame.channels),
          pixels(width * height),
          weighted(given.weighted),
          sad(given.metric == fm::Metric::SAD),
          zncc(given.metric == fm::Metric::ZNCC),
          moments(zncc || (weighted && !sad))
    {}
    //! Most that a pixel of a channel adds to a sum of differences, or to the largest of the moments' sums.
    int64_t term() const { return sad && !weighted ? BYTE : PRODUCT; }
};

//! Checks sums over a template, values, and the parts of ZNCC, all in 64 bits, whatever the route.
inline const char* wrongInGeneral(const Case& c)
{
    CT_HOLDS(c.pixels * c.channels <= std::numeric_limits<int64_t>::max() / (BYTE * PRODUCT)); // S(qT^2), S of SSD
    // W S(qT^2) - S(qT)^2 of a channel is largest if half of the pixels are 255. Signed; products before it are modulo
    // 2^64.
    const double largest = std::pow(static_cast<double>(BYTE) * c.pixels, 2) * PRODUCT / 4 * c.channels;
    CT_HOLDS(!c.zncc || largest < 9223372036854775807.);
    return nullptr;
}

//! Byte sums: SumsAt, 32 bits each, of `pixels` pixels of one channel if moments are folded, else of all.
inline const char* wrongWithBytes(const Case& c, int64_t pixels)
{
    CT_HOLDS(pixels * (c.moments ? 1 : c.channels) * c.term() <= BITS_32);
    return nullptr;
}

//! TILES, BOUNDED_TILES: ZNCC sums up whole channels. Others are folded chunk by chunk, if sums may be wide or are
//! moments.
inline const char* wrongWith(const gpu::TilePlan& plan, const Case& c)
{
    const int64_t chunk = static_cast<int64_t>(plan.chunkCols) * plan.chunkRows;
    if (c.zncc)
        return wrongWithBytes(c, c.pixels);
    if (c.moments || plan.wide) // one channel
    {
        CT_HOLDS(chunk * c.term() <= BITS_32);
        return nullptr;
    }
    return wrongWithBytes(c, c.pixels);
}

//! eliminate(): means of blocks of B x B pixels.
inline const char* wrongWith(const gpu::BoundPlan&, const Case& c)
{
    const int64_t B = gpu::BOUND_BLOCK;
    CT_HOLDS(B * BYTE <= BITS_16);                 // sums of rows in shared memory
    CT_HOLDS(4 * B * B * BYTE + B * B <= BITS_31); // blockLoss()
    const int64_t blocks = (c.width / B) * (c.height / B) * c.channels;
    CT_HOLDS(blocks * PRODUCT < gpu::TileBound::MAX); // sums of boundTilesKernel(), weighted
    return nullptr;
}

//! FUSED_BANDS: LaneSums.
inline const char* wrongWith(const gpu::FusedBands&, const Case& c)
{
    CT_HOLDS(c.channels * c.pixels * PRODUCT <= BITS_32); // products; squares without weights; the low bytes of both
    CT_HOLDS(c.pixels * BYTE <= BITS_31);                 // S(I), S(T), pixels: factors of signed products
    if (c.weighted)
        CT_HOLDS(c.pixels * BYTE * (c.channels * PRODUCT >> 8) <= BITS_32); // high and middle bytes of squares together
    return nullptr;
}

//! values of BANDS and TRANSFORMS: box sums from columns and their prefix sums, modulo the bits of the box sums.
inline const char* wrongWithBoxes(const gpu::BandPlan& plan, const Case& c)
{
    CT_HOLDS(plan.wide || (!c.weighted && c.channels * c.pixels * PRODUCT <= BITS_32));
    if (c.weighted)
        return nullptr;
    if (plan.columnsEach > 0)
        CT_HOLDS(c.height * c.channels * PRODUCT <= BITS_32); // BandMemory::columns, extended to 64 bits if wide
    else if (plan.wide)
        CT_HOLDS(gpu::SUM_ROWS * c.channels * PRODUCT <= BITS_31 && tuning::TILE_ROWS <= gpu::SUM_ROWS);
    CT_HOLDS(!c.zncc || c.pixels * BYTE <= BITS_32); // S(I)
    CT_HOLDS(c.height * BYTE <= BITS_32);            // and of a column
    return nullptr;
}

//! BANDS, correlate: BandSums. They go to 64 bits before another chunk of rows could exceed BAND_TERMS products.
inline const char* wrongWith(const gpu::BandPlan& plan, const Case& c)
{
    CT_HOLDS(gpu::BAND_TERMS * PRODUCT <= BITS_32);
    if (plan.wide)
        CT_HOLDS(c.width * std::min<int64_t>(plan.chunkRows, c.height) <= gpu::BAND_TERMS);
    else
        CT_HOLDS(c.channels * c.pixels <= gpu::BAND_TERMS);
    CT_HOLDS(!(c.weighted && c.zncc) || c.pixels <= gpu::BAND_TERMS); // S(qI) is squared, so a channel is one part
    CT_HOLDS(c.channels * PRODUCT <= BITS_24);                        // squares of a pixel in three planes of bytes
    return wrongWithBoxes(plan, c);
}

//! TRANSFORMS: results are rounded to integers below 2^51.
inline const char* wrongWith(const gpu::TransformPlan&, const gpu::BandPlan& bands, const Case& c)
{
    CT_HOLDS(c.channels * c.pixels * PRODUCT < int64_t(1) << 51);
    return wrongWithBoxes(bands, c);
}

//! FUSED_DEEP_BANDS: sums of two correlations; S(I) of a channel.
inline const char* wrongWith(const gpu::FusedDeepBands&, const Case& c)
{
    CT_HOLDS(2 * c.channels * c.pixels * PRODUCT <= BITS_32);
    CT_HOLDS(c.pixels * 65535 <= BITS_32);
    return nullptr;
}

//! DEEP_BANDS: BandSums of a step; everything else is 64 bits, and the parts of ZNCC 127.
inline const char* wrongWith(const gpu::DeepPlan& plan, const Case& c)
{
    CT_HOLDS(gpu::BAND_TERMS * PRODUCT <= BITS_32);
    CT_HOLDS(int64_t(16) * plan.pieceChunks * plan.bands.chunkRows <= gpu::BAND_TERMS);
    CT_HOLDS(c.height * 65535 <= BITS_32); // S(I) of a column
    // Indices of bands are int; the last step of the loop that writes them may lead beyond by as much as all threads.
    const int64_t each = tuning::BAND_PREPARE_WORDS * tuning::BAND_PREPARE_THREADS;
    const int64_t words = plan.bands.bandsEach, blocks = (words + each - 1) / each;
    CT_HOLDS(words < std::numeric_limits<int>::max() && words + blocks * tuning::BAND_PREPARE_THREADS <= BITS_32);
    const double largest = 255. * 65535 * 65535 * static_cast<double>(c.pixels * c.channels);
    CT_HOLDS(largest < 18446744073709551615. && 255. * static_cast<double>(c.pixels) * largest < std::pow(2., 127));
    return nullptr;
}

} // namespace sums

//! Returns which sum of a fragment of a load may exceed its bits by a route that applies, or null.
inline const char* sumsBeyond(const std::string& route, const fm::MatchCase& given, const fm::Load& load,
                              fm::Extent fragment)
{
    const sums::Case c(given, fragment);
    if (route == "FUSED_DEEP_BANDS")
        return sums::wrongWith(gpu::FusedDeepBands(), c);
    if (route == "DEEP_BANDS")
        return sums::wrongWith(fm::planDeepBands(given, load), c);
    if (const char* const wrong = sums::wrongInGeneral(c))
        return wrong;
    if (route == "FUSED" || route == "SLICES")
        return sums::wrongWithBytes(c, c.pixels);
    if (route == "FUSED_BANDS")
        return sums::wrongWith(gpu::FusedBands(), c);
    if (route == "BOUNDED_TILES")
        if (const char* const wrong = sums::wrongWith(*fm::planBounds(given, load), c))
            return wrong;
    if (route == "TILES" || route == "BOUNDED_TILES")
        return sums::wrongWith(fm::planTiles(given, load), c);
    if (route == "BANDS")
        return sums::wrongWith(*fm::planBands(given, load), c);
    if (route == "TRANSFORMS")
    {
        const fm::TransformPlans plans = *fm::planTransforms(given, load);
        return sums::wrongWith(plans.transforms, plans.bands, c);
    }
    return "a route without a check of its sums";
}

}} // namespace opencv_test::plans

#endif // CUDATRACKING_HAS_PLANS
#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_PLAN_SUMS_HPP
