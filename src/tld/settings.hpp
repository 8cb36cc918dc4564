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
    visit("seed", p.seed, 1, 0, INT_MAX);
    visit("learning", p.learning, true, false, true);
    visit("mirror", p.mirror, false, false, true);
    visit("filter", p.filter, true, false, true);
    visit("minReplyScore", p.minReplyScore, 0.f, 0.f, 1.f);
    visit("maxUnsupported", p.maxUnsupported, 3, 0, INT_MAX);
    visit("clipBoxes", p.clipBoxes, false, false, true);
    visit("minWindow", p.minWindow, 0, 0, MAX_SIDE);
    visit("scaleFactor", p.scaleFactor, 1.2, 1.01, 2.);
    visit("scales", p.scales, 10, 0, (MAX_SCALES - 1) / 2);
    visit("maxDetections", p.maxDetections, 100, 1, MAX_DETECTIONS);
    visit("boxOverlap", p.boxOverlap, 0.3, 0.01, 1.);
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
