// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "arguments.hpp"
#include <cmath>

namespace cv { namespace cuda { namespace tld {

InputImage::InputImage(const char* owner, InputArray image) : Array("image", image)
{
    const int cn = CV_MAT_CN(type());
    if (size().empty())
        CV_Error_(Error::StsBadSize, ("%s: image: is empty", owner));
    if (CV_MAT_DEPTH(type()) != CV_8U || (cn != 1 && cn != 3 && cn != 4))
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: image: takes CV_8U with 1, 3 or 4 channels, this is %s", owner, typeToString(type()).c_str()));
    const int least = std::min(size().width, size().height), most = std::max(size().width, size().height);
    if (least < MIN_SIDE || most > MAX_SIDE || static_cast<int64_t>(least) * most > MAX_PIXELS)
        CV_Error_(Error::StsBadSize,
                  ("%s: image: %d x %d pixels; sides of %d to %d pixels are taken, and up to %d pixels in all", owner,
                   size().width, size().height, MIN_SIDE, MAX_SIDE, MAX_PIXELS));
}

InputBoxes::InputBoxes(const char* owner, InputArray boxes, bool imageOnDevice)
    : given(boxes.kind() != _InputArray::NONE)
{
    if (detail::onDevice(boxes))
    {
        device = detail::deviceArray("boxes", boxes);
        if (!imageOnDevice)
            CV_Error_(Error::StsBadArg, ("%s: boxes: are on the device, but the image is not", owner));
        if (!device.empty() && (device.type() != CV_32SC4 || device.rows != 1))
            CV_Error_(device.rows == 1 ? Error::StsUnsupportedFormat : Error::StsBadSize,
                      ("%s: boxes: a GpuMat must be one row of CascadeClassifierEx::detectAsync(), "
                       "CV_32SC4, this has %d rows of %s",
                       owner, device.rows, typeToString(device.type()).c_str()));
        return;
    }
    const Mat host = detail::columnArray("boxes", boxes);
    if (host.empty())
        return;
    const bool flat = host.channels() == 1 && host.cols == 4; // of any depth, so that messages count boxes
    const size_t count = flat ? static_cast<size_t>(host.rows) : host.total();
    if (count > static_cast<size_t>(MAX_BOXES))
        CV_Error_(Error::StsOutOfRange, ("%s: boxes: %zu, but at most %d are taken", owner, count, MAX_BOXES));
    const detail::ListView view = detail::listOf("boxes", host, 4, static_cast<int>(count));
    for (int i = 0; i < view.count; ++i)
        list.push_back(*view.as<Window>().row(i));
}

DetectorBoxes InputBoxes::view() const
{
    static const Window none = {0, 0, 0, 0}; // an address: a list without boxes is not the same as no list
    if (!given)
        return {nullptr, 0, false};
    if (!device.empty())
        return {reinterpret_cast<const Window*>(device.data), std::min(device.cols - 1, MAX_BOXES), true};
    return {list.empty() ? &none : list.data(), static_cast<int>(list.size()), false};
}

std::vector<Window> InputBoxes::fetch(const char* owner, StreamHandle stream) const
{
    if (device.empty())
        return list;
    const int most = view().count;
    std::vector<Window> row(1 + static_cast<size_t>(most));
    const size_t bytes = row.size() * sizeof(Window);
    detail::fetch(owner, "starting or ending objects by boxes",
                  {{device.data, device.step, row.data(), bytes, bytes, 1}}, stream);
    row.resize(1 + std::max(0, std::min(row[0].x, most)));
    row.erase(row.begin());
    return row;
}

Window windowOf(const Rect& box) { return {box.x, box.y, box.width, box.height}; }

Rect rounded(const char* owner, const Rect2d& box)
{
    const double sides[4] = {box.x, box.y, box.x + box.width, box.y + box.height};
    for (const double side : sides)
        if (!(std::abs(side) <= 1e6))
            CV_Error_(Error::StsOutOfRange,
                      ("%s: box: %g, %g, %g x %g is not inside any image", owner, box.x, box.y, box.width, box.height));
    const int left = cvRound(sides[0]), top = cvRound(sides[1]);
    return Rect(left, top, cvRound(sides[2]) - left, cvRound(sides[3]) - top);
}

}}} // namespace cv::cuda::tld
