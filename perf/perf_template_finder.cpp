// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TemplateFinder: one template at all angles. The peer is cv::matchTemplate() for copies at the same angles as the
// coarsest resolution has, at full resolution, without what follows.
// Lines with [ PERFROW ] go to scripts/perf_report.py.
#include "perf_precomp.hpp"
#include "perf_measure.hpp"
#if CV_VERSION_MAJOR >= 5
#include "opencv2/geometry.hpp" // getRotationMatrix2D moved there
#endif

namespace opencv_test { namespace {

using cuda::TemplateFinder;
using cuda::TemplatePose;

const Size FRAME(1920, 1080);

//! Smooth noise, in which a part of it stands once more, turned.
struct PosedScene
{
    explicit PosedScene(int side)
    {
        Mat noise(FRAME, CV_8UC1), turned;
        RNG rng(20262);
        rng.fill(noise, RNG::UNIFORM, 0, 256);
        GaussianBlur(noise, image, Size(), 2.5);
        normalize(image, image, 0, 255, NORM_MINMAX);
        templ = image(Rect(300, 400, side, side)).clone();
        const Point2f center(300.f + side * 0.5f, 400.f + side * 0.5f);
        Mat map = getRotationMatrix2D(center, 37., 1.);
        map.at<double>(0, 2) += 900.;
        warpAffine(image, turned, map, FRAME);
        const Rect place(1200, 400, side, side);
        turned(place).copyTo(image(place));
    }
    Mat image, templ;
};

double loopUs(const PosedScene& scene)
{
    const double step = std::atan(2. / 16.) * 180. / CV_PI;
    const auto all = [&]
    {
        for (double angle = -180.; angle < 180.; angle += step)
        {
            Mat copy, mask, map;
            cuda::FragmentMatcher::warpFragment(scene.templ, noArray(), angle, 1., copy, mask);
            matchTemplate(scene.image, copy, map, TM_CCOEFF_NORMED, mask);
            minMaxLoc(map, nullptr, nullptr, nullptr, nullptr);
        }
    };
    return medianUs(all, 2., 3);
}

typedef perf::TestBaseWithParam<tuple<int, int>> TemplateFinder_Cpu; // side of the template, threads (0: all)
typedef perf::TestBaseWithParam<int> TemplateFinder_Cuda;            // side of the template

PERF_TEST_P(TemplateFinder_Cpu, allAngles, testing::Combine(testing::Values(64, 128, 200), testing::Values(1, 0)))
{
    const PosedScene scene(get<0>(GetParam()));
    const Threads threads(get<1>(GetParam()));
    const Ptr<TemplateFinder> finder = TemplateFinder::create();
    finder->setTemplate(scene.templ);
    std::vector<TemplatePose> poses;
    TEST_CYCLE() { finder->find(scene.image, poses); }
    EXPECT_FALSE(poses.empty());
    const double us = calcMetrics().median / getTickFrequency() * 1e6;
    PerfRow(cv::format("all_angles_%d", scene.templ.cols), "cpu", "call", us)
        .peer("matchTemplate_loop", loopUs(scene))
        .set("threads", getNumThreads());
    SANITY_CHECK_NOTHING();
}

PERF_TEST_P(TemplateFinder_Cuda, allAngles, testing::Values(64, 128, 200))
{
    requireDevice();
    const PosedScene scene(GetParam());
    const Ptr<TemplateFinder> finder = TemplateFinder::create();
    finder->setTemplate(scene.templ);
    const cuda::GpuMat image(scene.image);
    std::vector<TemplatePose> poses;
    cuda::Stream stream;
    TEST_CYCLE() { finder->find(image, poses, stream); }
    EXPECT_FALSE(poses.empty());
    const double us = calcMetrics().median / getTickFrequency() * 1e6;
    PerfRow(cv::format("all_angles_%d", scene.templ.cols), "cuda", "call", us)
        .peer("matchTemplate_loop", loopUs(scene))
        .set("poses", static_cast<double>(poses.size()));
    SANITY_CHECK_NOTHING();
}

}} // namespace opencv_test
