// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// filter: asks the correlation filter at the last box, beside flow, and then at flow's box.
//
//   filterAnswers   a place of an object per block: sums over the channels, transform, the largest merged answer; then
//                   moves the filter, and finds where the sizes are sampled
//   fuseObjects     a frequency of the sizes of an object per block, and one for the similarity of flow's box; the last
//                   block finds the size, and which box is taken
//
// Cost per object and place: 122 KB of products, from the L2 cache. Bound by latency.
#include "filter_sizes.hpp"
#include "filter_steps.hpp"
#include "models.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

struct AskMemory
{
    AnswerMemory answer;
    FilterState moved;
    bool sizes;
    Between columns[FILTER_SIDE], rows[FILTER_SIDE]; //!< of all displacements
};

//! Returns the largest merged answer of a thread. @param answer FILTER_CELLS values.
__device__ __forceinline__ Largest mergedOf(const float* answer, const int32_t* sums, const Displacements& d,
                                            const AskMemory& m)
{
    const int THREADS = tuning::ANSWER_THREADS, cols = d.cols(), all = cols * d.rows();
    const int stepX = THREADS % cols, stepY = THREADS / cols;
    int i = static_cast<int>(threadIdx.x) % cols, j = static_cast<int>(threadIdx.x) / cols;
    Largest best = {0.f, -1};
#pragma unroll 4
    for (int k = threadIdx.x; k < all; k += THREADS)
    {
        const float value = mergedAnswer(interpolated(answer, m.columns[i], m.rows[j]), sums[k], d);
        best = best.index < 0 || value > best.value ? Largest{value, k} : best;
        const bool wraps = i + stepX >= cols;
        i += wraps ? stepX - cols : stepX;
        j += wraps ? stepY + 1 : stepY;
    }
    return best;
}

//! Asks the filter at a place.
__device__ __forceinline__ void askAt(const Batch& batch, const ObjectRecord& object, int place, AskMemory& m)
{
    FilterWork& work = *object.filterWork;
    const Displacements d = work.displacements[place];
    const int t = threadIdx.x;
    // Warps that have no value of the spectrum.
    if (t >= tuning::ANSWER_THREADS - FILTER_SIDE)
        m.columns[t % FILTER_SIDE] = betweenCells(::min(t % FILTER_SIDE, 2 * d.reachX) - d.reachX);
    else if (t >= tuning::ANSWER_THREADS - 2 * FILTER_SIDE)
        m.rows[t % FILTER_SIDE] = betweenCells(::min(t % FILTER_SIDE, 2 * d.reachY) - d.reachY);
    AnswerMemory& own = m.answer;
    const GridMemory& grid = answerAt<tuning::ANSWER_THREADS>(modelOf(object), work, place, own);
    // The answer without the gaps of the grid, in its other half.
    float* const answer = (&grid == &own.grids[0] ? own.grids[1] : own.grids[0]).re;
    static_assert(FILTER_CELLS == tuning::ANSWER_THREADS, "a cell per thread");
    const float value = answer[t] = grid.re[GridMemory::at(t)];
    const Largest highest = largestOfBlock<tuning::ANSWER_THREADS>({value, t}, own.warps);
    __syncthreads(); // the answer; the memory is free
    const Largest best =
        largestOfBlock<tuning::ANSWER_THREADS>(mergedOf(answer, work.targetSums[place], d, m), own.warps);
    if (t == 0)
        work.answers[place] = {confidenceOf(highest.value), best.index % d.cols() - d.reachX,
                               best.index / d.cols() - d.reachY};
}

__global__ void __launch_bounds__(tuning::ANSWER_THREADS, 1)
    filterAnswers(const __grid_constant__ Batch batch, int place)
{
    __shared__ AskMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    FilterWork& work = *object.filterWork;
    const Looks looks(object, ASKING, place); // filterSpectra does not write places and states
    const ObjectState& before = live.states[live.current];
    const bool asks = asksFilter(before), moves = threadIdx.x == 0 && asks && (place == 1 || isFew(batch));
    FilterState f = {};
    FilterPlaces places = {};
    FilterAreas areas = {};
    if (moves)
    {
        const ObjectState& state = place == 0 ? before : stateOf(live, ASKING);
        f = state.filter;
        places = filterPlaces(state, before);
        places.count = place == 0 ? 1 : places.count;
        areas = place == 0 ? filterAreas(f.width, f.height, f.scale, batch.cols, batch.rows) : work.places[1].areas;
    }
    m.answer.turns.load(*batch.filterTables);
    beginEarly();
    if (looks.there)
        askAt(batch, object, place, m);
    if (place == 0 && !isFew(batch))
        return;
    if (moves)
    {
        const FilterState first = work.moved;
        moveByAnswer(f, places, work.answers, areas);
        // Few objects: the sizes were taken where the first answer is.
        m.sizes = place == 0 || !isFew(batch) || f.x != first.x || f.y != first.y;
        work.moved = m.moved = f;
    }
    __syncthreads(); // where the filter is
    planSizes(work, asks && m.sizes, m.moved, threadIdx.x);
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
    ObjectState state, before;
    FilterState moved;
    Similarity similarity;
    Complex quotients[SCALE_FREQUENCIES];
    float answers[FILTER_SCALES];
    double factors[FILTER_SCALES];
};

//! Finds the size and decides which box is taken, by the last block of an object. Global memory is read and written by
//! all threads, so that no access waits for another.
__device__ __forceinline__ void decide(const Batch& batch, const FilterWork& work, ObjectState& state, FuseMemory& m)
{
    copyWords(&m.moved, &work.moved, 1);
    copyWords(&m.similarity, &work.similarity, 1);
    copyWords(m.quotients, work.quotients, SCALE_FREQUENCIES);
    __syncthreads(); // what was found
    if (threadIdx.x < FILTER_SCALES)
        m.answers[threadIdx.x] = sizeAnswer(m.quotients, static_cast<int>(threadIdx.x), *batch.filterTables);
    __syncthreads(); // answers
    if (threadIdx.x == 0)
    {
        m.state.filter = m.moved;
        scaleByAnswer(m.state.filter, m.factors[largestSize(m.answers)], batch.cols, batch.rows);
        fuse(m.state, m.before, m.similarity, batch.cols, batch.rows);
    }
    __syncthreads(); // the state
    copyWords(&state, &m.state, 1);
}

//! @tparam BLOCKS that run at once: bounds registers. All blocks of 64 objects run at once, if five do.
template <int BLOCKS>
__global__ void __launch_bounds__(tuning::THREADS, BLOCKS) fuseObjects(const __grid_constant__ Batch batch)
{
    __shared__ FuseMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    FilterWork& work = *object.filterWork;
    ObjectState& state = stateOf(live, ASKING); // of kernels before the last one
    copyWords(&m.state, &state, 1);
    copyWords(&m.before, &live.states[live.current], 1);
    if (threadIdx.x < FILTER_SCALES)
        m.factors[threadIdx.x] = sizeFactor(static_cast<int>(threadIdx.x));
    const int frequency = ::min(static_cast<int>(blockIdx.x), SCALE_FREQUENCIES - 1);
    const SizeModel<tuning::THREADS> own(modelOf(object), frequency);
    if (blockIdx.x < SCALE_FREQUENCIES)
        m.size.load(*batch.filterTables, frequency);
    __syncthreads(); // states, tables
    const bool asks = asksFilter(m.before), compares = m.state.alive != 0;
    if (asks && compares && blockIdx.x == SCALE_FREQUENCIES)
    {
        BlockPatch& patch = m.compare.patch;
        makePatch(batch, m.state.box, patch);
        compareTemplates(object.models[live.model], batch.settings, m.state.positives, m.state.negatives, patch.pixels,
                         patch.stats, m.compare.similarities);
    }
    beginEarly();
    if (!asks)
        return;
    if (blockIdx.x < SCALE_FREQUENCIES)
        sizeSpectrum<tuning::THREADS>(batch, object, ASKING, frequency, own, m.size);
    else if (threadIdx.x == 0)
        work.similarity = compares ? m.compare.similarities.result : Similarity();
    if (isLastBlock(live.filterBlocksDone, gridDim.x))
        decide(batch, work, state, m);
}

void answerAtPlace(const Batch& batch, int place, detail::StreamHandle stream)
{
    detail::launchEarly("tld filter answers", filterAnswers, dim3(batch.count), dim3(tuning::ANSWER_THREADS), 0, stream,
                        batch, place);
}

} // namespace

void filterLast(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    lookAtPlace(batch, image, 0, stream);
    answerAtPlace(batch, 0, stream);
    if (isFew(batch)) // else they would be taken twice
        lookAtSizes(batch, image, stream);
}

void filter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    lookAtPlace(batch, image, 1, stream);
    answerAtPlace(batch, 1, stream);
    lookAtSizes(batch, image, stream);
    detail::launchEarly("tld fuse", isFew(batch) ? fuseObjects<3> : fuseObjects<5>,
                        dim3(SCALE_FREQUENCIES + 1, batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
