// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "impl.hpp"
#include <algorithm>
#include <exception>

namespace cv { namespace cuda {

using namespace tld;

// core_track.hpp has enumerations of its own, because device code cannot include the public header.
static_assert(int(LOST) == TrackerTLD::LOST && int(UNCERTAIN) == TrackerTLD::UNCERTAIN &&
                  int(TRACKING) == TrackerTLD::TRACKING,
              "states");
static_assert(int(RESULT_X) == TrackerTLD::RESULT_X && int(RESULT_Y) == TrackerTLD::RESULT_Y &&
                  int(RESULT_WIDTH) == TrackerTLD::RESULT_WIDTH && int(RESULT_HEIGHT) == TrackerTLD::RESULT_HEIGHT &&
                  int(RESULT_SCORE) == TrackerTLD::RESULT_SCORE && int(RESULT_STATE) == TrackerTLD::RESULT_STATE &&
                  int(RESULT_LOCATED) == TrackerTLD::RESULT_LOCATED &&
                  int(RESULT_LEARNED) == TrackerTLD::RESULT_LEARNED && int(RESULT_EVENT) == TrackerTLD::RESULT_EVENT &&
                  int(RESULT_ID) == TrackerTLD::RESULT_ID && int(RESULT_BOX) == TrackerTLD::RESULT_BOX &&
                  int(RESULT_CONFIDENCE) == TrackerTLD::RESULT_CONFIDENCE &&
                  int(RESULT_COLUMNS) == TrackerTLD::RESULT_COLUMNS,
              "columns of results");

namespace {

class TrackerTLDImpl final : public TrackerTLD, public detail::Lockable<TrackerTLDImpl>
{
public:
    explicit TrackerTLDImpl(const TLDParams& params) : objects_(NAME, params) {}

    TLDParams getParams() const override { return locked()->objects_.params(); }

    void init(InputArray image, const Rect& boundingBox) override
    {
        locked()->objects_.learn(image, boundingBox, 0, true, noStream());
    }
    bool update(InputArray image, Rect& boundingBox) override
    {
        const auto lock = locked();
        double row[RESULT_COLUMNS];
        const InputImage input(NAME, image);
        objects_.check(input, "update()");
        objects_.engineFor(input, noStream())
            .update(input.view(), {},
                    {"result", row, sizeof(row), 1, RESULT_COLUMNS, sizeof(double), detail::Memory::HOST},
                    objects_.handleOf(noStream()));
        if (row[RESULT_LOCATED] == 0.)
            return false;
        const Box box = boxOf(row);
        boundingBox = Rect(cvRound(box.x), cvRound(box.y), cvRound(box.w), cvRound(box.h));
        if (objects_.settings().clipBoxes)
            boundingBox &= Rect(cv::Point(), input.size()); // both edges may have been rounded outwards
        return true;
    }
    void updateAsync(InputArray image, OutputArray result, Stream& stream) override
    {
        const auto lock = locked();
        const InputImage input(NAME, image);
        objects_.check(input, "updateAsync()");
        detail::Output out("result", result, 1, RESULT_COLUMNS, CV_64FC1, {input.onDevice, detail::handleOf(stream)});
        Engine& engine = objects_.engineFor(input, stream);
        engine.update(input.view(), {}, out.allocate(), objects_.handleOf(stream));
    }

    float getTrackingScore() override { return static_cast<float>(locked()->objects_.result(0)[RESULT_SCORE]); }
    int getState() const override { return static_cast<int>(locked()->objects_.result(0)[RESULT_STATE]); }
    int getEvent() const override { return static_cast<int>(locked()->objects_.result(0)[RESULT_EVENT]); }
    Rect2d getBox() const override
    {
        const auto lock = locked();
        const Box box = boxOf(objects_.result(0).data());
        return Rect2d(box.x, box.y, box.w, box.h);
    }
    void getDetections(OutputArray objects) const override { locked()->objects_.detections(0, objects); }
    void getTemplates(bool positive, OutputArray images) const override
    {
        locked()->objects_.templates(0, positive, images);
    }

    void setLearning(bool learning) override { locked()->objects_.setLearning(learning); }
    bool getLearning() const override { return locked()->objects_.learning(); }
    void resetTo(const Rect& boundingBox) override { locked()->objects_.reset(0, boundingBox); }
    size_t workspaceBytes() const override { return locked()->objects_.workspaceBytes(); }

    void save(const String& filename) const override { saveFile(filename, locked()->objects_.savedObject(0, true)); }
    void load(const String& filename) override { locked()->load(loadObject(filename), filename); }
    void write(FileStorage& fs) const override { writeObject(fs, locked()->objects_.savedObject(0, true)); }
    void read(const FileNode& fn) override { locked()->load(readObject(fn, NAME), NAME); }

private:
    static constexpr const char* NAME = "TrackerTLD";

    //! @param name of the file, for messages.
    void load(SavedObject saved, const String& name)
    {
        if (!saved.hasObject)
            CV_Error_(Error::StsParseError, ("%s: there is no object in the file", name.c_str()));
        TrackedObjects other(NAME, saved.params);
        other.load(saved);
        objects_.replaceBy(std::move(other));
    }

    TrackedObjects objects_;
};

class MultiTrackerTLDImpl final : public MultiTrackerTLD, public detail::Lockable<MultiTrackerTLDImpl>
{
public:
    explicit MultiTrackerTLDImpl(const TLDParams& params) : objects_(NAME, params) {}

    TLDParams getParams() const override { return locked()->objects_.params(); }

    int add(InputArray image, const Rect& box, Stream& stream) override
    {
        const auto lock = locked();
        reserveId();
        objects_.learn(image, box, static_cast<uint32_t>(next_), false, stream);
        return noteId();
    }
    void remove(int id) override { locked()->removeAt(indexOf(id)); }
    void update(InputArray image, OutputArray results, Stream& stream) override
    {
        locked()->update(image, noArray(), results, stream);
    }
    void update(InputArray image, InputArray boxes, OutputArray results, Stream& stream) override
    {
        const auto lock = locked();
        const InputImage input(NAME, image);
        const InputBoxes given(NAME, boxes, input.onDevice);
        if (!ids_.empty())
            objects_.check(input, "update()");
        const bool changing = given.given && (params().startFromBoxes || params().endAfterMisses > 0);
        if (changing && (results.fixedSize() || results.kind() == _InputArray::STD_VECTOR))
            CV_Error_(Error::StsBadArg,
                      ("%s: results: must be a Mat or GpuMat that can be resized, as objects may start and end", NAME));
        detail::Output out("results", results, static_cast<int>(ids_.size()), RESULT_COLUMNS, CV_64FC1,
                           {input.onDevice, detail::handleOf(stream)});
        if (changing)
            return updateAndChange(input, given, results, stream);
        Engine* const engine = ids_.empty() ? nullptr : &objects_.engineFor(input, stream);
        const detail::OutputView rows = out.allocate();
        if (engine)
            engine->update(input.view(), given.view(), rows, objects_.handleOf(stream));
    }

    std::vector<int> getIds() const override { return locked()->ids_; }
    void getDetections(int id, OutputArray objects) const override
    {
        locked()->objects_.detections(indexOf(id), objects);
    }
    void getTemplates(int id, bool positive, OutputArray images) const override
    {
        locked()->objects_.templates(indexOf(id), positive, images);
    }
    void setLearning(bool learning) override { locked()->objects_.setLearning(learning); }
    bool getLearning() const override { return locked()->objects_.learning(); }
    void resetTo(int id, const Rect& box) override { locked()->objects_.reset(indexOf(id), box); }
    void saveObject(int id, const String& filename) const override
    {
        saveFile(filename, locked()->objects_.savedObject(indexOf(id), true));
    }
    int addFromFile(InputArray image, const String& filename, Stream& stream) override
    {
        const auto lock = locked();
        reserveId();
        const InputImage input(NAME, image);
        SavedObject saved = loadObject(filename);
        const std::string difference =
            saved.hasObject ? learningDifference(saved.params, objects_.params()) : "there is no object in it";
        if (!difference.empty())
            CV_Error_(Error::StsUnmatchedFormats, ("%s: %s: %s", NAME, filename.c_str(), difference.c_str()));
        forgetPosition(saved.object.state);
        saved.object.state.started = 1; // although it is lost: resetTo() refers to this image
        saved.object.state.number = static_cast<uint32_t>(next_);
        objects_.add(saved, input, stream);
        return noteId();
    }
    size_t workspaceBytes() const override { return locked()->objects_.workspaceBytes(); }
    void clear() override
    {
        const auto lock = locked();
        objects_.clear();
        ids_.clear();
        misses_.clear();
    }
    bool empty() const override { return locked()->ids_.empty(); }
    void save(const String& filename) const override { saveFile(filename, locked()->saved()); }
    void load(const String& filename) override { locked()->load(loadTracker(filename)); }
    void write(FileStorage& fs) const override { writeTracker(fs, locked()->saved()); }
    void read(const FileNode& fn) override { locked()->load(readTracker(fn, NAME)); }

private:
    static constexpr const char* NAME = "MultiTrackerTLD";

    SavedTracker saved() const
    {
        SavedTracker saved = objects_.savedTracker(next_);
        saved.misses = misses_;
        return saved;
    }
    void load(SavedTracker saved)
    {
        TrackedObjects other(NAME, saved.params);
        std::vector<int> ids, misses = saved.misses;
        for (const LearnedObject& object : saved.objects)
            ids.push_back(static_cast<int>(object.state.number));
        other.load(saved);
        objects_.replaceBy(std::move(other));
        ids_.swap(ids);
        misses_.swap(misses);
        next_ = saved.next;
    }
    //! Checks that another object is allowed, and reserves its id.
    void reserveId()
    {
        if (ids_.size() >= static_cast<size_t>(MAX_OBJECTS))
            CV_Error_(Error::StsOutOfRange, ("%s: there may be at most %d objects", NAME, MAX_OBJECTS));
        reserveIds(1);
    }
    //! Checks that so many ids are left and reserves memory for them, so that noting the id of a new object cannot
    //! fail.
    void reserveIds(size_t count)
    {
        if (count > static_cast<size_t>(INT_MAX - next_))
            CV_Error_(Error::StsOutOfRange,
                      ("%s: ids are used up: %d are left for up to %zu objects", NAME, INT_MAX - next_, count));
        ids_.reserve(ids_.size() + count);
        misses_.reserve(misses_.size() + count);
    }
    //! Notes the id of a new object, after reserveIds().
    int noteId() noexcept
    {
        ids_.push_back(next_);
        misses_.push_back(0);
        return next_++;
    }
    void removeAt(int index) noexcept
    {
        objects_.remove(index);
        ids_.erase(ids_.begin() + index);
        misses_.erase(misses_.begin() + index);
    }

    // --- boxes of a detector that start and end objects ------------------------------------------------------------

    typedef std::array<double, RESULT_COLUMNS> Row;

    void updateAndChange(const InputImage& input, const InputBoxes& given, OutputArray results, Stream& stream)
    {
        const DetectorBoxes view = given.view();
        const std::vector<Window> boxes = given.fetch(NAME, detail::handleOf(stream));
        // Calls that can fail without the frame come before it is processed.
        const size_t most = params().startFromBoxes ? boxes.size() : 0;
        reserveIds(most);
        std::vector<bool> taken(boxes.size(), false);
        std::vector<Row> rows(ids_.size());
        rows.reserve(rows.size() + most);
        const bool any = !rows.empty();
        if (any)
            objects_.engineFor(input, stream).update(input.view(), view, viewOf(rows), objects_.handleOf(stream));
        for (const Row& row : rows)
            if (row[RESULT_BOX] >= 0.)
                taken[static_cast<size_t>(row[RESULT_BOX])] = true;
        endMissed(rows);
        std::exception_ptr failure;
        try
        {
            if (params().startFromBoxes)
                startFrom(input, boxes, taken, rows, stream);
        }
        catch (...)
        {
            failure = std::current_exception();
        }
        if (!failure || any || !rows.empty()) // after a failure, if the frame has been processed or an object has begun
            write(rows, input.onDevice, results, stream);
        if (failure)
            std::rethrow_exception(failure);
    }
    //! Removes objects that no box was associated with in endAfterMisses calls in a row.
    void endMissed(std::vector<Row>& rows) noexcept
    {
        const int most = params().endAfterMisses;
        for (int i = static_cast<int>(rows.size()) - 1; i >= 0; --i)
        {
            misses_[i] = rows[i][RESULT_BOX] >= 0. ? 0 : std::min(misses_[i], INT_MAX - 1) + 1;
            if (most == 0 || misses_[i] < most)
                continue;
            removeAt(i);
            rows.erase(rows.begin() + i);
        }
    }
    /** Starts an object from each box that is not taken, can be learned, and is not on an object. Only the part of an
    object inside of the image counts, whether or not reported boxes are clipped. */
    void startFrom(const InputImage& input, const std::vector<Window>& boxes, const std::vector<bool>& taken,
                   std::vector<Row>& rows, Stream& stream)
    {
        for (size_t b = 0; b < boxes.size(); ++b)
        {
            const int width = input.size().width, height = input.size().height;
            const Box part = usablePart(boxes[b], width, height);
            const Rect box(Rect2d(part.x, part.y, part.w, part.h));
            const auto isOn = [&](const Row& row)
            {
                const Box inside = clipped(boxOf(row.data()), width, height);
                return static_cast<int>(row[RESULT_STATE]) != LOST &&
                       overlap(inside, part) >= objects_.settings().boxOverlap;
            };
            if (taken[b] || !objects_.canLearn(box, input.size()) || std::any_of(rows.begin(), rows.end(), isOn) ||
                ids_.size() >= static_cast<size_t>(MAX_OBJECTS))
                continue;
            if (!objects_.tryLearn(input, box, static_cast<uint32_t>(next_), stream))
                continue;
            rows.push_back(rowOfNew(box, b, input.size()));
            noteId();
        }
    }
    //! Returns the row of an object that begins in this frame. It is known without asking the engine, which could fail.
    Row rowOfNew(const Rect& box, size_t boxIndex, Size image) const
    {
        ObjectState state;
        beginTraining(state, {box.x, box.y, box.width, box.height}, static_cast<uint32_t>(next_), objects_.settings());
        beginTracking(state);
        Row row;
        resultOf(state, objects_.settings(), image.width, image.height, row.data());
        row[RESULT_BOX] = static_cast<double>(boxIndex);
        return row;
    }
    static detail::OutputView viewOf(std::vector<Row>& rows)
    {
        return {"results",      rows.data(),    sizeof(Row),         static_cast<int>(rows.size()),
                RESULT_COLUMNS, sizeof(double), detail::Memory::HOST};
    }
    static void write(std::vector<Row>& rows, bool onDevice, OutputArray results, Stream& stream)
    {
        const int count = static_cast<int>(rows.size());
        detail::Output output("results", results, count, RESULT_COLUMNS, CV_64FC1,
                              {onDevice, detail::handleOf(stream)});
        const detail::OutputView out = output.allocate();
        if (out && results.isGpuMat())
            results.getGpuMatRef().upload(Mat(count, RESULT_COLUMNS, CV_64FC1, rows.data()), stream);
        else
            for (int i = 0; out && i < count; ++i)
                std::copy(rows[i].begin(), rows[i].end(), out.as<double>().row(i));
    }

    int indexOf(int id) const
    {
        const auto place = std::lower_bound(ids_.begin(), ids_.end(), id);
        if (place == ids_.end() || *place != id)
            CV_Error_(Error::StsOutOfRange, ("%s: id: there is no object %d", NAME, id));
        return static_cast<int>(place - ids_.begin());
    }

    const TLDParams& params() const { return objects_.params(); }

    TrackedObjects objects_;
    std::vector<int> ids_;
    std::vector<int> misses_; //!< of each object: calls with boxes in a row that associated none with it
    int next_ = 0;
};

} // namespace

TrackerTLD::TrackerTLD() {}
TrackerTLD::~TrackerTLD() {}

Ptr<TrackerTLD> TrackerTLD::create(const TLDParams& params) { return makePtr<TrackerTLDImpl>(params); }

Ptr<MultiTrackerTLD> MultiTrackerTLD::create(const TLDParams& params) { return makePtr<MultiTrackerTLDImpl>(params); }

void TrackerTLD::initRounded(InputArray image, const Rect2d& boundingBox)
{
    init(image, rounded("TrackerTLD", boundingBox));
}
void TrackerTLD::resetToRounded(const Rect2d& boundingBox) { resetTo(rounded("TrackerTLD", boundingBox)); }
int MultiTrackerTLD::addRounded(InputArray image, const Rect2d& box, Stream& stream)
{
    return add(image, rounded("MultiTrackerTLD", box), stream);
}
void MultiTrackerTLD::resetToRounded(int id, const Rect2d& box) { resetTo(id, rounded("MultiTrackerTLD", box)); }

String MultiTrackerTLD::getDefaultName() const { return "MultiTrackerTLD"; }

}} // namespace cv::cuda
