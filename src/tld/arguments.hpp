// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Checks of arguments, and their conversion to the types of the engines.
#ifndef OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"
#include "settings.hpp"

namespace cv { namespace cuda { namespace tld {

//! A checked image of a call. It owns the pixels that its view refers to.
struct InputImage : detail::Array
{
    InputImage(const char* owner, InputArray image);
};

//! Checked boxes of the user's detector in a call. It owns the memory that its view refers to.
struct InputBoxes
{
    bool given; //!< false for noArray()
    std::vector<Window> list;
    GpuMat device; //!< one row of CascadeClassifierEx::detectAsync(), or empty

    //! @param imageOnDevice the image of the call is a GpuMat.
    InputBoxes(const char* owner, InputArray boxes, bool imageOnDevice);
    DetectorBoxes view() const;
    //! Returns the boxes on the host; waits on this stream for those on the device.
    std::vector<Window> fetch(const char* owner, StreamHandle stream) const;
};

Window windowOf(const Rect& box);
//! Returns the nearest box of whole pixels. @throws cv::Exception naming the class when a side is farther than 1e6.
Rect rounded(const char* owner, const Rect2d& box);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP
