// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// VLFeat's quick shift, where this machine has VLFeat: its header when compiling, its library when running. Optional
// for the tests of accuracy (Debian: libvlfeat-dev) and a peer of the performance tests.
#ifndef OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_VLFEAT_HPP
#define OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_VLFEAT_HPP

#include "opencv2/ts.hpp"
#include <string>

#ifdef CUDATRACKING_HAVE_VLFEAT // by CMakeLists.txt
#include <dlfcn.h>
#ifndef VL_DISABLE_SSE2
#define VL_DISABLE_SSE2 // the header asks for compiler options otherwise
#endif
extern "C" {
#include <vl/quickshift.h>
}
#endif

namespace opencv_test {

struct VlfeatResult
{
    Mat density, distances; //!< CV_64F
    Mat parents;            //!< CV_32S, raster index
};

/** Loads VLFeat. @return an empty string, or the reason why there is no VLFeat.
@param features CV_64F, colours times their scale. Slow: one process() for each call, in double, every pair. */
inline std::string vlfeatQuickShift(const Mat& features, double sigma, double maxDist, VlfeatResult& result)
{
#ifdef CUDATRACKING_HAVE_VLFEAT
    static void* const library = dlopen("libvl.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return "libvl.so.1 (VLFeat) is not installed";
    const auto create = reinterpret_cast<decltype(&vl_quickshift_new)>(dlsym(library, "vl_quickshift_new"));
    const auto process = reinterpret_cast<decltype(&vl_quickshift_process)>(dlsym(library, "vl_quickshift_process"));
    const auto destroy = reinterpret_cast<decltype(&vl_quickshift_delete)>(dlsym(library, "vl_quickshift_delete"));
    if (!create || !process || !destroy)
        return "libvl.so.1 lacks vl_quickshift_*";
    // VLFeat visits columns first: with width and height exchanged its order is raster order.
    const int W = features.cols, H = features.rows, K = features.channels();
    std::vector<double> planar(features.total() * K);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
            for (int k = 0; k < K; ++k)
                planar[(static_cast<size_t>(k) * H + y) * W + x] = features.ptr<double>(y)[x * K + k];
    VlQS* const q = create(planar.data(), W, H, K);
    vl_quickshift_set_kernel_size(q, sigma);
    vl_quickshift_set_max_dist(q, maxDist);
    process(q);
    Mat(H, W, CV_64F, vl_quickshift_get_density(q)).copyTo(result.density);
    Mat(H, W, CV_64F, vl_quickshift_get_dists(q)).copyTo(result.distances);
    Mat(H, W, CV_32S, vl_quickshift_get_parents(q)).copyTo(result.parents);
    destroy(q);
    return std::string();
#else
    (void)features, (void)sigma, (void)maxDist, (void)result;
    return "this program was compiled without VLFeat's header";
#endif
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_VLFEAT_HPP
