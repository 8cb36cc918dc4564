// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route FUSED_DEEP_BANDS: SSD and ZNCC of images of 16 bits by matrix instructions in one kernel, one
// block per fragment, for small windows.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_DEEP_BANDS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_DEEP_BANDS_HPP

#include "../common/one_block.hpp"
#include "deep_bands.hpp"
#include "fused_bands.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

//! Most warps per block.
const int FUSED_DEEP_WARPS = 8;
//! Blocks of that many warps per multiprocessor that registers must allow: 128 per thread, of which sums take 48, with
//! weights 64.
const int FUSED_DEEP_BLOCKS = 2;
//! Most rows of a fragment times chunks of 32 columns if there are fewer fragments than multiprocessors: several blocks
//! per fragment are quicker beyond.
const int FUSED_DEEP_FEW_ROWS = 32;

} // namespace tuning

namespace gpu {

//! Plan of matchFusedDeepBands(); planes as those of DEEP_BANDS.
struct FusedDeepBands : LanePlan
{
    int templateWords; //!< words of all planes of a template
    int tablePitch;    //!< elements from row to row of a table of sums, odd: no conflicts of banks
    int tableElements; //!< elements per table, without weights
    int mapElements;   //!< elements per map of sums or values of all positions, of 64 bits
    //! Offsets in words from ONE_BLOCK_SCRATCH_BYTES on. Behind `sumsAt` are tables; with weights a map of each sum of
    //! the image. The map of S(qIT), later of values, takes the place of planes and templates.
    int templatesAt, sumsAt;
    size_t sharedBytes; //!< shared memory per block
};

void matchFusedDeepBands(const Job& job, const FusedDeepBands& plan);

} // namespace gpu

//! Plans windows of all groups; nothing if the route does not apply.
std::optional<gpu::FusedDeepBands> planFusedDeepBands(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_DEEP_BANDS_HPP
