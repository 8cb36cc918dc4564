// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage sums on CUDA. Bound by memory and atomics; sums are integers, so their order does not matter.
#include "superpixels.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp.hpp"
#include <cub/warp/warp_reduce.cuh>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

//! Largest finite magnitude of the pixels that have a label.
__global__ void __launch_bounds__(THREADS)
    findLargestMagnitude(const Extent extent, const int* __restrict__ labels, const ImageView image, uint32_t* largest)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    uint32_t most = 0;
    if (x < extent.cols && y < extent.rows * extent.count && labels[static_cast<size_t>(y) * extent.cols + x] >= 0)
        for (int k = 0; k < image.channels; ++k)
        {
            const float value = pixelOf<float>(image, x, y)[k];
            if (isFinite(value))
                most = ::max(most, floatBits(value) & 0x7fffffffu);
        }
    most = detail::largestOfWarp(most);
    uint32_t* const ofImage = largest + rowOf(extent, ::min(y, extent.rows * extent.count - 1)).image;
    if (threadIdx.x == 0 && most > *ofImage)
        atomicMax(ofImage, most);
}

__global__ void __launch_bounds__(THREADS) clearSums(const SumsTable table)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= sizeOf(table))
        return;
    for (int k = 0; k < 1 + table.channels; ++k)
        sumsOf(table, i)[k] = 0;
    if (table.places)
        table.places[i] = {0, 0, 0x7fffffff, 0x7fffffff, -1, -1};
}

// Colours as integers, by depth.
__device__ __forceinline__ long long colourOf(uint8_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(uint16_t value, double) { return value; }
__device__ __forceinline__ long long colourOf(float value, double scale) { return fixedColour(value, scale); }

/** Adds the pixels of a stack to the sums. A warp is 32 pixels of a row. It first sums each run of equal labels and
then issues one set of atomics per run. @tparam MOST most channels. */
template <typename T, int MOST>
__global__ void __launch_bounds__(THREADS)
    sumSuperpixels(const Extent extent, const int* __restrict__ labels, const ImageView image, const SumsTable table)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, lane = threadIdx.x;
    const bool inside = x < extent.cols && y < extent.rows * extent.count;
    const Row at = rowOf(extent, inside ? y : 0);
    const int label = numberOf(table, at.image, inside ? labels[static_cast<size_t>(y) * extent.cols + x] : -1);
    const int before = __shfl_up_sync(0xffffffffu, label, 1);
    const unsigned heads = __ballot_sync(0xffffffffu, lane == 0 || before != label);
    const unsigned after = lane == 31 ? 0u : heads & (0xfffffffeu << lane); // first lanes of runs right of this lane
    const int end = after ? __ffs(after) - 1 : 32;
    typedef cub::WarpReduce<long long> Reduce;
    __shared__ Reduce::TempStorage memory[BLOCK_ROWS];
    const double scale = scaleOf(image, table, at.image);
    long long colour[MOST] = {};
#pragma unroll
    for (int k = 0; k < MOST; ++k)
    {
        if (image.data != nullptr && k < image.channels)
        {
            colour[k] = label >= 0 ? colourOf(pixelOf<T>(image, x, y)[k], scale) : 0;
            colour[k] = Reduce(memory[threadIdx.y]).HeadSegmentedSum(colour[k], heads >> lane & 1);
        }
    }
    if (!(heads >> lane & 1) || label < 0 || label >= sizeOf(table))
        return;
    unsigned long long* const row = sumsOf(table, label);
    const unsigned long long n = end - lane;
    atomicAdd(row, n);
#pragma unroll
    for (int k = 0; k < MOST; ++k)
        if (image.data != nullptr && k < image.channels)
            atomicAdd(row + 1 + k, static_cast<unsigned long long>(colour[k]));
    if (!table.places)
        return;
    Places& s = table.places[label];
    atomicAdd(&s.x, n * x + n * (n - 1) / 2);
    atomicAdd(&s.y, n * at.y);
    atomicMin(&s.left, x);
    atomicMax(&s.right, x + static_cast<int>(n) - 1);
    atomicMin(&s.top, at.y);
    atomicMax(&s.bottom, at.y);
}

//! Launches sumSuperpixels() for all slices.
template <typename T>
void addImages(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& table,
               StreamHandle stream)
{
    forSlices(extent, imagesOfRows(extent, BLOCK_ROWS),
              [&](const Slice& slice)
              {
                  const Extent& e = slice.extent;
                  const SumsTable part = partOf(table, slice);
                  const dim3 grid = gridOf(e.cols, e.rows * e.count);
                  if (image && image.depth == detail::DEPTH_32F)
                      detail::launch("quick shift largest", findLargestMagnitude, grid, BLOCK, 0, stream, e,
                                     labels + slice.pixel, partOf(image, slice), part.largest);
                  const auto kernel =
                      image.channels > FEW_CHANNELS ? sumSuperpixels<T, MAX_CHANNELS> : sumSuperpixels<T, FEW_CHANNELS>;
                  detail::launch("quick shift sums", kernel, grid, BLOCK, 0, stream, e, labels + slice.pixel,
                                 partOf(image, slice), part);
              });
}

} // namespace

void sums(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& table, StreamHandle stream)
{
    const char* name = "quick shift sums";
    detail::launch(name, clearSums, detail::linearGrid(table.capacity, THREADS), dim3(THREADS), 0, stream, table);
    if (image && image.depth == detail::DEPTH_32F)
    {
        detail::cudaCheck(cudaMemsetAsync(table.largest, 0, sizeof(uint32_t) * extent.count, stream), name);
        addImages<float>(extent, labels, image, table, stream);
    }
    else if (image.depth == detail::DEPTH_16U)
        addImages<uint16_t>(extent, labels, image, table, stream);
    else
        addImages<uint8_t>(extent, labels, image, table, stream);
}

}}}} // namespace cv::cuda::quick_shift::gpu
