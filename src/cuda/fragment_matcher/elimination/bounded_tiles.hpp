// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route BOUNDED_TILES: SAD of large fragments in tiles, without those that cannot hold a peak by
// bounds of their values (src/fragment_matcher/bounds.hpp).
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BOUNDED_TILES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BOUNDED_TILES_HPP

#include "../../../fragment_matcher/bounds.hpp"
#include "../bytes/tiles.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

// Bounds are compared where a call has so much work that their own cost, which does not depend on the image, is small.

//! Threads per block of the bounds.
const int BOUND_THREADS = 128;
//! Threads per block of the means.
const int BOUND_MEANS_THREADS = 256;
//! Threads per block that scores a place.
const int BOUND_PLACE_THREADS = 1024;
//! Threads per block that lists tiles.
const int BOUND_LIST_THREADS = 1024;
//! Tiles per warp of it whose cells are loaded at once.
const int BOUND_LIST_LOADS = 8;
//! Tiles of a window up to which their cells are compared in any case: those that a block's warps load at once.
const int BOUND_LISTED_AT_ONCE = BOUND_LIST_THREADS / 32 * BOUND_LIST_LOADS;
//! Threads per block of the fine bounds; 12 warps, one or three channels.
const int BOUND_REFINE_THREADS = 384;
//! Threads per block that scores cells.
const int CELL_THREADS = 256;
//! Most tiles of a window whose cells are scored in place of strips, and least tiles of all windows in which a peak may
//! be, per multiprocessor. In larger windows few tiles have a border, which strips score in part in vain; fewer tiles
//! are divided among blocks, for which strips have less to do.
const int CELL_MOST_TILES = 16, CELL_LEAST_TILES = 4;
//! Most places beside those that a limit takes.
const int BOUND_OTHER_PLACES = 30;
//! Blocks of the fine bounds per multiprocessor.
const int BOUND_REFINERS = 2;
//! Least side for fine bounds by blocks of 4 x 4.
const int BOUND_FINE_SIDE = 80;
//! Least width and height of the largest fragment.
const int BOUND_LEAST_SIDE = 48;
//! Least side for blocks of 8 x 8 pixels; below: 4 x 4.
const int BOUND_WIDE_SIDE = 64;
//! Largest fragment: sums of weighted differences fit 32 bits.
const int BOUND_MOST_PIXELS = 1 << 18;
//! Least byte differences of a call.
const double BOUND_LEAST_TERMS = 4e9;
//! Least byte differences per byte of the searched part of the image.
const double BOUND_LEAST_TERMS_PER_BYTE = 1000;
//! Both, where the zone of a best position in the middle leaves no other peak: then little is scored, in noise too.
const double BOUND_LEAST_TERMS_ALONE = 3.5e9, BOUND_LEAST_TERMS_PER_BYTE_ALONE = 800;
//! Least rows of a fragment per part.
const int BOUND_PART_ROWS = 16;
//! Blocks that share few tiles, as a multiple of those that are resident at once.
const int BOUND_WAVES = 4;

} // namespace tuning

namespace gpu {

const int BOUND_COLS = 128, BOUND_ROWS = 32; //!< means per block of the kernel that computes them

//! Means of square blocks of pixels, from which bounds of SAD are made.
struct BoundLevel
{
    int block;         //!< side of a block, pixels: 4 or 8; 0: there is no such level
    int pitch;         //!< bytes from row to row of a plane of means, a multiple of 4 * block
    size_t planeBytes; //!< bytes from plane to plane
    size_t wordsEach;  //!< words of the means of a fragment, and of their weights
};

//! Plan of eliminate().
struct BoundPlan
{
    BoundLevel coarse;  //!< bounds of all positions. Without a block nothing is eliminated
    BoundLevel fine;    //!< bounds of the tiles that are left. Without a block there is none
    Rect4 region;       //!< part of the frame that contains all search areas
    int otherPlaces;    //!< positions per entry that are scored for the limits beside those that these take
    int refiners;       //!< blocks that compute the bounds of tiles that are left
    StagePlan stage;    //!< raw image under a block of means
    size_t sharedBytes; //!< shared memory per block of the means
};

const int MEANS_END_BYTES = 256; //!< bytes after the last plane of means, which kernels read and ignore

inline size_t meansBytes(const BoundLevel& level, int channels)
{
    return channels * level.planeBytes + MEANS_END_BYTES;
}

//! Returns the elements of sums of rows of `block` pixels in shared memory.
CT_HOST_DEVICE constexpr int boundSums(int block, int channels)
{
    return channels * (BOUND_ROWS + block - 1) * (BOUND_COLS + 2);
}

//! The least bound of a tile, as a sum of differences of means.
struct alignas(16) TileBound
{
    static constexpr uint32_t NO_BOUND = ~0u; //!< that of positions beyond the window
    uint32_t least;
    int x, y;       //!< the position of `least`, relative to the window
    uint32_t cells; //!< bit by bit, those that may hold a peak
};

//! Most places per entry.
const int MOST_PLACES = 2 * MAX_PEAKS - 1 + tuning::BOUND_OTHER_PLACES;

//! A scored position.
struct BoundPlace
{
    uint64_t value; //!< UINT64_MAX: there is no such place
    int x, y;
};

//! The values and places that a peak may have.
struct BoundLimit
{
    uint64_t best, peaks; //!< largest value of the best, and of the other peaks; UINT64_MAX: any
    Box box;              //!< contains all positions that may be the best
};

//! Device memory of a level of means.
struct BoundMeans
{
    uint8_t* image;      //!< means of all blocks of the region, plane by plane
    uint32_t* fragments; //!< means and weights: BoundLevel::wordsEach per entry
    uint64_t* losses;    //!< one per entry: twice the most by which means exceed the sums of differences
};

//! Device memory of eliminate(), besides the lists.
struct BoundMemory
{
    BoundMeans coarse, fine;
    TileBound* bounds;  //!< Windows::tiles() per entry
    uint32_t* cells;    //!< the least bounds of cells: CELLS per tile
    BoundPlace* places; //!< up to MOST_PLACES per entry
    BoundLimit* limits; //!< one per entry
};

//! Lists the tiles that can hold a peak, and reports entries that have no position.
void eliminate(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
               const ListedTiles& tiles);

//! Scores listed cells, finds peaks and reports them. @param plan of planCells().
void scoreCells(const Job& job, const TilePlan& plan, const Windows& windows, const ListedTiles& tiles);

} // namespace gpu

//! Returns true if scoreCells() scores what is left of a load, false if matchTiles().
bool scoresCells(const MatchCase& given, const Load& load);
//! Returns the pitch of an expanded row for scoreCells(), in units of 16 bytes: neighbouring phases lie 8 words apart,
//! modulo 32, which are the words of four cells, so that 16 lanes read 8 bytes each without bank conflicts.
int cellUnits(int cols);
//! Plans scoreCells().
gpu::TilePlan planCells(const MatchCase& given, const Load& load);

//! Plans the elimination of tiles from TILES; nothing if it is not applicable or not worth it.
std::optional<gpu::BoundPlan> planBounds(const MatchCase& given, const Load& load);
//! Returns the lists of tiles without memory.
gpu::ListedTiles listedTiles(const gpu::BoundPlan& plan, const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BOUNDED_TILES_HPP
