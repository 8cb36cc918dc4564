// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of QuickShift in the order in which both backends run them:
//
//   pack               converts pixels, mask and scales to features
//   density            sums the weights of all pairs of pixels within the window; the sums give the keys that order
//                      pixels
//   parents            links each pixel to the nearest pixel of higher key
//   label              cuts links longer than tau, numbers the roots in raster order and labels each pixel with its
//                      root's number
//
// On demand:
//   densityValues      converts keys to densities
//   countLonger        counts the links longer than tau (cpu: in links.cpp; cuda: in label.cu)
//   selectLinks        lists the lengths of all links (cpu: in links.cpp; cuda: in label.cu)
//   sortLinks          sorts them and finds the merge heights (cpu: in links.cpp; cuda: in label.cu)
//   contours           marks pixels whose neighbours have other labels
//   numberSuperpixels  numbers the superpixels of a stack consecutively (cpu: in label.cpp; cuda: in label.cu)
//   sums               sums area, colour and position per superpixel
//   paintMeans         writes each pixel the mean colour of its superpixel
//   tabulate           writes areas, mean colours, centroids and boxes, one row per superpixel
//   listBorders        lists the pairs of labels that 4-neighbours have (cpu: in adjacency.cpp; cuda: in adjacency.cu)
//   sortBorders        sorts these pairs and removes duplicates (cpu: in adjacency.cpp; cuda: in adjacency.cu)
//   writePairs         writes the pairs, one per row (cpu: in adjacency.cpp; cuda: in adjacency.cu)
//   splitPieces        finds the 4-connected pieces of equal labels (cpu: in connect.cpp; cuda: in connect.cu)
//   joinPieces         joins each small piece to its largest larger neighbour, once (cpu: in connect.cpp; cuda: in
//                      connect.cu)
//   rankPieces         labels pixels with the number of their piece (cpu: in connect.cpp; cuda: in connect.cu)
//
// A CPU stage works on one image, on the threads of parallel_for_ where that pays. A CUDA stage works on a stack of
// images, on a stream; it neither allocates nor waits. Arrays given by pointer have no gaps: image after image, row
// after row, Extent::total() elements.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP

#include "../common/views.hpp"
#include "core.hpp"
#include <vector>

namespace cv { namespace cuda { namespace quick_shift {

using detail::ImageView;
using detail::RowsView;
using detail::StreamHandle;

//! Size of a stack: `count` images of cols x rows pixels, one below the other.
struct Extent
{
    int cols, rows, count;

    Extent one() const { return {cols, rows, 1}; }
    CT_HOST_DEVICE int pixels() const { return cols * rows; }        //!< pixels per image, at most MAX_PIXELS
    CT_HOST_DEVICE int total() const { return cols * rows * count; } //!< pixels of the stack, at most MAX_PIXELS
};

//! Trees of one image or of a stack.
struct Trees
{
    const int* parents;     //!< index in the image of each pixel's parent; its own index for a root, -1 where masked
    const float* distances; //!< length of each pixel's link, +inf for roots and masked pixels
};

// Sums over the pixels of a superpixel are integers, so that any order of summation gives the same. They are a row of
// 1 + channels elements: the number of pixels, then the sum of each channel, modulo 2^64, as fixedColour() may be
// negative. Means need no more; other statistics need the places, too.

//! Places of the pixels of a superpixel.
struct Places
{
    unsigned long long x, y;      //!< sums
    int left, top, right, bottom; //!< bounding box, all four inclusive
};

//! Outputs of tabulate(), one row per superpixel; a null view is not written.
struct Table
{
    RowsView<int> areas;
    RowsView<float> means, centroids;
    RowsView<int> boxes;
};

namespace cpu {

// Scratch and results of stages, see src/cpu/quick_shift/scratch.hpp.
struct Scratch;
struct Links;
struct SumsTable;
struct Pieces;

//! Fills scratch.features. @param mask data null: no mask.
void pack(const ImageView& image, const ImageView& mask, const Parameters& parameters, const Scales& scales,
          Scratch& scratch);
//! @param spatial Spatial::rows. @param keys out: 0 where masked.
void density(const Parameters& parameters, const float* spatial, Scratch& scratch, uint32_t* keys);
void parents(const Parameters& parameters, const uint32_t* keys, Scratch& scratch, int* parents, float* distances);
//! @param tau INFINITY: no link is cut. @return number of roots.
int label(int pixels, const Trees& trees, float tau, Scratch& scratch, int* labels);
void densityValues(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out);
//! Counts the links longer than tau, roots included.
int countLonger(int pixels, const Trees& trees, float tau);
//! @return number of roots.
int selectLinks(int pixels, const Trees& trees, Links& links);
void sortLinks(int roots, Links& links);
void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask);
//! @return for each image the number of superpixels before it, then the number of all.
std::vector<int> numberSuperpixels(const std::vector<int>& counts);
//! @param image data null: no colours.
SumsTable sums(const Extent& extent, const int* labels, int count, const ImageView& image);
void paintMeans(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                RowsView<void> dst);
void tabulate(const SumsTable& sums, const Table& table);
//! Appends pairs as adjacentLabels() codes them. @param first added to the labels.
void listBorders(const Extent& extent, const int* labels, int first, std::vector<uint64_t>& pairs);
//! Sorts the pairs from index `begin` on and removes duplicates.
void sortBorders(size_t begin, std::vector<uint64_t>& pairs);
void writePairs(int count, const std::vector<uint64_t>& pairs, RowsView<int> out);
void splitPieces(const Extent& extent, const int* labels, Pieces& pieces);
//! @return true if any piece has joined another.
bool joinPieces(const Extent& extent, int minSize, Pieces& pieces);
//! @return number of pieces.
int rankPieces(Pieces& pieces, int* labels);

} // namespace cpu

namespace gpu {

/** Features on the device. Up to four 8-bit channels are `words`, one per pixel, unused bytes 0; everything else is
`planes` of floats, channel after channel within each image. */
struct Features
{
    uint32_t* words;
    float* planes;
    uint8_t* valid; //!< 0 for masked pixels of words, null without masks; masked pixels of planes are OUTSIDE
    int channels;
};

//! Sums of the superpixels of a stack: rows below both *count and `capacity`.
struct SumsTable
{
    unsigned long long* rows; //!< 1 + channels elements each
    Places* places;           //!< null: not summed
    int channels;
    const int* count;  //!< number of superpixels
    const int* firsts; //!< superpixels before each image, see numberSuperpixels(); null for one image
    int images, capacity;
    uint32_t* largest; //!< bits of the largest magnitude of each CV_32F image
};
// Scratch of stages, see src/cuda/quick_shift/plan.hpp.
struct WeightSums;
struct Worklist;
struct Ranking;
struct Links;
struct Pieces;

//! Packs image `index` of a stack and clears its sums, with the first image the list, too. @param mask data null: no
//! mask.
void pack(const ImageView& image, const ImageView& mask, int index, const Extent& extent, const Scales& scales,
          const Features& features, const WeightSums& sums, const Worklist& far, StreamHandle stream);
//! @param spatial (R+1) columns of 2R+1: factor of (dx, dy), dx = 0..R, dy = -R..R. @param cells out: best key of each
//! cell.
void density(const Features& features, const Extent& extent, const Parameters& parameters, const float* spatial,
             const WeightSums& sums, uint32_t* keys, uint32_t* cells, StreamHandle stream);
//! Follows pack() and density() on the stream. Needs an empty list `far`.
void parents(const Features& features, const Extent& extent, const Parameters& parameters, const uint32_t* keys,
             const uint32_t* cells, const Worklist& far, int* parents, float* distances, StreamHandle stream);
//! @param trees may have no distances when tau is INFINITY. @param counts out: roots per image. @param copy out: the
//! labels once more, if not empty; for one image. @param early true: the kernel before on the stream is one of
//! parents().
void label(const Extent& extent, const Trees& trees, float tau, const Ranking& ranking, int* labels, int* counts,
           RowsView<int> copy, bool early, StreamHandle stream);
void densityValues(const Extent& extent, const Parameters& parameters, const uint32_t* keys, RowsView<float> out,
                   StreamHandle stream);
//! Counts the links longer than tau, roots included.
void countLonger(const Extent& extent, const Trees& trees, float tau, int* count, StreamHandle stream);
//! Copies the lengths of all links to links.unsorted. @param count out: their number.
void selectLinks(const Extent& extent, const Trees& trees, const Links& links, int* count, const Ranking& ranking,
                 StreamHandle stream);
//! @param count number of links. @param distinct out: number of merge heights.
void sortLinks(int count, int roots, const Links& links, int* distinct, const Ranking& ranking, StreamHandle stream);
void contours(const Extent& extent, const int* labels, bool thick, RowsView<uint8_t> mask, StreamHandle stream);
//! @param firsts out: for each image the number of superpixels before it, then the number of all.
void numberSuperpixels(const Extent& extent, const int* counts, int* firsts, const Ranking& ranking,
                       StreamHandle stream);
void sums(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& table, StreamHandle stream);
void paintMeans(const Extent& extent, const int* labels, const ImageView& image, const SumsTable& sums,
                RowsView<void> dst, StreamHandle stream);
//! @param rows rows of the table; those without a superpixel get zeros.
void tabulate(int rows, const ImageView& image, const SumsTable& sums, const Table& table, StreamHandle stream);
//! Writes pairs as adjacentLabels() codes them, in any order. @param pairs null: they are only counted.
void listBorders(const Extent& extent, const int* labels, const int* firsts, uint64_t* pairs, int* count,
                 StreamHandle stream);
//! Leaves the result in `pairs`. @param sorted scratch of `count` elements. @param distinct out: number of pairs left.
void sortBorders(int count, uint64_t* pairs, uint64_t* sorted, int* distinct, void* scratch, size_t scratchBytes,
                 StreamHandle stream);
void writePairs(int count, const uint64_t* pairs, RowsView<int> out, StreamHandle stream);
void splitPieces(const Extent& extent, const int* labels, const Pieces& pieces, StreamHandle stream);
void joinPieces(const Extent& extent, int minSize, const Pieces& pieces, StreamHandle stream);
//! Replaces the pieces' roots by indices in their image. @param count out: pieces per image.
void rankPieces(const Extent& extent, const Pieces& pieces, const Ranking& ranking, int* labels, int* count,
                StreamHandle stream);

} // namespace gpu

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_STAGES_HPP
