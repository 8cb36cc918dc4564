// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The order between replays of captured calls, of which no call tells, and direct calls.
#ifndef OPENCV_CUDATRACKING_COMMON_REPLAYS_HPP
#define OPENCV_CUDATRACKING_COMMON_REPLAYS_HPP

#include "workspace.hpp"
#include <vector>

namespace cv { namespace cuda { namespace detail {

/** An event that each captured call records by a node of the graph, so that launching the graph records the event. The
event stands for the replay that recorded it last. Replays of an instance share its memory, so the caller must order
them; then the last one comes after all others, and a direct call can begin after all replays that were launched before
it, whatever their streams. What the stream does next does not depend on these nodes, so that they delay no later call
of the same capture; each depends on the one before. */
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

    //! Records the event after all work of a captured call.
    void end(const Call& call)
    {
        if (!call.capturing())
            return;
        if (!event_)
            cudaCheck(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
        CaptureInfo info;
        const cudaGraphNode_t* last = nullptr;
        size_t count = 0;
        cudaCheck(captureInfo(call.stream(), info, &last, &count), "marking the end of a captured call");
        std::vector<cudaGraphNode_t> nodes(last, last + count);
        if (capture_ == call.capture())
            nodes.push_back(node_);
        cudaCheck(cudaGraphAddEventRecordNode(&node_, info.graph, nodes.data(), nodes.size(), event_),
                  "marking the end of a captured call");
        capture_ = call.capture();
    }
    //! Lets all that a direct call does from here on come after the replays that were launched before, which the caller
    //! has ordered.
    void wait(const Call& call) const
    {
        if (event_ && !call.capturing())
            cudaCheck(cudaStreamWaitEvent(call.stream(), event_, 0), "waiting for replays");
    }

private:
    cudaEvent_t event_ = nullptr;
    unsigned long long capture_ = 0; //!< the last one, and its last node
    cudaGraphNode_t node_ = nullptr;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_REPLAYS_HPP
