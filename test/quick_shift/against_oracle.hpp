// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Helpers of tests that compare QuickShift with the oracle.
#ifndef OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_AGAINST_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_AGAINST_ORACLE_HPP

#include "oracle.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace scenes {

using oracle::QuickShiftOptions;
using oracle::QuickShiftResult;

//! Returns an instance with the parameters of the oracle.
inline Ptr<QuickShift> make(const QuickShiftOptions& o)
{
    const Ptr<QuickShift> q = QuickShift::create(o.sigma, o.maxDist, o.scales[0]);
    q->setScales(o.scales);
    q->setSearchRadius(o.searchRadius);
    q->setTieRule(o.strict ? QuickShift::STRICT : QuickShift::INDEX);
    q->setNormalizeDensity(o.normalize);
    return q;
}

//! Checks the distances to parents that are those of the oracle.
inline void expectDistances(const QuickShiftResult& truth, const Results& r, double relativeError)
{
    for (int y = 0; y < r.parents.rows; ++y)
        for (int x = 0; x < r.parents.cols; ++x)
        {
            const double d = truth.distances.at<double>(y, x);
            if (r.parents.at<int>(y, x) == truth.parents.at<int>(y, x) && !cvIsInf(d))
            {
                ASSERT_NEAR(d, r.distances.at<float>(y, x), relativeError * d);
            }
        }
}

//! Checks that the results cut at `tau` are those with this maxDist. `once` has the parameters of `q`.
inline void expectCutEqualsCompute(QuickShift& q, QuickShift& once, const Mat& image, double tau)
{
    Mat cut, labels;
    once.setMaxDist(tau);
    once.compute(image);
    once.getLabels(labels);
    q.segment(tau, cut);
    ASSERT_TRUE(sameBits(labels, cut)) << tau;
    ASSERT_EQ(once.getNumberOfSuperpixels(), q.countSuperpixels(tau)) << tau;
}

}} // namespace opencv_test::scenes

#endif // OPENCV_CUDATRACKING_TEST_QUICK_SHIFT_AGAINST_ORACLE_HPP
