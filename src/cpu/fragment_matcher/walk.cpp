// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// walk: the three-step search.
#include "../../precomp.hpp"
#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

template <typename V> Peak<V> walk(const Scores<V>& scores, Position start)
{
    const SearchWindow& window = scores.window();
    Peak<V> best = {scores.value(start.x, start.y), start.x, start.y};
    for (int step = firstStep(walkReach(window, start)); step >= 1; step /= 2)
    {
        const Peak<V> centre = best;
        for (int64_t y = centre.y - int64_t(step); y <= centre.y + int64_t(step); y += step)
            for (int64_t x = centre.x - int64_t(step); x <= centre.x + int64_t(step); x += step)
            {
                if (x < 0 || y < 0 || x >= window.cols || y >= window.rows || (x == centre.x && y == centre.y))
                    continue;
                const Peak<V> point = {scores.value(int(x), int(y)), int(x), int(y)};
                const bool above = point.y < best.y || (point.y == best.y && point.x < best.x);
                if (point.value < best.value || (point.value == best.value && above))
                    best = point;
            }
    }
    return best;
}

template Peak<uint32_t> walk(const Scores<uint32_t>&, Position);
template Peak<uint64_t> walk(const Scores<uint64_t>&, Position);

}}}} // namespace cv::cuda::fragment_matcher::cpu
