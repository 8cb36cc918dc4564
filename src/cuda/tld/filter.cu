// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// filter: asks the correlation filter at the last box and at the second place, beside flow; then decides.
//
//   filterAnswers   a place of an object per block: sums over the channels, transform, the largest merged answer; then
//                   moves the filter, and finds where the sizes are sampled
//   fuseObjects     a frequency of the sizes of an object per block, or a part of its cells, and one for the similarity
//                   of flow's box; the last block finds the size, and which box is taken
//
// Cost per object and place: 122 KB of products, from the L2 cache. Bound by latency.
#include "filter_sizes.hpp"
#include "filter_steps.hpp"
#include "models.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Threads of filterAnswers that have no value of the spectrum, and sums of likelihoods that each of them copies.
const int FREE_THREADS = tuning::ANSWER_THREADS - FILTER_SPECTRUM, COPIED_EACH = 9, COPIED = COPIED_EACH * FREE_THREADS;

struct AskMemory
{
    AnswerMemory answer;
    Largest highest[32]; //!< of the warps
    FilterAnswer result;
    FilterState moved;
    Between columns[FILTER_SIDE]; //!< of all displacements
    int32_t sums[COPIED];         //!< of likelihoods, of the first displacements
};

//! Displacements that a thread of filterAnswers compares at a time: those of a column in some rows of cells.
struct ColumnPart
{
    static const int CELLS = 2;
    int cols, count; //!< number of columns, and of all parts
    int row, column; //!< where it is: the row of cells is counted from the least displacement

    __device__ __forceinline__ explicit ColumnPart(const Displacements& d)
    {
        const int first = (FILTER_SIDE / 2 - d.reachY) / FILTER_CELL, last = (FILTER_SIDE / 2 + d.reachY) / FILTER_CELL;
        cols = d.cols();
        count = ((last - first) / CELLS + 1) * cols;
        row = first + static_cast<int>(threadIdx.x) / cols * CELLS;
        column = static_cast<int>(threadIdx.x) % cols;
    }
    //! Goes on to the thread's next one.
    __device__ __forceinline__ void step()
    {
        const int THREADS = tuning::ANSWER_THREADS;
        column += THREADS % cols;
        const bool wraps = column >= cols;
        column -= wraps ? cols : 0;
        row += (THREADS / cols + (wraps ? 1 : 0)) * CELLS;
    }
};

//! Returns the largest merged answer of a thread. @param answer FILTER_CELLS values. @param sums of the displacements
//! that AskMemory does not have.
__device__ __forceinline__ Largest mergedOf(const float* answer, const int32_t* sums, const Displacements& d,
                                            ColumnPart part, const AskMemory& m)
{
    Largest best = {0, -1};
    for (int n = threadIdx.x; n < part.count; n += tuning::ANSWER_THREADS)
    {
        const Between x = m.columns[part.column];
        float lines[ColumnPart::CELLS + 1];
#pragma unroll
        for (int c = 0; c <= ColumnPart::CELLS; ++c)
            lines[c] = interpolated(answer + placeOfCell(part.row + c) * FILTER_GRID, x);
        const int j0 = part.row * FILTER_CELL - FILTER_SIDE / 2 + d.reachY;
#pragma unroll
        for (int r = 0; r < ColumnPart::CELLS * FILTER_CELL; ++r)
        {
            const int j = j0 + r, k = j * part.cols + part.column, c = r / FILTER_CELL;
            if (j < 0 || j >= d.rows())
                continue;
            const int sum = k < COPIED ? m.sums[k] : sums[k];
            take(best, mergedAnswer(interpolated(lines[c], lines[c + 1], weightInCell(r % FILTER_CELL)), sum, d), k);
        }
        part.step();
    }
    return best;
}

//! Asks the filter at a place, for the first thread: AskMemory::result.
__device__ __forceinline__ void askAt(const Batch& batch, const ObjectRecord& object, int place, AskMemory& m)
{
    FilterWork& work = *object.filterWork;
    const Displacements d = work.displacements[place];
    const int t = threadIdx.x;
    const int free = t - FILTER_SPECTRUM, all = d.cols() * d.rows();
    int32_t sums[COPIED_EACH]; // in flight while the others load products
#pragma unroll
    for (int n = 0; n < COPIED_EACH; ++n)
        sums[n] = free >= 0 && free + n * FREE_THREADS < all ? work.targetSums[place][free + n * FREE_THREADS] : 0;
    if (t >= tuning::ANSWER_THREADS - FILTER_SIDE)
        m.columns[t % FILTER_SIDE] = betweenCells(::min(t % FILTER_SIDE, 2 * d.reachX) - d.reachX);
    const ColumnPart part(d); // its divisions take as long as loads
    if (free >= 0)
    {
#pragma unroll
        for (int n = 0; n < COPIED_EACH; ++n)
            m.sums[free + n * FREE_THREADS] = sums[n];
    }
    AnswerMemory& own = m.answer;
    const GridMemory& grid = answerAt<tuning::ANSWER_THREADS>(modelOf(object), work, place, own);
    // The answer without the gaps of the grid, in its other half.
    float* const answer = (&grid == &own.grids[0] ? own.grids[1] : own.grids[0]).re;
    static_assert(FILTER_CELLS == tuning::ANSWER_THREADS, "a cell per thread");
    const float value = answer[t] = grid.re[GridMemory::at(t)];
    const Largest ofWarp = largestOfWarp({orderOf(value), t});
    if ((t & 31) == 0)
        m.highest[t >> 5] = ofWarp;
    __syncthreads(); // the answer, and where it is highest
    const Largest best =
        largestOfBlock<tuning::ANSWER_THREADS>(mergedOf(answer, work.targetSums[place], d, part, m), own.warps);
    static_assert(tuning::ANSWER_THREADS == 32 * 32, "a lane per warp");
    const Largest highest = largestOfWarp(m.highest[t & 31]);
    if (t == 0)
        work.answers[place] = m.result = {confidenceOf(valueOf(highest)), best.index % d.cols() - d.reachX,
                                          best.index / d.cols() - d.reachY};
}

__global__ void __launch_bounds__(tuning::ANSWER_THREADS, 1)
    filterAnswers(const __grid_constant__ Batch batch, int place)
{
    __shared__ AskMemory m;
    letAllBegin(batch, ASKING, place);
    const ObjectRecord& object = batch.objects[blockIdx.x];
    FilterWork& work = *object.filterWork;
    const bool late = findsPlace(batch, ASKING, place);
    Looks looks = {};
    if (!late)
        looks = Looks(object, ASKING, place); // filterSpectra does not write places and states
    const bool may = late ? asksFilter(object.live->states[object.live->current]) : looks.there;
    const FilterState& before = object.live->states[object.live->current].filter;
    const int t = threadIdx.x;
    const SizeStep step(before, t, may && t < FILTER_SCALES ? sizeFactor(t) : 0., may);
    // All that is read before the wait is older than the row of kernels at this place.
    bool moves = t == 0 && may;
    double x = 0., y = 0.;
    FilterAreas areas = {};
    if (moves)
    {
        m.moved = before;
        if (!late)
        {
            x = place == 0 ? before.x : work.second.x;
            y = place == 0 ? before.y : work.second.y;
        }
        areas = filterAreas(before.width, before.height, before.scale, batch.cols, batch.rows);
    }
    m.answer.turns.load(*batch.filterTables);
    beginEarly();
    if (late)
    {
        looks = Looks(object, ASKING, place);
        moves = moves && looks.there;
        if (moves)
        {
            x = work.second.x;
            y = work.second.y;
        }
    }
    if (looks.there)
        askAt(batch, object, place, m);
    if (moves)
    {
        moveByAnswer(m.moved, x, y, m.result, areas);
        work.moved[place] = m.moved;
    }
    __syncthreads(); // where the filter is
    step.plan(work, place, looks.there, m.moved);
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
    ObjectState states[2]; //!< Live::states
    FilterState moved[2];  //!< FilterWork::moved
    FilterAnswer answers[2];
    SecondPlace second;
    Similarity similarity;
    Complex sums[SCALE_CELLS][SCALE_FREQUENCIES];
    Complex quotients[SCALE_FREQUENCIES];
    float energies[SCALE_FREQUENCIES];
    float cosine[FILTER_SCALES], sine[FILTER_SCALES];
    double factors[FILTER_SCALES];
    ScaleLimits limits;
};

//! Finds the size and decides which box is taken, by the last block of an object. Global memory is read and written by
//! all threads, so that no access waits for another.
__device__ __forceinline__ void decide(const Batch& batch, const FilterWork& work, Live& live, int current,
                                       FuseMemory& m)
{
    copyWords(m.moved, work.moved, 2);
    copyWords(m.answers, work.answers, 2);
    copyWords(&m.second, &work.second, 1);
    copyWords(&m.similarity, &work.similarity, 1);
    copyWords<3>(&m.sums[0][0], &work.sizeSums[0][0], SCALE_CELLS * SCALE_FREQUENCIES);
    __syncthreads(); // what was found
    const int t = threadIdx.x;
    if (t < SCALE_FREQUENCIES)
        m.quotients[t] = scaleQuotient(sumOfCells([&](int cell) { return m.sums[cell][t]; }), m.energies[t]);
    static_assert(SCALE_FREQUENCIES <= 32 && FILTER_SCALES <= 32, "one warp");
    ObjectState& state = m.states[1 - current];
    if (t < 32)
    {
        __syncwarp(); // quotients
        Largest best = {0, -1};
        if (t < FILTER_SCALES)
            take(best, sizeAnswer(m.quotients, t, m.cosine, m.sine), t);
        best = largestOfWarp(best);
        if (t == 0)
        {
            const FilterState& moved = m.moved[takesSecond(m.second, m.answers) ? 1 : 0];
            state.filter.x = moved.x;
            state.filter.y = moved.y;
            state.filter.confidence = moved.confidence;
            scaleByAnswer(state.filter, m.factors[best.index], m.limits);
            fuse(state, m.states[current], m.similarity, batch.cols, batch.rows);
        }
    }
    __syncthreads(); // the state
    copyWords(&live.states[1 - current], &state, 1);
}

//! @tparam PARTS blocks per frequency. @tparam BLOCKS that run at once: bounds registers. All blocks of 64 objects run
//! at once, if five do.
template <int PARTS, int BLOCKS>
__global__ void __launch_bounds__(tuning::THREADS, BLOCKS) fuseObjects(const __grid_constant__ Batch batch)
{
    __shared__ FuseMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    FilterWork& work = *object.filterWork;
    copyWords(m.states, live.states, 2); // of kernels before the last one
    const int current = live.current;
    const int t = threadIdx.x, block = blockIdx.x;
    const FilterTables& tables = *batch.filterTables;
    const FilterModel& model = modelOf(object);
    // Which block will be the last is not known yet, so every block loads what that one needs while it would wait.
    if (t < FILTER_SCALES)
    {
        m.factors[t] = sizeFactor(t);
        m.cosine[t] = tables.scaleCosine[t];
        m.sine[t] = tables.scaleSine[t];
    }
    if (t < SCALE_FREQUENCIES)
        m.energies[t] = model.scaleEnergy[t];
    const int frequency = ::min(block / PARTS, SCALE_FREQUENCIES - 1), part = block % PARTS;
    const bool spectrum = block < PARTS * SCALE_FREQUENCIES;
    const SizeModel<tuning::THREADS, PARTS> own(model, frequency, part);
    if (spectrum)
        m.size.load(tables, frequency);
    __syncthreads(); // states, tables
    const ObjectState &state = m.states[1 - current], &before = m.states[current];
    if (t == tuning::THREADS - 1)
        m.limits = scaleLimits(before.filter.width, before.filter.height, batch.cols, batch.rows);
    const bool asks = asksFilter(before), compares = state.alive != 0;
    if (asks && compares && !spectrum)
        compareBox(batch, object.models[live.model], state.positives, state.negatives, state.box, m.compare.patch,
                   m.compare.similarities);
    beginEarly();
    if (!asks)
        return;
    if (spectrum)
        sizeSpectrum<tuning::THREADS, PARTS>(batch, object, ASKING, frequency, part, own, m.size);
    else if (t == 0)
        work.similarity = compares ? m.compare.similarities.result : Similarity();
    if (isLastBlock(live.filterBlocksDone, gridDim.x))
        decide(batch, work, live, current, m);
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
        lookAtSizes(batch, image, 0, stream);
}

void filterSecond(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    if (!findsPlace(batch, ASKING, 1))
        findSecondPlaces(batch, stream);
    lookAtPlace(batch, image, 1, stream);
    answerAtPlace(batch, 1, stream);
}

void filter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    lookAtSizes(batch, image, 1, stream);
    const int parts = isFew(batch) ? tuning::SIZE_PARTS : 1;
    detail::launchEarly("tld fuse", isFew(batch) ? fuseObjects<tuning::SIZE_PARTS, 3> : fuseObjects<1, 5>,
                        dim3(parts * SCALE_FREQUENCIES + 1, batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
