// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plans of CUDA kernels, enumerated on the host. CUDATRACKING_HAS_PLANS: this program is linked with the code that
// makes them, as in static builds with CUDA (see CMakeLists.txt); no GPU is needed.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_PLANS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_PLANS_HPP

#include "../test_precomp.hpp"

namespace opencv_test { namespace plans {

//! Skips the running test, visibly, where plans cannot be reached.
inline void require()
{
#ifndef CUDATRACKING_HAS_PLANS
    throw SkipTestException("plans of kernels need a static build with CUDA");
#endif
}

//! Shared memory of a block, static memory included: of compute capability 7.5; 8.6, 8.9 and 12; 8.0 and 8.7; 9.0 and
//! 10.
const size_t SHARED_BYTES[] = {65536, 101376, 166912, 232448};
//! Devices that give a block no more than this have slow double precision; faked limits say so as well.
const size_t SLOW_DOUBLES_BYTES = 101376;
const int MULTIPROCESSORS[] = {14, 30, 46, 84, 108, 128, 132, 170};
const int64_t MOST_BLOCKS = 0x7fffffff, MOST_BLOCKS_DEEP = 65535; //!< of a grid: in x, in y and z

//! Counts plans, and reports the first few that are wrong.
class Enumeration
{
public:
    //! @param wrong what does not hold, null: nothing. @param describe gives the plan in words.
    template <typename Describe> void add(const char* wrong, const Describe& describe)
    {
        ++plans_;
        if (wrong && ++failures_ <= 5)
            ADD_FAILURE() << "does not hold: " << wrong << "\n" << describe();
    }
    bool failedOften() const { return failures_ >= 5; }
    int64 plans() const { return plans_; }

private:
    int64 plans_ = 0, failures_ = 0;
};

//! In functions that return what is wrong, in words.
#define CT_HOLDS(condition)                                                                                            \
    do                                                                                                                 \
    {                                                                                                                  \
        if (!(condition))                                                                                              \
            return #condition;                                                                                         \
    }                                                                                                                  \
    while (false)

}} // namespace opencv_test::plans

#endif // OPENCV_CUDATRACKING_TEST_COMMON_PLANS_HPP
