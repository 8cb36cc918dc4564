// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Declarations that the stages of the CPU backend and their kernels (src/cpu/fragment_matcher/score.simd.hpp) share.
//
// Every value is composed of two kinds of sums over the fragment's rectangle, both exact integers:
//   terms    sums of image byte x template byte (or |image - template|), the expensive part: one kernel per operation
//   windows  sums of the image alone, by running column sums
// Kernels read the image as separate planes of bytes, whose rows may be read past their end.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_HPP

#include "../../fragment_matcher/stages.hpp"
#include "../../common/scratch_pool.hpp"
#include "opencv2/core.hpp"
#include <vector>

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

//! Grow-only memory. Contents are lost when it grows.
class Buffer
{
public:
    Buffer() = default;
    ~Buffer() { release(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    template <typename T> T* get(size_t count)
    {
        if (count > SIZE_MAX / sizeof(T))
            CV_Error(Error::StsNoMem, "FragmentMatcher: a buffer would exceed the address space");
        if (count * sizeof(T) > size_)
        {
            release();
            data_ = fastMalloc(count * sizeof(T)); // aligned to a cache line, throws
            size_ = count * sizeof(T);
        }
        return static_cast<T*>(data_);
    }
    void release()
    {
        fastFree(data_);
        data_ = nullptr;
        size_ = 0;
    }
    size_t size() const { return size_; }

private:
    void* data_ = nullptr;
    size_t size_ = 0;
};

//! Number of bytes that kernels may read beyond the last row of the last plane.
const int PLANE_PADDING = 256;

//! A part of the image as planes: the channels, then (if present) the low and the high bytes of their squares. Of 16
//! bits: the high bytes of all channels, their low bytes, then (if present) the bytes of their squares, high ones
//! first.
struct Planes
{
    const uint8_t* data;
    size_t step, planeStep;
    uint8_t bias; //!< bytes are stored as value ^ bias; 0 or 0x80

    const uint8_t* pixel(int plane, int x, int y) const { return data + plane * planeStep + y * step + x; }
    Planes at(int x, int y) const
    {
        Planes moved = *this;
        moved.data = pixel(0, x, y);
        return moved;
    }
};

//! Properties of the row kernels of this machine.
struct KernelTraits
{
    uint8_t bias; //!< 0x80 where the multiplier takes one signed factor: planes of DOT terms are biased by it
    int sadWidth; //!< bytes per unit in which SAD_TERM reads templates; 0: there is no such kernel
    bool pairs;   //!< DOT terms by pairs of 16-bit integers (src/cpu/fragment_matcher/scores_pairs.hpp)
};

enum TermKind
{
    SAD_TERM,          //!< sum |I - T|
    WEIGHTED_SAD_TERM, //!< sum q |I - T|
    DOT_TERM           //!< sum I T
};

//! Consecutive template rows whose sum fits 32 bits: some rows of one plane, or all rows of several planes.
struct Segment
{
    int plane, planes, row0, row1;
    uint32_t constant; //!< added to each sum to undo the planes' bias
};

//! A sum over the fragment's rectangle that combines template bytes with image bytes, in the kernels' layout.
struct Term
{
    int kind;                      //!< TermKind
    int blocks;                    //!< words (4 template bytes) per row; missing bytes are 0
    std::vector<uint32_t> taps;    //!< (planes x height) rows of `blocks` words
    std::vector<uint32_t> weights; //!< WEIGHTED_SAD_TERM only: weights in the layout of taps
    std::vector<uint32_t> pairs;   //!< if not empty: nine combinations of rows, as pairs of 16-bit integers
    std::vector<Segment> segments;
};

//! A sum of the image alone over `width` x height pixels that start `x` pixels right of the position.
struct WindowTerm
{
    int plane, planes, x, width;
    bool squared;
    int toLow; //!< 16 bits: planes from the high to the low bytes of a channel; else 0
};

//! Most terms and windows of a plan. Terms of 16 bits with weights: four of each of two moments, two of each channel.
const int MAX_TERMS = 14, MAX_WINDOWS = 4;

//! A fragment converted for one metric.
struct Plan
{
    Metric metric;
    int width, height, channels;
    bool deep;     //!< 16 bits per channel
    bool weighted; //!< weights differ from pixel to pixel
    bool squares;  //!< planes of squares are needed
    uint8_t bias;  //!< bias that the planes must have
    bool wide;     //!< sums over the fragment or values need 64 bits, else all fit 32
    //! SAD, SSD: value = unit x value in the map, so that values with uniform weights fit 32 bits; ZNCC: 1
    uint64_t unit;
    uint64_t templateSquares; //!< S(qT^2) in the same unit
    // ZNCC: n = kn cross - sum_c kc[c] A[c], v = kn squares - ka sum_c A[c]^2, where A[c] is the image sum of channel
    // c.
    uint64_t kn, kc[3], ka;
    TemplateSums sums; //!< HostFragment's
    double deviation;  //!< ZNCC: templateDeviation(), deepDeviation()
    int termCount, windowCount;
    //! the template, channel by channel; of 16 bits the high bytes of all channels, then their low bytes
    std::vector<uint8_t> bytes;
    const uint8_t* q; //!< HostFragment's
    Term terms[MAX_TERMS];
    WindowTerm windows[MAX_WINDOWS];

    void prepare(const HostFragment& fragment, Metric metric, const KernelTraits& traits);

    size_t size() const;                                                   //!< returns the bytes of all vectors
    bool flat() const { return isCorrelation(metric) && deviation == 0.; } //!< returns true if all scores are 0
    bool wideValues() const { return wide && !isCorrelation(metric); } //!< returns true if Scores<uint64_t> are needed

private:
    void addTerm(int kind, int plane, int planes, const uint8_t* bytes, const uint8_t* weights,
                 const KernelTraits& traits);
    void addWindow(int plane, int planes, int x, int windowWidth, bool squared);
    void prepareDifferences(const uint8_t* weights, const KernelTraits& traits);
    void prepareUniform(const HostFragment& fragment, uint8_t weight, const KernelTraits& traits);
    void prepareWeighted(const HostFragment& fragment, const KernelTraits& traits);
    void addDeepTerms(const std::vector<uint8_t>* factor, int count, const KernelTraits& traits);
    void prepareDeepWeights(const HostFragment& fragment, const KernelTraits& traits);
};

//! Returns the properties for the instruction set of this machine.
KernelTraits kernelTraitsHere();

/** Converts a part of the frame to planes of bytes; the origin of the result is the part's corner. @param squares adds
planes of squares.
@param bias bias of all planes. */
Planes unpack(const ByteImageView& frame, const Rect4& part, bool squares, uint8_t bias, Buffer& memory, bool parallel);
//! Returns true if planes for fragments whose plans are not known yet must include squares.
bool mayNeedSquares(Metric metric, bool weighted);
//! Returns the bias that planes for a metric must have.
uint8_t planeBias(Metric metric);

//! Smallest value of a row of the map, and its first column.
template <typename V> struct RowBest
{
    V value;
    int x;
};

//! Granularity of rows of sums and values in elements: rows are written up to the next multiple.
const int ROW_UNIT = 64;
CV_ALWAYS_INLINE size_t alignRow(size_t count) { return detail::roundUp(count, size_t(ROW_UNIT)); }

//! Values of positions, row by row; the stride is a multiple of ROW_UNIT.
template <typename V> struct MapView
{
    V* values;
    size_t stride;    //!< elements from row to row
    RowBest<V>* best; //!< one per row, or null
};

//! Sums of all terms of a plan, term by term. sums null: not computed.
struct TermSums
{
    void* sums;                //!< uint64_t if the plan is wide, else uint32_t
    size_t stride, termStride; //!< elements from row to row (a multiple of ROW_UNIT), and from term to term

    template <typename P> P* row(int y) const { return static_cast<P*>(sums) + y * stride; }
};

//! Working memory of the row kernels, for one thread.
struct RowScratch
{
    Buffer parts, partial, pairs, columns, zeros, numerators;
};

//! Working memory of the stages, for one thread.
struct Scratch
{
    Plan plan;
    Buffer planes, map, best, terms, spectra, tiles, means;
    RowScratch rows;

    template <typename Visit> void forBuffers(const Visit& visit)
    {
        for (Buffer* buffer : {&planes, &map, &best, &terms, &spectra, &tiles, &means, &rows.parts, &rows.partial,
                               &rows.pairs, &rows.columns, &rows.zeros, &rows.numerators})
            visit(*buffer);
    }
};

// DOT terms of large fragments by Fourier transforms, exact as well (src/cpu/fragment_matcher/transform.cpp).

//! Returns true if Fourier transforms are faster than row kernels.
bool transforms(const Plan& plan, const SearchWindow& window, bool parallel);
//! Computes the sums of all terms by Fourier transforms. @param planes planes with their origin at the window's first
//! position.
//! @param pool as in score().
TermSums correlate(const Plan& plan, const Planes& planes, const SearchWindow& window, Scratch& memory,
                   ScratchPool* pool);

//! Computes the values of rows [first, first + rows) and columns [0, cols) of `given` by the row kernels, and the best
//! of each row unless map.best is null. @param planes planes with their origin at the first of these positions. @param
//! given sums of the terms, if known.
void scoreMap(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map,
              const TermSums& given, int first, RowScratch& scratch);
void scoreMap(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map,
              const TermSums& given, int first, RowScratch& scratch);

/** Values of one fragment's positions. After score() all of them are in the map, after eliminate() those that may be
peaks; value() computes each other one that it is asked for. V: unsigned integer that the values of the plan fit
into. */
template <typename V> class Scores
{
public:
    //! @param planes planes of the image with their origin at the window's first position.
    Scores(const Plan& plan, const Planes& planes, const SearchWindow& window)
        : plan_(plan), planes_(planes), window_(window)
    {}

    //! Value in the map of positions that eliminate() left out.
    static constexpr V NOT_SCORED = static_cast<V>(~static_cast<V>(0));

    V value(int x, int y) const
    {
        const V known = map_.values ? map_.values[static_cast<size_t>(y) * map_.stride + x] : NOT_SCORED;
        return known != NOT_SCORED ? known : compute(x, y);
    }
    const Plan& plan() const { return plan_; }
    const Planes& planes() const { return planes_; }
    const SearchWindow& window() const { return window_; }
    const MapView<V>& map() const { return map_; } //!< values are null before score() or eliminate()
    void setMap(const MapView<V>& map) { map_ = map; }

private:
    V compute(int x, int y) const;

    const Plan& plan_;
    Planes planes_;
    SearchWindow window_;
    MapView<V> map_ = {nullptr, 0, nullptr};
};

//! Calls body(begin, end) for strips of consecutive rows that cover 0..rows, on all threads if `parallel`.
template <class Body> void forRowStrips(int rows, bool parallel, const Body& body)
{
    const int threads = parallel ? std::max(1, getNumThreads()) : 1;
    // Two strips per thread even out unequal cores. More would cost: each strip first sums up the columns of its first
    // row.
    const int strip = threads == 1 ? rows : std::max(8, detail::roundUp(detail::ceilDiv(rows, 2 * threads), 4));
    const int strips = detail::ceilDiv(rows, strip);
    if (strips <= 1)
        return body(0, rows);
    parallel_for_(
        Range(0, strips),
        [&](const Range& range)
        {
            for (int i = range.start; i < range.end; ++i)
                body(i * strip, std::min(rows, (i + 1) * strip));
        },
        strips);
}

}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_HPP
