// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// scores: correlations by discrete Fourier transforms in double precision, as src/cpu/fragment_matcher/transform.cpp and its kernels (src/cpu/fragment_matcher/dft.simd.hpp)
// share them.
//
// A tile holds two parts of the image, A as real and B as imaginary numbers. Templates are real, so the correlation of A + iB
// with one is that of A plus i times that of B, and nothing has to be taken apart. Spectra are only multiplied number by number,
// so they stay in the order in which the stages leave them.
//
// Numbers come as vectors: `lanes` real parts, then as many imaginary parts. Row transforms have neighbours of a row in a vector
// and rearrange them in their last step only; column transforms have neighbouring columns in a vector. A tile lies in memory
// strip by strip, `lanes` columns of all its rows, so that column transforms read what follows each other.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_HPP

#include "scores.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

//! A transform of `length` numbers by stages of radix 2, 3, 4, 5 or 8, down to parts of `last` numbers.
struct Dft
{
    struct Stage
    {
        int radix, step; //!< takes `radix` numbers, `step` apart
        size_t factors;  //!< index of its factors: for each unit of numbers of `step`, radix - 1 times re, im, -im
    };

    Dft(int numbers, int unit);

    int length, last; //!< last: the unit of factors too
    std::vector<Stage> stages;
    std::vector<double> factors;
};

//! Rows that are transformed before their numbers go to strips, and the other way round, so that these are met in longer runs.
const int ROWS_AT_ONCE = 8;

//! Lengths of tiles; `cols` is a multiple of lanes * lanes and of 2.
struct Tile
{
    Tile(int cols, int rows, int vector)
        : lanes(vector),
          strips(cols / vector),
          strip(static_cast<size_t>(rows + 1) * 2 * vector),
          x(cols, vector),
          y(rows, 1)
    {}

    size_t numbers() const { return strip * strips; } //!< doubles that it takes
    size_t scratch() const { return static_cast<size_t>(ROWS_AT_ONCE) * 2 * x.length; }

    int lanes, strips;
    size_t
        strip; //!< doubles from one strip to the next: one row more than there are, so that not all share a set of the cache
    Dft x, y;
};

//! What is put into a tile, in its corner; the rest is 0.
struct TileBytes
{
    const uint8_t* bytes;
    size_t step;
    int width, height;
    uint8_t bias;
};

//! Where sums go.
struct TileSums
{
    TermSums sums; //!< with their origin at the tile's first position
    bool wide;
    int width, height;
};

//! Spectra to be multiplied and added up: a number of planes of the image from `plane` on, each with a template's.
struct Product
{
    int plane;
    std::vector<const double*> templates;
};

}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_DFT_HPP
