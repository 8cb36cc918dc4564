// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scenes of FragmentMatcher in device memory.
#ifndef OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_SCENES_CUDA_HPP
#define OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_SCENES_CUDA_HPP

#include "scenes.hpp"

namespace opencv_test { namespace scenes {

using cuda::GpuMat;

//! Outputs of match() in device memory.
struct DeviceResult
{
    GpuMat locations, scores, confidence, status, refined;

    void create(int count, int peaks)
    {
        locations.create(count, peaks, CV_32SC2);
        scores.create(count, peaks, CV_32FC1);
        confidence.create(count, 1, CV_32FC1);
        status.create(count, 1, CV_8UC1);
        refined.create(count, peaks, CV_32FC2);
    }

    Result download() const
    {
        Result result;
        locations.download(result.locations);
        scores.download(result.scores);
        confidence.download(result.confidence);
        status.download(result.status);
        refined.download(result.refined);
        return result;
    }
};

//! A copy whose rows follow each other at an odd number of values, in memory that ends with the last pixel.
struct OddStep
{
    GpuMat memory, matrix;

    explicit OddStep(const Mat& source)
    {
        const int unit = static_cast<int>(source.elemSize1());
        const int rowBytes = static_cast<int>(source.cols * source.elemSize()), step = rowBytes | unit;
        memory.create(1, unit + step * (source.rows - 1) + rowBytes, CV_8UC1);
        matrix = GpuMat(source.rows, source.cols, source.type(), memory.data + unit, step);
        matrix.upload(source);
    }
};

//! A scene's fragments from device memory.
inline void giveFromDevice(FM& matcher, const Scene& scene, cuda::Stream& stream = cuda::noStream())
{
    matcher.setFragments(uploadRois(scene.templates), uploadRois(scene.weights), stream);
}

inline Ptr<FM> matcherOnDevice(const Scene& scene)
{
    const Ptr<FM> matcher = FM::create(scene.params);
    giveFromDevice(*matcher, scene);
    return matcher;
}

inline GpuMat uploadAreas(const std::vector<Rect>& areas) { return GpuMat(columnOf(areas)); }

inline void launch(FM& matcher, const GpuMat& frame, InputArray areas, DeviceResult& result,
                   cuda::Stream& stream = cuda::noStream())
{
    matcher.match(frame, areas, result.locations, result.scores, result.confidence, result.status, result.refined,
                  stream);
}

inline Result runOnDevice(FM& matcher, const GpuMat& frame, InputArray areas, cuda::Stream& stream = cuda::noStream())
{
    DeviceResult result;
    launch(matcher, frame, areas, result, stream);
    stream.waitForCompletion();
    return result.download();
}

//! Fragments and areas from the host.
inline Result runCuda(const Scene& scene)
{
    const Ptr<FM> matcher = FM::create(scene.params);
    Scene without = scene;
    without.params.search = FM::FULL; // give() must not set predictions on the host
    give(*matcher, without);
    GpuMat predictions;
    if (scene.params.search == FM::THREE_STEP)
        predictions = uploadRoi(scene.predictions);
    if (!predictions.empty())
        matcher->setPredictions(predictions);
    const GpuMat frame = uploadRoi(scene.frame);
    return scene.areas.empty() ? runOnDevice(*matcher, frame, noArray()) : runOnDevice(*matcher, frame, scene.areas);
}

//! Fragments and areas from device memory.
inline Result runCudaFromDevice(const Scene& scene)
{
    const Ptr<FM> matcher = matcherOnDevice(scene);
    const GpuMat predictions = uploadRoi(scene.predictions);
    if (scene.params.search == FM::THREE_STEP)
        matcher->setPredictions(predictions);
    const GpuMat frame = uploadRoi(scene.frame), areas = uploadAreas(scene.areas);
    return scene.areas.empty() ? runOnDevice(*matcher, frame, noArray()) : runOnDevice(*matcher, frame, areas);
}

//! Checks that both ways to run a scene on the device give the CPU's results. @return false if anything in the test
//! has failed: one report is enough.
inline bool expectEnginesAgree(const Scene& scene)
{
    const Result truth = runCpu(scene);
    {
        SCOPED_TRACE("fragments and areas from the host");
        expectSame(truth, runCuda(scene));
    }
    SCOPED_TRACE("fragments and areas from device memory");
    expectSame(truth, runCudaFromDevice(scene));
    return !testing::Test::HasFailure();
}

}} // namespace opencv_test::scenes

#endif // OPENCV_CUDATRACKING_TEST_FRAGMENT_MATCHER_SCENES_CUDA_HPP
