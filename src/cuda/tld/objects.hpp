// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What TLD keeps on the device, and how it is laid out.
//
// A frame's work reads what the last frame left and writes beside it: the image into the spare slot of the ring, states,
// detections and models into those that are not current. Only gpu::commit() makes all that current, in one launch that comes
// last. So a call that failed, or a capture that was dropped, leaves every object as it was. Which ones are current is known to
// the device alone, so graphs may be replayed.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP

#include "tuning.hpp"
#include "../../tld/stages.hpp"
#ifdef __CUDACC__
#include "../../common/launch.hpp"
#endif
#include <vector_types.h>

namespace cv { namespace cuda { namespace tld { namespace gpu {

const int SPARE = KEPT_FRAMES + 1, SLOTS = SPARE + 1;
//! Strips of rows whose column sums preprocess() adds up to those of a group.
const int STRIPS = tuning::TILE / tuning::STRIP;

//! Where pyramids lie: places of slots by age, 0 for the last committed frame; then START, and the spare one last.
struct Ring
{
    int32_t slot[SLOTS];
    int32_t startIsLast;                     //!< no frame was committed after START
    int32_t differs;                         //!< of differ()
    int32_t slotBefore[SLOTS], startWasLast; //!< before the last start(), for undoStart()
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
    uint32_t withVariance, passed, detections, accepted;
};

//! What is to be learned from this frame.
struct TrainingSet
{
    int32_t learn; //!< 0: nothing
    Box box, positive;
    int32_t near, warps, examples; //!< examples: of the ferns; 0 without near windows
    double angle;
    Window windows[MAX_NEAR], hull;
};

//! Of a living box after the flow.
struct TrackResult
{
    Similarity similarity;
    PatchStats stats;
    int32_t supported;
};

//! The part of an object that changes.
struct Live
{
    ObjectState states[2];
    int32_t current;    //!< of states and detections
    int32_t model;      //!< the current one
    int32_t spareIsOld; //!< the other model lacks what was learned last
    Counts counts;
    FlowTask task;
    TrackResult trackResult;
    TrainingSet trainingSet;
    unsigned blocksDone, copiesDone; //!< of launches whose last block goes on; 0 between launches
    // Of train().
    int32_t trained; //!< 0: flat, or no window fits
    uint32_t worstSum;
    uint64_t last; //!< order of the last window that becomes a template, as far as its digits are known
    int32_t left;  //!< windows that are still to be found among those with these digits
    unsigned candidates;
};

//! What ferns and nearest neighbours know.
struct Model
{
    Leaf* leaves;
    uint16_t* posteriors;
    uint8_t* templates;
    PatchStats* stats;
    uint16_t* order;
};

//! Where all that belongs to an object is.
struct ObjectRecord
{
    Live* live;
    int group;
    const Grid* grid;
    const Feature* features;
    const int* points; //!< of a scale pointStep(): pixels that ferns look at, from that of a window's corner, by rows
    const uint32_t* pairs; //!< for each comparison its two points: first | second << 16
    int pointCount;
    Model models[2];
    size_t modelBytes;        //!< of all tables of a model, which begin with its leaves
    Detection* detections[2]; //!< MAX_DETECTIONS
    // Of the frame in work.
    uint32_t* fernPositives; //!< bits of windows with fernPositiveSum()
    BitLayout bits;
    uint32_t* listedPositives; //!< bits of windows of the code list, by scale: fernPositiveSum()
    uint2* passed;             //!< number and sum of windows that passed, in no order
    uint8_t* patches;          //!< of detections, PATCH_STRIDE each
    PatchStats* stats;         //!< of these patches
    TrackedPoint* trackedPoints;
    uint16_t* codes;   //!< of the positive examples, one a tree
    uint32_t* touched; //!< bits of leaves that were counted in; 0 between launches
};

//! Objects of one size, and with the same comparisons: their windows have the same codes.
struct Group
{
    int32_t first, count; //!< of Batch::members
    int32_t windows;      //!< of the grid
    size_t list;          //!< where its CodeList begins in Batch::lists
};
struct Member
{
    int32_t object, group;
};

/** TILE_COLS x TILE_ROWS windows of one scale of a group, with all that kernels need for them: a block has no time to look for
it. */
struct Tile
{
    Scale scale;
    int32_t group, number, index; //!< number: of the scale; index: of the tile in it
    int32_t x, y;                 //!< the first window's column and row
    int32_t pointCount;
    const int* points; //!< of the scale
    const uint32_t* pairs;
    int64_t least; //!< contrast of the object that needs the least
    size_t list;   //!< of the group
    int32_t windows;
};

/** Windows of a group with enough variance for one of its objects, and what ferns say of them. Those of a scale lie from
Scale::first on, in no order. */
struct CodeList
{
    uint32_t* counts;   //!< of each scale
    uint32_t* places;   //!< in the scale
    uint32_t* codes;    //!< two trees a word, `step` words apart; from the highest bits of a half word on
    int64_t* contrasts; //!< for groups of two or more
    int step;

    //! Code of tree t in a word of codes.
    CT_HOST_DEVICE static uint32_t codeOf(uint32_t word, int t, int features)
    {
        return (t % 2 ? word >> 16 : word & 0xffffu) >> (16 - features);
    }
};
const size_t CODE_LIST_COUNTS = 256;
static_assert(CODE_LIST_COUNTS >= MAX_SCALES * sizeof(uint32_t), "room for a count a scale");
//! Words of places and codes of so many windows; whole numbers of contrasts.
CT_HOST_DEVICE size_t codeListWords(int windows, int trees)
{
    return (static_cast<size_t>(windows) * (1 + (trees + 1) / 2) + 63) / 64 * 64;
}
CT_HOST_DEVICE size_t codeListBytes(int windows, int trees, int objects)
{
    return CODE_LIST_COUNTS + codeListWords(windows, trees) * sizeof(uint32_t) +
           (objects > 1 ? (static_cast<size_t>(windows) * sizeof(int64_t) + 255) / 256 * 256 : 0);
}

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
    // Sums of pixels and of their squares.
    int2* table; //!< both tables, entry by entry
    size_t tableStep;
    int2 *strips, *groups; //!< over columns of a strip, of a group of strips
    int stripStep;
    const ObjectRecord* objects;
    int count;
    const Group* objectGroups;
    const Member* members;
    const Tile* tiles;
    int groupCount, memberCount, tileCount;
    int mostPoints; //!< of an object
    uint8_t* lists;
    bool alone; //!< nothing runs beside: large kernels may begin early, as they take nobody's room

    CT_HOST_DEVICE uint8_t* level(int slot, int l) const { return slots + slot * slotBytes + levels.offset[l]; }
    //! @param windows of the group's grid.
    CT_HOST_DEVICE CodeList codeList(size_t list, int windows) const
    {
        uint32_t* const words = reinterpret_cast<uint32_t*>(lists + list + CODE_LIST_COUNTS);
        return {reinterpret_cast<uint32_t*>(lists + list), words, words + windows,
                reinterpret_cast<int64_t*>(words + codeListWords(windows, settings.trees)), windows};
    }
    CT_HOST_DEVICE CodeList codeList(const Group& group) const { return codeList(group.list, group.windows); }
    CT_HOST_DEVICE SumTable sumTable() const { return {reinterpret_cast<const uint32_t*>(table), 2 * tableStep, 2}; }
    CT_HOST_DEVICE SumTable squareTable() const
    {
        return {reinterpret_cast<const uint32_t*>(table) + 1, 2 * tableStep, 2};
    }
};

const int MAX_POINTS = 2 * ALL_FEATURES;
//! Room for the points of a scale, which are read four at a time.
CT_HOST_DEVICE int pointStep(const Settings& s) { return (2 * s.trees * s.features + 3) / 4 * 4; }
CT_HOST_DEVICE int leavesOf(const Settings& s) { return s.trees << s.features; }
//! Words of bits of leaves; they are read four at a time.
CT_HOST_DEVICE int leafWords(const Settings& s) { return (leavesOf(s) + 127) / 128 * 4; }
CT_HOST_DEVICE int templatesOf(const Settings& s) { return s.maxPositives + s.maxNegatives; }
//! The most positive examples that there can be.
CT_HOST_DEVICE int mostExamples(const Settings& s)
{
    return greater(examplesOf(s.initWindows, s.initWarps, s.mirror),
                   examplesOf(s.updateWindows, s.updateWarps, s.mirror));
}

#ifdef __CUDACC__
//! What kernels of a frame begin with, so that each is on the device before the one before it ends.
__device__ __forceinline__ void beginEarly()
{
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
}
#endif

const int TRAIN_BINS = 1 << 16;
//! Scratch memory of train().
struct TrainingMemory
{
    uint8_t* kinds;      //!< a byte per window
    uint32_t* histogram; //!< TRAIN_BINS entries, 0
    uint2* candidates;   //!< MAX_INIT_NEGATIVES entries
};

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP
