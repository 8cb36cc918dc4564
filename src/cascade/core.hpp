// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The arithmetic of boosted cascades, for both backends. Everything that decides a result is here: scales, resizing,
// contrast, features, stages, the skip rule, boxes and their groups. Compiled without contraction.
//
// Integral images hold 32 bits and may wrap: results depend on differences modulo 2^32 only, so an integral image may
// begin anywhere in a layer.
#ifndef OPENCV_CUDATRACKING_CASCADE_CORE_HPP
#define OPENCV_CUDATRACKING_CASCADE_CORE_HPP

#include "../common/numbers.hpp"
#include <cmath>
#include <cstdint>

namespace cv { namespace cuda { namespace cascade {

using detail::grayOf;
using detail::lesser;
using detail::roundEven;

const int MIN_WINDOW = 3;   //!< a smaller window has no contrast rectangle and no 3 x 3 cells
const int MAX_WINDOW = 256; //!< 32 bits hold the sum of squares of a window up to this size
const int MAX_SIDE = 65535, MAX_SCALES = 4095, MAX_IMAGES = 1 << 20; //!< limits of a Key
const int MAX_CAPACITY = 65536; //!< largest number of objects and of candidates per image in tables

//! Type of a cascade's features; the values are those of CascadeClassifierEx::getFeatureType(). Code that depends on it
//! switches over all types without a default, so that the compiler names every place that a new type needs.
enum FeatureType : int
{
    HAAR = 0,
    LBP = 1
};
constexpr FeatureType FEATURE_TYPES[] = {HAAR, LBP};

//! Returns whether values of features are multiplied with the window's norm, so that windows need contrast.
CT_HOST_DEVICE constexpr bool usesNorm(FeatureType type)
{
    switch (type)
    {
    case HAAR:
        return true;
    case LBP:
        return false;
    }
    return false;
}

struct Box
{
    int x, y, width, height;
};

// --- scales and resizing ---------------------------------------------------------------------------------------------

//! Returns the side of a layer of an image, and the side of a window's box in the image.
CT_HOST_DEVICE int layerSide(int side, float factor) { return roundEven(static_cast<float>(side) / factor); }
CT_HOST_DEVICE int boxSide(int side, float factor) { return roundEven(static_cast<float>(side) * factor); }
//! Returns the distance of neighbouring windows, in pixels of the layer.
CT_HOST_DEVICE int stepOf(float factor) { return factor >= 2.f ? 1 : 2; }

/** Limits rows of windows as cv::CascadeClassifier does: it cuts a layer into stripes of rows for its threads, and
their rounding loses rows at the bottom. @param places rows of pixels where a window can begin. @param stripes
ceil(columns of pixels where a window can begin in the first layer / 32). @return rows of pixels that count. */
CT_HOST_DEVICE int placesInStripes(int places, int step, int stripes)
{
    if (stripes <= 0 || places <= 0)
        return 0;
    const int rows = (places / step + stripes - 1) / stripes;
    const int64_t covered = static_cast<int64_t>(stripes) * (rows > 1 ? rows : 1) * step;
    return covered < places ? static_cast<int>(covered) : places;
}

//! Source of a pixel of a layer along one axis: pixel `first` + 1 with `weight` / 256, pixel `first` with the rest.
struct Tap
{
    int first, weight; //!< if weight is 0, pixel first + 1 need not exist
};

//! Returns the tap of pixel d of `dst` pixels, made of `src` pixels: INTER_LINEAR_EXACT for 8 bits, with 8 fractional
//! bits.
inline Tap tapOf(int d, int dst, int src)
{
    const double scale = 1. / (static_cast<double>(dst) / src);
    const double place = scale * (d + 0.5) - 0.5;
    const int first = static_cast<int>(std::floor(place));
    if (first < 0)
        return {0, 0};
    if (first >= src - 1)
        return {src - 1, 0};
    const int weight = roundEven((place - first) * 256.);
    return {first, weight};
}

//! Blends two pixels of a row. @return value with 8 fractional bits, exact.
CT_HOST_DEVICE unsigned blendRow(unsigned first, unsigned second, int weight)
{
    return first * static_cast<unsigned>(256 - weight) + second * static_cast<unsigned>(weight);
}
//! Blends the values of blendRow() of two rows. @return pixel, rounded half up.
CT_HOST_DEVICE unsigned blendRows(unsigned upper, unsigned lower, int weight)
{
    return (upper * static_cast<unsigned>(256 - weight) + lower * static_cast<unsigned>(weight) + 32768u) >> 16;
}

// --- windows ---------------------------------------------------------------------------------------------------------

//! Returns the area of the contrast rectangle: the window without a border of one pixel.
CT_HOST_DEVICE int contrastArea(int width, int height) { return (width - 2) * (height - 2); }

/** Computes the contrast of a window: area * sum of squares - square of the sum. Exact, up to 2^49.
@param sum,squares sums over the contrast rectangle, modulo 2^32. */
CT_HOST_DEVICE int64_t contrastOf(uint32_t sum, uint32_t squares, int area)
{
    const int64_t s = static_cast<int32_t>(sum);
    return static_cast<int64_t>(area) * static_cast<int64_t>(squares) - s * s;
}
//! Returns the factor of Haar features: 1 / sqrt(contrast). @param contrast above 0.
CT_HOST_DEVICE float normOf(int64_t contrast) { return static_cast<float>(1. / sqrt(static_cast<double>(contrast))); }
//! Returns whether a window has enough contrast to be evaluated. Windows with less are dropped, but do not fail: see
//! skippedOf().
CT_HOST_DEVICE bool hasContrast(int64_t contrast, int area)
{
    return contrast > 0 && area * static_cast<double>(normOf(contrast)) < 1e-1;
}
//! Returns the least contrast that hasContrast() accepts, so that windows below need no square root and division.
inline int64_t leastContrast(int area)
{
    int64_t without = 0, with = static_cast<int64_t>(1) << 50;
    while (with - without > 1)
    {
        const int64_t middle = without + (with - without) / 2;
        (hasContrast(middle, area) ? with : without) = middle;
    }
    return with;
}

/** Applies the skip rule: in a row of windows, from left to right, the window after an evaluated window that failed the
first stage is skipped. A window without contrast does not fail. T is uint32_t or uint64_t.
@param failed bit k is set if window k would fail the first stage.
@param carry in: whether the first window is skipped; out: whether the window after the last one is.
@return bit k is set if window k is skipped. */
template <typename T> CT_HOST_DEVICE T skippedOf(T failed, bool& carry)
{
    // In each run of ones, every second window is skipped, beginning with the second; so is the window after a run of
    // odd length. An addition carries through the runs that begin at odd bits, which swaps even and odd bits for those.
    const T even = static_cast<T>(0x5555555555555555ull), in = carry ? 1 : 0;
    const T ones = failed & ~in;
    const T after = static_cast<T>(ones << 1) | in;
    const T oddStarts = ones & static_cast<T>(~even) & static_cast<T>(~after);
    const T sum = static_cast<T>(oddStarts + ones);
    carry = sum < ones;
    const T flip = static_cast<T>(sum << 1);
    return (even ^ flip) & after;
}

// --- features --------------------------------------------------------------------------------------------------------

//! A value of the table of sums and its factor.
struct Corner
{
    int16_t x, y; //!< from the window's corner; up to MAX_WINDOW
    int32_t weight;
};
const int MAX_RECTANGLES = 3, MAX_CORNERS = 12;

//! A Haar feature: two or three weighted rectangles, upright or rotated by 45 degrees.
struct HaarFeature
{
    int16_t rectangle[MAX_RECTANGLES][4]; //!< x, y, width, height
    float weight[MAX_RECTANGLES];
    uint8_t rectangles; //!< 2 or 3
    uint8_t tilted;
    uint8_t exact;   //!< weights are integers and values are below 2^24: the sum of corners is exact in any order
    uint8_t corners; //!< number of merged corners with a weight other than 0; 0 unless exact
    Corner corner[MAX_CORNERS];
};

//! Computes corner k of a rectangle, whose sign is cornerSign(). Sides of rotated rectangles run to the lower right and
//! lower left.
CT_HOST_DEVICE void cornerOf(const int16_t* r, bool tilted, int k, int& x, int& y)
{
    const int right = (k & 1) ? r[2] : 0, down = (k & 2) ? r[3] : 0;
    x = r[0] + right - (tilted ? down : 0);
    y = r[1] + down + (tilted ? right : 0);
}
CT_HOST_DEVICE int cornerSign(int k) { return k == 0 || k == 3 ? 1 : -1; }

/** Computes the value of a feature, before it is multiplied with the norm.
@param at at(x, y) reads the integral image, or that of rotated sums, relative to the window's corner. */
template <typename At> CT_HOST_DEVICE float haarValue(const HaarFeature& f, const At& at)
{
    if (f.exact)
    {
        uint32_t sum = 0;
        for (int k = 0; k < f.corners; ++k)
            sum += static_cast<uint32_t>(f.corner[k].weight) * at(f.corner[k].x, f.corner[k].y);
        return static_cast<float>(static_cast<int32_t>(sum));
    }
    float value = 0.f;
    for (int i = 0; i < f.rectangles; ++i)
    {
        uint32_t sum = 0;
        for (int k = 0; k < 4; ++k)
        {
            int x, y;
            cornerOf(f.rectangle[i], f.tilted != 0, k, x, y);
            sum += static_cast<uint32_t>(cornerSign(k)) * at(x, y);
        }
        const float part = f.weight[i] * static_cast<float>(static_cast<int32_t>(sum));
        value = i == 0 ? part : value + part;
    }
    return value;
}
CT_HOST_DEVICE bool haarGoesLeft(float value, float norm, float threshold) { return value * norm < threshold; }

//! An LBP feature: 3 x 3 cells of width x height pixels, the upper left one at (x, y).
struct LbpFeature
{
    int16_t x, y, width, height;
};

//! Computes the code of a feature: bit 7 for the upper left cell, then clockwise; set if the cell is not darker than
//! the centre.
template <typename At> CT_HOST_DEVICE int lbpCode(const LbpFeature& f, const At& at)
{
    uint32_t p[4][4];
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i)
            p[j][i] = at(f.x + i * f.width, f.y + j * f.height);
    const auto cell = [&](int i, int j)
    { return static_cast<int32_t>(p[j][i] - p[j][i + 1] - p[j + 1][i] + p[j + 1][i + 1]); };
    const int32_t centre = cell(1, 1);
    // The sign bit of each difference, which fits 32 bits.
    uint32_t darker = 0;
    const auto add = [&](int i, int j) { darker = darker << 1 | static_cast<uint32_t>(cell(i, j) - centre) >> 31; };
    add(0, 0);
    add(1, 0);
    add(2, 0);
    add(2, 1);
    add(2, 2);
    add(1, 2);
    add(0, 2);
    add(0, 1);
    return static_cast<int>(darker ^ 255u);
}
const int SUBSET_WORDS = 8;
//! Returns whether a code goes left. @param subset SUBSET_WORDS words, one bit per code.
CT_HOST_DEVICE bool lbpGoesLeft(const uint32_t* subset, int code) { return (subset[code >> 5] >> (code & 31)) & 1u; }

// --- trees and stages ------------------------------------------------------------------------------------------------

//! A child that is not negative is the index of a later node; a negative one is the leaf ~child.
struct Node
{
    int feature;
    float threshold; //!< Haar only; LBP has subsets
    int left, right;
};

//! A range of consecutive nodes, the root first. The leaves of a tree are consecutive, too.
struct Tree
{
    int firstNode, nodes;
};

/** Trees whose leaves are added up. Windows whose sum is below the threshold fail. cv::CascadeClassifier adds floats in
double precision, tree by tree. If leaf * 2^shift is an integer for all leaves and the sum stays below 2^53, as in all
of OpenCV's files, the sum in integers is equal and does not depend on the order. */
struct Stage
{
    int firstTree, trees;
    float threshold;
    int shift;              //!< fractional bits of the fixed point; 0 and unused unless Model::fixedPoint
    int64_t fixedThreshold; //!< sum < threshold if and only if the fixed-point sum < fixedThreshold
};

CT_HOST_DEVICE bool stageFails(double sum, const Stage& stage) { return sum < static_cast<double>(stage.threshold); }
//! Converts the last stage's fixed-point sum to the weight of a window.
CT_HOST_DEVICE double weightOf(int64_t fixedSum, int shift) { return ldexp(static_cast<double>(fixedSum), -shift); }

// --- candidates ------------------------------------------------------------------------------------------------------

//! Position of a window: image (20 bits), scale (12), y and x in the layer (16 each). Results are in ascending order of
//! keys.
typedef uint64_t Key;

CT_HOST_DEVICE Key keyOf(int image, int scale, int x, int y)
{
    return static_cast<Key>(image) << 44 | static_cast<Key>(scale) << 32 | static_cast<Key>(y) << 16 |
           static_cast<Key>(x);
}
CT_HOST_DEVICE int imageOf(Key key) { return static_cast<int>(key >> 44); }
CT_HOST_DEVICE int scaleOf(Key key) { return static_cast<int>(key >> 32) & 0xfff; }
CT_HOST_DEVICE int yOf(Key key) { return static_cast<int>(key >> 16) & 0xffff; }
CT_HOST_DEVICE int xOf(Key key) { return static_cast<int>(key) & 0xffff; }

//! Computes the box in the image of a window at (x, y) of a layer.
CT_HOST_DEVICE Box boxOf(int x, int y, float factor, int boxWidth, int boxHeight)
{
    return {roundEven(static_cast<float>(x) * factor), roundEven(static_cast<float>(y) * factor), boxWidth, boxHeight};
}

//! Returns the coordinate of a box's centre, at which the mask is read, along one axis. @param side that of the mask.
CT_HOST_DEVICE int centreOf(int start, int length, int side)
{
    const int centre = start + length / 2;
    return centre < side ? centre : side - 1;
}

// --- groups ----------------------------------------------------------------------------------------------------------

CT_HOST_DEVICE int distance(int a, int b) { return a < b ? b - a : a - b; }

//! Returns whether all four edges are close to each other. Groups are the connected components of this relation.
CT_HOST_DEVICE bool areSimilar(const Box& a, const Box& b)
{
    const double delta = 0.2 * (lesser(a.width, b.width) + lesser(a.height, b.height)) * 0.5;
    return distance(a.x, b.x) <= delta && distance(a.y, b.y) <= delta &&
           distance(a.x + a.width, b.x + b.width) <= delta && distance(a.y + a.height, b.y + b.height) <= delta;
}
//! Computes the mean of one side or coordinate. @param sum modulo 2^32.
CT_HOST_DEVICE int meanOf(uint32_t sum, int count)
{
    return roundEven(static_cast<float>(static_cast<int32_t>(sum)) * (1.f / static_cast<float>(count)));
}
//! Returns whether group a, of countA candidates, is dropped in favour of group b. Both have more candidates than
//! minNeighbors.
CT_HOST_DEVICE bool isPartOf(const Box& a, int countA, const Box& b, int countB)
{
    const int dx = roundEven(b.width * 0.2), dy = roundEven(b.height * 0.2);
    return a.x >= b.x - dx && a.y >= b.y - dy && a.x + a.width <= b.x + b.width + dx &&
           a.y + a.height <= b.y + b.height + dy && (countB > (countA > 3 ? countA : 3) || countA < 3);
}

//! Clips a box to an image. @return false if nothing is left.
CT_HOST_DEVICE bool clip(Box& box, int cols, int rows)
{
    const int right = lesser(box.x + box.width, cols), bottom = lesser(box.y + box.height, rows);
    box.x = box.x > 0 ? box.x : 0;
    box.y = box.y > 0 ? box.y : 0;
    box.width = right - box.x;
    box.height = bottom - box.y;
    return box.width > 0 && box.height > 0;
}

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_CORE_HPP
