// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of NewAlgorithm in the order in which both backends run them:
//
//   invert             writes the inverse of each pixel
//
// A CPU stage runs on the threads of parallel_for_. A CUDA stage runs on a stream; it neither allocates nor waits.
#ifndef OPENCV_CUDATRACKING_NEW_ALGORITHM_STAGES_HPP
#define OPENCV_CUDATRACKING_NEW_ALGORITHM_STAGES_HPP

#include "../common/views.hpp"
#include "core.hpp"

namespace cv { namespace cuda { namespace new_algorithm {

using detail::ImageView;
using detail::RowsView;
using detail::StreamHandle;

namespace cpu {

void invert(const ImageView& image, RowsView<uint8_t> result);

} // namespace cpu

namespace gpu {

void invert(const ImageView& image, RowsView<uint8_t> result, StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::new_algorithm

#endif // OPENCV_CUDATRACKING_NEW_ALGORITHM_STAGES_HPP
