// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// learnTemplates: templates of the nearest neighbours, in the copy of the model that commit() makes current. One object
// per block.
//
// Cost: the box against all templates; per added template, all far detections against it; and far detections whose most
// similar template was replaced, against all templates once more. Bound by latency.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Far detections in the order in which they are learned, with their largest similarities to the current templates.
struct FarDetections
{
    int count;
    int detections[MAX_DETECTIONS];
    double positive[MAX_DETECTIONS], negative[MAX_DETECTIONS];
    int unknown[MAX_DETECTIONS]; //!< the most similar template may have been replaced
    uint32_t keys[MAX_DETECTIONS];
    int numbers[MAX_DETECTIONS];
    int next, slot, replaces;
};

struct TemplateMemory
{
    ObjectState state;
    uint32_t added;
    FarDetections far;
    BlockPatch patch;
    SimilarityMemory similarities;
};

//! Lists far detections. Ends with a barrier.
__device__ __forceinline__ void listFar(const Batch& batch, const ObjectRecord& object, TemplateMemory& m)
{
    FarDetections& far = m.far;
    const Live& live = *object.live;
    const int i = threadIdx.x;
    const Detection* const detections = object.detections[1 - live.current];
    const bool isOne = i < m.state.detections && isFar(detections[i].window, live.trainingSet().box);
    uint32_t key = 0;
    int number = 0;
    if (isOne)
    {
        number = detections[i].number;
        key =
            randomOf(batch.settings.seed, m.state.number, m.state.frame, FOR_ORDER, static_cast<uint32_t>(number)).v[0];
        const int at = atomicAdd(&far.count, 1);
        far.keys[at] = key;
        far.numbers[at] = number;
    }
    __syncthreads(); // keys
    if (isOne)
    {
        int place = 0;
        for (int k = 0; k < far.count; ++k)
            place += far.keys[k] < key || (far.keys[k] == key && far.numbers[k] < number) ? 1 : 0;
        far.detections[place] = i;
        far.positive[place] = detections[i].similarity.positive;
        far.negative[place] = detections[i].similarity.negative;
        far.unknown[place] = 0;
    }
    __syncthreads(); // the list
}

__device__ __forceinline__ const uint2* patchOf(const ObjectRecord& object, int detection)
{
    return reinterpret_cast<const uint2*>(object.patches + static_cast<size_t>(detection) * PATCH_STRIDE);
}

/** Stores a template in a slot and updates the similarities of the far detections from `from` on. Ends with a barrier.
@param replaces the slot contains a template. */
__device__ __forceinline__ void storeTemplate(const ObjectRecord& object, const Model& model, TemplateMemory& m,
                                              int from, const uint2* pixels, const PatchStats& stats, int slot,
                                              bool replaces, bool positive)
{
    const int lane = threadIdx.x & 31;
    const uint2 own = partOf(pixels), old = replaces ? partOfTemplate(model.templates, slot) : make_uint2(0, 0);
    const PatchStats oldStats = model.stats[slot];
    double* const most = positive ? m.far.positive : m.far.negative;
    for (int k = from + static_cast<int>(threadIdx.x >> 5); k < m.far.count; k += BLOCK_WARPS)
    {
        const int detection = m.far.detections[k];
        const uint2 theirs = partOf(patchOf(object, detection));
        const int dot = dotOf(theirs, own), oldDot = dotOf(theirs, old);
        if (lane != 0)
            continue;
        if (replaces && similarity(oldDot, object.stats[detection], oldStats) >= most[k])
            m.far.unknown[k] = 1;
        most[k] = greater(most[k], similarity(dot, object.stats[detection], stats));
    }
    __syncthreads(); // the old template was read
    if (threadIdx.x < PATCH_STRIDE / 8)
        reinterpret_cast<uint2*>(model.templates + static_cast<size_t>(slot) * PATCH_STRIDE)[threadIdx.x] =
            pixels[threadIdx.x];
    if (threadIdx.x == 0)
        model.stats[slot] = stats;
    __syncthreads(); // the template
}

//! Adds the box as a positive template if addsPositive(). Ends with a barrier.
__device__ __forceinline__ void learnPositive(const Batch& batch, const ObjectRecord& object, const Model& model,
                                              TemplateMemory& m)
{
    compareBox(batch, model, m.state.positives, m.state.negatives, object.live->trainingSet().positive, m.patch,
               m.similarities);
    if (threadIdx.x == 0)
    {
        m.far.slot = -1;
        if (addsPositive(m.state, m.similarities.result))
        {
            m.far.replaces = m.state.positives == batch.settings.maxPositives;
            m.far.slot = placePositive(m.state, model.order, m.similarities.result.nearest, m.added++, batch.settings);
        }
    }
    __syncthreads(); // the slot
    if (m.far.slot >= 0)
        storeTemplate(object, model, m, 0, m.patch.pixels, m.patch.stats, m.far.slot, m.far.replaces, true);
}

//! Finds the first far detection from `from` on that is added or must be compared again; writes m.far.next. Ends with a
//! barrier.
__device__ __forceinline__ void findNext(TemplateMemory& m, int from)
{
    if (threadIdx.x == 0)
        m.far.next = m.far.count;
    __syncthreads(); // the end
    const int k = from + static_cast<int>(threadIdx.x);
    if (k < m.far.count && (m.far.unknown[k] || addsNegative(m.state, {m.far.positive[k], 0., m.far.negative[k], -1})))
        atomicMin(&m.far.next, k);
    __syncthreads(); // the first one
}

__device__ __forceinline__ void learnAllTemplates(const Batch& batch, const ObjectRecord& object, const Model& model,
                                                  TemplateMemory& m)
{
    copyWords(&m.state, &object.live->states[1 - object.live->current], 1);
    if (threadIdx.x == 0)
        m.added = m.far.count = 0;
    __syncthreads(); // the state
    listFar(batch, object, m);
    learnPositive(batch, object, model, m);
    for (int k = 0; findNext(m, k), (k = m.far.next) < m.far.count; ++k)
    {
        const int detection = m.far.detections[k];
        const uint2* const pixels = patchOf(object, detection);
        const PatchStats stats = object.stats[detection];
        const bool unknown = m.far.unknown[k] != 0;
        if (unknown)
            comparePatch(model, batch.settings, m.state.positives, m.state.negatives, pixels, stats, m.similarities);
        if (threadIdx.x == 0)
        {
            m.far.slot = -1;
            if (!unknown || addsNegative(m.state, m.similarities.result))
            {
                m.far.replaces = m.state.negatives == batch.settings.maxNegatives;
                m.far.slot = placeNegative(m.state, m.added++, batch.settings);
            }
        }
        __syncthreads(); // the slot
        if (m.far.slot >= 0)
            storeTemplate(object, model, m, k + 1, pixels, stats, m.far.slot, m.far.replaces, false);
        __syncthreads(); // the slot was read
    }
    if (threadIdx.x == 0)
    {
        ObjectState& state = object.live->states[1 - object.live->current];
        state.positives = m.state.positives;
        state.negatives = m.state.negatives;
    }
}

__global__ void __launch_bounds__(tuning::THREADS) updateTemplates(const __grid_constant__ Batch batch)
{
    __shared__ TemplateMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    const Live& live = *object.live;
    if (live.learns)
        learnAllTemplates(batch, object, object.models[1 - live.model], m);
}

} // namespace

void learnTemplates(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld templates", updateTemplates, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
