// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Several arrays in one block of memory: for one allocation, upload or copy.
#ifndef OPENCV_CUDATRACKING_COMMON_PARTS_HPP
#define OPENCV_CUDATRACKING_COMMON_PARTS_HPP

#include "views.hpp"

namespace cv { namespace cuda { namespace detail {

/** Divides a block of memory into arrays, one after the other. Without a block it only counts their bytes, so that the
code that divides a block also tells its size. */
class Parts
{
public:
    //! @param block aligned as the arrays; null: no block. @param alignment of all arrays in the block, bytes. Default:
    //! that of their types.
    explicit Parts(void* block = nullptr, size_t alignment = 1)
        : block_(static_cast<uint8_t*>(block)), alignment_(alignment)
    {}

    //! Places an array behind the last one. @return its offset in the block, bytes.
    template <typename T> size_t place(size_t count) { return placeAligned<T>(count, alignment_); }
    //! Places an array behind the last one. @return its address; null without a block.
    template <typename T> T* take(size_t count) { return at<T>(place<T>(count)); }
    //! Places an array directly behind the last one, aligned for its type only. @return its address; null without a
    //! block.
    template <typename T> T* takeNext(size_t count) { return at<T>(placeAligned<T>(count, 1)); }

    //! Bytes from the begin of the block to the end of the last array.
    size_t bytes() const { return bytes_; }

private:
    template <typename T> size_t placeAligned(size_t count, size_t alignment)
    {
        const size_t offset = roundUp(bytes_, alignment > alignof(T) ? alignment : alignof(T));
        bytes_ = offset + count * sizeof(T);
        return offset;
    }
    template <typename T> T* at(size_t offset) const
    {
        return block_ ? reinterpret_cast<T*>(block_ + offset) : nullptr;
    }

    uint8_t* block_;
    size_t alignment_, bytes_ = 0;
};

//! Returns the bytes of a block for the arrays that take(parts) takes. @param alignment as in Parts. Default: that of
//! their types.
template <typename Take> size_t bytesOf(const Take& take, size_t alignment = 1)
{
    Parts parts(nullptr, alignment);
    take(parts);
    return parts.bytes();
}

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_PARTS_HPP
