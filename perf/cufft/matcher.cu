// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "matcher.hpp"
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cufft.h>
#include <cstdint>

namespace cufft_peer {
namespace {

typedef unsigned long long Key; //!< score and index of a position: the best one has the smallest key

const int CHANNELS = 3;
const int ROW_THREADS = 256, ROW_PIXELS = 8; //!< of sumRows(): a block has one row of up to 2048 pixels
const int COLUMN_STRIPS = 32;                //!< of addUpColumns(): parts of a column, each of one thread
const int GRAY = 128; //!< taken off all pixels, which changes no result, so that sums of squares fit into 32 bits
const int BEST_THREADS = 256;

void require(cudaError_t error)
{
    if (error != cudaSuccess)
        CV_Error_(cv::Error::GpuApiCallError, ("CUDA: %s", cudaGetErrorString(error)));
}
void require(cufftResult result)
{
    if (result != CUFFT_SUCCESS)
        CV_Error_(cv::Error::GpuApiCallError, ("cuFFT: error %d", static_cast<int>(result)));
}

template <typename Real> struct Cufft;
template <> struct Cufft<float>
{
    typedef cufftComplex Complex;
    static constexpr cufftType FORWARD = CUFFT_R2C, BACK = CUFFT_C2R;
    static cufftResult forward(cufftHandle plan, float* in, Complex* out) { return cufftExecR2C(plan, in, out); }
    static cufftResult back(cufftHandle plan, Complex* in, float* out) { return cufftExecC2R(plan, in, out); }
};
template <> struct Cufft<double>
{
    typedef cufftDoubleComplex Complex;
    static constexpr cufftType FORWARD = CUFFT_D2Z, BACK = CUFFT_Z2D;
    static cufftResult forward(cufftHandle plan, double* in, Complex* out) { return cufftExecD2Z(plan, in, out); }
    static cufftResult back(cufftHandle plan, Complex* in, double* out) { return cufftExecZ2D(plan, in, out); }
};

//! Array in device memory.
template <typename T> class Array
{
public:
    explicit Array(size_t count) { require(cudaMalloc(&data_, count * sizeof(T))); }
    ~Array() { cudaFree(data_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    T* get() const { return data_; }

private:
    T* data_ = nullptr;
};

class Plan
{
public:
    Plan(cv::Size size, cufftType type, int batch)
    {
        int sides[] = {size.height, size.width};
        require(cufftPlanMany(&handle_, 2, sides, nullptr, 1, 0, nullptr, 1, 0, type, batch));
    }
    ~Plan() { cufftDestroy(handle_); }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    cufftHandle on(cudaStream_t stream) const
    {
        require(cufftSetStream(handle_, stream));
        return handle_;
    }

private:
    cufftHandle handle_ = 0;
};

//! Image of interleaved BGR bytes in device memory.
struct Image
{
    const uchar* data;
    size_t step; //!< bytes
    int width, height;
};

Image imageOf(const cv::cuda::GpuMat& mat) { return {mat.data, mat.step, mat.cols, mat.rows}; }

//! Sums over a fragment.
struct FragmentSums
{
    double mean[CHANNELS]; //!< for SSD GRAY
    double squares;        //!< of all channels' differences from `mean`
};

template <bool ZNCC> __global__ void sumFragment(Image fragment, FragmentSums* out)
{
    typedef cub::BlockReduce<long long, 1024> Reduce;
    __shared__ typename Reduce::TempStorage scratch;
    long long sum[CHANNELS] = {}, squares = 0;
    const int count = fragment.width * fragment.height;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
    {
        const uchar* pixel = fragment.data + i / fragment.width * fragment.step + i % fragment.width * CHANNELS;
        for (int c = 0; c < CHANNELS; ++c)
        {
            sum[c] += pixel[c] - GRAY;
            squares += (pixel[c] - GRAY) * (pixel[c] - GRAY);
        }
    }
    squares = Reduce(scratch).Sum(squares);
    double spread = static_cast<double>(squares);
    for (int c = 0; c < CHANNELS; ++c)
    {
        __syncthreads(); // scratch is used again
        const double total = static_cast<double>(Reduce(scratch).Sum(sum[c]));
        if (threadIdx.x == 0)
        {
            out->mean[c] = ZNCC ? GRAY + total / count : GRAY;
            spread -= ZNCC ? total * total / count : 0.;
        }
    }
    if (threadIdx.x == 0)
        out->squares = spread;
}

//! Reads N bytes, a multiple of 4, by words where all are there and aligned. @param count bytes that are there; the
//! others become 0.
template <int N> __device__ void loadBytes(uchar (&bytes)[N], const uchar* from, int count)
{
    if (count >= N && reinterpret_cast<size_t>(from) % 4 == 0)
    {
#pragma unroll
        for (int i = 0; i < N / 4; ++i)
        {
            const uint32_t word = reinterpret_cast<const uint32_t*>(from)[i];
#pragma unroll
            for (int k = 0; k < 4; ++k)
                bytes[4 * i + k] = static_cast<uchar>(word >> 8 * k);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
        bytes[i] = i < count ? from[i] : 0;
}

template <typename Real> struct alignas(16) Four
{
    Real values[4];
};

/** Writes the channels of an image into planes, with zeros beyond it. A thread has four pixels.
@param sums means that are subtracted; null: GRAY is. @param width,height of a plane; width is a multiple of 4. */
template <typename Real>
__global__ void splitChannels(Image image, const FragmentSums* sums, Real* planes, int width, int height)
{
    const int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y;
    if (x >= width)
        return;
    uchar bytes[4 * CHANNELS];
    const int count = y < image.height ? min(max(image.width - x, 0), 4) : 0;
    loadBytes(bytes, image.data + y * image.step + x * CHANNELS, count * CHANNELS);
    for (int c = 0; c < CHANNELS; ++c)
    {
        const Real mean = sums ? static_cast<Real>(sums->mean[c]) : Real(GRAY);
        Four<Real> four;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            four.values[k] = k < count ? bytes[CHANNELS * k + c] - mean : Real(0);
        reinterpret_cast<Four<Real>*>(planes + (static_cast<size_t>(c) * height + y) * width)[x / 4] = four;
    }
}

//! Adds up the channels' products of spectra of the image and conjugate ones of the fragment.
template <typename Complex, typename Real>
__global__ void multiplySpectra(const Complex* image, const Complex* fragment, Complex* out, int count, Real scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    Real re = 0, im = 0;
    for (int c = 0; c < CHANNELS; ++c)
    {
        const Complex a = image[c * count + i], b = fragment[c * count + i];
        re += a.x * b.x + a.y * b.y;
        im += a.y * b.x - a.x * b.y;
    }
    out[i].x = scale * re;
    out[i].y = scale * im;
}

//! Adds up `width` pixels of a row from each column on, modulo 2^32: squares, and for ZNCC each channel too. A block
//! has one row.
template <bool ZNCC> __global__ void sumRows(Image frame, int width, uint32_t* planes)
{
    typedef cub::BlockScan<uint32_t, ROW_THREADS> Scan;
    __shared__ typename Scan::TempStorage scratch;
    __shared__ uint32_t before[ROW_THREADS * ROW_PIXELS + 1];
    const int y = blockIdx.x, first = threadIdx.x * ROW_PIXELS, cols = frame.width - width + 1;
    const uchar* row = frame.data + y * frame.step;
    uchar bytes[ROW_PIXELS * CHANNELS];
    loadBytes(bytes, row + first * CHANNELS, (frame.width - first) * CHANNELS);
#pragma unroll
    for (int q = 0; q < (ZNCC ? 1 + CHANNELS : 1); ++q)
    {
        uint32_t values[ROW_PIXELS];
#pragma unroll
        for (int k = 0; k < ROW_PIXELS; ++k)
        {
            const int b = bytes[k * CHANNELS] - GRAY, g = bytes[k * CHANNELS + 1] - GRAY,
                      r = bytes[k * CHANNELS + 2] - GRAY;
            values[k] = q == 0 ? b * b + g * g + r * r : q == 1 ? b : q == 2 ? g : r;
        }
        uint32_t total;
        Scan(scratch).ExclusiveSum(values, values, total);
#pragma unroll
        for (int k = 0; k < ROW_PIXELS; ++k)
            before[first + k] = values[k];
        if (threadIdx.x == 0)
            before[ROW_THREADS * ROW_PIXELS] = total;
        __syncthreads();
        for (int x = threadIdx.x; x < cols; x += ROW_THREADS)
            planes[(static_cast<size_t>(q) * frame.height + y) * cols + x] = before[x + width] - before[x];
        __syncthreads(); // before and scratch are used again
    }
}

//! Adds up the numbers of each column from its top on, modulo 2^32. A block has 32 columns of one plane.
__global__ void addUpColumns(const uint32_t* __restrict__ planes, uint32_t* __restrict__ sums, int cols, int rows)
{
    __shared__ uint32_t strips[COLUMN_STRIPS][32];
    const int x = blockIdx.x * 32 + threadIdx.x, each = (rows + COLUMN_STRIPS - 1) / COLUMN_STRIPS;
    const int first = min(rows, static_cast<int>(threadIdx.y) * each), end = x < cols ? min(rows, first + each) : first;
    const size_t plane = static_cast<size_t>(blockIdx.y) * rows * cols;
    uint32_t sum = 0;
#pragma unroll 8
    for (int y = first; y < end; ++y)
        sum += planes[plane + static_cast<size_t>(y) * cols + x];
    strips[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < threadIdx.y; ++i)
        sum += strips[i][threadIdx.x];
#pragma unroll 8
    for (int y = first; y < end; ++y)
    {
        sum += planes[plane + static_cast<size_t>(y) * cols + x];
        sums[plane + static_cast<size_t>(y) * cols + x] = sum;
    }
}

/** Writes what the score of a position takes from the image alone. SSD: the sum of squares. ZNCC: 1 / sqrt(v), v being
the sum over the channels of the squared differences from the mean, and 0 where v is 0.
@param columns what addUpColumns() has made. @param rows positions. @param frameRows rows of `columns`. @param height of
the fragment. */
template <bool ZNCC, typename Real>
__global__ void sumBoxes(const uint32_t* columns, int cols, int rows, int frameRows, int height, double inverseArea,
                         Real* boxes)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= cols)
        return;
    uint32_t sums[1 + CHANNELS];
#pragma unroll
    for (int q = 0; q < (ZNCC ? 1 + CHANNELS : 1); ++q)
    {
        const uint32_t* plane = columns + static_cast<size_t>(q) * frameRows * cols + x;
        sums[q] =
            plane[static_cast<size_t>(y + height - 1) * cols] - (y ? plane[static_cast<size_t>(y - 1) * cols] : 0);
    }
    double value = sums[0];
    if (ZNCC)
    {
        for (int q = 1; q <= CHANNELS; ++q)
        {
            const double sum = static_cast<int>(sums[q]);
            value -= sum * sum * inverseArea;
        }
        value = value > 0. ? rsqrt(value) : 0.;
    }
    boxes[static_cast<size_t>(y) * cols + x] = static_cast<Real>(value);
}

//! Returns the key of a position: keys are in the order of the scores, then of the indices.
__device__ Key keyOf(float score, uint32_t index)
{
    const uint32_t bits = __float_as_uint(score);
    return static_cast<Key>(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | index;
}

struct Least
{
    __device__ Key operator()(Key a, Key b) const { return a < b ? a : b; }
};

//! Finds the smallest key of all positions. @param pitch numbers from row to row of `products`.
template <bool ZNCC, typename Real>
__global__ void findBest(const Real* products, int pitch, const Real* boxes, int cols, int rows,
                         const FragmentSums* fragment, Key* best)
{
    typedef cub::BlockReduce<Key, BEST_THREADS> Reduce;
    __shared__ typename Reduce::TempStorage scratch;
    const Real squares = static_cast<Real>(fragment->squares);
    const Real norm = ZNCC && squares > 0 ? Real(1) / sqrt(squares) : Real(0);
    Key least = ~Key(0);
    for (int y = blockIdx.y; y < rows; y += gridDim.y)
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < cols; x += gridDim.x * blockDim.x)
        {
            const Real product = products[static_cast<size_t>(y) * pitch + x],
                       box = boxes[static_cast<size_t>(y) * cols + x];
            const Real score = ZNCC ? -product * box * norm : box - 2 * product + squares;
            least = min(least, keyOf(static_cast<float>(score), y * cols + x));
        }
    least = Reduce(scratch).Reduce(least, Least());
    if (threadIdx.x == 0)
        atomicMin(best, least);
}

template <typename Real, bool ZNCC> class MatcherOf : public Matcher
{
public:
    typedef typename Cufft<Real>::Complex Complex;

    explicit MatcherOf(const Setup& setup)
        : setup_(setup),
          cols_(setup.frame.width - setup.fragment.width + 1),
          rows_(setup.frame.height - setup.fragment.height + 1),
          bins_((setup.transform.width / 2 + 1) * setup.transform.height),
          forward_(setup.transform, Cufft<Real>::FORWARD, CHANNELS),
          back_(setup.transform, Cufft<Real>::BACK, 1),
          planes_(static_cast<size_t>(CHANNELS) * setup.transform.area()),
          products_(setup.transform.area()),
          imageSpectra_(static_cast<size_t>(CHANNELS) * bins_),
          fragmentSpectra_(static_cast<size_t>(CHANNELS) * bins_),
          spectrum_(bins_),
          rowSums_(static_cast<size_t>(1 + CHANNELS) * setup.frame.height * cols_),
          columnSums_(static_cast<size_t>(1 + CHANNELS) * setup.frame.height * cols_),
          boxes_(static_cast<size_t>(rows_) * cols_),
          fragmentSums_(1),
          best_(1)
    {
        CV_Assert(setup.frame.width <= ROW_THREADS * ROW_PIXELS && cols_ > 0 && rows_ > 0);
        CV_Assert(setup.fragment.area() <= 87381); // 3 x 87381 x 128 x 128 is below 2^32
        CV_Assert(setup.transform.width % 4 == 0 && setup.transform.width >= setup.frame.width &&
                  setup.transform.height >= setup.frame.height);
        require(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
        for (cudaEvent_t& event : events_)
            require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    ~MatcherOf() CV_OVERRIDE
    {
        cudaStreamDestroy(side_);
        for (cudaEvent_t event : events_)
            cudaEventDestroy(event);
    }

    void setFragment(const cv::cuda::GpuMat& fragment, cv::cuda::Stream& stream) CV_OVERRIDE
    {
        CV_Assert(fragment.type() == CV_8UC3 && fragment.size() == setup_.fragment);
        const cudaStream_t raw = cv::cuda::StreamAccessor::getStream(stream);
        sumFragment<ZNCC><<<1, 1024, 0, raw>>>(imageOf(fragment), fragmentSums_.get());
        transform(imageOf(fragment), fragmentSums_.get(), fragmentSpectra_.get(), raw);
    }

    void match(const cv::cuda::GpuMat& frame, cv::cuda::Stream& stream) CV_OVERRIDE
    {
        CV_Assert(frame.type() == CV_8UC3 && frame.size() == setup_.frame);
        const cudaStream_t raw = cv::cuda::StreamAccessor::getStream(stream);
        require(cudaEventRecord(events_[0], raw));
        require(cudaStreamWaitEvent(side_, events_[0]));
        sumRows<ZNCC><<<frame.rows, ROW_THREADS, 0, side_>>>(imageOf(frame), setup_.fragment.width, rowSums_.get());
        addUpColumns<<<dim3((cols_ + 31) / 32, ZNCC ? 1 + CHANNELS : 1), dim3(32, COLUMN_STRIPS), 0, side_>>>(
            rowSums_.get(), columnSums_.get(), cols_, frame.rows);
        sumBoxes<ZNCC><<<dim3((cols_ + 127) / 128, rows_), 128, 0, side_>>>(columnSums_.get(), cols_, rows_, frame.rows,
                                                                            setup_.fragment.height,
                                                                            1. / setup_.fragment.area(), boxes_.get());
        require(cudaEventRecord(events_[1], side_));

        require(cudaMemsetAsync(best_.get(), 0xff, sizeof(Key), raw));
        transform(imageOf(frame), nullptr, imageSpectra_.get(), raw);
        multiplySpectra<<<(bins_ + 255) / 256, 256, 0, raw>>>(imageSpectra_.get(), fragmentSpectra_.get(),
                                                              spectrum_.get(), bins_,
                                                              Real(1) / static_cast<Real>(setup_.transform.area()));
        require(Cufft<Real>::back(back_.on(raw), spectrum_.get(), products_.get()));
        require(cudaStreamWaitEvent(raw, events_[1]));
        findBest<ZNCC><<<dim3((cols_ + BEST_THREADS - 1) / BEST_THREADS, 132), BEST_THREADS, 0, raw>>>(
            products_.get(), setup_.transform.width, boxes_.get(), cols_, rows_, fragmentSums_.get(), best_.get());
        require(cudaGetLastError());
    }

    cv::Point best(cv::cuda::Stream& stream) CV_OVERRIDE
    {
        const cudaStream_t raw = cv::cuda::StreamAccessor::getStream(stream);
        Key key = 0;
        require(cudaMemcpyAsync(&key, best_.get(), sizeof(key), cudaMemcpyDeviceToHost, raw));
        require(cudaStreamSynchronize(raw));
        const int index = static_cast<int>(key & 0xffffffffu);
        return cv::Point(index % cols_, index / cols_);
    }

private:
    void transform(const Image& image, const FragmentSums* sums, Complex* spectra, cudaStream_t stream)
    {
        const cv::Size size = setup_.transform;
        splitChannels<<<dim3((size.width / 4 + 128) / 128, size.height), 128, 0, stream>>>(image, sums, planes_.get(),
                                                                                           size.width, size.height);
        require(Cufft<Real>::forward(forward_.on(stream), planes_.get(), spectra));
    }

    Setup setup_;
    int cols_, rows_; //!< positions
    int bins_;        //!< numbers of a spectrum
    Plan forward_, back_;
    Array<Real> planes_, products_;
    Array<Complex> imageSpectra_, fragmentSpectra_, spectrum_;
    Array<uint32_t> rowSums_, columnSums_;
    Array<Real> boxes_;
    Array<FragmentSums> fragmentSums_;
    Array<Key> best_;
    cudaStream_t side_ = nullptr;
    cudaEvent_t events_[2] = {};
};

} // namespace

cv::Ptr<Matcher> Matcher::create(const Setup& setup)
{
    if (setup.inDouble && setup.zncc)
        return cv::makePtr<MatcherOf<double, true>>(setup);
    if (setup.inDouble)
        return cv::makePtr<MatcherOf<double, false>>(setup);
    if (setup.zncc)
        return cv::makePtr<MatcherOf<float, true>>(setup);
    return cv::makePtr<MatcherOf<float, false>>(setup);
}

} // namespace cufft_peer
