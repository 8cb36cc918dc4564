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
//! Blends the pixel at (x, y) with its neighbours.
__device__ __forceinline__ int blendedAt(const LevelView& level, const Blend& weights, int x, int y)
{
    const Neighbours at(level, x, y);
    return blended(weights, at.a[at.x0], at.a[at.x1], at.b[at.x0], at.b[at.x1]);
}
__device__ __forceinline__ bool isInside(const LevelView& level, int x, int y, int size)
{
    return x >= 0 && y >= 0 && x + size < level.cols && y + size < level.rows;
}

//! A window and its equations, in shared memory. @tparam WINDOW see WarpSums.
template <int WINDOW> struct PreparedWindow
{
    static const int LARGEST = WINDOW ? WINDOW : MAX_FLOW_WINDOW, PIXELS = LARGEST * LARGEST;
    Equations equations;
    int16_t here[PIXELS], gx[PIXELS], gy[PIXELS];
};

//! Sums of a warp over pixels for trackPoint(). @tparam WINDOW side of the window; 0: that of the settings.
template <int WINDOW> class WarpSums
{
public:
    //! @param pixels scratch memory. @param prepared windows of all levels, if they have been prepared; else null.
    __device__ WarpSums(const Batch& batch, int from, int to, int16_t* pixels,
                        const PreparedWindow<WINDOW>* prepared = nullptr)
        : batch_(batch), from_(from), to_(to), pixels_(pixels), prepared_(prepared), there_(), loaded_()
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

    __device__ Equations equationsAt(int level, const Point& corner)
    {
        begin(level);
        return prepared_ ? take(prepared_[level]) : make(level, corner);
    }
    //! Prepares a window.
    __device__ void prepare(int level, const Point& corner, PreparedWindow<WINDOW>& to)
    {
        begin(level);
        const Equations equations = make(level, corner);
        if ((threadIdx.x & 31) == 0)
            to.equations = equations;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            if (!has(n))
                continue;
            const int k = static_cast<int>(threadIdx.x & 31) + 32 * n;
            to.here[k] = static_cast<int16_t>(here_[n]);
            to.gx[k] = static_cast<int16_t>(gx_[n]);
            to.gy[k] = static_cast<int16_t>(gy_[n]);
        }
    }
    //! Kept short, as each step waits for the one before. The last steps often stay between the same pixels, which are
    //! in registers then.
    __device__ Change changeAt(int, const Point& corner)
    {
        const int x0 = corner.x >> 16, y0 = corner.y >> 16;
        const Blend weights = blendOf(corner.x, corner.y);
        if (x0 != loaded_.x || y0 != loaded_.y)
            load(x0, y0);
        int x = 0, y = 0;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            const int there = blended(weights, near_[n][0], near_[n][1], near_[n][2], near_[n][3]);
            x += gx_[n] * (there - here_[n]);
            y += gy_[n] * (there - here_[n]);
        }
        return {sumOfWarp(x), sumOfWarp(y)};
    }

private:
    static const int NONE = -(1 << 30); //!< no pixel has this place
    static const int LARGEST = WINDOW ? WINDOW : MAX_FLOW_WINDOW, PIXELS = detail::ceilDiv(LARGEST * LARGEST, 32),
                     WIDE_PIXELS = detail::ceilDiv((LARGEST + 2) * (LARGEST + 2), 32);

    //! Begins a level of the other image.
    __device__ __forceinline__ void begin(int level)
    {
        there_ = levelOf(batch_, to_, level);
        loaded_.x = NONE;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
            offset_[n] = static_cast<unsigned>(y_[n] * there_.step + x_[n]);
    }
    __device__ __forceinline__ Equations take(const PreparedWindow<WINDOW>& prepared)
    {
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            const int k = static_cast<int>(threadIdx.x & 31) + 32 * n;
            here_[n] = has(n) ? prepared.here[k] : 0;
            gx_[n] = has(n) ? prepared.gx[k] : 0;
            gy_[n] = has(n) ? prepared.gy[k] : 0;
        }
        return prepared.equations;
    }
    //! Makes a window and its equations.
    __device__ __forceinline__ Equations make(int level, const Point& corner)
    {
        const LevelView view = levelOf(batch_, from_, level);
        const int wide = window() + 2, x0 = (corner.x >> 16) - 1, y0 = (corner.y >> 16) - 1;
        const Blend weights = blendOf(corner.x, corner.y);
        __syncwarp(); // pixels of the level before were read
        if (isInside(view, x0, y0, wide))
            fill(wide,
                 [&](int i, int j)
                 {
                     const uint8_t *const a = view.data + ((y0 + j) * view.step + x0 + i), *const b = a + view.step;
                     return blended(weights, a[0], a[1], b[0], b[1]);
                 });
        else
            fill(wide, [&](int i, int j) { return blendedAt(view, weights, x0 + i, y0 + j); });
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
        return equationsOf({sumOfWarp(xx), sumOfWarp(xy), sumOfWarp(yy)});
    }
    //! Loads the four pixels around each pixel of the window at (x0, y0) in the other image. Usually all are inside,
    //! and addresses need no clamping.
    __device__ __forceinline__ void load(int x0, int y0)
    {
        loaded_ = {x0, y0};
        if (isInside(there_, x0, y0, window()))
        {
            const uint8_t* const first = there_.data + (y0 * there_.step + x0);
#pragma unroll
            for (int n = 0; n < PIXELS; ++n)
            {
                const uint8_t *const a = first + offset_[n], *const b = a + there_.step;
                near_[n][0] = a[0];
                near_[n][1] = a[1];
                near_[n][2] = b[0];
                near_[n][3] = b[1];
            }
            return;
        }
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            const Neighbours at(there_, x0 + x_[n], y0 + y_[n]);
            near_[n][0] = at.a[at.x0];
            near_[n][1] = at.a[at.x1];
            near_[n][2] = at.b[at.x0];
            near_[n][3] = at.b[at.x1];
        }
    }
    //! Fills the window with a border of a pixel.
    template <typename At> __device__ __forceinline__ void fill(int wide, const At& at)
    {
        int values[WIDE_PIXELS];
#pragma unroll
        for (int n = 0; n < WIDE_PIXELS; ++n)
        {
            const int k = lesser(static_cast<int>(threadIdx.x & 31) + 32 * n, wide * wide - 1);
            values[n] = at(k % wide, k / wide);
        }
#pragma unroll
        for (int n = 0; n < WIDE_PIXELS; ++n)
        {
            const int k = static_cast<int>(threadIdx.x & 31) + 32 * n;
            if (k < wide * wide)
                pixels_[k] = static_cast<int16_t>(values[n]);
        }
    }
    __device__ int window() const { return WINDOW ? WINDOW : batch_.settings.flowWindow; }
    __device__ bool has(int n) const { return static_cast<int>(threadIdx.x & 31) + 32 * n < window() * window(); }

    const Batch& batch_;
    int from_, to_;
    int16_t* pixels_;
    const PreparedWindow<WINDOW>* prepared_;
    LevelView there_;
    int x_[PIXELS], y_[PIXELS];
    unsigned offset_[PIXELS]; //!< from the first pixel of the window, in the other image
    int here_[PIXELS], gx_[PIXELS], gy_[PIXELS];
    Point loaded_;        //!< first pixel of the window that near_ is of; x is NONE if there is none
    int near_[PIXELS][4]; //!< pixels of the other image
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
