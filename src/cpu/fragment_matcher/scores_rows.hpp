// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score, for one instruction set (part of src/cpu/fragment_matcher/score.simd.hpp): operations on whole rows, except
// terms. Rows of sums and values have a multiple of ROW_UNIT elements, so that loops need no tails; elements beyond the
// last column have no meaning.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_ROWS_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_ROWS_HPP

#include "scores_deep.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN
namespace {

//! Returns the number of elements that a loop over a row processes, a multiple of all vector widths.
inline size_t alignVector(size_t count) { return detail::roundUp(count, size_t(16)); }

//! Adds f(added[i]) - f(removed[i]) to sums[i], for bytes stored as value ^ bias; f is the square if SQUARED, else the
//! identity.
template <bool SQUARED, typename P>
void moveColumns(P* sums, const uint8_t* added, const uint8_t* removed, int count, uint8_t bias)
{
    for (int i = 0; i < count; ++i)
    {
        const P a = static_cast<uint8_t>(added[i] ^ bias), b = static_cast<uint8_t>(removed[i] ^ bias);
        sums[i] += SQUARED ? a * a - b * b : a - b;
    }
}

template <typename P> void addShifted(P* out, const P* a, const P* b, int count)
{
    for (int i = 0; i < count; ++i)
        out[i] = a[i] + b[i];
}

template <bool SQUARED>
void moveColumns(uint32_t* sums, const uint8_t* added, const uint8_t* removed, int count, uint8_t bias)
{
    const v_uint32 flip = vx_setall_u32(bias);
    for (int i = 0; i < count; i += LANES)
    {
        const v_uint32 a = v_xor(vx_load_expand_q(added + i), flip), b = v_xor(vx_load_expand_q(removed + i), flip);
        const v_uint32 difference = v_sub(a, b); // modulo 2^32, as the sums
        v_store(sums + i, v_add(vx_load(sums + i), SQUARED ? v_mul(difference, v_add(a, b)) : difference));
    }
}

inline void addShifted(uint32_t* out, const uint32_t* a, const uint32_t* b, int count)
{
    for (int i = 0; i < count; i += LANES)
        v_store(out + i, v_add(vx_load(a + i), vx_load(b + i)));
}

//! Sums of a window, for one row of positions at a time: column sums that move down by one row, added over the window's
//! width by doubling. All are parts of the sums over the window, which P holds: see Plan::wide.
template <typename P> class WindowSums
{
public:
    //! Returns the number of elements of `memory` in start().
    static size_t memoryFor(int cols, int width) { return 3 * alignRow(static_cast<size_t>(cols) + 2 * width); }

    //! Computes the column sums of the first row. @param zeros a row of bytes 0 ^ bias, alignRow(cols + width) long.
    void start(const WindowTerm& term, const Planes& planes, int cols, int height, const uint8_t* zeros, P* memory)
    {
        term_ = &term;
        planes_ = planes;
        height_ = height;
        cols_ = cols;
        const size_t length = alignRow(static_cast<size_t>(cols) + 2 * term.width);
        columns_ = memory;
        powers_[0] = memory + length;
        powers_[1] = powers_[0] + length;
        std::fill(memory, memory + 3 * length, P(0));
        for (int y = 0; y < height; ++y)
            move(y, zeros);
    }

    //! Moves to the next row.
    void moveDown()
    {
        move(height_, nullptr);
        planes_ = planes_.at(0, 1);
    }

    //! Adds up the columns of each position.
    void sumUp(P* out)
    {
        const int width = term_->width;
        const P* sums = columns_; // sums of `span` columns
        const P* total = nullptr; // sums of the columns before `offset`
        for (int span = 1, offset = 0; span <= width; span *= 2)
        {
            if (width & span)
            {
                if (!total &&
                    2 * span > width) // width is a power of two; the result is in `out` already, unless width is 1
                    total = sums;
                else if (!total)
                    std::copy(sums, sums + cols_, out), total = out;
                else
                    addShifted(out, total, sums + offset, cols_);
                offset += span;
            }
            if (2 * span <= width)
            {
                P* const doubled = 2 * span == width ? out : powers_[sums == powers_[0]];
                addShifted(doubled, sums, sums + span, cols_ + width - 2 * span);
                sums = doubled;
            }
        }
        if (total != out)
            std::copy(total, total + cols_, out);
    }

private:
    //! Adds row y and subtracts row 0, or `zeros` in its place.
    void move(int y, const uint8_t* zeros)
    {
        const int count = cols_ + term_->width - 1;
        for (int p = term_->plane; p < term_->plane + term_->planes; ++p)
        {
            const uint8_t* const added = planes_.pixel(p, term_->x, y);
            const uint8_t* const removed = zeros ? zeros : planes_.pixel(p, term_->x, 0);
            if (term_->toLow > 0)
            {
                const uint8_t* const leaving = zeros ? nullptr : removed;
                const size_t toLow = term_->toLow * planes_.planeStep;
                if (term_->squared)
                    moveDeepColumns<true>(columns_, added, leaving, toLow, count, planes_.bias);
                else
                    moveDeepColumns<false>(columns_, added, leaving, toLow, count, planes_.bias);
            }
            else if (term_->squared)
                moveColumns<true>(columns_, added, removed, count, planes_.bias);
            else
                moveColumns<false>(columns_, added, removed, count, planes_.bias);
        }
    }

    const WindowTerm* term_;
    Planes planes_; // origin: first position of the row
    int cols_, height_;
    P *columns_, *powers_[2];
};

template <typename V> RowBest<V> bestOfRow(V* values, int cols)
{
    RowBest<V> best = {values[0], 0};
    for (int x = 1; x < cols; ++x)
        if (values[x] < best.value)
            best = {values[x], x};
    return best;
}

inline RowBest<uint32_t> bestOfRow(uint32_t* values, int cols)
{
    std::fill(values + cols, values + alignRow(cols), UINT32_MAX);
    v_uint32 smallest = vx_load(values);
    for (int x = LANES; x < cols; x += LANES)
        smallest = v_min(smallest, vx_load(values + x));
    RowBest<uint32_t> best = {v_reduce_min(smallest), 0};
    const v_uint32 wanted = vx_setall_u32(best.value);
    while (!v_check_any(v_eq(vx_load(values + best.x), wanted)))
        best.x += LANES;
    while (values[best.x] != best.value)
        ++best.x;
    return best;
}

inline void prefetchBytes(const uint8_t* bytes, int count)
{
#if defined __GNUC__ || defined __clang__
    for (int i = 0; i < std::min(count, 1024); i += 64)
        __builtin_prefetch(bytes + i);
#else
    CV_UNUSED(bytes);
    CV_UNUSED(count);
#endif
}

//! Splits a row into its channels, bytes xor bias.
inline void splitRow(const ByteImageView& part, int y, uint8_t bias, uint8_t* row, size_t planeStep)
{
    const uint8_t* const source = part.pixel(0, y);
    const int cols = part.cols, pixelStride = part.pixelStride;
    int x = 0;
    const v_uint8x16 flip = v_setall_u8(bias);
    v_uint8x16 blue, green, red, ignored;
    while (x + 16 <= cols)
    {
        if (pixelStride == 1)
            blue = v_load(source + x);
        else if (pixelStride == 3)
            v_load_deinterleave(source + 3 * x, blue, green, red);
        else
            v_load_deinterleave(source + 4 * x, blue, green, red, ignored);
        v_store(row + x, v_xor(blue, flip));
        if (pixelStride > 1)
        {
            v_store(row + planeStep + x, v_xor(green, flip));
            v_store(row + 2 * planeStep + x, v_xor(red, flip));
        }
        x += x + 16 < cols && x + 32 > cols ? cols - x - 16 : 16; // the last 16 may overlap
    }
    for (int c = 0; c < part.channels; ++c)
        for (int i = x; i < cols; ++i)
            row[c * planeStep + i] = source[i * pixelStride + c] ^ bias;
}

//! Computes the low and high bytes of squares. All bytes are stored xor bias.
inline void squareRow(const uint8_t* bytes, int cols, uint8_t bias, uint8_t* low, uint8_t* high)
{
    for (int x = 0; x < cols; ++x)
    {
        const uint32_t value = static_cast<uint8_t>(bytes[x] ^ bias), square = value * value;
        low[x] = static_cast<uint8_t>(square) ^ bias;
        high[x] = static_cast<uint8_t>(square >> 8) ^ bias;
    }
}

} // namespace
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_ROWS_HPP
