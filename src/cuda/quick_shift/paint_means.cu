// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage paintMeans on CUDA. Bound by memory.
#include "superpixels.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

__device__ __forceinline__ void storeMean(int64_t sum, int64_t area, double, uint8_t& to)
{
    to = static_cast<uint8_t>(roundedMean(sum, area));
}
__device__ __forceinline__ void storeMean(int64_t sum, int64_t area, double, uint16_t& to)
{
    to = static_cast<uint16_t>(roundedMean(sum, area));
}
__device__ __forceinline__ void storeMean(int64_t sum, int64_t area, double scale, float& to)
{
    to = meanOf(sum, area, scale);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    paintMeanColours(const Extent extent, const int* __restrict__ labels, const ImageView image, const SumsTable table,
                     const RowsView<void> dst)
{
    const PixelPlace p(extent);
    if (!p.inside)
        return;
    const int label = numberOf(table, p.image, labels[p.at]);
    const bool known = label >= 0 && label < sizeOf(table);
    const double scale = scaleOf(image, table, p.image);
    T* to = static_cast<T*>(dst.row(p.image * extent.rows + p.y)) + static_cast<size_t>(p.x) * image.channels;
    for (int k = 0; k < image.channels; ++k)
    {
        to[k] = T(0);
        if (known)
            storeMean(sumsOf(table, label)[1 + k], sumsOf(table, label)[0], scale, to[k]);
    }
}

template <typename T>
void paintImages(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                 RowsView<void> dst, StreamHandle stream)
{
    detail::launch("quick shift mean colour", paintMeanColours<T>, gridOf(extent), BLOCK, 0, stream, extent, labels,
                   image, sums, dst);
}

} // namespace

void paintMeans(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                RowsView<void> dst, StreamHandle stream)
{
    if (image.depth == detail::DEPTH_32F)
        paintImages<float>(extent, labels, image, sums, dst, stream);
    else if (image.depth == detail::DEPTH_16U)
        paintImages<uint16_t>(extent, labels, image, sums, dst, stream);
    else
        paintImages<uint8_t>(extent, labels, image, sums, dst, stream);
}

}}}} // namespace cv::cuda::quick_shift::gpu
