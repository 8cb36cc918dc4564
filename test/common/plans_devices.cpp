// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Plans of QuickShift, cascades and TLD for devices that no machine of ours has. No GPU needed.
#include "plans.hpp"
#include "../cascade/fuzz.hpp"
#ifdef CUDATRACKING_HAS_PLANS
#include "../../src/cuda/cascade/plan.hpp"
#include "../../src/cuda/quick_shift/plan.hpp"
#include "../../src/cuda/tld/plan.hpp"
#include "../../src/cuda/tld/layout.hpp"
#endif

namespace opencv_test { namespace {

using namespace plans;

#ifdef CUDATRACKING_HAS_PLANS

using cv::cuda::detail::ceilDiv;
using cv::cuda::detail::SharedLimit;

// --- QuickShift ------------------------------------------------------------------------------------------------------

namespace qs = cv::cuda::quick_shift;
namespace qsTuning = cv::cuda::quick_shift::gpu::tuning;

//! Every offset of the half plane is in one chunk, and a chunk's credits fit 32 bits.
const char* wrongWith(const qs::gpu::Chunks& c, int radius, int mostDx)
{
    CT_HOLDS(c.dxStep > 0 && c.dyStep > 0 && c.dxStep <= mostDx && c.dyStep <= qsTuning::CHUNK_DY);
    CT_HOLDS(c.dxCount * c.dxStep >= radius + 1 && (c.dxCount - 1) * c.dxStep < radius + 1);
    CT_HOLDS(c.dyCount * c.dyStep >= 2 * radius + 1 && (c.dyCount - 1) * c.dyStep < 2 * radius + 1);
    CT_HOLDS(static_cast<uint32_t>(c.dxStep) * c.dyStep <= qs::MAX_TERMS);
    CT_HOLDS(static_cast<int64_t>(c.dxCount) * c.dyCount <= MOST_BLOCKS_DEEP); // the grid's y
    return nullptr;
}

//! weighBytes(): BYTE_DX columns of factors, then rows of credits, pixels and starts; a thread's last step reads
//! CENTRES rows on.
const char* wrongBytes(const qs::gpu::Chunks& c, size_t bytes)
{
    typedef qs::gpu::ByteShape Shape;
    const int stride = qs::gpu::byteStride(true), rows = Shape::ROWS + c.dyStep - 1;
    CT_HOLDS(qs::gpu::byteRowsAt(c.dyStep) >= c.dxStep * ceilDiv(c.dyStep, 4) * 4);
    CT_HOLDS(qs::gpu::byteRowsAt(c.dyStep) % 4 == 0); // rows of factors are read four at a time
    CT_HOLDS(qs::gpu::BYTE_PITCH >= Shape::COLS + c.dxStep - 1 && stride == 3 * qs::gpu::BYTE_PITCH);
    const int lastRow = Shape::ROWS - Shape::CENTRES + c.dyStep - 1 + Shape::CENTRES - 1;
    CT_HOLDS(lastRow < rows);
    CT_HOLDS(4 * (static_cast<size_t>(qs::gpu::byteRowsAt(c.dyStep)) + static_cast<size_t>(rows) * stride) <= bytes);
    return nullptr;
}

//! A tile of planes has room for its credits, its planes and the factors, and fits the device.
template <typename Shape> const char* wrongPlanes(const qs::gpu::Chunks& c, int planes, size_t most)
{
    const size_t window = static_cast<size_t>(Shape::COLS + c.dxStep - 1) * (Shape::ROWS + c.dyStep - 1);
    const size_t bytes = qs::gpu::bytesOfPlaneTile<Shape>(c, planes);
    CT_HOLDS(bytes <= most);
    CT_HOLDS(bytes >= 4 * (window * (1 + planes) + static_cast<size_t>(c.dxStep) * c.dyStep));
    return nullptr;
}

TEST(QuickShift_Plans, density)
{
    RNG rng(0x5BD1E995);
    Enumeration all;
    for (const size_t sharedBytes : SHARED_BYTES)
        for (const int multiprocessors : MULTIPROCESSORS)
            for (int radius = 0; radius <= qs::MAX_WINDOW_RADIUS; ++radius)
                for (int n = 0; n < 6; ++n)
                {
                    const size_t most = SharedLimit(sharedBytes).dynamicBytes(0);
                    const int count = rng.uniform(0, 3) ? 1 : rng.uniform(1, 65536);
                    const int side = rng.uniform(0, 2) ? 4000 : 300;
                    const qs::Extent extent = {rng.uniform(1, side), rng.uniform(1, side), count};
                    const qs::gpu::Chunks words = qs::gpu::cutForBytes(extent, radius, multiprocessors),
                                          planes = qs::gpu::cutForPlanes(radius, qs::FEW_CHANNELS),
                                          bands = qs::gpu::cutForPlanes(radius, qs::MAX_CHANNELS);
                    const size_t bytes = qs::gpu::bytesOfByteTile(words);
                    const char* wrong = wrongWith(words, radius, qsTuning::BYTE_DX);
                    wrong = wrong ? wrong : wrongWith(planes, radius, qsTuning::PLANE_DX);
                    wrong = wrong ? wrong : wrongWith(bands, radius, qsTuning::BAND_DX);
                    wrong = wrong ? wrong : wrongBytes(words, bytes);
                    wrong = wrong ? wrong : bytes > most ? "a tile of bytes fits" : nullptr;
                    for (int channels = 1; channels <= qs::FEW_CHANNELS && !wrong; ++channels)
                        wrong = wrongPlanes<qs::gpu::PlaneShape>(planes, channels, most);
                    for (int channels = qs::FEW_CHANNELS + 1; channels <= qs::MAX_CHANNELS && !wrong; ++channels)
                        wrong = wrongPlanes<qs::gpu::BandShape>(bands, channels, most);
                    all.add(wrong,
                            [&]
                            {
                                return cv::format("radius %d, %d images of %d x %d, %zu bytes, %d SMs", radius, count,
                                                  extent.cols, extent.rows, sharedBytes, multiprocessors);
                            });
                    if (all.failedOften())
                        return;
                }
    EXPECT_GT(all.plans(), 190000);
}

// --- cascades --------------------------------------------------------------------------------------------------------

namespace cascade = cv::cuda::cascade;
namespace cascadeTuning = cv::cuda::cascade::gpu::tuning;

//! Tiles of both steps have the same windows, and tables have all corners.
const char* wrongWithShapes(const cascade::TileForm& form, const cascade::Model& model)
{
    for (int step = 1; step <= 2; ++step)
    {
        const cascade::gpu::Shape& shape = form.shapes[step - 1];
        const int windows = shape.cols * shape.rows;
        CT_HOLDS(windows > 0 && windows <= cascadeTuning::MAX_WINDOWS && shape.cols <= 64);
        CT_HOLDS(shape.cols == form.shapes[0].cols && shape.rows == form.shapes[0].rows);
        CT_HOLDS(1 << shape.columnBits == shape.cols); // windows by shifts
        CT_HOLDS(shape.patchCols == (shape.cols - 1) * step + model.width && shape.patchStep >= shape.patchCols);
        CT_HOLDS(shape.patchRows == (shape.rows - 1) * step + model.height && shape.patchStep % 16 == 0);
        // The last corner of the last window.
        const int last = shape.place(shape.patchCols, shape.patchRows);
        CT_HOLDS(last < shape.words);
    }
    return nullptr;
}

//! Pairs: a block has norms, then the patch, over which lists come, then tables.
const char* wrongWith(const cascade::TileForm& form, const cascade::Model& model, const SharedLimit& shared)
{
    const cascade::gpu::Layout& layout = form.layout;
    CT_HOLDS(layout.bytes > 0 && static_cast<size_t>(layout.bytes) <= shared.dynamicBytes(cascade::gpu::STATIC_BYTES));
    for (const cascade::gpu::Shape& shape : form.shapes)
    {
        const int windows = shape.cols * shape.rows;
        CT_HOLDS(shape.rows % 2 == 0);
        // Corners are in 16 bits.
        CT_HOLDS(shape.words * (model.tilted ? 2 : 1) <= 65536 && shape.patchCols <= cascadeTuning::PAIR_PIXELS);
        // A list of pairs, which are half as many as windows, and 32 pairs for each warp. LBP features need no patch.
        const bool haar = model.kind == cascade::HAAR;
        const int norms = haar ? 4 * windows : 0, lists = windows + 2 * cascadeTuning::THREADS;
        const int patch = haar ? shape.patchStep * shape.patchRows : 0,
                  tables = 4 * shape.words * (model.tilted ? 2 : 1);
        CT_HOLDS(norms <= layout.patch && layout.patch + lists <= layout.tables);
        CT_HOLDS(layout.patch + patch <= layout.tables && layout.tables + tables <= layout.bytes);
    }
    return wrongWithShapes(form, model);
}

//! Halves use the records of whole tiles, and a thread has as many windows.
const char* wrongWithHalf(const cascade::PackedModel& packed)
{
    for (int k = 0; k < 2; ++k)
    {
        const cascade::gpu::Shape &whole = packed.form.shapes[k], &half = packed.half.shapes[k];
        CT_HOLDS(half.cols == whole.cols && 2 * half.rows == whole.rows);
        CT_HOLDS(half.step == whole.step && half.half == whole.half && half.shift == whole.shift);
    }
    CT_HOLDS(2 * packed.half.threads == packed.form.threads && packed.half.threads >= packed.half.shapes[0].cols);
    return nullptr;
}

//! All windows that models may have.
TEST(Cascade_Plans, tiles)
{
    Enumeration all;
    int64 pairs = 0, halves = 0;
    cascade::PackedModel packed;
    cascade::Model model = {};
    for (const size_t bytes : SHARED_BYTES)
        for (const int kind : {cascade::HAAR, cascade::LBP})
            for (const bool tilted : {false, true})
                for (model.width = cascade::MIN_WINDOW; model.width <= cascade::MAX_WINDOW; ++model.width)
                    for (model.height = cascade::MIN_WINDOW; model.height <= cascade::MAX_WINDOW; ++model.height)
                    {
                        const SharedLimit shared(bytes);
                        const auto describe = [&] {
                            return cv::format("kind %d, %d x %d, tilted %d, %zu bytes", kind, model.width, model.height,
                                              tilted, bytes);
                        };
                        model.kind = kind;
                        model.tilted = tilted && kind == cascade::HAAR;
                        if (choosePairTile(model, shared, packed))
                        {
                            ++pairs;
                            all.add(wrongWith(packed.form, model, shared), describe);
                            if (packed.half.threads > 0)
                            {
                                ++halves;
                                all.add(wrongWith(packed.half, model, shared), describe);
                                all.add(wrongWithHalf(packed), describe);
                            }
                        }
                        all.add(wrongWithShapes(cascade::plainForm(model), model), describe);
                        if (all.failedOften())
                            return;
                    }
    EXPECT_GT(all.plans(), 1000000);
    EXPECT_GT(pairs, 100000);
    EXPECT_GT(halves, 1000);
}

//! Lists the tiles of 64 x 32 windows of a pyramid, layer by layer.
void listTiles(Size image, double factor, std::vector<cascade::gpu::GridRecord>& grids,
               std::vector<cascade::gpu::TileRecord>& tiles)
{
    const int window = 24;
    double scale = 1.;
    for (int layer = 0; image.width / scale >= window && image.height / scale >= window; ++layer, scale *= factor)
    {
        cascade::gpu::GridRecord grid = {};
        grid.step = scale > 2. ? 1 : 2;
        grid.cols = (cvRound(image.width / scale) - window) / grid.step + 1;
        grid.rows = (cvRound(image.height / scale) - window) / grid.step + 1;
        grids.push_back(grid);
        for (int row = 0; row < grid.rows; row += 32)
            for (int col = 0; col < grid.cols; col += 64)
                tiles.push_back({0, layer, layer, col, row, static_cast<int>(tiles.size())});
    }
}

/** Tiles of a step of 1 come first, then small layers; the last tiles of many may have the most windows first.
@param before tiles in the order in which they were listed. */
const char* wrongOrder(const std::vector<cascade::gpu::GridRecord>& grids,
                       const std::vector<cascade::gpu::TileRecord>& before,
                       const std::vector<cascade::gpu::TileRecord>& tiles, int singles, bool byWork,
                       int multiprocessors)
{
    const int count = static_cast<int>(tiles.size()), once = cascadeTuning::PAIR_BLOCKS * multiprocessors;
    const auto stepOf = [&](int i) { return grids[tiles[i].grid].step; };
    const auto sideOf = [&](int i)
    {
        const cascade::gpu::GridRecord& grid = grids[tiles[i].grid];
        return Size(std::min(grid.cols - tiles[i].col, 64), std::min(grid.rows - tiles[i].row, 32));
    };
    std::vector<int> words;
    int ofWork = count; // first tile that is ordered by work
    if (byWork && count - once >= (once + 1) / 2)
        ofWork = std::max({count - cascadeTuning::LAST_TILES * multiprocessors, once, singles});
    for (int i = 0; i < count; ++i)
    {
        words.push_back(tiles[i].word);
        CT_HOLDS((stepOf(i) == 1) == (i < singles));
        if (i > 0 && i != ofWork && i != singles && i < ofWork)
            CT_HOLDS(tiles[i].scale <= tiles[i - 1].scale);
        if (i > ofWork) // neither wider and higher than the one before
            CT_HOLDS(sideOf(i).width <= sideOf(i - 1).width || sideOf(i).height <= sideOf(i - 1).height);
        if (i > ofWork && sideOf(i) == sideOf(i - 1))
            CT_HOLDS(tiles[i].scale <= tiles[i - 1].scale);
    }
    std::sort(words.begin(), words.end());
    for (int i = 0; i < count; ++i)
        CT_HOLDS(words[i] == before[i].word);
    return nullptr;
}

TEST(Cascade_Plans, orderOfTiles)
{
    Enumeration all;
    cascade::gpu::Shape shape = {};
    shape.cols = 64;
    shape.rows = 32;
    for (const int multiprocessors : MULTIPROCESSORS)
        for (const Size image : {Size(30, 30), Size(320, 240), Size(640, 360), Size(1280, 720), Size(1920, 1080)})
            for (const double factor : {1.05, 1.1, 1.2, 2.5})
            {
                std::vector<cascade::gpu::GridRecord> grids;
                std::vector<cascade::gpu::TileRecord> before;
                listTiles(image, factor, grids, before);
                for (const bool byWork : {false, true})
                {
                    std::vector<cascade::gpu::TileRecord> tiles = before;
                    const auto order = byWork ? cascade::TileOrder::LAST_BY_WORK : cascade::TileOrder::BY_LAYER;
                    const int singles = cascade::orderTiles(tiles, grids, shape, order, multiprocessors);
                    all.add(wrongOrder(grids, before, tiles, singles, byWork, multiprocessors),
                            [&] {
                                return cv::format("%d x %d, %g, %d, %d", image.width, image.height, factor, byWork,
                                                  multiprocessors);
                            });
                }
            }
}

//! Halves have as many threads as let those of a multiprocessor be processed at once.
const char* wrongThreads(int threads, int64 tiles, int multiprocessors)
{
    const int64 each = ceilDiv<int64>(tiles, multiprocessors), most = cascadeTuning::THREADS,
                atOnce = most * cascadeTuning::PAIR_BLOCKS;
    CT_HOLDS(threads % 32 == 0 && threads >= most / 2 && threads <= most);
    CT_HOLDS(each * threads <= atOnce || threads == most / 2);
    CT_HOLDS(each * (threads + 32) > atOnce || threads == most);
    return nullptr;
}

TEST(Cascade_Plans, threadsOfHalves)
{
    Enumeration all;
    for (const int multiprocessors : MULTIPROCESSORS)
        for (int64 tiles = 0; tiles <= 9 * multiprocessors; ++tiles)
        {
            const int threads = cascade::threadsOfHalves(tiles, multiprocessors);
            all.add(wrongThreads(threads, tiles, multiprocessors),
                    [&] { return cv::format("%d of %d", static_cast<int>(tiles), multiprocessors); });
        }
    EXPECT_EQ(256, cascade::threadsOfHalves(316, 132));
    EXPECT_EQ(192, cascade::threadsOfHalves(524, 132));
    EXPECT_EQ(128, cascade::threadsOfHalves(529, 132));
}

//! Tiles of a call: halves if all are processed at once.
TEST(Cascade_Plans, fewTilesAreHalves)
{
    cascade::ModelPtr model;
    std::shared_ptr<const cascade::PackedModel> packed;
    for (int64 n = 0; n < 40 && (!packed || packed->half.threads == 0); ++n) // LBP
    {
        const std::string text = fuzz::makeCascadeCase(77, n).text;
        model = cascade::parseModel(text.data(), text.size(), "random");
        packed = cascade::packModel(*model, SharedLimit(232448));
    }
    ASSERT_GT(packed->half.threads, 0);
    int64 halves = 0, wholes = 0;
    for (int cols = 64; cols <= 2000; cols += 120)
    {
        cascade::Request request;
        request.images.resize(1);
        request.images[0].cols = cols;
        request.images[0].rows = cols * 9 / 16;
        request.images[0].channels = 1;
        request.task = {model, cascade::Settings()};
        request.task.settings.scaleFactor = 1.1;
        request.task.settings.maxCandidates = 100;
        const std::shared_ptr<const cascade::Tiling> tiling = cascade::makeTiling(request, *packed, 132);
        const cascade::Tiling& tiles = *tiling;
        const bool half = tiles.form.shapes[0].rows < packed->form.shapes[0].rows;
        const int atOnce = cascadeTuning::PAIR_BLOCKS * 132;
        (half ? halves : wholes) += 1;
        EXPECT_EQ(half ? cascade::threadsOfHalves(tiles.tileCount, 132) : packed->form.threads, tiles.form.threads);
        if (half)
            EXPECT_LE(tiles.tileCount, 2 * atOnce);
        else
            EXPECT_GT(tiles.tileCount, atOnce);
    }
    EXPECT_GT(halves, 2);
    EXPECT_GT(wholes, 2);
}

// --- TLD -------------------------------------------------------------------------------------------------------------

namespace tld = cv::cuda::tld;

TEST(Tld_Plans, sharedMemory)
{
    Enumeration all;
    int64 held = 0;
    for (const size_t bytes : SHARED_BYTES)
        for (const size_t staticBytes : {tld::gpu::POSTERIOR_STATIC_BYTES, tld::gpu::LEARN_NEGATIVES_STATIC_BYTES})
            for (int trees = 1; trees <= tld::MAX_TREES; ++trees)
                for (int features = 1; features <= tld::MAX_FEATURES; ++features)
                {
                    tld::Settings settings = {};
                    settings.trees = trees;
                    settings.features = features;
                    const SharedLimit shared(bytes);
                    const size_t needed = (static_cast<size_t>(trees) << features) * sizeof(uint16_t);
                    const size_t given = tld::gpu::posteriorBytes(settings, shared, staticBytes);
                    held += given > 0;
                    all.add(given != 0 && given != needed ? "all posteriors or none"
                            : given + staticBytes > bytes ? "posteriors fit beside static memory"
                            : given % sizeof(uint4) != 0  ? "posteriors are loaded 16 bytes at a time"
                                                          : nullptr,
                            [&] { return cv::format("%d trees of %d features, %zu bytes", trees, features, bytes); });
                }
    EXPECT_GT(held, 100);
    for (const size_t bytes : SHARED_BYTES)
        for (int points = 1; points <= tld::gpu::MAX_POINTS; ++points)
        {
            const int padded = tld::gpu::paddedPoints(points);
            const int chunks = tld::gpu::encodeChunks(padded, SharedLimit(bytes));
            // Offsets of points, then a word per lane and point for each chunk.
            const size_t needed = 4u * padded + static_cast<size_t>(chunks) * padded * 128;
            all.add(padded < points || padded % 4 != 0                         ? "points are read four at a time"
                    : needed > tld::gpu::encodeBytes(padded, chunks)           ? "pixels of all points"
                    : needed + tld::gpu::ENCODE_STATIC_BYTES > bytes           ? "pixels fit beside static memory"
                    : chunks != 1 && chunks != tld::gpu::tuning::ENCODE_CHUNKS ? "a kernel for these chunks"
                                                                               : nullptr,
                    [&] { return cv::format("%d points, %zu bytes", points, bytes); });
        }
    for (const int multiprocessors : MULTIPROCESSORS)
        for (int objects = 1; objects <= tld::MAX_OBJECTS; ++objects)
        {
            const int parts = tld::gpu::partsOf(objects, multiprocessors);
            all.add(parts < 1 || objects > MOST_BLOCKS_DEEP ? "every object has blocks" : nullptr,
                    [&] { return cv::format("%d objects, %d SMs", objects, multiprocessors); });
        }
}

//! Tiles cover all windows of an object, and no grid is too large.
TEST(Tld_Plans, tiles)
{
    RNG rng(0xCC9E2D51);
    Enumeration all;
    int64 tilesSeen = 0;
    for (int n = 0; n < 40000 && !all.failedOften(); ++n)
    {
        tld::Settings settings = {};
        settings.minWindow = rng.uniform(12, 40);
        settings.scales = rng.uniform(0, 21);
        settings.stepPercent = rng.uniform(4, 60);
        settings.scaleFactor = rng.uniform(1.05, 2.);
        settings.trees = rng.uniform(1, tld::MAX_TREES + 1);
        settings.features = rng.uniform(1, std::min(tld::MAX_FEATURES, tld::ALL_FEATURES / settings.trees) + 1);
        const Size image = rng.uniform(0, 8) ? uniform(rng, Size(16, 16), Size(700, 500))
                                             : uniform(rng, Size(700, 500), Size(4097, 4097));
        const Size box = uniform(rng, Size(12, 12), Size(image.width + 1, image.height + 1));
        const tld::Grid grid = tld::makeGrid(box.width, box.height, image.width, image.height, settings);
        if (grid.windows > tld::MAX_WINDOWS)
            continue; // refused
        const tld::ObjectPlan plan = tld::planObject(nullptr, grid, settings);
        std::vector<tld::gpu::Tile> tiles;
        tld::appendTiles(grid, plan.record, 0, {0, 1, grid.windows, 0}, 1, settings, tiles);
        int64_t covered = 0;
        const char* wrong = nullptr;
        for (const tld::gpu::Tile& tile : tiles)
        {
            const int cols = std::min(tld::gpu::tuning::TILE_COLS, tile.scale.nx - tile.x);
            const int rows = std::min(tld::gpu::tuning::TILE_ROWS, tile.scale.ny - tile.y);
            if (cols <= 0 || rows <= 0)
                wrong = "no tile is empty";
            covered += static_cast<int64_t>(cols) * rows;
        }
        tilesSeen += static_cast<int64_t>(tiles.size());
        if (covered != grid.windows)
            wrong = "tiles cover all windows";
        // A block for each chunk of 128 windows of a tile where points are many.
        if (static_cast<int64_t>(tiles.size()) * tld::gpu::tuning::TILE_COLS * tld::gpu::tuning::TILE_ROWS / 128 >
            MOST_BLOCKS)
            wrong = "a grid has room for all tiles";
        if (plan.written > plan.cleared || plan.cleared > plan.bytes)
            wrong = "parts of an object's memory follow each other";
        all.add(wrong,
                [&]
                {
                    return cv::format("%d x %d in %d x %d, %d windows", box.width, box.height, image.width,
                                      image.height, grid.windows);
                });
    }
    EXPECT_GT(tilesSeen, 1000000);
}

#else

TEST(QuickShift_Plans, density) { plans::require(); }
TEST(Cascade_Plans, tiles) { plans::require(); }
TEST(Tld_Plans, sharedMemory) { plans::require(); }

#endif

}} // namespace opencv_test
