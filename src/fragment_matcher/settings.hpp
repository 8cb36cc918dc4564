// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parameters of FragmentMatcher: name, member, default and range of each, once. Defaults, checks, reading and writing
// are made of this list.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_SETTINGS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_SETTINGS_HPP

#include "../precomp.hpp"
#include "../common/parameters.hpp"
#include "stages.hpp"
#include <climits>

namespace cv { namespace cuda { namespace fragment_matcher {

const int MAX_SIDE = 32767; //!< longest side of frames and fragments, pixels

typedef FragmentMatcher::Params Params;

//! Returns the highest number of a metric; the first is 0, and there are no gaps.
inline int lastMetric()
{
    int last = 0;
    while (isMetric(last + 1))
        ++last;
    return last;
}

//! Returns all parameters in the order of files.
inline auto allParameters()
{
    typedef FragmentMatcher FM;
    using detail::Parameter;
    return std::make_tuple(
        Parameter<Params, int>{"metric", &Params::metric, FM::SAD, 0, lastMetric()},
        Parameter<Params, int>{"exclusion", &Params::exclusion, FM::SQUARE, FM::SQUARE, FM::CROSS},
        Parameter<Params, int>{"exclusionDistance", &Params::exclusionDistance, 0, 0, MAX_SIDE},
        Parameter<Params, int>{"peaks", &Params::peaks, 2, 1, MAX_PEAKS},
        Parameter<Params, bool>{"subpixel", &Params::subpixel, false, false, true},
        Parameter<Params, int>{"subpixelFit", &Params::subpixelFit, FM::PARABOLA, FM::PARABOLA, FM::GAUSSIAN},
        Parameter<Params, int>{"search", &Params::search, FM::FULL, FM::FULL, FM::THREE_STEP},
        Parameter<Params, Size>{"maxSearchArea", &Params::maxSearchArea, Size(), Size(), Size(INT_MAX, INT_MAX)});
}

//! Checks all parameters. @throws cv::Exception with name and value of the first one out of its range, or of a fit that
//! the metric does not have.
void checkParams(const Params& params);
//! Reads and checks parameters; those that the node lacks keep the values given. @throws cv::Exception if one is
//! malformed or out of range.
Params readParams(const FileNode& node, Params params);
void writeParams(FileStorage& storage, const Params& params);
//! Returns the parameters as stages need them.
Settings settingsOf(const Params& params);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_SETTINGS_HPP
