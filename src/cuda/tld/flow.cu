// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// flow: tracks the points of a box, and moves the box by their medians.
//
//   trackPoints   one point per warp, forward and backward through all levels; a lane has up to four pixels of the window in
//                 registers
//   medianFlow    one object per block: medians of points by counting smaller values, the median of pairs by radix selection
//
// Cost: some 60 dependent steps per point of some 300 cycles each. Bound by latency, as 100 warps are few.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

const int LEAST_WIDE = MAX_FLOW_WINDOW + 2;

//! A level of a pyramid.
struct LevelView
{
    const uint8_t* data;
    int step, cols, rows;
};
__device__ __forceinline__ LevelView levelOf(const Batch& batch, int slot, int level)
{
    return {batch.level(slot, level), batch.levels.step[level], batch.levels.cols[level], batch.levels.rows[level]};
}

//! Blends the pixel at (x, y) with its neighbours. Positions outside of a level take its outer pixels.
__device__ __forceinline__ int blendedAt(const LevelView& level, const Blend& weights, int x, int y)
{
    const int x0 = ::min(::max(x, 0), level.cols - 1), x1 = ::min(::max(x + 1, 0), level.cols - 1);
    const int y0 = ::min(::max(y, 0), level.rows - 1), y1 = ::min(::max(y + 1, 0), level.rows - 1);
    const uint8_t *const a = level.data + y0 * level.step, *const b = level.data + y1 * level.step;
    return blended(weights, a[x0], a[x1], b[x0], b[x1]);
}
__device__ __forceinline__ bool isInside(const LevelView& level, int x, int y, int size)
{
    return x >= 0 && y >= 0 && x + size < level.cols && y + size < level.rows;
}

//! Sums of a warp over pixels for trackPoint(). @tparam WINDOW side of the window; 0: that of the settings.
template <int WINDOW> class WarpSums
{
public:
    __device__ WarpSums(const Batch& batch, int from, int to, int16_t* pixels)
        : batch_(batch), from_(from), to_(to), pixels_(pixels), there_()
    {
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            // Lanes without a pixel read the last pixel again, with gradients of 0.
            const int k = lesser(static_cast<int>(threadIdx.x & 31) + 32 * n, window() * window() - 1);
            x_[n] = k % window();
            y_[n] = k / window();
        }
    }

    __device__ Normal normalAt(int level, const Point& corner)
    {
        const LevelView view = levelOf(batch_, from_, level);
        there_ = levelOf(batch_, to_, level);
        const int wide = window() + 2, x0 = (corner.x >> 16) - 1, y0 = (corner.y >> 16) - 1;
        const Blend weights = blendOf(corner.x, corner.y);
        __syncwarp(); // pixels of the level before were read
        if (isInside(view, x0, y0, wide))
            fill(wide,
                 [&](int i, int j)
                 {
                     const uint8_t *const a = view.data + ((y0 + j) * view.step + x0 + i), *const b = a + view.step;
                     return blended(weights, a[0], a[1], b[0], b[1]);
                 });
        else
            fill(wide, [&](int i, int j) { return blendedAt(view, weights, x0 + i, y0 + j); });
        __syncwarp(); // pixels
        int xx = 0, xy = 0, yy = 0;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            here_[n] = gx_[n] = gy_[n] = 0;
            offset_[n] = static_cast<unsigned>(y_[n] * there_.step + x_[n]);
            if (!has(n))
                continue;
            const int16_t* const p = pixels_ + (y_[n] + 1) * wide + x_[n] + 1;
            here_[n] = *p;
            gx_[n] = gradientOf(p[1 - wide] - p[-1 - wide], p[1] - p[-1], p[1 + wide] - p[wide - 1]);
            gy_[n] = gradientOf(p[wide - 1] - p[-1 - wide], p[wide] - p[-wide], p[wide + 1] - p[1 - wide]);
            xx += gx_[n] * gx_[n];
            xy += gx_[n] * gy_[n];
            yy += gy_[n] * gy_[n];
        }
        return {sumOfWarp(xx), sumOfWarp(xy), sumOfWarp(yy)};
    }
    //! Kept short, as each step waits for the one before. Usually all pixels are inside, and addresses need no clamping.
    __device__ Change changeAt(int, const Point& corner)
    {
        const int x0 = corner.x >> 16, y0 = corner.y >> 16;
        const Blend weights = blendOf(corner.x, corner.y);
        int there[PIXELS];
        if (isInside(there_, x0, y0, window()))
        {
            const uint8_t* const first = there_.data + (y0 * there_.step + x0);
#pragma unroll
            for (int n = 0; n < PIXELS; ++n)
            {
                const uint8_t *const a = first + offset_[n], *const b = a + there_.step;
                there[n] = blended(weights, a[0], a[1], b[0], b[1]);
            }
        }
        else
        {
#pragma unroll
            for (int n = 0; n < PIXELS; ++n)
                there[n] = blendedAt(there_, weights, x0 + x_[n], y0 + y_[n]);
        }
        int x = 0, y = 0;
#pragma unroll
        for (int n = 0; n < PIXELS; ++n)
        {
            x += gx_[n] * (there[n] - here_[n]);
            y += gy_[n] * (there[n] - here_[n]);
        }
        return {sumOfWarp(x), sumOfWarp(y)};
    }

private:
    static const int LARGEST = WINDOW ? WINDOW : MAX_FLOW_WINDOW, PIXELS = detail::ceilDiv(LARGEST * LARGEST, 32),
                     WIDE_PIXELS = detail::ceilDiv((LARGEST + 2) * (LARGEST + 2), 32);

    //! Fills the window with a border of a pixel.
    template <typename At> __device__ __forceinline__ void fill(int wide, const At& at)
    {
        int values[WIDE_PIXELS];
#pragma unroll
        for (int n = 0; n < WIDE_PIXELS; ++n)
        {
            const int k = lesser(static_cast<int>(threadIdx.x & 31) + 32 * n, wide * wide - 1);
            values[n] = at(k % wide, k / wide);
        }
#pragma unroll
        for (int n = 0; n < WIDE_PIXELS; ++n)
        {
            const int k = static_cast<int>(threadIdx.x & 31) + 32 * n;
            if (k < wide * wide)
                pixels_[k] = static_cast<int16_t>(values[n]);
        }
    }
    __device__ int window() const { return WINDOW ? WINDOW : batch_.settings.flowWindow; }
    __device__ bool has(int n) const { return static_cast<int>(threadIdx.x & 31) + 32 * n < window() * window(); }

    const Batch& batch_;
    int from_, to_;
    int16_t* pixels_;
    LevelView there_;
    int x_[PIXELS], y_[PIXELS];
    unsigned offset_[PIXELS]; //!< from the first pixel of the window, in the other image
    int here_[PIXELS], gx_[PIXELS], gy_[PIXELS];
};

//! Returns the NCC of the patches around two points to all lanes.
__device__ __forceinline__ double compareAt(const Batch& batch, int before, const Point& from, int now, const Point& to)
{
    const Point a = patchCorner(from), b = patchCorner(to);
    const Blend weightsA = blendOf(a.x, a.y), weightsB = blendOf(b.x, b.y);
    const LevelView viewA = levelOf(batch, before, 0), viewB = levelOf(batch, now, 0);
    int sumA = 0, sumB = 0, squaresA = 0, squaresB = 0, products = 0;
    for (int k = threadIdx.x & 31; k < FLOW_PATCH * FLOW_PATCH; k += 32)
    {
        const int i = k % FLOW_PATCH, j = k / FLOW_PATCH;
        const int pa = blendedAt(viewA, weightsA, (a.x >> 16) + i, (a.y >> 16) + j);
        const int pb = blendedAt(viewB, weightsB, (b.x >> 16) + i, (b.y >> 16) + j);
        sumA += pa;
        sumB += pb;
        squaresA += pa * pa;
        squaresB += pb * pb;
        products += pa * pb;
    }
    return pointNcc(sumOfWarp(sumA), sumOfWarp(sumB), sumOfWarp(squaresA), sumOfWarp(squaresB), sumOfWarp(products));
}

template <int WINDOW>
__global__ void __launch_bounds__(32 * tuning::FLOW_WARPS) trackPoints(const __grid_constant__ Batch batch)
{
    __shared__ int16_t pixels[tuning::FLOW_WARPS][LEAST_WIDE * LEAST_WIDE];
    const ObjectRecord& object = batch.objects[blockIdx.y];
    const int warp = threadIdx.x >> 5, i = static_cast<int>(blockIdx.x) * tuning::FLOW_WARPS + warp;
    ObjectState state = object.live->states[object.live->current];
    const FlowTask task = beginFrame(state);
    if (task.age == 0 || i >= FLOW_POINTS)
        return;
    const int before = batch.ring->slot[task.age == START ? START : task.age - 1], now = batch.ring->slot[SPARE];
    const FlowParameters parameters = flowParametersOf(batch.settings, batch.levels.count, batch.cols, batch.rows);
    TrackedPoint p = {};
    p.from = pointOf(task.box, i);
    WarpSums<WINDOW> there(batch, before, now, pixels[warp]);
    p.found = trackPoint(parameters, p.from, p.from, there, p.to);
    if (p.found)
    {
        Point end;
        WarpSums<WINDOW> back(batch, now, before, pixels[warp]);
        p.found = trackPoint(parameters, p.to, p.from, back, end);
        if (p.found)
        {
            p.error = squaredDistance(p.from, end);
            p.ncc = compareAt(batch, before, p.from, now, p.to);
        }
    }
    if ((threadIdx.x & 31) == 0)
        object.trackedPoints[i] = p;
}

// --- medians ---------------------------------------------------------------------------------------------------------

const int GROUP = 128;
static_assert(GROUP >= FLOW_POINTS && 2 * GROUP <= tuning::MOTION_THREADS, "a point per thread");

struct MotionMemory
{
    TrackedPoint points[FLOW_POINTS];
    TrackedPoint kept[FLOW_POINTS];
    int64_t errors[FLOW_POINTS];
    double nccs[FLOW_POINTS];
    int32_t shifts[2][FLOW_POINTS];
    int64_t lowerError, upperError;
    double lowerNcc, upperNcc;
    int32_t lowerShift[2], upperShift[2];
    uint32_t keys[FLOW_PAIRS];
    unsigned histogram[256];
    int found, keptCount, pairs;
    uint32_t prefix, rank, lowerKey, upperKey, atMost;
};

//! Finds values count / 2 and (count - 1) / 2 in ascending order. @param count above 0. @param i thread of a group.
template <typename T> __device__ __forceinline__ void middles(const T* values, int count, int i, T& lower, T& upper)
{
    if (i >= count)
        return;
    const T own = values[i];
    int less = 0;
#pragma unroll 4
    for (int j = 0; j < count; ++j)
        less += values[j] < own || (values[j] == own && j < i) ? 1 : 0;
    if (less == count / 2)
        upper = own;
    if (less == (count - 1) / 2)
        lower = own;
}

//! Finds the key of a rank by digits of 8 bits, and writes m.prefix. Ends with a barrier.
__device__ __forceinline__ void selectKey(MotionMemory& m, int count, int rank)
{
    if (threadIdx.x == 0)
    {
        m.prefix = 0;
        m.rank = static_cast<uint32_t>(rank);
    }
    for (int shift = 24; shift >= 0; shift -= 8)
    {
        for (int k = threadIdx.x; k < 256; k += tuning::MOTION_THREADS)
            m.histogram[k] = 0;
        __syncthreads(); // zeros, prefix
        const uint32_t prefix = m.prefix;
        for (int k = threadIdx.x; k < count; k += tuning::MOTION_THREADS)
            if (shift == 24 || m.keys[k] >> (shift + 8) == prefix)
                atomicAdd(&m.histogram[m.keys[k] >> shift & 255u], 1u);
        __syncthreads(); // counts
        if (threadIdx.x < 32)
        {
            unsigned own[8], sum = 0;
            for (int k = 0; k < 8; ++k)
                sum += own[k] = m.histogram[8 * threadIdx.x + k];
            unsigned before = sum;
            for (int d = 1; d < 32; d *= 2)
            {
                const unsigned other = __shfl_up_sync(WARP, before, d);
                before += threadIdx.x >= static_cast<unsigned>(d) ? other : 0;
            }
            before -= sum;
            const unsigned wanted = m.rank;
            __syncwarp(); // all lanes know the rank
            for (int k = 0; k < 8; before += own[k++])
                if (wanted >= before && wanted < before + own[k])
                {
                    m.prefix = prefix << 8 | (8 * threadIdx.x + k);
                    m.rank = wanted - before;
                }
        }
        __syncthreads(); // prefix, rank
    }
}

//! Returns the median of the ratios of all pairs of kept points.
__device__ __forceinline__ double scaleOfPairs(MotionMemory& m)
{
    const int kept = m.keptCount;
    for (int k = threadIdx.x; k < kept * kept; k += tuning::MOTION_THREADS)
    {
        const int i = k / kept, j = k % kept;
        if (i >= j)
            continue;
        const int64_t before = squaredDistance(m.kept[i].from, m.kept[j].from);
        if (before > 0)
            m.keys[atomicAdd(&m.pairs, 1)] = ratioKey(before, squaredDistance(m.kept[i].to, m.kept[j].to));
    }
    __syncthreads(); // keys
    const int pairs = m.pairs;
    if (pairs == 0)
        return 1.;
    selectKey(m, pairs, (pairs - 1) / 2);
    const uint32_t lower = m.prefix;
    if (threadIdx.x == 0)
    {
        m.atMost = 0;
        m.upperKey = 0xffffffffu;
    }
    __syncthreads(); // beginnings
    for (int k = threadIdx.x; k < pairs; k += tuning::MOTION_THREADS)
        if (m.keys[k] <= lower)
            atomicAdd(&m.atMost, 1u);
        else
            atomicMin(&m.upperKey, m.keys[k]);
    __syncthreads(); // the next larger key, and its rank
    const uint32_t upper = static_cast<uint32_t>(pairs / 2) < m.atMost ? lower : m.upperKey;
    return scaleOfKeys(lower, upper);
}

//! Computes the motion of a box. Two groups of threads find two medians at a time.
__device__ __forceinline__ Motion motionOf(MotionMemory& m)
{
    Motion motion = {0, 0., 0., 0., 1.};
    const int t = threadIdx.x, group = t / GROUP, i = t % GROUP;
    // Compacts the found points; their order has no effect.
    if (t < FLOW_POINTS && m.points[t].found)
    {
        const int at = atomicAdd(&m.found, 1);
        m.errors[at] = m.points[t].error;
        m.nccs[at] = m.points[t].ncc;
    }
    __syncthreads(); // found points
    if (m.found == 0)
        return motion;
    if (group == 0)
        middles(m.errors, m.found, i, m.lowerError, m.upperError);
    else if (group == 1)
        middles(m.nccs, m.found, i, m.lowerNcc, m.upperNcc);
    __syncthreads(); // both medians
    motion.error = medianError(m.lowerError, m.upperError);
    const double ncc = (m.lowerNcc + m.upperNcc) * 0.5;
    if (t < FLOW_POINTS && isKept(m.points[t], motion.error, ncc))
    {
        const TrackedPoint& p = m.points[t];
        const int at = atomicAdd(&m.keptCount, 1);
        m.kept[at] = p;
        m.shifts[0][at] = p.to.x - p.from.x;
        m.shifts[1][at] = p.to.y - p.from.y;
    }
    __syncthreads(); // kept points
    motion.kept = m.keptCount;
    if (motion.kept == 0)
        return motion;
    if (group < 2)
        middles(m.shifts[group], motion.kept, i, m.lowerShift[group], m.upperShift[group]);
    motion.scale = scaleOfPairs(m); // contains barriers
    __syncthreads();                // shifts, if there are no pairs
    motion.dx = shiftOf(m.lowerShift[0], m.upperShift[0]);
    motion.dy = shiftOf(m.lowerShift[1], m.upperShift[1]);
    return motion;
}

__global__ void __launch_bounds__(tuning::MOTION_THREADS) medianFlow(const __grid_constant__ Batch batch)
{
    extern __shared__ unsigned char memory[];
    MotionMemory& m = *reinterpret_cast<MotionMemory*>(memory);
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    ObjectState state = live.states[live.current];
    const FlowTask task = beginFrame(state);
    if (task.age != 0)
    {
        if (threadIdx.x == 0)
            m.found = m.keptCount = m.pairs = 0;
        if (threadIdx.x < FLOW_POINTS)
            m.points[threadIdx.x] = object.trackedPoints[threadIdx.x];
        __syncthreads(); // points, zeros
        const Motion all = motionOf(m);
        endFlow(state, task, all, batch.settings, batch.cols, batch.rows);
    }
    if (threadIdx.x == 0)
        live.states[1 - live.current] = state;
}

} // namespace

void flow(const Batch& batch, detail::StreamHandle stream)
{
    const dim3 grid(detail::ceilDiv(FLOW_POINTS, tuning::FLOW_WARPS), batch.count), block(32 * tuning::FLOW_WARPS);
    detail::launch("tld flow", batch.settings.flowWindow == 9 ? trackPoints<9> : trackPoints<0>, grid, block, 0, stream,
                   batch);
    detail::launch("tld median flow", medianFlow, dim3(batch.count), dim3(tuning::MOTION_THREADS), sizeof(MotionMemory),
                   stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
