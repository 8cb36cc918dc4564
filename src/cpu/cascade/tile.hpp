// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify on the CPU, tile by tile: for narrow models in narrow.cpp, for all others in classify.cpp.
#ifndef OPENCV_CUDATRACKING_CPU_CASCADE_TILE_HPP
#define OPENCV_CUDATRACKING_CPU_CASCADE_TILE_HPP

#include "classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace cpu {

//! A tile of windows, with its inputs and outputs.
struct Tile
{
    const Work& work;
    const Layer& layer;
    const TableLayout& layout;
    const Prepared& prepared;
    int firstCol, firstRow, cols, rows; //!< windows
    std::vector<Candidate>& candidates;
    Passes* passes; //!< null if not wanted
    int lanes;      //!< windows per vector

    const Model& model() const { return *prepared.model; }
    const std::vector<int>& offsets() const { return prepared.offsets[layer.step - 1]; }
    const int* contrast() const { return prepared.contrast[layer.step - 1]; }
    void passed(int stage, int count) const
    {
        if (passes)
            passes->stages[stage] += count;
    }
};

//! Appends window (i, j) of the tile to the candidates, unless the mask drops it.
void addCandidate(const Tile& tile, int i, int j, double weight);

//! Classifies the windows of a narrow model in a tile. The skip rule carries over from the tile to the left.
void classifyNarrow(const Tile& tile, Scratch& scratch);

}}}} // namespace cv::cuda::cascade::cpu

#endif // OPENCV_CUDATRACKING_CPU_CASCADE_TILE_HPP
