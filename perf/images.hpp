// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Real images for performance tests, from a folder that the environment names.
#ifndef OPENCV_CUDATRACKING_PERF_IMAGES_HPP
#define OPENCV_CUDATRACKING_PERF_IMAGES_HPP

#include "opencv2/ts.hpp"
#include "opencv2/imgcodecs.hpp"
#include "opencv2/imgproc.hpp"
#include <cstdlib>
#include <string>

namespace opencv_test {

inline std::string folderOf(const char* variable)
{
    const char* const folder = std::getenv(variable);
    if (!folder || !*folder)
        throw SkipTestException(cv::format("the environment variable %s names no folder", variable));
    return folder;
}

//! Twelve images side by side, with faces and without. @param flags of imread(): gray or BGR.
inline Mat collage(Size size, int flags = IMREAD_GRAYSCALE)
{
    const char* const names[] = {"lena.jpg",        "messi5.jpg", "home.jpg",         "baboon.jpg",
                                 "basketball1.png", "fruits.jpg", "aloeL.jpg",        "building.jpg",
                                 "graf1.png",       "stuff.jpg",  "rubberwhale1.png", "left01.jpg"};
    const std::string folder = folderOf("CUDATRACKING_SAMPLES_DATA");
    Mat full(size, flags == IMREAD_GRAYSCALE ? CV_8UC1 : CV_8UC3, Scalar::all(128));
    const Size one(size.width / 4, size.height / 3);
    for (int i = 0; i < 12; ++i)
    {
        const Mat image = imread(folder + "/" + names[i], flags);
        if (image.empty())
            throw SkipTestException("cannot read " + folder + "/" + names[i]);
        cv::resize(image, full(Rect(Point(i % 4 * one.width, i / 4 * one.height), one)), one, 0, 0, INTER_AREA);
    }
    return full;
}

} // namespace opencv_test

#endif // OPENCV_CUDATRACKING_PERF_IMAGES_HPP
