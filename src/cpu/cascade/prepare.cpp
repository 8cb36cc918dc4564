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

//! Sorts the corners of an exact feature as its pattern needs them. @param factor out: of the pattern.
static CornerPattern sortCorners(HaarFeature& f, int& factor)
{
    Corner sorted[MAX_CORNERS];
    int count = 0, most = 0;
    for (int k = 0; k < f.corners; ++k)
        most = std::max(most, std::abs(f.corner[k].weight));
    const auto take = [&](int weight)
    {
        const Corner* const begin = f.corner;
        const Corner* const end = std::copy_if(begin, begin + f.corners, sorted + count,
                                               [&](const Corner& corner) { return corner.weight == weight; });
        const int taken = static_cast<int>(end - sorted) - count;
        count += taken;
        return taken;
    };
    CornerPattern pattern = CornerPattern::ANY;
    if (f.corners == 9)
    {
        const bool plus = std::any_of(f.corner, f.corner + 9, [](const Corner& corner) { return corner.weight == 4; });
        factor = plus ? 1 : -1;
        if (take(factor) == 4 && take(-2 * factor) == 4 && take(4 * factor) == 1)
            pattern = CornerPattern::NINE;
    }
    else if (most > 1 && take(1) == 2 && take(-1) == 2)
    {
        factor = most;
        const int plus = take(most), minus = take(-most);
        if (plus == minus && count == f.corners)
            pattern = plus == 1 ? CornerPattern::SIX : plus == 2 ? CornerPattern::EIGHT : CornerPattern::ANY;
    }
    if (pattern != CornerPattern::ANY)
        std::copy_n(sorted, count, f.corner);
    return pattern;
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
    for (HaarFeature f : model->haar)
    {
        const int first = static_cast<int>(weights.size()), count = f.exact ? f.corners : 4 * f.rectangles;
        int factor = 0;
        const CornerPattern pattern = f.exact ? sortCorners(f, factor) : CornerPattern::ANY;
        features.push_back({first, static_cast<uint8_t>(count), f.exact, f.tilted, pattern, factor});
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
        features.push_back({static_cast<int>(weights.size()), 16, 1, 0, CornerPattern::ANY, 0});
        for (int k = 0; k < 16; ++k)
            add(f.x + k % 4 * f.width, f.y + k / 4 * f.height, 1);
    }
    for (uint32_t word : model->subsets)
    {
        subsets.push_back(static_cast<int>(word & 0xffffu));
        subsets.push_back(static_cast<int>(word >> 16));
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
