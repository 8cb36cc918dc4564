// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Block sizes, tiles and limits of QuickShift's kernels. The line above a constant: meaning | gain | device, date | case.
//
// Times of stages before and after changes, H200, 2026-11-21:
//
//   stage          | before | after  | change                             | case
//   density, 8 bit | 820 us | 763 us | neighbours in a ring of registers  | 1080p, sigma 6
//   density, 8 bit | 135 us | 128 us | neighbours in a ring of registers  | 1080p, sigma 2
//   density, 8 bit | 763 us | 727 us | the multiply-add clamps            | 1080p, sigma 6
//   density, 8 bit | 128 us | 124 us | the multiply-add clamps            | 1080p, sigma 2
//   parents, 8 bit | 167 us |  66 us | by distance in place of by rings   | fruits 1080p, sigma 2, maxDist 8, scale 1
//   parents, 8 bit |  53 us |  50 us | by distance in place of by rings   | fruits 1080p, sigma 6, maxDist 10, paper's scale
//   parents, 8 bit | 166 us |  84 us | by distance in place of by rings   | fruits 1080p, sigma 6, maxDist 10, scale 1
//   parents, float | 212 us | 131 us | by distance in place of by rings   | fruits 1080p, sigma 2, maxDist 8, scale 1
#ifndef OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
#define OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP

namespace cv { namespace cuda { namespace quick_shift { namespace gpu { namespace tuning {

// Density. A block has COLS x (GROUPS * CENTRES) pixels. The 8-bit kernel is bound by issue slots, not by latency.

//! pixels per row of a block, 8 bit | half: +3 % at sigma 6, +4 to 7 % at sigma 2 | H200, 2026-11-21 | 1080p
const int BYTE_COLS = 64;
//! groups of rows per block, 8 bit | half: +3 % at sigma 6, +4 to 7 % at sigma 2 | H200, 2026-11-21 | 1080p
const int BYTE_GROUPS = 4;
//! pixels per thread, 8 bit | 4 and 512 threads: +4 to 6 % at sigma 6, same at sigma 2; 12: +12 % | H200, 2026-11-21 | 1080p
const int BYTE_CENTRES = 8;
//! blocks whose registers fit a multiprocessor, 8 bit | 3: +4 to 6 % at sigma 6, same at sigma 2 | H200, 2026-11-21 | 1080p
const int BYTE_BLOCKS = 2;
//! most columns of offsets per chunk, 8 bit | 128 us, with 5 148 us | H200, 2026-11-21 | 1080p, sigma 2
const int BYTE_DX = 10;
// Small images get chunks by an estimate of their time (timeOfCut()). 53.1 us -> 35.1 us, 55.9 -> 54.0, 137 -> 133 | H200, 2026-11-23 |
// 128 x 128, 256 x 256, 512 x 512; sigma 6; with labels that are not copied. The number of multiprocessors limits the gain.

//! chunks of columns beyond the fewest that small images may have, 8 bit | - | - | -
const int BYTE_MORE_DX = 5;
//! chunks of rows beyond the fewest that small images may have, 8 bit | - | - | -
const int BYTE_MORE_DY = 3;
//! steps that the beginning and the end of a column cost, 8 bit | - | - | -
const int BYTE_COLUMN_STEPS = 3;
//! steps that the beginning and the end of a block cost, 8 bit | 25: 512 x 512 slower by 1 % | H200, 2026-11-23 | sigma 2
const int BYTE_BLOCK_STEPS = 15;
//! time of a block with twice the threads in times of one without, if it must pay, 8 bit | 36.1 us -> 30.8, 55.3 -> 52.4, 37.0 -> 32.1 | H200, 2026-11-23 |
//! 128 x 128 and 256 x 256 at sigma 6, 256 x 256 at sigma 2
const double BYTE_MANY_THREADS_TIME = 0.85;
//! pixels per row of a block, float | not measured | - | -
const int PLANE_COLS = 32;
//! groups of rows per block, float | not measured | - | -
const int PLANE_GROUPS = 8;
//! pixels per thread, float | not measured | - | -
const int PLANE_CENTRES = 4;
//! most columns of offsets per chunk, float | not measured | - | -
const int PLANE_DX = 5;
//! most rows of offsets per chunk | none: credits of a chunk must fit 32 bits | - | -
const int CHUNK_DY = 37;

// Parents. A block has SEARCH_COLS x ..._ROWS pixels.

//! a tile has the pixels so far around its block's | not measured | - | -
const int TILE_REACH = 10;
//! pixels per row of a block | not measured | - | -
const int SEARCH_COLS = 32;
//! rows per block, 8 bit | 66 us, not 76, with 16 and 2 per thread | H200, 2026-11-21 | 1080p, parents
const int BYTE_SEARCH_ROWS = 32;
//! pixels per thread, 8 bit | see BYTE_SEARCH_ROWS | H200, 2026-11-21 | 1080p
const int BYTE_SEARCH_PIXELS = 4;
//! rows per block for small images, 8 bit, 1 pixel per thread | compute 41 us, not 47; 73, not 86 | H200, 2026-11-22 | sigma 2, 256 x 256; 640 x 480
const int BYTE_SMALL_SEARCH_ROWS = 8;
//! images of fewer blocks per multiprocessor are small | 1024 x 768 (5.8): 119 us with small blocks, not 117 | H200, 2026-11-22 | sigma 2
const int BYTE_SMALL_SEARCH = 4;
//! lanes that search for one pixel of a list together, 8 bit | not measured | - | -
const int BYTE_SEARCH_LANES = 16;
//! shorter lists are left to lanes, 8 bit | 38 us, not 50; others 0 to 5 % less; 64: 70 us at sigma 2 | H200, 2026-11-21 | paper's setting
const int BYTE_SEARCH_FEW = 16;
//! blocks whose registers fit a multiprocessor, 8 bit | not measured | - | -
const int BYTE_SEARCH_BLOCKS = 5;
//! rows per block, float | not measured | - | -
const int PLANE_SEARCH_ROWS = 16;
//! pixels per thread, float | not measured | - | -
const int PLANE_SEARCH_PIXELS = 2;
//! lanes that search for one pixel of a list together, float | not measured | - | -
const int PLANE_SEARCH_LANES = 4;
//! blocks that share the global list | not measured | - | -
const int FAR_BLOCKS = 1056;
//! threads per block of these | not measured | - | -
const int FAR_THREADS = 256;

// Labels.

//! threads per block of the kernel that scans few segments | not measured | - | -
const int SCAN_THREADS = 1024;
//! segments per thread | not measured | - | -
const int SCAN_EACH = 4;
//! most segments that this kernel scans; cub::DeviceScan takes more | not measured | - | -
const int SCAN_MOST = 128 * SCAN_THREADS;
//! threads per block of the kernel that ranks the roots of a small image and assigns labels | 51.8 us -> 50.5, 30.5 -> 29.4 | H200, 2026-11-23 |
//! 256 x 256 and 128 x 128, sigma 6
const int RANK_THREADS = 1024;
//! segments per thread; images of more segments get two kernels | - | - | -
const int RANK_EACH = 4;

}}}}} // namespace cv::cuda::quick_shift::gpu::tuning

#endif // OPENCV_CUDATRACKING_CUDA_QUICK_SHIFT_TUNING_HPP
