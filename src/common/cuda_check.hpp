// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// CUDA run-time failures become cv::Exception. Host code only; include after precomp.hpp or in .cu files.
#ifndef OPENCV_CUDATRACKING_COMMON_CUDA_CHECK_HPP
#define OPENCV_CUDATRACKING_COMMON_CUDA_CHECK_HPP

#include "opencv2/core.hpp"
#include <cuda_runtime_api.h>

namespace cv { namespace cuda { namespace detail {

/** Throws when a call failed, and takes the error away that the failure left behind: whoever asks CUDA next for the
last error is not to find ours. @param what the stage that failed, with its shapes where they help. */
inline void cudaCheck(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return;
    cudaGetLastError();
    CV_Error_(Error::GpuApiCallError, ("%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

//! For destructors, which report nothing: an error there is the context's end, or that of the process. Errors of others
//! stay.
inline void ignore(cudaError_t error) noexcept
{
    if (error != cudaSuccess)
        cudaGetLastError();
}

/** Libraries such as CUB ask for the last error after their launches, and would take one that stood before for theirs:
call this first. (Launches of our own return their error.) */
inline void forgetOlderError() { cudaGetLastError(); }

inline int currentDevice()
{
    int device = 0;
    cudaCheck(cudaGetDevice(&device), "asking for the current device");
    return device;
}

inline bool isCapturing(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaCheck(cudaStreamIsCapturing(stream, &status), "asking whether the stream is being captured");
    return status != cudaStreamCaptureStatusNone;
}

/** While it lives, this thread may allocate, free and query although a stream is being captured: that does not belong
into the graph. Without it, a capture in the global mode on any thread makes such calls fail, and fails itself. */
class OutsideOfCapture
{
public:
    OutsideOfCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
    ~OutsideOfCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
    OutsideOfCapture(const OutsideOfCapture&) = delete;
    OutsideOfCapture& operator=(const OutsideOfCapture&) = delete;

private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_CUDA_CHECK_HPP
