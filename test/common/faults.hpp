// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Lets one call into the CUDA runtime, or one allocation, of the calling thread fail.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_FAULTS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_FAULTS_HPP

#include "../test_precomp.hpp"

namespace opencv_test { namespace faults {

enum Kind
{
    CUDA,  //!< calls into the CUDA runtime return an error and do nothing
    MEMORY //!< cv::fastMalloc and operator new throw
};

//! Whether this program was linked so that such calls go through the test program.
bool possible(Kind kind);

//! Skips the running test, visibly, where it was not.
inline void require(Kind kind)
{
    if (!possible(kind))
        throw SkipTestException("faults need a static build and a linker that knows --wrap");
}

//! While it lives, the n-th call of this thread fails (from 1), and no other.
class Armed
{
public:
    Armed(Kind kind, int n);
    ~Armed();
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;

    void disarm();
    //! Name of the call that failed; null: fewer calls were made.
    const char* struck() const { return struck_; }

private:
    const Kind kind_;
    const char* struck_ = nullptr;
};

//! While it lives, counts what cv::fastMalloc and operator new give to all threads. One at a time.
class HostMemory
{
public:
    HostMemory();
    ~HostMemory();
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    size_t bytes() const; //!< by cv::fastMalloc since it was made, and not yet given back
    size_t most() const;  //!< largest value of bytes() so far
    int64 heap() const;   //!< by operator new since it was made, less all that was given back; 0 without glibc
};

//! Number of objects made and not yet given back, by all threads.
struct Live
{
    int64 device, pinned, events, streams;

    bool operator==(const Live& other) const
    {
        return device == other.device && pinned == other.pinned && events == other.events && streams == other.streams;
    }
};
Live live();
//! Lets the module forget what it knows of kernels, so that the next launch of each asks CUDA again, and can fail in
//! that.
void forgetKernels();
//! How often device or pinned memory has been asked for, by all threads.
int64 allocations();

/** Limits of another device, in the place of the true ones: attributes say them, and what asks for more than there
would be is refused. A block can only be given less than it has. From the beginning on they are
CUDATRACKING_FAKE_SHARED_BYTES, of a block with static memory, and CUDATRACKING_FAKE_MULTIPROCESSORS of the environment.
0: the true one. */
struct DeviceLimits
{
    int sharedBytes, multiprocessors;
};
DeviceLimits fakedLimits();
//! So many launches and attributes of kernels have been refused that asked for more than the faked limit.
int64 refusedByLimits();

//! While it lives, limits are faked for all threads.
class FakedLimits
{
public:
    explicit FakedLimits(DeviceLimits limits);
    ~FakedLimits();
    FakedLimits(const FakedLimits&) = delete;
    FakedLimits& operator=(const FakedLimits&) = delete;

private:
    const DeviceLimits before_;
};

//! A kernel that has been launched since the program began, or since clearLaunched().
struct Launched
{
    const void* kernel;
    size_t staticBytes, mostDynamicBytes; //!< of shared memory; 0 both: without dynamic memory, and not asked
};
std::vector<Launched> launched();
void clearLaunched();

inline std::ostream& operator<<(std::ostream& out, const Live& live)
{
    return out << live.device << " blocks of device memory, " << live.pinned << " of pinned memory, " << live.events
               << " events, " << live.streams << " streams";
}

}} // namespace opencv_test::faults

#endif // OPENCV_CUDATRACKING_TEST_COMMON_FAULTS_HPP
