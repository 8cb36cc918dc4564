// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Limits of the device for kernels: shared memory, multiprocessors.
#ifndef OPENCV_CUDATRACKING_COMMON_SHARED_MEMORY_HPP
#define OPENCV_CUDATRACKING_COMMON_SHARED_MEMORY_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace detail {

//! Returns the bytes of shared memory that a block of the current device can have at most, static memory included.
size_t sharedBytesOfBlock();

//! Returns the number of multiprocessors of the current device. Costs one query of the driver; may be asked during a
//! capture.
int multiprocessors();

/** Lets a kernel have all the dynamic shared memory that the current device can give it. Attributes of a kernel belong
to the process: were they set to what one launch needs, a launch of another thread could find less than it needs. So
they are set once for each kernel and device, and always to the most. @param name of the kernel, for messages.
@throws cv::Exception when `bytes`, which a launch asks for, are more than that. */
void allowSharedMemory(const void* kernel, size_t bytes, const char* name);

/** Has multiprocessors set aside as much shared memory as they can while they run this kernel: otherwise blocks of the
next kernel that need more could not begin beside its blocks. @param name as in allowSharedMemory(). */
void preferSharedMemory(const void* kernel, const char* name);

/** True when a kernel may begin while the one before it still runs: on 9.0 and newer, when it was compiled for that,
and with a driver of CUDA 12.3 or newer, as older ones refuse such launches in captures. @param name as in
allowSharedMemory(). */
bool canBeginEarly(const void* kernel, const char* name);

//! Forgets what is known of kernels: the runtime is asked, and attributes are set, once more.
void forgetKernels();

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_SHARED_MEMORY_HPP
