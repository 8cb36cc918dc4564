// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// learnFerns: counts and posteriors of the fern ensemble, in the copy of the model that commit() makes current.
//
//   makePositives    codes of positive examples, several per block; the last block learns the positives of the first
//                    pass
//   learnNegatives   fern-positive far windows, one launch per pass; the last block updates posteriors, and after the
//                    first pass learns the positives of the second
//
// Cost: 100 examples of 260 interpolated pixels; the codes of fern-positive windows, up to a third of all windows with
// enough variance; posteriors of changed leaves. Bound by latency with one object; without a training set, by launches.
#include "codes.hpp"
#include "examples.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int EXAMPLES = 4; //!< per block

//! Positive examples of a frame. Loaded early, as they do not change while ferns are learned.
struct PositiveExamples
{
    int count;          //!< 0: nothing is learned
    uint32_t threshold; //!< examples with larger sums are not learned

    __device__ __forceinline__ PositiveExamples(const Live& live, const TrainingSet& set)
        : count(live.learns ? set.examples : 0), threshold(live.states[live.current].fernThreshold)
    {}
};

const int HALVES = POSITIVE_CHUNK / 32; //!< of a chunk; a warp has one of a tree
const int TASKS = 3;                    //!< halves per warp, at most
static_assert(TASKS * EXAMPLES * EXAMPLE_THREADS >= POSITIVE_CHUNK * MAX_TREES &&
                  TASKS * tuning::POSTERIOR_THREADS >= POSITIVE_CHUNK * MAX_TREES,
              "all trees of a chunk");

/** Learns all chunks of positive examples by one block. A warp has half a chunk for a tree, and an example per lane, so
that lanes with the same leaf can be counted together. Ends with a barrier. @tparam TREES of the settings; 0: known at
run time only. @param sums POSITIVE_CHUNK entries of shared memory. */
template <int TREES>
__device__ __forceinline__ void learnPositives(const Batch& batch, const ObjectRecord& object, const Model& model,
                                               const PositiveExamples& examples, uint32_t* sums)
{
    const int trees = TREES ? TREES : batch.settings.trees, warps = static_cast<int>(blockDim.x >> 5);
    const int warp = static_cast<int>(threadIdx.x >> 5), lane = static_cast<int>(threadIdx.x & 31);
    uint32_t next[TASKS]; // leaves of a chunk, loaded while the one before is learned
    const auto placeOf = [&](int n) { return (warp + n * warps) % HALVES * 32 + lane; };
    const auto isOne = [&](int first, int n)
    { return (warp + n * warps) / HALVES < trees && first + placeOf(n) < examples.count; };
    const auto loadLeaves = [&](int first)
    {
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            next[n] =
                isOne(first, n) ? leafOf(object, batch.settings, first + placeOf(n), (warp + n * warps) / HALVES) : 0;
    };
    loadLeaves(0);
    for (int first = 0; first < examples.count; first += POSITIVE_CHUNK)
    {
        uint32_t leaves[TASKS];
        for (int k = threadIdx.x; k < POSITIVE_CHUNK; k += static_cast<int>(blockDim.x))
            sums[k] = 0;
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            leaves[n] = next[n];
        loadLeaves(first + POSITIVE_CHUNK);
        __syncthreads(); // zeros; posteriors of the chunk before
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            if (isOne(first, n))
                atomicAdd(&sums[placeOf(n)], static_cast<uint32_t>(__ldcg(model.posteriors + leaves[n])));
        __syncthreads();      // sums
        unsigned same[TASKS]; //!< of the lowest lane with a leaf: all lanes that count in it; else 0
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
        {
            const bool learns = isOne(first, n) && sums[placeOf(n)] <= examples.threshold;
            const unsigned all = __ballot_sync(ALL_LANES, learns);
            same[n] = 0;
            if (!learns)
                continue;
            const unsigned own = __match_any_sync(all, leaves[n]);
            if ((own & ((1u << lane) - 1)) != 0)
                continue;
            same[n] = own;
            atomicAdd(&model.leaves[leaves[n]].positives, __popc(own));
        }
        __syncthreads(); // counts; sums were read
#pragma unroll
        for (int n = 0; n < TASKS; ++n)
            if (same[n] != 0)
                refresh(model, leaves[n]);
    }
    __syncthreads(); // posteriors
}

//! Computes the codes of positive examples. The last block learns them for the first pass.
template <int TREES>
__global__ void __launch_bounds__(EXAMPLES* EXAMPLE_THREADS) makePositives(const __grid_constant__ Batch batch)
{
    __shared__ ExampleMemory m[EXAMPLES];
    __shared__ TrainingSet sets[2];
    __shared__ uint32_t sums[POSITIVE_CHUNK];
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const Settings& s = batch.settings;
    const int own = static_cast<int>(threadIdx.x) / EXAMPLE_THREADS,
              thread = static_cast<int>(threadIdx.x) % EXAMPLE_THREADS;
    Live& live = *object.live;
    // The preceding kernel does not write this state, and the frame counts after it.
    const ObjectState& before = live.states[live.current];
    const uint32_t number = before.number, frame = before.frame + 1;
    const int e = static_cast<int>(blockIdx.x) * EXAMPLES + own;
    const bool few = isFew(batch); // blocks of many objects that work while they wait would take the place of others
    if (!few)
    {
        beginEarly();
        if (!live.learns)
            return;
    }
    const ExampleStart start(object, s, number, frame, e, s.updateWindows, s.updateWarps, s.updateAngle, thread);
    if (few)
        beginEarly();
    copyWords(sets, live.trainingSets, 2);
    const TrainingSet& set = sets[live.set];
    __syncthreads(); // training sets
    const PositiveExamples examples(live, set);
    if (examples.count == 0)
        return;
    makeExample(batch, object, set, start, number, frame, e, thread, m[own]);
    if (isLastBlock(live.blocksDone, gridDim.x))
        learnPositives<TREES>(batch, object, object.models[1 - live.model], examples, sums);
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
        // With cub::WarpScan learnNegatives() is longer (CUDA 13.0, sm_90).
        const int lane = threadIdx.x & 31, own = __popc(bits);
        int sum = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2)
        {
            const int other = __shfl_up_sync(ALL_LANES, sum, d);
            sum += lane >= d ? other : 0;
        }
        before = sum - own;
        count = __shfl_sync(ALL_LANES, sum, 31);
    }
    //! Returns the position of the n-th set bit; any position if there are fewer. All lanes must call it.
    __device__ __forceinline__ int find(int n) const
    {
        int lane = 0; // the last lane with at most n set bits before it
#pragma unroll
        for (int d = 16; d > 0; d /= 2)
            lane += __shfl_sync(ALL_LANES, before, lane + d) <= n ? d : 0;
        return 32 * lane + placeOfBit(__shfl_sync(ALL_LANES, bits, lane), n - __shfl_sync(ALL_LANES, before, lane));
    }
};

/** Far windows as negative examples. A warp reads some words of bits, and evaluates 32 fern-positive windows at a time.
Neither the windows nor their codes depend on the posteriors, so that the first ones are loaded before these are
known. */
template <int TREES, int FEATURES> class FarWindows
{
public:
    __device__ __forceinline__ FarWindows(const Batch& batch, const ObjectRecord& object, const ListPlaces& places)
        : settings_(batch.settings),
          object_(object),
          places_(places),
          list_(batch.codeList(batch.objectGroups[object.group])),
          words_(detail::ceilDiv(places.before[object.grid->scales], 32)),
          warps_(static_cast<int>(gridDim.x * blockDim.x / 32)),
          some_(::max(1, ::min(32, words_ / warps_))),
          first_((static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32 - warps_) * some_),
          positives_(0)
    {}

    //! Loads the next windows of the warp. @return false if there are none.
    __device__ __forceinline__ bool load()
    {
        const int lane = threadIdx.x & 31;
        while (base_ >= positives_.count)
        {
            first_ += warps_ * some_;
            if (first_ >= words_)
                return false;
            positives_ =
                PositiveWords(lane < some_ && first_ + lane < words_ ? object_.listedPositives[first_ + lane] : 0);
            base_ = 0;
        }
        const int k = 32 * first_ + positives_.find(base_ + lane);
        isOne_ = base_ + lane < positives_.count;
        base_ += 32;
        if (!isOne_)
            return true;
        const int at = places_.of(k, scale_);
        codes_.load(settings_, list_, at);
        place_ = static_cast<int>(list_.places[at]);
        return true;
    }
    //! Counts those of the loaded windows that are negative examples for the current posteriors.
    __device__ __forceinline__ void count(const Model& model, const uint16_t* posteriors) const
    {
        if (!isOne_ || codes_.sum(settings_, posteriors) < negativeSum(settings_.trees))
            return;
        const Scale& scale = object_.grid->scale[scale_];
        if (isFar(windowOf(scale, place_ % scale.nx, place_ / scale.nx), object_.live->trainingSet().box))
#pragma unroll
            for (int t = 0; t < PackedCodes<TREES, FEATURES>::MOST; ++t)
                if (TREES || t < settings_.trees)
                    countNegative(object_, model, codes_.leafOf(settings_, t));
    }

private:
    const Settings& settings_;
    const ObjectRecord& object_;
    const ListPlaces& places_;
    const CodeList list_;
    const int words_, warps_;
    const int some_; //!< words per warp at a time, so that all warps have work
    int first_, base_ = 0;
    PositiveWords positives_;
    bool isOne_ = false; //!< this lane has a window
    int scale_ = 0, place_ = 0;
    PackedCodes<TREES, FEATURES> codes_;
};

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
    const PositiveExamples examples(live, live.trainingSet());
    // The preceding kernel writes neither the training set nor the code list.
    m.places.load(*object.grid, batch.codeList(batch.objectGroups[object.group]));
    FarWindows<TREES, FEATURES> windows(batch, object, m.places);
    bool loaded = examples.count > 0 && windows.load();
    beginEarly();
    if (examples.count == 0)
        return;
    if (SHARED)
        loadPosteriors(batch.settings, model, memory);
    __syncthreads(); // posteriors
    for (; loaded; loaded = windows.load())
        windows.count(model, SHARED ? reinterpret_cast<const uint16_t*>(memory) : model.posteriors);
    if (!isLastBlock(live.blocksDone, gridDim.x))
        return;
    refreshTouched(batch.settings, object, model, m.touched);
    if (pass == 0)
        learnPositives<TREES>(batch, object, model, examples, m.sums);
}

} // namespace

void learnFerns(const Batch& batch, detail::StreamHandle stream)
{
    const Settings& s = batch.settings;
    const int examples = examplesOf(s.updateWindows, s.updateWarps, s.mirror);
    detail::launchEarly("tld examples", s.trees == 10 ? makePositives<10> : makePositives<0>,
                        dim3(detail::ceilDiv(examples, EXAMPLES), batch.count), dim3(EXAMPLES * EXAMPLE_THREADS), 0,
                        stream, batch);
    const bool direct = readsPosteriors(batch.count, batch.tileCount);
    const size_t posteriors = direct ? 0 : posteriorBytes(s, sharedLimit(), LEARN_NEGATIVES_STATIC_BYTES);
    const auto kernel = posteriors > 0 ? kernelFor(s, learnNegatives<10, 13, true>, learnNegatives<0, 0, true>)
                                       : kernelFor(s, learnNegatives<10, 13, false>, learnNegatives<0, 0, false>);
    const int processors = multiprocessorsBesideFilters(batch);
    const int parts = direct ? directParts(batch.count, batch.tileCount, processors) : partsOf(batch.count, processors);
    const dim3 grid(parts, batch.count);
    for (int pass = 0; pass < 2; ++pass)
        detail::launchEarly("tld far windows", kernel, grid, dim3(tuning::POSTERIOR_THREADS), posteriors, stream, batch,
                            pass);
}

}}}} // namespace cv::cuda::tld::gpu
