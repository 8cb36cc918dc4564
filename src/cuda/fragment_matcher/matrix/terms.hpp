// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, matrix instructions: sizes that all of their routes have in common.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TERMS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TERMS_HPP

#include "../common/case.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace gpu {

const int BAND_COLS = 128; //!< columns of positions per matrix instruction
const int BAND_ROWS = 8;   //!< rows of positions per warp
//! Number of terms of 255 * 255 that a 32-bit sum holds.
const int64_t BAND_TERMS = 0xffffffffll / (255 * 255);

//! Returns the number of planes of the image: its channels and, with weights, the high, middle and low bytes of the
//! sums of their squares.
CT_HOST_DEVICE constexpr int imagePlanes(int channels, bool weighted) { return weighted ? channels + 3 : channels; }
//! Returns the number of planes of a fragment that have bands: its channels; with weights, the high and the low bytes
//! of their products with q, and q.
CT_HOST_DEVICE constexpr int bandPlanes(int channels, bool weighted) { return weighted ? 2 * channels + 1 : channels; }

//! Returns the number of chunks of 32 rows of a band that is made by shifting a row of a template.
CT_HOST_DEVICE int bandChunks(int width) { return (width + 7 + 31) / 32; }

//! Returns the words from row to row of a template in shared memory: four words of zeros, then the pixels, then zeros.
CT_HOST_DEVICE int templateStep(int chunks) { return 8 * chunks + 8; }

}}}} // namespace cv::cuda::fragment_matcher::gpu

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TERMS_HPP
