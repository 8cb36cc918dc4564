// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What TLD keeps on the device, and how it is laid out.
//
// A frame's work reads what the last frame left and writes beside it: the picture into the spare slot of the ring, states,
// detections and models into those that are not current. Only gpu::commit() makes all that current, in one launch that comes
// last. So a call that failed, or a capture that was dropped, leaves every object as it was. Which ones are current is known to
// the device alone, so graphs may be replayed.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP

#include "tld_tuning.hpp"
#include "../tld/stages.hpp"
#include <vector_types.h>

namespace cv { namespace cuda { namespace tld { namespace gpu {

const int SLOTS = KEPT_FRAMES + 1;

//! Where pyramids lie: places of slots by age, 0 for the last committed frame; the spare one last.
struct Ring
{
    int32_t slot[SLOTS];
};

//! Levels of a pyramid in its slot.
struct Levels
{
    int count;
    uint32_t offset[MAX_LEVELS];
    int step[MAX_LEVELS], cols[MAX_LEVELS], rows[MAX_LEVELS];
};

//! Windows are bits, dense in each scale; a scale begins with a new word.
struct BitLayout
{
    int words;
    int first[MAX_SCALES];
};

//! Of the frame in work; zero when it begins.
struct Counts
{
    uint32_t withVariance, passed, detections, accepted, alike;
};

//! What is to be learned from this frame.
struct Lesson
{
    int32_t learn; //!< 0: nothing
    Box box, positive;
    int32_t near, warps, examples; //!< examples: of the ferns; 0 without near windows
    double angle;
    Window windows[MAX_NEAR], hull;
};

//! The part of an object that changes.
struct Live
{
    ObjectState states[2];
    int32_t current; //!< of states and detections
    int32_t model;   //!< the current one
    Counts counts;
    FlowTask task;
    Lesson lesson;
    unsigned blocksDone; //!< of a launch whose last block goes on; 0 between launches
    // Of train().
    int32_t trained; //!< 0: flat, or no window fits
    uint32_t worstSum;
    unsigned candidates, lastBin;
};

//! What ferns and nearest neighbours know.
struct Model
{
    Leaf* leaves;
    uint16_t* posteriors;
    uint32_t* known; //!< a bit for each leaf whose posterior is not 0
    uint8_t* templates;
    PatchStats* stats;
    uint16_t* order;
};

//! Where all that belongs to an object is.
struct ObjectRecord
{
    Live* live;
    const Grid* grid;
    const Feature* features;
    const int* offsets; //!< see offsetsPerTree(); from the blurred pixel of a window's corner, for each scale
    Model models[2];
    size_t modelBytes;        //!< of all tables of a model, which begin with its leaves
    Detection* detections[2]; //!< MAX_DETECTIONS
    // Of the frame in work.
    uint32_t* alike; //!< bits of windows with alikeSum()
    BitLayout bits;
    // The first of them, in no order, with their codes, so that learning need not look at pixels again.
    uint32_t* alikeWindows; //!< packed()
    uint16_t* alikeCodes;   //!< for each tree `alikeCapacity`
    int alikeCapacity;
    uint2* passed;     //!< number and sum of windows that passed, in no order
    uint8_t* patches;  //!< of detections, PATCH_STRIDE each
    PatchStats* stats; //!< of these patches
    Followed* followed;
    uint16_t* codes;   //!< of the positive examples, one a tree
    uint32_t* touched; //!< bits of leaves that were counted in; 0 between launches
};

//! Some windows of one scale of one object.
struct Tile
{
    int32_t object, scale, first; //!< first: place in the scale
};

/** What all stages take. */
struct Batch
{
    Settings settings;
    int cols, rows;
    Levels levels;
    uint8_t* slots;
    size_t slotBytes;
    Ring* ring;
    RowsView<uint8_t> blurred;
    uint32_t *sums, *squares;
    size_t tableStep;
    int2 *strips, *groups; //!< sums over columns of a strip, of a group of strips: pixels, their squares
    int stripStep;
    const ObjectRecord* objects;
    int count;
    const Tile* tiles;
    int tileCount;

    CT_HOST_DEVICE uint8_t* level(int slot, int l) const { return slots + slot * slotBytes + levels.offset[l]; }
    CT_HOST_DEVICE SumTable sumTable() const { return {sums, tableStep}; }
    CT_HOST_DEVICE SumTable squareTable() const { return {squares, tableStep}; }
};

//! A window of a grid in 32 bits.
const int PLACE_BITS = 26;
const uint32_t NO_WINDOW = 0xffffffffu;
static_assert(MAX_SCALES < 1 << (32 - PLACE_BITS), "scale and place in 32 bits");
CT_HOST_DEVICE uint32_t packed(int scale, int place) { return static_cast<uint32_t>(scale) << PLACE_BITS | place; }

//! Offsets of a tree lie in pairs, for first and second pixel; an even number of pairs, as they are read two at a time.
CT_HOST_DEVICE int offsetsPerTree(int features) { return (2 * features + 3) / 4 * 4; }
CT_HOST_DEVICE int offsetsPerScale(const Settings& s) { return s.trees * offsetsPerTree(s.features); }
CT_HOST_DEVICE int leavesOf(const Settings& s) { return s.trees << s.features; }
CT_HOST_DEVICE int templatesOf(const Settings& s) { return s.maxPositives + s.maxNegatives; }
//! The most positive examples that there can be.
CT_HOST_DEVICE int mostExamples(const Settings& s)
{
    return greater(examplesOf(s.initWindows, s.initWarps, s.mirror),
                   examplesOf(s.updateWindows, s.updateWarps, s.mirror));
}

//! What a frame is for.
enum Purpose
{
    UPDATING,
    DETECTING,
    LEARNING //!< of one object: a box that the user gives
};

// Beside those of stages.hpp. All are for `batch.count` objects.

//! gray values, blur, sums of strips; and counts begin at 0. Into the spare slot. @param withPyramid levels 1 and 2 too.
void look(const Batch& batch, const PictureView& picture, bool withPyramid, detail::StreamHandle stream);
//! Levels from `first` on, of a slot by age; KEPT_FRAMES: the spare one.
void pyramid(const Batch& batch, int age, int first, detail::StreamHandle stream);
/** integrate, recheck and what is to be learned. @param results rows by object; table of detections when DETECTING.
@param box when LEARNING. */
void decide(const Batch& batch, Purpose purpose, const Window& box, RowsView<double> results,
            detail::StreamHandle stream);
//! What was worked out becomes current. @param next the picture is a new frame.
void commit(const Batch& batch, Purpose purpose, detail::StreamHandle stream);
//! The picture in the spare slot becomes that of the current frame.
void replace(const Batch& batch, detail::StreamHandle stream);
//! placeAt()
void place(Live* live, const Box& box, detail::StreamHandle stream);
/** An object that is not among those of the batch: live->states[0] as beginTraining() leaves it, models[0] all zero.
@param windows of its grid. @param kinds a byte a window. @param histogram TRAIN_BINS entries, 0.
@param candidates TRAIN_CANDIDATES entries. */
void train(const Batch& batch, const ObjectRecord& object, int windows, uint8_t* kinds, uint32_t* histogram,
           uint2* candidates, detail::StreamHandle stream);
const int TRAIN_BINS = 1 << 16, TRAIN_CANDIDATES = 1 << 16;

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP
