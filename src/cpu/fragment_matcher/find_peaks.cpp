// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// findPeaks: greedy selection of the best positions under the exclusion rule, from the map of values and the best
// position of each of its rows.
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

    //! Returns the best position outside the zones of the first `count` peaks; x = -1: there is none.
    Peak<V> next(const Peak<V>* peaks, int count) const
    {
        Peak<V> best = {0, -1, -1};
        for (int y = 0; y < rows_; ++y)
        {
            if (best.x >= 0 && map_.best[y].value >= best.value) // nothing better in this row; ties go to the upper row
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

    //! Searches the runs of allowed positions between zones of a row. A zone covers one interval of the row, or all of
    //! it.
    void searchRow(int y, const Peak<V>* peaks, int count, Peak<V>& best) const
    {
        const V* const row = map_.values + static_cast<size_t>(y) * map_.stride;
        int64_t x = 0;
        while (x < cols_)
        {
            int64_t end = cols_,
                    after = x; // end of the run of allowed positions from x on; end of the zones that cover x
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

template int findPeaks(const Scores<uint32_t>&, int, const Settings&, int, Peak<uint32_t>*);
template int findPeaks(const Scores<uint64_t>&, int, const Settings&, int, Peak<uint64_t>*);

}}}} // namespace cv::cuda::fragment_matcher::cpu
