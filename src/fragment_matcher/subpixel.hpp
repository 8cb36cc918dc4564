// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Sub-pixel positions: the curves through the values of a peak and its neighbours, written once for both backends.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_SUBPIXEL_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_SUBPIXEL_HPP

#include "core.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

//! Returns ln(a / b) of positive floats, with a relative error of a few units in the last place, also near a = b.
CT_HOST_DEVICE double logOfRatio(float a, float b)
{
    int exponentOfA, exponentOfB;
    double m = frexp(static_cast<double>(a), &exponentOfA);
    const double n = frexp(static_cast<double>(b), &exponentOfB);
    int k = exponentOfA - exponentOfB;
    if (m > 1.5 * n)
        m *= 0.5, ++k;
    else if (m < 0.75 * n)
        m *= 2., --k;
    // a / b = 2^k m / n, with m / n = (1 + s) / (1 - s) of 0.75 to 1.5, so that |s| is at most 0.2. As m and n are
    // floats of nearly the same size, their sum and difference are exact.
    const double s = (m - n) / (m + n), s2 = s * s;
    // ln((1 + s) / (1 - s)) = 2 (s + s^3 / 3 + s^5 / 5 + ...): the first term left out is below 2^-55 of the sum.
    double series = 1. / 21.;
    for (int odd = 19; odd > 0; odd -= 2)
        series = series * s2 + 1. / odd;
    return 0.69314718055994531 * k + 2. * s * series;
}

//! Returns the sub-pixel offset along one axis, -0.5 to 0.5, from the values before, at and after the peak.
CT_HOST_DEVICE float subpixelOffset(uint64_t before, uint64_t at, uint64_t after, Metric metric, int fit)
{
    double l = static_cast<double>(before), c = static_cast<double>(at), r = static_cast<double>(after);
    if (isCorrelation(metric)) // so that the peak is a minimum as in the other metrics
    {
        const float scoreBefore = valueToZncc(static_cast<uint32_t>(before)),
                    score = valueToZncc(static_cast<uint32_t>(at)),
                    scoreAfter = valueToZncc(static_cast<uint32_t>(after));
        // A Gaussian is a parabola of logarithms, here of score / scoreBefore, 1 and score / scoreAfter.
        const bool logarithms = fit == FIT_GAUSSIAN && scoreBefore > 0.f && score > 0.f && scoreAfter > 0.f;
        l = logarithms ? logOfRatio(score, scoreBefore) : -static_cast<double>(scoreBefore);
        c = logarithms ? 0. : -static_cast<double>(score);
        r = logarithms ? logOfRatio(score, scoreAfter) : -static_cast<double>(scoreAfter);
    }
    // Through the three points: two lines of equal and opposite slope, or a parabola.
    const double curvature = isLinear(metric) ? (l > r ? l : r) - c : (l - c) + (r - c);
    if (!(curvature > 0.))
        return 0.f;
    const double offset = 0.5 * (l - r) / curvature;
    return static_cast<float>(offset > 0.5 ? 0.5 : (offset < -0.5 ? -0.5 : offset));
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_SUBPIXEL_HPP
