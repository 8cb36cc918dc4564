// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of TLD, in the order of a frame; then those of adding and resetting an object. A stage that is not in the file of its
// name says where it is.
//
//   preprocess         gray values and blur of an image
//   sumTables          tables of sums of pixels and of their squares
//   pyramid            gray images of halved sizes
//   flow               forward, backward, filters: the box moves
//   ferns              variance and ferns of all windows
//   select             the most confident windows that passed the ferns
//   nearestNeighbours  similarities of these windows and of the box to the templates
//   integrate          support, clusters, probation, and where the object is now
//   trainingSet        whether to learn from the frame, and its positive and negative examples (cuda: in integrate.cu, learn_ferns.cu)
//   learnFerns         counts and posteriors of the ferns
//   learnTemplates     templates of the nearest neighbours
//   commit             the results of the frame replaceBy current (cpu: in engine.cpp; cuda: in state.cu)
//   framesDiffer       whether two kept frames differ (cpu: in frame_store.hpp; cuda: in state.cu)
//   train              first training of an object
//   start              the image of a new object becomes START (cpu: in engine.cpp; cuda: in state.cu)
//   reset              an object is put on a box (cpu: in engine.cpp; cuda: in state.cu)
//
// Structs that are passed from stage to stage are declared here; batches, tiles and layouts are declared beside the code that has
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

//! What is made of a frame once, for all objects.
struct Frame
{
    int cols, rows;
    ConstRowsView<uint8_t> gray, blurred;
    SumTable sums, squares;
    Pyramid pyramids[KEPT_FRAMES + 1]; //!< by age; 0: this frame; the last one: START
};

namespace cpu {
struct TrainingSet; //!< what an object learns from in a frame: work.hpp
}

//! What an object is, where its engine keeps it.
struct ObjectView
{
    ObjectState* state;
    const Grid* grid;
    const Feature* features; //!< trees * features
    Leaf* leaves;            //!< 2^features for each tree
    uint16_t* posteriors;    //!< the same
    uint8_t* templates;      //!< PATCH_STRIDE bytes for each slot, maxPositives + maxNegatives of them
    PatchStats* stats;       //!< of each slot
    uint16_t* order;         //!< slots of positives
    // Of the last frame.
    uint32_t* sums;        //!< of posteriors, for each window; 0 where the variance is too low
    Detection* detections; //!< MAX_DETECTIONS
    cpu::TrainingSet* trainingSet; //!< on the CPU only
};

namespace cpu {

struct Scratch; //!< of one object in one frame: work.hpp
typedef detail::ScratchPool<Scratch> ScratchPool;

//! What the stages for objects share.
struct Work
{
    const Settings* settings;
    const Frame* frame;
    ScratchPool* scratch;
};

void preprocess(const ImageView& image, RowsView<uint8_t> gray, RowsView<uint8_t> blurred);
//! Both tables have (cols + 1) x (rows + 1) entries, `step` from row to row.
void sumTables(const ImageView& gray, uint32_t* sums, uint32_t* squares, size_t step);
//! Levels from 1 on.
void pyramid(const Pyramid& levels);

//! beginFrame() to endFlow().
void flow(const Work& work, const ObjectView& object);
void ferns(const Work& work, const ObjectView& object);
void select(const Work& work, const ObjectView& object);
//! @param tracking also the living box: updateScore().
void nearestNeighbours(const Work& work, const ObjectView& object, bool tracking);
void integrate(const Work& work, const ObjectView& object);
/* All that can fail comes before the first change: none of the stages above and not trainingSet() change leaves or templates. */
//! @param always state->box is learned whatever recheck() would say.
void trainingSet(const Work& work, const ObjectView& object, bool always);
//! These load no memory and use one thread.
void learnFerns(const Work& work, const ObjectView& object) noexcept;
void learnTemplates(const Work& work, const ObjectView& object) noexcept;
/** Learns an object from one box: contrast, ferns, templates, thresholds. state->box is the user's; leaves are 0.
@return false: the box is flat, or no window fits. */
bool train(const Work& work, const ObjectView& object);

} // namespace cpu

namespace gpu {

// Defined in src/cuda/tld/objects.hpp.
struct Batch;
struct Live;
struct Ring;
struct ObjectRecord;
struct TrainingMemory;

//! What a frame is for.
enum Purpose
{
    UPDATING,
    DETECTING,
    LEARNING //!< of one object: a box that the user gives
};

// All are for `batch.count` objects.

//! Also sums of strips; and counts begin at 0. Into the spare slot.
void preprocess(const Batch& batch, const ImageView& image, detail::StreamHandle stream);
void sumTables(const Batch& batch, detail::StreamHandle stream);
//! Levels from 1 on, of a slot by age; or of START or SPARE.
void pyramid(const Batch& batch, int age, detail::StreamHandle stream);
void flow(const Batch& batch, detail::StreamHandle stream);
void ferns(const Batch& batch, detail::StreamHandle stream);
void select(const Batch& batch, detail::StreamHandle stream);
//! @param tracking also the living box, and whether it has support.
void nearestNeighbours(const Batch& batch, bool tracking, detail::StreamHandle stream);
/** Also trainingSet, but for the codes of examples. @param box when LEARNING. @param results rows by object; table of detections when
DETECTING. */
void integrate(const Batch& batch, Purpose purpose, const Window& box, RowsView<double> results,
               detail::StreamHandle stream);
//! On the device alone: learning changes a copy of the model. Models that are not current replaceBy copies of the current ones.
void copyModels(const Batch& batch, detail::StreamHandle stream);
//! Also the codes of examples. learnFerns() and learnTemplates() may run side by side, after copyModels().
void learnFerns(const Batch& batch, detail::StreamHandle stream);
void learnTemplates(const Batch& batch, detail::StreamHandle stream);
void commit(const Batch& batch, Purpose purpose, detail::StreamHandle stream);

//! Sets Ring::differs, which is 0 before, where the gray values in two slots are not the same. @param one,other ages, START or SPARE.
void framesDiffer(const Batch& batch, int one, int other, detail::StreamHandle stream);
/** An object that is not among those of the batch: live->states[0] as beginTraining() leaves it, models[0] all zero.
@param windows of its grid. */
void train(const Batch& batch, const ObjectRecord& object, int windows, const TrainingMemory& memory,
           detail::StreamHandle stream);
//! The image in the spare slot becomes START. @param oldEnds the old START becomes the last frame before.
void start(const Batch& batch, bool oldEnds, detail::StreamHandle stream);
//! Takes the last start() back, with the same objects. Nothing else came since.
void undoStart(const Batch& batch, detail::StreamHandle stream);
//! resetState() in the newest image.
void reset(Live* live, const Ring* ring, const Box& box, detail::StreamHandle stream);
//! Takes the last reset() back. Nothing else came since.
void undoReset(Live* live, detail::StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_STAGES_HPP
