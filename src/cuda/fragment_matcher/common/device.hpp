// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code that kernels share: reductions of a warp, report, access to the fragment of a block.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP

#include "../../../common/warp.hpp"
#include "../../../fragment_matcher/subpixel.hpp"
#include "sums.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

// --- reductions ------------------------------------------------------------------------------------------
// cub::WarpReduce is not used: it gives the result to lane 0 only, and it uses the hardware's 32-bit reductions for
// single integers, not for a value with its index.

//! Returns the least value of a warp with its index, the least index on equal values. Value: unsigned integer that
//! values fit into.
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

//! Returns the best of the first `warps` entries of `bests` to all lanes of a warp.
template <typename Value> __device__ __forceinline__ Best warpBestOf(const Best* bests, int warps)
{
    const int lane = threadIdx.x % 32;
    return warpBest<Value>(lane < warps ? bests[lane] : Best::none());
}

//! Returns true if (x, y) lies outside the zones of the first `count` peaks.
__device__ __forceinline__ bool allowed(int x, int y, const Peak<uint64_t>* peaks, int count, int distance,
                                        int exclusion)
{
#pragma unroll 1
    for (int j = 0; j < count; ++j)
        if (!outsideZone(x - peaks[j].x, y - peaks[j].y, distance, exclusion))
            return false;
    return true;
}

// --- report ----------------------------------------------------------------------------------------------------------

/** Writes fragment i's outputs; for the threads of the first warp. Entries of `peaks` beyond `count` need not be set.
@param valueAt valueAt(x, y) returns the value of a position of the window. */
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
                    refined.x += subpixelOffset(scale * valueAt(x - 1, y), at, scale * valueAt(x + 1, y),
                                                settings.metric, settings.subpixelFit);
                if (y > 0 && y < window.rows - 1)
                    refined.y += subpixelOffset(scale * valueAt(x, y - 1), at, scale * valueAt(x, y + 1),
                                                settings.metric, settings.subpixelFit);
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

//! The fragment and the search window that a block works on.
struct Entry
{
    int i; //!< index of the fragment
    DeviceFragment fragment;
    SearchWindow window;
};

//! Returns the index of the fragment of entry e.
__device__ __forceinline__ int fragmentOf(const Batch& batch, int e)
{
    return batch.list ? batch.list[batch.first + e] : batch.first + e;
}

//! Returns the area of fragment i, clipped to the frame.
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

//! Reads entry e. @return the status to report if there is nothing to search, else STATUS_FOUND.
__device__ __forceinline__ int openEntry(const ByteImageView& frame, const Batch& batch, int e, Entry& entry)
{
    entry.i = fragmentOf(batch, e);
    const Rect4 area = areaOf(frame, batch, entry.i);
    entry.fragment = batch.fragments[batch.slots[entry.i]];
    entry.window = searchWindow(area, entry.fragment.width, entry.fragment.height);
    return statusOf(entry, area, batch);
}

//! Loads the fragment of an entry, one word per thread: the first of two steps, so that its loads run concurrently with
//! other work.
__device__ __forceinline__ uint32_t loadFragment(const Batch& batch, int i)
{
    const uint32_t* words = reinterpret_cast<const uint32_t*>(batch.fragments + batch.slots[i]);
    return threadIdx.x < sizeof(DeviceFragment) / sizeof(uint32_t) ? __ldg(words + threadIdx.x) : 0;
}

//! Completes the entry in shared memory, by the first warp. @param area area of fragment i. @param fragmentWord from
//! loadFragment().
__device__ __forceinline__ void openEntry(const Batch& batch, int i, const Rect4& area, uint32_t fragmentWord,
                                          Entry* entry, int* status)
{
    static_assert(sizeof(DeviceFragment) <= 32 * sizeof(uint32_t), "one word per lane");
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

/** Opens a block of a fused kernel: reads entry blockIdx.x, which is fragment i, to scratch->entry, while fetch(area)
starts to copy the image. Contains a barrier. @param plan holds the largest area. @return false if there is nothing to
search, after reporting that. */
template <class Plan, class Scratch, class Fetch>
__device__ __forceinline__ bool openBlock(const ByteImageView& frame, const Batch& batch, const Settings& settings,
                                          const Plan& plan, const Outputs& out, Scratch* scratch, int& i, Rect4& area,
                                          const Fetch& fetch)
{
    i = fragmentOf(batch, blockIdx.x);
    const uint32_t fragmentWord = loadFragment(batch, i);
    area = areaOf(frame, batch, i);
    if (area.width <= plan.areaWidth && area.height <= plan.areaHeight) // larger areas are refused
        fetch(area);
    openEntry(batch, i, area, fragmentWord, &scratch->entry, &scratch->status);
    __syncthreads(); // the entry is complete
    if (scratch->status == STATUS_FOUND)
        return true;
    __pipeline_wait_prior(0); // a block must not end while copies to its shared memory are pending
    if (threadIdx.x == 0)
        reportNothing(out, i, settings.peaks, scratch->status);
    return false;
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_DEVICE_HPP
