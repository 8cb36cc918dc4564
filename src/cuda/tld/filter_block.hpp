// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions that kernels of the correlation filter share: where it looks, gradients of a block in its shared
// memory, and the Fourier transform of a grid.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_BLOCK_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_BLOCK_HPP

#include "block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Why the filter looks at an image.
enum FilterPass
{
    ASKING,   //!< after flow
    ENDING,   //!< at the box of the frame, to be trained or to verify a box that was found again
    BEGINNING //!< at the user's box
};

//! Returns the state that a pass writes.
__device__ __forceinline__ ObjectState& stateOf(Live& live, FilterPass pass)
{
    return live.states[pass == BEGINNING ? live.current : 1 - live.current];
}
__device__ __forceinline__ const FilterModel& modelOf(const ObjectRecord& object)
{
    return *object.filters[object.live->filter];
}
//! Returns the model that a pass trains. A new one, which is zero, is trained in place.
__device__ __forceinline__ FilterModel& nextModelOf(const ObjectRecord& object, FilterPass pass)
{
    return *object.filters[pass == BEGINNING ? object.live->filter : 1 - object.live->filter];
}

//! Finds where the filter looks. @param place index of the place. @return whether it looks there.
__device__ __forceinline__ bool findPlace(const ObjectRecord& object, FilterPass pass, int place, FilterState& f,
                                          double& x, double& y)
{
    Live& live = *object.live;
    const ObjectState& state = stateOf(live, pass);
    f = state.filter;
    x = f.x;
    y = f.y;
    if (pass != ASKING)
        return f.trains != NOT_TRAINED || object.filterWork->inDoubt;
    const ObjectState& before = live.states[live.current];
    if (!asksFilter(before))
        return false;
    const FilterPlaces places = filterPlaces(state, before);
    x = places.x[place];
    y = places.y[place];
    return place < places.count;
}

//! Returns the filter where a pass uses the scale filter. @return whether it does.
__device__ __forceinline__ bool findSizes(const Batch& batch, const ObjectRecord& object, FilterPass pass,
                                          FilterState& f)
{
    Live& live = *object.live;
    const ObjectState& state = stateOf(live, pass);
    f = state.filter;
    if (pass != ASKING)
        return f.trains != NOT_TRAINED;
    const ObjectState& before = live.states[live.current];
    if (!asksFilter(before))
        return false;
    moveByAnswer(f, filterPlaces(state, before), object.filterWork->answers, batch.cols, batch.rows);
    return true;
}

//! Returns a sample of the image.
__device__ __forceinline__ int sampleAt(const Batch& batch, const SamplePlan& plan, int i, int j)
{
    const int left = plan.left(i), right = left + 2 * plan.halfX, top = plan.top(j), bottom = top + 2 * plan.halfY;
    const SumTable sums = batch.sumTable();
    const auto at = [&](int x, int y) { return cornerSum(sums, x, y, batch.cols, batch.rows); };
    return cellOf(at(left, top), at(right, top), at(left, bottom), at(right, bottom), plan.inverse);
}

//! Computes the factors of a block of 2 x 2 cells. @param energyAt functor of a cell, which may be outside of the grid
//! by one.
template <typename EnergyAt> __device__ __forceinline__ float blockNorm(int x, int y, const EnergyAt& energyAt)
{
    return normOf(energyAt(x - 1, y - 1) + energyAt(x, y - 1) + energyAt(x - 1, y) + energyAt(x, y));
}

//! Returns a feature of HOG. @param histogram of a cell. @param channel below 3 * ORIENTATIONS.
__device__ __forceinline__ float channelOf(const int* histogram, int channel, const CellNorms& norms)
{
    const int sum = channel < 2 * ORIENTATIONS
                        ? histogram[channel]
                        : histogram[channel - 2 * ORIENTATIONS] + histogram[channel - ORIENTATIONS];
    return featureOf(static_cast<float>(sum), norms);
}

// --- transforms ------------------------------------------------------------------------------------------------------

//! Values of a grid in shared memory. Rows are one value longer, so that columns are in different banks.
struct GridMemory
{
    static const int STEP = FILTER_GRID + 1;
    float re[FILTER_GRID * STEP], im[FILTER_GRID * STEP];
};

//! Transforms all columns or all rows. @param from the values, before and after. Begins and ends with a barrier.
template <bool COLUMNS>
__device__ __forceinline__ void transformLines(GridMemory*& from, GridMemory*& to, const FilterTables& tables)
{
    __syncthreads(); // the values
    FilterFft::run(
        [&](auto radix, auto stride)
        {
            const int R = decltype(radix)::value, STRIDE = decltype(stride)::value;
            for (int n = threadIdx.x; n < FILTER_GRID / R * FILTER_GRID; n += tuning::THREADS)
            {
                const int line = n % FILTER_GRID;
                const FftButterfly<FILTER_GRID, R, STRIDE> b(n / FILTER_GRID);
                const auto at = [&](int k)
                { return COLUMNS ? k * GridMemory::STEP + line : line * GridMemory::STEP + k; };
                runButterfly(
                    b, tables.cosine, tables.sine,
                    [&](int k, float& re, float& im)
                    {
                        re = from->re[at(k)];
                        im = from->im[at(k)];
                    },
                    [&](int k, float re, float im)
                    {
                        to->re[at(k)] = re;
                        to->im[at(k)] = im;
                    });
            }
            __syncthreads(); // all lines
            GridMemory* const done = to;
            to = from;
            from = done;
        });
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_BLOCK_HPP
