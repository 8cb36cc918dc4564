// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage group: candidates, in any order, to objects in the order of keys, in one launch.
// One kernel with two ways, whose candidates become groups in the same arrays.
//
// The candidates of an image are ordered, similar ones are linked, and groups are added up, thinned out and stored:
//
//   few of them   one block, in shared memory, with similarity as bits of a word
//   many          all blocks of the image, in device memory: see groupMany()
//
// A candidate's rank is the number of lower keys. The number of candidates is known to the device only and usually some
// hundreds: counting takes no memory and no launch, a radix sort over the capacity would take eight launches.
//
// Cost: n * n / 2 pairs of candidates with 12 instructions each. Bound by latency, up to some thousand candidates per
// image.
#include "group.hpp"
#include "handover.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"
#include <cub/block/block_reduce.cuh>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

const int GROUP_WARPS = tuning::GROUP_THREADS / 32;
typedef cub::BlockReduce<int64_t, tuning::GROUP_THREADS> Maximum;

struct Larger
{
    __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return a > b ? a : b; }
};

//! Returns the number of candidates of an image that are grouped: all, or none if the list is too short.
__device__ __forceinline__ int usable(const Lists& lists, int image)
{
    const int count = lists.counts[image];
    return count <= lists.capacity ? count : 0;
}

//! Converts doubles to integers with the same order.
__device__ __forceinline__ unsigned long long orderedBits(double value)
{
    const unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(value));
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}
__device__ __forceinline__ double fromOrderedBits(unsigned long long bits)
{
    return __longlong_as_double(static_cast<long long>(bits >> 63 ? bits & ~(1ull << 63) : ~bits));
}

//! Returns whether one block ranks and links the candidates of an image by bits of a word.
__device__ __forceinline__ bool areFew(int count) { return count <= tuning::FEW_CANDIDATES; }

//! Candidates of an image that several blocks share.
struct Candidates
{
    const GridRecord* grids;
    int count, step; //!< number of candidates; distance of the next 32 of a share
    size_t base;
};

/** The candidates of one image in the order of keys, then its groups. @param SHARED whether the arrays are in shared
memory: in device memory, atomics change words that are in the first-level cache. */
template <bool SHARED> struct Groups
{
    Box* boxes;
    unsigned long long* weights;
    int *parents, *counts;
    int count; //!< number of candidates

    //! Makes a group of one candidate. @param rank of the candidate.
    __device__ __forceinline__ void begin(int rank, const Box& box, double weight) const
    {
        boxes[rank] = box;
        weights[rank] = orderedBits(weight);
        parents[rank] = rank;
        counts[rank] = 1;
    }
};
__device__ __forceinline__ Groups<false> groupsIn(const GroupMemory& m, size_t base, int count)
{
    return {m.boxes + base, m.weights + base, m.parents + base, m.counts + base, count};
}

//! Loads a word that other threads have changed.
template <bool SHARED, typename T> __device__ __forceinline__ T latest(const T* word)
{
    if constexpr (SHARED)
        return *word;
    else
        return __ldcg(word);
}

//! @param grids of the image.
__device__ __forceinline__ Box boxOfKey(const GridRecord* grids, Key key)
{
    const GridRecord& grid = grids[scaleOf(key)];
    return boxOf(xOf(key), yOf(key), grid.factor, grid.boxWidth, grid.boxHeight);
}

//! Ranks the candidates of a share. All threads of a block call it together. @param ranks memory.
__device__ __forceinline__ void orderShare(const Grouping& job, const Candidates& p, int begin, int (&ranks)[32])
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const Key* const keys = job.lists.keys + p.base;
    for (int first = begin; first < p.count; first += p.step)
    {
        const int i = first + lane;
        const Key key = keys[::min(i, p.count - 1)];
        __syncthreads(); // all have read the ranks before
        if (warp == 0)
            ranks[lane] = 0;
        __syncthreads(); // zeros
        int lower = 0;
#pragma unroll 4
        for (int j = warp; j < p.count; j += GROUP_WARPS)
            lower += keys[j] < key ? 1 : 0;
        atomicAdd(&ranks[lane], lower);
        __syncthreads(); // ranks
        if (warp == 0 && i < p.count)
            groupsIn(job.memory, p.base, p.count)
                .begin(ranks[lane], boxOfKey(p.grids, key), job.lists.weights[p.base + i]);
    }
}

__device__ __forceinline__ int rootOf(const int* parents, int i)
{
    for (int parent; (parent = __ldcg(parents + i)) != i;)
        i = parent;
    return i;
}

/** Unites two groups. The higher root becomes a child of the lower one, so the root of a group is its first candidate.
@return the root. */
__device__ __forceinline__ int join(int* parents, int a, int b)
{
    for (;;)
    {
        a = rootOf(parents, a);
        b = rootOf(parents, b);
        const int high = ::max(a, b), low = ::min(a, b);
        if (a == b || atomicCAS(parents + high, high, low) == high)
            return low;
    }
}

//! Returns true whenever areSimilar() does, and is cheaper.
__device__ __forceinline__ bool mayBeSimilar(const Box& a, const Box& b)
{
    return 10 * distance(a.x, b.x) <= a.width + a.height && 10 * distance(a.y, b.y) <= a.width + a.height;
}

//! Unites 32 candidates, one per lane, with the similar ones before them. The warps of a block share the comparisons.
__device__ __forceinline__ void linkBefore(const Groups<false>& c, int begin)
{
    const int i = begin + (threadIdx.x & 31);
    if (i >= c.count)
        return;
    const int4* const boxes = reinterpret_cast<const int4*>(c.boxes);
    const auto boxAt = [&](int at)
    {
        const int4 words = boxes[at];
        return Box{words.x, words.y, words.z, words.w};
    };
    const Box box = boxAt(i);
    const int last = ::min(begin + 32, c.count) - 1; // last of the 32 candidates
    const int BATCH = 4;                             // loads in flight
    const int warp = threadIdx.x >> 5;
    int* const parents = c.parents;
    int root = i; // root of this candidate, perhaps outdated
    // Similar candidates are collected first, so that lanes unite theirs concurrently: uniting takes dependent loads.
    for (int first = warp; first < last; first += 64 * GROUP_WARPS)
    {
        uint64_t similar = 0; // bit k: candidate first + k * GROUP_WARPS is similar
        for (int k = 0; k < 64 && first + k * GROUP_WARPS < last; k += BATCH)
        {
            Box others[BATCH];
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
                others[n] = boxAt(::min(first + (k + n) * GROUP_WARPS, last));
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
                if (first + (k + n) * GROUP_WARPS < i && mayBeSimilar(box, others[n]) && areSimilar(box, others[n]))
                    similar |= static_cast<uint64_t>(1) << (k + n);
        }
        while (similar)
        {
            int others[BATCH], above[BATCH];
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
            {
                others[n] = similar ? first + (__ffsll(static_cast<long long>(similar)) - 1) * GROUP_WARPS : -1;
                above[n] = __ldcg(parents + ::max(others[n], 0));
                similar &= similar - 1;
            }
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
                if (others[n] >= 0 && above[n] != root)
                    root = join(parents, root, others[n]);
        }
    }
}

// --- finish ----------------------------------------------------------------------------------------------------------

//! Few candidates of an image, in shared memory.
struct FewCandidates
{
    Key keys[tuning::FEW_CANDIDATES]; //!< in any order; the other arrays are those of Groups
    alignas(16) Box boxes[tuning::FEW_CANDIDATES];
    unsigned long long weights[tuning::FEW_CANDIDATES];
    alignas(16) Box sums[tuning::FEW_CANDIDATES];              //!< of groups, in the places of their first candidates
    unsigned long long largestWeights[tuning::FEW_CANDIDATES]; //!< of groups, likewise
    int parents[tuning::FEW_CANDIDATES], counts[tuning::FEW_CANDIDATES];
    uint32_t similar[2][tuning::FEW_CANDIDATES]; //!< [w][j]: which of candidates 32 w to 32 w + 31 are similar to j
};
static_assert(tuning::FEW_CANDIDATES == 64, "a bit of two words each");

//! Compares all candidates with each other, 32 with one per warp.
__device__ __forceinline__ void compareFew(const Groups<true>& c, FewCandidates& few)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, halves = c.count > 32 ? 2 : 1;
#pragma unroll 1
    for (int unit = warp; unit < halves * c.count; unit += GROUP_WARPS)
    {
        const int half = unit >= c.count ? 1 : 0, j = unit - half * c.count, i = 32 * half + lane;
        const Box box = c.boxes[::min(i, c.count - 1)], other = c.boxes[j];
        const uint32_t similar = __ballot_sync(0xffffffffu, i < c.count && areSimilar(box, other));
        if (lane == 0)
            few.similar[half][j] = similar;
    }
}

//! Returns candidate `first` and all that are similar to it, directly or through others. All lanes of a warp call it
//! together.
__device__ __forceinline__ uint64_t groupOf(const Groups<true>& c, const FewCandidates& few, int first)
{
    const int lane = threadIdx.x & 31;
    const bool many = c.count > 32;
    const auto rowOf = [&](int i)
    { return i < c.count ? few.similar[0][i] | static_cast<uint64_t>(many ? few.similar[1][i] : 0) << 32 : 0; };
    const uint64_t low = rowOf(lane), high = rowOf(lane + 32);
    uint64_t before = 0, group = 1ull << first;
#pragma unroll 1
    while (group != before)
    {
        before = group; // each is similar to itself
        group = __ballot_sync(0xffffffffu, (low & before) != 0);
        if (many)
            group |= static_cast<uint64_t>(__ballot_sync(0xffffffffu, (high & before) != 0)) << 32;
    }
    return group;
}

/** Finds and adds up the groups of few candidates: a warp takes a candidate, finds its group and, if it is the first of
the group, adds up the group into few.sums. */
__device__ __forceinline__ void linkFew(const Groups<true>& c, FewCandidates& few)
{
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int i = threadIdx.x >> 5; i < c.count; i += GROUP_WARPS)
    {
        const uint64_t group = groupOf(c, few, i);
        const int root = __ffsll(static_cast<long long>(group)) - 1;
        if (lane == 0)
            c.parents[i] = root;
        if (root != i)
            continue;
        Box sum = {0, 0, 0, 0};
        unsigned long long largestWeight = 0;
        for (int j = lane; j < c.count; j += 32)
            if (group >> j & 1)
            {
                const Box box = c.boxes[j];
                sum = {sum.x + box.x, sum.y + box.y, sum.width + box.width, sum.height + box.height};
                largestWeight = ::max(largestWeight, c.weights[j]);
            }
#pragma unroll
        for (int d = 16; d > 0; d /= 2)
        {
            sum = {sum.x + __shfl_xor_sync(0xffffffffu, sum.x, d), sum.y + __shfl_xor_sync(0xffffffffu, sum.y, d),
                   sum.width + __shfl_xor_sync(0xffffffffu, sum.width, d),
                   sum.height + __shfl_xor_sync(0xffffffffu, sum.height, d)};
            largestWeight = ::max(largestWeight, __shfl_xor_sync(0xffffffffu, largestWeight, d));
        }
        if (lane == 0)
        {
            few.sums[i] = sum;
            few.largestWeights[i] = largestWeight;
            c.counts[i] = __popcll(static_cast<long long>(group));
        }
    }
}

//! Sorts few candidates by their keys, and links them. @param grids of the image. @param base index of its list. All
//! threads of a block call it together.
__device__ __forceinline__ Groups<true> groupFew(const Grouping& job, const GridRecord* grids, size_t base, int count,
                                                 FewCandidates& few)
{
    const Groups<true> c = {few.boxes, few.weights, few.parents, few.counts, count};
    const int i = threadIdx.x;
    Key key = 0;
    Box box = {};
    double weight = 0.;
    if (i < count)
    {
        few.keys[i] = key = job.lists.keys[base + i];
        weight = job.lists.weights[base + i];
        box = boxOfKey(grids, key);
    }
    __syncthreads(); // keys
    if (i < count)
    {
        int lower = 0;
#pragma unroll 4
        for (int j = 0; j < count; ++j)
            lower += few.keys[j] < key ? 1 : 0;
        c.begin(lower, box, weight);
    }
    __syncthreads(); // candidates in the order of keys
    if (job.minNeighbors > 0)
    {
        compareFew(c, few);
        __syncthreads(); // which are similar
        linkFew(c, few);
        return {few.sums, few.largestWeights, few.parents, few.counts, count};
    }
    return c;
}

//! Adds every candidate that is no root to its root.
__device__ __forceinline__ void sumGroups(const Groups<false>& c)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < c.count; i += tuning::GROUP_THREADS)
    {
        const int root = rootOf(c.parents, i);
        if (root == i)
            continue;
        const Box box = c.boxes[i];
        uint32_t* const sums = reinterpret_cast<uint32_t*>(c.boxes + root);
        atomicAdd(sums, static_cast<uint32_t>(box.x));
        atomicAdd(sums + 1, static_cast<uint32_t>(box.y));
        atomicAdd(sums + 2, static_cast<uint32_t>(box.width));
        atomicAdd(sums + 3, static_cast<uint32_t>(box.height));
        atomicAdd(c.counts + root, 1);
        atomicMax(c.weights + root, c.weights[i]);
    }
}

/** Numbers the threads with `has` consecutively, from `next` on. A block that runs once is bound by fetching its
instructions: this takes fewer of them than CUB's scan. @param next in and out: the next number, equal in all threads.
@param counts memory. @return number of this thread. */
__device__ __forceinline__ int numberOf(bool has, int& next, int (&counts)[GROUP_WARPS])
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t all = __ballot_sync(0xffffffffu, has);
    if (lane == 0)
        counts[warp] = __popc(all);
    __syncthreads(); // counts of all warps
    int number = next + __popc(all & ((1u << lane) - 1u));
#pragma unroll 4
    for (int w = 0; w < GROUP_WARPS; ++w)
    {
        const int count = counts[w];
        number += w < warp ? count : 0;
        next += count;
    }
    __syncthreads(); // the counts may be written again
    return number;
}

/** Moves the groups with more than minNeighbors candidates to the front and replaces their sums by means; if
minNeighbors is 0 or less, all candidates stay. @return number of groups that are kept. */
template <bool SHARED>
__device__ __forceinline__ int keepGroups(const Groups<SHARED>& c, int minNeighbors, int (&counts)[GROUP_WARPS])
{
    int kept = 0;
#pragma unroll 1
    for (int first = 0; first < c.count; first += tuning::GROUP_THREADS)
    {
        const int i = first + static_cast<int>(threadIdx.x);
        const int at = ::min(i, c.count - 1);
        const int4* const box = reinterpret_cast<const int4*>(c.boxes + at);
        int4 sums = SHARED ? *box : __ldcg(box);
        const unsigned long long weight = latest<SHARED>(c.weights + at);
        const int count = latest<SHARED>(c.counts + at);
        const bool root = i < c.count && (minNeighbors <= 0 || latest<SHARED>(c.parents + at) == i);
        const bool keep = root && count > ::max(minNeighbors, 0);
        // Its barriers make sure that nobody writes before all have read; nobody writes behind the groups that were
        // read.
        const int to = numberOf(keep, kept, counts);
        if (!keep)
            continue;
        if (minNeighbors > 0)
            sums = {meanOf(sums.x, count), meanOf(sums.y, count), meanOf(sums.z, count), meanOf(sums.w, count)};
        c.boxes[to] = {sums.x, sums.y, sums.z, sums.w};
        c.weights[to] = weight;
        c.counts[to] = count;
    }
    return kept;
}

template <bool SHARED> __device__ __forceinline__ bool isPartOfAny(const Groups<SHARED>& c, int kept, int i)
{
    const Box box = c.boxes[i];
    const int count = c.counts[i];
#pragma unroll 1
    for (int j = 0; j < kept; ++j)
        if (j != i && isPartOf(box, count, c.boxes[j], c.counts[j]))
            return true;
    return false;
}

__device__ __forceinline__ void storeObject(const Grouping& job, int image, int number, const Box& box, int count,
                                            double weight)
{
    if (number >= job.maxObjects)
        return;
    if (job.tables.objects)
    {
        int* const to = job.tables.objects.row(image) + 4 * (number + 1);
        to[0] = box.x;
        to[1] = box.y;
        to[2] = box.width;
        to[3] = box.height;
    }
    if (job.tables.numDetections)
        job.tables.numDetections.row(image)[number] = count;
    if (job.tables.levelWeights)
        job.tables.levelWeights.row(image)[number] = weight;
}

//! Returns a key that orders boxes by area, then by number, smaller numbers first. Areas are below 2^32, as boxes lie
//! in images.
__device__ __forceinline__ int64_t sizeKey(const Box& box, int number)
{
    return static_cast<int64_t>(box.width) * box.height * MAX_CAPACITY + (MAX_CAPACITY - 1 - number);
}

/** Stores kept groups that are no part of another one and lie at least partly in the image. @param largest number of
the only object to store; -1: all. @param largestKey in and out: largest sizeKey() that this thread met. @return number
of objects. */
template <bool SHARED>
__device__ __forceinline__ int storeObjects(const Grouping& job, const Groups<SHARED>& c, int image, int kept,
                                            bool store, int largest, int64_t& largestKey, int (&counts)[GROUP_WARPS])
{
    const SourceRecord& source = job.sources[image];
    int found = 0;
#pragma unroll 1
    for (int first = 0; first < kept; first += tuning::GROUP_THREADS)
    {
        const int i = first + static_cast<int>(threadIdx.x);
        Box box = {};
        bool keep = i < kept && (job.minNeighbors <= 0 || !isPartOfAny(c, kept, i));
        if (keep)
        {
            box = c.boxes[i];
            keep = clip(box, source.cols, source.rows);
        }
        const int number = numberOf(keep, found, counts);
        if (!keep)
            continue;
        largestKey = ::max(largestKey, sizeKey(box, number));
        if (store && (largest < 0 || number == largest))
            storeObject(job, image, largest < 0 ? number : 0, box, c.counts[i], fromOrderedBits(c.weights[i]));
    }
    return found;
}

//! Stores the first column, and zeros after the last object where they are wanted.
__device__ __forceinline__ void storeRest(const Grouping& job, int image, int found)
{
    const int stored = ::min(found, job.maxObjects), count = job.lists.counts[image];
    if (job.tables.objects && threadIdx.x < 4)
    {
        const int overflow = count > job.lists.capacity ? 1 : 0;
        const int head[4] = {stored, found, count, overflow};
        job.tables.objects.row(image)[threadIdx.x] = head[threadIdx.x];
    }
#pragma unroll 1
    for (int i = stored + static_cast<int>(threadIdx.x); job.tables.filled && i < job.maxObjects;
         i += tuning::GROUP_THREADS)
        storeObject(job, image, i, {0, 0, 0, 0}, 0, 0.);
}

//! Memory of finish().
struct Finishing
{
    Maximum::TempStorage maximum;
    int counts[GROUP_WARPS];
    int largest; //!< number of the largest object
};

//! Memory of a block.
struct Grouped
{
    FewCandidates few;
    Finishing finishing;
    int ranks[32]; //!< of orderShare()
    int unit;      //!< that the block has taken
};

//! Turns the linked candidates of an image into objects. All threads of a block call it together.
template <bool SHARED>
__device__ __forceinline__ void finish(const Grouping& job, int image, const Groups<SHARED>& c, Finishing& shared)
{
    if constexpr (!SHARED) // groups of few candidates have been added up
        if (job.minNeighbors > 0)
            sumGroups(c);
    __syncthreads(); // sums
    const int kept = keepGroups(c, job.minNeighbors, shared.counts);
    __syncthreads(); // kept groups
    int64_t largestKey = -1;
    int found = 0, largest = -1;
    // If only the largest is wanted, all are looked through first. A loop, so that the instructions of storeObjects()
    // are fetched once.
#pragma unroll 1
    for (bool store = !job.largest;; store = true)
    {
        found = storeObjects(job, c, image, kept, store, largest, largestKey, shared.counts);
        if (store)
            break;
        largestKey = Maximum(shared.maximum).Reduce(largestKey, Larger());
        if (threadIdx.x == 0)
            shared.largest = largestKey < 0 ? 0 : MAX_CAPACITY - 1 - static_cast<int>(largestKey % MAX_CAPACITY);
        __syncthreads(); // the number of the largest
        largest = shared.largest;
    }
    storeRest(job, image, job.largest ? ::min(found, 1) : found);
}

/** Orders, links and finishes the many candidates of an image, which as many blocks share as have some. They take units
of work in turn: first shares to order, then the same to link, at last the image to finish. A block waits for units of
the kind before, which blocks that run have taken, so it need not be known which blocks run. */
__device__ __forceinline__ void groupMany(const Grouping& job, int image, const Candidates& p, Grouped& shared)
{
    const int shares = p.step / 32, kinds = job.minNeighbors > 0 ? 2 : 1;
    int* const taken = job.lists.groupTaken(job.images, image);
    int* const ended = job.lists.groupEnded(job.images, image);
    for (;;)
    {
        __syncthreads(); // all have read the unit before
        if (threadIdx.x == 0)
        {
            const int unit = atomicAdd(taken, 1), kind = unit / shares;
            shared.unit = unit;
            while (unit <= kinds * shares && loadOfOthers(ended) < kind * shares)
                __nanosleep(50);
            seeOthers();
        }
        __syncthreads(); // the unit
        const int unit = shared.unit;
        if (unit == kinds * shares)
            return finish(job, image, groupsIn(job.memory, p.base, p.count), shared.finishing);
        if (unit > kinds * shares)
            return;
        if (unit < shares)
            orderShare(job, p, 32 * unit, shared.ranks);
        else
            for (int first = 32 * (unit - shares); first < p.count; first += p.step)
                linkBefore(groupsIn(job.memory, p.base, p.count), first);
        __syncthreads(); // all of the unit is done
        if (threadIdx.x == 0)
            addForOthers(ended, 1);
    }
}

__global__ void __launch_bounds__(tuning::GROUP_THREADS) groupCandidates(const __grid_constant__ Grouping job)
{
    __shared__ Grouped shared;
    const ListRecord* const places = job.lists.places;
    const BlockShare share = shareOfBlock(places, job.images, job.blocks, static_cast<int>(blockIdx.x));
    const int image = share.image;
    Candidates p = {job.grids + job.sources[image].firstGrid, 0, share.step, static_cast<size_t>(places[image].first)};
    detail::waitForKernelBefore();
    p.count = usable(job.lists, image);
    if (areFew(p.count))
    {
        if (share.first == 0)
            finish(job, image, groupFew(job, p.grids, p.base, p.count, shared.few), shared.finishing);
        return;
    }
    p.step = ::min(p.step, detail::roundUp(p.count, 32));
    if (share.first < p.step)
        groupMany(job, image, p, shared);
}

} // namespace

void group(const Grouping& job, detail::StreamHandle stream)
{
    detail::launchEarly("cascade group", groupCandidates, dim3(job.blocks), dim3(tuning::GROUP_THREADS), 0, stream,
                        job);
}

}}}} // namespace cv::cuda::cascade::gpu
