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
const int PIXELS_BEHIND = 1024; //!< room behind pyramids: tiles are copied in whole words

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
    shape.patchStep = aligned(shape.patchCols);
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

//! A window a thread.
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
    for (const auto& tile : tuning::TILES)
        if (tryTile(tile, false) + 1024 <= sharedBytes)
            return;
    tryTile(tuning::GLOBAL_TILE, true);
}

//! @return whether there is a tile.
bool choosePairTile(const Model& model, size_t sharedBytes, PackedModel& packed)
{
    for (int blocks = tuning::PAIR_BLOCKS; blocks > 0; --blocks)
        for (const auto& tile : tuning::PAIR_TILES)
        {
            for (int step : {1, 2})
                packed.shapes[step - 1] = shapeOf(model, step, tile[0], tile[1]);
            packed.layout = layoutOf(model, packed.shapes, false);
            if (std::max(packed.shapes[0].patchCols, packed.shapes[1].patchCols) <= tuning::PAIR_PIXELS &&
                static_cast<size_t>(packed.layout.bytes) + 2048 <= (sharedBytes + 1024) / blocks)
                return true;
        }
    return false;
}

// --- records ---------------------------------------------------------------------------------------------------------

//! Corners of one sum.
struct Part
{
    std::vector<Corner> corners;
};

struct Rectangle
{
    int x, y, width, height, weight;
};

//! Corners of weighted rectangles, those in the same place as one.
std::vector<Corner> cornersOf(const std::vector<Rectangle>& rectangles, bool tilted)
{
    std::map<std::pair<int, int>, int> weights;
    for (const Rectangle& r : rectangles)
        for (int k = 0; k < 4; ++k)
        {
            const int16_t sides[4] = {static_cast<int16_t>(r.x), static_cast<int16_t>(r.y),
                                      static_cast<int16_t>(r.width), static_cast<int16_t>(r.height)};
            int x, y;
            cornerOf(sides, tilted, k, x, y);
            weights[{y, x}] += cornerSign(k) * r.weight;
        }
    std::vector<Corner> corners;
    for (const auto& at : weights)
        if (at.second != 0)
            corners.push_back({static_cast<int16_t>(at.first.second), static_cast<int16_t>(at.first.first), at.second});
    return corners;
}

//! Whether a sum keeps within 16 bits whatever the pixels are: 2^15 on either side.
bool fits(const Model& model, const std::vector<Corner>& corners, bool tilted)
{
    const int BEYOND = 2, cols = model.width + 2 * BEYOND; // rotated rectangles reach beyond their corners
    std::vector<int64_t> pixels(static_cast<size_t>(cols) * model.height);
    for (const Corner& corner : corners)
    {
        if (corner.weight < SHRT_MIN || corner.weight > SHRT_MAX)
            return false;
        for (int y = 0; y < std::min<int>(corner.y, model.height); ++y)
        {
            // The table holds the pixels above and left of a corner, or in the cone above it.
            const int reach = corner.y - y, x = corner.x + BEYOND;
            const int begin = tilted ? std::max(x - reach, 0) : 0, end = std::min(tilted ? x - 1 + reach : x, cols);
            for (int i = begin; i < end; ++i)
                pixels[static_cast<size_t>(y) * cols + i] += corner.weight;
        }
    }
    int64_t plus = 0, minus = 0;
    for (int64_t pixel : pixels)
        (pixel > 0 ? plus : minus) += pixel;
    return plus * 255 <= SHRT_MAX && minus * 255 >= -SHRT_MAX;
}

/** Cuts a feature into parts whose sums fit 16 bits. @return false: it has parts that do not. */
bool cutIntoParts(const Model& model, const std::vector<Rectangle>& rectangles, bool tilted, std::vector<Part>& parts)
{
    const std::vector<Corner> corners = cornersOf(rectangles, tilted);
    if (fits(model, corners, tilted))
    {
        parts.push_back({corners});
        return true;
    }
    // Upright: through the middle of all, so that what overlaps stays together. Rotated: each through its own middle.
    int left = INT_MAX, right = 0, top = INT_MAX, bottom = 0;
    for (const Rectangle& r : rectangles)
    {
        left = std::min(left, r.x);
        right = std::max(right, r.x + r.width);
        top = std::min(top, r.y);
        bottom = std::max(bottom, r.y + r.height);
    }
    const bool across = right - left >= bottom - top;
    const int middle = across ? (left + right) / 2 : (top + bottom) / 2;
    std::vector<Rectangle> halves[2];
    for (Rectangle r : rectangles)
    {
        const bool along = tilted ? r.width >= r.height : across; // cut its width
        const int side = along ? r.width : r.height;
        const int cut = tilted ? side / 2 : std::min(std::max(middle - (across ? r.x : r.y), 0), side);
        (along ? r.width : r.height) = cut;
        if (cut > 0)
            halves[0].push_back(r);
        r.x += along ? cut : tilted ? -cut : 0;
        r.y += !along || tilted ? cut : 0;
        (along ? r.width : r.height) = side - cut;
        if (cut < side)
            halves[1].push_back(r);
    }
    return !halves[0].empty() && !halves[1].empty() && cutIntoParts(model, halves[0], tilted, parts) &&
           cutIntoParts(model, halves[1], tilted, parts);
}

bool partsOf(const Model& model, const HaarFeature& f, std::vector<Part>& parts)
{
    std::vector<Rectangle> rectangles;
    for (int i = 0; i < f.rectangles; ++i)
        if (f.rectangle[i][2] > 0 && f.rectangle[i][3] > 0)
            rectangles.push_back({f.rectangle[i][0], f.rectangle[i][1], f.rectangle[i][2], f.rectangle[i][3],
                                  static_cast<int>(f.weight[i])});
    return cutIntoParts(model, rectangles, f.tilted != 0, parts);
}

//! Whether windows can go in pairs, and the parts of features.
bool canPair(const Model& model, std::vector<std::vector<Part>>& parts)
{
    if (!model.fixedPoint || (model.kind == HAAR && !model.exact))
        return false;
    for (const LbpFeature& f : model.lbp)
        if (f.width * f.height * 255 > SHRT_MAX)
            return false;
    parts.resize(model.haar.size());
    for (size_t i = 0; i < model.haar.size(); ++i)
        if (!partsOf(model, model.haar[i], parts[i]))
            return false;
    return true;
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
    record.links |= static_cast<uint32_t>(tree.nodes) << 24;
    if (model.stumps)
        record.leaves[0] -= record.leaves[1];
}

//! Corners of a weight; the others are taken away.
std::vector<Corner> takeCorners(std::vector<Corner>& corners, int weight)
{
    std::vector<Corner> taken;
    const auto end = std::stable_partition(corners.begin(), corners.end(),
                                           [&](const Corner& corner) { return corner.weight != weight; });
    taken.assign(end, corners.end());
    corners.erase(end, corners.end());
    return taken;
}

/** Corners in the order of a form. @return TERMS: none fits. */
gpu::Form formOf(std::vector<Corner> corners, std::vector<Corner>& ordered, int& factor)
{
    const auto add = [&](int weight)
    {
        const std::vector<Corner> taken = takeCorners(corners, weight);
        ordered.insert(ordered.end(), taken.begin(), taken.end());
        return taken.size();
    };
    int most = 0;
    for (const Corner& corner : corners)
        most = std::max(most, std::abs(corner.weight));
    if (corners.size() == 9)
    {
        const bool plus = corners.end() != std::find_if(corners.begin(), corners.end(),
                                                        [](const Corner& corner) { return corner.weight == 4; });
        factor = plus ? 1 : -1;
        return add(factor) == 4 && add(-2 * factor) == 4 && add(4 * factor) == 1 ? gpu::NINE : gpu::TERMS;
    }
    factor = most;
    if (most < 2 || add(1) != 2 || add(-1) != 2)
        return gpu::TERMS;
    const size_t plus = add(most), minus = add(-most);
    if (plus != minus || !corners.empty())
        return gpu::TERMS;
    if (plus == 1) // as EIGHT, whose others cancel each other
    {
        ordered.insert(ordered.begin() + 5, ordered[4]);
        ordered.push_back(ordered[4]);
    }
    return plus == 1 ? gpu::SIX : plus == 2 ? gpu::EIGHT : gpu::TERMS;
}

//! Records of one step.
struct Records
{
    const Model& model;
    const Shape& shape;
    const std::vector<std::vector<Part>>& parts; //!< of Haar features
    std::vector<gpu::Term> terms;

    int wordOf(const Corner& corner, bool tilted) const
    {
        return shape.place(corner.x, corner.y) + (tilted ? shape.words : 0);
    }

    void fill(int index, gpu::HaarRecord& record)
    {
        const Node& node = model.nodes[index];
        const bool tilted = model.haar[node.feature].tilted != 0;
        const std::vector<Part>& cut = parts[node.feature];
        record.threshold = node.threshold;
        std::vector<Corner> ordered;
        const gpu::Form form = cut.size() == 1 ? formOf(cut[0].corners, ordered, record.factor) : gpu::TERMS;
        record.links |= form;
        if (form != gpu::TERMS)
        {
            for (size_t k = 0; k < ordered.size(); ++k)
                (k < 8 ? record.offsets[k] : record.ninth) = 4 * wordOf(ordered[k], tilted);
            return;
        }
        record.offsets[0] = static_cast<uint32_t>(terms.size());
        record.offsets[1] = static_cast<uint32_t>(cut.size());
        for (const Part& part : cut)
        {
            terms.push_back(static_cast<gpu::Term>(part.corners.size()));
            for (const Corner& corner : part.corners)
                terms.push_back(static_cast<uint32_t>(wordOf(corner, tilted)) |
                                static_cast<uint32_t>(corner.weight) << 16);
        }
    }

    void fill(int index, gpu::LbpRecord& record)
    {
        const LbpFeature& f = model.lbp[model.nodes[index].feature];
        for (int k = 0; k < 4; ++k)
        {
            record.rows[k] = 4 * shape.place(0, f.y + k * f.height);
            record.columns[k] = 4 * shape.place(f.x + k * f.width, 0);
        }
        record.subset = static_cast<uint32_t>(index) * SUBSET_WORDS;
    }

    //! @param stages their forms' ends are noted.
    template <typename Record> std::vector<Record> all(std::vector<gpu::StageRecord>& stages)
    {
        std::vector<Record> records(model.nodes.size(), Record());
        for (const Tree& tree : model.trees)
            for (int i = tree.firstNode; i < tree.firstNode + tree.nodes; ++i)
            {
                linkRecord(model, tree, model.nodes[i], records[i]);
                fill(i, records[i]);
            }
        const auto formOf = [](const Record& record) { return static_cast<int>(record.links & 0xff); };
        for (gpu::StageRecord& stage : stages)
            if (model.stumps)
            {
                const auto first = records.begin() + stage.firstNode, last = first + stage.trees;
                std::stable_sort(first, last, [&](const Record& a, const Record& b) { return formOf(a) < formOf(b); });
                for (int form = 0; form < 3; ++form)
                    stage.ends[form] = static_cast<int>(
                        std::count_if(first, last, [&](const Record& record) { return formOf(record) <= form; }));
            }
        return records;
    }
};

int endOf(const Model& model, const Stage& stage)
{
    const Tree& last = model.trees[stage.firstTree + stage.trees - 1];
    return last.firstNode + last.nodes;
}

//! The first stages, as many as there is room for. @return false: not even the first.
bool beginEarly(const Model& model, gpu::Early& early)
{
    early = {};
    while (early.stages < std::min(tuning::EARLY_STAGES, static_cast<int>(model.stages.size())) &&
           endOf(model, model.stages[early.stages]) <= tuning::EARLY_NODES)
        ++early.stages;
    early.dense = std::min(early.stages, tuning::DENSE_STAGES);
    return early.stages > 0;
}

template <typename Record>
void addRecords(const Model& model, const std::vector<std::vector<Part>>& parts,
                std::vector<gpu::StageRecord>& stages, PackedModel& packed)
{
    const int early = endOf(model, model.stages[packed.early->stages - 1]);
    for (int i = 0; i < 2; ++i)
    {
        Records records = {model, packed.shapes[i], parts, {}};
        const std::vector<Record> all = records.all<Record>(stages);
        static_assert(sizeof(Record) == sizeof(packed.early->nodes[0][0]), "records have their room among parameters");
        std::memcpy(packed.early->nodes[i], all.data(), early * sizeof(Record));
        packed.records[i] = packed.blob.add(all);
        packed.terms[i] = packed.blob.add(records.terms);
    }
    std::copy(stages.begin(), stages.begin() + packed.early->stages, packed.early->stage);
}

std::vector<gpu::StageRecord> stagesOf(const Model& model)
{
    std::vector<gpu::StageRecord> stages;
    for (const Stage& s : model.stages)
    {
        const Tree* const trees = model.trees.data() + s.firstTree;
        const bool same = std::all_of(trees, trees + s.trees, [&](const Tree& tree) { return tree.nodes == trees[0].nodes; });
        stages.push_back({s.firstTree, s.trees, trees[0].firstNode, s.shift, s.fixedThreshold, 0, {0, 0, 0},
                          same ? trees[0].nodes : 0, s.threshold, 0});
        for (int i = model.trees[s.firstTree].firstNode; i < endOf(model, s) && model.stumps && model.fixedPoint; ++i)
            stages.back().rights += model.fixedLeaves[~model.nodes[i].right];
    }
    return stages;
}

} // namespace

std::shared_ptr<const PackedModel> packModel(const Model& model, size_t sharedBytes)
{
    const std::shared_ptr<PackedModel> p = std::make_shared<PackedModel>();
    std::vector<gpu::StageRecord> stages = stagesOf(model);
    std::vector<std::vector<Part>> parts;
    p->version = model.version;
    p->early = std::make_unique<gpu::Early>();
    if (!beginEarly(model, *p->early) || !canPair(model, parts) || !choosePairTile(model, sharedBytes, *p))
    {
        p->early.reset();
        chooseTile(model, sharedBytes, *p);
    }
    p->view = {};
    p->view.kind = model.kind;
    p->view.width = model.width;
    p->view.height = model.height;
    p->view.stages = static_cast<int>(model.stages.size());
    p->view.pairs = p->early != nullptr;
    p->view.stumps = model.stumps;
    p->view.tilted = model.tilted;
    p->view.leastContrast = model.leastContrast;
    p->trees = p->blob.add(model.trees);
    p->subsets = p->blob.add(model.subsets);
    if (p->early)
        model.kind == HAAR ? addRecords<gpu::HaarRecord>(model, parts, stages, *p)
                           : addRecords<gpu::LbpRecord>(model, parts, stages, *p);
    p->stages = p->blob.add(stages);
    if (p->early)
        return p;
    p->nodes = p->blob.add(model.nodes);
    p->leaves = p->blob.add(model.leaves);
    p->haar = p->blob.add(model.haar);
    p->lbp = p->blob.add(model.lbp);
    return p;
}

gpu::ModelView PackedModel::at(const void* device) const
{
    const uint8_t* const base = static_cast<const uint8_t*>(device);
    gpu::ModelView v = view;
    v.stage = reinterpret_cast<const gpu::StageRecord*>(base + stages);
    v.trees = reinterpret_cast<const Tree*>(base + trees);
    v.subsets = reinterpret_cast<const uint32_t*>(base + subsets);
    for (int i = 0; i < 2 && v.pairs; ++i)
    {
        v.records[i] = base + records[i];
        v.terms[i] = reinterpret_cast<const gpu::Term*>(base + terms[i]);
    }
    if (v.pairs)
        return v;
    v.nodes = reinterpret_cast<const Node*>(base + nodes);
    v.leaves = reinterpret_cast<const float*>(base + leaves);
    v.haar = reinterpret_cast<const HaarFeature*>(base + haar);
    v.lbp = reinterpret_cast<const LbpFeature*>(base + lbp);
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
        std::vector<int64_t> pixels; //!< where its layers begin
        int64_t bytes;
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
        sizes.places.push_back({makePyramid(picture.cols, picture.rows, request.tasks), taps, grids, {}, 0});
        for (const Layer& layer : sizes.places.back().pyramid.layers)
        {
            sizes.places.back().pixels.push_back(sizes.places.back().bytes);
            sizes.places.back().bytes += static_cast<int64_t>(aligned(layer.cols)) * layer.rows;
        }
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
            records.push_back({layer.factor, layer.step, 0, 0, 0, 0, 0, aligned(layer.cols),
                               place.pixels[&layer - place.pyramid.layers.data()]});
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

std::vector<gpu::LayerRecord> layersOf(const Sizes& sizes)
{
    std::vector<gpu::LayerRecord> records;
    for (const Sizes::Place& place : sizes.places)
        for (size_t i = 0; i < place.pyramid.layers.size(); ++i)
        {
            const Layer& layer = place.pyramid.layers[i];
            records.push_back({layer.cols, layer.rows, place.firstTap + layer.columnTaps, place.firstTap + layer.rowTaps,
                               aligned(layer.cols), 0, place.pixels[i]});
        }
    return records;
}

void addResizes(const Sizes::Place& place, int picture, std::vector<gpu::ResizeRecord>& tiles)
{
    for (size_t i = 0; i < place.pyramid.layers.size(); ++i)
    {
        const Layer& layer = place.pyramid.layers[i];
        for (int row = 0; row < layer.rows; row += tuning::RESIZE_ROWS)
            for (int col = 0; col < layer.cols; col += tuning::RESIZE_COLS)
                tiles.push_back({picture, place.firstGrid + static_cast<int>(i), col, row});
    }
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
    tiling->layers = tiling->blob.add(layersOf(sizes));
    std::vector<gpu::ResizeRecord> resizes;
    tiling->pixelBytes = PIXELS_BEHIND;
    for (size_t i = 0; i < request.pictures.size(); ++i)
    {
        const Sizes::Place& place = sizes.places[sizes.placeOf[i]];
        tiling->firstGrids.push_back(place.firstGrid);
        tiling->pixels.push_back(tiling->pixelBytes - PIXELS_BEHIND);
        tiling->pixelBytes += place.bytes;
        addResizes(place, static_cast<int>(i), resizes);
    }
    tiling->resizes = tiling->blob.add(resizes);
    tiling->resizeCount = static_cast<int>(resizes.size());
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
        // Small layers first: where windows go through many stages, a tile takes long, and others fill the device meanwhile.
        std::stable_sort(tiles.begin(), tiles.end(), [](const gpu::TileRecord& a, const gpu::TileRecord& b)
                         { return a.scale > b.scale; });
        const auto isSingle = [&](const gpu::TileRecord& tile) { return grids[tile.grid].step == 1; };
        const int singles = static_cast<int>(std::stable_partition(tiles.begin(), tiles.end(), isSingle) - tiles.begin());
        tiling->parts.push_back({tiling->blob.add(grids), tiling->blob.add(tiles), static_cast<int>(tiles.size()),
                                 singles, static_cast<int>(words)});
    }
    return tiling;
}

}}} // namespace cv::cuda::cascade

#endif // HAVE_CUDA
