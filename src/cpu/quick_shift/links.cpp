// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages countLonger, selectLinks and sortLinks on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

int countLonger(int pixels, const Trees& trees, float tau)
{
    int n = 0;
    for (int i = 0; i < pixels; ++i)
        n += trees.parents[i] >= 0 && trees.distances[i] > tau;
    return n;
}

int selectLinks(int pixels, const Trees& trees, Links& links)
{
    int roots = 0;
    links.sorted.clear();
    for (int i = 0; i < pixels; ++i)
        if (trees.parents[i] >= 0 && isFinite(trees.distances[i]))
            links.sorted.push_back(trees.distances[i]);
        else
            roots += trees.parents[i] >= 0;
    return roots;
}

void sortLinks(int roots, Links& links)
{
    const std::vector<float>& sorted = links.sorted;
    std::sort(links.sorted.begin(), links.sorted.end());
    links.heights.clear();
    links.left.clear();
    for (size_t i = 0; i < sorted.size(); ++i)
        if (i + 1 == sorted.size() || sorted[i + 1] != sorted[i])
        {
            links.heights.push_back(sorted[i]);
            links.left.push_back(roots + static_cast<int>(sorted.size() - 1 - i));
        }
}

}}}} // namespace cv::cuda::quick_shift::cpu
