// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher on pictures of OpenCV's samples/data, which the environment variable CUDATRACKING_SAMPLES_DATA names.
// The CPU engine; where there is a device, the CUDA engine must give the same bits.
#include "cuda_scenes_fragment_matcher.hpp"

namespace opencv_test { namespace {

using namespace scenes;

class FragmentMatcher_Real : public testing::Test
{
protected:
    void SetUp() override { folder = requireFolder("CUDATRACKING_SAMPLES_DATA"); }
    Mat picture(const std::string& name, int flags = IMREAD_COLOR) const { return requirePicture(folder, name, flags); }

    //! On the CPU, and on the device if there is one.
    static Result search(const Ptr<FM>& matcher, const Mat& frame, const std::vector<Rect>& areas)
    {
        const Result result = areas.empty() ? run(*matcher, frame, noArray()) : run(*matcher, frame, areas);
        if (cuda::getCudaEnabledDeviceCount() > 0)
        {
            SCOPED_TRACE("CUDA engine");
            const GpuMat device(frame);
            expectSame(result,
                       areas.empty() ? runOnDevice(*matcher, device, noArray()) : runOnDevice(*matcher, device, areas));
        }
        return result;
    }

    std::string folder;
};

//! Places on a grid where the picture has texture.
std::vector<Rect> texturedRegions(const Mat& picture, int step, int size)
{
    Mat gray, texture;
    cvtColor(picture, gray, COLOR_BGR2GRAY);
    cornerMinEigenVal(gray, texture, 5);
    const double least = 0.2 * cv::mean(texture)[0];
    std::vector<Rect> regions;
    for (int y = 0; y + size <= picture.rows; y += step)
        for (int x = 0; x + size <= picture.cols; x += step)
            if (texture.at<float>(y + size / 2, x + size / 2) > least)
                regions.push_back(Rect(x, y, size, size));
    return regions;
}

//! Share of right answers among those of at least this confidence, and how many they are.
struct Share
{
    int right = 0, all = 0;
    void add(bool isRight) { right += isRight, ++all; }
    double percent() const { return all ? 100. * right / all : 0.; }
};

//! Thousands of fragments with known displacements, and true rivals on the same rows.
//! aloeGT.png: gray level = disparity in pixels (Middlebury 2006, full size), 0 = unknown.
TEST_F(FragmentMatcher_Real, aloeDisparities)
{
    const Mat left = picture("aloeL.jpg"), right = picture("aloeR.jpg"),
              truth = picture("aloeGT.png", IMREAD_GRAYSCALE);
    const int size = 17, reach = 230;
    const std::vector<Rect> regions = texturedRegions(left, 16, size);
    ASSERT_GT(regions.size(), 2000u);
    std::vector<Rect> areas;
    for (const Rect& region : regions)
        areas.push_back(Rect(region.x - reach, region.y - 1, region.width + reach, region.height + 2));
    for (const int metric : {FM::SAD, FM::SSD, FM::ZNCC})
    {
        const Ptr<FM> matcher = FM::create(makeParams(metric));
        matcher->cutFragments(left, regions);
        const Result result = search(matcher, right, areas);
        Share all, sure, unsure;
        for (size_t i = 0; i < regions.size(); ++i)
        {
            const int index = static_cast<int>(i),
                      disparity = truth.at<uchar>(regions[i].y + size / 2, regions[i].x + size / 2);
            if (disparity == 0 || result.locations.at<Point>(index, 1).x < 0)
                continue;
            const int found = regions[i].x - result.locations.at<Point>(index, 0).x;
            const bool isRight = std::abs(found - disparity) <= 1;
            const float confidence = result.confidence.at<float>(index);
            all.add(isRight);
            if (confidence >= 2.f)
                sure.add(isRight);
            if (confidence < 1.1f)
                unsure.add(isRight);
        }
        // Measured (SAD, SSD, ZNCC): ALOE_MEASURED. The rest is occluded, at depth edges, or in repeated pattern.
        std::cout << cv::format(
            "metric %d: %.1f %% of %d right; confidence >= 2: %.1f %% of %d; < 1.1: %.1f %% of %d\n", metric,
            all.percent(), all.all, sure.percent(), sure.all, unsure.percent(), unsure.all);
        EXPECT_GT(all.all, 2000);
        EXPECT_GT(all.percent(), 65.);
        EXPECT_GT(sure.all, all.all / 4);
        EXPECT_GT(sure.percent(), 90.);
        EXPECT_LT(unsure.percent(), 45.);
    }
}

//! Small motions: forwards and backwards agree for most fragments.
TEST_F(FragmentMatcher_Real, rubberwhaleThereAndBack)
{
    const Mat first = picture("rubberwhale1.png"), second = picture("rubberwhale2.png");
    const int size = 15, radius = 8;
    const std::vector<Rect> regions = texturedRegions(first, 12, size);
    ASSERT_GT(regions.size(), 500u);
    std::vector<Rect> areas;
    for (const Rect& region : regions)
        areas.push_back(region + Point(-radius, -radius) + Size(2 * radius, 2 * radius));
    const Ptr<FM> there = FM::create(makeParams(FM::SAD)), back = FM::create(makeParams(FM::SAD));
    there->cutFragments(first, regions);
    const Result result = search(there, second, areas);
    std::vector<Rect> found, backAreas;
    for (int i = 0; i < result.locations.rows; ++i)
    {
        found.push_back(Rect(result.locations.at<Point>(i, 0), regions[i].size()));
        backAreas.push_back(found[i] + Point(-radius, -radius) + Size(2 * radius, 2 * radius));
    }
    back->cutFragments(second, found);
    const Result returned = search(back, first, backAreas);
    Share home, moved;
    for (int i = 0; i < returned.locations.rows; ++i)
    {
        const Point apart = returned.locations.at<Point>(i, 0) - regions[i].tl();
        home.add(std::abs(apart.x) <= 1 && std::abs(apart.y) <= 1);
        moved.add(found[i].tl() != regions[i].tl());
    }
    std::cout << cv::format("%.1f %% of %d come home, %.1f %% had moved\n", home.percent(), home.all, moved.percent());
    EXPECT_GT(home.percent(), 90.); // RUBBER_MEASURED
    EXPECT_GT(moved.percent(), 20.) << "the pictures differ";
}

//! A turned and shrunk box: parts of it, warped alike, are found on it.
TEST_F(FragmentMatcher_Real, boxInScene)
{
    const Mat box = picture("box.png", IMREAD_GRAYSCALE), scene = picture("box_in_scene.png", IMREAD_GRAYSCALE);
    // The box lies in the scene at about (117..274, 120..267), turned by about 27 degrees clockwise, at 0.45 of its size.
    const Rect onBox(100, 40, 160, 120);
    const Ptr<FM> matcher = FM::create(makeParams(FM::ZNCC));
    double bestScore = -1, bestScale = 0, bestAngle = 0;
    Point2f bestMiddle;
    for (double scale = 0.35; scale <= 0.601; scale += 0.025)
    {
        matcher->clear();
        std::vector<double> angles;
        std::vector<Size> sizes;
        for (double angle = -40; angle <= 40; angle += 2.5)
        {
            Mat templ, weights;
            FM::warpFragment(box(onBox), noArray(), angle, scale, templ, weights);
            matcher->addFragment(templ, weights);
            angles.push_back(angle), sizes.push_back(templ.size());
        }
        const Result result = search(matcher, scene, {});
        for (int i = 0; i < result.scores.rows; ++i)
            if (result.scores.at<float>(i, 0) > bestScore)
            {
                bestScore = result.scores.at<float>(i, 0), bestScale = scale, bestAngle = angles[i];
                bestMiddle =
                    Point2f(result.locations.at<Point>(i, 0)) + Point2f(sizes[i].width / 2.f, sizes[i].height / 2.f);
            }
    }
    std::cout << cv::format("score %.3f, scale %.3f, angle %.1f, middle (%.1f, %.1f)\n", bestScore, bestScale,
                            bestAngle, bestMiddle.x, bestMiddle.y);
    EXPECT_GT(bestScore, 0.5);
    EXPECT_TRUE(Rect(110, 110, 175, 165).contains(Point(bestMiddle))) << bestMiddle;
}

//! The template of OpenCV's own sample, with its mask: the masked match is exact at the place it was cut from.
TEST_F(FragmentMatcher_Real, lenaTemplateWithMask)
{
    const Mat frame = picture("lena_tmpl.jpg"), templ = picture("tmpl.png"),
              mask = picture("mask.png", IMREAD_GRAYSCALE);
    ASSERT_EQ(templ.size(), mask.size());
    Mat theirs;
    matchTemplate(frame, templ, theirs, TM_CCOEFF_NORMED, mask);
    Point expectedAt;
    cv::minMaxLoc(theirs, nullptr, nullptr, nullptr, &expectedAt);
    for (const int metric : {FM::SAD, FM::SSD, FM::ZNCC})
    {
        const Ptr<FM> matcher = FM::create(makeParams(metric));
        matcher->addFragment(templ, mask);
        const Result result = search(matcher, frame, {});
        EXPECT_EQ(expectedAt, result.locations.at<Point>(0, 0)) << "metric " << metric;
        std::cout << cv::format("metric %d: score %.4f, confidence %.2f\n", metric, result.scores.at<float>(0, 0),
                                result.confidence.at<float>(0));
        EXPECT_GT(result.confidence.at<float>(0), 1.5f);
    }
}

}} // namespace opencv_test
