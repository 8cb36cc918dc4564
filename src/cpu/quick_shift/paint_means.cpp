// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage paintMeans on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

template <typename T> void storeMean(int64_t sum, int64_t area, double, T& to)
{
    to = static_cast<T>(roundedMean(sum, area));
}
void storeMean(int64_t sum, int64_t area, double scale, float& to) { to = meanOf(sum, area, scale); }

template <typename T> void paint(const Extent& extent, const int* label, const SumsTable& table, RowsView<void> dst)
{
    const int channels = table.channels;
    std::vector<T> means(static_cast<size_t>(table.size()) * channels);
    for (int i = 0; i < table.size(); ++i)
        for (int k = 0; k < channels; ++k)
            storeMean(table.row(i)[1 + k], table.row(i)[0], table.scale, means[static_cast<size_t>(i) * channels + k]);
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
        paint<uint8_t>(extent, labels, sums, dst);
    else if (image.depth == detail::DEPTH_16U)
        paint<uint16_t>(extent, labels, sums, dst);
    else
        paint<float>(extent, labels, sums, dst);
}

}}}} // namespace cv::cuda::quick_shift::cpu
