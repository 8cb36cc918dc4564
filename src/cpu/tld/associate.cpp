// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// associate: boxes of the user's detector with objects.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

//! Runs a pass. @param taken,parts one per box. @param similarityOf functor of the indices of an object and of a box.
template <typename SimilarityOf>
static void associateBy(Pass pass, const std::vector<ObjectView>& objects, const Settings& settings,
                        const std::vector<Box>& parts, std::vector<uint8_t>& taken, const SimilarityOf& similarityOf)
{
    const int boxes = static_cast<int>(parts.size());
    const auto isFree = [&](int b) { return !taken[b] && isUsable(parts[b]); };
    std::vector<Match> best(objects.size(), Match{0., -1});
    const auto find = [&](size_t i)
    {
        best[i] = bestMatch(boxes, isFree,
                            [&](int b)
                            { return pairValue(pass, *objects[i].state, parts[b], similarityOf(i, b), settings); });
    };
    for (size_t i = 0; i < objects.size(); ++i)
        if (takesPart(*objects[i].state, pass))
            find(i);
    for (;;)
    {
        size_t chosen = 0;
        for (size_t i = 1; i < objects.size(); ++i)
            if (best[i].value > best[chosen].value)
                chosen = i;
        const int box = objects.empty() ? -1 : best[chosen].box;
        if (box < 0)
            return;
        associateWith(*objects[chosen].state, parts[box], box, similarityOf(chosen, box), settings);
        taken[box] = 1;
        best[chosen] = {0., -1};
        for (size_t i = 0; i < objects.size(); ++i)
            if (best[i].box == box)
                find(i);
    }
}

void associate(const Work& work, const std::vector<ObjectView>& objects, const DetectorBoxes& boxes)
{
    const Settings& settings = *work.settings;
    std::vector<Box> parts(boxes.count);
    std::vector<uint8_t> taken(boxes.count, 0);
    for (int b = 0; b < boxes.count; ++b)
        parts[b] = usablePart(boxes.list[b], work.frame->cols, work.frame->rows);
    const bool asks = settings.verifyBoxes || settings.findByBoxes;
    std::vector<double> values(asks ? objects.size() * parts.size() : 0, 0.);
    parallel_for_(Range(0, static_cast<int>(values.size())),
                  [&](const Range& range)
                  {
                      for (int k = range.start; k < range.end; ++k)
                      {
                          const ObjectView& object = objects[k / parts.size()];
                          const Box& part = parts[k % parts.size()];
                          if (isUsable(part) && asksSimilarity(*object.state, part, settings))
                              values[k] = similarityValue(
                                  *object.state, compareTemplates(object, settings, patchOf(*work.frame, part)));
                      }
                  });
    const auto similarityOf = [&](size_t i, int b) { return asks ? values[i * parts.size() + b] : 0.; };
    associateBy(BY_OVERLAP, objects, settings, parts, taken, similarityOf);
    if (settings.findByBoxes)
        associateBy(BY_SIMILARITY, objects, settings, parts, taken, similarityOf);
}

}}}} // namespace cv::cuda::tld::cpu
