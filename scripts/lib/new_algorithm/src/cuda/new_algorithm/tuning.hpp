// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sizes of NewAlgorithm's kernels. Above each constant: what it is, and its limit or why it has this value.
// A constant with neither was chosen without a measurement.
#ifndef OPENCV_CUDATRACKING_CUDA_NEW_ALGORITHM_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_NEW_ALGORITHM_TUNING_HPP

namespace cv { namespace cuda { namespace new_algorithm { namespace gpu { namespace tuning {

//! Threads per block.
const int THREADS = 256;

}}}}} // namespace cv::cuda::new_algorithm::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_NEW_ALGORITHM_TUNING_HPP
