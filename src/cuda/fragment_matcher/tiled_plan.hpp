// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: the part of a plan that all routes for windows in tiles have. Host code.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILED_PLAN_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILED_PLAN_HPP

#include "../../common/parts.hpp"
#include "route.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! Returns the windows of a load in tiles of TILE_COLS x TILE_ROWS positions, without memory.
inline gpu::Windows windowsOf(const MatchCase& given, const Load& load)
{
    gpu::Windows windows = {};
    windows.cols = load.window.width;
    windows.rows = load.window.height;
    windows.tilesX = detail::ceilDiv(windows.cols, tuning::TILE_COLS);
    windows.tilesY = detail::ceilDiv(windows.rows, tuning::TILE_ROWS);
    windows.wide = wideValues(given.metric, given.weighted, wideSums(given, load.fragment));
    return windows;
}

//! A plan whose launches keep the values of all positions in device memory, where several blocks share a window.
class TiledPlan : public Plan
{
public:
    explicit TiledPlan(const gpu::Windows& windows) : windows_(windows) {}

    size_t bytesEach() const override { return windows_.positions() * (windows_.wide ? 8 : 4); }
    size_t blocksEach() const override { return windows_.tiles(); }
    void takeMemory(detail::Parts& working, detail::Parts& zeros, int count) override
    {
        windows_.values = working.take<uint8_t>(TiledPlan::bytesEach() * count);
        windows_.bests = working.take<gpu::TileBest>(static_cast<size_t>(windows_.tiles()) * count);
        windows_.finished = zeros.take<unsigned>(count);
    }
    const gpu::Windows* windows() const override { return &windows_; }

protected:
    gpu::Windows windows_;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILED_PLAN_HPP
