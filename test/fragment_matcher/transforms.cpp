// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// SSD and ZNCC of large fragments by Fourier transforms on CUDA: the arithmetic of the transforms on the host, and the
// route on a device.
#include "scenes_cuda.hpp"
#include "plans.hpp"
#include "../common/graphs.hpp"
#ifdef CUDATRACKING_HAS_PLANS
#include "../../src/common/device.hpp"
#include "../../src/cuda/fragment_matcher/transforms/fft.hpp"
#include <complex>
#endif

namespace opencv_test { namespace {

#ifdef CUDATRACKING_HAS_PLANS

using namespace scenes;
namespace gpu = plans::gpu;
using gpu::Complex;

typedef std::complex<long double> Exact;

//! Returns the spectrum of a row, as the threads of a block compute it; lane 1 of two.
template <class Row> std::vector<Complex> spectrumOf(const std::vector<Complex>& row, const Complex* factors)
{
    std::vector<Complex> values(2 * Row::VALUES), spectrum(Row::LENGTH);
    for (int j = 0; j < Row::OUTER; ++j)
    {
        Complex x[Row::FIRST];
        for (int q = 0; q < Row::FIRST; ++q)
            x[q] = row[j + q * Row::OUTER];
        Row::template first<2>(x, j, factors, values.data() + 1);
    }
    for (int j = 0; j < Row::INNER; ++j)
        Row::template middle<2>(j, factors, values.data() + 1);
    for (int j = 0; j < Row::ENDS; ++j)
    {
        Complex x[Row::LAST];
        Row::template last<2>(x, j, values.data() + 1);
        std::copy(x, x + Row::LAST, spectrum.begin() + j * Row::LAST);
    }
    return spectrum;
}

//! Returns the row of a spectrum, times its length, with real and imaginary parts exchanged in both.
template <class Row> std::vector<Complex> rowOf(const std::vector<Complex>& spectrum, const Complex* factors)
{
    std::vector<Complex> values(Row::VALUES), row(Row::LENGTH);
    for (int j = 0; j < Row::ENDS; ++j)
    {
        Complex x[Row::LAST];
        std::copy_n(spectrum.begin() + j * Row::LAST, Row::LAST, x);
        Row::template lastBack<1>(x, j, values.data());
    }
    for (int j = 0; j < Row::INNER; ++j)
        Row::template middleBack<1>(j, factors, values.data());
    for (int j = 0; j < Row::OUTER; ++j)
    {
        Complex x[Row::FIRST];
        Row::template firstBack<1>(x, j, factors, values.data());
        for (int q = 0; q < Row::FIRST; ++q)
            row[j + q * Row::OUTER] = x[q];
    }
    return row;
}

//! Compares a spectrum with sums in extended precision.
template <class Row> void expectSpectrum(const std::vector<Complex>& row, const std::vector<Complex>& spectrum)
{
    const int n = Row::LENGTH;
    std::vector<Exact> turns(n);
    for (int k = 0; k < n; ++k)
        turns[k] = std::polar(1.L, -2 * std::acos(-1.L) * k / n);
    long double norm = 0, error = 0;
    for (const Complex& x : row)
        norm += std::norm(Exact(x.re, x.im));
    for (int place = 0; place < n; ++place)
    {
        const int first = place / Row::OUTER, middle = place % Row::OUTER / Row::LAST, last = place % Row::LAST;
        const int k = first + Row::FIRST * (middle + Row::MIDDLE * last);
        Exact sum = 0;
        for (int i = 0; i < n; ++i)
            sum += Exact(row[i].re, row[i].im) * turns[static_cast<int64>(i) * k % n];
        error += std::norm(sum - Exact(spectrum[place].re, spectrum[place].im));
    }
    // The bound of transforms/rows.cu, for the whole spectrum: its norm is sqrt(n) times that of the row.
    EXPECT_LE(std::sqrt(error), 8 * std::pow(2.L, -53) * std::log2(n) * std::sqrt(n * norm)) << n << " values";
}

//! Checks spectra, and products of spectra back to correlations, of noise and of the largest bytes. @param factors of
//! Row.
template <class Row> void expectCorrelations(RNG& rng, const Complex* factors)
{
    const int length = Row::LENGTH;
    for (const int least : {0, 255})
    {
        std::vector<Complex> image(length), templ(length, Complex{0, 0});
        const int width = rng.uniform(16, length / 2);
        for (Complex& x : image)
            x = {double(rng.uniform(least, 256)), double(rng.uniform(least, 256))};
        for (int i = 0; i < width; ++i)
            templ[i].re = rng.uniform(least, 256);
        std::vector<Complex> spectrum = spectrumOf<Row>(image, factors);
        expectSpectrum<Row>(image, spectrum);
        const std::vector<Complex> of = spectrumOf<Row>(templ, factors);
        for (int k = 0; k < length; ++k)
            spectrum[k] = gpu::exchanged(gpu::addProduct({0, 0}, spectrum[k], of[k]));
        const std::vector<Complex> sums = rowOf<Row>(spectrum, factors);
        for (int x = 0; x < length; ++x)
        {
            int64 left = 0, right = 0;
            for (int i = 0; i < width; ++i)
            {
                left += int64(image[(x + i) % length].re) * int64(templ[i].re);
                right += int64(image[(x + i) % length].im) * int64(templ[i].re);
            }
            ASSERT_EQ(left, std::llrint(sums[x].im / length)) << length << " values, " << x;
            ASSERT_EQ(right, std::llrint(sums[x].re / length)) << length << " values, " << x;
        }
    }
}

//! Every length of rows and of columns.
TEST(FragmentMatcher_Transforms, arithmetic)
{
    RNG rng(0x3C7A5D19);
    for (const int length : gpu::TRANSFORM_LENGTHS)
    {
        const std::vector<Complex> factors = gpu::factorsOf(length, length);
        size_t ofRows = 0;
        const auto rows = [&](auto stages)
        {
            ofRows = stages.FACTORS;
            expectCorrelations<decltype(stages)>(rng, factors.data());
        };
        const auto columns = [&](auto stages)
        {
            ASSERT_EQ(ofRows + stages.FACTORS, factors.size());
            expectCorrelations<decltype(stages)>(rng, factors.data() + ofRows);
        };
        EXPECT_TRUE(gpu::forRow(length, rows)) << length;
        EXPECT_TRUE(gpu::forColumn(length, columns)) << length;
    }
    EXPECT_FALSE(gpu::forRow(1000, [](auto) {}));
}

//! A scene of `count` fragments of one size. @param areas empty: the whole frame.
Scene sceneOf(RNG& rng, int metric, int type, Size frame, Size size, int count)
{
    Scene scene;
    scene.params = makeParams(metric, 3, FM::SQUARE, 5, FM::FULL, true);
    scene.frame = structuredImage(rng, frame, type, 3.);
    for (int i = 0; i < count; ++i)
    {
        const Point at = uniform(rng, Point(), Point(frame.width - size.width + 1, frame.height - size.height + 1));
        Mat templ = scene.frame(Rect(at, size)).clone();
        if (i % 2)
            templ += Scalar::all(3);
        scene.templates.push_back(templ);
    }
    return scene;
}

//! Skips devices on which the scene takes another route.
void requireTransforms(const Scene& scene)
{
    requireCuda();
    plans::MatchCall call(scene, cuda::detail::sharedBytesOfBlock(), cuda::detail::multiprocessors());
    call.given.fastDoubles = cuda::detail::fastDoubles();
    if (!call.given.fastDoubles)
        throw SkipTestException("double precision is slow on this device");
    const plans::Routes routes = plans::routesOf(call);
    ASSERT_TRUE(routes.count("TRANSFORMS SSD") || routes.count("TRANSFORMS ZNCC")) << call.describe();
}

using FragmentMatcher_CudaTransforms = NeedsCuda<OfCombination>;

//! Frames and fragments of several sizes, odd ones as well.
TEST_P(FragmentMatcher_CudaTransforms, wholeFrames)
{
    RNG rng = numbersOf(0x7D2E91F3u);
    const struct
    {
        Size frame, size;
        int count;
    } cases[] = {{Size(1920, 1080), Size(128, 128), 1},
                 {Size(1920, 1080), Size(232, 231), 1},
                 {Size(1281, 719), Size(201, 163), 1},
                 {Size(997, 1153), Size(151, 222), 2}};
    for (const auto& of : cases)
    {
        const Scene scene = sceneOf(rng, metric, type, of.frame, of.size, of.count);
        requireTransforms(scene);
        if (!expectEnginesAgree(scene))
            return;
    }
}

//! Fragments of several sizes in areas that begin anywhere.
TEST_P(FragmentMatcher_CudaTransforms, areas)
{
    RNG rng = numbersOf(0x19A7C4E5u);
    Scene scene = sceneOf(rng, metric, type, Size(1307, 901), Size(190, 200), 1);
    scene.templates.push_back(scene.frame(Rect(401, 333, 201, 187)).clone());
    scene.areas = {Rect(37, 41, 1203, 822), Rect(70, 11, 1213, 831)};
    requireTransforms(scene);
    expectEnginesAgree(scene);
    scene.areas[1] = Rect(1300, 890, 40, 40); // no position
    expectEnginesAgree(scene);
}

//! The largest sums: all bytes are 255, or two values in checks.
TEST_P(FragmentMatcher_CudaTransforms, extremes)
{
    RNG rng = numbersOf(0x5B8E37D1u);
    Scene scene = sceneOf(rng, metric, type, Size(1920, 1080), Size(231, 232), 1);
    requireTransforms(scene);
    scene.frame.setTo(Scalar::all(255));
    scene.templates[0].setTo(Scalar::all(255));
    expectEnginesAgree(scene);
    for (int y = 0; y < scene.frame.rows; ++y)
        for (int x = (y & 1); x < scene.frame.cols; x += 2)
            std::fill_n(scene.frame.ptr(y, x), scene.frame.elemSize(), uchar(0));
    scene.templates[0] = scene.frame(Rect(100, 101, 231, 232)).clone();
    expectEnginesAgree(scene);
}

//! A graph, replayed on another frame in the same memory.
TEST_P(FragmentMatcher_CudaTransforms, replay)
{
    RNG rng = numbersOf(0x2F6B1C8Du);
    Scene scene = sceneOf(rng, metric, type, Size(1283, 800), Size(180, 190), 1);
    requireTransforms(scene);
    const Ptr<FM> matcher = matcherOnDevice(scene);
    GpuMat frame(scene.frame);
    DeviceResult result;
    result.create(1, scene.params.peaks);
    cuda::Stream stream;
    launch(*matcher, frame, noArray(), result, stream);
    stream.waitForCompletion();
    Graph graph(stream);
    launch(*matcher, frame, noArray(), result, stream);
    graph.end();
    for (int n = 0; n < 3; ++n)
    {
        scene.frame = structuredImage(rng, scene.frame.size(), type, 3.);
        frame.upload(scene.frame);
        graph.launch();
        stream.waitForCompletion();
        expectSame(runCpu(scene), result.download());
    }
}

INSTANTIATE_TEST_CASE_P(/**/, FragmentMatcher_CudaTransforms,
                        testing::Combine(testing::Values<int>(FM::SSD, FM::ZNCC), testing::Values<int>(NO_WEIGHTS),
                                         testing::Values<int>(CV_8UC1, CV_8UC3, CV_8UC4)));

#else

TEST(FragmentMatcher_Transforms, arithmetic) { plans::require(); }

#endif

}} // namespace opencv_test
