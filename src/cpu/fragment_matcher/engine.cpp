// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The CPU engine: fragments by parallel_for_, for each one stage after the other.
#include "../../precomp.hpp"
#include "../../fragment_matcher/engine.hpp"
#include "scores.hpp"
#include <algorithm>

namespace cv { namespace cuda { namespace fragment_matcher {

namespace {

using namespace cpu;

const size_t KEPT_BYTES =
    size_t(128) << 20; //!< most memory kept between calls, bytes; documented in FragmentMatcher's header

//! Returns true if a fragment of 8 bits is matched as if it and the image had 16.
bool isWidened(const Fragment& fragment, Metric metric)
{
    return !fragment.source.templ.deep() &&
           isBeyond63Bits(metric, static_cast<int64_t>(fragment.width) * fragment.height);
}

//! Copies an image of 8 bits to 16. @param values memory of the copy.
ByteImageView widen(const ByteImageView& image, std::vector<uint16_t>& values)
{
    const size_t row = static_cast<size_t>(image.cols) * image.channels;
    values.resize(row * image.rows);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            for (int c = 0; c < image.channels; ++c)
                values[y * row + static_cast<size_t>(x) * image.channels + c] = image.pixel(x, y)[c];
    return {reinterpret_cast<const uint8_t*>(values.data()),
            2 * row,
            image.cols,
            image.rows,
            2 * image.channels,
            image.channels};
}

//! Converts a fragment for a metric.
void packFragment(const Fragment& fragment, Metric metric, Plan& plan)
{
    const FragmentSource& source = fragment.source;
    std::vector<uint16_t> values;
    const ByteImageView templ = isWidened(fragment, metric) ? widen(source.templ, values) : source.templ;
    pack({templ.data, templ.deep(), static_cast<const uint8_t*>(source.weights), fragment.width, fragment.height,
          templ.channels, fragment.sums},
         metric, plan);
}

//! Returns the part of the frame that all positions of a window cover.
Rect areaOf(const SearchWindow& window, const Fragment& fragment)
{
    return Rect(window.x, window.y, window.cols + fragment.width - 1, window.rows + fragment.height - 1);
}
Rect4 partOf(const Rect& area) { return {area.x, area.y, area.width, area.height}; }

//! Returns true if a fragment uses shared planes. Small areas are unpacked per fragment, whose rows then stay in the
//! first-level cache.
bool usesSharedPlanes(const Rect& area) { return area.area() > 128 * 128; }

//! Returns the work of a fragment: bytes that all positions of its window compare.
double workOf(const SearchWindow& window, const Fragment& fragment)
{
    return double(window.cols) * window.rows * fragment.width * fragment.height * fragment.source.templ.channels;
}

Outputs outputsOf(const MatchOutputs& outputs)
{
    return {outputs.locations.as<Position>(), outputs.scores.as<float>(), outputs.confidence.as<float>(),
            outputs.status.as<uint8_t>(), outputs.refined.as<Offset2>()};
}

class CpuEngine final : public Engine
{
public:
    bool take(const Fragments&, StreamHandle) override
    {
        return true;
    } // the engine reads the copies of the public class

    void match(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas,
               ConstRowsView<Position> predictions, const Settings& settings, const MatchOutputs& outputs,
               StreamHandle) override;
    void scoreMaps(const ByteImageView& frame, const Fragments& fragments, const MapRequest& request,
                   const OutputView& maps, StreamHandle stream) override;
    void predictAreas(ConstRowsView<Position> locations, const Fragments& fragments, int radius, int frameCols,
                      int frameRows, const OutputView& areas, StreamHandle) override;

    size_t workspaceBytes() const override { return 0; }

private:
    //! Arguments of match() for the stages of each fragment.
    struct Job
    {
        const ByteImageView& frame;
        const ByteImageView& widened; //!< the frame in 16 bits, for isWidened()
        const Fragments& fragments;
        ConstRowsView<Position> predictions;
        const Settings& settings;
        const Outputs& out;
        const Planes* shared; //!< planes of `sharedPart`, or null: each fragment unpacks its own area
        Rect sharedPart;
    };
    Rect planWindows(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas);
    void matchFragment(const Job& job, int i, Scratch& memory, bool parallel);
    template <typename V>
    void searchWindow(const Job& job, int i, const Plan& plan, const Planes& planes, Scratch& memory, bool parallel);
    void writeMap(const ByteImageView& frame, const Fragment& fragment, const SearchWindow& window, Metric metric,
                  int depth, RowsView<void> map);
    void trim() noexcept;
    //! Trims when a call ends, also by an exception.
    struct Trimming
    {
        CpuEngine& engine;
        ~Trimming() { engine.trim(); }
    };

    ScratchPool pool_;
    Buffer shared_;
    std::vector<SearchWindow> windows_; //!< windows of the present call, one per fragment
};

//! Releases memory beyond KEPT_BYTES for all threads together: plans first, then the largest buffers.
void CpuEngine::trim() noexcept
{
    size_t sum = shared_.size();
    pool_.forFree(
        [&](Scratch& scratch)
        {
            sum += scratch.plan.size();
            scratch.forBuffers([&](const Buffer& buffer) { sum += buffer.size(); });
        });
    if (sum <= KEPT_BYTES)
        return;
    pool_.forFree(
        [&](Scratch& scratch)
        {
            sum -= scratch.plan.size();
            scratch.plan = Plan();
        });
    while (sum > KEPT_BYTES)
    {
        Buffer* largest = &shared_;
        pool_.forFree(
            [&](Scratch& scratch) {
                scratch.forBuffers([&](Buffer& buffer)
                                   { largest = buffer.size() > largest->size() ? &buffer : largest; });
            });
        sum -= largest->size();
        largest->release();
    }
}

// --- match -----------------------------------------------------------------------------------------------------------

//! Sets windows_. @return the part of the frame that is unpacked once for all fragments because that is cheaper; may be
//! empty.
Rect CpuEngine::planWindows(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas)
{
    const Rect4 whole = {0, 0, frame.cols, frame.rows};
    Rect part;
    double areaSum = 0;
    windows_.resize(fragments.list.size());
    for (int i = 0; i < fragments.count(); ++i)
    {
        const Fragment& fragment = fragments.list[i];
        windows_[i] = fragment_matcher::searchWindow(areas.list ? *areas.list.row(i) : whole, frame.cols, frame.rows,
                                                     fragment.width, fragment.height);
        const Rect area = windows_[i].cols ? areaOf(windows_[i], fragment) : Rect();
        if (usesSharedPlanes(area))
        {
            part |= area;
            areaSum += area.area();
        }
    }
    return areaSum >= part.area() ? part : Rect();
}

template <typename V>
void CpuEngine::searchWindow(const Job& job, int i, const Plan& plan, const Planes& planes, Scratch& memory,
                             bool parallel)
{
    const Fragment& fragment = job.fragments.list[i];
    const Settings& settings = job.settings;
    const SearchWindow& window = windows_[i];
    const bool walks = settings.search == SEARCH_THREE_STEP;
    const int distance = exclusionDistance(settings.exclusionDistance, fragment.width, fragment.height);
    ScratchPool* const pool = parallel ? &pool_ : nullptr;
    Scores<V> scores(plan, planes, window);
    if (walks ? settings.peaks > 1 : !eliminate(scores, distance, settings, memory, pool))
        score(scores, memory, pool);

    Peak<V> peaks[MAX_PEAKS];
    int count = 0;
    if (walks)
    {
        const bool predicted = static_cast<bool>(job.predictions);
        const Position prediction = predicted ? *job.predictions.row(i) : Position{0, 0};
        peaks[count++] = walk(scores, walkStart(window, predicted, prediction));
    }
    count = findPeaks(scores, distance, settings, count, peaks);
    report(job.out, i, settings, fragment.sums.W, scores, peaks, count);
}

void CpuEngine::matchFragment(const Job& job, int i, Scratch& memory, bool parallel)
{
    const Fragment& fragment = job.fragments.list[i];
    const SearchWindow& window = windows_[i];
    if (window.cols == 0)
        return reportNothing(job.out, i, job.settings.peaks, STATUS_NO_POSITION);
    Plan& plan = memory.plan;
    packFragment(fragment, job.settings.metric, plan);
    const Rect area = areaOf(window, fragment);
    const bool widened = isWidened(fragment, job.settings.metric);
    const Planes planes =
        job.shared && !widened && usesSharedPlanes(area)
            ? job.shared->at(area.x - job.sharedPart.x, area.y - job.sharedPart.y)
            : unpack(widened ? job.widened : job.frame, partOf(area), plan.squares, plan.bias, memory.planes, parallel);
    if (plan.wideValues())
        searchWindow<uint64_t>(job, i, plan, planes, memory, parallel);
    else
        searchWindow<uint32_t>(job, i, plan, planes, memory, parallel);
}

void CpuEngine::match(const ByteImageView& frame, const Fragments& fragments, const SearchAreas& areas,
                      ConstRowsView<Position> predictions, const Settings& settings, const MatchOutputs& outputs,
                      StreamHandle)
{
    const Trimming trimming = {*this};
    const Outputs out = outputsOf(outputs);
    const Rect part = planWindows(frame, fragments, areas);
    std::vector<uint16_t> values;
    const bool widens = std::any_of(fragments.list.begin(), fragments.list.end(),
                                    [&](const Fragment& fragment) { return isWidened(fragment, settings.metric); });
    const ByteImageView widened = widens ? widen(frame, values) : frame;
    Job job = {frame, widened, fragments, predictions, settings, out, nullptr, part};
    Planes shared;
    if (!part.empty())
    {
        const bool squares = mayNeedSquares(settings.metric, fragments.anyWeighted());
        shared = unpack(frame, partOf(part), squares, planeBias(settings.metric), shared_, true);
        job.shared = &shared;
    }
    // A fragment with much more work than others would keep one thread busy while others wait: all threads together
    // work on each such fragment. The other fragments are distributed among threads.
    const int count = fragments.count(), threads = std::max(1, getNumThreads());
    double work = 0;
    for (int i = 0; i < count; ++i)
        work += workOf(windows_[i], fragments.list[i]);
    const auto isLarge = [&](int i)
    { return threads > 1 && workOf(windows_[i], fragments.list[i]) > std::max(1e6, work / (4 * threads)); };
    parallel_for_(Range(0, count),
                  [&](const Range& range)
                  {
                      const ScratchPool::Lease memory(pool_);
                      for (int i = range.start; i < range.end; ++i)
                          if (!isLarge(i))
                              matchFragment(job, i, *memory, false);
                  });
    for (int i = 0; i < count; ++i)
        if (isLarge(i))
        {
            const ScratchPool::Lease memory(pool_);
            matchFragment(job, i, *memory, true);
        }
}

// --- maps and prediction of areas ------------------------------------------------------------------------------------

void CpuEngine::writeMap(const ByteImageView& frame, const Fragment& fragment, const SearchWindow& window,
                         Metric metric, int depth, RowsView<void> map)
{
    const ScratchPool::Lease memory(pool_);
    Plan& plan = memory->plan;
    packFragment(fragment, metric, plan);
    std::vector<uint16_t> values;
    const ByteImageView image = isWidened(fragment, metric) ? widen(frame, values) : frame;
    const Planes planes =
        unpack(image, partOf(areaOf(window, fragment)), plan.squares, plan.bias, memory->planes, true);
    const auto scoreAndExport = [&](auto scores)
    {
        score(scores, *memory, &pool_);
        forRowStrips(window.rows, true,
                     [&](int begin, int end) { exportScores(scores, fragment.sums.W, depth, begin, end, map); });
    };
    if (plan.wideValues())
        scoreAndExport(Scores<uint64_t>(plan, planes, window));
    else
        scoreAndExport(Scores<uint32_t>(plan, planes, window));
}

void CpuEngine::scoreMaps(const ByteImageView& frame, const Fragments& fragments, const MapRequest& request,
                          const OutputView& maps, StreamHandle)
{
    const Trimming trimming = {*this};
    for (int k = 0; maps && k < request.count(); ++k)
    {
        const SearchWindow& window = request.windows[k];
        RowsView<void> map = maps.as<void>();
        if (!request.offsets.empty())
            map = {static_cast<uint8_t*>(maps.data) + request.offsets[k] * maps.elemSize, window.cols * maps.elemSize};
        if (window.cols > 0)
            writeMap(frame, fragments.list[request.first + k], window, request.metric, request.depth, map);
    }
}

void CpuEngine::predictAreas(ConstRowsView<Position> locations, const Fragments& fragments, int radius, int frameCols,
                             int frameRows, const OutputView& areas, StreamHandle)
{
    const RowsView<Rect4> out = areas.as<Rect4>();
    for (int i = 0; out && i < fragments.count(); ++i)
        *out.row(i) = predictedArea(*locations.row(i), fragments.list[i].width, fragments.list[i].height, radius,
                                    frameCols, frameRows);
}

} // namespace

std::unique_ptr<Engine> makeCpuEngine() { return std::unique_ptr<Engine>(new CpuEngine); }

}}} // namespace cv::cuda::fragment_matcher
