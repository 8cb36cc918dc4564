// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "search.hpp"
#include <algorithm>
#include <cmath>
#include <tuple>
#if CV_VERSION_MAJOR >= 5
#include "opencv2/geometry.hpp" // rotatedRectangleIntersection, convexHull and contourArea moved there
#endif

namespace cv { namespace cuda { namespace template_finder {

//! How far below the threshold a candidate may be before it is at full resolution. doc/template_finder.md has the share
//! of poses that are lost.
const double MARGIN = 0.1;
const int PEAKS = 16;     //!< of each coarse copy that are asked for at first; more come from its score map
const int EXCLUSION = 3;  //!< distance of two peaks of a coarse copy, pixels
const int BORDER = 2;     //!< pixels by which a copy may lie outside of the image
const int LEAST_SIDE = 4; //!< of a template at the coarsest level, pixels
//! Part of the template's standard deviation that is left at the coarsest level; below it, fine texture is found by chance.
const double LEAST_CONTRAST = 0.4;
const int MOST_FINER = 2;            //!< levels that are left out for that, so that time is bounded
const size_t MOST_CANDIDATES = 5000; //!< of the coarsest level, which are compared with each other
const double MOST_PIXELS = 2e9;      //!< of all coarse copies together

const int AROUND = 3; //!< distance at which a pose that cannot be aligned is searched anew, pixels

// --- preparation -----------------------------------------------------------------------------------------------------

//! Halves a template. A pixel counts if all that it is made of does: the others show the background in an image.
static void halve(Mat& templ, Mat& weights)
{
    Mat values, factors, sums, inner;
    weights.convertTo(factors, CV_32F);
    std::vector<Mat> planes(templ.channels(), factors);
    merge(planes, factors);
    templ.convertTo(values, CV_32F);
    pyrDown(values.mul(factors), values);
    pyrDown(factors, factors);
    divide(values, max(factors, 1e-3), values);
    values.convertTo(templ, templ.depth());

    const Mat counts = weights > 0;
    erode(counts, inner, Mat::ones(5, 5, CV_8U), Point(-1, -1), 1, BORDER_CONSTANT, Scalar(0));
    pyrDown(Mat(weights), weights);
    Mat without(weights.size(), CV_8UC1);
    int before = 0;
    for (int y = 0; y < without.rows; ++y)
        for (int x = 0; x < without.cols; ++x)
        {
            before += counts.at<uchar>(2 * y, 2 * x) != 0;
            without.at<uchar>(y, x) = static_cast<uchar>(~inner.at<uchar>(2 * y, 2 * x));
        }
    if (2 * static_cast<int>(without.total() - countNonZero(without)) >= before) // or a thin mask would lose too much
        weights.setTo(0, without);
}

Search::Search(const Mat& templ, const Mat& weights, const Params& params) : params_(params), size_(templ.size())
{
    const double area = params.firstScale * params.firstScale * size_.area();
    const double side = params.firstScale * std::min(size_.width, size_.height);
    // The area nearest to the coarsest one in ratio.
    while (std::ldexp(area, -1 - 2 * levels_) >= params.coarsestArea && std::ldexp(side, -1 - levels_) >= LEAST_SIDE)
        ++levels_;

    const int coarsest = std::max(cvRound(levels_ - std::log2(params.firstScale)), 0), border = 1 << coarsest;
    Mat pixels, cover = weights.empty() ? Mat(size_, CV_8UC1, Scalar(255)) : weights;
    copyMakeBorder(templ, pixels, border, border, border, border, BORDER_REPLICATE);
    copyMakeBorder(cover, cover, border, border, border, border, BORDER_CONSTANT, Scalar(0));
    Complex center(border + (size_.width - 1) * 0.5, border + (size_.height - 1) * 0.5);
    const bool turns = params.firstAngle < params.lastAngle, scales = params.firstScale < params.lastScale;
    for (int halvings = 0; halvings <= coarsest; ++halvings)
    {
        Mat counts = cover > 0, squares; // four pixels that count
        erode(counts, squares, Mat::ones(2, 2, CV_8U), Point(0, 0), 1, BORDER_CONSTANT, Scalar(0));
        if (2 * countNonZero(squares) < countNonZero(counts)) // thin: little would be left between pixels
            counts.release();
        resolutions_.push_back({pixels, cover, counts, center, Aligner(pixels, cover, center, turns, scales)});
        halve(pixels, cover); // sizes differ, so what was stored stays
        center *= 0.5;
    }
    const auto contrastAt = [&](int level)
    {
        const Resolution& resolution = resolutions_[resolutionOf(level, params.firstScale)];
        Scalar mean, deviation;
        meanStdDev(resolution.templ, mean, deviation, resolution.weights > 0);
        return norm(deviation);
    };
    for (int i = 0; i < MOST_FINER && levels_ > 0 && contrastAt(levels_) < LEAST_CONTRAST * contrastAt(0); ++i)
        --levels_;

    FragmentMatcher::Params matching;
    matching.metric = FragmentMatcher::ZNCC;
    matching.peaks = 1;
    single_ = FragmentMatcher::create(matching);
    matching.peaks = PEAKS;
    matching.exclusionDistance = EXCLUSION;
    all_ = FragmentMatcher::create(matching);
    setCoarseCopies();
}

//! Makes copies of all angles and sizes: between neighbours no pixel of the template moves by more than one.
void Search::setCoarseCopies()
{
    const double longer = std::ldexp(std::max(size_.width, size_.height), -levels_);
    const double span = (params_.lastAngle - params_.firstAngle) * CV_PI / 180.;
    const double ratio = std::log(params_.lastScale / params_.firstScale);
    const int open = params_.lastAngle - params_.firstAngle >= 360. ? 0 : 1; // the last angle is not the first one
    const double angles = std::ceil(span / std::atan(2. / (longer * params_.lastScale))) + open;
    const double sizes = std::ceil(ratio / std::log1p(2. / (longer * params_.firstScale))) + 1.;
    if (angles * sizes * longer * longer * params_.lastScale > MOST_PIXELS)
        CV_Error_(Error::StsOutOfRange, ("templ: %d x %d pixels at %.0f angles and %.0f sizes; lower "
                                         "Params::coarsestArea, or narrow the ranges of angles and scales",
                                         size_.width, size_.height, angles, sizes));
    angleStep_ = angles > open ? span / (angles - open) : 0.;
    scaleStep_ = sizes > 1. ? ratio / (sizes - 1.) : 0.;

    std::vector<Mat> templates, covers;
    for (int s = 0; s < sizes; ++s)
        for (int a = 0; a < angles; ++a)
        {
            const double scale = params_.firstScale * std::exp(scaleStep_ * s);
            const double first = open ? params_.firstAngle * CV_PI / 180. : 0.; // of a full turn one angle is 0
            Pose pose = {0., std::polar(scale, -(first + angleStep_ * a)), 0.f};
            // Where the centre of an upright template lies between pixels, its copy needs no interpolation.
            const Complex half = std::ldexp(scale * 0.5, -levels_) * Complex(size_.width - 1, size_.height - 1);
            pose.center = std::ldexp(1., levels_) *
                          Complex(half.real() - std::floor(half.real()), half.imag() - std::floor(half.imag()));
            coarse_.push_back(pose);
            boxes_.push_back(boxOf(levels_, pose, 1.));
            templates.emplace_back();
            covers.emplace_back();
            copy(levels_, pose, boxes_.back(), templates.back(), covers.back());
        }
    all_->setFragments(templates, covers);
}

//! Returns how many times the template is halved for its pixels to be as large as those of an image that is halved
//! `level` times.
int Search::resolutionOf(int level, double scale) const
{
    return std::min(std::max(cvRound(level - std::log2(scale)), 0), static_cast<int>(resolutions_.size()) - 1);
}

//! Converts a pose to pixels of a resolution and of an image that is halved `level` times.
Pose Search::local(Pose pose, int level, int resolution) const
{
    pose.center *= std::ldexp(1., -level);
    pose.linear *= std::ldexp(1., resolution - level);
    return pose;
}

//! Returns the pixels of an image that are less than `margin` pixels from the template's.
Rect Search::boxOf(int level, const Pose& given, double margin) const
{
    const Pose pose = local(given, level, 0);
    const double a = std::abs(pose.linear.real()), b = std::abs(pose.linear.imag()), unit = std::ldexp(1., level);
    const double width = std::max(size_.width - unit, 0.), height = std::max(size_.height - unit, 0.);
    const double x = 0.5 * (a * width + b * height) + margin - 1e-6, y = 0.5 * (b * width + a * height) + margin - 1e-6;
    const Point first(cvCeil(pose.center.real() - x), cvCeil(pose.center.imag() - y));
    const Point last(cvFloor(pose.center.real() + x), cvFloor(pose.center.imag() + y));
    return Rect(first.x, first.y, std::max(last.x - first.x + 1, 1), std::max(last.y - first.y + 1, 1));
}

//! Warps the template by a pose onto the pixels of a box.
void Search::copy(int level, const Pose& given, const Rect& box, Mat& templ, Mat& weights) const
{
    const int halvings = resolutionOf(level, given.scale());
    const Resolution& resolution = resolutions_[halvings];
    const Pose pose = local(given, level, halvings);
    const Complex shift = pose.center - pose.linear * resolution.center - Complex(box.x, box.y);
    const Matx23d map(pose.linear.real(), -pose.linear.imag(), shift.real(), //
                      pose.linear.imag(), pose.linear.real(), shift.imag());
    warpAffine(resolution.templ, templ, map, box.size(), INTER_LINEAR, BORDER_REPLICATE);
    warpAffine(resolution.weights, weights, map, box.size(), INTER_LINEAR, BORDER_CONSTANT, Scalar(0));
    if (!resolution.counts.empty())
    {
        Mat counts; // between pixels that count and others the image shows the background
        warpAffine(resolution.counts, counts, map, box.size(), INTER_LINEAR, BORDER_CONSTANT, Scalar(0));
        weights.setTo(0, counts < 255);
    }
    if (countNonZero(weights) == 0) // a mask of few pixels
        weights.setTo(1);
}

//! Moves angle and scale to the nearest that the parameters allow.
Pose Search::inRange(Pose pose) const
{
    const double first = params_.firstAngle * CV_PI / 180., half = params_.lastAngle * CV_PI / 360. - first * 0.5;
    const double angle = std::remainder(pose.radians() - (first + half), 2. * CV_PI), scale = pose.scale();
    if (std::abs(angle) > half && half < CV_PI)
        pose.linear = std::polar(scale, -(first + half + std::copysign(half, angle)));
    pose.linear *= std::min(std::max(scale, params_.firstScale), params_.lastScale) / scale;
    return pose;
}

// --- search ----------------------------------------------------------------------------------------------------------

//! Orders poses by what is reported of them: best first, then by rows, columns and angles.
static bool before(const Pose& a, const Pose& b)
{
    const auto key = [](const Pose& p)
    {
        return std::make_tuple(-p.score, static_cast<float>(p.center.imag()), static_cast<float>(p.center.real()),
                               p.degrees(), static_cast<float>(p.scale()));
    };
    return key(a) < key(b);
}

//! Returns the best poses of the coarsest level.
std::vector<Pose> Search::searchAll(const Mat& image, bool onDevice, Stream& stream)
{
    const float threshold = static_cast<float>(params_.threshold - MARGIN);
    Mat frame;
    copyMakeBorder(image, frame, BORDER, BORDER, BORDER, BORDER, BORDER_REPLICATE | BORDER_ISOLATED);
    if (onDevice)
        device_.upload(frame, stream);
    const _InputArray searched = onDevice ? _InputArray(device_) : _InputArray(frame);
    std::vector<FragmentMatch> matches;
    all_->find(searched, noArray(), matches, stream);
    std::vector<Pose> poses;
    const auto add = [&](size_t i, Point at, float score)
    {
        const Point moved = at - boxes_[i].tl() - Point(BORDER, BORDER);
        poses.push_back(
            {coarse_[i].center + std::ldexp(1., levels_) * Complex(moved.x, moved.y), coarse_[i].linear, score});
    };
    for (size_t i = 0; i < matches.size(); ++i)
    {
        const std::vector<float>& scores = matches[i].scores;
        const bool complete = scores.size() < PEAKS || scores.back() < threshold;
        for (size_t k = 0; complete && k < scores.size(); ++k)
            if (scores[k] >= threshold)
                add(i, matches[i].locations[k], scores[k]);
        if (complete)
            continue;
        Mat map, highest;
        all_->scoreMap(static_cast<int>(i), searched, Rect(), map, CV_32F, stream);
        const Size around(2 * EXCLUSION - 1, 2 * EXCLUSION - 1);
        dilate(map, highest, getStructuringElement(MORPH_RECT, around));
        for (int y = 0; y < map.rows; ++y)
            for (int x = 0; x < map.cols; ++x)
                if (map.at<float>(y, x) >= threshold && map.at<float>(y, x) == highest.at<float>(y, x))
                    add(i, Point(x, y), map.at<float>(y, x));
    }
    std::sort(poses.begin(), poses.end(), before);
    poses.resize(std::min(poses.size(), MOST_CANDIDATES));
    return poses;
}

//! Keeps the best of poses that are nearly the same. @param distance,angle,scale largest differences: pixels, radians,
//! logarithm of the ratio.
static void removeDoubles(std::vector<Pose>& poses, double distance, double angle, double scale)
{
    std::sort(poses.begin(), poses.end(), before);
    std::vector<Pose> kept;
    for (const Pose& pose : poses)
    {
        const auto same = [&](const Pose& other)
        {
            const Complex difference = std::log(pose.linear / other.linear);
            return std::abs(pose.center - other.center) <= distance && std::abs(difference.imag()) <= angle &&
                   std::abs(difference.real()) <= scale;
        };
        if (std::none_of(kept.begin(), kept.end(), same))
            kept.push_back(pose);
    }
    poses.swap(kept);
}

//! Aligns poses with an image. Returns those that cannot be aligned, and removes them.
std::vector<Pose> Search::align(int level, const Mat& image, std::vector<Pose>& poses) const
{
    std::vector<uchar> aligned(poses.size());
    const auto alignSome = [&](const Range& range)
    {
        for (int i = range.start; i < range.end; ++i)
        {
            const int resolution = resolutionOf(level, poses[i].scale());
            Pose pose = local(poses[i], level, resolution);
            aligned[i] = resolutions_[resolution].aligner.align(image, pose);
            if (!aligned[i])
                continue;
            pose.center *= std::ldexp(1., level);
            pose.linear *= std::ldexp(1., level - resolution);
            poses[i] = inRange(pose);
        }
    };
    parallel_for_(Range(0, static_cast<int>(poses.size())), alignSome);
    std::vector<Pose> done, others;
    for (size_t i = 0; i < poses.size(); ++i)
        (aligned[i] ? done : others).push_back(poses[i]);
    poses.swap(done);
    return others;
}

//! Matches copies of the template by poses, on the pixels of boxes, in areas of the image.
std::vector<FragmentMatch> Search::matchCopies(int level, const Mat& image, const std::vector<Pose>& poses,
                                               const std::vector<Rect>& boxes, const std::vector<Rect>& areas)
{
    std::vector<FragmentMatch> matches;
    if (poses.empty())
        return matches;
    std::vector<Mat> templates(poses.size()), covers(poses.size());
    const auto copySome = [&](const Range& range)
    {
        for (int i = range.start; i < range.end; ++i)
            copy(level, poses[i], boxes[i], templates[i], covers[i]);
    };
    parallel_for_(Range(0, static_cast<int>(poses.size())), copySome);
    single_->setFragments(templates, covers);
    single_->find(image, areas, matches);
    return matches;
}

//! Replaces each pose by the best one around it: whole pixels, and angles and sizes half a step away.
void Search::searchAround(int level, const Mat& image, std::vector<Pose>& poses)
{
    std::vector<Pose> tried;
    std::vector<Rect> boxes, areas;
    std::vector<size_t> origins;
    const double part = std::ldexp(0.5, level - levels_);
    for (size_t i = 0; i < poses.size(); ++i)
        for (int turn = -1; turn <= 1; ++turn)
            for (int size = -1; size <= 1; ++size)
            {
                if ((turn != 0 && angleStep_ <= 0.) || (size != 0 && scaleStep_ <= 0.))
                    continue;
                Pose pose = poses[i];
                pose.linear *= std::polar(std::exp(scaleStep_ * part * size), -angleStep_ * part * turn);
                pose = inRange(pose);
                const Rect box = boxOf(level, pose, 1.);
                const Rect area = Rect(box.tl() - Point(AROUND, AROUND), box.size() + Size(2 * AROUND, 2 * AROUND)) &
                                  Rect(Point(), image.size());
                if (area.width < box.width || area.height < box.height)
                    continue;
                tried.push_back(pose);
                boxes.push_back(box);
                areas.push_back(area);
                origins.push_back(i);
            }
    const std::vector<FragmentMatch> matches = matchCopies(level, image, tried, boxes, areas);
    for (Pose& pose : poses)
        pose.score = -1.f;
    for (size_t i = 0; i < tried.size(); ++i)
        if (matches[i].scores[0] > poses[origins[i]].score)
        {
            const Point moved = matches[i].locations[0] - boxes[i].tl();
            tried[i].center += std::ldexp(1., level) * Complex(moved.x, moved.y);
            tried[i].score = matches[i].scores[0];
            poses[origins[i]] = tried[i];
        }
}

//! Scores poses exactly, and keeps those that lie in the image and reach the threshold.
void Search::score(int level, const Mat& image, std::vector<Pose>& poses, double threshold)
{
    std::vector<Rect> boxes;
    const Rect whole(Point(), image.size());
    const auto isOutside = [&](const Pose& pose)
    {
        // Warps place pixels to 1 / 32; at lower resolutions poses are less accurate.
        const Rect box = boxOf(level, pose, level > 0 ? 0.03 : 0.97), inside = box & whole;
        const Point before = inside.tl() - box.tl(), behind = box.br() - inside.br();
        if (inside.empty() || std::max({before.x, before.y, behind.x, behind.y}) > BORDER)
            return true;
        boxes.push_back(boxOf(level, pose, 1.) & whole);
        return false;
    };
    poses.erase(std::remove_if(poses.begin(), poses.end(), isOutside), poses.end());
    const std::vector<FragmentMatch> matches = matchCopies(level, image, poses, boxes, boxes);
    for (size_t i = 0; i < poses.size(); ++i)
        poses[i].score = matches[i].scores[0];
    const auto isLower = [&](const Pose& pose) { return !(pose.score >= static_cast<float>(threshold)); };
    poses.erase(std::remove_if(poses.begin(), poses.end(), isLower), poses.end());
}

std::vector<TemplatePose> Search::find(const Mat& image, bool onDevice, Stream& stream)
{
    std::vector<Mat> images(levels_ + 1);
    images[0] = image;
    for (int level = 0; level < levels_; ++level)
        pyrDown(images[level], images[level + 1]);
    std::vector<Pose> poses = searchAll(images.back(), onDevice, stream);
    // Neighbours of a peak, in position, angle and size, lead to the same pose.
    removeDoubles(poses, std::ldexp(2.5, levels_), angleStep_ * 1.5, scaleStep_ * 1.5);
    for (int level = levels_; level >= 0; --level)
    {
        std::vector<Pose> others = align(level, images[level], poses);
        if (level == 0)
            score(level, images[level], others, params_.threshold); // what is left are few
        if (level == 0 || level == levels_ - 1)
        {
            searchAround(level, images[level], others);
            const std::vector<Pose> remaining = align(level, images[level], others);
            poses.insert(poses.end(), remaining.begin(), remaining.end());
        }
        poses.insert(poses.end(), others.begin(), others.end());
        score(level, images[level], poses, params_.threshold - (level > 0 ? MARGIN : 0.));
        removeDoubles(poses, std::ldexp(1., level), angleStep_ * 0.5, scaleStep_ * 0.5);
    }
    return best(poses);
}

// --- results ---------------------------------------------------------------------------------------------------------

//! Returns the best poses that overlap by no more than the parameters allow.
std::vector<TemplatePose> Search::best(std::vector<Pose>& poses) const
{
    std::sort(poses.begin(), poses.end(), before);
    std::vector<TemplatePose> result;
    const auto outlineOf = [&](const TemplatePose& p)
    { return RotatedRect(p.center, Size2f(size_) * p.scale, -p.angle); };
    for (const Pose& pose : poses)
    {
        if (static_cast<int>(result.size()) == params_.maxMatches)
            break;
        TemplatePose next;
        next.center = Point2f(static_cast<float>(pose.center.real()), static_cast<float>(pose.center.imag()));
        next.angle = pose.degrees();
        next.scale = static_cast<float>(pose.scale());
        next.score = pose.score;
        const double x = size_.width * 0.5, y = size_.height * 0.5;
        for (const Complex& corner : {Complex(-x, -y), Complex(x, -y), Complex(x, y), Complex(-x, y)})
        {
            const Complex at = pose.center + pose.linear * corner;
            next.corners.emplace_back(static_cast<float>(at.real()), static_cast<float>(at.imag()));
        }
        const auto overlaps = [&](const TemplatePose& other)
        {
            std::vector<Point2f> shared;
            rotatedRectangleIntersection(outlineOf(next), outlineOf(other), shared);
            if (shared.size() < 3)
                return false;
            convexHull(std::vector<Point2f>(shared), shared);
            const double smaller = std::min(next.scale, other.scale);
            return contourArea(shared) > (params_.maxOverlap + 0.005) * smaller * smaller * size_.area();
        };
        if (std::none_of(result.begin(), result.end(), overlaps))
            result.push_back(next);
    }
    return result;
}

}}} // namespace cv::cuda::template_finder
