// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// learn: what gpu::decide() has written into the lessons. The model that is not current has become a copy of the current one, and
// learns; gpu::commit() makes it the current one.
//
//   renew       copies models, beside the detector
//   teach       a block an object: templates, beside the ferns
//   exemplify   codes of positive examples, some a block; the last block goes on with the ferns' first pass over them
//   reject      far windows that are alike, twice; the last block makes posteriors, and goes on with the second pass's positives
//
// Cost: 1 MB copied; 100 examples of 260 interpolated pixels; the codes of windows alike, up to a third of all that vary enough, and
// posteriors of those with leaves that have changed. Bound by latency, with one object; without a lesson, by launches.
#include "codes.hpp"
#include "examples.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

// --- spare models ----------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(tuning::THREADS) renew(const __grid_constant__ Batch batch)
{
    const int AT_ONCE = 4;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    if (!live.spareIsOld)
        return;
    const uint4* const from = reinterpret_cast<const uint4*>(object.models[live.model].leaves);
    uint4* const to = reinterpret_cast<uint4*>(object.models[1 - live.model].leaves);
    const int count = static_cast<int>(object.modelBytes / sizeof(uint4)), step = tuning::THREADS * tuning::COPY_BLOCKS;
    for (int first = static_cast<int>(blockIdx.x) * tuning::THREADS + static_cast<int>(threadIdx.x); first < count;
         first += AT_ONCE * step)
    {
        uint4 some[AT_ONCE];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            some[n] = from[::min(first + n * step, count - 1)];
#pragma unroll
        for (int n = 0; n < AT_ONCE; ++n)
            if (first + n * step < count)
                to[first + n * step] = some[n];
    }
    if (isLastBlock(live.copiesDone, gridDim.x) && threadIdx.x == 0)
        live.spareIsOld = 0;
}

// --- templates -------------------------------------------------------------------------------------------------------

//! Far detections, in their order, with the largest similarities to templates as they are now.
struct FarMemory
{
    int count;
    int detections[MAX_DETECTIONS];
    double positive[MAX_DETECTIONS], negative[MAX_DETECTIONS];
    int unknown[MAX_DETECTIONS]; //!< the template that was the most similar one may be gone
    uint32_t keys[MAX_DETECTIONS];
    int numbers[MAX_DETECTIONS];
    int next, slot, forgets;
};

struct TeachMemory
{
    ObjectState state;
    uint32_t added;
    FarMemory far;
    BlockPatch patch;
    Comparing comparing;
};

//! Ends with a barrier.
__device__ __forceinline__ void listFar(const Batch& batch, const ObjectRecord& object, TeachMemory& m)
{
    FarMemory& far = m.far;
    const Live& live = *object.live;
    const int i = threadIdx.x;
    const Detection* const detections = object.detections[1 - live.current];
    const bool isOne = i < m.state.detections && isFar(detections[i].window, live.lesson.box);
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

/** A template takes the place of whatever is in its slot: largest similarities of the far detections follow. Ends with a
barrier. @param forgets something is in the slot. */
__device__ __forceinline__ void storeTemplate(const ObjectRecord& object, const Model& model, TeachMemory& m, int from,
                                              const uint2* pixels, const PatchStats& stats, int slot, bool forgets,
                                              bool positive)
{
    const int lane = threadIdx.x & 31;
    const uint2 own = partOf(pixels), old = forgets ? partOfTemplate(model.templates, slot) : make_uint2(0, 0);
    const PatchStats oldStats = model.stats[slot];
    double* const most = positive ? m.far.positive : m.far.negative;
    for (int k = from + static_cast<int>(threadIdx.x >> 5); k < m.far.count; k += BLOCK_WARPS)
    {
        const int detection = m.far.detections[k];
        const uint2 theirs = partOf(patchOf(object, detection));
        const int dot = dotOf(theirs, own), oldDot = dotOf(theirs, old);
        if (lane != 0)
            continue;
        if (forgets && similarity(oldDot, object.stats[detection], oldStats) >= most[k])
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

//! Ends with a barrier.
__device__ __forceinline__ void teachPositive(const Batch& batch, const ObjectRecord& object, const Model& model,
                                              TeachMemory& m)
{
    makePatch(batch, object.live->lesson.positive, m.patch);
    compareTemplates(model, batch.settings, m.state.positives, m.state.negatives, m.patch.pixels, m.patch.stats,
                     m.comparing);
    if (threadIdx.x == 0)
    {
        m.far.slot = -1;
        if (addsPositive(m.state, m.comparing.result))
        {
            m.far.forgets = m.state.positives == batch.settings.maxPositives;
            m.far.slot = placePositive(m.state, model.order, m.comparing.result.nearest, m.added++, batch.settings);
        }
    }
    __syncthreads(); // the slot
    if (m.far.slot >= 0)
        storeTemplate(object, model, m, 0, m.patch.pixels, m.patch.stats, m.far.slot, m.far.forgets, true);
}

//! The first far detection from `from` on that is to be added, or has to be looked at again. In `next`; ends with a barrier.
__device__ __forceinline__ void findNext(TeachMemory& m, int from)
{
    if (threadIdx.x == 0)
        m.far.next = m.far.count;
    __syncthreads(); // the end
    const int k = from + static_cast<int>(threadIdx.x);
    if (k < m.far.count && (m.far.unknown[k] || addsNegative(m.state, {m.far.positive[k], 0., m.far.negative[k], -1})))
        atomicMin(&m.far.next, k);
    __syncthreads(); // the first one
}

__device__ __forceinline__ void teachTemplates(const Batch& batch, const ObjectRecord& object, const Model& model,
                                               TeachMemory& m)
{
    copyWords(&m.state, &object.live->states[1 - object.live->current], 1);
    if (threadIdx.x == 0)
        m.added = m.far.count = 0;
    __syncthreads(); // the state
    listFar(batch, object, m);
    teachPositive(batch, object, model, m);
    for (int k = 0; findNext(m, k), (k = m.far.next) < m.far.count; ++k)
    {
        const int detection = m.far.detections[k];
        const uint2* const pixels = patchOf(object, detection);
        const PatchStats stats = object.stats[detection];
        const bool unknown = m.far.unknown[k] != 0;
        if (unknown)
            compareTemplates(model, batch.settings, m.state.positives, m.state.negatives, pixels, stats, m.comparing);
        if (threadIdx.x == 0)
        {
            m.far.slot = -1;
            if (!unknown || addsNegative(m.state, m.comparing.result))
            {
                m.far.forgets = m.state.negatives == batch.settings.maxNegatives;
                m.far.slot = placeNegative(m.state, m.added++, batch.settings);
            }
        }
        __syncthreads(); // the slot
        if (m.far.slot >= 0)
            storeTemplate(object, model, m, k + 1, pixels, stats, m.far.slot, m.far.forgets, false);
        __syncthreads(); // the slot was read
    }
    if (threadIdx.x == 0)
    {
        ObjectState& state = object.live->states[1 - object.live->current];
        state.positives = m.state.positives;
        state.negatives = m.state.negatives;
    }
}

__global__ void __launch_bounds__(tuning::THREADS) teach(const __grid_constant__ Batch batch)
{
    __shared__ TeachMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    const Live& live = *object.live;
    if (live.lesson.learn)
        teachTemplates(batch, object, object.models[1 - live.model], m);
}

// --- positive examples -----------------------------------------------------------------------------------------------

const int EXAMPLES = 4; //!< of a block

/** Chunks of positive examples, by the threads of one block: an example's tree a thread, which knows its leaf. Starts and ends with a
barrier. @tparam TREES of the settings; 0: known later. @param sums POSITIVE_CHUNK entries. */
template <int TREES>
__device__ __forceinline__ void teachFerns(const Batch& batch, const ObjectRecord& object, const Model& model,
                                           uint32_t* sums)
{
    const int TASKS = 3; //!< of a thread
    static_assert(TASKS * EXAMPLES * EXAMPLE_THREADS >= POSITIVE_CHUNK * MAX_TREES &&
                      TASKS * tuning::LOOK_UP_THREADS >= POSITIVE_CHUNK * MAX_TREES,
                  "all trees of a chunk");
    const int trees = TREES ? TREES : batch.settings.trees;
    const Live& live = *object.live;
    const Settings& settings = batch.settings;
    const uint32_t threshold = live.states[live.current].fernThreshold;
    for (int first = 0; first < live.lesson.examples; first += POSITIVE_CHUNK)
    {
        const int tasks = lesser(live.lesson.examples - first, POSITIVE_CHUNK) * trees;
        uint32_t leaves[TASKS];
        int examples[TASKS]; //!< in the chunk; negative: none
        for (int k = threadIdx.x; k < POSITIVE_CHUNK; k += static_cast<int>(blockDim.x))
            sums[k] = 0;
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
        {
            const int k = static_cast<int>(threadIdx.x + n * blockDim.x), e = k / trees;
            examples[n] = k < tasks ? e : -1;
            leaves[n] = k < tasks ? leafOf(object, settings, first + e, k - e * trees) : 0;
        }
        __syncthreads(); // zeros; posteriors of the chunk before
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            if (examples[n] >= 0)
                atomicAdd(&sums[examples[n]], static_cast<uint32_t>(__ldcg(model.posteriors + leaves[n])));
        __syncthreads(); // sums
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            if (examples[n] >= 0 && sums[examples[n]] <= threshold)
                atomicAdd(&model.leaves[leaves[n]].positives, 1);
        __syncthreads(); // counts; sums were read
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            if (examples[n] >= 0)
                refresh(model, leaves[n]);
    }
    __syncthreads(); // posteriors
}

//! The last block goes on with the first pass of the ferns.
template <int TREES>
__global__ void __launch_bounds__(EXAMPLES* EXAMPLE_THREADS) exemplify(const __grid_constant__ Batch batch)
{
    beginEarly();
    __shared__ ExampleMemory m[EXAMPLES];
    __shared__ uint32_t sums[POSITIVE_CHUNK];
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    if (!live.lesson.learn || live.lesson.near == 0)
        return;
    const int own = static_cast<int>(threadIdx.x) / EXAMPLE_THREADS;
    makeExample(batch, object, live.states[1 - live.current], static_cast<int>(blockIdx.x) * EXAMPLES + own,
                static_cast<int>(threadIdx.x) % EXAMPLE_THREADS, m[own]);
    if (isLastBlock(live.blocksDone, gridDim.x))
        teachFerns<TREES>(batch, object, object.models[1 - live.model], sums);
}

// --- far windows -----------------------------------------------------------------------------------------------------

//! Place of the n-th bit, from 0, of those that are set.
__device__ __forceinline__ int placeOfBit(uint32_t bits, int n)
{
    int place = 0;
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
    {
        const int lower = __popc(bits >> place & ((1u << d) - 1));
        const bool isUpper = n >= lower;
        n -= isUpper ? lower : 0;
        place += isUpper ? d : 0;
    }
    return place;
}

//! What a warp looks for among windows of a list: a word of bits of 32 of them a lane.
struct AlikeWords
{
    uint32_t alike;
    int before, count; //!< windows alike of lower lanes; of all

    __device__ __forceinline__ AlikeWords(uint32_t bits) : alike(bits)
    {
        const int lane = threadIdx.x & 31, own = __popc(alike);
        int sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
        {
            const int other = __shfl_up_sync(WARP, sum, d);
            sum += lane >= d ? other : 0;
        }
        before = sum - own;
        count = __shfl_sync(WARP, sum, 31);
    }
    //! Window n of those alike, from that of lane 0 on. In all lanes; any window if there are not so many.
    __device__ __forceinline__ int find(int n) const
    {
        int lane = 0; // the last one with no more than n before it
#pragma unroll
        for (int d = 16; d > 0; d /= 2)
            lane += __shfl_sync(WARP, before, lane + d) <= n ? d : 0;
        return 32 * lane + placeOfBit(__shfl_sync(WARP, alike, lane), n - __shfl_sync(WARP, before, lane));
    }
};

/** Windows alike that ferns take for the object, and that are far from it. A warp looks through some words of bits, and judges 32 windows
alike at a time. */
template <int TREES, int FEATURES>
__device__ __forceinline__ void rejectAlike(const Batch& batch, const ObjectRecord& object, const Model& model,
                                            const uint16_t* posteriors, const ListPlaces& places)
{
    const Settings& settings = batch.settings;
    const Grid& grid = *object.grid;
    const CodeList list = batch.codeList(batch.objectGroups[object.group]);
    const Box box = object.live->lesson.box;
    const int lane = threadIdx.x & 31, words = detail::ceilDiv(places.before[grid.scales], 32);
    const int warps = static_cast<int>(gridDim.x * blockDim.x / 32);
    const int some = ::max(1, ::min(32, words / warps)); // of a warp at a time: all have work
    int scaleNumber = 0;
    for (int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32 * some; first < words;
         first += warps * some)
    {
        const AlikeWords alike(lane < some && first + lane < words ? object.judged[first + lane] : 0);
        for (int base = 0; base < alike.count; base += 32)
        {
            const int k = 32 * first + alike.find(base + lane);
            if (base + lane >= alike.count)
                continue;
            const int at = places.of(k, scaleNumber);
            PackedCodes<TREES, FEATURES> codes;
            codes.load(settings, list, at);
            if (codes.sum(settings, posteriors) < negativeSum(settings.trees))
                continue;
            const Scale& scale = grid.scale[scaleNumber];
            const int place = static_cast<int>(list.places[at]);
            if (!isFar(windowOf(scale, place % scale.nx, place / scale.nx), box))
                continue;
            for (int t = 0; t < settings.trees; ++t)
                countNegative(object, model, codes.leafOf(settings, t));
        }
    }
}

struct RejectMemory
{
    ListPlaces places;
    TouchedMemory touched;
    uint32_t sums[POSITIVE_CHUNK];
};
static_assert(sizeof(RejectMemory) <= REJECT_STATIC_BYTES, "plans count on it");

//! @param pass after the first one, the last block goes on with the positive examples of the second one.
//! @tparam SHARED there is shared memory for an object's posteriors.
template <int TREES, int FEATURES, bool SHARED>
__global__ void __launch_bounds__(tuning::LOOK_UP_THREADS, 1) reject(const __grid_constant__ Batch batch, int pass)
{
    extern __shared__ uint4 memory[];
    __shared__ RejectMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    const Model& model = object.models[1 - live.model];
    const bool learns = live.lesson.learn && live.lesson.near > 0;
    // Neither the lesson nor the list is written by the kernel before.
    m.places.load(*object.grid, batch.codeList(batch.objectGroups[object.group]));
    beginEarly();
    if (!learns)
        return;
    if (SHARED)
        loadPosteriors(batch.settings, model, memory);
    __syncthreads(); // posteriors
    rejectAlike<TREES, FEATURES>(batch, object, model,
                                 SHARED ? reinterpret_cast<const uint16_t*>(memory) : model.posteriors, m.places);
    if (!isLastBlock(live.blocksDone, gridDim.x))
        return;
    refreshTouched(batch.settings, object, model, m.touched);
    if (pass == 0)
        teachFerns<TREES>(batch, object, model, m.sums);
}

} // namespace

void renewSpares(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld spare models", renew, dim3(tuning::COPY_BLOCKS, batch.count), dim3(tuning::THREADS), 0, stream,
                   batch);
}

void learnTemplates(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld templates", teach, dim3(batch.count), dim3(tuning::THREADS), 0, stream, batch);
}

void learn(const Batch& batch, detail::StreamHandle stream)
{
    const Settings& s = batch.settings;
    const int examples = examplesOf(s.updateWindows, s.updateWarps, s.mirror);
    detail::launchEarly("tld examples", s.trees == 10 ? exemplify<10> : exemplify<0>,
                        dim3(detail::ceilDiv(examples, EXAMPLES), batch.count), dim3(EXAMPLES * EXAMPLE_THREADS), 0,
                        stream, batch);
    const size_t posteriors = posteriorBytes(s, sharedLimit(), REJECT_STATIC_BYTES);
    const auto kernel = posteriors > 0 ? kernelFor(s, reject<10, 13, true>, reject<0, 0, true>)
                                       : kernelFor(s, reject<10, 13, false>, reject<0, 0, false>);
    const dim3 grid(partsOf(batch.count, detail::multiprocessors()), batch.count);
    for (int pass = 0; pass < 2; ++pass)
        detail::launchEarly("tld far windows", kernel, grid, dim3(tuning::LOOK_UP_THREADS), posteriors, stream, batch,
                            pass);
}

}}}} // namespace cv::cuda::tld::gpu
