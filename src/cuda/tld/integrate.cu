// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// integrate and trainingSet, except the codes of positive examples: one object per block, or two blocks per object.
//
// Cost: comparison of a patch with all templates, windows near a box, 100 detections with each other. Bound by latency:
// each of these steps waits for the one before.
#include "block.hpp"
#include "../../common/launch.hpp"

namespace cv { namespace cuda { namespace tld { namespace gpu {

namespace {

struct IntegrateMemory
{
    ObjectState state;
    TrackResult trackResult;
    Detection detections[MAX_DETECTIONS];
    Detection accepted[MAX_DETECTIONS];
    WindowSums around;
    Cluster clusters[MAX_DETECTIONS];
    uint32_t links[MAX_DETECTIONS][MAX_DETECTIONS / 32];
    int labels[2]
              [MAX_DETECTIONS]; //!< lowest index among the detections that are known to be in the cluster; alternating
    uint32_t numbers[BLOCK_WARPS]; //!< a value per warp
    int acceptedCount, clusterCount, learn;
    bool inDoubt; //!< acceptCorrection() must decide about the box
    BlockPatch patch;
    NearSpans near;
    union
    {
        SimilarityMemory similarities;
        Ranking ranking;
    };
};
static_assert(sizeof(IntegrateMemory) <= detail::LEAST_SHARED_BYTES,
              "fits into the shared memory of every device, without static memory");
static_assert(MAX_DETECTIONS <= tuning::THREADS, "a detection per thread");

//! Lists accepted detections in their order. Ends with a barrier.
__device__ __forceinline__ void listAccepted(IntegrateMemory& m)
{
    const int i = threadIdx.x, warp = i >> 5;
    const bool accepted = i < m.state.detections && m.detections[i].accepted;
    const unsigned all = __ballot_sync(ALL_LANES, accepted);
    if ((i & 31) == 0)
        m.numbers[warp] = static_cast<uint32_t>(__popc(all));
    __syncthreads(); // counts of all warps
    int before = 0;
    for (int w = 0; w < warp; ++w)
        before += static_cast<int>(m.numbers[w]);
    if (accepted)
        m.accepted[before + __popc(all & ((1u << (i & 31)) - 1))] = m.detections[i];
    if (i == tuning::THREADS - 1)
        m.acceptedCount = before + __popc(all);
    __syncthreads(); // the list
}

//! Finds linked detections, one detection per warp. The first of them is its label. Ends with a barrier.
__device__ __forceinline__ void link(IntegrateMemory& m)
{
    const int count = m.acceptedCount, lane = threadIdx.x & 31;
    for (int i = threadIdx.x >> 5; i < count; i += BLOCK_WARPS)
    {
        int first = i;
        for (int word = 0; 32 * word < count; ++word)
        {
            const int k = 32 * word + lane;
            const unsigned bits =
                __ballot_sync(ALL_LANES, k < count && linked(m.accepted[i].window, m.accepted[k].window));
            first = bits ? ::min(first, 32 * word + __ffs(static_cast<int>(bits)) - 1) : first;
            if (lane == 0)
                m.links[i][word] = bits;
        }
        if (lane == 0)
            m.labels[0][i] = first;
    }
    __syncthreads(); // links, labels
}

//! Computes cluster c by one warp. Similarities are summed in their order.
__device__ __forceinline__ Cluster clusterOf(const IntegrateMemory& m, int c)
{
    WindowSums windows = {};
    double similarity = 0.;
    int largest = 0; // sums of posteriors are below 2^31
    for (int first = 0; first < m.acceptedCount; first += 32)
    {
        const int k = first + static_cast<int>(threadIdx.x & 31);
        const Detection& d = m.accepted[::min(k, m.acceptedCount - 1)];
        const bool own = k < m.acceptedCount && d.cluster == c;
        windows.x += sumOfWarp(own ? d.window.x : 0);
        windows.y += sumOfWarp(own ? d.window.y : 0);
        windows.w += sumOfWarp(own ? d.window.w : 0);
        windows.h += sumOfWarp(own ? d.window.h : 0);
        largest = ::max(largest, -leastOfWarp(own ? -static_cast<int>(d.sum) : 0));
        const unsigned members = __ballot_sync(ALL_LANES, own);
        windows.count += __popc(members);
        for (unsigned left = members; left; left &= left - 1)
            similarity += __shfl_sync(ALL_LANES, d.conservative, __ffs(static_cast<int>(left)) - 1);
    }
    return meanOf(windows, similarity, static_cast<uint32_t>(largest));
}

/** Clusters accepted detections by single linkage: each takes the lowest label of the detections that it is linked to,
until no label changes. Ends with a barrier. */
__device__ __forceinline__ void cluster(IntegrateMemory& m)
{
    listAccepted(m);
    link(m);
    const int i = threadIdx.x, warp = i >> 5, lane = i & 31, count = m.acceptedCount;
    int now = 0;
    for (bool changed = true; changed; now = 1 - now)
    {
        bool differs = false;
        for (int d = warp; d < count; d += BLOCK_WARPS)
        {
            const int own = m.labels[now][d];
            int label = own;
            for (int word = 0; 32 * word < count; ++word)
                if (m.links[d][word] >> lane & 1u)
                    label = ::min(label, m.labels[now][32 * word + lane]);
            label = leastOfWarp(label);
            if (lane == 0)
                m.labels[1 - now][d] = label;
            differs = differs || label != own;
        }
        changed = __syncthreads_or(differs); // and labels
    }
    // Numbers clusters in the order of their first windows.
    const int label = i < count ? m.labels[now][i] : -1;
    const unsigned firsts = __ballot_sync(ALL_LANES, label == i);
    if (lane == 0)
        m.numbers[warp] = firsts;
    __syncthreads(); // first windows
    int number = 0, clusters = 0;
#pragma unroll
    for (int w = 0; w < MAX_DETECTIONS / 32; ++w)
    {
        const unsigned before = label < 32 * w ? 0u : (label < 32 * w + 32 ? (1u << (label - 32 * w)) - 1 : ~0u);
        number += __popc(m.numbers[w] & before);
        clusters += __popc(m.numbers[w]);
    }
    if (i < count)
        m.accepted[i].cluster = number;
    if (i == 0)
        m.clusterCount = clusters;
    __syncthreads(); // indices of all clusters
    for (int c = warp; c < clusters; c += BLOCK_WARPS)
    {
        const Cluster own = clusterOf(m, c);
        if (lane == 0)
            m.clusters[c] = own;
    }
    __syncthreads(); // clusters
}

//! Adds the windows of the threads that have one.
__device__ __forceinline__ void addTo(WindowSums& sums, const Window& window, bool isOne)
{
    const int count = __popc(__ballot_sync(ALL_LANES, isOne));
    const Window all = {sumOfWarp(isOne ? window.x : 0), sumOfWarp(isOne ? window.y : 0),
                        sumOfWarp(isOne ? window.w : 0), sumOfWarp(isOne ? window.h : 0)};
    if ((threadIdx.x & 31) != 0 || count == 0)
        return;
    atomicAdd(&sums.x, all.x);
    atomicAdd(&sums.y, all.y);
    atomicAdd(&sums.w, all.w);
    atomicAdd(&sums.h, all.h);
    atomicAdd(&sums.count, count);
}

//! Clusters detections and integrates them with the box. Ends with a barrier.
__device__ __forceinline__ void integrateAll(const Batch& batch, uint32_t support, IntegrateMemory& m)
{
    cluster(m);
    const int i = threadIdx.x;
    const Detection& own = m.detections[::min(i, MAX_DETECTIONS - 1)];
    addTo(m.around, own.window,
          m.clusterCount > 0 && m.state.alive && i < m.state.detections && isAround(own, m.state.box));
    __syncthreads(); // those around
    if (i == 0)
    {
        ObjectState& state = m.state;
        updateSupport(state, support, batch.settings);
        const Comparison comparison = compareClusters(state, m.clusters, m.clusterCount, batch.settings);
        updateProbation(state, comparison, batch.settings);
        m.inDoubt = integrate(state, comparison, m.clusters, m.clusterCount, m.around, batch.settings);
    }
    __syncthreads(); // the state
}

__device__ __forceinline__ bool isSame(const Box& a, const Box& b)
{
    return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

//! Finds the training set of the box, by which a list in shared memory is overwritten that is of no use any more.
__device__ __forceinline__ void findTrainingSet(const Batch& batch, TrainingSet& set, IntegrateMemory& m)
{
    const Settings& s = batch.settings;
    findNear(m.state.box, s.updateWindows, m.near, m.ranking);
    if (threadIdx.x < 32)
        fillTrainingSet(set, m.state.box, m.ranking.windows, m.ranking.count, s.updateWarps, s.updateAngle, s);
}

/** Decides about a correction, and whether to learn. Ends with a barrier.
@param wasAlive,before of the state before integrateAll() */
__device__ __forceinline__ void decide(const Batch& batch, const ObjectRecord& object, bool wasAlive, const Box& before,
                                       IntegrateMemory& m)
{
    const bool inDoubt = m.inDoubt, may = mayLearn(m.state); // an undone correction does not change that
    const Box after = m.state.box;
    if (inDoubt || (may && !(wasAlive && isSame(before, after))))
    {
        compareBox(batch, object.models[object.live->model], m.state.positives, m.state.negatives, after, m.patch,
                   m.similarities);
        if (threadIdx.x == 0 && (!inDoubt || acceptCorrection(m.state, before, m.similarities.result)))
        {
            m.trackResult.similarity = m.similarities.result;
            m.trackResult.stats = m.patch.stats;
        }
    }
    else
        __syncthreads(); // all know the state
    if (may && threadIdx.x == 0)
        m.learn = recheck(m.state, m.trackResult.stats, m.trackResult.similarity, batch.settings);
    __syncthreads(); // the state, and what was compared with the box
}

//! Writes the table of detections, one row per thread.
__device__ __forceinline__ void writeTable(const Batch& batch, const ObjectRecord& object, const IntegrateMemory& m,
                                           const RowsView<double>& table)
{
    if (!table)
        return;
    for (int i = threadIdx.x; i <= batch.settings.maxDetections; i += tuning::THREADS)
    {
        double row[DETECTION_COLUMNS] = {};
        if (i == 0)
            detectionHead(m.state, object.grid->windows, row);
        else if (i <= m.state.detections)
            detectionRow(m.detections[i - 1], batch.settings.trees, row);
#pragma unroll
        for (int k = 0; k < DETECTION_COLUMNS; ++k)
            table.row(i)[k] = row[k];
    }
}

__device__ __forceinline__ void writeResult(const Batch& batch, const ObjectState& state, double* to)
{
    double row[RESULT_COLUMNS];
    resultOf(state, batch.settings, batch.cols, batch.rows, row);
#pragma unroll
    for (int k = 0; k < RESULT_COLUMNS; ++k)
        to[k] = row[k];
}

const int INTEGRATED = 0; //!< index of the training set of the box that integrateAll() leaves

/** Integrates an object by one block. While that compares the box, a second one, which writes nothing else, finds the
training set of the box as integrateAll() leaves it. If the box changes then, the first block finds another set. */
__global__ void __launch_bounds__(tuning::THREADS)
    integrateObjects(const __grid_constant__ Batch batch, Purpose purpose, Window box, RowsView<double> results)
{
    extern __shared__ uint4 memory[];
    IntegrateMemory& m = *reinterpret_cast<IntegrateMemory*>(memory);
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    const int other = 1 - live.current;
    if (blockIdx.y == 0)
        copyWords(&m.state, &live.states[purpose == UPDATING ? other : live.current], 1);
    copyWords(&m.near.grid, object.grid, 1);
    const int detections = static_cast<int>(live.counts.detections); // of the kernel before the last one
    beginEarly();
    if (blockIdx.y != 0)
        copyWords(&m.state, &live.tracked, 1); // as the first block may have changed the other by now
    const Counts counts = live.counts;
    static_assert(sizeof(TrackResult) <= tuning::THREADS * sizeof(uint32_t), "a word for copyBoth()");
    copyBoth<6, 1>(m.detections, object.detections[other], detections, &m.trackResult, &live.trackResult, 1);
    __syncthreads(); // state, detections, grid, what was compared
    if (threadIdx.x == 0)
    {
        m.state.withVariance = static_cast<int32_t>(counts.withVariance);
        m.state.passed = static_cast<int32_t>(counts.passed);
        m.state.accepted = static_cast<int32_t>(counts.accepted);
        m.state.detections = static_cast<int32_t>(counts.detections);
        m.around = WindowSums();
        m.learn = 0;
    }
    __syncthreads(); // numbers
    Box tracked = {}, integrated = {};
    bool wasAlive = false;
    if (purpose == UPDATING)
    {
        tracked = m.state.box;
        wasAlive = m.state.alive; // without a box there are no results of templateSimilarities
        __syncthreads();          // all know the box
        if (wasAlive && threadIdx.x == 0)
            updateSimilarity(m.state, m.trackResult.similarity);
        __syncthreads(); // the state
        integrateAll(batch, wasAlive ? m.trackResult.support : 0, m);
        integrated = m.state.box;
    }
    if (blockIdx.y != 0)
    {
        if (mayLearn(m.state))
            findTrainingSet(batch, live.trainingSets[INTEGRATED], m);
        return;
    }
    if (purpose == UPDATING)
        decide(batch, object, wasAlive, tracked, m);
    else if (purpose == LEARNING)
    {
        if (threadIdx.x == 0)
        {
            beginLearning(m.state, box);
            m.learn = 1;
        }
        __syncthreads(); // the training set
    }
    else
        writeTable(batch, object, m, results);
    copyWords(&live.states[other], &m.state, 1);
    if (threadIdx.x == tuning::THREADS - 1 && purpose == UPDATING && results)
        writeResult(batch, m.state, results.row(blockIdx.x));
    const bool isIntegrated = purpose == UPDATING && isSame(m.state.box, integrated);
    if (threadIdx.x == 0)
    {
        live.learns = m.learn;
        live.set = isIntegrated ? INTEGRATED : 1 - INTEGRATED;
        if (m.learn)
            live.spareIsOld = 1;
    }
    if (m.learn && !isIntegrated)
        findTrainingSet(batch, live.trainingSets[1 - INTEGRATED], m);
}

} // namespace

void integrate(const Batch& batch, Purpose purpose, const Window& box, RowsView<double> results,
               detail::StreamHandle stream)
{
    const int blocks = purpose == UPDATING && batch.settings.learning ? 2 : 1;
    detail::launchEarly("tld integrate", integrateObjects, dim3(batch.count, blocks), dim3(tuning::THREADS),
                        sizeof(IntegrateMemory), stream, batch, purpose, box, results);
}

}}}} // namespace cv::cuda::tld::gpu
