// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShift: tables at 1080p, several images, and the paper's three plots: time against resolution, sigma and tau.
// Lines with [ PERFROW ] go to scripts/perf_report.py; scripts/quick_shift_plots.sh draws those of the suites *Plots*.
#include "perf_precomp.hpp"
#include "../test/quick_shift/vlfeat.hpp"
#include "opencv2/imgcodecs.hpp"

namespace opencv_test { namespace {

using cuda::GpuMat;
using cuda::QuickShift;

struct Case
{
    std::string name;
    Size size;
    double sigma, maxDist, scale;
    bool vlfeat; //!< compared with VLFeat: 36 times the CPU engine's time, more at a large tau
    std::string image = "fruits";
    int depth = CV_8U, channels = 3;
};

const double PAPER = 32. / 255;
const Size FULL_HD(1920, 1080), SQUARE(512, 512);

Case bandsCase(int channels)
{
    return {format("bands_%d_1080p", channels), FULL_HD, 6, 10, PAPER, false, "fruits", CV_8U, channels};
}

const Case CASES[] = {
    {"paper_1080p", FULL_HD, 6, 10, PAPER, true},
    {"paper_1080p_scale1", FULL_HD, 6, 10, 1, false},
    {"small_1080p", FULL_HD, 2, 8, 0.5, true},
    {"small_1080p_scale1", FULL_HD, 2, 8, 1, false},
    {"tau_100_1080p_scale1", FULL_HD, 6, 100, 1, false},
    {"tau_200_1080p_scale1", FULL_HD, 6, 200, 1, false},
    bandsCase(8),
};

//! Cases of the plots. The name's part before _ is the quantity of the x axis, the number after it the value.
const Case PLOTS[] = {
    {"resolution_128", Size(128, 128), 6, 10, PAPER, true},
    {"resolution_256", Size(256, 256), 6, 10, PAPER, true},
    {"resolution_512", Size(512, 512), 6, 10, PAPER, true},
    {"resolution_768", Size(768, 768), 6, 10, PAPER, true},
    {"resolution_1024", Size(1024, 1024), 6, 10, PAPER, true},
    {"resolution_2048", Size(2048, 2048), 6, 10, PAPER, false},
    {"sigma_1", SQUARE, 1, 10, PAPER, true},
    {"sigma_2", SQUARE, 2, 10, PAPER, true},
    {"sigma_4", SQUARE, 4, 10, PAPER, true},
    {"sigma_6", SQUARE, 6, 10, PAPER, true},
    {"sigma_8", SQUARE, 8, 10, PAPER, true},
    {"sigma_10", SQUARE, 10, 10, PAPER, true},
    {"tau_5", SQUARE, 6, 5, PAPER, true},
    {"tau_10", SQUARE, 6, 10, PAPER, true},
    {"tau_20", SQUARE, 6, 20, PAPER, true},
    {"tau_50", SQUARE, 6, 50, PAPER, true},
    {"tau_100", SQUARE, 6, 100, PAPER, true},
    {"tau_150", SQUARE, 6, 150, PAPER, false},
    {"tau_200", SQUARE, 6, 200, PAPER, false},
};

//! Returns cases that differ in the image, in its size at a small sigma, and in float input.
std::vector<Case> imageCases()
{
    const Case settings[] = {
        {"paper", FULL_HD, 6, 10, PAPER, false},
        {"paper_scale1", FULL_HD, 6, 10, 1, false},
        {"small", FULL_HD, 2, 8, 0.5, false},
        {"small_scale1", FULL_HD, 2, 8, 1, false},
        {"tau_20_scale1", FULL_HD, 6, 20, 1, false},
        {"tau_100_paper", FULL_HD, 6, 100, PAPER, false},
        {"tau_200_paper", FULL_HD, 6, 200, PAPER, false},
        {"tau_100_scale1", FULL_HD, 6, 100, 1, false},
    };
    std::vector<Case> cases;
    for (Case c : settings)
        for (const char* name : {"fruits", "building", "lena", "baboon"})
        {
            cases.push_back(c);
            cases.back().image = name;
            cases.back().name = std::string(name) + "_" + c.name;
        }
    for (int side : {256, 512, 1024, 2048})
        cases.push_back({format("fruits_small_scale1_%d", side), Size(side, side), 2, 8, 1, false});
    for (int i : {0, 3})
    {
        cases.push_back(settings[i]);
        cases.back().depth = CV_32F;
        cases.back().name = "fruits_float_" + settings[i].name;
    }
    return cases;
}

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

//! Returns an image with more channels: its own, and smoothed ones.
Mat withBands(const Mat& image, int channels)
{
    std::vector<Mat> bands;
    for (double width = 1.; bands.size() < static_cast<size_t>(channels); width *= 2)
    {
        Mat smooth;
        std::vector<Mat> planes;
        GaussianBlur(image, smooth, Size(), width);
        split(width > 1. ? smooth : image, planes);
        bands.insert(bands.end(), planes.begin(), planes.end());
    }
    bands.resize(channels);
    Mat merged;
    merge(bands, merged);
    return merged;
}

//! Returns an image of OpenCV's samples, resized. A synthetic scene replaces a missing fruits.jpg; others are skipped.
Mat imageOf(const Case& c)
{
    const char* folder = std::getenv("CUDATRACKING_SAMPLES_DATA");
    Mat source = folder ? imread(std::string(folder) + "/" + c.image + ".jpg") : Mat(), image;
    if (source.empty() && c.image != "fruits")
        throw SkipTestException("no " + c.image + ".jpg in CUDATRACKING_SAMPLES_DATA");
    if (source.empty())
    {
        RNG rng(20260);
        source = Mat(480, 512, CV_8UC3, Scalar(90, 120, 140));
        for (int i = 0; i < 60; ++i)
        {
            const int red = rng.uniform(0, 256), green = rng.uniform(0, 256), blue = rng.uniform(0, 256);
            const int radius = rng.uniform(10, 60);
            circle(source, uniform(rng, Point(), Point(512, 480)), radius, Scalar(blue, green, red), FILLED);
        }
        Mat noise(source.size(), source.type());
        rng.fill(noise, RNG::NORMAL, Scalar::all(20), Scalar::all(10));
        cv::add(source, noise, source);
        GaussianBlur(source, source, Size(5, 5), 1.);
    }
    resize(source, image, c.size, 0, 0, INTER_CUBIC);
    image.convertTo(image, c.depth);
    return c.channels > 3 ? withBands(image, c.channels) : image;
}

//! Returns the number of pairs of the symmetric form: half of the window per pixel.
double pairsOf(const Case& c)
{
    const double side = 2 * std::ceil(3 * c.sigma) + 1;
    return (side * side - 1) / 2 * c.size.area();
}

//! Returns the lower bound of the density's time on an H200: 12.5 instructions per pair at 32.6e12 instructions per
//! second. Two of them are the distance of up to four 8-bit channels; more channels take two each.
[[maybe_unused]] double lowerBoundUs(const Case& c)
{
    const double instructions = c.channels > 4 ? 10.5 + 2 * c.channels : 12.5;
    return pairsOf(c) * instructions / 32.6e12 * 1e6;
}

//! Returns VLFeat's time in microseconds; 0 without VLFeat.
double vlfeatUs(const Mat& image, const Case& c)
{
    Mat features;
    image.convertTo(features, CV_64F, c.scale);
    VlfeatResult result;
    TickMeter meter;
    meter.start();
    const std::string problem = vlfeatQuickShift(features, c.sigma, c.maxDist, result);
    meter.stop();
    if (problem.empty())
        return meter.getTimeMicro();
    std::cout << "no peer: " << problem << std::endl;
    return 0;
}

class CpuTest : public perf::TestBaseWithParam<tuple<Case, int>> // case, threads (0: all)
{
protected:
    void measure()
    {
        const Case c = get<0>(GetParam());
        const Mat image = imageOf(c);
        const Threads threads(get<1>(GetParam()));
        const Ptr<QuickShift> q = QuickShift::create(c.sigma, c.maxDist, c.scale);
        declare.in(image).time(60);
        TEST_CYCLE_N(3) { q->compute(image); }
        ASSERT_GT(q->getNumberOfSuperpixels(), 0);
        PerfRow row(c.name, "cpu", "call", calcMetrics().median / getTickFrequency() * 1e6);
        row.set("pairs", pairsOf(c)).set("threads", getNumThreads());
        row.set("superpixels", q->getNumberOfSuperpixels());
        if (c.vlfeat && get<1>(GetParam()) == 1)
            row.peer("vlfeat", vlfeatUs(image, c));
        SANITY_CHECK_NOTHING();
    }
};

typedef CpuTest QuickShift_Cpu;
typedef CpuTest QuickShift_CpuPlots;

PERF_TEST_P(QuickShift_Cpu, compute, testing::Combine(testing::ValuesIn(CASES), testing::Values(1, 0))) { measure(); }
PERF_TEST_P(QuickShift_CpuPlots, compute, testing::Combine(testing::ValuesIn(PLOTS), testing::Values(1))) { measure(); }

class CudaTest : public perf::TestBaseWithParam<Case>
{
protected:
#ifdef HAVE_CUDA
    //! A case that is measured, its image on the device, and a QuickShift with its settings.
    struct Setup
    {
        const Case c;
        const Mat image = imageOf(c);
        const Ptr<QuickShift> q = QuickShift::create(c.sigma, c.maxDist, c.scale);
        cuda::Stream stream{};
        GpuMat input{image};
    };
#endif

    void measure([[maybe_unused]] bool kernelOnly = false)
    {
        requireDevice();
#ifdef HAVE_CUDA
        Setup s = {GetParam()};
        cuda::HostMem pinned(s.image), hostLabels(s.image.size(), CV_32S);
        GpuMat labels;
        const auto compute = [&] { s.q->compute(s.input, noArray(), s.stream), s.q->getLabels(labels, s.stream); };
        declare.in(s.image).time(5);
        TEST_CYCLE()
        {
            compute();
            s.stream.waitForCompletion();
        }
        const int superpixels = s.q->getNumberOfSuperpixels();
        ASSERT_GT(superpixels, 0);
        PerfRow(s.c.name, "cuda", "kernel", graphMedianUs(s.stream, compute))
            .set("pairs", pairsOf(s.c))
            .set("lower_bound_us", lowerBoundUs(s.c))
            .set("superpixels", superpixels);
        if (!kernelOnly)
        {
            const auto upload = [&] { s.input.upload(pinned, s.stream), s.stream.waitForCompletion(); };
            const auto download = [&] { labels.download(hostLabels, s.stream), s.stream.waitForCompletion(); };
            PerfRow(s.c.name, "cuda", "upload", medianUs(upload))
                .set("bytes", double(s.image.total() * s.image.elemSize()));
            PerfRow(s.c.name, "cuda", "download", medianUs(download))
                .set("bytes", double(s.image.total() * sizeof(int)));
            PerfRow(s.c.name, "cuda", "call", calcMetrics().median / getTickFrequency() * 1e6);
        }
#endif
        SANITY_CHECK_NOTHING();
    }

    //! Measures mean colours and statistics, with the bytes that image, labels and the painted image have.
    void measureMeans()
    {
        requireDevice();
#ifdef HAVE_CUDA
        Setup s = {GetParam()};
        GpuMat painted, areas, means, centroids, boxes;
        s.q->compute(s.input, noArray(), s.stream);
        const double painting = double(s.image.total() * s.image.elemSize());
        const double read = painting + double(s.image.total() * sizeof(int));
        declare.in(s.image).time(5);
        TEST_CYCLE() { s.q->getStatistics(s.input, areas, means, centroids, boxes, s.stream); }
        const int superpixels = s.q->getNumberOfSuperpixels();
        ASSERT_EQ(superpixels, areas.rows);
        PerfRow(s.c.name + "_means", "cuda", "kernel",
                graphMedianUs(s.stream, [&] { s.q->getMeanColor(s.input, painted, s.stream); }))
            .set("bytes", read + painting);
        PerfRow(s.c.name + "_statistics", "cuda", "call", calcMetrics().median / getTickFrequency() * 1e6)
            .set("bytes", read)
            .set("superpixels", superpixels);
#endif
        SANITY_CHECK_NOTHING();
    }
};

typedef CudaTest QuickShift_Cuda;
typedef CudaTest QuickShift_CudaPlots;
typedef CudaTest QuickShift_CudaImages;

PERF_TEST_P(QuickShift_Cuda, compute, testing::ValuesIn(CASES)) { measure(); }
PERF_TEST_P(QuickShift_Cuda, means, testing::Values(CASES[0], bandsCase(8), bandsCase(16))) { measureMeans(); }
PERF_TEST_P(QuickShift_CudaPlots, compute, testing::ValuesIn(PLOTS)) { measure(); }
PERF_TEST_P(QuickShift_CudaImages, compute, testing::ValuesIn(imageCases())) { measure(true); }

}} // namespace opencv_test
