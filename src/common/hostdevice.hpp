// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// For code that g++ and nvcc both compile. Needs neither OpenCV nor CUDA.
#ifndef OPENCV_CUDATRACKING_COMMON_HOSTDEVICE_HPP
#define OPENCV_CUDATRACKING_COMMON_HOSTDEVICE_HPP

#ifdef __CUDACC__
#define CT_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define CT_HOST_DEVICE inline
#endif

#endif // OPENCV_CUDATRACKING_COMMON_HOSTDEVICE_HPP
