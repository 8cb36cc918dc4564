// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Transfers and their undoing are next to the calls that they belong to.
#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../tld/engine.hpp"

#ifdef HAVE_CUDA

#include "../../common/side_stream.hpp"
#include "memory.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

namespace {

using detail::Call;
using detail::cudaCheck;

class CudaEngine final : public Engine
{
public:
    explicit CudaEngine(const Settings& settings) : settings_(settings) {}

    Added add(const ImageView& frame, const Window& box, uint32_t number, bool alone, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("learning an object");
        memory_.placeFrame(call, frame.cols, frame.rows, settings_);
        ObjectState state;
        beginTraining(state, box, number, settings_);
        std::unique_ptr<Object> object =
            memory_.makeObject(call, box.w, box.h, featuresOf(settings_), state, settings_);
        const gpu::Batch batch = memory_.batchOf(call, settings_);
        gpu::preprocess(batch, frame, stream);
        const StartDecision starting = alone ? StartDecision() : decideStart(call, batch);
        if (!starting.allowed)
        {
            memory_.discard(std::move(object));
            return Added::OTHER_IMAGE;
        }
        gpu::pyramid(batch, gpu::SPARE, stream);
        gpu::sumTables(batch, stream);
        train(call, batch, *object);
        const gpu::Live live = liveOf(call, *object);
        if (!live.trained)
        {
            memory_.discard(std::move(object));
            return Added::NOTHING_THERE;
        }
        object->contrast = live.states[0].contrast;
        append(call, std::move(object), &frame, true, starting);
        return Added::YES;
    }

    Added add(const LearnedObject& learned, const ImageView* frame, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        call.refuseCapture("reading an object");
        memory_.placeFrame(call, learned.cols, learned.rows, settings_);
        const ObjectState state = stateOf(learned, settings_);
        std::unique_ptr<Object> object =
            memory_.makeObject(call, learned.width, learned.height, learned.features, state, settings_);
        memory_.upload(call, object->plan.record.models[0].leaves, modelBytes(learned, settings_));
        if (state.filter.started)
            memory_.upload(call, object->plan.record.filters[0], learned.filter.data(), sizeof(FilterModel));
        const gpu::Batch batch = memory_.batchOf(call, settings_);
        StartDecision starting;
        if (frame)
        {
            gpu::preprocess(batch, *frame, stream);
            starting = decideStart(call, batch);
            if (!starting.allowed)
            {
                memory_.discard(std::move(object));
                return Added::OTHER_IMAGE;
            }
            gpu::pyramid(batch, gpu::SPARE, stream);
        }
        append(call, std::move(object), frame, false, starting);
        return Added::YES;
    }

    void remove(int index) noexcept override { memory_.remove(index); }
    int objects() const override { return memory_.count(); }

    void update(const ImageView& frame, const DetectorBoxes& boxes, const OutputView& results,
                StreamHandle stream) override
    {
        if (memory_.cols() == 0)
            return;
        const Call call(workspace_, stream);
        detail::Downloads::Batch downloads(downloads_, call);
        const RowsView<double> rows = downloads.view<double>(results);
        const gpu::Batch batch = memory_.batchOf(call, settings_);
        const DetectorBoxes there = boxesOnDevice(call, boxes);
        double* const values =
            there.list && (settings_.verifyBoxes || settings_.findByBoxes)
                ? boxValues_.reserve<double>(call, static_cast<size_t>(batch.count) * MAX_BOXES, "values of boxes")
                : nullptr;
        gpu::preprocess(batch, frame, stream);
        track(call, batch, frame);
        if (there.list && there.count > 0)
            gpu::associate(batch, there, values, stream);
        gpu::nearestNeighbours(batch, true, stream);
        gpu::integrate(batch, gpu::UPDATING, {}, rows, stream);
        learn(call, batch, frame, rows);
        downloads.finish();
        gpu::commit(batch, gpu::UPDATING, stream);
    }

    void detect(const ImageView& frame, const OutputView& objects, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        detail::Downloads::Batch downloads(downloads_, call);
        const RowsView<double> table = downloads.view<double>(objects);
        gpu::Batch batch = memory_.batchOf(call, settings_);
        batch.alone = true;
        gpu::preprocess(batch, frame, stream);
        gpu::sumTables(batch, stream);
        detectWindows(batch, stream);
        gpu::nearestNeighbours(batch, false, stream);
        gpu::integrate(batch, gpu::DETECTING, {}, table, stream);
        downloads.finish();
        gpu::commit(batch, gpu::DETECTING, stream);
    }

    void learn(const ImageView& frame, const Window& box, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        const gpu::Batch batch = memory_.batchOf(call, settings_);
        gpu::preprocess(batch, frame, stream);
        gpu::copyModels(batch, stream);
        gpu::sumTables(batch, stream);
        detectWindows(batch, stream);
        gpu::nearestNeighbours(batch, false, stream);
        gpu::integrate(batch, gpu::LEARNING, box, {}, stream);
        learn(batch, call);
        gpu::commit(batch, gpu::LEARNING, stream);
    }

    void reset(int index, const Box& box) override
    {
        const Call call(workspace_, side_.handle());
        gpu::Live* const live = memory_.object(index).plan.record.live;
        gpu::reset(memory_.frame(), live, box, call.stream());
        try
        {
            call.wait("resetting an object"); // so that all later launches see it
        }
        catch (...)
        {
            gpu::undoReset(live, call.stream()); // if the device is lost, this throws too
            throw;
        }
    }
    void setLearning(bool learning) override { settings_.learning = learning; }

    void read(int index, LearnedObject& learned) override
    {
        const Call call(workspace_, side_.handle());
        const Object& object = memory_.object(index);
        const gpu::ObjectRecord& record = object.plan.record;
        const gpu::Live live = liveOf(call, object);
        std::vector<uint8_t> model(record.modelBytes);
        download(call, model.data(), record.models[live.model].leaves, model.size());
        call.wait("downloading what was learned");
        learned.width = object.width;
        learned.height = object.height;
        learned.cols = memory_.cols();
        learned.rows = memory_.rows();
        learned.state = live.states[live.current];
        learned.features = object.features;
        readModel(model, settings_, learned);
        learned.filter.resize(learned.state.filter.started ? 1 : 0);
        if (!learned.filter.empty())
        {
            download(call, learned.filter.data(), record.filters[live.filter], sizeof(FilterModel));
            call.wait("downloading a filter");
        }
    }
    void readResult(int index, double* row) override
    {
        const Call call(workspace_, side_.handle());
        const gpu::Live live = liveOf(call, memory_.object(index));
        resultOf(live.states[live.current], settings_, memory_.cols(), memory_.rows(), row);
    }
    void readDetections(int index, double* table) override
    {
        const Call call(workspace_, side_.handle());
        const Object& object = memory_.object(index);
        const gpu::Live live = liveOf(call, object);
        const ObjectState& state = live.states[live.current];
        std::vector<Detection> detections(MAX_DETECTIONS);
        download(call, detections.data(), object.plan.record.detections[live.current],
                 state.detections * sizeof(Detection));
        call.wait("downloading detections");
        std::fill_n(table, static_cast<size_t>(1 + settings_.maxDetections) * DETECTION_COLUMNS, 0.);
        detectionHead(state, object.grid.windows, table);
        for (int i = 0; i < state.detections; ++i)
            detectionRow(detections[i], settings_.trees, table + static_cast<ptrdiff_t>(i + 1) * DETECTION_COLUMNS);
    }

    History history() override
    {
        const Call call(workspace_, side_.handle());
        const gpu::Ring ring = ringOf(call);
        History history;
        history.startIsLast = ring.startIsLast != 0;
        history.frames.resize(KEPT_FRAMES + 1);
        bool wanted[KEPT_FRAMES + 1] = {};
        wanted[history.newest()] = true;
        for (int i = 0; i < objects(); ++i)
        {
            const gpu::Live live = liveOf(call, memory_.object(i));
            for (int age = 0; age <= KEPT_FRAMES; ++age)
                wanted[age] = wanted[age] || isLastFrame(live.states[live.current], age) ||
                              needsFrame(live.states[live.current], age);
        }
        for (int age = 0; age <= KEPT_FRAMES; ++age)
        {
            if (!wanted[age])
                continue;
            std::vector<uint8_t>& gray = history.frames[age];
            gray.resize(static_cast<size_t>(memory_.cols()) * memory_.rows());
            copyGray(call, gray.data(), memory_.cols(), grayOf(ring, age), memory_.frame().levels.step[0]);
        }
        call.wait("downloading the last frames");
        return history;
    }
    void setHistory(const History& history) override
    {
        const Call call(workspace_, side_.handle());
        const gpu::Batch batch = memory_.batchOf(call, settings_);
        gpu::Ring ring = ringOf(call);
        for (int age = 0; age < static_cast<int>(history.frames.size()); ++age)
        {
            const std::vector<uint8_t>& gray = history.frames[age];
            if (gray.empty())
                continue;
            copyGray(call, grayOf(ring, age), batch.levels.step[0], gray.data(), memory_.cols());
            gpu::pyramid(batch, age, call.stream());
        }
        ring.startIsLast = history.startIsLast;
        cudaCheck(cudaMemcpyAsync(batch.ring, &ring, sizeof(ring), cudaMemcpyHostToDevice, call.stream()),
                  "uploading the list of frames");
        call.wait("uploading the last frames");
    }

    bool captured() const override { return memory_.inGraphs(); }
    size_t workspaceBytes() const override { return workspace_.bytes(); }

private:
    //! Returns boxes in device memory; those of the host are uploaded. A graph keeps them.
    DetectorBoxes boxesOnDevice(const Call& call, const DetectorBoxes& boxes)
    {
        if (!boxes.list || boxes.onDevice || boxes.count == 0)
            return boxes;
        std::vector<Window> list(1, Window{boxes.count, 0, 0, 0});
        list.insert(list.end(), boxes.list, boxes.list + boxes.count);
        const void* const device = boxTable_.put(call, uploader_, ++boxVersion_, list.data(),
                                                 list.size() * sizeof(Window), "boxes of a detector");
        return {static_cast<const Window*>(device), boxes.count, true};
    }

    //! Whether the gray values of two frames differ. Waits.
    bool framesDiffer(const Call& call, const gpu::Batch& batch, int one, int other) const
    {
        cudaCheck(cudaMemsetAsync(&batch.ring->differs, 0, sizeof(batch.ring->differs), call.stream()),
                  "comparing images");
        gpu::framesDiffer(batch, one, other, call.stream());
        return ringOf(call).differs != 0;
    }
    //! Decides whether the image in the spare slot may become START. Waits.
    StartDecision decideStart(const Call& call, const gpu::Batch& batch) const
    {
        if (objects() == 0 || !ringOf(call).startIsLast)
            return {};
        int started = 0;
        for (int i = 0; i < objects(); ++i)
        {
            const gpu::Live live = liveOf(call, memory_.object(i));
            started += live.states[live.current].started;
        }
        if (started == 0 || !framesDiffer(call, batch, gpu::SPARE, START))
            return {};
        const bool ends = started == objects() || !framesDiffer(call, batch, START, 0);
        return {ends, ends};
    }

    /** Appends an object, and reserves all memory that the next frame needs, as that one must not wait. @param frame
    the image in the spare slot, which becomes START, or null. @param trained the object was trained in it. */
    void append(const Call& call, std::unique_ptr<Object> object, const ImageView* frame, bool trained,
                const StartDecision& starting)
    {
        memory_.append(std::move(object));
        gpu::Batch batch = {};
        bool started = false;
        try
        {
            batch = memory_.batchOf(call, settings_); // its lists may have other addresses than before
            --batch.count; // the state of the new object, the last one, already refers to START
            if (trained && settings_.filter)
            {
                gpu::Batch own = batch;
                own.objects += batch.count;
                own.count = 1;
                gpu::beginFilter(own, *frame, call.stream());
            }
            if (frame)
                gpu::start(batch, starting.oldEnds, call.stream());
            started = frame != nullptr;
            call.wait("adding an object"); // so that all later launches see it
        }
        catch (...)
        {
            memory_.remove(memory_.count() - 1);
            if (started)
                gpu::undoStart(batch, call.stream()); // if the device is lost, this throws too
            throw;
        }
    }

    //! Runs flow, the filter and the detector concurrently, after preprocess().
    void track(const Call& call, const gpu::Batch& batch, const ImageView& frame)
    {
        detail::Fork flow(side_, call);
        gpu::pyramid(batch, gpu::SPARE, flow.stream());
        gpu::flow(batch, settings_.filter ? gpu::FORWARD_TRACKS : gpu::WHOLE_FLOW, flow.stream());
        gpu::sumTables(batch, call.stream());
        if (!settings_.filter)
        {
            detectWindows(batch, call.stream());
            flow.join();
            return;
        }
        detail::Fork filter(filterSide_, call), second(secondSide_, call);
        gpu::filterLast(batch, frame, filter.stream());
        flow.precede(second);
        gpu::filterSecond(batch, frame, second.stream());
        gpu::flow(batch, gpu::REST_OF_FLOW, flow.stream());
        detectWindows(batch, call.stream());
        flow.join(second);
        filter.join(second);
        gpu::filter(batch, frame, second.stream());
        second.join();
    }

    //! Detects up to the selected windows, for all objects, after sumTables().
    static void detectWindows(const gpu::Batch& batch, StreamHandle stream)
    {
        gpu::ferns(batch, stream);
        gpu::select(batch, stream);
    }

    //! Trains filters concurrently with all other learning. @param results rows of integrate().
    void learn(const Call& call, const gpu::Batch& batch, const ImageView& frame, const RowsView<double>& results)
    {
        if (!settings_.filter)
        {
            if (settings_.learning)
                learn(batch, call);
            return;
        }
        detail::Fork fork(filterSide_, call);
        gpu::trainFilter(batch, frame, results, fork.stream());
        if (settings_.learning)
            learn(batch, call);
        fork.join();
    }

    //! Learns the training sets, templates concurrently with ferns.
    void learn(const gpu::Batch& batch, const Call& call)
    {
        detail::Fork fork(side_, call);
        gpu::learnTemplates(batch, fork.stream());
        gpu::learnFerns(batch, call.stream());
        fork.join();
    }

    void train(const Call& call, const gpu::Batch& batch, const Object& object)
    {
        gpu::TrainingMemory memory = {};
        training_.divide(
            call, "the first training",
            [&](Parts& parts)
            {
                memory.histogram = parts.take<uint32_t>(gpu::TRAIN_BINS);
                memory.candidates = parts.take<uint2>(MAX_INIT_NEGATIVES);
                memory.kinds = parts.take<uint8_t>(object.grid.windows);
            },
            ALIGNMENT);
        cudaCheck(cudaMemsetAsync(memory.histogram, 0, gpu::TRAIN_BINS * sizeof(uint32_t), call.stream()),
                  "the first training");
        gpu::train(batch, object.plan.record, object.grid.windows, memory, call.stream());
    }

    // --- to and from the device --------------------------------------------------------------------------------------

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
        download(call, &ring, memory_.frame().ring, sizeof(ring));
        call.wait("downloading the list of frames");
        return ring;
    }
    uint8_t* grayOf(const gpu::Ring& ring, int age) const { return memory_.frame().level(ring.slot[age], 0); }
    void copyGray(const Call& call, void* to, size_t toStep, const void* from, size_t fromStep) const
    {
        cudaCheck(cudaMemcpy2DAsync(to, toStep, from, fromStep, memory_.cols(), memory_.rows(), cudaMemcpyDefault,
                                    call.stream()),
                  "copying a frame");
    }

    Settings settings_;
    detail::Workspace workspace_{"TLD"}; // outlives the others
    detail::Downloads downloads_{workspace_};
    detail::DeviceBuffer training_{workspace_};
    detail::Uploader uploader_{workspace_};
    detail::DeviceTable boxTable_{workspace_};
    uint64_t boxVersion_ = 0; //!< each list of boxes is a new one
    detail::DeviceBuffer boxValues_{workspace_};
    detail::SideStream side_, filterSide_, secondSide_;
    DeviceMemory memory_{workspace_};
};

} // namespace

std::unique_ptr<Engine> makeCudaEngine(const Settings& settings)
{
    return std::unique_ptr<Engine>(new CudaEngine(settings));
}

}}} // namespace cv::cuda::tld

#else

namespace cv { namespace cuda { namespace tld {

std::unique_ptr<Engine> makeCudaEngine(const Settings&) { detail::noCuda(); }

}}} // namespace cv::cuda::tld

#endif // HAVE_CUDA
