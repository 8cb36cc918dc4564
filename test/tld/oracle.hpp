// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of tracking-learning-detection in plain loops of integers and doubles, written from doc/tld.md and sharing
// no code with src/. What the classes compute in integers is exact here too; patches and flow agree within stated
// bounds.
#ifndef OPENCV_CUDATRACKING_TEST_TLD_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_TLD_ORACLE_HPP

#include "scenes.hpp"
#include "opencv2/video/tracking.hpp"
#include <map>

namespace opencv_test { namespace tld { namespace oracle {

// --- windows ---------------------------------------------------------------------------------------------------------

inline int leastSide(const TLDParams& p, Size object)
{
    const int side = std::min(object.width, object.height);
    return p.minWindow ? p.minWindow : std::min(24, std::max(12, static_cast<int>(std::floor(side / 1.44))));
}

//! Returns positions along one side: round(i * step), halves up. The step is a percentage of `side`, at least a pixel.
inline std::vector<int> positions(int image, int window, int side, int percent)
{
    std::vector<int> all;
    for (int64 i = 0;; ++i)
    {
        const int64 at = (2 * i * std::max(100, side * percent) + 100) / 200;
        if (at + window > image)
            return all;
        all.push_back(static_cast<int>(at));
    }
}

//! Returns all windows in their order: by scale, then y, then x.
inline std::vector<Rect> windows(const TLDParams& p, Size image, Size object)
{
    std::vector<Rect> all;
    for (int k = -p.scales; k <= p.scales; ++k)
    {
        const double s = std::pow(p.scaleFactor, k);
        const Size w(cvRound(object.width * s), cvRound(object.height * s));
        if (std::min(w.width, w.height) < leastSide(p, object) || w.width > image.width || w.height > image.height)
            continue;
        const std::vector<int> xs = positions(image.width, w.width, std::min(w.width, w.height), p.stepPercent);
        for (const int y : positions(image.height, w.height, w.height, p.stepPercent))
            for (const int x : xs)
                all.emplace_back(x, y, w.width, w.height);
    }
    return all;
}

// --- first stage -----------------------------------------------------------------------------------------------------

//! Variance of a window as a fraction: squares * area - sum^2 over area^2.
inline bool variesEnough(const Mat& gray, const Rect& w, double least)
{
    int64 sum = 0, squares = 0;
    for (int y = w.y; y < w.y + w.height; ++y)
        for (int x = w.x; x < w.x + w.width; ++x)
        {
            const int64 v = gray.at<uchar>(y, x);
            sum += v;
            squares += v * v;
        }
    const int64 area = w.area();
    return static_cast<double>(area * squares - sum * sum) >=
           least * static_cast<double>(area) * static_cast<double>(area);
}

// --- second stage ----------------------------------------------------------------------------------------------------

//! Blurs with sigma 2: 13 taps in 256ths, mirrored at the border without its last pixel, rounded once.
inline Mat blurred(const Mat& gray)
{
    int taps[13], sum = 0;
    double total = 0.;
    for (int i = -6; i <= 6; ++i)
        total += std::exp(-i * i / 8.);
    for (int i = 0; i < 13; ++i)
        sum += taps[i] = static_cast<int>(std::floor(256 * std::exp(-(i - 6) * (i - 6) / 8.) / total + 0.5));
    taps[6] += 256 - sum;
    Mat result(gray.size(), CV_8UC1);
    std::vector<int64> column(gray.cols);
    for (int y = 0; y < gray.rows; ++y)
    {
        for (int x = 0; x < gray.cols; ++x)
        {
            column[x] = 0;
            for (int i = -6; i <= 6; ++i)
                column[x] += taps[i + 6] * gray.at<uchar>(borderInterpolate(y + i, gray.rows, BORDER_REFLECT_101), x);
        }
        for (int x = 0; x < gray.cols; ++x)
        {
            int64 all = 0;
            for (int i = -6; i <= 6; ++i)
                all += taps[i + 6] * column[borderInterpolate(x + i, gray.cols, BORDER_REFLECT_101)];
            result.at<uchar>(y, x) = static_cast<uchar>((all + 32768) >> 16);
        }
    }
    return result;
}

//! The posterior 1, in 32768ths.
const int64 ONE = 32768;

//! Positive and negative examples.
struct Leaf
{
    int64 positives, negatives;

    int64 posterior() const
    {
        const int64 all = positives + negatives;
        return positives == 0 ? 0 : (positives * ONE + all / 2) / all;
    }
};

//! A learned model, as files have it.
struct Model
{
    int trees, features, most;
    int64 fernThreshold; //!< threshold of the sum of posteriors
    double nnThreshold, contrast;
    std::vector<int> points; //!< x0, y0, x1, y1 of each comparison in 32768ths of the side less a pixel, tree by tree
    std::map<int, Leaf> leaves;

    int code(const Mat& blurred, const Rect& w, int tree) const
    {
        const auto at = [&](int k)
        {
            const int64 x = (int64(w.width - 1) * points[k] + ONE / 2) / ONE;
            const int64 y = (int64(w.height - 1) * points[k + 1] + ONE / 2) / ONE;
            return blurred.at<uchar>(w.y + int(y), w.x + int(x));
        };
        int bits = 0;
        for (int k = 0; k < features; ++k)
        {
            const int first = 4 * (tree * features + k);
            bits = 2 * bits + (at(first) > at(first + 2));
        }
        return bits;
    }
    int64 sum(const Mat& blurred, const Rect& w) const
    {
        int64 total = 0;
        for (int tree = 0; tree < trees; ++tree)
        {
            const auto leaf = leaves.find((tree << features) + code(blurred, w, tree));
            total += leaf == leaves.end() ? 0 : leaf->second.posterior();
        }
        return total;
    }
};

inline Model modelOf(const std::string& text, const TLDParams& p)
{
    const FileStorage in(text, FileStorage::READ | FileStorage::MEMORY);
    const FileNode object = in["object"]["object"];
    Model m;
    m.trees = p.trees;
    m.features = p.features;
    m.most = p.maxDetections;
    m.fernThreshold = int(object["fernThreshold"]);
    m.nnThreshold = double(object["nnThreshold"]);
    m.contrast = double(object["contrast"]);
    object["features"] >> m.points;
    std::vector<int> leaves;
    object["leaves"] >> leaves;
    for (size_t i = 0; i + 2 < leaves.size(); i += 3)
        m.leaves[leaves[i]] = {leaves[i + 1], leaves[i + 2]};
    return m;
}

struct Passed
{
    Rect box;
    int64 sum;
};
//! Returns windows with enough variance that pass the ferns, in their order; those of largest sums where there are too
//! many.
inline std::vector<Passed> passFerns(const Model& m, const Mat& gray, const std::vector<Rect>& windows, double variance,
                                     int& all)
{
    const Mat smooth = blurred(gray);
    std::vector<Passed> passed;
    for (const Rect& w : windows)
        if (variesEnough(gray, w, variance))
            if (const int64 sum = m.sum(smooth, w); sum > m.fernThreshold)
                passed.push_back({w, sum});
    all = static_cast<int>(passed.size());
    while (static_cast<int>(passed.size()) > m.most)
    {
        size_t worst = 0;
        for (size_t i = 0; i < passed.size(); ++i)
            if (passed[i].sum <= passed[worst].sum)
                worst = i;
        passed.erase(passed.begin() + static_cast<std::ptrdiff_t>(worst));
    }
    return passed;
}

/** Returns the largest mean posterior of a window that overlaps a box by more than `least`. It is 0 where no window has
enough variance and a sum of posteriors of 1 or more. */
inline double supportOf(Model m, const Mat& gray, const std::vector<Rect>& windows, double variance, const Rect2d& box,
                        double least = 0.6)
{
    std::vector<Rect> near;
    for (const Rect& w : windows)
        if (overlap(Rect2d(w), box) > least)
            near.push_back(w);
    m.fernThreshold = ONE - 1;
    m.most = static_cast<int>(near.size());
    int all = 0;
    int64 largest = 0;
    for (const Passed& p : passFerns(m, gray, near, variance, all))
        largest = std::max(largest, p.sum);
    return static_cast<double>(largest) / static_cast<double>(ONE * m.trees);
}

// --- third stage -----------------------------------------------------------------------------------------------------

typedef std::vector<double> Patch; //!< 15 x 15

//! Returns 15 equal cells along one side, in 256ths of a pixel; the remainder is split between both ends.
inline void cellsOf(double begin, double end, double& first, double& size)
{
    const int from = cvRound(256 * begin), to = cvRound(256 * end), cell = (to - from) / 15;
    first = (from + (to - from - 15 * cell) / 2) / 256.;
    size = cell / 256.;
}

//! Returns the means over 15 x 15 cells of the part of a box inside the image; pixels on borders of cells count in
//! parts.
inline Patch patchOf(const Mat& gray, const Rect2d& whole)
{
    Patch patch(225);
    const Rect2d box = whole & Rect2d(0, 0, gray.cols, gray.rows);
    double left, top, width, height;
    cellsOf(box.x, box.x + box.width, left, width);
    cellsOf(box.y, box.y + box.height, top, height);
    const auto part = [](double from, double to, int i) { return std::min(to, i + 1.) - std::max(from, double(i)); };
    for (int r = 0; r < 15; ++r)
        for (int c = 0; c < 15; ++c)
        {
            const double x0 = left + width * c, x1 = x0 + width, y0 = top + height * r, y1 = y0 + height;
            double sum = 0.;
            for (int y = std::max(0, int(std::floor(y0))); y < std::min<double>(gray.rows, y1); ++y)
                for (int x = std::max(0, int(std::floor(x0))); x < std::min<double>(gray.cols, x1); ++x)
                    sum += part(x0, x1, x) * part(y0, y1, y) * gray.at<uchar>(y, x);
            patch[r * 15 + c] = sum / ((x1 - x0) * (y1 - y0));
        }
    return patch;
}

inline Patch rounded(Patch patch)
{
    for (double& v : patch)
        v = cvRound(v);
    return patch;
}

inline std::vector<Patch> patchesOf(const Mat& templates)
{
    std::vector<Patch> all;
    for (int i = 0; i < templates.rows / 15; ++i)
    {
        Patch patch;
        for (int y = 15 * i; y < 15 * i + 15; ++y)
            for (int x = 0; x < 15; ++x)
                patch.push_back(templates.at<uchar>(y, x));
        all.push_back(patch);
    }
    return all;
}
inline std::vector<Patch> patchesOf(const TLDDetector& detector, bool positive)
{
    Mat templates;
    detector.getTemplates(positive, templates);
    return patchesOf(templates);
}

inline double largestDifference(const Patch& a, const Patch& b)
{
    double most = 0.;
    for (size_t i = 0; i < a.size(); ++i)
        most = std::max(most, std::abs(a[i] - b[i]));
    return most;
}

//! Returns the variance with divisor N - 1.
inline double varianceOf(const Patch& patch)
{
    double sum = 0., squares = 0.;
    for (const double v : patch)
        sum += v, squares += v * v;
    return (squares - sum * sum / patch.size()) / (patch.size() - 1);
}

//! Returns (NCC + 1) / 2; 0 if one of the patches is flat.
inline double similarity(const Patch& a, const Patch& b)
{
    double sa = 0., sb = 0., aa = 0., bb = 0., ab = 0.;
    const double n = static_cast<double>(a.size());
    for (size_t i = 0; i < a.size(); ++i)
        sa += a[i], sb += b[i], aa += a[i] * a[i], bb += b[i] * b[i], ab += a[i] * b[i];
    const double va = aa - sa * sa / n, vb = bb - sb * sb / n;
    return va < 1e-9 || vb < 1e-9 ? 0. : ((ab - sa * sb / n) / std::sqrt(va * vb) + 1) / 2;
}

struct Similarity
{
    double relative, conservative;
};
inline Similarity similarityTo(const std::vector<Patch>& positives, const std::vector<Patch>& negatives, const Patch& p)
{
    double all = 0., early = 0., other = 0.;
    for (size_t i = 0; i < positives.size(); ++i)
    {
        const double s = similarity(positives[i], p);
        all = std::max(all, s);
        if (i < (positives.size() + 1) / 2)
            early = std::max(early, s);
    }
    for (const Patch& negative : negatives)
        other = std::max(other, similarity(negative, p));
    const auto ratio = [&](double best)
    {
        if (positives.empty())
            return 0.;
        if (negatives.empty())
            return 1.;
        const double near = 1 - best, far = 1 - other;
        return near + far == 0. ? 0. : far / (near + far);
    };
    return {ratio(all), ratio(early)};
}

// --- flow ------------------------------------------------------------------------------------------------------------

//! Returns the median: the mean of the middle two of an even number.
inline double medianOf(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

inline double nccAround(const Mat& a, Point2f pa, const Mat& b, Point2f pb)
{
    Mat first, second;
    getRectSubPix(a, Size(10, 10), pa, first, CV_32F);
    getRectSubPix(b, Size(10, 10), pb, second, CV_32F);
    const Patch one(first.begin<float>(), first.end<float>()), two(second.begin<float>(), second.end<float>());
    return 2 * similarity(one, two) - 1;
}

//! The outcome of median flow of a box.
enum class Followed
{
    NOT,      //!< flow fails
    WELL,     //!< most points follow
    BY_A_FEW, //!< the points that return to their start
    OPEN      //!< too near to a limit
};

//! Points that flow has found in the other image.
struct FoundPoints
{
    std::vector<Point2f> from, to;
    std::vector<double> errors, nccs;
};

inline FoundPoints findPoints(const TLDParams& p, const Mat& from, const Mat& to, const Rect2d& box)
{
    std::vector<Point2f> points, there, back;
    for (int i = 0; i < 10; ++i)
        for (int j = 0; j < 10; ++j)
            points.emplace_back(static_cast<float>(box.x + 5 + (box.width - 11) * j / 9),
                                static_cast<float>(box.y + 5 + (box.height - 11) * i / 9));
    std::vector<uchar> forwards, backwards;
    const Size window(p.flowWindow, p.flowWindow);
    const TermCriteria criteria(TermCriteria::COUNT + TermCriteria::EPS, p.flowIterations, p.flowEpsilon);
    calcOpticalFlowPyrLK(from, to, points, there, forwards, noArray(), window, p.flowLevels, criteria, 0, 0.);
    back = points;
    calcOpticalFlowPyrLK(to, from, there, back, backwards, noArray(), window, p.flowLevels, criteria,
                         OPTFLOW_USE_INITIAL_FLOW, 0.);
    FoundPoints found;
    for (size_t i = 0; i < points.size(); ++i)
        if (forwards[i] && backwards[i])
        {
            found.from.push_back(points[i]);
            found.to.push_back(there[i]);
            found.errors.push_back(std::hypot(back[i].x - points[i].x, back[i].y - points[i].y));
            found.nccs.push_back(nccAround(from, points[i], to, there[i]));
        }
    return found;
}

//! Selects the points that move the box.
inline Followed keepPoints(const TLDParams& p, const FoundPoints& found, std::vector<size_t>& kept)
{
    if (found.from.empty())
        return Followed::NOT;
    const double median = medianOf(found.errors), ncc = medianOf(found.nccs), limit = std::min(2., p.maxFlowError);
    if (std::abs(median / p.maxFlowError - 1.) < 0.02)
        return Followed::OPEN;
    const bool few = median > p.maxFlowError;
    for (size_t i = 0; i < found.errors.size(); ++i)
    {
        if (few && std::abs(found.errors[i] / limit - 1.) < 0.1)
            return Followed::OPEN;
        if (few ? found.errors[i] < limit : found.errors[i] <= median && found.nccs[i] >= ncc)
            kept.push_back(i);
    }
    if (kept.size() < (few ? 10u : 1u))
        return Followed::NOT;
    return few ? Followed::BY_A_FEW : Followed::WELL;
}

//! Moves a box by median flow of cv::calcOpticalFlowPyrLK.
inline Followed follow(const TLDParams& p, const Mat& from, const Mat& to, const Rect2d& box, Rect2d& result)
{
    const FoundPoints found = findPoints(p, from, to, box);
    std::vector<size_t> kept;
    const Followed followed = keepPoints(p, found, kept);
    if (followed == Followed::NOT || followed == Followed::OPEN)
        return followed;
    std::vector<double> dx, dy, ratios;
    for (size_t i = 0; i < kept.size(); ++i)
    {
        const Point2f a = found.from[kept[i]], b = found.to[kept[i]];
        dx.push_back(b.x - a.x);
        dy.push_back(b.y - a.y);
        for (size_t j = 0; j < i; ++j)
        {
            const Point2f c = found.from[kept[j]], d = found.to[kept[j]];
            ratios.push_back(std::hypot(b.x - d.x, b.y - d.y) / std::hypot(a.x - c.x, a.y - c.y));
        }
    }
    const double s = ratios.empty() ? 1. : medianOf(ratios);
    result = Rect2d(box.x + medianOf(dx) - (s - 1) * box.width / 2, box.y + medianOf(dy) - (s - 1) * box.height / 2,
                    box.width * s, box.height * s);
    return (result & Rect2d(0, 0, to.cols, to.rows)).empty() ? Followed::NOT : followed;
}

// --- clusters --------------------------------------------------------------------------------------------------------

struct Cluster
{
    Rect2d box;
    double confidence, posterior; //!< mean conservative similarity; largest mean posterior of a window
};

//! A table of detections, row by row.
struct Found
{
    Rect2d box;
    double conservative, relative, posterior;
    bool accepted;
};
inline std::vector<Found> foundIn(const Mat& table)
{
    std::vector<Found> all;
    for (int i = 1; i <= table.at<double>(0, TLDDetector::COUNT_STORED); ++i)
    {
        const double* r = table.ptr<double>(i);
        all.push_back({Rect2d(r[0], r[1], r[2], r[3]), r[TLDDetector::DETECTION_CONSERVATIVE],
                       r[TLDDetector::DETECTION_RELATIVE], r[TLDDetector::DETECTION_POSTERIOR],
                       r[TLDDetector::DETECTION_ACCEPTED] == 1.});
    }
    return all;
}

//! Clusters accepted windows that overlap by half, directly or through others; mean boxes, mean similarities.
inline std::vector<Cluster> clustersOf(const std::vector<Found>& found)
{
    std::vector<Found> accepted;
    for (const Found& f : found)
        if (f.accepted)
            accepted.push_back(f);
    std::vector<size_t> lowest(accepted.size());
    for (size_t i = 0; i < accepted.size(); ++i)
        lowest[i] = i;
    for (bool changed = true; changed;)
    {
        changed = false;
        for (size_t i = 0; i < accepted.size(); ++i)
            for (size_t j = 0; j < accepted.size(); ++j)
                if (lowest[j] < lowest[i] && overlap(accepted[i].box, accepted[j].box) >= 0.5)
                {
                    lowest[i] = lowest[j];
                    changed = true;
                }
    }
    std::vector<Cluster> clusters;
    for (size_t k = 0; k < accepted.size(); ++k)
    {
        double x = 0., y = 0., w = 0., h = 0., confidence = 0., posterior = 0., n = 0.;
        for (size_t i = 0; i < accepted.size(); ++i)
            if (lowest[i] == k)
            {
                const Found& f = accepted[i];
                x += f.box.x, y += f.box.y, w += f.box.width, h += f.box.height, confidence += f.conservative, ++n;
                posterior = std::max(posterior, f.posterior);
            }
        if (n > 0)
            clusters.push_back({Rect2d(x / n, y / n, w / n, h / n), confidence / n, posterior});
    }
    return clusters;
}

}}} // namespace opencv_test::tld::oracle

#endif // OPENCV_CUDATRACKING_TEST_TLD_ORACLE_HPP
