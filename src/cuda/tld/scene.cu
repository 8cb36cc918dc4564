// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// scene: camera cuts. Only launched with Settings::cutFrames.
//
//   countCell        one cell of the image per block: the histogram of its gray values, and sums over four blocks
//   compareScenes    one object per block: the difference of two scenes, for all moves of brightness, then changeScene()
//
// Cost: 65,536 pixels read at most, whatever the size of the image; 512 counts per move and object. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::THREADS) countCell(const __grid_constant__ Batch batch, int age)
{
    const int HALF = CELL_PIXELS / 2;
    static_assert(tuning::THREADS % SCENE_SAMPLES == 0 && LAYOUT_SAMPLES == 32, "pixels of a warp are in one block");
    __shared__ unsigned counts[SCENE_BINS];
    __shared__ int sums[4];
    const int slot = batch.ring->slot[age], cell = blockIdx.x;
    const uint8_t* const gray = batch.level(slot, 0);
    if (threadIdx.x < SCENE_BINS)
        counts[threadIdx.x] = 0;
    if (threadIdx.x < 4)
        sums[threadIdx.x] = 0;
    __syncthreads(); // zeros
    const int i = threadIdx.x % SCENE_SAMPLES, x = samplePlace(cell % SCENE_GRID, i, batch.cols);
    for (int half = 0; half < 2; ++half)
    {
        int sum = 0;
#pragma unroll
        for (int k = threadIdx.x; k < HALF; k += tuning::THREADS)
        {
            const int y = samplePlace(cell / SCENE_GRID, (half * HALF + k) / SCENE_SAMPLES, batch.rows);
            const uint8_t value = gray[static_cast<size_t>(y) * batch.levels.step[0] + x];
            atomicAdd(&counts[sceneBin(value)], 1u);
            sum += value;
        }
        sum = sumOfWarp(sum);
        if (threadIdx.x % 32 == 0)
            atomicAdd(&sums[2 * half + i / LAYOUT_SAMPLES], sum);
    }
    __syncthreads(); // counts, sums
    Scene& scene = batch.scenes[slot];
    if (threadIdx.x < SCENE_BINS)
        scene.counts[cell * SCENE_BINS + threadIdx.x] = static_cast<uint16_t>(counts[threadIdx.x]);
    if (threadIdx.x < 4)
        scene.sums[blockOf(cell, threadIdx.x % 2, threadIdx.x / 2)] = sums[threadIdx.x];
}

struct SceneMemory
{
    Scene now, other;
    CountsBelow sumsNow, sumsOther;
    int differences[SCENE_MOVES];
    bool cut; //!< one begins in this frame
};

//! Computes sumCounts(): one warp per cell, one lane per bin.
__device__ __forceinline__ void sumCountsByBlock(const Scene& scene, CountsBelow& sums)
{
    static_assert(SCENE_BINS == 32, "one lane per bin");
    const int lane = threadIdx.x % 32;
    for (int cell = threadIdx.x / 32; cell < SCENE_GRID * SCENE_GRID; cell += tuning::THREADS / 32)
    {
        int sum = scene.counts[cell * SCENE_BINS + lane];
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
        {
            const int other = __shfl_up_sync(WARP, sum, d);
            sum += lane >= d ? other : 0;
        }
        int16_t* const edge = sums.below[cell] + SCENE_SHIFT;
        edge[lane + 1] = static_cast<int16_t>(sum);
        if (lane <= SCENE_SHIFT)
            edge[-lane] = 0;
        else if (lane <= 2 * SCENE_SHIFT)
            edge[SCENE_BINS + lane - SCENE_SHIFT] = CELL_PIXELS;
    }
}

//! Returns histogramDifference() to all threads. One warp per move, one lane per bin.
__device__ __forceinline__ int differenceOfHistograms(SceneMemory& m)
{
    sumCountsByBlock(m.now, m.sumsNow);
    sumCountsByBlock(m.other, m.sumsOther);
    __syncthreads(); // sums
    for (int move = threadIdx.x / 32; move < SCENE_MOVES; move += tuning::THREADS / 32)
    {
        int sum = 0;
#pragma unroll
        for (int cell = 0; cell < SCENE_GRID * SCENE_GRID; ++cell)
            sum += binDifference(movedRow(m.sumsNow, cell, move, false), movedRow(m.sumsOther, cell, move, true),
                                 threadIdx.x % 32);
        sum = sumOfWarp(sum);
        if (threadIdx.x % 32 == 0)
            m.differences[move] = sum;
    }
    __syncthreads(); // differences
    int least = 2 * SCENE_PIXELS;
    for (int move = 0; move < SCENE_MOVES; ++move)
        least = ::min(least, m.differences[move]);
    return least;
}

__global__ void __launch_bounds__(tuning::THREADS) compareScenes(const __grid_constant__ Batch batch)
{
    __shared__ SceneMemory m;
    Live& live = *batch.objects[blockIdx.x].live;
    const ObjectState& before = live.states[live.current];
    const Ring& ring = *batch.ring;
    const Scene &last = batch.scenes[ring.slot[before.started ? START : 0]], &kept = live.scenes[live.current];
    copyWords(&m.now, &batch.scenes[ring.slot[SPARE]], 1);
    copyWords(&m.other, isInItsScene(before) ? &last : &kept, 1);
    __syncthreads(); // scenes
    const int counts = differenceOfHistograms(m);
    if (threadIdx.x == 0)
        m.cut =
            changeScene(live.states[1 - live.current], before, sceneDifference(m.now, m.other, counts), batch.settings);
    __syncthreads(); // the decision
    copyWords(&live.scenes[1 - live.current], m.cut ? &last : &kept, 1);
}

} // namespace

void countGrayValues(const Batch& batch, int age, detail::StreamHandle stream)
{
    detail::launch("tld count gray values", countCell, dim3(SCENE_GRID * SCENE_GRID), dim3(tuning::THREADS), 0, stream,
                   batch, age);
}

void changeScenes(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld change scenes", compareScenes, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
