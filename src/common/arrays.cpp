// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "arrays.hpp"
#ifdef HAVE_CUDA
#include "workspace.hpp"
#endif
#include <string>

namespace cv { namespace cuda { namespace detail {

static_assert(DEPTH_8U == CV_8U && DEPTH_16U == CV_16U && DEPTH_32F == CV_32F, "depths are OpenCV's");

// --- inputs ----------------------------------------------------------------------------------------------------------

bool onDevice(const _InputArray& array) { return array.isGpuMat() || array.isGpuMatVector(); }

bool isEmpty(const _InputArray& array)
{
    const bool none = array.kind() == _InputArray::NONE || array.empty();
    return none || (array.isGpuMat() && array.size().empty()); // GpuMat::empty() asks for an address
}

bool isList(const _InputArray& array)
{
    switch (array.kind())
    {
    case _InputArray::STD_VECTOR_MAT:
    case _InputArray::STD_VECTOR_UMAT:
    case _InputArray::STD_VECTOR_VECTOR:
    case _InputArray::STD_VECTOR_CUDA_GPU_MAT:
    case _InputArray::STD_ARRAY_MAT:
        return true;
    default:
        return false;
    }
}

std::string elementName(const char* name, int index) { return index < 0 ? name : format("%s[%d]", name, index); }

static void checkDimsOf(const char* name, int index, int dims, const int* sizes)
{
    if (dims <= 2)
        return;
    std::string shape = std::to_string(sizes[0]);
    for (int d = 1; d < dims; ++d)
        shape += " x " + std::to_string(sizes[d]);
    CV_Error_(Error::StsBadSize,
              ("%s: an array of %d dimensions, %s, but images and lists have two (channels come last and do not count)",
               elementName(name, index).c_str(), dims, shape.c_str()));
}

void checkDims(const char* name, const _InputArray& array)
{
    int sizes[CV_MAX_DIM];
    if (!isList(array))
    {
        if (array.isMat() || array.isUMat())
            checkDimsOf(name, -1, array.sizend(sizes), sizes);
        return;
    }
    if (array.isGpuMatVector() || array.kind() == _InputArray::STD_VECTOR_VECTOR)
        return;
    const int count = static_cast<int>(array.total());
    for (int i = 0; i < count; ++i)
        checkDimsOf(name, i, array.sizend(sizes, i), sizes);
}

static void checkIsOne(const char* name, const _InputArray& array)
{
    if (isList(array))
        CV_Error_(Error::StsBadArg, ("%s: a list of arrays, but one array is needed", name));
}

Mat hostArray(const char* name, const _InputArray& array)
{
    checkIsOne(name, array);
    checkDims(name, array);
    const bool none = array.kind() == _InputArray::NONE || (onDevice(array) && isEmpty(array));
#ifdef HAVE_CUDA
    if (!none && onDevice(array))
        CV_Error_(Error::StsBadArg, ("%s: is a GpuMat, but a Mat is needed in this call", name));
#endif
    return none ? Mat() : array.getMat();
}

//! A kernel that reads or writes a number at another address fails, and with it everything after it in the process.
static const GpuMat& checkAligned(const char* name, const GpuMat& array, int index = -1)
{
    const size_t bytes = array.elemSize1();
    if (!array.empty() && (reinterpret_cast<size_t>(array.data) % bytes || (array.rows > 1 && array.step % bytes)))
        CV_Error_(Error::BadAlign, ("%s: a GpuMat of %s at %p with rows %zu bytes apart; both must be multiples of %zu",
                                    elementName(name, index).c_str(), typeToString(array.type()).c_str(),
                                    static_cast<const void*>(array.data), static_cast<size_t>(array.step), bytes));
    return array;
}

//! In a build without CUDA, OpenCV's own error does not name it.
static GpuMat gpuMatOf(const _InputArray& array)
{
#ifdef HAVE_CUDA
    return array.getGpuMat();
#else
    (void)array;
    noCuda();
#endif
}

GpuMat deviceArray(const char* name, const _InputArray& array)
{
    checkIsOne(name, array);
    const bool none = array.kind() == _InputArray::NONE || (!onDevice(array) && isEmpty(array));
    if (!none && !onDevice(array))
        CV_Error_(Error::StsBadArg, ("%s: is a Mat, but a GpuMat is needed in this call", name));
    return none ? GpuMat() : checkAligned(name, gpuMatOf(array));
}

std::vector<Mat> hostArrays(const char* name, const _InputArray& arrays)
{
    checkDims(name, arrays);
    std::vector<Mat> mats;
    if (isList(arrays))
        arrays.getMatVector(mats);
    else if (arrays.kind() != _InputArray::NONE)
        mats.push_back(arrays.getMat());
    return mats;
}

bool areRowsOfOne(const std::vector<Mat>& mats)
{
    if (mats.size() < 2 || (mats[0].dims != 1 && mats[0].cols > 4))
        return false;
    const size_t bytes = mats[0].total();
    if (bytes < 2) // single pixels, which are images too
        return false;
    for (size_t i = 0; i < mats.size(); ++i)
        if (mats[i].size() != mats[0].size() || mats[i].type() != CV_8UC1 || !mats[i].isContinuous() ||
            mats[i].data != mats[0].data + i * bytes)
            return false;
    return true;
}

std::vector<GpuMat> deviceArrays(const char* name, const _InputArray& arrays)
{
    std::vector<GpuMat> mats;
    if (arrays.isGpuMatVector())
        arrays.getGpuMatVector(mats);
    else if (arrays.kind() != _InputArray::NONE)
        mats.push_back(gpuMatOf(arrays));
    for (size_t i = 0; i < mats.size(); ++i)
        checkAligned(name, mats[i], arrays.isGpuMatVector() ? static_cast<int>(i) : -1);
    return mats;
}

Mat columnArray(const char* name, const _InputArray& array)
{
    const Mat mat = hostArray(name, array);
    return array.kind() == _InputArray::STD_VECTOR && mat.rows == 1 ? mat.reshape(0, mat.cols) : mat;
}

Mat keptArray(const char* name, const _InputArray& array)
{
    const Mat mat = columnArray(name, array);
    return array.isMat() ? mat : mat.clone();
}

template <typename Image> static ImageView imageView(const Image& image)
{
    const bool empty = image.size().empty(); // GpuMat::empty() asks for an address
    return {empty ? nullptr : image.data, image.step, image.cols, image.rows, image.depth(), image.channels()};
}

ImageView viewOf(const Mat& image) { return imageView(image); }
ImageView viewOf(const GpuMat& image) { return imageView(image); }

template <typename Array>
static ListView listView(const char* name, const Array& given, int channels, int count, bool furtherColumns)
{
    const bool flat = given.type() == CV_32SC1 && given.cols == channels;
    const Array list = flat ? given.reshape(channels) : given;
    const int type = CV_MAKETYPE(CV_32S, channels);
    if (list.type() != type)
        CV_Error_(given.type() == CV_32SC1 ? Error::StsBadSize : Error::StsUnsupportedFormat,
                  ("%s: %d x %d elements of %s, but %s or %d columns of CV_32SC1 are needed", name, given.rows,
                   given.cols, typeToString(given.type()).c_str(), typeToString(type).c_str(), channels));
    if (list.rows == count && (furtherColumns || list.cols == 1))
        return {list.data, list.step, count};
    if (list.rows == 1 && list.cols == count && !furtherColumns)
        return {list.data, list.elemSize(), count};
    CV_Error_(Error::StsUnmatchedSizes, ("%s: %d x %d elements, but %s for each of %d is needed", name, list.rows,
                                         list.cols, furtherColumns ? "a row" : "one", count));
}

//! Python gives doubles where integers of 64 bits do not fit into 32.
static void checkFits(const char* name, const Mat& list)
{
    if (list.depth() != CV_64F)
        return;
    const Mat values = list.reshape(1);
    for (int y = 0; y < values.rows; ++y)
        for (int x = 0; x < values.cols; ++x)
            if (std::abs(values.at<double>(y, x)) > 2147483647.)
                CV_Error_(Error::StsOutOfRange,
                          ("%s: %.0f in row %d, but integers of 32 bits are needed", name, values.at<double>(y, x), y));
}

ListView listOf(const char* name, const Mat& list, int channels, int count, bool furtherColumns)
{
    checkFits(name, list);
    return listView(name, list, channels, count, furtherColumns);
}

ListView listOf(const char* name, const GpuMat& list, int channels, int count, bool furtherColumns)
{
    return listView(name, list, channels, count, furtherColumns);
}

Array::Array(const char* name, const _InputArray& array, Mat (*toHost)(const char*, const _InputArray&))
    : onDevice(detail::onDevice(array))
{
    if (onDevice)
        device = deviceArray(name, array);
    else
        host = toHost(name, array);
}

std::vector<Array> arraysOf(const char* name, const _InputArray& arrays)
{
    std::vector<Array> all;
    if (onDevice(arrays))
        for (const GpuMat& mat : deviceArrays(name, arrays))
            all.emplace_back(mat);
    else
        for (const Mat& mat : hostArrays(name, arrays))
            all.emplace_back(mat);
    return all;
}

void fetch(const char* owner, const char* what, const std::vector<HostCopy>& copies, StreamHandle stream)
{
#ifdef HAVE_CUDA
    Workspace workspace(owner); // for the call only
    const Call call(workspace, stream);
    call.refuseCapture(what);
    for (const HostCopy& copy : copies)
    {
        // The copy itself may work from any device, which depends on the machine.
        cudaPointerAttributes memory = {};
        if (cudaPointerGetAttributes(&memory, copy.device) != cudaSuccess)
            forgetOlderError(); // the copy says what is wrong
        else if (memory.type == cudaMemoryTypeDevice && memory.device != currentDevice())
            CV_Error_(Error::StsBadArg, ("%s: %s: the current CUDA device is %d, but the array is memory of device %d",
                                         owner, what, currentDevice(), memory.device));
        cudaCheck(cudaMemcpy2DAsync(copy.host, copy.hostStep, copy.device, copy.deviceStep, copy.rowBytes, copy.rows,
                                    cudaMemcpyDeviceToHost, call.stream()),
                  "downloading results");
    }
    call.wait("downloading results");
#else
    CV_UNUSED(owner), CV_UNUSED(what), CV_UNUSED(copies), CV_UNUSED(stream);
    noCuda();
#endif
}

void noCuda() { CV_Error(Error::GpuNotSupported, "a GpuMat was given, but this OpenCV was built without CUDA"); }

// --- outputs ---------------------------------------------------------------------------------------------------------

//! Allocates or frees outside of any graph: memory of the caller's array is no part of one, and to free would end a
//! capture.
template <typename Change> static void changeTarget(const _OutputArray& target, const Change& change)
{
#ifdef HAVE_CUDA
    if (target.isGpuMat() || target.kind() == _InputArray::CUDA_HOST_MEM)
    {
        const OutsideOfCapture outside;
        change();
        return;
    }
#endif
    CV_UNUSED(target); // without CUDA
    change();
}

static void createTarget(const _OutputArray& target, int rows, int cols, int type)
{
    changeTarget(target, [&] { target.create(rows, cols, type); });
}

static void releaseTarget(const _OutputArray& target)
{
    changeTarget(target, [&] { target.release(); });
}

void checkPlace(const char* name, bool toDevice, bool pinned, const ResultsPlace& results)
{
    if (toDevice && !results.onDevice)
        CV_Error_(Error::StsBadArg, ("%s: is a GpuMat, but the results are on the host; give a Mat", name));
#ifdef HAVE_CUDA
    if (results.onDevice && !toDevice && !pinned && isCapturing(results.stream))
        CV_Error_(Error::StsBadArg, ("%s: lies in host memory, so the call would wait, and cannot be captured into a "
                                     "graph; use a GpuMat or a HostMem",
                                     name));
#else
    (void)pinned;
#endif
}

Output::Output(const char* name, const _OutputArray& target, int rows, int cols, int type, const ResultsPlace& results)
    : name_(name), target_(target), rows_(rows), cols_(cols), type_(type)
{
    if (!target.needed())
        return;
    checkPlace(name, target.isGpuMat(), target.kind() == _InputArray::CUDA_HOST_MEM, results);
    const bool vector = target.kind() == _InputArray::STD_VECTOR;
    const size_t count = static_cast<size_t>(rows) * cols;
    if (target.fixedSize() && (vector ? target.total() != count : target.size() != Size(cols, rows)))
        CV_Error_(Error::StsUnmatchedSizes,
                  ("%s: an array of %d x %d elements that cannot be resized, but the results are %d x %d", name,
                   target.rows(), target.cols(), rows, cols));
    if (count == 0)
        return;
    if (target.fixedType() && target.type() != type)
        CV_Error_(Error::StsUnmatchedFormats, ("%s: an array of %s, but the results are %s", name,
                                               typeToString(target.type()).c_str(), typeToString(type).c_str()));
    if (vector && cols > 1 && rows > 1) // a row is possible, as well as a column
        CV_Error_(
            Error::StsBadArg,
            ("%s: the results are %d x %d elements, which a std::vector cannot hold; give a Mat", name, rows, cols));
    if (target.isGpuMat() && target.size() == Size(cols, rows) && target.type() == type)
        checkAligned(name, target.getGpuMat()); // as it will be written in place
}

OutputView Output::allocate()
{
    if (!target_.needed())
        return {};
    if (rows_ == 0 || cols_ == 0)
    {
        if (!target_.fixedSize())
            releaseTarget(target_);
        return {};
    }
    createTarget(target_, rows_, cols_, type_);
    if (target_.isGpuMat())
    {
        device_ = target_.getGpuMat();
        return {name_, device_.data, device_.step, rows_, cols_, device_.elemSize(), Memory::DEVICE};
    }
    host_ = target_.getMat();
    const bool lying = host_.rows != rows_; // OpenCV makes one row of a vector, whose step is the whole row
    CV_Assert(host_.total() == static_cast<size_t>(rows_) * cols_ && host_.type() == type_);
    return {name_,
            host_.data,
            lying ? host_.elemSize() : host_.step,
            rows_,
            cols_,
            host_.elemSize(),
            target_.kind() == _InputArray::CUDA_HOST_MEM ? Memory::PINNED : Memory::HOST};
}

std::vector<_OutputArray> elementsOf(const char* name, const _OutputArray& list, size_t count, int type)
{
    if (!list.needed())
        return std::vector<_OutputArray>(count, noArray());
    if (!list.isMatVector() && !list.isUMatVector() && !list.isGpuMatVector())
        CV_Error_(Error::StsBadArg, ("%s: must be a list of Mat, of UMat or of GpuMat", name));
    if (list.fixedSize() && list.total() != count)
        CV_Error_(Error::StsUnmatchedSizes,
                  ("%s: a list of %zu that cannot be resized, but %zu arrays are needed", name, list.total(), count));
    if (list.isGpuMatVector())
        list.getGpuMatVecRef().resize(count);
    else
        list.create(static_cast<int>(count), 1, type);
    std::vector<_OutputArray> elements;
    for (int i = 0; i < static_cast<int>(count); ++i)
    {
        if (list.isGpuMatVector())
            elements.emplace_back(list.getGpuMatVecRef()[i]);
        else if (list.isUMatVector())
            elements.emplace_back(list.getUMatRef(i));
        else
            elements.emplace_back(list.getMatRef(i));
    }
    return elements;
}

void release(std::initializer_list<const _OutputArray*> targets)
{
    for (const _OutputArray* target : targets)
        if (target->needed() && target->fixedSize())
            CV_Error(Error::StsUnmatchedSizes,
                     "an output array that cannot be resized, but there are no results for it");
    for (const _OutputArray* target : targets)
        if (target->needed())
            releaseTarget(*target);
}

}}} // namespace cv::cuda::detail
