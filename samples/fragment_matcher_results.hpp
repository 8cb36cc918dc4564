// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Results of the matches: images coloured by confidence, rows of a CSV file, a comparison with the truth.
#ifndef OPENCV_CUDATRACKING_SAMPLES_FRAGMENT_MATCHER_RESULTS_HPP
#define OPENCV_CUDATRACKING_SAMPLES_FRAGMENT_MATCHER_RESULTS_HPP

#include "opencv2/cudatracking.hpp"
#include "opencv2/imgproc.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

namespace sample {

using namespace cv;
using cv::cuda::FragmentMatch;

inline Point2f middle(const Rect& region)
{
    return Point2f(region.tl()) + Point2f(region.width - 1.f, region.height - 1.f) / 2.f;
}
inline Point2f motion(const Rect& region, const FragmentMatch& match)
{
    return match.refined[0] - Point2f(region.tl());
}
inline bool found(const FragmentMatch& match, double minConfidence)
{
    return !match.locations.empty() && match.confidence >= minConfidence;
}

inline void writeCsv(std::ostream& csv, int frame, const std::vector<Rect>& regions,
                     const std::vector<FragmentMatch>& matches)
{
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const FragmentMatch& match = matches[i];
        csv << frame << ',' << i << ',' << regions[i].x << ',' << regions[i].y << ',' << match.status << ','
            << match.confidence;
        if (match.locations.empty())
            csv << ",,,,,,";
        else
        {
            const Point2f by = motion(regions[i], match);
            csv << ',' << by.x << ',' << by.y << ',' << match.scores[0];
            if (match.locations.size() > 1)
                csv << ',' << match.locations[1].x << ',' << match.locations[1].y << ',' << match.scores[1];
            else
                csv << ",,,";
        }
        csv << '\n';
    }
}

const double SUREST = 4.; //!< confidence from which on the colour stays green

//! Red (no surer than a guess) over yellow to green.
inline Scalar colourOf(double confidence)
{
    const double t = std::min(1., std::max(0., std::log(confidence) / std::log(SUREST)));
    return t < 0.5 ? Scalar(40, 40 + 400 * t, 240) : Scalar(40 + 60 * (t - 0.5), 240, 240 - 400 * (t - 0.5));
}

inline void label(Mat& image, const String& text, Point at, double size = 0.45)
{
    putText(image, text, at, FONT_HERSHEY_SIMPLEX, size, Scalar(0, 0, 0), 3, LINE_AA);
    putText(image, text, at, FONT_HERSHEY_SIMPLEX, size, Scalar(255, 255, 255), 1, LINE_AA);
}

inline void drawLegend(Mat& image, const String& title)
{
    const Rect bar(12, image.rows - 26, std::min(220, image.cols / 2), 12);
    for (int x = 0; x < bar.width; ++x)
    {
        const double confidence = std::pow(SUREST, static_cast<double>(x) / (bar.width - 1));
        line(image, bar.tl() + Point(x, 0), bar.tl() + Point(x, bar.height), colourOf(confidence));
    }
    rectangle(image, bar, Scalar(255, 255, 255), 1);
    label(image, "1", Point(bar.x - 2, bar.y - 6));
    label(image, "2", Point(bar.x + bar.width / 2 - 4, bar.y - 6));
    label(image, "4+  confidence", Point(bar.br().x - 14, bar.y - 6));
    label(image, title, Point(12, 20), 0.5);
}

//! Vectors of all matches of at least `minConfidence`; of very many matches only every second, third, ...
inline Mat drawMotion(const Mat& image, const std::vector<Rect>& regions, const std::vector<FragmentMatch>& matches,
                      double minConfidence, double scale, const String& title)
{
    Mat canvas = image * 0.55;
    const size_t step = matches.size() * 120 / image.total() + 1; // a vector needs about 120 pixels to be seen
    const double eighths = 8.;                                    // sub-pixel drawing
    for (size_t i = 0; i < matches.size(); i += step)
    {
        if (!found(matches[i], minConfidence))
            continue;
        const Point2f from = middle(regions[i]), by = motion(regions[i], matches[i]);
        const Scalar colour = colourOf(matches[i].confidence);
        const Point a(cvRound(from.x * eighths), cvRound(from.y * eighths));
        const Point b = a + Point(cvRound(by.x * scale * eighths), cvRound(by.y * scale * eighths));
        circle(canvas, a, 11, colour, FILLED, LINE_AA, 3);
        if (norm(by) > 0.4)
            line(canvas, a, b, colour, 2, LINE_AA, 3);
    }
    drawLegend(canvas, title);
    return canvas;
}

//! Disparity of a match: how much further to the left the place lies in the right image.
inline float disparityOf(const Rect& region, const FragmentMatch& match) { return -motion(region, match).x; }

//! Compares with the truth at the middle of each fragment and prints how confidence separates right from wrong.
inline void printTruthTable(double grayLevelsPerPixel, const Mat& truth, const std::vector<Rect>& regions,
                            const std::vector<FragmentMatch>& matches)
{
    const double bounds[] = {0, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2, 3, 1e30};
    const int bins = 9;
    int counts[bins] = {}, rights[bins] = {}, all = 0, right = 0;
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const Point2f at = middle(regions[i]);
        const int level = truth.at<uchar>(cvRound(at.y), cvRound(at.x));
        if (level == 0 || matches[i].locations.size() < 2)
            continue; // the truth is unknown there, or there is nothing to compare with
        const bool agrees = std::abs(disparityOf(regions[i], matches[i]) - level / grayLevelsPerPixel) <= 1.;
        const int bin =
            static_cast<int>(std::upper_bound(bounds, bounds + bins, static_cast<double>(matches[i].confidence)) -
                             bounds) -
            1;
        ++all, right += agrees;
        ++counts[bin], rights[bin] += agrees;
    }
    std::cout << format("%d of %d displacements agree with the truth within 1 px (%.1f %%)\n", right, all,
                        all ? 100. * right / all : 0.)
              << "confidence       count   right     right from here up\n";
    for (int bin = 0; bin < bins; ++bin)
    {
        int above = 0, rightAbove = 0;
        for (int k = bin; k < bins; ++k)
            above += counts[k], rightAbove += rights[k];
        const String range = bin == 0          ? "     below 1.02"
                             : bin == bins - 1 ? "    3 and more "
                                               : format("%6.2f .. %-5.2f", bounds[bin], bounds[bin + 1]);
        std::cout << format("%s %7d  %5.1f %%   %5.1f %% of %d\n", range.c_str(), counts[bin],
                            counts[bin] ? 100. * rights[bin] / counts[bin] : 0., above ? 100. * rightAbove / above : 0.,
                            above);
    }
}

//! A disc for each sure match: warm colours are near.
inline Mat drawDisparity(const Mat& image, const std::vector<Rect>& regions, const std::vector<FragmentMatch>& matches,
                         double minConfidence, int maxDisparity)
{
    Mat canvas = image * 0.35, level(1, 1, CV_8UC1), colour;
    const int radius = std::max(
        2, cvRound(0.45 * std::sqrt(static_cast<double>(image.total()) / std::max<size_t>(matches.size(), 1))));
    for (size_t i = 0; i < matches.size(); ++i)
    {
        if (!found(matches[i], minConfidence))
            continue;
        level.at<uchar>(0) = saturate_cast<uchar>(255. * disparityOf(regions[i], matches[i]) / maxDisparity);
        applyColorMap(level, colour, COLORMAP_TURBO);
        circle(canvas, middle(regions[i]), radius, Scalar(colour.at<Vec3b>(0)), FILLED, LINE_AA);
    }
    label(canvas, format("disparity 0 (blue) to %d px (red), confidence at least %g", maxDisparity, minConfidence),
          Point(12, 20), 0.5);
    return canvas;
}

} // namespace sample

#endif // OPENCV_CUDATRACKING_SAMPLES_FRAGMENT_MATCHER_RESULTS_HPP
