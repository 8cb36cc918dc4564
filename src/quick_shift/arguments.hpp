// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Checks of QuickShift's arguments. Each throws cv::Exception with the argument's name, its value and what is allowed.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include <string>

namespace cv { namespace cuda { namespace quick_shift {

void checkSigma(double sigma);
void checkMaxDist(double maxDist);
//! @param name colorScale, or scales[k].
void checkScale(const std::string& name, double scale);
void checkSearchRadius(int radius);
void checkTieRule(int rule);
void checkAtLeastOne(const char* name, int value);
//! @param most largest tau that results have links for; +inf without results.
void checkTau(double tau, double most);
void checkTile(Size tile);

//! A type that compute() takes.
void checkImageType(const std::string& name, int type);
//! A type and a size that compute() takes.
void checkImage(const std::string& name, int type, Size size);
//! @param image name of the image that the mask belongs to. An empty mask is none.
void checkMask(const std::string& name, int type, Size size, const std::string& image, Size imageSize);
//! @param name of the image or the images, all of that size.
void checkPixels(const char* name, Size size, size_t count);
void checkSameSide(const char* name, InputArray mask, const char* imageName, InputArray image);

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_ARGUMENTS_HPP
