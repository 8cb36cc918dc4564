// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// From what users give to what engines load, with all checks; and what the three classes have in common.
#ifndef OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"

namespace cv { namespace cuda { namespace tld {

//! @throws cv::Exception naming the class and the member that is out of range.
Settings settingsOf(const TLDParams& params, const char* owner);

//! An image of a call, which owns what its view looks at.
struct InputImage
{
    Mat host;
    GpuMat device;
    bool onDevice;

    InputImage(const char* owner, InputArray image);
    Size size() const { return onDevice ? device.size() : host.size(); }
    int type() const { return onDevice ? device.type() : host.type(); }
    ImageView view() const { return onDevice ? detail::viewOf(device) : detail::viewOf(host); }
};

Window windowOf(const Rect& box);
//! The nearest box of whole pixels. @throws cv::Exception naming the class when there is none.
Rect rounded(const char* owner, const Rect2d& box);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_ARGUMENTS_HPP
