// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Density of QuickShift. Every pair of pixels within the window is weighed once and credited to both ends: sums are
// integers, so credits may arrive in any order.
//
// A block owns TILE_COLS x TILE_ROWS pixels, the centres, and one chunk of the half plane of offsets (dx >= 0, and dy > 0
// where dx = 0). A thread holds P centres of one column in registers and walks down the neighbours of column x+dx: at step
// dy centre p meets row p+dy, so P pairs need one new neighbour, one spatial factor and one finished credit.
// Cost for 8 bit: 13 instructions a pair and 3 a step; no memory traffic to speak of. What bounds it: instruction issue.
#include "quick_shift_plan.hpp"
#include "../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

struct DensityTask
{
    Features features;
    Extent extent;
    const float* spatial;
    unsigned long long* sums;
    int radius;
    float minusRate;
    Chunks chunks;
};

//! Pixels of a block's neighbours: a window of the picture, its top left corner and its size.
struct Window
{
    int x, y, cols, rows;
};

// --- how pixels are held and compared: three policies ------------------------------------------------------------------

//! Floats. Pixels outside hold OUTSIDE.
template <int CHANNELS> struct Planes
{
    static const int WORDS = CHANNELS;
    struct Pixel
    {
        float value[CHANNELS];
    };

    static __device__ __forceinline__ Pixel centre(const DensityTask& task, int picture, int x, int y)
    {
        const bool inside = x >= 0 && x < task.extent.cols && y >= 0 && y < task.extent.rows;
        const size_t plane = task.extent.pixels();
        const float* at =
            task.features.planes + picture * CHANNELS * plane + static_cast<size_t>(y) * task.extent.cols + x;
        Pixel pixel;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            pixel.value[k] = inside ? at[k * plane] : (k == 0 ? OUTSIDE : 0.f);
        return pixel;
    }
    static __device__ __forceinline__ void fill(const DensityTask& task, int picture, int x, int y, uint32_t* words,
                                                int pitch)
    {
        const Pixel pixel = centre(task, picture, x, y);
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            words[k * pitch] = __float_as_uint(pixel.value[k]);
    }
    static __device__ __forceinline__ Pixel load(const uint32_t* words, int pitch)
    {
        Pixel pixel;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            pixel.value[k] = __uint_as_float(words[k * pitch]);
        return pixel;
    }
    static __device__ __forceinline__ float exponent(const Pixel& a, const Pixel& b, float minusRate, float)
    {
        return fmaf(colourDistance(a.value, b.value, CHANNELS), minusRate, COLOUR_TOP);
    }
};

// --- the walk ----------------------------------------------------------------------------------------------------------

//! The neighbours that a thread's centres meet now and in the next steps, and the credits these neighbours have got so far.
template <typename Policy, int P> struct Sight
{
    static const int MOST_STEPS = 4;
    typename Policy::Pixel pixel[P - 1 + MOST_STEPS];
    uint32_t credit[P - 1 + MOST_STEPS];
    const uint32_t* words; //!< neighbour of centre 0
    uint32_t* credits;     //!< the same place among the credits
    const float* spatial;  //!< factor of this step
    int pitch, plane;
};

//! STEPS rows down: at step u centre p meets row p+u. What is left of the sight moves up.
template <int STEPS, typename Policy, int P>
__device__ __forceinline__ void walk(const typename Policy::Pixel (&centre)[P], uint32_t (&own)[P],
                                     Sight<Policy, P>& sight, float minusRate, float top)
{
#pragma unroll
    for (int u = 0; u < STEPS; ++u)
    {
        sight.pixel[P - 1 + u] = Policy::load(sight.words + (P - 1 + u) * sight.pitch, sight.plane);
        sight.credit[P - 1 + u] = 0;
    }
#pragma unroll
    for (int u = 0; u < STEPS; ++u)
    {
        const float s = sight.spatial[u];
#pragma unroll
        for (int p = 0; p < P; ++p)
        {
            const float y = Policy::exponent(centre[p], sight.pixel[p + u], minusRate, top);
            const uint32_t weight = weightBitsOf(fmaxf(y, COLOUR_FLOOR), s);
            own[p] += weight;
            sight.credit[p + u] += weight;
        }
        atomicAdd(sight.credits + u * sight.pitch, sight.credit[u]);
    }
#pragma unroll
    for (int k = 0; k < P - 1; ++k)
    {
        sight.pixel[k] = sight.pixel[k + STEPS];
        sight.credit[k] = sight.credit[k + STEPS];
    }
    sight.words += STEPS * sight.pitch;
    sight.credits += STEPS * sight.pitch;
    sight.spatial += STEPS;
}

/** The P centres of a thread against rows dy = 0 .. steps-1 of one column of neighbours. Credits carry WEIGHT_BIAS for each
pair; P is a multiple of 4, so the bias of P pairs vanishes modulo 2^32 and only the first and last rows, which meet fewer
centres, need a correction. Where a row is both (steps < P) the two corrections add up to the right one modulo 4. */
template <typename Policy, int P>
__device__ __forceinline__ void walkColumn(const typename Policy::Pixel (&centre)[P], uint32_t (&own)[P],
                                           Sight<Policy, P>& sight, int steps, float minusRate, float top)
{
    static_assert(P % 4 == 0, "the bias of a whole credit must vanish");
#pragma unroll
    for (int k = 0; k < P - 1; ++k)
    {
        sight.pixel[k] = Policy::load(sight.words + k * sight.pitch, sight.plane);
        sight.credit[k] = 0u - (static_cast<uint32_t>(k + 1) << 30);
    }
    for (; steps >= 4; steps -= 4)
        walk<4>(centre, own, sight, minusRate, top);
    for (; steps > 0; --steps)
        walk<1>(centre, own, sight, minusRate, top);
#pragma unroll
    for (int k = 0; k < P - 1; ++k)
        atomicAdd(sight.credits + k * sight.pitch, sight.credit[k] - (static_cast<uint32_t>(P - 1 - k) << 30));
}

//! visit(place, x, y) for every pixel of the window; a warp takes rows.
template <typename Shape, typename Visit>
__device__ __forceinline__ void forWindow(const Window& window, const Visit& visit)
{
    for (int y = threadIdx.x / 32; y < window.rows; y += Shape::THREADS / 32)
        for (int x = threadIdx.x % 32; x < window.cols; x += 32)
            visit(y * window.cols + x, window.x + x, window.y + y);
}

//! Credits of the window to the sums. Most of the window lies in other tiles, too, so this is atomic.
template <typename Shape>
__device__ __forceinline__ void addCredits(const DensityTask& task, int picture, const Window& window,
                                           const uint32_t* credits)
{
    unsigned long long* const sums = task.sums + static_cast<size_t>(picture) * task.extent.pixels();
    forWindow<Shape>(window,
                     [&](int i, int wx, int wy)
                     {
                         if (credits[i] != 0 && wx >= 0 && wx < task.extent.cols && wy >= 0 && wy < task.extent.rows)
                             atomicAdd(sums + static_cast<size_t>(wy) * task.extent.cols + wx,
                                       static_cast<unsigned long long>(credits[i]));
                     });
}

//! One tile against one chunk of offsets, dx in [dxBegin, dxEnd), dy in [dyBegin, dyEnd).
template <typename Policy, typename Shape>
__device__ __forceinline__ void weighTile(const DensityTask& task, int picture, int tileX, int tileY, int dxBegin,
                                          int dxEnd, int dyBegin, int dyEnd, const Window& window, uint32_t* shared)
{
    const int P = Shape::CENTRES;
    const int pitch = window.cols, plane = window.cols * window.rows;
    uint32_t* credits = shared;
    uint32_t* words = credits + plane;
    float* spatial = reinterpret_cast<float*>(words + plane * Policy::WORDS);
    const int dyCount = dyEnd - dyBegin, side = 2 * task.radius + 1;
    forWindow<Shape>(window,
                     [&](int i, int x, int y)
                     {
                         credits[i] = 0;
                         Policy::fill(task, picture, x, y, words + i, plane);
                     });
    for (int i = threadIdx.x; i < (dxEnd - dxBegin) * dyCount; i += Shape::THREADS)
    {
        const int dx = dxBegin + i / dyCount, dy = dyBegin + i % dyCount;
        spatial[i] = task.spatial[dx * side + dy + task.radius];
    }
    __syncthreads(); // the walk reads other threads' words and adds to other threads' credits

    const int column = threadIdx.x % Shape::COLS, row = threadIdx.x / Shape::COLS * P;
    const int x = tileX + column, y = tileY + row;
    const float top = fmaf(-8388608.f, task.minusRate, COLOUR_TOP); // exact, see densityRate()
    typename Policy::Pixel centre[P];
    uint32_t own[P];
#pragma unroll
    for (int p = 0; p < P; ++p)
    {
        centre[p] = Policy::centre(task, picture, x, y + p);
        own[p] = 0;
    }
    uint32_t pairs = 0;
    for (int dx = dxBegin; dx < dxEnd; ++dx)
    {
        const int dy = dx == 0 && dyBegin < 1 ? 1 : dyBegin; // the other half of column 0 is the mirror image
        if (dy >= dyEnd)
            continue;
        const int first = (row + dy - dyBegin) * pitch + column + dx - dxBegin;
        Sight<Policy, P> sight;
        sight.words = words + first;
        sight.credits = credits + first;
        sight.spatial = spatial + (dx - dxBegin) * dyCount + dy - dyBegin;
        sight.pitch = pitch;
        sight.plane = plane;
        walkColumn<Policy, P>(centre, own, sight, dyEnd - dy, task.minusRate, top);
        pairs += dyEnd - dy;
    }
    unsigned long long* sums = task.sums + static_cast<size_t>(picture) * task.extent.pixels();
#pragma unroll
    for (int p = 0; p < P; ++p)
        if (x < task.extent.cols && y + p < task.extent.rows)
            atomicAdd(sums + static_cast<size_t>(y + p) * task.extent.cols + x,
                      static_cast<unsigned long long>(own[p] - (pairs << 30)));
    __syncthreads(); // all credits are in
    addCredits<Shape>(task, picture, window, credits);
}

//! Threads of a block: COLS columns by GROUPS groups of CENTRES rows.
template <int COLS_, int GROUPS, int CENTRES_> struct TileShape
{
    static const int COLS = COLS_, CENTRES = CENTRES_, ROWS = GROUPS * CENTRES_, THREADS = COLS_ * GROUPS;
};
typedef TileShape<tuning::BYTE_COLS, tuning::BYTE_GROUPS, tuning::BYTE_CENTRES> ByteShape;
typedef TileShape<tuning::PLANE_COLS, tuning::PLANE_GROUPS, tuning::PLANE_CENTRES> PlaneShape;

//! What a block works on: x: tile, y: chunk, z: picture.
template <typename Shape> struct Place
{
    int tileX, tileY, dxBegin, dxEnd, dyBegin, dyEnd;
    Window window;

    __device__ explicit Place(const DensityTask& task)
    {
        const int tilesX = detail::ceilDiv(task.extent.cols, Shape::COLS);
        tileX = static_cast<int>(blockIdx.x) % tilesX * Shape::COLS;
        tileY = static_cast<int>(blockIdx.x) / tilesX * Shape::ROWS;
        const Chunks& c = task.chunks;
        dxBegin = static_cast<int>(blockIdx.y) % c.dxCount * c.dxStep;
        dyBegin = static_cast<int>(blockIdx.y) / c.dxCount * c.dyStep - task.radius;
        dxEnd = ::min(dxBegin + c.dxStep, task.radius + 1);
        dyEnd = ::min(dyBegin + c.dyStep, task.radius + 1);
        window = {tileX + dxBegin, tileY + dyBegin, Shape::COLS + dxEnd - dxBegin - 1,
                  Shape::ROWS + dyEnd - dyBegin - 1};
    }
};

__global__ void __launch_bounds__(ByteShape::THREADS, tuning::BYTE_BLOCKS) weighBytes(const DensityTask task)
{
    extern __shared__ uint32_t shared[];
    const Place<ByteShape> at(task);
    const Window& w = at.window;
    const Extent& e = task.extent;
    const bool inside = w.x >= 0 && w.y >= 0 && w.x + w.cols <= e.cols && w.y + w.rows <= e.rows &&
                        at.tileY + ByteShape::ROWS <= e.rows && !task.features.valid;
    if (inside)
        weighTile<Bytes<false>, ByteShape>(task, blockIdx.z, at.tileX, at.tileY, at.dxBegin, at.dxEnd, at.dyBegin,
                                           at.dyEnd, w, shared);
    else
        weighTile<Bytes<true>, ByteShape>(task, blockIdx.z, at.tileX, at.tileY, at.dxBegin, at.dxEnd, at.dyBegin,
                                          at.dyEnd, w, shared);
}

template <int CHANNELS> __global__ void __launch_bounds__(PlaneShape::THREADS) weighPlanes(const DensityTask task)
{
    extern __shared__ uint32_t shared[];
    const Place<PlaneShape> at(task);
    weighTile<Planes<CHANNELS>, PlaneShape>(task, blockIdx.z, at.tileX, at.tileY, at.dxBegin, at.dxEnd, at.dyBegin,
                                            at.dyEnd, at.window, shared);
}

/** Sums to keys, and the best key of each cell. A block is one row of cells: 32 cells of CELL x CELL, a thread a column.
Reads 8 bytes a pixel, writes 4: bound by memory. */
__global__ void __launch_bounds__(256)
    finish(const Extent extent, const Features features, const Parameters parameters,
           const unsigned long long* __restrict__ sums, uint32_t* __restrict__ keys, uint32_t* __restrict__ cells)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t base = static_cast<size_t>(blockIdx.z) * extent.pixels();
    uint32_t best = 0;
    for (int i = 0; i < CELL; ++i)
    {
        const int y = blockIdx.y * CELL + i;
        if (x >= extent.cols || y >= extent.rows)
            break;
        const size_t at = base + static_cast<size_t>(y) * extent.cols + x;
        bool counts = true;
        if (features.valid)
            counts = features.valid[at] != 0;
        if (features.planes)
            counts = features.planes[base * features.channels + static_cast<size_t>(y) * extent.cols + x] != OUTSIDE;
        const uint32_t key = counts ? densityKey(sums[at] + ONE_WEIGHT, x, y, extent.cols, extent.rows, parameters) : 0;
        keys[at] = key;
        best = ::max(best, key);
    }
    for (int offset = CELL / 2; offset > 0; offset /= 2)
        best = ::max(best, __shfl_xor_sync(0xffffffffu, best, offset, CELL));
    if (x % CELL == 0 && x < extent.cols)
    {
        const int cellCols = detail::ceilDiv(extent.cols, CELL), cellRows = detail::ceilDiv(extent.rows, CELL);
        cells[(static_cast<size_t>(blockIdx.z) * cellRows + blockIdx.y) * cellCols + x / CELL] = best;
    }
}

template <typename Shape, typename Kernel>
void weigh(Kernel kernel, DensityTask task, int words, int mostDx, cudaStream_t stream)
{
    task.chunks = cutOffsets(task.radius, mostDx);
    const Chunks& c = task.chunks;
    const int tiles = detail::ceilDiv(task.extent.cols, Shape::COLS) * detail::ceilDiv(task.extent.rows, Shape::ROWS);
    const size_t window = static_cast<size_t>(Shape::COLS + c.dxStep - 1) * (Shape::ROWS + c.dyStep - 1);
    const size_t sharedBytes = sizeof(uint32_t) * (window * (1 + words) + static_cast<size_t>(c.dxStep) * c.dyStep);
    detail::launch("quick shift density", kernel, dim3(tiles, c.dxCount * c.dyCount, task.extent.count),
                   dim3(Shape::THREADS), sharedBytes, stream, task);
}

void weighAs(const DensityTask& task, cudaStream_t stream)
{
    if (task.features.words)
        weigh<ByteShape>(weighBytes, task, Bytes<true>::WORDS, tuning::BYTE_DX, stream);
    else if (task.features.channels == 1)
        weigh<PlaneShape>(weighPlanes<1>, task, 1, tuning::PLANE_DX, stream);
    else if (task.features.channels == 2)
        weigh<PlaneShape>(weighPlanes<2>, task, 2, tuning::PLANE_DX, stream);
    else if (task.features.channels == 3)
        weigh<PlaneShape>(weighPlanes<3>, task, 3, tuning::PLANE_DX, stream);
    else
        weigh<PlaneShape>(weighPlanes<4>, task, 4, tuning::PLANE_DX, stream);
}

} // namespace

static_assert(tuning::BYTE_DX * tuning::CHUNK_DY <= MAX_TERMS && tuning::PLANE_DX * tuning::CHUNK_DY <= MAX_TERMS,
              "credits of a chunk must fit 32 bits");

void density(const Features& features, const Extent& extent, const Parameters& parameters, const float* spatial,
             uint64_t* sums, uint32_t* keys, uint32_t* cells, StreamHandle stream)
{
    unsigned long long* const total = reinterpret_cast<unsigned long long*>(sums);
    detail::cudaCheck(cudaMemsetAsync(sums, 0, sizeof(uint64_t) * extent.total(), stream), "quick shift density");
    forSlices(extent, MOST_BLOCKS,
              [&](const Slice& slice)
              {
                  const Features part = partOf(features, slice);
                  const size_t cellsBefore = cellsOf({extent.cols, extent.rows, slice.picture});
                  weighAs(
                      {part, slice.extent, spatial, total + slice.pixel, parameters.radius, parameters.minusRate, {}},
                      stream);
                  detail::launch(
                      "quick shift keys", finish,
                      dim3(detail::ceilDiv(extent.cols, 256), detail::ceilDiv(extent.rows, CELL), slice.extent.count),
                      dim3(256), 0, stream, slice.extent, part, parameters, total + slice.pixel, keys + slice.pixel,
                      cells + cellsBefore);
              });
}

}}}} // namespace cv::cuda::quick_shift::gpu
