// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "cuda_check.hpp"
#include "throughput.hpp"

namespace cv { namespace cuda { namespace detail {

bool fastDoubles()
{
    int ratio = 0; // of single to double precision
    cudaCheck(cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, currentDevice()),
              "throughput of the device");
    return ratio <= 4;
}

}}} // namespace cv::cuda::detail

#endif // HAVE_CUDA
