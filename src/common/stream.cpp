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

/** The struct that may call Stream's constructor for an implementation. A host-only OpenCV does not define it, and all
other constructors throw there. */
struct StreamAccessor
{
    static Stream empty() { return Stream(Ptr<Stream::Impl>()); }
};

Stream& noStream()
{
    static Stream stream = StreamAccessor::empty(); // good for passing on and for copying
    return stream;
}

namespace detail {
StreamHandle handleOf(const Stream&) { return nullptr; }
} // namespace detail

#endif

}} // namespace cv::cuda
