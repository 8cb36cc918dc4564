// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "arguments.hpp"
#include <cmath>

namespace cv { namespace cuda {

TLDParams::TLDParams()
    : seed(1),
      learning(true),
      mirror(false),
      minReplyScore(0.f),
      minWindow(0),
      scaleFactor(1.2),
      scales(10),
      stepPercent(10),
      trees(10),
      features(13),
      fernThreshold(0.5),
      maxDetections(100),
      nnThreshold(0.65),
      validThreshold(0.7),
      maxPositives(200),
      maxNegatives(400),
      initWindows(20),
      initWarps(19),
      updateWindows(10),
      updateWarps(9),
      initAngle(10.),
      updateAngle(5.),
      warpScale(0.01),
      warpShift(0.01),
      warpNoise(5.),
      initNegatives(100),
      flowWindow(9),
      flowLevels(5),
      flowIterations(20),
      flowEpsilon(0.03),
      maxFlowError(10.),
      retryFrames(3),
      maxUnsupported(3),
      maxProbation(100),
      jumpMargin(0.1),
      firstJumpMargin(0.2)
{}

namespace tld {

namespace {

//! Checks values against their ranges.
struct Ranges
{
    const char* owner;

    int integer(const char* name, int value, int least, int most) const
    {
        if (value < least || value > most)
            CV_Error_(Error::StsOutOfRange, ("%s: %s must be %d to %d, this is %d", owner, name, least, most, value));
        return value;
    }
    double real(const char* name, double value, double least, double most) const
    {
        if (!(value >= least && value <= most))
            CV_Error_(Error::StsOutOfRange,
                      ("%s: %s must be %g to %g, this is %.17g", owner, name, least, most, value));
        return value;
    }
};

} // namespace

Settings settingsOf(const TLDParams& p, const char* owner)
{
    const Ranges in = {owner};
    const double radian = CV_PI / 180.;
    Settings s = {};
    s.seed = static_cast<uint64_t>(in.integer("seed", p.seed, 0, INT_MAX));
    s.learning = p.learning;
    s.mirror = p.mirror;
    s.minReplyScore = in.real("minReplyScore", p.minReplyScore, 0., 1.);
    s.minWindow = in.integer("minWindow", p.minWindow, 0, MAX_SIDE);
    if (s.minWindow > 0)
        in.integer("minWindow", p.minWindow, MIN_BOX, MAX_SIDE);
    s.scaleFactor = in.real("scaleFactor", p.scaleFactor, 1.01, 2.);
    s.scales = in.integer("scales", p.scales, 0, (MAX_SCALES - 1) / 2);
    s.stepPercent = in.integer("stepPercent", p.stepPercent, 1, 100);
    s.trees = in.integer("trees", p.trees, 1, MAX_TREES);
    s.features = in.integer("features", p.features, 1, MAX_FEATURES);
    in.integer("trees * features", p.trees * p.features, 1, ALL_FEATURES);
    s.fernThreshold =
        static_cast<uint32_t>(roundEven(in.real("fernThreshold", p.fernThreshold, 0., 1.) * POSTERIOR_ONE * p.trees));
    s.maxDetections = in.integer("maxDetections", p.maxDetections, 1, MAX_DETECTIONS);
    s.nnThreshold = in.real("nnThreshold", p.nnThreshold, 0., 1.);
    s.validThreshold = in.real("validThreshold", p.validThreshold, 0., 1.);
    s.maxPositives = in.integer("maxPositives", p.maxPositives, 2, MAX_POSITIVES);
    s.maxNegatives = in.integer("maxNegatives", p.maxNegatives, 2, MAX_NEGATIVES);
    s.initNegatives = in.integer("initNegatives", p.initNegatives, 2, MAX_INIT_NEGATIVES);
    s.initWindows = in.integer("initWindows", p.initWindows, 1, MAX_NEAR);
    s.initWarps = in.integer("initWarps", p.initWarps, 0, MAX_WARPS);
    s.updateWindows = in.integer("updateWindows", p.updateWindows, 1, MAX_NEAR);
    s.updateWarps = in.integer("updateWarps", p.updateWarps, 0, MAX_WARPS);
    s.initAngle = in.real("initAngle", p.initAngle, 0., 45.) * radian;
    s.updateAngle = in.real("updateAngle", p.updateAngle, 0., 45.) * radian;
    s.warpScale = in.real("warpScale", p.warpScale, 0., 0.5);
    s.warpShift = in.real("warpShift", p.warpShift, 0., 0.5);
    s.warpNoise = in.real("warpNoise", p.warpNoise, 0., 64.);
    s.flowWindow = in.integer("flowWindow", p.flowWindow, 3, MAX_FLOW_WINDOW);
    if (s.flowWindow % 2 == 0)
        CV_Error_(Error::StsOutOfRange, ("%s: flowWindow must be odd, this is %d", owner, p.flowWindow));
    s.flowLevels = in.integer("flowLevels", p.flowLevels, 0, MAX_LEVELS - 1);
    s.flowIterations = in.integer("flowIterations", p.flowIterations, 1, 100);
    s.flowEpsilon = in.real("flowEpsilon", p.flowEpsilon, 0., 16.);
    s.maxFlowError = in.real("maxFlowError", p.maxFlowError, 0., MAX_SIDE);
    s.retryFrames = in.integer("retryFrames", p.retryFrames, 0, KEPT_FRAMES - 2);
    s.maxUnsupported = in.integer("maxUnsupported", p.maxUnsupported, 0, INT_MAX);
    s.maxProbation = in.integer("maxProbation", p.maxProbation, 0, INT_MAX);
    s.jumpMargin = in.real("jumpMargin", p.jumpMargin, 0., 1.);
    s.firstJumpMargin = in.real("firstJumpMargin", p.firstJumpMargin, 0., 1.);
    return s;
}

InputImage::InputImage(const char* owner, InputArray image) : onDevice(detail::onDevice(image))
{
    if (onDevice)
        device = detail::deviceArray("image", image);
    else
        host = detail::hostArray("image", image);
    const int cn = CV_MAT_CN(type());
    if (size().empty())
        CV_Error_(Error::StsBadArg, ("%s: image: is empty", owner));
    if (CV_MAT_DEPTH(type()) != CV_8U || (cn != 1 && cn != 3 && cn != 4))
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: image: takes CV_8U with 1, 3 or 4 channels, this is %s", owner, typeToString(type()).c_str()));
    const int least = std::min(size().width, size().height), most = std::max(size().width, size().height);
    if (least < MIN_SIDE || most > MAX_SIDE || static_cast<int64_t>(least) * most > MAX_PIXELS)
        CV_Error_(Error::StsOutOfRange,
                  ("%s: image: %d x %d pixels; sides of %d to %d pixels are taken, and up to %d pixels in all", owner,
                   size().width, size().height, MIN_SIDE, MAX_SIDE, MAX_PIXELS));
}

Window windowOf(const Rect& box) { return {box.x, box.y, box.width, box.height}; }

Rect rounded(const char* owner, const Rect2d& box)
{
    const double sides[4] = {box.x, box.y, box.x + box.width, box.y + box.height};
    for (const double side : sides)
        if (!(std::abs(side) <= 1e6))
            CV_Error_(Error::StsOutOfRange, ("%s: box: %g, %g, %g x %g is not inside of any image", owner, box.x, box.y,
                                             box.width, box.height));
    const int left = cvRound(sides[0]), top = cvRound(sides[1]);
    return Rect(left, top, cvRound(sides[2]) - left, cvRound(sides[3]) - top);
}

} // namespace tld
}} // namespace cv::cuda
