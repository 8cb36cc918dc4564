// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// ferns: variance filter and fern ensemble for all windows. Objects of one group have the same windows, with the same
// codes.
//
//   varianceFilter   one tile of windows per block: lists those with enough variance for some object of the group
//   fernCodes        128 windows of the list per group of warps, four per thread, 32 apart, so that a warp reads one
//                    point of neighbouring windows. Comparisons share points: 130 comparisons read some 115 pixels per
//                    window instead of 260. The warps first load these pixels to shared memory, those of four windows
//                    per word, and then compare four windows at a time
//   fernPosteriors   one part of the list per block, which has an object's posteriors in shared memory
//
// Cost per window with enough variance: 115 bytes from the L1 cache, and some 25 instructions per pixel and comparison
// of four windows; per object of the group, 24 bytes and ten look-ups. fernCodes is bound by the L1 cache: a read of 32
// windows takes 2.4 of its cycles, as the bytes are in several cache lines, and these are two thirds of all its cycles.
#include "codes.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp_scan.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! Runs of 32 windows of a row: per row of a tile, per tile, and consecutive ones per warp.
const int RUNS_ACROSS = tuning::TILE_COLS / 32, RUNS = RUNS_ACROSS * tuning::TILE_ROWS, TILE_WINDOWS = 32 * RUNS;
const int RUNS_AT_ONCE = RUNS / (tuning::VARIANCE_THREADS / 32);
const int AT_ONCE = 4, CHUNK = 32 * AT_ONCE; //!< windows per thread, and per warp, at a time

// --- variance --------------------------------------------------------------------------------------------------------

struct VarianceMemory
{
    int before[RUNS]; //!< kept windows: first per run, then the position in the list where those of a run begin
};

//! Converts counts of runs to positions in the list, by one warp.
__device__ __forceinline__ void placeRuns(uint32_t* count, VarianceMemory& m)
{
    const int lane = threadIdx.x & 31, own = m.before[lane];
    const int sum = detail::sumUpToLane(own);
    int base = 0;
    if (lane == 31 && sum > 0)
        base = static_cast<int>(atomicAdd(count, static_cast<unsigned>(sum)));
    m.before[lane] = __shfl_sync(ALL_LANES, base, 31) + sum - own;
}
static_assert(RUNS == 32, "a run per lane");

//! Returns contrastOf() of a window whose area needs one strip only.
__device__ __forceinline__ int64_t contrastOfSmall(const Batch& batch, const Window& win)
{
    const int2 *const upper = batch.table + (win.y * batch.tableStep + win.x), *const lower =
                                                                                   upper + win.h * batch.tableStep;
    const int2 a = __ldg(upper), b = __ldg(upper + win.w), c = __ldg(lower), d = __ldg(lower + win.w);
    // Tables are modulo 2^32, as in sumOver(): only the sum over the window fits into an int.
    const uint32_t wrapped = static_cast<uint32_t>(d.x) - static_cast<uint32_t>(c.x) - static_cast<uint32_t>(b.x) +
                             static_cast<uint32_t>(a.x);
    const int64_t sum = static_cast<int32_t>(wrapped);
    const uint32_t square = static_cast<uint32_t>(d.y) - static_cast<uint32_t>(c.y) - static_cast<uint32_t>(b.y) +
                            static_cast<uint32_t>(a.y);
    return static_cast<int64_t>(win.w) * win.h * square - sum * sum;
}

__global__ void __launch_bounds__(tuning::VARIANCE_THREADS) varianceFilter(const __grid_constant__ Batch batch)
{
    beginEarly();
    __shared__ VarianceMemory m;
    const Tile& tile = batch.tiles[blockIdx.x];
    const Scale scale = tile.scale;
    const CodeList list = batch.codeList(tile.list, tile.windows);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool isSmall = stripRows(scale.w, scale.h) == scale.h;
    const auto columnOf = [&](int r) { return tile.x + (warp * RUNS_AT_ONCE + r) % RUNS_ACROSS * 32 + lane; };
    const auto rowOf = [&](int r) { return tile.y + (warp * RUNS_AT_ONCE + r) / RUNS_ACROSS; };
    int64_t contrasts[RUNS_AT_ONCE];
#pragma unroll
    for (int r = 0; r < RUNS_AT_ONCE; ++r)
    {
        // Threads without a window take the last one.
        const Window window = windowOf(scale, ::min(columnOf(r), scale.nx - 1), ::min(rowOf(r), scale.ny - 1));
        contrasts[r] =
            isSmall ? contrastOfSmall(batch, window) : contrastOf(batch.sumTable(), batch.squareTable(), window);
    }
    unsigned kept[RUNS_AT_ONCE];
#pragma unroll
    for (int r = 0; r < RUNS_AT_ONCE; ++r)
    {
        kept[r] = __ballot_sync(ALL_LANES, columnOf(r) < scale.nx && rowOf(r) < scale.ny && contrasts[r] >= tile.least);
        if (lane == 0)
            m.before[warp * RUNS_AT_ONCE + r] = __popc(kept[r]);
    }
    __syncthreads(); // counts of all runs
    if (warp == 0)
        placeRuns(list.counts + tile.number, m);
    __syncthreads(); // places
    const Group group = batch.objectGroups[tile.group];
#pragma unroll
    for (int r = 0; r < RUNS_AT_ONCE; ++r)
    {
        if (!(kept[r] >> lane & 1u))
            continue;
        const int at = scale.first + m.before[warp * RUNS_AT_ONCE + r] + __popc(kept[r] & ((1u << lane) - 1));
        list.places[at] = static_cast<uint32_t>(rowOf(r) * scale.nx + columnOf(r));
        if (group.count > 1)
            list.contrasts[at] = contrasts[r];
    }
    // Clears the bits of fern-positive windows for fernPosteriors().
    const int first = tile.index * (TILE_WINDOWS / 32);
    const int words = ::max(0, ::min(TILE_WINDOWS / 32, detail::ceilDiv(scale.nx * scale.ny, 32) - first));
    for (int k = threadIdx.x; k < group.count * words; k += tuning::VARIANCE_THREADS)
    {
        const ObjectRecord& object = batch.objects[batch.members[group.first + k / words].object];
        object.fernPositives[object.bits.first[tile.number] + first + k % words] = 0;
    }
}

// --- codes -----------------------------------------------------------------------------------------------------------

//! Returns the entries per tree: its comparisons, rounded up to an even number, as they are read two at a time.
__device__ __forceinline__ int pairStep(int features) { return (features + 1) / 2 * 2; }

//! Byte offsets of the pixels of two points per comparison; from the last comparison of a tree to the first.
struct CodeMemory
{
    uint4 pairs[(ALL_FEATURES + MAX_TREES) / 2 + 1];
};
static_assert(sizeof(CodeMemory) <= ENCODE_STATIC_BYTES, "plans count on it");

//! Compares four bytes: sets the highest bit of each byte in which `first` is larger.
__device__ __forceinline__ uint32_t isBrighter(uint32_t first, uint32_t second)
{
    // Compares the lower seven bits by subtraction. The highest bit of `second` is set, so that no byte borrows from
    // its neighbour.
    const uint32_t atMost = (second | 0x80808080u) - (first & 0x7f7f7f7fu);
    return (first & ~second) | (~(first ^ second) & ~atMost);
}
//! Inserts the highest bit of each byte as the first bit of a code, and shifts the earlier bits down.
__device__ __forceinline__ uint32_t shiftIn(uint32_t codes, uint32_t bits)
{
    return (codes >> 1 & 0x7f7f7f7fu) | (bits & 0x80808080u);
}

/** Loads pixels of four windows, for every SHARE-th group of four points. @param corners first pixels of the windows.
@param pixels out: words of this lane, PIXEL_STEP bytes apart. */
template <int SHARE>
__device__ __forceinline__ void gather(const uint8_t* const (&corners)[AT_ONCE], const uint4* points, int share,
                                       int count, uint8_t* pixels)
{
#pragma unroll 1
    for (int p = share; p < count / 4; p += SHARE)
    {
        const uint4 at = points[p];
        const uint32_t offsets[4] = {at.x, at.y, at.z, at.w};
        uint32_t values[4][AT_ONCE];
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int q = 0; q < AT_ONCE; ++q)
                values[k][q] = __ldg(corners[q] + offsets[k]);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 4; ++k)
            *reinterpret_cast<uint32_t*>(pixels + (4 * p + k) * PIXEL_STEP) =
                __byte_perm(__byte_perm(values[k][0], values[k][1], 0x0040),
                            __byte_perm(values[k][2], values[k][3], 0x0040), 0x5410);
    }
}

/** Computes the codes of a tree for four windows, two per word, left-aligned in half words.
@param pairs of this tree. @param features per tree. */
__device__ __forceinline__ uint2 codesOf(const uint4* pairs, int features, const uint8_t* pixels)
{
    const auto at = [&](uint32_t place) { return *reinterpret_cast<const uint32_t*>(pixels + place); };
    uint32_t lower = 0, upper = 0;
#pragma unroll
    for (int f = 0; f < features; f += 2)
    {
        const uint4 pair = pairs[f / 2];
        const uint32_t bits = isBrighter(at(pair.x), at(pair.y));
        if (f < features - 8)
            lower = shiftIn(lower, bits);
        else
            upper = shiftIn(upper, bits);
        if (f + 1 == features)
            break;
        const uint32_t more = isBrighter(at(pair.z), at(pair.w));
        if (f + 1 < features - 8)
            lower = shiftIn(lower, more);
        else
            upper = shiftIn(upper, more);
    }
    return make_uint2(__byte_perm(lower, upper, 0x5140), __byte_perm(lower, upper, 0x7362));
}

//! Loads points and comparisons of a tile to shared memory. The caller adds a barrier.
template <int FEATURES, int THREADS>
__device__ __forceinline__ void loadTables(const Batch& batch, const Tile& tile, int points, uint32_t* offsets,
                                           CodeMemory& m)
{
    const int features = FEATURES ? FEATURES : batch.settings.features;
    const int* const tilePoints = tile.points;
    const uint32_t* const tilePairs = tile.pairs;
    const int pointCount = tile.pointCount;
    for (int k = threadIdx.x; k < points; k += THREADS)
        offsets[k] = k < pointCount ? static_cast<uint32_t>(__ldg(tilePoints + k)) : 0;
    uint2* const pairs = reinterpret_cast<uint2*>(m.pairs);
    for (int k = threadIdx.x; k < batch.settings.trees * features; k += THREADS)
    {
        const uint32_t pair = __ldg(tilePairs + k);
        pairs[k / features * pairStep(features) + features - 1 - k % features] =
            make_uint2((pair & 0xffffu) * PIXEL_STEP, (pair >> 16) * PIXEL_STEP);
    }
}

/** Computes codes of CHUNKS chunks of a list per block, by SHARE warps each. Every warp loads the pixels of a part of
the points, and then makes the codes of a part of the trees. @tparam FEATURES per tree; 0: known at run time only.
@param points largest number of an object, a multiple of 4. */
template <int FEATURES, int CHUNKS, int SHARE>
__global__ void __launch_bounds__(32 * CHUNKS * SHARE) fernCodes(const __grid_constant__ Batch batch, int points)
{
    beginEarly();
    extern __shared__ uint4 memory[];
    __shared__ CodeMemory m;
    const int THREADS = 32 * CHUNKS * SHARE, BLOCKS = TILE_WINDOWS / (CHUNKS * CHUNK); //!< BLOCKS: per tile
    const int features = FEATURES ? FEATURES : batch.settings.features, trees = batch.settings.trees;
    const Tile& tile = batch.tiles[blockIdx.x / BLOCKS];
    const Scale scale = tile.scale;
    const CodeList list = batch.codeList(tile.list, tile.windows);
    const int kept = static_cast<int>(list.counts[tile.number]);
    const int first = tile.index * TILE_WINDOWS + static_cast<int>(blockIdx.x) % BLOCKS * (CHUNKS * CHUNK);
    if (first >= kept)
        return;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, chunk = warp / SHARE, share = warp % SHARE;
    const int begin = first + chunk * CHUNK + lane;
    const uint8_t* corners[AT_ONCE];
#pragma unroll
    for (int q = 0; q < AT_ONCE; ++q) // lanes without a window take the last one
    {
        const int place = static_cast<int>(list.places[scale.first + ::min(begin + 32 * q, kept - 1)]);
        const int j = place / scale.nx;
        const Window window = windowOf(scale, place - j * scale.nx, j);
        corners[q] = batch.blurred.row(window.y) + window.x;
    }
    loadTables<FEATURES, THREADS>(batch, tile, points, reinterpret_cast<uint32_t*>(memory), m);
    __syncthreads(); // tables
    uint8_t* const pixels = reinterpret_cast<uint8_t*>(memory + points / 4) + chunk * points * PIXEL_STEP + 4 * lane;
    gather<SHARE>(corners, memory, share, points, pixels);
    if (SHARE > 1)
        __syncthreads(); // pixels
    uint32_t* to = list.codes + scale.first + begin + static_cast<size_t>(share) * list.step;
#pragma unroll 1
    for (int t = 2 * share; t < trees; t += 2 * SHARE, to += static_cast<size_t>(SHARE) * list.step)
    {
        const uint4* const pairs = m.pairs + t * (pairStep(features) / 2);
        const uint2 even = codesOf(pairs, features, pixels);
        const uint2 odd = t + 1 < trees ? codesOf(pairs + pairStep(features) / 2, features, pixels) : make_uint2(0, 0);
#pragma unroll
        for (int q = 0; q < AT_ONCE; ++q)
            if (begin + 32 * q < kept)
                to[32 * q] = __byte_perm(q < 2 ? even.x : even.y, q < 2 ? odd.x : odd.y, q % 2 ? 0x7632 : 0x5410);
    }
}

template <int FEATURES, int CHUNKS, int SHARE>
void launchFernCodes(const Batch& batch, int points, detail::StreamHandle stream)
{
    const unsigned blocks = static_cast<unsigned>(batch.tileCount) * (TILE_WINDOWS / (CHUNKS * CHUNK));
    detail::launchAs(batch.alone, "tld ferns", fernCodes<FEATURES, CHUNKS, SHARE>, dim3(blocks),
                     dim3(32 * CHUNKS * SHARE), encodeBytes(points, CHUNKS), stream, batch, points);
}

//! Launches fernCodes with the chunks per block for which the pixels of all points fit into shared memory.
template <int FEATURES> void encodeAll(const Batch& batch, detail::StreamHandle stream)
{
    const int points = paddedPoints(batch.mostPoints);
    if (encodeChunks(points, sharedLimit()) == tuning::ENCODE_CHUNKS)
        launchFernCodes<FEATURES, tuning::ENCODE_CHUNKS, tuning::ENCODE_SHARE>(batch, points, stream);
    else
        launchFernCodes<FEATURES, 1, tuning::ENCODE_SHARE>(batch, points, stream);
}

// --- posteriors ------------------------------------------------------------------------------------------------------

//! Reserves entries of a list for the lanes that want one. @return the entry of this lane.
__device__ __forceinline__ unsigned placeInList(uint32_t* count, bool wanted)
{
    const unsigned lane = threadIdx.x & 31u, all = __ballot_sync(ALL_LANES, wanted);
    unsigned base = 0;
    if (lane == 0 && all)
        base = atomicAdd(count, static_cast<unsigned>(__popc(all)));
    return __shfl_sync(ALL_LANES, base, 0) + __popc(all & ((1u << lane) - 1));
}

struct PosteriorMemory
{
    ListPlaces places;
    int64_t least[MAX_SCALES];
    int words[MAX_SCALES]; //!< first word of bits per scale
    int kept;
};
static_assert(sizeof(PosteriorMemory) <= POSTERIOR_STATIC_BYTES, "plans count on it");

//! Loads values that the preceding kernel does not write. The caller adds a barrier.
__device__ __forceinline__ void loadScales(const ObjectRecord& object, PosteriorMemory& m)
{
    const int s = threadIdx.x;
    if (s < object.grid->scales)
    {
        const Scale& scale = object.grid->scale[s];
        m.least[s] = leastContrast(object.live->states[object.live->current].contrast, 2, scale.w, scale.h);
        m.words[s] = object.bits.first[s];
    }
    if (s == 0)
        m.kept = 0;
}

//! Sums of posteriors of one object for the windows of its group.
template <int TREES, int FEATURES> class PosteriorSums
{
public:
    __device__ PosteriorSums(const Batch& batch, const ObjectRecord& object, const Group& group, PosteriorMemory& m)
        : settings_(batch.settings),
          object_(object),
          list_(batch.codeList(group)),
          alone_(group.count == 1),
          threshold_(object.live->states[object.live->current].fernThreshold),
          m_(m)
    {}

    //! Evaluates this block's share of the windows. @return this thread's number of windows with enough variance.
    __device__ int run(const uint16_t* posteriors)
    {
        const int count = m_.places.before[object_.grid->scales], stride = static_cast<int>(gridDim.x * blockDim.x);
        int kept = 0;
        for (int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); (k & ~31) < count; k += stride)
            kept += evaluate(posteriors, k, count);
        return kept;
    }

private:
    typedef PackedCodes<TREES, FEATURES> Codes;

    //! Evaluates window k of `count`. k must ascend from call to call. Lanes without a window take the last one.
    __device__ bool evaluate(const uint16_t* posteriors, int k, int count)
    {
        const int at = m_.places.of(::min(k, count - 1), scale_);
        bool keep = k < count;
        Codes codes;
        codes.load(settings_, list_,
                   at); // before it is known whether they are needed, so that the load does not wait for that
        if (!alone_)
            keep = list_.contrasts[at] >= m_.least[scale_] && keep;
        const uint32_t sum = keep ? codes.sum(settings_, posteriors) : 0;
        const bool positive = keep && sum >= fernPositiveSum(), passing = keep && sum > threshold_;
        const int place = positive || passing ? static_cast<int>(list_.places[at]) : 0;
        const uint32_t positives = __ballot_sync(ALL_LANES, positive);
        if ((threadIdx.x & 31) == 0)
            object_.listedPositives[k >> 5] = positives;
        if (positive)
            atomicOr(object_.fernPositives + m_.words[scale_] + (place >> 5), 1u << (place & 31));
        if (__any_sync(ALL_LANES, passing))
        {
            const unsigned to = placeInList(&object_.live->counts.passed, passing);
            if (passing)
                object_.passed[to] = make_uint2(static_cast<unsigned>(m_.places.first[scale_] + place), sum);
        }
        return keep;
    }

    const Settings& settings_;
    const ObjectRecord& object_;
    const CodeList list_;
    const bool alone_;
    const uint32_t threshold_;
    PosteriorMemory& m_;
    int scale_ = 0;
};

//! Sums the posteriors of all listed windows and stores those that pass. @tparam SHARED posteriors are in shared
//! memory.
template <int TREES, int FEATURES, bool SHARED>
__global__ void __launch_bounds__(tuning::POSTERIOR_THREADS, 1) fernPosteriors(const __grid_constant__ Batch batch)
{
    extern __shared__ uint4 memory[];
    __shared__ PosteriorMemory m;
    const Member member = batch.members[blockIdx.y];
    const Group group = batch.objectGroups[member.group];
    const ObjectRecord& object = batch.objects[member.object];
    Live& live = *object.live;
    const Model& model = object.models[live.model];
    if (SHARED)
        loadPosteriors(batch.settings, model, memory);
    PosteriorSums<TREES, FEATURES> work(batch, object, group, m);
    loadScales(object, m);
    beginEarly();
    m.places.load(*object.grid, batch.codeList(group));
    const int kept =
        sumOfWarp(SHARED ? work.run(reinterpret_cast<const uint16_t*>(memory)) : work.run(model.posteriors));
    if ((threadIdx.x & 31) == 0 && kept > 0)
        atomicAdd(&m.kept, kept);
    __syncthreads(); // counts of all warps
    if (threadIdx.x == 0 && m.kept > 0)
        atomicAdd(&live.counts.withVariance, static_cast<uint32_t>(m.kept));
}

} // namespace

void ferns(const Batch& batch, detail::StreamHandle stream)
{
    const Settings& s = batch.settings;
    if (batch.count == 0)
        return;
    detail::launchAs(batch.alone, "tld variance", varianceFilter, dim3(batch.tileCount), dim3(tuning::VARIANCE_THREADS),
                     0, stream, batch);
    s.features == 13 ? encodeAll<13>(batch, stream) : encodeAll<0>(batch, stream);
    const bool direct = readsPosteriors(batch.count, batch.tileCount);
    const size_t posteriors = direct ? 0 : posteriorBytes(s, sharedLimit(), POSTERIOR_STATIC_BYTES);
    const auto kernel = posteriors > 0 ? kernelFor(s, fernPosteriors<10, 13, true>, fernPosteriors<0, 0, true>)
                                       : kernelFor(s, fernPosteriors<10, 13, false>, fernPosteriors<0, 0, false>);
    const int processors = batch.alone ? detail::multiprocessors() : multiprocessorsBesideFilters(batch);
    const int parts = direct ? directParts(batch.count, batch.tileCount, processors) : partsOf(batch.count, processors);
    detail::launchEarly("tld posteriors", kernel, dim3(parts, batch.count), dim3(tuning::POSTERIOR_THREADS), posteriors,
                        stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
