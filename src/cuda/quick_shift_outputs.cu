// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// densities, contours, sums, means and statistics of QuickShift. Simple kernels, bound by memory and atomics; sums are
// integers, so the order of the atomics does not show.
#include "quick_shift_plan.hpp"
#include "../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int THREADS = 256, BLOCK_COLS = 32, BLOCK_ROWS = 8;
const dim3 BLOCK(BLOCK_COLS, BLOCK_ROWS);

dim3 gridOf(int cols, int rows) { return dim3(detail::ceilDiv(cols, BLOCK_COLS), detail::ceilDiv(rows, BLOCK_ROWS)); }

__global__ void __launch_bounds__(THREADS)
    findContours(const Extent extent, const int* __restrict__ labels, bool thick, const RowsView<uint8_t> mask)
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

__global__ void __launch_bounds__(THREADS) findDensities(const Extent extent, const Parameters parameters,
                                                         const uint32_t* __restrict__ keys, const RowsView<float> out)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < extent.cols && y < extent.rows * extent.count)
        out.row(y)[x] = keyDensity(keys[static_cast<size_t>(y) * extent.cols + x], parameters);
}

template <typename T> __device__ __forceinline__ const T* pixelOf(const PictureView& image, int x, int y)
{
    return image.row<T>(y) + static_cast<size_t>(x) * image.channels;
}

__device__ __forceinline__ Sums& sumsOf(const SumsTable& table, int label)
{
    return *reinterpret_cast<Sums*>(reinterpret_cast<char*>(table.first) + label * table.stride);
}

//! Labels may come from another compute() than the one that the table was made for: never beyond either.
__device__ __forceinline__ int sizeOf(const SumsTable& table) { return ::min(*table.count, table.capacity); }

__global__ void __launch_bounds__(THREADS) findLargest(const Extent extent, const PictureView image, uint32_t* largest)
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

__global__ void __launch_bounds__(THREADS) clearSums(const SumsTable table, int channels, bool places)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= sizeOf(table))
        return;
    Sums& s = sumsOf(table, i);
    s.area = 0;
    for (int k = 0; k < (places ? MAX_CHANNELS : channels); ++k)
        s.colour[k] = 0;
    if (!places)
        return;
    s.x = s.y = 0;
    s.left = s.top = 0x7fffffff;
    s.right = s.bottom = -1;
}

__device__ __forceinline__ double scaleOf(const PictureView& image, const SumsTable& table)
{
    return image.depth == detail::DEPTH_32F ? fixedScale(*table.largest) : 1.;
}

// What differs between depths: how a colour is added and how a mean is stored.
__device__ __forceinline__ long long colourOf(uint8_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(uint16_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(float value, double scale) { return fixedColour(value, scale); }

/** A warp is 32 pixels of a row, most of one label: its lanes of the same label as lane 0 of the run are added up first.
Runs of equal labels end where the label changes, so a warp issues one set of atomics a run. */
template <typename T>
__global__ void __launch_bounds__(THREADS) addUp(const Extent extent, const int* __restrict__ labels,
                                                 const PictureView image, bool places, const SumsTable table)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, lane = threadIdx.x;
    const bool inside = x < extent.cols && y < extent.rows;
    const int label = inside ? labels[static_cast<size_t>(y) * extent.cols + x] : -1;
    const int before = __shfl_up_sync(0xffffffffu, label, 1);
    const unsigned heads = __ballot_sync(0xffffffffu, lane == 0 || before != label);
    const unsigned after = lane == 31 ? 0u : heads & (0xfffffffeu << lane); // heads right of this lane
    const int end = after ? __ffs(after) - 1 : 32;
    const double scale = scaleOf(image, table);
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
    if (!(heads >> lane & 1) || label < 0 || label >= sizeOf(table))
        return;
    Sums& s = sumsOf(table, label);
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
    paint(const Extent extent, const int* __restrict__ labels, const PictureView image, const SumsTable table,
          const RowsView<void> dst)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= extent.cols || y >= extent.rows)
        return;
    const int label = labels[static_cast<size_t>(y) * extent.cols + x];
    const bool known = label >= 0 && label < sizeOf(table);
    const double scale = scaleOf(image, table);
    T* to = static_cast<T*>(dst.row(y)) + static_cast<size_t>(x) * image.channels;
    for (int k = 0; k < image.channels; ++k)
    {
        to[k] = T(0);
        if (known)
            storeMean(sumsOf(table, label), k, scale, to[k]);
    }
}

__global__ void __launch_bounds__(THREADS)
    fillTable(int rows, const PictureView image, const SumsTable sums, const Table table)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows)
        return;
    Sums s = {};
    s.area = 1; // nothing, but no division by zero
    const bool known = i < sizeOf(sums);
    if (known)
        s = sumsOf(sums, i);
    if (table.areas)
        *table.areas.row(i) = known ? static_cast<int>(s.area) : 0;
    if (table.means)
    {
        const double scale = scaleOf(image, sums);
        for (int k = 0; k < image.channels; ++k)
            table.means.row(i)[k] = meanOf(s.colour[k], s.area, scale);
    }
    if (table.centroids)
    {
        table.centroids.row(i)[0] = meanOf(s.x, s.area, 1.);
        table.centroids.row(i)[1] = meanOf(s.y, s.area, 1.);
    }
    if (table.boxes)
    {
        int* const box = table.boxes.row(i);
        box[0] = s.left;
        box[1] = s.top;
        box[2] = known ? s.right - s.left + 1 : 0;
        box[3] = known ? s.bottom - s.top + 1 : 0;
    }
}

} // namespace

void densities(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out,
               StreamHandle stream)
{
    forSlices(extent, picturesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift density", findDensities, gridOf(e.cols, e.rows * e.count), BLOCK, 0,
                                 stream, e, parameters, keys + slice.pixel,
                                 RowsView<float>{out.row(slice.picture * extent.rows), out.step});
              });
}

void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask, StreamHandle stream)
{
    forSlices(extent, picturesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift contours", findContours, gridOf(e.cols, e.rows * e.count), BLOCK, 0,
                                 stream, e, labels + slice.pixel, thick,
                                 RowsView<uint8_t>{mask.row(slice.picture * extent.rows), mask.step});
              });
}

void sums(const Extent& extent, const int* labels, const PictureView& image, bool places, const SumsTable& table,
          StreamHandle stream)
{
    const char* name = "quick shift sums";
    const dim3 grid = gridOf(extent.cols, extent.rows);
    detail::launch(name, clearSums, detail::linearGrid(table.capacity, THREADS), dim3(THREADS), 0, stream, table,
                   image.channels, places);
    if (image && image.depth == detail::DEPTH_32F)
    {
        detail::cudaCheck(cudaMemsetAsync(table.largest, 0, sizeof(uint32_t), stream), name);
        detail::launch("quick shift largest", findLargest, grid, BLOCK, 0, stream, extent, image, table.largest);
        detail::launch(name, addUp<float>, grid, BLOCK, 0, stream, extent, labels, image, places, table);
    }
    else if (image.depth == detail::DEPTH_16U)
        detail::launch(name, addUp<uint16_t>, grid, BLOCK, 0, stream, extent, labels, image, places, table);
    else
        detail::launch(name, addUp<uint8_t>, grid, BLOCK, 0, stream, extent, labels, image, places, table);
}

void paintMeans(const Extent& extent, const int* labels, const PictureView& image, const SumsTable& sums,
                RowsView<void> dst, StreamHandle stream)
{
    const char* name = "quick shift mean colour";
    const dim3 grid = gridOf(extent.cols, extent.rows);
    if (image.depth == detail::DEPTH_32F)
        detail::launch(name, paint<float>, grid, BLOCK, 0, stream, extent, labels, image, sums, dst);
    else if (image.depth == detail::DEPTH_16U)
        detail::launch(name, paint<uint16_t>, grid, BLOCK, 0, stream, extent, labels, image, sums, dst);
    else
        detail::launch(name, paint<uint8_t>, grid, BLOCK, 0, stream, extent, labels, image, sums, dst);
}

void tabulate(int rows, const PictureView& image, const SumsTable& sums, const Table& table, StreamHandle stream)
{
    detail::launch("quick shift statistics", fillTable, detail::linearGrid(rows, THREADS), dim3(THREADS), 0, stream,
                   rows, image, sums, table);
}

}}}} // namespace cv::cuda::quick_shift::gpu
