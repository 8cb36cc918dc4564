// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, pack: stores templates and weights in the arena, and computes template sums.

#include "device.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::PackJob;

const int THREADS = 128;

static __device__ uint8_t weightAt(const PackJob& job, int x, int y)
{
    const uint8_t* row = static_cast<const uint8_t*>(job.weights) + static_cast<size_t>(y) * job.weightsStep;
    if (job.weightsDepth == WEIGHTS_8U)
        return row[x];
    return job.weightsDepth == WEIGHTS_32F ? quantiseWeight(reinterpret_cast<const float*>(row)[x]) : 255;
}

//! Packs one template per block; sums of 64 bits. Cost in bytes: template and weights, read once and written once.
template <bool DEEP>
__global__ void __launch_bounds__(THREADS)
    packKernel(const PackJob* jobs, const int channels, DeviceFragment* fragments, uint32_t* arena)
{
    __shared__ TemplateSums total;
    const PackJob job = jobs[blockIdx.x];
    if (threadIdx.x == 0)
        total = {};
    __syncthreads(); // total is zero
    const int width = job.templ.cols, height = job.templ.rows;
    const size_t planeWords = static_cast<size_t>(job.pitch) * height;
    TemplateSums sums = {};
    for (size_t u = threadIdx.x; u < planeWords; u += blockDim.x)
    {
        const int y = static_cast<int>(u / job.pitch), x0 = 4 * static_cast<int>(u % job.pitch);
        uint32_t words[3] = {}, low[3] = {}, weights = 0; // of up to three channels
        for (int b = 0; b < 4 && x0 + b < width; ++b)
        {
            const uint8_t* pixel = job.templ.pixel(x0 + b, y);
            const uint32_t q = weightAt(job, x0 + b, y);
            for (int c = 0; c < channels; ++c)
            {
                const uint32_t value = DEEP ? reinterpret_cast<const uint16_t*>(pixel)[c] : pixel[c];
                words[c] |= (DEEP ? value >> 8 : value) << (8 * b);
                if (DEEP)
                    low[c] |= (value & 0xff) << (8 * b);
                sums.qT[c] += q * value;
                sums.qT2 += static_cast<uint64_t>(q * value) * value;
            }
            weights |= q << (8 * b);
            sums.W += q;
        }
        for (int c = 0; c < channels; ++c)
        {
            arena[job.words + c * planeWords + u] = words[c];
            if (DEEP)
                arena[job.words + (channels + c) * planeWords + u] = low[c];
        }
        arena[job.words + gpu::templateBytes(channels, DEEP) * planeWords + u] = weights;
    }
    uint64_t* parts[5] = {&sums.W, &sums.qT[0], &sums.qT[1], &sums.qT[2], &sums.qT2};
    uint64_t* totals[5] = {&total.W, &total.qT[0], &total.qT[1], &total.qT[2], &total.qT2};
#pragma unroll
    for (int k = 0; k < 5; ++k)
    {
        const uint64_t sum = detail::sumOfWarp(*parts[k]);
        if (threadIdx.x % 32 == 0)
            atomicAdd(reinterpret_cast<unsigned long long*>(totals[k]), static_cast<unsigned long long>(sum));
    }
    __syncthreads(); // total is complete
    const bool wide = DEEP || isBeyond63Bits(Metric::ZNCC, static_cast<int64_t>(width) * height);
    if (threadIdx.x == 0)
        fragments[job.slot] = {
            width, height, job.pitch, 0, job.words, total, wide ? deepDeviation(total) > 0. : templateVariance(total)};
}

} // namespace

namespace gpu {

void pack(const PackJob* jobs, int count, int channels, bool deep, DeviceFragment* fragments, uint32_t* arena,
          StreamHandle stream)
{
    detail::launch("pack", deep ? packKernel<true> : packKernel<false>, detail::linearGrid(count, 1), dim3(THREADS), 0,
                   stream, jobs, channels, fragments, arena);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
