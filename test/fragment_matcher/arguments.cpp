// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher's arguments at their limits: rounding, empty arguments, refused arguments and the messages for these.
#include "scenes_cuda.hpp"

namespace opencv_test { namespace {

using namespace scenes;

const int EDGE_METRICS[] = {FM::SAD, FM::SSD, FM::ZNCC};

//! Returns the byte that a weight is converted to: S of two pixels, the second of which differs by 1.
int byteOf(FM& matcher, float weight, bool device)
{
    const Mat weights = Mat_<float>({1, 2}, {1.f, weight}), templ(1, 2, CV_8UC1, Scalar(7));
    const Mat frame = Mat_<uchar>({1, 2}, {7, 8});
    Mat map;
    if (device)
    {
        matcher.setFragments(std::vector<GpuMat>(1, GpuMat(templ)), std::vector<GpuMat>(1, GpuMat(weights)));
        matcher.scoreMap(0, GpuMat(frame), Rect(), map, CV_64F);
    }
    else
    {
        matcher.setFragments(std::vector<Mat>(1, templ), std::vector<Mat>(1, weights));
        matcher.scoreMap(0, frame, Rect(), map, CV_64F);
    }
    return cvRound(map.at<double>(0));
}

//! 255 w, which a double holds exactly, rounded to the nearest integer, and to the even one of two.
void expectNearest(bool device)
{
    const Ptr<FM> matcher = FM::create();
    for (int k = 0; k < 255; ++k)
    {
        const float half = static_cast<float>((k + 0.5) / 255);
        for (const float weight : {std::nextafter(half, 0.f), half, std::nextafter(half, 1.f)})
        {
            const double exact = 255. * static_cast<double>(weight), above = exact - k;
            const int nearest = above > 0.5 ? k + 1 : (above < 0.5 ? k : k + k % 2);
            ASSERT_EQ(nearest, byteOf(*matcher, weight, device)) << cv::format("%.9g", weight);
        }
    }
    EXPECT_EQ(1, byteOf(*matcher, 0.0019607844f, device)) << "0.50000002 as a product, 0.5 as a float product";
}

TEST(FragmentMatcher_Weights, nearestByte) { expectNearest(false); }

TEST(FragmentMatcher_Weights, nearestByteOnCuda)
{
    requireCuda();
    expectNearest(true);
}

//! Weights in device memory, where the host cannot see that all are 0.
TEST(FragmentMatcher_Weights, noneOnCuda)
{
    requireCuda();
    const Mat image = randomImage(4301, Size(70, 60), CV_8UC3);
    const GpuMat frame(image), none(Size(9, 8), CV_8UC1, Scalar(0)), all(Size(9, 8), CV_8UC1, Scalar(255));
    const std::vector<GpuMat> templates(3, GpuMat(image(Rect(20, 20, 9, 8)))), weights = {all, none, all};
    for (const int metric : EDGE_METRICS)
    {
        const Ptr<FM> matcher = FM::create(makeParams(metric));
        matcher->setFragments(templates, weights);
        for (const int depth : {CV_32F, CV_32S, CV_64F})
        {
            if (depth != CV_32F && metric == FM::ZNCC)
                continue;
            if (depth == CV_32S && metric == FM::SSD)
                continue; // 72 pixels are too many
            Mat map(53, 62, depth, Scalar(77)), maps(1, 3 * 53 * 62, depth, Scalar(77));
            GpuMat target(map);
            std::vector<int> offsets;
            matcher->scoreMap(1, frame, Rect(), target, depth);
            EXPECT_TRUE(sameBits(Mat::zeros(53, 62, depth), Mat(target)));
            matcher->scoreMaps(frame, noArray(), maps, offsets, depth);
            EXPECT_TRUE(sameBits(Mat::zeros(1, 53 * 62, depth), maps.colRange(offsets[1], offsets[2])));
        }
        Mat status;
        matcher->match(frame, noArray(), noArray(), noArray(), noArray(), status);
        EXPECT_EQ(FM::NO_POSITION, status.at<uchar>(1));
    }
}

//! Only (-1,-1) is no location; others beyond the border are where a fragment may be half outside.
void expectPredicted(bool device)
{
    const Ptr<FM> matcher = FM::create();
    const std::vector<Mat> templates(6, Mat(4, 6, CV_8UC1, Scalar(1)));
    if (device)
        matcher->setFragments(std::vector<GpuMat>(6, GpuMat(templates[0])));
    else
        matcher->setFragments(templates);
    const std::vector<Point> locations = {Point(-8, 5),  Point(5, -6),  Point(-1, -1),
                                          Point(-1, -2), Point(-20, 5), Point(3, -1)};
    const std::vector<Rect> truth = {Rect(0, 2, 1, 10), Rect(2, 0, 12, 1), Rect(), Rect(0, 0, 8, 5), Rect(),
                                     Rect(0, 0, 12, 6)};
    std::vector<Rect> areas;
    if (device)
        matcher->predictAreas(GpuMat(columnOf(locations)), 3, Size(20, 20), areas);
    else
        matcher->predictAreas(locations, 3, Size(20, 20), areas);
    EXPECT_EQ(truth, areas);
}

TEST(FragmentMatcher_Areas, predictedFromBeyondTheBorder) { expectPredicted(false); }

TEST(FragmentMatcher_Areas, predictedFromBeyondTheBorderOnCuda)
{
    requireCuda();
    expectPredicted(true);
}

//! An empty list of areas is no list for N fragments; an empty area has no position; only Rect() is the whole frame.
TEST(FragmentMatcher_Areas, emptyOnes)
{
    const Mat frame = randomImage(4302, Size(40, 30), CV_8UC1);
    const Ptr<FM> matcher = FM::create();
    matcher->setFragments(std::vector<Mat>(2, frame(Rect(7, 8, 6, 5)).clone()));
    Mat locations, status, map, maps;
    std::vector<int> offsets;
    const std::vector<Rect> none;
    for (const Mat& empty : {Mat(0, 1, CV_32SC4), Mat(0, 4, CV_32SC1)})
    {
        expectRefused([&] { matcher->match(frame, empty, locations); }, {"searchAreas"});
        expectRefused([&] { matcher->scoreMaps(frame, empty, maps, offsets); }, {"searchAreas"});
    }
    expectRefused([&] { matcher->match(frame, none, locations); }, {"one for each of 2"});
    expectRefused([&] { matcher->scoreMaps(frame, none, maps, offsets); }, {"one for each of 2"});
    for (const bool mat : {false, true}) // what Python makes of None is an array that never was anything
    {
        if (mat)
            matcher->match(frame, Mat(), locations, noArray(), noArray(), status);
        else
            matcher->match(frame, noArray(), locations, noArray(), noArray(), status);
        EXPECT_EQ(Point(7, 8), locations.at<Point>(0, 0));
    }
    for (const Rect& empty : {Rect(3, 3, 0, 9), Rect(3, 3, 9, 0), Rect(0, 0, 20, 0), Rect(1, 0, 0, 0)})
    {
        matcher->match(frame, std::vector<Rect>(2, empty), locations, noArray(), noArray(), status);
        EXPECT_EQ(FM::NO_POSITION, status.at<uchar>(1));
        map.create(2, 2, CV_32FC1);
        matcher->scoreMap(0, frame, empty, map);
        EXPECT_TRUE(map.empty());
        matcher->scoreMaps(frame, std::vector<Rect>{empty, Rect(7, 8, 6, 5)}, maps, offsets);
        EXPECT_EQ((std::vector<int>{0, 0, 1}), offsets);
        EXPECT_EQ(0.f, maps.at<float>(0));
    }
    matcher->scoreMap(0, frame, Rect(), map);
    EXPECT_EQ(Size(35, 26), map.size());
}

//! All maps in a vector, which is one row.
TEST(FragmentMatcher_Maps, inAVector)
{
    const Mat frame = randomImage(4303, Size(40, 30), CV_8UC1);
    const Ptr<FM> matcher = FM::create();
    matcher->setFragments(std::vector<Mat>(2, frame(Rect(7, 8, 6, 5)).clone()));
    Mat truth;
    std::vector<float> maps(3, 77.f);
    std::vector<int> offsets, same;
    matcher->scoreMaps(frame, noArray(), truth, offsets);
    matcher->scoreMaps(frame, noArray(), maps, same);
    EXPECT_EQ(offsets, same);
    EXPECT_TRUE(sameBits(truth.reshape(1, static_cast<int>(truth.total())), columnOf(maps)));
}

//! Messages name the index of the element, and the value with all its digits.
TEST(FragmentMatcher_Messages, nameTheFragment)
{
    const Mat ok(4, 5, CV_8UC1, Scalar(7)), full(4, 5, CV_32FC1, Scalar(1)), small(4, 5, CV_32FC1, Scalar(0.0019));
    Mat slightly = full.clone();
    slightly.at<float>(2, 3) = 1.0000001f;
    const Ptr<FM> matcher = FM::create();
    const std::vector<Mat> three(3, ok);
    typedef std::vector<Mat> Mats;
    expectRefused([&] { matcher->setFragments(three, Mats{full, full, slightly}); }, {"weights[2]: value 1.00000012"});
    expectRefused([&] { matcher->setFragments(three, Mats{full, small, full}); }, {"when rounded"});
    expectRefused([&] { matcher->setFragments(three, Mats{full, small, full}); }, {"weights[1]"});
    expectRefused([&] { matcher->setFragments(Mats{ok, ok, Mat()}); }, {"templates[2]"});
    expectRefused([&] { matcher->setFragments(Mats{ok, Mat(4, 5, CV_8UC3)}); }, {"templates[1]: type CV_8UC3"});
    expectRefused([&] { matcher->cutFragments(ok, {Rect(0, 0, 2, 2), Rect(4, 0, 2, 2)}); }, {"regions[1]"});
    matcher->setFragments(three);
    std::vector<Rect> areas(3, Rect(0, 0, 9, 9));
    areas[1].height = -1;
    Mat locations;
    expectRefused([&] { matcher->match(ok, areas, locations); }, {"searchAreas[1]"});
    FM::Params params;
    params.peaks = 17;
    expectRefused([&] { matcher->setParams(params); }, {"Params::peaks: 17"});
}

//! A node that is missing, or another class's, changes nothing.
TEST(FragmentMatcher_Params, readOfTheWrongNode)
{
    FileStorage out("params.yml", FileStorage::WRITE | FileStorage::MEMORY);
    out << "other"
        << "{"
        << "sigma" << 3 << "}"
        << "number" << 7;
    const FileStorage in(out.releaseAndGetString(), FileStorage::READ | FileStorage::MEMORY);
    const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC, 5));
    EXPECT_THROW(matcher->read(in["missing"]), cv::Exception);
    EXPECT_THROW(matcher->read(in["other"]), cv::Exception);
    EXPECT_THROW(matcher->read(in["number"]), cv::Exception);
    EXPECT_THROW(matcher->read(FileNode()), cv::Exception);
    EXPECT_EQ(static_cast<int>(FM::ZNCC), matcher->getParams().metric);
    EXPECT_EQ(5, matcher->getParams().peaks);
}

//! Parameters that the node lacks keep their values, as in the other classes.
TEST(FragmentMatcher_Params, readOfSomeParameters)
{
    const FileStorage in("%YAML:1.0\npeaks: 7\n", FileStorage::READ | FileStorage::MEMORY);
    const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC, 5));
    matcher->read(in.root());
    EXPECT_EQ(static_cast<int>(FM::ZNCC), matcher->getParams().metric);
    EXPECT_EQ(7, matcher->getParams().peaks);
}

//! A value of the wrong type for its parameter, or a list of the wrong length.
TEST(FragmentMatcher_Params, readOfMalformedValues)
{
    const std::pair<const char*, const char*> table[] = {
        {"maxSearchArea: [ 3 ]", "maxSearchArea: a list of 1, but it must be a list of 2 numbers"},
        {"maxSearchArea: [ 3, 4, 5 ]", "maxSearchArea: a list of 3, but it must be a list of 2 numbers"},
        {"maxSearchArea: 7", "maxSearchArea: is no list, but it must be a list of 2 numbers"},
        {"maxSearchArea: [ 3, 4.5 ]", "maxSearchArea[1]: 4.5, but it must be an integer"},
        {"maxSearchArea: [ 3, -4 ]", "maxSearchArea: 3 x -4"},
        {"peaks: 5.7", "peaks: 5.7, but it must be an integer"},
        {"peaks: five", "peaks: is no number"},
        {"peaks: [ 5 ]", "peaks: is no number"},
        {"peaks: .Nan", "nan, but it must be an integer"},
        {"peaks: 17", "peaks: 17, but it must be 1 to 16"},
        {"peaks: .Inf", "inf, but it must be an integer"},
        {"metric: 1e10", "metric: 10000000000, but it must be -2147483647 to 2147483647"},
        {"peaks: 99999999999", "peaks: 99999999999, but it must be -2147483647 to 2147483647"},
        {"maxSearchArea: [ 3, -1e30 ]", "maxSearchArea[1]: -1e+30, but it must be -2147483647 to 2147483647"},
        {"subpixel: 2", "subpixel: 2, but it must be 0 or 1"},
        {"subpixelFit: 2", "subpixelFit: 2, but it must be 0 to 1"},
        {"subpixelFit: 0.5", "subpixelFit: 0.5, but it must be an integer"},
        {"metric: 1\nsubpixelFit: 1", "subpixelFit: 1 (GAUSSIAN), which is for ZNCC (2), but Params::metric is 1"},
    };
    for (const auto& row : table)
    {
        const FileStorage in(std::string("%YAML:1.0\nexclusion: 1\n") + row.first,
                             FileStorage::READ | FileStorage::MEMORY);
        const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC, 5));
        expectRefused([&] { matcher->read(in.root()); }, {row.second});
        EXPECT_EQ(static_cast<int>(FM::ZNCC), matcher->getParams().metric) << row.first;
        EXPECT_EQ(static_cast<int>(FM::SQUARE), matcher->getParams().exclusion) << row.first;
        EXPECT_EQ(5, matcher->getParams().peaks) << row.first;
    }
}

//! One lost target among many: those that fit go through the fused kernel, whatever the others need.
TEST(FragmentMatcher_Areas, oneLargeAreaAmongSmallOnCuda)
{
    requireCuda();
    RNG rng(4304);
    for (const int metric : EDGE_METRICS)
        for (const int kind : {NO_WEIGHTS, WEIGHTS_8U})
        {
            Scene scene = randomScene(rng, makeParams(metric, 3, FM::SQUARE, 0, FM::FULL, true), CV_8UC3, kind,
                                      Size(240, 180), 12, 40);
            for (size_t i = 0; i < scene.areas.size(); ++i)
            {
                scene.templates[i] = randomImage(rng, Size(10, 10), CV_8UC3);
                if (kind != NO_WEIGHTS)
                    scene.weights[i] = randomWeights(rng, Size(10, 10), CV_8UC1);
                scene.areas[i] = Rect(uniform(rng, Point(), Point(190, 130)), Size(40, 36));
            }
            scene.areas[7] = Rect(Point(), scene.frame.size());
            scene.areas[9] = Rect();
            expectEnginesAgree(scene);
        }
}

}} // namespace opencv_test
