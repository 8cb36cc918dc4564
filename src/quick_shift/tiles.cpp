// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "engine.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

//! Returns a part of an image; of no image none.
static ImageView partOf(const ImageView& image, const Window& part)
{
    if (!image)
        return {};
    const size_t pixel = CV_ELEM_SIZE(CV_MAKETYPE(image.depth, image.channels));
    const uint8_t* const first = image.row<uint8_t>(part.y) + pixel * part.x;
    return {first, image.step, part.cols, part.rows, image.depth, image.channels};
}

//! Returns the window with a border, clipped to the image.
static Window widened(const Window& core, int border, const ImageView& image)
{
    const int left = std::max(core.x - border, 0), top = std::max(core.y - border, 0);
    const int64_t right = static_cast<int64_t>(core.x) + core.cols + border;
    const int64_t bottom = static_cast<int64_t>(core.y) + core.rows + border;
    return {left, top, static_cast<int>(std::min<int64_t>(right, image.cols)) - left,
            static_cast<int>(std::min<int64_t>(bottom, image.rows)) - top};
}

std::unique_ptr<Engine> computeTiled(const ImageView& image, const ImageView& mask, int tileCols, int tileRows,
                                     const Settings& settings, Engine& worker)
{
    const int border = settings.parameters.radius + settings.parameters.searchRadius, cols = image.cols;
    HostResults whole;
    whole.extent = {cols, image.rows, 1};
    whole.settings = settings;
    whole.keys.resize(whole.extent.total());
    whole.parents.resize(whole.extent.total());
    whole.distances.resize(whole.extent.total());
    for (int64_t y = 0; y < image.rows; y += tileRows)
        for (int64_t x = 0; x < cols; x += tileCols)
        {
            const int left = static_cast<int>(x), top = static_cast<int>(y);
            const Window core = {left, top, std::min(tileCols, cols - left), std::min(tileRows, image.rows - top)};
            const Window part = widened(core, border, image);
            const Window inside = {core.x - part.x, core.y - part.y, core.cols, core.rows};
            const size_t at = static_cast<size_t>(top) * cols + left;
            const RowsView<int> parents = {whole.parents.data() + at, sizeof(int) * cols};
            worker.computeFromHost(partOf(image, part), partOf(mask, part), settings);
            worker.results(nullptr)->fetch(inside, {whole.keys.data() + at, sizeof(uint32_t) * cols}, parents,
                                           {whole.distances.data() + at, sizeof(float) * cols});
            for (int r = 0; r < core.rows; ++r)
                for (int c = 0; c < core.cols; ++c)
                {
                    int& parent = parents.row(r)[c];
                    if (parent >= 0) // an index into the part so far
                        parent = (part.y + parent / part.cols) * cols + part.x + parent % part.cols;
                }
        }
    return makeCpuEngine(std::move(whole));
}

}}} // namespace cv::cuda::quick_shift
