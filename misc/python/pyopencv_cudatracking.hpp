// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Names that OpenCV's binding generator makes up and expects to exist.
#ifdef HAVE_OPENCV_CUDATRACKING

// A CPU-only build leaves out headers below a path that contains modules/cuda; this file is read all the same.
#include "opencv2/cudatracking.hpp"

typedef cv::cuda::FragmentMatcher::Params FragmentMatcher_Params;
typedef std::vector<cv::cuda::FragmentMatch> vector_FragmentMatch;
typedef std::vector<cv::Ptr<cv::cuda::CascadeClassifierEx>> vector_Ptr_CascadeClassifierEx;

// InputArrayOfArrays has a GpuMat overload, whose argument the generator declares as `vector_cuda::GpuMat`.
namespace vector_cuda {
typedef std::vector<cv::cuda::GpuMat> GpuMat;
}

#endif // HAVE_OPENCV_CUDATRACKING
