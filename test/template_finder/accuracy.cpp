// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TemplateFinder finds templates at poses that are known, and those of an exhaustive search.
#include "oracle.hpp"
#include <thread>

namespace opencv_test { namespace {

using namespace poses;

const std::vector<Placed> PLACES = {{60.3, 70.8, 33.7, 1.}, {160.6, 60.2, -121.4, 1.}, {110.1, 150.4, 179.6, 1.}};

TEST(TemplateFinder_Accuracy, allTypes)
{
    const Size size(44, 36);
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3})
    {
        SCOPED_TRACE(typeToString(type));
        const std::vector<TemplatePose> found =
            findPoses(makeImage(Size(220, 200), type, size, PLACES), makeTemplate(size, type), makeParams(0.9));
        ASSERT_EQ(PLACES.size(), found.size());
        for (const Placed& place : PLACES)
            expectPlaced(place, found);
        for (size_t i = 1; i < found.size(); ++i)
            EXPECT_GE(found[i - 1].score, found[i].score);
    }
}

TEST(TemplateFinder_Accuracy, shapes)
{
    for (const Size& size : {Size(31, 33), Size(12, 90), Size(120, 75), Size(16, 16)})
    {
        SCOPED_TRACE(size);
        const std::vector<Placed> places = {{100.4, 90.7, -47.3, 1.}};
        const std::vector<TemplatePose> found =
            findPoses(makeImage(Size(210, 190), CV_8UC1, size, places), makeTemplate(size, CV_8UC1), makeParams(0.9));
        expectPlaced(places[0], found);
    }
}

TEST(TemplateFinder_Accuracy, sizes)
{
    const std::vector<Placed> places = {{80.3, 70.8, 133.7, 0.83}, {180.6, 80.2, -21.4, 1.22}};
    const std::vector<TemplatePose> found =
        findPoses(makeImage(Size(250, 160), CV_8UC1, Size(60, 50), places), makeTemplate(Size(60, 50), CV_8UC1),
                  makeParams(0.9, -180., 180., 0.75, 1.3));
    ASSERT_EQ(2u, found.size());
    for (const Placed& place : places)
        expectPlaced(place, found);
}

TEST(TemplateFinder_Accuracy, halfAndTwice)
{
    for (const double scale : {0.4, 2.2})
    {
        const std::vector<Placed> places = {{90.2, 100.9, 40.3, scale}};
        const std::vector<TemplatePose> found =
            findPoses(makeImage(Size(200, 210), CV_8UC1, Size(52, 60), places), makeTemplate(Size(52, 60), CV_8UC1),
                      makeParams(0.85, 0., 90., scale * 0.9, scale * 1.1));
        ASSERT_FALSE(found.empty());
        expectPlaced(places[0], found, 0.2, 0.2, 0.01);
    }
}

//! A part of the image itself has the score 1, and corners half a pixel beyond its pixels.
TEST(TemplateFinder_Accuracy, partOfTheImage)
{
    const Mat image = randomImage(7, Size(200, 150), CV_8UC3, 5);
    for (const Rect& part : {Rect(50, 40, 41, 33), Rect(101, 60, 30, 48)})
    {
        const std::vector<TemplatePose> found = findPoses(image, image(part), makeParams(0.8, 0., 0.));
        ASSERT_EQ(1u, found.size());
        EXPECT_GT(found[0].score, 0.9999f);
        EXPECT_EQ(0.f, found[0].angle);
        EXPECT_EQ(1.f, found[0].scale);
        EXPECT_NEAR(part.x - 0.5, found[0].corners[0].x, 0.01);
        EXPECT_NEAR(part.y - 0.5, found[0].corners[0].y, 0.01);
        EXPECT_NEAR(part.br().x - 0.5, found[0].corners[2].x, 0.01);
        EXPECT_NEAR(part.br().y - 0.5, found[0].corners[2].y, 0.01);
    }
}

TEST(TemplateFinder_Accuracy, atTheBorder)
{
    const Mat image = randomImage(8, Size(160, 140), CV_8UC1, 5);
    for (const Rect& part : {Rect(0, 0, 40, 34), Rect(120, 106, 40, 34), Rect(0, 70, 40, 34)})
    {
        const std::vector<TemplatePose> found = findPoses(image, image(part), makeParams(0.9));
        ASSERT_EQ(1u, found.size());
        expectPlaced({part.x + 19.5, part.y + 16.5, 0., 1.}, found);
    }
}

//! Scores are those of the oracle. No angle of an exhaustive search is better by more than interpolation explains.
TEST(TemplateFinder_Accuracy, exhaustiveSearch)
{
    for (uint64 seed = 1; seed <= 2; ++seed)
    {
        const Size size(20, 17);
        const Mat templ = makeTemplate(size, CV_8UC1, seed);
        const Mat image = makeImage(Size(42, 38), CV_8UC1, size, {{20.3, 18.6, 50. * seed, 1.}}, seed);
        double score;
        const Placed expected = bestOf(image, templ, Mat(), numbersBetween(-180., 180., 4.), {1.}, score);
        const std::vector<TemplatePose> found = findPoses(image, templ, makeParams(0.6));
        ASSERT_FALSE(found.empty());
        EXPECT_GT(found[0].score, score - 0.01);
        expectPlaced(expected, found, 1., 4.);
        for (const TemplatePose& p : found)
            EXPECT_NEAR(scoreOf(image, templ, Mat(), {p.center.x, p.center.y, p.angle, p.scale}), p.score, 0.02);
    }
}

TEST(TemplateFinder_Accuracy, masks)
{
    const Size size(48, 48);
    Mat weights = Mat::zeros(size, CV_8UC1), real;
    circle(weights, Point(24, 24), 19, Scalar(255), FILLED);
    const Mat upright = makeImage(size, CV_8UC1, Size(1, 1), {}, 9);
    Mat templ = upright.clone();
    makeTemplate(size, CV_8UC1).copyTo(templ, weights); // what the mask leaves out is another texture
    const std::vector<Placed> places = {{90.4, 70.3, 77.2, 1.}};
    const Mat image = makeImage(Size(180, 150), CV_8UC1, size, places);
    weights.convertTo(real, CV_32F, 1. / 255.);
    const std::vector<TemplatePose> bytes = findPoses(image, templ, makeParams(0.8), weights);
    ASSERT_EQ(1u, bytes.size());
    EXPECT_GT(bytes[0].score, 0.97f);
    expectPlaced(places[0], bytes);
    EXPECT_TRUE(sameBits(tableOf(bytes), tableOf(findPoses(image, templ, makeParams(0.8), real))));
    EXPECT_NEAR(scoreOf(image, templ, weights, {bytes[0].center.x, bytes[0].center.y, bytes[0].angle, 1.}),
                bytes[0].score, 0.02);
}

//! What lies around a place, or below the mask of a template, changes neither that it is found nor its score.
TEST(TemplateFinder_Accuracy, background)
{
    const Size size(61, 61);
    Mat disc = Mat::zeros(size, CV_8UC1);
    circle(disc, Point(30, 30), 28, Scalar(255), FILLED);
    Mat part;
    GaussianBlur(makeTemplate(size, CV_8UC1), part, Size(), 3.);
    for (const bool masked : {false, true})
        for (const int around : {0, 128, 255})
            for (const double angle : {0., 30., 135.})
            {
                SCOPED_TRACE(cv::format("masked %d, around %d, %g degrees", masked, around, angle));
                const Mat covers = masked ? disc : Mat(size, CV_8UC1, Scalar(255));
                Mat image(150, 170, CV_8UC1, Scalar(around)), turned, covered, templ = part.clone();
                image(Rect(0, 0, 9, 9)).setTo(128); // or all would be constant
                Mat map = getRotationMatrix2D(Point2f(30, 30), angle, 1.);
                map.col(2) += Mat(Vec2d(50.4, 41.7));
                warpAffine(part, turned, map, image.size(), INTER_LINEAR, BORDER_REPLICATE);
                warpAffine(covers, covered, map, image.size(), INTER_NEAREST);
                turned.copyTo(image, covered);
                templ.setTo(255 - around, covers == 0);
                const std::vector<TemplatePose> found = findPoses(image, templ, makeParams(0.9), masked ? disc : Mat());
                ASSERT_EQ(1u, found.size());
                expectPlaced({80.4, 71.7, angle, 1.}, found, 0.1, 0.1);
                EXPECT_GT(found[0].score, 0.99f);
            }
}

//! Sums of 16 bits are as accurate far from zero.
TEST(TemplateFinder_Accuracy, offsets)
{
    const Size size(44, 36);
    const Mat image = makeImage(Size(220, 200), CV_8UC1, size, PLACES), templ = makeTemplate(size, CV_8UC1);
    for (const int offset : {0, 30000, 65000})
    {
        Mat deepImage, deepTemplate;
        image.convertTo(deepImage, CV_16U, 0.125, offset);
        templ.convertTo(deepTemplate, CV_16U, 0.125, offset);
        const std::vector<TemplatePose> found = findPoses(deepImage, deepTemplate, makeParams(0.9));
        ASSERT_EQ(PLACES.size(), found.size()) << offset;
        for (const Placed& place : PLACES)
            expectPlaced(place, found);
    }
}

TEST(TemplateFinder_Accuracy, brightnessAndContrast)
{
    const Size size(44, 36);
    Mat image = makeImage(Size(220, 200), CV_8UC1, size, PLACES);
    image.convertTo(image, CV_8U, 0.4, 70.);
    const std::vector<TemplatePose> found = findPoses(image, makeTemplate(size, CV_8UC1), makeParams(0.9));
    ASSERT_EQ(PLACES.size(), found.size());
    for (const Placed& place : PLACES)
        expectPlaced(place, found);
}

//! More places of one angle than FragmentMatcher has peaks.
TEST(TemplateFinder_Accuracy, manyPlaces)
{
    std::vector<Placed> places;
    for (int i = 0; i < 30; ++i)
        places.push_back({30. + 40.3 * (i % 6), 25. + 34.7 * (i / 6), 20., 1.});
    const Size size(30, 24);
    const Mat image = makeImage(Size(270, 190), CV_8UC1, size, places), templ = makeTemplate(size, CV_8UC1);
    TF::Params params = makeParams(0.85);
    const std::vector<TemplatePose> found = findPoses(image, templ, params);
    ASSERT_EQ(places.size(), found.size());
    for (const Placed& place : places)
        expectPlaced(place, found, 0.1, 0.3);
    params.maxMatches = 4;
    EXPECT_TRUE(sameBits(tableOf(found).rowRange(0, 4), tableOf(findPoses(image, templ, params))));
}

TEST(TemplateFinder_Accuracy, ranges)
{
    const Size size(44, 36);
    const Mat image = makeImage(Size(220, 200), CV_8UC1, size, PLACES), templ = makeTemplate(size, CV_8UC1);
    const std::vector<TemplatePose> one = findPoses(image, templ, makeParams(0.9, 0., 90.));
    ASSERT_EQ(1u, one.size());
    expectPlaced(PLACES[0], one);
    const std::vector<TemplatePose> across = findPoses(image, templ, makeParams(0.9, 170., 250.));
    ASSERT_EQ(2u, across.size());
    expectPlaced(PLACES[1], across);
    expectPlaced(PLACES[2], across);
    for (const TemplatePose& p : findPoses(image, templ, makeParams(0.5, 32., 33.)))
    {
        EXPECT_GE(p.angle, 32.f);
        EXPECT_LE(p.angle, 33.f);
    }
}

//! Returns the area that two outlines share, by points a quarter of a pixel apart, divided by the area of one.
double sharedPart(const TemplatePose& a, const TemplatePose& b, const Size& size)
{
    int shared = 0;
    const Rect box = boundingRect(a.corners);
    for (float y = box.y + 0.125f; y < box.br().y; y += 0.25f)
        for (float x = box.x + 0.125f; x < box.br().x; x += 0.25f)
            shared += pointPolygonTest(a.corners, Point2f(x, y), false) >= 0. &&
                      pointPolygonTest(b.corners, Point2f(x, y), false) >= 0.;
    return shared / 16. / size.area();
}

TEST(TemplateFinder_Accuracy, overlap)
{
    const Size size(24, 20);
    const Mat image = makeImage(Size(100, 80), CV_8UC1, size, {{40., 40., 10., 1.}}),
              templ = makeTemplate(size, CV_8UC1);
    TF::Params params = makeParams(0.6);
    params.maxOverlap = 1.;
    const std::vector<TemplatePose> all = findPoses(image, templ, params);
    for (const double most : {0., 0.3, 0.7})
    {
        params.maxOverlap = most;
        const std::vector<TemplatePose> found = findPoses(image, templ, params);
        ASSERT_FALSE(found.empty());
        EXPECT_LT(found.size(), all.size());
        EXPECT_TRUE(sameBits(tableOf(all).row(0), tableOf(found).row(0)));
        for (size_t i = 0; i < found.size(); ++i)
            for (size_t k = 0; k < i; ++k)
                EXPECT_LE(sharedPart(found[i], found[k], size), most + 0.01);
    }
}

TEST(TemplateFinder_Accuracy, nothing)
{
    const Mat templ = makeTemplate(Size(30, 30), CV_8UC1);
    EXPECT_TRUE(findPoses(Mat(), templ).empty());
    EXPECT_TRUE(findPoses(Mat(20, 20, CV_8UC1, Scalar(9)), templ).empty()) << "smaller than the template";
    EXPECT_TRUE(findPoses(Mat(90, 90, CV_8UC1, Scalar(9)), templ).empty()) << "constant";
    EXPECT_TRUE(findPoses(makeImage(Size(90, 80), CV_8UC1, Size(1, 1), {}), Mat(30, 30, CV_8UC1, Scalar(9))).empty());
    EXPECT_TRUE(findPoses(Mat(1, 1, CV_8UC1, Scalar(9)), Mat(1, 1, CV_8UC1, Scalar(9))).empty());
    const Mat one(1, 1, CV_8UC1, Scalar(9));
    for (const Size& size : {Size(1, 40), Size(40, 1), Size(2, 2), Size(3, 200)})
        findPoses(makeImage(Size(90, 80), CV_8UC1, Size(1, 1), {}), makeTemplate(size, CV_8UC1), makeParams(0.95));
}

//! The public images of Fastest_Image_Pattern_Matching, which are not part of this repository.
TEST(TemplateFinder_Accuracy, publicImages)
{
    const std::string folder = requireFolder("CUDATRACKING_POSES");
    const struct
    {
        const char *image, *templ;
        double threshold, overlap;
        size_t places;
    } cases[] = {{"Src3.png", "Dst3.png", 0.8, 0.3, 36},
                 {"Src4.png", "Dst4.png", 0.8, 0.3, 24},
                 {"Src6.jpg", "Dst6.png", 0.8, 0.3, 15},
                 {"Src8.png", "Dst8.png", 0.8, 0.6, 3}};
    for (const auto& one : cases)
    {
        SCOPED_TRACE(one.image);
        TF::Params params = makeParams(one.threshold);
        params.maxOverlap = one.overlap;
        Mat image = requireImage(folder, one.image, IMREAD_GRAYSCALE),
            templ = requireImage(folder, one.templ, IMREAD_GRAYSCALE);
        image.convertTo(image, CV_16U, 257.); // as cameras of more than 8 bits give them
        templ.convertTo(templ, CV_16U, 257.);
        EXPECT_EQ(one.places, findPoses(image, templ, params).size());
    }
}

//! Expects that templates are found where they lie, in noise of 5 gray values. Some have no structures beyond 20 pixels.
void expectWarpsFound(int count, bool sizes)
{
    RNG rng(4);
    double center = 0., angle = 0., scale = 0.;
    int found = 0;
    for (int i = 0; i < count; ++i)
    {
        const Size size = {rng.uniform(40, 151), rng.uniform(40, 151)};
        const Placed place = {150. + rng.uniform(-9., 9.), 150. + rng.uniform(-9., 9.), rng.uniform(-180., 180.),
                              sizes ? rng.uniform(0.8, 1.25) : 1.};
        Mat image = makeImage(Size(300, 300), CV_8UC1, size, {place}, i), noise(image.size(), CV_32F), noisy;
        rng.fill(noise, RNG::NORMAL, 0., 5.);
        image.convertTo(noisy, CV_32F);
        Mat(noisy + noise).convertTo(image, CV_8U);
        const TF::Params params = makeParams(0.7, -180., 180., sizes ? 0.8 : 1., sizes ? 1.25 : 1.);
        const std::vector<TemplatePose> poses = findPoses(image, makeTemplate(size, CV_8UC1, i), params);
        if (poses.empty() || std::hypot(poses[0].center.x - place.x, poses[0].center.y - place.y) > 5.)
            continue;
        ++found;
        center += std::pow(poses[0].center.x - place.x, 2) + std::pow(poses[0].center.y - place.y, 2);
        angle += std::pow(std::remainder(poses[0].angle - place.angle, 360.), 2);
        scale += std::pow(poses[0].scale - place.scale, 2);
    }
    center = std::sqrt(center / found), angle = std::sqrt(angle / found), scale = std::sqrt(scale / found);
    std::cout << (sizes ? "scale 0.8 to 1.25" : "scale 1") << ": found " << found << " of " << count
              << ", rms errors: centre " << center << " px, angle " << angle << " degrees, scale " << scale
              << std::endl;
    EXPECT_GE(found, count - count / 50);
    EXPECT_LE(center, 0.05);
    EXPECT_LE(angle, 0.05);
    EXPECT_LE(scale, 0.003);
}

TEST(TemplateFinder_Accuracy, fineTexture) { expectWarpsFound(40, false); }

//! At a quarter of its size the structures of the texture are those of 3 to 6 pixels.
TEST(TemplateFinder_Accuracy, fineTextureOfSmallScales)
{
    int found = 0;
    for (uint64 seed = 1; seed <= 8; ++seed)
    {
        const Size size(220, 180);
        const Placed place = {250. + seed, 221., 40. * seed, 1.};
        Mat image;
        resize(makeImage(Size(520, 440), CV_8UC1, size, {place}, seed), image, Size(130, 110), 0., 0., INTER_AREA);
        const std::vector<TemplatePose> poses =
            findPoses(image, makeTemplate(size, CV_8UC1, seed), makeParams(0.6, -180., 180., 0.25, 0.25));
        found += !poses.empty() &&
                 std::hypot(poses[0].center.x - place.x / 4. + 0.375, poses[0].center.y - place.y / 4. + 0.375) < 1.;
    }
    EXPECT_GE(found, 7);
}

//! The warps of doc/template_finder.md, which take minutes.
TEST(TemplateFinder_Accuracy, DISABLED_syntheticWarps)
{
    expectWarpsFound(1000, false);
    expectWarpsFound(50, true);
}

TEST(TemplateFinder_Threads, sameBits)
{
    const Size size(44, 36);
    const Mat image = makeImage(Size(220, 200), CV_8UC1, size, PLACES), templ = makeTemplate(size, CV_8UC1);
    const int before = getNumThreads();
    setNumThreads(1);
    const Mat expected = tableOf(findPoses(image, templ));
    setNumThreads(5);
    EXPECT_TRUE(sameBits(expected, tableOf(findPoses(image, templ))));
    setNumThreads(before);
    const Ptr<TF> finder = TF::create();
    finder->setTemplate(templ);
    std::vector<TemplatePose> found[3];
    std::vector<std::thread> threads;
    for (auto& poses : found)
        threads.emplace_back([&] { finder->find(image, poses); });
    for (std::thread& thread : threads)
        thread.join();
    for (const auto& poses : found)
        EXPECT_TRUE(sameBits(expected, tableOf(poses)));
}

}} // namespace opencv_test
