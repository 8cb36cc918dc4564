// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes and tiles of TLD's kernels. Above each constant: what it is, and its limit or why it has this value. What
// other values took is in the history, what was learned in doc/engineering/tld.md. A constant with neither was
// chosen without a measurement.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace tld { namespace gpu { namespace tuning {

// --- gray values, sum tables -----------------------------------------------------------------------------------------

//! Side of the tiles of grayBlurAndSums, pixels: a multiple of STRIP. An image of 1920 x 1080 has 510 tiles, four per
//! multiprocessor of an H200.
const int TILE = 64;
//! Threads per block of grayBlurAndSums: each blurs two columns of 8 rows of a tile.
const int PREPROCESS_THREADS = 256;
//! Rows per block of sumTableStrips; sums over the rows above come in groups of TILE rows and in strips of STRIP rows.
//! An image of 1080 rows has 135 blocks, one per multiprocessor of an H200.
const int STRIP = 8;
//! Threads per block of sumTableStrips: 16 warps, as half a warp scans the totals of all warps.
const int TABLE_THREADS = 512;

// --- pyramid: a launch makes several levels from tiles of the level above them ---------------------------------------

//! Largest number of pixels of a level whose lower levels are small.
const int PYRAMID_SMALL = 512 * 384;
//! Levels per launch, small levels: a launch takes longer than a level.
const int PYRAMID_SMALL_LEVELS = 4;
//! Side of the tiles of small levels, pixels: few, so that a small level has many tiles.
const int PYRAMID_SMALL_TILE = 32;
//! Largest number of pixels of a level whose lower levels are medium.
const int PYRAMID_MEDIUM = 1280 * 800;
//! Levels per launch, medium and large levels.
const int PYRAMID_LEVELS = 2;
//! Side of the tiles of medium levels, pixels.
const int PYRAMID_TILE = 64;
//! Side of the tiles of large levels, pixels: the larger a tile, the less of it is border.
const int PYRAMID_LARGE_TILE = 128;
//! Threads per block of halveLevels.
const int HALVE_THREADS = 512;

// --- flow ------------------------------------------------------------------------------------------------------------

//! Points per block of trackPoints, a warp each: few, so that the 100 points of one object occupy 25 multiprocessors.
const int FLOW_WARPS = 4;
//! Largest number of objects whose points are tracked by a block of several warps each.
const int TEAM_OBJECTS = 4;
//! Threads per block of medianFlow: at least 512, as two groups of 256 find a median each.
const int MOTION_THREADS = 512;

// --- ferns -----------------------------------------------------------------------------------------------------------

// Windows of a tile are neighbours in the list, so that the pixels of 32 windows lie in fewer cache lines where tiles
// are wide; where they have few rows varianceFilter reads more. A tile has 32 runs of 32 windows, as a lane places each
// run.

//! Columns of windows per tile.
const int TILE_COLS = 128;
//! Rows of windows per tile.
const int TILE_ROWS = 8;
//! Threads per block of varianceFilter: each has four windows.
const int VARIANCE_THREADS = 256;
//! Chunks of 128 windows per block of fernCodes: with 115 points 60 KB of shared memory. Where those do not fit, a
//! block has one.
const int ENCODE_CHUNKS = 4;
//! Warps per chunk of fernCodes.
const int ENCODE_SHARE = 3;
//! Times that the blocks of many objects fill the device at most: more balance objects of unequal work.
const int MOST_ROUNDS = 4;
//! Threads per block of fernPosteriors and learnNegatives: the most there can be, as the posteriors of an object,
//! 164 KB, leave no shared memory for a second block.
const int POSTERIOR_THREADS = 1024;
//! Largest product of objects and tiles for which posteriors are read from device memory: copying them takes longer.
const int DIRECT_TILES = 128;

// --- kernels with one block per object, or per patch -----------------------------------------------------------------

//! Threads per block: at least 256, one per corner of the 15 x 15 pixels of a patch, and at least MAX_DETECTIONS.
const int THREADS = 256;
//! Largest number of objects whose kernels are bound by latency: blocks of filters process less, and sizes at the first
//! answer, and warps of examples, are prepared before it is known whether they are needed.
const int FEW_OBJECTS = 8;
//! Blocks per object that search the support of its box: each has 25 windows at a time, and some 200 are near a box.
const int SUPPORT_BLOCKS = 10;
//! Windows near a box that are ranked in 16 KB of shared memory; more take longer. At least THREADS.
const int NEAR_LIST = 1024;
//! Windows per block that train() scans for a kind: the list of them takes 20 KB of shared memory.
const int SCAN_WINDOWS = 4096;
//! Listed windows that a block of train() evaluates at a time: a thread each, and 16 KB of shared memory for leaves.
const int WINDOWS_AT_ONCE = 256;
//! Blocks per object of copyModel.
const int COPY_BLOCKS = 64;

// --- filter ----------------------------------------------------------------------------------------------------------

//! Threads per block of learnFilter, and of filterCells and filterSpectra of few objects.
const int FILTER_THREADS = 512;
//! Threads per block of filterCells of many objects: while some blocks are at a barrier, others work.
const int CELLS_THREADS = 256;
//! Pairs of channels per block of filterSpectra, of many objects: at least two, which share the norms.
const int SPECTRA_PAIRS = 2;
//! Threads per block of filterSpectra, of many objects.
const int SPECTRA_THREADS = 256;
//! Threads per block of filterAnswers: the most there can be, as a place has one block.
const int ANSWER_THREADS = 1024;
//! Blocks per frequency of fuseObjects, of few objects: so that a thread has one row of THREADS.
const int SIZE_PARTS = 4;
//! Multiprocessors that blocks of POSTERIOR_THREADS leave to the filters of up to TEAM_OBJECTS objects: room for two
//! blocks of each of the 16 tiles of a place. With eight objects they are missed more.
const int FILTER_MULTIPROCESSORS = 16;

}}}}} // namespace cv::cuda::tld::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
