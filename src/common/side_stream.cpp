// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "side_stream.hpp"

namespace cv { namespace cuda { namespace detail {

SideStream::~SideStream()
{
    const OutsideOfCapture outside;
    // Work that is still on a stream goes on.
    for (const std::unique_ptr<Lane>& lane : lanes_)
    {
        if (lane->stream)
            ignore(cudaStreamDestroy(lane->stream));
        if (lane->forked)
            ignore(cudaEventDestroy(lane->forked));
        if (lane->joined)
            ignore(cudaEventDestroy(lane->joined));
    }
}

SideStream::Lane& SideStream::take(unsigned long long capture)
{
    const OutsideOfCapture outside;
    const int device = currentDevice();
    for (const std::unique_ptr<Lane>& lane : lanes_)
        if (lane->joined && lane->device == device &&
            ((capture && lane->capture == capture) || !isCapturing(lane->stream)))
            return *lane;
    if (lanes_.empty() || lanes_.back()->joined || lanes_.back()->device != device)
    {
        lanes_.push_back(std::make_unique<Lane>());
        lanes_.back()->device = device;
    }
    Lane& lane = *lanes_.back(); // if something fails here, the next call goes on with it
    if (!lane.stream)
        cudaCheck(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "creating a stream");
    if (!lane.forked)
        cudaCheck(cudaEventCreateWithFlags(&lane.forked, cudaEventDisableTiming), "creating an event");
    if (!lane.joined)
        cudaCheck(cudaEventCreateWithFlags(&lane.joined, cudaEventDisableTiming), "creating an event");
    return lane;
}

Fork::Fork(SideStream& side, const Call& call) : lane_(side.take(call.capture())), call_(call)
{
    lane_.capture = call.capture();
    cudaCheck(cudaEventRecord(lane_.forked, call_.stream()), "forking a stream");
    cudaCheck(cudaStreamWaitEvent(lane_.stream, lane_.forked, 0), "forking a stream");
    open_ = true;
}

void Fork::join()
{
    letFollow(call_.stream());
    open_ = false;
}
void Fork::join(Fork& other)
{
    letFollow(other.lane_.stream);
    open_ = false;
}
void Fork::precede(Fork& other) { letFollow(other.lane_.stream); }
void Fork::letFollow(cudaStream_t stream)
{
    cudaCheck(cudaEventRecord(lane_.joined, lane_.stream), "joining a stream");
    cudaCheck(cudaStreamWaitEvent(stream, lane_.joined, 0), "joining a stream");
}

Fork::~Fork()
{
    if (!open_)
        return;
    const bool joined = cudaEventRecord(lane_.joined, lane_.stream) == cudaSuccess &&
                        cudaStreamWaitEvent(call_.stream(), lane_.joined, 0) == cudaSuccess;
    if (joined)
        return;
    cudaGetLastError();
    if (!call_.capturing()) // a capture fails in its end
        ignore(cudaStreamSynchronize(lane_.stream));
}

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
