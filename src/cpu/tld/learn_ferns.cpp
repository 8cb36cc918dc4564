// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// learnFerns: counts and posteriors of the fern ensemble.
#include "../../precomp.hpp"
#include "learning.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

void markExamples(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list,
                  const Chunk& chunk, bool positive, uint8_t* marks)
{
    for (size_t e = chunk.first; e < chunk.end; e += chunk.step)
    {
        const uint32_t sum = sumOf(list[e], object.posteriors, settings);
        marks[e] = positive ? sum <= object.state->fernThreshold : sum >= negativeSum(settings.trees);
    }
}

void countMarked(const ObjectView& object, const Settings& settings, const std::vector<Codes>& list, const Chunk& chunk,
                 bool positive, const uint8_t* marks)
{
    const auto leafOf = [&](size_t e, int t)
    { return (static_cast<size_t>(t) << settings.features) + list[e].code[t]; };
    for (size_t e = chunk.first; e < chunk.end; e += chunk.step)
        for (int t = 0; marks[e] && t < settings.trees; ++t)
        {
            Leaf& leaf = object.leaves[leafOf(e, t)];
            ++(positive ? leaf.positives : leaf.negatives);
        }
    for (size_t e = chunk.first; e < chunk.end; e += chunk.step)
        for (int t = 0; marks[e] && t < settings.trees; ++t)
            object.posteriors[leafOf(e, t)] = posteriorOf(object.leaves[leafOf(e, t)]);
}

void learnFerns(const Work& work, const ObjectView& object) noexcept
{
    const Settings& settings = *work.settings;
    TrainingSet& set = *object.trainingSet;
    if (!set.wanted || set.examples.empty())
        return;
    const auto learnChunk = [&](const std::vector<Codes>& list, const Chunk& chunk, bool positive)
    {
        markExamples(object, settings, list, chunk, positive, set.marks.data());
        countMarked(object, settings, list, chunk, positive, set.marks.data());
    };
    const size_t examples = set.examples.size();
    for (int pass = 0; pass < 2; ++pass)
    {
        for (size_t first = 0; first < examples; first += POSITIVE_CHUNK)
            learnChunk(set.examples, {first, std::min(examples, first + POSITIVE_CHUNK), 1}, true);
        learnChunk(set.fernPositives.codes, {0, set.fernPositives.codes.size(), 1}, false);
    }
}

}}}} // namespace cv::cuda::tld::cpu
