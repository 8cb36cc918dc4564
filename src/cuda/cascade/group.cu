// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage group: candidates, in any order, to objects in the order of keys.
//
//   rankCandidates  a candidate's rank is the number of lower keys. The number of candidates is known to the device only and usually some
//                   hundreds: counting takes one launch and no memory, a radix sort over the capacity would take eight launches
//   linkSimilar     unites similar candidates: the higher root becomes a child of the lower one
//   makeObjects     one block per image: sums of groups by integer atomics, means, removal of parts of other groups, tables
//
// Cost: n * n / 2 pairs of candidates with 12 instructions each. Bound by launches, up to some thousand candidates per image.
#include "classify.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

const int PAIR_THREADS = tuning::PAIR_WARPS * 32;
typedef cub::BlockScan<int, tuning::FINISH_THREADS> Scan;
typedef cub::BlockReduce<int64_t, tuning::FINISH_THREADS> Maximum;

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

//! Candidates that a block takes, 32 at a time.
struct BlockRange
{
    int image, count;
    int first, step; //!< first candidate, and distance of the next 32
    size_t base;
};
__device__ __forceinline__ BlockRange rangeOfBlock(const Grouping& job)
{
    const ListRecord* const places = job.lists.places;
    const int block = static_cast<int>(blockIdx.x);
    int image = 0; // becomes the last image whose first block is not after this one
    for (int beyond = job.images; beyond - image > 1;)
    {
        const int middle = (image + beyond) / 2;
        (places[middle].firstBlock <= block ? image : beyond) = middle;
    }
    const int blocks = places[image + 1].firstBlock - places[image].firstBlock;
    return {image, usable(job.lists, image), (block - places[image].firstBlock) * 32, blocks * 32,
            static_cast<size_t>(places[image].first)};
}

__global__ void __launch_bounds__(PAIR_THREADS) rankCandidates(const __grid_constant__ Grouping job)
{
    __shared__ int ranks[32];
    const BlockRange p = rangeOfBlock(job);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const Key* const keys = job.lists.keys + p.base;
    for (int first = p.first; first < p.count; first += p.step)
    {
        const int i = first + lane;
        const Key key = keys[::min(i, p.count - 1)];
        __syncthreads(); // all have read the ranks before
        if (warp == 0)
            ranks[lane] = 0;
        __syncthreads(); // zeros
        int lower = 0;
#pragma unroll 4
        for (int j = warp; j < p.count; j += tuning::PAIR_WARPS)
            lower += keys[j] < key ? 1 : 0;
        atomicAdd(&ranks[lane], lower);
        __syncthreads(); // ranks
        if (warp != 0 || i >= p.count)
            continue;
        const size_t place = p.base + ranks[lane];
        const GridRecord& grid = job.grids[job.sources[p.image].firstGrid + scaleOf(key)];
        job.memory.boxes[place] = boxOf(xOf(key), yOf(key), grid.factor, grid.boxWidth, grid.boxHeight);
        job.memory.weights[place] = orderedBits(job.lists.weights[p.base + i]);
        job.memory.parents[place] = ranks[lane];
        job.memory.counts[place] = 1;
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
__device__ __forceinline__ void linkBefore(const Grouping& job, const BlockRange& p, int begin)
{
    const int i = begin + (threadIdx.x & 31);
    if (i >= p.count)
        return;
    const int4* const boxes = reinterpret_cast<const int4*>(job.memory.boxes + p.base);
    const auto boxAt = [&](int at)
    {
        const int4 words = __ldg(boxes + at);
        return Box{words.x, words.y, words.z, words.w};
    };
    const Box box = boxAt(i);
    const int last = ::min(begin + 32, p.count) - 1; // last of the 32 candidates
    const int warp = threadIdx.x >> 5, BATCH = 4;    // BATCH: loads in flight
    int* const parents = job.memory.parents + p.base;
    int root = i; // root of this candidate, perhaps outdated
    // Similar candidates are collected first, so that lanes unite theirs concurrently: uniting takes dependent loads.
    for (int first = warp; first < last; first += 64 * tuning::PAIR_WARPS)
    {
        uint64_t similar = 0; // bit k: candidate first + k * PAIR_WARPS is similar
        for (int k = 0; k < 64 && first + k * tuning::PAIR_WARPS < last; k += BATCH)
        {
            Box others[BATCH];
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
                others[n] = boxAt(::min(first + (k + n) * tuning::PAIR_WARPS, last));
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
                if (first + (k + n) * tuning::PAIR_WARPS < i && mayBeSimilar(box, others[n]) &&
                    areSimilar(box, others[n]))
                    similar |= static_cast<uint64_t>(1) << (k + n);
        }
        while (similar)
        {
            int others[BATCH], above[BATCH];
#pragma unroll
            for (int n = 0; n < BATCH; ++n)
            {
                others[n] = similar ? first + (__ffsll(static_cast<long long>(similar)) - 1) * tuning::PAIR_WARPS : -1;
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

__global__ void __launch_bounds__(PAIR_THREADS) linkSimilar(const __grid_constant__ Grouping job)
{
    const BlockRange p = rangeOfBlock(job);
    for (int first = p.first; first < p.count; first += p.step)
        linkBefore(job, p, first);
}

// --- finish ----------------------------------------------------------------------------------------------------------

//! The groups of one image, in the work memory.
struct Groups
{
    const GroupMemory& memory;
    size_t base;
    int count; //!< number of candidates
};

//! Adds every candidate that is no root to its root.
__device__ __forceinline__ void sumGroups(const Groups& c)
{
    const GroupMemory& m = c.memory;
    for (int i = threadIdx.x; i < c.count; i += tuning::FINISH_THREADS)
    {
        const int root = rootOf(m.parents + c.base, i);
        if (root == i)
            continue;
        const Box box = m.boxes[c.base + i];
        uint32_t* const sums = reinterpret_cast<uint32_t*>(m.boxes + c.base + root);
        atomicAdd(sums, static_cast<uint32_t>(box.x));
        atomicAdd(sums + 1, static_cast<uint32_t>(box.y));
        atomicAdd(sums + 2, static_cast<uint32_t>(box.width));
        atomicAdd(sums + 3, static_cast<uint32_t>(box.height));
        atomicAdd(m.counts + c.base + root, 1);
        atomicMax(m.weights + c.base + root, m.weights[c.base + i]);
    }
}

/** Numbers the threads with `has` consecutively, from `next` on. @param next in and out: the next number, equal in all threads.
@return number of this thread. */
__device__ __forceinline__ int numberOf(bool has, int& next, Scan::TempStorage& storage)
{
    int before, all;
    Scan(storage).ExclusiveSum(has ? 1 : 0, before, all);
    __syncthreads(); // the storage may be used again
    before += next;
    next += all;
    return before;
}

/** Moves the groups with more than minNeighbors candidates to the front and replaces their sums by means; if minNeighbors is 0 or less,
all candidates stay. @return number of groups that are kept. */
__device__ __forceinline__ int keepGroups(const Groups& c, int minNeighbors, Scan::TempStorage& storage)
{
    const GroupMemory& m = c.memory;
    int kept = 0;
    for (int first = 0; first < c.count; first += tuning::FINISH_THREADS)
    {
        const int i = first + static_cast<int>(threadIdx.x);
        const size_t at = c.base + ::min(i, c.count - 1);
        int4 sums = __ldcg(reinterpret_cast<const int4*>(m.boxes + at));
        const unsigned long long weight = __ldcg(m.weights + at);
        const int count = __ldcg(m.counts + at);
        const bool root = i < c.count && (minNeighbors <= 0 || __ldcg(m.parents + at) == i);
        const bool keep = root && count > ::max(minNeighbors, 0);
        // Its barriers make sure that nobody writes before all have read; nobody writes behind the groups that were read.
        const size_t to = c.base + numberOf(keep, kept, storage);
        if (!keep)
            continue;
        if (minNeighbors > 0)
            sums = {meanOf(sums.x, count), meanOf(sums.y, count), meanOf(sums.z, count), meanOf(sums.w, count)};
        m.boxes[to] = {sums.x, sums.y, sums.z, sums.w};
        m.weights[to] = weight;
        m.counts[to] = count;
    }
    return kept;
}

__device__ __forceinline__ bool isPartOfAny(const Groups& c, int kept, int i)
{
    const Box box = c.memory.boxes[c.base + i];
    const int count = c.memory.counts[c.base + i];
    for (int j = 0; j < kept; ++j)
        if (j != i && isPartOf(box, count, c.memory.boxes[c.base + j], c.memory.counts[c.base + j]))
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

//! Returns a key that orders boxes by area, then by number, smaller numbers first. Areas are below 2^32, as boxes lie in images.
__device__ __forceinline__ int64_t sizeKey(const Box& box, int number)
{
    return static_cast<int64_t>(box.width) * box.height * MAX_CAPACITY + (MAX_CAPACITY - 1 - number);
}

/** Stores kept groups that are no part of another one and lie at least partly in the image. @param largest number of the only object
to store; -1: all. @param best out: largest sizeKey() that this thread met. @return number of objects. */
__device__ __forceinline__ int storeObjects(const Grouping& job, const Groups& c, int image, int kept, bool store,
                                            int largest, int64_t& best, Scan::TempStorage& storage)
{
    const SourceRecord& source = job.sources[image];
    int found = 0;
    for (int first = 0; first < kept; first += tuning::FINISH_THREADS)
    {
        const int i = first + static_cast<int>(threadIdx.x);
        Box box = {};
        bool keep = i < kept && (job.minNeighbors <= 0 || !isPartOfAny(c, kept, i));
        if (keep)
        {
            box = c.memory.boxes[c.base + i];
            keep = clip(box, source.cols, source.rows);
        }
        const int number = numberOf(keep, found, storage);
        if (!keep)
            continue;
        best = ::max(best, sizeKey(box, number));
        if (store && (largest < 0 || number == largest))
            storeObject(job, image, largest < 0 ? number : 0, box, c.memory.counts[c.base + i],
                        fromOrderedBits(c.memory.weights[c.base + i]));
    }
    return found;
}

//! Stores the first column, and zeros after the last object.
__device__ __forceinline__ void storeRest(const Grouping& job, int image, int found)
{
    const int stored = ::min(found, job.maxObjects), count = job.lists.counts[image];
    if (job.tables.objects && threadIdx.x < 4)
    {
        const int overflow = count > job.lists.capacity ? 1 : 0;
        const int head[4] = {stored, found, count, overflow};
        job.tables.objects.row(image)[threadIdx.x] = head[threadIdx.x];
    }
    for (int i = stored + static_cast<int>(threadIdx.x); i < job.maxObjects; i += tuning::FINISH_THREADS)
        storeObject(job, image, i, {0, 0, 0, 0}, 0, 0.);
}

__global__ void __launch_bounds__(tuning::FINISH_THREADS) makeObjects(const __grid_constant__ Grouping job)
{
    __shared__ union
    {
        Scan::TempStorage scan;
        Maximum::TempStorage most;
    } storage;
    __shared__ int largest;
    const int image = blockIdx.x;
    const Groups c = {job.memory, static_cast<size_t>(job.lists.places[image].first), usable(job.lists, image)};
    if (job.minNeighbors > 0)
        sumGroups(c);
    __syncthreads(); // sums
    const int kept = keepGroups(c, job.minNeighbors, storage.scan);
    __syncthreads(); // kept groups
    int64_t best = -1;
    int found = storeObjects(job, c, image, kept, !job.largest, -1, best, storage.scan);
    if (job.largest)
    {
        best = Maximum(storage.most).Reduce(best, Larger());
        if (threadIdx.x == 0)
            largest = best < 0 ? 0 : MAX_CAPACITY - 1 - static_cast<int>(best % MAX_CAPACITY);
        __syncthreads(); // the number of the largest; the storage may be used again
        found = ::min(storeObjects(job, c, image, kept, true, largest, best, storage.scan), 1);
    }
    storeRest(job, image, found);
}

} // namespace

void group(const Grouping& job, detail::StreamHandle stream)
{
    const dim3 grid(job.blocks);
    detail::launch("cascade order", rankCandidates, grid, dim3(PAIR_THREADS), 0, stream, job);
    if (job.minNeighbors > 0)
        detail::launch("cascade link", linkSimilar, grid, dim3(PAIR_THREADS), 0, stream, job);
    detail::launch("cascade finish", makeObjects, dim3(job.images), dim3(tuning::FINISH_THREADS), 0, stream, job);
}

}}}} // namespace cv::cuda::cascade::gpu
