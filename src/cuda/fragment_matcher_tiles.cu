// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, scores stage for search windows of any size: a block takes a tile of 64 x 16 positions.
//
// Cost for one fragment of w x h pixels, C channels, M positions: C M h ceil(w/4) byte-sum instructions (two for unweighted
// SSD, three for ZNCC, up to five when moments are weighted), bound by the integer pipes; bytes: (64 + w)(16 + h) C a tile,
// mostly from cache, and 4 or 8 written a position.

#include "fragment_matcher_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::TileBest;
using gpu::TilePlan;

const int P = 8;                           // positions a thread
const int GROUPS = tuning::TILE_COLS / 32; // groups of 4 phases x P positions in a tile's row
static_assert(tuning::TILE_THREADS == 4 * tuning::TILE_ROWS * GROUPS, "a thread for each row, phase and group");

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
    int x, y;   //!< first position, relative to the window
    int groups; //!< 16-byte groups a staged row, times 4: words of one phase
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

    const int rowAndPhase = threadIdx.x % (4 * tuning::TILE_ROWS), group = threadIdx.x / (4 * tuning::TILE_ROWS);
    const uint32_t* mine = picture + rowAndPhase * 4 * units + group * P;
    for (int r = 0; r < chunk.rows; ++r)
        sums.addRow(mine + r * 16 * units, t + r * words, tLow + r * words, q + r * words, chunk.cols);
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
    const int rowAndPhase = threadIdx.x % (4 * tuning::TILE_ROWS), group = threadIdx.x / (4 * tuning::TILE_ROWS);
    const int y = tile.y + rowAndPhase / 4, firstX = tile.x + group * 4 * P + rowAndPhase % 4;
    Best best = Best::none();
    if (y < entry.window.rows)
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

template <int METRIC, bool WEIGHTED, int CHANNELS, bool WIDE, typename Value>
__global__ void __launch_bounds__(tuning::TILE_THREADS)
    scoreTilesKernel(const ImageView frame, const Batch batch, const TilePlan plan, Value* values, TileBest* bests)
{
    using TheTotals = Totals<METRIC, WEIGHTED, WIDE>;
    extern __shared__ __align__(16) uint32_t staged[];
    __shared__ Best scratch[tuning::TILE_THREADS / 32];
    __shared__ Entry entry;
    __shared__ int status;

    const int tiles = plan.tilesX * plan.tilesY, e = blockIdx.x / tiles, tileIndex = blockIdx.x - e * tiles;
    const Tile tile = {tileIndex % plan.tilesX * tuning::TILE_COLS, tileIndex / plan.tilesX * tuning::TILE_ROWS, 0};
    if (threadIdx.x == 0)
        status = openEntry(frame, batch, e, entry);
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
                    fold(sums, totals, entry.fragment.sums, plane);
            }
        }
        if constexpr (METRIC == METRIC_ZNCC)
            fold(sums, totals, entry.fragment.sums, plane);
    }
    storeTile<METRIC, WEIGHTED, WIDE>(entry, tile, sums, totals,
                                      values + static_cast<size_t>(e) * plan.cols * plan.rows, bests + blockIdx.x,
                                      scratch);
}

template <int METRIC, bool WEIGHTED, int CHANNELS, bool WIDE>
void launchTiles(const ImageView& frame, const Batch& batch, const TilePlan& plan, void* values, TileBest* bests,
                 cudaStream_t stream)
{
    constexpr bool WIDE_VALUES = METRIC != METRIC_ZNCC && (WIDE || (METRIC == METRIC_SSD && WEIGHTED));
    using Value = std::conditional_t<WIDE_VALUES, uint64_t, uint32_t>;
    const int64_t blocks = static_cast<int64_t>(plan.tilesX) * plan.tilesY * batch.count;
    CV_CheckLT(static_cast<double>(blocks), 2147483648., "too many tiles of search windows in one launch");
    detail::launch("scoreTiles", scoreTilesKernel<METRIC, WEIGHTED, CHANNELS, WIDE, Value>,
                   dim3(static_cast<unsigned>(blocks)), dim3(tuning::TILE_THREADS), plan.sharedBytes, stream, frame,
                   batch, plan, static_cast<Value*>(values), bests);
}

template <int METRIC, bool WIDE>
void chooseTiles(const ImageView& frame, const Batch& batch, const TilePlan& plan, void* values, TileBest* bests,
                 cudaStream_t stream)
{
    const auto launch =
        batch.weighted
            ? (batch.channels == 1 ? launchTiles<METRIC, true, 1, WIDE> : launchTiles<METRIC, true, 3, WIDE>)
            : (batch.channels == 1 ? launchTiles<METRIC, false, 1, WIDE> : launchTiles<METRIC, false, 3, WIDE>);
    launch(frame, batch, plan, values, bests, stream);
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
    const size_t forRows = tuning::TILE_SHARED_BYTES - (tuning::TILE_ROWS - 1) * pictureRow;
    const int fitting = static_cast<int>(forRows / (pictureRow + templateRow));
    plan.chunkRows = std::min(std::min(height, fitting), tuning::TILE_CHUNK_PIXELS / plan.chunkCols);
    plan.sharedBytes = (tuning::TILE_ROWS - 1 + plan.chunkRows) * pictureRow + plan.chunkRows * templateRow;
    return plan;
}

size_t tileValuesBytes(const TilePlan& plan, const Settings& settings, bool weighted)
{
    return static_cast<size_t>(plan.cols) * plan.rows * (wideValues(settings.metric, weighted, plan.wide) ? 8 : 4);
}

size_t tileBestsBytes(const TilePlan& plan) { return sizeof(TileBest) * plan.tilesX * plan.tilesY; }

void scoreTiles(const ImageView& frame, const Batch& batch, const Settings& settings, const TilePlan& plan,
                void* values, TileBest* bests, cudaStream_t stream)
{
    const auto choose = settings.metric == METRIC_ZNCC ? chooseTiles<METRIC_ZNCC, false>
                        : settings.metric == METRIC_SAD
                            ? (plan.wide ? chooseTiles<METRIC_SAD, true> : chooseTiles<METRIC_SAD, false>)
                            : (plan.wide ? chooseTiles<METRIC_SSD, true> : chooseTiles<METRIC_SSD, false>);
    choose(frame, batch, plan, values, bests, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
