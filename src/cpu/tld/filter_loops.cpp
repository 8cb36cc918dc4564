// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Dispatches the loops of filter.simd.hpp to the instruction set of this CPU.
#include "../../precomp.hpp"
#include "filter.hpp"
#include "filter.simd.hpp"
#include "cpu/tld/filter.simd_declarations.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

void cellFeatures(const ImageView& gray, const SamplePlan& plan, bool texture, FeatureScratch& scratch, float* out,
                  int step)
{
    CV_CPU_DISPATCH(featuresOfCells, (gray, plan, texture, scratch, out, step), CV_CPU_DISPATCH_MODES_ALL);
}
void pairSpectra(float* features, const FilterTables& tables, float* re, float* im)
{
    CV_CPU_DISPATCH(spectraOfPair, (features, tables, re, im), CV_CPU_DISPATCH_MODES_ALL);
}
void answerOf(const FilterModel& model, const FilterSample& sample, const FilterTables& tables, float* out)
{
    CV_CPU_DISPATCH(answer, (model, sample, tables, out), CV_CPU_DISPATCH_MODES_ALL);
}
void sizeSpectra(const float* features, const FilterTables& tables, SizeSample& out)
{
    CV_CPU_DISPATCH(spectraOfSizes, (features, tables, out), CV_CPU_DISPATCH_MODES_ALL);
}
Complex scaleSum(const FilterModel& model, const SizeSample& sample, int frequency)
{
    CV_CPU_DISPATCH(sumOfScale, (model, sample, frequency), CV_CPU_DISPATCH_MODES_ALL);
}
void learnFilter(const FilterModel& model, const FilterScratch& frame, const FilterTarget& target,
                 const FilterTables& tables, const TrainingRates& rates, int allForeground, int allBackground,
                 FilterModel& next)
{
    CV_CPU_DISPATCH(learnSample, (model, frame, target, tables, rates, allForeground, allBackground, next),
                    CV_CPU_DISPATCH_MODES_ALL);
}

}}}} // namespace cv::cuda::tld::cpu
