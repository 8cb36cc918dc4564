// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Interface of the two engines to the public classes.
#ifndef OPENCV_CUDATRACKING_TLD_ENGINE_HPP
#define OPENCV_CUDATRACKING_TLD_ENGINE_HPP

#include "../common/views.hpp"
#include "stages.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace tld {

using detail::OutputView;
using detail::StreamHandle;

//! An object on the host, as it is saved: equal bytes from both engines.
struct LearnedObject
{
    int width, height; //!< size of the user's box, pixels
    int cols, rows;    //!< size of images, pixels
    ObjectState state;
    std::vector<Feature> features;
    std::vector<Leaf> leaves;        //!< 2^features per tree
    std::vector<uint8_t> positives;  //!< PATCH_PIXELS bytes per template, in their order
    std::vector<uint8_t> negatives;  //!< PATCH_PIXELS bytes per template, in their order
    std::vector<uint16_t> order;     //!< slots of positives
    std::vector<FilterModel> filter; //!< one, if state.filter.started
};

//! Returns the state that an object of a file begins with: without a filter, if it has none or none is wanted.
inline ObjectState stateOf(const LearnedObject& object, const Settings& settings)
{
    ObjectState state = object.state;
    state.filter.started = settings.filter && !object.filter.empty();
    return state;
}

//! Copies the templates of an object, whose order and state are set, out of slots of PATCH_STRIDE bytes.
void readTemplates(const uint8_t* slots, const Settings& settings, LearnedObject& object);

//! Returns the comparisons of all ferns of a new object.
inline std::vector<Feature> featuresOf(const Settings& settings)
{
    std::vector<Feature> features(ALL_FEATURES);
    makeFeatures(settings.seed, features.data());
    features.resize(static_cast<size_t>(settings.trees) * settings.features);
    return features;
}

//! Gray values of frames, cols * rows bytes each: those that flow of an object begins in, the last one of each object,
//! and the newest.
struct History
{
    //! by age, START last: KEPT_FRAMES + 1, or none; frames that are not needed are empty
    std::vector<std::vector<uint8_t>> frames;
    bool startIsLast = false; //!< no frame came after START

    //! Returns the age of the newest frame.
    int newest() const { return startIsLast ? START : 0; }
};

//! Result of Engine::add().
enum class Added
{
    YES,
    NOTHING_THERE, //!< the box is of one gray value, or no window overlaps it enough
    //! some objects, but not all, are in START, which is another image and not the last frame of the others
    OTHER_IMAGE
};

/** Whether an image may become START. If an object's box is in the old START, the new image must be equal to it, or the
old START must be the last frame of all objects; then it ends. */
struct StartDecision
{
    bool allowed = true, oldEnds = false;
};

/** All objects of one tracker, in the order in which they were added. All images have the size of the first one.
Arguments have been checked. Methods wait and refuse captures unless they say otherwise. A method that throws has
changed nothing. */
class Engine
{
public:
    virtual ~Engine() = default;

    /** Learns an object from an image, which becomes START. The object continues from there, all others from their last
    frame.
    @param number index of its series of random numbers. @param alone the caller removes all other objects, so that
    their START does not matter. @return when it is not YES, nothing has changed. */
    virtual Added add(const ImageView& frame, const Window& box, uint32_t number, bool alone, StreamHandle stream) = 0;
    //! Adds an object from a file. @param frame becomes START; nullptr: there is no last frame before setHistory() or
    //! the next frame.
    virtual Added add(const LearnedObject& object, const ImageView* frame, StreamHandle stream) = 0;
    //! Removes an object; the indices of those after it decrease. Calls that are still running complete. Does not wait.
    virtual void remove(int index) noexcept = 0;
    virtual int objects() const = 0;

    /** Processes a frame for all objects. @param boxes of the user's detector, at most MAX_BOXES; on the host for the
    CPU engine.
    @param results RESULT_COLUMNS doubles per object. Can be captured; waits only for host outputs. */
    virtual void update(const ImageView& frame, const DetectorBoxes& boxes, const OutputView& results,
                        StreamHandle stream) = 0;
    /** Runs ferns, select and nearestNeighbours for the first object. @param objects table of detections, 1 +
    maxDetections rows of DETECTION_COLUMNS doubles. Can be captured and waits as update(). */
    virtual void detect(const ImageView& frame, const OutputView& objects, StreamHandle stream) = 0;
    //! Detects as detect(), and learns a box for the first object without regard to recheck(). Can be captured; does
    //! not wait.
    virtual void learn(const ImageView& frame, const Window& box, StreamHandle stream) = 0;

    //! Puts an object on a box in the newest image, valid. Ordered after the last call.
    virtual void reset(int index, const Box& box) = 0;
    //! Switches learning for the calls that follow. Does not wait.
    virtual void setLearning(bool learning) = 0;

    // Getters and setHistory() are ordered as reset().
    virtual void read(int index, LearnedObject& object) = 0;
    virtual void readResult(int index, double* row) = 0;
    virtual void readDetections(int index, double* table) = 0;
    virtual History history() = 0;
    virtual void setHistory(const History& history) = 0;

    //! Returns the bytes of device memory.
    virtual size_t workspaceBytes() const = 0;
    //! Whether captured work may refer to its memory, so that it must be kept alive.
    virtual bool captured() const { return false; }
};

std::unique_ptr<Engine> makeCpuEngine(const Settings& settings);
std::unique_ptr<Engine> makeCudaEngine(const Settings& settings);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_ENGINE_HPP
