// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Methods of QuickShift that give or change results of compute().
#include "impl.hpp"
#include "arguments.hpp"
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace cv { namespace cuda { namespace quick_shift {

using detail::handleOf;
using detail::Output;

//! Share of the mean area of a superpixel that applyNumber() lets a piece have at least, as a divisor.
const int PIECES_PER_SUPERPIXEL = 12;
//! Part of the number by which applyNumber() may miss it before it goes on, as a divisor.
const int NUMBER_TOLERANCE = 50;
//! Largest number of cuts that applyNumber() makes after bisection has missed the number.
const int FURTHER_CUTS = 16;

auto QuickShiftImpl::resultsOn(const Stream& stream) const -> ResultsPtr
{
    const StreamHandle handle = handleOf(stream);
    Engine* const engine = cuda_ && engine_ != cuda_.get() && cuda_->hasCaptured(handle) ? cuda_.get() : engine_;
    return engine ? engine->results(handle) : nullptr;
}

static detail::ResultsPlace placeOf(const Results& results, const Stream& stream)
{
    return {results.onDevice(), handleOf(stream)};
}

void QuickShiftImpl::writePixels(const char* name, int type, OutputArray out, const ResultsPtr& results,
                                 const Stream& stream, const PixelWriter& write)
{
    if (!results)
        return detail::release({&out});
    if (!out.needed())
        return;
    const Extent& extent = results->extent();
    Output output(name, out, extent.rows * extent.count, extent.cols, type, placeOf(*results, stream));
    write(*results, output.allocate());
}

size_t QuickShiftImpl::workspaceBytes() const
{
    const auto lock = locked();
    return cuda_ ? cuda_->workspaceBytes() : 0;
}

int QuickShiftImpl::getNumberOfSuperpixels() const
{
    const auto lock = locked();
    return engine_ ? engine_->results(engine_->ownStream())->count() : 0;
}

void QuickShiftImpl::getSuperpixelCounts(OutputArray counts, Stream& stream) const
{
    const auto lock = locked();
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return detail::release({&counts});
    if (!counts.needed())
        return;
    Output output("counts", counts, results->extent().count, 1, CV_32S, placeOf(*results, stream));
    results->counts(output.allocate());
}

void QuickShiftImpl::getLabels(OutputArray labels, Stream& stream) const
{
    locked()->writePixels("labels", CV_32S, labels, resultsOn(stream), stream, &Results::labels);
}

void QuickShiftImpl::getDensity(OutputArray density, Stream& stream) const
{
    locked()->writePixels("density", CV_32F, density, resultsOn(stream), stream, &Results::density);
}

void QuickShiftImpl::getParents(OutputArray parents, Stream& stream) const
{
    locked()->writePixels("parents", CV_32S, parents, resultsOn(stream), stream, &Results::parents);
}

void QuickShiftImpl::getDistances(OutputArray distances, Stream& stream) const
{
    locked()->writePixels("distances", CV_32F, distances, resultsOn(stream), stream, &Results::distances);
}

void QuickShiftImpl::getLabelContourMask(OutputArray mask, bool thickLine, Stream& stream) const
{
    const auto lock = locked();
    writePixels("mask", CV_8U, mask, resultsOn(stream), stream,
                [=](Results& results, const OutputView& out) { results.contours(thickLine, out); });
}

ComputedTrees QuickShiftImpl::trees() const
{
    const auto lock = locked();
    ComputedTrees made = {};
    if (const ResultsPtr results = resultsOn(cv::cuda::noStream()))
    {
        made.settings = results->settings();
        made.images = results->extent().count;
    }
    getParents(made.parents, cv::cuda::noStream());
    return made;
}

// --- other cuts ------------------------------------------------------------------------------------------------------

//! Returns the results that are cut, or null before compute().
auto QuickShiftImpl::resultsToCut(double tau, const Stream& stream) const -> ResultsPtr
{
    ResultsPtr results = resultsOn(stream);
    // Lengths of links are floats, so the longest may be maxDist rounded to float.
    const double maxDist = results ? results->settings().maxDist : INFINITY;
    checkTau(tau, std::max(maxDist, static_cast<double>(static_cast<float>(maxDist))));
    return results;
}

void QuickShiftImpl::segment(double tau, OutputArray labels, Stream& stream)
{
    const auto lock = locked();
    writePixels("labels", CV_32S, labels, resultsToCut(tau, stream), stream,
                [=](Results& results, const OutputView& out) { results.segment(static_cast<float>(tau), out); });
}

int QuickShiftImpl::countSuperpixels(double tau, Stream& stream)
{
    const auto lock = locked();
    const ResultsPtr results = resultsToCut(tau, stream);
    return results ? results->countAt(static_cast<float>(tau)) : 0;
}

void QuickShiftImpl::applyTau(double tau, Stream& stream)
{
    const auto lock = locked();
    const ResultsPtr results = resultsToCut(tau, stream);
    if (results)
        results->apply(static_cast<float>(tau));
}

double QuickShiftImpl::tauForSuperpixels(int number, Stream& stream)
{
    const auto lock = locked();
    checkAtLeast(1, "number", number);
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return 0.;
    const float tau = results->tauFor(number);
    return cvIsInf(tau) ? results->settings().maxDist : static_cast<double>(tau);
}

//! Returns the middle of the first two neighbours of which one makes too few pieces and the other too many; 0 without.
//! @param made pieces by trees.
static int treesBetween(const std::map<int, int>& made, int number)
{
    for (auto after = made.begin(), before = after++; after != made.end(); before = after++)
        if ((before->second < number) != (after->second < number) && after->first - before->first > 1)
            return before->first + (after->first - before->first) / 2;
    return 0;
}

int QuickShiftImpl::applyNumber(int number, int minSize, Stream& stream)
{
    const auto lock = locked();
    checkAtLeast(1, "number", number);
    checkAtLeast(0, "minSize", minSize);
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return 0;
    const int pixels = results->countAt(0.f); // no link is as short
    const int least = minSize > 0 ? minSize : std::max(1, pixels / number / PIECES_PER_SUPERPIXEL);
    Mat heights, counts;
    writeHeights(*results, heights, counts, stream);

    const auto connectTrees = [&](int trees, bool keep)
    {
        const int* const first = counts.ptr<int>();
        const ptrdiff_t at = std::lower_bound(first, first + counts.rows, trees, std::greater<int>()) - first;
        const float tau = trees == pixels ? 0.f : at < counts.rows ? heights.at<float>(static_cast<int>(at)) : INFINITY;
        return results->connectCut(tau, least, keep);
    };
    std::map<int, int> made; // pieces by trees
    int best = 0;
    int64_t nearest = INT64_MAX;
    const auto tryTrees = [&](int trees)
    {
        const int pieces = made[trees] = connectTrees(trees, false);
        const int64_t error = std::abs(static_cast<int64_t>(pieces) - number);
        if (error < nearest)
        {
            nearest = error;
            best = trees;
        }
        return pieces;
    };
    const auto isReached = [&] { return nearest <= number / NUMBER_TOLERANCE; };

    int low = 0, high = pixels + 1; // trees that make too few pieces, and too many
    for (int trees = std::max(std::min(number, pixels / least), 1); high - low > 1;)
    {
        (tryTrees(trees) < number ? low : high) = trees;
        if (isReached())
            break;
        const double middle = std::sqrt(static_cast<double>(std::max(low, 1)) * high);
        trees = high > pixels ? static_cast<int>(std::min<int64_t>(int64_t(2) * low, pixels))
                              : std::min(std::max(cvRound(middle), low + 1), high - 1);
    }
    // In noise pieces first grow in number with trees, and become fewer when most are smaller than `least` and are
    // merged. Then the number can also lie between other trees that make too few and too many.
    for (int cuts = 0, trees = 1; cuts < FURTHER_CUTS && trees > 0 && !isReached(); ++cuts)
    {
        tryTrees(trees);
        trees = made.count(pixels) ? treesBetween(made, number) : pixels;
    }
    return connectTrees(best, true);
}

//! Writes the merge heights and the numbers of superpixels that they leave.
void QuickShiftImpl::writeHeights(Results& results, OutputArray heights, OutputArray counts, const Stream& stream)
{
    std::vector<Output> outputs;
    results.heights(
        [&](int n) -> HeightsViews
        {
            outputs.emplace_back("heights", heights, n, 1, CV_32F, placeOf(results, stream));
            outputs.emplace_back("counts", counts, n, 1, CV_32S, placeOf(results, stream));
            return {outputs[0].allocate(), outputs[1].allocate()};
        });
}

void QuickShiftImpl::getMergeHeights(OutputArray heights, OutputArray counts, Stream& stream)
{
    const auto lock = locked();
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return detail::release({&heights, &counts});
    writeHeights(*results, heights, counts, stream);
}

// --- superpixels -----------------------------------------------------------------------------------------------------

ImageView QuickShiftImpl::imageForMeans(const Results& results, const detail::Array& given)
{
    const ImageView image = given.view();
    if (!image || given.onDevice != results.onDevice())
        CV_Error_(Error::StsBadArg, ("image: must be a %s with pixels, as that of the last compute() was",
                                     results.onDevice() ? "GpuMat" : "Mat"));
    const Extent& extent = results.extent();
    checkImageType("image", CV_MAKETYPE(image.depth, image.channels));
    if (image.cols != extent.cols || image.rows != extent.rows * extent.count)
        CV_Error_(Error::StsUnmatchedSizes,
                  ("image: size %d x %d, but that of the last compute() was %d x %d%s", image.cols, image.rows,
                   extent.cols, extent.rows * extent.count,
                   extent.count > 1 ? ", all images of computeBatch() one below the other" : ""));
    return image;
}

void QuickShiftImpl::getMeanColor(InputArray image, OutputArray dst, Stream& stream) const
{
    const auto lock = locked();
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return detail::release({&dst});
    const detail::Array given("image", image);
    const ImageView view = imageForMeans(*results, given);
    Output output("dst", dst, view.rows, view.cols, CV_MAKETYPE(view.depth, view.channels), placeOf(*results, stream));
    const OutputView out = output.allocate();
    if (out)
        results->meanColor(view, out);
}

void QuickShiftImpl::getStatistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids,
                                   OutputArray boxes, Stream& stream) const
{
    const auto lock = locked();
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return detail::release({&areas, &means, &centroids, &boxes});
    const detail::Array given("image", image);
    const ImageView view = given.empty() ? ImageView() : imageForMeans(*results, given);
    const int n = results->count();
    const detail::ResultsPlace place = placeOf(*results, stream);
    Output outputs[] = {{"areas", areas, n, 1, CV_32S, place},
                        {"means", means, view ? n : 0, 1, CV_MAKETYPE(CV_32F, std::max(view.channels, 1)), place},
                        {"centroids", centroids, n, 1, CV_32FC2, place},
                        {"boxes", boxes, n, 1, CV_32SC4, place}};
    const StatisticsViews views = {outputs[0].allocate(), outputs[1].allocate(), outputs[2].allocate(),
                                   outputs[3].allocate()};
    if (n > 0)
        results->statistics(view, n, views);
}

void QuickShiftImpl::getAdjacency(OutputArray pairs, Stream& stream) const
{
    const auto lock = locked();
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return detail::release({&pairs});
    std::vector<Output> output;
    results->adjacency(
        [&](int n)
        {
            output.emplace_back("pairs", pairs, n, 1, CV_32SC2, placeOf(*results, stream));
            return output[0].allocate();
        });
}

int QuickShiftImpl::enforceConnectivity(int minSize, Stream& stream)
{
    const auto lock = locked();
    checkAtLeast(1, "minSize", minSize);
    const ResultsPtr results = resultsOn(stream);
    if (!results)
        return 0;
    return results->connect(minSize);
}

}}} // namespace cv::cuda::quick_shift
