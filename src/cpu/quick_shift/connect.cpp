// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages splitPieces, joinPieces and rankPieces on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include "neighbours.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

//! Returns the root of i's tree and halves the path to it on the way.
int findRoot(std::vector<int>& parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

//! Joins the trees of i and j. The lower root stays, so the root of a piece is its first pixel in raster order.
void unite(std::vector<int>& root, int i, int j)
{
    i = findRoot(root, i);
    j = findRoot(root, j);
    root[std::max(i, j)] = std::min(i, j);
}

} // namespace

void splitPieces(const Extent& extent, const int* labels, Pieces& pieces)
{
    std::vector<int>& root = pieces.root;
    root.resize(extent.pixels());
    for (int i = 0; i < extent.pixels(); ++i)
        root[i] = labels[i] >= 0 ? i : -1;
    forNeighbours(extent.cols, extent.rows,
                  [&](int i, int j)
                  {
                      if (root[i] >= 0 && labels[i] == labels[j])
                          unite(root, i, j);
                  });
}

bool joinPieces(const Extent& extent, int minSize, Pieces& pieces)
{
    const int pixels = extent.pixels();
    std::vector<int>&root = pieces.root, &area = pieces.area, &target = pieces.target;
    std::vector<uint64_t>& best = pieces.best;
    area.assign(pixels, 0);
    target.resize(pixels);
    best.assign(pixels, 0);
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
    forNeighbours(extent.cols, extent.rows,
                  [&](int i, int j)
                  {
                      if (root[i] < 0 || root[j] < 0 || root[i] == root[j])
                          return;
                      consider(root[i], root[j]);
                      consider(root[j], root[i]);
                  });
    bool joined = false;
    for (int i = 0; i < pixels; ++i)
        if (best[i] != 0)
        {
            unite(root, i, target[i]);
            joined = true;
        }
    return joined;
}

int rankPieces(Pieces& pieces, int* labels)
{
    std::vector<int>& root = pieces.root;
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

}}}} // namespace cv::cuda::quick_shift::cpu
