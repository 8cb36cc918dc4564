// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Arguments of group and their layouts in device memory. For host and device code.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_GROUP_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_GROUP_HPP

#include "classify.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

//! The result tables of one cascade, in memory that the device can write. Null: not wanted.
struct TableViews
{
    detail::RowsView<int> objects, numDetections;
    detail::RowsView<double> levelWeights;
    bool filled = true; //!< zeros follow the last object
};

/** Work memory of group. Each array has as many elements as the lists have, and holds candidates in the order of keys.
The values of a group replace those of its root, its first candidate; the groups that are kept are then moved to the
front. */
struct GroupMemory
{
    Box* boxes; //!< candidates: boxes; groups: sums of coordinates and sides modulo 2^32, then their means
    unsigned long long* weights; //!< integers in the order of the weights; groups: the largest
    int* parents;
    int* counts; //!< number of candidates; of a candidate 1
};

//! Arguments of group for one cascade.
struct Grouping
{
    const GridRecord* grids;
    const SourceRecord* sources;
    int images;
    Lists lists;
    GroupMemory memory;
    int minNeighbors, maxObjects;
    bool largest;
    TableViews tables;
};

}}}} // namespace cv::cuda::cascade::gpu

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_GROUP_HPP
