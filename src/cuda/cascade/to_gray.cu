// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage toGray: 4 or 5 bytes of traffic per pixel, which bounds the kernel.
#include "tuning.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::GRAY_THREADS)
    convertToGray(const ImageView image, const RowsView<uint8_t> gray, int tilesAcross)
{
    const int tile = blockIdx.x;
    const int x = tile % tilesAcross * tuning::GRAY_THREADS + static_cast<int>(threadIdx.x), y = tile / tilesAcross;
    if (x >= image.cols)
        return;
    const uint8_t* const pixel = image.row<uint8_t>(y) + static_cast<size_t>(x) * image.channels;
    gray.row(y)[x] = static_cast<uint8_t>(grayOf(__ldg(pixel), __ldg(pixel + 1), __ldg(pixel + 2)));
}

} // namespace

void toGray(const ImageView& image, RowsView<uint8_t> gray, detail::StreamHandle stream)
{
    const int across = detail::ceilDiv(image.cols, tuning::GRAY_THREADS);
    detail::launch("cascade gray", convertToGray, dim3(static_cast<unsigned>(across) * image.rows),
                   dim3(tuning::GRAY_THREADS), 0, stream, image, gray, across);
}

}}}} // namespace cv::cuda::cascade::gpu
