// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What QuickShift's density kernels have in common: how a block finds its tile and its chunk of offsets, and how what it has
// counted gets to the sums. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TILES_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TILES_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

struct DensityTask
{
    Features features;
    Extent extent;
    const float* spatial;
    unsigned long long* sums;
    Chunks chunks;
    Parameters parameters;
};

//! Pixels of a block's neighbours: a window of the image, its top left corner and its size.
struct Window
{
    int x, y, cols, rows;
};

//! What a block works on: x: tile, y: chunk, z: image.
template <typename Shape> struct Place
{
    int tileX, tileY, dxBegin, dxEnd, dyBegin, dyEnd;
    Window window;

    __device__ explicit Place(const DensityTask& task)
    {
        const int tilesX = detail::ceilDiv(task.extent.cols, Shape::COLS);
        tileX = static_cast<int>(blockIdx.x) % tilesX * Shape::COLS;
        tileY = static_cast<int>(blockIdx.x) / tilesX * Shape::ROWS;
        const Chunks& c = task.chunks;
        dxBegin = static_cast<int>(blockIdx.y) % c.dxCount * c.dxStep;
        dyBegin = static_cast<int>(blockIdx.y) / c.dxCount * c.dyStep - task.parameters.radius;
        dxEnd = ::min(dxBegin + c.dxStep, task.parameters.radius + 1);
        dyEnd = ::min(dyBegin + c.dyStep, task.parameters.radius + 1);
        window = {tileX + dxBegin, tileY + dyBegin, Shape::COLS + dxEnd - dxBegin - 1,
                  Shape::ROWS + dyEnd - dyBegin - 1};
    }
    //! The other half of column 0 is the mirror image.
    __device__ int firstDy(int dx) const { return dx == 0 && dyBegin < 1 ? 1 : dyBegin; }
};

//! visit(x, y) for every place of the window; a warp takes rows.
template <typename Shape, typename Visit>
__device__ __forceinline__ void forWindow(const Window& window, const Visit& visit)
{
    for (int y = threadIdx.x / 32; y < window.rows; y += Shape::THREADS / 32)
        for (int x = threadIdx.x % 32; x < window.cols; x += 32)
            visit(x, y);
}

//! Credits of the window to the sums. Most of the window lies in other tiles, too, so this is atomic.
template <typename Shape>
__device__ __forceinline__ void addCredits(const DensityTask& task, const Window& window, const uint32_t* credits,
                                           int pitch)
{
    unsigned long long* const sums = task.sums + static_cast<size_t>(blockIdx.z) * task.extent.pixels();
    forWindow<Shape>(window,
                     [&](int wx, int wy)
                     {
                         const uint32_t credit = credits[wy * pitch + wx];
                         const int x = window.x + wx, y = window.y + wy;
                         if (credit != 0 && x >= 0 && x < task.extent.cols && y >= 0 && y < task.extent.rows)
                             atomicAdd(sums + static_cast<size_t>(y) * task.extent.cols + x,
                                       static_cast<unsigned long long>(credit));
                     });
}

//! What the centres of a thread have got from so many pairs each.
template <int P>
__device__ __forceinline__ void addOwn(const DensityTask& task, int x, int y, const uint32_t (&own)[P], uint32_t pairs)
{
    unsigned long long* const sums = task.sums + static_cast<size_t>(blockIdx.z) * task.extent.pixels();
#pragma unroll
    for (int p = 0; p < P; ++p)
        if (x < task.extent.cols && y + p < task.extent.rows)
            atomicAdd(sums + static_cast<size_t>(y + p) * task.extent.cols + x,
                      static_cast<unsigned long long>(own[p] - (pairs << 30)));
}

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TILES_HPP
