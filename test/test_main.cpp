// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// OpenCV's own main for CUDA tests aborts where there is no driver. This one runs the CPU tests everywhere and lets the
// CUDA suites skip themselves (requireCuda()).
#include "test_precomp.hpp"

namespace {

void chooseDevice(int argc, char** argv)
{
    const int count = cv::cuda::getCudaEnabledDeviceCount(); // 0: built without CUDA; -1: no driver
    if (count <= 0)
    {
        std::cout << "CUDA suites will be skipped: "
                  << (count < 0 ? "no usable CUDA driver" : "no CUDA device, or OpenCV is built without CUDA")
                  << std::endl;
        return;
    }
    const cv::CommandLineParser options(argc, argv, "{ cuda_device | 0 | CUDA device on which the tests run }");
    const int device = options.get<int>("cuda_device");
    cv::cuda::setDevice(device);
    std::cout << "CUDA suites run on device " << device << ": " << cv::cuda::DeviceInfo(device).name() << std::endl;
}

} // namespace

CV_TEST_MAIN("cv", chooseDevice(argc, argv))
