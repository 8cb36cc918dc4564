// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// over budget: reserves the memory of eight routes.
// The CUDA engine: batches of fragments on a stream, one stage after the other.
#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../fragment_matcher/engine.hpp"

#ifdef HAVE_CUDA

#include "fragments.hpp"
#include "transforms.hpp"
#include "../../common/device.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using detail::Call;
using detail::cudaCheck;
using detail::Parts;
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
    MatchCase caseOf(const ByteImageView& frame, const Fragments& fragments, Metric metric, bool fullSearch) const;
    template <class Take, class Fill> void upload(const Call& call, const Take& take, const Fill& fill);
    void uploadAreas(const Call& call, const SearchAreas& areas, Batch& batch);
    void search(const Call& call, const ByteImageView& frame, const Batch& batch, const Settings& settings,
                const MatchCase& given, const Outputs& out);
    void runRoute(Route route, const ByteImageView& frame, const Batch& batch, const Settings& settings,
                  const gpu::TileMemory& memory, const Best* walked, const Outputs& out, StreamHandle stream);
    gpu::BandMemory reserveBands(const Call& call, const gpu::BandPlan& plan, const MatchCase& given, int batch);
    gpu::TransformMemory reserveTransforms(const Call& call, const gpu::TransformPlan& plan, int batch);
    gpu::BoundMemory reserveBounds(const Call& call, const TilePlan& plan, const MatchCase& given, int batch);
    gpu::TileMemory reserveTiles(const Call& call, const TilePlan& plan, const MatchCase& given, int batch);
    template <class Body>
    void forTileBatches(const Call& call, Batch batch, const TilePlan& plan, const MatchCase& given, const Body& body);

    detail::Workspace workspace_{"FragmentMatcher"}; // declared before the buffers that belong to it
    detail::Uploader uploader_{workspace_};
    detail::Downloads downloads_{workspace_};
    DeviceFragments fragments_{workspace_, uploader_};
    detail::DeviceBuffer walked_{workspace_}, values_{workspace_}, bests_{workspace_}, finished_{workspace_},
        planes_{workspace_}, bands_{workspace_}, sums_{workspace_}, entries_{workspace_}, means_{workspace_},
        losses_{workspace_}, bounds_{workspace_}, lists_{workspace_}, spectra_{workspace_}, columns_{workspace_};
    detail::DeviceTable factors_{workspace_};
    detail::DeviceTable areas_{workspace_}; //!< search areas and lists of fragments
    uint64_t areasVersion_ = 0;
    bool finishedIsZero_ = false; //!< calls that were not captured left all of finished_ at 0
    // Valid during a call; members to reuse their memory.
    MatchPlan plan_;
    std::vector<uint8_t> host_, next_; //!< what areas_ has, and what it will have
};

//! Synchronizes the fragments with the device, and returns the batch of all of them.
Batch CudaEngine::batchOf(const Call& call, const Fragments& fragments)
{
    fragments_.synchronize(call, fragments, false);
    return fragments_.batch(call, fragments.anyWeighted());
}

MatchCase CudaEngine::caseOf(const ByteImageView& frame, const Fragments& fragments, Metric metric,
                             bool fullSearch) const
{
    const detail::SharedLimit shared(detail::sharedBytesOfBlock());
    return {
        frame, metric, fragments.anyWeighted(), shared, detail::multiprocessors(), fullSearch, detail::fastDoubles()};
}

/** Uploads arrays in one copy, unless they are those of the last call. @param take function that takes the arrays from Parts; those on the device in the end. @param fill function
that fills the arrays on the host. */
template <class Take, class Fill> void CudaEngine::upload(const Call& call, const Take& take, const Fill& fill)
{
    next_.resize(detail::bytesOf(take));
    Parts onHost(next_.data());
    take(onHost);
    fill();
    if (next_.empty())
        return;
    if (next_ != host_)
    {
        host_.swap(next_);
        ++areasVersion_;
    }
    Parts onDevice(
        const_cast<void*>(areas_.put(call, uploader_, areasVersion_, host_.data(), host_.size(), "search areas")));
    take(onDevice);
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
    case Route::BOUNDED_TILES:
        gpu::eliminate(frame, batch, settings, plan_.tilePlan, memory, out, stream);
        [[fallthrough]];
    case Route::TILES:
        return gpu::matchTiles(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::SLICES:
        return gpu::matchSlices(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::BANDS:
        return gpu::matchBands(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::BAND_TILES:
        return gpu::matchBandTiles(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    case Route::TRANSFORMS:
        return gpu::matchTransforms(frame, batch, settings, plan_.tilePlan, memory, walked, out, stream);
    }
}

// --- match -----------------------------------------------------------------------------------------------------------

//! Uploads search areas in host memory and, if both are used, the lists of fragments for fused kernels and for tiles; in one copy.
void CudaEngine::uploadAreas(const Call& call, const SearchAreas& areas, Batch& batch)
{
    const bool given = areas.list && !areas.onDevice, mixed = !plan_.tiled.empty() && !plan_.fused.empty();
    Rect4* rects = nullptr;
    int* list = nullptr;
    const auto take = [&](Parts& parts)
    {
        rects = parts.take<Rect4>(given ? batch.count : 0);
        list = parts.take<int>(mixed ? batch.count : 0);
    };
    const auto fill = [&]
    {
        for (int i = 0; given && i < batch.count; ++i)
            std::memcpy(&rects[i], areas.list.row(i), sizeof(Rect4)); // rows need not be aligned
        if (mixed)
            std::copy(plan_.tiled.begin(), plan_.tiled.end(), std::copy(plan_.fused.begin(), plan_.fused.end(), list));
    };
    upload(call, take, fill);
    if (given)
        batch.areas = {rects, sizeof(Rect4)};
    if (mixed)
        batch.list = list;
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
    const MatchCase given = caseOf(frame, fragments, settings.metric, settings.search == SEARCH_FULL);
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
    const bool words = channels > 1 && !given.weighted;
    uint8_t* image = nullptr;
    uint32_t* pixels = nullptr;
    const auto take = [&](Parts& parts)
    {
        image = parts.take<uint8_t>(planes * plan.planeBytes);
        pixels = parts.take<uint32_t>(words ? plan.planeBytes : 0);
    };
    planes_.divide(call, "the planes of the image", take, 16);
    return {image,
            pixels,
            bands_.reserve<uint32_t>(call, plan.bandsEach * batch, "the bands of fragments"),
            sums_.reserve(call, gpu::bandSumsBytes(plan) * batch, "sums of products"),
            columns_.reserve<uint32_t>(call, plan.columnsEach * batch, "sums of columns"),
            entries_.reserve<gpu::OpenEntry>(call, batch, "search windows")};
}

gpu::TransformMemory CudaEngine::reserveTransforms(const Call& call, const gpu::TransformPlan& plan, int batch)
{
    gpu::TransformMemory memory = {};
    const uint64_t version = static_cast<uint64_t>(plan.cols) << 32 | static_cast<uint64_t>(plan.rows);
    const std::vector<gpu::Complex> factors =
        factors_.has(version) ? std::vector<gpu::Complex>() : gpu::factorsOf(plan.cols, plan.rows);
    memory.factors = static_cast<const gpu::Complex*>(factors_.put(
        call, uploader_, version, factors.data(), sizeof(gpu::Complex) * plan.factors, "factors of transforms"));
    const auto take = [&](Parts& parts)
    {
        memory.image = parts.take<gpu::Complex>(plan.imageValues);
        memory.templates = parts.take<gpu::Complex>(plan.templatesEach * batch);
        memory.products = parts.take<gpu::Complex>(plan.productsEach * batch);
    };
    spectra_.divide(call, "spectra of the image and of fragments", take);
    return memory;
}

gpu::BoundMemory CudaEngine::reserveBounds(const Call& call, const TilePlan& plan, const MatchCase& given, int batch)
{
    const size_t tiles = static_cast<size_t>(plan.tilesX) * plan.tilesY * batch;
    gpu::BoundMemory memory = {};
    const gpu::BoundLevel &coarse = plan.bounds.coarse, &fine = plan.bounds.fine;
    const size_t coarseBytes = gpu::meansBytes(coarse, given.frame.channels);
    memory.coarse.image = planes_.reserve<uint8_t>(call, coarseBytes + gpu::meansBytes(fine, given.frame.channels),
                                                   "the means of the image");
    memory.fine.image = memory.coarse.image + coarseBytes;
    memory.coarse.fragments =
        means_.reserve<uint32_t>(call, (coarse.wordsEach + fine.wordsEach) * batch, "the means of fragments");
    memory.fine.fragments = memory.coarse.fragments + coarse.wordsEach * batch;
    memory.coarse.losses = losses_.reserve<uint64_t>(call, 2 * static_cast<size_t>(batch), "the losses of means");
    memory.fine.losses = memory.coarse.losses + batch;
    bounds_.divide(
        call, "the bounds of tiles",
        [&](Parts& parts)
        {
            memory.bounds = parts.take<gpu::TileBound>(tiles);
            memory.cells = parts.take<uint32_t>(tiles * gpu::CELLS);
            memory.places = parts.take<gpu::BoundPlace>(static_cast<size_t>(batch) * gpu::MOST_PLACES);
            memory.limits = parts.take<gpu::BoundLimit>(batch);
        },
        16); // read 16 bytes at a time
    lists_.divide(call, "lists of tiles",
                  [&](Parts& parts)
                  {
                      memory.finished = parts.take<unsigned>(tiles);
                      for (gpu::TileList* list : {&memory.listed, &memory.refined})
                          *list = {parts.take<int>(tiles), parts.take<uint32_t>(tiles), parts.take<int>(batch),
                                   parts.take<int>(1)};
                  });
    return memory;
}

//! Reserves memory for `batch` entries. Counters of finished blocks and sums of slices are 0 when kernels begin.
gpu::TileMemory CudaEngine::reserveTiles(const Call& call, const TilePlan& plan, const MatchCase& given, int batch)
{
    const size_t before = finished_.bytes();
    gpu::TileMemory memory = {};
    if (plan.route == Route::SLICES)
    {
        const auto take = [&](Parts& parts)
        {
            memory.finished = parts.take<unsigned>(batch);
            memory.sums = parts.take<uint32_t>(plan.slices.sumsEach * batch);
        };
        finished_.divide(call, "sums of slices, and counters of finished blocks", take, 16); // read 16 bytes at a time
    }
    else
    {
        const size_t each = gpu::tileValuesBytes(plan, given.metric, given.weighted);
        const size_t tiles = static_cast<size_t>(plan.tilesX) * plan.tilesY;
        memory.values = values_.reserve(call, each * batch, "the scores of all positions");
        memory.bests = bests_.reserve<gpu::TileBest>(call, tiles * batch, "the best of each tile");
        memory.finished = finished_.reserve<unsigned>(call, batch, "counters of finished tiles");
    }
    if (plan.route == Route::BANDS || plan.route == Route::TRANSFORMS)
        memory.bands = reserveBands(call, plan.bands, given, batch);
    if (plan.route == Route::TRANSFORMS)
        memory.transforms = reserveTransforms(call, plan.transforms, batch);
    if (plan.route == Route::BOUNDED_TILES)
        memory.bounds = reserveBounds(call, plan, given, batch);
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
    Load load = {{0, 0}, {0, 0}, batch.count};
    int narrowest = INT_MAX;
    Rect4 region = {0, 0, 0, 0};
    Rect4* areas = nullptr;
    int* starts = nullptr;
    const auto take = [&](Parts& parts)
    {
        areas = parts.take<Rect4>(batch.count);
        starts = parts.take<int>(request.offsets.size());
    };
    const auto fill = [&]
    {
        for (int k = 0; k < batch.count; ++k)
        {
            const Fragment& fragment = fragments.list[request.first + k];
            const SearchWindow& window = request.windows[k];
            areas[k] = areaOf(window, fragment);
            region = united(region, areas[k]);
            load.window = larger(load.window, {window.cols, window.rows});
            load.fragment = larger(load.fragment, {fragment.width, fragment.height});
            narrowest = std::min(narrowest, fragment.width);
        }
        std::copy(request.offsets.begin(), request.offsets.end(), starts);
    };
    upload(call, take, fill);
    // Kernels index areas by fragment; of a single one, whatever its index, the step is 0.
    batch.areas = {areas, batch.count == 1 ? 0 : sizeof(Rect4)};
    const int* const offsets = request.offsets.empty() ? nullptr : starts;
    const MatchCase given = caseOf(frame, fragments, request.metric, false);
    const TilePlan& plan = plan_.tilePlan = planScores(given, load, narrowest, region);
    const Settings settings = scoresOnly(request.metric);
    forTileBatches(call, batch, plan, given,
                   [&](const Batch& part, const gpu::TileMemory& memory)
                   {
                       runRoute(plan.route, frame, part, settings, memory, nullptr, {}, call.stream());
                       if (out)
                           gpu::exportScores(frame, part, settings, plan, memory, request.depth, out, offsets,
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
