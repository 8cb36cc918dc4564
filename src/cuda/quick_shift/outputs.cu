// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// densities, contours, sums, means and statistics of QuickShift. Simple kernels, bound by memory and atomics; sums are
// integers, so the order of the atomics does not show.
#include "plan.hpp"
#include "../../common/launch.hpp"
#include <cub/warp/warp_reduce.cuh>

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
    const int y = row % extent.rows; // borders of stacked images are borders
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

template <typename T> __device__ __forceinline__ const T* pixelOf(const ImageView& image, int x, int y)
{
    return image.row<T>(y) + static_cast<size_t>(x) * image.channels;
}

__device__ __forceinline__ Sums& sumsOf(const SumsTable& table, int label)
{
    return *reinterpret_cast<Sums*>(reinterpret_cast<char*>(table.first) + label * table.stride);
}

//! Where a row of a stack belongs. One image needs no division.
struct Row
{
    int image, y;
};
__device__ __forceinline__ Row rowOf(const Extent& extent, int row)
{
    const int image = extent.count == 1 ? 0 : row / extent.rows;
    return {image, row - image * extent.rows};
}

//! Number of a label among the superpixels of the stack.
__device__ __forceinline__ int numberOf(const SumsTable& table, int image, int label)
{
    return table.firsts && label >= 0 ? table.firsts[image] + label : label;
}

//! Labels may come from another compute() than the one that the table was made for: never beyond either.
__device__ __forceinline__ int sizeOf(const SumsTable& table) { return ::min(*table.count, table.capacity); }

__global__ void __launch_bounds__(THREADS) findLargest(const Extent extent, const ImageView image, uint32_t* largest)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    uint32_t most = 0;
    if (x < extent.cols && y < extent.rows * extent.count)
        for (int k = 0; k < image.channels; ++k)
        {
            const float value = pixelOf<float>(image, x, y)[k];
            if (isFinite(value))
                most = ::max(most, floatBits(value) & 0x7fffffffu);
        }
    // cub::WarpReduce makes 11 instructions more of it (CUDA 13.0, sm_90).
    for (int offset = 16; offset > 0; offset /= 2)
        most = ::max(most, __shfl_xor_sync(0xffffffffu, most, offset));
    uint32_t* const ofImage = largest + rowOf(extent, ::min(y, extent.rows * extent.count - 1)).image;
    if (threadIdx.x == 0 && most > *ofImage)
        atomicMax(ofImage, most);
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

__device__ __forceinline__ double scaleOf(const ImageView& image, const SumsTable& table, int index)
{
    return image.depth == detail::DEPTH_32F ? fixedScale(table.largest[index]) : 1.;
}

// What differs between depths: how a colour is added and how a mean is stored.
__device__ __forceinline__ long long colourOf(uint8_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(uint16_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(float value, double scale) { return fixedColour(value, scale); }

/** A warp is 32 pixels of a row, most of one label: its lanes of the same label as lane 0 of the run are added up first.
Runs of equal labels end where the label changes, so a warp issues one set of atomics a run. */
template <typename T>
__global__ void __launch_bounds__(THREADS) addUp(const Extent extent, const int* __restrict__ labels,
                                                 const ImageView image, bool places, const SumsTable table)
{
    const int x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y, lane = threadIdx.x;
    const bool inside = x < extent.cols && row < extent.rows * extent.count;
    const Row at = rowOf(extent, inside ? row : 0);
    const int label = numberOf(table, at.image, inside ? labels[static_cast<size_t>(row) * extent.cols + x] : -1);
    const int before = __shfl_up_sync(0xffffffffu, label, 1);
    const unsigned heads = __ballot_sync(0xffffffffu, lane == 0 || before != label);
    const unsigned after = lane == 31 ? 0u : heads & (0xfffffffeu << lane); // heads right of this lane
    const int end = after ? __ffs(after) - 1 : 32;
    typedef cub::WarpReduce<long long> Reduce;
    __shared__ Reduce::TempStorage memory[BLOCK_ROWS];
    const double scale = scaleOf(image, table, at.image);
    long long colour[MAX_CHANNELS] = {};
#pragma unroll
    for (int k = 0; k < MAX_CHANNELS; ++k)
    {
        if (image.data != nullptr && k < image.channels)
        {
            colour[k] = inside ? colourOf(pixelOf<T>(image, x, row)[k], scale) : 0;
            colour[k] = Reduce(memory[threadIdx.y]).HeadSegmentedSum(colour[k], heads >> lane & 1);
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
    atomicAdd(&s.y, n * at.y);
    atomicMin(&s.left, x);
    atomicMax(&s.right, x + static_cast<int>(n) - 1);
    atomicMin(&s.top, at.y);
    atomicMax(&s.bottom, at.y);
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
__global__ void __launch_bounds__(THREADS) paint(const Extent extent, const int* __restrict__ labels,
                                                 const ImageView image, const SumsTable table, const RowsView<void> dst)
{
    const int x = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (x >= extent.cols || row >= extent.rows * extent.count)
        return;
    const int index = rowOf(extent, row).image;
    const int label = numberOf(table, index, labels[static_cast<size_t>(row) * extent.cols + x]);
    const bool known = label >= 0 && label < sizeOf(table);
    const double scale = scaleOf(image, table, index);
    T* to = static_cast<T*>(dst.row(row)) + static_cast<size_t>(x) * image.channels;
    for (int k = 0; k < image.channels; ++k)
    {
        to[k] = T(0);
        if (known)
            storeMean(sumsOf(table, label), k, scale, to[k]);
    }
}

//! The index of a superpixel: the last that does not begin behind it.
__device__ __forceinline__ int imageOfNumber(const SumsTable& sums, int number)
{
    int first = 0, last = sums.firsts ? sums.images - 1 : 0;
    while (first < last)
    {
        const int middle = (first + last + 1) / 2;
        if (sums.firsts[middle] <= number)
            first = middle;
        else
            last = middle - 1;
    }
    return first;
}

__global__ void __launch_bounds__(THREADS)
    fillTable(int rows, const ImageView image, const SumsTable sums, const Table table)
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
        const double scale = scaleOf(image, sums, imageOfNumber(sums, i));
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
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift density", findDensities, gridOf(e.cols, e.rows * e.count), BLOCK, 0,
                                 stream, e, parameters, keys + slice.pixel,
                                 RowsView<float>{out.row(slice.image * extent.rows), out.step});
              });
}

void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask, StreamHandle stream)
{
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift contours", findContours, gridOf(e.cols, e.rows * e.count), BLOCK, 0,
                                 stream, e, labels + slice.pixel, thick,
                                 RowsView<uint8_t>{mask.row(slice.image * extent.rows), mask.step});
              });
}

//! A slice's part of what belongs to images.
static SumsTable partOf(const SumsTable& whole, const Slice& slice)
{
    SumsTable part = whole;
    part.firsts = whole.firsts ? whole.firsts + slice.image : nullptr;
    part.largest = whole.largest + slice.image;
    return part;
}
static ImageView partOf(const ImageView& whole, const Slice& slice)
{
    return whole.part(slice.image * slice.extent.rows, slice.extent.rows * slice.extent.count);
}

template <typename T>
static void addImages(const Extent& extent, const int* labels, const ImageView& image, bool places,
                      const SumsTable& table, StreamHandle stream)
{
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  const SumsTable part = partOf(table, slice);
                  const dim3 grid = gridOf(e.cols, e.rows * e.count);
                  if (image && image.depth == detail::DEPTH_32F)
                      detail::launch("quick shift largest", findLargest, grid, BLOCK, 0, stream, e,
                                     partOf(image, slice), part.largest);
                  detail::launch("quick shift sums", addUp<T>, grid, BLOCK, 0, stream, e, labels + slice.pixel,
                                 partOf(image, slice), places, part);
              });
}

void sums(const Extent& extent, const int* labels, const ImageView& image, bool places, const SumsTable& table,
          StreamHandle stream)
{
    const char* name = "quick shift sums";
    detail::launch(name, clearSums, detail::linearGrid(table.capacity, THREADS), dim3(THREADS), 0, stream, table,
                   image.channels, places);
    if (image && image.depth == detail::DEPTH_32F)
    {
        detail::cudaCheck(cudaMemsetAsync(table.largest, 0, sizeof(uint32_t) * extent.count, stream), name);
        addImages<float>(extent, labels, image, places, table, stream);
    }
    else if (image.depth == detail::DEPTH_16U)
        addImages<uint16_t>(extent, labels, image, places, table, stream);
    else
        addImages<uint8_t>(extent, labels, image, places, table, stream);
}

template <typename T>
static void paintImages(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                        RowsView<void> dst, StreamHandle stream)
{
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  detail::launch("quick shift mean colour", paint<T>, gridOf(e.cols, e.rows * e.count), BLOCK, 0,
                                 stream, e, labels + slice.pixel, partOf(image, slice), partOf(sums, slice),
                                 RowsView<void>{dst.row(slice.image * extent.rows), dst.step});
              });
}

void paintMeans(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                RowsView<void> dst, StreamHandle stream)
{
    if (image.depth == detail::DEPTH_32F)
        paintImages<float>(extent, labels, image, sums, dst, stream);
    else if (image.depth == detail::DEPTH_16U)
        paintImages<uint16_t>(extent, labels, image, sums, dst, stream);
    else
        paintImages<uint8_t>(extent, labels, image, sums, dst, stream);
}

void tabulate(int rows, const ImageView& image, const SumsTable& sums, const Table& table, StreamHandle stream)
{
    detail::launch("quick shift statistics", fillTable, detail::linearGrid(rows, THREADS), dim3(THREADS), 0, stream,
                   rows, image, sums, table);
}

}}}} // namespace cv::cuda::quick_shift::gpu
