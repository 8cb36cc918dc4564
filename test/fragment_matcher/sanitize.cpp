// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Small cases that touch every kernel of FragmentMatcher, for runs under compute-sanitizer: --gtest_filter=*Sanitize*
#include "scenes_cuda.hpp"

namespace opencv_test { namespace {

using namespace scenes;

class FragmentMatcher_CudaSanitize : public NeedsCuda<OfCombination>
{
protected:
    //! Returns a random frame without fragments for kernels of SSD and ZNCC without weights; skips the test for all
    //! others.
    Scene sceneWithoutWeights(RNG& rng, Size size) const
    {
        if (metric == FM::SAD || weightKind != NO_WEIGHTS)
            throw SkipTestException("SAD and weights take other routes, which largeFragment covers");
        Scene scene;
        scene.params = makeParams(metric, 3, FM::SQUARE, 0, FM::FULL, true);
        scene.frame = randomImage(rng, size, type);
        return scene;
    }
};

TEST_P(FragmentMatcher_CudaSanitize, match)
{
    RNG rng = numbersOf(0x7E6D1C2Bu);
    const FM::Params list[] = {makeParams(metric, 2, FM::SQUARE, 0, FM::FULL, true),
                               makeParams(metric, 5, FM::CROSS, 2, FM::FULL, false),
                               makeParams(metric, 1, FM::SQUARE, 0, FM::THREE_STEP, true),
                               makeParams(metric, 3, FM::SQUARE, 4, FM::THREE_STEP, false)};
    for (const FM::Params& params : list)
    {
        SCOPED_TRACE(describe(params));
        Scene scene = randomScene(rng, params, type, weightKind, Size(67, 45), 18, 4);
        expectEnginesAgree(scene); // windows that fit one block of threads
        scene.areas.clear();
        expectEnginesAgree(scene); // the whole frame
        scene = randomScene(rng, params, type, weightKind, Size(210, 131), 20, 2);
        scene.areas = {Rect(Point(), scene.frame.size()), Rect(3, 1, 30, 33)};
        expectEnginesAgree(scene); // tiles, and both paths in one call
    }
}

//! One fragment larger than a tile, so that it is taken in parts; work enough for matrix instructions.
TEST_P(FragmentMatcher_CudaSanitize, largeFragment)
{
    RNG rng = numbersOf(0x243F6A88u);
    Scene scene;
    scene.params = makeParams(metric, 2, FM::SQUARE, 1);
    scene.frame = randomImage(rng, metric == FM::SAD ? Size(169, 163) : Size(240, 232), type);
    scene.templates.push_back(scene.frame(Rect(9, 4, 149, 151)).clone());
    scene.weights.push_back(weightsOf(rng, scene.templates[0].size(), weightKind, 1));
    expectEnginesAgree(scene);
}

//! Few large fragments in small windows, whose rows several blocks share.
TEST_P(FragmentMatcher_CudaSanitize, slices)
{
    RNG rng = numbersOf(0x299F31D0u);
    Scene scene;
    scene.params = makeParams(metric, 4, FM::SQUARE, 3, FM::FULL, true);
    scene.frame = randomImage(rng, Size(197, 163), type);
    for (const Size window : {Size(9, 11), Size(37, 19)})
    {
        const Size size(79, 67), area = size + window - Size(1, 1);
        scene.areas.push_back(Rect(Point(11, 7), area));
        scene.templates.push_back(scene.frame(Rect(Point(13, 12), size)).clone());
        scene.weights.push_back(weightsOf(rng, size, weightKind, 1));
        expectEnginesAgree(scene);
    }
}

//! Large fragments in a frame with room for few positions, which transforms match; weights and SAD take other routes.
TEST_P(FragmentMatcher_CudaSanitize, transforms)
{
    RNG rng = numbersOf(0x082EFA98u);
    Scene scene = sceneWithoutWeights(rng, Size(421, 439));
    for (const Rect& cut : {Rect(9, 4, 181, 271), Rect(200, 90, 179, 272)})
        scene.templates.push_back(scene.frame(cut).clone());
    expectEnginesAgree(scene);
    scene.areas = {Rect(3, 7, 418, 431), Rect(0, 0, 411, 432)};
    expectEnginesAgree(scene);
}

//! One fragment, work enough for matrix instructions.
TEST_P(FragmentMatcher_CudaSanitize, oneWindow)
{
    RNG rng = numbersOf(0xA4093822u);
    Scene scene = sceneWithoutWeights(rng, Size(301, 297));
    scene.templates.push_back(scene.frame(Rect(9, 4, 90, 91)).clone());
    expectEnginesAgree(scene);
    scene.areas = {Rect(5, 3, 293, 290)};
    expectEnginesAgree(scene);
}

//! Rows that no word is aligned with, in memory that ends with the last pixel.
TEST_P(FragmentMatcher_CudaSanitize, oddSteps)
{
    RNG rng = numbersOf(0x452821E6u);
    for (const Size size : {Size(45, 37), Size(150, 70)})
    {
        Scene scene = randomScene(rng, makeParams(metric, 2), type, weightKind, size, 14, 4);
        const OddStep frame(scene.frame);
        const Ptr<FM> matcher = matcherOf(scene);
        expectSame(runCpu(scene), runOnDevice(*matcher, frame.matrix, scene.areas));
        scene.areas.clear();
        expectSame(runCpu(scene), runOnDevice(*matcher, frame.matrix, noArray()));
    }
}

TEST_P(FragmentMatcher_CudaSanitize, mapsCutsAndAreas)
{
    RNG rng = numbersOf(0x13198A2Eu);
    const Scene scene = randomScene(rng, makeParams(metric), type, weightKind, Size(67, 45), 6, 4);
    const Ptr<FM> matcher = matcherOf(scene);
    const GpuMat frame = uploadRoi(scene.frame);
    for (const int depth : {CV_32F, CV_64F, CV_32S})
    {
        if ((metric == FM::ZNCC && depth != CV_32F) || (CV_MAT_DEPTH(type) == CV_16U && depth == CV_32S))
            continue;
        Mat truth, map;
        std::vector<int> offsets, same;
        matcher->scoreMap(0, scene.frame, Rect(), truth, depth);
        matcher->scoreMap(0, frame, Rect(), map, depth);
        EXPECT_TRUE(sameBits(truth, map));
        matcher->scoreMaps(scene.frame, scene.areas, truth, offsets, depth);
        matcher->scoreMaps(frame, scene.areas, map, same, depth);
        EXPECT_TRUE(sameBits(truth, map));
    }
    const std::vector<Rect> regions = {Rect(1, 1, 9, 7), Rect(30, 20, 15, 11)};
    const Ptr<FM> cpu = FM::create(scene.params), gpu = FM::create(scene.params);
    cpu->cutFragments(scene.frame, regions);
    gpu->cutFragments(frame, regions);
    Mat areas, truth;
    GpuMat locations, next;
    cpu->match(scene.frame, noArray(), truth);
    cpu->predictAreas(truth, 5, scene.frame.size(), areas);
    gpu->match(frame, noArray(), locations);
    gpu->predictAreas(locations, 5, scene.frame.size(), next);
    EXPECT_TRUE(sameBits(truth, Mat(locations)));
    EXPECT_TRUE(sameBits(areas, Mat(next)));
}

INSTANTIATE_TEST_CASE_P(/**/, FragmentMatcher_CudaSanitize, allCombinations());

}} // namespace opencv_test
