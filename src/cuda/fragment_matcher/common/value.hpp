// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, SSD and ZNCC by matrix instructions: computes values from sums.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_VALUE_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_VALUE_HPP

#include "device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher { namespace device {

//! Constants of a fragment from which its values are computed.
struct ValueTerms
{
    uint64_t templ;            //!< SSD: S(qT^2), without weights S(T^2)
    uint32_t pixels, image[3]; //!< ZNCC without weights: number of pixels, S(T) of each channel
    double deviation, scale;   //!< ZNCC: templateDeviation(); score of n = 1 and v = 1
};

template <Metric METRIC, bool WEIGHTED> __device__ __forceinline__ ValueTerms termsOf(const DeviceFragment& fragment)
{
    ValueTerms terms = {};
    terms.templ = WEIGHTED ? fragment.sums.qT2 : fragment.sums.qT2 / 255;
    if (!isCorrelation(METRIC))
        return terms;
    terms.deviation = templateDeviation(fragment.variance);
    terms.scale = (WEIGHTED ? 1. : 255.) / terms.deviation; // not used for flat fragments
    if (!WEIGHTED)
    {
        terms.pixels = static_cast<uint32_t>(fragment.sums.W / 255);
#pragma unroll
        for (int c = 0; c < 3; ++c)
            terms.image[c] = static_cast<uint32_t>(fragment.sums.qT[c] / 255);
    }
    return terms;
}

//! Computes the score exactly as core.hpp defines it; not inlined, as it is rarely called.
template <int FACTOR> __device__ __noinline__ float znccScoreSlowly(int64_t n, int64_t v, double deviation)
{
    return znccScoreOf(FACTOR * FACTOR * n, FACTOR * FACTOR * v, deviation);
}

/** Returns znccScoreOf(FACTOR^2 n, FACTOR^2 v, deviation), bit for bit, in most cases without its square root and
division. Both ways have a relative error of less than 2^-49, so both are rounded to the same float unless the score is
close to the midpoint of two floats.
@param scale FACTOR / deviation */
template <int FACTOR>
__device__ __forceinline__ float znccScoreQuickly(int64_t n, int64_t v, double deviation, double scale)
{
    if (v <= 0 || deviation <= 0. || n == 0)
        return 0.f;
    const double power = static_cast<double>(v);
    double root; // 1 / sqrt(v), relative error 2^-19; after the iteration below 2^-52
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(root) : "d"(power));
    const double error = fma(-power * root, root, 1.);
    root = fma(root * error, fma(0.375, error, 0.5), root);
    const double score = static_cast<double>(n) * root * scale;
    // Rounding a double to float drops 29 bits: the midpoint is 2^28, and an error of 2^-48 is at most 32 units.
    const uint32_t rest = static_cast<uint32_t>(__double2loint(score)) & ((1u << 29) - 1);
    if (rest - ((1u << 28) - 64) < 128)
        return znccScoreSlowly<FACTOR>(n, v, deviation);
    return fminf(fmaxf(static_cast<float>(score), -1.f), 1.f);
}

//! Returns the value of a position. @param cross, squares sum of products and box sum of squares; with weights, the two
//! moments.
//! @param image without weights: S(I) of each channel.
template <Metric METRIC, bool WEIGHTED, bool WIDE, int CHANNELS>
__device__ __forceinline__ uint64_t valueOf(uint64_t cross, uint64_t squares, const uint32_t (&image)[CHANNELS],
                                            const ValueTerms& terms)
{
    if (!isCorrelation(METRIC))
        return terms.templ - 2 * cross + squares;
    if (!WEIGHTED)
    {
        // n_c and v_c divided by 255^2, as all weights are 255.
        cross = WIDE ? terms.pixels * cross : static_cast<uint64_t>(terms.pixels) * static_cast<uint32_t>(cross);
        squares = WIDE ? terms.pixels * squares : static_cast<uint64_t>(terms.pixels) * static_cast<uint32_t>(squares);
#pragma unroll
        for (int c = 0; c < CHANNELS; ++c)
        {
            cross -= static_cast<uint64_t>(image[c]) * terms.image[c];
            squares -= static_cast<uint64_t>(image[c]) * image[c];
        }
    }
    return znccToValue(znccScoreQuickly < WEIGHTED ? 1
                                                   : 255 > (static_cast<int64_t>(cross), static_cast<int64_t>(squares),
                                                            terms.deviation, terms.scale));
}

}}}} // namespace cv::cuda::fragment_matcher::device

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_BANDS_VALUE_HPP
