// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// label and links of QuickShift, and the labels of connect.
//
// Label: paths are up to 150 links long. A block first follows them inside its tile in shared memory (doubling), so that
// what is left are a few jumps from tile to tile; roots are counted by a scan in raster order; then each pixel jumps to its
// root and takes its rank. Moves about 40 bytes a pixel; bound by memory latency.
#include "quick_shift_plan.hpp"
#include "../common/launch.hpp"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int TILE = 32, THREADS = 256;

//! 1 where a pixel is its own root.
struct IsRoot
{
    const int* roots; //!< indices within a picture
    int pixels;

    __host__ __device__ int operator()(int i) const { return roots[i] == (i < pixels ? i : i % pixels); }
};

struct IsFinite
{
    __host__ __device__ bool operator()(float value) const { return isFinite(value); }
};

/** jumps: from each pixel to the first ancestor outside its tile, or to its root. Roots point at themselves, masked pixels
are -1. A block is a tile of TILE x TILE pixels. */
__global__ void __launch_bounds__(THREADS)
    jumpTiles(const Extent extent, const int* __restrict__ parents, const float* __restrict__ distances, float tau,
              int* __restrict__ jumps)
{
    // In the tile: where the path stands, as a place in the tile. Pixels whose parent is elsewhere stand still.
    __shared__ short path[TILE * TILE];
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    const size_t base = static_cast<size_t>(blockIdx.z) * extent.pixels();
    const int PER_THREAD = TILE * TILE / THREADS;
    const bool cut = tau < INFINITY; // roots already are their own parents
    int parent[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
    {
        const int i = k * THREADS + threadIdx.x, x = left + i % TILE, y = top + i / TILE, index = y * extent.cols + x;
        parent[k] = -1;
        int place = i;
        if (x < extent.cols && y < extent.rows)
        {
            parent[k] = parents[base + index];
            if (cut && parent[k] >= 0 && distances[base + index] > tau)
                parent[k] = index;
            const int px = parent[k] % extent.cols - left, py = parent[k] / extent.cols - top;
            if (parent[k] >= 0 && px >= 0 && px < TILE && py >= 0 && py < TILE)
                place = py * TILE + px;
        }
        path[i] = static_cast<short>(place);
    }
    for (bool moved = true; __syncthreads_or(moved);) // each step doubles the part of the path that is behind
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
        __syncthreads(); // all have read this step's places
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
        if (place != i) // the last ancestor inside; its own link leads out or to itself
        {
            jump = parents[base + py * extent.cols + px];
            if (cut && distances[base + py * extent.cols + px] > tau)
                jump = py * extent.cols + px;
        }
        jumps[base + y * extent.cols + x] = jump;
    }
}

__global__ void __launch_bounds__(THREADS)
    relabel(const Extent extent, const int* __restrict__ jumps, const int* __restrict__ ranks, int* __restrict__ labels,
            int* __restrict__ counts)
{
    const int i = blockIdx.x * THREADS + threadIdx.x, pixels = extent.pixels();
    if (i >= extent.total())
        return;
    const int picture = i / pixels, base = picture * pixels, first = ranks[base];
    int root = jumps[i];
    if (i - base == pixels - 1)
        counts[picture] = ranks[i] - first + (root == pixels - 1 ? 1 : 0);
    while (root >= 0 && jumps[base + root] != root)
        root = jumps[base + root];
    labels[i] = root < 0 ? -1 : ranks[base + root] - first;
}

__global__ void __launch_bounds__(THREADS)
    countLinks(int total, const int* __restrict__ parents, const float* __restrict__ distances, float tau, int* count)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const bool longer = i < total && parents[i] >= 0 && distances[i] > tau;
    const int n = __syncthreads_count(longer);
    if (threadIdx.x == 0 && n > 0)
        atomicAdd(count, n);
}

//! Superpixels when links longer than heights[k] are cut. @param most number of pixels that are not masked.
__global__ void __launch_bounds__(THREADS)
    countLeft(const int* __restrict__ distinct, int most, const int* __restrict__ sums, int* __restrict__ left)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < *distinct)
        left[i] = most - sums[i];
}

typedef thrust::transform_iterator<IsRoot, thrust::counting_iterator<int>> RootFlags;

RootFlags rootFlags(const Extent& extent, const int* roots)
{
    return RootFlags(thrust::counting_iterator<int>(0), IsRoot{roots, extent.pixels()});
}

/** Calls CUB, which asks for the last error after its launches and for properties of kernels before them. Neither an older error
nor a capture may come between. */
template <typename Run> void callCub(const char* name, const Run& run)
{
    const detail::OutsideOfCapture outside;
    detail::forgetOlderError();
    detail::cudaCheck(run(), name);
}

//! Ranks of the roots, then labels. @param roots each pixel's root, or the next pixel on its way there.
void rank(const Extent& extent, const int* roots, const Ranking& ranking, int* labels, int* counts, cudaStream_t stream)
{
    callCub("quick shift ranks",
            [&]
            {
                size_t bytes = ranking.scanBytes;
                return cub::DeviceScan::ExclusiveSum(ranking.scans, bytes, rootFlags(extent, roots), ranking.ranks,
                                                     extent.total(), stream);
            });
    detail::launch("quick shift labels", relabel, detail::linearGrid(extent.total(), THREADS), dim3(THREADS), 0, stream,
                   extent, roots, ranking.ranks, labels, counts);
}

} // namespace

size_t scanBytesFor(const Extent& extent)
{
    size_t most = 0;
    const int n = extent.total();
    const float* in = nullptr;
    float* out = nullptr;
    int* numbers = nullptr;
    const auto take = [&](const auto& ask)
    {
        size_t bytes = 0;
        callCub("quick shift scratch", [&] { return ask(bytes); });
        most = bytes > most ? bytes : most;
    };
    take([&](size_t& bytes)
         { return cub::DeviceScan::ExclusiveSum(nullptr, bytes, rootFlags(extent, nullptr), numbers, n); });
    take([&](size_t& bytes) { return cub::DeviceSelect::If(nullptr, bytes, in, out, numbers, n, IsFinite()); });
    take([&](size_t& bytes) { return cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n); });
    take([&](size_t& bytes)
         { return cub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, out, numbers, numbers, n); });
    take([&](size_t& bytes) { return cub::DeviceScan::InclusiveSum(nullptr, bytes, numbers, numbers, n); });
    return most;
}

void label(const Extent& extent, const Trees& trees, float tau, const Ranking& ranking, int* labels, int* counts,
           StreamHandle stream)
{
    forSlices(extent, MOST_BLOCKS,
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift paths", jumpTiles,
                                 dim3(detail::ceilDiv(e.cols, TILE), detail::ceilDiv(e.rows, TILE), e.count),
                                 dim3(THREADS), 0, stream, e, trees.parents + slice.pixel,
                                 trees.distances + slice.pixel, tau, ranking.jumps + slice.pixel);
              });
    rank(extent, ranking.jumps, ranking, labels, counts, stream);
}

void rankPieces(const Extent& extent, const Pieces& pieces, const Ranking& ranking, int* labels, int* count,
                StreamHandle stream)
{
    rank(extent, pieces.root, ranking, labels, count, stream);
}

void countLonger(const Extent& extent, const Trees& trees, float tau, int* count, StreamHandle stream)
{
    detail::cudaCheck(cudaMemsetAsync(count, 0, sizeof(int), stream), "quick shift count");
    detail::launch("quick shift count", countLinks, detail::linearGrid(extent.total(), THREADS), dim3(THREADS), 0,
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
    detail::launch("quick shift heights", countLeft, detail::linearGrid(count, THREADS), dim3(THREADS), 0, stream,
                   distinct, roots + count, links.sums, links.left);
}

}}}} // namespace cv::cuda::quick_shift::gpu
