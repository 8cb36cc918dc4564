// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Random cases of TemplateFinder: made and run.
#ifndef OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_FUZZ_HPP
#define OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_FUZZ_HPP

#include "../common/fuzz_arrays.hpp"
#include "scenes.hpp"

namespace opencv_test { namespace fuzz {

struct TemplateFinderCase
{
    Mat image, templ, weights;
    poses::TF::Params params;
    uint64 placement;
    double work; //!< pixels of the image times angles
    std::string what;
};

//! Cuts a template out of the image, turned and resized, so that it has a place there; now and then of another image.
inline void giveTemplate(RNG& rng, const poses::TF::Params& params, TemplateFinderCase& c)
{
    const Mat source = onceIn(rng, 6) ? randomImage(rng, c.image.size(), c.image.type(), 5) : c.image;
    const int width = rng.uniform(1, 33), height = rng.uniform(1, std::max(2, 500 / width));
    const double angle = rng.uniform(params.firstAngle, params.lastAngle);
    const double scale = rng.uniform(params.firstScale, params.lastScale);
    const float down = rng.uniform(0.3f, 0.7f), right = rng.uniform(0.3f, 0.7f);
    const Point2f center(right * source.cols, down * source.rows);
    Mat map = getRotationMatrix2D(center, -angle, 1. / scale);
    map.at<double>(0, 2) += (width - 1) * 0.5 - center.x;
    map.at<double>(1, 2) += (height - 1) * 0.5 - center.y;
    warpAffine(source, c.templ, map, Size(width, height), INTER_LINEAR, BORDER_REFLECT);
    if (onceIn(rng, 3))
    {
        c.weights = Mat(c.templ.size(), CV_8UC1);
        rng.fill(c.weights, RNG::UNIFORM, onceIn(rng, 2) ? 0 : 200, 256);
        const int x = rng.uniform(0, width), y = rng.uniform(0, height);
        c.weights.at<uchar>(y, x) = 255; // one at least
    }
    if (!c.weights.empty() && onceIn(rng, 2))
        c.weights.convertTo(c.weights, CV_32F, 1. / 255.);
}

inline TemplateFinderCase makeTemplateFinderCase(int64 seed, int64 number)
{
    RNG rng = rngOf(seed + 4000003, number);
    TemplateFinderCase c;
    c.placement = mixed(rng.next(), 9);
    const int type = oneOf<int>(rng, {CV_8UC1, CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_16UC4});
    const int width = rng.uniform(1, 70), height = rng.uniform(1, 60), blur = rng.uniform(3, 10);
    c.image = randomImage(rng, Size(width, height), type, blur, onceIn(rng, 6) ? rng.uniform(1, 9) : 256);
    const double first = rng.uniform(-360., 180.), span = onceIn(rng, 2) ? 360. : rng.uniform(0., 360.);
    const double smallest = onceIn(rng, 2) ? 1. : rng.uniform(0.75, 1.3);
    const double largest = onceIn(rng, 3) ? std::min(smallest * rng.uniform(1., 1.4), 1.4) : smallest;
    const double last = onceIn(rng, 6) ? first : first + span, threshold = rng.uniform(0.3, 0.95);
    c.params = poses::makeParams(threshold, first, last, smallest, largest);
    c.params.maxMatches = onceIn(rng, 4) ? rng.uniform(1, 5) : 1000;
    c.params.maxOverlap = onceIn(rng, 3) ? rng.uniform(0., 1.) : 0.3;
    c.params.coarsestArea = oneOf<int>(rng, {64, 256, 256, 1024});
    giveTemplate(rng, c.params, c);
    c.work = width * height * (c.params.lastAngle - c.params.firstAngle + 1.);
    c.what = cv::format("%d x %d %s, template %d x %d, weights %s, angles %.17g to %.17g, scales %.17g to %.17g, "
                        "threshold %.17g, at most %d, overlap %.17g, area %d",
                        width, height, typeToString(type).c_str(), c.templ.cols, c.templ.rows,
                        c.weights.empty() ? "none" : typeToString(c.weights.type()).c_str(), c.params.firstAngle,
                        c.params.lastAngle, c.params.firstScale, c.params.lastScale, c.params.threshold,
                        c.params.maxMatches, c.params.maxOverlap, c.params.coarsestArea);
    return c;
}

inline Outputs runTemplateFinder(const TemplateFinderCase& c, Engine engine, bool plain)
{
    Arrays arrays(engine, c.placement, plain);
    const Ptr<poses::TF> finder = poses::TF::create(c.params);
    finder->setTemplate(arrays.in(c.templ), c.weights.empty() ? noArray() : arrays.in(c.weights), arrays.stream());
    std::vector<cuda::TemplatePose> found;
    finder->find(arrays.in(c.image), found, arrays.stream());
    arrays.value("poses", poses::tableOf(found));
    return arrays.collect();
}

}} // namespace opencv_test::fuzz

#endif // OPENCV_CUDATRACKING_TEST_TEMPLATE_FINDER_FUZZ_HPP
