// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// commit, start, reset, framesDiffer, copyModels: which copies of states, models and frames are current.
//
// Cost: copyModel copies 1 MB per object.
#include "examples.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::THREADS) copyModel(const __grid_constant__ Batch batch)
{
    copyModelPart(batch.objects[blockIdx.y], static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
}

__global__ void __launch_bounds__(tuning::THREADS) commitFrame(const __grid_constant__ Batch batch, Purpose purpose)
{
    beginEarly();
    for (int o = threadIdx.x; o < batch.count; o += tuning::THREADS)
    {
        Live& live = *batch.objects[o].live;
        live.current = 1 - live.current;
        if (purpose == UPDATING && live.states[live.current].filter.trains != NOT_TRAINED)
            live.filter = 1 - live.filter;
        if (live.learns)
            live.model = 1 - live.model;
        live.learns = 0;
    }
    if (purpose != UPDATING || threadIdx.x != 0)
        return;
    const Ring old = *batch.ring;
    batch.ring->slot[0] = old.slot[SPARE];
#pragma unroll
    for (int age = 1; age < KEPT_FRAMES; ++age)
        batch.ring->slot[age] = old.slot[age - 1];
    batch.ring->slot[SPARE] = old.slot[KEPT_FRAMES - 1];
    batch.ring->startIsLast = 0;
}

//! Compares one row per block.
__global__ void __launch_bounds__(tuning::THREADS)
    findDifferentRows(const __grid_constant__ Batch batch, int one, int other)
{
    const size_t row = static_cast<size_t>(blockIdx.x) * batch.levels.step[0];
    const uint8_t* const a = batch.level(batch.ring->slot[one], 0) + row;
    const uint8_t* const b = batch.level(batch.ring->slot[other], 0) + row;
    bool same = true;
    for (int x = threadIdx.x; x < batch.cols; x += tuning::THREADS)
        same = same && a[x] == b[x];
    if (!same)
        batch.ring->differs = 1; // by any thread
}

__global__ void __launch_bounds__(tuning::THREADS) rotateRing(const __grid_constant__ Batch batch, bool oldEnds)
{
    for (int o = threadIdx.x; o < batch.count; o += tuning::THREADS)
    {
        Live& live = *batch.objects[o].live;
        live.states[1 - live.current] = live.states[live.current]; // for undo
        forgetStart(live.states[live.current], oldEnds);
    }
    if (threadIdx.x != 0)
        return;
    Ring ring = *batch.ring;
#pragma unroll
    for (int slot = 0; slot < SLOTS; ++slot)
        ring.slotBefore[slot] = ring.slot[slot];
    ring.startWasLast = ring.startIsLast;
    const int old = ring.slot[START];
    ring.slot[START] = ring.slot[SPARE];
    ring.slot[SPARE] = oldEnds ? ring.slot[0] : old;
    ring.slot[0] = oldEnds ? old : ring.slot[0];
    ring.startIsLast = 1;
    *batch.ring = ring;
}

//! Restores the state before start() or reset(), which they have kept in the other copy; it is not used between frames.
__device__ __forceinline__ void restorePrevious(Live& live)
{
    live.states[live.current] = live.states[1 - live.current];
}

__global__ void __launch_bounds__(tuning::THREADS) restoreRing(const __grid_constant__ Batch batch)
{
    for (int o = threadIdx.x; o < batch.count; o += tuning::THREADS)
        restorePrevious(*batch.objects[o].live);
    if (threadIdx.x != 0)
        return;
    Ring ring = *batch.ring;
#pragma unroll
    for (int slot = 0; slot < SLOTS; ++slot)
        ring.slot[slot] = ring.slotBefore[slot];
    ring.startIsLast = ring.startWasLast;
    *batch.ring = ring;
}

__global__ void restoreState(Live* live) { restorePrevious(*live); }

__global__ void setBox(const __grid_constant__ Batch frame, Live* live, Box box)
{
    live->states[1 - live->current] = live->states[live->current]; // for undo
    resetState(live->states[live->current], box, frame.ring->startIsLast != 0, frame.cols, frame.rows);
}

} // namespace

void copyModels(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld copy models", copyModel, dim3(tuning::COPY_BLOCKS, batch.count), dim3(tuning::THREADS), 0,
                   stream, batch);
}

void commit(const Batch& batch, Purpose purpose, detail::StreamHandle stream)
{
    detail::launchAs(purpose == DETECTING, "tld commit", commitFrame, dim3(1), dim3(tuning::THREADS), 0, stream, batch,
                     purpose);
}

void framesDiffer(const Batch& batch, int one, int other, detail::StreamHandle stream)
{
    detail::launch("tld frames differ", findDifferentRows, dim3(batch.rows), dim3(tuning::THREADS), 0, stream, batch,
                   one, other);
}

void start(const Batch& batch, bool oldEnds, detail::StreamHandle stream)
{
    detail::launch("tld start", rotateRing, dim3(1), dim3(tuning::THREADS), 0, stream, batch, oldEnds);
}

void undoStart(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld undo start", restoreRing, dim3(1), dim3(tuning::THREADS), 0, stream, batch);
}

void undoReset(Live* live, detail::StreamHandle stream)
{
    detail::launch("tld undo reset", restoreState, dim3(1), dim3(1), 0, stream, live);
}

void reset(const Batch& frame, Live* live, const Box& box, detail::StreamHandle stream)
{
    detail::launch("tld reset", setBox, dim3(1), dim3(1), 0, stream, frame, live, box);
}

}}}} // namespace cv::cuda::tld::gpu
