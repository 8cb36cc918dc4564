// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages listBorders, sortBorders and writePairs on the CPU.
#include "../../precomp.hpp"
#include "../../quick_shift/stages.hpp"
#include "neighbours.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

void listBorders(const Extent& extent, const int* labels, int first, std::vector<uint64_t>& pairs)
{
    const size_t begin = pairs.size();
    forNeighbours(extent.cols, extent.rows,
                  [&](int i, int j)
                  {
                      if (labels[i] < 0 || labels[j] < 0 || labels[i] == labels[j])
                          return;
                      const uint64_t pair = adjacentLabels(first + labels[i], first + labels[j]);
                      if (pairs.size() == begin || pairs.back() != pair)
                          pairs.push_back(pair);
                  });
}

void sortBorders(size_t begin, std::vector<uint64_t>& pairs)
{
    std::sort(pairs.begin() + begin, pairs.end());
    pairs.erase(std::unique(pairs.begin() + begin, pairs.end()), pairs.end());
}

void writePairs(int count, const std::vector<uint64_t>& pairs, RowsView<int> out)
{
    for (int i = 0; i < count; ++i)
    {
        out.row(i)[0] = static_cast<int>(pairs[i] >> 32);
        out.row(i)[1] = static_cast<int>(pairs[i]);
    }
}

}}}} // namespace cv::cuda::quick_shift::cpu
