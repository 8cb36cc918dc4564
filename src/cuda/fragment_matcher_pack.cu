// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, pack stage (templates and weights to arena words, template sums) and walk stage (three-step search).

#include "fragment_matcher_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

static __device__ uint8_t weightAt(const PackJob& job, int x, int y)
{
    const uint8_t* row = static_cast<const uint8_t*>(job.weights) + static_cast<size_t>(y) * job.weightsStep;
    if (job.weightsDepth == WEIGHTS_8U)
        return row[x];
    return job.weightsDepth == WEIGHTS_32F ? quantiseWeight(reinterpret_cast<const float*>(row)[x]) : 255;
}

static __device__ uint64_t warpSum(uint64_t sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(~0u, sum, distance);
    return sum;
}

//! A block a template. Bytes: template and weights once, in and out.
__global__ void __launch_bounds__(tuning::PACK_THREADS)
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
        uint32_t words[4] = {}; // up to three channels, then weights
        for (int b = 0; b < 4 && x0 + b < width; ++b)
        {
            const uint8_t* pixel = job.templ.pixel(x0 + b, y);
            const uint32_t q = weightAt(job, x0 + b, y);
            for (int c = 0; c < channels; ++c)
            {
                const uint32_t value = pixel[c];
                words[c] |= value << (8 * b);
                sums.qT[c] += q * value;
                sums.qT2 += q * value * value;
            }
            words[3] |= q << (8 * b);
            sums.W += q;
        }
        for (int c = 0; c < channels; ++c)
            arena[job.words + c * planeWords + u] = words[c];
        arena[job.words + channels * planeWords + u] = words[3];
    }
    uint64_t* parts[5] = {&sums.W, &sums.qT[0], &sums.qT[1], &sums.qT[2], &sums.qT2};
    uint64_t* totals[5] = {&total.W, &total.qT[0], &total.qT[1], &total.qT[2], &total.qT2};
#pragma unroll
    for (int k = 0; k < 5; ++k)
    {
        const uint64_t sum = warpSum(*parts[k]);
        if (threadIdx.x % 32 == 0)
            atomicAdd(reinterpret_cast<unsigned long long*>(totals[k]), static_cast<unsigned long long>(sum));
    }
    __syncthreads(); // total is complete
    if (threadIdx.x == 0)
        fragments[job.slot] = {width, height, job.pitch, 0, job.words, total, templateVariance(total)};
}

//! A warp's value of one position, in all lanes; the full sums, whether weighted or not.
static __device__ uint64_t valueAtPosition(const ImageView& frame, const Batch& batch, const Entry& entry, int metric,
                                           int x, int y)
{
    const DeviceFragment& fragment = entry.fragment;
    const size_t planeBytes = static_cast<size_t>(fragment.pitch) * fragment.height * 4;
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(batch.arena + fragment.words);
    uint64_t differences = 0, image[3] = {}, squares = 0, cross = 0;
    for (int r = 0; r < fragment.height; ++r)
    {
        for (int k = threadIdx.x % 32; k < fragment.width; k += 32)
        {
            const size_t at = static_cast<size_t>(r) * fragment.pitch * 4 + k;
            const uint8_t* pixel = frame.pixel(entry.window.x + x + k, entry.window.y + y + r);
            const int q = bytes[batch.channels * planeBytes + at];
#pragma unroll
            for (int c = 0; c < 3; ++c)
            {
                if (c >= batch.channels)
                    break;
                const int value = pixel[c], templ = bytes[c * planeBytes + at], difference = value - templ;
                differences += q * (metric == METRIC_SAD ? ::abs(difference) : difference * difference);
                image[c] += q * value;
                squares += q * value * value;
                cross += q * value * templ;
            }
        }
    }
    if (metric != METRIC_ZNCC)
        return warpSum(differences);
    uint64_t n = fragment.sums.W * warpSum(cross), v = fragment.sums.W * warpSum(squares);
#pragma unroll
    for (int c = 0; c < 3; ++c)
    {
        const uint64_t sum = warpSum(image[c]);
        n -= sum * fragment.sums.qT[c];
        v -= sum * sum;
    }
    return znccToValue(znccScore(static_cast<int64_t>(n), static_cast<int64_t>(v), fragment.variance));
}

/** A block a fragment, a warp for each of the 9 points of a step. Cost: 9 (log2(radius) + 2) positions of w x h pixels. */
__global__ void __launch_bounds__(32 * tuning::WALK_WARPS)
    walkKernel(const ImageView frame, const Batch batch, const Settings settings, const int scale, Walked* walked,
               const Outputs out)
{
    __shared__ uint64_t values[tuning::WALK_WARPS];
    const int e = blockIdx.x, warp = threadIdx.x / 32;
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
        {
            if (settings.peaks == 1)
                reportNothing(out, entry.i, 1, status);
            walked[e] = {0, -1};
        }
        return;
    }
    const SearchWindow window = entry.window;
    Position prediction = {0, 0};
    if (batch.predictions)
        prediction = *batch.predictions.row(entry.i);
    Position centre = walkStart(window, static_cast<bool>(batch.predictions), prediction);
    const int reach = walkReach(window, centre);
    Best best = Best::none();
    // step 0: once more around the result, for its neighbours' values (sub-pixel)
    for (int step = reach > 0 ? firstStep(reach) : 0;; step /= 2)
    {
        const int spread = step > 0 ? step : 1;
        const int x = centre.x + (warp % 3 - 1) * spread, y = centre.y + (warp / 3 - 1) * spread;
        const bool inside = x >= 0 && x < window.cols && y >= 0 && y < window.rows;
        const uint64_t value = inside ? valueAtPosition(frame, batch, entry, settings.metric, x, y) / scale : 0;
        __syncthreads(); // the last step's values have been read
        if (threadIdx.x % 32 == 0)
            values[warp] = value;
        __syncthreads(); // this step's values are complete
        best = Best::none();
        const Position from = centre;
        for (int p = 0; p < 9; ++p)
        {
            const int px = from.x + (p % 3 - 1) * spread, py = from.y + (p / 3 - 1) * spread;
            if ((step == 0 && p != 4) || px < 0 || px >= window.cols || py < 0 || py >= window.rows)
                continue;
            best.take(values[p], py * window.cols + px);
        }
        centre = {best.index % window.cols, best.index / window.cols};
        if (step == 0)
            break;
    }
    if (threadIdx.x == 0)
        walked[e] = {best.value, best.index};
    const Peak peak = {best.value, centre.x, centre.y};
    if (settings.peaks == 1)
        report(out, entry.i, settings, entry.fragment, window, scale, &peak, 1,
               [&](int x, int y) { return values[4 + (x - centre.x) + 3 * (y - centre.y)]; });
}

} // namespace

namespace gpu {

void pack(const PackJob* jobs, int count, int channels, DeviceFragment* fragments, uint32_t* arena, cudaStream_t stream)
{
    detail::launch("pack", packKernel, dim3(count), dim3(tuning::PACK_THREADS), 0, stream, jobs, channels, fragments,
                   arena);
}

void walk(const ImageView& frame, const Batch& batch, const Settings& settings, Walked* walked, const Outputs& out,
          cudaStream_t stream)
{
    detail::launch("walk", walkKernel, dim3(batch.count), dim3(32 * tuning::WALK_WARPS), 0, stream, frame, batch,
                   settings, valueScale(settings.metric, batch.weighted), walked, out);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
