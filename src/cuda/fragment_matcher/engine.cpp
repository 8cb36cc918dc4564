// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// The CUDA engine: batches of fragments on a stream, one stage after the other.
#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../fragment_matcher/engine.hpp"

#ifdef HAVE_CUDA

#include "fragments.hpp"
#include "../../common/shared_memory.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using detail::Call;
using detail::cudaCheck;
using gpu::Batch;
using gpu::Best;
using gpu::Route;
using gpu::TilePlan;
typedef detail::Downloads::Batch Results;

class CudaEngine final : public Engine
{
public:
    bool take(const Fragments& fragments, StreamHandle stream) override
    {
        const Call call(workspace_, stream);
        return fragments_.synchronize(call, fragments, true);
    }

    void match(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas,
               ConstRowsView<Position> predictions, const Settings& settings, const MatchOutputs& outputs,
               StreamHandle stream) override;
    void scoreMaps(const ByteImageView& frame, const Fragments& fragments, const MapRequest& request,
                   const OutputView& maps, StreamHandle stream) override;
    void predictAreas(ConstRowsView<Position> locations, const Fragments& fragments, int radius, int frameCols,
                      int frameRows, const OutputView& areas, StreamHandle stream) override;

    size_t workspaceBytes() const override { return workspace_.bytes(); }

private:
    Batch batchOf(const Call& call, const Fragments& fragments);
    MatchCase caseOf(const ByteImageView& frame, const Fragments& fragments, Metric metric) const;
    const uint8_t* uploadHost(const Call& call);
    void uploadAreas(const Call& call, const SearchAreas& areas, Batch& batch);
    void search(const Call& call, const ByteImageView& frame, const Batch& batch, const Settings& settings,
                const MatchCase& given, const Outputs& out);
    void runRoute(Route route, const ByteImageView& frame, const Batch& batch, const Settings& settings,
                  const gpu::TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream);
    gpu::BandMemory reserveBands(const Call& call, const gpu::BandPlan& plan, const MatchCase& given, int batch);
    gpu::TileMemory reserveTiles(const Call& call, const TilePlan& plan, const MatchCase& given, int batch);
    template <class Body>
    void forTileBatches(const Call& call, Batch batch, const TilePlan& plan, const MatchCase& given, const Body& body);

    detail::Workspace workspace_{"FragmentMatcher"}; // declared before the buffers that belong to it
    detail::Uploader uploader_{workspace_};
    detail::Downloads downloads_{workspace_};
    DeviceFragments fragments_{workspace_, uploader_};
    detail::DeviceBuffer areas_{workspace_}, walked_{workspace_}, values_{workspace_}, bests_{workspace_},
        finished_{workspace_}, planes_{workspace_}, bands_{workspace_}, sums_{workspace_}, entries_{workspace_};
    bool finishedIsZero_ = false; //!< calls that were not captured left all of finished_ at 0
    // Valid during a call; members to reuse their memory.
    MatchPlan plan_;
    std::vector<uint8_t> host_;
};

//! Synchronizes the fragments with the device, and returns the batch of all of them.
Batch CudaEngine::batchOf(const Call& call, const Fragments& fragments)
{
    fragments_.synchronize(call, fragments, false);
    return fragments_.batch(call, fragments.anyWeighted());
}

MatchCase CudaEngine::caseOf(const ByteImageView& frame, const Fragments& fragments, Metric metric) const
{
    return {frame, metric, fragments.anyWeighted(), detail::SharedLimit(detail::sharedBytesOfBlock()),
            detail::multiprocessors()};
}

//! Uploads host_.
const uint8_t* CudaEngine::uploadHost(const Call& call)
{
    uint8_t* const device = areas_.reserve<uint8_t>(call, host_.size(), "search areas");
    uploader_.upload(call, device, host_.data(), host_.size());
    return device;
}

//! Runs score, findPeaks and report by the kernels of a route of plan_. @param memory for routes with several blocks per window.
void CudaEngine::runRoute(Route route, const ByteImageView& frame, const Batch& batch, const Settings& settings,
                          const gpu::TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream)
{
    switch (route)
    {
    case Route::FUSED:
        return gpu::matchFused(frame, batch, settings, plan_.fusedPlan, walked, out, stream);
    case Route::FUSED_BANDS:
        return gpu::matchFusedBands(frame, batch, settings, plan_.fusedPlan, walked, out, stream);
    case Route::TILES:
        return gpu::matchTiles(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::SLICES:
        return gpu::matchSlices(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::BANDS:
        return gpu::matchBands(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::BAND_TILES:
        return gpu::matchBandTiles(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    }
}

// --- match -----------------------------------------------------------------------------------------------------------

//! Uploads search areas in host memory and, if both are used, the lists of fragments for fused kernels and for tiles; in one copy.
void CudaEngine::uploadAreas(const Call& call, const SearchAreas& areas, Batch& batch)
{
    const bool given = areas.list && !areas.onDevice, mixed = !plan_.tiled.empty() && !plan_.fused.empty();
    const size_t areasBytes = given ? batch.count * sizeof(Rect4) : 0;
    host_.resize(areasBytes + (mixed ? batch.count * sizeof(int) : 0));
    for (int i = 0; given && i < batch.count; ++i)
        std::memcpy(&host_[i * sizeof(Rect4)], areas.list.row(i), sizeof(Rect4));
    if (mixed)
    {
        uint8_t* const lists = &host_[areasBytes];
        std::memcpy(lists, plan_.fused.data(), plan_.fused.size() * sizeof(int));
        std::memcpy(lists + plan_.fused.size() * sizeof(int), plan_.tiled.data(), plan_.tiled.size() * sizeof(int));
    }
    const uint8_t* const device = uploadHost(call);
    if (given)
        batch.areas = {reinterpret_cast<const Rect4*>(device), sizeof(Rect4)};
    if (mixed)
        batch.list = reinterpret_cast<const int*>(device + areasBytes);
}

void CudaEngine::match(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas,
                       ConstRowsView<Position> predictions, const Settings& settings, const MatchOutputs& outputs,
                       StreamHandle stream)
{
    const Call call(workspace_, stream);
    Results results(downloads_, call);
    const Outputs out = {results.view<Position>(outputs.locations), results.view<float>(outputs.scores),
                         results.view<float>(outputs.confidence), results.view<uint8_t>(outputs.status),
                         results.view<Offset2>(outputs.refined)};
    Batch batch = batchOf(call, fragments);
    batch.predictions = predictions;
    if (areas.onDevice)
    {
        batch.areas = areas.list;
        batch.limitWidth = areas.limitWidth;
        batch.limitHeight = areas.limitHeight;
    }
    const MatchCase given = caseOf(frame, fragments, settings.metric);
    plan_.make(given, fragments_.sizes(), areas);
    uploadAreas(call, areas, batch);
    search(call, frame, batch, settings, given, out);
    results.finish();
}

//! Runs the stages walk, score, findPeaks and report.
void CudaEngine::search(const Call& call, const ByteImageView& frame, const Batch& all, const Settings& settings,
                        const MatchCase& given, const Outputs& out)
{
    const bool walks = settings.search == SEARCH_THREE_STEP;
    Best* const walked =
        walks ? walked_.reserve<Best>(call, all.count, "the results of the three-step search") : nullptr;
    if (walks && settings.peaks == 1) // walk reports by itself
        return gpu::walk(frame, all, settings, walked, out, call.stream());
    Batch batch = all;
    batch.count = static_cast<int>(plan_.fused.size());
    if (batch.count > 0)
    {
        if (walks)
            gpu::walk(frame, batch, settings, walked, out, call.stream());
        runRoute(plan_.fusedPlan.route, frame, batch, settings, {}, walked, out, call.stream());
    }
    batch.first = batch.count;
    batch.count = static_cast<int>(plan_.tiled.size());
    if (batch.count > 0)
        forTileBatches(call, batch, plan_.tilePlan, given,
                       [&](const Batch& part, const gpu::TileMemory& memory)
                       {
                           if (walks)
                               gpu::walk(frame, part, settings, walked, out, call.stream());
                           runRoute(plan_.tilePlan.route, frame, part, settings, memory, walked, out, call.stream());
                       });
}

gpu::BandMemory CudaEngine::reserveBands(const Call& call, const gpu::BandPlan& plan, const MatchCase& given, int batch)
{
    const int channels = given.frame.channels, planes = gpu::imagePlanes(channels, given.weighted);
    const size_t planesBytes = planes * plan.planeBytes, pixelsAt = detail::roundUp(planesBytes, size_t(16));
    const bool pixels = channels > 1 && !given.weighted;
    uint8_t* const image = planes_.reserve<uint8_t>(call, pixelsAt + (pixels ? plan.planeBytes * sizeof(uint32_t) : 0),
                                                    "the planes of the image");
    return {image, reinterpret_cast<uint32_t*>(image + pixelsAt),
            bands_.reserve<uint32_t>(call, plan.bandsEach * batch, "the bands of fragments"),
            sums_.reserve(call, gpu::bandSumsBytes(plan) * batch, "sums of products"),
            entries_.reserve<gpu::OpenEntry>(call, batch, "search windows")};
}

//! Reserves memory for `batch` entries. Counters of finished blocks and sums of slices are 0 when kernels begin.
gpu::TileMemory CudaEngine::reserveTiles(const Call& call, const TilePlan& plan, const MatchCase& given, int batch)
{
    const size_t before = finished_.bytes();
    gpu::TileMemory memory = {};
    if (plan.route == Route::SLICES)
    {
        const size_t counters = detail::roundUp<size_t>(batch, 4); // sums are read 16 bytes at a time
        memory.finished = finished_.reserve<unsigned>(call, counters + plan.slices.sumsEach * batch,
                                                      "sums of slices, and counters of finished blocks");
        memory.sums = memory.finished + counters;
    }
    else
    {
        const size_t each = gpu::tileValuesBytes(plan, given.metric, given.weighted);
        const size_t tiles = static_cast<size_t>(plan.tilesX) * plan.tilesY;
        memory.values = values_.reserve(call, each * batch, "the scores of all positions");
        memory.bests = bests_.reserve<gpu::TileBest>(call, tiles * batch, "the best of each tile");
        memory.finished = finished_.reserve<unsigned>(call, batch, "counters of finished tiles");
    }
    if (plan.route == Route::BANDS)
        memory.bands = reserveBands(call, plan.bands, given, batch);
    finishedIsZero_ = finishedIsZero_ && finished_.bytes() == before;
    if (!finishedIsZero_)
        cudaCheck(cudaMemsetAsync(memory.finished, 0, finished_.bytes(), call.stream()), "counters of finished blocks");
    return memory;
}

//! Calls body(batch, memory) for batches of as many entries as tileBatch() allows.
template <class Body>
void CudaEngine::forTileBatches(const Call& call, Batch batch, const TilePlan& plan, const MatchCase& given,
                                const Body& body)
{
    const int end = batch.first + batch.count, step = tileBatch(plan, given, batch.count);
    const gpu::TileMemory memory = reserveTiles(call, plan, given, step);
    // Captured work has not happened, so it does not count as done. A launch that fails may leave counters that are not 0.
    const bool zeroAfter = finishedIsZero_ || !call.capturing();
    if (!call.capturing())
        finishedIsZero_ = false;
    for (; batch.first < end; batch.first += step)
    {
        batch.count = std::min(step, end - batch.first);
        body(batch, memory);
    }
    finishedIsZero_ = zeroAfter;
}

// --- maps and prediction of areas ------------------------------------------------------------------------------------------

//! Returns the area whose search window is `window`.
static Rect4 areaOf(const SearchWindow& window, const Fragment& fragment)
{
    const bool any = window.cols > 0;
    return {window.x, window.y, any ? window.cols + fragment.width - 1 : 0,
            any ? window.rows + fragment.height - 1 : 0};
}

//! Returns settings for which the kernels stop after score.
static Settings scoresOnly(Metric metric)
{
    Settings settings = {};
    settings.metric = metric;
    return settings;
}

void CudaEngine::scoreMaps(const ByteImageView& frame, const Fragments& fragments, const MapRequest& request,
                           const OutputView& maps, StreamHandle stream)
{
    CV_Assert(request.first == 0 || request.count() == 1);
    const Call call(workspace_, stream);
    Results results(downloads_, call);
    const RowsView<void> out = results.view<void>(maps);
    Batch batch = batchOf(call, fragments);
    batch.first = request.first;
    batch.count = request.count();
    const size_t areasBytes = batch.count * sizeof(Rect4), offsetsBytes = request.offsets.size() * sizeof(int);
    Extent largestWindow = {0, 0}, largestFragment = {0, 0};
    Rect4 region = {0, 0, 0, 0};
    host_.resize(areasBytes + offsetsBytes);
    for (int k = 0; k < batch.count; ++k)
    {
        const Fragment& fragment = fragments.list[request.first + k];
        const SearchWindow& window = request.windows[k];
        const Rect4 area = areaOf(window, fragment);
        std::memcpy(&host_[k * sizeof(Rect4)], &area, sizeof(Rect4));
        region = united(region, area);
        largestWindow = larger(largestWindow, {window.cols, window.rows});
        largestFragment = larger(largestFragment, {fragment.width, fragment.height});
    }
    if (offsetsBytes > 0)
        std::memcpy(&host_[areasBytes], request.offsets.data(), offsetsBytes);
    const uint8_t* const device = uploadHost(call);
    // Kernels index areas by fragment; of a single one, whatever its index, the step is 0.
    batch.areas = {reinterpret_cast<const Rect4*>(device), batch.count == 1 ? 0 : sizeof(Rect4)};
    const int* const starts = offsetsBytes > 0 ? reinterpret_cast<const int*>(device + areasBytes) : nullptr;
    const MatchCase given = caseOf(frame, fragments, request.metric);
    const TilePlan& plan = plan_.tilePlan = planTiles(given, largestWindow, largestFragment, region, batch.count);
    const Settings settings = scoresOnly(request.metric);
    forTileBatches(call, batch, plan, given,
                   [&](const Batch& part, const gpu::TileMemory& memory)
                   {
                       runRoute(plan.route, frame, part, settings, memory, nullptr, {}, call.stream());
                       if (out)
                           gpu::exportScores(frame, part, settings, plan, memory, request.depth, out, starts,
                                             call.stream());
                   });
    results.finish();
}

void CudaEngine::predictAreas(ConstRowsView<Position> locations, const Fragments& fragments, int radius, int frameCols,
                              int frameRows, const OutputView& areas, StreamHandle stream)
{
    const Call call(workspace_, stream);
    Results results(downloads_, call);
    const RowsView<Rect4> out = results.view<Rect4>(areas);
    if (out)
        gpu::predictAreas(locations, batchOf(call, fragments), radius, frameCols, frameRows, out, call.stream());
    results.finish();
}

} // namespace

std::unique_ptr<Engine> makeCudaEngine() { return std::unique_ptr<Engine>(new CudaEngine); }

void download(const std::vector<HostCopy>& copies, StreamHandle stream)
{
    detail::Workspace workspace("FragmentMatcher"); // for the call only: the arrays belong to the caller
    const Call call(workspace, stream);
    call.refuseCapture("convert()");
    for (const HostCopy& copy : copies)
        cudaCheck(cudaMemcpy2DAsync(copy.host, copy.hostStep, copy.device, copy.deviceStep, copy.rowBytes, copy.rows,
                                    cudaMemcpyDeviceToHost, call.stream()),
                  "downloading results");
    call.wait("downloading results");
}

}}} // namespace cv::cuda::fragment_matcher

#else

namespace cv { namespace cuda { namespace fragment_matcher {

std::unique_ptr<Engine> makeCudaEngine() { detail::noCuda(); }
void download(const std::vector<HostCopy>&, StreamHandle) { detail::noCuda(); }

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
