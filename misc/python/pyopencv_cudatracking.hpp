// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Type names that OpenCV's binding generator invents and expects to exist, conversions that it lacks, and functions for
// the package of python/ (tensors.hpp).
#ifdef HAVE_OPENCV_CUDATRACKING

// The generator of a CPU-only build skips headers whose path contains modules/cuda; this file is included nevertheless.
#include "opencv2/cudatracking.hpp"
#include <cstring>
#include <string>

typedef cv::cuda::FragmentMatcher::Params FragmentMatcher_Params;
typedef cv::cuda::TemplateFinder::Params TemplateFinder_Params;
typedef std::vector<cv::cuda::FragmentMatch> vector_FragmentMatch;
typedef std::vector<cv::cuda::TemplatePose> vector_TemplatePose;

// InputArrayOfArrays has a GpuMat overload, whose argument the generator declares as `vector_cuda::GpuMat`.
namespace vector_cuda {
typedef std::vector<cv::cuda::GpuMat> GpuMat;
}

// This file is included before the generated code of the module's types and replaces functions that this code calls.
// They are templates, because builds that leave out the headers have no such types.

// --- texts that are not UTF-8 ----------------------------------------------------------------------------------------
// Linux has file names of any bytes, which Python represents by lone surrogates, and messages quote files. OpenCV's
// conversions end the process at both.

//! Writes bytes that are not UTF-8 as \x and two digits.
static std::string cudatracking_utf8(const std::string& text)
{
    std::string valid;
    PySafeObject decoded(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    if (decoded)
        getUnicodeString(decoded, valid);
    return valid;
}

static void cudatracking_raise(cv::Exception e)
{
    for (std::string* text : {&e.file, &e.func, &e.err, &e.msg})
        *text = cudatracking_utf8(*text);
    pyRaiseCVException(e);
}

#undef ERRWRAP2
#define ERRWRAP2(expr)                                                                                                 \
    try                                                                                                                \
    {                                                                                                                  \
        PyAllowThreads allowThreads;                                                                                   \
        expr;                                                                                                          \
    }                                                                                                                  \
    catch (const cv::Exception& e)                                                                                     \
    {                                                                                                                  \
        cudatracking_raise(e);                                                                                         \
        return 0;                                                                                                      \
    }                                                                                                                  \
    catch (const std::exception& e)                                                                                    \
    {                                                                                                                  \
        PyErr_SetString(opencv_error, cudatracking_utf8(e.what()).c_str());                                            \
        return 0;                                                                                                      \
    }                                                                                                                  \
    catch (...)                                                                                                        \
    {                                                                                                                  \
        PyErr_SetString(opencv_error, "Unknown C++ exception from OpenCV code");                                       \
        return 0;                                                                                                      \
    }

//! A str as the bytes that it stands for, where UTF-8 has none. Overload resolution prefers this to OpenCV's template.
static bool pyopencv_to_safe(PyObject* object, cv::String& text, const ArgInfo& info)
{
    PySafeObject path(info.pathlike && object && object != Py_None ? PyOS_FSPath(object) : nullptr);
    PyObject* const given = path ? (PyObject*)path : object;
    PySafeObject valid(given && PyUnicode_Check(given) ? PyUnicode_AsUTF8String(given) : nullptr);
    PyErr_Clear(); // what is no path is refused below, by a message of OpenCV
    if (valid || !given || !PyUnicode_Check(given))
        return pyopencv_to_safe<cv::String>(object, text, info);
    PySafeObject bytes(PyUnicode_EncodeFSDefault(given));
    return bytes && pyopencv_to_safe<cv::String>((PyObject*)bytes, text, info);
}

// --- text of a FragmentMatch -----------------------------------------------------------------------------------------

template <typename Object> PyObject* cudatracking_reprOfMatch(Object* self)
{
    cv::cuda::FragmentMatch* match = nullptr;
    if (!pyopencv_cuda_FragmentMatch_getp(self, match))
        return pyopencv_cuda_FragmentMatch_repr(self);
    std::string locations, scores;
    for (const cv::Point& p : match->locations)
        locations += cv::format("%s(%d, %d)", locations.empty() ? "" : ", ", p.x, p.y);
    for (const float score : match->scores)
        scores += cv::format("%s%.9g", scores.empty() ? "" : ", ", score);
    return PyUnicode_FromFormat("FragmentMatch(locations=[%s], scores=[%s], confidence=%s, status=%d)",
                                locations.c_str(), scores.c_str(), cv::format("%.9g", match->confidence).c_str(),
                                match->status);
}
#define pyopencv_cuda_FragmentMatch_repr cudatracking_reprOfMatch<PyObject>

// --- objects that were not made by create() --------------------------------------------------------------------------

// Python can construct objects of abstract classes, whose methods would call through a null pointer. For these objects
// the functions below report a wrong type.
#define CUDATRACKING_CHECKED(CLASS)                                                                                    \
    template <typename Object> bool cudatracking_##CLASS##_getp(Object* self, cv::Ptr<cv::cuda::CLASS>*& pointer)      \
    {                                                                                                                  \
        return pyopencv_cuda_##CLASS##_getp(self, pointer) && pointer->get();                                          \
    }
CUDATRACKING_CHECKED(FragmentMatcher)
CUDATRACKING_CHECKED(TemplateFinder)
CUDATRACKING_CHECKED(QuickShift)
CUDATRACKING_CHECKED(QuickShiftTiles)
CUDATRACKING_CHECKED(CascadeClassifierEx)
CUDATRACKING_CHECKED(TLDDetector)
CUDATRACKING_CHECKED(TrackerTLD)
CUDATRACKING_CHECKED(MultiTrackerTLD)
#undef CUDATRACKING_CHECKED

//! The matcher of an object that was made by create(). The second one serves builds that leave out the headers.
template <typename Object>
auto cudatracking_matcherOf(Object* object, cv::Ptr<cv::cuda::FragmentMatcher>*& pointer, int)
    -> decltype(pyopencv_cuda_FragmentMatcher_getp(object, pointer))
{
    return cudatracking_FragmentMatcher_getp(object, pointer);
}
template <typename Object> bool cudatracking_matcherOf(Object*, cv::Ptr<cv::cuda::FragmentMatcher>*&, long)
{
    return false;
}

#define pyopencv_cuda_FragmentMatcher_getp cudatracking_FragmentMatcher_getp
#define pyopencv_cuda_TemplateFinder_getp cudatracking_TemplateFinder_getp
#define pyopencv_cuda_QuickShift_getp cudatracking_QuickShift_getp
#define pyopencv_cuda_QuickShiftTiles_getp cudatracking_QuickShiftTiles_getp
#define pyopencv_cuda_CascadeClassifierEx_getp cudatracking_CascadeClassifierEx_getp
#define pyopencv_cuda_TLDDetector_getp cudatracking_TLDDetector_getp
#define pyopencv_cuda_TrackerTLD_getp cudatracking_TrackerTLD_getp
#define pyopencv_cuda_MultiTrackerTLD_getp cudatracking_MultiTrackerTLD_getp

// --- lists of rectangles and points ----------------------------------------------------------------------------------
// Overload resolution prefers the functions below to OpenCV's template of the same name. They change only arguments of
// certain names and pass on all others.

/** Converts a list of tuples or an array of integers of any width to an array of 32-bit integers. If a value does not
fit, the result has doubles, which the C++ side refuses with that value; OpenCV would drop the upper bits silently.
@return null if numpy has set an error. */
static PyObject* cudatracking_integers(PyObject* given)
{
    PyObject* const array = PyArray_FROM_O(given);
    const bool ready =
        array && PyArray_TYPE((PyArrayObject*)array) == NPY_INT && PyArray_ISNOTSWAPPED((PyArrayObject*)array);
    if (!array || ready || !PyTypeNum_ISINTEGER(PyArray_TYPE((PyArrayObject*)array)))
        return array;
    PySafeObject integers(array);
    PySafeObject doubles(PyArray_FROM_OTF(array, NPY_DOUBLE, NPY_ARRAY_CARRAY | NPY_ARRAY_FORCECAST));
    if (!doubles)
        return nullptr;
    PyArrayObject* const all = (PyArrayObject*)(PyObject*)doubles;
    const double* const values = (const double*)PyArray_DATA(all);
    for (npy_intp i = 0; i < PyArray_SIZE(all); ++i)
        if (values[i] < -2147483648. || values[i] > 2147483647.)
            return doubles.release();
    return PyArray_FROM_OTF(array, NPY_INT, NPY_ARRAY_CARRAY | NPY_ARRAY_FORCECAST);
}

//! Whether an argument is a list of points or rectangles that a caller passes in.
static bool cudatracking_isList(PyObject* object, const ArgInfo& info)
{
    const bool named = std::strcmp(info.name, "searchAreas") == 0 || std::strcmp(info.name, "locations") == 0 ||
                       std::strcmp(info.name, "boxes") == 0;
    return named && !info.outputarg && object;
}

/** Refuses a number, or numbers in one row, where a list of points or rectangles is needed. OpenCV would make doubles
of a number and of True, and the C++ side would refuse these by a message that does not help. */
static bool cudatracking_refused(PyObject* object, const ArgInfo& info)
{
    if (PyLong_Check(object) || PyFloat_Check(object))
    {
        const char* const kind = PyBool_Check(object) ? "bool" : (PyLong_Check(object) ? "int" : "float");
        failmsg("%s: %s is given, but an array or a list of tuples is needed", info.name, kind);
        return true;
    }
    if (!PyArray_Check(object))
        return false;
    PyArrayObject* const numbers = (PyArrayObject*)object;
    if (PyArray_NDIM(numbers) != 1 || PyArray_SIZE(numbers) == 0 || !PyTypeNum_ISNUMBER(PyArray_TYPE(numbers)))
        return false;
    failmsg("%s: %d numbers are given, but a list of tuples or an array of two dimensions is needed; one element is "
            "[(%s)]",
            info.name, static_cast<int>(PyArray_SIZE(numbers)),
            std::strcmp(info.name, "locations") == 0 ? "x, y" : "x, y, width, height");
    return true;
}

static bool pyopencv_to_safe(PyObject* object, cv::Mat& mat, const ArgInfo& info)
{
    if (!cudatracking_isList(object, info))
        return pyopencv_to_safe<cv::Mat>(object, mat, info);
    if (cudatracking_refused(object, info))
        return false;
    if (!(PyArray_Check(object) || PyList_Check(object) || PyTuple_Check(object)))
        return pyopencv_to_safe<cv::Mat>(object, mat, info);
    PySafeObject array(cudatracking_integers(object));
    return array && !cudatracking_refused(array, info) && pyopencv_to_safe<cv::Mat>((PyObject*)array, mat, info);
}

//! OpenCV tries a UMat when a Mat was refused, and would make doubles of a number, and of a tuple of numbers, again.
static bool pyopencv_to_safe(PyObject* object, cv::UMat& mat, const ArgInfo& info)
{
    if (cudatracking_isList(object, info) && (cudatracking_refused(object, info) || PyTuple_Check(object)))
        return false;
    return pyopencv_to_safe<cv::UMat>(object, mat, info);
}

/** Whether one array, of the shape of one image, stands where a list of images is needed. OpenCV takes each row as an
image; the C++ side knows these rows by their places behind each other. But OpenCV copies the rows of a transposed or
reversed array, each on its own, so such an array has to be copied as a whole before. */
static bool cudatracking_isImageForList(PyObject* object, const ArgInfo& info)
{
    if (info.outputarg || !object || !PyArray_Check(object) ||
        (std::strcmp(info.name, "images") != 0 && std::strcmp(info.name, "templates") != 0))
        return false;
    PyArrayObject* const array = (PyArrayObject*)object;
    const int dims = PyArray_NDIM(array);
    return (dims == 2 || (dims == 3 && PyArray_DIM(array, 2) <= 4)) && !PyArray_IS_C_CONTIGUOUS(array);
}

//! Refuses a list that contains an array of numpy's bool with its index; OpenCV reports only a wrong type.
static bool pyopencv_to_safe(PyObject* object, std::vector<cv::Mat>& mats, const ArgInfo& info)
{
    if (cudatracking_isImageForList(object, info))
    {
        PySafeObject rows(PyArray_FROM_OF(object, NPY_ARRAY_C_CONTIGUOUS));
        return rows && pyopencv_to_safe<std::vector<cv::Mat>>((PyObject*)rows, mats, info);
    }
    const bool weights = std::strcmp(info.name, "weights") == 0, masks = std::strcmp(info.name, "masks") == 0;
    if ((weights || masks) && object && (PyList_Check(object) || PyTuple_Check(object)))
        for (Py_ssize_t i = 0; i < PySequence_Size(object); ++i)
        {
            PySafeObject item(PySequence_GetItem(object, i));
            if (item && PyArray_Check((PyObject*)item) && PyArray_TYPE((PyArrayObject*)(PyObject*)item) == NPY_BOOL)
            {
                failmsg("%s[%d] is of numpy's bool, but uint8 is needed: %sx.astype(numpy.uint8)", info.name,
                        static_cast<int>(i), weights ? "255 * " : "");
                return false;
            }
        }
    return pyopencv_to_safe<std::vector<cv::Mat>>(object, mats, info);
}

#include "tensors.hpp"

#endif // HAVE_OPENCV_CUDATRACKING
