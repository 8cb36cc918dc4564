// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What classify and group find in device memory: layouts of tiles, tables, models and candidates. For host and device code.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_CLASSIFY_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_CLASSIFY_HPP

#include "../../common/views.hpp"
#include "../../cascade/core.hpp"
#include "tuning.hpp"
#include <vector_types.h>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

// --- tiles -----------------------------------------------------------------------------------------------------------

/** A tile is cols x rows windows; its patch the pixels they cover; its tables have a row and a column more. Where windows are
two pixels apart, even and odd columns of a table's row lie apart, so that neighbouring windows read neighbouring words. */
struct Shape
{
    int shift; //!< step - 1
    int cols, rows;
    int columnBits;                      //!< cols = 1 << columnBits
    int patchCols, patchRows, patchStep; //!< pixels and bytes
    int step, half;                      //!< of a table: words from row to row, and from even to odd columns
    int words;                           //!< of a table

    CT_HOST_DEVICE int place(int x, int y) const { return y * step + (x >> shift) + (x & shift) * half; }
    //! Window to window, one row down.
    CT_HOST_DEVICE int windowStep() const { return step << shift; }
};

//! Where things lie in a block's shared memory, in bytes. Lists are made when the patch is spent, and lie over it.
struct Layout
{
    int norms, lists, patch, tables;
    int bytes;      //!< of shared memory
    bool global;    //!< patch and tables lie in device memory, at 0 and at `tables` of a block's slice
    int sliceBytes; //!< of device memory a block, if so
};

//! Shared memory that a block takes besides, at most: what the kernels of classify share beside the tables, as they assert (and
//! Plans_OnCuda.staticMemory compares with the compiler's numbers), and what the system takes for each block.
const size_t STATIC_BYTES = 1024, RESERVED_BYTES = 1024;

//! The windows of one cascade on one layer.
struct GridRecord
{
    float factor;
    int step;
    int cols, rows; //!< windows; 0: the cascade does not look at this layer
    int boxWidth, boxHeight;
    int rowWords;   //!< tiles side by side: words of failMasks in a row of windows
    int pixelStep;  //!< of the layer
    int64_t pixels; //!< where the layer begins in the pyramid of an image
};

struct TileRecord
{
    int image, grid; //!< grid: index into all records
    int scale;
    int col, row; //!< of its first window
    int word;     //!< of failMasks, for its first row
};

struct SourceRecord
{
    const uint8_t* gray;
    size_t step;
    const uint8_t* mask; //!< null: none
    size_t maskStep;
    int cols, rows;
    int firstGrid; //!< index of the record of scale 0
    int unused;
    int64_t pixels; //!< where its pyramid begins
};

//! A layer of a size of images, for all cascades. Rows have multiples of 16 bytes.
struct LayerRecord
{
    int cols, rows;
    int columnTaps, rowTaps; //!< index of the first
    int step, unused;
    int64_t pixels; //!< where it begins in the pyramid of an image
};

struct ResizeRecord
{
    int image, layer; //!< layer: index into all records
    int col, row;     //!< of its first pixel
};

//! All that the pyramid needs.
struct Resizing
{
    const LayerRecord* layers;
    const ResizeRecord* tiles;
    int tileCount;
    const Tap* taps;
    const SourceRecord* sources;
    uint8_t* pixels;
};

// --- models ----------------------------------------------------------------------------------------------------------

/** How the corners of a Haar feature are added up. Nearly all features of files have rectangles of weights -1 and 2 or 3, whose
merged corners come in these three forms; sums of the other factors are terms. */
enum CornerPattern
{
    SIX,        //!< c0 + c1 - c2 - c3 + factor * (c4 - c5)
    EIGHT,      //!< c0 + c1 - c2 - c3 + factor * (c4 - c5 + c6 - c7)
    NINE,       //!< factor * (c0 + c1 + c2 + c3 - 2 * (c4 + c5 + c6 + c7 - 2 * ninth))
    TERMS,      //!< any factors, in parts, each of so many fours of terms: see HaarRecord
    ANY_PATTERN //!< any of them; neighbouring threads may have others
};
const int PATTERN_PAIRS = 9; //!< a root's and a node's, without TERMS

//! What the trees of a model are.
enum TreeShape
{
    STUMPS,    //!< one node
    TWO_NODES, //!< two: the root has a leaf and a node
    ANY_TREES
};

//! A corner as an offset into the tables in words (low 16 bits) and its factor (high 16, signed).
typedef uint32_t Term;

//! The factor of a record's form, that form, and the offset of its ninth corner in words.
CT_HOST_DEVICE uint32_t packPattern(CornerPattern pattern, int factor, uint32_t ninth)
{
    return static_cast<uint32_t>(factor) << 24 | static_cast<uint32_t>(pattern) << 16 | ninth;
}
CT_HOST_DEVICE CornerPattern patternOf(uint32_t pattern) { return static_cast<CornerPattern>(pattern >> 16 & 0xff); }
CT_HOST_DEVICE int factorOf(uint32_t pattern) { return static_cast<int32_t>(pattern) >> 24; }

/** A node with a Haar feature for pairs of windows. Gains: stages begin with the sum of the right leaves (of TWO_NODES: of their second node),
and a node that has a leaf adds how much that leaf is more, if it is a window's leaf. Gains are quantised. The leaf of a root of TWO_NODES is on
the left: where it is not, the feature is negated. */
struct HaarRecord
{
    uint32_t corners
        [4]; //!< offsets of corners in words, two in each. TERMS: index of the first four terms; parts; fours of a part
    float threshold;  //!< see scaledThreshold()
    int leafDelta;    //!< STUMPS, TWO_NODES
    uint32_t pattern; //!< see packPattern()
    uint32_t links;   //!< a byte each: unused, left and right child within the tree (0: leaf), nodes of the tree
};

struct LbpRecord
{
    uint32_t rows[4], columns[4]; //!< of points: offsets into the table, in bytes
    uint32_t subset;              //!< index of its first word
    int leafDelta;                //!< this and all below: as above, without a form
    uint32_t pattern, links;
};

static_assert(sizeof(HaarRecord) == 32 && sizeof(LbpRecord) == 48, "records are loaded 16 bytes at a time");

/** Norms and thresholds for pairs are scaled, so that integers can be taken for numbers as they are: as denormal ones, of a unit of 2^-149. A
value times a norm is 0 or far above LEAST_THRESHOLD, so that it is on the same side of a threshold that comes closer to 0 than that. */
const float NORM_SCALE = 0x1p100f, LEAST_THRESHOLD = 0x1p-77f;
inline float scaledThreshold(float threshold)
{
    const bool small = threshold != 0.f && std::fabs(threshold) < LEAST_THRESHOLD;
    return (small ? std::copysign(LEAST_THRESHOLD, threshold) : threshold) * 0x1p-49f;
}

/** Sums of a stage in 32 bits: leaves without their last bits, rounded down. Windows with sums from `low` to below low + undecided may pass or
not, and the others are known: those from there on pass. */
struct QuantisedStage
{
    int base; //!< of sums: what gains are added to
    int low;
    uint32_t undecided; //!< 0: sums are exact

    CT_HOST_DEVICE bool isUndecided(int sum) const
    {
        return static_cast<uint32_t>(sum) - static_cast<uint32_t>(low) < undecided;
    }
    CT_HOST_DEVICE bool passes(int sum) const { return sum >= low + static_cast<int>(undecided); }
};

struct StageRecord
{
    int firstTree, trees, firstNode;
    int shift;
    int64_t fixedThreshold;
    QuantisedStage quantised;
    /** TreeShape for pairs come in the order of their forms. STUMPS: where SIX, EIGHT and NINE end. TWO_NODES: where pairs of a root's form and
    a node's end. */
    int ends[PATTERN_PAIRS];
    int nodesEach; //!< of all trees; 0: they differ
    float threshold;
    int unused;
};

//! The first stages of a model for pairs, which kernels have among their parameters: all threads read the same.
struct ConstantStages
{
    int stages; //!< that are here
    int dense;  //!< those that all windows of a tile go through, side by side
    StageRecord stage[tuning::CONSTANT_STAGES];
    uint4 records[2][tuning::CONSTANT_QUADS]; //!< of their nodes, by step - 1
};

//! Records in device memory: first their first 16 bytes, one after the other, then their next.
struct RecordsView
{
    const uint4* quads;
    int count;
};

/** A model on the device. Pairs: records with offsets, sums in fixed point. Else the model's own arrays, features from core.hpp, and
sums in double precision in the order of the file. */
struct ModelView
{
    int kind, width, height, stages;
    bool pairs, tilted;
    TreeShape treeShape; //!< of its trees
    int64_t leastContrast;
    const StageRecord* stage;
    const Tree* trees;
    RecordsView records[2];     //!< of nodes, by step - 1
    const int64_t* fixedLeaves; //!< left and right of each record; 0 where there is a child
    const int* quantisedLeaves; //!< the same for quantised sums
    const Term* terms[2];       //!< by step - 1
    const Node* nodes;
    const float* leaves;
    const HaarFeature* haar;
    const LbpFeature* lbp;
    const uint32_t* subsets;
};

// --- candidates ------------------------------------------------------------------------------------------------------

/** A candidate of which it is not known whether it is skipped: all windows left of it in its tile fail the first stage, so
that it depends on the tiles before. At most one a row of a tile. */
struct Deferred
{
    Key key;
    double weight;
    int word;      //!< of failMasks, its own
    int wordInRow; //!< the first is 0
    int column;    //!< in its tile: so many windows fail
    int unused;
};

//! Where the list of an image begins; one record more stands behind the last.
struct ListRecord
{
    int64_t first;  //!< candidate
    int firstBlock; //!< of group's blocks, one per 32 candidates that there is room for
    int unused;
};

//! Lists of candidates, one per image, each with room for the capacity or for all windows of the image.
struct Lists
{
    const ListRecord* places;
    Key* keys;
    double* weights;
    int* counts;  //!< what was found in each image, also more than the capacity; then the number of those deferred
    int capacity; //!< of an image
    Deferred* deferred;  //!< room for all there can be
    uint64_t* failMasks; //!< a word a row of a tile: windows that fail the first stage

    CT_HOST_DEVICE int* deferredCount(int images) const { return counts + images; }
};

//! All that classify needs, for one cascade.
struct Classification
{
    ModelView model;
    Shape shapes[2]; //!< by step - 1
    Layout layout;
    const GridRecord* grids;
    const TileRecord* tiles; //!< those of a step of 1 first
    int tileCount, singleTiles;
    const SourceRecord* sources;
    const uint8_t* pixels; //!< pyramids
    int images;
    uint8_t* slices; //!< device memory of blocks, where layout.global
    Lists lists;
};

//! Classifies windows in pairs, as classify() does for models that allow it, but for the kernel that resolves deferred candidates.
void classifyPairs(const Classification& job, const ConstantStages& constant, detail::StreamHandle stream);

//! The tables of one cascade, on the device. Null: not wanted.
struct TableViews
{
    detail::RowsView<int> objects, numDetections;
    detail::RowsView<double> levelWeights;
};

//! Work memory of group: as many elements as lists have.
struct GroupMemory
{
    Box* boxes; //!< in the order of keys, as all
    double* weights;
    int* parents;
    uint32_t* sums;              //!< four a class: x, y, width, height
    int* counts;                 //!< of a class
    unsigned long long* largest; //!< weight of a class, as an integer of the same order
    Box* kept;                   //!< classes in the order of their first candidate
    int* keptCounts;
    double* keptWeights;

    static size_t bytesEach() { return 2 * sizeof(Box) + 3 * sizeof(double) + 7 * sizeof(int); }
};

//! All that group needs, for one cascade.
struct Grouping
{
    const GridRecord* grids;
    const SourceRecord* sources;
    int images;
    int blocks; //!< see ListRecord
    Lists lists;
    GroupMemory memory;
    int minNeighbors, maxObjects;
    bool largest;
    TableViews tables;
};

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_CLASSIFY_HPP
