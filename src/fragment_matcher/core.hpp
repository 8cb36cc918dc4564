// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The arithmetic that decides FragmentMatcher's results, written once for both backends. g++ and nvcc compile it with
// contraction off. Every operation on doubles below is a plain IEEE operation, so that both give the same bits.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_CORE_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_CORE_HPP

#include "../common/hostdevice.hpp"
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cv { namespace cuda { namespace fragment_matcher {

//! Metrics, numbered as in FragmentMatcher. Each switch over them lists all, without a default, so that the compiler
//! names the places that a new one needs.
enum class Metric : int
{
    SAD,
    SSD,
    ZNCC,
    LAST = ZNCC //!< the one with the highest number
};
enum Exclusion
{
    EXCLUDE_SQUARE,
    EXCLUDE_CROSS
};
enum Search
{
    SEARCH_FULL,
    SEARCH_THREE_STEP
};
enum Status
{
    STATUS_FOUND,
    STATUS_NO_POSITION,
    STATUS_FLAT_FRAGMENT,
    STATUS_AREA_TOO_LARGE
};

enum SubpixelFit
{
    FIT_PARABOLA,
    FIT_GAUSSIAN
};

const int MAX_PEAKS = 16;

//! Properties of a metric, besides the sums that it is made of.
struct MetricRow
{
    Metric metric;
    //! Values are scores in [-1, 1], which flat fragments do not have; else values are the sum S of differences.
    bool isCorrelation;
    //! S is made of products of image and template bytes, and of sums of the image alone. Such metrics can be computed
    //! by matrix instructions and Fourier transforms.
    bool isProduct;
    //! Differences are absolute, and values rise linearly on both sides of a minimum; else differences are squared, and
    //! values rise quadratically.
    bool isLinear;
};
constexpr MetricRow METRIC_ROWS[] = {
    {Metric::SAD, false, false, true},
    {Metric::SSD, false, true, false},
    {Metric::ZNCC, true, true, false},
};
static_assert(sizeof(METRIC_ROWS) / sizeof(MetricRow) == static_cast<int>(Metric::LAST) + 1, "a row for each metric");

//! Returns a column of the table: bit k is that of the metric with number k. Kernels cannot index the table itself.
constexpr uint32_t bitsOf(bool MetricRow::*property)
{
    uint32_t bits = 0;
    for (const MetricRow& row : METRIC_ROWS)
        bits |= static_cast<uint32_t>(row.*property) << static_cast<int>(row.metric);
    return bits;
}
constexpr uint32_t CORRELATIONS = bitsOf(&MetricRow::isCorrelation), PRODUCTS = bitsOf(&MetricRow::isProduct),
                   LINEAR_METRICS = bitsOf(&MetricRow::isLinear);

constexpr bool isMetric(int number) { return number >= 0 && number <= static_cast<int>(Metric::LAST); }
CT_HOST_DEVICE constexpr bool isCorrelation(Metric metric) { return CORRELATIONS >> static_cast<int>(metric) & 1; }
CT_HOST_DEVICE constexpr bool isProduct(Metric metric) { return PRODUCTS >> static_cast<int>(metric) & 1; }
CT_HOST_DEVICE constexpr bool isLinear(Metric metric) { return LINEAR_METRICS >> static_cast<int>(metric) & 1; }
//! Returns the most that a pixel of one channel and of weight 1 adds to S.
CT_HOST_DEVICE constexpr int largestDifference(Metric metric) { return isLinear(metric) ? 255 : 255 * 255; }

//! Sums over one template, computed when it is set. S(): sum over pixels, q: quantised weight, T: template.
struct TemplateSums
{
    uint64_t W;     //!< S(q)
    uint64_t qT[3]; //!< S(qT) per channel
    uint64_t qT2;   //!< S(qT^2) over all channels
};

struct Rect4
{
    int x, y, width, height; //!< layout of cv::Rect and of a CV_32SC4 element
};

struct Position
{
    int x, y; //!< layout of cv::Point and of a CV_32SC2 element
};

struct Offset2
{
    float x, y; //!< layout of cv::Point2f and of a CV_32FC2 element
};

//! A position of a window and its value. V: unsigned integer that values fit into.
template <typename V> struct Peak
{
    V value;
    int x, y; //!< relative to the window
};

//! The positions to evaluate: `cols` x `rows` top-left corners from (x, y) of the frame on. cols = rows = 0: none.
struct SearchWindow
{
    int x, y, cols, rows;
};

//! Returns 255 w, rounded half to even. NaN and values outside [0,1] become 0; host arrays with such values are refused
//! before.
CT_HOST_DEVICE uint8_t quantiseWeight(float w)
{
    if (!(w >= 0.f && w <= 1.f))
        return 0;
    return static_cast<uint8_t>(rint(255. * static_cast<double>(w))); // the product is exact
}

//! Returns the part of an area that lies in the frame; width = height = 0 if there is none. 64 bits: right and bottom
//! edges may exceed int.
CT_HOST_DEVICE Rect4 clipToFrame(const Rect4& area, int frameCols, int frameRows)
{
    const int64_t right = static_cast<int64_t>(area.x) + area.width,
                  bottom = static_cast<int64_t>(area.y) + area.height;
    const int x0 = area.x > 0 ? area.x : 0, y0 = area.y > 0 ? area.y : 0;
    const int64_t width = (right < frameCols ? right : frameCols) - x0,
                  height = (bottom < frameRows ? bottom : frameRows) - y0;
    const bool any = width > 0 && height > 0 && area.width > 0 && area.height > 0;
    const Rect4 none = {0, 0, 0, 0}, some = {x0, y0, static_cast<int>(width), static_cast<int>(height)};
    return any ? some : none;
}

//! Returns the positions of a width x height fragment in an area that lies in the frame.
CT_HOST_DEVICE SearchWindow searchWindow(const Rect4& clipped, int width, int height)
{
    const int cols = clipped.width - width + 1, rows = clipped.height - height + 1;
    const SearchWindow none = {0, 0, 0, 0}, some = {clipped.x, clipped.y, cols, rows};
    return cols > 0 && rows > 0 ? some : none;
}

//! Returns the positions of a width x height fragment in the part of an area that lies in the frame.
CT_HOST_DEVICE SearchWindow searchWindow(const Rect4& area, int frameCols, int frameRows, int width, int height)
{
    return searchWindow(clipToFrame(area, frameCols, frameRows), width, height);
}

//! Returns the area that a fragment found at `location` can cover in the next frame, clipped to the frame; empty for
//! (-1,-1).
CT_HOST_DEVICE Rect4 predictedArea(Position location, int width, int height, int radius, int frameCols, int frameRows)
{
    const Rect4 none = {0, 0, 0, 0};
    if (location.x == -1 && location.y == -1)
        return none;
    const int64_t x0 = static_cast<int64_t>(location.x) - radius,
                  x1 = static_cast<int64_t>(location.x) + width + radius;
    const int64_t y0 = static_cast<int64_t>(location.y) - radius,
                  y1 = static_cast<int64_t>(location.y) + height + radius;
    const int left = static_cast<int>(x0 > 0 ? x0 : 0), right = static_cast<int>(x1 < frameCols ? x1 : frameCols);
    const int top = static_cast<int>(y0 > 0 ? y0 : 0), bottom = static_cast<int>(y1 < frameRows ? y1 : frameRows);
    const Rect4 area = {left, top, right - left, bottom - top};
    return left < right && top < bottom ? area : none;
}

CT_HOST_DEVICE int exclusionDistance(int requested, int width, int height)
{
    const int half = (width < height ? width : height) / 2;
    return requested > 0 ? requested : (half > 1 ? half : 1);
}

// The exclusion rule. All searches for peaks, by positions, rows or columns, use these functions.

//! Returns true if a position at offset (dx, dy) from a peak may be the next peak.
CT_HOST_DEVICE bool outsideZone(int dx, int dy, int distance, int exclusion)
{
    dx = dx < 0 ? -dx : dx;
    dy = dy < 0 ? -dy : dy;
    const int decisive = exclusion == EXCLUDE_SQUARE ? (dx > dy ? dx : dy) : (dx < dy ? dx : dy);
    return decisive >= distance;
}

// For a whole row at offset dy from the peak (or, as zones are symmetric, a column at dx), the zone covers no position,
// or all of them, or the positions within reach.
CT_HOST_DEVICE bool withinReach(int d, int distance) { return (d < 0 ? -d : d) < distance; }
//! @param within the row is within reach of the peak.
CT_HOST_DEVICE bool zoneCoversNothing(bool within, int exclusion) { return exclusion == EXCLUDE_SQUARE && !within; }
CT_HOST_DEVICE bool zoneCoversAll(bool within, int exclusion) { return exclusion == EXCLUDE_CROSS && within; }
//! Returns the covered positions of a row as bits. @param near bits of the positions within reach.
CT_HOST_DEVICE uint32_t zoneBits(bool within, uint32_t near, int exclusion)
{
    if (exclusion == EXCLUDE_SQUARE)
        return within ? near : 0;
    return within ? ~0u : near;
}

// --- values: positions are compared by them; smaller is better, on equal values the lower raster index wins ----------
// SAD, SSD: the integer sum S. ZNCC: the bits of the float score, mapped so that a larger score is a smaller integer.

CT_HOST_DEVICE uint32_t znccToValue(float score)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof(bits));
    const uint32_t ascending = (bits & 0x80000000u) ? ~bits : (bits | 0x80000000u);
    return ~ascending;
}

CT_HOST_DEVICE float valueToZncc(uint32_t value)
{
    const uint32_t ascending = ~value;
    const uint32_t bits = (ascending & 0x80000000u) ? (ascending ^ 0x80000000u) : ~ascending;
    float score;
    memcpy(&score, &bits, sizeof(score));
    return score;
}

//! Returns t = sum_c W S(qT^2) - S(qT)^2; 0 for a flat fragment. Exact: fits 63 bits up to 53,824 pixels of full
//! weight.
CT_HOST_DEVICE int64_t templateVariance(const TemplateSums& sums)
{
    const uint64_t squares = sums.qT[0] * sums.qT[0] + sums.qT[1] * sums.qT[1] + sums.qT[2] * sums.qT[2];
    return static_cast<int64_t>(sums.W * sums.qT2 - squares);
}

//! Returns the square root of templateVariance(), for znccScoreOf(); 0 for a flat fragment.
CT_HOST_DEVICE double templateDeviation(int64_t t) { return t > 0 ? sqrt(static_cast<double>(t)) : 0.; }

//! Returns the weighted Pearson correlation from its parts, rounded to double, for v > 0 and deviation > 0.
CT_HOST_DEVICE float correlationOf(double n, double v, double deviation)
{
    const double score = n / (sqrt(v) * deviation);
    return static_cast<float>(score > 1. ? 1. : (score < -1. ? -1. : score));
}

//! Returns the weighted Pearson correlation from its exact integer parts. Never NaN. -0 becomes +0, so that equal
//! scores tie.
//! @param deviation templateDeviation()
CT_HOST_DEVICE float znccScoreOf(int64_t n, int64_t v, double deviation)
{
    if (v <= 0 || deviation <= 0. || n == 0)
        return 0.f;
    return correlationOf(static_cast<double>(n), static_cast<double>(v), deviation);
}

CT_HOST_DEVICE float znccScore(int64_t n, int64_t v, int64_t t) { return znccScoreOf(n, v, templateDeviation(t)); }

//! Returns the score that the caller sees.
CT_HOST_DEVICE float scoreOf(uint64_t value, Metric metric, uint64_t W)
{
    if (isCorrelation(metric))
        return valueToZncc(static_cast<uint32_t>(value));
    return static_cast<float>(static_cast<double>(value) / static_cast<double>(W));
}

//! Returns the confidence: how much better the best peak is than the alternative; a ratio >= 0, larger is surer.
CT_HOST_DEVICE float confidenceOf(uint64_t best, uint64_t alternative, Metric metric)
{
    double numerator = static_cast<double>(alternative), denominator = static_cast<double>(best);
    if (isCorrelation(metric))
    {
        numerator = 1. - static_cast<double>(valueToZncc(static_cast<uint32_t>(alternative)));
        denominator = 1. - static_cast<double>(valueToZncc(static_cast<uint32_t>(best)));
    }
    if (denominator > 0.)
        return static_cast<float>(numerator / denominator);
    return numerator > 0. ? INFINITY : 1.f;
}

//! Returns the first step of the three-step search, 2^(ceil(log2(R+1))-1), for walkReach() R.
CT_HOST_DEVICE int firstStep(int reach)
{
    int step = 1;
    while (2 * static_cast<int64_t>(step) < static_cast<int64_t>(reach) + 1)
        step *= 2;
    return step;
}

CT_HOST_DEVICE int clampTo(int value, int low, int high) { return value < low ? low : (value > high ? high : value); }

//! Returns the start of the walk relative to the window: the prediction moved into the window, or the centre of the
//! window.
CT_HOST_DEVICE Position walkStart(const SearchWindow& window, bool predicted, Position prediction)
{
    const Position centre = {(window.cols - 1) / 2, (window.rows - 1) / 2};
    if (!predicted)
        return centre;
    const Position moved = {clampTo(prediction.x, window.x, window.x + window.cols - 1) - window.x,
                            clampTo(prediction.y, window.y, window.y + window.rows - 1) - window.y};
    return moved;
}

//! Returns the largest distance along an axis from the start to the border of the window.
CT_HOST_DEVICE int walkReach(const SearchWindow& window, Position start)
{
    const int x = start.x > window.cols - 1 - start.x ? start.x : window.cols - 1 - start.x;
    const int y = start.y > window.rows - 1 - start.y ? start.y : window.rows - 1 - start.y;
    return x > y ? x : y;
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_CORE_HPP
