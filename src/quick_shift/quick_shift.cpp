// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Parameters and compute() of QuickShift.
#include "impl.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda {

using namespace quick_shift;

namespace quick_shift {

namespace {

const int MAX_SIDE = 65535;
// A scale of all channels between these goes into weights alone: OUTSIDE is far enough there. Beyond them its power of two goes into
// the features.
const double MIN_COMMON_SCALE = 1. / 1024, MAX_COMMON_SCALE = 1024.;
const double LEAST_SCALE =
    1e-30; //!< below it a channel's differences vanish beside those of places, whatever the values

bool isSupported(int type)
{
    const int depth = CV_MAT_DEPTH(type);
    return (depth == CV_8U || depth == CV_16U || depth == CV_32F) && CV_MAT_CN(type) <= MAX_CHANNELS;
}

template <typename Array> void checkPicture(const Array& image)
{
    if (!isSupported(image.type()))
        CV_Error_(Error::StsUnsupportedFormat,
                  ("QuickShift takes CV_8U, CV_16U or CV_32F with 1 to 4 channels, image is %s",
                   typeToString(image.type()).c_str()));
    CV_CheckLE(image.cols, MAX_SIDE, "QuickShift: image too wide");
    CV_CheckLE(image.rows, MAX_SIDE, "QuickShift: image too high");
}

template <typename Array> void checkMask(const Array& mask, Size size)
{
    if (mask.size().empty())
        return;
    CV_CheckTypeEQ(mask.type(), CV_8UC1, "QuickShift: mask");
    CV_Check(mask.size(), mask.size() == size, "QuickShift: mask must have the image's size");
}

void checkPixels(Size size, size_t pictures)
{
    const double pixels = static_cast<double>(size.width) * size.height * static_cast<double>(pictures);
    CV_CheckLT(pixels, 2147483648., "QuickShift: too many pixels");
}

void checkSameSide(InputArray image, InputArray mask)
{
    if (mask.kind() != _InputArray::NONE && !mask.empty() && detail::onDevice(mask) != detail::onDevice(image))
        CV_Error(Error::StsBadArg, "QuickShift: image and mask must both be on the host or both on the device");
}

//! Four numbers, or an exception: a list of another length would set the rest to 0, which cannot be seen in the picture.
Scalar scalesIn(const FileNode& node)
{
    if (!node.isSeq() || node.size() != 4)
        CV_Error(Error::StsParseError, "QuickShift: channelScales must be four numbers");
    Scalar scales;
    for (int k = 0; k < 4; ++k)
        scales[k] = static_cast<double>(node[k]);
    return scales;
}

} // namespace

QuickShiftImpl::QuickShiftImpl(double sigma, double maxDist, double colorScale) : stream_(noStream())
{
    setSigma(sigma);
    setMaxDist(maxDist);
    setColorScale(colorScale);
}

void QuickShiftImpl::setSigma(double sigma)
{
    CV_Check(sigma, sigma > 0. && std::ceil(3. * sigma) <= MAX_WINDOW_RADIUS, "QuickShift: sigma must be in (0,341]");
    own_.sigma = sigma;
}

void QuickShiftImpl::setMaxDist(double maxDist)
{
    CV_Check(maxDist, maxDist > 0. && maxDist <= MAX_SEARCH_RADIUS, "QuickShift: maxDist must be in (0,32767]");
    own_.maxDist = maxDist;
}

void QuickShiftImpl::setColorScale(double colorScale)
{
    CV_Check(colorScale, colorScale >= 0. && colorScale <= 1e9, "QuickShift: colorScale must be in [0,1e9]");
    own_.scales = Scalar::all(colorScale);
}

void QuickShiftImpl::setChannelScales(const Scalar& scales)
{
    for (int k = 0; k < MAX_CHANNELS; ++k)
        CV_Check(scales[k], scales[k] >= 0. && scales[k] <= 1e9, "QuickShift: a channel's scale must be in [0,1e9]");
    own_.scales = scales;
}

void QuickShiftImpl::setSearchRadius(int radius)
{
    CV_Check(radius, radius >= SEARCH_WINDOW && radius <= MAX_SEARCH_RADIUS, "QuickShift: search radius");
    own_.searchRadius = radius;
}

void QuickShiftImpl::setTieRule(int rule)
{
    CV_Check(rule, rule == INDEX || rule == STRICT, "QuickShift: tie rule must be INDEX or STRICT");
    own_.tieRule = rule;
}

void QuickShiftImpl::write(FileStorage& fs) const
{
    writeFormat(fs);
    fs << "sigma" << own_.sigma << "maxDist" << own_.maxDist << "channelScales" << own_.scales << "searchRadius"
       << own_.searchRadius;
    fs << "tieRule" << own_.tieRule << "normalizeDensity" << static_cast<int>(own_.normalize);
}

//! All members are checked before any is taken.
void QuickShiftImpl::read(const FileNode& fn)
{
    QuickShiftImpl other(own_.sigma, own_.maxDist, 1.);
    other.own_ = own_;
    if (!fn["sigma"].empty())
        other.setSigma(static_cast<double>(fn["sigma"]));
    if (!fn["maxDist"].empty())
        other.setMaxDist(static_cast<double>(fn["maxDist"]));
    if (!fn["channelScales"].empty())
        other.setChannelScales(scalesIn(fn["channelScales"]));
    if (!fn["searchRadius"].empty())
        other.setSearchRadius(static_cast<int>(fn["searchRadius"]));
    if (!fn["tieRule"].empty())
        other.setTieRule(static_cast<int>(fn["tieRule"]));
    if (!fn["normalizeDensity"].empty())
        other.setNormalizeDensity(static_cast<int>(fn["normalizeDensity"]) != 0);
    own_ = other.own_;
}

// --- compute -----------------------------------------------------------------------------------------------------------

/** Scales go where nothing is rounded that counts: powers of two into the features, and the rest, in [1,2], into the weight of all
colours, or, if it is not the same in all channels, into their differences. @return the weight of all colours. */
static double splitScales(const Scalar& given, int channels, Settings& settings)
{
    Scales& scales = settings.scales;
    Parameters& p = settings.parameters;
    bool same = true;
    for (int k = 0; k < MAX_CHANNELS; ++k)
    {
        scales.power[k] = scales.whole[k] = p.factors[k] = 1.f;
        same = same && (k >= channels || given[k] == given[0]);
    }
    if (same && given[0] >= MIN_COMMON_SCALE && given[0] <= MAX_COMMON_SCALE)
        return given[0] * given[0];

    scales.used = true;
    double first = 0.; // rest of the first channel that counts
    for (int k = 0; k < channels; ++k)
    {
        int exponent = 0;
        const double rest = 2. * std::frexp(given[k], &exponent);
        const bool counts = given[k] >= LEAST_SCALE;
        scales.whole[k] = static_cast<float>(given[k]);
        scales.power[k] = counts ? static_cast<float>(std::ldexp(1., exponent - 1)) : 0.f;
        if (!counts)
            continue;
        p.factors[k] = static_cast<float>(rest);
        p.weighted = p.weighted || (first != 0. && rest != first);
        first = first == 0. ? rest : first;
    }
    if (p.weighted)
        return 1.;
    std::fill(p.factors, p.factors + MAX_CHANNELS, 1.f);
    return first == 0. ? 1. : first * first;
}

Settings QuickShiftImpl::settingsFor(int cols, int rows, int type)
{
    if (!spatial_ || spatial_->sigma != own_.sigma)
        spatial_ = std::make_shared<const Spatial>(own_.sigma);

    Settings settings = {};
    Parameters& p = settings.parameters;
    p.radius = spatial_->radius;
    const int wanted = own_.searchRadius == SEARCH_WINDOW ? p.radius : static_cast<int>(std::ceil(own_.maxDist));
    p.searchRadius = std::min(own_.searchRadius > 0 ? own_.searchRadius : wanted, std::max(cols, rows));
    p.shift = keyShift(p.radius);
    const double colorWeight = splitScales(own_.scales, CV_MAT_CN(type), settings);
    p.colorWeight = static_cast<float>(colorWeight);
    p.minusRate = -densityRate(colorWeight, own_.sigma, CV_MAT_DEPTH(type) == CV_8U);
    p.reach = reachOf(static_cast<float>(own_.maxDist));
    p.strict = own_.tieRule == STRICT;
    p.normalize = own_.normalize;
    settings.spatial = spatial_;
    settings.maxDist = own_.maxDist;
    return settings;
}

std::unique_ptr<Engine>& QuickShiftImpl::engineOf(bool device)
{
    std::unique_ptr<Engine>& engine = device ? cuda_ : cpu_;
    if (!engine)
        engine = device ? makeCudaEngine() : makeCpuEngine();
    return engine;
}

template <typename Array>
void QuickShiftImpl::run(const std::vector<Array>& pictures, const std::vector<Array>& masks,
                         const std::vector<OutputView>& labels, bool device, Stream& stream)
{
    std::vector<PictureView> pictureViews, maskViews;
    for (const Array& picture : pictures)
        pictureViews.push_back(detail::viewOf(picture));
    for (const Array& mask : masks)
        maskViews.push_back(detail::viewOf(mask));
    const Array& first = pictures[0];
    const Settings settings = settingsFor(first.cols, first.rows, first.type());
    Engine& engine = *engineOf(device);
    if (engine.compute(pictureViews, maskViews, settings, labels, detail::handleOf(stream)))
        engine_ = &engine;
    stream_ = stream;
}

template <typename Array> static std::vector<Array> listOfOne(const Array& mask)
{
    return mask.size().empty() ? std::vector<Array>() : std::vector<Array>{mask};
}

void QuickShiftImpl::compute(InputArray image, InputArray mask, Stream& stream)
{
    if (image.kind() == _InputArray::NONE || image.empty())
        return clear();
    checkSameSide(image, mask);
    const auto computeOne = [&](const auto& picture, const auto& valid)
    {
        checkPicture(picture);
        checkMask(valid, picture.size());
        checkPixels(picture.size(), 1);
        run(listOfOne(picture), listOfOne(valid), {}, detail::onDevice(image), stream);
    };
    if (detail::onDevice(image))
        computeOne(detail::deviceArray("image", image), detail::deviceArray("mask", mask));
    else
        computeOne(detail::hostArray("image", image), detail::hostArray("mask", mask));
}

//! Outputs of a batch: a list of arrays, one for each picture.
static std::vector<detail::Output> outputsOf(OutputArrayOfArrays labels, int count, Size size, bool device)
{
    std::vector<detail::Output> outputs;
    const int kind = labels.kind();
    if (!labels.needed())
        return outputs;
    if (kind == _InputArray::STD_VECTOR_CUDA_GPU_MAT)
        labels.getGpuMatVecRef().resize(count);
    else if (kind == _InputArray::STD_VECTOR_MAT || kind == _InputArray::STD_VECTOR_UMAT)
        labels.create(count, 1, CV_32S);
    else
        CV_Error(Error::StsBadArg, "QuickShift: labels of a batch must be a list, one array for each picture");
    for (int i = 0; i < count; ++i)
    {
        if (kind == _InputArray::STD_VECTOR_CUDA_GPU_MAT)
            outputs.emplace_back("labels", labels.getGpuMatVecRef()[i], size.height, size.width, CV_32S, device);
        else if (kind == _InputArray::STD_VECTOR_MAT)
            outputs.emplace_back("labels", labels.getMatRef(i), size.height, size.width, CV_32S, device);
        else
            outputs.emplace_back("labels", labels.getUMatRef(i), size.height, size.width, CV_32S, device);
    }
    return outputs;
}

template <typename Array>
void QuickShiftImpl::runBatch(const std::vector<Array>& pictures, const std::vector<Array>& masks,
                              OutputArrayOfArrays labels, bool device, Stream& stream)
{
    if (!masks.empty() && masks.size() != pictures.size())
        CV_Error_(Error::StsUnmatchedSizes,
                  ("QuickShift: %d masks for %d pictures; a batch takes none, or one for each picture",
                   static_cast<int>(masks.size()), static_cast<int>(pictures.size())));
    for (size_t i = 0; i < pictures.size(); ++i)
    {
        const Array& picture = pictures[i];
        if (picture.size().empty())
            CV_Error_(Error::StsBadSize, ("QuickShift: picture %d of the batch is empty", static_cast<int>(i)));
        checkPicture(picture);
        CV_Check(picture.size(), picture.size() == pictures[0].size(),
                 "QuickShift: pictures of a batch must have one size");
        CV_CheckTypeEQ(picture.type(), pictures[0].type(), "QuickShift: pictures of a batch must have one type");
    }
    for (const Array& mask : masks)
        checkMask(mask, pictures[0].size());
    checkPixels(pictures[0].size(), pictures.size());
    const std::vector<detail::Output> outputs =
        outputsOf(labels, static_cast<int>(pictures.size()), pictures[0].size(), device);
    std::vector<OutputView> views;
    for (const detail::Output& output : outputs)
        views.push_back(output.view());
    run(pictures, masks, views, device, stream);
}

//! One array would be taken for a list of its rows.
static bool isList(const _InputArray& array)
{
    const int kind = array.kind();
    return kind != _InputArray::MAT && kind != _InputArray::UMAT && kind != _InputArray::CUDA_GPU_MAT &&
           kind != _InputArray::CUDA_HOST_MEM && kind != _InputArray::MATX && kind != _InputArray::STD_VECTOR;
}

void QuickShiftImpl::computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels, InputArrayOfArrays masks,
                                  Stream& stream)
{
    if (!isList(images))
        CV_Error(Error::StsBadArg, "QuickShift: computeBatch() takes a list of pictures, not one array; compute() "
                                   "takes one picture");
    if (!isList(masks))
        CV_Error(Error::StsBadArg, "QuickShift: computeBatch() takes a list of masks, one for each picture");
    if (images.kind() == _InputArray::NONE || images.total() == 0)
    {
        detail::release(labels);
        return clear();
    }
    const bool device = detail::onDevice(images), masked = masks.kind() != _InputArray::NONE && masks.total() > 0;
    if (masked && detail::onDevice(masks) != device)
        CV_Error(Error::StsBadArg, "QuickShift: images and masks must both be on the host or both on the device");
    if (device)
        runBatch(detail::deviceArrays("images", images), detail::deviceArrays("masks", masks), labels, true, stream);
    else
        runBatch(detail::hostArrays("images", images), detail::hostArrays("masks", masks), labels, false, stream);
}

void QuickShiftImpl::computeTiled(InputArray image, Size tile, bool useCuda, InputArray mask)
{
    if (image.kind() == _InputArray::NONE || image.empty())
        return clear();
    if (detail::onDevice(image) || detail::onDevice(mask))
        CV_Error(Error::StsBadArg, "QuickShift: computeTiled() takes a picture and a mask on the host");
    const Mat picture = detail::hostArray("image", image), valid = detail::hostArray("mask", mask);
    checkPicture(picture);
    checkMask(valid, picture.size());
    checkPixels(picture.size(), 1);
    CV_Check(tile, tile.width > 0 && tile.height > 0, "QuickShift: tile");
    const Settings settings = settingsFor(picture.cols, picture.rows, picture.type());
    const std::unique_ptr<Engine> worker = useCuda ? makeCudaEngine() : makeCpuEngine();
    tiled_ = quick_shift::computeTiled(detail::viewOf(picture), detail::viewOf(valid), tile.width, tile.height,
                                       settings, *worker);
    engine_ = tiled_.get();
}

} // namespace quick_shift

Ptr<QuickShift> QuickShift::create(double sigma, double maxDist, double colorScale)
{
    return makePtr<QuickShiftImpl>(sigma, maxDist, colorScale);
}

String QuickShift::getDefaultName() const { return "QuickShift"; }

}} // namespace cv::cuda
