// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage parents on CUDA. The search of a pixel visits its neighbours nearest first and ends as soon as no other can be
// nearer than the best candidate. The parent is the minimum of (D, index), so neither order nor grouping matters. Four
// steps, each for the pixels that the step before could not finish:
//   1. A thread has some pixels of a column and visits their nearest 20 neighbours, which these pixels share.
//   2. Passes: a thread takes a pixel of the block's list and visits a range of the next offsets, unrolled, in shared
//      memory.
//   3. Several lanes take a pixel of the list together and visit the remaining offsets of the tile.
//   4. A warp takes a pixel of a global list and visits rings of cells; one lane skips a cell whose best key is too low
//      or that is too far away. So the cost of a large tau depends on the cells visited, not on tau squared.
// Cost of steps 1 and 2 for 8 bit: 9 instructions per neighbour. Bound by instruction issue.
// Four steps of one search, which hand on their lists.
#include "colours.hpp"
#include "offsets.hpp"
#include "pixel_grid.hpp"
#include "../../common/for_number.hpp"
#include "../../common/launch.hpp"
#include "../../common/warp.hpp"
#include <utility>

namespace cv { namespace cuda { namespace quick_shift { namespace gpu {

namespace {

// --- near ------------------------------------------------------------------------------------------------------------

//! Arguments of the search kernels. @tparam P SearchParameters or Parameters.
template <typename P> struct ParentTaskWith
{
    Features features;
    Extent extent;
    P parameters;
    const uint32_t* keys;
    const uint32_t* cells;
    Worklist far;
    int* parents;
    float* distances; //!< for pixels of the worklist D of the best candidate so far, not its square root
};
typedef ParentTaskWith<SearchParameters> ParentTask;
typedef ParentTaskWith<Parameters> BandTask;
static_assert(sizeof(ParentTask) <= 128, "with more the compiler makes searchNear() longer (CUDA 13.0)");

//! Writes the result of a search.
template <typename Task>
__device__ __forceinline__ void writeParent(const Task& task, size_t at, int index, const Candidate& best)
{
    const bool root = best.index == NO_PARENT;
    task.parents[at] = root ? index : best.index;
    task.distances[at] = root ? INFINITY : rootOf(best.d);
}

/** Block of searchNear(): COLS x ROWS pixels, PIXELS of a column per thread. LANES take a pixel together in step 3.
BLOCKS fit a multiprocessor's registers. A list of fewer than FEW pixels is left to step 3. */
template <int COLS_, int ROWS_, int PIXELS_, int LANES_, int BLOCKS_, int FEW_> struct SearchShape
{
    static const int COLS = COLS_, ROWS = ROWS_, PIXELS = PIXELS_, LANES = LANES_, BLOCKS = BLOCKS_, FEW = FEW_;
    static const int THREADS = COLS * ROWS / PIXELS, PITCH = COLS + 2 * REACH, HEIGHT = ROWS + 2 * REACH;
};
typedef SearchShape<tuning::SEARCH_COLS, tuning::BYTE_SEARCH_ROWS, tuning::BYTE_SEARCH_PIXELS,
                    tuning::BYTE_SEARCH_LANES, tuning::BYTE_SEARCH_BLOCKS, tuning::BYTE_SEARCH_FEW>
    ByteSearch;
typedef SearchShape<tuning::SEARCH_COLS, tuning::BYTE_SMALL_SEARCH_ROWS, 1, tuning::BYTE_SEARCH_LANES,
                    tuning::BYTE_SEARCH_BLOCKS, tuning::BYTE_SEARCH_FEW>
    SmallByteSearch;
typedef SearchShape<tuning::SEARCH_COLS, tuning::PLANE_SEARCH_ROWS, tuning::PLANE_SEARCH_PIXELS,
                    tuning::PLANE_SEARCH_LANES, 1, 1>
    PlaneSearch;

const uint32_t NO_CODE = 0x7fffffff;   //!< above all codes
const int DENSE = TABLE.nearer(8);     //!< number of offsets of step 1: all with |dx|, |dy| <= 2 but the corners
__device__ const PackedOffsets PACKED; //!< computed at compile time

//! Pixel of a tile.
template <typename Colour> struct alignas(sizeof(Colour) == 4 ? 8 : 4) Neighbour
{
    uint32_t key; //!< 0 outside of the image, so that it is no parent
    Colour colour;
};

//! Shared memory of a block.
template <typename Colours, typename Shape> struct SearchTile
{
    static const int MOST_LISTS = 8;
    Neighbour<typename Colours::Colour> pixels[Shape::HEIGHT * Shape::PITCH];
    unsigned long long best[Shape::COLS * Shape::ROWS]; //!< Searcher::best of the pixels on the list
    //! List k is in list[k % 2]: a pass reads one and writes the other.
    unsigned short list[2][Shape::COLS * Shape::ROWS];
    int listed[MOST_LISTS]; //!< pixels per list
};

//! Search of one pixel.
template <typename Colours> struct Searcher
{
    //! Bounds that the key of a parent exceeds, if the parent comes before or after the pixel in raster order. This
    //! makes isHigher() one comparison: before it keys may be equal, unless ties are strict. Keys are > 0.
    uint32_t before, after;
    typename Colours::Colour colour;
    //! Bits of D in multiples of UNIT, then the code. Positive floats order like their bits, so the minimum is the
    //! best.
    unsigned long long best;

    __device__ __forceinline__ float distance() const { return __uint_as_float(static_cast<uint32_t>(best >> 32)); }
    //! Returns true if no offset from ds on can be nearer. An equal distance still matters: its index may be lower.
    __device__ __forceinline__ bool done(int ds) const { return ds * Colours::UNIT > distance(); }

    //! Makes a neighbour the best candidate if it is. @param ds in multiples of UNIT. @param within false: it does not
    //! count.
    __device__ __forceinline__ void evaluate(const Neighbour<typename Colours::Colour>& other, uint32_t code, float ds,
                                             typename Colours::Weight weight, bool within = true)
    {
        const float d = Colours::joint(colour, other.colour, weight, ds);
        const unsigned long long candidate = static_cast<unsigned long long>(__float_as_uint(d)) << 32 | code;
        const bool higher = other.key > (code < codeOf(0, 0) ? before : after);
        best = higher & (candidate < best) & within ? candidate : best;
    }
};

//! Steps 1 to 3 of the search, for the pixels of a block. An id is a pixel's index among these.
template <typename Colours, typename Shape> struct NearSearch
{
    typedef Neighbour<typename Colours::Colour> Pixel;
    const ParentTask& task;
    SearchTile<Colours, Shape>& tile;
    size_t base;   //!< index of the image's first pixel
    int left, top; //!< corner of the block's pixels
    typename Colours::Weight weight;

    __device__ __forceinline__ const Pixel* pixelOf(int id) const
    {
        return tile.pixels + (id / Shape::COLS + REACH) * Shape::PITCH + id % Shape::COLS + REACH;
    }
    __device__ __forceinline__ int indexOf(int id) const
    {
        return (top + id / Shape::COLS) * task.extent.cols + left + id % Shape::COLS;
    }
    __device__ __forceinline__ Searcher<Colours> searcher(const Pixel& own, unsigned long long best) const
    {
        return {task.parameters.strict ? own.key : own.key - 1, own.key, own.colour, best};
    }
    __device__ __forceinline__ unsigned long long nothing() const
    {
        return static_cast<unsigned long long>(__float_as_uint(task.parameters.reach * Colours::UNIT)) << 32 | NO_CODE;
    }
    __device__ __forceinline__ Candidate candidateOf(int index, const Searcher<Colours>& s) const
    {
        const uint32_t code = static_cast<uint32_t>(s.best);
        return {s.distance() * Colours::FROM_UNIT,
                code == NO_CODE ? NO_PARENT : index + dyOf(code) * task.extent.cols + dxOf(code)};
    }
    __device__ __forceinline__ void write(int index, const Searcher<Colours>& s) const
    {
        writeParent(task, base + index, index, candidateOf(index, s));
    }

    __device__ __forceinline__ void fill() const
    {
        const Extent& e = task.extent;
        const Colours colours(task.features, base, e.pixels());
        const int BATCH = 6, END = Shape::HEIGHT * Shape::PITCH; // BATCH: loads in flight
#pragma unroll 1
        for (int first = threadIdx.x; first < END; first += BATCH * Shape::THREADS)
        {
            Pixel pixels[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
            {
                const int i = first + k * Shape::THREADS;
                const int x = left - REACH + i % Shape::PITCH, y = top - REACH + i / Shape::PITCH;
                pixels[k] = {};
                if (i < END && static_cast<unsigned>(x) < static_cast<unsigned>(e.cols) &&
                    static_cast<unsigned>(y) < static_cast<unsigned>(e.rows))
                {
                    const int at = y * e.cols + x;
                    pixels[k].key = task.keys[base + at];
                    pixels[k].colour = colours.load(at);
                }
            }
#pragma unroll
            for (int k = 0; k < BATCH; ++k)
                if (first + k * Shape::THREADS < END)
                    tile.pixels[first + k * Shape::THREADS] = pixels[k];
        }
        if (threadIdx.x < tile.MOST_LISTS)
            tile.listed[threadIdx.x] = 0;
    }

    //! Appends to a list the ids of those lanes that want it. All lanes of a warp call this together.
    __device__ __forceinline__ void append(int list, bool want, int id) const
    {
        const unsigned wanting = __ballot_sync(0xffffffffu, want);
        if (wanting == 0)
            return;
        const int lane = threadIdx.x % 32, leader = __ffs(wanting) - 1;
        int first = 0;
        if (lane == leader)
            first = atomicAdd(&tile.listed[list], __popc(wanting));
        first = __shfl_sync(0xffffffffu, first, leader);
        if (want)
            tile.list[list % 2][first + __popc(wanting & ((1u << lane) - 1))] = static_cast<unsigned short>(id);
    }

    //! Evaluates the offsets with FROM <= ds <= TO for the pixels of a thread.
    template <int FROM, int TO>
    __device__ __forceinline__ void evaluateAround(const Pixel* first, Searcher<Colours> (&s)[Shape::PIXELS]) const
    {
        const int R = TO < 4 ? 1 : 2;
#pragma unroll
        for (int y = -R; y < Shape::PIXELS + R; ++y)
#pragma unroll
            for (int dx = -R; dx <= R; ++dx)
            {
                const Pixel other = first[y * Shape::PITCH + dx]; // the compiler drops loads that are not used
#pragma unroll
                for (int p = 0; p < Shape::PIXELS; ++p)
                {
                    const int ds = dx * dx + (y - p) * (y - p);
                    if (ds >= FROM && ds <= TO)
                        s[p].evaluate(other, codeOf(dx, y - p), ds * Colours::UNIT, weight);
                }
            }
    }

    //! Runs step 1. A warp skips ds 4 and 5 when none of its pixels needs them. @return the next ds.
    __device__ __forceinline__ int searchDense(const Pixel* first, Searcher<Colours> (&s)[Shape::PIXELS]) const
    {
        if (task.parameters.searchRadius < 2)
            return 1;
        evaluateAround<1, 2>(first, s);
        bool more = false;
#pragma unroll
        for (int p = 0; p < Shape::PIXELS; ++p)
            more = more || (!s[p].done(4) && s[p].after != 0);
        if (__any_sync(0xffffffffu, more))
            evaluateAround<4, 5>(first, s);
        return 8;
    }

    //! Runs step 1 and writes its results; unfinished pixels go to list 0.
    __device__ __forceinline__ void start() const
    {
        const int x = left + threadIdx.x % Shape::COLS, row = threadIdx.x / Shape::COLS * Shape::PIXELS;
        const int first = row * Shape::COLS + threadIdx.x % Shape::COLS;
        Searcher<Colours> s[Shape::PIXELS];
#pragma unroll
        for (int p = 0; p < Shape::PIXELS; ++p)
            s[p] = searcher(pixelOf(first)[p * Shape::PITCH], nothing());
        const int next = searchDense(pixelOf(first), s);
#pragma unroll
        for (int p = 0; p < Shape::PIXELS; ++p)
        {
            const int y = top + row + p, index = y * task.extent.cols + x, id = first + p * Shape::COLS;
            const bool inside = x < task.extent.cols && y < task.extent.rows, counts = s[p].after != 0;
            const bool unfinished = inside && counts && !s[p].done(next);
            if (unfinished)
                tile.best[id] = s[p].best;
            else if (inside && counts)
                write(index, s[p]);
            else if (inside)
            {
                task.parents[base + index] = -1;
                task.distances[base + index] = INFINITY;
            }
            append(0, unfinished, id);
        }
    }

    //! Evaluates offset K of the table.
    template <int K> __device__ __forceinline__ void evaluateOffset(const Pixel* at, Searcher<Colours>& s) const
    {
        constexpr int dx = TABLE.dx[K], dy = TABLE.dy[K], ds = TABLE.ds[K];
        s.evaluate(at[dy * Shape::PITCH + dx], codeOf(dx, dy), ds * Colours::UNIT, weight);
    }
    template <int FROM, int... K>
    __device__ __forceinline__ void evaluateOffsets(const Pixel* at, Searcher<Colours>& s,
                                                    std::integer_sequence<int, K...>) const
    {
        (evaluateOffset<FROM + K>(at, s), ...);
    }

    /** Runs one pass of step 2: offsets FROM to TO-1 of the table. Only if all of these are within the search radius,
    or those that are not are farther than a parent may be. @return false if there was no pass. */
    template <int FROM, int TO> __device__ __forceinline__ bool pass(int& list, int& from) const
    {
        constexpr int LAST = TABLE.ds[TO - 1], NEXT = TABLE.ds[TO];
        static_assert(LAST < NEXT, "done() needs a distance none of whose offsets was visited");
        const float radius = static_cast<float>(task.parameters.searchRadius), square = radius * radius;
        const int count = tile.listed[list];
        if (count < Shape::FEW || (LAST > square && task.parameters.reach > square))
            return false;
        for (int warp = threadIdx.x / 32 * 32; warp < count; warp += Shape::THREADS)
        {
            const int entry = warp + threadIdx.x % 32;
            bool unfinished = false;
            int id = 0;
            if (entry < count)
            {
                id = tile.list[list % 2][entry];
                const Pixel* const at = pixelOf(id);
                Searcher<Colours> s = searcher(*at, tile.best[id]);
                evaluateOffsets<FROM>(at, s, std::make_integer_sequence<int, TO - FROM>());
                unfinished = !s.done(NEXT);
                if (unfinished)
                    tile.best[id] = s.best;
                else
                    write(indexOf(id), s);
            }
            append(list + 1, unfinished, id);
        }
        __syncthreads(); // the next list is complete
        ++list;
        from = TO;
        return true;
    }
    template <int FROM> __device__ __forceinline__ void passes(int&, int&) const {}
    template <int FROM, int TO, int... MORE> __device__ __forceinline__ void passes(int& list, int& from) const
    {
        static_assert(sizeof...(MORE) + 2 < tile.MOST_LISTS, "each pass has a list");
        if (pass<FROM, TO>(list, from))
            passes<TO, MORE...>(list, from);
    }

    //! Returns the best of the lanes of a group, which have visited different offsets, to all of them.
    static __device__ __forceinline__ unsigned long long bestOfGroup(unsigned long long best, unsigned group)
    {
        for (int offset = Shape::LANES / 2; offset > 0; offset /= 2)
        {
            const unsigned long long other = __shfl_xor_sync(group, best, offset);
            best = other < best ? other : best;
        }
        return best;
    }

    //! Runs step 3, from offset `from` of the table on.
    __device__ __forceinline__ void searchRest(int list, int from) const
    {
        const int GROUP = Shape::LANES, TURNS = 4;
        const int lane = threadIdx.x % GROUP, count = tile.listed[list], radius = task.parameters.searchRadius;
        const unsigned group = ((1u << GROUP) - 1u) << (threadIdx.x % 32 / GROUP * GROUP);
        const int end = radius <= REACH ? OFFSETS : WHOLE_DISC;
        for (int entry = threadIdx.x / GROUP; entry < count; entry += Shape::THREADS / GROUP)
        {
            const int id = tile.list[list % 2][entry], index = indexOf(id);
            const Pixel* const at = pixelOf(id);
            Searcher<Colours> s = searcher(*at, tile.best[id]);
            float least = s.distance();
            for (int k = from; k < end && PackedOffsets::ds(PACKED.entry[k]) * Colours::UNIT <= least;
                 k += TURNS * GROUP)
            {
                uint32_t packed[TURNS];
#pragma unroll
                for (int t = 0; t < TURNS;
                     ++t) // all loads first, to hide their latency; the last offset may be loaded repeatedly
                    packed[t] = PACKED.entry[::min(k + t * GROUP + lane, end - 1)];
#pragma unroll
                for (int t = 0; t < TURNS; ++t)
                {
                    const uint32_t code = PackedOffsets::code(packed[t]);
                    s.evaluate(at[dyOf(code) * Shape::PITCH + dxOf(code)], code,
                               static_cast<float>(PackedOffsets::ds(packed[t])) * Colours::UNIT, weight,
                               PackedOffsets::radius(packed[t]) <= radius);
                }
                least = s.distance();
                for (int offset = GROUP / 2; offset > 0; offset /= 2)
                    least = fminf(least, __shfl_xor_sync(group, least, offset));
            }
            s.best = bestOfGroup(s.best, group);
            if (lane == 0)
                finish(index, s);
        }
    }
    //! Writes the result, or appends the pixel to the global list for step 4.
    __device__ __forceinline__ void finish(int index, const Searcher<Colours>& s) const
    {
        if (task.parameters.searchRadius <= REACH || s.done((REACH + 1) * (REACH + 1)))
            return write(index, s);
        const Candidate best = candidateOf(index, s);
        task.parents[base + index] = best.index;
        task.distances[base + index] = best.d;
        task.far.pixels[atomicAdd(task.far.count, 1)] = static_cast<int>(base) + index;
    }
};

//! Searches inside tiles: steps 1 to 3. @tparam PASSES offsets at which the passes of step 2 end.
template <typename Colours, typename Shape, int... PASSES>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS) searchNear(const ParentTask task)
{
    extern __shared__ unsigned long long memory[];
    const BlockPlace block(task.extent, Shape::COLS, Shape::ROWS);
    const NearSearch<Colours, Shape> search = {task,       *reinterpret_cast<SearchTile<Colours, Shape>*>(memory),
                                               block.base, block.left,
                                               block.top,  Colours::weightOf(task.parameters)};
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    search.fill();
    __syncthreads(); // the tile is complete, the lists are empty
    search.start();
    __syncthreads(); // list 0 is complete
    int list = 0, from = 0;
    if (task.parameters.searchRadius >= 2)
    {
        from = DENSE;
        search.template passes<DENSE, PASSES...>(list, from);
    }
    search.searchRest(list, from);
}

// --- far -------------------------------------------------------------------------------------------------------------

//! Returns cell i of ring r around (0,0); i < 8 r, or 0 in ring 0.
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

//! Returns the distance from v to the interval [low, low + CELL - 1].
__device__ __forceinline__ int gapTo(int v, int low) { return ::max(::max(low - v, v - (low + CELL - 1)), 0); }

// With cub::WarpReduce here and in bestOfGroup(), whose results all lanes need, searchFar() is 4 to 9 % longer
// (CUDA 13.0, sm_90).
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

//! Search of one pixel, equal in all lanes of a warp but for `best`.
template <typename Colour> struct Seeker
{
    int x, y, index;
    uint32_t key;
    Colour colour;
    Candidate best;
};

//! Evaluates the pixels of one cell, two per lane.
template <typename Colours, typename Task>
__device__ __forceinline__ void evaluateCell(const Task& task, const Colours& colours, size_t base, int cellX,
                                             int cellY, Seeker<typename Colours::Colour>& s)
{
    const auto& p = task.parameters;
    for (int i = threadIdx.x % 32; i < CELL * CELL; i += 32)
    {
        const int x = cellX * CELL + i % CELL, y = cellY * CELL + i / CELL, dx = x - s.x, dy = y - s.y;
        if (x >= task.extent.cols || y >= task.extent.rows || ::max(::abs(dx), ::abs(dy)) > p.searchRadius)
            continue;
        const int j = y * task.extent.cols + x;
        if (!isHigher(task.keys[base + j], j, s.key, s.index, p.strict))
            continue;
        const float d =
            squaredDistance(Colours::distance(s.colour, colours.load(j), p), p.colorWeight, dx * dx + dy * dy);
        if (isBetter(d, j, s.best))
            s.best = {d, j};
    }
}

//! Searches outside of tiles: step 4.
template <typename Colours, typename Task>
__global__ void __launch_bounds__(tuning::FAR_THREADS) searchFar(const Task task)
{
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    const Extent& e = task.extent;
    const auto& p = task.parameters;
    const int cellCols = detail::ceilDiv(e.cols, CELL), cellRows = detail::ceilDiv(e.rows, CELL);
    const int lane = threadIdx.x % 32, warps = gridDim.x * (tuning::FAR_THREADS / 32), count = *task.far.count;
    for (int entry = (blockIdx.x * tuning::FAR_THREADS + threadIdx.x) / 32; entry < count; entry += warps)
    {
        const int at = task.far.pixels[entry], image = at / e.pixels();
        const size_t base = static_cast<size_t>(image) * e.pixels();
        const Colours colours(task.features, base, e.pixels());
        const uint32_t* cells = task.cells + static_cast<size_t>(image) * cellCols * cellRows;
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
            const int gap = r == 0 ? 0 : (r - 1) * CELL + 1; // lower bound on the distance of this ring of cells
            if (gap > p.searchRadius || static_cast<float>(gap) * static_cast<float>(gap) > least)
                break;
            const int size = r == 0 ? 1 : 8 * r;
            for (int first = 0; first < size; first += 32)
            {
                const int2 offset = ringCell(r, ::min(first + lane, size - 1));
                const int x = cx + offset.x, y = cy + offset.y;
                bool visited = first + lane < size && x >= 0 && x < cellCols && y >= 0 && y < cellRows;
                if (visited)
                {
                    const uint32_t best = cells[y * cellCols + x];
                    const int gx = gapTo(s.x, x * CELL), gy = gapTo(s.y, y * CELL);
                    visited = (best > s.key || (!p.strict && best == s.key)) && ::max(gx, gy) <= p.searchRadius &&
                              static_cast<float>(gx * gx + gy * gy) <= least;
                }
                for (unsigned left = __ballot_sync(0xffffffffu, visited); left != 0; left &= left - 1)
                {
                    const int from = __ffs(left) - 1;
                    evaluateCell(task, colours, base, __shfl_sync(0xffffffffu, x, from),
                                 __shfl_sync(0xffffffffu, y, from), s);
                }
            }
            least = detail::leastOfWarp(s.best.d);
        }
        s.best = bestOfWarp(s.best);
        if (lane == 0)
            writeParent(task, at, s.index, s.best);
    }
}

// --- bands: more than FEW_CHANNELS -----------------------------------------------------------------------------------

/** Searches as searchNear() does, but without tiles, which so many channels would make too large: a thread visits the
offsets around a pixel in order. Colours are read of denser neighbours only. */
template <typename Colours> __global__ void __launch_bounds__(THREADS) searchNearBands(const BandTask task)
{
    detail::waitForKernelBefore();
    detail::letNextKernelBegin();
    const Extent& e = task.extent;
    const Parameters& p = task.parameters;
    const PixelPlace pixel(e);
    if (!pixel.inside)
        return;
    const int x = pixel.x, y = pixel.y, index = y * e.cols + x;
    const size_t base = pixel.at - index;
    const uint32_t key = task.keys[base + index];
    if (key == 0)
    {
        task.parents[base + index] = -1;
        task.distances[base + index] = INFINITY;
        return;
    }
    const Colours colours(task.features, base, e.pixels());
    const typename Colours::Colour own = colours.load(index);
    Candidate best = {p.reach, NO_PARENT};
    const int end = p.searchRadius <= REACH ? OFFSETS : WHOLE_DISC;
    for (int k = 0; k < end && static_cast<float>(PackedOffsets::ds(PACKED.entry[k])) <= best.d; ++k)
    {
        const uint32_t packed = PACKED.entry[k], code = PackedOffsets::code(packed);
        const int u = x + dxOf(code), v = y + dyOf(code), j = v * e.cols + u;
        if (u < 0 || u >= e.cols || v < 0 || v >= e.rows || PackedOffsets::radius(packed) > p.searchRadius ||
            !isHigher(task.keys[base + j], j, key, index, p.strict))
            continue;
        const float d =
            squaredDistance(Colours::distance(own, colours.load(j), p), p.colorWeight, PackedOffsets::ds(packed));
        if (isBetter(d, j, best))
            best = {d, j};
    }
    if (p.searchRadius <= REACH || static_cast<float>((REACH + 1) * (REACH + 1)) > best.d)
        return writeParent(task, base + index, index, best);
    task.parents[base + index] = best.index;
    task.distances[base + index] = best.d;
    task.far.pixels[atomicAdd(task.far.count, 1)] = static_cast<int>(base) + index;
}

// --- launches --------------------------------------------------------------------------------------------------------

template <typename Colours, typename Task> void searchBeyondTiles(const Task& task, cudaStream_t stream)
{
    if (task.parameters.searchRadius > REACH)
        detail::launchEarly("quick shift far parents", searchFar<Colours, Task>, dim3(tuning::FAR_BLOCKS),
                            dim3(tuning::FAR_THREADS), 0, stream, task);
}

template <bool WEIGHTED> void searchBands(const BandTask& task, cudaStream_t stream)
{
    typedef PlaneColours<MAX_CHANNELS, WEIGHTED> Colours;
    detail::launchEarly("quick shift near parents", searchNearBands<Colours>, gridOf(task.extent), BLOCK, 0, stream,
                        task);
    searchBeyondTiles<Colours>(task, stream);
}

template <typename Colours, typename Shape, int... PASSES> void search(const ParentTask& task, cudaStream_t stream)
{
    static_assert(sizeof(SearchTile<Colours, Shape>) <= detail::LEAST_SHARED_BYTES,
                  "must fit the shared memory of a block on every device");
    detail::launchEarly("quick shift near parents", searchNear<Colours, Shape, PASSES...>,
                        gridOf(task.extent, Shape::COLS, Shape::ROWS), dim3(Shape::THREADS),
                        sizeof(SearchTile<Colours, Shape>), stream, task);
    searchBeyondTiles<Colours>(task, stream);
}

//! Searches words: with small blocks where large ones would be too few to fill the device.
void searchBytes(const ParentTask& task, cudaStream_t stream)
{
    const dim3 grid = gridOf(task.extent, ByteSearch::COLS, ByteSearch::ROWS);
    const int64_t blocks = static_cast<int64_t>(grid.x) * grid.y;
    if (blocks < static_cast<int64_t>(tuning::BYTE_SMALL_SEARCH) * detail::multiprocessors())
        search<ByteColours, SmallByteSearch, 44, 100, 196>(task, stream);
    else
        search<ByteColours, ByteSearch, 44, 100, 196>(task, stream);
}

template <int CHANNELS, bool WEIGHTED = false> void searchPlanes(const ParentTask& task, cudaStream_t stream)
{
    search<PlaneColours<CHANNELS, WEIGHTED>, PlaneSearch, 36, 60>(task, stream);
}

void searchAs(const ParentTask& task, bool weighted, cudaStream_t stream)
{
    const auto run = [&](auto n)
    { weighted ? searchPlanes<n.value, true>(task, stream) : searchPlanes<n.value, false>(task, stream); };
    if (task.features.words)
        searchBytes(task, stream);
    else if (task.features.channels == 1)
        searchPlanes<1>(task, stream);
    else
        detail::forNumber<2, 3, 4>(task.features.channels, run);
}

} // namespace

void parents(const Features& features, const Extent& extent, const Parameters& parameters, const uint32_t* keys,
             const uint32_t* cells, const Worklist& far, int* parents, float* distances, StreamHandle stream)
{
    SearchParameters p = {parameters.searchRadius, parameters.colorWeight, parameters.reach, parameters.strict, {}};
    for (int k = 0; k < FEW_CHANNELS; ++k)
        p.factors[k] = parameters.factors[k];
    const auto taskWith = [&](const auto& used) -> ParentTaskWith<std::decay_t<decltype(used)>>
    { return {features, extent, used, keys, cells, far, parents, distances}; };
    if (features.channels <= FEW_CHANNELS)
        searchAs(taskWith(p), parameters.weighted, stream);
    else if (parameters.weighted)
        searchBands<true>(taskWith(parameters), stream);
    else
        searchBands<false>(taskWith(parameters), stream);
}

}}}} // namespace cv::cuda::quick_shift::gpu
