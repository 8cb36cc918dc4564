// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// OpenCV's own main for CUDA performance tests aborts where there is no driver. Here the engine is a parameter of each
// test, and what this machine cannot run is skipped.
#include "perf_precomp.hpp"

namespace {

void chooseDevice(int argc, char** argv)
{
    if (cv::cuda::getCudaEnabledDeviceCount() <= 0)
    {
        std::cout << "CUDA cases will be skipped: no CUDA device, no driver, or OpenCV is built without CUDA"
                  << std::endl;
        return;
    }
    const cv::CommandLineParser options(argc, argv, "{ perf_cuda_device | 0 | CUDA device on which the tests run }");
    const int device = options.get<int>("perf_cuda_device");
    cv::cuda::setDevice(device);
    std::cout << "CUDA cases run on device " << device << ": " << cv::cuda::DeviceInfo(device).name() << std::endl;
}

} // namespace

CV_PERF_TEST_MAIN(cudatracking, chooseDevice(argc, argv))
