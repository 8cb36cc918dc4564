// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// label, links, adjacency and connect of QuickShift on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

//! Root of a forest in which every link leads to its parent, with the path halved on the way.
int findRoot(std::vector<int>& parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

//! Calls visit(i, j) for every pixel i and its right and lower neighbour j.
template <typename Visit> void forNeighbours(int cols, int rows, const Visit& visit)
{
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x)
        {
            const int i = y * cols + x;
            if (x + 1 < cols)
                visit(i, i + 1);
            if (y + 1 < rows)
                visit(i, i + cols);
        }
}

//! Ranks pixels that are their own root in raster order; root is -1 where masked. @return how many there are.
int rankRoots(std::vector<int>& root, int* labels)
{
    int n = 0;
    const int pixels = static_cast<int>(root.size());
    std::vector<int> rank(pixels, -1);
    for (int i = 0; i < pixels; ++i)
        if (root[i] == i)
            rank[i] = n++;
    for (int i = 0; i < pixels; ++i)
        labels[i] = root[i] >= 0 ? rank[findRoot(root, i)] : -1;
    return n;
}

//! parents, with links longer than tau turned into roots.
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
    // Within a strip of pixels: the last ancestor that the path reaches without leaving the strip. Reads and writes stay
    // inside, so strips do not race; each pixel's path is walked once.
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

int sortLinks(int pixels, const Trees& trees, std::vector<float>& links)
{
    int roots = 0;
    links.clear();
    for (int i = 0; i < pixels; ++i)
        if (trees.parents[i] >= 0 && isFinite(trees.distances[i]))
            links.push_back(trees.distances[i]);
        else
            roots += trees.parents[i] >= 0;
    std::sort(links.begin(), links.end());
    return roots;
}

int countLonger(int pixels, const Trees& trees, float tau)
{
    int n = 0;
    for (int i = 0; i < pixels; ++i)
        n += trees.parents[i] >= 0 && trees.distances[i] > tau;
    return n;
}

void adjacency(const Extent& extent, const int* labels, int first, std::vector<uint64_t>& pairs)
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
    std::sort(pairs.begin() + begin, pairs.end());
    pairs.erase(std::unique(pairs.begin() + begin, pairs.end()), pairs.end());
}

int connect(const Extent& extent, int minSize, int* labels)
{
    const int cols = extent.cols, rows = extent.rows, pixels = extent.pixels();
    std::vector<int> root(pixels);
    for (int i = 0; i < pixels; ++i)
        root[i] = labels[i] >= 0 ? i : -1;
    // The lower index stays the root, so a piece's root is its first pixel.
    const auto unite = [&](int i, int j)
    {
        i = findRoot(root, i);
        j = findRoot(root, j);
        root[std::max(i, j)] = std::min(i, j);
    };
    forNeighbours(cols, rows,
                  [&](int i, int j)
                  {
                      if (root[i] >= 0 && labels[i] == labels[j])
                          unite(i, j);
                  });
    std::vector<int> area(pixels), target(pixels);
    std::vector<uint64_t> best(pixels);
    for (bool joined = minSize > 1; joined;)
    {
        std::fill(area.begin(), area.end(), 0);
        std::fill(best.begin(), best.end(), 0);
        for (int i = 0; i < pixels; ++i)
            if (root[i] >= 0)
                ++area[root[i] = findRoot(root, i)];
        const auto consider = [&](int piece, int neighbour)
        {
            const uint64_t rank = pieceRank(area[neighbour], neighbour);
            if (area[piece] < minSize && rank > pieceRank(area[piece], piece) && rank > best[piece])
            {
                best[piece] = rank;
                target[piece] = neighbour;
            }
        };
        forNeighbours(cols, rows,
                      [&](int i, int j)
                      {
                          if (root[i] < 0 || root[j] < 0 || root[i] == root[j])
                              return;
                          consider(root[i], root[j]);
                          consider(root[j], root[i]);
                      });
        joined = false;
        for (int i = 0; i < pixels; ++i)
            if (best[i] != 0)
            {
                unite(i, target[i]);
                joined = true;
            }
    }
    return rankRoots(root, labels);
}

}}}} // namespace cv::cuda::quick_shift::cpu
