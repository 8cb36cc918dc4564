// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Checks the arguments of calls and turns arrays into views.
#ifndef OPENCV_CUDATRACKING_CASCADE_ARGUMENTS_HPP
#define OPENCV_CUDATRACKING_CASCADE_ARGUMENTS_HPP

#include "../precomp.hpp"
#include "../common/arrays.hpp"
#include "engine.hpp"

namespace cv { namespace cuda { namespace cascade {

//! @param index of the image in its list; -1: there is no list.
inline void checkImage(const char* name, Size size, int type, int index = -1)
{
    if (size.empty())
        return;
    const int channels = CV_MAT_CN(type);
    if (CV_MAT_DEPTH(type) != CV_8U || (channels != 1 && channels != 3 && channels != 4))
        CV_Error_(Error::StsUnsupportedFormat,
                  ("CascadeClassifierEx: %s: takes CV_8U with 1, 3 or 4 channels, this is %s",
                   detail::elementName(name, index).c_str(), typeToString(type).c_str()));
    if (size.width > MAX_SIDE || size.height > MAX_SIDE)
        CV_Error_(Error::StsBadSize, ("CascadeClassifierEx: %s: %d x %d pixels, sides can have %d",
                                      detail::elementName(name, index).c_str(), size.width, size.height, MAX_SIDE));
}

inline void checkMask(const char* name, Size mask, int type, Size image, int index)
{
    if (mask.empty())
        return;
    if (type != CV_8UC1)
        CV_Error_(Error::StsUnsupportedFormat, ("CascadeClassifierEx: %s: must be CV_8UC1, this is %s",
                                                detail::elementName(name, index).c_str(), typeToString(type).c_str()));
    if (mask != image)
        CV_Error_(Error::StsUnmatchedSizes,
                  ("CascadeClassifierEx: %s: %d x %d pixels, its image has %d x %d",
                   detail::elementName(name, index).c_str(), mask.width, mask.height, image.width, image.height));
}

inline const char* imageName(bool list) { return list ? "images" : "image"; }
inline const char* maskName(bool list) { return list ? "masks" : "mask"; }

//! Images and masks of a call. Owns the arrays whose views are in the request.
class Inputs
{
public:
    Inputs(InputArrayOfArrays images, InputArrayOfArrays masks) : onDevice(detail::onDevice(images))
    {
        // A list in which all masks are empty belongs to neither host nor device.
        if (onDevice ? !detail::isEmpty(masks) && !detail::onDevice(masks) : detail::onDevice(masks))
            CV_Error_(Error::StsBadArg, ("CascadeClassifierEx: the mask is on the %s, but the image is on the %s",
                                         onDevice ? "host" : "device", onDevice ? "device" : "host"));
        const bool list = detail::isList(images); // messages name elements
        images_ = detail::arraysOf(imageName(list), images);
        if (!onDevice && detail::areRowsOfOne(detail::hostArrays(imageName(list), images)))
            CV_Error_(Error::StsBadArg,
                      ("CascadeClassifierEx: images: a list of arrays is needed, these are %zu rows of one "
                       "array; in Python one image is given as [image]",
                       images_.size()));
        if (!onDevice || !masks.empty())
            masks_ = detail::arraysOf(maskName(list), masks);
        if (!masks_.empty() && masks_.size() != images_.size())
            CV_Error_(Error::StsUnmatchedSizes,
                      ("CascadeClassifierEx: masks: %zu, but there are %zu images", masks_.size(), images_.size()));
        if (images_.size() > static_cast<size_t>(MAX_IMAGES))
            CV_Error_(Error::StsOutOfRange,
                      ("CascadeClassifierEx: %zu images, %d are the most", images_.size(), MAX_IMAGES));
        for (size_t i = 0; i < images_.size(); ++i)
        {
            const int index = list ? static_cast<int>(i) : -1;
            checkImage(imageName(list), images_[i].size(), images_[i].type(), index);
            if (!masks_.empty())
                checkMask(maskName(list), masks_[i].size(), masks_[i].type(), images_[i].size(), index);
        }
    }
    Request request(const Task& task) const
    {
        Request request;
        request.task = task;
        for (const detail::Array& image : images_)
            request.images.push_back(image.view());
        for (const detail::Array& mask : masks_)
            request.masks.push_back(mask.view());
        return request;
    }

    const bool onDevice;

private:
    std::vector<detail::Array> images_, masks_;
};

//! The output arrays of a call.
struct TableOutputs
{
    detail::Output objects, numDetections, levelWeights;

    TableOutputs(const _OutputArray& boxes, const _OutputArray& counts, const _OutputArray& weights, int rows, int most,
                 const detail::ResultsPlace& place)
        : objects("objects", boxes, rows, rows == 0 ? 0 : 1 + most, CV_32SC4, place),
          numDetections("numDetections", counts, rows, most, CV_32SC1, place),
          levelWeights("levelWeights", weights, rows, most, CV_64FC1, place)
    {}
    Table allocate() { return {objects.allocate(), numDetections.allocate(), levelWeights.allocate()}; }
};

inline std::vector<Rect> rectsOf(const std::vector<Box>& boxes)
{
    std::vector<Rect> rects;
    rects.reserve(boxes.size());
    for (const Box& b : boxes)
        rects.emplace_back(b.x, b.y, b.width, b.height);
    return rects;
}

}}} // namespace cv::cuda::cascade

#endif // OPENCV_CUDATRACKING_CASCADE_ARGUMENTS_HPP
