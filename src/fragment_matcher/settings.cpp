// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "settings.hpp"

namespace cv { namespace cuda {

FragmentMatcher::Params::Params() { detail::setDefaults(*this, fragment_matcher::allParameters()); }

namespace fragment_matcher {

void checkParams(const Params& params)
{
    detail::checkRanges(params, allParameters());
    if (params.subpixelFit == FragmentMatcher::GAUSSIAN && params.metric != FragmentMatcher::ZNCC)
        CV_Error_(Error::StsBadArg, ("Params::subpixelFit: %d (GAUSSIAN), which is for ZNCC (%d), but Params::metric "
                                     "is %d",
                                     params.subpixelFit, FragmentMatcher::ZNCC, params.metric));
}

Params readParams(const FileNode& node, Params params)
{
    detail::readParameters("FragmentMatcher", node, params, allParameters());
    checkParams(params);
    return params;
}

void writeParams(FileStorage& storage, const Params& params)
{
    detail::writeParameters(storage, params, allParameters());
}

Settings settingsOf(const Params& p)
{
    return {
        static_cast<Metric>(p.metric), p.exclusion, p.exclusionDistance, p.peaks, p.search, p.subpixel, p.subpixelFit};
}

} // namespace fragment_matcher

}} // namespace cv::cuda
