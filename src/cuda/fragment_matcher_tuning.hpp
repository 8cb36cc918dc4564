// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher's numbers, and what they buy. Measured on an NVIDIA H200 on 2026-11-21, SAD, graph replay; cases A, B, B', C
// and the tables are in doc/performance.md.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace fragment_matcher { namespace tuning {

const int PACK_THREADS = 128;

// Staging a picture: units of four pixels a thread loads before it uses the first. A 51.0 -> 43.2 us, B 59.1 -> 47.2 us
// against one at a time; ten for gray: B 43.9 instead of 43.3 us.
const int STAGE_AHEAD_GRAY = 6, STAGE_AHEAD_COLOR = 2;

// Fused kernel. 288 threads: 33 x 33 positions in two parts (264 items) fill 9 warps; four blocks an SM leave each thread
// 56 registers. A: 544 threads in four parts 63.7 us, 288 51.0 us, as every warp pays for the search of the peaks; later,
// 160 threads without parts 36.6 instead of 35.7 us; five blocks with 40 registers 37.5 us.
const int FUSED_THREADS = 288, FUSED_BLOCKS = 4;
const int FUSED_MOMENTS_THREADS = 192, FUSED_MOMENTS_BLOCKS = 2; // sums of moments need up to 168 registers
const size_t FUSED_SHARED_BYTES = 100 * 1024;                    // two blocks an SM; larger windows go to tiles

// Tile kernel: 4 warps of 8 rows x 32 columns of positions, twice: each half of a block sums up half of the fragment's
// rows, which doubles the warps that hide the latency of staging (C 671 -> 623 us with B's 47.2 -> 41.5 us, together with
// the peaks found in the same launch). Moments of weighted sums have no registers for that.
const int TILE_COLS = 64, TILE_ROWS = 16, TILE_POSITION_THREADS = 128, TILE_PARTS = 2, TILE_BLOCKS = 3;
const size_t TILE_SHARED_BYTES = 56 * 1024; // three blocks an SM and room for more
const int TILE_CHUNK_COLS = 256;            // columns of a fragment in shared memory at a time
const int TILE_CHUNK_PIXELS = 16384;        // bounds 32-bit sums of one chunk: 16384 * 765 * 255 < 2^32

const int WALK_WARPS = 9; // one a point

}}}} // namespace cv::cuda::fragment_matcher::tuning

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP
