// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// select: lists the windows of largest posteriors, which ferns() keeps, in the order of their indices.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

void select(const ObjectView& object)
{
    ObjectState& state = *object.state;
    std::vector<Candidate>& passed = object.passed->first;
    state.passed = object.passed->count;
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
