// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of 16 bits by matrix instructions: computes the values of all positions and the best of
// each tile; the block that finishes a fragment's last tile finds the peaks.
//
// Without weights, box sums of I and I^2 come from running sums down the columns and a scan of each line: exact, with a
// cost that does not depend on the fragment's width.
//
// Cost in bytes: 8 per sum and 16 per box sum read and 4 or 8 written per position; before that 24 per box sum, and
// 2 C (h + 2 rows) / rows read of the image, mostly from cache. Bound by memory.

#include "bands_device.hpp"
#include "deep_bands.hpp"
#include "deep_device.hpp"
#include "../common/find_peaks.hpp"
#include <cub/warp/warp_scan.cuh>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::DeepMemory;
using gpu::DeepPlan;
using gpu::Windows;

const int SUM_THREADS = tuning::DEEP_SUM_THREADS, THREADS = tuning::BAND_THREADS;

//! Sums over pixels of four neighbouring columns: of squares over all channels and, with IMAGE, of each channel.
template <bool IMAGE, int CHANNELS> struct ColumnSums
{
    uint64_t squares[4] = {};
    uint32_t image[CHANNELS][4] = {}; //!< at most 32,767 * 65,535

    //! Adds or subtracts a row. @param high the word of the first channel's high bytes.
    template <bool ADDS> __device__ __forceinline__ void change(const uint8_t* high, size_t planeBytes)
    {
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t highs = __ldg(reinterpret_cast<const uint32_t*>(high + c * planeBytes));
            const uint32_t lows = __ldg(reinterpret_cast<const uint32_t*>(high + (CHANNELS + c) * planeBytes));
#pragma unroll
            for (int k = 0; k < 4; ++k)
            {
                const uint32_t value = (highs >> (8 * k) & 0xff) << 8 | (lows >> (8 * k) & 0xff);
                const uint64_t square = static_cast<uint64_t>(value) * value;
                squares[k] += ADDS ? square : 0 - square;
                if (IMAGE)
                    image[c][k] += ADDS ? value : 0 - value;
            }
        }
    }
};

//! Returns the number of columns of the image that all positions of a window cover, and those before it.
__device__ __forceinline__ int columnsOf(const gpu::OpenEntry& entry, int before)
{
    return before + entry.window.cols + entry.fragment.width - 1;
}

//! Sums up four columns for DEEP_COLUMN_ROWS rows of positions.
template <bool IMAGE, int CHANNELS>
__device__ __forceinline__ void sumDeepColumns(const DeepPlan& plan, const DeepMemory& memory, const int64_t item)
{
    const BandPlan& bands = plan.bands;
    const int words = plan.linesPitch / 4, strips = detail::ceilDiv(bands.sumsRows, tuning::DEEP_COLUMN_ROWS);
    const int strip = static_cast<int>(item / words % strips), x = 4 * static_cast<int>(item % words);
    const size_t e = static_cast<size_t>(item / words / strips);
    const gpu::OpenEntry& entry = memory.bands.entries[e];
    const SearchWindow window = entry.window;
    const int y = strip * tuning::DEEP_COLUMN_ROWS, end = ::min(y + tuning::DEEP_COLUMN_ROWS, window.rows);
    const int before = beforeWindow(bands, window.x), height = entry.fragment.height;
    if (entry.status != STATUS_FOUND || x >= columnsOf(entry, before) || y >= end)
        return;
    const uint8_t* entering = memory.bands.planes + static_cast<size_t>(window.y - bands.region.y + y) * bands.pitch +
                              (window.x - before - bands.region.x + x);
    const uint8_t* leaving = entering;
    ColumnSums<IMAGE, CHANNELS> sums;
#pragma unroll 8
    for (int r = 0; r < height; ++r, entering += bands.pitch)
        sums.template change<true>(entering, bands.planeBytes);
    uint64_t* to = memory.lines + e * plan.linesEach + static_cast<size_t>(y) * plan.linesPitch + x;
    const size_t plane = static_cast<size_t>(bands.sumsRows) * plan.linesPitch;
    for (int row = y;; to += plan.linesPitch, entering += bands.pitch, leaving += bands.pitch)
    {
        ulonglong2* const squares = reinterpret_cast<ulonglong2*>(to);
        squares[0] = make_ulonglong2(sums.squares[0], sums.squares[1]);
        squares[1] = make_ulonglong2(sums.squares[2], sums.squares[3]);
#pragma unroll
        for (int c = 0; IMAGE && c < CHANNELS; ++c)
        {
            ulonglong2* const image = reinterpret_cast<ulonglong2*>(to + (1 + c) * plane);
            image[0] = make_ulonglong2(sums.image[c][0], sums.image[c][1]);
            image[1] = make_ulonglong2(sums.image[c][2], sums.image[c][3]);
        }
        if (++row == end)
            break;
        sums.template change<true>(entering, bands.planeBytes);
        sums.template change<false>(leaving, bands.planeBytes);
    }
}

//! Sums up columns, an item per thread; does not depend on correlate, so it runs beside it.
template <bool IMAGE, int CHANNELS>
__global__ void __launch_bounds__(SUM_THREADS)
    sumDeepColumnsKernel(const __grid_constant__ DeepPlan plan, const __grid_constant__ DeepMemory memory,
                         const int64_t items)
{
    detail::letNextKernelBegin();
    const int64_t item = static_cast<int64_t>(blockIdx.x) * SUM_THREADS + threadIdx.x;
    if (item < items)
        sumDeepColumns<IMAGE, CHANNELS>(plan, memory, item);
    detail::waitForKernelBefore(); // so that kernels that wait for this one find what the one before has written
}

//! Replaces a line of sums of columns by its prefix sums, one element more; a line per warp.
__global__ void __launch_bounds__(SUM_THREADS)
    scanDeepLinesKernel(const __grid_constant__ DeepPlan plan, const __grid_constant__ DeepMemory memory,
                        const int boxes, const int64_t lines)
{
    using Scan = cub::WarpScan<uint64_t>;
    __shared__ typename Scan::TempStorage storage[SUM_THREADS / 32];
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    const int64_t line = static_cast<int64_t>(blockIdx.x) * (SUM_THREADS / 32) + threadIdx.x / 32;
    if (line >= lines)
        return;
    const int rows = plan.bands.sumsRows, y = static_cast<int>(line % rows);
    const size_t e = static_cast<size_t>(line / rows / boxes);
    const gpu::OpenEntry& entry = memory.bands.entries[e];
    if (entry.status != STATUS_FOUND || y >= entry.window.rows)
        return;
    const int count = columnsOf(entry, beforeWindow(plan.bands, entry.window.x));
    uint64_t* const sums = memory.lines + static_cast<size_t>(line) * plan.linesPitch;
    uint64_t carry = 0;
#pragma unroll 1
    for (int x = 4 * static_cast<int>(threadIdx.x % 32); x - 4 * static_cast<int>(threadIdx.x % 32) <= count; x += 128)
    {
        ulonglong2* const four = reinterpret_cast<ulonglong2*>(sums + x);
        ulonglong2 first = {0, 0}, second = {0, 0};
        if (x < count)
            first = four[0], second = four[1];
        uint64_t values[4] = {first.x, first.y, second.x, second.y}, total = 0, prefix, all;
#pragma unroll
        for (int k = 0; k < 4; ++k)
        {
            values[k] = x + k < count ? values[k] : 0;
            total += values[k];
        }
        Scan(storage[threadIdx.x / 32]).ExclusiveSum(total, prefix, all);
        __syncwarp(); // the storage may be used again
        prefix += carry;
        carry += all;
        if (x <= count)
        {
            four[0] = make_ulonglong2(prefix, prefix + values[0]);
            four[1] = make_ulonglong2(prefix + values[0] + values[1], prefix + values[0] + values[1] + values[2]);
        }
    }
}

//! Reads the sums of a position. @param column its column from the planes' last multiple of 16 before the window on.
template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ DeepSums sumsAt(const DeepPlan& plan, const DeepMemory& memory, size_t e, int column, int y,
                                           int width)
{
    constexpr bool IMAGE = isCorrelation(METRIC);
    const BandPlan& bands = plan.bands;
    const uint64_t* const correlations = static_cast<const uint64_t*>(memory.bands.sums) + e * bands.sumsEach +
                                         static_cast<size_t>(y) * bands.sumsPitch + column;
    const size_t sumsPlane = static_cast<size_t>(bands.sumsPitch) * bands.sumsRows;
    const uint64_t* const line = memory.lines + e * plan.linesEach + static_cast<size_t>(y) * plan.linesPitch + column;
    const size_t linesPlane = static_cast<size_t>(plan.linesPitch) * bands.sumsRows;
    const auto box = [&](int k)
    { return WEIGHTED ? correlations[(1 + k) * sumsPlane] : line[k * linesPlane + width] - line[k * linesPlane]; };
    DeepSums sums = {correlations[0], box(0), {}};
#pragma unroll
    for (int c = 0; IMAGE && c < CHANNELS; ++c)
        sums.image[c] = box(1 + c);
    return sums;
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__global__ void __launch_bounds__(THREADS)
    deepValuesKernel(const Settings settings, const __grid_constant__ DeepPlan plan,
                     const __grid_constant__ DeepMemory memory, const __grid_constant__ Windows windows,
                     const Best* walked, const Outputs out)
{
    using Value = std::conditional_t<isCorrelation(METRIC), uint32_t, uint64_t>;
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ gpu::OpenEntry entry;
    __shared__ double deviation;

    const int gridTiles = ::max(windows.tiles(), 1), e = blockIdx.x / gridTiles, gridTile = blockIdx.x - e * gridTiles;
    const int tileY = windows.tilesX > 0 ? gridTile / windows.tilesX : 0, tileX = gridTile - tileY * windows.tilesX;
    const int x = tileX * tuning::TILE_COLS, y = tileY * tuning::TILE_ROWS;
    detail::waitForKernelBefore();
    loadEntry(memory.bands, e, &entry);
    __syncthreads(); // the entry is complete
    const SearchWindow& window = entry.window;
    if (entry.status != STATUS_FOUND && gridTile == 0 && threadIdx.x == 0)
        reportNothing(out, entry.i, settings.peaks, entry.status);
    if (entry.status != STATUS_FOUND || x >= window.cols || y >= window.rows)
        return;
    if (threadIdx.x == 0)
        deviation = isCorrelation(METRIC) ? deepDeviation(entry.fragment.sums) : 0.;
    __syncthreads(); // deviation is complete

    const int before = beforeWindow(plan.bands, window.x), width = entry.fragment.width;
    Value* const values = static_cast<Value*>(windows.values) + static_cast<size_t>(e) * windows.positions();
    const int column = x + threadIdx.x % tuning::TILE_COLS;
    Best best = Best::none();
#pragma unroll
    for (int r = threadIdx.x / tuning::TILE_COLS; r < tuning::TILE_ROWS; r += THREADS / tuning::TILE_COLS)
    {
        const int row = y + r, index = row * window.cols + column;
        if (column >= window.cols || row >= window.rows)
            break;
        const DeepSums sums = sumsAt<METRIC, WEIGHTED, CHANNELS>(plan, memory, e, before + column, row, width);
        const Value value =
            static_cast<Value>(valueOf<METRIC, WEIGHTED, CHANNELS>(sums, entry.fragment.sums, deviation));
        values[index] = value;
        best.take(value, index);
    }
    const int tilesX = detail::ceilDiv(window.cols, tuning::TILE_COLS);
    const int tiles = tilesX * detail::ceilDiv(window.rows, tuning::TILE_ROWS);
    TileBest* const bests = windows.bests + static_cast<size_t>(e) * windows.tiles();
    best = blockBest<Value, THREADS>(best, scratch.warps[0]);
    if (threadIdx.x == 0)
        bests[tileY * tilesX + tileX] = {best.value, best.index, best.index / window.cols};
    if (settings.peaks > 0 && lastOfEntry(tiles, windows.finished + e))
        findPeaks<THREADS>(Entry{entry.i, entry.fragment, window}, settings, values, bests,
                           TileGrid{tilesX, tiles, tuning::TILE_ROWS, 0}, walked ? walked + e : nullptr,
                           valueScale(METRIC, WEIGHTED), out, &scratch, reinterpret_cast<TileBest*>(shared),
                           plan.bestsBytes);
}

} // namespace

namespace gpu {

void sumDeepLines(const Job& job, const DeepPlan& plan, const DeepMemory& memory)
{
    const int channels = job.batch.channels, boxes = deepBoxes(channels, job.batch.weighted, plan.image);
    if (boxes == 0)
        return;
    const auto kernel = plan.image ? (channels == 1 ? sumDeepColumnsKernel<true, 1> : sumDeepColumnsKernel<true, 3>)
                                   : (channels == 1 ? sumDeepColumnsKernel<false, 1> : sumDeepColumnsKernel<false, 3>);
    const int64_t rows = static_cast<int64_t>(plan.bands.sumsRows) * job.batch.count;
    const int64_t items = static_cast<int64_t>(plan.linesPitch / 4) *
                          detail::ceilDiv(plan.bands.sumsRows, tuning::DEEP_COLUMN_ROWS) * job.batch.count;
    detail::launchEarly("sumDeepColumns", kernel, detail::linearGrid(items, SUM_THREADS), dim3(SUM_THREADS), 0,
                        job.stream, plan, memory, items);
    const int64_t lines = rows * boxes;
    detail::launchEarly("scanDeepLines", scanDeepLinesKernel, detail::linearGrid(lines, SUM_THREADS / 32),
                        dim3(SUM_THREADS), 0, job.stream, plan, memory, boxes, lines);
}

void valuesOfDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory, const Windows& windows)
{
    const int64_t blocks = static_cast<int64_t>(std::max(windows.tiles(), 1)) * job.batch.count;
    forProduct(
        job.settings.metric,
        [&](auto metric)
        {
            const bool gray = job.batch.channels == 1;
            const auto kernel =
                job.batch.weighted
                    ? (gray ? deepValuesKernel<metric.value, true, 1> : deepValuesKernel<metric.value, true, 3>)
                    : (gray ? deepValuesKernel<metric.value, false, 1> : deepValuesKernel<metric.value, false, 3>);
            detail::launchEarly("deepValues", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), plan.bestsBytes,
                                job.stream, job.settings, plan, memory, windows, job.walked, job.outputs);
        });
}

void matchDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory, const Windows& windows)
{
    prepareDeepBands(job, plan, memory);
    correlateDeepBands(job, plan, memory);
    sumDeepLines(job, plan, memory);
    valuesOfDeepBands(job, plan, memory, windows);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
