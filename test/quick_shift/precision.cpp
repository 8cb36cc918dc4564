// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Precision of QuickShift's density and distances in difficult cases: channels of different scales far from 0, wide
// windows, very small weights. Also checks the parts of the header's error bound.
#include "../../src/cpu/quick_shift/weights.hpp"
#include "../common/graphs.hpp"
#include "against_oracle.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using QuickShift_Cuda = OnCuda;

//! Returns the header's bound per pixel: 2e-5 of the density plus 2^-24 per other pixel of the window.
void expectWithinBound(const Mat& density, const Mat& truth, const QuickShiftOptions& o, const std::string& what)
{
    const int R = static_cast<int>(std::ceil(3 * o.sigma));
    for (int y = 0; y < truth.rows; ++y)
        for (int x = 0; x < truth.cols; ++x)
        {
            const int w = std::min(x + R, truth.cols - 1) - std::max(x - R, 0) + 1;
            const int h = std::min(y + R, truth.rows - 1) - std::max(y - R, 0) + 1;
            const double wanted = truth.at<double>(y, x);
            ASSERT_NEAR(wanted, density.at<float>(y, x), 2e-5 * wanted + std::ldexp(w * h - 1., -24))
                << what << ", (" << x << ", " << y << ")";
        }
}

//! Checks density, distances and parents. @param error largest relative error of a density.
void expectExact(const Mat& image, const QuickShiftOptions& o, double error, double parentShare,
                 const std::string& what)
{
    SCOPED_TRACE(what);
    const QuickShiftResult truth = oracle::quickShift(image, o);
    const Ptr<QuickShift> q = make(o);
    const Results r = computed(*q, image);
    expectWithinBound(r.density, truth.density, o, what);
    EXPECT_LE(oracle::densityError(r.density, truth.density, 0.), error);
    EXPECT_GE(oracle::sameParents(r.parents, truth.parents), parentShare);
    expectDistances(truth, r, 1e-6);
}

//! Scaled values are far larger than the differences that matter. Channels of different scales have kernels of their
//! own.
TEST(QuickShift_Precision, channelsOfDifferentScales)
{
    RNG rng(551);
    QuickShiftOptions o(3., 9., 1.);
    o.scales = {2.3, 0.01, 0.7, 1.9};
    for (int channels = 1; channels <= 4; ++channels)
    {
        Mat words(46, 60, CV_MAKETYPE(CV_16U, channels)), floats(46, 60, CV_MAKETYPE(CV_32F, channels));
        rng.fill(words, RNG::UNIFORM, 64000, 64006);
        rng.fill(floats, RNG::NORMAL, 1e6, 2.);
        expectExact(words, o, 5e-6, 0.995, cv::format("16 bit, %d channels", channels));
        expectExact(floats, o, 5e-6, 0.995, cv::format("float, %d channels", channels));
    }
}

//! Squared distances of 8-bit images at a scale of 1 are integers, and distances are their square roots, rounded once.
TEST(QuickShift_Precision, distancesOfBytes)
{
    RNG rng(557);
    for (int channels = 1; channels <= 4; ++channels)
    {
        const Mat image = randomImage(rng, Size(70, 50), CV_MAKETYPE(CV_8U, channels), 1); // noise: far in colour
        const Ptr<QuickShift> q = QuickShift::create(5., 900., 1.);
        const Results r = computed(*q, image);
        int links = 0;
        for (int i = 0; i < static_cast<int>(image.total()); ++i)
        {
            const int parent = r.parents.at<int>(i / 70, i % 70), dx = parent % 70 - i % 70, dy = parent / 70 - i / 70;
            if (parent == i)
                continue;
            int squared = dx * dx + dy * dy;
            for (int k = 0; k < channels; ++k)
            {
                const int d = image.data[i * channels + k] - image.data[parent * channels + k];
                squared += d * d;
            }
            ASSERT_EQ(std::sqrt(static_cast<float>(squared)), r.distances.at<float>(i / 70, i % 70)) << i;
            ++links;
        }
        EXPECT_GT(links, 3000);
    }
}

//! Scales lie outside of the range that goes into weights alone; some channels do not count at all.
TEST(QuickShift_Precision, scalesOfAnySize)
{
    const Mat bytes = randomImage(552, Size(50, 40), CV_8UC3, 4);
    Mat floats;
    for (const double scale : {3e-6, 1e-4, 3000., 7e6})
    {
        bytes.convertTo(floats, CV_32F, 0.1 / scale);
        expectExact(floats, QuickShiftOptions(2., 8., scale), 5e-6, 0.997, cv::format("scale %g", scale));
        QuickShiftOptions o(2., 8., scale);
        o.scales = {0., scale, 1e-40, 0.};
        expectExact(floats, o, 5e-6, 0.99, cv::format("one channel of scale %g", scale));
        o.scales = {scale, 0., scale / 3., 0.};
        expectExact(floats, o, 5e-6, 0.99, cv::format("scales %g and a third", scale));
    }
}

//! Colours have so small a weight, and differ so much, that all bits of the weight are needed.
TEST(QuickShift_Precision, smallScaleOf16Bits)
{
    Mat image;
    randomImage(553, Size(57, 41), CV_8UC3, 3).convertTo(image, CV_16U, 257.);
    expectExact(image, QuickShiftOptions(56., 60., 0.0013), 1e-5, 0.99, "16 bit");
    image.convertTo(image, CV_32F);
    expectExact(image, QuickShiftOptions(56., 60., 0.0013), 1e-5, 0.99, "float");
}

//! A pixel is so far from all others that each weight is below one unit, while their sum is not.
TEST(QuickShift_Precision, vanishingWeights)
{
    for (const Vec2d& c : {Vec2d(8., 46.), Vec2d(20., 115.), Vec2d(40., 231.)})
    {
        const QuickShiftOptions o(c[0], 5., 1.);
        Mat image(121, 121, CV_8U, Scalar(0));
        image.at<uchar>(60, 60) = static_cast<uchar>(c[1]);
        Mat density, truth(image.size(), CV_64F);
        const Ptr<QuickShift> q = make(o);
        q->compute(image);
        q->getDensity(density);
        const oracle::QuickShiftPoints points(image, o);
        const Rect part(56, 56, 9, 9);
        for (int y = part.y; y < part.br().y; ++y)
            for (int x = part.x; x < part.br().x; ++x)
            {
                const double wanted = oracle::densityAt(points, x, y);
                const double pixels = std::pow(std::min(2 * std::ceil(3 * c[0]) + 1, 121.), 2);
                ASSERT_NEAR(wanted, density.at<float>(y, x), 2e-5 * wanted + std::ldexp(pixels, -24)) << c;
            }
    }
}

//! The parts of the header's bound hold: a weight differs from exp() of its distance by at most 2^-24 plus 5e-6 of
//! itself.
TEST(QuickShift_Precision, weights)
{
    using namespace cuda::quick_shift;
    RNG rng(554);
    double worst = 0.;
    for (int i = 0; i < 3000000; ++i)
    {
        const float spatial = static_cast<float>(std::exp(-rng.uniform(0., 12.)));
        const float rate = densityRate(std::exp(rng.uniform(-12., 4.)), 1., i % 2 != 0);
        const float dc = static_cast<float>(rng.uniform(0., 14.) / rate);
        const double truth = spatial * std::exp2(-2. * static_cast<double>(dc) * rate);
        const double got = (weightBits(dc, -rate, spatial) - WEIGHT_BIAS) / 8388608.;
        worst = std::max(worst, (std::abs(got - truth) - std::ldexp(1., -24)) / truth);
    }
    EXPECT_LE(worst, 5e-6);
    EXPECT_EQ(ONE_WEIGHT, weightBits(0.f, -1.f, 1.f) - WEIGHT_BIAS);
}

//! Vectors of the instruction set that all processors have give the weights of core.hpp: for each colour part that
//! there is with several spatial factors, and for any distances and rates.
TEST(QuickShift_Precision, vectorsOfWeights)
{
    using namespace cuda::quick_shift;
    const int LANES = VTraits<v_float32>::max_nlanes;
    RNG rng(559);
    float dc[LANES];
    uint32_t weights[LANES];
    const auto expectWeights = [&](float minusRate, float spatial)
    {
        v_store(weights, cpu_baseline::PairWeights(minusRate, spatial)(vx_load(dc)));
        for (int i = 0; i < LANES; ++i)
            ASSERT_EQ(weightBits(dc[i], minusRate, spatial) - WEIGHT_BIAS, weights[i])
                << cv::format("dc %a, rate %a, spatial %a", dc[i], minusRate, spatial);
    };
    for (int q = 0; q < (1 << 23) + LANES && !HasFatalFailure(); q += LANES) // y = 32 - q / 2^19
    {
        for (int i = 0; i < LANES; ++i)
            dc[i] = static_cast<float>(q + i);
        expectWeights(-0x1p-19f, q / LANES % 2 ? 1.f : static_cast<float>(std::exp(-rng.uniform(0., 12.))));
    }
    for (int n = 0; n < 1000000 && !HasFatalFailure(); ++n)
    {
        const float rate = densityRate(std::exp(rng.uniform(-12., 4.)), 1., n % 2 != 0);
        for (float& d : dc)
            d = n % 8 == 0 ? bitsFloat(rng.next() & 0x7f7fffffu) : static_cast<float>(rng.uniform(0., 17.) / rate);
        expectWeights(-rate, bitsFloat(static_cast<uint32_t>(rng.uniform(0x33000000, 0x3f800001))));
    }
}

//! Vectors add products as core.hpp does, for any floats and for sums next to ties.
TEST(QuickShift_Precision, vectorsOfMultiplyAdd)
{
    using namespace cuda::quick_shift;
    const int LANES = VTraits<v_float32>::max_nlanes;
    RNG rng(560);
    float a[LANES], b[LANES], c[LANES], sums[LANES];
    const auto mantissa = [&] { return bitsFloat(0x3f800000u | (rng.next() & 0x7fffffu)); };
    for (int n = 0; n < 1000000; ++n)
    {
        const float scale = bitsFloat(static_cast<uint32_t>(127 + rng.uniform(-60, 61)) << 23);
        for (int i = 0; i < LANES; ++i)
        {
            const float x = static_cast<float>(rng.uniform(0, 9)) * 0x1p-23f, sign = i % 2 ? -1.f : 1.f;
            const bool tiny = n % 4 == 3;
            a[i] = n % 4 == 0 ? bitsFloat(rng.next()) : n % 4 == 1 ? mantissa() : (1.f + x) * (tiny ? 0x1p-75f : scale);
            b[i] = n % 4 == 0   ? bitsFloat(rng.next())
                   : n % 4 == 1 ? mantissa()
                                : (1.f - x) * (tiny ? 0x1p-75f : 0x1p-24f);
            c[i] = n % 4 == 0 ? bitsFloat(rng.next()) : sign * mantissa() * (tiny ? 0x1p-130f : scale);
        }
        v_store(sums, cpu_baseline::multiplyAdd(vx_load(a), vx_load(b), vx_load(c)));
        for (int i = 0; i < LANES; ++i)
        {
            const float wanted = oracle::fusedMultiplyAdd(a[i], b[i], c[i]);
            ASSERT_TRUE(floatBits(wanted) == floatBits(sums[i]) || (cvIsNaN(wanted) && cvIsNaN(sums[i])))
                << cv::format("%a * %a + %a: %a, not %a", a[i], b[i], c[i], wanted, sums[i]);
        }
    }
}

//! Errors cancel in photographs, so that densities are better than the bound.
TEST(QuickShift_Precision, photographs)
{
    const std::string folder = requireFolder("CUDATRACKING_SAMPLES_DATA");
    RNG rng(556);
    double worst = 0.;
    for (const char* name : {"fruits.jpg", "baboon.jpg", "lena.jpg", "home.jpg", "building.jpg", "aloeL.jpg",
                             "graf1.png", "messi5.jpg", "butterfly.jpg", "rubberwhale1.png"})
    {
        const Mat photograph = requireImage(folder, name);
        const Mat image = photograph(Rect(photograph.cols / 2 - 90, photograph.rows / 2 - 70, 180, 140));
        for (const double sigma : {1., 2., 3., 6., 9.})
            for (const double scale : {32. / 255, 0.5, 1., 4.})
            {
                const QuickShiftOptions o(sigma, 5., scale);
                const oracle::QuickShiftPoints points(image, o);
                const Ptr<QuickShift> q = make(o);
                Mat density;
                q->compute(image);
                q->getDensity(density);
                double error = 0.;
                for (int i = 0; i < 100; ++i)
                {
                    const Point p = uniform(rng, Point(), Point(image.cols, image.rows));
                    const double wanted = oracle::densityAt(points, p.x, p.y);
                    error = std::max(error, std::abs(density.at<float>(p) - wanted) / wanted);
                }
                EXPECT_LE(error, 1e-5) << name << ", sigma " << sigma << ", scale " << scale;
                worst = std::max(worst, error);
            }
    }
    std::cout << "largest relative error of a density: " << worst << std::endl;
}

//! CUDA gives the CPU's results for words, integers and floats with different scales.
TEST_F(QuickShift_Cuda, scalesOfAnySize)
{
    RNG rng(555);
    const Scalar all[] = {Scalar::all(0.),          Scalar::all(1e-40),        Scalar::all(3e-6),
                          Scalar::all(0.0013),      Scalar::all(2000.),        Scalar::all(1e9),
                          Scalar(2., 1., 4., 0.5),  Scalar(2.3, 0.01, 0.7, 2), Scalar(0., 0.3, 1e-9, 1e5),
                          Scalar(1e9, 1e-9, 0., 0.)};
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (int channels = 1; channels <= 4; ++channels)
            for (const Scalar& scales : all)
            {
                Mat image;
                randomImage(rng, Size(75, 61), CV_MAKETYPE(CV_8U, channels), 4)
                    .convertTo(image, depth, depth == CV_16U ? 257. : 1., depth == CV_32F ? 1e6 : 0.);
                const Ptr<QuickShift> q = QuickShift::create(2.3, 15., 1.);
                q->setChannelScales(scales);
                const Results cpu = computed(*q, image);
                q->compute(cuda::GpuMat(image));
                SCOPED_TRACE(cv::format("%s, scales %g %g %g %g", typeToString(image.type()).c_str(), scales[0],
                                        scales[1], scales[2], scales[3]));
                expectSame(cpu, resultsOf(*q));
            }
}

}} // namespace opencv_test
