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

int alignTile(int cols) { return (cols + TILE - 1) / TILE * TILE; }

//! Memory of one thread, reused from call to call.
struct RowScratch
{
    Buffer parts, partial, columns, powers, nominators;
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

//! Sums of a window for one row of positions after the other: sums of columns that move down by adding and subtracting
//! a row, added up over the window's width by doubling.
template <typename P> struct WindowSums
{
    const WindowTerm* term;
    Planes planes; // at the first position of the row
    int length;    // columns of the picture under the row
    int height;
    P* columns;

    void addRow(int y, bool subtract)
    {
        const uint8_t bias = planes.bias;
        for (int p = 0; p < term->planes; ++p)
        {
            const uint8_t* row = planes.pixel(term->plane + p, term->x, y);
            P* const sums = columns;
            const int n = length;
            if (term->squared && !subtract)
                for (int i = 0; i < n; ++i)
                    sums[i] += static_cast<uint32_t>(row[i] ^ bias) * (row[i] ^ bias);
            else if (term->squared)
                for (int i = 0; i < n; ++i)
                    sums[i] -= static_cast<uint32_t>(row[i] ^ bias) * (row[i] ^ bias);
            else if (!subtract)
                for (int i = 0; i < n; ++i)
                    sums[i] += static_cast<uint8_t>(row[i] ^ bias);
            else
                for (int i = 0; i < n; ++i)
                    sums[i] -= static_cast<uint8_t>(row[i] ^ bias);
        }
    }
    void start()
    {
        std::fill(columns, columns + length, P(0));
        for (int y = 0; y < height; ++y)
            addRow(y, false);
    }
    void moveDown()
    {
        addRow(height, false);
        addRow(0, true);
        planes = planes.at(0, 1);
    }
    //! out: length - width + 1 sums. power: 2 x length.
    void sumUp(P* out, P* power) const
    {
        const int width = term->width, count = length - width + 1;
        const P* sums = columns;
        bool first = true;
        for (int span = 1, offset = 0; span <= width; span *= 2)
        {
            if (width & span)
            {
                const P* from = sums + offset;
                if (first)
                    std::copy(from, from + count, out);
                else
                    for (int i = 0; i < count; ++i)
                        out[i] += from[i];
                first = false;
                offset += span;
            }
            if (2 * span <= width)
            {
                P* doubled = sums == power ? power + length : power;
                const P* from = sums;
                for (int i = 0; i < length - 2 * span + 1; ++i)
                    doubled[i] = from[i] + from[i + span];
                sums = doubled;
            }
        }
    }
};

//! Scores of one row from numerators and variances, in place over n. The same rounded operations as znccScore().
void znccRow(const int64_t* n, const int64_t* v, int64_t t, int cols, uint32_t* values)
{
    for (int x = 0; x < cols; ++x)
        values[x] = znccToValue(znccScore(n[x], v[x], t));
}

template <typename V, typename P>
void finishRow(const Plan& plan, const P* terms, size_t termStride, const P* windows, size_t windowStride, int cols,
               V* values, Buffer& nominators)
{
    const P* const term[7] = {terms,
                              terms + termStride,
                              terms + 2 * termStride,
                              terms + 3 * termStride,
                              terms + 4 * termStride,
                              terms + 5 * termStride,
                              terms + 6 * termStride};
    if (plan.metric == METRIC_SAD)
        for (int x = 0; x < cols; ++x)
            values[x] = static_cast<V>(plan.windowCount ? term[0][x] - windows[x] : term[0][x]);
    else if (plan.metric == METRIC_SSD && !plan.weighted)
        for (int x = 0; x < cols; ++x)
            values[x] = static_cast<V>(static_cast<P>(plan.templateSquares) - 2 * term[0][x] + windows[x]);
    else if (plan.metric == METRIC_SSD)
        for (int x = 0; x < cols; ++x)
            values[x] = static_cast<V>(static_cast<P>(plan.templateSquares) - 2 * (term[0][x] + 256 * term[1][x]) +
                                       term[2][x] + 256 * term[3][x]);
    else
    {
        uint64_t* const n = nominators.get<uint64_t>(2 * cols);
        uint64_t* const v = n + cols;
        for (int x = 0; x < cols; ++x)
        {
            n[x] = plan.kn * (plan.weighted ? term[0][x] + uint64_t(256) * term[1][x] : term[0][x]);
            v[x] = plan.kn * (plan.weighted ? term[2][x] + uint64_t(256) * term[3][x] : windows[x]);
        }
        for (int c = 0; c < plan.channels; ++c)
        {
            const P* const sums = plan.weighted ? term[4 + c] : windows + (1 + c) * windowStride;
            for (int x = 0; x < cols; ++x)
            {
                n[x] -= plan.kc[c] * sums[x];
                v[x] -= plan.ka * sums[x] * sums[x];
            }
        }
        znccRow(reinterpret_cast<int64_t*>(n), reinterpret_cast<int64_t*>(v), plan.variance, cols,
                reinterpret_cast<uint32_t*>(values));
    }
}

template <typename V> RowBest<V> bestOfRow(const V* values, int cols)
{
    RowBest<V> best = {values[0], 0};
    for (int x = 1; x < cols; ++x)
        if (values[x] < best.value)
            best = {values[x], x};
    return best;
}

//! V: type of the map, P: type of the sums. ZNCC has V = uint32_t with either P.
template <typename V, typename P>
void scoreRows(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<V>& map)
{
    RowScratch& scratch = rowScratch();
    const size_t stride = alignTile(cols), termStride = GROUP * stride;
    P* const terms = scratch.parts.get<P>(7 * termStride + 4 * stride);
    P* const windowRows = terms + 7 * termStride;
    WindowSums<P> windows[4];
    const size_t longest = static_cast<size_t>(cols) + plan.width + 7;
    P* const columns = scratch.columns.get<P>(4 * longest);
    P* const powers = scratch.powers.get<P>(2 * longest);
    for (int w = 0; w < plan.windowCount; ++w)
    {
        windows[w] = {&plan.windows[w], planes, cols + plan.windows[w].width - 1, plan.height, columns + w * longest};
        windows[w].start();
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
                windows[w].sumUp(windowRows + w * stride, powers);
            }
            V* const values = map.values + (y + r) * map.stride;
            finishRow<V, P>(plan, terms + r * stride, termStride, windowRows, stride, cols, values, scratch.nominators);
            if (map.best)
                map.best[y + r] = bestOfRow(values, cols);
        }
    }
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
    for (int c = 0; c < channels; ++c)
    {
        uint8_t* const out = row + c * planes.planeStep;
        for (int x = 0; x < cols; ++x)
            out[x] = source[x * pixelStride + c] ^ planes.bias;
        if (!squares)
            continue;
        uint8_t* const low = row + (channels + c) * planes.planeStep;
        uint8_t* const high = row + (2 * channels + c) * planes.planeStep;
        for (int x = 0; x < cols; ++x)
        {
            const uint32_t value = source[x * pixelStride + c], square = value * value;
            low[x] = static_cast<uint8_t>(square) ^ planes.bias;
            high[x] = static_cast<uint8_t>(square >> 8) ^ planes.bias;
        }
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
