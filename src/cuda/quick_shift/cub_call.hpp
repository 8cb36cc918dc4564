// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Calls into CUB, for .cu files.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_CUB_CALL_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_CUB_CALL_HPP

#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

/** Calls CUB by run() and throws if that fails. CUB asks for the last error after its launches, so an older error is
cleared before; it asks for properties of kernels before them, which a capture in global mode refuses. */
template <typename Run> void callCub(const char* name, const Run& run)
{
    const detail::OutsideOfCapture outside;
    detail::forgetOlderError();
    detail::cudaCheck(run(), name);
}

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_CUB_CALL_HPP
