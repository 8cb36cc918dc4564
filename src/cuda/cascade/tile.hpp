// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file addCandidate in the top-level directory of this distribution.

// What the kernels that classify have in common: a block's tile, the skip rule's words, and where candidates go. Device code.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_TILE_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_TILE_HPP

#include "classify.hpp"
#include "integral_image.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

const int WORDS32 = tuning::MAX_WINDOWS / 32;

//! What threads of a block share beside the tables.
struct Shared
{
    uint32_t fails[WORDS32], passes[WORDS32]; //!< of the first stage, a bit a window
    int counts[3];                            //!< lengths of lists, in turn
    int banks[32];                            //!< pairs in the list, by the bank of shared memory where they begin
    TileRecord tile;
    GridRecord grid;
    SourceRecord source;
};
static_assert(sizeof(Shared) <= STATIC_BYTES, "plans count on it");

//! What a thread knows of its block's tile.
struct Tile
{
    const Classification& job;
    Shared& shared;
    const Shape& shape;
    float* norms;    //!< of windows; 0: no contrast. LBP: none
    uint16_t* lists; //!< two, in turn
    Patch patch;
    int cols, rows; //!< windows, not more than the shape's

    __device__ __forceinline__ int columnOf(int window) const { return window & (shape.cols - 1); }
    __device__ __forceinline__ int rowOf(int window) const { return window >> shape.columnBits; }
    __device__ __forceinline__ bool has(int window) const { return columnOf(window) < cols && rowOf(window) < rows; }
    //! Where a window's corner is in the tables.
    __device__ __forceinline__ int indexOf(int window) const
    {
        return rowOf(window) * shape.windowStep() + columnOf(window);
    }
    __device__ __forceinline__ int windows() const { return shape.cols * shape.rows; }
    __device__ __forceinline__ uint16_t* listOf(int turn) const { return lists + (turn & 1) * windows(); }
};

//! The records of tile `index`; the caller synchronizes.
__device__ __forceinline__ void loadRecords(const Classification& job, Shared& shared, int index)
{
    if (threadIdx.x < 32)
        shared.banks[threadIdx.x] = 0;
    if (threadIdx.x == 0)
    {
        shared.tile = job.tiles[index];
        shared.grid = job.grids[shared.tile.grid];
        shared.source = job.sources[shared.tile.image];
        shared.counts[0] = shared.counts[1] = shared.counts[2] = 0;
    }
}

//! @param bytes shared memory. @param slice where patch and tables are.
__device__ __forceinline__ Tile tileOf(const Classification& job, Shared& shared, int index, uint8_t* bytes,
                                       uint8_t* slice)
{
    const Shape& shape = job.shapes[index < job.singleTiles ? 0 : 1]; // without the record, so that it is uniform
    Tile t = {job,
              shared,
              shape,
              reinterpret_cast<float*>(bytes + job.layout.norms),
              reinterpret_cast<uint16_t*>(bytes + job.layout.lists),
              {},
              0,
              0};
    t.cols = ::min(shape.cols, shared.grid.cols - shared.tile.col);
    t.rows = ::min(shape.rows, shared.grid.rows - shared.tile.row);
    uint32_t* const table = reinterpret_cast<uint32_t*>(slice + job.layout.tables);
    t.patch = {slice + job.layout.patch, table, table + shape.words, (t.cols - 1) * shared.grid.step + job.model.width,
               (t.rows - 1) * shared.grid.step + job.model.height};
    return t;
}

/** A tile's pixels, from the pyramid. Word: of that many bytes its first column, in pixels, is a multiple. Rows of the pyramid
end in multiples of 16 bytes, and it has room behind its end. */
template <typename Word> __device__ __forceinline__ void copyPatch(const Tile& t)
{
    const GridRecord& grid = t.shared.grid;
    const int size = static_cast<int>(sizeof(Word)), words = (t.patch.cols + size - 1) / size;
    int bits = 0;
    while (1 << bits < words && bits < 5)
        ++bits; // 2^bits threads a row
    const uint8_t* const from = t.job.pixels + t.shared.source.pixels + grid.pixels +
                                static_cast<size_t>(t.shared.tile.row * grid.step) * grid.pixelStep +
                                t.shared.tile.col * grid.step;
    for (int x = threadIdx.x & ((1 << bits) - 1); x < words; x += 1 << bits)
    {
#pragma unroll 4
        for (int y = threadIdx.x >> bits; y < t.patch.rows; y += tuning::THREADS >> bits)
            reinterpret_cast<Word*>(t.patch.pixels + y * t.shape.patchStep)[x] =
                __ldg(reinterpret_cast<const Word*>(from + static_cast<size_t>(y) * grid.pixelStep) + x);
    }
}

//! Bits of a row of a tile.
__device__ __forceinline__ uint64_t rowBits(const uint32_t* bits, const Shape& shape, int row)
{
    if (shape.cols == 64)
        return static_cast<uint64_t>(bits[2 * row + 1]) << 32 | bits[2 * row];
    const int first = row << shape.columnBits;
    const uint32_t mask = shape.cols == 32 ? 0xffffffffu : (1u << shape.cols) - 1u;
    return (bits[first >> 5] >> (first & 31)) & mask;
}

__device__ __forceinline__ void appendCandidate(const Lists& lists, int image, Key key, double weight)
{
    const int slot = atomicAdd(&lists.counts[image], 1);
    if (slot >= lists.capacity)
        return;
    const size_t place = static_cast<size_t>(lists.places[image].first) + slot;
    lists.keys[place] = key;
    lists.weights[place] = weight;
}

__device__ __forceinline__ bool masked(const SourceRecord& source, const Box& box)
{
    return source.mask && __ldg(source.mask + centreOf(box.y, box.height, source.rows) * source.maskStep +
                                centreOf(box.x, box.width, source.cols)) == 0;
}

//! A window that passed all stages.
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

/** What the skip rule leaves of the windows of a row that passed the first stage. @param before there are tiles to the left, so that it is
not known whether the first window is skipped: what depends on it stays. */
__device__ __forceinline__ uint64_t notSkipped(uint64_t fails, uint64_t passes, bool before)
{
    bool skipped = true, evaluated = false; // the first window
    return passes & ~(skippedOf(fails, evaluated) & (before ? skippedOf(fails, skipped) : ~0ull));
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_TILE_HPP
