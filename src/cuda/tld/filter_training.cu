// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// trainFilter: moves the correlation filter to the box of the frame, and trains it there. It runs beside the learning
// of ferns and templates, which writes nothing that it reads.
//
//   endFilters      an object per block: whether it is trained, or verifies a box that was found again
//   learnFilter     one block per object refuses a box that the filter does not know; others learn the energy of the
//                   spectra and the histograms
//
// Between them is the work of filter_look.cu, which learns the spectra. Cost per object: 200 KB of model read and
// written, 460 KB where images have colours. Bound by latency.
#include "filter_steps.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int THREADS = tuning::FILTER_THREADS;

__global__ void __launch_bounds__(tuning::THREADS)
    endFilters(const __grid_constant__ Batch batch, FilterPass pass, int32_t colour)
{
    const ObjectRecord& object = batch.objects[blockIdx.x];
    FilterWork& work = *object.filterWork;
    __shared__ ObjectState own;
    FilterState& f = own.filter;
    const int size = static_cast<int>(threadIdx.x) - 32; // by another warp than the first
    const double factor = size >= 0 && size < FILTER_SCALES ? sizeFactor(size) : 0.;
    if (pass == BEGINNING) // in frames, filterCells did so
        clearCounts(work, colour != 0, 0, 1);
    beginEarly();
    ObjectState& state = stateOf(*object.live, pass);
    copyWords(&own, &state, 1); // each access to global memory would wait for the one before
    __syncthreads();            // the state
    bool inDoubt = false;
    if (threadIdx.x == 0)
    {
        inDoubt = endFilter(own, batch.cols, batch.rows);
        if (f.trains != NOT_TRAINED)
            work.rates = beginFilterTraining(f, colour);
    }
    __syncthreads(); // the filter
    const bool trains = f.trains != NOT_TRAINED;
    if (threadIdx.x == 0)
    {
        work.inDoubt = inDoubt;
        work.places[0].there = work.places[0].trains = 0;
        if (trains || inDoubt)
            work.places[0] = lookOf(batch, f);
    }
    SizeStep(f, size, factor, trains).plan(work, 0, trains, f);
    copyWords(&state.filter, &f, 1); // kernels that learn write other values of the state
}

const int ENERGY_BLOCKS = (FILTER_SPECTRUM + THREADS - 1) / THREADS;

__device__ __forceinline__ void learnEnergy(const FilterModel& model, const FilterWork& work, int k, FilterModel& next)
{
    if (k >= FILTER_SPECTRUM)
        return;
    float energy = 0.f;
#pragma unroll
    for (int channel = 0; channel < FILTER_CHANNELS; ++channel)
        energy += work.squares[channel][k];
    next.energy[k] = learned(model.energy[k], energy * (1.f / FILTER_CELLS), work.rates.filter);
}

//! Learns bins of the histograms. @param part index of the block among `parts`.
__device__ __forceinline__ void learnHistograms(const ObjectRecord& object, FilterPass pass, bool colour, int part,
                                                int parts)
{
    Live& live = *object.live;
    const FilterWork& work = *object.filterWork;
    const int target = nextModelOf(live, pass);
    const FilterModel& model = modelOf(object);
    FilterModel& next = *object.filters[target];
    const bool all = colour || live.ofColours[live.filter] || live.ofColours[target];
    const int bins = colour ? HISTOGRAM_BINS : COLOUR_LEVELS, end = all ? HISTOGRAM_BINS : COLOUR_LEVELS;
    const float rate = work.rates.histogram;
    bool more = false; // values in bins that gray images do not have
    for (int bin = part * THREADS + static_cast<int>(threadIdx.x); bin < end; bin += parts * THREADS)
    {
        const int foreground = bin < bins ? work.foreground[bin] : 0,
                  background = bin < bins ? work.background[bin] : 0;
        const float inner = learned(model.foreground[bin], binPart(foreground, work.counts[0]), rate);
        const float outer = learned(model.background[bin], binPart(background, work.counts[1]), rate);
        next.foreground[bin] = inner;
        next.background[bin] = outer;
        more = more || (bin >= COLOUR_LEVELS && (inner != 0.f || outer != 0.f));
    }
    more = __syncthreads_or(more); // and all have read ofColours
    if (part == 0 && threadIdx.x == 0)
        live.ofColours[target] = colour || more;
}

//! Loses an object that was found again, if the filter does not know it there.
__device__ __forceinline__ void verify(const Batch& batch, const ObjectRecord& object, int index,
                                       const RowsView<double>& results, AnswerMemory& m)
{
    const FilterWork& work = *object.filterWork;
    const GridMemory& grid = answerAt<THREADS>(modelOf(object), work, 0, m);
    Largest largest = {0, -1};
    for (int k = threadIdx.x; k < FILTER_CELLS; k += THREADS)
        take(largest, grid.re[GridMemory::at(k)], k);
    largest = largestOfBlock<THREADS>(largest, m.warps);
    if (threadIdx.x != 0)
        return;
    ObjectState& state = stateOf(*object.live, ENDING);
    verifyFound(state, confidenceOf(valueOf(largest)));
    if (!results)
        return;
    double row[RESULT_COLUMNS];
    resultOf(state, batch.settings, batch.cols, batch.rows, row);
#pragma unroll
    for (int k = 0; k < RESULT_COLUMNS; ++k)
        results.row(index)[k] = row[k];
}

__global__ void __launch_bounds__(THREADS)
    learnFilter(const __grid_constant__ Batch batch, FilterPass pass, int32_t colour, RowsView<double> results)
{
    __shared__ AnswerMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const Looks looks(object, pass, 0); // endFilters was not the last kernel
    const int part = static_cast<int>(blockIdx.x) - 1;
    beginEarly();
    if (part < 0)
    {
        if (!object.filterWork->inDoubt)
            return;
        m.turns.load(*batch.filterTables);
        verify(batch, object, static_cast<int>(blockIdx.y), results, m);
        return;
    }
    if (!looks.trains)
        return;
    if (part < ENERGY_BLOCKS)
        learnEnergy(modelOf(object), *object.filterWork, part * THREADS + static_cast<int>(threadIdx.x),
                    *object.filters[nextModelOf(*object.live, pass)]);
    else
        learnHistograms(object, pass, colour != 0, part - ENERGY_BLOCKS,
                        static_cast<int>(gridDim.x) - 1 - ENERGY_BLOCKS);
}

//! Trains the filters of objects whose states say so after endFilters().
void train(const Batch& batch, const ImageView& image, FilterPass pass, const RowsView<double>& results,
           detail::StreamHandle stream)
{
    const int32_t colour = isColour(image);
    const int bins = colour ? HISTOGRAM_BINS / THREADS : 1;
    detail::launch("tld end filters", endFilters, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch, pass,
                   colour);
    lookForTraining(batch, image, pass, stream);
    detail::launchEarly("tld learn filter", learnFilter, dim3(1 + ENERGY_BLOCKS + bins, batch.count), dim3(THREADS), 0,
                        stream, batch, pass, colour, results);
}

} // namespace

void trainFilter(const Batch& batch, const ImageView& image, RowsView<double> results, detail::StreamHandle stream)
{
    train(batch, image, ENDING, results, stream);
}

void beginFilter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    train(batch, image, BEGINNING, {}, stream);
}

}}}} // namespace cv::cuda::tld::gpu
