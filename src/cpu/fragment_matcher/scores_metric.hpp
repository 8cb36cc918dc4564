// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// score and walk, for one instruction set: everything that depends on the metric in the kernels of the CPU backend.
// Computes the values of a row of positions from terms and windows, and the value of a single position. pack chooses
// the terms and windows of a metric.
// The vectors of a row and the value of a single position must give equal bits, so they stand together.
#ifndef OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_METRIC_HPP
#define OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_METRIC_HPP

#include "../../common/vectors.hpp"
#include "scores_rows.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {
CV_CPU_OPTIMIZATION_NAMESPACE_BEGIN
namespace {

// --- a row of positions ----------------------------------------------------------------------------------------------

using detail::CV_CPU_OPTIMIZATION_NAMESPACE::doubleOf;

//! znccScore() of vectors: the same operations, rounded alike.
struct ZnccScorer
{
    explicit ZnccScorer(double deviation) : root(vx_setall_f64(deviation)) {}

    v_float64 correlation(const v_float64& n, const v_float64& v) const
    {
        const v_float64 one = vx_setall_f64(1.), minusOne = vx_setall_f64(-1.);
        const v_float64 above = v_and(n, v_gt(v, vx_setzero_f64())); // v is an integer, so v > 0 means v >= 1
        const v_float64 norm = v_mul(v_sqrt(v_max(v, one)), root);
        return v_max(v_min(v_div(above, norm), one), minusOne);
    }

    v_float64 root;
};

//! Loads integers below 2^52 as doubles.
inline v_float64 loadIntegers(const uint64_t* from) { return doubleOf(vx_load(from)); }
inline v_float64 loadIntegers(const uint32_t* from) { return doubleOf(vx_load_expand(from)); }

/** Computes ZNCC of a row with equal weights or none. ka divides numerators and variances; the quotients, and all
values that they are computed from, are integers below 2^51, because ZNCC is limited to fragments of less than 2^16
pixels. So doubles hold them exactly, and their product with ka is rounded like the integer that it represents. @param
scores alignVector(cols) elements. */
template <typename P>
void znccUniformRow(const Plan& plan, const P* terms, const P* windows, size_t stride, int cols, float* scores)
{
    const int step = VTraits<v_float64>::max_nlanes;
    const v_float64 unit = vx_setall_f64(static_cast<double>(plan.ka));
    const v_float64 area = vx_setall_f64(static_cast<double>(plan.kn / plan.ka));
    v_float64 sums[3];
    for (int c = 0; c < plan.channels; ++c)
        sums[c] = vx_setall_f64(static_cast<double>(plan.kc[c] / plan.ka));
    const ZnccScorer scorer(plan.deviation);
    for (size_t x = 0; x < alignVector(cols); x += 2 * step)
    {
        v_float64 part[2];
        for (int k = 0; k < 2; ++k)
        {
            const size_t at = x + k * step;
            v_float64 n = v_mul(area, loadIntegers(terms + at)), v = v_mul(area, loadIntegers(windows + at));
            for (int c = 0; c < plan.channels; ++c)
            {
                const v_float64 a = loadIntegers(windows + (1 + c) * stride + at);
                n = v_sub(n, v_mul(sums[c], a));
                v = v_sub(v, v_mul(a, a));
            }
            part[k] = scorer.correlation(v_mul(n, unit), v_mul(v, unit));
        }
        v_store(scores + x, v_cvt_f32(part[0], part[1]));
    }
}

//! Computes scores from numerators and variances, alignVector(cols) elements each.
inline void znccRow(const double* n, const double* v, double deviation, int cols, float* scores)
{
    const int step = VTraits<v_float64>::max_nlanes;
    const ZnccScorer scorer(deviation);
    for (size_t x = 0; x < alignVector(cols); x += 2 * step)
    {
        v_float64 part[2];
        for (int k = 0; k < 2; ++k)
            part[k] = scorer.correlation(vx_load(n + x + k * step), vx_load(v + x + k * step));
        v_store(scores + x, v_cvt_f32(part[0], part[1]));
    }
}

//! Computes numerators and variances of ZNCC modulo 2^64: the results fit, intermediate products need not.
template <typename P>
void znccParts(const Plan& plan, const P* terms, size_t termStride, const P* windows, size_t stride, size_t count,
               uint64_t* n, uint64_t* v)
{
    const P *const low = terms, *const high = terms + termStride;
    const P *const squaresLow = terms + 2 * termStride, *const squaresHigh = terms + 3 * termStride;
    for (size_t x = 0; x < count; ++x)
    {
        n[x] = plan.kn * (plan.weighted ? low[x] + uint64_t(256) * high[x] : low[x]);
        v[x] = plan.kn * (plan.weighted ? squaresLow[x] + uint64_t(256) * squaresHigh[x] : windows[x]);
    }
    for (int c = 0; c < plan.channels; ++c)
    {
        const P* const sums = plan.weighted ? terms + (4 + c) * termStride : windows + (1 + c) * stride;
        for (size_t x = 0; x < count; ++x)
        {
            n[x] -= plan.kc[c] * sums[x];
            v[x] -= plan.ka * sums[x] * sums[x];
        }
    }
}

//! Returns i unit, rounded once: both products are exact for units below 2^20.
inline double timesUnit(int64_t i, double unit)
{
    return static_cast<double>(i >> 32) * 4294967296. * unit + static_cast<double>(static_cast<uint32_t>(i)) * unit;
}

//! Returns true if the numerators and variances of 16 bits without weights fit 63 bits.
inline bool fitUniformParts(const Plan& plan)
{
    const double pixels = static_cast<double>(plan.width) * plan.height;
    return plan.channels * pixels * pixels * (65535. * 65535. / 4) < 9223372036854775807.;
}

//! deepZnccParts() with equal weights or none. ka divides numerators and variances, and the quotients fit 63 bits.
template <typename P>
void uniformDeepParts(const Plan& plan, const P* terms, const P* windows, size_t stride, size_t count, double* n,
                      double* v)
{
    const uint64_t area = plan.kn / plan.ka,
                   templ[] = {plan.kc[0] / plan.ka, plan.kc[1] / plan.ka, plan.kc[2] / plan.ka};
    const double unit = static_cast<double>(plan.ka);
    for (size_t x = 0; x < count; ++x)
    {
        uint64_t numerator = area * terms[x], variance = area * windows[x]; // modulo 2^64
        for (int c = 0; c < plan.channels; ++c)
        {
            const uint64_t sum = windows[(1 + c) * stride + x];
            numerator -= templ[c] * sum;
            variance -= sum * sum;
        }
        n[x] = timesUnit(static_cast<int64_t>(numerator), unit);
        v[x] = timesUnit(static_cast<int64_t>(variance), unit);
    }
}

//! Computes numerators and variances of ZNCC of 16 bits from sums that joinTerms() has joined.
template <typename P>
void deepZnccParts(const Plan& plan, const P* terms, size_t termStride, const P* windows, size_t stride, size_t count,
                   double* n, double* v)
{
    if (!plan.weighted && fitUniformParts(plan))
        return uniformDeepParts(plan, terms, windows, stride, count, n, v);
    const uint64_t factor = plan.weighted ? 1 : plan.sums.W / (static_cast<uint64_t>(plan.width) * plan.height);
    for (size_t x = 0; x < count; ++x)
    {
        DeepSums sums = {factor * terms[x], factor * (plan.weighted ? terms[4 * termStride + x] : windows[x]), {}};
        for (int c = 0; c < plan.channels; ++c)
            sums.image[c] =
                factor * (plan.weighted ? terms[(8 + 2 * c) * termStride + x] : windows[(1 + c) * stride + x]);
        deepParts(sums, plan.sums, plan.channels, n[x], v[x]);
    }
}

/** Joins the sums of terms of 16 bits that are digits to the base 256, in place of the first: S(qIT); with weights also
S(qI^2) from term 4 on, and S(qI) of each channel from term 8 on. */
template <typename P> void joinTerms(const Plan& plan, P* terms, size_t termStride, size_t count)
{
    const auto join = [&](int first, int digits)
    {
        P* const to = terms + first * termStride;
        for (int k = 1; k < digits; ++k)
            for (size_t x = 0; x < count; ++x)
                to[x] = 256 * to[x] + to[k * termStride + x];
    };
    join(0, plan.weighted ? 4 : 3);
    for (int first = 4; first < plan.termCount; first += first == 4 ? 4 : 2)
        join(first, first == 4 ? 4 : 2);
}

//! Computes ZNCC of one row of positions from its terms and windows.
template <typename P>
void finishZnccRow(const Plan& plan, const P* terms, size_t termStride, const P* windows, size_t stride, int cols,
                   uint32_t* values, Buffer& memory)
{
    float* const scores = memory.get<float>(9 * stride);
    if (!plan.weighted && !plan.deep)
        znccUniformRow(plan, terms, windows, stride, cols, scores);
    else
    {
        uint64_t *const n = reinterpret_cast<uint64_t*>(scores + stride), *const v = n + stride;
        const size_t count = alignVector(cols);
        double *const numerators = reinterpret_cast<double*>(v + stride), *const variances = numerators + stride;
        if (plan.deep)
            deepZnccParts(plan, terms, termStride, windows, stride, count, numerators, variances);
        else
        {
            znccParts(plan, terms, termStride, windows, stride, count, n, v);
            for (size_t x = 0; x < count; ++x)
            {
                numerators[x] = static_cast<double>(static_cast<int64_t>(n[x]));
                variances[x] = static_cast<double>(static_cast<int64_t>(v[x]));
            }
        }
        znccRow(numerators, variances, plan.deviation, cols, scores);
    }
    for (int x = 0; x < cols; ++x)
        values[x] = znccToValue(scores[x]);
}

//! Never called: values of ZNCC have 32 bits.
template <typename P> void finishZnccRow(const Plan&, const P*, size_t, const P*, size_t, int, uint64_t*, Buffer&)
{
    CV_Error(Error::StsInternal, "FragmentMatcher: ZNCC with values of 64 bits");
}

//! Computes the values of one row of positions from its terms and windows. Changes terms of 16 bits.
template <typename V, typename P>
void finishRow(const Plan& plan, P* terms, size_t termStride, const P* windows, size_t stride, int cols, V* values,
               Buffer& memory)
{
    const P squares = static_cast<P>(plan.templateSquares);
    const size_t count = alignVector(cols);
    if (plan.deep)
        joinTerms(plan, terms, termStride, count);
    switch (plan.metric)
    {
    case Metric::SAD:
        if (plan.windowCount == 0)
            std::copy(terms, terms + cols, values);
        else
            for (size_t x = 0; x < count; ++x)
                values[x] = static_cast<V>(terms[x] - windows[x]);
        return;
    case Metric::SSD:
        if (plan.weighted && plan.deep)
            for (size_t x = 0; x < count; ++x)
                values[x] = static_cast<V>(squares - 2 * terms[x] + terms[x + 4 * termStride]);
        else if (plan.weighted)
            for (size_t x = 0; x < count; ++x)
                values[x] = static_cast<V>(squares - 2 * (terms[x] + 256 * terms[x + termStride]) +
                                           terms[x + 2 * termStride] + 256 * terms[x + 3 * termStride]);
        else
            for (size_t x = 0; x < count; ++x)
                values[x] = static_cast<V>(squares - 2 * terms[x] + windows[x]);
        return;
    case Metric::ZNCC:
        return finishZnccRow(plan, terms, termStride, windows, stride, cols, values, memory);
    }
}

// --- a single position, with the same integers -----------------------------------------------------------------------

//! Weighted sums over one plane, of terms of at most 255^3. first: term of the metric; sum, squares: sums of the image
//! and of its squares (ZNCC).
struct PositionSums
{
    uint64_t first, sum, squares;
};

template <Metric METRIC, bool WEIGHTED> struct PositionKernel
{
    uint8_t bias;

    void addByte(PositionSums& sums, uint8_t image, uint32_t t, uint32_t q) const
    {
        const uint32_t i = static_cast<uint8_t>(image ^ bias), difference = i > t ? i - t : t - i;
        switch (METRIC)
        {
        case Metric::SAD:
            sums.first += q * difference;
            break;
        case Metric::SSD:
            sums.first += q * difference * difference;
            break;
        case Metric::ZNCC:
            sums.first += q * i * t;
            break;
        }
        sums.sum += q * i;
        sums.squares += q * i * i;
    }

    struct Vectors
    {
        v_uint32x4 first = v_setzero_u32(), sum = v_setzero_u32(), squares = v_setzero_u32();
        v_uint64x2 wideFirst = v_setzero_u64(), wideSquares = v_setzero_u64(); //!< sums of products of three bytes

        void flush(PositionSums& total)
        {
            total.first += reduce(first) + v_reduce_sum(wideFirst);
            total.sum += reduce(sum);
            total.squares += reduce(squares) + v_reduce_sum(wideSquares);
            wideFirst = wideSquares = v_setzero_u64();
        }
        //! Returns the sum of all lanes, and clears them.
        static uint64_t reduce(v_uint32x4& sums)
        {
            v_uint64x2 low, high;
            v_expand(sums, low, high);
            sums = v_setzero_u32();
            return v_reduce_sum(v_add(low, high));
        }
    };

    //! Returns sum + q a b.
    static v_uint64x2 addProducts(const v_uint8x16& q, const v_uint8x16& a, const v_uint8x16& b, v_uint64x2 sum)
    {
        v_uint16x8 qaLow, qaHigh, bLow, bHigh;
        v_mul_expand(q, a, qaLow, qaHigh);
        v_expand(b, bLow, bHigh);
        sum = v_dotprod_expand(qaLow, bLow, sum);
        return v_dotprod_expand(qaHigh, bHigh, sum);
    }

    void addVector(Vectors& sums, const uint8_t* image, const uint8_t* taps, const uint8_t* weights) const
    {
        const v_uint8x16 i = v_xor(v_load(image), v_setall_u8(bias)), t = v_load(taps), difference = v_absdiff(i, t);
        const v_uint8x16 q = WEIGHTED ? v_load(weights) : v_setall_u8(1);
        switch (METRIC)
        {
        case Metric::SAD:
            sums.first = v_dotprod_expand(difference, q, sums.first);
            return;
        case Metric::SSD:
            if (WEIGHTED)
                sums.wideFirst = addProducts(q, difference, difference, sums.wideFirst);
            else
                sums.first = v_dotprod_expand(difference, difference, sums.first);
            return;
        case Metric::ZNCC:
            sums.sum = v_dotprod_expand(i, q, sums.sum);
            break;
        }
        if (WEIGHTED)
        {
            sums.wideFirst = addProducts(q, i, t, sums.wideFirst);
            sums.wideSquares = addProducts(q, i, i, sums.wideSquares);
            return;
        }
        sums.first = v_dotprod_expand(i, t, sums.first);
        sums.squares = v_dotprod_expand(i, i, sums.squares);
    }

    //! Returns the sums. @param taps, q rows without gaps.
    PositionSums operator()(const uint8_t* image, size_t step, const uint8_t* taps, const uint8_t* q, int width,
                            int height) const
    {
        PositionSums total = {0, 0, 0};
        const int vectors = width / 16, capacity = 16000; // a lane holds UINT32_MAX / (4 x 255 x 255) products
        Vectors sums;
        int pending = 0;
        for (int y = 0; y < height; ++y)
        {
            const uint8_t* const row = image + y * step;
            const size_t at = static_cast<size_t>(y) * width;
            for (int x = 0; x < 16 * vectors; x += 16)
                addVector(sums, row + x, taps + at + x, q + (WEIGHTED ? at + x : 0));
            pending += vectors;
            if (pending + vectors > capacity || y == height - 1)
            {
                sums.flush(total);
                pending = 0;
            }
            for (int x = 16 * vectors; x < width; ++x)
                addByte(total, row[x], taps[at + x], WEIGHTED ? q[at + x] : 1);
        }
        return total;
    }
};

//! Returns the value of the position of a fragment of 16 bits at the origin of `planes`, of the metrics of products.
inline uint64_t deepPositionValue(const Plan& plan, const Planes& planes)
{
    const size_t area = static_cast<size_t>(plan.width) * plan.height, toLow = plan.channels * planes.planeStep;
    uint64_t differences = 0;
    DeepSums sums = {};
    for (int c = 0; c < plan.channels; ++c)
        for (int y = 0; y < plan.height; ++y)
        {
            const uint8_t* const image = planes.pixel(c, 0, y);
            const size_t at = static_cast<size_t>(y) * plan.width;
            const uint8_t *const high = &plan.bytes[c * area + at], *const low = high + plan.channels * area;
            const auto of = [](uint8_t upper, uint8_t lower) { return static_cast<uint64_t>(upper << 8 | lower); };
            for (int x = 0; x < plan.width; ++x)
            {
                const uint64_t q = plan.weighted || isCorrelation(plan.metric) ? (plan.q ? plan.q[at + x] : 255) : 1;
                const uint64_t i = of(image[x] ^ planes.bias, image[x + toLow] ^ planes.bias), t = of(high[x], low[x]);
                const uint64_t difference = i > t ? i - t : t - i;
                differences += q * difference * difference;
                sums.cross += q * i * t;
                sums.squares += q * i * i;
                sums.image[c] += q * i;
            }
        }
    if (!isCorrelation(plan.metric))
        return differences;
    return znccToValue(deepZnccScore(sums, plan.sums, plan.channels, plan.deviation));
}

template <Metric METRIC, bool WEIGHTED> uint64_t positionValue(const Plan& plan, const Planes& planes)
{
    const PositionKernel<METRIC, WEIGHTED> kernel = {planes.bias};
    const size_t area = static_cast<size_t>(plan.width) * plan.height;
    uint64_t first = 0, squares = 0, n = 0, v = 0;
    for (int c = 0; c < plan.channels; ++c)
    {
        const PositionSums sums =
            kernel(planes.pixel(c, 0, 0), planes.step, &plan.bytes[c * area], plan.q, plan.width, plan.height);
        first += sums.first;
        squares += sums.squares;
        n -= plan.kc[c] * sums.sum;
        v -= plan.ka * sums.sum * sums.sum;
    }
    if (!isCorrelation(METRIC))
        return first;
    n += plan.kn * first;
    v += plan.kn * squares;
    return znccToValue(znccScoreOf(static_cast<int64_t>(n), static_cast<int64_t>(v), plan.deviation));
}

//! Returns the value of the position at the origin of `planes`.
inline uint64_t positionValue(const Plan& plan, const Planes& planes)
{
    if (plan.deep)
        return deepPositionValue(plan, planes);
    switch (plan.metric)
    {
    case Metric::SAD:
        return plan.weighted ? positionValue<Metric::SAD, true>(plan, planes)
                             : positionValue<Metric::SAD, false>(plan, planes);
    case Metric::SSD:
        return plan.weighted ? positionValue<Metric::SSD, true>(plan, planes)
                             : positionValue<Metric::SSD, false>(plan, planes);
    case Metric::ZNCC:
        return plan.weighted ? positionValue<Metric::ZNCC, true>(plan, planes)
                             : positionValue<Metric::ZNCC, false>(plan, planes);
    }
    return 0;
}

} // namespace
CV_CPU_OPTIMIZATION_NAMESPACE_END
}}}} // namespace cv::cuda::fragment_matcher::cpu

#endif // OPENCV_CUDATRACKING_CPU_FRAGMENT_MATCHER_SCORES_METRIC_HPP
