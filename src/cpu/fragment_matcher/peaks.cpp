// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// peaks: greedy selection of the best positions under the exclusion rule, from a map and the best of each of its rows; report
// and maps.
#include "../../precomp.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

template <typename V> class PeakFinder
{
public:
    PeakFinder(const MapView<V>& map, const SearchWindow& window, int distance, int exclusion)
        : map_(map), rows_(window.rows), cols_(window.cols), distance_(distance), exclusion_(exclusion)
    {}

    //! Best position outside of the zones of the first `count` peaks; x = -1: there is none.
    Peak<V> next(const Peak<V>* peaks, int count) const
    {
        Peak<V> best = {0, -1, -1};
        for (int y = 0; y < rows_; ++y)
        {
            if (best.x >= 0 && map_.best[y].value >= best.value) // nothing better in this row, and ties go up
                continue;
            if (allowed(map_.best[y].x, y, peaks, count))
                best = {map_.best[y].value, map_.best[y].x, y};
            else
                searchRow(y, peaks, count, best);
        }
        return best;
    }

private:
    bool allowed(int x, int y, const Peak<V>* peaks, int count) const
    {
        for (int j = 0; j < count; ++j)
            if (!outsideZone(x - peaks[j].x, y - peaks[j].y, distance_, exclusion_))
                return false;
        return true;
    }

    //! Runs of allowed positions between zones; a zone covers one interval of a row, or all of it.
    void searchRow(int y, const Peak<V>* peaks, int count, Peak<V>& best) const
    {
        const V* const row = map_.values + static_cast<size_t>(y) * map_.stride;
        int64_t x = 0;
        while (x < cols_)
        {
            int64_t end = cols_, after = x; // of the run of allowed positions from x; of the zones that cover x
            for (int j = 0; j < count; ++j)
            {
                const bool within = withinReach(y - peaks[j].y, distance_);
                if (zoneCoversAll(within, exclusion_))
                    return;
                if (zoneCoversNothing(within, exclusion_))
                    continue;
                const int64_t left = static_cast<int64_t>(peaks[j].x) - distance_ + 1;
                const int64_t right = static_cast<int64_t>(peaks[j].x) + distance_;
                if (left <= x && x < right)
                    after = std::max(after, right);
                else if (left > x)
                    end = std::min(end, left);
            }
            if (after > x)
            {
                x = after;
                continue;
            }
            for (; x < end; ++x)
                if (best.x < 0 || row[x] < best.value)
                    best = {row[x], static_cast<int>(x), y};
        }
    }

    MapView<V> map_;
    int rows_, cols_, distance_, exclusion_;
};

template <typename V> Offset2 subpixel(const Scores<V>& scores, const Peak<V>& peak)
{
    const SearchWindow& window = scores.window();
    const uint64_t unit = scores.plan().unit, at = unit * peak.value;
    const int metric = scores.plan().metric;
    Offset2 offset = {0.f, 0.f};
    if (peak.x > 0 && peak.x < window.cols - 1)
        offset.x = subpixelOffset(unit * scores.value(peak.x - 1, peak.y), at, unit * scores.value(peak.x + 1, peak.y),
                                  metric);
    if (peak.y > 0 && peak.y < window.rows - 1)
        offset.y = subpixelOffset(unit * scores.value(peak.x, peak.y - 1), at, unit * scores.value(peak.x, peak.y + 1),
                                  metric);
    return offset;
}

} // namespace

template <typename V>
int findPeaks(const Scores<V>& scores, int distance, const Settings& settings, int count, Peak<V>* peaks)
{
    const PeakFinder<V> finder(scores.map(), scores.window(), distance, settings.exclusion);
    for (; count < settings.peaks; ++count)
    {
        peaks[count] = finder.next(peaks, count);
        if (peaks[count].x < 0)
            break;
    }
    return count;
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
            const Offset2 offset = settings.subpixel ? subpixel(scores, peaks[j]) : Offset2{0.f, 0.f};
            out.refined.row(i)[j] = {static_cast<float>(at.x) + offset.x, static_cast<float>(at.y) + offset.y};
        }
    }
    if (out.confidence && count > 1)
        *out.confidence.row(i) = confidenceOf(plan.unit * peaks[0].value, plan.unit * peaks[1].value, plan.metric);
}

template <typename V>
void exportMap(const Scores<V>& scores, uint64_t W, int depth, int begin, int end, RowsView<void> map)
{
    const Plan& plan = scores.plan();
    for (int y = begin; y < end; ++y)
        for (int x = 0; x < scores.window().cols; ++x)
        {
            const uint64_t value = plan.unit * scores.value(x, y);
            if (depth == CV_32F)
                static_cast<float*>(map.row(y))[x] = scoreOf(value, plan.metric, W);
            else if (depth == CV_32S)
                static_cast<int*>(map.row(y))[x] = static_cast<int>(value);
            else
                static_cast<double*>(map.row(y))[x] = static_cast<double>(value);
        }
}

template int findPeaks(const Scores<uint32_t>&, int, const Settings&, int, Peak<uint32_t>*);
template int findPeaks(const Scores<uint64_t>&, int, const Settings&, int, Peak<uint64_t>*);
template void report(const Outputs&, int, const Settings&, uint64_t, const Scores<uint32_t>&, const Peak<uint32_t>*,
                     int);
template void report(const Outputs&, int, const Settings&, uint64_t, const Scores<uint64_t>&, const Peak<uint64_t>*,
                     int);
template void exportMap(const Scores<uint32_t>&, uint64_t, int, int, int, RowsView<void>);
template void exportMap(const Scores<uint64_t>&, uint64_t, int, int, int, RowsView<void>);

}}}} // namespace cv::cuda::fragment_matcher::cpu
