// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, eliminate: lists the tiles that can hold a peak of SAD, by bounds of all positions
// (src/fragment_matcher/bounds.hpp). Four kernels: means of blocks of the fragments, means of blocks at all places of
// the image, bounds, list.
//
// Cost: about 30 operations per byte of the image; 1 / BOUND_BLOCK^2 of the byte sums of all positions; a few steps of
// one block per fragment, bound by latency. Of fragments that are like noise nothing is computed but their means.

#include "../../../fragment_matcher/bounds.hpp"
#include "../common/find_peaks.hpp"
#include "bounded_tiles.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using namespace gpu;

const int B = BOUND_BLOCK, MEANS_THREADS = 256, LIST_THREADS = 1024;
const int LANE_COLS = 8, LANE_ROWS = 4, BOUND_THREADS = B * B; //!< positions per thread of boundTilesKernel(), B apart
static_assert(LANE_COLS * B == tuning::TILE_COLS && LANE_ROWS * B == 2 * tuning::TILE_ROWS, "a block has two tiles");

//! Returns the sum of 64 bits of all threads of a block, in which `total` is 0 before. Two barriers.
__device__ uint64_t sumOfBlock(uint64_t value, unsigned long long* total)
{
    value = detail::sumOfWarp(value);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, static_cast<unsigned long long>(value));
    __syncthreads(); // the total is complete
    const uint64_t sum = *total;
    __syncthreads(); // it has been read
    return sum;
}

/** Computes the means and least weights of the blocks of a fragment, four neighbouring ones per word, and the loss, by a
block of threads. Where blocks differ little from each other in comparison with their pixels, as in noise, bounds are
too low to eliminate anything. */
__global__ void __launch_bounds__(MEANS_THREADS)
    fragmentMeansKernel(const Batch batch, const BoundPlan plan, const BoundMemory memory, const ListedTiles tiles)
{
    __shared__ unsigned long long means[3], losses, inner, outer;
    detail::letNextKernelBegin();
    const int e = blockIdx.x, channels = batch.channels;
    const DeviceFragment& fragment = batch.fragments[batch.slots[fragmentOf(batch, e)]];
    if (threadIdx.x == 0)
    {
        means[0] = means[1] = means[2] = losses = inner = outer = 0;
        *tiles.total = tiles.kept[e] = 0;
    }
    __syncthreads(); // the sums are 0
    const int blocks = fragment.width / B, rows = fragment.height / B, pitch = 4 * detail::ceilDiv(blocks, 4);
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    uint8_t* const to = reinterpret_cast<uint8_t*>(memory.fragments + e * plan.wordsEach);
    uint64_t loss = 0, aside = 0;
    for (int i = threadIdx.x; i < channels * rows * pitch; i += MEANS_THREADS)
    {
        const int c = i / (rows * pitch), row = i / pitch % rows, column = i % pitch;
        uint32_t words[2 * B], sum = 0, weights = ~0u, mean = 0, weight = 0;
        if (column < blocks)
        {
            const uint32_t* const first =
                batch.arena + fragment.words + static_cast<size_t>(B) * row * fragment.pitch + 2 * column;
#pragma unroll
            for (int k = 0; k < 2 * B; ++k)
            {
                const uint32_t* const word = first + static_cast<size_t>(k / 2) * fragment.pitch + k % 2;
                words[k] = word[c * planeWords];
                sum = dot4(words[k], 0x01010101u, sum);
                weights = __vminu4(weights, word[channels * planeWords]);
            }
            mean = sum / (B * B);
#pragma unroll
            for (int k = 0; k < 2 * B; ++k)
                aside += sad4(words[k], mean * 0x01010101u, 0);
            weights = __vminu4(weights, weights >> 16);
            weight = batch.weighted ? ::min(weights & 0xff, weights >> 8 & 0xff) : 1;
            loss += static_cast<uint64_t>(weight) * blockLoss(static_cast<int>(sum), static_cast<int>(mean), B * B);
            atomicAdd(means + c, static_cast<unsigned long long>(mean));
        }
        to[i] = static_cast<uint8_t>(mean);
        if (c == 0)
            to[channels * rows * pitch + i] = static_cast<uint8_t>(weight);
    }
    loss = sumOfBlock(loss, &losses);
    aside = sumOfBlock(aside, &inner);
    uint64_t between = 0;
    for (int i = threadIdx.x; i < channels * rows * pitch; i += MEANS_THREADS)
        if (i % pitch < blocks)
            between += ::abs(to[i] - static_cast<int>(means[i / (rows * pitch)] / (rows * blocks)));
    between = sumOfBlock(between, &outer);
    if (threadIdx.x == 0)
        memory.losses[e] = 4 * (B * B) * between < 3 * aside ? NOT_BOUNDED : loss;
}

/** Computes the means of the blocks that begin at BOUND_COLS x BOUND_ROWS pixels of the region. Byte k of word w B + p
of a row is the mean of the block whose first column is 4 B w + p + k B, so that a word holds four neighbouring blocks of
a position. */
__global__ void __launch_bounds__(MEANS_THREADS)
    imageMeansKernel(const ByteImageView frame, const BoundPlan plan, const BoundMemory memory, const int entries,
                     const int channels)
{
    const int ROWS = BOUND_ROWS + B - 1, RUN = 8;      // rows of a thread
    __shared__ uint16_t sums[3][ROWS][BOUND_COLS + 2]; // of B pixels of a row
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    bool any = false;
    for (int e = threadIdx.x; e < entries; e += MEANS_THREADS)
        any = any || memory.losses[e] != NOT_BOUNDED;
    if (!__syncthreads_or(any))
        return;
    const int left = blockIdx.x * BOUND_COLS, top = blockIdx.y * BOUND_ROWS;
    for (int i = threadIdx.x; i < channels * ROWS * BOUND_COLS; i += MEANS_THREADS)
    {
        const int c = i / (ROWS * BOUND_COLS), row = i / BOUND_COLS % ROWS, column = i % BOUND_COLS;
        const int x = plan.region.x + left + column, y = plan.region.y + top + row;
        unsigned sum = 0; // blocks that lie beyond the frame are no blocks of a position
        if (x + B <= frame.cols && y < frame.rows)
        {
            const uint8_t* const from = frame.pixel(x, y) + c;
#pragma unroll
            for (int u = 0; u < B; ++u)
                sum += from[u * frame.pixelStride];
        }
        sums[c][row][column] = static_cast<uint16_t>(sum);
    }
    __syncthreads(); // sums of rows are complete
    for (int i = threadIdx.x; i < channels * (BOUND_ROWS / RUN) * (BOUND_COLS / 4); i += MEANS_THREADS)
    {
        const int word = i % (BOUND_COLS / 4), first = i / (BOUND_COLS / 4) % (BOUND_ROWS / RUN) * RUN;
        const int c = i / (BOUND_COLS / 4 * (BOUND_ROWS / RUN)), column = word / B * 4 * B + word % B;
        unsigned sum[4] = {};
#pragma unroll
        for (int v = 0; v < RUN + B - 1; ++v)
        {
            uint32_t packed = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k)
            {
                sum[k] += sums[c][first + v][column + B * k] - (v < B ? 0 : sums[c][first + v - B][column + B * k]);
                packed |= sum[k] / (B * B) << 8 * k;
            }
            const int y = top + first + v - (B - 1), x = left + 4 * word;
            if (v >= B - 1 && y < plan.region.height && x < plan.pitch)
                *reinterpret_cast<uint32_t*>(memory.image + c * plan.planeBytes + static_cast<size_t>(y) * plan.pitch +
                                             x) = packed;
        }
    }
}

//! Computes the least bounds of two tiles, one below the other, and clears the values that several blocks may share.
__global__ void __launch_bounds__(BOUND_THREADS)
    boundTilesKernel(const ByteImageView frame, const Batch batch, const __grid_constant__ BoundPlan plan,
                     const __grid_constant__ BoundMemory memory, const __grid_constant__ Windows windows,
                     const __grid_constant__ ListedTiles tiles)
{
    __shared__ unsigned long long leasts[2]; // bound and raster index
    const int e = blockIdx.y, unitX = blockIdx.x % windows.tilesX, unitY = blockIdx.x / windows.tilesX;
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    const SearchWindow& window = entry.window;
    const int firstX = unitX * tuning::TILE_COLS, firstY = unitY * 2 * tuning::TILE_ROWS;
    if (threadIdx.x < 2)
        leasts[threadIdx.x] = ~0ull;
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    if (status != STATUS_FOUND || firstX >= window.cols || firstY >= window.rows)
        return;
    const int tilesX = detail::ceilDiv(window.cols, tuning::TILE_COLS);
    const bool bounded = memory.losses[e] != NOT_BOUNDED;
    // A window with so many tiles as there are blocks, all of which are listed, is not shared.
    const bool mayShare = bounded || tilesX * detail::ceilDiv(window.rows, tuning::TILE_ROWS) < tiles.fewBlocks;
    for (int i = threadIdx.x; mayShare && i < 2 * tuning::TILE_ROWS * tuning::TILE_COLS; i += BOUND_THREADS)
    {
        const int x = firstX + i % tuning::TILE_COLS, y = firstY + i / tuning::TILE_COLS;
        const size_t at = e * windows.positions() + static_cast<size_t>(y) * window.cols + x;
        if (x < window.cols && y < window.rows)
            windows.wide ? static_cast<uint64_t*>(windows.values)[at] = 0
                         : static_cast<uint32_t*>(windows.values)[at] = 0;
    }
    if (!bounded)
        return;
    const int x = firstX + threadIdx.x % B, y = firstY + threadIdx.x / B;
    // Positions beyond the window have no bounds; those of threads to the right of it read its first column.
    const int column = window.x - plan.region.x + (x < window.cols ? x : 0), row = window.y - plan.region.y + y;
    const int blocks = entry.fragment.width / B, rows = entry.fragment.height / B, words = detail::ceilDiv(blocks, 4);
    const uint8_t* const image = memory.image + 4 * (column / B / 4 * B + column % B);
    const uint32_t* const fragment = memory.fragments + e * plan.wordsEach;
    uint32_t sums[LANE_ROWS][LANE_COLS] = {};
#pragma unroll 1
    for (int i = 0; i < batch.channels * words; ++i) // columns of words of the fragment's means
    {
        const int c = i / words, word = i - c * words, plane = rows * words;
        uint32_t means[LANE_ROWS] = {}, weights[LANE_ROWS] = {};
#pragma unroll 4
        for (int v = 0; v < rows + LANE_ROWS - 1; ++v)
        {
            // Positions beyond the window may not read more rows than there are.
            const int y0 = ::min(row + B * v, plan.region.height - 1), at = ::min(v, rows - 1) * words + word;
            const uint32_t* const from =
                reinterpret_cast<const uint32_t*>(image + c * plan.planeBytes + static_cast<size_t>(y0) * plan.pitch);
            uint32_t loaded[4], aligned[4]; // words of the image serve four rows of the fragment, by shifts 8 columns
#pragma unroll
            for (int k = 0; k < 4; ++k)
            {
                loaded[k] = __ldg(from + B * (word + k));
                aligned[k] = k > 0 ? __funnelshift_r(loaded[k - 1], loaded[k], 8 * (column / B % 4)) : 0;
            }
#pragma unroll
            for (int r = LANE_ROWS - 1; r > 0; --r) // row r of positions meets row v - r of the fragment
                means[r] = means[r - 1], weights[r] = weights[r - 1];
            means[0] = __ldg(fragment + c * plane + at);
            weights[0] = __ldg(fragment + batch.channels * plane + at);
#pragma unroll
            for (int k = 0; k < LANE_COLS; ++k)
            {
                const uint32_t four = __funnelshift_r(aligned[k / 4 + 1], aligned[k / 4 + 2], 8 * (k % 4));
#pragma unroll
                for (int r = 0; r < LANE_ROWS; ++r)
                    if (static_cast<unsigned>(v - r) < static_cast<unsigned>(rows)) // the same in all threads
                        sums[r][k] = dot4(__vabsdiffu4(four, means[r]), weights[r], sums[r][k]);
            }
        }
    }
    __syncthreads(); // `leasts` are set
#pragma unroll
    for (int t = 0; t < 2; ++t)
    {
        Best best = Best::none();
#pragma unroll
        for (int i = 0; i < LANE_ROWS / 2 * LANE_COLS; ++i)
        {
            const int r = t * (LANE_ROWS / 2) + i / LANE_COLS, k = i % LANE_COLS;
            if (x + B * k < window.cols && y + B * r < window.rows)
                best.take(sums[r][k], (y + B * r) * window.cols + x + B * k);
        }
        best = warpBest<uint32_t>(best);
        if (threadIdx.x % 32 == 0)
            atomicMin(leasts + t,
                      static_cast<unsigned long long>(best.value << 32 | static_cast<unsigned>(best.index)));
    }
    __syncthreads(); // the bounds of all threads are complete
    const int tileY = 2 * unitY + static_cast<int>(threadIdx.x);
    if (threadIdx.x >= 2 || tileY * tuning::TILE_ROWS >= window.rows)
        return;
    const int index = static_cast<int>(leasts[threadIdx.x]), least = static_cast<int>(leasts[threadIdx.x] >> 32);
    memory.bounds[static_cast<size_t>(e) * windows.tiles() + tileY * tilesX + unitX] = {
        static_cast<uint32_t>(least), index % window.cols, index / window.cols};
}

struct ListScratch
{
    Best bests[LIST_THREADS / 32];
    Peak<uint64_t> places[2 * MAX_PEAKS - 1 + tuning::BOUND_EXTRA_PLACES];
    uint64_t values[2 * MAX_PEAKS - 1 + tuning::BOUND_EXTRA_PLACES]; //!< of the places, ascending
    unsigned long long sum;
};

/** Scores the positions of the least bounds that are so far from each other that K of them limit the values of K peaks.
@return the largest sum of differences of means of a peak. */
__device__ uint32_t largestOfPeaks(const ByteImageView& frame, const Batch& batch, const Settings& settings,
                                   const Entry& entry, const TileBound* bounds, int tiles, uint64_t loss,
                                   ListScratch* scratch)
{
    const DeviceFragment& fragment = entry.fragment;
    const size_t planeBytes = static_cast<size_t>(fragment.pitch) * fragment.height * 4;
    const uint8_t* const templ = reinterpret_cast<const uint8_t*>(batch.arena + fragment.words);
    const int needed = placesNeeded(settings.peaks, settings.exclusion);
    const int apart = distanceOfPlaces(exclusionDistance(settings.exclusionDistance, fragment.width, fragment.height));
    int count = 0;
    for (; count < needed + tuning::BOUND_EXTRA_PLACES; ++count)
    {
        if (threadIdx.x == 0)
            scratch->sum = 0;
        Best best = Best::none();
        for (int tile = threadIdx.x; tile < tiles; tile += LIST_THREADS)
            if (allowed(bounds[tile].x, bounds[tile].y, scratch->places, count, apart, settings.exclusion))
                best.take(bounds[tile].least, tile);
        best = blockBest<uint32_t, LIST_THREADS>(best, scratch->bests);
        if (best.index == Best::NONE)
            break;
        const TileBound place = bounds[best.index];
        uint64_t value = 0; // of the thread's share of pixels, then of all
        for (int i = threadIdx.x; i < fragment.width * fragment.height; i += LIST_THREADS)
        {
            const int row = i / fragment.width, column = i - row * fragment.width;
            const uint8_t* const pixel = frame.pixel(entry.window.x + place.x + column, entry.window.y + place.y + row);
            const uint8_t* const other = templ + static_cast<size_t>(row) * fragment.pitch * 4 + column;
            const int weight = batch.weighted ? other[batch.channels * planeBytes] : 1;
            for (int c = 0; c < batch.channels; ++c)
                value += weight * ::abs(pixel[c] - other[c * planeBytes]);
        }
        value = sumOfBlock(value, &scratch->sum);
        if (threadIdx.x == 0)
        {
            int rank = count;
            for (; rank > 0 && scratch->values[rank - 1] > value; --rank)
                scratch->values[rank] = scratch->values[rank - 1];
            scratch->values[rank] = value;
            scratch->places[count] = {value, place.x, place.y};
        }
        __syncthreads(); // the place is known
    }
    return count < needed ? TileBound::MAX : largestBound(scratch->values[needed - 1], loss, B * B, TileBound::MAX);
}

//! Lists the tiles of an entry, by a block. Clears the bests of all others.
__global__ void __launch_bounds__(LIST_THREADS)
    listTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings, const BoundMemory memory,
                    const Windows windows, const ListedTiles listed, const Outputs out)
{
    __shared__ ListScratch scratch;
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    const int e = blockIdx.x;
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
            reportNothing(out, entry.i, settings.peaks, status);
        return;
    }
    const int cols = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS),
              rows = detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS);
    const size_t first = static_cast<size_t>(e) * windows.tiles();
    const TileBound* const bounds = memory.bounds + first;
    const uint64_t loss = memory.losses[e];
    const bool bounded = loss != NOT_BOUNDED;
    const uint32_t largest =
        bounded ? largestOfPeaks(frame, batch, settings, entry, bounds, cols * rows, loss, &scratch) : TileBound::MAX;
    for (int tile = threadIdx.x; tile < cols * rows; tile += LIST_THREADS)
    {
        const int y = tile / cols, x = tile - y * cols;
        // Sub-pixel positions need the values beside a peak, which may lie in the next tile.
        const int reach = settings.subpixel ? 1 : 0;
        bool kept = !bounded;
        for (int v = ::max(y - reach, 0); v <= ::min(y + reach, rows - 1); ++v)
            for (int u = ::max(x - reach, 0); u <= ::min(x + reach, cols - 1); ++u)
                kept = kept || bounds[v * cols + u].least <= largest;
        if (!kept)
        {
            windows.bests[first + tile] = {~0ull, Best::NONE, 0};
            continue;
        }
        const int inGrid = static_cast<int>(first) + y * windows.tilesX + x;
        listed.tiles[atomicAdd(listed.total, 1)] = inGrid;
        listed.finished[inGrid] = 0;
        atomicAdd(listed.kept + e, 1);
    }
}

} // namespace

namespace gpu {

void eliminate(const Job& job, const BoundPlan& plan, const BoundMemory& memory, const Windows& windows,
               const ListedTiles& tiles)
{
    const Batch& batch = job.batch;
    const auto ceilDiv = [](int a, int b) { return static_cast<unsigned>(detail::ceilDiv(a, b)); };
    detail::launch("fragmentMeans", fragmentMeansKernel, detail::linearGrid(batch.count, 1), dim3(MEANS_THREADS), 0,
                   job.stream, batch, plan, memory, tiles);
    detail::launchEarly("imageMeans", imageMeansKernel,
                        dim3(ceilDiv(plan.region.width, BOUND_COLS), ceilDiv(plan.region.height, BOUND_ROWS)),
                        dim3(MEANS_THREADS), 0, job.stream, job.frame, plan, memory, batch.count, batch.channels);
    detail::launchEarly("boundTiles", boundTilesKernel, dim3(windows.tilesX * ceilDiv(windows.tilesY, 2), batch.count),
                        dim3(BOUND_THREADS), 0, job.stream, job.frame, batch, plan, memory, windows, tiles);
    detail::launchEarly("listTiles", listTilesKernel, detail::linearGrid(batch.count, 1), dim3(LIST_THREADS), 0,
                        job.stream, job.frame, batch, job.settings, memory, windows, tiles, job.outputs);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
