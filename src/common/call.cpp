// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The order of an instance's calls, on streams and in captures.
#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "workspace.hpp"

namespace cv { namespace cuda { namespace detail {

bool record(cudaEvent_t event, cudaStream_t stream) noexcept
{
    if (cudaEventRecord(event, stream) == cudaSuccess)
        return true;
    cudaGetLastError();
    ignore(cudaStreamSynchronize(stream));
    return false;
}

//! Makes `event` unless it has been made already.
static void make(cudaEvent_t& event)
{
    if (!event)
        cudaCheck(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
}

//! The device of a stream, where the runtime and the driver can tell it; else the current one.
static int deviceOf(cudaStream_t stream, int current)
{
#if CUDART_VERSION >= 12080
    int device = current;
    const bool own =
        stream && stream != cudaStreamLegacy && stream != cudaStreamPerThread; // other handles belong to any device
    if (own && cudaStreamGetDevice(stream, &device) == cudaSuccess)
        return device;
    if (own)
        cudaGetLastError();
#else
    (void)stream;
#endif
    return current;
}

Call::Call(Workspace& workspace, StreamHandle stream) : workspace_(workspace), stream_(stream)
{
    const int device = currentDevice();
    if (workspace.device_ >= 0 && device != workspace.device_)
        CV_Error_(Error::StsBadArg,
                  ("%s: the current CUDA device is %d, but this instance lives on device %d, that of its first "
                   "CUDA call",
                   workspace.owner_, device, workspace.device_));
    CaptureInfo info;
    cudaCheck(captureInfo(stream, info), "asking whether the stream is being captured");
    if (info.status == cudaStreamCaptureStatusInvalidated)
        CV_Error_(Error::GpuApiCallError, ("%s: the capture of this stream has failed already", workspace.owner_));
    if (info.status == cudaStreamCaptureStatusActive)
    {
        make(workspace.captured_);
        // During a capture none of its streams can be destroyed, so handles tell them apart.
        if (workspace.lastCapture_ == info.number && workspace.captureStream_ != stream)
            cudaCheck(cudaStreamWaitEvent(stream, workspace.captured_, 0), "waiting for the last call of the capture");
        capture_ = info.number;
        workspace.device_ = device;
        return;
    }
    if (!workspace.busy_ || stream != workspace.lastHandle_)
    {
        const int other = deviceOf(stream, device);
        if (other != device)
            CV_Error_(Error::StsBadArg, ("%s: stream is one of device %d, but the current CUDA device is %d",
                                         workspace.owner_, other, device));
    }
    // Handles of destroyed streams come again; numbers do not.
    cudaCheck(cudaStreamGetId(stream, &streamId_), "asking for the stream's number");
    make(workspace.done_);
    if (workspace.busy_ && workspace.lastStream_ != streamId_)
        cudaCheck(cudaStreamWaitEvent(stream, workspace.done_, 0), "waiting for the last call's stream");
    workspace.device_ = device;
}

Call::~Call()
{
    if (capturing())
    {
        // It fails where the capture has failed, and that can no more become a graph.
        const bool recorded = cudaEventRecord(workspace_.captured_, stream_) == cudaSuccess;
        if (!recorded)
            cudaGetLastError();
        workspace_.lastCapture_ = recorded ? capture_ : 0;
        workspace_.captureStream_ = stream_;
        return;
    }
    workspace_.busy_ = record(workspace_.done_, stream_);
    workspace_.lastStream_ = streamId_;
    workspace_.lastHandle_ = stream_;
}

void Call::refuseCapture(const char* what) const
{
    if (capturing())
        CV_Error_(Error::StsBadArg,
                  ("%s: %s waits for its result, so it cannot be captured into a graph", workspace_.owner(), what));
}

void Call::wait(const char* what) const { cudaCheck(cudaStreamSynchronize(stream_), what); }

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
