// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route FUSED: byte sums in one kernel, one block per fragment, for search windows that fit into
// shared memory.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_HPP

#include "../common/one_block.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

// 33 x 33 positions are 132 items of 9 positions: four full warps, and a fifth whose lanes share its four items. Eight
// blocks of 160 threads fit a multiprocessor (48 registers, one expanded channel at a time), so that 1000 fragments are
// resident at once.

//! Most threads per block, and blocks per multiprocessor that registers must allow: up to 9 and with 13 positions per
//! thread.
const int FUSED_THREADS = 320, FUSED_BLOCKS = 4, FUSED_WIDE_BLOCKS = 3;
//! FUSED_THREADS and FUSED_BLOCKS for moments, which need up to 168 registers.
const int FUSED_MOMENTS_THREADS = 192, FUSED_MOMENTS_BLOCKS = 2;
//! Up to so many fragments, two per multiprocessor of an H200, get more threads each.
const int FUSED_FEW = 264;

} // namespace tuning

namespace gpu {

//! Plan for windows that one block each matches.
struct FusedPlan
{
    int positions; //!< positions per thread, 5, 9 or 13: windows up to 4 times as wide
    int slots;     //!< items (rows of positions, one of four phases) per warp; fewer items mean more threads per item
    int rows;      //!< rows of the largest window, in positions
    int areaWidth, areaHeight; //!< largest area, pixels
    StagePlan stage;
    int templateWords;
    int threads;        //!< threads per block
    size_t sharedBytes; //!< shared memory per block

    // Offsets in words from ONE_BLOCK_SCRATCH_BYTES on; the map of values takes the place of the raw image.
    CT_HOST_DEVICE int templatesAt() const { return stage.rawWords; }
    CT_HOST_DEVICE int expandedAt() const { return templatesAt() + templateWords; }
};

void matchFused(const Job& job, const FusedPlan& plan);

} // namespace gpu

//! Plans windows of all groups; nothing if a block cannot hold one.
std::optional<gpu::FusedPlan> planFused(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_HPP
