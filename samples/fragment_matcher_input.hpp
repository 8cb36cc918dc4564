// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Which fragments of a frame are worth looking for.
#ifndef OPENCV_CUDATRACKING_SAMPLES_FRAGMENT_MATCHER_INPUT_HPP
#define OPENCV_CUDATRACKING_SAMPLES_FRAGMENT_MATCHER_INPUT_HPP

#include "options.hpp"
#include "opencv2/imgproc.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace sample {

using namespace cv;

//! The most textured place of each cell of a grid of at most `count` cells, where there is texture at all. Throws if no
//! fragment fits.
inline std::vector<Rect> texturedRegions(const Mat& image, int count, int size)
{
    Mat gray, texture;
    cvtColor(image, gray, COLOR_BGR2GRAY);
    cornerMinEigenVal(gray, texture, 5);
    const int half = size / 2, room = std::min(image.cols, image.rows) - 2 * half;
    if (room < 1)
        throw UsageError(format("--size=%d: too large for images of %d x %d pixels", size, image.cols, image.rows));
    const int cell = std::min(std::max(4, cvRound(std::sqrt(static_cast<double>(image.total()) / count))), room);
    const Scalar strength = mean(texture);
    std::vector<Rect> regions;
    for (int y = half; y + cell <= image.rows - half; y += cell)
        for (int x = half; x + cell <= image.cols - half; x += cell)
        {
            double best = 0;
            Point at;
            minMaxLoc(texture(Rect(x, y, cell, cell)), nullptr, &best, nullptr, &at);
            const Rect region(x + at.x - half, y + at.y - half, size, size);
            if (best > 0.1 * strength[0] && (region & Rect(Point(), image.size())) == region)
                regions.push_back(region);
        }
    regions.resize(std::min(regions.size(), static_cast<size_t>(count)));
    return regions;
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_FRAGMENT_MATCHER_INPUT_HPP
