// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sub-pixel positions by a Gaussian: its logarithms, scores of any sign and size, images of particles whose motion is
// known, and CUDA against the CPU.
#include "scenes_cuda.hpp"
#include "../../src/fragment_matcher/subpixel.hpp"

namespace opencv_test { namespace {

using namespace scenes;
namespace core = cv::cuda::fragment_matcher;
using FragmentMatcher_CudaSubpixel = OnCuda;

TEST(FragmentMatcher_Subpixel, logarithmsOfRatios)
{
    RNG rng(0x5B1);
    const float tiny = std::numeric_limits<float>::min();
    for (int i = 0; i < 200000; ++i)
    {
        float a = rng.uniform(tiny, 1.f), b = rng.uniform(tiny, 1.f);
        if (i % 4 == 1)
            b = std::nextafter(a, i % 8 == 1 ? 0.f : 1.f);
        else if (i % 4 == 2)
            a = static_cast<float>(std::exp(rng.uniform(-87., 0.)));
        else if (i % 4 == 3) // on both sides of a power of 2
            b = a = 0.5f, b += rng.uniform(-1e-3f, 1e-3f), a -= rng.uniform(-1e-3f, 1e-3f);
        typedef long double Real;
        const Real ratio = Real(a) / Real(b);
        const Real truth = ratio > 0.5L && ratio < 2.L ? std::log1p((Real(a) - Real(b)) / Real(b)) : std::log(ratio);
        EXPECT_NEAR(0., static_cast<double>((core::logOfRatio(a, b) - truth) / std::abs(truth + (truth == 0))), 1e-15)
            << a << " / " << b;
    }
    EXPECT_EQ(0., core::logOfRatio(0.7f, 0.7f));
    EXPECT_EQ(0., core::logOfRatio(tiny / 1024, tiny / 1024)) << "subnormal";
    EXPECT_NEAR(-10 * std::log(2.), core::logOfRatio(tiny / 1024, tiny), 1e-14);
}

//! Scores of which no logarithm exists, of one size, and of all orders: the offset is that of the parabola where the
//! Gaussian has none, and never NaN or beyond half a pixel.
TEST(FragmentMatcher_Subpixel, hostileScores)
{
    const float least = std::numeric_limits<float>::denorm_min(), below = std::nextafter(1.f, 0.f);
    const float scores[] = {-1.f, -0.3f, -least, 0.f, least, 1e-30f, 0.1f, 0.5f, 0.99f, below, 1.f};
    int gaussians = 0;
    for (const float l : scores)
        for (const float c : scores)
            for (const float r : scores)
            {
                SCOPED_TRACE(cv::format("%g %g %g", l, c, r));
                const auto offset = [&](int fit)
                {
                    return core::subpixelOffset(core::znccToValue(l), core::znccToValue(c), core::znccToValue(r),
                                                core::Metric::ZNCC, fit);
                };
                const float gaussian = offset(core::FIT_GAUSSIAN), parabola = offset(core::FIT_PARABOLA);
                EXPECT_LE(std::abs(gaussian), 0.5f); // false for NaN
                const bool fits = l > 0.f && c > 0.f && r > 0.f;
                gaussians += fits && parabola != gaussian;
                EXPECT_EQ(fits ? static_cast<float>(oracle::gaussianOffset(-l, -c, -r)) : parabola, gaussian);
                if (l == r && c >= l)
                {
                    EXPECT_EQ(0.f, gaussian);
                }
            }
    EXPECT_GT(gaussians, 90);
}

TEST(FragmentMatcher_Subpixel, isForZnccAlone)
{
    FM::Params params = gaussianParams(FM::ZNCC);
    const Ptr<FM> matcher = FM::create(params);
    for (const int metric : {FM::SAD, FM::SSD})
        for (const bool subpixel : {false, true})
        {
            params.metric = metric;
            params.subpixel = subpixel;
            expectRefused([&] { FM::create(params); }, {"subpixelFit", "GAUSSIAN"});
            expectRefused([&] { matcher->setParams(params); }, {"subpixelFit", "GAUSSIAN"});
        }
    EXPECT_EQ(static_cast<int>(FM::ZNCC), matcher->getParams().metric);
    params = gaussianParams(FM::ZNCC);
    for (const int fit : {-1, 2})
    {
        params.subpixelFit = fit;
        expectRefused([&] { matcher->setParams(params); }, {"subpixelFit", cv::format("%d", fit)});
    }
}

//! Scenes of 49 windows of 32 pixels. The same particles in both images, but for the border.
Scene particleScene(int fit, double shift)
{
    Scene scene;
    scene.params = gaussianParams(FM::ZNCC);
    scene.params.subpixelFit = fit;
    const Mat source = particles(1, Size(256, 256), 0.);
    scene.frame = particles(1, Size(256, 256), shift);
    for (int y = 16; y <= 208; y += 32)
        for (int x = 16; x <= 208; x += 32)
        {
            scene.templates.push_back(source(Rect(x, y, 32, 32)).clone());
            scene.areas.push_back(Rect(x - 6, y - 6, 44, 44));
        }
    return scene;
}

//! Mean over the windows of x beyond the window's place, and of y.
Point2d meanMotion(const Scene& scene, const Result& result)
{
    Point2d sum;
    for (size_t i = 0; i < scene.areas.size(); ++i)
    {
        const Point2f at = result.refined.at<Point2f>(static_cast<int>(i), 0);
        sum += Point2d(at.x, at.y) - Point2d(scene.areas[i].tl() + Point(6, 6));
    }
    return sum / static_cast<double>(scene.areas.size());
}

//! The parabola's error is towards whole pixels (peak locking).
TEST(FragmentMatcher_Subpixel, motionOfParticles)
{
    for (const double shift : {3., 3.2, 3.4, 3.6, 3.8})
    {
        SCOPED_TRACE(cv::format("shift %g", shift));
        const Scene scene = particleScene(FM::GAUSSIAN, shift);
        const Point2d gaussian = meanMotion(scene, runCpu(scene));
        // The mean of 49 windows has a standard error of 0.002 px.
        EXPECT_NEAR(shift, gaussian.x, 0.006);
        EXPECT_NEAR(0., gaussian.y, 0.006);
        const Scene other = particleScene(FM::PARABOLA, shift);
        const double parabola = meanMotion(other, runCpu(other)).x;
        if (shift != 3.)
        {
            EXPECT_GT((shift - parabola) * (shift < 3.5 ? 1 : -1), 0.025);
        }
    }
}

TEST_F(FragmentMatcher_CudaSubpixel, motionOfParticles)
{
    const Scene scene = particleScene(FM::GAUSSIAN, 3.3);
    expectSame(runCpu(scene), runCuda(scene));
}

//! Each route of ZNCC: from small windows to whole frames. Frames of noise have neighbours of either sign.
TEST_F(FragmentMatcher_CudaSubpixel, allRoutes)
{
    RNG rng(0x5B2);
    for (const int side : {5, 16, 33, 64, 130, 200})
        for (const int reach : {1, 3, 16, 40, 150})
            for (const int type : {CV_8UC1, CV_8UC3})
            {
                SCOPED_TRACE(cv::format("side %d reach %d type %d", side, reach, type));
                Scene scene;
                scene.params = gaussianParams(FM::ZNCC, 3);
                scene.frame = randomImage(rng, Size(380, 360), type, 1 + side % 4);
                for (int i = 0; i < (side < 40 ? 40 : 2); ++i)
                {
                    const Point at = uniform(rng, Point(), Point(380 - side, 360 - side));
                    scene.templates.push_back(scene.frame(Rect(at, Size(side, side))).clone());
                    scene.templates.back() += Scalar::all(i % 9);
                    scene.areas.push_back(Rect(at.x - reach, at.y - reach, side + 2 * reach, side + 2 * reach));
                }
                expectSame(runCpu(scene), runCuda(scene));
            }
}

}} // namespace opencv_test
