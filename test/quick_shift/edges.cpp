// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Edge cases of QuickShift, where one unit, one pixel or one tie decides. Expectations follow from the contract without
// an oracle, or from the oracle on images whose results do not depend on rounding.
#include "against_oracle.hpp"
#include "../../src/cuda/quick_shift/plan.hpp"
#include "../../src/quick_shift/engine.hpp"

namespace opencv_test { namespace {

using namespace scenes;

//! Returns the smallest number of bits to drop so that the sum of a window of full weights, 2^23 each, fits 32 bits.
int droppedBits(int radius)
{
    int shift = 0;
    while ((int64(2 * radius + 1) * (2 * radius + 1) << 23) >> shift > 0xffffffffLL)
        ++shift;
    return shift;
}

//! The sum of two equal pixels is known exactly, and so is its rounding.
TEST(QuickShift_Edges, lastBitOfTheDensity)
{
    for (double sigma = 0.4; sigma < 60; sigma *= 1.1)
    {
        const Ptr<QuickShift> q = shiftOf(sigma, 5., 1., Mat(1, 2, CV_8U, Scalar(7)));
        Mat density;
        q->getDensity(density);
        const float other = static_cast<float>(std::exp(-1 / (2 * sigma * sigma)));
        const int64 sum = (1 << 23) + cvRound(8388608. * other);
        const int shift = droppedBits(cvCeil(3 * sigma));
        const int64 key = shift > 0 ? (sum + (1LL << (shift - 1))) >> shift : sum; // half up
        EXPECT_EQ(static_cast<float>(std::ldexp(static_cast<double>(key), shift - 23)), density.at<float>(0)) << sigma;
        EXPECT_EQ(density.at<float>(0), density.at<float>(1)) << sigma;
    }
}

//! Nearly all weights are full in the widest window on flat images, so that sums exceed 32 bits as early as possible.
TEST(QuickShift_Edges, widestWindow)
{
    const double sigma = 341.;
    for (const Size size : {Size(1400, 1), Size(1, 1400), Size(700, 3)})
    {
        const Ptr<QuickShift> q = shiftOf(sigma, 2., 1., Mat(size, CV_8UC2, Scalar(3, 4)));
        Mat density;
        q->getDensity(density);
        for (const Point p : {Point(0, 0), Point(size.width / 2, size.height / 2), Point(size) - Point(1, 1)})
        {
            double sum = 0;
            for (int y = 0; y < size.height; ++y)
                for (int x = 0; x < size.width; ++x)
                    if (std::max(std::abs(x - p.x), std::abs(y - p.y)) <= 1023)
                        sum += std::exp(-Vec2d(x - p.x, y - p.y).dot(Vec2d(x - p.x, y - p.y)) / (2 * sigma * sigma));
            EXPECT_NEAR(sum, density.at<float>(p), 2e-6 * sum) << size << " " << p;
        }
    }
}

//! Rows are longer than the blocks of columns that the CPU works on.
TEST(QuickShift_Edges, longRows)
{
    RNG rng(441);
    QuickShiftOptions o(1.2, 5., 0.1);
    for (const int cols : {511, 512, 513, 1023, 1024, 1025, 1540})
    {
        const Mat image = randomImage(rng, Size(cols, 3), CV_8UC3, 3);
        const QuickShiftResult truth = oracle::quickShift(image, o);
        const Results r = computed(*make(o), image);
        EXPECT_LE(oracle::densityError(r.density, truth.density, 0.), 5e-6) << cols;
        EXPECT_GE(oracle::sameParents(r.parents, truth.parents), 0.997) << cols;
    }
}

//! Pixels of a grid are unmasked, and none lies in another's density window, so that all densities are 1. Each parent
//! is a tie, and the spacing decides which step of the search finds it.
TEST(QuickShift_Edges, tiesAtAnyDistance)
{
    for (const int spacing : {1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 25, 33})
        for (const Point origin : {Point(0, 0), Point(5, 3)})
        {
            const Mat image(120, 130, CV_8UC1, Scalar(50));
            QuickShiftOptions o;
            o.sigma = 0.3; // R = 1
            o.mask = gridMask(image.size(), spacing, origin);
            // maxDist exactly the spacing, just below, above; the search radius just wide enough, and too small.
            for (const Vec2d& limits : {Vec2d(spacing, 0), Vec2d(spacing - 0.01, 0), Vec2d(1.5 * spacing, 0),
                                        Vec2d(3 * spacing, spacing), Vec2d(3 * spacing, std::max(spacing - 1, 1))})
                for (const bool strict : {false, true})
                {
                    o.maxDist = limits[0];
                    o.searchRadius = static_cast<int>(limits[1]);
                    o.strict = strict;
                    const Results r = computed(*make(o), image, o.mask);
                    const QuickShiftResult truth = oracle::quickShift(image, o);
                    ASSERT_TRUE(sameBits(truth.parents, r.parents))
                        << "spacing " << spacing << " " << origin << " limits " << limits << " strict " << strict;
                }
        }
}

//! One candidate is near in position and far in colour, the other the reverse, both at the same distance: the lower
//! index wins although the search meets it last, exactly r rings away.
TEST(QuickShift_Edges, tiesOfColourAndPlace)
{
    for (const int r : {2, 3, 4, 5, 8, 9, 11, 12, 13, 17, 25, 33})
        for (const bool above : {true, false})
            for (const Point at : {Point(40, 40), Point(47, 47), Point(43, 36)})
            {
                const RingTie tie(r, above, at);
                for (const double maxDist : {double(r), 60.})
                {
                    const Ptr<QuickShift> q = QuickShift::create(0.3, maxDist, 1.);
                    const Results found = computed(*q, tie.image, tie.mask);
                    EXPECT_EQ(tie.parent, found.parents.at<int>(at))
                        << r << " " << above << " " << at << " " << maxDist;
                    EXPECT_EQ(static_cast<float>(r), found.distances.at<float>(at));
                }
            }
}

//! Returns parents of all pixels from given densities by visiting all pairs. Exact for 8-bit images at a scale of 1/8.
Mat parentsOf(const Mat& image, const Results& r, double maxDist, int radius, bool strict)
{
    Mat parents(image.size(), CV_32S, Scalar(-1));
    std::vector<Point> all;
    for (int i = 0; i < int(image.total()); ++i)
        if (r.density.at<float>(i / image.cols, i % image.cols) > 0)
            all.push_back(Point(i % image.cols, i / image.cols));
    for (const Point p : all)
    {
        double best = maxDist * maxDist;
        parents.at<int>(p) = p.y * image.cols + p.x;
        for (const Point q : all) // in raster order
        {
            const Vec2d c = (Vec2d(image.at<Vec2b>(p)) - Vec2d(image.at<Vec2b>(q))) / 8;
            const double d = (p - q).dot(p - q) + c.dot(c);
            const float mine = r.density.at<float>(p), other = r.density.at<float>(q);
            const bool before = !strict && (q.y < p.y || (q.y == p.y && q.x < p.x));
            const bool inSquare = std::abs(p.x - q.x) <= radius && std::abs(p.y - q.y) <= radius;
            if (!inSquare || other < mine || (other == mine && !before))
                continue;
            if (d < best || (d == best && parents.at<int>(p) == p.y * image.cols + p.x))
            {
                best = d;
                parents.at<int>(p) = q.y * image.cols + q.x;
            }
        }
    }
    return parents;
}

//! Parents are found many rings away, at all positions relative to the cells that prune the search.
TEST(QuickShift_Edges, farParents)
{
    RNG rng(442);
    for (const double maxDist : {13., 20., 33.5, 70.})
        for (const int radius : {0, 13, 15, 24})
        {
            const Mat image = randomImage(rng, Size(133, 91), CV_8UC2, 3, 6);
            Mat mask(image.size(), CV_8U);
            rng.fill(mask, RNG::UNIFORM, 0, 40);
            mask = mask == 1;             // one pixel in 40
            for (int i = 0; i < 150; ++i) // pairs are denser than single pixels
            {
                const int x = rng.uniform(0, 66) * 2;
                mask.at<uchar>(rng.uniform(0, 91), x) = 1;
            }
            const Ptr<QuickShift> q =
                QuickShift::create(0.3, maxDist, 0.125); // few neighbours: densities are exact floats
            q->setSearchRadius(radius);
            for (const bool strict : {false, true})
            {
                q->setTieRule(strict ? QuickShift::STRICT : QuickShift::INDEX);
                const Results r = computed(*q, image, mask);
                const Mat truth = parentsOf(image, r, maxDist, radius > 0 ? radius : cvCeil(maxDist), strict);
                EXPECT_TRUE(sameBits(truth, r.parents)) << maxDist << " " << radius << " " << strict;
            }
        }
}

TEST(QuickShift_Edges, normalizedNarrow)
{
    RNG rng(443);
    QuickShiftOptions o(1.4, 6., 0.125);
    o.normalize = true;
    for (const Size size : {Size(1, 1), Size(1, 40), Size(2, 40), Size(3, 40), Size(40, 1), Size(40, 2), Size(40, 3)})
    {
        const Mat image = randomImage(rng, size, CV_8UC1, 3);
        const Results r = computed(*make(o), image);
        EXPECT_LE(oracle::densityError(r.density, oracle::quickShift(image, o).density, 0.), 5e-6) << size;
    }
}

//! Cutting at the length of a link keeps that link, and equals computing with that maxDist: the same float decides.
TEST(QuickShift_Edges, cutAtALinksLength)
{
    Mat image;
    randomImage(444, Size(36, 28), CV_8UC3, 5).convertTo(image, CV_32F, 0.37);
    const Ptr<QuickShift> q = shiftOf(2., 30., 0.7, image), once = QuickShift::create(2., 30., 0.7);
    Mat heights, counts;
    q->getMergeHeights(heights, counts);
    ASSERT_GT(heights.rows, 200);
    for (int k = 0; k < heights.rows; k += 3)
        for (const float tau : {std::nextafter(heights.at<float>(k), 0.f), heights.at<float>(k)})
        {
            ASSERT_NO_FATAL_FAILURE(expectCutEqualsCompute(*q, *once, image, tau));
            const int before = k > 0 ? counts.at<int>(k - 1) : static_cast<int>(image.total()); // nothing is masked
            ASSERT_EQ(tau == heights.at<float>(k) ? counts.at<int>(k) : before, q->countSuperpixels(tau)) << tau;
        }
}

TEST(QuickShift_Edges, mergeHeightsWithMask)
{
    RNG rng(445);
    const Mat image = randomImage(rng, Size(50, 40), CV_8UC3, 5);
    Mat mask(image.size(), CV_8U), heights, counts;
    rng.fill(mask, RNG::UNIFORM, 0, 3);
    const Ptr<QuickShift> q = shiftOf(2., 20., 0.3, image, mask);
    q->getMergeHeights(heights, counts);
    ASSERT_GT(heights.rows, 10);
    EXPECT_EQ(q->getNumberOfSuperpixels(), counts.at<int>(counts.rows - 1));
    for (int k = 0; k < heights.rows; k += 3)
        EXPECT_EQ(q->countSuperpixels(heights.at<float>(k)), counts.at<int>(k));
}

//! Values of 1e15 and more are masked.
TEST(QuickShift_Edges, largestFloat)
{
    Mat image(1, 4, CV_32FC2, Scalar(1, 1));
    image.at<Vec2f>(1)[1] = 9.9e14f;
    image.at<Vec2f>(2)[0] = -1.01e15f;
    const Ptr<QuickShift> q = QuickShift::create(1., 5., 1.);
    Mat labels;
    q->compute(image);
    q->getLabels(labels);
    EXPECT_EQ(0, cvtest::norm(labels, Mat(Mat_<int>({1, 4}, {0, 1, -1, 0})), NORM_INF)) << labels;
    q->setChannelScales(Scalar(0.5, 2.)); // scaled values count now
    q->compute(image);
    q->getLabels(labels);
    EXPECT_EQ(0, cvtest::norm(labels, Mat(Mat_<int>({1, 4}, {0, -1, 1, 0})), NORM_INF)) << labels;
}

//! Means round halves up; values that are not finite count as 0; masked pixels are painted 0.
TEST(QuickShift_Edges, means)
{
    const Ptr<QuickShift> q = QuickShift::create(1., 5., 1.);
    const Mat mask = Mat_<uchar>({1, 5}, {1, 1, 1, 1, 0});
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    q->compute(Mat(1, 5, CV_8U, Scalar(9)), mask);
    ASSERT_EQ(1, q->getNumberOfSuperpixels());
    Mat painted, areas, means, boxes;
    q->getMeanColor(Mat_<uchar>({1, 5}, {0, 1, 1, 0, 200}), painted);
    EXPECT_TRUE(sameBits(Mat_<uchar>({1, 5}, {1, 1, 1, 1, 0}), painted));
    q->getMeanColor(Mat_<ushort>({1, 5}, {65535, 65534, 65534, 65535, 1}), painted);
    EXPECT_TRUE(sameBits(Mat_<ushort>({1, 5}, {65535, 65535, 65535, 65535, 0}), painted));
    const Mat floats = Mat_<float>({1, 5}, {1, nan, 4, 3, 1000});
    q->getMeanColor(floats, painted);
    EXPECT_TRUE(sameBits(Mat_<float>({1, 5}, {2, 2, 2, 2, 0}), painted));
    q->getMeanColor(Mat_<float>({1, 5}, {1, 4, -inf, 3, 1000}), painted);
    EXPECT_TRUE(sameBits(Mat_<float>({1, 5}, {2, 2, 2, 2, 0}), painted));
    q->getMeanColor(Mat_<float>({1, 5}, {1, 1, 1, 1e30f, 1}), painted); // the largest value comes last
    EXPECT_FLOAT_EQ(2.5e29f, painted.at<float>(0));
    Mat pairs(1, 5, CV_32FC2, Scalar(1, 2));
    pairs.at<Vec2f>(3)[1] = 1e30f;
    q->getMeanColor(pairs, painted);
    EXPECT_FLOAT_EQ(2.5e29f, painted.at<Vec2f>(0)[1]);
    q->getStatistics(floats, areas, means, noArray(), boxes);
    EXPECT_EQ(4, areas.at<int>(0));
    EXPECT_EQ(2.f, means.at<float>(0));
    EXPECT_EQ(Vec4i(0, 0, 4, 1), boxes.at<Vec4i>(0));
    q->getStatistics(floats, noArray(), means);
    EXPECT_EQ(2.f, means.at<float>(0));
}

TEST(QuickShift_Edges, contoursWithMask)
{
    const Ptr<QuickShift> q = QuickShift::create(1., 5., 1.);
    Mat mask(4, 6, CV_8U, Scalar(1)), thin, thick;
    mask.col(3).setTo(0); // two flat halves that the search crosses: one superpixel, and masked pixels between
    q->compute(Mat(4, 6, CV_8U, Scalar(9)), mask);
    ASSERT_EQ(1, q->getNumberOfSuperpixels());
    q->getLabelContourMask(thin, false);
    q->getLabelContourMask(thick, true);
    const Mat row = Mat_<uchar>({1, 6}, {0, 0, 255, 255, 0, 0}), wide = Mat_<uchar>({1, 6}, {0, 0, 255, 255, 255, 0});
    EXPECT_TRUE(sameBits(repeat(row, 4, 1), thin)) << thin;
    EXPECT_TRUE(sameBits(repeat(wide, 4, 1), thick)) << thick;
}

//! Tiles of a larger image equal the whole, with parents beyond the rings, masks and regions at odd offsets.
TEST(QuickShift_Edges, largerImageInTiles)
{
    RNG rng(446);
    for (const int depth : {CV_8U, CV_16U, CV_32F})
    {
        Mat image, mask(Size(320, 240), CV_8U);
        randomImage(rng, mask.size(), CV_8UC3, 7).convertTo(image, depth, depth == CV_16U ? 256. : 1.);
        rng.fill(mask, RNG::UNIFORM, 0, 9);
        const Ptr<QuickShift> q = QuickShift::create(1.5, 25., depth == CV_16U ? 0.3 / 256 : 0.3);
        q->setTieRule(depth == CV_16U ? QuickShift::STRICT : QuickShift::INDEX);
        const Results whole = computed(*q, image, mask);
        for (const Size tile : {Size(160, 130), Size(320, 99)})
        {
            q->computeTiled(asRoi(image), tile, false, asRoi(mask));
            expectSame(whole, resultsOf(*q));
        }
    }
}

//! The pixels that matter lie at the end of the window and of the search: a tile's border has no pixel to spare.
TEST(QuickShift_Edges, tilesNeedAllOfTheirBorder)
{
    const Mat image(60, 70, CV_8U, Scalar(9));
    const Mat mask = gridMask(image.size(), 3, Point(1, 2));
    const Ptr<QuickShift> q = QuickShift::create(1., 20., 1.); // R = 3
    q->setSearchRadius(3);
    const Results whole = computed(*q, image, mask);
    EXPECT_GT(whole.density.at<float>(32, 31), 1.f);
    for (const Size tile : {Size(3, 3), Size(7, 5), Size(10, 11)})
    {
        q->computeTiled(image, tile, false, mask);
        expectSame(whole, resultsOf(*q));
    }
}

TEST(QuickShift_Edges, searchRadii)
{
    const Mat image = randomImage(448, Size(60, 50), CV_8UC1, 5);
    const Ptr<QuickShift> q = QuickShift::create(2.1, 30.5, 0.25), same = QuickShift::create(2.1, 30.5, 0.25);
    q->setSearchRadius(QuickShift::SEARCH_WINDOW);
    same->setSearchRadius(7);
    q->compute(image);
    same->compute(image);
    expectSame(resultsOf(*same), resultsOf(*q));
    q->setSearchRadius(QuickShift::SEARCH_MAX_DIST);
    q->compute(image);
    EXPECT_GT(same->getNumberOfSuperpixels(), q->getNumberOfSuperpixels()) << "the window hides parents";
    same->setSearchRadius(31);
    same->compute(image);
    expectSame(resultsOf(*same), resultsOf(*q));
}

//! Threads with an instance each give the same results.
TEST(QuickShift_Edges, instancesOnThreads)
{
    const Mat image = randomImage(447, Size(150, 110), CV_8UC3, 5);
    const Ptr<QuickShift> first = shiftOf(2., 20., 0.3, image);
    expectSameOnThreads(resultsOf(*first),
                        [&image]
                        {
                            const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.3);
                            for (int i = 0; i < 5; ++i)
                                q->compute(image);
                            return resultsOf(*q);
                        });
}

//! Accepts the largest values of the contract and refuses the next larger ones.
TEST(QuickShift_Edges, limits)
{
    const Ptr<QuickShift> q = QuickShift::create(341., 32767., 1.);
    EXPECT_THROW(q->setSigma(341.01), cv::Exception);
    EXPECT_THROW(q->setMaxDist(32767.01), cv::Exception);
    q->setSearchRadius(32767);
    EXPECT_THROW(q->setColorScale(1.01e9), cv::Exception);
    q->setColorScale(1e9);
    q->setSigma(0.3);
    for (const Size size : {Size(65535, 1), Size(1, 65535)})
    {
        q->setSearchRadius(1);
        q->compute(Mat(size, CV_8U, Scalar(1)));
        EXPECT_EQ(1, q->getNumberOfSuperpixels()) << size;
        EXPECT_THROW(q->compute(Mat(size + Size(size.width > 1, size.height > 1), CV_8U, Scalar(1))), cv::Exception);
    }
    const Mat good(20, 20, CV_8UC3, Scalar(1, 2, 3));
    EXPECT_THROW(q->computeBatch(std::vector<Mat>{good, Mat(20, 20, CV_8UC1)}, noArray()), cv::Exception);
    EXPECT_THROW(q->computeBatch(std::vector<Mat>{good, Mat()}, noArray()), cv::Exception);
}

//! Returns an image without memory, whose pixels must not be read.
Mat headerOnly(int rows, int cols)
{
    static uchar pixel;
    return Mat(rows, cols, CV_8UC1, &pixel);
}

//! Refuses more than 2,000,000,000 pixels. Fewer pass to a later check, which refuses labels that are no list.
TEST(QuickShift_Edges, pixelsAtTheLimit)
{
    const Ptr<QuickShift> q = QuickShift::create();
    const std::string tooMany = "but there must be at most 2000000000";
    Mat noList;
    const auto batch = [&](int count, int rows, int cols)
    { q->computeBatch(std::vector<Mat>(count, headerOnly(rows, cols)), noList); };
    expectRefused([&] { batch(1, 50000, 40000); }, {"labels: must be a list"});
    expectRefused([&] { batch(50000, 40000, 1); }, {"labels: must be a list"});
    expectRefused([&] { batch(50001, 40000, 1); }, {tooMany, "2000040000 pixels"});
    expectRefused([&] { batch(2, 50000, 20001); }, {tooMany});
    for (const Size size : {Size(50000, 40001), Size(46340, 46341), Size(65535, 65535)})
    {
        expectRefused([&] { q->compute(headerOnly(size.height, size.width)); }, {tooMany});
        expectRefused([&] { q->computeTiled(headerOnly(size.height, size.width), Size(100, 100)); }, {tooMany});
    }
    EXPECT_TRUE(q->empty());
}

//! Indices near the limit do not wrap: no pixel of the last row has a pixel below.
TEST(QuickShift_Edges, indicesAtTheLimit)
{
    using namespace cv::cuda::quick_shift;
    const Extent extents[] = {{40000, 50000, 1}, {50000, 40000, 1},     {65535, 30517, 1}, {30517, 65535, 1},
                              {40000, 5, 10000}, {65535, 30517 / 7, 7}, {1, 40000, 50000}};
    for (const Extent& e : extents)
    {
        ASSERT_LE(e.total(), MAX_PIXELS);
        ASSERT_GT(e.total(), MAX_PIXELS - 500000);
        EXPECT_FALSE(gpu::hasBelow(e, e.total() - 1)) << e.cols << " x " << e.rows << " x " << e.count;
        EXPECT_FALSE(gpu::hasBelow(e, e.total() - e.cols)) << e.cols << " x " << e.rows << " x " << e.count;
        EXPECT_TRUE(gpu::hasBelow(e, e.total() - e.cols - 1)) << e.cols << " x " << e.rows << " x " << e.count;
    }
}

//! Numbers of pairs above the rows of an array are refused.
TEST(QuickShift_Edges, longestAdjacency)
{
    using cv::cuda::quick_shift::adjacencyLength;
    EXPECT_EQ(0, adjacencyLength(0));
    EXPECT_EQ(INT_MAX, adjacencyLength(INT_MAX));
    expectRefused([] { adjacencyLength(INT_MAX + 1ull); }, {"getAdjacency()", "2147483648", "2147483647"});
    expectRefused([] { adjacencyLength(4000000000ull); }, {"getAdjacency()", "4000000000"});
}

}} // namespace opencv_test
