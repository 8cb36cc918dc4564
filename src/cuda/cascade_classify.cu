// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// classify: the cascade on all windows of all layers and pictures, in one launch over a list of tiles. A block resizes a tile's
// pixels straight from the picture, makes tables of them in shared memory, and goes on with fewer and fewer windows, stage
// by stage: lists in shared memory are made anew by ballots. When windows get fewer than threads, lanes share a window.
//
// Cost: 8 loads from shared memory a Haar feature and window, and four that all lanes share for each node and up to four windows
// a thread; tables take some 30 instructions a pixel. What bounds it: loads from shared memory and instruction issue. Device
// memory sees a picture once or twice (the second-level cache holds it), and one word for 64 windows.
//
// The skip rule needs to know which windows fail the first stage in the whole row. Where a tile alone cannot tell (one window a
// row at most), the window goes on, and if it is found, `resolve` looks at the words of the tiles before.
#include "cascade_classify.hpp"
#include "cascade_features.hpp"
#include "cascade_tables.hpp"
#include "../common/launch.hpp"
#include "../cascade/stages.hpp"
#include <algorithm>
#include <type_traits>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

const int WORDS32 = tuning::MAX_WINDOWS / 32;

//! What threads of a block share beside the tables.
struct Shared
{
    uint32_t fails[WORDS32], passes[WORDS32]; //!< of the first stage, a bit a window
    int counts[3];                            //!< lengths of lists, in turn
    TileRecord tile;
    GridRecord grid;
    SourceRecord source;
};

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
    template <class Stages> __device__ __forceinline__ typename Stages::Window windowAt(int window) const
    {
        return Stages::windowAt(patch.table, job.layout, indexOf(window));
    }
    __device__ __forceinline__ int windows() const { return shape.cols * shape.rows; }
    __device__ __forceinline__ uint16_t* listOf(int turn) const { return lists + (turn & 1) * windows(); }
};

//! Bits of a row of a tile.
__device__ __forceinline__ uint64_t rowBits(const uint32_t* bits, const Shape& shape, int row)
{
    if (shape.cols == 64)
        return static_cast<uint64_t>(bits[2 * row + 1]) << 32 | bits[2 * row];
    const int first = row << shape.columnBits;
    const uint32_t mask = shape.cols == 32 ? 0xffffffffu : (1u << shape.cols) - 1u;
    return (bits[first >> 5] >> (first & 31)) & mask;
}

__device__ __forceinline__ void append(const Lists& lists, int picture, Key key, double weight)
{
    const int slot = atomicAdd(&lists.counts[picture], 1);
    if (slot >= lists.capacity)
        return;
    const size_t place = static_cast<size_t>(picture) * lists.capacity + slot;
    lists.keys[place] = key;
    lists.weights[place] = weight;
}

__device__ __forceinline__ bool masked(const SourceRecord& source, const Box& box)
{
    return source.mask && __ldg(source.mask + centreOf(box.y, box.height, source.rows) * source.maskStep +
                                centreOf(box.x, box.width, source.cols)) == 0;
}

//! A window that passed all stages.
__device__ __forceinline__ void found(const Tile& t, int window, double weight)
{
    const TileRecord& tile = t.shared.tile;
    const GridRecord& grid = t.shared.grid;
    const int column = t.columnOf(window), row = t.rowOf(window);
    const int x = (tile.col + column) * grid.step, y = (tile.row + row) * grid.step;
    if (masked(t.shared.source, boxOf(x, y, grid.factor, grid.boxWidth, grid.boxHeight)))
        return;
    const Key key = keyOf(tile.picture, tile.scale, x, y);
    const uint64_t before = (static_cast<uint64_t>(1) << column) - 1;
    if (tile.col == 0 || (rowBits(t.shared.fails, t.shape, row) & before) != before)
        return append(t.job.lists, tile.picture, key, weight);
    const int slot = atomicAdd(t.job.lists.pendingCount(t.job.pictures), 1);
    t.job.lists.pending[slot] = {key,    weight, tile.word + row * grid.rowWords, tile.col >> t.shape.columnBits,
                                 column, 0};
}

//! Contrast of all windows, as norms. Needs the tables of squares and sums one after the other in the same memory.
__device__ __forceinline__ void measureContrast(const Tile& t)
{
    const ModelView& model = t.job.model;
    const Shape& shape = t.shape;
    const int a = shape.place(1, 1), b = shape.place(model.width - 1, 1), c = shape.place(1, model.height - 1),
              d = shape.place(model.width - 1, model.height - 1);
    uint32_t* const squares = reinterpret_cast<uint32_t*>(t.norms);
    makeTable<true>(shape, t.patch);
    __syncthreads(); // squares
    for (int w = threadIdx.x; w < t.windows(); w += tuning::THREADS)
        if (t.has(w))
        {
            const uint32_t* const at = t.patch.table + t.indexOf(w);
            squares[w] = at[a] - at[b] - at[c] + at[d];
        }
    __syncthreads(); // squares are read
    makeTable<false>(shape, t.patch);
    __syncthreads(); // sums
    const int area = contrastArea(model.width, model.height);
    for (int w = threadIdx.x; w < t.windows(); w += tuning::THREADS) // those whose squares this thread has
        if (t.has(w))
        {
            const uint32_t* const at = t.patch.table + t.indexOf(w);
            const int64_t contrast = contrastOf(at[a] - at[b] - at[c] + at[d], squares[w], area);
            t.norms[w] = contrast >= model.leastContrast ? normOf(contrast) : 0.f;
        }
}

/** U chunks of 32 windows through a stage, a window a lane. FIRST: all windows of the tile, chunks are words of bits; else the list
`in`, from which those that pass go to the list `out`, or are reported after the last stage. */
template <class Stages, bool FIRST, int U>
__device__ __forceinline__ void stageChunks(const Tile& t, const StageRecord& stage, bool last, int chunk,
                                            const uint16_t* in, int count, uint16_t* out, int* outCount)
{
    const int lane = threadIdx.x & 31;
    int window[U];
    bool wanted[U];
    typename Stages::Window places[U];
    float norm[U];
    bool any = false;
#pragma unroll
    for (int u = 0; u < U; ++u)
    {
        const int i = (chunk + u * WARPS) * 32 + lane;
        wanted[u] = FIRST ? t.has(i) : i < count;
        window[u] = FIRST ? (wanted[u] ? i : 0) : in[wanted[u] ? i : 0];
        norm[u] = Stages::NORM ? t.norms[window[u]] : 0.f;
        wanted[u] = wanted[u] && (!Stages::NORM || norm[u] != 0.f);
        places[u] = t.template windowAt<Stages>(window[u]);
        any = any || wanted[u];
    }
    if (FIRST && !__any_sync(ALL_LANES, any))
    {
        for (int u = 0; u < U && lane == 0; ++u)
            t.shared.fails[chunk + u * WARPS] = t.shared.passes[chunk + u * WARPS] = 0;
        return;
    }
    typename Stages::Sum sum[U];
    Stages::sum(t.job.model, t.shape, stage, places, norm, sum);
#pragma unroll
    for (int u = 0; u < U; ++u)
    {
        const bool pass = wanted[u] && !Stages::fails(sum[u], stage);
        const uint32_t passes = __ballot_sync(ALL_LANES, pass);
        if (FIRST)
        {
            const uint32_t fails = __ballot_sync(ALL_LANES, wanted[u] && !pass);
            if (lane == 0)
            {
                t.shared.fails[chunk + u * WARPS] = fails;
                t.shared.passes[chunk + u * WARPS] = passes;
            }
        }
        else if (last)
        {
            if (pass)
                found(t, window[u], Stages::weight(sum[u], stage));
        }
        else if (passes)
        {
            int first = 0;
            if (lane == 0)
                first = atomicAdd(outCount, __popc(passes));
            first = __shfl_sync(ALL_LANES, first, 0);
            if (pass)
                out[first + __popc(passes & ((1u << lane) - 1u))] = static_cast<uint16_t>(window[u]);
        }
    }
}

//! All chunks of this warp, several at a time as long as there are so many.
template <class Stages, bool FIRST>
__device__ __forceinline__ void stageOfWindows(const Tile& t, const StageRecord& stage, bool last, const uint16_t* in,
                                               int count, uint16_t* out, int* outCount)
{
    const int chunks = (count + 31) / 32;
    for (int chunk = threadIdx.x >> 5; chunk < chunks;)
    {
        const int mine = (chunks - chunk + WARPS - 1) / WARPS;
        const auto run = [&](auto windows)
        {
            stageChunks<Stages, FIRST, windows.value>(t, stage, last, chunk, in, count, out, outCount);
            chunk += windows.value * WARPS;
        };
        if (Stages::WINDOWS >= 4 && mine >= 4)
            run(std::integral_constant < int, Stages::WINDOWS >= 4 ? 4 : 1 > ());
        else if (Stages::WINDOWS >= 2 && mine >= 2)
            run(std::integral_constant < int, Stages::WINDOWS >= 2 ? 2 : 1 > ());
        else
            run(std::integral_constant<int, 1>());
    }
}

//! Sum of a stage for a window that `lanes` neighbouring threads share; all of the warp come here together.
template <class Stages>
__device__ __forceinline__ typename Stages::Sum sharedSum(const Tile& t, const StageRecord& stage, int window, int lane,
                                                          int lanes)
{
    typename Stages::Sum sum = Stages::part(t.job.model, t.shape, stage, t.template windowAt<Stages>(window),
                                            Stages::NORM ? t.norms[window] : 0.f, lane, lanes);
    for (int d = lanes / 2; d > 0; d /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, d);
    return sum;
}

//! A stage for few windows: `lanes` threads, 2 to 32, for each.
template <class Stages>
__device__ __forceinline__ void stageOfLanes(const Tile& t, const StageRecord& stage, bool last, int lanes,
                                             const uint16_t* in, int count, uint16_t* out, int* outCount)
{
    const int groups = tuning::THREADS / lanes, lane = threadIdx.x % lanes;
    for (int first = 0; first < count; first += groups)
    {
        const int i = first + static_cast<int>(threadIdx.x) / lanes;
        const int window = in[i < count ? i : 0];
        const typename Stages::Sum sum = sharedSum<Stages>(t, stage, window, lane, lanes);
        if (lane != 0 || i >= count || Stages::fails(sum, stage))
            continue;
        if (last)
            found(t, window, Stages::weight(sum, stage));
        else
            out[atomicAdd(outCount, 1)] = static_cast<uint16_t>(window);
    }
}

//! All stages from `first` on for a window a warp. No barriers.
template <class Stages>
__device__ __forceinline__ void remainingStages(const Tile& t, int first, const uint16_t* in, int count)
{
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, stages = t.job.model.stages;
    if (warp >= count)
        return;
    const int window = in[warp];
    for (int s = first; s < stages; ++s)
    {
        const StageRecord stage = t.job.model.stage[s];
        const typename Stages::Sum sum = sharedSum<Stages>(t, stage, window, lane, 32);
        if (Stages::fails(sum, stage))
            return;
        if (s == stages - 1 && lane == 0)
            found(t, window, Stages::weight(sum, stage));
    }
}

//! The first stage's bits become the first list, without windows that are surely skipped.
__device__ __forceinline__ void listFirst(const Tile& t)
{
    const TileRecord& tile = t.shared.tile;
    for (int row = threadIdx.x; row < t.rows; row += tuning::THREADS)
    {
        const uint64_t fails = rowBits(t.shared.fails, t.shape, row);
        t.job.lists.runs[tile.word + row * t.shared.grid.rowWords] = fails;
        bool skipped = true, looked = false; // the first window
        const uint64_t both = skippedOf(fails, looked) & (tile.col > 0 ? skippedOf(fails, skipped) : ~0ull);
        uint64_t left = rowBits(t.shared.passes, t.shape, row) & ~both;
        if (left == 0)
            continue;
        int place = atomicAdd(&t.shared.counts[0], __popcll(left));
        for (; left; left &= left - 1)
            t.lists[place++] = static_cast<uint16_t>(row * t.shape.cols + __ffsll(static_cast<long long>(left)) - 1);
    }
}

//! The stages after the first; the only one of a cascade once more, for its sum.
template <class Stages> __device__ __forceinline__ void laterStages(const Tile& t)
{
    const int stages = t.job.model.stages;
    int count = t.shared.counts[0], turn = 0;
    for (int s = stages > 1 ? 1 : 0; s < stages && count > 0; ++s)
    {
        if (Stages::LANES && count <= WARPS)
            return remainingStages<Stages>(t, s, t.listOf(turn), count);
        const StageRecord stage = t.job.model.stage[s];
        const uint16_t* const in = t.listOf(turn);
        uint16_t* const out = t.listOf(turn + 1);
        int* const outCount = &t.shared.counts[(turn + 1) % 3];
        const bool last = s == stages - 1;
        if (Stages::LANES && count <= tuning::THREADS / 2)
            stageOfLanes<Stages>(t, stage, last, 1 << (31 - __clz(tuning::THREADS / count)), in, count, out, outCount);
        else
            stageOfWindows<Stages, false>(t, stage, last, in, count, out, outCount);
        if (threadIdx.x == 0)
            t.shared.counts[(turn + 2) % 3] = 0; // read by all before the last barrier
        __syncthreads();                         // the list
        ++turn;
        count = t.shared.counts[turn % 3];
    }
}

//! A tile, from the picture to what is found.
template <class Stages> __device__ __forceinline__ void classifyTile(const Tile& t)
{
    const TileRecord& tile = t.shared.tile;
    const GridRecord& grid = t.shared.grid;
    resizePatch(t.job, t.shared.source, grid, t.shape, tile.col * grid.step, tile.row * grid.step, t.patch);
    __syncthreads(); // pixels
    if (Stages::NORM)
        measureContrast(t);
    else
        makeTable<false>(t.shape, t.patch);
    if (t.job.model.tilted)
        makeTilted(t.shape, t.patch);
    __syncthreads(); // tables and norms; the patch is spent
    stageOfWindows<Stages, true>(t, t.job.model.stage[0], false, nullptr, t.windows(), nullptr, nullptr);
    __syncthreads(); // bits
    listFirst(t);
    __syncthreads(); // the first list
    laterStages<Stages>(t);
}

template <class Stages>
__global__ void __launch_bounds__(tuning::THREADS, Stages::LANES ? tuning::BLOCKS : 1)
    classifyTiles(const __grid_constant__ Classification job)
{
    __shared__ Shared shared;
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(dynamicMemory);
    uint8_t* slice = bytes;
    if constexpr (!Stages::LANES) // else the compiler would not know that tables are in shared memory
        if (job.layout.global)
            slice = job.slices + static_cast<size_t>(blockIdx.x) * job.layout.sliceBytes;
    for (int i = blockIdx.x; i < job.tileCount; i += gridDim.x)
    {
        if (threadIdx.x == 0)
        {
            shared.tile = job.tiles[i];
            shared.grid = job.grids[shared.tile.grid];
            shared.source = job.sources[shared.tile.picture];
            shared.counts[0] = shared.counts[1] = shared.counts[2] = 0;
        }
        __syncthreads(); // the tile's records
        const Shape& shape = job.shapes[shared.grid.step - 1];
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
        t.patch = {slice + job.layout.patch, table, table + shape.words,
                   (t.cols - 1) * shared.grid.step + job.model.width,
                   (t.rows - 1) * shared.grid.step + job.model.height};
        classifyTile<Stages>(t);
        __syncthreads(); // all are done with what they share
    }
}

//! Candidates whose tile alone could not tell whether they are skipped: those after a run of odd length are.
__global__ void __launch_bounds__(tuning::RESOLVE_THREADS) resolve(const Lists lists, int pictures, int columnBits)
{
    const int full = 1 << columnBits, count = *lists.pendingCount(pictures);
    for (int i = blockIdx.x * tuning::RESOLVE_THREADS + threadIdx.x; i < count;
         i += tuning::RESOLVE_BLOCKS * tuning::RESOLVE_THREADS)
    {
        const Pending p = lists.pending[i];
        int run = p.column;
        for (int k = 1, ones = full; k <= p.wordInRow && ones == full; ++k)
        {
            ones = ::min(__clzll(static_cast<long long>(~(lists.runs[p.word - k] << (64 - full)))), full);
            run += ones;
        }
        if ((run & 1) == 0)
            append(lists, pictureOf(p.key), p.key, p.weight);
    }
}

template <class Stages> static void launchTiles(const Classification& job, cudaStream_t stream)
{
    const int blocks = job.layout.global ? std::min(job.tileCount, tuning::GLOBAL_BLOCKS) : job.tileCount;
    detail::launch("cascade classify", classifyTiles<Stages>, dim3(blocks), dim3(tuning::THREADS), job.layout.bytes,
                   stream, job);
}

} // namespace

void classify(const Classification& job, detail::StreamHandle stream)
{
    const ModelView& model = job.model;
    detail::cudaCheck(cudaMemsetAsync(job.lists.counts, 0, sizeof(int) * (job.pictures + 1), stream), "cascade counts");
    if (!model.packed)
        model.kind == HAAR ? launchTiles<OrderedStages<true>>(job, stream)
                           : launchTiles<OrderedStages<false>>(job, stream);
    else if (model.stumps)
        model.kind == HAAR ? launchTiles<PackedStages<HaarNode, true>>(job, stream)
                           : launchTiles<PackedStages<LbpNode, true>>(job, stream);
    else
        model.kind == HAAR ? launchTiles<PackedStages<HaarNode, false>>(job, stream)
                           : launchTiles<PackedStages<LbpNode, false>>(job, stream);
    detail::launch("cascade resolve", resolve, dim3(tuning::RESOLVE_BLOCKS), dim3(tuning::RESOLVE_THREADS), 0, stream,
                   job.lists, job.pictures, job.shapes[0].columnBits);
}

}}}} // namespace cv::cuda::cascade::gpu
