// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
// The CUDA engine: batches of fragments on a stream, one stage after the other.
#include "../../precomp.hpp"
#include "../../common/arrays.hpp"
#include "../../fragment_matcher/engine.hpp"

#ifdef HAVE_CUDA

#include "bytes/larger_areas.hpp"
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
    SearchAreas expectedAreas(const SearchAreas& areas) const;
    void search(const Call& call, const std::vector<Part>& parts, Job job, Plan* larger, Extent expected);
    bool reserve(const Call& call, Plan& plan, int batch);
    template <class Body> void forBatches(const Call& call, Batch batch, Plan& plan, const Body& body);

    detail::Workspace workspace_{"FragmentMatcher"}; // declared before the buffers that belong to it
    detail::Feedback largestArea_{workspace_, static_cast<uint64_t>(INT_MAX) << 32 | INT_MAX}; //!< LargerAreas::largest
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
    given.peaks = settings.peaks;
    given.exclusion = settings.exclusion;
    given.exclusionDistance = settings.exclusionDistance;
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
    const FragmentSizes& sizes = fragments_.sizes();
    // Images of 16 bits have no route by byte sums, and walk needs no limit if it reports by itself.
    const bool expects =
        areas.onDevice && !areas.limited && !frame.deep() && (settings.search == SEARCH_FULL || settings.peaks > 1);
    const SearchAreas expected = expects ? expectedAreas(areas) : areas;
    const std::vector<Part> parts = chooseRoutes(given, sizes, expected);
    uploadAreas(call, areas, parts, batch);
    const Job job = {frame, batch, settings, nullptr, out, call.stream()};
    if (expects)
    {
        const Extent size = {expected.limitWidth, expected.limitHeight}, limit = {areas.limitWidth, areas.limitHeight};
        LargerAreasPlan larger(given, wholeLoad(given, sizes, areas), size, limit, largestArea_.get(),
                               largestArea_.put(call));
        search(call, parts, job, &larger, size);
    }
    else
        search(call, parts, job, nullptr, {batch.limitWidth, batch.limitHeight});
    results.finish();
}

//! Returns areas on the device with a limit that is no larger than the areas of an earlier call, as far as there was
//! one.
SearchAreas CudaEngine::expectedAreas(const SearchAreas& areas) const
{
    SearchAreas expected = areas;
    const uint64_t largest = largestArea_.get();
    expected.limitWidth = std::min(areas.limitWidth, static_cast<int>(largest >> 32));
    expected.limitHeight = std::min(areas.limitHeight, static_cast<int>(largest & 0xffffffff));
    return expected;
}

/** Runs the stages walk, score, findPeaks and report.
@param job all fragments of the call. @param larger plan for areas that are larger than `expected`; null: there are
none. */
void CudaEngine::search(const Call& call, const std::vector<Part>& parts, Job job, Plan* larger, Extent expected)
{
    if (job.settings.search == SEARCH_THREE_STEP)
    {
        Best* const walked = walked_.reserve<Best>(call, job.batch.count, "the results of the three-step search");
        gpu::walk(job.frame, job.batch, job.settings, walked, job.outputs, call.stream());
        if (job.settings.peaks == 1)
            return; // walk has reported
        job.walked = walked;
    }
    const auto run = [&](Plan& plan, Job all)
    {
        forBatches(call, all.batch, plan,
                   [&](const Batch& some)
                   {
                       Job part = all;
                       part.batch = some;
                       part.walked = all.walked ? all.walked + some.first : nullptr;
                       plan.run(part);
                   });
    };
    Job part = job;
    part.batch.limitWidth = expected.width;
    part.batch.limitHeight = expected.height;
    for (const Part& some : parts)
    {
        part.batch.count = some.load.count;
        run(*some.choice.plan, part);
        part.batch.first += part.batch.count;
    }
    if (larger)
        run(*larger, job);
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
    const int step = plan.matchesAll() ? batch.count : entries;
    const bool usesZeros = reserve(call, plan, entries);
    // Captured work has not happened, so it does not count as done. A launch that fails may leave counters that are not
    // 0.
    const bool zeroAfter = zerosAreZero_ || (usesZeros && !call.capturing());
    if (usesZeros && !call.capturing())
        zerosAreZero_ = false;
    for (; batch.first < end; batch.first += step)
    {
        batch.count = std::min(step, end - batch.first);
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
    Load load = {{0, 0}, {0, 0}, batch.count, INT_MAX, {0, 0, 0, 0}, {}};
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
