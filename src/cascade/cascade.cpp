// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The class behind cv::cuda::CascadeClassifierEx, and its factories.
// One class, of which every public method checks, detects and fills in a few lines.
#include "../precomp.hpp"
#include "../common/file_write.hpp"
#include "../common/lockable.hpp"
#include "arguments.hpp"
#include "engine.hpp"
#include "model_builder.hpp"
#include <algorithm>

namespace cv { namespace cuda {

using namespace cascade;

namespace {

class CascadeClassifierExImpl final : public CascadeClassifierEx, public detail::Lockable<CascadeClassifierExImpl>
{
public:
    CascadeClassifierExImpl() = default;
    CascadeClassifierExImpl(const ModelPtr& model, const Settings& settings) : model_(model), settings_(settings) {}

    bool load(const String& filename) override
    {
        const auto lock = locked();
        model_ = loadModel(filename);
        return true;
    }
    void loadBuffer(InputArray buffer) override
    {
        const auto lock = locked();
        Mat bytes = detail::hostArray("buffer", buffer);
        if (bytes.empty() || bytes.type() != CV_8UC1 || (bytes.rows != 1 && bytes.cols != 1))
            CV_Error_(bytes.empty() || bytes.type() == CV_8UC1 ? Error::StsBadSize : Error::StsUnsupportedFormat,
                      ("CascadeClassifierEx: buffer: a row or column of bytes is needed, these are %d x %d of %s",
                       bytes.rows, bytes.cols, typeToString(bytes.type()).c_str()));
        if (!bytes.isContinuous())
            bytes = bytes.clone();
        const char* const text = bytes.ptr<char>();
        const size_t count = bytes.total();
        model_ = parseModel(text, text[count - 1] == '\0' ? count - 1 : count, "buffer"); // C strings end with a zero
    }
    Ptr<CascadeClassifierEx> clone() const override
    {
        const auto lock = locked();
        return makePtr<CascadeClassifierExImpl>(model_, settings_);
    }

    Size getOriginalWindowSize() const override
    {
        const auto lock = locked();
        return model_ ? Size(model_->width, model_->height) : Size();
    }
    int getFeatureType() const override
    {
        const auto lock = locked();
        return model_ ? model_->kind : -1;
    }
    int getNumberOfStages() const override
    {
        const auto lock = locked();
        return model_ ? static_cast<int>(model_->stages.size()) : 0;
    }
    bool isOldFormatCascade() const override { return false; }

    void detectMultiScale(InputArray image, std::vector<Rect>& objects, double scaleFactor, int minNeighbors, int,
                          Size minSize, Size maxSize, InputArray mask, Stream& stream) override
    {
        const auto lock = locked();
        objects = rectsOf(find(image, scaleFactor, minNeighbors, minSize, maxSize, mask, stream).boxes);
    }
    void detectMultiScale(InputArray image, std::vector<Rect>& objects, std::vector<int>& numDetections,
                          double scaleFactor, int minNeighbors, int, Size minSize, Size maxSize, InputArray mask,
                          Stream& stream) override
    {
        const auto lock = locked();
        Objects found = find(image, scaleFactor, minNeighbors, minSize, maxSize, mask, stream);
        objects = rectsOf(found.boxes);
        numDetections.swap(found.counts);
    }
    void detectMultiScale(InputArray image, std::vector<Rect>& objects, std::vector<int>& rejectLevels,
                          std::vector<double>& levelWeights, double scaleFactor, int minNeighbors, int, Size minSize,
                          Size maxSize, bool outputRejectLevels, InputArray mask, Stream& stream) override
    {
        const auto lock = locked();
        Objects found = find(image, scaleFactor, minNeighbors, minSize, maxSize, mask, stream);
        objects = rectsOf(found.boxes);
        if (!outputRejectLevels)
            found.weights.clear();
        rejectLevels.assign(found.weights.size(), getNumberOfStages());
        levelWeights.swap(found.weights);
    }

    void detectAsync(InputArrayOfArrays images, OutputArray objects, OutputArray numDetections,
                     OutputArray levelWeights, InputArrayOfArrays masks, Stream& stream) override
    {
        const auto lock = locked();
        const Task what = task();
        const Inputs inputs(images, masks);
        const detail::ResultsPlace place = {inputs.onDevice, inputs.onDevice ? detail::handleOf(stream) : nullptr};
        const Request request = inputs.request(what);
        const int rows = static_cast<int>(request.images.size());
        TableOutputs outputs(objects, numDetections, levelWeights, rows, what.settings.maxObjects, place);
        const Table table = outputs.allocate();
        if (rows > 0)
            engine(place.onDevice).detect(request, table, place.stream);
    }
    int convertDetections(InputArray objects, int row, std::vector<Rect>& boxes, Stream& stream) const override
    {
        const auto lock = locked();
        const detail::Array table("objects", objects);
        const int type = table.type(), rows = table.size().height, cols = table.size().width;
        if (rows > 0 && (type != CV_32SC4 || cols < 2))
            CV_Error_(type != CV_32SC4 ? Error::StsUnsupportedFormat : Error::StsBadSize,
                      ("CascadeClassifierEx: objects: %d x %d of %s, but the matrix of detectAsync() is CV_32SC4 of "
                       "at least 2 columns",
                       rows, cols, typeToString(type).c_str()));
        if (row < 0 || row >= rows)
            CV_Error_(Error::StsOutOfRange, ("CascadeClassifierEx: row: %d, but objects has %d rows", row, rows));
        if (!table.onDevice)
            return rectsOfRow(table.host.ptr<Vec4i>(row), cols, boxes);
        std::vector<Vec4i> values(cols);
        const size_t bytes = values.size() * sizeof(Vec4i);
        detail::fetch("CascadeClassifierEx", "convertDetections()",
                      {{table.device.ptr(row), bytes, values.data(), bytes, bytes, 1}}, detail::handleOf(stream));
        return rectsOfRow(values.data(), cols, boxes);
    }
    void setScaleFactor(double factor) override { locked()->set(&Settings::scaleFactor, factor); }
    void setMinNeighbors(int count) override { locked()->set(&Settings::minNeighbors, count); }
    void setMinObjectSize(Size size) override { locked()->set(&Settings::minSize, limitOf(size)); }
    void setMaxObjectSize(Size size) override { locked()->set(&Settings::maxSize, limitOf(size)); }
    void setFindLargestObject(bool find) override { locked()->set(&Settings::largest, find); }
    void setMaxObjects(int count) override { locked()->set(&Settings::maxObjects, count); }
    void setMaxCandidates(int count) override { locked()->set(&Settings::maxCandidates, count); }
    double getScaleFactor() const override { return locked()->settings_.scaleFactor; }
    int getMinNeighbors() const override { return locked()->settings_.minNeighbors; }
    Size getMinObjectSize() const override { return sizeOf(locked()->settings_.minSize); }
    Size getMaxObjectSize() const override { return sizeOf(locked()->settings_.maxSize); }
    bool getFindLargestObject() const override { return locked()->settings_.largest; }
    int getMaxObjects() const override { return locked()->settings_.maxObjects; }
    int getMaxCandidates() const override { return locked()->settings_.maxCandidates; }

    void getScales(Size imageSize, std::vector<double>& scales, std::vector<Size>& layerSizes) const override
    {
        const auto lock = locked();
        checkImage("imageSize", imageSize, CV_8UC1);
        const Pyramid pyramid = makePyramid(imageSize.width, imageSize.height, task());
        scales.clear();
        layerSizes.clear();
        for (const Layer& layer : pyramid.layers)
        {
            scales.push_back(layer.factor);
            layerSizes.emplace_back(layer.cols, layer.rows);
        }
    }
    void countPasses(InputArray image, OutputArray passes, Stream& stream) override
    {
        const auto lock = locked();
        const Mat host = detail::onDevice(image) ? fetchImage(detail::deviceArray("image", image), stream)
                                                 : detail::hostArray("image", image);
        const Inputs inputs(host, noArray());
        const Request request = inputs.request(task());
        std::vector<Passes> counts;
        if (!request.images.empty() && request.images[0])
            counts = cascade::countPasses(request);
        const int stages = getNumberOfStages();
        // Python's overload for a GpuMat has a GpuMat as output, too.
        const bool upload = detail::onDevice(image) && passes.isGpuMat();
        Mat onHost;
        detail::Output output("passes", upload ? _OutputArray(onHost) : passes, static_cast<int>(counts.size()),
                              3 + stages, CV_32SC1, detail::ON_HOST);
        const detail::OutputView out = output.allocate();
        for (int i = 0; out && i < out.rows; ++i)
        {
            int* const row = out.as<int>().row(i);
            row[0] = static_cast<int>(counts[i].windows);
            row[1] = static_cast<int>(counts[i].evaluated);
            row[2] = static_cast<int>(counts[i].contrast);
            for (int s = 0; s < stages; ++s)
                row[3 + s] = static_cast<int>(counts[i].stages[s]);
        }
        if (upload && !onHost.empty())
            passes.getGpuMatRef().upload(onHost, stream);
        else if (upload)
            passes.release();
    }

    size_t workspaceBytes() const override
    {
        const auto lock = locked();
        return cuda_ ? cuda_->workspaceBytes() : 0;
    }
    void clear() override { locked()->model_.reset(); }
    bool empty() const override { return !locked()->model_; }
    void save(const String& filename) const override { detail::saveAlgorithm(*locked(), filename); }
    void write(FileStorage& fs) const override;
    void read(const FileNode& fn) override;

private:
    static SizeLimit limitOf(Size size) { return {size.width, size.height}; }
    static Size sizeOf(SizeLimit limit) { return Size(limit.width, limit.height); }
    //! Sets a parameter, unless it is out of its range.
    template <typename T> void set(T Settings::*member, const T& value)
    {
        Settings settings = settings_;
        settings.*member = value;
        checkSettings(settings);
        settings_ = settings;
    }
    Engine& engine(bool device) const
    {
        std::unique_ptr<Engine>& engine = device ? cuda_ : cpu_;
        if (!engine)
            engine = device ? makeCudaEngine() : makeCpuEngine();
        return *engine;
    }
    static Mat fetchImage(const GpuMat& image, Stream& stream)
    {
        Mat rows(image.size(), image.type());
        if (!rows.empty())
            detail::fetch("CascadeClassifierEx", "countPasses()",
                          {{image.data, image.step, rows.data, rows.step, image.cols * image.elemSize(), image.rows}},
                          detail::handleOf(stream));
        return rows;
    }
    Task task() const
    {
        if (!model_)
            CV_Error(Error::StsBadArg, "CascadeClassifierEx: there is no cascade; load() one first");
        return {model_, settings_};
    }

    Objects find(InputArray image, double scaleFactor, int minNeighbors, Size minSize, Size maxSize, InputArray mask,
                 Stream& stream)
    {
        Task what = task();
        what.settings.scaleFactor = scaleFactor;
        what.settings.minNeighbors = minNeighbors;
        what.settings.minSize = limitOf(minSize);
        what.settings.maxSize = limitOf(maxSize);
        checkSettings(what.settings);
        const detail::Array one("image", image);
        const Inputs inputs =
            one.onDevice ? Inputs(one.device, mask) : Inputs(one.host, detail::hostArray("mask", mask));
        Request request = inputs.request(what);
        if (!request.masks.empty() && !request.masks[0])
            request.masks.clear();
        Objects objects;
        if (!request.images.empty() && request.images[0])
            engine(one.onDevice).find(request, objects, one.onDevice ? detail::handleOf(stream) : nullptr);
        return objects;
    }

    static int rectsOfRow(const Vec4i* row, int cols, std::vector<Rect>& boxes)
    {
        const Vec4i head = row[0];
        const int stored = std::min(std::max(head[0], 0), cols - 1);
        boxes.clear();
        for (int i = 1; i <= stored; ++i)
            boxes.emplace_back(row[i][0], row[i][1], row[i][2], row[i][3]);
        return head[3] ? -1 : head[1];
    }

    ModelPtr model_;
    Settings settings_;
    mutable std::unique_ptr<Engine> cpu_, cuda_; //!< made on first use
};

void CascadeClassifierExImpl::write(FileStorage& fs) const
{
    const auto lock = locked();
    writeFormat(fs);
    if (model_)
        writeModel(fs, *model_);
    writeSettings(fs, settings_);
}

//! Reads a cascade and its parameters. Nothing changes if any of them is invalid.
void CascadeClassifierExImpl::read(const FileNode& fn)
{
    const auto lock = locked();
    const std::string name = "FileNode";
    const Place place = {nullptr, "cascade", -1};
    const detail::Item root(fn, name, place);
    ModelPtr model;
    Settings settings = settings_;
    // maxCandidates without stages was written by an instance without a cascade.
    if (!root.has("maxCandidates") || root.has("stageType") || root.has("stages"))
        model = readModel(fn, name);
    readSettings(root, settings);
    model_ = model;
    settings_ = settings;
}

} // namespace

Ptr<CascadeClassifierEx> CascadeClassifierEx::create(const String& filename)
{
    const Ptr<CascadeClassifierEx> cascade = makePtr<CascadeClassifierExImpl>();
    if (!filename.empty())
        cascade->load(filename);
    return cascade;
}

bool CascadeClassifierEx::convert(const String& oldcascade, const String& newcascade)
{
    const ModelPtr model = loadModel(oldcascade);
    detail::writeStorage(newcascade, "cascade", [&](FileStorage& storage) { writeModel(storage, *model); });
    return true;
}

String CascadeClassifierEx::getDefaultName() const { return "CascadeClassifierEx"; }

}} // namespace cv::cuda
