// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Part of core.hpp: median flow. The points of a box, tracked forward and backward, and how they move it.
#ifndef OPENCV_CUDATRACKING_TLD_CORE_MOTION_HPP
#define OPENCV_CUDATRACKING_TLD_CORE_MOTION_HPP

#include "core_flow.hpp"

namespace cv { namespace cuda { namespace tld {

const int FLOW_GRID = 10, FLOW_POINTS = FLOW_GRID * FLOW_GRID; //!< points per box
const int FLOW_PAIRS = FLOW_POINTS * (FLOW_POINTS - 1) / 2;
const int FLOW_PATCH = 10; //!< side of the patches around points that NCC compares, pixels

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

#endif // OPENCV_CUDATRACKING_TLD_CORE_MOTION_HPP
