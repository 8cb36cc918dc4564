// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::cuda::TemplateFinder: parameters, checks of arguments, files. The search is in search.cpp.

#include "search.hpp"
#include "../common/arrays.hpp"
#include "../common/file_write.hpp"
#include "../common/lockable.hpp"
#include "../common/parameters.hpp"
#include <cmath>
#include <memory>

namespace cv { namespace cuda {

namespace template_finder {

const int MAX_SIDE = 32767, MAX_TEMPLATE_SIDE = 16384; //!< longest sides of images and templates, pixels

//! Returns all parameters in the order of files.
static auto allParameters()
{
    using detail::Parameter;
    return std::make_tuple(Parameter<Params, double>{"firstAngle", &Params::firstAngle, -180., -360., 360.},
                           Parameter<Params, double>{"lastAngle", &Params::lastAngle, 180., -360., 720.},
                           Parameter<Params, double>{"firstScale", &Params::firstScale, 1., 0.1, 10.},
                           Parameter<Params, double>{"lastScale", &Params::lastScale, 1., 0.1, 10.},
                           Parameter<Params, double>{"threshold", &Params::threshold, 0.7, 0., 1.},
                           Parameter<Params, int>{"maxMatches", &Params::maxMatches, 1000, 1, 10000},
                           Parameter<Params, double>{"maxOverlap", &Params::maxOverlap, 0.3, 0., 1.},
                           Parameter<Params, int>{"coarsestArea", &Params::coarsestArea, 256, 16, 1000000});
}

static void checkParams(const Params& params)
{
    detail::checkRanges(params, allParameters());
    detail::checkRange("lastAngle", params.lastAngle, params.firstAngle, params.firstAngle + 360.);
    detail::checkRange("lastScale", params.lastScale, params.firstScale, 10.);
}

//! Returns an array on the host. One in device memory is copied, for which the call waits.
static Mat onHost(const char* name, const char* method, InputArray array, Stream& stream)
{
    const detail::Array given(name, array);
    if (!given.onDevice || given.empty())
        return given.host;
    const GpuMat& from = given.device;
    Mat host(from.size(), from.type());
    detail::fetch("TemplateFinder", method,
                  {{from.data, from.step, host.data, host.step, from.cols * from.elemSize(), from.rows}},
                  detail::handleOf(stream));
    return host;
}

class TemplateFinderImpl final : public TemplateFinder, public detail::Lockable<TemplateFinderImpl>
{
public:
    explicit TemplateFinderImpl(const Params& params) : params_(params) {}

    void setParams(const Params& params) override
    {
        const auto lock = locked();
        checkParams(params);
        replace(templ_, weights_, params);
    }
    Params getParams() const override { return locked()->params_; }

    void setTemplate(InputArray templ, InputArray weights, Stream& stream) override
    {
        const auto lock = locked();
        if (!weights.empty() && weights.isGpuMat() != templ.isGpuMat())
            CV_Error_(Error::StsBadArg, ("weights: is a %s, but the template is a %s",
                                         weights.isGpuMat() ? "GpuMat" : "Mat", templ.isGpuMat() ? "GpuMat" : "Mat"));
        const Mat pixels = onHost("templ", "setTemplate()", templ, stream);
        Mat cover = onHost("weights", "setTemplate()", weights, stream);
        if (pixels.empty() || std::max(pixels.cols, pixels.rows) > MAX_TEMPLATE_SIDE)
            CV_Error_(Error::StsBadSize, ("templ: size %d x %d, but each side must be 1..%d", pixels.cols, pixels.rows,
                                          MAX_TEMPLATE_SIDE));
        FragmentMatcher::create()->addFragment(pixels, cover); // throws where a template or its weights are wrong
        if (cover.depth() == CV_32F)
            cover.convertTo(cover, CV_8U, 255.);
        replace(pixels.clone(), cover.clone(), params_);
    }
    Size getTemplateSize() const override { return locked()->templ_.size(); }

    void find(InputArray image, std::vector<TemplatePose>& poses, Stream& stream) override
    {
        const auto lock = locked();
        detail::checkDims("image", image);
        if (detail::isEmpty(image))
            return poses.clear();
        if (!search_)
            CV_Error(Error::StsError, "no template: call setTemplate() first");
        if (image.type() != templ_.type())
            CV_Error_(Error::StsUnmatchedFormats,
                      ("image: type %s, but the template is %s", typeToString(image.type()).c_str(),
                       typeToString(templ_.type()).c_str()));
        if (std::max(image.cols(), image.rows()) > MAX_SIDE)
            CV_Error_(Error::StsBadSize,
                      ("image: size %d x %d, but each side must be 1..%d", image.cols(), image.rows(), MAX_SIDE));
        poses = search_->find(onHost("image", "find()", image, stream), image.isGpuMat(), stream);
    }

    bool empty() const override { return locked()->templ_.empty(); }
    void clear() override
    {
        const auto lock = locked();
        replace(Mat(), Mat(), params_);
    }
    void save(const String& filename) const override { detail::saveAlgorithm(*locked(), filename); }
    void write(FileStorage& fs) const override
    {
        const auto lock = locked();
        writeFormat(fs);
        detail::writeParameters(fs, params_, allParameters());
    }
    void read(const FileNode& fn) override
    {
        const auto lock = locked();
        Params params = params_;
        detail::readParameters("TemplateFinder", fn, params, allParameters());
        setParams(params);
    }

private:
    void replace(const Mat& templ, const Mat& weights, const Params& params)
    {
        std::unique_ptr<Search> next;
        if (!templ.empty())
            next = std::make_unique<Search>(templ, weights, params);
        search_ = std::move(next);
        templ_ = templ;
        weights_ = weights;
        params_ = params;
    }

    Params params_;
    Mat templ_, weights_;
    std::unique_ptr<Search> search_; //!< null without a template
};

} // namespace template_finder

TemplateFinder::Params::Params() { detail::setDefaults(*this, template_finder::allParameters()); }

Ptr<TemplateFinder> TemplateFinder::create(const Params& params)
{
    template_finder::checkParams(params);
    return makePtr<template_finder::TemplateFinderImpl>(params);
}

String TemplateFinder::getDefaultName() const { return "TemplateFinder"; }

}} // namespace cv::cuda
