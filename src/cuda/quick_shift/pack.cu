// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage pack on CUDA: converts pixels to words or planes, and clears what later stages add to. Reads and writes each
// pixel once; bound by memory.
//
// The kernels let the density's begin early only where each of its blocks has a multiprocessor of its own. Otherwise
// its first blocks would gather on the multiprocessors that run no block of these kernels, which takes longer when
// there are few blocks.
#include "plan.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

//! Begins a block. @param early whether the density's kernel may begin. @param listed length of the worklist, which is
//! set to 0; null: none.
__device__ __forceinline__ void begin(bool early, int* listed)
{
    if (early)
        detail::letNextKernelBegin();
    if (listed && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0)
        *listed = 0;
}

//! Packs images of all types, one pixel per thread.
template <typename T>
__global__ void __launch_bounds__(256)
    packImage(const ImageView source, const ImageView mask, int image, const Extent extent, const Scales scales,
              const Features features, const WeightSums sums, int* listed, bool early)
{
    begin(early, listed);
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= extent.cols || y >= extent.rows)
        return;
    const T* pixel = source.row<T>(y) + static_cast<size_t>(x) * source.channels;
    const size_t plane = extent.pixels(), at = static_cast<size_t>(y) * extent.cols + x, base = image * plane;
    if (sums.narrow)
        sums.narrow[base + at] = 0;
    else
        sums.wide[base + at] = 0;
    bool counts = !mask || mask.row<uint8_t>(y)[x] != 0;
    if (features.words)
    {
        uint32_t word = 0;
        for (int k = 0; k < source.channels; ++k)
            word |= static_cast<uint32_t>(pixel[k]) << (8 * k);
        features.words[base + at] = word;
        if (features.valid)
            features.valid[base + at] = counts;
        return;
    }
    // Scales that are not used are 1.
    for (int k = 0; k < source.channels; ++k)
        counts = counts && fabsf(static_cast<float>(pixel[k]) * scales.whole[k]) < LARGEST_FEATURE;
    for (int k = 0; k < source.channels; ++k)
        features.planes[base * features.channels + k * plane + at] =
            counts ? static_cast<float>(pixel[k]) * scales.power[k] : (k == 0 ? OUTSIDE : 0.f);
}

//! Clears the sums of the first `count` of four pixels.
__device__ __forceinline__ void clearFour(const WeightSums& sums, size_t at, int count)
{
    if (count == 4 && at % 4 == 0) // the sums themselves are aligned
    {
        const uint4 zeros = {0, 0, 0, 0};
        if (sums.narrow)
        {
            *reinterpret_cast<uint4*>(sums.narrow + at) = zeros;
            return;
        }
        uint4* const to = reinterpret_cast<uint4*>(sums.wide + at);
        to[0] = zeros;
        to[1] = zeros;
        return;
    }
    for (int k = 0; k < count; ++k)
        if (sums.narrow)
            sums.narrow[at + k] = 0;
        else
            sums.wide[at + k] = 0;
}

//! Packs three 8-bit channels without a mask, the common case: four pixels per thread, read as words where the row is
//! aligned.
__global__ void __launch_bounds__(256)
    packThreeChannels(const ImageView source, int image, const Extent extent, uint32_t* words, const WeightSums sums,
                      int* listed, bool early)
{
    begin(early, listed);
    const int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= extent.cols || y >= extent.rows)
        return;
    const uint8_t* row = source.row<uint8_t>(y);
    const size_t at = static_cast<size_t>(image) * extent.pixels() + static_cast<size_t>(y) * extent.cols + x;
    clearFour(sums, at, ::min(4, extent.cols - x));
    uint32_t* to = words + at;
    if (reinterpret_cast<size_t>(row) % 4 != 0 || x + 4 > extent.cols)
    {
        for (int k = 0; k < 4 && x + k < extent.cols; ++k)
        {
            const uint8_t* pixel = row + static_cast<size_t>(3) * (x + k);
            to[k] = pixel[0] | pixel[1] << 8 | pixel[2] << 16;
        }
        return;
    }
    const uint32_t* from = reinterpret_cast<const uint32_t*>(row + static_cast<size_t>(3) * x);
    const uint32_t a = from[0], b = from[1], c = from[2];
    const uint4 four = {a & 0xffffffu, a >> 24 | (b & 0xffffu) << 8, b >> 16 | (c & 0xffu) << 16, c >> 8};
    if (reinterpret_cast<size_t>(to) % 16 == 0)
    {
        *reinterpret_cast<uint4*>(to) = four;
        return;
    }
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
}

} // namespace

void pack(const ImageView& image, const ImageView& mask, int index, const Extent& extent, const Scales& scales,
          const Features& features, const WeightSums& sums, const Worklist& far, bool early, StreamHandle stream)
{
    int* const listed = index == 0 ? far.count : nullptr;
    const dim3 grid(detail::ceilDiv(extent.cols, 32), detail::ceilDiv(extent.rows, 8)), block(32, 8);
    const char* name = "quick shift pack";
    const auto run = [&](auto kernel, dim3 blocks, const auto&... arguments)
    {
        if (early)
            detail::preferSharedMemory(reinterpret_cast<const void*>(kernel), name);
        detail::launch(name, kernel, blocks, block, 0, stream, arguments..., sums, listed, early);
    };
    const auto runAny = [&](auto kernel) { run(kernel, grid, image, mask, index, extent, scales, features); };
    if (features.words && image.channels == 3 && !features.valid)
        run(packThreeChannels, dim3(detail::ceilDiv(extent.cols, 128), grid.y), image, index, extent, features.words);
    else if (image.depth == detail::DEPTH_8U)
        runAny(packImage<uint8_t>);
    else if (image.depth == detail::DEPTH_16U)
        runAny(packImage<uint16_t>);
    else
        runAny(packImage<float>);
}

}}}} // namespace cv::cuda::quick_shift::gpu
