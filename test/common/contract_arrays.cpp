// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Contract of all classes for inputs and outputs: kinds of arrays, shapes, where results may go.
#include "../fragment_matcher/scenes_cuda.hpp"
#include "graphs.hpp"
#include "faults.hpp"
#include "../quick_shift/scenes.hpp"

namespace opencv_test { namespace {

using namespace scenes;

Scene smallScene(int count, int peaks)
{
    Scene scene = randomScene(9400, makeParams(FM::SAD, peaks), CV_8UC1, NO_WEIGHTS, Size(83, 61), 20, count);
    for (Rect& area : scene.areas)
        area = Rect(3, 2, 70, 50);
    return scene;
}

TEST(Common_Inputs, dimensionsOfFragmentMatcher)
{
    const Scene scene = smallScene(3, 1);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = run(*matcher, scene);
    const Mat image = scene.templates[0];
    const std::vector<Mat> two = {image, cube()};
    std::vector<FragmentMatch> matches;
    Mat out;
    std::vector<int> offsets;
    expectRefused([&] { matcher->match(cube(), noArray(), out); }, {"frame", "3", "48", "64"});
    expectRefused([&] { matcher->match(scene.frame, cube(CV_32SC4), out); }, {"searchAreas", "48"});
    expectRefused([&] { matcher->find(cube(), noArray(), matches); }, {"frame", "48"});
    expectRefused([&] { matcher->scoreMap(0, cube(), Rect(), out); }, {"frame", "48"});
    expectRefused([&] { matcher->scoreMaps(cube(), noArray(), out, offsets); }, {"frame", "48"});
    expectRefused([&] { matcher->predictAreas(cube(CV_32SC2), 3, Size(50, 50), out); }, {"locations", "48"});
    expectRefused([&] { matcher->setPredictions(cube(CV_32SC2)); }, {"locations", "48"});
    expectRefused([&] { matcher->setFragments(two); }, {"templates", "48"});
    expectRefused([&] { matcher->setFragments(std::vector<Mat>(2, image), std::vector<Mat>(2, cube())); },
                  {"weights", "48"});
    expectRefused([&] { matcher->cutFragments(cube(), {Rect(0, 0, 3, 3)}); }, {"frame", "48"});
    expectRefused([&] { matcher->addFragment(cube()); }, {"48"});
    expectRefused([&] { matcher->addFragment(image, cube()); }, {"weights", "48"});
    expectRefused([&] { matcher->updateFragment(0, cube()); }, {"48"});
    expectRefused([&] { matcher->convert(cube(CV_32SC2), noArray(), noArray(), noArray(), noArray(), matches); },
                  {"locations", "48"});
    expectRefused([&] { FM::warpFragment(cube(), noArray(), 10, 1, out, noArray()); }, {"48"});
    // A list where one array is wanted.
    expectRefused([&] { matcher->match(std::vector<Mat>(2, scene.frame), noArray(), out); }, {"frame", "list"});
    expectRefused([&] { matcher->match(std::vector<cuda::GpuMat>(2), noArray(), out); }, {"frame", "list"});
    expectRefused([&] { matcher->addFragment(std::vector<UMat>(1)); }, {"templ", "list"});
    expectSame(truth, run(*matcher, scene));
}

TEST(Common_Inputs, dimensionsOfQuickShift)
{
    const Mat image = randomImage(9401, Size(64, 48), CV_8UC3);
    const Ptr<QuickShift> q = shiftOf(2., 10., 0.3, image);
    const Results truth = resultsOf(*q);
    Mat out;
    const int batch[] = {1, 48, 64, 3};
    const Mat four(4, batch, CV_8UC1, Scalar::all(1));
    expectRefused([&] { q->compute(cube()); }, {"image", "3", "48", "64"});
    expectRefused([&] { q->compute(image, cube()); }, {"mask", "48"});
    expectRefused([&] { q->computeTiled(cube(), Size(30, 30)); }, {"image", "48"});
    expectRefused([&] { q->computeTiled(four, Size(30, 30)); }, {"image", "48"});
    expectRefused([&] { q->computeTiled(image, Size(30, 30), false, cube()); }, {"mask", "48"});
    expectRefused([&] { q->computeNoisy(cube(), Mat::zeros(image.size(), CV_64F)); }, {"image", "48"});
    expectRefused([&] { q->computeNoisy(image, cube()); }, {"noise", "48"});
    expectRefused([&] { q->computeBatch(std::vector<Mat>{image, four}, noArray()); }, {"48"});
    expectRefused([&] { q->getMeanColor(cube(), out); }, {"image", "48"});
    expectRefused([&] { q->getStatistics(cube(), out); }, {"image", "48"});
    expectRefused([&] { q->compute(std::vector<Mat>(2, image)); }, {"image", "list"});
    expectRefused([&] { q->compute(std::vector<cuda::GpuMat>(2)); }, {"image", "list"});
    expectRefused([&] { q->compute(image, std::vector<Mat>(2, Mat(image.size(), CV_8UC1))); }, {"mask", "list"});
    expectSame(truth, resultsOf(*q));
}

//! GpuMat::empty() is false for an array of no rows that has an address, as torch gives it.
TEST(Common_Inputs, deviceArraysWithoutElements)
{
    uchar pixel = 0;
    const cuda::GpuMat noRows(0, 160, CV_8UC1, &pixel, 160), noColumns(120, 0, CV_8UC1, &pixel, 160);
    const Scene scene = smallScene(3, 1);
    const Ptr<FM> matcher = matcherOf(scene);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    for (const cuda::GpuMat& none : {noRows, noColumns})
    {
        ASSERT_FALSE(none.empty());
        q->compute(scene.frame);
        ASSERT_NE(0, q->getNumberOfSuperpixels());
        q->compute(none);
        EXPECT_EQ(0, q->getNumberOfSuperpixels());
        q->compute(scene.frame, none);
        EXPECT_NE(0, q->getNumberOfSuperpixels());
        Mat locations(3, 1, CV_32SC2);
        matcher->match(none, noArray(), locations);
        EXPECT_TRUE(locations.empty());
        matcher->addFragment(scene.templates[0], none);
    }
}

//! Arrays without reference count are copied when they are kept: here the vectors are gone, or changed, when they are
//! used.
TEST(Common_Inputs, predictionsInVectors)
{
    for (const int count : {1, 3})
    {
        Scene scene = smallScene(count, 2);
        scene.params.search = FM::THREE_STEP;
        const Result truth = expected(scene);
        const Ptr<FM> matcher = matcherOf(scene);
        {
            std::vector<Point> points(scene.predictions.begin<Point>(), scene.predictions.end<Point>());
            matcher->setPredictions(points);
            std::fill(points.begin(), points.end(), Point(-1000, -1000));
        }
        expectSame(truth, run(*matcher, scene));
        matcher->setPredictions(scene.predictions + Scalar::all(0)); // an expression
        expectSame(truth, run(*matcher, scene));
        matcher->setPredictions(scene.predictions.reshape(1, count));
        expectSame(truth, run(*matcher, scene));
    }
}

TEST(Common_Outputs, vectorsOfFragmentMatcher)
{
    for (const int count : {1, 3, 200})
    {
        const Scene scene = smallScene(count, 1);
        const Ptr<FM> matcher = matcherOf(scene);
        const Result truth = run(*matcher, scene);
        std::vector<Point> locations;
        std::vector<float> scores, confidence(7, 777.f);
        std::vector<uchar> status;
        std::vector<Point2f> refined;
        matcher->match(scene.frame, scene.areas, locations, scores, confidence, status, refined);
        expectSame(truth,
                   {columnOf(locations), columnOf(scores), columnOf(confidence), columnOf(status), columnOf(refined)});
        std::vector<Rect> areas;
        Mat expectedAreas;
        matcher->predictAreas(truth.locations, 5, scene.frame.size(), expectedAreas);
        matcher->predictAreas(locations, 5, scene.frame.size(), areas);
        EXPECT_TRUE(sameBits(expectedAreas, columnOf(areas)));
        std::vector<FragmentMatch> fromMats, fromVectors;
        matcher->convert(truth.locations, truth.scores, truth.confidence, truth.status, truth.refined, fromMats);
        matcher->convert(locations, scores, confidence, status, refined, fromVectors);
        ASSERT_EQ(static_cast<size_t>(count), fromMats.size());
        expectSame(fromMats, fromVectors);
    }
}

//! Outputs that cannot hold the result are refused by name, before anything is done.
TEST(Common_Outputs, refused)
{
    const Scene scene = smallScene(3, 2);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = run(*matcher, scene);
    std::vector<Point> tooNarrow;
    std::vector<int> ints;
    Mat_<int> fixed;
    cuda::GpuMat device;
    expectRefused([&] { matcher->match(scene.frame, scene.areas, tooNarrow); }, {"locations"});
    expectRefused([&] { matcher->match(scene.frame, scene.areas, noArray(), noArray(), ints); }, {"confidence"});
    expectRefused([&] { matcher->match(scene.frame, scene.areas, noArray(), fixed); }, {"scores"});
    expectRefused([&] { matcher->match(scene.frame, scene.areas, device); }, {"locations"});
    expectRefused([&] { matcher->match(scene.frame, scene.areas, noArray(), noArray(), noArray(), device); },
                  {"status"});
    expectRefused([&] { matcher->scoreMap(0, scene.frame, Rect(), device); }, {"map"});
    expectRefused([&] { matcher->predictAreas(truth.locations, 3, Size(50, 50), device); }, {"areas"});
    expectSame(truth, run(*matcher, scene));
}

//! A call that is refused for one of its outputs leaves the others as they were.
TEST(Common_Outputs, untouchedByRefusedCalls)
{
    const Scene scene = smallScene(3, 2);
    const Ptr<FM> matcher = matcherOf(scene);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    const Mat old(5, 7, CV_8UC2, Scalar(3, 4));
    Mat out = old.clone(), wrongSize(2, 9, CV_8UC1);
    const uchar* const address = out.data;
    Mat_<uchar> bytes;                                            // of no result but a status
    const _OutputArray fixed(static_cast<const Mat&>(wrongSize)); // cannot be resized
    const auto expectUntouched = [&](const std::function<void()>& call, const char* name)
    {
        SCOPED_TRACE(name);
        EXPECT_THROW(call(), cv::Exception);
        EXPECT_EQ(address, out.data);
        EXPECT_TRUE(sameBits(old, out));
    };
    const auto everythingOfQuickShift = [&]
    {
        expectUntouched([&] { q->getStatistics(scene.frame, out, noArray(), noArray(), fixed); }, "getStatistics");
        expectUntouched([&] { q->getMergeHeights(out, fixed); }, "getMergeHeights");
    };
    everythingOfQuickShift(); // without results, the outputs would become empty
    q->compute(scene.frame);
    everythingOfQuickShift();
    expectUntouched([&] { matcher->match(Mat(), noArray(), out, fixed); }, "match of no image");
    expectUntouched([&] { matcher->match(scene.frame, scene.areas, out, bytes); }, "match, scores");
    expectUntouched([&] { matcher->match(scene.frame, scene.areas, out, noArray(), noArray(), noArray(), fixed); },
                    "match, refined");
    expectUntouched([&] { FM::warpFragment(scene.templates[0], noArray(), 10, 1, out, fixed); }, "warpFragment");
}

//! Results on the host do not go into a GpuMat: not silently, and not empty.
TEST(Common_Outputs, hostResultsOfQuickShift)
{
    const Mat image = randomImage(9402, Size(64, 48), CV_8UC3);
    const Ptr<QuickShift> q = shiftOf(2., 10., 0.3, image);
    const Results truth = resultsOf(*q);
    cuda::GpuMat device;
    std::vector<int> ints;
    expectRefused([&] { q->getLabels(device); }, {"labels"});
    expectRefused([&] { q->getDensity(device); }, {"density"});
    expectRefused([&] { q->getParents(device); }, {"parents"});
    expectRefused([&] { q->getDistances(device); }, {"distances"});
    expectRefused([&] { q->segment(3., device); }, {"labels"});
    expectRefused([&] { q->getMergeHeights(device, noArray()); }, {"heights"});
    expectRefused([&] { q->getLabelContourMask(device); }, {"mask"});
    expectRefused([&] { q->getMeanColor(image, device); }, {"dst"});
    expectRefused([&] { q->getStatistics(image, device); }, {"areas"});
    expectRefused([&] { q->getLabels(ints); }, {"labels"});
    expectSame(truth, resultsOf(*q));
}

TEST(Common_Outputs, vectorsOfQuickShift)
{
    const Mat image = randomImage(9403, Size(64, 48), CV_8UC3);
    const Ptr<QuickShift> q = shiftOf(2., 10., 0.3, image);
    Mat areas, centroids, boxes, heights, counts;
    q->getStatistics(image, areas, noArray(), centroids, boxes);
    q->getMergeHeights(heights, counts);
    std::vector<int> areaList, countList, alone;
    std::vector<Point2f> centroidList;
    std::vector<Rect> boxList;
    std::vector<float> heightList;
    q->getStatistics(image, areaList, noArray(), centroidList, boxList);
    q->getMergeHeights(heightList, countList);
    q->getMergeHeights(noArray(), alone);
    EXPECT_TRUE(sameBits(areas, columnOf(areaList)));
    EXPECT_TRUE(sameBits(centroids, columnOf(centroidList)));
    EXPECT_TRUE(sameBits(boxes, columnOf(boxList)));
    EXPECT_TRUE(sameBits(heights, columnOf(heightList)));
    EXPECT_TRUE(sameBits(counts, columnOf(countList)));
    EXPECT_EQ(countList, alone) << "without heights";
}

//! Results of tiles are on the host, whichever backend made them.
TEST(Common_Outputs, tilesOnCuda)
{
    requireCuda();
    const Mat image = randomImage(9404, Size(64, 48), CV_8UC3);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    q->computeTiled(image, Size(30, 20), true);
    cuda::GpuMat device;
    Mat host, truth;
    expectRefused([&] { q->getLabels(device); }, {"labels"});
    q->getLabels(host);
    q->compute(image);
    q->getLabels(truth);
    EXPECT_TRUE(sameBits(truth, host));
}

//! Results on the way to the host go through memory that the instance keeps.
TEST(Common_Outputs, downloadsAllocateNothingOnCuda)
{
    requireCuda();
    faults::require(faults::CUDA);
    const Scene scene = smallScene(5, 1);
    const Ptr<FM> matcher = matcherOf(scene);
    const Mat image = randomImage(9405, Size(64, 48), CV_8UC3);
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    const cuda::GpuMat frame(scene.frame), input(image);
    Mat m[5], map, maps, areas, labels, density, parents, distances, contours, cut, heights, counts, mean, s[4];
    std::vector<int> offsets;
    std::vector<float> confidence;
    std::vector<FragmentMatch> matches;
    const auto everything = [&]
    {
        matcher->match(frame, scene.areas, m[0], m[1], m[2], m[3], m[4]);
        matcher->match(frame, scene.areas, noArray(), noArray(), confidence);
        matcher->find(frame, scene.areas, matches);
        matcher->scoreMap(0, frame, Rect(), map);
        matcher->scoreMaps(frame, scene.areas, maps, offsets);
        q->compute(input);
        q->getLabels(labels);
        q->getDensity(density);
        q->getParents(parents);
        q->getDistances(distances);
        q->getLabelContourMask(contours);
        q->segment(4., cut);
        q->getMergeHeights(heights, counts);
        q->getMeanColor(input, mean);
        q->getStatistics(input, s[0], s[1], s[2], s[3]);
    };
    everything(), everything();
    const int64 before = faults::allocations();
    const size_t matcherBytes = matcher->workspaceBytes(), shiftBytes = q->workspaceBytes();
    everything(), everything();
    EXPECT_EQ(before, faults::allocations()) << "calls of cudaMalloc and the like in the steady state";
    EXPECT_EQ(matcherBytes, matcher->workspaceBytes());
    EXPECT_EQ(shiftBytes, q->workspaceBytes());
    expectSame(run(*matcher, scene), {m[0], m[1], m[2], m[3], m[4]});
}

//! Pinned memory is written in stream order and without a wait, so it can be captured.
TEST(Common_Outputs, pinnedMemoryOnCuda)
{
    requireCuda();
#ifdef HAVE_CUDA
    const Scene scene = smallScene(5, 2);
    const Ptr<FM> matcher = matcherOf(scene);
    const Result truth = run(*matcher, scene);
    const cuda::GpuMat frame(scene.frame), areas = uploadAreas(scene.areas);
    cuda::Stream stream(static_cast<size_t>(1)); // does not wait for the null stream
    cuda::HostMem locations, scores;
    const Ptr<QuickShift> q = QuickShift::create(2., 10., 0.3);
    cuda::HostMem labels;
    const auto everything = [&]
    {
        matcher->match(frame, areas, locations, scores, noArray(), noArray(), noArray(), stream);
        q->compute(frame, noArray(), stream);
        q->getLabels(labels, stream);
    };
    require(cudaDeviceSynchronize()); // the stream does not wait for uploads on the null stream
    everything();
    stream.waitForCompletion();
    Mat expectedLabels;
    q->getLabels(expectedLabels);
    const auto clear = [&]
    {
        for (cuda::HostMem* memory : {&locations, &scores, &labels})
            memory->createMatHeader().setTo(0);
    };
    const auto check = [&]
    {
        stream.waitForCompletion();
        EXPECT_TRUE(sameBits(truth.locations, locations.createMatHeader()));
        EXPECT_TRUE(sameBits(truth.scores, scores.createMatHeader()));
        EXPECT_TRUE(sameBits(expectedLabels, labels.createMatHeader()));
    };
    check();
    clear();
    {
        Gate gate(stream);
        everything();
        EXPECT_FALSE(gate.gaveUp()) << "a call waited";
        gate.open();
        check();
    }
    clear();
    Graph graph(stream);
    everything();
    graph.end();
    graph.launch();
    check();
#endif
}

}} // namespace opencv_test
