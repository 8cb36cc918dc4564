// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// A second stream of an instance: for work that runs beside that of a call, and for calls that come without a stream.
#ifndef OPENCV_CUDATRACKING_COMMON_SIDE_STREAM_HPP
#define OPENCV_CUDATRACKING_COMMON_SIDE_STREAM_HPP

#include "workspace.hpp"

namespace cv { namespace cuda { namespace detail {

class SideStream
{
public:
    SideStream() = default;
    ~SideStream();
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;

    //! One that no capture holds; made when needed.
    StreamHandle handle() { return take(0).stream; }

private:
    friend class Fork;

    //! A stream that has joined a capture belongs to it until that ends, so there may be several. One made by a call
    //! that is then refused, because another device is current than the instance's, serves no call of the instance.
    struct Lane
    {
        int device = -1;
        cudaStream_t stream = nullptr;
        cudaEvent_t forked = nullptr, joined = nullptr;
        unsigned long long capture = 0; //!< the last one that it was part of
    };
    Lane& take(unsigned long long capture);

    std::vector<std::unique_ptr<Lane>> lanes_;
};

/** Between its begin and join(), a side stream works concurrently with the call's. It begins after what is on the
call's stream then, and belongs to its capture if there is one. */
class Fork
{
public:
    Fork(SideStream& side, const Call& call);
    //! Joins if that has not happened, so that nothing runs on beyond a call that failed.
    ~Fork();
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;

    cudaStream_t stream() const { return lane_.stream; }
    //! Lets everything that follows on the call's stream come after the work on the side stream.
    void join();
    //! Lets everything that follows on another side stream of the call, which joins later, come after it.
    void join(Fork& other);
    //! Lets everything that follows on another side stream come after what is on this one so far. More may follow, so
    //! that this one must be joined, too.
    void precede(Fork& other);

private:
    void letFollow(cudaStream_t stream);

    SideStream::Lane& lane_;
    const Call& call_;
    bool open_ = false;
};

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_SIDE_STREAM_HPP
