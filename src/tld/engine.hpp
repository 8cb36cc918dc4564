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
struct Learned
{
    int width, height; //!< of the object when it was learned
    int cols, rows;    //!< of pictures
    ObjectState state;
    std::vector<Feature> features;
    std::vector<Leaf> leaves;       //!< 2^features for each tree
    std::vector<uint8_t> positives; //!< PATCH_PIXELS bytes each, in their order
    std::vector<uint8_t> negatives; //!< the same
    std::vector<uint16_t> order;    //!< slots of positives
};

//! Gray pictures of the last frames, cols x rows bytes each, by age; those that no object needs any more are empty.
typedef std::vector<std::vector<uint8_t>> History;

/** All objects of one tracker, in the order in which they were added. Every frame has the size of the first one. Arguments were
checked; methods that may be captured or do not wait say so. All or nothing. */
class Engine
{
public:
    virtual ~Engine() = default;

    /** Learns an object from a frame, which becomes the current frame of all objects. Waits.
    @param number for its random numbers. @return false: flat, or no window fits; nothing has changed. */
    virtual bool add(const PictureView& frame, const Window& box, uint32_t number, StreamHandle stream) = 0;
    //! An object that was read before. @param frame becomes the current frame of all; nullptr: no flow before setHistory() or the
    //! next frame. Waits.
    virtual void add(const Learned& object, const PictureView* frame, StreamHandle stream) = 0;
    //! Object `index`; those after it move up. No work is lost: earlier calls are done in their order.
    virtual void remove(int index) = 0;
    virtual int objects() const = 0;

    //! A frame for all objects. @param results double[RESULT_COLUMNS] for each. Does not wait for the device's outputs; captured.
    virtual void update(const PictureView& frame, const OutputView& results, StreamHandle stream) = 0;
    /** ferns, select and nearestNeighbours alone, for the first object. @param objects table of detections, 1 + maxDetections rows
    of 8 doubles. As update(). */
    virtual void detect(const PictureView& frame, const OutputView& objects, StreamHandle stream) = 0;
    //! The same, and learns a box for the first object, whatever recheck() would say. As update().
    virtual void learn(const PictureView& frame, const Window& box, StreamHandle stream) = 0;

    //! Puts an object on a box in the current frame: alive and valid. Ordered after the last call.
    virtual void reset(int index, const Box& box) = 0;
    //! For frames to come.
    virtual void setLearning(bool learning) = 0;

    //! All of these wait, on the stream of the last call.
    virtual void read(int index, Learned& object) = 0;
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
std::unique_ptr<Engine> makeCudaEngine(const Settings& settings);
//! Copies a table on the device to the host. Waits, on this stream only.
void fetchTable(const OutputView& table, double* to, StreamHandle stream);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_ENGINE_HPP
