// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// The arithmetic of the correlation filter: its steps against sums in double that share no code with it.
#include "scenes.hpp"
#include "../../src/cpu/tld/correlation.hpp"
#ifdef HAVE_CUDA
#include "../../src/cuda/tld/correlation.hpp"
#endif
#include <complex>
#include <numeric>

namespace opencv_test { namespace {

using namespace tld;

namespace core = cv::cuda::tld::correlation;
typedef std::complex<double> Complexd;

const int N = 48; //!< cells per side

// --- transforms ------------------------------------------------------------------------------------------------------

//! Transforms N values by the definition. @param sign -1: forward.
std::vector<Complexd> naiveDft(const std::vector<Complexd>& values, int sign = -1)
{
    static const std::vector<Complexd> turns = []
    {
        std::vector<Complexd> all(N);
        for (int k = 0; k < N; ++k)
            all[k] = std::polar(1., 2. * CV_PI * k / N);
        return all;
    }();
    std::vector<Complexd> out(N);
    for (int f = 0; f < N; ++f)
        for (int i = 0; i < N; ++i)
            out[f] += values[i] * (sign < 0 ? std::conj(turns[f * i % N]) : turns[f * i % N]);
    return out;
}
//! Transforms rows, then columns. Without a factor.
std::vector<Complexd> naiveDft2(std::vector<Complexd> grid, int sign = -1)
{
    for (int axis = 0; axis < 2; ++axis)
        for (int line = 0; line < N; ++line)
        {
            std::vector<Complexd> values(N);
            const auto at = [&](int k) { return axis ? k * N + line : line * N + k; };
            for (int k = 0; k < N; ++k)
                values[k] = grid[at(k)];
            values = naiveDft(values, sign);
            for (int k = 0; k < N; ++k)
                grid[at(k)] = values[k];
        }
    return grid;
}

TEST(Tld_Correlation, tables)
{
    const core::Tables t = core::makeTables();
    for (int i = 0; i < core::TURN; ++i)
        ASSERT_NEAR(std::cos(2. * CV_PI * i / core::TURN), t.turn[i], 1e-7) << i;
    for (int i = 0; i < N; ++i)
    {
        EXPECT_NEAR(std::cos(2. * CV_PI * i / N), t.cosine[i], 1e-7);
        EXPECT_NEAR(std::sin(2. * CV_PI * i / N), t.sine[i], 1e-7);
        EXPECT_NEAR(0.5 - 0.5 * std::cos(2. * CV_PI * i / (N - 1)), t.window[i], 1e-7);
    }
    for (double x = 0.; x < 70.; x += 0.37)
        EXPECT_NEAR(std::exp(-x), core::expNegative(x), 1e-11) << x;
}

// --- features --------------------------------------------------------------------------------------------------------

//! Returns the mean of a channel over a rectangle, whose outer pixels go on outside.
double meanOver(const Mat& gray, int channel, double left, double top, double right, double bottom)
{
    double sum = 0.;
    for (int y = cvFloor(top); y < bottom; ++y)
        for (int x = cvFloor(left); x < right; ++x)
        {
            const double w = std::min<double>(right, x + 1) - std::max<double>(left, x);
            const double h = std::min<double>(bottom, y + 1) - std::max<double>(top, y);
            sum += w * h *
                   gray.ptr(std::min(std::max(y, 0), gray.rows - 1), std::min(std::max(x, 0), gray.cols - 1))[channel];
        }
    return sum / ((right - left) * (bottom - top));
}

//! Takes the samples of a square by the definition. @return three channels.
Mat naiveSamples(const Mat& image, const core::Samples& s)
{
    Mat out(4 * N, 4 * N, CV_8UC3);
    for (int j = 0; j < out.rows; ++j)
        for (int i = 0; i < out.cols; ++i)
            for (int c = 0; c < 3; ++c)
            {
                const double x = s.begin(s.x, i) / 256., y = s.begin(s.y, j) / 256., side = s.half / 128.;
                const double mean = meanOver(image, std::min(c, image.channels() - 1), x, y, x + side, y + side);
                out.at<Vec3b>(j, i)[c] = static_cast<uchar>(std::nearbyint(mean));
            }
    return out;
}

//! Features of cells by the definition of HOG.
struct NaiveFeatures
{
    std::vector<std::vector<double>> histograms; //!< 18 per cell, units of the module
    std::vector<std::vector<double>> channels;

    //! @param samples whole cells of gray values. @param colours the same of colours.
    NaiveFeatures(const Mat& samples, const Mat& colours) : cols(samples.cols / 4), rows(samples.rows / 4)
    {
        histograms.assign(static_cast<size_t>(cols) * rows, std::vector<double>(18, 0.));
        for (int y = 0; y < 4 * rows; ++y)
            for (int x = 0; x < 4 * cols; ++x)
                addGradient(samples, x, y);
        channels.assign(40, std::vector<double>(histograms.size(), 0.));
        for (int v = 0; v < rows; ++v)
            for (int u = 0; u < cols; ++u)
            {
                addChannels(u, v);
                channels[31][static_cast<size_t>(v) * cols + u] =
                    cv::mean(samples(Rect(4 * u, 4 * v, 4, 4)))[0] / 255. - 0.5;
                addCorners(colours, u, v);
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
    void addChannels(int u, int v)
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
                channels[27 + q][cell] += 0.2357 * std::min(0.2, h[o] * n);
            }
            for (int o = 0; o < 9; ++o)
                channels[18 + o][cell] += 0.5 * std::min(0.2, (h[o] + h[o + 9]) * n);
        }
    }
    //! Adds the mean closeness to the corners of the cube of colours.
    void addCorners(const Mat& colours, int u, int v)
    {
        for (int k = 0; k < 8; ++k)
        {
            double sum = 0.;
            for (int i = 0; i < 16; ++i)
            {
                const Vec3b pixel = colours.at<Vec3b>(4 * v + i / 4, 4 * u + i % 4);
                double product = 1.;
                for (int c = 0; c < 3; ++c)
                    product *= k >> c & 1 ? pixel[c] / 255. : 1. - pixel[c] / 255.;
                sum += product;
            }
            channels[32 + k][static_cast<size_t>(v) * cols + u] = sum / 16. - 0.125;
        }
    }

    int cols, rows; //!< cells
};

core::cpu::ImageView viewOf(const Mat& m)
{
    return {m.data, m.step, m.cols, m.rows, cv::cuda::detail::DEPTH_8U, m.channels()};
}

//! What the module sees of a square of an image, and what the definition says.
struct Look
{
    std::unique_ptr<core::cpu::CellScratch> scratch{new core::cpu::CellScratch()};
    std::unique_ptr<core::cpu::Cells> cells{new core::cpu::Cells()};
    std::unique_ptr<core::Spectra> spectra{new core::Spectra()};
    Mat samples, gray;
    std::vector<std::vector<Complexd>> naive; //!< spectra, rows first

    Look(const Mat& image, double x, double y, double side)
    {
        const core::Samples s = core::samplesAround(x, y, side);
        core::cpu::lookAt(viewOf(image), s, *scratch, *cells);
        for (int k = 0; k < 40; k += 2)
            core::cpu::pairSpectra(*cells, k, *spectra);
        samples = naiveSamples(image, s);
        cvtColor(samples, gray, COLOR_BGR2GRAY);
    }
    //! Computes the spectra by the definition.
    void transform()
    {
        const NaiveFeatures features(gray, samples);
        const int blocks[] = {0, 31, 32, 40};
        for (int b = 0; b < 3; ++b)
        {
            double energy = 0.;
            for (int k = blocks[b]; k < blocks[b + 1]; ++k)
                for (double v : features.channels[k])
                    energy += v * v;
            const double factor = std::sqrt(N * N * (blocks[b + 1] - blocks[b]) / energy);
            const auto hann = [&](int i) { return 0.5 - 0.5 * std::cos(2. * CV_PI * i / (N - 1)); };
            for (int k = blocks[b]; k < blocks[b + 1]; ++k)
            {
                std::vector<Complexd> grid(N * N);
                for (int c = 0; c < N * N; ++c)
                    grid[c] = features.channels[k][c] * factor * hann(c / N) * hann(c % N);
                naive.push_back(naiveDft2(grid));
            }
        }
    }
};

TEST(Tld_Correlation, channelsOfTheDefinition)
{
    const Mat colour = texture(4, Size(150, 110), CV_8UC3, 3), gray = texture(5, Size(150, 110), CV_8UC1, 3);
    const Point3d cases[] = {{70, 50, 80}, {20, 90, 192}, {75, 55, 500}, {70.3, 40.7, 230.5}, {-30, 55, 100}};
    for (const Mat& image : {colour, gray})
        for (const Point3d& c : cases)
        {
            SCOPED_TRACE(testing::Message() << c << ", " << image.channels() << " channels");
            const core::Samples s = core::samplesAround(c.x, c.y, c.z);
            EXPECT_NEAR(std::max(1., c.z / (4 * N)), s.half / 128., 0.01);
            for (const int i : {0, 5, 191})
                EXPECT_NEAR(c.x - c.z / 2 + (i + 0.5) * c.z / (4 * N), (s.begin(s.x, i) + s.half) / 256., 0.01);
            const Look look(image, c.x, c.y, c.z);
            const NaiveFeatures naive(look.gray, look.samples);
            for (int j = 0; j < 4 * N; ++j)
                for (int i = 0; i < 4 * N; ++i)
                    ASSERT_EQ(look.gray.at<uchar>(j, i), look.scratch->samples[j * core::cpu::SAMPLE_STEP + 1 + i])
                        << i << ", " << j;
            double energy[3] = {0., 0., 0.};
            for (int k = 0; k < 40; ++k)
                for (int cell = 0; cell < N * N; ++cell)
                {
                    const double value = naive.channels[k][cell];
                    ASSERT_NEAR(value, look.cells->channel[k][cell], 2e-6) << k << " " << cell;
                    energy[k < 31 ? 0 : k == 31 ? 1 : 2] += value * value;
                }
            for (int b = 0; b < 3; ++b)
                EXPECT_NEAR(energy[b], look.cells->energy[b] / 16777216., 1e-4 * energy[b] + 0.01);
        }
}

//! A gray image, and one of colours that are all gray, are the same.
TEST(Tld_Correlation, grayColours)
{
    const Mat gray = texture(5, Size(150, 110), CV_8UC1, 3);
    Mat colour, four;
    cvtColor(gray, colour, COLOR_GRAY2BGR);
    cvtColor(gray, four, COLOR_GRAY2BGRA);
    const Look one(gray, 60, 50, 130), other(colour, 60, 50, 130), last(four, 60, 50, 130);
    EXPECT_EQ(0, std::memcmp(one.spectra.get(), other.spectra.get(), sizeof(core::Spectra)));
    EXPECT_EQ(0, std::memcmp(one.spectra.get(), last.spectra.get(), sizeof(core::Spectra)));
}

TEST(Tld_Correlation, spectraOfTheDefinition)
{
    Look look(texture(6, Size(200, 160), CV_8UC3, 4), 90, 70, 150);
    look.transform();
    for (int k = 0; k < 40; ++k)
        for (int c = 0; c < 25; ++c)
            for (int r = 0; r < N; ++r)
            {
                const Complexd z = look.naive[k][r * N + c];
                ASSERT_NEAR(z.real(), look.spectra->re[k][c * N + r], 0.02) << k;
                ASSERT_NEAR(z.imag(), look.spectra->im[k][c * N + r], 0.02) << k;
            }
}

//! A black image has no gradients; nothing is divided by zero.
TEST(Tld_Correlation, flatImages)
{
    for (const int value : {0, 127, 128, 255})
    {
        const Look look(Mat(100, 120, CV_8UC3, Scalar::all(value)), 60, 50, 100);
        for (int k = 0; k < 40; ++k)
            for (int f = 0; f < core::SPECTRUM; ++f)
                ASSERT_TRUE(std::abs(look.spectra->re[k][f]) < 1e6f && std::abs(look.spectra->im[k][f]) < 1e6f);
    }
}

// --- training and answers --------------------------------------------------------------------------------------------

//! The filter in double, by the steps of the alternating direction method as published.
struct NaiveFilter
{
    std::vector<std::vector<Complexd>> filter;
    double halfX, halfY; //!< of the target, cells

    void learn(const std::vector<std::vector<Complexd>>& x)
    {
        const double T = N * N, sigma = 0.6, mu = filter.empty() ? 0. : 80.;
        std::vector<Complexd> desired(N * N);
        const auto away = [](int i) { return i < N / 2 ? i : i - N; };
        for (int c = 0; c < N * N; ++c)
            desired[c] = std::exp(-0.5 * (away(c / N) * away(c / N) + away(c % N) * away(c % N)) / (sigma * sigma));
        desired = naiveDft2(desired);
        const std::vector<Complexd> zero(N * N);
        std::vector<std::vector<Complexd>> f(40, zero), g(40, zero), h(40, zero);
        const std::vector<std::vector<Complexd>> before = filter.empty() ? f : filter;
        double gamma = 1.;
        for (int iteration = 0; iteration < 2; ++iteration, gamma = 0.1)
        {
            if (iteration > 0)
                for (int k = 0; k < 40; ++k)
                {
                    std::vector<Complexd> grid(N * N);
                    for (int c = 0; c < N * N; ++c)
                        grid[c] = f[k][c] + h[k][c];
                    grid = naiveDft2(grid, 1);
                    for (int c = 0; c < N * N; ++c)
                    {
                        const bool inside = std::abs(c % N + 0.5 - N / 2) <= std::max(1., halfX) &&
                                            std::abs(c / N + 0.5 - N / 2) <= std::max(1., halfY);
                        grid[c] /= T * ((inside ? 1e-6 : 1e10) + 1.);
                    }
                    g[k] = naiveDft2(grid);
                    for (int c = 0; c < N * N; ++c)
                        h[k][c] += f[k][c] - g[k][c];
                }
            for (int c = 0; c < N * N; ++c)
            {
                Complexd all = 0.;
                double energy = 0.;
                for (int k = 0; k < 40; ++k)
                {
                    f[k][c] = x[k][c] * desired[c] / T - h[k][c] + gamma * g[k][c] + mu * before[k][c];
                    all += std::conj(x[k][c]) * f[k][c];
                    energy += std::norm(x[k][c]);
                }
                for (int k = 0; k < 40; ++k)
                    f[k][c] = (f[k][c] - x[k][c] * all / (energy + T * (gamma + mu))) / (gamma + mu);
            }
        }
        filter = f;
    }
    //! Returns the answer's spectrum.
    std::vector<Complexd> answer(const std::vector<std::vector<Complexd>>& x) const
    {
        std::vector<Complexd> sum(N * N);
        for (int k = 0; k < 40; ++k)
            for (int c = 0; c < N * N; ++c)
                sum[c] += std::conj(filter[k][c]) * x[k][c];
        return sum;
    }
};

//! Returns the answer at a displacement, cells: half of the spectrum, as the other half are the conjugates.
double answerAt(const std::vector<Complexd>& spectrum, double dx, double dy)
{
    double sum = 0.;
    for (int c = 0; c < N * N; ++c)
    {
        const int u = c % N, v = c / N <= N / 2 ? c / N : c / N - N;
        if (u <= N / 2)
            sum += (u % (N / 2) == 0 ? 1. : 2.) *
                   (spectrum[c] * std::polar(1., 2. * CV_PI * (u * dx + v * dy) / N)).real();
    }
    return sum / (N * N);
}

//! Trains a filter by the module's loops.
void train(const core::Spectra& image, bool begins, const core::TargetCells& target, core::Spectra& model)
{
    const std::unique_ptr<core::Spectra> first(new core::Spectra()), next(new core::Spectra());
    const core::Spectra* const before = begins ? nullptr : &model;
    core::cpu::solve(image, before, nullptr, *first);
    for (int k = 0; k < 40; k += 2)
        core::cpu::constrainPair(target, k, *first);
    core::cpu::solve(image, before, first.get(), *next);
    model = *next;
}

TEST(Tld_Correlation, filtersOfTheDefinition)
{
    const Mat image = texture(5, Size(200, 160), CV_8UC3, 4), other = texture(6, Size(200, 160), CV_8UC3, 4);
    const int width = 34, height = 24;
    const double side = core::surroundSide(width, height, 1.);
    EXPECT_NEAR(5. * std::sqrt(width * height), side, 1e-9);
    NaiveFilter naive;
    naive.halfX = N * width / side / 2.;
    naive.halfY = N * height / side / 2.;
    const core::TargetCells target = core::targetCells(width, height);
    for (int c = 0; c < N * N; ++c)
        ASSERT_EQ(std::abs(c % N + 0.5 - N / 2) <= naive.halfX && std::abs(c / N + 0.5 - N / 2) <= naive.halfY,
                  target.has(c % N, c / N));
    const std::unique_ptr<core::Spectra> model(new core::Spectra());
    Look begin(image, 90, 70, side), second(other, 95, 75, side);
    begin.transform();
    second.transform();
    for (int frame = 0; frame < 2; ++frame)
    {
        const Look& look = frame == 0 ? begin : second;
        naive.learn(look.naive);
        train(*look.spectra, frame == 0, target, *model);
        double most = 0.;
        for (int k = 0; k < 40; ++k)
            for (const Complexd& value : naive.filter[k])
                most = std::max(most, std::abs(value));
        for (int k = 0; k < 40; ++k)
            for (int c = 0; c < 25; ++c)
                for (int r = 0; r < N; ++r)
                {
                    const Complexd z = naive.filter[k][r * N + c];
                    ASSERT_NEAR(z.real(), model->re[k][c * N + r], 1e-4 * most) << frame << " " << k;
                    ASSERT_NEAR(z.imag(), model->im[k][c * N + r], 1e-4 * most) << frame << " " << k;
                }
    }
    for (const Point2d& moved : {Point2d(90, 70), Point2d(97.3, 65.1), Point2d(80, 90)})
    {
        Look look(image, moved.x, moved.y, side);
        look.transform();
        const std::vector<Complexd> expected = naive.answer(look.naive);
        const core::Answer answer = core::cpu::answerOf(*model, *look.spectra);
        const double dx = answer.dx / double(core::FINE), dy = answer.dy / double(core::FINE);
        EXPECT_NEAR(answerAt(expected, dx, dy), answer.confidence, 1e-4);
        double most = -1.;
        for (int c = 0; c < N * N; ++c)
            most = std::max(most, answerAt(expected, c % N, c / N));
        EXPECT_LE(most, answer.confidence + 1e-4);
        // It is where the object is, and nothing beside it is larger.
        EXPECT_NEAR(90 - moved.x, dx * side / N, 0.5 * side / N) << moved;
        EXPECT_NEAR(70 - moved.y, dy * side / N, 0.5 * side / N) << moved;
        for (const Point2d& d : {Point2d(1, 0), Point2d(-1, 0), Point2d(0, 1), Point2d(0, -1)})
            EXPECT_LE(answerAt(expected, dx + d.x / 32, dy + d.y / 32), answer.confidence + 1e-5);
    }
}

//! All targets have a cell in each direction of the centre, and none has more than the surround.
TEST(Tld_Correlation, targets)
{
    for (int w = 12; w < 3000; w += 1 + w / 7)
        for (int h = 12; h < 3000; h += 1 + h / 7)
        {
            const core::TargetCells t = core::targetCells(w, h);
            ASSERT_TRUE(t.has(N / 2, N / 2) && t.has(N / 2 - 1, N / 2 - 1)) << w << " x " << h;
            ASSERT_LE(std::max(t.halfCols, t.halfRows), N / 2);
            const double scale = core::limitedScale(1e9, w, h, 4000, 3000);
            ASSERT_GE(scale, 1.);
            ASSERT_LE(core::limitedScale(1e-9, w, h, 4000, 3000), 1.);
        }
}

#ifdef HAVE_CUDA

// --- CUDA = CPU ------------------------------------------------------------------------------------------------------

typedef OnCuda Tld_CudaCorrelation;
typedef OnCuda Tld_CudaCorrelationSanitize;

namespace device = core::gpu;

//! Values in device memory.
template <typename T> struct Device
{
    cv::cuda::GpuMat memory;

    explicit Device(const T& value) : memory(1, static_cast<int>(sizeof(T)), CV_8UC1) { set(value); }
    T* get() { return reinterpret_cast<T*>(memory.data); }
    void set(const T& value) { memory.upload(Mat(1, static_cast<int>(sizeof(T)), CV_8UC1, const_cast<T*>(&value))); }
    void read(T& value) const { memory.download(Mat(1, static_cast<int>(sizeof(T)), CV_8UC1, &value)); }
};

//! A filter on both backends.
class BothFilters
{
public:
    BothFilters()
        : current_(0),
          tables_(core::cpu::tables()),
          looks_(*zero_),
          image_(*model_),
          solution_(*model_),
          first_(*model_),
          second_(*model_),
          records_({current_.get(), {first_.get(), second_.get()}, looks_.get(), image_.get(), solution_.get()})
    {}

    //! Asks or trains at a place, and compares all that is computed.
    void look(const Mat& image, device::Use use, Point2d at, Size target, double scale)
    {
        const cv::cuda::GpuMat frame(image);
        const core::Place place = core::placeAt(at.x, at.y, target.width, target.height, scale);
        const core::TargetCells cells = core::targetCells(target.width, target.height);
        zero_->use = use;
        zero_->place = place;
        zero_->target = cells;
        looks_.set(*zero_);
        device::cells(records_.get(), 1, {frame.data, frame.step, frame.cols, frame.rows, 0, frame.channels()}, 0,
                      nullptr);
        device::spectra(records_.get(), 1, tables_.get(), 0, nullptr);
        if (use == device::ASKS)
            device::answers(records_.get(), 1, tables_.get(), 0, nullptr);
        else
            device::train(records_.get(), 1, tables_.get(), nullptr);
        const std::unique_ptr<device::Look> found(new device::Look());
        looks_.read(*found);
        for (int i = 0; i < core::SIZES; ++i)
        {
            SCOPED_TRACE(testing::Message() << "size " << i);
            if (use != device::ASKS && i != core::SIZES / 2)
                continue;
            core::cpu::lookAt(viewOf(image), place.samples(i), *scratch_, *cells_);
            for (int k = 0; k < core::CHANNELS; ++k)
                ASSERT_EQ(0, std::memcmp(cells_->channel[k], found->channels[i][k], sizeof(cells_->channel[k])))
                    << "channel " << k;
            for (int b = 0; b < core::BLOCKS; ++b)
                ASSERT_EQ(cells_->energy[b],
                          std::accumulate(found->energies[i][b], found->energies[i][b] + device::TILES,
                                          static_cast<int64_t>(0)));
            for (int k = 0; k < core::CHANNELS; k += 2)
                core::cpu::pairSpectra(*cells_, k, *spectra_);
            if (use != device::ASKS)
                continue;
            const core::Answer answer = core::cpu::answerOf(*model_, *spectra_);
            ASSERT_EQ(answer.confidence, found->answers[i].confidence);
            ASSERT_EQ(answer.dx, found->answers[i].dx);
            ASSERT_EQ(answer.dy, found->answers[i].dy);
        }
        if (use == device::ASKS)
            return;
        const bool begins = use == device::BEGINS;
        image_.read(*found_);
        ASSERT_EQ(0, std::memcmp(found_.get(), spectra_.get(), sizeof(core::Spectra))) << "spectra";
        train(*spectra_, begins, cells, *model_);
        number_ = 1 - number_;
        current_.set(number_);
        (number_ == 0 ? first_ : second_).read(*found_);
        for (int k = 0; k < core::CHANNELS; ++k)
            for (int f = 0; f < core::SPECTRUM; ++f)
                ASSERT_TRUE(found_->re[k][f] == model_->re[k][f] && found_->im[k][f] == model_->im[k][f])
                    << "model " << k << " " << f;
    }

private:
    std::unique_ptr<device::Look> zero_{new device::Look()};
    std::unique_ptr<core::Spectra> model_{new core::Spectra()}, spectra_{new core::Spectra()},
        found_{new core::Spectra()};
    std::unique_ptr<core::cpu::CellScratch> scratch_{new core::cpu::CellScratch()};
    std::unique_ptr<core::cpu::Cells> cells_{new core::cpu::Cells()};
    int32_t number_ = 0; //!< of the current model
    Device<int32_t> current_;
    Device<core::Tables> tables_;
    Device<device::Look> looks_;
    Device<core::Spectra> image_, solution_, first_, second_;
    Device<device::Record> records_;
};

TEST_F(Tld_CudaCorrelation, sameBits)
{
    const Mat images[] = {texture(5, Size(200, 160), CV_8UC3, 4), texture(6, Size(200, 160), CV_8UC1, 4),
                          texture(7, Size(200, 160), CV_8UC4, 3), Mat(160, 200, CV_8UC3, Scalar::all(90))};
    for (const Size& target : {Size(34, 24), Size(12, 12), Size(150, 20), Size(40, 120)})
    {
        SCOPED_TRACE(testing::Message() << target);
        BothFilters filters;
        filters.look(images[0], device::BEGINS, Point2d(90, 70), target, 1.);
        for (int t = 0; t < 6 && !HasFatalFailure(); ++t)
        {
            SCOPED_TRACE(testing::Message() << "frame " << t);
            const Point2d at(60.3 + 17.7 * t, 130.9 - 23.4 * t);
            filters.look(images[t % 4], device::ASKS, at, target, 0.8 + 0.21 * t);
            filters.look(images[t % 4], device::TRAINS, at, target, 0.8 + 0.21 * t);
        }
    }
}

TEST_F(Tld_CudaCorrelationSanitize, oneFrame)
{
    BothFilters filters;
    const Mat image = texture(5, Size(200, 160), CV_8UC3, 4);
    filters.look(image, device::BEGINS, Point2d(90, 70), Size(34, 24), 1.);
    filters.look(image, device::ASKS, Point2d(97, 80), Size(34, 24), 1.1);
    filters.look(image, device::TRAINS, Point2d(90, 70), Size(34, 24), 1.);
}

#endif // HAVE_CUDA

}} // namespace opencv_test
