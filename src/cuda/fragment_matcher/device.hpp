// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code that kernels share: reductions of a warp, report, the fragment of a block.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP

#include "sums.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

// --- reductions ------------------------------------------------------------------------------------------
// Not cub::WarpReduce: all lanes want the result, which it gives to lane 0 only, and the least value with its index takes the
// hardware's reductions of 32 bits, which it has for single numbers.

//! The least value, and of equal ones the least index, of a warp. Value: what values fit into.
template <typename Value> __device__ __forceinline__ Best warpBest(Best best)
{
    // CUDA 12.4's ptxas compares with a register that nothing wrote where a reduction is the upper half of 64 bits.
#if __CUDA_ARCH__ >= 800 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205
    uint32_t leastHigh = 0, low = static_cast<uint32_t>(best.value);
    if (sizeof(Value) > 4)
    {
        const uint32_t high = static_cast<uint32_t>(best.value >> 32);
        leastHigh = __reduce_min_sync(~0u, high);
        low = high == leastHigh ? low : ~0u;
        if (high != leastHigh)
            best.index = Best::NONE;
    }
    const uint32_t leastLow = __reduce_min_sync(~0u, low);
    const int index = __reduce_min_sync(~0u, low == leastLow ? best.index : Best::NONE);
    return {static_cast<uint64_t>(leastHigh) << 32 | leastLow, index};
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
    {
        const uint64_t value = __shfl_xor_sync(~0u, best.value, distance);
        best.take(value, __shfl_xor_sync(~0u, best.index, distance));
    }
    return best;
#endif
}

//! The best of the first `warps` entries of `bests`, for a warp.
template <typename Value> __device__ __forceinline__ Best warpBestOf(const Best* bests, int warps)
{
    const int lane = threadIdx.x % 32;
    return warpBest<Value>(lane < warps ? bests[lane] : Best::none());
}

//! True when (x, y) lies outside the zones of the first `count` peaks.
__device__ __forceinline__ bool allowed(int x, int y, const Peak<uint64_t>* peaks, int count, int distance,
                                        int exclusion)
{
#pragma unroll 1
    for (int j = 0; j < count; ++j)
        if (!outsideZone(x - peaks[j].x, y - peaks[j].y, distance, exclusion))
            return false;
    return true;
}

//! Sum of a warp, in all lanes.
__device__ __forceinline__ uint64_t warpSum(uint64_t sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(~0u, sum, distance);
    return sum;
}

// --- report ----------------------------------------------------------------------------------------------------------

/** Writes fragment i's outputs; the first warp takes part. `valueAt(x, y)`: the value of a
position of the window. Entries of peaks beyond `count` need not be set. */
template <typename ValueAt>
__device__ void report(const Outputs& out, int i, const Settings& settings, const DeviceFragment& fragment,
                       const SearchWindow& window, int scale, const Peak<uint64_t>* peaks, int count, ValueAt valueAt)
{
    const int j = threadIdx.x;
    if (j < settings.peaks)
    {
        const bool found = j < count;
        const int x = found ? peaks[j].x : 0, y = found ? peaks[j].y : 0;
        const Position location = {found ? window.x + x : -1, found ? window.y + y : -1};
        if (out.locations)
            out.locations.row(i)[j] = location;
        if (out.scores)
            out.scores.row(i)[j] = found ? scoreOf(scale * peaks[j].value, settings.metric, fragment.sums.W) : 0.f;
        if (out.refined)
        {
            Offset2 refined = {static_cast<float>(location.x), static_cast<float>(location.y)};
            if (found && settings.subpixel)
            {
                const uint64_t at = scale * peaks[j].value;
                if (x > 0 && x < window.cols - 1)
                    refined.x +=
                        subpixelOffset(scale * valueAt(x - 1, y), at, scale * valueAt(x + 1, y), settings.metric);
                if (y > 0 && y < window.rows - 1)
                    refined.y +=
                        subpixelOffset(scale * valueAt(x, y - 1), at, scale * valueAt(x, y + 1), settings.metric);
            }
            out.refined.row(i)[j] = refined;
        }
    }
    if (j == 0)
    {
        if (out.confidence)
            *out.confidence.row(i) =
                count > 1 ? confidenceOf(scale * peaks[0].value, scale * peaks[1].value, settings.metric) : -1.f;
        if (out.status)
            *out.status.row(i) =
                isCorrelation(settings.metric) && fragment.variance == 0 ? STATUS_FLAT_FRAGMENT : STATUS_FOUND;
    }
}

//! What a block works on.
struct Entry
{
    int i; //!< fragment
    DeviceFragment fragment;
    SearchWindow window;
};

__device__ __forceinline__ int fragmentOf(const Batch& batch, int e)
{
    return batch.list ? batch.list[batch.first + e] : batch.first + e;
}

//! The area of fragment i, cut by the frame.
__device__ __forceinline__ Rect4 areaOf(const ByteImageView& frame, const Batch& batch, int i)
{
    const Rect4 whole = {0, 0, frame.cols, frame.rows};
    return batch.areas ? clipToFrame(*batch.areas.row(i), frame.cols, frame.rows) : whole;
}

__device__ __forceinline__ int statusOf(const Entry& entry, const Rect4& area, const Batch& batch)
{
    if (entry.window.cols == 0 || entry.fragment.sums.W == 0)
        return STATUS_NO_POSITION;
    return area.width > batch.limitWidth || area.height > batch.limitHeight ? STATUS_AREA_TOO_LARGE : STATUS_FOUND;
}

//! Entry e, and the status to report when there is nothing to search.
__device__ __forceinline__ int openEntry(const ByteImageView& frame, const Batch& batch, int e, Entry& entry)
{
    entry.i = fragmentOf(batch, e);
    const Rect4 area = areaOf(frame, batch, entry.i);
    entry.fragment = batch.fragments[batch.slots[entry.i]];
    entry.window = searchWindow(area, entry.fragment.width, entry.fragment.height);
    return statusOf(entry, area, batch);
}

//! The same by a block in two steps, so that the loads of the first run beside other work: a word a thread, ...
__device__ __forceinline__ uint32_t loadFragment(const Batch& batch, int i)
{
    const uint32_t* words = reinterpret_cast<const uint32_t*>(batch.fragments + batch.slots[i]);
    return threadIdx.x < sizeof(DeviceFragment) / sizeof(uint32_t) ? __ldg(words + threadIdx.x) : 0;
}

//! ... and then by the first warp, to shared memory. area: of fragment i.
__device__ __forceinline__ void openEntry(const Batch& batch, int i, const Rect4& area, uint32_t fragmentWord,
                                          Entry* entry, int* status)
{
    static_assert(sizeof(DeviceFragment) <= 32 * sizeof(uint32_t), "a word a lane");
    if (threadIdx.x >= 32)
        return;
    if (threadIdx.x < sizeof(DeviceFragment) / sizeof(uint32_t))
        reinterpret_cast<uint32_t*>(&entry->fragment)[threadIdx.x] = fragmentWord;
    __syncwarp(); // the fragment is complete
    if (threadIdx.x == 0)
    {
        entry->i = i;
        entry->window = searchWindow(area, entry->fragment.width, entry->fragment.height);
        *status = statusOf(*entry, area, batch);
    }
}

/** What blocks of fused kernels begin with: entry blockIdx.x, which is fragment i, to scratch->entry, while fetch(area) starts to
copy the image. Has a barrier. @param plan has the largest area. @return false when there is nothing to search: that is reported. */
template <class Plan, class Scratch, class Fetch>
__device__ __forceinline__ bool openBlock(const ByteImageView& frame, const Batch& batch, const Settings& settings,
                                          const Plan& plan, const Outputs& out, Scratch* scratch, int& i, Rect4& area,
                                          const Fetch& fetch)
{
    i = fragmentOf(batch, blockIdx.x);
    const uint32_t fragmentWord = loadFragment(batch, i);
    area = areaOf(frame, batch, i);
    if (area.width <= plan.areaWidth && area.height <= plan.areaHeight) // larger ones are not found in any case
        fetch(area);
    openEntry(batch, i, area, fragmentWord, &scratch->entry, &scratch->status);
    __syncthreads(); // the entry is complete
    if (scratch->status == STATUS_FOUND)
        return true;
    __pipeline_wait_prior(0); // no block ends while copies to its shared memory are on their way
    if (threadIdx.x == 0)
        reportNothing(out, i, settings.peaks, scratch->status);
    return false;
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP
