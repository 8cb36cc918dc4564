// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, peaks and report stages over the values and tile bests in device memory: what the last block of a
// fragment's tiles does.
//
// Cost: the tile bests twice a peak (16 bytes for 1024 positions), and the values of those few tiles whose best is excluded
// and might still hide the next peak. Bound by latency.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP

#include "fragment_matcher_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::TileBest;

//! What peaks of one fragment are chosen from.
template <typename Value> struct Candidates
{
    const Value* values;
    const TileBest* bests;
    bool bestsInShared; //!< else in device memory, written by other blocks of this launch: read past the L1 cache
    int tilesX, tiles;  //!< of the plan; tiles outside of the window are skipped
    int cols, rows;
    int distance, exclusion;
};

template <typename Value> __device__ __forceinline__ TileBest bestOf(const Candidates<Value>& from, int tile)
{
    if (from.bestsInShared)
        return from.bests[tile];
    return {__ldcg(&from.bests[tile].value), __ldcg(&from.bests[tile].index)};
}

template <typename Value> __device__ bool tileInWindow(const Candidates<Value>& from, int tile)
{
    return tile % from.tilesX * tuning::TILE_COLS < from.cols && tile / from.tilesX * tuning::TILE_ROWS < from.rows;
}

//! A warp's look at one tile, position by position.
template <typename Value>
__device__ void searchTile(const Candidates<Value>& from, int tile, const Best* peaks, int count, Best& best)
{
    constexpr int AHEAD = 16; // loads on their way before the first is used
    const int x0 = tile % from.tilesX * tuning::TILE_COLS, y0 = tile / from.tilesX * tuning::TILE_ROWS;
    for (int first = threadIdx.x % 32; first < tuning::TILE_COLS * tuning::TILE_ROWS; first += 32 * AHEAD)
    {
        Value values[AHEAD];
#pragma unroll
        for (int n = 0; n < AHEAD; ++n)
        {
            const int p = first + 32 * n, x = x0 + p % tuning::TILE_COLS, y = y0 + p / tuning::TILE_COLS;
            values[n] = x < from.cols && y < from.rows ? __ldcg(from.values + y * from.cols + x) : 0;
        }
#pragma unroll
        for (int n = 0; n < AHEAD; ++n)
        {
            const int p = first + 32 * n, x = x0 + p % tuning::TILE_COLS, y = y0 + p / tuning::TILE_COLS;
            if (x < from.cols && y < from.rows && best.beatenBy(values[n], y * from.cols + x) &&
                allowed(x, y, peaks, count, from.cols, from.distance, from.exclusion))
                best = {values[n], y * from.cols + x};
        }
    }
}

template <int THREADS> struct PeakScratch
{
    Best warps[THREADS / 32];
    Best peaks[MAX_PEAKS];
    int suspects[THREADS];
    int suspectCount;
};

//! The best position outside the zones of the first `count` peaks. First over tile bests that are allowed themselves; then
//! into tiles whose best is excluded, but only where that best, a bound for the others, is better than what was found.
template <int THREADS, typename Value>
__device__ Best nextPeak(const Candidates<Value>& from, int count, PeakScratch<THREADS>* scratch)
{
    const auto bestAllowed = [&](const TileBest& candidate)
    {
        const int y = candidate.index / from.cols;
        return allowed(candidate.index - y * from.cols, y, scratch->peaks, count, from.cols, from.distance,
                       from.exclusion);
    };
    Best best = Best::none();
    for (int tile = threadIdx.x; tile < from.tiles; tile += blockDim.x)
    {
        if (!tileInWindow(from, tile))
            continue;
        const TileBest candidate = bestOf(from, tile);
        if (best.beatenBy(candidate.value, candidate.index) && bestAllowed(candidate))
            best = {candidate.value, candidate.index};
    }
    best = blockBest(best, scratch->warps);
    if (count == 0)
        return best;
    const Best found = best;
    for (int first = 0; first < from.tiles; first += blockDim.x)
    {
        if (threadIdx.x == 0)
            scratch->suspectCount = 0;
        __syncthreads(); // the list is empty
        const int tile = first + threadIdx.x;
        if (tile < from.tiles && tileInWindow(from, tile))
        {
            const TileBest bound = bestOf(from, tile);
            if (found.beatenBy(bound.value, bound.index) && !bestAllowed(bound))
                scratch->suspects[atomicAdd(&scratch->suspectCount, 1)] = tile; // any order: the least is what counts
        }
        __syncthreads(); // the list is complete
        for (int s = threadIdx.x / 32; s < scratch->suspectCount; s += THREADS / 32)
            searchTile(from, scratch->suspects[s], scratch->peaks, count, best);
        __syncthreads(); // the list has been read
    }
    return blockBest(best, scratch->warps);
}

//! peaks and report of one fragment by one block, from the values and tile bests of all its tiles.
template <int THREADS, typename Value>
__device__ void findPeaks(const Entry& entry, const Settings& settings, const gpu::TilePlan& plan, const Value* values,
                          const TileBest* bests, const Walked* walked, int scale, const Outputs& out,
                          PeakScratch<THREADS>* scratch, TileBest* shared)
{
    const DeviceFragment& fragment = entry.fragment;
    const int tiles = plan.tilesX * plan.tilesY;
    const bool fits = tiles * sizeof(TileBest) <= plan.sharedBytes; // every peak looks at them twice
    const Candidates<Value> from = {values,
                                    fits ? shared : bests,
                                    fits,
                                    plan.tilesX,
                                    tiles,
                                    entry.window.cols,
                                    entry.window.rows,
                                    exclusionDistance(settings.exclusionDistance, fragment.width, fragment.height),
                                    settings.exclusion};
    if (fits)
    {
#pragma unroll 4
        for (int tile = threadIdx.x; tile < tiles; tile += THREADS)
            if (tileInWindow(from, tile))
                shared[tile] = {__ldcg(&bests[tile].value), __ldcg(&bests[tile].index)};
        __syncthreads(); // the copy is complete
    }
    int count = 0;
    for (; count < settings.peaks; ++count)
    {
        const Best best =
            count == 0 && walked ? Best{walked->value, walked->index} : nextPeak<THREADS>(from, count, scratch);
        if (best.index == Best::NONE)
            break;
        if (threadIdx.x == 0)
            scratch->peaks[count] = best;
        __syncthreads(); // all threads see the peak
    }
    report(out, entry.i, settings, fragment, entry.window, scale, scratch->peaks, count,
           [from](int x, int y) { return static_cast<uint64_t>(__ldcg(from.values + y * from.cols + x)); });
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_PEAKS_HPP
