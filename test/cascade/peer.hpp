// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::CascadeClassifier and cv::cuda::CascadeClassifier, where this build has them.
#ifndef OPENCV_CUDATRACKING_TEST_CASCADE_PEER_HPP
#define OPENCV_CUDATRACKING_TEST_CASCADE_PEER_HPP

#include "opencv2/opencv_modules.hpp"
#include "opencv2/core/version.hpp"

#if CV_VERSION_MAJOR >= 5 && (defined HAVE_OPENCV_XOBJDETECT || defined CUDATRACKING_HAVE_CASCADE_PEER)
#include "opencv2/xobjdetect.hpp"
#define CUDATRACKING_CASCADE_PEER 1
#elif CV_VERSION_MAJOR < 5 && (defined HAVE_OPENCV_OBJDETECT || defined CUDATRACKING_HAVE_CASCADE_PEER)
#include "opencv2/objdetect.hpp"
#define CUDATRACKING_CASCADE_PEER 1
#else
#define CUDATRACKING_CASCADE_PEER 0
#endif

// Whether cv::CascadeClassifier may be compiled with fused multiply-add, so that features with fractional weights round
// differently.
#if defined __FMA__ || defined __ARM_FEATURE_FMA
#define CUDATRACKING_CASCADE_PEER_FUSES 1
#else
#define CUDATRACKING_CASCADE_PEER_FUSES 0
#endif

// cv::cuda::CascadeClassifier takes its Haar cascades from cudalegacy.
#if defined HAVE_CUDA && defined HAVE_OPENCV_CUDAOBJDETECT && defined HAVE_OPENCV_CUDALEGACY
#include "opencv2/cudaobjdetect.hpp"
#define CUDATRACKING_CASCADE_CUDA_PEER 1
#else
#define CUDATRACKING_CASCADE_CUDA_PEER 0
#endif

#endif // OPENCV_CUDATRACKING_TEST_CASCADE_PEER_HPP
