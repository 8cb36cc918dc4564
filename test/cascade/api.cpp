// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CascadeClassifierEx: tables, batches, masks, limits, copies, files, counts.
#include "../test_precomp.hpp"
#include "generate.hpp"
#include <thread>

namespace opencv_test { namespace {

using cuda::CascadeClassifierEx;

//! A Haar cascade that finds something, and images to find it in.
struct Scene
{
    Scene() : image(textured(Size(97, 83)))
    {
        for (uint64 seed = 1;; ++seed)
        {
            cascade = CascadeGenerator(seed, image).make();
            ours = cascadeOf(cascade);
            std::vector<Rect> raw;
            ours->detectMultiScale(image, raw, 1.2, 0);
            if (cascade.haar && cascade.stages.size() > 1 && raw.size() > 30)
                break;
        }
        ours->setScaleFactor(1.2);
        ours->setMinNeighbors(1);
    }
    static Mat textured(Size size)
    {
        RNG rng(99);
        return randomImage(rng, size, CV_8UC1, 5);
    }
    std::vector<Rect> objects(int minNeighbors = 1) const
    {
        std::vector<Rect> found;
        ours->detectMultiScale(image, found, 1.2, minNeighbors);
        return found;
    }

    Mat image;
    OracleCascade cascade;
    Ptr<CascadeClassifierEx> ours;
};

TEST(Cascade_Api, tablesSayWhatVectorsSay)
{
    const Scene s;
    std::vector<Rect> objects, converted;
    std::vector<int> counts, levels;
    std::vector<double> weights;
    s.ours->detectMultiScale(s.image, objects, counts, 1.2, 1);
    s.ours->detectMultiScale(s.image, objects, levels, weights, 1.2, 1, 0, Size(), Size(), true);
    ASSERT_FALSE(objects.empty());
    Mat table, tableCounts, tableWeights;
    s.ours->detectAsync(s.image, table, tableCounts, tableWeights);
    ASSERT_EQ(Size(1 + s.ours->getMaxObjects(), 1), table.size());
    ASSERT_EQ(CV_32SC4, table.type());
    EXPECT_EQ(static_cast<int>(objects.size()), s.ours->convertDetections(table, 0, converted));
    EXPECT_EQ(objects, converted);
    for (size_t i = 0; i < objects.size(); ++i)
    {
        EXPECT_EQ(counts[i], tableCounts.at<int>(static_cast<int>(i)));
        EXPECT_EQ(weights[i], tableWeights.at<double>(static_cast<int>(i)));
    }
    EXPECT_EQ(0, tableCounts.at<int>(static_cast<int>(objects.size())));
    EXPECT_EQ(static_cast<int>(s.objects(0).size()), table.at<Vec4i>(0)[2]);
}

TEST(Cascade_Api, batchOfMixedSizesAndChannels)
{
    const Scene s;
    Mat bgr, bgra;
    cvtColor(s.image, bgr, COLOR_GRAY2BGR);
    cvtColor(s.image(Rect(0, 0, 71, 66)), bgra, COLOR_GRAY2BGRA);
    const std::vector<Mat> images = {
        s.image, asRoi(bgra), Mat(), bgr, s.image(Rect(5, 7, 80, 70)), Mat(2, 3, CV_8UC1, Scalar(1))};
    Mat tables, counts, weights;
    s.ours->detectAsync(images, tables, counts, weights);
    ASSERT_EQ(static_cast<int>(images.size()), tables.rows);
    for (int i = 0; i < tables.rows; ++i)
    {
        SCOPED_TRACE(i);
        std::vector<Rect> expected, actual;
        s.ours->detectMultiScale(images[i], expected, 1.2, 1);
        EXPECT_EQ(static_cast<int>(expected.size()), s.ours->convertDetections(tables, i, actual));
        EXPECT_EQ(expected, actual);
        Mat one;
        s.ours->detectAsync(images[i].empty() ? Mat(1, 1, CV_8UC1, Scalar(0)) : images[i], one);
        EXPECT_TRUE(sameBits(one, tables.row(i)));
    }
    s.ours->detectAsync(std::vector<Mat>(), tables, counts, weights);
    EXPECT_TRUE(tables.empty() && counts.empty() && weights.empty());
}

TEST(Cascade_Api, capacityIsReported)
{
    const Scene s;
    const std::vector<Rect> all = s.objects(0);
    ASSERT_GT(all.size(), 10u);
    Mat table;
    std::vector<Rect> boxes;
    s.ours->setMinNeighbors(0);
    s.ours->setMaxObjects(7);
    s.ours->detectAsync(s.image, table);
    EXPECT_EQ(Vec4i(7, static_cast<int>(all.size()), static_cast<int>(all.size()), 0), table.at<Vec4i>(0));
    EXPECT_EQ(static_cast<int>(all.size()), s.ours->convertDetections(table, 0, boxes));
    EXPECT_EQ(std::vector<Rect>(all.begin(), all.begin() + 7), boxes);
    s.ours->setMaxCandidates(static_cast<int>(all.size()));
    s.ours->detectAsync(s.image, table);
    EXPECT_EQ(0, table.at<Vec4i>(0)[3]);
    s.ours->setMaxCandidates(static_cast<int>(all.size()) - 1);
    s.ours->detectAsync(s.image, table);
    EXPECT_EQ(Vec4i(0, 0, static_cast<int>(all.size()), 1), table.at<Vec4i>(0));
    EXPECT_EQ(-1, s.ours->convertDetections(table, 0, boxes));
    EXPECT_TRUE(boxes.empty());
    EXPECT_EQ(all, s.objects(0)); // vectors have no limits
}

TEST(Cascade_Api, maskKeepsCentres)
{
    const Scene s;
    Mat mask(s.image.size(), CV_8UC1, Scalar(0));
    mask(Rect(20, 10, 40, 45)).setTo(1);
    std::vector<Rect> expected, actual;
    for (const Rect& r : s.objects(0))
        if (mask.at<uchar>(std::min(r.y + r.height / 2, mask.rows - 1), std::min(r.x + r.width / 2, mask.cols - 1)))
            expected.push_back(r);
    ASSERT_FALSE(expected.empty());
    ASSERT_LT(expected.size(), s.objects(0).size());
    s.ours->detectMultiScale(s.image, actual, 1.2, 0, 0, Size(), Size(), asRoi(mask));
    EXPECT_EQ(expected, actual);
    s.ours->setMinNeighbors(0);
    Mat tables;
    s.ours->detectAsync(std::vector<Mat>{s.image, s.image}, tables, noArray(), noArray(),
                        std::vector<Mat>{mask, Mat()});
    EXPECT_EQ(static_cast<int>(expected.size()), tables.at<Vec4i>(0, 0)[1]);
    EXPECT_EQ(static_cast<int>(s.objects(0).size()), tables.at<Vec4i>(1, 0)[1]);
}

TEST(Cascade_Api, largestObject)
{
    const Scene s;
    const std::vector<Rect> all = s.objects();
    ASSERT_FALSE(all.empty());
    Rect largest = all[0];
    for (const Rect& r : all)
        if (r.area() > largest.area())
            largest = r;
    s.ours->setFindLargestObject(true);
    EXPECT_EQ(std::vector<Rect>(1, largest), s.objects());
}

TEST(Cascade_Api, copiesOnThreads)
{
    const Scene s;
    const std::vector<Rect> expected = s.objects();
    std::vector<std::vector<Rect>> found(4);
    std::vector<std::thread> threads;
    for (std::vector<Rect>& objects : found)
        threads.emplace_back(
            [&]
            {
                const Ptr<CascadeClassifierEx> copy = s.ours->clone();
                for (int i = 0; i < 5; ++i)
                    copy->detectMultiScale(s.image, objects, 1.2, 1);
            });
    for (std::thread& thread : threads)
        thread.join();
    for (const std::vector<Rect>& objects : found)
        EXPECT_EQ(expected, objects);
    const Ptr<CascadeClassifierEx> copy = s.ours->clone();
    s.ours->clear();
    EXPECT_TRUE(s.ours->empty());
    EXPECT_EQ(1.2, copy->getScaleFactor());
    EXPECT_EQ(s.cascade.window, copy->getOriginalWindowSize());
}

TEST(Cascade_Api, writesWhatItReads)
{
    const Scene s;
    s.ours->setMinObjectSize(Size(11, 12));
    s.ours->setMaxCandidates(777);
    FileStorage out(".xml", FileStorage::WRITE | FileStorage::MEMORY);
    out << "detector"
        << "{";
    s.ours->write(out);
    out << "}";
    const FileStorage in(out.releaseAndGetString(), FileStorage::READ | FileStorage::MEMORY);
    const Ptr<CascadeClassifierEx> read = CascadeClassifierEx::create();
    read->read(in["detector"]);
    EXPECT_EQ(Size(11, 12), read->getMinObjectSize());
    EXPECT_EQ(777, read->getMaxCandidates());
    EXPECT_EQ(1.2, read->getScaleFactor());
    Mat expected, actual;
    s.ours->detectAsync(s.image, expected);
    read->detectAsync(s.image, actual);
    EXPECT_TRUE(sameBits(expected, actual));
}

TEST(Cascade_Api, convertsOldFiles)
{
    const Scene s;
    const TemporaryFile old(".xml"), converted(".xml");
    {
        FileStorage out(old, FileStorage::WRITE);
        writeOldCascade(out, s.cascade);
    }
    EXPECT_TRUE(CascadeClassifierEx::convert(old, converted));
    std::vector<Rect> a, b;
    CascadeClassifierEx::create(old)->detectMultiScale(s.image, a, 1.2, 0);
    CascadeClassifierEx::create(converted)->detectMultiScale(s.image, b, 1.2, 0);
    EXPECT_EQ(a, b);
    EXPECT_FALSE(a.empty());
}

TEST(Cascade_Api, countsPasses)
{
    const Scene s;
    Mat passes;
    s.ours->setMinNeighbors(0);
    s.ours->countPasses(s.image, passes);
    std::vector<double> scales;
    std::vector<Size> layers;
    s.ours->getScales(s.image.size(), scales, layers);
    const int stages = s.ours->getNumberOfStages();
    ASSERT_EQ(Size(3 + stages, static_cast<int>(scales.size())), passes.size());
    int found = 0;
    for (int i = 0; i < passes.rows; ++i)
    {
        EXPECT_EQ(Size(cvRound(s.image.cols / float(scales[i])), cvRound(s.image.rows / float(scales[i]))), layers[i]);
        for (int k = 1; k < passes.cols; ++k)
            EXPECT_LE(passes.at<int>(i, k), passes.at<int>(i, k - 1));
        found += passes.at<int>(i, passes.cols - 1);
    }
    EXPECT_EQ(static_cast<int>(s.objects(0).size()), found);
}

TEST(Cascade_Api, emptyImage)
{
    const Scene s;
    std::vector<Rect> objects(3);
    s.ours->detectMultiScale(Mat(), objects);
    EXPECT_TRUE(objects.empty());
}

TEST(Cascade_Api, threadsDoNotMatter)
{
    const Scene s;
    const int threads = getNumThreads();
    Mat first, other;
    s.ours->setMinNeighbors(0);
    setNumThreads(1);
    s.ours->detectAsync(s.image, first);
    setNumThreads(7);
    s.ours->detectAsync(s.image, other);
    setNumThreads(threads);
    EXPECT_TRUE(sameBits(first, other));
}

}} // namespace opencv_test
