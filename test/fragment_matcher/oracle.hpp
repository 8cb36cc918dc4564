// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher as plain loops, from the text of its header alone. Slow, obvious, and shares no code with src/.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_ORACLE_HPP

#include "../test_precomp.hpp"
#include <cmath>
#include <limits>

namespace opencv_test { namespace oracle {

typedef cuda::FragmentMatcher FM;

//! Results of match(), on the host.
struct Result
{
    Mat locations, scores, confidence, status, refined;
};

//! One fragment's positions: top-left corner of the first, how many, and their costs (smaller is better).
struct Map
{
    Point origin;
    Size positions;
    std::vector<double> costs; //!< SAD, SSD: S below 2^53, which a double holds exactly; ZNCC: the negated float score
    std::vector<float> scores;

    double cost(Point p) const { return costs[static_cast<size_t>(p.y) * positions.width + p.x]; }
    float score(Point p) const { return scores[static_cast<size_t>(p.y) * positions.width + p.x]; }
    bool has(Point p) const { return p.x >= 0 && p.y >= 0 && p.x < positions.width && p.y < positions.height; }
};

//! 255 times the weight, rounded to the nearest integer, halves to even: in integers, so that nothing depends on the
//! rounding mode or on what src uses.
inline int quantise(float weight)
{
    int exponent = 0;
    const int64 product = 255 * static_cast<int64>(std::ldexp(std::frexp(weight, &exponent), 24));
    const int shift = 24 - exponent; // weight = product / 255 / 2^shift, shift >= 23
    if (shift > 40)
        return 0;
    const int64 below = product >> shift, twice = 2 * (product - (below << shift)), one = int64(1) << shift;
    return static_cast<int>(twice > one || (twice == one && below % 2 == 1) ? below + 1 : below);
}

//! Weights as 8 bit numbers; 255 everywhere without weights.
inline Mat quantised(const Mat& weights, Size size)
{
    Mat q(size, CV_8UC1, Scalar(255));
    for (int y = 0; y < size.height && !weights.empty(); ++y)
        for (int x = 0; x < size.width; ++x)
            q.at<uchar>(y, x) = weights.type() == CV_8UC1 ? weights.at<uchar>(y, x)
                                                          : static_cast<uchar>(quantise(weights.at<float>(y, x)));
    return q;
}

inline bool searchWindow(Rect area, Size frame, Size fragment, Point& origin, Size& positions)
{
    const int64 left = std::max<int64>(area.x, 0), top = std::max<int64>(area.y, 0);
    const int64 right = std::min<int64>(static_cast<int64>(area.x) + area.width, frame.width);
    const int64 bottom = std::min<int64>(static_cast<int64>(area.y) + area.height, frame.height);
    positions = Size();
    if (right - left < fragment.width || bottom - top < fragment.height)
        return false;
    origin = Point(static_cast<int>(left), static_cast<int>(top));
    positions =
        Size(static_cast<int>(right - left) - fragment.width + 1, static_cast<int>(bottom - top) - fragment.height + 1);
    return true;
}

//! Returns channel c of pixel x from `pixel` on, of an image of 8 or 16 bits.
inline int channelAt(const Mat& image, const uchar* pixel, int x, int c)
{
    const int index = x * image.channels() + c;
    return image.depth() == CV_8U ? pixel[index] : reinterpret_cast<const ushort*>(pixel)[index];
}

//! Exact sum of products, below 2^97, in digits of 32 bits. Not all compilers have integers of 128 bits.
struct ProductSum
{
    //! Adds a b, or subtracts it: `sign` is 1 or -1.
    void add(int sign, uint64 a, uint64 b)
    {
        for (int i = 0; i < 2; ++i)
            for (int k = 0; k < 2; ++k)
            {
                const uint64 product = (a >> 32 * i & 0xffffffffu) * (b >> 32 * k & 0xffffffffu);
                digits[i + k] += sign * static_cast<int64>(product & 0xffffffffu);
                digits[i + k + 1] += sign * static_cast<int64>(product >> 32);
            }
    }
    //! Returns the nearest double, half to even: only the last sum rounds what is then its result.
    double value() const
    {
        int64 d[4] = {digits[0], digits[1], digits[2], digits[3]};
        for (int i = 0; i < 3; ++i)
        {
            d[i + 1] += d[i] >> 32;
            d[i] &= 0xffffffff;
        }
        const double high = static_cast<double>(d[3]) * 0x1p96 + static_cast<double>(d[2]) * 0x1p64;
        const double middle = static_cast<double>(d[1]) * 0x1p32, sum = high + middle;
        return sum + (middle - (sum - high) + static_cast<double>(d[0]));
    }

    int64 digits[4] = {};
};

//! Correlation of one position, from exact sums.
inline float zncc(const Mat& frame, const Mat& templ, const Mat& q, Point at)
{
    ProductSum n, v, t;
    for (int c = 0; c < std::min(frame.channels(), 3); ++c)
    {
        uint64 W = 0, I = 0, T = 0, II = 0, TT = 0, IT = 0;
        for (int y = 0; y < templ.rows; ++y)
        {
            const uchar *weight = q.ptr(y), *image = frame.ptr(at.y + y, at.x), *pixel = templ.ptr(y);
            for (int x = 0; x < templ.cols; ++x)
            {
                const uint64 w = weight[x], i = channelAt(frame, image, x, c), k = channelAt(templ, pixel, x, c);
                W += w, I += w * i, T += w * k, II += w * i * i, TT += w * k * k, IT += w * i * k;
            }
        }
        n.add(1, W, IT);
        n.add(-1, I, T);
        v.add(1, W, II);
        v.add(-1, I, I);
        t.add(1, W, TT);
        t.add(-1, T, T);
    }
    if (v.value() == 0. || t.value() == 0.)
        return 0.f;
    const double score = n.value() / (std::sqrt(v.value()) * std::sqrt(t.value()));
    return static_cast<float>(std::max(-1., std::min(1., score)));
}

//! Returns S of SAD or SSD of one position.
inline uint64 distance(const Mat& frame, const Mat& templ, const Mat& q, Point at, int metric)
{
    uint64 S = 0;
    for (int y = 0; y < templ.rows; ++y)
    {
        const uchar *weight = q.ptr(y), *image = frame.ptr(at.y + y, at.x), *pixel = templ.ptr(y);
        for (int x = 0; x < templ.cols; ++x)
            for (int c = 0; c < std::min(frame.channels(), 3); ++c)
            {
                const int64 d = channelAt(frame, image, x, c) - channelAt(templ, pixel, x, c);
                S += weight[x] * static_cast<uint64>(metric == FM::SAD ? std::abs(d) : d * d);
            }
    }
    return S;
}

inline Map scoreMap(const Mat& frame, const Mat& templ, const Mat& weights, Rect area, int metric)
{
    Map map;
    if (!searchWindow(area, frame.size(), templ.size(), map.origin, map.positions))
        return map;
    const Mat q = quantised(weights, templ.size());
    const double W = cv::sum(q)[0];
    for (int y = 0; y < map.positions.height; ++y)
        for (int x = 0; x < map.positions.width; ++x)
        {
            const Point at = map.origin + Point(x, y);
            if (metric == FM::ZNCC)
            {
                map.scores.push_back(zncc(frame, templ, q, at));
                map.costs.push_back(-static_cast<double>(map.scores.back()));
                continue;
            }
            map.costs.push_back(static_cast<double>(distance(frame, templ, q, at, metric)));
            map.scores.push_back(static_cast<float>(map.costs.back() / W));
        }
    return map;
}

//! Best position among those that `allowed` lets through; (-1,-1) when there is none. Raster order and < settle ties.
template <typename Allowed> Point best(const Map& map, Allowed allowed)
{
    Point found(-1, -1);
    for (int y = 0; y < map.positions.height; ++y)
        for (int x = 0; x < map.positions.width; ++x)
            if (allowed(Point(x, y)) && (found.x < 0 || map.cost(Point(x, y)) < map.cost(found)))
                found = Point(x, y);
    return found;
}

//! Three-step search: 9 points around the present one, the step halves down to 1.
inline Point walk(const Map& map, const Point* prediction)
{
    Point at((map.positions.width - 1) / 2, (map.positions.height - 1) / 2);
    if (prediction)
    {
        at.x = static_cast<int>(std::min<int64>(std::max<int64>(static_cast<int64>(prediction->x) - map.origin.x, 0),
                                                map.positions.width - 1));
        at.y = static_cast<int>(std::min<int64>(std::max<int64>(static_cast<int64>(prediction->y) - map.origin.y, 0),
                                                map.positions.height - 1));
    }
    const int reach =
        std::max(std::max(at.x, map.positions.width - 1 - at.x), std::max(at.y, map.positions.height - 1 - at.y));
    int step = std::max(1 << std::max(static_cast<int>(std::ceil(std::log2(reach + 1.))) - 1, 0), 1);
    for (; step >= 1; step /= 2)
    {
        const Point centre = at;
        at = best(map,
                  [&](Point p)
                  {
                      const int dx = std::abs(p.x - centre.x), dy = std::abs(p.y - centre.y);
                      return (dx == 0 || dx == step) && (dy == 0 || dy == step);
                  });
    }
    return at;
}

inline std::vector<Point> peaks(const Map& map, Size fragment, const FM::Params& params, const Point* prediction)
{
    const int half = std::max(std::min(fragment.width, fragment.height) / 2, 1);
    const int d = params.exclusionDistance > 0 ? params.exclusionDistance : half;
    std::vector<Point> found;
    while (static_cast<int>(found.size()) < params.peaks)
    {
        const Point next =
            found.empty() && params.search == FM::THREE_STEP
                ? walk(map, prediction)
                : best(map,
                       [&](Point p)
                       {
                           for (const Point& peak : found)
                           {
                               const int dx = std::abs(p.x - peak.x), dy = std::abs(p.y - peak.y);
                               if ((params.exclusion == FM::SQUARE ? std::max(dx, dy) : std::min(dx, dy)) < d)
                                   return false;
                           }
                           return true;
                       });
        if (next.x < 0)
            break;
        found.push_back(next);
    }
    return found;
}

//! Offset along one axis; l, c, r are costs.
inline double subpixelOffset(double l, double c, double r, int metric)
{
    double offset = 0.;
    if (metric == FM::SAD) // the steeper side gives the slope of both lines
    {
        if (l > r && l > c)
            offset = (l - r) / (2. * (l - c));
        else if (r >= l && r > c)
            offset = (l - r) / (2. * (r - c));
    }
    else if (l + r - 2. * c > 0.)
        offset = (l - r) / (2. * (l + r - 2. * c));
    return std::min(0.5, std::max(-0.5, offset));
}

//! Offset of a Gaussian along one axis, by the logarithms of the library; costs are negative scores.
inline double gaussianOffset(double l, double c, double r)
{
    if (l >= 0. || c >= 0. || r >= 0.)
        return subpixelOffset(l, c, r, FM::ZNCC);
    typedef long double Real;
    const Real a = std::log(-Real(l)), b = std::log(-Real(c)), d = std::log(-Real(r));
    const Real curvature = (b - a) + (b - d);
    if (!(curvature > 0))
        return 0.;
    return static_cast<double>(std::min(Real(.5), std::max(Real(-.5), (d - a) / (2 * curvature))));
}

inline Point2f refine(const Map& map, Point p, const FM::Params& params)
{
    const auto offset = [&](Point step)
    {
        if (!map.has(p - step) || !map.has(p + step))
            return 0.f;
        const double l = map.cost(p - step), c = map.cost(p), r = map.cost(p + step);
        return static_cast<float>(params.subpixelFit == FM::GAUSSIAN ? gaussianOffset(l, c, r)
                                                                     : subpixelOffset(l, c, r, params.metric));
    };
    const float x = offset(Point(1, 0)), y = offset(Point(0, 1));
    return Point2f(static_cast<float>(map.origin.x + p.x) + x, static_cast<float>(map.origin.y + p.y) + y);
}

//! Alternative against best. For ZNCC both are distances from a perfect score.
inline float confidence(const Map& map, Point best, Point alternative, int metric)
{
    const double b = metric == FM::ZNCC ? 1. + map.cost(best) : map.cost(best);
    const double a = metric == FM::ZNCC ? 1. + map.cost(alternative) : map.cost(alternative);
    if (b == 0.)
        return a == 0. ? 1.f : std::numeric_limits<float>::infinity();
    return static_cast<float>(a / b);
}

//! True when the pixels that count are of one colour.
inline bool isFlat(const Mat& templ, const Mat& weights)
{
    const Mat counts = quantised(weights, templ.size());
    const uchar* first = nullptr;
    for (int y = 0; y < templ.rows; ++y)
        for (int x = 0; x < templ.cols; ++x)
        {
            if (counts.at<uchar>(y, x) == 0)
                continue;
            first = first ? first : templ.ptr(y, x);
            if (!std::equal(first, first + std::min(templ.channels(), 3) * templ.elemSize1(), templ.ptr(y, x)))
                return false;
        }
    return true;
}

//! Results for `count` fragments before any is searched.
inline Result emptyResult(int count, int K)
{
    Result result;
    result.locations = Mat(count, K, CV_32SC2, Scalar::all(-1));
    result.scores = Mat::zeros(count, K, CV_32FC1);
    result.confidence = Mat(count, 1, CV_32FC1, Scalar::all(-1));
    result.status = Mat(count, 1, CV_8UC1, Scalar::all(FM::FOUND));
    result.refined = Mat(count, K, CV_32FC2, Scalar::all(-1));
    return result;
}

//! Writes row i of the results from the map of fragment i.
inline void report(Result& result, int i, const Map& map, Size fragment, const FM::Params& params,
                   const Point* prediction)
{
    if (map.costs.empty())
    {
        result.status.at<uchar>(i) = FM::NO_POSITION;
        return;
    }
    const std::vector<Point> found = peaks(map, fragment, params, prediction);
    for (size_t j = 0; j < found.size(); ++j)
    {
        const int column = static_cast<int>(j);
        const Point corner = map.origin + found[j];
        result.locations.at<Point>(i, column) = corner;
        result.scores.at<float>(i, column) = map.score(found[j]);
        result.refined.at<Point2f>(i, column) =
            params.subpixel ? refine(map, found[j], params)
                            : Point2f(static_cast<float>(corner.x), static_cast<float>(corner.y));
    }
    if (found.size() > 1)
        result.confidence.at<float>(i) = confidence(map, found[0], found[1], params.metric);
}

//! match() on the CPU. `areas` empty: the whole frame; `predictions` empty: none, else CV_32SC2.
inline Result match(const Mat& frame, const std::vector<Mat>& templates, const std::vector<Mat>& weights,
                    const std::vector<Rect>& areas, const Mat& predictions, const FM::Params& params)
{
    const int count = static_cast<int>(templates.size());
    Result result = emptyResult(count, params.peaks);
    for (int i = 0; i < count; ++i)
    {
        const Mat w = weights.empty() ? Mat() : weights[i];
        const Rect area = areas.empty() ? Rect(Point(), frame.size()) : areas[i];
        const Map map = scoreMap(frame, templates[i], w, area, params.metric);
        if (params.metric == FM::ZNCC && !map.costs.empty() && isFlat(templates[i], w))
            result.status.at<uchar>(i) = FM::FLAT_FRAGMENT;
        report(result, i, map, templates[i].size(), params, predictions.empty() ? nullptr : predictions.ptr<Point>(i));
    }
    return result;
}

}} // namespace opencv_test::oracle

#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_ORACLE_HPP
