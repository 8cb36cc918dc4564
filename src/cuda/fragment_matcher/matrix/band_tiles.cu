// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC by matrix instructions without weights, in one kernel, for windows whose blocks are all
// resident at once: sums of products, box sums, values, best of each tile; the block that finishes a fragment's last
// tile finds its peaks.
//
// Most warps multiply: each has 8 rows of 128 positions and a part of the template's rows. A row of the image stays in
// registers for 8 rows of the template, and a lane extracts its share of a band from the template row by a shift.
// Concurrently, the other warps sum up columns of the image. In the end, the bytes of these sums are multiplied with a
// band of ones, which gives the box sums.
//
// Cost for a fragment of w x h pixels, C channels, M positions: C M h 32 ceil((w + 7) / 32) products of bytes; bytes:
// (128 + w) (rows + h) C read per block, from cache, and 4 written per position. Bound by the matrix units and by the
// latency of the steps before and after them.

#include "band_tiles.hpp"
#include "bands_device.hpp"
#include "../common/value.hpp"
#include "mma.hpp"
#include "../common/find_peaks.hpp"
#include <cuda_pipeline.h>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::BandTiles;
using gpu::Windows;

const int THREADS = tuning::BAND_TILE_THREADS, WARPS = THREADS / 32;
const int ROWS = gpu::BAND_ROWS, COLS = gpu::BAND_COLS;

// --- staging ---------------------------------------------------------------------------------------------------------

//! Returns the bytes from the last multiple of 16 to a row's first pixel; equal for all rows, because plans require a
//! step of 16 bytes.
__device__ __forceinline__ int behindUnit(const ByteImageView& frame, int x)
{
    return static_cast<int>(reinterpret_cast<uintptr_t>(frame.pixel(x, 0)) & 15);
}

//! Starts to copy `rows` rows of the image as they are, from the unit of 16 bytes on that holds pixel (x, y). Bytes
//! outside the image are not written, or 0.
__device__ __forceinline__ void fetchRows(const ByteImageView& frame, int x, int y, int rows, int pitch,
                                          uint32_t* target)
{
    const int begin = x * frame.pixelStride - behindUnit(frame, x), rowBytes = frame.cols * frame.pixelStride;
    const uint8_t* const first = frame.data + static_cast<size_t>(y) * frame.step;
    rows = ::min(rows, frame.rows - y);
    for (Steps at(pitch / 4); at.row < rows; at.next())
    {
        const int offset = begin + 16 * at.col;
        const uint8_t* const row = first + static_cast<size_t>(at.row) * frame.step;
        uint32_t* const to = target + at.row * pitch + 4 * at.col;
        if (offset >= 0 && offset + 16 <= rowBytes)
            __pipeline_memcpy_async(to, row + offset, 16);
        else if (offset < rowBytes)
#pragma unroll 1
            for (int k = 0; k < 4; ++k)
                to[k] = wordAtEdge(row, offset + 4 * k, rowBytes);
    }
    __pipeline_commit();
}

//! Converts rows as they are in the frame to planes of bytes. @param behind behindUnit() of the first pixel.
template <int STRIDE>
__device__ __forceinline__ void makePlanes(const BandTiles& plan, int rows, int words, int behind, const uint32_t* raw,
                                           uint32_t* planes)
{
    const int planeWords = plan.imageRows * plan.pitch;
    raw += behind / 4;
    for (Steps at(words); at.row < rows; at.next())
    {
        uint32_t held[STRIDE + 1];
#pragma unroll
        for (int k = 0; k <= STRIDE; ++k)
            held[k] = raw[at.row * plan.rawPitch + STRIDE * at.col + k];
#pragma unroll
        for (int c = 0; c < 3; ++c)
            planes[c * planeWords + at.row * plan.pitch + at.col] = planeWord<STRIDE>(held, 0, 8 * (behind & 3), c);
    }
}

//! Starts to copy the rows of a template's planes, and writes a row of ones after them.
__device__ __forceinline__ void stageTemplate(const uint32_t* arena, int width, int rows, int pitch, int step,
                                              uint32_t* templ)
{
    for (Steps at(step / 4); at.row < rows; at.next())
    {
        const int k = 4 * at.col - 4;
        uint4* const to = reinterpret_cast<uint4*>(templ + at.row * step) + at.col;
        if (k >= 0 && k < pitch)
            __pipeline_memcpy_async(to, arena + at.row * pitch + k, 16);
        else
            *to = make_uint4(0, 0, 0, 0);
    }
    __pipeline_commit();
    for (int k = threadIdx.x; k < step; k += THREADS)
    {
        const int left = width - 4 * (k - 4);
        templ[rows * step + k] = k < 4 || left <= 0 ? 0 : 0x01010101u >> (left < 4 ? 8 * (4 - left) : 0);
    }
}

// --- products --------------------------------------------------------------------------------------------------------

/** Words of lane (g, t) for image operands of 32 KC columns: 8 KC pixels of an image row from 8g + 8 KC t on, and those
64 columns to the right. Loaded word by word, as each has a fixed place among the four registers of an operand. */
template <int KC> struct ImageWords
{
    uint32_t words[KC][4];

    __device__ __forceinline__ void load(const uint32_t* image)
    {
#pragma unroll
        for (int k = 0; k < KC; ++k)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                words[k][q] = image[2 * k + q / 2 + q % 2 * (COLS / 8)];
    }
};

//! Words of lane (g, t) of a band: pixels 8 KC t - g .. 8 KC t - g + 8 KC - 1 of a row of the template.
template <int KC> struct BandWords
{
    uint32_t words[2 * KC];

    __device__ __forceinline__ void load(const uint32_t* templ, uint32_t shift)
    {
        uint32_t from[2 * KC + 1];
#pragma unroll
        for (int k = 0; k <= 2 * KC; ++k)
            from[k] = templ[k];
#pragma unroll
        for (int k = 0; k < 2 * KC; ++k)
            words[k] = __funnelshift_r(from[k], from[k + 1], shift);
    }
};

template <int KC>
__device__ __forceinline__ void multiplyAdd(uint32_t (&sums)[4], const ImageWords<KC>& image, const BandWords<KC>& band)
{
#pragma unroll
    for (int k = 0; k < KC; ++k)
    {
        const uint32_t b[2] = {band.words[2 * k], band.words[2 * k + 1]};
        device::multiplyAdd(sums, image.words[k], b);
    }
}

//! Offsets of a lane's share of the operands: words from the start of a row of the image, and of a template row.
template <int KC> struct LaneAt
{
    int image, templ;
    uint32_t shift;

    __device__ __forceinline__ LaneAt()
    {
        const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
        image = 2 * g + 2 * KC * t;
        templ = 4 + 2 * KC * t - (g + 3) / 4;
        shift = 8 * (-g & 3);
    }
};

/** Adds the products of `rows` template rows and 32 KC rows of their bands to ROWS rows of positions. Image rows are in
a ring of registers: row r is in ring[r % ROWS]. */
template <int KC>
__device__ __forceinline__ void addProducts(uint32_t (&sums)[ROWS][4], const uint32_t* image, int pitch,
                                            const uint32_t* templ, int step, int rows)
{
    const LaneAt<KC> at;
    ImageWords<KC> ring[ROWS];
    image += at.image, templ += at.templ;
#pragma unroll
    for (int r = 0; r < ROWS - 1; ++r, image += pitch)
        ring[r].load(image);
#pragma unroll 1
    for (;;)
    {
#pragma unroll
        for (int s = 0; s < ROWS; ++s, image += pitch, templ += step)
        {
            if (rows-- == 0)
                return;
            BandWords<KC> band;
            band.load(templ, at.shift);
            ring[(s + ROWS - 1) % ROWS].load(image);
#pragma unroll
            for (int j = 0; j < ROWS; ++j)
                multiplyAdd(sums[j], ring[(s + j) % ROWS], band);
        }
    }
}

//! Computes a warp's sums of products, at most gpu::BAND_TERMS each, and stores them in shared memory.
template <int CHANNELS>
__device__ __forceinline__ void correlate(const BandTiles& plan, int width, int height, const uint32_t* planes,
                                          const uint32_t* templ, uint32_t* merge)
{
    const int warp = threadIdx.x / 32, part = warp / plan.units, unit = warp - part * plan.units;
    const int begin = part * height / plan.parts, rows = (part + 1) * height / plan.parts - begin;
    const int chunks = bandChunks(width), step = templateStep(chunks);
    uint32_t sums[ROWS][4] = {};
    planes += (unit * ROWS + begin) * plan.pitch;
    templ += begin * step;
#pragma unroll 1
    for (int c = 0; c < CHANNELS; ++c)
    {
        int chunk = 0;
#pragma unroll 1
        for (; chunk + 2 <= chunks; chunk += 2)
            addProducts<2>(sums, planes + 8 * chunk, plan.pitch, templ + 8 * chunk, step, rows);
        if (chunk < chunks)
            addProducts<1>(sums, planes + 8 * chunk, plan.pitch, templ + 8 * chunk, step, rows);
        planes += plan.imageRows * plan.pitch;
        templ += height * step;
    }
    uint4* const to = reinterpret_cast<uint4*>(merge) + (part * plan.units + unit) * ROWS * 32 + threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < ROWS; ++j)
        to[32 * j] = make_uint4(sums[j][0], sums[j][1], sums[j][2], sums[j][3]);
}

// --- box sums --------------------------------------------------------------------------------------------------------

//! Sums of four neighbouring columns.
template <bool IMAGE, int CHANNELS> struct WordSums
{
    uint32_t squares[4] = {};         //!< over all channels, at most BAND_TILE_HEIGHT rows: see gpu::squareBytes()
    uint32_t pairs[CHANNELS][2] = {}; //!< with IMAGE: sums of columns 0 and 2, and of columns 1 and 3, in 16 bits each

    __device__ __forceinline__ void add(const uint32_t* planes, int planeWords)
    {
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t word = planes[c * planeWords];
#pragma unroll
            for (int k = 0; k < 4; ++k)
                squares[k] = dot4(word & 0xffu << (8 * k), word, squares[k]);
            if (!IMAGE)
                continue;
            pairs[c][0] += __byte_perm(word, 0, 0x4240);
            pairs[c][1] += __byte_perm(word, 0, 0x4341);
        }
    }
    //! Stores the bytes of the sums minus `left`, plane after plane: of squares, then of channels, low ones first.
    __device__ __forceinline__ void store(const WordSums& left, uint32_t* to, int planeWords) const
    {
        uint32_t sums[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            sums[k] = squares[k] - left.squares[k];
        const uint32_t low01 = __byte_perm(sums[0], sums[1], 0x5140), low23 = __byte_perm(sums[2], sums[3], 0x5140),
                       high01 = __byte_perm(sums[0], sums[1], 0x7362), high23 = __byte_perm(sums[2], sums[3], 0x7362);
        to[0] = __byte_perm(low01, low23, 0x5410);
        to[planeWords] = __byte_perm(low01, low23, 0x7632);
        to[2 * planeWords] = __byte_perm(high01, high23, 0x5410);
        if (CHANNELS > 1)
            to[3 * planeWords] = __byte_perm(high01, high23, 0x7632);
#pragma unroll
        for (int c = 0; IMAGE && c < CHANNELS; ++c)
        {
            uint32_t* const image = to + (gpu::squareBytes(CHANNELS) + gpu::IMAGE_BYTES * c) * planeWords;
            // 32-bit subtraction is correct, because the differences of both halves fit 16 bits.
            const uint32_t even = pairs[c][0] - left.pairs[c][0], odd = pairs[c][1] - left.pairs[c][1];
            image[0] = __byte_perm(even, odd, 0x6240);
            image[planeWords] = __byte_perm(even, odd, 0x7351);
        }
    }
};

/** Computes, per column and row of positions, the bytes of the sums over `height` rows of pixels from that row on. For
the warps that do not multiply. */
template <bool IMAGE, int CHANNELS>
__device__ __forceinline__ void sumColumns(const BandTiles& plan, int width, int height, const uint32_t* planes,
                                           uint32_t* boxes)
{
    const int before = 32 * plan.units * plan.parts, thread = threadIdx.x - before, threads = THREADS - before;
    const int rows = plan.units * ROWS, words = (COLS + width + 2) / 4, planeWords = plan.imageRows * plan.pitch;
    const int groups = ::max(threads / words, 1), share = detail::ceilDiv(rows, groups);
    for (int item = thread; item < words * groups; item += threads)
    {
        const int group = item / words, col = item - group * words;
        const int begin = group * share, end = ::min(begin + share, rows);
        if (begin >= end)
            break;
        const uint32_t* entering = planes + begin * plan.pitch + col;
        const uint32_t* leaving = entering;
        uint32_t* to = boxes + begin * plan.pitch + col;
        WordSums<IMAGE, CHANNELS> entered, left;
#pragma unroll 4
        for (int r = 0; r < height; ++r, entering += plan.pitch)
            entered.add(entering, planeWords);
#pragma unroll 2
        for (int y = begin;; entering += plan.pitch, leaving += plan.pitch, to += plan.pitch)
        {
            entered.store(left, to, rows * plan.pitch);
            if (++y == end)
                break;
            entered.add(entering, planeWords);
            left.add(leaving, planeWords);
        }
    }
}

// --- values ----------------------------------------------------------------------------------------------------------

//! Rows of positions that a warp processes together, so that steps of one hide the latency of the other.
const int ROWS_AT_ONCE = 2;

//! Adds the box sums of these rows, from the bytes of their column sums.
template <int BYTES, int KC>
__device__ __forceinline__ void addBoxes(uint32_t (&sums)[ROWS_AT_ONCE][BYTES][4], const uint32_t* boxes, int pitch,
                                         int planeWords, const uint32_t* ones)
{
    const LaneAt<KC> at;
    BandWords<KC> band;
    band.load(ones + at.templ, at.shift);
#pragma unroll
    for (int b = 0; b < BYTES; ++b)
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; ++r)
        {
            ImageWords<KC> words;
            words.load(boxes + b * planeWords + r * pitch + at.image);
            multiplyAdd(sums[r][b], words, band);
        }
}

//! First position of a block in the window (x < 0: it starts before the window), and the block's data in shared memory.
struct BlockAt
{
    int x, y;
    const uint32_t *ones, *boxes, *merge;
};

/** Stores the values of a block's positions. @param bests out: the thread's best in each half of TILE_COLS columns. */
template <Metric METRIC, int CHANNELS>
__device__ __forceinline__ void storeValues(const BandTiles& plan, const SearchWindow& window, int width,
                                            const ValueTerms& terms, const BlockAt& block, uint32_t* values,
                                            Best (&bests)[2])
{
    constexpr bool IMAGE = isCorrelation(METRIC);
    constexpr int SQUARES = gpu::squareBytes(CHANNELS), BYTES = SQUARES + (IMAGE ? gpu::IMAGE_BYTES * CHANNELS : 0);
    const int lane = threadIdx.x % 32, column = block.x + 8 * (lane / 4) + 2 * (lane % 4);
    const int tileRows = plan.units * ROWS, rows = ::min(tileRows, window.rows - block.y);
    const int chunks = bandChunks(width), planeWords = tileRows * plan.pitch;
    uint32_t least[2] = {~0u, ~0u}; // larger than any value
    int leastIndex[2] = {Best::NONE, Best::NONE};
#pragma unroll 1
    for (int first = ROWS_AT_ONCE * (threadIdx.x / 32); first < rows; first += ROWS_AT_ONCE * WARPS)
    {
        uint32_t cross[ROWS_AT_ONCE][4] = {}, boxes[ROWS_AT_ONCE][BYTES][4] = {};
        const uint4* sums = reinterpret_cast<const uint4*>(block.merge) + first * 32 + lane;
#pragma unroll 4
        for (int part = 0; part < plan.parts; ++part, sums += tileRows * 32)
#pragma unroll
            for (int r = 0; r < ROWS_AT_ONCE; ++r)
            {
                const uint4 four = sums[32 * r];
                cross[r][0] += four.x, cross[r][1] += four.y, cross[r][2] += four.z, cross[r][3] += four.w;
            }
        int chunk = 0;
        const uint32_t* const line = block.boxes + first * plan.pitch;
#pragma unroll 1
        for (; chunk + 2 <= chunks; chunk += 2)
            addBoxes<BYTES, 2>(boxes, line + 8 * chunk, plan.pitch, planeWords, block.ones + 8 * chunk);
        if (chunk < chunks)
            addBoxes<BYTES, 1>(boxes, line + 8 * chunk, plan.pitch, planeWords, block.ones + 8 * chunk);
#pragma unroll
        for (int k = 0; k < 4 * ROWS_AT_ONCE; ++k)
        {
            const int r = k / 4, q = k % 4, x = column + q % 2 + q / 2 * (COLS / 2);
            uint32_t squares = 0, image[CHANNELS] = {};
#pragma unroll
            for (int b = 0; b < SQUARES; ++b)
                squares += boxes[r][b][q] << (8 * b);
#pragma unroll
            for (int b = SQUARES; b < BYTES; ++b)
                image[(b - SQUARES) / 2] += boxes[r][b][q] << ((b - SQUARES) % 2 * 8);
            const uint32_t value =
                static_cast<uint32_t>(valueOf<METRIC, false, false>(cross[r][q], squares, image, terms));
            if (x < 0 || x >= window.cols || first + r >= rows)
                continue;
            const int index = (block.y + first + r) * window.cols + x;
            values[index] = value;
            if (value < least[q / 2]) // indices of a thread ascend, so the first of equal values stays
                least[q / 2] = value, leastIndex[q / 2] = index;
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
        bests[half] = {least[half], leastIndex[half]};
}

/** Stores the best of each TILE_COLS columns of a block, from the bests of its warps. @param y first row of the block.
@return true in the last of `blocks` blocks. */
template <typename Value>
__device__ bool storeBests(const Best (&mine)[2], int cols, int y, TileBest* bests, Best (*scratch)[WARPS], int blocks,
                           unsigned* finished)
{
    static_assert(COLS == 2 * tuning::TILE_COLS, "two tiles per block");
    __shared__ bool last;
    const float perCols = 1.f / cols;
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        const Best best = warpBest<Value>(mine[half]);
        if (threadIdx.x % 32 == 0)
            scratch[half][threadIdx.x / 32] = best;
    }
    __syncthreads(); // the warps' bests are complete, all values are stored
    if (threadIdx.x < 32)
    {
        const Best left = warpBestOf<Value>(scratch[0], WARPS), right = warpBestOf<Value>(scratch[1], WARPS);
        if (threadIdx.x == 0)
        {
            const int first = y * cols; // rows of a block times columns are less than 2^21
            bests[0] = {left.value, left.index, y + quotientOf(left.index - first, perCols)};
            bests[1] = {right.value, right.index, y + quotientOf(right.index - first, perCols)};
            last = isLast(blocks, finished);
        }
    }
    __syncthreads(); // last is known
    return last;
}

template <Metric METRIC, int STRIDE>
__global__ void __launch_bounds__(THREADS, 1)
    matchBandTilesKernel(const ByteImageView frame, const Batch batch, const Settings settings, const BandTiles plan,
                         const Windows windows, const Best* walked, const Outputs out)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3;
    extern __shared__ __align__(16) uint32_t shared[];
    __shared__ PeakScratch<THREADS> scratch;
    __shared__ Entry entry;
    __shared__ ValueTerms terms;
    __shared__ int status;

    uint32_t* const templ = shared;
    uint32_t* const planes = shared + plan.planesAt;
    uint32_t* const boxes = shared + plan.boxesAt; // with three channels, replaces the raw image
    uint32_t* const merge = shared + plan.mergeAt;
    const int e = blockIdx.x / plan.blocks, block = blockIdx.x - e * plan.blocks, blockY = block / plan.blocksX;
    const int tileRows = plan.units * ROWS, blockX = block - blockY * plan.blocksX, y = blockY * tileRows;
    const int i = fragmentOf(batch, e);
    const DeviceFragment* const held = batch.fragments + batch.slots[i];
    const Rect4 area = areaOf(frame, batch, i);
    const int behind = behindUnit(frame, area.x), before = STRIDE == 1 ? behind : 0, x = blockX * COLS - before;
    fetchRows(frame, area.x + blockX * COLS, area.y + y, plan.imageRows, STRIDE == 1 ? plan.pitch : plan.rawPitch,
              STRIDE == 1 ? planes : boxes);
    // Each thread loads the members of the fragment that it needs, which saves a barrier before the template.
    const int width = __ldg(&held->width), height = __ldg(&held->height);
    const int step = templateStep(bandChunks(width));
    stageTemplate(batch.arena + __ldg(&held->words), width, CHANNELS * height, __ldg(&held->pitch), step, templ);
    openEntry(batch, i, area, loadFragment(batch, i), &entry, &status);
    const SearchWindow& window = entry.window;
    __pipeline_wait_prior(0);
    __syncthreads(); // entry, image and template are complete
    if (status != STATUS_FOUND && block == 0 && threadIdx.x == 0)
        reportNothing(out, i, settings.peaks, status);
    if (status != STATUS_FOUND || x >= window.cols || y >= window.rows)
        return;
    if (STRIDE != 1)
    {
        // The raw image of each block has the same offset in its unit, because 128 pixels are a multiple of 16 bytes.
        makePlanes<STRIDE>(plan, tileRows + height - 1, plan.pitch, behind, boxes, planes);
        __syncthreads(); // planes are complete
    }
    if (static_cast<int>(threadIdx.x) < 32 * plan.units * plan.parts)
        correlate<CHANNELS>(plan, width, height, planes, templ, merge);
    else
    {
        if (threadIdx.x == THREADS - 1)
            terms = termsOf<METRIC, false>(entry.fragment);
        sumColumns<isCorrelation(METRIC), CHANNELS>(plan, width, height, planes, boxes);
    }
    __syncthreads(); // products and box sums are complete

    Best bests[2];
    uint32_t* const values =
        static_cast<uint32_t*>(windows.values) + static_cast<size_t>(e) * windows.cols * windows.rows;
    storeValues<METRIC, CHANNELS>(plan, window, width, terms, {x, y, templ + CHANNELS * height * step, boxes, merge},
                                  values, bests);
    const int tilesX = 2 * detail::ceilDiv(window.cols + before, COLS), tilesY = detail::ceilDiv(window.rows, tileRows);
    TileBest* const tileBests = windows.bests + static_cast<size_t>(e) * windows.tilesX * windows.tilesY;
    const bool last = storeBests<uint32_t>(bests, window.cols, y, tileBests + blockY * tilesX + 2 * blockX,
                                           scratch.warps, tilesX / 2 * tilesY, windows.finished + e);
    if (settings.peaks > 0 && last)
        findPeaks<THREADS>(entry, settings, values, tileBests, TileGrid{tilesX, tilesX * tilesY, tileRows, before},
                           walked ? walked + e : nullptr, valueScale(METRIC, false), out, &scratch,
                           reinterpret_cast<TileBest*>(shared), plan.sharedBytes);
}

template <Metric METRIC> void launchBandTiles(const gpu::Job& job, const BandTiles& plan, const Windows& windows)
{
    const auto kernel = job.frame.pixelStride == 1   ? matchBandTilesKernel<METRIC, 1>
                        : job.frame.pixelStride == 3 ? matchBandTilesKernel<METRIC, 3>
                                                     : matchBandTilesKernel<METRIC, 4>;
    const int64_t blocks = static_cast<int64_t>(plan.blocks) * job.batch.count;
    detail::launch("matchBandTiles", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), plan.sharedBytes, job.stream,
                   job.frame, job.batch, job.settings, plan, windows, job.walked, job.outputs);
}

} // namespace

namespace gpu {

void matchBandTiles(const Job& job, const BandTiles& plan, const Windows& windows)
{
    forProduct(job.settings.metric, [&](auto metric) { launchBandTiles<metric.value>(job, plan, windows); });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
