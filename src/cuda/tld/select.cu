// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// select: the windows of largest posteriors among those that passed the ferns. One object per block.
//
//   selectDetections   finds the largest key that is selected by radix selection; keys are unique, as they contain the
//                      index of the window. Detections are sorted by this index
#include "block.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp_scan.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int DIGIT = 8, DIGITS = 1 << DIGIT;

struct SelectMemory
{
    unsigned histogram[DIGITS];
    uint64_t prefix;
    unsigned rank, bin;
    int chosen;
    uint2 windows[MAX_DETECTIONS];
};

//! Returns a key that ascends from the largest sum, then from the lowest index.
__device__ __forceinline__ uint64_t keyOf(const uint2& passed)
{
    return static_cast<uint64_t>(~passed.y) << 32 | passed.x;
}

//! Finds the key of rank `wanted`, counted from 1. @param count number of keys, more than `wanted`. Ends with a
//! barrier.
__device__ __forceinline__ uint64_t lastKey(const uint2* passed, unsigned count, unsigned wanted, SelectMemory& m)
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
            unsigned before = detail::sumUpToLane(sum) - sum;
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
        // All keys of the bin are selected, or the key is complete.
        if (shift == 0 || m.rank + 1 == m.bin)
            return m.prefix << shift | ((1ull << shift) - 1);
    }
}

__global__ void __launch_bounds__(tuning::THREADS) selectDetections(const __grid_constant__ Batch batch)
{
    __shared__ SelectMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    Detection* const detections = object.detections[1 - live.current];
    beginEarly();
    const unsigned count = live.counts.passed, wanted = static_cast<unsigned>(batch.settings.maxDetections);
    if (threadIdx.x == 0)
    {
        m.chosen = 0;
        live.trackResult.support = 0;
    }
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

} // namespace

void select(const Batch& batch, detail::StreamHandle stream)
{
    detail::launchEarly("tld select", selectDetections, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
