// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CUDA run-time failures become cv::Exception. Host code only; include after precomp.hpp or in .cu files.
#ifndef OPENCV_CUDATRACKING_COMMON_CUDA_CHECK_HPP
#define OPENCV_CUDATRACKING_COMMON_CUDA_CHECK_HPP

#include "opencv2/core.hpp"
#include <cuda_runtime_api.h>

namespace cv { namespace cuda { namespace detail {

//! @param what the stage that failed, with its shapes where they help.
inline void cudaCheck(cudaError_t error, const char* what)
{
    if (error != cudaSuccess)
        CV_Error_(Error::GpuApiCallError, ("%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

inline bool isCapturing(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaCheck(cudaStreamIsCapturing(stream, &status), "asking whether the stream is being captured");
    return status != cudaStreamCaptureStatusNone;
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_CUDA_CHECK_HPP
