// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Prints the compute capability of each GPU that the CUDA runtime finds, such as 8.7.
#include <cstdio>
#include <cuda_runtime_api.h>

int main()
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        return 1;
    for (int device = 0; device < count; ++device)
    {
        int major = 0, minor = 0;
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess)
            std::printf("%d.%d\n", major, minor);
    }
    return 0;
}
