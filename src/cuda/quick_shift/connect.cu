// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// connect of QuickShift: 4-connected pieces by union and find in global memory. Few rounds; bound by atomics.
#include "plan.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int THREADS = 256;

/** Root of i's tree. Halves the path on the way: without that a flat row would stay a chain as long as it is wide. Links only ever
lead to lower indices of the same piece, and atomicMin keeps it so when others shorten or unite meanwhile. */
__device__ __forceinline__ int rootFrom(int* root, int i)
{
    const volatile int* const links = root;
    int at = i, next = links[at];
    while (next != at)
    {
        const int after = links[next];
        if (after != next)
            atomicMin(root + at, after);
        at = next;
        next = after;
    }
    return at;
}

//! Links always lead to a lower index, so the root of a piece is its first pixel whatever the order.
__device__ void unite(int* root, int i, int j)
{
    for (;;)
    {
        i = rootFrom(root, i);
        j = rootFrom(root, j);
        if (i == j)
            return;
        const int low = ::min(i, j), high = ::max(i, j);
        const int old = atomicMin(root + high, low);
        if (old == high)
            return;
        i = low; // someone else linked `high` first: what it was linked to and `low` belong together
        j = old;
    }
}

__global__ void __launch_bounds__(THREADS) startPieces(int total, const int* labels, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < total)
        pieces.root[i] = labels[i] < 0 ? -1 : i;
}

__global__ void __launch_bounds__(THREADS) uniteEqual(const Extent extent, const int* labels, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= extent.total() || labels[i] < 0)
        return;
    const int x = i % extent.cols;
    if (x + 1 < extent.cols && labels[i + 1] == labels[i])
        unite(pieces.root, i, i + 1);
    if (hasBelow(extent, i) && labels[i + extent.cols] == labels[i])
        unite(pieces.root, i, i + extent.cols);
}

__global__ void __launch_bounds__(THREADS) flatten(int total, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < total && pieces.root[i] >= 0)
        pieces.root[i] = rootFrom(pieces.root, i);
}

__global__ void __launch_bounds__(THREADS) countArea(int total, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < total && pieces.root[i] >= 0)
        atomicAdd(pieces.area + pieces.root[i], 1);
}

__device__ __forceinline__ void consider(const Pieces& pieces, int minSize, int piece, int neighbour)
{
    const unsigned long long rank = pieceRank(pieces.area[neighbour], neighbour);
    if (pieces.area[piece] < minSize && rank > pieceRank(pieces.area[piece], piece))
        atomicMax(pieces.best + piece, rank);
}

__global__ void __launch_bounds__(THREADS) chooseTargets(const Extent extent, int minSize, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= extent.total() || pieces.root[i] < 0)
        return;
    const int own = pieces.root[i];
    const int right = i % extent.cols + 1 < extent.cols ? pieces.root[i + 1] : -1;
    const int below = hasBelow(extent, i) ? pieces.root[i + extent.cols] : -1;
    for (int other : {right, below})
        if (other >= 0 && other != own)
        {
            consider(pieces, minSize, own, other);
            consider(pieces, minSize, other, own);
        }
}

__global__ void __launch_bounds__(THREADS) uniteTargets(int total, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= total || pieces.best[i] == 0)
        return;
    unite(pieces.root, i, static_cast<int>(~static_cast<uint32_t>(pieces.best[i])));
    *pieces.joined = 1;
}

//! Roots of pieces, counted through the stack, to indices in their image.
__global__ void __launch_bounds__(THREADS) countInImage(const Extent extent, int* root)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < extent.total() && root[i] >= 0)
        root[i] -= i / extent.pixels() * extent.pixels();
}

} // namespace

void splitPieces(const Extent& extent, const int* labels, const Pieces& pieces, StreamHandle stream)
{
    const dim3 grid = detail::linearGrid(extent.total(), THREADS), block(THREADS);
    detail::launch("quick shift pieces", startPieces, grid, block, 0, stream, extent.total(), labels, pieces);
    detail::launch("quick shift pieces", uniteEqual, grid, block, 0, stream, extent, labels, pieces);
    detail::launch("quick shift pieces", flatten, grid, block, 0, stream, extent.total(), pieces);
}

void joinPieces(const Extent& extent, int minSize, const Pieces& pieces, StreamHandle stream)
{
    const dim3 grid = detail::linearGrid(extent.total(), THREADS), block(THREADS);
    const int n = extent.total();
    detail::cudaCheck(cudaMemsetAsync(pieces.area, 0, sizeof(int) * n, stream), "quick shift join");
    detail::cudaCheck(cudaMemsetAsync(pieces.best, 0, sizeof(unsigned long long) * n, stream), "quick shift join");
    detail::cudaCheck(cudaMemsetAsync(pieces.joined, 0, sizeof(int), stream), "quick shift join");
    detail::launch("quick shift join", countArea, grid, block, 0, stream, n, pieces);
    detail::launch("quick shift join", chooseTargets, grid, block, 0, stream, extent, minSize, pieces);
    detail::launch("quick shift join", uniteTargets, grid, block, 0, stream, n, pieces);
    detail::launch("quick shift join", flatten, grid, block, 0, stream, n, pieces);
}

void rankPieces(const Extent& extent, const Pieces& pieces, const Ranking& ranking, int* labels, int* count,
                StreamHandle stream)
{
    if (extent.count > 1)
        detail::launch("quick shift pieces", countInImage, detail::linearGrid(extent.total(), THREADS), dim3(THREADS),
                       0, stream, extent, pieces.root);
    label(extent, {pieces.root, nullptr}, INFINITY, ranking, labels, count, stream); // a piece is a tree of one link
}

}}}} // namespace cv::cuda::quick_shift::gpu
