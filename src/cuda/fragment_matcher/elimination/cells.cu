// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route BOUNDED_TILES: score, findPeaks and report of SAD, of the positions that eliminate() has left
// in many small windows. A block scores the listed cells of a tile; if few tiles are listed, several blocks share each,
// and divide the rows of the fragment. The block that finishes the last tile of a fragment finds its peaks.
//
// Four threads score a cell of 8 x 4 positions. Each has two columns, 4 apart, in all four rows: a row of the fragment
// passes through registers from one row of positions to the next, so that a row of the image is loaded once for all
// four. Threads without a cell take other rows and columns of the fragment.
//
// Cost for C channels and fragments of w x h pixels: 32 C h ceil(w / 4) byte-sum instructions per cell, bound by the
// integer pipes where most cells of a tile are listed, else by the copies of the image: (8 n + w)(4 m + h) C bytes of n
// x m cells.

#include "../bytes/tile_chunks.hpp"
#include "../common/find_peaks.hpp"
#include "bounded_tiles.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::CELL_COLS;
using gpu::CELL_ROWS;
using gpu::ListedTiles;
using gpu::TilePlan;
using gpu::Windows;

const int THREADS = tuning::CELL_THREADS, CELL_LANES = 4; // threads per cell, one per byte phase
const int LANE_COLS = CELL_COLS / CELL_LANES, LANE_POSITIONS = CELL_ROWS * LANE_COLS;
static_assert(LANE_COLS == 2 && CELL_ROWS == 4, "positions of a thread");
static_assert(THREADS == tuning::TILE_POSITION_THREADS * tuning::TILE_PARTS, "planTiles() divides copies among them");
static_assert(2 * gpu::CELLS * CELL_LANES <= THREADS, "at least two parts");

//! Sums of a thread's positions, by row and column.
typedef uint32_t CellSums[CELL_ROWS][LANE_COLS];

//! Returns the cells from the first to the last column and row that has one. @param x, y first position of the tile.
__device__ __forceinline__ Tile tileOf(int x, int y, uint32_t cells)
{
    uint32_t columns = cells | cells >> 16;
    columns = (columns | columns >> 8) & 0xff;
    const int left = __ffs(columns) - 1, top = (__ffs(cells) - 1) / gpu::CELLS_X;
    const int right = 32 - __clz(columns), bottom = (31 - __clz(cells)) / gpu::CELLS_X + 1;
    return {x + CELL_COLS * left, y + CELL_ROWS * top, CELL_COLS * (right - left), CELL_ROWS * (bottom - top)};
}

//! Returns the position of the set bit of `bits` below which there are `rank` others.
__device__ __forceinline__ int bitOfRank(uint32_t bits, int rank)
{
    int at = 0;
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
    {
        const int below = __popc(bits >> at & ((1u << half) - 1));
        if (rank >= below)
            rank -= below, at += half;
    }
    return at;
}

//! The cell of a thread, and the part of a fragment that it sums up there.
struct Slot
{
    int x, y;               //!< first position, relative to the tile
    int lane;               //!< of CELL_LANES
    int sums;               //!< index of the cell's sums in shared memory, the same in all parts
    int part, parts;        //!< part >= parts: none
    int rowParts, colParts; //!< parts = rowParts * colParts

    //! @param cells those of the block, in a tile that begins at (firstX, firstY) of the whole one. @param rows, cols
    //! of the fragment in shared memory at a time.
    __device__ __forceinline__ Slot(uint32_t cells, int firstX, int firstY, int rows, int cols)
    {
        const int count = __popc(cells), unit = threadIdx.x / CELL_LANES;
        part = unit / count;
        const int rank = unit - part * count;
        const int cell = cells == ALL_CELLS ? rank : bitOfRank(cells, rank);
        x = cell % gpu::CELLS_X * CELL_COLS - firstX;
        y = cell / gpu::CELLS_X * CELL_ROWS - firstY;
        lane = threadIdx.x % CELL_LANES;
        sums = rank * CELL_LANES + lane;
        divide(THREADS / CELL_LANES / count, detail::ceilDiv(rows, CELL_ROWS), detail::ceilDiv(cols, 16));
    }

    //! Divides groups of CELL_ROWS rows and of 16 columns among parts, so that the largest part takes the least steps:
    //! CELL_ROWS - 1 rows of the image more than its rows, for each group of columns.
    __device__ __forceinline__ void divide(int most, int rowGroups, int colGroups)
    {
        int least = INT_MAX;
#pragma unroll 1
        for (int c = 1; c <= ::min(most, colGroups); ++c)
        {
            const int r = ::min(most / c, rowGroups);
            const int steps =
                (CELL_ROWS * detail::ceilDiv(rowGroups, r) + CELL_ROWS - 1) * detail::ceilDiv(colGroups, c);
            if (steps < least)
                least = steps, rowParts = r, colParts = c;
        }
        parts = rowParts * colParts;
    }
};

__device__ __forceinline__ void load4(const uint32_t* from, uint32_t (&words)[4])
{
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
}

//! Loads the words of a row of the image under 16 columns of a fragment, for both positions.
__device__ __forceinline__ void loadPixels(const uint32_t* from, uint32_t (&words)[6])
{
#pragma unroll
    for (int k = 0; k < 3; ++k)
    {
        const uint2 two = reinterpret_cast<const uint2*>(from)[k];
        words[2 * k] = two.x, words[2 * k + 1] = two.y;
    }
}

//! Sets the bytes of 16 columns that are left of column `width`.
__device__ __forceinline__ void maskColumns(int width, uint32_t (&mask)[4])
{
#pragma unroll
    for (int j = 0; j < 4; ++j)
        mask[j] = width >= 4 * j + 4 ? ~0u : (1u << 8 * ::max(width - 4 * j, 0)) - 1;
}

/** Adds 16 columns of a fragment.
@param image word of the thread's first position in the first row. @param imageStep, step words from row to row.
@param rows of the fragment, one or more. @param width of the columns, those that the fragment has; MASKED: below 16,
without weights. */
template <bool WEIGHTED, bool MASKED>
__device__ __forceinline__ void addColumns(const uint32_t* image, int imageStep, const uint32_t* templ,
                                           const uint32_t* weights, int step, int rows, int width, CellSums& sums)
{
    uint32_t value[CELL_ROWS][4], weight[CELL_ROWS][4], mask[4]; // row v of the fragment in v % CELL_ROWS
    maskColumns(width, mask);
    // Adds up to CELL_ROWS rows of the image from row v on, which CELL_ROWS divides. Row r of positions meets row
    // v + s - r of the fragment; meets(s, r) is false where there is no such row.
    const auto add = [&](int count, const auto& hasRow, const auto& meets)
    {
#pragma unroll
        for (int s = 0; s < CELL_ROWS; ++s, image += imageStep, templ += step, weights += step)
        {
            if (s >= count)
                break;
            uint32_t pixels[6];
            loadPixels(image, pixels);
            if (hasRow(s))
            {
                load4(templ, value[s]);
                if (WEIGHTED)
                    load4(weights, weight[s]);
            }
#pragma unroll
            for (int r = 0; r < CELL_ROWS; ++r)
            {
                if (!meets(s, r))
                    continue;
                const int at = (s - r) & (CELL_ROWS - 1);
#pragma unroll
                for (int j = 0; j < 4; ++j)
#pragma unroll
                    for (int k = 0; k < LANE_COLS; ++k)
                    {
                        const uint32_t four = MASKED ? pixels[j + k] & mask[j] : pixels[j + k];
                        sums[r][k] = WEIGHTED ? dot4(__vabsdiffu4(four, value[at][j]), weight[at][j], sums[r][k])
                                              : sad4(four, value[at][j], sums[r][k]);
                    }
            }
        }
    };
    const auto always = [](int, int = 0) { return true; };
    int v = 0;
    if (rows >= CELL_ROWS)
    {
        add(CELL_ROWS, always, [](int s, int r) { return s >= r; });
#pragma unroll 1
        for (v = CELL_ROWS; v + CELL_ROWS <= rows; v += CELL_ROWS)
            add(CELL_ROWS, always, always);
    }
    if (rows % CELL_ROWS == 0) // most often
    {
        add(
            CELL_ROWS - 1, [](int) { return false; }, [](int s, int r) { return s < r; });
        return;
    }
#pragma unroll 1
    for (; v < rows + CELL_ROWS - 1; v += CELL_ROWS)
        add(
            rows + CELL_ROWS - 1 - v, [&](int s) { return v + s < rows; },
            [&](int s, int r) { return static_cast<unsigned>(v + s - r) < static_cast<unsigned>(rows); });
}

//! Adds a thread's part of a chunk that has been staged.
template <bool WEIGHTED>
__device__ __forceinline__ void addPart(const Chunk& chunk, const Slot& slot, int units, const uint32_t* expanded,
                                        const uint32_t* templ, const uint32_t* q, CellSums& sums)
{
    const int words = chunk.words(), quads = words / 4, groups = detail::ceilDiv(chunk.rows, CELL_ROWS);
    const int colPart = slot.part / slot.rowParts, rowPart = slot.part - colPart * slot.rowParts;
    const int top = CELL_ROWS * (rowPart * groups / slot.rowParts),
              rows = ::min(CELL_ROWS * ((rowPart + 1) * groups / slot.rowParts), chunk.rows) - top;
    const int end = (colPart + 1) * quads / slot.colParts;
    if (slot.part >= slot.parts || rows <= 0)
        return;
    const uint32_t* const image =
        expanded + ((slot.y + top) * 4 + slot.lane) * 4 * units + slot.x / 4; // a word of a phase every 4 columns
    templ += top * words;
    q += top * words;
#pragma unroll 1
    for (int quad = colPart * quads / slot.colParts; quad < end; ++quad)
    {
        const int at = 4 * quad, width = chunk.cols - 16 * quad;
        if (WEIGHTED || width >= 16) // weights are 0 beyond the fragment
            addColumns<WEIGHTED, false>(image + at, 16 * units, templ + at, q + at, words, rows, width, sums);
        else
            addColumns<WEIGHTED, true>(image + at, 16 * units, templ + at, q + at, words, rows, width, sums);
    }
}

//! Adds up the sums of all parts in those of the first, and clears the others. Three barriers. @param shared THREADS *
//! LANE_POSITIONS / 2 words.
__device__ void mergeParts(const Slot& slot, CellSums& sums, uint32_t* shared)
{
    const int STEP = gpu::CELLS * CELL_LANES;
    uint32_t* const mine = shared + slot.sums;
    __syncthreads(); // `shared` has been read
#pragma unroll
    for (int i = 0; slot.part == 0 && i < LANE_POSITIONS; ++i)
        mine[i * STEP] = sums[i / LANE_COLS][i % LANE_COLS];
    __syncthreads(); // the first part's sums are there
#pragma unroll
    for (int i = 0; slot.part > 0 && slot.part < slot.parts && i < LANE_POSITIONS; ++i)
        atomicAdd(mine + i * STEP, sums[i / LANE_COLS][i % LANE_COLS]);
    __syncthreads(); // all sums are complete
#pragma unroll
    for (int i = 0; i < LANE_POSITIONS; ++i)
        sums[i / LANE_COLS][i % LANE_COLS] = slot.part == 0 ? mine[i * STEP] : 0;
}

//! Computes the values of a share's positions, in the threads of the first part, chunk by chunk. The copy of the first
//! chunk's image has been started.
template <bool WEIGHTED, int CHANNELS, bool WIDE, typename Value>
__device__ void addChunks(const ByteImageView& frame, const Rect4& area, const Batch& batch, const Entry& entry,
                          const Tile& tile, const Share& share, const Slot& slot, const TilePlan& plan,
                          const TileStage& stage, Value (&values)[LANE_POSITIONS])
{
    CellSums sums = {};
    const auto fold = [&]
    {
        mergeParts(slot, sums, stage.expanded);
#pragma unroll
        for (int i = 0; i < LANE_POSITIONS; ++i)
        {
            values[i] += sums[i / LANE_COLS][i % LANE_COLS];
            sums[i / LANE_COLS][i % LANE_COLS] = 0;
        }
    };
    const int end = ::min(share.end, entry.fragment.height);
    const int chunksX = detail::ceilDiv(entry.fragment.width, plan.chunkCols);
    const int chunks = detail::ceilDiv(::max(end - share.begin, 0), plan.chunkRows) * chunksX;
#pragma unroll 1
    for (int index = 0; index < chunks; ++index)
    {
        const int row = share.begin + index / chunksX * plan.chunkRows, col = index % chunksX * plan.chunkCols;
        const Chunk chunk = {row, ::min(plan.chunkRows, end - row), col,
                             ::min(plan.chunkCols, entry.fragment.width - col)};
        if (index > 0)
        {
            __syncthreads(); // the last chunk has been expanded
            fetchChunk(frame, area, tile, chunk, plan, stage);
        }
#pragma unroll 1
        for (int plane = 0; plane < CHANNELS; ++plane)
        {
            uint32_t *low, *q;
            stageChunk<false, CHANNELS>(frame, batch, entry, tile, chunk, plane, plan, stage, low, q);
            addPart<WEIGHTED>(chunk, slot, plan.stage.units, stage.expanded, stage.templ, q, sums);
            if (WIDE)
                fold();
        }
    }
    if (!WIDE)
        fold();
    __pipeline_wait_prior(0); // a lower fragment has no rows in this share, but the copy has been started
}

//! Calls body(i, index) for the positions i of a thread of the first part that lie in the window.
template <class Body>
__device__ __forceinline__ void forPositions(const Entry& entry, const Tile& tile, const Slot& slot, const Body& body)
{
    const int firstX = tile.x + slot.x + slot.lane, firstY = tile.y + slot.y;
    if (slot.part > 0)
        return;
#pragma unroll
    for (int i = 0; i < LANE_POSITIONS; ++i)
    {
        const int x = firstX + CELL_LANES * (i % LANE_COLS), y = firstY + i / LANE_COLS;
        if (x < entry.window.cols && y < entry.window.rows)
            body(i, y * entry.window.cols + x);
    }
}

//! Sets the values of positions outside of `cells`, which are no peaks, to the largest. @param x, y first position of
//! the whole tile.
template <typename Value> __device__ void clearOthers(const Entry& entry, int x, int y, uint32_t cells, Value* values)
{
    for (int i = threadIdx.x; i < tuning::TILE_COLS * tuning::TILE_ROWS; i += THREADS)
    {
        const int column = i % tuning::TILE_COLS, row = i / tuning::TILE_COLS;
        if (x + column < entry.window.cols && y + row < entry.window.rows &&
            !(cells >> (row / CELL_ROWS * gpu::CELLS_X + column / CELL_COLS) & 1))
            values[(y + row) * entry.window.cols + x + column] = static_cast<Value>(~static_cast<Value>(0));
    }
}

/** Stores the values of a share's positions, and returns the best. Of a tile that several blocks share, adds the part
of this block to the values, which were 0. @return false if other blocks have yet to add theirs: there is no best. */
template <typename Value>
__device__ __forceinline__ bool storeValues(const Entry& entry, const Tile& tile, const Share& share, const Slot& slot,
                                            const Value (&own)[LANE_POSITIONS], Value* values, unsigned* finished,
                                            Best& best)
{
    if (share.parts == 1)
    {
        forPositions(entry, tile, slot,
                     [&](int i, int index)
                     {
                         values[index] = own[i];
                         best.take(own[i], index);
                     });
        return true;
    }
    forPositions(entry, tile, slot, [&](int i, int index) { addAtomically(values + index, own[i]); });
    if (!lastOfEntry(share.parts, finished))
        return false;
    forPositions(entry, tile, slot, [&](int, int index) { best.take(__ldcg(values + index), index); });
    return true;
}

template <bool WEIGHTED, int CHANNELS, bool WIDE, typename Value>
__global__ void __launch_bounds__(THREADS, WEIGHTED ? 2 : tuning::TILE_BLOCKS)
    scoreCellsKernel(const ByteImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                     const Windows windows, const ListedTiles tiles, const Outputs out)
{
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ Entry entry;
    __shared__ int status;

    detail::waitForKernelBefore();
    const Share share = listedShare(windows, tiles, batch.count, settings.subpixel);
    if (share.parts == 0)
        return;
    const int e = share.entry, i = fragmentOf(batch, e), gridTiles = windows.tiles();
    const int tileY = share.tile / windows.tilesX, tileX = share.tile - tileY * windows.tilesX;
    const int firstX = tileX * tuning::TILE_COLS, firstY = tileY * tuning::TILE_ROWS;
    const Tile tile = tileOf(firstX, firstY, share.cells);
    const TileStage stage(shared, plan);
    Rect4 area;
    // status is not read: only tiles of entries with positions are listed
    const Chunk firstChunk = openTile(frame, batch, i, tile, share, plan, stage, area, &entry, &status);

    const Slot slot(share.cells, tile.x - firstX, tile.y - firstY, ::min(firstChunk.rows, entry.fragment.height),
                    ::min(plan.chunkCols, entry.fragment.width));
    Value own[LANE_POSITIONS] = {};
    addChunks<WEIGHTED, CHANNELS, WIDE>(frame, area, batch, entry, tile, share, slot, plan, stage, own);
    Value* const values = static_cast<Value*>(windows.values) + static_cast<size_t>(e) * windows.cols * windows.rows;
    TileBest* const bests = windows.bests + static_cast<size_t>(e) * gridTiles;
    unsigned* const finished = tiles.finished + static_cast<size_t>(e) * gridTiles + share.tile;
    Best best = Best::none();
    if (!storeValues(entry, tile, share, slot, own, values, finished, best))
        return;
    if (share.cells != ALL_CELLS)
        clearOthers(entry, firstX, firstY, share.cells, values);
    const int tilesX = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS);
    best = blockBest<Value, THREADS>(best, scratch.warps[0]);
    if (threadIdx.x == 0)
        bests[tileY * tilesX + tileX] = {best.value, best.index, best.index / entry.window.cols};
    if (!lastOfEntry((share.refined ? tiles.refined : tiles.listed).kept[e], windows.finished + e))
        return;
    const int entryTiles = detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS) * tilesX;
    findPeaks<THREADS>(entry, settings, values, bests, TileGrid{tilesX, entryTiles, tuning::TILE_ROWS, 0}, nullptr,
                       valueScale(Metric::SAD, WEIGHTED), out, &scratch, reinterpret_cast<TileBest*>(shared),
                       plan.sharedBytes);
}

} // namespace

namespace gpu {

void scoreCells(const Job& job, const TilePlan& plan, const Windows& windows, const ListedTiles& tiles)
{
    const int64_t blocks = std::max<int64_t>(static_cast<int64_t>(windows.tiles()) * job.batch.count, tiles.fewBlocks);
    const auto launch = [&](auto weighted, auto channels, auto wide)
    {
        using Value = std::conditional_t<wide.value, uint64_t, uint32_t>;
        detail::launchEarly("scoreCells", scoreCellsKernel<weighted.value, channels.value, wide.value, Value>,
                            detail::linearGrid(blocks, 1), dim3(THREADS), plan.sharedBytes, job.stream, job.frame,
                            job.batch, job.settings, plan, windows, tiles, job.outputs);
    };
    const auto ofChannels = [&](auto weighted, auto channels)
    {
        if (plan.wide)
            launch(weighted, channels, std::true_type());
        else
            launch(weighted, channels, std::false_type());
    };
    const auto ofWeights = [&](auto weighted)
    {
        if (job.batch.channels == 1)
            ofChannels(weighted, std::integral_constant<int, 1>());
        else
            ofChannels(weighted, std::integral_constant<int, 3>());
    };
    if (job.batch.weighted)
        ofWeights(std::true_type());
    else
        ofWeights(std::false_type());
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
