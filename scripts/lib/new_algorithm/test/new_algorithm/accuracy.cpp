// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// NewAlgorithm against its oracle, on both backends.
#include "oracle.hpp"
#include "scenes.hpp"
#include "../common/common.hpp"

namespace opencv_test { namespace {

using cv::cuda::NewAlgorithm;

TEST(NewAlgorithm_Accuracy, oracle)
{
    const Ptr<NewAlgorithm> algorithm = NewAlgorithm::create();
    for (const Mat& image : new_algorithm::makeImages())
    {
        Mat result;
        algorithm->compute(image, result);
        EXPECT_TRUE(sameBits(new_algorithm::expectedOf(image), result)) << image.size();
    }
}

TEST(NewAlgorithm_Accuracy, oracleOnCuda)
{
    requireCuda();
    const Ptr<NewAlgorithm> algorithm = NewAlgorithm::create();
    for (const Mat& image : new_algorithm::makeImages())
    {
        cuda::GpuMat result;
        algorithm->compute(cuda::GpuMat(image), result);
        EXPECT_TRUE(sameBits(new_algorithm::expectedOf(image), Mat(result))) << image.size();
    }
}

TEST(NewAlgorithm_Negative, type)
{
    const Ptr<NewAlgorithm> algorithm = NewAlgorithm::create();
    Mat result;
    EXPECT_THROW(algorithm->compute(Mat(3, 4, CV_16UC1, Scalar(0)), result), cv::Exception);
    algorithm->compute(Mat(), result);
    EXPECT_TRUE(result.empty());
}

}} // namespace opencv_test
