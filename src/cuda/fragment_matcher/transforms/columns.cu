// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of large fragments by Fourier transforms: transforms of columns, and the products of
// spectra.
//
// A block transforms some neighbouring columns of the image's and of the template's spectra, adds up the products of
// all channels in registers, and transforms the sum back. Values of the image, of the template and later of the sum lie
// in shared memory.
//
// Cost in bytes: 16 read per channel and value of the image, and of the templates' rows; 16 written per value. Seven
// transforms per column for three channels: 58 us for one fragment of 128 x 128 in 1920 x 1080 BGR (H200), of which
// loads and stores alone take 33.

#include "../matrix/bands_device.hpp"
#include "fft.hpp"
#include "transforms.hpp"
#include <cuda_pipeline.h>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::Complex;
using gpu::TransformMemory;
using gpu::TransformPlan;

const int COLS = gpu::TRANSFORM_COLS;

//! A column of spectra of rows, of which the upper `rows` are there; the others are 0. @param pitch values from row to
//! row.
struct SpectrumColumn
{
    const Complex* values;
    int pitch, rows;

    //! Copies the column to shared memory, `step` threads one row each. @param staged its first value there.
    __device__ __forceinline__ void stage(Complex* staged, int first, int step) const
    {
        for (int y = first; y < rows; y += step)
            __pipeline_memcpy_async(staged + y * COLS, values + static_cast<size_t>(y) * pitch, sizeof(Complex));
    }
    //! Loads elements j + q * OUTER.
    template <class Column> __device__ __forceinline__ void load(int j, Complex (&x)[Column::FIRST]) const
    {
#pragma unroll
        for (int q = 0; q < Column::FIRST; ++q)
        {
            const int y = j + q * Column::OUTER;
            x[q] = {0., 0.};
            if (y < rows)
                x[q] = values[static_cast<size_t>(y) * pitch];
        }
    }
};

//! The transforms of a column by the threads of a block, one butterfly of each stage per thread.
template <class Column> struct ColumnTransforms
{
    int j; //!< index of the thread's butterflies
    const Complex* factors;
    Complex *image, *templ; //!< values in shared memory; those of the sum take the place of the image's

    __device__ __forceinline__ void first(const SpectrumColumn& ofImage, const SpectrumColumn& ofTemplate) const
    {
        if (j >= Column::OUTER)
            return;
        Complex values[Column::FIRST];
        ofImage.load<Column>(j, values);
        Column::template first<COLS>(values, j, factors, image);
        ofTemplate.load<Column>(j, values);
        Column::template first<COLS>(values, j, factors, templ);
    }
    __device__ __forceinline__ void middle() const
    {
        if (j >= Column::INNER)
            return;
        Column::template middle<COLS>(j, factors, image);
        Column::template middle<COLS>(j, factors, templ);
    }
    __device__ __forceinline__ void addProducts(Complex (&sum)[Column::LAST]) const
    {
        if (j >= Column::ENDS)
            return;
        Complex a[Column::LAST], b[Column::LAST];
        Column::template last<COLS>(a, j, image);
        Column::template last<COLS>(b, j, templ);
#pragma unroll
        for (int q = 0; q < Column::LAST; ++q)
            sum[q] = addProduct(sum[q], a[q], b[q]);
    }
    //! Transforms the sum back, to elements j + q * OUTER of the column for threads with j < OUTER.
    __device__ __forceinline__ void back(Complex (&sum)[Column::LAST], Complex (&values)[Column::FIRST]) const
    {
        if (j < Column::ENDS)
        {
#pragma unroll
            for (int q = 0; q < Column::LAST; ++q)
                sum[q] = exchanged(sum[q]);
            Column::template lastBack<COLS>(sum, j, image); // to the places that this thread has read
        }
        __syncthreads(); // values of the first stage back are complete
        if (j < Column::INNER)
            Column::template middleBack<COLS>(j, factors, image);
        __syncthreads(); // values of the middle stage are complete
        if (j < Column::OUTER)
            Column::template firstBack<COLS>(values, j, factors, image);
    }
};

//! @tparam STAGED plan.staged
template <class Column, bool STAGED>
__global__ void __launch_bounds__(COLS* Column::THREADS, Column::THREADS <= 128 ? 2 : 1)
    multiplyColumnsKernel(const int channels, const BandPlan bands, const TransformPlan plan, const BandMemory entries,
                          const TransformMemory memory)
{
    extern __shared__ __align__(16) unsigned char shared[];
    const int blocks = plan.cols / COLS, e = blockIdx.x / blocks;
    const int j = threadIdx.x / COLS, lane = threadIdx.x % COLS, x = (blockIdx.x - e * blocks) * COLS + lane;
    Complex* const image = reinterpret_cast<Complex*>(shared) + lane;
    Complex* const templ = image + COLS * Column::VALUES;
    Complex* const stagedImage = templ + COLS * Column::VALUES;
    Complex* const stagedTemplate = stagedImage + COLS * bands.region.height;
    const ColumnTransforms<Column> transforms = {j, memory.factors + plan.rowFactors, image, templ};
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    const gpu::OpenEntry& entry = entries.entries[e];
    if (entry.status != STATUS_FOUND)
        return;
    const int imageRows = bands.region.height, templateRows = entry.fragment.height;
    const int top = entry.window.y - bands.region.y, bottom = top + entry.window.rows;
    const auto imageOf = [&](int c) -> SpectrumColumn {
        return {memory.image + static_cast<size_t>(c) * imageRows * plan.cols + x, plan.cols, imageRows};
    };
    const auto templateOf = [&](int c) -> SpectrumColumn
    {
        const size_t at = e * plan.templatesEach + static_cast<size_t>(c) * plan.fragmentRows * plan.cols;
        return {memory.templates + at + x, plan.cols, templateRows};
    };
    const auto stage = [&](int c)
    {
        imageOf(c).stage(stagedImage, j, Column::THREADS);
        templateOf(c).stage(stagedTemplate, j, Column::THREADS);
        __pipeline_commit();
    };
    if (STAGED)
        stage(0);
    Complex sum[Column::LAST] = {};
#pragma unroll 1
    for (int c = 0; c < channels; ++c)
    {
        if (STAGED)
            __pipeline_wait_prior(0);
        __syncthreads(); // staged values are complete, values of the channel before have been read
        if (STAGED)
            transforms.first({stagedImage, COLS, imageRows}, {stagedTemplate, COLS, templateRows});
        else
            transforms.first(imageOf(c), templateOf(c));
        __syncthreads(); // values of the first stage are complete, staged values have been read
        if (STAGED && c + 1 < channels)
            stage(c + 1);
        transforms.middle();
        __syncthreads(); // values of the middle stage are complete
        transforms.addProducts(sum);
    }
    Complex values[Column::FIRST];
    transforms.back(sum, values);
    Complex* const target = memory.products + e * plan.productsEach + x;
#pragma unroll
    for (int q = 0; q < Column::FIRST; ++q)
    {
        const int y = j + q * Column::OUTER;
        if (j < Column::OUTER && y >= top && y < bottom)
            target[static_cast<size_t>(y) * plan.cols] = values[q];
    }
}

} // namespace

namespace gpu {

void multiplyColumns(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands,
                     const BandMemory& bandMemory)
{
    const int64_t blocks = static_cast<int64_t>(plan.cols / COLS) * job.batch.count;
    forColumn(plan.rows,
              [&](auto column)
              {
                  using Column = decltype(column);
                  const auto kernel =
                      plan.staged ? multiplyColumnsKernel<Column, true> : multiplyColumnsKernel<Column, false>;
                  detail::launchEarly("multiplyColumns", kernel, detail::linearGrid(blocks, 1),
                                      dim3(COLS * Column::THREADS), plan.columnSharedBytes, job.stream,
                                      job.batch.channels, bands, plan, bandMemory, memory);
              });
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
