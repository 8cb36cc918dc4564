// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// parents of QuickShift, in three steps, each for the pixels that the one before could not finish. A search ends as soon as no pixel of the
// next ring can be nearer, and results are the minimum of (D, index), so neither order nor grouping shows.
//   1. A thread looks at the first rings around its pixel, unrolled, in shared memory.
//   2. Four lanes take a pixel of the block's list and go on, a side of each ring a lane, in the same shared memory.
//   3. A warp takes a pixel of a global list and walks rings of cells; a cell whose best key is too low or that is too far
//      away is skipped by one lane. So a large tau costs what its paths need, and not its square.
#include "quick_shift_plan.hpp"
#include "../common/launch.hpp"

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

const int DENSE = tuning::DENSE_RADIUS, REACH = tuning::TILE_REACH;
const int TILE_COLS = 32, TILE_ROWS = 16, THREADS = 256, PITCH = TILE_COLS + 2 * REACH;

// --- colours, as density compares them -----------------------------------------------------------------------------------

//! 8-bit channels in a word. The float is exact: an integer below 2^23 in the mantissa of 2^23, less 2^23.
struct ByteColours
{
    typedef uint32_t Colour;
    const uint32_t* pixels;

    __device__ explicit ByteColours(const Features& f, size_t base, int) : pixels(f.words + base) {}
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

    __device__ PlaneColours(const Features& f, size_t base, int pixels)
        : planes(f.planes + base * CHANNELS), plane(pixels)
    {}
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
        return colourDistance(a.value, b.value, CHANNELS);
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
    Worklist far;
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

/** Looks at one pixel of the tile without a branch. Places are positions in the tile; their order is raster order.
@param threshold the pixel must have a larger key, see Thresholds. */
template <typename Colours>
__device__ __forceinline__ void lookAt(const Neighbour<typename Colours::Colour>& other, int place, int ds,
                                       uint32_t threshold, const Neighbour<typename Colours::Colour>& own,
                                       float colorWeight, Candidate& best)
{
    const float d = squaredDistance(Colours::distance(own.colour, other.colour), colorWeight, ds);
    const bool better = (d < best.d) | ((d == best.d) & (place < best.index));
    const bool take = (other.key > threshold) & better;
    best.d = take ? d : best.d;
    best.index = take ? place : best.index;
}

//! isHigher() as one comparison: pixels before this one in raster order may also be equal, unless ties are strict. Keys are > 0.
struct Thresholds
{
    uint32_t before, after;

    __device__ Thresholds(uint32_t key, bool strict) : before(strict ? key : key - 1), after(key) {}
};

//! Tile of keys and colours around the block's pixels. Outside of the picture: key 0, nobody's parent.
template <typename Colours>
__device__ __forceinline__ void fillTile(const ParentTask& task, const Colours& colours, size_t base, int left, int top,
                                         Neighbour<typename Colours::Colour>* tile)
{
    for (int i = threadIdx.x; i < (TILE_ROWS + 2 * REACH) * PITCH; i += THREADS)
    {
        const int x = left + i % PITCH, y = top + i / PITCH;
        Neighbour<typename Colours::Colour> pixel = {};
        if (static_cast<unsigned>(x) < static_cast<unsigned>(task.extent.cols) &&
            static_cast<unsigned>(y) < static_cast<unsigned>(task.extent.rows))
        {
            const int at = y * task.extent.cols + x;
            pixel.key = task.keys[base + at];
            pixel.colour = colours.load(at);
        }
        tile[i] = pixel;
    }
}

//! Step 1: rings 1 .. DENSE around `place`.
template <typename Colours>
__device__ __forceinline__ Candidate searchDense(const Neighbour<typename Colours::Colour>* tile, int place,
                                                 const Parameters& p)
{
    const Neighbour<typename Colours::Colour> own = tile[place];
    const Thresholds threshold(own.key, p.strict);
    Candidate best = {p.reach, NO_PARENT};
#pragma unroll
    for (int r = 1; r <= DENSE; ++r)
    {
        // Equal distances still matter: a ring may hold a lower index at the best distance so far.
        if (r > p.searchRadius || static_cast<float>(r * r) > best.d)
            return best;
#pragma unroll
        for (int dy = -r; dy <= r; ++dy)
#pragma unroll
            for (int dx = -r; dx <= r; dx += (dy == -r || dy == r ? 1 : 2 * r))
            {
                const int other = place + dy * PITCH + dx;
                lookAt<Colours>(tile[other], other, dx * dx + dy * dy,
                                dy < 0 || (dy == 0 && dx < 0) ? threshold.before : threshold.after, own, p.colorWeight,
                                best);
            }
    }
    return best;
}

/** Step 2: rings from DENSE + 1 on, by four neighbouring lanes, `side` = 0..3, that all end with the same result.
@return the first ring not looked at. */
template <typename Colours>
__device__ __forceinline__ int searchSides(const Neighbour<typename Colours::Colour>* tile, int place, int side,
                                           const Parameters& p, Candidate& best)
{
    const Neighbour<typename Colours::Colour> own = tile[place];
    const Thresholds threshold(own.key, p.strict);
    const unsigned group = 0xfu << (threadIdx.x % 32 / 4 * 4);
    const int stepX = side == 0 ? 1 : side == 2 ? -1 : 0, stepY = side == 1 ? 1 : side == 3 ? -1 : 0;
    const int last = ::min(REACH, p.searchRadius);
    int r = DENSE + 1;
    for (; r <= last && static_cast<float>(r * r) <= best.d; ++r)
    {
        // A side starts in its corner and ends before the next: 2r pixels.
        int dx = side == 0 || side == 3 ? -r : r, dy = side == 0 || side == 1 ? -r : r;
        for (int k = 0; k < 2 * r; ++k, dx += stepX, dy += stepY)
        {
            const int other = place + dy * PITCH + dx;
            lookAt<Colours>(tile[other], other, dx * dx + dy * dy, other < place ? threshold.before : threshold.after,
                            own, p.colorWeight, best);
        }
        for (int offset = 1; offset <= 2; offset *= 2)
        {
            const Candidate others = {__shfl_xor_sync(group, best.d, offset),
                                      __shfl_xor_sync(group, best.index, offset)};
            if (isBetter(others.d, others.index, best))
                best = others;
        }
    }
    return r;
}

//! What step 1 leaves to step 2.
struct Unfinished
{
    int place;
    Candidate best;
};

template <typename Colours> __global__ void __launch_bounds__(THREADS) searchNear(const ParentTask task)
{
    __shared__ Neighbour<typename Colours::Colour> tile[(TILE_ROWS + 2 * REACH) * PITCH];
    __shared__ Unfinished list[TILE_COLS * TILE_ROWS];
    __shared__ int listed;
    const Extent& e = task.extent;
    const Parameters& p = task.parameters;
    const size_t base = static_cast<size_t>(blockIdx.z) * e.pixels();
    const int left = blockIdx.x * TILE_COLS - REACH, top = blockIdx.y * TILE_ROWS - REACH;
    const auto indexOf = [&](int place) { return (top + place / PITCH) * e.cols + left + place % PITCH; };
    fillTile(task, Colours(task.features, base, e.pixels()), base, left, top, tile);
    if (threadIdx.x == 0)
        listed = 0;
    __syncthreads(); // the tile is complete, the list empty

    for (int row = threadIdx.x / 32; row < TILE_ROWS; row += THREADS / 32)
    {
        const int place = (row + REACH) * PITCH + threadIdx.x % 32 + REACH, index = indexOf(place);
        if (left + place % PITCH >= e.cols || top + place / PITCH >= e.rows)
            continue;
        if (tile[place].key == 0)
        {
            task.parents[base + index] = -1;
            task.distances[base + index] = INFINITY;
            continue;
        }
        Candidate best = searchDense<Colours>(tile, place, p);
        const bool finished = p.searchRadius <= DENSE || static_cast<float>((DENSE + 1) * (DENSE + 1)) > best.d;
        if (!finished)
            list[atomicAdd(&listed, 1)] = {place, best};
        best.index = best.index == NO_PARENT ? NO_PARENT : indexOf(best.index);
        if (finished)
            writeParent(task, base + index, index, best);
    }
    __syncthreads(); // the list is complete

    const int count = listed;
    for (int entry = threadIdx.x / 4; entry < count; entry += THREADS / 4)
    {
        const int place = list[entry].place, index = indexOf(place);
        Candidate best = list[entry].best;
        const int r = searchSides<Colours>(tile, place, threadIdx.x % 4, p, best);
        if (threadIdx.x % 4 != 0)
            continue;
        best.index = best.index == NO_PARENT ? NO_PARENT : indexOf(best.index);
        if (r > p.searchRadius || static_cast<float>(r) * static_cast<float>(r) > best.d)
            writeParent(task, base + index, index, best);
        else
        {
            task.parents[base + index] = best.index;
            task.distances[base + index] = best.d;
            task.far.pixels[atomicAdd(task.far.count, 1)] = static_cast<int>(base) + index;
        }
    }
}

// --- far ---------------------------------------------------------------------------------------------------------------

//! Which cell of ring r around (0,0) a lane takes; i < 8 r (ring 0: i = 0).
__device__ __forceinline__ int2 ringCell(int r, int i)
{
    if (r == 0)
        return make_int2(0, 0);
    const int side = i / (2 * r), along = i % (2 * r) - r;
    return side == 0   ? make_int2(along, -r)
           : side == 1 ? make_int2(r, along)
           : side == 2 ? make_int2(-along, r)
                       : make_int2(-r, -along);
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
__device__ __forceinline__ void lookAtCell(const ParentTask& task, const Colours& colours, size_t base, int cellX,
                                           int cellY, Seeker<typename Colours::Colour>& s)
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
    const int cellCols = detail::ceilDiv(e.cols, CELL), cellRows = detail::ceilDiv(e.rows, CELL);
    const int lane = threadIdx.x % 32, warps = gridDim.x * (tuning::FAR_THREADS / 32), count = *task.far.count;
    for (int entry = (blockIdx.x * tuning::FAR_THREADS + threadIdx.x) / 32; entry < count; entry += warps)
    {
        const int at = task.far.pixels[entry], picture = at / e.pixels();
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
                    lookAtCell(task, colours, base, __shfl_sync(0xffffffffu, x, from),
                               __shfl_sync(0xffffffffu, y, from), s);
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
    detail::cudaCheck(cudaMemsetAsync(task.far.count, 0, sizeof(int), stream), "quick shift parents");
    detail::launch("quick shift near parents", searchNear<Colours>,
                   dim3(detail::ceilDiv(e.cols, TILE_COLS), detail::ceilDiv(e.rows, TILE_ROWS), e.count), dim3(THREADS),
                   0, stream, task);
    if (task.parameters.searchRadius > REACH)
        detail::launch("quick shift far parents", searchFar<Colours>, dim3(tuning::FAR_BLOCKS),
                       dim3(tuning::FAR_THREADS), 0, stream, task);
}

void searchAs(const ParentTask& task, cudaStream_t stream)
{
    if (task.features.words)
        search<ByteColours>(task, stream);
    else if (task.features.channels == 1)
        search<PlaneColours<1>>(task, stream);
    else if (task.features.channels == 2)
        search<PlaneColours<2>>(task, stream);
    else if (task.features.channels == 3)
        search<PlaneColours<3>>(task, stream);
    else
        search<PlaneColours<4>>(task, stream);
}

} // namespace

void parents(const Features& features, const Extent& extent, const Parameters& parameters, const uint32_t* keys,
             const uint32_t* cells, const Worklist& far, int* parents, float* distances, StreamHandle stream)
{
    forSlices(extent, MOST_BLOCKS,
              [&](const Slice& slice)
              {
                  const size_t cellsBefore = cellsOf({extent.cols, extent.rows, slice.picture});
                  searchAs({partOf(features, slice), slice.extent, parameters, keys + slice.pixel, cells + cellsBefore,
                            far, parents + slice.pixel, distances + slice.pixel},
                           stream);
              });
}

}}}} // namespace cv::cuda::quick_shift::gpu
