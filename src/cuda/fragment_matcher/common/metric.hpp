// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// FragmentMatcher: everything that depends on the metric in the byte-sum kernels. One struct per metric defines how
// terms are added, how the sums of a channel are folded, and the value that they give. Traits selects the struct at
// compile time, forMetric() at run time. The first part is for host code too, compiled by g++.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_METRIC_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_METRIC_HPP

#include "../../../fragment_matcher/stages.hpp"
#include <type_traits>

namespace cv { namespace cuda { namespace fragment_matcher {

//! Returns true if values are computed from moments. Folded moments are linear neither in a fragment's rows nor in its
//! channels.
CT_HOST_DEVICE constexpr bool hasMoments(Metric metric, bool weighted)
{
    return isCorrelation(metric) || (weighted && isProduct(metric));
}
//! Returns true if moments of weighted squares and cross terms need q T and I^2 split into bytes; see multiply4().
CT_HOST_DEVICE constexpr bool isSplit(Metric metric, bool weighted) { return weighted && hasMoments(metric, weighted); }
//! Returns the number of staged words per template word.
CT_HOST_DEVICE constexpr int templatePlanes(bool split) { return split ? 2 : 1; }
//! Returns the number of expanded planes per channel: the image and, if split, the high and the low bytes of its
//! squares.
CT_HOST_DEVICE constexpr int expandedPlanes(bool split) { return split ? 3 : 1; }

//! Returns the most that a pixel of a channel adds to a 32-bit sum.
CT_HOST_DEVICE constexpr int64_t largestTerm(Metric metric, bool weighted)
{
    return weighted ? 255 * 255 : largestDifference(metric);
}
//! Returns true if values take 64 bits. 259 pixels of weighted SSD, 255 * 255^2 each, fill 32 bits. @param wide sums
//! may exceed 32 bits.
CT_HOST_DEVICE constexpr bool wideValues(Metric metric, bool weighted, bool wide)
{
    return !isCorrelation(metric) && (wide || hasMoments(metric, weighted));
}
//! Returns the factor from kernels' sums to S: unweighted SAD and SSD omit the weight 255.
CT_HOST_DEVICE constexpr int valueScale(Metric metric, bool weighted)
{
    return weighted || isCorrelation(metric) ? 1 : 255;
}

/** Calls launch(metric, weighted, channels), all three std::integral_constant; every combination is compiled. */
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

//! Returns sum + the absolute differences of four bytes. One instruction up to sm_100.
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

/** Four image pixels of a channel with the four template pixels above them. If SPLIT, `high` and `low` are the bytes of
the image's squares, `templ` and `templLow` those of the template times its weights. */
struct Pixels
{
    uint32_t image, high, low, templ, templLow, weights;
};

/** Running sums of one position: the sum of differences, or the moments S(qI), S(qI^2) and S(qIT), the last two as 256
* high + low if weighted. Unweighted sums omit the factor 255. A pixel of a channel adds at most largestTerm() to a sum
of differences and 255 * 255 to one of the moments' sums; plans limit the pixels that are summed up before sums are
folded, so that 32 bits hold them. */
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

template <Metric METRIC, bool WEIGHTED> struct Traits;

/* Of each metric:
     add        adds four pixels to the sums of a position
     addMasked  adds those of four pixels whose byte of `mask` is 255, not 0, to unweighted sums; the template is 0
     where the mask is
   and, with MOMENTS,
     fold       adds a channel's sums to `covariance` (S(qIT)) and `variance` (S(qI^2)), modulo 2^64, which their values
     fit value      returns the value from the folded sums */
template <bool WEIGHTED> struct Traits<Metric::SAD, WEIGHTED> : CommonTraits<Metric::SAD, WEIGHTED>
{
    static __device__ __forceinline__ void add(const SumsAt& s, const Pixels& p)
    {
        s.sum = WEIGHTED ? dot4(__vabsdiffu4(p.image, p.templ), p.weights, s.sum) : sad4(p.image, p.templ, s.sum);
    }
    static __device__ __forceinline__ void addMasked(const SumsAt& s, uint32_t image, uint32_t templ, uint32_t mask)
    {
        // The image is not masked: that would delay the byte differences, while dp4a can run concurrently with them.
        s.sum = dot4(__vabsdiffu4(image, templ), mask & 0x01010101u, s.sum);
    }
};

template <bool WEIGHTED> struct Traits<Metric::SSD, WEIGHTED> : CommonTraits<Metric::SSD, WEIGHTED>
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

template <bool WEIGHTED> struct Traits<Metric::ZNCC, WEIGHTED> : CommonTraits<Metric::ZNCC, WEIGHTED>
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
    //! Folds to n_c and v_c.
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

} // namespace device

#endif // __CUDACC__

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_METRIC_HPP
