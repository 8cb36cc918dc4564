// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and limits of QuickShift's kernels. Above each constant: what it is, and its limit or why it has
// this value. What other values took is in the history, what was learned in doc/engineering/quick_shift.md. A
// constant with neither was chosen without a measurement.
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP

namespace cv { namespace cuda { namespace quick_shift { namespace gpu { namespace tuning {

// --- density: a block has COLS x (GROUPS * CENTRES) pixels, and one chunk of the offsets -----------------------------

// BYTE: 8-bit pixels. Their kernel is bound by issue slots, not by latency.

//! Pixels per row of a block.
const int BYTE_COLS = 64;
//! Groups of rows per block.
const int BYTE_GROUPS = 4;
//! Pixels per thread: more share the work per neighbour, but take more registers.
const int BYTE_CENTRES = 8;
//! Blocks whose registers fit a multiprocessor.
const int BYTE_BLOCKS = 2;
//! Largest number of columns of offsets per chunk. BYTE_DX * CHUNK_DY weights must fit 32 bits: at most MAX_TERMS.
const int BYTE_DX = 10;

//! Chunks of columns that small images may have beyond the fewest.
const int BYTE_MORE_DX = 5;
//! Chunks of rows that small images may have beyond the fewest.
const int BYTE_MORE_DY = 3;

// PLANE: pixels as planes of floats.

//! Pixels per row of a block: a warp has a row.
const int PLANE_COLS = 32;
//! Groups of rows per block.
const int PLANE_GROUPS = 8;
//! Pixels per thread.
const int PLANE_CENTRES = 4;
//! Largest number of columns of offsets per chunk; limited as BYTE_DX.
const int PLANE_DX = 5;

// BAND: planes of more than FEW_CHANNELS channels. PLANE_COLS and PLANE_CENTRES hold for them, too.

//! Groups of rows per block. With the limits below, the credits and 16 planes of its window must fit
//! LEAST_SHARED_BYTES.
const int BAND_GROUPS = 4;
//! Largest number of columns of offsets per chunk.
const int BAND_DX = 4;
//! Largest number of rows of offsets per chunk.
const int BAND_DY = 12;

//! Largest number of rows of offsets per chunk: credits of a chunk must fit 32 bits.
const int CHUNK_DY = 37;

// --- parents: a block has SEARCH_COLS x ..._SEARCH_ROWS pixels -------------------------------------------------------

//! Pixels by which a tile is larger than its block on each side: with them it must fit LEAST_SHARED_BYTES.
const int TILE_REACH = 10;
//! Pixels per row of a block: a warp has a row.
const int SEARCH_COLS = 32;
//! Rows per block, 8 bit.
const int BYTE_SEARCH_ROWS = 32;
//! Pixels per thread, 8 bit: neighbours that they share are loaded once.
const int BYTE_SEARCH_PIXELS = 4;
//! Rows per block of small images, 8 bit, with one pixel per thread.
const int BYTE_SMALL_SEARCH_ROWS = 8;
//! Images of fewer blocks per multiprocessor are small.
const int BYTE_SMALL_SEARCH = 4;
//! Lanes that search for one pixel of a list together, 8 bit.
const int BYTE_SEARCH_LANES = 16;
//! Lists of fewer pixels are left to the search by several lanes, 8 bit.
const int BYTE_SEARCH_FEW = 16;
//! Blocks whose registers fit a multiprocessor, 8 bit.
const int BYTE_SEARCH_BLOCKS = 5;
//! Rows per block, float.
const int PLANE_SEARCH_ROWS = 16;
//! Pixels per thread, float.
const int PLANE_SEARCH_PIXELS = 2;
//! Lanes that search for one pixel of a list together, float.
const int PLANE_SEARCH_LANES = 4;
//! Blocks that share the global list: 8 for each of the 132 multiprocessors of an H200, which have 2048 threads.
const int FAR_BLOCKS = 1056;
//! Threads per block of these.
const int FAR_THREADS = 256;

}}}}} // namespace cv::cuda::quick_shift::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
