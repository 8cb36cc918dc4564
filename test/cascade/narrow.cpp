// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// LBP cascades that the CPU backend evaluates with sums modulo 2^16, and those whose cells are too large for that or
// whose trees are no stumps: both against the plain oracle, against each other, and together with Haar cascades in one
// call.
#include "../test_precomp.hpp"
#include "../common/threads.hpp"
#include "../../src/cascade/stages.hpp"
#include "../../src/cpu/cascade/classify.hpp"
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

std::vector<CascadeTables> detectTogether(const std::vector<Ptr<CascadeClassifierEx>>& cascades,
                                          const std::vector<Mat>& images)
{
    std::vector<Mat> objects, counts, weights;
    CascadeClassifierEx::detectTogether(cascades, images, objects, counts, weights);
    std::vector<CascadeTables> tables;
    for (size_t i = 0; i < cascades.size(); ++i)
        tables.push_back({objects[i], counts[i], weights[i]});
    return tables;
}

//! A narrow cascade and its other form, alone, together, and together with a Haar cascade. More windows per row than a
//! tile has.
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
    const Ptr<CascadeClassifierEx> haar =
        CascadeClassifierEx::create(requireCascade("haarcascades/haarcascade_eye.xml"));
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
        const std::vector<CascadeTables> both = detectTogether({narrow, wide}, images);
        ASSERT_TRUE(sameTables(expected, both[0]));
        ASSERT_TRUE(sameTables(expected, both[1]));
        const std::vector<CascadeTables> all = detectTogether({wide, haar, narrow}, images);
        ASSERT_TRUE(sameTables(expected, all[0]));
        ASSERT_TRUE(sameTables(expected, all[2]));
        for (int i = 0; i < 2; ++i)
            found += expected.objects.at<Vec4i>(i, 0)[1];
    }
    EXPECT_GT(found, 1000);
}

// --- narrow, other LBP and Haar cascades in one call -----------------------------------------------------------------

enum Kind
{
    NARROW,
    WIDE,      //!< LBP with a tree of two nodes
    LARGE,     //!< LBP, mostly with cells of more than 257 pixels
    HAAR_KIND, //!< upright and rotated features
    KINDS
};

OracleCascade cascadeOfKind(RNG& rng, int kind)
{
    if (kind == HAAR_KIND)
        for (;;)
        {
            const Mat image = randomImage(rng, Size(60, 50), CV_8UC1, 5);
            const OracleCascade c = CascadeGenerator(rng.next(), image).make();
            if (c.haar)
                return c;
        }
    const OracleCascade c = randomStumps(rng, rng.uniform(1, 6));
    return kind == NARROW ? c : kind == WIDE ? wideForm(c) : enlarged(c, rng.uniform(2, 4));
}

//! Two to five cascades in any order: at least one is narrow and one is not.
std::vector<OracleCascade> mixedCascades(RNG& rng)
{
    std::vector<int> kinds = {NARROW, rng.uniform(1, static_cast<int>(KINDS))};
    for (int more = rng.uniform(0, 4); more > 0; --more)
        kinds.push_back(rng.uniform(0, static_cast<int>(KINDS)));
    for (size_t i = kinds.size() - 1; i > 0; --i)
        std::swap(kinds[i], kinds[rng.uniform(0, static_cast<int>(i) + 1)]);
    std::vector<OracleCascade> cascades;
    for (int kind : kinds)
        cascades.push_back(cascadeOfKind(rng, kind));
    return cascades;
}

//! One to five images: tiny ones, those of about a window, and those of more windows per row than a tile has.
std::vector<Mat> mixedImages(RNG& rng)
{
    std::vector<Mat> images;
    for (int n = rng.uniform(1, 6); n > 0; --n)
    {
        const int most[] = {8, 45, 130, 330};
        const int height = rng.uniform(1, most[rng.uniform(0, 3)]);
        const Size size(rng.uniform(1, most[rng.uniform(0, 4)]), height);
        const int types[] = {CV_8UC1, CV_8UC1, CV_8UC3, CV_8UC4};
        const int blur = rng.uniform(1, 8);
        const Mat image = randomImage(rng, size, types[rng.uniform(0, 4)], blur);
        images.push_back(rng.uniform(0, 2) ? asRoi(image) : image);
    }
    return images;
}

//! Parameters of all kinds, with limits that some images exceed.
CascadeCase giveRandom(RNG& rng, double scaleFactor, CascadeClassifierEx& c)
{
    CascadeCase p = {scaleFactor, rng.uniform(0, 4), Size(), Size()};
    if (rng.uniform(0, 3) == 0)
        p.minSize = uniform(rng, Size(0, 0), Size(70, 70));
    if (rng.uniform(0, 3) == 0)
        p.maxSize = uniform(rng, Size(20, 20), Size(100, 100));
    c.setScaleFactor(p.scaleFactor);
    c.setMinNeighbors(p.minNeighbors);
    c.setMinObjectSize(p.minSize);
    c.setMaxObjectSize(p.maxSize);
    c.setMaxObjects(rng.uniform(0, 3) ? 2000 : rng.uniform(1, 40));
    c.setMaxCandidates(rng.uniform(0, 3) ? 65536 : rng.uniform(1, 200));
    return p;
}

//! Compares a row of tables with the oracle's results. @return number of candidates.
int expectRow(const CascadeResults& expected, const CascadeCase& p, const CascadeClassifierEx& c,
              const CascadeTables& actual, int row)
{
    const std::vector<Rect>& boxes = p.minNeighbors > 0 ? expected.objects : expected.raw;
    const std::vector<double>& weights = p.minNeighbors > 0 ? expected.weights : expected.rawWeights;
    const int candidates = static_cast<int>(expected.raw.size());
    const bool overflow = candidates > c.getMaxCandidates();
    const int found = overflow ? 0 : static_cast<int>(boxes.size()), stored = std::min(found, c.getMaxObjects());
    EXPECT_EQ(Vec4i(stored, found, candidates, overflow), actual.objects.at<Vec4i>(row, 0));
    for (int k = 0; k < stored; ++k)
    {
        EXPECT_EQ(Vec4i(boxes[k].x, boxes[k].y, boxes[k].width, boxes[k].height), actual.objects.at<Vec4i>(row, 1 + k));
        EXPECT_EQ(weights[k], actual.weights.at<double>(row, k));
    }
    return candidates;
}

//! Random cascades, images and parameters: each cascade has the results of a call of its own, on any number of threads.
TEST(Cascade_NarrowTogether, randomCascades)
{
    const int threads = getNumThreads();
    int overflows = 0;
    int64 candidates = 0;
    for (int k = 0; k < 250; ++k)
    {
        SCOPED_TRACE(k);
        RNG rng(3000 + k);
        const std::vector<OracleCascade> oracles = mixedCascades(rng);
        const std::vector<Mat> images = mixedImages(rng);
        const double scaleFactor = rng.uniform(1.15, 2.2);
        std::vector<Ptr<CascadeClassifierEx>> cascades;
        for (const OracleCascade& c : oracles)
        {
            cascades.push_back(cascadeOf(c));
            giveRandom(rng, scaleFactor, *cascades.back());
        }
        setNumThreads(1 + k % 4);
        const std::vector<CascadeTables> together = detectTogether(cascades, images);
        const std::vector<CascadeTables> again = detectTogether(cascades, images); // with what the first call has left
        for (size_t i = 0; i < cascades.size(); ++i)
        {
            ASSERT_TRUE(sameTables(tablesOf(*cascades[i], images), together[i])) << "cascade " << i;
            ASSERT_TRUE(sameTables(together[i], again[i])) << "cascade " << i;
            for (int row = 0; row < together[i].objects.rows; ++row)
            {
                const Vec4i head = together[i].objects.at<Vec4i>(row, 0);
                candidates += head[2];
                overflows += head[3];
            }
        }
    }
    setNumThreads(threads);
    EXPECT_GT(candidates, 50000);
    EXPECT_GT(overflows, 50);
}

//! Smaller cases against the oracle. Calls with other cascades before and after, with masks or counts, do not change
//! anything.
TEST(Cascade_NarrowTogether, oracle)
{
    int64 candidates = 0;
    for (int k = 0; k < 30; ++k)
    {
        RNG rng(7000 + k);
        const std::vector<OracleCascade> oracles = mixedCascades(rng);
        const double scaleFactor = rng.uniform(1.3, 2.2);
        std::vector<Ptr<CascadeClassifierEx>> cascades;
        std::vector<CascadeCase> params;
        for (const OracleCascade& c : oracles)
        {
            cascades.push_back(cascadeOf(c));
            params.push_back(giveRandom(rng, scaleFactor, *cascades.back()));
        }
        const std::vector<Mat> images = {randomImage(rng, uniform(rng, Size(30, 30), Size(120, 90)), CV_8UC1, 5),
                                         randomImage(rng, uniform(rng, Size(1, 1), Size(40, 40)), CV_8UC3, 3)};
        const std::vector<Mat> masks = {randomImage(rng, images[0].size(), CV_8UC1, 9, 2), Mat()};
        const CascadeTables masked = tablesOf(*cascades[0], images, masks);
        const std::vector<CascadeTables> together = detectTogether(cascades, images);
        EXPECT_TRUE(sameTables(masked, tablesOf(*cascades[0], images, masks)));
        for (size_t i = 0; i < cascades.size(); ++i)
            for (int row = 0; row < 2; ++row)
            {
                SCOPED_TRACE(cv::format("case %d, cascade %zu, image %d", k, i, row));
                CascadeCase p = params[i];
                p.minNeighbors = std::max(p.minNeighbors, 1); // raw candidates do not depend on it
                candidates +=
                    expectRow(oracleDetect(oracles[i], images[row], p), params[i], *cascades[i], together[i], row);
                if (HasFailure())
                    return;
            }
    }
    EXPECT_GT(candidates, 5000);
}

TEST(Cascade_NarrowTogether, instancesOnThreads)
{
    RNG rng(77);
    std::vector<Ptr<CascadeClassifierEx>> cascades;
    for (int kind : {HAAR_KIND, NARROW, WIDE, NARROW})
    {
        cascades.push_back(cascadeOf(cascadeOfKind(rng, kind)));
        giveRandom(rng, 1.2, *cascades.back());
    }
    const std::vector<Mat> images = {randomImage(rng, Size(300, 90), CV_8UC1, 5),
                                     randomImage(rng, Size(9, 9), CV_8UC1)};
    const std::vector<CascadeTables> expected = detectTogether(cascades, images);
    onThreads(4,
              [&](int)
              {
                  std::vector<Ptr<CascadeClassifierEx>> copies;
                  for (const Ptr<CascadeClassifierEx>& cascade : cascades)
                      copies.push_back(cascade->clone());
                  for (int times = 0; times < 4; ++times)
                  {
                      const std::vector<CascadeTables> actual = detectTogether(copies, images);
                      for (size_t i = 0; i < copies.size(); ++i)
                          if (!sameTables(expected[i], actual[i]))
                              return cv::format("cascade %zu differs", i);
                  }
                  return std::string();
              });
}

// --- stage classify: masks, and what each stage passes, which no call reports for several cascades -------------------

namespace cascade = cv::cuda::cascade;

//! Candidates of one cascade, and counts in the form of the oracle, one row per scale.
struct Classified
{
    std::vector<Rect> boxes;
    std::vector<double> weights;
    std::vector<std::vector<int>> passes;
};

cascade::ImageView viewOf(const Mat& image)
{
    return {image.data, image.step, image.cols, image.rows, cuda::detail::DEPTH_8U, 1};
}

void addCounts(const cascade::Passes& passes, std::vector<int>& row)
{
    std::vector<int64_t> counts = {passes.windows, passes.evaluated, passes.contrast};
    counts.insert(counts.end(), passes.stages.begin(), passes.stages.end());
    row.resize(counts.size());
    for (size_t i = 0; i < counts.size(); ++i)
        row[i] += static_cast<int>(counts[i]);
}

//! Runs the stage for several cascades on one image, with the stages of each in the order of the file.
std::vector<Classified> classifyAll(const std::vector<cascade::Task>& tasks, const Mat& image, const Mat& mask)
{
    const cascade::Pyramid pyramid = cascade::makePyramid(image.cols, image.rows, tasks);
    const cascade::cpu::WindowExtent extent = cascade::cpu::extentOf(tasks);
    std::vector<std::shared_ptr<const cascade::cpu::Prepared>> prepared;
    for (const cascade::Task& task : tasks)
        prepared.push_back(cascade::cpu::prepare(task.model, extent));
    const cascade::cpu::Work work = {viewOf(image), viewOf(mask), 0, &pyramid, &tasks, &prepared, extent};
    cuda::detail::ScratchPool<cascade::cpu::Scratch> pool;
    std::vector<Classified> all(tasks.size());
    for (int layer = 0; layer < static_cast<int>(pyramid.layers.size()); ++layer)
    {
        std::vector<std::vector<int>> rows(tasks.size());
        for (int row = 0; row < pyramid.layers[layer].rows; row += cascade::cpu::STRIP_ROWS)
        {
            std::vector<std::vector<cascade::Candidate>> candidates(tasks.size());
            std::vector<cascade::Passes> passes(tasks.size());
            for (size_t t = 0; t < tasks.size(); ++t)
                passes[t].stages.assign(tasks[t].model->stages.size(), 0);
            cascade::cpu::classify(work, layer, row, pool, candidates.data(), passes.data());
            for (size_t t = 0; t < tasks.size(); ++t)
            {
                addCounts(passes[t], rows[t]);
                for (const cascade::Candidate& c : candidates[t])
                {
                    const float factor = pyramid.layers[layer].factor;
                    const cascade::Box box = cascade::boxOf(cascade::xOf(c.key), cascade::yOf(c.key), factor,
                                                            cascade::boxSide(tasks[t].model->width, factor),
                                                            cascade::boxSide(tasks[t].model->height, factor));
                    all[t].boxes.push_back(Rect(box.x, box.y, box.width, box.height) & Rect(Point(), image.size()));
                    all[t].weights.push_back(c.weight);
                }
            }
        }
        for (size_t t = 0; t < tasks.size(); ++t)
            for (const cascade::Grid& grid : pyramid.grids[t])
                if (grid.layer == layer)
                    all[t].passes.push_back(rows[t]);
    }
    return all;
}

TEST(Cascade_NarrowTogether, masksAndCounts)
{
    int64 kept = 0, windows = 0;
    for (int k = 0; k < 40; ++k)
    {
        RNG rng(9000 + k);
        const std::vector<OracleCascade> oracles = mixedCascades(rng);
        const CascadeCase p = {rng.uniform(1.3, 2.2), 1, Size(), Size()};
        std::vector<cascade::Task> tasks(oracles.size());
        for (size_t t = 0; t < tasks.size(); ++t)
        {
            const std::string text = cascadeText(oracles[t], ".xml");
            tasks[t].model = cascade::parseModel(text.data(), text.size(), "random");
            tasks[t].settings.scaleFactor = p.scaleFactor;
        }
        const Mat image = randomImage(rng, uniform(rng, Size(1, 1), Size(150, 100)), CV_8UC1, 5);
        const Mat mask = k % 4 ? randomImage(rng, image.size(), CV_8UC1, rng.uniform(1, 20), 2) : Mat();
        const std::vector<Classified> actual = classifyAll(tasks, image, mask);
        for (size_t t = 0; t < tasks.size(); ++t)
        {
            SCOPED_TRACE(cv::format("case %d, cascade %zu", k, t));
            std::vector<std::vector<int>> passes;
            const CascadeResults expected = oracleDetect(oracles[t], image, p, mask, &passes);
            ASSERT_EQ(expected.raw, actual[t].boxes);
            ASSERT_EQ(expected.rawWeights, actual[t].weights);
            ASSERT_EQ(passes, actual[t].passes);
            kept += static_cast<int64>(expected.raw.size());
            for (const std::vector<int>& row : passes)
                windows += row[0];
        }
    }
    EXPECT_GT(kept, 5000);
    EXPECT_GT(windows, 4 * kept);
}

}} // namespace opencv_test
