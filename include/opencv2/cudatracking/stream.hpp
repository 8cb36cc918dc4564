// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_STREAM_HPP
#define OPENCV_CUDATRACKING_STREAM_HPP

#include "opencv2/core/cuda.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief Returns the default value of every Stream parameter of this module, as cv::noArray() is for arrays.

For GpuMat inputs it stands for CUDA's null stream; for host inputs it is ignored. Unlike Stream::Null() it can be
called on machines without a CUDA driver and in builds without CUDA, where methods of the returned Stream throw, and it
creates no context on the device.
@return a reference that stays valid until the program ends. The function never waits and never throws. Any number of
threads may call it at the same time. */
CV_EXPORTS Stream& noStream();

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_STREAM_HPP
