// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Lays out the pyramids of a call and lists their tiles.
#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "plan.hpp"
#include "resize.hpp"
#include <algorithm>
#include <climits>
#include <map>

namespace cv { namespace cuda { namespace cascade {

using gpu::Shape;
namespace tuning = gpu::tuning;

static const int PIXELS_BEHIND = 1024; //!< bytes behind the pyramids: tiles are copied in whole words

std::vector<uint64_t> tilingKey(const Request& request)
{
    std::vector<uint64_t> key = {request.images.size()};
    const auto pair = [&](int a, int b)
    { key.push_back(static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b)); };
    for (const ImageView& image : request.images)
        pair(image.cols, image.rows);
    const Settings& settings = request.task.settings;
    key.push_back(request.task.model->version);
    uint64_t factor;
    std::memcpy(&factor, &settings.scaleFactor, sizeof(factor));
    key.push_back(factor);
    pair(settings.minSize.width, settings.minSize.height);
    pair(settings.maxSize.width, settings.maxSize.height);
    key.push_back(settings.maxCandidates);
    return key;
}

std::vector<int64_t> listsOf(const std::vector<int>& windows, int capacity)
{
    std::vector<int64_t> firsts = {0};
    for (const int room : windows)
        firsts.push_back(firsts.back() + std::min(room, capacity));
    return firsts;
}

//! Returns the number of tiles that the device processes at once. @param halves tiles have half the rows.
static int64_t tilesAtOnce(bool halves, int multiprocessors)
{
    return static_cast<int64_t>(tuning::PAIR_BLOCKS) * multiprocessors * (halves ? 2 : 1);
}

int threadsOfHalves(int64_t tiles, int multiprocessors)
{
    const int warps = tuning::PAIR_BLOCKS * tuning::THREADS / 32; // of a multiprocessor at once
    const int64_t each = std::max<int64_t>(detail::ceilDiv<int64_t>(tiles, multiprocessors), 1);
    return static_cast<int>(
        std::min<int64_t>(std::max<int64_t>(32 * (warps / each), tuning::THREADS / 2), tuning::THREADS));
}

int orderTiles(std::vector<gpu::TileRecord>& tiles, const std::vector<gpu::GridRecord>& grids, const Shape& shape,
               TileOrder order, int multiprocessors)
{
    const bool halves = order == TileOrder::HALVES;
    const auto isSingle = [&](const gpu::TileRecord& tile) { return grids[tile.grid].step == 1; };
    const auto work = [&](const gpu::TileRecord& tile)
    {
        const gpu::GridRecord& grid = grids[tile.grid];
        return std::min(shape.rows, grid.rows - tile.row) *
               (tuning::TILE_WORK + std::min(shape.cols, grid.cols - tile.col));
    };
    std::stable_sort(tiles.begin(), tiles.end(),
                     [&](const gpu::TileRecord& a, const gpu::TileRecord& b)
                     {
                         const bool single = isSingle(a);
                         if (single != isSingle(b))
                             return single;
                         return halves && work(a) != work(b) ? single == (work(a) < work(b)) : a.scale > b.scale;
                     });
    const int singles = static_cast<int>(std::count_if(tiles.begin(), tiles.end(), isSingle));
    const int64_t count = static_cast<int64_t>(tiles.size()), once = tilesAtOnce(halves, multiprocessors);
    const int64_t last = static_cast<int64_t>(tuning::LAST_TILES) * multiprocessors;
    if (order == TileOrder::LAST_BY_WORK && 2 * (count - once) >= once)
        std::stable_sort(tiles.begin() + std::max<int64_t>({count - last, once, singles}), tiles.end(),
                         [&](const gpu::TileRecord& a, const gpu::TileRecord& b) { return work(a) > work(b); });
    return singles;
}

namespace {

//! Pyramids of all image sizes, with their positions in the arrays for the device.
struct Sizes
{
    struct Entry
    {
        Pyramid pyramid;
        int firstTap, firstGrid;
        std::vector<int64_t> pixels; //!< offset of each layer in the pyramid, bytes
        size_t bytes;
    };
    std::vector<Entry> entries;
    std::vector<int> entryOf; //!< index of the entry of each image
};

Sizes makeSizes(const Request& request)
{
    Sizes sizes;
    std::map<std::pair<int, int>, int> known;
    int taps = 0, grids = 0;
    for (const ImageView& image : request.images)
    {
        const auto inserted =
            known.emplace(std::make_pair(image.cols, image.rows), static_cast<int>(sizes.entries.size()));
        sizes.entryOf.push_back(inserted.first->second);
        if (!inserted.second)
            continue;
        sizes.entries.push_back({makePyramid(image.cols, image.rows, request.task), taps, grids, {}, 0});
        Sizes::Entry& entry = sizes.entries.back();
        detail::Parts layers;
        for (const Layer& layer : entry.pyramid.layers)
            entry.pixels.push_back(
                layers.place<uint8_t>(static_cast<size_t>(detail::roundUp(layer.cols, 16)) * layer.rows));
        entry.bytes = layers.bytes();
        const Pyramid& pyramid = entry.pyramid;
        if (pyramid.taps.size() > static_cast<size_t>(INT_MAX - taps))
            CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the images of this call have too many scales");
        taps += static_cast<int>(pyramid.taps.size());
        grids += static_cast<int>(pyramid.layers.size());
    }
    return sizes;
}

std::vector<gpu::GridRecord> gridsOf(const Sizes& sizes, const Shape& shape)
{
    std::vector<gpu::GridRecord> records;
    for (const Sizes::Entry& entry : sizes.entries)
        for (size_t i = 0; i < entry.pyramid.layers.size(); ++i)
        {
            const Layer& layer = entry.pyramid.layers[i];
            const Grid& grid = entry.pyramid.grids[i];
            records.push_back({layer.factor, layer.step, grid.cols, grid.rows, grid.boxWidth, grid.boxHeight,
                               detail::ceilDiv(grid.cols, shape.cols), detail::roundUp(layer.cols, 16),
                               entry.pixels[i]});
        }
    return records;
}

void addResizes(const Sizes::Entry& entry, int image, int rows, std::vector<gpu::ResizeRecord>& tiles)
{
    for (const Layer& layer : entry.pyramid.layers)
    {
        const gpu::LayerRecord record = {layer.cols,
                                         layer.rows,
                                         entry.firstTap + layer.columnTaps,
                                         entry.firstTap + layer.rowTaps,
                                         detail::roundUp(layer.cols, 16),
                                         0,
                                         entry.pixels[&layer - entry.pyramid.layers.data()]};
        for (int row = 0; row < layer.rows; row += rows)
            for (int col = 0; col < layer.cols; col += tuning::RESIZE_COLS)
                tiles.push_back({image, 0, col, row, record});
    }
}

//! Lists the tiles of a grid. @param words in and out: number of fail masks so far.
void addTiles(const gpu::GridRecord& grid, int gridIndex, int image, int scale, const Shape& shape, int64_t& words,
              std::vector<gpu::TileRecord>& tiles)
{
    for (int row = 0; row < grid.rows; row += shape.rows)
        for (int col = 0; col < grid.cols; col += shape.cols)
            tiles.push_back({image, gridIndex, scale, col, row,
                             static_cast<int>(words + static_cast<int64_t>(row) * grid.rowWords + col / shape.cols)});
    words += static_cast<int64_t>(grid.rows) * grid.rowWords;
    if (words > INT_MAX)
        CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the images of this call have too many windows");
}

//! Chooses the rows of rectangles: few, if rectangles of many would be too few to hide the latency of loads.
int resizeRowsOf(const Sizes& sizes, int multiprocessors)
{
    int64_t rectangles = 0;
    for (int entry : sizes.entryOf)
        for (const Layer& layer : sizes.entries[entry].pyramid.layers)
            rectangles += static_cast<int64_t>(detail::ceilDiv(layer.cols, tuning::RESIZE_COLS)) *
                          detail::ceilDiv(layer.rows, tuning::RESIZE_ROWS);
    return rectangles <= static_cast<int64_t>(tuning::RESIZE_FEW) * multiprocessors ? tuning::RESIZE_FEW_ROWS
                                                                                    : tuning::RESIZE_ROWS;
}

//! Chooses whole tiles or, if all tiles are processed at once, halves, for more equal shares of multiprocessors and
//! more warps per window.
TileForm formFor(const PackedModel& model, const Sizes& sizes, int multiprocessors)
{
    const auto tilesOf = [&](const Shape& shape)
    {
        int64_t tiles = 0;
        for (int entry : sizes.entryOf)
            for (const Grid& grid : sizes.entries[entry].pyramid.grids)
                tiles += static_cast<int64_t>(detail::ceilDiv(grid.cols, shape.cols)) *
                         detail::ceilDiv(grid.rows, shape.rows);
        return tiles;
    };
    if (model.half.threads == 0 || tilesOf(model.form.shapes[0]) > tilesAtOnce(false, multiprocessors))
        return model.form;
    TileForm form = model.half;
    form.threads = threadsOfHalves(tilesOf(form.shapes[0]), multiprocessors);
    return form;
}

TileOrder orderFor(const PackedModel& model, const TileForm& form)
{
    if (form.shapes[0].rows < model.form.shapes[0].rows)
        return TileOrder::HALVES;
    return model.view.pairs && !model.view.tilted ? TileOrder::LAST_BY_WORK : TileOrder::BY_LAYER;
}

} // namespace

std::shared_ptr<const Tiling> makeTiling(const Request& request, const PackedModel& model, int multiprocessors)
{
    const Sizes sizes = makeSizes(request);
    const std::shared_ptr<Tiling> tiling = std::make_shared<Tiling>();
    std::vector<Tap> taps;
    for (const Sizes::Entry& entry : sizes.entries)
        taps.insert(taps.end(), entry.pyramid.taps.begin(), entry.pyramid.taps.end());
    tiling->taps = tiling->blob.add(taps);
    tiling->form = formFor(model, sizes, multiprocessors);
    tiling->resizeRows = resizeRowsOf(sizes, multiprocessors);
    const Shape& shape = tiling->form.shapes[0];
    const std::vector<gpu::GridRecord> grids = gridsOf(sizes, shape);
    std::vector<gpu::ResizeRecord> resizes;
    std::vector<gpu::TileRecord> tiles;
    detail::Parts pyramids;
    int64_t words = 0;
    for (size_t i = 0; i < request.images.size(); ++i)
    {
        const int image = static_cast<int>(i);
        const Sizes::Entry& entry = sizes.entries[sizes.entryOf[i]];
        tiling->firstGrids.push_back(entry.firstGrid);
        tiling->pixels.push_back(pyramids.place<uint8_t>(entry.bytes));
        addResizes(entry, image, tiling->resizeRows, resizes);
        int64_t windows = 0;
        for (int scale = 0; scale < static_cast<int>(entry.pyramid.grids.size()); ++scale)
        {
            const int index = entry.firstGrid + scale;
            addTiles(grids[index], index, image, scale, shape, words, tiles);
            windows += static_cast<int64_t>(grids[index].cols) * grids[index].rows;
        }
        tiling->windows.push_back(static_cast<int>(std::min<int64_t>(windows, INT_MAX)));
    }
    if (tiles.size() > static_cast<size_t>(INT_MAX))
        CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the images of this call have too many windows");
    tiling->pixelBytes = pyramids.bytes() + PIXELS_BEHIND;
    tiling->resizes = tiling->blob.add(resizes);
    tiling->resizeCount = static_cast<int>(resizes.size());
    tiling->singleTiles = orderTiles(tiles, grids, shape, orderFor(model, tiling->form), multiprocessors);
    tiling->tileCount = static_cast<int>(tiles.size());
    tiling->words = static_cast<int>(words);
    tiling->grids = tiling->blob.add(grids);
    tiling->tiles = tiling->blob.add(tiles);
    tiling->lists = tiling->blob.add(listsOf(tiling->windows, request.task.settings.maxCandidates));
    return tiling;
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
