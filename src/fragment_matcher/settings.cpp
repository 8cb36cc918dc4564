// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "settings.hpp"
#include "../common/parameters.hpp"

namespace cv { namespace cuda {

FragmentMatcher::Params::Params()
{
    fragment_matcher::withParameters([this](const auto&... parameter)
                                     { ((this->*parameter.member = parameter.byDefault), ...); });
}

namespace fragment_matcher {

static void check(const Parameter<int>& parameter, int value)
{
    if (value < parameter.lowest || value > parameter.highest)
        CV_Error_(Error::StsOutOfRange, ("Params::%s: %d, but it must be %d to %d", parameter.name, value,
                                         parameter.lowest, parameter.highest));
}

static void check(const Parameter<bool>&, bool) {}

static void check(const Parameter<Size>& parameter, Size value)
{
    if (value.width < parameter.lowest.width || value.height < parameter.lowest.height)
        CV_Error_(Error::StsOutOfRange,
                  ("Params::%s: %d x %d, but it must not be negative", parameter.name, value.width, value.height));
}

void checkParams(const Params& params)
{
    withParameters([&](const auto&... parameter) { (check(parameter, params.*parameter.member), ...); });
    if (params.subpixelFit == FragmentMatcher::GAUSSIAN && params.metric != FragmentMatcher::ZNCC)
        CV_Error_(Error::StsBadArg, ("Params::subpixelFit: %d (GAUSSIAN), which is for ZNCC (%d), but Params::metric "
                                     "is %d",
                                     params.subpixelFit, FragmentMatcher::ZNCC, params.metric));
}

static void readValue(const detail::ParameterNode& file, const char* name, int& value)
{
    value = file.integer(name, value);
}

static void readValue(const detail::ParameterNode& file, const char* name, bool& value)
{
    value = file.flag(name, value);
}

static void readValue(const detail::ParameterNode& file, const char* name, Size& value)
{
    const std::vector<int> sides = file.integers(name, {value.width, value.height});
    value = Size(sides[0], sides[1]);
}

Params readParams(const FileNode& node, Params params)
{
    withParameters(
        [&](const auto&... parameter)
        {
            const detail::ParameterNode file("FragmentMatcher", node, {parameter.name...});
            (readValue(file, parameter.name, params.*parameter.member), ...);
        });
    checkParams(params);
    return params;
}

void writeParams(FileStorage& storage, const Params& params)
{
    withParameters([&](const auto&... parameter) { ((storage << parameter.name << params.*parameter.member), ...); });
}

Settings settingsOf(const Params& p)
{
    return {
        static_cast<Metric>(p.metric), p.exclusion, p.exclusionDistance, p.peaks, p.search, p.subpixel, p.subpixelFit};
}

} // namespace fragment_matcher

}} // namespace cv::cuda
