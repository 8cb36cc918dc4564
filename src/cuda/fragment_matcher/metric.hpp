// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// FragmentMatcher: all that the CUDA engine's kernels know of metrics. One struct a metric says how wide its sums are, how a
// term is added, how a channel's sums are folded and what value they give; Traits chooses one at compile time, forMetric() at
// run time. The first part is for host code too, compiled by g++.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_METRIC_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_METRIC_HPP

#include "../../fragment_matcher/stages.hpp"
#include <type_traits>

namespace cv { namespace cuda { namespace fragment_matcher {

//! True when scores come from moments, which are linear in neither a fragment's rows nor its channels once folded.
CT_HOST_DEVICE constexpr bool hasMoments(Metric metric, bool weighted)
{
    switch (metric)
    {
    case Metric::SAD:
        return false;
    case Metric::SSD:
        return weighted;
    case Metric::ZNCC:
        return true;
    }
    return false;
}
//! Moments of weighted squares and cross terms need q T and I^2 split into bytes; see multiply4().
CT_HOST_DEVICE constexpr bool isSplit(Metric metric, bool weighted) { return weighted && hasMoments(metric, weighted); }
//! Staged words a template word.
CT_HOST_DEVICE constexpr int templatePlanes(bool split) { return split ? 2 : 1; }
//! Of a channel: the image, high and low bytes of its square.
CT_HOST_DEVICE constexpr int expandedPlanes(bool split) { return split ? 3 : 1; }

//! Most that a pixel of a channel adds to a 32-bit sum.
CT_HOST_DEVICE constexpr int64_t largestTerm(Metric metric, bool weighted)
{
    return weighted ? 255 * 255 : largestDifference(metric);
}
//! True when values take 64 bits; wide: sums may exceed 32. 255 * 255^2 a byte of weighted SSD leaves 32 bits after 259.
CT_HOST_DEVICE constexpr bool wideValues(Metric metric, bool weighted, bool wide)
{
    return !isCorrelation(metric) && (wide || hasMoments(metric, weighted));
}
//! Factor between the sums of kernels and S: unweighted SAD and SSD leave 255 out.
CT_HOST_DEVICE constexpr int valueScale(Metric metric, bool weighted)
{
    return weighted || isCorrelation(metric) ? 1 : 255;
}

/** Calls launch(metric, weighted, channels), all three std::integral_constant: each combination is compiled. */
template <class Launch> void forMetric(Metric metric, bool weighted, int channels, const Launch& launch)
{
    const auto ofMetric = [&](auto theMetric)
    {
        const auto ofChannels = [&](auto theWeighted)
        {
            if (channels == 1)
                launch(theMetric, theWeighted, std::integral_constant<int, 1>());
            else
                launch(theMetric, theWeighted, std::integral_constant<int, 3>());
        };
        if (weighted)
            ofChannels(std::true_type());
        else
            ofChannels(std::false_type());
    };
    switch (metric)
    {
    case Metric::SAD:
        return ofMetric(std::integral_constant<Metric, Metric::SAD>());
    case Metric::SSD:
        return ofMetric(std::integral_constant<Metric, Metric::SSD>());
    case Metric::ZNCC:
        return ofMetric(std::integral_constant<Metric, Metric::ZNCC>());
    }
}

#ifdef __CUDACC__

namespace device {

//! Sum of absolute differences of four bytes, added to `sum`. One instruction up to sm_100.
__device__ __forceinline__ uint32_t sad4(uint32_t a, uint32_t b, uint32_t sum)
{
#if __CUDA_ARCH__ < 1200
    uint32_t result;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
#else
    return __dp4a(__vabsdiffu4(a, b), 0x01010101u, sum);
#endif
}

__device__ __forceinline__ uint32_t dot4(uint32_t a, uint32_t b, uint32_t sum) { return __dp4a(a, b, sum); }

//! What a pixel of one channel and of weight 1 adds to S.
__device__ __forceinline__ int differenceOf(Metric metric, int image, int templ)
{
    const int difference = image - templ;
    return isLinear(metric) ? ::abs(difference) : difference * difference;
}

/** Four pixels of a channel under four of the template. SPLIT: high and low bytes of the image's squares, and of the
template times its weights. */
struct Pixels
{
    uint32_t image, high, low, templ, templLow, weights;
};

/** Running sums of one position: of differences, or moments S(qI), S(qI^2), S(qIT), the last two as 256 * high + low when
weighted. Unweighted sums leave the factor 255 out. */
struct SumsAt
{
    uint32_t &sum, &squares, &squaresLow, &cross, &crossLow;
};

template <Metric METRIC, bool WEIGHTED> struct CommonTraits
{
    static constexpr bool MOMENTS = hasMoments(METRIC, WEIGHTED), SPLIT = isSplit(METRIC, WEIGHTED);
    static constexpr bool HAS_SUM = isCorrelation(METRIC) || !MOMENTS; //!< uses SumsAt::sum
    static constexpr int TEMPLATE_PLANES = templatePlanes(SPLIT);

    static __device__ __forceinline__ uint64_t squaresOf(const SumsAt& s)
    {
        return WEIGHTED ? (static_cast<uint64_t>(s.squares) << 8) + s.squaresLow : 255ull * s.squares;
    }
    static __device__ __forceinline__ uint64_t crossOf(const SumsAt& s)
    {
        return WEIGHTED ? (static_cast<uint64_t>(s.cross) << 8) + s.crossLow : 255ull * s.cross;
    }
    static __device__ __forceinline__ uint64_t imageOf(const SumsAt& s) { return WEIGHTED ? s.sum : 255ull * s.sum; }
    static __device__ __forceinline__ void addMoments(const SumsAt& s, const Pixels& p)
    {
        s.squares = WEIGHTED ? dot4(p.high, p.weights, s.squares) : dot4(p.image, p.image, s.squares);
        s.cross = dot4(p.image, p.templ, s.cross);
        if (WEIGHTED)
        {
            s.squaresLow = dot4(p.low, p.weights, s.squaresLow);
            s.crossLow = dot4(p.image, p.templLow, s.crossLow);
        }
    }
};

/* Each metric has
     add        adds four pixels to the sums of a position
     addMasked  the same of unweighted sums, where `mask` is 0 or 255 a byte; the template is 0 where the mask is
   and, with MOMENTS,
     fold       a channel's sums to `covariance` (S(qIT)) and `variance` (S(qI^2)), modulo 2^64
     value      of what was folded */
template <bool WEIGHTED> struct SadTraits : CommonTraits<Metric::SAD, WEIGHTED>
{
    static __device__ __forceinline__ void add(const SumsAt& s, const Pixels& p)
    {
        s.sum = WEIGHTED ? dot4(__vabsdiffu4(p.image, p.templ), p.weights, s.sum) : sad4(p.image, p.templ, s.sum);
    }
    static __device__ __forceinline__ void addMasked(const SumsAt& s, uint32_t image, uint32_t templ, uint32_t mask)
    {
        // Not by masking the image: dp4a runs beside the byte differences, a mask before them.
        s.sum = dot4(__vabsdiffu4(image, templ), mask & 0x01010101u, s.sum);
    }
};

template <bool WEIGHTED> struct SsdTraits : CommonTraits<Metric::SSD, WEIGHTED>
{
    using Common = CommonTraits<Metric::SSD, WEIGHTED>;

    static __device__ __forceinline__ void add(const SumsAt& s, const Pixels& p)
    {
        if (WEIGHTED)
            return Common::addMoments(s, p);
        const uint32_t difference = __vabsdiffu4(p.image, p.templ);
        s.sum = dot4(difference, difference, s.sum);
    }
    static __device__ __forceinline__ void addMasked(const SumsAt& s, uint32_t image, uint32_t templ, uint32_t mask)
    {
        add(s, {image & mask, 0, 0, templ, 0, 0});
    }
    static __device__ __forceinline__ void fold(const SumsAt& s, const TemplateSums&, int, uint64_t& covariance,
                                                uint64_t& variance)
    {
        covariance += Common::crossOf(s);
        variance += Common::squaresOf(s);
    }
    static __device__ __forceinline__ uint64_t value(uint64_t covariance, uint64_t variance, const TemplateSums& sums,
                                                     int64_t)
    {
        return sums.qT2 - 2 * covariance + variance;
    }
};

template <bool WEIGHTED> struct ZnccTraits : CommonTraits<Metric::ZNCC, WEIGHTED>
{
    using Common = CommonTraits<Metric::ZNCC, WEIGHTED>;

    static __device__ __forceinline__ void add(const SumsAt& s, const Pixels& p)
    {
        s.sum = WEIGHTED ? dot4(p.image, p.weights, s.sum) : sad4(p.image, 0, s.sum);
        Common::addMoments(s, p);
    }
    static __device__ __forceinline__ void addMasked(const SumsAt& s, uint32_t image, uint32_t templ, uint32_t mask)
    {
        add(s, {image & mask, 0, 0, templ, 0, 0});
    }
    //! n_c and v_c
    static __device__ __forceinline__ void fold(const SumsAt& s, const TemplateSums& templ, int c, uint64_t& covariance,
                                                uint64_t& variance)
    {
        const uint64_t image = Common::imageOf(s);
        covariance += templ.W * Common::crossOf(s) - image * templ.qT[c];
        variance += templ.W * Common::squaresOf(s) - image * image;
    }
    static __device__ __forceinline__ uint64_t value(uint64_t covariance, uint64_t variance, const TemplateSums&,
                                                     int64_t templateVariance)
    {
        return znccToValue(
            znccScore(static_cast<int64_t>(covariance), static_cast<int64_t>(variance), templateVariance));
    }
};

template <Metric METRIC, bool WEIGHTED> struct TraitsOf;
template <bool WEIGHTED> struct TraitsOf<Metric::SAD, WEIGHTED>
{
    using Type = SadTraits<WEIGHTED>;
};
template <bool WEIGHTED> struct TraitsOf<Metric::SSD, WEIGHTED>
{
    using Type = SsdTraits<WEIGHTED>;
};
template <bool WEIGHTED> struct TraitsOf<Metric::ZNCC, WEIGHTED>
{
    using Type = ZnccTraits<WEIGHTED>;
};
template <Metric METRIC, bool WEIGHTED> using Traits = typename TraitsOf<METRIC, WEIGHTED>::Type;

} // namespace device

#endif // __CUDACC__

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_METRIC_HPP
