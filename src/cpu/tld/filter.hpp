// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Data and loops of the correlation filter on the CPU.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_FILTER_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_FILTER_HPP

#include "work.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! Samples have a border of a pixel, and vectors read beyond it.
const int SAMPLE_STEP = FILTER_SIDE + ROW_SLACK;

//! Content of an image around a place: spectra of all channels, and bins of all samples.
struct FilterSample
{
    float re[FILTER_CHANNELS][FILTER_SPECTRUM], im[FILTER_CHANNELS][FILTER_SPECTRUM];
    int bins[FILTER_SIDE * FILTER_SIDE];
};
//! Spectra of the scale filter along the sizes.
struct SizeSample
{
    float re[SCALE_FREQUENCIES][SCALE_ROWS], im[SCALE_FREQUENCIES][SCALE_ROWS];
};

//! Scratch memory of cellFeatures().
struct FeatureScratch
{
    uint8_t samples[FILTER_SIDE * SAMPLE_STEP];
    int histograms[(FILTER_GRID + 2) * (FILTER_GRID + 2) * 2 * ORIENTATIONS]; //!< with a border of cells
    float norms[(FILTER_GRID + 1) * (FILTER_GRID + 1)];
    int64_t energies[FILTER_CELLS];
    std::vector<int> columns;  //!< sums over rows of the image
    std::vector<int64_t> sums; //!< sums of these from the left on
};

//! Scratch memory for the filter of an object.
struct FilterScratch
{
    FilterSample sample;
    SizeSample sizes;
    float features[FILTER_CHANNELS][FILTER_CELLS];
    float sizeFeatures[FILTER_SCALES][SCALE_ROWS];
    float answer[FILTER_CELLS];
    int likelihoods[(FILTER_SIDE + 1) * (FILTER_SIDE + 1)];     //!< their table of sums
    int foreground[HISTOGRAM_BINS], background[HISTOGRAM_BINS]; //!< counts
};

const FilterTables& filterTables();

// --- loops of src/cpu/tld/filter.simd.hpp ----------------------------------------------------------------------------

/** Computes the features of cells. Values of channel k begin at `out` + k * step.
@param texture the last channels are the four of texture, otherwise the mean of gray values. */
void cellFeatures(const ImageView& gray, const SamplePlan& plan, bool texture, FeatureScratch& scratch, float* out,
                  int step);
//! Transforms a pair of channels. @param features two channels of FILTER_CELLS values; used as scratch memory. @param
//! re,im two channels of FILTER_SPECTRUM values.
void pairSpectra(float* features, const FilterTables& tables, float* re, float* im);
//! Computes the answer of all displacements by whole cells.
void answerOf(const FilterModel& model, const FilterSample& sample, const FilterTables& tables, float* answer);
//! Computes the spectra of features along the sizes. @param features FILTER_SCALES arrays of SCALE_ROWS values.
void sizeSpectra(const float* features, const FilterTables& tables, SizeSample& out);
//! Sums a frequency of the scale filter's answer over the rows.
Complex scaleSum(const FilterModel& model, const SizeSample& sample, int frequency);
//! Learns a sample. @param counts of the bins; their sums.
void learnFilter(const FilterModel& model, const FilterScratch& frame, const FilterTarget& target,
                 const FilterTables& tables, const TrainingRates& rates, int allForeground, int allBackground,
                 FilterModel& next);

}}}} // namespace cv::cuda::tld::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_FILTER_HPP
