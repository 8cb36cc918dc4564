// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route BOUNDED_TILES: SAD of large fragments in tiles, without those that cannot hold a peak by
// bounds of their values (src/fragment_matcher/bounds.hpp).
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BOUNDED_TILES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BOUNDED_TILES_HPP

#include "../bytes/tiles.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

// Bounds are computed where a call has so much work that their own cost is small.

//! Least width and height of the largest fragment, and most pixels: sums of weighted differences of means fit 32 bits.
const int BOUND_MIN_SIDE = 64, BOUND_MAX_PIXELS = 1 << 18;
//! Least byte differences of a call, and of a call per byte of the searched part of the image.
const double BOUND_MIN_TERMS = 4e9, BOUND_MIN_TERMS_PER_BYTE = 1000;
//! Least tiles of a window. Smaller windows have no room for the places of a limit.
const int BOUND_MIN_TILES = 64;
//! Places that are scored beside those that a limit takes: the least bounds need not have the least values.
const int BOUND_EXTRA_PLACES = 2;
//! Least rows of a fragment per part of a tile that several blocks share; blocks that share few tiles, as a multiple of
//! those that are resident at once.
const int BOUND_PART_ROWS = 16, BOUND_WAVES = 4;

} // namespace tuning

namespace gpu {

const int BOUND_BLOCK = 8;                   //!< side of the square blocks of pixels that bounds are made of
const int BOUND_COLS = 128, BOUND_ROWS = 32; //!< means per block of the kernel that computes them

//! Layout of the means of blocks.
struct BoundPlan
{
    Rect4 region;      //!< part of the frame that contains all search areas
    int pitch;         //!< bytes from row to row of a plane of means, a multiple of 4 * BOUND_BLOCK
    size_t planeBytes; //!< bytes from plane to plane
    size_t imageBytes; //!< bytes of all planes, and of some after them that kernels read and ignore
    size_t wordsEach;  //!< words of the means of a fragment, and of their weights
};

//! The least bound of a tile, as a sum of differences of means.
struct TileBound
{
    static constexpr uint32_t MAX = ~0u; //!< above all bounds
    uint32_t least;
    int x, y; //!< the position of `least`, relative to the window
};

//! Device memory of eliminate(), besides the list.
struct BoundMemory
{
    uint8_t* image;      //!< means of all blocks of the region, plane by plane
    uint32_t* fragments; //!< means and weights: BoundPlan::wordsEach per entry
    //! One per entry: twice the most by which means exceed the sums of differences; NOT_BOUNDED: nothing is eliminated
    uint64_t* losses;
    TileBound* bounds; //!< Windows::tiles() per entry
};
const uint64_t NOT_BOUNDED = ~0ull;

//! Lists the tiles that can hold a peak, and reports entries that have no position.
void eliminate(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
               const ListedTiles& tiles);

} // namespace gpu

//! Plans the elimination of tiles from TILES; nothing if it is not applicable or not worth it.
std::optional<gpu::BoundPlan> planBounds(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BOUNDED_TILES_HPP
