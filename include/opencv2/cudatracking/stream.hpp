// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#ifndef OPENCV_CUDATRACKING_STREAM_HPP
#define OPENCV_CUDATRACKING_STREAM_HPP

#include "opencv2/core/cuda.hpp"

namespace cv { namespace cuda {

//! @addtogroup cudatracking
//! @{

/** @brief The default of every Stream parameter of this module, as cv::noArray() is for arrays.

For a GpuMat it is CUDA's null stream. For a Mat it is nothing at all: unlike Stream::Null(), it can be had on machines
without a CUDA driver and in host-only builds, and it creates no context on the device. Never waits, never throws. */
CV_EXPORTS Stream& noStream();

//! @}

}} // namespace cv::cuda

#endif // OPENCV_CUDATRACKING_STREAM_HPP
