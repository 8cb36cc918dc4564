// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score: correlations by discrete Fourier transforms in double precision. Declarations that
// src/cpu/fragment_matcher/transform.cpp and its kernels (src/cpu/fragment_matcher/dft.simd.hpp) share.
//
// A tile holds two parts of the image, A as real parts and B as imaginary parts. Templates are real, so the correlation
// of A + iB with a template is that of A plus i times that of B, and needs no separation. Spectra are only multiplied
// element by element, so they keep the order in which the stages leave them.
//
// Complex values are stored as vectors: `lanes` real parts, then as many imaginary parts. In row transforms, a vector
// holds neighbours of a row, which are rearranged in the last step only; in column transforms, a vector holds
// neighbouring columns. A tile is stored strip by strip, `lanes` columns of all its rows, so that column transforms
// read consecutive memory.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_HPP

#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

//! A transform of `length` complex values by stages of radix 2, 3, 4, 5 or 8, down to parts of `last` values.
struct Dft
{
    struct Stage
    {
        int radix, step; //!< number of values per small transform, and their distance
        size_t factors;  //!< index of its factors: re, im, -im, radix - 1 times per unit of `last` values of `step`
    };

    Dft(int count, int unit);

    int length, last; //!< `last` is also the unit of factors
    std::vector<Stage> stages;
    std::vector<double> factors;
};

//! Number of rows that are transformed before their values are copied to strips, and back, so that copies are in longer
//! runs.
const int ROWS_AT_ONCE = 8;

//! Transforms and memory layout of a tile; `cols` is a multiple of lanes * lanes and of 2.
struct Tile
{
    Tile(int cols, int rows, int vector)
        : lanes(vector),
          strips(cols / vector),
          strip(static_cast<size_t>(rows + 1) * 2 * vector),
          x(cols, vector),
          y(rows, 1)
    {}

    size_t size() const { return strip * strips; } //!< returns the doubles of the tile
    size_t scratch() const { return static_cast<size_t>(ROWS_AT_ONCE) * 2 * x.length; }

    int lanes, strips;
    //! Doubles from one strip to the next: one row more than needed, so that rows do not all share a set of the cache.
    size_t strip;
    Dft x, y;
};

//! Bytes in the upper left corner of a tile; the rest of the tile is 0.
struct TileBytes
{
    const uint8_t* bytes;
    size_t step;
    int width, height;
    uint8_t bias;
};

//! Destination of sums.
struct TileSums
{
    TermSums sums; //!< origin: the tile's first position
    bool wide;
    int width, height;
};

//! Spectra to be multiplied and added: planes of the image from `plane` on, each with the spectrum of a template.
struct Product
{
    int plane;
    std::vector<const double*> templates;
};

}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_HPP
