// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// LBP cascades that the CPU backend evaluates with sums modulo 2^16, and those whose cells are too large for that or
// whose trees are no stumps: both against the plain oracle and against each other.
#include "../test_precomp.hpp"
#include "cells.hpp"

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

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
        const Ptr<CascadeClassifierEx> ours = cascadeOf(c);
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
    const Ptr<CascadeClassifierEx> ours = cascadeOf(c);
    for (int value = 0; value < 256; ++value)
    {
        SCOPED_TRACE(value);
        Mat image(52, 60, CV_8UC1, Scalar(value));
        for (int k = 0; k < 3; ++k)
        {
            const int x = rng.uniform(0, image.cols);
            image.at<uchar>(rng.uniform(0, image.rows), x) ^= 1;
        }
        ASSERT_NO_FATAL_FAILURE(
            expectSame(oracleDetect(c, image, firstScaleOf(c)), detectAll(*ours, image, firstScaleOf(c))));
    }
}

//! Sums of leaves as integers are exact where a power of two has the lowest bit of all.
TEST(Cascade_Narrow, leastLeafIsAPowerOfTwo)
{
    OracleCascade c = codeCascade(Size(2, 2));
    c.stages[0].threshold = -9.f;
    for (OracleTree& tree : c.stages[0].trees)
        tree.leaves = {tree.leaves[0] / 1024, -1.f};
    const Ptr<CascadeClassifierEx> ours = cascadeOf(c);
    RNG rng(1024);
    for (const Mat& image : hardImages(rng, Size(2, 2)))
        ASSERT_NO_FATAL_FAILURE(
            expectSame(oracleDetect(c, image, firstScaleOf(c)), detectAll(*ours, image, firstScaleOf(c))));
}

//! Stages of 1 to 20 stumps, of which about half of the windows pass each, and leaves that do not cancel each other.
OracleCascade randomStumps(RNG& rng, int stages)
{
    OracleCascade c = {false, uniform(rng, Size(6, 6), Size(40, 40)), {}, {}};
    for (int i = 0; i < 30; ++i)
    {
        const Size cell = uniform(rng, Size(1, 1), Size(c.window.width / 3 + 1, c.window.height / 3 + 1));
        c.features.push_back(
            {{Rect(uniform(rng, Point(),
                           Point(c.window.width - 3 * cell.width + 1, c.window.height - 3 * cell.height + 1)),
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
        const Mat image = randomImage(rng, uniform(rng, Size(40, 40), Size(150, 90)), CV_8UC1, 5);
        const CascadeCase p = {rng.uniform(1.2, 1.6), 1, Size(), Size()};
        const CascadeResults expected = oracleDetect(c, image, p);
        ASSERT_NO_FATAL_FAILURE(expectSame(expected, detectAll(*cascadeOf(c), image, p)));
        candidates += expected.raw.size();
    }
    EXPECT_GT(candidates, 5000u);
}

//! A narrow cascade and its other form. More windows per row than a tile has.
TEST(Cascade_Narrow, equalsOtherForm)
{
    RNG rng(31);
    const Mat noise = randomImage(rng, Size(700, 150), CV_8UC1, 3);
    const std::vector<Mat> images = {noise, requireImage(requireFolder("CUDATRACKING_SAMPLES_DATA"), "messi5.jpg")};
    std::vector<OracleCascade> cascades;
    for (int k = 0; k < 6; ++k)
        cascades.push_back(randomStumps(rng, 3 + k));
    for (const std::string& name : shippedCascades())
        if (name.find("lbpcascades/") == 0)
            cascades.push_back(readOracle(requireCascade(name)));
    int found = 0;
    for (const OracleCascade& c : cascades)
    {
        const Ptr<CascadeClassifierEx> narrow = cascadeOf(c);
        const Ptr<CascadeClassifierEx> wide = cascadeOf(wideForm(c));
        for (const Ptr<CascadeClassifierEx>& cascade : {narrow, wide})
        {
            cascade->setMinNeighbors(0);
            cascade->setMaxObjects(65536);
            cascade->setMaxCandidates(65536);
        }
        const CascadeTables expected = tablesOf(*wide, images);
        ASSERT_TRUE(sameTables(expected, tablesOf(*narrow, images)));
        for (int i = 0; i < 2; ++i)
            found += expected.objects.at<Vec4i>(i, 0)[1];
    }
    EXPECT_GT(found, 1000);
}

}} // namespace opencv_test
