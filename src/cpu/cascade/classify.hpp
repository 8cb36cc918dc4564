// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Data of the CPU backend. Integral images are laid out so that neighbouring windows are neighbours in memory: one
// vector load gets one corner of a feature for as many windows as a vector has lanes.
#ifndef OPENCV_CUDATRACKING_CPU_CASCADE_CLASSIFY_HPP
#define OPENCV_CUDATRACKING_CPU_CASCADE_CLASSIFY_HPP

#include "../../cascade/stages.hpp"
#include <array>
#include <vector>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

//! Width of a tile in windows, so that its integral images stay in the L1 and L2 caches. A multiple of 64 and of all
//! vector lengths.
const int TILE_COLS = 128;
//! Height of a strip in rows of windows. A strip is the work of one job.
const int STRIP_ROWS = 32;

/** Layout of the integral images of one tile. With a step of 1, columns are consecutive. With a step of 2, a row has
its even columns first and then its odd ones, because its windows begin at even columns. */
struct TableLayout
{
    int step, cols, rows; //!< distance of windows in pixels; columns and rows of an integral image
    int half, stride;     //!< index of the first odd column; values per row

    //! @param narrow whether the model is narrow.
    TableLayout(int theStep, const Model& model, bool narrow)
        : step(theStep),
          cols((TILE_COLS - 1) * theStep + model.width + 1),
          rows((STRIP_ROWS - 1) * theStep + model.height + 1),
          // Rows of narrow tables are written in whole vectors, whose end must not reach the odd columns.
          half(detail::roundUp(cols / 2 + 1, narrow ? 32 : 16) + (narrow ? 16 : 0)),
          stride(theStep == 2 ? 2 * half : detail::roundUp(cols, 16))
    {}
    int offset(int x, int y) const { return y * stride + (step == 2 ? (x & 1) * half + (x >> 1) : x); }
    size_t size() const { return static_cast<size_t>(rows) * stride; }
};

//! The integral images that a model needs of a tile, and their layout.
struct IntegralImages
{
    TableLayout layout;
    bool narrow;          //!< that of pixels is modulo 2^16, and there is no other
    bool squares, tilted; //!< of squares, of rotated sums

    IntegralImages(int step, const Prepared& prepared);
};

/** Patterns in which the corners of exact Haar features are added up with one multiplication. All features of OpenCV's
files have rectangles of weights -1 and 2 or 3, whose merged corners form one of the last three. */
enum class CornerPattern : uint8_t // numbers of corners, see sortCorners()
{
    ANY = 0,   //!< each corner times its weight
    SIX = 6,   //!< c0 + c1 - c2 - c3 + factor * (c4 - c5)
    EIGHT = 8, //!< c0 + c1 - c2 - c3 + factor * (c4 + c5 - c6 - c7)
    NINE = 9   //!< factor * (c0 + c1 + c2 + c3 - 2 * (c4 + c5 + c6 + c7 - 2 * c8))
};

//! Range of a feature's corners in Prepared::offsets.
struct Corners
{
    int first;
    uint8_t count; //!< exact Haar features: merged corners; other Haar features: 4 per rectangle; LBP: 16
    uint8_t exact, tilted;
    CornerPattern pattern; //!< ANY unless the feature is an exact Haar feature
    int factor;            //!< of the pattern
};

const int HALF_WORDS = 16; //!< words per node of Prepared::subsets

/** Pixels per cell up to which LBP features are evaluated with 16 bits: 257 * 255 = 65535, so the sum of a cell is
known from its sum modulo 2^16. */
const int MOST_NARROW_PIXELS = 257;
const int SET_BYTES = 32; //!< a set of 8-bit codes, one bit each

//! A stump of a narrow model: see NarrowModel.
struct NarrowStump
{
    int column[4], row;      //!< corner (i, j) of the cells is at column[i] + j * row from the window's corner
    uint8_t left[SET_BYTES]; //!< codes that go left
};
struct NarrowStage
{
    int firstStump, stumps;
    int firstTable;             //!< of the stage's tables, one per eight stumps or less
    int64_t threshold;          //!< windows with lower sums fail
    uint8_t failing[SET_BYTES]; //!< up to eight stumps: codes of windows that fail
};

/** An LBP model whose windows are evaluated with 16 bits: all trees are stumps, no cell has more than
MOST_NARROW_PIXELS pixels, and sums of leaves are exact in fixed point. Windows get a code of one bit per stump of the
stage, the first stump's the highest, which is set if the window goes right. A table has the sum of the leaves for each
code of eight stumps. */
struct NarrowModel
{
    std::vector<NarrowStump> stumps[2]; //!< for steps 1 and 2
    std::vector<NarrowStage> stages;
    std::vector<std::array<int64_t, 256>> tables;
};

//! A model for the vector loops: corners of features as offsets into integral images.
class Prepared
{
public:
    explicit Prepared(const ModelPtr& theModel);

    ModelPtr model;
    std::vector<Corners> features;
    std::vector<int> weights;    //!< weight of each corner, in the order of the pattern
    std::vector<int> offsets[2]; //!< offset of each corner from the window's corner, for steps 1 and 2
    std::vector<int> subsets;    //!< LBP: subsets with 16 bits per word, HALF_WORDS per node
    int contrast[2][4];          //!< offsets of the corners of the contrast rectangle, for steps 1 and 2
    NarrowModel narrow;          //!< empty if the model is not narrow

    bool isNarrow() const { return !narrow.stages.empty(); }
};

//! Windows that a stage is evaluated on, in vectors.
struct Windows
{
    const Prepared* prepared;
    const int* offsets; //!< Prepared::offsets for the layer's step
    const int* sums;    //!< integral image
    const int* tilted;  //!< integral image of rotated sums; read only if the model has rotated features
    const int* windows; //!< sparse: index of each window in the integral images; null: windows are neighbours in a row
    const int* groups;  //!< dense: index of the first window of each vector
    int vectors;        //!< number of vectors
    const float* norms; //!< norm of each window
    double* leafSums;   //!< out: sum of the leaves of the stage for each window
};

//! Octets, each of eight neighbouring windows in a row, that a stage of a narrow model is evaluated on.
struct Octets
{
    const NarrowStump* stumps; //!< NarrowModel::stumps for the layer's step
    const uint16_t* sums;      //!< integral image modulo 2^16
    const int* places;         //!< index in the integral image of each octet's first window
    uint8_t* alive;            //!< in and out: a bit per window that has passed so far
    int count;                 //!< number of octets; the arrays have room for whole vectors, of octets without windows
    int64_t* weights;          //!< out, if not null: sums of the leaves, eight per octet, for windows that are left
};

//! Work memory of one thread.
struct Scratch
{
    std::vector<int> sums, squares, tilted; //!< integral images
    std::vector<uint16_t> narrowSums;       //!< integral image for narrow models
    std::vector<int> places;                //!< of octets: see Octets
    std::vector<uint8_t> octets;            //!< windows of octets that are left
    std::vector<int64_t> weights;           //!< of windows of octets
    std::vector<uint8_t> pixels[2];         //!< the present row of the layer and the row above
    std::vector<int> blended[2];            //!< two rows of the image, blended horizontally by blendRow()
    std::vector<int> tapIndex;              //!< first source column of each column
    std::vector<int16_t> tapWeights;        //!< two weights per column
    float norms[TILE_COLS] = {};
    double leafSums[TILE_COLS] = {};
    int groups[TILE_COLS + 1] = {};

    //! Windows of a tile that passed all stages so far.
    struct List
    {
        std::vector<int> windows; //!< indices in the integral images
        std::vector<int> places;  //!< row * TILE_COLS + column in the tile
        std::vector<float> norms;
        std::vector<double> leafSums;
        int count = 0;

        void clear() { count = 0; }
        void reserve(int size);
        void push(int window, int place, float norm);
    };
    List live;
    std::vector<List> arriving; //!< for each stage, windows of rows that became sparse before it
    uint8_t carry[STRIP_ROWS];  //!< whether the skip rule skips the next window, for each row of windows
};

//! The region of a layer that a tile needs, in pixels.
struct LayerRegion
{
    int x, y, cols, rows;
};

// Loops of src/cpu/cascade/classify.simd.hpp, compiled for the best instruction set of the processor.
int lanesOf();
void blendOf(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out);
void mixOf(const int* upper, const int* lower, int weight, int count, uint8_t* out);
void contrastOfRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                   float* norms, uint64_t* with);
void evaluateStage(const Windows& windows, const Stage& stage);
void failedOf(const double* sums, int vectors, double threshold, uint64_t* failed);
// Loops of src/cpu/cascade/narrow.simd.hpp.
int octetsPerVector();
void evaluateOctets(const Octets& octets, const NarrowModel& model, const NarrowStage& stage);
void addRowNarrow(const uint8_t* pixels, int cols, int half, const uint16_t* above, uint16_t* sums);

}}}} // namespace cv::cuda::cascade::cpu

#endif // OPENCV_CUDATRACKING_CPU_CASCADE_CLASSIFY_HPP
