// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify: all tiles of all layers and images of one cascade, one block per tile, in one of two ways:
//
//   pairs.cu  windows in pairs: all of OpenCV's cascades
//   plain.cu  windows one by one, from the model's own arrays: models that pairs.cu cannot take
//
// The skip rule depends on which windows of the whole row fail the first stage. At most one window per row of a tile
// depends on the tiles before: it is evaluated in any case and, if it is a candidate, deferred. A second kernel decides
// with the fail masks of all tiles.
#include "tile.hpp"
#include "../../common/launch.hpp"
#include "../../cascade/stages.hpp"

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

/** Returns whether the skip rule skips a window, all windows to whose left in its tile fail the first stage.
@param word index of its fail mask. @param wordInRow index of its tile in the row of tiles.
@param column of the window in its tile. @param full columns of tiles. */
__device__ __forceinline__ bool isSkipped(const uint64_t* failMasks, int word, int wordInRow, int column, int full)
{
    int run = column; // number of failed windows directly before
    for (int k = 1, ones = full; k <= wordInRow && ones == full; ++k)
    {
        ones = ::min(__clzll(static_cast<long long>(~(failMasks[word - k] << (64 - full)))), full);
        run += ones;
    }
    return (run & 1) != 0;
}

//! Appends the deferred candidates that are not skipped: those after a run of failed windows of even length.
__global__ void __launch_bounds__(tuning::RESOLVE_THREADS)
    resolveDeferred(const Lists lists, int images, int columnBits)
{
    detail::letNextKernelBegin();
    detail::waitForKernelBefore();
    const int count = *lists.deferredCount(images);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += static_cast<int>(gridDim.x * blockDim.x))
    {
        const Deferred p = lists.deferred[i];
        if (!isSkipped(lists.failMasks, p.word, p.wordInRow, p.column, 1 << columnBits))
            appendCandidate(lists, imageOf(p.key), p.key, p.weight);
    }
}

} // namespace

void classify(const Classification& job, const ConstantStages* constant, detail::StreamHandle stream)
{
    if (constant)
        classifyPairs(job, *constant, stream);
    else
        classifyPlain(job, stream);
    detail::launchEarly("cascade resolve", resolveDeferred, dim3(tuning::RESOLVE_BLOCKS), dim3(tuning::RESOLVE_THREADS),
                        0, stream, job.lists, job.images, job.shapes[0].columnBits);
}

}}}} // namespace cv::cuda::cascade::gpu
