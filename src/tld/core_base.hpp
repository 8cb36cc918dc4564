// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: settings, boxes, windows, random numbers, blur, variance.
//
// Tables of sums hold 32 bits and may wrap, as only their differences are used. They sum pixel values minus 128.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_BASE_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_BASE_HPP

#include "../common/numbers.hpp"
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cv { namespace cuda { namespace tld {

using detail::grayOf;
using detail::greater;
using detail::lesser;
using detail::roundEven;

const int MIN_SIDE = 16, MAX_SIDE = 16384, MAX_PIXELS = 1 << 24; //!< limits of images, pixels
const int MIN_BOX = 12;          //!< shortest side of the user's boxes and of windows, pixels
const int MAX_WINDOWS = 1 << 26; //!< per object
const int MAX_SCALES = 41, MAX_TREES = 16, MAX_FEATURES = 16, ALL_FEATURES = 164;
const int MAX_DETECTIONS = 128, MAX_OBJECTS = 1024;
const int MAX_POSITIVES = 1024, MAX_NEGATIVES = 2048;
const int MAX_NEAR = 32, MAX_WARPS = 32; //!< windows per training set, and warps per window
const int MAX_INIT_NEGATIVES = 128;

/** Parameters, as the stages use them: names and values of TLDParams, which eachParameter() copies, unless the comment
says otherwise. Overlaps are those of the literature and are no parameters. */
struct Settings
{
    uint64_t seed;
    int learning, mirror;
    int clipBoxes, filter;
    double minReplyScore; //!< least score that is this as a float
    int minWindow, scales, stepPercent;
    double scaleFactor;
    int trees, features, maxDetections;
    uint32_t fernThreshold; //!< sum of posteriors over all ferns, before training
    double nnThreshold, validThreshold;
    int maxPositives, maxNegatives, initNegatives;
    int initWindows, initWarps, updateWindows, updateWarps;
    double initAngle, updateAngle; //!< radians
    double warpScale, warpShift, warpNoise;
    int flowWindow, flowLevels, flowIterations;
    double flowEpsilon, maxFlowError;
    int retryFrames, maxUnsupported, maxProbation;
    double jumpMargin, firstJumpMargin;
    double boxOverlap;
    int verifyBoxes, correctByBoxes, findByBoxes, startFromBoxes;
    int endAfterMisses;
};

const double NEAR_OVERLAP = 0.6;     //!< above: windows that ferns learn as positives, and that support a box
const double FAR_OVERLAP = 0.2;      //!< below: windows learned as negatives
const double AVERAGE_OVERLAP = 0.7;  //!< above: windows that correct the tracker's box
const double SAME_SIMILARITY = 0.95; //!< above: two patches show the same
const int AVERAGE_WEIGHT = 10;       //!< weight of the tracker's box in the mean with those windows
const double LEAST_OF_FEW = 0.5;     //!< least similarity of a box that only returned points have moved
const int FEW_POSITIVES = 5;         //!< below: Settings::firstJumpMargin holds, and recheck() does not end validity
const double LEAST_SIDE = 10;        //!< shortest side to which flow can shrink a box, pixels

// --- boxes -----------------------------------------------------------------------------------------------------------

//! Returns the nearest integer within +-limit. Not for NaN.
CT_HOST_DEVICE int roundWithin(double value, int limit)
{
#ifdef __CUDA_ARCH__
    return lesser(limit, greater(-limit, __double2int_rn(value))); // large values become the largest int
#else
    return roundEven(lesser<double>(limit, greater<double>(-limit, value)));
#endif
}

struct Box
{
    double x, y, w, h;
};

//! A rectangle of the grid that the detector evaluates, pixels.
struct Window
{
    int x, y, w, h;
};

CT_HOST_DEVICE Box boxOf(const Window& w)
{
    return {static_cast<double>(w.x), static_cast<double>(w.y), static_cast<double>(w.w), static_cast<double>(w.h)};
}

//! Returns the intersection over the union of two areas, 0 to 1.
CT_HOST_DEVICE double overlap(const Box& a, const Box& b)
{
    const double w = lesser(a.x + a.w, b.x + b.w) - greater(a.x, b.x);
    const double h = lesser(a.y + a.h, b.y + b.h) - greater(a.y, b.y);
    if (!(w > 0. && h > 0.))
        return 0.;
    const double both = w * h, a1 = a.w * a.h, a2 = b.w * b.h;
    return both / (a1 + a2 - both);
}
CT_HOST_DEVICE double overlap(const Window& a, const Box& b) { return overlap(boxOf(a), b); }

//! Whether two windows overlap by at least a half, so that they belong to one cluster. Exact.
CT_HOST_DEVICE bool linked(const Window& a, const Window& b)
{
    const int w = lesser(a.x + a.w, b.x + b.w) - greater(a.x, b.x);
    const int h = lesser(a.y + a.h, b.y + b.h) - greater(a.y, b.y);
    return w > 0 && h > 0 && 3 * static_cast<int64_t>(w) * h >= static_cast<int64_t>(a.w) * a.h + b.w * b.h;
}

//! Whether no part of a box is inside the image.
CT_HOST_DEVICE bool isOutside(const Box& b, int cols, int rows)
{
    return !(b.x < cols && b.y < rows && b.x + b.w > 0. && b.y + b.h > 0.);
}

// --- windows ---------------------------------------------------------------------------------------------------------

//! The windows of one size: (i, j) for i < nx, j < ny. The index of a window is first + j * nx + i.
struct Scale
{
    int w, h;
    int stepX, stepY; //!< hundredths of a pixel, at least 100
    int nx, ny;
    int first;
};

//! All windows of an object. Indices ascend by scale, then y, then x; ties are decided in this order.
struct Grid
{
    int scales, windows;
    Scale scale[MAX_SCALES];
};

//! Returns the position of column or row i. @param step hundredths of a pixel.
CT_HOST_DEVICE int placeOf(int i, int step) { return (i * step + 50) / 100; }
//! Returns the number of i with placeOf(i) <= last.
CT_HOST_DEVICE int placesUpTo(int last, int step) { return last < 0 ? 0 : (100 * last + 49) / step + 1; }
//! Returns the smallest i with placeOf(i) >= first.
CT_HOST_DEVICE int firstPlace(int first, int step) { return first <= 0 ? 0 : placesUpTo(first - 1, step); }

CT_HOST_DEVICE Window windowOf(const Scale& s, int i, int j)
{
    return {placeOf(i, s.stepX), placeOf(j, s.stepY), s.w, s.h};
}
CT_HOST_DEVICE int scaleOf(const Grid& grid, int window)
{
    int s = 0;
    while (s + 1 < grid.scales && window >= grid.scale[s + 1].first)
        ++s;
    return s;
}
CT_HOST_DEVICE Window windowOf(const Grid& grid, int window)
{
    const Scale& s = grid.scale[scaleOf(grid, window)];
    const int place = window - s.first;
    return windowOf(s, place % s.nx, place / s.nx);
}

inline int minWindowOf(int w, int h, int minWindow)
{
    return minWindow > 0 ? minWindow : lesser(24, greater(MIN_BOX, static_cast<int>(lesser(w, h) / 1.44)));
}

//! Returns the windows for an object of w x h pixels in images of cols x rows. Scales whose windows would exceed 2^31 -
//! 1 are left out.
inline Grid makeGrid(int w, int h, int cols, int rows, const Settings& settings)
{
    Grid grid = {};
    const int least = minWindowOf(w, h, settings.minWindow);
    int64_t windows = 0;
    for (int k = -settings.scales; k <= settings.scales; ++k)
    {
        double factor = 1.;
        for (int i = 0; i < (k < 0 ? -k : k); ++i)
            factor = k < 0 ? factor / settings.scaleFactor : factor * settings.scaleFactor;
        if (factor * greater(w, h) > MAX_SIDE)
            break;
        Scale s = {};
        s.w = roundEven(w * factor);
        s.h = roundEven(h * factor);
        if (lesser(s.w, s.h) < least || s.w > cols || s.h > rows)
            continue;
        s.stepX = greater(100, lesser(s.w, s.h) * settings.stepPercent);
        s.stepY = greater(100, s.h * settings.stepPercent);
        s.nx = placesUpTo(cols - s.w, s.stepX);
        s.ny = placesUpTo(rows - s.h, s.stepY);
        s.first = static_cast<int>(windows);
        if (windows + static_cast<int64_t>(s.nx) * s.ny > INT32_MAX)
            break;
        windows += static_cast<int64_t>(s.nx) * s.ny;
        grid.scale[grid.scales++] = s;
    }
    grid.windows = static_cast<int>(windows);
    return grid;
}

//! Columns [i0, i1) and rows [j0, j1) of the windows of a scale.
struct Span
{
    int i0, i1, j0, j1;

    CT_HOST_DEVICE bool empty() const { return i0 >= i1 || j0 >= j1; }
};

//! Returns a span with all windows of a scale whose overlap with a box exceeds `least`; others may be in it too.
CT_HOST_DEVICE Span spanNear(const Scale& s, const Box& box, double least)
{
    // The intersection exceeds `least` times each area, so each of its sides exceeds `least` times that side of both
    // rectangles.
    const double areas = static_cast<double>(s.w) * s.h, area = box.w * box.h;
    if (!(area > least * areas && areas > least * area))
        return {0, 0, 0, 0};
    const double w = least * greater(static_cast<double>(s.w), box.w);
    const double h = least * greater(static_cast<double>(s.h), box.h);
    const double x0 = floor(box.x + w) - s.w - 1., x1 = ceil(box.x + box.w - w) + 1.;
    const double y0 = floor(box.y + h) - s.h - 1., y1 = ceil(box.y + box.h - h) + 1.;
    const double far = 2. * MAX_SIDE;
    Span range;
    range.i0 = firstPlace(static_cast<int>(greater(-far, lesser(far, x0))), s.stepX);
    range.i1 = lesser(s.nx, placesUpTo(static_cast<int>(greater(-far, lesser(far, x1))), s.stepX));
    range.j0 = firstPlace(static_cast<int>(greater(-far, lesser(far, y0))), s.stepY);
    range.j1 = lesser(s.ny, placesUpTo(static_cast<int>(greater(-far, lesser(far, y1))), s.stepY));
    return range;
}

// --- random numbers --------------------------------------------------------------------------------------------------

//! Four random numbers of Philox 4x32-10, a function of a counter: they can be drawn in any order.
struct Random
{
    uint32_t v[4];
};

//! Purpose of a random number, part of its counter.
enum Use
{
    FOR_FEATURES = 1, //!< index: draw
    FOR_WARP,         //!< index: warp
    FOR_NOISE,        //!< index: noiseIndex()
    FOR_SPLIT,        //!< index: window. v[0]: even: trains, odd: validates; v[1]: chunk; v[2]: order as a template
    FOR_ORDER,        //!< index: window. v[0]: order in which a frame's negative templates are learned
    FOR_EVICTION      //!< index: number of templates added before in this frame
};

//! Returns the random numbers of a counter. @param frame frames since the object was first learned.
CT_HOST_DEVICE Random randomOf(uint64_t seed, uint32_t object, uint32_t frame, Use use, uint32_t index)
{
    uint32_t c0 = index, c1 = static_cast<uint32_t>(use), c2 = frame, c3 = object;
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round)
    {
        const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0, p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
        c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
        c1 = static_cast<uint32_t>(p1);
        c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
        c3 = static_cast<uint32_t>(p0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}
//! Converts a random number to [0, 1), exactly.
CT_HOST_DEVICE double unitOf(uint32_t number) { return number * (1. / 4294967296.); }
//! Converts a random number to an integer in [0, n).
CT_HOST_DEVICE int below(uint32_t number, int n)
{
    return static_cast<int>(static_cast<uint64_t>(number) * static_cast<uint32_t>(n) >> 32);
}

// --- gray values and blur --------------------------------------------------------------------------------------------

//! Mirrors a coordinate outside of an image at its outer pixel. @param i more than -size, less than 2 size - 1.
CT_HOST_DEVICE int mirrored(int i, int size) { return i < 0 ? -i : (i >= size ? 2 * size - 2 - i : i); }

const int BLUR_REACH = 6;
//! Returns a tap of the Gaussian of sigma 2. The 13 taps sum up to 256. @param distance 0 to 6.
CT_HOST_DEVICE int blurTap(int distance)
{
    const int taps[BLUR_REACH + 1] = {50, 45, 31, 17, 7, 2, 1};
    return taps[distance];
}
//! Rounds a blurred pixel. @param sum weighted sum over rows, then columns; not rounded in between.
CT_HOST_DEVICE unsigned blurred(unsigned sum) { return (sum + 32768u) >> 16; }

// --- tables of sums and variance -------------------------------------------------------------------------------------

//! Summed-area table: entry (x, y) is the sum over all pixels left of x and above y. (cols + 1) x (rows + 1) entries.
struct SumTable
{
    const uint32_t* data;
    size_t step;    //!< entries from row to row
    int stride = 1; //!< entries from column to column

    CT_HOST_DEVICE uint32_t at(int x, int y) const
    {
        return data[static_cast<size_t>(y) * step + static_cast<size_t>(x) * stride];
    }
};

//! Returns the sum over a rectangle, modulo 2^32.
CT_HOST_DEVICE uint32_t sumOver(const SumTable& t, int x, int y, int w, int h)
{
    return t.at(x + w, y + h) - t.at(x, y + h) - t.at(x + w, y) + t.at(x, y);
}
//! Returns the rows of a strip whose sum of squares fits into 32 bits, as a square is at most 2^14.
CT_HOST_DEVICE int stripRows(int w, int h)
{
    const int pixels = (1 << 18) - 1;
    return static_cast<int64_t>(w) * h <= pixels ? h : pixels / w;
}

//! Returns area * (sum of squares) - sum^2, which is area^2 times the variance with divisor N. Exact, up to 2^62.
CT_HOST_DEVICE int64_t contrastOf(const SumTable& sums, const SumTable& squares, const Window& win)
{
    const int64_t sum = static_cast<int32_t>(sumOver(sums, win.x, win.y, win.w, win.h));
    const int strip = stripRows(win.w, win.h);
    int64_t square = 0;
    for (int y = 0; y < win.h; y += strip)
        square += static_cast<int64_t>(sumOver(squares, win.x, win.y + y, win.w, lesser(strip, win.h - y)));
    return static_cast<int64_t>(win.w) * win.h * square - sum * sum;
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_BASE_HPP
