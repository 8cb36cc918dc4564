// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, eliminate: means of square blocks of pixels, at all places of the image and in fragments.
//
// Cost: about 10 operations per byte of the image.

#include "eliminate.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::BOUND_COLS;
using gpu::BOUND_ROWS;
using gpu::BoundLevel;
using gpu::BoundMeans;
using gpu::BoundPlan;

const int MEANS_THREADS = tuning::BOUND_MEANS_THREADS;

// Byte k of word w B + p of a row is the mean of the block whose first column is 4 B w + p + k B, so that a word holds
// four neighbouring blocks of a position.

//! Sums B pixels of a row, at most 8 * 255, for 16 positions per thread. @param sums rows of BOUND_COLS + 2 elements,
//! channel by channel.
template <int B, int STRIDE, int CHANNELS>
__device__ void sumRows(const ByteImageView& frame, int x, int y, const gpu::StagePlan& plan, const uint32_t* raw,
                        uint16_t* sums)
{
    const int RUN = 16, RUNS = BOUND_COLS / RUN, ROWS = BOUND_ROWS + B - 1;
    const uint32_t start = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(frame.pixel(x, y)));
    for (int i = threadIdx.x; i < ROWS * CHANNELS * RUNS; i += MEANS_THREADS)
    {
        const int r = i / (CHANNELS * RUNS), c = i % CHANNELS, run = i / CHANNELS % RUNS;
        const int before = (start + r * static_cast<uint32_t>(frame.step)) & 3;
        const uint8_t* const from =
            reinterpret_cast<const uint8_t*>(raw + r * plan.rawPitch) + before + STRIDE * RUN * run + c;
        uint16_t* const to = sums + (c * ROWS + r) * (BOUND_COLS + 2) + RUN * run;
        unsigned pixels[RUN + B - 1], sum = 0;
#pragma unroll
        for (int u = 0; u < RUN + B - 1; ++u)
        {
            pixels[u] = from[STRIDE * u];
            sum += pixels[u];
            if (u >= B)
                sum -= pixels[u - B];
            if (u >= B - 1)
                to[u - (B - 1)] = static_cast<uint16_t>(sum);
        }
    }
}

//! Sums B rows of sums, and stores means: four blocks side by side of 8 rows per thread.
template <int B, int CHANNELS>
__device__ void storeMeans(const uint16_t* sums, int x, int y, int height, const BoundLevel& level, uint8_t* means)
{
    const int WORDS = BOUND_COLS / 4, RUN = 8, ROWS = BOUND_ROWS + B - 1, PITCH = BOUND_COLS + 2;
    for (int i = threadIdx.x; i < WORDS * CHANNELS * (BOUND_ROWS / RUN); i += MEANS_THREADS)
    {
        const int word = i % WORDS, c = i / WORDS % CHANNELS, top = i / (WORDS * CHANNELS) * RUN;
        const uint16_t* const from = sums + (c * ROWS + top) * PITCH + word / B * 4 * B + word % B;
        const int column = x + 4 * word;
        unsigned ring[4][B], sum[4] = {};
#pragma unroll
        for (int v = 0; v < RUN + B - 1; ++v)
        {
            uint32_t packed = 0;
#pragma unroll
            for (int k = 0; k < 4; ++k)
            {
                const unsigned s = from[v * PITCH + B * k];
                sum[k] += s;
                if (v >= B)
                    sum[k] -= ring[k][v % B];
                ring[k][v % B] = s;
                packed |= sum[k] / (B * B) << 8 * k;
            }
            const int row = y + top + v - (B - 1);
            if (v >= B - 1 && row < height && column < level.pitch)
                *reinterpret_cast<uint32_t*>(means + c * level.planeBytes + static_cast<size_t>(row) * level.pitch +
                                             column) = packed;
        }
    }
}

//! Returns word `word` of row `row` of the means of a fragment's channel, and the word of their weights. @param loss
//! adds the loss.
template <int B, bool WEIGHTED>
__device__ uint32_t meansOf(const Batch& batch, const DeviceFragment& fragment, int channel, int row, int word,
                            uint32_t& weights, uint64_t& loss)
{
    const int WORDS = B / 4; // words per row of a block
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const uint32_t* const first = batch.arena + fragment.words + static_cast<size_t>(B) * row * fragment.pitch;
    uint32_t means = 0;
    weights = 0;
#pragma unroll 1
    for (int k = 0; k < 4 && 4 * word + k < fragment.width / B; ++k)
    {
        uint32_t sum = 0, least = ~0u;
#pragma unroll
        for (int v = 0; v < B; ++v)
#pragma unroll
            for (int u = 0; u < WORDS; ++u)
            {
                const size_t at = static_cast<size_t>(v) * fragment.pitch + WORDS * (4 * word + k) + u;
                sum = dot4(__ldg(first + channel * planeWords + at), 0x01010101u, sum);
                if (WEIGHTED)
                    least = __vminu4(least, __ldg(first + batch.channels * planeWords + at));
            }
        const uint32_t mean = sum / (B * B);
        const uint32_t weight =
            WEIGHTED ? ::min(::min(least & 0xff, least >> 8 & 0xff), ::min(least >> 16 & 0xff, least >> 24)) : 1;
        means |= mean << 8 * k;
        weights |= weight << 8 * k;
        loss += static_cast<uint64_t>(weight) * blockLoss(static_cast<int>(sum), static_cast<int>(mean), B * B);
    }
    return means;
}

//! Computes the means of a fragment, by a block, and its loss in 64 bits.
template <int B, bool WEIGHTED>
__device__ void storeFragment(const Batch& batch, int e, const BoundLevel& level, const BoundMeans& memory)
{
    __shared__ unsigned long long total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads(); // total is zero
    const DeviceFragment& fragment = batch.fragments[batch.slots[fragmentOf(batch, e)]];
    const int words = detail::ceilDiv(fragment.width / B, 4), rows = fragment.height / B;
    uint32_t* const to = memory.fragments + e * level.wordsEach;
    uint64_t loss = 0;
    for (int i = threadIdx.x; i < batch.channels * rows * words; i += MEANS_THREADS)
    {
        uint32_t weights;
        to[i] = meansOf<B, WEIGHTED>(batch, fragment, i / (rows * words), i / words % rows, i % words, weights, loss);
        if (i < rows * words)
            to[batch.channels * rows * words + i] = weights;
    }
    loss = detail::sumOfWarp(loss);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&total, static_cast<unsigned long long>(loss));
    __syncthreads(); // total is complete
    if (threadIdx.x == 0)
        memory.losses[e] = total;
}

/** Computes the means of the region in the first `imageBlocks` blocks, and those of a fragment in each of the others.
Coarse means follow the call before, fine means may be computed while the kernel before, which does not touch them,
still runs. */
template <int B, int STRIDE, bool WEIGHTED>
__global__ void __launch_bounds__(MEANS_THREADS)
    computeMeansKernel(const ByteImageView frame, const Batch batch, const BoundPlan plan, const BoundLevel level,
                       const BoundMeans memory, const int imageBlocks)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3;
    extern __shared__ __align__(16) uint32_t shared[]; // the raw image, then sums of rows
    detail::letNextKernelBegin();
    if (static_cast<int>(blockIdx.x) < imageBlocks)
    {
        const int blocksX = detail::ceilDiv(plan.region.width, BOUND_COLS);
        const int x = blockIdx.x % blocksX * BOUND_COLS, y = blockIdx.x / blocksX * BOUND_ROWS;
        const int left = plan.region.x + x, top = plan.region.y + y;
        uint16_t* const sums = reinterpret_cast<uint16_t*>(shared + plan.stage.rawWords);
        fetchRaw(frame, left, top, BOUND_COLS + B - 1, BOUND_ROWS + B - 1, plan.stage, shared);
        __pipeline_wait_prior(0);
        __syncthreads(); // the raw image is complete
        sumRows<B, STRIDE, CHANNELS>(frame, left, top, plan.stage, shared, sums);
        __syncthreads(); // sums of rows are complete
        storeMeans<B, CHANNELS>(sums, x, y, plan.region.height, level, memory.image);
        uint32_t* const end = reinterpret_cast<uint32_t*>(memory.image + CHANNELS * level.planeBytes);
        if (blockIdx.x == 0 && threadIdx.x < gpu::MEANS_END_BYTES / 4) // bounds read it and ignore it
            end[threadIdx.x] = 0;
    }
    else
        storeFragment<B, WEIGHTED>(batch, blockIdx.x - imageBlocks, level, memory);
    detail::waitForKernelBefore(); // the next kernel waits for this one only
}

} // namespace

namespace gpu {

void computeMeans(const Job& job, const BoundPlan& plan, const BoundLevel& level, const BoundMeans& memory, bool early)
{
    const auto ofStride = [&](auto stride)
    {
        const auto kernel = level.block == 8 ? (job.batch.weighted ? computeMeansKernel<8, stride.value, true>
                                                                   : computeMeansKernel<8, stride.value, false>)
                                             : (job.batch.weighted ? computeMeansKernel<4, stride.value, true>
                                                                   : computeMeansKernel<4, stride.value, false>);
        const int imageBlocks =
            detail::ceilDiv(plan.region.width, BOUND_COLS) * detail::ceilDiv(plan.region.height, BOUND_ROWS);
        detail::launchAs(
            early, "computeMeans", kernel, detail::linearGrid(static_cast<int64_t>(imageBlocks) + job.batch.count, 1),
            dim3(MEANS_THREADS), plan.sharedBytes, job.stream, job.frame, job.batch, plan, level, memory, imageBlocks);
    };
    forStride(job.frame.pixelStride, ofStride);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
