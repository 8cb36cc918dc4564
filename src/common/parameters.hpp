// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Reads parameters of a cv::Algorithm from a file: a value of the wrong type or out of range is an error that names it.
#ifndef OPENCV_CUDATRACKING_COMMON_PARAMETERS_HPP
#define OPENCV_CUDATRACKING_COMMON_PARAMETERS_HPP

#include "opencv2/core.hpp"
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

namespace cv { namespace cuda { namespace detail {

class ParameterNode
{
public:
    //! Throws when the node has none of the names: it is missing, or belongs to something else.
    ParameterNode(const char* owner, const FileNode& node, std::initializer_list<const char*> names) : node_(node)
    {
        if (std::none_of(names.begin(), names.end(), [this](const char* name) { return has(name); }))
            CV_Error_(Error::StsParseError, ("fn: has no parameter of %s; is it the right node?", owner));
    }

    bool has(const char* name) const { return node_.isMap() && !node_[name].empty(); }

    //! @param otherwise default, for nodes that lack it.
    double real(const char* name, double otherwise) const { return has(name) ? number(name, node_[name]) : otherwise; }
    int integer(const char* name, int otherwise) const { return has(name) ? whole(name, node_[name]) : otherwise; }
    bool flag(const char* name, bool otherwise) const
    {
        const int value = integer(name, otherwise);
        if (value != 0 && value != 1)
            CV_Error_(Error::StsParseError, ("%s: %d, but it must be 0 or 1", name, value));
        return value != 0;
    }
    //! Returns a list of `least` to `most` numbers.
    std::vector<double> reals(const char* name, const std::vector<double>& otherwise, size_t least, size_t most) const
    {
        return list(name, otherwise, least, most, number);
    }
    //! Returns as many integers as `otherwise` has.
    std::vector<int> integers(const char* name, const std::vector<int>& otherwise) const
    {
        return list(name, otherwise, otherwise.size(), otherwise.size(), whole);
    }

private:
    static double number(const char* name, const FileNode& node)
    {
        if (!node.isInt() && !node.isReal())
            CV_Error_(Error::StsParseError, ("%s: is no number", name));
        return static_cast<double>(node);
    }
    static int whole(const char* name, const FileNode& node)
    {
        const double value = number(name, node);
        if (!std::isfinite(value) || value != std::floor(value))
            CV_Error_(Error::StsParseError, ("%s: %.10g, but it must be an integer", name, value));
        if (std::abs(value) > 2147483647.)
            CV_Error_(Error::StsOutOfRange, ("%s: %s, but it must be -2147483647 to 2147483647", name,
                                             format(std::abs(value) < 1e18 ? "%.0f" : "%.10g", value).c_str()));
        return static_cast<int>(value);
    }
    template <typename T, typename Read>
    std::vector<T> list(const char* name, const std::vector<T>& otherwise, size_t least, size_t most,
                        const Read& read) const
    {
        if (!has(name))
            return otherwise;
        const FileNode node = node_[name];
        const size_t count = node.isSeq() ? node.size() : 0;
        if (count < least || count > most)
            CV_Error_(Error::StsParseError, ("%s: %s, but it must be a list of %s numbers", name,
                                             node.isSeq() ? format("a list of %zu", count).c_str() : "is no list",
                                             format(least < most ? "%zu to %zu" : "%zu", least, most).c_str()));
        std::vector<T> values;
        for (size_t i = 0; i < count; ++i)
            values.push_back(read(format("%s[%zu]", name, i).c_str(), node[static_cast<int>(i)]));
        return values;
    }

    const FileNode node_;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_PARAMETERS_HPP
