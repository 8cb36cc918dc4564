// This file is region of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// How the CPU lays out tables of sums, so that neighbouring windows are neighbours in memory: vectors load one corner of a
// feature for as many windows as they have lanes.
#ifndef OPENCV_CUDATRACKING_CPU_CASCADE_CLASSIFY_HPP
#define OPENCV_CUDATRACKING_CPU_CASCADE_CLASSIFY_HPP

#include "../../cascade/stages.hpp"
#include <vector>

namespace cv { namespace cuda { namespace cascade { namespace cpu {

//! Windows of a tile, side by side: its tables stay in the caches near the core. A multiple of 64 and of all vectors.
const int TILE_COLS = 128;

/** Tables of one tile. With a step of 1, columns lie side by side. With a step of 2, even columns come first in each row,
then odd ones: the windows of a row begin at even columns. */
struct TableLayout
{
    int step, cols, rows; //!< columns and rows of tables
    int half, stride;     //!< half: where odd columns begin

    TableLayout(int theStep, const WindowExtent& extent)
        : step(theStep),
          cols((TILE_COLS - 1) * theStep + extent.width + 1),
          rows((STRIP_ROWS - 1) * theStep + extent.height + 1),
          half(detail::roundUp(cols / 2 + 1, 16)),
          stride(theStep == 2 ? 2 * half : detail::roundUp(cols, 16))
    {}
    int offset(int x, int y) const { return y * stride + (step == 2 ? (x & 1) * half + (x >> 1) : x); }
    size_t size() const { return static_cast<size_t>(rows) * stride; }
};

//! Where a feature's corners are in Prepared::offsets.
struct Corners
{
    int first;
    uint8_t count; //!< exact: merged; else 4 a rectangle; LBP: 16
    uint8_t exact, tilted;
};

class Prepared
{
public:
    Prepared(const ModelPtr& theModel, const WindowExtent& extent);

    ModelPtr model;
    std::vector<Corners> features;
    std::vector<int> weights;    //!< of exact corners
    std::vector<int> offsets[2]; //!< from a window's corner, for steps 1 and 2
    int contrast[2][4];          //!< corners of the contrast rectangle
};

//! Windows that a stage is evaluated on, in vectors.
struct Windows
{
    const Prepared* prepared;
    const int* offsets; //!< of corners, for the layer's step
    const int* sums;    //!< tables
    const int* tilted;
    const int* windows; //!< sparse: each window's place in the tables; null: windows lie side by side
    const int* groups;  //!< dense: first window of each vector
    int vectors;
    const float* norms;
    double* leafSums; //!< out
};

//! Room for one thread.
struct Scratch
{
    std::vector<int> sums, squares, tilted;
    std::vector<uint8_t> pixels[2]; //!< this row of the layer and the one before
    std::vector<int> blended[2];    //!< rows of the image after blendRow()
    std::vector<int> tapIndex;
    std::vector<int16_t> tapWeights; //!< two a column
    float norms[TILE_COLS] = {};
    double leafSums[TILE_COLS] = {};
    int groups[TILE_COLS + 1] = {};

    //! Windows that are left, wherever they are in the tile.
    struct List
    {
        std::vector<int> windows, places;
        std::vector<float> norms;
        std::vector<double> leafSums;
        int count = 0;

        void clear() { count = 0; }
        void reserve(int size);
        void push(int window, int place, float norm);
    };
    List live;
    std::vector<List> arriving; //!< at each stage, from rows that became sparse
    std::vector<uint8_t> carry; //!< of the skip rule: for each task and row of windows
};

//! The region of a layer that a tile needs.
struct LayerRegion
{
    int x, y, cols, rows; //!< pixels
};

// The loops of src/cpu/cascade/classify.simd.hpp, in the best instruction set of the processor.
int lanesOf();
void blendOf(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out);
void mixOf(const int* upper, const int* lower, int weight, int count, uint8_t* out);
void contrastOfRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                   float* norms, uint64_t* with);
void evaluateStage(const Windows& windows, const Stage& stage);
void failedOf(const double* sums, int vectors, double threshold, uint64_t* failed);

}}}} // namespace cv::cuda::cascade::cpu

#endif // OPENCV_CUDATRACKING_CPU_CASCADE_CLASSIFY_HPP
