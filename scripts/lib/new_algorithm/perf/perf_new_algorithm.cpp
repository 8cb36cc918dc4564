// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// NewAlgorithm on the CPU and on CUDA. Lines with [ PERFROW ] go to scripts/perf_report.py.
#include "perf_precomp.hpp"
#include "images.hpp"

namespace opencv_test { namespace {

using cuda::NewAlgorithm;

PERF_TEST(NewAlgorithm_Cpu, compute)
{
    Mat image, result;
    cvtColor(collage(Size(1920, 1080)), image, COLOR_BGR2GRAY);
    const Ptr<NewAlgorithm> algorithm = NewAlgorithm::create();
    const auto work = [&] { algorithm->compute(image, result); };
    PerfRow("1080p", "cpu", "compute", medianUs(work));
    SANITY_CHECK_NOTHING();
}

PERF_TEST(NewAlgorithm_Cuda, compute)
{
    requireDevice();
    Mat gray;
    cvtColor(collage(Size(1920, 1080)), gray, COLOR_BGR2GRAY);
    const cuda::GpuMat image(gray);
    cuda::GpuMat result;
    cuda::Stream stream;
    const Ptr<NewAlgorithm> algorithm = NewAlgorithm::create();
    const auto work = [&]
    {
        algorithm->compute(image, result, stream);
        stream.waitForCompletion();
    };
    PerfRow("1080p", "cuda", "compute", medianUs(work));
    SANITY_CHECK_NOTHING();
}

}} // namespace opencv_test
