// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// nearestNeighbours: similarities of detections and of the box to the templates.
//
//   templateSimilarities   one detection per block: a corner of the patch per thread, then a template per warp, by
//                          dp4a; one more block for the box, and SUPPORT_BLOCKS for its support
//
// Cost: at most 144 KB of templates per detection, from the L2 cache. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Windows near the box, and sums of posteriors of those that findSupport() evaluates at a time.
struct SupportMemory
{
    NearSpans near;
    Feature features[ALL_FEATURES];
    uint32_t sums[tuning::THREADS];
    uint32_t largest;
};

//! Returns the code of a fern. @param features of this fern.
__device__ __forceinline__ uint32_t codeOfWindow(const Batch& batch, const Feature* features, const Window& window)
{
    const auto at = [&](int x, int y)
    { return batch.blurred.row(window.y + offsetOf(y, window.h))[window.x + offsetOf(x, window.w)]; };
    uint32_t code = 0;
#pragma unroll 13
    for (int f = 0; f < batch.settings.features; ++f)
    {
        const Feature c = features[f];
        code = 2 * code + (at(c.x0, c.y0) > at(c.x1, c.y1) ? 1u : 0u);
    }
    return code;
}

/** Finds the largest sum of posteriors of a fern-positive window that overlaps the box by more than NEAR_OVERLAP, in
every SUPPORT_BLOCKS-th part of the windows near it. A thread has one fern. There are few windows, so that computing the
codes of all again, at the same time as they are tested, costs less than storing the sums of all windows. @param part
index of the block. */
__device__ __forceinline__ void findSupport(const Batch& batch, const ObjectRecord& object, const Model& model,
                                            const Box& box, int part, SupportMemory& m)
{
    const int trees = batch.settings.trees, atOnce = tuning::THREADS / trees;
    const int tree = static_cast<int>(threadIdx.x) / atOnce, i = static_cast<int>(threadIdx.x) % atOnce;
    static_assert(ALL_FEATURES * sizeof(Feature) <= 2 * tuning::THREADS * sizeof(uint32_t), "words for copyBoth()");
    copyBoth<2, 2>(&m.near.grid, object.grid, 1, m.features, object.features, trees * batch.settings.features);
    if (threadIdx.x == 0)
        m.largest = 0;
    __syncthreads(); // the grid, comparisons, zero
    makeSpans(box, m.near);
    const int near = windowsNear(m.near);
    for (int first = part * atOnce; first < near; first += tuning::SUPPORT_BLOCKS * atOnce)
    {
        m.sums[threadIdx.x] = 0;
        __syncthreads(); // zeros
        bool supports = false;
        if (tree < trees && first + i < near)
        {
            const NearWindow w = nearWindow(m.near, first + i);
            const bool isPositive = bitOf(object.fernPositives + object.bits.first[w.scale], w.place);
            const uint32_t leaf = (static_cast<uint32_t>(tree) << batch.settings.features) +
                                  codeOfWindow(batch, m.features + tree * batch.settings.features, w.window);
            const uint32_t posterior = model.posteriors[leaf];
            supports = tree == 0 && overlap(w.window, box) > NEAR_OVERLAP && isPositive;
            atomicAdd(&m.sums[i], posterior);
        }
        __syncthreads(); // sums
        if (supports)
            atomicMax(&m.largest, m.sums[i]);
        __syncthreads(); // sums were read; the largest one
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
__global__ void __launch_bounds__(tuning::THREADS, 4) templateSimilarities(const __grid_constant__ Batch batch)
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
    if (d == most)
        copyWords(&live.tracked, &state, 1);
    if (isTracked ? !state.alive : d >= static_cast<int>(live.counts.detections))
        return;
    if (d > most)
    {
        findSupport(batch, object, model, state.box, d - most - 1, m.support);
        return;
    }
    Detection& detection = object.detections[1 - live.current][isTracked ? 0 : d];
    compareBox(batch, model, state.positives, state.negatives, isTracked ? state.box : boxOf(detection.window), patch,
               work);
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
