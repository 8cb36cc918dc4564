// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage paintMeans on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

template <typename T> void storeMean(const Sums& s, int k, double, T& to)
{
    to = static_cast<T>(roundedMean(s.colour[k], s.area));
}
void storeMean(const Sums& s, int k, double scale, float& to) { to = meanOf(s.colour[k], s.area, scale); }

template <typename T>
void paint(const Extent& extent, const int* label, const SumsTable& table, int channels, RowsView<void> dst)
{
    const std::vector<Sums>& sums = table.rows;
    std::vector<T> means(sums.size() * channels);
    for (size_t i = 0; i < sums.size(); ++i)
        for (int k = 0; k < channels; ++k)
            storeMean(sums[i], k, table.scale, means[i * channels + k]);
    for (int y = 0; y < extent.rows; ++y)
    {
        T* to = static_cast<T*>(dst.row(y));
        for (int x = 0; x < extent.cols; ++x, ++label, to += channels)
            for (int k = 0; k < channels; ++k)
                to[k] = *label >= 0 ? means[static_cast<size_t>(*label) * channels + k] : T(0);
    }
}

} // namespace

void paintMeans(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                RowsView<void> dst)
{
    if (image.depth == detail::DEPTH_8U)
        paint<uint8_t>(extent, labels, sums, image.channels, dst);
    else if (image.depth == detail::DEPTH_16U)
        paint<uint16_t>(extent, labels, sums, image.channels, dst);
    else
        paint<float>(extent, labels, sums, image.channels, dst);
}

}}}} // namespace cv::cuda::quick_shift::cpu
