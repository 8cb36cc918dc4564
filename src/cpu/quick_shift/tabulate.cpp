// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage tabulate on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

void tabulate(const SumsTable& sums, const Table& table)
{
    for (int i = 0; i < sums.size(); ++i)
    {
        const unsigned long long* const row = sums.row(i);
        const Places& s = sums.places[i];
        if (table.areas)
            *table.areas.row(i) = static_cast<int>(row[0]);
        for (int k = 0; table.means && k < sums.channels; ++k)
            table.means.row(i)[k] = meanOf(row[1 + k], row[0], sums.scale);
        if (table.centroids)
        {
            table.centroids.row(i)[0] = meanOf(s.x, row[0], 1.);
            table.centroids.row(i)[1] = meanOf(s.y, row[0], 1.);
        }
        if (table.boxes)
        {
            const int box[4] = {s.left, s.top, s.right - s.left + 1, s.bottom - s.top + 1};
            std::copy(box, box + 4, table.boxes.row(i));
        }
    }
}

}}}} // namespace cv::cuda::quick_shift::cpu
