// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "../common/device_buffer.hpp"
#include "stages.hpp"
#include "stages_cuda.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

namespace {

using detail::cudaCheck;
using detail::DeviceBuffer;

cudaStream_t raw(Stream& stream) { return StreamAccessor::getStream(stream); }

gpu::Source sourceOf(const GpuMat& image, const GpuMat& mask = GpuMat())
{
    return {image.data, image.step, image.depth(), image.channels(), {mask.data, mask.step}};
}

//! Waits for the stream.
template <typename T> T download(const T* device, cudaStream_t stream)
{
    T value;
    cudaCheck(cudaMemcpyAsync(&value, device, sizeof(T), cudaMemcpyDeviceToHost, stream), "quick shift download");
    cudaCheck(cudaStreamSynchronize(stream), "quick shift");
    return value;
}

//! Lets fill() write a GpuMat of the wanted shape: the output itself, or a passing one that is downloaded. Host: waits.
template <typename Fill> void produce(OutputArray out, int rows, int cols, int type, Stream& stream, const Fill& fill)
{
    if (!out.needed())
        return;
    if (rows == 0 || cols == 0)
        return out.release();
    if (out.kind() == _InputArray::CUDA_GPU_MAT)
    {
        out.create(rows, cols, type);
        GpuMat mat = out.getGpuMat();
        return fill(mat);
    }
    GpuMat mat(rows, cols, type);
    fill(mat);
    mat.download(out, stream);
    stream.waitForCompletion();
}

class CudaEngine : public Engine
{
public:
    void compute(const std::vector<_InputArray>& images, const std::vector<_InputArray>& masks, const Plan& plan,
                 Stream& stream) CV_OVERRIDE
    {
        checkDevice();
        const Size size = images[0].size();
        const int type = images[0].type();
        extent_ = {size.width, size.height, static_cast<int>(images.size())};
        parameters_ = plan.parameters;
        stream_ = stream;
        const bool bytes = CV_MAT_DEPTH(type) == CV_8U && !plan.scaled;
        reserve(bytes, CV_MAT_CN(type), !masks.empty());
        uploadSpatial(plan, stream);

        gpu::Scales scales = {{}, plan.scaled};
        std::copy(plan.scales, plan.scales + MAX_CHANNELS, scales.factor);
        const cudaStream_t s = raw(stream);
        for (int i = 0; i < extent_.count; ++i)
            gpu::pack(sourceOf(images[i].getGpuMat(), masks.empty() ? GpuMat() : masks[i].getGpuMat()), i, extent_,
                      scales, features_, s);
        gpu::density(features_, extent_, parameters_, spatial_.as<float>(), sums_.as<uint64_t>(), keys_.as<uint32_t>(),
                     cells_.as<uint32_t>(), s);
        gpu::parents(features_, extent_, parameters_, keys_.as<uint32_t>(), cells_.as<uint32_t>(), jumps(),
                     far_.as<int>(), parents_.as<int>(), distances_.as<float>(), s);
        gpu::label(extent_, parents_.as<int>(), distances_.as<float>(), INFINITY, jumps(), ranks(), labels_.as<int>(),
                   counts_.as<int>(), scratch_.as<void>(), scratch_.bytes(), s);
        count_ = -1;
        replayed_ = detail::isCapturing(s);
    }

    void computeFromHost(const Mat& image, const Mat& mask, const Plan& plan) CV_OVERRIDE
    {
        hostImage_.upload(image);
        if (!mask.empty())
            hostMask_.upload(mask);
        std::vector<_InputArray> masks;
        if (!mask.empty())
            masks.push_back(hostMask_);
        compute({hostImage_}, masks, plan, noStream());
    }

    //! Kept once known, but not when a graph may have replayed compute() since.
    int count() CV_OVERRIDE
    {
        if (count_ >= 0)
            return count_;
        std::vector<int> counts(extent_.count);
        const cudaStream_t s = raw(stream_);
        cudaCheck(
            cudaMemcpyAsync(counts.data(), counts_.as<int>(), counts.size() * sizeof(int), cudaMemcpyDeviceToHost, s),
            "quick shift count");
        cudaCheck(cudaStreamSynchronize(s), "quick shift");
        int n = 0;
        for (int c : counts)
            n += c;
        if (!replayed_)
            count_ = n;
        return n;
    }

    void labels(OutputArray out, int picture, Stream& stream) CV_OVERRIDE
    {
        const size_t first = picture < 0 ? 0 : static_cast<size_t>(picture) * extent_.pixels();
        emit(labels_.as<int>() + first, CV_32S, picture < 0 ? rows() : extent_.rows, out, stream);
    }
    void parents(OutputArray out, Stream& stream) CV_OVERRIDE { emit(parents_.as<int>(), CV_32S, rows(), out, stream); }
    void distances(OutputArray out, Stream& stream) CV_OVERRIDE
    {
        emit(distances_.as<float>(), CV_32F, rows(), out, stream);
    }

    void density(OutputArray out, Stream& stream) CV_OVERRIDE
    {
        produce(out, rows(), extent_.cols, CV_32F, stream,
                [&](GpuMat& mat) {
                    gpu::density(extent_, parameters_, keys_.as<uint32_t>(), {mat.ptr<float>(), mat.step}, raw(stream));
                });
    }

    void segment(float tau, OutputArray out, Stream& stream) CV_OVERRIDE
    {
        int* const cut = static_cast<int*>(cutLabels_.reserve(sizeof(int) * extent_.total(), "labels"));
        gpu::label(extent_, parents_.as<int>(), distances_.as<float>(), tau, jumps(), ranks(), cut,
                   counts_.as<int>() + extent_.count, scratch_.as<void>(), scratch_.bytes(), raw(stream));
        emit(cut, CV_32S, rows(), out, stream);
    }

    int countAt(float tau, Stream& stream) CV_OVERRIDE
    {
        gpu::countLonger(extent_, parents_.as<int>(), distances_.as<float>(), tau, far_.as<int>(), raw(stream));
        return download(far_.as<int>(), raw(stream));
    }

    void mergeHeights(OutputArray heights, OutputArray counts, Stream& stream) CV_OVERRIDE
    {
        const cudaStream_t s = raw(stream);
        const size_t n = extent_.total();
        float* const work = static_cast<float*>(work_.reserve(5 * n * sizeof(float), "merge heights"));
        float *const links = work, *const sorted = work + n, *const distinct = work + 2 * n;
        int *const lengths = reinterpret_cast<int*>(work + 3 * n), *const sums = reinterpret_cast<int*>(work + 4 * n);
        int* const number = far_.as<int>();
        gpu::selectLinks(extent_, distances_.as<float>(), links, number, scratch_.as<void>(), scratch_.bytes(), s);
        const int linkCount = download(number, s);
        int distinctCount = 0;
        if (linkCount > 0)
        {
            cudaCheck(cudaMemsetAsync(lengths, 0, linkCount * sizeof(int), s), "quick shift heights");
            gpu::sortLinks(linkCount, links, sorted, distinct, lengths, sums, number, scratch_.as<void>(),
                           scratch_.bytes(), s);
            distinctCount = download(number, s);
        }
        const int roots = countAt(FLT_MAX, stream);
        produce(heights, distinctCount, 1, CV_32F, stream, [&](GpuMat& mat) { copyColumn(distinct, mat, s); });
        std::vector<int> left(distinctCount);
        if (distinctCount > 0 && counts.needed())
        {
            cudaCheck(cudaMemcpyAsync(left.data(), sums, distinctCount * sizeof(int), cudaMemcpyDeviceToHost, s),
                      "quick shift heights");
            cudaCheck(cudaStreamSynchronize(s), "quick shift");
            for (int& c : left)
                c = roots + linkCount - c;
            produce(counts, distinctCount, 1, CV_32S, stream,
                    [&](GpuMat& mat) { mat.upload(Mat(distinctCount, 1, CV_32S, left.data()), stream); });
            cudaCheck(cudaStreamSynchronize(s), "quick shift"); // the upload reads `left`
        }
        else if (counts.needed())
            counts.release();
    }

    void contours(OutputArray out, bool thick, Stream& stream) CV_OVERRIDE
    {
        produce(out, rows(), extent_.cols, CV_8U, stream,
                [&](GpuMat& mat) {
                    gpu::contours(extent_, labels_.as<int>(), thick, {mat.ptr<uint8_t>(), mat.step}, raw(stream));
                });
    }

    void meanColor(InputArray image, OutputArray out, Stream& stream) CV_OVERRIDE
    {
        const GpuMat src = image.getGpuMat(); // before create(): out may be image
        const gpu::Source source = sourceOf(src);
        gpu::Sums* const all = sumUp(source, false, stream);
        produce(
            out, src.rows, src.cols, src.type(), stream,
            [&](GpuMat& mat)
            { gpu::paintMeans(extent_, labels_.as<int>(), source, largest(), all, mat.data, mat.step, raw(stream)); });
    }

    void statistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids, OutputArray boxes,
                    Stream& stream) CV_OVERRIDE
    {
        const gpu::Source source = sourceOf(image.getGpuMat());
        const gpu::Sums* const all = sumUp(source, true, stream);
        const int n = count(), channels = source.channels;
        float* const work = static_cast<float*>(work_.reserve(sizeof(float) * (7 + channels) * n, "statistics"));
        const gpu::Table table = {reinterpret_cast<int*>(work), work + n,
                                  work + static_cast<size_t>(n) * (1 + channels),
                                  reinterpret_cast<int*>(work + static_cast<size_t>(n) * (3 + channels))};
        const cudaStream_t s = raw(stream);
        gpu::tabulate(n, source, largest(), all, table, s);
        produce(areas, n, 1, CV_32S, stream, [&](GpuMat& mat) { copyColumn(table.areas, mat, s); });
        produce(means, n, 1, CV_MAKETYPE(CV_32F, channels), stream,
                [&](GpuMat& mat) { copyColumn(table.means, mat, s); });
        produce(centroids, n, 1, CV_32FC2, stream, [&](GpuMat& mat) { copyColumn(table.centroids, mat, s); });
        produce(boxes, n, 1, CV_32SC4, stream, [&](GpuMat& mat) { copyColumn(table.boxes, mat, s); });
    }

    int connect(int minSize, Stream& stream) CV_OVERRIDE
    {
        const size_t n = extent_.total();
        const cudaStream_t s = raw(stream);
        uint8_t* const work =
            static_cast<uint8_t*>(work_.reserve(n * (sizeof(unsigned long long) + 2 * sizeof(int)), "connectivity"));
        const gpu::Pieces pieces = {reinterpret_cast<int*>(work + 8 * n), reinterpret_cast<int*>(work + 12 * n),
                                    reinterpret_cast<unsigned long long*>(work), far_.as<int>()};
        gpu::split(extent_, labels_.as<int>(), pieces, s);
        for (bool joined = minSize > 1; joined;)
        {
            gpu::join(extent_, minSize, pieces, s);
            joined = download(pieces.joined, s) != 0;
        }
        gpu::rankPieces(extent_, pieces, ranks(), labels_.as<int>(), counts_.as<int>(), scratch_.as<void>(),
                        scratch_.bytes(), s);
        stream_ = stream;
        count_ = -1;
        return count();
    }

    void fetch(Mat& keys, Mat& parents, Mat& distances) CV_OVERRIDE
    {
        emit(keys_.as<uint32_t>(), CV_32S, rows(), keys, stream_);
        emit(parents_.as<int>(), CV_32S, rows(), parents, stream_);
        emit(distances_.as<float>(), CV_32F, rows(), distances, stream_);
    }

    size_t workspaceBytes() const CV_OVERRIDE
    {
        size_t bytes = 0;
        for (const DeviceBuffer* b : {&words_, &valid_, &spatial_, &sums_, &keys_, &cells_, &far_, &parents_,
                                      &distances_, &labels_, &counts_, &scratch_, &cutLabels_, &work_, &superpixels_})
            bytes += b->bytes();
        return bytes;
    }

private:
    int rows() const { return extent_.rows * extent_.count; }
    // Sums are spent once there are keys; the worklist is spent once there are parents.
    int* jumps() { return sums_.as<int>(); }
    int* ranks() { return sums_.as<int>() + extent_.total(); }
    uint32_t* largest() { return reinterpret_cast<uint32_t*>(far_.as<int>() + 1); }

    void checkDevice()
    {
        const int device = getDevice();
        if (device_ < 0)
            device_ = device;
        CV_CheckEQ(device, device_, "QuickShift: an instance stays on the device of its first CUDA call");
    }

    void reserve(bool bytes, int channels, bool masked)
    {
        const size_t n = extent_.total();
        features_ = {};
        features_.channels = channels;
        void* const words = words_.reserve((bytes ? 1 : channels) * n * sizeof(float), "pixels");
        (bytes ? reinterpret_cast<void*&>(features_.bytes) : reinterpret_cast<void*&>(features_.planes)) = words;
        if (bytes && masked)
            features_.valid = static_cast<uint8_t*>(valid_.reserve(n, "mask"));
        sums_.reserve(n * sizeof(uint64_t), "density sums");
        keys_.reserve(n * sizeof(uint32_t), "density");
        cells_.reserve(sizeof(uint32_t) * gpu::cellsOf(extent_.cols) * gpu::cellsOf(extent_.rows) * extent_.count,
                       "cells");
        far_.reserve(2 * sizeof(int), "counters");
        parents_.reserve(n * sizeof(int), "parents");
        distances_.reserve(n * sizeof(float), "distances");
        labels_.reserve(n * sizeof(int), "labels");
        counts_.reserve(2 * extent_.count * sizeof(int), "counts");
        if (scratchFor_ < extent_.total())
        {
            scratch_.reserve(gpu::scratchBytes(extent_), "scans");
            scratchFor_ = extent_.total();
        }
    }

    //! The device wants columns (dx = 0..R, each dy = -R..R) where the plan has rows. Once for each sigma.
    void uploadSpatial(const Plan& plan, Stream& stream)
    {
        if (plan.spatial == spatialOnDevice_)
            return;
        const int radius = plan.parameters.radius, side = 2 * radius + 1;
        std::vector<float> columns(static_cast<size_t>(radius + 1) * side);
        for (int dx = 0; dx <= radius; ++dx)
            for (int dy = -radius; dy <= radius; ++dy)
                columns[static_cast<size_t>(dx) * side + dy + radius] =
                    plan.spatial[static_cast<size_t>(std::abs(dy)) * side + dx + radius];
        spatialOnDevice_.clear(); // not valid until the upload is on its way
        spatial_.reserve(columns.size() * sizeof(float), "spatial factors");
        uploader_.upload(spatial_.as<float>(), columns.data(), columns.size() * sizeof(float), raw(stream));
        spatialOnDevice_ = plan.spatial;
    }

    void emit(const void* tight, int type, int rows, OutputArray out, Stream& stream)
    {
        const size_t rowBytes = CV_ELEM_SIZE(type) * extent_.cols;
        produce(out, rows, extent_.cols, type, stream,
                [&](GpuMat& mat)
                {
                    cudaCheck(cudaMemcpy2DAsync(mat.data, mat.step, tight, rowBytes, rowBytes, rows,
                                                cudaMemcpyDeviceToDevice, raw(stream)),
                              "quick shift output");
                });
    }

    static void copyColumn(const void* tight, GpuMat& mat, cudaStream_t stream)
    {
        cudaCheck(cudaMemcpy2DAsync(mat.data, mat.step, tight, mat.elemSize(), mat.elemSize(), mat.rows,
                                    cudaMemcpyDeviceToDevice, stream),
                  "quick shift output");
    }

    gpu::Sums* sumUp(const gpu::Source& source, bool places, Stream& stream)
    {
        const int n = count();
        gpu::Sums* const all = static_cast<gpu::Sums*>(superpixels_.reserve(sizeof(gpu::Sums) * n, "superpixels"));
        gpu::sums(extent_, labels_.as<int>(), n, source, places, largest(), all, raw(stream));
        return all;
    }

    gpu::Extent extent_ = {};
    Parameters parameters_ = {};
    gpu::Features features_ = {};
    Stream stream_ = noStream(); //!< of the last compute()
    int device_ = -1, count_ = -1, scratchFor_ = 0;
    bool replayed_ = false;
    std::vector<float> spatialOnDevice_;
    detail::Uploader uploader_;
    GpuMat hostImage_, hostMask_;
    DeviceBuffer words_, valid_, spatial_, sums_, keys_, cells_, far_, parents_, distances_, labels_, counts_, scratch_;
    DeviceBuffer cutLabels_, work_, superpixels_;
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine() { return std::unique_ptr<Engine>(new CudaEngine); }

}}} // namespace cv::cuda::quick_shift

#endif // HAVE_CUDA
