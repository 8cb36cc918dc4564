// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::cuda::FragmentMatcher: parameters and fragments.

#include "impl.hpp"

namespace cv { namespace cuda {

namespace fragment_matcher {

// core.hpp has enumerations of its own, because device code cannot include the public header.
constexpr int publicNumber(Metric metric)
{
    switch (metric)
    {
    case Metric::SAD:
        return FragmentMatcher::SAD;
    case Metric::SSD:
        return FragmentMatcher::SSD;
    case Metric::ZNCC:
        return FragmentMatcher::ZNCC;
    }
    return -1;
}
static_assert(publicNumber(Metric::SAD) == int(Metric::SAD) && publicNumber(Metric::SSD) == int(Metric::SSD) &&
                  publicNumber(Metric::ZNCC) == int(Metric::ZNCC),
              "metrics");
static_assert(int(EXCLUDE_SQUARE) == FragmentMatcher::SQUARE && int(EXCLUDE_CROSS) == FragmentMatcher::CROSS,
              "exclusions");
static_assert(int(SEARCH_FULL) == FragmentMatcher::FULL && int(SEARCH_THREE_STEP) == FragmentMatcher::THREE_STEP,
              "searches");
static_assert(int(FIT_PARABOLA) == FragmentMatcher::PARABOLA && int(FIT_GAUSSIAN) == FragmentMatcher::GAUSSIAN, "fits");
static_assert(int(STATUS_FOUND) == FragmentMatcher::FOUND && int(STATUS_NO_POSITION) == FragmentMatcher::NO_POSITION &&
                  int(STATUS_FLAT_FRAGMENT) == FragmentMatcher::FLAT_FRAGMENT &&
                  int(STATUS_AREA_TOO_LARGE) == FragmentMatcher::AREA_TOO_LARGE,
              "states");
static_assert(sizeof(Rect4) == sizeof(Rect) && sizeof(Position) == sizeof(Point) && sizeof(Offset2) == sizeof(Point2f),
              "elements of arrays");

} // namespace fragment_matcher

Ptr<FragmentMatcher> FragmentMatcher::create(const Params& params)
{
    fragment_matcher::checkParams(params);
    return makePtr<fragment_matcher::FragmentMatcherImpl>(params);
}

String FragmentMatcher::getDefaultName() const { return "FragmentMatcher"; }

void FragmentMatcher::warpFragment(InputArray templ, InputArray weights, double angle, double scale, OutputArray warped,
                                   OutputArray warpedWeights)
{
    if (!std::isfinite(angle))
        CV_Error_(Error::StsOutOfRange, ("angle: %g, but it must be finite", angle));
    if (!std::isfinite(scale) || scale <= 0.)
        CV_Error_(Error::StsOutOfRange, ("scale: %g, but it must be above 0 and finite", scale));
    if (templ.isGpuMat() || weights.isGpuMat())
        CV_Error(Error::StsBadArg, "templ, weights: warpFragment() works on the host, with Mat");
    const fragment_matcher::Fragment checked = fragment_matcher::fragmentFrom(templ, weights);
    const Mat source = templ.getMat();
    Mat q(source.size(), CV_8UC1, Scalar(255));
    if (checked.weighted)
        q = Mat(source.size(), CV_8UC1, const_cast<void*>(checked.source.weights), checked.source.weightsStep);

    // Counter-clockwise about the centres of source and result; y points down. Whole turns are taken off first, as the
    // product with pi may exceed the largest double.
    const double turn = (std::abs(angle) > 360. ? std::fmod(angle, 360.) : angle) * CV_PI / 180.;
    const double c = scale * std::cos(turn), s = scale * std::sin(turn);
    const double width = std::max(1., std::round(std::abs(c) * source.cols + std::abs(s) * source.rows));
    const double height = std::max(1., std::round(std::abs(s) * source.cols + std::abs(c) * source.rows));
    if (std::max(width, height) > fragment_matcher::MAX_SIDE)
        CV_Error_(Error::StsOutOfRange, ("scale: %g makes the fragment %g x %g, but each side can be at most %d", scale,
                                         width, height, fragment_matcher::MAX_SIDE));
    const double fromX = (source.cols - 1) * 0.5, fromY = (source.rows - 1) * 0.5;
    const Matx23d rotation(c, s, (width - 1) * 0.5 - c * fromX - s * fromY, //
                           -s, c, (height - 1) * 0.5 + s * fromX - c * fromY);
    const Size size(static_cast<int>(width), static_cast<int>(height));
    // Refuse outputs that cannot hold the results before either is written.
    detail::Output("warped", warped, size.height, size.width, source.type(), detail::ON_HOST);
    detail::Output("warpedWeights", warpedWeights, size.height, size.width, CV_8UC1, detail::ON_HOST);
    // Pixels at the edge are interpolated with pixels outside: those of the template repeat its border, those of the
    // weights are 0.
    warpAffine(source, warped, rotation, size, INTER_LINEAR, BORDER_REPLICATE);
    warpAffine(q, warpedWeights, rotation, size, INTER_LINEAR, BORDER_CONSTANT, Scalar(0));
}

namespace fragment_matcher {

void FragmentMatcherImpl::setParams(const Params& params)
{
    const auto lock = locked();
    checkParams(params);
    params_ = params;
}

size_t FragmentMatcherImpl::workspaceBytes() const
{
    const auto lock = locked();
    return cuda_ ? cuda_->workspaceBytes() : 0;
}

void FragmentMatcherImpl::write(FileStorage& fs) const
{
    const auto lock = locked();
    writeFormat(fs);
    writeParams(fs, params_);
}

void FragmentMatcherImpl::read(const FileNode& fn)
{
    const auto lock = locked();
    params_ = readParams(fn, params_);
}

// --- fragments -------------------------------------------------------------------------------------------------------

Size FragmentMatcherImpl::getFragmentSize(int index) const
{
    const auto lock = locked();
    checkIndex(index);
    return Size(fragments_.list[index].width, fragments_.list[index].height);
}

void FragmentMatcherImpl::checkIndex(int index) const
{
    if (index < 0 || index >= getFragmentCount())
        CV_Error_(Error::StsOutOfRange, ("index: %d, but there are %d fragments", index, getFragmentCount()));
}

//! Throws unless the fragment has the type and memory of those present.
void FragmentMatcherImpl::checkJoins(const Fragment& fragment) const
{
    const Fragment& other = fragments_.list[0];
    if (fragment.type != other.type)
        CV_Error_(Error::StsUnmatchedFormats, ("templ: type %s, but the other fragments are %s",
                                               typeToString(fragment.type).c_str(), typeToString(other.type).c_str()));
    if (fragment.onDevice != other.onDevice)
        CV_Error(Error::StsBadArg, "templ: must lie where the other fragments lie, all in Mat or all in GpuMat");
}

Engine& FragmentMatcherImpl::cuda()
{
    if (!cuda_)
        cuda_ = makeCudaEngine();
    return *cuda_;
}

void FragmentMatcherImpl::assignId(Fragment& fragment)
{
    fragment.id = ++lastId_;
    fragment.version = ++lastVersion_;
}

//! Releases the caller's memory, of which the engine has copies.
static void forgetSources(std::vector<Fragment>& list)
{
    for (Fragment& fragment : list)
    {
        fragment.source.templ.data = nullptr;
        fragment.source.weights = nullptr;
        fragment.owner.reset();
    }
}

void FragmentMatcherImpl::replaceAll(std::vector<Fragment>&& list, Stream& stream)
{
    // Fragments of the same layouts replace the present ones in place, so that captured graphs see the new contents.
    bool same = list.size() == fragments_.list.size();
    for (size_t i = 0; same && i < list.size(); ++i)
        same = sameLayout(list[i], fragments_.list[i]);
    for (size_t i = 0; i < list.size(); ++i)
    {
        assignId(list[i]);
        if (same)
            list[i].id = fragments_.list[i].id;
    }
    Fragments next;
    next.list = std::move(list);
    next.version = ++lastVersion_;
    if (next.list[0].onDevice)
    {
        if (!cuda().take(next, detail::handleOf(stream)))
            return; // captured, not done
        forgetSources(next.list);
    }
    fragments_ = std::move(next);
}

/** Passes an edited list to the CUDA engine if its fragments are in device memory. Those in host memory are uploaded
with the next GpuMat.
@param undo restores the list if the engine throws, or if the edit was captured and so has not happened. */
template <class Undo> void FragmentMatcherImpl::synchronize(const Undo& undo, Stream& stream)
{
    const uint64_t before = fragments_.version;
    fragments_.version = ++lastVersion_;
    if (!fragments_.list[0].onDevice)
        return;
    const auto undoAll = [&]
    {
        undo();
        fragments_.version = before;
    };
    try
    {
        if (!cuda().take(fragments_, detail::handleOf(stream)))
            undoAll();
    }
    catch (...)
    {
        undoAll();
        throw;
    }
    forgetSources(fragments_.list);
}

void FragmentMatcherImpl::setFragments(InputArrayOfArrays templates, InputArrayOfArrays weights, Stream& stream)
{
    locked()->replaceAll(fragmentsFrom(templates, weights), stream);
}

void FragmentMatcherImpl::cutFragments(InputArray frame, const std::vector<Rect>& regions, InputArrayOfArrays weights,
                                       Stream& stream)
{
    locked()->replaceAll(fragmentsFrom(frame, regions, weights), stream);
}

int FragmentMatcherImpl::addFragment(InputArray templ, InputArray weights, Stream& stream)
{
    const auto lock = locked();
    Fragment fragment = fragmentFrom(templ, weights);
    if (fragments_.list.empty())
    {
        replaceAll({fragment}, stream);
        return 0;
    }
    if (getFragmentCount() >= MAX_FRAGMENTS)
        CV_Error_(Error::StsOutOfRange,
                  ("templ: there are %d fragments already, more are not possible", MAX_FRAGMENTS));
    checkJoins(fragment);
    assignId(fragment);
    fragments_.list.push_back(fragment);
    synchronize([&] { fragments_.list.pop_back(); }, stream);
    return getFragmentCount() - 1;
}

void FragmentMatcherImpl::updateFragment(int index, InputArray templ, InputArray weights, Stream& stream)
{
    const auto lock = locked();
    checkIndex(index);
    Fragment fragment = fragmentFrom(templ, weights);
    checkJoins(fragment);
    fragment.id = fragments_.list[index].id;
    fragment.version = ++lastVersion_;
    std::swap(fragments_.list[index], fragment);
    synchronize([&] { std::swap(fragments_.list[index], fragment); }, stream);
}

void FragmentMatcherImpl::removeFragment(int index)
{
    const auto lock = locked();
    checkIndex(index);
    fragments_.list.erase(fragments_.list.begin() + index);
    fragments_.version = ++lastVersion_;
}

void FragmentMatcherImpl::clear()
{
    const auto lock = locked();
    fragments_.list.clear();
    fragments_.version = ++lastVersion_;
}

} // namespace fragment_matcher

}} // namespace cv::cuda
