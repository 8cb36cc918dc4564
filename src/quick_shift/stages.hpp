// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of QuickShift, in the order in which both engines run them:
//
//   pack      features from pixels, mask and scales
//   density   pair weights summed up as integers; keys, what pixels are compared by
//   parents   nearest pixel of higher key: around the pixel, then cells of the image whose best key is high enough
//   label     root of every pixel; roots counted in raster order. Links longer than tau are cut first
// and on demand
//   links     lengths of the links, sorted: the merge heights
//   contours, sums (area, colour, position of each superpixel), means, adjacency, connect (4-connected pieces)
//
// cpu: one image a call, on the threads of parallel_for_. gpu: a stack of images a call, on a stream; nothing there
// allocates or waits. Arrays by pointer are tight: image after image, row after row, Extent::total() elements.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP

#include "../common/views.hpp"
#include "core.hpp"
#include <vector>

namespace cv { namespace cuda { namespace quick_shift {

using detail::ImageView;
using detail::RowsView;
using detail::StreamHandle;

//! Images of one size, one below the other.
struct Extent
{
    int cols, rows, count;

    Extent one() const { return {cols, rows, 1}; }
    CT_HOST_DEVICE int pixels() const { return cols * rows; }        //!< of one image; at most MAX_PIXELS
    CT_HOST_DEVICE int total() const { return cols * rows * count; } //!< of all; at most MAX_PIXELS
};

/** Features are pixel values times these powers of two, which is exact; not used: as they are. What the user's scales have besides
stands in Parameters. Not below 1/2 of the scale, so that OUTSIDE stays as far away; 0 for a channel that does not count. */
struct Scales
{
    float power[MAX_CHANNELS], whole[MAX_CHANNELS]; //!< whole: the user's scales, which say what pixels are masked
    bool used;
};

//! What compute() finds: each pixel's parent, its own index for a root, -1 where masked; the link's length, +inf without one.
struct Trees
{
    const int* parents;
    const float* distances;
};

//! What the pixels of a superpixel add up to. Integers, so that any order gives the same. Means need no more than the beginning.
struct Sums
{
    unsigned long long area;
    unsigned long long colour[MAX_CHANNELS]; //!< modulo 2^64: floats have a sign
    unsigned long long x, y;
    int left, top, right, bottom;
};

//! Rows of statistics, one for each superpixel; a null view is not written.
struct Table
{
    RowsView<int> areas;
    RowsView<float> means, centroids;
    RowsView<int> boxes;
};

namespace cpu {

struct Scratch; //!< features, and memory that an engine keeps from call to call: src/cpu/quick_shift/scratch.hpp

//! Fills scratch.features. @param mask data null: none.
void pack(const ImageView& image, const ImageView& mask, const Parameters& parameters, const Scales& scales,
          Scratch& scratch);
//! @param spatial see Spatial. @param keys 0 where masked.
void density(const Parameters& parameters, const float* spatial, Scratch& scratch, uint32_t* keys);
void parents(const Parameters& parameters, const uint32_t* keys, Scratch& scratch, int* parents, float* distances);
//! @param tau INFINITY: no link is cut. @return number of roots.
int label(int pixels, const Trees& trees, float tau, Scratch& scratch, int* labels);

//! Lengths of all links, ascending. @return number of roots.
int sortLinks(int pixels, const Trees& trees, std::vector<float>& links);
//! Number of links longer than tau, roots included.
int countLonger(int pixels, const Trees& trees, float tau);
void densities(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out);
void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask);
//! @param image data null: no colours. @param scale see fixedScale(); 1 for integer images.
std::vector<Sums> sums(const Extent& extent, const int* labels, int count, const ImageView& image, double scale);
double colourScale(const ImageView& image);
void paintMeans(const Extent& extent, const int* labels, const std::vector<Sums>& sums, const ImageView& image,
                double scale, RowsView<void> dst);
void tabulate(const std::vector<Sums>& sums, int channels, double scale, const Table& table);
//! Appends adjacent labels as adjacentLabels() codes them, ascending, each once. @param first added to the labels.
void adjacency(const Extent& extent, const int* labels, int first, std::vector<uint64_t>& pairs);
//! @return the new number of labels.
int connect(const Extent& extent, int minSize, int* labels);

} // namespace cpu

namespace gpu {

/** What pack makes of images. words: up to four 8-bit channels in a word, the rest 0; else planes: floats, channel after
channel within each image. valid is null unless there are masks (words only; planes hold OUTSIDE instead). */
struct Features
{
    uint32_t* words;
    float* planes;
    uint8_t* valid;
    int channels;
};

//! Pixels whose search leaves their neighbourhood: room for all, and their number.
struct Worklist
{
    int* pixels;
    int* count;
};

//! Scratch of label and connect.
struct Ranking
{
    int *jumps, *ranks; //!< total() elements; for each segment of a row, see segmentsOf()
    uint32_t* roots;    //!< for each segment a bit a pixel
    void* scans;
    size_t scanBytes; //!< scanBytesFor()
};

/** What sums adds up to, for the labels below both `count` and `capacity`.
@param stride bytes from superpixel to superpixel: sizeof(Sums), or meansStride() for means.
@param largest bits of the largest magnitude of each float image. */
struct SumsTable
{
    Sums* first;
    size_t stride;
    const int *count, *firsts; //!< firsts: see numberThrough(); null: one image
    int images, capacity;
    uint32_t* largest;
};
inline size_t meansStride(int channels) { return sizeof(unsigned long long) * (1 + channels); }

struct Links;  //!< scratch of sortLinks, see src/cuda/quick_shift/plan.hpp
struct Pieces; //!< scratch of connect

//! One image of a stack. @param mask data null: none.
void pack(const ImageView& image, const ImageView& mask, int index, const Extent& extent, const Scales& scales,
          const Features& features, StreamHandle stream);
//! @param spatial (R+1) columns of 2R+1: factor of (dx, dy), dx = 0..R, dy = -R..R. @param cells best keys of cells.
void density(const Features& features, const Extent& extent, const Parameters& parameters, const float* spatial,
             uint64_t* sums, uint32_t* keys, uint32_t* cells, StreamHandle stream);
void parents(const Features& features, const Extent& extent, const Parameters& parameters, const uint32_t* keys,
             const uint32_t* cells, const Worklist& far, int* parents, float* distances, StreamHandle stream);
//! @param trees may have no distances when tau is INFINITY. @param counts extent.count elements: roots of each image.
void label(const Extent& extent, const Trees& trees, float tau, const Ranking& ranking, int* labels, int* counts,
           StreamHandle stream);
//! Bytes of scratch memory for the scans and sorts of so many pixels.
size_t scanBytesFor(const Extent& extent);

//! First part: the lengths of all links, in any order, and their number.
void selectLinks(const Extent& extent, const Trees& trees, const Links& links, int* count, const Ranking& ranking,
                 StreamHandle stream);
//! Second part. @param roots number of roots.
void sortLinks(int count, int roots, const Links& links, int* distinct, const Ranking& ranking, StreamHandle stream);
void countLonger(const Extent& extent, const Trees& trees, float tau, int* count, StreamHandle stream);
void densities(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out,
               StreamHandle stream);
void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask, StreamHandle stream);
/** Superpixels of a stack are numbered through: a label plus the number of superpixels of the images before.
@param firsts out: that number for each image, and behind them for all. */
void numberThrough(const Extent& extent, const int* counts, int* firsts, const Ranking& ranking, StreamHandle stream);
//! @param places also position and box, for which the table must have room.
void sums(const Extent& extent, const int* labels, const ImageView& image, bool places, const SumsTable& table,
          StreamHandle stream);
void paintMeans(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                RowsView<void> dst, StreamHandle stream);
//! @param rows of the table; those without a superpixel get zeros.
void tabulate(int rows, const ImageView& image, const SumsTable& sums, const Table& table, StreamHandle stream);
//! adjacency, first: codes of the labels right of and below each pixel, where they differ. @param pairs null: counts.
void listBorders(const Extent& extent, const int* labels, const int* firsts, uint64_t* pairs, int* count,
                 StreamHandle stream);
//! Then ascending and each once, in `pairs` again. @param distinct out: their number.
void sortBorders(int count, uint64_t* pairs, uint64_t* sorted, int* distinct, void* scratch, size_t scratchBytes,
                 StreamHandle stream);
size_t sortBytesFor(int count);
void writePairs(int count, const uint64_t* pairs, RowsView<int> out, StreamHandle stream);
//! connect, first: 4-connected pieces of equal labels.
void split(const Extent& extent, const int* labels, const Pieces& pieces, StreamHandle stream);
//! Then rounds: every small piece joins its largest larger neighbour; *joined becomes 1 if any did.
void join(const Extent& extent, int minSize, const Pieces& pieces, StreamHandle stream);
//! Last: labels from the pieces' roots.
void rankPieces(const Extent& extent, const Pieces& pieces, const Ranking& ranking, int* labels, int* count,
                StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP
