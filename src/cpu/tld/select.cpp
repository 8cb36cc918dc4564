// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// select: the windows of largest posteriors among those that passed the ferns.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

void select(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    const ScratchPool::Lease scratch(*work.scratch);
    std::vector<Candidate>& passed = scratch->candidates;
    auto firsts = firstsOf(passed, work.settings->maxDetections,
                           [](const Candidate& a, const Candidate& b)
                           { return a.key != b.key ? a.key > b.key : a.number < b.number; });
    state.passed = 0;
    for (int n = 0; n < object.grid->windows; ++n)
        if (object.sums[n] > state.fernThreshold)
        {
            firsts.add({0., object.sums[n], n});
            ++state.passed;
        }
    std::sort(passed.begin(), passed.end(), [](const Candidate& a, const Candidate& b) { return a.number < b.number; });
    state.detections = static_cast<int>(passed.size());
    for (int i = 0; i < state.detections; ++i)
    {
        Detection& d = object.detections[i];
        d = Detection();
        d.window = windowOf(*object.grid, passed[i].number);
        d.number = passed[i].number;
        d.sum = passed[i].key;
    }
}

}}}} // namespace cv::cuda::tld::cpu
