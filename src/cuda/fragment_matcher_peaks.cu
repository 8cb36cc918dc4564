// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, peaks and report stages over the values and tile bests in device memory, score maps, next areas.
//
// Cost of findPeaks: the tile bests once a peak (16 bytes for 1024 positions), and again the values of those few tiles whose
// best is excluded and might still hide the next peak; a block a fragment, bound by latency.

#include "fragment_matcher_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::TileBest;
using gpu::TilePlan;

//! What peaks of one fragment are chosen from.
template <typename Value> struct Candidates
{
    const Value* values;
    const TileBest* bests;
    int tilesX, tiles; //!< of the plan; tiles outside of the window are skipped
    int cols, rows;
    int distance, exclusion;
};

template <typename Value> __device__ bool tileInWindow(const Candidates<Value>& from, int tile)
{
    return tile % from.tilesX * tuning::TILE_COLS < from.cols && tile / from.tilesX * tuning::TILE_ROWS < from.rows;
}

//! A warp's look at one tile, position by position.
template <typename Value>
__device__ void searchTile(const Candidates<Value>& from, int tile, const Best* peaks, int count, Best& best)
{
    const int x0 = tile % from.tilesX * tuning::TILE_COLS, y0 = tile / from.tilesX * tuning::TILE_ROWS;
    for (int p = threadIdx.x % 32; p < tuning::TILE_COLS * tuning::TILE_ROWS; p += 32)
    {
        const int x = x0 + p % tuning::TILE_COLS, y = y0 + p / tuning::TILE_COLS;
        if (x >= from.cols || y >= from.rows)
            continue;
        if (allowed(x, y, peaks, count, from.cols, from.distance, from.exclusion))
            best.take(from.values[y * from.cols + x], y * from.cols + x);
    }
}

//! The best position outside the zones of the first `count` peaks. First over tile bests that are allowed themselves; then
//! into tiles whose best is excluded, but only where that best, a bound for the others, is better than what was found.
template <typename Value>
__device__ Best nextPeak(const Candidates<Value>& from, const Best* peaks, int count, Best* scratch)
{
    Best best = Best::none();
    for (int tile = threadIdx.x; tile < from.tiles; tile += blockDim.x)
    {
        if (!tileInWindow(from, tile))
            continue;
        const TileBest candidate = from.bests[tile];
        const int y = candidate.index / from.cols;
        if (allowed(candidate.index - y * from.cols, y, peaks, count, from.cols, from.distance, from.exclusion))
            best.take(candidate.value, candidate.index);
    }
    best = blockBest(best, scratch);
    if (count == 0)
        return best;
    const int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    for (int first = threadIdx.x / 32 * 32; first < from.tiles; first += warps * 32)
    {
        bool suspect = false; // each lane asks about one tile, then the warp searches the suspects together
        const int tile = first + lane;
        if (tile < from.tiles && tileInWindow(from, tile))
        {
            const TileBest bound = from.bests[tile];
            const int y = bound.index / from.cols;
            suspect = (bound.value < best.value || (bound.value == best.value && bound.index < best.index)) &&
                      !allowed(bound.index - y * from.cols, y, peaks, count, from.cols, from.distance, from.exclusion);
        }
        for (unsigned suspects = __ballot_sync(~0u, suspect); suspects != 0; suspects &= suspects - 1)
            searchTile(from, first + __ffs(suspects) - 1, peaks, count, best);
    }
    return blockBest(best, scratch);
}

template <typename Value>
__global__ void __launch_bounds__(tuning::PEAK_THREADS)
    findPeaksKernel(const ImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                    const Value* values, const TileBest* bests, const Walked* walked, const int scale,
                    const Outputs out)
{
    __shared__ Best scratch[tuning::PEAK_THREADS / 32];
    __shared__ Best peaks[MAX_PEAKS];
    const int e = blockIdx.x;
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
            reportNothing(out, entry.i, settings.peaks, status);
        return;
    }
    const int tiles = plan.tilesX * plan.tilesY;
    const Candidates<Value> from = {
        values + static_cast<size_t>(e) * plan.cols * plan.rows,
        bests + static_cast<size_t>(e) * tiles,
        plan.tilesX,
        tiles,
        entry.window.cols,
        entry.window.rows,
        exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height),
        settings.exclusion};
    int count = 0;
    for (; count < settings.peaks; ++count)
    {
        Best best;
        if (count == 0 && walked)
            best = {walked[e].value, walked[e].index};
        else
            best = nextPeak(from, peaks, count, scratch);
        if (best.index == Best::NONE)
            break;
        if (threadIdx.x == 0)
            peaks[count] = best;
        __syncthreads(); // all threads see the peak
    }
    report(out, entry.i, settings, entry.fragment, entry.window, scale, peaks, count,
           [from](int index) { return static_cast<uint64_t>(from.values[index]); });
}

template <typename Value, typename Element>
__global__ void exportMapsKernel(const ImageView frame, const Batch batch, const int metric, const int scale,
                                 const size_t entryValues, const Value* values, const RowsView<Element> map,
                                 const int* offsets)
{
    Entry entry;
    if (openEntry(frame, batch, blockIdx.y, entry) != STATUS_FOUND)
        return;
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= entry.window.cols * entry.window.rows)
        return;
    const int y = index / entry.window.cols, x = index - y * entry.window.cols;
    const uint64_t value = scale * static_cast<uint64_t>(values[blockIdx.y * entryValues + index]);
    Element* target = offsets ? map.data + offsets[entry.i] + index : map.row(y) + x;
    if constexpr (std::is_same_v<Element, float>)
        *target = scoreOf(value, metric, entry.fragment.sums.W);
    else
        *target = static_cast<Element>(value);
}

__global__ void predictAreasKernel(const ConstRowsView<Position> locations, const DeviceFragment* fragments,
                                   const int* slots, const int count, const int radius, const int cols, const int rows,
                                   const RowsView<Rect4> areas)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const DeviceFragment& fragment = fragments[slots[i]];
    *areas.row(i) = predictedArea(*locations.row(i), fragment.width, fragment.height, radius, cols, rows);
}

} // namespace

namespace gpu {

void findPeaks(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
               const void* values, const TileBest* bests, const Walked* walked, const Outputs& out, cudaStream_t stream)
{
    const int scale = valueScale(settings.metric, batch.weighted);
    if (tileValuesBytes(plan, settings, batch.weighted) == static_cast<size_t>(plan.cols) * plan.rows * 8)
        detail::launch("findPeaks", findPeaksKernel<uint64_t>, dim3(batch.count), dim3(tuning::PEAK_THREADS), 0, stream,
                       frame, batch, settings, plan, static_cast<const uint64_t*>(values), bests, walked, scale, out);
    else
        detail::launch("findPeaks", findPeaksKernel<uint32_t>, dim3(batch.count), dim3(tuning::PEAK_THREADS), 0, stream,
                       frame, batch, settings, plan, static_cast<const uint32_t*>(values), bests, walked, scale, out);
}

template <typename Value, typename Element>
static void launchExport(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                         const void* values, const RowsView<void>& map, const int* offsets, cudaStream_t stream)
{
    const size_t entryValues = static_cast<size_t>(plan.cols) * plan.rows;
    const dim3 grid(static_cast<unsigned>((entryValues + 255) / 256), batch.count);
    const RowsView<Element> typed = {static_cast<Element*>(map.data), map.step};
    detail::launch("exportMaps", exportMapsKernel<Value, Element>, grid, dim3(256), 0, stream, frame, batch,
                   settings.metric, valueScale(settings.metric, batch.weighted), entryValues,
                   static_cast<const Value*>(values), typed, offsets);
}

void exportMaps(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const void* values, int depth, RowsView<void> map, const int* offsets, cudaStream_t stream)
{
    const bool wide = tileValuesBytes(plan, settings, batch.weighted) == static_cast<size_t>(plan.cols) * plan.rows * 8;
    const auto launch = depth == CV_32F   ? (wide ? launchExport<uint64_t, float> : launchExport<uint32_t, float>)
                        : depth == CV_32S ? (wide ? launchExport<uint64_t, int32_t> : launchExport<uint32_t, int32_t>)
                                          : (wide ? launchExport<uint64_t, double> : launchExport<uint32_t, double>);
    launch(frame, batch, settings, plan, values, map, offsets, stream);
}

void predictAreas(ConstRowsView<Position> locations, const Batch& batch, int radius, int frameCols, int frameRows,
                  RowsView<Rect4> areas, cudaStream_t stream)
{
    detail::launch("predictAreas", predictAreasKernel, dim3((batch.count + 127) / 128), dim3(128), 0, stream, locations,
                   batch.fragments, batch.slots, batch.count, radius, frameCols, frameRows, areas);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
