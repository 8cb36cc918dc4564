// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC by matrix instructions: converts image and templates to the operands of these.
//
// Cost in bytes: the image, read once and written once (another four bytes per pixel of three channels, seven if
// weighted), and 8 ceil((w + 7) / 16) 16 / w bytes written per byte of the templates.

#include "bands_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

const int THREADS = tuning::BAND_PREPARE_THREADS;

/** Stores what four pixels need besides their channels: one word per pixel or, with weights, the bytes of the sums of
their squares. */
template <bool WEIGHTED, int CHANNELS>
__device__ __forceinline__ void prepareSquares(const uint32_t (&channels)[CHANNELS], const BandPlan& plan,
                                               const BandMemory& memory, size_t at)
{
    uint32_t pixels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        pixels[k] = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
            pixels[k] |= (channels[c] >> (8 * k) & 0xff) << (8 * c);
    }
    if (!WEIGHTED)
    {
        *reinterpret_cast<uint4*>(memory.pixels + at) = make_uint4(pixels[0], pixels[1], pixels[2], pixels[3]);
        return;
    }
    uint32_t bytes[3] = {}; // bytes of the squares, high ones first
#pragma unroll
    for (int k = 0; k < 4; ++k)
    {
        const uint32_t squares = dot4(pixels[k], pixels[k], 0);
#pragma unroll
        for (int b = 0; b < 3; ++b)
            bytes[b] |= (squares >> (16 - 8 * b) & 0xff) << (8 * k);
    }
#pragma unroll
    for (int b = 0; b < 3; ++b)
        *reinterpret_cast<uint32_t*>(memory.planes + (CHANNELS + b) * plan.planeBytes + at) = bytes[b];
}

//! Stores four pixels of a row in all planes.
template <int STRIDE, bool WEIGHTED>
__device__ void preparePixels(const ByteImageView& frame, int x, int y, const BandPlan& plan, const BandMemory& memory)
{
    constexpr int CHANNELS = STRIDE == 1 ? 1 : 3;
    uint32_t words[STRIDE + 1];
    const uint32_t shift = loadPixels<STRIDE>(frame.data + static_cast<size_t>(plan.region.y + y) * frame.step,
                                              (plan.region.x + x) * STRIDE, frame.cols * STRIDE, words);
    const size_t at = static_cast<size_t>(y) * plan.pitch + x;
    uint32_t channels[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c)
    {
        channels[c] = planeWord<STRIDE>(words, 0, shift, c);
        *reinterpret_cast<uint32_t*>(memory.planes + c * plan.planeBytes + at) = channels[c];
    }
    if constexpr (WEIGHTED || CHANNELS > 1)
        prepareSquares<WEIGHTED>(channels, plan, memory, at);
}

//! Returns word k of row v of a plane (see bandPlanes()) of a template; 0 outside the template.
template <bool WEIGHTED>
__device__ __forceinline__ uint32_t templateWord(const uint32_t* arena, const DeviceFragment& fragment, int channels,
                                                 int plane, int v, int k)
{
    if (v >= fragment.height || k < 0 || k >= fragment.pitch)
        return 0;
    const size_t planeWords = static_cast<size_t>(fragment.pitch) * fragment.height;
    const uint32_t* const word = arena + fragment.words + static_cast<size_t>(v) * fragment.pitch + k;
    if (!WEIGHTED)
        return __ldg(word + plane * planeWords);
    const uint32_t weights = __ldg(word + channels * planeWords);
    if (plane == 2 * channels)
        return weights;
    uint32_t high, low;
    multiply4(__ldg(word + plane % channels * planeWords), weights, high, low);
    return plane < channels ? high : low;
}

//! Converts the image in the first `imageBlocks` blocks, four pixels per thread, and the templates in the others.
template <int STRIDE, bool WEIGHTED>
__global__ void __launch_bounds__(THREADS)
    prepareBandsKernel(const ByteImageView frame, const Batch batch, const BandPlan plan, const BandMemory memory,
                       const int imageBlocks, const int blocksEach)
{
    detail::letNextKernelBegin();
    if (static_cast<int>(blockIdx.x) < imageBlocks)
    {
        const int64_t item = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
        const int words = plan.pitch / 4, y = static_cast<int>(item / words), x = 4 * static_cast<int>(item % words);
        if (y < plan.region.height)
            preparePixels<STRIDE, WEIGHTED>(frame, x, y, plan, memory);
    }
    else
    {
        const int block = blockIdx.x - imageBlocks, e = block / blocksEach, first = block - e * blocksEach;
        const DeviceFragment& fragment = batch.fragments[batch.slots[fragmentOf(batch, e)]];
        const auto wordOf = [&](int plane, int v, int k)
        { return templateWord<WEIGHTED>(batch.arena, fragment, batch.channels, plane, v, k); };
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
    detail::waitForKernelBefore(); // so that kernels that wait for this one find what the one before has written
}

} // namespace

namespace gpu {

void prepareBands(const Job& job, const BandPlan& plan, const BandMemory& memory, bool early)
{
    const int stride = job.frame.pixelStride;
    const bool weighted = job.batch.weighted;
    const auto kernel = stride == 1   ? (weighted ? prepareBandsKernel<1, true> : prepareBandsKernel<1, false>)
                        : stride == 3 ? (weighted ? prepareBandsKernel<3, true> : prepareBandsKernel<3, false>)
                                      : (weighted ? prepareBandsKernel<4, true> : prepareBandsKernel<4, false>);
    const int64_t words = static_cast<int64_t>(plan.pitch / 4) * plan.region.height;
    const int imageBlocks = static_cast<int>(detail::ceilDiv<int64_t>(words, THREADS));
    const int each = tuning::BAND_PREPARE_WORDS * THREADS;
    const int blocksEach = static_cast<int>(std::max<size_t>(detail::ceilDiv<size_t>(plan.bandsEach, each), 1));
    const int64_t blocks = imageBlocks + static_cast<int64_t>(blocksEach) * job.batch.count;
    detail::launchAs(early, "prepareBands", kernel, detail::linearGrid(blocks, 1), dim3(THREADS), 0, job.stream,
                     job.frame, job.batch, plan, memory, imageBlocks, blocksEach);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
