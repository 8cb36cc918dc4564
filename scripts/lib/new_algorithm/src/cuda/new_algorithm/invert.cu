// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage invert: 2 bytes of traffic per pixel, which bounds the kernel.
#include "tuning.hpp"
#include "../../common/launch.hpp"
#include "../../new_algorithm/stages.hpp"

namespace cv { namespace cuda { namespace new_algorithm { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::THREADS)
    invertPixels(const ImageView image, const RowsView<uint8_t> result, int blocksAcross)
{
    const int block = blockIdx.x, y = block / blocksAcross;
    const int x = block % blocksAcross * tuning::THREADS + static_cast<int>(threadIdx.x);
    if (x < image.cols)
        result.row(y)[x] = inverseOf(image.row<uint8_t>(y)[x]);
}

} // namespace

void invert(const ImageView& image, RowsView<uint8_t> result, StreamHandle stream)
{
    const int across = detail::ceilDiv(image.cols, tuning::THREADS);
    const dim3 grid(static_cast<unsigned>(across) * image.rows), block(tuning::THREADS);
    detail::launch("new_algorithm invert", invertPixels, grid, block, 0, stream, image, result, across);
}

}}}} // namespace cv::cuda::new_algorithm::gpu
