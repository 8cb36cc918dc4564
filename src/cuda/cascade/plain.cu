// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage classify for models whose windows cannot be in pairs: their leaves fit no fixed point, their features have
// fractional weights or sums that do not fit 16 bits, or their first stage or their windows are too large. One window
// per thread, from the model's own arrays, with sums in the order of the file. A block has lists of windows in shared
// memory, which ballots compact after each stage.
#include "classify.hpp"
#include "integral_image.hpp"
#include "tile.hpp"
#include "../../common/launch.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade { namespace gpu {

namespace {

//! Returns whether a window goes left at a node. @param window its corner in the integral image.
template <FeatureType TYPE>
__device__ __forceinline__ bool goesLeft(const ModelView& model, const Shape& shape, int index, const uint32_t* window,
                                         float norm)
{
    const Node node = model.nodes[index];
    if constexpr (TYPE == HAAR)
    {
        const HaarFeature& feature = model.haar[node.feature];
        const uint32_t* const table = window + (feature.tilted ? shape.words : 0);
        return haarGoesLeft(haarValue(feature, [&](int x, int y) { return table[shape.place(x, y)]; }), norm,
                            node.threshold);
    }
    else
    {
        static_assert(TYPE == LBP, "every feature type needs its own evaluation");
        return lbpGoesLeft(model.subsets + static_cast<size_t>(index) * SUBSET_WORDS,
                           lbpCode(model.lbp[node.feature], [&](int x, int y) { return window[shape.place(x, y)]; }));
    }
}

//! Adds up the leaves of a stage for one window.
template <FeatureType TYPE>
__device__ __noinline__ double sumOf(const ModelView& model, const Shape& shape, const StageRecord& stage,
                                     const uint32_t* window, float norm)
{
    double sum = 0.;
    for (int t = stage.firstTree; t < stage.firstTree + stage.trees; ++t)
    {
        int at = model.trees[t].firstNode;
        do
        {
            const Node& node = model.nodes[at];
            at = goesLeft<TYPE>(model, shape, at, window, norm) ? node.left : node.right;
        }
        while (at >= 0);
        sum += static_cast<double>(model.leaves[~at]);
    }
    return sum;
}

//! Computes the norms of all windows. The integral images of squares and of pixels use the same memory, one after the
//! other.
__device__ __forceinline__ void measureContrast(const Tile& t)
{
    const ModelView& model = t.job.model;
    const Shape& shape = t.shape;
    const int a = shape.place(1, 1), b = shape.place(model.width - 1, 1), c = shape.place(1, model.height - 1),
              d = shape.place(model.width - 1, model.height - 1);
    uint32_t* const squares = reinterpret_cast<uint32_t*>(t.norms);
    integralImage<true>(shape, t.patch);
    __syncthreads(); // the integral image of squares
    for (int window = threadIdx.x; window < t.windows(); window += blockThreads())
        if (t.has(window))
        {
            const uint32_t* const at = t.patch.table + t.indexOf(window);
            squares[window] = at[a] - at[b] - at[c] + at[d];
        }
    __syncthreads(); // all have read the squares
    integralImage<false>(shape, t.patch);
    __syncthreads(); // the integral image
    const int area = contrastArea(model.width, model.height);
    // Each thread takes the windows whose squares it wrote.
    for (int window = threadIdx.x; window < t.windows(); window += blockThreads())
        if (t.has(window))
        {
            const uint32_t* const at = t.patch.table + t.indexOf(window);
            const int64_t contrast = contrastOf(at[a] - at[b] - at[c] + at[d], squares[window], area);
            t.norms[window] = contrast >= model.leastContrast ? normOf(contrast) : 0.f;
        }
}

/** Evaluates a stage, one window per lane. @param wanted in: whether the lane has a window; out: and whether that has
contrast. Windows without contrast neither pass nor fail. @return whether the window passes. */
template <FeatureType TYPE>
__device__ __forceinline__ bool passes(const Tile& t, const StageRecord& stage, int window, bool& wanted, double& sum)
{
    constexpr bool NORM = usesNorm(TYPE);
    const float norm = NORM && wanted ? t.norms[window] : 0.f;
    wanted = wanted && (!NORM || norm != 0.f);
    if (!wanted)
        return false;
    sum = sumOf<TYPE>(t.job.model, t.shape, stage, t.patch.table + t.indexOf(window), norm);
    return !(sum < static_cast<double>(stage.threshold));
}

//! Evaluates the first stage on all windows of the tile and stores one bit per window.
template <FeatureType TYPE> __device__ __forceinline__ void firstStage(const Tile& t)
{
    const ModelView& model = t.job.model;
    const StageRecord stage = model.stage[0];
    const int lane = threadIdx.x & 31, chunks = detail::ceilDiv(t.windows(), 32);
    for (int chunk = threadIdx.x >> 5; chunk < chunks; chunk += blockWarps())
    {
        const int window = chunk * 32 + lane;
        bool wanted = t.has(window);
        double sum = 0.;
        const bool pass = passes<TYPE>(t, stage, window, wanted, sum);
        const uint32_t passed = __ballot_sync(ALL_LANES, pass), failed = __ballot_sync(ALL_LANES, wanted && !pass);
        if (lane == 0)
        {
            t.shared.passes[chunk] = passed;
            t.shared.fails[chunk] = failed;
        }
    }
}

//! Lists the windows that passed the first stage and that the skip rule does not certainly skip.
__device__ __forceinline__ void listFirst(const Tile& t)
{
    const TileRecord& tile = t.shared.tile;
    for (int row = threadIdx.x; row < t.rows; row += blockThreads())
    {
        const uint64_t fails = rowBits(t.shared.fails, t.shape, row);
        t.job.lists.failMasks[tile.word + row * t.shared.grid.rowWords] = fails;
        uint64_t left = notSkipped(fails, rowBits(t.shared.passes, t.shape, row), tile.col > 0);
        if (left == 0)
            continue;
        int place = atomicAdd(&t.shared.counts[0], __popcll(left));
        for (; left; left &= left - 1)
            t.lists[place++] = static_cast<uint16_t>(row * t.shape.cols + __ffsll(static_cast<long long>(left)) - 1);
    }
}

//! Evaluates the stages after the first. If there is only one, it is evaluated once more for its sum.
template <FeatureType TYPE> __device__ __forceinline__ void laterStages(const Tile& t)
{
    const ModelView& model = t.job.model;
    const int stages = model.stages, lane = threadIdx.x & 31;
    int count = t.shared.counts[0], turn = 0;
    for (int s = stages > 1 ? 1 : 0; s < stages && count > 0; ++s)
    {
        const StageRecord stage = model.stage[s];
        const uint16_t* const in = t.listOf(turn);
        uint16_t* const out = t.listOf(turn + 1);
        for (int chunk = threadIdx.x >> 5; chunk * 32 < count; chunk += blockWarps())
        {
            const int i = chunk * 32 + lane, window = in[i < count ? i : 0];
            bool wanted = i < count;
            double sum = 0.;
            const bool pass = passes<TYPE>(t, stage, window, wanted, sum);
            if (s == stages - 1)
            {
                if (pass)
                    addCandidate(t, window, sum);
                continue;
            }
            const uint32_t passed = __ballot_sync(ALL_LANES, pass);
            int first = 0;
            if (lane == 0 && passed)
                first = atomicAdd(&t.shared.counts[(turn + 1) % 3], __popc(passed));
            first = __shfl_sync(ALL_LANES, first, 0);
            if (pass)
                out[first + __popc(passed & ((1u << lane) - 1u))] = static_cast<uint16_t>(window);
        }
        if (threadIdx.x == 0)
            t.shared.counts[(turn + 2) % 3] = 0; // all read it before the last barrier
        __syncthreads();                         // the list
        ++turn;
        count = t.shared.counts[turn % 3];
    }
}

//! Classifies one tile.
template <FeatureType TYPE> __device__ __forceinline__ void classifyTile(const Tile& t)
{
    copyPatch<uint32_t>(t);
    __syncthreads(); // pixels
    if (usesNorm(TYPE))
        measureContrast(t);
    else
        integralImage<false>(t.shape, t.patch);
    if (t.job.model.tilted)
        makeTilted<false>(t.shape, t.patch);
    __syncthreads(); // tables and norms; the patch is no longer used
    firstStage<TYPE>(t);
    __syncthreads(); // one bit per window
    listFirst(t);
    __syncthreads(); // the first list
    laterStages<TYPE>(t);
}

//! Classifies tiles, one block per tile. @param GLOBAL patch and tables are in device memory; blocks loop over the
//! tiles.
template <FeatureType TYPE, bool GLOBAL>
__global__ void __launch_bounds__(tuning::THREADS) classifyTiles(const __grid_constant__ Classification job)
{
    __shared__ Shared shared;
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(dynamicMemory);
    uint8_t* const slice = GLOBAL ? job.slices + static_cast<size_t>(blockIdx.x) * job.layout.sliceBytes : bytes;
    for (int i = blockIdx.x; i < job.tileCount; i += gridDim.x)
    {
        loadRecords(job, shared, i);
        __syncthreads(); // the tile's records
        Tile t = tileOf(job, shared, i, bytes, slice);
        if (GLOBAL) // the compiler of CUDA 13.0 assumes that this pointer is to shared memory; asm hides its origin
            asm volatile("" : "+l"(t.patch.pixels), "+l"(t.patch.table), "+l"(t.patch.tilted));
        classifyTile<TYPE>(t);
        __syncthreads(); // all have finished with the shared memory
    }
}

//! Returns the kernel for a model's feature type and for the memory of its integral images.
auto kernelFor(const Classification& job)
{
    void (*kernel)(const Classification) = nullptr;
    switch (job.model.featureType)
    {
    case HAAR:
        kernel = job.layout.global ? classifyTiles<HAAR, true> : classifyTiles<HAAR, false>;
        break;
    case LBP:
        kernel = job.layout.global ? classifyTiles<LBP, true> : classifyTiles<LBP, false>;
        break;
    }
    return kernel;
}

} // namespace

void classifyPlain(const Classification& job, detail::StreamHandle stream)
{
    const int blocks = job.layout.global ? std::min(job.tileCount, tuning::GLOBAL_BLOCKS) : job.tileCount;
    detail::launch("cascade classify", kernelFor(job), dim3(blocks), dim3(tuning::THREADS), job.layout.bytes, stream,
                   job);
}

}}}} // namespace cv::cuda::cascade::gpu
