// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// sumTables: summed-area tables of pixels and of their squares.
//
//   sumTableStrips   one strip per block: sums over all rows above come from groups and strips of preprocess(), sums
//                    along rows from a scan in the block; each entry is written once
//
// Cost per pixel: 1 byte read, 8 written. Bound by the writes.
#include "objects.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int ROWS = tuning::STRIP, WARPS = tuning::TABLE_THREADS / 32;

//! Adds the sums of all rows above a strip to two columns.
__device__ __forceinline__ void addAbove(const Batch& batch, int strip, int x, int2 (&base)[2])
{
    const int group = strip / STRIPS;
    const auto add = [&](const int2* row)
    {
        const int4 both = *reinterpret_cast<const int4*>(row + x);
        base[0].x += both.x;
        base[0].y += both.y;
        base[1].x += both.z;
        base[1].y += both.w;
    };
#pragma unroll 6
    for (int g = 0; g < group; ++g)
        add(batch.groups + static_cast<size_t>(g) * batch.stripStep);
#pragma unroll 7
    for (int s = group * STRIPS; s < strip; ++s)
        add(batch.strips + static_cast<size_t>(s) * batch.stripStep);
}

//! Two columns of a strip, and their sums over all rows above.
struct Columns
{
    unsigned pixels[ROWS]; //!< of both columns, a byte each, per row
    int2 above[2];

    //! Adds row r of column k to a sum.
    __device__ __forceinline__ void add(int r, int k, int2& sum, bool inside) const
    {
        const int value = inside ? static_cast<int>(pixels[r] >> 8 * k & 255u) - 128 : 0;
        sum.x += value;
        sum.y += value * value;
    }
};

//! Sums, per row, over the columns of the warp to the left of this thread, and over the whole warp.
__device__ __forceinline__ void scanWarp(const Columns& columns, const bool (&inside)[2], int rows,
                                         int2 (&before)[ROWS], int2* totals)
{
    const int lane = threadIdx.x & 31;
    int2 own = make_int2(columns.above[0].x + columns.above[1].x, columns.above[0].y + columns.above[1].y);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
    {
        columns.add(r, 0, own, inside[0] && r < rows);
        columns.add(r, 1, own, inside[1] && r < rows);
        int2 sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
        {
            const int x = __shfl_up_sync(0xffffffffu, sum.x, d), y = __shfl_up_sync(0xffffffffu, sum.y, d);
            sum.x += lane >= d ? x : 0;
            sum.y += lane >= d ? y : 0;
        }
        before[r] = make_int2(sum.x - own.x, sum.y - own.y);
        if (lane == 31)
            totals[r * WARPS + (threadIdx.x >> 5)] = sum;
    }
}

//! Converts totals of warps to sums over all columns before each warp, one row per half warp.
__device__ __forceinline__ void scanTotals(int2* totals, int2* carry)
{
    static_assert(WARPS == 16, "half a warp per row");
    if (threadIdx.x >= ROWS * WARPS)
        return;
    const int r = static_cast<int>(threadIdx.x) / WARPS, w = static_cast<int>(threadIdx.x) % WARPS;
    const int2 own = totals[threadIdx.x], base = carry[r];
    int2 sum = own;
#pragma unroll
    for (int d = 1; d < WARPS; d *= 2)
    {
        const int a = __shfl_up_sync(0xffffffffu, sum.x, d, WARPS), b = __shfl_up_sync(0xffffffffu, sum.y, d, WARPS);
        sum.x += w >= d ? a : 0;
        sum.y += w >= d ? b : 0;
    }
    totals[threadIdx.x] = make_int2(base.x + sum.x - own.x, base.y + sum.y - own.y);
    __syncwarp(); // the carry was read
    if (w == WARPS - 1)
        carry[r] = make_int2(base.x + sum.x, base.y + sum.y);
}

//! Writes the tables of one strip per block, two columns per thread. Bounds registers, so that all strips run at once.
__global__ void __launch_bounds__(tuning::TABLE_THREADS, 2) sumTableStrips(const __grid_constant__ Batch batch)
{
    beginEarly();
    __shared__ int2 totals[ROWS * WARPS], carry[ROWS];
    const int strip = blockIdx.x, y0 = strip * ROWS, rows = ::min(ROWS, batch.rows - y0);
    const uint8_t* const gray =
        batch.level(batch.ring->slot[SPARE], 0) + static_cast<size_t>(y0) * batch.levels.step[0];
    if (threadIdx.x < ROWS)
        carry[threadIdx.x] = make_int2(0, 0);
    for (int x0 = 0; x0 <= batch.cols; x0 += 2 * tuning::TABLE_THREADS)
    {
        const int x = x0 + 2 * static_cast<int>(threadIdx.x);
        const bool inside[2] = {x < batch.cols, x + 1 < batch.cols};
        Columns columns = {};
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (inside[0] && r < rows)
                columns.pixels[r] =
                    *reinterpret_cast<const uint16_t*>(gray + static_cast<size_t>(r) * batch.levels.step[0] + x);
        if (inside[0])
            addAbove(batch, strip, x, columns.above);
        int2 before[ROWS];
        scanWarp(columns, inside, rows, before, totals);
        __syncthreads(); // totals of warps; carry
        scanTotals(totals, carry);
        __syncthreads(); // sums before each warp
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
        {
            columns.add(r, 0, columns.above[0], inside[0] && r < rows);
            const int2 warp = totals[r * WARPS + (threadIdx.x >> 5)];
            const int sum = warp.x + before[r].x, square = warp.y + before[r].y;
            if (x > batch.cols || r >= rows)
                continue;
            const size_t at = static_cast<size_t>(y0 + r + 1) * batch.tableStep + x;
            *reinterpret_cast<int4*>(batch.table + at) =
                make_int4(sum, square, sum + columns.above[0].x, square + columns.above[0].y);
        }
        if (strip == 0 && x <= batch.cols)
            *reinterpret_cast<int4*>(batch.table + x) = make_int4(0, 0, 0, 0);
        __syncthreads(); // totals are free again
    }
}

} // namespace

void sumTables(const Batch& batch, detail::StreamHandle stream)
{
    detail::launchAs(batch.alone, "tld sum tables", sumTableStrips, dim3(detail::ceilDiv(batch.rows, ROWS)),
                     dim3(tuning::TABLE_THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
