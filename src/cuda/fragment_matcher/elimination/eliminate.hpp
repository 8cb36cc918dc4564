// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, eliminate: what its files share.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ELIMINATE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ELIMINATE_HPP

#include "../common/device.hpp"
#include "bounded_tiles.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace gpu {

//! Computes the means of all blocks of a level, of the image and of fragments. @param early as in prepareBands() of
//! matrix/bands.hpp.
void computeMeans(const Job& job, const BoundPlan& plan, const BoundLevel& level, const BoundMeans& memory, bool early);
//! Computes the coarse bounds of all tiles and cells.
void boundTiles(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
                const ListedTiles& tiles);
//! Compares listed tiles once more, by fine bounds, and lists those that are left.
void refineTiles(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
                 const ListedTiles& tiles);

//! Calls launch(stride) for the pixel stride of a frame, 1, 3 or 4, as std::integral_constant.
template <class Launch> void forStride(int stride, const Launch& launch)
{
    if (stride == 1)
        launch(std::integral_constant<int, 1>());
    else if (stride == 3)
        launch(std::integral_constant<int, 3>());
    else
        launch(std::integral_constant<int, 4>());
}

} // namespace gpu

namespace device {

//! Decides which cells may hold a peak.
struct CellTest
{
    uint32_t best, peaks; //!< largest bounds of the best and of the other peaks
    Box box;
    int distance, exclusion;

    __device__ bool operator()(uint32_t least, const Box& cell) const
    {
        return least <= best || (least <= peaks && !surelyExcluded(cell, box, distance, exclusion));
    }
};

__device__ __forceinline__ uint32_t boundOf(uint64_t value, uint64_t loss, int block)
{
    const uint32_t all = gpu::TileBound::NO_BOUND - 1; // above it there is no bound
    return value == UINT64_MAX ? all : largestBound(value, loss, block * block, all);
}

__device__ __forceinline__ CellTest testOf(const gpu::BoundLimit& limit, uint64_t loss, int block, const Entry& entry,
                                           const Settings& settings)
{
    return {boundOf(limit.best, loss, block), boundOf(limit.peaks, loss, block), limit.box,
            exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height),
            settings.exclusion};
}

//! Returns the positions of a cell of a tile whose first position is (x, y).
__device__ __forceinline__ Box boxOf(int x, int y, int cell, const SearchWindow& window)
{
    const int left = x + cell % gpu::CELLS_X * gpu::CELL_COLS, top = y + cell / gpu::CELLS_X * gpu::CELL_ROWS;
    return {left, top, ::min(left + gpu::CELL_COLS, window.cols) - 1, ::min(top + gpu::CELL_ROWS, window.rows) - 1};
}

} // namespace device
}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_ELIMINATE_HPP
