// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify, late stages of stumps and trees of two nodes with Haar features, for pairs of windows that tiles
// left. Few pairs get here, but each needs many nodes, and neighbouring ones get here together: in their tile, the last
// warps would work long after all others. A warp computes the integral image of its pair from the pyramid, and
// evaluates it with each lane at another tree. Records are in shared memory.
//
// Blocks begin on multiprocessors that have no tile any more, while others still have. Each warp takes the next pair of
// the list of all tiles, or waits until there is one. When all tiles have ended and all pairs are taken, the warps of a
// block share the stages of those that it has. At the end the kernel applies the skip rule to candidates of tiles.
//
// Cost: some 250 instructions per pair for the integral image, 62 per 32 nodes. Bound by latency at small images.
#include "pair_sums.hpp"
#include "tile.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp.hpp"
#include "../../cascade/stages.hpp"
#include <cuda_pipeline.h>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

const int LATE_THREADS = 32 * tuning::LATE_WARPS[0];

//! A pair of windows, as its warp sees it.
struct Late
{
    LatePair pair;

    __device__ __forceinline__ Late() : pair() {}
    __device__ __forceinline__ Late(const Classification& job, int index)
    {
        const uint4* const words = reinterpret_cast<const uint4*>(job.lists.late + index);
        const uint4 a = __ldcg(words), b = __ldcg(words + 1); // stored while this kernel runs
        pair = {static_cast<int>(a.x),
                a.y,
                {__uint_as_float(a.z), __uint_as_float(a.w)},
                static_cast<int64_t>(b.y) << 32 | b.x,
                static_cast<int>(b.z),
                static_cast<int>(b.w)};
    }
    __device__ __forceinline__ bool has(int lower) const { return pair.pair >> (14 + lower) & 1; }
    //! Returns the window's place in the tile.
    __device__ __forceinline__ int columnOf(const Shape& shape) const { return pair.pair & (shape.cols - 1); }
    __device__ __forceinline__ int rowOf(const Shape& shape, int lower) const
    {
        return static_cast<int>((pair.pair & 0x3fff) >> shape.columnBits) + lower;
    }
};

/** Computes sums along the rows of a pair, one row per lane: those of row y of pixels go to row y + 1 of the table,
`width` + 1 words per row.
@param pixels first pixel of the upper window. Rows are multiples of 4 bytes, and memory behind their end may be read.
@param rows number of rows of pixels that count; the last of them is repeated. @param end number of rows to sum up. */
__device__ __forceinline__ void sumRowsOfPair(const uint8_t* pixels, int pixelStep, int width, int rows, int end,
                                              uint32_t* table)
{
    const int WORDS = 7; // loads in flight
    const int skipped = static_cast<int>(reinterpret_cast<size_t>(pixels) & 3), last = (skipped + width - 1) / 4;
    for (int y = threadIdx.x & 31; y < end; y += 32)
    {
        const uint32_t* const from =
            reinterpret_cast<const uint32_t*>(pixels - skipped + static_cast<size_t>(::min(y, rows - 1)) * pixelStep);
        uint32_t* const to = table + (y + 1) * (width + 1);
        uint32_t sum = 0;
        to[0] = 0;
#pragma unroll 1
        for (int first = 0; 4 * first < width; first += WORDS - 1)
        {
            uint32_t bytes[WORDS];
#pragma unroll
            for (int k = 0; k < WORDS; ++k)
                bytes[k] = from[::min(first + k, last)];
#pragma unroll
            for (int k = 0; k < WORDS - 1; ++k)
            {
                const uint32_t four = __funnelshift_r(bytes[k], bytes[k + 1], 8 * skipped);
#pragma unroll
                for (int n = 0; n < 4; ++n)
                {
                    const int x = 4 * (first + k) + n;
                    sum = __dp4a(four, 1u << (8 * n), sum);
                    if (x < width)
                        to[x + 1] = sum;
                }
            }
        }
    }
}

/** Computes the integral image of a pair: words as in pairs.hpp, width + 1 per row, height + 1 rows; `step` more rows
are overwritten.
@param pixels,pixelStep,rows as in sumRowsOfPair(). @param step rows from the upper window to the lower one. */
__device__ __forceinline__ void sumPair(const uint8_t* pixels, int pixelStep, int width, int height, int rows, int step,
                                        uint32_t* table)
{
    const int BATCH = 8; // loads in flight
    const int words = width + 1, end = height + step;
    sumRowsOfPair(pixels, pixelStep, width, rows, end, table);
    __syncwarp(); // sums along rows
    for (int x = threadIdx.x & 31; x < words; x += 32)
    {
        uint32_t* const column = table + x;
        uint32_t sum = 0, before = 0; // sums down to the last row and to the one before
#pragma unroll 1
        for (int first = 0; first < end; first += BATCH)
        {
            uint32_t values[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
                values[k] = column[::min(first + k + 1, end) * words];
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
            {
                const int to = first + k + 1 - step;
                const uint32_t next = sum + values[k];
                if (to >= 0 && to <= height)
                    column[to * words] = (step == 1 ? sum : before) + (next << 16);
                before = sum;
                sum = next;
            }
        }
    }
    __syncwarp(); // the table
}

//! Reports a window that passed all stages, unless the mask drops it or the skip rule skips it.
__device__ __forceinline__ void report(const Classification& job, const Late& p, int lower, double weight)
{
    const Shape& shape = job.shapes[0]; // tiles of both steps have the same windows
    const TileRecord& tile = job.tiles[p.pair.tile];
    const GridRecord& grid = job.grids[tile.grid];
    const int column = p.columnOf(shape), row = p.rowOf(shape, lower);
    const int x = (tile.col + column) * grid.step, y = (tile.row + row) * grid.step;
    if (masked(job.sources[tile.image], boxOf(x, y, grid.factor, grid.boxWidth, grid.boxHeight)))
        return;
    const int word = tile.word + row * grid.rowWords;
    const uint64_t before = (static_cast<uint64_t>(1) << column) - 1;
    if (tile.col > 0 && (job.lists.failMasks[word] & before) == before &&
        isSkipped(job.lists.failMasks, word, tile.col >> shape.columnBits, column, shape.cols))
        return;
    appendCandidate(job.lists, tile.image, keyOf(tile.image, tile.scale, x, y), weight);
}

//! Arrays that features need, in shared memory.
struct SharedTables
{
    const uint4* terms;
    const int* leaves; //!< not used by stumps

    __device__ __forceinline__ uint4 fourAt(uint32_t index) const { return terms[index]; }
};

//! Begins to copy 16 or 8 bytes per element to shared memory.
template <typename Word> __device__ __forceinline__ void copyAsync(uint8_t* to, const Word* from, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        __pipeline_memcpy_async(reinterpret_cast<Word*>(to) + i, from + i, sizeof(Word));
}

//! Begins to copy the late records and stages, and the terms, to shared memory.
__device__ __forceinline__ void copyLate(const ModelView& model, uint8_t* memory)
{
    const LateLayout& late = model.late;
    const RecordsView& records = model.records[LATE];
    const int nodes = records.count - late.firstNode;
    for (int quad = 0; quad < static_cast<int>(sizeof(HaarRecord) / sizeof(uint4)); ++quad)
        copyAsync(memory + late.records + quad * nodes * static_cast<int>(sizeof(uint4)),
                  records.quads + quad * records.count + late.firstNode, nodes);
    copyAsync(memory + late.stages, reinterpret_cast<const uint64_t*>(model.stage + late.stage),
              (model.stages - late.stage) * static_cast<int>(sizeof(StageRecord) / sizeof(uint64_t)));
    copyAsync(memory + late.terms, reinterpret_cast<const uint4*>(model.terms[LATE]), late.fours);
    __pipeline_commit();
}

//! A pair as all warps of a block see it.
struct Shown
{
    float norms[2];
    int stage;      //!< first stage that is left
    int64_t sum[2]; //!< of the last stage, for windows that pass it
};

//! Data that the warps of a block share.
struct LateShared
{
    Shown shown[LATE_THREADS / 32];     //!< by warp
    uint32_t noMore;                    //!< whether all pairs of all blocks are taken
    uint32_t asked;                     //!< whether a warp asks for that
    uint32_t left;                      //!< number of pairs that warps have then
    uint32_t warpOf[LATE_THREADS / 32]; //!< their warps
    uint32_t tasksAlive[3];             //!< number of tasks that were taken; then bits, see alive()

    //! Before the first pair.
    __device__ __forceinline__ void clear()
    {
        noMore = asked = left = 0;
        tasksAlive[0] = tasksAlive[1] = tasksAlive[2] = 0;
    }
    //! Bit w: the upper or lower window of warp w's pair has not failed so far.
    __device__ __forceinline__ uint32_t& alive(int lower) { return tasksAlive[1 + lower]; }
};
static_assert(sizeof(LateShared) <= LATE_STATIC_BYTES, "plans count on it");
static_assert(LATE_THREADS <= 32 * 32, "a bit per warp");

//! Adds to a word of shared memory. @return the value before, the same in all lanes of the warp.
__device__ __forceinline__ uint32_t addForWarp(uint32_t* word, uint32_t added)
{
    uint32_t before = 0;
    if ((threadIdx.x & 31) == 0)
        before = atomicAdd(word, added);
    return __shfl_sync(ALL_LANES, before, 0);
}

//! The pairs of a block, as its warps see them.
template <TreeShape TREES> struct LatePairs
{
    const ModelView& model;
    LateShared& shared;
    const uint8_t* memory;

    /** Evaluates a stage of a warp's pair, and clears the bits of windows that fail. All lanes of a warp call it
    together. @param has windows that are looked at. */
    __device__ __forceinline__ void evaluate(int s, int warp, const bool (&has)[2]) const
    {
        const SharedTables tables = {reinterpret_cast<const uint4*>(memory + model.late.terms), nullptr};
        const int lane = threadIdx.x & 31, nodes = model.records[LATE].count - model.late.firstNode;
        const uint4* const quads = reinterpret_cast<const uint4*>(memory + model.late.records) - model.late.firstNode;
        const auto nodeAt = [&](int node)
        {
            union
            {
                uint4 words[2];
                HaarRecord value;
            } record;
            record.words[0] = quads[node];
            record.words[1] = quads[node + nodes];
            return record.value;
        };
        const StageRecord& stage =
            reinterpret_cast<const StageRecord*>(memory + model.late.stages)[s - model.late.stage];
        const QuantisedStage quantised = stage.quantised;
        const float2 norms = {shared.shown[warp].norms[0], shared.shown[warp].norms[1]};
        const uint32_t table = warp * model.late.table;
        PairSums<HaarPairs, TREES, 1, SharedTables> sums;
        sums.window[0] = table;
        sums.norms.set(0, norms.x);
        sums.norms.set(1, norms.y);
        sums.addShare(stage, nodeAt, model.trees, tables, lane, 32);
        const int sum[2] = {detail::sumOfWarp(sums.sum[0]), detail::sumOfWarp(sums.sum[1])};
        bool pass[2] = {quantised.passes(sum[0]), quantised.passes(sum[1])};
        const bool last = s == model.stages - 1;
        if (last || (has[0] && quantised.isUndecided(sum[0])) || (has[1] && quantised.isUndecided(sum[1])))
        {
            FullSums full = fullShare<HaarPairs>(model, LATE, s, table, norms, lane, 32);
            for (int d = 16; d > 0; d /= 2)
                for (int k = 0; k < 2; ++k)
                    full.sum[k] += __shfl_xor_sync(ALL_LANES, full.sum[k], d);
            for (int k = 0; k < 2; ++k)
                pass[k] = full.sum[k] >= stage.fixedThreshold;
            if (last && lane < 2)
                shared.shown[warp].sum[lane] = lane == 0 ? full.sum[0] : full.sum[1];
        }
        if (lane < 2 && !(lane == 0 ? pass[0] : pass[1]))
            atomicAnd(&shared.alive(lane), ~(1u << warp));
        __syncwarp(); // the bits
    }
    //! Returns whether windows of a warp's pair are left, the upper and the lower one. Other warps may clear bits.
    __device__ __forceinline__ uint32_t leftOf(int k, int warp) const
    {
        return addForWarp(&shared.alive(k), 0u) >> warp & 1u;
    }

    /** Evaluates the stages of the warps' pairs that are left. A task is one stage of one pair; warps take tasks in
    turn, earlier stages first, and leave out those of pairs that have failed. So while many pairs are left, a stage is
    evaluated on pairs that passed the ones before; when few are left, their stages are evaluated at the same time, and
    a pair that passes all takes no longer than some stages. @param first first late stage. */
    __device__ __forceinline__ void share(int first) const
    {
        const int lane = threadIdx.x & 31, left = static_cast<int>(shared.left), end = left * (model.stages - first);
        for (;;)
        {
            uint32_t before = 0;
            if (lane < 3) // one instruction, as all warps wait for these words
                before = atomicAdd(&shared.tasksAlive[lane], lane == 0 ? 1u : 0u);
            const int task = static_cast<int>(__shfl_sync(ALL_LANES, before, 0));
            const uint32_t upper = __shfl_sync(ALL_LANES, before, 1), lower = __shfl_sync(ALL_LANES, before, 2);
            if (task >= end || (upper | lower) == 0)
                return;
            const int warp = static_cast<int>(shared.warpOf[task % left]), stage = first + task / left;
            const bool has[2] = {(upper >> warp & 1) != 0, (lower >> warp & 1) != 0};
            if ((has[0] || has[1]) && stage >= shared.shown[warp].stage)
                evaluate(stage, warp, has);
        }
    }
};

//! Returns the number of the next late pair of all blocks. All lanes of a warp call it together.
__device__ __forceinline__ int takeLate(const Classification& job)
{
    int taken = 0;
    if ((threadIdx.x & 31) == 0)
        taken = atomicAdd(job.lists.lateTaken(job.images), 1);
    return __shfl_sync(ALL_LANES, taken, 0);
}

//! Returns whether a late pair can be read. All lanes of a warp call it together.
__device__ __forceinline__ bool isReady(const Classification& job, int number)
{
    const bool has = number < job.lists.lateCapacity;
    if (!__any_sync(ALL_LANES, has && loadOfOthers(job.lists.lateReady(job.images) + number) != 0))
        return false;
    seeOthers();
    return true;
}

/** Waits until a late pair can be read, or until it is known that there is none of this number, nor any with a higher
one. Of the warps of a block that wait, one asks whether all tiles have ended: this is one word for all blocks.
@return false if there is none. */
__device__ __forceinline__ bool waitForLate(const Classification& job, LateShared& shared, int number)
{
    const int warps = (job.tileCount - job.lists.lateTiles.first) * (job.threads / 32);
    const int lane = threadIdx.x & 31;
    uint32_t asks = 0; // whether this warp is the one
    bool ready = isReady(job, number);
    while (!ready)
    {
        if (asks == 0)
        {
            if (lane == 0)
                asks = atomicCAS(&shared.asked, 0u, 1u) == 0 ? 1 : 0;
            asks = __shfl_sync(ALL_LANES, asks, 0);
        }
        // From noMore on all pairs are in the list, so another look decides.
        const bool all = asks != 0 && loadOfOthers(job.lists.lateEnded(job.images)) == warps;
        const bool ended = addForWarp(&shared.noMore, 0u) != 0 || __any_sync(ALL_LANES, all);
        if (ended)
            seeOthers();
        else
            __nanosleep(100);
        ready = isReady(job, number);
        if (ended && !ready)
        {
            addForWarp(&shared.noMore, 1u);
            break;
        }
    }
    if (asks != 0 && lane == 0)
        atomicExch(&shared.asked, 0u);
    return ready;
}

/** Takes pairs of all tiles, one per warp at a time. While there may be pairs that no warp has taken, each warp
evaluates its own, and takes another when it has failed; then all warps of a block share those that are left. Blocks
begin when all tiles have begun, so they may wait for pairs: the tiles that they come from are being evaluated. */
template <TreeShape TREES>
__global__ void __launch_bounds__(LATE_THREADS, tuning::LATE_BLOCKS_EACH)
    classifyLatePairs(const __grid_constant__ Classification job)
{
    __shared__ LateShared shared;
    const ModelView& model = job.model;
    uint8_t* const memory = reinterpret_cast<uint8_t*>(dynamicMemory);
    copyLate(model, memory);
    detail::letNextKernelBegin();
    const int warp = static_cast<int>(threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (threadIdx.x == 0)
        shared.clear();
    const LatePairs<TREES> pairs = {model, shared, memory};
    const auto begin = [&](const Late& p)
    {
        sumPair(job.pixels + p.pair.pixels, p.pair.pixelStep, model.width, model.height,
                model.height + (p.has(1) ? p.pair.step : 0), p.pair.step,
                reinterpret_cast<uint32_t*>(memory + warp * model.late.table));
        if (lane < 2)
            shared.shown[warp].norms[lane] = p.pair.norms[lane];
        if (lane < 2 && p.has(lane))
            atomicOr(&shared.alive(lane), 1u << warp);
        __syncwarp(); // the pair
    };
    const auto reportLeft = [&](const Late& p) // windows that passed all stages
    {
        if (lane < 2 && atomicAnd(&shared.alive(lane), ~(1u << warp)) >> warp & 1u)
        {
            detail::waitForKernelBefore(); // the skip rule depends on tiles that may not have ended
            report(job, p, lane, weightOf(shared.shown[warp].sum[lane], model.stage[model.stages - 1].shift));
        }
        __syncwarp(); // the bits
    };
    int number = takeLate(job), stage = job.lists.lateTiles.stage;
    __syncthreads(); // zeros
    bool own = isReady(job, number);
    Late p;
    if (own)
    {
        p = Late(job, number);
        begin(p);
    }
    __pipeline_wait_prior(0);
    __syncthreads(); // records and stages
    for (;;)
    {
        if (!own)
        {
            own = waitForLate(job, shared, number);
            if (!own)
                break;
            p = Late(job, number);
            begin(p);
            stage = job.lists.lateTiles.stage;
        }
        if (addForWarp(&shared.noMore, 0u) != 0)
            break;
        const bool has[2] = {pairs.leftOf(0, warp) != 0, pairs.leftOf(1, warp) != 0};
        if ((has[0] || has[1]) && stage < model.stages)
        {
            pairs.evaluate(stage++, warp, has);
            continue;
        }
        reportLeft(p);
        own = false;
        number = takeLate(job);
    }
    if (own && lane == 0)
    {
        shared.shown[warp].stage = stage;
        shared.warpOf[atomicAdd(&shared.left, 1u)] = warp;
    }
    __syncthreads(); // pairs that are left
    pairs.share(job.lists.lateTiles.stage);
    detail::waitForKernelBefore();
    resolveDeferred(job.lists, job.images, job.shapes[0].columnBits);
    __syncthreads(); // windows that are left
    if (own)
        reportLeft(p);
}

} // namespace

void classifyLate(const Classification& job, detail::StreamHandle stream)
{
    const LateLayout& late = job.model.late;
    const auto kernel = job.model.treeShape == TWO_NODES ? classifyLatePairs<TWO_NODES> : classifyLatePairs<STUMPS>;
    detail::launchEarly("cascade late stages", kernel, dim3(tuning::LATE_BLOCKS), dim3(32 * late.warps), late.bytes,
                        stream, job);
}

}}}} // namespace cv::cuda::cascade::gpu
