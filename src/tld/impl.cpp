// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "impl.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld {

void TrackedObjects::checkBox(const Rect& box, Size image) const
{
    const int least = std::max(MIN_BOX, settings_.minWindow);
    if (box.width < least || box.height < least)
        CV_Error_(Error::StsOutOfRange, ("%s: box: %d x %d pixels, sides must be at least %d%s", owner_, box.width,
                                         box.height, least, least > MIN_BOX ? ", the parameter minWindow" : ""));
    if (box.x < 0 || box.y < 0 || box.x > image.width - box.width || box.y > image.height - box.height)
        CV_Error_(Error::StsOutOfRange,
                  ("%s: box: %d, %d, %d x %d is not inside of an image of %d x %d pixels; for the part "
                   "that is, give box & Rect(0, 0, %d, %d)",
                   owner_, box.x, box.y, box.width, box.height, image.width, image.height, image.width, image.height));
}

void TrackedObjects::checkFormat(const InputImage& input) const
{
    if (input.size() != size_)
        CV_Error_(Error::StsUnmatchedSizes, ("%s: image: %d x %d pixels, those before had %d x %d", owner_,
                                             input.size().width, input.size().height, size_.width, size_.height));
    if (formatKnown_ && input.type() != type_)
        CV_Error_(Error::StsUnmatchedFormats, ("%s: image: is %s, those before were %s", owner_,
                                               typeToString(input.type()).c_str(), typeToString(type_).c_str()));
    if (formatKnown_ && input.onDevice != device_)
        CV_Error_(Error::StsBadArg,
                  ("%s: image: is on the %s, those before were not", owner_, input.onDevice ? "device" : "host"));
}

std::unique_ptr<Engine> TrackedObjects::makeEngine(bool device) const
{
    return device ? makeCudaEngine(settings_) : makeCpuEngine(settings_);
}

//! Keeps the old engine until the end if captured work may refer to it.
void TrackedObjects::replaceEngine(std::unique_ptr<Engine> engine)
{
    if (engine_ && engine_->captured())
        retired_.push_back(std::move(engine_));
    engine_ = std::move(engine);
}

void TrackedObjects::replaceBy(TrackedObjects&& others)
{
    replaceEngine(std::move(others.engine_));
    params_ = others.params_;
    settings_ = others.settings_;
    device_ = others.device_;
    formatKnown_ = others.formatKnown_;
    hasLastFrame_ = others.hasLastFrame_;
    size_ = others.size_;
    type_ = others.type_;
}

size_t TrackedObjects::workspaceBytes() const
{
    size_t bytes = engine_ ? engine_->workspaceBytes() : 0;
    for (const std::unique_ptr<Engine>& engine : retired_)
        bytes += engine->workspaceBytes();
    return bytes;
}

Engine& TrackedObjects::engine(const char* what) const
{
    if (empty())
        CV_Error_(Error::StsError, ("%s: %s: there is no object yet", owner_, what));
    return *engine_;
}

void TrackedObjects::check(const InputImage& input, const char* what) const
{
    engine(what);
    checkFormat(input);
}

//! After checkFormat(), which refuses the other backend once images have been given, and with objects.
void TrackedObjects::moveToBackend(const InputImage& input, const Stream& stream)
{
    if (input.onDevice == device_)
        return;
    std::unique_ptr<Engine> other = makeEngine(input.onDevice);
    for (int i = 0; i < engine_->objects(); ++i)
    {
        LearnedObject object;
        engine_->read(i, object);
        other->add(object, nullptr, input.onDevice ? detail::handleOf(stream) : nullptr); // refuses captures
    }
    other->setHistory(engine_->history());
    replaceEngine(std::move(other));
    device_ = input.onDevice;
}

Engine& TrackedObjects::engineFor(const InputImage& input, const Stream& stream)
{
    moveToBackend(input, stream);
    acceptFormat(input);
    return *engine_;
}

void TrackedObjects::refuseOtherImage() const
{
    CV_Error_(Error::StsBadArg,
              ("%s: image: differs from the next frame, which an object was added with since the last update(); call "
               "update() with that one before",
               owner_));
}

bool TrackedObjects::fits(const Rect& box, Size image) const
{
    return makeGrid(box.width, box.height, image.width, image.height, settings_).windows <= MAX_WINDOWS;
}

bool TrackedObjects::canLearn(const Rect& box, Size image) const
{
    const int least = std::max(MIN_BOX, settings_.minWindow);
    return box.width >= least && box.height >= least && (box & Rect(cv::Point(), image)) == box && fits(box, image);
}

void TrackedObjects::learn(InputArray image, const Rect& box, uint32_t number, bool only, Stream& stream)
{
    const InputImage input(owner_, image);
    checkBox(box, input.size());
    if (!fits(box, input.size()))
        CV_Error_(Error::StsOutOfRange, ("%s: box: %d x %d pixels, with these parameters, makes more than %d windows",
                                         owner_, box.width, box.height, MAX_WINDOWS));
    const Added added = add(input, box, number, only, stream);
    if (added == Added::OTHER_IMAGE)
        refuseOtherImage();
    if (added == Added::NOTHING_THERE)
        CV_Error_(Error::StsBadArg,
                  ("%s: box: %d, %d, %d x %d is of one gray value, or no window overlaps it by more than 0.6", owner_,
                   box.x, box.y, box.width, box.height));
}

bool TrackedObjects::tryLearn(const InputImage& input, const Rect& box, uint32_t number, Stream& stream)
{
    return add(input, box, number, false, stream) == Added::YES;
}

Added TrackedObjects::add(const InputImage& input, const Rect& box, uint32_t number, bool only, Stream& stream)
{
    if (!only && !empty())
    {
        checkFormat(input);
        moveToBackend(input, stream);
    }
    const bool same = engine_ && size_ == input.size() && device_ == input.onDevice;
    std::unique_ptr<Engine> fresh;
    if (!same)
        fresh = makeEngine(input.onDevice);
    Engine& engine = same ? *engine_ : *fresh;
    const Added added =
        engine.add(input.view(), windowOf(box), number, only, input.onDevice ? detail::handleOf(stream) : nullptr);
    if (added != Added::YES)
        return added;
    while (only && engine.objects() > 1)
        engine.remove(0);
    if (fresh)
        replaceEngine(std::move(fresh));
    acceptFormat(input);
    return Added::YES;
}

void TrackedObjects::acceptFormat(const InputImage& input)
{
    formatKnown_ = hasLastFrame_ = true;
    device_ = input.onDevice;
    size_ = input.size();
    type_ = input.type();
}

void TrackedObjects::loadAll(const std::vector<LearnedObject*>& objects, const History& history)
{
    std::unique_ptr<Engine> fresh;
    if (!objects.empty())
    {
        fresh = makeEngine(false);
        size_ = Size(objects[0]->cols, objects[0]->rows);
        for (LearnedObject* object : objects)
        {
            fresh->add(*object, nullptr, nullptr);
            *object = LearnedObject(); // frees it: a file may have many
        }
        fresh->setHistory(history);
    }
    replaceEngine(std::move(fresh));
    device_ = formatKnown_ = false;
    hasLastFrame_ = !history.frames.empty() && !history.frames[history.newest()].empty();
}

void TrackedObjects::load(SavedObject& saved) { loadAll({&saved.object}, saved.history); }

void TrackedObjects::load(SavedTracker& saved)
{
    std::vector<LearnedObject*> objects;
    for (LearnedObject& object : saved.objects)
        objects.push_back(&object);
    loadAll(objects, saved.history);
}

void TrackedObjects::add(const SavedObject& saved, const InputImage& input, Stream& stream)
{
    if (input.size() != Size(saved.object.cols, saved.object.rows))
        CV_Error_(Error::StsUnmatchedSizes,
                  ("%s: image: has %d x %d pixels, the images of the file's object have %d x %d", owner_,
                   input.size().width, input.size().height, saved.object.cols, saved.object.rows));
    const ImageView frame = input.view();
    std::unique_ptr<Engine> fresh;
    if (empty())
        fresh = makeEngine(input.onDevice);
    else
    {
        checkFormat(input);
        moveToBackend(input, stream);
    }
    Engine& engine = fresh ? *fresh : *engine_;
    if (engine.add(saved.object, &frame, input.onDevice ? detail::handleOf(stream) : nullptr) == Added::OTHER_IMAGE)
        refuseOtherImage();
    if (fresh)
        replaceEngine(std::move(fresh));
    acceptFormat(input);
}

void TrackedObjects::reset(int index, const Rect& box)
{
    engine("resetTo()");
    if (!hasLastFrame_)
        CV_Error_(Error::StsError, ("%s: resetTo(): there is no last frame yet", owner_));
    checkBox(box, size_);
    engine_->reset(index, boxOf(windowOf(box)));
}

void TrackedObjects::clear()
{
    replaceEngine(nullptr);
    formatKnown_ = hasLastFrame_ = false;
}

void TrackedObjects::setLearning(bool learning)
{
    settings_.learning = learning;
    if (engine_)
        engine_->setLearning(learning);
}

std::array<double, RESULT_COLUMNS> TrackedObjects::result(int index) const
{
    std::array<double, RESULT_COLUMNS> row = {};
    if (!empty())
        engine_->readResult(index, row.data());
    return row;
}

void TrackedObjects::detections(int index, OutputArray objects) const
{
    Engine& from = engine("getDetections()");
    detail::Output output("objects", objects, 1 + settings_.maxDetections, DETECTION_COLUMNS, CV_64FC1,
                          detail::ON_HOST);
    Mat_<double> table(1 + settings_.maxDetections, DETECTION_COLUMNS);
    from.readDetections(index, table.ptr<double>());
    const detail::OutputView out = output.allocate();
    for (int y = 0; out && y < table.rows; ++y)
        std::copy_n(table[y], DETECTION_COLUMNS, out.as<double>().row(y));
}

void TrackedObjects::templates(int index, bool positive, OutputArray images) const
{
    LearnedObject object;
    engine("getTemplates()").read(index, object);
    const std::vector<uint8_t>& pixels = positive ? object.positives : object.negatives;
    detail::Output output("templates", images, static_cast<int>(pixels.size() / PATCH), PATCH, CV_8UC1,
                          detail::ON_HOST);
    const detail::OutputView out = output.allocate();
    for (int y = 0; out && y < out.rows; ++y)
        std::copy_n(&pixels[static_cast<size_t>(y) * PATCH], PATCH, out.as<uint8_t>().row(y));
}

//! Returns the frames of a tracker of this object alone, in which START is not used, and adapts the state.
static History historyOf(const History& all, ObjectState& state)
{
    History own;
    own.frames.resize(KEPT_FRAMES + 1);
    own.frames[0] = all.frames[state.started ? START : 0];
    if (!state.alive && state.retries > 0)
        own.frames[state.keptAge] = all.frames[state.keptStarted ? START : state.keptAge];
    state.started = state.keptStarted = 0;
    return own;
}

SavedObject TrackedObjects::savedObject(int index, bool tracking) const
{
    SavedObject saved;
    Engine& from = engine("write()");
    saved.params = params_;
    saved.params.learning = learning();
    from.read(index, saved.object);
    if (!tracking)
    {
        forgetPosition(saved.object.state);
        return saved;
    }
    saved.history = historyOf(from.history(), saved.object.state);
    if (!hasLastFrame_)
        saved.history.frames[0].clear();
    return saved;
}

SavedTracker TrackedObjects::savedTracker(int next) const
{
    SavedTracker saved;
    saved.params = params_;
    saved.params.learning = learning();
    saved.next = next;
    if (empty())
        return saved;
    saved.objects.resize(engine_->objects());
    for (int i = 0; i < engine_->objects(); ++i)
        engine_->read(i, saved.objects[i]);
    saved.history = engine_->history();
    return saved;
}

}}} // namespace cv::cuda::tld
