// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Lets one call into the CUDA runtime, or one allocation, of the calling thread fail.
#ifndef OPENCV_CUDATRACKING_TEST_FAULTS_HPP
#define OPENCV_CUDATRACKING_TEST_FAULTS_HPP

#include "test_precomp.hpp"

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
    //! What failed; null: fewer calls were made.
    const char* struck() const { return struck_; }

private:
    const Kind kind_;
    const char* struck_ = nullptr;
};

//! What has been made and not yet been given back, by all threads.
struct Live
{
    int64 device, pinned, events;

    bool operator==(const Live& other) const
    {
        return device == other.device && pinned == other.pinned && events == other.events;
    }
};
Live live();
//! How often device or pinned memory has been asked for, by all threads.
int64 allocations();

inline std::ostream& operator<<(std::ostream& out, const Live& live)
{
    return out << live.device << " blocks of device memory, " << live.pinned << " of pinned memory, " << live.events
               << " events";
}

}} // namespace opencv_test::faults

#endif // OPENCV_CUDATRACKING_TEST_FAULTS_HPP
