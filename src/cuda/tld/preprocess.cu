// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// preprocess: gray values and blur of an image.
//
//   grayBlurAndSums   one tile per block: gray values, blur (rows by dp4a, columns by runs in registers), sums over the
//                     columns of strips and of groups of strips
//
// Cost per pixel: 1 byte read (3 or 4 of colour images), 2 written. Bound by the writes.
#include "objects.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int TILE = tuning::TILE, REACH = BLUR_REACH, TILE_HEIGHT = TILE + 2 * REACH; // 76
//! Tiles in shared memory begin 8 pixels to the left of the tile, so that their words are aligned as those of the
//! image.
const int LEFT = 8, PITCH = 80, WORDS = PITCH / 4;
static_assert(LEFT >= REACH && PITCH >= LEFT + TILE + REACH, "the border of a tile");

struct PreprocessMemory
{
    uint32_t gray[TILE_HEIGHT * WORDS];
    uint16_t rows[TILE_HEIGHT * TILE];
    int2 strips[STRIPS][TILE];
};

__device__ __forceinline__ unsigned grayAt(const ImageView& image, int x, int y)
{
    const uint8_t* const pixel = image.row<uint8_t>(y) + static_cast<size_t>(x) * image.channels;
    return image.channels == 1 ? __ldg(pixel) : grayOf(__ldg(pixel), __ldg(pixel + 1), __ldg(pixel + 2));
}

//! Returns four gray values from x on. @param inside all of them are inside a gray image with rows aligned to words.
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

//! Loads a tile with its border to shared memory, and stores its gray values in level 0. A thread has words of one
//! column.
__device__ __forceinline__ void loadTile(const Batch& batch, const ImageView& image, PreprocessMemory& m, int x0,
                                         int y0, uint8_t* gray)
{
    const int ROWS_AT_ONCE = tuning::PREPROCESS_THREADS / WORDS,
              RUN = (TILE_HEIGHT + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE; // 12, 7
    const bool aligned = image.channels == 1 && (reinterpret_cast<size_t>(image.data) | image.step) % 4 == 0;
    const bool inside = aligned && x0 >= LEFT && x0 - LEFT + PITCH <= batch.cols;
    const int column = static_cast<int>(threadIdx.x) % WORDS, row = static_cast<int>(threadIdx.x) / WORDS;
    if (row >= ROWS_AT_ONCE)
        return;
    const int i = 4 * column - LEFT, x = x0 + i;
    uint32_t words[RUN];
#pragma unroll
    for (int n = 0; n < RUN; ++n)
        words[n] = grayWord(batch, image, x, y0 - REACH + ::min(row + n * ROWS_AT_ONCE, TILE_HEIGHT - 1), inside);
    const bool isOwn = i >= 0 && i < TILE && x < batch.cols;
#pragma unroll
    for (int n = 0; n < RUN; ++n)
    {
        const int j = row + n * ROWS_AT_ONCE, y = y0 - REACH + j;
        if (j < TILE_HEIGHT)
            m.gray[j * WORDS + column] = words[n];
        // The rows of level 0 are whole words, and bytes after a row are never read.
        if (isOwn && j >= REACH && j < REACH + TILE && y < batch.rows)
            *reinterpret_cast<uint32_t*>(gray + static_cast<size_t>(y) * batch.levels.step[0] + x) = words[n];
    }
}

//! Returns taps -6 to 6, four per word.
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

//! Blurs rows, four neighbouring pixels per thread.
__device__ __forceinline__ void blurRows(PreprocessMemory& m)
{
    for (int k = threadIdx.x; k < TILE_HEIGHT * TILE / 4; k += tuning::PREPROCESS_THREADS)
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
            const int from = LEFT - REACH + p; // byte of the first tap, counted from words[0]
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

//! Blurs columns, a run of pixels of two columns per thread.
__device__ __forceinline__ void blurColumns(const Batch& batch, const PreprocessMemory& m, int x0, int y0)
{
    const int RUN = TILE * TILE / 2 / tuning::PREPROCESS_THREADS; // 8
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
        if (y < batch.rows && x < batch.cols) // pairs of pixels: rows in memory are longer than images
            *reinterpret_cast<uint16_t*>(batch.blurred.row(y) + x) =
                static_cast<uint16_t>(blurred(sumA) | blurred(sumB) << 8);
    }
}

//! Sums columns over strips and over groups of strips. Pixels outside of the image add 0.
__device__ __forceinline__ void sumColumns(const Batch& batch, PreprocessMemory& m, int x0, int y0)
{
    const uint8_t* const tile = reinterpret_cast<const uint8_t*>(m.gray);
    const int i = static_cast<int>(threadIdx.x) % TILE, x = x0 + i;
    for (int s = static_cast<int>(threadIdx.x) / TILE; s < STRIPS; s += tuning::PREPROCESS_THREADS / TILE)
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
        return; // the other threads sum up the group
    int2 all = make_int2(0, 0);
#pragma unroll
    for (int s = 0; s < STRIPS; ++s)
    {
        all.x += m.strips[s][i].x;
        all.y += m.strips[s][i].y;
    }
    batch.groups[static_cast<size_t>(y0 / TILE) * batch.stripStep + x] = all;
}

__global__ void __launch_bounds__(tuning::PREPROCESS_THREADS)
    grayBlurAndSums(const __grid_constant__ Batch batch, const ImageView image, int tilesAcross)
{
    beginEarly();
    __shared__ PreprocessMemory m;
    const int block = blockIdx.x, x0 = block % tilesAcross * TILE, y0 = block / tilesAcross * TILE;
    const int slot = batch.ring->slot[SPARE];
    if (block == 0)
        for (int o = threadIdx.x; o < batch.count; o += tuning::PREPROCESS_THREADS)
            batch.objects[o].live->counts = Counts();
    if (block == 0)
        for (int k = threadIdx.x; k < batch.groupCount * MAX_SCALES; k += tuning::PREPROCESS_THREADS)
            batch.codeList(batch.objectGroups[k / MAX_SCALES]).counts[k % MAX_SCALES] = 0;
    loadTile(batch, image, m, x0, y0, batch.level(slot, 0));
    __syncthreads(); // the tile
    blurRows(m);
    __syncthreads(); // row sums
    blurColumns(batch, m, x0, y0);
    sumColumns(batch, m, x0, y0);
}

} // namespace

void preprocess(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    const int across = detail::ceilDiv(batch.cols, TILE);
    detail::launch("tld preprocess", grayBlurAndSums,
                   dim3(static_cast<unsigned>(across) * detail::ceilDiv(batch.rows, TILE)),
                   dim3(tuning::PREPROCESS_THREADS), 0, stream, batch, image, across);
}

}}}} // namespace cv::cuda::tld::gpu
