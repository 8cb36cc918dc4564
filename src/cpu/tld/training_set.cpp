// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// trainingSet: whether the detector learns from a frame, and positive and negative examples.
#include "../../precomp.hpp"
#include "learning.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

void findNear(const Grid& grid, const Box& box, int most, std::vector<Candidate>& near)
{
    near.clear();
    for (int s = 0; s < grid.scales; ++s)
    {
        const Scale& scale = grid.scale[s];
        const auto range = spanNear(scale, box, NEAR_OVERLAP);
        for (int j = range.j0; j < range.j1; ++j)
            for (int i = range.i0; i < range.i1; ++i)
            {
                const double value = overlap(windowOf(scale, i, j), box);
                if (value > NEAR_OVERLAP)
                    near.push_back({value, 0, scale.first + j * scale.nx + i});
            }
    }
    std::sort(near.begin(), near.end(),
              [](const Candidate& a, const Candidate& b)
              { return a.overlap != b.overlap ? a.overlap > b.overlap : a.number < b.number; });
    if (near.size() > static_cast<size_t>(most))
        near.resize(most);
}

namespace {

Window hullOf(const Grid& grid, const std::vector<Candidate>& windows)
{
    Window hull = windowOf(grid, windows[0].number);
    int right = hull.x + hull.w, bottom = hull.y + hull.h;
    for (const Candidate& r : windows)
    {
        const Window w = windowOf(grid, r.number);
        hull.x = lesser(hull.x, w.x);
        hull.y = lesser(hull.y, w.y);
        right = greater(right, w.x + w.w);
        bottom = greater(bottom, w.y + w.h);
    }
    hull.w = right - hull.x;
    hull.h = bottom - hull.y;
    return hull;
}

} // namespace

void makeExamples(const Work& work, const ObjectView& object, const std::vector<Candidate>& near, int warps,
                  double angle, std::vector<Codes>& examples)
{
    const Settings& settings = *work.settings;
    const Frame& frame = *work.frame;
    const ObjectState& state = *object.state;
    const Window hull = hullOf(*object.grid, near);
    const int windows = static_cast<int>(near.size());
    const auto at = [&](int x, int y) { return static_cast<int>(frame.blurred.row(y)[x]); };
    examples.resize(examplesOf(windows, warps, settings.mirror));
    parallel_for_(Range(0, static_cast<int>(examples.size())),
                  [&](const Range& range)
                  {
                      for (int e = range.start; e < range.end; ++e)
                      {
                          const Window window = windowOf(*object.grid, near[e % windows].number);
                          const int k = e / windows % (warps + 1);
                          const bool mirror = e / windows > warps;
                          const Warp warp =
                              k == 0 ? Warp() : warpAt(drawTurn(settings, state.number, state.frame, k, angle), hull);
                          for (int t = 0; t < settings.trees; ++t)
                              examples[e].code[t] = static_cast<uint16_t>(exampleCode(
                                  object.features + t * settings.features, settings.features, t, window, mirror, warp,
                                  k == 0, settings, state.number, state.frame, e, frame.cols, frame.rows, at));
                      }
                  });
}

namespace {

//! Removes all but far windows.
void keepFar(const ObjectView& object, const Box& box, FernPositives& fernPositives)
{
    size_t kept = 0;
    for (size_t i = 0; i < fernPositives.windows.size(); ++i)
        if (isFar(windowOf(*object.grid, fernPositives.windows[i]), box))
        {
            fernPositives.windows[kept] = fernPositives.windows[i];
            fernPositives.codes[kept++] = fernPositives.codes[i];
        }
    fernPositives.windows.resize(kept);
    fernPositives.codes.resize(kept);
}

//! Lists far detections in the order in which they are learned.
void orderNegatives(const ObjectView& object, const Settings& settings, const Box& box, std::vector<Candidate>& far)
{
    const ObjectState& state = *object.state;
    far.clear();
    for (int i = 0; i < state.detections; ++i)
    {
        const Detection& d = object.detections[i];
        const uint32_t index = static_cast<uint32_t>(d.number);
        if (isFar(d.window, box))
            far.push_back({0., randomOf(settings.seed, state.number, state.frame, FOR_ORDER, index).v[0], d.number});
    }
    std::sort(far.begin(), far.end(),
              [](const Candidate& a, const Candidate& b)
              { return a.key != b.key ? a.key < b.key : a.number < b.number; });
}

//! Decides by recheck() whether to learn the box.
bool isWorthLearning(const Work& work, const ObjectView& object)
{
    if (!mayLearn(*object.state))
        return false;
    const Patch patch = patchOf(*work.frame, object.state->box);
    return recheck(*object.state, patch.stats, compareTemplates(object, *work.settings, patch), *work.settings);
}

} // namespace

void trainingSet(const Work& work, const ObjectView& object, bool always)
{
    const Settings& settings = *work.settings;
    TrainingSet& set = *object.trainingSet;
    set.wanted = always || isWorthLearning(work, object);
    if (!set.wanted)
        return;
    const ScratchPool::Lease scratch(*work.scratch);
    std::vector<Candidate>& near = scratch->candidates;
    const Box box = object.state->box;
    findNear(*object.grid, box, settings.updateWindows, near);
    set.positive = box;
    set.examples.clear();
    if (!near.empty())
        makeExamples(work, object, near, settings.updateWarps, settings.updateAngle, set.examples);
    keepFar(object, box, set.fernPositives);
    set.marks.resize(std::max(set.examples.size(), set.fernPositives.codes.size()));
    orderNegatives(object, settings, box, set.negatives);
}

}}}} // namespace cv::cuda::tld::cpu
