// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Windows of a grid: their places, search areas and fields of motion, written once for both backends.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_WINDOWS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_WINDOWS_HPP

#include "../common/views.hpp"
#include "core.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::ConstRowsView;
using detail::RowsView;

//! Equal windows in rows: window i is in column i % cols and row i / cols of the grid.
struct GridOfWindows
{
    int frameCols, frameRows, width, height, stepX, stepY, cols, rows;
};

CT_HOST_DEVICE Rect4 windowOf(const GridOfWindows& grid, int i)
{
    const Rect4 window = {i % grid.cols * grid.stepX, i / grid.cols * grid.stepY, grid.width, grid.height};
    return window;
}

//! Returns the cell of a field of `cells` that the centre of entry i of `count` is in, when both have the same length.
CT_HOST_DEVICE int cellAt(int i, int count, int cells)
{
    return static_cast<int>((2 * static_cast<int64_t>(i) + 1) * cells / (2 * static_cast<int64_t>(count)));
}

//! Returns true if a motion is neither NaN nor infinite.
CT_HOST_DEVICE bool isFinite(float motion) { return fabs(static_cast<double>(motion)) < INFINITY; }

//! Returns a motion in whole pixels, half to even. Beyond 2^16 pixels no frame has a position. @param motion finite.
CT_HOST_DEVICE int wholeMotion(float motion)
{
    const double limit = 65536.;
    return static_cast<int>(rint(motion > limit ? limit : (motion < -limit ? -limit : static_cast<double>(motion))));
}

//! Returns a window's search area: the window moved by (u, v) and enlarged by `reach` on each side; empty
//! unless both are finite.
CT_HOST_DEVICE Rect4 areaOf(const Rect4& window, float u, float v, int reachX, int reachY)
{
    const Rect4 none = {0, 0, 0, 0};
    if (!isFinite(u) || !isFinite(v))
        return none;
    const Rect4 area = {window.x + wholeMotion(u) - reachX, window.y + wholeMotion(v) - reachY,
                        window.width + 2 * reachX, window.height + 2 * reachY};
    return area;
}

//! Returns how far a match is from its window. Each processor has its own NaN, so that of the caller becomes one.
CT_HOST_DEVICE float motionOf(float refined, int window)
{
    return refined != refined ? NAN : refined - static_cast<float>(window);
}

//! Returns whether a match lies inside of its area along one axis: not at the first or last of `count` positions, which
//! lack a neighbour to be refined by, and beyond which the motion may be. @param searched whether the area is larger
//! than the window along the axis; else there is no limit to be at.
CT_HOST_DEVICE bool isInside(float refined, int first, int count, bool searched)
{
    return searched ? refined > static_cast<float>(first) && refined < static_cast<float>(first + count - 1)
                    : refined == refined;
}

//! Search areas of a grid of windows.
struct AreasOfWindows
{
    GridOfWindows grid;
    int reachX, reachY;
    //! Field of motion of any number of rows and columns; null: no motion.
    ConstRowsView<float> u, v;
    int fieldCols, fieldRows;
    RowsView<Rect4> areas; //!< row i: that of window i

    CT_HOST_DEVICE void write(int i) const
    {
        float x = 0.f, y = 0.f;
        if (u)
        {
            const int col = cellAt(i % grid.cols, grid.cols, fieldCols),
                      row = cellAt(i / grid.cols, grid.rows, fieldRows);
            x = u.row(row)[col];
            y = v.row(row)[col];
        }
        *areas.row(i) = areaOf(windowOf(grid, i), x, y, reachX, reachY);
    }
};

//! Matches of a grid of windows, and the field that is made of them.
struct FieldOfWindows
{
    GridOfWindows grid;
    // Row i: window i; the first element of a row is the best peak.
    ConstRowsView<Rect4> areas;
    ConstRowsView<Offset2> refined;
    ConstRowsView<float> scores, confidences;
    ConstRowsView<uint8_t> status;
    // Rows and columns of the grid; null: not written.
    RowsView<float> u, v, score, confidence;
    RowsView<uint8_t> valid;

    CT_HOST_DEVICE void write(int i) const
    {
        const int col = i % grid.cols, row = i / grid.cols;
        const bool found = *status.row(i) == STATUS_FOUND;
        const Rect4 window = windowOf(grid, i);
        if (u)
            u.row(row)[col] = found ? motionOf(refined.row(i)->x, window.x) : NAN;
        if (v)
            v.row(row)[col] = found ? motionOf(refined.row(i)->y, window.y) : NAN;
        if (score)
            score.row(row)[col] = *scores.row(i);
        if (confidence)
            confidence.row(row)[col] = *confidences.row(i);
        if (valid)
            valid.row(row)[col] = found && isInsideArea(i);
    }

private:
    CT_HOST_DEVICE bool isInsideArea(int i) const
    {
        const Rect4& area = *areas.row(i);
        const SearchWindow all = searchWindow(area, grid.frameCols, grid.frameRows, grid.width, grid.height);
        const Offset2& match = *refined.row(i);
        return isInside(match.x, all.x, all.cols, area.width > grid.width) &&
               isInside(match.y, all.y, all.rows, area.height > grid.height);
    }
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_WINDOWS_HPP
