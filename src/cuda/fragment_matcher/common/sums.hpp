// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: sums of a thread's positions over staged rows.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP

#include "staging.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Sums of P positions, 4 pixels apart; see SumsAt.
template <Metric METRIC, bool WEIGHTED, int P> struct Sums
{
    using TheTraits = Traits<METRIC, WEIGHTED>;
    static constexpr bool SPLIT = TheTraits::SPLIT;

    uint32_t sum[P], squares[P], squaresLow[P], cross[P], crossLow[P];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < P; ++i)
            sum[i] = squares[i] = squaresLow[i] = cross[i] = crossLow[i] = 0;
    }

    __device__ __forceinline__ SumsAt at(int i) { return {sum[i], squares[i], squaresLow[i], cross[i], crossLow[i]}; }

    //! Adds `rows` rows of a template, `width` pixels each. Steps are in words from row to row, all rows 16-byte
    //! aligned.
    //! @param expandedWords if SPLIT, words from the image to the high bytes of its squares, and from these to the low
    //! bytes.
    __device__ __forceinline__ void addRows(const uint32_t* image, int imageStep, int expandedWords, const uint32_t* t,
                                            const uint32_t* tLow, const uint32_t* q, int step, int rows, int width)
    {
        const auto columns = [&](auto words, auto last)
        {
            addColumns<words.value, last.value>(image, imageStep, expandedWords, t, tLow, q, step, rows);
            image += words.value, t += words.value, tLow += words.value, q += words.value, width -= 4 * words.value;
        };
        using std::integral_constant;
        const std::false_type whole;
        const std::true_type last;
        if constexpr (!SPLIT) // SPLIT has no registers for so many words
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
    //! Adds WORDS columns of words. LAST: the columns may extend beyond the width; unweighted sums mask these pixels
    //! with the weights.
    template <int WORDS, bool LAST>
    __device__ __forceinline__ void addColumns(const uint32_t* pixels, int imageStep, int expandedWords,
                                               const uint32_t* t, const uint32_t* tLow, const uint32_t* q, int step,
                                               int rows)
    {
        constexpr int IMAGE = (P + WORDS + 2) / 4 * 4, TEMPLATE = (WORDS + 3) / 4 * 4;
#pragma unroll(WORDS <= 4 ? 4 : 1)
        for (int r = 0; r < rows; ++r, pixels += imageStep, t += step, tLow += step, q += step)
        {
            uint32_t image[IMAGE], high[IMAGE], low[IMAGE], value[TEMPLATE], valueLow[TEMPLATE], weight[TEMPLATE];
            load<IMAGE>(pixels, image);
            load<TEMPLATE>(t, value);
            if (SPLIT)
            {
                load<IMAGE>(pixels + expandedWords, high);
                load<IMAGE>(pixels + 2 * expandedWords, low);
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
                        TheTraits::add(at(i),
                                       {image[i + j], high[i + j], low[i + j], value[j], valueLow[j], weight[j]});
                    else
                        TheTraits::addMasked(at(i), image[i + j], value[j], weight[j]);
                }
            }
        }
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

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP
