// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage pack on CUDA: converts pixels to words or planes, and clears what later stages add to. Reads and writes each
// pixel once; bound by memory.
#include "pixel_grid.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

//! Packs one pixel per thread. @param listed length of the worklist, which is set to 0; null: none.
template <typename T>
__global__ void __launch_bounds__(THREADS)
    packImage(const ImageView source, const ImageView mask, int image, const Extent extent, const Scales scales,
              const Features features, const WeightSums sums, int* listed)
{
    if (listed && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0)
        *listed = 0;
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

} // namespace

void pack(const ImageView& image, const ImageView& mask, int index, const Extent& extent, const Scales& scales,
          const Features& features, const WeightSums& sums, const Worklist& far, StreamHandle stream)
{
    int* const listed = index == 0 ? far.count : nullptr;
    const auto run = [&](auto kernel)
    {
        detail::launch("quick shift pack", kernel, gridOf(extent.one()), BLOCK, 0, stream, image, mask, index, extent,
                       scales, features, sums, listed);
    };
    if (image.depth == detail::DEPTH_8U)
        run(packImage<uint8_t>);
    else if (image.depth == detail::DEPTH_16U)
        run(packImage<uint16_t>);
    else
        run(packImage<float>);
}

}}}} // namespace cv::cuda::quick_shift::gpu
