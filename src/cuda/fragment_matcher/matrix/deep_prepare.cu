// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC of 16 bits by matrix instructions: converts image and templates to the operands of
// these.
//
// Cost in bytes: the image, read once and written once (with weights another five bytes per pixel), and
// 8 ceil((w + 7) / 16) 16 / w bytes written per byte of the templates, with weights three bytes for two.

#include "bands_device.hpp"
#include "deep_bands.hpp"
#include "deep_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::DeepMemory;
using gpu::DeepPlan;

const int THREADS = tuning::BAND_PREPARE_THREADS;

//! Returns word k of row v of a plane of bands (gpu::deepBandPlanes()) of a template; 0 outside the template.
template <bool WEIGHTED>
__device__ __forceinline__ uint32_t templateWord(const uint32_t* arena, const DeviceFragment& fragment, int channels,
                                                 bool deep, int plane, int v, int k)
{
    if (v >= fragment.height || k < 0 || k >= fragment.pitch)
        return 0;
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const uint32_t* const word = arena + fragment.words + static_cast<size_t>(v) * fragment.pitch + k;
    const auto wordOf = [&](int of) // of 8 bits there are no planes of high bytes
    {
        return deep ? __ldg(word + of * planeWords) : of < channels ? 0 : __ldg(word + (of - channels) * planeWords);
    };
    if (!WEIGHTED)
        return wordOf(plane);
    const uint32_t weights = wordOf(2 * channels);
    if (plane == 3 * channels)
        return weights;
    const int byte = plane / channels, c = plane - byte * channels;
    return productBytes(wordOf(c), wordOf(channels + c), weights, byte);
}

//! Converts the image in the first `imageBlocks` blocks, four pixels per thread, and the templates in the others.
template <bool WEIGHTED, int CHANNELS>
__global__ void __launch_bounds__(THREADS)
    prepareDeepKernel(const ByteImageView frame, const Batch batch, const BandPlan plan, const BandMemory memory,
                      const int imageBlocks, const int blocksEach)
{
    if (static_cast<int>(blockIdx.x) < imageBlocks)
    {
        const int64_t item = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
        const int words = plan.pitch / 4, y = static_cast<int>(item / words), x = 4 * static_cast<int>(item % words);
        if (y < plan.region.height)
            storePixels<WEIGHTED, CHANNELS>(frame, plan.region, x, y, plan.planeBytes,
                                            memory.planes + static_cast<size_t>(y) * plan.pitch + x);
        return;
    }
    const int block = blockIdx.x - imageBlocks, e = block / blocksEach, first = block - e * blocksEach;
    const DeviceFragment& fragment = batch.fragments[batch.slots[fragmentOf(batch, e)]];
    const auto wordOf = [&](int plane, int v, int k)
    { return templateWord<WEIGHTED>(batch.arena, fragment, batch.channels, frame.deep(), plane, v, k); };
    const uint32_t step = blocksEach * THREADS, words = static_cast<uint32_t>(plan.bandsEach);
    for (uint32_t item = first * THREADS + threadIdx.x; item < words; item += step)
        memory.bands[e * plan.bandsEach + item] = bandWord(plan, item, wordOf);
    if (first == 0 && threadIdx.x == 0)
    {
        Entry entry;
        const int status = openEntry(frame, batch, e, entry);
        memory.entries[e] = {entry.i, status, entry.window, entry.fragment};
    }
}

} // namespace

namespace gpu {

void prepareDeepBands(const Job& job, const DeepPlan& plan, const DeepMemory& memory)
{
    const bool weighted = job.batch.weighted;
    const auto kernel = job.batch.channels == 1 ? (weighted ? prepareDeepKernel<true, 1> : prepareDeepKernel<false, 1>)
                                                : (weighted ? prepareDeepKernel<true, 3> : prepareDeepKernel<false, 3>);
    const int64_t words = static_cast<int64_t>(plan.bands.pitch / 4) * plan.bands.region.height;
    const int imageBlocks = static_cast<int>(detail::ceilDiv<int64_t>(words, THREADS));
    const int each = tuning::BAND_PREPARE_WORDS * THREADS;
    const int blocksEach = static_cast<int>(detail::ceilDiv<size_t>(plan.bands.bandsEach, each));
    const int64_t blocks = imageBlocks + static_cast<int64_t>(blocksEach) * job.batch.count;
    detail::launch("prepareDeep", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), 0, job.stream, job.frame,
                   job.batch, plan.bands, memory.bands, imageBlocks, blocksEach);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
