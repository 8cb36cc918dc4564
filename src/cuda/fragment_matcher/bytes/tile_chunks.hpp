// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code that kernels in tiles share: what a block takes of the listed tiles, and the image and a
// part of the template in shared memory.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILE_CHUNKS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILE_CHUNKS_HPP

#include "../common/device.hpp"
#include "tiles.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! A block's share of the work: rows [begin, end) of a fragment for a tile of an entry.
struct Share
{
    int entry, tile;
    int begin, end;
    int parts; //!< blocks that share the tile; 0: there is nothing to do
};

//! Returns the share of this block of the tiles that a stage before has listed.
__device__ __forceinline__ Share listedShare(const gpu::Windows& windows, const gpu::ListedTiles& tiles)
{
    const int listed = __ldcg(tiles.total), parts = ::max(1, ::min(tiles.fewBlocks / ::max(listed, 1), tiles.parts));
    const int item = blockIdx.x / parts, part = blockIdx.x - item * parts;
    if (item >= listed)
        return {};
    const int tile = __ldcg(tiles.tiles + item), e = tile / windows.tiles();
    const int rows = parts == 1 ? Best::NONE : detail::ceilDiv(tiles.height, parts);
    return {e, tile - e * windows.tiles(), part * rows, parts == 1 ? rows : (part + 1) * rows, parts};
}

__device__ __forceinline__ void addAtomically(uint32_t* value, uint32_t part) { atomicAdd(value, part); }
__device__ __forceinline__ void addAtomically(uint64_t* value, uint64_t part)
{
    atomicAdd(reinterpret_cast<unsigned long long*>(value), static_cast<unsigned long long>(part));
}

//! Positions of a tile, as far as they are scored.
struct Tile
{
    int x, y;       //!< first position, relative to the window
    int cols, rows; //!< of positions
};

//! A rectangle of the template: rows [row, row + rows), columns [col, col + cols).
struct Chunk
{
    int row, rows, col, cols;

    //! Words from row to row of the template in shared memory.
    __device__ __forceinline__ int words() const { return (cols + 15) / 16 * 4; }
};

//! Pointers into a block's shared memory.
struct TileStage
{
    uint32_t *templ, *raw, *expanded;

    __device__ __forceinline__ TileStage(uint32_t* shared, const gpu::TilePlan& plan)
        : templ(shared), raw(shared + plan.rawAt()), expanded(shared + plan.expandedAt())
    {}
};

//! Starts to copy the image under a tile for a chunk.
__device__ __forceinline__ void fetchChunk(const ByteImageView& frame, const Rect4& area, const Tile& tile,
                                           const Chunk& chunk, const gpu::TilePlan& plan, const TileStage& stage)
{
    const int x = tile.x + chunk.col, y = tile.y + chunk.row;
    fetchRaw(frame, area.x + x, area.y + y, ::min(tile.cols + chunk.cols - 1, area.width - x),
             ::min(tile.rows + chunk.rows - 1, area.height - y), plan.stage, stage.raw);
}

/** Opens a block for its share of a tile: starts to copy the image under the first chunk, and meanwhile reads the entry
of fragment i. Contains a barrier. @param area out: area of the fragment. @return the first chunk; rows and columns are
upper bounds, as the copy starts before the size of the fragment is known. */
__device__ __forceinline__ Chunk openTile(const ByteImageView& frame, const Batch& batch, int i, const Tile& tile,
                                          const Share& share, const gpu::TilePlan& plan, const TileStage& stage,
                                          Rect4& area, Entry* entry, int* status)
{
    const uint32_t fragmentWord = loadFragment(batch, i);
    area = areaOf(frame, batch, i);
    const Chunk firstChunk = {share.begin, ::min(plan.chunkRows, share.end - share.begin), 0, plan.chunkCols};
    fetchChunk(frame, area, tile, firstChunk, plan, stage);
    openEntry(batch, i, area, fragmentWord, entry, status);
    __syncthreads(); // entry and status are complete
    return firstChunk;
}

//! Expands one channel of a chunk whose image has been fetched, and copies its template. Two barriers. @param tLow, q
//! out: as in stageTemplate().
template <bool SPLIT, int CHANNELS>
__device__ __forceinline__ void stageChunk(const ByteImageView& frame, const Batch& batch, const Entry& entry,
                                           const Tile& tile, const Chunk& chunk, int plane, const gpu::TilePlan& plan,
                                           const TileStage& stage, uint32_t*& tLow, uint32_t*& q)
{
    const DeviceFragment& fragment = entry.fragment;
    const int words = chunk.words(), chunkWords = chunk.rows * words;
    tLow = stage.templ + chunkWords;
    q = stage.templ + templatePlanes(SPLIT) * chunkWords;

    __pipeline_wait_prior(0);
    __syncthreads(); // the raw image is complete, the last channel has been read
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const size_t first = static_cast<size_t>(chunk.row) * fragment.pitch + chunk.col / 4;
    const uint32_t* arena = batch.arena + fragment.words + first;
    stageTemplate<SPLIT>(arena + plane * planeWords, arena + CHANNELS * planeWords, fragment.pitch, chunk.rows, words,
                         stage.templ, tLow, q);
    const int x = entry.window.x + tile.x + chunk.col, y = entry.window.y + tile.y + chunk.row;
    expandChannel<CHANNELS, SPLIT>(frame, x, y, tile.rows + chunk.rows - 1, plane, plan.stage, stage.raw,
                                   stage.expanded);
    __pipeline_wait_prior(0);
    __syncthreads(); // image and template are complete
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TILE_CHUNKS_HPP
