// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Variance and ferns of all windows, and the windows that go on.
#include "../precomp.hpp"
#include "cpu.hpp"
#include <algorithm>
#include <atomic>

namespace cv { namespace cuda { namespace tld { namespace cpu {

void makeOffsets(const ObjectView& object, const Settings& settings, size_t step, Offsets& offsets)
{
    const int features = settings.trees * settings.features;
    offsets.perScale = 2 * features;
    offsets.values.resize(static_cast<size_t>(object.grid->scales) * offsets.perScale);
    int* to = offsets.values.data();
    for (int s = 0; s < object.grid->scales; ++s)
    {
        const Scale& scale = object.grid->scale[s];
        const auto offset = [&](int x, int y)
        { return static_cast<int>(offsetOf(y, scale.h) * step) + offsetOf(x, scale.w); };
        for (int f = 0; f < features; ++f)
        {
            *to++ = offset(object.features[f].x0, object.features[f].y0);
            *to++ = offset(object.features[f].x1, object.features[f].y1);
        }
    }
}

Codes codesOf(const uint8_t* corner, const int* offsets, const Settings& settings)
{
    Codes codes;
    for (int t = 0; t < settings.trees; ++t)
    {
        uint32_t code = static_cast<uint32_t>(t);
        for (int f = 0; f < settings.features; ++f, offsets += 2)
            code = 2 * code + (corner[offsets[0]] > corner[offsets[1]] ? 1u : 0u);
        codes.leaf[t] = code;
    }
    return codes;
}

void ferns(const Work& work, const ObjectView& object)
{
    const Frame& frame = *work.frame;
    const Settings& settings = *work.settings;
    const Grid& grid = *object.grid;
    const ScratchPool::Lease scratch(*work.scratch);
    makeOffsets(object, settings, frame.blurred.step, scratch->offsets);
    int rows = 0;
    for (int s = 0; s < grid.scales; ++s)
        rows += grid.scale[s].ny;
    std::atomic<int> withVariance(0);
    parallel_for_(Range(0, rows),
                  [&](const Range& range)
                  {
                      int s = 0, skipped = 0, counted = 0;
                      for (int r = range.start; r < range.end; ++r)
                      {
                          while (r - skipped >= grid.scale[s].ny)
                              skipped += grid.scale[s++].ny;
                          const Scale& scale = grid.scale[s];
                          const int j = r - skipped;
                          const int64_t least = leastContrast(object.state->contrast, 2, scale.w, scale.h);
                          uint32_t* const sums = object.sums + scale.first + static_cast<size_t>(j) * scale.nx;
                          for (int i = 0; i < scale.nx; ++i)
                          {
                              const Window window = windowOf(scale, i, j);
                              sums[i] = 0;
                              if (contrastOf(frame.sums, frame.squares, window) < least)
                                  continue;
                              ++counted;
                              const Codes codes = codesOf(cornerOf(frame, window), scratch->offsets.of(s), settings);
                              sums[i] = sumOf(codes, object.posteriors, settings.trees);
                          }
                      }
                      withVariance += counted;
                  });
    object.state->withVariance = withVariance;
}

void select(const Work& work, const ObjectView& object)
{
    ObjectState& state = *object.state;
    const ScratchPool::Lease scratch(*work.scratch);
    std::vector<Ranked>& passed = scratch->ranked;
    passed.clear();
    for (int n = 0; n < object.grid->windows; ++n)
        if (object.sums[n] > state.fernThreshold)
            passed.push_back({0., object.sums[n], n});
    state.passed = static_cast<int>(passed.size());
    const size_t most = static_cast<size_t>(work.settings->maxDetections);
    if (passed.size() > most)
    {
        std::nth_element(passed.begin(), passed.begin() + most, passed.end(),
                         [](const Ranked& a, const Ranked& b)
                         { return a.key != b.key ? a.key > b.key : a.number < b.number; });
        passed.resize(most);
        std::sort(passed.begin(), passed.end(), [](const Ranked& a, const Ranked& b) { return a.number < b.number; });
    }
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
