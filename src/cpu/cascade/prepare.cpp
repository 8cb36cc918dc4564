// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Prepares a model for the vector loops: corners of features as offsets into the integral images of a tile.
#include "../../precomp.hpp"
#include "classify.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

WindowExtent extentOf(const std::vector<Task>& tasks)
{
    WindowExtent extent = {};
    for (const Task& task : tasks)
    {
        extent.width = std::max(extent.width, task.model->width);
        extent.height = std::max(extent.height, task.model->height);
        extent.squares = extent.squares || usesNorm(task.model->featureType());
        extent.tilted = extent.tilted || task.model->tilted;
    }
    return extent;
}

Prepared::Prepared(const ModelPtr& theModel, const WindowExtent& extent) : model(theModel)
{
    const TableLayout layouts[2] = {TableLayout(1, extent), TableLayout(2, extent)};
    const auto add = [&](int x, int y, int weight)
    {
        weights.push_back(weight);
        for (int s = 0; s < 2; ++s)
            offsets[s].push_back(layouts[s].offset(x, y));
    };
    for (const HaarFeature& f : model->haar)
    {
        const int first = static_cast<int>(weights.size()), count = f.exact ? f.corners : 4 * f.rectangles;
        features.push_back({first, static_cast<uint8_t>(count), f.exact, f.tilted});
        for (int k = 0; k < count; ++k)
        {
            int x = f.corner[k].x, y = f.corner[k].y;
            if (!f.exact)
                cornerOf(f.rectangle[k / 4], f.tilted != 0, k % 4, x, y);
            add(x, y, f.exact ? f.corner[k].weight : cornerSign(k % 4));
        }
    }
    for (const LbpFeature& f : model->lbp)
    {
        features.push_back({static_cast<int>(weights.size()), 16, 1, 0});
        for (int k = 0; k < 16; ++k)
            add(f.x + k % 4 * f.width, f.y + k / 4 * f.height, 1);
    }
    const int16_t inner[4] = {1, 1, static_cast<int16_t>(model->width - 2), static_cast<int16_t>(model->height - 2)};
    for (int s = 0; s < 2; ++s)
        for (int k = 0; k < 4; ++k)
        {
            int x, y;
            cornerOf(inner, false, k, x, y);
            contrast[s][k] = layouts[s].offset(x, y);
        }
}

std::shared_ptr<const Prepared> prepare(const ModelPtr& model, const WindowExtent& extent)
{
    return std::make_shared<Prepared>(model, extent);
}

}}}} // namespace cv::cuda::cascade::cpu
