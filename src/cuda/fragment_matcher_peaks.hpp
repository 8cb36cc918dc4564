// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, peaks and report stages over the values and tile bests in device memory: what the last block of a
// fragment's tiles does.
//
// Cost: the tile bests twice a peak (16 bytes for 1024 positions), and the values of those few tiles whose best is excluded
// and might still hide the next peak. Bound by latency, of loads and of code that no other block has run: so little code.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP

#include "fragment_matcher_device.hpp"
#include <cuda/atomic>

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::TileBest;

//! What peaks of one fragment are chosen from.
template <typename Value> struct Candidates
{
    const Value* values;
    const TileBest* bests;
    bool bestsInShared; //!< else in device memory, written by other blocks of this launch: read past the L1 cache
    int tilesX, tiles;  //!< of the window
    int cols, rows;
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

//! Bit r of the result: position (x, y0 + r) lies outside of the window or in the zone of a peak.
template <typename Value>
__device__ uint32_t excludedRows(const Candidates<Value>& from, int x, int y0, const Peak<uint64_t>* peaks, int count)
{
    static_assert(tuning::TILE_ROWS < 32, "a bit a row");
    const auto firstRows = [](int n) { return (1u << ::min(::max(n, 0), tuning::TILE_ROWS)) - 1; };
    uint32_t excluded = x < from.cols ? ~firstRows(from.rows - y0) : ~0u;
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

//! A warp's look at 32 columns of a tile, position by position, all loads on their way before the first is used.
template <typename Value>
__device__ void searchTile(const Candidates<Value>& from, int tile, int half, const Peak<uint64_t>* peaks, int count,
                           Best& best)
{
    const int tileY = tile / from.tilesX, y0 = tileY * tuning::TILE_ROWS;
    const int x = (tile - tileY * from.tilesX) * tuning::TILE_COLS + 32 * half + threadIdx.x % 32;
    const uint32_t excluded = excludedRows(from, x, y0, peaks, count);
    const Value* column = from.values + y0 * from.cols + x;
    Value values[tuning::TILE_ROWS];
#pragma unroll
    for (int r = 0; r < tuning::TILE_ROWS; ++r)
        values[r] = excluded >> r & 1 ? static_cast<Value>(~static_cast<Value>(0)) : __ldcg(column + r * from.cols);
    // Rows that are excluded have the largest value, which no other row is taken for: there may be none.
    Value least = static_cast<Value>(~static_cast<Value>(0));
    int row = -1;
#pragma unroll
    for (int r = tuning::TILE_ROWS - 1; r >= 0; --r)
        if (values[r] <= least && !(excluded >> r & 1))
            least = values[r], row = r; // the first of equal values
    if (row >= 0)
        best.take(least, (y0 + row) * from.cols + x);
}

template <int THREADS> struct PeakScratch
{
    Best warps[2][THREADS / 32];
    Peak<uint64_t> peaks[MAX_PEAKS];
    int suspects[THREADS];
    int suspectCount;
};

//! The block's best, in all threads; one barrier inside. Take turns with two scratches.
template <typename Value, int THREADS> __device__ __forceinline__ Best blockBest(Best best, Best* scratch)
{
    best = warpBest<Value>(best);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = best;
    __syncthreads(); // the warps' bests are complete
    return warpBestOf<Value>(scratch, THREADS / 32);
}

//! The best position outside the zones of the first `count` peaks. First over tile bests that are allowed themselves; then
//! into tiles whose best is excluded, but only where that best, a bound for the others, is better than what was found.
template <int THREADS, typename Value>
__device__ Best nextPeak(const Candidates<Value>& from, int count, PeakScratch<THREADS>* scratch)
{
    const auto bestAllowed = [&](const TileBest& candidate)
    {
        return allowed(candidate.index - candidate.y * from.cols, candidate.y, scratch->peaks, count, from.distance,
                       from.exclusion);
    };
    Best best = Best::none();
#pragma unroll 1
    for (int tile = threadIdx.x; tile < from.tiles; tile += THREADS)
    {
        const TileBest candidate = bestOf(from, tile);
        if (best.beatenBy(candidate.value, candidate.index) && bestAllowed(candidate))
            best = {candidate.value, candidate.index};
    }
    if (threadIdx.x == 0)
        scratch->suspectCount = 0;
    const Best found = blockBest<Value, THREADS>(best, scratch->warps[0]);
    best = found;
#pragma unroll 1
    for (int first = 0; count > 0 && first < from.tiles; first += THREADS)
    {
        const int tile = first + threadIdx.x;
        if (tile < from.tiles)
        {
            const TileBest bound = bestOf(from, tile);
            if (found.beatenBy(bound.value, bound.index) && !bestAllowed(bound))
                scratch->suspects[atomicAdd(&scratch->suspectCount, 1)] = tile; // any order: the least is what counts
        }
        __syncthreads(); // the list is complete
        const int looks = 2 * scratch->suspectCount;
#pragma unroll 1
        for (int look = threadIdx.x / 32; look < looks; look += THREADS / 32)
            searchTile(from, scratch->suspects[look / 2], look % 2, scratch->peaks, count, best);
        __syncthreads(); // the list has been read
        if (threadIdx.x == 0)
            scratch->suspectCount = 0;
        if (first + THREADS < from.tiles)
            __syncthreads(); // it is empty
    }
    return count > 0 ? blockBest<Value, THREADS>(best, scratch->warps[1]) : found;
}

//! peaks and report of one fragment by one block, from the values and tile bests of all its tiles.
template <int THREADS, typename Value>
__device__ void findPeaks(const Entry& entry, const Settings& settings, const Value* values, const TileBest* bests,
                          int tilesX, int tiles, const Best* walked, int scale, const Outputs& out,
                          PeakScratch<THREADS>* scratch, TileBest* shared, size_t sharedBytes)
{
    const DeviceFragment& fragment = entry.fragment;
    const bool fits = tiles * sizeof(TileBest) <= sharedBytes; // every peak looks at them twice
    const Candidates<Value> from = {values,
                                    fits ? shared : bests,
                                    fits,
                                    tilesX,
                                    tiles,
                                    entry.window.cols,
                                    entry.window.rows,
                                    exclusionDistance(settings.exclusionDistance, fragment.width, fragment.height),
                                    settings.exclusion};
    if (fits)
    {
#pragma unroll 2
        for (int tile = threadIdx.x; tile < tiles; tile += THREADS)
            shared[tile] = loadBest(bests + tile);
        __syncthreads(); // the copy is complete
    }
    int count = 0;
#pragma unroll 1
    for (; count < settings.peaks; ++count)
    {
        const Best best = count == 0 && walked ? *walked : nextPeak<THREADS>(from, count, scratch);
        if (best.index == Best::NONE)
            break;
        if (threadIdx.x == 0)
        {
            const int y = best.index / from.cols;
            scratch->peaks[count] = {best.value, best.index - y * from.cols, y};
        }
        __syncthreads(); // all threads see the peak
    }
    report(out, entry.i, settings, fragment, entry.window, scale, scratch->peaks, count,
           [from](int x, int y) { return static_cast<uint64_t>(__ldcg(from.values + y * from.cols + x)); });
}

//! True in the block that stored the last tile of a window. The counter is 0 again then, ready for the next launch.
__device__ __forceinline__ bool lastOfEntry(int tiles, unsigned* finished)
{
    __shared__ bool last;
    __syncthreads(); // all threads have stored
    if (threadIdx.x == 0)
    {
        // Release what the block stored, acquire what the others did: for all threads, by the barriers around.
        ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> counter(*finished);
        last = counter.fetch_add(1, ::cuda::memory_order_acq_rel) == static_cast<unsigned>(tiles - 1);
        if (last)
            counter.store(0, ::cuda::memory_order_relaxed);
    }
    __syncthreads(); // last is known
    return last;
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP
