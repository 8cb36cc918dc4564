// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Data and loops of the correlation filter on the CPU.
#ifndef OPENCV_CUDATRACKING_CPU_TLD_CORRELATION_HPP
#define OPENCV_CUDATRACKING_CPU_TLD_CORRELATION_HPP

#include "../../common/views.hpp"
#include "../../tld/core_cells.hpp"
#include <vector>

namespace cv { namespace cuda { namespace tld { namespace correlation { namespace cpu {

using detail::ImageView;

//! Samples have a border of a pixel, and vectors read beyond it.
const int SAMPLE_STEP = SIDE + 64;

//! Channels of the cells of a surround, before their weights.
struct Cells
{
    float channel[CHANNELS][CELLS];
    int64_t energy[BLOCKS]; //!< sums of energyOf()
};

//! Scratch memory of lookAt().
struct CellScratch
{
    uint8_t samples[SIDE * SAMPLE_STEP];                        //!< gray values
    int histograms[(GRID + 2) * (GRID + 2) * 2 * ORIENTATIONS]; //!< with a border of cells
    float norms[(GRID + 1) * (GRID + 1)];
    int64_t energies[CELLS];
    ColourSums colours[CELLS];
    std::vector<int> columns; //!< sums over rows of the image, per column and channel
};

const Tables& tables();

// --- loops of src/cpu/tld/correlation.simd.hpp -----------------------------------------------------------------------

//! Computes the channels of the cells of a surround.
void lookAt(const ImageView& image, const Samples& samples, CellScratch& scratch, Cells& cells);
//! Transforms a pair of channels. @param channel the first one.
void pairSpectra(const Cells& cells, int channel, Spectra& out);
//! Asks a filter.
Answer answerOf(const Spectra& model, const Spectra& image);
/** Computes a filter from the spectra of an image. @param before the filter of the frame before; null: there is none.
@param added constrained() of the first solution; null: this is the first one. */
void solve(const Spectra& image, const Spectra* before, const Spectra* added, Spectra& out);
//! Replaces a pair of channels of the first solution by constrained(). @param channel the first one.
void constrainPair(const TargetCells& target, int channel, Spectra& solution);

}}}}} // namespace cv::cuda::tld::correlation::cpu

#endif // OPENCV_CUDATRACKING_CPU_TLD_CORRELATION_HPP
