// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parts of which readers of files are made: nodes that check themselves when they are asked for a value.
#ifndef OPENCV_CUDATRACKING_COMMON_FILE_NODES_HPP
#define OPENCV_CUDATRACKING_COMMON_FILE_NODES_HPP

#include "opencv2/core.hpp"
#include <cmath>
#include <string>

namespace cv { namespace cuda { namespace detail {

//! Place in the file, for messages. Lives on the stack, so that it costs nothing when there is no error.
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

//! A node's file and place, for messages.
class Located
{
public:
    Located(const std::string& file, const Place& place) : file_(file), place_(place) {}

    [[noreturn]] void fail(const char* why) const { failBelow("", why); }
    //! @param path from this node to the one that is wrong, with its dot.
    [[noreturn]] void failBelow(const std::string& path, const std::string& why) const
    {
        CV_Error_(Error::StsParseError,
                  ("%s: %s%s: %s", file_.c_str(), place_.text().c_str(), path.c_str(), why.c_str()));
    }

protected:
    const std::string& file_;
    const Place& place_;
};

//! Node of the file and its place. Returns values that exist and are in their range, or throws.
class Item : public Located
{
public:
    Item(const FileNode& node, const std::string& file, const Place& place) : Located(file, place), node_(node) {}

    bool isList() const { return node_.isSeq(); }
    //! An empty list in XML, which is read as nothing, counts as missing.
    bool has(const char* name) const { return node_.isMap() && !node_[name].empty() && !node_[name].isNone(); }
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
    //! visit(Item, index) for the elements of a list that is a member.
    template <typename Visit> void eachOf(const char* name, int least, int most, const Visit& visit) const
    {
        with(name,
             [&](const Item& item)
             {
                 item.list(least, most);
                 item.each(visit);
             });
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
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_FILE_NODES_HPP
