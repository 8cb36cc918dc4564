// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "arrays.hpp"

namespace cv { namespace cuda {

#ifdef HAVE_CUDA

Stream& noStream()
{
    // Wrapping a handle makes no CUDA call.
    static Stream stream = StreamAccessor::wrapStream(nullptr);
    return stream;
}

namespace detail {
StreamHandle handleOf(const Stream& stream) { return StreamAccessor::getStream(stream); }
} // namespace detail

#else

Stream& noStream()
{
    // In a host-only build every constructor of Stream throws, and nothing ever looks into one. So this is storage for
    // a Stream with an empty handle (all zero), good for passing on and for copying.
    alignas(Stream) static unsigned char storage[sizeof(Stream)] = {};
    return *reinterpret_cast<Stream*>(storage);
}

namespace detail {
StreamHandle handleOf(const Stream&) { return nullptr; }
} // namespace detail

#endif

}} // namespace cv::cuda
