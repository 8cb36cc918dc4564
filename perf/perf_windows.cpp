// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher on grids of windows: cut, search and field in one go. The peer is the loop that autoRIFT runs:
// cv::matchTemplate() and minMaxLoc() for each window, on one thread, without a sub-pixel position.
// Lines with [ PERFROW ] go to scripts/perf_report.py.
#include "perf_precomp.hpp"
#include "perf_measure.hpp"

namespace opencv_test { namespace {

using cuda::FragmentMatcher;
using cuda::GpuMat;
using cuda::WindowGrid;

struct Motion
{
    const char* name;
    WindowGrid grid;
    int reach;
};
const Motion MOTIONS[] = {
    {"ice_32_step_32_reach_25", WindowGrid::create(Size(2304, 1720), Size(32, 32), Size(32, 32)),
     25}, // autoRIFT's defaults
    {"particles_16_step_8_reach_8", WindowGrid::create(Size(1024, 1024), Size(16, 16), Size(8, 8)), 8},
};

void PrintTo(const Motion& motion, std::ostream* os) { *os << motion.name; }

//! Images of particles that moved by MOVED.
struct Pair
{
    explicit Pair(Size size)
    {
        Mat noise(size + Size(8, 8), CV_8UC1), smooth;
        RNG rng(20261);
        rng.fill(noise, RNG::UNIFORM, 0, 256);
        GaussianBlur(noise, smooth, Size(), 0.9);
        normalize(smooth, smooth, 0, 255, NORM_MINMAX);
        first = smooth(Rect(Point(4, 4), size)).clone();
        second = smooth(Rect(Point(4, 4) - MOVED, size)).clone();
    }
    static const Point MOVED;
    Mat first, second;
};
const Point Pair::MOVED(3, -2);

//! The places of all windows by matchTemplate().
std::vector<Point> bestByLoop(const Motion& motion, const Pair& pair, const std::vector<Rect>& windows,
                              const std::vector<Rect>& areas)
{
    std::vector<Point> places;
    Mat map;
    for (size_t i = 0; i < windows.size(); ++i)
    {
        const Rect area = areas[i] & Rect(Point(), motion.grid.frame);
        matchTemplate(pair.second(area), pair.first(windows[i]), map, TM_CCOEFF_NORMED);
        Point best;
        minMaxLoc(map, nullptr, nullptr, nullptr, &best);
        places.push_back(area.tl() + best);
    }
    return places;
}

//! All of a call, for Mat and GpuMat.
template <typename Array> class Search
{
public:
    explicit Search(const Motion& motion) : motion_(motion)
    {
        FragmentMatcher::Params params;
        params.metric = FragmentMatcher::ZNCC;
        params.subpixel = true;
        params.subpixelFit = FragmentMatcher::GAUSSIAN;
        params.maxSearchArea = motion.grid.window + Size(2 * motion.reach, 2 * motion.reach);
        matcher_ = FragmentMatcher::create(params);
        motion.grid.regions(windows);
    }
    void cut(const Array& first, cuda::Stream& stream)
    {
        matcher_->cutFragments(first, windows, noArray(), stream);
        motion_.grid.areas(Size(motion_.reach, motion_.reach), noArray(), noArray(), areas, stream);
    }
    void match(const Array& second, cuda::Stream& stream)
    {
        matcher_->match(second, areas, locations, scores_, confidence_, status_, refined_, stream);
    }
    void all(const Array& first, const Array& second, cuda::Stream& stream = cuda::noStream())
    {
        cut(first, stream);
        match(second, stream);
        motion_.grid.field(areas, refined_, scores_, confidence_, status_, u, v, noArray(), noArray(), valid, stream);
    }

    std::vector<Rect> windows;
    Array areas, locations, u, v, valid;

private:
    const Motion motion_;
    Ptr<FragmentMatcher> matcher_;
    Array scores_, confidence_, status_, refined_;
};

//! All windows whose match lies inside of the frame are found where they moved to.
void checkMotion(const Motion& motion, const std::vector<Rect>& windows, const Mat& locations)
{
    const Rect frame(Point(), motion.grid.frame);
    for (int i = 0; i < static_cast<int>(windows.size()); ++i)
    {
        const Rect there = windows[i] + Pair::MOVED;
        if ((there & frame) == there)
        {
            ASSERT_EQ(there.tl(), locations.at<Point>(i, 0)) << "window " << i;
        }
    }
}

double loopUs(const Motion& motion, const Pair& pair, const std::vector<Rect>& windows, const std::vector<Rect>& areas)
{
    const Threads one(1);
    return medianUs([&] { bestByLoop(motion, pair, windows, areas); }, 2., 5);
}

typedef perf::TestBaseWithParam<tuple<Motion, int>> FragmentMatcher_CpuWindows; // motion, threads (0: all)
typedef perf::TestBaseWithParam<Motion> FragmentMatcher_CudaWindows;

PERF_TEST_P(FragmentMatcher_CpuWindows, field, testing::Combine(testing::ValuesIn(MOTIONS), testing::Values(1, 0)))
{
    const Motion motion = get<0>(GetParam());
    const Pair pair(motion.grid.frame);
    const Threads threads(get<1>(GetParam()));
    Search<Mat> search(motion);
    TEST_CYCLE() { search.all(pair.first, pair.second); }
    checkMotion(motion, search.windows, search.locations);
    const int used = getNumThreads();
    const double us = calcMetrics().median / getTickFrequency() * 1e6;
    PerfRow(motion.name, "cpu", "call", us)
        .peer("matchTemplate_loop", loopUs(motion, pair, search.windows, search.areas))
        .set("windows", static_cast<double>(search.windows.size()))
        .set("threads", used);
    SANITY_CHECK_NOTHING();
}

PERF_TEST_P(FragmentMatcher_CudaWindows, field, testing::ValuesIn(MOTIONS))
{
    requireDevice();
#ifdef HAVE_CUDA
    const Motion motion = GetParam();
    const Pair pair(motion.grid.frame);
    const GpuMat first(pair.first), second(pair.second);
    cuda::Stream stream;
    Search<GpuMat> search(motion);
    const double allUs = graphMedianUs(stream, [&] { search.all(first, second, stream); });
    const double matchUs = graphMedianUs(stream, [&] { search.match(second, stream); });
    TEST_CYCLE()
    {
        search.all(first, second, stream);
        stream.waitForCompletion();
    }
    checkMotion(motion, search.windows, Mat(search.locations));
    std::vector<Rect> areas;
    motion.grid.areas(Size(motion.reach, motion.reach), noArray(), noArray(), areas);
    const double peerUs = loopUs(motion, pair, search.windows, areas),
                 callUs = calcMetrics().median / getTickFrequency() * 1e6, windows = areas.size();
    PerfRow(motion.name, "cuda", "kernel", matchUs).peer("matchTemplate_loop", peerUs).set("windows", windows);
    PerfRow(motion.name, "cuda", "whole", allUs).peer("matchTemplate_loop", peerUs).set("windows", windows);
    PerfRow(motion.name, "cuda", "call", callUs).peer("matchTemplate_loop", peerUs).set("windows", windows);
    SANITY_CHECK_NOTHING();
#endif
}

}} // namespace opencv_test
