// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parameters of a cv::Algorithm. A class lists each of them once; defaults, checks, reading and writing are made of the
// list. A value of the wrong type or out of range is an error that names it.
#ifndef OPENCV_CUDATRACKING_COMMON_PARAMETERS_HPP
#define OPENCV_CUDATRACKING_COMMON_PARAMETERS_HPP

#include "opencv2/core.hpp"
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <tuple>
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

    //! Replaces a value by that of the node, if the node has it.
    void replace(const char* name, double& value) const { value = real(name, value); }
    void replace(const char* name, int& value) const { value = integer(name, value); }
    void replace(const char* name, bool& value) const { value = flag(name, value); }
    void replace(const char* name, Size& value) const
    {
        const std::vector<int> sides = integers(name, {value.width, value.height});
        value = Size(sides[0], sides[1]);
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

//! A member of Params: its name in files, default and range.
template <typename Params, typename T> struct Parameter
{
    const char* name;
    T Params::*member;
    T byDefault, lowest, highest;
};

inline void checkRange(const char* name, int value, int lowest, int highest)
{
    if (value < lowest || value > highest)
        CV_Error_(Error::StsOutOfRange, ("Params::%s: %d, but it must be %d to %d", name, value, lowest, highest));
}
inline void checkRange(const char* name, double value, double lowest, double highest)
{
    if (!(value >= lowest && value <= highest))
        CV_Error_(Error::StsOutOfRange, ("Params::%s: %.10g, but it must be %g to %g", name, value, lowest, highest));
}
inline void checkRange(const char*, bool, bool, bool) {}
inline void checkRange(const char* name, Size value, Size lowest, Size)
{
    if (value.width < lowest.width || value.height < lowest.height)
        CV_Error_(Error::StsOutOfRange,
                  ("Params::%s: %d x %d, but it must not be negative", name, value.width, value.height));
}

// Functions for a tuple of all parameters, in the order of files.

template <typename Params, typename... T>
void setDefaults(Params& params, const std::tuple<Parameter<Params, T>...>& all)
{
    std::apply([&](const auto&... one) { ((params.*one.member = one.byDefault), ...); }, all);
}

//! @throws cv::Exception with name and value of the first one out of its range.
template <typename Params, typename... T>
void checkRanges(const Params& params, const std::tuple<Parameter<Params, T>...>& all)
{
    std::apply([&](const auto&... one) { (checkRange(one.name, params.*one.member, one.lowest, one.highest), ...); },
               all);
}

//! Reads parameters without a check of their ranges; those that the node lacks keep their values.
//! @throws cv::Exception if the node has none of them, or one of another type.
template <typename Params, typename... T>
void readParameters(const char* owner, const FileNode& node, Params& params,
                    const std::tuple<Parameter<Params, T>...>& all)
{
    const auto readAll = [&](const auto&... one)
    {
        const ParameterNode file(owner, node, {one.name...});
        (file.replace(one.name, params.*one.member), ...);
    };
    std::apply(readAll, all);
}

template <typename Params, typename... T>
void writeParameters(FileStorage& storage, const Params& params, const std::tuple<Parameter<Params, T>...>& all)
{
    std::apply([&](const auto&... one) { ((storage << one.name << params.*one.member), ...); }, all);
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_PARAMETERS_HPP
