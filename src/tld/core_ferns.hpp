// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: ferns, and the warped images that they learn from.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FERNS_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FERNS_HPP

#include "core_base.hpp"

namespace cv { namespace cuda { namespace tld {

// --- ferns -----------------------------------------------------------------------------------------------------------

const int FEATURE_UNIT = 1 << 15; //!< unit of coordinates in a window: its side minus one pixel

//! A comparison of two pixels: 1 when the first is brighter. Coordinates are 0 to FEATURE_UNIT.
struct Feature
{
    uint16_t x0, y0, x1, y1;
};

//! Converts a coordinate to a pixel of a window. @param side of the window, pixels.
CT_HOST_DEVICE int offsetOf(int coordinate, int side)
{
    return ((side - 1) * coordinate + FEATURE_UNIT / 2) / FEATURE_UNIT;
}

/** Makes the comparisons of all ferns, fern by fern: horizontal and vertical pairs that begin on two lattices,
shuffled.
@param features out: ALL_FEATURES entries. */
inline void makeFeatures(uint64_t seed, Feature* features)
{
    int count = 0;
    for (int lattice = 0; lattice < 2; ++lattice) // in tenths of a side
        for (int y = 2 - lattice; y < 10; y += 2) // strictly inside only
            for (int x = 2 - lattice; x < 10; x += 2)
                for (int side = 0; side < 4; ++side, ++count)
                {
                    const double far = 0.2 + unitOf(randomOf(seed, 0, 0, FOR_FEATURES, count).v[0]);
                    const double dx = side == 0 ? far : (side == 1 ? -far : 0.);
                    const double dy = side == 2 ? -far : (side == 3 ? far : 0.);
                    const double x1 = lesser(1., greater(0., x * 0.1 + dx)), y1 = lesser(1., greater(0., y * 0.1 + dy));
                    features[count] = {static_cast<uint16_t>(roundEven(x * 0.1 * FEATURE_UNIT)),
                                       static_cast<uint16_t>(roundEven(y * 0.1 * FEATURE_UNIT)),
                                       static_cast<uint16_t>(roundEven(x1 * FEATURE_UNIT)),
                                       static_cast<uint16_t>(roundEven(y1 * FEATURE_UNIT))};
                }
    for (int i = count - 1; i > 0; --i)
    {
        const int other = below(randomOf(seed, 0, 0, FOR_FEATURES, i).v[1], i + 1);
        const Feature kept = features[i];
        features[i] = features[other];
        features[other] = kept;
    }
}

/** Returns the code of one fern for a window; its first feature is the highest bit. @param features of this fern.
@param at function at(x, y): blurred pixel of the window, relative to its corner. */
template <typename At> CT_HOST_DEVICE int codeOf(const Feature* features, int count, int w, int h, const At& at)
{
    int code = 0;
    for (int f = 0; f < count; ++f)
    {
        const int first = at(offsetOf(features[f].x0, w), offsetOf(features[f].y0, h));
        const int second = at(offsetOf(features[f].x1, w), offsetOf(features[f].y1, h));
        code = 2 * code + (first > second ? 1 : 0);
    }
    return code;
}

//! The posterior 1: posteriors are 0 to POSTERIOR_ONE. Thresholds are compared with their sum over all ferns.
const uint32_t POSTERIOR_ONE = 1u << 15;

//! Counts of one code of a fern.
struct Leaf
{
    int32_t positives, negatives;
};
CT_HOST_DEVICE uint16_t posteriorOf(const Leaf& leaf)
{
    const int64_t all = static_cast<int64_t>(leaf.positives) + leaf.negatives;
    if (leaf.positives == 0)
        return 0;
    if (all < 65536) // 32 bits hold the same values, and a GPU divides them much faster
        return static_cast<uint16_t>(
            (static_cast<uint32_t>(leaf.positives) * POSTERIOR_ONE + static_cast<uint32_t>(all) / 2) /
            static_cast<uint32_t>(all));
    return static_cast<uint16_t>((static_cast<int64_t>(leaf.positives) * POSTERIOR_ONE + all / 2) / all);
}
//! Converts a sum of posteriors over all ferns to their mean, 0 to 1.
CT_HOST_DEVICE double meanPosterior(uint32_t sum, int trees)
{
    return static_cast<double>(sum) / (static_cast<double>(POSTERIOR_ONE) * trees);
}
//! Returns the smallest sum of posteriors of fern-positive windows: these can support a box and be learned as
//! negatives.
CT_HOST_DEVICE uint32_t fernPositiveSum() { return POSTERIOR_ONE; }
//! Returns the smallest sum of posteriors of a negative example that is counted.
CT_HOST_DEVICE uint32_t negativeSum(int trees) { return POSTERIOR_ONE * static_cast<uint32_t>(trees) / 2; }

/* How ferns learn. Examples are learned in chunks. Each chunk is evaluated with the posteriors after the chunk before,
and then counted, so that the order within a chunk has no effect.
First training: two passes over INIT_CHUNKS chunks. Chunk k has the positive examples e with e % INIT_CHUNKS == k, and
the far windows with at least a quarter of the object's contrast whose FOR_SPLIT numbers are v[0] even, v[1] %
INIT_CHUNKS == k. In a frame: two passes. Each has the positive examples in their order, POSITIVE_CHUNK per chunk, and
then one chunk of all fern-positive far windows of the frame.
A positive example increments `positives` of its leaves when its sum is at most the threshold. A negative example
increments `negatives` of its leaves when its sum is at least negativeSum(). */
const int INIT_CHUNKS = 32, POSITIVE_CHUNK = 64;

// --- warped images -------------------------------------------------------------------------------------------------

/** An affine map from pixels of a warped image to positions in the image: x' = xx * (x - cx) + xy * (y - cy) + cx + tx,
and y' likewise. All values are 65536ths. */
struct Warp
{
    int64_t xx, xy, yx, yy; //!< rotation and scale
    int64_t cx, cy, tx, ty;
};

//! Computes sine and cosine of |a| <= pi / 4 by their series, as libraries differ.
CT_HOST_DEVICE void sineOf(double a, double& sine, double& cosine)
{
    const double s = a * a;
    sine = a * (1. - s / 6. * (1. - s / 20. * (1. - s / 42. * (1. - s / 72. * (1. - s / 110. * (1. - s / 156.))))));
    cosine = 1. - s / 2. * (1. - s / 12. * (1. - s / 30. * (1. - s / 56. * (1. - s / 90. * (1. - s / 132.)))));
}

//! A random warp before it is known where it is. Shifts are parts of the size of the hull.
struct Turn
{
    int64_t xx, yx;
    double shiftX, shiftY;
};

//! Draws random warp k, which is not 0. @param angle largest angle, radians.
CT_HOST_DEVICE Turn drawTurn(const Settings& settings, uint32_t object, uint32_t frame, int k, double angle)
{
    const Random r = randomOf(settings.seed, object, frame, FOR_WARP, static_cast<uint32_t>(k));
    double sine, cosine;
    sineOf(angle * (2. * unitOf(r.v[0]) - 1.), sine, cosine);
    const double scale = (1. + settings.warpScale * (2. * unitOf(r.v[1]) - 1.)) * 65536.;
    return {roundEven(scale * cosine), roundEven(scale * sine), settings.warpShift * (2. * unitOf(r.v[2]) - 1.),
            settings.warpShift * (2. * unitOf(r.v[3]) - 1.)};
}
//! Puts a warp at the centre of a hull of windows.
CT_HOST_DEVICE Warp warpAt(const Turn& turn, const Window& hull)
{
    Warp warp;
    warp.xx = warp.yy = turn.xx;
    warp.yx = turn.yx;
    warp.xy = -turn.yx;
    warp.cx = (2 * static_cast<int64_t>(hull.x) + hull.w - 1) * 32768;
    warp.cy = (2 * static_cast<int64_t>(hull.y) + hull.h - 1) * 32768;
    warp.tx = roundEven(turn.shiftX * hull.w * 65536.);
    warp.ty = roundEven(turn.shiftY * hull.h * 65536.);
    return warp;
}

/** Returns pixel (x, y) of a warped image. Positions outside of the image take its outer pixels.
@param at function at(x, y): pixel of the blurred image. @param noise result of noiseOf(). */
template <typename At>
CT_HOST_DEVICE int warpedPixel(const Warp& warp, int x, int y, int cols, int rows, int noise, const At& at)
{
    const int64_t dx = static_cast<int64_t>(x) * 65536 - warp.cx, dy = static_cast<int64_t>(y) * 65536 - warp.cy;
    const int64_t sx = ((warp.xx * dx + warp.xy * dy + 32768) >> 16) + warp.cx + warp.tx;
    const int64_t sy = ((warp.yx * dx + warp.yy * dy + 32768) >> 16) + warp.cy + warp.ty;
    const int64_t lastX = static_cast<int64_t>(cols - 1) * 65536, lastY = static_cast<int64_t>(rows - 1) * 65536;
    const int px = static_cast<int>(lesser(lastX, greater<int64_t>(0, sx)));
    const int py = static_cast<int>(lesser(lastY, greater<int64_t>(0, sy)));
    const int ix = px >> 16, iy = py >> 16, jx = lesser(ix + 1, cols - 1), jy = lesser(iy + 1, rows - 1);
    const int fx = (px & 65535) >> 8, fy = (py & 65535) >> 8;
    const int upper = at(ix, iy) * (256 - fx) + at(jx, iy) * fx;
    const int lower = at(ix, jy) * (256 - fx) + at(jx, jy) * fx;
    const int value = (upper * (256 - fy) + lower * fy + noise + 32768) >> 16;
    return lesser(255, greater(0, value));
}

//! Returns the factor that gives the sum of four random bytes a standard deviation, in 65536ths of a gray value.
CT_HOST_DEVICE int noiseScale(double deviation) { return roundEven(deviation * 65536. / 147.79941); }

/** Returns the noise of a pixel in 65536ths of a gray value. @param number v[point % 4] of randomOf(.., FOR_NOISE,
noiseIndex()).
@param scale result of noiseScale(). */
CT_HOST_DEVICE int noiseOf(uint32_t number, int scale)
{
    const int sum = static_cast<int>((number & 255u) + (number >> 8 & 255u) + (number >> 16 & 255u) + (number >> 24));
    return (sum - 510) * scale;
}
//! Returns the index of random numbers for four points. @param point twice the feature, plus one for its second pixel.
CT_HOST_DEVICE uint32_t noiseIndex(int example, int point) { return static_cast<uint32_t>(example * 128 + point / 4); }

/** Returns the number of positive examples of `near` windows with `warps` warps each. Example (m * (warps + 1) + k) *
near + i is window i in warp k; m = 1, with Settings::mirror only, mirrors its features left to right. Examples of warp
0 have no noise. */
CT_HOST_DEVICE int examplesOf(int near, int warps, int mirror) { return near * (warps + 1) * (mirror ? 2 : 1); }

/** Returns the code of one fern for a positive example. @param features of this fern. @param tree index of the fern.
@param win window of the example. @param mirror whether this example is mirrored. @param plain without warp and
noise. */
template <typename At>
CT_HOST_DEVICE int exampleCode(const Feature* features, int count, int tree, const Window& win, bool mirror,
                               const Warp& warp, bool plain, const Settings& settings, uint32_t object, uint32_t frame,
                               int example, int cols, int rows, const At& at)
{
    const int scale = noiseScale(settings.warpNoise);
    int code = 0;
    uint32_t index = 0xffffffffu;
    Random random = {};
    for (int f = 0; f < count; ++f)
    {
        int value[2];
        for (int k = 0; k < 2; ++k)
        {
            const int ox = offsetOf(k ? features[f].x1 : features[f].x0, win.w);
            const int x = win.x + (mirror ? win.w - 1 - ox : ox);
            const int y = win.y + offsetOf(k ? features[f].y1 : features[f].y0, win.h);
            if (plain)
            {
                value[k] = at(x, y);
                continue;
            }
            const int point = 2 * (tree * count + f) + k;
            if (index != noiseIndex(example, point))
            {
                index = noiseIndex(example, point);
                random = randomOf(settings.seed, object, frame, FOR_NOISE, index);
            }
            value[k] = warpedPixel(warp, x, y, cols, rows, noiseOf(random.v[point & 3], scale), at);
        }
        code = 2 * code + (value[0] > value[1] ? 1 : 0);
    }
    return code;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FERNS_HPP
