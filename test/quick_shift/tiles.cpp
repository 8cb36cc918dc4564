// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// QuickShiftTiles: tiles that come one by one, in any order, give the labels of one call on the whole image.
#include "../common/faults.hpp"
#include "scenes.hpp"
#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <future>
#include <numeric>
#include <thread>

namespace opencv_test { namespace {

using namespace scenes;
using cv::cuda::GpuMat;
using cv::cuda::QuickShiftTiles;
using QuickShift_Cuda = OnCuda;

//! Settings that the instances of a test share.
struct Settings
{
    double sigma = 1.5, maxDist = 7., scale = 0.15;
    int searchRadius = QuickShift::SEARCH_MAX_DIST, tieRule = QuickShift::INDEX;
    bool normalize = false;

    Ptr<QuickShift> make() const
    {
        const Ptr<QuickShift> q = QuickShift::create(sigma, maxDist, scale);
        q->setSearchRadius(searchRadius);
        q->setTieRule(tieRule);
        q->setNormalizeDensity(normalize);
        return q;
    }
};

//! Computes the pixels of a tile with its halo and adds the tile. @return its labels.
Mat added(QuickShiftTiles& tiles, Point tile, const Ptr<QuickShift>& q, const Mat& image, const Mat& mask = Mat(),
          bool onDevice = false)
{
    const Rect source = tiles.getSource(tile);
    Mat labels;
    if (onDevice)
        q->compute(GpuMat(image(source)), mask.empty() ? GpuMat() : GpuMat(mask(source)));
    else
        q->compute(image(source), mask.empty() ? Mat() : mask(source));
    tiles.add(tile, q, labels);
    return labels;
}

//! Returns all tiles in an order that depends on the seed.
std::vector<Point> shuffled(Size grid, uint64 seed)
{
    std::vector<Point> order;
    for (int i = 0; i < grid.area(); ++i)
        order.emplace_back(i % grid.width, i / grid.width);
    RNG rng(seed);
    for (int i = grid.area() - 1; i > 0; --i)
        std::swap(order[i], order[rng.uniform(0, i + 1)]);
    return order;
}

//! Computes an image by tiles. @return the labels of the whole image.
Mat joined(const Settings& settings, const Mat& image, const Mat& mask, Size tile, uint64 seed)
{
    const Ptr<QuickShift> q = settings.make();
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(q, image.size(), tile);
    Mat whole(image.size(), CV_32S, Scalar(-7));
    const std::vector<Point> order = shuffled(tiles->getGrid(), seed);
    for (const Point at : order)
        added(*tiles, at, q, image, mask).copyTo(whole(tiles->getTile(at)));
    double most = 0;
    const int superpixels = tiles->join();
    EXPECT_EQ(superpixels, tiles->join()) << "once more";
    for (const Point at : order)
        tiles->relabel(at, whole(tiles->getTile(at)));
    minMaxLoc(whole, nullptr, &most);
    EXPECT_EQ(superpixels, static_cast<int>(most) + 1);
    return whole;
}

void expectLikeWhole(const Settings& settings, const Mat& image, const Mat& mask, Size tile, const std::string& what)
{
    SCOPED_TRACE(cv::format("%s, tiles of %d x %d", what.c_str(), tile.width, tile.height));
    const Ptr<QuickShift> q = settings.make();
    const Results whole = computed(*q, image, mask);
    for (const uint64 seed : {1, 2})
        EXPECT_TRUE(sameBits(whole.labels, joined(settings, image, mask, tile, seed)));
}

TEST(QuickShift_Tiles, likeTheWhole)
{
    RNG rng(621);
    Mat mask(Size(131, 97), CV_8U);
    rng.fill(mask, RNG::UNIFORM, 0, 9);
    mask(Rect(30, 20, 40, 30)).setTo(0);
    for (const int type : {CV_8UC1, CV_8UC3, CV_16UC(6), CV_32FC4})
        for (const Size tile : {Size(40, 33), Size(131, 20), Size(13, 97), Size(9, 8), Size(500, 500), Size(1, 30)})
        {
            Mat image;
            randomImage(rng, mask.size(), CV_8UC(CV_MAT_CN(type)), 5).convertTo(image, type);
            expectLikeWhole(Settings(), image, Mat(), tile, typeToString(type));
            expectLikeWhole(Settings(), image, mask, tile, typeToString(type) + ", mask");
        }
    Mat none = Mat::zeros(mask.size(), CV_8U);
    expectLikeWhole(Settings(), Mat(mask.size(), CV_8U, Scalar(3)), none, Size(40, 40), "all masked");
}

//! Parents lie several tiles away; on a plateau one chain of parents runs through all tiles.
TEST(QuickShift_Tiles, settings)
{
    const Mat image = randomImage(622, Size(120, 90), CV_8UC3, 5), flat(image.size(), CV_8UC3, Scalar(7, 8, 9));
    Settings s;
    s.maxDist = 60.;
    for (const double sigma : {0.3, 4.})
        for (const int rule : {QuickShift::INDEX, QuickShift::STRICT})
            for (const int radius : {int(QuickShift::SEARCH_MAX_DIST), int(QuickShift::SEARCH_WINDOW), 300})
            {
                s.sigma = sigma;
                s.tieRule = rule;
                s.searchRadius = radius;
                s.normalize = radius == 300;
                const std::string what = cv::format("sigma %g, rule %d, radius %d", sigma, rule, radius);
                expectLikeWhole(s, image, Mat(), Size(25, 31), what);
                expectLikeWhole(s, flat, Mat(), Size(25, 31), what + ", flat");
            }
}

TEST(QuickShift_Tiles, geometry)
{
    Settings s;
    s.sigma = 2.1; // ceil(6.3) = 7
    s.maxDist = 9.5;
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(s.make(), Size(100, 70), Size(30, 40));
    EXPECT_EQ(17, tiles->getHalo());
    EXPECT_EQ(Size(4, 2), tiles->getGrid());
    EXPECT_EQ(Rect(90, 40, 10, 30), tiles->getTile(Point(3, 1)));
    EXPECT_EQ(Rect(73, 23, 27, 47), tiles->getSource(Point(3, 1)));
    EXPECT_EQ(Rect(13, 0, 64, 57), tiles->getSource(Point(1, 0)));
    s.searchRadius = QuickShift::SEARCH_WINDOW;
    EXPECT_EQ(14, QuickShiftTiles::create(s.make(), Size(9, 9), Size(3, 3))->getHalo());
    const Ptr<QuickShiftTiles> large = QuickShiftTiles::create(s.make(), Size(INT_MAX, 30000), Size(65500, 30000));
    EXPECT_EQ(Size(32787, 1), large->getGrid());
    EXPECT_EQ(Rect(2147483000, 0, 647, 30000), large->getTile(Point(32786, 0)));
    EXPECT_EQ(Rect(2147482986, 0, 661, 30000), large->getSource(Point(32786, 0)));
}

//! Only tiles with a missing neighbour keep labels, so one row of tiles is in memory at a time.
TEST(QuickShift_Tiles, memory)
{
    const Mat image = randomImage(623, Size(100, 1000), CV_8UC1, 9);
    Settings s;
    s.scale = 0.02; // large superpixels
    const Ptr<QuickShift> q = s.make();
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(q, image.size(), Size(50, 50));
    const size_t before = tiles->workspaceBytes(), frame = sizeof(int) * (2 * 7 * 50 + 2 * 7 * 36);
    size_t labels = 0;
    for (int i = 0; i < 40; ++i)
    {
        double most = 0;
        minMaxLoc(added(*tiles, Point(i % 2, i / 2), q, image), nullptr, &most);
        labels += static_cast<size_t>(most) + 1;
        const size_t bytes = tiles->workspaceBytes() - before;
        EXPECT_GE(bytes, 8 * labels + (i < 39 ? frame : 0)) << i;
        // A vector may have twice the memory that it needs. Of the rows above, only the last one is kept.
        EXPECT_LE(bytes, 16 * labels + (i < 39 ? 5 : 0) * frame) << i;
    }
    tiles->join();
    EXPECT_EQ(4 * labels, tiles->workspaceBytes() - before);
}

//! The list of parts grows by factors, not by each tile. Pixels without a parent keep all else constant.
TEST(QuickShift_Tiles, manyTiles)
{
    const int count = 1000, side = 3;
    Settings s;
    s.sigma = 0.3;
    s.maxDist = 0.5;
    const Ptr<QuickShift> q = s.make();
    const Mat image(side, side * count, CV_8UC1, Scalar(1));
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(q, image.size(), Size(side, side));
    std::set<size_t> sizes;
    for (int i = 0; i < count; ++i)
    {
        added(*tiles, Point(i, 0), q, image);
        if (i > 2 && i < count - 1)
            sizes.insert(tiles->workspaceBytes());
    }
    EXPECT_LE(sizes.size(), 20u);
    EXPECT_EQ(count * side * side, tiles->join());
}

TEST(QuickShift_Tiles, refused)
{
    const Mat image = randomImage(624, Size(100, 70), CV_8UC3, 5), other = randomImage(625, image.size(), CV_8UC4, 5);
    const Settings s;
    const Ptr<QuickShift> q = s.make(), unused = s.make();
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(q, image.size(), Size(30, 40));
    std::map<int, Mat> labels;
    Mat out;
    const auto add = [&](Point at, const Ptr<QuickShift>& computed) { tiles->add(at, computed, out); };
    const auto refused = [&](const char* says, const std::function<void()>& call)
    {
        SCOPED_TRACE(says);
        const size_t bytes = tiles->workspaceBytes();
        EXPECT_EQ(says, thrownBy(call).err);
        EXPECT_EQ(bytes, tiles->workspaceBytes());
    };
    refused("tile (4, 0): there are only 4 x 2", [&] { tiles->getSource(Point(4, 0)); });
    refused("tile (0, -1): there are only 4 x 2", [&] { add(Point(0, -1), q); });
    refused("tile (1, 0): `computed` has no results", [&] { add(Point(1, 0), unused); });
    refused("computed: must be made by QuickShift::create()", [&] { add(Point(1, 0), Ptr<QuickShift>()); });
    labels[1] = added(*tiles, Point(1, 0), q, image);
    refused("tile (1, 0): was added already", [&] { add(Point(1, 0), q); });
    q->compute(image(tiles->getTile(Point(2, 0))));
    refused("tile (2, 0): 30 x 40 pixels were computed, but with its halo of 12 pixels it has 52 x 52",
            [&] { add(Point(2, 0), q); });
    q->computeBatch(std::vector<Mat>(2, image(tiles->getSource(Point(2, 0)))), noArray());
    refused("tile (2, 0): `computed` has results of 2 images", [&] { add(Point(2, 0), q); });
    q->compute(other(tiles->getSource(Point(2, 0))));
    refused("tile (2, 0): type CV_8UC4 differs from CV_8UC3 of the tiles before", [&] { add(Point(2, 0), q); });
    q->setTieRule(QuickShift::STRICT);
    q->compute(image(tiles->getSource(Point(2, 0))));
    refused("tile (2, 0): was computed with other settings than those of create()", [&] { add(Point(2, 0), q); });
    q->setTieRule(QuickShift::INDEX);
    q->setSigma(2.);
    q->compute(image(tiles->getSource(Point(2, 0))));
    refused("tile (2, 0): was computed with other settings than those of create()", [&] { add(Point(2, 0), q); });
    refused("tile (1, 0): the tiles are not joined yet", [&] { tiles->relabel(Point(1, 0), labels[1]); });
    refused("tile (0, 0): was not added; 7 of 8 are missing", [&] { tiles->join(); });

    for (const Point at : shuffled(tiles->getGrid(), 3))
        if (at != Point(1, 0))
            labels[at.y * 4 + at.x] = added(*tiles, at, unused, image);
    const int superpixels = tiles->join();
    refused("tile (2, 0): all tiles are joined already", [&] { add(Point(2, 0), unused); });
    Mat wrong = labels[1].clone();
    refused("labels: of tile (0, 0) must be CV_32SC1, 30 x 40, on the host",
            [&] { tiles->relabel(Point(0, 0), wrong.rowRange(0, 9)); });
    wrong.at<int>(3, 5) = 5000;
    EXPECT_THROW(tiles->relabel(Point(1, 0), wrong), cv::Exception);
    EXPECT_TRUE(sameBits(labels[1].rowRange(0, 3), wrong.rowRange(0, 3))) << "nothing has changed";
    const Results whole = computed(*unused, image);
    EXPECT_EQ(whole.count, superpixels);
    tiles->relabel(Point(1, 0), labels[1]);
    EXPECT_TRUE(sameBits(whole.labels(tiles->getTile(Point(1, 0))), labels[1])) << "refused calls have done no harm";

    EXPECT_THROW(QuickShiftTiles::create(Ptr<QuickShift>(), Size(9, 9), Size(3, 3)), cv::Exception);
    EXPECT_THROW(QuickShiftTiles::create(q, Size(9, 0), Size(3, 3)), cv::Exception);
    EXPECT_THROW(QuickShiftTiles::create(q, Size(9, 9), Size(3, 0)), cv::Exception);
    EXPECT_THROW(QuickShiftTiles::create(q, Size(1 << 20, 1 << 20), Size(1, 1)), cv::Exception);
}

TEST(QuickShift_Tiles, tooLargeWithTheirHalo)
{
    const Settings s;
    const std::string halo = "with its halo of 12 pixels, but at most 65535 a side and 2000000000 pixels are possible";
    const auto made = [&](Size all, Size tile) { return [=] { QuickShiftTiles::create(s.make(), all, tile); }; };
    expectRefused(made(Size(70000, 9), Size(65512, 9)), {"tileSize: 65512 x 9 is 65536 x 9 " + halo});
    expectRefused(made(Size(9, 70000), Size(9, 70000)), {"tileSize: 9 x 70000 is 9 x 70000 " + halo});
    expectRefused(made(Size(70000, 31251), Size(63976, 40000)), {"tileSize: 63976 x 40000 is 64000 x 31251 " + halo});
    EXPECT_NO_THROW(made(Size(70000, 31250), Size(63976, 31250))());
    EXPECT_NO_THROW(made(Size(70000, 9), Size(65511, 9))());
}

//! The first tile, too, must have the settings of create(), whatever these become afterwards.
TEST(QuickShift_Tiles, settingsAreThoseOfCreate)
{
    const Mat image = randomImage(627, Size(60, 40), CV_8UC(6), 5);
    const Settings s;
    const Ptr<QuickShift> q = s.make(), other = s.make();
    q->setScales({0.1, 0.2, 0.3, 0.4, 0.5});
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(q, image.size(), Size(40, 40));
    const char* const says = "tile (1, 0): was computed with other settings than those of create()";
    expectRefused([&] { added(*tiles, Point(1, 0), other, image); }, {says});
    other->setScales({0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
    expectRefused([&] { added(*tiles, Point(1, 0), other, image); }, {says});
    Mat five(image.size(), CV_8UC(5));
    mixChannels(image, five, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
    q->setMaxDist(3.);
    expectRefused([&] { added(*tiles, Point(1, 0), q, five); }, {says});
    EXPECT_NO_THROW(added(*tiles, Point(1, 0), other, five)) << "a factor more than there are channels";
}

//! Stretches the values of each tile on its own, so that halos have other values than the tiles that they are parts of.
void addStretched(QuickShiftTiles& tiles, const Ptr<QuickShift>& q, const Mat& image)
{
    for (const Point at : shuffled(tiles.getGrid(), 1))
    {
        Mat part, labels;
        normalize(image(tiles.getSource(at)), part, 0., 1., NORM_MINMAX);
        q->compute(part);
        tiles.add(at, q, labels);
    }
}

TEST(QuickShift_Tiles, sourcesThatDiffer)
{
    RNG rng(628);
    Mat image(Size(90, 60), CV_32F);
    rng.fill(image, RNG::UNIFORM, 0., .3);
    for (int y = 0; y < image.rows; ++y)
        for (int x = 0; x < image.cols; ++x)
            image.at<float>(y, x) += static_cast<float>((std::sin(x / 9.) + std::cos(y / 7.) + 2.) / 4.);
    Settings s;
    s.sigma = 1.;
    s.maxDist = 4.;
    s.scale = 8.;
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(s.make(), image.size(), Size(10, 10));
    addStretched(*tiles, s.make(), image);
    const size_t bytes = tiles->workspaceBytes();
    // On a thread that is left alone where it does not come to an end.
    std::packaged_task<std::string()> join([tiles] { return std::string(thrownBy([&] { tiles->join(); }).err); });
    std::future<std::string> said = join.get_future();
    std::thread(std::move(join)).detach();
    ASSERT_EQ(std::future_status::ready, said.wait_for(std::chrono::seconds(60))) << "join() does not return";
    int x = -1, y = -1, x2 = -1, y2 = -1;
    const std::string text = said.get();
    EXPECT_EQ(4, std::sscanf(text.c_str(), "tile (%d, %d), tile (%d, %d)", &x, &y, &x2, &y2)) << text;
    EXPECT_EQ(1, std::max(std::abs(x - x2), std::abs(y - y2))) << text;
    EXPECT_NE(std::string::npos, text.find(": their sources differ in pixels or mask where they overlap")) << text;
    EXPECT_EQ(bytes, tiles->workspaceBytes());
    EXPECT_THROW(tiles->join(), cv::Exception) << "once more";
}

//! Parents that lead to a pixel which is masked in its own tile, whichever of the two tiles comes first.
TEST(QuickShift_Tiles, masksThatDiffer)
{
    const Mat flat(Size(90, 30), CV_8U, Scalar(7)), valid(flat.size(), CV_8U, Scalar(1));
    Mat right = valid.clone();
    right.colRange(0, 30).setTo(0); // all of tile (0, 0)
    const Settings s;
    const Ptr<QuickShift> q = s.make();
    for (const bool maskedFirst : {true, false})
    {
        const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(q, flat.size(), Size(30, 30));
        const Point first(maskedFirst ? 0 : 1, 0), second(maskedFirst ? 1 : 0, 0);
        std::map<int, Mat> labels;
        labels[2] = added(*tiles, Point(2, 0), q, flat, valid);
        labels[first.x] = added(*tiles, first, q, flat, maskedFirst ? right : valid);
        const size_t bytes = tiles->workspaceBytes();
        expectRefused([&] { added(*tiles, second, q, flat, maskedFirst ? valid : right); },
                      {cv::format("tile (%d, 0), tile (%d, 0): their sources differ in pixels or mask where they "
                                  "overlap",
                                  second.x, first.x)});
        EXPECT_EQ(bytes, tiles->workspaceBytes());
        labels[second.x] = added(*tiles, second, q, flat, maskedFirst ? right : valid);
        EXPECT_EQ(1, tiles->join()) << "the refused call has done no harm";
        tiles->relabel(Point(2, 0), labels[2]);
        EXPECT_EQ(0, countNonZero(labels[2]));
    }
}

TEST(QuickShift_Tiles, noMemory)
{
    faults::require(faults::MEMORY);
    const Ptr<QuickShift> q = Settings().make();
    int codes = 0;
    for (int n = 1; n < 20; ++n)
    {
        faults::Armed armed(faults::MEMORY, n);
        try
        {
            QuickShiftTiles::create(q, Size(900, 90), Size(3, 9));
        }
        catch (const cv::Exception& e)
        {
            codes += e.code == Error::StsNoMem;
            EXPECT_EQ("tileSize: 3 x 9 makes 3000 tiles, and there is no memory for so many", e.err);
        }
        catch (const std::bad_alloc&)
        {}
    }
    EXPECT_GT(codes, 0);
}

//! Four threads compute tiles with an instance each. @param devices threads that use CUDA.
void expectLikeWholeOnThreads(int devices)
{
    const Mat image = randomImage(626, Size(400, 300), CV_8UC3, 5);
    const Settings s;
    const Ptr<QuickShiftTiles> tiles = QuickShiftTiles::create(s.make(), image.size(), Size(37, 41));
    const std::vector<Point> order = shuffled(tiles->getGrid(), 5);
    std::atomic<int> next(0);
    Mat whole(image.size(), CV_32S);
    onThreads(
        4,
        [&](int thread)
        {
            const Ptr<QuickShift> q = s.make();
            for (int i = next++; i < static_cast<int>(order.size()); i = next++)
                added(*tiles, order[i], q, image, Mat(), thread < devices).copyTo(whole(tiles->getTile(order[i])));
            return std::string();
        });
    tiles->join();
    for (const Point at : order)
        tiles->relabel(at, whole(tiles->getTile(at)));
    EXPECT_TRUE(sameBits(computed(*s.make(), image).labels, whole));
}

TEST(QuickShift_Tiles, threads) { expectLikeWholeOnThreads(0); }

TEST_F(QuickShift_Cuda, tilesOnBothBackends) { expectLikeWholeOnThreads(2); }

}} // namespace opencv_test
