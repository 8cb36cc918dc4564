// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Shared memory that plans may give to blocks. Host code without CUDA's headers, so that plans can be enumerated
// anywhere.
#ifndef OPENCV_CUDATRACKING_COMMON_SHARED_LIMIT_HPP
#define OPENCV_CUDATRACKING_COMMON_SHARED_LIMIT_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace detail {

//! Shared memory of a block, in bytes, static memory included, on every supported device: compute capability 7.5 has
//! the least.
const size_t LEAST_SHARED_BYTES = 64 * 1024;

/** Shared memory that a block of a device can have, dynamic and static memory together. There is no way to ask for the
whole of it: a plan that forgot its kernel's static memory would ask for more than there is, and only on devices where
it comes close. */
class SharedLimit
{
public:
    //! @param bytesOfBlock what the device gives a block, static memory included: sharedBytesOfBlock().
    explicit SharedLimit(size_t bytesOfBlock) : bytes_(bytesOfBlock) {}

    //! Bytes left for dynamic memory of a kernel that has so many bytes of static memory.
    size_t dynamicBytes(size_t staticBytes) const { return bytes_ > staticBytes ? bytes_ - staticBytes : 0; }
    //! Bytes left for each of `blocks` blocks of one multiprocessor. @param reserved bytes that the system takes per
    //! block
    size_t dynamicBytesOfEach(int blocks, size_t staticBytes, size_t reserved) const
    {
        const size_t each = (bytes_ + reserved) / static_cast<size_t>(blocks), besides = staticBytes + reserved;
        return each > besides ? each - besides : 0;
    }

private:
    size_t bytes_;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_SHARED_LIMIT_HPP
