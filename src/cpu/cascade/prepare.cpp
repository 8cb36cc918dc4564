// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Prepares a model for the vector loops: corners of features as offsets into the integral images of a tile.
#include "../../precomp.hpp"
#include "classify.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

//! Returns whether a model can be a NarrowModel.
static bool fitsNarrow(const Model& model)
{
    return model.featureType() == LBP && model.stumps && model.fixedPoint &&
           std::all_of(model.lbp.begin(), model.lbp.end(),
                       [](const LbpFeature& f) { return f.width * f.height <= MOST_NARROW_PIXELS; });
}

IntegralImages::IntegralImages(int step, const Prepared& prepared)
    : layout(step, *prepared.model, prepared.isNarrow()),
      narrow(prepared.isNarrow()),
      squares(usesNorm(prepared.model->featureType())),
      tilted(prepared.model->tilted)
{}

//! Sets or clears the bit of a code.
static void put(uint8_t* set, int code, bool in)
{
    const int bit = 1 << (code & 7);
    set[code >> 3] = static_cast<uint8_t>(in ? set[code >> 3] | bit : set[code >> 3] & ~bit);
}

static NarrowStump narrowStump(const Model& model, const Node& node, int index, const TableLayout& layout)
{
    const LbpFeature& f = model.lbp[node.feature];
    NarrowStump stump = {};
    for (int i = 0; i < 4; ++i)
        stump.column[i] = layout.offset(f.x + i * f.width, f.y);
    stump.row = f.height * layout.stride;
    for (int code = 0; code < 256; ++code)
        put(stump.left, code, lbpGoesLeft(model.subsets.data() + static_cast<size_t>(index) * SUBSET_WORDS, code));
    return stump;
}

//! Adds up leaves of up to eight stumps for each code. @param first index of the first tree.
static std::array<int64_t, 256> sumsOf(const Model& model, int first, int count)
{
    std::array<int64_t, 256> sums = {};
    for (int code = 0; code < 1 << count; ++code)
        for (int t = 0; t < count; ++t)
        {
            const Node& node = model.nodes[model.trees[first + t].firstNode];
            sums[code] += model.fixedLeaves[~(code >> (count - 1 - t) & 1 ? node.right : node.left)];
        }
    return sums;
}

static NarrowModel makeNarrow(const Model& model, const TableLayout* layouts)
{
    NarrowModel narrow;
    for (const Stage& s : model.stages)
    {
        NarrowStage stage = {s.firstTree, s.trees, static_cast<int>(narrow.tables.size()), s.fixedThreshold, {}};
        for (int t = 0; t < s.trees; t += 8)
            narrow.tables.push_back(sumsOf(model, s.firstTree + t, std::min(s.trees - t, 8)));
        for (int code = 0; code < 256; ++code)
            put(stage.failing, code, narrow.tables[stage.firstTable][code] < s.fixedThreshold);
        narrow.stages.push_back(stage);
    }
    for (int s = 0; s < 2; ++s)
        for (const Tree& tree : model.trees)
            narrow.stumps[s].push_back(narrowStump(model, model.nodes[tree.firstNode], tree.firstNode, layouts[s]));
    return narrow;
}

Prepared::Prepared(const ModelPtr& theModel) : model(theModel)
{
    const bool fits = fitsNarrow(*model);
    const TableLayout layouts[2] = {TableLayout(1, *model, fits), TableLayout(2, *model, fits)};
    if (fits)
    {
        narrow = makeNarrow(*model, layouts);
        return;
    }
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
        const CornerPattern pattern =
            static_cast<CornerPattern>(f.exact ? sortCorners(f.corner, f.corners, factor) : 0);
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

}}}} // namespace cv::cuda::cascade::cpu
