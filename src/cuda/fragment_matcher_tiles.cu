// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, scores, peaks and report for search windows of any size: a block takes a tile of 64 x 16 positions, and
// the block that finishes a fragment's last tile finds its peaks.
//
// Cost for one fragment of w x h pixels, C channels, M positions: C M h ceil(w/4) byte-sum instructions (two for unweighted
// SSD, three for ZNCC, up to five when moments are weighted), bound by the integer pipes; bytes: (64 + w)(16 + h) C a tile,
// mostly from cache, and 4 or 8 written a position.

#include "fragment_matcher_peaks.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::TileMemory;
using gpu::TilePlan;

const int P = 8;                                            // positions a thread
const int GROUPS = tuning::TILE_COLS / 32;                  // groups of 4 phases x P positions in a tile's row
const int POSITION_THREADS = tuning::TILE_POSITION_THREADS; // of one part
static_assert(POSITION_THREADS == 4 * tuning::TILE_ROWS * GROUPS, "a thread for each row, phase and group");

//! Parts into which the rows of a fragment are divided, each with its own threads.
template <int METRIC, bool WEIGHTED> constexpr int PARTS = METRIC != METRIC_SAD&& WEIGHTED ? 1 : tuning::TILE_PARTS;

bool wideValues(int metric, bool weighted, bool wide)
{
    return metric != METRIC_ZNCC && (wide || (metric == METRIC_SSD && weighted));
}

//! Running sums of P positions beyond what 32 bits hold.
template <int METRIC, bool WEIGHTED, bool WIDE> struct Totals
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS;
    static constexpr bool USED = MOMENTS || WIDE;
    uint64_t covariance[USED ? P : 1], variance[MOMENTS ? P : 1]; //!< not MOMENTS: covariance holds the sum
};

struct Tile
{
    int x, y; //!< first position, relative to the window
};

//! One part of the template: rows [row, row + rows), columns [col, col + cols) of plane `plane`.
struct Chunk
{
    int plane, row, rows, col, cols;
};

template <int METRIC, bool WEIGHTED, int CHANNELS>
__device__ void addChunk(const ImageView& frame, const Batch& batch, const Entry& entry, const Tile& tile,
                         const Chunk& chunk, const TilePlan& plan, uint32_t* staged, Sums<METRIC, WEIGHTED, P>& sums)
{
    constexpr bool SPLIT = Traits<METRIC, WEIGHTED>::SPLIT;
    const DeviceFragment& fragment = entry.fragment;
    const int units = stagedUnits((GROUPS - 1) * P, Sums<METRIC, WEIGHTED, P>::WINDOW, chunk.cols);
    const int words = (chunk.cols + 15) / 16 * 4;
    const int chunkWords = plan.chunkRows * ((plan.chunkCols + 15) / 16 * 4);
    uint32_t* t = staged;
    uint32_t* tLow = t + chunkWords;
    uint32_t* q = t + (SPLIT ? 2 : 1) * chunkWords;
    uint32_t* picture = q + chunkWords;

    __syncthreads(); // the last chunk has been read
    stagePicture<CHANNELS, 1>(frame, entry.window.x + tile.x + chunk.col, entry.window.y + tile.y + chunk.row,
                              tuning::TILE_ROWS + chunk.rows - 1, units, chunk.plane, picture, 0);
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const size_t first = static_cast<size_t>(chunk.row) * fragment.pitch + chunk.col / 4;
    const uint32_t* arena = batch.arena + fragment.words + first;
    stageTemplate<SPLIT>(arena + chunk.plane * planeWords, arena + CHANNELS * planeWords, fragment.pitch, chunk.rows,
                         words, t, tLow, q);
    __syncthreads(); // picture and template are complete

    const int part = threadIdx.x / POSITION_THREADS, position = threadIdx.x % POSITION_THREADS;
    const int rowAndPhase = position % (4 * tuning::TILE_ROWS), group = position / (4 * tuning::TILE_ROWS);
    const int begin = part * chunk.rows / PARTS<METRIC, WEIGHTED>;
    const int end = (part + 1) * chunk.rows / PARTS<METRIC, WEIGHTED>;
    const uint32_t* mine = picture + rowAndPhase * 4 * units + group * P;
    sums.addRows(mine + begin * 16 * units, 16 * units, t + begin * words, tLow + begin * words, q + begin * words,
                 words, end - begin, chunk.cols);
}

//! Adds the sums of all parts up in the first; the others start anew. Only sums are linear: this comes before any fold.
template <int METRIC, bool WEIGHTED> __device__ void mergeParts(Sums<METRIC, WEIGHTED, P>& sums, uint32_t* shared)
{
    static_assert(tuning::TILE_PARTS == 2, "one part gives, one takes");
    if constexpr (PARTS<METRIC, WEIGHTED> == 2)
    {
        uint32_t* mine = shared + threadIdx.x % POSITION_THREADS;
        const bool gives = threadIdx.x >= POSITION_THREADS;
        __syncthreads(); // what lies in `shared` has been read
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

template <int METRIC, bool WEIGHTED, bool WIDE>
__device__ __forceinline__ void fold(Sums<METRIC, WEIGHTED, P>& sums, Totals<METRIC, WEIGHTED, WIDE>& totals,
                                     const TemplateSums& templ, int plane)
{
#pragma unroll
    for (int i = 0; i < P; ++i)
    {
        if constexpr (Traits<METRIC, WEIGHTED>::MOMENTS)
            foldMoments<METRIC>(sums, i, templ, plane, totals.covariance[i], totals.variance[i]);
        else
            totals.covariance[i] += sums.sum[i];
    }
    sums.clear();
}

//! Writes the tile's values and finds its best.
template <int METRIC, bool WEIGHTED, bool WIDE, typename Value>
__device__ void storeTile(const Entry& entry, const Tile& tile, const Sums<METRIC, WEIGHTED, P>& sums,
                          const Totals<METRIC, WEIGHTED, WIDE>& totals, Value* values, TileBest* tileBest,
                          Best* scratch)
{
    const int position = threadIdx.x % POSITION_THREADS;
    const int rowAndPhase = position % (4 * tuning::TILE_ROWS), group = position / (4 * tuning::TILE_ROWS);
    const int y = tile.y + rowAndPhase / 4, firstX = tile.x + group * 4 * P + rowAndPhase % 4;
    Best best = Best::none();
    if (threadIdx.x < POSITION_THREADS && y < entry.window.rows)
    {
#pragma unroll
        for (int i = 0; i < P; ++i)
        {
            const int x = firstX + 4 * i;
            if (x >= entry.window.cols)
                continue;
            Value value;
            if constexpr (Traits<METRIC, WEIGHTED>::MOMENTS)
                value =
                    static_cast<Value>(momentsValue<METRIC>(totals.covariance[i], totals.variance[i], entry.fragment));
            else
                value = static_cast<Value>(WIDE ? totals.covariance[WIDE ? i : 0] : sums.sum[i]);
            const int index = y * entry.window.cols + x;
            values[index] = value;
            best.take(value, index);
        }
    }
    best = blockBest(best, scratch);
    if (threadIdx.x == 0)
        *tileBest = {best.value, best.index};
}

//! True in the block that stored the last tile of a window. The counter is 0 again then, ready for the next launch.
__device__ bool lastOfEntry(const Entry& entry, unsigned* finished)
{
    __shared__ bool last;
    __threadfence(); // what this thread stored comes before the count
    __syncthreads(); // all threads have stored
    if (threadIdx.x == 0)
    {
        const int tilesX = (entry.window.cols + tuning::TILE_COLS - 1) / tuning::TILE_COLS;
        const int tilesY = (entry.window.rows + tuning::TILE_ROWS - 1) / tuning::TILE_ROWS;
        const unsigned others = static_cast<unsigned>(tilesX * tilesY - 1);
        last = atomicInc(finished, others) == others;
    }
    __syncthreads(); // last is known
    __threadfence(); // what others stored comes after it
    return last;
}

template <int METRIC, bool WEIGHTED, int CHANNELS, bool WIDE, typename Value>
__global__ void __launch_bounds__(POSITION_THREADS* PARTS<METRIC, WEIGHTED>,
                                  Traits<METRIC, WEIGHTED>::MOMENTS ? 2 : tuning::TILE_BLOCKS)
    matchTilesKernel(const ImageView frame, const Batch batch, const Settings settings, const TilePlan plan,
                     const TileMemory memory, const Walked* walked, const Outputs out)
{
    using TheTotals = Totals<METRIC, WEIGHTED, WIDE>;
    extern __shared__ __align__(16) uint32_t staged[];
    constexpr int THREADS = POSITION_THREADS * PARTS<METRIC, WEIGHTED>;
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ Entry entry;
    __shared__ int status;

    const int tiles = plan.tilesX * plan.tilesY, e = blockIdx.x / tiles, tileIndex = blockIdx.x - e * tiles;
    const Tile tile = {tileIndex % plan.tilesX * tuning::TILE_COLS, tileIndex / plan.tilesX * tuning::TILE_ROWS};
    if (threadIdx.x == 0)
    {
        status = openEntry(frame, batch, e, entry);
        if (status != STATUS_FOUND && tileIndex == 0)
            reportNothing(out, entry.i, settings.peaks, status);
    }
    __syncthreads(); // entry and status are complete
    if (status != STATUS_FOUND || tile.x >= entry.window.cols || tile.y >= entry.window.rows)
        return;

    Sums<METRIC, WEIGHTED, P> sums;
    sums.clear();
    TheTotals totals = {};
    for (int plane = 0; plane < CHANNELS; ++plane)
    {
        for (int row = 0; row < entry.fragment.height; row += plan.chunkRows)
        {
            for (int col = 0; col < entry.fragment.width; col += plan.chunkCols)
            {
                const Chunk chunk = {plane, row, ::min(plan.chunkRows, entry.fragment.height - row), col,
                                     ::min(plan.chunkCols, entry.fragment.width - col)};
                addChunk<METRIC, WEIGHTED, CHANNELS>(frame, batch, entry, tile, chunk, plan, staged, sums);
                // ZNCC needs the sums of a whole channel: they fit 32 bits, as its fragments are limited.
                if constexpr (TheTotals::USED && METRIC != METRIC_ZNCC)
                {
                    mergeParts(sums, staged);
                    fold(sums, totals, entry.fragment.sums, plane);
                }
            }
        }
        if constexpr (METRIC == METRIC_ZNCC)
        {
            mergeParts(sums, staged);
            fold(sums, totals, entry.fragment.sums, plane);
        }
    }
    if constexpr (!TheTotals::USED)
        mergeParts(sums, staged);
    Value* values = static_cast<Value*>(memory.values) + static_cast<size_t>(e) * plan.cols * plan.rows;
    TileBest* bests = memory.bests + static_cast<size_t>(e) * tiles;
    storeTile<METRIC, WEIGHTED, WIDE>(entry, tile, sums, totals, values, bests + tileIndex, scratch.warps);
    if (settings.peaks > 0 && lastOfEntry(entry, memory.finished + e))
        findPeaks<THREADS>(entry, settings, plan, values, bests, walked ? walked + e : nullptr,
                           valueScale(METRIC, WEIGHTED), out, &scratch, reinterpret_cast<TileBest*>(staged));
}

template <int METRIC, bool WEIGHTED, int CHANNELS, bool WIDE>
void launchTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                 const TileMemory& memory, const Walked* walked, const Outputs& out, cudaStream_t stream)
{
    constexpr bool WIDE_VALUES = METRIC != METRIC_ZNCC && (WIDE || (METRIC == METRIC_SSD && WEIGHTED));
    using Value = std::conditional_t<WIDE_VALUES, uint64_t, uint32_t>;
    const int64_t blocks = static_cast<int64_t>(plan.tilesX) * plan.tilesY * batch.count;
    CV_CheckLT(static_cast<double>(blocks), 2147483648., "too many tiles of search windows in one launch");
    detail::launch("matchTiles", matchTilesKernel<METRIC, WEIGHTED, CHANNELS, WIDE, Value>,
                   dim3(static_cast<unsigned>(blocks)), dim3(POSITION_THREADS * PARTS<METRIC, WEIGHTED>),
                   plan.sharedBytes, stream, frame, batch, settings, plan, memory, walked, out);
}

template <int METRIC, bool WIDE>
void chooseTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                 const TileMemory& memory, const Walked* walked, const Outputs& out, cudaStream_t stream)
{
    const auto launch =
        batch.weighted
            ? (batch.channels == 1 ? launchTiles<METRIC, true, 1, WIDE> : launchTiles<METRIC, true, 3, WIDE>)
            : (batch.channels == 1 ? launchTiles<METRIC, false, 1, WIDE> : launchTiles<METRIC, false, 3, WIDE>);
    launch(frame, batch, settings, plan, memory, walked, out, stream);
}

} // namespace

namespace gpu {

TilePlan planTiles(int cols, int rows, int width, int height, int channels, const Settings& settings, bool weighted)
{
    TilePlan plan = {};
    plan.cols = cols;
    plan.rows = rows;
    plan.tilesX = (cols + tuning::TILE_COLS - 1) / tuning::TILE_COLS;
    plan.tilesY = (rows + tuning::TILE_ROWS - 1) / tuning::TILE_ROWS;
    const int64_t pixels = static_cast<int64_t>(width) * height;
    const int64_t largest = settings.metric == METRIC_SAD ? (weighted ? 255 * 255 : 255) : 255 * 255;
    plan.wide = settings.metric != METRIC_ZNCC && pixels * channels * largest > 0xffffffffll;
    // Moments of weighted SSD always run in 64 bits; the chunks below keep each part within 32.
    if (settings.metric == METRIC_SSD && weighted)
        plan.wide = false;

    plan.chunkCols = std::min(width, tuning::TILE_CHUNK_COLS);
    const bool split = weighted && settings.metric != METRIC_SAD;
    const size_t pictureRow = 64 * static_cast<size_t>(stagedUnits((GROUPS - 1) * P, 12, plan.chunkCols));
    const size_t templateRow = 16 * static_cast<size_t>((plan.chunkCols + 15) / 16) * (split ? 3 : 2);
    const size_t forRows = tuning::TILE_SHARED_BYTES - LOOK_AHEAD - (tuning::TILE_ROWS - 1) * pictureRow;
    const int fitting = static_cast<int>(forRows / (pictureRow + templateRow));
    plan.chunkRows = std::min(std::min(height, fitting), tuning::TILE_CHUNK_PIXELS / plan.chunkCols);
    const size_t merging = 3 * P * POSITION_THREADS * sizeof(uint32_t);
    plan.sharedBytes = std::max(merging, (tuning::TILE_ROWS - 1 + plan.chunkRows) * pictureRow +
                                             plan.chunkRows * templateRow + LOOK_AHEAD);
    return plan;
}

size_t tileValuesBytes(const TilePlan& plan, const Settings& settings, bool weighted)
{
    return static_cast<size_t>(plan.cols) * plan.rows * (wideValues(settings.metric, weighted, plan.wide) ? 8 : 4);
}

void matchTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                const TileMemory& memory, const Walked* walked, const Outputs& out, cudaStream_t stream)
{
    const auto choose = settings.metric == METRIC_ZNCC ? chooseTiles<METRIC_ZNCC, false>
                        : settings.metric == METRIC_SAD
                            ? (plan.wide ? chooseTiles<METRIC_SAD, true> : chooseTiles<METRIC_SAD, false>)
                            : (plan.wide ? chooseTiles<METRIC_SSD, true> : chooseTiles<METRIC_SSD, false>);
    choose(frame, batch, settings, plan, memory, walked, out, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
