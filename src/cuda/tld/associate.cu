// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// associate: boxes of the user's detector with objects.
//
//   boxSimilarities   one box and one object per block: patch of the box, compared with all templates
//   associateBoxes    one block: both passes; an object per thread finds its best box, then the best pair of all is
//                     taken
//
// Cost: a box whose similarity an object asks for, at most 144 KB of templates, from the L2 cache; then all overlaps,
// and a step per pair. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Returns the number of boxes in a list, and its first box.
struct ListedBoxes
{
    const Window* first;
    int count;
};
__device__ __forceinline__ ListedBoxes listedBoxes(const DetectorBoxes& boxes)
{
    return {boxes.list + 1, ::max(0, ::min(boxes.list[0].x, boxes.count))};
}

//! State that the stages of this frame write.
__device__ __forceinline__ ObjectState& nextState(const Batch& batch, int object)
{
    Live& live = *batch.objects[object].live;
    return live.states[1 - live.current];
}

struct CompareMemory
{
    BlockPatch patch;
    SimilarityMemory work;
};

__global__ void __launch_bounds__(tuning::THREADS)
    boxSimilarities(const __grid_constant__ Batch batch, DetectorBoxes boxes, double* values)
{
    __shared__ CompareMemory m;
    const ListedBoxes listed = listedBoxes(boxes);
    const ObjectState& state = nextState(batch, blockIdx.y);
    const int b = blockIdx.x;
    if (b >= listed.count)
        return;
    const Box part = usablePart(listed.first[b], batch.cols, batch.rows);
    if (!isUsable(part))
        return;
    double& value = values[static_cast<size_t>(blockIdx.y) * MAX_BOXES + b];
    if (!asksSimilarity(state, part, batch.settings))
    {
        if (threadIdx.x == 0)
            value = 0.;
        return;
    }
    const ObjectRecord& object = batch.objects[blockIdx.y];
    compareBox(batch, object.models[object.live->model], state.positives, state.negatives, part, m.patch, m.work);
    if (threadIdx.x == 0)
        value = similarityValue(state, m.work.result);
}

struct AssociateMemory
{
    Box parts[MAX_BOXES];
    Match best[MAX_OBJECTS]; //!< of each object
    int32_t warps[BLOCK_WARPS];
    uint8_t taken[MAX_BOXES];
};
static_assert(sizeof(AssociateMemory) <= 48 * 1024, "static shared memory");

//! Returns the object of the better match, of equal ones the first. @param a,b objects, or -1.
__device__ __forceinline__ int betterOf(const Match* best, int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    const double first = best[a].value, second = best[b].value;
    return second > first || (second == first && b < a) ? b : a;
}

//! Returns the object of the best match, or -1, to all threads. Ends with a barrier.
__device__ __forceinline__ int bestObject(int objects, AssociateMemory& m)
{
    int own = -1;
    for (int o = threadIdx.x; o < objects; o += tuning::THREADS)
        if (m.best[o].box >= 0)
            own = betterOf(m.best, own, o);
    for (int d = 16; d > 0; d /= 2)
        own = betterOf(m.best, own, __shfl_xor_sync(ALL_LANES, own, d));
    if ((threadIdx.x & 31) == 0)
        m.warps[threadIdx.x >> 5] = own;
    __syncthreads(); // of all warps
    int chosen = -1;
    for (int w = 0; w < BLOCK_WARPS; ++w)
        chosen = betterOf(m.best, chosen, m.warps[w]);
    __syncthreads(); // all know
    return chosen;
}

//! Runs a pass. Ends with a barrier. @param values of boxSimilarities(), or null.
__device__ __forceinline__ void associateBy(Pass pass, const Batch& batch, int boxes, const double* values,
                                            AssociateMemory& m)
{
    const auto similarityOf = [&](int o, int b)
    { return values ? values[static_cast<size_t>(o) * MAX_BOXES + b] : 0.; };
    const auto find = [&](int o, const ObjectState& state)
    {
        m.best[o] = bestMatch(
            boxes, [&](int b) { return !m.taken[b] && isUsable(m.parts[b]); },
            [&](int b) { return pairValue(pass, state, m.parts[b], similarityOf(o, b), batch.settings); });
    };
    for (int o = threadIdx.x; o < batch.count; o += tuning::THREADS)
    {
        const ObjectState& state = nextState(batch, o);
        m.best[o] = {0., -1};
        if (takesPart(state, pass))
            find(o, state);
    }
    __syncthreads(); // best matches
    for (;;)
    {
        const int chosen = bestObject(batch.count, m);
        if (chosen < 0)
            return;
        const int box = m.best[chosen].box;
        __syncthreads(); // all know the box
        if (threadIdx.x == 0)
        {
            associateWith(nextState(batch, chosen), m.parts[box], box, similarityOf(chosen, box), batch.settings);
            m.taken[box] = 1;
            m.best[chosen] = {0., -1};
        }
        __syncthreads(); // the box is taken
        for (int o = threadIdx.x; o < batch.count; o += tuning::THREADS)
            if (m.best[o].box == box)
                find(o, nextState(batch, o));
        __syncthreads(); // best matches
    }
}

__global__ void __launch_bounds__(tuning::THREADS)
    associateBoxes(const __grid_constant__ Batch batch, DetectorBoxes boxes, const double* values)
{
    __shared__ AssociateMemory m;
    const ListedBoxes listed = listedBoxes(boxes);
    for (int b = threadIdx.x; b < listed.count; b += tuning::THREADS)
    {
        m.parts[b] = usablePart(listed.first[b], batch.cols, batch.rows);
        m.taken[b] = 0;
    }
    __syncthreads(); // boxes
    associateBy(BY_OVERLAP, batch, listed.count, values, m);
    if (batch.settings.findByBoxes)
        associateBy(BY_SIMILARITY, batch, listed.count, values, m);
}

} // namespace

void associate(const Batch& batch, const DetectorBoxes& boxes, double* values, detail::StreamHandle stream)
{
    if (values)
        detail::launch("tld box similarities", boxSimilarities, dim3(boxes.count, batch.count), dim3(tuning::THREADS),
                       0, stream, batch, boxes, values);
    detail::launch("tld associate", associateBoxes, dim3(1), dim3(tuning::THREADS), 0, stream, batch, boxes, values);
}

}}}} // namespace cv::cuda::tld::gpu
