// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// pack and parents of QuickShift.
//
// Parents: a thread searches rings around its pixel in shared memory and stops as soon as no pixel of the next ring can be
// nearer: most pixels end within a few rings. The others go to a worklist, whose order does not matter since each entry's
// result is the minimum of (D, index). There a warp takes a pixel and walks rings of cells; a cell whose best key is too
// low or that is too far is skipped by one lane. So roots cost little, and a large tau costs what its paths need.
#include "quick_shift_tuning.hpp"
#include "../common/launch.hpp"
#include "../quick_shift/stages_cuda.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int NEAR = tuning::NEAR_RADIUS, TILE_COLS = 32, TILE_ROWS = 8;

// --- pack --------------------------------------------------------------------------------------------------------------

template <typename T>
__global__ void __launch_bounds__(256) packPicture(const Source source, int picture, const Extent extent, const Scales scales,
                                                   const Features features)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= extent.cols || y >= extent.rows)
        return;
    const T* pixel = reinterpret_cast<const T*>(static_cast<const char*>(source.data) + y * source.step) +
                     static_cast<size_t>(x) * source.channels;
    const size_t plane = extent.pixels(), at = static_cast<size_t>(y) * extent.cols + x, base = picture * plane;
    bool counts = !source.mask || source.mask.row(y)[x] != 0;
    if (features.bytes)
    {
        uint32_t word = 0;
        for (int k = 0; k < source.channels; ++k)
            word |= static_cast<uint32_t>(pixel[k]) << (8 * k);
        features.bytes[base + at] = word;
        if (features.valid)
            features.valid[base + at] = counts;
        return;
    }
    float value[MAX_CHANNELS];
#pragma unroll
    for (int k = 0; k < MAX_CHANNELS; ++k)
    {
        if (k >= source.channels)
            break;
        value[k] = static_cast<float>(pixel[k]);
        if (scales.used)
            value[k] *= scales.factor[k];
        counts = counts && fabsf(value[k]) < LARGEST_FEATURE;
    }
#pragma unroll
    for (int k = 0; k < MAX_CHANNELS; ++k)
        if (k < source.channels)
            features.planes[base * source.channels + k * plane + at] = counts ? value[k] : (k == 0 ? OUTSIDE : 0.f);
}

// --- colours, as density compares them -----------------------------------------------------------------------------------

//! 8-bit channels in a word. The float is exact: an integer below 2^23 in the mantissa of 2^23, less 2^23.
struct ByteColours
{
    typedef uint32_t Colour;
    const uint32_t* pixels;

    __device__ explicit ByteColours(const Features& f, size_t base, int) : pixels(f.bytes + base) {}
    __device__ Colour load(size_t at) const { return pixels[at]; }
    static __device__ float distance(Colour a, Colour b)
    {
        const uint32_t d = __vabsdiffu4(a, b);
        return __uint_as_float(__dp4a(d, d, 0x4b000000u)) - 8388608.f;
    }
};

template <int CHANNELS> struct PlaneColours
{
    struct Colour
    {
        float value[CHANNELS];
    };
    const float* planes;
    size_t plane;

    __device__ PlaneColours(const Features& f, size_t base, int pixels) : planes(f.planes + base * CHANNELS), plane(pixels) {}
    __device__ Colour load(size_t at) const
    {
        Colour c;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k)
            c.value[k] = planes[k * plane + at];
        return c;
    }
    static __device__ float distance(const Colour& a, const Colour& b)
    {
        float d = a.value[0] - b.value[0];
        float dc = d * d;
#pragma unroll
        for (int k = 1; k < CHANNELS; ++k)
        {
            d = a.value[k] - b.value[k];
            dc = fmaf(d, d, dc);
        }
        return dc;
    }
};

// --- near --------------------------------------------------------------------------------------------------------------

struct ParentTask
{
    Features features;
    Extent extent;
    Parameters parameters;
    const uint32_t* keys;
    const uint32_t* cells;
    int* far;
    int* farCount;
    int* parents;
    float* distances; //!< on the worklist: D of the best so far, not its root
};

template <typename Colour> struct Neighbour
{
    uint32_t key;
    Colour colour;
};

__device__ __forceinline__ void writeParent(const ParentTask& task, size_t at, int index, const Candidate& best)
{
    const bool root = best.index == NO_PARENT;
    task.parents[at] = root ? index : best.index;
    task.distances[at] = root ? INFINITY : rootOf(best.d);
}

//! One row or column of a ring: count candidates from (dx, dy) in steps of (stepX, stepY).
template <typename Colours>
__device__ __forceinline__ void lookAlong(const Neighbour<typename Colours::Colour>* tile, int place, int pitch, int index,
                                          int cols, const Neighbour<typename Colours::Colour>& own, int dx, int dy, int stepX,
                                          int stepY, int count, const Parameters& p, Candidate& best)
{
    for (int i = 0; i < count; ++i, dx += stepX, dy += stepY)
    {
        const Neighbour<typename Colours::Colour>& other = tile[place + dy * pitch + dx];
        const int j = index + dy * cols + dx;
        if (!isHigher(other.key, j, own.key, index, p.strict))
            continue;
        const float d = squaredDistance(Colours::distance(own.colour, other.colour), p.colorWeight, dx * dx + dy * dy);
        if (isBetter(d, j, best))
            best = {d, j};
    }
}

template <typename Colours> __global__ void __launch_bounds__(TILE_COLS* TILE_ROWS) searchNear(const ParentTask task)
{
    typedef Neighbour<typename Colours::Colour> Pixel;
    const int pitch = TILE_COLS + 2 * NEAR;
    __shared__ Pixel tile[(TILE_ROWS + 2 * NEAR) * pitch];
    const Extent& e = task.extent;
    const Parameters& p = task.parameters;
    const size_t base = static_cast<size_t>(blockIdx.z) * e.pixels();
    const Colours colours(task.features, base, e.pixels());
    const int left = blockIdx.x * TILE_COLS - NEAR, top = blockIdx.y * TILE_ROWS - NEAR;
    for (int i = threadIdx.x; i < (TILE_ROWS + 2 * NEAR) * pitch; i += TILE_COLS * TILE_ROWS)
    {
        const int x = left + i % pitch, y = top + i / pitch;
        Pixel pixel = {};
        if (x >= 0 && x < e.cols && y >= 0 && y < e.rows)
        {
            const size_t at = static_cast<size_t>(y) * e.cols + x;
            pixel.key = task.keys[base + at];
            pixel.colour = colours.load(at);
        }
        tile[i] = pixel; // outside: key 0, nobody's parent
    }
    __syncthreads();

    const int tx = threadIdx.x % TILE_COLS, ty = threadIdx.x / TILE_COLS;
    const int x = left + NEAR + tx, y = top + NEAR + ty;
    if (x >= e.cols || y >= e.rows)
        return;
    const int place = (ty + NEAR) * pitch + tx + NEAR, index = y * e.cols + x;
    const Pixel own = tile[place];
    if (own.key == 0)
    {
        task.parents[base + index] = -1;
        task.distances[base + index] = INFINITY;
        return;
    }
    Candidate best = {p.reach, NO_PARENT};
    const int last = ::min(NEAR, p.searchRadius);
    int r = 1;
    // Equal distances still matter: a ring may hold a lower index at the best distance so far.
    for (; r <= last && static_cast<float>(r * r) <= best.d; ++r)
    {
        lookAlong<Colours>(tile, place, pitch, index, e.cols, own, -r, -r, 1, 0, 2 * r + 1, p, best);
        lookAlong<Colours>(tile, place, pitch, index, e.cols, own, -r, 1 - r, 0, 1, 2 * r - 1, p, best);
        lookAlong<Colours>(tile, place, pitch, index, e.cols, own, r, 1 - r, 0, 1, 2 * r - 1, p, best);
        lookAlong<Colours>(tile, place, pitch, index, e.cols, own, -r, r, 1, 0, 2 * r + 1, p, best);
    }
    if (last == p.searchRadius || static_cast<float>(r) * static_cast<float>(r) > best.d)
        return writeParent(task, base + index, index, best);
    task.parents[base + index] = best.index;
    task.distances[base + index] = best.d;
    task.far[atomicAdd(task.farCount, 1)] = static_cast<int>(base) + index;
}

// --- far ---------------------------------------------------------------------------------------------------------------

//! Which cell of ring r around (0,0) a lane takes; i < 8 r (ring 0: i = 0).
__device__ __forceinline__ int2 ringCell(int r, int i)
{
    if (r == 0)
        return make_int2(0, 0);
    const int side = i / (2 * r), along = i % (2 * r) - r;
    return side == 0 ? make_int2(along, -r) : side == 1 ? make_int2(r, along) : side == 2 ? make_int2(-along, r) : make_int2(-r, -along);
}

//! Distance from v to the interval [low, low + CELL - 1].
__device__ __forceinline__ int gapTo(int v, int low) { return ::max(::max(low - v, v - (low + CELL - 1)), 0); }

__device__ __forceinline__ float leastOfWarp(float d)
{
    for (int offset = 16; offset > 0; offset /= 2)
        d = fminf(d, __shfl_xor_sync(0xffffffffu, d, offset));
    return d;
}

__device__ __forceinline__ Candidate bestOfWarp(Candidate best)
{
    for (int offset = 16; offset > 0; offset /= 2)
    {
        const float d = __shfl_xor_sync(0xffffffffu, best.d, offset);
        const int index = __shfl_xor_sync(0xffffffffu, best.index, offset);
        if (isBetter(d, index, best))
            best = {d, index};
    }
    return best;
}

//! A pixel under search, the same in all lanes but for `best`.
template <typename Colour> struct Seeker
{
    int x, y, index;
    uint32_t key;
    Colour colour;
    Candidate best;
};

//! All lanes look at one cell, two pixels each.
template <typename Colours>
__device__ __forceinline__ void lookAtCell(const ParentTask& task, const Colours& colours, size_t base, int cellX, int cellY,
                                           Seeker<typename Colours::Colour>& s)
{
    const Parameters& p = task.parameters;
    for (int i = threadIdx.x % 32; i < CELL * CELL; i += 32)
    {
        const int x = cellX * CELL + i % CELL, y = cellY * CELL + i / CELL, dx = x - s.x, dy = y - s.y;
        if (x >= task.extent.cols || y >= task.extent.rows || ::max(::abs(dx), ::abs(dy)) > p.searchRadius)
            continue;
        const int j = y * task.extent.cols + x;
        if (!isHigher(task.keys[base + j], j, s.key, s.index, p.strict))
            continue;
        const float d = squaredDistance(Colours::distance(s.colour, colours.load(j)), p.colorWeight, dx * dx + dy * dy);
        if (isBetter(d, j, s.best))
            s.best = {d, j};
    }
}

template <typename Colours> __global__ void __launch_bounds__(tuning::FAR_THREADS) searchFar(const ParentTask task)
{
    const Extent& e = task.extent;
    const Parameters& p = task.parameters;
    const int cellCols = cellsOf(e.cols), cellRows = cellsOf(e.rows);
    const int lane = threadIdx.x % 32, warps = gridDim.x * (tuning::FAR_THREADS / 32), count = *task.farCount;
    for (int entry = (blockIdx.x * tuning::FAR_THREADS + threadIdx.x) / 32; entry < count; entry += warps)
    {
        const int at = task.far[entry], picture = at / e.pixels();
        const size_t base = static_cast<size_t>(picture) * e.pixels();
        const Colours colours(task.features, base, e.pixels());
        const uint32_t* cells = task.cells + static_cast<size_t>(picture) * cellCols * cellRows;
        Seeker<typename Colours::Colour> s;
        s.index = at - static_cast<int>(base);
        s.x = s.index % e.cols;
        s.y = s.index / e.cols;
        s.key = task.keys[at];
        s.colour = colours.load(s.index);
        s.best = {task.distances[at], task.parents[at]};
        const int cx = s.x / CELL, cy = s.y / CELL;
        const int rings = ::max(::max(cx, cellCols - 1 - cx), ::max(cy, cellRows - 1 - cy));
        float least = s.best.d;
        for (int r = 0; r <= rings; ++r)
        {
            const int gap = r == 0 ? 0 : (r - 1) * CELL + 1; // no pixel of this ring of cells is nearer
            if (gap > p.searchRadius || static_cast<float>(gap) * static_cast<float>(gap) > least)
                break;
            const int size = r == 0 ? 1 : 8 * r;
            for (int first = 0; first < size; first += 32)
            {
                const int2 offset = ringCell(r, ::min(first + lane, size - 1));
                const int x = cx + offset.x, y = cy + offset.y;
                bool worth = first + lane < size && x >= 0 && x < cellCols && y >= 0 && y < cellRows;
                if (worth)
                {
                    const uint32_t best = cells[y * cellCols + x];
                    const int gx = gapTo(s.x, x * CELL), gy = gapTo(s.y, y * CELL);
                    worth = (best > s.key || (!p.strict && best == s.key)) && ::max(gx, gy) <= p.searchRadius &&
                            static_cast<float>(gx * gx + gy * gy) <= least;
                }
                for (unsigned left = __ballot_sync(0xffffffffu, worth); left != 0; left &= left - 1)
                {
                    const int from = __ffs(left) - 1;
                    lookAtCell(task, colours, base, __shfl_sync(0xffffffffu, x, from), __shfl_sync(0xffffffffu, y, from), s);
                }
            }
            least = leastOfWarp(s.best.d);
        }
        s.best = bestOfWarp(s.best);
        if (lane == 0)
            writeParent(task, at, s.index, s.best);
    }
}

template <typename Colours> void search(const ParentTask& task, cudaStream_t stream)
{
    const Extent& e = task.extent;
    detail::launch("quick shift near parents", searchNear<Colours>,
                   dim3((e.cols + TILE_COLS - 1) / TILE_COLS, (e.rows + TILE_ROWS - 1) / TILE_ROWS, e.count),
                   dim3(TILE_COLS * TILE_ROWS), 0, stream, task);
    if (task.parameters.searchRadius > NEAR)
        detail::launch("quick shift far parents", searchFar<Colours>, dim3(tuning::FAR_BLOCKS), dim3(tuning::FAR_THREADS), 0,
                       stream, task);
}

} // namespace

void pack(const Source& source, int picture, const Extent& extent, const Scales& scales, const Features& features,
          cudaStream_t stream)
{
    const dim3 grid((extent.cols + 31) / 32, (extent.rows + 7) / 8), block(32, 8);
    if (source.depth == 0)
        detail::launch("quick shift pack", packPicture<uint8_t>, grid, block, 0, stream, source, picture, extent, scales, features);
    else if (source.depth == 2)
        detail::launch("quick shift pack", packPicture<uint16_t>, grid, block, 0, stream, source, picture, extent, scales, features);
    else
        detail::launch("quick shift pack", packPicture<float>, grid, block, 0, stream, source, picture, extent, scales, features);
}

void parents(const Features& features, const Extent& extent, const Parameters& parameters, const uint32_t* keys,
             const uint32_t* cells, int* far, int* farCount, int* parents, float* distances, cudaStream_t stream)
{
    detail::cudaCheck(cudaMemsetAsync(farCount, 0, sizeof(int), stream), "quick shift parents");
    const ParentTask task = {features, extent, parameters, keys, cells, far, farCount, parents, distances};
    if (features.bytes)
        search<ByteColours>(task, stream);
    else if (features.channels == 1)
        search<PlaneColours<1>>(task, stream);
    else if (features.channels == 2)
        search<PlaneColours<2>>(task, stream);
    else if (features.channels == 3)
        search<PlaneColours<3>>(task, stream);
    else
        search<PlaneColours<4>>(task, stream);
}

}}}} // namespace cv::cuda::quick_shift::gpu
