// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages label, numberSuperpixels, countLonger, selectLinks and sortLinks on CUDA.
//
// label: paths are up to 150 links long. A block first follows them inside its tile by pointer jumping in shared
// memory, which leaves a few jumps from tile to tile. It also marks the roots, one bit per pixel, and counts them per
// segment of 32 pixels of a row; a scan sums the counts in raster order. Then each pixel jumps to its root and takes
// the root's rank: the number of roots in earlier segments and before it in its own. Moves about 20 bytes per pixel;
// bound by memory latency.
#include "cub_call.hpp"
#include "pixel_grid.hpp"
#include "../../common/launch.hpp"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int TILE = 32;

/** Finds for each pixel the first ancestor outside its tile, or its root if that lies inside: `jumps`. Roots jump to
themselves, masked pixels to -1. A block is a tile of TILE x TILE pixels; a warp takes rows, which are segments. */
__global__ void __launch_bounds__(THREADS)
    resolvePathsInTiles(const Extent extent, const int* __restrict__ parents, const float* __restrict__ distances,
                        float tau, int* __restrict__ jumps, uint32_t* __restrict__ roots, int* __restrict__ counts)
{
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    // Ancestor that each pixel's path has reached, as a position in the tile. Paths end at pixels whose parent lies
    // elsewhere.
    __shared__ short path[TILE * TILE];
    const BlockPlace block(extent, TILE, TILE);
    const int left = block.left, top = block.top;
    const size_t base = block.base;
    const int PER_THREAD = TILE * TILE / THREADS;
    const bool cut = tau < INFINITY; // roots already are their own parents
    int parent[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
    {
        const int i = k * THREADS + threadIdx.x, x = left + i % TILE, y = top + i / TILE, index = y * extent.cols + x;
        const bool inside = x < extent.cols && y < extent.rows;
        parent[k] = -1;
        if (inside)
        {
            parent[k] = parents[base + index];
            if (cut && parent[k] >= 0 && distances[base + index] > tau)
                parent[k] = index;
        }
        const uint32_t marks = __ballot_sync(0xffffffffu, inside && parent[k] == index);
        if (threadIdx.x % TILE == 0 && y < extent.rows)
        {
            const size_t segment = static_cast<size_t>(block.image) * segmentsOf(extent) +
                                   y * detail::ceilDiv(extent.cols, 32) + left / 32;
            roots[segment] = marks;
            counts[segment] = __popc(marks);
        }
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
    {
        const int row = ::max(parent[k], 0) / extent.cols, px = parent[k] - row * extent.cols - left, py = row - top;
        const bool within = parent[k] >= 0 && static_cast<unsigned>(px) < static_cast<unsigned>(TILE) &&
                            static_cast<unsigned>(py) < static_cast<unsigned>(TILE);
        path[k * THREADS + threadIdx.x] = static_cast<short>(within ? py * TILE + px : k * THREADS + threadIdx.x);
    }
    for (bool moved = true; __syncthreads_or(moved);) // each step doubles the distance covered
    {
        moved = false;
        short next[PER_THREAD];
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
        {
            const short at = path[k * THREADS + threadIdx.x];
            next[k] = path[at];
            moved = moved || next[k] != at;
        }
        __syncthreads(); // all have read this step's positions
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k)
            path[k * THREADS + threadIdx.x] = next[k];
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
    {
        const int i = k * THREADS + threadIdx.x, x = left + i % TILE, y = top + i / TILE;
        if (x >= extent.cols || y >= extent.rows)
            continue;
        const int place = path[i], px = left + place % TILE, py = top + place / TILE;
        int jump = parent[k];
        if (place != i) // `place` is the last ancestor inside; its link leads out of the tile or to itself
        {
            jump = parents[base + py * extent.cols + px];
            if (cut && distances[base + py * extent.cols + px] > tau)
                jump = py * extent.cols + px;
        }
        jumps[base + y * extent.cols + x] = jump;
    }
}

//! Assigns each pixel the label of its root, and each image its number of roots. @param ranks see Ranking.
__global__ void __launch_bounds__(THREADS)
    assignLabels(const Extent extent, const int* __restrict__ jumps, const uint32_t* __restrict__ roots,
                 const int* __restrict__ ranks, int* __restrict__ labels, int* __restrict__ counts,
                 const RowsView<int> copy)
{
    detail::waitForKernelBefore();
    const PixelPlace p(extent);
    if (!p.inside)
        return;
    const int segments = segmentsOf(extent), index = p.y * extent.cols + p.x;
    const size_t base = p.at - index, begin = static_cast<size_t>(p.image) * segments;
    const int first = ranks[begin];
    if (index == extent.pixels() - 1)
        counts[p.image] = ranks[begin + segments] - first;
    int root = jumps[base + index];
    for (int next; root >= 0 && (next = jumps[base + root]) != root;)
        root = next;
    int label = -1;
    if (root >= 0)
    {
        const int row = root / extent.cols, column = root - row * extent.cols;
        const size_t segment = begin + row * detail::ceilDiv(extent.cols, 32) + column / 32;
        label = ranks[segment] + __popc(roots[segment] & ((1u << column % 32) - 1)) - first;
    }
    labels[p.at] = label;
    if (copy)
        copy.row(p.y)[p.x] = label;
}

//! Computes sums[k], the sum of the values before k, for k = 0 .. count.
void scan(int count, const int* values, int* sums, const Ranking& ranking, cudaStream_t stream)
{
    const char* name = "quick shift ranks";
    detail::cudaCheck(cudaMemsetAsync(sums, 0, sizeof(int), stream), name);
    callCub(name,
            [&]
            {
                size_t bytes = ranking.scanBytes;
                return cub::DeviceScan::InclusiveSum(ranking.scans, bytes, values, sums + 1, count, stream);
            });
}

// --- links -----------------------------------------------------------------------------------------------------------

//! Selects the lengths of links: roots and masked pixels have +inf.
struct IsFinite
{
    __host__ __device__ bool operator()(float value) const { return isFinite(value); }
};

__global__ void __launch_bounds__(THREADS) countLongerLinks(int total, const int* __restrict__ parents,
                                                            const float* __restrict__ distances, float tau, int* count)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const bool longer = i < total && parents[i] >= 0 && distances[i] > tau;
    const int n = __syncthreads_count(longer);
    if (threadIdx.x == 0 && n > 0)
        atomicAdd(count, n);
}

//! Computes left[k], the superpixels when links longer than heights[k] are cut. @param most pixels that are not masked.
__global__ void __launch_bounds__(THREADS) countSuperpixelsLeft(const int* __restrict__ distinct, int most,
                                                                const int* __restrict__ sums, int* __restrict__ left)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < *distinct)
        left[i] = most - sums[i];
}

} // namespace

size_t scanBytesFor(const Extent& extent)
{
    size_t most = 0;
    const int n = extent.total();
    const float* in = nullptr;
    float* out = nullptr;
    int* values = nullptr;
    const auto take = [&](const auto& ask)
    {
        size_t bytes = 0;
        callCub("quick shift scratch", [&] { return ask(bytes); });
        most = bytes > most ? bytes : most;
    };
    take([&](size_t& bytes) { return cub::DeviceSelect::If(nullptr, bytes, in, out, values, n, IsFinite()); });
    take([&](size_t& bytes) { return cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n); });
    take([&](size_t& bytes) { return cub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, out, values, values, n); });
    take([&](size_t& bytes) { return cub::DeviceScan::InclusiveSum(nullptr, bytes, values, values, n); });
    return most;
}

void label(const Extent& extent, const Trees& trees, float tau, const Ranking& ranking, int* labels, int* counts,
           RowsView<int> copy, bool early, StreamHandle stream)
{
    detail::launchAs(early, "quick shift paths", resolvePathsInTiles, gridOf(extent, TILE, TILE), dim3(THREADS), 0,
                     stream, extent, trees.parents, trees.distances, tau, ranking.jumps, ranking.roots, ranking.counts);
    scan(segmentsOf(extent) * extent.count, ranking.counts, ranking.ranks, ranking, stream);
    detail::launchEarly("quick shift labels", assignLabels, gridOf(extent), BLOCK, 0, stream, extent, ranking.jumps,
                        ranking.roots, ranking.ranks, labels, counts, copy);
}

void numberSuperpixels(const Extent& extent, const int* counts, int* firsts, const Ranking& ranking,
                       StreamHandle stream)
{
    scan(extent.count, counts, firsts, ranking, stream);
}

void countLonger(const Extent& extent, const Trees& trees, float tau, int* count, StreamHandle stream)
{
    detail::cudaCheck(cudaMemsetAsync(count, 0, sizeof(int), stream), "quick shift count");
    detail::launch("quick shift count", countLongerLinks, detail::linearGrid(extent.total(), THREADS), dim3(THREADS), 0,
                   stream, extent.total(), trees.parents, trees.distances, tau, count);
}

void selectLinks(const Extent& extent, const Trees& trees, const Links& links, int* count, const Ranking& ranking,
                 StreamHandle stream)
{
    callCub("quick shift links",
            [&]
            {
                size_t bytes = ranking.scanBytes;
                return cub::DeviceSelect::If(ranking.scans, bytes, trees.distances, links.unsorted, count,
                                             extent.total(), IsFinite(), stream);
            });
}

void sortLinks(int count, int roots, const Links& links, int* distinct, const Ranking& ranking, StreamHandle stream)
{
    size_t bytes = ranking.scanBytes;
    detail::cudaCheck(cudaMemsetAsync(links.lengths, 0, count * sizeof(int), stream), "quick shift heights");
    callCub("quick shift heights",
            [&] {
                return cub::DeviceRadixSort::SortKeys(ranking.scans, bytes, links.unsorted, links.sorted, count, 0, 32,
                                                      stream);
            });
    callCub("quick shift heights",
            [&]
            {
                return cub::DeviceRunLengthEncode::Encode(ranking.scans, bytes, links.sorted, links.heights,
                                                          links.lengths, distinct, count, stream);
            });
    callCub("quick shift heights", [&]
            { return cub::DeviceScan::InclusiveSum(ranking.scans, bytes, links.lengths, links.sums, count, stream); });
    detail::launch("quick shift heights", countSuperpixelsLeft, detail::linearGrid(count, THREADS), dim3(THREADS), 0,
                   stream, distinct, roots + count, links.sums, links.left);
}

}}}} // namespace cv::cuda::quick_shift::gpu
