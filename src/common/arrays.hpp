// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Converts cv::InputArray and cv::OutputArray of every kind to views, with the checks that all classes share.
#ifndef OPENCV_CUDATRACKING_COMMON_ARRAYS_HPP
#define OPENCV_CUDATRACKING_COMMON_ARRAYS_HPP

#include "views.hpp"
#include "opencv2/core.hpp"
#include "opencv2/core/cuda.hpp"
#include <initializer_list>
#include <string>
#include <vector>

namespace cv { namespace cuda { namespace detail {

// --- inputs ----------------------------------------------------------------------------------------------------------

//! True for a GpuMat and for a vector of them, false for everything on the host.
bool onDevice(const _InputArray& array);
//! True for no array, and for one without elements, also where a GpuMat without elements has an address.
bool isEmpty(const _InputArray& array);
//! True for an array of arrays, which may have one element; false for one array.
bool isList(const _InputArray& array);
//! Name of an element for messages: "images[2]". @param index -1: the argument is one array.
std::string elementName(const char* name, int index);

//! Throws when `array`, or a part of it, has more than two dimensions. @param name of the argument.
void checkDims(const char* name, const _InputArray& array);

//! Returns an array on the host; empty for noArray(). A UMat is mapped as long as the result lives.
Mat hostArray(const char* name, const _InputArray& array);
GpuMat deviceArray(const char* name, const _InputArray& array);

//! Returns the elements of an array of arrays; a single Mat, UMat or GpuMat counts as one, noArray() as none.
std::vector<Mat> hostArrays(const char* name, const _InputArray& arrays);
std::vector<GpuMat> deviceArrays(const char* name, const _InputArray& arrays);
/** Returns whether the arrays are the rows of one image, behind each other, which Python passes if a bare image is
given in place of a list. A row of gray values is a column in OpenCV 4 and an array of one dimension in OpenCV 5, a row
of colours has 2 to 4 columns. */
bool areRowsOfOne(const std::vector<Mat>& mats);

//! Returns an array that is kept beyond the call: the user's own Mat, but a copy of an array without reference count,
//! such as a std::vector.
Mat keptArray(const char* name, const _InputArray& array);

//! View of an array; the address is null when the array has no pixels.
ImageView viewOf(const Mat& image);
ImageView viewOf(const GpuMat& image);

//! Returns hostArray() with a std::vector as one column, in OpenCV 4 (a column) and 5 (a row) alike.
Mat columnArray(const char* name, const _InputArray& array);

/** A list of points (2 channels) or rectangles (4): CV_32S of so many channels, one a row or all in one row, or
CV_32SC1 with so many columns, as numpy writes them. */
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

//! A matrix of a call, in host or in device memory. It owns what its views refer to.
struct Array
{
    Mat host;
    GpuMat device; //!< one of the two is empty
    bool onDevice = false;

    Array() = default;
    explicit Array(const Mat& mat) : host(mat) {}
    explicit Array(const GpuMat& mat) : device(mat), onDevice(true) {}
    //! @param toHost conversion of an array on the host: hostArray(), columnArray() or keptArray().
    Array(const char* name, const _InputArray& array, Mat (*toHost)(const char*, const _InputArray&) = hostArray);

    Size size() const { return onDevice ? device.size() : host.size(); }
    int type() const { return onDevice ? device.type() : host.type(); }
    bool empty() const { return size().empty(); }
    ImageView view() const { return onDevice ? viewOf(device) : viewOf(host); }
    //! Returns listOf() of the matrix.
    ListView list(const char* name, int channels, int count, bool furtherColumns = false) const
    {
        return onDevice ? listOf(name, device, channels, count, furtherColumns)
                        : listOf(name, host, channels, count, furtherColumns);
    }
};

//! Returns the elements of an array of arrays, as hostArrays() and deviceArrays() do.
std::vector<Array> arraysOf(const char* name, const _InputArray& arrays);

//! Rows to copy from device memory to the host.
struct HostCopy
{
    const void* device;
    size_t deviceStep;
    void* host;
    size_t hostStep, rowBytes;
    int rows;
};
/** Makes copies of arrays that belong to the caller, and waits for them on the stream. @param owner,what the class and
the method, for messages. @throws cv::Exception if the stream is being captured, and in builds without CUDA. */
void fetch(const char* owner, const char* what, const std::vector<HostCopy>& copies, StreamHandle stream);

//! Stream handle for engines; null in builds without CUDA.
StreamHandle handleOf(const Stream& stream);

//! The reason why a GpuMat cannot be used in a build without CUDA.
[[noreturn]] void noCuda();

// --- outputs ---------------------------------------------------------------------------------------------------------

//! Memory that the results of a call are in, and the call's stream.
struct ResultsPlace
{
    bool onDevice;
    StreamHandle stream; //!< ignored for results on the host
};
const ResultsPlace ON_HOST = {false, nullptr};

/** Checks that results can go to an array. @param toDevice the array is a GpuMat. @param pinned the array is
page-locked.
@throws cv::Exception when it is a GpuMat and the results are on the host, or when a captured call would wait for the
copy to it. */
void checkPlace(const char* name, bool toDevice, bool pinned, const ResultsPlace& results);

/** One output of a call, rows x cols of a type. All outputs of a call are made before the first is allocated, so that a
call that is refused leaves the caller's arrays as they were. Lives until the work is done. */
class Output
{
public:
    //! Checks that the target can hold the results, and does not change it. @param name of the argument.
    Output(const char* name, const _OutputArray& target, int rows, int cols, int type, const ResultsPlace& results);

    //! Allocates the target; one that fits already is written in place. 0 rows or columns: the target becomes empty.
    OutputView allocate();

private:
    const char* name_;
    _OutputArray target_;
    int rows_, cols_, type_;
    Mat host_;
    GpuMat device_;
};

/** Resizes a list of Mat, UMat or GpuMat. @return its elements; of noArray() as many that are not needed. */
std::vector<_OutputArray> elementsOf(const char* name, const _OutputArray& list, size_t count, int type);

//! Empties outputs, or none when one of them cannot be resized; nothing for noArray().
void release(std::initializer_list<const _OutputArray*> targets);

}}} // namespace cv::cuda::detail

#endif // OPENCV_CUDATRACKING_COMMON_ARRAYS_HPP
