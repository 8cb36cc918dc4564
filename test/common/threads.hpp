// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Threads that begin on the device of the thread that starts them, and whose exceptions are failures of the test.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_THREADS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_THREADS_HPP

#include "common.hpp"
#include <thread>

namespace opencv_test {

//! The device that the tests run on; -1: none.
inline int deviceInUse() { return cuda::getCudaEnabledDeviceCount() > 0 ? cuda::getDevice() : -1; }

/** body(i), i = 0 .. count - 1, all at once. It returns what is wrong, or nothing. A new thread is on device 0 whatever
the others are on: it is set to the caller's. */
template <typename Body> void onThreads(int count, const Body& body)
{
    const int device = deviceInUse();
    std::vector<std::string> wrong(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back(
            [&, i]
            {
                try
                {
                    if (device >= 0)
                        cuda::setDevice(device);
                    wrong[i] = body(i);
                }
                catch (const std::exception& e)
                {
                    wrong[i] = e.what();
                }
            });
    for (std::thread& thread : threads)
        thread.join();
    for (int i = 0; i < count; ++i)
        EXPECT_EQ("", wrong[i]) << "thread " << i;
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_THREADS_HPP
