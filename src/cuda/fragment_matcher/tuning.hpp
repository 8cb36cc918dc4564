// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher's numbers, and what they buy. Measured on an NVIDIA H200 on 2026-11-21, SAD, graph replay; cases A, B, B', C
// and the tables are in doc/performance.md.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace fragment_matcher { namespace tuning {

const int PACK_THREADS = 128;

// Fused kernel. 33 x 33 positions are 132 items of 9: four full warps, and a fifth whose lanes share its four items. Eight
// blocks of 160 threads fit an SM (48 registers, one expanded channel at a time), so that A's 1000 fragments are resident at
// once: A 35.1 -> 27.7 us, weighted 41.2 -> 33.2 us against four blocks of 288 threads in two waves. On the way: indices
// by divisions in the kernel 30.2 us, multiplications with the host's inverses 28.1 us; all loops over columns tried in
// turn for a 16 pixel wide fragment 28.0 us, the common one first 27.6 us.
const int FUSED_THREADS = 320, FUSED_BLOCKS = 4, FUSED_WIDE_BLOCKS = 3; // wide: 13 positions a thread
const int FUSED_MOMENTS_THREADS = 192, FUSED_MOMENTS_BLOCKS = 2;        // sums of moments need up to 168 registers
const size_t FUSED_SHARED_BYTES = 100 * 1024;                           // two blocks an SM; larger windows go to tiles
const int FUSED_FEW = 264; // up to so many fragments, two an SM, get more threads each

// The same by matrix instructions, SSD and ZNCC. Against byte sums, us: A 29.3 -> 20.5, ZNCC 60.8 -> 27.9, weighted SSD 96.1 -> 35.0,
// weighted ZNCC 128 -> 45.2; 21 x 21 BGR in 41 x 41 46.1 -> 18.7, ZNCC 75.6 -> 25.0 (2026-11-22). Three of four warps have 33 x 33
// positions; eight blocks of three warps fit an SM (80 registers), so that A's fragments are resident at once: with seven 26.8 us
// (SSD). ZNCC with S(I) of all channels in 154 registers, four blocks an SM, 31.7 us, with 128 and five blocks 33.2 us, all scores in
// double precision 56.9 us; bands made ahead in shared memory, and squares multiplied like channels, 26.1 us (SSD), 34.2 us.
const int FUSED_BAND_FEW_WARPS = 4, FUSED_BAND_WARPS = 8;
const int FUSED_BAND_BLOCKS = 6, FUSED_BAND_WEIGHTED_BLOCKS = 3; // of four warps

// Tile kernel: 4 warps of 8 rows x 32 columns of positions, twice: each half of a block sums up half of the fragment's
// rows, which doubles the warps that hide latency. Moments of weighted sums have no registers for that. B 42.9 -> 31.6 us,
// B' 103 -> 74 us, C 574 -> 462 us against an image read from the frame anew for each channel, rows walked 16 columns at
// a time and a longer search of the peaks.
const int TILE_COLS = 64, TILE_ROWS = 16, TILE_POSITION_THREADS = 128, TILE_PARTS = 2, TILE_BLOCKS = 3;
const size_t TILE_SHARED_BYTES = 72 * 1024;        // three blocks an SM
const size_t TILE_SPLIT_SHARED_BYTES = 108 * 1024; // two: moments of weighted sums have no registers for more
const size_t TILE_STATIC_BYTES = 4 * 1024;         // more than a block has besides
const int TILE_CHUNK_COLS = 256;                   // columns of a fragment in shared memory at a time
const int TILE_CHUNK_PIXELS = 16384;               // bounds 32-bit sums of one chunk: 16384 * 765 * 255 < 2^32

// Matrix instructions: SSD and ZNCC of large windows, by three kernels. Against byte sums in tiles (SSD / ZNCC, us): B 33.8 / 52.2
// -> 25.9 / 29.2, B' 82.3 / 131 -> 38.2 / 43.8, C 532 / 921 -> 119 / 139, weighted 1696 / 2099 -> 278 / 382; 128 x 128 BGR in
// 1080p 1851 / 3195 -> 319 / 342. Bands in steps of 32 rows, not 16: C 142 / 168, 128 x 128 438 / 472. Bands made from the
// template by shifts at every use, and values in the same kernel: C 247 / 288. Each kernel begins while the one before still runs: B
// 25.8 / 29.6 -> 21.7 / 25.9, B' 38.1 / 44.4 -> 33.1 / 40.0, there with two blocks of values an SM for ZNCC (with three 44.7, and in
// C, where more blocks follow, 138 against 143).
const int BAND_THREADS = 256, BAND_VALUE_BLOCKS = 3;
const int BAND_PREPARE_THREADS = 256, BAND_PREPARE_WORDS = 4; // words of bands a thread
const int BAND_WIDTH = 1024;                                  // of a fragment; wider ones go the way of SAD
const size_t BAND_SHARED_BYTES = 110 * 1024;                  // two blocks an SM
const size_t BAND_BESTS_BYTES = 32 * 1024;                    // of tiles, which the last block looks through
// Byte sums stay where they are quicker: 1000 fragments of 16 x 16 gray in 48 x 48 13.2 us against 14.6, 100 of BGR 8.3 against 9.9 (SSD);
// 24 x 24 BGR in 104 x 104 16.5 / 22.0 us against 20.9 / 24.1, 8 x 8 gray in 640 x 480
// 11.7 / 19.9 against 18.5 / 21.6; 1000 fragments of 16 x 16 in 76 x 76 141 us (SSD), 359 us (weighted ZNCC) against 168, 594.
const double BAND_LEAST_TERMS = 80e6, BAND_LEAST_SSD_TERMS = 400e6; // of a call: ZNCC or weighted, others
const int BAND_LEAST_POSITIONS = 128 * 128, BAND_LEAST_PIXELS = 24 * 24;

// The same in one kernel, where its blocks are all resident at once, against three (SSD / ZNCC, us): B 22.9 / 27.4 -> 15.0 / 16.5, B'
// 34.4 / 42.4 -> 24.2 / 27.4 (2026-11-22). Four warps add up columns beside those that multiply, with 128 registers a thread; blocks of
// 24 rows are one for each SM (B with blocks of 16 rows in two waves 21.3, of 32 rows 15.8, of 48 rows 18.7 us).
const int BAND_TILE_THREADS = 512, BAND_TILE_WARPS = 12; // that multiply
const int BAND_TILE_HEIGHT = 256;                        // of a fragment: sums down columns of bytes fit 16 bits
const size_t BAND_TILE_STATIC_BYTES = 4 * 1024;          // more than a block has besides

//! Device memory for the values of one launch; more fragments are matched in several. 1080p takes 8 MB a fragment.
const size_t TILE_VALUES_BUDGET = size_t(256) << 20;

const int WALK_WARPS = 9; // one a point

}}}} // namespace cv::cuda::fragment_matcher::tuning

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP
