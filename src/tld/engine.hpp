// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the public classes ask of either engine.
#ifndef OPENCV_CUDATRACKING_TLD_ENGINE_HPP
#define OPENCV_CUDATRACKING_TLD_ENGINE_HPP

#include "../common/views.hpp"
#include "stages.hpp"
#include <memory>
#include <vector>

namespace cv { namespace cuda { namespace tld {

using detail::OutputView;
using detail::StreamHandle;

//! An object on the host, as it is saved: equal bytes on both engines.
struct LearnedObject
{
    int width, height; //!< of the object when it was learned
    int cols, rows;    //!< of images
    ObjectState state;
    std::vector<Feature> features;
    std::vector<Leaf> leaves;       //!< 2^features for each tree
    std::vector<uint8_t> positives; //!< PATCH_PIXELS bytes each, in their order
    std::vector<uint8_t> negatives; //!< the same
    std::vector<uint16_t> order;    //!< slots of positives
};

//! Gray values of the last frames and of START, cols x rows bytes each, by age: those that an object needs, its last one, and the
//! newest one.
struct History
{
    std::vector<std::vector<uint8_t>> frames; //!< KEPT_FRAMES + 1, or none; those that are not needed are empty
    bool startIsLast = false;                 //!< no frame came after START

    //! Age of the newest frame.
    int newest() const { return startIsLast ? START : 0; }
};

//! How Engine::add() ended.
enum class Added
{
    YES,
    NOTHING_THERE, //!< the box is flat, or no window is like it
    OTHER_IMAGE    //!< no frame came since another add(), which had another image, and not the last frame
};

/** Whether an image may replaceBy START. As long as some object is in the old one, that must be the same image, or it ends: as the
last frame of all objects, which it is, or in which all objects are. */
struct StartDecision
{
    bool may = true, oldEnds = false;
};

//! Tokens of the graphs that are taken to live as long as a public instance, whichever of its engines they use: Workspace.
typedef std::shared_ptr<std::vector<std::shared_ptr<void>>> GraphTokens;

/** All objects of one tracker, in the order in which they were added. Every frame has the size of the first one. Arguments were
checked; methods that may be captured or do not wait say so. All or nothing. */
class Engine
{
public:
    virtual ~Engine() = default;

    /** Learns an object from an image, which becomes START: the object goes on from there, the others from their last frame. Waits.
    @param number for its random numbers. @param alone the other objects are to be removed: their image does not matter.
    @return otherwise than with YES, nothing has changed. */
    virtual Added add(const ImageView& frame, const Window& box, uint32_t number, bool alone, StreamHandle stream) = 0;
    //! An object that was read before. @param frame becomes START; nullptr: no flow before setHistory() or the next frame. Waits.
    virtual Added add(const LearnedObject& object, const ImageView* frame, StreamHandle stream) = 0;
    //! Object `index`; those after it move up. No work is lost: earlier calls are done in their order.
    virtual void remove(int index) = 0;
    virtual int objects() const = 0;

    //! A frame for all objects. @param results double[RESULT_COLUMNS] for each. Does not wait for the device's outputs; captured.
    virtual void update(const ImageView& frame, const OutputView& results, StreamHandle stream) = 0;
    /** ferns, select and nearestNeighbours alone, for the first object. @param objects table of detections, 1 + maxDetections rows
    of 8 doubles. As update(). */
    virtual void detect(const ImageView& frame, const OutputView& objects, StreamHandle stream) = 0;
    //! The same, and learns a box for the first object, whatever recheck() would say. As update().
    virtual void learn(const ImageView& frame, const Window& box, StreamHandle stream) = 0;

    //! Puts an object on a box in the newest image: alive and valid. Waits; ordered after the last call and all replays before it.
    virtual void reset(int index, const Box& box) = 0;
    //! For frames to come.
    virtual void setLearning(bool learning) = 0;

    //! All of these wait, and are ordered as reset().
    virtual void read(int index, LearnedObject& object) = 0;
    virtual void readResult(int index, double* row) = 0;
    virtual void readDetections(int index, double* table) = 0;
    virtual History history() = 0;
    virtual void setHistory(const History& history) = 0;

    //! Device memory.
    virtual size_t workspaceBytes() const = 0;
    //! Whether graphs may refer to its memory, so that it has to live on.
    virtual bool captured() const { return false; }
};

std::unique_ptr<Engine> makeCpuEngine(const Settings& settings);
std::unique_ptr<Engine> makeCudaEngine(const Settings& settings, const GraphTokens& tokens);
//! Copies a table on the device to the host. Waits, on this stream only.
void fetchTable(const OutputView& table, double* to, StreamHandle stream);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_ENGINE_HPP
