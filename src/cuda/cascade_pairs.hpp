// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Features, trees and stages for pairs of windows, one above the other. A word of a table holds the sums at a corner of both windows:
// the upper one's plus 2^16 times the lower one's, modulo 2^32. What features add up is linear, so the same additions serve
// both, and the two values come apart at the end, as each fits 16 bits: packModel() cuts features for which that is not so.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP

#include "cascade_classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

const unsigned ALL_LANES = 0xffffffffu;

extern __shared__ int4 dynamicMemory[];

/** A word of shared memory. Said by an offset in bytes, as the compiler does not follow pointers to shared memory through arrays, and
loads from anywhere are slower. */
__device__ __forceinline__ uint32_t sharedWord(uint32_t offset)
{
    return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(dynamicMemory) + offset);
}

//! A record in registers. @param from its first 16 bytes. @param step to the next 16 bytes.
template <class Record> __device__ __forceinline__ Record copyRecord(const uint4* from, int step)
{
    union
    {
        uint4 words[4];
        Record value;
    } copy;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        copy.words[i] = __ldg(from + i * step);
    return copy.value;
}
//! From the kernel's parameters, where records lie whole.
template <class Record> __device__ __forceinline__ Record copyEarly(const Record* record)
{
    return *record;
}

//! Adds for some threads, in one instruction: the compiler would select between the gain and 0, and add that.
__device__ __forceinline__ void addIf(bool condition, int gain, int& sum)
{
#ifdef __CUDA_ARCH__
    asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p add.s32 %0, %0, %2; }" : "+r"(sum) : "r"(static_cast<int>(condition)), "r"(gain));
#else
    sum += condition ? gain : 0;
#endif
}

const int SMALL_TREE = 3; //!< nodes

//! What a model's features are evaluated with, beside their records.
struct Tables
{
    const Term* terms;
    const uint32_t* subsets;
};

struct HaarPairs
{
    typedef HaarRecord Record;
    static const bool NORM = true;

    //! Values of both windows, between -2^15 and 2^15, plus 2^15.
    static const uint32_t MIDDLE = 0x80008000u;
    //! The upper or lower window's value from such a sum, exact.
    static __device__ __forceinline__ float valueOf(uint32_t sum, bool lower)
    {
        // The bits of 2^23 plus a number below 2^16.
        const uint32_t bits = lower ? __byte_perm(sum, 0x4b000000u, 0x7432) : __byte_perm(sum, 0x4b000000u, 0x7410);
        return __uint_as_float(bits) - (8388608.f + 32768.f);
    }

    template <int U>
    static __device__ __forceinline__ void addTerms(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                    float (&value)[2 * U])
    {
        const Term* term = tables.terms + r.offsets[0];
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            value[u] = 0.f;
#pragma unroll 1
        for (uint32_t part = 0; part < r.offsets[1]; ++part)
        {
            uint32_t sum[U];
#pragma unroll
            for (int u = 0; u < U; ++u)
                sum[u] = MIDDLE;
#pragma unroll 1
            for (uint32_t left = __ldg(term++); left > 0; --left)
            {
                const Term corner = __ldg(term++);
                const uint32_t offset = (corner & 0xffff) * 4, factor = static_cast<int32_t>(corner) >> 16;
#pragma unroll
                for (int u = 0; u < U; ++u)
                    sum[u] += factor * sharedWord(window[u] + offset);
            }
#pragma unroll
            for (int u = 0; u < U; ++u)
            {
                value[2 * u] += valueOf(sum[u], false);
                value[2 * u + 1] += valueOf(sum[u], true);
            }
        }
    }

    //! Sums in one of the forms. Records of SIX may be taken for EIGHT.
    template <Form FORM, int U>
    static __device__ __forceinline__ void addForm(const Record& r, const uint32_t (&window)[U], float (&value)[2 * U])
    {
        uint32_t c[U][9];
        const auto load = [&](int k, uint32_t offset)
        {
#pragma unroll
            for (int u = 0; u < U; ++u)
                c[u][k] = sharedWord(window[u] + offset);
        };
#pragma unroll
        for (int k = 0; k < 8; ++k)
            if (FORM != SIX || k < 6)
                load(k, r.offsets[k]);
        if (FORM == NINE)
            load(8, ninthOf(r.kind));
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            uint32_t sum;
            if (FORM == NINE)
                sum = MIDDLE + r.factor * (c[u][0] + c[u][1] + c[u][2] + c[u][3] -
                                           2 * (c[u][4] + c[u][5] + c[u][6] + c[u][7] - 2 * c[u][8]));
            else
                sum = (MIDDLE + c[u][0] + c[u][1] - c[u][2] - c[u][3]) +
                      r.factor * (FORM == SIX ? c[u][4] - c[u][5] : c[u][4] - c[u][5] + c[u][6] - c[u][7]);
            value[2 * u] = valueOf(sum, false);
            value[2 * u + 1] = valueOf(sum, true);
        }
    }

    /** @param FORM that of the record; FORMS, SAME: any. @param window where the pairs' corners are in shared memory.
    @param norm,left of the upper and lower windows in turn. */
    template <Form FORM, int U>
    static __device__ __forceinline__ void decide(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                  const float (&norm)[2 * U], bool (&left)[2 * U])
    {
        float value[2 * U];
        if constexpr (FORM == FORMS || FORM == SAME)
        {
            const Form form = formOf(r.kind);
            if (FORM == SAME && form == SIX)
                addForm<SIX>(r, window, value);
            else if (form == SIX || form == EIGHT)
                addForm<EIGHT>(r, window, value);
            else if (form == NINE)
                addForm<NINE>(r, window, value);
            else
                addTerms(r, tables, window, value);
        }
        else if constexpr (FORM == TERMS)
            addTerms(r, tables, window, value);
        else
            addForm<FORM>(r, window, value);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            left[u] = haarGoesLeft(value[u], norm[u], r.threshold);
    }
};

struct LbpPairs
{
    typedef LbpRecord Record;
    static const bool NORM = false;

    //! Codes of both windows, in the low byte of each half. Cells have less than 2^15, so halves do not disturb each other.
    static __device__ __forceinline__ uint32_t codesOf(const Record& r, uint32_t window)
    {
        uint32_t d[4][3]; // differences along rows
#pragma unroll
        for (int y = 0; y < 4; ++y)
        {
            const uint32_t row = window + r.rows[y];
            uint32_t before = sharedWord(row + r.columns[0]);
#pragma unroll
            for (int x = 0; x < 3; ++x)
            {
                const uint32_t next = sharedWord(row + r.columns[x + 1]);
                d[y][x] = before - next;
                before = next;
            }
        }
        const uint32_t centre = d[1][1] - d[2][1], TOP = 0x80008000u, other = TOP - centre;
        uint32_t codes = 0;
        const auto add = [&](int x, int y, int bit)
        { codes |= (d[y][x] - d[y + 1][x] + other) >> (15 - bit) & (0x00010001u << bit); };
        add(0, 0, 7);
        add(1, 0, 6);
        add(2, 0, 5);
        add(2, 1, 4);
        add(2, 2, 3);
        add(1, 2, 2);
        add(0, 2, 1);
        add(0, 1, 0);
        return codes;
    }

    template <Form FORM, int U>
    static __device__ __forceinline__ void decide(const Record& r, const Tables& tables, const uint32_t (&window)[U],
                                                  const float (&)[2 * U], bool (&left)[2 * U])
    {
        const uint32_t* const subset = tables.subsets + r.subset;
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            const uint32_t codes = codesOf(r, window[u]), upper = codes & 255u, lower = codes >> 16;
            left[2 * u] = __funnelshift_r(__ldg(subset + (upper >> 5)), 0u, upper) & 1u;
            left[2 * u + 1] = __funnelshift_r(__ldg(subset + (lower >> 5)), 0u, lower) & 1u;
        }
    }
};

//! Coarse sums of a stage for U pairs of a thread.
template <class Pairs, Trees TREES, int U> struct PairSums
{
    typedef typename Pairs::Record Record;

    uint32_t window[U];
    float norm[2 * U];
    int sum[2 * U];

    __device__ __forceinline__ void begin(int base)
    {
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            sum[u] = base;
    }

    template <Form FORM> __device__ __forceinline__ void addStump(const Record& record, const Tables& tables)
    {
        bool left[2 * U];
        Pairs::template decide<FORM>(record, tables, window, norm, left);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            addIf(left[u], record.gain, sum[u]);
    }

    //! A tree of two nodes. Both are looked at, whatever the root says.
    template <Form FORM>
    __device__ __forceinline__ void addTwoNodes(const Record& root, const Record& node, const Tables& tables)
    {
        const bool onTheRight = (root.kind & LEAF_ON_THE_RIGHT) != 0;
        bool leaf[2 * U], left[2 * U];
        Pairs::template decide<FORM>(root, tables, window, norm, leaf);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
        {
            leaf[u] = leaf[u] != onTheRight;
            addIf(leaf[u], root.gain, sum[u]);
        }
        Pairs::template decide<FORM>(node, tables, window, norm, left);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            addIf(left[u] && !leaf[u], node.gain, sum[u]);
    }

    //! A node of a tree. @param at the node where each window is; after a leaf none that is still to come.
    __device__ __forceinline__ void addNode(const Record& record, const Tables& tables, int n, int (&at)[2 * U])
    {
        bool left[2 * U];
        Pairs::template decide<FORMS>(record, tables, window, norm, left);
        const int leftChild = record.links >> 8 & 0xff, rightChild = record.links >> 16 & 0xff;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            if (at[u] == n)
            {
                sum[u] += left[u] ? record.leaves[0] : record.leaves[1];
                at[u] = left[u] ? leftChild : rightChild;
            }
    }
    static __device__ __forceinline__ bool anyAt(const int (&at)[2 * U], int n)
    {
        bool any = false;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            any = any || at[u] == n;
        return any;
    }

    template <Form FORM>
    __device__ __forceinline__ void addEarlyStumps(const Record* records, int begin, int end, const Tables& tables)
    {
#pragma unroll((U == 1 || !Pairs::NORM) && FORM != TERMS ? 2 : 1)
        for (int t = begin; t < end; ++t)
            addStump<FORM>(copyEarly(records + t), tables);
    }

    //! With records among the kernel's parameters. All threads of a warp come here together.
    __device__ __forceinline__ void addEarly(const StageRecord& stage, const Record* all, const Tables& tables)
    {
        begin(stage.coarse.base);
        // The sign of a norm is a zero that the compiler does not know: loads by uniform registers go through a cache that is too
        // small (alt: 682 us instead of 661).
        const Record* record = all + (stage.firstNode + (__float_as_uint(norm[0]) >> 31));
        const int count = stage.trees;
        if constexpr (TREES == STUMPS && Pairs::NORM)
        {
            const int six = stage.ends[0], eight = stage.ends[1], nine = stage.ends[2];
            addEarlyStumps<SIX>(record, 0, six, tables);
            addEarlyStumps<EIGHT>(record, six, eight, tables);
            addEarlyStumps<NINE>(record, eight, nine, tables);
            addEarlyStumps<TERMS>(record, nine, count, tables);
        }
        else if constexpr (TREES == STUMPS)
            addEarlyStumps<SAME>(record, 0, count, tables);
        else if constexpr (TREES == TWO_NODES)
        {
#pragma unroll 1
            for (int t = 0; t < count; ++t)
                addTwoNodes<SAME>(copyEarly(record + 2 * t), copyEarly(record + 2 * t + 1), tables);
        }
        else
        {
            const bool small =
                stage.nodesEach > 0 && stage.nodesEach <= SMALL_TREE; // some window gets to nearly all nodes
#pragma unroll 1
            for (int t = 0; t < count; ++t)
            {
                const int nodes = record->links >> 24;
                int at[2 * U] = {};
#pragma unroll 1
                for (int n = 0; n < nodes; ++n, ++record)
                    if (small || __any_sync(ALL_LANES, anyAt(at, n)))
                        addNode(copyEarly(record), tables, n, at);
            }
        }
    }

    //! Every `lanes`th tree from `lane` on, with records in device memory.
    __device__ __forceinline__ void addShare(const StageRecord& stage, const RecordsView& records, const Tree* trees,
                                             const Tables& tables, int lane, int lanes)
    {
        begin(lane == 0 ? stage.coarse.base : 0);
        if (lane >= stage.trees)
            return;
        const auto nodeAt = [&](int node) { return copyRecord<Record>(records.quads + node, records.count); };
        const int each = stage.nodesEach;
        if constexpr (TREES == STUMPS)
        {
            Record next = nodeAt(stage.firstNode + lane);
#pragma unroll 2
            for (int t = lane; t < stage.trees; t += lanes)
            {
                const Record record = next;
                next =
                    nodeAt(stage.firstNode + ::min(t + lanes, stage.trees - 1)); // on its way while this one is decided
                addStump<FORMS>(record, tables);
            }
        }
        else if constexpr (TREES == TWO_NODES)
        {
            Record next = nodeAt(stage.firstNode + 2 * lane);
#pragma unroll 1
            for (int t = lane; t < stage.trees; t += lanes)
            {
                const Record root = next, node = nodeAt(stage.firstNode + 2 * t + 1);
                next = nodeAt(stage.firstNode + 2 * ::min(t + lanes, stage.trees - 1));
                addTwoNodes<FORMS>(root, node, tables);
            }
        }
        else if (each > 0 && each <= SMALL_TREE)
        {
            // All nodes of all trees, whether windows get there or not: the next one can be on its way.
            Record next = nodeAt(stage.firstNode + lane * each);
            int n = 0, at[2 * U] = {};
#pragma unroll 1
            for (int t = lane; t < stage.trees;)
            {
                const Record record = next;
                const int node = n, tree = t;
                n = n + 1 < each ? n + 1 : 0;
                t += n == 0 ? lanes : 0;
                next = nodeAt(stage.firstNode + ::min(t, stage.trees - 1) * each + n);
                addNode(record, tables, node, at);
                if (t != tree)
                {
#pragma unroll
                    for (int u = 0; u < 2 * U; ++u)
                        at[u] = 0;
                }
            }
        }
        else
        {
#pragma unroll 1
            for (int t = lane; t < stage.trees; t += lanes)
            {
                const int2 tree = __ldg(reinterpret_cast<const int2*>(trees + stage.firstTree + t));
                int at[2 * U] = {};
#pragma unroll 1
                for (int n = 0; n < tree.y; ++n)
                    if (anyAt(at, n))
                        addNode(nodeAt(tree.x + n), tables, n, at);
            }
        }
    }
};

//! Sums of an upper and a lower window in fixed point.
struct FullSums
{
    int64_t sum[2];
};

/** Every `lanes`th tree of a stage from `lane` on, with the leaves in full, whatever the trees are. Hardly ever needed, so that it is kept
out of the way. */
template <class Pairs>
__device__ __noinline__ FullSums fullShare(const ModelView& model, int shift, int stage, uint32_t window, float2 norms,
                                           int lane, int lanes)
{
    const StageRecord& s = model.stage[stage];
    const RecordsView& records = model.records[shift];
    const Tables tables = {model.terms[shift], model.subsets};
    const uint32_t windows[1] = {window};
    const float norm[2] = {norms.x, norms.y};
    FullSums full = {{0, 0}};
#pragma unroll 1
    for (int t = lane; t < s.trees; t += lanes)
    {
        const int2 tree = __ldg(reinterpret_cast<const int2*>(model.trees + s.firstTree + t));
        int at[2] = {0, 0};
#pragma unroll 1
        for (int n = 0; n < tree.y; ++n)
        {
            const typename Pairs::Record record = copyRecord<typename Pairs::Record>(records.quads + tree.x + n, records.count);
            const longlong2 leaves = __ldg(reinterpret_cast<const longlong2*>(model.fixedLeaves) + tree.x + n);
            bool left[2];
            Pairs::template decide<FORMS>(record, tables, windows, norm, left);
#pragma unroll
            for (int k = 0; k < 2; ++k)
                if (at[k] == n)
                {
                    full.sum[k] += left[k] ? leaves.x : leaves.y; // 0 where there is a child
                    at[k] = record.links >> (left[k] ? 8 : 16) & 0xff;
                }
        }
    }
    return full;
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_PAIRS_HPP
