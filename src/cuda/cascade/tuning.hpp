// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and breakpoints of the cascade's kernels. Above each constant: what it is, and its limit or why it
// has this value. What other values took is in the history, what was learned in doc/engineering/cascade.md. A
// constant with neither was chosen without a measurement.
#ifndef OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP

namespace cv { namespace cuda { namespace cascade { namespace gpu { namespace tuning {

// --- resize ----------------------------------------------------------------------------------------------------------

//! Columns of a block's rectangle, pixels: a warp has a row, with four neighbouring pixels per lane.
const int RESIZE_COLS = 128;
//! Rows of a block's rectangle.
const int RESIZE_ROWS = 32;
//! Rows of a block's rectangle where there are few rectangles.
const int RESIZE_FEW_ROWS = 8;
//! Rectangles of RESIZE_ROWS rows per multiprocessor up to which they are few.
const int RESIZE_FEW = 4;
//! Warps per block.
const int RESIZE_WARPS = 4;

// --- classify --------------------------------------------------------------------------------------------------------

//! Threads per block.
const int THREADS = 256;
//! Blocks per multiprocessor, for pairs: on compute capability 9.0 a thread can have 80 registers, a block 75 KB of
//! shared memory.
const int PAIR_BLOCKS = 3;
//! Tiles for pairs, columns and rows of windows, best first; 64 or 32 columns, an even number of rows.
const int PAIR_TILES[][2] = {{64, 32}, {64, 16}, {32, 16}, {32, 8}};
//! Largest number of columns of a patch for pairs, pixels: 16 lanes have a row, 12 neighbouring pixels each.
const int PAIR_PIXELS = 192;
//! First stages on rows of neighbouring windows, Haar.
const int DENSE_STAGES_HAAR = 3;
//! First stages on rows of neighbouring windows, LBP.
const int DENSE_STAGES_LBP = 2;
//! Largest number of stages in the constant bank: their records stand beside CONSTANT_QUADS.
const int CONSTANT_STAGES = 12;
//! Quads of records in the constant bank, by step: a kernel's parameters have at most 32,764 bytes.
const int CONSTANT_QUADS = 928;
//! Lanes per pair up to which stumps are read from the constant bank: more lanes read different records, one by one.
const int CONSTANT_LANES = 2;
//! Lanes per pair from which on two stages of LBP stumps are evaluated at once.
const int TWO_STAGES_LANES = 16;
//! Pairs from which on a warp takes a row of a list by banks as it is, without bank conflicts, and not compacted.
const int FULL_ROW = 24;
//! Largest number of windows per tile: that of the largest of PAIR_TILES.
const int MAX_WINDOWS = 2048;
//! Blocks for windows one by one: one per multiprocessor of an H200, as each has integral images of its own in device
//! memory.
const int PLAIN_BLOCKS = 132;
//! Work of a row of a tile, in windows, beside that of its windows: tiles are ordered by work.
const int TILE_WORK = 32;
//! Tiles at the end of a list of many that are ordered by work, per multiprocessor: three times as many as are
//! processed at once.
const int LAST_TILES = 9;
//! Blocks of resolveDeferred.
const int RESOLVE_BLOCKS = 64;
//! Threads per block of resolveDeferred.
const int RESOLVE_THREADS = 256;

// --- toGray, group ---------------------------------------------------------------------------------------------------

//! Threads per block of toGray, one per pixel of a row.
const int GRAY_THREADS = 256;
//! Threads per block of group, which has the candidates of one image.
const int GROUP_THREADS = 512;
//! Largest number of candidates of an image that are ranked and linked in shared memory: a bit each of 64.
const int FEW_CANDIDATES = 64;

}}}}} // namespace cv::cuda::cascade::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_CASCADE_TUNING_HPP
