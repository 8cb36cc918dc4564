// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// ferns: variance and ferns of all windows.
//
// A block has neighbouring windows of one scale. Those with enough variance move together in shared memory, in their order, so
// that all lanes of a warp compare pixels, of neighbours, with the same offsets. Most leaves of the background are zero: a table
// of bits in shared memory says which.
//
// Cost for a window with enough variance: 2 * 130 bytes read from the first-level cache, some 10 instructions for each
// comparison. Bound by these reads.
#include "tld_block.hpp"
#include "../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int WINDOWS = tuning::FERN_WINDOWS;
const int MAX_OFFSETS = 2 * ALL_FEATURES + 2 * MAX_TREES;

struct FernMemory
{
    uint4 offsets[MAX_OFFSETS / 4];
    int corners[WINDOWS];     //!< of the windows with enough variance, in the blurred picture
    uint16_t places[WINDOWS]; //!< in the tile
    uint32_t alike[WINDOWS / 32];
    uint16_t codes[MAX_TREES][tuning::FERN_THREADS];
    int kept;
};

//! Windows with enough variance, those of a warp in their order.
__device__ __forceinline__ void keepContrast(const Batch& batch, const ObjectRecord& object, const Scale& scale,
                                             int first, FernMemory& m)
{
    const ObjectState& state = object.live->states[object.live->current];
    const int64_t least = leastContrast(state.contrast, 2, scale.w, scale.h);
    const int lane = threadIdx.x & 31, all = scale.nx * scale.ny;
    const SumTable sums = batch.sumTable(), squares = batch.squareTable();
    for (int k = threadIdx.x; k < WINDOWS; k += tuning::FERN_THREADS)
    {
        const int place = first + k;
        Window window = {};
        bool keep = place < all;
        if (keep)
        {
            window = windowOf(scale, place % scale.nx, place / scale.nx);
            keep = contrastOf(sums, squares, window) >= least;
        }
        const unsigned keeping = __ballot_sync(WARP, keep);
        int base = 0;
        if (lane == 0 && keeping)
            base = atomicAdd(&m.kept, __popc(keeping));
        base = __shfl_sync(WARP, base, 0) + __popc(keeping & ((1u << lane) - 1));
        if (keep)
        {
            m.corners[base] = window.y * static_cast<int>(batch.blurred.step) + window.x;
            m.places[base] = static_cast<uint16_t>(k);
        }
    }
}

//! One more bit: whether the first pixel is brighter, which is the sign of the difference.
__device__ __forceinline__ uint32_t shiftIn(uint32_t leaf, int first, int second)
{
    return __funnelshift_l(static_cast<unsigned>(second - first), leaf, 1);
}

/** Sum of posteriors of a window. @tparam FEATURES of a tree; 0: those of the settings. @param known bits of leaves that are
not zero. */
template <int FEATURES>
__device__ __forceinline__ uint32_t sumOfFerns(const Settings& settings, const uint4* offsets, const uint8_t* blurred,
                                               int corner, const uint32_t* known, const uint16_t* posteriors,
                                               uint16_t (*codes)[tuning::FERN_THREADS])
{
    const int features = FEATURES ? FEATURES : settings.features, quads = offsetsPerTree(features) / 4;
    const uint8_t* const pixels = blurred + corner;
    uint32_t sum = 0;
#pragma unroll 1
    for (int t = 0; t < settings.trees; ++t)
    {
        uint32_t leaf = static_cast<uint32_t>(t);
#pragma unroll
        for (int q = 0; q < quads; ++q)
        {
            const uint4 at = offsets[t * quads + q];
            leaf = shiftIn(leaf, __ldg(pixels + at.x), __ldg(pixels + at.y));
            if (2 * q + 1 < features)
                leaf = shiftIn(leaf, __ldg(pixels + at.z), __ldg(pixels + at.w));
        }
        codes[t][threadIdx.x] = static_cast<uint16_t>(leaf & ((1u << features) - 1));
        if (known[leaf >> 5] >> (leaf & 31u) & 1u)
            sum += posteriors[leaf];
    }
    return sum;
}

//! Places in a list for those lanes that want one.
__device__ __forceinline__ unsigned placeInList(uint32_t* count, bool wanted)
{
    const unsigned lane = threadIdx.x & 31u, all = __ballot_sync(WARP, wanted);
    unsigned base = 0;
    if (lane == 0 && all)
        base = atomicAdd(count, static_cast<unsigned>(__popc(all)));
    return __shfl_sync(WARP, base, 0) + __popc(all & ((1u << lane) - 1));
}

template <int FEATURES>
__device__ __forceinline__ void judgeKept(const Batch& batch, const ObjectRecord& object, const Model& model,
                                          const uint32_t* known, const Tile& tile, int number, FernMemory& m)
{
    Live& live = *object.live;
    const uint32_t threshold = live.states[live.current].fernThreshold;
    const int lane = threadIdx.x & 31, kept = m.kept;
    for (int first = static_cast<int>(threadIdx.x & ~31u); first < kept; first += tuning::FERN_THREADS)
    {
        const int k = ::min(first + lane, kept - 1), place = m.places[k];
        uint32_t sum = sumOfFerns<FEATURES>(batch.settings, m.offsets, batch.blurred.data, m.corners[k], known,
                                            model.posteriors, m.codes);
        if (first + lane >= kept)
            sum = 0;
        const bool alike = sum >= alikeSum(), passing = first + lane < kept && sum > threshold;
        if (__any_sync(WARP, alike))
        {
            const unsigned at = placeInList(&live.counts.alike, alike);
            if (alike)
                atomicOr(&m.alike[place >> 5], 1u << (place & 31));
            if (alike && at < static_cast<unsigned>(object.alikeCapacity))
            {
                object.alikeWindows[at] = packed(tile.scale, tile.first + place);
                for (int t = 0; t < batch.settings.trees; ++t)
                    object.alikeCodes[static_cast<size_t>(t) * object.alikeCapacity + at] = m.codes[t][threadIdx.x];
            }
        }
        if (__any_sync(WARP, passing))
        {
            const unsigned at = placeInList(&live.counts.passed, passing);
            if (passing)
                object.passed[at] = make_uint2(static_cast<unsigned>(number + place), sum);
        }
    }
}

//! @param knownShared there is shared memory for the table of leaves that are not zero.
template <int FEATURES>
__global__ void __launch_bounds__(tuning::FERN_THREADS, tuning::FERN_BLOCKS)
    scan(const __grid_constant__ Batch batch, bool knownShared)
{
    extern __shared__ uint4 sharedKnown[];
    __shared__ FernMemory m;
    const Tile tile = batch.tiles[blockIdx.x];
    const ObjectRecord& object = batch.objects[tile.object];
    const Scale scale = object.grid->scale[tile.scale];
    const Model& model = object.models[object.live->model];
    const uint4* const offsets = reinterpret_cast<const uint4*>(object.offsets + static_cast<size_t>(tile.scale) *
                                                                                     offsetsPerScale(batch.settings));
    for (int k = threadIdx.x; k < offsetsPerScale(batch.settings) / 4; k += tuning::FERN_THREADS)
        m.offsets[k] = offsets[k];
    for (int k = threadIdx.x; knownShared && k < leavesOf(batch.settings) / 128; k += tuning::FERN_THREADS)
        sharedKnown[k] = reinterpret_cast<const uint4*>(model.known)[k];
    if (threadIdx.x < WINDOWS / 32)
        m.alike[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        m.kept = 0;
    __syncthreads(); // zeros
    keepContrast(batch, object, scale, tile.first, m);
    __syncthreads(); // kept windows, tables
    judgeKept<FEATURES>(batch, object, model,
                        knownShared ? reinterpret_cast<const uint32_t*>(sharedKnown) : model.known, tile,
                        scale.first + tile.first, m);
    __syncthreads(); // bits
    const int words = ::min(WINDOWS, scale.nx * scale.ny - tile.first + 31) / 32;
    if (static_cast<int>(threadIdx.x) < words)
        object.alike[object.bits.first[tile.scale] + tile.first / 32 + threadIdx.x] = m.alike[threadIdx.x];
    if (threadIdx.x == 0 && m.kept > 0)
        atomicAdd(&object.live->counts.withVariance, static_cast<uint32_t>(m.kept));
}

} // namespace

void ferns(const Batch& batch, detail::StreamHandle stream)
{
    const size_t known = static_cast<size_t>(leavesOf(batch.settings)) / 8;
    const bool shared = known <= tuning::KNOWN_BYTES && leavesOf(batch.settings) % 128 == 0;
    detail::launch("tld ferns", batch.settings.features == 13 ? scan<13> : scan<0>, dim3(batch.tileCount),
                   dim3(tuning::FERN_THREADS), shared ? known : 0, stream, batch, shared);
}

}}}} // namespace cv::cuda::tld::gpu
