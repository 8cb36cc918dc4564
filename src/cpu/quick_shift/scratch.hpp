// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scratch and results of QuickShift's CPU stages. The scratch belongs to the engine and lives as long.
#ifndef OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_SCRATCH_HPP
#define OPENCV_CUDATRACKING_CPU_QUICK_SHIFT_SCRATCH_HPP

#include "../../common/scratch_pool.hpp"
#include "../../quick_shift/stages.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace cpu {

const int ROW_PADDING = 64; //!< floats right of a row that whole vectors may read and write; the longest vector has 64
const int MOST_RINGS = 12;  //!< rings that the parent search visits before it goes on by cells

//! Features of an image: planes of floats with a border of OUTSIDE to the left and right.
struct Features
{
    std::vector<float> data;
    int cols = 0, rows = 0, channels = 0;
    int left = 0;      //!< floats of the left border
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
    std::vector<uint64_t> sums;   //!< of weights, one per pixel
    std::vector<uint32_t> cells;  //!< best key of each cell
    std::vector<int> shiftedKeys; //!< see RingSearch::keys
    std::vector<int> cut;         //!< parents without the links that are cut
    std::vector<int> top;         //!< ancestor that a pixel's path reaches within its strip
    std::vector<int> rank;        //!< label of each root
    // One vector per thread at work.
    detail::ScratchPool<std::vector<uint32_t>> credits;
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
    SumsTable(int count, int channels_, double scale_)
        : channels(channels_),
          scale(scale_),
          rows(static_cast<size_t>(count) * (1 + channels_)),
          places(count, {0, 0, 0x7fffffff, 0x7fffffff, -1, -1})
    {}
    int size() const { return static_cast<int>(places.size()); }
    unsigned long long* row(int i) { return rows.data() + static_cast<size_t>(i) * (1 + channels); }
    const unsigned long long* row(int i) const { return const_cast<SumsTable*>(this)->row(i); }

    int channels;
    double scale; //!< scale of the colours: fixedScale() of a CV_32F image, else 1
    std::vector<unsigned long long> rows;
    std::vector<Places> places;
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
