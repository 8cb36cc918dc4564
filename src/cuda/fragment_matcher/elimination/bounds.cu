// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, eliminate: bounds of SAD, coarse ones of all positions, and fine ones of the tiles that are left.
//
// Cost: 1 / B^2 of the byte sums of these positions.

#include "eliminate.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::BoundLevel;
using gpu::BoundMeans;
using gpu::BoundMemory;
using gpu::BoundPlan;
using gpu::ListedTiles;
using gpu::TileBound;
using gpu::Windows;

const int BOUND_THREADS = tuning::BOUND_THREADS, REFINE_THREADS = tuning::BOUND_REFINE_THREADS;

// B / 4 warps compute the bounds of B / 4 tiles, one below the other. A lane has 8 positions B columns apart in 4 rows
// B rows apart: words of the image serve four rows of the fragment, and by shifts eight columns.

const int LANE_COLS = 8, LANE_ROWS = 4; //!< positions per lane

//! Sums of differences of means: BOUND_MOST_PIXELS / 16 blocks of three channels and of weight 255 stay below
//! TileBound::NO_BOUND.
typedef uint32_t LaneBounds[LANE_ROWS][LANE_COLS];

//! Moves all rows on by one, and loads the first.
template <int WORDS> __device__ __forceinline__ void pushRow(uint32_t (&rows)[LANE_ROWS][WORDS], const uint32_t* first)
{
#pragma unroll
    for (int i = 0; i < WORDS; ++i)
    {
#pragma unroll
        for (int r = LANE_ROWS - 1; r > 0; --r)
            rows[r][i] = rows[r - 1][i];
        rows[0][i] = __ldg(first + i);
    }
}

/** Adds WORDS columns of words of a fragment's means. PARTIAL: without weights, the last word has blocks beyond the
fragment.
@param image word of the lane's first block in row 0 of the region. @param row the lane's first row. @param lastRow of
the region: positions beyond the window may not read more. @param shift bits before the first block. @param words, rows
size of the fragment's means.
@param lastMask bytes of the last word that are blocks. @param wanted bit r: the lane's row r is wanted. */
template <int B, int WORDS, bool WEIGHTED, bool PARTIAL>
__device__ __forceinline__ void addMeans(const uint8_t* image, int row, int lastRow, int pitch, int shift,
                                         const uint32_t* fragment, const uint32_t* weights, int words, int rows,
                                         uint32_t lastMask, uint32_t wanted, LaneBounds& sums)
{
    constexpr int LOADED = WORDS + LANE_COLS / 4;
    uint32_t loaded[LOADED + 1], means[LANE_ROWS][WORDS] = {}, weight[LANE_ROWS][WORDS] = {};
    const auto load = [&] // a row of blocks of the image
    {
        const uint32_t* const from =
            reinterpret_cast<const uint32_t*>(image + static_cast<uint32_t>(::min(row, lastRow)) * pitch);
#pragma unroll
        for (int k = 0; k <= LOADED; ++k)
            loaded[k] = __ldg(from + B * k);
    };
    load();
    uint32_t at = 0; // the row of the fragment
#pragma unroll 1
    for (int v = 0; v < rows + LANE_ROWS - 1; ++v)
    {
        uint32_t aligned[LOADED], four[WORDS][LANE_COLS];
#pragma unroll
        for (int k = 0; k < LOADED; ++k)
            aligned[k] = __funnelshift_r(loaded[k], loaded[k + 1], shift);
        row += B;
        load(); // the next one, while this one is summed up
#pragma unroll
        for (int i = 0; i < WORDS; ++i)
#pragma unroll
            for (int k = 0; k < LANE_COLS; ++k)
            {
                four[i][k] = k % 4 ? __funnelshift_r(aligned[k / 4 + i], aligned[k / 4 + i + 1], 8 * (k % 4))
                                   : aligned[k / 4 + i];
                if (PARTIAL && i == WORDS - 1)
                    four[i][k] &= lastMask;
            }
        pushRow(means, fragment + at); // row r of positions meets row v - r of the fragment
        if (WEIGHTED)
            pushRow(weight, weights + at);
        at += v < rows - 1 ? words : 0;
#pragma unroll
        for (int r = 0; r < LANE_ROWS; ++r)
        {
            if (static_cast<unsigned>(v - r) >= static_cast<unsigned>(rows) ||
                !(wanted >> r & 1)) // the same in all lanes
                continue;
#pragma unroll
            for (int i = 0; i < WORDS; ++i)
#pragma unroll
                for (int k = 0; k < LANE_COLS; ++k)
                    sums[r][k] = WEIGHTED ? dot4(__vabsdiffu4(four[i][k], means[r][i]), weight[r][i], sums[r][k])
                                          : sad4(four[i][k], means[r][i], sums[r][k]);
        }
    }
}

//! The positions of a lane, relative to the window.
struct LanePlace
{
    int x, y; //!< the first
};

//! Returns the least bound of a tile to all lanes, from a warp's positions. @param firstRow first of LANE_ROWS rows in
//! the tile.
template <int B>
__device__ __forceinline__ TileBound tileBound(const LaneBounds& sums, const LanePlace& mine, int firstRow,
                                               const SearchWindow& window)
{
    Best best = Best::none();
#pragma unroll
    for (int r = firstRow; r < firstRow + 16 / B; ++r)
#pragma unroll
        for (int k = 0; k < LANE_COLS; ++k)
        {
            const int x = mine.x + B * k, y = mine.y + B * r;
            if (x < window.cols && y < window.rows)
                best.take(sums[r][k], y * window.cols + x);
        }
    best = warpBest<uint32_t>(best);
    if (best.index == Best::NONE)
        return {TileBound::NO_BOUND, 0, 0, 0};
    const int y = best.index / window.cols;
    return {static_cast<uint32_t>(best.value), best.index - y * window.cols, y, 0};
}

/** Returns the least bound of a cell from a warp's positions. The positions of a warp with an index k of columns and r
of rows are a cell if B = 8; if B = 4 they are halves of two cells, whose other halves have the next k. Lane 8 r + k
returns that of cell (k, r) of these, for B = 4 with the cell's column as k. */
template <int B>
__device__ __forceinline__ uint32_t leastOfCell(const LaneBounds& sums, const LanePlace& mine,
                                                const SearchWindow& window)
{
    const int lane = threadIdx.x % 32;
    uint32_t own = TileBound::NO_BOUND;
#pragma unroll
    for (int r = 0; r < LANE_ROWS; ++r)
#pragma unroll
        for (int k = 0; k < LANE_COLS; k += 8 / B)
        {
            uint32_t least = TileBound::NO_BOUND;
#pragma unroll
            for (int i = k; i < k + 8 / B; ++i)
                if (mine.x + B * i < window.cols && mine.y + B * r < window.rows)
                    least = ::min(least, sums[r][i]);
            if (B == 8)
                least = detail::leastOfWarp(least);
            else // lanes with the same bit 2 have the same cell
#pragma unroll
                for (const int distance : {1, 2, 8, 16})
                    least = ::min(least, __shfl_xor_sync(~0u, least, distance));
            if (lane / 8 == r && lane % B == k * B / 8)
                own = least;
        }
    return own;
}

//! Sums the differences of the means of all positions of a lane.
//! @param first, end channels, @param top, bottom rows of blocks.
template <int B, bool WEIGHTED>
__device__ __forceinline__ void sumMeans(const Batch& batch, const Entry& entry, const LanePlace& mine, int e,
                                         const Rect4& region, const BoundLevel& level, const BoundMeans& memory,
                                         int firstChannel, int endChannel, int top, int bottom, uint32_t wanted,
                                         LaneBounds& sums)
{
    if (top == bottom)
        return;
    const SearchWindow& window = entry.window;
    const int blocks = entry.fragment.width / B, rows = entry.fragment.height / B;
    const int words = detail::ceilDiv(blocks, 4), whole = blocks / 4;
    const uint32_t lastMask = (1u << 8 * (blocks % 4)) - 1; // the blocks of the last word, if it is not whole
    // Positions beyond the window have no bounds; those of lanes to the right of it read its first column.
    const int column = window.x - region.x + (mine.x < window.cols ? mine.x : 0), first = column / B;
    const int row = window.y - region.y + mine.y + B * top, lastRow = region.height - 1;
    const uint8_t* const image = memory.image + 4 * (first / 4 * B + column % B);
    const uint32_t* const fragment = memory.fragments + e * level.wordsEach + top * words;
    const uint32_t* const weights = fragment + batch.channels * rows * words;
#pragma unroll 1
    for (int c = firstChannel; c < endChannel; ++c)
    {
        const uint8_t* const plane = image + c * level.planeBytes;
        const uint32_t* const means = fragment + c * rows * words;
        using std::integral_constant;
        int word = 0;
        const auto add = [&](auto width, auto partial)
        {
            addMeans<B, width.value, WEIGHTED, partial.value>(plane + 4 * B * word, row, lastRow, level.pitch,
                                                              8 * (first % 4), means + word, weights + word, words,
                                                              bottom - top, lastMask, wanted, sums);
            word += width.value;
        };
        const auto addRest = [&](auto partial)
        {
            switch (words - word)
            {
            case 1:
                return add(integral_constant<int, 1>(), partial);
            case 2:
                return add(integral_constant<int, 2>(), partial);
            case 3:
                return add(integral_constant<int, 3>(), partial);
            case 4:
                return add(integral_constant<int, 4>(), partial);
            }
        };
#pragma unroll 1
        while (word + 4 <= whole)
            add(integral_constant<int, 4>(), std::false_type());
        if (WEIGHTED || words == whole)
            addRest(std::false_type());
        else
            addRest(std::true_type());
    }
}

//! Sets the values of a tile to 0, by the warps that compute its bounds.
template <typename Value>
__device__ void clearTile(Value* values, const SearchWindow& window, int x, int y, int rows, int lane, int lanes)
{
    for (int i = lane; i < rows * tuning::TILE_COLS; i += lanes)
    {
        const int column = x + i % tuning::TILE_COLS, row = y + i / tuning::TILE_COLS;
        if (column < window.cols && row < window.rows)
            values[row * window.cols + column] = 0;
    }
}

template <int B, bool WEIGHTED>
__global__ void __launch_bounds__(BOUND_THREADS)
    boundTilesKernel(const ByteImageView frame, const Batch batch, const __grid_constant__ BoundPlan plan,
                     const __grid_constant__ BoundMemory memory, const __grid_constant__ Windows windows,
                     const __grid_constant__ ListedTiles tiles)
{
    constexpr int LANES = 8 * B, UNITS = BOUND_THREADS / LANES, UNIT_TILES = B / 4; // per unit
    __shared__ TileBound parts[BOUND_THREADS / 32][UNIT_TILES];
    const int gridTiles = windows.tiles(), unitsY = detail::ceilDiv(windows.tilesY, UNIT_TILES);
    const int64_t unit = static_cast<int64_t>(blockIdx.x) * UNITS + threadIdx.x / LANES;
    const int e = static_cast<int>(unit / (windows.tilesX * unitsY)),
              inEntry = static_cast<int>(unit % (windows.tilesX * unitsY));
    const int tileX = inEntry % windows.tilesX * tuning::TILE_COLS,
              tileY = inEntry / windows.tilesX * UNIT_TILES * tuning::TILE_ROWS;
    const int lane = threadIdx.x % LANES;
    Entry entry = {};
    bool any = e < batch.count && openEntry(frame, batch, e, entry) == STATUS_FOUND;
    any = any && tileX < entry.window.cols && tileY < entry.window.rows;
    const size_t first = static_cast<size_t>(e) * gridTiles;
    const int tilesX = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS),
              firstTile = tileY / tuning::TILE_ROWS * tilesX + tileX / tuning::TILE_COLS;
    const auto hasTile = [&](int t) { return tileY + t * tuning::TILE_ROWS < entry.window.rows; };
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *tiles.listed.total = *tiles.refined.total = 0;
    if (any) // the same in all lanes of a warp
    {
        const LanePlace mine = {tileX + lane % B + B * LANE_COLS * (lane / B % (8 / B)), tileY + lane / 8};
        LaneBounds sums = {};
        sumMeans<B, WEIGHTED>(batch, entry, mine, e, plan.region, plan.coarse, memory.coarse, 0, batch.channels, 0,
                              entry.fragment.height / B, ~0u, sums);
#pragma unroll
        for (int t = 0; t < UNIT_TILES; ++t)
        {
            const TileBound bound = tileBound<B>(sums, mine, t * (16 / B), entry.window);
            if (threadIdx.x % 32 == 0)
                parts[threadIdx.x / 32][t] = bound;
        }
        const uint32_t least = leastOfCell<B>(sums, mine, entry.window);
        // Rows of cells of a unit: of B = 8, each warp has every other one.
        const int row = UNIT_TILES * (lane % 32 / 8) + lane / 32, rows = tuning::TILE_ROWS / gpu::CELL_ROWS;
        if (hasTile(row / rows))
            memory.cells[(first + firstTile + row / rows * tilesX) * gpu::CELLS + row % rows * gpu::CELLS_X +
                         lane % gpu::CELLS_X] = least;
        if (tiles.parts > 1)
        {
            const size_t at = static_cast<size_t>(e) * windows.cols * windows.rows;
            if (windows.wide)
                clearTile(static_cast<uint64_t*>(windows.values) + at, entry.window, tileX, tileY,
                          UNIT_TILES * tuning::TILE_ROWS, lane, LANES);
            else
                clearTile(static_cast<uint32_t*>(windows.values) + at, entry.window, tileX, tileY,
                          UNIT_TILES * tuning::TILE_ROWS, lane, LANES);
        }
    }
    __syncthreads(); // the bounds of all warps are complete
    if (!any || lane >= UNIT_TILES || !hasTile(lane))
        return;
    TileBound bound = parts[threadIdx.x / 32][lane];
#pragma unroll
    for (int w = 1; w < LANES / 32; ++w)
        if (parts[threadIdx.x / 32 + w][lane].least < bound.least)
            bound = parts[threadIdx.x / 32 + w][lane];
    memory.bounds[first + firstTile + lane * tilesX] = bound;
}

//! Compares listed tiles once more, tile by tile: warps divide channels and rows of the fragment among each other.
template <bool WEIGHTED>
__global__ void __launch_bounds__(REFINE_THREADS)
    refineTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings,
                      const __grid_constant__ BoundPlan plan, const __grid_constant__ BoundMemory memory,
                      const __grid_constant__ Windows windows, const __grid_constant__ ListedTiles tiles)
{
    const int B = 4;
    __shared__ uint32_t shared[LANE_ROWS * LANE_COLS][32]; // sums of a lane's positions
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    const int gridTiles = windows.tiles(), listed = *tiles.listed.total;
    if (!tiles.refines(settings.subpixel, listed, gridTiles * batch.count))
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, parts = REFINE_THREADS / 32 / batch.channels;
    const int channel = warp % batch.channels, part = warp / batch.channels;
#pragma unroll 1
    for (int item = blockIdx.x; item < listed; item += gridDim.x)
    {
        const int entryAndTile = tiles.listed.tiles[item], e = entryAndTile / gridTiles,
                  gridTile = entryAndTile - e * gridTiles;
        Entry entry;
        openEntry(frame, batch, e, entry);
        const int rows = entry.fragment.height / B;
        const int tileX = gridTile % windows.tilesX * tuning::TILE_COLS,
                  tileY = gridTile / windows.tilesX * tuning::TILE_ROWS;
        const LanePlace mine = {tileX + lane % B + B * LANE_COLS * (lane / B % 2), tileY + lane / 8};
        const uint32_t coarse = tiles.listed.cells[item];
        uint32_t wanted = 0; // a row of cells has the lanes' positions with the same index of rows
#pragma unroll
        for (int r = 0; r < LANE_ROWS; ++r)
            wanted |= coarse >> 8 * r & 0xff ? 1u << r : 0;
        for (int i = threadIdx.x; i < 32 * LANE_ROWS * LANE_COLS; i += REFINE_THREADS)
            shared[i / 32][i % 32] = 0;
        LaneBounds sums = {};
        sumMeans<B, WEIGHTED>(batch, entry, mine, e, plan.region, plan.fine, memory.fine, channel, channel + 1,
                              part * rows / parts, (part + 1) * rows / parts, wanted, sums);
        __syncthreads(); // all sums are zero
#pragma unroll
        for (int i = 0; i < LANE_ROWS * LANE_COLS; ++i)
            atomicAdd(&shared[i][lane], sums[i / LANE_COLS][i % LANE_COLS]);
        __syncthreads(); // all sums are complete
        if (warp == 0)
        {
#pragma unroll
            for (int i = 0; i < LANE_ROWS * LANE_COLS; ++i)
                sums[i / LANE_COLS][i % LANE_COLS] = shared[i][lane];
            const uint32_t least = leastOfCell<B>(sums, mine, entry.window);
            const CellTest mayHoldPeak = testOf(memory.limits[e], memory.fine.losses[e], B, entry, settings);
            const uint32_t cells =
                coarse & __ballot_sync(~0u, mayHoldPeak(least, boxOf(tileX, tileY, lane, entry.window)));
            if (lane == 0 && cells != 0)
            {
                const int at = atomicAdd(tiles.refined.total, 1);
                tiles.refined.tiles[at] = entryAndTile;
                tiles.refined.cells[at] = cells;
                atomicAdd(tiles.refined.kept + e, 1);
            }
            else if (lane == 0)
                windows.bests[static_cast<size_t>(e) * gridTiles +
                              tileY / tuning::TILE_ROWS * detail::ceilDiv(entry.window.cols, tuning::TILE_COLS) +
                              tileX / tuning::TILE_COLS] = {~0ull, Best::NONE, 0};
        }
        __syncthreads(); // all sums have been read
    }
}

} // namespace

namespace gpu {

void boundTiles(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
                const ListedTiles& tiles)
{
    const int B = plan.coarse.block;
    const auto kernel = B == 8 ? (job.batch.weighted ? boundTilesKernel<8, true> : boundTilesKernel<8, false>)
                               : (job.batch.weighted ? boundTilesKernel<4, true> : boundTilesKernel<4, false>);
    const int64_t units =
        static_cast<int64_t>(windows.tilesX) * detail::ceilDiv(windows.tilesY, B / 4) * job.batch.count;
    detail::launchEarly("boundTiles", kernel, detail::linearGrid(units, BOUND_THREADS / (8 * B)), dim3(BOUND_THREADS),
                        0, job.stream, job.frame, job.batch, plan, memory, windows, tiles);
}

void refineTiles(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
                 const ListedTiles& tiles)
{
    detail::launchEarly("refineTiles", job.batch.weighted ? refineTilesKernel<true> : refineTilesKernel<false>,
                        detail::linearGrid(plan.refiners, 1), dim3(REFINE_THREADS), 0, job.stream, job.frame, job.batch,
                        job.settings, plan, memory, windows, tiles);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
