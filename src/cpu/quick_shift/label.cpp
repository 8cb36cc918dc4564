// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages label and numberSuperpixels on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>
#include <numeric>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

//! Returns the parents, with links longer than tau replaced by roots. @param memory holds them where any link may be
//! cut.
const int* cut(int pixels, const Trees& trees, float tau, std::vector<int>& memory)
{
    if (tau == INFINITY)
        return trees.parents;
    memory.resize(pixels);
    for (int i = 0; i < pixels; ++i)
        memory[i] = trees.parents[i] >= 0 && trees.distances[i] > tau ? i : trees.parents[i];
    return memory.data();
}

} // namespace

int label(int pixels, const Trees& trees, float tau, Scratch& scratch, int* labels)
{
    const int* parent = cut(pixels, trees, tau, scratch.cut);
    const int strips = std::max(1, std::min(getNumThreads(), pixels / 4096));
    std::vector<int>& top = scratch.top;
    top.resize(pixels);
    const auto begin = [&](int strip) { return static_cast<int>(static_cast<int64_t>(pixels) * strip / strips); };
    // top: last ancestor that a pixel's path reaches without leaving its strip. Reads and writes stay inside the strip,
    // so strips do not race; each link is followed once.
    parallel_for_(Range(0, strips),
                  [&](const Range& range)
                  {
                      const detail::ScratchPool<std::vector<int>>::Lease path(scratch.paths);
                      for (int strip = range.start; strip < range.end; ++strip)
                      {
                          const int first = begin(strip), last = begin(strip + 1);
                          std::fill(top.begin() + first, top.begin() + last, -1);
                          for (int i = first; i < last; ++i)
                          {
                              int j = i;
                              path->clear();
                              while (parent[j] >= 0 && top[j] < 0 && parent[j] != j && parent[j] >= first &&
                                     parent[j] < last)
                              {
                                  path->push_back(j);
                                  j = parent[j];
                              }
                              const int end = parent[j] < 0 ? j : (top[j] < 0 ? (top[j] = j) : top[j]);
                              for (int k : *path)
                                  top[k] = end;
                          }
                      }
                  });
    std::vector<int>& rank = scratch.rank;
    rank.assign(pixels, -1);
    int n = 0;
    for (int i = 0; i < pixels; ++i)
        if (parent[i] == i)
            rank[i] = n++;
    parallel_for_(Range(0, strips),
                  [&](const Range& range)
                  {
                      for (int i = begin(range.start); i < begin(range.end); ++i)
                      {
                          int j = i;
                          while (parent[j] >= 0 && parent[j] != j)
                          {
                              j = top[j];
                              if (parent[j] != j)
                                  j = parent[j];
                          }
                          labels[i] = parent[j] < 0 ? -1 : rank[j];
                      }
                  });
    return n;
}

std::vector<int> numberSuperpixels(const std::vector<int>& counts)
{
    std::vector<int> firsts(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), firsts.begin() + 1);
    return firsts;
}

}}}} // namespace cv::cuda::quick_shift::cpu
