// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// trackByFilter, trainFilter: the correlation filter instead of flow. The kernels of correlation.cu ask and train; those
// here decide.
//
//   lastPlaces     an object per thread: whether its filter is asked at the last box
//   secondPlaces   an object per block: medians of the forward tracks, where the filter looks too
//   moveBoxes      an object per block: takes an answer, and moves the box
//   endFilters     an object per block: whether the filter is trained, or verifies a box that was found again
//   verifyFilters  an object per block: refuses a box that the filter does not know
//
// Cost: a launch each. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

using correlation::Answer;
using correlation::gpu::Look;
using correlation::gpu::Use;

//! Threads per block of kernels that copy a state.
const int STATE_THREADS = 64;

//! Sets whether and where a filter looks.
__device__ __forceinline__ void setLook(Look& look, Use use, const correlation::Place& place, const FilterState& f)
{
    look.use = use;
    look.place = place;
    look.target = correlation::targetCells(f.width, f.height);
}

__global__ void __launch_bounds__(STATE_THREADS) lastPlaces(const __grid_constant__ Batch batch)
{
    const int o = static_cast<int>(blockIdx.x * STATE_THREADS + threadIdx.x);
    beginEarly();
    if (o >= batch.count)
        return;
    const Live& live = *batch.objects[o].live;
    const ObjectState& before = live.states[live.current];
    const FilterPlace place = lastPlace(before);
    setLook(batch.filters[o].looks[0], place.there ? correlation::gpu::ASKS : correlation::gpu::NOTHING, place.place,
            before.filter);
}

// --- second place ----------------------------------------------------------------------------------------------------

//! Threads that find the median of one axis: a point each.
const int SHIFT_GROUP = 128;
static_assert(SHIFT_GROUP >= FLOW_POINTS, "a point per thread");

struct ShiftMemory
{
    int32_t shifts[2][FLOW_POINTS], lower[2], upper[2];
};

__global__ void __launch_bounds__(2 * SHIFT_GROUP) secondPlaces(const __grid_constant__ Batch batch)
{
    __shared__ ShiftMemory m;
    const int32_t LOST_POINT = 0x7fffffff; // larger than all shifts
    beginEarly();
    const ObjectRecord& object = batch.objects[blockIdx.x];
    const ObjectState& before = object.live->states[object.live->current];
    const int axis = threadIdx.x / SHIFT_GROUP, i = threadIdx.x % SHIFT_GROUP;
    const bool has = i < FLOW_POINTS;
    int32_t own = LOST_POINT;
    if (before.alive && has)
    {
        const TrackedPoint& p = object.trackedPoints[i];
        if (p.ahead)
            own = axis == 0 ? p.to.x - p.from.x : p.to.y - p.from.y;
    }
    if (has)
        m.shifts[axis][i] = own;
    const int points = __syncthreads_count(own != LOST_POINT) / 2;
    if (has)
    {
        int less = 0;
#pragma unroll 10
        for (int j = 0; j < FLOW_POINTS; ++j)
        {
            const int32_t other = m.shifts[axis][j];
            less += other < own || (other == own && j < i) ? 1 : 0;
        }
        if (less == points / 2)
            m.upper[axis] = own;
        if (less == (points - 1) / 2)
            m.lower[axis] = own;
    }
    __syncthreads(); // medians
    if (threadIdx.x != 0)
        return;
    ForwardShift shift = {points, 0., 0.};
    if (points > 0)
    {
        shift.dx = shiftOf(m.lower[0], m.upper[0]);
        shift.dy = shiftOf(m.lower[1], m.upper[1]);
    }
    const FilterPlace place = secondPlace(before, shift);
    setLook(batch.filters[blockIdx.x].looks[1], place.there ? correlation::gpu::ASKS : correlation::gpu::NOTHING,
            place.place, before.filter);
}

// --- decisions -------------------------------------------------------------------------------------------------------

//! Waits for the kernel of the answers, and takes the box of one of them.
__global__ void __launch_bounds__(STATE_THREADS) moveBoxes(const __grid_constant__ Batch batch)
{
    __shared__ ObjectState state;
    Live& live = *batch.objects[blockIdx.x].live;
    copyWords(&state, &live.states[live.current], 1);
    beginEarly();
    __syncthreads(); // the state
    if (threadIdx.x == 0)
    {
        beginFrame(state);
        const Look* const looks = batch.filters[blockIdx.x].looks;
        if (looks[0].use == correlation::gpu::ASKS)
        {
            const FilterPlace second = {looks[1].use == correlation::gpu::ASKS, looks[1].place};
            const int last = correlation::largestSize(looks[0].answers);
            const int other = second.there ? correlation::largestSize(looks[1].answers) : 0;
            if (takesSecond(second, looks[0].answers[last], looks[1].answers[other]))
                trackByFilter(state, second.place, other, looks[1].answers[other], batch.cols, batch.rows);
            else
                trackByFilter(state, looks[0].place, last, looks[0].answers[last], batch.cols, batch.rows);
        }
    }
    __syncthreads(); // the box
    copyWords(&live.states[1 - live.current], &state, 1);
}

//! @param isNew the filter of a new object begins, whose current state says so.
__global__ void __launch_bounds__(STATE_THREADS) endFilters(const __grid_constant__ Batch batch, bool isNew)
{
    __shared__ ObjectState own;
    beginEarly();
    Live& live = *batch.objects[blockIdx.x].live;
    ObjectState& state = live.states[isNew ? live.current : 1 - live.current];
    copyWords(&own, &state, 1); // each access to global memory would wait for the one before
    __syncthreads();            // the state
    FilterState& f = own.filter;
    if (threadIdx.x == 0)
    {
        const bool inDoubt = endFilter(own, batch.cols, batch.rows);
        const Use use = inDoubt                   ? correlation::gpu::ASKS
                        : f.trains == NOT_TRAINED ? correlation::gpu::NOTHING
                        : f.trains == BEGUN       ? correlation::gpu::BEGINS
                                                  : correlation::gpu::TRAINS;
        setLook(batch.filters[blockIdx.x].looks[0], use, placeOf(f), f);
    }
    __syncthreads();                 // the filter
    copyWords(&state.filter, &f, 1); // kernels that learn write other values of the state
}

//! Loses objects that were found again, if the filter does not know them there. @param results rows to be updated.
//! @param isNew makes models current that have begun.
__global__ void __launch_bounds__(STATE_THREADS)
    verifyFilters(const __grid_constant__ Batch batch, RowsView<double> results, bool isNew)
{
    beginEarly();
    if (threadIdx.x != 0)
        return;
    const Look& look = batch.filters[blockIdx.x].looks[0];
    Live& live = *batch.objects[blockIdx.x].live;
    if (isNew)
        live.filter = 1 - live.filter;
    if (isNew || look.use != correlation::gpu::ASKS)
        return;
    ObjectState& state = live.states[1 - live.current];
    verifyFound(state, look.answers[correlation::largestSize(look.answers)].confidence);
    if (!results)
        return;
    double row[RESULT_COLUMNS];
    resultOf(state, batch.settings, batch.cols, batch.rows, row);
#pragma unroll
    for (int k = 0; k < RESULT_COLUMNS; ++k)
        results.row(blockIdx.x)[k] = row[k];
}

//! Looks at a place, and asks there.
void ask(const Batch& batch, const ImageView& image, int place, detail::StreamHandle stream)
{
    correlation::gpu::cells(batch.filters, batch.count, image, place, stream);
    correlation::gpu::spectra(batch.filters, batch.count, batch.filterTables, place, stream);
    correlation::gpu::answers(batch.filters, batch.count, batch.filterTables, place, stream);
}

void train(const Batch& batch, const ImageView& image, bool isNew, const RowsView<double>& results,
           detail::StreamHandle stream)
{
    detail::launch("tld end filters", endFilters, dim3(batch.count), dim3(STATE_THREADS), 0, stream, batch, isNew);
    ask(batch, image, 0, stream);
    correlation::gpu::train(batch.filters, batch.count, batch.filterTables, stream);
    detail::launchEarly("tld verify filters", verifyFilters, dim3(batch.count), dim3(STATE_THREADS), 0, stream, batch,
                        results, isNew);
}

} // namespace

void askLast(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    detail::launch("tld last places", lastPlaces, detail::linearGrid(batch.count, STATE_THREADS), dim3(STATE_THREADS),
                   0, stream, batch);
    ask(batch, image, 0, stream);
}

void askSecond(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    detail::launch("tld second places", secondPlaces, dim3(batch.count), dim3(2 * SHIFT_GROUP), 0, stream, batch);
    ask(batch, image, 1, stream);
}

void trackByFilter(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld move boxes", moveBoxes, dim3(batch.count), dim3(STATE_THREADS), 0, stream, batch);
}

void trainFilter(const Batch& batch, const ImageView& image, RowsView<double> results, detail::StreamHandle stream)
{
    train(batch, image, false, results, stream);
}

void beginFilter(const Batch& batch, const ImageView& image, detail::StreamHandle stream)
{
    train(batch, image, true, {}, stream);
}

}}}} // namespace cv::cuda::tld::gpu
