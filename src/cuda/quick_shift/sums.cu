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
    const PixelPlace p(extent);
    uint32_t most = 0;
    if (p.inside && labels[p.at] >= 0)
        for (int k = 0; k < image.channels; ++k)
        {
            const float value = pixelOf<float>(image, p.x, p.image * extent.rows + p.y)[k];
            if (isFinite(value))
                most = ::max(most, floatBits(value) & 0x7fffffffu);
        }
    most = detail::largestOfWarp(most);
    uint32_t* const ofImage = largest + p.image;
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
    const PixelPlace p(extent);
    const int lane = threadIdx.x, label = numberOf(table, p.image, p.inside ? labels[p.at] : -1);
    const int before = __shfl_up_sync(0xffffffffu, label, 1);
    const unsigned heads = __ballot_sync(0xffffffffu, lane == 0 || before != label);
    const unsigned after = lane == 31 ? 0u : heads & (0xfffffffeu << lane); // first lanes of runs right of this lane
    const int end = after ? __ffs(after) - 1 : 32;
    typedef cub::WarpReduce<long long> Reduce;
    __shared__ Reduce::TempStorage memory[BLOCK_ROWS];
    const double scale = scaleOf(image, table, p.image);
    long long colour[MOST] = {};
#pragma unroll
    for (int k = 0; k < MOST; ++k)
    {
        if (image.data != nullptr && k < image.channels)
        {
            colour[k] = label >= 0 ? colourOf(pixelOf<T>(image, p.x, p.image * extent.rows + p.y)[k], scale) : 0;
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
    atomicAdd(&s.x, n * p.x + n * (n - 1) / 2);
    atomicAdd(&s.y, n * p.y);
    atomicMin(&s.left, p.x);
    atomicMax(&s.right, p.x + static_cast<int>(n) - 1);
    atomicMin(&s.top, p.y);
    atomicMax(&s.bottom, p.y);
}

template <typename T>
void addImages(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& table,
               StreamHandle stream)
{
    if (image && image.depth == detail::DEPTH_32F)
        detail::launch("quick shift largest", findLargestMagnitude, gridOf(extent), BLOCK, 0, stream, extent, labels,
                       image, table.largest);
    const auto kernel =
        image.channels > FEW_CHANNELS ? sumSuperpixels<T, MAX_CHANNELS> : sumSuperpixels<T, FEW_CHANNELS>;
    detail::launch("quick shift sums", kernel, gridOf(extent), BLOCK, 0, stream, extent, labels, image, table);
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
