// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShift::computeStack(): computeBatch() of images that lie in one array.
#include "arguments.hpp"
#include "core.hpp"

namespace cv { namespace cuda {

using namespace quick_shift;

//! Returns the images of a stack, without copying pixels.
static std::vector<Mat> imagesOf(const Mat& stack)
{
    // An array of two dimensions is N x height, with the image's columns as channels.
    const bool flat = stack.dims == 2;
    const int cols = flat ? stack.channels() : stack.size[2];
    const int channels = flat ? 1 : stack.dims == 3 ? stack.channels() : stack.channels() * stack.size[3];
    if (stack.dims > 4 || channels > MAX_CHANNELS)
        CV_Error_(Error::StsBadSize,
                  ("images: an array of %d dimensions and %d channels, but a stack has N x height x width pixels of 1 "
                   "to %d channels",
                   stack.dims, channels, MAX_CHANNELS));
    std::vector<Mat> images;
    for (int i = 0; i < stack.size[0]; ++i)
        images.emplace_back(stack.size[1], cols, CV_MAKETYPE(stack.depth(), channels), stack.data + i * stack.step[0]);
    return images;
}

void QuickShift::computeStack(InputArray images, OutputArrayOfArrays labels, InputArrayOfArrays masks, Stream& stream)
{
    if (!images.isMat() && !images.isUMat())
        return computeBatch(images, labels, masks, stream);
    const Mat given = images.getMat();
    if (given.empty())
    {
        if (given.dims > 2 && given.size[0] > 0)
            CV_Error(Error::StsBadSize, "images[0]: is empty");
        return computeBatch(std::vector<Mat>(), labels, masks, stream);
    }
    if (given.dims <= 2 && given.channels() <= MAX_CHANNELS) // one image, which computeBatch() refuses
        return computeBatch(images, labels, masks, stream);
    const Mat whole = given.isContinuous() ? given : given.clone();
    computeBatch(imagesOf(whole), labels, masks, stream);
}

}} // namespace cv::cuda
