// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Prepares models for windows in pairs: cuts Haar features into parts that fit 16 bits, sorts corners as patterns need
// them, and finds out how many bits of leaves to drop.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include <algorithm>
#include <climits>
#include <map>

namespace cv { namespace cuda { namespace cascade {

namespace {

struct Rectangle
{
    int x, y, width, height, weight;
};

//! Returns the corners of weighted rectangles; those at the same position are merged.
std::vector<Corner> cornersOf(const std::vector<Rectangle>& rectangles, bool tilted)
{
    std::map<std::pair<int, int>, int> weights;
    for (const Rectangle& r : rectangles)
        for (int k = 0; k < 4; ++k)
        {
            const int16_t sides[4] = {static_cast<int16_t>(r.x), static_cast<int16_t>(r.y),
                                      static_cast<int16_t>(r.width), static_cast<int16_t>(r.height)};
            int x, y;
            cornerOf(sides, tilted, k, x, y);
            weights[{y, x}] += cornerSign(k) * r.weight;
        }
    std::vector<Corner> corners;
    for (const auto& at : weights)
        if (at.second != 0)
            corners.push_back({static_cast<int16_t>(at.first.second), static_cast<int16_t>(at.first.first), at.second});
    return corners;
}

//! Returns whether a sum of corners is between -2^15 and 2^15 for all pixels.
bool fits(const Model& model, const std::vector<Corner>& corners, bool tilted)
{
    const int BEYOND = 2, cols = model.width + 2 * BEYOND; // rotated rectangles cover pixels beyond their corners
    std::vector<int64_t> pixels(static_cast<size_t>(cols) * model.height);
    for (const Corner& corner : corners)
    {
        if (corner.weight < SHRT_MIN || corner.weight > SHRT_MAX)
            return false;
        for (int y = 0; y < std::min<int>(corner.y, model.height); ++y)
        {
            // A corner is the sum of the pixels above and to its left; if rotated, of those in the cone above it.
            const int reach = corner.y - y, x = corner.x + BEYOND;
            const int begin = tilted ? std::max(x - reach, 0) : 0, end = std::min(tilted ? x - 1 + reach : x, cols);
            for (int i = begin; i < end; ++i)
                pixels[static_cast<size_t>(y) * cols + i] += corner.weight;
        }
    }
    int64_t plus = 0, minus = 0;
    for (int64_t pixel : pixels)
        (pixel > 0 ? plus : minus) += pixel;
    return plus * 255 <= SHRT_MAX && minus * 255 >= -SHRT_MAX;
}

//! Cuts a feature into parts whose sums fit 16 bits. @return false if that is not possible.
bool cutIntoParts(const Model& model, const std::vector<Rectangle>& rectangles, bool tilted,
                  std::vector<FeaturePart>& parts)
{
    const std::vector<Corner> corners = cornersOf(rectangles, tilted);
    if (fits(model, corners, tilted))
    {
        parts.push_back(corners);
        return true;
    }
    // Upright rectangles are cut at the middle of all, so that overlapping ones stay together; rotated ones each at
    // their own middle.
    int left = INT_MAX, right = 0, top = INT_MAX, bottom = 0;
    for (const Rectangle& r : rectangles)
    {
        left = std::min(left, r.x);
        right = std::max(right, r.x + r.width);
        top = std::min(top, r.y);
        bottom = std::max(bottom, r.y + r.height);
    }
    const bool across = right - left >= bottom - top;
    const int middle = across ? (left + right) / 2 : (top + bottom) / 2;
    std::vector<Rectangle> halves[2];
    for (Rectangle r : rectangles)
    {
        const bool along = tilted ? r.width >= r.height : across; // whether the width is cut
        const int side = along ? r.width : r.height;
        const int cut = tilted ? side / 2 : std::min(std::max(middle - (across ? r.x : r.y), 0), side);
        (along ? r.width : r.height) = cut;
        if (cut > 0)
            halves[0].push_back(r);
        r.x += along ? cut : tilted ? -cut : 0;
        r.y += !along || tilted ? cut : 0;
        (along ? r.width : r.height) = side - cut;
        if (cut < side)
            halves[1].push_back(r);
    }
    return !halves[0].empty() && !halves[1].empty() && cutIntoParts(model, halves[0], tilted, parts) &&
           cutIntoParts(model, halves[1], tilted, parts);
}

bool partsOf(const Model& model, const HaarFeature& f, std::vector<FeaturePart>& parts)
{
    std::vector<Rectangle> rectangles;
    for (int i = 0; i < f.rectangles; ++i)
        if (f.rectangle[i][2] > 0 && f.rectangle[i][3] > 0)
            rectangles.push_back({f.rectangle[i][0], f.rectangle[i][1], f.rectangle[i][2], f.rectangle[i][3],
                                  static_cast<int>(f.weight[i])});
    return cutIntoParts(model, rectangles, f.tilted != 0, parts);
}

} // namespace

int64_t mostCellPixels(const Model& model)
{
    int64_t most = 0;
    for (const LbpFeature& f : model.lbp)
        most = std::max(most, static_cast<int64_t>(f.width) * f.height);
    return most;
}

bool canPair(const Model& model, std::vector<std::vector<FeaturePart>>& parts)
{
    if (!model.fixedPoint)
        return false;
    switch (model.featureType())
    {
    case HAAR:
        parts.resize(model.haar.size());
        for (size_t i = 0; i < model.haar.size(); ++i)
            if (!model.exact || !partsOf(model, model.haar[i], parts[i]))
                return false;
        return true;
    case LBP:
        return mostCellPixels(model) <= gpu::MOST_CELL_PIXELS;
    }
    return false;
}

uint32_t padToFours(std::vector<FeaturePart>& parts)
{
    size_t most = 0;
    for (const FeaturePart& part : parts)
        most = std::max(most, part.size());
    const size_t fours = (most + 3) / 4;
    for (FeaturePart& part : parts)
        part.resize(4 * fours, {0, 0, 0});
    return static_cast<uint32_t>(fours);
}

gpu::CornerPattern patternOf(FeaturePart corners, FeaturePart& ordered, int& factor)
{
    const int count = sortCorners(corners.data(), static_cast<int>(corners.size()), factor);
    if (count == 0 || factor > SCHAR_MAX)
        return gpu::TERMS;
    if (count == 8)
        std::swap(corners[5], corners[6]);
    ordered = std::move(corners);
    return count == 6 ? gpu::SIX : count == 8 ? gpu::EIGHT : gpu::NINE;
}

// --- quantised sums --------------------------------------------------------------------------------------------------

static const int64_t QUANTISED_LIMIT = 1 << 30; //!< quantised sums are below it in magnitude

int droppedBits(const Model& model, const Stage& stage)
{
    for (int bits = 0;; ++bits)
    {
        int64_t most = 0;
        for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
        {
            const int64_t* const leaves = model.fixedLeaves.data() + model.trees[t].firstNode + t;
            int64_t largest = 0;
            for (int k = 0; k <= model.trees[t].nodes; ++k)
                largest = std::max(largest, std::abs(leaves[k] >> bits));
            most += largest;
        }
        if (most < QUANTISED_LIMIT)
            return bits;
    }
}

gpu::QuantisedStage quantisedOf(const Stage& stage, int bits)
{
    const int64_t lost = ((static_cast<int64_t>(1) << bits) - 1), limit = QUANTISED_LIMIT;
    const auto roundUp = [&](int64_t sum) { return std::max(-limit, std::min((sum + lost) >> bits, limit)); };
    const int64_t passes = roundUp(stage.fixedThreshold), low = roundUp(stage.fixedThreshold - stage.trees * lost);
    return {0, static_cast<int>(low), static_cast<uint32_t>(passes - low)};
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
