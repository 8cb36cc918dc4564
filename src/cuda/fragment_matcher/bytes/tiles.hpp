// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route TILES: byte sums in tiles of 64 x 16 positions, for windows of any size.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILES_HPP

#include "../tiled_plan.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

// Four warps of 8 rows x 32 columns of positions, twice: each half of a block sums up half of the fragment's rows,
// which doubles the warps that hide latency. Moments of weighted sums have no registers for that.

//! Threads per part of a block.
const int TILE_POSITION_THREADS = 128;
//! Parts of a fragment's rows per block.
const int TILE_PARTS = 2;
//! Blocks per multiprocessor that registers must allow.
const int TILE_BLOCKS = 3;
//! Most shared memory per block: three blocks per multiprocessor; two with moments of weighted sums, for which
//! registers allow no more.
const size_t TILE_SHARED_BYTES = 72 * 1024, TILE_SPLIT_SHARED_BYTES = 108 * 1024;
//! Most columns and pixels of a fragment in shared memory at a time: 16384 * 765 * 255 < 2^32.
const int TILE_CHUNK_COLS = 256, TILE_CHUNK_PIXELS = 16384;

} // namespace tuning

namespace gpu {

const int TILE_POSITIONS = 8;                   //!< positions per thread
const int TILE_GROUPS = tuning::TILE_COLS / 32; //!< groups of 4 phases x TILE_POSITIONS per row of a tile

//! Plan of matchTiles().
struct TilePlan
{
    int chunkCols, chunkRows; //!< size of the part of a fragment that is in shared memory at a time
    StagePlan stage;
    int templateWords;
    bool wide;          //!< sums may exceed 32 bits
    size_t sharedBytes; //!< shared memory per block

    // Offsets in words.
    CT_HOST_DEVICE int rawAt() const { return templateWords; }
    CT_HOST_DEVICE int expandedAt() const { return rawAt() + stage.rawWords; } //!< later the sums of parts
};

//! Tiles to score, where a stage before has left only some.
struct ListedTiles
{
    int* tiles;         //!< entry * Windows::tiles() + tile
    int* kept;          //!< their number, for each entry
    int* total;         //!< their number; null: all tiles of all windows
    unsigned* finished; //!< counters of finished parts, Windows::tiles() per entry
    int height;         //!< height of the highest fragment, pixels
    int parts;          //!< most parts of the rows of a fragment, each with a block of threads of its own
    int fewBlocks;      //!< number of blocks below which fragments are divided into parts
};

//! Scores tiles, finds peaks and reports them.
void matchTiles(const Job& job, const TilePlan& plan, const Windows& windows, const ListedTiles& tiles);

} // namespace gpu

//! Plans windows of any size.
gpu::TilePlan planTiles(const MatchCase& given, const Load& load);

//! The plan of route TILES, to which other routes may add a stage.
class TilesPlan : public TiledPlan
{
public:
    TilesPlan(const MatchCase& given, const Load& load)
        : TiledPlan(windowsOf(given, load)), plan(planTiles(given, load))
    {}

    void run(const gpu::Job& job) const override { gpu::matchTiles(job, plan, windows_, {}); }

protected:
    const gpu::TilePlan plan;
};

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILES_HPP
