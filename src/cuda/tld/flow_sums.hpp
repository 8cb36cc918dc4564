// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions of a warp for a point of the flow: sums over the pixels of its windows, and the similarity of the
// patches around it.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FLOW_SUMS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FLOW_SUMS_HPP

#include "block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

const int LEAST_WIDE = MAX_FLOW_WINDOW + 2;

//! A level of a pyramid.
struct LevelView
{
    const uint8_t* data;
    int step, cols, rows;
};
__device__ __forceinline__ LevelView levelOf(const Batch& batch, int slot, int level)
{
    return {batch.level(slot, level), batch.levels.step[level], batch.levels.cols[level], batch.levels.rows[level]};
}

//! The pixel at (x, y) and its neighbours to the right and below: two rows and two columns. Positions outside of a
//! level take its outer pixels.
struct Neighbours
{
    const uint8_t *a, *b;
    int x0, x1;

    __device__ __forceinline__ Neighbours(const LevelView& level, int x, int y)
        : a(level.data + ::min(::max(y, 0), level.rows - 1) * level.step),
          b(level.data + ::min(::max(y + 1, 0), level.rows - 1) * level.step),
          x0(::min(::max(x, 0), level.cols - 1)),
          x1(::min(::max(x + 1, 0), level.cols - 1))
    {}
};
//! Blends a pixel with its neighbours. @param step bytes from row to row.
__device__ __forceinline__ int blendedFrom(const Blend& weights, const uint8_t* a, int step)
{
    const uint8_t* const b = a + step;
    return blended(weights, a[0], a[1], b[0], b[1]);
}
//! Blends the pixel at (x, y) of a level with its neighbours.
__device__ __forceinline__ int blendedAt(const LevelView& level, const Blend& weights, int x, int y)
{
    const Neighbours at(level, x, y);
    return blended(weights, at.a[at.x0], at.a[at.x1], at.b[at.x0], at.b[at.x1]);
}
__device__ __forceinline__ bool isInside(const LevelView& level, int x, int y, int size)
{
    return x >= 0 && y >= 0 && x + size < level.cols && y + size < level.rows;
}

//! Largest side of a window. @tparam WINDOW its side; 0: that of the settings.
template <int WINDOW> const int LARGEST_WINDOW = WINDOW ? WINDOW : MAX_FLOW_WINDOW;

//! Window of which a lane has up to four pixels: base of sums for trackPoint(). @tparam WINDOW its side; 0: that of the
//! settings.
template <int WINDOW> class WindowSums
{
public:
    //! Kept short, as each step waits for the one before.
    __device__ Change change(const Blend& w) const
    {
        int x = 0, y = 0;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            const int difference =
                (near_[n][3] + w.w00 * near_[n][0] + w.w10 * near_[n][1] + w.w01 * near_[n][2]) >> 10;
            x += gx_[n] * difference;
            y += gy_[n] * difference;
        }
        return {sumOfWarp(x), sumOfWarp(y)};
    }

protected:
    static const int LARGEST = LARGEST_WINDOW<WINDOW>, PIXELS = detail::ceilDiv(LARGEST * LARGEST, 32),
                     WIDE_PIXELS = detail::ceilDiv((LARGEST + 2) * (LARGEST + 2), 32);

    //! @param pixels scratch memory.
    __device__ WindowSums(const Batch& batch, int16_t* pixels) : batch_(batch), pixels_(pixels)
    {
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            // Lanes without a pixel read the last pixel again, with gradients of 0.
            const int k = lesser(static_cast<int>(threadIdx.x & 31) + 32 * n, window() * window() - 1);
            x_[n] = k % window();
            y_[n] = k / window();
        }
    }
    //! Makes the equations of a window from its pixels: at(i, j) is that in column i - 1 and row j - 1.
    template <typename At> __device__ __forceinline__ Equations equationsOfPixels(const At& at)
    {
        const int wide = window() + 2;
        int values[WIDE_PIXELS];
#pragma unroll
        for (int n = 0; n < WIDE_PIXELS; ++n)
        {
            const int k = lesser(static_cast<int>(threadIdx.x & 31) + 32 * n, wide * wide - 1);
            values[n] = at(k % wide, k / wide);
        }
        __syncwarp(); // pixels of the window before were read
#pragma unroll
        for (int n = 0; n < WIDE_PIXELS; ++n)
        {
            const int k = static_cast<int>(threadIdx.x & 31) + 32 * n;
            if (k < wide * wide)
                pixels_[k] = static_cast<int16_t>(values[n]);
        }
        __syncwarp(); // pixels
        int xx = 0, xy = 0, yy = 0;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            here_[n] = gx_[n] = gy_[n] = 0;
            if (!has(n))
                continue;
            const int16_t* const p = pixels_ + (y_[n] + 1) * wide + x_[n] + 1;
            here_[n] = *p;
            gx_[n] = gradientOf(p[1 - wide] - p[-1 - wide], p[1] - p[-1], p[1 + wide] - p[wide - 1]);
            gy_[n] = gradientOf(p[wide - 1] - p[-1 - wide], p[wide] - p[-wide], p[wide + 1] - p[1 - wide]);
            xx += gx_[n] * gx_[n];
            xy += gx_[n] * gy_[n];
            yy += gy_[n] * gy_[n];
        }
        return tld::equationsOf({sumOfWarp(xx), sumOfWarp(xy), sumOfWarp(yy)});
    }
    //! Takes the four pixels of the other image around pixel n: as weights sum up to 16384, blended() less the pixel
    //! here is a sum of products with three differences.
    __device__ __forceinline__ void take(int n, int p00, int p10, int p01, int p11)
    {
        near_[n][0] = p00 - p11;
        near_[n][1] = p10 - p11;
        near_[n][2] = p01 - p11;
        near_[n][3] = p11 * 16384 + 512 - here_[n] * 1024;
    }
    //! Takes them from memory. @param step bytes from row to row.
    __device__ __forceinline__ void takeFrom(int n, const uint8_t* a, int step)
    {
        const uint8_t* const b = a + step;
        take(n, a[0], a[1], b[0], b[1]);
    }
    //! Takes the pixels around a window that begins at (x0, y0). Positions outside of the level take its outer pixels.
    __device__ __forceinline__ void takeClamped(const LevelView& level, int x0, int y0)
    {
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            const Neighbours at(level, x0 + x_[n], y0 + y_[n]);
            take(n, at.a[at.x0], at.a[at.x1], at.b[at.x0], at.b[at.x1]);
        }
    }
    __device__ int window() const { return WINDOW ? WINDOW : batch_.settings.flowWindow; }
    __device__ bool has(int n) const { return static_cast<int>(threadIdx.x & 31) + 32 * n < window() * window(); }

    const Batch& batch_;
    int16_t* pixels_;
    int x_[PIXELS], y_[PIXELS];
    int here_[PIXELS], gx_[PIXELS], gy_[PIXELS];
    int near_[PIXELS][4]; //!< see take()
};

//! Sums of a warp for trackPoint(), from images.
template <int WINDOW> class WarpSums : public WindowSums<WINDOW>
{
    using Base = WindowSums<WINDOW>;
    using Base::PIXELS, Base::batch_, Base::x_, Base::y_;

public:
    using Base::window;

    //! @param pixels scratch memory.
    __device__ WarpSums(const Batch& batch, int from, int to, int16_t* pixels)
        : Base(batch, pixels), from_(from), to_(to), there_()
    {}

    __device__ Equations equationsAt(int level, const Point& corner)
    {
        there_ = levelOf(batch_, to_, level);
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
            offset_[n] = static_cast<unsigned>(y_[n] * there_.step + x_[n]);
        const LevelView here = levelOf(batch_, from_, level);
        const int x0 = (corner.x >> 16) - 1, y0 = (corner.y >> 16) - 1;
        const Blend weights = blendOf(corner.x, corner.y);
        if (!isInside(here, x0, y0, window() + 2))
            return Base::equationsOfPixels([&](int i, int j) { return blendedAt(here, weights, x0 + i, y0 + j); });
        return Base::equationsOfPixels(
            [&](int i, int j)
            {
                const uint8_t* const a = here.data + ((y0 + j) * here.step + x0 + i);
                return blendedFrom(weights, a, here.step);
            });
    }
    __device__ bool load(int, const Point& pixel)
    {
        if (!isInside(there_, pixel.x, pixel.y, window()))
            return false;
        const uint8_t* const first = there_.data + (pixel.y * there_.step + pixel.x);
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
            Base::takeFrom(n, first + offset_[n], there_.step);
        return true;
    }
    __device__ void loadOuter(int, const Point& pixel) { Base::takeClamped(there_, pixel.x, pixel.y); }

private:
    int from_, to_;
    LevelView there_;
    unsigned offset_[PIXELS]; //!< from the first pixel of the window, in the other image
};

//! Returns the NCC of the patches around two points to all lanes.
__device__ __forceinline__ double compareAt(const Batch& batch, int before, const Point& from, int now, const Point& to)
{
    const Point a = patchCorner(from), b = patchCorner(to);
    const Blend weightsA = blendOf(a.x, a.y), weightsB = blendOf(b.x, b.y);
    const LevelView viewA = levelOf(batch, before, 0), viewB = levelOf(batch, now, 0);
    int sumA = 0, sumB = 0, squaresA = 0, squaresB = 0, products = 0;
    for (int k = threadIdx.x & 31; k < FLOW_PATCH * FLOW_PATCH; k += 32)
    {
        const int i = k % FLOW_PATCH, j = k / FLOW_PATCH;
        const int pa = blendedAt(viewA, weightsA, (a.x >> 16) + i, (a.y >> 16) + j);
        const int pb = blendedAt(viewB, weightsB, (b.x >> 16) + i, (b.y >> 16) + j);
        sumA += pa;
        sumB += pb;
        squaresA += pa * pa;
        squaresB += pb * pb;
        products += pa * pb;
    }
    return pointNcc(sumOfWarp(sumA), sumOfWarp(sumB), sumOfWarp(squaresA), sumOfWarp(squaresB), sumOfWarp(products));
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FLOW_SUMS_HPP
