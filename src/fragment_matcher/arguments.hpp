// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// From cv::InputArray to fragments, areas and locations, with all checks of arguments.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"
#include <string>

namespace cv { namespace cuda { namespace fragment_matcher {

const int MAX_SIDE = 32767, MAX_FRAGMENTS = 100000, MAX_ZNCC_PIXELS = 232 * 232;

void checkParams(const FragmentMatcher::Params& params);
Settings settingsOf(const FragmentMatcher::Params& params);

//! A frame or template as kernels read it: CV_8UC1, CV_8UC3 or CV_8UC4 of a legal size.
ByteImageView imageOf(const std::string& name, const Mat& image);
ByteImageView imageOf(const std::string& name, const GpuMat& image);

//! Fragments are checked; on the host they have copies of their own. id and version are the caller's to set.
Fragment fragmentFrom(InputArray templ, InputArray weights);
//! All of an array of arrays (or of a single image), at least one. weights may be noArray().
std::vector<Fragment> fragmentsFrom(InputArrayOfArrays templates, InputArrayOfArrays weights);
std::vector<Fragment> fragmentsFrom(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights);

//! noArray(), or an array that never was anything, which Python makes of None.
bool isNone(InputArray array);
//! Areas on the host, which must not be negative.
std::vector<Rect4> areasFrom(InputArray searchAreas, int count);
//! Throws unless it is a list of points. @param locations as in FragmentMatcher::setPredictions().
template <typename Array> void checkLocations(const char* name, const Array& locations)
{
    const bool flat = locations.type() == CV_32SC1 && locations.cols == 2;
    if (locations.type() != CV_32SC2 && !flat)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: %d x %d elements of %s, but CV_32SC2 or two columns of CV_32SC1 are needed", name,
                   locations.rows, locations.cols, typeToString(locations.type()).c_str()));
}

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP
