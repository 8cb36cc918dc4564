// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// TemplateFinder on the device: the bits of the CPU backend.
#include "scenes.hpp"
#include "../common/graphs.hpp"

namespace opencv_test { namespace {

using namespace poses;

class TemplateFinder_Cuda : public OnCuda
{};

//! Finds on both backends, and returns the poses of the CPU.
std::vector<TemplatePose> expectSame(const Mat& image, const Mat& templ, const TF::Params& params,
                                     const Mat& weights = Mat())
{
    const Ptr<TF> host = TF::create(params), device = TF::create(params);
    std::vector<TemplatePose> expected, poses;
    host->setTemplate(templ, weights);
    host->find(image, expected);
    device->setTemplate(uploadRoi(templ), uploadRoi(weights));
    cuda::Stream stream;
    for (int i = 0; i < 2; ++i)
    {
        device->find(uploadRoi(image), poses, stream);
        EXPECT_TRUE(sameBits(tableOf(expected), tableOf(poses)));
        host->find(GpuMat(image), poses);
        EXPECT_TRUE(sameBits(tableOf(expected), tableOf(poses)));
    }
    device->find(image, poses);
    EXPECT_TRUE(sameBits(tableOf(expected), tableOf(poses)));
    return expected;
}

TEST_F(TemplateFinder_Cuda, Sanitize_allTypes)
{
    const std::vector<Placed> places = {{60.3, 70.8, 33.7, 1.}, {160.6, 60.2, -121.4, 1.}};
    const Size size(44, 36);
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_16UC4})
    {
        SCOPED_TRACE(typeToString(type));
        const Mat image = makeImage(Size(220, 130), type, size, places);
        EXPECT_EQ(2u, expectSame(image, makeTemplate(size, type), makeParams(0.9)).size());
    }
}

TEST_F(TemplateFinder_Cuda, sizesAndMasks)
{
    const std::vector<Placed> places = {{80.3, 70.8, 133.7, 0.83}, {180.6, 80.2, -21.4, 1.22}};
    const Mat image = makeImage(Size(250, 160), CV_8UC3, Size(60, 50), places);
    const Mat templ = makeTemplate(Size(60, 50), CV_8UC3);
    const TF::Params params = makeParams(0.8, -180., 180., 0.75, 1.3);
    EXPECT_EQ(2u, expectSame(image, templ, params).size());
    Mat weights = Mat::zeros(templ.size(), CV_8UC1), real;
    ellipse(weights, Point(30, 25), Size(28, 22), 0., 0., 360., Scalar(255), FILLED);
    expectSame(image, templ, params, weights);
    weights.convertTo(real, CV_32F, 0.9 / 255.);
    expectSame(image, templ, params, real);
}

//! More places of one angle than FragmentMatcher has peaks, and a threshold that lets many through.
TEST_F(TemplateFinder_Cuda, manyPlaces)
{
    std::vector<Placed> places;
    for (int i = 0; i < 30; ++i)
        places.push_back({30. + 40.3 * (i % 6), 25. + 34.7 * (i / 6), 20., 1.});
    const Size size(30, 24);
    const Mat image = makeImage(Size(270, 190), CV_8UC1, size, places), templ = makeTemplate(size, CV_8UC1);
    EXPECT_EQ(30u, expectSame(image, templ, makeParams(0.85)).size());
    expectSame(image, templ, makeParams(0.3));
}

TEST_F(TemplateFinder_Cuda, randomSizes)
{
    RNG rng(12);
    for (int i = 0; i < 40; ++i)
    {
        const Size size = {rng.uniform(3, 70), rng.uniform(3, 70)};
        const Size whole = {rng.uniform(40, 260), rng.uniform(40, 200)};
        const Mat image = randomImage(rng, whole, CV_8UC1, rng.uniform(1, 9));
        const Mat templ = randomImage(rng, size, CV_8UC1, rng.uniform(1, 9));
        SCOPED_TRACE(cv::format("case %d", i));
        const double threshold = rng.uniform(0.2, 0.7), last = rng.uniform(-90., 270.);
        expectSame(image, templ, makeParams(threshold, -90., last, 0.9, 1.1));
    }
}

#ifdef HAVE_CUDA
TEST_F(TemplateFinder_Cuda, isNotCaptured)
{
    const Mat image = randomImage(3, Size(80, 70), CV_8UC1);
    const GpuMat onDevice(image);
    const Ptr<TF> finder = TF::create();
    finder->setTemplate(image(Rect(20, 20, 24, 20)));
    std::vector<TemplatePose> poses;
    cuda::Stream stream;
    Graph graph(stream);
    expectRefused([&] { finder->find(onDevice, poses, stream); }, {"find()"}, Error::StsBadArg);
    graph.end();
    finder->find(onDevice, poses, stream);
    EXPECT_EQ(1u, poses.size());
}
#endif

}} // namespace opencv_test
