// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: SSD and ZNCC by matrix instructions.
//
// All sums that they need besides box sums are correlations of bytes. With x = 8m + n, row v of a template T adds
//
//   sum over k of I(y + v, 8m + k) B(k, n),    B(k, n) = T(v, k - n), 0 outside of the template,
//
// to position (x, y): a product of the picture's row, taken every 8 pixels, with a banded matrix of width + 7 rows and 8
// columns. So an instruction of 16 x 32 by 32 x 8 bytes gives 128 positions what 32 columns of one template row add. The
// picture's operand is read as it lies in shared memory: word 2m + t of a row; the band's comes from the template's row, zeros
// before and behind, by a shift that depends on the lane alone. Exact: bytes times bytes, added up modulo 2^32.
//
// The 16 rows of an operand are `rowBands` rows of the picture of `colBlocks` blocks of 8 columns each, so that narrow
// windows fill it as well. A warp keeps ROWS positions below each other, and meets a row of the picture with as many rows of
// the template, which it keeps in registers.
//
// Weights: q T and I^2 have 16 bits, and are two planes of bytes each. Without weights, sums over boxes of I and I^2 come from
// running sums down the columns and a scan of each row.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP

#include "fragment_matcher_device.hpp"
#include "fragment_matcher_mma.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

using gpu::BandPlan;

//! rows x cols items, one a thread and step.
struct Steps
{
    int row, col, rowStep, colStep, cols;

    __device__ __forceinline__ explicit Steps(int theCols) : cols(theCols)
    {
        row = static_cast<int>(threadIdx.x) / cols;
        col = threadIdx.x - row * cols;
        rowStep = static_cast<int>(blockDim.x) / cols;
        colStep = blockDim.x - rowStep * cols;
    }
    __device__ __forceinline__ void next()
    {
        row += rowStep;
        col += colStep;
        if (col >= cols)
        {
            col -= cols;
            ++row;
        }
    }
};

//! What a block works on at a time: positions from (x, y) of the window, cols x rows of them.
struct BandTile
{
    int x, y, cols, rows;
};

//! Rows [begin, end) of a fragment.
struct Rows
{
    int begin, end;
    __device__ __forceinline__ int count() const { return end - begin; }
};

// --- staging ---------------------------------------------------------------------------------------------------------

//! The words that hold four pixels, from the aligned one of the first byte on. @return bits before the first pixel.
template <int STRIDE>
__device__ __forceinline__ uint32_t loadPixels(const uint8_t* row, int first, int rowBytes, uint32_t (&words)[STRIDE + 1])
{
    const int before = static_cast<int>(reinterpret_cast<uintptr_t>(row + first) & 3), offset = first - before;
    const bool inside = offset >= 0 && offset + 4 * (STRIDE + 1) <= rowBytes;
#pragma unroll
    for (int k = 0; k <= STRIDE; ++k)
        words[k] = inside ? __ldg(reinterpret_cast<const uint32_t*>(row + offset) + k)
                          : wordAtEdge(row, offset + 4 * k, rowBytes);
    return 8 * before;
}

/** Stages `rows` rows of the picture from (x, y), at most `cols` pixels of each: the planes of channels [first, last), or of
one channel the planes of its pixels and of the high and low bytes of their squares. What lies beyond is left as it is: it
meets zeros of the template, or makes sums that nobody reads. */
template <int STRIDE, bool SQUARES>
__device__ void stagePicture(const ImageView& frame, int x, int y, int cols, int rows, int first, int last,
                             const BandPlan& plan, uint32_t* planes)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3, AT_ONCE = STRIDE == 1 ? 4 : 2;
    const int rowBytes = frame.cols * STRIDE;
    Steps at(::min(detail::ceilDiv(cols, 4), plan.pitch));
    while (at.row < rows)
    {
        uint32_t words[AT_ONCE][STRIDE + 1], shift[AT_ONCE];
        int target[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
        {
            target[i] = at.row < rows ? at.row * plan.pitch + at.col : -1;
            if (target[i] >= 0)
                shift[i] = loadPixels<STRIDE>(frame.data + static_cast<size_t>(y + at.row) * frame.step,
                                              (x + 4 * at.col) * STRIDE, rowBytes, words[i]);
            at.next();
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i)
        {
            if (target[i] < 0)
                break;
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                if (c < first || c >= last)
                    continue;
                uint32_t* const to = planes + (SQUARES ? 0 : (c - first) * plan.planeWords) + target[i];
                const uint32_t pixels = planeWord<STRIDE>(words[i], 0, shift[i], c);
                to[0] = pixels;
                if (SQUARES)
                    multiply4(pixels, pixels, to[plan.planeWords], to[2 * plan.planeWords]);
            }
        }
    }
}

/** Stages rows of a template, with the zeros around them that bands need: the planes of channels [first, last), or of one
channel the high and low bytes of its product with the weights, and the weights. */
template <bool WEIGHTED>
__device__ void stageBands(const Batch& batch, const DeviceFragment& fragment, const Rows& rows, int first, int last,
                           const BandPlan& plan, uint32_t* target)
{
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const uint32_t* const arena = batch.arena + fragment.words + static_cast<size_t>(rows.begin) * fragment.pitch;
    const int stagedWords = plan.chunkRows * plan.templatePitch;
    for (Steps at(plan.templatePitch); at.row < rows.count(); at.next())
    {
        const int k = at.col - gpu::BAND_MARGIN;
        const bool inside = k >= 0 && k < fragment.pitch;
        const uint32_t* source = arena + static_cast<size_t>(at.row) * fragment.pitch + (inside ? k : 0);
        uint32_t* to = target + at.row * plan.templatePitch + at.col;
        if (WEIGHTED)
        {
            const uint32_t weights = inside ? __ldg(source + batch.channels * planeWords) : 0;
            multiply4(inside ? __ldg(source + first * planeWords) : 0, weights, to[0], to[stagedWords]);
            to[2 * stagedWords] = weights;
        }
        else
            for (int c = first; c < last; ++c, to += stagedWords)
                *to = inside ? __ldg(source + c * planeWords) : 0;
    }
}

// --- correlation -----------------------------------------------------------------------------------------------------

/** A warp's part of the positions: ROWS below each other of every row of the operand. Lane (g, t) has columns 2t and 2t+1 of
blocks g and g + 8. */
template <int KC, int ROWS> struct BandSums
{
    uint32_t sums[ROWS][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int j = 0; j < ROWS; ++j)
            sums[j][0] = sums[j][1] = sums[j][2] = sums[j][3] = 0;
    }

    /** Adds what `rows` rows of a template and 32 KC columns of its band add. Pointers are those of the lane.
    @param upper,lower picture under the first row of the template. @param shift of the band's words in bits. */
    __device__ __forceinline__ void add(const uint32_t* upper, const uint32_t* lower, int pitch, const uint32_t* band,
                                        int bandPitch, uint32_t shift, int rows)
    {
        uint32_t bands[ROWS][KC][2];
#pragma unroll
        for (int j = 0; j < ROWS; ++j)
#pragma unroll
            for (int k = 0; k < KC; ++k)
                bands[j][k][0] = bands[j][k][1] = 0;
#pragma unroll 1
        for (int first = 0; first < rows + ROWS - 1; first += ROWS)
        {
            // Inside, each row of the picture meets all ROWS rows of the template; at both ends fewer.
            if (first > 0 && first + ROWS <= rows)
                addRows<false>(upper, lower, pitch, band, bandPitch, shift, first, rows, bands);
            else
                addRows<true>(upper, lower, pitch, band, bandPitch, shift, first, rows, bands);
            upper += ROWS * pitch, lower += ROWS * pitch, band += ROWS * bandPitch;
        }
    }

private:
    //! ROWS rows of the picture; bands[v % ROWS] is row v of the template.
    template <bool ENDS>
    __device__ __forceinline__ void addRows(const uint32_t* upper, const uint32_t* lower, int pitch,
                                            const uint32_t* band, int bandPitch, uint32_t shift, int first, int rows,
                                            uint32_t (&bands)[ROWS][KC][2])
    {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
        {
            if (ENDS && first + i >= rows + ROWS - 1)
                break;
            uint32_t picture[KC][4];
#pragma unroll
            for (int k = 0; k < KC; ++k)
            {
                picture[k][0] = upper[i * pitch + 8 * k];
                picture[k][1] = lower[i * pitch + 8 * k];
                picture[k][2] = upper[i * pitch + 8 * k + 4];
                picture[k][3] = lower[i * pitch + 8 * k + 4];
            }
            if (!ENDS || first + i < rows)
#pragma unroll
                for (int k = 0; k < KC; ++k)
#pragma unroll
                    for (int half = 0; half < 2; ++half)
                    {
                        const uint32_t* words = band + i * bandPitch + 8 * k + 4 * half;
                        bands[i][k][half] = __funnelshift_r(words[0], words[1], shift);
                    }
#pragma unroll
            for (int j = 0; j < ROWS; ++j)
            {
                if (ENDS && static_cast<unsigned>(first + i - j) >= static_cast<unsigned>(rows))
                    continue;
#pragma unroll
                for (int k = 0; k < KC; ++k)
                    multiplyAdd(sums[j], picture[k], bands[(i - j + ROWS) % ROWS][k]);
            }
        }
    }
};

//! Which positions a warp has, and which rows of the template it adds.
struct BandTask
{
    int unit, part;

    __device__ __forceinline__ BandTask(int index, const BandPlan& plan)
        : unit(index % plan.units), part(index / plan.units)
    {}
};

/** Adds the correlation of one plane of the picture with one of the template to the task's sums. `rows`: of the template in
shared memory. */
template <int KC, int ROWS>
__device__ __forceinline__ void correlate(const BandPlan& plan, const BandTask& task, const uint32_t* picture,
                                          const uint32_t* band, int rows, int width, BandSums<KC, ROWS>& sums)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int begin = task.part * rows / plan.parts, end = (task.part + 1) * rows / plan.parts;
    const int used = plan.rowBands * plan.colBlocks;
    const auto operandRow = [&](int m)
    {
        const int mine = m < used ? m : 0, rowBand = mine / plan.colBlocks; // what others compute is not stored
        return picture + ((task.unit * plan.rowBands + rowBand) * ROWS + begin) * plan.pitch +
               2 * (mine - rowBand * plan.colBlocks) + t;
    };
    const uint32_t *upper = operandRow(g), *lower = operandRow(g + 8);
    band += begin * plan.templatePitch + gpu::BAND_MARGIN + t - (g + 3) / 4;
    const uint32_t shift = 8 * (-g & 3);
    const int chunks = detail::ceilDiv(width + 7, 32);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk += KC)
        sums.add(upper + 8 * chunk, lower + 8 * chunk, plan.pitch, band + 8 * chunk, plan.templatePitch, shift,
                 end - begin);
}

//! Adds a task's sums to those of the block, rows of 8 colBlocks words.
template <int KC, int ROWS>
__device__ __forceinline__ void store(const BandPlan& plan, const BandTask& task, const BandSums<KC, ROWS>& sums,
                                      uint32_t* target)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, pitch = 8 * plan.colBlocks;
    const bool odd = g >= 4; // odd columns first: other banks than those of lower lanes
#pragma unroll
    for (int half = 0; half < 2; ++half)
    {
        const int m = g + 8 * half, rowBand = m / plan.colBlocks;
        if (m >= plan.rowBands * plan.colBlocks)
            continue;
        uint32_t* to = target + (task.unit * plan.rowBands + rowBand) * ROWS * pitch +
                       8 * (m - rowBand * plan.colBlocks) + 2 * t;
#pragma unroll
        for (int j = 0; j < ROWS; ++j, to += pitch)
        {
            const uint32_t even = sums.sums[j][2 * half], uneven = sums.sums[j][2 * half + 1];
            atomicAdd(to + odd, odd ? uneven : even); // parts: integers, in any order
            atomicAdd(to + !odd, odd ? even : uneven);
        }
    }
}

// --- box sums --------------------------------------------------------------------------------------------------------

/** For each of `rows` rows of positions from (x, y) of the frame on, the sums of `height` rows of pixels below it, column by
column: of squares over channels [first, last), and, with IMAGE, of each of these channels. Lines are (quantity, row). */
template <bool IMAGE>
__device__ void columnSums(const ImageView& frame, int x, int y, int cols, int rows, int height, int first, int last,
                           int pitch, uint32_t* sums)
{
    const int groups = ::max(static_cast<int>(blockDim.x) / cols, 1), share = detail::ceilDiv(rows, groups);
    for (Steps at(cols); at.row < groups; at.next())
    {
        const int begin = at.row * share, end = ::min(begin + share, rows);
        if (begin >= end)
            break;
        uint32_t squares = 0, image[3] = {};
        const uint8_t* entering = frame.pixel(x + at.col, y + begin);
        const uint8_t* leaving = entering;
        const auto take = [&](const uint8_t* pixel, uint32_t sign)
        {
#pragma unroll
            for (int c = 0; c < 3; ++c)
            {
                if (c < first || c >= last)
                    continue;
                const uint32_t value = __ldg(pixel + c);
                squares += sign * value * value;
                image[c] += sign * value;
            }
        };
#pragma unroll 4
        for (int r = 0; r < height; ++r, entering += frame.step)
            take(entering, 1);
        uint32_t* to = sums + begin * pitch + at.col;
#pragma unroll 2
        for (int j = begin; j < end; ++j, to += pitch)
        {
            to[0] = squares;
            if (IMAGE)
            {
#pragma unroll
                for (int c = 0; c < 3; ++c)
                    if (c >= first && c < last)
                        to[(1 + c - first) * rows * pitch] = image[c];
            }
            if (j + 1 == end)
                break;
            take(entering, 1);
            take(leaving, ~0u);
            entering += frame.step, leaving += frame.step;
        }
    }
}

//! Lines of `cols` sums become what lies before each of them, and behind the last: a box sum is the difference of two. A warp a
//! line.
static __device__ __forceinline__ void scanLines(uint32_t* sums, int lines, int cols, int pitch)
{
    const int lane = threadIdx.x % 32, share = detail::ceilDiv(cols + 1, 32) | 1; // odd: no bank conflicts
    const int begin = ::min(lane * share, cols + 1), end = ::min(begin + share, cols + 1);
    for (int line = threadIdx.x / 32; line < lines; line += blockDim.x / 32)
    {
        uint32_t* const mine = sums + line * pitch;
        uint32_t total = 0;
#pragma unroll 4
        for (int k = begin; k < end; ++k)
            total += k < cols ? mine[k] : 0;
        uint32_t before = total;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2)
        {
            const uint32_t other = __shfl_up_sync(~0u, before, distance);
            before += lane >= distance ? other : 0;
        }
        before -= total;
#pragma unroll 4
        for (int k = begin; k < end; ++k)
        {
            const uint32_t value = k < cols ? mine[k] : 0;
            mine[k] = before;
            before += value;
        }
    }
}

// --- values ----------------------------------------------------------------------------------------------------------

//! What a position's value is made of: SSD: S(qIT) and S(qI^2); ZNCC: sums of n_c and v_c. Modulo 2^64.
struct Moments
{
    uint64_t covariance, variance;
};

//! Of channels [first, last). `sums`: of the position, arrays sumsWords apart; `box`: its first column's, lines of a quantity
//! boxStep apart.
template <int METRIC, bool WEIGHTED>
__device__ __forceinline__ Moments momentsOf(const BandPlan& plan, const TemplateSums& templ, const uint32_t* sums,
                                             const uint32_t* box, int boxStep, int width, int first, int last)
{
    uint64_t cross, squares;
    if (WEIGHTED)
    {
        cross = (static_cast<uint64_t>(sums[0]) << 8) + sums[plan.sumsWords];
        squares = (static_cast<uint64_t>(sums[2 * plan.sumsWords]) << 8) + sums[3 * plan.sumsWords];
    }
    else
    {
        cross = sums[0];
        squares = box[width] - box[0];
    }
    if (METRIC == METRIC_SSD)
        return {cross, squares};
    const uint32_t factor = WEIGHTED ? 1 : 255;
    Moments moments = {templ.W * factor * cross, templ.W * factor * squares};
#pragma unroll
    for (int c = 0; c < 3; ++c)
    {
        if (c < first || c >= last)
            continue;
        uint32_t sum;
        if (WEIGHTED)
            sum = sums[(4 + c) * plan.sumsWords];
        else
        {
            box += boxStep;
            sum = box[width] - box[0];
        }
        const uint64_t image = static_cast<uint64_t>(sum) * factor;
        moments.covariance -= image * templ.qT[c];
        moments.variance -= image * image;
    }
    return moments;
}

template <int METRIC, bool WEIGHTED>
__device__ __forceinline__ uint64_t valueOf(const Moments& moments, const DeviceFragment& fragment)
{
    if (METRIC == METRIC_ZNCC)
        return znccToValue(znccScore(static_cast<int64_t>(moments.covariance), static_cast<int64_t>(moments.variance),
                                     fragment.variance));
    const uint64_t templ = WEIGHTED ? fragment.sums.qT2 : fragment.sums.qT2 / 255;
    return templ - 2 * moments.covariance + moments.variance;
}

// --- scores ----------------------------------------------------------------------------------------------------------

/** Adds what rows of a fragment, channels [first, last), give to the sums of a tile's positions: as much at a time as the
plan has room for. Begins and ends with a barrier. */
template <int METRIC, bool WEIGHTED, int KC, int ROWS>
__device__ void addSums(const ImageView& frame, const Rect4& area, const Batch& batch, const Entry& entry,
                        const BandTile& tile, const Rows& rows, int first, int last, const BandPlan& plan,
                        uint32_t* shared)
{
    const DeviceFragment& fragment = entry.fragment;
    uint32_t *planes = shared, *templ = shared + plan.templateOffset, *target = shared + plan.sumsOffset;
    const int x = area.x + tile.x, cols = area.width - tile.x, stagedWords = plan.chunkRows * plan.templatePitch;
    for (int row = rows.begin; row < rows.end; row += plan.chunkRows)
        for (int c = first; c < last; c += plan.stagedChannels)
        {
            const Rows chunk = {row, ::min(row + plan.chunkRows, rows.end)};
            const int end = ::min(c + plan.stagedChannels, last), y = area.y + tile.y + row;
            const int pictureRows = tile.rows + chunk.count() - 1;
            __syncthreads(); // what was staged before has been read
            if (frame.pixelStride == 1)
                stagePicture<1, WEIGHTED>(frame, x, y, cols, pictureRows, c, end, plan, planes);
            else if (frame.pixelStride == 3)
                stagePicture<3, WEIGHTED>(frame, x, y, cols, pictureRows, c, end, plan, planes);
            else
                stagePicture<4, WEIGHTED>(frame, x, y, cols, pictureRows, c, end, plan, planes);
            stageBands<WEIGHTED>(batch, fragment, chunk, c, end, plan, templ);
            __syncthreads(); // picture and template are complete
#pragma unroll 1
            for (int index = threadIdx.x / 32; index < plan.units * plan.parts; index += blockDim.x / 32)
            {
                const BandTask task(index, plan);
                BandSums<KC, ROWS> sums;
                if (WEIGHTED) // q T by I, q by I^2 and I
                {
                    const int products = METRIC == METRIC_ZNCC ? 5 : 4;
#pragma unroll 1
                    for (int p = 0; p < products; ++p)
                    {
                        const int plane = p == 2 || p == 3 ? p - 1 : 0, band = ::min(p, 2);
                        sums.clear();
                        correlate(plan, task, planes + plane * plan.planeWords, templ + band * stagedWords,
                                  chunk.count(), fragment.width, sums);
                        store(plan, task, sums, target + (p < 4 ? p : 4 + c) * plan.sumsWords);
                    }
                    continue;
                }
                sums.clear();
#pragma unroll 1
                for (int k = 0; k < end - c; ++k)
                    correlate(plan, task, planes + k * plan.planeWords, templ + k * stagedWords, chunk.count(),
                              fragment.width, sums);
                store(plan, task, sums, target);
            }
        }
    __syncthreads(); // the sums are complete, what was staged has been read
}

/** scores: calls emit(x, y, sums, value) for each position of a tile, x and y from its first; `sums` are those of this position,
which nobody reads any more.

Sums have 32 bits. When those of a whole fragment may have more (plan.wide), they are taken by channels, and for SSD by rows
of the fragment too, and add up to moments of 64 bits. */
template <int METRIC, bool WEIGHTED, int KC, int ROWS, class Emit>
__device__ void scoreTile(const ImageView& frame, const Rect4& area, const Batch& batch, const Entry& entry,
                          const BandTile& tile, const BandPlan& plan, uint32_t* shared, const Emit& emit)
{
    const DeviceFragment& fragment = entry.fragment;
    uint32_t* const sums = shared + plan.sumsOffset;
    Moments* const totals = reinterpret_cast<Moments*>(shared + plan.totalsOffset);
    const int sumsPitch = 8 * plan.colBlocks, boxCols = tile.cols + fragment.width - 1;
    const int channels = plan.wide ? 1 : batch.channels;
    const int partRows = plan.wide && METRIC == METRIC_SSD
                             ? ::min(fragment.height, static_cast<int>(gpu::BAND_TERMS) / fragment.width)
                             : fragment.height;
#pragma unroll 1
    for (int row = 0; row < fragment.height; row += partRows)
#pragma unroll 1
        for (int c = 0; c < batch.channels; c += channels)
        {
            const Rows rows = {row, ::min(row + partRows, fragment.height)};
            const bool begins = row == 0 && c == 0;
            const bool ends = rows.end == fragment.height && c + channels >= batch.channels;
            if (!begins)
                __syncthreads(); // sums have been read
            for (int k = threadIdx.x; k < plan.sumsCount * plan.sumsWords; k += blockDim.x)
                sums[k] = 0;
            addSums<METRIC, WEIGHTED, KC, ROWS>(frame, area, batch, entry, tile, rows, c, c + channels, plan, shared);
            for (int slab = 0; slab < tile.rows; slab += plan.slabRows)
            {
                const int slabRows = ::min(plan.slabRows, tile.rows - slab);
                if (!WEIGHTED) // where picture and template were
                {
                    constexpr bool IMAGE = METRIC == METRIC_ZNCC;
                    if (slab > 0)
                        __syncthreads(); // the last slab has been read
                    columnSums<IMAGE>(frame, area.x + tile.x, area.y + tile.y + slab + row, boxCols, slabRows,
                                      rows.count(), c, c + channels, plan.slabPitch, shared);
                    __syncthreads(); // columns are complete
                    scanLines(shared, (IMAGE ? 1 + channels : 1) * slabRows, boxCols, plan.slabPitch);
                    __syncthreads(); // lines are complete
                }
                for (Steps at(tile.cols); at.row < slabRows; at.next())
                {
                    const int index = (slab + at.row) * sumsPitch + at.col;
                    Moments moments = momentsOf<METRIC, WEIGHTED>(
                        plan, fragment.sums, sums + index, shared + at.row * plan.slabPitch + at.col,
                        slabRows * plan.slabPitch, fragment.width, c, c + channels);
                    if (plan.wide && !begins)
                    {
                        moments.covariance += totals[index].covariance;
                        moments.variance += totals[index].variance;
                    }
                    if (ends)
                        emit(at.col, slab + at.row, sums + index, valueOf<METRIC, WEIGHTED>(moments, fragment));
                    else
                        totals[index] = moments;
                }
            }
        }
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_HPP
