// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: median flow. Pyramidal Lucas-Kanade in integers, forward and backward, and the motion of a box.
//
// Positions are 65536ths of a pixel. Interpolated pixels are 16ths of a gray value, so that gradients and differences
// are within +-4080, and sums over a window of up to 11 x 11 pixels fit into 32 bits: they are exact in any order.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP

#include "core_base.hpp"

namespace cv { namespace cuda { namespace tld {

const int FLOW_GRID = 10, FLOW_POINTS = FLOW_GRID * FLOW_GRID; //!< points per box
const int FLOW_PAIRS = FLOW_POINTS * (FLOW_POINTS - 1) / 2;
const int FLOW_PATCH = 10; //!< side of the patches around points that NCC compares, pixels
const int MAX_FLOW_WINDOW = 11, MAX_LEVELS = 7;
const int KEPT_FRAMES = 5; //!< the current frame, and those from which flow may still begin
/** The age that stands for the image of the last add(). It may be the last frame or the next one: objects that were
added with it begin their flow there, and all others continue from the last frame. */
const int START = KEPT_FRAMES;

struct Point
{
    int32_t x, y;
};

// --- pyramid ---------------------------------------------------------------------------------------------------------

//! Returns the number of levels, with level 0, the image. As in cv::calcOpticalFlowPyrLK(), each side is longer than
//! the window.
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
/** Rounds a pixel (x, y) of the next level, as cv::pyrDown() does. @param sum over the 25 pixels around (2x, 2y),
mirrored() at the border, weighted by 1 4 6 4 1 in both directions. */
CT_HOST_DEVICE unsigned halved(unsigned sum) { return (sum + 128u) >> 8; }

// --- one point -------------------------------------------------------------------------------------------------------

//! Bilinear weights of four neighbours, which sum up to 16384.
struct Blend
{
    int w00, w10, w01, w11;
};
//! Returns the weights for a position. @param x,y the whole part is the first neighbour.
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
//! Interpolates between four pixels: 16ths of a gray value, 0 to 4080.
CT_HOST_DEVICE int blended(const Blend& w, int p00, int p10, int p01, int p11)
{
    return (p00 * w.w00 + p10 * w.w10 + p01 * w.w01 + p11 * w.w11 + 512) >> 10;
}
/** Returns the Scharr gradient, 32 times the gray values per pixel. @param d0,d1,d2 differences of blended pixels:
right minus left in three rows, or below minus above in three columns. */
CT_HOST_DEVICE int gradientOf(int d0, int d1, int d2) { return (3 * (d0 + d2) + 10 * d1 + 8) >> 4; }

//! Matrix of the normal equations: sums over the window of squares and product of the gradients.
struct Normal
{
    int32_t xx, xy, yy;
};
//! Right side of the normal equations: sums over the window of gradients times (pixel in the other image - pixel).
struct Change
{
    int32_t x, y;
};

//! Multiplies without loss.
CT_HOST_DEVICE int64_t productOf(int32_t a, int32_t b)
{
#ifdef __CUDA_ARCH__ // the compiler would extend factors that do not change in a loop to 64 bits, and multiply those
    int64_t product;
    asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#else
    return static_cast<int64_t>(a) * b;
#endif
}
//! Returns the determinant of the matrix; 0 where the gradients have one direction only.
CT_HOST_DEVICE int64_t determinantOf(const Normal& n) { return productOf(n.xx, n.yy) - productOf(n.xy, n.xy); }
//! Returns the factor that stepOf() needs. @param determinant above 0.
CT_HOST_DEVICE double stepScale(int64_t determinant) { return 2. * 65536. / static_cast<double>(determinant); }
//! Returns the solution of the normal equations, at most 64 pixels in x and y.
CT_HOST_DEVICE Point stepOf(const Normal& n, double scale, const Change& c)
{
    const int64_t x = productOf(n.xy, c.y) - productOf(n.yy, c.x);
    const int64_t y = productOf(n.xy, c.x) - productOf(n.xx, c.y);
    return {roundWithin(static_cast<double>(x) * scale, 64 * 65536),
            roundWithin(static_cast<double>(y) * scale, 64 * 65536)};
}

//! The normal equations of a window, without their right side.
struct Equations
{
    Normal normal;
    double scale; //!< factor for stepOf(); 0 where the gradients have one direction only
};
CT_HOST_DEVICE Equations equationsOf(const Normal& n)
{
    const int64_t determinant = determinantOf(n);
    return {n, determinant > 0 ? stepScale(determinant) : 0.};
}

//! Whether a point is inside the image. Points outside are lost.
CT_HOST_DEVICE bool isInside(const Point& p, int cols, int rows)
{
    return p.x >= 0 && p.y >= 0 && p.x < cols * 65536 && p.y < rows * 65536;
}

//! Returns the first pixel of the window around a point, on a level. @param half half the side of the window, 65536ths.
CT_HOST_DEVICE Point cornerAt(const Point& p, int level, int half)
{
    const int round = level > 0 ? 1 << (level - 1) : 0;
    return {((p.x + round) >> level) - half, ((p.y + round) >> level) - half};
}

//! Parameters of trackPoint(), equal for all points.
struct FlowParameters
{
    int levels;              //!< number of levels of both pyramids
    int cols, rows;          //!< size of level 0
    int window;              //!< side of the window, odd
    int iterations, epsilon; //!< epsilon: 65536ths of a pixel
};

CT_HOST_DEVICE FlowParameters flowParametersOf(const Settings& s, int levels, int cols, int rows)
{
    return {levels, cols, rows, s.flowWindow, s.flowIterations, roundEven(s.flowEpsilon * 65536.)};
}

/** Tracks one point by Lucas-Kanade from coarse to fine.
@param sums evaluates pixels of a level; all threads of a group get equal sums. Positions outside of a level take its
outer pixels. sums.equationsAt(level, corner) blends the window whose first pixel is `corner`, with a border of a pixel
for gradients, and returns its Equations. sums.changeAt(level, corner) returns the Change of that window against the one
at `corner` in the other image.
@param guess where the search begins: `from` forward, and the start of the forward track backward.
@param to out: the tracked point. @return false when the point is lost. */
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
        const Equations equations = sums.equationsAt(level, origin);
        if (equations.scale == 0.)
        {
            if (level == 0)
                return false;
            continue;
        }
        const int farX = (f.cols >> level) * 65536, farY = (f.rows >> level) * 65536;
        Point before = {0, 0};
        for (int i = 0; i < f.iterations; ++i)
        {
            const bool isFar = at.x < -2 * half - 65536 || at.y < -2 * half - 65536 || at.x >= farX || at.y >= farY;
            const Point step =
                stepOf(equations.normal, equations.scale, sums.changeAt(level, at)); // a GPU makes the test meanwhile
            if (isFar)
            {
                if (level == 0)
                    return false;
                break;
            }
            at.x += step.x;
            at.y += step.y;
            if (static_cast<int64_t>(step.x) * step.x + static_cast<int64_t>(step.y) * step.y <=
                static_cast<int64_t>(f.epsilon) * f.epsilon)
                break;
            const int sx = step.x + before.x, sy = step.y + before.y;
            if (i > 0 && sx > -655 && sx < 655 && sy > -655 && sy < 655) // the steps oscillate: take the middle
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

//! Returns point i of a regular grid 5 pixels inside the border of a box.
CT_HOST_DEVICE Point pointOf(const Box& box, int i)
{
    const double part = 1. / (FLOW_GRID - 1);
    const double x = box.x + 5. + (box.w - 11.) * ((i % FLOW_GRID) * part);
    const double y = box.y + 5. + (box.h - 11.) * ((i / FLOW_GRID) * part);
    const double far = MAX_SIDE;
    return {roundEven(greater(-far, lesser(far, x)) * 65536.), roundEven(greater(-far, lesser(far, y)) * 65536.)};
}

//! A point that was tracked forward and backward. The backward search begins at the start of the forward track.
struct TrackedPoint
{
    Point from, to;
    int32_t ahead; //!< the forward track did not lose it
    int32_t found; //!< neither track lost it
    int64_t error; //!< squared forward-backward distance
    double ncc;    //!< NCC of the patches around `from` and `to`; 0 if one is flat
};

CT_HOST_DEVICE int64_t squaredDistance(const Point& a, const Point& b)
{
    const int64_t dx = static_cast<int64_t>(a.x) - b.x, dy = static_cast<int64_t>(a.y) - b.y;
    return dx * dx + dy * dy;
}
//! Returns the first pixel of the patch around a point.
CT_HOST_DEVICE Point patchCorner(const Point& p)
{
    return {p.x - (FLOW_PATCH - 1) * 32768, p.y - (FLOW_PATCH - 1) * 32768};
}
//! Returns the NCC of two patches of FLOW_PATCH^2 blended pixels from their sums; 0 if one is flat.
CT_HOST_DEVICE double pointNcc(int64_t sumA, int64_t sumB, int64_t squaresA, int64_t squaresB, int64_t products)
{
    const int64_t n = FLOW_PATCH * FLOW_PATCH;
    const int64_t a = n * squaresA - sumA * sumA, b = n * squaresB - sumB * sumB;
    if (a <= 0 || b <= 0)
        return 0.;
    return static_cast<double>(n * products - sumA * sumB) / sqrt(static_cast<double>(a) * static_cast<double>(b));
}

/* How points move a box. The median of n values is the mean of values n / 2 and (n - 1) / 2 in ascending order. A found
point is kept when neither its error nor its NCC is worse than the median over the found points. If the median error is
above maxFlowError, most points are wrong, and so is what the medians say of the others: then the returned points are
kept, if there are LEAST_RETURNED of them, and else none. The shift (dx, dy) is the median of to - from over the kept
points. The scale is the median, over all pairs of kept points, of their distance in `to` by their distance in `from`,
without pairs that coincide in `from`. */
const int LEAST_RETURNED = FLOW_POINTS / 10;
const double RETURNED_ERROR = 2.; //!< largest error of a returned point, pixels

//! Conditions for a point to be kept.
struct KeptLimits
{
    double error; //!< largest error, pixels
    double ncc;   //!< smallest NCC
};
//! Returns the limits of returned points, which hold for any NCC.
CT_HOST_DEVICE KeptLimits returnedLimits(double maxError) { return {lesser(RETURNED_ERROR, maxError), -2.}; }

CT_HOST_DEVICE double medianError(int64_t lower, int64_t upper)
{
    return (sqrt(static_cast<double>(lower)) + sqrt(static_cast<double>(upper))) * (0.5 / 65536.);
}
CT_HOST_DEVICE bool isKept(const TrackedPoint& f, const KeptLimits& limits)
{
    return f.found && sqrt(static_cast<double>(f.error)) * (1. / 65536.) <= limits.error && f.ncc >= limits.ncc;
}
//! Returns the ratio of two distances as an integer of equal order. @param before,after squared distances, before above
//! 0.
CT_HOST_DEVICE uint32_t ratioKey(int64_t before, int64_t after)
{
    const double ratio = sqrt(static_cast<double>(after) / static_cast<double>(before)) * 16777216.;
    return ratio < 4294967295. ? static_cast<uint32_t>(ratio + 0.5) : 4294967295u;
}
CT_HOST_DEVICE double scaleOfKeys(uint32_t lower, uint32_t upper)
{
    return (static_cast<double>(lower) + static_cast<double>(upper)) * (0.5 / 16777216.);
}

//! Motion of a box, from its points.
struct Motion
{
    int32_t kept;  //!< number of kept points; 0: flow has failed
    double error;  //!< median forward-backward distance of the found points, pixels
    double dx, dy; //!< shift, pixels
    double scale;  //!< 1 for a single point
};

//! Converts the two middle values of shifts to their mean in pixels.
CT_HOST_DEVICE double shiftOf(int32_t lower, int32_t upper)
{
    return (static_cast<double>(lower) + static_cast<double>(upper)) * (0.5 / 65536.);
}

//! Where the points of a box have gone by their forward tracks alone. It is known before the backward tracks are.
struct ForwardShift
{
    int32_t points; //!< that the forward tracks did not lose; 0: no shift
    double dx, dy;  //!< medians over these, pixels
};

//! Shifts a box and scales it about its centre. The scale does not make a side shorter than LEAST_SIDE.
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
