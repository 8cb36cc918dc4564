// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// select: the most confident windows that passed. nearestNeighbours: these against the templates.
//
//   choose    a block an object. The least key that belongs to them is found by digits, from those that passed; keys differ, as
//             they have the window's number in them. Their places are the numbers of lower windows
//   compare   a block a detection: a corner of the patch a thread, then a template a warp, by dp4a; one for the tracker's box, and
//             one for its support
//
// Cost: 144 KB of templates at most for each detection, from the second-level cache. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int DIGIT = 8, DIGITS = 1 << DIGIT;

struct ChoiceMemory
{
    unsigned histogram[DIGITS];
    uint64_t prefix;
    unsigned rank, bin;
    int chosen;
    uint2 windows[MAX_DETECTIONS];
};

//! Ascending: from the largest sum, then from the lowest number.
__device__ __forceinline__ uint64_t keyOf(const uint2& passed)
{
    return static_cast<uint64_t>(~passed.y) << 32 | passed.x;
}

//! The key of which so many are not larger. @param count of those that passed, more than `wanted`. Ends with a barrier.
__device__ __forceinline__ uint64_t lastKey(const uint2* passed, unsigned count, unsigned wanted, ChoiceMemory& m)
{
    if (threadIdx.x == 0)
    {
        m.prefix = 0;
        m.rank = wanted - 1;
    }
    for (int shift = 64 - DIGIT;; shift -= DIGIT)
    {
        for (int k = threadIdx.x; k < DIGITS; k += tuning::THREADS)
            m.histogram[k] = 0;
        __syncthreads(); // zeros, prefix
        const uint64_t prefix = m.prefix;
        for (unsigned k = threadIdx.x; k < count; k += tuning::THREADS)
        {
            const uint64_t key = keyOf(passed[k]);
            if (shift == 64 - DIGIT || key >> (shift + DIGIT) == prefix)
                atomicAdd(&m.histogram[key >> shift & (DIGITS - 1)], 1u);
        }
        __syncthreads(); // counts
        if (threadIdx.x < 32)
        {
            unsigned own[DIGITS / 32], sum = 0;
#pragma unroll
            for (int k = 0; k < DIGITS / 32; ++k)
                sum += own[k] = m.histogram[DIGITS / 32 * threadIdx.x + k];
            unsigned before = sum;
            for (unsigned d = 1; d < 32; d *= 2)
            {
                const unsigned other = __shfl_up_sync(WARP, before, d);
                before += threadIdx.x >= d ? other : 0;
            }
            before -= sum;
            const unsigned rank = m.rank;
            __syncwarp(); // all lanes know the rank
#pragma unroll
            for (int k = 0; k < DIGITS / 32; before += own[k++])
                if (rank >= before && rank < before + own[k])
                {
                    m.prefix = prefix << DIGIT | (DIGITS / 32 * threadIdx.x + k);
                    m.rank = rank - before;
                    m.bin = own[k];
                }
        }
        __syncthreads(); // prefix, rank, bin
        // All keys of the bin, or one that is known in full.
        if (shift == 0 || m.rank + 1 == m.bin)
            return m.prefix << shift | ((1ull << shift) - 1);
    }
}

__global__ void __launch_bounds__(tuning::THREADS) choose(const __grid_constant__ Batch batch)
{
    __shared__ ChoiceMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    Detection* const detections = object.detections[1 - live.current];
    beginEarly();
    const unsigned count = live.counts.passed, wanted = static_cast<unsigned>(batch.settings.maxDetections);
    if (threadIdx.x == 0)
        m.chosen = 0;
    __syncthreads(); // zero
    const uint64_t last = count > wanted ? lastKey(object.passed, count, wanted, m) : ~0ull;
    for (unsigned k = threadIdx.x; k < count; k += tuning::THREADS)
        if (keyOf(object.passed[k]) <= last)
            m.windows[atomicAdd(&m.chosen, 1)] = object.passed[k];
    __syncthreads(); // all that are chosen
    const int chosen = m.chosen;
    if (static_cast<int>(threadIdx.x) < chosen)
    {
        const uint2 own = m.windows[threadIdx.x];
        int place = 0;
        for (int k = 0; k < chosen; ++k)
            place += m.windows[k].x < own.x ? 1 : 0;
        Detection& d = detections[place];
        d = Detection();
        d.number = static_cast<int32_t>(own.x);
        d.window = windowOf(*object.grid, d.number);
        d.sum = own.y;
    }
    if (threadIdx.x == 0)
        live.counts.detections = static_cast<uint32_t>(chosen);
}

//! Whether a window at the box's place is like the object.
__device__ __forceinline__ void seekSupport(const ObjectRecord& object, const Box& box, NearSpans& near)
{
    copyWords(&near.grid, object.grid, 1);
    __syncthreads(); // the grid
    makeSpans(box, near);
    bool supported = false;
    for (int k = threadIdx.x; k < windowsNear(near) && !supported; k += tuning::THREADS)
    {
        const NearWindow w = nearWindow(near, k);
        supported = bitOf(object.alike + object.bits.first[w.scale], w.place) && overlap(w.window, box) > NEAR_OVERLAP;
    }
    supported = __syncthreads_or(supported);
    if (threadIdx.x == 0)
        object.live->tracked.supported = supported;
}

struct CompareMemory
{
    BlockPatch patch;
    Comparing work;
};

//! Blocks after those of detections have the tracker's box.
__global__ void __launch_bounds__(tuning::THREADS) compare(const __grid_constant__ Batch batch)
{
    __shared__ union
    {
        CompareMemory compare;
        NearSpans near;
    } m;
    BlockPatch& patch = m.compare.patch;
    Comparing& work = m.compare.work;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    const int d = blockIdx.x, most = batch.settings.maxDetections;
    const bool isTracked = d >= most;
    const ObjectState& state = live.states[isTracked ? 1 - live.current : live.current];
    const Model& model = object.models[live.model];
    beginEarly();
    if (isTracked ? !state.alive : d >= static_cast<int>(live.counts.detections))
        return;
    if (d > most)
    {
        seekSupport(object, state.box, m.near);
        return;
    }
    Detection& detection = object.detections[1 - live.current][isTracked ? 0 : d];
    makePatch(batch, isTracked ? state.box : boxOf(detection.window), patch);
    compareTemplates(model, batch.settings, state.positives, state.negatives, patch.pixels, patch.stats, work);
    if (isTracked)
    {
        if (threadIdx.x == 0)
        {
            live.tracked.similarity = work.result;
            live.tracked.stats = patch.stats;
        }
        return;
    }
    if (threadIdx.x < PATCH_STRIDE / 8)
        reinterpret_cast<uint2*>(object.patches + static_cast<size_t>(d) * PATCH_STRIDE)[threadIdx.x] =
            patch.pixels[threadIdx.x];
    if (threadIdx.x != 0)
        return;
    object.stats[d] = patch.stats;
    detection.similarity = work.result;
    judge(state, detection);
    if (detection.accepted)
        atomicAdd(&live.counts.accepted, 1u);
}

} // namespace

void select(const Batch& batch, detail::StreamHandle stream)
{
    detail::launchEarly("tld select", choose, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

void nearestNeighbours(const Batch& batch, bool tracking, detail::StreamHandle stream)
{
    detail::launchAs(!tracking && batch.alone, "tld nearest neighbours", compare,
                     dim3(batch.settings.maxDetections + (tracking ? 2 : 0), batch.count), dim3(tuning::THREADS), 0,
                     stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
