// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of TLD, in the order of a frame:
//
//   once a frame          toGray, sumTables, blur, pyramid
//   for all objects       flow               forward, backward, filters: the box moves
//                         ferns              variance and ferns of all windows
//                         select             the most confident windows that passed
//                         nearestNeighbours  these and the box against the templates
//                         integrate          support, clusters, probation, and where the object is now
//                         learn              recheck, ferns, templates
//   for a new object      train
//
// What goes from stage to stage is written here; batches, tiles and layouts stand beside the code that has them.
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
    const uint8_t* data[MAX_LEVELS];
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
struct Lesson; //!< what an object learns from in a frame: cpu.hpp
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
    cpu::Lesson* lesson;   //!< on the CPU only
};

namespace cpu {

struct Scratch; //!< of one object in one frame: cpu.hpp
typedef detail::ScratchPool<Scratch> ScratchPool;

//! What the stages for objects share.
struct Work
{
    const Settings* settings;
    const Frame* frame;
    ScratchPool* scratch;
};

void toGray(const ImageView& image, RowsView<uint8_t> gray);
//! Both tables have (cols + 1) x (rows + 1) entries, `step` from row to row.
void sumTables(const ImageView& gray, uint32_t* sums, uint32_t* squares, size_t step);
void blur(const ImageView& gray, RowsView<uint8_t> blurred);
void halve(const ImageView& level, RowsView<uint8_t> next);

//! beginFrame() to endFlow().
void flow(const Work& work, const ObjectView& object);
void ferns(const Work& work, const ObjectView& object);
void select(const Work& work, const ObjectView& object);
//! @param tracking also the living box: takeSimilarity().
void nearestNeighbours(const Work& work, const ObjectView& object, bool tracking);
void integrate(const Work& work, const ObjectView& object);
/* On the CPU, learning has two parts, so that all that can fail comes before the first change: none of the stages above changes
leaves or templates. */
//! recheck(), and what there is to learn from.
void prepareLesson(const Work& work, const ObjectView& object);
//! The same without recheck(): state->box is learned.
void prepareLessonOf(const Work& work, const ObjectView& object);
//! Ferns and templates. Takes no memory, uses one thread.
void learn(const Work& work, const ObjectView& object) noexcept;
/** Learns an object from one box: contrast, ferns, templates, thresholds. state->box is the user's; leaves are 0.
@return false: the box is flat, or no window fits. */
bool train(const Work& work, const ObjectView& object);

} // namespace cpu

namespace gpu {

// What the following take and how it is laid out, and the stages that only a device has: src/cuda/tld/objects.hpp.
// There, toGray and blur are one: look(). integrate has the recheck: decide().
struct Batch;

void sumTables(const Batch& batch, detail::StreamHandle stream);
void flow(const Batch& batch, detail::StreamHandle stream);
void ferns(const Batch& batch, detail::StreamHandle stream);
void select(const Batch& batch, detail::StreamHandle stream);
//! @param tracking also the living box, and whether it has support.
void nearestNeighbours(const Batch& batch, bool tracking, detail::StreamHandle stream);
void learn(const Batch& batch, detail::StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_STAGES_HPP
