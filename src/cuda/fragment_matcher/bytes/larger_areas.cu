// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, listLargerAreas: search areas on the device that are larger than a call expects, and the size that
// the next calls expect. One block, bound by latency.

#include "../common/device.hpp"
#include "../common/few_areas.hpp"
#include "larger_areas.hpp"
#include <cub/block/block_scan.cuh>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;
using gpu::LargerAreas;

//! Threads of the block for few fragments, whose barriers take less time, and for many.
const int FEW_THREADS = tuning::FEW_AREAS, MANY_THREADS = 1024;

//! Numbers of windows and of their tiles.
struct Counts
{
    int windows;
    long long tiles;
};

__device__ __forceinline__ Counts operator+(const Counts& a, const Counts& b)
{
    return {a.windows + b.windows, a.tiles + b.tiles};
}

//! An entry, as far as the list needs it.
struct Looked
{
    int i; //!< index of the fragment
    Rect4 area;
    bool searched;
    int tilesX;
    Counts larger; //!< the window, if it is larger than expected
};

__device__ __forceinline__ Looked lookAt(const ByteImageView& frame, const Batch& batch, Extent expected, int e)
{
    Looked looked = {};
    if (e >= batch.count)
        return looked;
    Entry entry;
    looked.searched = openEntry(frame, batch, e, entry) == STATUS_FOUND;
    looked.i = entry.i;
    looked.area = areaOf(frame, batch, entry.i);
    looked.tilesX = detail::ceilDiv(entry.window.cols, tuning::TILE_COLS);
    if (looked.searched && (looked.area.width > expected.width || looked.area.height > expected.height))
        looked.larger = {1,
                         static_cast<long long>(looked.tilesX) * detail::ceilDiv(entry.window.rows, tuning::TILE_ROWS)};
    return looked;
}

template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    listLargerKernel(const ByteImageView frame, const Batch batch, const LargerAreas larger)
{
    using Scan = cub::BlockScan<Counts, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage storage;
    __shared__ int largest[2]; // width, height
    detail::letNextKernelBegin();
    Looked looked = lookAt(frame, batch, larger.expected, threadIdx.x); // no kernel of the call writes what this reads
    detail::waitForKernelBefore(); // memory of its own may be the same as that of the list
    if (threadIdx.x < 2)
        largest[threadIdx.x] = 0;
    Counts before = {0, 0};
    int width = 0, height = 0;
    for (int first = 0; first < batch.count; first += THREADS)
    {
        const int e = first + threadIdx.x;
        if (first > 0)
            looked = lookAt(frame, batch, larger.expected, e);
        if (e < batch.count)
            larger.areas[looked.i] = looked.area;
        if (looked.searched)
        {
            width = ::max(width, looked.area.width);
            height = ::max(height, looked.area.height);
        }
        const Counts mine = looked.larger;
        if (__syncthreads_or(mine.windows)) // most often there are none. A barrier: `largest` is 0
        {
            Counts to, all;
            Scan(storage).InclusiveSum(mine, to, all);
            if (mine.windows > 0)
            {
                const int k = before.windows + to.windows - 1;
                larger.windows[k] = {e, looked.tilesX};
                larger.tilesTo[k] = before.tiles + to.tiles;
            }
            before = before + all;
            __syncthreads(); // storage can be used again
        }
    }
    if (width > 0)
    {
        atomicMax(largest, width);
        atomicMax(largest + 1, height);
    }
    for (int slot = threadIdx.x; slot < larger.slots; slot += THREADS)
        larger.done[slot] = 0;
    __syncthreads(); // `largest` is complete
    if (threadIdx.x > 0)
        return;
    *larger.counts = {before.tiles, before.windows, 0};
    const unsigned long long both =
        static_cast<unsigned long long>(largest[0]) << 32 | static_cast<unsigned>(largest[1]);
    if (both != larger.known) // the next kernel would wait for the way to the host
        *const_cast<volatile unsigned long long*>(larger.largest) = both; // in one access: it may be read at any time
}

} // namespace

namespace gpu {

void listLargerAreas(const Job& job, const LargerAreas& larger)
{
    const bool few = job.batch.count <= tuning::FEW_AREAS;
    detail::launchEarly("listLargerAreas", few ? listLargerKernel<FEW_THREADS> : listLargerKernel<MANY_THREADS>,
                        dim3(1), dim3(few ? FEW_THREADS : MANY_THREADS), 0, job.stream, job.frame, job.batch, larger);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
