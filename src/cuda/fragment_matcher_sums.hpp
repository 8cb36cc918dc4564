// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: sums of a thread's positions over staged rows.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP

#include "fragment_matcher_staging.hpp"
#include <type_traits>

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

/** Sums of P positions, 4 pixels apart. SAD and unweighted SSD: `sum`. Moments: S(qI), S(qI^2), S(qIT), the last two as
256 * high + low when weighted. Unweighted sums leave the factor 255 out. */
template <int METRIC, bool WEIGHTED, int P> struct Sums
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS, SPLIT = Traits<METRIC, WEIGHTED>::SPLIT;

    uint32_t sum[P], squares[P], squaresLow[P], cross[P], crossLow[P];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < P; ++i)
            sum[i] = squares[i] = squaresLow[i] = cross[i] = crossLow[i] = 0;
    }

    __device__ __forceinline__ void add(int i, uint32_t image, uint32_t high, uint32_t low, uint32_t t, uint32_t tLow,
                                        uint32_t q)
    {
        if (METRIC == METRIC_SAD)
            sum[i] = WEIGHTED ? dot4(__vabsdiffu4(image, t), q, sum[i]) : sad4(image, t, sum[i]);
        else if (!MOMENTS)
        {
            const uint32_t difference = __vabsdiffu4(image, t);
            sum[i] = dot4(difference, difference, sum[i]);
        }
        else
        {
            if (METRIC == METRIC_ZNCC)
                sum[i] = WEIGHTED ? dot4(image, q, sum[i]) : sad4(image, 0, sum[i]);
            squares[i] = WEIGHTED ? dot4(high, q, squares[i]) : dot4(image, image, squares[i]);
            cross[i] = dot4(image, t, cross[i]);
            if (WEIGHTED)
            {
                squaresLow[i] = dot4(low, q, squaresLow[i]);
                crossLow[i] = dot4(image, tLow, crossLow[i]);
            }
        }
    }

    __device__ __forceinline__ uint64_t squaresOf(int i) const
    {
        return WEIGHTED ? (static_cast<uint64_t>(squares[i]) << 8) + squaresLow[i] : 255ull * squares[i];
    }
    __device__ __forceinline__ uint64_t crossOf(int i) const
    {
        return WEIGHTED ? (static_cast<uint64_t>(cross[i]) << 8) + crossLow[i] : 255ull * cross[i];
    }
    __device__ __forceinline__ uint64_t imageOf(int i) const { return WEIGHTED ? sum[i] : 255ull * sum[i]; }

    //! Adds `rows` rows of a template, `width` pixels each; steps in words from row to row, all 16-byte aligned. SPLIT:
    //! `expandedWords` from the picture to the high bytes of its square, and on to the low ones.
    __device__ __forceinline__ void addRows(const uint32_t* picture, int pictureStep, int expandedWords,
                                            const uint32_t* t, const uint32_t* tLow, const uint32_t* q, int step,
                                            int rows, int width)
    {
        const auto columns = [&](auto words, auto last)
        {
            addColumns<words.value, last.value>(picture, pictureStep, expandedWords, t, tLow, q, step, rows);
            picture += words.value, t += words.value, tLow += words.value, q += words.value, width -= 4 * words.value;
        };
        using std::integral_constant;
        const std::false_type whole;
        const std::true_type last;
        if constexpr (!SPLIT) // which has no registers for so many words
        {
            if (width >= 32)
            {
#pragma unroll 1
                while (width >= 48)
                    columns(integral_constant<int, 12>(), whole);
                if (width >= 32)
                    columns(integral_constant<int, 8>(), whole);
            }
        }
#pragma unroll 1
        while (width >= 16)
            columns(integral_constant<int, 4>(), whole);
        if (width == 0)
            return;
        if (width > 12)
            columns(integral_constant<int, 4>(), last);
        else if (width > 8)
            columns(integral_constant<int, 3>(), last);
        else if (width > 4)
            columns(integral_constant<int, 2>(), last);
        else
            columns(integral_constant<int, 1>(), last);
    }

private:
    //! Adds WORDS columns of words; LAST: unless they are weighted, the weights mask out what is beyond the width.
    template <int WORDS, bool LAST>
    __device__ __forceinline__ void addColumns(const uint32_t* picture, int pictureStep, int expandedWords,
                                               const uint32_t* t, const uint32_t* tLow, const uint32_t* q, int step,
                                               int rows)
    {
        constexpr int IMAGE = (P + WORDS + 2) / 4 * 4, TEMPLATE = (WORDS + 3) / 4 * 4;
#pragma unroll(WORDS <= 4 ? 4 : 1)
        for (int r = 0; r < rows; ++r, picture += pictureStep, t += step, tLow += step, q += step)
        {
            uint32_t image[IMAGE], high[IMAGE], low[IMAGE], value[TEMPLATE], valueLow[TEMPLATE], weight[TEMPLATE];
            load<IMAGE>(picture, image);
            load<TEMPLATE>(t, value);
            if (SPLIT)
            {
                load<IMAGE>(picture + expandedWords, high);
                load<IMAGE>(picture + 2 * expandedWords, low);
                load<TEMPLATE>(tLow, valueLow);
            }
            if (WEIGHTED || LAST)
                load<TEMPLATE>(q, weight);
#pragma unroll
            for (int j = 0; j < WORDS; ++j)
            {
#pragma unroll
                for (int i = 0; i < P; ++i)
                {
                    if (WEIGHTED || !LAST)
                        add(i, image[i + j], high[i + j], low[i + j], value[j], valueLow[j], weight[j]);
                    else
                        addMasked(i, image[i + j], value[j], weight[j]);
                }
            }
        }
    }

    //! add() of unweighted sums, where `mask` is 0 or 255 a byte.
    __device__ __forceinline__ void addMasked(int i, uint32_t image, uint32_t t, uint32_t mask)
    {
        if (METRIC == METRIC_SAD) // not by masking the image: dp4a runs beside the byte differences, a mask before them
            sum[i] = dot4(__vabsdiffu4(image, t), mask & 0x01010101u, sum[i]);
        else
            add(i, image & mask, 0, 0, t, 0, 0); // the template is 0 there
    }

    template <int WORDS> static __device__ __forceinline__ void load(const uint32_t* source, uint32_t* words)
    {
#pragma unroll
        for (int k = 0; k < WORDS; k += 4)
        {
            const uint4 four = *reinterpret_cast<const uint4*>(source + k);
            words[k] = four.x, words[k + 1] = four.y, words[k + 2] = four.z, words[k + 3] = four.w;
        }
    }
};

//! Folds position i's moments of channel c: S(qIT) terms to `covariance`, S(qI^2) terms to `variance`, modulo 2^64.
//! ZNCC: n_c and v_c. Weighted SSD: S(qIT) and S(qI^2) themselves.
template <int METRIC, bool WEIGHTED, int P>
__device__ __forceinline__ void foldMoments(const Sums<METRIC, WEIGHTED, P>& sums, int i, const TemplateSums& templ,
                                            int c, uint64_t& covariance, uint64_t& variance)
{
    if (METRIC == METRIC_ZNCC)
    {
        const uint64_t image = sums.imageOf(i);
        covariance += templ.W * sums.crossOf(i) - image * templ.qT[c];
        variance += templ.W * sums.squaresOf(i) - image * image;
    }
    else
    {
        covariance += sums.crossOf(i);
        variance += sums.squaresOf(i);
    }
}

//! The value of a position from its folded moments.
template <int METRIC>
__device__ __forceinline__ uint64_t momentsValue(uint64_t covariance, uint64_t variance, const DeviceFragment& fragment)
{
    if (METRIC == METRIC_ZNCC)
        return znccToValue(
            znccScore(static_cast<int64_t>(covariance), static_cast<int64_t>(variance), fragment.variance));
    return fragment.sums.qT2 - 2 * covariance + variance;
}

//! Width of an expanded row in odd units of 16 bytes: all words that P positions from word `firstWord` (a multiple of 4)
//! on read for a template of `width` pixels.
CT_HOST_DEVICE int expandedUnits(int firstWord, int positions, int width)
{
    return (firstWord / 4 + (positions + (width + 3) / 4 + 2) / 4) | 1;
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP
