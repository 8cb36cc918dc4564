// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Evaluates cascades window by window in plain loops, as cv::CascadeClassifier does, without code of src/. Gray values
// and resizing are by OpenCV.
#ifndef OPENCV_CUDATRACKING_TEST_CASCADE_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_CASCADE_ORACLE_HPP

#include "scenes.hpp"

namespace opencv_test {

struct OracleNode
{
    int left, right, feature; //!< children: above 0 a node of the tree, else minus the leaf
    float threshold;
    std::vector<unsigned> subset;
};
struct OracleTree
{
    std::vector<OracleNode> nodes;
    std::vector<float> leaves;
};
struct OracleStage
{
    float threshold;
    std::vector<OracleTree> trees;
};
struct OracleFeature
{
    std::vector<Rect> rects; //!< LBP: only the upper left cell
    std::vector<float> weights;
    bool tilted;
};
struct OracleCascade
{
    bool haar;
    Size window;
    std::vector<OracleStage> stages;
    std::vector<OracleFeature> features;
};

//! A cascade of the new format that is known to be valid.
inline OracleCascade readOracle(const std::string& file)
{
    FileStorage storage(file, FileStorage::READ);
    const FileNode root = storage.getFirstTopLevelNode();
    OracleCascade c;
    c.haar = std::string(root["featureType"]) == "HAAR";
    c.window = Size(int(root["width"]), int(root["height"]));
    const int perNode = c.haar ? 4 : 11;
    for (const FileNode& stageNode : root["stages"])
    {
        OracleStage stage = {float(stageNode["stageThreshold"]), {}};
        for (const FileNode& treeNode : stageNode["weakClassifiers"])
        {
            OracleTree tree;
            std::vector<double> numbers;
            treeNode["internalNodes"] >> numbers;
            treeNode["leafValues"] >> tree.leaves;
            for (size_t i = 0; i < numbers.size(); i += perNode)
            {
                OracleNode node = {
                    int(numbers[i]), int(numbers[i + 1]), int(numbers[i + 2]), float(numbers[i + 3]), {}};
                for (int k = 0; !c.haar && k < 8; ++k)
                    node.subset.push_back(static_cast<unsigned>(static_cast<int>(numbers[i + 3 + k])));
                tree.nodes.push_back(node);
            }
            stage.trees.push_back(tree);
        }
        c.stages.push_back(stage);
    }
    for (const FileNode& node : root["features"])
    {
        OracleFeature f = {{}, {}, int(node["tilted"]) != 0};
        for (const FileNode& r : node["rects"])
        {
            f.rects.emplace_back(int(r[0]), int(r[1]), int(r[2]), int(r[3]));
            f.weights.push_back(float(r[4]));
        }
        const FileNode r = node["rect"];
        if (!c.haar)
            f.rects.emplace_back(int(r[0]), int(r[1]), int(r[2]), int(r[3]));
        c.features.push_back(f);
    }
    return c;
}

//! One scaled image.
class OracleLayer
{
public:
    OracleLayer(const OracleCascade& cascade, const Mat& gray, Size size) : c_(cascade)
    {
        resize(gray, pixels_, size, 0, 0, INTER_LINEAR_EXACT);
    }

    //! Returns the sum over an upright rectangle.
    int64 sum(const Rect& r, bool squares = false) const
    {
        int64 total = 0;
        for (int y = r.y; y < r.y + r.height; ++y)
            for (int x = r.x; x < r.x + r.width; ++x)
                total += squares ? int64(pixels_.at<uchar>(y, x)) * pixels_.at<uchar>(y, x) : pixels_.at<uchar>(y, x);
        return total;
    }
    //! Returns the sum over a rectangle rotated by 45 degrees, from its upper corner w steps to the lower right, h to
    //! the lower left.
    int64 tiltedSum(const Rect& r) const
    {
        const auto cone = [&](int cx, int cy)
        {
            int64 total = 0;
            for (int y = 0; y < cy; ++y)
                for (int x = std::max(cx - 1 - (cy - y - 1), 0); x <= std::min(cx - 1 + (cy - y - 1), pixels_.cols - 1);
                     ++x)
                    total += pixels_.at<uchar>(y, x);
            return total;
        };
        return cone(r.x, r.y) - cone(r.x - r.height, r.y + r.height) - cone(r.x + r.width, r.y + r.width) +
               cone(r.x + r.width - r.height, r.y + r.width + r.height);
    }

    //! Sets the norm of a window. @return false if it has too little contrast.
    bool setWindow(Point at)
    {
        at_ = at;
        norm_ = 1.f;
        if (!c_.haar)
            return true;
        const Rect inner(at.x + 1, at.y + 1, c_.window.width - 2, c_.window.height - 2);
        const double area = inner.area(), s = double(sum(inner)), contrast = area * double(sum(inner, true)) - s * s;
        if (contrast <= 0)
            return false;
        norm_ = float(1. / std::sqrt(contrast));
        return area * norm_ < 1e-1;
    }
    float haar(const OracleFeature& f) const
    {
        float value = 0.f;
        for (size_t i = 0; i < f.rects.size(); ++i)
        {
            const Rect r = f.rects[i] + at_;
            const float part = f.weights[i] * float(int(f.tilted ? tiltedSum(r) : sum(r)));
            value = i == 0 ? part : value + part;
        }
        return value * norm_;
    }
    int lbp(const OracleFeature& f) const
    {
        static const Point order[8] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
        const Rect cell = f.rects[0] + at_;
        const auto of = [&](Point p) { return sum(cell + Point(p.x * cell.width, p.y * cell.height)); };
        int code = 0;
        for (const Point& p : order)
            code = 2 * code + (of(p) >= of(Point(1, 1)));
        return code;
    }
    bool goesLeft(const OracleNode& node) const
    {
        const OracleFeature& f = c_.features[node.feature];
        if (c_.haar)
            return haar(f) < node.threshold;
        const int code = lbp(f);
        return (node.subset[code / 32] >> (code % 32)) & 1;
    }
    double stageSum(const OracleStage& stage) const
    {
        double total = 0.;
        for (const OracleTree& tree : stage.trees)
        {
            int at = 0;
            do
                at = goesLeft(tree.nodes[at]) ? tree.nodes[at].left : tree.nodes[at].right;
            while (at > 0);
            total += tree.leaves[-at];
        }
        return total;
    }
    //! Returns the stage that failed, or -1. @param weight out: sum of the last evaluated stage.
    int failedStage(double& weight) const
    {
        for (size_t s = 0; s < c_.stages.size(); ++s)
            if ((weight = stageSum(c_.stages[s])) < c_.stages[s].threshold - 1e-5f)
                return int(s);
        return -1;
    }
    Size size() const { return pixels_.size(); }

private:
    const OracleCascade& c_;
    Mat pixels_;
    Point at_;
    float norm_ = 1.f;
};

inline Mat oracleGray(const Mat& image)
{
    Mat gray = image;
    if (image.channels() > 1)
        cvtColor(image, gray, COLOR_BGR2GRAY);
    return gray;
}

inline std::vector<float> oracleScales(Size window, Size image, const CascadeCase& p)
{
    std::vector<float> all, kept;
    for (double factor = 1.;
         cvRound(window.width * factor) <= image.width && cvRound(window.height * factor) <= image.height;
         factor *= p.scaleFactor)
        all.push_back(float(factor));
    const Size most = p.maxSize.width == 0 || p.maxSize.height == 0 ? image : p.maxSize;
    float nearest = 0.f;
    double least = DBL_MAX;
    bool stopped = false;
    for (float s : all)
    {
        const Size box(cvRound(window.width * s), cvRound(window.height * s));
        stopped = stopped || box.width > most.width || box.height > most.height;
        if (!stopped && box.width >= p.minSize.width && box.height >= p.minSize.height)
            kept.push_back(s);
        const double far =
            std::pow(double(p.minSize.width - box.width), 2) + std::pow(double(p.minSize.height - box.height), 2);
        if (far < least)
        {
            least = far;
            nearest = s;
        }
    }
    if (kept.empty() && !all.empty())
        kept.push_back(nearest);
    return kept;
}

/** Appends the candidates in the order of a single thread. @param stripes stripes of the first layer; below 0: this is
the first layer, which sets it. @param passes out: windows of the
grid, those not skipped, those with contrast, and those that passed each stage. */
inline void oracleScan(const OracleCascade& c, const Mat& gray, float s, int& stripes, std::vector<Rect>& boxes,
                       std::vector<double>& weights, std::vector<int>& passes)
{
    passes.assign(3 + c.stages.size(), 0);
    OracleLayer layer(c, gray, Size(cvRound(gray.cols / s), cvRound(gray.rows / s)));
    const int step = s >= 2 ? 1 : 2;
    const int columns = std::max(layer.size().width + 1 - c.window.width, 0);
    const int rows = std::max(layer.size().height + 1 - c.window.height, 0);
    if (stripes < 0)
        stripes = (columns + 31) / 32;
    if (stripes == 0)
        return;
    const int stripe = std::max((rows / step + stripes - 1) / stripes, 1) * step;
    for (int y = 0; y < std::min(rows, stripes * stripe); y += step)
    {
        passes[0] += (columns + step - 1) / step;
        for (int x = 0; x < columns; x += step)
        {
            ++passes[1];
            if (!layer.setWindow(Point(x, y)))
                continue;
            double weight = 0.;
            const int failed = layer.failedStage(weight);
            for (int k = 0; k <= (failed < 0 ? int(c.stages.size()) : failed); ++k)
                ++passes[2 + k];
            if (failed < 0)
            {
                boxes.emplace_back(cvRound(x * s), cvRound(y * s), cvRound(c.window.width * s),
                                   cvRound(c.window.height * s));
                weights.push_back(weight);
            }
            else if (failed == 0)
                x += step;
        }
    }
}

inline bool oracleSimilar(const Rect& a, const Rect& b)
{
    const double delta = 0.2 * (std::min(a.width, b.width) + std::min(a.height, b.height)) * 0.5;
    return std::abs(a.x - b.x) <= delta && std::abs(a.y - b.y) <= delta && std::abs(a.br().x - b.br().x) <= delta &&
           std::abs(a.br().y - b.br().y) <= delta;
}

//! Assigns boxes to groups: similar groups are joined until there are none, then numbered by their first boxes.
inline std::vector<int> oracleGroups(const std::vector<Rect>& boxes)
{
    std::vector<int> lowest(boxes.size());
    for (size_t i = 0; i < boxes.size(); ++i)
        lowest[i] = int(i);
    for (bool changed = true; changed;)
    {
        changed = false;
        for (size_t i = 0; i < boxes.size(); ++i)
            for (size_t j = 0; j < boxes.size(); ++j)
                if (lowest[j] < lowest[i] && oracleSimilar(boxes[i], boxes[j]))
                {
                    lowest[i] = lowest[j];
                    changed = true;
                }
    }
    return lowest;
}

inline void oracleObjects(CascadeResults& r, int minNeighbors, int stages, Size image)
{
    const std::vector<int> lowest = oracleGroups(r.raw);
    std::vector<Rect> mean;
    std::vector<int> counts;
    std::vector<double> weights;
    for (size_t g = 0; g < lowest.size(); ++g)
    {
        int64 n = 0, sum[4] = {};
        double weight = 0.;
        for (size_t i = g; i < lowest.size(); ++i)
            if (lowest[i] == int(g))
            {
                weight = n++ == 0 ? r.rawWeights[i] : std::max(weight, r.rawWeights[i]);
                sum[0] += r.raw[i].x, sum[1] += r.raw[i].y, sum[2] += r.raw[i].width, sum[3] += r.raw[i].height;
            }
        if (n <= minNeighbors)
            continue;
        int m[4];
        for (int k = 0; k < 4; ++k)
            m[k] = cvRound(float(int(sum[k])) * (1.f / float(n)));
        mean.emplace_back(m[0], m[1], m[2], m[3]);
        counts.push_back(int(n));
        weights.push_back(weight);
    }
    for (size_t i = 0; i < mean.size(); ++i)
    {
        bool part = false;
        for (size_t j = 0; j < mean.size(); ++j)
        {
            const Size grown(cvRound(mean[j].width * 0.2), cvRound(mean[j].height * 0.2));
            const Rect around(mean[j].tl() - Point(grown.width, grown.height),
                              mean[j].br() + Point(grown.width, grown.height));
            part = part ||
                   (i != j && (mean[i] & around) == mean[i] && (counts[j] > std::max(3, counts[i]) || counts[i] < 3));
        }
        const Rect inside = mean[i] & Rect(Point(), image);
        if (part || inside.empty())
            continue;
        r.objects.push_back(inside);
        r.numDetections.push_back(counts[i]);
        r.levels.push_back(stages);
        r.weights.push_back(weights[i]);
    }
}

//! Drops candidates at whose centre the mask is 0.
inline void oracleMask(const Mat& mask, std::vector<Rect>& boxes, std::vector<double>& weights)
{
    size_t kept = 0;
    for (size_t i = 0; i < boxes.size(); ++i)
    {
        const Rect b = boxes[i];
        if (mask.at<uchar>(std::min(b.y + b.height / 2, mask.rows - 1), std::min(b.x + b.width / 2, mask.cols - 1)))
        {
            boxes[kept] = b;
            weights[kept++] = weights[i];
        }
    }
    boxes.resize(kept);
    weights.resize(kept);
}

//! Detects objects. @param p with minNeighbors above 0. @param passes out: one row per scale.
inline CascadeResults oracleDetect(const OracleCascade& c, const Mat& image, const CascadeCase& p,
                                   const Mat& mask = Mat(), std::vector<std::vector<int>>* passes = nullptr)
{
    CascadeResults r;
    const Mat gray = oracleGray(image);
    int stripes = -1;
    std::vector<Rect> boxes;
    std::vector<double> weights;
    std::vector<int> counts;
    for (float s : oracleScales(c.window, gray.size(), p))
    {
        oracleScan(c, gray, s, stripes, boxes, weights, counts);
        if (passes)
            passes->push_back(counts);
    }
    if (!mask.empty())
        oracleMask(mask, boxes, weights);
    r.raw = boxes;
    r.rawWeights = weights;
    oracleObjects(r, p.minNeighbors, int(c.stages.size()), gray.size());
    r.raw.clear();
    r.rawWeights.clear();
    for (size_t i = 0; i < boxes.size(); ++i)
        if (!(boxes[i] & Rect(Point(), gray.size())).empty())
        {
            r.raw.push_back(boxes[i] & Rect(Point(), gray.size()));
            r.rawWeights.push_back(weights[i]);
        }
    r.rawLevels.assign(r.raw.size(), int(c.stages.size()));
    return r;
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_CASCADE_ORACLE_HPP
