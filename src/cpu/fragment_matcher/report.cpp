// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// report: locations, scores, confidence, status and sub-pixel positions of one fragment, from its peaks.
#include "../../precomp.hpp"
#include "../../fragment_matcher/subpixel.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

template <typename V> static Offset2 subpixel(const Scores<V>& scores, const Peak<V>& peak, int fit)
{
    const SearchWindow& window = scores.window();
    const uint64_t unit = scores.plan().unit, at = unit * peak.value;
    const Metric metric = scores.plan().metric;
    Offset2 offset = {0.f, 0.f};
    if (peak.x > 0 && peak.x < window.cols - 1)
        offset.x = subpixelOffset(unit * scores.value(peak.x - 1, peak.y), at, unit * scores.value(peak.x + 1, peak.y),
                                  metric, fit);
    if (peak.y > 0 && peak.y < window.rows - 1)
        offset.y = subpixelOffset(unit * scores.value(peak.x, peak.y - 1), at, unit * scores.value(peak.x, peak.y + 1),
                                  metric, fit);
    return offset;
}

template <typename V>
void report(const Outputs& out, int i, const Settings& settings, uint64_t W, const Scores<V>& scores,
            const Peak<V>* peaks, int count)
{
    const Plan& plan = scores.plan();
    const SearchWindow& window = scores.window();
    reportNothing(out, i, settings.peaks, plan.flat() ? STATUS_FLAT_FRAGMENT : STATUS_FOUND);
    for (int j = 0; j < count; ++j)
    {
        const Position at = {window.x + peaks[j].x, window.y + peaks[j].y};
        if (out.locations)
            out.locations.row(i)[j] = at;
        if (out.scores)
            out.scores.row(i)[j] = scoreOf(plan.unit * peaks[j].value, plan.metric, W);
        if (out.refined)
        {
            const Offset2 offset =
                settings.subpixel ? subpixel(scores, peaks[j], settings.subpixelFit) : Offset2{0.f, 0.f};
            out.refined.row(i)[j] = {static_cast<float>(at.x) + offset.x, static_cast<float>(at.y) + offset.y};
        }
    }
    if (out.confidence && count > 1)
        *out.confidence.row(i) = confidenceOf(plan.unit * peaks[0].value, plan.unit * peaks[1].value, plan.metric);
}

template void report(const Outputs&, int, const Settings&, uint64_t, const Scores<uint32_t>&, const Peak<uint32_t>*,
                     int);
template void report(const Outputs&, int, const Settings&, uint64_t, const Scores<uint64_t>&, const Peak<uint64_t>*,
                     int);

}}}} // namespace cv::cuda::fragment_matcher::cpu
