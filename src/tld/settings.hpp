// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parameters of TLD: name, member, default and range of each, once. Defaults, checks, Settings, files and comparison
// are made from this list.
#ifndef OPENCV_CUDATRACKING_TLD_SETTINGS_HPP
#define OPENCV_CUDATRACKING_TLD_SETTINGS_HPP

#include "../precomp.hpp"
#include "core.hpp"

namespace cv { namespace cuda { namespace tld {

/** Calls visit(name, member, default, lowest, highest) for all parameters, in the order of files. checkParameters() has
further conditions on some. @tparam Params TLDParams, const or not, or Settings. */
template <typename Params, typename Visit> void eachParameter(Params& p, const Visit& visit)
{
    // Switches.
    visit("seed", p.seed, 1, 0, INT_MAX);
    visit("learning", p.learning, true, false, true);
    visit("mirror", p.mirror, false, false, true);
    visit("minReplyScore", p.minReplyScore, 0.f, 0.f, 1.f);
    visit("clipBoxes", p.clipBoxes, false, false, true);
    visit("filter", p.filter, true, false, true);
    // What tunes the algorithm: windows,
    visit("minWindow", p.minWindow, 0, 0, MAX_SIDE);
    visit("scaleFactor", p.scaleFactor, 1.2, 1.01, 2.);
    visit("scales", p.scales, 10, 0, (MAX_SCALES - 1) / 2);
    visit("stepPercent", p.stepPercent, 10, 1, 100);
    // ferns,
    visit("trees", p.trees, 10, 1, MAX_TREES);
    visit("features", p.features, 13, 1, MAX_FEATURES);
    visit("fernThreshold", p.fernThreshold, 0.5, 0., 1.);
    visit("maxDetections", p.maxDetections, 100, 1, MAX_DETECTIONS);
    // nearest neighbours,
    visit("nnThreshold", p.nnThreshold, 0.65, 0., 1.);
    visit("validThreshold", p.validThreshold, 0.7, 0., 1.);
    visit("maxPositives", p.maxPositives, 200, 2, MAX_POSITIVES);
    visit("maxNegatives", p.maxNegatives, 400, 2, MAX_NEGATIVES);
    // learning,
    visit("initWindows", p.initWindows, 20, 1, MAX_NEAR);
    visit("initWarps", p.initWarps, 19, 0, MAX_WARPS);
    visit("updateWindows", p.updateWindows, 10, 1, MAX_NEAR);
    visit("updateWarps", p.updateWarps, 9, 0, MAX_WARPS);
    visit("initAngle", p.initAngle, 10., 0., 45.);
    visit("updateAngle", p.updateAngle, 5., 0., 45.);
    visit("warpScale", p.warpScale, 0.01, 0., 0.5);
    visit("warpShift", p.warpShift, 0.01, 0., 0.5);
    visit("warpNoise", p.warpNoise, 5., 0., 64.);
    visit("initNegatives", p.initNegatives, 100, 2, MAX_INIT_NEGATIVES);
    // optical flow,
    visit("flowWindow", p.flowWindow, 9, 3, MAX_FLOW_WINDOW);
    visit("flowLevels", p.flowLevels, 5, 0, MAX_LEVELS - 1);
    visit("flowIterations", p.flowIterations, 20, 1, 100);
    visit("flowEpsilon", p.flowEpsilon, 0.03, 0., 16.);
    visit("maxFlowError", p.maxFlowError, 10., 0., static_cast<double>(MAX_SIDE));
    visit("retryFrames", p.retryFrames, 3, 0, KEPT_FRAMES - 2);
    // states.
    visit("maxUnsupported", p.maxUnsupported, 3, 0, INT_MAX);
    visit("maxProbation", p.maxProbation, 100, 0, INT_MAX);
    visit("jumpMargin", p.jumpMargin, 0.1, 0., 1.);
    visit("firstJumpMargin", p.firstJumpMargin, 0.2, 0., 1.);
    // Boxes of a detector: switches, too.
    visit("boxOverlap", p.boxOverlap, 0.3, 0.01, 1.);
    visit("verifyBoxes", p.verifyBoxes, false, false, true);
    visit("correctByBoxes", p.correctByBoxes, false, false, true);
    visit("findByBoxes", p.findByBoxes, false, false, true);
    visit("startFromBoxes", p.startFromBoxes, false, false, true);
    visit("endAfterMisses", p.endAfterMisses, 0, 0, INT_MAX);
}

//! @throws cv::Exception naming the class and the member that is out of range.
void checkParameters(const TLDParams& params, const char* owner);
//! Checks and converts parameters. @throws cv::Exception as checkParameters().
Settings settingsOf(const TLDParams& params, const char* owner);

}}} // namespace cv::cuda::tld

#endif // OPENCV_CUDATRACKING_TLD_SETTINGS_HPP
