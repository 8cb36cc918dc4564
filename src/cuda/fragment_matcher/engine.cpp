// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// The CUDA engine: batches of fragments on a stream, one stage after the other.
#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../fragment_matcher/engine.hpp"

#ifdef HAVE_CUDA

#include "choose.hpp"
#include "common/stages.hpp"
#include "fragments.hpp"
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
using gpu::Job;
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
    MatchCase caseOf(const ByteImageView& frame, const Fragments& fragments, const Settings& settings) const;
    template <class Take, class Fill> void upload(const Call& call, const Take& take, const Fill& fill);
    void uploadAreas(const Call& call, const SearchAreas& areas, const std::vector<Part>& parts, Batch& batch);
    void search(const Call& call, const std::vector<Part>& parts, Job job);
    bool reserve(const Call& call, Plan& plan, int batch);
    template <class Body> void forBatches(const Call& call, Batch batch, Plan& plan, const Body& body);

    detail::Workspace workspace_{"FragmentMatcher"}; // declared before the buffers that belong to it
    detail::Uploader uploader_{workspace_};
    detail::Downloads downloads_{workspace_};
    DeviceFragments fragments_{workspace_, uploader_};
    detail::DeviceBuffer walked_{workspace_}, working_{workspace_}, zeros_{workspace_};
    detail::DeviceTable tables_{workspace_}; //!< Plan::upload()
    detail::DeviceTable areas_{workspace_};  //!< search areas and lists of fragments
    uint64_t areasVersion_ = 0;
    bool zerosAreZero_ = false;        //!< calls that were not captured left all of zeros_ at 0
    std::vector<uint8_t> host_, next_; //!< what areas_ has, and what it will have
};

//! Synchronizes the fragments with the device, and returns the batch of all of them.
Batch CudaEngine::batchOf(const Call& call, const Fragments& fragments)
{
    fragments_.synchronize(call, fragments, false);
    return fragments_.batch(call, fragments.anyWeighted());
}

MatchCase CudaEngine::caseOf(const ByteImageView& frame, const Fragments& fragments, const Settings& settings) const
{
    MatchCase given = {frame, settings.metric, fragments.anyWeighted(),
                       detail::SharedLimit(detail::sharedBytesOfBlock()), detail::multiprocessors()};
    given.fullSearch = settings.search == SEARCH_FULL;
    given.fastDoubles = detail::fastDoubles();
    return given;
}

/** Uploads arrays in one copy, unless they are those of the last call. @param take function that takes the arrays from
Parts; those on the device in the end. @param fill function that fills the arrays on the host. */
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

// --- match -----------------------------------------------------------------------------------------------------------

//! Uploads search areas in host memory and, of several parts, the list of fragments part by part; in one copy.
void CudaEngine::uploadAreas(const Call& call, const SearchAreas& areas, const std::vector<Part>& parts, Batch& batch)
{
    const bool given = areas.list && !areas.onDevice, listed = parts.size() > 1;
    Rect4* rects = nullptr;
    int* list = nullptr;
    const auto take = [&](Parts& arrays)
    {
        rects = arrays.take<Rect4>(given ? batch.count : 0);
        list = arrays.take<int>(listed ? batch.count : 0);
    };
    const auto fill = [&]
    {
        for (int i = 0; given && i < batch.count; ++i)
            std::memcpy(&rects[i], areas.list.row(i), sizeof(Rect4)); // rows need not be aligned
        int* end = list;
        for (const Part& part : parts)
            if (listed)
                end = std::copy(part.fragments.begin(), part.fragments.end(), end);
    };
    upload(call, take, fill);
    if (given)
        batch.areas = {rects, sizeof(Rect4)};
    if (listed)
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
    const MatchCase given = caseOf(frame, fragments, settings);
    const std::vector<Part> parts = chooseRoutes(given, fragments_.sizes(), areas);
    uploadAreas(call, areas, parts, batch);
    search(call, parts, {frame, batch, settings, nullptr, out, call.stream()});
    results.finish();
}

//! Runs the stages walk, score, findPeaks and report. @param job all fragments of the call.
void CudaEngine::search(const Call& call, const std::vector<Part>& parts, Job job)
{
    if (job.settings.search == SEARCH_THREE_STEP)
    {
        Best* const walked = walked_.reserve<Best>(call, job.batch.count, "the results of the three-step search");
        gpu::walk(job.frame, job.batch, job.settings, walked, job.outputs, call.stream());
        if (job.settings.peaks == 1)
            return; // walk has reported
        job.walked = walked;
    }
    Batch batch = job.batch;
    for (const Part& part : parts)
    {
        batch.count = part.load.count;
        forBatches(call, batch, *part.choice.plan,
                   [&](const Batch& some)
                   {
                       Job one = job;
                       one.batch = some;
                       one.walked = job.walked ? job.walked + some.first : nullptr;
                       part.choice.plan->run(one);
                   });
        batch.first += batch.count;
    }
}

//! Reserves memory for `batch` entries of a plan; returns true if some of it is 0 before and after a launch.
bool CudaEngine::reserve(const Call& call, Plan& plan, int batch)
{
    const size_t ALIGNMENT = 256; // as if each array were an allocation of its own
    const size_t before = zeros_.bytes();
    plan.upload(call, uploader_, tables_);
    Parts working(nullptr, ALIGNMENT), zeros(nullptr, ALIGNMENT);
    plan.takeMemory(working, zeros, batch);
    if (zeros.bytes() == 0)
        return false;
    working = Parts(working_.reserve(call, working.bytes(), "the scores of all positions"), ALIGNMENT);
    zeros = Parts(zeros_.reserve(call, zeros.bytes(), "counters of finished blocks"), ALIGNMENT);
    plan.takeMemory(working, zeros, batch);
    zerosAreZero_ = zerosAreZero_ && zeros_.bytes() == before;
    if (!zerosAreZero_)
        cudaCheck(cudaMemsetAsync(zeros_.as<void>(), 0, zeros_.bytes(), call.stream()), "counters of finished blocks");
    return true;
}

//! Calls body(batch) for batches of as many entries as one launch matches, with memory for the plan.
template <class Body> void CudaEngine::forBatches(const Call& call, Batch batch, Plan& plan, const Body& body)
{
    const int end = batch.first + batch.count, entries = entriesOf(plan, batch.count);
    const bool usesZeros = reserve(call, plan, entries);
    // Captured work has not happened, so it does not count as done. A launch that fails may leave counters that are not
    // 0.
    const bool zeroAfter = zerosAreZero_ || (usesZeros && !call.capturing());
    if (usesZeros && !call.capturing())
        zerosAreZero_ = false;
    for (; batch.first < end; batch.first += entries)
    {
        batch.count = std::min(entries, end - batch.first);
        body(batch);
    }
    zerosAreZero_ = zeroAfter;
}

// --- maps and prediction of areas ------------------------------------------------------------------------------------

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
    Load load = {{0, 0}, {0, 0}, batch.count, INT_MAX, 0, {0, 0, 0, 0}, {}};
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
            load.region = united(load.region, areas[k]);
            load.window = larger(load.window, {window.cols, window.rows});
            load.fragment = larger(load.fragment, {fragment.width, fragment.height});
            load.narrowest = std::min(load.narrowest, fragment.width);
            load.pixels = std::max(load.pixels, static_cast<int64_t>(fragment.width) * fragment.height);
        }
        std::copy(request.offsets.begin(), request.offsets.end(), starts);
    };
    upload(call, take, fill);
    // Kernels index areas by fragment; of a single one, whatever its index, the step is 0.
    batch.areas = {areas, batch.count == 1 ? 0 : sizeof(Rect4)};
    const int* const offsets = request.offsets.empty() ? nullptr : starts;
    const Settings settings = scoresOnly(request.metric);
    MatchCase given = caseOf(frame, fragments, settings);
    given.fullSearch = false;
    given.scoresOnly = true;
    const std::unique_ptr<Plan> plan = chooseRoute(given, load).plan;
    forBatches(call, batch, *plan,
               [&](const Batch& part)
               {
                   plan->run({frame, part, settings, nullptr, {}, call.stream()});
                   if (out)
                       gpu::exportScores(frame, part, request.metric, *plan->windows(), request.depth, out, offsets,
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

}}} // namespace cv::cuda::fragment_matcher

#else

namespace cv { namespace cuda { namespace fragment_matcher {

std::unique_ptr<Engine> makeCudaEngine() { detail::noCuda(); }

namespace gpu {

void windowAreas(const AreasOfWindows&, StreamHandle) { detail::noCuda(); }
void windowField(const FieldOfWindows&, StreamHandle) { detail::noCuda(); }

} // namespace gpu

}}} // namespace cv::cuda::fragment_matcher

#endif // HAVE_CUDA
