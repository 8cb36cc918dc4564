// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// ferns: variance and ferns of all windows. Objects of one size have the same windows, with the same codes.
//
//   vary     a thread a window: those with enough variance for an object of the group go to a list
//   encode   a warp has 128 windows of the list, a thread four of them, 32 apart, so that a warp's reads of one point are those of
//            neighbours. The comparisons share points: 130 of them look at some 115 pixels of a window, not at 260. So a
//            thread first brings these to shared memory, those of its four windows in a word, and then compares four
//            windows at a time
//   lookUp   a block has an object's posteriors in shared memory, and goes through a part of the list
//
// Cost for a window with enough variance: 115 bytes read from the first-level cache, and some 30 instructions for each pixel and
// comparison of four windows; for each object of the group, 28 bytes and ten look-ups.
#include "tld_codes.hpp"
#include "../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int TILE_WINDOWS = tuning::FERN_WINDOWS, AT_ONCE = 4, CHUNK = 32 * AT_ONCE; //!< CHUNK: windows of a warp

// --- variance --------------------------------------------------------------------------------------------------------

struct VaryMemory
{
    int base;
    int kept[TILE_WINDOWS / 32];
};

//! Places of the windows to be kept: those of the tile lie side by side. Negative: none. Ends with a barrier.
__device__ __forceinline__ int placeInScale(uint32_t* count, bool keep, VaryMemory& m)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned keeping = __ballot_sync(WARP, keep);
    if (lane == 0)
        m.kept[warp] = __popc(keeping);
    __syncthreads(); // numbers of all warps
    if (threadIdx.x == 0)
    {
        int sum = 0;
#pragma unroll
        for (int w = 0; w < TILE_WINDOWS / 32; ++w)
        {
            const int own = m.kept[w];
            m.kept[w] = sum;
            sum += own;
        }
        m.base = sum > 0 ? static_cast<int>(atomicAdd(count, static_cast<unsigned>(sum))) : 0;
    }
    __syncthreads(); // places
    return keep ? m.base + m.kept[warp] + __popc(keeping & ((1u << lane) - 1)) : -1;
}

__global__ void __launch_bounds__(TILE_WINDOWS) vary(const __grid_constant__ Batch batch)
{
    __shared__ VaryMemory m;
    const Tile& tile = batch.tiles[blockIdx.x];
    const Scale scale = tile.scale;
    const CodeList list = batch.codeList(tile.list, tile.windows);
    const int place = tile.first + static_cast<int>(threadIdx.x), windows = scale.nx * scale.ny;
    int64_t contrast = -1;
    if (place < windows)
        contrast =
            contrastOf(batch.sumTable(), batch.squareTable(), windowOf(scale, place % scale.nx, place / scale.nx));
    const int at = placeInScale(list.counts + tile.number, place < windows && contrast >= tile.least, m);
    const Group group = batch.objectGroups[tile.group];
    if (at >= 0)
    {
        list.places[scale.first + at] = static_cast<uint32_t>(place);
        if (group.count > 1)
            list.contrasts[scale.first + at] = contrast;
    }
    // Bits of windows that are alike, for lookUp().
    const int words = ::min(TILE_WINDOWS, windows - tile.first + 31) / 32;
    for (int k = threadIdx.x; k < group.count * words; k += TILE_WINDOWS)
    {
        const ObjectRecord& object = batch.objects[batch.members[group.first + k / words].object];
        object.alike[object.bits.first[tile.number] + tile.first / 32 + k % words] = 0;
    }
}

// --- codes -----------------------------------------------------------------------------------------------------------

//! Comparisons of a tree, with an empty one where their number is odd, as they are read two at a time.
__device__ __forceinline__ int pairStep(int features) { return (features + 1) / 2 * 2; }

//! Places of two points among a thread's pixels, for each comparison; those of a tree from the last one to the first.
struct EncodeMemory
{
    uint4 pairs[(ALL_FEATURES + MAX_TREES) / 2 + 1];
};

//! For each of four bytes: its highest bit is set when the first one is larger: when half of (first + 255 - second) is above 127.
__device__ __forceinline__ uint32_t isBrighter(uint32_t first, uint32_t second)
{
    return (first & ~second) + ((first ^ ~second) >> 1 & 0x7f7f7f7fu);
}
//! The highest bit of each byte becomes the first one of a code; what was there moves down.
__device__ __forceinline__ uint32_t shiftIn(uint32_t codes, uint32_t bits)
{
    return (codes >> 1 & 0x7f7f7f7fu) | (bits & 0x80808080u);
}

/** Pixels of four windows, for all points. Each thread reads only what it wrote. @param corners pixels of the windows' corners.
@param pixels of this thread; THREADS apart. */
template <int THREADS>
__device__ __forceinline__ void gather(const uint8_t* const (&corners)[AT_ONCE], const uint4* points, int count,
                                       uint32_t* pixels)
{
    uint32_t next[4][AT_ONCE];
    const auto load = [&](int p)
    {
        const uint4 at = points[p / 4];
        const unsigned offsets[4] = {at.x, at.y, at.z, at.w};
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int q = 0; q < AT_ONCE; ++q)
                next[k][q] = __ldg(corners[q] + offsets[k]);
    };
    load(0);
#pragma unroll 2
    for (int p = 0; p < count; p += 4)
    {
        uint32_t values[4][AT_ONCE];
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int q = 0; q < AT_ONCE; ++q)
                values[k][q] = next[k][q];
        if (p + 4 < count)
            load(p + 4); // on their way while the others are stored
#pragma unroll
        for (int k = 0; k < 4; ++k)
            pixels[(p + k) * THREADS] = __byte_perm(__byte_perm(values[k][0], values[k][1], 0x0040),
                                                    __byte_perm(values[k][2], values[k][3], 0x0040), 0x5410);
    }
}

/** Codes of a tree for four windows, two a word, from the highest bits of a half word on.
@param pairs of this tree. @param features of a tree */
__device__ __forceinline__ uint2 codesOf(const uint4* pairs, int features, const uint32_t* pixels)
{
    uint32_t lower = 0, upper = 0;
#pragma unroll
    for (int f = 0; f < features; f += 2)
    {
        const uint4 pair = pairs[f / 2];
        const uint32_t bits = isBrighter(pixels[pair.x], pixels[pair.y]);
        if (f < features - 8)
            lower = shiftIn(lower, bits);
        else
            upper = shiftIn(upper, bits);
        if (f + 1 == features)
            break;
        const uint32_t more = isBrighter(pixels[pair.z], pixels[pair.w]);
        if (f + 1 < features - 8)
            lower = shiftIn(lower, more);
        else
            upper = shiftIn(upper, more);
    }
    return make_uint2(__byte_perm(lower, upper, 0x5140), __byte_perm(lower, upper, 0x7362));
}
//! Points and comparisons of a block. A barrier must follow.
template <int THREADS>
__device__ __forceinline__ void loadTables(const Batch& batch, const Tile& tile, int points, uint32_t* offsets,
                                           EncodeMemory& m)
{
    const int features = batch.settings.features;
    for (int k = threadIdx.x; k < points; k += THREADS)
        offsets[k] = k < tile.pointCount ? static_cast<uint32_t>(tile.points[k]) : 0;
    uint2* const pairs = reinterpret_cast<uint2*>(m.pairs);
    for (int k = threadIdx.x; k < batch.settings.trees * features; k += THREADS)
    {
        const uint32_t pair = tile.pairs[k];
        pairs[k / features * pairStep(features) + features - 1 - k % features] =
            make_uint2((pair & 0xffffu) * THREADS, (pair >> 16) * THREADS);
    }
}

//! Codes of a warp's windows from place `begin` of the list of a scale on. @param kept windows in it.
template <int FEATURES, int THREADS>
__device__ __forceinline__ void encodeChunk(const Batch& batch, const CodeList& list, const Scale& scale, int begin,
                                            int kept, const uint4* offsets, int points, uint32_t* pixels,
                                            const EncodeMemory& m)
{
    const int features = FEATURES ? FEATURES : batch.settings.features, trees = batch.settings.trees;
    const int lane = threadIdx.x & 31;
    const uint8_t* corners[AT_ONCE];
#pragma unroll
    for (int q = 0; q < AT_ONCE; ++q) // lanes without a window have the last one
    {
        const int place = static_cast<int>(list.places[scale.first + ::min(begin + 32 * q + lane, kept - 1)]);
        const Window window = windowOf(scale, place % scale.nx, place / scale.nx);
        corners[q] = batch.blurred.row(window.y) + window.x;
    }
    gather<THREADS>(corners, offsets, points, pixels);
    uint32_t* to = list.codes + scale.first + begin + lane;
#pragma unroll 1
    for (int t = 0; t < trees; t += 2, to += list.step)
    {
        const uint4* const pairs = m.pairs + t * (pairStep(features) / 2);
        const uint2 even = codesOf(pairs, features, pixels);
        const uint2 odd = t + 1 < trees ? codesOf(pairs + pairStep(features) / 2, features, pixels) : make_uint2(0, 0);
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q)
            if (begin + 32 * q + lane < kept)
                to[32 * q] = __byte_perm(q < 2 ? even.x : even.y, q < 2 ? odd.x : odd.y, q % 2 ? 0x7632 : 0x5410);
    }
}

//! @tparam FEATURES of a tree; 0: those of the settings. @param points of the object with the most, a multiple of 4.
template <int FEATURES, int THREADS>
__global__ void __launch_bounds__(THREADS, tuning::ENCODE_WARPS * 32 / THREADS)
    encode(const __grid_constant__ Batch batch, int points)
{
    extern __shared__ uint4 memory[];
    __shared__ EncodeMemory m;
    const Tile& tile = batch.tiles[blockIdx.x];
    const Scale scale = tile.scale;
    const CodeList list = batch.codeList(tile.list, tile.windows);
    const int kept = static_cast<int>(list.counts[tile.number]);
    if (tile.first >= kept)
        return;
    loadTables<THREADS>(batch, tile, points, reinterpret_cast<uint32_t*>(memory), m);
    __syncthreads(); // tables
    for (int begin = static_cast<int>(threadIdx.x >> 5) * CHUNK; begin < TILE_WINDOWS && tile.first + begin < kept;
         begin += THREADS / 32 * CHUNK)
        encodeChunk<FEATURES, THREADS>(batch, list, scale, tile.first + begin, kept, memory, points,
                                       reinterpret_cast<uint32_t*>(memory + points / 4) + threadIdx.x, m);
}

//! The pixels of all threads are in shared memory; where points are many, a block is a single warp.
template <int FEATURES> void encodeAll(const Batch& batch, detail::StreamHandle stream)
{
    const int points = detail::ceilDiv(batch.mostPoints, 4) * 4;
    const auto bytes = [&](int threads) { return points * sizeof(uint32_t) * (1 + threads); };
    const int threads = TILE_WINDOWS / AT_ONCE;
    if (bytes(threads) <= tuning::ENCODE_BYTES)
        detail::launch("tld ferns", encode<FEATURES, threads>, dim3(batch.tileCount), dim3(threads), bytes(threads),
                       stream, batch, points);
    else
        detail::launch("tld ferns", encode<FEATURES, 32>, dim3(batch.tileCount), dim3(32), bytes(32), stream, batch,
                       points);
}
static_assert(MAX_POINTS * sizeof(uint32_t) * 33 <= tuning::ENCODE_BYTES, "a warp's pixels of all points");

// --- posteriors ------------------------------------------------------------------------------------------------------

//! Places in a list for those lanes that want one.
__device__ __forceinline__ unsigned placeInList(uint32_t* count, bool wanted)
{
    const unsigned lane = threadIdx.x & 31u, all = __ballot_sync(WARP, wanted);
    unsigned base = 0;
    if (lane == 0 && all)
        base = atomicAdd(count, static_cast<unsigned>(__popc(all)));
    return __shfl_sync(WARP, base, 0) + __popc(all & ((1u << lane) - 1));
}

const int LOOK_UP_WARPS = tuning::LOOK_UP_THREADS / 32, WAITING = 96; //!< WAITING: entries of a warp's list at most

struct LookUpMemory
{
    int64_t least[MAX_SCALES];
    int first[MAX_SCALES], words[MAX_SCALES]; //!< of windows; of their bits
    int before[MAX_SCALES + 1];               //!< windows of lower scales in the list
    int kept;
    uint32_t alike[LOOK_UP_WARPS][WAITING]; //!< places in the list, before they go to the object's memory
};

//! Ends with a barrier.
__device__ __forceinline__ void loadScales(const ObjectRecord& object, const CodeList& list, LookUpMemory& m)
{
    const int s = threadIdx.x, scales = object.grid->scales;
    if (s < scales)
    {
        const Scale& scale = object.grid->scale[s];
        m.least[s] = leastContrast(object.live->states[object.live->current].contrast, 2, scale.w, scale.h);
        m.first[s] = scale.first;
        m.words[s] = object.bits.first[s];
    }
    if (s <= scales)
    {
        int before = 0;
#pragma unroll 4
        for (int k = 0; k < s; ++k)
            before += static_cast<int>(list.counts[k]);
        m.before[s] = before;
    }
    if (s == 0)
        m.kept = 0;
    __syncthreads(); // tables
}

//! Of one object, with the windows of its group.
template <int TREES, int FEATURES> class LookUp
{
public:
    __device__ LookUp(const Batch& batch, const ObjectRecord& object, const Group& group, LookUpMemory& m)
        : settings_(batch.settings),
          object_(object),
          list_(batch.codeList(group)),
          alone_(group.count == 1),
          threshold_(object.live->states[object.live->current].fernThreshold),
          m_(m)
    {}

    //! All windows; this block has every parts-th 1024 of them. @return those with enough variance.
    __device__ int run(const uint16_t* posteriors)
    {
        const int count = m_.before[object_.grid->scales], stride = static_cast<int>(gridDim.x * blockDim.x);
        int kept = 0;
        for (int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); (k & ~31) < count; k += stride)
            kept += judge(posteriors, placeOf(::min(k, count - 1)), k < count);
        flush();
        return kept;
    }

private:
    typedef PackedCodes<TREES, FEATURES> Codes;

    //! In the list. @param k ascending.
    __device__ int placeOf(int k)
    {
        while (k >= m_.before[scale_ + 1])
            ++scale_;
        return m_.first[scale_] + k - m_.before[scale_];
    }
    //! @param keep false: lanes without a window have the last one.
    __device__ bool judge(const uint16_t* posteriors, int at, bool keep)
    {
        Codes codes;
        codes.load(settings_, list_, at); // before it is known whether they are needed: nothing to wait for
        if (!alone_)
            keep = list_.contrasts[at] >= m_.least[scale_] && keep;
        const uint32_t sum = keep ? codes.sum(settings_, posteriors) : 0;
        const bool alike = keep && sum >= alikeSum(), passing = keep && sum > threshold_;
        const int place = alike || passing ? static_cast<int>(list_.places[at]) : 0;
        const unsigned all = __ballot_sync(WARP, alike);
        if (alike)
        {
            atomicOr(object_.alike + m_.words[scale_] + (place >> 5), 1u << (place & 31));
            m_.alike[threadIdx.x >> 5][waiting_ + __popc(all & ((1u << (threadIdx.x & 31)) - 1))] =
                static_cast<uint32_t>(at);
        }
        waiting_ += __popc(all);
        if (waiting_ > WAITING - 32)
            flush();
        if (__any_sync(WARP, passing))
        {
            const unsigned to = placeInList(&object_.live->counts.passed, passing);
            if (passing)
                object_.passed[to] = make_uint2(static_cast<unsigned>(m_.first[scale_] + place), sum);
        }
        return keep;
    }
    //! A warp's list goes to memory.
    __device__ void flush()
    {
        if (waiting_ == 0)
            return;
        __syncwarp(); // entries of all lanes
        const int lane = threadIdx.x & 31;
        unsigned to = 0;
        if (lane == 0)
            to = atomicAdd(&object_.live->counts.alike, static_cast<unsigned>(waiting_));
        to = __shfl_sync(WARP, to, 0);
        for (int k = lane; k < waiting_; k += 32)
            object_.alikeList[to + k] = m_.alike[threadIdx.x >> 5][k];
        __syncwarp(); // the list is free
        waiting_ = 0;
    }

    const Settings& settings_;
    const ObjectRecord& object_;
    const CodeList list_;
    const bool alone_;
    const uint32_t threshold_;
    LookUpMemory& m_;
    int scale_ = 0, waiting_ = 0; //!< waiting: the same in all lanes
};

//! @tparam SHARED there is shared memory for an object's posteriors.
template <int TREES, int FEATURES, bool SHARED>
__global__ void __launch_bounds__(tuning::LOOK_UP_THREADS, 1) lookUp(const __grid_constant__ Batch batch)
{
    extern __shared__ uint4 memory[];
    __shared__ LookUpMemory m;
    const Member member = batch.members[blockIdx.y];
    const Group group = batch.objectGroups[member.group];
    const ObjectRecord& object = batch.objects[member.object];
    Live& live = *object.live;
    const Model& model = object.models[live.model];
    if (SHARED)
        loadPosteriors(batch.settings, model, memory);
    LookUp<TREES, FEATURES> work(batch, object, group, m);
    loadScales(object, batch.codeList(group), m);
    const int kept =
        sumOfWarp(SHARED ? work.run(reinterpret_cast<const uint16_t*>(memory)) : work.run(model.posteriors));
    if ((threadIdx.x & 31) == 0 && kept > 0)
        atomicAdd(&m.kept, kept);
    __syncthreads(); // numbers of all warps
    if (threadIdx.x == 0 && m.kept > 0)
        atomicAdd(&live.counts.withVariance, static_cast<uint32_t>(m.kept));
}

} // namespace

void ferns(const Batch& batch, detail::StreamHandle stream)
{
    const Settings& s = batch.settings;
    if (batch.count == 0)
        return;
    detail::launch("tld variance", vary, dim3(batch.tileCount), dim3(TILE_WINDOWS), 0, stream, batch);
    s.features == 13 ? encodeAll<13>(batch, stream) : encodeAll<0>(batch, stream);
    const size_t posteriors = posteriorBytes(s, sizeof(LookUpMemory));
    detail::launch("tld posteriors",
                   posteriors == 0                     ? lookUp<0, 0, false>
                   : s.trees == 10 && s.features == 13 ? lookUp<10, 13, true>
                                                       : lookUp<0, 0, true>,
                   dim3(partsOf(batch.count), batch.count), dim3(tuning::LOOK_UP_THREADS), posteriors, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
