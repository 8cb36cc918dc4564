// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: constants of kernels and plans, with their gain. Times in us by graph replay; cases A, B, B', C and the tables are in
// doc/performance.md. "-": not measured alone. H200/21: NVIDIA H200, 2026-11-21; H200/22: NVIDIA H200, 2026-11-22; H200/23: 2026-11-23.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP

#include <cstddef>

namespace cv { namespace cuda { namespace fragment_matcher { namespace tuning {

// Each line: constant | gain: before -> after, or limit | device, date | case

const int PACK_THREADS = 128; // threads per block of pack | - | - | -

// Byte sums in one kernel (fused.cu). 33 x 33 positions are 132 items of 9 positions: four full warps, and a fifth whose lanes share its
// four items. Eight blocks of 160 threads fit an SM (48 registers, one expanded channel at a time), so that A's 1000 fragments are
// resident at once.
//   four blocks of 288 threads in two waves, against eight of 160 | 35.1 -> 27.7 | H200/21 | A, SAD
//   four blocks of 288 threads in two waves, against eight of 160 | 41.2 -> 33.2 | H200/21 | A, SAD, weighted
//   indices by divisions in the kernel, against multiplications by inverses from the host | 30.2 -> 28.1 | H200/21 | A, SAD
//   all loops over columns tried in turn for a fragment 16 pixels wide, against the common one first | 28.0 -> 27.6 | H200/21 | A, SAD
const int FUSED_THREADS = 320;         // most threads per block | - | - | -
const int FUSED_BLOCKS = 4;            // blocks per SM that registers must allow | - | - | -
const int FUSED_WIDE_BLOCKS = 3;       // FUSED_BLOCKS for 13 positions per thread | - | - | -
const int FUSED_MOMENTS_THREADS = 192; // FUSED_THREADS for moments | limit: they need up to 168 registers | - | -
const int FUSED_MOMENTS_BLOCKS = 2;    // FUSED_BLOCKS for moments | limit: they need up to 168 registers | - | -
const size_t FUSED_SHARED_BYTES =
    100 * 1024; // most shared memory per block; larger windows go to tiles | limit: two blocks per SM | - | -
const int FUSED_FEW = 264; // up to so many fragments, two per SM, get more threads each | - | - | -

// Matrix instructions in one kernel (bands_fused.cu), SSD and ZNCC. Three of four warps have 33 x 33 positions; eight blocks of three warps
// fit an SM (80 registers), so that A's fragments are resident at once.
//   byte sums -> matrix instructions | 29.3 -> 20.5 | H200/22 | A, SSD
//   byte sums -> matrix instructions | 60.8 -> 27.9 | H200/22 | A, ZNCC
//   byte sums -> matrix instructions | 96.1 -> 35.0 | H200/22 | A, SSD, weighted
//   byte sums -> matrix instructions | 128 -> 45.2 | H200/22 | A, ZNCC, weighted
//   byte sums -> matrix instructions | 46.1 -> 18.7 | H200/22 | 21 x 21 BGR in 41 x 41, SSD
//   byte sums -> matrix instructions | 75.6 -> 25.0 | H200/22 | 21 x 21 BGR in 41 x 41, ZNCC
// Alternatives, against the figures of case A above:
//   seven blocks of three warps per SM | 26.8 | H200/22 | A, SSD
//   S(I) of all channels at once: 154 registers, four blocks per SM | 31.7 | H200/22 | A, ZNCC
//   S(I) of all channels at once: 128 registers, five blocks per SM | 33.2 | H200/22 | A, ZNCC
//   all scores in double precision | 56.9 | H200/22 | A, ZNCC
//   bands made ahead in shared memory, squares multiplied like channels | 26.1 | H200/22 | A, SSD
//   bands made ahead in shared memory, squares multiplied like channels | 34.2 | H200/22 | A, ZNCC
const int FUSED_BAND_FEW_WARPS = 4;       // most warps per block of the kernel for small windows | - | - | -
const int FUSED_BAND_WARPS = 8;           // most warps per block | - | - | -
const int FUSED_BAND_BLOCKS = 6;          // blocks of four warps per SM that registers must allow | - | - | -
const int FUSED_BAND_WEIGHTED_BLOCKS = 3; // FUSED_BAND_BLOCKS with weights | - | - | -

// Byte sums in tiles (tiles.cu): four warps of 8 rows x 32 columns of positions, twice. Each half of a block sums up half of the fragment's
// rows, which doubles the warps that hide latency; moments of weighted sums have no registers for that.
//   an image read from the frame anew per channel, rows scanned 16 columns at a time, a longer search of the peaks, against none of these:
//   42.9 -> 31.6 | H200/21 | B, SAD
//   103 -> 74 | H200/21 | B', SAD
//   574 -> 462 | H200/21 | C, SAD
const int TILE_COLS = 64, TILE_ROWS = 16;   // positions per tile | - | - | -
const int TILE_POSITION_THREADS = 128;      // threads per part of a block | - | - | -
const int TILE_PARTS = 2;                   // parts of a fragment's rows per block | - | - | -
const int TILE_BLOCKS = 3;                  // blocks per SM that registers must allow | - | - | -
const size_t TILE_SHARED_BYTES = 72 * 1024; // most shared memory per block | limit: three blocks per SM | - | -
const size_t TILE_SPLIT_SHARED_BYTES =
    108 * 1024; // TILE_SHARED_BYTES for moments of weighted sums | limit: registers allow two blocks per SM | - | -
const size_t TILE_STATIC_BYTES = 4 * 1024; // upper bound of static shared memory per block | limit | - | -
const int TILE_CHUNK_COLS = 256;           // columns of a fragment in shared memory at a time | - | - | -
const int TILE_CHUNK_PIXELS = 16384;       // pixels of a fragment at a time | limit: 16384 * 765 * 255 < 2^32 | - | -

// Elimination of tiles by bounds (eliminate.cu), SAD of large fragments. It is tried where a call has so much work that its own cost,
// which does not depend on the image, is small.
//   no fine bounds -> fine bounds | 94.5 -> 98.0 | H200/23 | 64 x 64 BGR in 1080p, collage
//   no fine bounds -> fine bounds | 87.6 -> 90.2 | H200/23 | 64 x 64 BGR in 1080p, stereo
//   no fine bounds -> fine bounds | 125 -> 113 | H200/23 | 96 x 96 BGR in 1080p, collage
//   no fine bounds -> fine bounds | 117 -> 111 | H200/23 | 96 x 96 BGR in 1080p, stereo
//   14 other places -> 30 | 369 -> 368 | H200/23 | 200 x 200 BGR in 1080p, stereo
const int BOUND_THREADS = 128;        // threads per block of the bounds | - | - | -
const int BOUND_MEANS_THREADS = 256;  // threads per block of the means | - | - | -
const int BOUND_PLACE_THREADS = 1024; // threads per block that scores a place | - | - | -
const int BOUND_LIST_THREADS = 1024;  // threads per block that lists tiles | - | - | -
const int BOUND_REFINE_THREADS =
    384;                           // threads per block of the fine bounds; 12 warps, one or three channels | - | - | -
const int BOUND_OTHER_PLACES = 30; // most places beside those that a limit takes | - | - | -
const int BOUND_REFINERS = 2;      // blocks of the fine bounds per multiprocessor | - | - | -
const int BOUND_FINE_SIDE = 80;    // least side for fine bounds by blocks of 4 x 4 | see the lines above | - | -
const int BOUND_REFINED_SHARE = 2; // fine bounds are computed if at most one of so many tiles is left | - | - | -
const int BOUND_LEAST_SIDE = 48;   // least width and height of the largest fragment | - | - | -
const int BOUND_WIDE_SIDE = 64;    // least side for blocks of 8 x 8 pixels; below: 4 x 4 | - | - | -
const int BOUND_MOST_PIXELS = 1 << 18; // largest fragment | limit: sums of weighted differences fit 32 bits | - | -
const double BOUND_LEAST_TERMS = 4e9;  // least byte differences of a call | - | - | -
const double BOUND_LEAST_TERMS_PER_BYTE =
    1000;                       // least byte differences per byte of the searched part of the image | - | - | -
const int BOUND_PART_ROWS = 16; // least rows of a fragment per part | - | - | -
const int BOUND_WAVES = 4; // blocks that share few tiles, as a multiple of those that are resident at once | - | - | -

// Matrix instructions in three kernels (bands_prepare.cu, bands_correlate.cu, bands_values.cu), SSD and ZNCC of large windows.
//   byte sums in tiles -> matrix instructions | 33.8 -> 25.9 | H200/21 | B, SSD
//   byte sums in tiles -> matrix instructions | 52.2 -> 29.2 | H200/21 | B, ZNCC
//   byte sums in tiles -> matrix instructions | 82.3 -> 38.2 | H200/21 | B', SSD
//   byte sums in tiles -> matrix instructions | 131 -> 43.8 | H200/21 | B', ZNCC
//   byte sums in tiles -> matrix instructions | 532 -> 119 | H200/21 | C, SSD
//   byte sums in tiles -> matrix instructions | 921 -> 139 | H200/21 | C, ZNCC
//   byte sums in tiles -> matrix instructions | 1696 -> 278 | H200/21 | C, SSD, weighted
//   byte sums in tiles -> matrix instructions | 2099 -> 382 | H200/21 | C, ZNCC, weighted
//   byte sums in tiles -> matrix instructions | 1851 -> 319 | H200/21 | 128 x 128 BGR in 1080p, SSD
//   byte sums in tiles -> matrix instructions | 3195 -> 342 | H200/21 | 128 x 128 BGR in 1080p, ZNCC
//   each kernel begins while the one before still runs | 25.8 -> 21.7 | H200/21 | B, SSD
//   each kernel begins while the one before still runs | 29.6 -> 25.9 | H200/21 | B, ZNCC
//   each kernel begins while the one before still runs | 38.1 -> 33.1 | H200/21 | B', SSD
//   each kernel begins while the one before still runs | 44.4 -> 40.0 | H200/21 | B', ZNCC
// Alternatives, SSD / ZNCC:
//   bands in steps of 32 rows, not 16 | 142 / 168 | H200/21 | C
//   bands in steps of 32 rows, not 16 | 438 / 472 | H200/21 | 128 x 128 BGR in 1080p
//   bands made from the template by shifts at every use, values in the same kernel | 247 / 288 | H200/21 | C
const int BAND_THREADS = 256; // threads per block | - | - | -
const int BAND_VALUE_BLOCKS =
    3; // blocks of values per SM; two for ZNCC if few blocks follow | three 44.7, two 40.0 | H200/21 | B', ZNCC
       // | three 138, two 143 | H200/21 | C, ZNCC
const int BAND_PREPARE_THREADS = 256;        // threads per block of prepare | - | - | -
const int BAND_PREPARE_WORDS = 4;            // words of bands per thread of prepare | - | - | -
const int BAND_WIDTH = 1024;                 // widest fragment; wider ones are matched by byte sums | limit | - | -
const size_t BAND_SHARED_BYTES = 110 * 1024; // most shared memory per block | limit: two blocks per SM | - | -
const int BAND_COLUMN_ROWS = 32;             // rows of positions per block of sums of columns | - | - | -
const size_t BAND_BESTS_BYTES = 32 * 1024; // most shared memory for bests of tiles in the search for peaks | - | - | -

// Least work for matrix instructions in place of byte sums; a call with less is faster by byte sums:
//   byte sums / matrix instructions | 13.2 / 14.6 | H200/21 | 1000 fragments of 16 x 16 gray in 48 x 48, SSD
//   byte sums / matrix instructions | 8.3 / 9.9 | H200/21 | 100 fragments of 16 x 16 BGR in 48 x 48, SSD
//   byte sums / matrix instructions | 16.5 / 20.9 | H200/21 | 24 x 24 BGR in 104 x 104, SSD
//   byte sums / matrix instructions | 22.0 / 24.1 | H200/21 | 24 x 24 BGR in 104 x 104, ZNCC
//   byte sums / matrix instructions | 11.7 / 18.5 | H200/21 | 8 x 8 gray in 640 x 480, SSD
//   byte sums / matrix instructions | 19.9 / 21.6 | H200/21 | 8 x 8 gray in 640 x 480, ZNCC
//   byte sums / matrix instructions | 141 / 168 | H200/21 | 1000 fragments of 16 x 16 in 76 x 76, SSD
//   byte sums / matrix instructions | 359 / 594 | H200/21 | 1000 fragments of 16 x 16 in 76 x 76, ZNCC, weighted
const double BAND_LEAST_TERMS = 80e6;      // least terms of a call, ZNCC or weighted | see the lines above | - | -
const double BAND_LEAST_SSD_TERMS = 400e6; // least terms of a call, unweighted SSD | see the lines above | - | -
const int BAND_LEAST_POSITIONS =
    128 * 128; // least positions of a window, for fragments below ... | see the lines above | - | -
const int BAND_LEAST_PIXELS = 24 * 24; // ... this size | see the lines above | - | -

// Matrix instructions in one kernel (bands_tiles.cu), for windows whose blocks are all resident at once. Four warps sum up columns while the
// others multiply, with 128 registers per thread.
//   three kernels -> one | 22.9 -> 15.0 | H200/22 | B, SSD
//   three kernels -> one | 27.4 -> 16.5 | H200/22 | B, ZNCC
//   three kernels -> one | 34.4 -> 24.2 | H200/22 | B', SSD
//   three kernels -> one | 42.4 -> 27.4 | H200/22 | B', ZNCC
//   rows per block: 16 (two waves) / 24 (one block per SM) / 32 / 48 | 21.3 / 15.0 / 15.8 / 18.7 | H200/22 | B
const int BAND_TILE_THREADS = 512;              // threads per block | - | - | -
const int BAND_TILE_WARPS = 12;                 // warps per block that multiply | - | - | -
const int BAND_TILE_HEIGHT = 256;               // highest fragment | limit: sums of 256 bytes fit 16 bits | - | -
const size_t BAND_TILE_STATIC_BYTES = 4 * 1024; // upper bound of static shared memory per block | limit | - | -

// Byte sums of slices of fragments (slices.cu), for few or large fragments in small windows.
//   a block per tile -> slices | 133 -> 10.6 | H200/22 | one of 128 x 128 BGR in 136 x 136, SAD
//   a block per tile -> slices | 162 -> 10.8 | H200/22 | one of 128 x 128 BGR in 136 x 136, SSD
//   a block per tile -> slices | 248 -> 12.1 | H200/22 | one of 128 x 128 BGR in 136 x 136, ZNCC
//   a block per window -> slices | 44.4 -> 12.2 | H200/22 | one of 64 x 64 BGR in 96 x 96, SAD
//   a block per tile -> slices | 1819 -> 428 | H200/22 | 1000 of 128 x 128 BGR in 144 x 144, SAD
// Alternatives, geometric means over a grid of sizes, against the constants below:
//   at least 8 rows per block | 0.8 % slower, 0.3 % faster, 1.1 % slower | H200/22 | 1, 10, 100 fragments
//   at least 16 rows, half as many blocks | 6.1 %, 2.5 %, 0.9 % slower | H200/22 | 1, 10, 100 fragments
//   72 KiB of shared memory per block | 1.5 % slower | H200/22 | 1000 fragments
const int SLICE_THREADS = 256;     // threads per block | - | - | -
const int SLICE_BLOCKS = 2;        // blocks per SM that registers must allow | - | - | -
const int SLICE_GROUPS = 4;        // most groups of threads per row of positions | - | - | -
const int SLICE_POSITIONS = 16384; // most positions of a window | limit: one block reads all their sums | - | -
const int SLICE_LEAST_ROWS = 4;    // least rows of a fragment per block | see the lines above | - | -
const size_t SLICE_SHARED_BYTES = 110 * 1024; // most shared memory per block | see the lines above | - | -
const size_t SLICE_STATIC_BYTES = 1024;       // upper bound of static shared memory per block | limit | - | -

//! Device memory for the values of one launch, bytes; more fragments are matched in several launches. A fragment in 1080p takes 8 MB.
const size_t TILE_VALUES_BUDGET = size_t(256) << 20; // | - | - | -

const int WALK_WARPS = 9; // warps per block of walk, one per point of a step | - | - | -

}}}} // namespace cv::cuda::fragment_matcher::tuning

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_TUNING_HPP
