// This file is part of the opencv_cudatracking module.
// It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.

#include "../../precomp.hpp"

#ifdef HAVE_CUDA

#include "layout.hpp"
#include <algorithm>
#include <cstring>

namespace cv { namespace cuda { namespace tld {

static size_t wordsOf(int bits) { return static_cast<size_t>(detail::ceilDiv(bits, 32)); }

static gpu::Model planModel(Parts& parts, const Settings& s)
{
    gpu::Model model;
    model.leaves = parts.take<Leaf>(gpu::leavesOf(s));
    model.posteriors = parts.take<uint16_t>(gpu::leavesOf(s));
    model.templates = parts.take<uint8_t>(static_cast<size_t>(gpu::templatesOf(s)) * PATCH_STRIDE);
    model.stats = parts.take<PatchStats>(gpu::templatesOf(s));
    model.order = parts.take<uint16_t>(s.maxPositives);
    return model;
}

static size_t bytesOfModel(const Settings& s)
{
    return detail::roundUp(detail::bytesOf([&](Parts& parts) { planModel(parts, s); }, ALIGNMENT), ALIGNMENT);
}

static gpu::BitLayout bitsOf(const Grid& grid)
{
    gpu::BitLayout bits = {};
    for (int s = 0; s < grid.scales; ++s)
    {
        bits.first[s] = bits.words;
        bits.words += static_cast<int>(wordsOf(grid.scale[s].nx * grid.scale[s].ny));
    }
    return bits;
}

ObjectPlan planObject(void* block, const Grid& grid, const Settings& s)
{
    ObjectPlan plan = {};
    gpu::ObjectRecord& r = plan.record;
    Parts parts(block, ALIGNMENT);
    r.live = parts.take<gpu::Live>(1);
    r.grid = parts.take<Grid>(1);
    r.features = parts.take<Feature>(static_cast<size_t>(s.trees) * s.features);
    r.points = parts.take<int>(static_cast<size_t>(grid.scales) * gpu::pointStep(s));
    r.pairs = parts.take<uint32_t>(static_cast<size_t>(s.trees) * s.features);
    if (s.filter)
        r.filterTarget = parts.take<FilterTarget>(1);
    plan.written = parts.bytes();
    r.modelBytes = bytesOfModel(s);
    r.models[0] = planModel(parts, s);
    r.models[1] = planModel(parts, s);
    r.touched = parts.take<uint32_t>(gpu::leafWords(s));
    r.detections[0] = parts.take<Detection>(MAX_DETECTIONS);
    r.detections[1] = parts.take<Detection>(MAX_DETECTIONS);
    if (s.filter)
    {
        r.filters[0] = parts.take<FilterModel>(1);
        r.filters[1] = parts.take<FilterModel>(1);
    }
    plan.cleared = parts.bytes();
    if (s.filter)
        r.filterWork = parts.take<gpu::FilterWork>(1);
    r.bits = bitsOf(grid);
    r.fernPositives = parts.take<uint32_t>(r.bits.words);
    r.patches = parts.take<uint8_t>(static_cast<size_t>(MAX_DETECTIONS) * PATCH_STRIDE);
    r.stats = parts.take<PatchStats>(MAX_DETECTIONS);
    r.trackedPoints = parts.take<TrackedPoint>(2 * FLOW_POINTS);
    r.codes = parts.take<uint16_t>(static_cast<size_t>(gpu::mostExamples(s)) * s.trees);
    r.passed = parts.take<uint2>(grid.windows);
    r.listedPositives = parts.take<uint32_t>(wordsOf(grid.windows));
    plan.bytes = parts.bytes();
    return plan;
}

FernPoints pointsOf(const std::vector<Feature>& features)
{
    FernPoints all;
    for (const Feature& f : features)
    {
        all.points.emplace_back(f.y0, f.x0);
        all.points.emplace_back(f.y1, f.x1);
    }
    std::sort(all.points.begin(), all.points.end());
    all.points.erase(std::unique(all.points.begin(), all.points.end()), all.points.end());
    const auto numberOf = [&](int y, int x)
    {
        const auto at = std::lower_bound(all.points.begin(), all.points.end(), std::make_pair(y, x));
        return static_cast<uint32_t>(at - all.points.begin());
    };
    for (const Feature& f : features)
        all.pairs.push_back(numberOf(f.y0, f.x0) | numberOf(f.y1, f.x1) << 16);
    return all;
}

std::vector<uint8_t> objectBytes(const Grid& grid, const std::vector<Feature>& features, const FernPoints& all,
                                 const ObjectState& state, const FilterTarget& target, const Settings& s, int step)
{
    std::vector<uint8_t> bytes(planObject(nullptr, grid, s).written, 0);
    const gpu::ObjectRecord r = planObject(bytes.data(), grid, s).record;
    r.live->states[0] = r.live->states[1] = state;
    r.live->spareIsOld = 1;
    r.live->ofColours[0] = state.filter.started; // what a file says is not known here
    std::memcpy(const_cast<Grid*>(r.grid), &grid, sizeof(grid));
    if (s.filter)
        *const_cast<FilterTarget*>(r.filterTarget) = target;
    std::copy(features.begin(), features.end(), const_cast<Feature*>(r.features));
    std::copy(all.pairs.begin(), all.pairs.end(), const_cast<uint32_t*>(r.pairs));
    int* to = const_cast<int*>(r.points);
    for (int k = 0; k < grid.scales; ++k, to += gpu::pointStep(s))
        for (size_t p = 0; p < all.points.size(); ++p)
            to[p] =
                offsetOf(all.points[p].first, grid.scale[k].h) * step + offsetOf(all.points[p].second, grid.scale[k].w);
    return bytes;
}

static void setTemplate(const gpu::Model& model, int slot, const uint8_t* pixels)
{
    std::copy_n(pixels, PATCH_PIXELS, model.templates + static_cast<size_t>(slot) * PATCH_STRIDE);
    model.stats[slot] = statsOf(pixels);
}

std::vector<uint8_t> modelBytes(const LearnedObject& learned, const Settings& s)
{
    std::vector<uint8_t> bytes(bytesOfModel(s), 0);
    Parts parts(bytes.data(), ALIGNMENT);
    const gpu::Model model = planModel(parts, s);
    std::copy(learned.leaves.begin(), learned.leaves.end(), model.leaves);
    for (size_t k = 0; k < learned.leaves.size(); ++k)
        model.posteriors[k] = posteriorOf(learned.leaves[k]);
    std::copy(learned.order.begin(), learned.order.end(), model.order);
    for (int i = 0; i < learned.state.positives; ++i)
        setTemplate(model, learned.order[i], &learned.positives[static_cast<size_t>(i) * PATCH_PIXELS]);
    for (int i = 0; i < learned.state.negatives; ++i)
        setTemplate(model, s.maxPositives + i, &learned.negatives[static_cast<size_t>(i) * PATCH_PIXELS]);
    return bytes;
}

void readModel(const std::vector<uint8_t>& bytes, const Settings& s, LearnedObject& learned)
{
    Parts parts(const_cast<uint8_t*>(bytes.data()), ALIGNMENT);
    const gpu::Model model = planModel(parts, s);
    learned.leaves.assign(model.leaves, model.leaves + gpu::leavesOf(s));
    learned.order.assign(model.order, model.order + learned.state.positives);
    readTemplates(model.templates, s, learned);
}

size_t planFrame(void* block, int cols, int rows, const Settings& s, gpu::Batch& batch)
{
    batch.cols = cols;
    batch.rows = rows;
    batch.levels = gpu::Levels();
    batch.levels.count = levelsOf(cols, rows, s);
    Parts slot;
    for (int l = 0, w = cols, h = rows; l < batch.levels.count; ++l, w = (w + 1) / 2, h = (h + 1) / 2)
    {
        batch.levels.step[l] = detail::roundUp(w, 128);
        batch.levels.offset[l] =
            static_cast<uint32_t>(slot.place<uint8_t>(static_cast<size_t>(batch.levels.step[l]) * h));
        batch.levels.cols[l] = w;
        batch.levels.rows[l] = h;
    }
    batch.slotBytes = slot.bytes();
    batch.blurred.step = static_cast<size_t>(detail::roundUp(cols, 128));
    batch.tableStep = static_cast<size_t>(detail::roundUp(cols + 2, 32));
    batch.stripStep = detail::roundUp(cols, gpu::tuning::TILE);
    Parts parts(block, ALIGNMENT);
    batch.ring = parts.take<gpu::Ring>(1);
    batch.slots = parts.take<uint8_t>(batch.slotBytes * gpu::SLOTS);
    batch.blurred.data = parts.take<uint8_t>(batch.blurred.step * rows);
    batch.table = parts.take<int2>(batch.tableStep * (rows + 1));
    batch.strips = parts.take<int2>(static_cast<size_t>(batch.stripStep) * (rows / gpu::tuning::STRIP + 1));
    batch.filterTables = s.filter ? parts.take<FilterTables>(1) : nullptr;
    batch.groups = parts.take<int2>(static_cast<size_t>(batch.stripStep) * (rows / gpu::tuning::TILE + 1));
    return parts.bytes();
}

// Large windows first: their pixels are far from each other, so that their tiles take longest.
void appendTiles(const Grid& grid, const gpu::ObjectRecord& first, int number, const gpu::Group& group, int contrast,
                 const Settings& settings, std::vector<gpu::Tile>& tiles)
{
    for (int s = grid.scales - 1; s >= 0; --s)
    {
        gpu::Tile tile = {};
        tile.scale = grid.scale[s];
        tile.number = s;
        tile.group = number;
        tile.least = leastContrast(contrast, 2, tile.scale.w, tile.scale.h);
        tile.points = first.points + static_cast<size_t>(s) * gpu::pointStep(settings);
        tile.pairs = first.pairs;
        tile.pointCount = first.pointCount;
        tile.list = group.list;
        tile.windows = group.windows;
        for (tile.y = 0; tile.y < tile.scale.ny; tile.y += gpu::tuning::TILE_ROWS)
            for (tile.x = 0; tile.x < tile.scale.nx; tile.x += gpu::tuning::TILE_COLS, ++tile.index)
                tiles.push_back(tile);
    }
}

}}} // namespace cv::cuda::tld

#endif // HAVE_CUDA
