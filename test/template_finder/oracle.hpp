// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scores of poses, and an exhaustive search for the best one, in plain loops of double.
#ifndef OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_ORACLE_HPP

#include "scenes.hpp"

namespace opencv_test { namespace poses {

//! Weighted correlation coefficient of a gray image and the template, warped by the pose with bilinear interpolation.
//! @param weights of the template's size, or empty.
inline double scoreOf(const Mat& image, const Mat& templ, const Mat& weights, const Placed& p)
{
    const double turn = p.angle * CV_PI / 180., c = std::cos(turn) / p.scale, s = std::sin(turn) / p.scale;
    const double reach = p.scale * std::hypot(templ.cols, templ.rows);
    double n = 0., a = 0., b = 0., aa = 0., bb = 0., ab = 0.;
    for (int y = std::max(0, int(p.y - reach)); y < std::min(image.rows, int(p.y + reach) + 2); ++y)
        for (int x = std::max(0, int(p.x - reach)); x < std::min(image.cols, int(p.x + reach) + 2); ++x)
        {
            const double u = c * (x - p.x) - s * (y - p.y) + (templ.cols - 1) * 0.5;
            const double v = s * (x - p.x) + c * (y - p.y) + (templ.rows - 1) * 0.5;
            double q = 0., t = 0.;
            for (int k = 0; k < 4; ++k)
            {
                const int left = int(std::floor(u)) + k % 2, top = int(std::floor(v)) + k / 2;
                const double part = std::max(0., 1. - std::abs(u - left)) * std::max(0., 1. - std::abs(v - top));
                const int inX = std::min(std::max(left, 0), templ.cols - 1),
                          inY = std::min(std::max(top, 0), templ.rows - 1);
                t += part * templ.at<uchar>(inY, inX);
                if (left == inX && top == inY)
                    q += part * (weights.empty() ? 1. : weights.at<uchar>(top, left) / 255.);
            }
            const double i = image.at<uchar>(y, x);
            n += q, a += q * i, b += q * t, aa += q * i * i, bb += q * t * t, ab += q * i * t;
        }
    const double square = (n * aa - a * a) * (n * bb - b * b);
    return square > 0. ? (n * ab - a * b) / std::sqrt(square) : 0.;
}

//! Returns the best pose of all angles, `step` degrees apart, and all places whose template lies in the image.
inline Placed bestOf(const Mat& image, const Mat& templ, double step, double& score)
{
    Placed best = {};
    score = -2.;
    for (double angle = -180.; angle < 180.; angle += step)
    {
        const double c = std::abs(std::cos(angle * CV_PI / 180.)), s = std::abs(std::sin(angle * CV_PI / 180.));
        const double halfX = (c * templ.cols + s * templ.rows) * 0.5, halfY = (s * templ.cols + c * templ.rows) * 0.5;
        for (double y = std::ceil(halfY) - 0.5; y + halfY <= image.rows - 0.5; ++y)
            for (double x = std::ceil(halfX) - 0.5; x + halfX <= image.cols - 0.5; ++x)
            {
                const Placed here = {x, y, angle, 1.};
                const double value = scoreOf(image, templ, Mat(), here);
                if (value > score)
                {
                    score = value;
                    best = here;
                }
            }
    }
    return best;
}

}} // namespace opencv_test::poses

#endif // OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_ORACLE_HPP
