// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Examples that ferns learn in a frame and in the first training, and how leaves count them.
#ifndef OPENCV_CUDATRACKING_CUDA_TLD_EXAMPLES_HPP
#define OPENCV_CUDATRACKING_CUDA_TLD_EXAMPLES_HPP

#include "block.hpp"
#include "models.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

const int EXAMPLE_THREADS = 96; //!< threads per example: each has two comparisons, which share random numbers

struct ExampleMemory
{
    Warp warp;
    uint8_t bits[2 * EXAMPLE_THREADS];
};
static_assert(2 * EXAMPLE_THREADS >= ALL_FEATURES && EXAMPLE_THREADS >= MAX_TREES,
              "a thread for every two comparisons, and for each tree");

//! The part of a positive example that does not depend on the training set, for a thread.
struct ExampleStart
{
    Feature features[2]; //!< two comparisons of this thread
    Random noise;        //!< for their pixels
    int warp;            //!< index of the warp
    Turn turn;           //!< of this warp, if it is not 0; thread 0 only

    //! @param frame ObjectState::frame of the frame. @param near expected number of near windows. @param thread 0 to
    //! EXAMPLE_THREADS - 1.
    __device__ __forceinline__ ExampleStart(const ObjectRecord& object, const Settings& settings, uint32_t number,
                                            uint32_t frame, int e, int near, int warps, double angle, int thread)
        : noise(randomOf(settings.seed, number, frame, FOR_NOISE, noiseIndex(e, 4 * thread))),
          warp(e / near % (warps + 1)),
          turn()
    {
        const int last = settings.trees * settings.features - 1;
#pragma unroll
        for (int c = 0; c < 2; ++c)
            features[c] = object.features[lesser(2 * thread + c, last)];
        if (thread == 0 && warp != 0)
            turn = drawTurn(settings, number, frame, warp, angle);
    }
};

/** Computes the codes of positive example e, as exampleCode() does for one tree, by EXAMPLE_THREADS threads with two
comparisons each. Contains barriers, so that all threads of the block must call it. @param e may exceed the number of
examples. @param thread 0 to EXAMPLE_THREADS - 1. */
__device__ __forceinline__ void makeExample(const Batch& batch, const ObjectRecord& object, const TrainingSet& set,
                                            const ExampleStart& start, uint32_t number, uint32_t frame, int e,
                                            int thread, ExampleMemory& m)
{
    const Settings& settings = batch.settings;
    const bool isOne = e < set.examples;
    const int k = e / set.near % (set.warps + 1), comparisons = settings.trees * settings.features;
    const bool mirror = e / set.near > set.warps, plain = k == 0;
    const Window win = set.windows[e % set.near];
    if (isOne && thread == 0 && !plain) // there may be fewer near windows than expected
        m.warp = warpAt(k == start.warp ? start.turn : drawTurn(settings, number, frame, k, set.angle), set.hull);
    const auto at = [&](int x, int y) { return static_cast<int>(batch.blurred.row(y)[x]); };
    const int first = 2 * thread;
    __syncthreads(); // the warp
    if (isOne && first < comparisons)
    {
        const int scale = noiseScale(settings.warpNoise);
#pragma unroll
        for (int c = 0; c < 2; ++c)
        {
            const Feature& feature = start.features[c];
            int value[2];
#pragma unroll
            for (int p = 0; p < 2; ++p)
            {
                const int ox = offsetOf(p ? feature.x1 : feature.x0, win.w);
                const int x = win.x + (mirror ? win.w - 1 - ox : ox);
                const int y = win.y + offsetOf(p ? feature.y1 : feature.y0, win.h);
                value[p] = plain ? at(x, y)
                                 : warpedPixel(m.warp, x, y, batch.cols, batch.rows,
                                               noiseOf(start.noise.v[2 * c + p], scale), at);
            }
            m.bits[first + c] = value[0] > value[1] ? 1 : 0;
        }
    }
    __syncthreads(); // bits
    if (isOne && thread < settings.trees)
    {
        const int t = thread;
        int code = 0;
        for (int f = 0; f < settings.features; ++f)
            code = 2 * code + m.bits[t * settings.features + f];
        object.codes[static_cast<size_t>(e) * settings.trees + t] = static_cast<uint16_t>(code);
    }
}

__device__ __forceinline__ uint32_t leafOf(const ObjectRecord& object, const Settings& settings, int example, int tree)
{
    return (static_cast<uint32_t>(tree) << settings.features) +
           object.codes[static_cast<size_t>(example) * settings.trees + tree];
}

//! Updates the posterior of a leaf from its counts. Several threads may do so, as they write the same value.
__device__ __forceinline__ void refresh(const Model& model, uint32_t leaf)
{
    static_assert(sizeof(Leaf) == sizeof(int2), "both counts in one read");
    const int2 now = __ldcg(reinterpret_cast<const int2*>(model.leaves) + leaf);
    const uint16_t posterior = posteriorOf({now.x, now.y});
    model.posteriors[leaf] = posterior;
}

const int MOST_POSITIVES = 4 * POSITIVE_CHUNK; //!< per chunk

/** Counts positive examples first, first + step, ... below end, at most MOST_POSITIVES, all evaluated with the current
posteriors. Posteriors change only in refreshPositives(). Ends with a barrier. @param sums MOST_POSITIVES entries of
shared memory. */
__device__ __forceinline__ void countPositives(const ObjectRecord& object, const Model& model, const Settings& settings,
                                               uint32_t threshold, int first, int end, int step, uint32_t* sums)
{
    const int count = end > first ? (end - first + step - 1) / step : 0, tasks = count * settings.trees;
    for (int k = threadIdx.x; k < count; k += static_cast<int>(blockDim.x))
        sums[k] = 0;
    __syncthreads(); // zeros
    for (int k = threadIdx.x; k < tasks; k += static_cast<int>(blockDim.x))
        atomicAdd(
            &sums[k / settings.trees],
            static_cast<uint32_t>(
                model.posteriors[leafOf(object, settings, first + k / settings.trees * step, k % settings.trees)]));
    __syncthreads(); // sums
    for (int k = threadIdx.x; k < tasks; k += static_cast<int>(blockDim.x))
        if (sums[k / settings.trees] <= threshold)
            atomicAdd(&model.leaves[leafOf(object, settings, first + k / settings.trees * step, k % settings.trees)]
                           .positives,
                      1);
    __syncthreads(); // counts
}
//! Updates the posteriors after countPositives() of the same examples. Ends with a barrier.
__device__ __forceinline__ void refreshPositives(const ObjectRecord& object, const Model& model,
                                                 const Settings& settings, int first, int end, int step)
{
    const int tasks = end > first ? (end - first + step - 1) / step * settings.trees : 0;
    for (int k = threadIdx.x; k < tasks; k += static_cast<int>(blockDim.x))
        refresh(model, leafOf(object, settings, first + k / settings.trees * step, k % settings.trees));
    __syncthreads(); // posteriors
}

// --- windows as examples ---------------------------------------------------------------------------------------------

//! Windows that a block has listed, and sums and leaves of those that it evaluates at a time.
struct WindowMemory
{
    int places[tuning::SCAN_WINDOWS];
    uint8_t scales[tuning::SCAN_WINDOWS];
    int count;
    uint32_t sums[tuning::WINDOWS_AT_ONCE];
    uint32_t leaves[tuning::WINDOWS_AT_ONCE * MAX_TREES];
};

__device__ __forceinline__ void listWindow(WindowMemory& m, int scale, int place)
{
    const int at = atomicAdd(&m.count, 1);
    m.places[at] = place;
    m.scales[at] = static_cast<uint8_t>(scale);
}

__device__ __forceinline__ uint32_t leafOfWindow(const Batch& batch, const ObjectRecord& object, int scaleNumber,
                                                 int place, int tree)
{
    const Scale& scale = object.grid->scale[scaleNumber];
    const int* const points = object.points + static_cast<size_t>(scaleNumber) * pointStep(batch.settings);
    const uint32_t* const pairs = object.pairs + tree * batch.settings.features;
    const Window window = windowOf(scale, place % scale.nx, place / scale.nx);
    const uint8_t* const corner = batch.blurred.row(window.y) + window.x;
    uint32_t leaf = static_cast<uint32_t>(tree);
#pragma unroll 8
    for (int f = 0; f < batch.settings.features; ++f)
    {
        const uint32_t pair = pairs[f];
        leaf = 2 * leaf + (__ldg(corner + points[pair & 0xffffu]) > __ldg(corner + points[pair >> 16]) ? 1u : 0u);
    }
    return leaf;
}

//! Calls body(sum, leaves) for all listed windows, one thread per window. Begins and ends with a barrier.
template <typename Body>
__device__ __forceinline__ void forListedWindows(const Batch& batch, const ObjectRecord& object, const Model& model,
                                                 WindowMemory& m, const Body& body)
{
    __syncthreads(); // the list
    const int count = m.count;
    for (int first = 0; first < count; first += tuning::WINDOWS_AT_ONCE)
    {
        const int some = lesser(count - first, tuning::WINDOWS_AT_ONCE);
        for (int k = threadIdx.x; k < some; k += tuning::THREADS)
            m.sums[k] = 0;
        __syncthreads(); // zeros; leaves were read
        for (int k = threadIdx.x; k < some * batch.settings.trees; k += tuning::THREADS)
        {
            const int w = k % some, tree = k / some;
            const uint32_t leaf = leafOfWindow(batch, object, m.scales[first + w], m.places[first + w], tree);
            m.leaves[w * MAX_TREES + tree] = leaf;
            atomicAdd(&m.sums[w], static_cast<uint32_t>(model.posteriors[leaf]));
        }
        __syncthreads(); // sums
        for (int k = threadIdx.x; k < some; k += tuning::THREADS)
            body(m.sums[k], m.leaves + k * MAX_TREES);
        __syncthreads(); // sums were read
    }
}

//! Counts a negative example in a leaf, and marks the leaf for refreshTouched().
__device__ __forceinline__ void countNegative(const ObjectRecord& object, const Model& model, uint32_t leaf)
{
    atomicAdd(&model.leaves[leaf].negatives, 1);
    atomicOr(object.touched + (leaf >> 5), 1u << (leaf & 31u));
}
//! Counts a negative example in all its leaves if its sum is at least negativeSum().
__device__ __forceinline__ void countNegatives(const Settings& settings, const ObjectRecord& object, const Model& model,
                                               uint32_t sum, const uint32_t* leaves)
{
    for (int t = 0; sum >= negativeSum(settings.trees) && t < settings.trees; ++t)
        countNegative(object, model, leaves[t]);
}

const int TOUCHED_LIST = 2048;
struct TouchedMemory
{
    int count;
    uint32_t leaves[TOUCHED_LIST];
};

//! Updates the posteriors of all marked leaves, by one block. It lists them first, as few words contain most of the
//! bits.
__device__ __forceinline__ void refreshTouched(const Settings& settings, const ObjectRecord& object, const Model& model,
                                               TouchedMemory& m)
{
    uint4* const touched = reinterpret_cast<uint4*>(object.touched);
    const int quads = leafWords(settings) / 4;
    for (int first = 0; first < quads; first += static_cast<int>(blockDim.x))
    {
        const int k = first + static_cast<int>(threadIdx.x);
        const uint4 quad = k < quads ? __ldcg(touched + k) : make_uint4(0, 0, 0, 0);
        unsigned words[4] = {quad.x, quad.y, quad.z, quad.w};
        const int number = __popc(words[0]) + __popc(words[1]) + __popc(words[2]) + __popc(words[3]);
        if (threadIdx.x == 0)
            m.count = 0;
        __syncthreads(); // zero
        if (number > 0)
        {
            touched[k] = make_uint4(0, 0, 0, 0);
            int at = atomicAdd(&m.count, number);
#pragma unroll
            for (int w = 0; w < 4; ++w)
                for (unsigned bits = words[w]; bits; bits &= bits - 1, ++at)
                {
                    const uint32_t leaf = static_cast<uint32_t>(128 * k + 32 * w + __ffs(bits) - 1);
                    if (at < TOUCHED_LIST)
                        m.leaves[at] = leaf;
                    else
                        refresh(model, leaf);
                }
        }
        __syncthreads(); // the list
        for (int i = threadIdx.x; i < ::min(m.count, TOUCHED_LIST); i += static_cast<int>(blockDim.x))
            refresh(model, m.leaves[i]);
        __syncthreads(); // the list was read; posteriors
    }
}

}}}} // namespace cv::cuda::tld::gpu

#endif // OPENCV_CUDATRACKING_CUDA_TLD_EXAMPLES_HPP
