// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of many small windows by matrix instructions: scores, peaks and report of a fragment by one
// block, which keeps all moments of all positions in registers.
//
// The 16 rows of an instruction are column blocks of 8 positions times groups of R rows: with row j of every group an
// operand of the picture serves R rows of positions. Box sums of unweighted fragments are products with a band of ones, the
// rows that all R positions share only once.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: C N M h 32 ceil((w + 7) / 32) products of bytes, ZNCC
// about twice that, when weighted 2 C + 3 (ZNCC 3 C + 3) in place of C; bytes: each area and fragment once. Bound by latency,
// by loads of shared memory and, for ZNCC, by the scores.

#include "fragment_matcher_bands.hpp"
#include "fragment_matcher_mma.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::FusedBands;

const int R = gpu::FUSED_BAND_ROWS, MOST_WARPS = tuning::FUSED_BAND_WARPS;

struct alignas(16) Scratch
{
    Best warps[2][MOST_WARPS]; //!< of this peak and of the last
    uint32_t most[2][MOST_WARPS];
    Peak<uint64_t> peaks[MAX_PEAKS];
    Entry entry;
    int status;
};
static_assert(sizeof(Scratch) <= gpu::FUSED_SCRATCH_BYTES, "plans count on it");

//! Sums of a lane's positions: [j][2 half + column], see LanePositions.
typedef uint32_t Tile[R][4];

__device__ __forceinline__ void clear(Tile& tile)
{
#pragma unroll
    for (int j = 0; j < R; ++j)
        tile[j][0] = tile[j][1] = tile[j][2] = tile[j][3] = 0;
}

/** What a lane has of a window: two neighbouring columns in R rows below each other, twice. */
struct LanePositions
{
    int x[2], y[2]; //!< first of each half
    int line[2];    //!< the same row, or one that the window has
    int at[2];      //!< words from the start of a plane to what the picture's operand takes there
    uint32_t inside; //!< bits 4j + q: positions of the window

    __device__ __forceinline__ LanePositions(const SearchWindow& window, int pitch) : inside(0)
    {
        const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
        const int blocks = (window.cols + 7) / 8, groups = 16 / blocks, lastRow = (window.rows - 1) / R * R;
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            const int p = g + 8 * half, group = p / blocks, block = p - group * blocks;
            x[half] = 8 * block + 2 * t;
            y[half] = (static_cast<int>(threadIdx.x) / 32 * groups + group) * R;
            line[half] = ::min(y[half], lastRow);
            at[half] = line[half] * pitch + 2 * block + 2 * t;
            const uint32_t columns = (x[half] < window.cols) | (x[half] + 1 < window.cols) << 1;
            const int rows = group < groups ? ::min(::max(window.rows - y[half], 0), R) : 0;
            inside |= (columns * 0x1111 & ((1u << 4 * rows) - 1)) << 2 * half;
        }
    }
    __device__ __forceinline__ int xOf(int q) const { return (q < 2 ? x[0] : x[1]) + q % 2; }
    __device__ __forceinline__ int yOf(int q) const { return q < 2 ? y[0] : y[1]; }
    //! Of bit k.
    __device__ __forceinline__ int indexOf(int k) const { return (yOf(k % 4) + k / 4) << 16 | xOf(k % 4); }
    //! Warps behind the last row of the window have nothing to do.
    static __device__ __forceinline__ bool warpWorks(const SearchWindow& window)
    {
        return static_cast<int>(threadIdx.x) / 32 * (16 / ((window.cols + 7) / 8)) * R < window.rows;
    }
};

//! Rows begin at multiples of 16 bytes.
__device__ __forceinline__ bool inUnits(const ImageView& frame)
{
    return ((reinterpret_cast<uintptr_t>(frame.data) | frame.step) & 15) == 0;
}

/** Starts to copy the rows of an area, as fetchRaw() does, in units of 16 bytes where the frame's rows begin at such. */
__device__ __forceinline__ void fetchArea(const ImageView& frame, const Rect4& area, const FusedBands& plan,
                                          uint32_t* __restrict__ raw)
{
    if (!inUnits(frame))
        return fetchRaw(frame, area.x, area.y, area.width, area.height, plan.stage, raw);
    const int begin = area.x * frame.pixelStride & ~15, rowBytes = frame.cols * frame.pixelStride;
    const int units = plan.stage.rawPitch / 4, end = (area.x + area.width) * frame.pixelStride;
    for (Steps at(units); at.row < area.height; at.next())
    {
        const int offset = begin + 16 * at.col;
        const uint8_t* const row = frame.data + static_cast<size_t>(area.y + at.row) * frame.step;
        uint32_t* const target = raw + at.row * plan.stage.rawPitch + 4 * at.col;
        if (offset + 16 <= rowBytes)
            __pipeline_memcpy_async(target, row + offset, 16);
        else if (offset < end)
#pragma unroll 1
            for (int k = 0; k < 4; ++k)
                target[k] = wordAtEdge(row, offset + 4 * k, rowBytes);
    }
    __pipeline_commit();
}

//! Raw rows to planes of bytes: channels, then the bytes of the sums of their squares, high ones first.
template <int STRIDE>
__device__ __forceinline__ void makePlanes(const ImageView& frame, const Rect4& area, const FusedBands& plan,
                                           const uint32_t* __restrict__ raw, uint32_t* __restrict__ planes)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3, SQUARES = STRIDE == 1 ? 2 : 3;
    const bool units = inUnits(frame);
    const uint32_t start =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame.pixel(area.x, area.y))) & (units ? 15 : 3);
    const int planeWords = plan.planeWords;
    for (Steps at((area.width + 3) / 4); at.row < area.height; at.next())
    {
        const uint32_t skew = units ? start : (start + at.row * static_cast<uint32_t>(frame.step)) & 3;
        const uint32_t* const words = raw + at.row * plan.stage.rawPitch + skew / 4 + STRIDE * at.col;
        uint32_t held[STRIDE + 1], channels[3], squares[4];
#pragma unroll
        for (int k = 0; k <= STRIDE; ++k)
            held[k] = words[k];
#pragma unroll
        for (int c = 0; c < 3; ++c)
            channels[c] = c < CHANNELS ? planeWord<STRIDE>(held, 0, 8 * (skew & 3), c) : 0;
        const uint32_t low = __byte_perm(channels[0], channels[1], 0x5140), // two pixels of two channels
            high = __byte_perm(channels[0], channels[1], 0x7362);
#pragma unroll
        for (int k = 0; k < 4; ++k)
        {
            const uint32_t pixel =
                CHANNELS == 1 ? channels[0] & 0xffu << (8 * k)
                              : __byte_perm(k < 2 ? low : high, channels[2] & 0xffu << (8 * k),
                                            (k % 2 == 0 ? 0x10 : 0x32) | (4 + k) << 8 | (k == 0 ? 5 : 4) << 12);
            squares[k] = dot4(pixel, pixel, 0);
        }
        uint32_t* const to = planes + at.row * plan.pitch + at.col;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
            to[c * planeWords] = channels[c];
        const uint32_t first = __byte_perm(squares[0], squares[1], 0x5140);
        const uint32_t second = __byte_perm(squares[2], squares[3], 0x5140);
        uint32_t* const bytes = to + CHANNELS * planeWords;
        if (SQUARES == 3)
            bytes[0] = __byte_perm(__byte_perm(squares[0], squares[1], 0x0062),
                                   __byte_perm(squares[2], squares[3], 0x0062), 0x5410);
        bytes[(SQUARES - 2) * planeWords] = __byte_perm(first, second, 0x7632);
        bytes[(SQUARES - 1) * planeWords] = __byte_perm(first, second, 0x5410);
    }
}

//! Words from row to row of a template in shared memory: four of zeros, then the pixels, then zeros.
__device__ __forceinline__ int templateStep(int chunks) { return 8 * chunks + 8; }

/** Stages the planes of a template (bandPlanes()), plane after plane. What is not weighted comes by asynchronous copies, as in
fetchRaw(). */
template <bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ void stageRows(const uint32_t* __restrict__ arena, int height, int pitch, int step,
                                          uint32_t* __restrict__ templ)
{
    const int planeWords = height * pitch;
    for (Steps at(step / 4); at.row < (WEIGHTED ? height : CHANNELS * height); at.next())
    {
        const int k = 4 * at.col - 4, from = at.row * pitch + k;
        uint4* const to = reinterpret_cast<uint4*>(templ + at.row * step) + at.col;
        const bool inside = k >= 0 && k < pitch;
        if (!WEIGHTED)
        {
            if (inside)
                __pipeline_memcpy_async(to, arena + from, 16);
            else
                *to = make_uint4(0, 0, 0, 0);
            continue;
        }
        const uint4 zero = {0, 0, 0, 0};
        const uint4 weight = inside ? __ldg(reinterpret_cast<const uint4*>(arena + CHANNELS * planeWords + from)) : zero;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint4 value = inside ? __ldg(reinterpret_cast<const uint4*>(arena + c * planeWords + from)) : zero;
            uint4 high, low;
            multiply4(value.x, weight.x, high.x, low.x);
            multiply4(value.y, weight.y, high.y, low.y);
            multiply4(value.z, weight.z, high.z, low.z);
            multiply4(value.w, weight.w, high.w, low.w);
            to[2 * c * height * (step / 4)] = high;
            to[(2 * c + 1) * height * (step / 4)] = low;
        }
        to[2 * CHANNELS * height * (step / 4)] = weight;
    }
    __pipeline_commit();
}

/** What a warp multiplies: the lane's words of the picture, of rows of templates, and of a band of ones. Lane (g, t) has pixels
8t - g .. 8t + 7 - g of a row of a template as its share of a band. */
struct Operands
{
    const uint32_t *first, *second; //!< of the picture, for both halves
    const uint32_t* rows[3];
    int pitch, step; //!< from row to row of the picture, of templates
    int height;
    uint32_t shift; //!< bits from the words of templates to the lane's first pixel
    uint32_t ones[2];
};

enum Part
{
    FIRST, //!< no template rows before
    MIDDLE,
    END, //!< the same, where the template may end
    LAST //!< none left
};

/** R rows of the picture, each of which meets as many rows of BANDS bands, and with BOX a band of ones: rows that count for all
positions go to `common`. @param left END, LAST: rows of the template. */
template <Part PART, int BANDS, bool BOX>
__device__ __forceinline__ void addRows(Operands& from, int left, uint32_t (&held)[BANDS][R][2], Tile& sums0,
                                        Tile& sums1, Tile& sums2, Tile& box, uint32_t (&common)[4])
{
#pragma unroll
    for (int i = 0; i < (PART == LAST ? R - 1 : R); ++i)
    {
        const uint32_t picture[4] = {from.first[0], from.second[0], from.first[1], from.second[1]};
        from.first += from.pitch, from.second += from.pitch;
#pragma unroll
        for (int k = 0; k < BANDS; ++k)
        {
            if (PART == END && i >= left)
                held[k][i][0] = held[k][i][1] = 0;
            else if (PART != LAST)
            {
                const uint32_t* const row = from.rows[k];
                held[k][i][0] = __funnelshift_r(row[0], row[1], from.shift);
                held[k][i][1] = __funnelshift_r(row[1], row[2], from.shift);
                from.rows[k] += from.step;
            }
            Tile& sums = k == 0 ? sums0 : (k == 1 ? sums1 : sums2);
#pragma unroll
            for (int j = 0; j < R; ++j)
                if (!(PART == FIRST && j > i) && !(PART == LAST && j <= i))
                    multiplyAdd(sums[j], picture, held[k][(i - j + R) % R]);
        }
        if (!BOX)
            continue;
        if (PART == FIRST ? i == R - 1 : PART == MIDDLE || (PART == END && i < left))
            multiplyAdd(common, picture, from.ones);
        else
#pragma unroll
            for (int j = 0; j < R; ++j)
                if (PART == FIRST ? j <= i : j > i - left)
                    multiplyAdd(box[j], picture, from.ones);
    }
}

//! Adds what a plane of the picture gives.
template <int BANDS, bool BOX>
__device__ __forceinline__ void addPlane(Operands from, Tile& sums0, Tile& sums1, Tile& sums2, Tile& box)
{
    uint32_t held[BANDS][R][2], common[4] = {};
    addRows<FIRST, BANDS, BOX>(from, 0, held, sums0, sums1, sums2, box, common);
    int left = from.height - R;
#pragma unroll 1
    for (; left >= R; left -= R)
        addRows<MIDDLE, BANDS, BOX>(from, 0, held, sums0, sums1, sums2, box, common);
    if (left > 0)
    {
        addRows<END, BANDS, BOX>(from, left, held, sums0, sums1, sums2, box, common);
        left -= R;
    }
    addRows<LAST, BANDS, BOX>(from, left, held, sums0, sums1, sums2, box, common);
    if (BOX)
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                box[j][q] += common[q];
}

//! A band of ones, as wide as the fragment; lanes as in makeBands().
__device__ __forceinline__ void makeOnes(int width, int chunk, uint32_t (&ones)[2])
{
    const int lane = threadIdx.x % 32, first = 32 * chunk + 8 * (lane % 4) - lane / 4;
    ones[0] = ones[1] = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        if (first + k >= 0 && first + k < width)
            ones[k / 4] |= 1u << (8 * (k % 4));
}

/** Sums of squares over as many columns as the fragment has, from each of the first columns of each row of the area on: products of their
bytes with a band of ones, a row of an instruction for each 8 columns. */
template <int SQUARES>
__device__ __forceinline__ void makeLines(const uint32_t* __restrict__ planes, const FusedBands& plan, int cols, int rows,
                                          int width, uint32_t* __restrict__ lines)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int blocks = (cols + 7) / 8, groups = 16 / blocks, chunks = (width + 7 + 31) / 32;
    const int group0 = g / blocks, group1 = (g + 8) / blocks;
    const int block0 = g - group0 * blocks, block1 = g + 8 - group1 * blocks;
    uint32_t ones[2];
    makeOnes(width, 0, ones);
    for (int row = threadIdx.x / 32 * groups; row < rows; row += blockDim.x / 32 * groups)
    {
        const uint32_t* first = planes + ::min(row + group0, rows - 1) * plan.pitch + 2 * (block0 + t);
        const uint32_t* second = planes + ::min(row + group1, rows - 1) * plan.pitch + 2 * (block1 + t);
        uint32_t sums[4] = {};
#pragma unroll
        for (int b = 0; b < SQUARES; ++b, first += plan.planeWords, second += plan.planeWords)
        {
#pragma unroll
            for (int q = 0; q < 4; ++q)
                sums[q] <<= 8;
#pragma unroll 1
            for (int chunk = 0; chunk < chunks; ++chunk)
            {
                const uint32_t picture[4] = {first[8 * chunk], second[8 * chunk], first[8 * chunk + 1],
                                             second[8 * chunk + 1]};
                if (chunks > 1)
                    makeOnes(width, chunk, ones);
                multiplyAdd(sums, picture, ones);
            }
        }
        const int pitch = 8 * blocks;
        if (group0 < groups && row + group0 < rows)
            *reinterpret_cast<uint2*>(lines + (row + group0) * pitch + 8 * block0 + 2 * t) = make_uint2(sums[0], sums[1]);
        if (group1 < groups && row + group1 < rows)
            *reinterpret_cast<uint2*>(lines + (row + group1) * pitch + 8 * block1 + 2 * t) = make_uint2(sums[2], sums[3]);
    }
}

//! Moments of a lane's positions. Weighted: q T and the squares of I by their high and low bytes.
template <int METRIC, bool WEIGHTED, int CHANNELS> struct Moments
{
    static constexpr bool IMAGE = isCorrelation(METRIC);
    static constexpr int SQUARES = CHANNELS == 1 ? 2 : 3, PLANES = gpu::bandPlanes(CHANNELS, WEIGHTED);
    Tile cross, crossLow, squares, squaresLow, image[CHANNELS];

    __device__ __forceinline__ void sum(const FusedBands& plan, int width, int height, const LanePositions& mine,
                                        const uint32_t* planes, const uint32_t* templ)
    {
        clear(cross), clear(crossLow), clear(squares), clear(squaresLow);
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
            clear(image[c]);
        const int chunks = (width + 7 + 31) / 32, lane = threadIdx.x % 32, before = 8 * (lane % 4) - lane / 4;
        Operands from;
        from.pitch = plan.pitch;
        from.step = templateStep(chunks);
        from.height = height;
        from.shift = 8 * (before & 3);
        const int planeWords = height * from.step;
        templ += 4 + (before >> 2);
#pragma unroll 1
        for (int chunk = 0; chunk < chunks; ++chunk, planes += 8, templ += 8)
        {
            if (!WEIGHTED)
                makeOnes(width, chunk, from.ones);
#pragma unroll
            for (int c = 0; c < CHANNELS; ++c)
            {
                from.first = planes + c * plan.planeWords + mine.at[0];
                from.second = planes + c * plan.planeWords + mine.at[1];
                from.rows[0] = templ + (WEIGHTED ? 2 * c : c) * planeWords;
                from.rows[1] = from.rows[0] + planeWords;
                from.rows[2] = templ + 2 * CHANNELS * planeWords;
                if (!WEIGHTED)
                    addPlane<1, IMAGE>(from, cross, cross, cross, image[c]);
                else
                    addPlane<IMAGE ? 3 : 2, false>(from, cross, crossLow, image[c], cross);
            }
            if (WEIGHTED)
                sumSquares(plan, mine, planes + CHANNELS * plan.planeWords, templ + 2 * CHANNELS * planeWords, from);
        }
    }

    //! Of weighted ones: the low bytes apart, as 32 bits do not hold them together with the others.
    __device__ __forceinline__ void sumSquares(const FusedBands& plan, const LanePositions& mine,
                                               const uint32_t* planes, const uint32_t* weights, Operands& from)
    {
        Tile part;
        clear(part);
#pragma unroll
        for (int b = 0; b < SQUARES; ++b)
        {
            from.first = planes + b * plan.planeWords + mine.at[0];
            from.second = planes + b * plan.planeWords + mine.at[1];
            from.rows[0] = weights;
            Tile& to = b == SQUARES - 1 ? squaresLow : part;
            addPlane<1, false>(from, to, to, to, to);
#pragma unroll
            for (int j = 0; j < R; ++j)
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    if (b < SQUARES - 2)
                        part[j][q] <<= 8;
                    else if (b == SQUARES - 2)
                        squares[j][q] += part[j][q];
        }
    }

    //! Without weights, from makeLines(): columns of sums.
    __device__ __forceinline__ void sumLines(const LanePositions& mine, const uint32_t* lines, int pitch, int height)
    {
#pragma unroll
        for (int half = 0; half < 2; ++half)
        {
            const uint2* line = reinterpret_cast<const uint2*>(lines + mine.line[half] * pitch + mine.x[half]);
            const int step = pitch / 2;
            uint2 first[R - 1], total = {0, 0};
#pragma unroll
            for (int i = 0; i < R - 1; ++i, line += step)
            {
                first[i] = *line;
                total.x += first[i].x, total.y += first[i].y;
            }
#pragma unroll 4
            for (int v = R - 1; v < height; ++v, line += step)
                total.x += line->x, total.y += line->y;
            squares[0][2 * half] = total.x, squares[0][2 * half + 1] = total.y;
#pragma unroll
            for (int j = 1; j < R; ++j, line += step)
            {
                total.x += line->x - first[j - 1].x, total.y += line->y - first[j - 1].y;
                squares[j][2 * half] = total.x, squares[j][2 * half + 1] = total.y;
            }
        }
    }

    //! First and second moment of position q of row j: SSD: S(qIT) and S(qI^2); ZNCC: n and v; without weights less 255 or its
    //! square.
    __device__ __forceinline__ void fold(const TemplateSums& templ, int j, int q, uint64_t& product,
                                         uint64_t& power) const
    {
        product = cross[j][q], power = squares[j][q];
        if (WEIGHTED)
        {
            product = (product << 8) + crossLow[j][q];
            power = (power << 8) + squaresLow[j][q];
        }
        if (!IMAGE)
            return;
        uint64_t products = 0, powers = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t sum = image[c][j][q], of = static_cast<uint32_t>(WEIGHTED ? templ.qT[c] : templ.qT[c] / 255);
            products += static_cast<uint64_t>(sum) * of;
            powers += static_cast<uint64_t>(sum) * sum;
        }
        const uint32_t W = static_cast<uint32_t>(WEIGHTED ? templ.W : templ.W / 255);
        product = W * product - products;
        power = W * power - powers;
    }
};

__device__ __forceinline__ uint32_t warpMax(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, value);
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = ::max(value, __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

//! The block's best, in all threads; one barrier inside. Takes turns with two scratches.
template <typename Value> __device__ __forceinline__ Best blockBest(Best best, Best* bests)
{
    best = warpBest<Value>(best);
    if (threadIdx.x % 32 == 0)
        bests[threadIdx.x / 32] = best;
    __syncthreads(); // the warps' bests are complete
    return warpBestOf<Value>(bests, blockDim.x / 32);
}

//! Of a lane's positions, whose index is y << 16 | x, in raster order. SSD: values.
template <int METRIC, bool WEIGHTED, int CHANNELS> struct Choice
{
    using Value = std::conditional_t<wideValues(METRIC, WEIGHTED, false), uint64_t, uint32_t>;
    Value values[R][4]; //!< ~0: not to be chosen

    __device__ __forceinline__ Choice(const Moments<METRIC, WEIGHTED, CHANNELS>& moments,
                                      const DeviceFragment& fragment, const LanePositions& mine, uint32_t*)
    {
        const Value templ = static_cast<Value>(WEIGHTED ? fragment.sums.qT2 : fragment.sums.qT2 / 255);
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
            {
                uint64_t product, power;
                moments.fold(fragment.sums, j, q, product, power);
                values[j][q] = mine.inside >> (4 * j + q) & 1
                                   ? templ - 2 * static_cast<Value>(product) + static_cast<Value>(power)
                                   : static_cast<Value>(~static_cast<Value>(0));
            }
    }

    __device__ __forceinline__ void remove(int j, int q) { values[j][q] = static_cast<Value>(~static_cast<Value>(0)); }

    __device__ __forceinline__ Best best(const LanePositions& mine, Scratch* scratch, int turn) const
    {
        Value least = static_cast<Value>(~static_cast<Value>(0));
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                least = values[j][q] < least ? values[j][q] : least;
        uint32_t least16 = 0;
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                least16 |= values[j][q] == least ? 1u << (4 * j + q) : 0;
        int index = Best::NONE;
        if (least != static_cast<Value>(~static_cast<Value>(0)))
#pragma unroll
            for (int q = 0; q < 4; ++q)
            {
                const uint32_t column = least16 >> q & 0x1111;
                if (column)
                    index = ::min(index, mine.indexOf(__ffs(column) - 1 + q));
            }
        return blockBest<Value>({least, index}, scratch->warps[turn]);
    }

    //! Calls body(k, value) for each bit k, 4j + q, of `which`.
    template <class Body> __device__ __forceinline__ void forEach(uint32_t which, const Body& body) const
    {
#pragma unroll
        for (int k = 0; k < 4 * R; ++k)
            if (which >> k & 1)
                body(k, values[k / 4][k % 4]);
    }
};

/** ZNCC: estimates of n / sqrt(v), good to 2^-21, and scores of those only that may be the best. Scores follow estimates up to
their rounding to float, 2^-24, and the deviation of the template is the most that n / sqrt(v) can be. */
template <bool WEIGHTED, int CHANNELS> struct Choice<METRIC_ZNCC, WEIGHTED, CHANNELS>
{
    using Value = uint32_t;
    ulonglong2* const parts; //!< n and v of the lane's positions, a block's threads apart
    const double deviation;
    const float margin;
    float estimates[R][4]; //!< NONE: not to be chosen
    static constexpr float NONE = -3e38f;

    //! @param shared takes n and v
    __device__ __forceinline__ Choice(const Moments<METRIC_ZNCC, WEIGHTED, CHANNELS>& moments,
                                      const DeviceFragment& fragment, const LanePositions& mine, uint32_t* shared)
        : parts(reinterpret_cast<ulonglong2*>(shared) + threadIdx.x), deviation(templateDeviation(fragment.variance)),
          margin(static_cast<float>(WEIGHTED ? deviation : deviation / 255) * (1.f / (1 << 18)))
    {
        const TemplateSums sums = fragment.sums;
        __syncthreads(); // planes and templates have been read
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
            {
                uint64_t n, v;
                moments.fold(sums, j, q, n, v);
                parts[(4 * j + q) * blockDim.x] = make_ulonglong2(n, v);
                const float estimate = static_cast<float>(static_cast<int64_t>(n)) *
                                       rsqrtf(static_cast<float>(static_cast<int64_t>(v)));
                estimates[j][q] = !(mine.inside >> (4 * j + q) & 1) ? NONE : (v == 0 ? 0.f : estimate);
            }
    }

    __device__ __forceinline__ void remove(int j, int q) { estimates[j][q] = NONE; }

    __device__ __forceinline__ Best best(const LanePositions& mine, Scratch* scratch, int turn) const
    {
        float most = NONE;
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                most = fmaxf(most, estimates[j][q]);
        const uint32_t of = warpMax(~znccToValue(most)); // ascending
        if (threadIdx.x % 32 == 0)
            scratch->most[turn][threadIdx.x / 32] = of;
        __syncthreads(); // the warps' are complete
        const int lane = threadIdx.x % 32;
        most = valueToZncc(~warpMax(lane < static_cast<int>(blockDim.x) / 32 ? scratch->most[turn][lane] : 0));
        if (most == NONE)
            return Best::none();
        uint32_t which = 0;
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                which |= estimates[j][q] >= most - margin ? 1u << (4 * j + q) : 0;
        Best best = Best::none();
        forEach(which, [&](int k, uint32_t value) { best.take(value, mine.indexOf(k)); });
        return blockBest<Value>(best, scratch->warps[turn]);
    }

    template <class Body> __device__ __forceinline__ void forEach(uint32_t which, const Body& body) const
    {
#pragma unroll 1
        for (; which; which &= which - 1)
        {
            const int k = __ffs(which) - 1;
            const ulonglong2 part = parts[k * blockDim.x];
            const uint64_t scale = WEIGHTED ? 1 : 255 * 255;
            body(k, znccToValue(znccScoreOf(static_cast<int64_t>(scale * part.x), static_cast<int64_t>(scale * part.y),
                                            deviation)));
        }
    }
};

//! peaks: greedy, each the best outside the zones of those before.
template <class Choice>
__device__ __forceinline__ int findPeaksOfLanes(const Settings& settings, const LanePositions& mine, const Best* walked,
                                                Choice& choice, Scratch* scratch)
{
    const Entry& entry = scratch->entry;
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    int count = 0;
#pragma unroll 1
    while (count < settings.peaks)
    {
        Best best;
        if (count == 0 && walked)
        {
            const int y = walked->index / entry.window.cols;
            best = {walked->value, y << 16 | (walked->index - y * entry.window.cols)};
        }
        else
            best = choice.best(mine, scratch, count % 2); // no barrier before the next peak: it uses the other
        if (best.index == Best::NONE)
            break;
        const int x = best.index & 0xffff, y = best.index >> 16;
        if (threadIdx.x == 0)
            scratch->peaks[count] = {best.value, x, y};
        if (++count == settings.peaks)
            break;
#pragma unroll
        for (int j = 0; j < R; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q)
                if (!outsideZone(mine.xOf(q) - x, mine.yOf(q) + j - y, distance, settings.exclusion))
                    choice.remove(j, q);
    }
    return count;
}

//! Positions of a lane beside one of the peaks.
__device__ __forceinline__ uint32_t besidePeaks(const LanePositions& mine, const Peak<uint64_t>* peaks, int count)
{
    uint32_t which = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i)
#pragma unroll
        for (int k = 0; k < 4 * R; ++k)
            if (::abs(mine.xOf(k % 4) - peaks[i].x) + ::abs(mine.yOf(k % 4) + k / 4 - peaks[i].y) == 1)
                which |= 1u << k;
    return which & mine.inside;
}

//! Some of a lane's values to `map`, for sub-pixel offsets. Begins and ends with a barrier.
template <class Choice>
__device__ __forceinline__ void storeValues(const LanePositions& mine, uint32_t which, const Choice& choice, int cols,
                                            typename Choice::Value* map)
{
    __syncthreads(); // what was there has been read
    choice.forEach(which,
                   [&](int k, typename Choice::Value value)
                   {
                       const int index = mine.indexOf(k);
                       map[(index >> 16) * cols + (index & 0xffff)] = value;
                   });
    __syncthreads(); // the map is complete
}

//! Blocks of `warps` warps an SM must have room for, as far as registers go.
constexpr int blocksOf(int metric, bool weighted, int warps)
{
    const int few = weighted                ? tuning::FUSED_BAND_WEIGHTED_BLOCKS
                    : isCorrelation(metric) ? tuning::FUSED_BAND_ZNCC_BLOCKS
                                            : tuning::FUSED_BAND_SSD_BLOCKS;
    return warps == tuning::FUSED_BAND_FEW_WARPS ? few : few / 2;
}

template <int METRIC, bool WEIGHTED, int CHANNELS, int WARPS>
__global__ void __launch_bounds__(32 * WARPS, blocksOf(METRIC, WEIGHTED, WARPS))
    matchFusedBandsKernel(const ImageView frame, const Batch batch, const Settings settings, const FusedBands plan,
                          const Best* walked, const Outputs out)
{
    using TheMoments = Moments<METRIC, WEIGHTED, CHANNELS>;
    using TheChoice = Choice<METRIC, WEIGHTED, CHANNELS>;
    extern __shared__ __align__(16) unsigned char shared[];
    Scratch* const scratch = reinterpret_cast<Scratch*>(shared);
    uint32_t* const raw = reinterpret_cast<uint32_t*>(shared + gpu::FUSED_SCRATCH_BYTES);
    uint32_t* const templ = raw + plan.rawWords; // sums of squares take the place of the raw picture
    uint32_t* const planes = templ + plan.templateWords;

    const int e = blockIdx.x, i = fragmentOf(batch, e);
    const uint32_t fragmentWord = loadFragment(batch, i);
    const Rect4 area = areaOf(frame, batch, i);
    if (area.width <= plan.areaWidth && area.height <= plan.areaHeight) // larger ones are not found in any case
        fetchArea(frame, area, plan, raw);
    const Entry& entry = scratch->entry;
    openEntry(batch, i, area, fragmentWord, &scratch->entry, &scratch->status);
    __syncthreads(); // the entry is complete
    if (scratch->status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
            reportNothing(out, i, settings.peaks, scratch->status);
        return;
    }
    const int width = entry.fragment.width, height = entry.fragment.height;
    stageRows<WEIGHTED, CHANNELS>(batch.arena + entry.fragment.words, height, entry.fragment.pitch,
                                  templateStep((width + 7 + 31) / 32), templ);
    __pipeline_wait_prior(1);
    __syncthreads(); // the raw picture is complete
    if (CHANNELS == 1)
        makePlanes<1>(frame, area, plan, raw, planes);
    else if (frame.pixelStride == 3)
        makePlanes<3>(frame, area, plan, raw, planes);
    else
        makePlanes<4>(frame, area, plan, raw, planes);
    __pipeline_wait_prior(0);
    __syncthreads(); // planes and template are complete, the raw picture has been read
    const int cols = entry.window.cols;
    if (!WEIGHTED)
        makeLines<TheMoments::SQUARES>(planes + CHANNELS * plan.planeWords, plan, cols, area.height, width, raw);

    const LanePositions mine(entry.window, plan.pitch);
    TheMoments moments;
#ifdef CUT_SUM
        clear(moments.cross), clear(moments.squares);clear(moments.crossLow), clear(moments.squaresLow);for (int c = 0; c < CHANNELS; ++c) clear(moments.image[c]);
        moments.cross[0][0]=planes[mine.at[0]]; moments.squares[1][0] = raw[mine.at[1]]+templ[mine.at[0]];
#else
    const bool works = LanePositions::warpWorks(entry.window);
    if (works)
        moments.sum(plan, width, height, mine, planes, templ);
    if (!WEIGHTED)
    {
        __syncthreads(); // lines are complete
        if (works)
            moments.sumLines(mine, raw, (cols + 7) / 8 * 8, height);
    }
#endif
    TheChoice choice(moments, entry.fragment, mine, raw);
#ifdef CUT_PEAKS
    float s = 0; choice.forEach(1,[&](int k, uint64_t v){s+=v;});
    if constexpr (METRIC==METRIC_SSD) for (int j = 0; j < R; ++j) for (int q = 0; q < 4; ++q) s += choice.values[j][q]; else for (int j = 0; j < R; ++j) for (int q = 0; q < 4; ++q) s += choice.estimates[j][q];
    if (s == 12345) out.scores.row(i)[0] = 1;
    return;
#endif
    typename TheChoice::Value* const map = reinterpret_cast<typename TheChoice::Value*>(
        raw + (METRIC == METRIC_ZNCC ? 16 * R * blockDim.x : 0)); // behind n and v
    if (METRIC == METRIC_SSD && settings.subpixel)
        storeValues(mine, mine.inside, choice, cols, map); // before zones take some away
    const int count = findPeaksOfLanes(settings, mine, walked ? walked + e : nullptr, choice, scratch);
    if (METRIC == METRIC_ZNCC && settings.subpixel)
    {
        __syncthreads(); // all threads see the peaks
        storeValues(mine, besidePeaks(mine, scratch->peaks, count), choice, cols, map);
    }
    if (threadIdx.x >= 32)
        return;
    __syncwarp(); // the first warp sees the peaks
    report(out, i, settings, entry.fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch->peaks, count,
           [map, cols = entry.window.cols](int x, int y) { return static_cast<uint64_t>(map[y * cols + x]); });
}

template <int METRIC, bool WEIGHTED>
void launchFusedBands(const ImageView& frame, const Batch& batch, const Settings& settings, const FusedBands& plan,
                      const Best* walked, const Outputs& out, cudaStream_t stream)
{
    const bool few = plan.warps <= tuning::FUSED_BAND_FEW_WARPS;
    const auto kernel = batch.channels == 1
                            ? (few ? matchFusedBandsKernel<METRIC, WEIGHTED, 1, tuning::FUSED_BAND_FEW_WARPS>
                                   : matchFusedBandsKernel<METRIC, WEIGHTED, 1, MOST_WARPS>)
                            : (few ? matchFusedBandsKernel<METRIC, WEIGHTED, 3, tuning::FUSED_BAND_FEW_WARPS>
                                   : matchFusedBandsKernel<METRIC, WEIGHTED, 3, MOST_WARPS>);
    detail::launch("matchFusedBands", kernel, dim3(batch.count), dim3(32 * plan.warps), plan.sharedBytes, stream, frame,
                   batch, settings, plan, walked, out);
}

} // namespace

namespace gpu {

void matchFusedBands(const ImageView& frame, const Batch& batch, const Settings& settings, const FusedPlan& plan,
                     const Best* walked, const Outputs& out, StreamHandle stream)
{
    const auto launch = isCorrelation(settings.metric)
                            ? (batch.weighted ? launchFusedBands<METRIC_ZNCC, true> : launchFusedBands<METRIC_ZNCC, false>)
                            : (batch.weighted ? launchFusedBands<METRIC_SSD, true> : launchFusedBands<METRIC_SSD, false>);
    launch(frame, batch, settings, plan.bands, walked, out, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
