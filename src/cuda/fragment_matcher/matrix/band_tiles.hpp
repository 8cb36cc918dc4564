// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, route BAND_TILES: SSD and ZNCC without weights by matrix instructions in one kernel, for windows
// whose blocks are all resident at once.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BAND_TILES_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BAND_TILES_HPP

#include "bands.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace tuning {

// Four warps sum up columns while the others multiply, with 128 registers per thread.

//! Threads per block.
const int BAND_TILE_THREADS = 512;
//! Warps per block that multiply.
const int BAND_TILE_WARPS = 12;
//! Highest fragment: sums of 256 bytes fit 16 bits.
const int BAND_TILE_HEIGHT = 256;
//! Upper bound of the static shared memory per block, which Common_CudaPlans.staticMemory compares with the compiled
//! kernels.
const size_t BAND_TILE_STATIC_BYTES = 4 * 1024;

} // namespace tuning

namespace gpu {

//! Returns the bytes of a sum of squares over all channels down a column of at most BAND_TILE_HEIGHT rows.
CT_HOST_DEVICE constexpr int squareBytes(int channels) { return channels == 1 ? 3 : 4; }
const int IMAGE_BYTES = 2; //!< bytes of a sum of one channel down such a column

//! Plan of matchBandTiles(): SSD and ZNCC without weights, windows whose blocks are all resident at once.
struct BandTiles
{
    int units,
        //! warps per block that multiply: units of BAND_ROWS rows of positions x parts of the rows of a fragment
        parts;
    int blocksX, blocks; //!< blocks per row of a window, and per window
    int imageRows;       //!< rows of the image per block
    int pitch;           //!< words from row to row of a plane of the image, a multiple of 4
    int rawPitch;        //!< words from row to row of the raw image; 0: one channel, where the raw image is the plane
    int planesAt, boxesAt, mergeAt; //!< offsets in shared memory in words; templates are at 0
    size_t sharedBytes;
};

void matchBandTiles(const Job& job, const BandTiles& plan, const Windows& windows);

} // namespace gpu

//! Plans windows; nothing if their blocks are not all resident at once.
std::optional<gpu::BandTiles> planBandTiles(const MatchCase& given, const Load& load);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BAND_TILES_HPP
