// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify for pairs of windows (see pairs.hpp). A block copies a tile's pixels from the pyramid, measures contrast, and computes an
// integral image for pairs. Then its warps work independently. Dense: a warp evaluates the first stages on a row of pairs, with
// neighbouring columns in its lanes; records are kernel parameters, loads meet no bank conflicts, and offsets are operands. Pairs that
// are left go to a list of the tile. Sparse: a warp takes up to 32 pairs from the list through all other stages. As their number falls,
// 2 to 32 lanes share a pair and its trees: sums are integers, so their order does not matter.
#include "pair_sums.hpp"
#include "integral_image.hpp"
#include "tile.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

//! Running sums and sums of squares over the inner part of a window's rows: pixels [begin, end) of each row, of any number.
struct RowSums
{
    const uint8_t* rows; //!< word with the first pixel, in row 0
    int step, words;
    uint32_t first, beforeLast, last; //!< masks of words, as windows begin at any byte of a word
    uint32_t sum = 0, squares = 0;

    __device__ __forceinline__ RowSums(const uint8_t* theRows, int theStep, int begin, int end)
        : rows(theRows),
          step(theStep),
          words((end - begin + 6) / 4), // as many as can hold the pixels, wherever in a word they begin
          first(0xffffffffu << (8 * (begin & 3))),
          beforeLast(maskOf(end - begin / 4 * 4 - 4 * (words - 2))),
          last(maskOf(end - begin / 4 * 4 - 4 * (words - 1)))
    {}
    //! Returns the mask of a word's first bytes. @param bytes number of bytes that count.
    static __device__ __forceinline__ uint32_t maskOf(int bytes)
    {
        return bytes >= 4 ? 0xffffffffu : (1u << (8 * ::max(bytes, 0))) - 1u;
    }

    __device__ __forceinline__ void add(int row, bool plus)
    {
        const uint32_t* const pixels = reinterpret_cast<const uint32_t*>(rows + row * step);
        uint32_t s = 0, q = 0;
#pragma unroll 1
        for (int w = 0; w < words; ++w)
        {
            const uint32_t four = pixels[w] & (w == 0 ? first : 0xffffffffu) &
                                  (w == words - 2 ? beforeLast : 0xffffffffu) & (w == words - 1 ? last : 0xffffffffu);
            s = __dp4a(four, 0x01010101u, s);
            q = __dp4a(four, four, q);
        }
        sum = plus ? sum + s : sum - s;
        squares = plus ? squares + q : squares - q;
    }
};

/** Computes normOf() at a lower cost. rsqrt() and the value that normOf() rounds to 24 bits are each within two units of the last of 53 bits, so
both round to the same float unless a midpoint between two floats is near. */
__device__ __forceinline__ float quickNormOf(int64_t contrast)
{
    const double norm = ::rsqrt(static_cast<double>(contrast));
    const int beside = (static_cast<int>(__double_as_longlong(norm)) & 0x1fffffff) - 0x10000000;
    return beside > 16 || beside < -16 ? static_cast<float>(norm) : normOf(contrast);
}

// Contrast of windows up to 33 pixels wide. Pixels less 128 have the same contrast, as it is a variance, and the sum and the sum of squares
// over the inner part of a row of a window fit one word: sums of rows are computed once, and windows add them up.
const int PACKED_PIXELS = 31; //!< largest number of inner pixels per row
const int SQUARES_BITS = 19;  //!< 31 * 128 * 128 is below 2^19; the sum, with its sign, has the other 13 bits

__device__ __forceinline__ uint32_t packRowSums(int sum, int squares)
{
    return (static_cast<uint32_t>(sum) << SQUARES_BITS) + static_cast<uint32_t>(squares);
}

//! Sums over the inner part of one row of a window. Pixels are less 128, four in a word.
struct InnerSums
{
    int sum = 0, squares = 0;

    __device__ __forceinline__ void add(int four)
    {
        sum = __dp4a(four, 0x01010101, sum);
        squares = __dp4a(four, four, squares);
    }
    //! Moves on by the bytes of `ones`. @param entering,leaving words with these bytes.
    __device__ __forceinline__ void slide(int entering, int leaving, int ones)
    {
        const int bytes = ones * 255;
        sum += __dp4a(entering, ones, 0) - __dp4a(leaving, ones, 0);
        squares += __dp4a(entering, entering & bytes, 0) - __dp4a(leaving, leaving & bytes, 0);
    }
    __device__ __forceinline__ uint32_t packed() const { return packRowSums(sum, squares); }
};

/** Computes the packed sums of all rows, for each column of windows, into `out` with shape.cols words per row. A thread has four neighbouring
columns and slides from one to the next. @param WORDS words of four pixels that hold a window's row and the pixel before it.
@param STEP distance of windows. */
template <int WORDS, int STEP>
__device__ __forceinline__ void sumInnerRows(const Shape& shape, const Patch& patch, int inner, uint32_t* out)
{
    const int bits = shape.columnBits - 2, group = threadIdx.x & ((1 << bits) - 1);
    const uint32_t* const pixels = reinterpret_cast<const uint32_t*>(patch.pixels) + group * STEP;
    const auto wordAt = [&](int y, int word)
    { return static_cast<uint32_t>(pixels[y * (shape.patchStep / 4) + word] ^ 0x80808080u); };
    // The inner part begins at byte 1. Bytes that enter are `inner` bytes behind those that leave.
    const int entering = (1 + inner) / 4, shift = 8 * ((1 + inner) & 3);
#pragma unroll 1
    for (int y = 1 + static_cast<int>(threadIdx.x >> bits); y < patch.rows - 1; y += tuning::THREADS >> bits)
    {
        InnerSums sums;
        uint4 packed;
        uint32_t words[2];
#pragma unroll
        for (int k = 0; k < WORDS; ++k)
        {
            const uint32_t word = wordAt(y, k);
            if (k < 2)
                words[k] = word;
            const int bytes = 1 + inner - 4 * k; // of this word
            const uint32_t mask = bytes >= 4 ? 0xffffffffu : bytes > 0 ? (1u << (8 * bytes)) - 1u : 0u;
            sums.add(static_cast<int>(word & mask & (k == 0 ? 0xffffff00u : 0xffffffffu)));
        }
        packed.x = sums.packed();
        const uint32_t in0 = wordAt(y, entering), in1 = wordAt(y, entering + 1);
        const int in = static_cast<int>(__funnelshift_r(in0, in1, shift)),
                  gone = static_cast<int>(__funnelshift_r(words[0], words[1], 8));
        sums.slide(in, gone, STEP == 1 ? 0x00000001 : 0x00000101);
        packed.y = sums.packed();
        sums.slide(in, gone, STEP == 1 ? 0x00000100 : 0x01010000);
        packed.z = sums.packed();
        if (STEP == 1)
            sums.slide(in, gone, 0x00010000);
        else
            sums.slide(static_cast<int>(__funnelshift_r(in1, wordAt(y, entering + 2), shift)),
                       static_cast<int>(words[1] >> 8), 0x00000101);
        packed.w = sums.packed();
        reinterpret_cast<uint4*>(out + (y << shape.columnBits))[group] = packed;
    }
}
template <int WORDS>
__device__ __forceinline__ void sumInnerRows(const Shape& shape, const Patch& patch, int inner, uint32_t* out)
{
    if (shape.shift)
        sumInnerRows<WORDS, 2>(shape, patch, inner, out);
    else
        sumInnerRows<WORDS, 1>(shape, patch, inner, out);
}

//! Stores the norms of a column of windows, from `first` to `last`. @param sums running sums, with add(row, plus).
template <class Sums>
__device__ __forceinline__ void storeNorms(const Tile& t, int column, int first, int last, Sums& sums)
{
    const Shape& shape = t.shape;
    const ModelView& model = t.job.model;
    const int area = contrastArea(model.width, model.height), inner = model.height - 2;
    const int64_t least = model.leastContrast;
    int top = (first << shape.shift) + 1;
#pragma unroll 2
    for (int y = 0; y < inner; ++y)
        sums.add(top + y, true);
    for (int row = first;; ++row)
    {
        const int64_t contrast = contrastOf(sums.sum, sums.squares, area);
        t.norms[row << shape.columnBits | column] = contrast >= least ? quickNormOf(contrast) * NORM_SCALE : 0.f;
        if (row + 1 == last)
            return;
#pragma unroll 1
        for (int k = 0; k <= shape.shift; ++k, ++top)
        {
            sums.add(top + inner, true);
            sums.add(top, false);
        }
    }
}

//! Adds up packed sums of rows.
struct PackedSums
{
    const uint32_t* rows; //!< of the column
    int columnBits;
    uint32_t sum = 0, squares = 0;

    __device__ __forceinline__ void add(int row, bool plus)
    {
        const uint32_t packed = rows[row << columnBits], q = packed & ((1u << SQUARES_BITS) - 1u);
        const uint32_t s = static_cast<uint32_t>(static_cast<int32_t>(packed) >> SQUARES_BITS);
        sum = plus ? sum + s : sum - s;
        squares = plus ? squares + q : squares - q;
    }
};

/** Computes the norms of all windows: each thread goes down a part of a column. All threads call it together; the patch stays as it is, the
tables are overwritten. */
__device__ __forceinline__ void measureContrast(const Tile& t)
{
    const Shape& shape = t.shape;
    const int parts = tuning::THREADS >> shape.columnBits, each = detail::ceilDiv(shape.rows, parts);
    const int column = threadIdx.x & (shape.cols - 1), part = threadIdx.x >> shape.columnBits;
    const int first = part * each, last = ::min(first + each, t.rows), inner = t.job.model.width - 2;
    const bool has = column < t.cols && first < last;
    if (inner > PACKED_PIXELS)
    {
        const int begin = (column << shape.shift) + 1;
        RowSums rows(t.patch.pixels + begin / 4 * 4, shape.patchStep, begin, begin + inner);
        if (has)
            storeNorms(t, column, first, last, rows);
        return;
    }
    if (inner < 20)
        sumInnerRows<5>(shape, t.patch, inner, t.patch.table);
    else if (inner < 24)
        sumInnerRows<6>(shape, t.patch, inner, t.patch.table);
    else
        sumInnerRows<8>(shape, t.patch, inner, t.patch.table);
    __syncthreads(); // sums of rows
    PackedSums sums = {t.patch.table + column, shape.columnBits};
    if (has)
        storeNorms(t, column, first, last, sums);
    __syncthreads(); // the table's memory may be used again
}

//! View of a block's pairs by a thread.
struct Pairs
{
    const Tile& tile;
    const ConstantStages& constant;
    int shift; //!< Shape::shift of the tile
    ConstantTables tables;

    //! Returns the records among the kernel's parameters.
    template <class Record> __device__ __forceinline__ const Record* constantNodes() const
    {
        return reinterpret_cast<const Record*>(constant.records[shift]);
    }

    // A pair has the index of its upper window.
    __device__ __forceinline__ uint32_t windowAt(int pair) const
    {
        return tile.job.layout.tables + 4 * tile.indexOf(pair);
    }
    __device__ __forceinline__ int bankOf(int pair) const { return windowAt(pair) >> 2 & 31; }
    __device__ __forceinline__ int windowOf(int pair, int lower) const
    {
        return pair + (lower << tile.shape.columnBits);
    }
    __device__ __forceinline__ float2 normsOf(int pair) const
    {
        return {tile.norms[windowOf(pair, 0)], tile.norms[windowOf(pair, 1)]};
    }
    __device__ __forceinline__ void report(int pair, int lower, int64_t sum, const StageRecord& stage) const
    {
        addCandidate(tile, windowOf(pair, lower), weightOf(sum, stage.shift));
    }
};

//! Stores which windows of a row failed the first stage. For one lane.
__device__ __forceinline__ void storeFailMask(const Tile& t, int row, uint64_t fails)
{
    if (t.shape.cols == 64)
    {
        t.shared.fails[2 * row] = static_cast<uint32_t>(fails);
        t.shared.fails[2 * row + 1] = static_cast<uint32_t>(fails >> 32);
    }
    else
        t.shared.fails[row] = static_cast<uint32_t>(fails);
    if (row < t.rows)
        t.job.lists.failMasks[t.shared.tile.word + row * t.shared.grid.rowWords] = fails;
}

/** Applies the skip rule to a row of pairs after the first stage. @param pass windows that passed, the upper and the lower one of each pair in
turn. @param evaluated in: windows with contrast; out: those that passed and are not certainly skipped. */
template <int U>
__device__ __forceinline__ void skipInRow(const Tile& t, int row, const bool (&pass)[2 * U], bool (&evaluated)[2 * U])
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < 2; ++k)
    {
        uint64_t fails = 0, passes = 0;
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            const bool window = evaluated[2 * u + k], passed = pass[2 * u + k];
            fails |= static_cast<uint64_t>(__ballot_sync(ALL_LANES, window && !passed)) << (32 * u);
            passes |= static_cast<uint64_t>(__ballot_sync(ALL_LANES, window && passed)) << (32 * u);
        }
        if (lane == 0)
            storeFailMask(t, 2 * row + k, fails);
        const uint64_t left = notSkipped(fails, passes, t.shared.tile.col > 0);
#pragma unroll
        for (int u = 0; u < U; ++u)
            evaluated[2 * u + k] = left >> (lane + 32 * u) & 1;
    }
    __syncwarp(); // the stored masks, for candidates of this row
}

/** Appends the pairs of a row with windows that are left to the tile's list. @param BANKS the list has one column per bank of shared memory, so
that warps can take pairs whose loads do not conflict; neighbouring pairs are in neighbouring banks. */
template <bool BANKS, int U>
__device__ __forceinline__ void listRow(const Pairs& p, int row, const bool (&alive)[2 * U])
{
    const Tile& t = p.tile;
    const int lane = threadIdx.x & 31, first = (2 * row << t.shape.columnBits) + lane, bank = p.bankOf(first);
#pragma unroll
    for (int u = 0; u < U; ++u)
    {
        const bool left = alive[2 * u] || alive[2 * u + 1];
        int place = 0;
        if (BANKS && left)
            place = 32 * atomicAdd(&t.shared.banks[bank], 1) + bank;
        if (!BANKS)
        {
            const uint32_t some = __ballot_sync(ALL_LANES, left);
            if (lane == 0 && some)
                place = atomicAdd(&t.shared.counts[0], __popc(some));
            place = __shfl_sync(ALL_LANES, place, 0) + __popc(some & ((1u << lane) - 1u));
        }
        if (left)
            t.lists[place] = static_cast<uint16_t>((first + 32 * u) | alive[2 * u] << 14 | alive[2 * u + 1] << 15);
    }
}

/** Order in which warps take a list with banks, 32 places at a time, row by row. The first rows, in which most banks have a pair, are taken
as they are, so that no two pairs share a bank. Later rows are taken without their gaps. All lanes of a warp call it together. */
struct Rows
{
    int count; //!< pairs of the bank with this lane's number
    int full;  //!< number of rows that are taken as they are
    int end;   //!< number of places

    __device__ __forceinline__ Rows() : count(0), full(0), end(0) {}
    //! @param counts number of pairs by bank.
    __device__ __forceinline__ explicit Rows(const int (&counts)[32]) : count(counts[threadIdx.x & 31]), full(0), end(0)
    {
        int row = 0;
        for (int pairs = pairsOf(0); pairs > 0; pairs = pairsOf(++row))
        {
            full += pairs >= tuning::FULL_ROW ? 1 : 0;
            end += pairs >= tuning::FULL_ROW ? 32 : pairs;
        }
    }
    //! Returns the banks that have a pair in a row: never more than in the row before.
    __device__ __forceinline__ uint32_t banksOf(int row) const { return __ballot_sync(ALL_LANES, count > row); }
    __device__ __forceinline__ int pairsOf(int row) const { return __popc(banksOf(row)); }

    //! Returns the number of pairs in the 32 places from `first` on.
    __device__ __forceinline__ int pairsAt(int first) const
    {
        return first < 32 * full ? pairsOf(first / 32) : ::min(end - first, 32);
    }
    //! Returns the place of this lane's pair in the list. @param index of the pair among those from `first` on.
    __device__ __forceinline__ int placeOf(int first, int index) const
    {
        int row = first / 32;
        if (row < full)
            return 32 * row + bankAt(banksOf(row), index);
        int before = first + index - 32 * full, place = 0; // before: pairs of later rows before this one
        for (int r = full; banksOf(r) != 0; ++r)
        {
            const uint32_t banks = banksOf(r);
            const int pairs = __popc(banks);
            if (before >= 0 && before < pairs)
                place = 32 * r + bankAt(banks, before);
            before -= pairs;
        }
        return place;
    }

private:
    static __device__ __forceinline__ int bankAt(uint32_t banks, int index)
    {
        int bank = 0;
#pragma unroll
        for (int d = 16; d > 0; d /= 2)
        {
            const int below = __popc(banks >> bank & ((1u << d) - 1u));
            bank += index >= below ? d : 0;
            index -= index >= below ? below : 0;
        }
        return bank;
    }
};

//! Adds up a stage in full for a pair that `lanes` lanes share. All lanes of a warp call it together.
template <class Kind>
__device__ __forceinline__ FullSums fullSums(const Pairs& p, int stage, int pair, float upper, float lower, int lane,
                                             int lanes)
{
    FullSums full =
        fullShare<Kind>(p.tile.job.model, p.shift, stage, p.windowAt(pair), float2{upper, lower}, lane, lanes);
    for (int d = lanes / 2; d > 0; d /= 2)
        for (int k = 0; k < 2; ++k)
            full.sum[k] += __shfl_xor_sync(ALL_LANES, full.sum[k], d);
    return full;
}

/** Decides a stage in full for a row of pairs, where quantised sums are undecided, or for the last stage, whose sums are weights.
@param first first pair of the row. */
template <class Kind, int U>
__device__ __forceinline__ void passInFull(const Pairs& p, int stage, int first, const float (&norm)[2 * U],
                                           bool (&pass)[2 * U], FullSums (&full)[U])
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int u = 0; u < U; ++u)
    {
        full[u] = fullSums<Kind>(p, stage, first + lane + 32 * u, norm[2 * u], norm[2 * u + 1], 0, 1);
        for (int k = 0; k < 2; ++k)
            pass[2 * u + k] = full[u].sum[k] >= p.tile.job.model.stage[stage].fixedThreshold;
    }
}

//! Evaluates the first stages on a row of pairs, U per lane, and lists the pairs that are left.
template <class Kind, TreeShape TREES, int U> __device__ __forceinline__ void denseRow(const Pairs& p, int row)
{
    const Tile& t = p.tile;
    const int lane = threadIdx.x & 31, first = 2 * row << t.shape.columnBits;
    PairSums<Kind, TREES, U> sums;
    bool alive[2 * U], any = false;
#pragma unroll
    for (int u = 0; u < U; ++u)
    {
        const int column = lane + 32 * u;
        const float2 norms = Kind::NORM ? p.normsOf(first + column) : float2{1.f, 1.f};
        sums.window[u] = p.windowAt(first) + 4 * column;
#pragma unroll
        for (int k = 0; k < 2; ++k)
        {
            const float norm = k == 0 ? norms.x : norms.y;
            const bool has = column < t.cols && 2 * row + k < t.rows; // other norms were not written
            sums.norms.set(2 * u + k, has ? norm : 0.f);
            alive[2 * u + k] = has && norm != 0.f;
            any = any || alive[2 * u + k];
        }
    }
    int s = 0;
    for (; s < p.constant.dense && __any_sync(ALL_LANES, any); ++s)
    {
        const StageRecord& stage = p.constant.stage[s];
        sums.addConstant(stage, p.template constantNodes<typename Kind::Record>(), p.tables);
        const bool last = s == t.job.model.stages - 1;
        bool pass[2 * U], undecided = false;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
        {
            pass[u] = stage.quantised.passes(sums.sum[u]);
            undecided = undecided || (alive[u] && stage.quantised.isUndecided(sums.sum[u]));
        }
        FullSums full[U];
        if (__any_sync(ALL_LANES, undecided || last))
            passInFull<Kind, U>(p, s, first, sums.norms.norm, pass, full);
        if (s == 0)
            skipInRow<U>(t, row, pass, alive);
        any = false;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
        {
            alive[u] = alive[u] && pass[u];
            any = any || alive[u];
        }
        if (!last)
            continue;
        any = false;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            if (alive[u])
                p.report(first + lane + u / 2 * 32, u & 1, full[u / 2].sum[u & 1], stage);
    }
    for (int k = 0; k < 2 && s == 0 && lane == 0; ++k) // no window of the row has contrast
        storeFailMask(t, 2 * row + k, 0);
    if (__any_sync(ALL_LANES, any))
        listRow<Kind::BANKS, U>(p, row, alive);
}

//! Adds up a stage, quantised, for a pair that `lanes` lanes share. All lanes of a warp call it together. @param quantised out: how the sums decide.
template <class Kind, TreeShape TREES>
__device__ __forceinline__ void addQuantised(const Pairs& p, int s, int lane, int lanes, PairSums<Kind, TREES, 1>& sums,
                                             QuantisedStage& quantised)
{
    typedef typename Kind::Record Record;
    const ModelView& model = p.tile.job.model;
    if (lanes == 1 && s < p.constant.stages)
    {
        quantised = p.constant.stage[s].quantised;
        sums.addConstant(p.constant.stage[s], p.template constantNodes<Record>(), p.tables);
        return;
    }
    const StageRecord stage = model.stage[s];
    const Tables& tables = p.tables; // without subsets in shared memory
    quantised = stage.quantised;
    if (TREES == STUMPS && Kind::NORM && lanes <= tuning::CONSTANT_LANES && s < p.constant.stages)
    {
        const auto nodeAt = [&](int node) { return copyConstant(p.template constantNodes<Record>() + node); };
        sums.addShare(stage, nodeAt, model.trees, tables, lane, lanes);
    }
    else
    {
        const RecordsView& records = model.records[p.shift];
        const auto nodeAt = [&](int node) { return copyRecord<Record>(records.quads + node, records.count); };
        sums.addShare(stage, nodeAt, model.trees, tables, lane, lanes);
    }
    for (int d = lanes / 2; d > 0; d /= 2)
        for (int k = 0; k < 2; ++k)
            sums.sum[k] += __shfl_xor_sync(ALL_LANES, sums.sum[k], d);
}

/** Evaluates all stages from `first` on for up to 32 pairs of a warp. After each stage, the pairs that are left move to the front of
`list`. */
template <class Kind, TreeShape TREES>
__device__ __forceinline__ void sparsePairs(const Pairs& p, int first, volatile uint16_t* list, int count)
{
    const Tile& t = p.tile;
    const ModelView& model = t.job.model;
    const int stages = model.stages;
    for (int s = first; s < stages && count > 0; ++s)
    {
        const int bits = ::min(__clz(count - 1) - 27, 5),
                  lanes = 1 << bits; // number of lanes per pair, and its logarithm
        const int thread = threadIdx.x & 31, lane = thread & (lanes - 1), slot = thread >> bits;
        const uint32_t entry = list[::min(slot, count - 1)], pair = entry & 0x3fff;
        PairSums<Kind, TREES, 1> sums;
        sums.window[0] = p.windowAt(pair);
        const float2 norms = Kind::NORM ? p.normsOf(pair) : float2{1.f, 1.f};
        sums.norms.set(0, norms.x);
        sums.norms.set(1, norms.y);
        QuantisedStage quantised;
        addQuantised(p, s, lane, lanes, sums, quantised);
        bool pass[2] = {quantised.passes(sums.sum[0]), quantised.passes(sums.sum[1])};
        const bool undecided = quantised.isUndecided(sums.sum[0]) || quantised.isUndecided(sums.sum[1]);
        const bool last = s == stages - 1, mine = lane == 0 && slot < count;
        FullSums full;
        if (last || __any_sync(ALL_LANES, undecided && slot < count))
        {
            full = fullSums<Kind>(p, s, pair, norms.x, norms.y, lane, lanes);
            for (int k = 0; k < 2; ++k)
                pass[k] = full.sum[k] >= model.stage[s].fixedThreshold;
        }
        uint32_t left = 0;
        for (int k = 0; k < 2; ++k)
            if (mine && (entry >> (14 + k) & 1) && pass[k])
                left |= 1u << (14 + k);
        for (int k = 0; k < 2 && last; ++k)
            if (left >> (14 + k) & 1)
                p.report(pair, k, full.sum[k], model.stage[s]);
        const uint32_t some = __ballot_sync(ALL_LANES, left != 0);
        __syncwarp(); // all lanes have read the list
        if (left != 0)
            list[__popc(some & ((1u << thread) - 1u))] = static_cast<uint16_t>(pair | left);
        __syncwarp(); // the list
        count = __popc(some);
    }
}

template <class Kind, TreeShape TREES> __device__ __forceinline__ void sparseStages(const Pairs& p)
{
    const Tile& t = p.tile;
    const int lane = threadIdx.x & 31;
    const Rows rows = Kind::BANKS ? Rows(t.shared.banks) : Rows();
    const int end = Kind::BANKS ? rows.end : t.shared.counts[0];
    volatile uint16_t* const own = t.listOf(1) + (threadIdx.x & ~31); // this warp's part of the second list
    for (;;)
    {
        int first = 0;
        if (lane == 0)
            first = atomicAdd(&t.shared.counts[1], 32);
        first = __shfl_sync(ALL_LANES, first, 0);
        if (first >= end)
            return;
        const int taken = Kind::BANKS ? rows.pairsAt(first) : ::min(end - first, 32), index = ::min(lane, taken - 1);
        own[lane] = t.lists[Kind::BANKS ? rows.placeOf(first, index) : first + index];
        __syncwarp(); // the list
        sparsePairs<Kind, TREES>(p, p.constant.dense, own, taken);
    }
}

//! Copies the subsets of the stages among the kernel's parameters to shared memory.
__device__ __forceinline__ void copySubsets(const Tile& t, int words)
{
    uint32_t* const subsets = reinterpret_cast<uint32_t*>(dynamicMemory) + t.job.layout.subsets / 4;
    for (int i = threadIdx.x; i < words; i += tuning::THREADS)
        subsets[i] = __ldg(t.job.model.subsets + i);
}

//! Classifies one tile.
template <class Kind, TreeShape TREES>
__device__ __forceinline__ void classifyTile(const Tile& t, const ConstantStages& constant, int shift)
{
    const ModelView& model = t.job.model;
    copyPatch<uint4>(t);
    if (!Kind::NORM)
        copySubsets(t, constant.subsetWords);
    __syncthreads(); // pixels and subsets
    if (Kind::NORM)
        measureContrast(t);
    sumPairsOfRows(t.shape, t.patch);
    __syncthreads(); // rows are complete
    sumColumnsOfPairs<true>(t.shape, t.patch, t.patch.table);
    if (Kind::NORM && model.tilted)
        makeTilted<true>(t.shape, t.patch);
    __syncthreads(); // tables and norms; the patch is no longer used
    const Pairs p = {
        t,
        constant,
        shift,
        {{model.terms[shift], model.subsets, model.quantisedLeaves}, static_cast<uint32_t>(t.job.layout.subsets)}};
    // Loops and branches depend on parameters and votes only, so that warps stay converged.
    for (int first = 0; 2 * first < t.shape.rows; first += WARPS)
        if (t.shape.cols == 64)
            denseRow<Kind, TREES, 2>(p, first + (threadIdx.x >> 5));
        else
            denseRow<Kind, TREES, 1>(p, first + (threadIdx.x >> 5));
    __syncthreads(); // the list
    sparseStages<Kind, TREES>(p);
}

template <class Kind, TreeShape TREES>
__global__ void __launch_bounds__(tuning::THREADS, tuning::PAIR_BLOCKS)
    classifyPairTiles(const __grid_constant__ Classification job, const __grid_constant__ ConstantStages constant)
{
    __shared__ Shared shared;
    loadRecords(job, shared, blockIdx.x);
    __syncthreads(); // the tile's records
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(dynamicMemory);
    const Tile t = tileOf(job, shared, blockIdx.x, bytes, bytes);
    classifyTile<Kind, TREES>(t, constant, blockIdx.x < job.singleTiles ? 0 : 1);
}

static_assert(sizeof(Classification) + sizeof(ConstantStages) <= 32764, "parameters of a kernel");

template <class Kind, TreeShape TREES>
void launchTiles(const Classification& job, const ConstantStages& constant, cudaStream_t stream)
{
    detail::launch("cascade classify", classifyPairTiles<Kind, TREES>, dim3(job.tileCount), dim3(tuning::THREADS),
                   job.layout.bytes, stream, job, constant);
}

template <class Kind>
void launchTrees(const Classification& job, const ConstantStages& constant, detail::StreamHandle stream)
{
    switch (job.model.treeShape)
    {
    case STUMPS:
        return launchTiles<Kind, STUMPS>(job, constant, stream);
    case TWO_NODES:
        if constexpr (Kind::NORM) // packModel() has no trees of two nodes for LBP
            return launchTiles<Kind, TWO_NODES>(job, constant, stream);
        break;
    case ANY_TREES:
        return launchTiles<Kind, ANY_TREES>(job, constant, stream);
    }
}

} // namespace

void classifyPairs(const Classification& job, const ConstantStages& constant, detail::StreamHandle stream)
{
    switch (job.model.featureType)
    {
    case HAAR:
        return launchTrees<HaarPairs>(job, constant, stream);
    case LBP:
        return launchTrees<LbpPairs>(job, constant, stream);
    }
}

}}}} // namespace cv::cuda::cascade::gpu
