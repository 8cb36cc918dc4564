// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Functions for the package of python/, which read arrays of other libraries in device memory. Part of
// pyopencv_cudatracking.hpp.
#pragma once

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
    mat = cv::cuda::GpuMat(
        static_cast<int>(shape[0]), static_cast<int>(shape[1]), CV_MAKETYPE(depth, static_cast<int>(channelCount)),
        static_cast<char*>(tensor.data) + tensor.offset, static_cast<size_t>(rowToRow) * (tensor.bits / 8));
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
    int count = 0;
    ERRWRAP2(count = (*matcher)->getFragmentCount());
    const int pixels = 1 << CV_8U | 1 << CV_16U, channels = 1 << 1 | 1 << 3 | 1 << 4;
    const int any[2] = {0, 0}, boxes[2] = {count, 4};
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
        {"createGpuMatFromTensor", cudatracking_fromTensor, METH_VARARGS,                                              \
         "createGpuMatFromTensor(tensor, depths, channels, rows, cols, device, stream) -> retval\n"                    \
         ".   @brief Describes an array of torch, 2.10 or newer, as a GpuMat, without a copy. Returns None where "     \
         "that "                                                                                                       \
         "does not do.\n"                                                                                              \
         ".   @param depths Bit 1 << CV_8U for uint8, and so on, up to CV_32S.\n"                                      \
         ".   @param channels Bit 1 << 3 for three channels, and so on. Arrays of two axes always have one.\n"         \
         ".   @param rows, cols Sides that are needed; 0: any.\n"                                                      \
         ".   @param device, stream Device of the memory, and address of the stream on which the library must work "   \
         "now."},
