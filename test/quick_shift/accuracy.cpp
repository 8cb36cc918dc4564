// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Compares the CPU backend of QuickShift with its definition in double and with consequences of the definition.
#include "against_oracle.hpp"

namespace opencv_test { namespace {

using namespace scenes;

//! Checks everything that the definition fixes. @param parentShare 0: densities are too close to each other to compare
//! parents.
void expectLikeOracle(const Mat& image, const QuickShiftOptions& o, double parentShare, const std::string& what)
{
    SCOPED_TRACE(what);
    const QuickShiftResult truth = oracle::quickShift(image, o);
    const Ptr<QuickShift> q = make(o);
    const Results r = computed(*q, image, o.mask);
    EXPECT_LE(oracle::densityError(r.density, truth.density, 0.), 2e-5);
    EXPECT_LE(oracle::densityError(r.density, truth.density, 10.), 5e-6);
    EXPECT_GE(oracle::sameParents(r.parents, truth.parents), parentShare);
    EXPECT_GE(oracle::overlap(r.labels, oracle::labelsOf(truth.parents)), parentShare > 0. ? 0.999 : 0.);
    int count = 0;
    EXPECT_TRUE(sameBits(oracle::labelsOf(r.parents, &count), r.labels));
    EXPECT_EQ(count, r.count);
    expectDistances(truth, r, 2e-6);
}

TEST(QuickShift_Accuracy, typesAndChannels)
{
    RNG rng(401);
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (int channels = 1; channels <= 4; ++channels)
        {
            const Mat bytes = randomImage(rng, Size(61, 47), CV_MAKETYPE(CV_8U, channels), 5);
            Mat image;
            bytes.convertTo(image, CV_MAKETYPE(depth, channels),
                            depth == CV_16U   ? 257.
                            : depth == CV_32F ? 1. / 3
                                              : 1.);
            QuickShiftOptions o(2.3, 7.5, depth == CV_16U ? 0.1 / 257 : 0.1);
            expectLikeOracle(image, o, 0.995, typeToString(image.type()));
        }
}

TEST(QuickShift_Accuracy, options)
{
    const Mat image = randomImage(402, Size(70, 50), CV_8UC3, 5);
    QuickShiftOptions o(2., 8., 0.1);
    expectLikeOracle(image, o, 0.997, "plain");
    o.scales = {0.1, 0.3, 0.02, 1.};
    expectLikeOracle(image, o, 0.997, "a scale for each channel");
    o.scales = {0., 0., 0., 0.};
    expectLikeOracle(image, o, 0., "no colour");
    o.scales.assign(4, 0.2);
    o.searchRadius = 3;
    expectLikeOracle(image, o, 0.997, "search radius 3");
    o.searchRadius = 0;
    o.normalize = true;
    expectLikeOracle(image, o, 0.997, "normalised");
    o.normalize = false;
    o.strict = true;
    expectLikeOracle(image, o, 0.997, "strict");
    o.strict = false;
    o.sigma = 0.2;
    expectLikeOracle(image, o, 0., "smallest window");
    o.sigma = 9.;
    o.maxDist = 60.;
    expectLikeOracle(image, o, 0.997, "wide window, long links");
}

TEST(QuickShift_Accuracy, mask)
{
    RNG rng(403);
    const Mat image = randomImage(rng, Size(64, 40), CV_8UC3, 5);
    QuickShiftOptions o(2., 8., 0.15);
    o.mask = Mat(image.size(), CV_8U);
    rng.fill(o.mask, RNG::UNIFORM, 0, 4);
    o.mask(Rect(10, 10, 20, 9)).setTo(0);
    expectLikeOracle(image, o, 0.997, "mask");
    const Ptr<QuickShift> q = make(o);
    const Results r = computed(*q, image, o.mask);
    EXPECT_EQ(0, countNonZero((r.labels == -1) != (o.mask == 0)));
    EXPECT_EQ(0, countNonZero((r.parents == -1) != (o.mask == 0)));
    EXPECT_EQ(0, countNonZero((r.density == 0) != (o.mask == 0)));
    q->compute(image, Mat(image.size(), CV_8U, Scalar(0)));
    EXPECT_EQ(0, q->getNumberOfSuperpixels());
}

//! NaN and infinity are masked; the other pixels are as with a mask of these.
TEST(QuickShift_Accuracy, notANumber)
{
    Mat image;
    randomImage(404, Size(40, 30), CV_8UC3, 5).convertTo(image, CV_32FC3);
    Mat mask(image.size(), CV_8U, Scalar(255));
    image.at<Vec3f>(5, 7)[1] = std::numeric_limits<float>::quiet_NaN();
    image.at<Vec3f>(20, 30)[2] = std::numeric_limits<float>::infinity();
    image.at<Vec3f>(21, 30)[0] = -3e38f;
    const Ptr<QuickShift> q = QuickShift::create(2., 8., 0.15);
    const Results found = computed(*q, image);
    for (const Point p : {Point(7, 5), Point(30, 20), Point(30, 21)})
    {
        mask.at<uchar>(p) = 0;
        image.at<Vec3f>(p) = Vec3f();
    }
    q->compute(image, mask);
    expectSame(resultsOf(*q), found);
}

//! Ties decide in flat images, two levels and lines.
TEST(QuickShift_Accuracy, plateaus)
{
    Mat levels(40, 60, CV_8UC1, Scalar(40));
    levels(Rect(20, 10, 30, 20)).setTo(200);
    QuickShiftOptions o;
    o.sigma = 2.;
    o.maxDist = 8.;
    expectLikeOracle(Mat(33, 45, CV_8UC3, Scalar(9, 8, 7)), o, 0.999, "flat");
    expectLikeOracle(levels, o, 0.999, "two levels");
    expectLikeOracle(levels.row(15), o, 0.999, "a row");
    expectLikeOracle(levels.col(25), o, 0.999, "a column");
    expectLikeOracle(levels(Rect(0, 0, 1, 1)), o, 1., "a pixel");
    const Ptr<QuickShift> q = make(o);
    q->compute(Mat(33, 45, CV_8UC3, Scalar(9, 8, 7)));
    EXPECT_EQ(1, q->getNumberOfSuperpixels());
    q->setTieRule(QuickShift::STRICT);
    q->compute(Mat(33, 45, CV_8UC3, Scalar(9, 8, 7)));
    EXPECT_EQ((33 - 12) * (45 - 12), q->getNumberOfSuperpixels()) << "each pixel of the plateau is a root";
}

TEST(QuickShift_Accuracy, sizes)
{
    RNG rng(405);
    QuickShiftOptions o(1.5, 20., 0.02);
    for (const int cols : {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65})
        for (const int rows : {1, 8, 31, 33})
            expectLikeOracle(randomImage(rng, Size(cols, rows), CV_8UC3, 3), o, 0.99,
                             cv::format("%d x %d", cols, rows));
}

TEST(QuickShift_Accuracy, roiAndThreads)
{
    const Mat image = randomImage(406, Size(131, 75), CV_8UC3, 5);
    const Ptr<QuickShift> q = QuickShift::create(2.5, 30., 0.4);
    const Results whole = computed(*q, image);
    q->compute(asRoi(image));
    expectSame(whole, resultsOf(*q));
    const int threads = getNumThreads();
    for (const int n : {1, 2, 3, 7})
    {
        setNumThreads(n);
        expectSame(whole, computed(*q, image));
    }
    setNumThreads(threads);
    q->compute(image.getUMat(ACCESS_READ));
    expectSame(whole, resultsOf(*q));
}

//! Sums exceed 32 bits several times in so wide a window on a flat image, where all weights are full.
TEST(QuickShift_Accuracy, wideWindow)
{
    const Ptr<QuickShift> q = shiftOf(100., 5., 1., Mat(90, 110, CV_8U, Scalar(3)));
    Mat density;
    q->getDensity(density);
    double sum = 0;
    for (int y = 0; y < 90; ++y)
        for (int x = 0; x < 110; ++x)
            sum += std::exp(-((x - 50) * (x - 50) + (y - 40) * (y - 40)) / 20000.);
    EXPECT_NEAR(sum, density.at<float>(40, 50), 5e-6 * sum);
}

TEST(QuickShift_Surface, segmentEqualsCompute)
{
    const Mat image = randomImage(407, Size(90, 70), CV_8UC3, 5);
    const Ptr<QuickShift> q = shiftOf(2., 40., 0.3, image), once = QuickShift::create(2., 40., 0.3);
    Mat heights, counts;
    q->getMergeHeights(heights, counts);
    ASSERT_GT(heights.rows, 20);
    ASSERT_EQ(heights.rows, counts.rows);
    EXPECT_EQ(q->getNumberOfSuperpixels(), counts.at<int>(counts.rows - 1));
    for (const double tau : {0.5, 1., 3.7, 10., 39.9, 40.})
        expectCutEqualsCompute(*q, *once, image, tau);
    for (int k = 0; k < heights.rows; k += 5)
    {
        ASSERT_TRUE(k == 0 || heights.at<float>(k - 1) < heights.at<float>(k));
        ASSERT_EQ(counts.at<int>(k), q->countSuperpixels(heights.at<float>(k)));
    }
}

TEST(QuickShift_Surface, contours)
{
    const Ptr<QuickShift> q = shiftOf(2., 8., 0.3, randomImage(408, Size(50, 40), CV_8UC3, 5));
    Mat labels, thick, thin;
    q->getLabels(labels);
    q->getLabelContourMask(thick);
    q->getLabelContourMask(thin, false);
    const auto differs = [&](int x, int y, int dx, int dy)
    {
        return Rect(0, 0, 50, 40).contains(Point(x + dx, y + dy)) &&
               labels.at<int>(y + dy, x + dx) != labels.at<int>(y, x);
    };
    for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 50; ++x)
        {
            int n = 0;
            for (int k = 0; k < 9; ++k)
                n += differs(x, y, k % 3 - 1, k / 3 - 1);
            ASSERT_EQ(n > 1 ? 255 : 0, thick.at<uchar>(y, x));
            ASSERT_EQ(differs(x, y, 1, 0) || differs(x, y, 0, 1) || differs(x, y, 1, 1) ? 255 : 0,
                      thin.at<uchar>(y, x));
        }
}

//! Pixels without data are often the largest value of all, and count in no mean: also not in the steps of the means.
TEST(QuickShift_Surface, meansLeaveOutMaskedPixels)
{
    for (const float nothing : {-FLT_MAX, 1e10f, -9999.f})
        for (const int place : {0, 7, 12 * 13 - 1})
        {
            SCOPED_TRACE(cv::format("%g at %d", nothing, place));
            Mat image(12, 13, CV_32FC1, Scalar(0.25)), mask(image.size(), CV_8UC1, Scalar(255)), means, painted;
            image.at<float>(place) = nothing;
            mask.at<uchar>(place) = 0;
            const Ptr<QuickShift> q = shiftOf(2., 8., 32., image, mask);
            q->getStatistics(image, noArray(), means, noArray(), noArray());
            q->getMeanColor(image, painted);
            EXPECT_EQ(0, cvtest::norm(means, Mat(means.size(), CV_32FC1, Scalar(0.25)), NORM_INF));
            image.at<float>(place) = 0.f;
            EXPECT_EQ(0, cvtest::norm(painted, image, NORM_INF));
        }
}

TEST(QuickShift_Surface, statisticsAndMeanColor)
{
    const Mat bytes = randomImage(409, Size(50, 40), CV_8UC3, 5);
    const Ptr<QuickShift> q = shiftOf(2., 8., 0.3, bytes);
    Mat labels;
    q->getLabels(labels);
    for (const int depth : {CV_8U, CV_16U, CV_32F})
    {
        Mat image, areas, means, centroids, boxes, painted;
        bytes.convertTo(image, depth, depth == CV_8U ? 1. : 100.3);
        q->getStatistics(image, areas, means, centroids, boxes);
        q->getMeanColor(image, painted);
        ASSERT_EQ(q->getNumberOfSuperpixels(), areas.rows);
        for (int i = 0; i < areas.rows; ++i)
        {
            const Mat member = labels == i;
            const Scalar truth = mean(image, member);
            Mat points;
            findNonZero(member, points);
            ASSERT_EQ(static_cast<int>(points.total()), areas.at<int>(i));
            ASSERT_EQ(boundingRect(points), Rect(Mat_<Rect>(boxes)(i)));
            const Scalar centre = mean(points);
            EXPECT_NEAR(centre[0], centroids.at<Vec2f>(i)[0], 1e-5);
            EXPECT_NEAR(centre[1], centroids.at<Vec2f>(i)[1], 1e-5);
            const Point at = points.at<Point>(0);
            for (int k = 0; k < 3; ++k)
            {
                ASSERT_NEAR(truth[k], means.at<Vec3f>(i)[k], 1e-5 * (1 + truth[k]));
                const double drawn = depth == CV_8U    ? painted.at<Vec3b>(at)[k]
                                     : depth == CV_16U ? painted.at<Vec3w>(at)[k]
                                                       : painted.at<Vec3f>(at)[k];
                ASSERT_NEAR(truth[k], drawn, depth == CV_32F ? 1e-5 * (1 + truth[k]) : 0.5001);
            }
        }
    }
}

//! Pieces are connected, small ones are gone, and joining follows the documentation, as a slow list of pieces does.
TEST(QuickShift_Surface, connectivity)
{
    RNG rng(410);
    for (const int minSize : {1, 2, 10, 40, 100000})
    {
        const Ptr<QuickShift> q = QuickShift::create(1.5, 12., 0.4);
        const Mat image = randomImage(rng, Size(60, 44), CV_8UC3, 3);
        Mat mask(image.size(), CV_8U, Scalar(1));
        mask(Rect(0, 20, 60, 2)).setTo(0);
        q->compute(image, mask);
        Mat labels, connected;
        q->getLabels(labels);
        const int n = q->enforceConnectivity(minSize);
        q->getLabels(connected);
        EXPECT_EQ(n, q->getNumberOfSuperpixels());
        EXPECT_TRUE(sameBits(joinedPieces(labels, minSize), connected)) << minSize;
    }
}

TEST(QuickShift_Surface, batchEqualsSingles)
{
    RNG rng(411);
    std::vector<Mat> images, labels;
    for (int i = 0; i < 3; ++i)
        images.push_back(randomImage(rng, Size(50, 41), CV_8UC3, 5));
    const Ptr<QuickShift> q = QuickShift::create(2., 20., 0.4), single = QuickShift::create(2., 20., 0.4);
    q->computeBatch(images, labels);
    const Results all = resultsOf(*q);
    Mat cutAll, cut, contoursAll, contours;
    q->segment(5., cutAll);
    q->getLabelContourMask(contoursAll);
    ASSERT_EQ(3u, labels.size());
    int count = 0;
    for (int i = 0; i < 3; ++i)
    {
        const Results one = computed(*single, images[i]);
        EXPECT_TRUE(sameBits(one.labels, labels[i]));
        EXPECT_TRUE(sameBits(one.parents, all.parents.rowRange(i * 41, i * 41 + 41)));
        EXPECT_TRUE(sameBits(one.density, all.density.rowRange(i * 41, i * 41 + 41)));
        single->segment(5., cut);
        single->getLabelContourMask(contours);
        EXPECT_TRUE(sameBits(cut, cutAll.rowRange(i * 41, i * 41 + 41)));
        EXPECT_TRUE(sameBits(contours, contoursAll.rowRange(i * 41, i * 41 + 41)));
        count += one.count;
    }
    EXPECT_EQ(count, all.count);
}

TEST(QuickShift_Surface, tilesEqualWhole)
{
    RNG rng(412);
    const Mat image = randomImage(rng, Size(97, 83), CV_8UC3, 5);
    Mat mask(image.size(), CV_8U);
    rng.fill(mask, RNG::UNIFORM, 0, 9);
    for (const bool normalize : {false, true})
        for (const Size tile : {Size(20, 30), Size(97, 10), Size(200, 200)})
        {
            const Ptr<QuickShift> q = QuickShift::create(1.5, 6., 0.2);
            q->setNormalizeDensity(normalize);
            const Results whole = computed(*q, image, mask);
            q->computeTiled(image, tile, false, mask);
            expectSame(whole, resultsOf(*q));
        }
}

//! The default factor has one weight for images of all types, and is kept by files.
TEST(QuickShift_Surface, colorScaleByType)
{
    const Mat bytes = randomImage(418, Size(60, 45), CV_8UC3, 5);
    Mat words, floats;
    bytes.convertTo(words, CV_16U, 257);
    bytes.convertTo(floats, CV_32F, 1. / 255);
    const Ptr<QuickShift> q = QuickShift::create(2., 8.);
    EXPECT_EQ(double(QuickShift::BY_TYPE), q->getColorScale());
    FileStorage out("any.xml", FileStorage::WRITE | FileStorage::MEMORY);
    q->write(out);
    const FileStorage in(out.releaseAndGetString(), FileStorage::READ | FileStorage::MEMORY);
    q->setColorScale(3.);
    q->read(in.root());
    const std::pair<Mat, double> scales[] = {{bytes, 32. / 255}, {words, 32. / 65535}, {floats, 32.}};
    for (const auto& [image, scale] : scales)
        expectSame(computed(*QuickShift::create(2., 8., scale), image), computed(*q, image));
    q->setScales({0.5, 0.5, 0.5});
    q->setChannelScales(Scalar::all(QuickShift::BY_TYPE));
    expectSame(computed(*QuickShift::create(2., 8., 32.), floats), computed(*q, floats));
    EXPECT_THROW(q->setScales({double(QuickShift::BY_TYPE), 1., 1., 1.}), cv::Exception);
}

TEST(QuickShift_Surface, emptyAndClear)
{
    const Ptr<QuickShift> q = QuickShift::create();
    Mat out(3, 3, CV_8U);
    EXPECT_TRUE(q->empty());
    q->getLabels(out);
    EXPECT_TRUE(out.empty());
    q->compute(Mat(20, 20, CV_8U, Scalar(1)));
    EXPECT_FALSE(q->empty());
    q->compute(Mat());
    EXPECT_TRUE(q->empty());
    EXPECT_EQ(0, q->getNumberOfSuperpixels());
    EXPECT_EQ(0, q->enforceConnectivity(3));
    q->segment(3., out);
    EXPECT_TRUE(out.empty());
}

TEST(QuickShift_Negative, parameters)
{
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    for (const double bad : {0., -1., nan, inf, -inf, 342., 1e300})
        EXPECT_THROW(QuickShift::create(bad), cv::Exception) << bad;
    for (const double bad : {0., -1., nan, inf, 32768.})
        EXPECT_THROW(QuickShift::create(6., bad), cv::Exception) << bad;
    for (const double bad : {-2., -0.5, nan, inf, 1e10})
        EXPECT_THROW(QuickShift::create(6., 10., bad), cv::Exception) << bad;
    const Ptr<QuickShift> q = QuickShift::create();
    EXPECT_THROW(q->setSearchRadius(-2), cv::Exception);
    EXPECT_THROW(q->setSearchRadius(32768), cv::Exception);
    EXPECT_THROW(q->setTieRule(2), cv::Exception);
    EXPECT_EQ(6., q->getSigma());
    EXPECT_EQ(QuickShift::INDEX, q->getTieRule());
}

TEST(QuickShift_Negative, images)
{
    const Ptr<QuickShift> q = QuickShift::create(1., 5., 1.);
    const Mat good(20, 20, CV_8UC3, Scalar(1, 2, 3));
    q->compute(good);
    for (const int type : {CV_8SC1, CV_32SC1, CV_64FC3, CV_8UC(17), CV_16SC3})
        EXPECT_THROW(q->compute(Mat(4, 4, type)), cv::Exception) << typeToString(type);
    EXPECT_THROW(q->compute(Mat(1, 65536, CV_8U)), cv::Exception);
    EXPECT_THROW(q->compute(good, Mat(20, 19, CV_8U)), cv::Exception);
    EXPECT_THROW(q->compute(good, Mat(20, 20, CV_8UC3)), cv::Exception);
    EXPECT_THROW(q->computeBatch(std::vector<Mat>{good, good.rowRange(0, 5)}, noArray()), cv::Exception);
    EXPECT_THROW(q->computeTiled(good, Size(0, 5)), cv::Exception);
    Mat out;
    EXPECT_EQ(1, q->getNumberOfSuperpixels()) << "a refused call leaves the results";
    EXPECT_THROW(q->segment(0., out), cv::Exception);
    EXPECT_THROW(q->segment(5.1, out), cv::Exception);
    EXPECT_THROW(q->segment(std::numeric_limits<double>::quiet_NaN(), out), cv::Exception);
    EXPECT_THROW(q->getMeanColor(Mat(20, 19, CV_8U), out), cv::Exception);
    EXPECT_THROW(q->enforceConnectivity(0), cv::Exception);
    q->computeBatch(std::vector<Mat>{good, good}, noArray());
    EXPECT_THROW(q->getMeanColor(good, out), cv::Exception);
}

TEST(QuickShift_Surface, parametersInFiles)
{
    const Ptr<QuickShift> q = QuickShift::create(3.5, 17., 0.25), back = QuickShift::create();
    q->setChannelScales(Scalar(1, 2, 3, 4));
    q->setSearchRadius(QuickShift::SEARCH_WINDOW);
    q->setTieRule(QuickShift::STRICT);
    q->setNormalizeDensity(true);
    FileStorage out(".yml", FileStorage::WRITE | FileStorage::MEMORY);
    q->write(out);
    const FileStorage in(out.releaseAndGetString(), FileStorage::READ | FileStorage::MEMORY);
    back->read(in.root());
    EXPECT_EQ(3.5, back->getSigma());
    EXPECT_EQ(17., back->getMaxDist());
    EXPECT_EQ(Scalar(1, 2, 3, 4), back->getChannelScales());
    EXPECT_EQ(QuickShift::SEARCH_WINDOW, back->getSearchRadius());
    EXPECT_EQ(QuickShift::STRICT, back->getTieRule());
    EXPECT_TRUE(back->getNormalizeDensity());
    for (const char* text :
         {"%YAML:1.0\nsigma: -1.", "%YAML:1.0\nsigma: 2.\nmaxDist: -1.", "%YAML:1.0\nsigma: 2.\ntieRule: 7"})
    {
        const FileStorage bad(text, FileStorage::READ | FileStorage::MEMORY);
        EXPECT_THROW(back->read(bad.root()), cv::Exception);
        EXPECT_EQ(3.5, back->getSigma()) << text;
    }
}

}} // namespace opencv_test
