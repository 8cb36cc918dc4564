// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// trainFilter: moves the correlation filter to the box of the frame, and trains it there.
//
//   endFilters      an object per block: whether it is trained, or verifies a box that was found again; zeros
//   learnFilter     values of the spectra and bins of the histograms per thread
//   finishFilters   an object per thread: refuses boxes that the filter does not know, writes the results
//
// Cost per object: 460 KB of model read and written. Bound by latency.
#include "filter_steps.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::THREADS)
    endFilters(const __grid_constant__ Batch batch, FilterPass pass, int32_t colour)
{
    __shared__ int trains;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    FilterWork& work = *object.filterWork;
    ObjectState& state = stateOf(*object.live, pass);
    if (threadIdx.x == 0)
    {
        work.inDoubt = endFilter(state, batch.cols, batch.rows);
        trains = state.filter.trains != NOT_TRAINED;
        if (trains)
            work.rates = beginFilterTraining(state.filter, colour);
        work.counts[0] = work.counts[1] = 0;
    }
    __syncthreads(); // the decision
    if (!trains)
        return;
    uint4* const counts = reinterpret_cast<uint4*>(work.foreground); // and those of the background, behind them
    const int words = 2 * HISTOGRAM_BINS * static_cast<int>(sizeof(int32_t)) / static_cast<int>(sizeof(uint4));
    for (int k = threadIdx.x; k < words; k += tuning::THREADS)
        counts[k] = make_uint4(0, 0, 0, 0);
}

const int SPECTRUM_BLOCKS = (FILTER_SPECTRUM + tuning::THREADS - 1) / tuning::THREADS;
const int BIN_BLOCKS = HISTOGRAM_BINS / tuning::THREADS;

//! Learns a value of the spectra of all channels.
__device__ __forceinline__ void learnSpectrum(const FilterModel& model, const FilterWork& work,
                                              const FilterTarget& target, int k, FilterModel& next)
{
    const float desired = target.at(k % FILTER_GRID, k / FILTER_GRID), rate = work.rates.filter;
    float energy = 0.f;
#pragma unroll 4
    for (int channel = 0; channel < FILTER_CHANNELS; ++channel)
    {
        const float re = work.re[0][channel][k], im = work.im[0][channel][k];
        next.re[channel][k] = learned(model.re[channel][k], desired * re, rate);
        next.im[channel][k] = learned(model.im[channel][k], desired * im, rate);
        energy += squareOf(re, im);
    }
    next.energy[k] = learned(model.energy[k], energy * (1.f / FILTER_CELLS), rate);
}

__global__ void __launch_bounds__(tuning::THREADS) learnFilter(const __grid_constant__ Batch batch, FilterPass pass)
{
    const ObjectRecord& object = batch.objects[blockIdx.y];
    if (stateOf(*object.live, pass).filter.trains == NOT_TRAINED)
        return;
    const FilterWork& work = *object.filterWork;
    const FilterModel& model = modelOf(object);
    FilterModel& next = nextModelOf(object, pass);
    const int k = static_cast<int>(blockIdx.x * tuning::THREADS + threadIdx.x);
    if (blockIdx.x < SPECTRUM_BLOCKS)
    {
        if (k < FILTER_SPECTRUM)
            learnSpectrum(model, work, *object.filterTarget, k, next);
        return;
    }
    const int bin = k - SPECTRUM_BLOCKS * tuning::THREADS;
    const float rate = work.rates.histogram;
    next.foreground[bin] = learned(model.foreground[bin], binPart(work.foreground[bin], work.counts[0]), rate);
    next.background[bin] = learned(model.background[bin], binPart(work.background[bin], work.counts[1]), rate);
}

__global__ void __launch_bounds__(tuning::THREADS)
    finishFilters(const __grid_constant__ Batch batch, RowsView<double> results)
{
    for (int o = threadIdx.x; o < batch.count; o += tuning::THREADS)
    {
        const FilterWork& work = *batch.objects[o].filterWork;
        ObjectState& state = stateOf(*batch.objects[o].live, ENDING);
        if (work.inDoubt)
            verifyFound(state, work.answers[0].confidence);
        if (!results)
            continue;
        double row[RESULT_COLUMNS];
        resultOf(state, batch.settings, batch.cols, batch.rows, row);
#pragma unroll
        for (int k = 0; k < RESULT_COLUMNS; ++k)
            results.row(o)[k] = row[k];
    }
}

//! Trains the filters of objects whose states say so after endFilters().
void train(const Batch& batch, const ImageView& image, FilterPass pass, detail::StreamHandle stream)
{
    detail::launch("tld end filters", endFilters, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch, pass,
                   isColour(image));
    lookAround(batch, image, pass, 1, stream);
    lookAtSizes(batch, pass, stream);
    spectraOfSizes(batch, pass, stream);
    detail::launch("tld learn filter", learnFilter, dim3(SPECTRUM_BLOCKS + BIN_BLOCKS, batch.count),
                   dim3(tuning::THREADS), 0, stream, batch, pass);
}

} // namespace

void trainFilter(const Batch& batch, const ImageView& image, RowsView<double> results, detail::StreamHandle stream)
{
    train(batch, image, ENDING, stream);
    answersOf(batch, image, ENDING, 1, stream);
    detail::launch("tld finish filters", finishFilters, dim3(1), dim3(tuning::THREADS), 0, stream, batch, results);
}

void beginFilter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    train(batch, image, BEGINNING, stream);
}

}}}} // namespace cv::cuda::tld::gpu
