// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Areas, fields and passes share random grids and plain loops.
// WindowGrid: windows, search areas and fields against plain loops, arguments that are refused, two passes over images
// of particles, and CUDA against the CPU, captured into a graph.
#include "scenes_cuda.hpp"
#include "../common/graphs.hpp"
#include "../common/threads.hpp"

namespace opencv_test { namespace {

using namespace scenes;
using cuda::WindowGrid;
using FragmentMatcher_CudaWindows = OnCuda;

const float NONE = std::numeric_limits<float>::quiet_NaN();

TEST(FragmentMatcher_Windows, regionsFillTheFrame)
{
    const struct
    {
        Size frame, window, step, count;
    } table[] = {{{64, 48}, {16, 16}, {8, 8}, {7, 5}},     {{63, 47}, {16, 16}, {8, 8}, {6, 4}},
                 {{32, 32}, {32, 32}, {1, 1}, {1, 1}},     {{33, 40}, {32, 8}, {1, 32}, {2, 2}},
                 {{1, 1}, {1, 1}, {32767, 32767}, {1, 1}}, {{1000, 100}, {1, 1}, {1, 1}, {1000, 100}}};
    for (const auto& row : table)
    {
        const WindowGrid grid = WindowGrid::create(row.frame, row.window, row.step);
        EXPECT_EQ(row.count, grid.size());
        std::vector<Rect> regions;
        grid.regions(regions);
        Mat array;
        grid.regions(array);
        ASSERT_EQ(static_cast<size_t>(row.count.area()), regions.size());
        for (int i = 0; i < row.count.area(); ++i)
        {
            const Point cell(i % row.count.width, i / row.count.width);
            EXPECT_EQ(Rect(Point(cell.x * row.step.width, cell.y * row.step.height), row.window), regions[i]);
            EXPECT_EQ(regions[i], array.at<Rect>(i));
        }
        EXPECT_GT(regions.back().br().x + row.step.width, row.frame.width);
        EXPECT_GT(regions.back().br().y + row.step.height, row.frame.height);
    }
}

//! Returns a value at the limits of rounding, infinite, or none; NaN of either sign.
float specialValue(RNG& rng)
{
    const float special[] = {NONE,   -NONE,     0.5f,       -0.5f,   1.5f,    -2.5f,    1e30f,
                             -1e30f, HUGE_VALF, -HUGE_VALF, 65536.f, 70000.f, -70000.f, 0.49999997f};
    return special[rng.uniform(0, 14)];
}

Mat motionField(RNG& rng, Size size)
{
    Mat field(size, CV_32FC1);
    rng.fill(field, RNG::UNIFORM, -40., 40.);
    for (int i = 0; i < 3 + size.area() / 4; ++i)
    {
        const float value = specialValue(rng);
        field.at<float>(uniform(rng, Point(), Point(size))) = value;
    }
    return field;
}

//! Search areas by plain loops.
std::vector<Rect> plainAreas(const WindowGrid& grid, Size reach, const Mat& u, const Mat& v)
{
    std::vector<Rect> areas;
    const Size count = grid.size();
    for (int row = 0; row < count.height; ++row)
        for (int col = 0; col < count.width; ++col)
        {
            double dx = 0, dy = 0;
            if (!u.empty())
            {
                const int x = static_cast<int>(std::floor((col + 0.5) / count.width * u.cols + 1e-9)),
                          y = static_cast<int>(std::floor((row + 0.5) / count.height * u.rows + 1e-9));
                dx = u.at<float>(y, x), dy = v.at<float>(y, x);
            }
            if (!std::isfinite(dx) || !std::isfinite(dy))
            {
                areas.push_back(Rect());
                continue;
            }
            dx = std::nearbyint(std::max(-65536., std::min(65536., dx)));
            dy = std::nearbyint(std::max(-65536., std::min(65536., dy)));
            areas.push_back(Rect(col * grid.step.width + static_cast<int>(dx) - reach.width,
                                 row * grid.step.height + static_cast<int>(dy) - reach.height,
                                 grid.window.width + 2 * reach.width, grid.window.height + 2 * reach.height));
        }
    return areas;
}

WindowGrid randomGrid(RNG& rng)
{
    const Size window = uniform(rng, Size(1, 1), Size(40, 40)), frame = uniform(rng, Size(40, 40), Size(300, 300));
    return WindowGrid::create(frame, window, uniform(rng, Size(1, 1), Size(30, 30)));
}

//! check(grid, reach, u, v) for random grids and fields; every fifth without a field.
template <typename Check> void forRandomFields(uint64 seed, const Check& check)
{
    RNG rng(seed);
    for (int i = 0; i < 200; ++i)
    {
        SCOPED_TRACE(i);
        const WindowGrid grid = randomGrid(rng);
        Size reach = uniform(rng, Size(), Size(30, 30));
        if (i % 7 == 0)
            reach.height = 32767;
        const Size field = i % 3 ? uniform(rng, Size(1, 1), Size(40, 40)) : grid.size();
        const bool moves = i % 5 != 0;
        const Mat u = moves ? asRoi(motionField(rng, field)) : Mat(),
                  v = moves ? asRoi(motionField(rng, field)) : Mat();
        check(grid, reach, u, v);
    }
}

TEST(FragmentMatcher_Windows, areasFollowAField)
{
    forRandomFields(0x3170,
                    [](const WindowGrid& grid, Size reach, const Mat& u, const Mat& v)
                    {
                        std::vector<Rect> areas;
                        grid.areas(reach, u, v, areas);
                        EXPECT_EQ(plainAreas(grid, reach, u, v), areas);
                    });
}

TEST_F(FragmentMatcher_CudaWindows, areasFollowAField)
{
    forRandomFields(0x3171,
                    [](const WindowGrid& grid, Size reach, const Mat& u, const Mat& v)
                    {
                        Mat onHost;
                        GpuMat onDevice;
                        grid.areas(reach, u, v, onHost);
                        grid.areas(reach, u.empty() ? GpuMat() : uploadRoi(u), v.empty() ? GpuMat() : uploadRoi(v),
                                   onDevice);
                        EXPECT_TRUE(sameBits(onHost, Mat(onDevice)));
                    });
}

//! The five arrays of a field.
struct Field
{
    Mat u, v, score, confidence, valid;
};

void expectSame(const Field& expected, const Field& actual)
{
    for (Mat Field::*part : {&Field::u, &Field::v, &Field::score, &Field::confidence, &Field::valid})
        EXPECT_TRUE(sameBits(expected.*part, actual.*part));
}

//! Random areas, each with at least one position: every fourth side is no longer than the window's, and some go beyond
//! the frame.
std::vector<Rect> randomAreas(RNG& rng, const WindowGrid& grid)
{
    std::vector<Rect> areas(grid.size().area());
    for (Rect& area : areas)
    {
        area = Rect(uniform(rng, Point(), Point(grid.frame - grid.window) + Point(1, 1)), grid.window);
        const Size before = uniform(rng, Size(), Size(13, 13)), behind = uniform(rng, Size(), Size(13, 13));
        if (rng.uniform(0, 4))
            area.x -= before.width, area.width += before.width + behind.width;
        if (rng.uniform(0, 4))
            area.y -= before.height, area.height += before.height + behind.height;
    }
    return areas;
}

//! First and last position of a window along one axis of its area, in the frame.
Vec2i positionsAlong(int start, int length, int window, int frame)
{
    return Vec2i(std::max(start, 0), std::min(start + length, frame) - window);
}

//! Random results of match() for a grid, with windows without a match; most lie in their areas, many at the limit.
Result randomMatches(RNG& rng, const WindowGrid& grid, const std::vector<Rect>& areas, int peaks)
{
    const int count = grid.size().area();
    Result result = oracle::emptyResult(count, peaks);
    const auto along = [&](Vec2i limits)
    {
        const int place = rng.uniform(limits[0], limits[1] + 1);
        const bool inner = limits[0] < place && place < limits[1];
        return rng.uniform(0, 3) ? static_cast<float>(place + (inner ? rng.uniform(-0.5, 0.5) : 0.))
                                 : static_cast<float>(limits[rng.uniform(0, 2)]);
    };
    rng.fill(result.refined, RNG::UNIFORM, -5., 300.);
    for (int i = 0; i < count; ++i)
    {
        const float x = along(positionsAlong(areas[i].x, areas[i].width, grid.window.width, grid.frame.width));
        const float y = along(positionsAlong(areas[i].y, areas[i].height, grid.window.height, grid.frame.height));
        result.refined.at<Point2f>(i, 0) = Point2f(x, y);
    }
    rng.fill(result.scores, RNG::UNIFORM, -1., 1.);
    rng.fill(result.confidence, RNG::UNIFORM, 1., 9.);
    rng.fill(result.status, RNG::UNIFORM, 0, 4);
    for (int i = 0; i < count / 4; ++i)
    {
        const int row = rng.uniform(0, count);
        const float x = specialValue(rng), y = specialValue(rng);
        result.refined.at<Point2f>(row, 0) = Point2f(x, y);
        result.scores.at<float>(row, 0) = specialValue(rng);
        result.confidence.at<float>(row) = specialValue(rng);
        if (i % 4 == 0)
            result.status.at<uchar>(row) = static_cast<uchar>(rng.uniform(4, 256));
    }
    return result;
}

template <typename Check> void forRandomMatches(uint64 seed, const Check& check)
{
    RNG rng(seed);
    for (int i = 0; i < 60; ++i)
    {
        SCOPED_TRACE(i);
        const WindowGrid grid = randomGrid(rng);
        const std::vector<Rect> areas = randomAreas(rng, grid);
        check(grid, areas, randomMatches(rng, grid, areas, 1 + i % 3));
    }
}

Field fieldOf(const WindowGrid& grid, const std::vector<Rect>& areas, const Result& result)
{
    Field field;
    grid.field(areas, result.refined, result.scores, result.confidence, result.status, field.u, field.v, field.score,
               field.confidence, field.valid);
    return field;
}

//! Whether a match is neither at the first nor the last position along an axis, if there can be a choice.
bool plainInside(float refined, int start, int length, int window, int frame)
{
    const Vec2i limits = positionsAlong(start, length, window, frame);
    return length == window ? !cvIsNaN(refined) : limits[0] < refined && refined < limits[1];
}

bool plainInside(const WindowGrid& grid, const Rect& area, Point2f refined)
{
    return plainInside(refined.x, area.x, area.width, grid.window.width, grid.frame.width) &&
           plainInside(refined.y, area.y, area.height, grid.window.height, grid.frame.height);
}

//! The field by a plain loop. Every NaN of a motion is that of the standard library.
Field plainField(const WindowGrid& grid, const std::vector<Rect>& areas, const Result& result)
{
    const Size size = grid.size();
    Field field = {Mat(size, CV_32FC1), Mat(size, CV_32FC1), result.scores.col(0).clone().reshape(1, size.height),
                   result.confidence.clone().reshape(1, size.height), Mat(size, CV_8UC1)};
    for (int i = 0; i < size.area(); ++i)
    {
        const Point cell(i % size.width, i / size.width);
        const Point2f refined = result.refined.at<Point2f>(i, 0);
        const bool found = result.status.at<uchar>(i) == FM::FOUND;
        const float u = refined.x - static_cast<float>(cell.x * grid.step.width),
                    v = refined.y - static_cast<float>(cell.y * grid.step.height);
        field.u.at<float>(cell) = found && !cvIsNaN(u) ? u : NONE;
        field.v.at<float>(cell) = found && !cvIsNaN(v) ? v : NONE;
        field.valid.at<uchar>(cell) = found && plainInside(grid, areas[i], refined);
    }
    return field;
}

TEST(FragmentMatcher_Windows, fieldsOfMatches)
{
    int valid = 0, missing = 0, atLimit = 0;
    forRandomMatches(0x3172,
                     [&](const WindowGrid& grid, const std::vector<Rect>& areas, const Result& result)
                     {
                         const Field truth = plainField(grid, areas, result), field = fieldOf(grid, areas, result);
                         expectSame(truth, field);
                         const Mat isNumber = field.u == field.u;
                         valid += countNonZero(field.valid);
                         missing += countNonZero(~isNumber);
                         atLimit += countNonZero(isNumber & (field.valid == 0));
                     });
    EXPECT_GT(std::min({valid, missing, atLimit}), 1000);
}

TEST_F(FragmentMatcher_CudaWindows, fieldsOfMatches)
{
    forRandomMatches(0x3173,
                     [](const WindowGrid& grid, const std::vector<Rect>& areas, const Result& result)
                     {
                         const Field truth = fieldOf(grid, areas, result);
                         GpuMat u, v, score, confidence, valid;
                         grid.field(uploadRoi(columnOf(areas)), uploadRoi(result.refined), uploadRoi(result.scores),
                                    uploadRoi(result.confidence), uploadRoi(result.status), u, v, score, confidence,
                                    valid);
                         expectSame(truth, {Mat(u), Mat(v), Mat(score), Mat(confidence), Mat(valid)});
                     });
}

TEST(FragmentMatcher_Windows, refusedGrids)
{
    const struct
    {
        Size frame, window, step;
        const char* words;
    } table[] = {{{0, 10}, {5, 5}, {1, 1}, "frame: 0 x 10"},
                 {{32768, 10}, {5, 5}, {1, 1}, "frame: 32768 x 10"},
                 {{20, 10}, {5, 0}, {1, 1}, "window: 5 x 0"},
                 {{20, 10}, {-5, 5}, {1, 1}, "window: -5 x 5"},
                 {{20, 10}, {5, 5}, {0, 1}, "step: 0 x 1"},
                 {{20, 10}, {5, 5}, {1, 32768}, "step: 1 x 32768"},
                 {{20, 10}, {5, 11}, {1, 1}, "window: 5 x 11, which does not fit into the frame of 20 x 10"},
                 {{1000, 101}, {1, 1}, {1, 1}, "step: 1 x 1 gives 1000 x 101 windows"},
                 {{32767, 32767}, {1, 1}, {1, 1}, "step: 1 x 1 gives 32767 x 32767 windows"}};
    for (const auto& row : table)
    {
        expectRefused([&] { WindowGrid::create(row.frame, row.window, row.step); }, {row.words});
        WindowGrid grid;
        grid.frame = row.frame, grid.window = row.window, grid.step = row.step;
        std::vector<Rect> rects(3);
        expectRefused([&] { grid.size(); }, {row.words});
        expectRefused([&] { grid.regions(rects); }, {row.words});
        expectRefused([&] { grid.areas(Size(), noArray(), noArray(), rects); }, {row.words});
        EXPECT_EQ(3u, rects.size());
    }
}

TEST(FragmentMatcher_Windows, refusedArrays)
{
    const WindowGrid grid = WindowGrid::create(Size(64, 64), Size(16, 16), Size(16, 16));
    const Mat field(4, 4, CV_32FC1, Scalar(1));
    Mat areas(1, 1, CV_8UC1, Scalar(7));
    const auto refuse = [&](Size reach, InputArray u, InputArray v, const char* words)
    { expectRefused([&] { grid.areas(reach, u, v, areas); }, {words}); };
    refuse(Size(-1, 0), field, field, "reach: -1 x 0");
    refuse(Size(0, 32768), field, field, "reach: 0 x 32768");
    refuse(Size(1, 1), field, noArray(), "v: is not given");
    refuse(Size(1, 1), noArray(), field, "v: is given, but u is not");
    refuse(Size(1, 1), Mat(4, 4, CV_64FC1, Scalar(1)), field, "u: type CV_64FC1");
    refuse(Size(1, 1), field, Mat(4, 4, CV_32SC1, Scalar(1)), "v: type CV_32SC1");
    refuse(Size(1, 1), field, field.colRange(1, 4), "u, v: 4 x 4 and 4 x 3 elements");
    EXPECT_EQ(CV_8UC1, areas.type());

    RNG rng(0x3174);
    const std::vector<Rect> goodAreas = randomAreas(rng, grid);
    const Result good = randomMatches(rng, grid, goodAreas, 2);
    Mat u(1, 1, CV_8UC1, Scalar(7)), v;
    const auto refuseField = [&](const Result& r, const char* words, InputArray given)
    { expectRefused([&] { grid.field(given, r.refined, r.scores, r.confidence, r.status, u, v); }, {words}); };
    refuseField(good, "areas: 1 x 15 elements", std::vector<Rect>(15));
    refuseField(good, "areas: 16 x 3 elements", Mat(16, 3, CV_32SC1, Scalar(0)));
    refuseField(good, "areas: 0 x 0 elements", noArray());
    Result bad = good;
    bad.refined = good.refined.rowRange(0, 15);
    refuseField(bad, "refined: 15 x 2 elements", goodAreas);
    bad = good;
    bad.refined = good.locations;
    refuseField(bad, "refined: type CV_32SC2", goodAreas);
    bad = good;
    bad.scores = Mat(17, 2, CV_32FC1);
    refuseField(bad, "scores: 17 x 2", goodAreas);
    bad = good;
    bad.confidence = Mat();
    refuseField(bad, "confidences: type", goodAreas);
    bad = good;
    bad.status = good.scores;
    refuseField(bad, "status: type CV_32FC1", goodAreas);
    EXPECT_EQ(CV_8UC1, u.type());
    Mat_<uchar> typed(4, 4, uchar(7));
    expectRefused([&] { grid.field(goodAreas, good.refined, good.scores, good.confidence, good.status, u, typed); },
                  {"v"});
    EXPECT_EQ(CV_8UC1, u.type());
}

//! Every type but the stated one is refused by the names of argument and type, and outputs stay as they were.
TEST(FragmentMatcher_Windows, refusedTypes)
{
    const WindowGrid grid = WindowGrid::create(Size(64, 64), Size(16, 16), Size(16, 16));
    const struct
    {
        const char* name;
        Size size;
        int type;
    } inputs[] = {{"areas", {1, 16}, CV_32SC4},  {"refined", {2, 16}, CV_32FC2},
                  {"scores", {2, 16}, CV_32FC1}, {"confidences", {1, 16}, CV_32FC1},
                  {"status", {1, 16}, CV_8UC1},  {"u", {4, 4}, CV_32FC1},
                  {"v", {4, 4}, CV_32FC1}};
    int refused = 0;
    for (int wrong = 0; wrong < 7; ++wrong)
        for (int type = 0; type < CV_MAKETYPE(CV_16F, 5); ++type)
        {
            Mat given[7], areas(2, 3, CV_8UC1, Scalar(7)), u = areas.clone(), v = areas.clone();
            for (int i = 0; i < 7; ++i)
                given[i] = Mat(inputs[i].size, i == wrong ? type : inputs[i].type, Scalar::all(0));
            if (type == inputs[wrong].type)
                continue;
            SCOPED_TRACE(inputs[wrong].name + (" " + typeToString(type)));
            expectRefused(
                [&]
                {
                    grid.field(given[0], given[1], given[2], given[3], given[4], u, v);
                    grid.areas(Size(3, 3), given[5], given[6], areas);
                },
                {inputs[wrong].name, typeToString(type)});
            const Mat& kept = wrong < 5 ? u : areas;
            EXPECT_TRUE(sameBits(Mat(2, 3, CV_8UC1, Scalar(7)), kept));
            ++refused;
        }
    EXPECT_EQ(7 * (CV_MAKETYPE(CV_16F, 5) - 1), refused);

    RNG rng(0x3176);
    const std::vector<Rect> searched = randomAreas(rng, grid);
    const Result r = randomMatches(rng, grid, searched, 2);
    Mat outputs[5];
    for (int fixed = 0; fixed < 5; ++fixed)
    {
        Mat_<double> typed(2, 3, 7.);
        const auto out = [&](int i) { return i == fixed ? _OutputArray(typed) : _OutputArray(outputs[i]); };
        expectRefused(
            [&] {
                grid.field(searched, r.refined, r.scores, r.confidence, r.status, out(0), out(1), out(2), out(3),
                           out(4));
            },
            {std::vector<std::string>{"u", "v", "score", "confidence", "valid"}[fixed]});
        EXPECT_TRUE(sameBits(Mat(2, 3, CV_64FC1, Scalar(7)), typed));
        for (const Mat& output : outputs)
            EXPECT_TRUE(output.empty());
    }
    Mat_<float> typed(2, 3, 7.f);
    expectRefused([&] { grid.regions(typed); }, {"regions"});
    expectRefused([&] { grid.areas(Size(3, 3), noArray(), noArray(), typed); }, {"areas"});
    const int sides[] = {2, 3, 4};
    const Mat cube(3, sides, CV_32FC1, Scalar(0));
    expectRefused([&] { grid.areas(Size(3, 3), cube, cube, outputs[0]); }, {"u"});
}

TEST_F(FragmentMatcher_CudaWindows, refusedMemory)
{
    const WindowGrid grid = WindowGrid::create(Size(64, 64), Size(16, 16), Size(16, 16));
    const Mat field(4, 4, CV_32FC1, Scalar(1));
    Mat areas;
    GpuMat deviceAreas;
    expectRefused([&] { grid.areas(Size(1, 1), GpuMat(field), GpuMat(field), areas); }, {"u: is a GpuMat"});
    expectRefused([&] { grid.areas(Size(1, 1), GpuMat(field), field, deviceAreas); }, {"v: is a Mat"});
    RNG rng(0x3175);
    const std::vector<Rect> a = randomAreas(rng, grid);
    const Result r = randomMatches(rng, grid, a, 2);
    const GpuMat onDevice(columnOf(a)), refined(r.refined);
    Mat u, v;
    GpuMat deviceU;
    expectRefused([&] { grid.field(a, r.refined, r.scores, r.confidence, r.status, u, deviceU); }, {"v: is a GpuMat"});
    expectRefused([&] { grid.field(onDevice, refined, r.scores, r.confidence, r.status, deviceU, v); },
                  {"scores: is a Mat"});
    expectRefused([&] { grid.field(a, refined, r.scores, r.confidence, r.status, deviceU, v); }, {"areas: is a Mat"});
    expectRefused([&] { grid.field(onDevice, r.refined, r.scores, r.confidence, r.status, u, v); },
                  {"areas: is a GpuMat"});
    EXPECT_TRUE(u.empty() && areas.empty());
}

//! Two passes: 32 pixels to find the motion, 16 pixels around it.
class TwoPasses
{
public:
    TwoPasses()
        : coarse_(WindowGrid::create(SIZE, Size(32, 32), Size(16, 16))),
          fine_(WindowGrid::create(SIZE, Size(16, 16), Size(8, 8)))
    {
        FM::Params params = gaussianParams(FM::ZNCC);
        params.maxSearchArea = Size(56, 56);
        first = FM::create(params);
        params.maxSearchArea = Size(20, 20);
        second = FM::create(params);
        coarse_.regions(coarseWindows_);
        fine_.regions(fineWindows_);
    }

    //! Arrays of one pass, Mat or GpuMat.
    template <typename Array> struct Pass
    {
        Array areas, locations, scores, confidence, status, refined, u, v, valid;
    };
    template <typename Array> struct Memory
    {
        Pass<Array> coarse, fine;
    };

    template <typename Array>
    void run(const Array& before, const Array& after, Memory<Array>& m, cuda::Stream& stream = cuda::noStream())
    {
        coarse_.areas(Size(12, 12), noArray(), noArray(), m.coarse.areas, stream);
        search(*first, coarse_, coarseWindows_, before, after, m.coarse, stream);
        fine_.areas(Size(2, 2), m.coarse.u, m.coarse.v, m.fine.areas, stream);
        search(*second, fine_, fineWindows_, before, after, m.fine, stream);
    }

    Ptr<FM> first, second;
    static const Size SIZE;

private:
    template <typename Array>
    static void search(FM& matcher, const WindowGrid& grid, const std::vector<Rect>& windows, const Array& before,
                       const Array& after, Pass<Array>& m, cuda::Stream& stream)
    {
        matcher.cutFragments(before, windows, noArray(), stream);
        matcher.match(after, m.areas, m.locations, m.scores, m.confidence, m.status, m.refined, stream);
        grid.field(m.areas, m.refined, m.scores, m.confidence, m.status, m.u, m.v, noArray(), noArray(), m.valid,
                   stream);
    }

    WindowGrid coarse_, fine_;
    std::vector<Rect> coarseWindows_, fineWindows_;
};
const Size TwoPasses::SIZE(256, 192);

TEST(FragmentMatcher_Windows, twoPassesOverParticles)
{
    TwoPasses passes;
    TwoPasses::Memory<Mat> m;
    passes.run(particles(5, TwoPasses::SIZE, 0.), particles(5, TwoPasses::SIZE, 9.3), m);
    ASSERT_EQ(Size(31, 23), m.fine.u.size());
    std::vector<float> errors;
    for (int y = 0; y < 23; ++y)
        for (int x = 0; x < 28; ++x) // the last windows leave the frame
            errors.push_back(std::abs(m.fine.u.at<float>(y, x) - 9.3f));
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() / 2], 0.02f);
    EXPECT_LT(errors[errors.size() * 9 / 10], 0.1f);
}

//! A motion beyond the reach, or beyond the frame, ends at the limit of the area: such a vector is whole, its score may
//! be anything, and it is not valid.
TEST(FragmentMatcher_Windows, vectorsAtTheLimit)
{
    const Mat before = particles(8, Size(160, 128), 0.), after = particles(8, before.size(), 6.3);
    const WindowGrid grid = WindowGrid::create(before.size(), Size(32, 32), Size(16, 16));
    const Ptr<FM> matcher = FM::create(gaussianParams(FM::ZNCC));
    std::vector<Rect> windows, areas;
    grid.regions(windows);
    matcher->cutFragments(before, windows);
    const auto search = [&](Size reach)
    {
        grid.areas(reach, noArray(), noArray(), areas);
        Result r;
        matcher->match(after, areas, r.locations, r.scores, r.confidence, r.status, r.refined);
        return fieldOf(grid, areas, r);
    };
    const Rect inner(1, 1, 6, 5); // 9 x 7 windows; those of the last columns leave the frame
    const Field far = search(Size(9, 4)), near = search(Size(6, 4)), flat = search(Size(9, 0));
    EXPECT_EQ(inner.area(), countNonZero(far.valid(inner)));
    for (const int row : {0, 6})
        EXPECT_EQ(0, countNonZero(far.valid.row(row).colRange(1, 7))); // v is 0, where the frame ends
    EXPECT_EQ(0, countNonZero(near.valid(inner)));
    EXPECT_EQ(inner.area(), countNonZero(near.u(inner) == 6.f));
    EXPECT_GT(mean(near.score(inner))[0], 0.8);
    EXPECT_EQ(7 * 6, countNonZero(flat.valid.colRange(1, 7))); // no reach in y, so no limit
    EXPECT_EQ(flat.v.size().area(), countNonZero(flat.v == 0.f));
}

//! Hostile areas give no valid vector unless the match lies inside of what they have in the frame.
TEST(FragmentMatcher_Windows, limitsOfAnyArea)
{
    const WindowGrid grid = WindowGrid::create(Size(40, 30), Size(20, 10), Size(40, 30));
    const int low = std::numeric_limits<int>::min(), high = std::numeric_limits<int>::max();
    Result r = oracle::emptyResult(1, 1);
    const struct
    {
        Rect area;
        Point2f match;
        bool valid;
    } table[] = {{{-5, -5, high, high}, {10.f, 10.f}, true},
                 {{-5, -5, high, high}, {20.f, 10.f}, false},
                 {{-5, -5, high, high}, {19.5f, 19.5f}, true},
                 {{low, low, high, high}, {10.f, 10.f}, false},
                 {{high, high, high, high}, {10.f, 10.f}, false},
                 {{5, 5, 25, 15}, {5.f, 7.f}, false},
                 {{5, 5, 25, 15}, {7.f, 10.f}, false},
                 {{5, 5, 25, 15}, {5.5f, 9.5f}, true},
                 {{5, 5, 20, 15}, {5.f, 7.f}, true},
                 {{5, 5, 20, 10}, {5.f, 5.f}, true},
                 {{5, 5, 25, 15}, {NONE, 7.f}, false},
                 {{5, 5, 20, 10}, {5.f, NONE}, false},
                 {{0, 0, 0, 0}, {NONE, NONE}, false},
                 {{5, 5, -25, high}, {5.f, 10.f}, false}};
    for (const auto& row : table)
    {
        r.refined.at<Point2f>(0) = row.match;
        const Field field = fieldOf(grid, {row.area}, r);
        EXPECT_EQ(row.valid, field.valid.at<uchar>(0) == 1) << row.area << " " << row.match;
    }
}

//! Fields of any motion give areas that match() takes: those beyond the frame have no match, all others their best one.
TEST(FragmentMatcher_Windows, anyMotionIsSearched)
{
    RNG rng(0x3177);
    const Mat frame = randomImage(rng, Size(96, 64), CV_16UC1);
    const WindowGrid grid = WindowGrid::create(frame.size(), Size(16, 16), Size(8, 8));
    const Ptr<FM> matcher = FM::create(gaussianParams(FM::ZNCC));
    std::vector<Rect> windows;
    grid.regions(windows);
    matcher->cutFragments(frame, windows);
    int searched = 0;
    for (const Size reach : {Size(0, 0), Size(5, 4), Size(32767, 32767)})
        for (const bool moves : {false, true})
        {
            SCOPED_TRACE(cv::format("reach %d, moves %d", reach.width, moves));
            const Mat u = moves ? motionField(rng, grid.size()) : Mat(), v = moves ? motionField(rng, grid.size()) : u;
            std::vector<Rect> areas;
            grid.areas(reach, u, v, areas);
            Result result;
            matcher->match(frame, areas, result.locations, result.scores, result.confidence, result.status,
                           result.refined);
            const Field field = fieldOf(grid, areas, result);
            for (size_t i = 0; i < windows.size(); ++i)
            {
                const int col = static_cast<int>(i) % field.u.cols, row = static_cast<int>(i) / field.u.cols;
                const Rect inside = areas[i] & Rect(Point(), frame.size());
                const bool fits = inside.width >= 16 && inside.height >= 16,
                           home = fits && (inside & windows[i]) == windows[i];
                EXPECT_EQ(fits && plainInside(grid, areas[i], result.refined.at<Point2f>(static_cast<int>(i), 0)),
                          field.valid.at<uchar>(row, col) == 1);
                EXPECT_EQ(!fits, cvIsNaN(field.u.at<float>(row, col)) && cvIsNaN(field.v.at<float>(row, col)));
                if (home) // the window finds itself
                {
                    EXPECT_EQ(windows[i].tl(), result.locations.at<Point>(static_cast<int>(i), 0));
                    EXPECT_EQ(1.f, field.score.at<float>(row, col));
                }
                searched += home;
            }
        }
    EXPECT_GT(searched, 250);
}

//! One grid and its inputs on many threads.
TEST(FragmentMatcher_Windows, onManyThreads)
{
    RNG rng(0x3178);
    const WindowGrid grid = WindowGrid::create(Size(700, 500), Size(16, 16), Size(4, 4));
    const Mat u = motionField(rng, Size(40, 30)), v = motionField(rng, Size(40, 30));
    const std::vector<Rect> searched = randomAreas(rng, grid), truth = plainAreas(grid, Size(5, 6), u, v);
    const Result result = randomMatches(rng, grid, searched, 2);
    const Field field = plainField(grid, searched, result);
    onThreads(8,
              [&](int) -> std::string
              {
                  std::vector<Rect> areas;
                  for (int i = 0; i < 30; ++i)
                  {
                      grid.areas(Size(5, 6), u, v, areas);
                      const Field made = fieldOf(grid, searched, result);
                      if (areas != truth || !sameBits(field.u, made.u) || !sameBits(field.v, made.v) ||
                          !sameBits(field.score, made.score) || !sameBits(field.valid, made.valid))
                          return cv::format("call %d differs", i);
                  }
                  return "";
              });
}

#ifdef HAVE_CUDA

//! All of both passes is one graph, whose replays see other images.
TEST_F(FragmentMatcher_CudaWindows, twoPassesInAGraph)
{
    TwoPasses passes, onHost;
    cuda::Stream stream;
    TwoPasses::Memory<GpuMat> m;
    GpuMat before(particles(6, TwoPasses::SIZE, 0.)), after(particles(6, TwoPasses::SIZE, 3.));
    passes.run(before, after, m, stream);
    Graph graph(stream);
    passes.run(before, after, m, stream);
    graph.end();
    for (const double shift : {-7.6, 0.2, 9.3})
    {
        const Mat one = particles(7, TwoPasses::SIZE, 0.), other = particles(7, TwoPasses::SIZE, shift);
        before.upload(one);
        after.upload(other);
        graph.launch();
        stream.waitForCompletion();
        TwoPasses::Memory<Mat> truth;
        onHost.run(one, other, truth);
        EXPECT_TRUE(sameBits(truth.coarse.u, Mat(m.coarse.u)));
        EXPECT_TRUE(sameBits(truth.fine.u, Mat(m.fine.u)));
        EXPECT_TRUE(sameBits(truth.fine.v, Mat(m.fine.v)));
        EXPECT_TRUE(sameBits(truth.fine.valid, Mat(m.fine.valid)));
        EXPECT_GT(countNonZero(truth.fine.u == truth.fine.u), 600);
        EXPECT_GT(countNonZero(truth.fine.valid), 500);
    }
}

#endif

}} // namespace opencv_test
