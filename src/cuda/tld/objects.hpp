// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Data of TLD in device memory, and its layout.
//
// The stages of a frame read the current data and write into copies that are not current: the image into the spare slot
// of the ring, states, detections and models into their second copies. Only gpu::commit() makes these current, in one
// launch that comes last. Therefore a call that fails, or a capture that is dropped, leaves every object unchanged.
// Only the device knows which copies are current, so that graphs can be replayed.
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
//! Strips of rows per group of strips: preprocess() sums columns over both.
const int STRIPS = tuning::TILE / tuning::STRIP;

//! Slots of pyramids by age: 0 is the last committed frame, then START, then the spare slot.
struct Ring
{
    int32_t slot[SLOTS];
    int32_t startIsLast;                     //!< no frame has been committed after START
    int32_t differs;                         //!< result of framesDiffer()
    int32_t slotBefore[SLOTS], startWasLast; //!< values before the last start(), for undoStart()
};

//! Layout of a pyramid in its slot, per level.
struct Levels
{
    int count;
    uint32_t offset[MAX_LEVELS];
    int step[MAX_LEVELS], cols[MAX_LEVELS], rows[MAX_LEVELS];
};

//! Layout of a bit per window. Each scale begins with a new word.
struct BitLayout
{
    int words;
    int first[MAX_SCALES];
};

//! Counts of windows in the current frame; preprocess() zeroes them.
struct Counts
{
    uint32_t withVariance, passed, detections, accepted;
};

//! Training set of an object in a frame.
struct TrainingSet
{
    Box box, positive;
    int32_t near, warps, examples; //!< examples: positive ones for ferns; 0 without near windows
    double angle;
    Window windows[MAX_NEAR], hull;
};

//! Results of templateSimilarities for the box.
struct TrackResult
{
    Similarity similarity;
    PatchStats stats;
    uint32_t support; //!< argument `sum` of updateSupport(); select() clears it
};

//! The variable part of an object.
struct Live
{
    ObjectState states[2];
    int32_t current;      //!< index of the current states and detections
    int32_t model;        //!< index of the current model
    int32_t spareIsOld;   //!< the other model is not a copy of the current one
    int32_t filter;       //!< index of the current filter
    int32_t ofColours[2]; //!< histograms of this filter may have values in bins that gray images do not have
    Counts counts;
    FlowTask task;
    TrackResult trackResult;
    ObjectState tracked;                               //!< state as templateSimilarities has found it
    TrainingSet trainingSets[2];                       //!< see integrateObjects
    int32_t set;                                       //!< index of the one that counts
    int32_t learns;                                    //!< the object learns from this frame
    unsigned blocksDone, copiesDone, filterBlocksDone; //!< see isLastBlock(); 0 between launches
    // Used by train().
    int32_t trained; //!< 0: the box is of one gray value, or no window overlaps it enough
    uint32_t worstSum;
    uint64_t last; //!< leading digits, as far as known, of the last order that becomes a template
    int32_t left;  //!< number of templates to take from the windows with these digits
    unsigned candidates;

    CT_HOST_DEVICE const TrainingSet& trainingSet() const { return trainingSets[set]; }
};

//! Learned tables of ferns and nearest neighbours.
struct Model
{
    Leaf* leaves;
    uint16_t* posteriors;
    uint8_t* templates;
    PatchStats* stats;
    uint16_t* order;
};

//! Most displacements of an answer: those of a target with four samples per side.
const int MOST_DISPLACEMENTS = (FILTER_SIDE - 3) * (FILTER_SIDE - 3);

//! A place where a filter looks, or whether it does.
struct FilterLook
{
    int32_t there, trains, colour; //!< colour: of FilterState
    FilterAreas areas;
    SamplePlan plan;
};

//! Where the samples of a size are, or whether they are taken.
struct SizePlan
{
    int32_t there;
    SamplePlan plan;
};

//! Scratch memory of a filter in a frame.
struct FilterWork
{
    FilterLook places[2]; //!< 0: of the training; 1: `second`
    SecondPlace second;
    // At two places, the last box and the second one, or at that of the training.
    int32_t histograms[2][2 * ORIENTATIONS][FILTER_CELLS]; //!< of gradients
    int64_t energies[2][FILTER_CELLS];
    int32_t samples[2][FILTER_CELLS];                      //!< sums over cells
    Complex products[2][FILTER_CHANNELS][FILTER_SPECTRUM]; //!< of answerPart()
    alignas(16) uint16_t likelihoods[2][FILTER_SIDE * FILTER_SIDE];
    int32_t targetSums[2][MOST_DISPLACEMENTS]; //!< of likelihoods over the displaced target
    Displacements displacements[2];
    FilterAnswer answers[2];
    FilterState moved[2];                 //!< by the answers: place and confidence
    SizePlan sizePlans[FILTER_SCALES][2]; //!< where these are; 0: where the filter is trained
    float sizeFeatures[FILTER_SCALES][SCALE_ROWS];
    Complex sizeSums[SCALE_CELLS][SCALE_FREQUENCIES]; //!< of the answers of the rows of a cell
    Similarity similarity;                            //!< of flow's box
    // What the training of the filter takes from the frame.
    float squares[FILTER_CHANNELS][FILTER_SPECTRUM]; //!< of absolute values of spectra
    alignas(16) int32_t foreground[HISTOGRAM_BINS];
    alignas(16) int32_t background[HISTOGRAM_BINS]; //!< counts of samples
    int32_t counts[2];                              //!< their sums
    TrainingRates rates;
    int32_t inDoubt; //!< verifyFound() must decide
};

//! Addresses of all data of an object.
struct ObjectRecord
{
    Live* live;
    int group;
    const Grid* grid;
    const Feature* features;
    const int* points; //!< pointStep() per scale: offsets from a window's corner to the pixels of all points, by rows
    const uint32_t* pairs; //!< points per comparison: first | second << 16
    int pointCount;
    Model models[2];
    size_t modelBytes;        //!< size of the tables of a model, which begin at Model::leaves
    Detection* detections[2]; //!< MAX_DETECTIONS each
    // With Settings::filter.
    const FilterTarget* filterTarget;
    FilterModel* filters[2];
    FilterWork* filterWork;
    // Scratch memory of the current frame.
    uint32_t* fernPositives; //!< bits of fern-positive windows, by BitLayout
    BitLayout bits;
    uint32_t* listedPositives;   //!< bits of fern-positive windows, by index in the code list (ListPlaces)
    uint2* passed;               //!< index and sum of posteriors of windows that passed, in any order
    uint8_t* patches;            //!< patches of detections, PATCH_STRIDE bytes each
    PatchStats* stats;           //!< sums of these patches
    TrackedPoint* trackedPoints; //!< 2 * FLOW_POINTS: of flow, then the forward tracks for filters of few objects
    uint16_t* codes;             //!< codes of positive examples, one per tree
    uint32_t* touched;           //!< bits of leaves whose counts have changed; 0 between launches
};

//! Objects of one size and with the same comparisons: their windows have the same codes.
struct Group
{
    int32_t first, count; //!< range of Batch::members
    int32_t windows;      //!< number of windows of the grid
    size_t list;          //!< offset of its CodeList in Batch::lists, bytes
};
//! An object of a group.
struct Member
{
    int32_t object, group;
};

/** TILE_COLS x TILE_ROWS windows of one scale of a group. It repeats values of other structs, so that a block reads one
struct without dependent loads. */
struct Tile
{
    Scale scale;
    int32_t group, number, index; //!< number: index of the scale; index: of the tile in this scale
    int32_t x, y;                 //!< column and row of the first window
    int32_t pointCount;
    const int* points; //!< those of the scale
    const uint32_t* pairs;
    int64_t least; //!< lowest leastContrast() of the group's objects
    size_t list;   //!< Group::list
    int32_t windows;
};

/** Code list: windows of a group with enough variance for at least one of its objects, and their fern codes. The
windows of a scale begin at Scale::first, in any order. */
struct CodeList
{
    uint32_t* counts;   //!< number of windows per scale
    uint32_t* places;   //!< index of the window in its scale
    uint32_t* codes;    //!< two trees per word, left-aligned in half words; words of one window are `step` apart
    int64_t* contrasts; //!< contrastOf() per window, for groups of two or more
    int step;

    //! Extracts the code of tree t from a word.
    CT_HOST_DEVICE static uint32_t codeOf(uint32_t word, int t, int features)
    {
        return (t % 2 ? word >> 16 : word & 0xffffu) >> (16 - features);
    }
};
const size_t CODE_LIST_COUNTS = 256;
static_assert(CODE_LIST_COUNTS >= MAX_SCALES * sizeof(uint32_t), "a count per scale");
//! Returns the words of places and codes, rounded up so that contrasts after them are aligned.
CT_HOST_DEVICE size_t codeListWords(int windows, int trees)
{
    return (static_cast<size_t>(windows) * (1 + (trees + 1) / 2) + 63) / 64 * 64;
}
CT_HOST_DEVICE size_t codeListBytes(int windows, int trees, int objects)
{
    return CODE_LIST_COUNTS + codeListWords(windows, trees) * sizeof(uint32_t) +
           (objects > 1 ? (static_cast<size_t>(windows) * sizeof(int64_t) + 255) / 256 * 256 : 0);
}

//! Arguments of all stages: settings, images, objects.
struct Batch
{
    Settings settings;
    int cols, rows;
    Levels levels;
    uint8_t* slots;
    size_t slotBytes;
    Ring* ring;
    RowsView<uint8_t> blurred;
    int2* table; //!< summed-area tables: x of pixels, y of their squares
    size_t tableStep;
    int2 *strips, *groups; //!< sums over the columns of a strip, and of a group of strips
    int stripStep;
    const FilterTables* filterTables; //!< with Settings::filter
    const ObjectRecord* objects;
    int count;
    const Group* objectGroups;
    const Member* members;
    const Tile* tiles;
    int groupCount, memberCount, tileCount;
    int mostPoints; //!< largest pointCount of an object
    uint8_t* lists;
    bool alone; //!< no other kernel runs concurrently, so that large kernels may begin early without delaying it

    CT_HOST_DEVICE uint8_t* level(int slot, int l) const { return slots + slot * slotBytes + levels.offset[l]; }
    //! Returns the code list of a group. @param list offset. @param windows number of windows of its grid.
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

//! Whether the objects of a batch leave most of the device idle, so that their kernels are bound by latency.
CT_HOST_DEVICE bool isFew(const Batch& batch) { return batch.count <= tuning::FEW_OBJECTS; }

const int MAX_POINTS = 2 * ALL_FEATURES;
//! Returns the largest number of points per scale, rounded up, as they are read four at a time.
CT_HOST_DEVICE int pointStep(const Settings& s) { return (2 * s.trees * s.features + 3) / 4 * 4; }
CT_HOST_DEVICE int leavesOf(const Settings& s) { return s.trees << s.features; }
//! Returns the words of a bit per leaf, rounded up, as they are read four at a time.
CT_HOST_DEVICE int leafWords(const Settings& s) { return (leavesOf(s) + 127) / 128 * 4; }
CT_HOST_DEVICE int templatesOf(const Settings& s) { return s.maxPositives + s.maxNegatives; }
//! Returns the largest possible number of positive examples.
CT_HOST_DEVICE int mostExamples(const Settings& s)
{
    return greater(examplesOf(s.initWindows, s.initWarps, s.mirror),
                   examplesOf(s.updateWindows, s.updateWarps, s.mirror));
}

#ifdef __CUDACC__
//! Waits for the preceding kernel and lets the next one begin, so that launches of a frame overlap.
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
    uint8_t* kinds;      //!< purpose of each window
    uint32_t* histogram; //!< TRAIN_BINS entries; must be 0
    uint2* candidates;   //!< MAX_INIT_NEGATIVES entries
};

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_OBJECTS_HPP
