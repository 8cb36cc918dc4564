// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Dispatches the loops of correlation.simd.hpp to the instruction set of this CPU.
#include "../../precomp.hpp"
#include "correlation.hpp"
#include "correlation.simd.hpp"
#include "cpu/tld/correlation.simd_declarations.hpp"

namespace cv { namespace cuda { namespace tld { namespace correlation { namespace cpu {

const Tables& tables()
{
    static const Tables all = makeTables();
    return all;
}

void lookAt(const ImageView& image, const Samples& samples, CellScratch& scratch, Cells& cells)
{
    CV_CPU_DISPATCH(channelsOfCells, (image, samples, scratch, cells), CV_CPU_DISPATCH_MODES_ALL);
}
void pairSpectra(const Cells& cells, int channel, Spectra& out)
{
    CV_CPU_DISPATCH(spectraOfPair, (cells, channel, tables(), out), CV_CPU_DISPATCH_MODES_ALL);
}
Answer answerOf(const Spectra& model, const Spectra& image)
{
    CV_CPU_DISPATCH(answer, (model, image, tables()), CV_CPU_DISPATCH_MODES_ALL);
}
void solve(const Spectra& image, const Spectra* before, const Spectra* added, Spectra& out)
{
    CV_CPU_DISPATCH(solution, (image, before, added, tables(), out), CV_CPU_DISPATCH_MODES_ALL);
}
void constrainPair(const TargetCells& target, int channel, Spectra& solution)
{
    CV_CPU_DISPATCH(constrainedPair, (target, channel, tables(), solution), CV_CPU_DISPATCH_MODES_ALL);
}

}}}}} // namespace cv::cuda::tld::correlation::cpu
