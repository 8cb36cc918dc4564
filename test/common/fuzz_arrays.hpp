// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Puts the inputs and outputs of random cases into arrays of random kinds.
#ifndef OPENCV_CUDATRACKING_TEST_COMMON_FUZZ_ARRAYS_HPP
#define OPENCV_CUDATRACKING_TEST_COMMON_FUZZ_ARRAYS_HPP

#include "fuzz.hpp"
#include <deque>

namespace opencv_test { namespace fuzz {

using cuda::GpuMat;
using cuda::Stream;

//! Memory around regions, which must stay unchanged.
const int AROUND = 0x5a;

//! One input in memory of some kind, kept as long as the calls may read it.
struct Input
{
    Mat mat;
    UMat umat;
    GpuMat holder, gpu;
    cuda::HostMem pinned;
    std::vector<Point> points;
    std::vector<Rect> rects;
    std::vector<Mat> mats;
    std::vector<UMat> umats;
    std::vector<GpuMat> gpus;
    _InputArray array;
};

//! A copy at an odd offset and with a step that no alignment helps: rows follow each other at one element more than
//! needed.
inline Mat withOddStep(const Mat& source, Mat& holder)
{
    if (source.empty())
        return source;
    const size_t element = source.elemSize1(), step = source.cols * source.elemSize() + element;
    holder.create(1, static_cast<int>(step * source.rows + element), CV_8UC1);
    Mat odd(source.rows, source.cols, source.type(), holder.data + element, step);
    source.copyTo(odd);
    return odd;
}

//! A copy in device memory. `kind` 0: as GpuMat allocates it; 1: a region; 2: an odd step.
inline GpuMat upload(const Mat& source, int kind, Stream& stream)
{
    GpuMat holder, target;
    if (source.empty())
        return target;
    if (kind == 1)
    {
        holder.create(source.rows + 3, source.cols + 5, source.type());
        target = holder(Rect(3, 1, source.cols, source.rows));
    }
    else if (kind == 2)
    {
        const size_t element = source.elemSize1(), step = source.cols * source.elemSize() + element;
        holder.create(1, static_cast<int>(step * source.rows + element), CV_8UC1);
        // A header over the holder's memory that shares its counter, so that it lives as long as the header.
        target = holder;
        target.rows = source.rows;
        target.cols = source.cols;
        target.step = step;
        target.data = holder.data + element;
        target.flags = (holder.flags & ~(Mat::TYPE_MASK | Mat::CONTINUOUS_FLAG)) | source.type();
    }
    else
        target.create(source.size(), source.type());
    target.upload(source, stream);
    return target;
}

//! One output of some kind. Knows where it was allocated before the call, and what must not change around it.
class Output
{
public:
    enum Kind
    {
        NONE,
        MAT,
        STALE_MAT, //!< of another size and type before the call
        MAT_REGION,
        UMAT,
        VECTOR,
        GPU, //!< from here on in device memory
        STALE_GPU,
        GPU_REGION,
        HOST_MEM
    };

    //! `size` empty: not known before the call.
    Output(const std::string& name, Kind kind, Size size, int type, Stream& stream)
        : name_(name), kind_(kind), size_(size)
    {
        const Size whole(size.width + 6, size.height + 4);
        const Rect part(2, 3, size.width, size.height);
        if (kind == STALE_MAT)
            mat_ = Mat(3, 5, CV_16SC1, Scalar::all(AROUND));
        else if (kind == STALE_GPU)
            gpu_ = GpuMat(3, 5, CV_16SC1, Scalar::all(AROUND));
        else if (kind == MAT_REGION)
        {
            holder_ = Mat(whole, type);
            std::memset(holder_.data, AROUND, holder_.total() * holder_.elemSize());
            mat_ = holder_(part);
        }
        else if (kind == GPU_REGION)
        {
            Mat around(whole, type);
            std::memset(around.data, AROUND, around.total() * around.elemSize());
            gpuHolder_.upload(around, stream);
            gpu_ = gpuHolder_(part);
        }
        place_ = kind == MAT_REGION ? mat_.data : kind == GPU_REGION ? gpu_.data : nullptr;
        setArray(type);
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    const _OutputArray& array() const { return array_; }
    const std::string& name() const { return name_; }
    bool wanted() const { return kind_ != NONE; }

    //! After the calls and their stream.
    Mat value() const
    {
        checkSurroundings();
        const Mat m = raw();
        return m.empty() ? Mat() : m;
    }

private:
    //! A std::vector, which OpenCV makes 1 x N, as N x 1.
    Mat raw() const
    {
        switch (kind_)
        {
        case UMAT:
            return umat_.getMat(ACCESS_READ).clone();
        case VECTOR:
        {
            const Mat row = array_.getMat();
            return row.empty() ? Mat() : row.clone().reshape(row.channels(), static_cast<int>(row.total()));
        }
        case GPU:
        case STALE_GPU:
        case GPU_REGION:
            return Mat(gpu_);
        case HOST_MEM:
            return pinned_.createMatHeader().clone();
        default:
            return mat_.clone();
        }
    }

    void setArray(int type)
    {
        if (kind_ == NONE)
            array_ = _OutputArray(static_cast<const _OutputArray&>(noArray()));
        else if (kind_ == UMAT)
            array_ = _OutputArray(umat_);
        else if (kind_ == GPU || kind_ == STALE_GPU || kind_ == GPU_REGION)
            array_ = _OutputArray(gpu_);
        else if (kind_ == HOST_MEM)
            array_ = _OutputArray(pinned_);
        else if (kind_ == VECTOR)
            setVector(type);
        else
            array_ = _OutputArray(mat_);
    }

    void setVector(int type)
    {
        switch (type)
        {
        case CV_8UC1:
            return void(array_ = _OutputArray(bytes_));
        case CV_32SC1:
            return void(array_ = _OutputArray(ints_));
        case CV_32FC1:
            return void(array_ = _OutputArray(floats_));
        case CV_32SC2:
            return void(array_ = _OutputArray(points_));
        case CV_32FC2:
            return void(array_ = _OutputArray(points2f_));
        case CV_32SC4:
            return void(array_ = _OutputArray(rects_));
        default:
            kind_ = MAT;
            array_ = _OutputArray(mat_);
        }
    }

    void checkSurroundings() const
    {
        if (!place_)
            return;
        if ((kind_ == MAT_REGION ? mat_.data : gpu_.data) != place_)
            CV_Error_(Error::StsError,
                      ("%s: was given with the right size and type and allocated anew", name_.c_str()));
        Mat whole = kind_ == MAT_REGION ? holder_.clone() : Mat(gpuHolder_);
        const size_t from = 2 * whole.elemSize(), to = from + size_.width * whole.elemSize();
        for (int y = 0; y < whole.rows; ++y)
            for (size_t x = 0; x < whole.cols * whole.elemSize(); ++x)
                if ((y < 3 || y >= 3 + size_.height || x < from || x >= to) && whole.ptr(y)[x] != AROUND)
                    CV_Error_(Error::StsError, ("%s: written outside of the region", name_.c_str()));
    }

    const std::string name_;
    Kind kind_;
    const Size size_;
    const uchar* place_ = nullptr;
    Mat mat_, holder_;
    UMat umat_;
    GpuMat gpu_, gpuHolder_;
    cuda::HostMem pinned_;
    std::vector<uchar> bytes_;
    std::vector<int> ints_;
    std::vector<float> floats_;
    std::vector<Point> points_;
    std::vector<Point2f> points2f_;
    std::vector<Rect> rects_;
    _OutputArray array_;
};

/** Inputs and outputs of one run of a case. What is wanted at all does not depend on the engine, and is drawn apart
from where it lies. */
class Arrays
{
public:
    Arrays(Engine engine, uint64 seed, bool plain) : engine_(engine), plain_(plain), wishes_(seed), places_(seed + 1)
    {
        const int kind = place(3);
        if (engine == Engine::CUDA)
            stream_ = kind == 0 ? cuda::noStream() : Stream(static_cast<size_t>(kind - 1)); // 1: cudaStreamNonBlocking
    }

    Engine engine() const { return engine_; }
    Stream& stream() { return engine_ == Engine::CUDA ? stream_ : cuda::noStream(); }

    //! From here on results and what belongs to them are on the host although the engine is CUDA.
    void stayOnHost()
    {
        finish();
        engine_ = Engine::CPU;
    }

    //! An image where this engine takes it.
    const _InputArray& in(const Mat& source) { return engine_ == Engine::CUDA ? inDevice(source) : inHost(source); }

    const _InputArray& inHost(const Mat& source)
    {
        Input& input = next();
        const int kind = place(pinnedMemory() ? 5 : 4);
        if (kind == 3 && !source.empty())
        {
            source.copyTo(input.umat);
            return input.array = _InputArray(input.umat);
        }
        if (kind == 4 && !source.empty())
        {
            input.pinned = cuda::HostMem(source);
            return input.array = _InputArray(input.pinned);
        }
        input.mat = copyOf(source, kind);
        return input.array = _InputArray(input.mat);
    }

    const _InputArray& inDevice(const Mat& source)
    {
        Input& input = next();
        input.gpu = upload(source, place(3), stream());
        return input.array = _InputArray(input.gpu);
    }

    const _InputArray& list(const std::vector<Mat>& sources, bool onDevice)
    {
        Input& input = next();
        const bool umats = place(4) == 3;
        for (const Mat& source : sources)
            if (onDevice)
                input.gpus.push_back(upload(source, place(3), stream()));
            else if (!umats)
                input.mats.push_back(copyOf(source, place(3)));
            else
            {
                input.umats.emplace_back();
                source.copyTo(input.umats.back());
            }
        return input.array = onDevice ? _InputArray(input.gpus)
                             : umats  ? _InputArray(input.umats)
                                      : _InputArray(input.mats);
    }

    //! Rectangles as a vector, a row or a column of 4 channels, or four columns of integers.
    const _InputArray& rects(const std::vector<Rect>& source, bool onDevice)
    {
        Input& input = next();
        input.rects = source;
        return tuples(columnOf(source), onDevice, _InputArray(input.rects));
    }

    //! Positions likewise, but never as a row: further columns of a row are ignored.
    const _InputArray& points(const Mat& column, bool onDevice)
    {
        Input& input = next();
        input.points.assign(column.begin<Point>(), column.end<Point>());
        return tuples(column, onDevice, _InputArray(input.points), false);
    }

    //! `size` empty: not known before the call. `optional`: may be left out.
    const _OutputArray& out(const std::string& name, Size size, int type, bool optional = false)
    {
        const bool wanted = !optional || wishes_.uniform(0, 4) != 0;
        outputs_.emplace_back(name, wanted ? kindOf(size) : Output::NONE, size, type, stream());
        return outputs_.back().array();
    }

    void number(const std::string& name, double value) { values_.emplace_back(name, Mat(1, 1, CV_64F, Scalar(value))); }
    void value(const std::string& name, const Mat& value) { values_.emplace_back(name, value.clone()); }

    //! All that was noted, then all outputs, after waiting for the stream.
    Outputs collect()
    {
        finish();
        Outputs all = values_;
        for (const Output& output : outputs_)
            if (output.wanted())
                all.emplace_back(output.name(), output.value());
        return all;
    }

private:
    int place(int n) { return plain_ ? 0 : places_.uniform(0, n); }
    static bool pinnedMemory()
    {
        static const bool possible = cuda::getCudaEnabledDeviceCount() > 0;
        return possible;
    }
    Input& next()
    {
        inputs_.emplace_back();
        return inputs_.back();
    }
    void finish()
    {
        if (engine_ == Engine::CUDA)
            stream_.waitForCompletion();
    }

    Mat copyOf(const Mat& source, int kind)
    {
        if (kind == 1)
            return asRoi(source);
        if (kind != 2)
            return source.clone();
        holders_.emplace_back();
        return withOddStep(source, holders_.back());
    }

    const _InputArray& tuples(const Mat& column, bool onDevice, const _InputArray& asVector, bool orRow = true)
    {
        const int kind = place(4);
        Mat shaped = column; // N x 1
        if (kind == 1 && orRow)
            shaped = column.reshape(column.channels(), 1);
        else if (kind == 2)
            shaped = column.reshape(1, column.rows);
        if (onDevice)
            return inDevice(shaped);
        if (kind != 3)
            return inHost(shaped);
        Input& input = next();
        return input.array = asVector;
    }

    Output::Kind kindOf(Size size)
    {
        std::vector<Output::Kind> kinds;
        if (engine_ == Engine::CUDA)
        {
            kinds = {Output::GPU, Output::GPU, Output::STALE_GPU, Output::HOST_MEM};
            if (size.area() > 0)
                kinds.push_back(Output::GPU_REGION);
        }
        for (const Output::Kind kind : {Output::MAT, Output::STALE_MAT, Output::UMAT})
            kinds.push_back(kind);
        if (size.area() > 0)
            kinds.push_back(Output::MAT_REGION);
        if (size.width == 1)
            kinds.push_back(Output::VECTOR);
        return kinds[place(static_cast<int>(kinds.size()))];
    }

    Engine engine_;
    const bool plain_;
    RNG wishes_, places_;
    Stream stream_ = cuda::noStream();
    std::deque<Input> inputs_;
    std::deque<Mat> holders_;
    std::deque<Output> outputs_;
    Outputs values_;
};

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_COMMON_FUZZ_ARRAYS_HPP
