// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// label, cut and heights of QuickShift, and the labels of connect.
//
// Label: paths are up to 150 links long. A block first follows them inside its tile in shared memory (doubling), so that
// what is left are a few jumps from tile to tile; roots are counted by a scan in raster order; then each pixel jumps to its
// root and takes its rank. Moves about 40 bytes a pixel; bound by memory latency.
#include "quick_shift_tuning.hpp"
#include "../common/launch.hpp"
#include "../quick_shift/stages_cuda.hpp"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int TILE = 32, THREADS = 256;

// Host functions here are static: nvcc gives unnamed namespaces a name, and g++ then misses declarations.
static dim3 gridOf(const Extent& e, int cols, int rows)
{
    return dim3((e.cols + cols - 1) / cols, (e.rows + rows - 1) / rows, e.count);
}
static dim3 linear(int n) { return dim3((n + THREADS - 1) / THREADS); }

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

__global__ void __launch_bounds__(THREADS)
    densityOf(const Extent extent, const Parameters parameters, const uint32_t* __restrict__ keys,
              const detail::RowsView<float> out)
{
    const int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 8 + threadIdx.x / 32;
    if (x < extent.cols && y < extent.rows * extent.count)
        out.row(y)[x] = keyDensity(keys[static_cast<size_t>(y) * extent.cols + x], parameters);
}

typedef thrust::transform_iterator<IsRoot, thrust::counting_iterator<int>> RootFlags;

static RootFlags rootFlags(const Extent& extent, const int* roots)
{
    return RootFlags(thrust::counting_iterator<int>(0), IsRoot{roots, extent.pixels()});
}

static void scanRoots(const Extent& extent, const int* roots, int* ranks, void* scratch, size_t scratchBytes,
                      cudaStream_t stream)
{
    detail::cudaCheck(
        cub::DeviceScan::ExclusiveSum(scratch, scratchBytes, rootFlags(extent, roots), ranks, extent.total(), stream),
        "quick shift ranks");
}

} // namespace

size_t scratchBytes(const Extent& extent)
{
    size_t most = 0, bytes = 0;
    const int n = extent.total();
    detail::cudaCheck(
        cub::DeviceScan::ExclusiveSum(nullptr, bytes, rootFlags(extent, nullptr), static_cast<int*>(nullptr), n),
        "quick shift scratch");
    most = bytes > most ? bytes : most;
    const float* in = nullptr;
    float* out = nullptr;
    int* lengths = nullptr;
    detail::cudaCheck(cub::DeviceSelect::If(nullptr, bytes, in, out, lengths, n, IsFinite()), "quick shift scratch");
    most = bytes > most ? bytes : most;
    detail::cudaCheck(cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n), "quick shift scratch");
    most = bytes > most ? bytes : most;
    detail::cudaCheck(cub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, out, lengths, lengths, n),
                      "quick shift scratch");
    most = bytes > most ? bytes : most;
    detail::cudaCheck(cub::DeviceScan::InclusiveSum(nullptr, bytes, lengths, lengths, n), "quick shift scratch");
    return bytes > most ? bytes : most;
}

void label(const Extent& extent, const int* parents, const float* distances, float tau, int* jumps, int* ranks,
           int* labels, int* counts, void* scratch, size_t scratchBytes, cudaStream_t stream)
{
    detail::launch("quick shift paths", jumpTiles, gridOf(extent, TILE, TILE), dim3(THREADS), 0, stream, extent,
                   parents, distances, tau, jumps);
    scanRoots(extent, jumps, ranks, scratch, scratchBytes, stream);
    detail::launch("quick shift labels", relabel, linear(extent.total()), dim3(THREADS), 0, stream, extent, jumps,
                   ranks, labels, counts);
}

void rankPieces(const Extent& extent, const Pieces& pieces, int* ranks, int* labels, int* count, void* scratch,
                size_t scratchBytes, cudaStream_t stream)
{
    scanRoots(extent, pieces.root, ranks, scratch, scratchBytes, stream);
    detail::launch("quick shift labels", relabel, linear(extent.total()), dim3(THREADS), 0, stream, extent, pieces.root,
                   ranks, labels, count);
}

void countLonger(const Extent& extent, const int* parents, const float* distances, float tau, int* count,
                 cudaStream_t stream)
{
    detail::cudaCheck(cudaMemsetAsync(count, 0, sizeof(int), stream), "quick shift count");
    detail::launch("quick shift count", countLinks, linear(extent.total()), dim3(THREADS), 0, stream, extent.total(),
                   parents, distances, tau, count);
}

void selectLinks(const Extent& extent, const float* distances, float* links, int* count, void* scratch,
                 size_t scratchBytes, cudaStream_t stream)
{
    detail::cudaCheck(
        cub::DeviceSelect::If(scratch, scratchBytes, distances, links, count, extent.total(), IsFinite(), stream),
        "quick shift links");
}

void sortLinks(int links, const float* unsorted, float* sorted, float* heights, int* lengths, int* sums, int* distinct,
               void* scratch, size_t scratchBytes, cudaStream_t stream)
{
    detail::cudaCheck(cub::DeviceRadixSort::SortKeys(scratch, scratchBytes, unsorted, sorted, links, 0, 32, stream),
                      "quick shift heights");
    detail::cudaCheck(
        cub::DeviceRunLengthEncode::Encode(scratch, scratchBytes, sorted, heights, lengths, distinct, links, stream),
        "quick shift heights");
    detail::cudaCheck(cub::DeviceScan::InclusiveSum(scratch, scratchBytes, lengths, sums, links, stream),
                      "quick shift heights");
}

void density(const Extent& extent, const Parameters& parameters, const uint32_t* keys, detail::RowsView<float> out,
             cudaStream_t stream)
{
    detail::launch("quick shift density", densityOf,
                   dim3((extent.cols + 31) / 32, (extent.rows * extent.count + 7) / 8), dim3(THREADS), 0, stream,
                   extent, parameters, keys, out);
}

}}}} // namespace cv::cuda::quick_shift::gpu
