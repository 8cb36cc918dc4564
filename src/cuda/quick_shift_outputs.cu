// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// contours, sums, mean colour, statistics and connect of QuickShift. Simple kernels, bound by memory and atomics; sums are
// integers, so the order of the atomics does not show.
#include "quick_shift_tuning.hpp"
#include "../common/launch.hpp"
#include "../quick_shift/stages_cuda.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int THREADS = 256;
const dim3 BLOCK(32, 8);

// Functions here are static: nvcc gives unnamed namespaces a name, and g++ then misses declarations.
static dim3 gridOf(int cols, int rows) { return dim3((cols + 31) / 32, (rows + 7) / 8); }
static dim3 linear(int n) { return dim3((n + THREADS - 1) / THREADS); }

__global__ void __launch_bounds__(THREADS)
    findContours(const Extent extent, const int* __restrict__ labels, bool thick, const detail::RowsView<uint8_t> mask)
{
    const int x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (x >= extent.cols || row >= extent.rows * extent.count)
        return;
    const int y = row % extent.rows; // borders of stacked pictures are borders
    const int* own = labels + static_cast<size_t>(row) * extent.cols + x;
    int differing = 0;
    for (int dy = thick ? -1 : 0; dy <= 1; ++dy)
        for (int dx = thick ? -1 : 0; dx <= 1; ++dx)
            if (x + dx >= 0 && x + dx < extent.cols && y + dy >= 0 && y + dy < extent.rows)
                differing += own[dy * extent.cols + dx] != *own;
    mask.row(row)[x] = differing > (thick ? 1 : 0) ? 255 : 0;
}

template <typename T> __device__ __forceinline__ const T* pixelOf(const Source& image, int x, int y)
{
    return reinterpret_cast<const T*>(static_cast<const char*>(image.data) + y * image.step) +
           static_cast<size_t>(x) * image.channels;
}

__global__ void __launch_bounds__(THREADS) findLargest(const Extent extent, const Source image, uint32_t* largest)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    uint32_t most = 0;
    if (x < extent.cols && y < extent.rows)
        for (int k = 0; k < image.channels; ++k)
        {
            const float value = pixelOf<float>(image, x, y)[k];
            if (isFinite(value))
                most = ::max(most, floatBits(value) & 0x7fffffffu);
        }
    for (int offset = 16; offset > 0; offset /= 2)
        most = ::max(most, __shfl_xor_sync(0xffffffffu, most, offset));
    if (threadIdx.x == 0 && most > *largest)
        atomicMax(largest, most);
}

__global__ void __launch_bounds__(THREADS) clearSums(Sums* sums, int count)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count)
    {
        Sums s = {};
        s.left = s.top = 0x7fffffff;
        s.right = s.bottom = -1;
        sums[i] = s;
    }
}

__device__ __forceinline__ long long colourOf(uint8_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(uint16_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(float value, double scale) { return fixedColour(value, scale); }

/** A warp is 32 pixels of a row, most of one label: its lanes of the same label as lane 0 of the run are added up first.
Runs of equal labels end where the label changes, so a warp issues one set of atomics a run. */
template <typename T>
__global__ void __launch_bounds__(THREADS) addUp(const Extent extent, const int* __restrict__ labels, int count,
                                                 const Source image, bool places, const uint32_t* largest, Sums* sums)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, lane = threadIdx.x;
    const bool inside = x < extent.cols && y < extent.rows;
    const int label = inside ? labels[static_cast<size_t>(y) * extent.cols + x] : -1;
    const int before = __shfl_up_sync(0xffffffffu, label, 1);
    const unsigned heads = __ballot_sync(0xffffffffu, lane == 0 || before != label);
    const unsigned after = lane == 31 ? 0u : heads & (0xfffffffeu << lane); // heads right of this lane
    const int end = after ? __ffs(after) - 1 : 32;
    const double scale = image.depth == 5 ? fixedScale(*largest) : 1.;
    long long colour[MAX_CHANNELS] = {};
#pragma unroll
    for (int k = 0; k < MAX_CHANNELS; ++k)
    {
        if (image.data != nullptr && k < image.channels)
        {
            colour[k] = inside ? colourOf(pixelOf<T>(image, x, y)[k], scale) : 0;
            for (int offset = 1; offset < 32; offset *= 2) // suffix sums of the run
            {
                const long long other = __shfl_down_sync(0xffffffffu, colour[k], offset);
                colour[k] += lane + offset < end ? other : 0;
            }
        }
    }
    if (!(heads >> lane & 1) || label < 0 || label >= count)
        return;
    Sums& s = sums[label];
    const unsigned long long n = end - lane;
    atomicAdd(&s.area, n);
#pragma unroll
    for (int k = 0; k < MAX_CHANNELS; ++k)
        if (image.data != nullptr && k < image.channels)
            atomicAdd(&s.colour[k], static_cast<unsigned long long>(colour[k]));
    if (!places)
        return;
    atomicAdd(&s.x, n * x + n * (n - 1) / 2);
    atomicAdd(&s.y, n * y);
    atomicMin(&s.left, x);
    atomicMax(&s.right, x + static_cast<int>(n) - 1);
    atomicMin(&s.top, y);
    atomicMax(&s.bottom, y);
}

__device__ __forceinline__ void storeMean(const Sums& s, int k, double, uint8_t& to)
{
    to = static_cast<uint8_t>(roundedMean(s.colour[k], s.area));
}
__device__ __forceinline__ void storeMean(const Sums& s, int k, double, uint16_t& to)
{
    to = static_cast<uint16_t>(roundedMean(s.colour[k], s.area));
}
__device__ __forceinline__ void storeMean(const Sums& s, int k, double scale, float& to)
{
    to = meanOf(s.colour[k], s.area, scale);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    paint(const Extent extent, const int* __restrict__ labels, const Source image, const uint32_t* largest,
          const Sums* __restrict__ sums, const detail::RowsView<T> dst)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= extent.cols || y >= extent.rows)
        return;
    const int label = labels[static_cast<size_t>(y) * extent.cols + x];
    const double scale = image.depth == 5 ? fixedScale(*largest) : 1.;
    T* to = dst.row(y) + static_cast<size_t>(x) * image.channels;
    for (int k = 0; k < image.channels; ++k)
    {
        to[k] = T(0);
        if (label >= 0)
            storeMean(sums[label], k, scale, to[k]);
    }
}

__global__ void __launch_bounds__(THREADS)
    fillTable(int count, const Source image, const uint32_t* largest, const Sums* sums, const Table table)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    const Sums& s = sums[i];
    if (table.areas)
        table.areas[i] = static_cast<int>(s.area);
    if (table.means)
    {
        const double scale = image.depth == 5 ? fixedScale(*largest) : 1.;
        for (int k = 0; k < image.channels; ++k)
            table.means[i * image.channels + k] = meanOf(s.colour[k], s.area, scale);
    }
    if (table.centroids)
    {
        table.centroids[2 * i] = meanOf(s.x, s.area, 1.);
        table.centroids[2 * i + 1] = meanOf(s.y, s.area, 1.);
    }
    if (table.boxes)
    {
        table.boxes[4 * i] = s.left;
        table.boxes[4 * i + 1] = s.top;
        table.boxes[4 * i + 2] = s.right - s.left + 1;
        table.boxes[4 * i + 3] = s.bottom - s.top + 1;
    }
}

// --- connect -------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ int rootFrom(const volatile int* root, int i)
{
    while (root[i] != i)
        i = root[i];
    return i;
}

//! Links always lead to a lower index, so the root of a piece is its first pixel whatever the order.
static __device__ void unite(int* root, int i, int j)
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
    if (i + extent.cols < extent.total() && labels[i + extent.cols] == labels[i])
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
    const int below = i + extent.cols < extent.total() ? pieces.root[i + extent.cols] : -1;
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

} // namespace

void contours(const Extent& extent, const int* labels, bool thick, detail::RowsView<uint8_t> mask, cudaStream_t stream)
{
    detail::launch("quick shift contours", findContours, gridOf(extent.cols, extent.rows * extent.count), BLOCK, 0,
                   stream, extent, labels, thick, mask);
}

void sums(const Extent& extent, const int* labels, int count, const Source& image, bool places, uint32_t* largest,
          Sums* sums, cudaStream_t stream)
{
    const dim3 grid = gridOf(extent.cols, extent.rows);
    detail::launch("quick shift sums", clearSums, linear(count), dim3(THREADS), 0, stream, sums, count);
    if (image.depth == 5)
    {
        detail::cudaCheck(cudaMemsetAsync(largest, 0, sizeof(uint32_t), stream), "quick shift sums");
        detail::launch("quick shift largest", findLargest, grid, BLOCK, 0, stream, extent, image, largest);
        detail::launch("quick shift sums", addUp<float>, grid, BLOCK, 0, stream, extent, labels, count, image, places,
                       largest, sums);
    }
    else if (image.depth == 2)
        detail::launch("quick shift sums", addUp<uint16_t>, grid, BLOCK, 0, stream, extent, labels, count, image,
                       places, largest, sums);
    else
        detail::launch("quick shift sums", addUp<uint8_t>, grid, BLOCK, 0, stream, extent, labels, count, image, places,
                       largest, sums);
}

void paintMeans(const Extent& extent, const int* labels, const Source& image, const uint32_t* largest, const Sums* sums,
                void* dst, size_t dstStep, cudaStream_t stream)
{
    const dim3 grid = gridOf(extent.cols, extent.rows);
    const char* name = "quick shift mean colour";
    if (image.depth == 5)
        detail::launch(name, paint<float>, grid, BLOCK, 0, stream, extent, labels, image, largest, sums,
                       detail::RowsView<float>{static_cast<float*>(dst), dstStep});
    else if (image.depth == 2)
        detail::launch(name, paint<uint16_t>, grid, BLOCK, 0, stream, extent, labels, image, largest, sums,
                       detail::RowsView<uint16_t>{static_cast<uint16_t*>(dst), dstStep});
    else
        detail::launch(name, paint<uint8_t>, grid, BLOCK, 0, stream, extent, labels, image, largest, sums,
                       detail::RowsView<uint8_t>{static_cast<uint8_t*>(dst), dstStep});
}

void tabulate(int count, const Source& image, const uint32_t* largest, const Sums* sums, const Table& table,
              cudaStream_t stream)
{
    detail::launch("quick shift statistics", fillTable, linear(count), dim3(THREADS), 0, stream, count, image, largest,
                   sums, table);
}

void split(const Extent& extent, const int* labels, const Pieces& pieces, cudaStream_t stream)
{
    const dim3 grid = linear(extent.total()), block(THREADS);
    detail::launch("quick shift pieces", startPieces, grid, block, 0, stream, extent.total(), labels, pieces);
    detail::launch("quick shift pieces", uniteEqual, grid, block, 0, stream, extent, labels, pieces);
    detail::launch("quick shift pieces", flatten, grid, block, 0, stream, extent.total(), pieces);
}

void join(const Extent& extent, int minSize, const Pieces& pieces, cudaStream_t stream)
{
    const dim3 grid = linear(extent.total()), block(THREADS);
    const int n = extent.total();
    detail::cudaCheck(cudaMemsetAsync(pieces.area, 0, sizeof(int) * n, stream), "quick shift join");
    detail::cudaCheck(cudaMemsetAsync(pieces.best, 0, sizeof(unsigned long long) * n, stream), "quick shift join");
    detail::cudaCheck(cudaMemsetAsync(pieces.joined, 0, sizeof(int), stream), "quick shift join");
    detail::launch("quick shift join", countArea, grid, block, 0, stream, n, pieces);
    detail::launch("quick shift join", chooseTargets, grid, block, 0, stream, extent, minSize, pieces);
    detail::launch("quick shift join", uniteTargets, grid, block, 0, stream, n, pieces);
    detail::launch("quick shift join", flatten, grid, block, 0, stream, n, pieces);
}

}}}} // namespace cv::cuda::quick_shift::gpu
