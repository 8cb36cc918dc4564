// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// flow: tracks the points of a box, and moves the box by their medians.
//
//   trackPoints         one point per warp, forward and backward through all levels; a lane has up to four pixels of
//                       the window in registers. Further blocks copy the model for learning, so that no later kernel
//                       has to
//   trackPointsByTeams  the same for few objects: a point per block, which has a warp per level. Each warp prepares the
//                       window of its level and copies what is around it to shared memory, and the first one tracks
//   secondPlaces        one object per block: median of the forward tracks, where the filter looks too
//   medianFlow          one object per block: medians of points by counting smaller values, the median of pairs by
//                       radix selection
//
// With the filter, few objects have a launch of their own for the forward tracks, so that it looks at the second place
// while the points are tracked backward.
//
// Cost: the slowest point takes some 80 steps on 10 levels, forward and backward; a step waits for the one before.
// Bound by latency, as 100 warps are few.
#include "filter_place.hpp"
#include "filter_steps.hpp"
#include "flow_team.hpp"
#include "models.hpp"
#include "../../common/warp_scan.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

//! The flow of an object in this frame, except what pyramid() has not written yet.
struct Flow
{
    FlowTask task;
    int before, now; //!< slots of the images
    FlowParameters parameters;

    __device__ __forceinline__ Flow(const Batch& batch, const ObjectRecord& object)
    {
        ObjectState state = object.live->states[object.live->current];
        task = beginFrame(state);
        before = task.age != 0 ? batch.ring->slot[task.age == START ? START : task.age - 1] : 0;
        now = batch.ring->slot[SPARE];
        parameters = flowParametersOf(batch.settings, batch.levels.count, batch.cols, batch.rows);
    }
};

//! Lets blocks copy the model, if they are not for points. @return whether this is one.
__device__ __forceinline__ bool copiesModel(const ObjectRecord& object)
{
    if (blockIdx.z == 0)
        return false;
    copyModelPart(object, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
    beginEarly();
    return true;
}

template <int WINDOW>
__global__ void __launch_bounds__(32 * tuning::FLOW_WARPS) trackPoints(const __grid_constant__ Batch batch)
{
    __shared__ int16_t pixels[tuning::FLOW_WARPS][LEAST_WIDE * LEAST_WIDE];
    const ObjectRecord& object = batch.objects[blockIdx.y];
    if (copiesModel(object))
        return;
    const int warp = threadIdx.x >> 5, i = static_cast<int>(blockIdx.x) * tuning::FLOW_WARPS + warp;
    const Flow flow(batch, object);
    beginEarly();
    if (flow.task.age == 0 || i >= FLOW_POINTS)
        return;
    TrackedPoint p = {};
    p.from = pointOf(flow.task.box, i);
    WarpSums<WINDOW> there(batch, flow.before, flow.now, pixels[warp]);
    p.ahead = trackPoint(flow.parameters, p.from, p.from, there, p.to);
    if (p.ahead)
    {
        Point end;
        WarpSums<WINDOW> back(batch, flow.now, flow.before, pixels[warp]);
        p.found = trackPoint(flow.parameters, p.to, p.from, back, end);
        if (p.found)
        {
            p.error = squaredDistance(p.from, end);
            p.ncc = compareAt(batch, flow.before, p.from, flow.now, p.to);
        }
    }
    if ((threadIdx.x & 31) == 0)
        object.trackedPoints[i] = p;
}

template <int WINDOW> struct TeamMemory
{
    PreparedWindow<WINDOW> windows[MAX_LEVELS];
    Surroundings before[MAX_LEVELS], now[MAX_LEVELS];
    int16_t pixels[MAX_LEVELS][LEAST_WIDE * LEAST_WIDE];
    TrackedPoint point;
};

//! Tracks a point by as many warps as there are levels: TeamMemory::point. @return whether it was not lost. What it
//! needs of the earlier image is copied before this one is complete. Ends with a barrier.
template <int WINDOW, FlowPart PART>
__device__ __forceinline__ bool trackForward(const Batch& batch, const Flow& flow, const Point& from,
                                             TeamMemory<WINDOW>& m)
{
    const int level = threadIdx.x >> 5, half = flow.parameters.window / 2 * 65536;
    const Point corner = cornerAt(from, level, half);
    TeamSums<WINDOW> there(batch, flow.now, m.pixels[level], m.windows, m.now);
    if (flow.task.age != 0)
    {
        m.before[level].copy(levelOf(batch, flow.before, level), corner, flow.parameters.window);
        __syncwarp(); // the surroundings
        there.prepare(flow.before, level, corner, m.before[level], m.windows[level]);
    }
    if (PART == REST_OF_FLOW)
        detail::letNextKernelBegin();
    else
        beginEarly();
    if (flow.task.age == 0)
        return false;
    m.now[level].copy(levelOf(batch, flow.now, level), corner, flow.parameters.window);
    __syncthreads(); // windows and surroundings
    if (level == 0)
    {
        Point to = {};
        const bool ahead = trackPoint(flow.parameters, from, from, there, to);
        if (threadIdx.x == 0)
            m.point = {from, to, ahead, 0, 0, 0.};
    }
    __syncthreads(); // the end of the track; windows are free again
    return m.point.ahead != 0;
}

//! Tracks a point back from `to`, into TeamMemory::point. Ends with a barrier.
template <int WINDOW>
__device__ __forceinline__ void trackBackward(const Batch& batch, const Flow& flow, const Point& from, const Point& to,
                                              TeamMemory<WINDOW>& m)
{
    const int level = threadIdx.x >> 5, half = flow.parameters.window / 2 * 65536;
    TeamSums<WINDOW> back(batch, flow.before, m.pixels[level], m.windows, m.before);
    back.prepare(flow.now, level, cornerAt(to, level, half), m.now[level], m.windows[level]);
    __syncthreads(); // windows of this image; all know that the point was found
    if (level == 0)
    {
        Point end;
        const bool found = trackPoint(flow.parameters, to, from, back, end);
        if (threadIdx.x == 0)
        {
            m.point.found = found;
            m.point.error = found ? squaredDistance(from, end) : 0;
        }
    }
    if (level == (blockDim.x > 32 ? 1 : 0)) // concurrently with the track
    {
        const double ncc = compareAt(batch, flow.before, from, flow.now, to);
        if ((threadIdx.x & 31) == 0)
            m.point.ncc = ncc;
    }
    __syncthreads(); // the point
}

/** Tracks points. FORWARD_TRACKS finds where they go, for the filter. REST_OF_FLOW begins while that runs, and tracks
them forward, too. It needs nothing of it but that the pyramid is complete: for that all blocks have waited before they
let this kernel begin. To wait for the tracks would take longer than to find them again. */
template <int WINDOW, FlowPart PART>
__global__ void __launch_bounds__(32 * MAX_LEVELS) trackPointsByTeams(const __grid_constant__ Batch batch)
{
    __shared__ TeamMemory<WINDOW> m;
    const ObjectRecord& object = batch.objects[blockIdx.y];
    if (copiesModel(object))
        return;
    const Flow flow(batch, object);
    const Point from = pointOf(flow.task.box, blockIdx.x);
    const bool ahead = trackForward<WINDOW, PART>(batch, flow, from, m);
    if (flow.task.age != 0 && PART != FORWARD_TRACKS && ahead)
        trackBackward(batch, flow, from, Point(m.point.to), m);
    if (PART == REST_OF_FLOW)
        detail::waitForKernelBefore(); // it ends first: who waits for this kernel has waited for both
    if (threadIdx.x == 0 && flow.task.age != 0)
        object.trackedPoints[blockIdx.x + (PART == FORWARD_TRACKS ? FLOW_POINTS : 0)] = {
            from, m.point.to, m.point.ahead, m.point.found, m.point.error, m.point.found ? m.point.ncc : 0.};
}

// --- medians ---------------------------------------------------------------------------------------------------------

const int GROUP = 256; //!< threads per median
static_assert(GROUP >= 2 * FLOW_POINTS && 2 * GROUP <= tuning::MOTION_THREADS, "a point per pair of threads");

const int DIGIT = 11; //!< bits of a digit of a key
const int MOTION_WARPS = tuning::MOTION_THREADS / 32, BINS_OF_THREAD = (1 << DIGIT) / tuning::MOTION_THREADS;

//! Maps doubles to integers in the same order, as they are compared faster.
__device__ __forceinline__ int64_t orderedBits(double value)
{
    const int64_t bits = __double_as_longlong(value);
    return bits ^ (bits >> 63 & INT64_MAX);
}
__device__ __forceinline__ double fromOrderedBits(int64_t ordered)
{
    return __longlong_as_double(ordered ^ (ordered >> 63 & INT64_MAX));
}

struct MotionMemory
{
    ObjectState state;
    FlowTask task;
    TrackedPoint points[FLOW_POINTS];
    TrackedPoint kept[FLOW_POINTS];
    int64_t errors[FLOW_POINTS];
    int64_t nccs[FLOW_POINTS]; //!< see orderedBits()
    int32_t shifts[2][FLOW_POINTS];
    int64_t lowerError, upperError, lowerNcc, upperNcc;
    int32_t lowerShift[2], upperShift[2];
    uint32_t keys[FLOW_PAIRS];
    unsigned histogram[1 << DIGIT]; //!< of a digit of the keys
    unsigned sums[MOTION_WARPS];    //!< of a warp's part of the histogram
    int found, keptCount, pairs;
    uint32_t prefix, rank, lowerKey, upperKey, atMost;
};
static_assert(sizeof(MotionMemory) <= detail::LEAST_SHARED_BYTES, "fits into the shared memory of every device");

//! Finds values count / 2 and (count - 1) / 2 in ascending order. Two threads compare a value with half of the others
//! each; of equal ones the first is less. @param values less than the largest T. @param count above 0. @param thread of
//! a group.
template <typename T>
__device__ __forceinline__ void middles(const T* values, int count, int thread, T& lower, T& upper)
{
    const int i = ::min(thread / 2, count - 1);
    const T own = values[i];
    int less = 0;
#pragma unroll 4
    for (int j = thread % 2; j < count; j += 2)
        less += values[j] < own + (j < i ? 1 : 0) ? 1 : 0;
    less += __shfl_xor_sync(ALL_LANES, less, 1);
    if (thread % 2 != 0 || thread / 2 >= count)
        return;
    if (less == count / 2)
        upper = own;
    if (less == (count - 1) / 2)
        lower = own;
}

//! Finds the key of a rank by its digits, the highest first, and writes m.prefix. Ends with a barrier.
__device__ __forceinline__ void selectKey(MotionMemory& m, int count, int rank)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = BINS_OF_THREAD * static_cast<int>(threadIdx.x);
    uint32_t prefix = 0;
    unsigned wanted = static_cast<unsigned>(rank);
    for (int end = 32; end > 0; end -= DIGIT)
    {
        const int shift = ::max(0, end - DIGIT), bits = end - shift; // the last digit has fewer
#pragma unroll
        for (int k = 0; k < BINS_OF_THREAD; ++k)
            m.histogram[first + k] = 0;
        __syncthreads(); // zeros
        // Ratios are close to each other, so that most keys of a warp count in one place.
        for (int k = threadIdx.x; (k & ~31) < count; k += tuning::MOTION_THREADS)
        {
            const uint32_t key = m.keys[::min(k, count - 1)], digit = key >> shift & ((1u << bits) - 1);
            const bool counts = k < count && (end == 32 || key >> end == prefix);
            const unsigned all = __ballot_sync(ALL_LANES, counts);
            if (!counts)
                continue;
            const unsigned same = __match_any_sync(all, digit);
            if ((same & ((1u << lane) - 1)) == 0)
                atomicAdd(&m.histogram[digit], static_cast<unsigned>(__popc(same)));
        }
        __syncthreads(); // counts
        unsigned own[BINS_OF_THREAD], sum = 0;
#pragma unroll
        for (int k = 0; k < BINS_OF_THREAD; ++k)
            sum += own[k] = m.histogram[first + k];
        const unsigned upTo = detail::sumUpToLane(sum);
        if (lane == 31)
            m.sums[warp] = upTo;
        __syncthreads(); // sums of all warps
        unsigned before =
            upTo - sum + static_cast<unsigned>(sumOfWarp(lane < warp ? static_cast<int>(m.sums[lane]) : 0));
#pragma unroll
        for (int k = 0; k < BINS_OF_THREAD; before += own[k++])
            if (wanted >= before && wanted < before + own[k])
            {
                m.prefix = prefix << bits | static_cast<uint32_t>(first + k);
                m.rank = wanted - before;
            }
        __syncthreads(); // prefix, rank
        prefix = m.prefix;
        wanted = m.rank;
    }
}

//! Returns the median of the ratios of all pairs of kept points.
__device__ __forceinline__ double scaleOfPairs(MotionMemory& m)
{
    // Pair k are the points i and i + d modulo their number, where d is k / kept + 1.
    const int kept = m.keptCount, most = kept * (kept - 1) / 2, lane = threadIdx.x & 31;
    for (int k = threadIdx.x; (k & ~31) < most; k += tuning::MOTION_THREADS)
    {
        const int d = k / kept + 1, i = k - (d - 1) * kept, j = i + d < kept ? i + d : i + d - kept;
        const int64_t before = k < most ? squaredDistance(m.kept[i].from, m.kept[j].from) : 0;
        const unsigned all = __ballot_sync(ALL_LANES, before > 0);
        int base = 0;
        if (lane == 0)
            base = atomicAdd(&m.pairs, __popc(all));
        base = __shfl_sync(ALL_LANES, base, 0);
        if (before > 0)
            m.keys[base + __popc(all & ((1u << lane) - 1))] =
                ratioKey(before, squaredDistance(m.kept[i].to, m.kept[j].to));
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
    int atMost = 0;
    uint32_t next = 0xffffffffu;
    for (int k = threadIdx.x; k < pairs; k += tuning::MOTION_THREADS)
    {
        const bool isAtMost = m.keys[k] <= lower;
        atMost += isAtMost ? 1 : 0;
        next = isAtMost ? next : ::min(next, m.keys[k]);
    }
    atMost = sumOfWarp(atMost);
    next = leastOfWarp(next);
    if (lane == 0)
    {
        atomicAdd(&m.atMost, static_cast<uint32_t>(atMost));
        atomicMin(&m.upperKey, next);
    }
    __syncthreads(); // the next larger key, and its rank
    const uint32_t upper = static_cast<uint32_t>(pairs / 2) < m.atMost ? lower : m.upperKey;
    return scaleOfKeys(lower, upper);
}

//! Computes the motion of a box. Two groups of threads find two medians at a time.
__device__ __forceinline__ Motion motionOf(MotionMemory& m, double maxError)
{
    Motion motion = {0, 0., 0., 0., 1.};
    const int t = threadIdx.x, group = t / GROUP, i = t % GROUP;
    // Compacts the found points; their order has no effect.
    if (t < FLOW_POINTS && m.points[t].found)
    {
        const int at = atomicAdd(&m.found, 1);
        m.errors[at] = m.points[t].error;
        m.nccs[at] = orderedBits(m.points[t].ncc);
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
    KeptLimits limits = {motion.error, (fromOrderedBits(m.lowerNcc) + fromOrderedBits(m.upperNcc)) * 0.5};
    if (motion.error > maxError)
    {
        limits = returnedLimits(maxError);
        if (__syncthreads_count(t < FLOW_POINTS && isKept(m.points[t], limits)) < LEAST_RETURNED)
            return motion;
    }
    if (t < FLOW_POINTS && isKept(m.points[t], limits))
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
    // The kernel before writes the tracked points only.
    copyWords(&m.state, &live.states[live.current], 1);
    if (threadIdx.x == 0)
        m.found = m.keptCount = m.pairs = 0;
    __syncthreads(); // the state, zeros
    if (threadIdx.x == 0)
        m.task = beginFrame(m.state);
    beginEarly();
    __syncthreads(); // the task
    if (m.task.age != 0)
    {
        if (threadIdx.x < FLOW_POINTS)
            m.points[threadIdx.x] = object.trackedPoints[threadIdx.x];
        __syncthreads(); // points
        const Motion all = motionOf(m, batch.settings.maxFlowError);
        if (threadIdx.x == 0)
            endFlow(m.state, m.task, all, batch.settings, batch.cols, batch.rows);
    }
    __syncthreads(); // the state
    copyWords(&live.states[1 - live.current], &m.state, 1);
}

//! Finds the second places of filters from the forward tracks.
__global__ void __launch_bounds__(PLACE_THREADS) secondPlaces(const __grid_constant__ Batch batch)
{
    __shared__ PlaceMemory m;
    const ObjectRecord& object = batch.objects[blockIdx.x];
    beginEarly();
    findSecondPlace<PLACE_THREADS>(batch, object, m);
    writeSecondPlace(m, *object.filterWork);
}

template <FlowPart PART> void launchTeams(const Batch& batch, int copies, detail::StreamHandle stream)
{
    detail::launchEarly("tld flow",
                        batch.settings.flowWindow == 9 ? trackPointsByTeams<9, PART> : trackPointsByTeams<0, PART>,
                        dim3(FLOW_POINTS, batch.count, 1 + copies), dim3(32 * batch.levels.count), 0, stream, batch);
}

void trackAll(const Batch& batch, FlowPart part, detail::StreamHandle stream)
{
    const int copies = batch.settings.learning ? 1 : 0;
    if (!usesTeams(batch))
        return detail::launch("tld flow", batch.settings.flowWindow == 9 ? trackPoints<9> : trackPoints<0>,
                              dim3(detail::ceilDiv(FLOW_POINTS, tuning::FLOW_WARPS), batch.count, 1 + copies),
                              dim3(32 * tuning::FLOW_WARPS), 0, stream, batch);
    if (part == FORWARD_TRACKS)
        launchTeams<FORWARD_TRACKS>(batch, 0, stream);
    else if (part == REST_OF_FLOW)
        launchTeams<REST_OF_FLOW>(batch, copies, stream);
    else
        launchTeams<WHOLE_FLOW>(batch, copies, stream);
}

} // namespace

void flow(const Batch& batch, FlowPart part, detail::StreamHandle stream)
{
    // With many objects the first part finds the backward tracks, too: kernels that are launched between the parts
    // would fill the device, and delay them.
    if (part != REST_OF_FLOW || usesTeams(batch))
        trackAll(batch, part, stream);
    if (part != FORWARD_TRACKS)
        detail::launchAs(usesTeams(batch), "tld median flow", medianFlow, dim3(batch.count),
                         dim3(tuning::MOTION_THREADS), sizeof(MotionMemory), stream, batch);
}

void findSecondPlaces(const Batch& batch, detail::StreamHandle stream)
{
    detail::launch("tld second places", secondPlaces, dim3(batch.count), dim3(PLACE_THREADS), 0, stream, batch);
}

}}}} // namespace cv::cuda::tld::gpu
