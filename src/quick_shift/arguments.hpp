// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Checks of QuickShift's arguments. Each throws cv::Exception with the argument's name, its value and the allowed
// range.
#ifndef OPENCV_CUDATRACKING_QUICK_SHIFT_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_QUICK_SHIFT_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include <string>

namespace cv { namespace cuda { namespace quick_shift {

void checkAtLeast(int least, const char* name, int value);
//! @param most largest tau for which results have links; +inf without results.
void checkTau(double tau, double most);
void checkTile(Size tile);

//! Checks depth and channels of an image.
void checkImageType(const std::string& name, int type);
//! Checks type and size of an image.
void checkImage(const std::string& name, int type, Size size);
//! @param image name of the image that the mask belongs to. An empty mask is no mask.
void checkMask(const std::string& name, int type, Size size, const std::string& image, Size imageSize);
//! Checks type, size and values of the noise on the densities of an image.
void checkNoise(const Mat& noise, Size imageSize);
//! Checks the number of pixels of `count` images of one size. @param name name of the argument.
void checkPixels(const char* name, Size size, size_t count);
//! Checks that both are on the host, or both on the device.
void checkSameMemory(const char* name, InputArray mask, const char* imageName, InputArray image);

}}} // namespace cv::cuda::quick_shift

#endif // OPENCV_CUDATRACKING_QUICK_SHIFT_ARGUMENTS_HPP
