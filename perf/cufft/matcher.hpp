// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// SSD and ZNCC of one BGR fragment in a whole frame by cuFFT: a peer of FragmentMatcher for performance tests.
#ifndef OPENCV_CUDATRACKING_PERF_CUFFT_MATCHER_HPP
#define OPENCV_CUDATRACKING_PERF_CUFFT_MATCHER_HPP

#include "opencv2/core.hpp"
#include "opencv2/core/cuda.hpp"

namespace cufft_peer {

//! Sizes and numbers of a Matcher.
struct Setup
{
    cv::Size frame;     //!< at most 2048 pixels wide
    cv::Size fragment;  //!< not larger than the frame; at most 87,381 pixels
    cv::Size transform; //!< size of the transforms, not smaller than the frame; its width is a multiple of 4
    bool zncc;          //!< true: ZNCC; false: SSD
    bool inDouble;      //!< true: transforms in double precision; false: in single precision
};

/** Finds the best position of a fragment in a frame, both CV_8UC3. Fragment and frame are transformed channel by
channel, the products of the spectra are added up and transformed back once. Box sums of the frame run on a stream of
their own beside the transforms. Results have the precision of the transforms; they are not exact as FragmentMatcher's
are. */
class Matcher
{
public:
    virtual ~Matcher() {}
    //! Makes plans and memory. @throws cv::Exception if cuFFT or CUDA fails.
    static cv::Ptr<Matcher> create(const Setup& setup);
    //! Transforms the fragment. Does not wait. Can be captured.
    virtual void setFragment(const cv::cuda::GpuMat& fragment, cv::cuda::Stream& stream) = 0;
    //! Finds the best position in a frame. Does not wait. Can be captured.
    virtual void match(const cv::cuda::GpuMat& frame, cv::cuda::Stream& stream) = 0;
    //! Returns the best position that the last match() found. Waits.
    virtual cv::Point best(cv::cuda::Stream& stream) = 0;
};

} // namespace cufft_peer

#endif // OPENCV_CUDATRACKING_PERF_CUFFT_MATCHER_HPP
