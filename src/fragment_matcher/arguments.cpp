// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "arguments.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

using detail::Array;
using detail::arraysOf;
using detail::onDevice;

static void checkImage(const std::string& name, int type, Size size)
{
    const int depth = CV_MAT_DEPTH(type), channels = CV_MAT_CN(type);
    if ((depth != CV_8U && depth != CV_16U) || (channels != 1 && channels != 3 && channels != 4))
        CV_Error_(Error::StsUnsupportedFormat, ("%s: type %s, but CV_8U or CV_16U with 1, 3 or 4 channels is needed",
                                                name.c_str(), typeToString(type).c_str()));
    if (size.width < 1 || size.height < 1 || size.width > MAX_SIDE || size.height > MAX_SIDE)
        CV_Error_(Error::StsBadSize,
                  ("%s: size %d x %d, but each side must be 1..%d", name.c_str(), size.width, size.height, MAX_SIDE));
}

template <typename Image> static ByteImageView imageView(const std::string& name, const Image& image)
{
    checkImage(name, image.type(), image.size());
    const int stride = static_cast<int>(image.elemSize());
    return {image.data, image.step, image.cols, image.rows, stride, image.channels() == 1 ? 1 : 3};
}

ByteImageView imageOf(const std::string& name, const Mat& image) { return imageView(name, image); }
ByteImageView imageOf(const std::string& name, const GpuMat& image) { return imageView(name, image); }

// --- fragments -------------------------------------------------------------------------------------------------------

namespace {

//! Owner of the memory that a fragment's source points to.
template <typename Image> struct Owner
{
    Image templ, weights;
};

void checkWeights(const std::string& name, int type, Size size, Size templ)
{
    if (type != CV_8UC1 && type != CV_32FC1)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: type %s, but CV_8UC1 or CV_32FC1 is needed", name.c_str(), typeToString(type).c_str()));
    if (size != templ)
        CV_Error_(Error::StsUnmatchedSizes, ("%s: size %d x %d differs from the template's %d x %d", name.c_str(),
                                             size.width, size.height, templ.width, templ.height));
}

//! Returns the 8-bit weights of a fragment in host memory; empty if all are 255.
Mat quantised(const std::string& name, const Mat& weights)
{
    Mat q(weights.size(), CV_8UC1);
    if (weights.depth() == CV_8U)
        weights.copyTo(q);
    for (int y = 0; y < weights.rows && weights.depth() == CV_32F; ++y)
    {
        const int wrong = cpu::quantiseRow(weights.ptr<float>(y), weights.cols, q.ptr(y));
        if (wrong >= 0)
            CV_Error_(Error::StsOutOfRange, ("%s: value %.9g at (%d, %d) is not in [0, 1]", name.c_str(),
                                             weights.at<float>(y, wrong), wrong, y));
    }
    if (countNonZero(q) == 0)
        CV_Error_(Error::StsOutOfRange,
                  ("%s: their sum is 0 when rounded to 0..255, so everything would match", name.c_str()));
    return countNonZero(q == 255) == static_cast<int>(q.total()) ? Mat() : q;
}

template <typename Image> Fragment fragmentOf(const std::string& name, const Image& templ)
{
    Fragment fragment = {};
    fragment.source.templ = imageOf(name, templ);
    const int channels = fragment.source.templ.channels;
    const int64_t pixels = static_cast<int64_t>(templ.cols) * templ.rows, most = MAX_SAMPLES / channels;
    if (pixels > most)
        CV_Error_(Error::StsOutOfRange, ("%s: %d x %d pixels, but with %d channels at most %lld are possible",
                                         name.c_str(), templ.cols, templ.rows, channels, static_cast<long long>(most)));
    fragment.type = templ.type();
    fragment.width = templ.cols;
    fragment.height = templ.rows;
    return fragment;
}

Fragment makeFragment(const std::string& name, const Mat& templ, const std::string& weightsName, const Mat& weights)
{
    Fragment fragment = fragmentOf(name, templ);
    const auto owner = std::make_shared<Owner<Mat>>();
    if (!weights.empty())
    {
        checkWeights(weightsName, weights.type(), weights.size(), templ.size());
        owner->weights = quantised(weightsName, weights);
    }
    if (templ.channels() == 4)
        cvtColor(templ, owner->templ, COLOR_BGRA2BGR);
    else
        templ.copyTo(owner->templ);
    const Mat& q = owner->weights;
    fragment.weighted = !q.empty();
    fragment.source = {imageOf(name, owner->templ), q.data, q.empty() ? size_t(0) : static_cast<size_t>(q.step),
                       q.empty() ? WEIGHTS_NONE : WEIGHTS_8U};
    const int channels = fragment.source.templ.channels;
    fragment.sums = templ.depth() == CV_16U
                        ? cpu::templateSums(owner->templ.ptr<ushort>(), q.data, templ.cols, templ.rows, channels)
                        : cpu::templateSums(owner->templ.data, q.data, templ.cols, templ.rows, channels);
    fragment.owner = owner;
    return fragment;
}

Fragment makeFragment(const std::string& name, const GpuMat& templ, const std::string& weightsName,
                      const GpuMat& weights)
{
    Fragment fragment = fragmentOf(name, templ);
    const auto owner = std::make_shared<Owner<GpuMat>>();
    owner->templ = templ;
    fragment.onDevice = true;
    if (!weights.empty())
    {
        checkWeights(weightsName, weights.type(), weights.size(), templ.size());
        owner->weights = weights;
        fragment.weighted = true;
        fragment.source.weights = weights.data;
        fragment.source.weightsStep = weights.step;
        fragment.source.weightsDepth = weights.depth() == CV_8U ? WEIGHTS_8U : WEIGHTS_32F;
    }
    fragment.owner = owner;
    return fragment;
}

//! Throws if there are too few or too many fragments. @param name argument that has one element per fragment.
void checkCount(const char* name, size_t count)
{
    if (count < 1 || count > static_cast<size_t>(MAX_FRAGMENTS))
        CV_Error_(Error::StsOutOfRange, ("%s: %zu given, but 1 to %d are possible; clear() removes all fragments", name,
                                         count, MAX_FRAGMENTS));
}

Fragment makeFragment(const std::string& name, const Array& templ, const std::string& weightsName, const Array& weights)
{
    return templ.onDevice ? makeFragment(name, templ.device, weightsName, weights.device)
                          : makeFragment(name, templ.host, weightsName, weights.host);
}

std::vector<Fragment> makeFragments(const char* name, const std::vector<Array>& templates, InputArrayOfArrays covers)
{
    const std::vector<Array> weights = covers.empty() ? std::vector<Array>() : arraysOf("weights", covers);
    checkCount(name, templates.size());
    if (!weights.empty() && weights.size() != templates.size())
        CV_Error_(Error::StsUnmatchedSizes,
                  ("weights: %zu given for %zu fragments; give none, or one for each (which may be empty)",
                   weights.size(), templates.size()));
    std::vector<Fragment> fragments;
    for (size_t i = 0; i < templates.size(); ++i)
    {
        const std::string index = format("[%zu]", i);
        fragments.push_back(
            makeFragment(name + index, templates[i], "weights" + index, weights.empty() ? Array() : weights[i]));
        if (templates[i].type() != templates[0].type())
            CV_Error_(Error::StsUnmatchedFormats,
                      ("%s[%zu]: type %s, but the templates before are %s; all must be of one type", name, i,
                       typeToString(templates[i].type()).c_str(), typeToString(templates[0].type()).c_str()));
    }
    return fragments;
}

std::vector<Array> cut(const Array& frame, const std::vector<Rect>& regions)
{
    const Size size = frame.size();
    checkImage("frame", frame.type(), size);
    checkCount("regions", regions.size());
    std::vector<Array> pieces;
    for (size_t i = 0; i < regions.size(); ++i)
    {
        const Rect& region = regions[i];
        if (region.empty() || (region & Rect(Point(), size)) != region)
            CV_Error_(Error::StsOutOfRange, ("regions[%zu]: %d x %d at (%d, %d) is not inside the frame of %d x %d", i,
                                             region.width, region.height, region.x, region.y, size.width, size.height));
        pieces.push_back(frame.onDevice ? Array(frame.device(region)) : Array(frame.host(region)));
    }
    return pieces;
}

void checkSameMemory(InputArray weights, InputArray images)
{
    if (!detail::isEmpty(weights) && onDevice(weights) != onDevice(images))
        CV_Error(Error::StsBadArg, "weights: must lie where the templates lie, both in Mat or both in GpuMat");
}

} // namespace

Fragment fragmentFrom(InputArray templ, InputArray weights)
{
    checkSameMemory(weights, templ);
    return makeFragment("templ", Array("templ", templ), "weights",
                        detail::isEmpty(weights) ? Array() : Array("weights", weights));
}

std::vector<Fragment> fragmentsFrom(InputArrayOfArrays templates, InputArrayOfArrays weights)
{
    checkSameMemory(weights, templates);
    const std::vector<Array> arrays = arraysOf("templates", templates);
    // Python takes an array for a list of its rows where the weights are a list.
    if (weights.kind() == _InputArray::STD_VECTOR_MAT && weights.total() != arrays.size() && !onDevice(templates) &&
        detail::areRowsOfOne(detail::hostArrays("templates", templates)))
        CV_Error_(Error::StsBadArg,
                  ("templates: one array, but a list is needed, as the weights are one; these are the "
                   "%zu rows of an array",
                   arrays.size()));
    return makeFragments("templates", arrays, weights);
}

std::vector<Fragment> fragmentsFrom(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights)
{
    checkSameMemory(weights, frame);
    return makeFragments("regions", cut(Array("frame", frame), regions), weights);
}

// --- areas -----------------------------------------------------------------------------------------------------------

bool isNone(InputArray array)
{
    if (array.kind() == _InputArray::NONE)
        return true;
    const bool matrix = array.isMat() || array.isUMat() || array.isGpuMat();
    return matrix && array.empty() && array.type() == CV_8UC1 && array.size() == Size();
}

void checkLocations(const char* name, Size size, int type)
{
    const bool flat = type == CV_32SC1;
    if (type != CV_32SC2 && !(flat && size.width == 2))
        CV_Error_(flat ? Error::StsBadSize : Error::StsUnsupportedFormat,
                  ("%s: %d x %d elements of %s, but CV_32SC2 or two columns of CV_32SC1 are needed", name, size.height,
                   size.width, typeToString(type).c_str()));
}

std::vector<Rect4> areasFrom(InputArray searchAreas, int count)
{
    const Mat areas = detail::columnArray("searchAreas", searchAreas);
    if (areas.empty()) // an empty list has no type to check
        CV_Error_(Error::StsUnmatchedSizes, ("searchAreas: an empty list, but one for each of %d is needed", count));
    const ConstRowsView<Rect4> rows = detail::listOf("searchAreas", areas, 4, count).as<Rect4>();
    std::vector<Rect4> result;
    for (int i = 0; i < count; ++i)
    {
        const Rect4 area = *rows.row(i);
        if (area.width < 0 || area.height < 0)
            CV_Error_(Error::StsOutOfRange, ("searchAreas[%d]: size %d x %d is negative", i, area.width, area.height));
        result.push_back(area);
    }
    return result;
}

}}} // namespace cv::cuda::fragment_matcher
