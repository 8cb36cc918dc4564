// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "model_builder.hpp"
#include <algorithm>
#include <atomic>

namespace cv { namespace cuda { namespace cascade {

//! Merges corners at the same position. Does nothing if the sum of the corners would not be exact.
static void mergeCorners(HaarFeature& f)
{
    double most = 0.;
    bool integers = true;
    for (int i = 0; i < f.rectangles; ++i)
    {
        const double area = static_cast<double>(f.rectangle[i][2]) * f.rectangle[i][3] * (f.tilted ? 2 : 1);
        most += std::abs(f.weight[i]) * area * 255.;
        integers = integers && f.weight[i] == std::floor(f.weight[i]) && std::abs(f.weight[i]) < 16777216.f;
    }
    f.exact = integers && most < 16777216.;
    f.corners = 0;
    if (!f.exact)
        return;
    for (int i = 0; i < f.rectangles; ++i)
        for (int k = 0; k < 4; ++k)
        {
            int x, y, at = 0;
            cornerOf(f.rectangle[i], f.tilted != 0, k, x, y);
            while (at < f.corners && (f.corner[at].x != x || f.corner[at].y != y))
                ++at;
            if (at == f.corners)
                f.corner[f.corners++] = {static_cast<int16_t>(x), static_cast<int16_t>(y), 0};
            f.corner[at].weight += cornerSign(k) * static_cast<int>(f.weight[i]);
        }
    const Corner* const end =
        std::remove_if(f.corner, f.corner + f.corners, [](const Corner& c) { return c.weight == 0; });
    f.corners = static_cast<uint8_t>(end - f.corner);
}

int sortCorners(Corner* corners, int count, int& factor)
{
    if (count != 6 && count != 8 && count != 9)
        return 0;
    Corner sorted[9];
    Corner* end = sorted;
    const auto takes = [&](int weight, int wanted)
    {
        Corner* const begin = end;
        end = std::copy_if(corners, corners + count, begin,
                           [&](const Corner& corner) { return corner.weight == weight; });
        return end - begin == wanted;
    };
    int most = 0;
    for (int k = 0; k < count; ++k)
        most = std::max(most, std::abs(corners[k].weight));
    factor = most;
    if (count == 9)
        factor = std::any_of(corners, corners + 9, [](const Corner& corner) { return corner.weight == 4; }) ? 1 : -1;
    const int pairs = (count - 4) / 2;
    const bool fits = count == 9 ? takes(factor, 4) && takes(-2 * factor, 4) && takes(4 * factor, 1)
                                 : most > 1 && takes(1, 2) && takes(-1, 2) && takes(most, pairs) && takes(-most, pairs);
    if (fits)
        std::copy(sorted, end, corners);
    return fits ? count : 0;
}

void Builder::haar(const Located& item, const int (*rectangles)[4], const float* weights, int count, bool tilted)
{
    HaarFeature f = {};
    f.tilted = tilted;
    f.rectangles = static_cast<uint8_t>(count > 2 && weights[2] != 0.f ? 3 : 2);
    for (int i = 0; i < f.rectangles && i < count; ++i)
    {
        const int x = rectangles[i][0], y = rectangles[i][1], w = rectangles[i][2], h = rectangles[i][3];
        const bool inside = tilted ? x - h >= 0 && x + w <= model_.width && y + w + h <= model_.height
                                   : x + w <= model_.width && y + h <= model_.height;
        if (!inside)
            item.fail(tilted ? "a rotated rectangle does not lie in the window"
                             : "a rectangle does not lie in the window");
        for (int k = 0; k < 4; ++k)
            f.rectangle[i][k] = static_cast<int16_t>(rectangles[i][k]);
        f.weight[i] = weights[i];
    }
    mergeCorners(f);
    model_.haar.push_back(f);
}

//! Throws with a tree named as in the file.
void Builder::failAt(const Located& item, const char* trees, size_t tree, const std::string& why) const
{
    size_t stage = 0;
    while (static_cast<size_t>(model_.stages[stage].firstTree) + model_.stages[stage].trees <= tree)
        ++stage;
    item.failBelow(format(".stages[%zu].%s[%zu]", stage, trees, tree - model_.stages[stage].firstTree), why);
}

static size_t featuresOf(const Model& model)
{
    switch (model.featureType())
    {
    case HAAR:
        return model.haar.size();
    case LBP:
        return model.lbp.size();
    }
    return 0;
}

void Builder::checkFeatures(const Located& item, const char* trees) const
{
    const size_t features = featuresOf(model_);
    for (size_t t = 0; t < model_.trees.size(); ++t)
        for (int n = 0; n < model_.trees[t].nodes; ++n)
        {
            const int feature = model_.nodes[model_.trees[t].firstNode + n].feature;
            if (feature < 0 || static_cast<size_t>(feature) >= features)
                failAt(item, trees, t, format("node %d has feature %d, but there are %zu", n, feature, features));
        }
}

//! Converts children from the indices of the file to those of the model.
void Builder::linkTrees(const Located& item, const char* trees)
{
    model_.stumps = model_.nodes.size() == model_.trees.size();
    for (size_t t = 0; t < model_.trees.size(); ++t)
    {
        const Tree& tree = model_.trees[t];
        const int firstLeaf = tree.firstNode + static_cast<int>(t);
        for (int n = 0; n < tree.nodes; ++n)
        {
            Node& node = model_.nodes[tree.firstNode + n];
            if (model_.stumps) // OpenCV ignores the children of stumps
            {
                node.left = 0;
                node.right = -1;
            }
            for (int* child : {&node.left, &node.right})
            {
                if (*child > 0 ? *child <= n || *child >= tree.nodes : -*child > tree.nodes)
                    failAt(item, trees, t, format("node %d: child %d is neither a later node nor a leaf", n, *child));
                *child = *child > 0 ? tree.firstNode + *child : ~(firstLeaf - *child);
            }
        }
    }
}

/** Returns whether a stage can be added up in integers, with the lowest bit of any leaf as the unit: the sum of the
largest leaves must be below 2^53, so that sums in double precision are exact, too. @param shift out: bits of the
fraction. */
bool Builder::fixStage(const Stage& stage, int& shift) const
{
    int lowest = 0;
    double most = 0.;
    for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
    {
        const Tree& tree = model_.trees[t];
        float largest = 0.f;
        for (int k = 0; k <= tree.nodes; ++k)
        {
            const float leaf = model_.leaves[tree.firstNode + t + k];
            largest = std::max(largest, std::abs(leaf));
            int exponent;
            const double mantissa = std::frexp(static_cast<double>(leaf), &exponent);
            int64_t bits = static_cast<int64_t>(std::ldexp(mantissa, 24));
            exponent -= 24;
            for (; bits != 0 && (bits & 1) == 0; bits /= 2)
                ++exponent;
            if (bits != 0)
                lowest = std::min(lowest, exponent);
        }
        most += largest;
    }
    shift = -lowest;
    return std::ldexp(most, shift) < 9007199254740992.;
}

//! Converts leaves and thresholds to fixed point, if all stages allow it.
void Builder::fixPoints()
{
    model_.fixedPoint = true;
    for (Stage& stage : model_.stages)
        model_.fixedPoint = fixStage(stage, stage.shift) && model_.fixedPoint;
    for (Stage& stage : model_.stages)
    {
        if (!model_.fixedPoint)
        {
            stage.shift = 0;
            continue;
        }
        const double limit = 1152921504606846976.; // 2^60; sums are far below
        const double threshold = std::ceil(std::ldexp(static_cast<double>(stage.threshold), stage.shift));
        stage.fixedThreshold = static_cast<int64_t>(std::max(-limit, std::min(threshold, limit)));
        for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
            for (int k = 0; k <= model_.trees[t].nodes; ++k)
                model_.fixedLeaves.push_back(static_cast<int64_t>(
                    std::ldexp(static_cast<double>(model_.leaves[model_.trees[t].firstNode + t + k]), stage.shift)));
    }
}

void Builder::finish(const Located& item, const char* trees)
{
    static std::atomic<uint64_t> versions(0);
    checkFeatures(item, trees);
    linkTrees(item, trees);
    fixPoints();
    model_.tilted = false;
    model_.exact = true;
    for (const HaarFeature& f : model_.haar)
    {
        model_.tilted = model_.tilted || f.tilted;
        model_.exact = model_.exact && f.exact;
    }
    model_.leastContrast = leastContrast(contrastArea(model_.width, model_.height));
    model_.version = ++versions;
}

}}} // namespace cv::cuda::cascade
