// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sums of a warp for a point of the flow from shared memory, where a block has a warp per level of the pyramid.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FLOW_TEAM_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FLOW_TEAM_HPP

#include "flow_sums.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! A window and its equations, in shared memory.
template <int WINDOW> struct PreparedWindow
{
    static const int PIXELS = LARGEST_WINDOW<WINDOW> * LARGEST_WINDOW<WINDOW>;
    Equations equations;
    int16_t here[PIXELS], gx[PIXELS], gy[PIXELS];
};

//! The part of a level around a window, in shared memory: most windows of a track lie in it.
struct Surroundings
{
    static const int MARGIN = 12, ROWS = MAX_FLOW_WINDOW + 1 + 2 * MARGIN,
                     PITCH = (ROWS + 3 + 3) / 4 * 4, //!< bytes; columns begin at a multiple of 4
        WORDS = ROWS * PITCH / 4;
    int x, y, cols, rows;
    uint32_t words[WORDS];

    //! Copies pixels, by a warp. @param corner first pixel of the window. @param window its side.
    __device__ __forceinline__ void copy(const LevelView& level, const Point& corner, int window)
    {
        const int left = (corner.x >> 16) - MARGIN, top = (corner.y >> 16) - MARGIN, side = window + 1 + 2 * MARGIN;
        const int x0 = ::max(left, 0) & ~3, y0 = ::max(top, 0);
        const int width = ::min(left + side, level.cols) - x0, height = ::min(top + side, level.rows) - y0;
        if ((threadIdx.x & 31) == 0)
            x = x0, y = y0, cols = width, rows = height;
        const uint8_t* const from = level.data + (y0 * level.step + x0);
#pragma unroll
        for (int k = threadIdx.x & 31; k < WORDS; k += 32) // in flight at once
        {
            const int i = k % (PITCH / 4), j = k / (PITCH / 4);
            if (4 * i < width && j < height) // rows of levels are padded to whole words
                words[k] = *reinterpret_cast<const uint32_t*>(from + (j * level.step + 4 * i));
        }
    }
    __device__ const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(words); }
};

//! Sums of a warp for trackPoint() from shared memory: prepared windows, and the surroundings of the other image.
template <int WINDOW> class TeamSums : public WindowSums<WINDOW>
{
    using Base = WindowSums<WINDOW>;
    using Base::PIXELS, Base::batch_, Base::x_, Base::y_, Base::here_, Base::gx_, Base::gy_;

public:
    using Base::window, Base::has;

    //! @param pixels scratch memory. @param windows of the image that is tracked from, and @param there surroundings in
    //! image `to`, of all levels.
    __device__ TeamSums(const Batch& batch, int to, int16_t* pixels, const PreparedWindow<WINDOW>* windows,
                        const Surroundings* there)
        : Base(batch, pixels), to_(to), windows_(windows), there_(there), first_(), cols_(), rows_(), data_()
    {}

    //! Prepares a window of image `from`. @param here surroundings in that image.
    __device__ void prepare(int from, int level, const Point& corner, const Surroundings& here,
                            PreparedWindow<WINDOW>& prepared)
    {
        const Equations equations = equationsOf(from, level, corner, here);
        if ((threadIdx.x & 31) == 0)
            prepared.equations = equations;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            if (!has(n))
                continue;
            const int k = static_cast<int>(threadIdx.x & 31) + 32 * n;
            prepared.here[k] = static_cast<int16_t>(here_[n]);
            prepared.gx[k] = static_cast<int16_t>(gx_[n]);
            prepared.gy[k] = static_cast<int16_t>(gy_[n]);
        }
    }
    __device__ Equations equationsAt(int level, const Point&)
    {
        const PreparedWindow<WINDOW>& prepared = windows_[level];
        const Surroundings& there = there_[level];
        first_ = {there.x, there.y};
        cols_ = static_cast<unsigned>(::max(0, there.cols - window()));
        rows_ = static_cast<unsigned>(::max(0, there.rows - window()));
        data_ = there.data();
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
    __device__ bool load(int, const Point& pixel)
    {
        const unsigned x = static_cast<unsigned>(pixel.x - first_.x), y = static_cast<unsigned>(pixel.y - first_.y);
        if (!((x < cols_) & (y < rows_)))
            return false;
        const uint8_t* const first = data_ + (y * Surroundings::PITCH + x);
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
            Base::takeFrom(n, first + (y_[n] * Surroundings::PITCH + x_[n]), Surroundings::PITCH);
        return true;
    }
    __device__ void loadOuter(int level, const Point& pixel)
    {
        Base::takeClamped(levelOf(batch_, to_, level), pixel.x, pixel.y);
    }

private:
    __device__ __forceinline__ Equations equationsOf(int from, int level, const Point& corner, const Surroundings& here)
    {
        const int x0 = (corner.x >> 16) - 1, y0 = (corner.y >> 16) - 1, side = window() + 2;
        const Blend weights = blendOf(corner.x, corner.y);
        if (x0 >= here.x && y0 >= here.y && x0 + side < here.x + here.cols && y0 + side < here.y + here.rows)
        {
            const uint8_t* const first = here.data() + ((y0 - here.y) * Surroundings::PITCH + x0 - here.x);
            return Base::equationsOfPixels(
                [&](int i, int j)
                { return blendedFrom(weights, first + (j * Surroundings::PITCH + i), Surroundings::PITCH); });
        }
        const LevelView view = levelOf(batch_, from, level);
        return Base::equationsOfPixels([&](int i, int j) { return blendedAt(view, weights, x0 + i, y0 + j); });
    }

    int to_;
    const PreparedWindow<WINDOW>* windows_;
    const Surroundings* there_;
    // The surroundings in a level: their first pixel, and how many windows lie in them side by side and one above the
    // other.
    Point first_;
    unsigned cols_, rows_;
    const uint8_t* data_;
};

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FLOW_TEAM_HPP
