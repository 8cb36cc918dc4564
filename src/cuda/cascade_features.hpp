// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Features, trees and stages of the cascade on the device: what differs between Haar and LBP, stumps and trees, sums that
// have no order and sums that have one.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_FEATURES_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_FEATURES_HPP

#include "cascade_classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

extern __shared__ int4 dynamicMemory[];

/** A word of shared memory. Said by an offset in bytes, as the compiler does not follow pointers to shared memory through arrays, and
loads from anywhere are slower. */
__device__ __forceinline__ uint32_t sharedWord(uint32_t offset)
{
    return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(dynamicMemory) + offset);
}

//! A child's index in the tree; 0: a leaf.
__device__ __forceinline__ int childOf(uint32_t links, bool left) { return (links >> (left ? 8 : 16)) & 0xff; }
__device__ __forceinline__ int64_t leafOf(const int4& leaves, bool left)
{
    const uint32_t low = left ? leaves.x : leaves.z, high = left ? leaves.y : leaves.w;
    return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | low);
}

//! Haar features with integer weights. Registers hold a node, so that it is loaded once for several windows.
struct HaarNode
{
    typedef HaarRecord Record;
    static const bool NORM = true;
    static const int WINDOWS = 4; //!< of a thread at a time, at most

    int4 head, leaves, low, high;

    __device__ __forceinline__ void load(const Record* record)
    {
        const int4* const words = reinterpret_cast<const int4*>(record);
        head = __ldg(words);
        leaves = __ldg(words + 1);
        low = __ldg(words + 2);
        high = __ldg(words + 3);
    }
    __device__ __forceinline__ uint32_t links() const { return head.y; }

    template <int U>
    static __device__ __forceinline__ void add(uint32_t corner, const uint32_t (&window)[U], int (&value)[U])
    {
        const int weight = static_cast<int>(corner) >> 16;
        const uint32_t offset = (corner & 0xffff) * 4;
#pragma unroll
        for (int u = 0; u < U; ++u)
            value[u] += weight * static_cast<int>(sharedWord(window[u] + offset));
    }

    //! @param window where the windows' corners are in shared memory.
    template <int U>
    __device__ __forceinline__ void decide(const Record* record, const uint32_t (&window)[U], const float (&norm)[U],
                                           bool (&left)[U]) const
    {
        const int corners = head.y & 0xff;
        int value[U] = {};
        add(low.x, window, value);
        add(low.y, window, value);
        add(low.z, window, value);
        add(low.w, window, value);
        add(high.x, window, value);
        add(high.y, window, value);
        if (corners > 6)
        {
            add(high.z, window, value);
            add(high.w, window, value);
        }
        if (corners > 8)
        {
            add(head.z, window, value);
            add(head.w, window, value);
        }
        if (corners > 10)
        {
            const int2 last = __ldg(reinterpret_cast<const int2*>(record->fourth));
            add(last.x, window, value);
            add(last.y, window, value);
        }
        const float threshold = __int_as_float(head.x);
#pragma unroll
        for (int u = 0; u < U; ++u)
            left[u] = haarGoesLeft(static_cast<float>(value[u]), norm[u], threshold);
    }
};

struct LbpNode
{
    typedef LbpRecord Record;
    static const bool NORM = false;
    static const int WINDOWS = 2;

    int4 low, high, leaves;
    uint32_t links_;

    __device__ __forceinline__ void load(const Record* record)
    {
        low = __ldg(reinterpret_cast<const int4*>(record->points));
        high = __ldg(reinterpret_cast<const int4*>(record->points) + 1);
        leaves = __ldg(reinterpret_cast<const int4*>(record->leaves));
        links_ = __ldg(&record->links);
    }
    __device__ __forceinline__ uint32_t links() const { return links_; }

    template <int U>
    __device__ __forceinline__ void decide(const Record* record, const uint32_t (&window)[U], const float (&)[U],
                                           bool (&left)[U]) const
    {
        const int pairs[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int u = 0; u < U; ++u)
        {
            const auto at = [&](int x, int y)
            {
                const uint32_t pair = pairs[(4 * y + x) / 2];
                return sharedWord(window[u] + 4 * ((x & 1) ? pair >> 16 : pair & 0xffff));
            };
            left[u] = lbpGoesLeft(record->subset, lbpCode({0, 0, 1, 1}, at)); // points are counted, not measured
        }
    }
};

//! Sum of a stage for U windows of a thread; all threads of a warp are at the same node.
template <class Node, bool STUMPS> struct PackedStages
{
    typedef int64_t Sum;
    typedef uint32_t Window; //!< place in shared memory
    typedef typename Node::Record Record;
    static const bool NORM = Node::NORM, LANES = true; //!< lanes may share a window
    static const int WINDOWS = Node::WINDOWS;

    //! @param index of the window's corner in the tables.
    static __device__ __forceinline__ Window windowAt(const uint32_t*, const Layout& layout, int index)
    {
        return static_cast<uint32_t>(layout.tables + 4 * index);
    }
    static __device__ __forceinline__ const Record* recordsOf(const ModelView& model, int shift)
    {
        return static_cast<const Record*>(model.records[shift]);
    }
    static __device__ __forceinline__ bool fails(Sum sum, const StageRecord& stage)
    {
        return sum < stage.fixedThreshold;
    }
    static __device__ __forceinline__ double weight(Sum sum, const StageRecord& stage)
    {
        return weightOf(sum, stage.shift);
    }

    template <int U>
    static __device__ __forceinline__ void sum(const ModelView& model, const Shape& shape, const StageRecord& stage,
                                               const uint32_t (&window)[U], const float (&norm)[U], Sum (&sum)[U])
    {
        const Record* const records = recordsOf(model, shape.shift) + stage.firstNode;
#pragma unroll
        for (int u = 0; u < U; ++u)
            sum[u] = 0;
        if constexpr (STUMPS)
            sumStumps(records, stage.trees, window, norm, sum);
        else
            sumTrees(records, model.trees + stage.firstTree, stage.trees, window, norm, sum);
    }

    template <int U>
    static __device__ __forceinline__ void sumStumps(const Record* record, int stumps, const uint32_t (&window)[U],
                                                     const float (&norm)[U], Sum (&sum)[U])
    {
        Node next;
        next.load(record);
        for (int t = 0; t < stumps; ++t, ++record)
        {
            const Node node = next;
            if (t + 1 < stumps)
                next.load(record + 1); // on its way while this one is decided
            bool left[U];
            node.decide(record, window, norm, left);
#pragma unroll
            for (int u = 0; u < U; ++u)
                sum[u] += leafOf(node.leaves, left[u]);
        }
    }

    //! Each node is loaded once, if any window wants it: children come after their parents.
    template <int U>
    static __device__ __forceinline__ void sumTrees(const Record* record, const Tree* tree, int trees,
                                                    const uint32_t (&window)[U], const float (&norm)[U], Sum (&sum)[U])
    {
        for (int t = 0; t < trees; ++t)
        {
            const int nodes = __ldg(&tree[t].nodes);
            int at[U] = {};
            for (int n = 0; n < nodes; ++n, ++record)
            {
                bool wanted = false;
#pragma unroll
                for (int u = 0; u < U; ++u)
                    wanted = wanted || at[u] == n;
                if (!wanted)
                    continue;
                Node node;
                bool left[U];
                node.load(record);
                node.decide(record, window, norm, left);
#pragma unroll
                for (int u = 0; u < U; ++u)
                    if (at[u] == n)
                    {
                        const int child = childOf(node.links(), left[u]);
                        sum[u] += child == 0 ? leafOf(node.leaves, left[u]) : 0;
                        at[u] = child == 0 ? -1 : child;
                    }
            }
        }
    }

    //! What one of `lanes` threads adds to the sum of a window that they share.
    static __device__ __forceinline__ Sum part(const ModelView& model, const Shape& shape, const StageRecord& stage,
                                               Window where, float factor, int lane, int lanes)
    {
        const Record* const records = recordsOf(model, shape.shift);
        const Window window[1] = {where};
        const float norm[1] = {factor};
        Sum sum = 0;
        for (int t = lane; t < stage.trees; t += lanes)
        {
            const Record* const root =
                records + (STUMPS ? stage.firstNode + t : __ldg(&model.trees[stage.firstTree + t].firstNode));
            for (int at = 0; at >= 0;)
            {
                Node node;
                bool left[1];
                node.load(root + at);
                node.decide(root + at, window, norm, left);
                const int child = STUMPS ? 0 : childOf(node.links(), left[0]);
                sum += child == 0 ? leafOf(node.leaves, left[0]) : 0;
                at = child == 0 ? -1 : child;
            }
        }
        return sum;
    }
};

//! Models without fixed point or with other weights than integers, and tables in device memory: the model's own arrays.
template <bool HAAR_FEATURES> struct OrderedStages
{
    typedef double Sum;
    typedef const uint32_t* Window;
    static const bool NORM = HAAR_FEATURES, LANES = false;
    static const int WINDOWS = 1;

    static __device__ __forceinline__ Window windowAt(const uint32_t* table, const Layout&, int index)
    {
        return table + index;
    }
    static __device__ __forceinline__ bool fails(Sum sum, const StageRecord& stage)
    {
        return sum < static_cast<double>(stage.threshold);
    }
    static __device__ __forceinline__ double weight(Sum sum, const StageRecord&) { return sum; }

    static __device__ __forceinline__ bool goesLeft(const ModelView& model, const Shape& shape, int index,
                                                    const uint32_t* window, float norm)
    {
        const Node node = model.nodes[index];
        if (HAAR_FEATURES)
        {
            const HaarFeature& feature = model.haar[node.feature];
            const uint32_t* const table = window + (feature.tilted ? shape.words : 0);
            return haarGoesLeft(haarValue(feature, [&](int x, int y) { return table[shape.place(x, y)]; }), norm,
                                node.threshold);
        }
        return lbpGoesLeft(model.subsets + static_cast<size_t>(index) * SUBSET_WORDS,
                           lbpCode(model.lbp[node.feature], [&](int x, int y) { return window[shape.place(x, y)]; }));
    }

    template <int U>
    static __device__ __noinline__ void sum(const ModelView& model, const Shape& shape, const StageRecord& stage,
                                            const Window (&window)[U], const float (&norm)[U], Sum (&sum)[U])
    {
        for (int u = 0; u < U; ++u)
        {
            sum[u] = 0.;
            for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
            {
                int at = model.trees[t].firstNode;
                do
                {
                    const Node& node = model.nodes[at];
                    at = goesLeft(model, shape, at, window[u], norm[u]) ? node.left : node.right;
                }
                while (at >= 0);
                sum[u] += static_cast<double>(model.leaves[~at]);
            }
        }
    }
    static __device__ __forceinline__ Sum part(const ModelView&, const Shape&, const StageRecord&, Window, float, int,
                                               int)
    {
        return 0.; // no two lanes share a window
    }
};

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_FEATURES_HPP
