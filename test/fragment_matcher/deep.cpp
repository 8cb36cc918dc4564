// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher with images of 16 bits, and with large fragments of 8: the limits of its integers, what it refuses, and
// that both agree.
// The other tests of FragmentMatcher take 16 bits as further types.
#include "scenes_cuda.hpp"

namespace opencv_test { namespace {

using namespace scenes;

//! Sizes of the largest fragments, of at most 16,843,523 pixels times channels, and sizes a little beyond.
const struct
{
    int type;
    Size largest, beyond;
} LIMITS[] = {{CV_16UC1, Size(1280, 13159), Size(5975, 2819)}, {CV_16UC3, Size(6822, 823), Size(6822, 824)}};

//! One position of a fragment of the largest size, with the largest sums: black against white, or noise of both.
Scene largestScene(RNG& rng, int metric, int type, Size size, bool noise, bool weighted)
{
    Scene scene;
    scene.params = makeParams(metric, 1);
    scene.frame = Mat(size, type, Scalar::all(65535));
    Mat templ(size, type, Scalar::all(0));
    if (noise)
    {
        rng.fill(scene.frame, RNG::UNIFORM, 0, 2);
        rng.fill(templ, RNG::UNIFORM, 0, 2);
        scene.frame *= 65535;
        templ *= 65535;
    }
    scene.templates.push_back(templ);
    if (weighted)
    {
        scene.weights.push_back(Mat(size, CV_8UC1, Scalar(255)));
        scene.weights[0].at<uchar>(size.height - 1, 0) = 254; // not uniform
    }
    return scene;
}

//! S of SSD, up to 2^64, and ZNCC, whose parts take up to 97 bits.
template <typename Check> void forLargestScenes(const Check& check)
{
    RNG rng(0x16B175);
    for (const auto& limit : LIMITS)
        for (const int metric : {FM::SSD, FM::ZNCC})
            for (const bool weighted : {false, true})
            {
                const bool noise = metric == FM::ZNCC; // black and white would be flat
                SCOPED_TRACE(cv::format("type %d metric %d weighted %d", limit.type, metric, weighted));
                check(largestScene(rng, metric, limit.type, limit.largest, noise, weighted));
            }
}

TEST(FragmentMatcher_Deep, largestSums)
{
    forLargestScenes([](const Scene& scene) { expectSame(expected(scene), runCpu(scene)); });
}

//! The largest S itself, beyond what signed integers of 64 bits hold.
TEST(FragmentMatcher_Deep, largestValue)
{
    RNG rng(1);
    const auto& limit = LIMITS[0];
    const Scene scene = largestScene(rng, FM::SSD, limit.type, limit.largest, false, false);
    const Ptr<FM> matcher = FM::create(scene.params);
    give(*matcher, scene);
    Mat map;
    matcher->scoreMap(0, scene.frame, Rect(), map, CV_64F);
    const uint64 S = uint64(255) * 65535 * 65535 * limit.largest.area();
    EXPECT_GT(S, uint64(1) << 63);
    EXPECT_EQ(static_cast<double>(S), map.at<double>(0));
}

//! Sizes around those whose parts of ZNCC without weights leave 63 bits, at the largest variance: half black, half
//! white.
TEST(FragmentMatcher_Deep, partsOf63Bits)
{
    const struct
    {
        int type;
        Size size;
    } sizes[] = {{CV_16UC3, Size(233, 228)},
                 {CV_16UC3, Size(233, 230)},
                 {CV_16UC1, Size(304, 304)},
                 {CV_16UC1, Size(305, 304)},
                 {CV_16UC1, Size(601, 600)}};
    for (const auto& of : sizes)
        for (const int weight : {255, 254, 3})
        {
            SCOPED_TRACE(cv::format("%d x %d, weights %d", of.size.width, of.size.height, weight));
            Scene scene;
            scene.params = makeParams(FM::ZNCC, 2, FM::SQUARE, 1);
            scene.frame = Mat(of.size + Size(2, 1), of.type, Scalar::all(0));
            scene.frame.rowRange(0, of.size.height / 2).setTo(Scalar::all(65535));
            scene.templates.push_back(scene.frame(Rect(Point(), of.size)).clone());
            if (weight != 255)
                scene.weights.push_back(Mat(of.size, CV_8UC1, Scalar(weight)));
            const Result result = runCpu(scene);
            expectSame(expected(scene), result);
            EXPECT_EQ(1.f, result.scores.at<float>(0, 0));
        }
}

//! Image and fragments in 16 bits, times a factor: equal positions; scores times the square of the factor.
TEST(FragmentMatcher_Deep, agreesWithEightBits)
{
    RNG rng(0x16B176);
    for (const int metric : {FM::SSD, FM::ZNCC})
        for (const int kind : {NO_WEIGHTS, SOME_WEIGHTS})
            for (const int factor : {1, 256})
            {
                Scene scene = randomScene(rng, makeParams(metric, 3), CV_8UC3, kind, Size(97, 71), 20, 6);
                const Result bytes = runCpu(scene);
                scene.frame.convertTo(scene.frame, CV_16U, factor);
                for (Mat& templ : scene.templates)
                    templ.convertTo(templ, CV_16U, factor);
                const Result words = runCpu(scene);
                EXPECT_TRUE(sameBits(bytes.locations, words.locations));
                EXPECT_TRUE(sameBits(bytes.status, words.status));
                const double scale = metric == FM::SSD ? double(factor) * factor : 1.;
                EXPECT_LE(cvtest::norm(bytes.scores * scale, words.scores, NORM_INF),
                          metric == FM::SSD ? 0. : 1e-6); // powers of two do not round
            }
}

//! A large and a small fragment of 8 bits, for ZNCC.
Scene largeAndSmall(int type, int weightKind, bool flat)
{
    RNG rng(0x16B178);
    Scene scene;
    scene.params = makeParams(FM::ZNCC, 2, FM::SQUARE, 1, FM::FULL, true);
    scene.frame = randomImage(rng, Size(260, 251), type);
    const Size sizes[] = {Size(240, 233), Size(21, 17)};
    for (int i = 0; i < 2; ++i)
    {
        scene.templates.push_back(scene.frame(Rect(Point(9, 11), sizes[i])).clone());
        if (flat && i == 0)
            scene.templates[i].setTo(Scalar::all(200));
        if (weightKind != NO_WEIGHTS)
            scene.weights.push_back(weightsOf(rng, sizes[i], weightKind, 1));
        scene.areas.push_back(Rect(Point(4, 6), sizes[i] + Size(11, 9)));
    }
    return scene;
}

template <typename Check> void forLargeAndSmall(const Check& check)
{
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4})
        for (const int kind : {NO_WEIGHTS, SOME_WEIGHTS})
            for (const bool flat : {false, true})
            {
                SCOPED_TRACE(cv::format("type %d weights %d flat %d", type, kind, flat));
                check(largeAndSmall(type, kind, flat));
            }
}

//! Fragments of more than 232 x 232 pixels, beside a small one: the bits of the definition, and of 16 bits.
TEST(FragmentMatcher_Deep, largeFragmentsOfEightBits)
{
    forLargeAndSmall(
        [](Scene scene)
        {
            const Result bytes = runCpu(scene);
            expectSame(expected(scene), bytes);
            scene.frame.convertTo(scene.frame, CV_16U);
            for (Mat& templ : scene.templates)
                templ.convertTo(templ, CV_16U);
            expectSame(bytes, runCpu(scene));
        });
}

//! Refusals name argument, type and limit; the matcher stays as it was.
class FragmentMatcher_DeepNegative : public testing::Test
{
protected:
    void SetUp() override
    {
        RNG rng(0x16B177);
        scene = randomScene(rng, makeParams(FM::SSD), CV_16UC1, SOME_WEIGHTS);
        matcher = FM::create(scene.params);
        give(*matcher, scene);
        truth = expected(scene);
    }
    void expectUnchanged()
    {
        EXPECT_EQ(static_cast<int>(scene.templates.size()), matcher->getFragmentCount());
        expectSame(truth, run(*matcher, scene));
    }
    void refuse(const std::function<void()>& call, const std::vector<std::string>& words)
    {
        expectRefused(call, words);
        expectUnchanged();
    }

    Scene scene;
    Ptr<FM> matcher;
    Result truth;
    Mat out;
};

TEST_F(FragmentMatcher_DeepNegative, types)
{
    for (const int type : {CV_16SC1, CV_32SC1, CV_32FC1, CV_64FC1, CV_16UC2, CV_8SC1})
    {
        const std::string name = typeToString(type);
        refuse([&] { matcher->setFragments(std::vector<Mat>(1, Mat(4, 5, type, Scalar::all(1)))); },
               {"templates[0]", name});
        refuse([&] { matcher->addFragment(Mat(4, 5, type, Scalar::all(1))); }, {"templ", name});
        refuse([&] { matcher->cutFragments(Mat(9, 9, type, Scalar::all(1)), {Rect(0, 0, 3, 3)}); }, {"frame", name});
        refuse([&] { matcher->match(Mat(90, 90, type, Scalar::all(1)), noArray(), out); }, {"frame", name});
    }
}

TEST_F(FragmentMatcher_DeepNegative, weights)
{
    const float endless = std::numeric_limits<float>::infinity();
    const std::vector<Mat> templates(1, Mat(4, 5, CV_16UC1, Scalar(7)));
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), endless, -endless, 1e30f, -1e-6f, 1.0001f})
    {
        Mat weights(4, 5, CV_32FC1, Scalar(1));
        weights.at<float>(2, 3) = wrong;
        refuse([&] { matcher->setFragments(templates, std::vector<Mat>(1, weights)); }, {"weights[0]"});
        refuse([&] { matcher->updateFragment(0, templates[0], weights); }, {"weights"});
    }
    refuse([&] { matcher->addFragment(templates[0], Mat(4, 5, CV_16UC1, Scalar(1))); }, {"weights", "CV_16UC1"});
}

TEST_F(FragmentMatcher_DeepNegative, depthsAreNotMixed)
{
    const Mat bytes(90, 90, CV_8UC1, Scalar(3));
    refuse([&] { matcher->match(bytes, noArray(), out); }, {"frame", "CV_8UC1", "CV_16UC1"});
    refuse([&] { matcher->addFragment(bytes(Rect(0, 0, 4, 4))); }, {"templ", "CV_8UC1", "CV_16UC1"});
    refuse([&] { matcher->updateFragment(0, bytes(Rect(0, 0, 4, 4))); }, {"templ", "CV_8UC1", "CV_16UC1"});
    refuse(
        [&] {
            matcher->setFragments(std::vector<Mat>{Mat(3, 3, CV_16UC1, Scalar(1)), Mat(3, 3, CV_8UC1, Scalar(1))});
        },
        {"templates[1]", "CV_8UC1", "CV_16UC1"});
    const Ptr<FM> eight = FM::create(makeParams(FM::SSD));
    eight->setFragments(std::vector<Mat>(1, bytes(Rect(0, 0, 4, 4))));
    expectRefused([&] { eight->match(scene.frame, noArray(), out); }, {"frame", "CV_16UC1", "CV_8UC1"});
}

TEST_F(FragmentMatcher_DeepNegative, absoluteDifferences)
{
    std::vector<int> offsets;
    std::vector<FragmentMatch> matches;
    matcher->setParams(makeParams(FM::SAD));
    expectRefused([&] { matcher->match(scene.frame, noArray(), out); }, {"frame", "CV_16UC1", "SAD"});
    expectRefused([&] { matcher->find(scene.frame, noArray(), matches); }, {"frame", "CV_16UC1", "SAD"});
    expectRefused([&] { matcher->scoreMap(0, scene.frame, Rect(), out, CV_64F); }, {"frame", "CV_16UC1", "SAD"});
    expectRefused([&] { matcher->scoreMaps(scene.frame, noArray(), out, offsets, CV_64F); },
                  {"frame", "CV_16UC1", "SAD"});
    matcher->setParams(scene.params);
    expectUnchanged();
}

//! Integer maps of 32 bits hold no sum of 16 bits.
TEST_F(FragmentMatcher_DeepNegative, integerMaps)
{
    std::vector<int> offsets;
    const Ptr<FM> pixel = FM::create(scene.params);
    pixel->setFragments(std::vector<Mat>(1, Mat(1, 1, CV_16UC1, Scalar(1))));
    expectRefused([&] { pixel->scoreMap(0, scene.frame, Rect(), out, CV_32S); }, {"depth", "CV_32S"});
    expectRefused([&] { pixel->scoreMaps(scene.frame, noArray(), out, offsets, CV_32S); }, {"depth", "CV_32S"});
}

TEST_F(FragmentMatcher_DeepNegative, largeFragments)
{
    for (const int metric : {FM::SAD, FM::SSD, FM::ZNCC}) // fragments are checked before the metric is used
        expectRefused([&] { FM::create(makeParams(metric))->addFragment(Mat(4104, 4105, CV_8UC1, Scalar(1))); },
                      {"4105 x 4104", "16843523"});
    for (const auto& limit : LIMITS)
    {
        const Mat templ(limit.beyond, limit.type, Scalar::all(1));
        const std::string most = std::to_string(16843523 / CV_MAT_CN(limit.type));
        const std::vector<std::string> words = {cv::format("%d x %d", limit.beyond.width, limit.beyond.height), most};
        refuse([&] { matcher->setFragments(std::vector<Mat>(1, templ)); }, words);
        refuse([&] { matcher->cutFragments(templ, {Rect(Point(), templ.size())}); }, words);
        refuse([&] { matcher->addFragment(templ); }, words);
        refuse([&] { matcher->updateFragment(0, templ); }, words);
    }
}

#ifdef HAVE_CUDA

using FragmentMatcher_CudaDeep = OnCuda;

TEST_F(FragmentMatcher_CudaDeep, largeFragmentsOfEightBits)
{
    forLargeAndSmall(
        [](Scene scene)
        {
            expectEnginesAgree(scene);
            scene.params.search = FM::THREE_STEP;
            expectEnginesAgree(scene);
        });
}

//! The most bands that a call may have: those of a wide and of a high fragment, with weights.
TEST_F(FragmentMatcher_CudaDeep, largestBands)
{
    const int cols = 32767, rows = 100000000 / cols;
    if (cuda::DeviceInfo().freeMemory() < 30e9)
        throw SkipTestException("needs 30 GB on the device");
    const Mat frame = randomImage(9400, Size(cols, rows), CV_16UC3);
    const Rect wide(0, 1000, cols, 8), high(20000, 0, 8, rows);
    std::vector<Mat> weights = {Mat(wide.size(), CV_8U, Scalar(255)), Mat(high.size(), CV_8U, Scalar(255))};
    weights[0].at<uchar>(3, 77) = weights[1].at<uchar>(77, 3) = 128; // not uniform
    const std::vector<Rect> areas = {Rect(0, 998, cols, 12), Rect(19998, 0, 12, rows)};
    const Ptr<FM> matcher = FM::create(makeParams(FM::SSD, 1));
    matcher->setFragments(std::vector<Mat>{frame(wide), frame(high)}, weights);
    const GpuMat device(frame);
    Mat locations, scores, after;
    matcher->match(device, areas, locations, scores);
    EXPECT_EQ(wide.tl(), locations.at<Point>(0));
    EXPECT_EQ(high.tl(), locations.at<Point>(1));
    EXPECT_EQ(0., cv::norm(scores, NORM_INF));
    device.download(after);
    EXPECT_TRUE(sameBits(frame, after));
}

TEST_F(FragmentMatcher_CudaDeep, largestSums) { forLargestScenes(expectEnginesAgree); }

//! Sizes and batches of the cases that are measured, and fragments that are wider than the shared memory of a block.
TEST_F(FragmentMatcher_CudaDeep, measuredSizes)
{
    RNG rng(0x16B178);
    const struct
    {
        Size frame, fragment;
        int type, count;
    } sizes[] = {{Size(320, 240), Size(16, 16), CV_16UC3, 200}, {Size(300, 200), Size(52, 52), CV_16UC1, 1},
                 {Size(200, 150), Size(64, 64), CV_16UC3, 1},   {Size(700, 40), Size(611, 9), CV_16UC1, 2},
                 {Size(2100, 30), Size(2049, 3), CV_16UC3, 1},  {Size(30, 2000), Size(3, 1900), CV_16UC3, 2}};
    for (const auto& of : sizes)
        for (const int metric : {FM::SSD, FM::ZNCC})
            for (const int kind : {NO_WEIGHTS, SOME_WEIGHTS})
            {
                SCOPED_TRACE(
                    cv::format("%d x %d metric %d weights %d", of.fragment.width, of.fragment.height, metric, kind));
                Scene scene;
                scene.params = makeParams(metric, 3, FM::SQUARE, 0, FM::FULL, true);
                scene.frame = randomImage(rng, of.frame, of.type, 3);
                for (int i = 0; i < of.count; ++i)
                {
                    const Size room = of.frame - of.fragment;
                    const Point at = uniform(rng, Point(), Point(room.width + 1, room.height + 1));
                    scene.templates.push_back(scene.frame(Rect(at, of.fragment)).clone());
                    scene.weights.push_back(weightsOf(rng, of.fragment, kind, i + 1));
                    if (of.count > 2)
                        scene.areas.push_back(Rect(at - Point(16, 16), of.fragment + Size(32, 32)));
                }
                if (kind == NO_WEIGHTS)
                    scene.weights.clear();
                if (!expectEnginesAgree(scene))
                    return;
            }
}

//! Many fragments in windows that one block each matches: up to 128 columns, sums of black and white, areas that the
//! frame clips.
TEST_F(FragmentMatcher_CudaDeep, manySmallWindows)
{
    RNG rng(0x16B17A);
    for (const int type : {CV_16UC1, CV_16UC3, CV_16UC4})
        for (const int metric : {FM::SSD, FM::ZNCC})
            for (int round = 0; round < 6; ++round)
            {
                SCOPED_TRACE(cv::format("type %d metric %d round %d", type, metric, round));
                const bool wide = round % 3 == 2, walks = round == 4;
                Scene scene;
                scene.params = makeParams(metric, round % 5 + 1, round % 2 ? FM::CROSS : FM::SQUARE, round % 3 * 4,
                                          walks ? FM::THREE_STEP : FM::FULL, round > 1);
                scene.frame = randomImage(rng, Size(330, 250), type, 3);
                if (round % 2)
                    cv::threshold(scene.frame, scene.frame, 30000, 65535, THRESH_BINARY);
                const int weights = round >= 4 ? SOME_WEIGHTS : round == 3 ? WEIGHTS_8U : NO_WEIGHTS;
                for (int i = 0; i < 300; ++i)
                {
                    const Size fragment = uniform(rng, Size(1, 4), wide ? Size(30, 8) : Size(27, 27));
                    const Size area = fragment + uniform(rng, Size(-1, -1), wide ? Size(128, 9) : Size(36, 36));
                    const Point at = uniform(rng, Point(-9, -9), Point(320, 240));
                    scene.templates.push_back(
                        scene.frame(Rect(uniform(rng, Point(), Point(300, 220)), fragment)).clone());
                    scene.weights.push_back(weightsOf(rng, fragment, weights, i));
                    scene.areas.push_back(Rect(at, area));
                }
                if (weights == NO_WEIGHTS)
                    scene.weights.clear();
                if (walks)
                    scene.predictions = Mat(300, 1, CV_32SC2, Scalar::all(100));
                if (!expectEnginesAgree(scene))
                    return;
            }
}

//! From 8 to 16 bits and back on one instance: nothing of the other type's fragments stays in device memory.
TEST_F(FragmentMatcher_CudaDeep, typesInTurn)
{
    RNG rng(0x16B179);
    const Ptr<FM> matcher = FM::create(makeParams(FM::SSD));
    for (int turn = 0; turn < 6; ++turn)
    {
        const Scene scene = randomScene(rng, makeParams(FM::SSD), turn % 2 ? CV_16UC3 : CV_8UC3, SOME_WEIGHTS);
        give(*matcher, scene);
        expectSame(runCpu(scene), runOnDevice(*matcher, uploadRoi(scene.frame), scene.areas));
    }
}

#endif // HAVE_CUDA

}} // namespace opencv_test
