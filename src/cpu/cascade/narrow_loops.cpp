// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Dispatches the loops of narrow.simd.hpp to the best instruction set of the processor.
#include "../../precomp.hpp"
#include "classify.hpp"
#include "narrow.simd.hpp"
#include "cpu/cascade/narrow.simd_declarations.hpp"

namespace cv { namespace cuda { namespace cascade { namespace cpu {

int octetsPerVector() { CV_CPU_DISPATCH(vectorOctets, (), CV_CPU_DISPATCH_MODES_ALL); }

void evaluateOctets(const Octets& octets, const NarrowModel& model, const NarrowStage& stage)
{
    CV_CPU_DISPATCH(evaluateNarrow, (octets, model, stage), CV_CPU_DISPATCH_MODES_ALL);
}

void addRowNarrow(const uint8_t* pixels, int cols, int half, const uint16_t* above, uint16_t* sums)
{
    CV_CPU_DISPATCH(addNarrow, (pixels, cols, half, above, sums), CV_CPU_DISPATCH_MODES_ALL);
}

}}}} // namespace cv::cuda::cascade::cpu
