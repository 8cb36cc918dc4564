// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// OpenCV's own main for CUDA tests aborts where there is no driver. This one runs the CPU tests everywhere and lets the
// CUDA suites skip themselves (requireCuda()).
#include "common/faults.hpp"

namespace {

//! Says whose limits the CUDA suites run with. A program that cannot fake them must not pass as if it had.
void sayLimits()
{
    const opencv_test::faults::DeviceLimits limits = opencv_test::faults::fakedLimits();
    if (limits.sharedBytes == 0 && limits.multiprocessors == 0)
        return;
    if (!opencv_test::faults::possible(opencv_test::faults::CUDA))
    {
        std::cerr << "CUDATRACKING_FAKE_*: limits of other devices need a static build with CUDA" << std::endl;
        std::exit(2);
    }
    std::cout << "Limits as of another device: " << limits.sharedBytes << " bytes of shared memory a block, "
              << limits.multiprocessors << " multiprocessors (0: the true ones)" << std::endl;
}

void chooseDevice(int argc, char** argv)
{
    sayLimits();
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
