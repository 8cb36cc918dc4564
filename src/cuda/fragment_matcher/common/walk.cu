// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, walk: three-step search. One block per fragment, one warp for each of the nine points of a step.
// Cost: 9 (log2(radius) + 2) positions of w x h pixels. Bound by latency: a step begins when the last one is known.

#include "../../../fragment_matcher/deep.hpp"
#include "device.hpp"
#include "stages.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

const int POINTS = 9; //!< points of a step, in the order of their raster indices

/** Returns the value of a position by its definition, to all lanes of a warp. Sums and, as ZNCC is computed in 128 bits,
values are exact for images of 8 and of 16 bits. */
__device__ uint64_t valueOf(const ByteImageView& frame, const Batch& batch, const Entry& entry, Metric metric, int x,
                            int y)
{
    const DeviceFragment& fragment = entry.fragment;
    const bool deep = frame.deep();
    const int channels = batch.channels;
    const size_t planeBytes = static_cast<size_t>(fragment.pitch) * fragment.height * 4;
    uint64_t differences = 0;
    DeepSums sums = {};
    int row = 0, column = threadIdx.x % 32;
    for (;; column += 32)
    {
        for (; column >= fragment.width; column -= fragment.width)
            ++row;
        if (row >= fragment.height)
            break;
        const uint8_t* const templ = reinterpret_cast<const uint8_t*>(batch.arena + fragment.words) +
                                     static_cast<size_t>(row) * fragment.pitch * 4 + column;
        const uint8_t* const pixel = frame.pixel(entry.window.x + x + column, entry.window.y + y + row);
        const uint64_t q = templ[gpu::templateBytes(channels, deep) * planeBytes];
#pragma unroll
        for (int c = 0; c < 3; ++c)
        {
            if (c >= channels)
                break;
            const uint64_t image = deep ? reinterpret_cast<const uint16_t*>(pixel)[c] : pixel[c];
            const uint64_t other =
                deep ? templ[c * planeBytes] << 8 | templ[(channels + c) * planeBytes] : templ[c * planeBytes];
            const uint64_t difference = image > other ? image - other : other - image;
            differences += q * (isLinear(metric) ? difference : difference * difference);
            sums.cross += q * image * other;
            sums.squares += q * image * image;
            sums.image[c] += q * image;
        }
    }
    if (!isCorrelation(metric))
        return detail::sumOfWarp(differences) / valueScale(metric, batch.weighted);
    sums = {detail::sumOfWarp(sums.cross),
            detail::sumOfWarp(sums.squares),
            {detail::sumOfWarp(sums.image[0]), detail::sumOfWarp(sums.image[1]), detail::sumOfWarp(sums.image[2])}};
    return znccToValue(deepZnccScore(sums, fragment.sums, channels, deepDeviation(fragment.sums)));
}

__global__ void __launch_bounds__(32 * POINTS)
    walkKernel(const ByteImageView frame, const Batch batch, const Settings settings, Best* walked, const Outputs out)
{
    __shared__ uint64_t values[POINTS];
    const int e = blockIdx.x, point = threadIdx.x / 32;
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
    const SearchWindow& window = entry.window;
    Position centre = walkStart(window, static_cast<bool>(batch.predictions),
                                batch.predictions ? *batch.predictions.row(entry.i) : Position{0, 0});
    // The last round, of step 0, evaluates the result and its neighbours, whose values sub-pixel positions need.
    for (int step = firstStep(walkReach(window, centre));; step /= 2)
    {
        const int spread = step > 0 ? step : 1;
        const int x = centre.x + (point % 3 - 1) * spread, y = centre.y + (point / 3 - 1) * spread;
        const bool inside = x >= 0 && x < window.cols && y >= 0 && y < window.rows;
        const uint64_t value = inside ? valueOf(frame, batch, entry, settings.metric, x, y) : ~0ull;
        if (threadIdx.x % 32 == 0)
            values[point] = value;
        __syncthreads(); // the values are complete
        if (step == 0)
            break;
        int best = 0;
        for (int p = 1; p < POINTS; ++p)
            if (values[p] < values[best])
                best = p;
        centre.x += (best % 3 - 1) * step, centre.y += (best / 3 - 1) * step;
        __syncthreads(); // the values have been read
    }
    const uint64_t found = values[POINTS / 2];
    if (threadIdx.x == 0)
        walked[e] = {found, centre.y * window.cols + centre.x};
    const Peak<uint64_t> peak = {found, centre.x, centre.y};
    if (settings.peaks == 1 && point == 0)
        report(out, entry.i, settings, entry.fragment, window, valueScale(settings.metric, batch.weighted), &peak, 1,
               [&](int x, int y) { return values[POINTS / 2 + (x - centre.x) + 3 * (y - centre.y)]; });
}

} // namespace

namespace gpu {

void walk(const ByteImageView& frame, const Batch& batch, const Settings& settings, Best* walked, const Outputs& out,
          StreamHandle stream)
{
    detail::launch("walk", walkKernel, detail::linearGrid(batch.count, 1), dim3(32 * POINTS), 0, stream, frame, batch,
                   settings, walked, out);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
