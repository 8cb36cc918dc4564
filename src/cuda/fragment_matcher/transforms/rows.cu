// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of large fragments by Fourier transforms: transforms of rows, of image and templates
// and back to sums of products.
//
//   transformRows     bytes of the image and of templates to spectra of rows
//   multiplyColumns   the rest of both transforms, the products, and their way back down the columns (columns.cu)
//   transformBack     spectra of rows to integers, the sums of products
//
// prepare, sumColumns and values are kernels of matrix instructions (bands.hpp): planes of bytes, sums of columns for
// box sums, and values with peaks. The first two run concurrently with the last blocks of transformRows and of
// multiplyColumns.
//
// Proof that these are exact: a sum is an integer, and the result of the transforms has an error of less than 1/4, so
// rounding gives that integer. Let u = 2^-53, N the number of values of a transform in two dimensions, |x| the root of
// a sum of squares. A stage of radix r rounds each of its sums at most 8 log2(r) times by u, the factors' own relative
// error of 3 u included:
//
//   radix              | 6  | 8  | 9  | 10 | 12 | 15 | 16
//   roundings, at most | 10 | 13 | 18 | 12 | 11 | 15 | 14
//   8 log2(r)          | 20 | 24 | 25 | 26 | 28 | 31 | 32
//
// Stages are unitary except for scale, so the error of a spectrum is at most 8 u log2(N) times its norm (Higham,
// Accuracy and Stability of Numerical Algorithms, 24.1). On the way back, a stage combines to each value a correlation
// of parts of both spectra, whose magnitudes add up to at most |I| |T| (Cauchy-Schwarz), so that it adds an error of at
// most 8 u log2(r) |I| |T|. Both spectra and the way back: 24 u log2(N) |I| |T|, and a few u for products and scale.
// With bytes, two parts of the image in N <= 2160^2 values, and P planes in a sum, |I| <= sqrt(2 N) 255 and |T| <= 255
// sqrt(w h), so the error of the sum is at most
//
//   24 * 2^-53 * 22.2 * 3055 * 255^2 sqrt(w h) P  =  1.18e-5 sqrt(w h) P,
//
// 0.077 for the largest fragment, of 2160 x 2160 pixels in three channels.
//
// Cost in bytes: 16 written (transformBack: read) per value; a row has some half as many values as pixels.
// transformRows takes 26 us for one fragment of 128 x 128 in 1920 x 1080 BGR (H200), of which writing would take 14 at
// the rate of memory.

#include "../matrix/bands_device.hpp"
#include "fft.hpp"
#include "transforms.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::Complex;
using gpu::TransformMemory;
using gpu::TransformPlan;

//! Returns a byte as a double, by its bits: conversions have a quarter of the throughput of additions.
__device__ __forceinline__ double doubleOf(uint32_t byte)
{
    return __hiloint2double(0x43300000, static_cast<int>(byte)) - 4503599627370496.; // 2^52 + byte
}

//! Transforms one row of one channel in each block: first of the image, then of the templates.
template <class Row>
__global__ void __launch_bounds__(Row::THREADS)
    transformRowsKernel(const ByteImageView frame, const Batch batch, const Rect4 region, const TransformPlan plan,
                        const TransformMemory memory)
{
    __shared__ Complex values[Row::VALUES];
    const int j = threadIdx.x, imageBlocks = batch.channels * region.height;
    detail::letNextKernelBegin();
    const uint8_t *left, *right; // bytes of the real and of the imaginary parts, `stride` apart
    int leftWidth, rightWidth = 0, stride = 1;
    Complex* target;
    if (static_cast<int>(blockIdx.x) < imageBlocks)
    {
        const int channel = blockIdx.x / region.height, y = blockIdx.x - channel * region.height;
        stride = frame.pixelStride;
        left = frame.pixel(region.x, region.y + y) + channel;
        right = left + static_cast<size_t>(plan.half) * stride;
        leftWidth = region.width;
        rightWidth = leftWidth - plan.half;
        target = memory.image + static_cast<size_t>(blockIdx.x) * Row::LENGTH;
    }
    else
    {
        const int item = blockIdx.x - imageBlocks, plane = item / plan.fragmentRows;
        const int e = plane / batch.channels, channel = plane - e * batch.channels,
                  y = item - plane * plan.fragmentRows;
        const DeviceFragment& fragment = batch.fragments[batch.slots[fragmentOf(batch, e)]];
        if (y >= fragment.height)
            return;
        const size_t words = (static_cast<size_t>(channel) * fragment.height + y) * fragment.pitch;
        left = right = reinterpret_cast<const uint8_t*>(batch.arena + fragment.words + words);
        leftWidth = fragment.width;
        target = memory.templates + static_cast<size_t>(item) * Row::LENGTH;
    }
    if (j < Row::OUTER)
    {
        uint32_t bytes[2][Row::FIRST]; // all loads are issued before the first is used
#pragma unroll
        for (int q = 0; q < Row::FIRST; ++q)
        {
            const int at = j + q * Row::OUTER;
            bytes[0][q] = at < leftWidth ? __ldg(left + at * stride) : 0;
            bytes[1][q] = at < rightWidth ? __ldg(right + at * stride) : 0;
        }
        Complex x[Row::FIRST];
#pragma unroll
        for (int q = 0; q < Row::FIRST; ++q)
            x[q] = {doubleOf(bytes[0][q]), doubleOf(bytes[1][q])};
        Row::template first<1>(x, j, memory.factors, values);
    }
    __syncthreads(); // values of the first stage are complete
    if (j < Row::INNER)
        Row::template middle<1>(j, memory.factors, values);
    __syncthreads(); // values of the middle stage are complete
    if (j >= Row::ENDS)
        return;
    Complex y[Row::LAST];
    Row::template last<1>(y, j, values);
#pragma unroll
    for (int q = 0; q < Row::LAST; ++q)
        target[q * Row::ENDS + j] = y[q]; // neighbouring threads write neighbouring values
}

//! Transforms a row of products back in each block, and stores its sums.
template <class Row>
__global__ void __launch_bounds__(Row::THREADS)
    transformBackKernel(const BandPlan bands, const TransformPlan plan, const BandMemory target,
                        const TransformMemory memory)
{
    __shared__ Complex values[Row::VALUES];
    const int j = threadIdx.x, e = blockIdx.x / bands.sumsRows, y = blockIdx.x - e * bands.sumsRows;
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    const gpu::OpenEntry& entry = target.entries[e];
    const SearchWindow window = entry.window;
    if (entry.status != STATUS_FOUND || y >= window.rows)
        return;
    const Complex* const source =
        memory.products + e * plan.productsEach + static_cast<size_t>(window.y - bands.region.y + y) * Row::LENGTH;
    if (j < Row::ENDS)
    {
        Complex x[Row::LAST];
#pragma unroll
        for (int q = 0; q < Row::LAST; ++q)
            x[q] = source[q * Row::ENDS + j];
        Row::template lastBack<1>(x, j, values);
    }
    __syncthreads(); // values of the first stage back are complete
    if (j < Row::INNER)
        Row::template middleBack<1>(j, memory.factors, values);
    __syncthreads(); // values of the middle stage are complete
    if (j >= Row::OUTER)
        return;
    Complex x[Row::FIRST];
    Row::template firstBack<1>(x, j, memory.factors, values);
    const int before = window.x - bands.region.x;
    const size_t at = e * bands.sumsEach + static_cast<size_t>(y) * bands.sumsPitch + beforeWindow(bands, window.x);
    const double scale = 1. / (static_cast<double>(plan.cols) * plan.rows);
    const auto store = [&](int column, double value)
    {
        if (static_cast<unsigned>(column) >= static_cast<unsigned>(window.cols))
            return;
        const long long sum = __double2ll_rn(value * scale);
        if (bands.wide)
            static_cast<uint64_t*>(target.sums)[at + column] = static_cast<uint64_t>(sum);
        else
            static_cast<uint32_t*>(target.sums)[at + column] = static_cast<uint32_t>(sum);
    };
#pragma unroll
    for (int q = 0; q < Row::FIRST; ++q)
    {
        const int column = j + q * Row::OUTER;
        if (column >= plan.half)
            continue;
        store(column - before, x[q].im); // real and imaginary part are exchanged
        store(column + plan.half - before, x[q].re);
    }
}

} // namespace

namespace gpu {

void transformRows(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands)
{
    const int64_t rows = bands.region.height + static_cast<int64_t>(plan.fragmentRows) * job.batch.count;
    forRow(plan.cols,
           [&](auto row)
           {
               using Row = decltype(row);
               detail::launch("transformRows", transformRowsKernel<Row>,
                              detail::linearGrid(rows * job.batch.channels, 1), dim3(Row::THREADS), 0, job.stream,
                              job.frame, job.batch, bands.region, plan, memory);
           });
}

void transformBack(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands,
                   const BandMemory& bandMemory)
{
    const int64_t rows = static_cast<int64_t>(bands.sumsRows) * job.batch.count;
    forRow(plan.cols,
           [&](auto row)
           {
               using Row = decltype(row);
               detail::launchEarly("transformBack", transformBackKernel<Row>, detail::linearGrid(rows, 1),
                                   dim3(Row::THREADS), 0, job.stream, bands, plan, bandMemory, memory);
           });
}

void matchTransforms(const Job& job, const TransformPlan& plan, const TransformMemory& memory, const BandPlan& bands,
                     const BandMemory& bandMemory, const Windows& windows)
{
    transformRows(job, plan, memory, bands);
    prepareBands(job, bands, bandMemory, true); // while the last blocks of rows run
    multiplyColumns(job, plan, memory, bands, bandMemory);
    sumColumns(job, bands, bandMemory); // while the last blocks of columns run
    transformBack(job, plan, memory, bands, bandMemory);
    valuesOfBands(job, bands, bandMemory, windows);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
