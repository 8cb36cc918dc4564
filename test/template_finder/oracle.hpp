// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Scores of poses, and an exhaustive search for the best one, in plain loops of double.
#ifndef OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_ORACLE_HPP
#define OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_ORACLE_HPP

#include "scenes.hpp"

namespace opencv_test { namespace poses {

//! A pixel of the template, warped with bilinear interpolation.
struct Sample
{
    int x, y;                        //!< in the image
    double weight, cover, values[3]; //!< cover: part that is made of pixels that count
};

inline double valueAt(const Mat& array, int x, int y, int channel)
{
    const int i = x * array.channels() + channel;
    return array.depth() == CV_8U    ? array.ptr<uchar>(y)[i]
           : array.depth() == CV_16U ? array.ptr<ushort>(y)[i]
                                     : array.ptr<float>(y)[i];
}

//! Warps a template by a pose. @param weights of the template's size, or empty.
inline std::vector<Sample> samplesOf(const Mat& templ, const Mat& weights, const Placed& p)
{
    const double turn = p.angle * CV_PI / 180., c = std::cos(turn) / p.scale, s = std::sin(turn) / p.scale;
    const double reach = p.scale * std::hypot(templ.cols, templ.rows) * 0.5 + 2.;
    const double unit = weights.depth() == CV_8U ? 1. / 255. : 1.;
    std::vector<Sample> samples;
    for (int y = cvFloor(p.y - reach); y <= p.y + reach; ++y)
        for (int x = cvFloor(p.x - reach); x <= p.x + reach; ++x)
        {
            const double u = c * (x - p.x) - s * (y - p.y) + (templ.cols - 1) * 0.5;
            const double v = s * (x - p.x) + c * (y - p.y) + (templ.rows - 1) * 0.5;
            Sample sample = {x, y, 0., 0., {}};
            for (int k = 0; k < 4; ++k)
            {
                const int left = cvFloor(u) + k % 2, top = cvFloor(v) + k / 2;
                const double part = std::max(0., 1. - std::abs(u - left)) * std::max(0., 1. - std::abs(v - top));
                const int inX = std::min(std::max(left, 0), templ.cols - 1),
                          inY = std::min(std::max(top, 0), templ.rows - 1);
                for (int channel = 0; channel < std::min(templ.channels(), 3); ++channel)
                    sample.values[channel] += part * valueAt(templ, inX, inY, channel);
                if (left != inX || top != inY)
                    continue;
                const double weight = weights.empty() ? 1. : unit * valueAt(weights, left, top, 0);
                sample.weight += part * weight;
                sample.cover += weight > 0. ? part : 0.;
            }
            if (sample.weight > 0.)
                samples.push_back(sample);
        }
    // Between pixels that count and others nothing counts, unless the template is thin. Positions are rounded to 1 / 32.
    const auto isPart = [](const Sample& s) { return s.cover < 1. - 1. / 64.; };
    const auto counts = [&](int x, int y)
    { return x < templ.cols && y < templ.rows && (weights.empty() || valueAt(weights, x, y, 0) > 0.); };
    int pixels = 0, squares = 0;
    for (int y = 0; y < templ.rows; ++y)
        for (int x = 0; x < templ.cols; ++x)
        {
            pixels += counts(x, y);
            squares += counts(x, y) && counts(x + 1, y) && counts(x, y + 1) && counts(x + 1, y + 1);
        }
    if (2 * squares >= pixels)
        samples.erase(std::remove_if(samples.begin(), samples.end(), isPart), samples.end());
    return samples;
}

//! Weighted correlation coefficient of the samples and the image, moved by a number of pixels. Each channel has a mean
//! of its own.
inline double correlationOf(const Mat& image, const std::vector<Sample>& samples, int right = 0, int down = 0)
{
    double cross = 0., ofImage = 0., ofTemplate = 0.;
    for (int channel = 0; channel < std::min(image.channels(), 3); ++channel)
    {
        double n = 0., a = 0., b = 0., aa = 0., bb = 0., ab = 0.;
        for (const Sample& sample : samples)
        {
            const int x = sample.x + right, y = sample.y + down;
            if (x < 0 || y < 0 || x >= image.cols || y >= image.rows)
                continue;
            const double q = sample.weight, t = sample.values[channel], i = valueAt(image, x, y, channel);
            n += q, a += q * i, b += q * t, aa += q * i * i, bb += q * t * t, ab += q * i * t;
        }
        if (n > 0.)
            cross += ab - a * b / n, ofImage += aa - a * a / n, ofTemplate += bb - b * b / n;
    }
    return ofImage > 1e-6 && ofTemplate > 1e-6 ? cross / std::sqrt(ofImage * ofTemplate) : 0.;
}

inline double scoreOf(const Mat& image, const Mat& templ, const Mat& weights, const Placed& pose)
{
    return correlationOf(image, samplesOf(templ, weights, pose));
}

//! Returns the best pose of some angles and scales, and of all places whose template lies in the image.
inline Placed bestOf(const Mat& image, const Mat& templ, const Mat& weights, const std::vector<double>& angles,
                     const std::vector<double>& scales, double& score)
{
    Placed best = {};
    score = -2.;
    for (const double scale : scales)
        for (const double angle : angles)
        {
            const double c = scale * std::abs(std::cos(angle * CV_PI / 180.)),
                         s = scale * std::abs(std::sin(angle * CV_PI / 180.));
            const double halfX = (c * templ.cols + s * templ.rows) * 0.5,
                         halfY = (s * templ.cols + c * templ.rows) * 0.5;
            const Placed first = {std::ceil(halfX) - 0.5, std::ceil(halfY) - 0.5, angle, scale};
            const std::vector<Sample> samples = samplesOf(templ, weights, first);
            for (int y = 0; first.y + y + halfY <= image.rows - 0.5; ++y)
                for (int x = 0; first.x + x + halfX <= image.cols - 0.5; ++x)
                    if (const double value = correlationOf(image, samples, x, y); value > score)
                    {
                        score = value;
                        best = {first.x + x, first.y + y, angle, scale};
                    }
        }
    return best;
}

//! Returns numbers from `first` to `last`, at most `step` apart.
inline std::vector<double> numbersBetween(double first, double last, double step)
{
    const int steps = cvCeil((last - first) / step);
    std::vector<double> numbers;
    for (int i = 0; i <= steps; ++i)
        numbers.push_back(first + (steps > 0 ? (last - first) * i / steps : 0.));
    return numbers;
}

}} // namespace opencv_test::poses

#endif // OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_ORACLE_HPP
