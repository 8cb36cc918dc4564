// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// over budget: one stage, whose three kernels share their layouts
//
// FragmentMatcher, eliminate: lists the tiles that can hold a peak of SAD, by bounds of all positions
// (src/fragment_matcher/bounds.hpp).
//
// Cost: means about 10 operations per byte of the image; bounds 1 / B^2 of the byte sums of all positions; the limit reads 32 bytes per tile
// and scores its places, by one block per fragment, bound by latency.

#include "device.hpp"
#include "../../fragment_matcher/bounds.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::BOUND_COLS;
using gpu::BOUND_ROWS;
using gpu::BoundMemory;
using gpu::BoundPlan;
using gpu::TileBest;
using gpu::TileBound;
using gpu::TileMemory;
using gpu::TilePlan;

const int MEANS_THREADS = tuning::BOUND_MEANS_THREADS, BOUND_THREADS = tuning::BOUND_THREADS,
          LIMIT_THREADS = tuning::BOUND_LIMIT_THREADS;

// --- means -------------------------------------------------------------------------------------------------------------
// Byte k of word w B + p of a row is the mean of the block whose first column is 4 B w + p + k B, so that a word holds four neighbouring
// blocks of a position.

//! Sums B pixels of a row, for 16 positions per thread. @param sums rows of BOUND_COLS + 2 elements, channel by channel.
template <int B, int STRIDE, int CHANNELS>
__device__ void sumRows(const ByteImageView& frame, int x, int y, const gpu::StagePlan& plan, const uint32_t* raw,
                        uint16_t* sums)
{
    const int RUN = 16, RUNS = BOUND_COLS / RUN, ROWS = BOUND_ROWS + B - 1;
    const uint32_t start = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame.pixel(x, y)));
    for (int i = threadIdx.x; i < ROWS * CHANNELS * RUNS; i += MEANS_THREADS)
    {
        const int r = i / (CHANNELS * RUNS), c = i % CHANNELS, run = i / CHANNELS % RUNS;
        const int before = (start + r * static_cast<uint32_t>(frame.step)) & 3;
        const uint8_t* const from =
            reinterpret_cast<const uint8_t*>(raw + r * plan.rawPitch) + before + STRIDE * RUN * run + c;
        uint16_t* const to = sums + (c * ROWS + r) * (BOUND_COLS + 2) + RUN * run;
        unsigned pixels[RUN + B - 1], sum = 0;
#pragma unroll
        for (int u = 0; u < RUN + B - 1; ++u)
        {
            pixels[u] = from[STRIDE * u];
            sum += pixels[u];
            if (u >= B)
                sum -= pixels[u - B];
            if (u >= B - 1)
                to[u - (B - 1)] = static_cast<uint16_t>(sum);
        }
    }
}

//! Sums B rows of sums, and stores means: four blocks side by side of 8 rows per thread.
template <int B, int CHANNELS>
__device__ void storeMeans(const uint16_t* sums, int x, int y, const BoundPlan& plan, uint8_t* means)
{
    const int WORDS = BOUND_COLS / 4, RUN = 8, ROWS = BOUND_ROWS + B - 1, PITCH = BOUND_COLS + 2;
    for (int i = threadIdx.x; i < WORDS * CHANNELS * (BOUND_ROWS / RUN); i += MEANS_THREADS)
    {
        const int word = i % WORDS, c = i / WORDS % CHANNELS, top = i / (WORDS * CHANNELS) * RUN;
        const uint16_t* const from = sums + (c * ROWS + top) * PITCH + word / B * 4 * B + word % B;
        const int column = x + 4 * word;
        unsigned ring[4][B], sum[4] = {};
#pragma unroll
        for (int v = 0; v < RUN + B - 1; ++v)
        {
            uint32_t packed = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k)
            {
                const unsigned s = from[v * PITCH + B * k];
                sum[k] += s;
                if (v >= B)
                    sum[k] -= ring[k][v % B];
                ring[k][v % B] = s;
                packed |= sum[k] / (B * B) << 8 * k;
            }
            const int row = y + top + v - (B - 1);
            if (v >= B - 1 && row < plan.region.height && column < plan.pitch)
                *reinterpret_cast<uint32_t*>(means + c * plan.planeBytes + static_cast<size_t>(row) * plan.pitch +
                                             column) = packed;
        }
    }
}

//! Returns word `word` of row `row` of the means of a fragment's channel, and the word of their weights. @param loss adds the loss.
template <int B, bool WEIGHTED>
__device__ uint32_t meansOf(const Batch& batch, const DeviceFragment& fragment, int channel, int row, int word,
                            uint32_t& weights, uint64_t& loss)
{
    const int WORDS = B / 4; // words per row of a block
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const uint32_t* const first = batch.arena + fragment.words + static_cast<size_t>(B) * row * fragment.pitch;
    uint32_t means = 0;
    weights = 0;
#pragma unroll 1
    for (int k = 0; k < 4 && 4 * word + k < fragment.width / B; ++k)
    {
        uint32_t sum = 0, least = ~0u;
#pragma unroll
        for (int v = 0; v < B; ++v)
#pragma unroll
            for (int u = 0; u < WORDS; ++u)
            {
                const size_t at = static_cast<size_t>(v) * fragment.pitch + WORDS * (4 * word + k) + u;
                sum = dot4(__ldg(first + channel * planeWords + at), 0x01010101u, sum);
                if (WEIGHTED)
                    least = __vminu4(least, __ldg(first + batch.channels * planeWords + at));
            }
        const uint32_t mean = sum / (B * B);
        const uint32_t weight =
            WEIGHTED ? ::min(::min(least & 0xff, least >> 8 & 0xff), ::min(least >> 16 & 0xff, least >> 24)) : 1;
        means |= mean << 8 * k;
        weights |= weight << 8 * k;
        loss += static_cast<uint64_t>(weight) * blockLoss(static_cast<int>(sum), static_cast<int>(mean), B * B);
    }
    return means;
}

//! Computes the means of a fragment, by a block.
template <int B, bool WEIGHTED>
__device__ void storeFragment(const Batch& batch, int e, const BoundPlan& plan, const BoundMemory& memory)
{
    __shared__ unsigned long long total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads(); // total is zero
    const DeviceFragment& fragment = batch.fragments[batch.slots[fragmentOf(batch, e)]];
    const int words = detail::ceilDiv(fragment.width / B, 4), rows = fragment.height / B;
    uint32_t* const to = memory.fragments + e * plan.wordsEach;
    uint64_t loss = 0;
    for (int i = threadIdx.x; i < batch.channels * rows * words; i += MEANS_THREADS)
    {
        uint32_t weights;
        to[i] = meansOf<B, WEIGHTED>(batch, fragment, i / (rows * words), i / words % rows, i % words, weights, loss);
        if (i < rows * words)
            to[batch.channels * rows * words + i] = weights;
    }
    loss = warpSum(loss);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&total, static_cast<unsigned long long>(loss));
    __syncthreads(); // total is complete
    if (threadIdx.x == 0)
        memory.losses[e] = total;
}

//! Computes the means of the region in the first `imageBlocks` blocks, and those of a fragment in each of the others.
template <int B, int STRIDE, bool WEIGHTED>
__global__ void __launch_bounds__(MEANS_THREADS)
    computeMeansKernel(const ByteImageView frame, const Batch batch, const BoundPlan plan, const BoundMemory memory,
                       const int imageBlocks)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3;
    extern __shared__ __align__(16) uint32_t shared[]; // the raw image, then sums of rows
    detail::letNextKernelBegin();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *memory.total = 0;
    if (static_cast<int>(blockIdx.x) >= imageBlocks)
        return storeFragment<B, WEIGHTED>(batch, blockIdx.x - imageBlocks, plan, memory);
    const int blocksX = detail::ceilDiv(plan.region.width, BOUND_COLS);
    const int x = blockIdx.x % blocksX * BOUND_COLS, y = blockIdx.x / blocksX * BOUND_ROWS;
    const int left = plan.region.x + x, top = plan.region.y + y;
    uint16_t* const sums = reinterpret_cast<uint16_t*>(shared + plan.stage.rawWords);
    fetchRaw(frame, left, top, BOUND_COLS + B - 1, BOUND_ROWS + B - 1, plan.stage, shared);
    __pipeline_wait_prior(0);
    __syncthreads(); // the raw image is complete
    sumRows<B, STRIDE, CHANNELS>(frame, left, top, plan.stage, shared, sums);
    __syncthreads(); // sums of rows are complete
    storeMeans<B, CHANNELS>(sums, x, y, plan, memory.means);
}

// --- bounds ------------------------------------------------------------------------------------------------------------
// B / 4 warps compute the bounds of B / 4 tiles, one below the other. A lane has 8 positions B columns apart in 4 rows B rows apart: words of
// the image serve four rows of the fragment, and by shifts eight columns.

const int LANE_COLS = 8, LANE_ROWS = 4; //!< positions per lane

typedef uint32_t LaneBounds[LANE_ROWS][LANE_COLS];

/** Adds WORDS columns of words of a fragment's means. MASKED: weighted, or words with blocks beyond the fragment, whose weight is 0.
@param image word of the lane's first block in row 0 of the region. @param row the lane's first row. @param lastRow of the region: positions
beyond the window may not read more. @param shift bits before the first block. @param words, rows size of the fragment's means. */
template <int B, int WORDS, bool MASKED>
__device__ __forceinline__ void addMeans(const uint8_t* image, int row, int lastRow, int pitch, int shift,
                                         const uint32_t* fragment, const uint32_t* weights, int words, int rows,
                                         LaneBounds& sums)
{
    constexpr int LOADED = WORDS + LANE_COLS / 4;
    uint32_t loaded[LOADED + 1], means[LANE_ROWS][WORDS] = {}, weight[LANE_ROWS][WORDS] = {};
    const auto load = [&] // a row of blocks of the image
    {
        const uint32_t* const from =
            reinterpret_cast<const uint32_t*>(image + static_cast<size_t>(::min(row, lastRow)) * pitch);
#pragma unroll
        for (int k = 0; k <= LOADED; ++k)
            loaded[k] = __ldg(from + B * k);
    };
    load();
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
        {
#pragma unroll
            for (int k = 0; k < LANE_COLS; ++k)
                four[i][k] = k % 4 ? __funnelshift_r(aligned[k / 4 + i], aligned[k / 4 + i + 1], 8 * (k % 4))
                                   : aligned[k / 4 + i];
                // Row r of positions meets row v - r of the fragment.
#pragma unroll
            for (int r = LANE_ROWS - 1; r > 0; --r)
            {
                means[r][i] = means[r - 1][i];
                weight[r][i] = weight[r - 1][i];
            }
            means[0][i] = __ldg(fragment + ::min(v, rows - 1) * words + i);
            weight[0][i] = MASKED ? __ldg(weights + ::min(v, rows - 1) * words + i) : 0;
        }
#pragma unroll
        for (int r = 0; r < LANE_ROWS; ++r)
        {
            if (static_cast<unsigned>(v - r) >= static_cast<unsigned>(rows)) // the same in all lanes
                continue;
#pragma unroll
            for (int i = 0; i < WORDS; ++i)
#pragma unroll
                for (int k = 0; k < LANE_COLS; ++k)
                    sums[r][k] = MASKED ? dot4(__vabsdiffu4(four[i][k], means[r][i]), weight[r][i], sums[r][k])
                                        : sad4(four[i][k], means[r][i], sums[r][k]);
        }
    }
}

//! Returns the least of a warp to all lanes.
__device__ __forceinline__ uint32_t warpLeast(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(~0u, value);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        value = ::min(value, __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

//! The positions of a lane, relative to the window.
struct LanePlace
{
    int x, y; //!< the first
};

//! Returns the least bounds of a tile to all lanes, from a warp's positions. @param firstRow first of LANE_ROWS rows in the tile.
template <int B>
__device__ __forceinline__ TileBound tileBound(const LaneBounds& sums, const LanePlace& mine, int firstRow,
                                               const SearchWindow& window, int tileX, int tileY, int distance,
                                               int exclusion)
{
    const uint32_t none = TileBound::NO_BOUND;
    TileBound bound = {none, 0, 0, none, none, none, none, none};
    Best best = Best::none();
#pragma unroll
    for (int r = firstRow; r < firstRow + 16 / B; ++r)
#pragma unroll
        for (int k = 0; k < LANE_COLS; ++k)
        {
            const int x = mine.x + B * k, y = mine.y + B * r;
            if (x >= window.cols || y >= window.rows)
                continue;
            const uint32_t sum = sums[r][k];
            best.take(sum, y * window.cols + x);
            if (!zoneCoversWindow(x, y, window.cols, window.rows, distance, exclusion))
                bound.open = ::min(bound.open, sum);
            if (x == tileX)
                bound.left = ::min(bound.left, sum);
            if (x == tileX + tuning::TILE_COLS - 1)
                bound.right = ::min(bound.right, sum);
            if (y == tileY)
                bound.top = ::min(bound.top, sum);
            if (y == tileY + tuning::TILE_ROWS - 1)
                bound.bottom = ::min(bound.bottom, sum);
        }
    best = warpBest<uint32_t>(best);
    if (best.index != Best::NONE)
    {
        bound.least = static_cast<uint32_t>(best.value);
        bound.y = best.index / window.cols;
        bound.x = best.index - bound.y * window.cols;
    }
    bound.open = warpLeast(bound.open);
    bound.left = warpLeast(bound.left);
    bound.right = warpLeast(bound.right);
    bound.top = warpLeast(bound.top);
    bound.bottom = warpLeast(bound.bottom);
    return bound;
}

__device__ __forceinline__ TileBound lesser(const TileBound& a, const TileBound& b)
{
    TileBound bound = b.least < a.least ? b : a;
    bound.open = ::min(a.open, b.open);
    bound.left = ::min(a.left, b.left);
    bound.right = ::min(a.right, b.right);
    bound.top = ::min(a.top, b.top);
    bound.bottom = ::min(a.bottom, b.bottom);
    return bound;
}

//! Sums the differences of the means of all positions of a lane.
template <int B, bool WEIGHTED>
__device__ __forceinline__ void sumMeans(const Batch& batch, const Entry& entry, const LanePlace& mine, int e,
                                         const BoundPlan& plan, const BoundMemory& memory, LaneBounds& sums)
{
    const SearchWindow& window = entry.window;
    const int blocks = entry.fragment.width / B, rows = entry.fragment.height / B;
    const int words = detail::ceilDiv(blocks, 4), whole = blocks / 4;
    // Positions beyond the window have no bounds; those of lanes to the right of it read its first column.
    const int column = window.x - plan.region.x + (mine.x < window.cols ? mine.x : 0), first = column / B;
    const int row = window.y - plan.region.y + mine.y, lastRow = plan.region.height - 1;
    const uint8_t* const image = memory.means + 4 * (first / 4 * B + column % B);
    const uint32_t* const fragment = memory.fragments + e * plan.wordsEach;
    const uint32_t* const weights = fragment + batch.channels * rows * words;
#pragma unroll 1
    for (int c = 0; c < batch.channels; ++c)
    {
        const uint8_t* const plane = image + c * plan.planeBytes;
        const uint32_t* const means = fragment + c * rows * words;
        const auto add = [&](auto width, auto masked, int word)
        {
            addMeans<B, width.value, masked.value>(plane + 4 * B * word, row, lastRow, plan.pitch, 8 * (first % 4),
                                                   means + word, weights + word, words, rows, sums);
        };
        using std::integral_constant;
        const integral_constant<bool, WEIGHTED> weighted;
        int word = 0;
#pragma unroll 1
        for (; word + 4 <= whole; word += 4)
            add(integral_constant<int, 4>(), weighted, word);
        if (word + 2 <= whole)
        {
            add(integral_constant<int, 2>(), weighted, word);
            word += 2;
        }
        if (word < whole)
            add(integral_constant<int, 1>(), weighted, word++);
        if (word < words)
            add(integral_constant<int, 1>(), std::true_type(), word);
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
    boundTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                     const TileMemory memory)
{
    constexpr int LANES = 8 * B, UNITS = BOUND_THREADS / LANES, TILES = B / 4; // per unit
    __shared__ TileBound parts[BOUND_THREADS / 32][TILES];
    const int gridTiles = plan.tilesX * plan.tilesY, unitsY = detail::ceilDiv(plan.tilesY, TILES);
    const int64_t unit = static_cast<int64_t>(blockIdx.x) * UNITS + threadIdx.x / LANES;
    const int e = static_cast<int>(unit / (plan.tilesX * unitsY)),
              inEntry = static_cast<int>(unit % (plan.tilesX * unitsY));
    const int tileX = inEntry % plan.tilesX * tuning::TILE_COLS,
              tileY = inEntry / plan.tilesX * TILES * tuning::TILE_ROWS;
    const int lane = threadIdx.x % LANES;
    Entry entry = {};
    bool any = e < batch.count && openEntry(frame, batch, e, entry) == STATUS_FOUND;
    any = any && tileX < entry.window.cols && tileY < entry.window.rows;
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    if (any) // the same in all lanes of a warp
    {
        const LanePlace mine = {tileX + lane % B + B * LANE_COLS * (lane / B % (8 / B)), tileY + lane / 8};
        LaneBounds sums = {};
        sumMeans<B, WEIGHTED>(batch, entry, mine, e, plan.bounds, memory.bounds, sums);
        const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
#pragma unroll
        for (int t = 0; t < TILES; ++t)
        {
            const TileBound bound = tileBound<B>(sums, mine, t * (16 / B), entry.window, tileX,
                                                 tileY + t * tuning::TILE_ROWS, distance, settings.exclusion);
            if (threadIdx.x % 32 == 0)
                parts[threadIdx.x / 32][t] = bound;
        }
        if (plan.bounds.parts > 1)
        {
            const size_t at = static_cast<size_t>(e) * plan.cols * plan.rows;
            if (plan.wide)
                clearTile(static_cast<uint64_t*>(memory.values) + at, entry.window, tileX, tileY,
                          TILES * tuning::TILE_ROWS, lane, LANES);
            else
                clearTile(static_cast<uint32_t*>(memory.values) + at, entry.window, tileX, tileY,
                          TILES * tuning::TILE_ROWS, lane, LANES);
        }
    }
    __syncthreads(); // the bounds of all warps are complete
    if (!any || lane >= TILES || tileY + lane * tuning::TILE_ROWS >= entry.window.rows)
        return;
    TileBound bound = parts[threadIdx.x / 32][lane];
#pragma unroll
    for (int w = 1; w < LANES / 32; ++w)
        bound = lesser(bound, parts[threadIdx.x / 32 + w][lane]);
    const int tilesX = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS);
    memory.bounds.bounds[static_cast<size_t>(e) * gridTiles + (tileY / tuning::TILE_ROWS + lane) * tilesX +
                         tileX / tuning::TILE_COLS] = bound;
}

// --- limit -------------------------------------------------------------------------------------------------------------

struct LimitScratch
{
    Best bests[2][LIMIT_THREADS / 32];
    Peak<uint64_t> places[2 * MAX_PEAKS - 1];
    unsigned long long score;
    uint32_t open;
    int count, base;
};

//! Returns the exact value of a position to all threads of a block. Three barriers.
template <int STRIDE, bool WEIGHTED>
__device__ uint64_t valueOf(const ByteImageView& frame, const Batch& batch, const Entry& entry, int x, int y,
                            LimitScratch* scratch)
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
#pragma unroll 2
    for (int i = threadIdx.x; i < planeWords; i += LIMIT_THREADS)
    {
        const int v = i / fragment.pitch, u = 4 * (i - v * fragment.pitch);
        uint32_t words[STRIDE + 1], part = 0;
        const uint32_t shift = loadPixels<STRIDE>(frame.data + static_cast<size_t>(entry.window.y + y + v) * frame.step,
                                                  (entry.window.x + x + u) * STRIDE, frame.cols * STRIDE, words);
        const uint32_t weight = __ldg(templ + static_cast<size_t>(CHANNELS) * planeWords + i); // 0 beyond the width
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t image = planeWord<STRIDE>(words, 0, shift, c);
            const uint32_t four = __ldg(templ + static_cast<size_t>(c) * planeWords + i);
            part = WEIGHTED ? dot4(__vabsdiffu4(image, four), weight, part) : sad4(image & weight, four, part);
        }
        sum += part;
    }
    sum = warpSum(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&scratch->score, static_cast<unsigned long long>(sum));
    __syncthreads(); // the score is complete
    return scratch->score;
}

/** Chooses places and returns the limit of bounds to all threads: tiles above it hold no peak. */
template <int STRIDE, bool WEIGHTED>
__device__ uint32_t chooseLimit(const ByteImageView& frame, const Batch& batch, const Entry& entry,
                                const Settings& settings, const TileBound* bounds, int tiles, uint64_t loss, int block,
                                LimitScratch* scratch)
{
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    const int needed = placesNeeded(settings.peaks, settings.exclusion);
    const uint32_t all = TileBound::NO_BOUND - 1; // the limit above which there is no bound
    if (threadIdx.x == 0)
        scratch->open = TileBound::NO_BOUND;
    uint64_t most = 0;
#pragma unroll 1
    for (int count = 0; count < needed; ++count)
    {
        Best best = Best::none();
        uint32_t open = TileBound::NO_BOUND;
#pragma unroll 4
        for (int tile = threadIdx.x; tile < tiles; tile += LIMIT_THREADS)
        {
            const TileBound bound = bounds[tile];
            open = ::min(open, bound.open);
            if (allowed(bound.x, bound.y, scratch->places, count, distanceOfPlaces(distance), settings.exclusion))
                best.take(bound.least, tile);
        }
        best = warpBest<uint32_t>(best);
        if (threadIdx.x % 32 == 0)
            scratch->bests[count % 2][threadIdx.x / 32] = best;
        __syncthreads(); // the warps' bests are complete
        if (count == 0)
            atomicMin(&scratch->open, open);
        best = warpBestOf<uint32_t>(scratch->bests[count % 2], LIMIT_THREADS / 32);
        if (best.index == Best::NONE)
            return all; // there are not enough places: nothing is eliminated
        const int x = bounds[best.index].x, y = bounds[best.index].y;
        if (threadIdx.x == 0)
            scratch->places[count] = {0, x, y};
        const uint64_t value =
            valueOf<STRIDE, WEIGHTED>(frame, batch, entry, x, y, scratch); // its barriers publish the place
        most = value > most ? value : most;
        if (count == 0 && scratch->open > largestBound(most, loss, block * block, all))
            break; // the zone of the best covers the window
    }
    return largestBound(most, loss, block * block, all);
}

/** Lists the tiles of an entry, by a block. Clears the bests of all others. */
template <int STRIDE, bool WEIGHTED>
__global__ void __launch_bounds__(LIMIT_THREADS)
    listTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                    const TileMemory memory, const Outputs out)
{
    __shared__ LimitScratch scratch;
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    const int e = blockIdx.x, gridTiles = plan.tilesX * plan.tilesY;
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
            reportNothing(out, entry.i, settings.peaks, status);
        return;
    }
    const int tilesX = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS);
    const int tilesY = detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS), tiles = tilesX * tilesY;
    const size_t first = static_cast<size_t>(e) * gridTiles;
    const TileBound* const bounds = memory.bounds.bounds + first;
    const uint32_t limit = chooseLimit<STRIDE, WEIGHTED>(frame, batch, entry, settings, bounds, tiles,
                                                         memory.bounds.losses[e], plan.bounds.block, &scratch);
    // Sub-pixel positions need the values beside a peak, which may lie in the next tile.
    const auto isKept = [&](int tile)
    {
        if (bounds[tile].least <= limit)
            return true;
        if (!settings.subpixel)
            return false;
        const int y = tile / tilesX, x = tile - y * tilesX;
        return (x > 0 && bounds[tile - 1].right <= limit) || (x < tilesX - 1 && bounds[tile + 1].left <= limit) ||
               (y > 0 && bounds[tile - tilesX].bottom <= limit) ||
               (y < tilesY - 1 && bounds[tile + tilesX].top <= limit);
    };
    __syncthreads(); // scratch has been read
    if (threadIdx.x == 0)
        scratch.count = 0;
    __syncthreads(); // the count is zero
    int kept = 0;
#pragma unroll 4
    for (int tile = threadIdx.x; tile < tiles; tile += LIMIT_THREADS)
        if (isKept(tile))
            ++kept;
        else
            memory.bests[first + tile] = {~0ull, Best::NONE, 0};
    const int before = kept > 0 ? atomicAdd(&scratch.count, kept) : 0;
    __syncthreads(); // the count is complete
    if (threadIdx.x == 0)
    {
        memory.bounds.kept[e] = scratch.count;
        scratch.base = atomicAdd(memory.bounds.total, scratch.count);
    }
    __syncthreads(); // the start of the entry's part of the list is known
    int at = scratch.base + before;
#pragma unroll 4
    for (int tile = threadIdx.x; kept > 0 && tile < tiles; tile += LIMIT_THREADS)
        if (isKept(tile))
        {
            const int y = tile / tilesX, inGrid = y * plan.tilesX + tile - y * tilesX;
            memory.bounds.list[at++] = static_cast<int>(first) + inGrid;
            memory.bounds.finished[first + inGrid] = 0;
        }
}

template <int B, bool WEIGHTED>
void launchBounds(const ByteImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                  const TileMemory& memory, cudaStream_t stream)
{
    const BoundPlan& bounds = plan.bounds;
    const auto means = frame.pixelStride == 1   ? computeMeansKernel<B, 1, WEIGHTED>
                       : frame.pixelStride == 3 ? computeMeansKernel<B, 3, WEIGHTED>
                                                : computeMeansKernel<B, 4, WEIGHTED>;
    const int imageBlocks =
        detail::ceilDiv(bounds.region.width, BOUND_COLS) * detail::ceilDiv(bounds.region.height, BOUND_ROWS);
    detail::launch("computeMeans", means, detail::linearGrid(static_cast<int64_t>(imageBlocks) + batch.count, 1),
                   dim3(MEANS_THREADS), bounds.sharedBytes, stream, frame, batch, bounds, memory.bounds, imageBlocks);
    const int64_t units = static_cast<int64_t>(plan.tilesX) * detail::ceilDiv(plan.tilesY, B / 4) * batch.count;
    detail::launchEarly("boundTiles", boundTilesKernel<B, WEIGHTED>, detail::linearGrid(units, BOUND_THREADS / (8 * B)),
                        dim3(BOUND_THREADS), 0, stream, frame, batch, settings, plan, memory);
}

} // namespace

namespace gpu {

void eliminate(const ByteImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
               const TileMemory& memory, const Outputs& out, StreamHandle stream)
{
    const auto bounds = plan.bounds.block == 8 ? (batch.weighted ? launchBounds<8, true> : launchBounds<8, false>)
                                               : (batch.weighted ? launchBounds<4, true> : launchBounds<4, false>);
    bounds(frame, batch, settings, plan, memory, stream);
    const auto list = frame.pixelStride == 1 ? (batch.weighted ? listTilesKernel<1, true> : listTilesKernel<1, false>)
                      : frame.pixelStride == 3
                          ? (batch.weighted ? listTilesKernel<3, true> : listTilesKernel<3, false>)
                          : (batch.weighted ? listTilesKernel<4, true> : listTilesKernel<4, false>);
    detail::launchEarly("listTiles", list, detail::linearGrid(batch.count, 1), dim3(LIMIT_THREADS), 0, stream, frame,
                        batch, settings, plan, memory, out);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
