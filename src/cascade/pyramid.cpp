// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Stage makePyramid, on the host for both backends.
#include "../precomp.hpp"
#include "stages.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace cascade {

namespace {

const size_t MAX_POWERS = 1 << 20; // powers of the scale factor, before the limits of object sizes

//! Lists all powers of the scale factor at which the window fits into the image.
std::vector<float> powersOf(int cols, int rows, const Task& task)
{
    std::vector<float> factors;
    for (double factor = 1.;; factor *= task.settings.scaleFactor)
    {
        const double width = task.model->width * factor, height = task.model->height * factor;
        if (width > cols + 1. || height > rows + 1.) // before the conversion, as an int may not hold it
            return factors;
        if (roundEven(width) > cols || roundEven(height) > rows)
            return factors;
        if (factors.size() == MAX_POWERS)
            CV_Error_(Error::StsOutOfRange,
                      ("CascadeClassifierEx: scaleFactor %.17g is too near to 1", task.settings.scaleFactor));
        factors.push_back(static_cast<float>(factor));
    }
}

//! Lists the indices of factors within the limits of object sizes; if there are none, that of the size nearest to the
//! minimum.
std::vector<int> chosenOf(const std::vector<float>& factors, int cols, int rows, const Task& task)
{
    const Settings& s = task.settings;
    const bool limited = s.maxSize.width != 0 && s.maxSize.height != 0;
    const int maxWidth = limited ? s.maxSize.width : cols, maxHeight = limited ? s.maxSize.height : rows;
    std::vector<int> chosen;
    int nearest = -1;
    double least = 0.;
    for (size_t i = 0; i < factors.size(); ++i)
    {
        const int width = boxSide(task.model->width, factors[i]), height = boxSide(task.model->height, factors[i]);
        if (width > maxWidth || height > maxHeight)
            break;
        if (width >= s.minSize.width && height >= s.minSize.height)
            chosen.push_back(static_cast<int>(i));
    }
    for (size_t i = 0; chosen.empty() && i < factors.size(); ++i)
    {
        const double dx = static_cast<double>(s.minSize.width) - boxSide(task.model->width, factors[i]);
        const double dy = static_cast<double>(s.minSize.height) - boxSide(task.model->height, factors[i]);
        const double far = dx * dx + dy * dy;
        if (nearest < 0 || far < least)
        {
            nearest = static_cast<int>(i);
            least = far;
        }
    }
    if (nearest >= 0)
        chosen.push_back(nearest);
    return chosen;
}

//! Appends the taps of one axis. @return index of the first.
int addTaps(std::vector<Tap>& taps, int dst, int src)
{
    const int first = static_cast<int>(taps.size());
    for (int d = 0; d < dst; ++d)
        taps.push_back(tapOf(d, dst, src));
    return first;
}

Layer layerOf(float factor, int cols, int rows, std::vector<Tap>& taps)
{
    Layer layer = {factor, layerSide(cols, factor), layerSide(rows, factor), stepOf(factor), 0, 0};
    layer.columnTaps = addTaps(taps, layer.cols, cols);
    layer.rowTaps = addTaps(taps, layer.rows, rows);
    return layer;
}

//! Makes the grid of a model on a layer. @param stripes number of the first layer: see placesInStripes().
Grid gridOf(const Layer& layer, const Model& model, int stripes)
{
    const int columns = std::max(layer.cols + 1 - model.width, 0), rows = std::max(layer.rows + 1 - model.height, 0);
    return {detail::ceilDiv(columns, layer.step),
            detail::ceilDiv(placesInStripes(rows, layer.step, stripes), layer.step), boxSide(model.width, layer.factor),
            boxSide(model.height, layer.factor)};
}

} // namespace

Pyramid makePyramid(int cols, int rows, const Task& task)
{
    Pyramid pyramid;
    pyramid.cols = cols;
    pyramid.rows = rows;
    const std::vector<float> factors = powersOf(cols, rows, task);
    const std::vector<int> chosen = chosenOf(factors, cols, rows, task);
    if (chosen.size() > static_cast<size_t>(MAX_SCALES))
        CV_Error_(Error::StsOutOfRange,
                  ("CascadeClassifierEx: scaleFactor %.17g makes %zu scales of an image of %d x %d, "
                   "and %d are the most",
                   task.settings.scaleFactor, chosen.size(), cols, rows, MAX_SCALES));
    int stripes = 0;
    for (const int power : chosen)
    {
        const Layer layer = layerOf(factors[power], cols, rows, pyramid.taps);
        if (pyramid.layers.empty())
            stripes = detail::ceilDiv(std::max(layer.cols + 1 - task.model->width, 0), 32);
        pyramid.layers.push_back(layer);
        pyramid.grids.push_back(gridOf(layer, *task.model, stripes));
    }
    return pyramid;
}

}}} // namespace cv::cuda::cascade
