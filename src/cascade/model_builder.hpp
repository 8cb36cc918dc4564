// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What readers of cascades are made of: nodes that are checked when they are asked, and a model that grows checked.
#ifndef OPENCV_CUDATRACKING_CASCADE_MODEL_BUILDER_HPP
#define OPENCV_CUDATRACKING_CASCADE_MODEL_BUILDER_HPP

#include "../precomp.hpp"
#include "model.hpp"
#include <cmath>

namespace cv { namespace cuda { namespace cascade {

//! Where in the file: for messages. Lives on the stack, so that it costs nothing when all is well.
struct Place
{
    const Place* parent;
    const char* name;
    int index; //!< -1: none

    std::string text() const
    {
        const std::string before = parent ? parent->text() : std::string();
        if (index >= 0)
            return before + format("[%d]", index);
        return before.empty() ? name : before + "." + name;
    }
};

//! A node of the file and where it stands. What it is asked for is there and in its range, or it throws.
class Item
{
public:
    Item(const FileNode& node, const std::string& file, const Place& place) : node_(node), file_(file), place_(place) {}

    [[noreturn]] void fail(const char* why) const
    {
        CV_Error_(Error::StsParseError, ("%s: %s: %s", file_.c_str(), place_.text().c_str(), why));
    }

    bool has(const char* name) const { return node_.isMap() && !node_[name].empty(); }
    FileNode member(const char* name) const { return node_.isMap() ? node_[name] : FileNode(); }

    double real() const
    {
        if (!node_.isInt() && !node_.isReal())
            fail("a number is needed here");
        return static_cast<double>(node_);
    }
    float finite() const
    {
        const float value = static_cast<float>(real());
        if (!std::isfinite(value))
            fail("the number is not finite");
        return value;
    }
    int integer(int least, int most) const
    {
        const double value = real();
        if (!(value >= least && value <= most) || value != std::floor(value))
            fail(format("an integer from %d to %d is needed here", least, most).c_str());
        return static_cast<int>(value);
    }
    std::string string() const
    {
        if (!node_.isString())
            fail("a string is needed here");
        return static_cast<std::string>(node_);
    }
    //! Number of elements of a list.
    int list(int least, int most) const
    {
        if (!node_.isSeq())
            fail("a list is needed here");
        const size_t size = node_.size();
        if (size < static_cast<size_t>(least) || size > static_cast<size_t>(most))
            fail(format("the list has %zu elements, and must have %d to %d", size, least, most).c_str());
        return static_cast<int>(size);
    }

    //! visit(Item) for a member.
    template <typename Visit> void with(const char* name, const Visit& visit) const
    {
        const Place place = {&place_, name, -1};
        visit(Item(member(name), file_, place));
    }
    //! visit(Item, index) for the elements of a list.
    template <typename Visit> void each(const Visit& visit) const
    {
        int index = 0;
        for (const FileNode& node : node_)
        {
            const Place place = {&place_, "", index};
            visit(Item(node, file_, place), index);
            ++index;
        }
    }
    int integerOf(const char* name, int least, int most) const
    {
        int value = 0;
        with(name, [&](const Item& item) { value = item.integer(least, most); });
        return value;
    }
    float finiteOf(const char* name) const
    {
        float value = 0.f;
        with(name, [&](const Item& item) { value = item.finite(); });
        return value;
    }

private:
    FileNode node_;
    const std::string& file_;
    const Place& place_;
};

//! Grows a model, in the order of the file.
class Builder
{
public:
    explicit Builder(Model& model) : model_(model) {}

    void window(const Item& item, int width, int height)
    {
        for (int side : {width, height})
            if (side < MIN_WINDOW || side > MAX_WINDOW)
                item.fail(
                    format("a window of %d x %d, and sides must be %d to %d", width, height, MIN_WINDOW, MAX_WINDOW)
                        .c_str());
        model_.width = width;
        model_.height = height;
    }

    void stage(const Item& item, float threshold)
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
    //! @param left,right as in files.
    void node(const Item& item, int feature, float threshold, int left, int right)
    {
        if (model_.nodes.size() >= static_cast<size_t>(MAX_NODES))
            item.fail("too many nodes");
        model_.nodes.push_back({feature, threshold, left, right});
        if (++model_.trees.back().nodes > MAX_TREE_NODES)
            item.fail("too many nodes in a tree");
    }
    void leaf(float value) { model_.leaves.push_back(value); }

    //! After the leaves of a tree: there must be one more of them than nodes.
    void endTree(const Item& item)
    {
        const size_t expected = model_.nodes.size() + model_.trees.size();
        if (model_.leaves.size() != expected)
            item.fail("a tree must have one leaf more than nodes");
    }

    void haar(const Item& item, const int (*rectangles)[4], const float* weights, int count, bool tilted);
    void lbp(const Item& item, int x, int y, int width, int height)
    {
        if (x + 3 * width > model_.width || y + 3 * height > model_.height)
            item.fail("the feature's 3 x 3 cells do not lie in the window");
        model_.lbp.push_back({static_cast<int16_t>(x), static_cast<int16_t>(y), static_cast<int16_t>(width),
                              static_cast<int16_t>(height)});
    }

    void finish(const Item& item);

private:
    void linkTrees(const Item& item);
    bool fixStage(const Stage& stage, int& shift) const;
    void fixPoints();

    Model& model_;
};

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_MODEL_BUILDER_HPP
