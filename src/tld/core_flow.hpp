// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The part of core.hpp on optical flow: pyramidal Lucas-Kanade in integers, forward and backward, and what a box makes of
// it.
//
// Positions are 65536ths of a pixel. Interpolated pixels are 16ths of a gray value, so gradients and differences keep within
// +-4080, and the sums over a window of up to 11 x 11 pixels fit into 32 bits: exact in any order.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP

#include "core_base.hpp"

namespace cv { namespace cuda { namespace tld {

const int FLOW_GRID = 10, FLOW_POINTS = FLOW_GRID * FLOW_GRID; //!< points in a box
const int FLOW_PAIRS = FLOW_POINTS * (FLOW_POINTS - 1) / 2;
const int FLOW_PATCH = 10; //!< side of the patches around a point that are compared
const int MAX_FLOW_WINDOW = 11, MAX_LEVELS = 7;
const int KEPT_FRAMES = 5; //!< the current one and those that flow may still begin from
/** Stands among ages for the image that the last add() brought. It may be the last frame or the next one: objects that began
on it begin their flow there, and all others go on from the last frame. */
const int START = KEPT_FRAMES;

struct Point
{
    int32_t x, y;
};

// --- pyramid ---------------------------------------------------------------------------------------------------------

//! Level 0 is the image. Levels end where a side would not be longer than a window, as cv::calcOpticalFlowPyrLK()'s do.
//! @return number of levels.
inline int levelsOf(int cols, int rows, const Settings& settings)
{
    int levels = 1;
    while (levels <= settings.flowLevels && (lesser(cols, rows) + 1) / 2 > settings.flowWindow)
    {
        cols = (cols + 1) / 2;
        rows = (rows + 1) / 2;
        ++levels;
    }
    return levels;
}
/** Pixel of the next level, as cv::pyrDown(): rows of 1 4 6 4 1, then columns. @param sum of all 25. Pixels around
(2x, 2y), mirrored() at the border. */
CT_HOST_DEVICE unsigned halved(unsigned sum) { return (sum + 128u) >> 8; }

// --- one point -------------------------------------------------------------------------------------------------------

//! Weights of four neighbours, 16384 in all.
struct Blend
{
    int w00, w10, w01, w11;
};
//! @param x,y position; its whole part is that of the first neighbour.
CT_HOST_DEVICE Blend blendOf(int x, int y)
{
    const int a = (x & 65535) >> 2, b = (y & 65535) >> 2;
    Blend w;
    w.w00 = ((16384 - a) * (16384 - b) + 8192) >> 14;
    w.w10 = (a * (16384 - b) + 8192) >> 14;
    w.w01 = ((16384 - a) * b + 8192) >> 14;
    w.w11 = 16384 - w.w00 - w.w10 - w.w01;
    return w;
}
//! 16ths of a gray value, 0 to 4080.
CT_HOST_DEVICE int blended(const Blend& w, int p00, int p10, int p01, int p11)
{
    return (p00 * w.w00 + p10 * w.w10 + p01 * w.w01 + p11 * w.w11 + 512) >> 10;
}
/** 32 times the gradient in gray values a pixel, by Scharr, from blended pixels: differences of the columns right and left of it,
or of the rows below and above it; weights 3, 10, 3. */
CT_HOST_DEVICE int gradientOf(int d0, int d1, int d2) { return (3 * (d0 + d2) + 10 * d1 + 8) >> 4; }

//! Sums over the window: of squares and product of the gradients.
struct Normal
{
    int32_t xx, xy, yy;
};
//! Sums over the window: of gradients times (pixel in the other image - pixel).
struct Change
{
    int32_t x, y;
};

//! Whether there is a gradient at all.
CT_HOST_DEVICE int64_t determinantOf(const Normal& n)
{
    return static_cast<int64_t>(n.xx) * n.yy - static_cast<int64_t>(n.xy) * n.xy;
}
//! What stepOf() needs of it. @param determinant above 0.
CT_HOST_DEVICE double stepScale(int64_t determinant) { return 2. * 65536. / static_cast<double>(determinant); }
//! The step that would make the change zero, at most 64 pixels.
CT_HOST_DEVICE Point stepOf(const Normal& n, double scale, const Change& c)
{
    const int64_t x = static_cast<int64_t>(n.xy) * c.y - static_cast<int64_t>(n.yy) * c.x;
    const int64_t y = static_cast<int64_t>(n.xy) * c.x - static_cast<int64_t>(n.xx) * c.y;
    return {roundWithin(static_cast<double>(x) * scale, 64 * 65536),
            roundWithin(static_cast<double>(y) * scale, 64 * 65536)};
}

//! Points outside of the image are not found.
CT_HOST_DEVICE bool isInside(const Point& p, int cols, int rows)
{
    return p.x >= 0 && p.y >= 0 && p.x < cols * 65536 && p.y < rows * 65536;
}

//! First pixel of the window around a point, on a level. @param half side of the window.
CT_HOST_DEVICE Point cornerAt(const Point& p, int level, int half)
{
    const int round = level > 0 ? 1 << (level - 1) : 0;
    return {((p.x + round) >> level) - half, ((p.y + round) >> level) - half};
}

//! What trackPoint() goes through; the same for all points.
struct FlowParameters
{
    int levels;              //!< of the pyramids
    int cols, rows;          //!< of level 0
    int window;              //!< odd
    int iterations, epsilon; //!< 65536ths of a pixel
};

CT_HOST_DEVICE FlowParameters flowParametersOf(const Settings& s, int levels, int cols, int rows)
{
    return {levels, cols, rows, s.flowWindow, s.flowIterations, roundEven(s.flowEpsilon * 65536.)};
}

/** Lucas-Kanade for one point, from coarse to fine.
@param sums does the work on pixels, at a level; all threads of a group get the same numbers. Pixels outside of a level are its
outer ones. sums.normalAt(level, corner) blends the window at `corner`, a pixel more on each side for gradients, and gives its
Normal; sums.changeAt(level, corner) gives the Change of that window against the one at `corner` of the other image. Corners
are the window's first pixel.
@param guess where the search begins: `from` on the way there, and on the way back the point where the way there began.
@param to out. @return false: the point is lost. */
template <typename Sums>
CT_HOST_DEVICE bool trackPoint(const FlowParameters& f, const Point& from, const Point& guess, Sums& sums, Point& to)
{
    if (!isInside(from, f.cols, f.rows))
        return false;
    const int half = f.window / 2 * 65536;
    Point at = cornerAt(guess, f.levels - 1, half);
    for (int level = f.levels - 1; level >= 0; --level)
    {
        const Point origin = cornerAt(from, level, half);
        if (level < f.levels - 1)
            at = {2 * at.x + half, 2 * at.y + half}; // corners: 2 (c + half) - half
        const Normal normal = sums.normalAt(level, origin);
        const int64_t determinant = determinantOf(normal);
        if (determinant <= 0)
        {
            if (level == 0)
                return false;
            continue;
        }
        const double scale = stepScale(determinant);
        const int farX = (f.cols >> level) * 65536, farY = (f.rows >> level) * 65536;
        Point before = {0, 0};
        for (int i = 0; i < f.iterations; ++i)
        {
            if (at.x < -2 * half - 65536 || at.y < -2 * half - 65536 || at.x >= farX || at.y >= farY)
            {
                if (level == 0)
                    return false;
                break;
            }
            const Point step = stepOf(normal, scale, sums.changeAt(level, at));
            at.x += step.x;
            at.y += step.y;
            if (static_cast<int64_t>(step.x) * step.x + static_cast<int64_t>(step.y) * step.y <=
                static_cast<int64_t>(f.epsilon) * f.epsilon)
                break;
            const int sx = step.x + before.x, sy = step.y + before.y;
            if (i > 0 && sx > -655 && sx < 655 && sy > -655 && sy < 655) // to and fro: the middle
            {
                at.x -= step.x / 2;
                at.y -= step.y / 2;
                break;
            }
            before = step;
        }
    }
    to = {at.x + half, at.y + half};
    return isInside(to, f.cols, f.rows);
}

// --- the points of a box ---------------------------------------------------------------------------------------------

//! Point i of a box: 5 pixels inside of its border, evenly.
CT_HOST_DEVICE Point pointOf(const Box& box, int i)
{
    const double part = 1. / (FLOW_GRID - 1);
    const double x = box.x + 5. + (box.w - 11.) * ((i % FLOW_GRID) * part);
    const double y = box.y + 5. + (box.h - 11.) * ((i / FLOW_GRID) * part);
    const double far = MAX_SIDE;
    return {roundEven(greater(-far, lesser(far, x)) * 65536.), roundEven(greater(-far, lesser(far, y)) * 65536.)};
}

//! A point that was followed there and back. The way back is searched for from where the way there began.
struct TrackedPoint
{
    Point from, to;
    int32_t found; //!< neither way lost it
    int64_t error; //!< squared distance between where it began and where the way back ended
    double ncc;    //!< of the patches around from and to; 0 for a flat one
};

CT_HOST_DEVICE int64_t squaredDistance(const Point& a, const Point& b)
{
    const int64_t dx = static_cast<int64_t>(a.x) - b.x, dy = static_cast<int64_t>(a.y) - b.y;
    return dx * dx + dy * dy;
}
//! First pixel of the patch around a point.
CT_HOST_DEVICE Point patchCorner(const Point& p)
{
    return {p.x - (FLOW_PATCH - 1) * 32768, p.y - (FLOW_PATCH - 1) * 32768};
}
//! NCC of two patches of FLOW_PATCH^2 blended pixels, from their sums.
CT_HOST_DEVICE double pointNcc(int64_t sumA, int64_t sumB, int64_t squaresA, int64_t squaresB, int64_t products)
{
    const int64_t n = FLOW_PATCH * FLOW_PATCH;
    const int64_t a = n * squaresA - sumA * sumA, b = n * squaresB - sumB * sumB;
    if (a <= 0 || b <= 0)
        return 0.;
    return static_cast<double>(n * products - sumA * sumB) / sqrt(static_cast<double>(a) * static_cast<double>(b));
}

/* Medians are over the points found: with n of them, NCC's too, the mean of values n / 2 and (n - 1) / 2 in ascending order.
A point is kept when its error and its NCC are not worse than the medians. dx, dy: medians of to - from over kept points. The
scale: median of the ratios of the distances of all pairs of kept points, to by from, less the pairs that were at one place. */
CT_HOST_DEVICE double medianError(int64_t lower, int64_t upper)
{
    return (sqrt(static_cast<double>(lower)) + sqrt(static_cast<double>(upper))) * (0.5 / 65536.);
}
CT_HOST_DEVICE bool isKept(const TrackedPoint& f, double error, double ncc)
{
    return f.found && sqrt(static_cast<double>(f.error)) * (1. / 65536.) <= error && f.ncc >= ncc;
}
//! Ratio of two distances, to be ordered as an integer. @param before,after squared, before above 0.
CT_HOST_DEVICE uint32_t ratioKey(int64_t before, int64_t after)
{
    const double ratio = sqrt(static_cast<double>(after) / static_cast<double>(before)) * 16777216.;
    return ratio < 4294967295. ? static_cast<uint32_t>(ratio + 0.5) : 4294967295u;
}
CT_HOST_DEVICE double scaleOfKeys(uint32_t lower, uint32_t upper)
{
    return (static_cast<double>(lower) + static_cast<double>(upper)) * (0.5 / 16777216.);
}

//! What the points of a box say together.
struct Motion
{
    int32_t kept;  //!< points; 0: none
    double error;  //!< median, pixels
    double dx, dy; //!< pixels
    double scale;  //!< 1 for a single point
};

//! Sums of two medians of 65536ths, to pixels.
CT_HOST_DEVICE double shiftOf(int32_t lower, int32_t upper)
{
    return (static_cast<double>(lower) + static_cast<double>(upper)) * (0.5 / 65536.);
}

CT_HOST_DEVICE bool flowFailed(const Motion& m, double maxError) { return m.kept == 0 || !(m.error <= maxError); }

//! The box moves, and grows about its centre; no side becomes shorter than LEAST_SIDE by it.
CT_HOST_DEVICE Box moved(const Box& box, const Motion& m)
{
    const double shorter = lesser(box.w, box.h);
    double scale = m.scale;
    if (shorter * scale < LEAST_SIDE)
        scale = lesser(1., LEAST_SIDE / shorter);
    const double far = 4. * MAX_SIDE;
    scale = lesser(scale, far / greater(box.w, box.h));
    return {box.x + m.dx - 0.5 * (scale - 1.) * box.w, box.y + m.dy - 0.5 * (scale - 1.) * box.h, box.w * scale,
            box.h * scale};
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP
