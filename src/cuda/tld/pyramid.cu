// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pyramid: gray images of halved sizes. halveLevel computes one level, one pixel per thread; it runs concurrently with the detector.
#include "objects.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::HALVE_THREADS)
    halveLevel(const __grid_constant__ Batch batch, int age, int to, int blocksAcross)
{
    const int x = static_cast<int>(blockIdx.x) % blocksAcross * tuning::HALVE_THREADS + static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(blockIdx.x) / blocksAcross, slot = batch.ring->slot[age], from = to - 1;
    if (x >= batch.levels.cols[to])
        return;
    const int cols = batch.levels.cols[from], rows = batch.levels.rows[from];
    const uint8_t* const level = batch.level(slot, from);
    unsigned sum = 0;
#pragma unroll
    for (int j = -2; j <= 2; ++j)
    {
        const uint8_t* const row = level + static_cast<size_t>(mirrored(2 * y + j, rows)) * batch.levels.step[from];
        const auto at = [&](int i) { return static_cast<unsigned>(row[mirrored(2 * x + i, cols)]); };
        const unsigned line = at(-2) + at(2) + 4 * (at(-1) + at(1)) + 6 * at(0);
        sum += line * (j == 0 ? 6u : (j == -1 || j == 1 ? 4u : 1u));
    }
    batch.level(slot, to)[static_cast<size_t>(y) * batch.levels.step[to] + x] = static_cast<uint8_t>(halved(sum));
}

} // namespace

void pyramid(const Batch& batch, int age, detail::StreamHandle stream)
{
    for (int l = 1; l < batch.levels.count; ++l)
    {
        const int across = detail::ceilDiv(batch.levels.cols[l], tuning::HALVE_THREADS);
        detail::launch("tld pyramid", halveLevel, dim3(static_cast<unsigned>(across) * batch.levels.rows[l]),
                       dim3(tuning::HALVE_THREADS), 0, stream, batch, age, l, across);
    }
}

}}}} // namespace cv::cuda::tld::gpu
