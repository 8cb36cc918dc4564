// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device code that all kernels of classify share: a block's tile, fail masks, and the lists of candidates.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_TILE_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_TILE_HPP

#include "classify.hpp"
#include "integral_image.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

const int WORDS32 = tuning::MAX_WINDOWS / 32;

//! Static shared memory of a block.
struct Shared
{
    uint32_t fails[WORDS32]; //!< whether windows fail the first stage, one bit per window
    int counts[2];           //!< pairs: length of the list, and places that warps took
    int banks[32];           //!< number of listed pairs by the bank of shared memory of their first corner
    TileRecord tile;
    GridRecord grid;
    SourceRecord source;
};
static_assert(sizeof(Shared) <= STATIC_BYTES, "plans count on it");

//! View of a block's tile by a thread.
struct Tile
{
    const Classification& job;
    Shared& shared;
    const Shape& shape;
    float* norms;    //!< pairs with Haar features: norm of each window, 0 without contrast
    uint16_t* lists; //!< pairs: see PairLists
    Patch patch;
    int cols, rows; //!< number of windows, at most those of the shape

    __device__ __forceinline__ int columnOf(int window) const { return window & (shape.cols - 1); }
    __device__ __forceinline__ int rowOf(int window) const { return window >> shape.columnBits; }
    //! Returns the index of a window's corner in an integral image.
    __device__ __forceinline__ int indexOf(int window) const
    {
        return rowOf(window) * shape.windowStep() + columnOf(window);
    }
    //! Returns the first pixel in the pyramid.
    __device__ __forceinline__ const uint8_t* pixels() const
    {
        const GridRecord& grid = shared.grid;
        return job.pixels + shared.source.pixels + grid.pixels +
               static_cast<size_t>(shared.tile.row * grid.step) * grid.pixelStep + shared.tile.col * grid.step;
    }
    //! Returns the lists of warps, for pairs.
    __device__ __forceinline__ uint16_t* listsOfWarps() const
    {
        return lists + PairLists::ofTile(shape.cols * shape.rows);
    }
};

//! Loads the records of tile `index`. The caller synchronizes.
__device__ __forceinline__ void loadRecords(const Classification& job, Shared& shared, int index)
{
    if (threadIdx.x < 32)
        shared.banks[threadIdx.x] = 0;
    if (threadIdx.x == 0)
    {
        shared.tile = job.tiles[index];
        shared.grid = job.grids[shared.tile.grid];
        shared.source = job.sources[shared.tile.image];
        shared.counts[0] = shared.counts[1] = 0;
    }
}

//! Makes the view. @param bytes memory of the block.
__device__ __forceinline__ Tile tileOf(const Classification& job, Shared& shared, int index, uint8_t* bytes)
{
    // Not from the record, so that the compiler knows that it is uniform.
    const Shape& shape = job.shapes[index < job.singleTiles ? 0 : 1];
    Tile t = {
        job, shared, shape, reinterpret_cast<float*>(bytes), reinterpret_cast<uint16_t*>(bytes + job.layout.patch),
        {},  0,      0};
    t.cols = ::min(shape.cols, shared.grid.cols - shared.tile.col);
    t.rows = ::min(shape.rows, shared.grid.rows - shared.tile.row);
    uint32_t* const table = reinterpret_cast<uint32_t*>(bytes + job.layout.tables);
    t.patch = {bytes + job.layout.patch, table, table + shape.words, (t.cols - 1) * shared.grid.step + job.model.width,
               (t.rows - 1) * shared.grid.step + job.model.height};
    return t;
}

/** Copies a tile's pixels from the pyramid in units of Word; the tile's first column must be a multiple of its size.
Rows of the pyramid are multiples of 16 bytes, and memory behind its end may be read. */
template <typename Word> __device__ __forceinline__ void copyPatch(const Tile& t)
{
    const GridRecord& grid = t.shared.grid;
    const int size = static_cast<int>(sizeof(Word)), words = (t.patch.cols + size - 1) / size;
    int bits = 0;
    while (1 << bits < words && bits < 5)
        ++bits; // 2^bits threads per row
    const uint8_t* const from = t.pixels();
    for (int x = threadIdx.x & ((1 << bits) - 1); x < words; x += 1 << bits)
    {
#pragma unroll 4
        for (int y = threadIdx.x >> bits; y < t.patch.rows; y += blockThreads() >> bits)
            reinterpret_cast<Word*>(t.patch.pixels + y * t.shape.patchStep)[x] =
                __ldg(reinterpret_cast<const Word*>(from + static_cast<size_t>(y) * grid.pixelStep) + x);
    }
}

//! Returns the bits of one row of a tile.
__device__ __forceinline__ uint64_t rowBits(const uint32_t* bits, const Shape& shape, int row)
{
    return shape.cols == 64 ? static_cast<uint64_t>(bits[2 * row + 1]) << 32 | bits[2 * row] : bits[row];
}

//! Stores which windows of a row failed the first stage. For one lane.
__device__ __forceinline__ void storeFailMask(const Tile& t, int row, uint64_t fails)
{
    if (t.shape.cols == 64)
    {
        t.shared.fails[2 * row] = static_cast<uint32_t>(fails);
        t.shared.fails[2 * row + 1] = static_cast<uint32_t>(fails >> 32);
    }
    else
        t.shared.fails[row] = static_cast<uint32_t>(fails);
    if (row < t.rows)
        t.job.lists.failMasks[t.shared.tile.word + row * t.shared.grid.rowWords] = fails;
}

__device__ __forceinline__ void appendCandidate(const Lists& lists, int image, Key key, double weight)
{
    const int slot = atomicAdd(&lists.counts[image], 1);
    if (slot >= lists.capacity)
        return;
    const size_t place = static_cast<size_t>(lists.firsts[image]) + slot;
    lists.keys[place] = key;
    lists.weights[place] = weight;
}

__device__ __forceinline__ bool masked(const SourceRecord& source, const Box& box)
{
    return source.mask && __ldg(source.mask + centreOf(box.y, box.height, source.rows) * source.maskStep +
                                centreOf(box.x, box.width, source.cols)) == 0;
}

//! Reports a window that passed all stages, unless the mask drops it. Defers it if the skip rule depends on the tiles
//! before.
__device__ __forceinline__ void addCandidate(const Tile& t, int window, double weight)
{
    const TileRecord& tile = t.shared.tile;
    const GridRecord& grid = t.shared.grid;
    const int column = t.columnOf(window), row = t.rowOf(window);
    const int x = (tile.col + column) * grid.step, y = (tile.row + row) * grid.step;
    if (masked(t.shared.source, boxOf(x, y, grid.factor, grid.boxWidth, grid.boxHeight)))
        return;
    const Key key = keyOf(tile.image, tile.scale, x, y);
    const uint64_t before = (static_cast<uint64_t>(1) << column) - 1;
    if (tile.col == 0 || (rowBits(t.shared.fails, t.shape, row) & before) != before)
        return appendCandidate(t.job.lists, tile.image, key, weight);
    const int slot = atomicAdd(t.job.lists.deferredCount(t.job.images), 1);
    t.job.lists.deferred[slot] = {key,    weight, tile.word + row * grid.rowWords, tile.col >> t.shape.columnBits,
                                  column, 0};
}

/** Applies the skip rule to a row of windows. @param passes windows that passed the first stage. @param before whether
there are tiles to the left, so that it is unknown whether the first window is skipped. @return windows of `passes` that
are not certainly skipped. */
__device__ __forceinline__ uint64_t notSkipped(uint64_t fails, uint64_t passes, bool before)
{
    bool skipped = true, evaluated = false; // whether the first window is skipped
    return passes & ~(skippedOf(fails, evaluated) & (before ? skippedOf(fails, skipped) : ~0ull));
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_TILE_HPP
