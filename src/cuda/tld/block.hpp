// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions of a block of tuning::THREADS for a box: its patch, its similarities to the templates, the windows
// near it.
// Functions that several kernels share, each used by the next.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_BLOCK_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_BLOCK_HPP

#include "../../common/warp.hpp"
#include "objects.hpp"
#include <climits>
#include <cuda_runtime.h>

namespace cv { namespace cuda { namespace tld { namespace gpu {

using detail::ALL_LANES;
using detail::leastOfWarp;
using detail::sumOfWarp;

const int BLOCK_WARPS = tuning::THREADS / 32;

//! Sums a value over a block. All threads get the sum. @param storage BLOCK_WARPS entries of shared memory.
__device__ __forceinline__ int sumOfBlock(int value, int* storage)
{
    value = sumOfWarp(value);
    __syncthreads(); // the storage is free
    if ((threadIdx.x & 31) == 0)
        storage[threadIdx.x >> 5] = value;
    __syncthreads(); // all sums
    int sum = 0;
#pragma unroll
    for (int w = 0; w < BLOCK_WARPS; ++w)
        sum += storage[w];
    return sum;
}

//! Copies structs by all threads of a block, AT_ONCE words per thread at a time, as a load would wait for the store
//! before it.
template <int AT_ONCE = 2, typename T> __device__ __forceinline__ void copyWords(T* to, const T* from, int count)
{
    static_assert(sizeof(T) % sizeof(uint32_t) == 0, "whole words");
    const int words = count * static_cast<int>(sizeof(T) / sizeof(uint32_t)), step = static_cast<int>(blockDim.x);
    for (int first = threadIdx.x; first < words; first += AT_ONCE * step)
    {
        uint32_t some[AT_ONCE];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            if (first + n * step < words)
                some[n] = reinterpret_cast<const uint32_t*>(from)[first + n * step];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            if (first + n * step < words)
                reinterpret_cast<uint32_t*>(to)[first + n * step] = some[n];
    }
}

//! Copies two arrays as copyWords() does; the second one, of at most SECOND words per thread, is loaded first.
template <int AT_ONCE, int SECOND, typename T, typename U>
__device__ __forceinline__ void copyBoth(T* to, const T* from, int count, U* toSecond, const U* second, int countSecond)
{
    static_assert(sizeof(U) % sizeof(uint32_t) == 0, "whole words");
    const int words = countSecond * static_cast<int>(sizeof(U) / sizeof(uint32_t));
    const int thread = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
    uint32_t some[SECOND];
#pragma unroll
    for (int n = 0; n < SECOND; ++n)
        some[n] = thread + n * step < words ? reinterpret_cast<const uint32_t*>(second)[thread + n * step] : 0;
    copyWords<AT_ONCE>(to, from, count);
#pragma unroll
    for (int n = 0; n < SECOND; ++n)
        if (thread + n * step < words)
            reinterpret_cast<uint32_t*>(toSecond)[thread + n * step] = some[n];
}

// --- patches ---------------------------------------------------------------------------------------------------------

//! A patch and its sums, in shared memory.
struct BlockPatch
{
    uint64_t corners[(PATCH + 1) * (PATCH + 1)];
    uint2 pixels[PATCH_STRIDE / 8];
    PatchStats stats;
    int sum, squares;
};
static_assert((PATCH + 1) * (PATCH + 1) <= tuning::THREADS, "a corner per thread");

//! Makes the patch of a box. Ends with a barrier.
__device__ __forceinline__ void makePatch(const Batch& batch, const Box& box, BlockPatch& patch)
{
    const int t = threadIdx.x;
    const PatchPlan plan = planPatch(box, batch.cols, batch.rows);
    if (t < (PATCH + 1) * (PATCH + 1))
        patch.corners[t] = cornerSum(batch.sumTable(), plan.x + t % (PATCH + 1) * plan.stepX,
                                     plan.y + t / (PATCH + 1) * plan.stepY, batch.cols, batch.rows);
    if (t == 0)
        patch.sum = patch.squares = 0;
    __syncthreads(); // corners, zeros
    int value = 0;
    if (t < PATCH_PIXELS)
    {
        const uint64_t* const c = patch.corners + t / PATCH * (PATCH + 1) + t % PATCH;
        value = cellOf(c[0], c[1], c[PATCH + 1], c[PATCH + 2], plan.inverse);
    }
    if (t < PATCH_STRIDE)
        reinterpret_cast<uint8_t*>(patch.pixels)[t] = static_cast<uint8_t>(value);
    const int sum = sumOfWarp(value), squares = sumOfWarp(value * value);
    if ((t & 31) == 0)
    {
        atomicAdd(&patch.sum, sum);
        atomicAdd(&patch.squares, squares);
    }
    __syncthreads(); // sums
    if (t == 0)
        patch.stats = statsOf(patch.sum, patch.squares);
    __syncthreads(); // stats
}

//! Returns this lane's 8 pixels of a patch; 0 for lanes from 30 on.
__device__ __forceinline__ uint2 partOf(const uint2* pixels)
{
    const int lane = threadIdx.x & 31;
    return lane < PATCH_STRIDE / 8 ? pixels[lane] : make_uint2(0, 0);
}
__device__ __forceinline__ uint2 partOfTemplate(const uint8_t* templates, int slot)
{
    return partOf(reinterpret_cast<const uint2*>(templates + static_cast<size_t>(slot) * PATCH_STRIDE));
}
//! Returns the dot product of two patches to all lanes. @param a,b parts of this lane.
__device__ __forceinline__ int dotOf(const uint2& a, const uint2& b)
{
    return sumOfWarp(static_cast<int>(__dp4a(a.x, b.x, __dp4a(a.y, b.y, 0u))));
}

// --- similarity ------------------------------------------------------------------------------------------------------

struct SimilarityMemory
{
    Similarity warps[BLOCK_WARPS];
    Similarity result;
};

//! Merges the similarities to another template. Of equal positives the first in the order stays the nearest.
__device__ __forceinline__ void mergeSimilarity(Similarity& s, double positive, double early, double negative,
                                                int nearest)
{
    const bool better =
        nearest >= 0 && (s.nearest < 0 || positive > s.positive || (positive == s.positive && nearest < s.nearest));
    s.nearest = better ? nearest : s.nearest;
    s.positive = greater(s.positive, positive);
    s.early = greater(s.early, early);
    s.negative = greater(s.negative, negative);
}

//! Merges the similarities of all lanes.
__device__ __forceinline__ Similarity bestOfWarp(const Similarity& own)
{
    Similarity best = {detail::largestOfWarp(own.positive), detail::largestOfWarp(own.early),
                       detail::largestOfWarp(own.negative), -1};
    const bool isBest = own.nearest >= 0 && own.positive == best.positive;
    const int first = leastOfWarp(isBest ? own.nearest : INT_MAX);
    best.nearest = first < INT_MAX ? first : -1;
    return best;
}

//! The templates that a warp compares with one patch in a pass: a lane has the place of one of them, and its part of
//! AT_ONCE, as each takes long to arrive.
class TemplatesOfWarp
{
public:
    static const int PASS = 32 * BLOCK_WARPS; //!< templates of all warps in a pass

    //! Begins to load. @param first the first template of this warp in a pass.
    __device__ __forceinline__ TemplatesOfWarp(const Model& model, const Settings& settings, int positives,
                                               int negatives, int first)
        : templates_(model.templates), place_(first + BLOCK_WARPS * lane()), slot_(0), stats_(), parts_()
    {
        const int all = positives + negatives;
        if (first >= all)
            return;
        const int some = lesser(place_, all - 1); // lanes beyond the last template have that one, too
        slot_ = some < positives ? model.order[some] : settings.maxPositives + some - positives;
        stats_ = model.stats[slot_];
        load(0);
    }
    int __device__ place() const { return place_; }
    const PatchStats& __device__ stats() const { return stats_; }
    //! Returns the dot product of a patch and the template at place(). @param own part of the patch. @param count of
    //! lanes that have a template.
    __device__ __forceinline__ int dotWith(const uint2& own, int count)
    {
        int dot = 0;
        for (int k = 0; k < count; k += AT_ONCE)
        {
            if (k > 0)
                load(k);
#pragma unroll
            for (int n = 0; n < AT_ONCE; ++n)
            {
                const int sum = dotOf(own, parts_[n]);
                dot = lane() == k + n ? sum : dot;
            }
        }
        return dot;
    }

private:
    static const int AT_ONCE = 8;

    static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x & 31); }
    __device__ __forceinline__ void load(int k)
    {
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            parts_[n] = partOfTemplate(templates_, __shfl_sync(ALL_LANES, slot_, k + n));
    }

    const uint8_t* templates_;
    int place_, slot_;
    PatchStats stats_;
    uint2 parts_[AT_ONCE];
};

//! Compares a patch with all templates and writes work.result. Ends with a barrier. @param templates of the first pass.
__device__ __forceinline__ void compareTemplates(const Model& model, const Settings& settings, int positives,
                                                 int negatives, const uint2* pixels, const PatchStats& stats,
                                                 TemplatesOfWarp templates, SimilarityMemory& work)
{
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, all = positives + negatives;
    const uint2 own = partOf(pixels);
    Similarity best = {0., 0., 0., -1};
    for (int first = warp; first < all; first += TemplatesOfWarp::PASS)
    {
        if (first > warp)
            templates = TemplatesOfWarp(model, settings, positives, negatives, first);
        const int dot = templates.dotWith(own, lesser(32, detail::ceilDiv(all - first, BLOCK_WARPS)));
        const double value = greater(0., similarity(dot, stats, templates.stats()));
        const int place = templates.place();
        if (place < positives)
            mergeSimilarity(best, value, place < earlyPositives(positives) ? value : 0., 0., place);
        else if (place < all)
            mergeSimilarity(best, 0., 0., value, -1);
    }
    best = bestOfWarp(best);
    if (lane == 0)
        work.warps[warp] = best;
    __syncthreads(); // of all warps
    if (warp == 0)
    {
        best = bestOfWarp(work.warps[::min(lane, BLOCK_WARPS - 1)]);
        if (lane == 0)
            work.result = best;
    }
    __syncthreads(); // the result
}

//! Compares a patch with all templates and writes work.result. Ends with a barrier.
__device__ __forceinline__ void comparePatch(const Model& model, const Settings& settings, int positives, int negatives,
                                             const uint2* pixels, const PatchStats& stats, SimilarityMemory& work)
{
    const TemplatesOfWarp templates(model, settings, positives, negatives, static_cast<int>(threadIdx.x >> 5));
    compareTemplates(model, settings, positives, negatives, pixels, stats, templates, work);
}
//! Makes the patch of a box, and compares it. Templates are loaded meanwhile. Ends with a barrier.
__device__ __forceinline__ void compareBox(const Batch& batch, const Model& model, int positives, int negatives,
                                           const Box& box, BlockPatch& patch, SimilarityMemory& work)
{
    const TemplatesOfWarp templates(model, batch.settings, positives, negatives, static_cast<int>(threadIdx.x >> 5));
    makePatch(batch, box, patch);
    compareTemplates(model, batch.settings, positives, negatives, patch.pixels, patch.stats, templates, work);
}

// --- windows around a box --------------------------------------------------------------------------------------------

//! Windows that may overlap a box by more than NEAR_OVERLAP, of all scales, in the order of their indices.
struct NearSpans
{
    Grid grid; //!< copy in shared memory, as many threads search it
    Span spans[MAX_SCALES];
    int counts[MAX_SCALES];
    int first[MAX_SCALES + 1];
};

//! Computes the spans of all scales. `near.grid` must have been copied. Ends with a barrier.
__device__ __forceinline__ void makeSpans(const Box& box, NearSpans& near)
{
    __syncthreads(); // older spans are not needed any more
    const int s = threadIdx.x, scales = near.grid.scales;
    if (s < scales)
    {
        const Span span = spanNear(near.grid.scale[s], box, NEAR_OVERLAP);
        near.spans[s] = span;
        near.counts[s] = span.empty() ? 0 : (span.i1 - span.i0) * (span.j1 - span.j0);
    }
    __syncthreads(); // spans
    if (s <= scales)
    {
        int before = 0;
#pragma unroll 4
        for (int k = 0; k < s; ++k)
            before += near.counts[k];
        near.first[s] = before;
    }
    __syncthreads(); // places
}
__device__ __forceinline__ int windowsNear(const NearSpans& near) { return near.first[near.grid.scales]; }

struct NearWindow
{
    int scale, place, number;
    Window window;
};
__device__ __forceinline__ NearWindow nearWindow(const NearSpans& near, int index)
{
    int s = 0;
#pragma unroll 4
    for (int k = 1; k < near.grid.scales; ++k)
        s += index >= near.first[k] ? 1 : 0;
    const Span& span = near.spans[s];
    const int k = index - near.first[s], across = span.i1 - span.i0;
    const int i = span.i0 + k % across, j = span.j0 + k / across;
    const Scale& scale = near.grid.scale[s];
    const int place = j * scale.nx + i;
    return {s, place, scale.first + place, windowOf(scale, i, j)};
}

struct Ranking
{
    double overlaps[tuning::NEAR_LIST];
    int numbers[tuning::NEAR_LIST];
    int ranks[tuning::NEAR_LIST];
    Window windows[MAX_NEAR];
    int listed, count;
};

__device__ __forceinline__ bool isNearer(double overlap, int number, double thanOverlap, int thanNumber)
{
    return overlap > thanOverlap || (overlap == thanOverlap && number < thanNumber);
}

//! Ranks windows one after the other, when there are more than the list holds.
__device__ __forceinline__ void rankSlowly(const Box& box, int most, const NearSpans& near, Ranking& ranking)
{
    double lastOverlap = 2.;
    int lastNumber = -1;
    for (int count = 0; count < most; ++count)
    {
        double best = 0.;
        int number = -1;
        for (int k = threadIdx.x; k < windowsNear(near); k += tuning::THREADS)
        {
            const NearWindow w = nearWindow(near, k);
            const double value = overlap(w.window, box);
            if (value > NEAR_OVERLAP && isNearer(lastOverlap, lastNumber, value, w.number) &&
                (number < 0 || isNearer(value, w.number, best, number)))
            {
                best = value;
                number = w.number;
            }
        }
        ranking.overlaps[threadIdx.x] = best;
        ranking.numbers[threadIdx.x] = number;
        __syncthreads(); // each thread's best
        for (int t = 0; t < tuning::THREADS; ++t)
            if (ranking.numbers[t] >= 0 &&
                (number < 0 || isNearer(ranking.overlaps[t], ranking.numbers[t], best, number)))
            {
                best = ranking.overlaps[t];
                number = ranking.numbers[t];
            }
        if (number >= 0 && threadIdx.x == 0)
        {
            ranking.windows[count] = windowOf(near.grid, number);
            ranking.count = count + 1;
        }
        __syncthreads(); // the list is free again
        if (number < 0)
            return;
        lastOverlap = best;
        lastNumber = number;
    }
}
static_assert(tuning::NEAR_LIST >= tuning::THREADS, "rankSlowly() has an entry per thread");

/** Finds at most `most` windows of largest overlap with a box, above NEAR_OVERLAP, the largest first. `near.grid` must
have been copied. Ends with a barrier. */
__device__ __forceinline__ void findNear(const Box& box, int most, NearSpans& near, Ranking& ranking)
{
    makeSpans(box, near);
    if (threadIdx.x == 0)
        ranking.listed = ranking.count = 0;
    __syncthreads(); // zeros
    for (int k = threadIdx.x; k < windowsNear(near); k += tuning::THREADS)
    {
        const NearWindow w = nearWindow(near, k);
        const double value = overlap(w.window, box);
        const int at = value > NEAR_OVERLAP ? atomicAdd(&ranking.listed, 1) : tuning::NEAR_LIST;
        if (at < tuning::NEAR_LIST)
        {
            ranking.overlaps[at] = value;
            ranking.numbers[at] = w.number;
            ranking.ranks[at] = 0;
        }
    }
    __syncthreads(); // the list
    const int listed = ranking.listed;
    if (listed > tuning::NEAR_LIST)
    {
        rankSlowly(box, most, near, ranking);
        return;
    }
    // A warp compares each window with every BLOCK_WARPS-th one.
    for (int k = threadIdx.x & 31; k < listed; k += 32)
    {
        int rank = 0;
#pragma unroll 4
        for (int other = static_cast<int>(threadIdx.x >> 5); other < listed; other += BLOCK_WARPS)
            rank += isNearer(ranking.overlaps[other], ranking.numbers[other], ranking.overlaps[k], ranking.numbers[k]);
        atomicAdd(&ranking.ranks[k], rank);
    }
    __syncthreads(); // ranks
    for (int k = threadIdx.x; k < listed; k += tuning::THREADS)
        if (ranking.ranks[k] < most)
            ranking.windows[ranking.ranks[k]] = windowOf(near.grid, ranking.numbers[k]);
    if (threadIdx.x == 0)
        ranking.count = lesser(listed, most);
    __syncthreads(); // the windows
}

//! Fills the training set of a box, by one warp. @param near the `count` windows of findNear().
__device__ __forceinline__ void fillTrainingSet(TrainingSet& set, const Box& box, const Window* near, int count,
                                                int warps, double angle, const Settings& settings)
{
    static_assert(MAX_NEAR <= 32, "a window per lane");
    const int lane = threadIdx.x & 31;
    const Window own = count > 0 ? near[::min(lane, count - 1)] : Window();
    if (lane < count)
        set.windows[lane] = own;
    const int left = leastOfWarp(own.x), top = leastOfWarp(own.y);
    const int right = -leastOfWarp(-own.x - own.w), bottom = -leastOfWarp(-own.y - own.h);
    if (lane != 0)
        return;
    set.box = box;
    set.positive = box;
    set.near = count;
    set.warps = warps;
    set.examples = count > 0 ? examplesOf(count, warps, settings.mirror) : 0;
    set.angle = angle;
    set.hull = {left, top, right - left, bottom - top};
}

__device__ __forceinline__ bool bitOf(const uint32_t* bits, int place) { return bits[place >> 5] >> (place & 31) & 1u; }

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_BLOCK_HPP
