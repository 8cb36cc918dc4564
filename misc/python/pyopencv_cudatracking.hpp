// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Type names that OpenCV's binding generator invents and expects to exist, conversions that it lacks, and functions for
// the package of python/.
#ifdef HAVE_OPENCV_CUDATRACKING

// The generator of a CPU-only build skips headers whose path contains modules/cuda; this file is included nevertheless.
#include "opencv2/cudatracking.hpp"
#include <cstring>
#include <string>

typedef cv::cuda::FragmentMatcher::Params FragmentMatcher_Params;
typedef std::vector<cv::cuda::FragmentMatch> vector_FragmentMatch;
typedef std::vector<cv::Ptr<cv::cuda::CascadeClassifierEx>> vector_Ptr_CascadeClassifierEx;

// InputArrayOfArrays has a GpuMat overload, whose argument the generator declares as `vector_cuda::GpuMat`.
namespace vector_cuda {
typedef std::vector<cv::cuda::GpuMat> GpuMat;
}

// This file is included before the generated code of the module's types and replaces functions that this code calls.
// They are templates, because builds that leave out the headers have no such types.

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
template <typename Object>
bool cudatracking_matcherOf(Object*, cv::Ptr<cv::cuda::FragmentMatcher>*&, long)
{
    return false;
}

#define pyopencv_cuda_FragmentMatcher_getp cudatracking_FragmentMatcher_getp
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

// --- arrays of other libraries in device memory ----------------------------------------------------------------------

//! DLTensor of DLPack.
struct cudatracking_Tensor
{
    void* data;
    int32_t deviceType, device; //!< type 2: CUDA
    int32_t dims;
    uint8_t code, bits; //!< code 0: signed integers; 1: unsigned ones
    uint16_t lanes;
    const int64_t *shape, *strides; //!< in elements; strides can be null: one row follows the other
    uint64_t offset;                //!< bytes from data to the first element
};

/** Functions by which a library lends its arrays to C code: DLPackExchangeAPI of DLPack 1.3, newer than OpenCV's
dlpack.h. A type has it as `__dlpack_c_exchange_api__`; torch.Tensor does from torch 2.10 on. */
struct cudatracking_Exchange
{
    uint32_t major, minor;
    const cudatracking_Exchange* older;
    void *allocate, *lend, *take;
    int (*describe)(void* array, cudatracking_Tensor* tensor); //!< null if the library has none
    int (*currentStream)(int32_t deviceType, int32_t device, void** stream);
};

//! The functions of the library of an array, or null.
static const cudatracking_Exchange* cudatracking_exchangeOf(PyObject* array)
{
    static PyObject* const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    PySafeObject capsule(PyObject_GetAttr((PyObject*)Py_TYPE(array), name));
    if (!capsule)
        return nullptr;
    void* const table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    const cudatracking_Exchange* const made = static_cast<const cudatracking_Exchange*>(table);
    return made && made->major == 1 && made->describe ? made : nullptr;
}

//! Depth of signed and unsigned integers of up to 32 bits, or -1.
static int cudatracking_depthOf(const cudatracking_Tensor& tensor)
{
    if (tensor.lanes != 1 || tensor.code > 1)
        return -1;
    const bool hasSign = tensor.code == 0;
    if (tensor.bits == 8)
        return hasSign ? CV_8S : CV_8U;
    if (tensor.bits == 16)
        return hasSign ? CV_16S : CV_16U;
    return tensor.bits == 32 && hasSign ? CV_32S : -1;
}

/** Describes an array as a GpuMat. `depths` and `channels` are sets of bits; `sides` are rows and columns, 0 for any.
@return whether it can be done, and the library works on the stream now. An error of Python can be set if not. */
static bool cudatracking_describe(PyObject* array, int depths, int channels, const int sides[2], int device,
                                  uint64_t stream, cv::cuda::GpuMat& mat)
{
    const cudatracking_Exchange* const library = cudatracking_exchangeOf(array);
    cudatracking_Tensor tensor;
    const int32_t cuda = 2;
    if (!library || library->describe(array, &tensor) != 0)
        return false;
    if (tensor.deviceType != cuda || tensor.device != device || !tensor.data)
        return false;
    const int depth = cudatracking_depthOf(tensor);
    if (depth < 0 || !(depths >> depth & 1) || (tensor.dims != 2 && tensor.dims != 3))
        return false;
    const int64_t* const shape = tensor.shape;
    const int64_t channelCount = tensor.dims == 3 ? shape[2] : 1;
    if (channelCount < 1 || channelCount > 30 || (tensor.dims == 3 && !(channels >> channelCount & 1)))
        return false;
    for (int i = 0; i < 2; ++i)
        if (shape[i] < 1 || shape[i] > INT_MAX || (sides[i] && shape[i] != sides[i]))
            return false;
    const int64_t row = shape[1] * channelCount;
    if (const int64_t* const strides = tensor.strides)
        if (strides[tensor.dims - 1] != 1 || strides[1] != channelCount || (shape[0] > 1 && strides[0] < row))
            return false;
    void* now = nullptr;
    if (library->currentStream(cuda, device, &now) != 0)
        return false;
    const uint64_t handle = reinterpret_cast<uintptr_t>(now);
    if ((handle == 1 ? 0 : handle) != stream) // both 0 and 1 are the null stream
        return false;
    const int64_t rowToRow = tensor.strides && shape[0] > 1 ? tensor.strides[0] : row;
    mat = cv::cuda::GpuMat(static_cast<int>(shape[0]), static_cast<int>(shape[1]),
                           CV_MAKETYPE(depth, static_cast<int>(channelCount)),
                           static_cast<char*>(tensor.data) + tensor.offset,
                           static_cast<size_t>(rowToRow) * (tensor.bits / 8));
    return true;
}

static PyObject* cudatracking_fromTensor(PyObject*, PyObject* arguments)
{
    PyObject* array = nullptr;
    int depths = 0, channels = 0, sides[2] = {0, 0}, device = 0;
    unsigned long long stream = 0;
    if (!PyArg_ParseTuple(arguments, "OiiiiiK:createGpuMatFromTensor", &array, &depths, &channels, &sides[0], &sides[1],
                          &device, &stream))
        return nullptr;
    cv::cuda::GpuMat mat;
    if (cudatracking_describe(array, depths, channels, sides, device, stream, mat))
        return pyopencv_from(mat);
    PyErr_Clear();
    Py_RETURN_NONE;
}

//! The GpuMat of an object that is one, or null.
template <typename Object> cv::cuda::GpuMat* cudatracking_matOf(Object* object)
{
    cv::Ptr<cv::cuda::GpuMat>* mat = nullptr;
    return pyopencv_cuda_GpuMat_getp(object, mat) ? mat->get() : nullptr;
}

template <typename Object> PyObject* cudatracking_matchTensors(Object*, PyObject* arguments)
{
    PyObject *self = nullptr, *frame = nullptr, *areas = nullptr, *outputs = nullptr, *queue = nullptr;
    int device = 0;
    unsigned long long stream = 0;
    if (!PyArg_ParseTuple(arguments, "OOOO!iKO:matchTensors", &self, &frame, &areas, &PyTuple_Type, &outputs, &device,
                          &stream, &queue))
        return nullptr;
    cv::Ptr<cv::cuda::FragmentMatcher>* matcher = nullptr;
    if (!cudatracking_matcherOf((Object*)self, matcher, 0) || PyTuple_Size(outputs) != 5)
        return failmsgp("matchTensors: a FragmentMatcher, and five GpuMat for results, are needed");
    cv::cuda::GpuMat image, where, results[5];
    for (int i = 0; i < 5; ++i)
    {
        const cv::cuda::GpuMat* const mat = cudatracking_matOf((Object*)PyTuple_GetItem(outputs, i));
        if (!mat)
            return failmsgp("matchTensors: outputs[%d]: a GpuMat is needed", i);
        results[i] = *mat;
    }
    cv::cuda::Stream order = cv::cuda::noStream();
    if (!pyopencv_to_safe(queue, order, ArgInfo("queue", 0)))
        return nullptr;
    const int pixels = 1 << CV_8U | 1 << CV_16U, channels = 1 << 1 | 1 << 3 | 1 << 4;
    const int any[2] = {0, 0}, boxes[2] = {(*matcher)->getFragmentCount(), 4};
    bool fits = cudatracking_describe(frame, pixels, channels, any, device, stream, image);
    if (const cv::cuda::GpuMat* const mat = cudatracking_matOf((Object*)areas))
        where = *mat;
    else
        fits = fits && boxes[0] > 0 && cudatracking_describe(areas, 1 << CV_32S, 0, boxes, device, stream, where);
    if (!fits)
    {
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    ERRWRAP2((*matcher)->match(image, where, results[0], results[1], results[2], results[3], results[4], order));
    Py_RETURN_TRUE;
}

#define PYOPENCV_EXTRA_METHODS_CUDA                                                                                    \
    {"matchTensors", cudatracking_matchTensors<PyObject>, METH_VARARGS,                                                \
     "matchTensors(matcher, frame, areas, outputs, device, stream, queue) -> retval\n"                                 \
     ".   @brief Calls FragmentMatcher.match() with arrays as createGpuMatFromTensor() takes them. Returns False, "    \
     "and calls nothing, where they are others.\n"                                                                     \
     ".   @param areas Array, or a GpuMat.\n"                                                                          \
     ".   @param outputs Tuple of five GpuMat of the sizes and types of the results.\n"                                \
     ".   @param queue Stream for the work: that of the address `stream`, or None for the null stream."},              \
    {"createGpuMatFromTensor", cudatracking_fromTensor, METH_VARARGS,                                                  \
     "createGpuMatFromTensor(tensor, depths, channels, rows, cols, device, stream) -> retval\n"                        \
     ".   @brief Describes an array of torch, 2.10 or newer, as a GpuMat, without a copy. Returns None where that "    \
     "does not do.\n"                                                                                                  \
     ".   @param depths Bit 1 << CV_8U for uint8, and so on, up to CV_32S.\n"                                          \
     ".   @param channels Bit 1 << 3 for three channels, and so on. Arrays of two axes always have one.\n"             \
     ".   @param rows, cols Sides that are needed; 0: any.\n"                                                          \
     ".   @param device, stream Device of the memory, and address of the stream on which the library must work now."},

#endif // HAVE_OPENCV_CUDATRACKING
