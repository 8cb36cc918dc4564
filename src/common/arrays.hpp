// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Converts cv::InputArray and cv::OutputArray of every kind to views, with the checks that all classes share.
#ifndef OPENCV_CUDATRACKING_COMMON_ARRAYS_HPP
#define OPENCV_CUDATRACKING_COMMON_ARRAYS_HPP

#include "views.hpp"
#include "opencv2/core.hpp"
#include "opencv2/core/cuda.hpp"
#include <vector>

namespace cv { namespace cuda { namespace detail {

// --- inputs ----------------------------------------------------------------------------------------------------------

//! True for a GpuMat and for a vector of them, false for everything on the host.
bool onDevice(const _InputArray& array);

//! Throws when `array`, or a part of it, has more than two dimensions. @param name of the argument.
void checkDims(const char* name, const _InputArray& array);

//! Returns an array on the host; empty for noArray(). A UMat is mapped as long as the result lives.
Mat hostArray(const char* name, const _InputArray& array);
GpuMat deviceArray(const char* name, const _InputArray& array);

//! Returns the elements of an array of arrays; a single Mat, UMat or GpuMat counts as one, noArray() as none.
std::vector<Mat> hostArrays(const char* name, const _InputArray& arrays);
std::vector<GpuMat> deviceArrays(const char* name, const _InputArray& arrays);

//! Returns an array that is kept beyond the call: the user's own Mat, but a copy of an array without reference count, such as a std::vector.
Mat keptArray(const char* name, const _InputArray& array);

//! View of an array; the address is null when the array has no pixels.
ImageView viewOf(const Mat& image);
ImageView viewOf(const GpuMat& image);

//! Returns hostArray() with a std::vector as one column, in OpenCV 4 (a column) and 5 (a row) alike.
Mat columnArray(const char* name, const _InputArray& array);

/** A list of points (2 channels) or rectangles (4): CV_32S of so many channels, one a row or all in one row, or CV_32SC1 with so
many columns, as numpy writes them. */
struct ListView
{
    const void* data;
    size_t step; //!< bytes from element to element
    int count;

    template <typename T> ConstRowsView<T> as() const { return {static_cast<const T*>(data), step}; }
};
/** @param count how many there must be.
@param furtherColumns rows may have more elements, which are ignored; then all in one row is not possible. */
ListView listOf(const char* name, const Mat& list, int channels, int count, bool furtherColumns = false);
ListView listOf(const char* name, const GpuMat& list, int channels, int count, bool furtherColumns = false);

//! Stream handle for engines; null in builds without CUDA.
StreamHandle handleOf(const Stream& stream);

//! The reason why a GpuMat cannot be used in a build without CUDA.
[[noreturn]] void noCuda();

// --- outputs ---------------------------------------------------------------------------------------------------------

/** One output of a call, rows x cols of a type. Made before the work, so that what cannot hold the result is refused in time; an
array that fits already is written in place. Lives until the work is done. */
class Output
{
public:
    /** @param name of the argument. @param device where the results are: a GpuMat can take them only from the device.
    0 rows or columns: the target becomes empty. */
    Output(const char* name, const _OutputArray& target, int rows, int cols, int type, bool device);

    const OutputView& view() const { return view_; }
    template <typename T> RowsView<T> as() const { return view_.as<T>(); }
    explicit operator bool() const { return static_cast<bool>(view_); }

private:
    Mat host_;
    GpuMat device_;
    OutputView view_ = {};
};

//! Empties an output; nothing for noArray().
void release(const _OutputArray& target);

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_ARRAYS_HPP
