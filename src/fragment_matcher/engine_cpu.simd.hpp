// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// scores, row by row: compiled once for each instruction set. See engine_cpu.hpp for terms and windows.
#include "engine_cpu.hpp"
#include "opencv2/core/hal/intrin.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

KernelTraits kernelTraits();

//! One row of the picture to rows of planes (with the planes of squares when asked for), each byte xor bias.
void unpackRow(const uint8_t* source, int pixelStride, int channels, int cols, bool squares, const Planes& planes,
               uint8_t* row);

//! The map of `rows` x `cols` positions and the best of each row.
void scoreMap32(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map);
void scoreMap64(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

#include "engine_cpu_kernels.hpp"
#include "engine_cpu_rows.hpp"

namespace {

typedef void (*TileFunction)(const Planes&, const Term&, const Segment&, int, uint32_t*, size_t, int);

template <int R> TileFunction tileFunction(int kind)
{
#if CV_AVX512_SKX
    static const bool vnni = hasVnni();
    if (vnni && kind != SAD_TERM)
        return kind == DOT_TERM ? multiplyTile<VnniDotOp, R> : multiplyTile<VnniWeightedSadOp, R>;
#endif
#if CV_SSE2
    if (kind == SAD_TERM)
        return sadTile<R>;
#endif
    return kind == WEIGHTED_SAD_TERM ? multiplyTile<WeightedSadOp, R> : multiplyTile<DotOp, R>;
}

//! Memory of one thread, reused from call to call.
struct RowScratch
{
    Buffer parts, partial, columns, zeros, numerators;
};

RowScratch& rowScratch()
{
    static thread_local RowScratch scratch;
    return scratch;
}

//! A term for R rows of positions.
template <int R, typename P>
void sumTerm(const Plan& plan, const Term& term, const Planes& planes, int cols, P* out, size_t stride, Buffer& partial)
{
    const TileFunction tile = tileFunction<R>(term.kind);
    const bool direct = sizeof(P) == sizeof(uint32_t) && term.segments.size() == 1;
    uint32_t* const sums = direct ? reinterpret_cast<uint32_t*>(out) : partial.get<uint32_t>(R * stride);
    for (size_t s = 0; s < term.segments.size(); ++s)
    {
        for (int x = 0; x < cols; x += TILE)
            tile(planes.at(x, 0), term, term.segments[s], term.segments[0].plane, sums + x, stride, plan.height);
        if (direct)
            return;
        for (size_t i = 0; i < R * stride; ++i)
            out[i] = s == 0 ? P(sums[i]) : P(out[i] + sums[i]);
    }
}

//! Numerators and variances of ZNCC, modulo 2^64: the results fit, products on the way need not.
template <typename P>
void znccParts(const Plan& plan, const P* terms, size_t termStride, const P* windows, size_t stride, uint64_t* n,
               uint64_t* v)
{
    const P *const low = terms, *const high = terms + termStride;
    const P *const squaresLow = terms + 2 * termStride, *const squaresHigh = terms + 3 * termStride;
    for (size_t x = 0; x < stride; ++x)
    {
        n[x] = plan.kn * (plan.weighted ? low[x] + uint64_t(256) * high[x] : low[x]);
        v[x] = plan.kn * (plan.weighted ? squaresLow[x] + uint64_t(256) * squaresHigh[x] : windows[x]);
    }
    for (int c = 0; c < plan.channels; ++c)
    {
        const P* const sums = plan.weighted ? terms + (4 + c) * termStride : windows + (1 + c) * stride;
        for (size_t x = 0; x < stride; ++x)
        {
            n[x] -= plan.kc[c] * sums[x];
            v[x] -= plan.ka * sums[x] * sums[x];
        }
    }
}

//! Terms and windows of one row of positions to values.
template <typename V, typename P>
void finishRow(const Plan& plan, const P* terms, size_t termStride, const P* windows, size_t stride, int cols,
               V* values, Buffer& memory)
{
    const P squares = static_cast<P>(plan.templateSquares);
    if (plan.metric == METRIC_SAD && plan.windowCount == 0)
        std::copy(terms, terms + cols, values);
    else if (plan.metric == METRIC_SAD)
        for (size_t x = 0; x < stride; ++x)
            values[x] = static_cast<V>(terms[x] - windows[x]);
    else if (plan.metric == METRIC_SSD && !plan.weighted)
        for (size_t x = 0; x < stride; ++x)
            values[x] = static_cast<V>(squares - 2 * terms[x] + windows[x]);
    else if (plan.metric == METRIC_SSD)
        for (size_t x = 0; x < stride; ++x)
            values[x] = static_cast<V>(squares - 2 * (terms[x] + 256 * terms[x + termStride]) +
                                       terms[x + 2 * termStride] + 256 * terms[x + 3 * termStride]);
    else
    {
        uint64_t* const n = memory.get<uint64_t>(4 * stride);
        uint64_t* const v = n + stride;
        znccParts(plan, terms, termStride, windows, stride, n, v);
        znccRow(reinterpret_cast<int64_t*>(n), reinterpret_cast<int64_t*>(v), plan.variance, cols,
                reinterpret_cast<double*>(v + stride), reinterpret_cast<uint32_t*>(values));
    }
}

//! V: type of the map, P: type of the sums. ZNCC has V = uint32_t with either P.
template <typename V, typename P>
void scoreRows(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<V>& map)
{
    RowScratch& scratch = rowScratch();
    const size_t stride = alignRow(cols), termStride = GROUP * stride;
    P* const terms = scratch.parts.get<P>(7 * termStride + 4 * stride);
    P* const windowRows = terms + 7 * termStride;
    WindowSums<P> windows[4];
    const size_t windowMemory = WindowSums<P>::memoryFor(cols, plan.width);
    P* const columns = scratch.columns.get<P>(4 * windowMemory);
    if (plan.windowCount)
    {
        const size_t longest = alignRow(static_cast<size_t>(cols) + plan.width);
        uint8_t* const zeros = scratch.zeros.get<uint8_t>(longest);
        memset(zeros, planes.bias, longest);
        for (int w = 0; w < plan.windowCount; ++w)
            windows[w].start(plan.windows[w], planes, cols, plan.height, zeros, columns + w * windowMemory);
    }
    for (int y = 0; y < rows; y += GROUP)
    {
        const bool whole = rows - y >= GROUP;
        const int count = std::min(GROUP, rows - y);
        for (int k = 0; k < plan.termCount; ++k)
            for (int r = 0; r < (whole ? 1 : count); ++r)
            {
                P* const out = terms + k * termStride + r * stride;
                if (whole)
                    sumTerm<GROUP, P>(plan, plan.terms[k], planes.at(0, y), cols, out, stride, scratch.partial);
                else
                    sumTerm<1, P>(plan, plan.terms[k], planes.at(0, y + r), cols, out, stride, scratch.partial);
            }
        for (int r = 0; r < count; ++r)
        {
            for (int w = 0; w < plan.windowCount; ++w)
            {
                if (y + r > 0)
                    windows[w].moveDown();
                windows[w].sumUp(windowRows + w * stride);
            }
            V* const values = map.values + (y + r) * map.stride;
            finishRow<V, P>(plan, terms + r * stride, termStride, windowRows, stride, cols, values, scratch.numerators);
            if (map.best)
                map.best[y + r] = bestOfRow(values, cols);
        }
    }
}

//! Every channel's bytes apart.
void splitRow(const uint8_t* source, int pixelStride, int channels, int cols, uint8_t* row, size_t planeStep)
{
    if (pixelStride == 1)
    {
        memcpy(row, source, cols);
        return;
    }
    int x = 0;
#if CV_SIMD128
    v_uint8x16 a, b, c, d;
    while (x + 16 <= cols)
    {
        if (pixelStride == 3)
            v_load_deinterleave(source + 3 * x, a, b, c);
        else
            v_load_deinterleave(source + 4 * x, a, b, c, d);
        v_store(row + x, a);
        v_store(row + planeStep + x, b);
        v_store(row + 2 * planeStep + x, c);
        x += x + 16 < cols && x + 32 > cols ? cols - x - 16 : 16; // the last 16 may overlap
    }
#endif
    for (int c = 0; c < channels; ++c)
        for (int i = x; i < cols; ++i)
            row[c * planeStep + i] = source[i * pixelStride + c];
}

} // namespace

KernelTraits kernelTraits()
{
    KernelTraits traits = {0, SAD_WIDTH};
#if CV_AVX512_SKX
    if (hasVnni())
        traits.bias = 0x80;
#endif
    return traits;
}

void unpackRow(const uint8_t* source, int pixelStride, int channels, int cols, bool squares, const Planes& planes,
               uint8_t* row)
{
    const size_t step = planes.planeStep;
    const uint8_t bias = planes.bias;
    splitRow(source, pixelStride, channels, cols, row, step);
    for (int c = 0; c < channels; ++c)
    {
        uint8_t* const bytes = row + c * step;
        uint8_t* const low = row + (channels + c) * step;
        uint8_t* const high = row + (2 * channels + c) * step;
        for (int x = 0; squares && x < cols; ++x)
        {
            const uint32_t square = static_cast<uint32_t>(bytes[x]) * bytes[x];
            low[x] = static_cast<uint8_t>(square) ^ bias;
            high[x] = static_cast<uint8_t>(square >> 8) ^ bias;
        }
        for (int x = 0; bias && x < cols; ++x)
            bytes[x] ^= bias;
    }
}

void scoreMap32(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map)
{
    if (plan.wide)
        scoreRows<uint32_t, uint64_t>(plan, planes, rows, cols, map); // ZNCC
    else
        scoreRows<uint32_t, uint32_t>(plan, planes, rows, cols, map);
}

void scoreMap64(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map)
{
    scoreRows<uint64_t, uint64_t>(plan, planes, rows, cols, map);
}

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu
