// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages splitPieces, joinPieces and rankPieces on CUDA, by union-find in global memory. Few rounds; bound by atomics.
#include "plan.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int THREADS = 256;

/** Returns the root of i's tree and halves the path to it on the way: otherwise a flat row would stay a chain as long
as it is wide. Links only ever lead to lower indices of the same piece, and atomicMin keeps it so while other threads
shorten or unite. */
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

//! Joins the trees of i and j. Links lead to lower indices, so the root of a piece is its first pixel whatever the
//! order.
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
        i = low; // another thread linked `high` first: unite its target and `low`
        j = old;
    }
}

__global__ void __launch_bounds__(THREADS) initializePieces(int total, const int* labels, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < total)
        pieces.root[i] = labels[i] < 0 ? -1 : i;
}

__global__ void __launch_bounds__(THREADS) uniteEqualLabels(const Extent extent, const int* labels, const Pieces pieces)
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

__global__ void __launch_bounds__(THREADS) flattenPieces(int total, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < total && pieces.root[i] >= 0)
        pieces.root[i] = rootFrom(pieces.root, i);
}

__global__ void __launch_bounds__(THREADS) countAreas(int total, const Pieces pieces)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < total && pieces.root[i] >= 0)
        atomicAdd(pieces.area + pieces.root[i], 1);
}

//! Makes the neighbour the target of a small piece if it is larger and the largest so far.
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

//! Converts the roots of pieces from indices into the stack to indices into their image.
__global__ void __launch_bounds__(THREADS) makeRootsImageRelative(const Extent extent, int* root)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < extent.total() && root[i] >= 0)
        root[i] -= i / extent.pixels() * extent.pixels();
}

} // namespace

void splitPieces(const Extent& extent, const int* labels, const Pieces& pieces, StreamHandle stream)
{
    const dim3 grid = detail::linearGrid(extent.total(), THREADS), block(THREADS);
    detail::launch("quick shift pieces", initializePieces, grid, block, 0, stream, extent.total(), labels, pieces);
    detail::launch("quick shift pieces", uniteEqualLabels, grid, block, 0, stream, extent, labels, pieces);
    detail::launch("quick shift pieces", flattenPieces, grid, block, 0, stream, extent.total(), pieces);
}

void joinPieces(const Extent& extent, int minSize, const Pieces& pieces, StreamHandle stream)
{
    const dim3 grid = detail::linearGrid(extent.total(), THREADS), block(THREADS);
    const int n = extent.total();
    detail::cudaCheck(cudaMemsetAsync(pieces.area, 0, sizeof(int) * n, stream), "quick shift join");
    detail::cudaCheck(cudaMemsetAsync(pieces.best, 0, sizeof(unsigned long long) * n, stream), "quick shift join");
    detail::cudaCheck(cudaMemsetAsync(pieces.joined, 0, sizeof(int), stream), "quick shift join");
    detail::launch("quick shift join", countAreas, grid, block, 0, stream, n, pieces);
    detail::launch("quick shift join", chooseTargets, grid, block, 0, stream, extent, minSize, pieces);
    detail::launch("quick shift join", uniteTargets, grid, block, 0, stream, n, pieces);
    detail::launch("quick shift join", flattenPieces, grid, block, 0, stream, n, pieces);
}

void rankPieces(const Extent& extent, const Pieces& pieces, const Ranking& ranking, int* labels, int* count,
                StreamHandle stream)
{
    if (extent.count > 1)
        detail::launch("quick shift pieces", makeRootsImageRelative, detail::linearGrid(extent.total(), THREADS),
                       dim3(THREADS), 0, stream, extent, pieces.root);
    // Pieces are trees: the parent of each pixel is its piece's root.
    label(extent, {pieces.root, nullptr}, INFINITY, ranking, labels, count, {}, false, stream);
}

}}}} // namespace cv::cuda::quick_shift::gpu
