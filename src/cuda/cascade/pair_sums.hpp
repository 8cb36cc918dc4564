// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Trees and stages for pairs of windows. Sums are quantised: 32 bits, with leaves whose last bits are dropped. For
// nearly all windows they decide whether a stage is passed. For the others, and for the weights of candidates, the
// stage is added up in full.
// One struct, with a loop for each shape of trees and each place of records.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_PAIR_SUMS_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_PAIR_SUMS_HPP

#include "pairs.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

//! Loads a record into registers. @param from its first quad. @param step distance of its quads.
template <class Record> __device__ __forceinline__ Record copyRecord(const uint4* from, int step)
{
    const int QUADS = sizeof(Record) / sizeof(uint4);
    union
    {
        uint4 words[QUADS];
        Record value;
    } copy;
#pragma unroll
    for (int i = 0; i < QUADS; ++i)
        copy.words[i] = __ldg(from + i * step);
    return copy.value;
}
//! Copies a record from the kernel's parameters, where its quads are consecutive: loads of a node can begin before any
//! is used.
template <class Record> __device__ __forceinline__ Record copyConstant(const Record* record) { return *record; }

//! Adds leafDelta if the condition is true, by one predicated instruction: the compiler would select leafDelta or 0,
//! and add that.
__device__ __forceinline__ void addIf(bool condition, int leafDelta, int& sum)
{
#ifdef __CUDA_ARCH__
    asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p add.s32 %0, %0, %2; }"
        : "+r"(sum)
        : "r"(static_cast<int>(condition)), "r"(leafDelta));
#else
    sum += condition ? leafDelta : 0;
#endif
}

//! Largest number of nodes of trees whose nodes are evaluated without testing whether a window reaches them.
const int SMALL_TREE = 3;

//! Quantised sums of a stage for the U pairs of a thread.
template <class Pairs, TreeShape TREES, int U> struct PairSums
{
    typedef typename Pairs::Record Record;

    uint32_t window[U];
    Norms<U> norms;
    int sum[2 * U];

    __device__ __forceinline__ void begin(int base)
    {
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            sum[u] = base;
    }

    template <CornerPattern PATTERN>
    __device__ __forceinline__ void addStump(const Record& record, const Tables& tables)
    {
        bool left[2 * U];
        Pairs::template decide<PATTERN>(record, tables, window, norms, left);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            addIf(left[u], record.leafDelta, sum[u]);
    }

    //! Adds a tree of two nodes. Both nodes are evaluated, whatever the root decides.
    template <CornerPattern ROOT, CornerPattern NODE>
    __device__ __forceinline__ void addTwoNodes(const Record& root, const Record& node, const Tables& tables)
    {
        bool leaf[2 * U], left[2 * U];
        Pairs::template decide<ROOT>(root, tables, window, norms, leaf);
        Pairs::template decide<NODE>(node, tables, window, norms, left);
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
        {
            addIf(leaf[u], root.leafDelta, sum[u]);
            addIf(left[u] && !leaf[u], node.leafDelta, sum[u]);
        }
    }

    /** Adds a node of a tree. @param index of its record. @param n index of the node in the tree. @param at in and out:
    node that each window has reached; after a leaf, none that is still to come. */
    __device__ __forceinline__ void addNode(const Record& record, int index, const Tables& tables, int n,
                                            int (&at)[2 * U])
    {
        const int2 leaves = __ldg(reinterpret_cast<const int2*>(tables.leaves) + index);
        bool left[2 * U];
        Pairs::template decide<ANY_PATTERN>(record, tables, window, norms, left);
        const int leftChild = record.links >> 8 & 0xff, rightChild = record.links >> 16 & 0xff;
#pragma unroll
        for (int u = 0; u < 2 * U; ++u)
            if (at[u] == n)
            {
                sum[u] += left[u] ? leaves.x : leaves.y;
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

    template <CornerPattern PATTERN>
    __device__ __forceinline__ void addConstantStumps(const Record* records, int begin, int end, const Tables& tables)
    {
#pragma unroll((U == 1 || !Pairs::NORM) && PATTERN != TERMS ? 2 : 1)
        for (int t = begin; t < end; ++t)
            addStump<PATTERN>(copyConstant(records + t), tables);
    }

    //! Adds trees of two nodes from `begin` on, in the order of their patterns. @param K first pair of patterns.
    template <int K>
    __device__ __forceinline__ void addConstantTrees(const Record* records, int begin, const StageRecord& stage,
                                                     const Tables& tables)
    {
        const bool known = K < PATTERN_PAIRS;
        const CornerPattern root = known ? CornerPattern(K / 3) : ANY_PATTERN,
                            node = known ? CornerPattern(K % 3) : ANY_PATTERN;
        const int end = known ? stage.ends[K % PATTERN_PAIRS] : stage.trees;
#pragma unroll 1
        for (int t = begin; t < end; ++t)
            addTwoNodes<root, node>(copyConstant(records + 2 * t), copyConstant(records + 2 * t + 1), tables);
        if constexpr (known)
            addConstantTrees<K + 1>(records, end, stage, tables);
    }

    /** Returns a stage's first record among the kernel's parameters. The sign bit of a norm is 0, which the compiler
    does not know, so that it does not use loads by uniform registers, whose cache is too small. Gain: 661 us instead of
    682 | H200, 2026-11-21 | alt */
    __device__ __forceinline__ const Record* firstConstant(const StageRecord& stage, const Record* all) const
    {
        return all + (stage.firstNode + (__float_as_uint(norms.norm[0]) >> 31));
    }

    //! Adds a stage with records among the kernel's parameters. All lanes of a warp call it together.
    __device__ __forceinline__ void addConstant(const StageRecord& stage, const Record* all, const Tables& tables)
    {
        begin(stage.quantised.base);
        const Record* record = firstConstant(stage, all);
        const int count = stage.trees;
        if constexpr (TREES == STUMPS && Pairs::NORM)
        {
            const int six = stage.ends[0], eight = stage.ends[1], nine = stage.ends[2];
            addConstantStumps<SIX>(record, 0, six, tables);
            addConstantStumps<EIGHT>(record, six, eight, tables);
            addConstantStumps<NINE>(record, eight, nine, tables);
            addConstantStumps<TERMS>(record, nine, count, tables);
        }
        else if constexpr (TREES == STUMPS)
            addConstantStumps<ANY_PATTERN>(record, 0, count, tables);
        else if constexpr (TREES == TWO_NODES)
            addConstantTrees<0>(record, 0, stage, tables);
        else
        {
            // Nearly all nodes of small trees are reached by some window.
            const bool small = stage.nodesEach > 0 && stage.nodesEach <= SMALL_TREE;
            int index = stage.firstNode;
#pragma unroll 1
            for (int t = 0; t < count; ++t)
            {
                const int nodes = record->links >> 24;
                int at[2 * U] = {};
#pragma unroll 1
                for (int n = 0; n < nodes; ++n, ++record, ++index)
                    if (small || __any_sync(ALL_LANES, anyAt(at, n)))
                        addNode(copyConstant(record), index, tables, n, at);
            }
        }
    }

    //! Adds all nodes of all trees, whether windows reach them or not, so that the next record can be loaded early.
    template <class NodeAt>
    __device__ __forceinline__ void addSmallTrees(const StageRecord& stage, const NodeAt& nodeAt, const Tables& tables,
                                                  int lane, int lanes)
    {
        const int each = stage.nodesEach;
        int index = stage.firstNode + lane * each, n = 0, at[2 * U] = {};
        Record next = nodeAt(index);
#pragma unroll 1
        for (int t = lane; t < stage.trees;)
        {
            const Record record = next;
            const int node = n, tree = t, here = index;
            n = n + 1 < each ? n + 1 : 0;
            t += n == 0 ? lanes : 0;
            index = stage.firstNode + ::min(t, stage.trees - 1) * each + n;
            next = nodeAt(index);
            addNode(record, here, tables, node, at);
            if (t != tree)
            {
#pragma unroll
                for (int u = 0; u < 2 * U; ++u)
                    at[u] = 0;
            }
        }
    }

    //! Adds every `lanes`th tree from `lane` on. @param nodeAt loads the record of a node.
    template <class NodeAt>
    __device__ __forceinline__ void addShare(const StageRecord& stage, const NodeAt& nodeAt, const Tree* trees,
                                             const Tables& tables, int lane, int lanes)
    {
        begin(lane == 0 ? stage.quantised.base : 0);
        if (lane >= stage.trees)
            return;
        if constexpr (TREES == STUMPS)
        {
            Record next = nodeAt(stage.firstNode + lane);
#pragma unroll 2
            for (int t = lane; t < stage.trees; t += lanes)
            {
                const Record record = next;
                next = nodeAt(stage.firstNode +
                              ::min(t + lanes, stage.trees - 1)); // in flight while this one is evaluated
                addStump<ANY_PATTERN>(record, tables);
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
                addTwoNodes<ANY_PATTERN, ANY_PATTERN>(root, node, tables);
            }
        }
        else if (stage.nodesEach > 0 && stage.nodesEach <= SMALL_TREE)
            addSmallTrees(stage, nodeAt, tables, lane, lanes);
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
                        addNode(nodeAt(tree.x + n), tree.x + n, tables, n, at);
            }
        }
    }
};

//! Fixed-point sums of the upper and the lower window.
struct FullSums
{
    int64_t sum[2];
};

/** Adds up every `lanes`th tree of a stage from `lane` on, with full leaves, for any shape of trees. Rarely called, so
not inlined. */
template <class Pairs>
__device__ __noinline__ FullSums fullShare(const ModelView& model, int shift, int stage, uint32_t window, float2 norms,
                                           int lane, int lanes)
{
    const StageRecord& s = model.stage[stage];
    const RecordsView& records = model.records[shift];
    const Tables tables = {model.terms[shift], model.subsets, model.quantisedLeaves};
    const uint32_t windows[1] = {window};
    Norms<1> both;
    both.set(0, norms.x);
    both.set(1, norms.y);
    FullSums full = {{0, 0}};
#pragma unroll 1
    for (int t = lane; t < s.trees; t += lanes)
    {
        const int each = s.nodesEach;
        const int2 tree = each > 0 ? int2{s.firstNode + t * each, each}
                                   : __ldg(reinterpret_cast<const int2*>(model.trees + s.firstTree + t));
        int at[2] = {0, 0};
#pragma unroll 1
        for (int n = 0; n < tree.y; ++n)
        {
            const typename Pairs::Record record =
                copyRecord<typename Pairs::Record>(records.quads + tree.x + n, records.count);
            const longlong2 leaves = __ldg(reinterpret_cast<const longlong2*>(model.fixedLeaves) + tree.x + n);
            bool left[2];
            Pairs::template decide<ANY_PATTERN>(record, tables, windows, both, left);
#pragma unroll
            for (int k = 0; k < 2; ++k)
                if (at[k] == n)
                {
                    full.sum[k] += left[k] ? leaves.x : leaves.y; // 0 for a child node
                    at[k] = record.links >> (left[k] ? 8 : 16) & 0xff;
                }
        }
    }
    return full;
}

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_PAIR_SUMS_HPP
