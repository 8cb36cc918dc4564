// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// learnTemplates: templates of the nearest neighbours.
#include "../../precomp.hpp"
#include "learning.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

namespace {

void store(const ObjectView& object, int slot, const Patch& patch)
{
    std::copy_n(patch.pixels, PATCH_STRIDE, object.templates + static_cast<size_t>(slot) * PATCH_STRIDE);
    object.stats[slot] = patch.stats;
}

} // namespace

void learnPositive(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added)
{
    const Similarity similarity = compareTemplates(object, *work.settings, patch);
    if (addsPositive(*object.state, similarity))
        store(object, placePositive(*object.state, object.order, similarity.nearest, added++, *work.settings), patch);
}

void learnNegative(const Work& work, const ObjectView& object, const Patch& patch, uint32_t& added)
{
    if (addsNegative(*object.state, compareTemplates(object, *work.settings, patch)))
        store(object, placeNegative(*object.state, added++, *work.settings), patch);
}

void learnTemplates(const Work& work, const ObjectView& object) noexcept
{
    const TrainingSet& set = *object.trainingSet;
    if (!set.wanted)
        return;
    uint32_t added = 0;
    learnPositive(work, object, patchOf(*work.frame, set.positive), added);
    for (const Candidate& r : set.negatives)
        learnNegative(work, object, patchOf(*work.frame, boxOf(windowOf(*object.grid, r.number))), added);
}

}}}} // namespace cv::cuda::tld::cpu
