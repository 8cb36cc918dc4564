// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Quick shift by its definition, in double, over all pairs and all candidates. Shares no code with the module.
#ifndef OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_ORACLE_HPP

#include "../test_precomp.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace opencv_test { namespace oracle {

/** Returns a b + c, rounded once, whatever the C library's fma() does. The product is
exact in double. What the sum loses in double decides only where the rest lies half way between two floats. */
inline float fusedMultiplyAdd(float a, float b, float c)
{
    const double product = static_cast<double>(a) * b, sum = product + c;
    const double fromC = sum - product, lost = (product - (sum - fromC)) + (c - fromC);
    const float infinity = std::numeric_limits<float>::infinity(), nearest = static_cast<float>(sum);
    const auto wide = [](float f) { return std::isinf(f) ? std::copysign(0x1p128, f) : static_cast<double>(f); };
    const float other = std::nextafter(nearest, sum > wide(nearest) ? infinity : -infinity);
    if (sum - wide(nearest) != wide(other) - sum) // not half way, or no number
        return nearest;
    return lost > 0. ? std::max(nearest, other) : lost < 0. ? std::min(nearest, other) : nearest;
}

struct QuickShiftResult
{
    Mat density;   //!< CV_64F
    Mat parents;   //!< CV_32S; -1: masked
    Mat distances; //!< CV_64F; +inf: root
};

struct QuickShiftOptions
{
    double sigma = 6., maxDist = 10.;
    std::vector<double> scales = std::vector<double>(16, 1.); //!< of each channel
    int searchRadius = 0;                                     //!< 0: ceil(maxDist)
    bool strict = false, normalize = false;
    Mat mask;
    Mat noise; //!< CV_64F, added to densities; empty: none

    QuickShiftOptions() {}
    QuickShiftOptions(double sigma_, double maxDist_, double scale)
        : sigma(sigma_), maxDist(maxDist_), scales(16, scale)
    {}
};

//! Points of an image in the joint space, and the windows around them.
struct QuickShiftPoints
{
    QuickShiftPoints(const Mat& image, const QuickShiftOptions& o) : options(o), K(image.channels())
    {
        image.convertTo(f, CV_MAKETYPE(CV_64F, K));
    }
    double squared(int x, int y, int u, int v) const
    {
        double d = double(x - u) * (x - u) + double(y - v) * (y - v);
        for (int k = 0; k < K; ++k)
            d += std::pow(options.scales[k] * (f.ptr<double>(y)[x * K + k] - f.ptr<double>(v)[u * K + k]), 2);
        return d;
    }
    bool valid(int x, int y) const { return options.mask.empty() || options.mask.at<uchar>(y, x) != 0; }
    template <typename Body> void visit(int x, int y, int radius, const Body& body) const
    {
        for (int v = std::max(y - radius, 0); v <= std::min(y + radius, f.rows - 1); ++v)
            for (int u = std::max(x - radius, 0); u <= std::min(x + radius, f.cols - 1); ++u)
                if (valid(u, v))
                    body(u, v);
    }
    const QuickShiftOptions& options;
    Mat f;
    int K;
};

inline double densityAt(const QuickShiftPoints& points, int x, int y)
{
    const double sigma = points.options.sigma;
    const int R = int(std::ceil(3 * sigma)), W = points.f.cols, H = points.f.rows;
    double sum = 0;
    points.visit(x, y, R, [&](int u, int v) { sum += std::exp(-points.squared(x, y, u, v) / (2 * sigma * sigma)); });
    const int w = std::min(x + R, W - 1) - std::max(x - R, 0), h = std::min(y + R, H - 1) - std::max(y - R, 0);
    return points.options.normalize ? sum / (std::max(w, 1) * std::max(h, 1)) : sum;
}

inline QuickShiftResult quickShift(const Mat& image, const QuickShiftOptions& o)
{
    const QuickShiftPoints points(image, o);
    const int W = image.cols, H = image.rows, T = o.searchRadius > 0 ? o.searchRadius : int(std::ceil(o.maxDist));
    QuickShiftResult r;
    r.density = Mat::zeros(image.size(), CV_64F);
    r.parents = Mat(image.size(), CV_32S, Scalar(-1));
    r.distances = Mat(image.size(), CV_64F, Scalar(std::numeric_limits<double>::infinity()));
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
            if (points.valid(x, y))
                r.density.at<double>(y, x) =
                    densityAt(points, x, y) + (o.noise.empty() ? 0. : o.noise.at<double>(y, x));
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
        {
            if (!points.valid(x, y))
                continue;
            const int i = y * W + x;
            double best = o.maxDist * o.maxDist;
            int parent = i;
            points.visit(x, y, T,
                         [&](int u, int v)
                         {
                             const double mine = r.density.at<double>(y, x), other = r.density.at<double>(v, u);
                             // Sums of equal terms in another order differ by rounding: a plateau is equal up to 1e-12.
                             const bool equal = std::abs(other - mine) <= 1e-12 * std::abs(mine);
                             if (equal ? o.strict || v * W + u >= i : other < mine)
                                 return;
                             const double d = points.squared(x, y, u, v);
                             if (d < best || (d == best && parent == i))
                             {
                                 best = d;
                                 parent = v * W + u;
                             }
                         });
            r.parents.at<int>(y, x) = parent;
            if (parent != i)
                r.distances.at<double>(y, x) = std::sqrt(best);
        }
    return r;
}

//! Returns labels from parents: the rank of each tree's root.
inline Mat labelsOf(const Mat& parents, int* count = nullptr)
{
    Mat labels(parents.size(), CV_32S);
    std::map<int, int> ranks;
    const int n = int(parents.total());
    for (int i = 0; i < n; ++i)
        if (parents.at<int>(i / parents.cols, i % parents.cols) == i)
            ranks.insert(std::make_pair(i, int(ranks.size())));
    for (int i = 0; i < n; ++i)
    {
        int j = i, p;
        while ((p = parents.at<int>(j / parents.cols, j % parents.cols)) != j && p >= 0)
            j = p;
        labels.at<int>(i / parents.cols, i % parents.cols) = p < 0 ? -1 : ranks[j];
    }
    if (count)
        *count = int(ranks.size());
    return labels;
}

//! Returns the share of pixels where two arrays of parents agree.
inline double sameParents(const Mat& a, const Mat& b) { return 1. - double(countNonZero(a != b)) / double(a.total()); }

//! Returns the share of pixels in the best common part: each segment of `a` counts its largest overlap with one segment
//! of `b`.
inline double overlap(const Mat& a, const Mat& b)
{
    std::map<std::pair<int, int>, int> joint;
    for (int y = 0; y < a.rows; ++y)
        for (int x = 0; x < a.cols; ++x)
            ++joint[std::make_pair(a.at<int>(y, x), b.at<int>(y, x))];
    std::map<int, int> best;
    for (const auto& entry : joint)
        best[entry.first.first] = std::max(best[entry.first.first], entry.second);
    double sum = 0;
    for (const auto& entry : best)
        sum += entry.second;
    return sum / double(a.total());
}

//! Returns the largest relative error of a CV_32F density against this one, where the density is at least `from`.
inline double densityError(const Mat& density, const Mat& truth, double from)
{
    double worst = 0;
    for (int y = 0; y < truth.rows; ++y)
        for (int x = 0; x < truth.cols; ++x)
        {
            const double t = truth.at<double>(y, x);
            if (t > 0 && t >= from)
                worst = std::max(worst, std::abs(density.at<float>(y, x) - t) / t);
        }
    return worst;
}

}} // namespace opencv_test::oracle

#endif // OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_ORACLE_HPP
