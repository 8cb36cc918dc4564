// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes and tiles of TLD's kernels. By Nsight Compute on an H200 on 2026-11-22, 1920 x 1080, one object with 704 k windows of
// which 350 k have enough variance, 110 k of them alike, caches and clocks as they are: look 11.5 us,
// pyramid 20, flow 31, medians 11, variance 12.6, codes 30, posteriors 13.6, selection 5, nearest neighbours 7.4, deciding 10.7,
// examples 15.6, templates 9, copies of models 4.5.
// What has no figure was reasoned, not measured. What was tried: doc/performance.md.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace tld { namespace gpu { namespace tuning {

// Gray values, blur and sums of strips: tiles of 64 x 64 pixels, 510 of them in 1920 x 1080.
const int TILE = 64, PREPROCESS_THREADS = 256;
//! Rows that one block makes tables of: 135 blocks for 1080 rows. Sums above come in groups of TILE rows and in strips.
const int STRIP = 8, TABLE_THREADS = 512;
const int HALVE_THREADS = 256;

// Flow: a warp a point; few warps a block spread the latency of one object over the device.
const int FLOW_WARPS = 4, MOTION_THREADS = 512;

//! Windows of one scale whose variance a block looks at. In these tiles lie windows that trackPoints each other in lists: wide tiles save
//! codes lines of the cache, but few rows make variance read more. 128 x 8: detector 82 us, 32 x 32: 87.
const int TILE_COLS = 128, TILE_ROWS = 8, VARIANCE_THREADS = 256;
//! Chunks of 128 windows that a block makes codes of, and warps that share each: 60 KB a block.
const int ENCODE_CHUNKS = 4, ENCODE_SHARE = 3;
//! With 64 objects, blocks that share the windows of one fill the device so many times; with few objects once. 64 of 64 sizes: 3.2
//! ms with this and packed far windows, 3.6 without.
const int MOST_ROUNDS = 4;
//! A block has an object's posteriors in shared memory, and goes through a part of the windows.
const int POSTERIOR_THREADS = 1024;

//! One block an object or a patch: selection, patches, deciding, templates.
const int THREADS = 256;
const int NEAR_LIST = 1024; //!< windows near a box that are ranked in shared memory; more take longer

// Learning: windows that one block looks through, and how many of them it judges at a time.
const int SCAN_WINDOWS = 4096, WINDOWS_AT_ONCE = 256;
const int COPY_BLOCKS = 64; //!< an object's tables are copied by so many blocks

}}}}} // namespace cv::cuda::tld::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
