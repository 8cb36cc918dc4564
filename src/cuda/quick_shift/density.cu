// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage density on CUDA. Each pair of pixels within the window is weighed once, and its weight is added to the sums of
// both pixels: a credit. Sums are integers, so credits may arrive in any order.
//
// A block has a tile of pixels, the centres, and one chunk of the half plane of offsets (dx >= 0, and dy > 0 where dx =
// 0). A thread holds P centres of one column in registers and steps down the neighbours of column x+dx: at step dy
// centre p meets row p+dy, so P pairs need one new neighbour, one spatial factor and one finished credit.
// Cost for 8 bit: 12.5 instructions per pair, all included; memory traffic is negligible. Bound by instruction issue.
// One kernel, for bytes and for floats.
#include "colours.hpp"
#include "pixel_grid.hpp"
#include "tiles.hpp"
#include "../../common/for_number.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

// --- 8 bit: words ----------------------------------------------------------------------------------------------------

/** Steps of a thread's P centres down the columns of neighbours. The P current neighbours are a ring of registers: step
t loads one into slot (t+P-1) % P, and centre p meets slot (t+p) % P. Unrolled by P, this moves no register.
Shared memory has for each row of the window PITCH credits, PITCH words and, if GUARDED, PITCH start values of dp4a. All
are constants, so that no address needs an instruction.
@tparam GUARDED the window leaves the image or has masked pixels. These get weight 0 at no cost: a neighbour that does
not count starts dp4a at infinity, a centre that does not count has a base of 1e30. */
template <bool GUARDED> struct ByteSteps
{
    static const int P = ByteShape::CENTRES, PITCH = BYTE_PITCH;
    static const int STRIDE = byteStride(GUARDED);
    static const uint32_t START = 0x4b000000u;    //!< 2^23 as a float: dp4a adds the distance to its mantissa
    static const uint32_t NO_PIXEL = 0x7f800000u; //!< infinity, or NaN once dp4a has added to it
    static_assert(P % 4 == 0, "the bias of a whole credit must vanish");

    uint32_t centre[P], own[P];
    float rate, base[GUARDED ? P : 1];
    uint32_t word[P], start[GUARDED ? P : 1], credit[P]; //!< the ring

    //! Returns 1/2 - 2^23 rate, exactly: see densityRate() and fitsWords().
    static __device__ __forceinline__ float baseOf(float rate) { return fmaf(-8388608.f, rate, 0.5f); }

    //! Loads a neighbour into a slot.
    __device__ __forceinline__ void load(int slot, const uint32_t* at, uint32_t credits)
    {
        word[slot] = at[PITCH];
        if (GUARDED)
            start[slot] = at[2 * PITCH];
        credit[slot] = credits;
    }
    /** Adds the weight of a pair to both credits. Computes z = 1.5 - y / 32 in place of y: its largest value, 1, is y's
    smallest, so that the saturating fma clamps it. Floats in [0.5,1] have the spacing of those of y / 32, and halves
    round to even in both, so y is exact: the bits of y and z add up to 0x81000000. NaN becomes z = 0, whose weight is 0
    as well. */
    __device__ __forceinline__ void weigh(int p, int slot, float spatial)
    {
        const float dc = __uint_as_float(squaredByteDistance(centre[p], word[slot], GUARDED ? start[slot] : START));
        const float z = __saturatef(fmaf(dc, rate, base[GUARDED ? p : 0]));
        const uint32_t weight = weightBitsOf(0x20000000u - (__float_as_uint(z) << 5), spatial);
        own[p] += weight;
        credit[slot] += weight;
    }
    //! Makes N steps from a ring that begins with slot 0; after them it begins with slot N % P.
    template <int N> __device__ __forceinline__ void steps(uint32_t*& at, const float*& spatial)
    {
        float s[4];
#pragma unroll
        for (int t = 0; t < N; ++t)
        {
            load((t + P - 1) % P, at + (t + P - 1) * STRIDE, 0);
            if (N % 4 != 0)
                s[t % 4] = spatial[t];
            else if (t % 4 == 0)
            {
                const float4 four = *reinterpret_cast<const float4*>(spatial + t);
                s[0] = four.x, s[1] = four.y, s[2] = four.z, s[3] = four.w;
            }
#pragma unroll
            for (int p = 0; p < P; ++p)
                weigh(p, (t + p) % P, s[t % 4]);
            atomicAdd(at + t * STRIDE, credit[t % P]);
        }
        at += N * STRIDE;
        spatial += N;
    }
    //! Rotates a ring that begins with slot N so that it begins with slot 0.
    template <int N> __device__ __forceinline__ void rotate(uint32_t (&ring)[P])
    {
        uint32_t rotated[P];
#pragma unroll
        for (int k = 0; k < P; ++k)
            rotated[k] = ring[(k + N) % P];
#pragma unroll
        for (int k = 0; k < P; ++k)
            ring[k] = rotated[k];
    }
    //! Makes `count` steps, fewer than 2 N.
    template <int N> __device__ __forceinline__ void last(uint32_t*& at, const float*& spatial, int count)
    {
        if (count & N)
        {
            steps<N>(at, spatial);
            rotate<N>(word);
            rotate<N>(credit);
            if constexpr (GUARDED)
                rotate<N>(start);
        }
        if constexpr (N > 1)
            last<N / 2>(at, spatial, count);
    }

    /** Weighs the centres with rows dy = 0 .. count-1 of a column. Credits carry WEIGHT_BIAS for each pair; P is a
    multiple of 4, so the bias of P pairs vanishes modulo 2^32 and only the first and last rows, which meet fewer
    centres, need a correction. Where a row is both (count < P) the two corrections add up to the right one modulo 4.
    @param at credit of the first row. @param spatial spatial factors, aligned for float4. */
    __device__ __forceinline__ void column(uint32_t* at, const float* spatial, int count)
    {
#pragma unroll
        for (int k = 0; k < P - 1; ++k)
            load(k, at + k * STRIDE, 0u - (static_cast<uint32_t>(k + 1) << 30));
#pragma unroll 1
        for (int rounds = count / P; rounds > 0; --rounds)
            steps<P>(at, spatial);
        last<P / 2>(at, spatial, count % P);
#pragma unroll
        for (int k = 0; k < P - 1; ++k)
            atomicAdd(at + k * STRIDE, credit[k] - (static_cast<uint32_t>(P - 1 - k) << 30));
    }
};

//! Returns true if a pixel lies in the image and is not masked.
__device__ __forceinline__ bool countsAt(const DensityTask& task, size_t base, int x, int y)
{
    return x >= 0 && x < task.extent.cols && y >= 0 && y < task.extent.rows &&
           (!task.features.valid || task.features.valid[base + y * task.extent.cols + x]);
}

//! Fills shared memory with spatial factors, words, start values and credits of 0.
template <bool GUARDED>
__device__ __forceinline__ void fillBytes(const DensityTask& task, const Place<ByteShape>& place, float* spatial,
                                          uint32_t* rows)
{
    typedef ByteSteps<GUARDED> Steps;
    const int dyCount = place.dyEnd - place.dyBegin, padded = paddedFactors(dyCount);
    for (int i = threadIdx.x; i < (place.dxEnd - place.dxBegin) * dyCount; i += ByteShape::THREADS)
    {
        const int c = i / dyCount, r = i % dyCount, skipped = place.firstDy(place.dxBegin + c) - place.dyBegin;
        if (r >= skipped)
            spatial[c * padded + r - skipped] = task.spatial[(place.dxBegin + c) * (2 * task.parameters.radius + 1) +
                                                             place.dyBegin + r + task.parameters.radius];
    }
    detail::waitForKernelBefore(); // from here on pack()'s output is read
    detail::letNextKernelBegin();
    const uint32_t* const words = task.features.words + place.base;
    // Each warp loads several rows before it stores them: one load after the other would take a tenth of a small
    // image's time.
    const int WARPS = ByteShape::THREADS / 32, DOWN = 2, ACROSS = detail::ceilDiv(BYTE_PITCH, 32);
    const Window& window = place.window;
#pragma unroll 1
    for (int first = threadIdx.x / 32; first < window.rows; first += DOWN * WARPS)
    {
        uint32_t word[DOWN][ACROSS];
        bool counts[DOWN][ACROSS];
#pragma unroll
        for (int i = 0; i < DOWN * ACROSS; ++i)
        {
            const int wx = threadIdx.x % 32 + i % ACROSS * 32, wy = first + i / ACROSS * WARPS;
            const int x = window.x + wx, y = window.y + wy;
            const bool has = wx < window.cols && wy < window.rows && (!GUARDED || countsAt(task, place.base, x, y));
            counts[i / ACROSS][i % ACROSS] = has;
            word[i / ACROSS][i % ACROSS] = has ? words[y * task.extent.cols + x] : 0u;
        }
#pragma unroll
        for (int i = 0; i < DOWN * ACROSS; ++i)
        {
            const int wx = threadIdx.x % 32 + i % ACROSS * 32, wy = first + i / ACROSS * WARPS;
            if (wx >= window.cols || wy >= window.rows)
                continue;
            uint32_t* const to = rows + wy * Steps::STRIDE + wx;
            to[0] = 0;
            to[Steps::PITCH] = word[i / ACROSS][i % ACROSS];
            if (GUARDED)
                to[2 * Steps::PITCH] = counts[i / ACROSS][i % ACROSS] ? Steps::START : Steps::NO_PIXEL;
        }
    }
}

//! Weighs the pairs of one tile and one chunk.
template <bool GUARDED>
__device__ __forceinline__ void weighByteTile(const DensityTask& task, const Place<ByteShape>& place, float* spatial)
{
    typedef ByteSteps<GUARDED> Steps;
    const int P = Steps::P, padded = paddedFactors(place.dyEnd - place.dyBegin);
    uint32_t* const rows = reinterpret_cast<uint32_t*>(spatial + byteRowsAt(place.dyEnd - place.dyBegin));
    fillBytes<GUARDED>(task, place, spatial, rows);
    const uint32_t* const words = task.features.words + place.base;
    const int column = threadIdx.x % ByteShape::COLS, row = threadIdx.x / ByteShape::COLS * P;
    const int x = place.tileX + column, y = place.tileY + row;
    Steps steps;
    steps.rate = task.parameters.minusRate * (-1.f / 32.f);
    steps.base[0] = Steps::baseOf(steps.rate);
#pragma unroll
    for (int p = 0; p < P; ++p)
    {
        const bool counts = !GUARDED || countsAt(task, place.base, x, y + p);
        steps.centre[p] = counts ? words[(y + p) * task.extent.cols + x] : 0u;
        steps.own[p] = 0;
        if (GUARDED)
            steps.base[p] = counts ? Steps::baseOf(steps.rate) : 1e30f;
    }
    __syncthreads(); // steps read words and add to credits that other threads have filled
    uint32_t pairs = 0;
#pragma unroll 1
    for (int dx = place.dxBegin; dx < place.dxEnd; ++dx)
    {
        const int dy = place.firstDy(dx);
        if (dy >= place.dyEnd)
            continue;
        steps.column(rows + (row + dy - place.dyBegin) * Steps::STRIDE + column + dx - place.dxBegin,
                     spatial + (dx - place.dxBegin) * padded, place.dyEnd - dy);
        pairs += place.dyEnd - dy;
    }
    addOwn(task, place, x, y, steps.own, pairs, rows, Steps::STRIDE);
    __syncthreads(); // all credits are complete
    addCredits<ByteShape>(task, place, rows, Steps::STRIDE);
}

__global__ void __launch_bounds__(ByteShape::THREADS, tuning::BYTE_BLOCKS) weighBytes(const DensityTask task)
{
    extern __shared__ __align__(16) float factors[];
    const Place<ByteShape> place(task);
    const Window& w = place.window;
    const Extent& e = task.extent;
    const bool inside = w.x >= 0 && w.y >= 0 && w.x + w.cols <= e.cols && w.y + w.rows <= e.rows &&
                        place.tileY + ByteShape::ROWS <= e.rows && !task.features.valid;
    if (inside)
        weighByteTile<false>(task, place, factors);
    else
        weighByteTile<true>(task, place, factors);
}

// --- floats: planes --------------------------------------------------------------------------------------------------

/** Access to float planes. Pixels outside of the image are OUTSIDE.
@tparam CHANNELS number of planes; MAX_CHANNELS: any number, see isPlane().
@tparam WEIGHTED true: channels have factors of their own. */
template <int CHANNELS, bool WEIGHTED> struct Planes
{
    struct Pixel
    {
        float value[CHANNELS];
    };

    static __device__ __forceinline__ Pixel centre(const DensityTask& task, size_t base, int x, int y)
    {
        const bool inside = x >= 0 && x < task.extent.cols && y >= 0 && y < task.extent.rows;
        const size_t plane = task.extent.pixels();
        const float* at =
            task.features.planes + base * task.features.channels + static_cast<size_t>(y) * task.extent.cols + x;
        Pixel pixel;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            pixel.value[k] = inside && isPlane<CHANNELS>(k, task.features.channels) ? at[k * plane]
                             : k == 0                                               ? OUTSIDE
                                                                                    : 0.f;
        return pixel;
    }
    static __device__ __forceinline__ void fill(const DensityTask& task, size_t base, int x, int y, uint32_t* words,
                                                int pitch)
    {
        const Pixel pixel = centre(task, base, x, y);
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            if (isPlane<CHANNELS>(k, task.features.channels))
                words[k * pitch] = __float_as_uint(pixel.value[k]);
    }
    static __device__ __forceinline__ Pixel load(const DensityTask& task, const uint32_t* words, int pitch)
    {
        Pixel pixel;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            pixel.value[k] = isPlane<CHANNELS>(k, task.features.channels) ? __uint_as_float(words[k * pitch]) : 0.f;
        return pixel;
    }
    static __device__ __forceinline__ float exponent(const Pixel& a, const Pixel& b, const DensityTask& task)
    {
        return fmaf(colourDistance(a.value, b.value, CHANNELS, WEIGHTED ? task.parameters.factors : nullptr),
                    task.parameters.minusRate, COLOUR_TOP);
    }
};

//! Neighbours that a thread's centres meet in the current and the next steps, and their credits so far.
template <typename Policy, int P> struct Neighbours
{
    static const int MOST_STEPS = 4;
    typename Policy::Pixel pixel[P - 1 + MOST_STEPS];
    uint32_t credit[P - 1 + MOST_STEPS];
    const uint32_t* words; //!< neighbour of centre 0 at the next step
    uint32_t* credits;     //!< its credit
    const float* spatial;  //!< factor of the next step
    int pitch, plane;
};

//! Makes STEPS steps: at step u centre p meets row p+u. Then moves the neighbours that are left to the front.
template <int STEPS, typename Policy, int P>
__device__ __forceinline__ void makeSteps(const typename Policy::Pixel (&centre)[P], uint32_t (&own)[P],
                                          Neighbours<Policy, P>& neighbours, const DensityTask& task)
{
#pragma unroll
    for (int u = 0; u < STEPS; ++u)
    {
        neighbours.pixel[P - 1 + u] =
            Policy::load(task, neighbours.words + (P - 1 + u) * neighbours.pitch, neighbours.plane);
        neighbours.credit[P - 1 + u] = 0;
    }
#pragma unroll
    for (int u = 0; u < STEPS; ++u)
    {
        const float s = neighbours.spatial[u];
#pragma unroll
        for (int p = 0; p < P; ++p)
        {
            const float y = Policy::exponent(centre[p], neighbours.pixel[p + u], task);
            const uint32_t weight = weightBitsOf(fmaxf(y, COLOUR_BOTTOM), s);
            own[p] += weight;
            neighbours.credit[p + u] += weight;
        }
        atomicAdd(neighbours.credits + u * neighbours.pitch, neighbours.credit[u]);
    }
#pragma unroll
    for (int k = 0; k < P - 1; ++k)
    {
        neighbours.pixel[k] = neighbours.pixel[k + STEPS];
        neighbours.credit[k] = neighbours.credit[k + STEPS];
    }
    neighbours.words += STEPS * neighbours.pitch;
    neighbours.credits += STEPS * neighbours.pitch;
    neighbours.spatial += STEPS;
}

//! Weighs the P centres of a thread with rows dy = 0 .. steps-1 of a column. For the bias of credits see
//! ByteSteps::column().
template <typename Policy, int P>
__device__ __forceinline__ void weighColumn(const typename Policy::Pixel (&centre)[P], uint32_t (&own)[P],
                                            Neighbours<Policy, P>& neighbours, int steps, const DensityTask& task)
{
    static_assert(P % 4 == 0, "the bias of a whole credit must vanish");
#pragma unroll
    for (int k = 0; k < P - 1; ++k)
    {
        neighbours.pixel[k] = Policy::load(task, neighbours.words + k * neighbours.pitch, neighbours.plane);
        neighbours.credit[k] = 0u - (static_cast<uint32_t>(k + 1) << 30);
    }
    for (; steps >= 4; steps -= 4)
        makeSteps<4>(centre, own, neighbours, task);
    for (; steps > 0; --steps)
        makeSteps<1>(centre, own, neighbours, task);
#pragma unroll
    for (int k = 0; k < P - 1; ++k)
        atomicAdd(neighbours.credits + k * neighbours.pitch,
                  neighbours.credit[k] - (static_cast<uint32_t>(P - 1 - k) << 30));
}

//! Weighs the pairs of one tile and one chunk.
template <typename Policy, typename Shape>
__device__ __forceinline__ void weighTile(const DensityTask& task, const Place<Shape>& place, uint32_t* shared)
{
    const Window& window = place.window;
    const int dxBegin = place.dxBegin, dxEnd = place.dxEnd, dyBegin = place.dyBegin, dyEnd = place.dyEnd;
    const int P = Shape::CENTRES;
    const int pitch = window.cols, plane = window.cols * window.rows;
    uint32_t* credits = shared;
    uint32_t* words = credits + plane;
    float* spatial = reinterpret_cast<float*>(words + plane * task.features.channels);
    const int dyCount = dyEnd - dyBegin, side = 2 * task.parameters.radius + 1;
    detail::waitForKernelBefore(); // from here on pack()'s output is read
    detail::letNextKernelBegin();
    forWindow<Shape>(window,
                     [&](int x, int y)
                     {
                         const int i = y * pitch + x;
                         credits[i] = 0;
                         Policy::fill(task, place.base, window.x + x, window.y + y, words + i, plane);
                     });
    for (int i = threadIdx.x; i < (dxEnd - dxBegin) * dyCount; i += Shape::THREADS)
    {
        const int dx = dxBegin + i / dyCount, dy = dyBegin + i % dyCount;
        spatial[i] = task.spatial[dx * side + dy + task.parameters.radius];
    }
    __syncthreads(); // steps read words and add to credits that other threads have filled

    const int column = threadIdx.x % Shape::COLS, row = threadIdx.x / Shape::COLS * P;
    const int x = place.tileX + column, y = place.tileY + row;
    typename Policy::Pixel centre[P];
    uint32_t own[P];
#pragma unroll
    for (int p = 0; p < P; ++p)
    {
        centre[p] = Policy::centre(task, place.base, x, y + p);
        own[p] = 0;
    }
    uint32_t pairs = 0;
    for (int dx = dxBegin; dx < dxEnd; ++dx)
    {
        const int dy = place.firstDy(dx);
        if (dy >= dyEnd)
            continue;
        const int first = (row + dy - dyBegin) * pitch + column + dx - dxBegin;
        Neighbours<Policy, P> neighbours;
        neighbours.words = words + first;
        neighbours.credits = credits + first;
        neighbours.spatial = spatial + (dx - dxBegin) * dyCount + dy - dyBegin;
        neighbours.pitch = pitch;
        neighbours.plane = plane;
        weighColumn<Policy, P>(centre, own, neighbours, dyEnd - dy, task);
        pairs += dyEnd - dy;
    }
    addOwn(task, place, x, y, own, pairs, credits, pitch);
    __syncthreads(); // all credits are complete
    addCredits<Shape>(task, place, credits, pitch);
}

template <int CHANNELS, bool WEIGHTED>
__global__ void __launch_bounds__(ShapeOf<CHANNELS>::THREADS) weighPlanes(const DensityTask task)
{
    extern __shared__ uint32_t shared[];
    typedef ShapeOf<CHANNELS> Shape;
    weighTile<Planes<CHANNELS, WEIGHTED>, Shape>(task, Place<Shape>(task), shared);
}

// --- keys, launches --------------------------------------------------------------------------------------------------

/** Converts sums to keys and finds the best key of each cell. A block is a row of 32 cells of CELL x CELL pixels, a
thread one column of a cell. Reads 4 or 8 bytes per pixel, writes 4: bound by memory. Does not let the next kernel
begin early: its first blocks would gather on the multiprocessors that run no block of this one. */
__global__ void __launch_bounds__(THREADS)
    makeKeys(const Extent extent, const Features features, const Parameters parameters, const WeightSums sums,
             uint32_t* __restrict__ keys, uint32_t* __restrict__ cells)
{
    detail::waitForKernelBefore();
    const BlockPlace block(extent, THREADS, CELL);
    const int x = block.left + static_cast<int>(threadIdx.x);
    const size_t base = block.base;
    uint64_t sum[CELL];
    bool has[CELL], counts[CELL];
#pragma unroll
    for (int i = 0; i < CELL; ++i) // all loads first, to hide their latency
    {
        const int y = block.top + i;
        const size_t place = static_cast<size_t>(y) * extent.cols + x, at = base + place;
        counts[i] = has[i] = x < extent.cols && y < extent.rows;
        sum[i] = 0;
        if (!has[i])
            continue;
        if (features.valid)
            counts[i] = features.valid[at] != 0;
        if (features.planes)
            counts[i] = features.planes[base * features.channels + place] != OUTSIDE;
        sum[i] = sums.narrow ? sums.narrow[at] : sums.wide[at];
    }
    uint32_t best = 0;
#pragma unroll
    for (int i = 0; i < CELL; ++i)
    {
        const int y = block.top + i;
        const uint32_t key =
            counts[i] ? densityKey(sum[i] + ONE_WEIGHT, x, y, extent.cols, extent.rows, parameters) : 0;
        if (has[i])
            keys[base + static_cast<size_t>(y) * extent.cols + x] = key;
        best = ::max(best, key);
    }
    // cub::WarpReduce of CELL lanes would take 47 instructions more (CUDA 13.0, sm_90).
    for (int offset = CELL / 2; offset > 0; offset /= 2)
        best = ::max(best, __shfl_xor_sync(0xffffffffu, best, offset, CELL));
    if (x % CELL == 0 && x < extent.cols)
    {
        const int cellCols = detail::ceilDiv(extent.cols, CELL), cellRows = detail::ceilDiv(extent.rows, CELL);
        cells[(static_cast<size_t>(block.image) * cellRows + blockIdx.y) * cellCols + x / CELL] = best;
    }
}

template <typename Shape, typename Kernel>
void weigh(Kernel kernel, const DensityTask& task, size_t sharedBytes, cudaStream_t stream)
{
    detail::launchEarly(
        "quick shift density", kernel,
        dim3(tilesOf<Shape>(task.extent) * task.extent.count, task.chunks.dxCount * task.chunks.dyCount),
        dim3(Shape::THREADS), sharedBytes, stream, task);
}

void weighWords(DensityTask task, cudaStream_t stream)
{
    task.chunks = cutForBytes(task.extent, task.parameters.radius, detail::multiprocessors());
    weigh<ByteShape>(weighBytes, task, bytesOfByteTile(task.chunks), stream);
}

template <int CHANNELS, bool WEIGHTED = false> void weighFloats(DensityTask task, cudaStream_t stream)
{
    typedef ShapeOf<CHANNELS> Shape;
    task.chunks = cutForPlanes(task.parameters.radius, CHANNELS);
    weigh<Shape>(weighPlanes<CHANNELS, WEIGHTED>, task, bytesOfPlaneTile<Shape>(task.chunks, task.features.channels),
                 stream);
}

void weighAs(const DensityTask& task, cudaStream_t stream)
{
    const int channels = task.features.channels;
    const bool weighted = task.parameters.weighted;
    const auto run = [&](auto n)
    { weighted ? weighFloats<n.value, true>(task, stream) : weighFloats<n.value, false>(task, stream); };
    if (task.features.words)
        weighWords(task, stream);
    else if (channels == 1)
        weighFloats<1>(task, stream);
    else if (!detail::forNumber<2, 3, 4>(channels, run))
        run(std::integral_constant<int, MAX_CHANNELS>());
}

} // namespace

static_assert(tuning::BYTE_DX * tuning::CHUNK_DY <= MAX_TERMS && tuning::PLANE_DX * tuning::CHUNK_DY <= MAX_TERMS &&
                  tuning::BAND_DX * tuning::BAND_DY <= MAX_TERMS,
              "credits of a chunk must fit 32 bits");

void density(const Features& features, const Extent& extent, const Parameters& parameters, const float* spatial,
             const WeightSums& sums, uint32_t* keys, uint32_t* cells, StreamHandle stream)
{
    weighAs({features, extent, spatial, sums, {}, parameters}, stream);
    detail::launchEarly("quick shift keys", makeKeys, gridOf(extent, THREADS, CELL), dim3(THREADS), 0, stream, extent,
                        features, parameters, sums, keys, cells);
}

}}}} // namespace cv::cuda::quick_shift::gpu
