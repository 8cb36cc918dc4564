// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, findPeaks and report from values and tile bests in device memory, by the last block of a fragment's
// tiles.
//
// Cost: per peak, the tile bests twice (16 bytes per 1024 positions), and the values of those few tiles whose best is
// excluded and might still hide the next peak. Bound by the latency of loads and of instruction fetches: no other block
// has run this code, so it is kept short.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP

#include "device.hpp"
#include <cuda/atomic>

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::TileBest;

//! Tiles of a window, TILE_COLS columns wide.
struct TileGrid
{
    int tilesX, tiles;
    int rows;   //!< rows of positions per tile
    int before; //!< columns of the first tiles that lie before the window
};

//! Returns a / b from 1 / b, for a below 2^21, in fewer instructions than a division.
__device__ __forceinline__ int quotientOf(int a, float inverse)
{
    return static_cast<int>((static_cast<float>(a) + 0.5f) * inverse);
}

//! Positions of one fragment that peaks are chosen from.
template <typename Value> struct Candidates
{
    const Value* values;
    const TileBest* bests;
    bool
        //! `bests` is in shared memory; else in device memory, written by other blocks of this launch and read past L1
        bestsInShared;
    TileGrid grid;
    float perTilesX, perParts; //!< 1 / grid.tilesX, 1 / parts
    int parts;                 //!< parts of a tile that a warp scans one at a time
    int cols, rows;            //!< size of the window in positions
    int distance, exclusion;
};

__device__ __forceinline__ TileBest loadBest(const TileBest* best)
{
    const uint4 words = __ldcg(reinterpret_cast<const uint4*>(best));
    return {static_cast<uint64_t>(words.y) << 32 | words.x, static_cast<int>(words.z), static_cast<int>(words.w)};
}

template <typename Value> __device__ __forceinline__ TileBest bestOf(const Candidates<Value>& from, int tile)
{
    return from.bestsInShared ? from.bests[tile] : loadBest(from.bests + tile);
}

const int SCAN_ROWS = 16; //!< rows of the part of a tile that a warp scans at a time; it has 32 columns

//! Returns a mask; bit r: position (x, y0 + r) lies outside the window or tile, or in the zone of a peak. @param end
//! end of the rows that are in both.
template <typename Value>
__device__ uint32_t excludedRows(const Candidates<Value>& from, int x, int y0, int end, const Peak<uint64_t>* peaks,
                                 int count)
{
    static_assert(SCAN_ROWS < 32, "one bit per row");
    const auto firstRows = [](int n) { return (1u << ::min(::max(n, 0), SCAN_ROWS)) - 1; };
    uint32_t excluded = x >= 0 && x < from.cols ? ~firstRows(end - y0) : ~0u;
#pragma unroll 1
    for (int j = 0; j < count; ++j)
    {
        const bool within = withinReach(x - peaks[j].x, from.distance); // the column
        const uint32_t rowsWithin =
            firstRows(peaks[j].y + from.distance - y0) & ~firstRows(peaks[j].y - from.distance + 1 - y0);
        excluded |= zoneBits(within, rowsWithin, from.exclusion);
    }
    return excluded;
}

//! Scans a part of a tile, by a warp; all loads are issued before the first is used.
template <typename Value>
__device__ void searchTile(const Candidates<Value>& from, int tile, int part, const Peak<uint64_t>* peaks, int count,
                           Best& best)
{
    const int tileY = quotientOf(tile, from.perTilesX), end = ::min((tileY + 1) * from.grid.rows, from.rows);
    const int y0 = tileY * from.grid.rows + part / 2 * SCAN_ROWS;
    const int x = (tile - tileY * from.grid.tilesX) * tuning::TILE_COLS - from.grid.before + part % 2 * 32 +
                  static_cast<int>(threadIdx.x % 32);
    const uint32_t excluded = excludedRows(from, x, y0, end, peaks, count);
    const Value* column = from.values + y0 * from.cols + x;
    Value values[SCAN_ROWS];
#pragma unroll
    for (int r = 0; r < SCAN_ROWS; ++r)
        values[r] = excluded >> r & 1 ? static_cast<Value>(~static_cast<Value>(0)) : __ldcg(column + r * from.cols);
    // Excluded rows hold the largest value. An allowed position may have that value too, so the mask decides.
    Value least = static_cast<Value>(~static_cast<Value>(0));
    int row = -1;
#pragma unroll
    for (int r = SCAN_ROWS - 1; r >= 0; --r)
        if (values[r] <= least && !(excluded >> r & 1))
            least = values[r], row = r; // the first of equal values
    if (row >= 0)
        best.take(least, (y0 + row) * from.cols + x);
}

template <int THREADS> struct PeakScratch
{
    static constexpr int SPAN = 2 * THREADS; //!< capacity of the list in tiles
    Best warps[2][THREADS / 32];
    Peak<uint64_t> peaks[MAX_PEAKS];
    uint16_t suspects[SPAN];
    int suspectCount[2]; //!< used alternately by consecutive peaks
};

//! Returns the block's best to all threads. Contains a barrier.
template <typename Value, int THREADS> __device__ __forceinline__ Best blockBest(Best best, Best* scratch)
{
    best = warpBest<Value>(best);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = best;
    __syncthreads(); // the warps' bests are complete
    return warpBestOf<Value>(scratch, THREADS / 32);
}

//! Scans the tiles of the list whose best, a bound for their other positions, beats `found`. @param first tile that the
//! list counts from.
template <int THREADS, typename Value>
__device__ __forceinline__ void searchSuspects(const Candidates<Value>& from, int first, int suspects,
                                               const Best& found, int count, const PeakScratch<THREADS>* scratch,
                                               Best& best)
{
    const int scans = suspects * from.parts;
#pragma unroll 1
    for (int scan = threadIdx.x / 32; scan < scans; scan += THREADS / 32)
    {
        const int suspect = quotientOf(scan, from.perParts), tile = first + scratch->suspects[suspect];
        const TileBest bound = bestOf(from, tile);
        if (found.beatenBy(bound.value, bound.index))
            searchTile(from, tile, scan - suspect * from.parts, scratch->peaks, count, best);
    }
}

/** Returns the best position outside the zones of `last` and the peaks before it, `count` in all. Compares the tile
bests that are allowed themselves, then scans tiles whose best is excluded, but only if that best, a bound for the other
positions, beats the one found. A thread evaluates the same tiles for each peak. Two barriers. */
template <int THREADS, typename Value>
__device__ Best nextPeak(const Candidates<Value>& from, const Peak<uint64_t>& last, int count,
                         PeakScratch<THREADS>* scratch)
{
    constexpr int SPAN = PeakScratch<THREADS>::SPAN, WARPS = THREADS / 32;
    const auto bestAllowed = [&](const TileBest& candidate)
    {
        const int x = candidate.index - candidate.y * from.cols;
        return outsideZone(x - last.x, candidate.y - last.y, from.distance, from.exclusion) &&
               allowed(x, candidate.y, scratch->peaks, count - 1, from.distance, from.exclusion);
    };
    const int tiles = from.grid.tiles, warp = threadIdx.x / 32;
    int* const listed = scratch->suspectCount + count % 2;
    const auto list = [&](int tile, int first) // the order of the list does not change the result
    { scratch->suspects[atomicAdd(listed, 1)] = static_cast<uint16_t>(tile - first); };
    Best best = Best::none();
#pragma unroll 1
    for (int tile = threadIdx.x; tile < tiles; tile += THREADS)
    {
        const TileBest candidate = bestOf(from, tile);
        if (bestAllowed(candidate))
            best.take(candidate.value, candidate.index);
        else if (tile < SPAN)
            list(tile, 0);
    }
    best = warpBest<Value>(best);
    if (threadIdx.x % 32 == 0)
        scratch->warps[0][warp] = best;
    __syncthreads(); // list and warps' bests are complete
    if (threadIdx.x == 0)
        scratch->suspectCount[(count + 1) % 2] =
            0; // for the next peak; the barrier in blockBest() comes before it is used
    const Best found = warpBestOf<Value>(scratch->warps[0], WARPS);
#pragma unroll 1
    for (int first = 0;;)
    {
        searchSuspects(from, first, *listed, found, count, scratch, best);
        first += SPAN;
        if (first >= tiles)
            break;
        __syncthreads(); // the list has been read
        if (threadIdx.x == 0)
            *listed = 0;
        __syncthreads(); // it is empty
#pragma unroll 1
        for (int tile = first + threadIdx.x; tile < ::min(first + SPAN, tiles); tile += THREADS)
        {
            const TileBest bound = bestOf(from, tile);
            if (found.beatenBy(bound.value, bound.index) && !bestAllowed(bound))
                list(tile, first);
        }
        __syncthreads(); // it is complete
    }
    return blockBest<Value, THREADS>(best, scratch->warps[1]);
}

/** Finds and reports the peaks of one fragment, by one block, from the values and tile bests of all its tiles. Bound by
latency: one barrier for the first peak, two for each further one. */
template <int THREADS, typename Value>
__device__ void findPeaks(const Entry& entry, const Settings& settings, const Value* values, const TileBest* bests,
                          const TileGrid& grid, const Best* walked, int scale, const Outputs& out,
                          PeakScratch<THREADS>* scratch, TileBest* shared, size_t sharedBytes)
{
    const DeviceFragment& fragment = entry.fragment;
    const int parts = 2 * detail::ceilDiv(grid.rows, SCAN_ROWS);
    const bool fits = grid.tiles * sizeof(TileBest) <= sharedBytes;
    const Candidates<Value> from = {values,
                                    fits ? shared : bests,
                                    fits,
                                    grid,
                                    1.f / grid.tilesX,
                                    1.f / parts,
                                    parts,
                                    entry.window.cols,
                                    entry.window.rows,
                                    exclusionDistance(settings.exclusionDistance, fragment.width, fragment.height),
                                    settings.exclusion};
    Best best = Best::none();
#pragma unroll 2
    for (int tile = threadIdx.x; tile < grid.tiles; tile += THREADS)
    {
        const TileBest of = loadBest(bests + tile);
        if (fits)
            shared[tile] = of;
        best.take(of.value, of.index);
    }
    if (threadIdx.x == 0)
        scratch->suspectCount[1] = 0;
    best = blockBest<Value, THREADS>(best, scratch->warps[1]);
    if (walked)
        best = *walked;
    int count = 0;
#pragma unroll 1
    while (best.index != Best::NONE)
    {
        const int y = best.index / from.cols;
        const Peak<uint64_t> peak = {best.value, best.index - y * from.cols, y};
        if (threadIdx.x == 0)
            scratch->peaks[count] = peak; // other threads read it after the next barrier
        if (++count == settings.peaks)
            break;
        best = nextPeak<THREADS>(from, peak, count, scratch);
    }
    __syncwarp(); // the peaks are visible to the first warp
    report(out, entry.i, settings, fragment, entry.window, scale, scratch->peaks, count,
           [from](int x, int y) { return static_cast<uint64_t>(__ldcg(from.values + y * from.cols + x)); });
}

/** Returns true in the last of `count` blocks. For one thread of a block, after all threads have stored and passed a
barrier. Resets the counter to 0 for the next launch. */
__device__ __forceinline__ bool isLast(int count, unsigned* finished)
{
    // Releases the stores of this block and acquires those of the others; the barriers around extend that to all
    // threads.
    ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> counter(*finished);
    const bool last = counter.fetch_add(1, ::cuda::memory_order_acq_rel) == static_cast<unsigned>(count - 1);
    if (last)
        counter.store(0, ::cuda::memory_order_relaxed);
    return last;
}

//! Returns true in the block that stored the last tile of a window. Two barriers.
__device__ __forceinline__ bool lastOfEntry(int tiles, unsigned* finished)
{
    __shared__ bool last;
    __syncthreads(); // all threads have stored
    if (threadIdx.x == 0)
        last = isLast(tiles, finished);
    __syncthreads(); // last is known
    return last;
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP
