// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::cuda::FragmentMatcher: parameters and fragments.

#include "impl.hpp"

namespace cv { namespace cuda {

FragmentMatcher::Params::Params()
    : metric(SAD), exclusion(SQUARE), exclusionDistance(0), peaks(2), subpixel(false), search(FULL), maxSearchArea(0, 0)
{}

Ptr<FragmentMatcher> FragmentMatcher::create(const Params& params)
{
    fragment_matcher::checkParams(params);
    return makePtr<fragment_matcher::FragmentMatcherImpl>(params);
}

String FragmentMatcher::getDefaultName() const { return "FragmentMatcher"; }

void FragmentMatcher::warpFragment(InputArray templ, InputArray weights, double angle, double scale, OutputArray warped,
                                   OutputArray warpedWeights)
{
    CV_Check(angle, std::isfinite(angle), "angle must be finite");
    CV_Check(scale, std::isfinite(scale) && scale > 0., "scale must be positive");
    if (templ.isGpuMat() || weights.isGpuMat())
        CV_Error(Error::StsBadArg, "templ, weights: warpFragment works on the host, with Mat");
    const fragment_matcher::Fragment checked = fragment_matcher::fragmentFrom(templ, weights);
    const Mat source = templ.getMat();
    const Mat q = checked.q.empty() ? Mat(source.size(), CV_8UC1, Scalar(255)) : checked.q;

    // Counter-clockwise about the centres of source and result; y points down.
    const double c = scale * std::cos(angle * CV_PI / 180.), s = scale * std::sin(angle * CV_PI / 180.);
    const double width = std::max(1., std::round(std::abs(c) * source.cols + std::abs(s) * source.rows));
    const double height = std::max(1., std::round(std::abs(s) * source.cols + std::abs(c) * source.rows));
    CV_CheckLE(std::max(width, height), static_cast<double>(fragment_matcher::MAX_SIDE),
               "scale: the warped fragment is too large");
    const double fromX = (source.cols - 1) * 0.5, fromY = (source.rows - 1) * 0.5;
    const Matx23d rotation(c, s, (width - 1) * 0.5 - c * fromX - s * fromY, //
                           -s, c, (height - 1) * 0.5 + s * fromX - c * fromY);
    const Size size(static_cast<int>(width), static_cast<int>(height));
    // Pixels at the edge mix with what is outside: the template repeats its border, the weights fade to 0.
    warpAffine(source, warped, rotation, size, INTER_LINEAR, BORDER_REPLICATE);
    warpAffine(q, warpedWeights, rotation, size, INTER_LINEAR, BORDER_CONSTANT, Scalar(0));
}

namespace fragment_matcher {

void FragmentMatcherImpl::setParams(const Params& params)
{
    checkParams(params);
    params_ = params;
}

void FragmentMatcherImpl::write(FileStorage& fs) const
{
    writeFormat(fs);
    fs << "metric" << params_.metric << "exclusion" << params_.exclusion << "exclusionDistance"
       << params_.exclusionDistance << "peaks" << params_.peaks << "subpixel" << params_.subpixel << "search"
       << params_.search << "maxSearchArea" << params_.maxSearchArea;
}

void FragmentMatcherImpl::read(const FileNode& fn)
{
    Params params; // what the file lacks keeps its default
    cv::read(fn["metric"], params.metric, params.metric);
    cv::read(fn["exclusion"], params.exclusion, params.exclusion);
    cv::read(fn["exclusionDistance"], params.exclusionDistance, params.exclusionDistance);
    cv::read(fn["peaks"], params.peaks, params.peaks);
    cv::read(fn["subpixel"], params.subpixel, params.subpixel);
    cv::read(fn["search"], params.search, params.search);
    cv::read(fn["maxSearchArea"], params.maxSearchArea, params.maxSearchArea);
    setParams(params);
}

Size FragmentMatcherImpl::getFragmentSize(int index) const
{
    checkIndex(index);
    return fragments_[index].size;
}

size_t FragmentMatcherImpl::workspaceBytes() const
{
    size_t bytes = 0;
#ifdef HAVE_CUDA
    for (const GpuMat& spare : spare_)
        bytes += spare.step * spare.rows;
    if (engine_)
        bytes += engine_->bytes();
#endif
    return bytes;
}

bool FragmentMatcherImpl::anyWeighted() const
{
    return std::any_of(fragments_.begin(), fragments_.end(), [](const Fragment& f) { return f.weighted; });
}

void FragmentMatcherImpl::checkIndex(int index) const
{
    if (index < 0 || index >= getFragmentCount())
        CV_Error_(Error::StsOutOfRange, ("index: %d, but there are %d fragments", index, getFragmentCount()));
}

//! For a fragment that joins others.
void FragmentMatcherImpl::checkOne(const Fragment& fragment) const
{
    CV_CheckTypeEQ(fragment.type, fragments_[0].type, "templ: must be of the type of the other fragments");
    if (fragment.onDevice != fragments_[0].onDevice)
        CV_Error(Error::StsBadArg, "templ: must lie where the other fragments lie, all in Mat or all in GpuMat");
}

#ifdef HAVE_CUDA

static FragmentSource sourceOf(const Fragment& fragment)
{
    if (!fragment.onDevice)
        return {viewOf(fragment.templ), fragment.q.data, fragment.q.step,
                fragment.q.empty() ? WEIGHTS_NONE : WEIGHTS_8U};
    const GpuMat& weights = fragment.deviceWeights;
    const int depth = weights.empty() ? WEIGHTS_NONE : (weights.depth() == CV_8U ? WEIGHTS_8U : WEIGHTS_32F);
    return {viewOf(fragment.device), weights.data, weights.step, depth};
}

//! The engine has its copy: let go of the caller's memory.
static void forgetSource(Fragment& fragment)
{
    fragment.device.release();
    fragment.deviceWeights.release();
}

//! Fragments of the host go to the device when the first GpuMat comes to be searched.
CudaEngine& FragmentMatcherImpl::engine(Stream& stream)
{
    if (!engine_)
        engine_.reset(new CudaEngine);
    engine_->checkDevice();
    if (!engineHasFragments_ && !fragments_.empty())
    {
        std::vector<FragmentSource> sources;
        for (const Fragment& fragment : fragments_)
            sources.push_back(sourceOf(fragment));
        const cudaStream_t raw = StreamAccessor::getStream(stream);
        engine_->set(engine_->upload(sources, raw), raw);
        engineHasFragments_ = true;
    }
    return *engine_;
}

//! index -1: one more. Fragments of the host that were not uploaded yet wait for engine().
void FragmentMatcherImpl::addToEngine(Fragment& fragment, int index, Stream& stream)
{
    if (!engineHasFragments_)
        return;
    CudaEngine& cuda = engine(stream);
    const cudaStream_t raw = StreamAccessor::getStream(stream);
    FragmentSource source = sourceOf(fragment);
    if (!fragment.onDevice)
        source = cuda.upload({source}, raw)[0];
    if (index < 0)
        cuda.add(source, raw);
    else
        cuda.update(index, source, raw);
    forgetSource(fragment);
}

#endif

void FragmentMatcherImpl::replaceAll(std::vector<Fragment>&& fragments, Stream& stream)
{
    const bool device = fragments[0].onDevice;
#ifdef HAVE_CUDA
    if (device)
    {
        std::vector<FragmentSource> sources;
        for (const Fragment& fragment : fragments)
            sources.push_back(sourceOf(fragment));
        if (!engine_)
            engine_.reset(new CudaEngine);
        engine_->checkDevice();
        engine_->set(sources, StreamAccessor::getStream(stream));
        std::for_each(fragments.begin(), fragments.end(), forgetSource);
    }
    engineHasFragments_ = device;
#else
    CV_UNUSED(stream);
    if (device)
        noCuda();
#endif
    fragments_ = std::move(fragments);
}

void FragmentMatcherImpl::setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights, Stream& stream)
{
    replaceAll(fragmentsFrom(templates, weights), stream);
}

void FragmentMatcherImpl::cutFragments(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights,
                                       Stream& stream)
{
    replaceAll(fragmentsFrom(frame, regions, weights), stream);
}

int FragmentMatcherImpl::addFragment(InputArray templ, InputArray weights, Stream& stream)
{
    std::vector<Fragment> one = {fragmentFrom(templ, weights)};
    if (fragments_.empty())
    {
        replaceAll(std::move(one), stream);
        return 0;
    }
    CV_CheckLT(getFragmentCount(), MAX_FRAGMENTS, "too many fragments");
    checkOne(one[0]);
#ifdef HAVE_CUDA
    addToEngine(one[0], -1, stream);
#endif
    fragments_.push_back(one[0]);
    return getFragmentCount() - 1;
}

void FragmentMatcherImpl::updateFragment(int index, InputArray templ, InputArray weights, Stream& stream)
{
    checkIndex(index);
    Fragment fragment = fragmentFrom(templ, weights);
    checkOne(fragment);
#ifdef HAVE_CUDA
    addToEngine(fragment, index, stream);
#else
    CV_UNUSED(stream);
#endif
    fragments_[index] = fragment;
}

void FragmentMatcherImpl::removeFragment(int index)
{
    checkIndex(index);
#ifdef HAVE_CUDA
    if (engineHasFragments_)
        engine_->remove(index);
#endif
    fragments_.erase(fragments_.begin() + index);
}

void FragmentMatcherImpl::clear()
{
#ifdef HAVE_CUDA
    if (engine_)
        engine_->set({}, nullptr);
    engineHasFragments_ = false;
#endif
    fragments_.clear();
}

} // namespace fragment_matcher

}} // namespace cv::cuda
