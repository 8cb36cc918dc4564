// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

// Tiles that fit a device, models packed for them, and the list of tiles of a call.
#include "../precomp.hpp"

#ifdef HAVE_CUDA

#include "engine_cuda_plan.hpp"
#include <algorithm>
#include <climits>
#include <map>

namespace cv { namespace cuda { namespace cascade {

namespace {

using gpu::Layout;
using gpu::Shape;
namespace tuning = gpu::tuning;

int aligned(int bytes) { return (bytes + 15) / 16 * 16; }

// --- tiles that fit --------------------------------------------------------------------------------------------------

Shape shapeOf(const Model& model, int step, int cols, int rows)
{
    Shape shape = {};
    shape.shift = step - 1;
    shape.cols = cols;
    shape.rows = rows;
    while ((1 << shape.columnBits) < cols)
        ++shape.columnBits;
    shape.patchCols = (cols - 1) * step + model.width;
    shape.patchRows = (rows - 1) * step + model.height;
    shape.patchStep = (shape.patchCols + 3) / 4 * 4;
    shape.half = step == 2 ? shape.patchCols / 2 + 1 : 0;
    shape.step = step == 2 ? 2 * shape.half : shape.patchCols + 1;
    shape.words = shape.step * (shape.patchRows + 1);
    return shape;
}

//! For both steps, with patch and tables in shared memory or not.
Layout layoutOf(const Model& model, const Shape (&shapes)[2], bool global)
{
    int patch = 0, tables = 0;
    for (const Shape& shape : shapes)
    {
        patch = std::max(patch, shape.patchStep * shape.patchRows);
        tables = std::max(tables, shape.words * 4 * (model.tilted ? 2 : 1));
    }
    const int windows = shapes[0].cols * shapes[0].rows, lists = 2 * windows * static_cast<int>(sizeof(uint16_t));
    Layout layout = {};
    layout.global = global;
    layout.lists = model.kind == HAAR ? aligned(windows * 4) : 0; // behind the norms
    if (global)
    {
        layout.bytes = layout.lists + aligned(lists);
        layout.tables = aligned(patch);
        layout.sliceBytes = layout.tables + aligned(tables);
        return layout;
    }
    layout.patch = layout.lists;
    layout.tables = layout.patch + aligned(std::max(patch, lists));
    layout.bytes = layout.tables + aligned(tables);
    return layout;
}

void chooseTile(const Model& model, size_t sharedBytes, PackedModel& packed)
{
    const auto tryTile = [&](const int(&tile)[2], bool global)
    {
        for (int step : {1, 2})
            packed.shapes[step - 1] = shapeOf(model, step, tile[0], tile[1]);
        packed.layout = layoutOf(model, packed.shapes, global);
        return static_cast<size_t>(packed.layout.bytes);
    };
    // Each block also takes 1 KB for the system, and what the kernel shares beside the tables.
    for (int blocks = tuning::BLOCKS; blocks > 1; --blocks)
        for (int i = 0; i < tuning::LARGE_TILES; ++i)
            if (tryTile(tuning::TILES[i], false) + 2048 <= (sharedBytes + 1024) / blocks)
                return;
    for (const auto& tile : tuning::TILES)
        if (tryTile(tile, false) + 1024 <= sharedBytes)
            return;
    tryTile(tuning::GLOBAL_TILE, true);
}

// --- records ---------------------------------------------------------------------------------------------------------

//! Whether corners fit their records and lanes may add up leaves in any order.
bool canPack(const Model& model)
{
    bool can = model.fixedPoint && (model.kind == LBP || model.exact);
    for (size_t i = 0; can && model.kind == HAAR && i < model.haar.size(); ++i)
        for (int k = 0; k < model.haar[i].corners; ++k)
        {
            const int weight = model.haar[i].corner[k].weight;
            can = can && weight >= SHRT_MIN && weight <= SHRT_MAX;
        }
    return can;
}

//! Links and leaves, which both kinds have.
template <typename Record> void linkRecord(const Model& model, const Tree& tree, const Node& node, Record& record)
{
    int shift = 8;
    for (int child : {node.left, node.right})
    {
        if (child < 0)
            record.leaves[shift / 8 - 1] = model.fixedLeaves[~child];
        else
            record.links |= static_cast<uint32_t>(child - tree.firstNode) << shift;
        shift += 8;
    }
}

void fillRecord(const Model& model, const Shape& shape, int index, gpu::HaarRecord& record)
{
    const Node& node = model.nodes[index];
    const HaarFeature& feature = model.haar[node.feature];
    gpu::PackedCorner corners[MAX_CORNERS] = {};
    for (int k = 0; k < feature.corners; ++k)
    {
        const Corner& corner = feature.corner[k];
        const int offset = shape.place(corner.x, corner.y) + (feature.tilted ? shape.words : 0);
        corners[k] = static_cast<uint32_t>(offset) | static_cast<uint32_t>(corner.weight) << 16;
    }
    record.threshold = node.threshold;
    record.links |= feature.corners;
    std::copy(corners, corners + 8, record.first);
    std::copy(corners + 8, corners + 10, record.third);
    std::copy(corners + 10, corners + 12, record.fourth);
}

void fillRecord(const Model& model, const Shape& shape, int index, gpu::LbpRecord& record)
{
    const LbpFeature& f = model.lbp[model.nodes[index].feature];
    for (int k = 0; k < 16; ++k)
        record.points[k] = static_cast<uint16_t>(shape.place(f.x + k % 4 * f.width, f.y + k / 4 * f.height));
    const uint32_t* const subset = model.subsets.data() + static_cast<size_t>(index) * SUBSET_WORDS;
    std::copy(subset, subset + SUBSET_WORDS, record.subset);
}

template <typename Record> size_t addRecords(const Model& model, const Shape& shape, Blob& blob)
{
    std::vector<Record> records(model.nodes.size(), Record());
    for (const Tree& tree : model.trees)
        for (int i = tree.firstNode; i < tree.firstNode + tree.nodes; ++i)
        {
            linkRecord(model, tree, model.nodes[i], records[i]);
            fillRecord(model, shape, i, records[i]);
        }
    return blob.add(records);
}

} // namespace

std::shared_ptr<const PackedModel> packModel(const Model& model, size_t sharedBytes)
{
    const std::shared_ptr<PackedModel> p = std::make_shared<PackedModel>();
    p->version = model.version;
    chooseTile(model, sharedBytes, *p);
    p->view = {};
    p->view.kind = model.kind;
    p->view.width = model.width;
    p->view.height = model.height;
    p->view.stages = static_cast<int>(model.stages.size());
    p->view.packed = !p->layout.global && canPack(model);
    p->view.stumps = model.stumps;
    p->view.tilted = model.tilted;
    p->view.leastContrast = model.leastContrast;
    std::vector<gpu::StageRecord> stages;
    for (const Stage& s : model.stages)
        stages.push_back(
            {s.firstTree, s.trees, model.trees[s.firstTree].firstNode, s.shift, s.fixedThreshold, s.threshold, 0});
    p->stages = p->blob.add(stages);
    p->trees = p->blob.add(model.trees);
    if (p->view.packed)
    {
        for (int i = 0; i < 2; ++i)
            p->records[i] = model.kind == HAAR ? addRecords<gpu::HaarRecord>(model, p->shapes[i], p->blob)
                                               : addRecords<gpu::LbpRecord>(model, p->shapes[i], p->blob);
        return p;
    }
    p->nodes = p->blob.add(model.nodes);
    p->leaves = p->blob.add(model.leaves);
    p->haar = p->blob.add(model.haar);
    p->lbp = p->blob.add(model.lbp);
    p->subsets = p->blob.add(model.subsets);
    return p;
}

gpu::ModelView PackedModel::at(const void* device) const
{
    const uint8_t* const base = static_cast<const uint8_t*>(device);
    gpu::ModelView v = view;
    v.stage = reinterpret_cast<const gpu::StageRecord*>(base + stages);
    v.trees = reinterpret_cast<const Tree*>(base + trees);
    for (int i = 0; i < 2 && v.packed; ++i)
        v.records[i] = base + records[i];
    if (v.packed)
        return v;
    v.nodes = reinterpret_cast<const Node*>(base + nodes);
    v.leaves = reinterpret_cast<const float*>(base + leaves);
    v.haar = reinterpret_cast<const HaarFeature*>(base + haar);
    v.lbp = reinterpret_cast<const LbpFeature*>(base + lbp);
    v.subsets = reinterpret_cast<const uint32_t*>(base + subsets);
    return v;
}

// --- tiling ----------------------------------------------------------------------------------------------------------

std::vector<uint64_t> tilingKey(const Request& request)
{
    std::vector<uint64_t> key = {request.pictures.size()};
    const auto pair = [&](int a, int b)
    { key.push_back(static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b)); };
    for (const PictureView& picture : request.pictures)
        pair(picture.cols, picture.rows);
    for (const Task& task : request.tasks)
    {
        key.push_back(task.model->version);
        uint64_t factor;
        std::memcpy(&factor, &task.settings.scaleFactor, sizeof(factor));
        key.push_back(factor);
        pair(task.settings.minWidth, task.settings.minHeight);
        pair(task.settings.maxWidth, task.settings.maxHeight);
    }
    return key;
}

namespace {

//! Pyramids of all sizes, one after the other on the device.
struct Sizes
{
    struct Place
    {
        Pyramid pyramid;
        int firstTap, firstGrid;
    };
    std::vector<Place> places;
    std::vector<int> placeOf; //!< of each picture
};

Sizes makeSizes(const Request& request)
{
    Sizes sizes;
    std::map<std::pair<int, int>, int> known;
    int taps = 0, grids = 0;
    for (const PictureView& picture : request.pictures)
    {
        const auto inserted =
            known.emplace(std::make_pair(picture.cols, picture.rows), static_cast<int>(sizes.places.size()));
        sizes.placeOf.push_back(inserted.first->second);
        if (!inserted.second)
            continue;
        sizes.places.push_back({makePyramid(picture.cols, picture.rows, request.tasks), taps, grids});
        const Pyramid& pyramid = sizes.places.back().pyramid;
        if (pyramid.taps.size() > static_cast<size_t>(INT_MAX - taps))
            CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the pictures of this call have too many scales");
        taps += static_cast<int>(pyramid.taps.size());
        grids += static_cast<int>(pyramid.layers.size());
    }
    return sizes;
}

std::vector<gpu::GridRecord> gridsOf(const Sizes& sizes, size_t task, const Shape& shape)
{
    std::vector<gpu::GridRecord> records;
    for (const Sizes::Place& place : sizes.places)
    {
        for (const Layer& layer : place.pyramid.layers)
            records.push_back({layer.factor, layer.step, 0, 0, place.firstTap + layer.columnTaps,
                               place.firstTap + layer.rowTaps, 0, 0, 0});
        for (const Grid& grid : place.pyramid.grids[task])
        {
            gpu::GridRecord& record = records[place.firstGrid + grid.layer];
            record.cols = grid.cols;
            record.rows = grid.rows;
            record.boxWidth = grid.boxWidth;
            record.boxHeight = grid.boxHeight;
            record.rowWords = detail::ceilDiv(grid.cols, shape.cols);
        }
    }
    return records;
}

//! @param words counted up: words of runs.
void addTiles(const gpu::GridRecord& grid, int gridIndex, int picture, int scale, const Shape& shape, int64_t& words,
              std::vector<gpu::TileRecord>& tiles)
{
    for (int row = 0; row < grid.rows; row += shape.rows)
        for (int col = 0; col < grid.cols; col += shape.cols)
            tiles.push_back({picture, gridIndex, scale, col, row,
                             static_cast<int>(words + static_cast<int64_t>(row) * grid.rowWords + col / shape.cols)});
    words += static_cast<int64_t>(grid.rows) * grid.rowWords;
    if (words > INT_MAX)
        CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the pictures of this call have too many windows");
}

} // namespace

std::shared_ptr<const Tiling> makeTiling(const Request& request,
                                         const std::vector<std::shared_ptr<const PackedModel>>& models)
{
    const Sizes sizes = makeSizes(request);
    const std::shared_ptr<Tiling> tiling = std::make_shared<Tiling>();
    std::vector<Tap> taps;
    for (const Sizes::Place& place : sizes.places)
        taps.insert(taps.end(), place.pyramid.taps.begin(), place.pyramid.taps.end());
    tiling->taps = tiling->blob.add(taps);
    for (int place : sizes.placeOf)
        tiling->firstGrids.push_back(sizes.places[place].firstGrid);
    for (size_t t = 0; t < request.tasks.size(); ++t)
    {
        const Shape& shape = models[t]->shapes[0];
        const std::vector<gpu::GridRecord> grids = gridsOf(sizes, t, shape);
        std::vector<gpu::TileRecord> tiles;
        int64_t words = 0;
        for (size_t i = 0; i < request.pictures.size(); ++i)
        {
            const Sizes::Place& place = sizes.places[sizes.placeOf[i]];
            for (const Grid& grid : place.pyramid.grids[t])
                addTiles(grids[place.firstGrid + grid.layer], place.firstGrid + grid.layer, static_cast<int>(i),
                         grid.layer, shape, words, tiles);
        }
        if (tiles.size() > static_cast<size_t>(INT_MAX))
            CV_Error(Error::StsOutOfRange, "CascadeClassifierEx: the pictures of this call have too many windows");
        tiling->parts.push_back({tiling->blob.add(grids), tiling->blob.add(tiles), static_cast<int>(tiles.size()),
                                 static_cast<int>(words)});
    }
    return tiling;
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
