// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// filter: asks the correlation filter after flow.
//
//   filterAnswers   a place of an object per block: sums over the channels, transform, likelihoods, the largest merged
//                   answer
//   sizeSpectra     a frequency of an object per block: transform along the sizes; its part of the answer, or what is
//                   learned of it
//   fuseObjects     an object per block: its size, similarity of flow's box, which box is taken
//
// Cost per object and place: 240 KB of model and as much of the image's spectra, from the L2 cache. Bound by latency.
#include "filter_steps.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp_scan.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int TABLE_STEP = FILTER_SIDE + 1;
const int COLUMN_GROUPS = tuning::THREADS / FILTER_SIDE;
static_assert(tuning::THREADS % FILTER_SIDE == 0, "a column of likelihoods per thread");

struct AnswerMemory
{
    GridMemory grids[2];
    int groups[COLUMN_GROUPS][FILTER_SIDE]; //!< sums of likelihoods over the rows of a group
    float values[BLOCK_WARPS];
    int places[BLOCK_WARPS];
};

//! Largest value, of equal ones that of the lowest index.
struct Largest
{
    float value;
    int index; //!< -1: none
};
__device__ __forceinline__ Largest largerOf(const Largest& a, const Largest& b)
{
    if (a.index < 0 || b.index < 0)
        return a.index < 0 ? b : a;
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
//! Returns the largest value of a block to all threads. Ends with a barrier.
__device__ __forceinline__ Largest largestOfBlock(Largest own, AnswerMemory& m)
{
    for (int d = 16; d > 0; d /= 2)
        own = largerOf(own, {__shfl_xor_sync(ALL_LANES, own.value, d), __shfl_xor_sync(ALL_LANES, own.index, d)});
    if ((threadIdx.x & 31) == 0)
    {
        m.values[threadIdx.x >> 5] = own.value;
        m.places[threadIdx.x >> 5] = own.index;
    }
    __syncthreads(); // of all warps
    Largest all = {0.f, -1};
    for (int w = 0; w < BLOCK_WARPS; ++w)
        all = largerOf(all, {m.values[w], m.places[w]});
    __syncthreads(); // all know
    return all;
}

//! Computes the answer. @return the grid whose real parts are the answer. Ends with a barrier.
__device__ __forceinline__ const GridMemory& answerAt(const FilterModel& model, const FilterWork& work, int place,
                                                      const FilterTables& tables, AnswerMemory& m)
{
    GridMemory *from = &m.grids[0], *to = &m.grids[1];
    for (int k = threadIdx.x; k < FILTER_SPECTRUM; k += tuning::THREADS)
    {
        Complex sum = {0.f, 0.f};
#pragma unroll 4
        for (int channel = 0; channel < FILTER_CHANNELS; ++channel)
            addAnswer(sum, model.re[channel][k], model.im[channel][k], work.re[place][channel][k],
                      work.im[place][channel][k]);
        const Complex quotient = quotientOf(sum, model.energy[k]);
        const int r = k % FILTER_GRID, c = k / FILTER_GRID, at = r * GridMemory::STEP + c;
        from->re[at] = quotient.re;
        from->im[at] = quotient.im;
        if (c == 0 || c == FILTER_COLUMNS - 1)
            continue;
        const int mirror = conjugatePlace(r) * GridMemory::STEP + conjugatePlace(c);
        from->re[mirror] = quotient.re;
        from->im[mirror] = -quotient.im;
    }
    transformLines<false>(from, to, tables);
    transformLines<true>(from, to, tables);
    return *from;
}

//! Computes the table of sums of likelihoods. Ends with a barrier. @param known the histograms are of such images.
__device__ __forceinline__ void sumLikelihoods(const FilterModel& model, const uint16_t* bins, bool known,
                                               int32_t* table, AnswerMemory& m)
{
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (int j = warp; j < FILTER_SIDE; j += BLOCK_WARPS)
    {
        int before = 0;
        for (int first = 0; first < FILTER_SIDE; first += 32)
        {
            const int bin = bins[j * FILTER_SIDE + first + lane];
            const int own = known ? likelihoodOf(model.foreground[bin], model.background[bin]) : 0;
            const int sum = before + detail::sumUpToLane(own);
            table[(j + 1) * TABLE_STEP + first + lane + 1] = sum;
            before = __shfl_sync(ALL_LANES, sum, 31);
        }
        if (lane == 0)
            table[(j + 1) * TABLE_STEP] = 0;
    }
    for (int i = threadIdx.x; i < TABLE_STEP; i += tuning::THREADS)
        table[i] = 0;
    __syncthreads(); // sums of rows
    const int i = threadIdx.x % FILTER_SIDE, group = threadIdx.x / FILTER_SIDE, rows = FILTER_SIDE / COLUMN_GROUPS;
    int32_t* const column = table + (group * rows + 1) * TABLE_STEP + i + 1;
    int sum = 0;
#pragma unroll 8
    for (int j = 0; j < rows; ++j)
        sum += column[j * TABLE_STEP];
    m.groups[group][i] = sum;
    __syncthreads(); // sums of groups
    sum = 0;
    for (int g = 0; g < group; ++g)
        sum += m.groups[g][i];
#pragma unroll 8
    for (int j = 0; j < rows; ++j)
    {
        sum += column[j * TABLE_STEP];
        column[j * TABLE_STEP] = sum;
    }
    __syncthreads(); // the table
}

//! Returns the largest merged answer of a thread.
__device__ __forceinline__ Largest mergedOf(const float* answer, const int32_t* table, const Displacements& d)
{
    Largest best = {0.f, -1};
    const int cols = d.cols();
    for (int k = threadIdx.x; k < cols * d.rows(); k += tuning::THREADS)
    {
        const int i = k % cols, j = k / cols;
        const int32_t* const corner = table + j * TABLE_STEP + i;
        const int sum =
            corner[d.height * TABLE_STEP + d.width] - corner[d.width] - corner[d.height * TABLE_STEP] + corner[0];
        const float value = mergedAnswer(interpolated(answer, i - d.reachX, j - d.reachY), sum, d);
        best = largerOf(best, {value, k});
    }
    return best;
}

__global__ void __launch_bounds__(tuning::THREADS)
    filterAnswers(const __grid_constant__ Batch batch, const ImageView image, FilterPass pass)
{
    __shared__ AnswerMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    const int place = blockIdx.y;
    FilterState f;
    double x, y;
    if (!findPlace(object, pass, place, f, x, y) || f.trains != NOT_TRAINED)
        return;
    FilterWork& work = *object.filterWork;
    const FilterModel& model = modelOf(object);
    const GridMemory& grid = answerAt(model, work, place, *batch.filterTables, m);
    Largest largest = {0.f, -1};
    for (int k = threadIdx.x; k < FILTER_CELLS; k += tuning::THREADS)
        largest = largerOf(largest, {grid.re[k / FILTER_GRID * GridMemory::STEP + k % FILTER_GRID], k});
    largest = largestOfBlock(largest, m);
    if (threadIdx.x == 0)
        work.answers[place] = {confidenceOf(largest.value), 0, 0};
    if (pass != ASKING)
        return;
    sumLikelihoods(model, work.bins[place], f.colour == isColour(image), work.likelihoods[place], m);
    // The answer without the gaps of the grid, in its other half.
    float* const answer = (&grid == &m.grids[0] ? m.grids[1] : m.grids[0]).re;
    for (int k = threadIdx.x; k < FILTER_CELLS; k += tuning::THREADS)
        answer[k] = grid.re[k / FILTER_GRID * GridMemory::STEP + k % FILTER_GRID];
    __syncthreads(); // the answer
    const Displacements d = displacementsOf(filterAreas(f.width, f.height, f.scale, batch.cols, batch.rows));
    const Largest best = largestOfBlock(mergedOf(answer, work.likelihoods[place], d), m);
    if (threadIdx.x == 0)
    {
        work.answers[place].dx = best.index % d.cols() - d.reachX;
        work.answers[place].dy = best.index / d.cols() - d.reachY;
    }
}

struct SpectrumMemory
{
    Complex products[SCALE_ROWS]; //!< the parts of the sum
    Complex cells[SCALE_CELLS];
};

__global__ void __launch_bounds__(tuning::THREADS) sizeSpectra(const __grid_constant__ Batch batch, FilterPass pass)
{
    __shared__ SpectrumMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int frequency = blockIdx.x;
    FilterState f;
    if (!findSizes(batch, object, pass, f))
        return;
    FilterWork& work = *object.filterWork;
    const FilterTables& tables = *batch.filterTables;
    const FilterModel& model = modelOf(object);
    FilterModel& next = nextModelOf(object, pass);
    for (int row = threadIdx.x; row < SCALE_ROWS; row += tuning::THREADS)
    {
        Complex sum = {0.f, 0.f};
#pragma unroll
        for (int i = 0; i < FILTER_SCALES; ++i)
            addFrequency(sum, work.sizeFeatures[i][row] * tables.scaleWindow[i], i, frequency, tables);
        Complex product = {0.f, 0.f};
        if (pass == ASKING)
            addScaleAnswer(product, model.scaleRe[frequency][row], model.scaleIm[frequency][row], sum.re, sum.im);
        else
        {
            const Complex numerator = scaleNumerator(sum.re, sum.im, frequency, tables);
            next.scaleRe[frequency][row] = learned(model.scaleRe[frequency][row], numerator.re, work.rates.scale);
            next.scaleIm[frequency][row] = learned(model.scaleIm[frequency][row], numerator.im, work.rates.scale);
            product.re = squareOf(sum.re, sum.im);
        }
        m.products[row] = product;
    }
    __syncthreads(); // products
    if (threadIdx.x < SCALE_CELLS)
    {
        Complex sum = {0.f, 0.f};
        for (int k = 0; k < SCALE_CHANNELS; ++k)
        {
            const Complex& product = m.products[k * SCALE_CELLS + threadIdx.x];
            sum.re += product.re;
            sum.im += product.im;
        }
        m.cells[threadIdx.x] = sum;
    }
    __syncthreads(); // sums of cells
    if (threadIdx.x != 0)
        return;
    Complex all = {0.f, 0.f};
    for (int c = 0; c < SCALE_CELLS; ++c)
    {
        all.re += m.cells[c].re;
        all.im += m.cells[c].im;
    }
    if (pass == ASKING)
        work.quotients[frequency] = scaleQuotient(all, model.scaleEnergy[frequency]);
    else
        next.scaleEnergy[frequency] = learned(model.scaleEnergy[frequency], all.re, work.rates.scale);
}

struct FuseMemory
{
    BlockPatch patch;
    SimilarityMemory similarities;
};

__global__ void __launch_bounds__(tuning::THREADS) fuseObjects(const __grid_constant__ Batch batch)
{
    __shared__ FuseMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    ObjectState& state = stateOf(live, ASKING);
    const ObjectState& before = live.states[live.current];
    FilterState f;
    if (!findSizes(batch, object, ASKING, f))
        return;
    const bool compares = state.alive != 0;
    if (compares)
    {
        makePatch(batch, state.box, m.patch);
        compareTemplates(object.models[live.model], batch.settings, state.positives, state.negatives, m.patch.pixels,
                         m.patch.stats, m.similarities);
    }
    __syncthreads(); // all have read the state
    if (threadIdx.x != 0)
        return;
    scaleByAnswer(f, largestSize(object.filterWork->quotients, *batch.filterTables), batch.cols, batch.rows);
    state.filter = f;
    fuse(state, before, compares ? m.similarities.result : Similarity(), batch.cols, batch.rows);
}

} // namespace

void answersOf(const Batch& batch, const ImageView& image, FilterPass pass, int places, detail::StreamHandle stream)
{
    detail::launch("tld filter answers", filterAnswers, dim3(batch.count, places), dim3(tuning::THREADS), 0, stream,
                   batch, image, pass);
}

void spectraOfSizes(const Batch& batch, FilterPass pass, detail::StreamHandle stream)
{
    detail::launch("tld filter size spectra", sizeSpectra, dim3(SCALE_FREQUENCIES, batch.count), dim3(tuning::THREADS),
                   0, stream, batch, pass);
}

void filter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    lookAround(batch, image, ASKING, 2, stream);
    answersOf(batch, image, ASKING, 2, stream);
    lookAtSizes(batch, ASKING, stream);
    spectraOfSizes(batch, ASKING, stream);
    detail::launch("tld fuse", fuseObjects, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
