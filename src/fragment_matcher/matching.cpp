// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::cuda::FragmentMatcher: matching, score maps, prediction of areas. Arguments are checked here, then the engine for
// the frame's memory does the work.

#include "impl.hpp"

namespace cv { namespace cuda {
namespace fragment_matcher {

using detail::deviceArray;
using detail::hostArray;
using detail::listOf;
using detail::onDevice;
using detail::Output;

// --- inputs ----------------------------------------------------------------------------------------------------------

bool FragmentMatcherImpl::isEmpty(InputArray frame) const
{
    detail::checkDims("frame", frame);
    return detail::isEmpty(frame);
}

FragmentMatcherImpl::Frame FragmentMatcherImpl::open(InputArray array, Stream& stream)
{
    Frame frame = {{"frame", array}, {}, nullptr, nullptr};
    frame.view = frame.onDevice ? imageOf("frame", frame.device) : imageOf("frame", frame.host);
    if (fragments_.list.empty())
        CV_Error(Error::StsError, "no fragments: call setFragments(), cutFragments() or addFragment() first");
    const Fragment& fragment = fragments_.list[0];
    if (array.type() != fragment.type)
        CV_Error_(Error::StsUnmatchedFormats,
                  ("frame: type %s, but the fragments are %s", typeToString(array.type()).c_str(),
                   typeToString(fragment.type).c_str()));
    if (fragment.onDevice && !frame.onDevice)
        CV_Error(Error::StsBadArg, "frame: is a Mat, but the fragments were given in device memory");
    if (frame.view.deep() && !isProduct(metric()))
        CV_Error_(Error::StsUnsupportedFormat, ("frame: type %s, but SAD takes 8 bits only; SSD and ZNCC take 16",
                                                typeToString(array.type()).c_str()));
    frame.engine = frame.onDevice ? &cuda() : cpu_.get();
    frame.stream = frame.onDevice ? detail::handleOf(stream) : nullptr;
    return frame;
}

//! Throws if maps of this depth are not possible: integer maps hold S itself, which has to fit.
void FragmentMatcherImpl::checkDepth(int depth, const Fragment& fragment) const
{
    if (depth != CV_32F && depth != CV_32S && depth != CV_64F)
        CV_Error_(Error::StsUnsupportedFormat, ("depth: %d, but CV_32F, CV_32S or CV_64F is needed", depth));
    if (depth == CV_32F)
        return;
    if (isCorrelation(metric()))
        CV_Error_(Error::StsUnsupportedFormat, ("depth: %d, but ZNCC has CV_32F only", depth));
    const double largest = 3. * 255. * largestDifference(metric()) * (fragment.source.templ.deep() ? 257. * 257. : 1.);
    if (depth == CV_32S && largest * fragment.width * fragment.height > 2147483647.)
        CV_Error_(Error::StsOutOfRange, ("depth: CV_32S cannot hold the sums of a %d x %d fragment; CV_64F can",
                                         fragment.width, fragment.height));
}

//! Returns the search areas of a call. @param memory for areas in host memory; the result points into it.
SearchAreas FragmentMatcherImpl::areasOf(InputArray searchAreas, const Frame& frame, std::vector<Rect4>& memory) const
{
    SearchAreas areas = {};
    if (isNone(searchAreas))
        return areas;
    areas.onDevice = onDevice(searchAreas);
    if (areas.onDevice && !frame.onDevice)
        CV_Error(Error::StsBadArg, "searchAreas: in device memory, but the frame is a Mat");
    if (areas.onDevice)
    {
        const GpuMat list = deviceArray("searchAreas", searchAreas);
        areas.list = listOf("searchAreas", list, 4, getFragmentCount()).as<Rect4>();
        const Size limit = params_.maxSearchArea;
        const bool predicted = list.data == predicted_.data && getFragmentCount() == predicted_.rows;
        if (!predicted && (limit.width == 0 || limit.height == 0))
            CV_Error(Error::StsBadArg, "searchAreas: in device memory, so their size is not known: set both sides of "
                                       "maxSearchArea, or give those that predictAreas() of this instance wrote last");
        areas.limitWidth = limit.width > 0 ? limit.width : predicted_.largest.width;
        areas.limitHeight = limit.height > 0 ? limit.height : predicted_.largest.height;
        return areas;
    }
    memory = areasFrom(searchAreas, getFragmentCount());
    areas.list = {memory.data(), sizeof(Rect4)};
    return areas;
}

void FragmentMatcherImpl::setPredictions(InputArray locations)
{
    const auto lock = locked();
    const detail::Array given("locations", locations, detail::keptArray);
    if (!given.empty())
        checkLocations("locations", given.size(), given.type());
    predictions_ = given;
}

ConstRowsView<Position> FragmentMatcherImpl::predictionsOf(const Frame& frame) const
{
    if (params_.search != THREE_STEP || predictions_.empty())
        return {nullptr, 0};
    if (frame.onDevice != predictions_.onDevice)
        CV_Error_(Error::StsBadArg,
                  ("setPredictions: locations are %s, but the frame is a %s",
                   frame.onDevice ? "on the host" : "in device memory", frame.onDevice ? "GpuMat" : "Mat"));
    return predictions_.list("setPredictions: locations", 2, getFragmentCount(), true).as<Position>();
}

// --- match, find -----------------------------------------------------------------------------------------------------

void FragmentMatcherImpl::match(InputArray frame, InputArray searchAreas, OutputArray locations, OutputArray scores,
                                OutputArray confidence, OutputArray status, OutputArray refined, Stream& stream)
{
    const auto lock = locked();
    if (isEmpty(frame))
        return detail::release({&locations, &scores, &confidence, &status, &refined});
    const Frame opened = open(frame, stream);
    std::vector<Rect4> memory;
    const SearchAreas areas = areasOf(searchAreas, opened, memory);
    const ConstRowsView<Position> predictions = predictionsOf(opened);
    const int n = getFragmentCount(), k = params_.peaks;
    Output outputs[] = {{"locations", locations, n, k, CV_32SC2, opened.place()},
                        {"scores", scores, n, k, CV_32FC1, opened.place()},
                        {"confidence", confidence, n, 1, CV_32FC1, opened.place()},
                        {"status", status, n, 1, CV_8UC1, opened.place()},
                        {"refined", refined, n, k, CV_32FC2, opened.place()}};
    opened.engine->match(opened.view, fragments_, areas, predictions, settingsOf(params_),
                         {outputs[0].allocate(), outputs[1].allocate(), outputs[2].allocate(), outputs[3].allocate(),
                          outputs[4].allocate()},
                         opened.stream);
}

void FragmentMatcherImpl::find(InputArray frame, InputArray searchAreas, std::vector<FragmentMatch>& matches,
                               Stream& stream)
{
    const auto lock = locked();
    Mat locations, scores, confidence, status, refined;
    match(frame, searchAreas, locations, scores, confidence, status, refined, stream);
    convert(locations, scores, confidence, status, refined, matches, stream);
}

//! Returns a host array for `array`. For one in device memory, appends the download that fills it to `copies`.
static Mat onHost(const char* name, InputArray array, std::vector<detail::HostCopy>& copies)
{
    if (!onDevice(array))
        return detail::columnArray(name, array);
    const GpuMat device = deviceArray(name, array);
    Mat host(device.size(), device.type());
    if (!device.empty())
        copies.push_back(
            {device.data, device.step, host.data, host.step, device.cols * device.elemSize(), device.rows});
    return host;
}

// --- score maps ------------------------------------------------------------------------------------------------------

void FragmentMatcherImpl::scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map, int depth,
                                   Stream& stream)
{
    const auto lock = locked();
    checkIndex(index);
    const Fragment& fragment = fragments_.list[index];
    checkDepth(depth, fragment);
    if (searchArea.width < 0 || searchArea.height < 0)
        CV_Error_(Error::StsOutOfRange, ("searchArea: size %d x %d is negative", searchArea.width, searchArea.height));
    if (isEmpty(frame))
        return detail::release({&map});
    const Frame opened = open(frame, stream);
    const int cols = opened.view.cols, rows = opened.view.rows;
    const Rect4 area = searchArea == Rect() ? Rect4{0, 0, cols, rows}
                                            : Rect4{searchArea.x, searchArea.y, searchArea.width, searchArea.height};
    const SearchWindow window = searchWindow(area, cols, rows, fragment.width, fragment.height);
    Output output("map", map, window.rows, window.cols, CV_MAKETYPE(depth, 1), opened.place());
    const OutputView out = output.allocate();
    if (out)
        opened.engine->scoreMaps(opened.view, fragments_, {index, {window}, {}, metric(), depth}, out, opened.stream);
}

void FragmentMatcherImpl::scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer,
                                    std::vector<int>& offsets, int depth, Stream& stream)
{
    const auto lock = locked();
    for (const Fragment& fragment : fragments_.list)
        checkDepth(depth, fragment);
    if (onDevice(searchAreas) && !isNone(searchAreas))
        CV_Error(Error::StsBadArg,
                 "searchAreas: scoreMaps needs them on the host, as they give the size of the buffer");
    if (isEmpty(frame))
    {
        detail::release({&buffer});
        return offsets.clear();
    }
    const Frame opened = open(frame, stream);
    std::vector<Rect4> memory;
    const SearchAreas areas = areasOf(searchAreas, opened, memory);
    const int cols = opened.view.cols, rows = opened.view.rows;
    MapRequest request = {0, {}, {0}, metric(), depth};
    for (int i = 0; i < getFragmentCount(); ++i)
    {
        const Fragment& fragment = fragments_.list[i];
        const SearchWindow window = searchWindow(areas.list ? *areas.list.row(i) : Rect4{0, 0, cols, rows}, cols, rows,
                                                 fragment.width, fragment.height);
        const int64_t end = request.offsets.back() + static_cast<int64_t>(window.cols) * window.rows;
        if (end > 0x7fffffff)
            CV_Error_(Error::StsOutOfRange, ("searchAreas: more than 2^31 - 1 positions up to fragment %d", i));
        request.windows.push_back(window);
        request.offsets.push_back(static_cast<int>(end));
    }
    Output output("buffer", buffer, 1, request.offsets.back(), CV_MAKETYPE(depth, 1), opened.place());
    const OutputView out = output.allocate();
    if (out)
        opened.engine->scoreMaps(opened.view, fragments_, request, out, opened.stream);
    offsets.swap(request.offsets);
}

// --- prediction of areas ---------------------------------------------------------------------------------------------

void FragmentMatcherImpl::predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas,
                                       Stream& stream)
{
    const auto lock = locked();
    if (radius < 0)
        CV_Error_(Error::StsOutOfRange, ("radius: %d, but it must not be negative", radius));
    if (frameSize.width < 0 || frameSize.height < 0)
        CV_Error_(Error::StsOutOfRange,
                  ("frameSize: %d x %d, but it must not be negative", frameSize.width, frameSize.height));
    const int n = getFragmentCount();
    const detail::Array given("locations", locations, detail::columnArray);
    if (n == 0 && given.empty())
        return detail::release({&areas});
    if (isNone(locations))
        CV_Error_(Error::StsUnmatchedSizes, ("locations: none given, but one for each of %d is needed", n));
    const detail::ListView at = given.list("locations", 2, n, true);
    Engine& engine = given.onDevice ? cuda() : *cpu_;
    const StreamHandle handle = given.onDevice ? detail::handleOf(stream) : nullptr;
    Output output("areas", areas, n, 1, CV_32SC4, {given.onDevice, handle});
    const OutputView out = output.allocate();
    engine.predictAreas(at.as<Position>(), fragments_, radius, frameSize.width, frameSize.height, out, handle);
    if (out.memory != detail::Memory::DEVICE)
        return;
    Size most;
    for (const Fragment& one : fragments_.list)
        most = Size(std::max(most.width, one.width), std::max(most.height, one.height));
    const auto sideOf = [radius](int side, int frame)
    { return static_cast<int>(std::min<int64_t>(side + 2 * static_cast<int64_t>(radius), frame)); };
    predicted_ = {out.data, n, {sideOf(most.width, frameSize.width), sideOf(most.height, frameSize.height)}};
}

} // namespace fragment_matcher

void FragmentMatcher::convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status,
                              InputArray refined, std::vector<FragmentMatch>& matches, Stream& stream)
{
    using namespace fragment_matcher;
    std::vector<detail::HostCopy> copies;
    Mat at = onHost("locations", locations, copies);
    const Mat score = onHost("scores", scores, copies), confident = onHost("confidence", confidence, copies);
    const Mat state = onHost("status", status, copies), exact = onHost("refined", refined, copies);
    if (!at.empty())
        checkLocations("locations", at.size(), at.type());
    if (at.type() == CV_32SC1 && at.cols == 2)
        at = at.reshape(2);
    const auto check = [&](const char* name, const Mat& array, int type, int columns)
    {
        const bool typed = array.type() == type;
        if (!array.empty() && !(typed && array.size() == Size(columns, at.rows)))
            CV_Error_(typed ? Error::StsUnmatchedSizes : Error::StsUnsupportedFormat,
                      ("%s: %s of %d x %d, but %s of %d x %d is needed", name, typeToString(array.type()).c_str(),
                       array.rows, array.cols, typeToString(type).c_str(), at.rows, columns));
    };
    if (!at.empty()) // results of an empty frame are empty
    {
        check("scores", score, CV_32FC1, at.cols);
        check("confidence", confident, CV_32FC1, 1);
        check("status", state, CV_8UC1, 1);
        check("refined", exact, CV_32FC2, at.cols);
    }
    if (!copies.empty())
        detail::fetch("FragmentMatcher", "convert()", copies, detail::handleOf(stream));

    std::vector<FragmentMatch> result(at.empty() ? 0 : at.rows);
    for (int i = 0; i < static_cast<int>(result.size()); ++i)
    {
        FragmentMatch& match = result[i];
        match.confidence = confident.empty() ? -1.f : confident.at<float>(i);
        for (int j = 0; j < at.cols && at.at<Point>(i, j) != Point(-1, -1); ++j)
        {
            const Point location = at.at<Point>(i, j);
            match.locations.push_back(location);
            match.refined.push_back(exact.empty() ? Point2f(location) : exact.at<Point2f>(i, j));
            match.scores.push_back(score.empty() ? 0.f : score.at<float>(i, j));
        }
        const int unknown = match.locations.empty() ? NO_POSITION : FOUND;
        match.status = state.empty() ? unknown : state.at<uchar>(i);
    }
    matches.swap(result);
}

}} // namespace cv::cuda
