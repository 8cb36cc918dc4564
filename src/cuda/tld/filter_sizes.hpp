// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions of the scale filter: transforms along the sizes.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SIZES_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SIZES_HPP

#include "filter_block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

struct SizeSpectrumMemory
{
    //! Tables of the sizes, for a frequency.
    float window[FILTER_SCALES], cosine[FILTER_SCALES], sine[FILTER_SCALES];
    Complex products[SCALE_ROWS]; //!< the parts of the sum
    Complex cells[SCALE_CELLS];

    //! The caller's next barrier completes it.
    __device__ __forceinline__ void load(const FilterTables& tables, int frequency)
    {
        const int i = threadIdx.x;
        if (i >= FILTER_SCALES)
            return;
        window[i] = tables.scaleWindow[i];
        cosine[i] = tables.scaleCosine[sizeTurn(i, frequency)];
        sine[i] = tables.scaleSine[sizeTurn(i, frequency)];
    }
};

//! Values of the model of the scale filter, of one frequency: those of the rows of a thread.
template <int THREADS> struct SizeModel
{
    static const int ROWS = (SCALE_ROWS + THREADS - 1) / THREADS;
    float re[ROWS], im[ROWS];

    __device__ __forceinline__ SizeModel(const FilterModel& model, int frequency)
    {
#pragma unroll
        for (int n = 0; n < ROWS; ++n)
        {
            const int row = ::min(static_cast<int>(threadIdx.x) + n * THREADS, SCALE_ROWS - 1);
            re[n] = model.scaleRe[frequency][row];
            im[n] = model.scaleIm[frequency][row];
        }
    }
};

//! Returns the sum of all products in the order of channels, then of cells, to the first thread.
__device__ __forceinline__ Complex sumOfRows(SizeSpectrumMemory& m)
{
    static_assert(SCALE_CELLS <= 32, "one warp");
    Complex sum = {0.f, 0.f}, all = {0.f, 0.f};
    if (threadIdx.x >= SCALE_CELLS)
        return all;
#pragma unroll
    for (int k = 0; k < SCALE_CHANNELS; ++k)
    {
        const Complex& product = m.products[k * SCALE_CELLS + threadIdx.x];
        sum.re += product.re;
        sum.im += product.im;
    }
    m.cells[threadIdx.x] = sum;
    __syncwarp(); // sums of cells
    if (threadIdx.x != 0)
        return all;
#pragma unroll
    for (int c = 0; c < SCALE_CELLS; ++c)
    {
        all.re += m.cells[c].re;
        all.im += m.cells[c].im;
    }
    return all;
}

//! Transforms along the sizes, for one frequency by a block of THREADS: computes its part of the answer or, unless
//! ASKING, learns it. @param own of the current model. @param m loaded.
template <int THREADS>
__device__ __forceinline__ void sizeSpectrum(const Batch& batch, const ObjectRecord& object, FilterPass pass,
                                             int frequency, const SizeModel<THREADS>& own, SizeSpectrumMemory& m)
{
    FilterWork& work = *object.filterWork;
    const FilterTables& tables = *batch.filterTables;
    const FilterModel& model = modelOf(object);
    FilterModel& next = *object.filters[nextModelOf(*object.live, pass)];
#pragma unroll
    for (int n = 0; n < SizeModel<THREADS>::ROWS; ++n)
    {
        const int row = static_cast<int>(threadIdx.x) + n * THREADS;
        if (row >= SCALE_ROWS)
            break;
        float features[FILTER_SCALES];
#pragma unroll
        for (int i = 0; i < FILTER_SCALES; ++i)
            features[i] = work.sizeFeatures[i][row];
        Complex sum = {0.f, 0.f};
#pragma unroll
        for (int i = 0; i < FILTER_SCALES; ++i)
            addFrequency(sum, features[i] * m.window[i], m.cosine[i], m.sine[i]);
        Complex product = {0.f, 0.f};
        if (pass == ASKING)
            addScaleAnswer(product, own.re[n], own.im[n], sum.re, sum.im);
        else
        {
            const Complex numerator = scaleNumerator(sum.re, sum.im, frequency, tables);
            next.scaleRe[frequency][row] = learned(own.re[n], numerator.re, work.rates.scale);
            next.scaleIm[frequency][row] = learned(own.im[n], numerator.im, work.rates.scale);
            product.re = squareOf(sum.re, sum.im);
        }
        m.products[row] = product;
    }
    __syncthreads(); // products
    const Complex all = sumOfRows(m);
    if (threadIdx.x != 0)
        return;
    if (pass == ASKING)
        work.quotients[frequency] = scaleQuotient(all, model.scaleEnergy[frequency]);
    else
        next.scaleEnergy[frequency] = learned(model.scaleEnergy[frequency], all.re, work.rates.scale);
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SIZES_HPP
