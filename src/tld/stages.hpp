// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of TLD, in the order of a frame; then those that add and reset an object. A stage is in the file of its
// name unless its line names other files.
//
//   preprocess         gray values and blur of an image
//   sumTables          summed-area tables of pixels and of their squares
//   pyramid            gray images of halved sizes
//   flow               median flow, which moves the box
//   filter             the correlation filter beside flow, which may take its own box
//   associate          boxes of the user's detector with objects
//   ferns              variance filter and fern ensemble for all windows
//   select             the windows of largest posteriors among those that passed the ferns
//   nearestNeighbours  similarities of these windows and of the box to the templates
//   integrate          the new box, from flow and clusters of detections
//   trainingSet        whether to learn, positive and negative examples (cuda: in integrate.cu, learn_ferns.cu)
//   learnFerns         counts and posteriors of the fern ensemble
//   learnTemplates     templates of the nearest neighbours
//   trainFilter        whether and what the filter learns, and whether it knows a box that was found again (cpu: in
//                      filter.cpp; cuda: in filter_training.cu)
//   commit             makes the results of the frame current (cpu: in engine.cpp; cuda: in state.cu)
//   train              first training of an object
//   framesDiffer       compares two kept frames (cpu: in frame_store.hpp; cuda: in state.cu)
//   start              makes the image of a new object START (cpu: in engine.cpp; cuda: in state.cu)
//   reset              puts an object on a box (cpu: in engine.cpp; cuda: in state.cu)
//
// Structs that several stages use are declared here. Batches, tiles and layouts are declared by the backend that uses
// them.
#ifndef OPENCV_CUDATRACKING_TLD_STAGES_HPP
#define OPENCV_CUDATRACKING_TLD_STAGES_HPP

#include "../common/scratch_pool.hpp"
#include "../common/views.hpp"
#include "core.hpp"
#include <vector>

namespace cv { namespace cuda { namespace tld {

using detail::ConstRowsView;
using detail::ImageView;
using detail::RowsView;

//! Gray images of halved sizes.
struct Pyramid
{
    int levels;
    uint8_t* data[MAX_LEVELS];
    size_t step[MAX_LEVELS];
    int cols[MAX_LEVELS], rows[MAX_LEVELS];
};

//! Images and tables of a frame, which all objects share.
struct Frame
{
    int cols, rows;
    ImageView image; //!< the caller's, valid during the call
    ConstRowsView<uint8_t> gray, blurred;
    SumTable sums, squares;
    Pyramid pyramids[KEPT_FRAMES + 1]; //!< by age; 0: this frame; START: the last one
};

//! Boxes of the user's detector in a frame.
struct DetectorBoxes
{
    const Window* list; //!< null: the detector did not run on this frame
    //! number of boxes; on the device the most there can be: list[0].x is the number, and the boxes follow it
    int count;
    bool onDevice; //!< the list is in device memory
};

namespace cpu { // defined in src/cpu/tld/work.hpp
struct PassedWindows;
struct TrainingSet;
} // namespace cpu

//! State, model and detections of an object, in the memory of the CPU engine.
struct ObjectView
{
    ObjectState* state;
    const ObjectState* before; //!< state before the frame
    const Grid* grid;
    const Feature* features; //!< trees * features
    Leaf* leaves;            //!< 2^features per tree
    uint16_t* posteriors;    //!< 2^features per tree
    uint8_t* templates;      //!< PATCH_STRIDE bytes per slot, maxPositives + maxNegatives slots
    PatchStats* stats;       //!< one per slot
    uint16_t* order;         //!< slots of positives
    // With Settings::filter.
    const FilterModel* filter;
    FilterModel* nextFilter; //!< becomes current when the frame ends, if FilterState::trains
    const FilterTarget* filterTarget;
    // Results of the last frame.
    ForwardShift* forwardShift; //!< of flow
    cpu::PassedWindows* passed;
    Detection* detections; //!< MAX_DETECTIONS entries
    cpu::TrainingSet* trainingSet;
};

namespace cpu {
struct Scratch; //!< defined in src/cpu/tld/work.hpp
typedef detail::ScratchPool<Scratch> ScratchPool;

//! Arguments of all stages that process an object.
struct Work
{
    const Settings* settings;
    const Frame* frame;
    ScratchPool* scratch;
};

void preprocess(const ImageView& image, RowsView<uint8_t> gray, RowsView<uint8_t> blurred);
//! @param sums,squares out: (cols + 1) x (rows + 1) entries. @param step entries from row to row.
void sumTables(const ImageView& gray, uint32_t* sums, uint32_t* squares, size_t step);
//! Computes levels 1 and up from level 0.
void pyramid(const Pyramid& levels);

//! Runs beginFrame(), the flow and endFlow().
void flow(const Work& work, const ObjectView& object);
//! Asks the filter after flow.
void filter(const Work& work, const ObjectView& object);
//! Associates boxes with objects, after their flow. @param boxes on the host.
void associate(const Work& work, const std::vector<ObjectView>& objects, const DetectorBoxes& boxes);
void ferns(const Work& work, const ObjectView& object);
void select(const ObjectView& object);
//! @param tracking also compares the box with the templates, by updateSimilarity().
void nearestNeighbours(const Work& work, const ObjectView& object, bool tracking);
void integrate(const Work& work, const ObjectView& object);
// In a frame only learnFerns() and learnTemplates() change the model. They cannot fail: they allocate nothing and use
// one thread.

//! @param always learns state->box without regard to recheck().
void trainingSet(const Work& work, const ObjectView& object, bool always);
/** Moves the filter to the box, after trainingSet() or train(). It learns into nextFilter or, where the object was
found again, is asked whether it knows the box. */
void trainFilter(const Work& work, const ObjectView& object);
void learnFerns(const Work& work, const ObjectView& object) noexcept;
void learnTemplates(const Work& work, const ObjectView& object) noexcept;
/** Learns contrast, ferns, templates and thresholds from state->box, the user's box. Leaves must be 0.
@return false when the box is of one gray value or no window overlaps it enough. */
bool train(const Work& work, const ObjectView& object);

} // namespace cpu

namespace gpu {

// Declared here only; defined in src/cuda/tld/objects.hpp.
struct Batch;
struct Live;
struct Ring;
struct ObjectRecord;
struct TrainingMemory;

//! Purpose of the work on a frame.
enum Purpose
{
    UPDATING,
    DETECTING,
    LEARNING //!< learns a box that the user gives
};

//! Part of flow().
enum FlowPart
{
    WHOLE_FLOW,
    FORWARD_TRACKS,
    REST_OF_FLOW
};

// All stages process the objects of the batch. They write copies that are not current; only commit(), start() and
// reset() change current ones.

//! Writes gray values into the spare slot. Also sums columns for sumTables(), and zeroes the counts of the frame.
void preprocess(const Batch& batch, const ImageView& image, detail::StreamHandle stream);
void sumTables(const Batch& batch, detail::StreamHandle stream);
//! Computes levels 1 and up from level 0. @param age of the pyramid, or START or SPARE.
void pyramid(const Batch& batch, int age, detail::StreamHandle stream);
//! With Settings::learning, also copyModels(). @param part the forward tracks come first, the rest after them.
void flow(const Batch& batch, FlowPart part, detail::StreamHandle stream);
//! Asks the filter at the last box. May run concurrently with flow(), after sumTables().
void filterLast(const Batch& batch, const ImageView& image, detail::StreamHandle stream);
//! Asks the filter at the second place. May run concurrently with the rest of flow(), after the forward tracks and
//! sumTables().
void filterSecond(const Batch& batch, const ImageView& image, detail::StreamHandle stream);
//! Decides which answer and which box is taken, after flow(), filterLast() and filterSecond().
void filter(const Batch& batch, const ImageView& image, detail::StreamHandle stream);
/** Associates boxes with objects, after their flow and sumTables(). @param boxes on the device. @param values scratch
memory, MAX_BOXES doubles per object, with Settings::verifyBoxes or findByBoxes, else null. */
void associate(const Batch& batch, const DetectorBoxes& boxes, double* values, detail::StreamHandle stream);
void ferns(const Batch& batch, detail::StreamHandle stream);
void select(const Batch& batch, detail::StreamHandle stream);
//! @param tracking also the similarities and the support of the box.
void nearestNeighbours(const Batch& batch, bool tracking, detail::StreamHandle stream);
/** Also runs trainingSet, except the codes of positive examples. @param box used when LEARNING. @param results one row
per object; the table of detections when DETECTING. */
void integrate(const Batch& batch, Purpose purpose, const Window& box, RowsView<double> results,
               detail::StreamHandle stream);
//! Copies current models over the others, which learnFerns() and learnTemplates() change. The CPU changes models in
//! place.
void copyModels(const Batch& batch, detail::StreamHandle stream);
//! Also computes the codes of positive examples. May run concurrently with learnTemplates(), after copyModels().
void learnFerns(const Batch& batch, detail::StreamHandle stream);
void learnTemplates(const Batch& batch, detail::StreamHandle stream);
//! Moves and trains filters, after integrate(). May run concurrently with learnFerns() and learnTemplates(). @param
//! results rows of integrate(), of which those change whose boxes are refused.
void trainFilter(const Batch& batch, const ImageView& image, RowsView<double> results, detail::StreamHandle stream);
void commit(const Batch& batch, Purpose purpose, detail::StreamHandle stream);

//! Sets Ring::differs, which must be 0, when the gray values of two frames differ. @param one,other ages, START or
//! SPARE.
void framesDiffer(const Batch& batch, int one, int other, detail::StreamHandle stream);
/** Trains an object that is not in the batch. live->states[0] must be the result of beginTraining(), models[0] zero.
Writes Live::trained. @param windows number of windows of its grid. */
void train(const Batch& batch, const ObjectRecord& object, int windows, const TrainingMemory& memory,
           detail::StreamHandle stream);
//! Trains the filters of new objects, whose states are current, in the image of the last sumTables().
void beginFilter(const Batch& batch, const ImageView& image, detail::StreamHandle stream);
//! Makes the image in the spare slot START. @param oldEnds first makes the old START the last frame.
void start(const Batch& batch, bool oldEnds, detail::StreamHandle stream);
//! Undoes start(), which must be the last change, for the same objects.
void undoStart(const Batch& batch, detail::StreamHandle stream);
//! Puts an object on a box in the newest image, by resetState().
void reset(const Batch& frame, Live* live, const Box& box, detail::StreamHandle stream);
//! Undoes reset(), which must be the last change.
void undoReset(Live* live, detail::StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_STAGES_HPP
