// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: pyramids, and points that pyramidal Lucas-Kanade tracks in integers.
//
// Positions are 65536ths of a pixel. Interpolated pixels are 16ths of a gray value, so that gradients and differences
// are within +-4080, and sums over a window of up to 11 x 11 pixels fit into 32 bits: they are exact in any order.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP

#include "core_base.hpp"

namespace cv { namespace cuda { namespace tld {

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

//! Whether a step is so short that its level is done.
CT_HOST_DEVICE bool isConverged(const Point& step, int epsilon)
{
    return productOf(step.x, step.x) + productOf(step.y, step.y) <= productOf(epsilon, epsilon);
}
//! Whether a step takes back the one before, but for a hundredth of a pixel.
CT_HOST_DEVICE bool takesBack(const Point& step, const Point& before)
{
    const int x = step.x + before.x, y = step.y + before.y;
    return (x > -655) & (x < 655) & (y > -655) & (y < 655);
}
const Point NO_STEP = {1 << 24, 1 << 24}; //!< before the first step: none takes it back

//! Whether a window is so far outside of a level that its track ends. @param pixel its first.
CT_HOST_DEVICE bool isFar(const FlowParameters& f, int level, const Point& pixel)
{
    const int least = -2 * (f.window / 2) - 1;
    return pixel.x < least || pixel.y < least || pixel.x >= f.cols >> level || pixel.y >= f.rows >> level;
}

/** Tracks one point by Lucas-Kanade from coarse to fine.
@param sums evaluates pixels of a level; all threads of a group get equal sums. Positions outside of a level take its
outer pixels. sums.equationsAt(level, corner) blends the window whose first pixel is `corner`, with a border of a pixel
for gradients, and returns its Equations. sums.load(level, pixel) takes the pixels of the other image for windows that
begin between `pixel` and the next ones; if some may be outside it returns false, and sums.loadOuter(level, pixel) takes
them. sums.change(weights) blends these pixels, and returns the Change.
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
        Point step = NO_STEP, before;
        int i = 0;
        for (;;)
        {
            const Point pixel = {at.x >> 16, at.y >> 16};
            if (!sums.load(level, pixel))
            {
                if (isFar(f, level, pixel))
                {
                    if (level == 0)
                        return false;
                    break;
                }
                sums.loadOuter(level, pixel);
            }
            // A GPU waits for each step, so that steps between the same pixels have one branch.
            bool goesOn, samePixel;
            do
            {
                before = step;
                step = stepOf(equations.normal, equations.scale, sums.change(blendOf(at.x, at.y)));
                at.x += step.x;
                at.y += step.y;
                samePixel = (at.x >> 16 == pixel.x) & (at.y >> 16 == pixel.y);
                goesOn = (++i < f.iterations) & !isConverged(step, f.epsilon) & !takesBack(step, before);
            }
            while (goesOn & samePixel);
            if (goesOn)
                continue;
            if (!isConverged(step, f.epsilon) && takesBack(step, before)) // they oscillate: take the middle
            {
                at.x -= step.x / 2;
                at.y -= step.y / 2;
            }
            break;
        }
    }
    to = {at.x + half, at.y + half};
    return isInside(to, f.cols, f.rows);
}

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_CORE_FLOW_HPP
