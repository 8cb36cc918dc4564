// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, walk: three-step search.

#include "device.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

const int WARPS = 9; // per block, one per point of a step

//! Returns the value of one position to all lanes of a warp; without weights, sums include the factor 255. Sums of 64
//! bits, terms of at most 255^3; see MAX_DEEP_SAMPLES.
template <bool DEEP, bool CORRELATION>
__device__ uint64_t valueAtPosition(const ByteImageView& frame, const Batch& batch, const Entry& entry, Metric metric,
                                    int x, int y)
{
    const DeviceFragment& fragment = entry.fragment;
    const size_t planeBytes = static_cast<size_t>(fragment.pitch) * fragment.height * 4;
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(batch.arena + fragment.words);
    uint64_t differences = 0, image[3] = {}, squares = 0, cross = 0;
    // A lane takes every 32nd pixel, whatever the width: it steps `down` rows and `right` columns.
    const int width = fragment.width, pixels = width * fragment.height, lane = threadIdx.x % 32;
    const int down = 32 / width, right = 32 - down * width;
    int r = lane / width, k = lane - r * width;
#pragma unroll 4 // loads of several pixels at once
    for (int i = lane; i < pixels; i += 32)
    {
        const size_t at = static_cast<size_t>(r) * fragment.pitch * 4 + k;
        const uint8_t* pixel = frame.pixel(entry.window.x + x + k, entry.window.y + y + r);
        const std::conditional_t<DEEP, uint64_t, int> q =
            bytes[gpu::templateBytes(batch.channels, DEEP) * planeBytes + at];
#pragma unroll
        for (int c = 0; c < 3; ++c)
        {
            if (c >= batch.channels)
                break;
            int value = pixel[c], templ = bytes[c * planeBytes + at];
            if (DEEP)
            {
                value = reinterpret_cast<const uint16_t*>(pixel)[c];
                templ = templ << 8 | bytes[(batch.channels + c) * planeBytes + at];
            }
            if (CORRELATION)
            {
                image[c] += q * value;
                squares += q * value * value;
                cross += q * value * templ;
            }
            else
            {
                const uint32_t difference = value - templ; // the square of 16 bits is exact modulo 2^32
                differences += q * (DEEP ? difference * difference : differenceOf(metric, value, templ));
            }
        }
        k += right, r += down;
        if (k >= width)
            k -= width, ++r;
    }
    if (!CORRELATION)
        return detail::sumOfWarp(differences);
    if (DEEP)
    {
        const DeepSums sums = {detail::sumOfWarp(cross),
                               detail::sumOfWarp(squares),
                               {detail::sumOfWarp(image[0]), detail::sumOfWarp(image[1]), detail::sumOfWarp(image[2])}};
        return znccToValue(deepZnccScore(sums, fragment.sums, batch.channels, deepDeviation(fragment.sums)));
    }
    uint64_t n = fragment.sums.W * detail::sumOfWarp(cross), v = fragment.sums.W * detail::sumOfWarp(squares);
#pragma unroll
    for (int c = 0; c < 3; ++c)
    {
        const uint64_t sum = detail::sumOfWarp(image[c]);
        n -= sum * fragment.sums.qT[c];
        v -= sum * sum;
    }
    return znccToValue(znccScore(static_cast<int64_t>(n), static_cast<int64_t>(v), fragment.variance));
}

/** Searches one fragment per block, with one warp for each of the 9 points of a step. Cost: 9 (log2(radius) + 2)
positions of w x h pixels. */
template <bool DEEP, bool CORRELATION>
__global__ void __launch_bounds__(32 * WARPS)
    walkKernel(const ByteImageView frame, const Batch batch, const Settings settings, const int scale, Best* walked,
               const Outputs out)
{
    __shared__ uint64_t values[WARPS];
    const int e = blockIdx.x, warp = threadIdx.x / 32;
    Entry entry;
    const int status = openEntry(frame, batch, e, entry);
    if (status != STATUS_FOUND)
    {
        if (threadIdx.x == 0)
        {
            if (settings.peaks == 1)
                reportNothing(out, entry.i, 1, status);
            walked[e] = Best::none();
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
    // step 0 evaluates the neighbours of the result, whose values sub-pixel offsets need
    for (int step = reach > 0 ? firstStep(reach) : 0;; step /= 2)
    {
        const int spread = step > 0 ? step : 1;
        const int x = centre.x + (warp % 3 - 1) * spread, y = centre.y + (warp / 3 - 1) * spread;
        const bool inside = x >= 0 && x < window.cols && y >= 0 && y < window.rows;
        const uint64_t value =
            inside ? valueAtPosition<DEEP, CORRELATION>(frame, batch, entry, settings.metric, x, y) / scale : 0;
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
        walked[e] = best;
    const Peak<uint64_t> peak = {best.value, centre.x, centre.y};
    if (settings.peaks == 1)
        report(out, entry.i, settings, entry.fragment, window, scale, &peak, 1,
               [&](int x, int y) { return values[4 + (x - centre.x) + 3 * (y - centre.y)]; });
}

} // namespace

namespace gpu {

void walk(const ByteImageView& frame, const Batch& batch, const Settings& settings, Best* walked, const Outputs& out,
          StreamHandle stream)
{
    const auto kernel = isCorrelation(settings.metric)
                            ? (frame.deep() ? walkKernel<true, true> : walkKernel<false, true>)
                            : (frame.deep() ? walkKernel<true, false> : walkKernel<false, false>);
    detail::launch("walk", kernel, detail::linearGrid(batch.count, 1), dim3(32 * WARPS), 0, stream, frame, batch,
                   settings, valueScale(settings.metric, batch.weighted), walked, out);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
