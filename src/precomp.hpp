// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The module's only precompiled header. No device code: .cu files include what they need themselves.
#ifndef OPENCV_CUDATRACKING_PRECOMP_HPP
#define OPENCV_CUDATRACKING_PRECOMP_HPP

#include "opencv2/cudatracking.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/imgproc.hpp"

#ifdef HAVE_CUDA
#include "opencv2/core/cuda_stream_accessor.hpp"
#include <cuda_runtime_api.h>
#endif

#endif // OPENCV_CUDATRACKING_PRECOMP_HPP
