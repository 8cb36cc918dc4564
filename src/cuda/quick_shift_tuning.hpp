// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and breakpoints of QuickShift's kernels.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP

namespace cv { namespace cuda { namespace quick_shift { namespace gpu { namespace tuning {

// Density, 8 bit: a block is BYTE_COLS x (BYTE_GROUPS * BYTE_CENTRES) pixels, BYTE_CENTRES a thread.
// H200, 2026-11-21, 1080p: 800 us at sigma 6, 128 us at sigma 2. 3 blocks a multiprocessor, 32 columns, 4 centres and 512
// threads, or twice the chunks were all within 3 % of each other: the kernel waits for issue slots, not for latency.
const int BYTE_COLS = 64, BYTE_GROUPS = 4, BYTE_CENTRES = 8;
const int BYTE_BLOCKS = 2; //!< blocks that fit a multiprocessor's registers
const int BYTE_DX = 10;    //!< columns of offsets in a chunk, at most
// Density, float.
const int PLANE_COLS = 32, PLANE_GROUPS = 8, PLANE_CENTRES = 4, PLANE_DX = 5;
const int CHUNK_DY = 37; //!< rows of offsets in a chunk, at most

// Parents. H200, 2026-11-21, fruits 1080p, sigma 2, maxDist 8, scale 1: 402 us with 4 dense rings and a warp for each far
// pixel, 167 us with 2 dense rings and four lanes a pixel up to TILE_REACH.
const int DENSE_RADIUS = 2;                     //!< rings that every pixel's thread looks at
const int TILE_REACH = 10;                      //!< rings in shared memory
const int FAR_BLOCKS = 1056, FAR_THREADS = 256; //!< warps that share the global list

}}}}} // namespace cv::cuda::quick_shift::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
