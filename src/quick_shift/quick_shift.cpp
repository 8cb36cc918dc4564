// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Settings and compute() of QuickShift.
#include "../common/file_text.hpp"
#include "impl.hpp"
#include "../common/parameters.hpp"
#include "arguments.hpp"
#include <algorithm>
#include <cmath>

namespace cv { namespace cuda {

using namespace quick_shift;

namespace quick_shift {

using detail::Array;

namespace {

// A common scale of all channels in this range goes into weights alone, where OUTSIDE is far enough away. Outside of
// the range its power of two goes into the features.
const double MIN_COMMON_SCALE = 1. / 1024, MAX_COMMON_SCALE = 1024.;
const double LEAST_SCALE =
    1e-30; //!< below it differences of a channel are negligible against those of positions, whatever the values

void checkImageAndMask(const Array& image, const Array& mask)
{
    checkImage("image", image.type(), image.size());
    checkMask("mask", mask.type(), mask.size(), "image", image.size());
    checkPixels("image", image.size(), 1);
}

} // namespace

QuickShiftImpl::QuickShiftImpl(double sigma, double maxDist, double colorScale)
{
    setSigma(sigma);
    setMaxDist(maxDist);
    setColorScale(colorScale);
}

void QuickShiftImpl::setColorScale(double colorScale)
{
    const auto lock = locked();
    if (colorScale != BY_TYPE)
        checkScale("colorScale", colorScale);
    user_.channelScales.assign(FEW_CHANNELS, colorScale);
}

void QuickShiftImpl::setScales(const std::vector<double>& scales)
{
    const auto lock = locked();
    checkScales(scales);
    user_.channelScales = scales;
    user_.channelScales.resize(std::max<size_t>(scales.size(), FEW_CHANNELS), 0.);
}

template <typename T> static void readValue(const detail::ParameterNode& file, const char* name, T& value)
{
    file.replace(name, value);
}
static void readValue(const detail::ParameterNode& file, const char* name, std::vector<double>& value)
{
    value = file.reals(name, value, FEW_CHANNELS, MAX_CHANNELS);
}

template <typename T> static void writeValue(FileStorage& fs, const char* name, const T& value) { fs << name << value; }
static void writeValue(FileStorage& fs, const char* name, bool value) { fs << name << static_cast<int>(value); }

void QuickShiftImpl::write(FileStorage& fs) const
{
    const auto lock = locked();
    writeFormat(fs);
    withSettings([&](const auto&... setting) { (writeValue(fs, setting.name, user_.*setting.member), ...); });
}

//! Checks all settings before it takes any.
void QuickShiftImpl::read(const FileNode& fn)
{
    const auto lock = locked();
    UserSettings read = user_;
    const auto readOne = [&read](const detail::ParameterNode& file, const auto& setting)
    {
        readValue(file, setting.name, read.*setting.member);
        setting.check(read.*setting.member);
    };
    withSettings(
        [&](const auto&... setting)
        {
            const detail::ParameterNode file("QuickShift", fn, {setting.name...});
            (readOne(file, setting), ...);
        });
    user_ = read;
}

// --- compute ---------------------------------------------------------------------------------------------------------

//! Returns the scales of the channels of a type.
static std::vector<double> scalesOf(const std::vector<double>& given, int type)
{
    const int channels = CV_MAT_CN(type), depth = CV_MAT_DEPTH(type);
    if (given[0] == QuickShift::BY_TYPE)
        return std::vector<double>(channels, 32. / (depth == CV_8U ? 255. : depth == CV_16U ? 65535. : 1.));
    const bool equal = std::count(given.begin(), given.end(), given[0]) == static_cast<ptrdiff_t>(given.size());
    if (!equal && channels > static_cast<int>(given.size()))
        CV_Error_(Error::StsUnmatchedSizes,
                  ("image: %d channels, but there are factors for at most %zu", channels, given.size()));
    std::vector<double> scales = given;
    scales.resize(channels, given[0]);
    return scales;
}

/** Splits scales so that no rounding matters: powers of two go into the features, and the rest, in [1,2], into the
common weight of colours or, if it differs between channels, into their factors. @return the common weight. */
static double splitScales(const std::vector<double>& given, Settings& settings)
{
    const int channels = static_cast<int>(given.size());
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
    double first = 0.; // rest of the first channel that counts; 0: none so far
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

Settings QuickShiftImpl::settingsFor(Size size, int type)
{
    if (!spatial_ || spatial_->sigma != user_.sigma)
        spatial_ = std::make_shared<const Spatial>(user_.sigma);

    Settings settings = {};
    Parameters& p = settings.parameters;
    p.radius = spatial_->radius;
    p.searchRadius =
        std::min(searchRadius(user_.searchRadius, user_.maxDist, p.radius), std::max(size.width, size.height));
    p.shift = keyShift(p.radius);
    const int channels = CV_MAT_CN(type);
    const double colorWeight = splitScales(scalesOf(user_.channelScales, type), settings);
    p.colorWeight = static_cast<float>(colorWeight);
    p.minusRate = -densityRate(colorWeight, user_.sigma, CV_MAT_DEPTH(type) == CV_8U && channels <= FEW_CHANNELS);
    p.reach = reachOf(static_cast<float>(user_.maxDist));
    p.strict = user_.tieRule == STRICT;
    p.normalize = user_.normalizeDensity;
    settings.spatial = spatial_;
    settings.maxDist = user_.maxDist;
    settings.type = type;
    return settings;
}

std::unique_ptr<Engine>& QuickShiftImpl::engineOf(bool device)
{
    std::unique_ptr<Engine>& engine = device ? cuda_ : cpu_;
    if (!engine)
        engine = device ? makeCudaEngine() : makeCpuEngine();
    return engine;
}

void QuickShiftImpl::run(const std::vector<Array>& images, const std::vector<Array>& masks,
                         const std::vector<OutputView>& labels, Stream& stream)
{
    std::vector<ImageView> imageViews, maskViews;
    for (const Array& image : images)
        imageViews.push_back(image.view());
    for (const Array& mask : masks)
        maskViews.push_back(mask.view());
    const Array& first = images[0];
    const Settings settings = settingsFor(first.size(), first.type());
    Engine& engine = *engineOf(first.onDevice);
    if (engine.compute(imageViews, maskViews, settings, labels, detail::handleOf(stream)))
        engine_ = &engine;
}

void QuickShiftImpl::compute(InputArray image, InputArray mask, Stream& stream)
{
    const auto lock = locked();
    if (detail::isEmpty(image))
        return clear();
    if (!detail::isEmpty(mask))
        checkSameMemory("mask", mask, "image", image);
    const Array array("image", image);
    std::vector<Array> masks;
    if (!detail::isEmpty(mask))
        masks.emplace_back("mask", mask);
    checkImageAndMask(array, masks.empty() ? Array() : masks[0]);
    run({array}, masks, {}, stream);
}

void QuickShiftImpl::runBatch(const std::vector<Array>& images, const std::vector<Array>& masks,
                              OutputArrayOfArrays labels, Stream& stream)
{
    if (!masks.empty() && masks.size() != images.size())
        CV_Error_(Error::StsUnmatchedSizes,
                  ("masks: %zu given for %zu images; give none, or one for each (which may be empty)", masks.size(),
                   images.size()));
    const Array& first = images[0];
    for (size_t i = 0; i < images.size(); ++i)
    {
        const Array& image = images[i];
        const std::string name = format("images[%zu]", i);
        if (image.empty())
            CV_Error_(Error::StsBadSize, ("%s: is empty", name.c_str()));
        checkImage(name, image.type(), image.size());
        if (image.size() != first.size())
            CV_Error_(Error::StsUnmatchedSizes,
                      ("%s: size %d x %d differs from images[0]'s %d x %d", name.c_str(), image.size().width,
                       image.size().height, first.size().width, first.size().height));
        if (image.type() != first.type())
            CV_Error_(Error::StsUnmatchedFormats,
                      ("%s: type %s differs from images[0]'s %s", name.c_str(), typeToString(image.type()).c_str(),
                       typeToString(first.type()).c_str()));
    }
    for (size_t i = 0; i < masks.size(); ++i)
        checkMask(format("masks[%zu]", i), masks[i].type(), masks[i].size(), "images[0]", first.size());
    checkPixels("images", first.size(), images.size());
    const detail::ResultsPlace place = {first.onDevice, detail::handleOf(stream)};
    std::vector<detail::Output> outputs;
    std::vector<OutputView> views;
    if (labels.needed())
    {
        detail::checkPlace("labels", labels.isGpuMatVector(), false, place);
        for (const _OutputArray& element : detail::elementsOf("labels", labels, images.size(), CV_32S))
            outputs.emplace_back("labels", element, first.size().height, first.size().width, CV_32S, place);
    }
    for (detail::Output& output : outputs)
        views.push_back(output.allocate());
    run(images, masks, views, stream);
}

//! True for one array in place of a list; OpenCV would take it for a list of its rows.
static bool isOneArray(const _InputArray& array) { return array.kind() != _InputArray::NONE && !detail::isList(array); }

void QuickShiftImpl::computeBatch(InputArrayOfArrays images, OutputArrayOfArrays labels, InputArrayOfArrays masks,
                                  Stream& stream)
{
    const auto lock = locked();
    if (isOneArray(images))
        CV_Error(Error::StsBadArg, "images: one array, but a list is needed; compute() takes one image");
    if (isOneArray(masks))
        CV_Error(Error::StsBadArg, "masks: one array, but a list with one for each image is needed");
    if (images.kind() == _InputArray::NONE || images.total() == 0)
    {
        detail::release({&labels});
        return clear();
    }
    if (masks.kind() != _InputArray::NONE && masks.total() > 0)
        checkSameMemory("masks", masks, "images", images);
    runBatch(detail::arraysOf("images", images), detail::arraysOf("masks", masks), labels, stream);
}

void QuickShiftImpl::computeTiled(InputArray image, Size tile, bool useCuda, InputArray mask)
{
    const auto lock = locked();
    if (detail::isEmpty(image))
        return clear();
    for (const auto& given : {std::make_pair("image", &image), std::make_pair("mask", &mask)})
        if (detail::onDevice(*given.second))
            CV_Error_(Error::StsBadArg, ("%s: is a GpuMat, but tiles are cut from a Mat", given.first));
    const Array array("image", image), valid("mask", mask);
    checkImageAndMask(array, valid);
    checkTile(tile);
    const Settings settings = settingsFor(array.size(), array.type());
    const std::unique_ptr<Engine> worker = useCuda ? makeCudaEngine() : makeCpuEngine();
    made_ = quick_shift::computeTiled(array.view(), valid.view(), tile.width, tile.height, settings, *worker);
    engine_ = made_.get();
}

void QuickShiftImpl::computeNoisy(InputArray image, InputArray noise, InputArray mask)
{
    const auto lock = locked();
    if (detail::isEmpty(image))
        return clear();
    for (const auto& given :
         {std::make_pair("image", &image), std::make_pair("noise", &noise), std::make_pair("mask", &mask)})
        if (detail::onDevice(*given.second))
            CV_Error_(Error::StsBadArg, ("%s: is a GpuMat, but noise is added on the CPU", given.first));
    const Array array("image", image), valid("mask", mask);
    const Mat added = detail::hostArray("noise", noise);
    checkImageAndMask(array, valid);
    checkNoise(added, array.size());
    const Settings settings = settingsFor(array.size(), array.type());
    made_ = quick_shift::computeNoisy(array.view(), valid.view(), detail::viewOf(added), settings);
    engine_ = made_.get();
}

} // namespace quick_shift

Ptr<QuickShift> QuickShift::create(double sigma, double maxDist, double colorScale)
{
    return makePtr<QuickShiftImpl>(sigma, maxDist, colorScale);
}

Ptr<QuickShift> QuickShift::forSuperpixels()
{
    const double scale = 1.; // on Lab with L from 0 to 100, which 8 bits have as 0 to 255
    const Ptr<QuickShift> made = create(3., 60., scale);
    made->setChannelScales(Scalar(scale * 100 / 255, scale, scale));
    return made;
}

Ptr<QuickShift> QuickShift::load(const String& filename)
{
    const detail::TextLimits limits = {"the parameters of a QuickShift", static_cast<size_t>(1) << 20};
    const std::string text = detail::readText(filename, limits);
    const FileStorage storage = detail::parseText(text.data(), text.size(), filename, limits);
    const FileNode node = storage.getFirstTopLevelNode();
    if (!node.isMap() || node["sigma"].empty())
        CV_Error_(Error::StsParseError, ("%s: has no parameters of QuickShift", filename.c_str()));
    // Not left to the defaults: a file that was cut off lacks the last ones.
    withSettings(
        [&](const auto&... setting)
        {
            for (const char* name : {setting.name...})
                if (node[name].empty())
                    CV_Error_(Error::StsParseError, ("%s: %s is missing", filename.c_str(), name));
        });
    const Ptr<QuickShift> made = create();
    try
    {
        made->read(node);
    }
    catch (const cv::Exception& e)
    {
        CV_Error_(Error::StsParseError, ("%s: %s", filename.c_str(), e.err.c_str()));
    }
    return made;
}

String QuickShift::getDefaultName() const { return "QuickShift"; }

}} // namespace cv::cuda
