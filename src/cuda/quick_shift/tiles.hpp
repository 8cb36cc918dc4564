// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Tiles of QuickShift's density kernels: how a block finds its tile and its chunk of offsets, and how it adds its
// credits to the sums. For .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TILES_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TILES_HPP

#include "plan.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

//! Arguments of the density kernels.
struct DensityTask
{
    Features features;
    Extent extent;
    const float* spatial; //!< see gpu::density()
    WeightSums sums;
    Chunks chunks;
    Parameters parameters;
};

//! Rectangle of the image that holds the neighbours of a block's pixels. May leave the image.
struct Window
{
    int x, y, cols, rows;
};

//! Tile and offsets of a block. blockIdx.x is the tile in the stack, blockIdx.y the chunk.
template <typename Shape> struct Place
{
    size_t base;                        //!< index of the image's first pixel in the stack
    int tileX, tileY;                   //!< top left pixel of the tile
    int dxBegin, dxEnd, dyBegin, dyEnd; //!< offsets of the chunk
    Window window;

    __device__ explicit Place(const DensityTask& task)
    {
        const Extent& e = task.extent;
        const int tilesX = detail::ceilDiv(e.cols, Shape::COLS), tiles = tilesOf<Shape>(e);
        const int image = e.count == 1 ? 0 : static_cast<int>(blockIdx.x) / tiles;
        const int tile = static_cast<int>(blockIdx.x) - image * tiles;
        base = static_cast<size_t>(image) * e.pixels();
        tileX = tile % tilesX * Shape::COLS;
        tileY = tile / tilesX * Shape::ROWS;
        const Chunks& c = task.chunks;
        dxBegin = static_cast<int>(blockIdx.y) % c.dxCount * c.dxStep;
        dyBegin = static_cast<int>(blockIdx.y) / c.dxCount * c.dyStep - task.parameters.radius;
        dxEnd = ::min(dxBegin + c.dxStep, task.parameters.radius + 1);
        dyEnd = ::min(dyBegin + c.dyStep, task.parameters.radius + 1);
        window = {tileX + dxBegin, tileY + dyBegin, Shape::COLS + dxEnd - dxBegin - 1,
                  Shape::ROWS + dyEnd - dyBegin - 1};
    }
    //! Returns the first dy of a column: column 0 needs only dy > 0, as its other half is the mirror image.
    __device__ int firstDy(int dx) const { return dx == 0 && dyBegin < 1 ? 1 : dyBegin; }
};

//! Calls visit(x, y) for each position of the window, relative to its corner. Each warp takes whole rows.
template <typename Shape, typename Visit>
__device__ __forceinline__ void forWindow(const Window& window, const Visit& visit)
{
    for (int y = threadIdx.x / 32; y < window.rows; y += Shape::THREADS / 32)
        for (int x = threadIdx.x % 32; x < window.cols; x += 32)
            visit(x, y);
}

//! Adds a credit to the sum of a pixel, an index into the stack. Atomic, because most pixels lie in several blocks'
//! windows.
__device__ __forceinline__ void addToSum(const WeightSums& sums, size_t at, uint32_t credit)
{
    if (sums.narrow)
        atomicAdd(sums.narrow + at, credit);
    else
        atomicAdd(sums.wide + at, static_cast<unsigned long long>(credit));
}

//! Adds the credits of the window to the sums.
template <typename Shape>
__device__ __forceinline__ void addCredits(const DensityTask& task, const Place<Shape>& place, const uint32_t* credits,
                                           int pitch)
{
    const Window& window = place.window;
    forWindow<Shape>(window,
                     [&](int wx, int wy)
                     {
                         const uint32_t credit = credits[wy * pitch + wx];
                         const int x = window.x + wx, y = window.y + wy;
                         if (credit != 0 && x >= 0 && x < task.extent.cols && y >= 0 && y < task.extent.rows)
                             addToSum(task.sums, place.base + static_cast<size_t>(y) * task.extent.cols + x, credit);
                     });
}

/** Adds what a thread's own P centres got from `pairs` pairs each: to their credits where the window holds them and 32
bits hold both, else to the sums. */
template <typename Shape, int P>
__device__ __forceinline__ void addOwn(const DensityTask& task, const Place<Shape>& place, int x, int y,
                                       const uint32_t (&own)[P], uint32_t pairs, uint32_t* credits, int pitch)
{
    const bool held = place.dxBegin == 0 && place.dyBegin <= 0 && place.dyEnd > 0;
    if (held && 2 * task.chunks.dxStep * task.chunks.dyStep <= static_cast<int>(MAX_TERMS))
    {
        uint32_t* const at = credits + (y - place.window.y) * pitch + x - place.window.x;
#pragma unroll
        for (int p = 0; p < P; ++p)
            atomicAdd(at + p * pitch, own[p] - (pairs << 30));
        return;
    }
#pragma unroll
    for (int p = 0; p < P; ++p)
        if (x < task.extent.cols && y + p < task.extent.rows)
            addToSum(task.sums, place.base + static_cast<size_t>(y + p) * task.extent.cols + x, own[p] - (pairs << 30));
}

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TILES_HPP
