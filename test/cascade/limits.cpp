// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx at the limits of its contract and where it differs from cv::CascadeClassifier: huge scale
// factors, masks of clipped boxes, files that are too large, memory for many small images.
#include "../test_precomp.hpp"
#include "../../src/cascade/model_builder.hpp"
#include "generate.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;
using cuda::GpuMat;
using Cascade_CudaMemory = OnCuda;

Mat noise(uint64 seed, Size size) { return randomImage(seed, size, CV_8UC1, 3); }

//! A cascade that finds every window with contrast.
OracleCascade acceptsAll(Size window)
{
    OracleCascade c;
    c.haar = true;
    c.window = window;
    c.features.push_back({{Rect(0, 0, 4, 4), Rect(2, 0, 2, 4)}, {-1.f, 2.f}, false});
    c.stages.push_back({-1.f, {{{{0, -1, 0, 0.f, {}}}, {0.f, 1.f}}}});
    return c;
}

//! The second scale would be larger than any image, so there is one.
TEST(Cascade_Limits, hugeScaleFactors)
{
    const Mat image = noise(1, Size(70, 60));
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(acceptsAll(Size(10, 8)));
    std::vector<Rect> expected, actual;
    cascade->detectMultiScale(image, expected, 1e6, 0);
    ASSERT_FALSE(expected.empty());
    for (const double factor : {9e7, 1e9, 1e18, 1e300, std::numeric_limits<double>::max()})
    {
        cascade->detectMultiScale(image, actual, factor, 0);
        EXPECT_EQ(expected, actual) << factor;
        cascade->setScaleFactor(factor);
        std::vector<double> scales;
        std::vector<Size> layers;
        cascade->getScales(image.size(), scales, layers);
        EXPECT_EQ(std::vector<double>{1.}, scales) << factor;
        EXPECT_EQ(std::vector<Size>{image.size()}, layers) << factor;
    }
    for (const double factor : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        expectRefused([&] { cascade->detectMultiScale(image, actual, factor, 0); },
                      {"scaleFactor must be finite and above 1"});
}

//! Accepts windows by the contrast of a noisy image, more of them the lower the threshold.
OracleCascade acceptsSome(Size window, float threshold)
{
    OracleCascade c = acceptsAll(window);
    c.stages[0].threshold = 0.5f;
    c.stages[0].trees[0].nodes[0].threshold = threshold;
    return c;
}

//! Groups of sparse and of dense candidates, of windows of all shapes, are those of comparing each with each.
TEST(Cascade_Limits, groupsOfManyCandidates)
{
    int most = 0, groups = 0;
    for (const Size window : {Size(8, 8), Size(6, 30), Size(40, 9), Size(21, 17)})
        for (const float threshold : {-1.f, 0.f, 0.02f, 0.05f, 0.1f})
            for (const double factor : {1.05, 1.3, 2.5})
            {
                const OracleCascade cascade = acceptsSome(window, threshold);
                CascadeCase p;
                p.scaleFactor = factor;
                p.minNeighbors = factor > 2 ? 1 : 2;
                const Mat image = noise(3, Size(75, 52));
                const CascadeResults expected = oracleDetect(cascade, image, p);
                SCOPED_TRACE(cv::format("%d x %d, threshold %g, factor %g: %d candidates", window.width, window.height,
                                        threshold, factor, static_cast<int>(expected.raw.size())));
                ASSERT_NO_FATAL_FAILURE(expectSame(expected, detectAll(*cascadeOf(cascade), image, p)));
                most = std::max(most, static_cast<int>(expected.raw.size()));
                groups = std::max(groups, static_cast<int>(expected.objects.size()));
            }
    EXPECT_GT(most, 1000);
    EXPECT_GT(groups, 10);
}

//! Hundreds of thousands of candidates become one group: comparing each with each would take minutes.
TEST(Cascade_Limits, allWindowsOfALargeImage)
{
    std::vector<Rect> boxes, objects;
    std::vector<int> counts;
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(acceptsAll(Size(20, 20)));
    const Mat image = noise(4, Size(800, 600));
    cascade->detectMultiScale(image, boxes, 1.1, 0);
    cascade->detectMultiScale(image, objects, counts, 1.1, 3);
    ASSERT_EQ(1u, objects.size());
    EXPECT_GT(boxes.size(), 200000u);
    EXPECT_EQ(boxes.size(), static_cast<size_t>(counts[0]));
}

//! The mask is read at the centre of the whole box, not of the box clipped to the image.
TEST(Cascade_Limits, masksOfBoxesThatAreCut)
{
    const Mat image = noise(2, Size(220, 73));
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(acceptsAll(Size(20, 17)));
    const double factor = 1.17;
    cascade->setScaleFactor(factor);
    std::vector<double> scales;
    std::vector<Size> layers;
    cascade->getScales(image.size(), scales, layers);
    int cut = 0;
    for (const double scale : scales)
    {
        const Size whole(cvRound(20 * static_cast<float>(scale)), cvRound(17 * static_cast<float>(scale)));
        std::vector<Rect> boxes, found;
        cascade->detectMultiScale(image, boxes, factor, 0, 0, whole, whole); // this scale only
        for (const Rect& box : boxes)
        {
            const auto centreOf = [&](Size size) {
                return Point(std::min(box.x + size.width / 2, image.cols - 1),
                             std::min(box.y + size.height / 2, image.rows - 1));
            };
            const Point centre = centreOf(whole), centreOfRest = centreOf(box.size());
            if (centre == centreOfRest)
                continue;
            for (const Point& point : {centre, centreOfRest})
            {
                Mat mask(image.size(), CV_8UC1, Scalar(0));
                mask.at<uchar>(point) = 1;
                cascade->detectMultiScale(image, found, factor, 0, 0, whole, whole, mask);
                EXPECT_EQ(point == centre, std::find(found.begin(), found.end(), box) != found.end()) << box << point;
            }
            ++cut;
        }
    }
    EXPECT_GT(cut, 20);
}

//! Without levels, cv::CascadeClassifier throws as soon as it finds an object.
TEST(Cascade_Limits, noLevelsWanted)
{
    const Mat image = noise(3, Size(70, 60));
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(acceptsAll(Size(10, 8)));
    std::vector<Rect> expected, actual;
    std::vector<int> levels(3);
    std::vector<double> weights(3);
    cascade->detectMultiScale(image, expected, 1.1, 3);
    cascade->detectMultiScale(image, actual, levels, weights, 1.1, 3, 0, Size(), Size(), false);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(expected, actual);
    EXPECT_TRUE(levels.empty());
    EXPECT_TRUE(weights.empty());
}

TEST(Cascade_Limits, tooLargeFilesAreNamedWithTheirSize)
{
    const TemporaryFile file(".xml");
    const size_t bytes = (20u << 20) + 13;
    std::ofstream(file, std::ios::binary) << std::string(bytes, ' ');
    const Ptr<CascadeClassifierEx> cascade = CascadeClassifierEx::create();
    const std::vector<std::string> says = {"20971533 bytes, a cascade has at most 8388608"};
    expectRefused([&] { cascade->load(file); }, says);
    expectRefused([&] { cascade->loadBuffer(Mat(1, static_cast<int>(bytes), CV_8UC1, Scalar(' '))); }, says);
}

//! Stages and nodes are counted, because read() takes what a program has in memory, whatever its size.
TEST(Cascade_Limits, numbersOfStagesAndNodes)
{
    using namespace cv::cuda::cascade;
    Model model;
    Builder builder(model);
    const Place place = {nullptr, "cascade", -1};
    const std::string file = "file";
    const Located item(file, place);
    for (int i = 0; i < MAX_STAGES; ++i)
        builder.stage(item, 0.f);
    expectRefused([&] { builder.stage(item, 0.f); }, {"too many stages"});
    for (int i = 0; i < MAX_NODES; ++i)
    {
        if (i % MAX_TREE_NODES == 0)
            builder.tree();
        builder.node(item, 0, 0.f, 0, 0);
    }
    builder.tree();
    expectRefused([&] { builder.node(item, 0, 0.f, 0, 0); }, {"too many nodes"});
}

//! Accepts byte-order marks of UTF-8, line ends of Windows, and the zero at the end of a C string.
TEST(Cascade_Limits, textsOfOtherPrograms)
{
    const OracleCascade c = acceptsAll(Size(10, 8));
    const std::string text = cascadeText(c, ".xml");
    std::string lines;
    for (char letter : text)
        lines += letter == '\n' ? std::string("\r\n") : std::string(1, letter);
    for (const std::string& other : {"\xef\xbb\xbf" + text, lines, "\xef\xbb\xbf" + lines, text + std::string(1, '\0'),
                                     text + "\n \n", text.substr(0, text.find_last_not_of("\r\n") + 1)})
        EXPECT_EQ(Size(10, 8), cascadeOf(other)->getOriginalWindowSize());
    const std::string comments = "<?xml version='1.0'?>\n<!-- it's \"a <b> comment --->\n";
    EXPECT_NO_THROW(cascadeOf(comments + text.substr(text.find("<opencv_storage>"))));
}

// --- on the device ---------------------------------------------------------------------------------------------------

//! Memory for candidates grows with the windows that images have, not with maxCandidates.
TEST_F(Cascade_CudaMemory, manySmallImages)
{
    const int count = 1000, side = 64;
    const Mat all = noise(4, Size(side, side * count));
    const GpuMat onDevice(all);
    std::vector<Mat> images;
    std::vector<GpuMat> deviceImages;
    for (int i = 0; i < count; ++i)
    {
        images.push_back(all.rowRange(i * side, (i + 1) * side));
        deviceImages.push_back(onDevice.rowRange(i * side, (i + 1) * side));
    }
    const Ptr<CascadeClassifierEx> cascade = cascadeOf(CascadeGenerator(5, images[0]).make(Size(24, 24)));
    cascade->setMinNeighbors(1);
    cascade->setMaxObjects(20);
    Mat passes;
    cascade->countPasses(images[0], passes);
    const size_t windows = static_cast<size_t>(cv::sum(passes.col(0))[0]);
    ASSERT_LT(windows, 3000u);
    const CascadeTables expected = tablesOf(*cascade, images);
    EXPECT_TRUE(sameTables(expected, tablesOf(*cascade, deviceImages)));
    // Candidates take 48 bytes each; pyramids, tables and lists of tiles take the rest.
    EXPECT_LT(cascade->workspaceBytes(), count * (48 * windows + 64 * 1024));
    const Ptr<CascadeClassifierEx> other = cascade->clone();
    other->setMaxCandidates(65536);
    EXPECT_TRUE(sameTables(expected, tablesOf(*other, deviceImages)));
    // An upload takes another pinned block while one is in flight: the difference is some tables, but no candidates,
    // which would take 48 bytes for each of 65,536 per image.
    EXPECT_NEAR(double(cascade->workspaceBytes()), double(other->workspaceBytes()), 1e6);
}

//! One call with images without a window, with one, with some blocks of 32 candidates, and with more than the capacity.
TEST_F(Cascade_CudaMemory, roomOfMixedImages)
{
    RNG rng(6);
    const Mat source = noise(7, Size(300, 200));
    const Size window(12, 10);
    for (int round = 0; round < 12; ++round)
    {
        SCOPED_TRACE(round);
        const OracleCascade c = round % 2 ? CascadeGenerator(round, source).make(window) : acceptsAll(window);
        const Ptr<CascadeClassifierEx> cascade = cascadeOf(c);
        std::vector<Mat> images;
        std::vector<GpuMat> deviceImages;
        for (int i = 0; i < 17; ++i)
        {
            const int kind = rng.uniform(0, 6);
            const Size size = kind == 0   ? window - Size(1, 0)
                              : kind == 1 ? window
                              : kind == 2 ? Size(1, 1)
                              : kind == 3 ? window + uniform(rng, Size(0, 0), Size(16, 12))
                                          : uniform(rng, Size(12, 10), Size(300, 200));
            images.push_back(source(Rect(Point(), size)));
            deviceImages.push_back(GpuMat(images.back()));
        }
        for (const int most : {1, 31, 32, 33, 700, 65536})
        {
            cascade->setMaxCandidates(most);
            cascade->setMinNeighbors(rng.uniform(0, 3));
            cascade->setFindLargestObject(rng.uniform(0, 4) == 0);
            EXPECT_TRUE(sameTables(tablesOf(*cascade, images), tablesOf(*cascade, deviceImages)));
        }
        for (int i = 0; i < 3; ++i) // lists of find() have another capacity
        {
            std::vector<Rect> expected, actual;
            cascade->detectMultiScale(images[i], expected, 1.1, 0);
            cascade->detectMultiScale(deviceImages[i], actual, 1.1, 0);
            EXPECT_EQ(expected, actual);
        }
    }
}

}} // namespace opencv_test
