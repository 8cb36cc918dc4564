// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: score, findPeaks and report for search windows of any size, by byte sums. A block scores a tile of
// 64 x 16 positions; the block that finishes a fragment's last tile finds its peaks. Where a stage before has listed
// tiles, only these are scored; if they are few, each by several blocks, which divide the rows of the fragment.
//
// Cost for one fragment of w x h pixels, C channels, M positions: C M h ceil(w/4) byte-sum instructions (two for
// unweighted SSD, three for ZNCC, up to five when moments are weighted), bound by the integer pipes; bytes: (64 + w)(16
// + h) C read per tile, mostly from cache, and 4 or 8 written per position.

#include "../common/find_peaks.hpp"
#include "tile_chunks.hpp"
#include "tiles.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::ListedTiles;
using gpu::TilePlan;
using gpu::Windows;

const int P = gpu::TILE_POSITIONS, GROUPS = gpu::TILE_GROUPS;
const int POSITION_THREADS = tuning::TILE_POSITION_THREADS; // threads per part
static_assert(POSITION_THREADS == 4 * tuning::TILE_ROWS * GROUPS, "one thread per row, phase and group");

//! Number of parts into which the rows of a fragment are divided, each with its own threads.
template <Metric METRIC, bool WEIGHTED> constexpr int PARTS = Traits<METRIC, WEIGHTED>::SPLIT ? 1 : tuning::TILE_PARTS;

//! Sums of P positions in 64 bits.
template <Metric METRIC, bool WEIGHTED, bool WIDE> struct Totals
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS;
    static constexpr bool USED = MOMENTS || WIDE;
    uint64_t covariance[USED ? P : 1], variance[MOMENTS ? P : 1]; //!< without MOMENTS, covariance holds the sum
};

//! The positions of a thread in a tile, and the part of the rows that it sums up there.
struct Slot
{
    int rowAndPhase, group, part;

    __device__ __forceinline__ Slot()
        : rowAndPhase(threadIdx.x % (4 * tuning::TILE_ROWS)),
          group(threadIdx.x / (4 * tuning::TILE_ROWS) % GROUPS),
          part(threadIdx.x / POSITION_THREADS)
    {}
};

//! Returns the share of this block. @return parts = 0: there is nothing to do.
template <bool BOUNDED> __device__ __forceinline__ Share shareOf(const Windows& windows, const ListedTiles& tiles)
{
    if (BOUNDED)
    {
        detail::waitForKernelBefore();
        return listedShare(windows, tiles);
    }
    const int e = blockIdx.x / windows.tiles();
    return {e, static_cast<int>(blockIdx.x) - e * windows.tiles(), 0, Best::NONE, 1};
}

//! Adds one channel of a chunk whose image has been fetched.
template <Metric METRIC, bool WEIGHTED, int CHANNELS>
__device__ void addChunk(const ByteImageView& frame, const Batch& batch, const Entry& entry, const Tile& tile,
                         const Chunk& chunk, int plane, const TilePlan& plan, const TileStage& stage, const Slot& slot,
                         Sums<METRIC, WEIGHTED, P>& sums)
{
    constexpr bool SPLIT = Traits<METRIC, WEIGHTED>::SPLIT;
    uint32_t *tLow, *q;
    stageChunk<SPLIT, CHANNELS>(frame, batch, entry, tile, chunk, plane, plan, stage, tLow, q);
    const int words = chunk.words();
    constexpr int COUNT = PARTS<METRIC, WEIGHTED>;
    const int begin = slot.part * chunk.rows / COUNT, end = (slot.part + 1) * chunk.rows / COUNT;
    const uint32_t* mine = stage.expanded + slot.rowAndPhase * 4 * plan.stage.units + slot.group * P;
    sums.addRows(mine + begin * 16 * plan.stage.units, 16 * plan.stage.units, plan.stage.expandedWords,
                 stage.templ + begin * words, tLow + begin * words, q + begin * words, words, end - begin, chunk.cols);
}

//! Adds the sums of all parts to those of the first part, and clears the others. Must come before fold(), as only sums
//! are linear.
template <Metric METRIC, bool WEIGHTED> __device__ void mergeParts(Sums<METRIC, WEIGHTED, P>& sums, uint32_t* shared)
{
    static_assert(tuning::TILE_PARTS == 2, "one part gives its sums to the other");
    if constexpr (PARTS<METRIC, WEIGHTED> == 2)
    {
        uint32_t* mine = shared + threadIdx.x % POSITION_THREADS;
        const bool gives = threadIdx.x >= POSITION_THREADS;
        __syncthreads(); // `shared` has been read
#pragma unroll
        for (int i = 0; gives && i < P; ++i)
        {
            mine[i * POSITION_THREADS] = sums.sum[i];
            if (Traits<METRIC, WEIGHTED>::MOMENTS)
            {
                mine[(P + i) * POSITION_THREADS] = sums.squares[i];
                mine[(2 * P + i) * POSITION_THREADS] = sums.cross[i];
            }
        }
        __syncthreads(); // the other part's sums are complete
#pragma unroll
        for (int i = 0; !gives && i < P; ++i)
        {
            sums.sum[i] += mine[i * POSITION_THREADS];
            if (Traits<METRIC, WEIGHTED>::MOMENTS)
            {
                sums.squares[i] += mine[(P + i) * POSITION_THREADS];
                sums.cross[i] += mine[(2 * P + i) * POSITION_THREADS];
            }
        }
        if (gives)
            sums.clear();
    }
}

//! Adds the sums of a channel to the totals, and clears them.
template <Metric METRIC, bool WEIGHTED, bool WIDE>
__device__ __forceinline__ void fold(Sums<METRIC, WEIGHTED, P>& sums, Totals<METRIC, WEIGHTED, WIDE>& totals,
                                     const TemplateSums& templ, int plane)
{
#pragma unroll
    for (int i = 0; i < P; ++i)
    {
        if constexpr (Traits<METRIC, WEIGHTED>::MOMENTS)
            Traits<METRIC, WEIGHTED>::fold(sums.at(i), templ, plane, totals.covariance[i], totals.variance[i]);
        else
            totals.covariance[i] += sums.sum[i];
    }
    sums.clear();
}

//! Calls body(i, index) for the positions i of a thread that lie in the window.
template <class Body>
__device__ __forceinline__ void forPositions(const Entry& entry, const Tile& tile, const Slot& slot, const Body& body)
{
    const int y = tile.y + slot.rowAndPhase / 4, firstX = tile.x + slot.group * 4 * P + slot.rowAndPhase % 4;
    if (slot.part > 0 || y >= entry.window.rows)
        return;
#pragma unroll
    for (int i = 0; i < P; ++i)
        if (firstX + 4 * i < entry.window.cols)
            body(i, y * entry.window.cols + firstX + 4 * i);
}

//! Returns the value of position i of a thread.
template <Metric METRIC, bool WEIGHTED, bool WIDE, typename Value>
__device__ __forceinline__ Value valueAt(const Entry& entry, const Sums<METRIC, WEIGHTED, P>& sums,
                                         const Totals<METRIC, WEIGHTED, WIDE>& totals, int i)
{
    if constexpr (Traits<METRIC, WEIGHTED>::MOMENTS)
        return static_cast<Value>(Traits<METRIC, WEIGHTED>::value(totals.covariance[i], totals.variance[i],
                                                                  entry.fragment.sums, entry.fragment.variance));
    else
        return static_cast<Value>(WIDE ? totals.covariance[WIDE ? i : 0] : sums.sum[i]);
}

/** Stores the values of the tile and its best. Of a tile that several blocks share, adds the part of this block to the
values, which were 0.
@return false if other blocks have yet to add theirs: the best is not stored. */
template <Metric METRIC, bool WEIGHTED, bool WIDE, bool BOUNDED, typename Value>
__device__ bool storeTile(const Entry& entry, const Tile& tile, const Share& share, const Slot& slot,
                          const Sums<METRIC, WEIGHTED, P>& sums, const Totals<METRIC, WEIGHTED, WIDE>& totals,
                          Value* values, TileBest* tileBest, unsigned* finished, Best* scratch)
{
    Best best = Best::none();
    if (BOUNDED && share.parts > 1)
    {
        forPositions(entry, tile, slot,
                     [&](int i, int index) {
                         addAtomically(values + index, valueAt<METRIC, WEIGHTED, WIDE, Value>(entry, sums, totals, i));
                     });
        if (!lastOfEntry(share.parts, finished))
            return false;
        forPositions(entry, tile, slot, [&](int, int index) { best.take(__ldcg(values + index), index); });
    }
    else
        forPositions(entry, tile, slot,
                     [&](int i, int index)
                     {
                         const Value value = valueAt<METRIC, WEIGHTED, WIDE, Value>(entry, sums, totals, i);
                         values[index] = value;
                         best.take(value, index);
                     });
    best = blockBest<Value, POSITION_THREADS * PARTS<METRIC, WEIGHTED>>(best, scratch);
    if (threadIdx.x == 0)
        *tileBest = {best.value, best.index, best.index / entry.window.cols};
    return true;
}

//! Computes the tile's sums over the rows of a share, chunk by chunk. The copy of the first chunk's image has been
//! started.
template <Metric METRIC, bool WEIGHTED, int CHANNELS, bool WIDE>
__device__ void addChunks(const ByteImageView& frame, const Rect4& area, const Batch& batch, const Entry& entry,
                          const Tile& tile, const Share& share, const Slot& slot, const TilePlan& plan,
                          const TileStage& stage, Sums<METRIC, WEIGHTED, P>& sums,
                          Totals<METRIC, WEIGHTED, WIDE>& totals)
{
    // Correlations need the sums over a whole channel, which fit 32 bits because fragments are limited. For other
    // metrics, all channels of a chunk are processed in turn, so that its image is fetched once.
    constexpr bool BY_CHANNEL = isCorrelation(METRIC), FOLDS = Totals<METRIC, WEIGHTED, WIDE>::USED;
    const int chunksX = detail::ceilDiv(entry.fragment.width, plan.chunkCols);
    const int end = ::min(share.end, entry.fragment.height);
    const int chunks = detail::ceilDiv(::max(end - share.begin, 0), plan.chunkRows) * chunksX;
    int fetched = 0;
    for (int step = 0; step < chunks * CHANNELS; ++step)
    {
        const int plane = BY_CHANNEL ? step / chunks : step % CHANNELS;
        const int index = BY_CHANNEL ? step % chunks : step / CHANNELS;
        const int row = share.begin + index / chunksX * plan.chunkRows, col = index % chunksX * plan.chunkCols;
        const Chunk chunk = {row, ::min(plan.chunkRows, end - row), col,
                             ::min(plan.chunkCols, entry.fragment.width - col)};
        if (index != fetched)
        {
            __syncthreads(); // the last chunk has been expanded
            fetchChunk(frame, area, tile, chunk, plan, stage);
            fetched = index;
        }
        addChunk<METRIC, WEIGHTED, CHANNELS>(frame, batch, entry, tile, chunk, plane, plan, stage, slot, sums);
        if constexpr (FOLDS)
        {
            if (BY_CHANNEL && index < chunks - 1)
                continue;
            mergeParts(sums, stage.expanded);
            fold(sums, totals, entry.fragment.sums, plane);
        }
    }
    if (!FOLDS)
        mergeParts(sums, stage.expanded);
    __pipeline_wait_prior(0); // a lower fragment has no rows in this share, but the copy has been started
}

//! Scores a share of a tile. The block that completes a window finds and reports its peaks.
//! @param walked results of the three-step search, or null.
template <Metric METRIC, bool WEIGHTED, int CHANNELS, bool WIDE, bool BOUNDED, typename Value>
__global__ void __launch_bounds__(POSITION_THREADS* PARTS<METRIC, WEIGHTED>,
                                  Traits<METRIC, WEIGHTED>::MOMENTS ? 2 : tuning::TILE_BLOCKS)
    matchTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                     const Windows windows, const ListedTiles tiles, const Best* walked, const Outputs out)
{
    constexpr int THREADS = POSITION_THREADS * PARTS<METRIC, WEIGHTED>;
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ Entry entry;
    __shared__ int status;

    const Share share = shareOf<BOUNDED>(windows, tiles);
    if (share.parts == 0)
        return;
    const int gridTiles = windows.tiles(), e = share.entry, gridTile = share.tile;
    const int i = fragmentOf(batch, e);
    const int tileY = gridTile / windows.tilesX;
    const Tile tile = {(gridTile - tileY * windows.tilesX) * tuning::TILE_COLS, tileY * tuning::TILE_ROWS,
                       tuning::TILE_COLS, tuning::TILE_ROWS};
    const TileStage stage(shared, plan);
    Rect4 area;
    openTile(frame, batch, i, tile, share, plan, stage, area, &entry, &status);
    if (status != STATUS_FOUND && gridTile == 0 && threadIdx.x == 0)
        reportNothing(out, i, settings.peaks, status);
    if (status != STATUS_FOUND || tile.x >= entry.window.cols || tile.y >= entry.window.rows)
    {
        __pipeline_wait_prior(0); // a block must not end while copies to its shared memory are pending
        return;
    }

    const Slot slot;
    Sums<METRIC, WEIGHTED, P> sums;
    sums.clear();
    Totals<METRIC, WEIGHTED, WIDE> totals = {};
    addChunks<METRIC, WEIGHTED, CHANNELS, WIDE>(frame, area, batch, entry, tile, share, slot, plan, stage, sums,
                                                totals);
    Value* values = static_cast<Value*>(windows.values) + static_cast<size_t>(e) * windows.cols * windows.rows;
    TileBest* bests = windows.bests + static_cast<size_t>(e) * gridTiles;
    const int tilesX = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS);
    const int entryTiles = detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS) * tilesX;
    unsigned* const partsFinished = tiles.finished + static_cast<size_t>(e) * gridTiles + gridTile;
    if (!storeTile<METRIC, WEIGHTED, WIDE, BOUNDED>(entry, tile, share, slot, sums, totals, values,
                                                    bests + tileY * tilesX + tile.x / tuning::TILE_COLS, partsFinished,
                                                    scratch.warps[0]))
        return;
    const int scored = BOUNDED ? tiles.kept[e] : entryTiles;
    if (settings.peaks == 0 || !lastOfEntry(scored, windows.finished + e))
        return;
    findPeaks<THREADS>(entry, settings, values, bests, TileGrid{tilesX, entryTiles, tuning::TILE_ROWS, 0},
                       walked ? walked + e : nullptr, valueScale(METRIC, WEIGHTED), out, &scratch,
                       reinterpret_cast<TileBest*>(shared), plan.sharedBytes);
}

template <Metric METRIC, bool WEIGHTED, int CHANNELS, bool WIDE>
void launchTiles(const gpu::Job& job, const TilePlan& plan, const Windows& windows, const ListedTiles& tiles)
{
    using Value = std::conditional_t<wideValues(METRIC, WEIGHTED, WIDE), uint64_t, uint32_t>;
    const int64_t all = static_cast<int64_t>(windows.tiles()) * job.batch.count;
    const auto launch = [&](auto bounded)
    {
        detail::launchAs(bounded.value, "matchTiles",
                         matchTilesKernel<METRIC, WEIGHTED, CHANNELS, WIDE, bounded.value, Value>,
                         detail::linearGrid(bounded.value ? std::max<int64_t>(all, tiles.fewBlocks) : all, 1),
                         dim3(POSITION_THREADS * PARTS<METRIC, WEIGHTED>), plan.sharedBytes, job.stream, job.frame,
                         job.batch, job.settings, plan, windows, tiles, job.walked, job.outputs);
    };
    if constexpr (METRIC == Metric::SAD)
        if (tiles.total)
            return launch(std::true_type());
    launch(std::false_type());
}

} // namespace

namespace gpu {

void matchTiles(const Job& job, const TilePlan& plan, const Windows& windows, const ListedTiles& tiles)
{
    forMetric(job.settings.metric, job.batch.weighted, job.batch.channels,
              [&](auto metric, auto weighted, auto channels)
              {
                  // Moments are always 64 bits.
                  constexpr bool MAY_BE_WIDE = !hasMoments(metric.value, weighted.value);
                  const auto launch = [&](auto wide)
                  { launchTiles<metric.value, weighted.value, channels.value, wide.value>(job, plan, windows, tiles); };
                  if (plan.wide)
                      launch(std::bool_constant<MAY_BE_WIDE>());
                  else
                      launch(std::false_type());
              });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
