// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// SAD of large fragments, where both backends score only positions whose bound allows a peak: every output equals that
// of a full search, bit by bit. The full search is made from scoreMap(), which eliminates nothing, and the oracle's
// choice of peaks.
#include "../common/graphs.hpp"
#include "plans.hpp"
#include "scenes_cuda.hpp"
#include "../../src/cpu/fragment_matcher/eliminate.hpp"
#include <thread>

namespace opencv_test { namespace {

using namespace scenes;
using FragmentMatcher_CudaEliminationSpecial = OnCuda;

namespace cpu = cv::cuda::fragment_matcher::cpu;

//! Each strip is worked on once, with threads and without.
TEST(FragmentMatcher_Strips, once)
{
    cpu::Scratch memory;
    cpu::ScratchPool pool;
    for (cpu::ScratchPool* const threads : {static_cast<cpu::ScratchPool*>(nullptr), &pool})
        for (const int count : {0, 1, 7})
        {
            std::vector<int> times(count + 2), expected(times.size());
            std::fill_n(expected.begin(), count, 1);
            cpu::forAll(count, memory, threads, [&](int i, cpu::Scratch&) { ++times[i]; });
            EXPECT_EQ(expected, times);
        }
}

//! A Gaussian window that is 0 in its corners, as tracking uses it.
Mat gaussianWindow(Size size)
{
    Mat window(size, CV_32FC1);
    for (int y = 0; y < window.rows; ++y)
        for (int x = 0; x < window.cols; ++x)
        {
            const double dx = (x + 0.5) / window.cols - 0.5, dy = (y + 0.5) / window.rows - 0.5, r = dx * dx + dy * dy;
            window.at<float>(y, x) = r > 0.4 ? 0.f : static_cast<float>(std::exp(-4. * r));
        }
    return window;
}

//! Adds a fragment that was cut from the frame at `at` and changed a little.
void addFragment(RNG& rng, Scene& scene, Rect at, int weightKind, double noise)
{
    Mat templ = scene.frame(at).clone(), grain(at.size(), CV_16SC(templ.channels())), sum;
    rng.fill(grain, RNG::NORMAL, 0., noise);
    templ.convertTo(sum, CV_16S);
    Mat(sum + grain).convertTo(templ, CV_8U);
    scene.templates.push_back(templ);
    scene.weights.push_back(weightsOf(rng, at.size(), weightKind, static_cast<int>(scene.weights.size())));
}

//! Results of a full search.
Result fullSearch(const Scene& scene)
{
    const Ptr<FM> matcher = matcherOf(scene);
    const int count = static_cast<int>(scene.templates.size());
    Result result = oracle::emptyResult(count, scene.params.peaks);
    for (int i = 0; i < count; ++i)
    {
        const Rect area = scene.areas.empty() ? Rect(Point(), scene.frame.size()) : scene.areas[i];
        oracle::Map map;
        if (oracle::searchWindow(area, scene.frame.size(), scene.templates[i].size(), map.origin, map.positions))
        {
            Mat costs, scores;
            matcher->scoreMap(i, scene.frame, area, costs, CV_64F);
            matcher->scoreMap(i, scene.frame, area, scores, CV_32F);
            map.costs.assign(costs.begin<double>(), costs.end<double>());
            map.scores.assign(scores.begin<float>(), scores.end<float>());
        }
        oracle::report(result, i, map, scene.templates[i].size(), scene.params, nullptr);
    }
    return result;
}

//! Options that decide which positions can be peaks.
std::vector<FM::Params> someOptions()
{
    std::vector<FM::Params> options;
    for (const int exclusion : {FM::SQUARE, FM::CROSS})
        for (const int peaks : {1, 2, 5, 16})
        {
            const int distance = (peaks == 2) == (exclusion == FM::SQUARE) ? 9 : 0;
            options.push_back(makeParams(FM::SAD, peaks, exclusion, distance, FM::FULL, (peaks + distance) % 2 == 1));
        }
    return options;
}

//! Calls check(scene) for scenes in which elimination is tried.
template <class Check> void naturalScenes(int weightKind, int type, const Check& check)
{
    RNG rng(0x5BE0CD19u + weightKind * 17 + type);
    const bool gray = CV_MAT_CN(type) == 1;
    const Size frames[] = {gray ? Size(1003, 811) : Size(701, 587), gray ? Size(1190, 707) : Size(640, 655)};
    const Size sizes[] = {Size(96, 80), Size(117, 90), Size(67, 130), Size(65, 190), Size(203, 142)};
    int round = 0;
    for (const FM::Params& params : someOptions())
    {
        SCOPED_TRACE(describe(params));
        const Size size = sizes[round % 5];
        Scene scene;
        scene.params = params;
        scene.frame = asRoi(structuredImage(rng, frames[round / 4 % 2], type, 1. + round % 3));
        const Point at =
            uniform(rng, Point(), Point(scene.frame.cols - size.width + 1, scene.frame.rows - size.height + 1));
        addFragment(rng, scene, Rect(at, size), weightKind == NO_WEIGHTS ? NO_WEIGHTS : 1 + round % 2, 3.);
        if (weightKind == NO_WEIGHTS)
            scene.weights.clear();
        else if (round % 3 != 0)
            scene.weights = {gaussianWindow(size)};
        check(scene);
        if (testing::Test::HasFailure())
            return; // one report is enough
        ++round;
    }
}

//! Equal values on purpose, places without alternatives, windows in which nothing can be eliminated, batches of mixed
//! sizes.
template <class Check> void specialScenes(const Check& check)
{
    RNG rng(0x1F83D9AB);
    for (const bool subpixel : {false, true})
        for (const int exclusion : {FM::SQUARE, FM::CROSS})
            for (const int peaks : {2, 3})
            {
                Scene scene;
                scene.params = makeParams(FM::SAD, peaks, exclusion, 0, FM::FULL, subpixel);
                SCOPED_TRACE(describe(scene.params));
                // A pattern that repeats every 83 x 71 pixels, longer than the exclusion distance: all peaks are ties.
                const Mat cell = structuredImage(rng, Size(83, 71), CV_8UC3, 2.);
                repeat(cell, 9, 9, scene.frame);
                scene.templates = {scene.frame(Rect(140, 60, 80, 88)).clone()};
                check(scene);
                // One colour: all values are equal, also of a fragment of another colour.
                scene.frame = Mat(620, 650, CV_8UC3, Scalar(31, 77, 200));
                scene.templates = {scene.frame(Rect(3, 5, 90, 90)).clone(), Mat(90, 90, CV_8UC3, Scalar::all(5))};
                check(scene);
                // Noise, of which nothing can be eliminated.
                scene.frame = randomImage(rng, Size(650, 620), CV_8UC3, 3);
                scene.templates = {scene.frame(Rect(301, 205, 96, 90)).clone()};
                check(scene);
                // Few fragments in small windows, in noise: what is left lies outside the zone of the best.
                if (peaks == 2)
                {
                    scene.templates.clear();
                    for (int i = 0; i < 16; ++i)
                    {
                        const Rect at(uniform(rng, Point(48, 48), Point(500, 470)), Size(96, 96));
                        scene.templates.push_back(scene.frame(at).clone());
                        scene.areas.push_back(Rect(at.tl() - Point(48, 48), Size(192, 192)));
                    }
                    check(scene);
                    scene.areas.clear();
                }
                // The best in the centre of a small window, where there is no alternative, and in a corner, where there
                // is one.
                scene.frame = structuredImage(rng, Size(660, 640), CV_8UC4, 2.);
                scene.templates.clear();
                scene.areas.clear();
                for (int i = 0; i < 24; ++i)
                {
                    const Rect at(uniform(rng, Point(60, 60), Point(400, 380)), Size(128, 128));
                    scene.templates.push_back(scene.frame(at).clone());
                    const Point shift = i % 3 ? uniform(rng, Point(-9, -9), Point(10, 10)) : Point(40, -41);
                    scene.areas.push_back(Rect(at.tl() - Point(48, 48) + shift, Size(224, 224)));
                }
                // Other sizes in the same call: as large as the frame, small, in windows of few positions, nowhere.
                for (const Size size : {Size(660, 640), Size(9, 7), Size(70, 131), Size(3, 150), Size(129, 128)})
                {
                    const Rect at(uniform(rng, Point(), Point(661 - size.width, 641 - size.height)),
                                  Size(size.width, size.height));
                    scene.templates.push_back(scene.frame(at).clone());
                    scene.areas.push_back(size.width == 129 ? Rect(5, 5, 128, 128) : Rect(0, 0, 660, 640));
                }
                check(scene);
                if (testing::Test::HasFailure())
                    return;
            }
}

//! Blocks of 8 x 8 pixels of one value each. Of a fragment that is like noise nothing would be eliminated.
Mat blocksOf(RNG& rng, Size size, int type, int least, int end)
{
    Mat blocks(size.height / 8, size.width / 8, type), image;
    rng.fill(blocks, RNG::UNIFORM, least, end);
    cv::resize(blocks, image, size, 0, 0, INTER_NEAREST);
    return image;
}

//! A scene whose best value equals its bound, which is also the limit: blocks of a dark patch have the largest sum for
//! their mean. @param darker difference of a second patch, which has the best value too where it is 0.
Scene tightBound(int peaks, int darker)
{
    Scene scene;
    scene.params = makeParams(FM::SAD, peaks);
    scene.frame = Mat(900, 1000, CV_8UC1, Scalar(0));
    for (int i = 0; i < 2; ++i)
    {
        Mat patch = scene.frame(Rect(i ? Point(101, 333) : Point(617, 411), Size(80, 80)));
        patch.setTo(11 - i * darker);
        for (int y = 0; y < 80; y += 8)
            for (int x = 0; x < 80; x += 8)
                patch.at<uchar>(y, x) -= 1;
    }
    scene.templates = {Mat(80, 80, CV_8UC1, Scalar(40))};
    return scene;
}

/** A scene with three positions of equal, lowest bounds, 32 columns apart. The middle one is the best, and its zone
covers the other two, which are more than d apart. The alternative, a brighter copy far away, is worse than all three,
by its bound too. */
Scene placesInOneZone()
{
    RNG rng(0x9B05688C);
    Scene scene;
    scene.params = makeParams(FM::SAD, 2, FM::SQUARE, 40);
    scene.frame = Mat(900, 1000, CV_8UC1);
    rng.fill(scene.frame, RNG::UNIFORM, 200, 256);
    Mat period = blocksOf(rng, Size(32, 96), CV_8UC1, 40, 120), pattern;
    repeat(period, 1, 5, pattern);
    scene.templates = {pattern.colRange(0, 96).clone()};
    Mat(scene.templates[0] + Scalar(12)).copyTo(scene.frame(Rect(600, 700, 96, 96)));
    for (int y = 0; y < pattern.rows; ++y) // outside of the middle position, without a change of means
        for (int x = 0; x < 32; ++x)
            for (const int column : {x, x + 128})
                pattern.at<uchar>(y, column) =
                    static_cast<uchar>(pattern.at<uchar>(y, column) + ((x + y) % 2 ? 20 : -20));
    pattern.copyTo(scene.frame(Rect(70, 304, pattern.cols, pattern.rows)));
    return scene;
}

//! A scene whose weighted sums take 64 bits.
Scene wideSums()
{
    RNG rng(0x3C6EF372);
    Scene scene;
    scene.params = makeParams(FM::SAD, 2);
    scene.frame = structuredImage(rng, Size(610, 590), CV_8UC3, 2.);
    addFragment(rng, scene, Rect(211, 307, 160, 152), SOME_WEIGHTS, 3.);
    scene.weights = {gaussianWindow(scene.templates[0].size())};
    return scene;
}

template <class Check> void tightScenes(const Check& check)
{
    for (const int peaks : {1, 2})
        for (const int darker : {0, 1})
            check(tightBound(peaks, darker));
    check(placesInOneZone());
    check(wideSums());
}

/** A scene in which few positions remain: copies of a dark pattern in bright noise, each darker or brighter than the
others, in the corners of the window or where groups and tiles of positions meet. */
Scene fewCopies(int type, const FM::Params& params, const std::vector<Point>& places)
{
    RNG rng(0x510E527F + type);
    Scene scene;
    scene.params = params;
    scene.frame = Mat(811, 1003, type);
    rng.fill(scene.frame, RNG::UNIFORM, 180, 256);
    const Mat pattern = blocksOf(rng, Size(96, 80), type, 20, 100);
    scene.templates = {pattern};
    int brighter = 0;
    for (const Point& at : places)
        Mat(pattern + Scalar::all(brighter++ * 3 % 13)).copyTo(scene.frame(Rect(at, pattern.size())));
    return scene;
}

template <class Check> void fewScenes(const Check& check)
{
    const std::vector<Point> corners = {Point(0, 0), Point(907, 0), Point(0, 731), Point(907, 731), Point(448, 352)},
                             borders = {Point(63, 15), Point(192, 111), Point(319, 208), Point(512, 431),
                                        Point(647, 556)},
                             one = {Point(395, 418)};
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4})
        for (const std::vector<Point>& places : {corners, borders, one})
            for (const int peaks : {1, 2, 5})
                for (const bool subpixel : {false, true}) // with it, neighbours of candidates are scored too
                {
                    const FM::Params params =
                        makeParams(FM::SAD, peaks, FM::SQUARE, peaks == 5 ? 7 : 0, FM::FULL, subpixel);
                    SCOPED_TRACE(describe(params));
                    check(fewCopies(type, params, places));
                    if (testing::Test::HasFailure())
                        return;
                }
}

typedef testing::TestWithParam<tuple<int, int>> FragmentMatcher_Elimination; // weight kind, type

TEST_P(FragmentMatcher_Elimination, natural)
{
    naturalScenes(get<0>(GetParam()), get<1>(GetParam()),
                  [](const Scene& scene) { expectSame(fullSearch(scene), runCpu(scene)); });
}

TEST(FragmentMatcher_EliminationSpecial, match)
{
    specialScenes([](const Scene& scene) { expectSame(fullSearch(scene), runCpu(scene)); });
}

TEST(FragmentMatcher_EliminationSpecial, tight)
{
    tightScenes([](const Scene& scene) { expectSame(fullSearch(scene), runCpu(scene)); });
}

TEST(FragmentMatcher_EliminationSpecial, fewPositions)
{
    fewScenes([](const Scene& scene) { expectSame(fullSearch(scene), runCpu(scene)); });
}

//! Four instances, each on a thread of its own. @param run runCpu() or runCuda().
template <class Run> void expectSameOnThreads(const Run& run)
{
    const Scene scenes[] = {tightBound(2, 0), placesInOneZone(),
                            fewCopies(CV_8UC3, makeParams(FM::SAD, 2), {Point(0, 0), Point(907, 731)}),
                            fewCopies(CV_8UC1, makeParams(FM::SAD, 5, FM::CROSS, 7), {Point(63, 15), Point(512, 431)})};
    Result results[4];
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] { results[i] = run(scenes[i]); });
    for (std::thread& thread : threads)
        thread.join();
    for (int i = 0; i < 4; ++i)
        expectSame(fullSearch(scenes[i]), results[i]);
}

TEST(FragmentMatcher_EliminationSpecial, threads)
{
    expectSameOnThreads([](const Scene& scene) { return runCpu(scene); });
}

using FragmentMatcher_CudaElimination = OnCudaWith<tuple<int, int>>;

TEST_P(FragmentMatcher_CudaElimination, natural)
{
    naturalScenes(get<0>(GetParam()), get<1>(GetParam()),
                  [](const Scene& scene) { expectSame(fullSearch(scene), runCuda(scene)); });
}

TEST_F(FragmentMatcher_CudaEliminationSpecial, match)
{
    specialScenes(
        [](const Scene& scene)
        {
            const Result expected = fullSearch(scene);
            expectSame(expected, runCuda(scene));
            expectSame(expected, runCudaFromDevice(scene));
        });
}

TEST_F(FragmentMatcher_CudaEliminationSpecial, tight)
{
    tightScenes([](const Scene& scene) { expectSame(fullSearch(scene), runCuda(scene)); });
}

TEST_F(FragmentMatcher_CudaEliminationSpecial, fewPositions)
{
    fewScenes([](const Scene& scene) { expectSame(fullSearch(scene), runCuda(scene)); });
}

TEST_F(FragmentMatcher_CudaEliminationSpecial, threads)
{
    expectSameOnThreads([](const Scene& scene) { return runCuda(scene); });
}

//! The device decides what is eliminated: a captured graph finds the peaks of images of which much, little or nothing
//! remains.
TEST_F(FragmentMatcher_CudaEliminationSpecial, replaysOnOtherFrames)
{
#ifdef HAVE_CUDA
    for (const int type : {CV_8UC1, CV_8UC3})
    {
        const FM::Params params = makeParams(FM::SAD, 3, FM::SQUARE, 0, FM::FULL, true);
        Scene scene = fewCopies(type, params, {Point(0, 0), Point(907, 731), Point(395, 418)});
        const Ptr<FM> matcher = FM::create(params);
        give(*matcher, scene);
        cuda::Stream stream;
        GpuMat frame(scene.frame);
        DeviceResult result;
        launch(*matcher, frame, noArray(), result, stream);
        stream.waitForCompletion();
        Graph graph(stream);
        launch(*matcher, frame, noArray(), result, stream);
        graph.end();
        RNG rng(0xA54FF53A + type);
        const Mat frames[] = {structuredImage(rng, scene.frame.size(), type, 2.), scene.frame.clone(),
                              randomImage(rng, scene.frame.size(), type, 3),
                              fewCopies(type, params, {Point(63, 15), Point(512, 431)}).frame};
        for (const Mat& other : frames)
        {
            scene.frame = other;
            frame.upload(other, stream);
            graph.launch();
            stream.waitForCompletion();
            expectSame(fullSearch(scene), result.download());
        }
    }
#endif
}

//! Small cases for runs under compute-sanitizer: --gtest_filter=*Sanitize*
TEST(FragmentMatcher_CudaEliminationSanitize, match)
{
    requireCuda();
    tightScenes([](const Scene& scene) { expectSame(runCpu(scene), runCuda(scene)); });
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4})
        for (const bool weighted : {false, true})
        {
            Scene scene = fewCopies(type, makeParams(FM::SAD, 2, FM::SQUARE, 0, FM::FULL, true),
                                    {Point(907, 731), Point(395, 418)});
            if (weighted)
                scene.weights = {gaussianWindow(scene.templates[0].size())};
            expectSame(runCpu(scene), runCuda(scene));
        }
}

const auto WEIGHTS_AND_TYPES =
    testing::Combine(testing::Values<int>(NO_WEIGHTS, SOME_WEIGHTS), testing::Values<int>(CV_8UC1, CV_8UC3, CV_8UC4));
INSTANTIATE_TEST_CASE_P(/**/, FragmentMatcher_Elimination, WEIGHTS_AND_TYPES);
INSTANTIATE_TEST_CASE_P(/**/, FragmentMatcher_CudaElimination, WEIGHTS_AND_TYPES);

}} // namespace opencv_test
