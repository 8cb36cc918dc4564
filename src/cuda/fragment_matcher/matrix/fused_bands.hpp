// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route FUSED_BANDS: SSD and ZNCC by matrix instructions in one kernel, one block per fragment, for
// small windows.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_BANDS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_BANDS_HPP

#include "../common/one_block.hpp"
#include "terms.hpp"
#include <optional>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

// Three of four warps have 33 x 33 positions; eight blocks of three warps fit a multiprocessor (80 registers), so that
// 1000 fragments are resident at once.

//! Most warps per block of the kernel for small windows.
const int FUSED_BAND_FEW_WARPS = 4;
//! Most warps per block.
const int FUSED_BAND_WARPS = 8;
//! Blocks of four warps per multiprocessor that registers must allow.
const int FUSED_BAND_BLOCKS = 6;
//! FUSED_BAND_BLOCKS with weights.
const int FUSED_BAND_WEIGHTED_BLOCKS = 3;

} // namespace tuning

namespace gpu {

const int FUSED_BAND_ROWS = 4; //!< rows of positions per lane

//! Returns the rows of a template in shared memory: lanes begin with FUSED_BAND_ROWS, of which the last may be zeros.
CT_HOST_DEVICE int templateRows(int height) { return height < FUSED_BAND_ROWS ? FUSED_BAND_ROWS : height; }

//! The part of a plan that follows from the lanes of one block per fragment, which have all positions of a window.
struct LanePlan
{
    int warps;                 //!< warps per block
    int areaWidth, areaHeight; //!< largest area, pixels
    int rows, columns;         //!< rows, and words per row, that positions read, including those outside their window
    int pitch, planeWords;     //!< words per row and per plane of the image
};

//! Plan of matchFusedBands(): SSD and ZNCC in small windows.
struct FusedBands : LanePlan
{
    int squareWords; //!< words per plane of squares; without weights, no row below the area is read there
    StagePlan stage;
    int unitThreads, unitStep; //!< fetchThreads and fetchStep of copies in units of 16 bytes
    uint32_t unitInverse;      //!< inverseOf(unitThreads)
    int blocks;                //!< largest number of blocks of 8 columns of positions
    int rawWords;              //!< words of the raw image, which sums of squares replace
    int templateWords;
    //! ZNCC: words of n and v of all positions of a block, which replace images and templates; 0: not kept
    int partWords;
    int mapWords; //!< words of the values of the largest window
    int planesAt; //!< offset of the channels' planes, after the raw image, templates and planes of squares
    int planesEnd;
    size_t sharedBytes; //!< shared memory per block

    // Offsets in words from ONE_BLOCK_SCRATCH_BYTES on.
    CT_HOST_DEVICE int templatesAt() const { return rawWords; }
    CT_HOST_DEVICE int squaresAt() const { return templatesAt() + templateWords; }
    CT_HOST_DEVICE int mapAt() const { return partWords; } //!< values for sub-pixel offsets
    CT_HOST_DEVICE int mapEnd() const { return mapAt() + mapWords; }
};

inline void setThreads(FusedBands& plan, int threads)
{
    const int units = plan.stage.rawPitch / 4;
    setThreads(plan.stage, threads);
    plan.unitThreads = units < threads ? units : threads;
    plan.unitStep = threads / plan.unitThreads;
    plan.unitInverse = inverseOf(plan.unitThreads);
}

//! Returns the words of n and v of all positions of a block.
CT_HOST_DEVICE constexpr int bandPartWords(bool weighted, int threads)
{
    return (weighted ? 4 : 3) * 4 * FUSED_BAND_ROWS * threads;
}

void matchFusedBands(const Job& job, const FusedBands& plan);

} // namespace gpu

//! Widens a plan to windows of up to `window` positions, at least one, of a fragment.
void widenLanes(gpu::LanePlan& plan, Extent window, Extent fragment);
//! Plans windows of all groups; nothing if a block cannot hold one or a fragment has less than three rows.
std::optional<gpu::FusedBands> planFusedBands(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_FUSED_BANDS_HPP
