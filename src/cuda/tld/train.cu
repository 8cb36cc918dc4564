// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// train: first training of an object. It runs once per object and its caller waits, so that it is simple rather than
// fast.
//
//   initialWindows      near windows, contrast, and whether there is an object
//   splitWindows        purpose of each window: none, a chunk, or validation; and the histogram of the first digit of
//                       its order
//   initialPositives    codes of positive examples
//   learnChunk          one chunk of examples: INIT_CHUNKS launches per pass
//   validateFerns       the largest sum of posteriors of a validating window
//   nextOrderDigit      the next digit of the last order that is selected
//   orderHistogram      the histogram of the next digit; alternates with nextOrderDigit
//   collectCandidates   windows up to that order
//   initialTemplates    templates and thresholds
#include "examples.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const uint8_t UNUSED = 255, VALIDATES = 254;
static_assert(INIT_CHUNKS < VALIDATES, "kinds of windows are bytes");

/* The order of windows as templates has DIGITS digits, the highest first: those of a random number, then those of the
window's index, so that orders are unique. */
const int DIGIT_BITS = 16, DIGITS = 64 / DIGIT_BITS;
static_assert(TRAIN_BINS == 1 << DIGIT_BITS, "a bin for each digit");
__device__ __forceinline__ uint64_t orderOf(uint32_t key, int number)
{
    return static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(number);
}
__device__ __forceinline__ int digitOf(uint64_t order, int k)
{
    return static_cast<int>(order >> (DIGITS - 1 - k) * DIGIT_BITS & (TRAIN_BINS - 1));
}

struct NearMemory
{
    NearSpans near;
    Ranking ranking;
    BlockPatch patch;
};

__global__ void __launch_bounds__(tuning::THREADS)
    initialWindows(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object)
{
    __shared__ NearMemory m;
    Live& live = *object.live;
    const Box box = live.states[0].box;
    copyWords(&m.near.grid, object.grid, 1);
    __syncthreads(); // the grid
    findNear(box, batch.settings.initWindows, m.near, m.ranking);
    if (m.ranking.count == 0)
    {
        if (threadIdx.x == 0)
            live.trained = 0;
        return;
    }
    makePatch(batch, boxOf(m.ranking.windows[0]), m.patch);
    if (threadIdx.x >= 32)
        return;
    TrainingSet& set = live.trainingSets[live.set];
    fillTrainingSet(set, box, m.ranking.windows, m.ranking.count, batch.settings.initWarps, batch.settings.initAngle,
                    batch.settings);
    if (threadIdx.x != 0)
        return;
    live.trained = m.patch.stats.contrast > 0;
    live.states[0].contrast = m.patch.stats.contrast;
    set.positive = boxOf(m.ranking.windows[0]);
    live.worstSum = live.candidates = 0;
    live.last = 0;
    live.left = batch.settings.initNegatives;
}

struct GridWindow
{
    int scale, place;
    Window window;
};
__device__ __forceinline__ GridWindow gridWindow(const Grid& grid, int number)
{
    const int s = scaleOf(grid, number), place = number - grid.scale[s].first;
    return {s, place, windowOf(grid.scale[s], place % grid.scale[s].nx, place / grid.scale[s].nx)};
}
__device__ __forceinline__ Random splitOf(const Batch& batch, const ObjectRecord& object, int number)
{
    const ObjectState& state = object.live->states[0];
    return randomOf(batch.settings.seed, state.number, state.frame, FOR_SPLIT, static_cast<uint32_t>(number));
}

__global__ void __launch_bounds__(tuning::THREADS)
    splitWindows(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object, uint8_t* kinds,
                 uint32_t* histogram)
{
    const int number = static_cast<int>(blockIdx.x) * tuning::THREADS + static_cast<int>(threadIdx.x);
    const Live& live = *object.live;
    if (!live.trained || number >= object.grid->windows)
        return;
    const Window window = gridWindow(*object.grid, number).window;
    uint8_t kind = UNUSED;
    if (isFar(window, live.trainingSet().box) && contrastOf(batch.sumTable(), batch.squareTable(), window) >=
                                                     leastContrast(live.states[0].contrast, 4, window.w, window.h))
    {
        const Random r = splitOf(batch, object, number);
        kind = r.v[0] % 2 ? VALIDATES : static_cast<uint8_t>(r.v[1] % INIT_CHUNKS);
        atomicAdd(histogram + digitOf(orderOf(r.v[2], number), 0), 1u);
    }
    kinds[number] = kind;
}

__global__ void __launch_bounds__(EXAMPLE_THREADS)
    initialPositives(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object)
{
    __shared__ ExampleMemory m;
    const Live& live = *object.live;
    if (!live.trained)
        return;
    const TrainingSet& set = live.trainingSet();
    const ObjectState& state = live.states[0];
    const int e = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
    const ExampleStart start(object, batch.settings, state.number, state.frame, e, set.near, set.warps, set.angle,
                             thread);
    makeExample(batch, object, set, start, state.number, state.frame, e, thread, m);
}

//! Lists the windows of a kind in this block's part of the grid.
__device__ __forceinline__ void listKind(const ObjectRecord& object, const uint8_t* kinds, uint8_t kind,
                                         WindowMemory& m)
{
    if (threadIdx.x == 0)
        m.count = 0;
    __syncthreads(); // zero
    const int first = static_cast<int>(blockIdx.x) * tuning::SCAN_WINDOWS;
    const int end = lesser(object.grid->windows, first + tuning::SCAN_WINDOWS);
    for (int number = first + static_cast<int>(threadIdx.x); number < end; number += tuning::THREADS)
        if (kinds[number] == kind)
        {
            const GridWindow w = gridWindow(*object.grid, number);
            listWindow(m, w.scale, w.place);
        }
}

//! Learns chunk k. The last block has its positive examples, all others its windows.
__global__ void __launch_bounds__(tuning::THREADS)
    learnChunk(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object, const uint8_t* kinds,
               int k)
{
    __shared__ WindowMemory m;
    __shared__ TouchedMemory touched;
    __shared__ uint32_t sums[MOST_POSITIVES];
    Live& live = *object.live;
    if (!live.trained)
        return;
    const Model& model = object.models[0];
    const bool forPositives = blockIdx.x == gridDim.x - 1;
    if (forPositives)
        countPositives(object, model, batch.settings, live.states[0].fernThreshold, k, live.trainingSet().examples,
                       INIT_CHUNKS, sums);
    else
    {
        listKind(object, kinds, static_cast<uint8_t>(k), m);
        forListedWindows(batch, object, model, m,
                         [&](uint32_t sum, const uint32_t* leaves)
                         { countNegatives(batch.settings, object, model, sum, leaves); });
    }
    if (!isLastBlock(live.blocksDone, gridDim.x))
        return;
    refreshPositives(object, model, batch.settings, k, live.trainingSet().examples, INIT_CHUNKS);
    refreshTouched(batch.settings, object, model, touched);
}

__global__ void __launch_bounds__(tuning::THREADS)
    validateFerns(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object,
                  const uint8_t* kinds)
{
    __shared__ WindowMemory m;
    Live& live = *object.live;
    if (!live.trained)
        return;
    listKind(object, kinds, VALIDATES, m);
    forListedWindows(batch, object, object.models[0], m,
                     [&](uint32_t sum, const uint32_t*) { atomicMax(&live.worstSum, sum); });
}

//! Finds the next digit of the last order: the lowest digit up to which there are enough windows, or the largest.
//! Zeroes the histogram.
__global__ void __launch_bounds__(tuning::THREADS)
    nextOrderDigit(const __grid_constant__ ObjectRecord object, uint32_t* histogram)
{
    __shared__ int sums[BLOCK_WARPS];
    __shared__ int counts[tuning::THREADS];
    Live& live = *object.live;
    if (!live.trained)
        return;
    const int left = live.left;
    int before = 0, first = 0;
    for (;; first += tuning::THREADS)
    {
        const int own = static_cast<int>(histogram[first + threadIdx.x]);
        const int sum = sumOfBlock(own, sums);
        counts[threadIdx.x] = own;
        if (before + sum >= left || first + tuning::THREADS == TRAIN_BINS)
            break;
        before += sum;
    }
    __syncthreads(); // counts; all know what is left
    for (int bin = threadIdx.x; bin < TRAIN_BINS; bin += tuning::THREADS)
        histogram[bin] = 0;
    if (threadIdx.x != 0)
        return;
    int i = 0;
    for (; i < tuning::THREADS - 1 && before + counts[i] < left; ++i)
        before += counts[i];
    live.last = live.last << DIGIT_BITS | static_cast<uint64_t>(first + i);
    live.left = left - before;
}

//! Counts digit k of the orders that have the digits found so far.
__global__ void __launch_bounds__(tuning::THREADS)
    orderHistogram(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object,
                   const uint8_t* kinds, int k, uint32_t* histogram)
{
    const int number = static_cast<int>(blockIdx.x) * tuning::THREADS + static_cast<int>(threadIdx.x);
    const Live& live = *object.live;
    if (!live.trained || number >= object.grid->windows || kinds[number] == UNUSED)
        return;
    const uint64_t order = orderOf(splitOf(batch, object, number).v[2], number);
    if (order >> (DIGITS - k) * DIGIT_BITS == live.last)
        atomicAdd(histogram + digitOf(order, k), 1u);
}

//! Collects the windows up to the last order. They are at most initNegatives, as orders are unique.
__global__ void __launch_bounds__(tuning::THREADS)
    collectCandidates(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object,
                      const uint8_t* kinds, uint2* candidates)
{
    const int number = static_cast<int>(blockIdx.x) * tuning::THREADS + static_cast<int>(threadIdx.x);
    Live& live = *object.live;
    if (!live.trained || number >= object.grid->windows || kinds[number] == UNUSED)
        return;
    const uint32_t key = splitOf(batch, object, number).v[2];
    if (orderOf(key, number) <= live.last)
        candidates[atomicAdd(&live.candidates, 1u)] = make_uint2(key, static_cast<unsigned>(number));
}

struct InitialMemory
{
    ObjectState state;
    uint32_t added;
    int slot;
    double worst;
    bool again; //!< result of retrains()
    int windows[MAX_INIT_NEGATIVES];
    BlockPatch patch;
    SimilarityMemory similarities;
};

//! Compares the patch of a box with all templates. Ends with a barrier.
__device__ __forceinline__ void compareWith(const Batch& batch, const Model& model, const Box& box, InitialMemory& m)
{
    compareBox(batch, model, m.state.positives, m.state.negatives, box, m.patch, m.similarities);
}
//! Makes the patch of compareWith() a template if addsPositive() or addsNegative(). Ends with a barrier.
__device__ __forceinline__ void learnPatch(const Batch& batch, const Model& model, bool positive, InitialMemory& m)
{
    if (threadIdx.x == 0)
    {
        m.slot = -1;
        if (positive && addsPositive(m.state, m.similarities.result))
            m.slot = placePositive(m.state, model.order, m.similarities.result.nearest, m.added++, batch.settings);
        if (!positive && addsNegative(m.state, m.similarities.result))
            m.slot = placeNegative(m.state, m.added++, batch.settings);
        if (m.slot >= 0)
            model.stats[m.slot] = m.patch.stats;
    }
    __syncthreads(); // the slot
    if (m.slot >= 0 && threadIdx.x < PATCH_STRIDE / 8)
        reinterpret_cast<uint2*>(model.templates + static_cast<size_t>(m.slot) * PATCH_STRIDE)[threadIdx.x] =
            m.patch.pixels[threadIdx.x];
    __syncthreads(); // the template; the slot was read
}

/** Learns templates from the even ones of `count` windows in m.windows, and thresholds from the odd ones. m.state must
have no templates. Ends with a barrier. */
__device__ __forceinline__ void trainTemplates(const Batch& batch, const ObjectRecord& object, const Model& model,
                                               const Box& first, int count, InitialMemory& m)
{
    if (threadIdx.x == 0)
    {
        m.added = 0;
        m.worst = 0.;
    }
    compareWith(batch, model, first, m);
    learnPatch(batch, model, true, m);
    for (int k = 0; k < count; k += 2)
    {
        compareWith(batch, model, boxOf(windowOf(*object.grid, m.windows[k])), m);
        learnPatch(batch, model, false, m);
    }
    for (int k = 1; k < count; k += 2)
    {
        compareWith(batch, model, boxOf(windowOf(*object.grid, m.windows[k])), m);
        if (threadIdx.x == 0)
            m.worst = greater(m.worst, relative(m.similarities.result, m.state.positives, m.state.negatives));
    }
    compareWith(batch, model, object.live->trainingSet().box, m);
    if (threadIdx.x == 0)
    {
        endTraining(m.state, object.live->worstSum, m.worst, m.similarities.result, batch.settings);
        m.again = retrains(m.state, batch.settings);
    }
    __syncthreads(); // the state; whether to train again
}

__global__ void __launch_bounds__(tuning::THREADS)
    initialTemplates(const __grid_constant__ Batch batch, const __grid_constant__ ObjectRecord object,
                     const uint2* candidates)
{
    __shared__ InitialMemory m;
    Live& live = *object.live;
    if (!live.trained)
        return;
    const Model& model = object.models[0];
    const int count = static_cast<int>(live.candidates);
    for (int k = threadIdx.x; k < count; k += tuning::THREADS)
    {
        const uint2 own = candidates[k];
        int place = 0;
        for (int other = 0; other < count; ++other)
            place +=
                candidates[other].x < own.x || (candidates[other].x == own.x && candidates[other].y < own.y) ? 1 : 0;
        m.windows[place] = static_cast<int>(own.y);
    }
    if (threadIdx.x == 0)
        m.state = live.states[0];
    __syncthreads(); // windows, state
    trainTemplates(batch, object, model, live.trainingSet().positive, count, m);
    if (m.again)
        trainTemplates(batch, object, model, live.trainingSet().box, count, m);
    if (threadIdx.x != 0)
        return;
    live.states[0] = m.state;
}

} // namespace

void train(const Batch& batch, const ObjectRecord& object, int windows, const TrainingMemory& memory,
           detail::StreamHandle stream)
{
    uint8_t* const kinds = memory.kinds;
    uint32_t* const histogram = memory.histogram;
    const Settings& s = batch.settings;
    const dim3 block(tuning::THREADS), all = detail::linearGrid(windows, tuning::THREADS),
                                       scans(detail::ceilDiv(windows, tuning::SCAN_WINDOWS));
    detail::launch("tld train: near windows", initialWindows, dim3(1), block, 0, stream, batch, object);
    detail::launch("tld train: split", splitWindows, all, block, 0, stream, batch, object, kinds, histogram);
    detail::launch("tld train: examples", initialPositives, dim3(examplesOf(s.initWindows, s.initWarps, s.mirror)),
                   dim3(EXAMPLE_THREADS), 0, stream, batch, object);
    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < INIT_CHUNKS; ++k)
            detail::launch("tld train: chunk", learnChunk, dim3(scans.x + 1), block, 0, stream, batch, object, kinds,
                           k);
    detail::launch("tld train: validation", validateFerns, scans, block, 0, stream, batch, object, kinds);
    for (int k = 0; k < DIGITS; ++k)
    {
        if (k > 0)
            detail::launch("tld train: digit", orderHistogram, all, block, 0, stream, batch, object, kinds, k,
                           histogram);
        detail::launch("tld train: order", nextOrderDigit, dim3(1), block, 0, stream, object, histogram);
    }
    detail::launch("tld train: candidates", collectCandidates, all, block, 0, stream, batch, object, kinds,
                   memory.candidates);
    detail::launch("tld train: templates", initialTemplates, dim3(1), block, 0, stream, batch, object,
                   memory.candidates);
}

}}}} // namespace cv::cuda::tld::gpu
