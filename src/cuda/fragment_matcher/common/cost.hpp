// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Estimates of the time of FragmentMatcher's routes: functions of sizes and of device limits. Each route tells its
// terms and has one row of factors per kind of metric: least squares of the relative errors over 1 to 1000 fragments of
// 16 x 16 to 128 x 128, gray and BGR, in windows of 9 x 9 to 97 x 97 positions, NVIDIA H200, 2026-11-23, without times
// above three times that of the quickest route. The root mean square of the relative errors is 4 to 15 %. Weighted SSD
// and ZNCC: from times of 2026-11-22 and without copies.
#ifndef OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
#define OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP

#include "case.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda { namespace fragment_matcher {

//! Parts of the time of a route, in thousands of clocks or of what is named, each with a factor of CostFactors.
struct CostTerms
{
    double chain;      //!< clocks of the longest chain of instructions, or of all on one multiprocessor if that is more
    double stages;     //!< units of the image that one multiprocessor copies and converts
    double ends;       //!< work that one multiprocessor does once per fragment, such as values and peaks
    double copies = 0; //!< words that one thread copies before it computes, in all rounds of blocks of a multiprocessor
    double sums = 0;   //!< sums in device memory per multiprocessor
};

//! Time of a route: begin + chain * CostTerms::chain and so on, in microseconds.
struct CostFactors
{
    double begin, chain, stages, ends, copies, sums;
};

//! Kinds of metrics with cost factors of their own.
enum CostKind
{
    COST_SAD,
    COST_SSD,
    COST_ZNCC,
    COST_WEIGHTED, //!< SSD and ZNCC with weights
    COST_KINDS
};

inline CostKind costKindOf(const MatchCase& given)
{
    if (!isProduct(given.metric))
        return COST_SAD;
    if (given.weighted)
        return COST_WEIGHTED;
    return isCorrelation(given.metric) ? COST_ZNCC : COST_SSD;
}

inline double timeOf(const CostTerms& terms, const CostFactors& factors)
{
    return factors.begin + factors.chain * terms.chain + factors.stages * terms.stages + factors.ends * terms.ends +
           factors.copies * terms.copies + factors.sums * terms.sums;
}

//! Returns the instructions for four bytes of one position and channel.
inline double byteInstructions(const MatchCase& given)
{
    if (hasMoments(given.metric, given.weighted))
        return (isCorrelation(given.metric) ? 3 : 2) + (given.weighted ? 2 : 0);
    return given.metric == Metric::SAD && !given.weighted ? 1 : 2;
}

//! Returns the blocks of the multiprocessor that has most of them.
inline double busiest(double blocks, const MatchCase& given) { return std::ceil(blocks / given.multiprocessors); }

/** Returns the rounds in which a multiprocessor runs its blocks, as far as shared memory and registers allow.
@param blocks of the multiprocessor. @param most blocks for which it has registers. */
inline double roundsOf(double blocks, int most, size_t sharedBytes, const MatchCase& given)
{
    const double reserved = 1024; // bytes that the system takes per block
    const double fit = std::floor(given.shared.dynamicBytes(0) / (sharedBytes + reserved));
    return std::ceil(blocks / std::clamp<double>(fit, 1, most));
}

/** Returns the clocks, in thousands, of byte sums: each of a multiprocessor's four schedulers begins one such
instruction in two clocks.
@param perWarp instructions of a warp.
@param warps warps per block. */
inline double byteClocks(double perWarp, double warps, double blocks)
{
    return 1e-3 * std::max(2 * perWarp * std::ceil(warps / 4), 0.5 * perWarp * warps * blocks);
}

inline double wordsOf(const Load& load) { return detail::ceilDiv(load.fragment.width, 4); }

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_CUDA_FRAGMENT_MATCHER_COST_HPP
