// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// flow: tracks the points of a box, and moves the box by their medians.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>
#include <array>

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

const int WINDOW_ROWS = MAX_FLOW_WINDOW + 2; //!< with a border of a pixel, for gradients
const int WINDOW_PIXELS = WINDOW_ROWS * FLOW_LANES;

//! Pixels of a window and of those to its right and below it, in a level or in a copy of it.
struct WindowPixels
{
    const uint8_t* data;
    size_t step;
};

//! Memory for a copy of a window's pixels.
struct CopyOfWindow
{
    uint8_t pixels[(WINDOW_ROWS + 1) * 2 * FLOW_LANES];
};

//! Whether the pixels of a window of size x size, and those to the right of it and below, are inside a level.
//! @param first its first pixel.
bool isInside(const Pyramid& pyramid, int level, const Point& first, int size)
{
    return first.x >= 0 && first.y >= 0 && first.x + size < pyramid.cols[level] && first.y + size < pyramid.rows[level];
}

//! Returns these pixels, which are inside.
WindowPixels pixelsOf(const Pyramid& pyramid, int level, const Point& first)
{
    return {pyramid.data[level] + first.y * pyramid.step[level] + first.x, pyramid.step[level]};
}

//! Copies these pixels. Positions outside of the level take its outer pixels.
WindowPixels copyOuter(const Pyramid& pyramid, int level, const Point& first, int size, CopyOfWindow& copy)
{
    const int cols = pyramid.cols[level], rows = pyramid.rows[level];
    copy = {}; // blendRowsOf() reads whole rows
    for (int j = 0; j <= size; ++j)
        for (int i = 0; i <= size; ++i)
            copy.pixels[j * 2 * FLOW_LANES + i] =
                pyramid.data[level][lesser(rows - 1, greater(0, first.y + j)) * pyramid.step[level] +
                                    lesser(cols - 1, greater(0, first.x + i))];
    return {copy.pixels, 2 * FLOW_LANES};
}

//! Blends size x size pixels from `corner` on, into rows of FLOW_LANES.
void blendWindow(const Pyramid& pyramid, int level, const Point& corner, int size, int16_t* out)
{
    const Point first = {corner.x >> 16, corner.y >> 16};
    CopyOfWindow copy;
    const WindowPixels pixels = isInside(pyramid, level, first, size) ? pixelsOf(pyramid, level, first)
                                                                      : copyOuter(pyramid, level, first, size, copy);
    blendRowsOf(pixels.data, pixels.step, blendOf(corner.x, corner.y), size, out);
}

//! Sums over pixels for trackPoint().
class Sums
{
public:
    Sums(const FlowParameters& follow, const Pyramid& from, const Pyramid& to)
        : window_(follow.window), from_(from), to_(to)
    {}

    Equations equationsAt(int level, const Point& corner)
    {
        const int wide = FLOW_LANES;
        int16_t pixels[WINDOW_PIXELS];
        blendWindow(from_, level, {corner.x - 65536, corner.y - 65536}, window_ + 2, pixels);
        Normal n = {0, 0, 0};
        for (int j = 0; j < window_; ++j)
            for (int i = 0; i < window_; ++i)
            {
                const int16_t* const p = pixels + (j + 1) * wide + i + 1;
                const int gx = gradientOf(p[1 - wide] - p[-1 - wide], p[1] - p[-1], p[1 + wide] - p[wide - 1]);
                const int gy = gradientOf(p[wide - 1] - p[-1 - wide], p[wide] - p[-wide], p[wide + 1] - p[1 - wide]);
                const int k = j * FLOW_LANES + i;
                here_[k] = *p;
                gx_[k] = static_cast<int16_t>(gx);
                gy_[k] = static_cast<int16_t>(gy);
                n.xx += gx * gx;
                n.xy += gx * gy;
                n.yy += gy * gy;
            }
        return equationsOf(n);
    }
    bool load(int level, const Point& pixel)
    {
        if (!isInside(to_, level, pixel, window_))
            return false;
        there_ = pixelsOf(to_, level, pixel);
        return true;
    }
    void loadOuter(int level, const Point& pixel) { there_ = copyOuter(to_, level, pixel, window_, copy_); }
    Change change(const Blend& weights)
    {
        int16_t there[MAX_FLOW_WINDOW * FLOW_LANES];
        blendRowsOf(there_.data, there_.step, weights, window_, there);
        return sumChange(here_, there, gx_, gy_, window_ * FLOW_LANES);
    }

private:
    int window_;
    const Pyramid &from_, &to_;
    // Gradients of lanes after the window stay 0, so that these lanes add nothing.
    int16_t here_[MAX_FLOW_WINDOW * FLOW_LANES] = {}, gx_[MAX_FLOW_WINDOW * FLOW_LANES] = {},
                                    gy_[MAX_FLOW_WINDOW * FLOW_LANES] = {};
    WindowPixels there_ = {};
    CopyOfWindow copy_;
};

//! Returns the NCC of the patches around two points.
double compareAt(const Pyramid& before, const Point& from, const Pyramid& now, const Point& to)
{
    int16_t a[FLOW_PATCH * FLOW_LANES], b[FLOW_PATCH * FLOW_LANES];
    blendWindow(before, 0, patchCorner(from), FLOW_PATCH, a);
    blendWindow(now, 0, patchCorner(to), FLOW_PATCH, b);
    int sumA = 0, sumB = 0, squaresA = 0, squaresB = 0, products = 0;
    for (int pixel = 0; pixel < FLOW_PATCH * FLOW_PATCH; ++pixel)
    {
        const int k = pixel / FLOW_PATCH * FLOW_LANES + pixel % FLOW_PATCH;
        sumA += a[k];
        sumB += b[k];
        squaresA += a[k] * a[k];
        squaresB += b[k] * b[k];
        products += a[k] * b[k];
    }
    return pointNcc(sumA, sumB, squaresA, squaresB, products);
}

//! Finds values count / 2 and (count - 1) / 2 in ascending order. @param count above 0.
template <typename T> void middles(T* values, int count, T& lower, T& upper)
{
    std::nth_element(values, values + count / 2, values + count);
    upper = values[count / 2];
    lower = count % 2 ? upper : *std::max_element(values, values + count / 2);
}

//! Returns the medians of the displacements of some points. @param counts which count.
template <class Counts> ForwardShift shiftOfPoints(const std::array<TrackedPoint, FLOW_POINTS>& points, Counts counts)
{
    ForwardShift shift = {};
    int32_t dx[FLOW_POINTS], dy[FLOW_POINTS], lower, upper;
    for (const TrackedPoint& p : points)
        if (counts(p))
        {
            dx[shift.points] = p.to.x - p.from.x;
            dy[shift.points++] = p.to.y - p.from.y;
        }
    if (shift.points == 0)
        return shift;
    middles(dx, shift.points, lower, upper);
    shift.dx = shiftOf(lower, upper);
    middles(dy, shift.points, lower, upper);
    shift.dy = shiftOf(lower, upper);
    return shift;
}

Motion motionOf(const std::array<TrackedPoint, FLOW_POINTS>& points, double maxError)
{
    Motion motion = {0, 0., 0., 0., 1.};
    int64_t errors[FLOW_POINTS], lowerError, upperError;
    double nccs[FLOW_POINTS], lowerNcc, upperNcc;
    int found = 0;
    for (const TrackedPoint& p : points)
        if (p.found)
        {
            errors[found] = p.error;
            nccs[found++] = p.ncc;
        }
    if (found == 0)
        return motion;
    middles(errors, found, lowerError, upperError);
    middles(nccs, found, lowerNcc, upperNcc);
    motion.error = medianError(lowerError, upperError);
    KeptLimits limits = {motion.error, (lowerNcc + upperNcc) * 0.5};
    if (motion.error > maxError)
    {
        limits = returnedLimits(maxError);
        if (std::count_if(points.begin(), points.end(), [&](const TrackedPoint& p) { return isKept(p, limits); }) <
            LEAST_RETURNED)
            return motion;
    }

    const ForwardShift shift = shiftOfPoints(points, [&](const TrackedPoint& p) { return isKept(p, limits); });
    motion.dx = shift.dx;
    motion.dy = shift.dy;

    const TrackedPoint* kept[FLOW_POINTS];
    for (const TrackedPoint& p : points)
        if (isKept(p, limits))
            kept[motion.kept++] = &p;
    std::array<uint32_t, FLOW_PAIRS> ratios;
    int pairs = 0;
    for (int i = 0; i < motion.kept; ++i)
        for (int j = i + 1; j < motion.kept; ++j)
        {
            const int64_t before = squaredDistance(kept[i]->from, kept[j]->from);
            if (before > 0)
                ratios[pairs++] = ratioKey(before, squaredDistance(kept[i]->to, kept[j]->to));
        }
    if (pairs > 0)
    {
        uint32_t lowerRatio, upperRatio;
        middles(ratios.data(), pairs, lowerRatio, upperRatio);
        motion.scale = scaleOfKeys(lowerRatio, upperRatio);
    }
    return motion;
}

} // namespace

void flow(const Work& work, const ObjectView& object)
{
    const Frame& frame = *work.frame;
    const FlowTask task = beginFrame(*object.state);
    *object.forwardShift = {};
    if (task.age == 0)
        return;
    const Pyramid &before = frame.pyramids[task.age], &now = frame.pyramids[0];
    const FlowParameters follow = flowParametersOf(*work.settings, now.levels, frame.cols, frame.rows);
    std::array<TrackedPoint, FLOW_POINTS> points;
    parallel_for_(
        Range(0, FLOW_POINTS),
        [&](const Range& range)
        {
            Sums there(follow, before, now), back(follow, now, before);
            for (int i = range.start; i < range.end; ++i)
            {
                TrackedPoint& p = points[i];
                p.from = pointOf(task.box, i);
                Point end;
                p.ahead = trackPoint(follow, p.from, p.from, there, p.to);
                p.found = p.ahead && trackPoint(follow, p.to, p.from, back, end);
                if (!p.found)
                    continue;
                p.error = squaredDistance(p.from, end);
                p.ncc = compareAt(before, p.from, now, p.to);
            }
        },
        8.);
    *object.forwardShift = shiftOfPoints(points, [](const TrackedPoint& p) { return p.ahead != 0; });
    const Motion motion = motionOf(points, work.settings->maxFlowError);
    endFlow(*object.state, task, motion, *work.settings, frame.cols, frame.rows);
}

}}}} // namespace cv::cuda::tld::cpu
