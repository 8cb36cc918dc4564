// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// nearestNeighbours: similarities of detections and of the box to the templates.
//
//   templateSimilarities   one detection per block: a corner of the patch per thread, then a template per warp, by dp4a; one more
//                          block for the box, and one for its support
//
// Cost: at most 144 KB of templates per detection, from the L2 cache. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Finds whether a fern-positive window overlaps the box by more than NEAR_OVERLAP.
__device__ __forceinline__ void findSupport(const ObjectRecord& object, const Box& box, NearSpans& near)
{
    copyWords(&near.grid, object.grid, 1);
    __syncthreads(); // the grid
    makeSpans(box, near);
    bool supported = false;
    for (int k = threadIdx.x; k < windowsNear(near) && !supported; k += tuning::THREADS)
    {
        const NearWindow w = nearWindow(near, k);
        supported =
            bitOf(object.fernPositives + object.bits.first[w.scale], w.place) && overlap(w.window, box) > NEAR_OVERLAP;
    }
    supported = __syncthreads_or(supported);
    if (threadIdx.x == 0)
        object.live->trackResult.supported = supported;
}

struct PatchMemory
{
    BlockPatch patch;
    SimilarityMemory work;
};

//! Compares detections with all templates. The blocks after those of detections process the tracker's box.
__global__ void __launch_bounds__(tuning::THREADS) templateSimilarities(const __grid_constant__ Batch batch)
{
    __shared__ union
    {
        PatchMemory compare;
        NearSpans near;
    } m;
    BlockPatch& patch = m.compare.patch;
    SimilarityMemory& work = m.compare.work;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    const int d = blockIdx.x, most = batch.settings.maxDetections;
    const bool isTracked = d >= most;
    const ObjectState& state = live.states[isTracked ? 1 - live.current : live.current];
    const Model& model = object.models[live.model];
    beginEarly();
    if (isTracked ? !state.alive : d >= static_cast<int>(live.counts.detections))
        return;
    if (d > most)
    {
        findSupport(object, state.box, m.near);
        return;
    }
    Detection& detection = object.detections[1 - live.current][isTracked ? 0 : d];
    makePatch(batch, isTracked ? state.box : boxOf(detection.window), patch);
    compareTemplates(model, batch.settings, state.positives, state.negatives, patch.pixels, patch.stats, work);
    if (isTracked)
    {
        if (threadIdx.x == 0)
        {
            live.trackResult.similarity = work.result;
            live.trackResult.stats = patch.stats;
        }
        return;
    }
    if (threadIdx.x < PATCH_STRIDE / 8)
        reinterpret_cast<uint2*>(object.patches + static_cast<size_t>(d) * PATCH_STRIDE)[threadIdx.x] =
            patch.pixels[threadIdx.x];
    if (threadIdx.x != 0)
        return;
    object.stats[d] = patch.stats;
    detection.similarity = work.result;
    classify(state, detection);
    if (detection.accepted)
        atomicAdd(&live.counts.accepted, 1u);
}

} // namespace

void nearestNeighbours(const Batch& batch, bool tracking, detail::StreamHandle stream)
{
    detail::launchAs(!tracking && batch.alone, "tld nearest neighbours", templateSimilarities,
                     dim3(batch.settings.maxDetections + (tracking ? 2 : 0), batch.count), dim3(tuning::THREADS), 0,
                     stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
