// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Which kernels the CUDA backend takes for a cascade: windows in pairs, by the shape of trees and the size of LBP
// cells, or one by one.
#include "cells.hpp"
#include "../common/plans.hpp"
#ifdef CUDATRACKING_HAS_PLANS
#include "../../src/cuda/cascade/plan.hpp"
#endif

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using Cascade_CudaSanitize = OnCuda;

#ifdef CUDATRACKING_HAS_PLANS

namespace cascade = cv::cuda::cascade;
using cv::cuda::detail::SharedLimit;

std::shared_ptr<const cascade::PackedModel> packed(const cascade::ModelPtr& model, size_t sharedBytes)
{
    return cascade::packModel(*model, SharedLimit(sharedBytes));
}

//! Returns the name of the path of a packed model.
std::string pathOf(const cascade::PackedModel& model)
{
    if (!model.view.pairs)
        return "one by one";
    const char* const trees[] = {"stumps", "two nodes", "any trees"};
    return std::string("pairs, ") + trees[model.view.treeShape] + (model.view.largeCells ? ", large cells" : "");
}

//! Path of a cascade file; all that are not named here have stumps with Haar features or small cells.
std::string expectedPath(const std::string& name)
{
    const std::map<std::string, std::string> others = {
        {"haarcascade_frontalface_alt2.xml", "pairs, two nodes"},
        {"haarcascade_lefteye_2splits.xml", "pairs, two nodes"},
        {"haarcascade_righteye_2splits.xml", "pairs, two nodes"},
        {"haarcascade_eye_tree_eyeglasses.xml", "pairs, any trees"},
        {"lbpcascade_frontalface_improved.xml", "pairs, stumps, large cells"}};
    const auto found = others.find(name.substr(name.find('/') + 1));
    return found == others.end() ? "pairs, stumps" : found->second;
}

TEST(Cascade_Paths, shippedCascades)
{
    for (const std::string& name : shippedCascades())
    {
        const std::string text = contentOf(requireCascade(name));
        const cascade::ModelPtr model = cascade::parseModel(text.data(), text.size(), name);
        for (const size_t bytes : plans::SHARED_BYTES)
            EXPECT_EQ(expectedPath(name), pathOf(*packed(model, bytes))) << name << ", " << bytes << " bytes";
    }
}

//! A model with one LBP feature. The window has the sides of most cascades, whatever the cell.
bool cellPairs(int width, int height)
{
    cascade::Model model = {};
    model.kind = cascade::LBP;
    model.fixedPoint = true;
    cascade::LbpFeature feature = {};
    feature.width = static_cast<decltype(feature.width)>(width);
    feature.height = static_cast<decltype(feature.height)>(height);
    model.lbp.push_back(feature);
    std::vector<std::vector<cascade::FeaturePart>> parts;
    EXPECT_EQ(static_cast<int64_t>(width) * height, cascade::mostCellPixels(model));
    return cascade::canPair(model, parts);
}

//! 257 * 255 = 65535: no cascade can have such a cell, as windows have at most 256 pixels a side.
TEST(Cascade_Paths, cells)
{
    for (int width = 1; width <= 300; ++width)
        for (int height = 1; height <= 300; ++height)
            EXPECT_EQ(width * height * 255 <= 65535, cellPairs(width, height)) << width << " x " << height;
    const struct
    {
        Size cell;
        const char* path;
    } cases[] = {{Size(16, 8), "pairs, stumps"},
                 {Size(8, 16), "pairs, stumps"},
                 {Size(43, 3), "pairs, stumps, large cells"}, // 129 pixels
                 {Size(3, 43), "pairs, stumps, large cells"},
                 {Size(17, 15), "pairs, stumps, large cells"}, // 255
                 {Size(16, 16), "pairs, stumps, large cells"},
                 {Size(6, 43), "one by one"}, // 258
                 {Size(40, 40), "one by one"}};
    for (const auto& c : cases)
    {
        const std::string text = cascadeText(codeCascade(c.cell), ".xml");
        const cascade::ModelPtr model = cascade::parseModel(text.data(), text.size(), "cells");
        for (const size_t bytes : plans::SHARED_BYTES)
            EXPECT_EQ(c.path, pathOf(*packed(model, bytes))) << c.cell << ", " << bytes << " bytes";
    }
}

//! Corners of usual Haar features are added up by the pattern of their number and weights, in an order for which the
//! pattern's formula is the sum of all corners times their weights.
TEST(Cascade_Paths, patternsOfCorners)
{
    using cascade::Corner;
    const struct
    {
        cascade::gpu::CornerPattern pattern;
        int factor;
        std::vector<Rect> rectangles;
        std::vector<int> weights;
    } cases[] = {{cascade::gpu::SIX, 2, {Rect(0, 0, 4, 4), Rect(2, 0, 2, 4)}, {-1, 2}},
                 {cascade::gpu::SIX, 2, {Rect(0, 0, 4, 4), Rect(0, 2, 4, 2)}, {1, -2}},
                 {cascade::gpu::EIGHT, 3, {Rect(0, 0, 6, 4), Rect(2, 0, 2, 4)}, {-1, 3}},
                 {cascade::gpu::EIGHT, 3, {Rect(0, 0, 4, 6), Rect(0, 2, 4, 2)}, {1, -3}},
                 {cascade::gpu::NINE, 1, {Rect(0, 0, 4, 4), Rect(0, 0, 2, 2), Rect(2, 2, 2, 2)}, {-1, 2, 2}},
                 {cascade::gpu::NINE, -1, {Rect(0, 0, 4, 4), Rect(0, 0, 2, 2), Rect(2, 2, 2, 2)}, {1, -2, -2}}};
    for (const auto& c : cases)
    {
        std::map<std::pair<int, int>, int> merged; // by y and x
        for (size_t r = 0; r < c.rectangles.size(); ++r)
        {
            const Rect box = c.rectangles[r];
            for (const int k : {0, 1, 2, 3})
                merged[{box.y + k / 2 * box.height, box.x + k % 2 * box.width}] +=
                    k == 0 || k == 3 ? c.weights[r] : -c.weights[r];
        }
        const auto valueAt = [](const Corner& corner) { return 1 << (5 * corner.y / 2 + corner.x); }; // all differ
        std::vector<Corner> corners, ordered;
        int expected = 0;
        for (const auto& entry : merged)
            if (entry.second != 0)
            {
                corners.push_back(
                    {static_cast<int16_t>(entry.first.second), static_cast<int16_t>(entry.first.first), entry.second});
                expected += entry.second * valueAt(corners.back());
            }
        int factor = 0;
        SCOPED_TRACE(testing::Message() << "case " << &c - cases);
        ASSERT_EQ(c.pattern, cascade::patternOf(corners, ordered, factor));
        EXPECT_EQ(c.factor, factor);
        ASSERT_EQ(corners.size(), ordered.size());
        const auto v = [&](size_t k) { return valueAt(ordered[k]); };
        int sum = 0;
        if (c.pattern == cascade::gpu::NINE)
            sum = factor * (v(0) + v(1) + v(2) + v(3) - 2 * (v(4) + v(5) + v(6) + v(7) - 2 * v(8)));
        else
            sum = v(0) + v(1) - v(2) - v(3) +
                  factor * (c.pattern == cascade::gpu::SIX ? v(4) - v(5) : v(4) - v(5) + v(6) - v(7));
        EXPECT_EQ(expected, sum);
    }
}

//! The comparison of large cells, for all numbers against those around each other and around the ends of 15 and 16
//! bits.
TEST(Cascade_Paths, comparisonOfHalves)
{
    const auto highest = [](uint32_t a, uint32_t b) { return cascade::gpu::notLessInHalves(a, b) & 0x80008000u; };
    std::vector<uint32_t> others = {0, 1, 2, 254, 255, 256, 32640, 32766, 32767, 32768, 32769, 65279, 65534, 65535};
    for (uint32_t a = 0; a < 65536; ++a)
    {
        std::vector<uint32_t> all = others;
        for (const uint32_t near : {a - 1, a, a + 1})
            all.push_back(near & 0xffffu);
        for (const uint32_t b : all)
            for (const uint32_t rest : others) // in the other half
            {
                const uint32_t low = a >= b ? 0x8000u : 0, restLow = rest >= b ? 0x8000u : 0;
                ASSERT_EQ(restLow << 16 | low, highest(rest << 16 | a, b << 16 | b)) << a << " " << b << " " << rest;
                ASSERT_EQ(low << 16 | restLow, highest(a << 16 | rest, b << 16 | b)) << a << " " << b << " " << rest;
            }
    }
}

#else

TEST(Cascade_Paths, shippedCascades) { plans::require(); }

#endif

//! Compares both backends on the hard images of a cell. @param most number of images. @return number of windows.
size_t expectSameCodes(RNG& rng, Size cell, bool stumps, size_t most)
{
    const OracleCascade c = stumps ? codeCascade(cell) : wideForm(codeCascade(cell));
    const Ptr<CascadeClassifierEx> ours = cascadeOf(c);
    std::vector<Mat> images = hardImages(rng, cell);
    images.resize(std::min(images.size(), most));
    size_t windows = 0;
    for (const Mat& image : images)
    {
        const CascadeResults host = detectAll(*ours, image, firstScaleOf(c));
        SCOPED_TRACE(cv::format("%d x %d, stumps %d", cell.width, cell.height, stumps));
        expectSame(host, detectAll(*ours, cuda::GpuMat(image), firstScaleOf(c)));
        windows += host.raw.size();
    }
    return windows;
}

//! Codes of cells around the sizes at which the path changes, with stumps and with other trees.
TEST(Cascade_CudaPaths, codesOfCells)
{
    requireCuda();
    RNG rng(259);
    size_t windows = 0;
    for (const Size cell : {Size(1, 1), Size(16, 8), Size(8, 16), Size(43, 3), Size(3, 43), Size(17, 15), Size(16, 16),
                            Size(6, 43), Size(20, 13), Size(40, 40)})
        for (const bool stumps : {true, false})
        {
            windows += expectSameCodes(rng, cell, stumps, 100);
            if (HasFailure())
                return;
        }
    EXPECT_GT(windows, 2000u);
}

TEST_F(Cascade_CudaSanitize, largeCells)
{
    RNG rng(260);
    for (const bool stumps : {true, false})
        EXPECT_GT(expectSameCodes(rng, Size(16, 16), stumps, 2), 0u);
}

}} // namespace opencv_test
