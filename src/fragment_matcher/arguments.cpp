// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "arguments.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

void checkParams(const FragmentMatcher::Params& params)
{
    CV_CheckGE(params.metric, static_cast<int>(FragmentMatcher::SAD), "Params::metric is SAD, SSD or ZNCC");
    CV_CheckLE(params.metric, static_cast<int>(FragmentMatcher::ZNCC), "Params::metric is SAD, SSD or ZNCC");
    CV_CheckGE(params.exclusion, static_cast<int>(FragmentMatcher::SQUARE), "Params::exclusion is SQUARE or CROSS");
    CV_CheckLE(params.exclusion, static_cast<int>(FragmentMatcher::CROSS), "Params::exclusion is SQUARE or CROSS");
    CV_CheckGE(params.exclusionDistance, 0, "Params::exclusionDistance is 0 (default) or at least 1");
    CV_CheckLE(params.exclusionDistance, MAX_SIDE, "Params::exclusionDistance is at most 32767");
    CV_CheckGE(params.peaks, 1, "Params::peaks is 1..16");
    CV_CheckLE(params.peaks, MAX_PEAKS, "Params::peaks is 1..16");
    CV_CheckGE(params.search, static_cast<int>(FragmentMatcher::FULL), "Params::search is FULL or THREE_STEP");
    CV_CheckLE(params.search, static_cast<int>(FragmentMatcher::THREE_STEP), "Params::search is FULL or THREE_STEP");
    CV_CheckGE(params.maxSearchArea.width, 0, "Params::maxSearchArea must not be negative");
    CV_CheckGE(params.maxSearchArea.height, 0, "Params::maxSearchArea must not be negative");
}

Settings settingsOf(const FragmentMatcher::Params& params)
{
    return {params.metric, params.exclusion, params.exclusionDistance, params.peaks, params.search, params.subpixel};
}

bool onDevice(InputArray array) { return array.isGpuMat() || array.isGpuMatVector(); }

void checkPicture(const char* name, int type, Size size)
{
    if (type != CV_8UC1 && type != CV_8UC3 && type != CV_8UC4)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: type %s, but CV_8UC1, CV_8UC3 or CV_8UC4 is needed", name, typeToString(type).c_str()));
    if (size.width < 1 || size.height < 1 || size.width > MAX_SIDE || size.height > MAX_SIDE)
        CV_Error_(Error::StsBadSize,
                  ("%s: size %d x %d, but each side must be 1..%d", name, size.width, size.height, MAX_SIDE));
}

template <typename Picture> static ImageView imageView(const Picture& picture)
{
    const int stride = picture.channels();
    return {picture.data, picture.step, picture.cols, picture.rows, stride, stride == 1 ? 1 : 3};
}

ImageView viewOf(const Mat& picture) { return imageView(picture); }
ImageView viewOf(const GpuMat& picture) { return imageView(picture); }

// --- fragments -------------------------------------------------------------------------------------------------------

static void checkWeights(int type, Size size, Size templ)
{
    if (type != CV_8UC1 && type != CV_32FC1)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("weights: type %s, but CV_8UC1 or CV_32FC1 is needed", typeToString(type).c_str()));
    if (size != templ)
        CV_Error_(Error::StsUnmatchedSizes, ("weights: size %d x %d differs from the template's %d x %d", size.width,
                                             size.height, templ.width, templ.height));
}

//! 8-bit weights of the host; empty when all are 255.
static Mat quantised(const Mat& weights)
{
    Mat q(weights.size(), CV_8UC1);
    if (weights.depth() == CV_8U)
        weights.copyTo(q);
    else
        for (int y = 0; y < weights.rows; ++y)
            for (int x = 0; x < weights.cols; ++x)
            {
                const float w = weights.at<float>(y, x);
                if (!(w >= 0.f && w <= 1.f)) // NaN too
                    CV_Error_(Error::StsOutOfRange, ("weights: value %g at (%d, %d) is not in [0, 1]", w, x, y));
                q.at<uchar>(y, x) = quantiseWeight(w);
            }
    const int nonzero = countNonZero(q);
    if (nonzero == 0)
        CV_Error(Error::StsBadArg, "weights: their sum is 0, so the fragment matches everything");
    return countNonZero(q == 255) == static_cast<int>(q.total()) ? Mat() : q;
}

static Fragment fragmentOnHost(const Mat& templ, const Mat& weights)
{
    Fragment fragment;
    fragment.size = templ.size();
    fragment.type = templ.type();
    if (!weights.empty())
    {
        checkWeights(weights.type(), weights.size(), templ.size());
        fragment.q = quantised(weights);
        fragment.weighted = !fragment.q.empty();
    }
    if (templ.channels() == 4)
        cvtColor(templ, fragment.templ, COLOR_BGRA2BGR);
    else
        templ.copyTo(fragment.templ);
    fragment.sums =
        cpu::templateSums(fragment.templ.data, fragment.q.data, templ.cols, templ.rows, templ.channels() == 1 ? 1 : 3);
    return fragment;
}

static Fragment fragmentOnDevice(const GpuMat& templ, const GpuMat& weights)
{
    Fragment fragment;
    fragment.size = templ.size();
    fragment.type = templ.type();
    fragment.onDevice = true;
    fragment.device = templ;
    if (!weights.empty())
    {
        checkWeights(weights.type(), weights.size(), templ.size());
        fragment.deviceWeights = weights;
        fragment.weighted = true;
    }
    return fragment;
}

Fragment fragmentFrom(InputArray templ, InputArray weights)
{
    checkPicture("template", templ.type(), templ.size());
    if (!weights.empty() && onDevice(weights) != onDevice(templ))
        CV_Error(Error::StsBadArg, "weights: must lie where the template lies, both in Mat or both in GpuMat");
    if (onDevice(templ))
        return fragmentOnDevice(templ.getGpuMat(), weights.empty() ? GpuMat() : weights.getGpuMat());
    return fragmentOnHost(templ.getMat(), weights.empty() ? Mat() : weights.getMat());
}

//! The pictures of an array of arrays; a single picture counts as one.
static std::vector<Mat> matsOf(InputArrayOfArrays arrays)
{
    std::vector<Mat> mats;
    if (arrays.isMat() || arrays.isUMat())
        mats.push_back(arrays.getMat());
    else if (!arrays.empty())
        arrays.getMatVector(mats);
    return mats;
}

static std::vector<GpuMat> gpuMatsOf(InputArrayOfArrays arrays)
{
    std::vector<GpuMat> mats;
    if (arrays.isGpuMat())
        mats.push_back(arrays.getGpuMat());
    else
        arrays.getGpuMatVector(mats);
    return mats;
}

//! `name` is what the caller gave one fragment each with.
static void checkCount(const char* name, size_t count)
{
    if (count < 1 || count > static_cast<size_t>(MAX_FRAGMENTS))
        CV_Error_(Error::StsOutOfRange, ("%s: %zu given, but 1 to %d are possible; clear() removes all fragments", name,
                                         count, MAX_FRAGMENTS));
}

template <typename Picture>
static std::vector<Fragment> fragmentsOf(const std::vector<Picture>& templates, const std::vector<Picture>& weights)
{
    checkCount("templates", templates.size());
    if (!weights.empty())
        CV_CheckEQ(weights.size(), templates.size(), "weights: none, or one for each template");
    std::vector<Fragment> fragments;
    for (size_t i = 0; i < templates.size(); ++i)
    {
        fragments.push_back(weights.empty() ? fragmentFrom(templates[i], noArray())
                                            : fragmentFrom(templates[i], weights[i]));
        CV_CheckTypeEQ(templates[i].type(), templates[0].type(), "templates: all must be of one type");
    }
    return fragments;
}

std::vector<Fragment> fragmentsFrom(InputArrayOfArrays templates, InputArrayOfArrays weights)
{
    if (!weights.empty() && onDevice(weights) != onDevice(templates))
        CV_Error(Error::StsBadArg, "weights: must lie where the templates lie, both in Mat or both in GpuMat");
    if (onDevice(templates))
        return fragmentsOf(gpuMatsOf(templates), weights.empty() ? std::vector<GpuMat>() : gpuMatsOf(weights));
    return fragmentsOf(matsOf(templates), matsOf(weights));
}

template <typename Picture> static std::vector<Picture> cut(const Picture& frame, const std::vector<Rect>& regions)
{
    std::vector<Picture> pieces;
    for (const Rect& region : regions)
    {
        if (region.empty() || (region & Rect(0, 0, frame.cols, frame.rows)) != region)
            CV_Error_(Error::StsOutOfRange, ("regions: %d x %d at (%d, %d) is not inside the frame of %d x %d",
                                             region.width, region.height, region.x, region.y, frame.cols, frame.rows));
        pieces.push_back(frame(region));
    }
    return pieces;
}

std::vector<Fragment> fragmentsFrom(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights)
{
    checkPicture("frame", frame.type(), frame.size());
    checkCount("regions", regions.size());
    if (!weights.empty() && onDevice(weights) != onDevice(frame))
        CV_Error(Error::StsBadArg, "weights: must lie where the frame lies, both in Mat or both in GpuMat");
    if (onDevice(frame))
        return fragmentsOf(cut(frame.getGpuMat(), regions),
                           weights.empty() ? std::vector<GpuMat>() : gpuMatsOf(weights));
    return fragmentsOf(cut(frame.getMat(), regions), matsOf(weights));
}

// --- areas and locations ---------------------------------------------------------------------------------------------

static void checkAreas(int type, Size size, int count)
{
    if (type != CV_32SC4)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("searchAreas: %s of %d x %d, but CV_32SC4 or four columns of CV_32SC1 are needed",
                   typeToString(type).c_str(), size.height, size.width));
    if (size != Size(1, count) && size != Size(count, 1))
        CV_Error_(Error::StsUnmatchedSizes,
                  ("searchAreas: %d x %d elements, but one for each of %d fragments is needed", size.height, size.width,
                   count));
}

std::vector<Rect4> areasFrom(InputArray searchAreas, int count)
{
    const Mat areas = tuplesOf(searchAreas.getMat(), 4);
    checkAreas(areas.type(), areas.size(), count);
    std::vector<Rect4> result;
    for (int i = 0; i < count; ++i)
    {
        const Vec4i& area = areas.rows == count ? areas.at<Vec4i>(i, 0) : areas.at<Vec4i>(0, i);
        if (area[2] < 0 || area[3] < 0)
            CV_Error_(Error::StsOutOfRange, ("searchAreas: size %d x %d of area %d is negative", area[2], area[3], i));
        result.push_back({area[0], area[1], area[2], area[3]});
    }
    return result;
}

ConstRowsView<Rect4> areasOnDevice(InputArray searchAreas, int count)
{
    const GpuMat areas = tuplesOf(searchAreas.getGpuMat(), 4);
    checkAreas(areas.type(), areas.size(), count);
    return {reinterpret_cast<const Rect4*>(areas.data), areas.rows == count ? areas.step : sizeof(Rect4)};
}

template <typename Array> static Array locationsOf(const char* name, const Array& given)
{
    const Array locations = tuplesOf(given, 2);
    if (locations.type() != CV_32SC2)
        CV_Error_(Error::StsUnsupportedFormat,
                  ("%s: %s of %d x %d, but CV_32SC2 or two columns of CV_32SC1 are needed", name,
                   typeToString(locations.type()).c_str(), locations.rows, locations.cols));
    return locations;
}

Mat locationsFrom(const char* name, const Mat& locations) { return locationsOf(name, locations); }
GpuMat locationsFrom(const char* name, const GpuMat& locations) { return locationsOf(name, locations); }

void checkLocationRows(const char* name, int rows, int count)
{
    if (rows != count)
        CV_Error_(Error::StsUnmatchedSizes,
                  ("%s: %d rows, but one for each of %d fragments is needed", name, rows, count));
}

// --- outputs ---------------------------------------------------------------------------------------------------------

void checkOnHost(OutputArray target)
{
    if (target.isGpuMat())
        CV_Error(Error::StsBadArg, "an output in a GpuMat needs a frame in a GpuMat");
}

Output::Output(OutputArray target, int rows, int cols, int type)
{
    if (!target.needed())
        return;
    checkOnHost(target);
    target.create(rows, cols, type);
    host_ = target.getMat();
}

Output::Output(OutputArray target, int rows, int cols, int type, GpuMat& spare)
{
    if (!target.needed())
        return;
    copies_ = !target.isGpuMat();
    if (copies_)
    {
        spare.create(rows, cols, type);
        device_ = spare;
    }
    else
    {
        target.create(rows, cols, type);
        device_ = target.getGpuMat();
    }
}

bool Output::download(OutputArray target, Stream& stream) const
{
    if (copies_)
        device_.download(target, stream);
    return copies_;
}

}}} // namespace cv::cuda::fragment_matcher
