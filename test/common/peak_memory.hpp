// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The host memory that some work takes at most.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_PEAK_MEMORY_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_PEAK_MEMORY_HPP

#include <cstdlib>
#include <fstream>
#include <string>
#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#endif

namespace opencv_test {

#if defined(__linux__) && defined(__GLIBC__)

//! Reads a line of /proc/self/status, in bytes.
inline double statusOf(const std::string& name)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.compare(0, name.size(), name) == 0)
            return 1024. * std::atof(line.c_str() + name.size());
    return 0.;
}

//! Returns the peak of additional memory of `work`; 0 where the kernel does not report it.
template <typename Work> double peakOf(const Work& work)
{
    malloc_trim(0); // otherwise memory that was freed before could be reused
    std::ofstream reset("/proc/self/clear_refs");
    reset << "5" << std::flush; // resets the peak to the present value
    const double before = statusOf("VmRSS:");
    const bool known = reset.good() && statusOf("VmHWM:") < before + 4e6;
    work();
    return known ? statusOf("VmHWM:") - before : 0.;
}

#else

template <typename Work> double peakOf(const Work& work)
{
    work();
    return 0.;
}

#endif

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_COMMON_PEAK_MEMORY_HPP
