// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "arguments.hpp"
#include "core.hpp"
#include <cmath>

namespace cv { namespace cuda { namespace quick_shift {

// --- numbers ---------------------------------------------------------------------------------------------------------

void checkAtLeast(int least, const char* name, int value)
{
    if (value < least)
        CV_Error_(Error::StsOutOfRange, ("%s: %d, but it must be at least %d", name, value, least));
}

void checkTau(double tau, double most)
{
    if (!(tau > 0.))
        CV_Error_(Error::StsOutOfRange, ("tau: %.10g, but it must be above 0", tau));
    if (tau > most)
        CV_Error_(Error::StsOutOfRange,
                  ("tau: %.10g, but it must be at most %.10g, the maxDist of the last compute()", tau, most));
}

void checkTile(Size tile)
{
    if (tile.width < 1 || tile.height < 1)
        CV_Error_(Error::StsOutOfRange, ("tile: %d x %d, but each side must be at least 1", tile.width, tile.height));
}

// --- images ----------------------------------------------------------------------------------------------------------

void checkImageType(const std::string& name, int type)
{
    const int depth = CV_MAT_DEPTH(type);
    if ((depth != CV_8U && depth != CV_16U && depth != CV_32F) || CV_MAT_CN(type) > MAX_CHANNELS)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: type %s, but CV_8U, CV_16U or CV_32F with 1 to %d channels is needed", name.c_str(),
                   typeToString(type).c_str(), MAX_CHANNELS));
}

void checkImage(const std::string& name, int type, Size size)
{
    checkImageType(name, type);
    if (size.width > MAX_SIDE || size.height > MAX_SIDE)
        CV_Error_(Error::StsBadSize, ("%s: size %d x %d, but each side must be at most %d", name.c_str(), size.width,
                                      size.height, MAX_SIDE));
}

void checkMask(const std::string& name, int type, Size size, const std::string& image, Size imageSize)
{
    if (size.empty())
        return;
    if (type != CV_8UC1)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: type %s, but CV_8UC1 is needed", name.c_str(), typeToString(type).c_str()));
    if (size != imageSize)
        CV_Error_(Error::StsUnmatchedSizes, ("%s: size %d x %d differs from %s's %d x %d", name.c_str(), size.width,
                                             size.height, image.c_str(), imageSize.width, imageSize.height));
}

void checkNoise(const Mat& noise, Size imageSize)
{
    if (noise.type() != CV_64FC1)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("noise: type %s, but CV_64FC1 is needed", typeToString(noise.type()).c_str()));
    if (noise.size() != imageSize)
        CV_Error_(Error::StsUnmatchedSizes, ("noise: size %d x %d differs from image's %d x %d", noise.cols, noise.rows,
                                             imageSize.width, imageSize.height));
    for (int y = 0; y < noise.rows; ++y)
        for (int x = 0; x < noise.cols; ++x)
            if (!std::isfinite(noise.at<double>(y, x)))
                CV_Error_(Error::StsOutOfRange,
                          ("noise: %g at (%d, %d), but it must be finite", noise.at<double>(y, x), x, y));
}

void checkPixels(const char* name, Size size, size_t count)
{
    const double pixels = static_cast<double>(size.width) * size.height * static_cast<double>(count);
    if (pixels > MAX_PIXELS)
        CV_Error_(Error::StsBadSize, ("%s: %zu of %d x %d are %.0f pixels, but there must be at most %d", name, count,
                                      size.width, size.height, pixels, MAX_PIXELS));
}

void checkSameMemory(const char* name, InputArray mask, const char* imageName, InputArray image)
{
    if (detail::onDevice(mask) != detail::onDevice(image))
        CV_Error_(Error::StsBadArg, ("%s: must lie where %s lies, both in Mat or both in GpuMat", name, imageName));
}

}}} // namespace cv::cuda::quick_shift
