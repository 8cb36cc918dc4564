// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// nearestNeighbours: similarities of detections and of the box to the templates.
//
//   templateSimilarities   one detection per block: a corner of the patch per thread, then a template per warp, by dp4a; one more
//                          block for the box, and SUPPORT_BLOCKS for its support
//
// Cost: at most 144 KB of templates per detection, from the L2 cache. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Windows that a round of findSupport() has listed, and their sums of posteriors.
struct SupportMemory
{
    NearSpans near;
    Window windows[tuning::THREADS];
    uint32_t sums[tuning::THREADS];
    int count;
    uint32_t largest;
};

//! Adds the posteriors of all ferns to the sums of the listed windows: a fern of a window per thread.
__device__ __forceinline__ void sumPosteriors(const Batch& batch, const ObjectRecord& object, const Model& model,
                                              SupportMemory& m)
{
    const int features = batch.settings.features, count = m.count;
    for (int task = threadIdx.x; task < count * batch.settings.trees; task += tuning::THREADS)
    {
        const int tree = task / count, i = task - tree * count;
        const Window window = m.windows[i];
        const Feature* const feature = object.features + tree * features;
        uint32_t code = 0;
#pragma unroll 13
        for (int f = 0; f < features; ++f)
        {
            const Feature c = feature[f];
            const uint8_t first =
                batch.blurred.row(window.y + offsetOf(c.y0, window.h))[window.x + offsetOf(c.x0, window.w)];
            const uint8_t second =
                batch.blurred.row(window.y + offsetOf(c.y1, window.h))[window.x + offsetOf(c.x1, window.w)];
            code = 2 * code + (first > second ? 1u : 0u);
        }
        atomicAdd(&m.sums[i],
                  static_cast<uint32_t>(model.posteriors[(static_cast<uint32_t>(tree) << features) + code]));
    }
}

/** Finds the largest sum of posteriors of a fern-positive window that overlaps the box by more than NEAR_OVERLAP, among every
SUPPORT_BLOCKS-th window near it. There are few, so that computing their codes again costs less than storing the sums of all windows.
@param part index of the block. */
__device__ __forceinline__ void findSupport(const Batch& batch, const ObjectRecord& object, const Model& model,
                                            const Box& box, int part, SupportMemory& m)
{
    copyWords(&m.near.grid, object.grid, 1);
    if (threadIdx.x == 0)
        m.largest = 0;
    __syncthreads(); // the grid, zero
    makeSpans(box, m.near);
    for (int first = part; first < windowsNear(m.near); first += tuning::SUPPORT_BLOCKS * tuning::THREADS)
    {
        if (threadIdx.x == 0)
            m.count = 0;
        m.sums[threadIdx.x] = 0;
        __syncthreads(); // zeros
        const int k = first + tuning::SUPPORT_BLOCKS * static_cast<int>(threadIdx.x);
        if (k < windowsNear(m.near))
        {
            const NearWindow w = nearWindow(m.near, k);
            if (bitOf(object.fernPositives + object.bits.first[w.scale], w.place) &&
                overlap(w.window, box) > NEAR_OVERLAP)
                m.windows[atomicAdd(&m.count, 1)] = w.window;
        }
        __syncthreads(); // the list
        sumPosteriors(batch, object, model, m);
        __syncthreads(); // sums
        if (static_cast<int>(threadIdx.x) < m.count)
            atomicMax(&m.largest, m.sums[threadIdx.x]);
        __syncthreads(); // the list is free
    }
    if (threadIdx.x == 0 && m.largest > 0)
        atomicMax(&object.live->trackResult.support, m.largest);
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
        SupportMemory support;
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
        findSupport(batch, object, model, state.box, d - most - 1, m.support);
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
                     dim3(batch.settings.maxDetections + (tracking ? 1 + tuning::SUPPORT_BLOCKS : 0), batch.count),
                     dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
