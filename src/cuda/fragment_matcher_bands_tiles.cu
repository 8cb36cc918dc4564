// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC, scores, peaks and report for search windows of any size: a block takes up to two tiles of
// 64 x 16 positions, and the block that finishes a fragment's last tile finds its peaks.
//
// Cost for one fragment of w x h pixels, C channels, M positions: C M h 32 ceil((w + 7) / 32) products of bytes, five times
// that when weighted (SSD: four), bound by the matrix units; bytes: (128 + w)(16 + h) C a block, mostly from cache, and 4 or
// 8 written a position.

#include "fragment_matcher_bands.hpp"
#include "fragment_matcher_peaks.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::TileMemory;
using gpu::TilePlan;

const int THREADS = tuning::BAND_TILE_THREADS, WARPS = THREADS / 32;

//! Finds the best of each 64 x 16 positions of a block's tile, whose values are in `low` and, when they have 64 bits, `high`.
template <typename Value>
__device__ void storeBests(const SearchWindow& window, const BandTile& tile, const uint32_t* low, const uint32_t* high,
                           int pitch, TileBest* bests, Best* scratch)
{
    const int tiles = detail::ceilDiv(tile.cols, tuning::TILE_COLS), groups = WARPS / tiles;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, mine = warp / groups, group = warp - mine * groups;
    Best best = Best::none();
    if (mine < tiles)
    {
        for (int y = group; y < tile.rows; y += groups)
#pragma unroll
            for (int half = 0; half < tuning::TILE_COLS; half += 32)
            {
                const int x = mine * tuning::TILE_COLS + half + lane, index = y * pitch + x;
                if (x < tile.cols)
                    best.take(sizeof(Value) > 4 ? static_cast<uint64_t>(high[index]) << 32 | low[index] : low[index],
                              (tile.y + y) * window.cols + tile.x + x);
            }
        best = warpBest<Value>(best);
    }
    if (lane == 0)
        scratch[warp] = best;
    __syncthreads(); // the warps' bests are complete
    if (static_cast<int>(threadIdx.x) >= tiles)
        return;
    best = Best::none();
    for (int k = 0; k < groups; ++k)
        best.take(scratch[threadIdx.x * groups + k].value, scratch[threadIdx.x * groups + k].index);
    const int tilesX = detail::ceilDiv(window.cols, tuning::TILE_COLS);
    bests[tile.y / tuning::TILE_ROWS * tilesX + tile.x / tuning::TILE_COLS + threadIdx.x] = {best.value, best.index,
                                                                                           best.index / window.cols};
}

template <int METRIC, bool WEIGHTED, int KC, typename Value>
__global__ void __launch_bounds__(THREADS, 2)
    matchBandTilesKernel(const ImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                         const TileMemory memory, const Best* walked, const Outputs out)
{
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ Entry entry;
    __shared__ int status;

    const BandPlan& bands = plan.bands;
    const int gridX = detail::ceilDiv(plan.cols, bands.cols), gridTiles = gridX * detail::ceilDiv(plan.rows, bands.rows);
    const int e = blockIdx.x / gridTiles, gridTile = blockIdx.x - e * gridTiles, tileY = gridTile / gridX;
    const int x = (gridTile - tileY * gridX) * bands.cols, y = tileY * bands.rows;
    const int i = fragmentOf(batch, e);
    const Rect4 area = areaOf(frame, batch, i);
    openEntry(batch, i, area, loadFragment(batch, i), &entry, &status);
    __syncthreads(); // entry and status are complete
    const SearchWindow& window = entry.window;
    if (status != STATUS_FOUND && gridTile == 0 && threadIdx.x == 0)
        reportNothing(out, i, settings.peaks, status);
    if (status != STATUS_FOUND || x >= window.cols || y >= window.rows)
        return;

    const BandTile tile = {x, y, ::min(bands.cols, window.cols - x), ::min(bands.rows, window.rows - y)};
    Value* values = static_cast<Value*>(memory.values) + static_cast<size_t>(e) * plan.cols * plan.rows;
    scoreTile<METRIC, WEIGHTED, KC, tuning::BAND_TILE_DEPTH>(
        frame, area, batch, entry, tile, bands, shared,
        [&](int column, int row, uint32_t* sums, uint64_t value)
        {
            sums[0] = static_cast<uint32_t>(value);
            if (sizeof(Value) > 4)
                sums[bands.sumsWords] = static_cast<uint32_t>(value >> 32);
            values[static_cast<size_t>(y + row) * window.cols + x + column] = static_cast<Value>(value);
        });
    __syncthreads(); // the values are complete
    const uint32_t* sums = shared + bands.sumsOffset;
    TileBest* bests = memory.bests + static_cast<size_t>(e) * plan.tilesX * plan.tilesY;
    storeBests<Value>(window, tile, sums, sums + bands.sumsWords, 8 * bands.colBlocks, bests, scratch.warps[0]);
    const int blocks = detail::ceilDiv(window.cols, bands.cols) * detail::ceilDiv(window.rows, bands.rows);
    const int tilesX = detail::ceilDiv(window.cols, tuning::TILE_COLS);
    if (settings.peaks > 0 && lastOfEntry(blocks, memory.finished + e))
        findPeaks<THREADS>(entry, settings, values, bests, tilesX,
                           tilesX * detail::ceilDiv(window.rows, tuning::TILE_ROWS), walked ? walked + e : nullptr,
                           valueScale(METRIC, WEIGHTED), out, &scratch, reinterpret_cast<TileBest*>(shared),
                           bands.sharedBytes);
}

template <int METRIC, bool WEIGHTED, typename Value>
void launchTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                 const TileMemory& memory, const Best* walked, const Outputs& out, cudaStream_t stream)
{
    const auto kernel = plan.bands.chunks == 2 ? matchBandTilesKernel<METRIC, WEIGHTED, 2, Value>
                                               : matchBandTilesKernel<METRIC, WEIGHTED, 3, Value>;
    const int64_t blocks = static_cast<int64_t>(detail::ceilDiv(plan.cols, plan.bands.cols)) *
                           detail::ceilDiv(plan.rows, plan.bands.rows) * batch.count;
    detail::launch("matchBandTiles", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), plan.bands.sharedBytes,
                   stream, frame, batch, settings, plan, memory, walked, out);
}

} // namespace

namespace gpu {

void matchBandTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                    const TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream)
{
    const auto launch = isCorrelation(settings.metric)
                            ? (batch.weighted ? launchTiles<METRIC_ZNCC, true, uint32_t>
                                              : launchTiles<METRIC_ZNCC, false, uint32_t>)
                        : batch.weighted ? launchTiles<METRIC_SSD, true, uint64_t>
                        : plan.wide      ? launchTiles<METRIC_SSD, false, uint64_t>
                                         : launchTiles<METRIC_SSD, false, uint32_t>;
    launch(frame, batch, settings, plan, memory, walked, out, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
