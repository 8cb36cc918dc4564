// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The stages of FragmentMatcher on parallel_for_ and universal intrinsics.
#include "../precomp.hpp"
#include "engine_cpu_peaks.hpp"
#include "engine_cpu.simd.hpp"
#include "fragment_matcher/engine_cpu.simd_declarations.hpp" // made by CMake: CV_CPU_DISPATCH_MODES_ALL

namespace cv { namespace cuda { namespace fragment_matcher { namespace cpu {

namespace {

KernelTraits bestKernelTraits() { CV_CPU_DISPATCH(kernelTraits, (), CV_CPU_DISPATCH_MODES_ALL); }

void unpackBest(const ImageView& part, bool squares, const Planes& planes, uint8_t* data)
{
    CV_CPU_DISPATCH(unpackRows, (part, squares, planes, data), CV_CPU_DISPATCH_MODES_ALL);
}

void scoreMap(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint32_t>& map)
{
    CV_CPU_DISPATCH(scoreMap32, (plan, planes, rows, cols, map), CV_CPU_DISPATCH_MODES_ALL);
}

void scoreMap(const Plan& plan, const Planes& planes, int rows, int cols, const MapView<uint64_t>& map)
{
    CV_CPU_DISPATCH(scoreMap64, (plan, planes, rows, cols, map), CV_CPU_DISPATCH_MODES_ALL);
}

uint64_t scoreAt(const Plan& plan, const Planes& planes)
{
    CV_CPU_DISPATCH(scorePosition, (plan, planes), CV_CPU_DISPATCH_MODES_ALL);
}

//! Memory that a thread keeps between calls, unless a call needed a lot.
struct Workspace
{
    static const size_t KEPT_BYTES = size_t(64) << 20;

    Plan plan;
    Buffer planes, shared, map, best;
    std::vector<SearchWindow> windows;

    void trim()
    {
        for (Buffer* buffer : {&planes, &shared, &map, &best})
            if (buffer->size() > KEPT_BYTES)
                buffer->release();
    }
};

Workspace& workspace()
{
    static thread_local Workspace instance;
    return instance;
}

size_t paddedRow(int cols) { return (static_cast<size_t>(cols) + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT; }

//! Calls body(begin, end) for parts of 0..rows, on all threads when asked to.
template <class Body> void forRowBands(int rows, bool parallel, const Body& body)
{
    const int threads = parallel ? std::max(1, getNumThreads()) : 1;
    // Two bands a thread even out unequal cores; a band starts with the column sums of its first row.
    const int band = threads == 1 ? rows : std::max(8, ((rows + 2 * threads - 1) / (2 * threads) + 3) & ~3);
    const int bands = (rows + band - 1) / band;
    if (bands <= 1)
        return body(0, rows);
    parallel_for_(
        Range(0, bands),
        [&](const Range& range)
        {
            for (int i = range.start; i < range.end; ++i)
                body(i * band, std::min(rows, (i + 1) * band));
        },
        bands);
}

//! A rectangle of the frame as planes; the origin of the result is the rectangle's corner.
Planes unpack(const ImageView& frame, const Rect& part, bool squares, uint8_t bias, Buffer& memory, bool parallel)
{
    Planes planes;
    planes.step = (static_cast<size_t>(part.width) + 63) & ~size_t(63);
    planes.planeStep = planes.step * part.height;
    planes.bias = bias;
    const int count = frame.channels * (squares ? 3 : 1);
    uint8_t* const data = memory.get<uint8_t>(planes.planeStep * count + PLANE_PADDING);
    planes.data = data;
    forRowBands(part.height, parallel,
                [&](int begin, int end)
                {
                    const ImageView rows = {frame.pixel(part.x, part.y + begin),
                                            frame.step,
                                            part.width,
                                            end - begin,
                                            frame.pixelStride,
                                            frame.channels};
                    unpackBest(rows, squares, planes, data + begin * planes.step);
                });
    return planes;
}

Rect areaOf(const SearchWindow& window, const HostFragment& fragment)
{
    return Rect(window.x, window.y, window.cols + fragment.width - 1, window.rows + fragment.height - 1);
}

//! One fragment in its window.
template <typename V> class Searcher
{
public:
    Searcher(const Plan& plan, const Planes& planes, const SearchWindow& window, bool parallel)
        : plan_(plan), planes_(planes), window_(window), parallel_(parallel)
    {}

    void scoreAll(Workspace& memory)
    {
        const size_t stride = paddedRow(window_.cols);
        map_.values = memory.map.get<V>(stride * window_.rows);
        map_.stride = stride;
        map_.best = memory.best.get<RowBest<V>>(window_.rows);
        if (plan_.metric == METRIC_ZNCC && plan_.variance == 0)
        {
            const V flat = static_cast<V>(znccToValue(0.f));
            std::fill(map_.values, map_.values + stride * window_.rows, flat);
            std::fill(map_.best, map_.best + window_.rows, RowBest<V>{flat, 0});
            return;
        }
        forRowBands(window_.rows, parallel_,
                    [&](int begin, int end)
                    {
                        const MapView<V> band = {map_.values + begin * stride, stride, map_.best + begin};
                        scoreMap(plan_, planes_.at(0, begin), end - begin, window_.cols, band);
                    });
    }

    V value(int x, int y) const
    {
        if (map_.values)
            return map_.values[y * map_.stride + x];
        if (plan_.metric == METRIC_ZNCC && plan_.variance == 0)
            return static_cast<V>(znccToValue(0.f));
        return static_cast<V>(scoreAt(plan_, planes_.at(x, y)));
    }

    //! walk: nine points around the best so far, with half the step each time.
    Peak<V> walk(Position start) const
    {
        Peak<V> best = {value(start.x, start.y), start.x, start.y};
        for (int step = firstStep(walkReach(window_, start)); step >= 1; step /= 2)
        {
            const Peak<V> centre = best;
            for (int64_t y = centre.y - int64_t(step); y <= centre.y + int64_t(step); y += step)
                for (int64_t x = centre.x - int64_t(step); x <= centre.x + int64_t(step); x += step)
                {
                    if (x < 0 || y < 0 || x >= window_.cols || y >= window_.rows || (x == centre.x && y == centre.y))
                        continue;
                    const Peak<V> point = {value(int(x), int(y)), int(x), int(y)};
                    const bool above = point.y < best.y || (point.y == best.y && point.x < best.x);
                    if (point.value < best.value || (point.value == best.value && above))
                        best = point;
                }
        }
        return best;
    }

    PeakFinder<V> finder(int distance, int exclusion) const
    {
        return PeakFinder<V>(map_, window_.rows, window_.cols, distance, exclusion);
    }

    Offset2 subpixel(const Peak<V>& peak) const
    {
        Offset2 offset = {0.f, 0.f};
        const uint64_t at = plan_.unit * peak.value;
        if (peak.x > 0 && peak.x < window_.cols - 1)
            offset.x = subpixelOffset(plan_.unit * value(peak.x - 1, peak.y), at,
                                      plan_.unit * value(peak.x + 1, peak.y), plan_.metric);
        if (peak.y > 0 && peak.y < window_.rows - 1)
            offset.y = subpixelOffset(plan_.unit * value(peak.x, peak.y - 1), at,
                                      plan_.unit * value(peak.x, peak.y + 1), plan_.metric);
        return offset;
    }

private:
    const Plan& plan_;
    Planes planes_;
    SearchWindow window_;
    bool parallel_;
    MapView<V> map_ = {nullptr, 0, nullptr};
};

//! What match() hands to the stages of each fragment.
struct Call
{
    const ImageView& frame;
    const std::vector<HostFragment>& fragments;
    const std::vector<SearchWindow>& windows;
    ConstRowsView<Position> predictions;
    const Settings& settings;
    const Outputs& out;
    KernelTraits traits;
    const Planes* shared; //!< planes of `sharedPart`, or null: each fragment unpacks its own area
    Rect sharedPart;
};

template <typename V>
void report(const Call& call, int i, const Plan& plan, const Searcher<V>& searcher, const Peak<V>* peaks)
{
    const Outputs& out = call.out;
    const SearchWindow& window = call.windows[i];
    const int count = call.settings.peaks;
    const bool flat = plan.metric == METRIC_ZNCC && plan.variance == 0;
    reportNothing(out, i, count, flat ? STATUS_FLAT_FRAGMENT : STATUS_FOUND);
    for (int j = 0; j < count && peaks[j].x >= 0; ++j)
    {
        const Position at = {window.x + peaks[j].x, window.y + peaks[j].y};
        if (out.locations)
            out.locations.row(i)[j] = at;
        if (out.scores)
            out.scores.row(i)[j] = scoreOf(plan.unit * peaks[j].value, plan.metric, call.fragments[i].sums.W);
        if (out.refined)
        {
            const Offset2 offset = call.settings.subpixel ? searcher.subpixel(peaks[j]) : Offset2{0.f, 0.f};
            out.refined.row(i)[j] = {static_cast<float>(at.x) + offset.x, static_cast<float>(at.y) + offset.y};
        }
    }
    if (out.confidence && count > 1 && peaks[1].x >= 0)
        *out.confidence.row(i) = confidenceOf(plan.unit * peaks[0].value, plan.unit * peaks[1].value, plan.metric);
}

template <typename V>
void searchFragment(const Call& call, int i, const Plan& plan, const Planes& planes, Workspace& memory, bool parallel)
{
    const HostFragment& fragment = call.fragments[i];
    const Settings& settings = call.settings;
    const SearchWindow& window = call.windows[i];
    const bool walks = settings.search == FragmentMatcher::THREE_STEP;
    Searcher<V> searcher(plan, planes, window, parallel);
    if (!walks || settings.peaks > 1)
        searcher.scoreAll(memory);

    Peak<V> peaks[MAX_PEAKS];
    const int distance = exclusionDistance(settings.exclusionDistance, fragment.width, fragment.height);
    for (int j = 0; j < settings.peaks; ++j)
    {
        if (j == 0 && walks)
        {
            const bool predicted = static_cast<bool>(call.predictions);
            const Position prediction = predicted ? *call.predictions.row(i) : Position{0, 0};
            peaks[j] = searcher.walk(walkStart(window, predicted, prediction));
        }
        else if (j > 0 && peaks[j - 1].x < 0)
            peaks[j] = peaks[j - 1];
        else
            peaks[j] = searcher.finder(distance, settings.exclusion).next(peaks, j);
    }
    report(call, i, plan, searcher, peaks);
}

//! Small areas are unpacked for each fragment: rows that follow each other closely stay in the first-level cache.
bool usesSharedPlanes(const Rect& area) { return area.area() > 128 * 128; }

void matchFragment(const Call& call, int i, bool parallel)
{
    const HostFragment& fragment = call.fragments[i];
    const SearchWindow& window = call.windows[i];
    if (window.cols == 0 || fragment.sums.W == 0)
        return reportNothing(call.out, i, call.settings.peaks, STATUS_NO_POSITION);
    Workspace& memory = workspace();
    Plan& plan = memory.plan;
    plan.prepare(fragment, call.settings.metric, call.traits);
    const uint8_t bias = plan.metric == METRIC_SAD ? 0 : call.traits.bias;
    const Rect area = areaOf(window, fragment);
    const Planes planes = call.shared && usesSharedPlanes(area)
                              ? call.shared->at(area.x - call.sharedPart.x, area.y - call.sharedPart.y)
                              : unpack(call.frame, area, plan.squares, bias, memory.planes, parallel);
    if (plan.wide && plan.metric != METRIC_ZNCC)
        searchFragment<uint64_t>(call, i, plan, planes, memory, parallel);
    else
        searchFragment<uint32_t>(call, i, plan, planes, memory, parallel);
}

//! Bytes that all positions of a window compare: the unit of work.
double workOf(const SearchWindow& window, const HostFragment& fragment)
{
    return double(window.cols) * window.rows * fragment.width * fragment.height * fragment.channels;
}

//! The windows of all fragments, and the part of the frame that it is cheaper to unpack once for all.
Rect planWindows(const ImageView& frame, const std::vector<HostFragment>& fragments, const Rect4* areas,
                 std::vector<SearchWindow>& windows)
{
    Rect part;
    double areaSum = 0;
    windows.resize(fragments.size());
    for (size_t i = 0; i < fragments.size(); ++i)
    {
        const Rect4 whole = {0, 0, frame.cols, frame.rows};
        windows[i] =
            searchWindow(areas ? areas[i] : whole, frame.cols, frame.rows, fragments[i].width, fragments[i].height);
        const Rect area = windows[i].cols ? areaOf(windows[i], fragments[i]) : Rect();
        if (usesSharedPlanes(area))
        {
            part |= area;
            areaSum += area.area();
        }
    }
    return areaSum >= part.area() ? part : Rect();
}

template <typename V>
void scoreWindow(const Plan& plan, const Planes& planes, const SearchWindow& window, uint64_t* values)
{
    const size_t cols = window.cols, stride = paddedRow(window.cols);
    forRowBands(window.rows, true,
                [&](int begin, int end)
                {
                    V* const map = workspace().map.get<V>(stride * (end - begin));
                    scoreMap(plan, planes.at(0, begin), end - begin, window.cols, MapView<V>{map, stride, nullptr});
                    for (int y = begin; y < end; ++y)
                        for (size_t x = 0; x < cols; ++x)
                            values[y * cols + x] = plan.unit * map[(y - begin) * stride + x];
                });
}

} // namespace

void match(const ImageView& frame, const std::vector<HostFragment>& fragments, const Rect4* areas,
           ConstRowsView<Position> predictions, const Settings& settings, const Outputs& out)
{
    Workspace& memory = workspace();
    const std::vector<SearchWindow>& windows = memory.windows;
    const int count = static_cast<int>(fragments.size());
    const Rect part = planWindows(frame, fragments, areas, memory.windows);
    Call call = {frame, fragments, windows, predictions, settings, out, bestKernelTraits(), nullptr, part};
    Planes shared;
    if (!part.empty())
    {
        bool squares = false;
        for (const HostFragment& fragment : fragments)
            squares = squares || (fragment.q && settings.metric != METRIC_SAD);
        shared =
            unpack(frame, part, squares, settings.metric == METRIC_SAD ? 0 : call.traits.bias, memory.shared, true);
        call.shared = &shared;
    }
    // Fragments with more work than a fair share of a thread's would keep the others waiting: all threads work on each
    // of them in turn. The rest is spread over threads.
    double work = 0;
    for (int i = 0; i < count; ++i)
        work += workOf(windows[i], fragments[i]);
    const int threads = std::max(1, getNumThreads());
    const auto isLarge = [&](int i)
    { return threads > 1 && workOf(windows[i], fragments[i]) > std::max(1e6, work / (4 * threads)); };
    parallel_for_(Range(0, count),
                  [&](const Range& range)
                  {
                      for (int i = range.start; i < range.end; ++i)
                          if (!isLarge(i))
                              matchFragment(call, i, false);
                  });
    for (int i = 0; i < count; ++i)
        if (isLarge(i))
            matchFragment(call, i, true);
    memory.trim();
}

void scores(const ImageView& frame, const HostFragment& fragment, const SearchWindow& window, int metric,
            uint64_t* values)
{
    if (window.cols == 0 || fragment.sums.W == 0)
        return;
    const size_t cols = window.cols;
    const KernelTraits traits = bestKernelTraits();
    Workspace& memory = workspace();
    Plan& plan = memory.plan;
    plan.prepare(fragment, metric, traits);
    if (metric == METRIC_ZNCC && plan.variance == 0)
    {
        std::fill(values, values + cols * window.rows, znccToValue(0.f));
        return;
    }
    const Planes planes = unpack(frame, areaOf(window, fragment), plan.squares, metric == METRIC_SAD ? 0 : traits.bias,
                                 memory.planes, true);
    if (plan.wide && metric != METRIC_ZNCC)
        scoreWindow<uint64_t>(plan, planes, window, values);
    else
        scoreWindow<uint32_t>(plan, planes, window, values);
    memory.trim();
}

}}}} // namespace cv::cuda::fragment_matcher::cpu
