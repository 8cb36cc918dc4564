// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The implementation that TLDDetector, TrackerTLD and MultiTrackerTLD share: an engine and the format of its images.
#ifndef OPENCV_CUDATRACKING_TLD_IMPL_HPP
#define OPENCV_CUDATRACKING_TLD_IMPL_HPP

#include "../common/lockable.hpp"
#include "arguments.hpp"
#include "model.hpp"
#include <array>

namespace cv { namespace cuda { namespace tld {

/** The objects of one instance: an engine of the backend that the first image selects, and the format (size, type,
backend) that all further images must have. */
class TrackedObjects
{
public:
    //! @param owner name of the public class, for messages. @param tracking false: filters of objects are not used.
    TrackedObjects(const char* owner, const TLDParams& params, bool tracking = true)
        : owner_(owner), params_(params), settings_(settingsOf(params, owner))
    {
        settings_.filter = settings_.filter && tracking;
    }

    const TLDParams& params() const { return params_; }
    const Settings& settings() const { return settings_; }
    bool empty() const { return !engine_ || engine_->objects() == 0; }

    //! Throws when there is no object, or when the image has another format than those before. @param method for
    //! messages.
    void check(const InputImage& input, const char* method) const;
    //! Throws when the box is too small or not inside an image of this size.
    void checkBox(const Rect& box, Size image) const;
    //! Returns the engine for an image that check() accepted. After loading from a file, this image selects backend and
    //! type.
    Engine& engineFor(const InputImage& input, const Stream& stream);
    detail::StreamHandle handleOf(const Stream& stream) const { return device_ ? detail::handleOf(stream) : nullptr; }

    //! Learns an object. @param only the object replaces all others, and the image may have any size, type and backend.
    void learn(InputArray image, const Rect& box, uint32_t number, bool only, Stream& stream);
    //! Whether a box in images of the last frame's size is large enough, and inside, to be learned.
    bool canLearn(const Rect& box, Size image) const;
    //! Learns an object besides the others. The box must be one that it canLearn(). @return false: the box is of one
    //! gray value, say.
    bool tryLearn(const InputImage& input, const Rect& box, uint32_t number, Stream& stream);
    //! Replaces all objects by that of a file, which it empties.
    void load(SavedObject& saved);
    //! Replaces all objects by those of a file, which it empties one by one.
    void load(SavedTracker& saved);
    //! Takes over parameters and objects of `others`. Engines of captured calls are kept alive.
    void replaceBy(TrackedObjects&& others);
    //! Adds an object from a file. @param input becomes START, as the image of learn().
    void add(const SavedObject& saved, const InputImage& input, Stream& stream);
    void remove(int index) noexcept { engine_->remove(index); }
    //! Puts an object on a box in the last frame.
    void reset(int index, const Rect& box);
    //! Removes all objects. Frees all memory that no captured call has used.
    void clear();

    bool learning() const { return settings_.learning != 0; }
    void setLearning(bool learning);

    //! Returns an object's row of the table of results; zeros without objects.
    std::array<double, RESULT_COLUMNS> result(int index) const;
    //! Writes the table of detections of the last frame.
    void detections(int index, OutputArray objects) const;
    //! Writes the templates below each other, in their order.
    void templates(int index, bool positive, OutputArray images) const;
    size_t workspaceBytes() const;
    //! Returns an object as files have it. @param tracking with its position and the frames that tracking continues
    //! from.
    SavedObject savedObject(int index, bool tracking) const;
    //! Returns all objects as files have them. @param next id of the next object.
    SavedTracker savedTracker(int next) const;

private:
    //! Whether an object of this size does not make too many windows.
    bool fits(const Rect& box, Size image) const;
    //! Learns an object as learn(), of which all arguments have been checked.
    Added add(const InputImage& input, const Rect& box, uint32_t number, bool only, Stream& stream);
    //! Returns the engine; throws without objects. @param method for messages.
    Engine& engine(const char* method) const;
    //! Throws when the image has another format than those before.
    void checkFormat(const InputImage& input) const;
    std::unique_ptr<Engine> makeEngine(bool device) const;
    //! Moves objects that were read from a file to the backend of the image.
    void moveToBackend(const InputImage& input, const Stream& stream);
    //! Notes the image as the last frame, whose format all further images must have.
    void acceptFormat(const InputImage& input);
    void loadAll(const std::vector<LearnedObject*>& objects, const History& history);
    //! @param engine null: none.
    void replaceEngine(std::unique_ptr<Engine> engine);
    [[noreturn]] void refuseOtherImage() const;

    const char* owner_;
    TLDParams params_;
    Settings settings_;
    std::unique_ptr<Engine> engine_;
    std::vector<std::unique_ptr<Engine>> retired_; //!< replaced engines that captured work may refer to
    bool device_ = false;
    bool formatKnown_ = false;  //!< an image has selected backend and type; false after loading from a file
    bool hasLastFrame_ = false; //!< an image or a file has given a last frame
    Size size_;
    int type_ = 0;
};

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_IMPL_HPP
