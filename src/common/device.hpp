// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Facts about the current device and about kernels on it. Host code without CUDA's headers, so that plans can be
// enumerated anywhere.
#ifndef OPENCV_CUDATRACKING_COMMON_DEVICE_HPP
#define OPENCV_CUDATRACKING_COMMON_DEVICE_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace detail {

// --- shared memory that plans may give to blocks ---------------------------------------------------------------------

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

// --- the current device. Each costs one query of the driver, and may be asked during a capture -----------------------

//! Returns the bytes of shared memory that a block can have at most, static memory included.
size_t sharedBytesOfBlock();

//! Returns the number of multiprocessors.
int multiprocessors();

//! Returns true if double precision has at least a quarter of the throughput of single precision.
bool fastDoubles();

// --- kernels on the current device. `name` is the kernel's, for messages ---------------------------------------------

/** Lets a kernel have all the dynamic shared memory that the device can give it. Attributes of a kernel belong to the
process: were they set to what one launch needs, a launch of another thread could find less than it needs. So they are
set once for each kernel and device, and always to the most.
@throws cv::Exception when `bytes`, which a launch asks for, are more than that. */
void allowSharedMemory(const void* kernel, size_t bytes, const char* name);

/** True when a kernel may begin while the one before it still runs: on 9.0 and newer, when it was compiled for that,
and with a driver of CUDA 12.3 or newer, as older ones refuse such launches in captures. */
bool canBeginEarly(const void* kernel, const char* name);

//! Forgets what is known of kernels: the runtime is asked, and attributes are set, once more.
void forgetKernels();

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_DEVICE_HPP
