// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// FragmentMatcher: many small fragments in small areas (A), one fragment in a whole frame (B gray, B' BGR, C large).
// FragmentMatcher_CudaGrid walks a grid of sizes and counts the places where more work takes less time.
// Lines with [ PERFROW ] go to scripts/perf_report.py.
// Cases and peers of one table, measured on the same input.
#include "perf_precomp.hpp"
#include "images.hpp"
#include "opencv2/videoio.hpp"

#ifdef HAVE_OPENCV_CUDAIMGPROC
#include "opencv2/cudaimgproc.hpp"
#endif
#ifdef HAVE_OPENCV_CUDAARITHM
#include "opencv2/cudaarithm.hpp"
#endif

namespace opencv_test { namespace {

using cuda::FragmentMatcher;
using cuda::GpuMat;

//! Image that is searched, and the one that fragments are cut from. Noise, of which no position can be eliminated, is
//! the worst case of SAD.
enum Content
{
    NOISE,
    COLLAGE, //!< images of OpenCV's samples side by side
    STEREO,  //!< fragments of a left image, searched in the right one
    VIDEO    //!< fragments of a frame, searched in the next but four
};

struct Case
{
    std::string name;
    Size frame, fragment;
    int type, count, reach; //!< reach: how far the area goes beyond the fragment on each side; 0: whole frame
    int metric;
    bool weighted;
    //! H200: instructions at their measured rate, for channels in planes; see doc/performance/fragment_matcher.md
    double lowerBoundUs;
    int peaks = 2;
    Content content = NOISE;
    int shift = -1; //!< most by which the centre of an area is beside the fragment; -1: `reach`
};

const Case CASES[] = {
    {"A_SAD", Size(1920, 1080), Size(16, 16), CV_8UC3, 1000, 16, FragmentMatcher::SAD, false, 12.5},
    {"A_SAD_weighted", Size(1920, 1080), Size(16, 16), CV_8UC3, 1000, 16, FragmentMatcher::SAD, true, 12.5},
    {"A_SAD_best", Size(1920, 1080), Size(16, 16), CV_8UC3, 1000, 16, FragmentMatcher::SAD, false, 12.5, 1},
    {"A_SSD", Size(1920, 1080), Size(16, 16), CV_8UC3, 1000, 16, FragmentMatcher::SSD, false, 0},
    {"A_ZNCC", Size(1920, 1080), Size(16, 16), CV_8UC3, 1000, 16, FragmentMatcher::ZNCC, false, 0},
    {"A_ZNCC_weighted", Size(1920, 1080), Size(16, 16), CV_8UC3, 1000, 16, FragmentMatcher::ZNCC, true, 0},
    {"B_SAD", Size(768, 576), Size(52, 52), CV_8UC1, 1, 0, FragmentMatcher::SAD, false, 15.2},
    {"B_SAD_best", Size(768, 576), Size(52, 52), CV_8UC1, 1, 0, FragmentMatcher::SAD, false, 15.2, 1},
    {"B_SSD", Size(768, 576), Size(52, 52), CV_8UC1, 1, 0, FragmentMatcher::SSD, false, 0},
    {"B_ZNCC", Size(768, 576), Size(52, 52), CV_8UC1, 1, 0, FragmentMatcher::ZNCC, false, 0},
    {"B'_SAD", Size(768, 576), Size(52, 52), CV_8UC3, 1, 0, FragmentMatcher::SAD, false, 46},
    {"B'_SSD", Size(768, 576), Size(52, 52), CV_8UC3, 1, 0, FragmentMatcher::SSD, false, 0},
    {"B'_ZNCC", Size(768, 576), Size(52, 52), CV_8UC3, 1, 0, FragmentMatcher::ZNCC, false, 0},
    {"C_SAD", Size(1920, 1080), Size(64, 64), CV_8UC3, 1, 0, FragmentMatcher::SAD, false, 347},
    {"C_SAD_weighted", Size(1920, 1080), Size(64, 64), CV_8UC3, 1, 0, FragmentMatcher::SAD, true, 347},
    {"C_SSD", Size(1920, 1080), Size(64, 64), CV_8UC3, 1, 0, FragmentMatcher::SSD, false, 0},
    {"C_ZNCC", Size(1920, 1080), Size(64, 64), CV_8UC3, 1, 0, FragmentMatcher::ZNCC, false, 0},
    {"A_SSD_16bit", Size(1920, 1080), Size(16, 16), CV_16UC3, 1000, 16, FragmentMatcher::SSD, false, 0},
    {"A_ZNCC_16bit", Size(1920, 1080), Size(16, 16), CV_16UC3, 1000, 16, FragmentMatcher::ZNCC, false, 0},
    {"A_ZNCC_weighted_16bit", Size(1920, 1080), Size(16, 16), CV_16UC3, 1000, 16, FragmentMatcher::ZNCC, true, 0},
    {"B_SSD_16bit", Size(768, 576), Size(52, 52), CV_16UC1, 1, 0, FragmentMatcher::SSD, false, 0},
    {"B_ZNCC_16bit", Size(768, 576), Size(52, 52), CV_16UC1, 1, 0, FragmentMatcher::ZNCC, false, 0},
    {"B'_SSD_16bit", Size(768, 576), Size(52, 52), CV_16UC3, 1, 0, FragmentMatcher::SSD, false, 0},
    {"B'_ZNCC_16bit", Size(768, 576), Size(52, 52), CV_16UC3, 1, 0, FragmentMatcher::ZNCC, false, 0},
    {"C_SSD_16bit", Size(1920, 1080), Size(64, 64), CV_16UC3, 1, 0, FragmentMatcher::SSD, false, 0},
    {"C_ZNCC_16bit", Size(1920, 1080), Size(64, 64), CV_16UC3, 1, 0, FragmentMatcher::ZNCC, false, 0},
};

//! Cases whose time depends on the image, in natural images.
std::vector<Case> imageCases()
{
    const struct
    {
        const char* name;
        Content content;
    } contents[] = {{"collage", COLLAGE}, {"stereo", STEREO}, {"video", VIDEO}, {"noise", NOISE}};
    std::vector<Case> cases;
    for (const auto& of : contents)
    {
        const auto add = [&](const char* name, int side, int count, int reach, bool weighted)
        {
            cases.push_back({cv::format("%s_%s", name, of.name), Size(1920, 1080), Size(side, side), CV_8UC3, count,
                             reach, FragmentMatcher::SAD, weighted, 0, 2, of.content, reach / 6});
        };
        for (const int side : {64, 96, 128, 200, 232})
            add(cv::format("SAD_%d", side).c_str(), side, 1, 0, false);
        add("SAD_64_weighted", 64, 1, 0, true);
        add("D_SAD", 128, 1000, 48, false);
        add("SAD_1000_of_96_in_112", 96, 1000, 8, false);
        add("SAD_100_of_64_in_160", 64, 100, 48, false);
        add("SAD_100_of_96_in_192", 96, 100, 48, false);
        add("SAD_1000_of_48_in_144", 48, 1000, 48, false);
        add("SAD_1000_of_64_in_112", 64, 1000, 24, false);
        add("SAD_1000_of_64_in_160", 64, 1000, 48, false);
        add("SAD_1000_of_96_in_192", 96, 1000, 48, false);
        add("SAD_1000_of_128_in_144", 128, 1000, 8, false);
    }
    return cases;
}

const int METRICS[] = {FragmentMatcher::SAD, FragmentMatcher::SSD, FragmentMatcher::ZNCC};

//! Returns a case of BGR noise in 1080p, named after its metric. @param reach as in Case.
Case bgrCase(int metric, const std::string& name, int side, int count, int reach)
{
    const char* const names[] = {"SAD", "SSD", "ZNCC"};
    Case c = {name, Size(1920, 1080), Size(side, side), CV_8UC3, count, reach, metric, false, 0};
    c.name = std::string(names[metric]) + "_" + name;
    return c;
}

//! Many large fragments in small areas.
std::vector<Case> areaCases()
{
    std::vector<Case> cases;
    for (const int metric : METRICS)
        cases.push_back(bgrCase(metric, "1000_of_64_in_96", 64, 1000, 16));
    return cases;
}

//! A BGR fragment of each side in 1080p, for curves (scripts/fragment_matcher_plots.sh).
std::vector<Case> plotCases()
{
    std::vector<Case> cases;
    for (const int metric : METRICS)
        for (const int side : {8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 200, 232})
            cases.push_back(bgrCase(metric, std::to_string(side), side, 1, 0));
    return cases;
}

//! Cases of plotCases() for the CPU's curves, and SSD and ZNCC of a gray fragment in 768 x 576.
std::vector<Case> cpuPlotCases()
{
    std::vector<Case> cases = plotCases();
    for (const Case& bgr : plotCases())
        if (bgr.metric != FragmentMatcher::SAD)
            cases.push_back({"gray_" + bgr.name, Size(768, 576), bgr.fragment, CV_8UC1, 1, 0, bgr.metric, false, 0});
    return cases;
}

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

//! Returns two images of a natural scene, enlarged or reduced to `size`: where fragments are cut from, and where they
//! are searched.
void naturalPair(Content content, Size size, Mat& source, Mat& frame)
{
    const std::string folder = folderOf("CUDATRACKING_SAMPLES_DATA");
    if (content == COLLAGE)
    {
        source = frame = collage(size, IMREAD_COLOR);
        return;
    }
    if (content == STEREO)
    {
        source = imread(folder + "/aloeL.jpg");
        frame = imread(folder + "/aloeR.jpg");
    }
    else
    {
        VideoCapture video(folder + "/vtest.avi");
        for (int i = 0; i < 6 && video.read(frame); ++i)
            if (i == 0)
                source = frame.clone();
    }
    if (source.empty() || frame.empty())
        throw SkipTestException("cannot read the images in " + folder);
    cv::resize(source, source, size, 0, 0, INTER_CUBIC);
    cv::resize(frame, frame, size, 0, 0, INTER_CUBIC);
}

//! Input of a case. Unless images are natural, the right answers are the places that the fragments were cut from.
struct Input
{
    explicit Input(const Case& c, uint64 seed = 20260) : frame(c.frame, c.type), checked(c.content == NOISE)
    {
        RNG rng(seed);
        Mat source;
        if (c.content == NOISE)
        {
            Mat noise(c.frame, c.type);
            const int most = frame.depth() == CV_16U ? 65535 : 255;
            rng.fill(noise, RNG::UNIFORM, 0, most + 1);
            blur(noise, frame, Size(5, 5));
            normalize(frame.reshape(1), frame, 0, most, NORM_MINMAX);
            source = frame = frame.reshape(CV_MAT_CN(c.type));
        }
        else
            naturalPair(c.content, c.frame, source, frame);
        Mat window(c.fragment, CV_32FC1); // a Gaussian, as tracking uses it
        for (int y = 0; y < window.rows; ++y)
            for (int x = 0; x < window.cols; ++x)
            {
                const double dx = (x + 0.5) / window.cols - 0.5, dy = (y + 0.5) / window.rows - 0.5;
                window.at<float>(y, x) = static_cast<float>(std::exp(-8. * (dx * dx + dy * dy)));
            }
        for (int i = 0; i < c.count; ++i)
        {
            const int margin = 2 * c.reach; // the whole area lies inside the frame
            const Point at =
                uniform(rng, Point(margin, margin),
                        Point(c.frame.width - c.fragment.width - margin, c.frame.height - c.fragment.height - margin));
            const int shift = c.shift < 0 ? c.reach : c.shift;
            const Point offset = shift ? uniform(rng, Point(-shift, -shift), Point(shift, shift)) : Point();
            const Rect region(at, c.fragment);
            places.push_back(at);
            templates.push_back(source(region).clone());
            if (c.weighted)
                weights.push_back(window);
            const Rect around(at + offset - Point(c.reach, c.reach), c.fragment + Size(2 * c.reach, 2 * c.reach));
            areas.push_back(c.reach ? around : Rect(Point(), c.frame));
            positions +=
                static_cast<double>(areas[i].width - c.fragment.width + 1) * (areas[i].height - c.fragment.height + 1);
            bytes += static_cast<double>(areas[i].area() + c.fragment.area()) * frame.elemSize();
        }
    }

    void checkLocations(const Mat& locations) const
    {
        for (size_t i = 0; checked && i < places.size(); ++i)
            ASSERT_EQ(places[i], locations.at<Point>(static_cast<int>(i), 0)) << "fragment " << i;
    }

    Mat frame;
    std::vector<Mat> templates, weights;
    std::vector<Rect> areas;
    std::vector<Point> places;
    double positions = 0, bytes = 0;
    bool checked; //!< `places` are the right answers
};

Ptr<FragmentMatcher> makeMatcher(const Case& c, const Input& input)
{
    FragmentMatcher::Params params;
    params.metric = c.metric;
    params.peaks = c.peaks;
    params.maxSearchArea = c.reach ? c.fragment + Size(2 * c.reach, 2 * c.reach) : c.frame;
    const Ptr<FragmentMatcher> matcher = FragmentMatcher::create(params);
    if (c.weighted)
        matcher->setFragments(input.templates, input.weights);
    else
        matcher->setFragments(input.templates);
    return matcher;
}

//! OpenCV has no SAD; its squared difference is the nearest thing.
int peerMethod(const Case& c) { return c.metric == FragmentMatcher::ZNCC ? TM_CCOEFF_NORMED : TM_SQDIFF; }
std::string peerName(const Case& c, const char* function)
{
    const bool same = c.metric != FragmentMatcher::SAD;
    return std::string(function) + (same ? "" : "(SQDIFF)");
}

Point bestByMatchTemplate(const Case& c, const Input& input, int i)
{
    Mat map;
    const int method = peerMethod(c);
    if (c.weighted)
        matchTemplate(input.frame(input.areas[i]), input.templates[i], map, method, input.weights[i]);
    else
        matchTemplate(input.frame(input.areas[i]), input.templates[i], map, method);
    Point low, high;
    minMaxLoc(map, nullptr, nullptr, &low, &high);
    return input.areas[i].tl() + (method == TM_SQDIFF ? low : high);
}

//! 0 for 16 bits, which it does not take.
double matchTemplateUs(const Case& c, const Input& input)
{
    if (input.frame.depth() != CV_8U)
        return 0;
    return medianUs(
        [&]
        {
            if (c.count == 1)
                bestByMatchTemplate(c, input, 0);
            else
                parallel_for_(Range(0, c.count),
                              [&](const Range& range)
                              {
                                  for (int i = range.start; i < range.end; ++i)
                                      bestByMatchTemplate(c, input, i);
                              });
        });
}

class FragmentMatcher_Cpu : public perf::TestBaseWithParam<tuple<Case, int>> // case, threads (0: all)
{
protected:
    void measure()
    {
        const Case c = get<0>(GetParam());
        const Input input(c);
        const Threads threads(get<1>(GetParam()));
        const Ptr<FragmentMatcher> matcher = makeMatcher(c, input);
        Mat locations, scores, confidence;
        declare.in(input.frame).time(5);
        TEST_CYCLE() { matcher->match(input.frame, input.areas, locations, scores, confidence); }
        input.checkLocations(locations);

        PerfRow row(c.name, "cpu", "call", calcMetrics().median / getTickFrequency() * 1e6);
        row.set("positions", input.positions).set("bytes", input.bytes);
        row.peer(peerName(c, "matchTemplate"), matchTemplateUs(c, input)).set("threads", getNumThreads());
        SANITY_CHECK_NOTHING();
    }
};
typedef FragmentMatcher_Cpu FragmentMatcher_CpuPlots;

PERF_TEST_P(FragmentMatcher_Cpu, match, testing::Combine(testing::ValuesIn(CASES), testing::Values(1, 0)))
{
    measure();
}
PERF_TEST_P(FragmentMatcher_CpuPlots, match, testing::Combine(testing::ValuesIn(cpuPlotCases()), testing::Values(1, 2)))
{
    measure();
}

//! Natural images: the mean over fragments of several places.
class FragmentMatcher_CpuImages : public perf::TestBaseWithParam<Case>
{
protected:
    void measure()
    {
        const Case c = GetParam();
        const Threads threads(1);
        double ours = 0, peer = 0;
        const int places = c.count > 1 ? 1 : 3;
        if (c.count > 1 || c.weighted)
            throw SkipTestException("only one fragment without weights is compared with matchTemplate");
        for (int place = 0; place < places; ++place)
        {
            const Input input(c, 20260 + place);
            const Ptr<FragmentMatcher> matcher = makeMatcher(c, input);
            Mat locations, scores, confidence;
            const auto match = [&] { matcher->match(input.frame, input.areas, locations, scores, confidence); };
            ours += medianUs(match) / places;
            peer += matchTemplateUs(c, input) / places;
            input.checkLocations(locations);
            if (place == places - 1)
                TEST_CYCLE_N(1) { match(); }
        }
        PerfRow(c.name, "cpu", "call", ours).peer(peerName(c, "matchTemplate"), peer).set("threads", 1);
        SANITY_CHECK_NOTHING();
    }
};

PERF_TEST_P(FragmentMatcher_CpuImages, match, testing::ValuesIn(imageCases())) { measure(); }

#ifdef HAVE_CUDA

//! Whole calls, as their results are needed on the host to compare anything with them: one for each fragment. 0 where
//! there is no peer, or the peer fails.
double cudaTemplateMatchingUs(const Case& c, const Input& input, const GpuMat& frame)
{
#if defined HAVE_OPENCV_CUDAIMGPROC && defined HAVE_OPENCV_CUDAARITHM
    if (c.weighted || input.frame.depth() != CV_8U) // it has no masks, and does not take 16 bits
        return 0;
    try
    {
        const Ptr<cuda::TemplateMatching> peer = cuda::createTemplateMatching(c.type, peerMethod(c));
        std::vector<GpuMat> templates(input.templates.size());
        for (size_t i = 0; i < templates.size(); ++i)
            templates[i].upload(input.templates[i]);
        GpuMat map;
        return medianUs(
            [&]
            {
                for (size_t i = 0; i < templates.size(); ++i)
                {
                    peer->match(frame(input.areas[i]), templates[i], map);
                    Point low, high;
                    cuda::minMaxLoc(map, nullptr, nullptr, &low, &high);
                }
            },
            2.);
    }
    catch (const cv::Exception& e) // such as no cuFFT on this machine
    {
        printf("cuda::TemplateMatching is left out: %s\n", e.what());
        return 0;
    }
#else
    CV_UNUSED(c), CV_UNUSED(input), CV_UNUSED(frame);
    return 0;
#endif
}

//! The input of a case in device memory, and calls that match it on a stream of their own.
struct DeviceMatch
{
    DeviceMatch(const Case& c, const Input& input)
        : matcher(makeMatcher(c, input)), frame(input.frame), areas(Mat(input.areas, true))
    {}

    void match() { matcher->match(frame, areas, locations, scores, confidence, noArray(), noArray(), stream); }
    void matchAndWait()
    {
        match();
        stream.waitForCompletion();
    }
    //! Returns the device time of match() in microseconds. @param replays per batch.
    double medianUs(int replays)
    {
        return graphMedianUs(
            stream, [this] { match(); }, replays, 3, 20);
    }

    const Ptr<FragmentMatcher> matcher;
    cuda::Stream stream;
    const GpuMat frame;
    GpuMat areas, locations, scores, confidence;
};

#endif

class FragmentMatcher_Cuda : public perf::TestBaseWithParam<Case>
{
protected:
    void measure()
    {
        requireDevice();
#ifdef HAVE_CUDA
        const Case c = GetParam();
        const Input input(c);
        const Ptr<FragmentMatcher> matcher = makeMatcher(c, input);
        cuda::Stream stream;
        cuda::HostMem pinned(input.frame), hostAreas(Mat(input.areas, true));
        const int n = c.count, k = c.peaks;
        cuda::HostMem hostLocations(n, k, CV_32SC2), hostScores(n, k, CV_32FC1), hostConfidence(n, 1, CV_32FC1);
        GpuMat frame, areas, locations, scores, confidence;
        const auto upload = [&]
        {
            frame.upload(pinned, stream);
            areas.upload(hostAreas, stream);
            stream.waitForCompletion();
        };
        const auto match = [&]
        { matcher->match(frame, areas, locations, scores, confidence, noArray(), noArray(), stream); };
        const auto download = [&]
        {
            locations.download(hostLocations, stream);
            scores.download(hostScores, stream);
            confidence.download(hostConfidence, stream);
            stream.waitForCompletion();
        };
        upload(), match(), download();
        input.checkLocations(hostLocations.createMatHeader());
        const double kernelUs = graphMedianUs(stream, match);
        locations.setTo(Scalar::all(-7), stream);
        TEST_CYCLE()
        {
            match();
            stream.waitForCompletion();
        }
        download();
        input.checkLocations(hostLocations.createMatHeader());

        const double callUs = calcMetrics().median / getTickFrequency() * 1e6,
                     peerUs = cudaTemplateMatchingUs(c, input, frame);
        const std::string peer = peerName(c, "cuda::TemplateMatching");
        PerfRow(c.name, "cuda", "kernel", kernelUs)
            .set("lower_bound_us", c.lowerBoundUs)
            .set("positions", input.positions)
            .set("bytes", input.bytes)
            .peer(peer, peerUs);
        PerfRow(c.name, "cuda", "call", callUs).set("positions", input.positions).peer(peer, peerUs);
        // What the peer's time stands for: up to the results on the host.
        PerfRow(c.name, "cuda", "whole", medianUs([&] { match(), download(); }))
            .set("positions", input.positions)
            .peer(peer, peerUs);
        PerfRow(c.name, "cuda", "upload", medianUs(upload))
            .set("bytes", static_cast<double>(input.frame.total() * input.frame.elemSize() + 16. * n));
        PerfRow(c.name, "cuda", "download", medianUs(download)).set("bytes", (12. * k + 4) * n);
        SANITY_CHECK_NOTHING();
#endif
    }
};
typedef FragmentMatcher_Cuda FragmentMatcher_CudaPlots;

//! Natural images: the mean over fragments of several places, and the slowest place.
class FragmentMatcher_CudaImages : public perf::TestBaseWithParam<Case>
{
protected:
    void measure()
    {
        requireDevice();
#ifdef HAVE_CUDA
        const Case c = GetParam();
        const int places = c.count > 1 || c.content == NOISE ? 1 : 6, replays = c.count > 1 ? 2 : 10;
        double mean = 0, most = 0;
        for (int place = 0; place < places; ++place)
        {
            const Input input(c, 20260 + place);
            DeviceMatch device(c, input);
            const double us = device.medianUs(replays);
            input.checkLocations(Mat(device.locations));
            mean += us / places;
            most = std::max(most, us);
            if (place == places - 1)
                TEST_CYCLE_N(1) device.matchAndWait();
        }
        PerfRow(c.name, "cuda", "kernel", mean).set("most_us", most);
        SANITY_CHECK_NOTHING();
#endif
    }
};

typedef FragmentMatcher_CudaImages FragmentMatcher_CudaAreas;

PERF_TEST_P(FragmentMatcher_CudaImages, match, testing::ValuesIn(imageCases())) { measure(); }
PERF_TEST_P(FragmentMatcher_Cuda, match, testing::ValuesIn(CASES)) { measure(); }
PERF_TEST_P(FragmentMatcher_CudaAreas, match, testing::ValuesIn(areaCases())) { measure(); }
PERF_TEST_P(FragmentMatcher_CudaPlots, match, testing::ValuesIn(plotCases())) { measure(); }

// --- grid of sizes ---------------------------------------------------------------------------------------------------

#ifdef HAVE_CUDA

const std::vector<int> GRID_COUNTS = {1, 10, 100, 1000}, GRID_SIDES = {3, 8, 16, 24, 32, 48, 64, 96, 128},
                       GRID_REACHES = {4, 8, 16, 24, 48};

//! Time of match() for each count, side and reach of GRID_COUNTS, GRID_SIDES and GRID_REACHES, reach fastest.
std::vector<double> gridTimes(const Mat& frame, int metric)
{
    std::vector<double> times;
    cuda::Stream stream;
    const GpuMat deviceFrame(frame);
    for (const int count : GRID_COUNTS)
        for (const int side : GRID_SIDES)
            for (const int reach : GRID_REACHES)
            {
                const int area = side + 2 * reach;
                RNG rng(5);
                std::vector<Rect> regions, areas;
                for (int i = 0; i < count; ++i)
                {
                    areas.push_back(
                        Rect(uniform(rng, Point(), Point(frame.cols - area, frame.rows - area)), Size(area, area)));
                    regions.push_back(Rect(areas[i].tl() + Point(reach, reach), Size(side, side)));
                }
                FragmentMatcher::Params params;
                params.metric = metric;
                const Ptr<FragmentMatcher> matcher = FragmentMatcher::create(params);
                matcher->cutFragments(deviceFrame, regions, noArray(), stream);
                GpuMat locations, scores;
                times.push_back(graphMedianUs(
                    stream,
                    [&]
                    { matcher->match(deviceFrame, areas, locations, scores, noArray(), noArray(), noArray(), stream); },
                    4, 1, 5));
            }
    return times;
}

//! Prints the times of the grid, and returns the number of neighbours in it of which the one with more work takes less
//! time by more than a tenth, which it prints too.
int quickerWithMoreWork(const std::vector<double>& gridUs, const std::string& name)
{
    const int counts = static_cast<int>(GRID_COUNTS.size()), sides = static_cast<int>(GRID_SIDES.size()),
              reaches = static_cast<int>(GRID_REACHES.size());
    const auto timeOf = [&](int n, int s, int r)
    { return n < counts && s < sides && r < reaches ? gridUs[(n * sides + s) * reaches + r] : 0.; };
    const auto describe = [&](int n, int s, int r)
    {
        const int side = GRID_SIDES[s], area = side + 2 * GRID_REACHES[r];
        return cv::format("%d of %d x %d in %d x %d: %.1f us", GRID_COUNTS[n], side, side, area, area, timeOf(n, s, r));
    };
    int places = 0;
    for (int n = 0; n < counts; ++n)
        for (int s = 0; s < sides; ++s)
            for (int r = 0; r < reaches; ++r)
            {
                printf("%s, %s\n", name.c_str(), describe(n, s, r).c_str());
                for (const Vec3i& more : {Vec3i(n + 1, s, r), Vec3i(n, s + 1, r), Vec3i(n, s, r + 1)})
                {
                    const double us = timeOf(more[0], more[1], more[2]);
                    if (us <= 0 || timeOf(n, s, r) <= 1.1 * us)
                        continue;
                    ++places;
                    printf("%s: %s; %s\n", name.c_str(), describe(n, s, r).c_str(),
                           describe(more[0], more[1], more[2]).c_str());
                }
            }
    return places;
}

#endif

class FragmentMatcher_CudaGrid : public perf::TestBaseWithParam<tuple<int, int, bool>> // metric, type, natural images
{};

PERF_TEST_P(FragmentMatcher_CudaGrid, match,
            testing::Combine(testing::Values(FragmentMatcher::SAD, FragmentMatcher::SSD, FragmentMatcher::ZNCC),
                             testing::Values(CV_8UC1, CV_8UC3), testing::Bool()))
{
    requireDevice();
#ifdef HAVE_CUDA
    const char* const names[] = {"SAD", "SSD", "ZNCC"};
    const int metric = get<0>(GetParam()), type = get<1>(GetParam());
    const bool natural = get<2>(GetParam());
    const std::string name =
        std::string("grid_") + names[metric] + (type == CV_8UC1 ? "_gray" : "") + (natural ? "_natural" : "");
    RNG rng(20261);
    Mat frame(1080, 1920, type);
    rng.fill(frame, RNG::UNIFORM, 0, 256);
    blur(frame, frame, Size(5, 5));
    if (natural)
        frame = collage(frame.size(), type == CV_8UC1 ? IMREAD_GRAYSCALE : IMREAD_COLOR);
    std::vector<double> gridUs;
    declare.time(60);
    TEST_CYCLE_N(1) gridUs = gridTimes(frame, metric);
    double total = 0;
    for (const double us : gridUs)
        total += us;
    PerfRow(name, "cuda", "kernel", total).count("quicker_with_more_work", quickerWithMoreWork(gridUs, name));
    SANITY_CHECK_NOTHING();
#endif
}

}} // namespace opencv_test
