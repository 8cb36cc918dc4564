// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher, fused kernel: scores, peaks and report of a fragment by one block, all in shared memory.
//
// Cost for N fragments of w x h pixels, C channels, M positions each: C N M h ceil(w/4) byte-sum instructions (two for
// unweighted SSD, three for ZNCC, five when moments are weighted), bound by the integer pipes (64 lanes a clock and SM);
// bytes: each area and fragment once.

#include "fragment_matcher_device.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace device;

template <int METRIC, bool WEIGHTED> struct MapValue
{
    using Type = uint32_t;
};
template <> struct MapValue<METRIC_SSD, true>
{
    using Type = uint64_t; // 255 * 255^2 a byte leaves 32 bits after 259 bytes
};

//! Where things lie in a block's shared memory, in words, behind the Best scratch.
struct FusedLayout
{
    int units, planeWords, templateWords, templateStart, mapStart, words;
};

CT_HOST_DEVICE FusedLayout fusedLayout(int positions, int cols, int rows, int width, int height, int channels,
                                       int templatePlanes, int mapWords)
{
    FusedLayout layout;
    layout.units = stagedUnits(0, positions + 3, width);
    layout.planeWords = (rows + height - 1) * 16 * layout.units;
    layout.templateWords = height * ((width + 15) / 16 * 4);
    layout.templateStart = channels * layout.planeWords;
    layout.mapStart = layout.templateStart + (channels * templatePlanes + 1) * layout.templateWords;
    layout.words = layout.mapStart + (cols * rows * mapWords + 3) / 4 * 4;
    return layout;
}

struct alignas(16) FusedScratch
{
    Best warps[32];
    Best peaks[MAX_PEAKS];
    Entry entry; //!< here and not in registers, which the sums need
    int status;
};

//! Values of P positions of one row, x = phase + 4i, to the map.
template <int METRIC, bool WEIGHTED, int P>
__device__ __forceinline__ void storeSums(const Sums<METRIC, WEIGHTED, P>& sums, uint32_t* row, int phase, int cols,
                                          bool add)
{
#pragma unroll
    for (int i = 0; i < P; ++i)
    {
        if (phase + 4 * i >= cols)
            continue;
        if (add) // parts of the fragment's rows meet here; integers, so their order does not matter
            atomicAdd(row + phase + 4 * i, sums.sum[i]);
        else
            row[phase + 4 * i] = sums.sum[i];
    }
}

//! scores: the map of one fragment. Items are (part of the rows, position row, phase), phase fastest: no bank conflicts.
template <int METRIC, bool WEIGHTED, int CHANNELS, int P, typename Value>
__device__ void fillMap(const Entry& entry, const FusedLayout& layout, const uint32_t* staged, int splitShift,
                        Value* map)
{
    constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS;
    const int width = entry.fragment.width, height = entry.fragment.height, pitch = (width + 15) / 16 * 4;
    const int perPart = 4 * entry.window.rows;
    const uint32_t* templ = staged + layout.templateStart;
    const uint32_t* weights = templ + CHANNELS * Traits<METRIC, WEIGHTED>::TEMPLATE_PLANES * layout.templateWords;
    for (int item = threadIdx.x; item < perPart << splitShift; item += blockDim.x)
    {
        const int part = item / perPart, rowAndPhase = item - part * perPart;
        const int first = part * height >> splitShift, last = (part + 1) * height >> splitShift;
        const uint32_t* picture = staged + (rowAndPhase + 4 * first) * 4 * layout.units;
        Value* row = map + (rowAndPhase / 4) * entry.window.cols;
        Sums<METRIC, WEIGHTED, P> sums;
        sums.clear();
        uint64_t covariance[P] = {}, variance[P] = {}; // moments only
        for (int c = 0; c < CHANNELS; ++c)
        {
            const uint32_t* t = templ + c * Traits<METRIC, WEIGHTED>::TEMPLATE_PLANES * layout.templateWords;
            const uint32_t* tLow = t + layout.templateWords;
            sums.addRows(picture + c * layout.planeWords, 16 * layout.units, t + first * pitch, tLow + first * pitch,
                         weights + first * pitch, pitch, last - first, width);
            if constexpr (MOMENTS)
            {
#pragma unroll
                for (int i = 0; i < P; ++i)
                    foldMoments<METRIC>(sums, i, entry.fragment.sums, c, covariance[i], variance[i]);
                sums.clear();
            }
        }
        if constexpr (!MOMENTS)
            storeSums(sums, row, rowAndPhase % 4, entry.window.cols, splitShift > 0);
        else
        {
#pragma unroll
            for (int i = 0; i < P; ++i)
            {
                const int x = rowAndPhase % 4 + 4 * i;
                if (x < entry.window.cols)
                    row[x] = static_cast<Value>(momentsValue<METRIC>(covariance[i], variance[i], entry.fragment));
            }
        }
    }
}

//! The planes of a fragment and its weights lie in the arena as they are wanted here, unless they are split.
template <int METRIC, bool WEIGHTED, int CHANNELS>
__device__ void stageFragment(const uint32_t* arena, const DeviceFragment& fragment, const FusedLayout& layout,
                              uint32_t* target)
{
    if constexpr (Traits<METRIC, WEIGHTED>::SPLIT)
    {
        for (int c = 0; c < CHANNELS; ++c)
        {
            uint32_t* t = target + 2 * c * layout.templateWords;
            stageTemplate<true>(arena + c * layout.templateWords, arena + CHANNELS * layout.templateWords,
                                fragment.pitch, fragment.height, fragment.pitch, t, t + layout.templateWords,
                                target + 2 * CHANNELS * layout.templateWords);
        }
    }
    else
    {
        const uint4* source = reinterpret_cast<const uint4*>(arena);
        for (int u = threadIdx.x; u < (CHANNELS + 1) * layout.templateWords / 4; u += blockDim.x)
            reinterpret_cast<uint4*>(target)[u] = __ldg(source + u);
    }
}

//! peaks: greedy, each the best outside the zones of those before.
template <typename Value>
__device__ int findPeaksInMap(const Entry& entry, const Settings& settings, const Value* map, const Walked* walked,
                              int e, FusedScratch* scratch)
{
    const int cols = entry.window.cols, positions = cols * entry.window.rows;
    const int distance = exclusionDistance(settings.exclusionDistance, entry.fragment.width, entry.fragment.height);
    int count = 0;
    for (; count < settings.peaks; ++count)
    {
        Best best = Best::none();
        if (count == 0 && walked)
            best = {walked[e].value, walked[e].index};
        else
        {
            Value least = static_cast<Value>(~static_cast<Value>(0));
            int at = Best::NONE; // a thread's positions come in raster order: the first of equal values stays
            for (int p = threadIdx.x; p < positions; p += blockDim.x)
            {
                const Value value = map[p];
                if (value >= least && at != Best::NONE)
                    continue; // most: the question below costs a division a peak
                const int y = p / cols;
                if (allowed(p - y * cols, y, scratch->peaks, count, cols, distance, settings.exclusion))
                {
                    least = value;
                    at = p;
                }
            }
            best = {at == Best::NONE ? ~0ull : least, at};
            best = blockBest(best, scratch->warps);
        }
        if (best.index == Best::NONE)
            break;
        if (threadIdx.x == 0)
            scratch->peaks[count] = best;
        __syncthreads(); // all threads see the peak
    }
    return count;
}

template <int METRIC, bool WEIGHTED> struct FusedBounds
{
    static constexpr bool MOMENTS = Traits<METRIC, WEIGHTED>::MOMENTS;
    static constexpr int THREADS = MOMENTS ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS;
    static constexpr int BLOCKS = MOMENTS ? tuning::FUSED_MOMENTS_BLOCKS : tuning::FUSED_BLOCKS;
};

template <int METRIC, bool WEIGHTED, int CHANNELS, int P>
__global__ void __launch_bounds__(FusedBounds<METRIC, WEIGHTED>::THREADS, FusedBounds<METRIC, WEIGHTED>::BLOCKS)
    matchFusedKernel(const ImageView frame, const Batch batch, const Settings settings, const int splitShift,
                     const Walked* walked, const Outputs out)
{
    using Value = typename MapValue<METRIC, WEIGHTED>::Type;
    extern __shared__ __align__(16) unsigned char shared[];
    FusedScratch* scratch = reinterpret_cast<FusedScratch*>(shared);
    uint32_t* staged = reinterpret_cast<uint32_t*>(shared + sizeof(FusedScratch));

    const int e = blockIdx.x;
    const Entry& entry = scratch->entry;
    if (threadIdx.x == 0)
    {
        scratch->status = openEntry(frame, batch, e, scratch->entry);
        if (scratch->status != STATUS_FOUND)
            reportNothing(out, entry.i, settings.peaks, scratch->status);
    }
    __syncthreads(); // the entry is complete
    if (scratch->status != STATUS_FOUND)
        return;
    const DeviceFragment& fragment = entry.fragment;
    const FusedLayout layout = fusedLayout(P, entry.window.cols, entry.window.rows, fragment.width, fragment.height,
                                           CHANNELS, Traits<METRIC, WEIGHTED>::TEMPLATE_PLANES, sizeof(Value) / 4);
    stagePicture<CHANNELS, CHANNELS>(frame, entry.window.x, entry.window.y, entry.window.rows + fragment.height - 1,
                                     layout.units, 0, staged, layout.planeWords);
    stageFragment<METRIC, WEIGHTED, CHANNELS>(batch.arena + fragment.words, fragment, layout,
                                              staged + layout.templateStart);
    Value* map = reinterpret_cast<Value*>(staged + layout.mapStart);
    if (splitShift > 0)
        for (int p = threadIdx.x; p < (layout.words - layout.mapStart) / 4; p += blockDim.x)
            reinterpret_cast<uint4*>(map)[p] = {0, 0, 0, 0};
    __syncthreads(); // picture, template and zeroed map are complete
    fillMap<METRIC, WEIGHTED, CHANNELS, P>(entry, layout, staged, splitShift, map);
    __syncthreads(); // the map is complete
    const int count = findPeaksInMap(entry, settings, map, walked, e, scratch);
    report(out, entry.i, settings, fragment, entry.window, valueScale(METRIC, WEIGHTED), scratch->peaks, count,
           [map, cols = entry.window.cols](int x, int y) { return static_cast<uint64_t>(map[y * cols + x]); });
}

template <int METRIC, bool WEIGHTED, int CHANNELS>
void launchFused(const ImageView& frame, const Batch& batch, const Settings& settings, const gpu::FusedPlan& plan,
                 const Walked* walked, const Outputs& out, cudaStream_t stream)
{
    const auto kernel = plan.positions == 5   ? matchFusedKernel<METRIC, WEIGHTED, CHANNELS, 5>
                        : plan.positions == 9 ? matchFusedKernel<METRIC, WEIGHTED, CHANNELS, 9>
                                              : matchFusedKernel<METRIC, WEIGHTED, CHANNELS, 13>;
    detail::launch("matchFused", kernel, dim3(batch.count), dim3(plan.threads), plan.sharedBytes, stream, frame, batch,
                   settings, plan.splitShift, walked, out);
}

} // namespace

namespace gpu {

bool planFused(FusedPlan& plan, int cols, int rows, int width, int height, int channels, const Settings& settings,
               bool weighted)
{
    const bool split = settings.metric != METRIC_SAD && weighted;
    const int positions = cols <= 20 ? 5 : (cols <= 36 ? 9 : 13);
    if (cols > 52 || static_cast<int64_t>(width) * height * 765 * 255 > 0xffffffffll)
        return false;
    FusedPlan wider = plan;
    wider.positions = std::max(plan.positions, positions);
    const int64_t pictureBytes = static_cast<int64_t>(rows + height) * (width + 64) * 4 * channels;
    if (pictureBytes > static_cast<int64_t>(2 * tuning::FUSED_SHARED_BYTES)) // before int sizes could overflow
        return false;
    const int mapWords = settings.metric == METRIC_SSD && weighted ? 2 : 1;
    const FusedLayout layout =
        fusedLayout(wider.positions, cols, rows, width, height, channels, split ? 2 : 1, mapWords);
    wider.sharedBytes = std::max(plan.sharedBytes, sizeof(FusedScratch) + 4 * static_cast<size_t>(layout.words));
    if (wider.sharedBytes > tuning::FUSED_SHARED_BYTES)
        return false;
    // Moments are not linear in the rows of a fragment, so one thread sees them all.
    const bool moments = settings.metric == METRIC_ZNCC || split;
    const int perPart = 4 * rows;
    int shift = 0;
    while (!moments && perPart << (shift + 1) <= tuning::FUSED_THREADS && 4 << shift <= height)
        ++shift;
    const int threads = moments ? tuning::FUSED_MOMENTS_THREADS : tuning::FUSED_THREADS;
    wider.splitShift = std::max(plan.splitShift, shift);
    wider.threads = std::max(plan.threads, std::min(((perPart << wider.splitShift) + 31) / 32 * 32, threads));
    plan = wider;
    return true;
}

void matchFused(const ImageView& frame, const Batch& batch, const Settings& settings, const gpu::FusedPlan& plan,
                const Walked* walked, const Outputs& out, cudaStream_t stream)
{
    using Launch = decltype(&launchFused<METRIC_SAD, false, 1>);
    static const Launch launches[3][2][2] = {{{launchFused<METRIC_SAD, false, 1>, launchFused<METRIC_SAD, false, 3>},
                                              {launchFused<METRIC_SAD, true, 1>, launchFused<METRIC_SAD, true, 3>}},
                                             {{launchFused<METRIC_SSD, false, 1>, launchFused<METRIC_SSD, false, 3>},
                                              {launchFused<METRIC_SSD, true, 1>, launchFused<METRIC_SSD, true, 3>}},
                                             {{launchFused<METRIC_ZNCC, false, 1>, launchFused<METRIC_ZNCC, false, 3>},
                                              {launchFused<METRIC_ZNCC, true, 1>, launchFused<METRIC_ZNCC, true, 3>}}};
    launches[settings.metric][batch.weighted][batch.channels == 3](frame, batch, settings, plan, walked, out, stream);
}

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher
