// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Methods of QuickShift that give or change results of compute().
#include "impl.hpp"
#include "arguments.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace quick_shift {

using detail::handleOf;
using detail::Output;

Engine* QuickShiftImpl::resultsOn(const Stream& stream) const
{
    return cuda_ && cuda_->hasCaptured(handleOf(stream)) ? cuda_.get() : engine_;
}

template <typename Write>
void QuickShiftImpl::writePixels(const char* name, int type, const _OutputArray& out, const Stream& stream,
                                 const Write& write) const
{
    Engine* const engine = resultsOn(stream);
    if (!engine)
        return detail::release(out);
    if (!out.needed())
        return;
    const Extent extent = engine->shape(handleOf(stream)).extent;
    const Output output(name, out, extent.rows * extent.count, extent.cols, type, onCuda(*engine));
    write(*engine, output.view());
}

int QuickShiftImpl::getNumberOfSuperpixels() const { return engine_ ? engine_->count(engine_->ownStream()) : 0; }

void QuickShiftImpl::getSuperpixelCounts(OutputArray counts, Stream& stream) const
{
    Engine* const engine = resultsOn(stream);
    if (!engine)
        return detail::release(counts);
    if (!counts.needed())
        return;
    const Output output("counts", counts, engine->shape(handleOf(stream)).extent.count, 1, CV_32S, onCuda(*engine));
    engine->counts(output.view(), handleOf(stream));
}

void QuickShiftImpl::getLabels(OutputArray labels, Stream& stream) const
{
    writePixels("labels", CV_32S, labels, stream,
                [&](Engine& engine, const OutputView& out) { engine.labels(out, handleOf(stream)); });
}

void QuickShiftImpl::getDensity(OutputArray density, Stream& stream) const
{
    writePixels("density", CV_32F, density, stream,
                [&](Engine& engine, const OutputView& out) { engine.density(out, handleOf(stream)); });
}

void QuickShiftImpl::getParents(OutputArray parents, Stream& stream) const
{
    writePixels("parents", CV_32S, parents, stream,
                [&](Engine& engine, const OutputView& out) { engine.parents(out, handleOf(stream)); });
}

void QuickShiftImpl::getDistances(OutputArray distances, Stream& stream) const
{
    writePixels("distances", CV_32F, distances, stream,
                [&](Engine& engine, const OutputView& out) { engine.distances(out, handleOf(stream)); });
}

void QuickShiftImpl::getLabelContourMask(OutputArray mask, bool thickLine, Stream& stream) const
{
    writePixels("mask", CV_8U, mask, stream,
                [&](Engine& engine, const OutputView& out) { engine.contours(thickLine, out, handleOf(stream)); });
}

// --- other cuts --------------------------------------------------------------------------------------------------------

//! Returns the engine whose results are cut, or null before compute().
Engine* QuickShiftImpl::engineToCut(double tau, const Stream& stream) const
{
    Engine* const engine = resultsOn(stream);
    // Lengths of links are floats, so the longest may be maxDist rounded to float.
    const double maxDist = engine ? engine->shape(handleOf(stream)).maxDist : INFINITY;
    checkTau(tau, std::max(maxDist, static_cast<double>(static_cast<float>(maxDist))));
    return engine;
}

void QuickShiftImpl::segment(double tau, OutputArray labels, Stream& stream)
{
    engineToCut(tau, stream);
    writePixels("labels", CV_32S, labels, stream,
                [&](Engine& engine, const OutputView& out)
                { engine.segment(static_cast<float>(tau), out, handleOf(stream)); });
}

int QuickShiftImpl::countSuperpixels(double tau, Stream& stream)
{
    Engine* const engine = engineToCut(tau, stream);
    return engine ? engine->countAt(static_cast<float>(tau), handleOf(stream)) : 0;
}

void QuickShiftImpl::applyTau(double tau, Stream& stream)
{
    Engine* const engine = engineToCut(tau, stream);
    if (!engine)
        return;
    engine->apply(static_cast<float>(tau), handleOf(stream));
}

double QuickShiftImpl::tauForSuperpixels(int number, Stream& stream)
{
    checkAtLeastOne("number", number);
    Engine* const engine = resultsOn(stream);
    if (!engine)
        return 0.;
    const float tau = engine->tauFor(number, handleOf(stream));
    return cvIsInf(tau) ? engine->shape(handleOf(stream)).maxDist : static_cast<double>(tau);
}

void QuickShiftImpl::getMergeHeights(OutputArray heights, OutputArray counts, Stream& stream)
{
    Engine* const engine = resultsOn(stream);
    if (!engine)
    {
        detail::release(heights);
        return detail::release(counts);
    }
    const int n = engine->findHeights(handleOf(stream));
    const Output heightsOut("heights", heights, n, 1, CV_32F, onCuda(*engine));
    const Output countsOut("counts", counts, n, 1, CV_32S, onCuda(*engine));
    engine->heights(heightsOut.view(), countsOut.view(), handleOf(stream));
}

// --- superpixels -------------------------------------------------------------------------------------------------------

ImageView QuickShiftImpl::imageForMeans(Engine& engine, const Mat& host, const GpuMat& device,
                                        const Stream& stream) const
{
    const ImageView image = onCuda(engine) ? detail::viewOf(device) : detail::viewOf(host);
    if (!image)
        CV_Error_(Error::StsBadArg, ("image: must be a %s with pixels, as that of the last compute() was",
                                     onCuda(engine) ? "GpuMat" : "Mat"));
    const Extent extent = engine.shape(handleOf(stream)).extent;
    checkImageType("image", CV_MAKETYPE(image.depth, image.channels));
    if (image.cols != extent.cols || image.rows != extent.rows * extent.count)
        CV_Error_(Error::StsUnmatchedSizes,
                  ("image: size %d x %d, but that of the last compute() was %d x %d%s", image.cols, image.rows,
                   extent.cols, extent.rows * extent.count,
                   extent.count > 1 ? ", all images of computeBatch() one below the other" : ""));
    return image;
}

//! Returns the array on the host; empty if there is none or it is on the device.
static Mat hostOf(InputArray image) { return detail::onDevice(image) ? Mat() : detail::hostArray("image", image); }
//! Returns the array on the device; empty if there is none or it is on the host.
static GpuMat deviceOf(InputArray image)
{
    return detail::onDevice(image) ? detail::deviceArray("image", image) : GpuMat();
}

void QuickShiftImpl::getMeanColor(InputArray image, OutputArray dst, Stream& stream) const
{
    Engine* const engine = resultsOn(stream);
    if (!engine)
        return detail::release(dst);
    const Mat host = hostOf(image);
    const GpuMat device = deviceOf(image);
    const ImageView view = imageForMeans(*engine, host, device, stream);
    const Output output("dst", dst, view.rows, view.cols, CV_MAKETYPE(view.depth, view.channels), onCuda(*engine));
    if (output)
        engine->meanColor(view, output.view(), handleOf(stream));
}

void QuickShiftImpl::getStatistics(InputArray image, OutputArray areas, OutputArray means, OutputArray centroids,
                                   OutputArray boxes, Stream& stream) const
{
    Engine* const engine = resultsOn(stream);
    if (!engine)
    {
        for (const _OutputArray* out : {&areas, &means, &centroids, &boxes})
            detail::release(*out);
        return;
    }
    const bool given = image.kind() != _InputArray::NONE && !image.empty();
    const Mat host = hostOf(image);
    const GpuMat device = deviceOf(image);
    const ImageView view = given ? imageForMeans(*engine, host, device, stream) : ImageView();
    const int n = engine->count(handleOf(stream));
    const bool cuda = onCuda(*engine);
    const Output areasOut("areas", areas, n, 1, CV_32S, cuda);
    const Output meansOut("means", means, given ? n : 0, 1, CV_MAKETYPE(CV_32F, std::max(view.channels, 1)), cuda);
    const Output centroidsOut("centroids", centroids, n, 1, CV_32FC2, cuda);
    const Output boxesOut("boxes", boxes, n, 1, CV_32SC4, cuda);
    if (n > 0)
        engine->statistics(view, n, {areasOut.view(), meansOut.view(), centroidsOut.view(), boxesOut.view()},
                           handleOf(stream));
}

void QuickShiftImpl::getAdjacency(OutputArray pairs, Stream& stream) const
{
    Engine* const engine = resultsOn(stream);
    if (!engine)
        return detail::release(pairs);
    const int n = engine->findAdjacency(handleOf(stream));
    const Output output("pairs", pairs, n, 1, CV_32SC2, onCuda(*engine));
    engine->adjacency(output.view(), handleOf(stream));
}

int QuickShiftImpl::enforceConnectivity(int minSize, Stream& stream)
{
    checkAtLeastOne("minSize", minSize);
    Engine* const engine = resultsOn(stream);
    if (!engine)
        return 0;
    return engine->connect(minSize, handleOf(stream));
}

}}} // namespace cv::cuda::quick_shift
