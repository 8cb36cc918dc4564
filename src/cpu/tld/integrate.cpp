// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// integrate: the new box, from flow and clusters of detections.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! Returns the largest sum of posteriors of a fern-positive window that overlaps the box by more than NEAR_OVERLAP; 0:
//! there is none.
static uint32_t supportOf(const ObjectView& object, const Settings& settings)
{
    const ObjectState& state = *object.state;
    const FernPositives& positives = object.trainingSet->fernPositives;
    uint32_t largest = 0;
    for (size_t i = 0; state.alive && i < positives.windows.size(); ++i)
        if (overlap(windowOf(*object.grid, positives.windows[i]), state.box) > NEAR_OVERLAP)
            largest = std::max(largest, sumOf(positives.codes[i], object.posteriors, settings));
    return largest;
}

static void addTo(WindowSums& sums, const Window& window)
{
    sums = {sums.x + window.x, sums.y + window.y, sums.w + window.w, sums.h + window.h, sums.count + 1};
}

//! Clusters accepted detections by single linkage.
static void cluster(const ObjectView& object, std::vector<Cluster>& clusters)
{
    Detection* const d = object.detections;
    const int count = object.state->detections;
    int open[MAX_DETECTIONS];
    clusters.clear();
    for (int first = 0; first < count; ++first)
    {
        if (!d[first].accepted || d[first].cluster >= 0)
            continue;
        const int number = static_cast<int>(clusters.size());
        int waiting = 0;
        d[open[waiting++] = first].cluster = number;
        while (waiting > 0)
        {
            const Window& window = d[open[--waiting]].window;
            for (int i = first + 1; i < count; ++i)
                if (d[i].accepted && d[i].cluster < 0 && linked(window, d[i].window))
                    d[open[waiting++] = i].cluster = number;
        }
        WindowSums windows = {};
        double similarity = 0.;
        uint32_t sum = 0;
        for (int i = 0; i < count; ++i)
            if (d[i].cluster == number)
            {
                addTo(windows, d[i].window);
                similarity += d[i].conservative;
                sum = std::max(sum, d[i].sum);
            }
        clusters.push_back(meanOf(windows, similarity, sum));
    }
}

void integrate(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    const Settings& settings = *work.settings;
    const ScratchPool::Lease scratch(*work.scratch);
    std::vector<Cluster>& clusters = scratch->clusters;
    updateSupport(state, supportOf(object, settings), settings);
    cluster(object, clusters);
    const int count = static_cast<int>(clusters.size());
    const Comparison comparison = compareClusters(state, clusters.data(), count, settings);
    updateProbation(state, comparison, settings);
    WindowSums around = {};
    for (int i = 0; i < state.detections && state.alive; ++i)
        if (isAround(object.detections[i], state.box))
            addTo(around, object.detections[i].window);
    const Box tracked = state.box;
    if (integrate(state, comparison, clusters.data(), count, around, settings))
        acceptCorrection(state, tracked, compareTemplates(object, settings, patchOf(*work.frame, state.box)));
}

}}}} // namespace cv::cuda::tld::cpu
