// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// integrate and trainingSet, except the codes of positive examples: one object per block.
//
// Cost: comparison of a patch with all templates, windows near a box, 100 detections with each other. Bound by latency: each of
// these steps waits for the one before.
#include "block.hpp"
#include "../../common/launch.hpp"
#include "../../common/shared_limit.hpp"

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
    int labels[MAX_DETECTIONS], numbers[MAX_DETECTIONS];
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

//! Compares the patch of a box with all templates. Ends with a barrier.
__device__ __forceinline__ void compareBox(const Batch& batch, const ObjectRecord& object, const Box& box,
                                           IntegrateMemory& m)
{
    makePatch(batch, box, m.patch);
    compareTemplates(object.models[object.live->model], batch.settings, m.state.positives, m.state.negatives,
                     m.patch.pixels, m.patch.stats, m.similarities);
}

//! Lists accepted detections in their order. Ends with a barrier.
__device__ __forceinline__ void listAccepted(IntegrateMemory& m)
{
    const int i = threadIdx.x, warp = i >> 5;
    const bool accepted = i < m.state.detections && m.detections[i].accepted;
    const unsigned all = __ballot_sync(WARP, accepted);
    if ((i & 31) == 0)
        m.numbers[warp] = __popc(all);
    __syncthreads(); // counts of all warps
    int before = 0;
    for (int w = 0; w < warp; ++w)
        before += m.numbers[w];
    if (accepted)
        m.accepted[before + __popc(all & ((1u << (i & 31)) - 1))] = m.detections[i];
    if (i == tuning::THREADS - 1)
        m.acceptedCount = before + __popc(all);
    __syncthreads(); // the list
}

//! Finds linked detections, one detection per warp. Ends with a barrier.
__device__ __forceinline__ void link(IntegrateMemory& m)
{
    const int count = m.acceptedCount, lane = threadIdx.x & 31;
    for (int i = threadIdx.x >> 5; i < count; i += BLOCK_WARPS)
#pragma unroll
        for (int word = 0; word < MAX_DETECTIONS / 32; ++word)
        {
            const int k = 32 * word + lane;
            const unsigned bits = __ballot_sync(WARP, k < count && linked(m.accepted[i].window, m.accepted[k].window));
            if (lane == 0)
                m.links[i][word] = bits;
        }
    __syncthreads(); // links
}

//! Computes cluster c by one thread, as similarities must be summed in their order.
__device__ __forceinline__ Cluster clusterOf(const IntegrateMemory& m, int c)
{
    WindowSums windows = {};
    double similarity = 0.;
    uint32_t largest = 0;
#pragma unroll 4
    for (int k = 0; k < m.acceptedCount; ++k)
    {
        const Detection& d = m.accepted[k];
        const bool own = d.cluster == c;
        windows.x += own ? d.window.x : 0;
        windows.y += own ? d.window.y : 0;
        windows.w += own ? d.window.w : 0;
        windows.h += own ? d.window.h : 0;
        windows.count += own;
        largest = own ? greater(largest, d.sum) : largest;
        const double sum = similarity + d.conservative;
        similarity = own ? sum : similarity;
    }
    return meanOf(windows, similarity, largest);
}

/** Clusters accepted detections by single linkage: each takes the lowest label of the detections that it is linked to, until no label
changes. Ends with a barrier. */
__device__ __forceinline__ void cluster(IntegrateMemory& m)
{
    listAccepted(m);
    link(m);
    const int i = threadIdx.x, count = m.acceptedCount;
    unsigned linkedTo[MAX_DETECTIONS / 32] = {};
    if (i < count)
    {
        m.labels[i] = i;
#pragma unroll
        for (int word = 0; word < MAX_DETECTIONS / 32; ++word)
            linkedTo[word] = m.links[i][word];
    }
    for (bool changed = true; changed;)
    {
        __syncthreads(); // labels
        int label = i < count ? m.labels[i] : 0;
        const int before = label;
#pragma unroll
        for (int word = 0; word < MAX_DETECTIONS / 32; ++word)
            for (unsigned bits = linkedTo[word]; bits; bits &= bits - 1)
                label = ::min(label, m.labels[32 * word + __ffs(bits) - 1]);
        changed = __syncthreads_or(label != before); // and all have read
        if (changed && i < count)
            m.labels[i] = label;
    }
    // Numbers clusters in the order of their first windows.
    int number = 0;
    const bool first = i < count && m.labels[i] == i;
    for (int j = 0; first && j < i; ++j)
        number += m.labels[j] == j ? 1 : 0;
    if (first)
        m.numbers[i] = number;
    const int clusters = __syncthreads_count(first); // and numbers
    if (i < count)
        m.accepted[i].cluster = m.numbers[m.labels[i]];
    __syncthreads(); // indices of all clusters
    if (i < clusters)
        m.clusters[i] = clusterOf(m, i);
    if (i == 0)
        m.clusterCount = clusters;
    __syncthreads(); // clusters
}

__device__ __forceinline__ void addTo(WindowSums& sums, const Window& window)
{
    atomicAdd(&sums.x, window.x);
    atomicAdd(&sums.y, window.y);
    atomicAdd(&sums.w, window.w);
    atomicAdd(&sums.h, window.h);
    atomicAdd(&sums.count, 1);
}

//! Clusters detections and integrates them with the box. Ends with a barrier.
__device__ __forceinline__ void integrateAll(const Batch& batch, uint32_t support, IntegrateMemory& m)
{
    cluster(m);
    const int i = threadIdx.x;
    if (m.clusterCount > 0 && m.state.alive && i < m.state.detections && isAround(m.detections[i], m.state.box))
        addTo(m.around, m.detections[i].window);
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

//! Updates the box after flow and detection, and decides whether to learn. Ends with a barrier.
__device__ __forceinline__ void track(const Batch& batch, const ObjectRecord& object, IntegrateMemory& m)
{
    const bool wasAlive = m.state.alive;
    const Box before = m.state.box;
    if (wasAlive)
        copyWords(&m.trackResult, &object.live->trackResult, 1);
    __syncthreads(); // all know the box; what was compared
    if (wasAlive && threadIdx.x == 0)
        updateSimilarity(m.state, m.trackResult.similarity, batch.settings);
    __syncthreads(); // the state
    integrateAll(batch, wasAlive ? m.trackResult.support : 0, m);
    const bool inDoubt = m.inDoubt;
    if (inDoubt)
    {
        const Box corrected = m.state.box;
        compareBox(batch, object, corrected, m);
        if (threadIdx.x == 0 && acceptCorrection(m.state, before, m.similarities.result))
        {
            m.trackResult.similarity = m.similarities.result;
            m.trackResult.stats = m.patch.stats;
        }
        __syncthreads(); // the box, and what was compared with it
    }
    const bool may = mayLearn(m.state);
    const Box after = m.state.box;
    __syncthreads(); // all know
    if (!may)
        return;
    if (!inDoubt && (!wasAlive || !isSame(before, after)))
    {
        compareBox(batch, object, after, m);
        if (threadIdx.x == 0)
        {
            m.trackResult.similarity = m.similarities.result;
            m.trackResult.stats = m.patch.stats;
        }
    }
    if (threadIdx.x == 0)
        m.learn = recheck(m.state, m.trackResult.stats, m.trackResult.similarity, batch.settings);
    __syncthreads(); // the training set
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

__global__ void __launch_bounds__(tuning::THREADS)
    integrateObjects(const __grid_constant__ Batch batch, Purpose purpose, Window box, RowsView<double> results)
{
    extern __shared__ uint4 memory[];
    IntegrateMemory& m = *reinterpret_cast<IntegrateMemory*>(memory);
    const ObjectRecord& object = batch.objects[blockIdx.x];
    Live& live = *object.live;
    const int other = 1 - live.current;
    copyWords(&m.state, &live.states[purpose == UPDATING ? other : live.current], 1);
    copyWords(&m.near.grid, object.grid, 1);
    beginEarly();
    copyWords(m.detections, object.detections[other], static_cast<int>(live.counts.detections));
    __syncthreads(); // state, detections, grid
    if (threadIdx.x == 0)
    {
        m.state.withVariance = static_cast<int32_t>(live.counts.withVariance);
        m.state.passed = static_cast<int32_t>(live.counts.passed);
        m.state.accepted = static_cast<int32_t>(live.counts.accepted);
        m.state.detections = static_cast<int32_t>(live.counts.detections);
        m.around = WindowSums();
        m.learn = 0;
    }
    __syncthreads(); // numbers
    if (purpose == UPDATING)
        track(batch, object, m);
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
    if (threadIdx.x == tuning::THREADS - 1 && purpose == UPDATING &&
        results) // another warp than the one that fills the training set
    {
        double row[RESULT_COLUMNS];
        resultOf(m.state, batch.settings, batch.cols, batch.rows, row);
#pragma unroll
        for (int k = 0; k < RESULT_COLUMNS; ++k)
            results.row(blockIdx.x)[k] = row[k];
    }
    if (!m.learn)
    {
        if (threadIdx.x == 0)
            live.trainingSet.learn = 0;
        return;
    }
    findNear(m.state.box, batch.settings.updateWindows, m.near,
             m.ranking); // overwrites m.similarities, which shares memory with m.ranking
    if (threadIdx.x == 0)
    {
        live.spareIsOld = 1;
        fillTrainingSet(live.trainingSet, m.state.box, m.ranking.windows, m.ranking.count, batch.settings.updateWarps,
                        batch.settings.updateAngle, batch.settings);
    }
}

} // namespace

void integrate(const Batch& batch, Purpose purpose, const Window& box, RowsView<double> results,
               detail::StreamHandle stream)
{
    detail::launchEarly("tld integrate", integrateObjects, dim3(batch.count), dim3(tuning::THREADS),
                        sizeof(IntegrateMemory), stream, batch, purpose, box, results);
}

}}}} // namespace cv::cuda::tld::gpu
