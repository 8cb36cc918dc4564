// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "settings.hpp"

namespace cv { namespace cuda {

TLDParams::TLDParams()
{
    tld::eachParameter(*this, [](const char*, auto& member, auto byDefault, auto, auto) { member = byDefault; });
}

namespace tld {

namespace {

//! Checks values against their ranges.
struct Ranges
{
    const char* owner;

    void operator()(const char* name, int value, int, int least, int most) const
    {
        if (value < least || value > most)
            CV_Error_(Error::StsOutOfRange, ("%s: %s must be %d to %d, this is %d", owner, name, least, most, value));
    }
    void operator()(const char* name, double value, double, double least, double most) const
    {
        if (!(value >= least && value <= most))
            CV_Error_(Error::StsOutOfRange,
                      ("%s: %s must be %g to %g, this is %.17g", owner, name, least, most, value));
    }
    void operator()(const char*, bool, bool, bool, bool) const {}
};

} // namespace

void checkParameters(const TLDParams& p, const char* owner)
{
    const Ranges check = {owner};
    eachParameter(p, check);
    if (p.minWindow > 0)
        check("minWindow", p.minWindow, 0, MIN_BOX, MAX_SIDE);
    check("trees * features", p.trees * p.features, 0, 1, ALL_FEATURES);
    if (p.flowWindow % 2 == 0)
        CV_Error_(Error::StsOutOfRange, ("%s: flowWindow must be odd, this is %d", owner, p.flowWindow));
}

//! Returns the least score that is `least` or more as a float: scores are doubles, and the user gets and gives floats.
static double leastScoreOf(float least)
{
    const double middle =
        (static_cast<double>(std::nextafter(least, -1.f)) + least) / 2.; // exact; rounds to one of the two
    return static_cast<float>(middle) >= least ? middle : std::nextafter(middle, 2.);
}

Settings settingsOf(const TLDParams& p, const char* owner)
{
    checkParameters(p, owner);
    const double radian = CV_PI / 180.;
    std::vector<double> values; // holds integers and floats exactly
    eachParameter(p, [&](const char*, auto value, auto, auto, auto) { values.push_back(value); });
    Settings s = {};
    auto value = values.begin();
    eachParameter(s, [&](const char*, auto& member, auto, auto, auto)
                  { member = static_cast<std::remove_reference_t<decltype(member)>>(*value++); });
    s.minReplyScore = leastScoreOf(p.minReplyScore);
    s.fernThreshold = static_cast<uint32_t>(roundEven(p.fernThreshold * POSTERIOR_ONE * p.trees));
    s.initAngle *= radian;
    s.updateAngle *= radian;
    return s;
}

} // namespace tld
}} // namespace cv::cuda
