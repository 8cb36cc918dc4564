// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes and tiles of TLD's kernels. Measured on an H200 on 2026-11-21, 1920 x 1080, one object with 488 k windows of which
// 292 k have enough variance: look 16 us, tables 16, pyramid 9, flow 57 to 90, medians 11, ferns 62, selection 5, nearest
// neighbours 7, deciding 18, learning 50. What has no figure was reasoned, not measured.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP

namespace cv { namespace cuda { namespace tld { namespace gpu { namespace tuning {

// Gray values, blur and sums of strips: tiles of 64 x 64 pixels, 510 of them in 1920 x 1080.
const int TILE = 64, LOOK_THREADS = 256;
//! Rows that one block makes tables of: 135 blocks for 1080 rows. Sums above come in groups of TILE rows and in strips.
const int STRIP = 8, TABLE_THREADS = 512;
const int HALVE_THREADS = 256;

// Flow: a warp a point; few warps a block spread the latency of one object over the device.
const int FLOW_WARPS = 4, MOTION_THREADS = 512;

// Ferns: a block has so many windows of one scale, and shares their offsets and a table of leaves that are not zero.
const int FERN_THREADS = 256, FERN_WINDOWS = 512, FERN_BLOCKS = 5;
//! Bytes of that table up to which it is kept in shared memory.
const int KNOWN_BYTES = 32768;

//! One block an object or a patch: selection, patches, deciding, templates.
const int THREADS = 256;
const int NEAR_LIST = 1024; //!< windows near a box that are ranked in shared memory; more take longer

//! Windows alike whose codes are kept for learning, and its blocks. If there are more windows, codes are computed again: a pass
//! of learning took 310 us so (with half as many blocks), and takes 15 with codes.
const int ALIKE_WINDOWS = 1 << 18, REJECT_BLOCKS = 132;
// Learning: windows that one block looks through, and how many of them it judges at a time.
const int SCAN_WINDOWS = 4096, JUDGED = 256;
const int COPY_BLOCKS = 64; //!< an object's tables are copied by so many blocks

}}}}} // namespace cv::cuda::tld::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_TLD_TUNING_HPP
