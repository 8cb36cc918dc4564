// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The correlation filter: its steps against sums in double that share no code with it, and trackers that use it.
// The steps of one filter share what computes them in double.
#include "scenes.hpp"
#include "../../src/cpu/tld/filter.hpp"
#include <complex>

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld;
typedef std::complex<double> Complexd;

// --- transforms ------------------------------------------------------------------------------------------------------

//! Transforms values by the definition. @param sign -1: forward.
std::vector<Complexd> naiveDft(const std::vector<Complexd>& values, int sign = -1)
{
    const size_t n = values.size();
    std::vector<Complexd> out(n);
    for (size_t f = 0; f < n; ++f)
        for (size_t i = 0; i < n; ++i)
            out[f] += values[i] * std::polar(1., sign * 2. * CV_PI * static_cast<double>(f * i % n) / n);
    return out;
}

//! Transforms random values by stages and compares them with the definition.
template <int N, typename Stages> void checkStages(Stages)
{
    RNG rng(N);
    float cosine[N], sine[N];
    std::vector<Complexd> values(N), other(N);
    for (int i = 0; i < N; ++i)
    {
        cosine[i] = static_cast<float>(core::cosineOf(i, N));
        sine[i] = static_cast<float>(core::sineOf(i, N));
        EXPECT_NEAR(std::cos(2. * CV_PI * i / N), core::cosineOf(i, N), 1e-14);
        EXPECT_NEAR(std::sin(2. * CV_PI * i / N), core::sineOf(i, N), 1e-14);
        values[i].real(rng.uniform(-1., 1.));
        values[i].imag(rng.uniform(-1., 1.));
    }
    const std::vector<Complexd> expected = naiveDft(values);
    Stages::run(
        [&](auto radix, auto stride)
        {
            const int R = decltype(radix)::value;
            for (int n = 0; n < N / R; ++n)
                core::runButterfly(
                    core::FftButterfly<N, R, decltype(stride)::value>(n), cosine, sine,
                    [&](int k, float& re, float& im)
                    {
                        re = static_cast<float>(values[k].real());
                        im = static_cast<float>(values[k].imag());
                    },
                    [&](int k, float re, float im) { other[k] = Complexd(re, im); });
            values.swap(other);
        });
    for (int f = 0; f < N; ++f)
        EXPECT_NEAR(0., std::abs(expected[f] - values[f]), 1e-5) << f << " of " << N;
}

TEST(Tld_Filter, transformsOfAllRadices)
{
    checkStages<32>(core::FftStages<32, 4, 4, 2>());
    checkStages<40>(core::FftStages<40, 5, 4, 2>());
    checkStages<36>(core::FftStages<36, 3, 4, 3>());
    checkStages<30>(core::FftStages<30, 2, 3, 5>());
}

TEST(Tld_Filter, exponential)
{
    for (double x = 0.; x < 70.; x += 0.37)
        EXPECT_NEAR(std::exp(-x), core::expNegative(x), 1e-11) << x;
}

// --- features --------------------------------------------------------------------------------------------------------

//! Returns the mean of an image over a rectangle, whose outer pixels go on outside.
double meanOver(const Mat& gray, double left, double top, double right, double bottom)
{
    double sum = 0.;
    for (int y = cvFloor(top); y < bottom; ++y)
        for (int x = cvFloor(left); x < right; ++x)
        {
            const double w = std::min<double>(right, x + 1) - std::max<double>(left, x);
            const double h = std::min<double>(bottom, y + 1) - std::max<double>(top, y);
            sum += w * h *
                   gray.at<uchar>(std::min(std::max(y, 0), gray.rows - 1), std::min(std::max(x, 0), gray.cols - 1));
        }
    return sum / ((right - left) * (bottom - top));
}

//! A rectangle of an image, and how many samples it has.
struct Sampled
{
    Rect2d rect;
    Size samples;
    bool texture;
};

//! Features of cells by the definition of HOG.
struct NaiveFeatures
{
    std::vector<std::vector<double>> histograms; //!< 18 per cell, units of the module
    std::vector<std::vector<double>> channels;

    //! @param samples whole cells.
    NaiveFeatures(const Mat& samples, bool texture) : cols(samples.cols / 4), rows(samples.rows / 4)
    {
        histograms.assign(static_cast<size_t>(cols) * rows, std::vector<double>(18, 0.));
        for (int y = 0; y < 4 * rows; ++y)
            for (int x = 0; x < 4 * cols; ++x)
                addGradient(samples, x, y);
        channels.assign(texture ? 31 : 28, std::vector<double>(histograms.size(), 0.));
        for (int v = 0; v < rows; ++v)
            for (int u = 0; u < cols; ++u)
            {
                addChannels(u, v, texture);
                if (!texture)
                    channels[27][static_cast<size_t>(v) * cols + u] =
                        cv::mean(samples(Rect(4 * u, 4 * v, 4, 4)))[0] / 255. - 0.5;
            }
    }

private:
    static int at(const Mat& samples, int y, int x)
    {
        return samples.at<uchar>(std::min(std::max(y, 0), samples.rows - 1),
                                 std::min(std::max(x, 0), samples.cols - 1));
    }
    void addGradient(const Mat& samples, int x, int y)
    {
        const int dx = at(samples, y, x + 1) - at(samples, y, x - 1),
                  dy = at(samples, y + 1, x) - at(samples, y - 1, x);
        int best = 0;
        int64 most = -1;
        for (int k = 0; k < 18; ++k) // 0, 9, 1, 10 and so on: of equal ones the first
        {
            const int o = k / 2 + k % 2 * 9;
            const int64 product = static_cast<int64>(cvRound(4096. * std::cos(o * CV_PI / 9.))) * dx +
                                  static_cast<int64>(cvRound(4096. * std::sin(o * CV_PI / 9.))) * dy;
            if (product > most)
            {
                most = product;
                best = o;
            }
        }
        const double magnitude = std::floor(16.f * std::sqrt(static_cast<float>(dx * dx + dy * dy)));
        const double cx = (x + 0.5) / 4. - 0.5, cy = (y + 0.5) / 4. - 0.5;
        for (int j = 0; j < 2; ++j)
            for (int i = 0; i < 2; ++i)
            {
                const int u = cvFloor(cx) + i, v = cvFloor(cy) + j;
                if (u >= 0 && u < cols && v >= 0 && v < rows)
                    histograms[static_cast<size_t>(v) * cols + u][best] +=
                        magnitude * 64. * (1. - std::abs(cx - u)) * (1. - std::abs(cy - v));
            }
    }
    double energy(int v, int u) const
    {
        const int y = std::min(std::max(v, 0), rows - 1), x = std::min(std::max(u, 0), cols - 1);
        const std::vector<double>& h = histograms[static_cast<size_t>(y) * cols + x];
        double sum = 0.;
        for (int o = 0; o < 9; ++o)
            sum += (h[o] + h[o + 9]) * (h[o] + h[o + 9]);
        return sum;
    }
    void addChannels(int u, int v, bool texture)
    {
        const size_t cell = static_cast<size_t>(v) * cols + u;
        const std::vector<double>& h = histograms[cell];
        for (int q = 0; q < 4; ++q)
        {
            const int y = v - 1 + q / 2, x = u - 1 + q % 2;
            const double n =
                1. / std::sqrt(energy(y, x) + energy(y, x + 1) + energy(y + 1, x) + energy(y + 1, x + 1) + 105.);
            for (int o = 0; o < 18; ++o)
            {
                channels[o][cell] += 0.5 * std::min(0.2, h[o] * n);
                if (texture)
                    channels[27 + q][cell] += 0.2357 * std::min(0.2, h[o] * n);
            }
            for (int o = 0; o < 9; ++o)
                channels[18 + o][cell] += 0.5 * std::min(0.2, (h[o] + h[o + 9]) * n);
        }
    }

    int cols, rows; //!< cells
};

core::ImageView viewOf(const Mat& gray)
{
    return {gray.data, gray.step, gray.cols, gray.rows, cv::cuda::detail::DEPTH_8U, 1};
}

//! The orientation is that of the largest product; of equal ones the first, in the order 0, 9, 1, 10 and so on.
TEST(Tld_Filter, orientations)
{
    const int n = core::ORIENTATIONS;
    for (int dy = -255; dy <= 255; ++dy)
        for (int dx = -255; dx <= 255; ++dx)
        {
            int best = -1, orientation = 0;
            for (int k = 0; k < 2 * n; ++k)
            {
                const int o = k / 2 + k % 2 * n, sign = k % 2 ? -1 : 1;
                const int product = sign * (core::directionOf(k / 2, 0) * dx + core::directionOf(k / 2, 1) * dy);
                orientation = product > best ? o : orientation;
                best = std::max(best, product);
            }
            ASSERT_EQ(orientation, core::gradientOf(dx, dy).orientation) << dx << ", " << dy;
        }
}

TEST(Tld_Filter, features)
{
    const Mat gray = texture(4, Size(150, 110), CV_8UC1, 3);
    const Sampled cases[] = {{Rect2d(20, 10, 90, 70), Size(128, 128), false},     // closer than pixels
                             {Rect2d(-40, -30, 250, 200), Size(128, 128), false}, // wider, and beyond the image
                             {Rect2d(30.3, 20.7, 128.5, 40.2), Size(128, 128), false},
                             {Rect2d(25.2, 31.8, 33.3, 51.9), Size(16, 28), true},
                             {Rect2d(100.1, 60.6, 61.7, 23.4), Size(64, 8), true}};
    for (const Sampled& c : cases)
    {
        SCOPED_TRACE(testing::Message() << c.rect);
        const core::SamplePlan plan =
            core::planSamples(c.rect.x, c.rect.y, c.rect.width, c.rect.height, c.samples.width, c.samples.height);
        const int cells = c.samples.area() / 16, channels = c.texture ? 31 : 28;
        core::cpu::FeatureScratch scratch;
        std::vector<float> out(static_cast<size_t>(channels) * cells);
        core::cpu::cellFeatures(viewOf(gray), plan, c.texture, scratch, out.data(), cells);
        const Mat samples(c.samples, CV_8UC1, scratch.samples + 1, core::cpu::SAMPLE_STEP);
        for (int j = 0; j < samples.rows; ++j)
            for (int i = 0; i < samples.cols; ++i)
            {
                const double x = plan.left(i) / 256., y = plan.top(j) / 256.;
                const double w = plan.halfX / 128., h = plan.halfY / 128.;
                ASSERT_NEAR(std::max(1., c.rect.width / samples.cols), w, 0.01);
                ASSERT_NEAR(std::max(1., c.rect.height / samples.rows), h, 0.01);
                ASSERT_NEAR(meanOver(gray, x, y, x + w, y + h), samples.at<uchar>(j, i), 0.5 + 1e-9);
                ASSERT_NEAR(c.rect.x + (i + 0.5) * c.rect.width / samples.cols, x + w / 2., 0.01);
                ASSERT_NEAR(c.rect.y + (j + 0.5) * c.rect.height / samples.rows, y + h / 2., 0.01);
            }
        const NaiveFeatures naive(samples, c.texture);
        for (int cell = 0; cell < cells; ++cell)
        {
            const int across = samples.cols / 4, u = cell % across, v = cell / across;
            for (int o = 0; o < 18; ++o)
                ASSERT_EQ(naive.histograms[cell][o], scratch.histograms[((v + 1) * (across + 2) + u + 1) * 18 + o]);
            for (int k = 0; k < channels; ++k)
                ASSERT_NEAR(naive.channels[k][cell], out[static_cast<size_t>(k) * cells + cell], 1e-6);
        }
    }
}

// --- answers ---------------------------------------------------------------------------------------------------------

//! Returns the spectrum of a channel with its window, by the definition. Rows, then columns.
std::vector<Complexd> naiveSpectrum(const std::vector<double>& channel)
{
    const int n = core::FILTER_GRID;
    std::vector<Complexd> grid(channel.size());
    const auto hann = [&](int i) { return 0.5 - 0.5 * std::cos(2. * CV_PI * i / (n - 1)); };
    for (int k = 0; k < n * n; ++k)
        grid[k] = channel[k] * hann(k / n) * hann(k % n);
    for (int axis = 0; axis < 2; ++axis)
        for (int line = 0; line < n; ++line)
        {
            std::vector<Complexd> values(n);
            const auto at = [&](int k) { return axis ? k * n + line : line * n + k; };
            for (int k = 0; k < n; ++k)
                values[k] = grid[at(k)];
            values = naiveDft(values);
            for (int k = 0; k < n; ++k)
                grid[at(k)] = values[k];
        }
    return grid;
}

//! A filter in double, by the formulas of the paper.
struct NaiveFilter
{
    std::vector<std::vector<Complexd>> numerators;
    std::vector<double> energy;
    double sigma;

    void learn(const NaiveFeatures& features, double rate)
    {
        const int n = core::FILTER_GRID;
        std::vector<double> desired(static_cast<size_t>(n) * n);
        const auto away = [&](int i) { return i < n / 2 ? i : i - n; };
        std::vector<Complexd> row(n);
        for (int i = 0; i < n; ++i)
            row[i] = std::exp(-0.5 * away(i) * away(i) / (sigma * sigma));
        row = naiveDft(row);
        numerators.resize(features.channels.size(), std::vector<Complexd>(desired.size()));
        energy.resize(desired.size(), 0.);
        for (double& e : energy)
            e *= 1. - rate;
        for (size_t k = 0; k < numerators.size(); ++k)
        {
            const std::vector<Complexd> x = naiveSpectrum(features.channels[k]);
            for (size_t f = 0; f < x.size(); ++f)
            {
                const Complexd y = row[f / n] * row[f % n];
                numerators[k][f] = (1. - rate) * numerators[k][f] + rate * std::conj(y) * x[f] / double(n * n);
                energy[f] += rate * std::norm(x[f]) / (n * n);
            }
        }
    }
    //! Returns the answer at a displacement of whole cells.
    std::vector<double> answer(const NaiveFeatures& features) const
    {
        const int n = core::FILTER_GRID;
        std::vector<Complexd> sum(energy.size());
        for (size_t k = 0; k < numerators.size(); ++k)
        {
            const std::vector<Complexd> x = naiveSpectrum(features.channels[k]);
            for (size_t f = 0; f < x.size(); ++f)
                sum[f] += std::conj(numerators[k][f]) * x[f] / (energy[f] + 1e-3);
        }
        std::vector<double> answer(sum.size());
        for (int y = 0; y < n; ++y)
        {
            std::vector<Complexd> row(n); // of the spectrum along x
            for (int c = 0; c < n; ++c)
                for (int r = 0; r < n; ++r)
                    row[c] += sum[static_cast<size_t>(r) * n + c] * std::polar(1., 2. * CV_PI * (r * y % n) / n);
            row = naiveDft(row, 1);
            for (int x = 0; x < n; ++x)
                answer[static_cast<size_t>(y) * n + x] = row[x].real() / (n * n);
        }
        return answer;
    }
};

//! Looks at a rectangle of an image, by the module's loops.
NaiveFeatures look(const Mat& gray, const Rect& rect, core::cpu::FilterScratch& scratch)
{
    core::cpu::FeatureScratch features;
    const core::SamplePlan plan =
        core::planSamples(rect.x, rect.y, rect.width, rect.height, core::FILTER_SIDE, core::FILTER_SIDE);
    core::cpu::cellFeatures(viewOf(gray), plan, false, features, scratch.features[0], core::FILTER_CELLS);
    for (int k = 0; k < core::FILTER_CHANNELS; k += 2)
        core::cpu::pairSpectra(scratch.features[k], core::cpu::filterTables(), scratch.sample.re[k],
                               scratch.sample.im[k]);
    return NaiveFeatures(
        Mat(core::FILTER_SIDE, core::FILTER_SIDE, CV_8UC1, features.samples + 1, core::cpu::SAMPLE_STEP), false);
}

TEST(Tld_Filter, answersOfTheDefinition)
{
    const Mat first = texture(5, Size(200, 160), CV_8UC1, 4), second = texture(6, Size(200, 160), CV_8UC1, 4);
    const std::unique_ptr<core::cpu::FilterScratch> scratch(new core::cpu::FilterScratch());
    std::unique_ptr<core::FilterModel> model(new core::FilterModel()), next(new core::FilterModel());
    const core::FilterTarget target = core::makeFilterTarget(50, 40, 200, 160);
    const core::FilterAreas areas = core::filterAreas(50, 40, 1., 200, 160);
    const double tw = core::normalTarget(areas.targetWidth, areas.width),
                 th = core::normalTarget(areas.targetHeight, areas.height);
    NaiveFilter naive;
    naive.sigma = 0.075 * std::sqrt(tw * th) / 4.;
    const auto learn = [&](const Mat& image, const Rect& rect, float rate)
    {
        naive.learn(look(image, rect, *scratch), rate);
        core::cpu::learnFilter(*model, *scratch, target, core::cpu::filterTables(), {rate, rate, rate}, 0, 0, *next);
        model.swap(next);
    };
    learn(first, Rect(40, 30, 95, 85), 1.f);
    learn(second, Rect(20, 30, 95, 85), 0.25f);
    for (const Rect& rect : {Rect(40, 30, 95, 85), Rect(58, 36, 95, 85), Rect(20, 20, 120, 100)})
    {
        const std::vector<double> expected = naive.answer(look(first, rect, *scratch));
        core::cpu::answerOf(*model, scratch->sample, core::cpu::filterTables(), scratch->answer);
        for (int k = 0; k < core::FILTER_CELLS; ++k)
            ASSERT_NEAR(expected[k], scratch->answer[k], 2e-4) << rect << " " << k;
    }
    // The answer is largest where the object has moved: 18 and 6 pixels of the image.
    core::cpu::answerOf(*model, (look(first, Rect(58, 36, 95, 85), *scratch), scratch->sample),
                        core::cpu::filterTables(), scratch->answer);
    const int at =
        static_cast<int>(std::max_element(scratch->answer, scratch->answer + core::FILTER_CELLS) - scratch->answer);
    EXPECT_EQ(core::FILTER_GRID - cvRound(18. * 32 / 95), at % core::FILTER_GRID);
    EXPECT_EQ(core::FILTER_GRID - cvRound(6. * 32 / 85), at / core::FILTER_GRID);
}

//! Interpolates the answer at quarters of cells, to all sides.
TEST(Tld_Filter, interpolation)
{
    const int n = core::FILTER_GRID;
    std::vector<float> answer(core::FILTER_CELLS);
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x)
            answer[(y + n / 2) % n * n + (x + n / 2) % n] = static_cast<float>(3 * x - 7 * y + 0.25 * x * y);
    for (int dy = -60; dy < 60; ++dy)
        for (int dx = -60; dx < 60; ++dx)
        {
            const double x = n / 2 + dx / 4., y = n / 2 + dy / 4.;
            ASSERT_NEAR(3 * x - 7 * y + 0.25 * x * y,
                        core::interpolated(answer.data(), core::betweenCells(dx), core::betweenCells(dy)), 1e-3);
        }
}

TEST(Tld_Filter, sizesOfTheDefinition)
{
    const int n = core::FILTER_SCALES;
    RNG rng(3);
    std::vector<float> features(static_cast<size_t>(n) * core::SCALE_ROWS);
    for (float& f : features)
        f = rng.uniform(0.f, 0.4f);
    const std::unique_ptr<core::cpu::FilterScratch> scratch(new core::cpu::FilterScratch());
    const std::unique_ptr<core::FilterModel> model(new core::FilterModel()), next(new core::FilterModel());
    const core::FilterTables& tables = core::cpu::filterTables();
    core::cpu::sizeSpectra(features.data(), tables, scratch->sizes);
    core::cpu::learnFilter(*model, *scratch, core::makeFilterTarget(50, 40, 200, 160), tables, {1.f, 1.f, 1.f}, 0, 0,
                           *next);
    // Features of all sizes one size further: the answer moves by one.
    std::vector<float> moved(features);
    std::copy(features.begin() + core::SCALE_ROWS, features.end(), moved.begin());
    const double sigma = n / std::sqrt(33.) * 0.25;
    std::vector<Complexd> desired(n), answer(n), energy(n);
    for (int i = 0; i < n; ++i)
        desired[i] = std::exp(-0.5 * (i - n / 2) * (i - n / 2) / (sigma * sigma));
    desired = naiveDft(desired);
    const auto spectrum = [&](const std::vector<float>& from, int row)
    {
        std::vector<Complexd> values(n);
        for (int i = 0; i < n; ++i)
            values[i] = from[static_cast<size_t>(i) * core::SCALE_ROWS + row] *
                        (0.5 - 0.5 * std::cos(2. * CV_PI * (i + 1) / (n + 1)));
        return naiveDft(values);
    };
    for (int row = 0; row < core::SCALE_ROWS; ++row)
    {
        const std::vector<Complexd> x = spectrum(features, row), z = spectrum(moved, row);
        for (int f = 0; f < n; ++f)
        {
            answer[f] += desired[f] * std::conj(x[f]) * z[f];
            energy[f] += std::norm(x[f]);
        }
    }
    for (int f = 0; f < n; ++f)
        answer[f] /= energy[f] + 1e-3;
    answer = naiveDft(answer, 1);
    core::cpu::sizeSpectra(moved.data(), tables, scratch->sizes);
    core::Complex quotients[core::SCALE_FREQUENCIES];
    for (int f = 0; f < core::SCALE_FREQUENCIES; ++f)
        quotients[f] = core::scaleQuotient(core::cpu::scaleSum(*next, scratch->sizes, f), next->scaleEnergy[f]);
    int best = 0;
    float answers[core::FILTER_SCALES];
    for (int i = 0; i < n; ++i)
    {
        answers[i] = core::sizeAnswer(quotients, i, tables.scaleCosine, tables.scaleSine);
        EXPECT_NEAR(answer[i].real(), answers[i], 1e-3) << i;
        best = answer[i].real() > answer[best].real() ? i : best;
    }
    EXPECT_EQ(best, core::largestSize(answers));
}

// --- areas -----------------------------------------------------------------------------------------------------------

TEST(Tld_Filter, areas)
{
    RNG rng(9);
    for (int n = 0; n < 20000; ++n)
    {
        const int cols = rng.uniform(16, 2000), rows = rng.uniform(16, 2000);
        const int w = rng.uniform(12, std::max(13, cols)), h = rng.uniform(12, std::max(13, rows));
        const double scale = core::limitedScale(std::exp(rng.uniform(-4., 4.)), w, h, cols, rows);
        const core::FilterAreas a = core::filterAreas(w, h, scale, cols, rows);
        ASSERT_LE(a.width, std::max(2, cols));
        ASSERT_LE(a.height, std::max(2, rows));
        ASSERT_GE(std::min(a.width, a.height), 2);
        const core::Displacements d = core::displacementsOf(a);
        ASSERT_EQ(core::FILTER_SIDE, d.width + 2 * d.reachX);
        ASSERT_EQ(core::FILTER_SIDE, d.height + 2 * d.reachY);
        ASSERT_GE(std::min(d.reachX, d.reachY), 4);
        const core::ScaleCells cells = core::scaleCells(w, h);
        ASSERT_GE(std::min(cells.cols, cells.rows), 2);
        ASSERT_LE(cells.cols * cells.rows, core::SCALE_CELLS);
    }
    EXPECT_EQ(32, core::filterAreas(16, 16, 1., 320, 240).width) << "twice the object";
    EXPECT_EQ(core::INNER, core::partOf(core::filterAreas(40, 40, 1., 320, 240), 64, 64));
    EXPECT_EQ(core::OUTER, core::partOf(core::filterAreas(40, 40, 1., 320, 240), 0, 64));
    EXPECT_EQ(core::OUTER, core::partOf(core::filterAreas(40, 40, 1., 320, 240), 31, 64));
    EXPECT_EQ(core::EDGE, core::partOf(core::filterAreas(40, 40, 1., 320, 240), 33, 64));
}

// --- trackers --------------------------------------------------------------------------------------------------------

typedef OnEngine Tld_FilterTracker;

//! A red frame whose content changes in every image: points on it cannot be tracked, nor templates be found.
struct Changing
{
    Rect box(int t) const { return Rect(40 + 2 * t, 60 + cvRound(10 * std::sin(0.2 * t)), 44, 40); }
    Mat frame(int t) const
    {
        Mat image = background.clone(), object = texture(100 + t, Size(44, 40), CV_8UC3, 5);
        rectangle(object, Rect(Point(), object.size()), Scalar(10, 10, 240), 6);
        object.copyTo(image(box(t)));
        return image;
    }

    const Mat background = texture(3, Size(240, 180), CV_8UC3, 7);
};

TEST_P(Tld_FilterTracker, followsWhatChanges)
{
    const Changing scene;
    const Ptr<MultiTrackerTLD> trackers[] = {MultiTrackerTLD::create(paramsOf("filter 0")), MultiTrackerTLD::create()};
    double sum[2] = {0., 0.}, least = 1.;
    int filtered[2] = {0, 0}, asked[2] = {0, 0};
    for (const Ptr<MultiTrackerTLD>& tracker : trackers)
        tracker->add(image(scene.frame(0)).in(), scene.box(0));
    const int frames = 40;
    for (int t = 1; t <= frames; ++t)
        for (int k = 0; k < 2; ++k)
        {
            const Mat row = update(*trackers[k], scene.frame(t));
            const double near = overlap(boxOf(row), Rect2d(scene.box(t)));
            sum[k] += near;
            least = k ? std::min(least, near) : least;
            filtered[k] += row.at<double>(0, TrackerTLD::RESULT_EVENT) == TrackerTLD::FILTERED;
            asked[k] += row.at<double>(0, TrackerTLD::RESULT_CONFIDENCE) != 0.;
        }
    EXPECT_LT(0.4, least);
    EXPECT_LT(sum[0] + 0.2 * frames, sum[1]) << "without a filter it is lost";
    EXPECT_EQ(0, filtered[0]);
    EXPECT_EQ(0, asked[0]);
    EXPECT_LT(frames / 2, filtered[1]);
    EXPECT_EQ(frames, asked[1]);
}

//! Saved and read in the middle, trackers of all types of images go on as those that were not.
TEST_P(Tld_FilterTracker, goesOnAfterReading)
{
    const std::pair<int, int> cases[] = {{CV_8UC1, 1}, {CV_8UC1, 46}, {CV_8UC3, 12}, {CV_8UC4, 57}};
    for (const auto& [type, cut] : cases)
    {
        SCOPED_TRACE(testing::Message() << typeToString(type) << ", saved after frame " << cut - 1);
        const StandardScene scene(type);
        const char* const extension = cut % 2 ? ".yml" : ".xml";
        const Ptr<TrackerTLD> whole = trackerOn(scene, engine()), copy = TrackerTLD::create();
        follow(*whole, scene, engine(), 1, cut);
        const std::string text = textOf(*whole, extension);
        readText(*copy, text);
        ASSERT_TRUE(text == textOf(*copy, extension));
        expectSame(follow(*whole, scene, engine(), cut, cut + 4), follow(*copy, scene, engine(), cut, cut + 4));
        ASSERT_TRUE(textOf(*whole) == textOf(*copy));
    }
}

//! A file without a filter is read by trackers with one, which begins when the object is valid; the other way round it
//! is left out.
TEST_P(Tld_FilterTracker, filesWithoutFilter)
{
    const StandardScene scene;
    const TemporaryFile plain(".xml"), filtered(".xml");
    trackerOn(scene, engine(), paramsOf("filter 0"))->save(plain);
    trackerOn(scene, engine())->save(filtered);
    const Ptr<MultiTrackerTLD> with = MultiTrackerTLD::create(),
                               without = MultiTrackerTLD::create(paramsOf("filter 0"));
    with->addFromFile(image(scene.frame(1)).in(), plain);
    with->addFromFile(image(scene.frame(1)).in(), filtered);
    without->addFromFile(image(scene.frame(1)).in(), filtered);
    EXPECT_EQ(std::string::npos, textOf(*without).find("scaleEnergy"));
    int asked[2] = {0, 0};
    for (int t = 1; t < 16; ++t)
    {
        const Mat rows = update(*with, scene.frame(t));
        for (int i = 0; i < 2; ++i)
            asked[i] += rows.at<double>(i, TrackerTLD::RESULT_CONFIDENCE) > 0.08;
        EXPECT_EQ(0., update(*without, scene.frame(t)).at<double>(0, TrackerTLD::RESULT_CONFIDENCE));
    }
    EXPECT_LT(5, asked[0]);
    EXPECT_LT(5, asked[1]);
}

//! Histograms of colours are left out for gray images, and begin anew.
TEST_P(Tld_FilterTracker, otherTypeAfterReading)
{
    const StandardScene colour(CV_8UC3), gray(CV_8UC1);
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    const std::string text = textOf(*trackerOn(colour, engine()));
    ASSERT_NE(std::string::npos, text.find("colour: 1"));
    readText(*tracker, text);
    for (int t = 1; t < 6; ++t)
        advance(*tracker, engine(), gray.frame(t));
    EXPECT_EQ(std::string::npos, textOf(*tracker).find("colour: 1"));
}

TEST_P(Tld_FilterTracker, detectorsDoWithout)
{
    const StandardScene scene;
    const Ptr<TLDDetector> with = detectorOn(scene, engine()),
                           without = detectorOn(scene, engine(), paramsOf("filter 0"));
    EXPECT_EQ(std::string::npos, textOf(*with).find("scaleEnergy"));
    Mat expected, actual;
    without->detect(image(scene.frame(3)).in(), expected);
    with->detect(image(scene.frame(3)).in(), actual);
    EXPECT_TRUE(sameBits(expected, actual));
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    readText(*tracker, textOf(*with));
    EXPECT_TRUE(tracker->getParams().filter);
    for (int t = 0; t < 8; ++t)
        advance(*tracker, engine(), scene.frame(t));
    EXPECT_NE(std::string::npos, textOf(*tracker).find("scaleEnergy")) << "the filter begins when the object is valid";
}

//! Every value of a filter in a file is checked.
TEST(Tld_Filter, wrongFilesAreRefused)
{
    const StandardScene scene;
    const std::string text = textOf(*trackerOn(scene, Engine::CPU));
    const auto refuses = [&](const std::string& from, const std::string& to)
    {
        std::string other = text;
        const size_t at = other.find(from);
        ASSERT_NE(std::string::npos, at) << from;
        other.replace(at, from.size(), to);
        const Ptr<TrackerTLD> tracker = TrackerTLD::create();
        EXPECT_THROW(readText(*tracker, other), cv::Exception) << from << " -> " << to;
    };
    refuses("colour: 0", "colour: 2");
    refuses("confidences: 0", "confidences: 11");
    refuses("scaleEnergy:", "scaleEnergie:");
    refuses("scale: 1.", "scale: 1e9");
    refuses("meanConfidence: 0.", "meanConfidence: .Nan");
    const size_t energy = text.find("data: [ ", text.find("energy:"));
    ASSERT_NE(std::string::npos, energy);
    for (const char* value : {"-.Inf", ".Nan", "-1."})
    {
        std::string other = text;
        other.replace(energy + 8, text.find(',', energy) - energy - 8, value);
        EXPECT_THROW(readText(*TrackerTLD::create(), other), cv::Exception) << value;
    }
}

//! A model within its limits can give answers far above 1; what is saved then can be read.
TEST(Tld_Filter, largeAnswersAreRead)
{
    const StandardScene scene;
    std::string text = textOf(*trackerOn(scene, Engine::CPU, paramsOf("filter 1")));
    for (const char* name : {" confidence: ", " meanConfidence: "})
    {
        const size_t at = text.find(name);
        ASSERT_NE(std::string::npos, at) << name;
        text.replace(at, text.find('\n', at) - at, name + std::string("3.0000000000000000e+09"));
    }
    const Ptr<TrackerTLD> tracker = TrackerTLD::create();
    ASSERT_NO_THROW(readText(*tracker, text));
    const std::string saved = textOf(*tracker);
    EXPECT_NE(std::string::npos, saved.find(" confidence: 3"));
    EXPECT_NO_THROW(readText(*tracker, saved));
}

CUDATRACKING_ON_ENGINES(Tld_FilterTracker);

}} // namespace opencv_test
