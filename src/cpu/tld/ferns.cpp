// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// ferns: variance filter and fern ensemble for all windows.
#include "../../precomp.hpp"
#include "work.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace tld { namespace cpu {

void Layout::make(const ObjectView& object, const Settings& settings, size_t step)
{
    const int features = settings.trees * settings.features;
    const Grid& grid = *object.grid;
    offsetsPerScale = 2 * features;
    offsets.resize(static_cast<size_t>(grid.scales) * offsetsPerScale);
    places.clear();
    rows = 0;
    int* to = offsets.data();
    for (int s = 0; s < grid.scales; ++s)
    {
        const Scale& scale = grid.scale[s];
        const auto offset = [&](int x, int y)
        { return static_cast<int>(offsetOf(y, scale.h) * step) + offsetOf(x, scale.w); };
        for (int f = 0; f < features; ++f)
        {
            *to++ = offset(object.features[f].x0, object.features[f].y0);
            *to++ = offset(object.features[f].x1, object.features[f].y1);
        }
        firstPlace[s] = static_cast<int>(places.size());
        for (int i = 0; i < scale.nx; ++i)
            places.push_back(placeOf(i, scale.stepX));
        rows += scale.ny;
    }
}

template <typename T> static void append(std::vector<T>& list, const std::vector<T>& part)
{
    list.insert(list.end(), part.begin(), part.end());
}

void ferns(const Work& work, const ObjectView& object)
{
    const Frame& frame = *work.frame;
    const Settings& settings = *work.settings;
    const Grid& grid = *object.grid;
    const ScratchPool::Lease scratch(*work.scratch);
    scratch->layout.make(object, settings, frame.blurred.step);
    Mutex mutex;
    int withVariance = 0;
    auto passed = firstsOf(object.passed->first, settings.maxDetections, BySum());
    object.passed->count = 0;
    object.trainingSet->fernPositives.windows.clear();
    object.trainingSet->fernPositives.codes.clear();
    forRows(work, object, scratch->layout,
            [&](const WindowRow& row, Scratch& mine)
            {
                const Scale& scale = grid.scale[row.scale];
                const int64_t least = leastContrast(object.state->contrast, 2, scale.w, scale.h);
                Window window = {0, placeOf(row.j, scale.stepY), scale.w, scale.h};
                int count = 0;
                for (int i = 0; i < row.count; ++i)
                {
                    window.x = row.places[i];
                    mine.wanted[i] = contrastOf(frame.sums, frame.squares, window) >= least;
                    count += mine.wanted[i];
                }
                codesOfRow(row, mine.wanted.data(), mine.codes.data());
                mine.fernPositives.windows.clear();
                mine.fernPositives.codes.clear();
                mine.candidates.clear();
                for (int i = 0; i < row.count; ++i)
                {
                    const uint32_t sum = mine.wanted[i] ? sumOf(mine.codes[i], object.posteriors, settings) : 0;
                    if (sum > object.state->fernThreshold)
                        mine.candidates.push_back({0., sum, row.first + i});
                    if (sum < fernPositiveSum())
                        continue;
                    mine.fernPositives.windows.push_back(row.first + i);
                    mine.fernPositives.codes.push_back(mine.codes[i]);
                }
                const AutoLock lock(mutex);
                append(object.trainingSet->fernPositives.windows, mine.fernPositives.windows);
                append(object.trainingSet->fernPositives.codes, mine.fernPositives.codes);
                for (const Candidate& one : mine.candidates)
                    passed.add(one);
                object.passed->count += static_cast<int>(mine.candidates.size());
                withVariance += count;
            });
    object.state->withVariance = withVariance;
}

}}}} // namespace cv::cuda::tld::cpu
