// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What is made of a frame once: toGray and blur, sumTables, pyramid.
//
//   look    a tile a block: gray values, blurred pixels (rows by dp4a, columns by runs in registers), sums over columns
//           of strips and of groups of strips
//   table   a strip a block: sums over all rows above come from groups and strips, those along rows from a scan in the block; each
//           entry is written once
//   halve   a level of the pyramid, a pixel a thread; beside the detector
//
// Cost for each pixel: 1 byte read (3 or 4 of colour), 2 written; then 1 read, 8 written. Bound by these writes.
#include "objects.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int TILE = tuning::TILE, REACH = BLUR_REACH, HIGH = TILE + 2 * REACH; // 76
//! Tiles begin 8 pixels left of their own first one, so that words of them are words of the image.
const int LEFT = 8, PITCH = 80, WORDS = PITCH / 4;
const int STRIPS = TILE / tuning::STRIP;
static_assert(LEFT >= REACH && PITCH >= LEFT + TILE + REACH, "the border of a tile");

struct LookMemory
{
    uint32_t gray[HIGH * WORDS];
    uint16_t rows[HIGH * TILE];
    int2 strips[STRIPS][TILE];
};

__device__ __forceinline__ unsigned grayAt(const ImageView& image, int x, int y)
{
    const uint8_t* const pixel = image.row<uint8_t>(y) + static_cast<size_t>(x) * image.channels;
    return image.channels == 1 ? __ldg(pixel) : grayOf(__ldg(pixel), __ldg(pixel + 1), __ldg(pixel + 2));
}

//! Four gray values from x on. @param inside all of them are in the image, of which rows are whole words.
__device__ __forceinline__ uint32_t grayWord(const Batch& batch, const ImageView& image, int x, int y, bool inside)
{
    const int py = mirrored(::min(y, batch.rows - 1 + REACH), batch.rows);
    if (inside)
        return __ldg(reinterpret_cast<const uint32_t*>(image.row<uint8_t>(py) + x));
    uint32_t word = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        const int px = ::max(::min(x + k, batch.cols - 1 + REACH), -REACH);
        word |= grayAt(image, mirrored(px, batch.cols), py) << 8 * k;
    }
    return word;
}

//! A tile with its border; its own pixels go to the pyramid too. A thread has words of one column.
__device__ __forceinline__ void loadTile(const Batch& batch, const ImageView& image, LookMemory& m, int x0, int y0,
                                         uint8_t* gray)
{
    const int ROWS_AT_ONCE = tuning::LOOK_THREADS / WORDS, RUN = (HIGH + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE; // 12, 7
    const bool aligned = image.channels == 1 && (reinterpret_cast<size_t>(image.data) | image.step) % 4 == 0;
    const bool inside = aligned && x0 >= LEFT && x0 - LEFT + PITCH <= batch.cols;
    const int column = static_cast<int>(threadIdx.x) % WORDS, row = static_cast<int>(threadIdx.x) / WORDS;
    if (row >= ROWS_AT_ONCE)
        return;
    const int i = 4 * column - LEFT, x = x0 + i;
    uint32_t words[RUN];
#pragma unroll
    for (int n = 0; n < RUN; ++n)
        words[n] = grayWord(batch, image, x, y0 - REACH + ::min(row + n * ROWS_AT_ONCE, HIGH - 1), inside);
    const bool isOwn = i >= 0 && i < TILE && x < batch.cols;
#pragma unroll
    for (int n = 0; n < RUN; ++n)
    {
        const int j = row + n * ROWS_AT_ONCE, y = y0 - REACH + j;
        if (j < HIGH)
            m.gray[j * WORDS + column] = words[n];
        // The steps of our own images are whole words, and what lies behind a row is never read.
        if (isOwn && j >= REACH && j < REACH + TILE && y < batch.rows)
            *reinterpret_cast<uint32_t*>(gray + static_cast<size_t>(y) * batch.levels.step[0] + x) = words[n];
    }
}

//! Taps -6 to 6, four a word.
__device__ __forceinline__ unsigned tapsOf(int word)
{
    unsigned taps = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        const int tap = 4 * word + k - REACH;
        taps |= (tap <= REACH ? static_cast<unsigned>(blurTap(tap < 0 ? -tap : tap)) : 0u) << 8 * k;
    }
    return taps;
}

//! Four neighbours a thread.
__device__ __forceinline__ void blurRows(LookMemory& m)
{
    for (int k = threadIdx.x; k < HIGH * TILE / 4; k += tuning::LOOK_THREADS)
    {
        const int j = k / (TILE / 4), i = k % (TILE / 4);
        uint32_t words[6];
#pragma unroll
        for (int w = 0; w < 6; ++w)
            words[w] = i + w < WORDS ? m.gray[j * WORDS + i + w] : 0;
        unsigned sums[4];
#pragma unroll
        for (int p = 0; p < 4; ++p)
        {
            const int from = LEFT - REACH + p; // of the first tap, from words[0] on
            sums[p] = 0;
#pragma unroll
            for (int w = 0; w < 4; ++w)
                sums[p] = __dp4a(__funnelshift_r(words[from / 4 + w], words[from / 4 + w + 1], from % 4 * 8), tapsOf(w),
                                 sums[p]);
        }
        *reinterpret_cast<uint2*>(m.rows + j * TILE + 4 * i) =
            make_uint2(sums[0] | sums[1] << 16, sums[2] | sums[3] << 16);
    }
}

//! A run of pixels of two columns a thread.
__device__ __forceinline__ void blurColumns(const Batch& batch, const LookMemory& m, int x0, int y0)
{
    const int RUN = TILE * TILE / 2 / tuning::LOOK_THREADS; // 8
    const int i = 2 * (static_cast<int>(threadIdx.x) % (TILE / 2)),
              j0 = static_cast<int>(threadIdx.x) / (TILE / 2) * RUN;
    unsigned a[RUN + 2 * REACH], b[RUN + 2 * REACH];
#pragma unroll
    for (int j = 0; j < RUN + 2 * REACH; ++j)
    {
        const unsigned both = *reinterpret_cast<const uint32_t*>(m.rows + (j0 + j) * TILE + i);
        a[j] = both & 0xffffu;
        b[j] = both >> 16;
    }
#pragma unroll
    for (int j = 0; j < RUN; ++j)
    {
        unsigned sumA = a[j + REACH] * static_cast<unsigned>(blurTap(0)),
                 sumB = b[j + REACH] * static_cast<unsigned>(blurTap(0));
#pragma unroll
        for (int k = 1; k <= REACH; ++k)
        {
            sumA += (a[j + REACH - k] + a[j + REACH + k]) * static_cast<unsigned>(blurTap(k));
            sumB += (b[j + REACH - k] + b[j + REACH + k]) * static_cast<unsigned>(blurTap(k));
        }
        const int x = x0 + i, y = y0 + j0 + j;
        if (y < batch.rows && x < batch.cols) // pixel pairs: rows of our own images are longer than images
            *reinterpret_cast<uint16_t*>(batch.blurred.row(y) + x) =
                static_cast<uint16_t>(blurred(sumA) | blurred(sumB) << 8);
    }
}

//! Pixels outside of the image count nothing.
__device__ __forceinline__ void sumColumns(const Batch& batch, LookMemory& m, int x0, int y0)
{
    const uint8_t* const tile = reinterpret_cast<const uint8_t*>(m.gray);
    const int i = static_cast<int>(threadIdx.x) % TILE, x = x0 + i;
    for (int s = static_cast<int>(threadIdx.x) / TILE; s < STRIPS; s += tuning::LOOK_THREADS / TILE)
    {
        int2 sum = make_int2(0, 0);
#pragma unroll
        for (int j = 0; j < tuning::STRIP; ++j)
        {
            const int y = y0 + s * tuning::STRIP + j;
            const int value =
                x < batch.cols && y < batch.rows ? tile[(s * tuning::STRIP + j + REACH) * PITCH + i + LEFT] - 128 : 0;
            sum.x += value;
            sum.y += value * value;
        }
        m.strips[s][i] = sum;
        const int strip = y0 / tuning::STRIP + s;
        if (x < batch.stripStep && strip * tuning::STRIP < batch.rows)
            batch.strips[static_cast<size_t>(strip) * batch.stripStep + x] = sum;
    }
    __syncthreads(); // sums of all strips
    if (threadIdx.x >= TILE || x >= batch.stripStep)
        return; // the others sum up
    int2 all = make_int2(0, 0);
#pragma unroll
    for (int s = 0; s < STRIPS; ++s)
    {
        all.x += m.strips[s][i].x;
        all.y += m.strips[s][i].y;
    }
    batch.groups[static_cast<size_t>(y0 / TILE) * batch.stripStep + x] = all;
}

__global__ void __launch_bounds__(tuning::LOOK_THREADS)
    lookAt(const __grid_constant__ Batch batch, const ImageView image, int tilesAcross)
{
    beginEarly();
    __shared__ LookMemory m;
    const int block = blockIdx.x, x0 = block % tilesAcross * TILE, y0 = block / tilesAcross * TILE;
    const int slot = batch.ring->slot[SPARE];
    if (block == 0)
        for (int o = threadIdx.x; o < batch.count; o += tuning::LOOK_THREADS)
            batch.objects[o].live->counts = Counts();
    if (block == 0)
        for (int k = threadIdx.x; k < batch.groupCount * MAX_SCALES; k += tuning::LOOK_THREADS)
            batch.codeList(batch.objectGroups[k / MAX_SCALES]).counts[k % MAX_SCALES] = 0;
    loadTile(batch, image, m, x0, y0, batch.level(slot, 0));
    __syncthreads(); // the tile
    blurRows(m);
    __syncthreads(); // row sums
    blurColumns(batch, m, x0, y0);
    sumColumns(batch, m, x0, y0);
}

// --- tables ----------------------------------------------------------------------------------------------------------

const int ROWS = tuning::STRIP, WARPS = tuning::TABLE_THREADS / 32;

//! Adds to two columns what is above a strip.
__device__ __forceinline__ void addAbove(const Batch& batch, int strip, int x, int2 (&base)[2])
{
    const int group = strip / STRIPS;
    const auto add = [&](const int2* row)
    {
        const int4 both = *reinterpret_cast<const int4*>(row + x);
        base[0].x += both.x;
        base[0].y += both.y;
        base[1].x += both.z;
        base[1].y += both.w;
    };
#pragma unroll 6
    for (int g = 0; g < group; ++g)
        add(batch.groups + static_cast<size_t>(g) * batch.stripStep);
#pragma unroll 7
    for (int s = group * STRIPS; s < strip; ++s)
        add(batch.strips + static_cast<size_t>(s) * batch.stripStep);
}

//! A thread's two columns, and their sums down to the rows of a strip.
struct Columns
{
    unsigned pixels[ROWS]; //!< both
    int2 above[2];

    //! Adds row r of column k.
    __device__ __forceinline__ void add(int r, int k, int2& sum, bool inside) const
    {
        const int value = inside ? static_cast<int>(pixels[r] >> 8 * k & 255u) - 128 : 0;
        sum.x += value;
        sum.y += value * value;
    }
};

//! Sums over columns left of this thread's in its warp, for each row; and those of the whole warp.
__device__ __forceinline__ void scanWarp(const Columns& columns, const bool (&inside)[2], int rows,
                                         int2 (&before)[ROWS], int2* totals)
{
    const int lane = threadIdx.x & 31;
    int2 own = make_int2(columns.above[0].x + columns.above[1].x, columns.above[0].y + columns.above[1].y);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
    {
        columns.add(r, 0, own, inside[0] && r < rows);
        columns.add(r, 1, own, inside[1] && r < rows);
        int2 sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
        {
            const int x = __shfl_up_sync(0xffffffffu, sum.x, d), y = __shfl_up_sync(0xffffffffu, sum.y, d);
            sum.x += lane >= d ? x : 0;
            sum.y += lane >= d ? y : 0;
        }
        before[r] = make_int2(sum.x - own.x, sum.y - own.y);
        if (lane == 31)
            totals[r * WARPS + (threadIdx.x >> 5)] = sum;
    }
}

//! Totals of warps become sums over all columns before each warp. A half warp a row.
__device__ __forceinline__ void scanTotals(int2* totals, int2* carry)
{
    static_assert(WARPS == 16, "a half warp a row");
    if (threadIdx.x >= ROWS * WARPS)
        return;
    const int r = static_cast<int>(threadIdx.x) / WARPS, w = static_cast<int>(threadIdx.x) % WARPS;
    const int2 own = totals[threadIdx.x], base = carry[r];
    int2 sum = own;
#pragma unroll
    for (int d = 1; d < WARPS; d *= 2)
    {
        const int a = __shfl_up_sync(0xffffffffu, sum.x, d, WARPS), b = __shfl_up_sync(0xffffffffu, sum.y, d, WARPS);
        sum.x += w >= d ? a : 0;
        sum.y += w >= d ? b : 0;
    }
    totals[threadIdx.x] = make_int2(base.x + sum.x - own.x, base.y + sum.y - own.y);
    __syncwarp(); // the carry was read
    if (w == WARPS - 1)
        carry[r] = make_int2(base.x + sum.x, base.y + sum.y);
}

//! A thread has two columns of a strip. Few registers, so that all strips are in work at once.
__global__ void __launch_bounds__(tuning::TABLE_THREADS, 2) table(const __grid_constant__ Batch batch)
{
    beginEarly();
    __shared__ int2 totals[ROWS * WARPS], carry[ROWS];
    const int strip = blockIdx.x, y0 = strip * ROWS, rows = ::min(ROWS, batch.rows - y0);
    const uint8_t* const gray =
        batch.level(batch.ring->slot[SPARE], 0) + static_cast<size_t>(y0) * batch.levels.step[0];
    if (threadIdx.x < ROWS)
        carry[threadIdx.x] = make_int2(0, 0);
    for (int x0 = 0; x0 <= batch.cols; x0 += 2 * tuning::TABLE_THREADS)
    {
        const int x = x0 + 2 * static_cast<int>(threadIdx.x);
        const bool inside[2] = {x < batch.cols, x + 1 < batch.cols};
        Columns columns = {};
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (inside[0] && r < rows)
                columns.pixels[r] =
                    *reinterpret_cast<const uint16_t*>(gray + static_cast<size_t>(r) * batch.levels.step[0] + x);
        if (inside[0])
            addAbove(batch, strip, x, columns.above);
        int2 before[ROWS];
        scanWarp(columns, inside, rows, before, totals);
        __syncthreads(); // totals of warps; carry
        scanTotals(totals, carry);
        __syncthreads(); // sums before each warp
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
        {
            columns.add(r, 0, columns.above[0], inside[0] && r < rows);
            const int2 warp = totals[r * WARPS + (threadIdx.x >> 5)];
            const int sum = warp.x + before[r].x, square = warp.y + before[r].y;
            if (x > batch.cols || r >= rows)
                continue;
            const size_t at = static_cast<size_t>(y0 + r + 1) * batch.tableStep + x;
            *reinterpret_cast<int4*>(batch.table + at) =
                make_int4(sum, square, sum + columns.above[0].x, square + columns.above[0].y);
        }
        if (strip == 0 && x <= batch.cols)
            *reinterpret_cast<int4*>(batch.table + x) = make_int4(0, 0, 0, 0);
        __syncthreads(); // totals are free again
    }
}

// --- pyramid ---------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(tuning::HALVE_THREADS)
    halve(const __grid_constant__ Batch batch, int age, int to, int blocksAcross)
{
    const int x = static_cast<int>(blockIdx.x) % blocksAcross * tuning::HALVE_THREADS + static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(blockIdx.x) / blocksAcross, slot = batch.ring->slot[age], from = to - 1;
    if (x >= batch.levels.cols[to])
        return;
    const int cols = batch.levels.cols[from], rows = batch.levels.rows[from];
    const uint8_t* const level = batch.level(slot, from);
    unsigned sum = 0;
#pragma unroll
    for (int j = -2; j <= 2; ++j)
    {
        const uint8_t* const row = level + static_cast<size_t>(mirrored(2 * y + j, rows)) * batch.levels.step[from];
        const auto at = [&](int i) { return static_cast<unsigned>(row[mirrored(2 * x + i, cols)]); };
        const unsigned line = at(-2) + at(2) + 4 * (at(-1) + at(1)) + 6 * at(0);
        sum += line * (j == 0 ? 6u : (j == -1 || j == 1 ? 4u : 1u));
    }
    batch.level(slot, to)[static_cast<size_t>(y) * batch.levels.step[to] + x] = static_cast<uint8_t>(halved(sum));
}

} // namespace

void look(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    const int across = detail::ceilDiv(batch.cols, TILE);
    detail::launch("tld look", lookAt, dim3(static_cast<unsigned>(across) * detail::ceilDiv(batch.rows, TILE)),
                   dim3(tuning::LOOK_THREADS), 0, stream, batch, image, across);
}

void sumTables(const Batch& batch, detail::StreamHandle stream)
{
    detail::launchAs(batch.alone, "tld sum tables", table, dim3(detail::ceilDiv(batch.rows, ROWS)),
                     dim3(tuning::TABLE_THREADS), 0, stream, batch);
}

void pyramid(const Batch& batch, int age, detail::StreamHandle stream)
{
    for (int l = 1; l < batch.levels.count; ++l)
    {
        const int across = detail::ceilDiv(batch.levels.cols[l], tuning::HALVE_THREADS);
        detail::launch("tld pyramid", halve, dim3(static_cast<unsigned>(across) * batch.levels.rows[l]),
                       dim3(tuning::HALVE_THREADS), 0, stream, batch, age, l, across);
    }
}

}}}} // namespace cv::cuda::tld::gpu
