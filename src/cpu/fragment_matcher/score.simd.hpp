// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score, row by row: compiled once per instruction set. See src/cpu/fragment_matcher/scores.hpp for terms and windows.
#include "scores.hpp"
#include "opencv2/core/hal/intrin.hpp"
#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY
#include "scores_metric.hpp"
#include "scores_pairs.hpp"
#endif

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN

//! Returns the properties of the kernels of this instruction set.
KernelTraits kernelTraits();

//! Converts rows of the image to rows of planes from `data` on. @param squares adds planes of squares.
void unpackRows(const ByteImageView& part, bool squares, const Planes& planes, uint8_t* data);

//! Computes the values of `rows` x `cols` positions and the best of each row. @param given sums of the terms, if known.
//! @param first row of `given` that belongs to the first of these rows.
void scoreMap32(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map,
                const TermSums& given, int first, RowScratch& scratch);
void scoreMap64(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map,
                const TermSums& given, int first, RowScratch& scratch);

//! Returns the value of the position at the origin of `planes`, in the unit of the map.
uint64_t scorePosition(const Plan& plan, const Planes& planes);

#ifndef CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

namespace {

typedef void (*TileFunction)(const Planes&, const Term&, const Segment&, int, uint32_t*, size_t, int);

template <int R> TileFunction tileFunction(int kind)
{
#if CT_AVX512
    static const bool vnni = hasVnni();
    if (vnni && kind != SAD_TERM)
        return kind == DOT_TERM ? multiplyTile<VnniDotOp, R> : multiplyTile<VnniWeightedSadOp, R>;
#endif
#if CT_SSE
    if (kind == SAD_TERM)
        return sadTile<R>;
#endif
    return kind == WEIGHTED_SAD_TERM ? multiplyTile<WeightedSadOp, R> : multiplyTile<DotOp, R>;
}

const int STRIP_ROWS = 16; // rows whose terms are computed before finishRow() processes them

//! Sums a term for R rows of positions.
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

#if CT_SSE

//! Sums a term for 4 R rows of positions by multiplyPairs().
template <int R, typename P>
void sumPairs(const Plan& plan, const Term& term, const Planes& planes, int cols, P* out, size_t stride,
              RowScratch& scratch)
{
    if (sizeof(P) == sizeof(uint32_t))
        return multiplyPairs<R>(plan, term, planes, cols, reinterpret_cast<uint32_t*>(out), stride, scratch.pairs);
    uint32_t* const sums = scratch.partial.get<uint32_t>(4 * R * stride);
    multiplyPairs<R>(plan, term, planes, cols, sums, stride, scratch.pairs);
    std::copy(sums, sums + 4 * R * stride, out);
}

#endif

//! Sums a term for `rows` rows of positions, as many of them at once as possible.
template <typename P>
void sumRows(const Plan& plan, const Term& term, const Planes& planes, int rows, int cols, P* out, size_t stride,
             RowScratch& scratch)
{
    int y = 0;
#if CT_SSE
    for (; !term.pairs.empty() && rows - y >= 16; y += 16)
        sumPairs<4>(plan, term, planes.at(0, y), cols, out + y * stride, stride, scratch);
    for (; !term.pairs.empty() && rows - y >= 4; y += 4)
        sumPairs<1>(plan, term, planes.at(0, y), cols, out + y * stride, stride, scratch);
#endif
    for (; rows - y >= GROUP; y += GROUP)
        sumTerm<GROUP>(plan, term, planes.at(0, y), cols, out + y * stride, stride, scratch.partial);
    for (; y < rows; ++y)
        sumTerm<1>(plan, term, planes.at(0, y), cols, out + y * stride, stride, scratch.partial);
}

//! Clears the elements after the last column of rows of sums, which finishRow() reads.
template <typename P> void clearTails(P* sums, size_t stride, int rows, int cols)
{
    for (int r = 0; r < rows; ++r)
        std::fill(sums + r * stride + cols, sums + r * stride + alignVector(cols), P(0));
}

//! Computes rows of values. V: type of the map, P: type of the sums. ZNCC has V = uint32_t with either P.
template <typename V, typename P>
void scoreRows(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<V>& map, const TermSums& given,
               int first, RowScratch& scratch)
{
    const size_t stride = alignRow(cols), termStride = given.sums ? given.termStride : STRIP_ROWS * stride;
    P* const windowRows = scratch.parts.get<P>((MAX_WINDOWS + plan.termCount * STRIP_ROWS) * stride);
    P* const strip = windowRows + MAX_WINDOWS * stride; // sums of terms
    WindowSums<P> windows[MAX_WINDOWS];
    int widest = 0;
    for (int w = 0; w < plan.windowCount; ++w)
        widest = std::max(widest, plan.windows[w].width);
    const size_t windowMemory = WindowSums<P>::memoryFor(cols, widest);
    P* const columns = scratch.columns.get<P>(MAX_WINDOWS * windowMemory);
    if (plan.windowCount)
    {
        const size_t longest = alignRow(static_cast<size_t>(cols) + widest);
        uint8_t* const zeros = scratch.zeros.get<uint8_t>(longest);
        memset(zeros, planes.bias, longest);
        for (int w = 0; w < plan.windowCount; ++w)
            windows[w].start(plan.windows[w], planes, cols, plan.height, zeros, columns + w * windowMemory);
    }
    for (int y = 0; y < rows; y += STRIP_ROWS)
    {
        const int count = std::min(STRIP_ROWS, rows - y);
        P* const terms = given.sums ? given.row<P>(first + y) : strip;
        for (int k = 0; k < plan.termCount; ++k)
        {
            P* const term = terms + k * termStride;
            if (!given.sums)
                sumRows(plan, plan.terms[k], planes.at(0, y), count, cols, term, stride, scratch);
            clearTails(term, stride, count, cols);
        }
        for (int r = 0; r < count; ++r)
        {
            for (int w = 0; w < plan.windowCount; ++w)
            {
                if (y + r > 0)
                    windows[w].moveDown();
                windows[w].sumUp(windowRows + w * stride);
            }
            clearTails(windowRows, stride, plan.windowCount, cols);
            V* const values = map.values + (y + r) * map.stride;
            finishRow<V, P>(plan, terms + r * stride, termStride, windowRows, stride, cols, values, scratch.numerators);
            if (map.best)
                map.best[y + r] = bestOfRow(values, cols);
        }
    }
}

} // namespace

KernelTraits kernelTraits()
{
    KernelTraits traits = {0, SAD_WIDTH, CT_SSE != 0};
#if CT_AVX512
    if (hasVnni())
    {
        traits.bias = 0x80;
        traits.pairs = false;
    }
#endif
    return traits;
}

void unpackRows(const ByteImageView& part, bool squares, const Planes& planes, uint8_t* data)
{
    for (int y = 0; y < part.rows; ++y)
    {
        // Rows of a small part lie in different pages, so the hardware does not prefetch the next one.
        prefetchBytes(part.pixel(0, std::min(y + 8, part.rows - 1)), part.cols * part.pixelStride);
        uint8_t* const row = data + y * planes.step;
        if (part.deep())
        {
            splitDeepRow(part, y, planes.bias, row, planes.planeStep);
            for (int c = 0; squares && c < part.channels; ++c)
                squareDeepRow(row + c * planes.planeStep, part.cols, planes.bias, part.channels * planes.planeStep);
            continue;
        }
        splitRow(part, y, planes.bias, row, planes.planeStep);
        for (int c = 0; squares && c < part.channels; ++c)
            squareRow(row + c * planes.planeStep, part.cols, planes.bias, row + (part.channels + c) * planes.planeStep,
                      row + (2 * part.channels + c) * planes.planeStep);
    }
}

void scoreMap32(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map,
                const TermSums& given, int first, RowScratch& scratch)
{
    if (plan.wide)
        scoreRows<uint32_t, uint64_t>(plan, planes, rows, cols, map, given, first, scratch); // ZNCC only
    else
        scoreRows<uint32_t, uint32_t>(plan, planes, rows, cols, map, given, first, scratch);
}

void scoreMap64(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map,
                const TermSums& given, int first, RowScratch& scratch)
{
    scoreRows<uint64_t, uint64_t>(plan, planes, rows, cols, map, given, first, scratch);
}

uint64_t scorePosition(const Plan& plan, const Planes& planes) { return positionValue(plan, planes); }

#endif // CV_CPU_OPTIMIZATION_DECLARATIONS_ONLY

CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu
