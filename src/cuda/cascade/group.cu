// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage group: candidates, in any order, to objects in the order of keys, in one launch with one block per image.
// One kernel with two ways, whose candidates become groups in the same arrays.
//
// The candidates of an image are ordered, similar ones are linked, and groups are added up, thinned out and stored:
//
//   few of them   in shared memory, with similarity as bits of a word
//   many          in device memory, sorted, so that each is compared with those near it only: see groupMany()
//
// Bound by latency, up to some thousand candidates per image.
#include "group.hpp"
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

//! Returns whether the candidates of an image are ranked and linked in shared memory.
__device__ __forceinline__ bool areFew(int count) { return count <= tuning::FEW_CANDIDATES; }

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

/** Sorts candidates by their keys, in place: pairs of ascending runs are merged, the second of each in reverse. All
threads of a block call it together. */
__device__ __forceinline__ void sortCandidates(Key* keys, double* weights, int count)
{
#pragma unroll 1
    for (int run = 1; run < count; run *= 2)
#pragma unroll 1
        for (int distance = run; distance > 0; distance /= 2)
        {
            for (int i = threadIdx.x, low = 0; low < count; i += tuning::GROUP_THREADS)
            {
                const int offset = i & (distance - 1);
                low = 2 * i - offset;
                const int high = distance == run ? 2 * (i - offset) + 2 * run - 1 - offset : low + distance;
                if (high >= count || keys[low] <= keys[high])
                    continue;
                const Key key = keys[low];
                const double weight = weights[low];
                keys[low] = keys[high];
                weights[low] = weights[high];
                keys[high] = key;
                weights[high] = weight;
            }
            __syncthreads(); // all pairs at this distance are in order
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

//! Returns the index of the first key that is not below `key`.
__device__ __forceinline__ int lowerBound(const Key* keys, int count, Key key)
{
    int first = 0;
    for (int end = count; first < end;)
    {
        const int middle = (first + end) / 2;
        if (keys[middle] < key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

//! Positions along one axis of a layer.
struct Places
{
    int low, high;
};
//! Returns the positions in a layer of all boxes that begin at `low` to `high` in the image, and perhaps some more.
__device__ __forceinline__ Places placesOf(int low, int high, float factor)
{
    return {static_cast<int>(static_cast<float>(::max(low - 1, 0)) / factor),
            ::min(static_cast<int>(static_cast<float>(high + 1) / factor), MAX_SIDE)};
}

/** Unites a candidate with the similar ones of its scale and of larger scales. In each row of a layer they are
consecutive, as keys are sorted; rows without candidates are left out. */
__device__ __forceinline__ void linkNear(const Groups<false>& c, const GridRecord* grids, const Key* keys, int i)
{
    const int image = imageOf(keys[i]), lastScale = scaleOf(keys[c.count - 1]);
    const Box box = c.boxes[i];
    const int reach = (box.width + box.height) / 10; // edges of similar boxes are at most that far from each other
    int root = i;                                    // root of this candidate, perhaps outdated
#pragma unroll 1
    for (int scale = scaleOf(keys[i]); scale <= lastScale; ++scale)
    {
        const GridRecord& grid = grids[scale];
        const int wider = grid.boxWidth - box.width, higher = grid.boxHeight - box.height;
        if (wider > 2 * reach)
            return;
        const Places x = placesOf(box.x - reach, box.x + reach - wider, grid.factor);
        const Places y = placesOf(box.y - reach, box.y + reach - higher, grid.factor);
#pragma unroll 1
        for (int row = y.low; row <= y.high && x.low <= x.high;)
        {
            int at = lowerBound(keys, c.count, keyOf(image, scale, x.low, row));
            for (const Key last = keyOf(image, scale, x.high, row); at < c.count && keys[at] <= last; ++at)
                if (areSimilar(box, c.boxes[at]) && __ldcg(c.parents + at) != root)
                    root = join(c.parents, root, at);
            if (at == c.count || scaleOf(keys[at]) != scale)
                break;
            row = ::max(row + 1, yOf(keys[at]));
        }
    }
}

/** Sorts the many candidates of an image by their keys, and links them. All threads of a block call it together.
@param grids of the image. @param base index of its list. */
__device__ __forceinline__ Groups<false> groupMany(const Grouping& job, const GridRecord* grids, size_t base, int count)
{
    const GroupMemory& m = job.memory;
    const Groups<false> c = {m.boxes + base, m.weights + base, m.parents + base, m.counts + base, count};
    Key* const keys = job.lists.keys + base;
    double* const weights = job.lists.weights + base;
    sortCandidates(keys, weights, count);
    for (int i = threadIdx.x; i < count; i += tuning::GROUP_THREADS)
        c.begin(i, boxOfKey(grids, keys[i]), weights[i]);
    __syncthreads(); // candidates in the order of keys
    if (job.minNeighbors <= 0)
        return c;
    for (int i = threadIdx.x; i < count; i += tuning::GROUP_THREADS)
        linkNear(c, grids, keys, i);
    __syncthreads(); // parents
    sumGroups(c);
    return c;
}

// --- finish ---------------------------------------------------------------------------------------------------------

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
};

//! Turns the linked candidates of an image into objects. All threads of a block call it together.
template <bool SHARED>
__device__ __forceinline__ void finish(const Grouping& job, int image, const Groups<SHARED>& c, Finishing& shared)
{
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

//! Groups the candidates of one image per block.
__global__ void __launch_bounds__(tuning::GROUP_THREADS) groupCandidates(const __grid_constant__ Grouping job)
{
    __shared__ Grouped shared;
    const int image = static_cast<int>(blockIdx.x);
    const GridRecord* const grids = job.grids + job.sources[image].firstGrid;
    const size_t base = static_cast<size_t>(job.lists.firsts[image]);
    detail::waitForKernelBefore();
    const int count = usable(job.lists, image);
    if (areFew(count))
        finish(job, image, groupFew(job, grids, base, count, shared.few), shared.finishing);
    else
        finish(job, image, groupMany(job, grids, base, count), shared.finishing);
}

} // namespace

void group(const Grouping& job, detail::StreamHandle stream)
{
    detail::launchEarly("cascade group", groupCandidates, dim3(job.images), dim3(tuning::GROUP_THREADS), 0, stream,
                        job);
}

}}}} // namespace cv::cuda::cascade::gpu
