// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// What the stages of the CPU engine and their kernels (src/cpu/fragment_matcher/score.simd.hpp, src/cpu/fragment_matcher/walk.simd.hpp) share.
//
// Every score is made of two kinds of sums over the fragment's rectangle, both exact integers:
//   terms   sums of image byte x template byte (or |image - template|), the expensive part: one kernel per operation
//   windows sums of the image alone, by running column sums
// Kernels read the image as separate planes of bytes whose rows may be read past their end.
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

//! Bytes that kernels may read beyond the last row of the last plane.
const int PLANE_PADDING = 256;

//! A part of the image as planes: the channels, then (if present) the low and the high bytes of their squares.
struct Planes
{
    const uint8_t* data;
    size_t step, planeStep;
    uint8_t bias; //!< every byte is stored as value ^ bias

    const uint8_t* pixel(int plane, int x, int y) const { return data + plane * planeStep + y * step + x; }
    Planes at(int x, int y) const
    {
        Planes moved = *this;
        moved.data = pixel(0, x, y);
        return moved;
    }
};

//! What the row kernels of this machine want.
struct KernelTraits
{
    uint8_t bias; //!< 0x80 where the multiplier takes one signed factor: planes of DOT terms are biased by it
    int sadWidth; //!< SAD_TERM reads templates in units of so many bytes; 0: there is no such kernel
    bool pairs;   //!< DOT terms by pairs of 16-bit numbers (src/cpu/fragment_matcher/scores_pairs.hpp)
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
    uint32_t constant; //!< undoes the planes' bias: add to each sum
};

//! A sum over the fragment's rectangle of template bytes against image bytes, as the kernels read it.
struct Term
{
    int kind;
    int blocks;                    //!< words (4 template bytes) in a row; missing bytes are 0
    std::vector<uint32_t> taps;    //!< (planes x height) rows of `blocks` words
    std::vector<uint32_t> weights; //!< WEIGHTED_SAD_TERM only, same layout
    std::vector<uint32_t> pairs;   //!< if not empty: nine combinations of rows, pairs of 16-bit numbers
    std::vector<Segment> segments;
};

//! A sum of the image alone over `width` x height pixels that start `x` pixels right of the position.
struct WindowTerm
{
    int plane, planes, x, width;
    bool squared;
};

//! A fragment made ready for one metric.
struct Plan
{
    Metric metric;
    int width, height, channels;
    bool weighted; //!< weights differ from pixel to pixel
    bool squares;  //!< needs the planes of squares
    uint8_t bias;  //!< that the planes must have
    bool wide;     //!< sums or values need 64 bits
    uint64_t unit; //!< SAD, SSD: value = unit x value in the map, so that maps of uniform weights stay small
    uint64_t templateSquares;
    // ZNCC: n = kn cross - sum_c kc[c] A[c], v = kn squares - ka sum_c A[c]^2, with A[c] the image sum of channel c.
    uint64_t kn, kc[3], ka;
    int64_t variance;
    int termCount, windowCount;
    std::vector<uint8_t> bytes; //!< the template, channel by channel
    const uint8_t* q;           //!< the fragment's weights
    Term terms[7];
    WindowTerm windows[4];

    void prepare(const HostFragment& fragment, Metric metric, const KernelTraits& traits);

    size_t size() const;                                                 //!< bytes of all vectors
    bool flat() const { return isCorrelation(metric) && variance == 0; } //!< all scores are 0
    bool wideValues() const { return wide && !isCorrelation(metric); }   //!< Scores<uint64_t> are needed

private:
    void addTerm(int kind, int plane, int planes, const uint8_t* bytes, const uint8_t* weights,
                 const KernelTraits& traits);
    void addWindow(int plane, int planes, int x, int windowWidth, bool squared);
    void prepareDifferences(const uint8_t* weights, const KernelTraits& traits);
    void prepareUniform(const HostFragment& fragment, uint8_t weight, const KernelTraits& traits);
    void prepareWeighted(const HostFragment& fragment, const KernelTraits& traits);
};

KernelTraits kernelTraitsHere();

/** The planes of a part of the frame, with the squares and the bias that plans of this metric want; the origin of the result is
the part's corner. @param squares planes of squares too. */
Planes unpack(const ByteImageView& frame, const Rect4& part, bool squares, uint8_t bias, Buffer& memory, bool parallel);
//! What planes that serve several fragments need: those of `weighted` fragments, whose plans are not known yet.
bool mayNeedSquares(Metric metric, bool weighted);
uint8_t planeBias(Metric metric);

//! Smallest value of a row of the map and where it is first.
template <typename V> struct RowBest
{
    V value;
    int x;
};

//! Rows of sums and values are written up to the next multiple of so many elements.
const int ROW_UNIT = 64;
CV_ALWAYS_INLINE size_t alignRow(size_t count) { return (count + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT; }

//! Values of positions, row by row; the stride is a multiple of ROW_UNIT.
template <typename V> struct MapView
{
    V* values;
    size_t stride;    //!< elements from row to row
    RowBest<V>* best; //!< one for each row, or null
};

//! Sums of all terms of a plan, term by term; null: there are none yet.
struct TermSums
{
    void* sums;                //!< uint64_t where the plan is wide, else uint32_t
    size_t stride, termStride; //!< elements from row to row (a multiple of ROW_UNIT), and from term to term

    template <typename P> P* row(int y) const { return static_cast<P*>(sums) + y * stride; }
};

//! Memory of the row kernels, for one thread.
struct RowScratch
{
    Buffer parts, partial, pairs, columns, zeros, numerators;
};

//! Memory for the stages of one thread.
struct Scratch
{
    Plan plan;
    Buffer planes, map, best, terms, spectra, tiles;
    RowScratch rows;

    template <typename Visit> void forBuffers(const Visit& visit)
    {
        for (Buffer* buffer : {&planes, &map, &best, &terms, &spectra, &tiles, &rows.parts, &rows.partial, &rows.pairs,
                               &rows.columns, &rows.zeros, &rows.numerators})
            visit(*buffer);
    }
};

// DOT terms of large fragments by Fourier transforms (src/cpu/fragment_matcher/transform.cpp), exact as well:
//! True when that is quicker than row by row.
bool transforms(const Plan& plan, const SearchWindow& window, bool parallel);
//! @param planes with their origin at the window's first position. @param pool as in score().
TermSums correlate(const Plan& plan, const Planes& planes, const SearchWindow& window, Scratch& memory,
                   ScratchPool* pool);

/** Values of one fragment's positions. After score() all of them are in the map; before, value() computes each one that it is asked
for. V: unsigned integer that the values of the plan fit into. */
template <typename V> class Scores
{
public:
    //! @param planes planes of the image with their origin at the window's first position.
    Scores(const Plan& plan, const Planes& planes, const SearchWindow& window)
        : plan_(plan), planes_(planes), window_(window)
    {}

    V value(int x, int y) const
    {
        return map_.values ? map_.values[static_cast<size_t>(y) * map_.stride + x] : compute(x, y);
    }
    const Plan& plan() const { return plan_; }
    const Planes& planes() const { return planes_; }
    const SearchWindow& window() const { return window_; }
    const MapView<V>& map() const { return map_; } //!< values are null before score()
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
    // Two strips per thread even out unequal cores. More would cost: each strip first sums up the columns of its first row.
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
