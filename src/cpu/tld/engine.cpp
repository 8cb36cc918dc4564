// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"
#include "work.hpp"
#include "../../tld/engine.hpp"
#include "frame_store.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace tld {

namespace {

/** Memory of one object. Stages write `next` and `nextDetections`; commit(), which cannot fail, makes them current.
Learning changes leaves and templates in place. */
struct Object
{
    int width, height; //!< size of the user's box, pixels
    Grid grid;
    ObjectState state = {}, next = {};
    std::vector<Feature> features;
    std::vector<Leaf> leaves;
    std::vector<uint16_t> posteriors;
    std::vector<uint8_t> templates;
    std::vector<PatchStats> stats;
    std::vector<uint16_t> order;
    ForwardShift forwardShift = {};
    cpu::PassedWindows passed;
    std::vector<Detection> detections, nextDetections;
    cpu::TrainingSet trainingSet;
    std::unique_ptr<FilterModel> filter, nextFilter; //!< with Settings::filter
    FilterTarget filterTarget = {};
    bool learning = false; //!< learnAll() has not committed this frame yet

    Object(int theWidth, int theHeight, int cols, int rows, const Settings& settings)
        : width(theWidth),
          height(theHeight),
          grid(makeGrid(theWidth, theHeight, cols, rows, settings)),
          features(featuresOf(settings)),
          leaves(static_cast<size_t>(settings.trees) << settings.features, Leaf()),
          posteriors(leaves.size(), 0),
          templates(static_cast<size_t>(settings.maxPositives + settings.maxNegatives) * PATCH_STRIDE, 0),
          stats(settings.maxPositives + settings.maxNegatives),
          order(settings.maxPositives, 0),
          detections(MAX_DETECTIONS),
          nextDetections(MAX_DETECTIONS)
    {
        if (!settings.filter)
            return;
        filter.reset(new FilterModel());
        nextFilter.reset(new FilterModel());
        filterTarget = makeFilterTarget(width, height, cols, rows);
    }

    ObjectView view()
    {
        return {&next,
                &state,
                &grid,
                features.data(),
                leaves.data(),
                posteriors.data(),
                templates.data(),
                stats.data(),
                order.data(),
                filter.get(),
                nextFilter.get(),
                &filterTarget,
                &forwardShift,
                &passed,
                nextDetections.data(),
                &trainingSet};
    }
    void begin() { next = state; }
    void commit() noexcept
    {
        state = next;
        if (state.filter.trains)
            filter.swap(nextFilter);
        detections.swap(nextDetections);
    }

    void setTemplate(int slot, const uint8_t* pixels)
    {
        std::copy_n(pixels, PATCH_PIXELS, templates.data() + static_cast<size_t>(slot) * PATCH_STRIDE);
        stats[slot] = statsOf(pixels);
    }
};

class CpuEngine final : public Engine
{
public:
    explicit CpuEngine(const Settings& settings) : settings_(settings) {}

    Added add(const ImageView& frame, const Window& box, uint32_t number, bool alone, StreamHandle) override
    {
        images_.create(frame.cols, frame.rows, settings_);
        std::unique_ptr<Object> object(new Object(box.w, box.h, frame.cols, frame.rows, settings_));
        objects_.reserve(objects_.size() + 1);
        images_.preprocess(frame);
        const StartDecision starting = alone ? StartDecision() : decideStart();
        if (!starting.allowed)
            return Added::OTHER_IMAGE;
        beginTraining(object->next, box, number, settings_);
        if (!cpu::train(work(), object->view()))
            return Added::NOTHING_THERE;
        if (settings_.filter)
            cpu::trainFilter(work(), object->view());
        object->commit();
        start(starting);
        objects_.push_back(std::move(object));
        return Added::YES;
    }

    Added add(const LearnedObject& learned, const ImageView* frame, StreamHandle) override
    {
        images_.create(learned.cols, learned.rows, settings_);
        objects_.reserve(objects_.size() + 1);
        std::unique_ptr<Object> object(
            new Object(learned.width, learned.height, learned.cols, learned.rows, settings_));
        object->state = stateOf(learned, settings_);
        object->features = learned.features;
        object->leaves = learned.leaves;
        std::transform(learned.leaves.begin(), learned.leaves.end(), object->posteriors.begin(), posteriorOf);
        std::copy(learned.order.begin(), learned.order.end(), object->order.begin());
        for (int i = 0; i < learned.state.positives; ++i)
            object->setTemplate(learned.order[i], &learned.positives[static_cast<size_t>(i) * PATCH_PIXELS]);
        for (int i = 0; i < learned.state.negatives; ++i)
            object->setTemplate(settings_.maxPositives + i, &learned.negatives[static_cast<size_t>(i) * PATCH_PIXELS]);
        if (object->state.filter.started)
            *object->filter = learned.filter[0];
        if (frame)
        {
            images_.preprocess(*frame);
            const StartDecision starting = decideStart();
            if (!starting.allowed)
                return Added::OTHER_IMAGE;
            start(starting);
        }
        objects_.push_back(std::move(object));
        return Added::YES;
    }

    void remove(int index) noexcept override { objects_.erase(objects_.begin() + index); }
    int objects() const override { return static_cast<int>(objects_.size()); }

    void update(const ImageView& frame, const DetectorBoxes& boxes, const OutputView& results, StreamHandle) override
    {
        images_.preprocess(frame);
        images_.push();
        try
        {
            forObjects([&](Object& object, int) { flow(object); });
            if (settings_.filter)
                forObjects([&](Object& object, int) { cpu::filter(work(), object.view()); });
            if (boxes.list)
                associate(boxes);
            forObjects([&](Object& object, int) { track(object); });
        }
        catch (...)
        {
            images_.pop();
            throw;
        }
        images_.accept();
        learnAll();
        for (int i = 0; results && i < objects(); ++i)
            resultOf(objects_[i]->state, settings_, frame.cols, frame.rows, results.as<double>().row(i));
    }

    void detect(const ImageView& frame, const OutputView& objects, StreamHandle) override
    {
        detectWindows(frame);
        Object& object = *objects_[0];
        object.commit();
        for (int i = 0; objects && i < objects.rows; ++i)
            detectionRowOf(object, i, objects.as<double>().row(i));
    }

    void learn(const ImageView& frame, const Window& box, StreamHandle) override
    {
        detectWindows(frame);
        Object& object = *objects_[0];
        beginLearning(object.next, box);
        cpu::trainingSet(work(), object.view(), true);
        learnFrom(object);
        object.commit();
    }

    void reset(int index, const Box& box) override
    {
        resetState(objects_[index]->state, box, images_.startIsLast(), images_.frame().cols, images_.frame().rows);
    }
    void setLearning(bool learning) override { settings_.learning = learning; }

    void read(int index, LearnedObject& learned) override
    {
        const Object& object = *objects_[index];
        learned.width = object.width;
        learned.height = object.height;
        learned.cols = images_.frame().cols;
        learned.rows = images_.frame().rows;
        learned.state = object.state;
        learned.features = object.features;
        learned.leaves = object.leaves;
        learned.order.assign(object.order.begin(), object.order.begin() + object.state.positives);
        readTemplates(object.templates.data(), settings_, learned);
        learned.filter.clear();
        if (object.state.filter.started)
            learned.filter.push_back(*object.filter);
    }
    void readResult(int index, double* row) override
    {
        resultOf(objects_[index]->state, settings_, images_.frame().cols, images_.frame().rows, row);
    }
    void readDetections(int index, double* table) override
    {
        for (int i = 0; i <= settings_.maxDetections; ++i)
            detectionRowOf(*objects_[index], i, table + static_cast<ptrdiff_t>(i) * DETECTION_COLUMNS);
    }

    History history() override
    {
        History history;
        history.startIsLast = images_.startIsLast();
        history.frames.resize(KEPT_FRAMES + 1);
        for (int age = 0; age <= KEPT_FRAMES; ++age)
            if (age == history.newest() ||
                std::any_of(objects_.begin(), objects_.end(),
                            [&](const std::unique_ptr<Object>& o)
                            { return isLastFrame(o->state, age) || needsFrame(o->state, age); }))
                history.frames[age] = images_.grayOf(age);
        return history;
    }
    void setHistory(const History& history) override
    {
        for (size_t age = 0; age < history.frames.size(); ++age)
            if (!history.frames[age].empty())
                images_.setGray(static_cast<int>(age), history.frames[age]);
        images_.setStartIsLast(history.startIsLast);
    }

    size_t workspaceBytes() const override { return 0; }

private:
    //! Decides whether the image of the last preprocess() may become START.
    StartDecision decideStart() const
    {
        const auto started =
            std::count_if(objects_.begin(), objects_.end(),
                          [](const std::unique_ptr<Object>& object) { return object->state.started != 0; });
        if (!images_.startIsLast() || started == 0 || images_.isStart())
            return {};
        const bool ends = started == static_cast<ptrdiff_t>(objects_.size()) || images_.startIsFrame();
        return {ends, ends};
    }
    //! Makes the image of the last preprocess() START.
    void start(const StartDecision& starting)
    {
        images_.start(starting.oldEnds);
        for (const std::unique_ptr<Object>& object : objects_)
            forgetStart(object->state, starting.oldEnds);
    }

    cpu::Work work() { return {&settings_, &images_.frame(), &scratch_}; }

    //! Calls body(object, index) for all objects. With few objects each stage uses all threads; with many, each object
    //! one thread.
    template <typename Body> void forObjects(const Body& body)
    {
        const int count = objects();
        const auto some = [&](const Range& range)
        {
            for (int i = range.start; i < range.end; ++i)
                body(*objects_[i], i);
        };
        if (count < 2 * getNumThreads())
            some(Range(0, count));
        else
            parallel_for_(Range(0, count), some, count);
    }

    //! Begins a frame of one object.
    void flow(Object& object)
    {
        object.begin();
        cpu::flow(work(), object.view());
    }
    void associate(const DetectorBoxes& boxes)
    {
        std::vector<ObjectView> views;
        for (const std::unique_ptr<Object>& object : objects_)
            views.push_back(object->view());
        cpu::associate(work(), views, boxes);
    }
    //! Processes a frame for one object after its flow, except learning.
    void track(Object& object)
    {
        const ObjectView view = object.view();
        cpu::ferns(work(), view);
        cpu::select(view);
        cpu::nearestNeighbours(work(), view, true);
        cpu::integrate(work(), view);
        cpu::trainingSet(work(), view, false);
        if (settings_.filter)
            cpu::trainFilter(work(), view);
    }

    //! Learns the training set of the frame.
    void learnFrom(Object& object) noexcept
    {
        const ObjectView view = object.view();
        cpu::learnFerns(work(), view);
        cpu::learnTemplates(work(), view);
    }
    //! Learns and commits all objects. Cannot fail: if no threads can be started, this thread does all work.
    void learnAll() noexcept
    {
        std::vector<std::unique_ptr<Object>>& all = objects_;
        const auto learn = [&](Object& object, int)
        {
            if (!object.learning)
                return;
            learnFrom(object);
            object.commit();
            object.learning = false;
        };
        for (const std::unique_ptr<Object>& object : all)
            object->learning = true;
        try
        {
            forObjects(learn);
        }
        catch (...)
        {}
        for (const std::unique_ptr<Object>& object : all)
            learn(*object, 0);
    }

    //! Detects in an image, for the first object.
    void detectWindows(const ImageView& frame)
    {
        images_.preprocess(frame);
        objects_[0]->begin();
        const ObjectView view = objects_[0]->view();
        cpu::ferns(work(), view);
        cpu::select(view);
        cpu::nearestNeighbours(work(), view, false);
    }

    void detectionRowOf(const Object& object, int row, double* out) const
    {
        if (row == 0)
            detectionHead(object.state, object.grid.windows, out);
        else if (row <= object.state.detections)
            detectionRow(object.detections[row - 1], settings_.trees, out);
        else
            std::fill_n(out, DETECTION_COLUMNS, 0.);
    }

    Settings settings_;
    FrameStore images_;
    std::vector<std::unique_ptr<Object>> objects_;
    cpu::ScratchPool scratch_;
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine(const Settings& settings)
{
    return std::unique_ptr<Engine>(new CpuEngine(settings));
}

}}} // namespace cv::cuda::tld
