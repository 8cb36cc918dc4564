// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "settings.hpp"
#include <algorithm>
#include <array>
#include <cmath>

namespace cv { namespace cuda { namespace quick_shift {

void checkSigma(double sigma)
{
    if (!(sigma > 0. && std::ceil(3. * sigma) <= MAX_WINDOW_RADIUS))
        CV_Error_(Error::StsOutOfRange,
                  ("sigma: %.10g, but it must be above 0 and at most %d", sigma, MAX_WINDOW_RADIUS / 3));
}

void checkMaxDist(double maxDist)
{
    if (!(maxDist > 0. && maxDist <= MAX_SEARCH_RADIUS))
        CV_Error_(Error::StsOutOfRange,
                  ("maxDist: %.10g, but it must be above 0 and at most %d", maxDist, MAX_SEARCH_RADIUS));
}

void checkScale(const std::string& name, double scale)
{
    if (!(scale >= 0. && scale <= 1e9))
        CV_Error_(Error::StsOutOfRange, ("%s: %.10g, but it must be 0 to 1e9", name.c_str(), scale));
}

void checkScales(std::vector<double> scales)
{
    if (scales == UserSettings().channelScales)
        return;
    if (scales.empty() || scales.size() > MAX_CHANNELS)
        CV_Error_(Error::StsOutOfRange, ("scales: %zu values, but there must be 1 to %d", scales.size(), MAX_CHANNELS));
    for (size_t k = 0; k < scales.size(); ++k)
        checkScale(format("scales[%zu]", k), scales[k]);
}

void checkSearchRadius(int radius)
{
    if (radius < QuickShift::SEARCH_WINDOW || radius > MAX_SEARCH_RADIUS)
        CV_Error_(Error::StsOutOfRange,
                  ("radius: %d, but it must be SEARCH_MAX_DIST (%d), SEARCH_WINDOW (%d) or 1 to %d", radius,
                   QuickShift::SEARCH_MAX_DIST, QuickShift::SEARCH_WINDOW, MAX_SEARCH_RADIUS));
}

void checkTieRule(int rule)
{
    if (rule != QuickShift::INDEX && rule != QuickShift::STRICT)
        CV_Error_(Error::StsOutOfRange,
                  ("rule: %d, but it must be INDEX (%d) or STRICT (%d)", rule, QuickShift::INDEX, QuickShift::STRICT));
}

int windowRadius(double sigma) { return static_cast<int>(std::ceil(3. * sigma)); }

int searchRadius(int setting, double maxDist, int window)
{
    return setting > 0 ? setting : setting == QuickShift::SEARCH_WINDOW ? window : static_cast<int>(std::ceil(maxDist));
}

Spatial::Spatial(double sigma_) : sigma(sigma_), radius(windowRadius(sigma_))
{
    const int width = 2 * radius + 1;
    rows.resize(static_cast<size_t>(radius + 1) * width);
    for (int dy = 0; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            rows[static_cast<size_t>(dy) * width + dx + radius] =
                static_cast<float>(std::exp(-(dx * dx + dy * dy) / (2. * sigma * sigma)));
}

uint64_t Spatial::version() const
{
    uint64_t bits;
    static_assert(sizeof(bits) == sizeof(sigma), "all bits of sigma");
    std::memcpy(&bits, &sigma, sizeof(bits));
    return bits;
}

template <typename T, size_t N> static std::array<T, N> valuesOf(const T (&values)[N])
{
    std::array<T, N> copy;
    std::copy(values, values + N, copy.begin());
    return copy;
}

// The compiler refuses the lists below when a member is missing in them.

static auto membersOf(const Parameters& p)
{
    const auto& [radius, searchRadius, shift, minusRate, colorWeight, reach, strict, normalize, weighted, factors] = p;
    return std::make_tuple(radius, searchRadius, shift, minusRate, colorWeight, reach, strict, normalize, weighted,
                           valuesOf(factors));
}

static auto membersOf(const Scales& s)
{
    const auto& [power, whole, used] = s;
    return std::make_tuple(valuesOf(power), valuesOf(whole), used);
}

static auto membersOf(const Settings& s)
{
    const auto& [parameters, scales, spatial, maxDist, type] = s;
    return std::make_tuple(membersOf(parameters), membersOf(scales), spatial->version(), maxDist, type);
}

bool operator==(const Settings& a, const Settings& b) { return a.spatial && b.spatial && membersOf(a) == membersOf(b); }

}}} // namespace cv::cuda::quick_shift
