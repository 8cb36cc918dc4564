// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// peaks: greedy selection of the best positions under the exclusion rule, from a map and the best of each of its rows.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_CPU_PEAKS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_CPU_PEAKS_HPP

#include "engine_cpu.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

template <typename V> struct Peak
{
    V value;
    int x, y; //!< relative to the window; x = -1: there is none
};

template <typename V> class PeakFinder
{
public:
    PeakFinder(const MapView<V>& map, int rows, int cols, int distance, int exclusion)
        : map_(map), rows_(rows), cols_(cols), distance_(distance), exclusion_(exclusion)
    {}

    //! Best position outside of the zones of the first `count` peaks.
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
                const int dy = y - peaks[j].y;
                const int64_t left = static_cast<int64_t>(peaks[j].x) - distance_ + 1;
                if (!outsideZone(INT_MAX, dy, distance_, exclusion_)) // not even far away
                    return;
                if (!outsideZone(static_cast<int>(x) - peaks[j].x, dy, distance_, exclusion_))
                    after = std::max<int64_t>(after, static_cast<int64_t>(peaks[j].x) + distance_);
                else if (left > x && !outsideZone(0, dy, distance_, exclusion_))
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

}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ENGINE_CPU_PEAKS_HPP
