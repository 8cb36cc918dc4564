// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sums at the bounds of their types: bright images beside dark ones, with fragments at which a sum fills its bits, and
// one pixel or row more. The CPU against plain loops in 64 bits, and CUDA against the CPU.
#include "scenes_cuda.hpp"
#include "plans.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using FragmentMatcher_CudaSums = OnCuda;

//! A frame and a fragment of it.
struct Bound
{
    Size frame, fragment;
    int type;
    int metrics;        //!< bit by bit
    bool three = false; //!< CUDA: by the three kernels of matrix instructions
};
const int SAD = 1 << FM::SAD, SSD = 1 << FM::SSD, ZNCC = 1 << FM::ZNCC, ALL = SAD | SSD | ZNCC;

std::string nameOf(const Bound& bound, int metric, bool weighted)
{
    return cv::format("%d x %d, type %d, in %d x %d, metric %d%s", bound.fragment.width, bound.fragment.height,
                      bound.type, bound.frame.width, bound.frame.height, metric, weighted ? ", weighted" : "");
}

/** The left half is dark, the right half nearly white: 255 but for one pixel in 4,000. A sum that lacks bits of the
right half would prefer the left one. The fragment is a part of the right half or its negative, from which it has the
largest differences there are. */
Scene brightScene(RNG& rng, const Bound& bound, int metric, bool weighted, bool negative)
{
    Scene scene;
    scene.params = makeParams(metric, 2, FM::SQUARE, 1, FM::FULL, true);
    scene.frame = Mat(bound.frame, bound.type, Scalar::all(255));
    const int half = bound.frame.width / 2;
    Mat dark = scene.frame.colRange(0, half);
    rng.fill(dark, RNG::UNIFORM, 0, 6);
    for (int64 i = 0; i < 1 + int64(bound.frame.area()) / 4000; ++i)
    {
        const int x = rng.uniform(half, bound.frame.width), y = rng.uniform(0, bound.frame.height);
        scene.frame(Rect(x, y, 1, 1)).setTo(Scalar::all(254));
    }
    const int x = std::min(half + 1, bound.frame.width - bound.fragment.width);
    const Rect at(Point(x, (bound.frame.height - bound.fragment.height) / 2), bound.fragment);
    scene.frame(Rect(at.tl() + Point(0, bound.fragment.height / 3), Size(1, 1))).setTo(Scalar::all(253)); // not flat
    scene.templates.push_back(negative ? Mat(~scene.frame(at)) : scene.frame(at).clone());
    if (weighted)
    {
        scene.weights.push_back(Mat(bound.fragment, CV_8UC1, Scalar(255)));
        scene.weights[0].at<uchar>(bound.fragment.height - 1, 0) = 254; // not uniform
    }
    return scene;
}

template <typename Check> void forAllScenes(const std::vector<Bound>& bounds, const Check& check)
{
    RNG rng(0x4CF5AD43);
    for (const Bound& bound : bounds)
        for (const int metric : METRICS)
            for (int kind = 0; kind < 4 && (bound.metrics >> metric & 1); ++kind)
            {
                const bool weighted = kind % 2 != 0, negative = kind / 2 != 0;
                SCOPED_TRACE(nameOf(bound, metric, weighted) + (negative ? ", negative" : ""));
                check(brightScene(rng, bound, metric, weighted, negative));
                if (testing::Test::HasFailure())
                    return;
            }
}

/** Squares of one column of three channels exceed 32 bits from 22,018 rows on. ZNCC takes the three kernels in large
windows only. Windows around a fragment of full height are one row of positions. */
const std::vector<Bound> COLUMNS = {{Size(30, 22060), Size(2, 22017), CV_8UC3, SAD | SSD, true},
                                    {Size(30, 22060), Size(2, 22018), CV_8UC3, SAD | SSD, true},
                                    {Size(60, 24020), Size(16, 24000), CV_8UC4, SSD, true},
                                    {Size(31, 32767), Size(2, 32750), CV_8UC3, SSD, true},
                                    {Size(33, 32767), Size(1, 32740), CV_8UC1, ALL},
                                    {Size(300, 22100), Size(2, 22017), CV_8UC3, ZNCC, true},
                                    {Size(300, 22100), Size(2, 22018), CV_8UC3, ZNCC, true},
                                    {Size(2000, 32767), Size(1, 32767), CV_8UC3, ZNCC, true},
                                    {Size(30, 22060), Size(2, 22018), CV_8UC3, ZNCC}};

/** Sums over the fragment: 66,051 products of two bytes fit 32 bits, 259 of three (weighted SSD), 16,843,009 single
bytes (SAD). Parts of ZNCC fill 63 bits from 53,824 pixels on; larger fragments are matched as 16 bits. */
const std::vector<Bound> AREAS = {
    {Size(15, 2755), Size(8, 2752), CV_8UC3, SAD | SSD},  {Size(15, 2756), Size(8, 2753), CV_8UC3, SAD | SSD},
    {Size(34, 2070), Size(32, 2064), CV_8UC1, SAD | SSD}, {Size(34, 2071), Size(32, 2065), CV_8UC1, SAD | SSD},
    {Size(9, 8252), Size(4, 8250), CV_8UC1, ALL},         {Size(9, 8253), Size(4, 8251), CV_8UC1, ALL},
    {Size(21, 21), Size(16, 16), CV_8UC1, SSD},           {Size(21, 22), Size(16, 17), CV_8UC1, SSD},
    {Size(236, 234), Size(232, 232), CV_8UC3, ZNCC},      {Size(236, 234), Size(233, 232), CV_8UC3, ZNCC},
    {Size(5, 26914), Size(2, 26912), CV_8UC4, ZNCC},      {Size(26915, 4), Size(26913, 2), CV_8UC1, ZNCC},
    {Size(32767, 4), Size(32766, 2), CV_8UC3, SAD | SSD}};

//! The three kernels take the sizes that are to test them.
TEST(FragmentMatcher_Sums, tallFragmentsTakeThreeKernels)
{
    plans::require();
#ifdef CUDATRACKING_HAS_PLANS
    for (const Bound& bound : COLUMNS)
        for (const int metric : {FM::SSD, FM::ZNCC})
            for (const size_t bytes : plans::SHARED_BYTES)
                for (const int multiprocessors : plans::MULTIPROCESSORS)
                {
                    if (!bound.three || !(bound.metrics >> metric & 1))
                        continue;
                    const int channels = CV_MAT_CN(bound.type);
                    plans::MatchCall call(bound.frame, channels, metric, false, bytes, multiprocessors);
                    const plans::Extent fragment = {bound.fragment.width, bound.fragment.height};
                    const plans::Extent window = {bound.frame.width - fragment.width + 1,
                                                  bound.frame.height - fragment.height + 1};
                    call.add(fragment, window);
                    EXPECT_EQ(plans::Routes{metric == FM::SSD ? "BANDS SSD" : "BANDS ZNCC"}, plans::routesOf(call))
                        << call.describe();
                }
#endif
}

TEST(FragmentMatcher_Sums, columns)
{
    std::vector<Bound> small = COLUMNS; // windows that plain loops can search
    for (Bound& bound : small)
        bound.frame = {bound.fragment.width + 4, std::min(bound.fragment.height + 2, 32767)};
    forAllScenes(small, [](const Scene& scene) { expectSame(expected(scene), runCpu(scene)); });
}

TEST(FragmentMatcher_Sums, areas)
{
    forAllScenes(AREAS, [](const Scene& scene) { expectSame(expected(scene), runCpu(scene)); });
}

//! The least fragment whose sums of differences of single bytes exceed 32 bits, and one of a row less.
TEST(FragmentMatcher_Sums, areasOfBytes)
{
    forAllScenes(
        {{Size(4114, 4097), Size(4112, 4096), CV_8UC1, SAD}, {Size(3909, 4312), Size(3907, 4311), CV_8UC1, SAD}},
        [](const Scene& scene) { expectSame(expected(scene), runCpu(scene)); });
}

TEST_F(FragmentMatcher_CudaSums, columns) { forAllScenes(COLUMNS, expectEnginesAgree); }

TEST_F(FragmentMatcher_CudaSums, areas) { forAllScenes(AREAS, expectEnginesAgree); }

}} // namespace opencv_test
