// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and breakpoints of QuickShift's kernels.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP

namespace cv { namespace cuda { namespace quick_shift { namespace gpu { namespace tuning {

// Density, 8 bit: a block is BYTE_COLS x (BYTE_GROUPS * BYTE_CENTRES) pixels, BYTE_CENTRES a thread.
// H200, 2026-11-21, 1080p: 727 us at sigma 6 and 124 us at sigma 2. Before the clamp was part of the fma 763 and 128 us; before
// neighbours were a ring of registers 820 and 135 us.
// 3 blocks a multiprocessor, 4 centres and 512 threads: the same at sigma 2, 4 to 6 % more at sigma 6; tiles of half the width
// or height: 3 % more at sigma 6, 4 to 7 % at sigma 2; 12 centres: 12 % more. It waits for issue slots, not for latency.
const int BYTE_COLS = 64, BYTE_GROUPS = 4, BYTE_CENTRES = 8;
const int BYTE_BLOCKS = 2; //!< blocks that fit a multiprocessor's registers
const int BYTE_DX = 10;    //!< columns of offsets in a chunk, at most
// The same where chunks of BYTE_DX would be fewer blocks than the device holds at once. Sigma 6: 39 us instead of 61 us for
// 256 x 256 pixels, 89 us instead of 105 us for 512 x 384. Where they are enough, 10 are better: 128 us, not 148 us, for 1080p
// at sigma 2.
const int BYTE_FEW_DX = 5;
// Density, float.
const int PLANE_COLS = 32, PLANE_GROUPS = 8, PLANE_CENTRES = 4, PLANE_DX = 5;
const int CHUNK_DY = 37; //!< rows of offsets in a chunk, at most

// Parents: a block is SEARCH_COLS x ..._ROWS pixels, ..._PIXELS a thread; ..._LANES take a pixel together where a list is left.
// H200, 2026-11-21, fruits 1080p: sigma 2, maxDist 8, scale 1: 66 us (167 us by rings, all in order), sigma 6, maxDist 10, the
// paper's scale: 50 us (53 us), scale 1: 84 us (166 us). One shape for all: without the pass to 196, the paper's setting takes
// 42 us but the first 96 us; 32 x 16 pixels, 2 a thread, take 12 us instead of 18 us for 256 x 256 pixels, and 76 us for 1080p.
// Float, sigma 2, maxDist 8, scale 1: 131 us (212 us).
const int TILE_REACH = 10; //!< neighbours in shared memory: so many around a block's pixels
const int SEARCH_COLS = 32;
const int BYTE_SEARCH_ROWS = 32, BYTE_SEARCH_PIXELS = 4, BYTE_SEARCH_LANES = 16;
// Lists of fewer pixels are left to lanes: the paper's setting 38 us instead of 50 us, the others 0 to 5 % less; from 64 on
// sigma 2 takes 70 us.
const int BYTE_SEARCH_FEW = 16;
const int BYTE_SEARCH_BLOCKS = 5; //!< blocks that fit a multiprocessor's registers
const int PLANE_SEARCH_ROWS = 16, PLANE_SEARCH_PIXELS = 2, PLANE_SEARCH_LANES = 4;
const int FAR_BLOCKS = 1056, FAR_THREADS = 256; //!< warps that share the global list

// Labels: so many segments are scanned by one block. H200, 2026-11-21: 7 us instead of 14 us for 256 x 256 pixels, 11 us
// instead of 15 us for 512 x 384.
const int SCAN_THREADS = 1024, SCAN_BLOCK = 16 * SCAN_THREADS;

}}}}} // namespace cv::cuda::quick_shift::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
