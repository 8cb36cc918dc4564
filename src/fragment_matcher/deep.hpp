// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The arithmetic of images of 16 bits, and of ZNCC of large fragments of 8 bits, that decides FragmentMatcher's results,
// written once for both backends. Sums take 64 bits; the parts of ZNCC take up to 97, so they are computed in 128 bits.
// g++ and nvcc compile it with contraction off.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_DEEP_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_DEEP_HPP

#include "core.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! Most pixels times channels of a fragment: sums of q T^2, q I T and q I^2 of 16 bits, at most 255 * 65535^2 each, fit
//! 64 bits.
const int64_t MAX_SAMPLES = static_cast<int64_t>(~0ull / (255ull * 65535 * 65535));

//! Returns true if ZNCC of 8 bits has parts of more than 63 bits, from 232 x 232 pixels on: such fragments are matched
//! as if image and template had 16 bits.
CT_HOST_DEVICE bool isBeyond63Bits(Metric metric, int64_t pixels) { return isCorrelation(metric) && pixels > 53824; }

//! Integer of 128 bits in two's complement; sums are modulo 2^128.
struct Int128
{
    uint64_t low, high;
};

//! Returns a b.
CT_HOST_DEVICE Int128 productOf(uint64_t a, uint64_t b)
{
#if defined __CUDA_ARCH__
    return {a * b, __umul64hi(a, b)};
#elif defined __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 Native;
    return {a * b, static_cast<uint64_t>(static_cast<Native>(a) * b >> 64)};
#else
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return {a * b, a1 * b1 + (middle >> 32) + (other >> 32)};
#endif
}

//! Returns a b - the sum of the products of `count` (1 or 3) pairs of factors.
CT_HOST_DEVICE Int128 productLess(uint64_t a, uint64_t b, const uint64_t* first, const uint64_t* second, int count)
{
    Int128 result = productOf(a, b);
    for (int c = 0; c < count; ++c)
    {
        const Int128 product = productOf(first[c], second[c]);
        result.high -= product.high + (result.low < product.low ? 1 : 0);
        result.low -= product.low;
    }
    return result;
}

//! Returns the nearest double, half to even, of a value below 2^127.
CT_HOST_DEVICE double toDouble(Int128 value)
{
    const bool negative = value.high >> 63;
    if (negative)
        value = {~value.low + 1, ~value.high + (value.low == 0 ? 1 : 0)};
    if (value.high == 0)
        return negative ? -static_cast<double>(value.low) : static_cast<double>(value.low);
    // The 64 bits from the highest one on, the last of them 1 if there is a 1 below: these round as all bits do.
    int below = 64;
    for (int step = 32; step > 0; step /= 2)
        if (value.high >> (64 - step) == 0)
        {
            value.high = value.high << step | value.low >> (64 - step);
            value.low <<= step;
            below -= step;
        }
    const double result =
        static_cast<double>(value.high | (value.low != 0 ? 1 : 0)) * static_cast<double>(1ull << below);
    return negative ? -result : result;
}

//! Returns the square root of t = sum_c W S(qT^2) - S(qT)^2 of a template of 16 bits; 0 for a flat fragment.
CT_HOST_DEVICE double deepDeviation(const TemplateSums& sums)
{
    const Int128 t = productLess(sums.W, sums.qT2, sums.qT, sums.qT, 3);
    return sqrt(toDouble(t));
}

//! Sums over the image under a template of 16 bits. S(): sum over pixels, q: quantised weight, I: image.
struct DeepSums
{
    uint64_t cross;    //!< S(qIT) over all channels
    uint64_t squares;  //!< S(qI^2) over all channels
    uint64_t image[3]; //!< S(qI) per channel
};

//! Computes the numerator n and the variance v of ZNCC of 16 bits, rounded to double.
CT_HOST_DEVICE void deepParts(const DeepSums& sums, const TemplateSums& templ, int channels, double& n, double& v)
{
    n = toDouble(productLess(templ.W, sums.cross, sums.image, templ.qT, channels));
    v = toDouble(productLess(templ.W, sums.squares, sums.image, sums.image, channels));
}

//! Returns ZNCC of 16 bits. @param deviation deepDeviation()
CT_HOST_DEVICE float deepZnccScore(const DeepSums& sums, const TemplateSums& templ, int channels, double deviation)
{
    double n, v;
    deepParts(sums, templ, channels, n, v);
    return v > 0. && deviation > 0. && n != 0. ? correlationOf(n, v, deviation) : 0.f;
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_DEEP_HPP
