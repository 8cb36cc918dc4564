// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// LBP cascades that the CPU backend evaluates with sums modulo 2^16, and those whose cells are too large for that: both against the plain
// oracle, and against each other.
#include "../test_precomp.hpp"
#include "generate.hpp"

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

//! A cascade of one stage that all windows pass. The weight of a window is the LBP code of its cells.
OracleCascade codeCascade(Size cell)
{
    OracleCascade c = {false, Size(3 * cell.width, 3 * cell.height), {}, {{{Rect(Point(), cell)}, {}, false}}};
    OracleStage stage = {-1.f, {}};
    for (int bit = 0; bit < 8; ++bit)
    {
        OracleNode node = {0, -1, 0, 0.f, std::vector<unsigned>(8)};
        for (int code = 0; code < 256; ++code)
            node.subset[code / 32] |= static_cast<unsigned>(code >> bit & 1) << (code % 32);
        stage.trees.push_back({{node}, {static_cast<float>(1 << bit), 0.f}});
    }
    c.stages.push_back(stage);
    return c;
}

//! Images whose cells have the least and the largest sums, sums that are equal, and sums that differ by 1.
std::vector<Mat> hardImages(RNG& rng, Size cell)
{
    const Size size(3 * cell.width + 9, 3 * cell.height + 5);
    std::vector<Mat> images;
    for (int k = 0; k < 6; ++k) // whole cells of 0 and 255
    {
        Mat image(size, CV_8UC1), cells(7, 7, CV_8UC1);
        for (int i = 0; i < 49; ++i)
            cells.at<uchar>(i / 7, i % 7) = rng.uniform(0, 2) ? 255 : 0;
        for (int y = 0; y < size.height; ++y)
            for (int x = 0; x < size.width; ++x)
                image.at<uchar>(y, x) = cells.at<uchar>(y / cell.height % 7, x / cell.width % 7);
        images.push_back(image.clone());
        image.at<uchar>(rng.uniform(0, size.height), rng.uniform(0, size.width)) ^= 1;
        images.push_back(image);
    }
    for (int k = 0; k < 2; ++k) // pixels of 0 and 255
    {
        Mat image(size, CV_8UC1);
        for (int i = 0; i < size.area(); ++i)
            image.at<uchar>(i / size.width, i % size.width) = rng.uniform(0, 10) > k * 8 ? 255 : 0;
        images.push_back(image);
    }
    return images;
}

const CascadeCase firstScaleOf(const OracleCascade& c) { return {1.1, 1, c.window, c.window}; }

//! Cells of up to 257 pixels fit 16 bits; 256 and 258 are the next products of two sides.
TEST(Cascade_Narrow, codesOfCellsAroundTheLimit)
{
    RNG rng(257);
    size_t windows = 0;
    for (const Size cell : {Size(1, 1), Size(3, 1), Size(8, 16), Size(3, 43), Size(16, 16), Size(85, 3), Size(6, 43),
                            Size(43, 6), Size(20, 13), Size(40, 40)})
    {
        SCOPED_TRACE(cell);
        const OracleCascade c = codeCascade(cell);
        const Ptr<CascadeClassifierEx> ours = cascadeOf(cascadeText(c, ".yml"));
        for (const Mat& image : hardImages(rng, cell))
        {
            const CascadeResults expected = oracleDetect(c, image, firstScaleOf(c));
            ASSERT_NO_FATAL_FAILURE(expectSame(expected, detectAll(*ours, image, firstScaleOf(c))));
            windows += expected.raw.size();
        }
    }
    EXPECT_GT(windows, 1000u);
}

TEST(Cascade_Narrow, everyValueOfPixels)
{
    RNG rng(255);
    const OracleCascade c = codeCascade(Size(16, 16));
    const Ptr<CascadeClassifierEx> ours = cascadeOf(cascadeText(c, ".yml"));
    for (int value = 0; value < 256; ++value)
    {
        SCOPED_TRACE(value);
        Mat image(52, 60, CV_8UC1, Scalar(value));
        for (int k = 0; k < 3; ++k)
            image.at<uchar>(rng.uniform(0, image.rows), rng.uniform(0, image.cols)) ^= 1;
        ASSERT_NO_FATAL_FAILURE(
            expectSame(oracleDetect(c, image, firstScaleOf(c)), detectAll(*ours, image, firstScaleOf(c))));
    }
}

//! Stages of 1 to 20 stumps, of which about half of the windows pass each, and leaves that do not cancel each other.
OracleCascade randomStumps(RNG& rng, int stages)
{
    OracleCascade c = {false, Size(rng.uniform(6, 40), rng.uniform(6, 40)), {}, {}};
    for (int i = 0; i < 30; ++i)
    {
        const Size cell(rng.uniform(1, c.window.width / 3 + 1), rng.uniform(1, c.window.height / 3 + 1));
        c.features.push_back({{Rect(Point(rng.uniform(0, c.window.width - 3 * cell.width + 1),
                                          rng.uniform(0, c.window.height - 3 * cell.height + 1)),
                                    cell)},
                              {},
                              false});
    }
    for (int s = 0; s < stages; ++s)
    {
        OracleStage stage = {rng.uniform(-12, 4) / 64.f, {}};
        for (int t = rng.uniform(1, 21); t > 0; --t)
        {
            OracleNode node = {0, -1, rng.uniform(0, static_cast<int>(c.features.size())), 0.f, {}};
            for (int k = 0; k < 8; ++k)
                node.subset.push_back(static_cast<unsigned>(rng));
            const int leaf = rng.uniform(1, 64);
            stage.trees.push_back({{node}, {leaf / 64.f, -leaf / 64.f}});
        }
        c.stages.push_back(stage);
    }
    return c;
}

TEST(Cascade_Narrow, randomStumps)
{
    size_t candidates = 0;
    for (int k = 0; k < 40; ++k)
    {
        SCOPED_TRACE(k);
        RNG rng(900 + k);
        const OracleCascade c = randomStumps(rng, 1 + k % 6);
        const Mat image = randomImage(rng, Size(rng.uniform(40, 150), rng.uniform(40, 90)), CV_8UC1, 5);
        const CascadeCase p = {rng.uniform(1.2, 1.6), 1, Size(), Size()};
        const CascadeResults expected = oracleDetect(c, image, p);
        ASSERT_NO_FATAL_FAILURE(expectSame(expected, detectAll(*cascadeOf(cascadeText(c, ".yml")), image, p)));
        candidates += expected.raw.size();
    }
    EXPECT_GT(candidates, 5000u);
}

//! Together with a Haar cascade, all cascades are evaluated with sums of 32 bits. More windows per row than a tile has.
TEST(Cascade_Narrow, equalsOtherForm)
{
    RNG rng(31);
    const Mat noise = randomImage(rng, Size(700, 150), CV_8UC1, 3);
    const Mat photo = requireImage(requireFolder("CUDATRACKING_SAMPLES_DATA"), "messi5.jpg");
    std::vector<Ptr<CascadeClassifierEx>> narrow;
    for (int k = 0; k < 6; ++k)
        narrow.push_back(cascadeOf(cascadeText(randomStumps(rng, 3 + k), ".yml")));
    for (const std::string& name : shippedCascades())
        if (name.find("lbpcascades/") == 0)
            narrow.push_back(CascadeClassifierEx::create(requireCascade(name)));
    const Ptr<CascadeClassifierEx> haar =
        CascadeClassifierEx::create(requireCascade("haarcascades/haarcascade_eye.xml"));
    int found = 0;
    for (const Ptr<CascadeClassifierEx>& cascade : narrow)
        for (const Mat& image : {noise, photo})
        {
            cascade->setMinNeighbors(0);
            cascade->setMaxObjects(65536);
            cascade->setMaxCandidates(65536);
            std::vector<Mat> alone, together, aloneWeights, togetherWeights;
            CascadeClassifierEx::detectTogether({cascade}, image, alone, noArray(), aloneWeights);
            CascadeClassifierEx::detectTogether({cascade, haar}, image, together, noArray(), togetherWeights);
            ASSERT_EQ(0, cv::norm(alone[0], together[0], NORM_INF));
            ASSERT_EQ(0, cv::norm(aloneWeights[0], togetherWeights[0], NORM_INF));
            found += alone[0].at<Vec4i>(0)[1];
        }
    EXPECT_GT(found, 1000);
}

}} // namespace opencv_test
