// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes and tiles of TLD's kernels. A constant without a gain was reasoned, not measured; doc/performance.md says what else was
// tried. Times of kernels by Nsight Compute, one object of 704 k windows, of which 350 k have enough variance and 110 k are
// fern-positive, caches and clocks not controlled:
//
//   kernel                 | time    | device, date       | case
//   grayBlurAndSums        | 11.5 us | H200, 2026-11-22   | 1920 x 1080
//   halveLevels            | 5.6 us  | H200, 2026-11-23   | 320 x 240
//   trackPointsByTeams     | 21 us after halveLevels | H200, 2026-11-23 | 320 x 240
//   medianFlow             | 8.1 us after trackPointsByTeams | H200, 2026-11-23 | 320 x 240
//   varianceFilter         | 12.6 us | H200, 2026-11-22   | 1920 x 1080
//   fernCodes              | 30 us   | H200, 2026-11-22   | 1920 x 1080
//   fernPosteriors         | 13.6 us | H200, 2026-11-22   | 1920 x 1080
//   selectDetections       | 5 us    | H200, 2026-11-22   | 1920 x 1080
//   templateSimilarities   | 7.4 us  | H200, 2026-11-22   | 1920 x 1080
//   integrateObjects       | 10.7 us | H200, 2026-11-22   | 1920 x 1080
//   makePositives          | 15.6 us | H200, 2026-11-22   | 1920 x 1080
//   updateTemplates        | 9 us    | H200, 2026-11-22   | 1920 x 1080
//   copyModel              | 4.5 us  | H200, 2026-11-22   | 1920 x 1080
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace tld { namespace gpu { namespace tuning {

// The line above a constant: meaning | gain | device, date | case.

//! Side of the tiles of grayBlurAndSums, pixels | - | - | 1920 x 1080: 510 tiles
const int TILE = 64;
//! Threads per block of grayBlurAndSums | - | - | -
const int PREPROCESS_THREADS = 256;
//! Rows per block of sumTableStrips; sums above come in groups of TILE rows and in strips | - | - | 1080 rows: 135 blocks
const int STRIP = 8;
//! Threads per block of sumTableStrips | - | - | -
const int TABLE_THREADS = 512;
//! Levels per launch of halveLevels, small levels; a launch per level takes 8.5 us | all levels 5.6 us | H200, 2026-11-23 | 320 x 240
const int PYRAMID_SMALL_LEVELS = 4;
//! Side of the tiles of small levels, pixels | all levels 8.7 us with 64 -> 5.6 us | H200, 2026-11-23 | 320 x 240
const int PYRAMID_SMALL_TILE = 32;
//! Pixels of small levels, at most | - | - | -
const int PYRAMID_SMALL = 512 * 384;
//! Levels per launch, levels that are not small | flow 53.7 us with 4 -> 51.4 us | H200, 2026-11-23 | 960 x 540
const int PYRAMID_LEVELS = 2;
//! Side of the tiles of medium levels | - | - | -
const int PYRAMID_TILE = 64;
//! Pixels of medium levels, at most | - | - | -
const int PYRAMID_MEDIUM = 1280 * 800;
//! Side of the tiles of large levels | frame 306.6 us with 64 -> 290.1 us | H200, 2026-11-23 | 3840 x 2160, one object
const int PYRAMID_LARGE_TILE = 128;
//! Threads per block of halveLevels | - | - | -
const int HALVE_THREADS = 512;

//! Points per block of trackPoints; few, so that one object occupies many multiprocessors | - | - | -
const int FLOW_WARPS = 4;
//! Objects up to which a block of several warps tracks a point | frame 90.0 us -> 85.9 us | H200, 2026-11-23 | 320 x 240, one object
const int TEAM_OBJECTS = 4;
//! Threads per block of medianFlow | - | - | -
const int MOTION_THREADS = 512;

// Wide tiles save cache lines when codes are made, as windows of a tile are neighbours in the list; with few rows varianceFilter
// reads more.
//! Columns of windows per tile | detector 87 us with 32 x 32 -> 82 us with 128 x 8 | H200, 2026-11-22 | 1920 x 1080, one object
const int TILE_COLS = 128;
//! Rows of windows per tile | see TILE_COLS | see TILE_COLS | see TILE_COLS
const int TILE_ROWS = 8;
//! Threads per block of varianceFilter | - | - | -
const int VARIANCE_THREADS = 256;
//! Chunks of 128 windows per block of fernCodes: 60 KB of shared memory | - | - | -
const int ENCODE_CHUNKS = 4;
//! Warps per chunk of fernCodes | - | - | -
const int ENCODE_SHARE = 3;
//! How often the blocks of many objects fill the device | 3.6 -> 3.2 ms, with packed far windows | H200, 2026-11-22 | 64 objects of 64 sizes
const int MOST_ROUNDS = 4;
//! Threads per block of fernPosteriors and learnNegatives, which has the posteriors in shared memory | - | - | -
const int POSTERIOR_THREADS = 1024;

//! Objects times tiles up to which posteriors are read from device memory | both launches of learnNegatives 19.6 us -> 13.8 us, with windows loaded early | H200, 2026-11-23 | 320 x 240, one object
const int DIRECT_TILES = 128;

//! Threads per block of kernels with one block per object or patch | 512: frame 95.6 us -> 100.5 us | H200, 2026-11-23 | 320 x 240, one object
const int THREADS = 256;
//! Blocks per object that search the support of its box | - | - | -
const int SUPPORT_BLOCKS = 8;
//! Windows near a box that are ranked in shared memory; more take longer | - | - | -
const int NEAR_LIST = 1024;

//! Windows per block that train() scans for a kind | - | - | -
const int SCAN_WINDOWS = 4096;
//! Listed windows that a block of train() evaluates at a time | - | - | -
const int WINDOWS_AT_ONCE = 256;
//! Blocks per object of copyModel | - | - | -
const int COPY_BLOCKS = 64;

}}}}} // namespace cv::cuda::tld::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
