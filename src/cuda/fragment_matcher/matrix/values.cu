// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC by matrix instructions: computes the values of all positions and the best of each tile;
// the block that finishes a fragment's last tile finds its peaks.
//
// Without weights, box sums of I and I^2 come from running sums down the columns and a scan of each row: exact, with a
// cost that does not depend on the fragment's width; h + rows loads per column of a block.
//
// Cost in bytes: 4 to 16 read and 4 or 8 written per position, and 4 (h + rows) / rows read of the image, mostly from
// cache. Bound by latency and, for ZNCC, by four scans per row.

#include "bands_device.hpp"
#include "../common/value.hpp"
#include "../common/find_peaks.hpp"
#include <cuda_pipeline.h>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::Windows;

const int THREADS = tuning::BAND_THREADS, WARPS = THREADS / 32;
const int COLS = gpu::BAND_COLS, ROWS = tuning::TILE_ROWS; // positions per block
const int GROUPS = WARPS * tuning::TILE_COLS / COLS;       // warps that share 64 x 16 positions
const int EACH = ROWS / GROUPS * tuning::TILE_COLS / 32;   // positions per thread

/** Lines of prefix sums in shared memory, for the box sums of a block's rows of positions: of I^2 over all channels
and, with IMAGE, of I per channel. Element x of a line is the sum of the columns before x, modulo 2^32 or 2^64, which
box sums fit: those of I have at most 53,824 pixels. */
template <typename Square> struct Boxes
{
    Square* squares;
    uint32_t* image; //!< channel after channel
    int pitch, channelStep;
};

//! Loads up to N pixels of a column, the others are 0; all loads are issued before the first is used.
template <int N, typename Pixel>
__device__ __forceinline__ void loadColumn(const Pixel* pixels, int pitch, int rows, uint32_t (&column)[N])
{
    if (rows >= N)
    {
#pragma unroll
        for (int i = 0; i < N; ++i, pixels += pitch)
            column[i] = __ldg(pixels);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i, pixels += pitch)
        column[i] = i < rows ? __ldg(pixels) : 0;
}

//! Sums over pixels of a column: of squares over all channels and, with IMAGE, of each channel.
template <bool IMAGE, int CHANNELS> struct ColumnSums
{
    uint32_t squares = 0;          //!< modulo 2^32: see gpu::SUM_ROWS
    uint32_t image[CHANNELS] = {}; //!< at most 32,767 * 255

    __device__ __forceinline__ void add(uint32_t pixel)
    {
        squares = dot4(pixel, pixel, squares);
        if (IMAGE)
        {
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
                image[c] = dot4(pixel, 1u << (8 * c), image[c]);
        }
    }
};

//! Computes, per column and for each of `rows` rows of positions, the sums over `height` rows of pixels from that row
//! on.
template <bool IMAGE, typename Pixel, typename Square>
__device__ void columnSums(const Pixel* pixels, int pitch, int cols, int rows, int height, const Boxes<Square>& boxes)
{
    constexpr int CHANNELS = sizeof(Pixel) == 1 ? 1 : 3, N = gpu::SUM_ROWS;
    constexpr bool WIDE = sizeof(Square) > sizeof(uint32_t);
    static_assert(!WIDE || ROWS <= N, "rows that enter or leave after the first row of positions");
    const int groups = ::max(THREADS / cols, 1), share = detail::ceilDiv(rows, groups);
    for (Steps at(cols); at.row < groups; at.next())
    {
        const int begin = at.row * share, end = ::min(begin + share, rows);
        if (begin >= end)
            break;
        ColumnSums<IMAGE, CHANNELS> entered, left; // two sums that only grow take one instruction per pixel each
        Square first = 0;                          // WIDE: squares of the first row of positions
        const Pixel* const column = pixels + static_cast<size_t>(begin) * pitch + at.col;
#pragma unroll 1
        for (int r = 0; r < height; r += N)
        {
            uint32_t loaded[N];
            loadColumn<N>(column + r * pitch, pitch, height - r, loaded);
#pragma unroll
            for (int i = 0; i < N; ++i)
                entered.add(loaded[i]);
            if (WIDE)
            {
                first += entered.squares; // of N rows
                entered.squares = 0;
            }
        }
        int to = begin * boxes.pitch + at.col;
#pragma unroll 1
        for (int j = begin; j < end; j += N / 2)
        {
            uint32_t entering[N / 2], leaving[N / 2];
            const Pixel* const from = column + (j - begin) * pitch;
            loadColumn<N / 2>(from + height * pitch, pitch, end - 1 - j, entering);
            loadColumn<N / 2>(from, pitch, end - 1 - j, leaving);
#pragma unroll
            for (int i = 0; i < N / 2; ++i, to += boxes.pitch)
            {
                if (j + i >= end)
                    break;
                // WIDE: only rows that entered or left since the first. Otherwise all, and box sums fit 32 bits,
                // whatever columns do.
                boxes.squares[to] = first + static_cast<Square>(static_cast<int32_t>(entered.squares - left.squares));
                if (IMAGE)
                {
#pragma unroll
                    for (int c = 0; c < CHANNELS; ++c)
                        boxes.image[c * boxes.channelStep + to] = entered.image[c] - left.image[c];
                }
                entered.add(entering[i]);
                left.add(leaving[i]);
            }
        }
    }
}

/** Replaces lines of `cols` sums by their prefix sums, cols + 1 of them: a box sum is the difference of two. A warp
processes two lines at a time, so that steps of one hide the latency of the other. */
template <typename Sum> __device__ __forceinline__ void scanLines(Sum* sums, int lines, int cols, int pitch)
{
    constexpr int SHARE = 7, TWO = 2; // SHARE: elements per lane; odd, to avoid bank conflicts
    const int lane = threadIdx.x % 32;
    for (int line = threadIdx.x / 32; line < lines; line += TWO * WARPS)
    {
        Sum carry[TWO] = {};
#pragma unroll 1
        for (int first = SHARE * lane; first - SHARE * lane <= cols; first += 32 * SHARE)
        {
            Sum values[TWO][SHARE], total[TWO], before[TWO];
#pragma unroll
            for (int i = 0; i < TWO; ++i)
            {
                total[i] = 0;
                const bool any = line + i * WARPS < lines;
                const Sum* const mine = sums + (line + i * WARPS) * pitch + first;
#pragma unroll
                for (int k = 0; k < SHARE; ++k)
                {
                    values[i][k] = any && first + k < cols ? mine[k] : 0;
                    total[i] += values[i][k];
                }
                before[i] = total[i];
            }
#pragma unroll
            for (int distance = 1; distance < 32; distance *= 2)
#pragma unroll
                for (int i = 0; i < TWO; ++i)
                {
                    const Sum other = __shfl_up_sync(~0u, before[i], distance);
                    before[i] += lane >= distance ? other : 0;
                }
#pragma unroll
            for (int i = 0; i < TWO; ++i)
            {
                const Sum all = __shfl_sync(~0u, before[i], 31);
                before[i] += carry[i] - total[i];
                carry[i] += all;
                Sum* const mine = sums + (line + i * WARPS) * pitch + first;
#pragma unroll
                for (int k = 0; k < SHARE; ++k)
                {
                    if (line + i * WARPS < lines && first + k <= cols)
                        mine[k] = before[i];
                    before[i] += values[i][k];
                }
            }
        }
    }
}

//! Returns the index of the first pixel of position (x, y) of a window in the planes.
__device__ __forceinline__ size_t firstPixel(const BandPlan& plan, const SearchWindow& window, int x, int y)
{
    return static_cast<size_t>(window.y - plan.region.y + y) * plan.pitch + window.x - plan.region.x + x;
}

//! Returns the sums of columns in device memory from position (x, y) of a window on.
__device__ __forceinline__ uint32_t* columnsOf(const BandPlan& plan, const BandMemory& memory, int e, int x, int y)
{
    return memory.columns + e * plan.columnsEach + static_cast<size_t>(y) * plan.pitch + x;
}

//! Copies `rows` rows of sums of columns from device memory, instead of columnSums().
template <bool IMAGE, int CHANNELS, typename Square>
__device__ void copyColumns(const uint32_t* columns, const BandPlan& plan, int cols, int rows,
                            const Boxes<Square>& boxes)
{
    const size_t plane = static_cast<size_t>(plan.pitch) * plan.sumsRows;
    for (Steps at(cols); at.row < rows; at.next())
    {
        const uint32_t* const from = columns + static_cast<size_t>(at.row) * plan.pitch + at.col;
        const int to = at.row * boxes.pitch + at.col;
        uint32_t* const square = reinterpret_cast<uint32_t*>(boxes.squares + to);
        __pipeline_memcpy_async(square, from, sizeof(uint32_t));
        if (sizeof(Square) > sizeof(uint32_t))
            square[1] = 0; // the high half
#pragma unroll
        for (int c = 0; IMAGE && c < CHANNELS; ++c)
            __pipeline_memcpy_async(boxes.image + c * boxes.channelStep + to, from + (1 + c) * plane, sizeof(uint32_t));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

/** Computes the box sums of `rows` rows of positions from position (x, y) of the window of entry e on. Begins and ends
with a barrier.
@param cols columns of pixels. */
template <bool IMAGE, int CHANNELS, typename Square>
__device__ void boxSums(const BandPlan& plan, const BandMemory& memory, int e, const SearchWindow& window, int x, int y,
                        int cols, int rows, int height, const Boxes<Square>& boxes)
{
    const size_t first = static_cast<size_t>(window.y - plan.region.y + y) * plan.pitch + window.x - plan.region.x + x;
    __syncthreads(); // the previous box sums have been read
    if (plan.columnsEach > 0)
        copyColumns<IMAGE, CHANNELS>(columnsOf(plan, memory, e, x, y), plan, cols, rows, boxes);
    else if constexpr (CHANNELS == 1)
        columnSums<IMAGE>(memory.planes + first, plan.pitch, cols, rows, height, boxes);
    else
        columnSums<IMAGE>(memory.pixels + first, plan.pitch, cols, rows, height, boxes);
    __syncthreads(); // columns are complete
    scanLines(boxes.squares, rows, cols, plan.slabPitch);
    if (IMAGE) // lines of all channels follow each other
        scanLines(boxes.image, CHANNELS * plan.slabRows, cols, plan.slabPitch);
    __syncthreads(); // lines are complete
}

//! Reads the box sums of a position. @param box index of its first column in the lines.
template <bool IMAGE, int CHANNELS, typename Square>
__device__ __forceinline__ void boxAt(const Boxes<Square>& boxes, int box, int width, Square& squares,
                                      uint32_t (&image)[CHANNELS])
{
    squares = boxes.squares[box + width] - boxes.squares[box];
#pragma unroll
    for (int c = 0; IMAGE && c < CHANNELS; ++c)
    {
        const uint32_t* const line = boxes.image + c * boxes.channelStep + box;
        image[c] = line[width] - line[0];
    }
}

//! Positions of a thread, among those of a block that starts at (x, y) of the window: every 32nd column of 64, in every
//! GROUPS-th row.
struct ThreadPositions
{
    int cols, rows; //!< size of the block in positions
    int firstColumn, firstRow;

    __device__ __forceinline__ ThreadPositions(const SearchWindow& window, int x, int y)
        : cols(::min(COLS, window.cols - x)), rows(::min(ROWS, window.rows - y))
    {
        const int warp = threadIdx.x / 32;
        firstRow = warp % GROUPS;
        firstColumn = warp / GROUPS * tuning::TILE_COLS + threadIdx.x % 32;
    }
    __device__ __forceinline__ int row(int k) const { return firstRow + k / 2 * GROUPS; }
    __device__ __forceinline__ int column(int k) const { return firstColumn + k % 2 * 32; }
    __device__ __forceinline__ bool any(int k) const { return row(k) < rows && column(k) < cols; }
};

//! Loads the output of correlate for a thread's positions. @param sums sum of the block's first position.
template <bool WEIGHTED, typename Sum>
__device__ __forceinline__ void loadMoments(const Sum* sums, const BandPlan& bands, const ThreadPositions& mine,
                                            Sum (&cross)[EACH], Sum (&squares)[WEIGHTED ? EACH : 1])
{
#pragma unroll
    for (int k = 0; k < EACH; ++k)
    {
        const size_t at = static_cast<size_t>(mine.row(k)) * bands.sumsPitch + mine.column(k);
        cross[k] = mine.any(k) ? sums[at] : 0;
        if (WEIGHTED)
            squares[WEIGHTED ? k : 0] = mine.any(k) ? sums[at + bands.sumsEach / 2] : 0;
    }
}

//! Stores the best of each tile of 64 x 16 positions, from the bests of its warps.
template <typename Value>
__device__ void storeBests(const SearchWindow& window, int x, int y, Best best, TileBest* bests, Best* scratch)
{
    best = warpBest<Value>(best);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = best;
    __syncthreads(); // the warps' bests are complete
    x += threadIdx.x * tuning::TILE_COLS;
    if (threadIdx.x >= WARPS / GROUPS || x >= window.cols)
        return;
    best = Best::none();
    for (int k = 0; k < GROUPS; ++k)
        best.take(scratch[threadIdx.x * GROUPS + k].value, scratch[threadIdx.x * GROUPS + k].index);
    const int tilesX = detail::ceilDiv(window.cols, tuning::TILE_COLS);
    bests[y / tuning::TILE_ROWS * tilesX + x / tuning::TILE_COLS] = {best.value, best.index, best.index / window.cols};
}

template <Metric METRIC, bool WEIGHTED, bool WIDE, int CHANNELS, int BLOCKS = tuning::BAND_VALUE_BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    bandValuesKernel(const Settings settings, const __grid_constant__ BandPlan bands,
                     const __grid_constant__ BandMemory memory, const __grid_constant__ Windows windows,
                     const Best* walked, const Outputs out)
{
    using Value = std::conditional_t<!isCorrelation(METRIC) && WIDE, uint64_t, uint32_t>;
    using Sum = std::conditional_t<WIDE, uint64_t, uint32_t>;
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ gpu::OpenEntry entry;

    const int gridX = detail::ceilDiv(windows.cols, COLS), gridTiles = gridX * windows.tilesY;
    const int e = blockIdx.x / gridTiles, gridTile = blockIdx.x - e * gridTiles, tileY = gridTile / gridX;
    const int x = (gridTile - tileY * gridX) * COLS, y = tileY * ROWS;
    loadEntry(memory, e, &entry);
    __syncthreads(); // the entry is complete
    const SearchWindow& window = entry.window;
    if (entry.status != STATUS_FOUND || x >= window.cols || y >= window.rows)
    {
        detail::waitForKernelBefore();
        if (entry.status != STATUS_FOUND && gridTile == 0 && threadIdx.x == 0)
            reportNothing(out, entry.i, settings.peaks, entry.status);
        return;
    }

    const ThreadPositions mine(window, x, y);
    const size_t first =
        e * bands.sumsEach + static_cast<size_t>(y) * bands.sumsPitch + x + beforeWindow(bands, window.x);
    Sum cross[EACH], squares[WEIGHTED ? EACH : 1];
    const int width = entry.fragment.width, slabWords = bands.slabRows * bands.slabPitch;
    const Boxes<Sum> boxes = {reinterpret_cast<Sum*>(shared), shared + slabWords * (sizeof(Sum) / 4), bands.slabPitch,
                              slabWords};
    const ValueTerms terms = termsOf<METRIC, WEIGHTED>(entry.fragment);
    Value* const values = static_cast<Value*>(windows.values) + static_cast<size_t>(e) * windows.cols * windows.rows;
    Value least = static_cast<Value>(~static_cast<Value>(0));
    int leastIndex = Best::NONE; // indices of a thread ascend, so the first of equal values stays
#pragma unroll 1
    for (int slab = 0; slab < mine.rows; slab += bands.slabRows)
    {
        const int slabRows = ::min(bands.slabRows, mine.rows - slab);
        if (!WEIGHTED)
            boxSums<isCorrelation(METRIC), CHANNELS>(bands, memory, e, window, x, y + slab, mine.cols + width - 1,
                                                     slabRows, entry.fragment.height, boxes);
        if (slab == 0)
        {
            detail::waitForKernelBefore(); // box sums do not depend on correlate
            loadMoments<WEIGHTED>(static_cast<const Sum*>(memory.sums) + first, bands, mine, cross, squares);
        }
#pragma unroll
        for (int k = 0; k < EACH; ++k)
        {
            const int row = mine.row(k) - slab;
            if (row < 0 || row >= slabRows || !mine.any(k))
                continue;
            uint32_t image[CHANNELS] = {};
            if (!WEIGHTED)
                boxAt<isCorrelation(METRIC)>(boxes, row * bands.slabPitch + mine.column(k), width, squares[0], image);
            const Value value =
                static_cast<Value>(valueOf<METRIC, WEIGHTED, WIDE>(cross[k], squares[WEIGHTED ? k : 0], image, terms));
            const int index = (y + mine.row(k)) * window.cols + x + mine.column(k);
            values[index] = value;
            if (value < least || leastIndex == Best::NONE)
                least = value, leastIndex = index;
        }
    }
    TileBest* const bests = windows.bests + static_cast<size_t>(e) * windows.tilesX * windows.tilesY;
    const Best best = {leastIndex == Best::NONE ? ~0ull : least, leastIndex};
    storeBests<Value>(window, x, y, best, bests, scratch.warps[0]);
    const int rowsOfTiles = detail::ceilDiv(window.rows, ROWS);
    if (settings.peaks > 0 && lastOfEntry(detail::ceilDiv(window.cols, COLS) * rowsOfTiles, windows.finished + e))
    {
        const int tilesX = detail::ceilDiv(window.cols, tuning::TILE_COLS);
        const Entry whole = {entry.i, entry.fragment, entry.window};
        findPeaks<THREADS>(whole, settings, values, bests, TileGrid{tilesX, tilesX * rowsOfTiles, ROWS, 0},
                           walked ? walked + e : nullptr, valueScale(METRIC, WEIGHTED), out, &scratch,
                           reinterpret_cast<TileBest*>(shared), bands.valueSharedBytes);
    }
}

//! Sums up THREADS columns for BAND_COLUMN_ROWS rows of positions in each block.
template <bool IMAGE, int CHANNELS>
__global__ void __launch_bounds__(THREADS)
    sumColumnsKernel(const __grid_constant__ BandPlan plan, const __grid_constant__ BandMemory memory)
{
    const int blocksX = detail::ceilDiv(plan.pitch, THREADS);
    const int blocks = blocksX * detail::ceilDiv(plan.sumsRows, tuning::BAND_COLUMN_ROWS);
    const int e = blockIdx.x / blocks, block = blockIdx.x - e * blocks, blockY = block / blocksX;
    const int x = (block - blockY * blocksX) * THREADS, y = blockY * tuning::BAND_COLUMN_ROWS;
    detail::letNextKernelBegin();
    const gpu::OpenEntry& entry = memory.entries[e];
    const SearchWindow window = entry.window;
    const int cols = ::min(THREADS, window.cols + entry.fragment.width - 1 - x);
    const int rows = ::min(tuning::BAND_COLUMN_ROWS, window.rows - y);
    if (entry.status == STATUS_FOUND && cols > 0 && rows > 0)
    {
        uint32_t* const columns = columnsOf(plan, memory, e, x, y);
        const int plane = plan.pitch * plan.sumsRows;
        const Boxes<uint32_t> boxes = {columns, columns + plane, plan.pitch, plane};
        const size_t first = firstPixel(plan, window, x, y);
        if constexpr (CHANNELS == 1)
            columnSums<IMAGE>(memory.planes + first, plan.pitch, cols, rows, entry.fragment.height, boxes);
        else
            columnSums<IMAGE>(memory.pixels + first, plan.pitch, cols, rows, entry.fragment.height, boxes);
    }
    detail::waitForKernelBefore(); // so that kernels that wait for this one find what the one before has written
}

template <Metric METRIC, bool WEIGHTED, bool WIDE>
void launchValues(const gpu::Job& job, const BandPlan& plan, const BandMemory& memory, const Windows& windows)
{
    const int channels = job.batch.channels;
    const int64_t blocks = static_cast<int64_t>(detail::ceilDiv(windows.cols, COLS)) * windows.tilesY * job.batch.count;
    auto kernel =
        channels == 1 ? bandValuesKernel<METRIC, WEIGHTED, WIDE, 1> : bandValuesKernel<METRIC, WEIGHTED, WIDE, 3>;
    constexpr bool many = isCorrelation(METRIC) && !WEIGHTED && !WIDE; // many sums per position
    if (many && channels == 3 && blocks <= 2 * detail::multiprocessors())
        kernel = bandValuesKernel < METRIC, WEIGHTED, WIDE, 3, many ? 2 : tuning::BAND_VALUE_BLOCKS > ;
    detail::launchEarly("bandValues", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), plan.valueSharedBytes,
                        job.stream, job.settings, plan, memory, windows, job.walked, job.outputs);
}

} // namespace

namespace gpu {

void sumColumns(const Job& job, const BandPlan& plan, const BandMemory& memory)
{
    const bool image = isCorrelation(job.settings.metric), gray = job.batch.channels == 1;
    const auto kernel = image ? (gray ? sumColumnsKernel<true, 1> : sumColumnsKernel<true, 3>)
                              : (gray ? sumColumnsKernel<false, 1> : sumColumnsKernel<false, 3>);
    const int64_t blocks = static_cast<int64_t>(detail::ceilDiv(plan.pitch, THREADS)) *
                           detail::ceilDiv(plan.sumsRows, tuning::BAND_COLUMN_ROWS) * job.batch.count;
    detail::launchEarly("sumColumns", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), 0, job.stream, plan,
                        memory);
}

void valuesOfBands(const Job& job, const BandPlan& plan, const BandMemory& memory, const Windows& windows)
{
    forProduct(job.settings.metric,
               [&](auto metric)
               {
                   const auto launch = job.batch.weighted ? launchValues<metric.value, true, true>
                                       : plan.wide        ? launchValues<metric.value, false, true>
                                                          : launchValues<metric.value, false, false>;
                   launch(job, plan, memory, windows);
               });
}

void matchBands(const Job& job, const BandPlan& plan, const BandMemory& memory, const Windows& windows)
{
    prepareBands(job, plan, memory, false);
    correlateBands(job, plan, memory);
    valuesOfBands(job, plan, memory, windows);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
