// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// densities, contours, sums, means and statistics of QuickShift on the CPU.
#include "../../precomp.hpp"
#include "../../quick_shift/stages.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

namespace {

//! What differs between depths: how a colour is added and how a mean is stored.
template <typename T> int64_t colourOf(T value, double) { return value; }
int64_t colourOf(float value, double scale) { return fixedColour(value, scale); }
template <typename T> void storeMean(const Sums& s, int k, double, T& to)
{
    to = static_cast<T>(roundedMean(s.colour[k], s.area));
}
void storeMean(const Sums& s, int k, double scale, float& to) { to = meanOf(s.colour[k], s.area, scale); }

template <typename T> void addColours(const int* label, const ImageView& image, double scale, std::vector<Sums>& out)
{
    for (int y = 0; y < image.rows; ++y)
    {
        const T* pixel = image.row<T>(y);
        for (int x = 0; x < image.cols; ++x, ++label, pixel += image.channels)
            if (*label >= 0)
                for (int k = 0; k < image.channels; ++k)
                    out[*label].colour[k] += static_cast<unsigned long long>(colourOf(pixel[k], scale));
    }
}

template <typename T>
void paint(const Extent& extent, const int* label, const std::vector<Sums>& sums, int channels, double scale,
           RowsView<void> dst)
{
    std::vector<T> means(sums.size() * channels);
    for (size_t i = 0; i < sums.size(); ++i)
        for (int k = 0; k < channels; ++k)
            storeMean(sums[i], k, scale, means[i * channels + k]);
    for (int y = 0; y < extent.rows; ++y)
    {
        T* to = static_cast<T*>(dst.row(y));
        for (int x = 0; x < extent.cols; ++x, ++label, to += channels)
            for (int k = 0; k < channels; ++k)
                to[k] = *label >= 0 ? means[static_cast<size_t>(*label) * channels + k] : T(0);
    }
}

} // namespace

void densities(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out)
{
    for (int y = 0; y < extent.rows * extent.count; ++y)
        for (int x = 0; x < extent.cols; ++x)
            out.row(y)[x] = keyDensity(*keys++, parameters);
}

void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask)
{
    const int cols = extent.cols, rows = extent.rows;
    parallel_for_(Range(0, rows * extent.count),
                  [&](const Range& range)
                  {
                      for (int row = range.start; row < range.end; ++row)
                          for (int x = 0; x < cols; ++x)
                          {
                              const int y = row % rows; // borders of stacked images are borders
                              const int* own = labels + static_cast<size_t>(row) * cols + x;
                              int differing = 0;
                              for (int dy = thick ? -1 : 0; dy <= 1; ++dy)
                                  for (int dx = thick ? -1 : 0; dx <= 1; ++dx)
                                      if (x + dx >= 0 && x + dx < cols && y + dy >= 0 && y + dy < rows)
                                          differing += own[dy * cols + dx] != *own;
                              mask.row(row)[x] = differing > (thick ? 1 : 0) ? 255 : 0;
                          }
                  });
}

double colourScale(const ImageView& image)
{
    if (image.depth != detail::DEPTH_32F)
        return 1.;
    uint32_t largest = 0;
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols * image.channels; ++x)
            if (isFinite(image.row<float>(y)[x]))
                largest = std::max(largest, floatBits(image.row<float>(y)[x]) & 0x7fffffffu);
    return fixedScale(largest);
}

std::vector<Sums> sums(const Extent& extent, const int* labels, int count, const ImageView& image, double scale)
{
    Sums none = {};
    none.left = none.top = 0x7fffffff;
    none.right = none.bottom = -1;
    std::vector<Sums> out(count, none);
    const int* label = labels;
    for (int y = 0; y < extent.rows; ++y)
        for (int x = 0; x < extent.cols; ++x, ++label)
        {
            if (*label < 0)
                continue;
            Sums& s = out[*label];
            ++s.area;
            s.x += x;
            s.y += y;
            s.left = std::min(s.left, x);
            s.right = std::max(s.right, x);
            s.top = std::min(s.top, y);
            s.bottom = std::max(s.bottom, y);
        }
    if (image && image.depth == detail::DEPTH_8U)
        addColours<uint8_t>(labels, image, scale, out);
    else if (image && image.depth == detail::DEPTH_16U)
        addColours<uint16_t>(labels, image, scale, out);
    else if (image)
        addColours<float>(labels, image, scale, out);
    return out;
}

void paintMeans(const Extent& extent, const int* labels, const std::vector<Sums>& sums, const ImageView& image,
                double scale, RowsView<void> dst)
{
    if (image.depth == detail::DEPTH_8U)
        paint<uint8_t>(extent, labels, sums, image.channels, scale, dst);
    else if (image.depth == detail::DEPTH_16U)
        paint<uint16_t>(extent, labels, sums, image.channels, scale, dst);
    else
        paint<float>(extent, labels, sums, image.channels, scale, dst);
}

void tabulate(const std::vector<Sums>& sums, int channels, double scale, const Table& table)
{
    for (int i = 0; i < static_cast<int>(sums.size()); ++i)
    {
        const Sums& s = sums[i];
        if (table.areas)
            *table.areas.row(i) = static_cast<int>(s.area);
        for (int k = 0; table.means && k < channels; ++k)
            table.means.row(i)[k] = meanOf(s.colour[k], s.area, scale);
        if (table.centroids)
        {
            table.centroids.row(i)[0] = meanOf(s.x, s.area, 1.);
            table.centroids.row(i)[1] = meanOf(s.y, s.area, 1.);
        }
        if (table.boxes)
        {
            const int box[4] = {s.left, s.top, s.right - s.left + 1, s.bottom - s.top + 1};
            std::copy(box, box + 4, table.boxes.row(i));
        }
    }
}

}}}} // namespace cv::cuda::quick_shift::cpu
