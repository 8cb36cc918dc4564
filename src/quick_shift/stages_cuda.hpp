// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of stages.hpp on the device: entry points in src/cuda/quick_shift_*.cu, called by engine_cuda.cpp. Nothing
// here allocates or waits. All arrays are tight: picture after picture, row after row.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_CUDA_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_CUDA_HPP

#include "../common/views.hpp"
#include "core.hpp"
#include <cuda_runtime_api.h>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

//! Stack of pictures of one size.
struct Extent
{
    int cols, rows, count;

    CT_HOST_DEVICE int pixels() const { return cols * rows; }        //!< of one picture; < 2^31, see QuickShift
    CT_HOST_DEVICE int total() const { return cols * rows * count; } //!< of all
};

/** What pack makes of a picture. bytes: up to four 8-bit channels in a word, the rest 0; else planes: floats, channel after
channel within each picture. valid is null unless there are masks (bytes only; planes hold OUTSIDE instead). */
struct Features
{
    uint32_t* bytes;
    float* planes;
    uint8_t* valid;
    int channels;
};

//! One picture and its mask in the caller's memory. mask.data null: none.
struct Source
{
    const void* data;
    size_t step;
    int depth, channels; //!< depth: 0 = 8 bit, 2 = 16 bit, 5 = float, as in OpenCV
    detail::ConstRowsView<uint8_t> mask;
};

struct Scales
{
    float factor[MAX_CHANNELS];
    bool used;
};

//! Best keys of cells of CELL x CELL pixels.
const int CELL = 8;
CT_HOST_DEVICE int cellsOf(int side) { return (side + CELL - 1) / CELL; }

void pack(const Source& source, int picture, const Extent& extent, const Scales& scales, const Features& features,
          cudaStream_t stream);

//! spatial: (R+1) columns of 2R+1: factor of (dx, dy), dx = 0..R, dy = -R..R.
void density(const Features& features, const Extent& extent, const Parameters& parameters, const float* spatial,
             uint64_t* sums, uint32_t* keys, uint32_t* cells, cudaStream_t stream);

/** @param far,farCount worklist of pixels whose search leaves their neighbourhood: total() and 1 elements.
@param distances roots of D; +inf at roots. */
void parents(const Features& features, const Extent& extent, const Parameters& parameters, const uint32_t* keys,
             const uint32_t* cells, int* far, int* farCount, int* parents, float* distances, cudaStream_t stream);

//! Bytes of scratch memory that label() and heights() need for so many pixels.
size_t scratchBytes(const Extent& extent);

/** label of the trees whose links longer than tau are cut (INFINITY: none).
@param jumps,ranks scratch, total() elements each. @param counts extent.count elements: roots of each picture. */
void label(const Extent& extent, const int* parents, const float* distances, float tau, int* jumps, int* ranks,
           int* labels, int* counts, void* scratch, size_t scratchBytes, cudaStream_t stream);

//! *count = number of links longer than tau, roots included.
void countLonger(const Extent& extent, const int* parents, const float* distances, float tau, int* count,
                 cudaStream_t stream);

//! heights, first part: the finite distances, in any order, and their number.
void selectLinks(const Extent& extent, const float* distances, float* links, int* count, void* scratch,
                 size_t scratchBytes, cudaStream_t stream);
//! heights, second part: distinct distances, ascending; sums[k] = number of links not longer than heights[k].
void sortLinks(int links, const float* unsorted, float* sorted, float* heights, int* lengths, int* sums, int* distinct,
               void* scratch, size_t scratchBytes, cudaStream_t stream);

void density(const Extent& extent, const Parameters& parameters, const uint32_t* keys, detail::RowsView<float> out,
             cudaStream_t stream);
void contours(const Extent& extent, const int* labels, bool thick, detail::RowsView<uint8_t> mask, cudaStream_t stream);

//! What the pixels of a superpixel add up to; the same numbers as cpu::Sums.
struct Sums
{
    unsigned long long area, x, y;
    unsigned long long colour[MAX_CHANNELS];
    int left, top, right, bottom;
};

//! @param largest 1 element: bits of the largest magnitude of a float picture.
void sums(const Extent& extent, const int* labels, int count, const Source& image, bool places, uint32_t* largest,
          Sums* sums, cudaStream_t stream);
void paintMeans(const Extent& extent, const int* labels, const Source& image, const uint32_t* largest, const Sums* sums,
                void* dst, size_t dstStep, cudaStream_t stream);
//! Rows of statistics; a null pointer is not written.
struct Table
{
    int* areas;
    float* means;
    float* centroids;
    int* boxes;
};
void tabulate(int count, const Source& image, const uint32_t* largest, const Sums* sums, const Table& table,
              cudaStream_t stream);

//! Buffers of the connect stages, total() elements each.
struct Pieces
{
    int* root;
    int* area;
    unsigned long long* best;
    int* joined; //!< 1 element
};
//! root: 4-connected pieces of equal labels.
void split(const Extent& extent, const int* labels, const Pieces& pieces, cudaStream_t stream);
//! One round: every small piece joins its largest larger neighbour; *joined becomes 1 if any did.
void join(const Extent& extent, int minSize, const Pieces& pieces, cudaStream_t stream);
//! Labels from the pieces' roots; *count as in label().
void rankPieces(const Extent& extent, const Pieces& pieces, int* ranks, int* labels, int* count, void* scratch,
                size_t scratchBytes, cudaStream_t stream);

}}}} // namespace cv::cuda::quick_shift::gpu

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_CUDA_HPP
