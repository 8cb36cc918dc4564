// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify: all tiles of all layers and images of one cascade, one block per tile, in one of two ways:
//
//   pairs.cu  windows in pairs: all of OpenCV's cascades. late.cu may evaluate the late stages of all or the last tiles
//   plain.cu  windows one by one, from the model's own arrays: models that pairs.cu cannot take
//
// The skip rule depends on which windows of the whole row fail the first stage. At most one window per row of a tile
// depends on the tiles before: it is evaluated in any case and, if it is a candidate, deferred. A kernel after those of
// tiles decides with the fail masks of all tiles: that of the late stages or, without them, one of its own.
#include "tile.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

__global__ void __launch_bounds__(tuning::RESOLVE_THREADS) resolveAll(const Lists lists, int images, int columnBits)
{
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    resolveDeferred(lists, images, columnBits);
}

} // namespace

void classify(const Classification& job, const ConstantStages* constant, detail::StreamHandle stream)
{
    if (constant)
        classifyPairs(job, *constant, stream);
    else
        classifyPlain(job, stream);
    if (job.lists.lateCapacity > 0)
        classifyLate(job, stream);
    else
        detail::launchEarly("cascade resolve", resolveAll, dim3(tuning::RESOLVE_BLOCKS), dim3(tuning::RESOLVE_THREADS),
                            0, stream, job.lists, job.images, job.shapes[0].columnBits);
}

}}}} // namespace cv::cuda::cascade::gpu
