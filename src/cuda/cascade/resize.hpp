// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arguments of resize and their layouts in device memory. For host and device code.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_RESIZE_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_RESIZE_HPP

#include "classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

//! A layer for all images of one size and all cascades. Rows are multiples of 16 bytes.
struct LayerRecord
{
    int cols, rows;
    int columnTaps, rowTaps; //!< index of the first tap
    int step, unused;
    int64_t pixels; //!< offset of the layer in the pyramid of an image, bytes
};

//! A rectangle and its layer, so that a block need not load one record to find the other.
struct ResizeRecord
{
    int image, unused;
    int col, row; //!< first pixel of the rectangle
    LayerRecord layer;
};

//! Arguments of resize.
struct Resizing
{
    const ResizeRecord* tiles;
    int tileCount;
    int tileRows; //!< rows of a rectangle
    const Tap* taps;
    const SourceRecord* sources;
    uint8_t* pixels;
    int* counts;    //!< numbers of candidates: set to 0, as the stages that follow count from there
    int countTotal; //!< number of counts
};

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_RESIZE_HPP
