// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// learnFerns: counts and posteriors of the fern ensemble, in the copy of the model that commit() makes current.
//
//   makePositives    codes of positive examples, several per block; the last block learns the positives of the first pass
//   learnNegatives   fern-positive far windows, one launch per pass; the last block updates posteriors, and after the first pass
//                    learns the positives of the second
//
// Cost: 100 examples of 260 interpolated pixels; the codes of fern-positive windows, up to a third of all windows with enough
// variance; posteriors of changed leaves. Bound by latency with one object; without a training set, by launches.
#include "codes.hpp"
#include "examples.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int EXAMPLES = 4; //!< per block

/** Learns all chunks of positive examples by one block. A thread has some pairs of example and tree, and keeps their leaves. Ends with
a barrier. @tparam TREES of the settings; 0: known at run time only. @param sums POSITIVE_CHUNK entries of shared memory. */
template <int TREES>
__device__ __forceinline__ void learnPositives(const Batch& batch, const ObjectRecord& object, const Model& model,
                                               uint32_t* sums)
{
    const int TASKS = 3; //!< pairs of example and tree per thread
    static_assert(TASKS * EXAMPLES * EXAMPLE_THREADS >= POSITIVE_CHUNK * MAX_TREES &&
                      TASKS * tuning::POSTERIOR_THREADS >= POSITIVE_CHUNK * MAX_TREES,
                  "all trees of a chunk");
    const int trees = TREES ? TREES : batch.settings.trees;
    const Live& live = *object.live;
    const Settings& settings = batch.settings;
    const uint32_t threshold = live.states[live.current].fernThreshold;
    for (int first = 0; first < live.trainingSet.examples; first += POSITIVE_CHUNK)
    {
        const int tasks = lesser(live.trainingSet.examples - first, POSITIVE_CHUNK) * trees;
        uint32_t leaves[TASKS];
        int examples[TASKS]; //!< index in the chunk; negative: none
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

//! Computes the codes of positive examples. The last block learns them for the first pass.
template <int TREES>
__global__ void __launch_bounds__(EXAMPLES* EXAMPLE_THREADS) makePositives(const __grid_constant__ Batch batch)
{
    beginEarly();
    __shared__ ExampleMemory m[EXAMPLES];
    __shared__ uint32_t sums[POSITIVE_CHUNK];
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    if (!live.trainingSet.learn || live.trainingSet.near == 0)
        return;
    const int own = static_cast<int>(threadIdx.x) / EXAMPLE_THREADS;
    makeExample(batch, object, live.states[1 - live.current], static_cast<int>(blockIdx.x) * EXAMPLES + own,
                static_cast<int>(threadIdx.x) % EXAMPLE_THREADS, m[own]);
    if (isLastBlock(live.blocksDone, gridDim.x))
        learnPositives<TREES>(batch, object, object.models[1 - live.model], sums);
}

// --- far windows -----------------------------------------------------------------------------------------------------

//! Returns the position of the n-th set bit, n from 0.
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

//! Bits of fern-positive windows of the code list: one word of 32 windows per lane.
struct PositiveWords
{
    uint32_t bits;
    int before, count; //!< set bits of lower lanes, and of all lanes

    __device__ __forceinline__ PositiveWords(uint32_t word) : bits(word)
    {
        const int lane = threadIdx.x & 31, own = __popc(bits);
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
    //! Returns the position of the n-th set bit; any position if there are fewer. All lanes must call it.
    __device__ __forceinline__ int find(int n) const
    {
        int lane = 0; // the last lane with at most n set bits before it
#pragma unroll
        for (int d = 16; d > 0; d /= 2)
            lane += __shfl_sync(WARP, before, lane + d) <= n ? d : 0;
        return 32 * lane + placeOfBit(__shfl_sync(WARP, bits, lane), n - __shfl_sync(WARP, before, lane));
    }
};

/** Counts the far windows that are negative examples for the current posteriors. A warp reads some words of bits, and evaluates 32
fern-positive windows at a time. */
template <int TREES, int FEATURES>
__device__ __forceinline__ void learnFarWindows(const Batch& batch, const ObjectRecord& object, const Model& model,
                                                const uint16_t* posteriors, const ListPlaces& places)
{
    const Settings& settings = batch.settings;
    const Grid& grid = *object.grid;
    const CodeList list = batch.codeList(batch.objectGroups[object.group]);
    const Box box = object.live->trainingSet.box;
    const int lane = threadIdx.x & 31, words = detail::ceilDiv(places.before[grid.scales], 32);
    const int warps = static_cast<int>(gridDim.x * blockDim.x / 32);
    const int some = ::max(1, ::min(32, words / warps)); // words per warp at a time, so that all warps have work
    int scaleNumber = 0;
    for (int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32 * some; first < words;
         first += warps * some)
    {
        const PositiveWords positives(lane < some && first + lane < words ? object.listedPositives[first + lane] : 0);
        for (int base = 0; base < positives.count; base += 32)
        {
            const int k = 32 * first + positives.find(base + lane);
            if (base + lane >= positives.count)
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

struct NegativeMemory
{
    ListPlaces places;
    TouchedMemory touched;
    uint32_t sums[POSITIVE_CHUNK];
};
static_assert(sizeof(NegativeMemory) <= LEARN_NEGATIVES_STATIC_BYTES, "plans count on it");

//! Learns fern-positive far windows. @param pass after pass 0, the last block learns the positive examples of pass 1.
//! @tparam SHARED posteriors are in shared memory.
template <int TREES, int FEATURES, bool SHARED>
__global__ void __launch_bounds__(tuning::POSTERIOR_THREADS, 1)
    learnNegatives(const __grid_constant__ Batch batch, int pass)
{
    extern __shared__ uint4 memory[];
    __shared__ NegativeMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    Live& live = *object.live;
    const Model& model = object.models[1 - live.model];
    const bool learns = live.trainingSet.learn && live.trainingSet.near > 0;
    // The preceding kernel writes neither the training set nor the code list.
    m.places.load(*object.grid, batch.codeList(batch.objectGroups[object.group]));
    beginEarly();
    if (!learns)
        return;
    if (SHARED)
        loadPosteriors(batch.settings, model, memory);
    __syncthreads(); // posteriors
    learnFarWindows<TREES, FEATURES>(batch, object, model,
                                     SHARED ? reinterpret_cast<const uint16_t*>(memory) : model.posteriors, m.places);
    if (!isLastBlock(live.blocksDone, gridDim.x))
        return;
    refreshTouched(batch.settings, object, model, m.touched);
    if (pass == 0)
        learnPositives<TREES>(batch, object, model, m.sums);
}

} // namespace

void learnFerns(const Batch& batch, detail::StreamHandle stream)
{
    const Settings& s = batch.settings;
    const int examples = examplesOf(s.updateWindows, s.updateWarps, s.mirror);
    detail::launchEarly("tld examples", s.trees == 10 ? makePositives<10> : makePositives<0>,
                        dim3(detail::ceilDiv(examples, EXAMPLES), batch.count), dim3(EXAMPLES * EXAMPLE_THREADS), 0,
                        stream, batch);
    const size_t posteriors = posteriorBytes(s, sharedLimit(), LEARN_NEGATIVES_STATIC_BYTES);
    const auto kernel = posteriors > 0 ? kernelFor(s, learnNegatives<10, 13, true>, learnNegatives<0, 0, true>)
                                       : kernelFor(s, learnNegatives<10, 13, false>, learnNegatives<0, 0, false>);
    const dim3 grid(partsOf(batch.count, detail::multiprocessors()), batch.count);
    for (int pass = 0; pass < 2; ++pass)
        detail::launchEarly("tld far windows", kernel, grid, dim3(tuning::POSTERIOR_THREADS), posteriors, stream, batch,
                            pass);
}

}}}} // namespace cv::cuda::tld::gpu
