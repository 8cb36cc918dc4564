// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// filter: asks the correlation filter at the last box, beside flow, and then at flow's box.
//
//   filterAnswers   a place of an object per block: sums over the channels, transform, the largest merged answer; after
//                   the second place, moves the filter
//   fuseObjects     a frequency of the sizes of an object per block, and one for the similarity of flow's box; the last
//                   block finds the size, and which box is taken
//
// Cost per object and place: 122 KB of products, from the L2 cache. Bound by latency.
#include "filter_steps.hpp"
#include "models.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Returns the largest merged answer of a thread. @param answer by rows of GridMemory.
__device__ __forceinline__ Largest mergedOf(const float* answer, const int32_t* sums, const Displacements& d)
{
    Largest best = {0.f, -1};
    const int cols = d.cols(), all = cols * d.rows();
#pragma unroll 4
    for (int k = threadIdx.x; k < all; k += tuning::ANSWER_THREADS)
    {
        const int j = k / cols, i = k - j * cols;
        best = largerOf(best, {mergedAnswer(interpolated(answer, i - d.reachX, j - d.reachY), sums[k], d), k});
    }
    return best;
}

//! Asks the filter at a place.
__device__ __forceinline__ void askAt(const Batch& batch, const ObjectRecord& object, int place, AnswerMemory& m)
{
    FilterWork& work = *object.filterWork;
    const GridMemory& grid = answerAt<tuning::ANSWER_THREADS>(modelOf(object), work, place, *batch.filterTables, m);
    // The answer without the gaps of the grid, in its other half.
    float* const answer = (&grid == &m.grids[0] ? m.grids[1] : m.grids[0]).re;
    static_assert(FILTER_CELLS == tuning::ANSWER_THREADS, "a cell per thread");
    const float own = answer[threadIdx.x] = grid.re[GridMemory::at(threadIdx.x)];
    const Displacements d = work.displacements[place];
    const Largest highest = largestOfBlock<tuning::ANSWER_THREADS>({own, static_cast<int>(threadIdx.x)}, m.warps);
    __syncthreads(); // the answer; the memory is free
    const Largest best = largestOfBlock<tuning::ANSWER_THREADS>(mergedOf(answer, work.targetSums[place], d), m.warps);
    if (threadIdx.x == 0)
        work.answers[place] = {confidenceOf(highest.value), best.index % d.cols() - d.reachX,
                               best.index / d.cols() - d.reachY};
}

__global__ void __launch_bounds__(tuning::ANSWER_THREADS, 1)
    filterAnswers(const __grid_constant__ Batch batch, int place)
{
    __shared__ AnswerMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    const ObjectState& before = live.states[live.current];
    FilterState f;
    double x, y;
    const bool looks = findPlace(object, ASKING, place, f, x, y); // filterSpectra does not write states
    beginEarly();
    if (looks)
        askAt(batch, object, place, m);
    if (place == 0 || threadIdx.x != 0 || !asksFilter(before))
        return;
    const ObjectState& state = stateOf(live, ASKING);
    f = state.filter;
    moveByAnswer(f, filterPlaces(state, before), object.filterWork->answers, batch.cols, batch.rows);
    object.filterWork->moved = f;
}

struct CompareMemory
{
    BlockPatch patch;
    SimilarityMemory similarities;
};
struct FuseMemory
{
    union
    {
        SizeSpectrumMemory size;
        CompareMemory compare;
    };
    float answers[FILTER_SCALES];
    double factors[FILTER_SCALES];
};

__global__ void __launch_bounds__(tuning::THREADS) fuseObjects(const __grid_constant__ Batch batch)
{
    __shared__ FuseMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    FilterWork& work = *object.filterWork;
    ObjectState& state = stateOf(live, ASKING); // of kernels before the last one
    const bool asks = usesSizes(object, ASKING), compares = state.alive != 0;
    if (threadIdx.x < FILTER_SCALES)
        m.factors[threadIdx.x] = sizeFactor(static_cast<int>(threadIdx.x));
    if (asks && compares && blockIdx.x == SCALE_FREQUENCIES)
    {
        BlockPatch& patch = m.compare.patch;
        makePatch(batch, state.box, patch);
        compareTemplates(object.models[live.model], batch.settings, state.positives, state.negatives, patch.pixels,
                         patch.stats, m.compare.similarities);
    }
    beginEarly();
    if (!asks)
        return;
    if (blockIdx.x < SCALE_FREQUENCIES)
        sizeSpectrum<tuning::THREADS>(batch, object, ASKING, blockIdx.x, m.size);
    else if (threadIdx.x == 0)
        work.similarity = compares ? m.compare.similarities.result : Similarity();
    if (!isLastBlock(live.filterBlocksDone, gridDim.x))
        return;
    if (threadIdx.x < FILTER_SCALES)
        m.answers[threadIdx.x] = sizeAnswer(work.quotients, static_cast<int>(threadIdx.x), *batch.filterTables);
    __syncthreads(); // answers
    if (threadIdx.x != 0)
        return;
    FilterState f = work.moved;
    scaleByAnswer(f, m.factors[largestSize(m.answers)], batch.cols, batch.rows);
    state.filter = f;
    fuse(state, live.states[live.current], work.similarity, batch.cols, batch.rows);
}

void answerAtPlace(const Batch& batch, int place, detail::StreamHandle stream)
{
    detail::launchAs(beginsEarly(batch), "tld filter answers", filterAnswers, dim3(batch.count),
                     dim3(tuning::ANSWER_THREADS), 0, stream, batch, place);
}

} // namespace

void filterLast(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    lookAtPlace(batch, image, 0, stream);
    answerAtPlace(batch, 0, stream);
}

void filter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    lookAtPlace(batch, image, 1, stream);
    answerAtPlace(batch, 1, stream);
    lookAtSizes(batch, image, stream);
    detail::launchAs(beginsEarly(batch), "tld fuse", fuseObjects, dim3(SCALE_FREQUENCIES + 1, batch.count),
                     dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
