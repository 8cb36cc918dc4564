// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage sums on the CPU.
#include "../../precomp.hpp"
#include "scratch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

template <typename T> int64_t colourOf(T value, double) { return value; }
int64_t colourOf(float value, double scale) { return fixedColour(value, scale); }

template <typename T> void addColours(const int* label, const ImageView& image, SumsTable& table)
{
    for (int y = 0; y < image.rows; ++y)
    {
        const T* pixel = image.row<T>(y);
        for (int x = 0; x < image.cols; ++x, ++label, pixel += image.channels)
            if (*label >= 0)
                for (int k = 0; k < image.channels; ++k)
                    table.row(*label)[1 + k] += static_cast<unsigned long long>(colourOf(pixel[k], table.scale));
    }
}

//! Returns fixedScale() of the pixels of a CV_32F image that have a label, else 1.
double colourScale(const int* label, const ImageView& image)
{
    if (!image || image.depth != detail::DEPTH_32F)
        return 1.;
    uint32_t largest = 0;
    for (int y = 0; y < image.rows; ++y)
    {
        const float* pixel = image.row<float>(y);
        for (int x = 0; x < image.cols; ++x, ++label, pixel += image.channels)
            if (*label >= 0)
                for (int k = 0; k < image.channels; ++k)
                    if (isFinite(pixel[k]))
                        largest = std::max(largest, floatBits(pixel[k]) & 0x7fffffffu);
    }
    return fixedScale(largest);
}

} // namespace

SumsTable sums(const Extent& extent, const int* labels, int count, const ImageView& image)
{
    SumsTable table(count, image.channels, colourScale(labels, image));
    const int* label = labels;
    for (int y = 0; y < extent.rows; ++y)
        for (int x = 0; x < extent.cols; ++x, ++label)
        {
            if (*label < 0)
                continue;
            ++table.row(*label)[0];
            Places& s = table.places[*label];
            s.x += x;
            s.y += y;
            s.left = std::min(s.left, x);
            s.right = std::max(s.right, x);
            s.top = std::min(s.top, y);
            s.bottom = std::max(s.bottom, y);
        }
    if (image && image.depth == detail::DEPTH_8U)
        addColours<uint8_t>(labels, image, table);
    else if (image && image.depth == detail::DEPTH_16U)
        addColours<uint16_t>(labels, image, table);
    else if (image)
        addColours<float>(labels, image, table);
    return table;
}

}}}} // namespace cv::cuda::quick_shift::cpu
