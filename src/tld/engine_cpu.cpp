// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../precomp.hpp"
#include "cpu.hpp"
#include "engine.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace tld {

namespace {

//! What is made of the last frames.
class Pictures
{
public:
    bool empty() const { return frame_.cols == 0; }
    bool fits(int cols, int rows) const { return frame_.cols == cols && frame_.rows == rows; }
    const Frame& frame() const { return frame_; }

    //! Room for all, before any work.
    void create(int cols, int rows, const Settings& settings)
    {
        if (fits(cols, rows))
            return;
        Pictures other;
        other.frame_.cols = cols;
        other.frame_.rows = rows;
        const int levels = levelsOf(cols, rows, settings);
        for (Slot& slot : other.slots_)
            slot.create(cols, rows, levels);
        other.blurred_ = withSlack(rows, cols);
        other.sums_.create(rows + 1, cols + 1, CV_32SC1);
        other.squares_.create(rows + 1, cols + 1, CV_32SC1);
        std::swap(*this, other);
        frame_.blurred = {blurred_.data, blurred_.step};
        frame_.sums = {sums_.ptr<uint32_t>(), sums_.step1()};
        frame_.squares = {squares_.ptr<uint32_t>(), squares_.step1()};
    }

    //! Gray values, tables of sums, and blurred pixels. The pyramids of frames that were kept stay.
    void look(const PictureView& picture)
    {
        Slot& slot = slots_[SPARE];
        cpu::toGray(picture, {slot.level[0].data, slot.level[0].step});
        frame_.gray = {slot.level[0].data, slot.level[0].step};
        const PictureView gray = viewOf(slot.level[0]);
        cpu::sumTables(gray, sums_.ptr<uint32_t>(), squares_.ptr<uint32_t>(), sums_.step1());
        cpu::blur(gray, {blurred_.data, blurred_.step});
    }
    //! After look(): this is the next frame.
    void push()
    {
        finish(slots_[SPARE]);
        std::rotate(slots_, slots_ + SPARE, slots_ + SPARE + 1);
        list();
    }
    //! After look(): this is the current frame.
    void replace()
    {
        finish(slots_[SPARE]);
        std::swap(slots_[0], slots_[SPARE]);
        list();
    }

    std::vector<uint8_t> grayOf(int age) const
    {
        std::vector<uint8_t> gray(static_cast<size_t>(frame_.cols) * frame_.rows);
        slots_[age].level[0].copyTo(Mat(frame_.rows, frame_.cols, CV_8UC1, gray.data()));
        return gray;
    }
    void setGray(int age, const std::vector<uint8_t>& gray)
    {
        std::copy(gray.begin(), gray.end(), slots_[age].level[0].begin<uint8_t>());
        finish(slots_[age]);
        list();
    }

private:
    static const int SPARE = KEPT_FRAMES;

    //! Vectors may read behind rows, the last one too.
    static Mat withSlack(int rows, int cols)
    {
        return Mat(rows, cols + cpu::ROW_SLACK, CV_8UC1, Scalar(0)).colRange(0, cols);
    }

    struct Slot
    {
        std::vector<Mat> level;

        void create(int cols, int rows, int levels)
        {
            for (int l = 0; l < levels; ++l, cols = (cols + 1) / 2, rows = (rows + 1) / 2)
                level.push_back(withSlack(rows, cols));
        }
    };

    static PictureView viewOf(const Mat& level)
    {
        return {level.data, level.step, level.cols, level.rows, detail::DEPTH_8U, 1};
    }
    static void finish(const Slot& slot)
    {
        for (size_t l = 1; l < slot.level.size(); ++l)
            cpu::halve(viewOf(slot.level[l - 1]), {slot.level[l].data, slot.level[l].step});
    }
    //! Pyramids by age.
    void list()
    {
        for (int age = 0; age < KEPT_FRAMES; ++age)
        {
            Pyramid& pyramid = frame_.pyramids[age];
            pyramid.levels = static_cast<int>(slots_[age].level.size());
            for (int l = 0; l < pyramid.levels; ++l)
            {
                const Mat& level = slots_[age].level[l];
                pyramid.data[l] = level.data;
                pyramid.step[l] = level.step;
                pyramid.cols[l] = level.cols;
                pyramid.rows[l] = level.rows;
            }
        }
        frame_.gray = {slots_[0].level[0].data, slots_[0].level[0].step};
    }

    Slot slots_[KEPT_FRAMES + 1]; //!< by age; the last one is spare
    Mat blurred_, sums_, squares_;
    Frame frame_ = {};
};

//! All that belongs to one object.
struct Object
{
    int width, height; //!< when it was learned
    Grid grid;
    ObjectState state = {};
    std::vector<Feature> features;
    std::vector<Leaf> leaves;
    std::vector<uint16_t> posteriors;
    std::vector<uint8_t> templates;
    std::vector<PatchStats> stats;
    std::vector<uint16_t> order;
    std::vector<uint32_t> sums;
    std::vector<Detection> detections;
    cpu::Alike alike;

    Object(int theWidth, int theHeight, int cols, int rows, const Settings& settings)
        : width(theWidth),
          height(theHeight),
          grid(makeGrid(theWidth, theHeight, cols, rows, settings)),
          features(ALL_FEATURES),
          leaves(static_cast<size_t>(settings.trees) << settings.features, Leaf()),
          posteriors(leaves.size(), 0),
          templates(static_cast<size_t>(settings.maxPositives + settings.maxNegatives) * PATCH_STRIDE, 0),
          stats(settings.maxPositives + settings.maxNegatives),
          order(settings.maxPositives, 0),
          sums(grid.windows, 0),
          detections(MAX_DETECTIONS)
    {
        makeFeatures(settings.seed, features.data());
        features.resize(static_cast<size_t>(settings.trees) * settings.features);
    }

    ObjectView view()
    {
        return {&state,           &grid,        features.data(), leaves.data(), posteriors.data(),
                templates.data(), stats.data(), order.data(),    sums.data(),   detections.data(),
                &alike};
    }

    void setTemplate(int slot, const uint8_t* pixels)
    {
        std::copy_n(pixels, PATCH_PIXELS, templates.data() + static_cast<size_t>(slot) * PATCH_STRIDE);
        int sum = 0, squares = 0;
        for (int i = 0; i < PATCH_PIXELS; ++i)
        {
            sum += pixels[i];
            squares += pixels[i] * pixels[i];
        }
        stats[slot] = statsOf(sum, squares);
    }
};

class CpuEngine CV_FINAL : public Engine
{
public:
    explicit CpuEngine(const Settings& settings) : settings_(settings) {}

    bool add(const PictureView& frame, const Window& box, uint32_t number, StreamHandle) CV_OVERRIDE
    {
        pictures_.create(frame.cols, frame.rows, settings_);
        std::unique_ptr<Object> object(new Object(box.w, box.h, frame.cols, frame.rows, settings_));
        objects_.reserve(objects_.size() + 1);
        pictures_.look(frame);
        beginTraining(object->state, box, number, settings_);
        if (!cpu::train(work(), object->view()))
            return false;
        pictures_.replace();
        objects_.push_back(std::move(object));
        return true;
    }

    void add(const Learned& learned, StreamHandle) CV_OVERRIDE
    {
        pictures_.create(learned.cols, learned.rows, settings_);
        std::unique_ptr<Object> object(
            new Object(learned.width, learned.height, learned.cols, learned.rows, settings_));
        object->state = learned.state;
        object->features = learned.features;
        object->leaves = learned.leaves;
        std::transform(learned.leaves.begin(), learned.leaves.end(), object->posteriors.begin(), posteriorOf);
        std::copy(learned.order.begin(), learned.order.end(), object->order.begin());
        for (int i = 0; i < learned.state.positives; ++i)
            object->setTemplate(learned.order[i], &learned.positives[static_cast<size_t>(i) * PATCH_PIXELS]);
        for (int i = 0; i < learned.state.negatives; ++i)
            object->setTemplate(settings_.maxPositives + i, &learned.negatives[static_cast<size_t>(i) * PATCH_PIXELS]);
        objects_.push_back(std::move(object));
    }

    void remove(int index) CV_OVERRIDE { objects_.erase(objects_.begin() + index); }
    int objects() const CV_OVERRIDE { return static_cast<int>(objects_.size()); }

    void update(const PictureView& frame, const OutputView& results, StreamHandle) CV_OVERRIDE
    {
        pictures_.look(frame);
        pictures_.push();
        forObjects(
            [&](Object& object, int index)
            {
                const ObjectView view = object.view();
                cpu::flow(work(), view);
                cpu::ferns(work(), view);
                cpu::select(work(), view);
                cpu::nearestNeighbours(work(), view, true);
                cpu::integrate(work(), view);
                cpu::learn(work(), view);
                if (results)
                    resultOf(object.state, settings_, results.as<double>().row(index));
            });
    }

    void detect(const PictureView& frame, const OutputView& objects, StreamHandle) CV_OVERRIDE
    {
        search(frame);
        const Object& object = *objects_[0];
        for (int i = 0; objects && i < objects.rows; ++i)
            detectionRowOf(object, i, objects.as<double>().row(i));
    }

    void learn(const PictureView& frame, const Window& box, StreamHandle) CV_OVERRIDE
    {
        search(frame);
        beginLearning(objects_[0]->state, box);
        cpu::learnBox(work(), objects_[0]->view());
    }

    void reset(int index, const Box& box) CV_OVERRIDE { placeAt(objects_[index]->state, box); }
    void setLearning(bool learning) CV_OVERRIDE { settings_.learning = learning; }

    void read(int index, Learned& learned) CV_OVERRIDE
    {
        const Object& object = *objects_[index];
        learned.width = object.width;
        learned.height = object.height;
        learned.cols = pictures_.frame().cols;
        learned.rows = pictures_.frame().rows;
        learned.state = object.state;
        learned.features = object.features;
        learned.leaves = object.leaves;
        learned.order.assign(object.order.begin(), object.order.begin() + object.state.positives);
        learned.positives.clear();
        learned.negatives.clear();
        const auto append = [&](std::vector<uint8_t>& list, int slot)
        {
            const auto pixels = object.templates.begin() + static_cast<ptrdiff_t>(slot) * PATCH_STRIDE;
            list.insert(list.end(), pixels, pixels + PATCH_PIXELS);
        };
        for (uint16_t slot : learned.order)
            append(learned.positives, slot);
        for (int i = 0; i < object.state.negatives; ++i)
            append(learned.negatives, settings_.maxPositives + i);
    }
    void readResult(int index, double* row) CV_OVERRIDE { resultOf(objects_[index]->state, settings_, row); }
    void readDetections(int index, double* table) CV_OVERRIDE
    {
        for (int i = 0; i <= settings_.maxDetections; ++i)
            detectionRowOf(*objects_[index], i, table + static_cast<ptrdiff_t>(i) * RESULT_COLUMNS);
    }

    History history() CV_OVERRIDE
    {
        History history(KEPT_FRAMES);
        for (int age = 0; age < KEPT_FRAMES; ++age)
            if (std::any_of(objects_.begin(), objects_.end(),
                            [&](const std::unique_ptr<Object>& o) { return needsFrame(o->state, age); }))
                history[age] = pictures_.grayOf(age);
        return history;
    }
    void setHistory(const History& history) CV_OVERRIDE
    {
        for (size_t age = 0; age < history.size(); ++age)
            if (!history[age].empty())
                pictures_.setGray(static_cast<int>(age), history[age]);
    }

    size_t workspaceBytes() const CV_OVERRIDE { return 0; }

private:
    cpu::Work work() { return {&settings_, &pictures_.frame(), &scratch_}; }

    //! With few objects, each stage uses all threads; with many, each object has a thread.
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

    void search(const PictureView& frame)
    {
        pictures_.look(frame);
        const ObjectView view = objects_[0]->view();
        cpu::ferns(work(), view);
        cpu::select(work(), view);
        cpu::nearestNeighbours(work(), view, false);
    }

    void detectionRowOf(const Object& object, int row, double* out) const
    {
        if (row == 0)
            detectionHead(object.state, object.grid.windows, out);
        else if (row <= object.state.detections)
            detectionRow(object.detections[row - 1], settings_.trees, out);
        else
            std::fill_n(out, RESULT_COLUMNS, 0.);
    }

    Settings settings_;
    Pictures pictures_;
    std::vector<std::unique_ptr<Object>> objects_;
    cpu::ScratchPool scratch_;
};

} // namespace

std::unique_ptr<Engine> makeCpuEngine(const Settings& settings)
{
    return std::unique_ptr<Engine>(new CpuEngine(settings));
}

}}} // namespace cv::cuda::tld
