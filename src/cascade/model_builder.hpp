// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Builds a model from the values of a file, with all checks.
#ifndef OPENCV_CUDATRACKING_CASCADE_MODEL_BUILDER_HPP
#define OPENCV_CUDATRACKING_CASCADE_MODEL_BUILDER_HPP

#include "../precomp.hpp"
#include "../common/file_nodes.hpp"
#include "model.hpp"

namespace cv { namespace cuda { namespace cascade {

using detail::Item;
using detail::Located;
using detail::Place;

//! Adds values to a model in the order of the file.
class Builder
{
public:
    explicit Builder(Model& model) : model_(model) {}

    void window(const Located& item, int width, int height)
    {
        for (int side : {width, height})
            if (side < MIN_WINDOW || side > MAX_WINDOW)
                item.fail(
                    format("a window of %d x %d, and sides must be %d to %d", width, height, MIN_WINDOW, MAX_WINDOW)
                        .c_str());
        model_.width = width;
        model_.height = height;
    }

    void stage(const Located& item, float threshold)
    {
        if (model_.stages.size() >= static_cast<size_t>(MAX_STAGES))
            item.fail("too many stages");
        model_.stages.push_back({static_cast<int>(model_.trees.size()), 0, threshold - 1e-5f, 0, 0});
        model_.fileThresholds.push_back(threshold);
    }
    void tree()
    {
        model_.trees.push_back({static_cast<int>(model_.nodes.size()), 0});
        ++model_.stages.back().trees;
    }
    //! Adds a node. @param left,right children as in files of the new format: above 0 a node of the tree, else minus
    //! the leaf.
    void node(const Located& item, int feature, float threshold, int left, int right)
    {
        if (model_.nodes.size() >= static_cast<size_t>(MAX_NODES))
            item.fail("too many nodes");
        model_.nodes.push_back({feature, threshold, left, right});
        if (++model_.trees.back().nodes > MAX_TREE_NODES)
            item.fail("too many nodes in a tree");
    }
    void leaf(float value) { model_.leaves.push_back(value); }

    //! Ends a tree: it must have one leaf more than nodes.
    void endTree(const Located& item)
    {
        const size_t expected = model_.nodes.size() + model_.trees.size();
        if (model_.leaves.size() != expected)
            item.fail("a tree must have one leaf more than nodes");
    }

    void haar(const Located& item, const int (*rectangles)[4], const float* weights, int count, bool tilted);
    void lbp(const Located& item, int x, int y, int width, int height)
    {
        if (x + 3 * width > model_.width || y + 3 * height > model_.height)
            item.fail("the feature's 3 x 3 cells do not lie in the window");
        model_.lbp.push_back({static_cast<int16_t>(x), static_cast<int16_t>(y), static_cast<int16_t>(width),
                              static_cast<int16_t>(height)});
    }

    //! Checks and links all nodes and computes what follows from them. @param trees name of the list of trees, for
    //! messages.
    void finish(const Located& item, const char* trees);

private:
    [[noreturn]] void failAt(const Located& item, const char* trees, size_t tree, const std::string& why) const;
    void checkFeatures(const Located& item, const char* trees) const;
    void linkTrees(const Located& item, const char* trees);
    bool fixStage(const Stage& stage, int& shift) const;
    void fixPoints();

    Model& model_;
};

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_MODEL_BUILDER_HPP
