// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "engine.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

Spatial::Spatial(double sigma_) : sigma(sigma_), radius(static_cast<int>(std::ceil(3. * sigma_)))
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

bool operator==(const Settings& a, const Settings& b)
{
    const Parameters &p = a.parameters, &q = b.parameters;
    return a.spatial && b.spatial && a.spatial->version() == b.spatial->version() && a.maxDist == b.maxDist &&
           p.radius == q.radius && p.searchRadius == q.searchRadius && p.shift == q.shift &&
           p.minusRate == q.minusRate && p.colorWeight == q.colorWeight && p.reach == q.reach && p.strict == q.strict &&
           p.normalize == q.normalize && p.weighted == q.weighted && a.scales.used == b.scales.used &&
           std::equal(p.factors, p.factors + MAX_CHANNELS, q.factors) &&
           std::equal(a.scales.whole, a.scales.whole + MAX_CHANNELS, b.scales.whole);
}

}}} // namespace cv::cuda::quick_shift
