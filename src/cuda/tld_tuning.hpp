// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes and tiles of TLD's kernels. By Nsight Compute on an H200 on 2026-11-21, at its lower clock, 1920 x 1080, one object with
// 704 k windows of which 350 k have enough variance: look 20 us, tables 20, pyramid 11, flow 35, medians 15, variance 19,
// codes 45, posteriors 18, selection 7, nearest neighbours 10, deciding 28, learning 84. What has no figure was reasoned, not
// measured.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace tld { namespace gpu { namespace tuning {

// Gray values, blur and sums of strips: tiles of 64 x 64 pixels, 510 of them in 1920 x 1080.
const int TILE = 64, LOOK_THREADS = 256;
//! Rows that one block makes tables of: 135 blocks for 1080 rows. Sums above come in groups of TILE rows and in strips.
const int STRIP = 8, TABLE_THREADS = 512;
const int HALVE_THREADS = 256;

// Flow: a warp a point; few warps a block spread the latency of one object over the device.
const int FLOW_WARPS = 4, MOTION_THREADS = 512;

// Ferns: windows of one scale that a block has. A multiprocessor holds the pixels of so many warps; the registers that this leaves
// them let 32 reads of a thread be on their way at a time: 45 us. One kernel for variance, codes and posteriors took 116: a block
// waited for its last warp, with the memory of all.
const int FERN_WINDOWS = 256, ENCODE_WARPS = 14;
const size_t ENCODE_BYTES = 45056; //!< of pixels of a block; every device has so much
//! A block has an object's posteriors in shared memory, and goes through a part of the windows: 18 us, 64 objects of one size 600.
const int LOOK_UP_THREADS = 1024;

//! One block an object or a patch: selection, patches, deciding, templates.
const int THREADS = 256;
const int NEAR_LIST = 1024; //!< windows near a box that are ranked in shared memory; more take longer

// Learning: windows that one block looks through, and how many of them it judges at a time.
const int SCAN_WINDOWS = 4096, JUDGED = 256;
const int COPY_BLOCKS = 64; //!< an object's tables are copied by so many blocks

}}}}} // namespace cv::cuda::tld::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
