// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, device code: sums of a thread's positions over staged rows.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP

#include "fragment_matcher_staging.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

/** Sums of P positions, 4 pixels apart. SAD and unweighted SSD: `sum`. Moments: S(qI), S(qI^2), S(qIT), the last two as
256 * high + low when weighted. Unweighted sums leave the factor 255 out. */
template <int METRIC, bool WEIGHTED, int P> struct Sums
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS, SPLIT = Traits<METRIC, WEIGHTED>::SPLIT;
    static constexpr int WINDOW = (P + 6) / 4 * 4; //!< words that P positions need for 4 template words, rounded up

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

    //! Adds `rows` rows of a template, `width` pixels each; steps in words from row to row.
    __device__ __forceinline__ void addRows(const uint32_t* picture, int pictureStep, const uint32_t* t,
                                            const uint32_t* tLow, const uint32_t* q, int step, int rows, int width)
    {
        if (width != 16)
        {
            for (int r = 0; r < rows; ++r, picture += pictureStep, t += step, tLow += step, q += step)
                addRow(picture, t, tLow, q, width);
            return;
        }
#pragma unroll 2
        for (int r = 0; r < rows; ++r, picture += pictureStep, t += step, tLow += step, q += step)
        {
            uint32_t image[WINDOW], high[WINDOW], low[WINDOW];
#pragma unroll
            for (int k = 0; k < WINDOW; k += 4)
                unpack(reinterpret_cast<const uint4*>(picture)[k / 4], image, high, low, k);
            addGroup(image, high, low, t, tLow, q);
        }
    }

    //! Adds one row of a template, `width` pixels. picture: the first word that position 0 needs; all 16-byte aligned.
    __device__ __forceinline__ void addRow(const uint32_t* picture, const uint32_t* t, const uint32_t* tLow,
                                           const uint32_t* q, int width)
    {
        uint32_t image[WINDOW], high[WINDOW], low[WINDOW];
        const uint4* source = reinterpret_cast<const uint4*>(picture);
#pragma unroll
        for (int k = 0; k < WINDOW; k += 4)
            unpack(*source++, image, high, low, k);
        const int groups = width >> 4;
#pragma unroll 2
        for (int g = 0; g < groups; ++g)
        {
            const uint4 next = *source++; // of the next group; LOOK_AHEAD bytes behind the picture can be read
            addGroup(image, high, low, t + 4 * g, SPLIT ? tLow + 4 * g : tLow, q + 4 * g);
#pragma unroll
            for (int k = 0; k + 4 < WINDOW; ++k)
            {
                image[k] = image[k + 4];
                high[k] = high[k + 4];
                low[k] = low[k + 4];
            }
            unpack(next, image, high, low, WINDOW - 4);
        }
        if (width % 16 == 0)
            return;
        const int rest = (width % 16 + 3) / 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) // up to three whole words and one that the weights mask
        {
            if (j >= rest)
                break;
            const uint32_t weight = q[4 * groups + j], value = t[4 * groups + j];
            const uint32_t valueLow = SPLIT ? tLow[4 * groups + j] : 0;
#pragma unroll
            for (int i = 0; i < P; ++i)
                add(i, WEIGHTED ? image[i + j] : image[i + j] & weight, high[i + j], low[i + j], value, valueLow,
                    weight);
        }
    }

private:
    //! Adds four words of a template row.
    __device__ __forceinline__ void addGroup(const uint32_t* image, const uint32_t* high, const uint32_t* low,
                                             const uint32_t* t, const uint32_t* tLow, const uint32_t* q)
    {
        const uint4 t4 = *reinterpret_cast<const uint4*>(t);
        uint4 low4 = {}, q4 = {};
        if (SPLIT)
            low4 = *reinterpret_cast<const uint4*>(tLow);
        if (WEIGHTED)
            q4 = *reinterpret_cast<const uint4*>(q);
#pragma unroll
        for (int i = 0; i < P; ++i)
        {
            add(i, image[i], high[i], low[i], t4.x, low4.x, q4.x);
            add(i, image[i + 1], high[i + 1], low[i + 1], t4.y, low4.y, q4.y);
            add(i, image[i + 2], high[i + 2], low[i + 2], t4.z, low4.z, q4.z);
            add(i, image[i + 3], high[i + 3], low[i + 3], t4.w, low4.w, q4.w);
        }
    }

    static __device__ __forceinline__ void unpack(uint4 w, uint32_t* image, uint32_t* high, uint32_t* low, int k)
    {
        image[k] = w.x;
        image[k + 1] = w.y;
        image[k + 2] = w.z;
        image[k + 3] = w.w;
        if (SPLIT)
        {
#pragma unroll
            for (int m = k; m < k + 4; ++m)
                multiply4(image[m], image[m], high[m], low[m]);
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

//! Width of a staged row in odd units of 16 bytes: all words that windows of `window` words at positions up to
//! `positionWords` read for a template of `width` pixels.
CT_HOST_DEVICE int stagedUnits(int positionWords, int window, int width)
{
    const int groups = width / 16, advances = width % 16 != 0 ? groups : groups - 1;
    return ((positionWords + window + 4 * advances) / 4) | 1;
}

//! Bytes behind the staged picture that addRow() may read, and ignores.
const int LOOK_AHEAD = 16;

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_SUMS_HPP
