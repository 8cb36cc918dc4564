// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arithmetic that decides the results of NewAlgorithm, once for both backends.
#ifndef OPENCV_CUDATRACKING_NEW_ALGORITHM_CORE_HPP
#define OPENCV_CUDATRACKING_NEW_ALGORITHM_CORE_HPP

#include "../common/hostdevice.hpp"
#include <cstdint>

namespace cv { namespace cuda { namespace new_algorithm {

//! Returns the inverse of a value.
CT_HOST_DEVICE uint8_t inverseOf(uint8_t value) { return static_cast<uint8_t>(255 - value); }

}}} // namespace cv::cuda::new_algorithm

#endif // OPENCV_CUDATRACKING_NEW_ALGORITHM_CORE_HPP
