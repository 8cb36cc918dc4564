// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify for pairs of windows (see pairs.hpp).
// One kernel, from the pixels of a tile to its candidates.
//
// A block copies a tile's pixels from the pyramid, measures contrast, and computes an integral image for pairs. For LBP
// features it computes that from the pyramid: their pixels are needed once only. Then its warps work independently.
// Dense: a warp evaluates the first stages on a row of pairs, with neighbouring columns in its lanes; records are
// kernel parameters, loads meet no bank conflicts, and offsets are operands. Pairs that are left go to a list of the
// tile. Sparse: a warp takes up to 32 pairs from the list through all other stages. As their number falls, 2 to 32
// lanes share a pair and its trees: sums are integers, so their order does not matter.
#include "contrast.hpp"
#include "pair_sums.hpp"
#include "integral_image.hpp"
#include "tile.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

//! View of a block's pairs by a thread.
struct Pairs
{
    const Tile& tile;
    const ConstantStages& constant;
    int shift; //!< Shape::shift of the tile
    Tables tables;

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

/** Applies the skip rule to a row of pairs after the first stage. @param pass windows that passed, the upper and the
lower one of each pair in turn. @param evaluated in: windows with contrast; out: those that passed and are not certainly
skipped. */
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

/** Appends the pairs of a row with windows that are left to the tile's list. @param BANKS the list has one column per
bank of shared memory, so that warps can take pairs whose loads do not conflict; neighbouring pairs are in neighbouring
banks. */
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

/** Order in which warps take a list with banks, 32 places at a time, row by row. The first rows, in which most banks
have a pair, are taken as they are, so that no two pairs share a bank. Later rows are taken without their gaps. All
lanes of a warp call it together. */
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

/** Decides a stage in full for a row of pairs, where quantised sums are undecided. @param first first pair of the
row. */
template <class Kind, int U>
__device__ __forceinline__ void passInFull(const Pairs& p, int stage, int first, const float (&norm)[2 * U],
                                           bool (&pass)[2 * U])
{
    const ModelView& model = p.tile.job.model;
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int u = 0; u < U; ++u)
    {
        const FullSums full = fullSums<Kind>(p, stage, first + lane + 32 * u, norm[2 * u], norm[2 * u + 1], 0, 1);
        for (int k = 0; k < 2; ++k)
            pass[2 * u + k] = full.sum[k] >= model.stage[stage].fixedThreshold;
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
        bool pass[2 * U], undecided = false;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
        {
            pass[u] = stage.quantised.passes(sums.sum[u]);
            undecided = undecided || (alive[u] && stage.quantised.isUndecided(sums.sum[u]));
        }
        if (__any_sync(ALL_LANES, undecided))
            passInFull<Kind, U>(p, s, first, sums.norms.norm, pass);
        if (s == 0)
            skipInRow<U>(t, row, pass, alive);
        any = false;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
        {
            alive[u] = alive[u] && pass[u];
            any = any || alive[u];
        }
    }
    for (int k = 0; k < 2 && s == 0 && lane == 0; ++k) // no window of the row has contrast
        storeFailMask(t, 2 * row + k, 0);
    if (__any_sync(ALL_LANES, any))
        listRow<Kind::BANKS, U>(p, row, alive);
}

//! Adds up a stage, quantised, for a pair that `lanes` lanes share. All lanes of a warp call it together.
//! @param quantised out: how the sums decide.
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
    quantised = stage.quantised;
    if (TREES == STUMPS && Kind::NORM && lanes <= tuning::CONSTANT_LANES && s < p.constant.stages)
    {
        const auto nodeAt = [&](int node) { return copyConstant(p.template constantNodes<Record>() + node); };
        sums.addShare(stage, nodeAt, model.trees, p.tables, lane, lanes);
    }
    else
    {
        const RecordsView& records = model.records[p.shift];
        const auto nodeAt = [&](int node) { return copyRecord<Record>(records.quads + node, records.count); };
        sums.addShare(stage, nodeAt, model.trees, p.tables, lane, lanes);
    }
    for (int d = lanes / 2; d > 0; d /= 2)
        for (int k = 0; k < 2; ++k)
            sums.sum[k] += __shfl_xor_sync(ALL_LANES, sums.sum[k], d);
}

//! Returns the bits of a listed pair's windows that are left after a stage.
__device__ __forceinline__ uint32_t leftOf(uint32_t entry, const bool (&pass)[2])
{
    return entry & (static_cast<uint32_t>(pass[0]) << 14 | static_cast<uint32_t>(pass[1]) << 15);
}

/** Moves the pairs that are left to the front of a warp's list. All lanes of a warp call it together. @param left bits
of the windows of `pair` that are left; 0: no pair of this lane. @return number of pairs. */
__device__ __forceinline__ int keepListed(volatile uint16_t* list, uint32_t pair, uint32_t left)
{
    const uint32_t some = __ballot_sync(ALL_LANES, left != 0);
    __syncwarp(); // all lanes have read the list
    if (left != 0)
        list[__popc(some & ((1u << (threadIdx.x & 31)) - 1u))] = static_cast<uint16_t>(pair | left);
    __syncwarp(); // the list
    return __popc(some);
}

/** Evaluates stages s and s + 1 at once for pairs that `lanes` lanes each share, with one half of these lanes per
stage. All lanes of a warp call it together. @param pass out: whether the windows pass both stages, the same in all
lanes of a pair. @return false if sums decide neither. */
template <class Kind, TreeShape TREES>
__device__ __forceinline__ bool passTwoStages(const Pairs& p, int s, int pair, int lane, int lanes, bool (&pass)[2])
{
    typedef typename Kind::Record Record;
    const ModelView& model = p.tile.job.model;
    const int half = lanes / 2;
    const StageRecord& stage = model.stage[lane < half ? s : s + 1];
    const RecordsView& records = model.records[p.shift];
    const auto nodeAt = [&](int node) { return copyRecord<Record>(records.quads + node, records.count); };
    PairSums<Kind, TREES, 1> sums;
    sums.window[0] = p.windowAt(pair);
    sums.norms.set(0, 1.f);
    sums.norms.set(1, 1.f);
    const QuantisedStage quantised = stage.quantised;
    sums.addShare(stage, nodeAt, model.trees, p.tables, lane & (half - 1), half);
    for (int d = half / 2; d > 0; d /= 2)
        for (int k = 0; k < 2; ++k)
            sums.sum[k] += __shfl_xor_sync(ALL_LANES, sums.sum[k], d);
    const bool undecided = quantised.isUndecided(sums.sum[0]) || quantised.isUndecided(sums.sum[1]);
    const int own = (quantised.passes(sums.sum[0]) ? 1 : 0) | (quantised.passes(sums.sum[1]) ? 2 : 0);
    const int both = own & __shfl_xor_sync(ALL_LANES, own, half);
    pass[0] = both & 1;
    pass[1] = both & 2;
    return !__any_sync(ALL_LANES, undecided);
}

/** Evaluates all stages from `first` on for up to 32 pairs of a warp. After each stage, the pairs that are left move to
the front of `list`. */
template <class Kind, TreeShape TREES>
__device__ __forceinline__ void sparsePairs(const Pairs& p, int first, volatile uint16_t* list, int count)
{
    const ModelView& model = p.tile.job.model;
    const int stages = model.stages;
    for (int s = first; s < stages && count > 0; ++s)
    {
        const int bits = ::min(__clz(count - 1) - 27, 5),
                  lanes = 1 << bits; // number of lanes per pair, and its logarithm
        const int thread = threadIdx.x & 31, lane = thread & (lanes - 1), slot = thread >> bits;
        const uint32_t entry = list[::min(slot, count - 1)], pair = entry & 0x3fff;
        if constexpr (!Kind::NORM && TREES == STUMPS)
        {
            bool pass[2];
            if (lanes >= tuning::TWO_STAGES_LANES && s + 2 < stages &&
                passTwoStages<Kind, TREES>(p, s, pair, lane, lanes, pass))
            {
                count = keepListed(list, pair, lane == 0 && slot < count ? leftOf(entry, pass) : 0);
                ++s; // the second of both stages
                continue;
            }
        }
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
        const uint32_t left = mine ? leftOf(entry, pass) : 0;
#pragma unroll 1
        for (int k = 0; k < 2 && last; ++k)
            if (left >> (14 + k) & 1)
                p.report(pair, k, k == 0 ? full.sum[0] : full.sum[1], model.stage[s]);
        count = keepListed(list, pair, left);
    }
}

template <class Kind, TreeShape TREES> __device__ __forceinline__ void sparseStages(const Pairs& p)
{
    const Tile& t = p.tile;
    const int lane = threadIdx.x & 31;
    const Rows rows = Kind::BANKS ? Rows(t.shared.banks) : Rows();
    const int end = Kind::BANKS ? rows.end : t.shared.counts[0];
    volatile uint16_t* const own = t.listsOfWarps() + (threadIdx.x & ~31);
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
        sparsePairs<Kind, TREES>(p, p.constant.sparse, own, taken);
    }
}

//! Classifies one tile.
template <class Kind, TreeShape TREES>
__device__ __forceinline__ void classifyTile(const Tile& t, const ConstantStages& constant, int shift)
{
    const ModelView& model = t.job.model;
    if constexpr (Kind::NORM)
    {
        copyPatch<uint4>(t);
        __syncthreads(); // pixels
        measureContrast(t);
        sumPairsOfRows(t.shape, t.patch, t.patch.pixels, t.shape.patchStep);
    }
    else
        sumPairsOfRows(t.shape, t.patch, t.pixels(), t.shared.grid.pixelStep);
    __syncthreads(); // rows are complete
    sumColumnsOfPairs<true>(t.shape, t.patch, t.patch.table);
    if (Kind::NORM && model.tilted)
        makeTilted<true>(t.shape, t.patch);
    __syncthreads(); // tables and norms; the patch is no longer used
    const Pairs p = {t, constant, shift, {model.terms[shift], model.subsets, model.quantisedLeaves}};
    // Loops and branches depend on parameters and votes only, so that warps stay converged.
    for (int first = 0; 2 * first < t.shape.rows; first += blockWarps())
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
    detail::waitForKernelBefore();
    __syncthreads(); // the tile's records
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(dynamicMemory);
    const Tile t = tileOf(job, shared, blockIdx.x, bytes);
    classifyTile<Kind, TREES>(t, constant, blockIdx.x < job.singleTiles ? 0 : 1);
}

static_assert(sizeof(Classification) + sizeof(ConstantStages) <= 32764, "parameters of a kernel");

template <class Kind, TreeShape TREES>
void launchTiles(const Classification& job, const ConstantStages& constant, cudaStream_t stream)
{
    detail::launchEarly("cascade classify", classifyPairTiles<Kind, TREES>, dim3(job.tileCount), dim3(job.threads),
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
    case LBP: // a kernel of its own for large cells, so that it costs the others nothing
        return job.model.largeCells ? launchTrees<LbpPairs<true>>(job, constant, stream)
                                    : launchTrees<LbpPairs<false>>(job, constant, stream);
    }
}

}}}} // namespace cv::cuda::cascade::gpu
