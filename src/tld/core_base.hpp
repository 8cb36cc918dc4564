// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The part of core.hpp on windows, random numbers, blur and variance.
//
// Tables of sums hold 32 bits and may wrap: only differences matter. Pixels enter them less 128.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_BASE_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_BASE_HPP

#include "../common/hostdevice.hpp"
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cv { namespace cuda { namespace tld {

const int MIN_SIDE = 16, MAX_SIDE = 16384, MAX_PIXELS = 1 << 24; //!< of images
const int MIN_BOX = 12;                                          //!< least side of the user's boxes, and of windows
const int MAX_WINDOWS = 1 << 26;                                 //!< of an object
const int MAX_SCALES = 41, MAX_TREES = 16, MAX_FEATURES = 16, ALL_FEATURES = 164;
const int MAX_DETECTIONS = 128, MAX_OBJECTS = 1024;
const int MAX_POSITIVES = 1024, MAX_NEGATIVES = 2048;
const int MAX_NEAR = 32, MAX_WARPS = 32; //!< windows, and warps of each, that ferns learn from at a time
const int MAX_INIT_NEGATIVES = 128;

/** All parameters, as the engines see them. Overlaps and margins are not open to users: the literature's. */
struct Settings
{
    uint64_t seed;
    int learning, mirror;
    double minReplyScore;
    int minWindow, scales, stepPercent;
    double scaleFactor;
    int trees, features, maxDetections;
    uint32_t fernThreshold; //!< sum of posteriors, before training
    double nnThreshold, validThreshold;
    int maxPositives, maxNegatives, initNegatives;
    int initWindows, initWarps, updateWindows, updateWarps;
    double initAngle, updateAngle; //!< radians
    double warpScale, warpShift, warpNoise;
    int flowWindow, flowLevels, flowIterations;
    double flowEpsilon, maxFlowError;
    int retryFrames, maxUnsupported, maxProbation;
    double jumpMargin, firstJumpMargin;
};

const double NEAR_OVERLAP = 0.6;     //!< windows that ferns learn as positives, and that support a box
const double FAR_OVERLAP = 0.2;      //!< below: windows learned as negatives
const double AVERAGE_OVERLAP = 0.7;  //!< windows that correct the tracker's box
const double SAME_SIMILARITY = 0.95; //!< two images of the same thing
const int AVERAGE_WEIGHT = 10;       //!< of the tracker's box among those windows
const int FEW_POSITIVES = 5;         //!< below: Settings::firstJumpMargin, and recheck() does not end validity
const double LEAST_SIDE = 10;        //!< the tracker's box does not shrink below

// --- boxes -----------------------------------------------------------------------------------------------------------

template <typename T> CT_HOST_DEVICE T lesser(T a, T b) { return b < a ? b : a; }
template <typename T> CT_HOST_DEVICE T greater(T a, T b) { return a < b ? b : a; }
CT_HOST_DEVICE int roundEven(double value) { return static_cast<int>(rint(value)); }
//! The nearest integer within +-limit. Not for NaN.
CT_HOST_DEVICE int roundWithin(double value, int limit)
{
#ifdef __CUDA_ARCH__
    return lesser(limit, greater(-limit, __double2int_rn(value))); // large values replaceBy the largest int
#else
    return roundEven(lesser<double>(limit, greater<double>(-limit, value)));
#endif
}

struct Box
{
    double x, y, w, h;
};

//! Of the grid.
struct Window
{
    int x, y, w, h;
};

CT_HOST_DEVICE Box boxOf(const Window& w)
{
    return {static_cast<double>(w.x), static_cast<double>(w.y), static_cast<double>(w.w), static_cast<double>(w.h)};
}

//! Intersection by union of the areas.
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

//! Whether two windows overlap by at least a half: detections of one thing. Exact.
CT_HOST_DEVICE bool linked(const Window& a, const Window& b)
{
    const int w = lesser(a.x + a.w, b.x + b.w) - greater(a.x, b.x);
    const int h = lesser(a.y + a.h, b.y + b.h) - greater(a.y, b.y);
    return w > 0 && h > 0 && 3 * static_cast<int64_t>(w) * h >= static_cast<int64_t>(a.w) * a.h + b.w * b.h;
}

//! Whether there is nothing of a box in the image.
CT_HOST_DEVICE bool isOutside(const Box& b, int cols, int rows)
{
    return !(b.x < cols && b.y < rows && b.x + b.w > 0. && b.y + b.h > 0.);
}

// --- windows ---------------------------------------------------------------------------------------------------------

//! The windows of one size: (i, j) for i < nx, j < ny, number first + j * nx + i.
struct Scale
{
    int w, h;
    int stepX, stepY; //!< hundredths of a pixel, at least 100
    int nx, ny;
    int first;
};

//! All windows of an object. They are numbered by scale, then y, then x: the order in which ties are decided.
struct Grid
{
    int scales, windows;
    Scale scale[MAX_SCALES];
};

CT_HOST_DEVICE int placeOf(int i, int step) { return (i * step + 50) / 100; }
//! Number of i with placeOf(i) <= last.
CT_HOST_DEVICE int placesUpTo(int last, int step) { return last < 0 ? 0 : (100 * last + 49) / step + 1; }
//! The least i with placeOf(i) >= first.
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

//! For an object of w x h pixels in images of cols x rows. Up to 2^31 windows are possible only with steps of one pixel.
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

//! Columns [i0, i1) and rows [j0, j1) of a scale: all its windows whose overlap with a box can exceed `least`, and some more.
struct Span
{
    int i0, i1, j0, j1;

    CT_HOST_DEVICE bool empty() const { return i0 >= i1 || j0 >= j1; }
};

CT_HOST_DEVICE Span spanNear(const Scale& s, const Box& box, double least)
{
    // The intersection is larger than `least` times either area, so neither side of it is shorter than that part of either's.
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

//! Philox 4x32-10: as many random numbers as there are counters, in any order.
struct Random
{
    uint32_t v[4];
};

//! What a random number is for.
enum Use
{
    FOR_FEATURES = 1, //!< index: number of the draw
    FOR_WARP,         //!< index: warp
    FOR_NOISE,        //!< index: see noiseOf()
    FOR_SPLIT,        //!< index: window. v[0]: trains (even) or validates; v[1]: chunk; v[2]: order as a template
    FOR_ORDER,        //!< index: window. v[0]: order in which negative templates are learned in a frame
    FOR_EVICTION      //!< index: number of the template that is added, in this frame
};

//! @param frame 0: the one in which the object was learned.
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
//! In [0, 1), exact.
CT_HOST_DEVICE double unitOf(uint32_t number) { return number * (1. / 4294967296.); }
//! In [0, n).
CT_HOST_DEVICE int below(uint32_t number, int n)
{
    return static_cast<int>(static_cast<uint64_t>(number) * static_cast<uint32_t>(n) >> 32);
}

// --- gray values and blur --------------------------------------------------------------------------------------------

//! Gray value of BGR, as cv::cvtColor(): 15 fractional bits, half up.
CT_HOST_DEVICE unsigned grayOf(unsigned blue, unsigned green, unsigned red)
{
    return (blue * 3735u + green * 19235u + red * 9798u + 16384u) >> 15;
}
//! Position -reach..size-1+reach in an image that is mirrored at its outer pixels; sides are larger than the reach.
CT_HOST_DEVICE int mirrored(int i, int size) { return i < 0 ? -i : (i >= size ? 2 * size - 2 - i : i); }

const int BLUR_REACH = 6;
//! Gaussian of sigma 2, taps at distance 0 to 6, 256 in all.
CT_HOST_DEVICE int blurTap(int distance)
{
    const int taps[BLUR_REACH + 1] = {50, 45, 31, 17, 7, 2, 1};
    return taps[distance];
}
//! Rows first, exact; then columns. @param sum of a column of row sums.
CT_HOST_DEVICE unsigned blurred(unsigned sum) { return (sum + 32768u) >> 16; }

// --- tables of sums and variance -------------------------------------------------------------------------------------

//! Entry (x, y) has the sum over all pixels left of x and above y. cols + 1 by rows + 1 entries.
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

//! Modulo 2^32.
CT_HOST_DEVICE uint32_t sumOver(const SumTable& t, int x, int y, int w, int h)
{
    return t.at(x + w, y + h) - t.at(x, y + h) - t.at(x + w, y) + t.at(x, y);
}
//! As a square is at most 2^14, the sum of squares of a strip of so many rows fits into 32 bits.
CT_HOST_DEVICE int stripRows(int w, int h)
{
    const int pixels = (1 << 18) - 1;
    return static_cast<int64_t>(w) * h <= pixels ? h : pixels / w;
}

//! Area times sum of squares less the square of the sum: area^2 times the variance (N form). Exact, up to 2^62.
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
