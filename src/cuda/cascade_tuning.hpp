// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and breakpoints of the cascade's kernels. What has no date was reasoned, not measured.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP

namespace cv { namespace cuda { namespace cascade { namespace gpu { namespace tuning {

// Classify. 3 blocks of 256 threads leave 80 registers a thread and 75 KB a block on compute capability 9.0: what a tile
// of 64 x 32 windows of 24 x 24 pixels takes.
const int THREADS = 256, BLOCKS = 3;
//! Tiles to choose from, in windows, best first; columns are powers of two up to 64 (a row's windows are bits of a word).
const int TILES[][2] = {{64, 32}, {64, 16}, {32, 16}, {32, 8}, {16, 8}, {16, 4}, {8, 4}, {8, 2}, {8, 1}};
const int LARGE_TILES = 3; //!< those worth having more blocks a multiprocessor for
const int MAX_WINDOWS = 2048;
//! Blocks and tile where tables are too large for shared memory (windows of some 200 pixels), and lie in device memory.
const int GLOBAL_BLOCKS = 132, GLOBAL_TILE[2] = {32, 8};

const int GRAY_THREADS = 256;
const int RESOLVE_BLOCKS = 64, RESOLVE_THREADS = 256;
// Group: a block ranks or links 32 candidates against all others, which its warps share.
const int PAIR_WARPS = 8;
const int FINISH_THREADS = 512;

}}}}} // namespace cv::cuda::cascade::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
