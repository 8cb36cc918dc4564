// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The order between replays of captured calls, of which no call tells, and direct calls.
#ifndef OPENCV_CUDATRACKING_COMMON_REPLAYS_HPP
#define OPENCV_CUDATRACKING_COMMON_REPLAYS_HPP

#include "workspace.hpp"

namespace cv { namespace cuda { namespace detail {

/** An event that each captured call records in its end, as a node of the graph: launching the graph is recording the event. So
a direct call can begin after all replays that were launched before it, whatever their streams. */
class Replays
{
public:
    Replays() = default;
    ~Replays()
    {
        const OutsideOfCapture outside;
        if (event_ && cudaEventDestroy(event_) != cudaSuccess)
            cudaGetLastError();
    }
    Replays(const Replays&) = delete;
    Replays& operator=(const Replays&) = delete;

    //! A captured call has nothing more to do.
    void end(const Call& call)
    {
        if (!call.capturing())
            return;
        if (!event_)
            cudaCheck(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
        cudaCheck(cudaEventRecordWithFlags(event_, call.stream(), cudaEventRecordExternal),
                  "marking the end of a captured call");
    }
    //! Lets all that a direct call does from here on come after the replays that were launched before.
    void wait(const Call& call) const
    {
        if (event_ && !call.capturing())
            cudaCheck(cudaStreamWaitEvent(call.stream(), event_, 0), "waiting for replays");
    }

private:
    cudaEvent_t event_ = nullptr;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_REPLAYS_HPP
