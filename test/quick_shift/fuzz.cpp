// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of QuickShift: density, parents and distances are checked within the bounds of the arithmetic,
// everything else for being exactly what follows from these. ../common/fuzz.hpp says how to run other cases, or one
// alone.
#include "fuzz.hpp"
#include "oracle.hpp"

namespace opencv_test { namespace {

using namespace fuzz;

//! Checks parents, distances and densities of all pixels against plain double loops.
class QuickShiftTruth
{
public:
    explicit QuickShiftTruth(const QuickShiftCase& c) : options_(optionsOf(c)), points_(c.images[0], options_), c_(c)
    {
        const double R = c.params.radius();
        // The bound of doc/quick_shift.md: a part of the density itself and a part per other pixel of the window; a
        // density is at least 1.
        densityError_ =
            (c.images[0].channels() > 4 ? 3e-5 : 2e-5) +
            std::ldexp(1., -24) * std::min((2 * R + 1) * (2 * R + 1), static_cast<double>(c.images[0].total()));
        density_ = Mat::zeros(c.images[0].size(), CV_64F);
        for (int y = 0; y < density_.rows; ++y)
            for (int x = 0; x < density_.cols; ++x)
                if (points_.valid(x, y))
                    density_.at<double>(y, x) = oracle::densityAt(points_, x, y);
    }

    std::string checkDensity(const Mat& density) const
    {
        for (int y = 0; y < density.rows; ++y)
            for (int x = 0; x < density.cols; ++x)
            {
                const double truth = density_.at<double>(y, x), got = density.at<float>(y, x);
                if (!(std::abs(got - truth) <= densityError_ * truth))
                    return cv::format("density %.9g instead of %.9g at (%d, %d)", got, truth, x, y);
            }
        return "";
    }

    //! Checks that each parent is the nearest pixel of higher density, for densities and distances within the bounds.
    std::string checkParents(const Mat& parents, const Mat& distances) const
    {
        for (int y = 0; y < parents.rows; ++y)
            for (int x = 0; x < parents.cols; ++x)
            {
                const std::string wrong = checkParent(x, y, parents.at<int>(y, x), distances.at<float>(y, x));
                if (!wrong.empty())
                    return cv::format("(%d, %d): ", x, y) + wrong;
            }
        return "";
    }

private:
    static oracle::QuickShiftOptions optionsOf(const QuickShiftCase& c)
    {
        oracle::QuickShiftOptions o(c.params.sigma, c.params.maxDist, 1.);
        o.scales = c.params.scales;
        o.scales.resize(16, c.params.scales[0]); // fewer than the channels are all equal
        o.strict = c.params.tieRule == QuickShift::STRICT;
        o.normalize = c.params.normalize;
        o.mask = c.mask.empty() ? Mat(c.images[0].size(), CV_8UC1, Scalar(1)) : c.mask.clone();
        const Mat& image = c.images[0];
        const int K = image.channels();
        bool common = o.scales[0] >= 1. / 1024 && o.scales[0] <= 1024.;
        for (int k = 1; k < K; ++k)
            common = common && o.scales[k] == o.scales[0];
        for (int y = 0; image.depth() == CV_32F && y < image.rows; ++y)
            for (int i = 0; i < image.cols * K; ++i)
                if (!(std::abs(image.ptr<float>(y)[i] * (common ? 1. : o.scales[i % K])) <= 1e15))
                    o.mask.at<uchar>(y, i / K) = 0;
        return o;
    }

    std::string checkParent(int x, int y, int parent, float distance) const
    {
        const float inf = std::numeric_limits<float>::infinity();
        const int W = density_.cols, i = y * W + x;
        if (!points_.valid(x, y))
            return parent == -1 && distance == inf ? "" : "masked, but has a parent";
        if (parent < 0 || parent >= static_cast<int>(density_.total()))
            return "the parent is outside";
        const int px = parent % W, py = parent / W;
        const double mine = density_.at<double>(y, x), slack = 2 * densityError_;
        double nearest = options_.maxDist;
        if (parent == i && distance != inf)
            return "a root at a finite distance";
        if (parent != i)
        {
            nearest = std::sqrt(points_.squared(x, y, px, py));
            if (std::abs(nearest - distance) > 1e-6 * nearest)
                return cv::format("distance %.9g instead of %.9g", distance, nearest);
            if (nearest > options_.maxDist * (1 + 1e-6) ||
                std::max(std::abs(px - x), std::abs(py - y)) > c_.params.search())
                return "the parent is too far away";
            if (density_.at<double>(py, px) < mine * (1 - slack))
                return "the parent has a lower density";
        }
        bool nearer = false;
        points_.visit(x, y, c_.params.search(),
                      [&](int u, int v)
                      {
                          nearer = nearer || (density_.at<double>(v, u) > mine * (1 + slack) &&
                                              std::sqrt(points_.squared(x, y, u, v)) < nearest * (1 - 1e-6));
                      });
        return nearer ? "another pixel of higher density is nearer" : "";
    }

    const oracle::QuickShiftOptions options_;
    const oracle::QuickShiftPoints points_;
    const QuickShiftCase& c_;
    Mat density_;
    double densityError_;
};

//! Returns the labels when links longer than tau are cut. @param count out: number of labels.
Mat labelsAt(const Mat& parents, const Mat& distances, float tau, int& count)
{
    Mat cut = parents.clone();
    for (int i = 0; i < static_cast<int>(cut.total()); ++i)
        if (cut.ptr<int>()[i] >= 0 && distances.ptr<float>()[i] > tau)
            cut.ptr<int>()[i] = i;
    return oracle::labelsOf(cut, &count);
}

Mat contoursOf(const Mat& labels, bool thick)
{
    Mat mask = Mat::zeros(labels.size(), CV_8UC1);
    const auto other = [&labels](int x, int y, int u, int v)
    { return u >= 0 && v >= 0 && u < labels.cols && v < labels.rows && labels.at<int>(v, u) != labels.at<int>(y, x); };
    for (int y = 0; y < labels.rows; ++y)
        for (int x = 0; x < labels.cols; ++x)
        {
            int count = 0;
            for (int v = -1; v <= 1; ++v)
                for (int u = -1; u <= 1; ++u)
                    count += other(x, y, x + u, y + v);
            const bool thin = other(x, y, x + 1, y) || other(x, y, x, y + 1) || other(x, y, x + 1, y + 1);
            mask.at<uchar>(y, x) = (thick ? count > 1 : thin) ? 255 : 0;
        }
    return mask;
}

//! Returns the pairs of labels of 4-neighbours, ascending.
Mat pairsOf(const Mat& labels)
{
    std::set<std::pair<int, int>> pairs;
    for (int i = 0; i < static_cast<int>(labels.total()); ++i)
        for (const int n : scenes::neighbours4(labels.size(), i))
            if (labels.ptr<int>()[i] >= 0 && labels.ptr<int>()[n] > labels.ptr<int>()[i])
                pairs.insert(std::make_pair(labels.ptr<int>()[i], labels.ptr<int>()[n]));
    Mat list;
    for (const auto& pair : pairs)
        list.push_back(Vec2i(pair.first, pair.second));
    return list;
}

Mat areasOf(const Mat& labels, int count)
{
    Mat areas = Mat::zeros(count, 1, CV_32SC1);
    for (int i = 0; i < static_cast<int>(labels.total()); ++i)
        if (labels.ptr<int>()[i] >= 0)
            ++areas.at<int>(labels.ptr<int>()[i]);
    return areas;
}

//! Returns outputs that follow exactly from parents and distances, by name; not all outputs.
Outputs consequencesOf(const QuickShiftCase& c, const Mat& parents, const Mat& distances)
{
    int count = 0, cut = 0;
    const Mat labels = oracle::labelsOf(parents, &count);
    const auto number = [](int value) { return Mat(1, 1, CV_64F, Scalar(value)); };
    Outputs o = {{"number", number(count)}, {"labels", labels}, {"contours", contoursOf(labels, c.thick)}};
    o.emplace_back("areas", count ? areasOf(labels, count) : Mat());
    o.emplace_back("segments", labelsAt(parents, distances, static_cast<float>(c.tau), cut));
    std::set<float> different;
    for (int i = 0; i < static_cast<int>(distances.total()); ++i)
        if (distances.ptr<float>()[i] < std::numeric_limits<float>::infinity())
            different.insert(distances.ptr<float>()[i]);
    Mat heights, counts;
    for (const float height : different)
    {
        int n = 0;
        labelsAt(parents, distances, height, n);
        heights.push_back(height);
        counts.push_back(n);
    }
    o.emplace_back("heights", heights);
    o.emplace_back("counts", counts);
    o.emplace_back("pairs", pairsOf(labels));
    o.emplace_back("counts of images", Mat(1, 1, CV_32S, Scalar(count)));
    o.emplace_back("connected labels", scenes::joinedPieces(labels, c.minSize));
    o.emplace_back("connected pairs", pairsOf(o.back().second));
    return o;
}

Mat find(const Outputs& outputs, const std::string& name)
{
    for (const auto& output : outputs)
        if (output.first == name)
            return output.second;
    return Mat();
}

//! Returns a description of the first error, or an empty string. @param outputs outputs of the CPU backend.
std::string judged(const QuickShiftCase& given, const Outputs& outputs)
{
    QuickShiftCase c = given; // densities, parents and distances are needed to judge the rest
    c.calls = QuickShiftCase::DENSITY | QuickShiftCase::PARENTS | QuickShiftCase::DISTANCES;
    c.way = QuickShiftCase::IMAGE;
    c.earlier.release();
    const Outputs alone = runQuickShift(c, Engine::CPU, true);
    const Mat parents = find(alone, "parents"), distances = find(alone, "distances");
    const QuickShiftTruth truth(given);
    std::string wrong = truth.checkDensity(find(alone, "density"));
    if (wrong.empty())
        wrong = truth.checkParents(parents, distances);
    if (!wrong.empty())
        return wrong;
    Outputs expected = consequencesOf(given, parents, distances);
    expected.insert(expected.end(), alone.begin(), alone.end());
    for (const auto& output : outputs)
        for (const auto& e : expected)
            if (const auto result = sameBits(e.second, output.second);
                e.first == output.first && e.second.type() == output.second.type() && !result)
                return e.first + ": " + result.message();
    return "";
}

//! Checks that the outputs of an image of a batch equal those of the image alone, except for consecutive numbers.
std::string judgedBatch(const QuickShiftCase& given, const Outputs& outputs)
{
    const int rows = given.images[0].rows;
    QuickShiftCase c = given;
    c.way = QuickShiftCase::IMAGE;
    c.masks.clear();
    c.earlier.release();
    Outputs all;
    int first = 0, firstConnected = 0;
    for (int i = 0; i < static_cast<int>(given.images.size()); ++i)
    {
        c.images = {given.images[i]};
        c.mask = given.masks.empty() ? Mat() : given.masks[i];
        c.colours = given.colours.rowRange(i * rows, (i + 1) * rows);
        const Outputs one = runQuickShift(c, Engine::CPU, true);
        const Mat labels = find(outputs, cv::format("labels %d", i));
        QuickShiftCase alone = c;
        alone.calls = QuickShiftCase::LABELS;
        if (const auto result = sameBits(find(runQuickShift(alone, Engine::CPU, true), "labels"), labels); !result)
            return cv::format("labels %d: ", i) + result.message();
        all.resize(one.size());
        for (size_t k = 0; k < one.size(); ++k)
        {
            const std::string& name = one[k].first;
            Mat value = one[k].second.clone();
            const int before = name == "pairs" ? first : name == "connected pairs" ? firstConnected : 0;
            if (before > 0 && !value.empty())
                value += Scalar::all(before);
            all[k].first = name;
            if (value.type() == CV_64F && !all[k].second.empty())
                all[k].second += value;
            else if (!value.empty())
                all[k].second.push_back(value);
        }
        first += static_cast<int>(find(one, "number").at<double>(0));
        if (const Mat connected = find(one, "connected"); !connected.empty())
            firstConnected += static_cast<int>(connected.at<double>(0));
    }
    for (const auto& output : outputs)
        for (const auto& e : all)
            if (const auto result = sameBits(e.second, output.second);
                e.first == output.first && e.first != "heights" && e.first != "counts" &&
                e.second.type() == output.second.type() && !result)
                return e.first + ": " + result.message();
    return "";
}

bool judgedIfSmall(const QuickShiftCase& c, const Outputs& outputs, std::string& wrong)
{
    if (c.work > 4e5 || c.images[0].total() > 3000)
        return false;
    wrong = c.way == QuickShiftCase::BATCH ? judgedBatch(c, outputs) : judged(c, outputs);
    return true;
}

TEST(QuickShift_Fuzz, oracle)
{
    expectRightOnCpu("QuickShift_Fuzz", 600, makeQuickShiftCase, runQuickShift, judgedIfSmall);
}

TEST(QuickShift_Fuzz, cpuIsCuda)
{
    requireCuda();
    expectCpuIsCuda("QuickShift_Fuzz", 600, makeQuickShiftCase, runQuickShift);
}

}} // namespace opencv_test
