// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Throughput of the device, on which the choice of kernels depends.
#ifndef OPENCV_CUDATRACKING_COMMON_THROUGHPUT_HPP
#define OPENCV_CUDATRACKING_COMMON_THROUGHPUT_HPP

namespace cv { namespace cuda { namespace detail {

//! Returns true if double precision has at least a quarter of the throughput of single precision on the current device.
//! Costs one query of the driver; may be asked during a capture.
bool fastDoubles();

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_THROUGHPUT_HPP
