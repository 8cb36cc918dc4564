// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the stages of the CPU engine need beside images and results. It belongs to the instance and goes with it.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_SCRATCH_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_SCRATCH_HPP

#include "../../common/scratch_pool.hpp"
#include "../../quick_shift/stages.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

const int ROW_PADDING = 64; //!< columns right of the border that whole vectors may touch; the longest has 64 floats
const int MOST_RINGS = 12;  //!< rings of the parent search before cells take over

//! Planes of floats with a border of OUTSIDE to the left and right.
struct Features
{
    std::vector<float> data;
    int cols = 0, rows = 0, channels = 0, left = 0;
    size_t stride = 0; //!< floats from row to row

    const float* row(int channel, int y) const
    {
        return data.data() + (static_cast<size_t>(channel) * rows + y) * stride + left;
    }
    float* row(int channel, int y) { return const_cast<float*>(static_cast<const Features*>(this)->row(channel, y)); }
};

//! Memory that an engine keeps from call to call.
struct Scratch
{
    Features features;
    std::vector<uint64_t> sums;
    std::vector<uint32_t> cells;
    std::vector<int> shifted, cut, top, rank;
    detail::ScratchPool<std::vector<uint32_t>> credits; //!< one for each thread at work
    detail::ScratchPool<std::vector<float>> nearest;
    detail::ScratchPool<std::vector<int>> codes, paths;
};

//! Lengths of links and the merge heights.
struct Links
{
    std::vector<float> sorted;  //!< lengths of all links; ascending after sortLinks()
    std::vector<float> heights; //!< distinct lengths, ascending
    std::vector<int> left;      //!< superpixels when links longer than heights[k] are cut
};

//! Sums of all superpixels of an image.
struct SumsTable
{
    std::vector<Sums> rows;
    double scale; //!< scale of the colours: fixedScale() of a CV_32F image, else 1
};

//! Connected pieces of an image. A piece is named after its root, its first pixel in raster order.
struct Pieces
{
    std::vector<int> root;      //!< links to the roots, -1 where masked
    std::vector<int> area;      //!< pixels per piece, at its root
    std::vector<uint64_t> best; //!< pieceRank() of the neighbour that the piece joins, 0 for none
    std::vector<int> target;    //!< root of that neighbour
};

}}}} // namespace cv::cuda::quick_shift::cpu

#endif // OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_SCRATCH_HPP
