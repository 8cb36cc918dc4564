// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, eliminate: lists the tiles and cells that can hold a peak of SAD, by bounds of all positions
// (src/fragment_matcher/bounds.hpp). Means and bounds: means.cu and bounds.cu.
//
// Cost: places are scored by a block each; the list reads 16 bytes per tile and 128 per tile that may hold a peak, by
// one block per fragment, bound by latency.

#include "eliminate.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::BoundLimit;
using gpu::BoundMemory;
using gpu::BoundPlace;
using gpu::BoundPlan;
using gpu::ListedTiles;
using gpu::TileBound;
using gpu::Windows;

const int PLACE_THREADS = tuning::BOUND_PLACE_THREADS, LIST_THREADS = tuning::BOUND_LIST_THREADS;

struct PlaceScratch
{
    Best bests[PLACE_THREADS / 32];
    Peak<uint64_t> places[gpu::MOST_PLACES];
    unsigned long long score;
};

//! Returns the exact value of a position to all threads of a block. Three barriers.
template <int STRIDE, bool WEIGHTED>
__device__ uint64_t valueOf(const ByteImageView& frame, const Batch& batch, const Entry& entry, int x, int y,
                            PlaceScratch* scratch)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3;
    const DeviceFragment& fragment = entry.fragment;
    const int planeWords = fragment.pitch * fragment.height;
    const uint32_t* const templ = batch.arena + fragment.words;
    __syncthreads(); // the last score has been read
    if (threadIdx.x == 0)
        scratch->score = 0;
    __syncthreads(); // it is zero
    uint64_t sum = 0;
    const int columns = ::min(fragment.pitch, PLACE_THREADS), step = PLACE_THREADS / columns;
    const int firstRow = threadIdx.x / columns, firstColumn = threadIdx.x - firstRow * columns;
    for (int column = firstColumn; column < fragment.pitch && firstRow < step; column += columns)
#pragma unroll 2
        for (int v = firstRow; v < fragment.height; v += step)
        {
            uint32_t words[STRIDE + 1], part = 0; // of four pixels
            const uint32_t shift =
                loadPixels<STRIDE>(frame.data + static_cast<size_t>(entry.window.y + y + v) * frame.step,
                                   (entry.window.x + x + 4 * column) * STRIDE, frame.cols * STRIDE, words);
            const uint32_t* const four = templ + v * fragment.pitch + column;
            const uint32_t weight = __ldg(four + CHANNELS * planeWords); // 0 beyond the width
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                const uint32_t image = planeWord<STRIDE>(words, 0, shift, c), pixels = __ldg(four + c * planeWords);
                part = WEIGHTED ? dot4(__vabsdiffu4(image, pixels), weight, part) : sad4(image & weight, pixels, part);
            }
            sum += part;
        }
    sum = detail::sumOfWarp(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&scratch->score, static_cast<unsigned long long>(sum));
    __syncthreads(); // the score is complete
    return scratch->score;
}

/** Chooses a place and scores it, by a block. The first places are those that the limit takes: least bounds, apart from
each other. The others are the least bounds of parts of the tiles outside the zone of the first, because the least
bounds need not have the least values. */
template <int STRIDE, bool WEIGHTED>
__global__ void __launch_bounds__(PLACE_THREADS)
    scorePlacesKernel(const ByteImageView frame, const Batch batch, const Settings settings,
                      const __grid_constant__ BoundPlan plan, const __grid_constant__ BoundMemory memory,
                      const __grid_constant__ Windows windows)
{
    __shared__ PlaceScratch scratch;
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    const int needed = placesNeeded(settings.peaks, settings.exclusion), others = plan.otherPlaces;
    const int e = blockIdx.x / (needed + others), mine = blockIdx.x % (needed + others);
    Entry entry;
    if (openEntry(frame, batch, e, entry) != STATUS_FOUND)
        return;
    const int tiles =
        detail::ceilDiv(entry.window.cols, tuning::TILE_COLS) * detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS);
    const TileBound* const bounds = memory.bounds + static_cast<size_t>(e) * windows.tilesX * windows.tilesY;
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    BoundPlace place = {UINT64_MAX, 0, 0};
    const int last = mine < needed ? mine : 1;
#pragma unroll 1
    for (int count = 0;; ++count)
    {
        const bool other = count > 0 && mine >= needed;
        const int apart = other ? distance : distanceOfPlaces(distance);
        const int step = other ? others : 1;
        Best best = Best::none();
#pragma unroll 4
        for (int tile = step * threadIdx.x + (other ? mine - needed : 0); tile < tiles; tile += step * PLACE_THREADS)
        {
            const TileBound bound = bounds[tile];
            if (allowed(bound.x, bound.y, scratch.places, count, apart, settings.exclusion))
                best.take(bound.least, tile);
        }
        best = warpBest<uint32_t>(best);
        if (threadIdx.x % 32 == 0)
            scratch.bests[threadIdx.x / 32] = best;
        __syncthreads(); // the warps' bests are complete
        best = warpBestOf<uint32_t>(scratch.bests, PLACE_THREADS / 32);
        if (best.index == Best::NONE)
            break;
        const int x = bounds[best.index].x, y = bounds[best.index].y;
        if (count == last)
        {
            place = {valueOf<STRIDE, WEIGHTED>(frame, batch, entry, x, y, &scratch), x, y};
            break;
        }
        if (zoneCoversWindow(x, y, entry.window.cols, entry.window.rows, distance, settings.exclusion))
            break;
        if (threadIdx.x == 0)
            scratch.places[count] = {0, x, y};
        __syncthreads(); // the place is known, and the warps' bests have been read
    }
    if (threadIdx.x == 0)
        memory.places[blockIdx.x] = place;
}

/** Chooses `needed` of the places in their order, each `apart` from those before it and, unless null, outside the zones
of the positions of `box`. @return the value of the last; UINT64_MAX: there are not enough. */
__device__ uint64_t largestOfPlaces(const BoundPlace* places, int count, int needed, int apart, int distance,
                                    int exclusion, const Box* box)
{
    Peak<uint64_t> chosen[MAX_PEAKS * 2 - 1];
    int taken = 0;
#pragma unroll 1
    for (int i = 0; i < count && places[i].value != UINT64_MAX; ++i)
    {
        const BoundPlace place = places[i];
        if ((box && !surelyOutside(place.x, place.y, *box, distance, exclusion)) ||
            !allowed(place.x, place.y, chosen, taken, apart, exclusion))
            continue;
        if (taken + 1 == needed)
            return place.value;
        chosen[taken++] = {0, place.x, place.y};
    }
    return UINT64_MAX;
}

struct ListScratch
{
    BoundPlace places[gpu::MOST_PLACES]; //!< from the least value on
    uint64_t values[gpu::MOST_PLACES];
    uint64_t largest; //!< the largest value of the places that were chosen for the limit
    BoundLimit limit;
    int kept;
};

//! Copies the places of an entry in the order of their values. Two barriers.
__device__ void sortPlaces(const BoundPlace* places, int count, int needed, ListScratch* scratch)
{
    const int i = threadIdx.x;
    if (i == 0)
    {
        scratch->largest = 0;
        scratch->limit = {0, 0, {INT_MAX, INT_MAX, -1, -1}};
        scratch->kept = 0;
    }
    if (i < count)
        scratch->values[i] = places[i].value;
    __syncthreads(); // the scratch is ready
    if (i < count)
    {
        const BoundPlace mine = places[i];
        int rank = 0;
#pragma unroll 4
        for (int k = 0; k < count; ++k)
            rank += scratch->values[k] < mine.value || (scratch->values[k] == mine.value && k < i);
        scratch->places[rank] = mine;
        if (i < needed)
            atomicMax(reinterpret_cast<unsigned long long*>(&scratch->largest),
                      static_cast<unsigned long long>(mine.value));
    }
    __syncthreads(); // places are in order
}

//! The tiles of an entry's window.
struct Tiles
{
    const SearchWindow& window;
    int cols, rows;
    TileBound* bounds;
    const uint32_t* cells;

    __device__ int count() const { return cols * rows; }
};

/** Calls test(least, cell) for the cells of all tiles whose least bound is not above `largest`, and body(tile, cells
that passed) for all tiles. A warp takes 32 tiles; its lanes test a cell each. */
template <class Test, class Body>
__device__ __forceinline__ void forTiles(const Tiles& tiles, uint32_t largest, const Test& test, const Body& body)
{
    const int LOADS = tuning::BOUND_LIST_LOADS;
    const int lane = threadIdx.x % 32, count = tiles.count();
#pragma unroll 1
    for (int from = static_cast<int>(threadIdx.x) - lane; from < count; from += LIST_THREADS)
    {
        const uint32_t tested = __ballot_sync(~0u, from + lane < count && tiles.bounds[from + lane].least <= largest);
        uint32_t passed = 0;
#pragma unroll 1
        for (int first = 0; first < 32; first += LOADS)
        {
            if ((tested >> first & ((1u << LOADS) - 1)) == 0)
                continue;
            uint32_t leasts[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; ++k)
                leasts[k] = tested >> (first + k) & 1 ? tiles.cells[(from + first + k) * gpu::CELLS + lane]
                                                      : TileBound::NO_BOUND;
#pragma unroll
            for (int k = 0; k < LOADS; ++k)
            {
                const int tile = from + first + k, y = tile / tiles.cols, x = tile - y * tiles.cols;
                const Box cell = boxOf(x * tuning::TILE_COLS, y * tuning::TILE_ROWS, lane, tiles.window);
                const uint32_t these = __ballot_sync(~0u, test(leasts[k], cell));
                passed = lane == first + k ? these : passed;
            }
        }
        if (from + lane < count)
            body(from + lane, passed);
    }
}

//! Widens `box` by the cells whose bounds are not above `largest`.
__device__ void widen(const Tiles& tiles, uint32_t largest, Box* box)
{
    const auto test = [&](uint32_t least, const Box& cell)
    {
        if (least <= largest)
        {
            atomicMin(&box->left, cell.left);
            atomicMin(&box->top, cell.top);
            atomicMax(&box->right, cell.right);
            atomicMax(&box->bottom, cell.bottom);
        }
        return false;
    };
    forTiles(tiles, largest, test, [](int, uint32_t) {});
}

//! Returns the largest value of a peak that is not the best, from the places and the box; by one thread.
__device__ uint64_t largestOfPeaks(const ListScratch& scratch, int count, const Settings& settings, int distance,
                                   const SearchWindow& window)
{
    const Box& box = scratch.limit.box;
    if (settings.peaks == 1 ||
        surelyExcluded({0, 0, window.cols - 1, window.rows - 1}, box, distance, settings.exclusion))
        return 0; // there is none
    const auto largest = [&](int peaks, const Box* outside)
    {
        return largestOfPlaces(scratch.places, count, placesNeeded(peaks, settings.exclusion),
                               distanceOfPlaces(distance), distance, settings.exclusion, outside);
    };
    return ::min(::min(scratch.largest, largest(settings.peaks, nullptr)), largest(settings.peaks - 1, &box));
}

//! Returns true if the least bounds of more than half of the tiles are not above `largest`. @param found 0. Two
//! barriers.
__device__ bool mostHave(const Tiles& tiles, uint32_t largest, int* found)
{
    int mine = 0;
    for (int tile = threadIdx.x; tile < tiles.count(); tile += LIST_THREADS)
        mine += tiles.bounds[tile].least <= largest;
    if (mine > 0)
        atomicAdd(found, mine);
    __syncthreads(); // the number is complete
    const bool most = 2 * *found > tiles.count();
    __syncthreads(); // it has been read
    return most;
}

//! Returns true if a cell next to the tile may hold a peak.
__device__ bool hasNeighbour(const Tiles& tiles, int tile)
{
    static_assert(gpu::CELLS == 32 && gpu::CELLS_X == 8, "one bit per cell");
    const uint32_t left = 0x01010101, right = 0x80808080, top = 0xff, bottom = 0xff000000;
    const int y = tile / tiles.cols, x = tile - y * tiles.cols;
    const TileBound* const bounds = tiles.bounds;
    return (x > 0 && bounds[tile - 1].cells & right) || (x < tiles.cols - 1 && bounds[tile + 1].cells & left) ||
           (y > 0 && bounds[tile - tiles.cols].cells & bottom) ||
           (y < tiles.rows - 1 && bounds[tile + tiles.cols].cells & top);
}

//! Returns the cells of a tile that have a position of the window.
__device__ uint32_t cellsOf(const SearchWindow& window, int tileX, int tileY)
{
    const int cols = detail::ceilDiv(window.cols - tileX * tuning::TILE_COLS, gpu::CELL_COLS);
    const int rows = detail::ceilDiv(window.rows - tileY * tuning::TILE_ROWS, gpu::CELL_ROWS);
    const uint32_t row = cols < gpu::CELLS_X ? (1u << cols) - 1 : 0xff;
    return 0x01010101u * row & (rows < 4 ? (1u << 8 * rows) - 1 : ~0u);
}

//! Lists the tiles of an entry, by a block. Clears the bests of all others.
__global__ void __launch_bounds__(LIST_THREADS)
    listTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings,
                    const __grid_constant__ BoundPlan plan, const __grid_constant__ BoundMemory bounds,
                    const __grid_constant__ Windows windows, const __grid_constant__ ListedTiles listed,
                    const Outputs out)
{
    __shared__ ListScratch scratch;
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    const int e = blockIdx.x, gridTiles = windows.tiles();
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
            reportNothing(out, entry.i, settings.peaks, status);
        return;
    }
    const size_t first = static_cast<size_t>(e) * gridTiles;
    const Tiles tiles = {entry.window, detail::ceilDiv(entry.window.cols, tuning::TILE_COLS),
                         detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS), bounds.bounds + first,
                         bounds.cells + first * gpu::CELLS};
    const int block = plan.coarse.block, needed = placesNeeded(settings.peaks, settings.exclusion);
    const int count = needed + plan.otherPlaces;
    const uint64_t loss = bounds.coarse.losses[e];
    sortPlaces(bounds.places + static_cast<size_t>(e) * count, count, needed, &scratch);
    const uint64_t best = scratch.places[0].value;
    widen(tiles, boundOf(best, loss, block), &scratch.limit.box);
    __syncthreads(); // the box is complete
    if (threadIdx.x == 0)
    {
        const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
        scratch.limit.best = best;
        scratch.limit.peaks = largestOfPeaks(scratch, count, settings, distance, entry.window);
        bounds.limits[e] = scratch.limit;
    }
    __syncthreads(); // the limit is complete
    const CellTest mayHoldPeak = testOf(scratch.limit, loss, block, entry, settings);
    const uint32_t largest = ::max(mayHoldPeak.best, mayHoldPeak.peaks);
    // Where most tiles of few fragments are left, to compare the cells of large windows costs more than it saves. In
    // small windows it leaves out the zone of the best position.
    if (plan.otherPlaces > 0 && tiles.count() > tuning::BOUND_LISTED_AT_ONCE && mostHave(tiles, largest, &scratch.kept))
        for (int tile = threadIdx.x; tile < tiles.count(); tile += LIST_THREADS)
            tiles.bounds[tile].cells = tiles.bounds[tile].least <= largest ? ~0u : 0;
    else
        forTiles(tiles, largest, mayHoldPeak, [&](int tile, uint32_t passed) { tiles.bounds[tile].cells = passed; });
    if (threadIdx.x == 0)
        scratch.kept = 0;
    __syncthreads(); // the cells of all tiles are known
    int kept = 0;
#pragma unroll 1
    for (int tile = threadIdx.x; tile < tiles.count(); tile += LIST_THREADS)
    {
        const uint32_t passed = tiles.bounds[tile].cells;
        // Sub-pixel positions need the values beside a peak, which may lie in the next cell or tile.
        if (passed == 0 && !(settings.subpixel && hasNeighbour(tiles, tile)))
        {
            windows.bests[first + tile] = {~0ull, Best::NONE, 0};
            continue;
        }
        const int y = tile / tiles.cols, x = tile - y * tiles.cols, inGrid = y * windows.tilesX + x;
        const int at = atomicAdd(listed.listed.total, 1);
        listed.listed.tiles[at] = static_cast<int>(first) + inGrid;
        listed.listed.cells[at] = cellsOf(entry.window, x, y) & (settings.subpixel ? ~0u : passed);
        listed.finished[first + inGrid] = 0;
        ++kept;
    }
    if (kept > 0)
        atomicAdd(&scratch.kept, kept);
    __syncthreads(); // the count is complete
    if (threadIdx.x == 0)
    {
        listed.listed.kept[e] = scratch.kept;
        listed.refined.kept[e] = 0;
    }
}

} // namespace

namespace gpu {

void eliminate(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
               const ListedTiles& tiles)
{
    const bool fine = plan.fine.block > 0 && !job.settings.subpixel;
    computeMeans(job, plan, plan.coarse, memory.coarse, false);
    boundTiles(job, plan, memory, windows, tiles);
    if (fine)
        computeMeans(job, plan, plan.fine, memory.fine, true);
    const int places = placesNeeded(job.settings.peaks, job.settings.exclusion) + plan.otherPlaces;
    forStride(job.frame.pixelStride,
              [&](auto stride)
              {
                  detail::launchEarly("scorePlaces",
                                      job.batch.weighted ? scorePlacesKernel<stride.value, true>
                                                         : scorePlacesKernel<stride.value, false>,
                                      detail::linearGrid(static_cast<int64_t>(places) * job.batch.count, 1),
                                      dim3(PLACE_THREADS), 0, job.stream, job.frame, job.batch, job.settings, plan,
                                      memory, windows);
              });
    detail::launchEarly("listTiles", listTilesKernel, detail::linearGrid(job.batch.count, 1), dim3(LIST_THREADS), 0,
                        job.stream, job.frame, job.batch, job.settings, plan, memory, windows, tiles, job.outputs);
    if (fine)
        refineTiles(job, plan, memory, windows, tiles);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
