// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score: Fourier transforms of tiles (src/cpu/fragment_matcher/dft.hpp), compiled once per instruction set.
//
// Forward, a stage of radix r transforms r values of a part of length L, L / r apart, and multiplies them by the
// factors exp(-2 pi i q t / L): decimation in frequency. The inverse undoes the stages in reverse order: it multiplies,
// then transforms. It swaps real and imaginary parts, so that it can use the same factors and the same small
// transforms.
#include "dft.hpp"
#include "opencv2/core/hal/intrin.hpp"
#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
#include "dft_small.hpp"
#endif

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Returns the number of complex values per vector.
int dftLanes();

//! Transforms the rows of a tile; rows beyond both heights become 0. @param rows working memory for ROWS_AT_ONCE rows.
void forwardRows(const Tile& tile, const TileBytes& a, const TileBytes& b, double* rows, double* values);
//! Transforms the columns of a template, and scales and conjugates them for products.
void templateColumns(const Tile& tile, double* values);
//! Transforms the columns of `count` planes, multiplies them, and transforms them back: product k replaces plane k.
//! @param strips working memory for as many strips as there are planes or products.
void multiplyColumns(const Tile& tile, const std::vector<Product>& products, int count, double* strips, double* values);
//! Transforms rows back and rounds the sums.
void inverseRows(const Tile& tile, const double* values, double* rows, const TileSums& a, const TileSums& b);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

// --- stages ----------------------------------------------------------------------------------------------------------

//! Loads a vector; the inverse swaps real and imaginary parts.
template <bool INVERSE> CV_ALWAYS_INLINE Complex loadComplex(const double* from)
{
    return {load(from + (INVERSE ? LANES : 0)), load(from + (INVERSE ? 0 : LANES))};
}
template <bool INVERSE> CV_ALWAYS_INLINE void storeComplex(double* to, const Complex& a)
{
    v_store(to + (INVERSE ? LANES : 0), a.re);
    v_store(to + (INVERSE ? 0 : LANES), a.im);
}

//! Returns a times a factor. @param f re, im, -im of the factor: vectors in row transforms, one for all lanes in column
//! transforms.
template <bool ROW> CV_ALWAYS_INLINE Complex times(const Complex& a, const double* f)
{
    const Doubles re = ROW ? load(f) : splat(f[0]);
    const Doubles im = ROW ? load(f + LANES) : splat(f[1]), minusIm = ROW ? load(f + 2 * LANES) : splat(f[2]);
    return {v_fma(a.re, re, v_mul(a.im, minusIm)), v_fma(a.re, im, v_mul(a.im, re))};
}

//! Runs one stage of `blocks` parts. @param step distance of the values of a small transform in vectors.
template <int R, bool ROW, bool INVERSE, bool FACTORS>
void stage(const double* in, double* out, int blocks, int step, const double* factors)
{
    const int FACTOR = ROW ? 3 * LANES : 3;
    const size_t apart = static_cast<size_t>(step) * UNIT;
    for (int b = 0; b < blocks; ++b, in += R * apart, out += R * apart)
        for (int j = 0; j < step; ++j)
        {
            const double* const f = factors + static_cast<size_t>(j) * (R - 1) * FACTOR;
            const double* const from = in + static_cast<size_t>(j) * UNIT;
            double* const to = out + static_cast<size_t>(j) * UNIT;
            Complex a[R];
            for (int k = 0; k < R; ++k)
            {
                a[k] = loadComplex<INVERSE>(from + k * apart);
                if (FACTORS && INVERSE && k > 0)
                    a[k] = times<ROW>(a[k], f + (k - 1) * FACTOR);
            }
            dft(a);
            for (int k = 0; k < R; ++k)
            {
                if (FACTORS && !INVERSE && k > 0)
                    a[k] = times<ROW>(a[k], f + (k - 1) * FACTOR);
                storeComplex<INVERSE>(to + k * apart, a[k]);
            }
        }
}

template <bool ROW, bool INVERSE> void runStage(const Dft& dft, size_t index, const double* in, double* out, int blocks)
{
    const Dft::Stage& of = dft.stages[index];
    typedef void (*Function)(const double*, double*, int, int, const double*);
    const bool plain = !ROW && of.step == 1; // factors are 1
    const Function function = of.radix == 2   ? (plain ? stage<2, ROW, INVERSE, false> : stage<2, ROW, INVERSE, true>)
                              : of.radix == 3 ? (plain ? stage<3, ROW, INVERSE, false> : stage<3, ROW, INVERSE, true>)
                              : of.radix == 4 ? (plain ? stage<4, ROW, INVERSE, false> : stage<4, ROW, INVERSE, true>)
                              : of.radix == 5 ? (plain ? stage<5, ROW, INVERSE, false> : stage<5, ROW, INVERSE, true>)
                                              : (plain ? stage<8, ROW, INVERSE, false> : stage<8, ROW, INVERSE, true>);
    function(in, out, blocks, of.step / dft.last, dft.factors.data() + of.factors);
}

/** Runs the stages from `first` on, for one part of `count` vectors. A part that fits the first-level cache goes
through all its stages before the next part. Forward, stage `first` reads `x` and writes `work`; in the inverse, it is
the last stage, reads `work` and writes `x`. */
template <bool ROW, bool INVERSE> void transform(const Dft& dft, size_t first, double* x, double* work, int count)
{
    const size_t stages = dft.stages.size();
    if (first == stages)
        return;
    const int part = count / dft.stages[first].radix;
    if (!INVERSE)
        runStage<ROW, false>(dft, first, x, work, 1);
    if (count * UNIT * sizeof(double) <= 20 << 10)
        for (size_t i = first + 1; i < stages; ++i)
        {
            const size_t s = INVERSE ? stages - (i - first) : i;
            runStage<ROW, INVERSE>(dft, s, work, work, count * dft.last / (dft.stages[s].radix * dft.stages[s].step));
        }
    else
        for (double* at = work; at < work + static_cast<size_t>(count) * UNIT; at += static_cast<size_t>(part) * UNIT)
            transform<ROW, INVERSE>(dft, first + 1, at, at, part);
    if (INVERSE)
        runStage<ROW, true>(dft, first, work, x, 1);
}

//! Transforms the values within each of LANES vectors, the last step of row transforms, and stores them in as many
//! strips from `out` on.
CV_ALWAYS_INLINE void toStrips(const double* vectors, double* out, size_t strip)
{
    Doubles re[LANES], im[LANES];
    for (int k = 0; k < LANES; ++k)
    {
        re[k] = load(vectors + k * UNIT);
        im[k] = load(vectors + k * UNIT + LANES);
    }
    transpose(re);
    transpose(im);
    Complex a[LANES];
    for (int k = 0; k < LANES; ++k)
        a[k] = {re[k], im[k]};
    dft(a);
    for (int k = 0; k < LANES; ++k)
        storeComplex<false>(out + k * strip, a[k]);
}

CV_ALWAYS_INLINE void fromStrips(const double* in, size_t strip, double* vectors)
{
    Complex a[LANES];
    for (int k = 0; k < LANES; ++k)
        a[k] = loadComplex<true>(in + k * strip);
    dft(a);
    Doubles re[LANES], im[LANES];
    for (int k = 0; k < LANES; ++k)
    {
        re[k] = a[k].re;
        im[k] = a[k].im;
    }
    transpose(re);
    transpose(im);
    for (int k = 0; k < LANES; ++k)
        storeComplex<true>(vectors + k * UNIT, {re[k], im[k]});
}

//! Converts a row of bytes to the real parts (parts = row) or the imaginary parts (row + LANES) of a row of complex
//! values.
void loadRow(const TileBytes& from, int y, int cols, double* parts)
{
    int x = 0;
    if (y < from.height)
    {
        const uint8_t* const bytes = from.bytes + y * from.step;
        for (; x + UNIT <= from.width; x += UNIT)
            expandBytes(bytes + x, from.bias, parts + 2 * x);
        if (x < from.width)
        {
            uint8_t tail[UNIT];
            memset(tail, from.bias, sizeof(tail));
            memcpy(tail, bytes + x, from.width - x);
            expandBytes(tail, from.bias, parts + 2 * x);
            x += UNIT;
        }
    }
    for (; x < cols; x += LANES)
        v_store(parts + 2 * x, splat(0.));
}

template <typename P> void storeRow(const double* parts, P* sums, int width)
{
    int x = 0;
    for (; x + UNIT <= width; x += UNIT)
        roundToIntegers(parts + 2 * x, sums + x);
    if (x < width)
    {
        P tail[UNIT];
        roundToIntegers(parts + 2 * x, tail);
        std::copy_n(tail, width - x, sums + x);
    }
}

void storeRow(const double* parts, int y, const TileSums& to)
{
    if (y >= to.height)
        return;
    if (to.wide)
        storeRow(parts, to.sums.row<uint64_t>(y), to.width);
    else
        storeRow(parts, to.sums.row<uint32_t>(y), to.width);
}

} // namespace

int dftLanes() { return LANES; }

void forwardRows(const Tile& tile, const TileBytes& a, const TileBytes& b, double* rows, double* values)
{
    const int cols = tile.x.length, filled = std::max(a.height, b.height);
    for (int first = 0; first < filled; first += ROWS_AT_ONCE)
    {
        const int count = std::min(ROWS_AT_ONCE, filled - first);
        for (int y = 0; y < count; ++y)
        {
            double* const row = rows + static_cast<size_t>(y) * 2 * cols;
            loadRow(a, first + y, cols, row);
            loadRow(b, first + y, cols, row + LANES);
            transform<true, false>(tile.x, 0, row, row, tile.strips);
        }
        for (int s = 0; s < tile.strips; s += LANES)
            for (int y = 0; y < count; ++y)
                toStrips(rows + static_cast<size_t>(y) * 2 * cols + s * UNIT,
                         values + s * tile.strip + static_cast<size_t>(first + y) * UNIT, tile.strip);
    }
    for (int s = 0; s < tile.strips; ++s)
        std::fill_n(values + s * tile.strip + static_cast<size_t>(filled) * UNIT,
                    static_cast<size_t>(tile.y.length - filled) * UNIT, 0.);
}

void templateColumns(const Tile& tile, double* values)
{
    const double scale = 1. / (static_cast<double>(tile.x.length) * tile.y.length);
    for (int s = 0; s < tile.strips; ++s)
    {
        double* const strip = values + s * tile.strip;
        transform<false, false>(tile.y, 0, strip, strip, tile.y.length);
        for (int y = 0; y < tile.y.length; ++y)
        {
            const Complex a = loadComplex<false>(strip + y * UNIT); // the conjugate turns convolution into correlation
            storeComplex<false>(strip + y * UNIT, {v_mul(a.re, splat(scale)), v_mul(a.im, splat(-scale))});
        }
    }
}

void multiplyColumns(const Tile& tile, const std::vector<Product>& products, int count, double* strips, double* values)
{
    const size_t planeStep = tile.size(), length = static_cast<size_t>(tile.y.length) * UNIT;
    for (int s = 0; s < tile.strips; ++s)
    {
        const size_t first = s * tile.strip;
        for (int p = 0; p < count; ++p)
            transform<false, false>(tile.y, 0, values + p * planeStep + first, strips + p * tile.strip, tile.y.length);
        for (size_t i = 0; i < length; i += UNIT)
        {
            Complex sums[MAX_TERMS];
            for (size_t k = 0; k < products.size(); ++k)
            {
                const Product& product = products[k];
                Doubles re = splat(0.), im = splat(0.), minus = splat(0.);
                for (size_t p = 0; p < product.templates.size(); ++p)
                {
                    const Complex a = loadComplex<false>(strips + (product.plane + p) * tile.strip + i);
                    const Complex t = loadComplex<false>(product.templates[p] + first + i);
                    re = v_fma(a.re, t.re, re);
                    minus = v_fma(a.im, t.im, minus);
                    im = v_fma(a.re, t.im, v_fma(a.im, t.re, im));
                }
                sums[k] = {v_sub(re, minus), im};
            }
            for (size_t k = 0; k < products.size(); ++k)
                storeComplex<false>(strips + k * tile.strip + i, sums[k]);
        }
        for (size_t k = 0; k < products.size(); ++k)
            transform<false, true>(tile.y, 0, values + k * planeStep + first, strips + k * tile.strip, tile.y.length);
    }
}

void inverseRows(const Tile& tile, const double* values, double* rows, const TileSums& a, const TileSums& b)
{
    const int cols = tile.x.length, height = std::max(a.height, b.height);
    for (int first = 0; first < height; first += ROWS_AT_ONCE)
    {
        const int count = std::min(ROWS_AT_ONCE, height - first);
        for (int s = 0; s < tile.strips; s += LANES)
            for (int y = 0; y < count; ++y)
                fromStrips(values + s * tile.strip + static_cast<size_t>(first + y) * UNIT, tile.strip,
                           rows + static_cast<size_t>(y) * 2 * cols + s * UNIT);
        for (int y = 0; y < count; ++y)
        {
            double* const row = rows + static_cast<size_t>(y) * 2 * cols;
            transform<true, true>(tile.x, 0, row, row, tile.strips);
            storeRow(row, first + y, a);
            storeRow(row + LANES, first + y, b);
        }
    }
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu
