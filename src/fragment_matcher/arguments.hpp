// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// Conversion of cv::InputArray to fragments, areas and locations, with all checks of arguments.
#ifndef OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"
#include "settings.hpp"
#include <string>

namespace cv { namespace cuda { namespace fragment_matcher {

const int MAX_FRAGMENTS = 100000;

//! Returns the view of a frame or template; throws unless it is CV_8U or CV_16U of 1, 3 or 4 channels with sides of 1
//! to MAX_SIDE.
ByteImageView imageOf(const std::string& name, const Mat& image);
ByteImageView imageOf(const std::string& name, const GpuMat& image);

//! Returns a checked fragment; one in host memory is a copy. The caller sets id and version.
Fragment fragmentFrom(InputArray templ, InputArray weights);
//! Returns the fragments of an array of arrays (or of a single image), at least one. weights may be noArray().
std::vector<Fragment> fragmentsFrom(InputArrayOfArrays templates, InputArrayOfArrays weights);
std::vector<Fragment> fragmentsFrom(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights);

//! Returns true for noArray(), and for an array without a size that was never allocated, into which Python's None is
//! converted.
bool isNone(InputArray array);
//! Returns search areas in host memory; throws if a width or height is negative.
std::vector<Rect4> areasFrom(InputArray searchAreas, int count);
//! Throws unless `locations` is a list of points, as in FragmentMatcher::setPredictions().
void checkLocations(const char* name, Size size, int type);

}}} // namespace cv::cuda::fragment_matcher

#endif // OPENCV_CUDATRACKING_FRAGMENT_MATCHER_ARGUMENTS_HPP
