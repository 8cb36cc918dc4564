// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// nearestNeighbours: similarities of detections and of the box to the templates.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

Patch patchOf(const Frame& frame, const Box& box)
{
    Patch patch = {};
    const PatchPlan plan = planPatch(box, frame.cols, frame.rows);
    uint64_t corners[2][PATCH + 1];
    int sum = 0, squares = 0;
    for (int y = 0; y <= PATCH; ++y)
    {
        uint64_t *const upper = corners[(y + 1) % 2], *const lower = corners[y % 2];
        for (int x = 0; x <= PATCH; ++x)
            lower[x] = cornerSum(frame.sums, plan.x + x * plan.stepX, plan.y + y * plan.stepY, frame.cols, frame.rows);
        for (int x = 0; y > 0 && x < PATCH; ++x)
        {
            const int value = cellOf(upper[x], upper[x + 1], lower[x], lower[x + 1], plan.inverse);
            patch.pixels[(y - 1) * PATCH + x] = static_cast<uint8_t>(value);
            sum += value;
            squares += value * value;
        }
    }
    patch.stats = statsOf(sum, squares);
    return patch;
}

Similarity compareTemplates(const ObjectView& object, const Settings& settings, const Patch& patch)
{
    const ObjectState& state = *object.state;
    const int firstNegative = settings.maxPositives;
    int dots[MAX_POSITIVES + MAX_NEGATIVES];
    dotsOf(patch.pixels, object.templates, state.positives, dots); // positives fill the first slots
    dotsOf(patch.pixels, object.templates + static_cast<size_t>(firstNegative) * PATCH_STRIDE, state.negatives,
           dots + firstNegative);
    const auto with = [&](int slot) { return similarity(dots[slot], patch.stats, object.stats[slot]); };
    Similarity best = {0., 0., 0., -1};
    for (int place = 0; place < state.positives; ++place)
    {
        const double value = with(object.order[place]);
        if (best.nearest < 0 || value > best.positive)
        {
            best.positive = greater(best.positive, value);
            best.nearest = place;
        }
        if (place < earlyPositives(state.positives))
            best.early = greater(best.early, value);
    }
    for (int n = 0; n < state.negatives; ++n)
        best.negative = greater(best.negative, with(firstNegative + n));
    return best;
}

void nearestNeighbours(const Work& work, const ObjectView& object, bool tracking)
{
    ObjectState& state = *object.state;
    const Frame& frame = *work.frame;
    const bool box = tracking && state.alive;
    Similarity ofBox = {};
    parallel_for_(Range(0, state.detections + (box ? 1 : 0)),
                  [&](const Range& range)
                  {
                      for (int i = range.start; i < range.end; ++i)
                      {
                          const bool isBox = i == state.detections;
                          const Patch patch = patchOf(frame, isBox ? state.box : boxOf(object.detections[i].window));
                          const Similarity similarity = compareTemplates(object, *work.settings, patch);
                          if (isBox)
                              ofBox = similarity;
                          else
                          {
                              object.detections[i].similarity = similarity;
                              classify(state, object.detections[i]);
                          }
                      }
                  });
    state.accepted = static_cast<int>(std::count_if(object.detections, object.detections + state.detections,
                                                    [](const Detection& d) { return d.accepted != 0; }));
    if (box)
        updateSimilarity(state, ofBox);
}

}}}} // namespace cv::cuda::tld::cpu
