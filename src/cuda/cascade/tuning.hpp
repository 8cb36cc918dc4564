// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and breakpoints of the cascade's kernels. One line per number:
//
//   meaning | gain | device, date | case
//
// A dash: reasoned, not measured. Cases are OpenCV's face cascades (alt, alt2, default, LBP) on an image of 1920 x 1080 pixels with a
// scale factor of 1.1.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP

namespace cv { namespace cuda { namespace cascade { namespace gpu { namespace tuning {

// --- resize ----------------------------------------------------------------------------------------------------------

//! Columns of a block's rectangle, pixels | reads words: 29 us, bytes: 33 us, with five empty launches | H200, 2026-11-21 | -
const int RESIZE_COLS = 128;
//! Rows of a block's rectangle | - | - | -
const int RESIZE_ROWS = 32;
//! Rows of a block's rectangle if there are few rectangles | 8: 137.9 us, 32: 139.5 us | H200, 2026-11-23 | alt, 640 x 360
const int RESIZE_FEW_ROWS = 8;
//! Rectangles of RESIZE_ROWS rows per multiprocessor that are few | - | - | -
const int RESIZE_FEW = 4;
//! Warps per block | - | - | -
const int RESIZE_WARPS = 4;

// --- classify --------------------------------------------------------------------------------------------------------

//! Threads per block | - | - | -
const int THREADS = 256;
//! Blocks per multiprocessor, for pairs | leaves 80 registers per thread and 75 KB of shared memory per block | compute capability 9.0 | -
const int PAIR_BLOCKS = 3;
//! Tiles for pairs in windows, best first; 64 or 32 columns, an even number of rows | - | - | -
const int PAIR_TILES[][2] = {{64, 32}, {64, 16}, {32, 16}, {32, 8}};
//! Largest number of columns of a patch for pairs, pixels | - | - | -
const int PAIR_PIXELS = 192;
//! First stages on rows of neighbouring windows, Haar | 3: 759 us, 2: 828 us | H200, 2026-11-21 | alt
const int DENSE_STAGES_HAAR = 3;
//! First stages on rows of neighbouring windows, LBP | 2: 293 us, 3: 305 us | H200, 2026-11-21 | LBP
const int DENSE_STAGES_LBP = 2;
//! Largest number of stages in the constant bank | - | - | -
const int CONSTANT_STAGES = 12;
//! Quads of records in the constant bank, by step | fit the 32,764 bytes of a kernel's parameters | - | -
const int CONSTANT_QUADS = 928;
//! Lanes per pair up to which stumps are read from the constant bank | 1, 2, 4, 8: 593, 582, 584, 601 us | H200, 2026-11-22 | alt
//! | 1, 2, 4, 8: 758, 745, 742, 745 us | H200, 2026-11-22 | default
//! | 2 for trees of two nodes, too: 661 us instead of 645 | H200, 2026-11-22 | alt2
//! | 2 for LBP, too: 276 us instead of 272 | H200, 2026-11-22 | LBP
const int CONSTANT_LANES = 2;
//! Lanes per pair from which on two stages of LBP stumps are evaluated at once | 8, 16, 32, never: 51.7, 52.3, 53.1, 54.0 us | H200, 2026-11-23 | LBP, 640 x 360
//! | 16, never: 246.7, 255.7 us | H200, 2026-11-23 | LBP
const int TWO_STAGES_LANES = 16;
//! Pairs from which on a warp takes a row of a list by banks as it is | 24: 570 us, no row: 577 us | H200, 2026-11-22 | alt
//! | 24: 738 us, no row: 743 us | H200, 2026-11-22 | default
//! | not done: 16 pairs per warp in place of 32: 906 us instead of 759 | H200, 2026-11-21 | alt
//! | not done: pairs redistributed among warps after each of the next 3, 5, 7 stages: 630, 640, 664 us instead of 628 | H200, 2026-11-21 | alt
const int FULL_ROW = 24;
//! Tiles for one window per thread, best first; columns are powers of two up to 64, as a row's windows are the bits of a word | - | - | -
const int TILES[][2] = {{64, 32}, {64, 16}, {32, 16}, {32, 8}, {16, 8}, {16, 4}, {8, 4}, {8, 2}, {8, 1}};
//! Largest number of windows per tile | - | - | -
const int MAX_WINDOWS = 2048;
//! Blocks if integral images are in device memory, as for windows of some 200 pixels | - | - | -
const int GLOBAL_BLOCKS = 132;
//! Tile if integral images are in device memory, windows | - | - | -
const int GLOBAL_TILE[2] = {32, 8};
//! Work of a row of a tile, in windows, beside that of its windows. Halves of tiles are ordered by work | 112.5 us -> 110.1 | H200, 2026-11-23 |
//! alt, 640 x 360; 0 and 200: 110.4 and 112.0 us. Not done with whole tiles: alt2 142.5 us -> 153, LBP 56.4 -> 56.7
const int TILE_WORK = 32;
//! Blocks of resolveDeferred | - | - | -
const int RESOLVE_BLOCKS = 64;
//! Threads per block of resolveDeferred | - | - | -
const int RESOLVE_THREADS = 256;

// --- late stages ------------------------------------------------------------------------------------------------------

//! Nodes of the stages before the first late stage, at least | mean of seven images: 300, 400, 450: 108.3, 111.2, 114.2 us | H200, 2026-11-23 | alt, 640 x 360
//! | the same: 140.4, 143.6, 142.9 us | H200, 2026-11-23 | default, 640 x 360
const int LATE_NODES = 300;
//! Least number of late stages, if there are any | - | - | -
const int LEAST_LATE_STAGES = 3;
//! Late pairs per tile that lists have room for | - | - | -
const int LATE_PAIRS = 32;
//! Warps per block, one per pair: the most that fit. The first leaves 80 registers per thread | - | compute capability 9.0 | -
const int LATE_WARPS[] = {24, 16, 8};
//! Warps of all blocks, if there are so many pairs | - | - | -
const int LATE_ALL_WARPS = 132 * 24;

// --- toGray, group ---------------------------------------------------------------------------------------------------

//! Threads per block of toGray | - | - | -
const int GRAY_THREADS = 256;
//! Warps per block of rankCandidates and linkSimilar, which share the comparisons of 32 candidates with all others | - | - | -
const int PAIR_WARPS = 16;
//! Blocks of rankCandidates and linkSimilar for all images of a call, if these are no more; otherwise one block per image | - | - | -
const int GROUP_BLOCKS = 512;
//! Candidates of an image up to which makeObjects ranks and links them in shared memory: bits of a 64-bit word | - | - | -
const int FEW_CANDIDATES = 64;
//! Threads per block of makeObjects | - | - | -
const int FINISH_THREADS = 512;

}}}}} // namespace cv::cuda::cascade::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
