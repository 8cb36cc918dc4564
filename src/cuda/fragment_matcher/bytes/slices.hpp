// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route SLICES: byte sums of slices of fragments, for few or large fragments in small windows.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SLICES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SLICES_HPP

#include "../common/case.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Threads per block.
const int SLICE_THREADS = 256;
//! Blocks per multiprocessor that registers must allow.
const int SLICE_BLOCKS = 2;
//! Most groups of threads per row of positions.
const int SLICE_GROUPS = 4;
//! Most positions of a window, because one block reads all their sums.
const int SLICE_POSITIONS = 16384;
//! Least rows of a fragment per block.
const int SLICE_LEAST_ROWS = 4;
//! Most shared memory per block, so that two fit a multiprocessor.
const size_t SLICE_SHARED_BYTES = 110 * 1024;
//! Upper bound of the static shared memory per block, which Common_CudaPlans.staticMemory compares with the compiled
//! kernels.
const size_t SLICE_STATIC_BYTES = 1024;

} // namespace tuning

namespace gpu {

const int SLICE_GROUP_WORDS = 8; //!< words, 4 columns each, from the first position of a group to that of the next

//! Plan for windows of which a block computes some rows, for some rows of the fragment (a slice).
struct SlicePlan
{
    int cols, rows;    //!< largest window, in positions
    int positions;     //!< positions per thread, 4 columns apart: 5 or 9
    int groups;        //!< threads per row of positions and phase; each begins SLICE_GROUP_WORDS words after the last
    int tileRows;      //!< rows of positions per block
    int tiles;         //!< blocks among which the rows of the largest window are divided
    int parts;         //!< parts of a slice's rows, each with its own threads
    int sliceRows;     //!< rows of a fragment per block
    int slices;        //!< blocks among which the rows of the largest fragment are divided
    int channelBlocks; //!< blocks among which the channels are divided: 1 or all
    int areaWidth;     //!< widest area, pixels
    StagePlan stage;
    int templateWords;
    int planeWords; //!< words of one sum of all positions in device memory, a multiple of 4
    size_t
        sumsEach; //!< words of all sums of a fragment: by channel, kind of sum and position; planSlices() lets them fit
    size_t sharedBytes; //!< shared memory per block

    // Offsets in words. The values of all positions later replace everything.
    CT_HOST_DEVICE int items() const { return 4 * tileRows * groups; } //!< threads per part
    CT_HOST_DEVICE int rawAt() const { return templateWords; }
    CT_HOST_DEVICE int expandedAt() const { return rawAt() + stage.rawWords; }
    CT_HOST_DEVICE int blocks() const { return tiles * slices * channelBlocks; } //!< blocks per fragment
};

//! Returns the number of 32-bit sums per position and channel.
CT_HOST_DEVICE constexpr int sumsPerPosition(Metric metric, bool weighted)
{
    return hasMoments(metric, weighted) ? (isCorrelation(metric) ? 3 : 2) + (weighted ? 2 : 0) : 1;
}

//! Returns the number of channels with sums of their own: moments are not linear in channels.
CT_HOST_DEVICE constexpr int sumChannels(Metric metric, bool weighted, int channels)
{
    return hasMoments(metric, weighted) ? channels : 1;
}

//! @param sums SlicePlan::sumsEach per entry, and @param finished one counter of finished blocks per entry; 0 before
//! and after.
void matchSlices(const Job& job, const SlicePlan& plan, uint32_t* sums, unsigned* finished);

} // namespace gpu

//! Plans windows; nothing if they are too large or sums could exceed 32 bits.
std::optional<gpu::SlicePlan> planSlices(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SLICES_HPP
