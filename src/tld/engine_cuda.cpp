// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"

#ifdef HAVE_CUDA

#include "../common/side_stream.hpp"
#include "../common/workspace.hpp"
#include "engine_cuda_plan.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

namespace {

using detail::Call;
using detail::cudaCheck;
using detail::DeviceBuffer;
using detail::DeviceTable;

//! All that belongs to one object.
struct Object
{
    int width, height; //!< when it was learned
    Grid grid;
    std::vector<Feature> features;
    std::unique_ptr<DeviceBuffer> memory;
    ObjectPlan plan;
};

class CudaEngine CV_FINAL : public Engine
{
public:
    explicit CudaEngine(const Settings& settings) : settings_(settings) {}

    bool add(const PictureView& frame, const Window& box, uint32_t number, StreamHandle stream) CV_OVERRIDE
    {
        const Call call(workspace_, stream);
        call.refuseCapture("learning an object");
        placeFrame(call, frame.cols, frame.rows);
        std::vector<Feature> features(ALL_FEATURES);
        makeFeatures(settings_.seed, features.data());
        features.resize(static_cast<size_t>(settings_.trees) * settings_.features);
        ObjectState state;
        beginTraining(state, box, number, settings_);
        std::unique_ptr<Object> object = makeObject(call, box.w, box.h, std::move(features), state);
        const gpu::Batch batch = batchOf(call, objects());
        gpu::look(batch, frame, stream);
        gpu::pyramid(batch, KEPT_FRAMES, stream);
        gpu::sumTables(batch, stream);
        train(call, batch, *object);
        if (!liveOf(call, *object).trained)
        {
            spare_.push_back(std::move(object->memory));
            return false;
        }
        objects_.reserve(objects_.size() + 1);
        gpu::replace(batch, stream);
        append(std::move(object));
        return true;
    }

    void add(const Learned& learned, StreamHandle stream) CV_OVERRIDE
    {
        const Call call(workspace_, stream);
        call.refuseCapture("reading an object");
        placeFrame(call, learned.cols, learned.rows);
        std::unique_ptr<Object> object =
            makeObject(call, learned.width, learned.height, learned.features, learned.state);
        const std::vector<uint8_t> model = modelBytes(learned, settings_);
        uploader_.upload(call, object->plan.record.models[0].leaves, model.data(), model.size());
        objects_.reserve(objects_.size() + 1);
        append(std::move(object));
    }

    void remove(int index) CV_OVERRIDE
    {
        spare_.reserve(spare_.size() + 1);
        spare_.push_back(std::move(objects_[index]->memory));
        objects_.erase(objects_.begin() + index);
        ++version_;
    }
    int objects() const CV_OVERRIDE { return static_cast<int>(objects_.size()); }

    void update(const PictureView& frame, const OutputView& results, StreamHandle stream) CV_OVERRIDE
    {
        if (!frame_)
            return;
        const Call call(workspace_, stream);
        detail::Downloads::Batch downloads(downloads_, call);
        const RowsView<double> rows = downloads.view<double>(results);
        const gpu::Batch batch = batchOf(call, objects());
        gpu::look(batch, frame, stream);
        detail::Fork fork(side_, call);
        gpu::pyramid(batch, KEPT_FRAMES, fork.stream());
        gpu::flow(batch, fork.stream());
        search(batch, stream);
        fork.join();
        gpu::decide(batch, gpu::UPDATING, {}, rows, stream);
        gpu::learn(batch, stream);
        downloads.finish();
        gpu::commit(batch, gpu::UPDATING, stream);
    }

    void detect(const PictureView& frame, const OutputView& objects, StreamHandle stream) CV_OVERRIDE
    {
        const Call call(workspace_, stream);
        detail::Downloads::Batch downloads(downloads_, call);
        const RowsView<double> table = downloads.view<double>(objects);
        const gpu::Batch batch = batchOf(call, 1);
        gpu::look(batch, frame, stream);
        search(batch, stream);
        gpu::decide(batch, gpu::DETECTING, {}, table, stream);
        downloads.finish();
        gpu::commit(batch, gpu::DETECTING, stream);
    }

    void learn(const PictureView& frame, const Window& box, StreamHandle stream) CV_OVERRIDE
    {
        const Call call(workspace_, stream);
        const gpu::Batch batch = batchOf(call, 1);
        gpu::look(batch, frame, stream);
        search(batch, stream);
        gpu::decide(batch, gpu::LEARNING, box, {}, stream);
        gpu::learn(batch, stream);
        gpu::commit(batch, gpu::LEARNING, stream);
    }

    void reset(int index, const Box& box) CV_OVERRIDE
    {
        const Call call(workspace_, side_.handle());
        gpu::place(objects_[index]->plan.record.live, box, call.stream());
    }
    void setLearning(bool learning) CV_OVERRIDE { settings_.learning = learning; }

    void read(int index, Learned& learned) CV_OVERRIDE
    {
        const Call call(workspace_, side_.handle());
        const Object& object = *objects_[index];
        const gpu::ObjectRecord& record = object.plan.record;
        const gpu::Live live = liveOf(call, object);
        std::vector<uint8_t> model(record.modelBytes);
        download(call, model.data(), record.models[live.model].leaves, model.size());
        call.wait("downloading what was learned");
        learned.width = object.width;
        learned.height = object.height;
        learned.cols = frame_.cols;
        learned.rows = frame_.rows;
        learned.state = live.states[live.current];
        learned.features = object.features;
        readModel(model, settings_, learned);
    }
    void readResult(int index, double* row) CV_OVERRIDE
    {
        const Call call(workspace_, side_.handle());
        const gpu::Live live = liveOf(call, *objects_[index]);
        resultOf(live.states[live.current], settings_, row);
    }
    void readDetections(int index, double* table) CV_OVERRIDE
    {
        const Call call(workspace_, side_.handle());
        const Object& object = *objects_[index];
        const gpu::Live live = liveOf(call, object);
        const ObjectState& state = live.states[live.current];
        std::vector<Detection> detections(MAX_DETECTIONS);
        download(call, detections.data(), object.plan.record.detections[live.current],
                 state.detections * sizeof(Detection));
        call.wait("downloading detections");
        std::fill_n(table, static_cast<size_t>(1 + settings_.maxDetections) * RESULT_COLUMNS, 0.);
        detectionHead(state, object.grid.windows, table);
        for (int i = 0; i < state.detections; ++i)
            detectionRow(detections[i], settings_.trees, table + static_cast<ptrdiff_t>(i + 1) * RESULT_COLUMNS);
    }

    History history() CV_OVERRIDE
    {
        const Call call(workspace_, side_.handle());
        bool wanted[KEPT_FRAMES] = {};
        for (const std::unique_ptr<Object>& object : objects_)
        {
            const gpu::Live live = liveOf(call, *object);
            const ObjectState& state = live.states[live.current];
            wanted[0] = wanted[0] || state.alive;
            if (state.retries > 0)
                wanted[state.keptAge] = true;
        }
        History history(KEPT_FRAMES);
        const gpu::Ring ring = ringOf(call);
        for (int age = 0; age < KEPT_FRAMES; ++age)
        {
            if (!wanted[age])
                continue;
            history[age].resize(static_cast<size_t>(frame_.cols) * frame_.rows);
            copyGray(call, history[age].data(), frame_.cols, grayOf(ring, age), frame_.batch.levels.step[0]);
        }
        call.wait("downloading the last frames");
        return history;
    }
    void setHistory(const History& history) CV_OVERRIDE
    {
        const Call call(workspace_, side_.handle());
        const gpu::Batch batch = batchOf(call, objects());
        const gpu::Ring ring = ringOf(call);
        for (int age = 0; age < static_cast<int>(history.size()); ++age)
        {
            if (history[age].empty())
                continue;
            copyGray(call, grayOf(ring, age), batch.levels.step[0], history[age].data(), frame_.cols);
            gpu::pyramid(batch, age, call.stream());
        }
        call.wait("uploading the last frames");
    }

    size_t workspaceBytes() const CV_OVERRIDE { return workspace_.bytes(); }

private:
    //! The detector, for all objects.
    static void search(const gpu::Batch& batch, StreamHandle stream)
    {
        gpu::sumTables(batch, stream);
        gpu::ferns(batch, stream);
        gpu::select(batch, stream);
        gpu::nearestNeighbours(batch, stream);
    }

    void train(const Call& call, const gpu::Batch& batch, const Object& object)
    {
        Parts parts(training_.reserve(call,
                                      static_cast<size_t>(object.grid.windows) + 3 * 256 +
                                          gpu::TRAIN_BINS * sizeof(uint32_t) + gpu::TRAIN_CANDIDATES * sizeof(uint2),
                                      "the first training"));
        uint32_t* const histogram = parts.take<uint32_t>(gpu::TRAIN_BINS);
        uint2* const candidates = parts.take<uint2>(gpu::TRAIN_CANDIDATES);
        uint8_t* const kinds = parts.take<uint8_t>(object.grid.windows);
        cudaCheck(cudaMemsetAsync(histogram, 0, gpu::TRAIN_BINS * sizeof(uint32_t), call.stream()),
                  "the first training");
        gpu::train(batch, object.plan.record, object.grid.windows, kinds, histogram, candidates, call.stream());
    }

    // --- memory -------------------------------------------------------------------------------------------------------

    //! Pictures of another size need an engine without objects.
    void placeFrame(const Call& call, int cols, int rows)
    {
        if (frame_.cols == cols && frame_.rows == rows)
            return;
        gpu::Batch batch = {};
        const size_t bytes = planFrame(nullptr, cols, rows, settings_, batch);
        frame_.cols = 0; // until all is there
        frame_.memory.leaveToGraphs(call);
        void* const block = frame_.memory.reserve(call, bytes, "pictures");
        planFrame(block, cols, rows, settings_, batch);
        cudaCheck(cudaMemsetAsync(block, 0, bytes, call.stream()), "clearing pictures");
        gpu::Ring ring;
        for (int i = 0; i < gpu::SLOTS; ++i)
            ring.slot[i] = i;
        uploader_.upload(call, batch.ring, &ring, sizeof(ring));
        frame_.batch = batch;
        frame_.bytes = bytes;
        frame_.cols = cols;
        frame_.rows = rows;
    }

    std::unique_ptr<DeviceBuffer> takeMemory(size_t bytes)
    {
        for (size_t i = 0; i < spare_.size(); ++i)
            if (spare_[i]->bytes() >= bytes && spare_[i]->bytes() / 2 <= bytes && !spare_[i]->usedByGraphs())
            {
                std::unique_ptr<DeviceBuffer> memory = std::move(spare_[i]);
                spare_.erase(spare_.begin() + i);
                return memory;
            }
        return std::make_unique<DeviceBuffer>(workspace_);
    }

    std::unique_ptr<Object> makeObject(const Call& call, int width, int height, std::vector<Feature> features,
                                       const ObjectState& state)
    {
        spare_.reserve(spare_.size() + 1); // for what comes back
        std::unique_ptr<Object> object(new Object());
        object->width = width;
        object->height = height;
        object->grid = makeGrid(width, height, frame_.cols, frame_.rows, settings_);
        object->features = std::move(features);
        const size_t bytes = planObject(nullptr, object->grid, settings_).bytes;
        object->memory = takeMemory(bytes);
        uint8_t* const block = static_cast<uint8_t*>(object->memory->reserve(call, bytes, "an object"));
        object->plan = planObject(block, object->grid, settings_);
        const std::vector<uint8_t> written =
            objectBytes(object->grid, object->features, state, settings_, static_cast<int>(frame_.batch.blurred.step));
        uploader_.upload(call, block, written.data(), written.size());
        cudaCheck(cudaMemsetAsync(block + written.size(), 0, object->plan.cleared - written.size(), call.stream()),
                  "clearing an object");
        return object;
    }

    //! After objects_.reserve().
    void append(std::unique_ptr<Object> object)
    {
        objects_.push_back(std::move(object));
        ++version_;
    }

    //! For the first `count` objects. Notes what a capture refers to.
    gpu::Batch batchOf(const Call& call, int count)
    {
        if (listedVersion_ != version_)
            list();
        frame_.memory.reserve(call, frame_.bytes, "pictures");
        for (int i = 0; i < count; ++i)
            objects_[i]->memory->reserve(call, objects_[i]->plan.bytes, "an object");
        gpu::Batch batch = frame_.batch;
        batch.settings = settings_;
        batch.count = count;
        batch.tileCount = count > 0 ? lastTiles_[count - 1] : 0;
        if (count == 0)
            return batch;
        batch.objects = static_cast<const gpu::ObjectRecord*>(
            recordTable_.put(call, uploader_, listedVersion_, records_.data(),
                             records_.size() * sizeof(gpu::ObjectRecord), "the list of objects"));
        batch.tiles = static_cast<const gpu::Tile*>(tileTable_.put(
            call, uploader_, listedVersion_, tiles_.data(), tiles_.size() * sizeof(gpu::Tile), "the list of windows"));
        return batch;
    }

    void list()
    {
        records_.clear();
        tiles_.clear();
        lastTiles_.clear();
        for (const std::unique_ptr<Object>& object : objects_)
        {
            appendTiles(object->grid, static_cast<int>(records_.size()), tiles_);
            records_.push_back(object->plan.record);
            lastTiles_.push_back(static_cast<int>(tiles_.size()));
        }
        listedVersion_ = version_;
    }

    // --- to and from the device -----------------------------------------------------------------------------------------

    static void download(const Call& call, void* to, const void* from, size_t bytes)
    {
        if (bytes > 0)
            cudaCheck(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, call.stream()), "downloading an object");
    }
    static gpu::Live liveOf(const Call& call, const Object& object)
    {
        gpu::Live live;
        download(call, &live, object.plan.record.live, sizeof(live));
        call.wait("downloading an object's state");
        return live;
    }
    gpu::Ring ringOf(const Call& call) const
    {
        gpu::Ring ring;
        download(call, &ring, frame_.batch.ring, sizeof(ring));
        call.wait("downloading the list of frames");
        return ring;
    }
    uint8_t* grayOf(const gpu::Ring& ring, int age) const { return frame_.batch.level(ring.slot[age], 0); }
    void copyGray(const Call& call, void* to, size_t toStep, const void* from, size_t fromStep) const
    {
        cudaCheck(
            cudaMemcpy2DAsync(to, toStep, from, fromStep, frame_.cols, frame_.rows, cudaMemcpyDefault, call.stream()),
            "copying a frame");
    }

    //! Pictures, and all that is made of them.
    struct FrameMemory
    {
        explicit FrameMemory(detail::Workspace& workspace) : memory(workspace) {}
        explicit operator bool() const { return cols > 0; }

        DeviceBuffer memory;
        gpu::Batch batch = {};
        size_t bytes = 0;
        int cols = 0, rows = 0;
    };

    Settings settings_;
    detail::Workspace workspace_{"TLD"}; // outlives the others
    detail::Uploader uploader_{workspace_};
    detail::Downloads downloads_{workspace_};
    detail::SideStream side_;
    FrameMemory frame_{workspace_};
    DeviceBuffer training_{workspace_};
    DeviceTable recordTable_{workspace_}, tileTable_{workspace_};
    std::vector<std::unique_ptr<DeviceBuffer>> spare_; //!< of objects that are gone; graphs may use it
    std::vector<std::unique_ptr<Object>> objects_;

    uint64_t version_ = 1, listedVersion_ = 0; //!< of the list of objects
    std::vector<gpu::ObjectRecord> records_;
    std::vector<gpu::Tile> tiles_;
    std::vector<int> lastTiles_; //!< number of tiles up to and with each object
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine(const Settings& settings)
{
    return std::unique_ptr<Engine>(new CudaEngine(settings));
}

void fetchTable(const OutputView& table, double* to, StreamHandle stream)
{
    detail::Workspace workspace("TLDDetector");
    const Call call(workspace, stream);
    call.refuseCapture("convertDetections()");
    cudaCheck(cudaMemcpy2DAsync(to, table.rowBytes(), table.data, table.step, table.rowBytes(), table.rows,
                                cudaMemcpyDeviceToHost, stream),
              "downloading a table");
    call.wait("downloading a table");
}

}}} // namespace cv::cuda::tld

#else

namespace cv { namespace cuda { namespace tld {

std::unique_ptr<Engine> makeCudaEngine(const Settings&) { detail::noCuda(); }
void fetchTable(const OutputView&, double*, StreamHandle) { detail::noCuda(); }

}}} // namespace cv::cuda::tld

#endif // HAVE_CUDA
