// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arguments of classify and their layouts in device memory: tiles, integral images, models and candidates. For host and
// device code.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_CLASSIFY_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_CLASSIFY_HPP

#include "../../common/views.hpp"
#include "../../cascade/core.hpp"
#include "tuning.hpp"
#include <vector_types.h>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

// --- tiles -----------------------------------------------------------------------------------------------------------

/** Shape of a tile: cols x rows windows; its patch has the pixels that they cover; an integral image has one row and
one column more than the patch. With a step of 2, a row of an integral image has its even columns first and then its odd
ones, so that neighbouring windows read neighbouring words. */
struct Shape
{
    int shift; //!< step - 1, with the step of the layer
    int cols, rows;
    int columnBits;                      //!< log2(cols)
    int patchCols, patchRows, patchStep; //!< size of the patch in pixels; bytes per row
    int step, half; //!< of an integral image: words per row; words from the even to the odd columns
    int words;      //!< words of an integral image

    CT_HOST_DEVICE int place(int x, int y) const { return y * step + (x >> shift) + (x & shift) * half; }
    //! Returns the words from a window to the one below it.
    CT_HOST_DEVICE int windowStep() const { return step << shift; }
};

//! Lists of a tile's pairs, entries of 16 bits: that of the tile, half as many as its windows, then 32 for each warp.
struct PairLists
{
    CT_HOST_DEVICE static int ofTile(int windows) { return windows / 2; }
    CT_HOST_DEVICE static int all(int windows) { return ofTile(windows) + tuning::THREADS; }
};

//! Offsets in a block's shared memory, in bytes; norms are at 0. All are 0 for windows one by one.
struct Layout
{
    int patch; //!< Haar features: of the patch, which the lists replace after its last use; LBP: of the lists
    int tables;
    int bytes; //!< shared memory per block
};

/** Limits of shared memory beyond Layout::bytes. STATIC_BYTES: what the kernels of classify declare, as static_assert
checks and Common_CudaPlans.staticMemory compares with the compiler's values. RESERVED_BYTES: what the system takes per
block. */
const size_t STATIC_BYTES = 1024, RESERVED_BYTES = 1024;

//! The windows of one cascade on one layer.
struct GridRecord
{
    float factor;
    int step;
    int cols, rows; //!< number of windows; 0 if the cascade does not use this layer
    int boxWidth, boxHeight;
    int rowWords;   //!< fail masks per row of windows, which is the number of tiles side by side
    int pixelStep;  //!< bytes per row of the layer
    int64_t pixels; //!< offset of the layer in the pyramid of an image, bytes
};

struct TileRecord
{
    int image, grid; //!< grid: index in Classification::grids
    int scale;
    int col, row; //!< window of the grid at which the tile begins
    int word;     //!< index of the fail mask of its first row
};

struct SourceRecord
{
    const uint8_t* gray;
    size_t step;
    const uint8_t* mask; //!< null if there is no mask
    size_t maskStep;
    int cols, rows;
    int firstGrid; //!< index of the grid of scale 0
    int unused;
    int64_t pixels; //!< offset of its pyramid, bytes
};

// --- models ----------------------------------------------------------------------------------------------------------

/** Patterns in which the corners of a Haar feature are added up. Nearly all features of files have rectangles of
weights -1 and 2 or 3, whose merged corners form one of the first three patterns. */
enum CornerPattern
{
    SIX,        //!< c0 + c1 - c2 - c3 + factor * (c4 - c5)
    EIGHT,      //!< c0 + c1 - c2 - c3 + factor * (c4 - c5 + c6 - c7)
    NINE,       //!< factor * (c0 + c1 + c2 + c3 - 2 * (c4 + c5 + c6 + c7 - 2 * ninth))
    TERMS,      //!< any factors: parts with the same number of groups of four terms, see HaarRecord
    ANY_PATTERN //!< the pattern of each record, which may differ between neighbouring threads
};
const int PATTERN_PAIRS = 9; //!< pairs of patterns of a root and a node, without TERMS

//! Shapes of a model's trees.
enum TreeShape
{
    STUMPS,    //!< all trees have one node
    TWO_NODES, //!< all trees have two nodes: the root has a leaf and a node
    ANY_TREES
};

//! A corner of a feature: offset in an integral image in words (low 16 bits), and factor (high 16 bits, signed).
typedef uint32_t Term;

//! Packs a pattern, its factor, and the offset of its ninth corner in words.
CT_HOST_DEVICE uint32_t packPattern(CornerPattern pattern, int factor, uint32_t ninth)
{
    return static_cast<uint32_t>(factor) << 24 | static_cast<uint32_t>(pattern) << 16 | ninth;
}
CT_HOST_DEVICE CornerPattern patternOf(uint32_t pattern) { return static_cast<CornerPattern>(pattern >> 16 & 0xff); }
CT_HOST_DEVICE int factorOf(uint32_t pattern) { return static_cast<int32_t>(pattern) >> 24; }

/** A node with a Haar feature, for pairs of windows. With STUMPS and TWO_NODES, the sum of a stage begins with the
right leaf of the last node of each tree; a node adds its leafDelta, the difference of its left leaf and that leaf, for
windows that reach its left leaf. In a root of TWO_NODES, the left child is the leaf: if the file has it on the right,
the feature is negated. */
struct HaarRecord
{
    //! Two offsets in words each. TERMS: index of the first four terms; number of parts; fours per part.
    uint32_t corners[4];
    float threshold;  //!< see scaledThreshold()
    int leafDelta;    //!< quantised; only for STUMPS and TWO_NODES
    uint32_t pattern; //!< see packPattern()
    //! One byte each, from the lowest: unused, left and right child within the tree (0: leaf), nodes of the tree.
    uint32_t links;
};

struct LbpRecord
{
    uint32_t rows[4], columns[4]; //!< offsets of the rows and columns of the 4 x 4 corners, bytes
    uint32_t subset;              //!< index of its first word in ModelView::subsets
    int leafDelta;                //!< this and the next two: as in HaarRecord, but without a pattern
    uint32_t pattern, links;
};

static_assert(sizeof(HaarRecord) == 32 && sizeof(LbpRecord) == 48, "records are loaded 16 bytes at a time");

/** Scale of norms for pairs: it makes the bits of an integer a denormal float, in units of 2^-149. The product of a
value and a norm is 0 or, in magnitude, far above LEAST_THRESHOLD, so raising smaller thresholds to that magnitude
changes no comparison. */
const float NORM_SCALE = 0x1p100f, LEAST_THRESHOLD = 0x1p-77f;
inline float scaledThreshold(float threshold)
{
    const bool small = threshold != 0.f && std::fabs(threshold) < LEAST_THRESHOLD;
    return (small ? std::copysign(LEAST_THRESHOLD, threshold) : threshold) * 0x1p-49f;
}

/** Decides a stage by quantised sums: 32 bits, with leaves whose last bits are dropped, rounded down. Sums in
[low, low + undecided) are recomputed in full; windows with lower sums fail, those with higher sums pass. */
struct QuantisedStage
{
    int base; //!< initial value of sums, to which leaf deltas are added
    int low;
    uint32_t undecided; //!< number of undecided sums; 0: quantised sums are exact

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
    /** Trees for pairs are in the order of their patterns. STUMPS: number of trees up to those with SIX, EIGHT and
    NINE. TWO_NODES: number of trees up to those with pattern r in the root and n in the node, at 3 * r + n. */
    int ends[PATTERN_PAIRS];
    int nodesEach; //!< nodes per tree; 0 if trees differ
    float threshold;
    int unused;
};

//! The first stages of a model for pairs, as a kernel parameter, so in the constant bank: all threads read the same
//! record.
struct ConstantStages
{
    int stages; //!< number of these stages
    int dense;  //!< number of first stages that are evaluated on rows of neighbouring windows
    int sparse; //!< first stage for lists: the last one even if it is dense, as only lists have its sums as results
    StageRecord stage[tuning::CONSTANT_STAGES];
    uint4 records[2][tuning::CONSTANT_QUADS]; //!< records of the nodes, by step - 1
};

// Cells of LBP features for pairs: the sum of a cell fits 16 bits without a sign, 257 * 255 = 65535, and of small cells
// also with one.
const int MOST_CELL_PIXELS = 65535 / 255, SMALL_CELL_PIXELS = 32767 / 255;

/** Compares both halves of two words, as unsigned numbers of 16 bits. @return in the highest bit of each half whether
that of `a` is not less than that of `b`: their highest bits decide or, where these are equal, the other 15, of which
the difference needs no bit of the other half. */
CT_HOST_DEVICE uint32_t notLessInHalves(uint32_t a, uint32_t b)
{
    const uint32_t TOP = 0x80008000u, others = (a | TOP) - (b & ~TOP);
    return (a & ~b) | (~(a ^ b) & others);
}

//! Records in device memory, cut into quads of 16 bytes: the first quads of all records, then the second ones, and so
//! on.
struct RecordsView
{
    const uint4* quads;
    int count;
};

/** A model in device memory. With `pairs`: records with offsets, and leaves in fixed point. Without: the model's own
arrays, features as in core.hpp, and sums in double precision in the order of the file. */
struct ModelView
{
    FeatureType featureType;
    int width, height, stages;
    bool pairs, tilted;
    bool largeCells; //!< LBP in pairs: some cells have more than SMALL_CELL_PIXELS
    TreeShape treeShape;
    int64_t leastContrast;
    const StageRecord* stage;
    const Tree* trees;
    RecordsView records[2];     //!< records of the nodes, by step - 1
    const int64_t* fixedLeaves; //!< left and right leaf of each record; 0 for a child node
    const int* quantisedLeaves; //!< quantised left and right leaf of each record; 0 for a child node
    const Term* terms[2];       //!< by step - 1
    const Node* nodes;
    const float* leaves;
    const HaarFeature* haar;
    const LbpFeature* lbp;
    const uint32_t* subsets;
};

// --- candidates ------------------------------------------------------------------------------------------------------

/** A candidate that the skip rule may skip: all windows to its left in its tile fail the first stage, so the tiles
before decide. There is at most one per row of a tile. */
struct Deferred
{
    Key key;
    double weight;
    int word;      //!< index of its fail mask
    int wordInRow; //!< index of its tile in the row of tiles, which is that of its fail mask in the row of windows
    int column;    //!< column in its tile, so the number of failed windows before it
    int unused;
};

//! Lists of candidates, one per image. The size of a list is the capacity or, if it is smaller, the number of windows
//! of the image.
struct Lists
{
    const int64_t* firsts; //!< index of the first candidate of each image
    Key* keys;
    double* weights;
    int* counts;         //!< candidates of each image, also beyond the capacity; then of deferred candidates
    int capacity;        //!< limit per image
    Deferred* deferred;  //!< one entry per fail mask, so that all deferred candidates fit
    uint64_t* failMasks; //!< one word per row of a tile: bit k is set if window k fails the first stage

    CT_HOST_DEVICE int* deferredCount(int images) const { return counts + images; }
};

//! Arguments of classify for one cascade.
struct Classification
{
    ModelView model;
    Shape shapes[2]; //!< by step - 1
    Layout layout;
    int threads; //!< per block, for pairs
    const GridRecord* grids;
    const TileRecord* tiles; //!< tiles of layers with a step of 1 first
    int tileCount, singleTiles;
    const SourceRecord* sources;
    const uint8_t* pixels; //!< pyramids of all images
    int images;
    uint32_t* tables; //!< windows one by one: memory for two integral images per block
    Lists lists;
};

//! Classifies windows in pairs, for models with ModelView::pairs. Candidates that the skip rule may skip are left in
//! job.lists.deferred.
void classifyPairs(const Classification& job, const ConstantStages& constant, detail::StreamHandle stream);
//! Classifies windows one by one, for all other models. Candidates that the skip rule may skip are left likewise.
void classifyPlain(const Classification& job, detail::StreamHandle stream);

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_CLASSIFY_HPP
