// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// cv::cuda::FragmentMatcher: matching, score maps, next areas. Checks, then the engine of the frame's side.

#include "impl.hpp"

namespace cv { namespace cuda { namespace fragment_matcher {

void FragmentMatcherImpl::checkFrame(InputArray frame) const
{
    checkPicture("frame", frame.type(), frame.size());
    if (fragments_.empty())
        CV_Error(Error::StsError, "no fragments: call setFragments(), cutFragments() or addFragment() first");
    CV_CheckTypeEQ(frame.type(), fragments_[0].type, "frame: must be of the fragments' type");
    if (fragments_[0].onDevice && !onDevice(frame))
        CV_Error(Error::StsBadArg, "frame: is a Mat, but the fragments were given in device memory");
    if (params_.metric != ZNCC)
        return;
    for (size_t i = 0; i < fragments_.size(); ++i)
        if (fragments_[i].size.width * static_cast<int64_t>(fragments_[i].size.height) > MAX_ZNCC_PIXELS)
            CV_Error_(Error::StsOutOfRange, ("fragment %zu: %d x %d pixels, but ZNCC is exact up to %d pixels only", i,
                                             fragments_[i].size.width, fragments_[i].size.height, MAX_ZNCC_PIXELS));
}

//! Integer maps hold S itself, so it has to fit.
void FragmentMatcherImpl::checkDepth(int depth, const Fragment& fragment) const
{
    if (depth != CV_32F && depth != CV_32S && depth != CV_64F)
        CV_Error_(Error::StsUnsupportedFormat, ("depth: %d, but CV_32F, CV_32S or CV_64F is needed", depth));
    if (depth == CV_32F)
        return;
    if (params_.metric == ZNCC)
        CV_Error_(Error::StsUnsupportedFormat, ("depth: %d, but ZNCC has CV_32F only", depth));
    const double largest = 3. * 255. * (params_.metric == SAD ? 255. : 255. * 255.);
    if (depth == CV_32S && largest * fragment.size.width * fragment.size.height > 2147483647.)
        CV_Error_(Error::StsOutOfRange, ("depth: CV_32S cannot hold the sums of a %d x %d fragment; CV_64F can",
                                         fragment.size.width, fragment.size.height));
}

void FragmentMatcherImpl::setPredictions(InputArray locations)
{
    Mat host;
    GpuMat device;
    if (!locations.empty() && onDevice(locations))
        device = locationsFrom("locations", locations.getGpuMat());
    else if (!locations.empty())
        host = locationsFrom("locations", locations.getMat());
    predictions_ = host;
    devicePredictions_ = device;
}

std::vector<HostFragment> FragmentMatcherImpl::hostFragments() const
{
    std::vector<HostFragment> fragments;
    for (const Fragment& f : fragments_)
        fragments.push_back({f.templ.data, f.q.data, f.size.width, f.size.height, f.templ.channels(), f.sums});
    return fragments;
}

void FragmentMatcherImpl::matchOnCpu(InputArray frame, InputArray searchAreas, const Outputs& out) const
{
    if (!searchAreas.empty() && onDevice(searchAreas))
        CV_Error(Error::StsBadArg, "searchAreas: in device memory, but the frame is a Mat");
    std::vector<Rect4> areas;
    if (!searchAreas.empty())
        areas = areasFrom(searchAreas, getFragmentCount());
    ConstRowsView<Position> predictions = {nullptr, 0};
    if (params_.search == THREE_STEP && !devicePredictions_.empty())
        CV_Error(Error::StsBadArg, "setPredictions: locations are in device memory, but the frame is a Mat");
    if (params_.search == THREE_STEP && !predictions_.empty())
    {
        checkLocationRows("setPredictions", predictions_.rows, getFragmentCount());
        predictions = {predictions_.ptr<Position>(), predictions_.step};
    }
    const Mat picture = frame.getMat();
    cpu::match(viewOf(picture), hostFragments(), areas.empty() ? nullptr : areas.data(), predictions,
               settingsOf(params_), out);
}

void FragmentMatcherImpl::matchOnDevice(InputArray frame, InputArray searchAreas, const Outputs& out, Stream& stream)
{
#ifdef HAVE_CUDA
    std::vector<Rect4> host;
    Areas areas;
    if (!searchAreas.empty() && onDevice(searchAreas))
    {
        areas.device = areasOnDevice(searchAreas, getFragmentCount());
        const Size limit = params_.maxSearchArea;
        areas.limit = Size(limit.width > 0 ? limit.width : frame.size().width,
                           limit.height > 0 ? limit.height : frame.size().height);
    }
    else if (!searchAreas.empty())
    {
        host = areasFrom(searchAreas, getFragmentCount());
        areas.host = &host;
    }
    ConstRowsView<Position> predictions = {nullptr, 0};
    if (params_.search == THREE_STEP && !predictions_.empty())
        CV_Error(Error::StsBadArg, "setPredictions: locations are on the host, but the frame is a GpuMat");
    if (params_.search == THREE_STEP && !devicePredictions_.empty())
    {
        checkLocationRows("setPredictions", devicePredictions_.rows, getFragmentCount());
        predictions = {devicePredictions_.ptr<Position>(), devicePredictions_.step};
    }
    const GpuMat picture = frame.getGpuMat();
    engine(stream).match(viewOf(picture), areas, predictions, settingsOf(params_), anyWeighted(), out,
                         StreamAccessor::getStream(stream));
#else
    CV_UNUSED(frame);
    CV_UNUSED(searchAreas);
    CV_UNUSED(out);
    CV_UNUSED(stream);
    noCuda();
#endif
}

void FragmentMatcherImpl::match(InputArray frame, InputArray searchAreas, OutputArray locations, OutputArray scores,
                                OutputArray confidence, OutputArray status, OutputArray refined, Stream& stream)
{
    const bool device = onDevice(frame);
    const _OutputArray* targets[5] = {&locations, &scores, &confidence, &status, &refined};
    if (frame.empty())
    {
        for (const _OutputArray* target : targets)
            if (target->needed())
                target->release();
        return;
    }
    checkFrame(frame);
#ifndef HAVE_CUDA
    if (device)
        noCuda();
#endif
    const int n = getFragmentCount(), k = params_.peaks;
    const int columns[5] = {k, k, 1, 1, k}, types[5] = {CV_32SC2, CV_32FC1, CV_32FC1, CV_8UC1, CV_32FC2};
    std::vector<Output> outputs;
    for (int j = 0; j < 5; ++j)
        outputs.push_back(device ? Output(*targets[j], n, columns[j], types[j], spare_[j])
                                 : Output(*targets[j], n, columns[j], types[j]));
    const Outputs out = {outputs[0].view<Position>(), outputs[1].view<float>(), outputs[2].view<float>(),
                         outputs[3].view<uint8_t>(), outputs[4].view<Offset2>()};
    if (!device)
        return matchOnCpu(frame, searchAreas, out);
    matchOnDevice(frame, searchAreas, out, stream);
    bool wait = false;
    for (int j = 0; j < 5; ++j)
        wait |= outputs[j].download(*targets[j], stream);
    if (wait)
        stream.waitForCompletion();
}

//! The array in host memory; `wait` is set when a copy is under way.
static Mat onHost(InputArray array, Stream& stream, bool& wait)
{
    if (!onDevice(array))
        return array.getMat();
    Mat copy;
    array.getGpuMat().download(copy, stream);
    wait = true;
    return copy;
}

void FragmentMatcherImpl::convert(InputArray locations, InputArray scores, InputArray confidence, InputArray status,
                                  InputArray refined, std::vector<FragmentMatch>& matches, Stream& stream) const
{
    bool wait = false;
    const Mat at = tuplesOf(onHost(locations, stream, wait), 2), score = onHost(scores, stream, wait);
    const Mat confident = onHost(confidence, stream, wait), state = onHost(status, stream, wait);
    const Mat exact = onHost(refined, stream, wait);
    if (wait)
        stream.waitForCompletion();
    if (at.empty()) // of an empty frame
        return matches.clear();
    const auto check = [&](const char* name, const Mat& array, int type, int columns, bool optional)
    {
        if (optional && array.empty())
            return;
        if (array.type() != type || array.size() != Size(columns, at.rows))
            CV_Error_(Error::StsUnmatchedSizes,
                      ("%s: %s of %d x %d, but %s of %d x %d is needed", name, typeToString(array.type()).c_str(),
                       array.rows, array.cols, typeToString(type).c_str(), at.rows, columns));
    };
    check("locations", at, CV_32SC2, at.cols, false);
    check("scores", score, CV_32FC1, at.cols, true);
    check("confidence", confident, CV_32FC1, 1, true);
    check("status", state, CV_8UC1, 1, true);
    check("refined", exact, CV_32FC2, at.cols, true);

    std::vector<FragmentMatch> result(at.rows);
    for (int i = 0; i < at.rows; ++i)
    {
        FragmentMatch& match = result[i];
        match.confidence = confident.empty() ? -1.f : confident.at<float>(i);
        match.status = state.empty() ? static_cast<int>(FOUND) : state.at<uchar>(i);
        for (int j = 0; j < at.cols && at.at<Point>(i, j) != Point(-1, -1); ++j)
        {
            const Point location = at.at<Point>(i, j);
            match.locations.push_back(location);
            match.refined.push_back(exact.empty() ? Point2f(location) : exact.at<Point2f>(i, j));
            match.scores.push_back(score.empty() ? 0.f : score.at<float>(i, j));
        }
    }
    matches.swap(result);
}

void FragmentMatcherImpl::find(InputArray frame, InputArray searchAreas, std::vector<FragmentMatch>& matches,
                               Stream& stream)
{
    Mat locations, scores, confidence, status, refined;
    match(frame, searchAreas, locations, scores, confidence, status, refined, stream);
    convert(locations, scores, confidence, status, refined, matches, stream);
}

static void writeMap(const std::vector<uint64_t>& values, int metric, uint64_t W, Mat map, size_t first)
{
    for (size_t p = 0; p < values.size(); ++p)
    {
        uchar* target = map.data + (first + p) * map.elemSize(); // maps of the CPU engine have no gaps
        if (map.depth() == CV_32F)
            *reinterpret_cast<float*>(target) = scoreOf(values[p], metric, W);
        else if (map.depth() == CV_32S)
            *reinterpret_cast<int*>(target) = static_cast<int>(values[p]);
        else
            *reinterpret_cast<double*>(target) = static_cast<double>(values[p]);
    }
}

static void scoresOnCpu(const ImageView& frame, const HostFragment& fragment, const SearchWindow& window, int metric,
                        const Mat& map, size_t first)
{
    std::vector<uint64_t> values(static_cast<size_t>(window.cols) * window.rows);
    cpu::scores(frame, fragment, window, metric, values.data());
    writeMap(values, metric, fragment.sums.W, map, first);
}

void FragmentMatcherImpl::scoreMap(int index, InputArray frame, const Rect& searchArea, OutputArray map, int depth,
                                   Stream& stream)
{
    checkIndex(index);
    checkDepth(depth, fragments_[index]);
    if (searchArea.width < 0 || searchArea.height < 0)
        CV_Error_(Error::StsOutOfRange, ("searchArea: size %d x %d is negative", searchArea.width, searchArea.height));
    if (frame.empty())
        return map.release();
    checkFrame(frame);
    const Size size = fragments_[index].size, whole = frame.size();
    const Rect chosen = searchArea.empty() ? Rect(Point(), whole) : searchArea;
    const Rect4 area = {chosen.x, chosen.y, chosen.width, chosen.height};
    const SearchWindow window = searchWindow(area, whole.width, whole.height, size.width, size.height);
    if (window.cols == 0)
        return map.release();
    if (!onDevice(frame))
    {
        checkOnHost(map);
        Mat target(window.rows, window.cols, CV_MAKETYPE(depth, 1));
        const Mat picture = frame.getMat();
        scoresOnCpu(viewOf(picture), hostFragments()[index], window, params_.metric, target, 0);
        target.copyTo(map);
        return;
    }
#ifdef HAVE_CUDA
    const Output output(map, window.rows, window.cols, CV_MAKETYPE(depth, 1), spare_[0]);
    const GpuMat picture = frame.getGpuMat();
    engine(stream).scoreMap(index, viewOf(picture), area, settingsOf(params_), anyWeighted(), depth,
                            output.view<void>(), StreamAccessor::getStream(stream));
    if (output.download(map, stream))
        stream.waitForCompletion();
#else
    CV_UNUSED(stream);
    noCuda();
#endif
}

void FragmentMatcherImpl::scoreMaps(InputArray frame, InputArray searchAreas, OutputArray buffer,
                                    std::vector<int>& offsets, int depth, Stream& stream)
{
    for (const Fragment& fragment : fragments_)
        checkDepth(depth, fragment);
    if (!searchAreas.empty() && onDevice(searchAreas))
        CV_Error(Error::StsBadArg,
                 "searchAreas: scoreMaps needs them on the host, as they give the size of the buffer");
    if (frame.empty())
    {
        offsets.clear();
        return buffer.release();
    }
    checkFrame(frame);
    const Size whole = frame.size();
    const int n = getFragmentCount();
    std::vector<Rect4> areas(n, Rect4{0, 0, whole.width, whole.height});
    if (!searchAreas.empty())
        areas = areasFrom(searchAreas, n);
    std::vector<int> starts(1, 0);
    std::vector<SearchWindow> windows;
    for (int i = 0; i < n; ++i)
    {
        windows.push_back(
            searchWindow(areas[i], whole.width, whole.height, fragments_[i].size.width, fragments_[i].size.height));
        const int64_t end = starts.back() + static_cast<int64_t>(windows[i].cols) * windows[i].rows;
        if (end > 0x7fffffff)
            CV_Error_(Error::StsOutOfRange, ("searchAreas: more than 2^31 - 1 positions up to fragment %d", i));
        starts.push_back(static_cast<int>(end));
    }
    offsets = starts;
    if (starts.back() == 0)
        return buffer.release();
    const int type = CV_MAKETYPE(depth, 1);
    if (!onDevice(frame))
    {
        checkOnHost(buffer);
        Mat target(1, starts.back(), type);
        const Mat picture = frame.getMat();
        const std::vector<HostFragment> fragments = hostFragments();
        for (int i = 0; i < n; ++i)
            if (windows[i].cols > 0)
                scoresOnCpu(viewOf(picture), fragments[i], windows[i], params_.metric, target, starts[i]);
        target.copyTo(buffer);
        return;
    }
#ifdef HAVE_CUDA
    const Output output(buffer, 1, starts.back(), type, spare_[0]);
    Areas given;
    given.host = &areas;
    const GpuMat picture = frame.getGpuMat();
    engine(stream).scoreMaps(viewOf(picture), given, settingsOf(params_), anyWeighted(), depth, output.view<void>(),
                             starts, StreamAccessor::getStream(stream));
    if (output.download(buffer, stream))
        stream.waitForCompletion();
#else
    CV_UNUSED(stream);
    noCuda();
#endif
}

void FragmentMatcherImpl::predictAreas(InputArray locations, int radius, Size frameSize, OutputArray areas,
                                       Stream& stream)
{
    CV_CheckGE(radius, 0, "radius must not be negative");
    CV_Check(frameSize, frameSize.width >= 0 && frameSize.height >= 0, "frameSize must not be negative");
    const int n = getFragmentCount();
    if (!onDevice(locations))
    {
        const Mat at = locationsFrom("locations", locations.getMat());
        checkLocationRows("locations", at.rows, n);
        const RowsView<Rect4> out = Output(areas, n, 1, CV_32SC4).view<Rect4>();
        for (int i = 0; i < n && out; ++i)
            *out.row(i) = predictedArea(*at.ptr<Position>(i), fragments_[i].size.width, fragments_[i].size.height,
                                        radius, frameSize.width, frameSize.height);
        return;
    }
#ifdef HAVE_CUDA
    const GpuMat at = locationsFrom("locations", locations.getGpuMat());
    checkLocationRows("locations", at.rows, n);
    const Output output(areas, n, 1, CV_32SC4, spare_[0]);
    engine(stream).predictAreas({at.ptr<Position>(), at.step}, radius, frameSize, output.view<Rect4>(),
                                StreamAccessor::getStream(stream));
    if (output.download(areas, stream))
        stream.waitForCompletion();
#else
    CV_UNUSED(stream);
    noCuda();
#endif
}

}}} // namespace cv::cuda::fragment_matcher
