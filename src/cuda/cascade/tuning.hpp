// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and breakpoints of the cascade's kernels. What has no date was reasoned, not measured.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP

namespace cv { namespace cuda { namespace cascade { namespace gpu { namespace tuning {

// The pyramid: a block's rectangle. With its launch and five empty kernels behind it 29 us at 1080p and a factor of 1.1; byte by byte 33.
const int RESIZE_COLS = 128, RESIZE_ROWS = 32, RESIZE_WARPS = 4;

// Classify. 3 blocks of 256 threads leave 80 registers a thread and 75 KB a block on compute capability 9.0. Times are of an H200,
// 1080p, factor 1.1, 2026-11-21.
const int THREADS = 256, PAIR_BLOCKS = 3;
//! Tiles of pairs to choose from, in windows, best first: 64 or 32 columns, even rows.
const int PAIR_TILES[][2] = {{64, 32}, {64, 16}, {32, 16}, {32, 8}};
const int PAIR_PIXELS = 192; //!< columns of their patches, at most
//! Stages that all windows of a tile go through, side by side. Two for alt: 828 us instead of 759; three for LBP: 305 instead of 293.
const int DENSE_STAGES_HAAR = 3, DENSE_STAGES_LBP = 2;
const int CONSTANT_STAGES = 12, CONSTANT_QUADS = 928; //!< kernels have at most 32,764 bytes of parameters
/** Lanes that share a pair, at most, and take stumps from there. One, two, four, eight: alt 593, 582, 584, 601 us; default 758, 745, 742, 745
us. TreeShape of two nodes with two: alt2 661 us instead of 645; LBP 276 instead of 272. 2026-11-22. */
const int CONSTANT_LANES = 2;
/** Pairs that a row of a list by banks needs so that a warp takes it as it is; the others are taken without gaps, 32 at a time. None: alt 577,
default 743 us; 24: 570 and 738 us. 16 pairs a warp in place of 32: alt 906 us instead of 759. Whatever is left dealt out anew among the
warps after each of the next three, five or seven stages: 630, 640 and 664 us instead of 628. */
const int FULL_ROW = 24;
//! Tiles for a window a thread; columns are powers of two up to 64 (a row's windows are bits of a word).
const int TILES[][2] = {{64, 32}, {64, 16}, {32, 16}, {32, 8}, {16, 8}, {16, 4}, {8, 4}, {8, 2}, {8, 1}};
const int MAX_WINDOWS = 2048;
//! Blocks and tile where tables are too large for shared memory (windows of some 200 pixels), and lie in device memory.
const int GLOBAL_BLOCKS = 132, GLOBAL_TILE[2] = {32, 8};

const int GRAY_THREADS = 256;
const int RESOLVE_BLOCKS = 64, RESOLVE_THREADS = 256;
// Group: a block ranks or links 32 candidates against all others, which its warps share.
const int PAIR_WARPS = 16;
const int FINISH_THREADS = 512;

}}}}} // namespace cv::cuda::cascade::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
