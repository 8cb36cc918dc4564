// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// scene: camera cuts.
#include "../../precomp.hpp"
#include "work.hpp"

namespace cv { namespace cuda { namespace tld { namespace cpu {

void sceneOf(const ImageView& gray, Scene& scene)
{
    const auto count = [&](const Range& range)
    {
        for (int cell = range.start; cell < range.end; ++cell)
        {
            uint16_t* const counts = scene.counts + static_cast<ptrdiff_t>(cell) * SCENE_BINS;
            std::fill_n(counts, SCENE_BINS, uint16_t(0));
            int sums[2][2] = {};
            for (int j = 0; j < SCENE_SAMPLES; ++j)
            {
                const uint8_t* const row = gray.row<uint8_t>(samplePlace(cell / SCENE_GRID, j, gray.rows));
                for (int i = 0; i < SCENE_SAMPLES; ++i)
                {
                    const uint8_t value = row[samplePlace(cell % SCENE_GRID, i, gray.cols)];
                    ++counts[sceneBin(value)];
                    sums[j / LAYOUT_SAMPLES][i / LAYOUT_SAMPLES] += value;
                }
            }
            for (int j = 0; j < 2; ++j)
                for (int i = 0; i < 2; ++i)
                    scene.sums[blockOf(cell, i, j)] = sums[j][i];
        }
    };
    parallel_for_(Range(0, SCENE_GRID * SCENE_GRID), count);
}

void changeScene(const Work& work, const ObjectView& object)
{
    const ObjectState& before = *object.before;
    const Scene* const* const scenes = work.frame->scenes;
    const Scene &now = *scenes[0], &last = *scenes[before.started ? START : 1];
    const Scene& other = isInItsScene(before) ? last : *object.scene;
    const double difference = sceneDifference(now, other, histogramDifference(now, other));
    if (changeScene(*object.state, before, difference, *work.settings))
        *object.scene = last;
}

}}}} // namespace cv::cuda::tld::cpu
