// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Dispatches the loops of classify.simd.hpp to the best instruction set of the processor.
#include "../../precomp.hpp"
#include "classify.hpp"
#include "classify.simd.hpp"
#include "cpu/cascade/classify.simd_declarations.hpp"

namespace cv { namespace cuda { namespace cascade { namespace cpu {

int lanesOf() { CV_CPU_DISPATCH(lanes, (), CV_CPU_DISPATCH_MODES_ALL); }

void blendOf(const uint8_t* row, const int* index, const int16_t* weights, int count, int* out)
{
    CV_CPU_DISPATCH(blendRows, (row, index, weights, count, out), CV_CPU_DISPATCH_MODES_ALL);
}

void mixOf(const int* upper, const int* lower, int weight, int count, uint8_t* out)
{
    CV_CPU_DISPATCH(mixRows, (upper, lower, weight, count, out), CV_CPU_DISPATCH_MODES_ALL);
}

void contrastOfRow(const int* sums, const int* squares, const int* corners, int area, int64_t least, int vectors,
                   float* norms, uint64_t* with)
{
    CV_CPU_DISPATCH(contrastRow, (sums, squares, corners, area, least, vectors, norms, with),
                    CV_CPU_DISPATCH_MODES_ALL);
}

void evaluateStage(const Windows& windows, const Stage& stage)
{
    CV_CPU_DISPATCH(evaluate, (windows, stage), CV_CPU_DISPATCH_MODES_ALL);
}

void failedOf(const double* sums, int vectors, double threshold, uint64_t* failed)
{
    CV_CPU_DISPATCH(failedBits, (sums, vectors, threshold, failed), CV_CPU_DISPATCH_MODES_ALL);
}

}}}} // namespace cv::cuda::cascade::cpu
