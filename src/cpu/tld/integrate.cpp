// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// integrate: the new box, from flow and clusters of detections.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! Whether a fern-positive window overlaps the box by more than NEAR_OVERLAP.
static bool isSupported(const ObjectView& object)
{
    const ObjectState& state = *object.state;
    const std::vector<int>& windows = object.trainingSet->fernPositives.windows;
    return state.alive &&
           std::any_of(windows.begin(), windows.end(),
                       [&](int number) { return overlap(windowOf(*object.grid, number), state.box) > NEAR_OVERLAP; });
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
        double score = 0.;
        for (int i = 0; i < count; ++i)
            if (d[i].cluster == number)
            {
                addTo(windows, d[i].window);
                score += d[i].conservative;
            }
        clusters.push_back(meanOf(windows, score));
    }
}

void integrate(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    const Settings& settings = *work.settings;
    const ScratchPool::Lease scratch(*work.scratch);
    std::vector<Cluster>& clusters = scratch->clusters;
    updateSupport(state, isSupported(object), settings);
    cluster(object, clusters);
    const int count = static_cast<int>(clusters.size());
    const Comparison comparison = compareClusters(state, clusters.data(), count, settings);
    updateProbation(state, comparison, settings);
    WindowSums around = {};
    for (int i = 0; i < state.detections && state.alive; ++i)
        if (isAround(object.detections[i], state.box))
            addTo(around, object.detections[i].window);
    const Box tracked = state.box;
    if (integrate(state, comparison, clusters.data(), count, around))
        acceptCorrection(state, tracked, compareTemplates(object, settings, patchOf(*work.frame, state.box)));
}

}}}} // namespace cv::cuda::tld::cpu
