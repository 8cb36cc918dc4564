// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stages listBorders, sortBorders and writePairs on CUDA. Bound by the sort of as many pairs as there are pixels at
// borders.
#include "cub_call.hpp"
#include "plan.hpp"
#include "../../common/launch.hpp"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <cub/warp/warp_scan.cuh>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int THREADS = 256;

//! Codes the pairs of pixel i's label with those right of and below it, where they differ. @return number of pairs, at
//! most 2.
__device__ __forceinline__ int bordersOf(const Extent& extent, const int* labels, const int* firsts, int i,
                                         unsigned long long (&pairs)[2])
{
    int n = 0;
    const int own = labels[i];
    const int right = i % extent.cols + 1 < extent.cols ? labels[i + 1] : -1;
    const int below = hasBelow(extent, i) ? labels[i + extent.cols] : -1;
    const int first = firsts ? firsts[i / extent.pixels()] : 0;
    if (own >= 0 && right >= 0 && right != own)
        pairs[n++] = adjacentLabels(first + own, first + right);
    if (own >= 0 && below >= 0 && below != own)
        pairs[n++] = adjacentLabels(first + own, first + below);
    return n;
}

/** Lists the pairs of all pixels in any order. @param pairs null: they are only counted. @param count out: number of
pairs, to be read as unsigned: two per pixel at most, so it fits 32 bits. */
__global__ void __launch_bounds__(THREADS)
    listLabelPairs(const Extent extent, const int* __restrict__ labels, const int* __restrict__ firsts,
                   unsigned long long* pairs, int* count)
{
    typedef cub::WarpScan<int> Scan;
    __shared__ Scan::TempStorage memory[THREADS / 32];
    const int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32;
    unsigned long long own[2];
    const int n = i < extent.total() ? bordersOf(extent, labels, firsts, i, own) : 0;
    int before = 0, all = 0, first = 0;
    Scan(memory[threadIdx.x / 32]).ExclusiveSum(n, before, all);
    if (lane == 0 && all > 0)
        first = atomicAdd(count, all);
    first = __shfl_sync(0xffffffffu, first, 0) + before;
    for (int k = 0; pairs && k < n; ++k)
        pairs[first + k] = own[k];
}

__global__ void __launch_bounds__(THREADS)
    unpackPairs(int count, const unsigned long long* __restrict__ pairs, const RowsView<int> out)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    out.row(i)[0] = static_cast<int>(pairs[i] >> 32);
    out.row(i)[1] = static_cast<int>(pairs[i]);
}

} // namespace

void listBorders(const Extent& extent, const int* labels, const int* firsts, uint64_t* pairs, int* count,
                 StreamHandle stream)
{
    detail::cudaCheck(cudaMemsetAsync(count, 0, sizeof(int), stream), "quick shift adjacency");
    detail::launch("quick shift adjacency", listLabelPairs, detail::linearGrid(extent.total(), THREADS), dim3(THREADS),
                   0, stream, extent, labels, firsts, reinterpret_cast<unsigned long long*>(pairs), count);
}

size_t sortBytesFor(int count)
{
    uint64_t* const none = nullptr;
    size_t sort = 0, unique = 0;
    callCub("quick shift adjacency", [&] { return cub::DeviceRadixSort::SortKeys(nullptr, sort, none, none, count); });
    callCub("quick shift adjacency",
            [&] { return cub::DeviceSelect::Unique(nullptr, unique, none, none, static_cast<int*>(nullptr), count); });
    return sort > unique ? sort : unique;
}

void sortBorders(int count, uint64_t* pairs, uint64_t* sorted, int* distinct, void* scratch, size_t scratchBytes,
                 StreamHandle stream)
{
    callCub("quick shift adjacency",
            [&] { return cub::DeviceRadixSort::SortKeys(scratch, scratchBytes, pairs, sorted, count, 0, 64, stream); });
    callCub("quick shift adjacency",
            [&] { return cub::DeviceSelect::Unique(scratch, scratchBytes, sorted, pairs, distinct, count, stream); });
}

void writePairs(int count, const uint64_t* pairs, RowsView<int> out, StreamHandle stream)
{
    detail::launch("quick shift adjacency", unpackPairs, detail::linearGrid(count, THREADS), dim3(THREADS), 0, stream,
                   count, reinterpret_cast<const unsigned long long*>(pairs), out);
}

}}}} // namespace cv::cuda::quick_shift::gpu
