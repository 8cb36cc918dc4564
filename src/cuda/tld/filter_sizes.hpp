// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Device functions of the scale filter: transforms along the sizes.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SIZES_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SIZES_HPP

#include "filter_block.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

//! Rows of cells of which a block is one of PARTS.
template <int PARTS> struct SizePart
{
    static_assert(SCALE_CELLS % PARTS == 0 && SCALE_CELLS <= 32, "whole parts, a thread of a warp per cell");
    static const int CELLS = SCALE_CELLS / PARTS, ROWS = SCALE_CHANNELS * CELLS;

    //! Returns the number of a row of a part among all.
    static __device__ __forceinline__ int rowOf(int part, int row)
    {
        return row / CELLS * SCALE_CELLS + part * CELLS + row % CELLS;
    }
};

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
template <int THREADS, int PARTS> struct SizeModel
{
    static const int ROWS = (SizePart<PARTS>::ROWS + THREADS - 1) / THREADS;
    float re[ROWS], im[ROWS];

    __device__ __forceinline__ SizeModel(const FilterModel& model, int frequency, int part)
    {
#pragma unroll
        for (int n = 0; n < ROWS; ++n)
        {
            const int own = ::min(static_cast<int>(threadIdx.x) + n * THREADS, SizePart<PARTS>::ROWS - 1);
            const int row = SizePart<PARTS>::rowOf(part, own);
            re[n] = model.scaleRe[frequency][row];
            im[n] = model.scaleIm[frequency][row];
        }
    }
};

//! Returns the sum over all cells in their order. @param at functor of a cell.
template <typename At> __device__ __forceinline__ Complex sumOfCells(const At& at)
{
    Complex all = {0.f, 0.f};
#pragma unroll
    for (int c = 0; c < SCALE_CELLS; ++c)
    {
        all.re += at(c).re;
        all.im += at(c).im;
    }
    return all;
}
//! Returns the sum of the products of a cell in the order of channels.
template <int PARTS> __device__ __forceinline__ Complex sumOfCell(const SizeSpectrumMemory& m, int cell)
{
    Complex sum = {0.f, 0.f};
#pragma unroll
    for (int k = 0; k < SCALE_CHANNELS; ++k)
    {
        const Complex& product = m.products[k * SizePart<PARTS>::CELLS + cell];
        sum.re += product.re;
        sum.im += product.im;
    }
    return sum;
}

//! Transforms along the sizes, for one frequency by a block of THREADS, or by PARTS of them: computes its part of the
//! answer or, unless ASKING, learns it. @param own of the current model. @param m loaded.
template <int THREADS, int PARTS>
__device__ __forceinline__ void sizeSpectrum(const Batch& batch, const ObjectRecord& object, FilterPass pass,
                                             int frequency, int part, const SizeModel<THREADS, PARTS>& own,
                                             SizeSpectrumMemory& m)
{
    typedef SizePart<PARTS> Part;
    FilterWork& work = *object.filterWork;
    const FilterTables& tables = *batch.filterTables;
    const FilterModel& model = modelOf(object);
    FilterModel& next = *object.filters[nextModelOf(*object.live, pass)];
#pragma unroll
    for (int n = 0; n < SizeModel<THREADS, PARTS>::ROWS; ++n)
    {
        const int place = static_cast<int>(threadIdx.x) + n * THREADS, row = Part::rowOf(part, place);
        if (place >= Part::ROWS)
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
        m.products[place] = product;
    }
    __syncthreads(); // products
    const int cell = threadIdx.x;
    if (cell >= Part::CELLS)
        return;
    const Complex sum = sumOfCell<PARTS>(m, cell);
    if (pass == ASKING)
    {
        work.sizeSums[part * Part::CELLS + cell][frequency] = sum;
        return;
    }
    m.cells[cell] = sum;
    __syncwarp(); // sums of cells
    if (cell == 0)
        next.scaleEnergy[frequency] =
            learned(model.scaleEnergy[frequency], sumOfCells([&](int c) { return m.cells[c]; }).re, work.rates.scale);
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_FILTER_SIZES_HPP
